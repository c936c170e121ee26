/* SPDX-License-Identifier: Apache-2.0 */
/* The last records of a stream: which ones, with what around them, in how much memory. */
#include "config.h"

#include "eng-tail.h"

#include <string.h>

static gboolean
is_error (const char *text, gsize len, const char *tail_text, gsize tail_len, gpointer user_data)
{
  (void) user_data;
  (void) tail_text;
  (void) tail_len;
  return memmem (text, len, "ERR", 3) != NULL;
}

static EngResponse *
run (const EngTail *tail, const char *stream, gsize step, gboolean is_whole)
{
  g_autoptr (EngTailReader) reader = eng_tail_reader_new (tail);
  EngResponse *response = g_new0 (EngResponse, 1);
  gsize len = strlen (stream);
  g_autoptr (GError) error = NULL;

  for (gsize at = 0; at < len; at += step)
    if (!eng_tail_reader_push (reader, stream + at, MIN (step, len - at), &error))
      g_error ("%s", error->message);
  g_assert_true (eng_tail_reader_end (reader, is_whole, &error));
  g_assert_no_error (error);
  eng_tail_reader_take (reader, response);
  return response;
}

/* "3:{...} 4*:{...}" with * on matches */
static char *
show (const EngResponse *response)
{
  GString *out = g_string_new (NULL);

  for (guint i = 0; i < response->records->len; i++)
    {
      const EngRecord *record = g_ptr_array_index (response->records, i);

      g_string_append_printf (out, "%s%" G_GUINT64_FORMAT "%s:%s", i > 0 ? " " : "", record->index,
                              record->matched ? "*" : "", record->text);
    }
  return g_string_free (out, FALSE);
}

static void
check (const EngTail *tail, const char *stream, gboolean is_whole, const char *want)
{
  for (gsize step = 1; step < 40; step += 6)
    {
      EngResponse *response = run (tail, stream, step, is_whole);
      g_autofree char *shown = show (response);

      g_assert_cmpstr (shown, ==, want);
      eng_response_free (response);
    }
}

static void
test_lines (void)
{
  const EngTail tail = { .keep_records = 2 };

  check (&tail, "1\n2\n3\n", TRUE, "1*:2 2*:3");
  check (&tail, "1\n2\n3", TRUE, "1*:2 2*:3");
  check (&tail, "1\n\n2\r\n", TRUE, "0*:1 1*:2");
  check (&tail, "", TRUE, "");
  /* Cut inside a record: the open one goes. */
  check (&tail, "{\"a\":1}\n{\"a\":2}\n{\"a", FALSE, "0*:{\"a\":1} 1*:{\"a\":2}");
}

static void
test_member (void)
{
  const EngTail tail = { .array_member = "content", .keep_records = 2 };
  EngResponse *response;

  check (&tail, "{\"content\":[1,{\"b\":[2]},\"x]\"],\"continuation_token\":null}", TRUE,
         "1*:{\"b\":[2]} 2*:\"x]\"");
  response = run (&tail, "{\"x\":1,\"content\":[1,2,3],\"token\":\"t\"}", 3, TRUE);
  g_assert_cmpuint (response->records_seen, ==, 3);
  g_assert_cmpuint (response->records_matched, ==, 3);
  g_assert_true (
      dbr_json_string_equals (dbr_json_get (dbr_json_doc_root (response->rest), "token"), "t"));
  eng_response_free (response);
}

static void
test_match (void)
{
  EngTail tail = { .keep_records = 2, .match = is_error };

  check (&tail, "1\n\"ERR1\"\n2\n\"ERR2\"\n\"ERR3\"\n3\n", TRUE, "3*:\"ERR2\" 4*:\"ERR3\"");
  tail.context = 1;
  check (&tail, "1\n\"ERR1\"\n2\n3\n4\n\"ERR2\"\n5\n6\n", TRUE,
         "0:1 1*:\"ERR1\" 2:2 4:4 5*:\"ERR2\" 6:5");
  tail.keep_records = 1;
  check (&tail, "1\n\"ERR1\"\n2\n3\n4\n\"ERR2\"\n5\n6\n", TRUE, "4:4 5*:\"ERR2\" 6:5");
  /* What stands after one match and before the next belongs to both. */
  check (&tail, "\"ERR1\"\n2\n\"ERR2\"\n", TRUE, "1:2 2*:\"ERR2\"");
  tail.context = 2;
  check (&tail, "0\n1\n2\n\"ERR\"\n", TRUE, "1:1 2:2 3*:\"ERR\"");
}

