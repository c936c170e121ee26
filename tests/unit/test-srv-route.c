/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "srv-codes.h"
#include "srv-input.h"
#include "srv-openapi.h"
#include "srv-poll.h"
#include "srv-route.h"

#include <string.h>

/* A path of the table with 7 for every id. */
static char *
path_of (SrvOperation operation)
{
  g_auto (GStrv) parts = g_strsplit (srv_operations[operation].path, "/", -1);

  for (guint i = 0; parts[i]; i++)
    if (parts[i][0] == '{')
      {
        g_free (parts[i]);
        parts[i] = g_strdup ("7");
      }
  return g_strjoinv ("/", parts);
}

static void
assert_problem (SrvReply *reply, guint status, const char *code)
{
  g_assert_nonnull (reply);
  g_assert_cmpuint (reply->status, ==, status);
  g_assert_cmpstr (json_string_value (json_object_get (reply->body, "code")), ==, code);
  srv_reply_free (reply);
}

static void
test_every_operation (void)
{
  for (guint i = 0; i < SRV_N_OPERATIONS; i++)
    {
      g_autofree char *path = path_of ((SrvOperation) i);
      g_autofree char *allow = srv_route_allow (path);
      g_auto (SrvRoute) route = { 0 };
      gboolean has_id = strchr (srv_operations[i].path, '{') != NULL;
      gboolean has_project = strstr (srv_operations[i].path, "{project}") != NULL;

      g_assert_null (srv_route_find (srv_operations[i].method, path, &route));
      g_assert_cmpint (route.operation, ==, i);
      g_assert_cmpint (route.id, ==, has_id ? 7 : 0);
      g_assert_cmpstr (route.project_ref, ==, has_project ? "7" : NULL);
      g_assert_nonnull (strstr (allow, srv_operations[i].method));
    }
}

static void
test_projects (void)
{
  g_auto (SrvRoute) route = { 0 };

  g_assert_null (srv_route_find ("GET", "/v1/projects/~", &route));
  g_assert_cmpstr (route.project_ref, ==, "~");
  g_assert_cmpint (route.id, ==, 0);
  g_assert_null (srv_route_query (&route, "repo_url=git%40host%3Aa%2Fb.git"));
  g_assert_cmpstr (srv_route_get (&route, "repo_url"), ==, "git@host:a/b.git");
  srv_route_clear (&route);
  g_assert_null (srv_route_find ("GET", "/v1/projects/%7E", &route));
  g_assert_cmpstr (route.project_ref, ==, "~");
  srv_route_clear (&route);
  g_assert_null (srv_route_find ("GET", "/v1/projects/3", &route));
  assert_problem (srv_route_query (&route, "repo_url=https%3A%2F%2Fh%2Fa%2Fb"), 400,
                  "query_invalid");
}

static void
test_refusals (void)
{
  static const char *const nowhere[] = {
    "",
    "/",
    "/v1",
    "/v1/",
    "v1/status",
    "/v1/status/",
    "//v1/status",
    "/v1/plans/0",
    "/v1/plans/-1",
    "/v1/plans/07",
    "/v1/plans/",
    "/v1/plans/~",
    "/v1/plans/9223372036854775808",
    "/v1/plans/7%2f8",
    "/v1/plans/%",
    "/v1/plans/%00",
    "/V1/status",
    "/v1/plans/7/tasks/8/9/10/11",
  };
  g_autofree char *longest = g_strnfill (SRV_ROUTE_MAX_TARGET, 'a');
  g_autofree char *longer = g_strnfill (SRV_ROUTE_MAX_TARGET + 1, 'a');
  g_auto (SrvRoute) route = { 0 };

  for (guint i = 0; i < G_N_ELEMENTS (nowhere); i++)
    assert_problem (srv_route_find ("GET", nowhere[i], &route), 404, "not_found");
  longest[0] = '/';
  assert_problem (srv_route_find ("GET", longest, &route), 404, "not_found");
  assert_problem (srv_route_find ("GET", longer, &route), 414, "target_too_long");
  assert_problem (srv_route_find ("DELETE", "/v1/plans/7", &route), 405, "method_not_allowed");
  assert_problem (srv_route_find ("HEAD", "/v1/status", &route), 405, "method_not_allowed");
  assert_problem (srv_route_find ("get", "/v1/status", &route), 405, "method_not_allowed");
  g_assert_null (srv_route_find ("GET", "/v1/plans/9223372036854775807", &route));
  g_assert_cmpint (route.id, ==, G_MAXINT64);
}

