/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-writer: group commit.
 *
 * A request is copied when pushed; its body's document is held by reference and let go in the main context, where it
 * came from. When the transaction fails, every request in it gets the store's problem: none was acknowledged.
 */
#include "config.h"

#include "srv-writer.h"

#include "srv-ops.h"
#include "srv-replay.h"
#include "srv-turns.h"

typedef struct
{
  SrvRequest request; /* borrows what follows */
  char *project_ref, *if_match, *idempotency_key, *actor_name;
  GPtrArray *query;
  DbrJsonDoc *doc;
  gboolean is_tick;
  SrvReply *reply;
  SrvDone done;
  gpointer user_data;
} Job;

struct _SrvWriter
{
  SrvStore *store;
  GMutex *shared; /* nullable */
  SrvReplays *replays;
  SrvEngineOptions options;
  gint64 offset; /* of the clocks, as the store has taken it into account */
  GMainContext *context;
  SrvWritten written;
  gpointer user_data;
  GThread *thread;
  GMutex mutex; /* of what follows */
  GCond wake;
  GQueue waiting;     /* Job */
  GQueue finished;    /* Job, to be answered in the main context */
  GSource *answering; /* when scheduled */
  gboolean stops;
  guint max_turns; /* 0: none are granted */
  GQueue turns;    /* SrvTurn: granted, to be told in the main context */
  gint64 last_event;
  gint64 told_event;  /* main context only; so what follows */
  SrvGranted granted; /* nullable */
  gpointer granted_data;
};

/* ----------------------------------------------------------------------- jobs */
static void
job_free (Job *job)
{
  g_free (job->project_ref);
  g_free (job->if_match);
  g_free (job->idempotency_key);
  g_free (job->actor_name);
  g_clear_pointer (&job->query, g_ptr_array_unref);
  dbr_json_doc_unref (job->doc);
  srv_reply_free (job->reply);
  g_free (job);
}

static GPtrArray *
copy_strings (const char *const *strings)
{
  GPtrArray *copy = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; strings[i]; i++)
    g_ptr_array_add (copy, g_strdup (strings[i]));
  g_ptr_array_add (copy, NULL);
  return copy;
}

static Job *
job_new (const SrvRequest *request, SrvDone done, gpointer user_data)
{
  Job *job = g_new0 (Job, 1);

  job->request = *request;
  job->request.project_ref = job->project_ref = g_strdup (request->project_ref);
  job->request.if_match = job->if_match = g_strdup (request->if_match);
  job->request.idempotency_key = job->idempotency_key = g_strdup (request->idempotency_key);
  job->request.actor.name = job->actor_name = g_strdup (request->actor.name);
  if (request->query)
    {
      job->query = copy_strings (request->query);
      job->request.query = (const char *const *) job->query->pdata;
    }
  job->doc = dbr_json_exists (request->body) ? dbr_json_doc_ref (request->body.doc) : NULL;
  job->done = done;
  job->user_data = user_data;
  return job;
}

/* ------------------------------------------------------------------ answering */
static gboolean
answer (gpointer user_data)
{
  SrvWriter *self = user_data;
  GQueue finished, turns;

  g_mutex_lock (&self->mutex);
  finished = self->finished;
  g_queue_init (&self->finished);
  turns = self->turns;
  g_queue_init (&self->turns);
  g_clear_pointer (&self->answering, g_source_unref);
  gint64 last_event = self->last_event;
  g_mutex_unlock (&self->mutex);
  Job *job;
  while ((job = g_queue_pop_head (&finished)))
    {
      if (job->done)
        job->done (g_steal_pointer (&job->reply), job->user_data);
      job_free (job);
    }
  SrvTurn *turn;
  /* After the answers: a process takes longer to start than those to leave. */
  while ((turn = g_queue_pop_head (&turns)))
    if (self->granted)
      self->granted (turn, self->granted_data);
    else
      srv_turn_free (turn);
  if (last_event > self->told_event)
    {
      self->told_event = last_event;
      self->written (last_event, self->user_data);
    }
  return G_SOURCE_REMOVE;
}

/* With the mutex held. */
static void
schedule (SrvWriter *self)
{
  if (self->answering)
    return;
  self->answering = g_idle_source_new ();
  g_source_set_priority (self->answering, G_PRIORITY_DEFAULT);
  g_source_set_callback (self->answering, answer, self, NULL);
  g_source_attach (self->answering, self->context);
}

/* -------------------------------------------------------------------- writing */
static SrvReply *
store_problem (SrvStoreFailure failure)
{
  switch (failure)
    {
    case SRV_STORE_FULL:
      return srv_reply_problem (
          507, "store_full",
          "The disk of the engine's store is full: nothing was changed. Make room.", NULL);
    case SRV_STORE_READ_ONLY:
      return srv_reply_problem (503, "store_read_only",
                                "The engine's store can't be written to: nothing was changed.",
                                NULL);
    case SRV_STORE_DAMAGED:
      return srv_reply_problem (
          503, "store_damaged",
          "The engine's store is damaged: nothing was changed. Restore it from a backup.", NULL);
    case SRV_STORE_REPLACED:
      return srv_reply_problem (
          503, "store_replaced",
          "The engine's store was removed or replaced by another file while it was in use: nothing "
          "was changed. Put it back, or stop the engine and restore a backup.",
          NULL);
    case SRV_STORE_OK:
    case SRV_STORE_BROKEN:
      break;
    }
  return srv_reply_problem (503, "store_failed", "The engine's store failed: nothing was changed.",
                            NULL);
}

