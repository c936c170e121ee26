/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json-cut: records in every mode and at every split, long records, faults, and memory.
 */
#include "config.h"

#include "dbr-json-cut.h"

#include <string.h>

static gboolean
write_record (const DbrJsonRecord *record, gpointer user_data)
{
  GString *out = user_data;
  g_string_append_printf (out, "%" G_GUINT64_FORMAT "=", record->index);
  g_string_append_len (out, record->head, (gssize) record->head_len);
  if (record->is_cut)
    {
      g_string_append_printf (out, "..%" G_GUINT64_FORMAT "..", record->len);
      g_string_append_len (out, record->tail, (gssize) record->tail_len);
    }
  g_string_append_c (out, '|');
  return TRUE;
}

/* The records, the rest and the error as one line. */
static char *
cut (const DbrJsonCutConfig *config, const char *text, gsize len, gsize first, gsize step)
{
  GString *out = g_string_new (NULL);
  g_autoptr (DbrJsonCutter) cutter = dbr_json_cutter_new (config, write_record, out);
  g_autoptr (GError) error = NULL;
  gsize n = MIN (first, len);
  gboolean ok = TRUE;

  for (gsize at = 0; ok; n = MIN (step, len - at))
    {
      g_autofree char *piece = g_memdup2 (text + at, n);
      ok = dbr_json_cutter_push (cutter, piece, n, &error);
      at += n;
      if (at == len)
        break;
    }
  if (ok)
    dbr_json_cutter_finish (cutter, &error);
  g_autoptr (DbrJsonDoc) rest = dbr_json_cutter_dup_rest (cutter);
  g_string_append_printf (out, " %" G_GUINT64_FORMAT "%s ", dbr_json_cutter_records (cutter),
                          dbr_json_cutter_is_found (cutter) ? "" : " not found");
  dbr_json_append (dbr_json_doc_root (rest), out);
  if (dbr_json_cutter_is_rest_cut (cutter))
    g_string_append (out, " rest cut");
  if (error)
    g_string_append_printf (out, " %s", error->message);
  return g_string_free (out, FALSE);
}

static void
assert_cut (const DbrJsonCutConfig *config, const char *text, const char *want)
{
  gsize len = strlen (text);
  for (gsize split = 0; split <= len; split++)
    {
      g_autofree char *two = cut (config, text, len, split, len);
      g_assert_cmpstr (two, ==, want);
    }
  for (gsize step = 1; step < 9; step++)
    {
      g_autofree char *steps = cut (config, text, len, step, step);
      g_assert_cmpstr (steps, ==, want);
    }
}

static void
test_member (void)
{
  DbrJsonCutConfig config = { .mode = DBR_JSON_CUT_MEMBER, .member = "content" };

  assert_cut (
      &config,
      "{\"content\":[{\"event\":\"a\"}, \"b\" ,3, [4, []],null ],\"continuation_token\": \"t\" }",
      "0={\"event\":\"a\"}|1=\"b\"|2=3|3=[4, []]|4=null| 5 {\"continuation_token\":\"t\"}");
  assert_cut (&config, "{\"x\":{\"content\":[9]},\"c\\u006fntent\":[12],\"y\":[1,[2]],\"z\":true}",
              "0=12| 1 {\"x\":{\"content\":[9]},\"y\":[1,[2]],\"z\":true}");
  assert_cut (&config, "{\"content\":\"a plain \\n text\",\"t\":1}",
              "0=\"a plain \\n text\"| 1 {\"t\":1}");
  assert_cut (&config, "{\"content\":[]}", " 0 {}");
  assert_cut (&config, "{\"content\":12.5,\"t\":1}", " 0 not found {\"content\":12.5,\"t\":1}");
  assert_cut (&config, "{\"content\":{\"content\":[1]}}",
              " 0 not found {\"content\":{\"content\":[1]}}");
  assert_cut (&config,
              "{\"content_and_more_than_that_by_far_more_than_six_times_its_length_really\":[1]}",
              " 0 not found "
              "{\"content_and_more_than_that_by_far_more_than_six_times_its_length_really\":[1]}");
  assert_cut (&config, "{\"content\":[1],\"content\":[2]}", "0=1|1=2| 2 {}");
  assert_cut (&config, "[\"content\",[1],{\"content\":[2]}]", " 0 not found {}");
  assert_cut (&config, "\"content\"", " 0 not found {}");
}

static void
test_lines (void)
{
  DbrJsonCutConfig config = { .mode = DBR_JSON_CUT_LINES };

  assert_cut (&config, "{\"a\":1}\n\n[2]\r\n3\n\"x\"", "0={\"a\":1}|1=[2]|2=3|3=\"x\"| 4 {}");
  assert_cut (&config, "12", "0=12| 1 {}");
  assert_cut (&config, "", " 0 not found {}");
  assert_cut (&config, "1\nx\n2",
              "0=1| 1 {} not valid JSON: expected a value, found 'x' at byte 2");
}

static void
test_array (void)
{
  DbrJsonCutConfig config = { .mode = DBR_JSON_CUT_ARRAY };

  assert_cut (&config, " [1, {\"a\":[2]},\"s\"] ", "0=1|1={\"a\":[2]}|2=\"s\"| 3 {}");
  assert_cut (&config, "[]", " 0 {}");
  assert_cut (&config, "{\"a\":[1]}", " 0 not found {}");
}

