/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eng-multi: sockets and the timer of libcurl watched by a GSource.
 *
 * The source *is* the object: GLib holds a reference while it dispatches, so freeing it from a
 * callback is safe, and self->multi == NULL tells the dispatcher that this has happened. Source:
 * libcurl's curl_multi_socket_action(3), CURLMOPT_SOCKETFUNCTION(3), CURLMOPT_TIMERFUNCTION(3).
 */
#include "config.h"

#include "eng-multi.h"

#include <glib-unix.h>

typedef struct
{
  curl_socket_t fd;
  gpointer tag;
} Watch;

typedef struct
{
  curl_socket_t fd;
  int mask;
} Event;

struct _EngMulti
{
  GSource source;
  CURLM *multi;
  GArray *watches; /* of Watch: sockets in use, at most a few more than max_connections */
  GArray *events;  /* of Event: scratch for one dispatch */
  EngMultiDone done;
  gint64 due_us;        /* when libcurl wants to be called, monotonic; -1: not */
  gboolean has_message; /* transfers ended that harvest() has not told yet */
};

static GIOCondition
condition_of_poll (int what)
{
  GIOCondition condition = G_IO_ERR | G_IO_HUP;

  if (what & CURL_POLL_IN)
    condition |= G_IO_IN;
  if (what & CURL_POLL_OUT)
    condition |= G_IO_OUT;
  return condition;
}

static int
mask_of_condition (GIOCondition condition)
{
  int mask = 0;

  /* A hang-up is read to its end: there may be bytes before it. */
  if (condition & (G_IO_IN | G_IO_HUP))
    mask |= CURL_CSELECT_IN;
  if (condition & G_IO_OUT)
    mask |= CURL_CSELECT_OUT;
  if (condition & (G_IO_ERR | G_IO_NVAL))
    mask |= CURL_CSELECT_ERR;
  return mask;
}

static int
on_socket (CURL *easy, curl_socket_t fd, int what, void *data, void *socket_data)
{
  EngMulti *self = data;
  guint i = 0;

  (void) easy;
  (void) socket_data;
  while (i < self->watches->len && g_array_index (self->watches, Watch, i).fd != fd)
    i++;
  if (what == CURL_POLL_REMOVE)
    {
      if (i < self->watches->len)
        {
          g_source_remove_unix_fd (&self->source, g_array_index (self->watches, Watch, i).tag);
          g_array_remove_index_fast (self->watches, i);
        }
    }
  else if (i < self->watches->len)
    g_source_modify_unix_fd (&self->source, g_array_index (self->watches, Watch, i).tag,
                             condition_of_poll (what));
  else
    {
      Watch watch = { fd, g_source_add_unix_fd (&self->source, fd, condition_of_poll (what)) };

      g_array_append_val (self->watches, watch);
    }
  return 0;
}

/* Noted for prepare() instead of g_source_set_ready_time(), which wakes the loop by a write, a poll
 * and a read each time: everything here runs on the loop's own thread. */
static int
on_timer (CURLM *multi, long timeout_ms, void *data)
{
  EngMulti *self = data;

  (void) multi;
  self->due_us = timeout_ms < 0
                     ? -1
                     : g_get_monotonic_time () + timeout_ms * (gint64) G_TIME_SPAN_MILLISECOND;
  return 0;
}

/* Tells of one ended transfer. The others wait for the next turn of the loop, so that what this one
 * leads to (an answer that goes out, a request that comes in) is not held up by all of them. */
static void
harvest (EngMulti *self)
{
  CURLMsg *message;
  int left = 0;

  self->has_message = FALSE;
  while ((message = curl_multi_info_read (self->multi, &left)) != NULL)
    {
      CURL *easy = message->easy_handle;
      CURLcode code = message->data.result;
      char *data = NULL;

      if (message->msg != CURLMSG_DONE)
        continue;
      self->has_message = left > 0;
      curl_easy_getinfo (easy, CURLINFO_PRIVATE, &data);
      curl_multi_remove_handle (self->multi, easy);
      self->done (easy, code, data);
      return;
    }
}

