/* SPDX-License-Identifier: Apache-2.0 */
/* Whole calls over a made-up catalogue and a fake backend: graph, gate, the user's yes, failures in words. */
#include "config.h"

#include "lib/fake-backend.h"
#include "lib/open-host.h"

#include <string.h>

typedef struct
{
  FakeBackend *backend;
  DbrToolHost *host;
  GMainLoop *loop;
  gpointer call;
  DbrCallResult *result;
  DbrAskOutcome outcome; /* what the user answers */
  guint n_asked;
  char *asked;
  guint n_progress;
} Fixture;

/* ---- driving a call */

static void
set_up (Fixture *f, gconstpointer flags)
{
  const char *words = flags ? flags : "";
  g_auto (GStrv) environment = NULL;
  g_autofree char *url = NULL;
  DbrHostOptions how = { 0 };

  environment = g_environ_setenv (environment, "SHOP_WRITES",
                                  strstr (words, "writes=ask") ? "ask"
                                  : strstr (words, "writes")   ? "1"
                                                               : "0",
                                  TRUE);
  environment
      = g_environ_setenv (environment, "SHOP_DELETES", strstr (words, "deletes") ? "1" : "0", TRUE);
  f->backend = fake_backend_new ("127.0.0.1");
  url = g_strdup_printf ("http://127.0.0.1:%u", fake_backend_port (f->backend));
  how.backend.base_url = url;
  how.backend.timeout_ms = strstr (words, "short") ? 300 : 0;
  how.backend.environment = environment;
  f->host = open_host ("tests/data/call/shop.xml", &how);
  f->loop = g_main_loop_new (NULL, FALSE);
}

static void
tear_down (Fixture *f, gconstpointer flags)
{
  (void) flags;
  dbr_host_free (f->host);
  g_clear_pointer (&f->result, dbr_call_result_free);
  g_main_loop_unref (f->loop);
  g_free (f->asked);
  fake_backend_free (f->backend);
}

static void
on_progress (gpointer user_data, double progress, double total, const char *message)
{
  Fixture *f = user_data;

  (void) total;
  (void) message;
  g_assert_cmpfloat (progress, >, f->n_progress);
  f->n_progress++;
}

static gboolean
give_answer (gpointer user_data)
{
  Fixture *f = user_data;
  f->host->answered (f->host, f->call, f->outcome);
  return G_SOURCE_REMOVE;
}

static void
on_ask (gpointer user_data, const char *message, json_t *schema)
{
  Fixture *f = user_data;

  g_assert_nonnull (schema);
  f->n_asked++;
  g_free (f->asked);
  f->asked = g_strdup (message);
  g_idle_add (give_answer, f);
}

static void
on_done (gpointer user_data, DbrCallResult *result)
{
  Fixture *f = user_data;

  g_clear_pointer (&f->result, dbr_call_result_free);
  f->result = result;
  g_main_loop_quit (f->loop);
}

static gboolean
too_long (gpointer user_data)
{
  (void) user_data;
  g_error ("no answer within a minute");
  return G_SOURCE_REMOVE;
}

static void
run_request (Fixture *f, DbrCallRequest *request, const char *arguments)
{
  static const DbrCallEvents events = { on_progress, on_ask, on_done };
  g_autoptr (DbrJsonDoc) doc = dbr_json_doc_new_from_data (arguments, -1, NULL, NULL);
  guint watchdog = g_timeout_add_seconds (60, too_long, NULL);

  request->arguments = dbr_json_doc_root (doc);
  f->n_progress = 0;
  g_clear_pointer (&f->result, dbr_call_result_free);
  f->call = f->host->call (f->host, request, &events, f);
  g_assert_null (f->result); /* nothing is called back from inside call() */
  g_main_loop_run (f->loop);
  g_source_remove (watchdog);
}

static void
run_asking (Fixture *f, const char *tool, const char *arguments, DbrAsking asking)
{
  DbrCallRequest request = { 0 };

  request.tool = tool;
  request.asking = asking;
  request.wants_progress = TRUE;
  run_request (f, &request, arguments);
}

static void
run (Fixture *f, const char *tool, const char *arguments)
{
  run_asking (f, tool, arguments, DBR_ASKING_IMPOSSIBLE);
}

static void
script (Fixture *f, const char *method, const char *path, guint status, const char *body)
{
  FakeAnswer answer = { 0 };

  answer.status = status;
  answer.headers = "Content-Type: application/json\r\n";
  answer.body = body;
  fake_backend_script (f->backend, method, path, &answer);
}

static void
assert_text (const Fixture *f, gboolean is_error, const char *text)
{
  g_assert_cmpstr (f->result->text, ==, text);
  g_assert_cmpint (f->result->is_error, ==, is_error);
}

static void
assert_says (const Fixture *f, gboolean is_error, const char *part)
{
  if (strstr (f->result->text, part) == NULL)
    g_test_message ("got: %s", f->result->text);
  g_assert_nonnull (strstr (f->result->text, part));
  g_assert_cmpint (f->result->is_error, ==, is_error);
}

/* Not one request may have left. */
static void
assert_silence (Fixture *f)
{
  g_autoptr (GPtrArray) requests = fake_backend_requests (f->backend);
  g_assert_cmpuint (requests->len, ==, 0);
}

