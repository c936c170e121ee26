/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-rules-hours: windows of the week, in a time zone.
 */
#include "config.h"

#include "srv-rules.h"

#include <string.h>

typedef struct
{
  guint days; /* bit 0: Monday */
  int from;   /* minutes of the day; to > 1440 runs into the next one */
  int to;
  GTimeZone *zone;
} Window;

static const char *const day_names[] = { "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun", NULL };

static gboolean
parse_days (const char *text, guint *out_days)
{
  g_auto (GStrv) parts = g_strsplit (text, ",", 8);

  *out_days = 0;
  for (guint i = 0; parts[i]; i++)
    {
      g_auto (GStrv) ends = g_strsplit (parts[i], "-", 3);
      gint first = ends[0] ? srv_word_find (day_names, ends[0]) : -1;
      gint last = ends[0] && ends[1] ? srv_word_find (day_names, ends[1]) : first;
      if (first < 0 || last < 0 || g_strv_length (ends) > 2)
        return FALSE;
      for (gint day = first;; day = (day + 1) % 7)
        {
          *out_days |= 1u << day;
          if (day == last)
            break;
        }
    }
  return *out_days != 0;
}

/* "08:00" to minutes; -1: not one. */
static int
parse_minutes (const char *text)
{
  if (!g_ascii_isdigit (text[0]) || !g_ascii_isdigit (text[1]) || text[2] != ':'
      || !g_ascii_isdigit (text[3]) || !g_ascii_isdigit (text[4]))
    return -1;
  int hours = (text[0] - '0') * 10 + text[1] - '0';
  int minutes = (text[3] - '0') * 10 + text[4] - '0';
  return minutes > 59 || hours > 24 || (hours == 24 && minutes > 0) ? -1 : hours * 60 + minutes;
}

static gboolean
parse_times (const char *text, Window *out)
{
  if (strlen (text) != 11 || text[5] != '-')
    return FALSE;
  out->from = parse_minutes (text);
  out->to = parse_minutes (text + 6);
  if (out->from < 0 || out->to < 0 || out->from == 1440)
    return FALSE;
  if (out->to <= out->from)
    out->to += 1440;
  return TRUE;
}

/* (nullable): what is wrong. */
static char *
parse_window (const char *text, Window *out)
{
  g_autofree char *trimmed = g_strstrip (g_strdup (text));
  g_auto (GStrv) words = g_strsplit (trimmed, " ", 5);
  guint n = g_strv_length (words), at = 0;

  out->days = 0x7f;
  if (n == 0)
    return g_strdup ("a window is empty");
  if (g_ascii_isalpha (words[0][0]) && !parse_days (words[at++], &out->days))
    return g_strdup_printf ("\"%s\" is not days: like Mon-Fri or Sat,Sun", words[0]);
  if (at >= n || !parse_times (words[at], out))
    return g_strdup_printf ("\"%s\" has no times like 08:00-18:00", trimmed);
  at++;
  out->zone = g_time_zone_new_identifier (at < n ? words[at] : "UTC");
  if (!out->zone)
    return g_strdup_printf ("\"%s\" is not a time zone: like Europe/Berlin", words[at]);
  return at + 1 < n ? g_strdup_printf ("\"%s\" has something after the time zone", trimmed) : NULL;
}

static gboolean
is_within (const Window *window, gint64 now_us)
{
  gint64 seconds = now_us / G_USEC_PER_SEC;
  gint interval = g_time_zone_find_interval (window->zone, G_TIME_TYPE_UNIVERSAL, seconds);
  gint64 local = seconds + (interval < 0 ? 0 : g_time_zone_get_offset (window->zone, interval));
  gint64 day_number = local / 86400; /* day 0 was a Thursday */
  int day = (int) ((day_number + 3) % 7), minute = (int) (local % 86400 / 60);

  if ((window->days >> day & 1) && minute >= window->from && minute < window->to)
    return TRUE;
  int yesterday = (day + 6) % 7;
  return (window->days >> yesterday & 1) && minute + 1440 < window->to;
}

/* Walks the windows. @now_us < 0: only reads. *out_open: one is open. */
static char *
walk (const char *hours, gint64 now_us, gboolean *out_open)
{
  g_auto (GStrv) parts = g_strsplit (hours, ";", SRV_MAX_WINDOWS + 1);
  char *problem = NULL;

  *out_open = FALSE;
  if (g_strv_length (parts) == 0)
    return g_strdup ("is empty: \"any\", or windows like \"Mon-Fri 08:00-18:00 Europe/Berlin\"");
  if (g_strv_length (parts) > SRV_MAX_WINDOWS)
    return g_strdup_printf ("has more than %d windows", SRV_MAX_WINDOWS);
  for (guint i = 0; !problem && parts[i]; i++)
    {
      Window window = { 0 };
      problem = parse_window (parts[i], &window);
      if (!problem && now_us >= 0 && is_within (&window, now_us))
        *out_open = TRUE;
      g_clear_pointer (&window.zone, g_time_zone_unref);
    }
  return problem;
}

char *
srv_hours_problem (const char *hours)
{
  gboolean open;

  return strcmp (hours, "any") == 0 ? NULL : walk (hours, -1, &open);
}

gboolean
srv_hours_open (const char *hours, gint64 now_us)
{
  gboolean open;

  if (strcmp (hours, "any") == 0)
    return TRUE;
  g_autofree char *problem = walk (hours, MAX (now_us, 0), &open);
  return !problem && open;
}
