/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message: what is a request, a notification, a response, and what each fault costs its sender.
 */
#include "config.h"

#include "protocol/dbr-message.h"
#include "protocol/dbr-revision.h"

/* "kind id method" of a message, or "code id text" of its error. */
static char *
describe (const char *text)
{
  static const char *const kinds[] = { "request", "notification", "response" };
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) line = g_bytes_new (text, strlen (text));
  g_autoptr (DbrJsonDoc) doc = dbr_message_parse_line (line, &error);
  g_auto (DbrMessage) message = { 0 };

  if (doc == NULL)
    return g_strdup_printf ("%d", error->code);
  if (!dbr_message_init (&message, dbr_json_doc_root (doc), &error))
    {
      g_assert_true (error->domain == DBR_RPC_ERROR);
      return g_strdup_printf ("%d %s %s", error->code, message.id, error->message);
    }
  return g_strdup_printf ("%s %s %s%s%s", kinds[message.kind], message.id, message.method,
                          dbr_json_exists (message.params) ? " params" : "",
                          dbr_json_exists (message.version) ? " modern" : "");
}

static const struct
{
  const char *text;
  const char *expected;
} cases[] = {
  /* what they are */
  { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", "request 1 ping" },
  { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":null}", "request 1 ping" },
  { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"_meta\":null}}",
    "request 1 ping params" },
  { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"_meta\":{\"" DBR_META_VERSION
    "\":5}}}",
    "request 1 ping params modern" },
  { "{\"jsonrpc\":\"2.0\",\"method\":\"x/y\"}", "notification (null) x/y" },
  { "{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":[1]}", "notification (null) x" },
  { "{\"jsonrpc\":\"1.0\",\"method\":\"x\"}", "notification (null) (null)" },
  { "{\"method\":7}", "notification (null) (null)" },
  { "{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"a\":{\"b\":1,\"b\":2}}",
    "notification (null) (null)" },
  { "{\"jsonrpc\":\"2.0\",\"id\":\"ask-1\",\"result\":{}}", "response \"ask-1\" (null)" },
  { "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{}}", "response 1 (null)" },
  { "{\"jsonrpc\":\"2.0\",\"result\":{}}", "response (null) (null)" },
  { "{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"result\":{}}", "response (null) (null)" },
  /* ids come back as they were written */
  { "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"m\"}", "request 0 m" },
  { "{\"jsonrpc\":\"2.0\",\"id\":-0,\"method\":\"m\"}", "request -0 m" },
  { "{\"jsonrpc\":\"2.0\",\"id\":123456789012345678901234567890,\"method\":\"m\"}",
    "request 123456789012345678901234567890 m" },
  { "{\"jsonrpc\":\"2.0\",\"id\":\"\",\"method\":\"m\"}", "request \"\" m" },
  { "{\"jsonrpc\":\"2.0\",\"id\":\"\\u0061\\/\\ud83d\\ude00\",\"method\":\"m\"}",
    "request \"\\u0061\\/\\ud83d\\ude00\" m" },
  /* odd ids */
  { "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"m\"}",
    "-32600 (null) Invalid Request: an id is a string or an integer" },
  { "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"m\"}",
    "-32600 (null) Invalid Request: an id is a string or an integer" },
  { "{\"jsonrpc\":\"2.0\",\"id\":1.0,\"method\":\"m\"}",
    "-32600 (null) Invalid Request: an id is a string or an integer" },
  { "{\"jsonrpc\":\"2.0\",\"id\":1e3,\"method\":\"m\"}",
    "-32600 (null) Invalid Request: an id is a string or an integer" },
  { "{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"m\"}",
    "-32600 (null) Invalid Request: an id is a string or an integer" },
  { "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"m\"}",
    "-32600 (null) Invalid Request: an id is a string or an integer" },
  { "{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"m\"}",
    "-32600 (null) Invalid Request: an id is a string or an integer" },
  { "{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"m\"}",
    "-32600 (null) Invalid Request: the key \"id\" occurs twice in one object" },
  { "{\"jsonrpc\":\"2.0\",\"id\":1,\"\\u0069d\":2,\"method\":\"m\"}",
    "-32600 (null) Invalid Request: the key \"id\" occurs twice in one object" },
  /* what is no message */
  { "5", "-32600 (null) Invalid Request: a message is an object" },
  { "null", "-32600 (null) Invalid Request: a message is an object" },
  { "{}", "-32600 (null) Invalid Request: there is no method, result or error" },
  { "{\"jsonrpc\":\"2.0\",\"id\":1}", "-32600 1 Invalid Request: method must be a string" },
  { "{\"id\":1,\"method\":\"m\"}", "-32600 1 Invalid Request: jsonrpc must be \"2.0\"" },
  { "{\"jsonrpc\":2.0,\"id\":1,\"method\":\"m\"}",
    "-32600 1 Invalid Request: jsonrpc must be \"2.0\"" },
  { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":null}",
    "-32600 1 Invalid Request: method must be a string" },
  { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\"}",
    "-32600 1 Invalid Request: method must be a string" },
  { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\\u0000b\"}",
    "-32600 1 Invalid Request: method must be a string" },
  { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"result\":{}}",
    "-32600 1 Invalid Request: a message has a method or an outcome, not both" },
  { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":[]}",
    "-32602 1 Invalid params: params must be an object" },
  { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":\"x\"}",
    "-32602 1 Invalid params: params must be an object" },
  { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"_meta\":[]}}",
    "-32602 1 Invalid params: _meta must be an object" },
  /* keys that stand twice, wherever */
  { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"method\":\"b\"}",
    "-32600 1 Invalid Request: the key \"method\" occurs twice in one object" },
  { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"a\":[{\"k\":1,\"\\u006b\":2}]}}",
    "-32600 1 Invalid Request: the key \"k\" occurs twice in one object" },
  { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":"
    "{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1,\"i\":1,\"c\":2}}",
    "-32600 1 Invalid Request: the key \"c\" occurs twice in one object" },
  { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"a\":{\"k\":1},\"b\":{\"k\":1}}}",
    "request 1 m params" },
  /* not JSON */
  { "{ not valid json !!", "-32700" },
  { "{} {}", "-32700" },
  { "", "-32700" },
};

static void
test_table (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *got = describe (cases[i].text);

      g_test_message ("%s", cases[i].text);
      g_assert_cmpstr (got, ==, cases[i].expected);
    }
}