/* ---- the graph */

static void
test_plain (Fixture *f, gconstpointer flags)
{
  (void) flags;
  script (f, "GET", "/v1/items/a", 200, "{\"name\":\"Axe\"}");
  script (f, "GET", "/v1/items/a/stock", 200, "{\"count\":3}");
  run (f, "get_item", "{\"id\":\"a\"}");
  assert_text (f, FALSE, "Axe, 3 in stock");
  g_assert_cmpuint (f->n_progress, ==, 2);
}

static void
test_optional_failure_is_a_line (Fixture *f, gconstpointer flags)
{
  (void) flags;
  script (f, "GET", "/v1/items/a", 200, "{\"name\":\"Axe\"}");
  script (f, "GET", "/v1/items/a/stock", 500, "{\"detail\":\"store room shut\\n\\u001b[31m\"}");
  run (f, "get_item", "{\"id\":\"a\"}");
  assert_text (f, FALSE, "Axe\nNot read (stock): 500 Internal Server Error: store room shut\\n");
}

/* A backend that echoes what it was sent must not get a secret into an answer by way of a failure. */
static void
test_optional_failure_is_masked (Fixture *f, gconstpointer flags)
{
  (void) flags;
  script (f, "GET", "/v1/items/a", 200, "{\"name\":\"Axe\"}");
  script (f, "GET", "/v1/items/a/stock", 500,
          "{\"detail\":\"you sent Authorization: Bearer abcdefghijklmnop\"}");
  run (f, "get_item", "{\"id\":\"a\"}");
  assert_says (f, FALSE, "Not read (stock): 500");
  g_assert_null (strstr (f->result->text, "abcdefghijklmnop"));
}

static void
test_needed_failure_has_advice (Fixture *f, gconstpointer flags)
{
  g_autofree char *text
      = g_strdup_printf ("http://127.0.0.1:%u/v1/items/zz answered 404 Not Found: no such "
                         "item\nlist_items shows the ids; zz is none.",
                         fake_backend_port (f->backend));

  (void) flags;
  script (f, "GET", "/v1/items/zz", 404, "{\"detail\":\"no such item\"}");
  run (f, "get_item", "{\"id\":\"zz\"}");
  assert_text (f, TRUE, text);
}

static void
test_detail_shapes (Fixture *f, gconstpointer flags)
{
  static const struct
  {
    const char *body, *says;
  } cases[] = {
    { "{\"detail\":[{\"loc\":[\"query\",\"limit\"],\"msg\":\"must be a "
      "number\"},{\"loc\":[\"body\",0],\"msg\":\"bad\"}]}",
      "422 Unprocessable Content: query.limit: must be a number; body.0: bad" },
    { "{\"detail\":{\"reason\":\"Unique constraint\",\"orig_error\":\"UNIQUE "
      "failed\",\"statement\":\"INSERT\"}}",
      "422 Unprocessable Content: Unique constraint: UNIQUE failed" },
    { "{\"detail\":{\"code\":7}}", "422 Unprocessable Content: {\"code\":7}" },
    { "{\"error\":\"API route not found\"}",
      "422 Unprocessable Content: {\"error\":\"API route not found\"}" },
    { "oops", "422 Unprocessable Content: oops" },
    { "", "answered 422 Unprocessable Content" },
  };

  (void) flags;
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      script (f, "GET", "/v1/items/x", 422, cases[i].body);
      run (f, "get_item", "{\"id\":\"x\"}");
      assert_says (f, TRUE, cases[i].says);
    }
}

static void
test_odd_answers (Fixture *f, gconstpointer flags)
{
  FakeAnswer answer = { 0 };

  (void) flags;
  answer.headers = "Content-Type: text/html\r\n";
  answer.body = "<html>Welcome</html>";
  fake_backend_script (f->backend, "GET", "/v1/items/x", &answer);
  run (f, "get_item", "{\"id\":\"x\"}");
  assert_says (f, TRUE,
               "answered 200 with an HTML page instead of JSON: is that the address of the API?");

  answer.status = 302;
  answer.headers = "Location: https://login.example/oauth?secret=1\r\n";
  answer.body = "";
  fake_backend_script (f->backend, "GET", "/v1/items/x", &answer);
  run (f, "get_item", "{\"id\":\"x\"}");
  assert_says (f, TRUE, "302, a redirect to https://login.example, which is never followed");
  g_assert_null (strstr (f->result->text, "secret"));

  script (f, "GET", "/v1/items/x", 200, "{\"name\":");
  run (f, "get_item", "{\"id\":\"x\"}");
  assert_says (f, TRUE, "answered 200 with a body that is not JSON");
}

static void
test_depends (Fixture *f, gconstpointer flags)
{
  (void) flags;
  script (f, "GET", "/v1/top", 200, "{\"id\":\"a b\"}");
  script (f, "GET", "/v1/items/a%20b", 200, "{\"name\":\"Axe\",\"owner\":\"o\"}");
  script (f, "GET", "/v1/owners/o", 404, "{\"detail\":\"gone\"}");
  run (f, "dearest", "{}");
  assert_text (f, FALSE, "Axe of nobody (404)");
}

