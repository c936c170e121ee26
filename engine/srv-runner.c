/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-runner: one table of turns, by project. Every callback of the engine and of a process leads to one of
 * three steps: the lease is taken (start), the process ended (end), the lease is ended (gone).
 */
#include "config.h"

#include "srv-runner.h"

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
/* Longer doublings would pass the maximum. */
#define MAX_FAILURES 16u
#define PAGE 500

typedef struct
{
  guint failures;
  gint64 not_before; /* monotonic */
} Pause;

typedef struct
{
  SrvRunner *runner;
  SrvTurn *turn;
  gint64 lease;
  char *token;
  char *folder;
  SrvProcess *process;
  SrvOutput *output;
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
  GHashTable *turns;  /* project -> Turn */
  GHashTable *pauses; /* project -> Pause */
  guint look_source;
  guint wake_source;
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
  g_autofree char *ref = g_strdup_printf ("%" G_GINT64_FORMAT, id);
  g_autoptr (DbrJsonDoc) doc = dbr_json_doc_new_from_data (text, -1, NULL, NULL);
  g_assert (doc != NULL); /* made by jansson of valid UTF-8 */
  const SrvRequest request = {
    .operation = operation,
    .actor = { .role = SRV_ROLE_ADMIN, .name = "runner" },
    .id = id,
    .project_ref = operation == SRV_OP_LEASE_TAKE ? ref : NULL,
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
look_soon (SrvRunner *self);

static void
turn_free (Turn *self)
{
  if (self->renew_source != 0)
    g_source_remove (self->renew_source);
  srv_process_free (self->process);
  srv_output_free (self->output);
  if (self->folder != NULL && !srv_turn_folder_remove (self->folder))
    g_message ("something of %s could not be deleted", self->folder);
  if (self->token != NULL)
    explicit_bzero (self->token, strlen (self->token));
  g_free (self->token);
  g_free (self->folder);
  srv_turn_free (self->turn);
  g_free (self);
}

/* After a turn that went wrong the project waits: what made it fail is likely still there. */
static void
set_pause (SrvRunner *self, gint64 project, gboolean failed)
{
  if (!failed)
    {
      g_hash_table_remove (self->pauses, &project);
      return;
    }
  Pause *pause = g_hash_table_lookup (self->pauses, &project);
  if (pause == NULL)
    {
      pause = g_new0 (Pause, 1);
      g_hash_table_insert (self->pauses, g_memdup2 (&project, sizeof project), pause);
    }
  guint64 ms = (guint64) SRV_RUNNER_FIRST_PAUSE_MS << pause->failures;
  pause->failures = MIN (pause->failures + 1, MAX_FAILURES);
  pause->not_before = g_get_monotonic_time ()
                      + (gint64) MIN (ms, SRV_RUNNER_MAX_PAUSE_MS) * G_TIME_SPAN_MILLISECOND;
}

static void
on_lease_ended (SrvRunner *self, gint64 project, const SrvReply *reply)
{
  if (reply->status >= 500)
    g_message ("project %" G_GINT64_FORMAT
               ": the lease of the turn could not be ended (status %u): it "
               "expires by itself",
               project, reply->status);
  g_hash_table_remove (self->turns, &project);
  look_soon (self);
}

/* The end of every turn that had a lease. Everything of it is gone before the lease is. */
static void
end_turn (Turn *self, const char *outcome, const char *text)
{
  SrvRunner *runner = self->runner;
  gint64 project = self->turn->project;
  if (self->renew_source != 0)
    g_source_remove (self->renew_source);
  self->renew_source = 0;
  g_clear_pointer (&self->process, srv_process_free);
  if (self->folder != NULL && srv_turn_folder_remove (self->folder))
    g_clear_pointer (&self->folder, g_free);
  set_pause (runner, project, strcmp (outcome, "done") != 0 && !runner->stopping);
  /* What an error quotes may be cut inside a character. */
  g_autofree char *valid = g_utf8_make_valid (text, -1);
  ask_engine (runner, SRV_OP_LEASE_END, self->lease, project,
              json_pack ("{s:s, s:s}", "outcome", outcome, "text", valid), on_lease_ended);
}

static void
on_turn_output (const char *bytes, gsize length, gpointer user_data)
{
  Turn *self = user_data;
  srv_output_add (self->output, bytes, length);
}

static void
on_turn_done (SrvProcessEnd end, int value, gpointer user_data)
{
  Turn *self = user_data;
  gboolean well = end == SRV_PROCESS_ENDED && value == 0;
  g_autofree char *how = srv_process_describe (end, value);
  g_autofree char *tail = srv_output_text (self->output, SRV_RUNNER_SHOWN_OUTPUT, self->token);
  gint64 seconds = (g_get_monotonic_time () - self->started) / G_USEC_PER_SEC;
  g_autoptr (GString) text = g_string_new (NULL);
  if (self->runner->stopping)
    g_string_assign (text, "The foreman's turn was stopped: the engine ends.");
  else
    g_string_printf (text, "The foreman's turn %s after %" G_GINT64_FORMAT " s.", how, seconds);
  if (!well && *tail != '\0')
    g_string_append_printf (text, " The last that it printed:\n%s", tail);
  end_turn (self,
            well                           ? "done"
            : end == SRV_PROCESS_TIMED_OUT ? "timed_out"
                                           : "crashed",
            text->str);
}

static gboolean
on_renew (gpointer user_data)
{
  Turn *self = user_data;
  ask_engine (self->runner, SRV_OP_LEASE_RENEW, self->lease, self->turn->project,
              json_pack ("{s:i}", "ttl", (int) SRV_RUNNER_LEASE_S), NULL);
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
    .token = self->token,
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
  if (runner->confine == NULL)
    {
      g_set_error_literal (error, SRV_CONFINE_ERROR, SRV_CONFINE_ERROR_MISSING, runner->refusal);
      return FALSE;
    }
  if (self->turn->checkout == NULL || !g_file_test (self->turn->checkout, G_FILE_TEST_IS_DIR))
    {
      g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_NOTDIR,
                   "the project's checkout %s is no folder here",
                   self->turn->checkout != NULL ? self->turn->checkout : "is not set: it");
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

static void
start_turn (Turn *self, const SrvReply *reply)
{
  g_autoptr (GError) error = NULL;
  self->lease = json_integer_value (json_object_get (reply->body, "id"));
  self->token = g_strdup (json_string_value (json_object_get (reply->body, "token")));
  self->started = g_get_monotonic_time ();
  if (self->token == NULL)
    g_set_error (&error, SRV_RUNNER_ERROR, SRV_RUNNER_ERROR_FOLDER, "the lease has no token");
  else if (self->runner->stopping)
    g_set_error (&error, SRV_RUNNER_ERROR, SRV_RUNNER_ERROR_FOLDER, "the engine ends");
  if (error == NULL && start_process (self, &error))
    {
      self->renew_source = g_timeout_add_seconds (SRV_RUNNER_LEASE_S / 3, on_renew, self);
      return;
    }
  g_autofree char *text = g_strdup_printf ("The foreman could not be started: %s.", error->message);
  end_turn (self, "crashed", text);
}

static void
on_lease_taken (SrvRunner *self, gint64 project, const SrvReply *reply)
{
  Turn *turn = g_hash_table_lookup (self->turns, &project);
  g_assert (turn != NULL);
  if (reply->status == 201)
    {
      start_turn (turn, reply);
      return;
    }
  /* Somebody attached in the same moment (409), or the disk is full (5xx): later again. */
  if (reply->status != 409)
    set_pause (self, project, TRUE);
  g_hash_table_remove (self->turns, &project);
  look_soon (self);
}

static void
begin_turn (SrvRunner *self, SrvTurn *due)
{
  Turn *turn = g_new0 (Turn, 1);
  const char *preset = json_string_value (json_object_get (due->foreman, "preset"));
  turn->runner = self;
  turn->turn = due;
  turn->output = srv_output_new (SRV_RUNNER_MAX_OUTPUT);
  g_hash_table_insert (self->turns, g_memdup2 (&due->project, sizeof due->project), turn);
  /* The preset's name is the user's text: the cut may be inside a character. */
  g_autofree char *cut = g_strdup_printf ("foreman (%.60s)", preset != NULL ? preset : "command");
  g_autofree char *holder = g_utf8_make_valid (cut, -1);
  ask_engine (self, SRV_OP_LEASE_TAKE, due->project, due->project,
              json_pack ("{s:s, s:i}", "holder", holder, "ttl", (int) SRV_RUNNER_LEASE_S),
              on_lease_taken);
}

/* --------------------------------------------------------------------------------- what is due */
static gboolean
on_wake (gpointer user_data)
{
  SrvRunner *self = user_data;
  self->wake_source = 0;
  look_soon (self);
  return G_SOURCE_REMOVE;
}

/* TRUE: not yet; *inout_next is when. */
static gboolean
is_paused (SrvRunner *self, gint64 project, gint64 now, gint64 *inout_next)
{
  const Pause *pause = g_hash_table_lookup (self->pauses, &project);
  if (pause == NULL || pause->not_before <= now)
    return FALSE;
  *inout_next = MIN (*inout_next, pause->not_before);
  return TRUE;
}

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
          && !srv_engine_authenticate (self->engine, turn->token, &actor, &why)
          && g_strcmp0 (why, "lease_ended") == 0)
        {
          turn->stopped = TRUE;
          srv_process_stop (turn->process);
        }
    }
}