static void
test_depth (void)
{
  for (guint depth = 63; depth <= 65; depth++)
    {
      g_autoptr (GString) text = g_string_new (NULL);
      g_autofree char *got = NULL;

      for (guint i = 0; i < depth; i++)
        g_string_append_c (text, '[');
      for (guint i = 0; i < depth; i++)
        g_string_append_c (text, ']');
      got = describe (text->str);
      g_assert_true (g_str_has_prefix (got, depth <= DBR_MESSAGE_MAX_DEPTH ? "-32600" : "-32700"));
    }
  {
    g_autofree char *deep = g_strnfill (100000, '[');
    g_autofree char *got = describe (deep);

    g_assert_cmpstr (got, ==, "-32700");
  }
}

static void
test_long_id (void)
{
  for (guint more = 0; more <= 1; more++)
    {
      /* with its two quotes */
      g_autofree char *id = g_strnfill (DBR_MESSAGE_MAX_ID_BYTES - 2 + more, 'x');
      g_autofree char *text
          = g_strdup_printf ("{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"method\":\"m\"}", id);
      g_autofree char *got = describe (text);
      g_autofree char *expected
          = more == 0 ? g_strdup_printf ("request \"%s\" m", id)
                      : g_strdup_printf (
                          "-32600 \"%s\" Invalid Request: the id is longer than 1024 bytes", id);

      g_assert_cmpstr (got, ==, expected);
    }
}

static char *
key_of (const char *text)
{
  g_autoptr (DbrJsonDoc) doc = dbr_json_doc_new_from_data (text, -1, NULL, NULL);

  return dbr_message_id_key (dbr_json_doc_root (doc));
}

static void
test_id_key (void)
{
  static const char *const pairs[][2] = {
    { "1", "1" },
    { "-0", "0" },
    { "\"1\"", "\"1\"" },
    { "\"a\"", "\"a\"" },
    { "\"\\u0061\"", "\"a\"" },
    { "\"\\u0000\"", "\"\\u0000\"" },
    { "\"\\\"\"", "\"\\\"\"" },
    { "1.0", NULL },
    { "null", NULL },
    { "[]", NULL },
  };

  for (guint i = 0; i < G_N_ELEMENTS (pairs); i++)
    {
      g_autofree char *key = key_of (pairs[i][0]);

      g_assert_cmpstr (key, ==, pairs[i][1]);
    }
  g_assert_null (dbr_message_id_key (DBR_JSON_NONE));
}

static void
test_revisions (void)
{
  static const char *const names[]
      = { "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28" };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      DbrRevision revision = dbr_revision_from_name (names[i]);

      g_assert_cmpstr (dbr_revision_name (revision), ==, names[i]);
      g_assert_cmpint (dbr_revision_is_modern (revision), ==, i == 4);
    }
  g_assert_cmpint (dbr_revision_from_name ("2099-01-01"), ==, DBR_REVISION_NONE);
  g_assert_cmpint (dbr_revision_from_name (""), ==, DBR_REVISION_NONE);
  g_assert_cmpint (dbr_revision_from_name (NULL), ==, DBR_REVISION_NONE);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/message/table", test_table);
  g_test_add_func ("/message/depth", test_depth);
  g_test_add_func ("/message/long-id", test_long_id);
  g_test_add_func ("/message/id-key", test_id_key);
  g_test_add_func ("/message/revisions", test_revisions);
  return g_test_run ();
}
