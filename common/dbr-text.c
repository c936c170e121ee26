/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-text: see the header. One pass, no look-back further than one code point: runs of printable
 * ASCII are copied whole, everything else goes through one decision a code point.
 */
#include "config.h"

#include "dbr-text.h"
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd"
/* An unterminated control string must not swallow the rest of a text: it is given up after this. */
#define MAX_CONTROL_STRING 4096u

/* ------------------------------------------------------------------------------------- UTF-8 */

/* Length of the well-formed sequence at @p, or 0; *out_bad is then the length of the ill-formed
 * part to replace (Unicode 15, table 3-7 and "maximal subpart" of section 3.9). */
static guint
utf8_length (const guint8 *p, gsize left, guint *out_bad)
{
  guint8 lead = p[0];
  guint8 low = 0x80, high = 0xbf;
  guint need;
  *out_bad = 1;
  if (lead < 0x80)
    return 1;
  if (lead >= 0xc2 && lead <= 0xdf)
    need = 1;
  else if (lead >= 0xe0 && lead <= 0xef)
    {
      need = 2;
      low = lead == 0xe0 ? 0xa0 : 0x80;
      high = lead == 0xed ? 0x9f : 0xbf;
    }
  else if (lead >= 0xf0 && lead <= 0xf4)
    {
      need = 3;
      low = lead == 0xf0 ? 0x90 : 0x80;
      high = lead == 0xf4 ? 0x8f : 0xbf;
    }
  else
    return 0;
  for (guint i = 1; i <= need; i++)
    {
      if (i >= left || p[i] < low || p[i] > high)
        {
          *out_bad = i;
          return 0;
        }
      low = 0x80;
      high = 0xbf;
    }
  return need + 1;
}

static gunichar
utf8_decode (const guint8 *p, guint n)
{
  switch (n)
    {
    case 1:
      return p[0];
    case 2:
      return (gunichar) (p[0] & 0x1f) << 6 | (p[1] & 0x3f);
    case 3:
      return (gunichar) (p[0] & 0x0f) << 12 | (gunichar) (p[1] & 0x3f) << 6 | (p[2] & 0x3f);
    default:
      return (gunichar) (p[0] & 0x07) << 18 | (gunichar) (p[1] & 0x3f) << 12
             | (gunichar) (p[2] & 0x3f) << 6 | (p[3] & 0x3f);
    }
}

void
dbr_text_append_valid (GString *out, const char *bytes, gssize len)
{
  gsize left = len < 0 ? strlen (bytes) : (gsize) len;
  while (left > 0)
    {
      const char *end = NULL;
      /* NUL is valid UTF-8, but ends the run for GLib. */
      gboolean is_valid = g_utf8_validate_len (bytes, left, &end);
      gsize run = (gsize) (end - bytes);
      g_string_append_len (out, bytes, (gssize) run);
      if (is_valid)
        return;
      bytes += run;
      left -= run;
      guint bad = 1;
      guint good = utf8_length ((const guint8 *) bytes, left, &bad);
      if (good > 0)
        g_string_append_len (out, bytes, (gssize) good);
      else
        g_string_append (out, REPLACEMENT);
      bytes += good > 0 ? good : bad;
      left -= good > 0 ? good : bad;
    }
}

gsize
dbr_text_cut_length (const char *text, gsize len, gsize max_bytes)
{
  if (len <= max_bytes)
    return len;
  gsize cut = max_bytes;
  /* A code point has at most three continuation bytes: bad text must not cost more than that. */
  for (guint i = 0; i < 3 && cut > 0 && ((guint8) text[cut] & 0xc0) == 0x80; i++)
    cut--;
  return cut;
}

/* -------------------------------------------------------------------------- control sequences */