static void
test_when_skips (Fixture *f, gconstpointer flags)
{
  (void) flags;
  script (f, "GET", "/v1/items/q", 200, "{\"name\":\"Quill\",\"owner\":\"o\"}");
  script (f, "GET", "/v1/owners/o", 200, "{\"name\":\"Olga\"}");
  run (f, "dearest", "{\"id\":\"q\"}");
  assert_text (f, FALSE, "Quill of Olga (200)");
  g_assert_cmpuint (fake_backend_count (f->backend, "GET", "/v1/top"), ==, 0);
}

/* A backend must not steer our paths: an id from an answer is checked like an argument. */
static void
test_hostile_id_from_answer (Fixture *f, gconstpointer flags)
{
  (void) flags;
  script (f, "GET", "/v1/top", 200, "{\"id\":\"../secrets\"}");
  run (f, "dearest", "{}");
  assert_says (f, TRUE, "Nothing was sent: ");
  g_assert_cmpuint (fake_backend_count (f->backend, "*", "*"), <=, 1);
}

static void
test_for_each (Fixture *f, gconstpointer flags)
{
  (void) flags;
  script (f, "GET", "/v1/list", 200,
          "{\"items\":[{\"id\":\"a\",\"kind\":\"x\"},{\"id\":\"b\",\"kind\":\"x\"},{\"id\":\"c\","
          "\"kind\":\"x\"},"
          "{\"id\":\"d\",\"kind\":\"y\"},{\"id\":\"e\",\"kind\":\"z\"}]}");
  script (f, "GET", "/v1/items/a", 200, "{\"name\":\"A\"}");
  script (f, "GET", "/v1/items/d", 404, "{\"detail\":\"lost\"}");
  script (f, "GET", "/v1/items/e", 200, "{\"name\":\"E\"}");
  run (f, "inspect", "{}");
  /* One of each kind comes before a second of one. */
  assert_text (f, FALSE, "a: A\nd: 404 Not Found: lost\ne: E\nleft: b, c of a, b, c, d, e");
}

/* The two of a kind are the first and the last: what fails in another way is seldom next door. */
static void
test_for_each_spreads (Fixture *f, gconstpointer flags)
{
  (void) flags;
  script (f, "GET", "/v1/list", 200,
          "{\"items\":[{\"id\":\"a\",\"kind\":\"x\"},{\"id\":\"b\",\"kind\":\"x\"},{\"id\":\"c\","
          "\"kind\":\"x\"}]}");
  script (f, "GET", "/v1/items/a", 200, "{\"name\":\"A\"}");
  script (f, "GET", "/v1/items/c", 200, "{\"name\":\"C\"}");
  run (f, "inspect", "{}");
  assert_text (f, FALSE, "a: A\nc: C\nleft: b of a, b, c");
}

static void
test_fails (Fixture *f, gconstpointer flags)
{
  (void) flags;
  script (f, "GET", "/v1/list", 200, "{\"items\":[]}");
  run (f, "inspect", "{}");
  assert_text (f, TRUE, "No items.");
}

/* A tool that looks for members which aren't there must not say that the answer was empty. */
static void
test_silence (Fixture *f, gconstpointer flags)
{
  (void) flags;
  script (f, "GET", "/v1/items/a", 200, "{\"title\":\"Axe\",\"size\":1}");
  script (f, "GET", "/v1/items/a/stock", 200, "[]");
  run (f, "get_item", "{\"id\":\"a\"}");
  assert_text (f, FALSE,
               "The backend answered, but nothing of it is what this tool prints: $.item has the "
               "members title, size; $.stock is an array");
}

static void
test_pages (Fixture *f, gconstpointer flags)
{
  (void) flags;
  script (f, "GET", "/v1/items", 200, "{\"items\":[1,2],\"total\":7}");
  script (f, "GET", "/v1/items", 200, "{\"items\":[3,4],\"total\":7}");
  script (f, "GET", "/v1/items", 200, "{\"items\":[5,6],\"total\":7}");
  run (f, "all_items", "{}");
  assert_says (f, FALSE, "(6 of 7) cut at 6");
  g_assert_cmpuint (fake_backend_count (f->backend, "GET", "/v1/items"), ==, 3);
}

/* The server gives 100 of the 500 that were asked for: the next page follows what came. */
static void
test_clamped_page (Fixture *f, gconstpointer flags)
{
  g_autoptr (GString) body = g_string_new ("{\"total\":250,\"items\":[0");

  (void) flags;
  for (guint i = 1; i < 100; i++)
    g_string_append_printf (body, ",%u", i);
  g_string_append (body, "]}");
  script (f, "GET", "/v1/items", 200, body->str);
  run (f, "list_items", "{\"limit\":500,\"offset\":100}");
  assert_text (f, FALSE, "101-200 of 250\nNext: list_items {\"offset\": 200}");
}

/* ---- arguments, and what never leaves */

static void
test_bad_arguments (Fixture *f, gconstpointer flags)
{
  (void) flags;
  run (f, "get_item", "{\"idd\":\"a\"}");
  assert_says (f, TRUE, "Nothing was sent: the arguments of get_item are not right.");
  assert_says (f, TRUE, "idd");
  assert_silence (f);
}

