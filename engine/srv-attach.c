/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-attach: `drawbridge-engine attach -- COMMAND…`: a person's own chat is the foreman as long as the command runs.
 *
 * The command keeps the terminal; it finds the lease's token in its environment and, as {config}, in a
 * private file in the form most harnesses read. Here only the lease is kept alive, every third of its time.
 */
#include "config.h"

#include "dbr-place.h"
#include "dbr-token.h"
#include "srv-command.h"
#include "srv-place.h"
#include "srv-preset.h"
#include "srv-turn-folder.h"

#include <glib-unix.h>
#include <glib/gi18n.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TTL_S 300
#define TAKE_PATIENCE_S 10u
#define END_PATIENCE_S 10u

typedef struct
{
  SrvPlaceOptions place;
  char *project;
  char *holder;
} Options;

static void
options_clear (Options *self)
{
  g_free (self->place.socket);
  g_free (self->place.token_file);
  g_free (self->project);
  g_free (self->holder);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Options, options_clear)

typedef struct
{
  const Options *options;
  SrvClient *client;
  char **command; /* nullable words: none was given */
  GMainLoop *loop;
  char *folder;
  gint64 lease;
  guint renew_source;
  GPid pid;
  int status;
} Chat;

/* Where a token for this comes from. */
static const char *const remedy
    = N_ ("Attaching takes an admin's token: that of --token-file, else of BRIGADA_TOKEN, else the "
          "admin's own file beside the engine's state. \"drawbridge engine token new admin NAME\" "
          "makes another one.");

static void
end_lease (Chat *self);

static char *
lease_path (const Chat *self, const char *verb)
{
  return g_strdup_printf ("/v1/leases/%" G_GINT64_FORMAT "/%s", self->lease, verb);
}

static void
on_ended (guint status, DbrJson body, const GError *error, gpointer user_data)
{
  Chat *self = user_data;
  if (status != 200 && status != 409)
    {
      g_autofree char *problem = srv_client_problem (status, body, error);
      g_printerr (
          _ ("drawbridge-engine attach: the chat could not be detached, it will be in %d s at "
             "most: %s\n"),
          TTL_S, problem);
    }
  g_main_loop_quit (self->loop);
}

static void
end_lease (Chat *self)
{
  g_autofree char *path = lease_path (self, "end");
  if (self->renew_source != 0)
    g_source_remove (self->renew_source);
  self->renew_source = 0;
  srv_client_post (self->client, path, json_pack ("{s:s}", "outcome", "done"), END_PATIENCE_S,
                   on_ended, self);
}

static void
on_renewed (guint status, DbrJson body, const GError *error, gpointer user_data)
{
  Chat *self = user_data;
  if (status == 200)
    return;
  g_autofree char *problem = srv_client_problem (status, body, error);
  g_printerr (_ ("drawbridge-engine attach: not attached any more: %s\n"), problem);
  if (status != 0 && self->renew_source != 0)
    {
      g_source_remove (self->renew_source);
      self->renew_source = 0;
    }
}

static gboolean
on_renew (gpointer user_data)
{
  Chat *self = user_data;
  g_autofree char *path = lease_path (self, "renew");
  srv_client_post (self->client, path, json_pack ("{s:i}", "ttl", TTL_S), TTL_S / 3, on_renewed,
                   self);
  return G_SOURCE_CONTINUE;
}

/* ------------------------------------------------------------------------------------ command */
static void
on_command_ended (GPid pid, gint status, gpointer user_data)
{
  Chat *self = user_data;
  g_spawn_close_pid (pid);
  self->pid = 0;
  self->status = WIFEXITED (status) ? WEXITSTATUS (status) : 128 + WTERMSIG (status);
  end_lease (self);
}

static char **
chat_environment (const char *token)
{
  char **environment = g_get_environ ();
  environment = g_environ_setenv (environment, "BRIGADA_TOKEN", token, TRUE);
  return g_environ_setenv (environment, "BRIGADA_ALLOW_WRITES", "1", TRUE);
}

