/* SPDX-License-Identifier: Apache-2.0 */
/* dbr-format-value: formats that look at one value: times, amounts, parts of texts. */
#include "config.h"

#include "dbr-format-priv.h"
#include "dbr-time.h"
#include <math.h>
#include <string.h>

/* Beyond this no second counts: 30,000 years. Printed as it came. */
#define MAX_SECONDS 1e12

gboolean
format_parse_number (const char *text, gsize len, double *out_value)
{
  char copy[64];
  if (len == 0 || len >= sizeof copy)
    return FALSE;
  for (gsize i = 0; i < len; i++)
    if (!g_ascii_isdigit (text[i]) && !strchr ("+-.eE", text[i]))
      return FALSE;
  memcpy (copy, text, len);
  copy[len] = 0;
  char *end = NULL;
  double value = g_ascii_strtod (copy, &end);
  if (end != copy + len || !isfinite (value))
    return FALSE;
  *out_value = value;
  return TRUE;
}

void
format_append_number (GString *out, double value)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  if (fabs (value) < 9e15 && value == floor (value))
    g_string_append_printf (out, "%" G_GINT64_FORMAT, (gint64) value);
  else
    g_string_append (out, g_ascii_formatd (text, sizeof text, "%.12g", value));
}

/* One decimal, but none where it is zero. */
static void
append_decimal (GString *out, double value)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  g_ascii_formatd (text, sizeof text, "%.1f", value);
  gsize len = strlen (text);
  if (g_str_has_suffix (text, ".0"))
    len -= 2;
  g_string_append_len (out, text, (gssize) len);
}

static void
append_two (GString *out, gint64 big, const char *big_unit, gint64 small, const char *small_unit)
{
  g_string_append_printf (out, "%" G_GINT64_FORMAT " %s", big, big_unit);
  if (small > 0)
    g_string_append_printf (out, " %" G_GINT64_FORMAT " %s", small, small_unit);
}

static gboolean
append_duration (GString *out, double seconds)
{
  if (!(fabs (seconds) < MAX_SECONDS))
    return FALSE;
  if (seconds < 0)
    g_string_append_c (out, '-');
  seconds = fabs (seconds);
  char small[G_ASCII_DTOSTR_BUF_SIZE];
  if (seconds > 0 && seconds < 0.95)
    {
      g_ascii_formatd (small, sizeof small, seconds < 0.001 ? "%.1g" : "%.2g",
                       seconds < 0.001 ? 0.001 : seconds);
      g_string_append_printf (out, "%s%s s", seconds < 0.001 ? "<" : "", small);
      return TRUE;
    }
  if (seconds < 59.95)
    {
      append_decimal (out, seconds);
      g_string_append (out, " s");
      return TRUE;
    }
  gint64 s = (gint64) (seconds + 0.5);
  gint64 m = (gint64) (seconds / 60 + 0.5);
  gint64 h = (gint64) (seconds / 3600 + 0.5);
  if (s < 3600)
    append_two (out, s / 60, "min", s % 60, "s");
  else if (m < 24 * 60)
    append_two (out, m / 60, "h", m % 60, "min");
  else
    append_two (out, h / 24, "d", h % 24, "h");
  return TRUE;
}

/* What is to come is counted up, so that it isn't there before it was said to be. @now: the word for what is due. */
static gboolean
append_time (GString *out, gint64 t_us)
{
  gint64 seconds = t_us / G_USEC_PER_SEC - (t_us % G_USEC_PER_SEC < 0 ? 1 : 0);
  g_autoptr (GDateTime) time = g_date_time_new_from_unix_utc (seconds);
  if (!time)
    return FALSE;
  g_string_append_printf (out, "%04d-%02d-%02d %02d:%02d:%02dZ", g_date_time_get_year (time),
                          g_date_time_get_month (time), g_date_time_get_day_of_month (time),
                          g_date_time_get_hour (time), g_date_time_get_minute (time),
                          g_date_time_get_second (time));
  return TRUE;
}

static gboolean
append_bytes (GString *out, double bytes)
{
  static const char *const units[] = { "B", "kB", "MB", "GB", "TB", "PB" };
  if (!(bytes >= 0 && bytes < 1e18))
    return FALSE;
  guint unit = 0;
  while (unit + 1 < G_N_ELEMENTS (units) && bytes >= 999.95)
    {
      bytes /= 1000;
      unit++;
    }
  append_decimal (out, bytes);
  g_string_append_printf (out, " %s", units[unit]);
  return TRUE;
}

/* ---------------------------------------------------------------------------------- parts of texts
 */

static void
append_last_line (GString *out, const char *text, gsize len)
{
  while (len > 0 && g_ascii_isspace (text[len - 1]))
    len--;
  gsize from = len;
  while (from > 0 && text[from - 1] != '\n' && text[from - 1] != '\r')
    from--;
  while (from < len && g_ascii_isspace (text[from]))
    from++;
  g_string_append_len (out, text + from, (gssize) (len - from));
}

/* Line breaks, however many and with whatever space around them, become " / ". */
static void
append_flat (GString *out, const char *text, gsize len)
{
  gboolean is_begun = FALSE;
  const char *end = text + len;

  while (text < end)
    {
      gboolean is_break = FALSE;
      const char *from = text;
      for (; text < end && g_ascii_isspace (*text); text++)
        is_break = is_break || *text == '\n' || *text == '\r';
      if (text < end && is_begun && text > from)
        g_string_append (out, is_break ? " / " : " ");
      is_begun = TRUE;
      from = text;
      while (text < end && !g_ascii_isspace (*text))
        text++;
      g_string_append_len (out, from, text - from);
    }
}

