/* SPDX-License-Identifier: Apache-2.0 */
/* Whole calls: the graph of requests, arguments, failures in words, what is cancelled. */
#include "config.h"

#include "call-fixture.h"

#include <string.h>

/* ---- the graph */

static void
test_plain (CallFixture *f, gconstpointer flags)
{
  (void) flags;
  call_fixture_script (f, "GET", "/v1/items/a", 200, "{\"name\":\"Axe\"}");
  call_fixture_script (f, "GET", "/v1/items/a/stock", 200, "{\"count\":3}");
  call_fixture_run (f, "get_item", "{\"id\":\"a\"}");
  call_fixture_assert_text (f, FALSE, "Axe, 3 in stock");
  g_assert_cmpuint (f->n_progress, ==, 2);
}

static void
test_optional_failure_is_a_line (CallFixture *f, gconstpointer flags)
{
  (void) flags;
  call_fixture_script (f, "GET", "/v1/items/a", 200, "{\"name\":\"Axe\"}");
  call_fixture_script (f, "GET", "/v1/items/a/stock", 500,
                       "{\"detail\":\"store room shut\\n\\u001b[31m\"}");
  call_fixture_run (f, "get_item", "{\"id\":\"a\"}");
  call_fixture_assert_text (f, FALSE,
                            "Axe\nNot read (stock): 500 Internal Server Error: store room shut\\n");
}

/* A backend that echoes what it was sent must not get a secret into an answer by way of a failure. */
static void
test_optional_failure_is_masked (CallFixture *f, gconstpointer flags)
{
  (void) flags;
  call_fixture_script (f, "GET", "/v1/items/a", 200, "{\"name\":\"Axe\"}");
  call_fixture_script (f, "GET", "/v1/items/a/stock", 500,
                       "{\"detail\":\"you sent Authorization: Bearer abcdefghijklmnop\"}");
  call_fixture_run (f, "get_item", "{\"id\":\"a\"}");
  call_fixture_assert_says (f, FALSE, "Not read (stock): 500");
  g_assert_null (strstr (f->result->text, "abcdefghijklmnop"));
}

static void
test_needed_failure_has_advice (CallFixture *f, gconstpointer flags)
{
  g_autofree char *text
      = g_strdup_printf ("http://127.0.0.1:%u/v1/items/zz answered 404 Not Found: no such "
                         "item\nlist_items shows the ids; zz is none.",
                         fake_backend_port (f->backend));

  (void) flags;
  call_fixture_script (f, "GET", "/v1/items/zz", 404, "{\"detail\":\"no such item\"}");
  call_fixture_run (f, "get_item", "{\"id\":\"zz\"}");
  call_fixture_assert_text (f, TRUE, text);
}

static void
test_detail_shapes (CallFixture *f, gconstpointer flags)
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
      call_fixture_script (f, "GET", "/v1/items/x", 422, cases[i].body);
      call_fixture_run (f, "get_item", "{\"id\":\"x\"}");
      call_fixture_assert_says (f, TRUE, cases[i].says);
    }
}

static void
test_odd_answers (CallFixture *f, gconstpointer flags)
{
  FakeAnswer answer = { 0 };

  (void) flags;
  answer.headers = "Content-Type: text/html\r\n";
  answer.body = "<html>Welcome</html>";
  fake_backend_script (f->backend, "GET", "/v1/items/x", &answer);
  call_fixture_run (f, "get_item", "{\"id\":\"x\"}");
  call_fixture_assert_says (
      f, TRUE, "answered 200 with an HTML page instead of JSON: is that the address of the API?");

  answer.status = 302;
  answer.headers = "Location: https://login.example/oauth?secret=1\r\n";
  answer.body = "";
  fake_backend_script (f->backend, "GET", "/v1/items/x", &answer);
  call_fixture_run (f, "get_item", "{\"id\":\"x\"}");
  call_fixture_assert_says (f, TRUE,
                            "302, a redirect to https://login.example, which is never followed");
  g_assert_null (strstr (f->result->text, "secret"));

  call_fixture_script (f, "GET", "/v1/items/x", 200, "{\"name\":");
  call_fixture_run (f, "get_item", "{\"id\":\"x\"}");
  call_fixture_assert_says (f, TRUE, "answered 200 with a body that is not JSON");
}

static void
test_depends (CallFixture *f, gconstpointer flags)
{
  (void) flags;
  call_fixture_script (f, "GET", "/v1/top", 200, "{\"id\":\"a b\"}");
  call_fixture_script (f, "GET", "/v1/items/a%20b", 200, "{\"name\":\"Axe\",\"owner\":\"o\"}");
  call_fixture_script (f, "GET", "/v1/owners/o", 404, "{\"detail\":\"gone\"}");
  call_fixture_run (f, "dearest", "{}");
  call_fixture_assert_text (f, FALSE, "Axe of nobody (404)");
}

