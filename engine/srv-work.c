/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-work: `drawbridge-engine work -- COMMAND…`: claims a job, runs the command for it, claims the next.
 *
 * One job at a time; start it several times for more. SIGTERM stops the command, gives the job back and ends. What a
 * person reads goes to standard error: a line when a job begins and ends, and one when there is nothing to do,
 * once for each reason.
 */
#include "config.h"

#include "dbr-text.h"
#include "srv-checkout.h"
#include "srv-claim.h"
#include "srv-command.h"
#include "srv-job.h"
#include "srv-place.h"

#include <glib-unix.h>
#include <glib/gi18n.h>
#include <string.h>
#include <unistd.h>

#define CLAIM_WAIT_S 30
#define CLAIM_PATIENCE_S (7u * 24u * 3600u) /* an engine that is away comes back */
#define FIRST_PAUSE_S 2u
#define MAX_PAUSE_S 60u
#define STOP_PATIENCE_S 20u

typedef struct
{
  SrvPlaceOptions place;
  char *name;
  char *checkout;
  char **variables;
  char **projects;
  char **states;
  gboolean unconfined;
  gboolean once;
} Options;

static void
options_clear (Options *self)
{
  g_free (self->place.socket);
  g_free (self->place.token_file);
  g_free (self->name);
  g_free (self->checkout);
  g_strfreev (self->variables);
  g_strfreev (self->projects);
  g_strfreev (self->states);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Options, options_clear)

typedef struct
{
  const Options *options;
  SrvJobSettings settings;
  GMainLoop *loop;
  SrvJobRun *job;
  char *label;   /* of the job: "job 5" */
  char *waiting; /* nullable: the reason that was said last */
  char *trouble; /* nullable: what was said last about the engine */
  guint jobs;
  gboolean stopping;
  gboolean answered; /* the engine did, so that we work for it */
  gint64 claimed_at; /* monotonic */
  guint pause_s;
  guint pause_source;
  int status;
} Worker;

/* Where a token for this comes from. */
static const char *const remedy = N_ (
    "\"drawbridge engine token new worker NAME\" makes a worker's token, for BRIGADA_TOKEN or a "
    "file.");

static void
claim (Worker *self);

static gboolean
on_next (gpointer user_data)
{
  Worker *self = user_data;
  self->pause_source = 0;
  g_clear_pointer (&self->job, srv_job_run_free);
  if (self->stopping || (self->options->once && self->jobs > 0))
    g_main_loop_quit (self->loop);
  else
    claim (self);
  return G_SOURCE_REMOVE;
}

/* Not from within the job's own callback. */
static void
next_soon (Worker *self, guint seconds)
{
  if (self->pause_source != 0)
    g_source_remove (self->pause_source);
  self->pause_source
      = seconds == 0 ? g_idle_add (on_next, self) : g_timeout_add_seconds (seconds, on_next, self);
}

/* One line, whatever an engine or a command put into it. */
static void G_GNUC_PRINTF (1, 2) say (const char *format, ...)
{
  g_autoptr (GString) safe = g_string_new (NULL);
  va_list arguments;
  va_start (arguments, format);
  g_autofree char *text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  dbr_text_append_safe (safe, text, -1, DBR_TEXT_ONE_LINE);
  g_printerr ("drawbridge-engine work: %s\n", safe->str);
}

/* @whole: of srv_place_problem(): its second line is ours. */
static void
say_problem (const char *whole)
{
  g_printerr ("drawbridge-engine work: %s\n", whole);
}

/* @status: of the answer that said so; 0: none did */
static void
refuse (Worker *self, guint status, const char *problem)
{
  g_autofree char *whole = srv_place_problem (status, problem, _ (remedy));
  say_problem (whole);
  self->status = 1;
  g_main_loop_quit (self->loop);
}

static void
on_job_done (SrvJobEnd end, const char *text, gpointer user_data)
{
  Worker *self = user_data;
  self->jobs++;
  say ("%s %s", self->label, text);
  if (end == SRV_JOB_UNSTARTED)
    {
      /* The next one would end the same way. */
      refuse (self, 0, _ ("it stops here: no command can be started as this worker was told to"));
      return;
    }
  next_soon (self, 0);
}