static void
test_bad_segments (Fixture *f, gconstpointer flags)
{
  static const char *const ids[] = { "a/b", "..", ".", "a\\\\b", "a\\nb", "a\\u0000b", "%2F/" };

  (void) flags;
  for (guint i = 0; i < G_N_ELEMENTS (ids); i++)
    {
      g_autofree char *arguments = g_strdup_printf ("{\"id\":\"%s\"}", ids[i]);
      run (f, "get_item", arguments);
      assert_says (f, TRUE, "Nothing was sent: ");
    }
  assert_silence (f);
}

/* ---- the gates */

static void
test_shut (Fixture *f, gconstpointer flags)
{
  (void) flags;
  run (f, "add_item", "{\"name\":\"x\"}");
  assert_says (f, TRUE,
               "Refused, nothing was sent: add_item needs write access to http://127.0.0.1:");
  assert_says (f, TRUE, "set SHOP_WRITES=1 in the environment");
  g_assert_cmpstr (json_string_value (json_object_get (f->result->structured, "layer")), ==,
                   "access");
  g_assert_true (json_is_false (json_object_get (f->result->structured, "retry_will_succeed")));
  run (f, "drop_item", "{\"id\":\"x\"}");
  assert_says (f, TRUE, "set SHOP_WRITES=1 and SHOP_DELETES=1");
  run (f, "any", "{\"method\":\"PATCH\",\"path\":\"/v1/items\"}");
  assert_says (f, TRUE, "any needs delete access");
  run (f, "any", "{\"method\":\"GET\",\"path\":\"/v1/secrets/x\"}");
  assert_says (f, TRUE, "is closed in this catalogue, whatever the gates");
  assert_silence (f);
}

/* Writes open and deletes shut: a bulk PATCH that can delete stays out. */
static void
test_bulk_patch (Fixture *f, gconstpointer flags)
{
  (void) flags;
  run (f, "any",
       "{\"method\":\"PATCH\",\"path\":\"/v1/"
       "items\",\"body\":{\"actions\":[{\"action\":\"delete\"}]}}");
  assert_says (f, TRUE, "any needs delete access");
  assert_says (f, TRUE, "set SHOP_DELETES=1 in");
  assert_silence (f);
  script (f, "PATCH", "/v1/items/x", 200, "{\"a\":1}");
  run (f, "any", "{\"method\":\"PATCH\",\"path\":\"/v1/items/x\",\"body\":{\"a\":null}}");
  assert_says (f, FALSE, "{\"a\":1}");
}

static void
test_post_that_reads (Fixture *f, gconstpointer flags)
{
  (void) flags;
  script (f, "POST", "/v1/items/search", 200, "[]");
  run (f, "any", "{\"method\":\"POST\",\"path\":\"/v1/items/search\",\"body\":{}}");
  assert_says (f, FALSE, "[]");
}

static void
test_raw_paths (Fixture *f, gconstpointer flags)
{
  static const char *const paths[] = { "http://evil/x", "//evil/x",  "@evil/x",
                                       "\\\\evil",      "/v1/x?y#z", "/v1/%2e%2e/%2e%2e/auth",
                                       "/v1/../x",      "/v1/a%2Fb", "/v2/x",
                                       "/v1",           "/v1/x/",    "/v1/a b",
                                       "/v1/é",         "/v1/%00" };

  (void) flags;
  for (guint i = 0; i < G_N_ELEMENTS (paths); i++)
    {
      g_autofree char *arguments
          = g_strdup_printf ("{\"method\":\"GET\",\"path\":\"%s\"}", paths[i]);
      run (f, "any", arguments);
      assert_says (f, TRUE, "Nothing was sent: ");
    }
  assert_silence (f);
}

/* ---- writes */

static void
test_write (Fixture *f, gconstpointer flags)
{
  g_autoptr (GPtrArray) requests = NULL;
  const FakeRequest *sent;
  g_autofree char *key = NULL;
  g_autofree char *text = g_strdup_printf ("Added 7, now new\n(sent to http://127.0.0.1:%u)",
                                           fake_backend_port (f->backend));
  gsize len;
  const char *body;

  (void) flags;
  script (f, "POST", "/v1/items", 201, "{\"id\":7}");
  script (f, "GET", "/v1/items/7", 200, "{\"state\":\"new\"}");
  run (f, "add_item",
       "{\"name\":\"x\",\"tags\":\"[\\\"t\\\"]\",\"extra\":{\"id\":9007199254740993,\"none\":null,"
       "\"f\":1.10}}");
  assert_text (f, FALSE, text);
  requests = fake_backend_requests (f->backend);
  sent = g_ptr_array_index (requests, 0);
  body = g_bytes_get_data (sent->body, &len);
  g_assert_cmpmem (body, len,
                   "{\"name\":\"x\",\"tags\":[\"t\"],\"extra\":{\"id\":9007199254740993,\"none\":"
                   "null,\"f\":1.10},\"owner\":null,\"label\":\"item x\",\"kind\":{\"n\":1.10}}",
                   126);
  key = fake_request_header (sent, "Idempotency-Key", NULL);
  g_assert_cmpuint (strlen (key), ==, 36);
}