static gboolean
on_look (gpointer user_data)
{
  SrvRunner *self = user_data;
  gint64 now = g_get_monotonic_time ();
  gint64 next = G_MAXINT64;
  self->look_source = 0;
  if (self->stopping)
    return G_SOURCE_REMOVE;
  stop_ended (self);
  g_autoptr (GPtrArray) due = srv_engine_turns_due (self->engine);
  g_ptr_array_set_free_func (due, NULL);
  for (guint i = 0; i < due->len; i++)
    {
      SrvTurn *turn = g_ptr_array_index (due, i);
      if (g_hash_table_contains (self->turns, &turn->project)
          || g_hash_table_size (self->turns) >= SRV_RUNNER_MAX_TURNS
          || is_paused (self, turn->project, now, &next))
        srv_turn_free (turn);
      else
        begin_turn (self, turn);
    }
  if (self->wake_source != 0)
    g_source_remove (self->wake_source);
  self->wake_source = 0;
  if (next != G_MAXINT64)
    self->wake_source = g_timeout_add ((guint) ((next - now) / 1000 + 1), on_wake, self);
  return G_SOURCE_REMOVE;
}

/* Once for all commits of this round of the loop. */
static void
look_soon (SrvRunner *self)
{
  if (self->look_source == 0 && !self->stopping)
    self->look_source = g_idle_add_full (G_PRIORITY_DEFAULT, on_look, self, NULL);
}

