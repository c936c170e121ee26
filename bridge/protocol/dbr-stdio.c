/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop of one client. Reading goes on only while it may: not behind a stalled reader, not after
 * the end. Lines that were read and not yet taken stay in the framer, so a pause costs no memory.
 */
#include "config.h"

#include "dbr-stdio.h"

#include "dbr-framer.h"
#include "dbr-output.h"

#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <signal.h>
#include <unistd.h>

typedef struct
{
  GMainLoop *loop;
  DbrFramer *framer;
  DbrOutput *output;
  DbrServer *server;
  gsize max_output_bytes;
  guint drain_ms;
  guint input_source; /* 0: not reading now */
  guint signal_source;
  guint drain_timer;
  gboolean has_ended; /* input has ended and every line was taken */
  int status;
} Stdio;

static void
read_on (Stdio *self);

static void
finish (Stdio *self, int status)
{
  self->status = status;
  g_main_loop_quit (self->loop);
}

static gboolean
is_behind (gpointer user_data)
{
  Stdio *self = user_data;

  return dbr_output_queued_bytes (self->output) > self->max_output_bytes;
}

/* ------------------------------------------------------------------------------- end */

static void
finish_if_done (Stdio *self)
{
  if (self->has_ended && dbr_server_in_flight (self->server) == 0
      && dbr_output_queued_bytes (self->output) == 0)
    finish (self, self->status);
}

static gboolean
on_drain_limit (gpointer user_data)
{
  Stdio *self = user_data;

  self->drain_timer = 0;
  dbr_server_end_calls (
      self->server,
      "The input ended while this call was running, and the call was ended. If it changes "
      "something, whether it did is unknown.");
  dbr_output_flush (self->output);
  finish (self, self->status);
  return G_SOURCE_REMOVE;
}

/* The last line was taken. */
static void
end_input (Stdio *self)
{
  self->has_ended = TRUE;
  dbr_server_end_of_input (self->server);
  finish_if_done (self);
}

/* ----------------------------------------------------------------------------- input */

/* Takes whole lines until there is none, or the reader falls behind. Returns whether more may be
 * read. */
static gboolean
take_lines (Stdio *self)
{
  while (!is_behind (self) && g_main_loop_is_running (self->loop))
    {
      g_autoptr (GBytes) line = NULL;
      g_autoptr (GError) error = NULL;

      switch (dbr_framer_take (self->framer, &line, &error))
        {
        case DBR_FRAME_LINE:
          dbr_server_take_line (self->server, line);
          break;
        case DBR_FRAME_REFUSED:
          dbr_server_refuse_line (self->server, error);
          break;
        case DBR_FRAME_MORE:
          return TRUE;
        case DBR_FRAME_END:
        default:
          end_input (self);
          return FALSE;
        }
    }
  return FALSE;
}

/* From here on nothing more comes. The limit counts from now, even if a stalled reader keeps lines
 * in the framer. */
static void
start_drain (Stdio *self)
{
  self->drain_timer = g_timeout_add (self->drain_ms, on_drain_limit, self);
}

static gboolean
on_readable (gint fd, GIOCondition condition, gpointer user_data)
{
  Stdio *self = user_data;
  gsize n_space;
  char *space = dbr_framer_space (self->framer, &n_space);
  const gssize n = read (fd, space, n_space);

  (void) condition;
  if (n < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK))
    return G_SOURCE_CONTINUE;
  if (n < 0)
    self->status = DBR_STDIO_EXIT_IO; /* what was read is still answered */
  if (n <= 0)
    start_drain (self);
  dbr_framer_filled (self->framer, n > 0 ? (gsize) n : 0);
  if (take_lines (self))
    return G_SOURCE_CONTINUE;
  self->input_source = 0;
  return G_SOURCE_REMOVE;
}

static void
watch_input (Stdio *self)
{
  self->input_source
      = g_unix_fd_add (STDIN_FILENO, G_IO_IN | G_IO_HUP | G_IO_ERR, on_readable, self);
}

/* The reader has caught up: what the framer still holds comes first. */
static void
read_on (Stdio *self)
{
  if (!self->has_ended && self->input_source == 0 && take_lines (self))
    watch_input (self);
}

/* ---------------------------------------------------------------------------- output */

static void
send_line (gpointer user_data, GString *line)
{
  Stdio *self = user_data;

  dbr_output_send (self->output, line);
  finish_if_done (self);
}

static void
on_drained (gpointer user_data)
{
  Stdio *self = user_data;

  dbr_server_resume (self->server);
  read_on (self);
  finish_if_done (self);
}