/* Once a write was acknowledged nothing after it turns the answer into an error. */
static void
test_write_then_failed_read (Fixture *f, gconstpointer flags)
{
  (void) flags;
  script (f, "POST", "/v1/items", 201, "{\"id\":7}");
  script (f, "GET", "/v1/items/7", 500, "{\"detail\":\"tired\"}");
  run (f, "add_item", "{\"name\":\"x\"}");
  assert_says (f, FALSE, "Added 7\nNot read (after): 500 Internal Server Error: tired");
}

static void
test_write_refused_by_backend (Fixture *f, gconstpointer flags)
{
  (void) flags;
  script (f, "POST", "/v1/items", 409, "{\"detail\":\"exists\"}");
  run (f, "add_item", "{\"name\":\"x\"}");
  assert_says (f, TRUE, "/v1/items answered 409 Conflict: exists\nIt is there already.");
}

static void
test_write_outcome_unknown (Fixture *f, gconstpointer flags)
{
  FakeAnswer answer = { 0 };

  (void) flags;
  answer.mode = FAKE_TRUNCATE;
  fake_backend_script (f->backend, "POST", "/v1/items", &answer);
  run (f, "add_item", "{\"name\":\"x\"}");
  assert_says (f, TRUE, "Outcome unknown: http://127.0.0.1:");
  assert_says (f, TRUE,
               "It may have been carried out. Do not repeat it before you have looked.\nLook with "
               "get_item before you add it again.");
  g_assert_cmpuint (fake_backend_count (f->backend, "POST", "/v1/items"), ==, 1);
}

static void
test_not_sent (Fixture *f, gconstpointer flags)
{
  (void) flags;
  /* Nobody listens there any more. */
  fake_backend_free (f->backend);
  f->backend = fake_backend_new ("127.0.0.1");
  run (f, "add_item", "{\"name\":\"x\"}");
  assert_says (f, TRUE, "Nothing was sent to http://127.0.0.1:");
  assert_says (f, TRUE, "Its address comes from SHOP_URL.");
}

static void
test_deadline (Fixture *f, gconstpointer flags)
{
  FakeAnswer answer = { 0 };

  (void) flags;
  answer.mode = FAKE_STALL;
  fake_backend_script (f->backend, "GET", "/v1/items/x", &answer);
  run (f, "get_item", "{\"id\":\"x\"}");
  assert_says (f, TRUE, "No answer from http://127.0.0.1:");
  fake_backend_script (f->backend, "POST", "/v1/items", &answer);
  run (f, "add_item", "{\"name\":\"x\"}");
  assert_says (f, TRUE, "Outcome unknown: ");
}

/* ---- the user's yes */

static void
test_asks_inline (Fixture *f, gconstpointer flags)
{
  (void) flags;
  script (f, "DELETE", "/v1/items/x", 204, "");
  f->outcome = DBR_ASK_ACCEPTED;
  run_asking (f, "drop_item", "{\"id\":\"x\"}", DBR_ASKING_INLINE);
  assert_says (f, FALSE, "Dropped x");
  g_assert_cmpuint (f->n_asked, ==, 1);
  g_assert_nonnull (strstr (f->asked, "drop_item wants to send: DELETE http://127.0.0.1:"));
}

static void
test_no_means_no (Fixture *f, gconstpointer flags)
{
  static const struct
  {
    DbrAskOutcome outcome;
    const char *says;
  } cases[] = { { DBR_ASK_DECLINED, "the user declined" },
                { DBR_ASK_CANCELLED, "closed without an answer" },
                { DBR_ASK_TIMED_OUT, "no answer came in time" },
                { DBR_ASK_UNAVAILABLE, "could not ask" } };

  (void) flags;
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      f->outcome = cases[i].outcome;
      run_asking (f, "drop_item", "{\"id\":\"x\"}", DBR_ASKING_INLINE);
      assert_says (f, TRUE, "Nothing was sent: DELETE http://127.0.0.1:");
      assert_says (f, TRUE, cases[i].says);
      g_assert_cmpstr (json_string_value (json_object_get (f->result->structured, "layer")), ==,
                       "confirmation");
    }
  assert_silence (f);
}

static void
test_flag_alone (Fixture *f, gconstpointer flags)
{
  (void) flags;
  script (f, "DELETE", "/v1/items/x", 204, "");
  run (f, "drop_item", "{\"id\":\"x\"}");
  assert_says (f, FALSE,
               "Dropped x\n(This client can't ask the user; the gate's flag alone decided.)");
}

static void
test_flag_ask (Fixture *f, gconstpointer flags)
{
  (void) flags;
  run (f, "add_item", "{\"name\":\"x\"}");
  assert_says (f, TRUE, "needs the user's yes to this very request, and this client cannot ask");
  assert_silence (f);
  script (f, "POST", "/v1/items", 201, "{\"id\":7}");
  script (f, "GET", "/v1/items/7", 200, "{}");
  f->outcome = DBR_ASK_ACCEPTED;
  run_asking (f, "add_item", "{\"name\":\"x\"}", DBR_ASKING_INLINE);
  assert_says (f, FALSE, "Added 7");
}

static void
retry (Fixture *f, const char *arguments, const char *state, const char *responses)
{
  g_autoptr (DbrJsonDoc) doc = dbr_json_doc_new_from_data (responses, -1, NULL, NULL);
  DbrCallRequest request = { 0 };

  request.tool = "drop_item";
  request.asking = DBR_ASKING_STATELESS;
  request.request_state = state;
  request.input_responses = dbr_json_doc_root (doc);
  run_request (f, &request, arguments);
}