/* Once for each reason, not for each poll. */
static void
say_waiting (Worker *self, const char *reason, const char *text)
{
  if (g_strcmp0 (self->waiting, reason) == 0)
    return;
  g_free (self->waiting);
  self->waiting = g_strdup (reason);
  say (_ ("waiting: %s"), text);
}

static void
on_trouble (const char *problem, gpointer user_data)
{
  Worker *self = user_data;
  if (g_strcmp0 (problem, self->trouble) == 0)
    return;
  g_free (self->trouble);
  self->trouble = g_strdup (problem);
  if (problem != NULL)
    say (_ ("waiting: %s; trying again until it does"), problem);
  else if (self->answered)
    say (_ ("the engine answers again"));
}

static void
take (Worker *self, DbrJson claim)
{
  g_autofree char *title
      = dbr_json_dup_string (dbr_json_get (dbr_json_get (claim, "task"), "title"));
  g_autofree char *project
      = dbr_json_dup_string (dbr_json_get (dbr_json_get (claim, "project"), "name"));
  gint64 job = 0;
  gint64 task = 0;
  dbr_json_int64 (dbr_json_get (dbr_json_get (claim, "job"), "id"), &job);
  dbr_json_int64 (dbr_json_get (dbr_json_get (claim, "task"), "id"), &task);
  g_clear_pointer (&self->waiting, g_free);
  g_free (self->label);
  self->label = g_strdup_printf (_ ("job %lld:"), (long long) job);
  say (_ ("%s task %lld (\"%s\") of %s taken"), self->label, (long long) task,
       title != NULL ? title : "", project != NULL ? project : "");
  self->job = srv_job_run_new (&self->settings, claim, on_job_done, self);
}

/* Once it is so. */
static void
say_hello (Worker *self)
{
  if (!self->answered)
    say (srv_confine_is_real (self->settings.confine)
             ? _ ("%s works for the engine at %s; its command is shut in by bubblewrap")
             : _ ("%s works for the engine at %s; its command is NOT shut in: it can read every "
                  "token"),
         self->options->name, srv_client_name (self->settings.client));
  if (!self->answered && srv_confine_gap (self->settings.confine) != NULL)
    say ("%s", srv_confine_gap (self->settings.confine));
  self->answered = TRUE;
}

/* Each time longer, until there is an answer. */
static void
try_again_later (Worker *self, const char *problem)
{
  say_waiting (self, problem, problem);
  self->pause_s = MIN (MAX (FIRST_PAUSE_S, self->pause_s * 2), MAX_PAUSE_S);
  next_soon (self, self->pause_s);
}

/* A wrong address is told at once; behind one that was right, a proxy may speak for a while. */
static void
handle_strange (Worker *self, const char *problem)
{
  if (self->answered)
    try_again_later (self, problem);
  else
    refuse (self, 0, problem);
}

static void
handle_nothing (Worker *self, DbrJson waiting)
{
  g_autofree char *reason = dbr_json_dup_string (dbr_json_get (waiting, "code"));
  g_autofree char *text = dbr_json_dup_string (dbr_json_get (waiting, "text"));
  /* It was asked to wait: one that doesn't is not asked without end. */
  gboolean is_hasty
      = self->waiting != NULL && g_get_monotonic_time () - self->claimed_at < G_USEC_PER_SEC / 2;
  say_waiting (self, reason, text);
  next_soon (self, is_hasty ? 1 : 0);
}

static void
handle_claim (Worker *self, DbrJson body)
{
  g_autofree char *strange = NULL;
  switch (srv_claim_judge (body))
    {
    case SRV_CLAIM_JOB:
      say_hello (self);
      self->pause_s = 0;
      take (self, body);
      break;
    case SRV_CLAIM_NOTHING:
      say_hello (self);
      self->pause_s = 0;
      handle_nothing (self, dbr_json_get (body, "waiting"));
      break;
    case SRV_CLAIM_STRANGE:
    default:
      strange = srv_client_strange (self->settings.client,
                                    _ ("status 200 with neither a job nor why there is none"));
      handle_strange (self, strange);
      break;
    }
}