static void
test_keep_bytes (void)
{
  g_autoptr (GString) stream = g_string_new (NULL);
  const EngTail tail = { .keep_records = 2000, .keep_bytes = 10000 };
  EngResponse *response;
  gsize total = 0;

  for (guint i = 0; i < 1000; i++)
    g_string_append_printf (stream, "\"%0200u\"\n", i);
  response = run (&tail, stream->str, 4096, TRUE);
  for (guint i = 0; i < response->records->len; i++)
    total += ((EngRecord *) g_ptr_array_index (response->records, i))->len;
  g_assert_cmpuint (response->records->len, >, 10);
  g_assert_cmpuint (total, <=, 10000);
  g_assert_cmpuint (
      ((EngRecord *) g_ptr_array_index (response->records, response->records->len - 1))->index, ==,
      999);
  g_assert_cmpuint (response->records_seen, ==, 1000);
  eng_response_free (response);
}

static void
test_long_record (void)
{
  g_autofree char *fill = g_strnfill (100000, 'x');
  g_autofree char *stream = g_strconcat ("\"BEGIN", fill, "END\"\n2\n", NULL);
  const EngTail tail = { .keep_records = 2, .record_max_bytes = 100 };
  EngResponse *response = run (&tail, stream, 1000, TRUE);
  const EngRecord *record = g_ptr_array_index (response->records, 0);

  g_assert_cmpuint (record->true_len, ==, 100010);
  g_assert_cmpuint (record->len, <=, 100);
  g_assert_cmpuint (record->head_len, <, record->len);
  g_assert_true (g_str_has_prefix (record->text, "\"BEGINx"));
  g_assert_true (g_str_has_suffix (record->text, "xEND\""));
  record = g_ptr_array_index (response->records, 1);
  g_assert_cmpuint (record->head_len, ==, record->len);
  eng_response_free (response);
}

static void
test_broken (void)
{
  static const struct
  {
    const char *member;
    const char *stream;
  } cases[] = {
    { "content", "<html>" },
    { "content", "{\"content\":[1,2" },
    { "content", "" },
    { NULL, "{]\n" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      const EngTail tail = { .array_member = cases[i].member, .keep_records = 2 };
      g_autoptr (EngTailReader) reader = eng_tail_reader_new (&tail);
      g_autoptr (GError) error = NULL;
      gboolean ok = eng_tail_reader_push (reader, cases[i].stream, strlen (cases[i].stream), &error)
                    && eng_tail_reader_end (reader, TRUE, &error);

      g_assert_false (ok);
      g_assert_error (error, ENG_ERROR, ENG_ERROR_BROKEN);
      g_assert_true (
          g_str_has_prefix (error->message, "the stream is not the JSON that was expected: "));
    }
}

/* 200 MB through the reader, with the most that can be kept: the module's own peak stays under 4
 * MiB. */
static void
test_memory (void)
{
  const EngTail tail
      = { .array_member = "content", .keep_records = 2000, .context = 20, .match = is_error };
  g_autoptr (EngTailReader) reader = eng_tail_reader_new (&tail);
  g_autoptr (GString) block = g_string_new (NULL);
  g_autofree char *fill = g_strnfill (30000, 'y');
  EngResponse *response = g_new0 (EngResponse, 1);
  guint64 fed = 0;

  for (guint i = 0; i < 300; i++)
    g_string_append_printf (block, "{\"event\":\"line %u of a long log%s\",\"level\":\"info\"},", i,
                            i % 3 == 0 ? " ERR" : "");
  g_string_append_printf (block, "{\"event\":\"ERR %s\"},", fill);
  g_assert_true (eng_tail_reader_push (reader, "{\"content\":[", 12, NULL));
  for (; fed < 200u * 1000 * 1000; fed += block->len)
    g_assert_true (eng_tail_reader_push (reader, block->str, block->len, NULL));
  g_assert_true (eng_tail_reader_push (reader, "0]}", 3, NULL));
  g_assert_true (eng_tail_reader_end (reader, TRUE, NULL));
  eng_tail_reader_take (reader, response);
  g_assert_cmpuint (eng_tail_reader_peak_bytes (reader), <, 4u << 20);
  g_assert_cmpuint (response->records_seen, >, 1000000);
  g_test_message ("peak %" G_GSIZE_FORMAT " bytes, %u records kept",
                  eng_tail_reader_peak_bytes (reader), response->records->len);
  eng_response_free (response);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/eng-tail/lines", test_lines);
  g_test_add_func ("/eng-tail/member", test_member);
  g_test_add_func ("/eng-tail/match", test_match);
  g_test_add_func ("/eng-tail/keep-bytes", test_keep_bytes);
  g_test_add_func ("/eng-tail/long-record", test_long_record);
  g_test_add_func ("/eng-tail/broken", test_broken);
  g_test_add_func ("/eng-tail/memory", test_memory);
  return g_test_run ();
}
