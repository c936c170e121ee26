/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every call in flight stands in one table under the key of its id; those that wait also stand in a
 * queue. A call leaves the table before its answer is sent, so that whoever sees the answer go by
 * sees the true number in flight.
 */
#include "config.h"

#include "dbr-calls.h"

#include <math.h>

struct _DbrCalls
{
  DbrToolHost *host;
  const DbrSink *sink;
  DbrElicit *elicit;
  DbrCallsOptions options;
  GHashTable *calls; /* key -> Call (owned) */
  GQueue waiting;    /* of Call, also in the table */
  guint n_running;
  gsize held_bytes; /* text of the waiting calls */
  guint pump_source;
};

typedef struct
{
  DbrCalls *calls;
  char *key;
  char *id;
  char *token; /* nullable: JSON text */
  DbrRevision revision;
  DbrBatch *batch;
  gpointer handle; /* the host's, while it runs */
  gboolean is_running;
  gboolean has_progress; /* some was sent: last_progress counts */
  double last_progress;
  DbrAsk *ask;
  /* only while it waits */
  DbrJsonDoc *doc;
  char *tool;
  char *request_state;
  DbrCallRequest request;
  gsize held_bytes;
} Call;

static void
on_progress (gpointer user_data, double progress, double total, const char *message);
static void
on_ask (gpointer user_data, const char *message, json_t *schema);
static void
on_done (gpointer user_data, DbrCallResult *result);

static const DbrCallEvents call_events = { on_progress, on_ask, on_done };

static void
call_free (Call *call)
{
  if (call->ask != NULL)
    dbr_elicit_drop (call->calls->elicit, call->ask);
  g_clear_pointer (&call->doc, dbr_json_doc_unref);
  dbr_batch_unref (call->batch);
  g_free (call->key);
  g_free (call->id);
  g_free (call->token);
  g_free (call->tool);
  g_free (call->request_state);
  g_free (call);
}

/* ----------------------------------------------------------------------------- the table */

DbrCalls *
dbr_calls_new (DbrToolHost *host,
               const DbrSink *sink,
               DbrElicit *elicit,
               const DbrCallsOptions *options)
{
  DbrCalls *self = g_new0 (DbrCalls, 1);
  DbrCallsOptions *chosen = &self->options;

  self->host = host;
  self->sink = sink;
  self->elicit = elicit;
  if (options != NULL)
    *chosen = *options;
  if (chosen->max_running == 0)
    chosen->max_running = DBR_CALLS_MAX_RUNNING;
  if (chosen->max_queued == 0)
    chosen->max_queued = DBR_CALLS_MAX_QUEUED;
  if (chosen->max_held_bytes == 0)
    chosen->max_held_bytes = DBR_CALLS_MAX_HELD_BYTES;
  self->calls = g_hash_table_new (g_str_hash, g_str_equal);
  g_queue_init (&self->waiting);
  return self;
}

/* Takes the call out of the table and the queue; the caller owns it. */
static Call *
take_call (DbrCalls *self, Call *call)
{
  g_hash_table_remove (self->calls, call->key);
  if (call->is_running)
    self->n_running--;
  else if (g_queue_remove (&self->waiting, call))
    self->held_bytes -= call->held_bytes;
  return call;
}

static void
abort_call (DbrCalls *self, Call *call)
{
  if (call->is_running)
    self->host->cancel (self->host, call->handle);
}

static Call *
any_call (DbrCalls *self)
{
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init (&iter, self->calls);
  return g_hash_table_iter_next (&iter, NULL, &value) ? take_call (self, value) : NULL;
}

void
dbr_calls_free (DbrCalls *self)
{
  Call *call;

  if (self == NULL)
    return;
  while ((call = any_call (self)) != NULL)
    {
      abort_call (self, call);
      call_free (call);
    }
  if (self->pump_source != 0)
    g_source_remove (self->pump_source);
  g_hash_table_unref (self->calls);
  g_free (self);
}

guint
dbr_calls_in_flight (const DbrCalls *self)
{
  return g_hash_table_size (self->calls);
}

/* ---------------------------------------------------------------------------- the answers */

static void
answer_error (Call *call, const char *text)
{
  DbrCalls *self = call->calls;
  g_autofree char *owned = g_strdup (text);
  const DbrCallResult result = { .text = owned, .text_len = strlen (text), .is_error = TRUE };

  dbr_batch_answer (call->batch, self->sink,
                    dbr_reply_call (call->id, call->revision, self->host, &result));
}

static gboolean
on_pump (gpointer user_data)
{
  DbrCalls *self = user_data;

  self->pump_source = 0;
  dbr_calls_pump (self);
  return G_SOURCE_REMOVE;
}

/* Not at once: the host is in the middle of ending another call. */
static void
pump_soon (DbrCalls *self)
{
  if (self->pump_source == 0 && self->waiting.length > 0)
    self->pump_source = g_idle_add_full (G_PRIORITY_DEFAULT, on_pump, self, NULL);
}

static void
on_done (gpointer user_data, DbrCallResult *taken)
{
  Call *call = user_data;
  DbrCalls *self = call->calls;
  g_autoptr (DbrCallResult) result = taken;
  GString *line;

  take_call (self, call);
  pump_soon (self);
  if (result == NULL || (result->input_required && !dbr_revision_is_modern (call->revision)))
    line = dbr_reply_error (call->id, DBR_RPC_ERROR_INTERNAL,
                            "Internal error: the tool gave no result", NULL);
  else
    line = dbr_reply_call (call->id, call->revision, self->host, result);
  dbr_batch_answer (call->batch, self->sink, line);
  call_free (call);
}

