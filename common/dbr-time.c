/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-time: the calendar by arithmetic: no time zone database, no locale.
 */
#include "config.h"

#include "dbr-time.h"

typedef struct
{
  const char *p;
  const char *end;
} Reader;

static gboolean
read_number (Reader *self, guint n_digits, gint64 *out)
{
  *out = 0;
  if ((gsize) (self->end - self->p) < n_digits)
    return FALSE;
  for (guint i = 0; i < n_digits; i++, self->p++)
    {
      if (!g_ascii_isdigit (*self->p))
        return FALSE;
      *out = *out * 10 + (*self->p - '0');
    }
  return TRUE;
}

static gboolean
read_one_of (Reader *self, const char *set)
{
  for (; *set; set++)
    if (self->p < self->end && *self->p == *set)
      {
        self->p++;
        return TRUE;
      }
  return FALSE;
}

/* Days from 1970-01-01 in the Gregorian calendar, by counting leap years. */
static gint64
days_before (gint64 year, gint64 month, gint64 day)
{
  static const guint16 before_month[] = { 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334 };
  gint64 past = year - 1;
  gint64 leaps = year > 0 ? past / 4 - past / 100 + past / 400 : -1;
  gboolean is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

  return (year - 1970) * 365 + (leaps - 477) + before_month[month - 1]
         + (is_leap && month > 2 ? 1 : 0) + day - 1;
}

static gboolean
read_date (Reader *self, gint64 *out_days)
{
  static const guint8 days_of[] = { 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
  gint64 year;
  gint64 month;
  gint64 day;

  if (!read_number (self, 4, &year) || !read_one_of (self, "-") || !read_number (self, 2, &month)
      || !read_one_of (self, "-") || !read_number (self, 2, &day))
    return FALSE;
  if (month < 1 || month > 12 || day < 1 || day > days_of[month - 1])
    return FALSE;
  if (month == 2 && day == 29 && (year % 4 != 0 || (year % 100 == 0 && year % 400 != 0)))
    return FALSE;
  *out_days = days_before (year, month, day);
  return TRUE;
}

static gboolean
read_fraction (Reader *self, gint64 *out_us)
{
  gint64 scale = 100000;
  guint n = 0;

  *out_us = 0;
  for (; self->p < self->end && g_ascii_isdigit (*self->p); self->p++, n++, scale /= 10)
    *out_us += (*self->p - '0') * scale; /* beyond microseconds scale is 0 */
  return n >= 1 && n <= 9;
}

static gboolean
read_clock (Reader *self, gint64 *out_us)
{
  gint64 hour;
  gint64 minute;
  gint64 second;
  gint64 fraction = 0;

  if (!read_number (self, 2, &hour) || !read_one_of (self, ":") || !read_number (self, 2, &minute)
      || !read_one_of (self, ":") || !read_number (self, 2, &second))
    return FALSE;
  /* 60 is a leap second: the same moment as the next minute's first here. */
  if (hour > 23 || minute > 59 || second > 60)
    return FALSE;
  if (read_one_of (self, ".") && !read_fraction (self, &fraction))
    return FALSE;
  *out_us = ((hour * 60 + minute) * 60 + second) * G_USEC_PER_SEC + fraction;
  return TRUE;
}

static gboolean
read_offset (Reader *self, gint64 *out_us)
{
  gint64 hour;
  gint64 minute;

  *out_us = 0;
  if (self->p == self->end || read_one_of (self, "Zz"))
    return TRUE;
  gint64 sign = *self->p == '-' ? -1 : 1;
  if (!read_one_of (self, "+-") || !read_number (self, 2, &hour) || !read_one_of (self, ":")
      || !read_number (self, 2, &minute) || hour > 23 || minute > 59)
    return FALSE;
  *out_us = sign * (hour * 60 + minute) * 60 * G_USEC_PER_SEC;
  return TRUE;
}

gboolean
dbr_time_parse (const char *text, gsize len, gint64 *out_us)
{
  Reader self = { text, text + len };
  gint64 days;
  gint64 clock_us;
  gint64 offset_us;

  if (!read_date (&self, &days) || !read_one_of (&self, "Tt ") || !read_clock (&self, &clock_us)
      || !read_offset (&self, &offset_us) || self.p != self.end)
    return FALSE;
  *out_us = days * 24 * 60 * 60 * G_USEC_PER_SEC + clock_us - offset_us;
  return TRUE;
}

void
dbr_time_append_ago (GString *out, gint64 diff_us, const char *now)
{
  gboolean is_future = diff_us < 0;
  guint64 us = is_future ? -(guint64) diff_us : (guint64) diff_us;
  guint64 s = us / G_USEC_PER_SEC;
  if (is_future && s >= 1 && s < 60 && us % G_USEC_PER_SEC != 0)
    s++;
  if (s < (is_future ? 1 : 5))
    {
      g_string_append (out, now);
      return;
    }
  guint64 n = s;
  const char *unit = "s";
  if (s >= 2 * 365 * 86400ull)
    n = s / (365 * 86400ull), unit = "y";
  else if (s >= 48 * 3600)
    n = s / 86400, unit = "d";
  else if (s >= 3600)
    n = s / 3600, unit = "h";
  else if (s >= 60)
    n = s / 60, unit = "min";
  g_string_append_printf (
      out, is_future ? "in %" G_GUINT64_FORMAT " %s" : "%" G_GUINT64_FORMAT " %s ago", n, unit);
}
