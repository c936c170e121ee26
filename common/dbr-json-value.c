/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-json-value: what the nodes of a document mean: booleans, strings and compact text.
 * The grammar was checked when the document was read; nothing here can fail on it.
 */
#include "config.h"

#include "dbr-json-doc-priv.h"

#include <string.h>

gboolean
dbr_json_get_boolean (DbrJson node)
{
  node = node_resolve (node);
  return dbr_json_type (node) == DBR_JSON_BOOLEAN && node.doc->text[node_at (node)->start] == 't';
}

const char *
dbr_json_raw (DbrJson node, gsize *out_len)
{
  node = node_resolve (node);
  if (!node.doc || node_at (node)->len == 0)
    {
      *out_len = 0;
      return NULL;
    }
  *out_len = node_at (node)->len;
  return node.doc->text + node_at (node)->start;
}

static gunichar
hex4 (const char *p)
{
  gunichar value = 0;
  for (int i = 0; i < 4; i++)
    value = value << 4 | (guint) g_ascii_xdigit_value (p[i]);
  return value;
}

/* @p stands on the u of \uXXXX. Returns the position after what was read: one escape or a pair. */
static const char *
decode_unicode (const char *p, const char *end, GString *out)
{
  gunichar c = hex4 (p + 1);
  p += 5;
  if (c >= 0xD800 && c < 0xDC00 && end - p >= 6 && p[0] == '\\' && p[1] == 'u')
    {
      gunichar low = hex4 (p + 2);
      if (low >= 0xDC00 && low < 0xE000)
        {
          c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
          p += 6;
        }
    }
  if (c >= 0xD800 && c < 0xE000)
    c = 0xFFFD;
  if (c == 0)
    g_string_append_c (out, '\0');
  else
    g_string_append_unichar (out, c);
  return p;
}

static void
decode_string (const char *p, const char *end, GString *out)
{
  static const char letters[] = "bfnrt";
  static const char values[] = "\b\f\n\r\t";

  g_string_truncate (out, 0);
  while (p < end)
    {
      const char *backslash = memchr (p, '\\', (gsize) (end - p));
      const char *stop = backslash ? backslash : end;
      g_string_append_len (out, p, stop - p);
      p = stop;
      if (p == end)
        break;
      p++;
      if (*p == 'u')
        {
          p = decode_unicode (p, end, out);
          continue;
        }
      const char *letter = strchr (letters, *p);
      g_string_append_c (out, letter ? values[letter - letters] : *p);
      p++;
    }
}

const char *
dbr_json_string (DbrJson node, GString *scratch, gsize *out_len)
{
  node = node_resolve (node);
  if (dbr_json_type (node) != DBR_JSON_STRING)
    {
      *out_len = 0;
      return NULL;
    }
  const DbrJsonNode *n = node_at (node);
  const char *text = node.doc->text + n->start + 1;
  gsize len = n->len - 2;
  if (n->meta & NODE_ESCAPED)
    {
      decode_string (text, text + len, scratch);
      text = scratch->str;
      len = scratch->len;
    }
  *out_len = len;
  return text;
}

char *
dbr_json_dup_string (DbrJson node)
{
  g_autoptr (GString) scratch = g_string_new (NULL);
  gsize len;
  const char *text = dbr_json_string (node, scratch, &len);
  return text ? g_strndup (text, len) : NULL;
}

gboolean
dbr_json_string_equals (DbrJson node, const char *text)
{
  node = node_resolve (node);
  if (dbr_json_type (node) != DBR_JSON_STRING)
    return FALSE;
  const DbrJsonNode *n = node_at (node);
  gsize len = strlen (text);
  if (!(n->meta & NODE_ESCAPED))
    return n->len == len + 2 && memcmp (node.doc->text + n->start + 1, text, len) == 0;
  g_autoptr (GString) scratch = g_string_new (NULL);
  gsize decoded_len;
  const char *decoded = dbr_json_string (node, scratch, &decoded_len);
  return decoded_len == len && memcmp (decoded, text, len) == 0;
}

/* Appends the text of a parsed value without the white space between its tokens. */
static void
append_compact (const char *p, const char *end, GString *out)
{
  gboolean is_inside = FALSE; /* of a string */
  const char *from = p;

  for (; p < end; p++)
    if (is_inside)
      {
        if (*p == '\\')
          p++;
        else if (*p == '"')
          is_inside = FALSE;
      }
    else if (*p == '"')
      is_inside = TRUE;
    else if (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')
      {
        g_string_append_len (out, from, p - from);
        from = p + 1;
      }
  g_string_append_len (out, from, end - from);
}

void
dbr_json_append (DbrJson node, GString *out)
{
  gsize len;
  const char *raw = dbr_json_raw (node, &len);

  if (!dbr_json_exists (node))
    return;
  if (raw)
    {
      append_compact (raw, raw + len, out);
      return;
    }
  /* A composed container: as deep as our own code has nested it. */
  gboolean is_object = dbr_json_type (node) == DBR_JSON_OBJECT;
  const char *between = "";
  g_string_append_c (out, is_object ? '{' : '[');
  for (DbrJson v = dbr_json_first (node); dbr_json_exists (v); v = dbr_json_next (v))
    {
      g_string_append (out, between);
      between = ",";
      if (is_object)
        {
          dbr_json_append (dbr_json_key (v), out);
          g_string_append_c (out, ':');
        }
      dbr_json_append (v, out);
    }
  g_string_append_c (out, is_object ? '}' : ']');
}