/* The end of an ECMA-48 control string (section 5.6: up to ST; xterm also ends it with BEL). */
static gsize
control_string_length (const guint8 *p, gsize left)
{
  gsize limit = MIN (left, MAX_CONTROL_STRING);
  for (gsize i = 0; i < limit; i++)
    {
      if (p[i] == 0x07)
        return i + 1;
      if (p[i] == 0x1b)
        return i + 1 < left && p[i + 1] == '\\' ? i + 2 : 0;
      if (p[i] == 0xc2 && i + 1 < left && p[i + 1] == 0x9c)
        return i + 2;
      if (p[i] == '\n' || p[i] == '\r')
        return 0;
    }
  return 0;
}

/* Parameters, intermediates and the final byte of a control sequence (ECMA-48 section 5.4). */
static gsize
csi_length (const guint8 *p, gsize left)
{
  gsize i = 0;
  while (i < left && p[i] >= 0x30 && p[i] <= 0x3f)
    i++;
  while (i < left && p[i] >= 0x20 && p[i] <= 0x2f)
    i++;
  if (i == left)
    return i; /* cut off where the text was: nothing of it is text */
  return p[i] >= 0x40 && p[i] <= 0x7e ? i + 1 : 0;
}

/* How many bytes from the ESC at p[0] on belong to one sequence: at least 1. */
static gsize
escape_length (const guint8 *p, gsize left)
{
  if (left < 2)
    return 1;
  if (p[1] == '[')
    {
      gsize n = csi_length (p + 2, left - 2);
      return n > 0 || left == 2 ? n + 2 : 1;
    }
  if (strchr ("]PX^_", p[1]) && p[1] != 0)
    return 2 + control_string_length (p + 2, left - 2);
  gsize i = 1;
  while (i < left && p[i] >= 0x20 && p[i] <= 0x2f)
    i++;
  if (i < left && p[i] >= 0x30 && p[i] <= 0x7e)
    return i + 1;
  return 1;
}

/* The same for the eight-bit forms, U+0080 to U+009F, whose two bytes stand at p[0]. */
static gsize
c1_length (const guint8 *p, gsize left, gunichar c)
{
  if (c == 0x9b)
    return 2 + csi_length (p + 2, left - 2);
  if (c == 0x90 || c == 0x98 || c == 0x9d || c == 0x9e || c == 0x9f)
    return 2 + control_string_length (p + 2, left - 2);
  return 2;
}

/* --------------------------------------------------------------------------------- invisibles */

static gboolean
is_emoji (gunichar c)
{
  return (c >= 0x1f000 && c <= 0x1faff) || (c >= 0x2190 && c <= 0x2bff) || c == 0x00a9
         || c == 0x00ae || c == 0x203c || c == 0x2049 || c == 0x2122 || c == 0x2139 || c == 0x3030
         || c == 0x303d || c == 0x3297 || c == 0x3299;
}

/* Cf that print something: the marks that enclose Arabic, Syriac and Kaithi numbers. */
static gboolean
is_visible_format (gunichar c)
{
  return (c >= 0x0600 && c <= 0x0605) || c == 0x06dd || c == 0x070f || c == 0x0890 || c == 0x0891
         || c == 0x08e2 || c == 0x110bd || c == 0x110cd;
}

static gboolean
is_invisible (gunichar c)
{
  switch (c)
    {
    case 0x034f: /* combining grapheme joiner */
    case 0x115f: /* Hangul fillers */
    case 0x1160:
    case 0x3164:
    case 0xffa0:
    case 0x17b4: /* Khmer inherent vowels */
    case 0x17b5:
    case 0x2028:
    case 0x2029:
    case 0x2800: /* Braille blank */
      return TRUE;
    default:
      break;
    }
  if ((c >= 0x180b && c <= 0x180f) || (c >= 0xfe00 && c <= 0xfe0f)
      || (c >= 0xe0000 && c <= 0xe0fff))
    return TRUE;
  if ((c & 0xfffe) == 0xfffe || (c >= 0xfdd0 && c <= 0xfdef))
    return TRUE;
  return g_unichar_type (c) == G_UNICODE_FORMAT && !is_visible_format (c);
}

