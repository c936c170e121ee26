/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json-doc: reading is total, agrees with the push lexer and with jansson, and what is written is
 * read back as the same value. Also text, numbers and equality of whatever was read.
 */
#include "config.h"

#include "dbr-json-compare.h"
#include "dbr-json-doc.h"
#include "dbr-json-lex.h"

#include <jansson.h>
#include <stdint.h>
#include <string.h>

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static gboolean
count_token (const DbrJsonToken *token, gpointer user_data)
{
  g_assert (token->start < token->end);
  ++*(guint *) user_data;
  return TRUE;
}

/* The same verdict in the same words, byte by byte. */
static void
assert_lexer_agrees (const uint8_t *data, size_t size, const GError *verdict)
{
  g_autoptr (DbrJsonLexer) lexer = dbr_json_lexer_new (NULL, 0);
  g_autoptr (GError) error = NULL;
  gboolean ok = TRUE;
  guint n = 0;

  for (size_t i = 0; i < size && ok; i++)
    ok = dbr_json_lexer_push (lexer, data + i, 1, count_token, &n, &error);
  if (ok)
    ok = dbr_json_lexer_finish (lexer, count_token, &n, &error);
  g_assert (ok == (verdict == NULL));
  if (verdict)
    g_assert_cmpstr (error->message, ==, verdict->message);
}

static void
visit (DbrJson node, guint depth)
{
  g_autoptr (GString) scratch = g_string_new (NULL);
  gsize len;
  gint64 integer;
  double real;

  g_assert (depth <= DBR_JSON_MAX_DEPTH);
  if (dbr_json_type (node) == DBR_JSON_STRING)
    {
      const char *text = dbr_json_string (node, scratch, &len);
      g_assert (g_utf8_validate_len (text, len, NULL) || memchr (text, '\0', len));
    }
  if (dbr_json_int64 (node, &integer) && dbr_json_double (node, &real))
    g_assert_cmpfloat (real, ==, (double) integer);
  for (DbrJson v = dbr_json_first (node); dbr_json_exists (v); v = dbr_json_next (v))
    visit (v, depth + 1);
}

/* Bad UTF-8 may be in it: only that nothing is read beyond. */
static void
visit_lax (DbrJson node)
{
  g_autoptr (GString) text = g_string_new (NULL);
  dbr_json_append (node, text);
  g_assert (dbr_json_equal (node, node));
  for (DbrJson v = dbr_json_first (node); dbr_json_exists (v); v = dbr_json_next (v))
    visit_lax (v);
}

static void
assert_same (DbrJson ours, json_t *theirs);

static void
assert_same_object (DbrJson ours, json_t *theirs)
{
  g_autoptr (GString) scratch = g_string_new (NULL);
  const char *key;
  size_t key_len;
  json_t *value;

  json_object_keylen_foreach (theirs, key, key_len, value)
      assert_same (dbr_json_get_n (ours, key, key_len), value);
  for (DbrJson v = dbr_json_first (ours); dbr_json_exists (v); v = dbr_json_next (v))
    {
      gsize len;
      const char *text = dbr_json_string (dbr_json_key (v), scratch, &len);
      g_assert (json_object_getn (theirs, text, len) != NULL);
    }
}

static void
assert_same (DbrJson ours, json_t *theirs)
{
  g_autoptr (GString) scratch = g_string_new (NULL);
  gsize len;
  gint64 integer = 0;
  double real = 0;
  DbrJson v = dbr_json_first (ours);

  switch (json_typeof (theirs))
    {
    case JSON_OBJECT:
      g_assert (dbr_json_type (ours) == DBR_JSON_OBJECT);
      assert_same_object (ours, theirs);
      break;
    case JSON_ARRAY:
      g_assert (dbr_json_type (ours) == DBR_JSON_ARRAY);
      for (size_t i = 0; i < json_array_size (theirs); i++, v = dbr_json_next (v))
        assert_same (v, json_array_get (theirs, i));
      g_assert (!dbr_json_exists (v));
      break;
    case JSON_STRING:
      g_assert_cmpmem (dbr_json_string (ours, scratch, &len), json_string_length (theirs),
                       json_string_value (theirs), json_string_length (theirs));
      g_assert (len == json_string_length (theirs));
      break;
    case JSON_INTEGER:
      g_assert (dbr_json_int64 (ours, &integer) && integer == json_integer_value (theirs));
      break;
    case JSON_REAL:
      g_assert (dbr_json_double (ours, &real) && real == json_real_value (theirs));
      break;
    case JSON_TRUE:
    case JSON_FALSE:
      g_assert (dbr_json_type (ours) == DBR_JSON_BOOLEAN);
      g_assert (dbr_json_get_boolean (ours) == json_is_true (theirs));
      break;
    case JSON_NULL:
      g_assert (dbr_json_type (ours) == DBR_JSON_NULL);
      break;
    }
}

static void
assert_jansson_agrees (const uint8_t *data, size_t size, DbrJson root)
{
  /* jansson takes a NUL for the end of a number at the top. */
  if (memchr (data, '\0', size))
    return;
  json_auto_t *theirs
      = json_loadb ((const char *) data, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
  if (theirs && dbr_json_exists (root))
    assert_same (root, theirs);
}

static void
assert_written_is_read (DbrJson root)
{
  g_autoptr (GString) text = g_string_new (NULL);
  g_autoptr (GString) again = g_string_new (NULL);
  dbr_json_append (root, text);
  g_autoptr (DbrJsonDoc) doc
      = dbr_json_doc_new_from_data (text->str, (gssize) text->len, NULL, NULL);

  g_assert (doc != NULL);
  g_assert (dbr_json_equal (root, dbr_json_doc_root (doc)));
  dbr_json_append (dbr_json_doc_root (doc), again);
  g_assert (g_string_equal (text, again));
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) bytes = g_bytes_new_static (data, size);
  g_autoptr (DbrJsonDoc) doc = dbr_json_doc_new (bytes, NULL, &error);
  DbrJsonLimits lax = { .flags = DBR_JSON_LAX_UTF8, .max_depth = 20, .max_nodes = 100 };
  g_autoptr (DbrJsonDoc) other = dbr_json_doc_new (bytes, &lax, NULL);

  g_assert ((doc == NULL) == (error != NULL));
  if (other)
    visit_lax (dbr_json_doc_root (other));
  assert_lexer_agrees (data, size, error);
  if (!doc)
    {
      json_error_t why;
      json_auto_t *theirs = NULL;
      if (size && !memchr (data, '\0', size)
          && !g_error_matches (error, DBR_JSON_ERROR, DBR_JSON_ERROR_DEPTH))
        theirs = json_loadb ((const char *) data, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, &why);
      g_assert (theirs == NULL);
      return 0;
    }
  visit (dbr_json_doc_root (doc), 0);
  assert_jansson_agrees (data, size, dbr_json_doc_root (doc));
  assert_written_is_read (dbr_json_doc_root (doc));
  return 0;
}
