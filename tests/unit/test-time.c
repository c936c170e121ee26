/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times: RFC 3339 and what real servers write, and how long ago one is.
 */
#include "config.h"

#include "dbr-time.h"

#include <string.h>

static void
test_good (void)
{
  static const struct
  {
    const char *text;
    gint64 us;
  } cases[] = {
    { "1970-01-01T00:00:00Z", 0 },
    { "1970-01-01T00:00:00", 0 },
    { "1970-01-01 00:00:01z", G_USEC_PER_SEC },
    { "1969-12-31t23:59:59Z", -G_USEC_PER_SEC },
    { "2026-11-30T13:36:08.123456+00:00", G_GINT64_CONSTANT (1796045768123456) },
    { "2026-11-30T15:06:08.123456789+01:30", G_GINT64_CONSTANT (1796045768123456) },
    { "2026-11-30T12:36:08.5-01:00", G_GINT64_CONSTANT (1796045768500000) },
    { "2000-02-29T00:00:00Z", G_GINT64_CONSTANT (951782400000000) },
    { "2000-03-01T00:00:00Z", G_GINT64_CONSTANT (951868800000000) },
    { "2016-12-31T23:59:60Z", G_GINT64_CONSTANT (1483228800000000) },
    { "0000-01-01T00:00:00Z", G_GINT64_CONSTANT (-62167219200000000) },
    { "0001-01-01T00:00:00Z", G_GINT64_CONSTANT (-62135596800000000) },
    { "1900-03-01T00:00:00Z", G_GINT64_CONSTANT (-2203891200000000) },
    { "9999-12-31T23:59:59.999999Z", G_GINT64_CONSTANT (253402300799999999) },
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      gint64 us = -1;
      if (!dbr_time_parse (cases[i].text, strlen (cases[i].text), &us) || us != cases[i].us)
        g_error ("%s: %" G_GINT64_FORMAT, cases[i].text, us);
    }
}

/* Every day of four centuries against GLib's calendar. */
static void
test_calendar (void)
{
  gint64 want = G_GINT64_CONSTANT (-11676096000000000); /* 1600-01-01 */
  g_autoptr (GDate) date = g_date_new_dmy (1, 1, 1600);

  for (; g_date_get_year (date) < 2004;
       g_date_add_days (date, 1), want += G_GINT64_CONSTANT (86400000000))
    {
      gint64 us;
      char text[32];
      g_snprintf (text, sizeof text, "%04u-%02u-%02uT00:00:00Z", g_date_get_year (date),
                  (guint) g_date_get_month (date), g_date_get_day (date));
      g_assert_true (dbr_time_parse (text, 20, &us));
      g_assert_cmpint (us, ==, want);
    }
}

static void
test_bad (void)
{
  static const char *const texts[] = {
    "",
    "2026-11-30",
    "2026-11-30T",
    "2026-11-30T13:36Z",
    "2026-11-30X13:36:08Z",
    "2026-13-30T13:36:08Z",
    "2026-00-30T13:36:08Z",
    "2026-11-31T13:36:08Z",
    "2026-11-00T13:36:08Z",
    "2023-02-29T00:00:00Z",
    "1900-02-29T00:00:00Z",
    "2026-11-30T24:00:00Z",
    "2026-11-30T13:60:00Z",
    "2026-11-30T13:36:61Z",
    "2026-11-30T13:36:08.Z",
    "2026-11-30T13:36:08.1234567890Z",
    "2026-11-30T13:36:08+0100",
    "2026-11-30T13:36:08+24:00",
    "2026-11-30T13:36:08+01:60",
    "2026-11-30T13:36:08+01",
    "2026-11-30T13:36:08Zx",
    "+026-11-30T13:36:08Z",
    " 2026-11-30T13:36:08Z",
  };
  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      gint64 us;
      if (dbr_time_parse (texts[i], strlen (texts[i]), &us))
        g_error ("%s", texts[i]);
    }
}

static void
test_ago (void)
{
  static const struct
  {
    gint64 s;
    const char *text;
  } cases[] = {
    { 0, "here" },           { 4, "here" },
    { 5, "5 s ago" },        { 59, "59 s ago" },
    { 60, "1 min ago" },     { 3599, "59 min ago" },
    { 3600, "1 h ago" },     { 172799, "47 h ago" },
    { 172800, "2 d ago" },   { 63071999, "729 d ago" },
    { 63072000, "2 y ago" }, { -1, "in 1 s" },
    { -60, "in 1 min" },     { G_MAXINT64 / G_USEC_PER_SEC, "292471 y ago" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GString) text = g_string_new (NULL);
      dbr_time_append_ago (text, cases[i].s * G_USEC_PER_SEC, "here");
      g_assert_cmpstr (text->str, ==, cases[i].text);
    }
  g_autoptr (GString) soon = g_string_new (NULL);
  dbr_time_append_ago (soon, -1, "now");
  g_string_append (soon, ", ");
  dbr_time_append_ago (soon, -G_USEC_PER_SEC - 1, "now");
  g_string_append (soon, ", ");
  dbr_time_append_ago (soon, G_MININT64, "now");
  g_assert_cmpstr (soon->str, ==, "now, in 2 s, in 292471 y");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/time/good", test_good);
  g_test_add_func ("/time/calendar", test_calendar);
  g_test_add_func ("/time/bad", test_bad);
  g_test_add_func ("/time/ago", test_ago);
  return g_test_run ();
}
