/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-job: events go out one after the other, so that their order is their number; the end waits for the last of them.
 */
#include "config.h"

#include "srv-job.h"

#include "srv-keep.h"
#include "srv-output.h"
#include "srv-preset.h"
#include "srv-process.h"

#include <string.h>

#define TELL_PATIENCE_S 600u
#define LAST_WORDS_PATIENCE_S 5u
#define DEFAULT_HEARTBEAT_S 20
#define MAX_HEARTBEAT_S 3600

struct _SrvJobRun
{
  const SrvJobSettings *settings;
  gint64 id;
  gint64 sequence; /* of the last event that was sent */
  SrvProcess *process;
  GString *pending; /* printed and not sent */
  guint64 left_out; /* bytes that did not fit */
  gboolean sending;
  gboolean ended;    /* the command */
  gboolean stopping; /* by us */
  gboolean taken;    /* by the engine */
  gboolean finishing;
  char *outcome;
  char *text; /* nullable */
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
be_taken (SrvJobRun *self)
{
  self->taken = TRUE;
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
on_event_told (guint status, DbrJson body G_GNUC_UNUSED, const GError *error, gpointer user_data)
{
  SrvJobRun *self = user_data;
  self->sending = FALSE;
  if (is_over (status))
    be_taken (self);
  else if (error != NULL)
    g_printerr ("job %" G_GINT64_FORMAT ": %s\n", self->id, error->message);
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
  g_autofree char *problem = NULL;
  if (status == 200)
    {
      come_to_end (self, SRV_JOB_TOLD, self->outcome);
      return;
    }
  problem = srv_client_problem (status, body, error);
  come_to_end (self, is_over (status) ? SRV_JOB_TAKEN : SRV_JOB_ABANDONED, problem);
}

static void
on_last_words (guint status G_GNUC_UNUSED,
               DbrJson body G_GNUC_UNUSED,
               const GError *error G_GNUC_UNUSED,
               gpointer user_data)
{
  come_to_end (user_data, SRV_JOB_ABANDONED, "stopped");
}

static void
finish (SrvJobRun *self)
{
  g_autofree char *path = job_path (self, self->stopping ? "events" : "finish");
  self->finishing = TRUE;
  self->sequence++;
  if (self->stopping)
    {
      srv_client_post (self->settings->client, path,
                       json_pack ("{s:I, s:s}", "sequence", (json_int_t) self->sequence, "text",
                                  "The worker was told to stop. It gives the job up."),
                       LAST_WORDS_PATIENCE_S, on_last_words, self);
      return;
    }
  srv_client_post (self->settings->client, path,
                   json_pack ("{s:I, s:s, s:s?}", "sequence", (json_int_t) self->sequence,
                              "outcome", self->outcome, "text", self->text),
                   TELL_PATIENCE_S, on_finish_told, self);
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
      come_to_end (self, SRV_JOB_TAKEN, "the engine took the job away");
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

static void
on_command_done (SrvProcessEnd end, int value, gpointer user_data)
{
  SrvJobRun *self = user_data;
  self->ended = TRUE;
  if (end == SRV_PROCESS_ENDED && value == 0)
    self->outcome = g_strdup ("succeeded");
  else if (end == SRV_PROCESS_ENDED && value == SRV_JOB_REVIEW)
    self->outcome = g_strdup ("review");
  else
    {
      g_autofree char *how = srv_process_describe (end, value);
      self->outcome = g_strdup ("failed");
      self->text = g_strdup_printf ("The worker's command %s.", how);
    }
  if (self->heartbeat_source != 0 && self->taken)
    {
      g_source_remove (self->heartbeat_source);
      self->heartbeat_source = 0;
    }
  advance (self);
}

/* ---------------------------------------------------------------------------------- heartbeat */
static void
on_heartbeat_told (guint status,
                   DbrJson body G_GNUC_UNUSED,
                   const GError *error G_GNUC_UNUSED,
                   gpointer user_data)
{
  SrvJobRun *self = user_data;
  if (is_over (status) && !self->finishing)
    {
      be_taken (self);
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

static gboolean
start (SrvJobRun *self, DbrJson claim, GError **error)
{
  const SrvJobSettings *settings = self->settings;
  g_autofree char *theirs
      = dbr_json_dup_string (dbr_json_get (dbr_json_get (claim, "project"), "checkout"));
  const char *checkout = settings->checkout != NULL ? settings->checkout : theirs;
  if (checkout == NULL || !g_file_test (checkout, G_FILE_TEST_IS_DIR))
    {
      g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_NOTDIR, "%s",
                   checkout == NULL ? "the project has no checkout, and the worker was given none"
                                    : "the project's checkout is no folder where the worker runs");
      return FALSE;
    }
  const SrvConfineView view = { .checkout = checkout, .secret = settings->token_file };
  g_auto (GStrv) words = srv_confine_wrap (settings->confine, &view, settings->command);
  g_auto (GStrv) environment = make_environment (settings, claim);
  g_autofree char *input = make_input (dbr_json_get (claim, "task"));
  const SrvProcessOptions options = {
    .keeper = settings->keeper,
    .command = (const char *const *) words,
    .environment = (const char *const *) environment,
    .folder = checkout,
    .input = input,
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
  gint64 seconds = DEFAULT_HEARTBEAT_S;
  self->settings = settings;
  self->pending = g_string_new (NULL);
  self->done = done;
  self->user_data = user_data;
  DbrJson job = dbr_json_get (claim, "job");
  dbr_json_int64 (dbr_json_get (job, "id"), &self->id);
  dbr_json_int64 (dbr_json_get (job, "heartbeat_seconds"), &seconds);
  self->heartbeat_source
      = g_timeout_add_seconds ((guint) CLAMP (seconds, 1, MAX_HEARTBEAT_S), on_heartbeat, self);
  if (!start (self, claim, &error))
    {
      self->ended = TRUE;
      self->outcome = g_strdup ("failed");
      self->text = g_strdup_printf ("The worker could not start its command: %s.", error->message);
      advance (self);
    }
  return self;
}

void
srv_job_run_stop (SrvJobRun *self)
{
  self->stopping = TRUE;
  if (self->process != NULL && !self->ended)
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
  g_free (self->outcome);
  g_free (self->text);
  g_free (self);
}