static void
query_check (const char *query, const char *field, const char *problem)
{
  g_auto (SrvRoute) route = { 0 };
  g_autoptr (SrvReply) reply = NULL;
  const json_t *first;

  g_assert_null (srv_route_find ("GET", "/v1/timeline", &route));
  reply = srv_route_query (&route, query);
  g_assert_nonnull (reply);
  g_assert_cmpuint (reply->status, ==, 400);
  first = json_array_get (json_object_get (reply->body, "errors"), 0);
  g_assert_cmpstr (json_string_value (json_object_get (first, "field")), ==, field);
  g_assert_cmpstr (json_string_value (json_object_get (first, "problem")), ==, problem);
}

static void
test_query (void)
{
  g_autofree char *many = g_strnfill (SRV_ROUTE_MAX_QUERY, '&');
  g_autofree char *longer = g_strnfill (SRV_ROUTE_MAX_TARGET + 1, 'a');
  g_auto (SrvRoute) route = { 0 };

  query_check ("lmit=1", "lmit", "is not known here; did you mean limit?");
  query_check ("%ff=1", "\357\277\275", "is not known here");
  query_check ("limit=1&limit=2", "limit", "is given twice");
  query_check ("limit=0", "limit", "is not an integer of 1 to 500");
  query_check ("limit", "limit", "is not an integer of 1 to 500");
  query_check ("limit=+5", "limit", "is not an integer of 1 to 500");
  query_check ("before=0", "before", "is not an integer from 1 up");
  query_check ("task=x", "task", "is not a positive integer");
  query_check ("task=%ff", "task", "is not UTF-8");
  query_check ("repo_url=", "repo_url", "is not a text of 1 to 2000 bytes");
  g_assert_null (srv_route_find ("GET", "/v1/status", &route));
  assert_problem (srv_route_query (&route, "all=yes"), 400, "query_invalid");
  assert_problem (srv_route_query (&route, many), 400, "query_invalid");
  assert_problem (srv_route_query (&route, longer), 414, "target_too_long");
  g_assert_null (srv_route_query (&route, "all=true&&project=7"));
  g_assert_cmpstr (srv_route_get (&route, "project"), ==, "7");
  g_assert_null (srv_route_get (&route, "repo_url"));
  srv_route_clear (&route);
  g_assert_null (srv_route_find ("GET", "/v1/status", &route));
  g_assert_null (srv_route_query (&route, NULL));
  g_assert_null (route.query[0]);
}

static void
body_check (const char *text, const char *field)
{
  g_autoptr (GBytes) bytes = g_bytes_new (text, strlen (text));
  g_autoptr (DbrJsonDoc) doc = NULL;
  g_autoptr (SrvReply) reply = srv_input_parse (bytes, &doc);
  const json_t *first;

  g_assert_nonnull (reply);
  g_assert_null (doc);
  g_assert_cmpuint (reply->status, ==, 400);
  first = json_array_get (json_object_get (reply->body, "errors"), 0);
  g_assert_cmpstr (json_string_value (json_object_get (first, "field")), ==, field);
}

static void
test_body (void)
{
  g_autoptr (GBytes) good = g_bytes_new_static ("{\"a\":[{\"b\":1},{\"b\":2}]}", 23);
  g_autoptr (DbrJsonDoc) doc = NULL;
  g_autoptr (GString) deep = g_string_new ("{\"a\":");

  g_assert_null (srv_input_parse (good, &doc));
  g_assert_nonnull (doc);
  body_check ("[]", NULL);
  body_check ("1", NULL);
  body_check ("{", NULL);
  body_check ("{\"a\":\"\377\"}", NULL);
  body_check ("{\"a\":1,\"a\":1}", "a");
  body_check ("{\"a\":1,\"\\u0061\":1}", "a");
  body_check ("{\"a\":[1,{\"b\":1,\"b\":1}]}", "a[1].b");
  body_check ("{\"a\":{\"b\":\"x\\u0000\"}}", "a.b");
  for (guint i = 0; i < SRV_INPUT_MAX_DEPTH; i++)
    g_string_append_c (deep, '[');
  for (guint i = 0; i < SRV_INPUT_MAX_DEPTH; i++)
    g_string_append_c (deep, ']');
  g_string_append_c (deep, '}');
  body_check (deep->str, NULL);
}