/* Nobody reads any more. After the end of input that is a client that left; before, it is a fault
 * of the transport. */
static void
on_failed (gpointer user_data, int err)
{
  Stdio *self = user_data;

  (void) err;
  finish (self, self->has_ended ? self->status : DBR_STDIO_EXIT_IO);
}

static const DbrOutputEvents output_events = { on_drained, on_failed };

/* --------------------------------------------------------------------------- signals */

/* A signal only writes to a pipe: GLib's own signal sources would start a thread for it. */
static int signal_pipe[2] = { -1, -1 };
static const int end_signals[] = { SIGTERM, SIGINT, SIGHUP };

static void
on_signal (int number)
{
  const int err = errno;
  const char byte = (char) number;

  if (write (signal_pipe[1], &byte, 1) < 0)
    errno = err;
  errno = err;
}

static gboolean
on_signal_pipe (gint fd, GIOCondition condition, gpointer user_data)
{
  Stdio *self = user_data;
  char bytes[16];

  (void) condition;
  if (read (fd, bytes, sizeof bytes) > 0)
    finish (self, DBR_STDIO_EXIT_END);
  return G_SOURCE_CONTINUE;
}

static void
set_handler (int number, void (*handler) (int))
{
  struct sigaction action = { .sa_handler = handler };

  sigemptyset (&action.sa_mask);
  sigaction (number, &action, NULL);
}

static gboolean
watch_signals (Stdio *self)
{
  if (!g_unix_open_pipe (signal_pipe, FD_CLOEXEC, NULL))
    return FALSE;
  fcntl (signal_pipe[1], F_SETFL, O_NONBLOCK);
  self->signal_source = g_unix_fd_add (signal_pipe[0], G_IO_IN, on_signal_pipe, self);
  set_handler (SIGPIPE, SIG_IGN);
  for (guint i = 0; i < G_N_ELEMENTS (end_signals); i++)
    set_handler (end_signals[i], on_signal);
  return TRUE;
}

static void
unwatch_signals (Stdio *self)
{
  for (guint i = 0; i < G_N_ELEMENTS (end_signals); i++)
    set_handler (end_signals[i], SIG_DFL);
  if (self->signal_source != 0)
    g_source_remove (self->signal_source);
  for (guint i = 0; i < 2; i++)
    {
      if (signal_pipe[i] >= 0)
        close (signal_pipe[i]);
      signal_pipe[i] = -1;
    }
}

/* ------------------------------------------------------------------------------ serve */

/* Puts the real standard output aside; whatever prints to 1 from now on reaches standard error. A
 * closed standard descriptor would be given to the next file that is opened. */
static int
take_stdout (void)
{
  int fd;

  if (fcntl (STDIN_FILENO, F_GETFD) < 0 || fcntl (STDOUT_FILENO, F_GETFD) < 0)
    return -1;
  if (fcntl (STDERR_FILENO, F_GETFD) < 0 && open ("/dev/null", O_WRONLY) < 0)
    return -1;
  fd = fcntl (STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (fd >= 0)
    dup2 (STDERR_FILENO, STDOUT_FILENO);
  return fd;
}

int
dbr_stdio_serve (DbrToolHost *host, const DbrStdioOptions *options)
{
  static const DbrStdioOptions defaults = { 0 };
  const DbrStdioOptions *chosen = options != NULL ? options : &defaults;
  Stdio self = { .status = DBR_STDIO_EXIT_END };
  const DbrSink sink = { send_line, is_behind, &self };
  const int fd = take_stdout ();

  if (fd < 0 || !watch_signals (&self))
    return DBR_STDIO_EXIT_IO;
  self.max_output_bytes
      = chosen->max_output_bytes > 0 ? chosen->max_output_bytes : DBR_STDIO_MAX_OUTPUT_BYTES;
  self.drain_ms = chosen->drain_ms > 0 ? chosen->drain_ms : DBR_STDIO_DRAIN_MS;
  self.loop = g_main_loop_new (NULL, FALSE);
  self.framer = dbr_framer_new (chosen->max_line_bytes);
  self.output = dbr_output_new (fd, &output_events, &self);
  self.server = dbr_server_new (host, &sink, &chosen->server);
  watch_input (&self);
  g_main_loop_run (self.loop);

  if (self.input_source != 0)
    g_source_remove (self.input_source);
  if (self.drain_timer != 0)
    g_source_remove (self.drain_timer);
  unwatch_signals (&self);
  dbr_server_free (self.server);
  dbr_output_flush (self.output);
  dbr_output_free (self.output);
  dbr_framer_free (self.framer);
  g_main_loop_unref (self.loop);
  return self.status;
}
