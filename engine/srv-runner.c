/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-runner: one table of turns, by project. Every callback of the engine and of a run leads to one of three steps: a turn
 * is granted (begin), its run ended (its lease is ended), its lease ended (gone).
 */
#include "config.h"

#include "srv-runner.h"

#include "dbr-text.h"
#include "srv-keep.h"
#include "srv-place.h"
#include "srv-turn-folder.h"
#include "srv-turn-run.h"

#include <string.h>

G_DEFINE_QUARK (srv_runner_error, srv_runner_error)

#define CLEAN_WAIT_MS 4000u
#define STOP_WAIT_S 60
#define PAGE 500
#define ENGINE_ENDS "the engine ends"

/* A project whose foreman works. */
typedef struct
{
  SrvRunner *runner;
  SrvTurn *granted;
  SrvTurn *next; /* granted before this one was gone: its lease was ended by somebody else */
  SrvTurnRun *run;
  guint renew_source;
} Turn;

struct _SrvRunner
{
  SrvEngine *engine;
  char *socket;
  char *base;
  char *bridge;
  char *keeper;
  SrvConfine *confine;
  char *refusal;
  SrvTurnPlace place; /* borrows the above */
  GHashTable *turns;  /* project -> Turn */
  guint look_source;
  guint waiting; /* answers of the engine that are still to come */
  gboolean stopping;
};

/* -------------------------------------------------------------------------- asking the engine */
typedef struct
{
  SrvRunner *runner;
  gint64 project;
  void (*done) (SrvRunner *self, gint64 project, const SrvReply *reply);
} Ask;

static void
on_reply (SrvReply *reply, gpointer user_data)
{
  Ask *ask = user_data;
  SrvRunner *self = ask->runner;
  self->waiting--;
  if (ask->done != NULL)
    ask->done (self, ask->project, reply);
  srv_reply_free (reply);
  g_free (ask);
}

/* Asks as the admin: this is the process that made that token. Takes @body. */
static void
ask_engine (SrvRunner *self,
            SrvOperation operation,
            gint64 id,
            gint64 project,
            json_t *body,
            void (*done) (SrvRunner *, gint64, const SrvReply *))
{
  g_autofree char *text = json_dumps (body, JSON_COMPACT);
  g_autoptr (DbrJsonDoc) doc = dbr_json_doc_new_from_data (text, -1, NULL, NULL);
  g_assert (doc != NULL); /* made by jansson of valid UTF-8 */
  const SrvRequest request = {
    .operation = operation,
    .actor = { .role = SRV_ROLE_ADMIN, .name = "runner" },
    .id = id,
    .body = dbr_json_doc_root (doc),
  };
  Ask *ask = g_new0 (Ask, 1);
  ask->runner = self;
  ask->project = project;
  ask->done = done;
  self->waiting++;
  json_decref (body);
  srv_engine_write (self->engine, &request, on_reply, ask);
}

/* -------------------------------------------------------------------------------------- turns */
static void
begin_turn (SrvRunner *self, SrvTurn *granted);

static void
turn_free (Turn *self)
{
  if (self->renew_source != 0)
    g_source_remove (self->renew_source);
  srv_turn_run_free (self->run);
  srv_turn_free (self->granted);
  srv_turn_free (self->next);
  g_free (self);
}

static void
on_lease_ended (SrvRunner *self, gint64 project, const SrvReply *reply)
{
  if (reply->status >= 500)
    g_message ("project %" G_GINT64_FORMAT
               ": the lease of the turn could not be ended (status %u): it "
               "expires by itself",
               project, reply->status);
  Turn *turn = g_hash_table_lookup (self->turns, &project);
  SrvTurn *next = turn != NULL ? g_steal_pointer (&turn->next) : NULL;
  g_hash_table_remove (self->turns, &project);
  if (next != NULL)
    begin_turn (self, next);
}

static void
on_turn_ended (const SrvTurnEnd *end, gpointer user_data)
{
  Turn *self = user_data;
  if (self->renew_source != 0)
    g_source_remove (self->renew_source);
  self->renew_source = 0;
  ask_engine (self->runner, SRV_OP_LEASE_END, self->granted->lease, self->granted->project,
              end->stopped ? json_pack ("{s:b, s:s}", "stopped", 1, "text", end->text)
                           : json_pack ("{s:s, s:s, s:s?}", "outcome", end->outcome, "text",
                                        end->text, "reason", end->reason),
              on_lease_ended);
}