/* Whether an invisible @c is part of an emoji: VS15/VS16 after its base, ZWJ between two. */
static gboolean
is_emoji_part (gunichar c, gunichar before, const guint8 *after, gsize left)
{
  if (c == 0xfe0f || c == 0xfe0e)
    return is_emoji (before)
           || (before < 0x80
               && (g_ascii_isdigit ((char) before) || before == '#' || before == '*'));
  if (c != 0x200d || !(is_emoji (before) || before == 0xfe0f) || left == 0)
    return FALSE;
  guint bad;
  guint n = utf8_length (after, left, &bad);
  return n > 0 && is_emoji (utf8_decode (after, n));
}

static void
append_code (GString *out, gunichar c)
{
  char escape[16];
  int n = g_snprintf (escape, sizeof escape, "\\u{%X}", c);
  g_string_append_len (out, escape, n);
}

/* One step of dbr_text_append_safe() at something that isn't printable ASCII: returns its length.
 */
static gsize
append_control (GString *out, const guint8 *p, gsize left, DbrTextMode mode)
{
  switch (p[0])
    {
    case '\t':
      g_string_append_c (out, mode == DBR_TEXT_ONE_LINE ? ' ' : '\t');
      return 1;
    case '\r':
    case '\n':
      if (mode == DBR_TEXT_ONE_LINE)
        g_string_append_len (out, "\\n", 2);
      else
        g_string_append_c (out, '\n');
      return p[0] == '\r' && left > 1 && p[1] == '\n' ? 2 : 1;
    case 0x1b:
      return escape_length (p, left);
    default:
      return 1;
    }
}

static gsize
append_code_point (GString *out, const guint8 *p, gsize left, DbrTextMode mode, gunichar *before)
{
  guint bad = 1;
  guint n = utf8_length (p, left, &bad);
  if (n == 0)
    {
      g_string_append_len (out, REPLACEMENT, 3);
      *before = 0xfffd;
      return bad;
    }
  gunichar c = utf8_decode (p, n);
  gboolean is_break = c == 0x85 || c == 0x2028 || c == 0x2029;
  if (is_break && mode == DBR_TEXT_ONE_LINE)
    g_string_append_len (out, "\\n", 2);
  else if (c < 0xa0 && c != 0x85)
    return c1_length (p, left, c);
  else if (c == 0x85 || (is_invisible (c) && !is_emoji_part (c, *before, p + n, left - n)))
    append_code (out, c);
  else
    g_string_append_len (out, (const char *) p, n);
  *before = c;
  return n;
}

void
dbr_text_append_safe (GString *out, const char *bytes, gssize len, DbrTextMode mode)
{
  const guint8 *p = (const guint8 *) bytes;
  gsize left = len < 0 ? strlen (bytes) : (gsize) len;
  gunichar before = 0;
  while (left > 0)
    {
      gsize n = 0;
      while (n < left && p[n] >= 0x20 && p[n] < 0x7f)
        n++;
      if (n > 0)
        {
          g_string_append_len (out, (const char *) p, (gssize) n);
          before = p[n - 1];
        }
      else if (p[0] < 0x80)
        {
          n = append_control (out, p, left, mode);
          before = 0;
        }
      else
        n = append_code_point (out, p, left, mode, &before);
      p += n;
      left -= n;
    }
}

/* --------------------------------------------------------------------------------------- JSON */

