/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-turn-run: waiting to start, running, ended: each step leads only to the next, and every end to come_to_end().
 */
#include "config.h"

#include "srv-turn-run.h"

#include "srv-output.h"
#include "srv-preset.h"
#include "srv-process.h"
#include "srv-turn-folder.h"

#include <string.h>

#define ANSWER_ROUNDS 3u /* that the front needs for an answer */

struct _SrvTurnRun
{
  const SrvTurnPlace *place;
  const SrvTurn *turn;
  SrvCheckout *checkout; /* nullable, as the next */
  char *folder;
  SrvProcess *process;
  SrvOutput *output;
  guint start_source;
  guint rounds;   /* of the main loop, before it starts */
  gint64 started; /* monotonic */
  gboolean stopped;
  const char *why; /* it was stopped; nullable */
  SrvTurnRunDone done;
  gpointer user_data;
};

/* ---------------------------------------------------------------------------------------- end */
static void
come_to_end (SrvTurnRun *self, const char *outcome, const char *text, const char *reason)
{
  /* What an error quotes may be cut inside a character. */
  g_autofree char *valid = g_utf8_make_valid (text, -1);
  g_autofree char *valid_reason = reason != NULL ? g_utf8_make_valid (reason, -1) : NULL;
  const SrvTurnEnd end = { .outcome = outcome,
                           .text = valid,
                           .reason = valid_reason,
                           .stopped = self->why != NULL && strcmp (outcome, "done") != 0 };
  g_clear_pointer (&self->process, srv_process_free);
  if (self->folder != NULL && srv_turn_folder_remove (self->folder))
    g_clear_pointer (&self->folder, g_free);
  self->done (&end, self->user_data);
}

static const char *
last_line (const char *tail)
{
  const char *feed = strrchr (tail, '\n');
  return feed != NULL ? feed + 1 : tail;
}

/* @tail: what it printed last. Its last line comes first: who shows a text's beginning only shows what went wrong. */
static char *
describe_end (const SrvTurnRun *self, const char *how, gboolean well, const char *tail)
{
  gint64 seconds = (g_get_monotonic_time () - self->started) / G_USEC_PER_SEC;
  g_autoptr (GString) text = g_string_new (NULL);
  const char *last = last_line (tail);
  if (self->why != NULL)
    g_string_printf (text, "The foreman's turn was stopped: %s.", self->why);
  else if (srv_process_problem (self->process) != NULL)
    g_string_printf (text, "The foreman %s.", how);
  else
    g_string_printf (text, "The foreman's turn %s after %" G_GINT64_FORMAT " s.", how, seconds);
  if (!well && *last != '\0')
    g_string_append_printf (text, " Its last line: %s", last);
  if (!well && last != tail)
    g_string_append_printf (text, "\nThe last lines that it printed:\n%s", tail);
  return g_string_free (g_steal_pointer (&text), FALSE);
}

/* How it ended, and the last line that says anything. NULL: the turn itself did nothing wrong. */
static char *
describe_failure (SrvProcessEnd end, const char *how, gboolean well, const char *tail)
{
  const char *line = last_line (tail);
  if (well || end == SRV_PROCESS_STOPPED)
    return NULL;
  return *line != '\0' ? g_strdup_printf ("%s: %s", how, line) : g_strdup (how);
}

static void
on_process_done (SrvProcessEnd end, int value, gpointer user_data)
{
  SrvTurnRun *self = user_data;
  gboolean well = end == SRV_PROCESS_ENDED && value == 0;
  const char *problem = srv_process_problem (self->process);
  g_autofree char *how = problem != NULL ? g_strdup_printf ("could not be started: %s", problem)
                                         : srv_process_describe (end, value);
  g_autofree char *tail
      = srv_output_text (self->output, SRV_TURN_RUN_SHOWN_OUTPUT, self->turn->token);
  g_autofree char *text = describe_end (self, how, well, tail);
  g_autofree char *reason = describe_failure (end, how, well, tail);
  come_to_end (self,
               well                           ? "done"
               : end == SRV_PROCESS_TIMED_OUT ? "timed_out"
                                              : "crashed",
               text, reason);
}

/* -------------------------------------------------------------------------------------- start */
static void
on_output (const char *bytes, gsize length, gpointer user_data)
{
  SrvTurnRun *self = user_data;
  srv_output_add (self->output, bytes, length);
}

