/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "srv-link.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

struct _SrvLink
{
  GIOStream parent_instance;
  GIOStream *base;
  GSocket *socket;
  GCancellable *cancellable;
  SrvLinkClosed closed;
  gpointer user_data;
  gpointer data;
  char *last_words;
  GSource *idle_source;
  GObject *keeper;
  SrvLinkClosed gone;
  SrvLinkPhase phase;
  gint64 owner;
  gint64 since_us;
  gint64 due_us; /* 0: never */
  gsize n_discarded;
  char discard[4096];
};

G_DEFINE_FINAL_TYPE (SrvLink, srv_link, G_TYPE_IO_STREAM)

static GInputStream *
link_get_input_stream (GIOStream *stream)
{
  return g_io_stream_get_input_stream (SRV_LINK (stream)->base);
}

static GOutputStream *
link_get_output_stream (GIOStream *stream)
{
  return g_io_stream_get_output_stream (SRV_LINK (stream)->base);
}

/* libsoup drops the stream: after an answer without keep-alive, or because something failed. */
static gboolean
link_close (GIOStream *stream, GCancellable *cancellable, GError **error)
{
  SrvLink *self = SRV_LINK (stream);

  (void) cancellable;
  (void) error;
  if (self->phase == SRV_LINK_READING && self->last_words && !srv_link_is_gone (self))
    srv_link_leave (self, g_steal_pointer (&self->last_words));
  else
    srv_link_leave (self, NULL);
  return TRUE;
}

static void
link_finalize (GObject *object)
{
  SrvLink *self = SRV_LINK (object);

  g_clear_object (&self->base);
  g_clear_object (&self->socket);
  g_clear_object (&self->cancellable);
  g_free (self->last_words);
  G_OBJECT_CLASS (srv_link_parent_class)->finalize (object);
}

static void
srv_link_class_init (SrvLinkClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = link_finalize;
  G_IO_STREAM_CLASS (klass)->get_input_stream = link_get_input_stream;
  G_IO_STREAM_CLASS (klass)->get_output_stream = link_get_output_stream;
  G_IO_STREAM_CLASS (klass)->close_fn = link_close;
}

static void
srv_link_init (SrvLink *self)
{
  self->cancellable = g_cancellable_new ();
}

SrvLink *
srv_link_new (GIOStream *base, GSocket *socket, SrvLinkClosed closed, gpointer user_data)
{
  SrvLink *self = g_object_new (SRV_TYPE_LINK, NULL);

  self->base = g_object_ref (base);
  self->socket = g_object_ref (socket);
  self->closed = closed;
  self->user_data = user_data;
  return self;
}

static void
idle_end (SrvLink *self)
{
  if (self->idle_source)
    {
      g_source_destroy (self->idle_source);
      g_clear_pointer (&self->idle_source, g_source_unref);
    }
  g_clear_object (&self->keeper);
}

void
srv_link_set_phase (SrvLink *self, SrvLinkPhase phase, guint seconds)
{
  idle_end (self);
  if (self->phase == SRV_LINK_LEAVING)
    return;
  self->phase = phase;
  self->since_us = g_get_monotonic_time ();
  self->due_us = seconds ? self->since_us + seconds * G_USEC_PER_SEC : 0;
}

static gboolean
on_idle_input (GSocket *socket, GIOCondition condition, gpointer user_data)
{
  SrvLink *self = user_data;

  (void) socket;
  (void) condition;
  g_source_destroy (self->idle_source);
  g_clear_pointer (&self->idle_source, g_source_unref);
  if (srv_link_is_gone (self))
    self->gone (self, self->user_data);
  return G_SOURCE_REMOVE;
}

