/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output: order, a reader that stalls, a reader that goes, and nothing left behind on a shared
 * descriptor.
 */
#include "config.h"

#include "protocol/dbr-output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

typedef struct
{
  guint n_drained;
  guint n_failed;
  int err;
} Seen;

static void
on_drained (gpointer user_data)
{
  ((Seen *) user_data)->n_drained++;
}

static void
on_failed (gpointer user_data, int err)
{
  Seen *seen = user_data;

  seen->n_failed++;
  seen->err = err;
}

static const DbrOutputEvents events = { on_drained, on_failed };

static void
open_pair (gboolean is_socket, int fds[2])
{
  if (is_socket)
    g_assert_cmpint (socketpair (AF_UNIX, SOCK_STREAM, 0, fds), ==, 0);
  else
    g_assert_cmpint (pipe (fds), ==, 0);
}

/* Large lines to a reader that comes late arrive whole and in order; the descriptor that others
 * hold stays blocking. */
static void
test_stall (gconstpointer is_socket)
{
  int fds[2];
  int shared;
  Seen seen = { 0 };
  DbrOutput *output;
  g_autoptr (GString) expected = g_string_new (NULL);
  g_autoptr (GString) got = g_string_new (NULL);

  open_pair (is_socket != NULL, fds);
  shared = dup (fds[1]);
  output = dbr_output_new (fds[1], &events, &seen);
  for (guint i = 0; i < 50; i++)
    {
      GString *line = g_string_new (NULL);

      g_string_printf (line, "%u", i);
      for (guint n = 0; n < i * 1000; n++)
        g_string_append_c (line, 'x');
      g_string_append_len (expected, line->str, (gssize) line->len);
      g_string_append_c (expected, '\n');
      dbr_output_send (output, line);
    }
  g_assert_cmpuint (dbr_output_queued_bytes (output), >, 0);
  g_assert_cmpuint (seen.n_drained, ==, 0);
  g_assert_cmpint (fcntl (shared, F_GETFL) & O_NONBLOCK, ==, 0);
  while (got->len < expected->len)
    {
      char bytes[30000];
      const ssize_t n = read (fds[0], bytes, sizeof bytes);

      g_assert_cmpint (n, >, 0);
      g_string_append_len (got, bytes, n);
      while (g_main_context_iteration (NULL, FALSE))
        continue;
    }
  g_assert_cmpstr (got->str, ==, expected->str);
  g_assert_cmpuint (dbr_output_queued_bytes (output), ==, 0);
  g_assert_cmpuint (seen.n_drained, ==, 1);
  dbr_output_send (output, g_string_new ("at once"));
  g_assert_cmpuint (seen.n_drained, ==, 1);
  dbr_output_free (output);
  close (shared);
  close (fds[0]);
}

/* The reader is gone: it is told once, and later lines are dropped. */
static void
test_gone (gconstpointer is_socket)
{
  int fds[2];
  Seen seen = { 0 };
  DbrOutput *output;

  open_pair (is_socket != NULL, fds);
  output = dbr_output_new (fds[1], &events, &seen);
  close (fds[0]);
  dbr_output_send (output, g_string_new ("one"));
  dbr_output_send (output, g_string_new ("two"));
  dbr_output_flush (output);
  g_assert_cmpuint (seen.n_failed, ==, 1);
  g_assert_cmpint (seen.err, ==, EPIPE);
  g_assert_cmpuint (dbr_output_queued_bytes (output), ==, 0);
  dbr_output_free (output);
}

/* Freed with lines that nobody took. */
static void
test_free (void)
{
  int fds[2];
  Seen seen = { 0 };
  DbrOutput *output;

  open_pair (FALSE, fds);
  output = dbr_output_new (fds[1], &events, &seen);
  for (guint i = 0; i < 3; i++)
    {
      g_autofree char *text = g_strnfill (100000, 'x');

      dbr_output_send (output, g_string_new (text));
    }
  g_assert_cmpuint (dbr_output_queued_bytes (output), >, 200000);
  dbr_output_free (output);
  dbr_output_free (NULL);
  close (fds[0]);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  signal (SIGPIPE, SIG_IGN);
  g_test_add_data_func ("/output/stall/pipe", NULL, test_stall);
  g_test_add_data_func ("/output/stall/socket", "socket", test_stall);
  g_test_add_data_func ("/output/gone/pipe", NULL, test_gone);
  g_test_add_data_func ("/output/gone/socket", "socket", test_gone);
  g_test_add_func ("/output/free", test_free);
  return g_test_run ();
}