/* The answer of a store that failed, and a line in the log. */
static SrvReply *
store_failed (SrvStore *store)
{
  const char *text = NULL;
  SrvStoreFailure failure = srv_store_failure (store, &text);

  g_message ("the store failed: %s", text ? text : "unknown");
  return store_problem (failure);
}

static gint64
now_us (const SrvWriter *self)
{
  return self->options.clock_us ? self->options.clock_us (self->options.clock_data)
                                : g_get_real_time ();
}

static SrvReply *
tick (SrvWriter *self)
{
  SrvRequest request = { .operation = SRV_OP_STATUS, .actor = { .role = SRV_ROLE_ADMIN } };
  SrvCall call;

  srv_call_init (&call, self->store, &request, now_us (self));
  call.world = self->options.world;
  SrvReply *reply = srv_op_tick (&call);
  srv_call_clear (&call);
  return reply;
}

static SrvReply *
run (SrvWriter *self, Job *job)
{
  const SrvRequest *request = &job->request;
  g_autofree char *fingerprint = request->idempotency_key ? srv_replay_fingerprint (request) : NULL;
  gint64 now = now_us (self);

  if (job->is_tick)
    return tick (self);
  SrvReply *reply
      = fingerprint ? srv_replays_find (self->replays, self->store, request, fingerprint) : NULL;
  if (reply)
    return reply;
  reply = srv_dispatch (self->store, self->options.world, request, now);
  if (fingerprint && reply->status < 300)
    srv_replays_keep (self->replays, self->store, request, fingerprint, reply, now);
  return reply;
}

/* One request in its savepoint. FALSE: the transaction is gone. */
static gboolean
write_one (SrvWriter *self, Job *job)
{
  if (!srv_store_savepoint (self->store))
    return FALSE;
  job->reply = run (self, job);
  if (srv_store_failure (self->store, NULL) == SRV_STORE_OK && job->reply->status < 300)
    return srv_store_release (self->store);
  if (srv_store_failure (self->store, NULL) != SRV_STORE_OK)
    {
      srv_reply_free (job->reply);
      job->reply = store_failed (self->store);
    }
  return srv_store_rollback_to (self->store);
}

/* Foremen that the batch wakes: their leases are in its transaction. FALSE: it is gone. */
static gboolean
grant_turns (SrvWriter *self, guint max, GPtrArray *turns)
{
  SrvRequest request
      = { .operation = SRV_OP_LEASE_TAKE, .actor = { .role = SRV_ROLE_ADMIN, .name = "runner" } };
  SrvCall call;

  if (!srv_store_savepoint (self->store))
    return FALSE;
  srv_call_init (&call, self->store, &request, now_us (self));
  call.world = self->options.world;
  srv_turns_grant (&call, max, turns);
  srv_call_clear (&call);
  if (srv_store_failure (self->store, NULL) == SRV_STORE_OK)
    return srv_store_release (self->store);
  /* The requests stand; who should wake is found again. */
  g_ptr_array_set_size (turns, 0);
  return srv_store_rollback_to (self->store);
}

/* First of all: whatever the batch does is by the clock as it is now. */
static void
follow_clock (SrvWriter *self, gint64 step)
{
  SrvRequest request = { .operation = SRV_OP_STATUS, .actor = { .role = SRV_ROLE_ADMIN } };
  SrvCall call;

  srv_call_init (&call, self->store, &request, now_us (self));
  srv_op_clock (&call, step);
  srv_call_clear (&call);
}

/* Nothing of the batch was kept. */
static void
fail_batch (SrvWriter *self, GQueue *batch)
{
  SrvReply *problem = store_failed (self->store);

  srv_store_rollback (self->store);
  for (GList *l = batch->head; l; l = l->next)
    {
      Job *job = l->data;
      SrvReply *reply = srv_reply_json (problem->status, json_incref (problem->body));
      srv_reply_free (job->reply);
      job->reply = reply;
    }
  srv_reply_free (problem);
}

static void
write_batch (SrvWriter *self, GQueue *batch, guint max_turns, GPtrArray *turns)
{
  gint64 offset = srv_engine_options_offset_us (&self->options);
  gboolean is_step = ABS (offset - self->offset) >= SRV_ENGINE_CLOCK_STEP_US;
  gboolean ok = srv_store_begin (self->store, TRUE);

  if (ok && is_step)
    follow_clock (self, offset - self->offset);
  for (GList *l = batch->head; ok && l; l = l->next)
    ok = write_one (self, l->data);
  if (ok && max_turns > 0)
    ok = grant_turns (self, max_turns, turns);
  if (ok)
    ok = srv_store_commit (self->store);
  if (ok && is_step)
    {
      g_message ("the clock was set by %" G_GINT64_FORMAT
                 " s, or the machine slept: jobs, leases and pauses keep the time they had left",
                 (offset - self->offset) / G_USEC_PER_SEC);
      self->offset = offset;
    }
  if (ok)
    return;
  g_ptr_array_set_size (turns, 0);
  fail_batch (self, batch);
}