static gboolean
on_renew (gpointer user_data)
{
  Turn *self = user_data;
  ask_engine (self->runner, SRV_OP_LEASE_RENEW, self->granted->lease, self->granted->project,
              json_pack ("{s:i}", "ttl", (int) SRV_ENGINE_LEASE_S), NULL);
  return G_SOURCE_CONTINUE;
}

static void
begin_turn (SrvRunner *self, SrvTurn *granted)
{
  Turn *turn = g_new0 (Turn, 1);
  turn->runner = self;
  turn->granted = granted;
  turn->run = srv_turn_run_new (&self->place, granted, on_turn_ended, turn);
  turn->renew_source = g_timeout_add_seconds (SRV_ENGINE_LEASE_S / 3, on_renew, turn);
  g_hash_table_insert (self->turns, g_memdup2 (&granted->project, sizeof granted->project), turn);
  if (self->stopping)
    srv_turn_run_stop (turn->run, ENGINE_ENDS);
}

static void
on_granted (SrvTurn *granted, gpointer user_data)
{
  SrvRunner *self = user_data;
  Turn *turn = g_hash_table_lookup (self->turns, &granted->project);
  if (turn == NULL)
    {
      begin_turn (self, granted);
      return;
    }
  /* One at a time: the earlier one has lost its lease and is on its way out. */
  srv_turn_free (turn->next);
  turn->next = granted;
  srv_turn_run_stop (turn->run, NULL);
}

/* ------------------------------------------------------------------------- what has lost its lease */
/* Whose lease was ended by somebody else has lost its say: it is stopped, not left to find out. */
static void
stop_ended (SrvRunner *self)
{
  GHashTableIter iter;
  gpointer value;
  g_hash_table_iter_init (&iter, self->turns);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      Turn *turn = value;
      SrvActor actor;
      const char *why;
      if (!srv_engine_authenticate (self->engine, turn->granted->token, &actor, &why)
          && g_strcmp0 (why, "lease_ended") == 0)
        srv_turn_run_stop (turn->run, NULL);
    }
}

static gboolean
on_look (gpointer user_data)
{
  SrvRunner *self = user_data;
  self->look_source = 0;
  if (!self->stopping)
    stop_ended (self);
  return G_SOURCE_REMOVE;
}

/* Once for all commits of this round of the loop. */
static void
on_changed (SrvEngine *engine G_GNUC_UNUSED, gpointer user_data)
{
  SrvRunner *self = user_data;
  if (self->look_source == 0 && !self->stopping)
    self->look_source = g_idle_add_full (G_PRIORITY_DEFAULT, on_look, self, NULL);
}

/* ------------------------------------------------------------------------------- start and end */
static void
end_stale_leases (SrvRunner *self, const json_t *projects)
{
  for (size_t i = 0; i < json_array_size (projects); i++)
    {
      const json_t *project = json_array_get (projects, i);
      const json_t *lease = json_object_get (project, "lease");
      const char *kind = json_string_value (json_object_get (lease, "kind"));
      if (kind == NULL || strcmp (kind, "turn") != 0)
        continue;
      ask_engine (self, SRV_OP_LEASE_END, json_integer_value (json_object_get (lease, "id")),
                  json_integer_value (json_object_get (project, "id")),
                  json_pack ("{s:b, s:s}", "stopped", 1, "text",
                             "The foreman's turn ended with the engine that started it."),
                  NULL);
    }
}

/* Leases of turns outlive a killed engine; their commands don't. */
static void
end_earlier_turns (SrvRunner *self)
{
  g_autofree char *cursor = NULL;
  guint count = srv_turn_folder_clean (self->base, CLEAN_WAIT_MS);
  if (count > 0)
    g_message ("cleaned up after %u turn%s of an earlier run", count, count == 1 ? "" : "s");
  do
    {
      const char *query[]
          = { "limit", G_STRINGIFY (PAGE), cursor != NULL ? "cursor" : NULL, cursor, NULL };
      const SrvRequest request = { .operation = SRV_OP_PROJECT_LIST,
                                   .actor = { .role = SRV_ROLE_ADMIN, .name = "runner" },
                                   .query = query };
      g_autoptr (SrvReply) reply = srv_engine_read (self->engine, &request);
      const char *next = json_string_value (json_object_get (reply->body, "next_cursor"));
      end_stale_leases (self, json_object_get (reply->body, "items"));
      g_free (cursor);
      cursor = g_strdup (reply->status == 200 ? next : NULL);
    }
  while (cursor != NULL);
}

