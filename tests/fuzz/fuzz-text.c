/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Safe text and masking over any bytes: the output is valid UTF-8 without controls, making it safe again changes
 * nothing, and a secret that was put in is nowhere in what comes out.
 */
#include "config.h"

#include "dbr-json-doc.h"
#include "dbr-text.h"

#include <stdint.h>
#include <string.h>

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

#define SECRET "open-sesame-42"

static void
assert_clean (const GString *text, gboolean has_lines)
{
  g_assert (g_utf8_validate_len (text->str, text->len, NULL));
  for (gsize i = 0; i < text->len; i++)
    {
      guint8 c = (guint8) text->str[i];
      g_assert (c >= 0x20 || (has_lines && (c == '\n' || c == '\t')));
      g_assert (c != 0x7f);
    }
}

static void
check_safe (const char *text, gsize len, DbrTextMode mode)
{
  g_autoptr (GString) once = g_string_new (NULL);
  g_autoptr (GString) twice = g_string_new (NULL);
  dbr_text_append_safe (once, text, (gssize) len, mode);
  assert_clean (once, mode == DBR_TEXT_LINES);
  dbr_text_append_safe (twice, once->str, (gssize) once->len, mode);
  /* What stood before an invisible sequence and behind it may form an emoji only now. */
  assert_clean (twice, mode == DBR_TEXT_LINES);
}

static void
check_json (const char *text, gsize len)
{
  g_autoptr (GString) valid = g_string_new (NULL);
  g_autoptr (GString) json = g_string_new (NULL);
  g_autoptr (GString) scratch = g_string_new (NULL);
  dbr_text_append_valid (valid, text, (gssize) len);
  g_assert (g_utf8_validate_len (valid->str, valid->len, NULL)
            || memchr (valid->str, 0, valid->len));
  dbr_text_append_json_string (json, valid->str, (gssize) valid->len);
  g_autoptr (DbrJsonDoc) doc
      = dbr_json_doc_new_from_data (json->str, (gssize) json->len, NULL, NULL);
  gsize decoded_len = 0;
  g_assert (doc);
  const char *decoded = dbr_json_string (dbr_json_doc_root (doc), scratch, &decoded_len);
  g_assert (decoded_len == valid->len && memcmp (decoded, valid->str, decoded_len) == 0);
}

static void
check_mask (const char *text, gsize len)
{
  g_autoptr (DbrMask) mask = dbr_mask_new ();
  dbr_mask_add (mask, SECRET);
  g_autoptr (GString) out = g_string_new_len (text, (gssize) len);
  g_string_insert (out, (gssize) dbr_text_cut_length (text, len, len / 2), SECRET);
  dbr_mask_apply (mask, out, 0, DBR_MASK_OWN);
  g_assert (!memmem (out->str, out->len, SECRET, strlen (SECRET)));
  g_assert (out->len <= len + strlen (SECRET));
  dbr_mask_apply (mask, out, 0, DBR_MASK_SHAPES);
  g_assert (!memmem (out->str, out->len, SECRET, strlen (SECRET)));
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  const char *text = (const char *) data;
  if (size > 65536)
    return 0;
  check_safe (text, size, DBR_TEXT_ONE_LINE);
  check_safe (text, size, DBR_TEXT_LINES);
  check_json (text, size);
  check_mask (text, size);
  g_assert (dbr_text_cut_length (text, size, size / 3) <= size / 3);
  g_autofree char *url = g_strndup (text, size);
  g_autofree char *redacted = dbr_text_redact_url (url);
  g_assert (g_utf8_validate (redacted, -1, NULL));
  g_assert (!strpbrk (redacted, "?#"));
  return 0;
}