void
srv_link_set_idle (SrvLink *self, guint seconds, GObject *keeper, SrvLinkClosed gone)
{
  if (self->phase == SRV_LINK_LEAVING)
    return;
  srv_link_set_phase (self, SRV_LINK_IDLE, seconds);
  self->gone = gone;
  self->keeper = g_object_ref (keeper);
  self->idle_source = g_socket_create_source (self->socket, G_IO_IN, NULL);
  /* Before libsoup's own source, which waits for the same. */
  g_source_set_priority (self->idle_source, G_PRIORITY_HIGH);
  g_source_set_callback (self->idle_source, G_SOURCE_FUNC (on_idle_input), self, NULL);
  g_source_attach (self->idle_source, NULL);
}

GObject *
srv_link_keeper (const SrvLink *self)
{
  return self->keeper;
}

SrvLinkPhase
srv_link_phase (const SrvLink *self)
{
  return self->phase;
}

gboolean
srv_link_is_due (const SrvLink *self)
{
  return self->due_us != 0 && g_get_monotonic_time () >= self->due_us;
}

gint64
srv_link_since (const SrvLink *self)
{
  return self->since_us;
}

gboolean
srv_link_is_gone (const SrvLink *self)
{
  char byte;
  gssize n;

  if (g_socket_is_closed (self->socket))
    return TRUE;
  n = recv (g_socket_get_fd (self->socket), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

void
srv_link_set_last_words (SrvLink *self, char *words)
{
  g_free (self->last_words);
  self->last_words = words;
}

void
srv_link_close (SrvLink *self)
{
  g_autoptr (SrvLink) alive = g_object_ref (self);

  srv_link_set_phase (self, SRV_LINK_LEAVING, 0);
  if (!self->closed)
    return;
  g_cancellable_cancel (self->cancellable);
  g_socket_close (self->socket, NULL);
  g_steal_pointer (&self->closed) (self, self->user_data);
}

void
srv_link_drop (SrvLink *self, char *words)
{
  if (words && self->closed && G_IS_SOCKET_CONNECTION (self->base))
    g_socket_send (self->socket, words, strlen (words), NULL, NULL);
  g_free (words);
  srv_link_close (self);
}

void
srv_link_set_owner (SrvLink *self, gint64 owner)
{
  self->owner = owner;
}

gint64
srv_link_owner (const SrvLink *self)
{
  return self->owner;
}

static void
discard_next (SrvLink *self);

static void
on_discarded (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (SrvLink) self = user_data;
  gssize n = g_input_stream_read_finish (G_INPUT_STREAM (source), result, NULL);

  if (n > 0 && (self->n_discarded += (gsize) n) < SRV_LINK_LEAVE_BYTES)
    discard_next (self);
  else
    srv_link_close (self);
}

static void
discard_next (SrvLink *self)
{
  g_input_stream_read_async (link_get_input_stream (G_IO_STREAM (self)), self->discard,
                             sizeof self->discard, G_PRIORITY_LOW, self->cancellable, on_discarded,
                             g_object_ref (self));
}

static void
on_words_said (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (SrvLink) self = user_data;

  if (!g_output_stream_write_all_finish (G_OUTPUT_STREAM (source), result, NULL, NULL)
      || !g_socket_shutdown (self->socket, FALSE, TRUE, NULL))
    srv_link_close (self);
  else
    /* Closed with a body unread, TCP would reset the connection and take the words with it. */
    discard_next (self);
}

void
srv_link_leave (SrvLink *self, char *words)
{
  if (self->phase == SRV_LINK_LEAVING || !words)
    {
      g_free (words);
      srv_link_close (self);
      return;
    }
  srv_link_set_phase (self, SRV_LINK_LEAVING, SRV_LINK_LEAVE_S);
  srv_link_set_last_words (self, words);
  g_output_stream_write_all_async (link_get_output_stream (G_IO_STREAM (self)), self->last_words,
                                   strlen (self->last_words), G_PRIORITY_DEFAULT, self->cancellable,
                                   on_words_said, g_object_ref (self));
}

void
srv_link_set_data (SrvLink *self, gpointer data)
{
  self->data = data;
}

gpointer
srv_link_data (const SrvLink *self)
{
  return self->data;
}
