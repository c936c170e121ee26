/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json-cut: the first byte chooses mode and pieces. Records and the rest do not depend on the
 * pieces, a record keeps to its bound, what is whole is JSON, and memory is bounded.
 */
#include "config.h"

#include "dbr-json-cut.h"

#include <stdint.h>
#include <string.h>

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

#define MAX_RECORD 64

static gboolean
write_record (const DbrJsonRecord *record, gpointer user_data)
{
  GString *out = user_data;

  g_assert (record->head_len + record->tail_len <= MAX_RECORD);
  g_assert (record->is_cut == (record->len > MAX_RECORD));
  g_assert (g_utf8_validate_len (record->head, record->head_len, NULL));
  if (record->is_cut)
    g_assert (g_utf8_validate_len (record->tail, record->tail_len, NULL));
  else
    {
      DbrJsonLimits deep = { .max_depth = G_MAXUINT };
      g_autoptr (DbrJsonDoc) doc
          = dbr_json_doc_new_from_data (record->head, (gssize) record->head_len, &deep, NULL);
      g_assert (doc != NULL && record->tail == NULL && record->len == record->head_len);
    }
  g_string_append_printf (out, "%" G_GUINT64_FORMAT ":", record->index);
  g_string_append_len (out, record->head, (gssize) record->head_len);
  g_string_append_c (out, '~');
  if (record->is_cut)
    g_string_append_len (out, record->tail, (gssize) record->tail_len);
  g_string_append_c (out, '\n');
  return TRUE;
}

static char *
cut (DbrJsonCutMode mode, const uint8_t *data, size_t size, size_t step)
{
  DbrJsonCutConfig config = { .mode = mode, .member = "content", .max_record_bytes = MAX_RECORD };
  GString *out = g_string_new (NULL);
  g_autoptr (DbrJsonCutter) cutter = dbr_json_cutter_new (&config, write_record, out);
  g_autoptr (GError) error = NULL;
  gboolean ok = TRUE;

  for (size_t at = 0; at < size && ok; at += step)
    {
      g_autofree uint8_t *piece = g_memdup2 (data + at, MIN (step, size - at));
      ok = dbr_json_cutter_push (cutter, piece, MIN (step, size - at), &error);
    }
  if (ok)
    dbr_json_cutter_finish (cutter, &error);
  g_autoptr (DbrJsonDoc) rest = dbr_json_cutter_dup_rest (cutter);
  dbr_json_append (dbr_json_doc_root (rest), out);
  g_string_append_printf (out, "%d%d %s", dbr_json_cutter_is_found (cutter),
                          dbr_json_cutter_is_rest_cut (cutter), error ? error->message : "");
  g_assert (dbr_json_cutter_peak_bytes (cutter) < 4 * DBR_JSON_CUT_MAX_REST_BYTES);
  return g_string_free (out, FALSE);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  if (size < 1)
    return 0;
  DbrJsonCutMode mode = data[0] % 3;
  size_t step = 1 + data[0] / 3 % 16;
  g_autofree char *whole = cut (mode, data + 1, size - 1, size);
  g_autofree char *steps = cut (mode, data + 1, size - 1, step);
  g_assert_cmpstr (whole, ==, steps);
  return 0;
}