static SrvPreset *
make_preset (Chat *self, DbrJson lease, const char *token, GError **error)
{
  g_autofree char *bridge = srv_place_bridge ();
  g_autofree char *here = g_get_current_dir ();
  g_autoptr (GPtrArray) variables = g_ptr_array_new ();
  json_auto_t *words = json_array ();
  json_auto_t *foreman = json_object ();
  SrvPresetValues values = {
    .name = "",
    .repo = "",
    .checkout = here,
    .socket = self->options->place.socket,
    .bridge = bridge != NULL ? bridge : "drawbridge",
    .folder = self->folder,
    .token = token,
    .home = g_get_home_dir (),
  };
  dbr_json_int64 (dbr_json_get (lease, "project"), &values.project);
  for (gsize i = 0; self->command != NULL && self->command[i] != NULL; i++)
    json_array_append_new (words, json_string (self->command[i]));
  if (json_array_size (words) == 0)
    json_array_append_new (words, json_string ("{config}"));
  json_object_set (foreman, "command", words);
  SrvPreset *preset = srv_preset_render (foreman, &values, error);
  if (preset != NULL && !srv_preset_write (preset, self->folder, error))
    g_clear_pointer (&preset, srv_preset_free);
  return preset;
}

static gboolean
start_chat (Chat *self, DbrJson lease, GError **error)
{
  g_autofree char *token = dbr_json_dup_string (dbr_json_get (lease, "token"));
  g_autofree char *temporary = g_build_filename (g_get_user_runtime_dir (), "drawbridge", NULL);
  if (!srv_turn_folder_prepare (temporary, error))
    return FALSE;
  self->folder = srv_turn_folder_new (temporary, error);
  g_autoptr (SrvPreset) preset
      = self->folder != NULL ? make_preset (self, lease, token != NULL ? token : "", error) : NULL;
  if (preset == NULL)
    return FALSE;
  if (self->command == NULL)
    {
      g_print (_ ("attached; the server's entry is in %s/%s; Ctrl-C detaches\n"), self->folder,
               preset->file);
      return TRUE;
    }
  g_auto (GStrv) environment = chat_environment (token != NULL ? token : "");
  if (!g_spawn_async (NULL, preset->command, environment,
                      G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD
                          | G_SPAWN_CHILD_INHERITS_STDIN,
                      NULL, NULL, &self->pid, error))
    return FALSE;
  g_child_watch_add (self->pid, on_command_ended, self);
  return TRUE;
}

/* What to do about a refusal: the engine only says what is so. */
static void
print_advice (DbrJson refusal)
{
  g_autofree char *code = dbr_json_dup_string (dbr_json_get (refusal, "code"));
  g_autofree char *nearest
      = srv_client_text (dbr_json_get (dbr_json_get (refusal, "nearest"), "ref"));

  if (g_strcmp0 (code, "lease_held") == 0)
    g_printerr (_ ("It ends by itself, with the chat or turn that holds it, or by \"drawbridge "
                   "engine lease end LEASE\".\n"));
  if (nearest != NULL)
    g_printerr (_ ("Did you mean %s?\n"), nearest);
  if (g_strcmp0 (code, "project_needed") == 0 || g_strcmp0 (code, "no_project") == 0)
    g_printerr (_ ("Name one by --project; \"drawbridge engine project list\" shows them.\n"));
}

/* FALSE: no engine answers so. */
static gboolean
read_lease (Chat *self, DbrJson body)
{
  g_autofree char *token = dbr_json_dup_string (dbr_json_get (body, "token"));
  gint64 lease = 0;
  gint64 project = 0;
  if (!dbr_json_int64 (dbr_json_get (body, "id"), &lease) || lease < 1
      || !dbr_json_int64 (dbr_json_get (body, "project"), &project) || project < 1 || token == NULL
      || !dbr_token_check (token, strlen (token), "token", NULL))
    return FALSE;
  self->lease = lease;
  return TRUE;
}

static void
on_attached (guint status, DbrJson body, const GError *error, gpointer user_data)
{
  Chat *self = user_data;
  g_autoptr (GError) trouble = NULL;
  if (status != 201)
    {
      g_autofree char *problem = srv_client_problem (status, body, error);
      g_autofree char *whole = srv_place_problem (status, problem, _ (remedy));
      g_printerr ("drawbridge-engine attach: %s\n", whole);
      print_advice (body);
      self->status = 1;
      g_main_loop_quit (self->loop);
      return;
    }
  if (!read_lease (self, body))
    {
      g_autofree char *text = srv_client_strange (self->client, _ ("status 201 without a lease"));
      g_printerr ("drawbridge-engine attach: %s\n", text);
      self->status = 1;
      g_main_loop_quit (self->loop);
      return;
    }
  if (!start_chat (self, body, &trouble))
    {
      g_printerr ("drawbridge-engine attach: %s\n", trouble->message);
      self->status = 1;
      end_lease (self);
      return;
    }
  self->renew_source = g_timeout_add_seconds (TTL_S / 3, on_renew, self);
}

