/* SPDX-License-Identifier: Apache-2.0 */
/*
 * framer: lines at every split, the longest line, what is passed over and refused, and memory.
 */
#include "config.h"

#include "protocol/dbr-framer.h"

#include <string.h>

static void
take_all (DbrFramer *framer, GString *out)
{
  for (;;)
    {
      g_autoptr (GBytes) line = NULL;
      g_autoptr (GError) error = NULL;

      switch (dbr_framer_take (framer, &line, &error))
        {
        case DBR_FRAME_LINE:
          g_assert_no_error (error);
          g_string_append_c (out, '[');
          g_string_append_len (out, g_bytes_get_data (line, NULL),
                               (gssize) g_bytes_get_size (line));
          g_string_append_c (out, ']');
          break;
        case DBR_FRAME_REFUSED:
          g_assert_null (line);
          g_assert_nonnull (error);
          g_string_append (out, error->code == DBR_FRAME_ERROR_TOO_LONG ? "<long>" : "<utf8>");
          break;
        case DBR_FRAME_MORE:
        case DBR_FRAME_END:
        default:
          return;
        }
    }
}

static void
feed (DbrFramer *framer, const char *bytes, gsize n_bytes, gsize step, GString *out)
{
  while (n_bytes > 0)
    {
      gsize n_space;
      char *space = dbr_framer_space (framer, &n_space);
      const gsize n = MIN (MIN (n_space, step), n_bytes);

      g_assert_cmpuint (n_space, >, 0);
      memcpy (space, bytes, n);
      dbr_framer_filled (framer, n);
      take_all (framer, out);
      bytes += n;
      n_bytes -= n;
    }
}

/* What comes out of @text in pieces of @step bytes, with lines of at most @max bytes. */
static char *
frame (const char *text, gsize n_bytes, gsize step, gsize max)
{
  g_autoptr (DbrFramer) framer = dbr_framer_new (max);
  GString *out = g_string_new (NULL);
  gsize n_space;

  feed (framer, text, n_bytes, step, out);
  dbr_framer_space (framer, &n_space);
  dbr_framer_filled (framer, 0);
  take_all (framer, out);
  return g_string_free (out, FALSE);
}

typedef struct
{
  const char *text;
  gsize n_bytes;
  const char *expected;
} Case;

#define CASE(text, expected) \
  { \
    text, sizeof (text) - 1, expected \
  }

static const Case cases[] = {
  CASE ("", ""),
  CASE ("\n", ""),
  CASE ("a\n", "[a]"),
  CASE ("a", "[a]"),
  CASE ("a\nbc\n", "[a][bc]"),
  CASE ("a\nbc", "[a][bc]"),
  CASE ("a\r\nb\r\n", "[a][b]"),
  CASE ("a\r", "[a]"),
  CASE ("a\r\r\n", "[a\r]"),
  CASE ("\r\n \t\r\n\n  \n\t", ""),
  CASE (" a \n", "[ a ]"),
  CASE ("\xef\xbb\xbf{}\n", "[{}]"),
  CASE ("\xef\xbb\xbf", ""),
  CASE ("\xef\xbb\xbf\n\xef\xbb\xbfx\n", "[\xef\xbb\xbfx]"),
  CASE ("\xef\xbb\n", "<utf8>"),
  CASE ("\xef\xbb", "<utf8>"),
  CASE ("\xff\xfe\nok\n", "<utf8>[ok]"),
  CASE ("\xc0\x80\nok\n", "<utf8>[ok]"),
  CASE ("\xed\xa0\x80\nok", "<utf8>[ok]"),
  CASE ("\xe2\x82\nok\n", "<utf8>[ok]"),
  CASE ("caf\xc3\xa9\n", "[caf\xc3\xa9]"),
  CASE ("12345678\n", "[12345678]"),
  CASE ("12345678\r\n", "[12345678]"),
  CASE ("12345678", "[12345678]"),
  CASE ("12345678\r", "[12345678]"),
  CASE ("123456789\n", "<long>"),
  CASE ("123456789", "<long>"),
  CASE ("12345678901234567890\nok\n", "<long>[ok]"),
  CASE ("12345678901234567890", "<long>"),
  CASE ("12345678901234567890\r\n\nok", "<long>[ok]"),
  CASE ("\xef\xbb\xbf"
        "12345678\r\n",
        "[12345678]"),
};

static void
test_table (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    for (gsize step = 1; step <= 24; step++)
      {
        g_autofree char *got = frame (cases[i].text, cases[i].n_bytes, step, 8);

        g_assert_cmpstr (got, ==, cases[i].expected);
      }
}