static void
on_claimed (guint status, DbrJson body, const GError *error, gpointer user_data)
{
  Worker *self = user_data;
  if (status == 200)
    {
      handle_claim (self, body);
      return;
    }
  g_autofree char *problem = srv_client_problem (status, body, error);
  if (g_error_matches (error, SRV_CLIENT_ERROR, SRV_CLIENT_ERROR_ANSWER))
    handle_strange (self, problem);
  else if (status == 0 || (status >= 400 && status < 500 && status != 429))
    refuse (self, status, problem); /* the engine's own trouble passes; ours doesn't */
  else
    try_again_later (self, problem);
}

static void
claim (Worker *self)
{
  /* Not waiting the first time: so that it can be said at once why there is nothing. */
  json_t *body = json_pack ("{s:s, s:i, s:b}", "worker", self->options->name, "wait",
                            self->waiting != NULL ? CLAIM_WAIT_S : 0, "needs_checkout",
                            self->options->checkout == NULL);
  json_t *projects = json_array ();
  for (gsize i = 0; self->options->projects != NULL && self->options->projects[i] != NULL; i++)
    json_array_append_new (projects, json_string (self->options->projects[i]));
  if (json_array_size (projects) > 0)
    json_object_set_new (body, "projects", projects);
  else
    json_decref (projects);
  self->claimed_at = g_get_monotonic_time ();
  srv_client_post (self->settings.client, "/v1/jobs/claim", body, CLAIM_PATIENCE_S, on_claimed,
                   self);
}

static gboolean
on_patience_over (gpointer user_data)
{
  Worker *self = user_data;
  g_main_loop_quit (self->loop);
  return G_SOURCE_REMOVE;
}

static gboolean
on_signal (gpointer user_data)
{
  Worker *self = user_data;
  if (self->job == NULL || self->stopping)
    {
      g_main_loop_quit (self->loop);
      return G_SOURCE_CONTINUE;
    }
  self->stopping = TRUE;
  g_timeout_add_seconds (STOP_PATIENCE_S, on_patience_over, self);
  srv_job_run_stop (self->job);
  return G_SOURCE_CONTINUE;
}

static int
work (Worker *self)
{
  guint term = g_unix_signal_add (SIGTERM, on_signal, self);
  guint interrupt = g_unix_signal_add (SIGINT, on_signal, self);
  srv_client_set_trouble (self->settings.client, on_trouble, self);
  claim (self);
  g_main_loop_run (self->loop);
  g_source_remove (term);
  g_source_remove (interrupt);
  g_clear_pointer (&self->job, srv_job_run_free);
  srv_client_set_trouble (self->settings.client, NULL, NULL);
  g_free (self->label);
  g_free (self->waiting);
  g_free (self->trouble);
  return self->status;
}

/* What could only fail one job after the other is refused before the first. NULL: nothing. Transfer full.
 * @command: in, out: made absolute, if it is one of this folder. */
static char *
find_problem (const Options *options, const char *const *states, char **command)
{
  g_autoptr (GError) error = NULL;
  for (gsize i = 0; options->projects != NULL && options->projects[i] != NULL; i++)
    if (*options->projects[i] == '\0')
      return g_strdup (_ ("--project takes the number, name or repository URL of a project"));
  if (*command == NULL)
    return g_strdup (_ ("say which command does the jobs: work -- COMMAND [ARGUMENT...]"));
  if (options->checkout != NULL && !g_path_is_absolute (options->checkout))
    return g_strdup (_ ("--checkout takes an absolute path"));
  if (options->checkout != NULL && !g_file_test (options->checkout, G_FILE_TEST_IS_DIR))
    return g_strdup_printf (_ ("--checkout %s is no folder"), options->checkout);
  if (options->checkout != NULL)
    {
      g_autoptr (SrvCheckout) checkout = srv_checkout_open (options->checkout, states, &error);
      gboolean whole = TRUE;
      if (checkout == NULL
          || !srv_checkout_keeps_apart (checkout, options->place.token_file, &error)
          || !srv_checkout_look (checkout, &whole, &error))
        return g_strdup_printf ("--checkout %s %s", options->checkout, error->message);
      if (!whole)
        say (_ ("%s has too many names to look for other engines' folders in all of it"),
             checkout->path);
    }
  char *problem = NULL;
  char *given = *command;
  *command = srv_place_find_command (given, options->checkout, &problem);
  g_free (given);
  return problem;
}