static void
test_headers (void)
{
  static const char *const bad_tags[] = { "",        "3",
                                          "\"\"",    "\"3",
                                          "W/\"3\"", "\"3\", \"4\"",
                                          "*",       "\"a\"",
                                          "\"-1\"",  "\"1234567890123456789\"" };
  g_autofree char *tag = srv_input_if_match ("\"12\"");
  g_autofree char *longest = g_strnfill (200, 'k');
  g_autofree char *longer = g_strnfill (201, 'k');

  g_assert_cmpstr (tag, ==, "12");
  for (guint i = 0; i < G_N_ELEMENTS (bad_tags); i++)
    g_assert_null (srv_input_if_match (bad_tags[i]));
  g_assert_true (srv_input_key_is_good (longest));
  g_assert_false (srv_input_key_is_good (longer));
  g_assert_false (srv_input_key_is_good (""));
  g_assert_false (srv_input_key_is_good ("a b"));
  g_assert_false (srv_input_key_is_good ("\303\244"));
  g_assert_true (srv_input_type_is_json ("application/json"));
  g_assert_true (srv_input_type_is_json ("Application/JSON; charset=UTF-8"));
  g_assert_false (srv_input_type_is_json ("application/json; charset=latin1"));
  g_assert_false (srv_input_type_is_json ("application/jsonx"));
  g_assert_false (srv_input_type_is_json (NULL));
}

static void
test_stream_text (void)
{
  json_t *body = json_pack ("{s:[{s:i, s:s, s:s}, {s:i}]}", "items", "seq", 4, "kind", "plan.done",
                            "text", "a\nb", "seq", 5);
  json_t *empty = json_pack ("{s:[]}", "items");
  gint64 after = 3;
  g_autofree char *text = srv_poll_stream_text (body, &after);
  g_autofree char *nothing = srv_poll_stream_text (empty, &after);

  g_assert_cmpstr (text, ==,
                   "id: 4\nevent: plan.done\ndata: "
                   "{\"seq\":4,\"kind\":\"plan.done\",\"text\":\"a\\nb\"}\n\n"
                   "id: 5\nevent: message\ndata: {\"seq\":5}\n\n");
  g_assert_cmpstr (nothing, ==, ": nothing new\n\n");
  g_assert_cmpint (after, ==, 5);
  json_decref (body);
  json_decref (empty);
}

static const json_t *
find (const json_t *document, const char *path)
{
  g_auto (GStrv) parts = g_strsplit (path, "/", -1);
  const json_t *node = document;

  for (guint i = 0; parts[i]; i++)
    node = json_object_get (node, parts[i]);
  g_assert_nonnull (node);
  return node;
}

static const json_t *
resolve (const json_t *document, const json_t *node)
{
  const char *ref = json_string_value (json_object_get (node, "$ref"));

  return ref ? find (document, ref + 2) : node;
}

/* The parameters of one kind, sorted. */
static char *
names_in (const json_t *document, const json_t *operation, const char *where)
{
  const json_t *list = json_object_get (operation, "parameters");
  g_autoptr (GPtrArray) names = g_ptr_array_new ();

  for (gsize i = 0; i < json_array_size (list); i++)
    {
      const json_t *parameter = resolve (document, json_array_get (list, i));

      if (g_strcmp0 (json_string_value (json_object_get (parameter, "in")), where) == 0)
        g_ptr_array_add (
            names, (gpointer) (guintptr) json_string_value (json_object_get (parameter, "name")));
    }
  g_ptr_array_sort (names, (GCompareFunc) (void (*) (void)) g_strcmp0);
  g_ptr_array_add (names, NULL);
  return g_strjoinv (" ", (char **) names->pdata);
}

static void
document_check (const json_t *document, SrvOperation id)
{
  static const char *const roles[] = { "admin", "client", "foreman", "worker" };
  const SrvOperationInfo *info = &srv_operations[id];
  g_autofree char *method = g_ascii_strdown (info->method, -1);
  const json_t *path = json_object_get (json_object_get (document, "paths"), info->path);
  const json_t *operation = json_object_get (path, method);
  const json_t *stated = json_object_get (operation, "x-roles");
  g_autofree char *operation_id = g_ascii_strdown (info->name, -1);
  g_auto (GStrv) known = srv_route_parameters (id);
  g_autofree char *query = NULL;
  g_autofree char *wanted = NULL;
  guint n_roles = 0;

  g_assert_nonnull (operation);
  g_assert_cmpstr (json_string_value (json_object_get (operation, "operationId")), ==,
                   operation_id);
  for (guint r = 0; r < G_N_ELEMENTS (roles); r++)
    if (info->roles & (1u << r))
      g_assert_cmpstr (json_string_value (json_array_get (stated, n_roles++)), ==, roles[r]);
  g_assert_cmpuint (json_array_size (stated), ==, n_roles);
  g_assert_true (!json_object_get (operation, "security") == (info->roles != 0));
  g_assert_true ((json_object_get (operation, "requestBody") != NULL)
                 == (strcmp (info->method, "GET") != 0));
  query = names_in (document, operation, "query");
  wanted = g_strjoinv (" ", known);
  g_assert_cmpuint (strlen (query), ==, strlen (wanted));
  for (guint i = 0; known[i]; i++)
    g_assert_nonnull (strstr (query, known[i]));
}

