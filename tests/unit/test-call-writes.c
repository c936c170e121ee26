/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that write: the gates, the one request that goes out, the user's yes. */
#include "config.h"

#include "call-fixture.h"

#include <string.h>

/* ---- the gates */

static void
test_shut (CallFixture *f, gconstpointer flags)
{
  (void) flags;
  call_fixture_run (f, "add_item", "{\"name\":\"x\"}");
  call_fixture_assert_says (
      f, TRUE, "Refused, nothing was sent: add_item needs write access to http://127.0.0.1:");
  call_fixture_assert_says (f, TRUE, "set SHOP_WRITES=1 in the environment");
  g_assert_cmpstr (json_string_value (json_object_get (f->result->structured, "layer")), ==,
                   "access");
  g_assert_true (json_is_false (json_object_get (f->result->structured, "retry_will_succeed")));
  call_fixture_run (f, "drop_item", "{\"id\":\"x\"}");
  call_fixture_assert_says (f, TRUE, "set SHOP_WRITES=1 and SHOP_DELETES=1");
  call_fixture_run (f, "any", "{\"method\":\"PATCH\",\"path\":\"/v1/items\"}");
  call_fixture_assert_says (f, TRUE, "any needs delete access");
  call_fixture_run (f, "any", "{\"method\":\"GET\",\"path\":\"/v1/secrets/x\"}");
  call_fixture_assert_says (f, TRUE, "is closed in this catalogue, whatever the gates");
  call_fixture_assert_silence (f);
}

/* Writes open and deletes shut: a bulk PATCH that can delete stays out. */
static void
test_bulk_patch (CallFixture *f, gconstpointer flags)
{
  (void) flags;
  call_fixture_run (f, "any",
                    "{\"method\":\"PATCH\",\"path\":\"/v1/"
                    "items\",\"body\":{\"actions\":[{\"action\":\"delete\"}]}}");
  call_fixture_assert_says (f, TRUE, "any needs delete access");
  call_fixture_assert_says (f, TRUE, "set SHOP_DELETES=1 in");
  call_fixture_assert_silence (f);
  call_fixture_script (f, "PATCH", "/v1/items/x", 200, "{\"a\":1}");
  call_fixture_run (f, "any",
                    "{\"method\":\"PATCH\",\"path\":\"/v1/items/x\",\"body\":{\"a\":null}}");
  call_fixture_assert_says (f, FALSE, "{\"a\":1}");
}

static void
test_post_that_reads (CallFixture *f, gconstpointer flags)
{
  (void) flags;
  call_fixture_script (f, "POST", "/v1/items/search", 200, "[]");
  call_fixture_run (f, "any", "{\"method\":\"POST\",\"path\":\"/v1/items/search\",\"body\":{}}");
  call_fixture_assert_says (f, FALSE, "[]");
}

static void
test_raw_paths (CallFixture *f, gconstpointer flags)
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
      call_fixture_run (f, "any", arguments);
      call_fixture_assert_says (f, TRUE, "Nothing was sent: ");
    }
  call_fixture_assert_silence (f);
}

/* ---- writes */