static void
test_asks_stateless (Fixture *f, gconstpointer flags)
{
  static const char yes[] = "{\"confirm\":{\"action\":\"accept\",\"content\":{\"confirm\":true}}}";
  g_autofree char *state = NULL;

  (void) flags;
  run_asking (f, "drop_item", "{\"id\":\"x\"}", DBR_ASKING_STATELESS);
  g_assert_true (f->result->input_required);
  g_assert_nonnull (strstr (f->result->ask_message, "DELETE"));
  state = g_strdup (f->result->request_state);
  assert_silence (f);

  retry (f, "{\"id\":\"other\"}", state, yes);
  assert_says (f, TRUE, "not one that this server gave out for this request");
  retry (f, "{\"id\":\"x\"}", "forged", yes);
  assert_says (f, TRUE, "not one that this server gave out");
  assert_silence (f);

  script (f, "DELETE", "/v1/items/x", 204, "");
  retry (f, "{\"id\":\"x\"}", state, yes);
  assert_says (f, FALSE, "Dropped x");
  retry (f, "{\"id\":\"x\"}", state, yes);
  assert_says (f, TRUE, "that yes was used already");
  g_assert_cmpuint (fake_backend_count (f->backend, "DELETE", "/v1/items/x"), ==, 1);
}

/* ---- logs */

static void
script_log (Fixture *f, const char *body, FakeMode mode)
{
  FakeAnswer answer = { 0 };

  answer.body = body;
  answer.mode = mode;
  answer.no_length = mode != FAKE_KEEP;
  answer.at = mode == FAKE_STALL ? strlen (body) + 200 : 0;
  answer.headers = "Content-Type: application/json\r\n";
  fake_backend_script (f->backend, "GET", "/v1/log", &answer);
}

static void
test_tail (Fixture *f, gconstpointer flags)
{
  (void) flags;
  script_log (f,
              "{\"rows\":[{\"text\":\"a\"},{\"text\":\"b\",\"level\":\"error\"},\"plain\",{"
              "\"text\":\"c\"},{\"text\":\"d\",\"level\":\"error\"}]}",
              FAKE_KEEP);
  run (f, "log", "{}");
  assert_text (f, FALSE, "3 lines of 5, 5 match\nplain\nc\nd");
  script_log (f,
              "{\"rows\":[{\"text\":\"a\"},{\"text\":\"b\",\"level\":\"error\"},\"plain\",{"
              "\"text\":\"c\"},{\"text\":\"d\",\"level\":\"error\"}]}",
              FAKE_KEEP);
  run (f, "log", "{\"level\":\"error\"}");
  assert_text (f, FALSE, "2 lines of 5, 2 match\nb\nd");
}

static void
test_tail_of_cut_record (Fixture *f, gconstpointer flags)
{
  g_autofree char *filler = g_strnfill (20000, 'x');
  g_autofree char *body
      = g_strdup_printf ("{\"rows\":[{\"text\":\"long %s end\",\"level\":\"info\"}]}", filler);

  (void) flags;
  script_log (f, body, FAKE_KEEP);
  run (f, "log", "{}");
  assert_says (f, FALSE, "1 line of 1, 1 match\nlong xxx");
  assert_says (f, FALSE, "(cut from 20035)");
}

/* The level of a record that is too long to keep stands behind its text; and marks are no lines. */
static void
test_tail_levels_and_marks (Fixture *f, gconstpointer flags)
{
  g_autofree char *filler = g_strnfill (20000, 'x');
  g_autofree char *body = g_strdup_printf (
      "{\"rows\":[{\"text\":\"::group::Start\"},{\"text\":\"long "
      "%s\",\"level\":\"info\"},{\"text\":\"bad %s\",\"level\":\"error\",\"n\":1},"
      "{\"text\":\"b\",\"level\":\"error\"},{\"text\":\"::endgroup::\",\"level\":\"info\"}]}",
      filler, filler);

  (void) flags;
  script_log (f, body, FAKE_KEEP);
  run (f, "log", "{\"level\":\"error\"}");
  assert_says (f, FALSE, "2 lines of 5, 2 match\nbad xxx");
  g_assert_null (strstr (f->result->text, "long"));
  script_log (f, body, FAKE_KEEP);
  run (f, "log", "{\"lines\":1}");
  assert_text (f, FALSE, "1 line of 5, 3 match\nb");
}

/* The deadline comes first: what was seen so far is the answer, and it says so. */
static void
test_tail_at_the_deadline (Fixture *f, gconstpointer flags)
{
  (void) flags;
  script_log (f, "{\"rows\":[{\"text\":\"a\"},{\"text\":\"b\"},{\"text\":\"c", FAKE_STALL);
  run (f, "log", "{}");
  assert_text (f, FALSE, "2 lines of 2, 2 match, cut\na\nb");
}

/* ---- cancel */

