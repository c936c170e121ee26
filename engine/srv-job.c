/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-job: events go out one after the other, so that their order is their number; the end waits for the last of them.
 */
#include "config.h"

#include "srv-job.h"

#include "dbr-text.h"
#include "srv-keep.h"
#include "srv-output.h"
#include "srv-preset.h"
#include "srv-process.h"

#include <glib/gi18n.h>
#include <string.h>

#define TELL_PATIENCE_S 600u
#define LAST_WORDS_PATIENCE_S 5u
#define RETURNED "returned"
#define LAST_LINES 3

struct _SrvJobRun
{
  const SrvJobSettings *settings;
  gint64 id;
  gint64 sequence; /* of the last event that was sent */
  SrvProcess *process;
  GString *pending; /* printed and not sent */
  guint64 left_out; /* bytes that did not fit */
  SrvOutput *tail;
  gboolean sending;
  gboolean ended;    /* the command */
  gboolean stopping; /* by us */
  gboolean taken;    /* by the engine */
  gboolean finishing;
  const char *outcome;
  char *text; /* for the engine; nullable */
  char *said; /* for whoever runs the worker */
  guint pace_s;
  guint heartbeat_source;
  guint flush_source;
  SrvJobDone done;
  gpointer user_data;
};

static void
advance (SrvJobRun *self);

static char *
job_path (const SrvJobRun *self, const char *verb)
{
  return g_strdup_printf ("/v1/jobs/%" G_GINT64_FORMAT "/%s", self->id, verb);
}

static void
come_to_end (SrvJobRun *self, SrvJobEnd end, const char *text)
{
  g_autofree char *kept = g_strdup (text);
  self->done (end, kept, self->user_data);
}

/* The engine says that the job is no longer ours: nothing that the command does counts. */
static void
be_taken (SrvJobRun *self, guint status, DbrJson problem)
{
  g_autofree char *state = dbr_json_dup_string (dbr_json_get (problem, "state"));
  g_autofree char *why = srv_client_problem (status, problem, NULL);
  if (self->taken)
    return;
  self->taken = TRUE;
  g_free (self->said);
  if (g_strcmp0 (state, "cancelled") == 0)
    self->said = g_strdup (_ ("cancelled: its task was cancelled, the command was stopped"));
  else if (g_strcmp0 (state, "lost") == 0)
    self->said = g_strdup (_ ("lost: the engine heard nothing of it for too long"));
  else
    self->said = g_strdup_printf (_ ("taken away by the engine: %s"), why);
  if (self->process != NULL && !self->ended)
    srv_process_stop (self->process);
}

static gboolean
is_over (guint status)
{
  return status == 409 || status == 404 || status == 403 || status == 401;
}

/* ------------------------------------------------------------------------------------- events */
static void
on_event_told (guint status, DbrJson body, const GError *error G_GNUC_UNUSED, gpointer user_data)
{
  SrvJobRun *self = user_data;
  self->sending = FALSE;
  if (is_over (status))
    be_taken (self, status, body);
  advance (self);
}

static void
send_event (SrvJobRun *self)
{
  g_autofree char *path = job_path (self, "events");
  g_autoptr (GString) text = g_string_new (NULL);
  g_autofree char *clean
      = srv_output_clean (self->pending->str, self->pending->len, SRV_JOB_MAX_EVENT, NULL);
  if (self->left_out > 0)
    g_string_append_printf (text, "(%" G_GUINT64_FORMAT " bytes left out)\n", self->left_out);
  g_string_append (text, clean);
  g_string_truncate (self->pending, 0);
  self->left_out = 0;
  if (text->len == 0)
    return;
  self->sending = TRUE;
  self->sequence++;
  srv_client_post (
      self->settings->client, path,
      json_pack ("{s:I, s:s}", "sequence", (json_int_t) self->sequence, "text", text->str),
      TELL_PATIENCE_S, on_event_told, self);
}

