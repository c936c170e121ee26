/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that read logs: of any length, in pieces, until the time is over. */
#include "config.h"

#include "call-fixture.h"

#include <string.h>

/* ---- logs */

static void
script_log (CallFixture *f, const char *body, FakeMode mode)
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
test_tail (CallFixture *f, gconstpointer flags)
{
  (void) flags;
  script_log (f,
              "{\"rows\":[{\"text\":\"a\"},{\"text\":\"b\",\"level\":\"error\"},\"plain\",{"
              "\"text\":\"c\"},{\"text\":\"d\",\"level\":\"error\"}]}",
              FAKE_KEEP);
  call_fixture_run (f, "log", "{}");
  call_fixture_assert_text (f, FALSE, "3 lines of 5, 5 match\nplain\nc\nd");
  script_log (f,
              "{\"rows\":[{\"text\":\"a\"},{\"text\":\"b\",\"level\":\"error\"},\"plain\",{"
              "\"text\":\"c\"},{\"text\":\"d\",\"level\":\"error\"}]}",
              FAKE_KEEP);
  call_fixture_run (f, "log", "{\"level\":\"error\"}");
  call_fixture_assert_text (f, FALSE, "2 lines of 5, 2 match\nb\nd");
}

static void
test_tail_of_cut_record (CallFixture *f, gconstpointer flags)
{
  g_autofree char *filler = g_strnfill (20000, 'x');
  g_autofree char *body
      = g_strdup_printf ("{\"rows\":[{\"text\":\"long %s end\",\"level\":\"info\"}]}", filler);

  (void) flags;
  script_log (f, body, FAKE_KEEP);
  call_fixture_run (f, "log", "{}");
  call_fixture_assert_says (f, FALSE, "1 line of 1, 1 match\nlong xxx");
  call_fixture_assert_says (f, FALSE, "(cut from 20035)");
}

/* The level of a record that is too long to keep stands behind its text; and marks are no lines. */
static void
test_tail_levels_and_marks (CallFixture *f, gconstpointer flags)
{
  g_autofree char *filler = g_strnfill (20000, 'x');
  g_autofree char *body = g_strdup_printf (
      "{\"rows\":[{\"text\":\"::group::Start\"},{\"text\":\"long "
      "%s\",\"level\":\"info\"},{\"text\":\"bad %s\",\"level\":\"error\",\"n\":1},"
      "{\"text\":\"b\",\"level\":\"error\"},{\"text\":\"::endgroup::\",\"level\":\"info\"}]}",
      filler, filler);

  (void) flags;
  script_log (f, body, FAKE_KEEP);
  call_fixture_run (f, "log", "{\"level\":\"error\"}");
  call_fixture_assert_says (f, FALSE, "2 lines of 5, 2 match\nbad xxx");
  g_assert_null (strstr (f->result->text, "long"));
  script_log (f, body, FAKE_KEEP);
  call_fixture_run (f, "log", "{\"lines\":1}");
  call_fixture_assert_text (f, FALSE, "1 line of 5, 3 match\nb");
}

/* The deadline comes first: what was seen so far is the answer, and it says so. */
static void
test_tail_at_the_deadline (CallFixture *f, gconstpointer flags)
{
  (void) flags;
  script_log (f, "{\"rows\":[{\"text\":\"a\"},{\"text\":\"b\"},{\"text\":\"c", FAKE_STALL);
  call_fixture_run (f, "log", "{}");
  call_fixture_assert_text (f, FALSE, "2 lines of 2, 2 match, cut\na\nb");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  CALL_FIXTURE_ADD ("tail", "", test_tail);
  CALL_FIXTURE_ADD ("tail-cut-record", "", test_tail_of_cut_record);
  CALL_FIXTURE_ADD ("tail-levels-and-marks", "", test_tail_levels_and_marks);
  CALL_FIXTURE_ADD ("tail-deadline", "short", test_tail_at_the_deadline);
  return g_test_run ();
}
