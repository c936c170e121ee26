/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-engine: the door: a writer's store, a reader's store, and what the caller may ask of both.
 *
 * A store in memory can't have two connections: then reader and writer share one, under a mutex.
 */
#include "config.h"

#include "srv-engine.h"

#include "srv-ops.h"
#include "srv-secret.h"
#include "srv-writer.h"

#include <string.h>

G_DEFINE_QUARK (srv_engine_error, srv_engine_error)

struct _SrvEngine
{
  SrvEngineOptions options;
  SrvStore *writing;
  SrvStore *reading; /* the same one in memory */
  GMutex shared;
  gboolean in_memory;
  SrvWriter *writer;
  struct
  {
    SrvChanged changed;
    gpointer data;
  } watchers[SRV_ENGINE_MAX_WATCHERS];
  guint n_watchers;
  gint64 last_event;
  gint64 offset;         /* of the clocks, as it was looked at last */
  gint64 step, stepped;  /* how far it jumped then, and when by the steady clock */
  gint64 minute_without; /* since 1970: no plan waited for hours that had come */
  gboolean grants;       /* turns: the clock may be what wakes one */
  char *admin_secret;
  GStringChunk *names; /* of actors: they outlive every request */
};

static gint64
now_us (const SrvEngine *self)
{
  return self->options.clock_us ? self->options.clock_us (self->options.clock_data)
                                : g_get_real_time ();
}

static gint64
steady_us (const SrvEngineOptions *options)
{
  if (options->steady_us)
    return options->steady_us (options->clock_data);
  return options->clock_us ? options->clock_us (options->clock_data) : g_get_monotonic_time ();
}

gint64
srv_engine_options_offset_us (const SrvEngineOptions *options)
{
  gint64 steady = steady_us (options);

  return (options->clock_us ? options->clock_us (options->clock_data) : g_get_real_time ())
         - steady;
}

/* The time by which leases are looked at: one that a jump of the clock would end lives until the writer has seen it. */
static gint64
lease_time (SrvEngine *self, gint64 now)
{
  gint64 offset = srv_engine_options_offset_us (&self->options), step = offset - self->offset;
  gint64 steady = steady_us (&self->options);

  if (ABS (step) >= SRV_ENGINE_CLOCK_STEP_US)
    {
      self->offset = offset;
      self->step = step;
      self->stepped = steady;
      srv_writer_push_tick (self->writer);
    }
  return self->step > 0 && steady - self->stepped < SRV_ENGINE_STEP_GRACE_US ? now - self->step
                                                                             : now;
}

static gboolean
begin_read (SrvEngine *self)
{
  if (self->in_memory)
    g_mutex_lock (&self->shared);
  return srv_store_begin (self->reading, FALSE);
}

static void
end_read (SrvEngine *self)
{
  srv_store_rollback (self->reading);
  if (self->in_memory)
    g_mutex_unlock (&self->shared);
}

/* ------------------------------------------------------------- opening, ending */
static void
written (gint64 last_event, gpointer user_data)
{
  SrvEngine *self = user_data;

  self->last_event = last_event;
  for (guint i = 0; i < self->n_watchers; i++)
    self->watchers[i].changed (self, self->watchers[i].data);
}

/* Does the secret that was kept belong to a live admin's token of this store? */
static gboolean
is_admins (SrvStore *store, const char *secret)
{
  g_autofree char *hash = secret ? srv_secret_hash (secret) : NULL;
  g_autoptr (SrvToken) token
      = hash ? srv_store_find_one (store, SRV_FIND_TOKEN_BY_HASH, 0, 0, hash) : NULL;

  return token && token->role == SRV_ROLE_ADMIN && token->lease == 0 && !token->revoked;
}

typedef enum
{
  NOT_NEEDED,
  MADE,
  NOT_KEPT,
  NO_RANDOM,
} Made;

/* Adds a token for the admin; the caller commits. */
static Made
add_admin (SrvEngine *self)
{
  SrvStore *store = self->writing;
  g_autoptr (SrvToken) token = SrvToken_new ();
  g_autoptr (SrvEvent) event = SrvEvent_new ();
  g_autofree char *secret = srv_secret_new (&token->hash);

  if (!secret)
    return NO_RANDOM;
  token->role = SRV_ROLE_ADMIN;
  token->name = g_strdup ("admin");
  token->created = event->at = now_us (self);
  srv_store_add (store, token);
  event->what = SRV_EVENT_TOKEN_MADE;
  event->text = g_strdup (token->name);
  event->ref = token->id;
  srv_store_add (store, event);
  /* Kept first: a token whose secret nobody has would lock everyone out for good. */
  if (srv_store_failure (store, NULL) == SRV_STORE_OK && self->options.keep_secret
      && !self->options.keep_secret (secret, self->options.secret_data))
    return NOT_KEPT;
  self->admin_secret = g_steal_pointer (&secret);
  return MADE;
}

