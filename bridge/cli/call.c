/* SPDX-License-Identifier: Apache-2.0 */
/* drawbridge call: one tool call from a shell, by the same path as a client's. */
#include "config.h"

#include "cli/dbr-cli.h"

#include <glib/gi18n.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct
{
  DbrToolHost *host;
  gpointer call;
  GMainLoop *loop;
  DbrAskOutcome outcome;
  int status;
} Run;

static void
on_progress (gpointer user_data, double progress, double total, const char *message)
{
  (void) user_data;
  (void) progress;
  (void) total;
  (void) message;
}

static gboolean
deliver (gpointer user_data)
{
  Run *run = user_data;
  run->host->answered (run->host, run->call, run->outcome);
  return G_SOURCE_REMOVE;
}

static void
on_ask (gpointer user_data, const char *message, json_t *schema)
{
  Run *run = user_data;
  char line[16];

  (void) schema;
  if (!isatty (STDIN_FILENO))
    {
      /* A script's silence is no yes. */
      g_printerr ("%s\n%s\n", message,
                  _ ("There is no terminal to ask on: say yes beforehand with --yes."));
      run->outcome = DBR_ASK_UNAVAILABLE;
      g_idle_add (deliver, run);
      return;
    }
  g_printerr ("%s\n%s", message, _ ("Send it? [y/N] "));
  run->outcome = DBR_ASK_DECLINED;
  if (fgets (line, sizeof line, stdin) == NULL)
    run->outcome = DBR_ASK_CANCELLED;
  else if (g_ascii_strcasecmp (g_strstrip (line), "y") == 0
           || g_ascii_strcasecmp (line, "yes") == 0)
    run->outcome = DBR_ASK_ACCEPTED;
  g_idle_add (deliver, run);
}

static void
on_done (gpointer user_data, DbrCallResult *result)
{
  Run *run = user_data;

  run->call = NULL;
  run->status = result->is_error ? DBR_EXIT_FAILED : DBR_EXIT_OK;
  fwrite (result->text, 1, result->text_len, result->is_error ? stderr : stdout);
  fputc ('\n', result->is_error ? stderr : stdout);
  dbr_call_result_free (result);
  g_main_loop_quit (run->loop);
}

/* name=value pairs become strings: the argument check turns them into what the parameter wants, as
 * it does for a model's. */
static DbrJsonDoc *
read_arguments (char **pairs, const char *json, GError **error)
{
  json_auto_t *object = NULL;
  json_error_t problem;
  char *text;
  DbrJsonDoc *doc;

  object = json ? json_loads (json, JSON_DECODE_ANY, &problem) : json_object ();
  if (!json_is_object (object))
    {
      g_set_error (error, DBR_ARGUMENT_ERROR, DBR_ARGUMENT_ERROR_TYPE,
                   _ ("--arguments takes a JSON object"));
      return NULL;
    }
  if (json && *pairs == NULL)
    return dbr_json_doc_new_from_data (json, -1, NULL,
                                       error); /* as it stands: numbers keep their bytes */
  for (guint i = 0; pairs[i]; i++)
    {
      const char *equals = strchr (pairs[i], '=');
      g_autofree char *name = equals ? g_strndup (pairs[i], (gsize) (equals - pairs[i])) : NULL;
      if (equals == NULL || json_object_set_new (object, name, json_string (equals + 1)) != 0)
        {
          g_set_error (error, DBR_ARGUMENT_ERROR, DBR_ARGUMENT_ERROR_TYPE,
                       _ ("\"%s\" is not name=value in UTF-8"), pairs[i]);
          return NULL;
        }
    }
  text = json_dumps (object, JSON_COMPACT);
  doc = dbr_json_doc_new_from_data (text ? text : "{}", -1, NULL, error);
  free (text);
  return doc;
}

int
dbr_cli_run_tool (DbrToolHost *host, const char *tool, DbrJsonDoc *arguments)
{
  Run run = { 0 };
  DbrCallEvents events = { on_progress, on_ask, on_done };
  DbrCallRequest request = { 0 };

  run.host = host;
  run.loop = g_main_loop_new (NULL, FALSE);
  request.tool = tool;
  request.arguments = dbr_json_doc_root (arguments);
  request.asking = DBR_ASKING_INLINE;
  run.call = host->call (host, &request, &events, &run);
  g_main_loop_run (run.loop);
  g_main_loop_unref (run.loop);
  return run.status;
}

static int
call_tool (DbrOpenOptions *open, const char *tool, DbrJsonDoc *arguments)
{
  g_autoptr (GError) error = NULL;
  DbrToolHost *host;
  int status;

  if (!dbr_open_settle_offer (open, &error))
    return dbr_cli_complain (error);
  if (open->backend == NULL && open->catalogue == NULL && !dbr_open_find_tool (open, tool, &error))
    return dbr_cli_complain (error);
  host = dbr_open (open, &error);
  if (host == NULL)
    return dbr_cli_complain (error);
  if (!host->has_tool (host, tool))
    {
      g_printerr (_ ("drawbridge: no tool \"%s\" there; \"drawbridge tools\" lists them\n"), tool);
      dbr_host_free (host);
      return DBR_EXIT_USAGE;
    }
  status = dbr_cli_run_tool (host, tool, arguments);
  dbr_host_free (host);
  return status;
}

int
dbr_cli_call (int argc, char **argv)
{
  g_auto (DbrOpenOptions) open = { .is_command_line = TRUE };
  g_autofree GOptionEntry *entries = dbr_open_entries (&open, TRUE);
  g_autofree char *output = NULL;
  g_autofree char *json = NULL;
  const GOptionEntry more[]
      = { { "output", 0, 0, G_OPTION_ARG_STRING, &output,
            N_ ("text, or json: the records that the answer is made of"), "text|json" },
          { "arguments", 0, 0, G_OPTION_ARG_STRING, &json, N_ ("the arguments as one JSON object"),
            "JSON" },
          { NULL } };
  g_autoptr (GOptionContext) context = g_option_context_new (_ ("TOOL [NAME=VALUE...]"));
  g_autoptr (DbrJsonDoc) arguments = NULL;
  g_autoptr (GError) error = NULL;

  g_option_context_set_summary (context, _ ("Calls one tool and prints its answer. Exit status: 0 "
                                            "answered, 1 the answer is an error, 2 wrong use."));
  g_option_context_add_main_entries (context, entries, GETTEXT_PACKAGE);
  g_option_context_add_main_entries (context, more, GETTEXT_PACKAGE);
  if (!g_option_context_parse (context, &argc, &argv, &error))
    return dbr_cli_complain (error);
  open.json_output = g_strcmp0 (output, "json") == 0;
  if (argc < 2 || (output && !open.json_output && strcmp (output, "text") != 0))
    {
      g_autofree char *help = g_option_context_get_help (context, TRUE, NULL);
      g_printerr ("%s", help);
      return DBR_EXIT_USAGE;
    }
  arguments = read_arguments (argv + 2, json, &error);
  if (arguments == NULL)
    return dbr_cli_complain (error);
  return call_tool (&open, argv[1], arguments);
}