static void
test_cancel (Fixture *f, gconstpointer flags)
{
  static const DbrCallEvents events = { on_progress, on_ask, on_done };
  g_autoptr (DbrJsonDoc) doc = dbr_json_doc_new_from_data ("{\"id\":\"x\"}", -1, NULL, NULL);
  DbrCallRequest request = { 0 };
  FakeAnswer answer = { 0 };
  gpointer call;

  (void) flags;
  answer.mode = FAKE_STALL;
  fake_backend_script (f->backend, "GET", "/v1/items/x", &answer);
  request.tool = "get_item";
  request.arguments = dbr_json_doc_root (doc);
  call = f->host->call (f->host, &request, &events, f);
  while (fake_backend_count (f->backend, "GET", "/v1/items/x") == 0)
    g_main_context_iteration (NULL, FALSE);
  f->host->cancel (f->host, call);
  g_assert_null (f->result);
  /* And before anything happened. */
  call = f->host->call (f->host, &request, &events, f);
  f->host->cancel (f->host, call);
  script (f, "GET", "/v1/items/y", 200, "{\"name\":\"Y\"}");
  script (f, "GET", "/v1/items/y/stock", 200, "{}");
  run (f, "get_item", "{\"id\":\"y\"}");
  assert_text (f, FALSE, "Y");
}

#define ADD(path, flags, function) \
  g_test_add ("/call/" path, Fixture, flags, set_up, function, tear_down)

/* ---- a model and a person */

static const char *
typed (const char *tool, const char **out_names, gpointer user_data)
{
  (void) out_names;
  (void) user_data;
  return strcmp (tool, "get") == 0 ? "people get" : NULL;
}

/* The fixture's host gives way to people.xml in this offer. */
static void
reopen (Fixture *f, const char *offer, guint port)
{
  g_auto (GStrv) environment = g_environ_setenv (NULL, "PEOPLE_WRITES", "1", TRUE);
  g_autofree char *url = g_strdup_printf ("http://127.0.0.1:%u", port);
  DbrHostOptions how = { 0 };

  how.backend.base_url = url;
  how.backend.environment = environment;
  how.typed = strcmp (offer, "person") == 0 ? typed : NULL;
  dbr_host_free (f->host);
  f->host = open_host_offer ("tests/data/call/people.xml", offer, &how);
}

static void
test_offers (Fixture *f, gconstpointer flags)
{
  static const struct
  {
    guint status;
    const char *body, *model, *person;
  } cases[] = {
    { 200, "{\"name\":\"Axe\",\"next\":\"b c\"}", "Axe for a model\nNext: get {\"id\": \"b c\"}",
      "Axe for a person\nNext: people get id='b c'" },
    { 404, "{\"detail\":\"No axe.\",\"code\":\"none\"}", "answered 404 Not Found: No axe.\nLook.",
      "No axe.\nLook around." },
    { 404, "{\"detail\":\"No axe.\",\"code\":\"gone\"}",
      "answered 404 Not Found: No axe.\nGone for models.", "No axe.\nGone for people." },
    { 404, "{\"detail\":\"No axe.\",\"code\":\"mine\"}", "answered 404 Not Found: No axe.\nLook.",
      "No axe.\nMy own, a." },
    { 401, "{\"detail\":\"Who?\",\"code\":\"bad_token\"}", "answered 401 Unauthorized: Who?",
      "Who?\nTake another." },
    { 422,
      "{\"detail\":\"id is odd.\",\"code\":\"bad\",\"errors\":[{\"field\":\"id\",\"problem\":\"is "
      "odd\"}]}",
      "answered 422 Unprocessable Content: id is odd.", "id is odd." },
    { 422,
      "{\"detail\":\"2 are "
      "wrong.\",\"code\":\"bad\",\"errors\":[{\"field\":\"id\",\"problem\":\"is odd\"},"
      "{\"field\":\"x\",\"problem\":\"is even\"}]}",
      "answered 422 Unprocessable Content: 2 are wrong.\n- id is odd\n- x is even",
      "2 are wrong.\n- id is odd\n- x is even" },
    /* Not worded by the backend: then a person needs all that is known. */
    { 500, "oops", "answered 500 Internal Server Error: oops",
      "answered 500 Internal Server Error: oops" },
  };
  static const char *const offers[] = { "model", "person" };

  (void) flags;
  for (guint o = 0; o < 2; o++)
    {
      reopen (f, offers[o], fake_backend_port (f->backend));
      for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
        {
          const char *wanted = o ? cases[i].person : cases[i].model;
          script (f, "GET", "/v1/one/a", cases[i].status, cases[i].body);
          run (f, "get", "{\"id\":\"a\"}");
          if (o && cases[i].status != 500)
            assert_text (f, cases[i].status != 200, wanted);
          else
            assert_says (f, cases[i].status != 200, wanted);
          g_assert_true (g_str_has_suffix (f->result->text, wanted));
        }
    }
}

static void
test_person_without_backend (Fixture *f, gconstpointer flags)
{
  guint port = fake_backend_port (f->backend);
  g_autofree char *person = g_strdup_printf (
      "Nothing was done: no connection to http://127.0.0.1:%u: Connection refused.\nStart it.",
      port);

  (void) flags;
  g_clear_pointer (&f->backend, fake_backend_free);
  reopen (f, "person", port);
  run (f, "get", "{\"id\":\"a\"}");
  assert_text (f, TRUE, person);
  reopen (f, "model", port);
  run (f, "get", "{\"id\":\"a\"}");
  assert_says (
      f, TRUE,
      "Is it running, and is that its address? The next call tries again by itself.\nStart it.");
  f->backend = fake_backend_new ("127.0.0.1");
}

