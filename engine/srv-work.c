/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-work: `drawbridge-engine work -- COMMAND…`: claims a job, runs the command for it, claims the next.
 *
 * One job at a time; start it several times for more. SIGTERM stops the command, tells the engine and ends.
 */
#include "config.h"

#include "dbr-place.h"
#include "srv-command.h"
#include "srv-job.h"
#include "srv-place.h"

#include <glib-unix.h>
#include <unistd.h>

#define CLAIM_WAIT_S 30
#define CLAIM_PATIENCE_S (7u * 24u * 3600u) /* an engine that is away comes back */
#define REFUSED_PAUSE_S 2u
#define STOP_PATIENCE_S 20u

typedef struct
{
  SrvPlaceOptions place;
  char *name;
  char *checkout;
  char **variables;
  char **projects;
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
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Options, options_clear)

typedef struct
{
  const Options *options;
  SrvJobSettings settings;
  GMainLoop *loop;
  SrvJobRun *job;
  guint jobs;
  gboolean stopping;
  guint pause_source;
  int status;
} Worker;

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

static void
on_job_done (SrvJobEnd end, const char *text, gpointer user_data)
{
  Worker *self = user_data;
  static const char *const words[] = { "ended", "was taken away", "was given up" };
  self->jobs++;
  g_printerr ("drawbridge-engine work: the job %s: %s\n", words[end], text);
  next_soon (self, 0);
}

static void
refuse (Worker *self, const char *text)
{
  g_printerr ("drawbridge-engine work: %s\n", text);
  self->status = 1;
  g_main_loop_quit (self->loop);
}

static void
on_claimed (guint status, DbrJson body, const GError *error, gpointer user_data)
{
  Worker *self = user_data;
  if (status == 200)
    {
      g_autofree char *title
          = dbr_json_dup_string (dbr_json_get (dbr_json_get (body, "task"), "title"));
      gint64 id = 0;
      dbr_json_int64 (dbr_json_get (dbr_json_get (body, "job"), "id"), &id);
      g_printerr ("drawbridge-engine work: job %" G_GINT64_FORMAT ": %s\n", id,
                  title != NULL ? title : "");
      self->job = srv_job_run_new (&self->settings, body, on_job_done, self);
      return;
    }
  if (status == 204)
    {
      next_soon (self, 0);
      return;
    }
  g_autofree char *problem = srv_client_problem (status, body, error);
  /* The engine's own trouble passes; ours doesn't. */
  if (status == 0 || (status >= 400 && status < 500 && status != 429))
    refuse (self, problem);
  else
    next_soon (self, REFUSED_PAUSE_S);
}

static void
claim (Worker *self)
{
  json_t *body = json_pack ("{s:s, s:i}", "worker", self->options->name, "wait", CLAIM_WAIT_S);
  json_t *projects = json_array ();
  for (gsize i = 0; self->options->projects != NULL && self->options->projects[i] != NULL; i++)
    json_array_append_new (projects,
                           json_integer (g_ascii_strtoll (self->options->projects[i], NULL, 10)));
  if (json_array_size (projects) > 0)
    json_object_set_new (body, "projects", projects);
  else
    json_decref (projects);
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
  claim (self);
  g_main_loop_run (self->loop);
  g_source_remove (term);
  g_source_remove (interrupt);
  g_clear_pointer (&self->job, srv_job_run_free);
  return self->status;
}

static SrvConfine *
make_confine (const Options *options, GError **error)
{
  g_autofree char *state = dbr_place_state ();
  g_autofree char *folder = g_path_get_dirname (state);
  return options->unconfined ? srv_confine_new_unconfined () : srv_confine_new (folder, error);
}

static gboolean
options_check (const Options *options, int argc)
{
  const char *problem = NULL;
  if (argc < 2)
    problem = "say which command does the jobs: work -- COMMAND [ARGUMENT...]";
  else if (options->checkout != NULL && !g_path_is_absolute (options->checkout))
    problem = "--checkout takes an absolute path";
  for (gsize i = 0; options->projects != NULL && options->projects[i] != NULL; i++)
    if (!g_ascii_string_to_unsigned (options->projects[i], 10, 1, G_MAXINT64, NULL, NULL))
      problem = "--project takes the number of a project";
  if (problem != NULL)
    g_printerr ("drawbridge-engine work: %s\n", problem);
  return problem == NULL;
}

int
srv_cmd_work (int argc, char **argv)
{
  g_auto (Options) options = { 0 };
  const GOptionEntry entries[] = {
    SRV_PLACE_ENTRIES (options.place),
    { "name", 0, 0, G_OPTION_ARG_STRING, &options.name, "the worker's name (default: HOST:PID)",
      "NAME" },
    { "project", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options.projects,
      "only jobs of this project; may be repeated", "ID" },
    { "checkout", 0, 0, G_OPTION_ARG_FILENAME, &options.checkout,
      "where the command runs (default: the project's checkout)", "FOLDER" },
    { "env", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options.variables,
      "pass this variable on to the command; may be repeated", "NAME" },
    { "once", 0, 0, G_OPTION_ARG_NONE, &options.once, "end after one job", NULL },
    { "unconfined", 0, 0, G_OPTION_ARG_NONE, &options.unconfined,
      "run the command without bubblewrap: it can then read every token", NULL },
    { NULL },
  };
  g_autoptr (GError) error = NULL;
  int status = 0;
  if (!srv_command_parse (&argc, &argv, entries, "-- COMMAND [ARGUMENT…]",
                          "Claims jobs and runs COMMAND for each: the brief on its standard input, "
                          "the ids in BRIGADA_*; "
                          "exit status 0: done, 75: somebody should review it, else failed.",
                          &status))
    return status;
  /* GOption leaves the "--" in front of what follows it. */
  if (argc > 1 && g_strcmp0 (argv[1], "--") == 0)
    {
      argv++;
      argc--;
    }
  if (!options_check (&options, argc))
    return 2;
  if (options.name == NULL)
    options.name = g_strdup_printf ("%.60s:%d", g_get_host_name (), (int) getpid ());
  signal (SIGPIPE, SIG_IGN);
  g_autofree char *program = srv_place_program ();
  g_autoptr (SrvConfine) confine = make_confine (&options, &error);
  g_autoptr (SrvClient) client
      = confine != NULL ? srv_place_client (&options.place, NULL, &error) : NULL;
  if (client == NULL)
    {
      g_printerr ("drawbridge-engine work: %s\n", error->message);
      return 1;
    }
  g_autoptr (GMainLoop) loop = g_main_loop_new (NULL, FALSE);
  Worker worker = {
    .options = &options,
    .settings = { .client = client,
                  .confine = confine,
                  .keeper = program,
                  .command = (const char *const *) (argv + 1),
                  .variables = (const char *const *) options.variables,
                  .checkout = options.checkout,
                  .token_file = options.place.token_file },
    .loop = loop,
  };
  return work (&worker);
}