/* A NUL is the JSON reader's to refuse: the framer's word for it would be wrong. */
static void
test_nul (void)
{
  g_autoptr (DbrFramer) framer = dbr_framer_new (0);
  g_autoptr (GBytes) line = NULL;
  g_autoptr (GError) error = NULL;
  gsize n_space;

  memcpy (dbr_framer_space (framer, &n_space), "a\0b\n", 4);
  dbr_framer_filled (framer, 4);
  g_assert_cmpint (dbr_framer_take (framer, &line, &error), ==, DBR_FRAME_LINE);
  g_assert_no_error (error);
  g_assert_cmpmem (g_bytes_get_data (line, NULL), g_bytes_get_size (line), "a\0b", 3);
}

static void
test_messages (void)
{
  g_autoptr (DbrFramer) framer = dbr_framer_new (4);
  g_autoptr (GBytes) line = NULL;
  g_autoptr (GError) long_error = NULL;
  g_autoptr (GError) utf8_error = NULL;
  gsize n_space;

  memcpy (dbr_framer_space (framer, &n_space), "12345\nab\xff\n", 10);
  dbr_framer_filled (framer, 10);
  g_assert_cmpint (dbr_framer_take (framer, &line, &long_error), ==, DBR_FRAME_REFUSED);
  g_assert_error (long_error, DBR_FRAME_ERROR, DBR_FRAME_ERROR_TOO_LONG);
  g_assert_cmpstr (long_error->message, ==,
                   "Parse error: the line is longer than 4 bytes and was skipped");
  g_assert_cmpint (dbr_framer_take (framer, &line, &utf8_error), ==, DBR_FRAME_REFUSED);
  g_assert_error (utf8_error, DBR_FRAME_ERROR, DBR_FRAME_ERROR_NOT_UTF8);
  g_assert_cmpstr (utf8_error->message, ==, "Parse error: the line is not UTF-8 at byte 2");
  g_assert_cmpint (dbr_framer_take (framer, &line, &utf8_error), ==, DBR_FRAME_MORE);
}

/* The default limit: one byte less, exactly, one more. */
static void
test_limit (void)
{
  for (gint more = -1; more <= 1; more++)
    {
      const gsize n_bytes = (gsize) ((gint64) DBR_FRAMER_MAX_LINE_BYTES + more);
      g_autofree char *text = g_malloc (n_bytes + 4);
      g_autofree char *got = NULL;

      memset (text, 'x', n_bytes);
      memcpy (text + n_bytes, "\nok\n", 4);
      got = frame (text, n_bytes + 4, DBR_FRAMER_READ_BYTES, 0);
      if (more <= 0)
        {
          g_assert_cmpuint (strlen (got), ==, n_bytes + 6);
          g_assert_cmpstr (got + n_bytes, ==, "x][ok]");
        }
      else
        g_assert_cmpstr (got, ==, "<long>[ok]");
    }
}

/* 100 MB without a LF cost one error and no more memory than the longest line. */
static void
test_endless_line (void)
{
  g_autoptr (DbrFramer) framer = dbr_framer_new (0);
  g_autoptr (GString) out = g_string_new (NULL);
  g_autofree char *piece = g_strnfill (1 << 20, 'x');

  for (guint i = 0; i < 100; i++)
    feed (framer, piece, 1 << 20, DBR_FRAMER_READ_BYTES, out);
  feed (framer, "\nok\n", 4, 4, out);
  g_assert_cmpstr (out->str, ==, "<long>[ok]");
  g_assert_cmpuint (dbr_framer_peak_bytes (framer), <=,
                    DBR_FRAMER_MAX_LINE_BYTES + DBR_FRAMER_READ_BYTES + 8);
}

/* Many lines in one read, and a line after another, keep the buffer as small as it began. */
static void
test_small_lines (void)
{
  g_autoptr (DbrFramer) framer = dbr_framer_new (0);
  g_autoptr (GString) out = g_string_new (NULL);

  for (guint i = 0; i < 100000; i++)
    {
      feed (framer, "{\"a\":1}\n", 8, 5, out);
      g_string_truncate (out, 0);
    }
  g_assert_cmpuint (dbr_framer_peak_bytes (framer), ==, DBR_FRAMER_READ_BYTES);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/framer/table", test_table);
  g_test_add_func ("/framer/nul", test_nul);
  g_test_add_func ("/framer/messages", test_messages);
  g_test_add_func ("/framer/limit", test_limit);
  g_test_add_func ("/framer/endless-line", test_endless_line);
  g_test_add_func ("/framer/small-lines", test_small_lines);
  return g_test_run ();
}
