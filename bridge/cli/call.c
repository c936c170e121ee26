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
  gboolean last_alone;
  int status;
} Run;

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
print_result (const DbrCallResult *result, gboolean last_alone)
{
  FILE *out = result->is_error ? stderr : stdout;
  const char *last
      = last_alone ? g_strrstr_len (result->text, (gssize) result->text_len, "\n") : NULL;
  gsize before = last && !result->is_error ? (gsize) (last + 1 - result->text) : 0;

  fwrite (result->text, 1, before, stderr);
  fwrite (result->text + before, 1, result->text_len - before, out);
  fputc ('\n', out);
}

static void
on_done (gpointer user_data, DbrCallResult *result)
{
  Run *run = user_data;

  run->call = NULL;
  run->status = result->is_error ? DBR_EXIT_FAILED : DBR_EXIT_OK;
  print_result (result, run->last_alone);
  dbr_call_result_free (result);
  g_main_loop_quit (run->loop);
}

/* The parameter that a bare value is most likely meant for; NULL: the tool has none. */
static const DbrParam *
likeliest (const DbrTool *tool)
{
  for (guint i = 0; i < tool->params->len; i++)
    {
      const DbrParam *param = g_ptr_array_index (tool->params, i);
      if (param->required)
        return param;
    }
  return tool->params->len ? g_ptr_array_index (tool->params, 0) : NULL;
}

gboolean
dbr_cli_set_argument (json_t *arguments, const DbrParam *param, const char *text)
{
  g_autofree char *absolute
      = param->is_local && *text ? g_canonicalize_filename (text, NULL) : NULL;

  return json_object_set_new (arguments, param->name, json_string (absolute ? absolute : text))
         == 0;
}

static gboolean
add_pair (json_t *object, const DbrTool *tool, const char *pair, GError **error)
{
  const DbrParam *param = likeliest (tool);
  const char *equals = strchr (pair, '=');
  g_autofree char *name = equals ? g_strndup (pair, (gsize) (equals - pair)) : NULL;
  const DbrParam *known = name ? dbr_tool_param (tool, name) : NULL;

  if (equals
      && (known ? dbr_cli_set_argument (object, known, equals + 1)
                : json_object_set_new (object, name, json_string (equals + 1)) == 0))
    return TRUE;
  if (equals)
    g_set_error (error, DBR_ARGUMENT_ERROR, DBR_ARGUMENT_ERROR_TYPE,
                 _ ("\"%s\" is not name=value in UTF-8"), pair);
  else if (param)
    g_set_error (error, DBR_ARGUMENT_ERROR, DBR_ARGUMENT_ERROR_TYPE,
                 _ ("\"%s\" has no name: write NAME=VALUE, such as %s=%s"), pair, param->name,
                 pair);
  else
    g_set_error (error, DBR_ARGUMENT_ERROR, DBR_ARGUMENT_ERROR_TYPE,
                 _ ("\"%s\" is one word too many: %s takes no arguments"), pair, tool->name);
  return FALSE;
}

/* name=value pairs become strings: the argument check turns them into what the parameter wants, as
 * it does for a model's. One JSON object may stand for them all. */
static DbrJsonDoc *
read_arguments (const DbrTool *tool, char **pairs, const char *json, GError **error)
{
  json_auto_t *object = NULL;
  json_error_t problem;
  char *text;
  DbrJsonDoc *doc;

  if (json == NULL && pairs[0] && pairs[0][0] == '{' && pairs[1] == NULL)
    json = *pairs++;
  object = json ? json_loads (json, JSON_DECODE_ANY, &problem) : json_object ();
  if (!json_is_object (object))
    {
      g_set_error (error, DBR_ARGUMENT_ERROR, DBR_ARGUMENT_ERROR_TYPE,
                   _ ("the arguments are no JSON object: %s"),
                   object ? _ ("it is another value") : problem.text);
      return NULL;
    }
  if (json && *pairs == NULL)
    return dbr_json_doc_new_from_data (json, -1, NULL,
                                       error); /* as it stands: numbers keep their bytes */
  for (guint i = 0; pairs[i]; i++)
    if (!add_pair (object, tool, pairs[i], error))
      return NULL;
  text = json_dumps (object, JSON_COMPACT);
  doc = dbr_json_doc_new_from_data (text ? text : "{}", -1, NULL, error);
  free (text);
  return doc;
}

int
dbr_cli_run_tool (DbrToolHost *host, const char *tool, DbrJsonDoc *arguments, gboolean last_alone)
{
  Run run = { 0 };
  DbrCallEvents events = { NULL, on_ask, on_done };
  DbrCallRequest request = { 0 };

  run.host = host;
  run.last_alone = last_alone;
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
complain_of_tool (const DbrCatalogue *catalogue, const char *name)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  g_autofree char *remedy = NULL;

  for (guint i = 0; i < catalogue->tools->len; i++)
    g_ptr_array_add (names, ((DbrTool *) g_ptr_array_index (catalogue->tools, i))->name);
  remedy = dbr_cli_suggest (name, names);
  g_printerr (_ ("drawbridge: no tool \"%s\" there.%s \"drawbridge tools\" lists them.\n"), name,
              remedy);
  return DBR_EXIT_USAGE;
}

static int
call_tool (DbrToolHost *host, const DbrTool *tool, char **pairs, const char *json)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DbrJsonDoc) arguments = read_arguments (tool, pairs, json, &error);

  return arguments ? dbr_cli_run_tool (host, tool->name, arguments, FALSE)
                   : dbr_cli_complain (error);
}

