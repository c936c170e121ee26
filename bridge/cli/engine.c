/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drawbridge engine: the planning engine from a shell.
 *
 * What runs (serve, work, attach, backup, check) is the program drawbridge-engine; everything else is a tool of the
 * catalogue's admin offer, so that a person reads what a model reads. A typed command is the person's own
 * decision: it opens the gate unless BRIGADA_ALLOW_WRITES says otherwise, and isn't asked about again.
 */
#include "config.h"

#include "cli/dbr-cli.h"
#include "cli/dbr-engine-command.h"
#include "dbr-place.h"
#include "dbr-token.h"

#include <errno.h>
#include <glib/gi18n.h>
#include <string.h>
#include <unistd.h>

const char *const dbr_engine_programs[] = { "serve", "work", "attach", "backup", "check", NULL };

/* ---- the engine's own program */

static int
run_program (char **argv)
{
  g_autofree char *program = dbr_install_engine ();

  argv[0] = program; /* "engine" becomes the program, its words stay */
  execv (program, argv);
  if (!DBR_WITH_ENGINE && errno == ENOENT)
    g_printerr (_ ("drawbridge engine: this program was built without the engine (configure "
                   "--disable-engine), and there is no \"%s\" from elsewhere\n"),
                program);
  else
    g_printerr (_ ("drawbridge engine: \"%s\" can't be started: %s\n"), program,
                g_strerror (errno));
  return DBR_EXIT_USAGE;
}

/* ---- the token */

/* The variables that the tools will see: the token, and the gate that typing the command opens. */
static char **
make_environment (GError **error)
{
  g_auto (GStrv) environment = g_get_environ ();
  const char *given = g_environ_getenv (environment, "BRIGADA_TOKEN");

  if (given && *given)
    {
      if (!dbr_token_check (given, strlen (given), "BRIGADA_TOKEN", error))
        return NULL;
    }
  else
    {
      g_autofree char *state = dbr_place_state ();
      g_autofree char *file = dbr_place_admin_token (state);
      g_autofree char *token = NULL;
      if (g_file_test (file, G_FILE_TEST_EXISTS))
        token = dbr_token_read (file, error);
      else
        g_set_error (error, DBR_CATALOGUE_ERROR, DBR_CATALOGUE_ERROR_READ,
                     _ ("no token: BRIGADA_TOKEN is not set, and \"%s\" is not there. The engine "
                        "writes it at its first start: \"drawbridge engine serve\"."),
                     file);
      if (token == NULL)
        return NULL;
      environment = g_environ_setenv (g_steal_pointer (&environment), "BRIGADA_TOKEN", token, TRUE);
    }
  return g_environ_setenv (g_steal_pointer (&environment), "BRIGADA_ALLOW_WRITES", "1", FALSE);
}

/* ---- one command */

static const char *
typed (const char *tool, const char **out_names, gpointer user_data)
{
  static char command[80];
  const DbrEngineCommand *self = dbr_engine_command_of (tool);

  (void) user_data;
  *out_names = self ? self->names : NULL;
  g_snprintf (command, sizeof command, "drawbridge engine %s", self ? self->words : tool);
  return command;
}

static int
run_tool (DbrOpenOptions *open, const DbrEngineCommand *command, char **words)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DbrJsonDoc) arguments = NULL;
  DbrToolHost *host;
  int status = DBR_EXIT_USAGE;

  open->environment = make_environment (&error);
  if (open->environment == NULL)
    return dbr_cli_complain (error);
  host = dbr_open (open, &error);
  if (host == NULL)
    return dbr_cli_complain (error);
  arguments = dbr_engine_command_read (
      command, dbr_catalogue_find (dbr_host_catalogue (host), command->tool), words, &error);
  if (arguments)
    status = dbr_cli_run_tool (host, command->tool, arguments,
                               command->is_product && !open->json_output);
  else
    dbr_cli_complain (error);
  dbr_host_free (host);
  return status;
}

/* ---- help */

static char *
describe (void)
{
  GString *out = g_string_new (NULL);
  g_autofree char *list = dbr_engine_command_list ();

  g_string_append (out, _ ("Commands that run until they are done:\n"));
  g_string_append (
      out, _ ("  serve, work, attach, backup, check  \"drawbridge-engine --help\" tells more\n"));
  g_string_append (out, _ ("Commands that ask the running engine (PROJECT: a name, number or URL; "
                           "COMMAND --help tells what else one takes):\n"));
  g_string_append (out, list);
  g_string_append (out, _ ("The token comes from BRIGADA_TOKEN, else from the file that the engine "
                           "wrote at its first start."));
  return g_string_free (out, FALSE);
}