static SrvPreset *
make_preset (const SrvTurnRun *self, GError **error)
{
  const SrvPresetValues values = {
    .project = self->turn->project,
    .name = self->turn->name,
    .repo = self->turn->repo_url,
    .checkout = self->turn->checkout,
    .socket = self->place->socket,
    .bridge = self->place->bridge,
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
confined_words (const SrvTurnRun *self, const SrvPreset *preset)
{
  const SrvTurnPlace *place = self->place;
  /* Where the bridge finds its parts: relative to itself, installed or built (common/dbr-install.c). */
  g_autofree char *folder = g_path_get_dirname (place->bridge);
  g_autofree char *built = g_build_filename (folder, "engine-client", NULL);
  g_autofree char *schemas = g_build_filename (folder, "schemas", NULL);
  g_autofree char *prefix = g_path_get_dirname (folder);
  g_autofree char *share = g_build_filename (prefix, "share", "drawbridge", NULL);
  g_autofree char *lib = g_build_filename (prefix, "lib", "drawbridge", NULL);
  const char *const readable[] = { MODULEDIR, SCHEMADIR, built, schemas, share, lib, NULL };
  const SrvConfineView view = {
    .checkout = self->checkout,
    .socket = place->socket,
    .folder = self->folder,
    .program = place->bridge,
    .readable = readable,
    .writable = (const char *const *) preset->writable,
  };
  return srv_confine_wrap (place->confine, &view, (const char *const *) preset->command);
}

static gboolean
start_process (SrvTurnRun *self, GError **error)
{
  const SrvTurnPlace *place = self->place;
  /* The engine looked at both before it granted the turn, where it was told how. */
  if (place->confine == NULL || self->turn->checkout == NULL)
    {
      g_set_error_literal (error, SRV_CONFINE_ERROR, SRV_CONFINE_ERROR_MISSING,
                           place->confine == NULL ? place->refusal : "no checkout is set");
      return FALSE;
    }
  self->checkout = srv_checkout_open (self->turn->checkout, place->states, error);
  if (self->checkout == NULL)
    {
      g_prefix_error (error, "the checkout %s ", self->turn->checkout);
      return FALSE;
    }
  self->folder = srv_turn_folder_new (place->folder, error);
  g_autoptr (SrvPreset) preset = self->folder != NULL ? make_preset (self, error) : NULL;
  if (preset == NULL)
    return FALSE;
  g_auto (GStrv) words = confined_words (self, preset);
  const SrvProcessOptions options = {
    .keeper = place->keeper,
    .command = (const char *const *) words,
    .environment = (const char *const *) preset->environment,
    .folder = self->checkout->path,
    .tells_start = TRUE,
    .limit_ms = MAX (self->turn->turn_minutes, 1) * 60000u,
    .grace_ms = place->grace_ms,
    .output = on_output,
    .done = on_process_done,
    .user_data = self,
  };
  self->process = srv_process_new (&options, error);
  return self->process != NULL
         && srv_turn_folder_record (self->folder, srv_process_pid (self->process), error);
}

static gboolean
on_start (gpointer user_data)
{
  SrvTurnRun *self = user_data;
  g_autoptr (GError) error = NULL;
  g_autofree char *text = NULL;
  g_autofree char *reason = NULL;
  if (self->rounds++ < ANSWER_ROUNDS)
    return G_SOURCE_CONTINUE;
  self->start_source = 0;
  self->started = g_get_monotonic_time ();
  if (self->stopped)
    text = g_strdup_printf ("The foreman's turn was stopped: %s.",
                            self->why != NULL ? self->why : "its lease had ended before it began");
  else if (start_process (self, &error))
    return G_SOURCE_REMOVE;
  else
    {
      text = g_strdup_printf ("The foreman could not be started: %s.", error->message);
      reason = g_strdup_printf ("could not be started: %s", error->message);
    }
  come_to_end (self, "crashed", text, reason);
  return G_SOURCE_REMOVE;
}

/* --------------------------------------------------------------------------------------- life */
SrvTurnRun *
srv_turn_run_new (const SrvTurnPlace *place,
                  const SrvTurn *turn,
                  SrvTurnRunDone done,
                  gpointer user_data)
{
  SrvTurnRun *self = g_new0 (SrvTurnRun, 1);
  self->place = place;
  self->turn = turn;
  self->output = srv_output_new (SRV_TURN_RUN_MAX_OUTPUT);
  self->done = done;
  self->user_data = user_data;
  /* Starting a process takes this thread milliseconds: the answers of the same commit leave first. Rounds rather than
   * a low priority, under which a busy engine would start none. */
  self->start_source = g_idle_add_full (G_PRIORITY_DEFAULT, on_start, self, NULL);
  return self;
}

void
srv_turn_run_stop (SrvTurnRun *self, const char *why)
{
  if (self->why == NULL)
    self->why = why;
  /* Once: a second request would kill it without grace. */
  if (self->process != NULL && !self->stopped)
    srv_process_stop (self->process);
  self->stopped = TRUE;
}

void
srv_turn_run_free (SrvTurnRun *self)
{
  if (self == NULL)
    return;
  if (self->start_source != 0)
    g_source_remove (self->start_source);
  srv_process_free (self->process);
  srv_output_free (self->output);
  if (self->folder != NULL && !srv_turn_folder_remove (self->folder))
    g_message ("something of %s could not be deleted", self->folder);
  g_free (self->folder);
  srv_checkout_free (self->checkout);
  g_free (self);
}