static gboolean
on_flush (gpointer user_data)
{
  SrvJobRun *self = user_data;
  self->flush_source = 0;
  advance (self);
  return G_SOURCE_REMOVE;
}

static void
on_output (const char *bytes, gsize length, gpointer user_data)
{
  SrvJobRun *self = user_data;
  srv_output_add (self->tail, bytes, length);
  g_string_append_len (self->pending, bytes, (gssize) length);
  if (self->pending->len > 2 * SRV_JOB_MAX_EVENT)
    {
      gsize over = self->pending->len - SRV_JOB_MAX_EVENT;
      self->left_out += over;
      g_string_erase (self->pending, 0, (gssize) over);
    }
  if (!self->sending && self->flush_source == 0)
    advance (self);
}

/* Whole lines only, as long as the command runs; one that never ends is sent when it is long. */
static gboolean
has_lines (const SrvJobRun *self)
{
  return self->pending->len > 0
         && (self->ended || self->pending->len >= SRV_JOB_MAX_EVENT
             || memchr (self->pending->str, '\n', self->pending->len) != NULL);
}

/* ---------------------------------------------------------------------------------------- end */
static void
on_finish_told (guint status, DbrJson body, const GError *error, gpointer user_data)
{
  SrvJobRun *self = user_data;
  gboolean is_unstarted = !self->stopping && strcmp (self->outcome, RETURNED) == 0;
  if (status == 200)
    {
      come_to_end (self,
                   is_unstarted     ? SRV_JOB_UNSTARTED
                   : self->stopping ? SRV_JOB_ABANDONED
                                    : SRV_JOB_TOLD,
                   self->said);
      return;
    }
  if (is_over (status))
    {
      be_taken (self, status, body);
      come_to_end (self, SRV_JOB_TAKEN, self->said);
      return;
    }
  g_autofree char *problem = srv_client_problem (status, body, error);
  g_autofree char *said
      = g_strdup_printf (_ ("%s; the engine could not be told: %s"), self->said, problem);
  come_to_end (self, is_unstarted ? SRV_JOB_UNSTARTED : SRV_JOB_ABANDONED, said);
}

static void
finish (SrvJobRun *self)
{
  g_autofree char *path = job_path (self, "finish");
  self->finishing = TRUE;
  self->sequence++;
  srv_client_post (self->settings->client, path,
                   json_pack ("{s:I, s:s, s:s?}", "sequence", (json_int_t) self->sequence,
                              "outcome", self->outcome, "text", self->text),
                   self->stopping ? LAST_WORDS_PATIENCE_S : TELL_PATIENCE_S, on_finish_told, self);
}

/* The one place that decides what comes next. */
static void
advance (SrvJobRun *self)
{
  if (self->finishing || self->sending)
    return;
  if (self->taken && self->ended)
    {
      self->finishing = TRUE;
      come_to_end (self, SRV_JOB_TAKEN, self->said);
      return;
    }
  if (has_lines (self) && !self->taken && (self->ended || self->flush_source == 0))
    {
      send_event (self);
      if (!self->ended && self->flush_source == 0)
        self->flush_source = g_timeout_add (SRV_JOB_EVENT_GAP_MS, on_flush, self);
    }
  if (self->ended && !self->sending)
    finish (self);
}

/* Takes @said. */
static void
decide (SrvJobRun *self, const char *outcome, char *text, char *said)
{
  self->outcome = outcome;
  self->text = text;
  if (self->taken)
    g_free (said);
  else
    {
      g_free (self->said);
      self->said = said;
    }
}

static void
give_back (SrvJobRun *self, const char *why)
{
  decide (self, RETURNED, dbr_text_dup_sentence ("The worker could not start its command: %s", why),
          g_strdup_printf (_ ("given back, the command could not be started: %s"), why));
}

