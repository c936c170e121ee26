/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A question lives in a table under the key of its id. One timer serves it: it ticks at the
 * progress interval where there is progress, and otherwise once, at the limit.
 */
#include "config.h"

#include "dbr-elicit.h"

struct _DbrElicit
{
  const DbrSink *sink;
  DbrElicitOptions options;
  GHashTable *asks; /* key of the id -> DbrAsk (owned) */
  guint64 last_id;
  gboolean has_ended; /* input has ended */
};

struct _DbrAsk
{
  DbrElicit *elicit;
  char *id; /* JSON text, and its own key */
  const DbrAskEvents *events;
  gpointer user_data;
  guint timer;
  guint tick_ms;
  guint waited_ms;
  guint limit_ms;
};

static void
ask_free (DbrAsk *ask)
{
  if (ask->timer != 0)
    g_source_remove (ask->timer);
  g_free (ask->id);
  g_free (ask);
}

DbrElicit *
dbr_elicit_new (const DbrSink *sink, const DbrElicitOptions *options)
{
  DbrElicit *self = g_new0 (DbrElicit, 1);
  DbrElicitOptions *chosen = &self->options;

  self->sink = sink;
  if (options != NULL)
    *chosen = *options;
  if (chosen->limit_ms == 0)
    chosen->limit_ms = DBR_ELICIT_LIMIT_MS;
  if (chosen->limit_progress_ms == 0)
    chosen->limit_progress_ms = DBR_ELICIT_LIMIT_PROGRESS_MS;
  if (chosen->progress_every_ms == 0)
    chosen->progress_every_ms = DBR_ELICIT_PROGRESS_EVERY_MS;
  self->asks = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, (GDestroyNotify) ask_free);
  return self;
}

void
dbr_elicit_free (DbrElicit *self)
{
  if (self == NULL)
    return;
  g_hash_table_unref (self->asks);
  g_free (self);
}

gboolean
dbr_elicit_has_form (DbrJson capabilities)
{
  DbrJson elicitation = dbr_json_get (capabilities, "elicitation");

  if (dbr_json_type (elicitation) != DBR_JSON_OBJECT)
    return FALSE;
  return dbr_json_exists (dbr_json_get (elicitation, "form"))
         || !dbr_json_exists (dbr_json_get (elicitation, "url"));
}

static void
end_ask (DbrAsk *ask, DbrAskOutcome outcome)
{
  const DbrAskEvents *events = ask->events;
  gpointer user_data = ask->user_data;

  g_hash_table_remove (ask->elicit->asks, ask->id);
  events->done (user_data, outcome);
}

static void
tell_cancelled (DbrAsk *ask, const char *reason)
{
  const DbrSink *sink = ask->elicit->sink;

  if (!ask->elicit->has_ended)
    sink->send (sink->user_data, dbr_reply_cancelled (ask->id, reason));
}

static gboolean
on_tick (gpointer user_data)
{
  DbrAsk *ask = user_data;

  ask->waited_ms += ask->tick_ms;
  if (!ask->elicit->has_ended && ask->waited_ms < ask->limit_ms)
    {
      ask->events->waiting (ask->user_data, ask->waited_ms, ask->limit_ms);
      return G_SOURCE_CONTINUE;
    }
  ask->timer = 0;
  tell_cancelled (ask, "The user did not answer in time");
  end_ask (ask, ask->elicit->has_ended ? DBR_ASK_CANCELLED : DBR_ASK_TIMED_OUT);
  return G_SOURCE_REMOVE;
}

DbrAsk *
dbr_elicit_ask (DbrElicit *self,
                const DbrQuestion *question,
                const DbrAskEvents *events,
                gpointer user_data)
{
  const gboolean has_progress = question->has_progress;
  DbrAsk *ask = g_new0 (DbrAsk, 1);

  ask->elicit = self;
  ask->id = g_strdup_printf ("\"ask-%" G_GUINT64_FORMAT "\"", ++self->last_id);
  ask->events = events;
  ask->user_data = user_data;
  ask->limit_ms = has_progress ? self->options.limit_progress_ms : self->options.limit_ms;
  ask->tick_ms = has_progress ? self->options.progress_every_ms : ask->limit_ms;
  ask->timer = g_timeout_add (self->has_ended ? 0 : ask->tick_ms, on_tick, ask);
  g_hash_table_insert (self->asks, ask->id, ask);
  if (!self->has_ended)
    self->sink->send (
        self->sink->user_data,
        dbr_reply_elicitation (ask->id, question->revision, question->message, question->schema));
  return ask;
}

void
dbr_elicit_drop (DbrElicit *self, DbrAsk *ask)
{
  tell_cancelled (ask, "The call that asked was cancelled");
  g_hash_table_remove (self->asks, ask->id);
}

static DbrAskOutcome
read_outcome (DbrJson result)
{
  DbrJson action = dbr_json_get (result, "action");

  if (dbr_json_string_equals (action, "accept"))
    return dbr_json_get_boolean (dbr_json_get (dbr_json_get (result, "content"), "confirm"))
               ? DBR_ASK_ACCEPTED
               : DBR_ASK_DECLINED;
  return dbr_json_string_equals (action, "decline") ? DBR_ASK_DECLINED : DBR_ASK_CANCELLED;
}

void
dbr_elicit_take_response (DbrElicit *self, const DbrMessage *response)
{
  g_autofree char *key = dbr_message_id_key (dbr_json_get (response->node, "id"));
  DbrAsk *ask = response->id != NULL && key != NULL ? g_hash_table_lookup (self->asks, key) : NULL;
  DbrJson result = dbr_json_get (response->node, "result");

  if (ask == NULL)
    return;
  if (dbr_json_exists (dbr_json_get (response->node, "error")))
    end_ask (ask, dbr_json_exists (result) ? DBR_ASK_CANCELLED : DBR_ASK_UNAVAILABLE);
  else
    end_ask (ask, read_outcome (result));
}

void
dbr_elicit_end_of_input (DbrElicit *self)
{
  GHashTableIter iter;
  gpointer value;

  self->has_ended = TRUE;
  g_hash_table_iter_init (&iter, self->asks);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      DbrAsk *ask = value;

      g_source_remove (ask->timer);
      ask->timer = g_timeout_add (0, on_tick, ask);
    }
}
