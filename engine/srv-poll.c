/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "srv-poll.h"

#include <string.h>

struct _SrvPolls
{
  SrvEngine *engine;
  GQueue waiting;      /* SrvPoll, in the order in which they came */
  SrvPoll *claiming;   /* whose claim the engine has */
  GHashTable *no_jobs; /* filters that found nothing since the last change */
  guint wake;          /* source */
  gboolean is_closed;  /* freed once the claim came back */
};

struct _SrvPoll
{
  SrvPolls *polls;
  const SrvRequest *request;
  SrvPollAlive alive;
  SrvPollDone done; /* NULL: cancelled */
  gpointer user_data;
  char *filter;   /* of a claim: all that it asks for, as it was written */
  SrvReply *last; /* what to say when the time is over */
  guint timeout;  /* source; 0: no more time */
  gboolean is_claim;
  gboolean is_tried; /* at least once */
};

static void
polls_wake (SrvPolls *self);

static void
poll_free (SrvPoll *poll)
{
  g_clear_handle_id (&poll->timeout, g_source_remove);
  g_clear_pointer (&poll->last, srv_reply_free);
  g_free (poll->filter);
  g_free (poll);
}

/* Takes it out and answers. @reply: transfer full. */
static void
poll_finish (SrvPoll *poll, SrvReply *reply)
{
  SrvPollDone done = poll->done;
  gpointer user_data = poll->user_data;

  g_queue_remove (&poll->polls->waiting, poll);
  poll_free (poll);
  if (done)
    done (reply, user_data);
  else
    srv_reply_free (reply);
}

static gboolean
has_events (const SrvReply *reply)
{
  return json_array_size (json_object_get (reply->body, "items")) > 0;
}

/* Whether it was answered. */
static gboolean
events_try (SrvPoll *poll)
{
  SrvReply *reply = srv_engine_read (poll->polls->engine, poll->request);

  poll->is_tried = TRUE;
  if (reply->status != 200 || has_events (reply) || poll->timeout == 0)
    {
      poll_finish (poll, reply);
      return TRUE;
    }
  g_clear_pointer (&poll->last, srv_reply_free);
  poll->last = reply;
  return FALSE;
}

static void
on_claimed (SrvReply *reply, gpointer user_data)
{
  SrvPoll *poll = user_data;
  SrvPolls *self = poll->polls;

  self->claiming = NULL;
  poll->is_tried = TRUE;
  if (self->is_closed)
    {
      poll_free (poll);
      srv_reply_free (reply);
      g_hash_table_unref (self->no_jobs);
      g_free (self);
      return;
    }
  gboolean is_nothing = reply->status == 200 && json_is_null (json_object_get (reply->body, "job"));
  if (is_nothing)
    g_hash_table_add (self->no_jobs, g_strdup (poll->filter));
  if (!is_nothing || poll->timeout == 0 || !poll->done)
    poll_finish (poll, reply);
  else
    {
      g_clear_pointer (&poll->last, srv_reply_free);
      poll->last = reply;
    }
  polls_wake (self);
}

static void
claim_try (SrvPoll *poll)
{
  if (poll->alive && !poll->alive (poll->user_data))
    return;
  poll->polls->claiming = poll;
  srv_engine_write (poll->polls->engine, poll->request, on_claimed, poll);
}

/* Each who may have something new tries; claims one at a time. Answers may take others out, or
 * bring new ones: so each round starts over a copy and looks whether they are still there. */
static gboolean
on_wake (gpointer user_data)
{
  SrvPolls *self = user_data;
  g_autoptr (GList) all = g_list_copy (self->waiting.head);

  self->wake = 0;
  for (GList *l = all; l; l = l->next)
    {
      SrvPoll *poll = l->data;

      if (!g_queue_find (&self->waiting, poll))
        continue;
      if (!poll->is_claim)
        events_try (poll);
      else if (!self->claiming
               && (!poll->is_tried || !g_hash_table_contains (self->no_jobs, poll->filter)))
        claim_try (poll);
    }
  return G_SOURCE_REMOVE;
}

