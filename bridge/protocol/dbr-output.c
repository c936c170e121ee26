/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Non-blocking without harm to others: the flag belongs to the open file description, which a shell
 * or a sibling may share. A pipe is therefore opened again by way of /proc, a socket is written
 * with MSG_DONTWAIT, and only where neither is possible the flag is set on the shared description
 * and put back in the end. Files never block for long and terminals are left as they are.
 */
#include "config.h"

#include "dbr-output.h"

#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

struct _DbrOutput
{
  int fd;
  gboolean is_socket;
  int restore_flags; /* -1: nothing to put back */
  const DbrOutputEvents *events;
  gpointer user_data;
  GQueue lines;       /* of GString, each with its LF */
  gsize first_offset; /* bytes of the first line that were written */
  gsize queued_bytes;
  guint source;
  gboolean has_failed;
};

static void
make_pipe_private (DbrOutput *self)
{
  char path[32];
  int fd;

  g_snprintf (path, sizeof path, "/proc/self/fd/%d", self->fd);
  fd = open (path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd >= 0)
    {
      close (self->fd);
      self->fd = fd;
      return;
    }
  self->restore_flags = fcntl (self->fd, F_GETFL);
  if (self->restore_flags >= 0)
    fcntl (self->fd, F_SETFL, self->restore_flags | O_NONBLOCK);
}

DbrOutput *
dbr_output_new (int fd, const DbrOutputEvents *events, gpointer user_data)
{
  DbrOutput *self = g_new0 (DbrOutput, 1);
  struct stat status;

  self->fd = fd;
  self->restore_flags = -1;
  self->events = events;
  self->user_data = user_data;
  g_queue_init (&self->lines);
  if (fstat (fd, &status) == 0)
    {
      self->is_socket = S_ISSOCK (status.st_mode);
      if (S_ISFIFO (status.st_mode))
        make_pipe_private (self);
    }
  return self;
}

static void
free_line (gpointer line)
{
  g_string_free (line, TRUE);
}

static void
drop_lines (DbrOutput *self)
{
  g_queue_clear_full (&self->lines, free_line);
  self->queued_bytes = self->first_offset = 0;
}

void
dbr_output_free (DbrOutput *self)
{
  if (self == NULL)
    return;
  drop_lines (self);
  if (self->source != 0)
    g_source_remove (self->source);
  if (self->restore_flags >= 0)
    fcntl (self->fd, F_SETFL, self->restore_flags);
  close (self->fd);
  g_free (self);
}

gsize
dbr_output_queued_bytes (const DbrOutput *self)
{
  return self->queued_bytes;
}

static gssize
write_some (DbrOutput *self, const char *bytes, gsize n_bytes)
{
  gssize n;

  do
    n = self->is_socket ? send (self->fd, bytes, n_bytes, MSG_DONTWAIT | MSG_NOSIGNAL)
                        : write (self->fd, bytes, n_bytes);
  while (n < 0 && errno == EINTR);
  return n;
}

/* Writes until all is gone, the descriptor takes no more, or it fails. */
static void
write_lines (DbrOutput *self)
{
  while (!self->has_failed && self->lines.length > 0)
    {
      GString *line = g_queue_peek_head (&self->lines);
      const gssize n
          = write_some (self, line->str + self->first_offset, line->len - self->first_offset);

      if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return;
      if (n < 0)
        {
          const int err = errno;

          self->has_failed = TRUE;
          drop_lines (self);
          self->events->failed (self->user_data, err);
          return;
        }
      self->first_offset += (gsize) n;
      self->queued_bytes -= (gsize) n;
      if (self->first_offset == line->len)
        {
          free_line (g_queue_pop_head (&self->lines));
          self->first_offset = 0;
        }
    }
}

static gboolean
on_writable (gint fd, GIOCondition condition, gpointer user_data)
{
  DbrOutput *self = user_data;

  (void) fd;
  (void) condition;
  write_lines (self);
  if (self->lines.length > 0)
    return G_SOURCE_CONTINUE;
  self->source = 0;
  if (!self->has_failed)
    self->events->drained (self->user_data);
  return G_SOURCE_REMOVE;
}

void
dbr_output_send (DbrOutput *self, GString *line)
{
  if (self->has_failed)
    {
      free_line (line);
      return;
    }
  g_string_append_c (line, '\n');
  g_queue_push_tail (&self->lines, line);
  self->queued_bytes += line->len;
  if (self->source != 0)
    return;
  write_lines (self);
  if (self->lines.length > 0)
    self->source = g_unix_fd_add (self->fd, G_IO_OUT, on_writable, self);
}

void
dbr_output_flush (DbrOutput *self)
{
  write_lines (self);
}