static void
append_json_escape (GString *out, guint8 c)
{
  static const char hex[] = "0123456789abcdef";
  char escape[6] = { '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15] };
  switch (c)
    {
    case '"':
    case '\\':
      escape[1] = (char) c;
      break;
    case '\b':
      escape[1] = 'b';
      break;
    case '\f':
      escape[1] = 'f';
      break;
    case '\n':
      escape[1] = 'n';
      break;
    case '\r':
      escape[1] = 'r';
      break;
    case '\t':
      escape[1] = 't';
      break;
    default:
      g_string_append_len (out, escape, 6);
      return;
    }
  g_string_append_len (out, escape, 2);
}

void
dbr_text_append_json_string (GString *out, const char *text, gssize len)
{
  const guint8 *p = (const guint8 *) text;
  gsize left = len < 0 ? strlen (text) : (gsize) len;
  g_string_append_c (out, '"');
  gsize run = 0;
  for (gsize i = 0; i < left; i++)
    {
      guint8 c = p[i];
      /* U+2028 and U+2029 are E2 80 A8 and E2 80 A9. */
      gboolean is_separator
          = c == 0xe2 && i + 2 < left && p[i + 1] == 0x80 && (p[i + 2] & 0xfe) == 0xa8;
      if (G_LIKELY (c >= 0x20 && c != '"' && c != '\\' && c != 0x7f && !is_separator))
        continue;
      g_string_append_len (out, (const char *) p + run, (gssize) (i - run));
      if (is_separator)
        {
          g_string_append (out, p[i + 2] == 0xa8 ? "\\u2028" : "\\u2029");
          i += 2;
        }
      else
        append_json_escape (out, c);
      run = i + 1;
    }
  g_string_append_len (out, (const char *) p + run, (gssize) (left - run));
  g_string_append_c (out, '"');
}

/* ---------------------------------------------------------------------------------------- URL */

/* A password with a `/` in it ends the authority too early: "http://u:a/b@host". What stands behind
 * the colon is then no port, and everything up to the last `@` is treated as user info. */
static gboolean
has_odd_port (const char *authority, gsize len)
{
  const char *at = memrchr (authority, '@', len);
  const char *host = at ? at + 1 : authority;
  const char *end = authority + len;
  const char *bracket = memrchr (host, ']', (gsize) (end - host));
  const char *from = bracket ? bracket : host;
  const char *colon = memchr (from, ':', (gsize) (end - from));
  if (!colon)
    return FALSE;
  for (const char *c = colon + 1; c < end; c++)
    if (!g_ascii_isdigit (*c))
      return TRUE;
  return FALSE;
}

char *
dbr_text_redact_url (const char *url)
{
  g_autoptr (GString) out = g_string_new (NULL);
  gsize scheme = strspn (url, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "+.-");
  const char *scheme_end = g_str_has_prefix (url + scheme, "://") ? url + scheme : NULL;
  const char *authority = scheme_end ? scheme_end + 3 : url;
  gsize path_end = strcspn (authority, "?#");
  gsize len = MIN (strcspn (authority, "/\\?#"), path_end);
  const char *host = authority;
  const char *at = memrchr (authority, '@', len);
  if (has_odd_port (authority, len))
    {
      const char *last = strrchr (authority, '@');
      at = last ? last : at;
    }
  if (at)
    host = at + 1;
  if (scheme_end)
    dbr_text_append_safe (out, url, authority - url, DBR_TEXT_ONE_LINE);
  gsize keep = strcspn (host, "?#");
  dbr_text_append_safe (out, host, (gssize) keep, DBR_TEXT_ONE_LINE);
  return g_string_free (g_steal_pointer (&out), FALSE);
}

char *
dbr_text_dup_shell_word (const char *text)
{
  static const char plain[]
      = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+.,:/@%";

  return *text && text[strspn (text, plain)] == '\0' ? g_strdup (text) : g_shell_quote (text);
}

char *
dbr_text_dup_sentence (const char *format, ...)
{
  static const char *const ends[] = { ".", "?", "!", "…" };
  va_list list;

  va_start (list, format);
  g_autofree char *text = g_strdup_vprintf (format, list);
  va_end (list);
  for (guint i = 0; i < G_N_ELEMENTS (ends); i++)
    if (g_str_has_suffix (text, ends[i]))
      return g_steal_pointer (&text);
  return g_strconcat (text, ".", NULL);
}