static void
test_when_skips (CallFixture *f, gconstpointer flags)
{
  (void) flags;
  call_fixture_script (f, "GET", "/v1/items/q", 200, "{\"name\":\"Quill\",\"owner\":\"o\"}");
  call_fixture_script (f, "GET", "/v1/owners/o", 200, "{\"name\":\"Olga\"}");
  call_fixture_run (f, "dearest", "{\"id\":\"q\"}");
  call_fixture_assert_text (f, FALSE, "Quill of Olga (200)");
  g_assert_cmpuint (fake_backend_count (f->backend, "GET", "/v1/top"), ==, 0);
}

/* A backend must not steer our paths: an id from an answer is checked like an argument. */
static void
test_hostile_id_from_answer (CallFixture *f, gconstpointer flags)
{
  (void) flags;
  call_fixture_script (f, "GET", "/v1/top", 200, "{\"id\":\"../secrets\"}");
  call_fixture_run (f, "dearest", "{}");
  call_fixture_assert_says (f, TRUE, "Nothing was sent: ");
  g_assert_cmpuint (fake_backend_count (f->backend, "*", "*"), <=, 1);
}

static void
test_for_each (CallFixture *f, gconstpointer flags)
{
  (void) flags;
  call_fixture_script (
      f, "GET", "/v1/list", 200,
      "{\"items\":[{\"id\":\"a\",\"kind\":\"x\"},{\"id\":\"b\",\"kind\":\"x\"},{\"id\":\"c\","
      "\"kind\":\"x\"},"
      "{\"id\":\"d\",\"kind\":\"y\"},{\"id\":\"e\",\"kind\":\"z\"}]}");
  call_fixture_script (f, "GET", "/v1/items/a", 200, "{\"name\":\"A\"}");
  call_fixture_script (f, "GET", "/v1/items/d", 404, "{\"detail\":\"lost\"}");
  call_fixture_script (f, "GET", "/v1/items/e", 200, "{\"name\":\"E\"}");
  call_fixture_run (f, "inspect", "{}");
  /* One of each kind comes before a second of one. */
  call_fixture_assert_text (f, FALSE,
                            "a: A\nd: 404 Not Found: lost\ne: E\nleft: b, c of a, b, c, d, e");
}

/* The two of a kind are the first and the last: what fails in another way is seldom next door. */
static void
test_for_each_spreads (CallFixture *f, gconstpointer flags)
{
  (void) flags;
  call_fixture_script (
      f, "GET", "/v1/list", 200,
      "{\"items\":[{\"id\":\"a\",\"kind\":\"x\"},{\"id\":\"b\",\"kind\":\"x\"},{\"id\":\"c\","
      "\"kind\":\"x\"}]}");
  call_fixture_script (f, "GET", "/v1/items/a", 200, "{\"name\":\"A\"}");
  call_fixture_script (f, "GET", "/v1/items/c", 200, "{\"name\":\"C\"}");
  call_fixture_run (f, "inspect", "{}");
  call_fixture_assert_text (f, FALSE, "a: A\nc: C\nleft: b of a, b, c");
}

static void
test_fails (CallFixture *f, gconstpointer flags)
{
  (void) flags;
  call_fixture_script (f, "GET", "/v1/list", 200, "{\"items\":[]}");
  call_fixture_run (f, "inspect", "{}");
  call_fixture_assert_text (f, TRUE, "No items.");
}

/* A tool that looks for members which aren't there must not say that the answer was empty. */
static void
test_silence (CallFixture *f, gconstpointer flags)
{
  (void) flags;
  call_fixture_script (f, "GET", "/v1/items/a", 200, "{\"title\":\"Axe\",\"size\":1}");
  call_fixture_script (f, "GET", "/v1/items/a/stock", 200, "[]");
  call_fixture_run (f, "get_item", "{\"id\":\"a\"}");
  call_fixture_assert_text (
      f, FALSE,
      "The backend answered, but nothing of it is what this tool prints: $.item has the "
      "members title, size; $.stock is an array");
}

static void
test_pages (CallFixture *f, gconstpointer flags)
{
  (void) flags;
  call_fixture_script (f, "GET", "/v1/items", 200, "{\"items\":[1,2],\"total\":7}");
  call_fixture_script (f, "GET", "/v1/items", 200, "{\"items\":[3,4],\"total\":7}");
  call_fixture_script (f, "GET", "/v1/items", 200, "{\"items\":[5,6],\"total\":7}");
  call_fixture_run (f, "all_items", "{}");
  call_fixture_assert_says (f, FALSE, "(6 of 7) cut at 6");
  g_assert_cmpuint (fake_backend_count (f->backend, "GET", "/v1/items"), ==, 3);
}

