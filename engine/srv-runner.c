/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-runner: one table of turns, by project. Every callback of the engine and of a process leads to one of
 * three steps: a turn is granted (start), the process ended (end), the lease is ended (gone).
 */
#include "config.h"

#include "srv-runner.h"

#include "dbr-text.h"
#include "srv-keep.h"
#include "srv-output.h"
#include "srv-place.h"
#include "srv-preset.h"
#include "srv-process.h"
#include "srv-turn-folder.h"

#include <string.h>
#include <unistd.h>

G_DEFINE_QUARK (srv_runner_error, srv_runner_error)

#define CLEAN_WAIT_MS 4000u
#define STOP_WAIT_S 60
#define PAGE 500
#define ANSWER_ROUNDS 3u /* that the front needs for an answer */

typedef struct
{
  SrvRunner *runner;
  SrvTurn *turn;
  SrvTurn *next; /* granted before this one was gone: its lease was ended by somebody else */
  char *folder;
  SrvProcess *process;
  SrvOutput *output;
  guint start_source;
  guint rounds; /* of the main loop, before it starts */
  guint renew_source;
  gint64 started;   /* monotonic */
  gboolean stopped; /* its lease was ended by somebody else */
} Turn;

struct _SrvRunner
{
  SrvEngine *engine;
  char *socket;
  char *state_folder;
  char *base;
  char *bridge;
  char *keeper;
  SrvConfine *confine;
  char *refusal;
  guint grace_ms;
  GHashTable *turns; /* project -> Turn */
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
  if (self->start_source != 0)
    g_source_remove (self->start_source);
  if (self->renew_source != 0)
    g_source_remove (self->renew_source);
  srv_process_free (self->process);
  srv_output_free (self->output);
  if (self->folder != NULL && !srv_turn_folder_remove (self->folder))
    g_message ("something of %s could not be deleted", self->folder);
  g_free (self->folder);
  srv_turn_free (self->turn);
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

/* The end of every turn. Everything of it is gone before the lease is. @reason: (nullable): what was wrong with it. */
static void
end_turn (Turn *self, const char *outcome, const char *text, const char *reason)
{
  SrvRunner *runner = self->runner;
  gint64 project = self->turn->project;
  if (self->renew_source != 0)
    g_source_remove (self->renew_source);
  self->renew_source = 0;
  g_clear_pointer (&self->process, srv_process_free);
  if (self->folder != NULL && srv_turn_folder_remove (self->folder))
    g_clear_pointer (&self->folder, g_free);
  /* What an error quotes may be cut inside a character. */
  g_autofree char *valid = g_utf8_make_valid (text, -1);
  g_autofree char *valid_reason = reason != NULL ? g_utf8_make_valid (reason, -1) : NULL;
  ask_engine (
      runner, SRV_OP_LEASE_END, self->turn->lease, project,
      json_pack ("{s:s, s:s, s:s?}", "outcome", outcome, "text", valid, "reason", valid_reason),
      on_lease_ended);
}

static void
on_turn_output (const char *bytes, gsize length, gpointer user_data)
{
  Turn *self = user_data;
  srv_output_add (self->output, bytes, length);
}

static const char *
last_line (const char *tail)
{
  const char *feed = strrchr (tail, '\n');
  return feed != NULL ? feed + 1 : tail;
}

/* How it ended, and the last line that says anything. */
static char *
describe_failure (const char *how, const char *tail)
{
  const char *line = last_line (tail);
  return *line != '\0' ? g_strdup_printf ("%s: %s", how, line) : g_strdup (how);
}

static void
on_turn_done (SrvProcessEnd end, int value, gpointer user_data)
{
  Turn *self = user_data;
  gboolean well = end == SRV_PROCESS_ENDED && value == 0;
  g_autofree char *how = srv_process_describe (end, value);
  g_autofree char *tail
      = srv_output_text (self->output, SRV_RUNNER_SHOWN_OUTPUT, self->turn->token);
  gint64 seconds = (g_get_monotonic_time () - self->started) / G_USEC_PER_SEC;
  g_autoptr (GString) text = g_string_new (NULL);
  /* Only what the turn itself did: neither the engine's end nor that its lease was ended. */
  g_autofree char *reason
      = well || end == SRV_PROCESS_STOPPED ? NULL : describe_failure (how, tail);
  if (self->runner->stopping)
    g_string_assign (text, "The foreman's turn was stopped: the engine ends.");
  else
    g_string_printf (text, "The foreman's turn %s after %" G_GINT64_FORMAT " s.", how, seconds);
  /* Its last line comes first: who shows a text's beginning only shows what went wrong. */
  const char *last = last_line (tail);
  if (!well && *last != '\0')
    g_string_append_printf (text, " Its last line: %s", last);
  if (!well && last != tail)
    g_string_append_printf (text, "\nThe last lines that it printed:\n%s", tail);
  end_turn (self,
            well                           ? "done"
            : end == SRV_PROCESS_TIMED_OUT ? "timed_out"
                                           : "crashed",
            text->str, reason);
}

/* Once: a second request would kill it without grace. */
static void
stop_turn (Turn *self)
{
  if (self->process == NULL || self->stopped)
    return;
  self->stopped = TRUE;
  srv_process_stop (self->process);
}

static gboolean
on_renew (gpointer user_data)
{
  Turn *self = user_data;
  ask_engine (self->runner, SRV_OP_LEASE_RENEW, self->turn->lease, self->turn->project,
              json_pack ("{s:i}", "ttl", (int) SRV_ENGINE_LEASE_S), NULL);
  return G_SOURCE_CONTINUE;
}

/* ------------------------------------------------------------------------------------ starting */
static SrvPreset *
make_preset (Turn *self, GError **error)
{
  const SrvPresetValues values = {
    .project = self->turn->project,
    .name = self->turn->name,
    .repo = self->turn->repo_url,
    .checkout = self->turn->checkout,
    .socket = self->runner->socket,
    .bridge = self->runner->bridge,
    .folder = self->folder,
    .token = self->turn->token,
    .home = g_get_home_dir (),
  };
  g_autoptr (SrvPreset) preset = srv_preset_render (self->turn->foreman, &values, error);
  if (preset == NULL || !srv_preset_write (preset, self->folder, error))
    return NULL;
  return g_steal_pointer (&preset);
}

static char **
confined_words (const Turn *self, const SrvPreset *preset)
{
  const SrvRunner *runner = self->runner;
  /* Where the bridge finds its parts: relative to itself, installed or built (bridge/cli/dbr-install.c). */
  g_autofree char *folder = g_path_get_dirname (runner->bridge);
  g_autofree char *built = g_build_filename (folder, "engine-client", NULL);
  g_autofree char *schemas = g_build_filename (folder, "schemas", NULL);
  g_autofree char *prefix = g_path_get_dirname (folder);
  g_autofree char *share = g_build_filename (prefix, "share", "drawbridge", NULL);
  g_autofree char *lib = g_build_filename (prefix, "lib", "drawbridge", NULL);
  const char *const readable[] = { MODULEDIR, SCHEMADIR, built, schemas, share, lib, NULL };
  const SrvConfineView view = {
    .checkout = self->turn->checkout,
    .socket = runner->socket,
    .folder = self->folder,
    .program = runner->bridge,
    .readable = readable,
    .writable = (const char *const *) preset->writable,
  };
  return srv_confine_wrap (runner->confine, &view, (const char *const *) preset->command);
}

static gboolean
start_process (Turn *self, GError **error)
{
  SrvRunner *runner = self->runner;
  /* The engine looked at both before it granted the turn, where it was told how. */
  if (runner->confine == NULL || self->turn->checkout == NULL)
    {
      g_set_error_literal (error, SRV_CONFINE_ERROR, SRV_CONFINE_ERROR_MISSING,
                           runner->confine == NULL ? runner->refusal : "no checkout is set");
      return FALSE;
    }
  self->folder = srv_turn_folder_new (runner->base, error);
  if (self->folder == NULL)
    return FALSE;
  g_autoptr (SrvPreset) preset = make_preset (self, error);
  if (preset == NULL)
    return FALSE;
  g_auto (GStrv) words = confined_words (self, preset);
  const SrvProcessOptions options = {
    .keeper = runner->keeper,
    .command = (const char *const *) words,
    .environment = (const char *const *) preset->environment,
    .folder = self->turn->checkout,
    .limit_ms = MAX (self->turn->turn_minutes, 1) * 60000u,
    .grace_ms = runner->grace_ms,
    .output = on_turn_output,
    .done = on_turn_done,
    .user_data = self,
  };
  self->process = srv_process_new (&options, error);
  return self->process != NULL
         && srv_turn_folder_record (self->folder, srv_process_pid (self->process), error);
}

static gboolean
on_start (gpointer user_data)
{
  Turn *turn = user_data;
  g_autoptr (GError) error = NULL;
  if (turn->rounds++ < ANSWER_ROUNDS)
    return G_SOURCE_CONTINUE;
  turn->start_source = 0;
  turn->started = g_get_monotonic_time ();
  if (turn->runner->stopping)
    {
      end_turn (turn, "crashed", "The foreman's turn was stopped: the engine ends.", NULL);
      return G_SOURCE_REMOVE;
    }
  if (start_process (turn, &error))
    {
      turn->renew_source = g_timeout_add_seconds (SRV_ENGINE_LEASE_S / 3, on_renew, turn);
      return G_SOURCE_REMOVE;
    }
  g_autofree char *text
      = dbr_text_dup_sentence ("The foreman could not be started: %s", error->message);
  g_autofree char *reason = g_strdup_printf ("could not be started: %s", error->message);
  end_turn (turn, "crashed", text, reason);
  return G_SOURCE_REMOVE;
}

static void
begin_turn (SrvRunner *self, SrvTurn *granted)
{
  Turn *turn = g_new0 (Turn, 1);
  turn->runner = self;
  turn->turn = granted;
  turn->output = srv_output_new (SRV_RUNNER_MAX_OUTPUT);
  g_hash_table_insert (self->turns, g_memdup2 (&granted->project, sizeof granted->project), turn);
  /* Starting a process takes this thread milliseconds: the answers of the same commit leave first. Rounds rather than
   * a low priority, under which a busy engine would start none. */
  turn->start_source = g_idle_add_full (G_PRIORITY_DEFAULT, on_start, turn, NULL);
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
  stop_turn (turn);
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
      if (turn->process != NULL && !turn->stopped
          && !srv_engine_authenticate (self->engine, turn->turn->token, &actor, &why)
          && g_strcmp0 (why, "lease_ended") == 0)
        stop_turn (turn);
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
                  json_pack ("{s:s, s:s}", "outcome", "crashed", "text",
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
    g_message ("cleaned up after %u turns of an earlier run", count);
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
  self->state_folder = g_strdup (options->state_folder);
  self->base = g_build_filename (options->state_folder, "turns", NULL);
  self->grace_ms = options->grace_ms != 0 ? options->grace_ms : SRV_KEEP_GRACE_MS;
  self->turns
      = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, (GDestroyNotify) turn_free);
  if (!find_programs (self, options, error))
    return NULL;
  if (!srv_turn_folder_prepare (self->base, &problem))
    {
      g_set_error_literal (error, SRV_RUNNER_ERROR, SRV_RUNNER_ERROR_FOLDER, problem->message);
      return NULL;
    }
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
    if (((Turn *) value)->process != NULL)
      srv_process_stop (((Turn *) value)->process);
  /* Their ends and the ends of their leases come through the main loop. */
  guint patience = g_timeout_add_seconds (STOP_WAIT_S, on_stop_patience, &over);
  while ((g_hash_table_size (self->turns) > 0 || self->waiting > 0) && !over)
    g_main_context_iteration (NULL, TRUE);
  srv_engine_unwatch (self->engine, on_changed, self);
  srv_engine_grant_turns (self->engine, 0, NULL, NULL);
  if (over)
    {
      /* Answers may still come for it: the process ends, and it with that. */
      g_message ("%u turns did not end in time", g_hash_table_size (self->turns));
      return;
    }
  g_source_remove (patience);
  if (self->look_source != 0)
    g_source_remove (self->look_source);
  g_hash_table_unref (self->turns);
  srv_confine_free (self->confine);
  g_free (self->socket);
  g_free (self->state_folder);
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