static gboolean
prepare (GSource *source, int *timeout_ms)
{
  EngMulti *self = (EngMulti *) source;
  gint64 left_us;

  *timeout_ms = -1;
  if (self->has_message)
    return TRUE;
  if (self->due_us < 0)
    return FALSE;
  left_us = self->due_us - g_source_get_time (source);
  *timeout_ms = left_us <= 0 ? 0 : (int) MIN ((left_us + 999) / 1000, G_MAXINT);
  return left_us <= 0;
}

/* GLib itself looks at the descriptors. */
static gboolean
check (GSource *source)
{
  EngMulti *self = (EngMulti *) source;

  return self->due_us >= 0 && self->due_us <= g_source_get_time (source);
}

static gboolean
dispatch (GSource *source, GSourceFunc callback, gpointer user_data)
{
  EngMulti *self = (EngMulti *) source;
  int running;

  (void) callback;
  (void) user_data;
  /* Curl adds and removes watches while it acts, so what happened is noted first. */
  g_array_set_size (self->events, 0);
  for (guint i = 0; i < self->watches->len; i++)
    {
      Watch *watch = &g_array_index (self->watches, Watch, i);
      Event event = { watch->fd, mask_of_condition (g_source_query_unix_fd (source, watch->tag)) };

      if (event.mask != 0)
        g_array_append_val (self->events, event);
    }
  for (guint i = 0; i < self->events->len; i++)
    {
      Event *event = &g_array_index (self->events, Event, i);

      curl_multi_socket_action (self->multi, event->fd, event->mask, &running);
    }
  if (check (source))
    {
      self->due_us = -1;
      curl_multi_socket_action (self->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    }
  harvest (self);
  return G_SOURCE_CONTINUE;
}

static void
teardown (EngMulti *self)
{
  if (self->multi == NULL)
    return;
  /* Cleaning up closes connections, which would call back into a half-gone object. */
  curl_multi_setopt (self->multi, CURLMOPT_SOCKETFUNCTION, NULL);
  curl_multi_setopt (self->multi, CURLMOPT_TIMERFUNCTION, NULL);
  curl_multi_cleanup (g_steal_pointer (&self->multi));
}

static void
finalize (GSource *source)
{
  EngMulti *self = (EngMulti *) source;

  teardown (self);
  g_array_unref (self->watches);
  g_array_unref (self->events);
}

EngMulti *
eng_multi_new (EngMultiDone done, guint max_connections)
{
  static GSourceFuncs funcs = { prepare, check, dispatch, finalize, NULL, NULL };
  g_autoptr (EngMulti) self = (EngMulti *) g_source_new (&funcs, sizeof (EngMulti));

  self->watches = g_array_new (FALSE, FALSE, sizeof (Watch));
  self->events = g_array_new (FALSE, FALSE, sizeof (Event));
  self->done = done;
  self->due_us = -1;
  self->multi = curl_multi_init ();
  if (self->multi == NULL)
    return NULL;
  curl_multi_setopt (self->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
  curl_multi_setopt (self->multi, CURLMOPT_SOCKETDATA, self);
  curl_multi_setopt (self->multi, CURLMOPT_TIMERFUNCTION, on_timer);
  curl_multi_setopt (self->multi, CURLMOPT_TIMERDATA, self);
  curl_multi_setopt (self->multi, CURLMOPT_MAXCONNECTS, (long) max_connections);
  g_source_set_static_name (&self->source, "eng-multi");
  g_source_attach (&self->source, NULL);
  return g_steal_pointer (&self);
}

void
eng_multi_free (EngMulti *self)
{
  if (self == NULL)
    return;
  teardown (self);
  g_source_destroy (&self->source);
  g_source_unref (&self->source);
}

gboolean
eng_multi_add (EngMulti *self, CURL *easy)
{
  return curl_multi_add_handle (self->multi, easy) == CURLM_OK;
}

void
eng_multi_remove (EngMulti *self, CURL *easy)
{
  curl_multi_remove_handle (self->multi, easy);
}