static gboolean
find_programs (SrvRunner *self, const SrvRunnerOptions *options, GError **error)
{
  self->keeper = options->keeper != NULL ? g_strdup (options->keeper) : srv_place_keeper ();
  self->bridge = options->bridge != NULL ? g_strdup (options->bridge) : srv_place_bridge ();
  if (self->keeper != NULL && self->bridge != NULL
      && g_file_test (self->bridge, G_FILE_TEST_IS_EXECUTABLE))
    return TRUE;
  g_set_error (error, SRV_RUNNER_ERROR, SRV_RUNNER_ERROR_BRIDGE,
               "%s is not there: foremen need it beside drawbridge-engine",
               self->bridge != NULL ? self->bridge : "drawbridge");
  return FALSE;
}

SrvRunner *
srv_runner_new (SrvEngine *engine, const SrvRunnerOptions *options, GError **error)
{
  g_autoptr (SrvRunner) self = g_new0 (SrvRunner, 1);
  g_autoptr (GError) problem = NULL;
  self->engine = engine;
  self->confine = options->confine;
  self->refusal = g_strdup (options->refusal);
  self->socket = g_strdup (options->socket);
  self->base = g_build_filename (options->state_folder, "turns", NULL);
  self->turns
      = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, (GDestroyNotify) turn_free);
  if (!find_programs (self, options, error))
    return NULL;
  if (!srv_turn_folder_prepare (self->base, &problem))
    {
      g_set_error_literal (error, SRV_RUNNER_ERROR, SRV_RUNNER_ERROR_FOLDER, problem->message);
      return NULL;
    }
  self->place = (SrvTurnPlace){ .socket = self->socket,
                                .folder = self->base,
                                .bridge = self->bridge,
                                .keeper = self->keeper,
                                .confine = self->confine,
                                .states = options->states,
                                .refusal = self->refusal,
                                .grace_ms
                                = options->grace_ms != 0 ? options->grace_ms : SRV_KEEP_GRACE_MS };
  end_earlier_turns (self);
  srv_engine_watch (engine, on_changed, self);
  srv_engine_grant_turns (engine, SRV_RUNNER_MAX_TURNS, on_granted, self);
  return g_steal_pointer (&self);
}

static gboolean
on_stop_patience (gpointer user_data)
{
  gboolean *over = user_data;
  *over = TRUE;
  return G_SOURCE_REMOVE;
}

void
srv_runner_free (SrvRunner *self)
{
  if (self == NULL)
    return;
  GHashTableIter iter;
  gpointer value;
  gboolean over = FALSE;
  self->stopping = TRUE;
  srv_engine_grant_turns (self->engine, 0, on_granted, self);
  g_hash_table_iter_init (&iter, self->turns);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    srv_turn_run_stop (((Turn *) value)->run, ENGINE_ENDS);
  /* Their ends and the ends of their leases come through the main loop. */
  guint patience = g_timeout_add_seconds (STOP_WAIT_S, on_stop_patience, &over);
  while ((g_hash_table_size (self->turns) > 0 || self->waiting > 0) && !over)
    g_main_context_iteration (NULL, TRUE);
  srv_engine_unwatch (self->engine, on_changed, self);
  srv_engine_grant_turns (self->engine, 0, NULL, NULL);
  if (over)
    {
      /* Answers may still come for it: the process ends, and it with that. */
      guint count = g_hash_table_size (self->turns);
      g_message ("%u turn%s did not end in time", count, count == 1 ? "" : "s");
      return;
    }
  g_source_remove (patience);
  if (self->look_source != 0)
    g_source_remove (self->look_source);
  g_hash_table_unref (self->turns);
  srv_confine_free (self->confine);
  g_free (self->socket);
  g_free (self->base);
  g_free (self->bridge);
  g_free (self->keeper);
  g_free (self->refusal);
  g_free (self);
}

guint
srv_runner_count (const SrvRunner *self)
{
  return g_hash_table_size (self->turns);
}