/* The document and the table say the same, both ways. */
static void
test_document (void)
{
  json_error_t error;
  json_t *document = json_loads (srv_openapi, JSON_REJECT_DUPLICATES, &error);
  const char *path;
  json_t *methods;
  guint n_operations = 0;

  g_assert_nonnull (document);
  for (guint i = 0; i < SRV_N_OPERATIONS; i++)
    document_check (document, (SrvOperation) i);
  json_object_foreach (json_object_get (document, "paths"), path, methods) n_operations
      += json_object_size (methods);
  g_assert_cmpuint (n_operations, ==, SRV_N_OPERATIONS);
  json_decref (document);
}

/* ---- codes: the document's are those of the list, both ways */
static const struct
{
  const char *status, *code;
} codes[] = {
#define ROW(status, code) { #status, #code },
  SRV_CODES (ROW)
#undef ROW
};

static gboolean
has_text (const json_t *array, const char *text)
{
  for (gsize i = 0; i < json_array_size (array); i++)
    if (strcmp (json_string_value (json_array_get (array, i)), text) == 0)
      return TRUE;
  return FALSE;
}

/* A response that an operation may answer with: its x-codes are those of its status. */
static void
response_check (const json_t *document, const char *status, const json_t *response)
{
  const json_t *stated = json_object_get (resolve (document, response), "x-codes");
  gsize n = 0;

  if (status[0] < '4')
    return;
  for (guint i = 0; i < G_N_ELEMENTS (codes); i++)
    if (strcmp (codes[i].status, status) == 0)
      {
        n++;
        if (!has_text (stated, codes[i].code))
          g_error ("the document has no %s with %s", codes[i].code, status);
      }
  g_assert_cmpuint (json_array_size (stated), ==, n);
}

static void
test_codes (void)
{
  json_error_t error;
  json_t *document = json_loads (srv_openapi, JSON_REJECT_DUPLICATES, &error);
  const json_t *stated = find (document, "components/schemas/Problem/properties/code/enum");
  g_autoptr (GHashTable) distinct = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);
  const char *path, *method, *status;
  json_t *methods, *operation, *response;

  for (guint i = 0; i < G_N_ELEMENTS (codes); i++)
    {
      g_hash_table_add (distinct, (gpointer) (guintptr) codes[i].code);
      if (!has_text (stated, codes[i].code))
        g_error ("the document has no %s", codes[i].code);
    }
  g_assert_cmpuint (json_array_size (stated), ==, g_hash_table_size (distinct));
  json_object_foreach (json_object_get (document, "paths"), path, methods)
  {
    json_object_foreach (methods, method, operation)
    {
      json_object_foreach (json_object_get (operation, "responses"), status, response)
      {
        response_check (document, status, response);
        g_hash_table_add (seen, (gpointer) (guintptr) g_intern_string (status));
      }
    }
  }
  for (guint i = 0; i < G_N_ELEMENTS (codes); i++)
    if (strcmp (codes[i].status, "405") != 0) /* of no operation */
      g_assert_true (g_hash_table_contains (seen, codes[i].status));
  json_decref (document);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/srv-route/every-operation", test_every_operation);
  g_test_add_func ("/srv-route/projects", test_projects);
  g_test_add_func ("/srv-route/refusals", test_refusals);
  g_test_add_func ("/srv-route/query", test_query);
  g_test_add_func ("/srv-route/document", test_document);
  g_test_add_func ("/srv-route/codes", test_codes);
  g_test_add_func ("/srv-input/body", test_body);
  g_test_add_func ("/srv-input/headers", test_headers);
  g_test_add_func ("/srv-poll/stream-text", test_stream_text);
  return g_test_run ();
}