static void
append_basename (GString *out, const char *text, gsize len)
{
  while (len > 1 && text[len - 1] == '/')
    len--;
  const char *slash = len > 1 ? memrchr (text, '/', len) : NULL;
  gsize from = slash ? (gsize) (slash - text) + 1 : 0;
  g_string_append_len (out, text + from, (gssize) (len - from));
}

static gsize
uuid_length (const char *p, gsize left)
{
  if (left < 36)
    return 0;
  for (guint i = 0; i < 36; i++)
    {
      gboolean is_dash = i == 8 || i == 13 || i == 18 || i == 23;
      if (is_dash ? p[i] != '-' : !g_ascii_isxdigit (p[i]))
        return 0;
    }
  return left > 36 && g_ascii_isalnum (p[36]) ? 0 : 36;
}

/* A run of letters and digits: an id if all of it is hexadecimal, long enough, and no word. */
static gboolean
is_hex_id (const char *p, gsize len)
{
  gsize from = len > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X') ? 2 : 0;
  gboolean has_digit = from == 2;
  for (gsize i = from; i < len; i++)
    {
      if (!g_ascii_isxdigit (p[i]))
        return FALSE;
      has_digit |= g_ascii_isdigit (p[i]);
    }
  return has_digit && (from == 2 || len >= 8);
}

static void
append_folded_run (GString *out, const char *p, gsize len)
{
  if (is_hex_id (p, len))
    {
      g_string_append_c (out, '#');
      return;
    }
  for (gsize i = 0; i < len; i++)
    if (!g_ascii_isdigit (p[i]))
      g_string_append_c (out, p[i]);
    else if (i == 0 || !g_ascii_isdigit (p[i - 1]))
      g_string_append_c (out, '#');
}

static void
append_shape (GString *out, const char *text, gsize len)
{
  for (gsize i = 0; i < len;)
    {
      char c = text[i];
      gboolean after_word = i > 0 && g_ascii_isalnum (text[i - 1]);
      const char *close = NULL;
      if ((c == '"' || c == '\'') && !after_word)
        close = memchr (text + i + 1, c, len - i - 1);
      gsize n = close ? (gsize) (close - text) + 1 - i : uuid_length (text + i, len - i);
      if (close)
        g_string_append_len (out, text + i, (gssize) n);
      else if (n > 0 && !after_word)
        g_string_append_c (out, '#');
      else if (g_ascii_isalnum (c))
        {
          n = 1;
          while (i + n < len && g_ascii_isalnum (text[i + n]))
            n++;
          append_folded_run (out, text + i, n);
        }
      else
        {
          n = 1;
          g_string_append_c (out, c);
        }
      i += n;
    }
}

static void
append_words (GString *out, const char *text, gsize len)
{
  for (gsize i = 0; i < len; i++)
    g_string_append_c (out, text[i] == '_' ? ' ' : text[i]);
}

static gboolean
append_json_text (GString *out, const char *text, gsize len)
{
  g_autoptr (DbrJsonDoc) doc = dbr_json_doc_new_from_data (text, (gssize) len, NULL, NULL);
  if (doc)
    dbr_json_append (dbr_json_doc_root (doc), out);
  return doc != NULL;
}

static gboolean
append_yes (const DbrFormat *self, DbrJson node, const char *text, gsize len, GString *out)
{
  gboolean is_true = dbr_json_exists (node) ? dbr_json_get_boolean (node)
                                            : len == 4 && memcmp (text, "true", 4) == 0;
  gboolean is_false = dbr_json_exists (node) ? dbr_json_type (node) == DBR_JSON_BOOLEAN && !is_true
                                             : len == 5 && memcmp (text, "false", 5) == 0;
  if (!is_true && !is_false)
    return FALSE;
  g_string_append (out, is_true ? self->one : self->other);
  return TRUE;
}

gboolean
format_value (
    const DbrFormat *self, DbrJson node, const char *text, gsize len, gint64 now_us, GString *out)
{
  gint64 t_us = 0;
  double number = 0;
  switch ((guint) self->kind)
    {
    case DBR_FORMAT_AGO:
      if (!dbr_time_parse (text, len, &t_us))
        return FALSE;
      dbr_time_append_ago (out, now_us - t_us, "just now");
      return TRUE;
    case DBR_FORMAT_UNTIL:
      if (!dbr_time_parse (text, len, &t_us))
        return FALSE;
      dbr_time_append_ago (out, now_us - t_us, "now");
      return TRUE;
    case DBR_FORMAT_TIME:
      return dbr_time_parse (text, len, &t_us) && append_time (out, t_us);
    case DBR_FORMAT_DURATION:
      return format_parse_number (text, len, &number) && append_duration (out, number);
    case DBR_FORMAT_BYTES:
      return format_parse_number (text, len, &number) && append_bytes (out, number);
    case DBR_FORMAT_JSON:
      if (dbr_json_exists (node))
        dbr_json_append (node, out);
      return dbr_json_exists (node);
    case DBR_FORMAT_JSON_TEXT:
      return append_json_text (out, text, len);
    case DBR_FORMAT_YES:
      return append_yes (self, node, text, len, out);
    case DBR_FORMAT_FLAT:
      append_flat (out, text, len);
      return TRUE;
    case DBR_FORMAT_LAST_LINE:
      append_last_line (out, text, len);
      return TRUE;
    case DBR_FORMAT_BASENAME:
      append_basename (out, text, len);
      return TRUE;
    case DBR_FORMAT_WORDS:
      append_words (out, text, len);
      return TRUE;
    case DBR_FORMAT_SHAPE:
      append_shape (out, text, len);
      return TRUE;
    default:
      return FALSE;
    }
}