static gpointer
write_all (gpointer user_data)
{
  SrvWriter *self = user_data;

  g_mutex_lock (&self->mutex);
  while (!self->stops)
    {
      GQueue batch = G_QUEUE_INIT;
      while (!self->stops && g_queue_is_empty (&self->waiting))
        g_cond_wait (&self->wake, &self->mutex);
      while (batch.length < SRV_WRITER_MAX_BATCH && !g_queue_is_empty (&self->waiting))
        g_queue_push_tail (&batch, g_queue_pop_head (&self->waiting));
      if (g_queue_is_empty (&batch))
        continue;
      guint max_turns = self->max_turns;
      g_autoptr (GPtrArray) turns = g_ptr_array_new_with_free_func ((GDestroyNotify) srv_turn_free);
      g_mutex_unlock (&self->mutex);
      if (self->shared)
        g_mutex_lock (self->shared);
      write_batch (self, &batch, max_turns, turns);
      gint64 last_event = srv_store_last_event (self->store);
      if (self->shared)
        g_mutex_unlock (self->shared);
      g_mutex_lock (&self->mutex);
      self->last_event = last_event;
      while (turns->len > 0)
        g_queue_push_tail (&self->turns, g_ptr_array_steal_index (turns, 0));
      while (!g_queue_is_empty (&batch))
        g_queue_push_tail (&self->finished, g_queue_pop_head (&batch));
      schedule (self);
    }
  g_mutex_unlock (&self->mutex);
  return NULL;
}

/* ------------------------------------------------------------------------ API */
SrvWriter *
srv_writer_new (SrvStore *store,
                GMutex *mutex,
                const SrvEngineOptions *options,
                SrvWritten written,
                gpointer user_data)
{
  SrvWriter *self = g_new0 (SrvWriter, 1);

  self->store = store;
  self->shared = mutex;
  self->options = *options;
  self->offset = srv_engine_options_offset_us (options);
  self->replays = srv_replays_new ();
  self->context = g_main_context_ref_thread_default ();
  self->written = written;
  self->user_data = user_data;
  self->last_event = self->told_event = srv_store_last_event (store);
  g_mutex_init (&self->mutex);
  g_cond_init (&self->wake);
  g_queue_init (&self->waiting);
  g_queue_init (&self->finished);
  g_queue_init (&self->turns);
  self->thread = g_thread_new ("writer", write_all, self);
  return self;
}

static void
refuse (SrvWriter *self, Job *job, const char *code, const char *detail)
{
  job->reply = srv_reply_problem (503, code, detail, NULL);
  g_queue_push_tail (&self->finished, job);
  schedule (self);
}

static void
push (SrvWriter *self, Job *job)
{
  g_mutex_lock (&self->mutex);
  if (g_queue_get_length (&self->waiting) >= SRV_WRITER_MAX_WAITING)
    refuse (self, job, "busy", "Too many requests wait to be written: try again in a moment.");
  else
    {
      g_queue_push_tail (&self->waiting, job);
      g_cond_signal (&self->wake);
    }
  g_mutex_unlock (&self->mutex);
}

void
srv_writer_push (SrvWriter *self, const SrvRequest *request, SrvDone done, gpointer user_data)
{
  push (self, job_new (request, done, user_data));
}

void
srv_writer_push_tick (SrvWriter *self)
{
  Job *job = g_new0 (Job, 1);

  job->is_tick = TRUE;
  push (self, job);
}

void
srv_writer_grant_turns (SrvWriter *self, guint max, SrvGranted granted, gpointer user_data)
{
  self->granted = granted;
  self->granted_data = user_data;
  g_mutex_lock (&self->mutex);
  self->max_turns = max;
  g_mutex_unlock (&self->mutex);
  if (max > 0)
    srv_writer_push_tick (self);
}

void
srv_writer_free (SrvWriter *self)
{
  Job *job;

  g_mutex_lock (&self->mutex);
  self->stops = TRUE;
  g_cond_signal (&self->wake);
  g_mutex_unlock (&self->mutex);
  g_thread_join (self->thread);
  g_mutex_lock (&self->mutex);
  while ((job = g_queue_pop_head (&self->waiting)))
    refuse (self, job, "stopping", "The engine stops.");
  GSource *source = self->answering ? g_source_ref (self->answering) : NULL;
  g_mutex_unlock (&self->mutex);
  if (source)
    {
      g_source_destroy (source);
      g_source_unref (source);
      answer (self);
    }
  srv_replays_free (self->replays);
  g_main_context_unref (self->context);
  g_mutex_clear (&self->mutex);
  g_cond_clear (&self->wake);
  g_free (self);
}