/* The last few lines as one: it is shown among others. Transfer full; "": it printed nothing. */
static char *
last_lines (const SrvJobRun *self)
{
  g_autofree char *text = srv_output_text (self->tail, SRV_JOB_LAST_LINES, NULL);
  g_auto (GStrv) lines = g_strsplit (g_strstrip (text), "\n", -1);
  guint n = g_strv_length (lines);
  return g_strjoinv (" / ", lines + (n > LAST_LINES ? n - LAST_LINES : 0));
}

/* @how: for the engine; @how_here: for whoever runs the worker. */
static void
fail (SrvJobRun *self, const char *how, const char *how_here)
{
  g_autofree char *lines = last_lines (self);
  if (*lines == '\0')
    decide (self, "failed", g_strdup_printf ("The worker's command %s, and printed nothing.", how),
            g_strdup_printf (_ ("failed (%s), it printed nothing"), how_here));
  else
    decide (self, "failed",
            g_strdup_printf ("The worker's command %s; its last lines: %s", how, lines),
            g_strdup_printf (_ ("failed (%s): %s"), how_here, lines));
}

static void
fail_as_it_ended (SrvJobRun *self, SrvProcessEnd end, int value)
{
  g_autofree char *how = end == SRV_PROCESS_ENDED
                             ? g_strdup_printf ("ended with exit status %d", value)
                             : srv_process_describe (end, value);
  g_autofree char *how_here
      = end == SRV_PROCESS_ENDED ? g_strdup_printf (_ ("exit status %d"), value)
        : end == SRV_PROCESS_SIGNALLED
            ? g_strdup_printf (_ ("signal %d, %s"), value, g_strsignal (value))
            : g_strdup (_ ("its time was over"));
  fail (self, how, how_here);
}

/* Neither started nor failed: bubblewrap (or the keeper) itself ended, and printed why. */
static void
give_back_unstarted (SrvJobRun *self)
{
  const char *problem = srv_process_problem (self->process);
  g_autofree char *lines = last_lines (self);
  const char *why = problem != NULL ? problem : *lines != '\0' ? lines : "no reason is known";
  give_back (self, why);
}

static void
on_command_done (SrvProcessEnd end, int value, gpointer user_data)
{
  SrvJobRun *self = user_data;
  self->ended = TRUE;
  if (self->stopping)
    decide (self, RETURNED, g_strdup ("The worker was told to stop, and stopped its command."),
            g_strdup (_ ("given back: the worker was told to stop")));
  else if (end == SRV_PROCESS_ENDED && value == 0)
    decide (self, "succeeded", NULL, g_strdup (_ ("succeeded")));
  else if (end == SRV_PROCESS_ENDED && value == SRV_JOB_REVIEW)
    decide (self, "review", NULL, g_strdup (_ ("put up for review (exit status 75)")));
  else if (end == SRV_PROCESS_NOT_STARTED)
    give_back_unstarted (self);
  else
    fail_as_it_ended (self, end, value);
  advance (self);
}

/* ---------------------------------------------------------------------------------- heartbeat */
static gboolean
on_heartbeat (gpointer user_data);

/* As often as the engine wants to hear of the @job. */
static void
set_pace (SrvJobRun *self, DbrJson job)
{
  gint64 seconds = SRV_JOB_LOOK_S;
  dbr_json_int64 (dbr_json_get (job, "heartbeat_seconds"), &seconds);
  guint pace_s = (guint) CLAMP (seconds, 1, SRV_JOB_LOOK_S);
  if (self->pace_s == pace_s)
    return;
  self->pace_s = pace_s;
  if (self->heartbeat_source != 0)
    g_source_remove (self->heartbeat_source);
  self->heartbeat_source = g_timeout_add_seconds (pace_s, on_heartbeat, self);
}

static void
on_heartbeat_told (guint status,
                   DbrJson body,
                   const GError *error G_GNUC_UNUSED,
                   gpointer user_data)
{
  SrvJobRun *self = user_data;
  if (status == 200)
    set_pace (self, body); /* an engine that was started anew may want another one */
  if (is_over (status) && !self->finishing)
    {
      be_taken (self, status, body);
      advance (self);
    }
}

