/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-mask-decode: see the header. Every escape is read by itself, so that a text can mix all kinds;
 * escapes of escapes are the caller's matter, who decodes again.
 */
#include "config.h"

#include "dbr-mask-decode.h"
#include <string.h>

/* The longest escape is a pair of surrogates. */
#define MAX_ESCAPE 12u

static int
hex_pair (const char *p)
{
  int high = g_ascii_xdigit_value (p[0]);
  int low = high < 0 ? -1 : g_ascii_xdigit_value (p[1]);
  return low < 0 ? -1 : high << 4 | low;
}

static int
hex_four (const char *p, gsize left)
{
  int high = left >= 4 ? hex_pair (p) : -1;
  int low = high < 0 ? -1 : hex_pair (p + 2);
  return low < 0 ? -1 : high << 8 | low;
}

/* A NUL between the letters is UTF-16, or C's end of a string: nobody reads it. */
static guint
put_code (gunichar c, char out[6])
{
  return c == 0 ? 0 : (guint) g_unichar_to_utf8 (c, out);
}

/* Behind `\u`. */
static guint
read_unicode (const char *p, gsize left, char out[6], guint *out_len)
{
  if (left > 3 && p[2] == '{')
    {
      gsize n = 3;
      while (n < left && n < MAX_ESCAPE - 1 && g_ascii_isxdigit (p[n]))
        n++;
      *out_len = 0;
      return n > 3 && n < left && p[n] == '}' ? (guint) n + 1 : 0;
    }
  int code = hex_four (p + 2, left - 2);
  if (code < 0)
    return 0;
  gboolean is_high = code >= 0xd800 && code < 0xdc00;
  if (is_high && left >= 12 && p[6] == '\\' && p[7] == 'u')
    {
      int low = hex_four (p + 8, left - 8);
      if (low >= 0xdc00 && low < 0xe000)
        {
          *out_len = put_code (
              0x10000 + ((gunichar) (code - 0xd800) << 10) + (gunichar) (low - 0xdc00), out);
          return 12;
        }
    }
  *out_len = put_code ((gunichar) code, out);
  return 6;
}

static guint
read_backslash (const char *p, gsize left, char out[6], guint *out_len)
{
  static const char names[] = "\"\\/'bfnrt";
  static const char values[] = "\"\\/'\b\f\n\r\t";
  if (left < 2 || p[1] == '\0')
    return 0;
  if (p[1] == 'u')
    return read_unicode (p, left, out, out_len);
  if (p[1] == 'x')
    {
      int byte = left >= 4 ? hex_pair (p + 2) : -1;
      out[0] = (char) byte;
      *out_len = byte > 0;
      return byte < 0 ? 0 : 4;
    }
  const char *name = strchr (names, p[1]);
  if (!name)
    return 0;
  out[0] = values[name - names];
  *out_len = 1;
  return 2;
}

static guint
read_reference (const char *p, gsize left, char out[6], guint *out_len)
{
  static const struct
  {
    const char *text;
    char value;
  } names[] = {
    { "&amp;", '&' }, { "&lt;", '<' }, { "&gt;", '>' }, { "&quot;", '"' }, { "&apos;", '\'' }
  };
  *out_len = 1;
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      gsize n = strlen (names[i].text);
      if (left >= n && memcmp (p, names[i].text, n) == 0)
        {
          out[0] = names[i].value;
          return (guint) n;
        }
    }
  if (left < 4 || p[1] != '#')
    return 0;
  gboolean is_hex = p[2] == 'x' || p[2] == 'X';
  gsize from = is_hex ? 3 : 2, n = from;
  gunichar code = 0;
  for (; n < left && n < MAX_ESCAPE - 1; n++)
    {
      int digit = is_hex ? g_ascii_xdigit_value (p[n]) : g_ascii_digit_value (p[n]);
      if (digit < 0)
        break;
      code = code * (is_hex ? 16 : 10) + (gunichar) digit;
    }
  if (n == from || n == left || p[n] != ';' || code > 0x10ffff)
    return 0;
  *out_len = put_code (code, out);
  return (guint) n + 1;
}

guint
dbr_mask_read_escape (const char *p, gsize left, char out[6], guint *out_len)
{
  *out_len = 0;
  switch (p[0])
    {
    case '%':
      {
        int byte = left >= 3 ? hex_pair (p + 1) : -1;
        out[0] = (char) byte;
        *out_len = byte > 0;
        return byte < 0 ? 0 : 3;
      }
    case '\\':
      return read_backslash (p, left, out, out_len);
    case '&':
      return read_reference (p, left, out, out_len);
    default:
      return 0;
    }
}

GString *
dbr_mask_decode (const char *text, gsize len)
{
  GString *out = NULL;
  gsize run = 0;
  for (gsize i = 0; i < len;)
    {
      char decoded[6];
      guint n = 0;
      guint read = DBR_MASK_IS_ESCAPE (text[i])
                       ? dbr_mask_read_escape (text + i, len - i, decoded, &n)
                       : 0;
      if (read == 0)
        {
          i++;
          continue;
        }
      if (!out)
        out = g_string_sized_new (len);
      g_string_append_len (out, text + run, (gssize) (i - run));
      g_string_append_len (out, decoded, (gssize) n);
      i += read;
      run = i;
    }
  if (out)
    g_string_append_len (out, text + run, (gssize) (len - run));
  return out;
}

gsize
dbr_mask_walk_to (DbrMaskWalk *self, gsize decoded, gboolean is_end)
{
  while (self->decoded_at < decoded && self->at < self->len)
    {
      char bytes[6];
      guint n = 1;
      const char *p = self->text + self->at;
      guint read
          = DBR_MASK_IS_ESCAPE (*p) ? dbr_mask_read_escape (p, self->len - self->at, bytes, &n) : 0;
      if (read == 0)
        read = n = 1;
      if (!is_end && self->decoded_at + n > decoded)
        break;
      self->at += read;
      self->decoded_at += n;
    }
  return self->at;
}

gboolean
dbr_mask_is_cut (const char *p, gsize left)
{
  gsize n = 0;
  if (left > 0 && DBR_MASK_IS_ESCAPE (*p))
    for (n = 1; n < left && n < MAX_ESCAPE; n++)
      if (!g_ascii_isalnum (p[n]) && p[n] != '\\' && p[n] != '#')
        break;
  return left - n >= 3 && (memcmp (p + n, "…", 3) == 0 || memcmp (p + n, "...", 3) == 0);
}
