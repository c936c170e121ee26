/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz-tail: the tail of any stream keeps its bounds and does not depend on how the bytes were cut.
 *
 * The first four bytes choose the mode, how many records, how much context and how many bytes.
 */
#include "config.h"

#include "eng-tail.h"

#include <stdint.h>
#include <string.h>

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static gboolean
has_e (const char *text, gsize len, const char *tail_text, gsize tail_len, gpointer user_data)
{
  (void) user_data;
  (void) tail_text;
  (void) tail_len;
  return memchr (text, 'e', len) != NULL;
}

static gboolean
run (const EngTail *tail, const char *bytes, gsize len, gsize step, EngResponse *response)
{
  g_autoptr (EngTailReader) reader = eng_tail_reader_new (tail);
  g_autoptr (GError) error = NULL;
  gboolean ok = TRUE;

  for (gsize at = 0; ok && at < len; at += step)
    ok = eng_tail_reader_push (reader, bytes + at, MIN (step, len - at), &error);
  ok = ok && eng_tail_reader_end (reader, TRUE, &error);
  g_assert_true (ok == (error == NULL));
  eng_tail_reader_take (reader, response);
  g_assert_cmpuint (eng_tail_reader_peak_bytes (reader), <, 4u << 20);
  return ok;
}

static void
check_bounds (const EngTail *tail, const EngResponse *response)
{
  guint n_matched = 0;
  gsize bytes = 0;

  for (guint i = 0; i < response->records->len; i++)
    {
      const EngRecord *record = g_ptr_array_index (response->records, i);

      g_assert_cmpuint (record->len, <=, tail->record_max_bytes);
      g_assert_cmpuint (record->head_len, <=, record->len);
      g_assert_cmpuint (record->true_len, >=, record->len);
      g_assert_true (record->head_len == record->len ? record->true_len == record->len
                                                     : record->true_len > record->len);
      g_assert_true (record->matched == has_e (record->text, record->head_len, NULL, 0, NULL));
      if (i > 0)
        g_assert_cmpuint (record->index, >,
                          ((EngRecord *) g_ptr_array_index (response->records, i - 1))->index);
      n_matched += record->matched;
      bytes += record->len;
    }
  g_assert_cmpuint (n_matched, <=, tail->keep_records);
  g_assert_cmpuint (response->records_matched, <=, response->records_seen);
  if (response->records->len > 1)
    g_assert_cmpuint (bytes, <=, tail->keep_bytes);
}

static void
check_same (const EngResponse *a, const EngResponse *b)
{
  g_assert_cmpuint (a->records_seen, ==, b->records_seen);
  g_assert_cmpuint (a->records_matched, ==, b->records_matched);
  g_assert_cmpuint (a->records->len, ==, b->records->len);
  for (guint i = 0; i < a->records->len; i++)
    {
      const EngRecord *x = g_ptr_array_index (a->records, i);
      const EngRecord *y = g_ptr_array_index (b->records, i);

      g_assert_cmpmem (x->text, x->len, y->text, y->len);
      g_assert_cmpuint (x->index, ==, y->index);
      g_assert_cmpint (x->matched, ==, y->matched);
    }
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  EngTail tail = { .match = has_e, .record_max_bytes = 64 };
  EngResponse *whole, *bytewise;

  if (size < 4)
    return 0;
  tail.array_member = data[0] & 1 ? "content" : NULL;
  tail.keep_records = 1u + data[1] % 8u;
  tail.context = data[2] % 4u;
  tail.keep_bytes = 64u + data[3] * 8u;
  whole = g_new0 (EngResponse, 1);
  bytewise = g_new0 (EngResponse, 1);
  if (run (&tail, (const char *) data + 4, size - 4, size, whole)
      && run (&tail, (const char *) data + 4, size - 4, 1, bytewise))
    {
      check_bounds (&tail, whole);
      check_same (whole, bytewise);
    }
  eng_response_free (whole);
  eng_response_free (bytewise);
  return 0;
}