static gboolean
on_heartbeat (gpointer user_data)
{
  SrvJobRun *self = user_data;
  g_autofree char *path = job_path (self, "heartbeat");
  srv_client_post (self->settings->client, path, json_object (), 0, on_heartbeat_told, self);
  return G_SOURCE_CONTINUE;
}

/* -------------------------------------------------------------------------------------- start */
static void
add_variable (GPtrArray *list, const char *name, DbrJson value)
{
  g_autofree char *text = dbr_json_dup_string (value);
  gint64 number;
  if (text != NULL)
    g_ptr_array_add (list, g_strdup_printf ("%s=%s", name, text));
  else if (dbr_json_int64 (value, &number))
    g_ptr_array_add (list, g_strdup_printf ("%s=%" G_GINT64_FORMAT, name, number));
}

static void
pass_on (GPtrArray *list, const char *const *names)
{
  for (gsize i = 0; names != NULL && names[i] != NULL; i++)
    {
      const char *value = g_getenv (names[i]);
      if (value != NULL && !g_str_has_prefix (names[i], "BRIGADA_"))
        g_ptr_array_add (list, g_strdup_printf ("%s=%s", names[i], value));
    }
}

static char **
make_environment (const SrvJobSettings *settings, DbrJson claim)
{
  DbrJson job = dbr_json_get (claim, "job");
  DbrJson task = dbr_json_get (claim, "task");
  DbrJson project = dbr_json_get (claim, "project");
  g_autoptr (GPtrArray) list = g_ptr_array_new ();
  g_autoptr (GString) paths = g_string_new ("BRIGADA_PATHS=");
  pass_on (list, srv_preset_common_environment ());
  pass_on (list, settings->variables);
  add_variable (list, "BRIGADA_JOB", dbr_json_get (job, "id"));
  add_variable (list, "BRIGADA_ATTEMPT", dbr_json_get (job, "attempt"));
  add_variable (list, "BRIGADA_TASK", dbr_json_get (task, "id"));
  add_variable (list, "BRIGADA_TITLE", dbr_json_get (task, "title"));
  add_variable (list, "BRIGADA_BRANCH", dbr_json_get (task, "branch"));
  add_variable (list, "BRIGADA_PLAN", dbr_json_get (dbr_json_get (claim, "plan"), "id"));
  add_variable (list, "BRIGADA_PROJECT", dbr_json_get (project, "id"));
  add_variable (list, "BRIGADA_REPO_URL", dbr_json_get (project, "repo_url"));
  dbr_json_append (dbr_json_get (task, "paths"), paths);
  g_ptr_array_add (list, g_strdup (paths->str));
  g_ptr_array_add (list, NULL);
  return (char **) g_ptr_array_free (g_steal_pointer (&list), FALSE);
}

/* The brief, and below it what the foreman and the user noted since. */
static char *
make_input (DbrJson task)
{
  g_autofree char *brief = dbr_json_dup_string (dbr_json_get (task, "brief"));
  g_autoptr (GString) text = g_string_new (brief != NULL ? brief : "");
  if (text->len == 0 || text->str[text->len - 1] != '\n')
    g_string_append_c (text, '\n');
  DbrJson note = dbr_json_first (dbr_json_get (task, "notes"));
  if (dbr_json_exists (note))
    g_string_append (text, "\nNotes:\n");
  for (; dbr_json_exists (note); note = dbr_json_next (note))
    {
      g_autofree char *words = dbr_json_dup_string (dbr_json_get (note, "text"));
      g_string_append_printf (text, "- %s\n", words != NULL ? words : "");
    }
  return g_string_free (g_steal_pointer (&text), FALSE);
}