/* The first start has no token yet: one for the admin. A later one makes another when the secret that was kept is good
 * no more: whoever can write where it is kept owns the engine. The old ones stay. */
static gboolean
make_admin (SrvEngine *self, GError **error)
{
  SrvStore *store = self->writing;
  gboolean ok = srv_store_begin (store, TRUE);
  Made made = NOT_NEEDED;
  const char *text = NULL;
  g_autoptr (SrvToken) any
      = ok ? srv_store_find_one (store, SRV_FIND_TOKENS, 0, SRV_NO_ID, NULL) : NULL;

  if (ok && (!any || (self->options.keep_secret && !is_admins (store, self->options.kept_secret)))
      && srv_store_failure (store, NULL) == SRV_STORE_OK)
    made = add_admin (self);
  ok = made == MADE ? srv_store_commit (store) : ok && made == NOT_NEEDED;
  SrvStoreFailure failure = srv_store_failure (store, &text);
  if (!ok)
    g_clear_pointer (&self->admin_secret, g_free);
  /* Others may have tokens that work: that one was lost is no reason to refuse them. */
  gboolean goes_on = failure == SRV_STORE_READ_ONLY || (any && made != NOT_NEEDED);
  if (!ok && !goes_on)
    g_set_error (error, SRV_ENGINE_ERROR, SRV_ENGINE_ERROR_STORE, "%s: %s", self->options.file,
                 text               ? text
                 : made == NOT_KEPT ? "no admin token was made"
                                    : "the system gives no random bytes");
  srv_store_rollback (store);
  return ok || goes_on;
}

/* The clock may have been set back while no engine ran: what is dated later than any engine would. */
static gboolean
pull_from_future (SrvStore *store, gint64 now)
{
  g_autoptr (GPtrArray) leases
      = srv_store_find (store, SRV_FIND_LEASES_LIVE, 0, 0, NULL, G_MAXINT32);
  g_autoptr (GPtrArray) jobs
      = srv_store_find (store, SRV_FIND_JOBS_RUNNING, 0, 0, NULL, G_MAXINT32);
  gint64 latest = now + (gint64) SRV_MAX_TTL_S * G_USEC_PER_SEC;
  gboolean any = FALSE;

  for (guint i = 0; i < leases->len; i++)
    {
      SrvLease *lease = g_ptr_array_index (leases, i);
      if (lease->expires <= latest)
        continue;
      lease->expires = latest;
      srv_store_put (store, lease);
      any = TRUE;
    }
  for (guint i = 0; i < jobs->len; i++)
    {
      SrvJob *job = g_ptr_array_index (jobs, i);
      if (job->heartbeat <= now)
        continue;
      job->heartbeat = now;
      job->started = MIN (job->started, now);
      job->latest_at = MIN (job->latest_at, now);
      srv_store_put (store, job);
      any = TRUE;
    }
  return any;
}

/* What kept foremen from running may be gone with the engine that stopped: its PATH, its settings. */
static void
take_over (SrvEngine *self)
{
  SrvStore *store = self->writing;
  g_autoptr (GPtrArray) projects = NULL;
  gint64 now = now_us (self);

  srv_store_begin (store, TRUE);
  gboolean any = pull_from_future (store, now);
  projects = srv_store_find (store, SRV_FIND_PROJECTS_TROUBLED, 0, 0, NULL, SRV_MAX_PAGE);
  for (guint i = 0; i < projects->len; i++)
    {
      SrvProject *project = g_ptr_array_index (projects, i);
      project->trouble_next = MIN (project->trouble_next, now);
      srv_store_put (store, project);
    }
  if (any || projects->len > 0)
    srv_store_commit (store);
  srv_store_rollback (store);
}

SrvEngine *
srv_engine_new (const SrvEngineOptions *options, GError **error)
{
  g_autoptr (SrvEngine) self = g_new0 (SrvEngine, 1);

  self->options = *options;
  self->options.file = NULL;
  g_mutex_init (&self->shared);
  self->names = g_string_chunk_new (1024);
  self->options.file = g_string_chunk_insert_const (self->names, options->file);
  self->in_memory = strcmp (options->file, ":memory:") == 0;
  self->writing = srv_store_open (options->file, TRUE, options->synchronous, error);
  if (!self->writing || !make_admin (self, error))
    return NULL;
  /* They last as long as this call: nobody gets to use them later. */
  self->options.keep_secret = NULL;
  self->options.secret_data = NULL;
  self->options.kept_secret = NULL;
  self->reading
      = self->in_memory ? self->writing : srv_store_open (options->file, FALSE, FALSE, error);
  if (!self->reading)
    return NULL;
  /* A disk that can't be written to is told by the first request. */
  take_over (self);
  self->last_event = srv_store_last_event (self->writing);
  self->offset = srv_engine_options_offset_us (&self->options);
  self->writer = srv_writer_new (self->writing, self->in_memory ? &self->shared : NULL,
                                 &self->options, written, self);
  return g_steal_pointer (&self);
}