static void
test_write (CallFixture *f, gconstpointer flags)
{
  g_autoptr (GPtrArray) requests = NULL;
  const FakeRequest *sent;
  g_autofree char *key = NULL;
  g_autofree char *text = g_strdup_printf ("Added 7, now new\n(sent to http://127.0.0.1:%u)",
                                           fake_backend_port (f->backend));
  gsize len;
  const char *body;

  (void) flags;
  call_fixture_script (f, "POST", "/v1/items", 201, "{\"id\":7}");
  call_fixture_script (f, "GET", "/v1/items/7", 200, "{\"state\":\"new\"}");
  call_fixture_run (
      f, "add_item",
      "{\"name\":\"x\",\"tags\":\"[\\\"t\\\"]\",\"extra\":{\"id\":9007199254740993,\"none\":null,"
      "\"f\":1.10}}");
  call_fixture_assert_text (f, FALSE, text);
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
test_write_then_failed_read (CallFixture *f, gconstpointer flags)
{
  (void) flags;
  call_fixture_script (f, "POST", "/v1/items", 201, "{\"id\":7}");
  call_fixture_script (f, "GET", "/v1/items/7", 500, "{\"detail\":\"tired\"}");
  call_fixture_run (f, "add_item", "{\"name\":\"x\"}");
  call_fixture_assert_says (f, FALSE,
                            "Added 7\nNot read (after): 500 Internal Server Error: tired");
}

static void
test_write_refused_by_backend (CallFixture *f, gconstpointer flags)
{
  (void) flags;
  call_fixture_script (f, "POST", "/v1/items", 409, "{\"detail\":\"exists\"}");
  call_fixture_run (f, "add_item", "{\"name\":\"x\"}");
  call_fixture_assert_says (f, TRUE,
                            "/v1/items answered 409 Conflict: exists\nIt is there already.");
}

static void
test_write_outcome_unknown (CallFixture *f, gconstpointer flags)
{
  FakeAnswer answer = { 0 };

  (void) flags;
  answer.mode = FAKE_TRUNCATE;
  fake_backend_script (f->backend, "POST", "/v1/items", &answer);
  call_fixture_run (f, "add_item", "{\"name\":\"x\"}");
  call_fixture_assert_says (f, TRUE, "Outcome unknown: http://127.0.0.1:");
  call_fixture_assert_says (
      f, TRUE,
      "It may have been carried out. Do not repeat it before you have looked.\nLook with "
      "get_item before you add it again.");
  g_assert_cmpuint (fake_backend_count (f->backend, "POST", "/v1/items"), ==, 1);
}

/* Whatever listens there can answer 200: what was carried out is what this API says it is. */
static void
test_write_strange_answer (CallFixture *f, gconstpointer flags)
{
  static const char *const bodies[]
      = { "{}", "null",           "[]", "7", "{\"id\":null}", "{\"id\":0}", "{\"id\":\"7\"}",
          "",   "<html>hi</html>" };

  (void) flags;
  for (guint i = 0; i < G_N_ELEMENTS (bodies); i++)
    {
      call_fixture_script (f, "POST", "/v1/items", 200, bodies[i]);
      call_fixture_run (f, "add_item", "{\"name\":\"x\"}");
      call_fixture_assert_says (f, TRUE, "Outcome unknown: http://127.0.0.1:");
      call_fixture_assert_says (f, TRUE,
                                "/v1/items was answered, but not as this API answers (200 with ");
      call_fixture_assert_says (
          f, TRUE,
          "It may have been carried out. Do not repeat it before you have looked.\nLook with "
          "get_item before you add it again.");
    }
  g_assert_cmpuint (fake_backend_count (f->backend, "GET", "/v1/items/7"), ==, 0);
}

static void
test_not_sent (CallFixture *f, gconstpointer flags)
{
  (void) flags;
  /* Nobody listens there any more. */
  fake_backend_free (f->backend);
  f->backend = fake_backend_new ("127.0.0.1");
  call_fixture_run (f, "add_item", "{\"name\":\"x\"}");
  call_fixture_assert_says (f, TRUE, "Nothing was sent to http://127.0.0.1:");
  call_fixture_assert_says (f, TRUE, "Its address comes from SHOP_URL.");
}

static void
test_deadline (CallFixture *f, gconstpointer flags)
{
  FakeAnswer answer = { 0 };

  (void) flags;
  answer.mode = FAKE_STALL;
  fake_backend_script (f->backend, "GET", "/v1/items/x", &answer);
  call_fixture_run (f, "get_item", "{\"id\":\"x\"}");
  call_fixture_assert_says (f, TRUE, "No answer from http://127.0.0.1:");
  fake_backend_script (f->backend, "POST", "/v1/items", &answer);
  call_fixture_run (f, "add_item", "{\"name\":\"x\"}");
  call_fixture_assert_says (f, TRUE, "Outcome unknown: ");
}

/* ---- the user's yes */

static void
test_asks_inline (CallFixture *f, gconstpointer flags)
{
  (void) flags;
  call_fixture_script (f, "DELETE", "/v1/items/x", 204, "");
  f->outcome = DBR_ASK_ACCEPTED;
  call_fixture_run_asking (f, "drop_item", "{\"id\":\"x\"}", DBR_ASKING_INLINE);
  call_fixture_assert_says (f, FALSE, "Dropped x");
  g_assert_cmpuint (f->n_asked, ==, 1);
  g_assert_nonnull (strstr (f->asked, "drop_item wants to send: DELETE http://127.0.0.1:"));
}

static void
test_no_means_no (CallFixture *f, gconstpointer flags)
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
      call_fixture_run_asking (f, "drop_item", "{\"id\":\"x\"}", DBR_ASKING_INLINE);
      call_fixture_assert_says (f, TRUE, "Nothing was sent: DELETE http://127.0.0.1:");
      call_fixture_assert_says (f, TRUE, cases[i].says);
      g_assert_cmpstr (json_string_value (json_object_get (f->result->structured, "layer")), ==,
                       "confirmation");
    }
  call_fixture_assert_silence (f);
}

