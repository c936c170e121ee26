/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-serve: `drawbridge-engine serve`: opens the store, listens, and lets time pass until it is
 * told to end. Works with no configuration at all.
 */
#include "config.h"

#include "dbr-place.h"
#include "srv-auth.h"
#include "srv-command.h"
#include "srv-folder.h"
#include "srv-host.h"
#include "srv-http.h"
#include "srv-place.h"
#include "srv-rules.h"
#include "srv-runner.h"
#include "srv-secret.h"

#include <glib-unix.h>
#include <glib/gi18n.h>
#include <glib/gstdio.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct
{
  char *socket;
  char *state;
  char **listen;
  char *tls_cert;
  char *tls_key;
  gint max_wait_s;
  gint heartbeat_s;
  gint request_timeout_s;
  gboolean is_unconfined;
  SrvHost host;
} Options;

static void
options_clear (Options *options)
{
  g_free (options->socket);
  g_free (options->state);
  g_strfreev (options->listen);
  g_free (options->tls_cert);
  g_free (options->tls_key);
  srv_host_clear (&options->host);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Options, options_clear)

/* Written whole or not at all, and readable for us only from its first moment. */
static gboolean
secret_write (const char *secret, gpointer user_data)
{
  const char *path = user_data;
  g_autofree char *new_path = g_strconcat (path, ".new", NULL);
  g_autofree char *line = g_strconcat (secret, "\n", NULL);
  gsize length = strlen (line);
  gboolean ok;
  int fd;

  g_unlink (new_path);
  fd = g_open (new_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  ok = fd >= 0 && write (fd, line, length) == (gssize) length && fsync (fd) == 0;
  if (fd >= 0 && close (fd) != 0)
    ok = FALSE;
  if (ok && g_rename (new_path, path) == 0)
    return TRUE;
  g_printerr (_ ("drawbridge-engine: can't write the admin token to %s: %s\n"), path,
              g_strerror (errno));
  g_unlink (new_path);
  return FALSE;
}

/* NULL: nothing there that can be a token. */
static char *
secret_read (const char *path)
{
  char text[SRV_SECRET_LENGTH + 2];
  int fd = g_open (path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
  ssize_t n = fd >= 0 ? read (fd, text, sizeof text - 1) : -1;

  if (fd >= 0)
    close (fd);
  text[MAX (n, 0)] = '\0';
  g_strchomp (text);
  return strlen (text) == SRV_SECRET_LENGTH ? g_strdup (text) : NULL;
}

static SrvEngine *
engine_open (Options *options)
{
  g_autofree char *token_file = dbr_place_admin_token (options->state);
  g_autofree char *kept = secret_read (token_file);
  const SrvEngineOptions engine_options = { .file = options->state,
                                            .synchronous = TRUE,
                                            .world = &options->host.world,
                                            .keep_secret = secret_write,
                                            .secret_data = token_file,
                                            .kept_secret = kept };
  gboolean is_new = !g_file_test (options->state, G_FILE_TEST_EXISTS);
  g_autofree char *secret = NULL;
  g_autoptr (SrvEngine) engine = NULL;
  g_autoptr (GError) error = NULL;

  if (is_new && kept)
    {
      g_printerr (
          _ ("drawbridge-engine: %s is the admin token of another state than %s: give each a "
             "folder of its own, or remove it\n"),
          token_file, options->state);
      return NULL;
    }
  engine = srv_engine_new (&engine_options, &error);
  if (!engine)
    {
      g_printerr ("drawbridge-engine: %s\n", error->message);
      return NULL;
    }
  secret = srv_engine_take_admin_secret (engine);
  if (secret && is_new)
    g_printerr (_ ("drawbridge-engine: the admin token is in %s\n"), token_file);
  else if (secret)
    g_printerr (
        _ ("drawbridge-engine: a new admin token is in %s: what was there is none of this engine; "
           "older ones stay good\n"),
        token_file);
  return g_steal_pointer (&engine);
}

/* All places to listen at, or none and an error: what another engine holds is refused before a state is made. */
static GPtrArray *
listeners_new (const Options *options, GError **error)
{
  g_autoptr (GPtrArray) all = g_ptr_array_new_with_free_func ((GDestroyNotify) srv_listen_free);
  SrvListen *listen = srv_listen_unix (options->socket, error);

  for (guint i = 0; listen; i++)
    {
      g_ptr_array_add (all, listen);
      if (!options->listen || !options->listen[i])
        return g_steal_pointer (&all);
      listen = srv_listen_tcp (options->listen[i], options->tls_cert, options->tls_key, error);
    }
  return NULL;
}

/* Takes what @all holds. */
static void
listen_all (SrvHttp *http, GPtrArray *all)
{
  while (all->len > 0)
    {
      SrvListen *listen = g_ptr_array_steal_index (all, 0);
      /* Not translated: programs wait for it. */
      g_print ("listening on %s\n", srv_listen_name (listen));
      srv_http_add (http, listen);
    }
  fflush (stdout);
}

static gboolean
on_signal (gpointer user_data)
{
  g_main_loop_quit (user_data);
  return G_SOURCE_CONTINUE;
}

static gboolean
on_tick (gpointer user_data)
{
  srv_engine_tick (user_data);
  return G_SOURCE_CONTINUE;
}

/* Nothing is granted where no turn can start. */
static void
on_granted (SrvTurn *turn, gpointer user_data G_GNUC_UNUSED)
{
  srv_turn_free (turn);
}

/* NULL: foremen can't be started here at all, which was said, and is said to everyone who asks for one. */
static SrvRunner *
runner_start (SrvEngine *engine, Options *options)
{
  g_autofree char *folder = g_path_get_dirname (options->state);
  g_autoptr (GError) error = NULL;
  g_autofree char *keeper = srv_place_keeper ();
  const char *const *states = (const char *const *) options->host.states;
  SrvConfine *confine = options->is_unconfined ? srv_confine_new_unconfined (keeper)
                                               : srv_confine_new (keeper, states, &error);

  /* Before the engine looks for turns: it asks for this. */
  if (error)
    srv_host_refuse (&options->host, error->message);
  g_clear_error (&error);
  const SrvRunnerOptions runner_options = { .socket = options->socket,
                                            .state_folder = folder,
                                            .states = states,
                                            .keeper = keeper,
                                            .confine = confine,
                                            .refusal = srv_host_refusal (&options->host) };
  SrvRunner *runner = srv_runner_new (engine, &runner_options, &error);
  if (!runner)
    {
      srv_host_refuse (&options->host, error->message);
      srv_engine_grant_turns (engine, SRV_RUNNER_MAX_TURNS, on_granted, NULL);
    }
  if (srv_host_refusal (&options->host))
    g_printerr (_ ("drawbridge-engine: no foreman will be started: %s\n"),
                srv_host_refusal (&options->host));
  else if (confine && srv_confine_gap (confine))
    g_printerr ("drawbridge-engine: %s\n", srv_confine_gap (confine));
  return runner;
}

/* Until SIGTERM or SIGINT. What must run beside the front (the runner of turns) starts and ends
 * here, after the engine and before the loop. */
static int
serve (SrvEngine *engine, GPtrArray *listeners, Options *options)
{
  g_autoptr (GMainLoop) loop = g_main_loop_new (NULL, FALSE);
  g_autoptr (SrvHttp) http = srv_http_new (engine);
  guint sources[3];

  srv_http_set_max_wait (http, (guint) options->max_wait_s);
  srv_http_set_request_timeout (http, (guint) options->request_timeout_s);
  srv_engine_tick (engine);
  sources[0] = g_unix_signal_add (SIGTERM, on_signal, loop);
  sources[1] = g_unix_signal_add (SIGINT, on_signal, loop);
  sources[2] = g_timeout_add_seconds (1, on_tick, engine);
  listen_all (http, listeners);
  SrvRunner *runner = runner_start (engine, options);
  g_main_loop_run (loop);
  srv_runner_free (runner);
  for (guint i = 0; i < G_N_ELEMENTS (sources); i++)
    g_source_remove (sources[i]);
  return 0;
}

static gboolean
options_check (const Options *options)
{
  if (options->max_wait_s < 0 || options->max_wait_s > 30)
    g_printerr (_ ("drawbridge-engine serve: --max-wait takes 0 to 30 seconds\n"));
  else if (options->request_timeout_s < 1 || options->request_timeout_s > 600)
    g_printerr (_ ("drawbridge-engine serve: --request-timeout takes 1 to 600 seconds\n"));
  else if (options->heartbeat_s < 1 || options->heartbeat_s > SRV_MAX_HEARTBEAT_SECONDS)
    g_printerr (_ ("drawbridge-engine serve: --heartbeat takes 1 to %d seconds\n"),
                SRV_MAX_HEARTBEAT_SECONDS);
  else if (options->tls_key && !options->tls_cert)
    g_printerr (_ ("drawbridge-engine serve: --tls-key needs --tls-cert\n"));
  else if (options->tls_cert && !options->listen)
    g_printerr (_ ("drawbridge-engine serve: --tls-cert needs --listen\n"));
  else
    return TRUE;
  return FALSE;
}

/* Whatever is wrong with where to listen is said before a file is made. */
static gboolean
places_check (const Options *options)
{
  g_autoptr (GError) error = NULL;
  gboolean ok = srv_listen_check_unix (options->socket, &error);

  for (guint i = 0; ok && options->listen && options->listen[i]; i++)
    ok = srv_listen_check_tcp (options->listen[i], options->tls_cert, options->tls_key, &error);
  if (!ok)
    g_printerr ("drawbridge-engine: %s\n", error->message);
  return ok;
}

/* Foremen run in other folders: what they are shown, and what is hidden from them, is named from the root. */
static gboolean
state_prepare (Options *options)
{
  g_autofree char *folder = g_path_get_dirname (options->state);
  g_autofree char *problem = NULL;

  if (strcmp (options->state, ":memory:") == 0)
    return TRUE;
  if (g_mkdir_with_parents (folder, 0700) != 0)
    {
      g_printerr (_ ("drawbridge-engine: can't make the folder %s: %s\n"), folder,
                  g_strerror (errno));
      return FALSE;
    }
  char *state = srv_folder_resolve_state (options->state, &problem);
  if (!state)
    {
      g_printerr ("drawbridge-engine: %s\n", problem);
      return FALSE;
    }
  g_free (options->state);
  options->state = state;
  return TRUE;
}

int
srv_cmd_serve (int argc, char **argv)
{
  g_auto (Options) options = { .max_wait_s = 30,
                               .request_timeout_s = SRV_HTTP_REQUEST_S,
                               .heartbeat_s = SRV_HEARTBEAT_SECONDS };
  const GOptionEntry entries[] = {
    { "socket", 0, 0, G_OPTION_ARG_FILENAME, &options.socket,
      N_ ("unix socket (default: BRIGADA_SOCKET, else $XDG_RUNTIME_DIR/drawbridge/engine.sock)"),
      "PATH" },
    { "state", 0, 0, G_OPTION_ARG_FILENAME, &options.state,
      N_ ("SQLite file (default: $XDG_STATE_HOME/drawbridge/engine.db)"), "FILE" },
    { "listen", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options.listen,
      N_ ("listen on TCP too; anything but loopback needs --tls-cert"), "HOST:PORT" },
    { "tls-cert", 0, 0, G_OPTION_ARG_FILENAME, &options.tls_cert, N_ ("certificate for TCP, PEM"),
      "FILE" },
    { "tls-key", 0, 0, G_OPTION_ARG_FILENAME, &options.tls_key,
      N_ ("its key (default: in the same file)"), "FILE" },
    { "unconfined", 0, 0, G_OPTION_ARG_NONE, &options.is_unconfined,
      N_ ("start foremen without bubblewrap: they can then read every token"), NULL },
    { "max-wait", 0, 0, G_OPTION_ARG_INT, &options.max_wait_s,
      N_ ("the longest wait of a long poll (default: 30)"), "SECONDS" },
    { "request-timeout", 0, 0, G_OPTION_ARG_INT, &options.request_timeout_s,
      N_ ("how long a request may take to come in (default: 20); its answer may take three times "
          "as "
          "long to be taken"),
      "SECONDS" },
    { "heartbeat", 0, 0, G_OPTION_ARG_INT, &options.heartbeat_s,
      N_ ("how often a worker is to be heard of (default: 30); after three times that in silence "
          "its job is lost"),
      "SECONDS" },
    { NULL },
  };
  g_autoptr (SrvEngine) engine = NULL;
  g_autoptr (GError) error = NULL;
  int status = 0;

  if (!srv_command_parse (&argc, &argv, entries, "", N_ ("Serves the planning engine."), &status))
    return status;
  if (argc > 1 || !options_check (&options))
    {
      if (argc > 1)
        g_printerr (_ ("drawbridge-engine %s: takes no argument %s\n"), "serve", argv[1]);
      return 2;
    }
  char *socket = dbr_place_named_socket (options.socket);
  g_free (options.socket);
  options.socket = socket ? socket : dbr_place_socket ();
  if (!options.state)
    options.state = dbr_place_state ();
  srv_host_init (&options.host);
  options.host.world.heartbeat_s = (guint) options.heartbeat_s;
  umask (077);
  signal (SIGPIPE, SIG_IGN);
  /* A file that may not grow is a full disk, not an end. */
  signal (SIGXFSZ, SIG_IGN);
  if (!places_check (&options))
    return 1;
  g_autoptr (GPtrArray) listeners = listeners_new (&options, &error);
  if (!listeners)
    {
      g_printerr ("drawbridge-engine: %s\n", error->message);
      return 1;
    }
  if (!state_prepare (&options))
    return 1;
  if (strcmp (options.state, ":memory:") != 0)
    {
      g_autofree char *folder = g_path_get_dirname (options.state);
      srv_host_keep_from (&options.host, folder);
    }
  engine = engine_open (&options);
  return engine ? serve (engine, listeners, &options) : 1;
}