/* A wrong member is named as the argument that filled it. */
static void
test_problems_by_argument (Fixture *f, gconstpointer flags)
{
  static const char body[]
      = "{\"detail\":\"name is odd.\",\"code\":\"bad\",\"errors\":["
        "{\"field\":\"settings.open.times[0]\",\"problem\":\"is odd\"},"
        "{\"field\":\"settings.open.timesheet\",\"problem\":\"is odd\"},"
        "{\"field\":\"settings.open\",\"problem\":\"is odd\"},"
        "{\"field\":\"settings.both\",\"problem\":\"is odd\"},"
        "{\"field\":\"name\",\"problem\":\"is odd\"},{\"field\":\"\",\"problem\":\"\"}]}";
  static const char *const offers[] = { "model", "person" };

  (void) flags;
  for (guint o = 0; o < 2; o++)
    {
      reopen (f, offers[o], fake_backend_port (f->backend));
      script (f, "POST", "/v1/set", 422, body);
      run (f, "set", "{\"hours\":[1],\"title\":\"x\"}");
      assert_says (f, TRUE,
                   o ? "title is odd.\n- hours[0]"
                     : "422 Unprocessable Content: name is odd.\n- hours[0]");
      assert_says (f, TRUE,
                   "\n- hours[0] is odd\n- settings.open.timesheet is odd\n- settings.open is odd\n"
                   "- settings.both is odd\n- title is odd\n- ");
    }
}

/* A field of a path that selects several is an array, of none too. */
static void
test_field_of_several (Fixture *f, gconstpointer flags)
{
  static const char *const cases[][2]
      = { { "{\"items\":[{\"id\":1,\"on\":true},{\"id\":2,\"on\":false},{\"id\":1e1,\"on\":true}]}",
            "{\"ids\":[1,1e1]}" },
          { "{\"items\":[]}", "{\"ids\":[]}" } };

  (void) flags;
  reopen (f, "model", fake_backend_port (f->backend));
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GPtrArray) requests = NULL;
      const FakeRequest *sent;
      gsize len;
      const char *body;

      script (f, "GET", "/v1/seen", 200, cases[i][0]);
      script (f, "POST", "/v1/all", 200, "{\"n\":1}");
      run (f, "put", "{}");
      assert_says (f, FALSE, "1 thing");
      requests = fake_backend_requests (f->backend);
      sent = g_ptr_array_index (requests, requests->len - 1);
      body = g_bytes_get_data (sent->body, &len);
      g_assert_cmpmem (body, len, cases[i][1], strlen (cases[i][1]));
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  ADD ("plain", "", test_plain);
  ADD ("optional-failure", "", test_optional_failure_is_a_line);
  ADD ("optional-failure-masked", "", test_optional_failure_is_masked);
  ADD ("offers", "", test_offers);
  ADD ("person-without-backend", "", test_person_without_backend);
  ADD ("problems-by-argument", "", test_problems_by_argument);
  ADD ("field-of-several", "", test_field_of_several);
  ADD ("needed-failure", "", test_needed_failure_has_advice);
  ADD ("detail-shapes", "", test_detail_shapes);
  ADD ("odd-answers", "", test_odd_answers);
  ADD ("depends", "", test_depends);
  ADD ("when", "", test_when_skips);
  ADD ("hostile-id", "", test_hostile_id_from_answer);
  ADD ("for-each", "", test_for_each);
  ADD ("for-each-spreads", "", test_for_each_spreads);
  ADD ("fails", "", test_fails);
  ADD ("silence", "", test_silence);
  ADD ("pages", "", test_pages);
  ADD ("clamped-page", "", test_clamped_page);
  ADD ("bad-arguments", "", test_bad_arguments);
  ADD ("bad-segments", "", test_bad_segments);
  ADD ("shut", "", test_shut);
  ADD ("bulk-patch", "writes", test_bulk_patch);
  ADD ("post-that-reads", "", test_post_that_reads);
  ADD ("raw-paths", "writes deletes", test_raw_paths);
  ADD ("write", "writes", test_write);
  ADD ("write-then-failed-read", "writes", test_write_then_failed_read);
  ADD ("write-refused-by-backend", "writes", test_write_refused_by_backend);
  ADD ("write-unknown", "writes", test_write_outcome_unknown);
  ADD ("not-sent", "writes", test_not_sent);
  ADD ("deadline", "writes short", test_deadline);
  ADD ("asks-inline", "writes deletes", test_asks_inline);
  ADD ("no-means-no", "writes deletes", test_no_means_no);
  ADD ("flag-alone", "writes deletes", test_flag_alone);
  ADD ("flag-ask", "writes=ask", test_flag_ask);
  ADD ("asks-stateless", "writes deletes", test_asks_stateless);
  ADD ("tail", "", test_tail);
  ADD ("tail-cut-record", "", test_tail_of_cut_record);
  ADD ("tail-levels-and-marks", "", test_tail_levels_and_marks);
  ADD ("tail-deadline", "short", test_tail_at_the_deadline);
  ADD ("cancel", "", test_cancel);
  return g_test_run ();
}