/* "engine approve --help" is about approve, "engine project --help" about the commands that begin so. */
static gboolean
help_of_one (DbrOpenOptions *open, char **words, int *out_status)
{
  g_autoptr (GError) error = NULL;
  int n_words = 0;
  const DbrEngineCommand *command = words[0] ? dbr_engine_command_find (words, &n_words) : NULL;
  g_autofree char *group = words[0] && !command ? dbr_engine_command_list_group (words[0]) : NULL;
  g_autofree char *text = NULL;
  DbrToolHost *host;

  if (words[0] && g_strv_contains (dbr_engine_programs, words[0]))
    {
      char *argv[] = { NULL, words[0], (char[]){ "--help" }, NULL };
      *out_status = run_program (argv);
      return TRUE;
    }
  *out_status = DBR_EXIT_OK;
  if (command == NULL && (group == NULL || *group == '\0'))
    return FALSE;
  if (command == NULL)
    {
      g_print ("%s", group);
      return TRUE;
    }
  host = dbr_open (open, &error);
  if (host == NULL)
    {
      *out_status = dbr_cli_complain (error);
      return TRUE;
    }
  text = dbr_engine_command_help (command,
                                  dbr_catalogue_find (dbr_host_catalogue (host), command->tool));
  g_print ("%s", text);
  dbr_host_free (host);
  return TRUE;
}

static int
help_of_all (GOptionContext *context, gboolean is_wanted)
{
  g_autofree char *help = g_option_context_get_help (context, TRUE, NULL);

  (is_wanted ? g_print : g_printerr) ("%s", help);
  return is_wanted ? DBR_EXIT_OK : DBR_EXIT_USAGE;
}

/* ---- the command line */

int
dbr_cli_engine (int argc, char **argv)
{
  g_auto (DbrOpenOptions) open = { .assume_yes = TRUE, .is_command_line = TRUE, .typed = typed };
  g_autofree char *output = NULL;
  gboolean wants_help = FALSE, wants_version = FALSE;
  const GOptionEntry entries[]
      = { { "help", 'h', 0, G_OPTION_ARG_NONE, &wants_help,
            N_ ("this text; behind a command: that one's arguments"), NULL },
          { "version", 0, 0, G_OPTION_ARG_NONE, &wants_version, N_ ("the program's version"),
            NULL },
          { "socket", 0, 0, G_OPTION_ARG_FILENAME, &open.socket,
            N_ ("the engine's unix socket, in place of any other address"), "PATH" },
          { "allow-plain-http", 0, 0, G_OPTION_ARG_STRING, &open.plain_http,
            N_ ("send credentials over plain http to this host"), "HOST" },
          { "timeout", 0, 0, G_OPTION_ARG_STRING, &open.timeout,
            N_ ("how long a call may take (30)"), "SECONDS" },
          { "output", 0, 0, G_OPTION_ARG_STRING, &output,
            N_ ("text, or json: the records that the answer is made of"), "text|json" },
          { NULL } };
  g_autoptr (GOptionContext) context = g_option_context_new (_ ("COMMAND [ARGUMENT...]"));
  g_autofree char *description = describe ();
  g_autofree char *problem = NULL;
  g_autoptr (GError) error = NULL;
  const DbrEngineCommand *command;
  int n_words = 0, status;

  if (argc > 1 && g_strv_contains (dbr_engine_programs, argv[1]))
    return run_program (argv);
  g_option_context_set_help_enabled (context, FALSE);
  g_option_context_set_summary (context,
                                _ ("Runs the planning engine, and steers it from a shell."));
  g_option_context_set_description (context, description);
  if (!dbr_option_parse (context, entries, NULL, &argc, &argv, &error))
    return dbr_cli_complain (error);
  if (!dbr_cli_read_output (output, &open.json_output))
    return DBR_EXIT_USAGE;
  open.backend = g_strdup (DBR_ENGINE);
  open.offer = g_strdup ("admin");
  if (wants_version)
    {
      g_print ("drawbridge %s\n", PACKAGE_VERSION);
      return DBR_EXIT_OK;
    }
  if (argc > 1 && strcmp (argv[1], "help") == 0)
    {
      wants_help = TRUE;
      argv++, argc--;
    }
  if (wants_help && help_of_one (&open, argv + 1, &status))
    return status;
  if (wants_help || argc < 2)
    return help_of_all (context, wants_help);
  command = dbr_engine_command_find (argv + 1, &n_words);
  if (command)
    return run_tool (&open, command, argv + 1 + n_words);
  problem = dbr_engine_command_complain (argv + 1);
  g_printerr ("drawbridge engine: %s\n", problem);
  return DBR_EXIT_USAGE;
}