/* "drawbridge call --backend engine --client history". */
static const char *
typed (const char *tool, const char **out_names, gpointer user_data)
{
  static char command[512];
  const DbrOpenOptions *open = user_data;
  const char *file = open->catalogue ? open->catalogue : open->backend;
  g_autofree char *quoted = dbr_text_dup_shell_word (file);

  (void) out_names;
  g_snprintf (command, sizeof command, "drawbridge call %s %s%s%s %s",
              open->catalogue ? "--catalogue" : "--backend", quoted, open->offer ? " --offer " : "",
              open->offer ? open->offer : "", tool);
  return command;
}

static gboolean
is_backend (const char *word)
{
  g_auto (GStrv) names = dbr_install_catalogues ();

  return g_strv_contains ((const char *const *) names, word);
}

/* FALSE: loading it will say what is wrong. */
static gboolean
is_known (const DbrOpenOptions *open)
{
  return open->backend == NULL || is_backend (open->backend);
}

static int
print_tool_help (DbrOpenOptions *open, const DbrTool *tool)
{
  const char *none = NULL;
  g_autofree char *help = dbr_cli_tool_help (tool, typed (tool->name, &none, open));

  g_print ("%s", help);
  return DBR_EXIT_OK;
}

/* With @wants_help its arguments are told, and nothing is called. */
static int
open_and_call (DbrOpenOptions *open, char **words, const char *json, gboolean wants_help)
{
  g_autoptr (GError) error = NULL;
  const DbrTool *tool;
  DbrToolHost *host;
  int status;

  if (!dbr_open_settle_offer (open, &error))
    return dbr_cli_complain (error);
  if (open->backend == NULL && open->catalogue == NULL && words[1] && !strpbrk (words[1], "={")
      && is_backend (words[0]))
    open->backend = g_strdup (*words++);
  if (open->catalogue == NULL && is_known (open) && !dbr_open_find_tool (open, words[0], &error))
    return dbr_cli_complain (error);
  open->typed = typed;
  open->typed_data = open;
  host = dbr_open (open, &error);
  if (host == NULL)
    return dbr_cli_complain (error);
  tool = dbr_catalogue_find (dbr_host_catalogue (host), words[0]);
  if (tool == NULL)
    status = complain_of_tool (dbr_host_catalogue (host), words[0]);
  else if (wants_help)
    status = print_tool_help (open, tool);
  else
    status = call_tool (host, tool, words + 1, json);
  dbr_host_free (host);
  return status;
}

/* An argument of the tool that was written as an option. */
static int
complain_of_options (const GError *error, char **words)
{
  for (guint i = 0; words[i] && error->domain == G_OPTION_ERROR; i++)
    if (error->code == G_OPTION_ERROR_UNKNOWN_OPTION && g_str_has_prefix (words[i], "--")
        && strpbrk (words[i], "=_") && strstr (error->message, words[i]))
      {
        g_printerr (_ ("drawbridge: %s; arguments are written %s%s\n"), error->message,
                    words[i] + 2, strchr (words[i], '=') ? "" : _ ("=VALUE"));
        return DBR_EXIT_USAGE;
      }
  return dbr_cli_complain (error);
}

int
dbr_cli_call (int argc, char **argv)
{
  g_auto (DbrOpenOptions) open = { .is_command_line = TRUE };
  g_autofree GOptionEntry *entries = dbr_open_entries (&open, TRUE);
  g_autofree char *output = NULL;
  g_autofree char *json = NULL;
  gboolean wants_help = FALSE;
  const GOptionEntry more[]
      = { { "output", 0, 0, G_OPTION_ARG_STRING, &output,
            N_ ("text, or json: the records that the answer is made of"), "text|json" },
          { "arguments", 0, 0, G_OPTION_ARG_STRING, &json, N_ ("the arguments as one JSON object"),
            "JSON" },
          { "help", 'h', 0, G_OPTION_ARG_NONE, &wants_help,
            N_ ("this text; with a tool: that one's arguments"), NULL },
          { NULL } };
  g_autoptr (GOptionContext) context = g_option_context_new (_ ("[BACKEND] TOOL [NAME=VALUE...]"));
  g_autoptr (GError) error = NULL;

  g_option_context_set_summary (context, _ ("Calls one tool and prints its answer. Exit status: 0 "
                                            "answered, 1 the answer is an error, 2 wrong use."));
  g_option_context_set_description (context,
                                    _ ("A tool that only one backend has needs no BACKEND. Where a "
                                       "backend has several offers, each with tools of "
                                       "its own,\nthe tool is looked for in all of them; one that "
                                       "several have is that of the default offer, when the "
                                       "BACKEND is named,\nelse --client, --coordinator or --offer "
                                       "must say which. \"drawbridge tools\" lists "
                                       "backends, offers and tools,\n"
                                       "\"drawbridge call TOOL --help\" a tool's arguments."));
  g_option_context_set_help_enabled (context, FALSE);
  if (!dbr_option_parse (context, entries, more, &argc, &argv, &error))
    return complain_of_options (error, argv);
  if (!dbr_cli_read_output (output, &open.json_output))
    return DBR_EXIT_USAGE;
  if (argc < 2)
    {
      g_autofree char *help = g_option_context_get_help (context, TRUE, NULL);
      (wants_help ? g_print : g_printerr) ("%s", help);
      return wants_help ? DBR_EXIT_OK : DBR_EXIT_USAGE;
    }
  return open_and_call (&open, argv + 1, json, wants_help);
}