static void
on_progress (gpointer user_data, double progress, double total, const char *message)
{
  Call *call = user_data;
  const DbrSink *sink = call->calls->sink;

  if (call->token == NULL || !isfinite (progress)
      || (call->has_progress && progress <= call->last_progress)
      || sink->is_behind (sink->user_data))
    return;
  call->has_progress = TRUE;
  call->last_progress = progress;
  sink->send (sink->user_data, dbr_reply_progress (call->token, call->revision, progress,
                                                   isfinite (total) ? total : -1, message));
}

/* ----------------------------------------------------------------------------- the user's yes */

static void
on_asked (gpointer user_data, DbrAskOutcome outcome)
{
  Call *call = user_data;
  DbrToolHost *host = call->calls->host;

  call->ask = NULL;
  host->answered (host, call->handle, outcome);
}

/* Less than any real step, for the host's own progress goes on from here; exact in binary, so it
 * prints short. */
#define WAITING_STEP (1.0 / 1024)

static void
on_waiting (gpointer user_data, guint waited_ms, guint limit_ms)
{
  Call *call = user_data;
  const double next = (call->has_progress ? call->last_progress : 0) + WAITING_STEP;
  g_autofree char *text = g_strdup_printf ("Waiting for the user's answer (%u of %u s)",
                                           waited_ms / 1000, limit_ms / 1000);

  on_progress (call, next, -1, text);
}

static const DbrAskEvents ask_events = { on_asked, on_waiting };

static void
on_ask (gpointer user_data, const char *message, json_t *schema)
{
  Call *call = user_data;
  const DbrQuestion question = {
    .revision = call->revision,
    .has_progress = call->token != NULL,
    .message = message,
    .schema = schema,
  };

  g_return_if_fail (call->ask == NULL);
  call->ask = dbr_elicit_ask (call->calls->elicit, &question, &ask_events, call);
}

/* ------------------------------------------------------------------------------- starting */

/* What the host needs longer than this it has taken its own reference of. */
static void
run_call (DbrCalls *self, Call *call)
{
  call->request.tool = call->tool;
  call->request.request_state = call->request_state;
  call->is_running = TRUE;
  self->n_running++;
  call->handle = self->host->call (self->host, &call->request, &call_events, call);
  call->request = (DbrCallRequest){ 0 };
  g_clear_pointer (&call->doc, dbr_json_doc_unref);
  g_clear_pointer (&call->tool, g_free);
  g_clear_pointer (&call->request_state, g_free);
}

static gboolean
may_run (const DbrCalls *self)
{
  return self->n_running < self->options.max_running
         && !self->sink->is_behind (self->sink->user_data);
}

void
dbr_calls_pump (DbrCalls *self)
{
  while (self->waiting.length > 0 && may_run (self))
    {
      Call *call = g_queue_pop_head (&self->waiting);

      self->held_bytes -= call->held_bytes;
      run_call (self, call);
    }
}

/* A token is a string or an integer of a reasonable length; without one there is no progress. */
static char *
read_token (const DbrMessage *message)
{
  DbrJson token = dbr_json_get (message->meta, "progressToken");
  g_autofree char *key = dbr_message_id_key (token);
  gsize n_bytes;
  const char *raw = dbr_json_raw (token, &n_bytes);

  return key != NULL ? g_strndup (raw, n_bytes) : NULL;
}

static Call *
call_new (DbrCalls *self, const DbrCallSpec *spec, char *key)
{
  Call *call = g_new0 (Call, 1);

  call->calls = self;
  call->key = key;
  call->id = g_strdup (spec->message->id);
  call->token = read_token (spec->message);
  call->revision = spec->revision;
  call->batch = spec->batch != NULL ? dbr_batch_ref (spec->batch) : NULL;
  call->doc = dbr_json_doc_ref (spec->message->doc);
  call->tool = g_strdup (spec->tool);
  call->request_state = g_strdup (spec->request_state);
  call->request = (DbrCallRequest){
    .arguments = spec->arguments,
    .asking = spec->asking,
    .input_responses = spec->input_responses,
    .wants_progress = call->token != NULL,
  };
  dbr_json_raw (spec->message->node, &call->held_bytes);
  return call;
}

gboolean
dbr_calls_start (DbrCalls *self, const DbrCallSpec *spec)
{
  g_autofree char *key = dbr_message_id_key (dbr_json_get (spec->message->node, "id"));
  const DbrCallsOptions *options = &self->options;
  Call *call;

  if (g_hash_table_contains (self->calls, key))
    return FALSE;
  call = call_new (self, spec, g_steal_pointer (&key));
  if (self->waiting.length == 0 && may_run (self))
    {
      g_hash_table_insert (self->calls, call->key, call);
      run_call (self, call);
    }
  else if (self->waiting.length < options->max_queued
           && call->held_bytes
                  <= options->max_held_bytes - MIN (self->held_bytes, options->max_held_bytes))
    {
      g_hash_table_insert (self->calls, call->key, call);
      g_queue_push_tail (&self->waiting, call);
      self->held_bytes += call->held_bytes;
    }
  else
    {
      answer_error (call, "Busy: too many calls are in flight. Nothing was sent. Wait for answers, "
                          "then try again.");
      call_free (call);
    }
  return TRUE;
}

/* --------------------------------------------------------------------------------- ending */

void
dbr_calls_cancel (DbrCalls *self, DbrJson id)
{
  g_autofree char *key = dbr_message_id_key (id);
  Call *call = key != NULL ? g_hash_table_lookup (self->calls, key) : NULL;

  if (call == NULL)
    return;
  take_call (self, call);
  abort_call (self, call);
  call_free (call);
  pump_soon (self);
}

void
dbr_calls_end (DbrCalls *self, const char *why)
{
  Call *call;

  while ((call = any_call (self)) != NULL)
    {
      abort_call (self, call);
      answer_error (call, why);
      call_free (call);
    }
}