/* @command: words, the first is there. */
static int
work_as_told (Options *options, const char *const *command, const char *const *states)
{
  g_autoptr (GError) error = NULL;
  if (options->name == NULL)
    options->name = g_strdup_printf ("%.60s:%d", g_get_host_name (), (int) getpid ());
  signal (SIGPIPE, SIG_IGN);
  g_autofree char *keeper = srv_place_keeper ();
  g_autoptr (SrvConfine) confine = options->unconfined ? srv_confine_new_unconfined (keeper)
                                                       : srv_confine_new (keeper, states, &error);
  g_autoptr (SrvClient) client
      = confine != NULL ? srv_place_client (&options->place, NULL, &error) : NULL;
  if (client == NULL)
    {
      g_autofree char *whole = srv_place_problem (
          g_error_matches (error, SRV_CLIENT_ERROR, SRV_CLIENT_ERROR_TOKEN) ? 401 : 0,
          error->message, _ (remedy));
      say_problem (whole);
      return 1;
    }
  g_autoptr (GMainLoop) loop = g_main_loop_new (NULL, FALSE);
  Worker worker = {
    .options = options,
    .settings = { .client = client,
                  .confine = confine,
                  .keeper = keeper,
                  .command = command,
                  .variables = (const char *const *) options->variables,
                  .checkout = options->checkout,
                  .token_file = options->place.token_file,
                  .states = states },
    .loop = loop,
  };
  return work (&worker);
}

int
srv_cmd_work (int argc, char **argv)
{
  g_auto (Options) options = { 0 };
  const GOptionEntry entries[] = {
    SRV_PLACE_ENTRIES (options.place, srv_place_token_help),
    { "name", 0, 0, G_OPTION_ARG_STRING, &options.name,
      N_ ("the worker's name (default: HOST:PID)"), "NAME" },
    { "project", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options.projects,
      N_ ("only jobs of this project: number, name or repository URL; may be repeated"),
      "PROJECT" },
    { "checkout", 0, 0, G_OPTION_ARG_FILENAME, &options.checkout,
      N_ ("where the command runs (default: the project's checkout)"), "FOLDER" },
    { "env", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options.variables,
      N_ ("pass this variable on to the command; may be repeated"), "NAME" },
    { "state", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options.states,
      N_ ("keep the command from the folder of this engine's state too; may be repeated"), "FILE" },
    { "once", 0, 0, G_OPTION_ARG_NONE, &options.once, N_ ("end after one job"), NULL },
    { "unconfined", 0, 0, G_OPTION_ARG_NONE, &options.unconfined,
      N_ ("run the command without bubblewrap: it can then read every token"), NULL },
    { NULL },
  };
  int status = 0;
  if (!srv_command_parse (
          &argc, &argv, entries, N_ ("-- COMMAND [ARGUMENT...]"),
          N_ ("Claims jobs and runs COMMAND for each: the brief on its standard input, "
              "the ids in BRIGADA_*; "
              "exit status 0: done, 75: somebody should review it, else failed."),
          &status))
    return status;
  g_auto (GStrv) states = srv_checkout_states ((const char *const *) options.states);
  g_auto (GStrv) command = g_strdupv (argv + 1);
  g_autofree char *problem = find_problem (&options, (const char *const *) states, &command[0]);
  if (problem != NULL)
    {
      say ("%s", problem);
      return 2;
    }
  return work_as_told (&options, (const char *const *) command, (const char *const *) states);
}