static void
test_flag_alone (CallFixture *f, gconstpointer flags)
{
  (void) flags;
  call_fixture_script (f, "DELETE", "/v1/items/x", 204, "");
  call_fixture_run (f, "drop_item", "{\"id\":\"x\"}");
  call_fixture_assert_says (
      f, FALSE, "Dropped x\n(This client can't ask the user; the gate's flag alone decided.)");
}

static void
test_flag_ask (CallFixture *f, gconstpointer flags)
{
  (void) flags;
  call_fixture_run (f, "add_item", "{\"name\":\"x\"}");
  call_fixture_assert_says (
      f, TRUE, "needs the user's yes to this very request, and this client cannot ask");
  call_fixture_assert_silence (f);
  call_fixture_script (f, "POST", "/v1/items", 201, "{\"id\":7}");
  call_fixture_script (f, "GET", "/v1/items/7", 200, "{}");
  f->outcome = DBR_ASK_ACCEPTED;
  call_fixture_run_asking (f, "add_item", "{\"name\":\"x\"}", DBR_ASKING_INLINE);
  call_fixture_assert_says (f, FALSE, "Added 7");
}

static void
retry (CallFixture *f, const char *arguments, const char *state, const char *responses)
{
  g_autoptr (DbrJsonDoc) doc = dbr_json_doc_new_from_data (responses, -1, NULL, NULL);
  DbrCallRequest request = { 0 };

  request.tool = "drop_item";
  request.asking = DBR_ASKING_STATELESS;
  request.request_state = state;
  request.input_responses = dbr_json_doc_root (doc);
  call_fixture_run_request (f, &request, arguments);
}

static void
test_asks_stateless (CallFixture *f, gconstpointer flags)
{
  static const char yes[] = "{\"confirm\":{\"action\":\"accept\",\"content\":{\"confirm\":true}}}";
  g_autofree char *state = NULL;

  (void) flags;
  call_fixture_run_asking (f, "drop_item", "{\"id\":\"x\"}", DBR_ASKING_STATELESS);
  g_assert_true (f->result->input_required);
  g_assert_nonnull (strstr (f->result->ask_message, "DELETE"));
  state = g_strdup (f->result->request_state);
  call_fixture_assert_silence (f);

  retry (f, "{\"id\":\"other\"}", state, yes);
  call_fixture_assert_says (f, TRUE, "not one that this server gave out for this request");
  retry (f, "{\"id\":\"x\"}", "forged", yes);
  call_fixture_assert_says (f, TRUE, "not one that this server gave out");
  call_fixture_assert_silence (f);

  call_fixture_script (f, "DELETE", "/v1/items/x", 204, "");
  retry (f, "{\"id\":\"x\"}", state, yes);
  call_fixture_assert_says (f, FALSE, "Dropped x");
  retry (f, "{\"id\":\"x\"}", state, yes);
  call_fixture_assert_says (f, TRUE, "that yes was used already");
  g_assert_cmpuint (fake_backend_count (f->backend, "DELETE", "/v1/items/x"), ==, 1);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  CALL_FIXTURE_ADD ("shut", "", test_shut);
  CALL_FIXTURE_ADD ("bulk-patch", "writes", test_bulk_patch);
  CALL_FIXTURE_ADD ("post-that-reads", "", test_post_that_reads);
  CALL_FIXTURE_ADD ("raw-paths", "writes deletes", test_raw_paths);
  CALL_FIXTURE_ADD ("write", "writes", test_write);
  CALL_FIXTURE_ADD ("write-then-failed-read", "writes", test_write_then_failed_read);
  CALL_FIXTURE_ADD ("write-refused-by-backend", "writes", test_write_refused_by_backend);
  CALL_FIXTURE_ADD ("write-unknown", "writes", test_write_outcome_unknown);
  CALL_FIXTURE_ADD ("write-strange", "writes", test_write_strange_answer);
  CALL_FIXTURE_ADD ("not-sent", "writes", test_not_sent);
  CALL_FIXTURE_ADD ("deadline", "writes short", test_deadline);
  CALL_FIXTURE_ADD ("asks-inline", "writes deletes", test_asks_inline);
  CALL_FIXTURE_ADD ("no-means-no", "writes deletes", test_no_means_no);
  CALL_FIXTURE_ADD ("flag-alone", "writes deletes", test_flag_alone);
  CALL_FIXTURE_ADD ("flag-ask", "writes=ask", test_flag_ask);
  CALL_FIXTURE_ADD ("asks-stateless", "writes deletes", test_asks_stateless);
  return g_test_run ();
}