void
srv_engine_free (SrvEngine *self)
{
  if (!self)
    return;
  self->n_watchers = 0;
  g_clear_pointer (&self->writer, srv_writer_free);
  if (!self->in_memory)
    srv_store_free (self->reading);
  srv_store_free (self->writing);
  g_string_chunk_free (self->names);
  g_free (self->admin_secret);
  g_mutex_clear (&self->shared);
  g_free (self);
}

/* ----------------------------------------------------------- reads and writes */
SrvReply *
srv_engine_read (SrvEngine *self, const SrvRequest *request)
{
  SrvReply *reply = NULL;
  gint64 now = now_us (self);
  gint64 at = request->actor.role == SRV_ROLE_FOREMAN ? lease_time (self, now) : now;
  gboolean ok = begin_read (self);

  if (ok)
    reply = srv_dispatch (self->reading, self->options.world, request, at);
  const char *text = NULL;
  SrvStoreFailure failure = srv_store_failure (self->reading, &text);
  if (failure != SRV_STORE_OK)
    {
      g_message ("the store can't be read: %s", text ? text : "unknown");
      srv_reply_free (reply);
      reply = srv_reply_problem (
          503, failure == SRV_STORE_DAMAGED ? "store_damaged" : "store_failed",
          failure == SRV_STORE_DAMAGED ? "The engine's store is damaged: restore it from a backup."
                                       : "The engine's store can't be read.",
          NULL);
    }
  end_read (self);
  return reply;
}

void
srv_engine_write (SrvEngine *self, const SrvRequest *request, SrvDone done, gpointer user_data)
{
  srv_writer_push (self->writer, request, done, user_data);
}

guint
srv_world_heartbeat_s (const SrvWorld *self)
{
  return self && self->heartbeat_s != 0 ? self->heartbeat_s : SRV_HEARTBEAT_SECONDS;
}

gint64
srv_engine_last_event (SrvEngine *self)
{
  return self->last_event;
}

void
srv_engine_watch (SrvEngine *self, SrvChanged changed, gpointer user_data)
{
  g_assert (self->n_watchers < SRV_ENGINE_MAX_WATCHERS);
  self->watchers[self->n_watchers].changed = changed;
  self->watchers[self->n_watchers].data = user_data;
  self->n_watchers++;
}

void
srv_engine_unwatch (SrvEngine *self, SrvChanged changed, gpointer user_data)
{
  for (guint i = 0; i < self->n_watchers; i++)
    if (self->watchers[i].changed == changed && self->watchers[i].data == user_data)
      {
        self->watchers[i] = self->watchers[--self->n_watchers];
        return;
      }
}

/* ------------------------------------------------------------------------ time */
/* Have some plan's hours come? Windows open at whole minutes: none in one that was looked at to its end. */
static gboolean
has_open_window (SrvEngine *self, gint64 now)
{
  gint64 minute = now / G_TIME_SPAN_MINUTE, after = 0;
  guint n;

  if (minute == self->minute_without)
    return FALSE;
  do
    {
      g_autoptr (GPtrArray) plans
          = srv_store_find (self->reading, SRV_FIND_PLANS_BY_CLOCK, after, 0, NULL, SRV_PAGE);
      n = plans->len;
      for (guint i = 0; i < n; i++)
        {
          const SrvPlan *plan = g_ptr_array_index (plans, i);
          if (!plan->waits_hours || srv_hours_open (plan->waits_hours, now))
            return TRUE;
          after = plan->id;
        }
    }
  while (n == SRV_PAGE);
  self->minute_without = minute;
  return FALSE;
}

/* When a foreman is tried again, or one whose turn did not fit is looked at again. */
static gint64
next_turn (SrvStore *store, gint64 now)
{
  g_autoptr (SrvProject) due = srv_store_find_one (store, SRV_FIND_PROJECTS_DUE, now, 0, NULL);
  g_autoptr (SrvProject) later
      = due ? NULL : srv_store_find_one (store, SRV_FIND_PROJECT_RETRIED_FIRST, now, 0, NULL);

  if (due)
    return now;
  return later ? later->trouble_next : G_MAXINT64;
}