/* The terminal gives its Ctrl-C to the command too: that decides what it means. */
static gboolean
on_interrupt (gpointer user_data)
{
  Chat *self = user_data;
  if (self->lease == 0)
    g_main_loop_quit (self->loop);
  else if (self->pid == 0)
    end_lease (self);
  return G_SOURCE_CONTINUE;
}

static gboolean
on_terminate (gpointer user_data)
{
  Chat *self = user_data;
  if (self->pid == 0)
    return on_interrupt (user_data);
  kill (self->pid, SIGTERM);
  return G_SOURCE_CONTINUE;
}

static int
attach (Chat *self)
{
  const char *project = self->options->project != NULL ? self->options->project : "~";
  gboolean is_id = g_ascii_string_to_unsigned (project, 10, 1, G_MAXINT64, NULL, NULL);
  g_autofree char *escaped = g_uri_escape_string (project, NULL, FALSE);
  g_autofree char *path = is_id || strcmp (project, "~") == 0
                              ? g_strdup_printf ("/v1/projects/%s/attach", project)
                              : g_strdup_printf ("/v1/projects/~/attach?repo_url=%s", escaped);
  const guint sources[] = { g_unix_signal_add (SIGINT, on_interrupt, self),
                            g_unix_signal_add (SIGTERM, on_terminate, self),
                            g_unix_signal_add (SIGHUP, on_terminate, self) };
  srv_client_post (self->client, path,
                   json_pack ("{s:s, s:i}", "holder", self->options->holder, "ttl", TTL_S),
                   TAKE_PATIENCE_S, on_attached, self);
  g_main_loop_run (self->loop);
  for (gsize i = 0; i < G_N_ELEMENTS (sources); i++)
    g_source_remove (sources[i]);
  if (self->folder != NULL)
    srv_turn_folder_remove (self->folder);
  g_free (self->folder);
  return self->status;
}

/* @command: (nullable): words */
static int
attach_as_told (Options *options, char **command)
{
  g_autoptr (GError) error = NULL;
  if (options->holder == NULL)
    {
      /* Cut inside a character it would be no JSON. */
      g_autofree char *cut = g_strndup (g_get_user_name (), 60);
      options->holder = g_utf8_make_valid (cut, -1);
    }
  g_autofree char *state = dbr_place_state ();
  g_autofree char *admin_file = dbr_place_admin_token (state);
  signal (SIGPIPE, SIG_IGN);
  g_autoptr (SrvClient) client = srv_place_client (&options->place, admin_file, &error);
  if (client == NULL)
    {
      gboolean is_token = error->domain == DBR_TOKEN_ERROR
                          || g_error_matches (error, SRV_CLIENT_ERROR, SRV_CLIENT_ERROR_TOKEN);
      g_autofree char *whole = srv_place_problem (is_token ? 401 : 0, error->message, _ (remedy));
      g_printerr ("drawbridge-engine attach: %s\n", whole);
      return 1;
    }
  g_autoptr (GMainLoop) loop = g_main_loop_new (NULL, FALSE);
  Chat chat = { .options = options, .client = client, .command = command, .loop = loop };
  return attach (&chat);
}

int
srv_cmd_attach (int argc, char **argv)
{
  g_auto (Options) options = { 0 };
  const GOptionEntry entries[] = {
    SRV_PLACE_ENTRIES (options.place, srv_place_admin_token_help),
    { "project", 0, 0, G_OPTION_ARG_STRING, &options.project,
      N_ ("number, name or repository URL (default: the only one)"), "PROJECT" },
    { "holder", 0, 0, G_OPTION_ARG_STRING, &options.holder, N_ ("who attaches (default: USER)"),
      "NAME" },
    { NULL },
  };
  int status = 0;
  if (!srv_command_parse (
          &argc, &argv, entries, N_ ("[-- COMMAND [ARGUMENT...]]"),
          N_ ("Attaches this chat to a project: it is the foreman as long as COMMAND "
              "runs. {config} in an "
              "argument is the file with the server's entry."),
          &status))
    return status;
  g_autofree char *here = g_get_current_dir ();
  g_autofree char *problem = argc > 1 ? srv_place_command_problem (argv[1], here) : NULL;
  if (problem != NULL)
    {
      g_printerr ("drawbridge-engine attach: %s\n", problem);
      return 2;
    }
  return attach_as_told (&options, argc > 1 ? argv + 1 : NULL);
}