static void
on_changed (SrvEngine *engine G_GNUC_UNUSED, gpointer user_data)
{
  look_soon (user_data);
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
  self->keeper = options->keeper != NULL ? g_strdup (options->keeper) : srv_place_program ();
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
  self->pauses = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, g_free);
  if (!find_programs (self, options, error))
    return NULL;
  if (!srv_turn_folder_prepare (self->base, &problem))
    {
      g_set_error_literal (error, SRV_RUNNER_ERROR, SRV_RUNNER_ERROR_FOLDER, problem->message);
      return NULL;
    }
  end_earlier_turns (self);
  srv_engine_watch (engine, on_changed, self);
  look_soon (self);
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
  g_hash_table_iter_init (&iter, self->turns);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    if (((Turn *) value)->process != NULL)
      srv_process_stop (((Turn *) value)->process);
  /* Their ends and the ends of their leases come through the main loop. */
  guint patience = g_timeout_add_seconds (STOP_WAIT_S, on_stop_patience, &over);
  while ((g_hash_table_size (self->turns) > 0 || self->waiting > 0) && !over)
    g_main_context_iteration (NULL, TRUE);
  srv_engine_unwatch (self->engine, on_changed, self);
  if (over)
    {
      /* Answers may still come for it: the process ends, and it with that. */
      g_message ("%u turns did not end in time", g_hash_table_size (self->turns));
      return;
    }
  g_source_remove (patience);
  if (self->look_source != 0)
    g_source_remove (self->look_source);
  if (self->wake_source != 0)
    g_source_remove (self->wake_source);
  g_hash_table_unref (self->turns);
  g_hash_table_unref (self->pauses);
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
