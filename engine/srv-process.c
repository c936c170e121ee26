/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-process: the keeper is a child of ours; signals go to it alone, and it answers for the rest.
 */
#include "config.h"

#include "srv-process.h"

#include "srv-keep.h"
#include "srv-stray.h"

#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PIECE 65536
#define MAX_LAST_PIECES 64 /* read at the end; more is not waited for */
#define MAX_INPUT_BYTES (1024u * 1024u)
/* The keeper kills within its grace; if it doesn't, it is killed itself. */
#define KEEPER_EXTRA_MS 30000u

struct _SrvProcess
{
  SrvProcessOptions options; /* only the callbacks and times stay valid */
  GPid pid;
  int output;
  int start; /* -1: it tells nothing */
  char *problem;
  guint output_source;
  guint child_source;
  guint limit_source;
  guint kill_source;
  gboolean stopped;
  gboolean timed_out;
  char *piece;
};

/* --------------------------------------------------------------------------------- output */
/* FALSE: nothing more can come, or nothing now. */
static gboolean
read_piece (SrvProcess *self)
{
  ssize_t got = read (self->output, self->piece, PIECE);
  if (got < 0 && errno == EINTR)
    return TRUE;
  if (got <= 0)
    return FALSE;
  if (self->options.output != NULL)
    self->options.output (self->piece, (gsize) got, self->options.user_data);
  return TRUE;
}

static gboolean
on_output (gint fd G_GNUC_UNUSED, GIOCondition condition G_GNUC_UNUSED, gpointer user_data)
{
  SrvProcess *self = user_data;
  if (read_piece (self) || errno == EAGAIN)
    return G_SOURCE_CONTINUE;
  self->output_source = 0;
  return G_SOURCE_REMOVE;
}

/* ------------------------------------------------------------------------------------ end */
static void
clear_source (guint *source)
{
  if (*source != 0)
    g_source_remove (*source);
  *source = 0;
}

/* Whether the command was executed; else why not. */
static gboolean
read_start (SrvProcess *self)
{
  char words[200];
  ssize_t got;
  if (self->start < 0)
    return TRUE;
  do
    got = read (self->start, words, sizeof words - 1);
  while (got < 0 && errno == EINTR);
  if (got == 1)
    return TRUE;
  if (got > 1)
    self->problem = g_utf8_make_valid (words + 1, got - 1);
  return FALSE;
}

static void
on_ended (GPid pid, gint status, gpointer user_data)
{
  SrvProcess *self = user_data;
  SrvProcessEnd end = SRV_PROCESS_ENDED;
  int value = WIFEXITED (status) ? WEXITSTATUS (status) : 128 + WTERMSIG (status);
  g_spawn_close_pid (pid);
  srv_stray_forget (pid);
  if (WIFSIGNALED (status))
    srv_stray_end ();
  self->pid = 0;
  self->child_source = 0;
  clear_source (&self->limit_source);
  clear_source (&self->kill_source);
  for (guint i = 0; i < MAX_LAST_PIECES && read_piece (self); i++)
    ;
  clear_source (&self->output_source);
  if (self->timed_out)
    end = SRV_PROCESS_TIMED_OUT;
  else if (self->stopped)
    end = SRV_PROCESS_STOPPED;
  else if (!read_start (self))
    end = SRV_PROCESS_NOT_STARTED;
  else if (value > 128 && value < 128 + 65)
    {
      end = SRV_PROCESS_SIGNALLED;
      value -= 128;
    }
  self->options.done (end, value, self->options.user_data);
}

static gboolean
on_keeper_stuck (gpointer user_data)
{
  SrvProcess *self = user_data;
  self->kill_source = 0;
  kill (self->pid, SIGKILL);
  return G_SOURCE_REMOVE;
}

static void
ask_to_end (SrvProcess *self)
{
  if (self->pid == 0)
    return;
  kill (self->pid, SIGTERM);
  if (self->kill_source == 0)
    self->kill_source
        = g_timeout_add (self->options.grace_ms + KEEPER_EXTRA_MS, on_keeper_stuck, self);
}

static gboolean
on_limit (gpointer user_data)
{
  SrvProcess *self = user_data;
  self->limit_source = 0;
  self->timed_out = TRUE;
  ask_to_end (self);
  return G_SOURCE_REMOVE;
}

void
srv_process_stop (SrvProcess *self)
{
  if (self->stopped && self->pid != 0)
    kill (self->pid, SIGQUIT);
  else
    ask_to_end (self);
  self->stopped = TRUE;
}

const char *
srv_process_problem (const SrvProcess *self)
{
  return self->problem;
}

pid_t
srv_process_pid (const SrvProcess *self)
{
  return self->pid;
}