static void
test_faults (void)
{
  DbrJsonCutConfig config = { .mode = DBR_JSON_CUT_MEMBER, .member = "content" };

  assert_cut (&config, "{\"content\":[1,2",
              "0=1| 1 {} not valid JSON: expected ',' or ']', found the end at byte 15");
  assert_cut (&config, "{\"t\":\"x\",\"content\":[{\"a\":1},{\"b\":tru}]}",
              "0={\"a\":1}| 1 {\"t\":\"x\"} not valid JSON: expected true, false or null, found "
              "'}' at byte 36");
  assert_cut (&config, "{\"t\":1,\"u\":[2,",
              " 0 not found {\"t\":1} not valid JSON: expected a value, found the end at byte 14");
  assert_cut (
      &config, "{\"t\":1,\"uu",
      " 0 not found {\"t\":1} not valid JSON: expected a character of a string or its closing "
      "quote, found the end at byte 10");
}

static void
test_long_records (void)
{
  DbrJsonCutConfig config = { .mode = DBR_JSON_CUT_LINES, .max_record_bytes = 16 };

  assert_cut (&config, "\"0123456789abcd\"\n1", "0=\"0123456789abcd\"|1=1| 2 {}");
  assert_cut (&config, "\"0123456789abcde\"\n1", "0=\"0123456..17..89abcde\"|1=1| 2 {}");
  assert_cut (&config, "\"0123456789abcdefghijklmnopqrstuvwxyz\"\n",
              "0=\"0123456..38..tuvwxyz\"| 1 {}");
  /* Neither side splits a character. */
  assert_cut (&config, "\"012345\xC3\xA9-----\xE2\x82\xAC 12345\"",
              "0=\"012345..24.. 12345\"| 1 {}");
  assert_cut (&config,
              "\"0123\xF0\x9D\x84\x9E-----\xE2\x82\xAC"
              "12345\"",
              "0=\"0123..23..12345\"| 1 {}");
}

static void
test_rest_bound (void)
{
  DbrJsonCutConfig config = { .mode = DBR_JSON_CUT_MEMBER, .member = "content" };
  g_autofree char *filler = g_strnfill (DBR_JSON_CUT_MAX_REST_BYTES, 'x');
  g_autofree char *text
      = g_strdup_printf ("{\"a\":1,\"big\":\"%s\",\"content\":[7],\"t\":2}", filler);
  g_autofree char *wanted = g_strdup_printf ("{\"a\":1,\"content\":\"%s\",\"t\":2}", filler);

  for (gsize step = 1000; step < 100000; step += 49500)
    {
      g_autofree char *result = cut (&config, text, strlen (text), step, step);
      g_assert_cmpstr (result, ==, "0=7| 1 {\"a\":1,\"t\":2} rest cut");
      g_autofree char *string = cut (&config, wanted, strlen (wanted), step, step);
      g_assert_true (g_str_has_prefix (string, "0=\"xxxx"));
      g_assert_nonnull (strstr (string, "..65538.."));
      g_assert_true (g_str_has_suffix (string, "| 1 {\"a\":1,\"t\":2}"));
    }
}

static gboolean
count_three (const DbrJsonRecord *record, gpointer user_data)
{
  ++*(guint *) user_data;
  return record->index < 2;
}

static void
test_stop (void)
{
  DbrJsonCutConfig config = { .mode = DBR_JSON_CUT_ARRAY };
  guint n = 0;
  g_autoptr (DbrJsonCutter) cutter = dbr_json_cutter_new (&config, count_three, &n);

  g_assert_true (dbr_json_cutter_push (cutter, "[1,2,3,4,", 9, NULL));
  g_assert_true (dbr_json_cutter_push (cutter, "5,}", 3, NULL));
  g_assert_true (dbr_json_cutter_finish (cutter, NULL));
  g_assert_cmpuint (n, ==, 3);
  g_assert_cmpuint (dbr_json_cutter_records (cutter), ==, 3);
  g_assert_cmpuint (dbr_json_cutter_bytes (cutter), ==, 12);
}

static gboolean
count_record (const DbrJsonRecord *record, gpointer user_data)
{
  (void) record;
  ++*(guint *) user_data;
  return TRUE;
}

/* Memory is the same for a hundred records and for a hundred thousand, for long ones too. */
static void
test_memory (void)
{
  DbrJsonCutConfig config = { .mode = DBR_JSON_CUT_MEMBER, .member = "content" };
  g_autofree char *filler = g_strnfill (20000, 'x');
  g_autofree char *record = g_strdup_printf ("{\"event\":\"%s\"},\n", filler);
  gsize peak[2];

  for (int i = 0; i < 2; i++)
    {
      guint n = 0;
      g_autoptr (DbrJsonCutter) cutter = dbr_json_cutter_new (&config, count_record, &n);
      g_assert_true (dbr_json_cutter_push (cutter, "{\"t\":1,\"content\":[", 18, NULL));
      for (guint j = 0; j < (i ? 2000 : 20); j++)
        for (gsize at = 0; at < strlen (record); at += 1400)
          g_assert_true (
              dbr_json_cutter_push (cutter, record + at, MIN (1400, strlen (record) - at), NULL));
      g_assert_true (dbr_json_cutter_push (cutter, "null]}", 6, NULL));
      g_assert_true (dbr_json_cutter_finish (cutter, NULL));
      g_assert_cmpuint (n, ==, i ? 2001 : 21);
      peak[i] = dbr_json_cutter_peak_bytes (cutter);
    }
  g_assert_cmpuint (peak[0], ==, peak[1]);
  g_assert_cmpuint (peak[1], <, 64 * 1024);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/json-cut/member", test_member);
  g_test_add_func ("/json-cut/lines", test_lines);
  g_test_add_func ("/json-cut/array", test_array);
  g_test_add_func ("/json-cut/faults", test_faults);
  g_test_add_func ("/json-cut/long-records", test_long_records);
  g_test_add_func ("/json-cut/rest-bound", test_rest_bound);
  g_test_add_func ("/json-cut/stop", test_stop);
  g_test_add_func ("/json-cut/memory", test_memory);
  return g_test_run ();
}