static void
polls_wake (SrvPolls *self)
{
  if (self->wake == 0 && !g_queue_is_empty (&self->waiting))
    self->wake = g_idle_add_full (G_PRIORITY_DEFAULT, on_wake, self, NULL);
}

static void
on_change (SrvEngine *engine, gpointer user_data)
{
  SrvPolls *self = user_data;

  (void) engine;
  g_hash_table_remove_all (self->no_jobs);
  polls_wake (self);
}

static gboolean
on_timeout (gpointer user_data)
{
  SrvPoll *poll = user_data;

  poll->timeout = 0;
  if (poll->last && poll->polls->claiming != poll)
    poll_finish (poll, g_steal_pointer (&poll->last));
  return G_SOURCE_REMOVE;
}

SrvPolls *
srv_polls_new (SrvEngine *engine)
{
  SrvPolls *self = g_new0 (SrvPolls, 1);

  self->engine = engine;
  self->no_jobs = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  srv_engine_watch (engine, on_change, self);
  return self;
}

void
srv_polls_free (SrvPolls *self)
{
  SrvPoll *poll;

  srv_engine_unwatch (self->engine, on_change, self);
  g_clear_handle_id (&self->wake, g_source_remove);
  while ((poll = g_queue_pop_head (&self->waiting)))
    if (poll != self->claiming)
      poll_free (poll);
  self->is_closed = TRUE;
  if (self->claiming)
    return;
  g_hash_table_unref (self->no_jobs);
  g_free (self);
}

/* All but who asks and for how long: two claims that differ in anything else may find different tasks. */
static char *
filter_of (DbrJson body)
{
  GString *filter = g_string_new (NULL);

  for (DbrJson value = dbr_json_first (body); dbr_json_exists (value);
       value = dbr_json_next (value))
    {
      g_autofree char *name = dbr_json_dup_string (dbr_json_key (value));
      gsize len = 0;
      const char *raw = dbr_json_raw (value, &len);
      if (g_strcmp0 (name, "worker") != 0 && g_strcmp0 (name, "wait") != 0)
        g_string_append_printf (filter, "%s:%.*s\n", name, (int) len, raw);
    }
  return g_string_free (filter, FALSE);
}

SrvPoll *
srv_polls_add (SrvPolls *self,
               const SrvRequest *request,
               guint wait_s,
               SrvPollAlive alive,
               SrvPollDone done,
               gpointer user_data)
{
  SrvPoll *poll = g_new0 (SrvPoll, 1);

  poll->polls = self;
  poll->request = request;
  poll->alive = alive;
  poll->done = done;
  poll->is_claim = request->operation == SRV_OP_JOB_CLAIM;
  poll->user_data = user_data;
  poll->filter = poll->is_claim ? filter_of (request->body) : NULL;
  if (wait_s > 0)
    poll->timeout = g_timeout_add_seconds (wait_s, on_timeout, poll);
  g_queue_push_tail (&self->waiting, poll);
  polls_wake (self);
  return poll;
}

void
srv_poll_cancel (SrvPoll *poll)
{
  poll->done = NULL;
  if (poll->polls->claiming == poll)
    return;
  g_queue_remove (&poll->polls->waiting, poll);
  poll_free (poll);
}

guint
srv_polls_count (const SrvPolls *self)
{
  return self->waiting.length;
}

char *
srv_poll_stream_text (const json_t *body, gint64 *inout_after)
{
  json_t *events = json_object_get (body, "items");
  g_autoptr (GString) text = g_string_new (NULL);
  json_t *event;
  gsize i;

  json_array_foreach (events, i, event)
  {
    char *data = json_dumps (event, JSON_COMPACT);
    const char *kind = json_string_value (json_object_get (event, "kind"));

    *inout_after = json_integer_value (json_object_get (event, "seq"));
    g_string_append_printf (text, "id: %" G_GINT64_FORMAT "\nevent: %s\ndata: %s\n\n", *inout_after,
                            kind ? kind : "message", data);
    free (data);
  }
  if (text->len == 0)
    g_string_append (text, ": nothing new\n\n");
  return g_string_free (g_steal_pointer (&text), FALSE);
}