/* The earliest thing that time will do; G_MAXINT64: nothing. */
static gint64
next_time (SrvEngine *self, gint64 now)
{
  SrvStore *store = self->reading;
  g_autoptr (SrvLease) lease = srv_store_find_one (store, SRV_FIND_LEASES_LIVE, 0, 0, NULL);
  g_autoptr (SrvJob) job = srv_store_find_one (store, SRV_FIND_JOB_SILENT_FIRST, 0, 0, NULL);
  g_autoptr (SrvPlan) plan = srv_store_find_one (store, SRV_FIND_PLANS_BY_CLOCK, 0, 0, NULL);
  gint64 next = G_MAXINT64;

  if (self->grants)
    next = MIN (next, next_turn (store, now));
  if (lease)
    next = MIN (next, lease->expires);
  if (job)
    next = MIN (next,
                srv_rules_lost_at (job->heartbeat, srv_world_heartbeat_s (self->options.world)));
  if (plan)
    next = MIN (next, has_open_window (self, now)
                          ? now
                          : (now / G_TIME_SPAN_MINUTE + 1) * G_TIME_SPAN_MINUTE);
  return next;
}

gint64
srv_engine_tick (SrvEngine *self)
{
  gint64 now = now_us (self);

  lease_time (self, now);
  gint64 next = begin_read (self) ? next_time (self, now) : G_MAXINT64;

  end_read (self);
  if (next <= now)
    srv_writer_push_tick (self->writer);
  return MAX (next, now + G_USEC_PER_SEC);
}

/* ---------------------------------------------------------------------- tokens */
/* Equal in constant time; both are hashes of 64 characters. */
static gboolean
same_hash (const char *a, const char *b)
{
  guint8 difference = 0;

  if (strlen (a) != strlen (b))
    return FALSE;
  for (gsize i = 0; a[i]; i++)
    difference |= (guint8) (a[i] ^ b[i]);
  return difference == 0;
}

static gboolean
read_token (
    SrvEngine *self, const char *secret, gint64 now, SrvActor *out_actor, const char **out_why)
{
  g_autofree char *hash = srv_secret_hash (secret);
  g_autoptr (SrvToken) token
      = srv_store_find_one (self->reading, SRV_FIND_TOKEN_BY_HASH, 0, 0, hash);

  *out_why = "token_unknown";
  if (!token || !same_hash (token->hash, hash))
    return FALSE;
  g_autoptr (SrvLease) lease
      = token->lease ? srv_store_get (self->reading, SRV_RECORD_LEASE, token->lease) : NULL;
  *out_why = token->lease ? "lease_ended" : "token_revoked";
  if (token->revoked
      || (token->lease && (!lease || srv_rules_lease_is_over (lease->expires, lease->ended, now))))
    return FALSE;
  *out_why = NULL;
  *out_actor = (SrvActor){ .role = (SrvRole) token->role,
                           .token = token->id,
                           .project = token->project,
                           .lease = token->lease,
                           .name = g_string_chunk_insert_const (self->names, token->name) };
  return TRUE;
}

gboolean
srv_engine_authenticate (SrvEngine *self,
                         const char *secret,
                         SrvActor *out_actor,
                         const char **out_why)
{
  *out_why = "token_unknown";
  gint64 now = lease_time (self, now_us (self));
  gboolean ok = begin_read (self) && read_token (self, secret, now, out_actor, out_why);

  end_read (self);
  return ok;
}

char *
srv_engine_take_admin_secret (SrvEngine *self)
{
  return g_steal_pointer (&self->admin_secret);
}

/* ----------------------------------------------------------------------- turns */
void
srv_engine_grant_turns (SrvEngine *self, guint max, SrvGranted granted, gpointer user_data)
{
  self->grants = max > 0;
  srv_writer_grant_turns (self->writer, max, granted, user_data);
}

/* ------------------------------------------------------------- backup, figures */
gboolean
srv_engine_backup (SrvEngine *self, const char *to, GError **error)
{
  if (self->in_memory)
    g_mutex_lock (&self->shared);
  gboolean ok = srv_store_backup (self->reading, to, TRUE, error);
  if (self->in_memory)
    g_mutex_unlock (&self->shared);
  return ok;
}

gboolean
srv_engine_backup_file (const char *file, const char *to, gboolean may_replace, GError **error)
{
  SrvStore *store = srv_store_open (file, FALSE, FALSE, error);
  gboolean ok = store && srv_store_backup (store, to, may_replace, error);

  srv_store_free (store);
  return ok;
}

gboolean
srv_engine_check (const char *file, char **out_report, GError **error)
{
  GString *findings = g_string_new (NULL);
  gboolean ok = srv_store_check (file, findings, error);

  if (ok)
    ok = findings->len == 0;
  *out_report = g_string_free (findings, FALSE);
  return ok;
}

gboolean
srv_engine_count (const char *file, SrvStoreCounts *out, GError **error)
{
  return srv_store_count (file, out, error);
}

guint64
srv_engine_syncs (void)
{
  return srv_store_vfs_syncs ();
}