/* The server gives 100 of the 500 that were asked for: the next page follows what came. */
static void
test_clamped_page (CallFixture *f, gconstpointer flags)
{
  g_autoptr (GString) body = g_string_new ("{\"total\":250,\"items\":[0");

  (void) flags;
  for (guint i = 1; i < 100; i++)
    g_string_append_printf (body, ",%u", i);
  g_string_append (body, "]}");
  call_fixture_script (f, "GET", "/v1/items", 200, body->str);
  call_fixture_run (f, "list_items", "{\"limit\":500,\"offset\":100}");
  call_fixture_assert_text (f, FALSE, "101-200 of 250\nNext: list_items {\"offset\": 200}");
}

/* ---- arguments, and what never leaves */

static void
test_bad_arguments (CallFixture *f, gconstpointer flags)
{
  (void) flags;
  call_fixture_run (f, "get_item", "{\"idd\":\"a\"}");
  call_fixture_assert_says (f, TRUE, "Nothing was sent: the arguments of get_item are not right.");
  call_fixture_assert_says (f, TRUE, "idd");
  call_fixture_assert_silence (f);
}

static void
test_bad_segments (CallFixture *f, gconstpointer flags)
{
  static const char *const ids[] = { "a/b", "..", ".", "a\\\\b", "a\\nb", "a\\u0000b", "%2F/" };

  (void) flags;
  for (guint i = 0; i < G_N_ELEMENTS (ids); i++)
    {
      g_autofree char *arguments = g_strdup_printf ("{\"id\":\"%s\"}", ids[i]);
      call_fixture_run (f, "get_item", arguments);
      call_fixture_assert_says (f, TRUE, "Nothing was sent: ");
    }
  call_fixture_assert_silence (f);
}

/* ---- cancel */

static void
test_cancel (CallFixture *f, gconstpointer flags)
{
  g_autoptr (DbrJsonDoc) doc = dbr_json_doc_new_from_data ("{\"id\":\"x\"}", -1, NULL, NULL);
  DbrCallRequest request = { 0 };
  FakeAnswer answer = { 0 };
  gpointer call;

  (void) flags;
  answer.mode = FAKE_STALL;
  fake_backend_script (f->backend, "GET", "/v1/items/x", &answer);
  request.tool = "get_item";
  request.arguments = dbr_json_doc_root (doc);
  call = f->host->call (f->host, &request, &call_fixture_events, f);
  while (fake_backend_count (f->backend, "GET", "/v1/items/x") == 0)
    g_main_context_iteration (NULL, FALSE);
  f->host->cancel (f->host, call);
  g_assert_null (f->result);
  /* And before anything happened. */
  call = f->host->call (f->host, &request, &call_fixture_events, f);
  f->host->cancel (f->host, call);
  call_fixture_script (f, "GET", "/v1/items/y", 200, "{\"name\":\"Y\"}");
  call_fixture_script (f, "GET", "/v1/items/y/stock", 200, "{}");
  call_fixture_run (f, "get_item", "{\"id\":\"y\"}");
  call_fixture_assert_text (f, FALSE, "Y");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  CALL_FIXTURE_ADD ("plain", "", test_plain);
  CALL_FIXTURE_ADD ("optional-failure", "", test_optional_failure_is_a_line);
  CALL_FIXTURE_ADD ("optional-failure-masked", "", test_optional_failure_is_masked);
  CALL_FIXTURE_ADD ("needed-failure", "", test_needed_failure_has_advice);
  CALL_FIXTURE_ADD ("detail-shapes", "", test_detail_shapes);
  CALL_FIXTURE_ADD ("odd-answers", "", test_odd_answers);
  CALL_FIXTURE_ADD ("depends", "", test_depends);
  CALL_FIXTURE_ADD ("when", "", test_when_skips);
  CALL_FIXTURE_ADD ("hostile-id", "", test_hostile_id_from_answer);
  CALL_FIXTURE_ADD ("for-each", "", test_for_each);
  CALL_FIXTURE_ADD ("for-each-spreads", "", test_for_each_spreads);
  CALL_FIXTURE_ADD ("fails", "", test_fails);
  CALL_FIXTURE_ADD ("silence", "", test_silence);
  CALL_FIXTURE_ADD ("pages", "", test_pages);
  CALL_FIXTURE_ADD ("clamped-page", "", test_clamped_page);
  CALL_FIXTURE_ADD ("bad-arguments", "", test_bad_arguments);
  CALL_FIXTURE_ADD ("bad-segments", "", test_bad_segments);
  CALL_FIXTURE_ADD ("cancel", "", test_cancel);
  return g_test_run ();
}