/* The folder of the command; NULL: there is none that it may run in. */
static SrvCheckout *
find_checkout (const SrvJobSettings *settings, DbrJson claim, GError **error)
{
  DbrJson project = dbr_json_get (claim, "project");
  g_autofree char *path = settings->checkout != NULL
                              ? g_strdup (settings->checkout)
                              : dbr_json_dup_string (dbr_json_get (project, "checkout"));
  if (path == NULL)
    {
      g_set_error_literal (error, G_FILE_ERROR, G_FILE_ERROR_NOENT,
                           "the project has no checkout, and the worker was given none");
      return NULL;
    }
  g_autoptr (SrvCheckout) checkout = srv_checkout_open (path, settings->states, error);
  if (checkout == NULL || !srv_checkout_keeps_apart (checkout, settings->token_file, error))
    {
      g_prefix_error (error, "the checkout %s ", checkout != NULL ? checkout->path : path);
      return NULL;
    }
  return g_steal_pointer (&checkout);
}

/* FALSE: a relative path that leads nowhere. The folder where the worker was started was looked in before. */
static gboolean
is_command_there (const char *command, const SrvCheckout *checkout, GError **error)
{
  g_autofree char *path = g_build_filename (checkout->path, command, NULL);
  if (strchr (command, '/') == NULL || g_path_is_absolute (command)
      || g_file_test (path, G_FILE_TEST_EXISTS))
    return TRUE;
  g_autofree char *here = g_get_current_dir ();
  g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_NOENT,
               "there is no %s, neither in the checkout %s nor in the folder where the worker was "
               "started, %s",
               command, checkout->path, here);
  return FALSE;
}

static gboolean
start (SrvJobRun *self, DbrJson claim, GError **error)
{
  const SrvJobSettings *settings = self->settings;
  g_autoptr (SrvCheckout) checkout = find_checkout (settings, claim, error);
  if (checkout == NULL || !is_command_there (settings->command[0], checkout, error))
    return FALSE;
  const SrvConfineView view
      = { .checkout = checkout, .secret = settings->token_file, .program = settings->command[0] };
  g_auto (GStrv) words = srv_confine_wrap (settings->confine, &view, settings->command);
  g_auto (GStrv) environment = make_environment (settings, claim);
  g_autofree char *input = make_input (dbr_json_get (claim, "task"));
  const SrvProcessOptions options = {
    .keeper = settings->keeper,
    .command = (const char *const *) words,
    .environment = (const char *const *) environment,
    .folder = checkout->path,
    .input = input,
    .tells_start = TRUE,
    .limit_ms = SRV_JOB_LIMIT_S * 1000u,
    .grace_ms = SRV_KEEP_GRACE_MS,
    .output = on_output,
    .done = on_command_done,
    .user_data = self,
  };
  self->process = srv_process_new (&options, error);
  return self->process != NULL;
}

SrvJobRun *
srv_job_run_new (const SrvJobSettings *settings, DbrJson claim, SrvJobDone done, gpointer user_data)
{
  SrvJobRun *self = g_new0 (SrvJobRun, 1);
  g_autoptr (GError) error = NULL;
  self->settings = settings;
  self->pending = g_string_new (NULL);
  self->tail = srv_output_new (SRV_JOB_LAST_LINES);
  self->done = done;
  self->user_data = user_data;
  DbrJson job = dbr_json_get (claim, "job");
  dbr_json_int64 (dbr_json_get (job, "id"), &self->id);
  set_pace (self, job);
  if (!start (self, claim, &error))
    {
      self->ended = TRUE;
      give_back (self, error->message);
      advance (self);
    }
  return self;
}

void
srv_job_run_stop (SrvJobRun *self)
{
  if (self->ended)
    return; /* it is being told how */
  self->stopping = TRUE;
  srv_process_stop (self->process);
}

void
srv_job_run_free (SrvJobRun *self)
{
  if (self == NULL)
    return;
  if (self->heartbeat_source != 0)
    g_source_remove (self->heartbeat_source);
  if (self->flush_source != 0)
    g_source_remove (self->flush_source);
  srv_client_drop (self->settings->client, self);
  srv_process_free (self->process);
  g_string_free (self->pending, TRUE);
  srv_output_free (self->tail);
  g_free (self->text);
  g_free (self->said);
  g_free (self);
}