/* ---------------------------------------------------------------------------------- start */
/* A file without a name: the command reads at its own pace, or not at all, and we never block. */
static int
input_file (const char *text, GError **error)
{
  int fd = memfd_create ("input", MFD_CLOEXEC);
  gsize length = MIN (strlen (text), MAX_INPUT_BYTES);
  gsize done = 0;
  while (fd >= 0 && done < length)
    {
      ssize_t got = write (fd, text + done, length - done);
      if (got < 0 && errno != EINTR)
        break;
      done += got > 0 ? (gsize) got : 0;
    }
  if (fd >= 0 && done == length && lseek (fd, 0, SEEK_SET) == 0)
    return fd;
  g_set_error (error, G_FILE_ERROR, (gint) g_file_error_from_errno (errno),
               "can't keep the command's input: %s", g_strerror (errno));
  if (fd >= 0)
    close (fd);
  return -1;
}

static char **
keeper_words (const SrvProcessOptions *options)
{
  g_autoptr (GPtrArray) words = g_ptr_array_new ();
  g_ptr_array_add (words, g_strdup (options->keeper));
  g_ptr_array_add (words, g_strdup ("keep"));
  g_ptr_array_add (words, g_strdup_printf ("--grace-ms=%u", options->grace_ms));
  g_ptr_array_add (words, g_strdup_printf ("--parent=%d", (int) getpid ()));
  g_ptr_array_add (words, g_strdup ("--"));
  for (gsize i = 0; options->command[i] != NULL; i++)
    g_ptr_array_add (words, g_strdup (options->command[i]));
  g_ptr_array_add (words, NULL);
  return (char **) g_ptr_array_free (g_steal_pointer (&words), FALSE);
}

static gboolean
start (SrvProcess *self, const SrvProcessOptions *options, GError **error)
{
  g_auto (GStrv) words = keeper_words (options);
  const int told_at = SRV_KEEP_TELL_FD;
  int pipes[2] = { -1, -1 };
  int start[2] = { -1, -1 };
  int input = -1;
  if (options->input != NULL)
    {
      input = input_file (options->input, error);
      if (input < 0)
        return FALSE;
    }
  gboolean ok = g_unix_open_pipe (pipes, FD_CLOEXEC, error)
                && g_unix_set_fd_nonblocking (pipes[0], TRUE, error)
                && (!options->tells_start
                    || (g_unix_open_pipe (start, FD_CLOEXEC, error)
                        && g_unix_set_fd_nonblocking (start[0], TRUE, error)))
                && g_spawn_async_with_pipes_and_fds (
                    options->folder, (const char *const *) words, options->environment,
                    G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL, input, pipes[1], pipes[1], &start[1],
                    &told_at, options->tells_start ? 1 : 0, &self->pid, NULL, NULL, NULL, error);
  if (input >= 0)
    close (input);
  if (pipes[1] >= 0)
    close (pipes[1]);
  if (start[1] >= 0)
    close (start[1]);
  self->output = pipes[0];
  self->start = start[0];
  return ok;
}

SrvProcess *
srv_process_new (const SrvProcessOptions *options, GError **error)
{
  SrvProcess *self = g_new0 (SrvProcess, 1);
  self->options = *options;
  self->output = self->start = -1;
  if (!start (self, options, error))
    {
      srv_process_free (self);
      return NULL;
    }
  srv_stray_know (self->pid);
  self->piece = g_malloc (PIECE);
  self->output_source = g_unix_fd_add_full (G_PRIORITY_DEFAULT_IDLE, self->output,
                                            G_IO_IN | G_IO_HUP | G_IO_ERR, on_output, self, NULL);
  self->child_source = g_child_watch_add (self->pid, on_ended, self);
  if (options->limit_ms != 0)
    self->limit_source = g_timeout_add (options->limit_ms, on_limit, self);
  return self;
}

static void
reap_late (GPid pid, gint status, gpointer user_data G_GNUC_UNUSED)
{
  g_spawn_close_pid (pid);
  srv_stray_forget (pid);
  if (WIFSIGNALED (status))
    srv_stray_end ();
}

void
srv_process_free (SrvProcess *self)
{
  if (self == NULL)
    return;
  clear_source (&self->output_source);
  clear_source (&self->child_source);
  clear_source (&self->limit_source);
  clear_source (&self->kill_source);
  if (self->pid != 0)
    {
      kill (self->pid, SIGQUIT); /* at once */
      g_child_watch_add (self->pid, reap_late, NULL);
    }
  if (self->output >= 0)
    close (self->output);
  if (self->start >= 0)
    close (self->start);
  g_free (self->problem);
  g_free (self->piece);
  g_free (self);
}

char *
srv_process_describe (SrvProcessEnd end, int value)
{
  switch (end)
    {
    case SRV_PROCESS_STOPPED:
      return g_strdup ("was stopped");
    case SRV_PROCESS_TIMED_OUT:
      return g_strdup ("reached its time limit");
    case SRV_PROCESS_NOT_STARTED:
      return g_strdup ("could not be started");
    case SRV_PROCESS_SIGNALLED:
      return g_strdup_printf ("was ended by signal %d (%s)", value, g_strsignal (value));
    case SRV_PROCESS_ENDED:
      return value == 127 ? g_strdup ("could not be started (exit status 127)")
                          : g_strdup_printf ("ended with exit status %d", value);
    default:
      g_return_val_if_reached (NULL);
    }
}
