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
#include "dbr-place.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gi18n.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#define TOKEN_MAX_BYTES 4096
#define WORDS_MAX 2

/* Words, and what their bare arguments are called: "a/b" is a when it is a number, else b; "..." joins
 * all that follow into the one before it. */
typedef struct
{
  const char *words;
  const char *tool;
  const char *names; /* separated by spaces */
  const char *summary;
} Command;

static const Command commands[] = {
  { "status", "status", "",
    N_ ("what runs, what waits, what needs you: [repo_url=URL] [all=true]") },
  { "history", "history", "",
    N_ ("what happened: [repo_url=URL] [task=ID] [limit=N] [before=SEQ]") },
  { "ask", "ask_foreman", "text ...", N_ ("send the foreman a message: [repo_url=URL] TEXT") },
  { "answer", "question_answer", "question text ...", N_ ("answer a foreman's question: ID TEXT") },
  { "approve", "plan_approve", "plan version",
    N_ ("approve a plan as it was shown: PLAN VERSION [and_stop_asking=true]") },
  { "reject", "plan_reject", "plan version reason ...", N_ ("reject it: PLAN VERSION REASON") },
  { "hold", "hold_place", "reason ...",
    N_ ("let nothing new start: plan=ID, task=ID or project=ID, and why") },
  { "release", "hold_release", "reason ...", N_ ("end a hold: plan=ID, task=ID or project=ID") },
  { "project list", "list_projects", "", N_ ("the projects") },
  { "project add", "project_add", "repo_url",
    N_ ("add one: URL [name=N] [checkout=DIR] [preset=P] [command=JSON]") },
  { "project set", "project_set", "project/repo_url",
    N_ ("change one: ID-or-URL SETTING=VALUE..., such as approval=never") },
  { "project remove", "project_remove", "project/repo_url", N_ ("remove one: ID-or-URL") },
  { "token list", "token_list", "", N_ ("the tokens that were made") },
  { "token new", "token_new", "role name", N_ ("make one, shown once: ROLE NAME") },
  { "token revoke", "token_revoke", "token", N_ ("end one: ID") },
  { "lease", "lease_take", "project/repo_url holder",
    N_ ("take the lease of a project: ID-or-URL HOLDER [ttl=SECONDS]") },
};

/* Words that the engine's own program understands. */
static const char *const programs[] = { "serve", "work", "attach", "backup", "check", NULL };

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

/* Reads the file only if nobody else could have written or read it. */
static char *
read_token_file (const char *file, GError **error)
{
  char buffer[TOKEN_MAX_BYTES];
  int fd = open (file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  struct stat about;
  gssize got = -1;
  const char *says = NULL;

  if (fd < 0 || fstat (fd, &about) != 0)
    says = g_strerror (errno);
  else if (!S_ISREG (about.st_mode) || about.st_uid != getuid ())
    says = _ ("it is not a file of yours");
  else if (about.st_mode & 077)
    says = _ ("others may read it: its mode must be 0600");
  else
    got = read (fd, buffer, sizeof buffer);
  if (fd >= 0)
    close (fd);
  if (got > 0 && got < (gssize) sizeof buffer)
    return g_strstrip (g_strndup (buffer, (gsize) got));
  g_set_error (error, DBR_CATALOGUE_ERROR, DBR_CATALOGUE_ERROR_READ,
               _ ("no token: BRIGADA_TOKEN is not set, and \"%s\" can't be used (%s). The engine "
                  "writes it at its first start: \"drawbridge engine serve\"."),
               file, says ? says : _ ("it holds no token"));
  return NULL;
}

/* The variables that the tools will see: the token, and the gate that typing the command opens. */
static char **
make_environment (GError **error)
{
  g_auto (GStrv) environment = g_get_environ ();

  if (g_environ_getenv (environment, "BRIGADA_TOKEN") == NULL)
    {
      g_autofree char *state = dbr_place_state ();
      g_autofree char *file = dbr_place_admin_token (state);
      g_autofree char *token = read_token_file (file, error);
      if (token == NULL)
        return NULL;
      environment = g_environ_setenv (g_steal_pointer (&environment), "BRIGADA_TOKEN", token, TRUE);
    }
  return g_environ_setenv (g_steal_pointer (&environment), "BRIGADA_ALLOW_WRITES", "1", FALSE);
}

/* ---- words to a tool's arguments */

static const Command *
find_command (int argc, char **argv, int *out_n_words)
{
  for (int n = MIN (argc, WORDS_MAX); n > 0; n--)
    {
      g_autofree char *words
          = n == 2 ? g_strjoin (" ", argv[0], argv[1], NULL) : g_strdup (argv[0]);
      for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
        if (strcmp (commands[i].words, words) == 0)
          {
            *out_n_words = n;
            return &commands[i];
          }
    }
  return NULL;
}

static const DbrParam *
find_param (const DbrTool *tool, const char *name, gsize len)
{
  for (guint i = 0; i < tool->params->len; i++)
    {
      const DbrParam *param = g_ptr_array_index (tool->params, i);
      if (strlen (param->name) == len && strncmp (param->name, name, len) == 0)
        return param;
    }
  return NULL;
}

/* name=value of a parameter that the tool has; anything else is a bare word, equals signs and all. */
static gboolean
take_pair (json_t *arguments, const DbrTool *tool, const char *word)
{
  const char *equals = strchr (word, '=');
  const DbrParam *param = equals ? find_param (tool, word, (gsize) (equals - word)) : NULL;

  if (param == NULL)
    return FALSE;
  return json_object_set_new (arguments, param->name, json_string (equals + 1)) == 0;
}

static gboolean
add_word (json_t *arguments, const char *name, const char *word)
{
  g_auto (GStrv) either = g_strsplit (name, "/", 2);
  gboolean is_number = word[strspn (word, "0123456789")] == '\0';
  const char *key = either[1] && !is_number ? either[1] : either[0];
  const char *before = json_string_value (json_object_get (arguments, key));
  g_autofree char *joined = before ? g_strdup_printf ("%s %s", before, word) : g_strdup (word);

  return json_object_set_new (arguments, key, json_string (joined)) == 0;
}

/* Bare words fill the names in order; the last name takes all that are left when "..." follows it. */
static DbrJsonDoc *
read_words (const Command *command, const DbrTool *tool, char **words, GError **error)
{
  g_auto (GStrv) names = g_strsplit (command->names, " ", -1);
  json_auto_t *arguments = json_object ();
  gboolean fits = TRUE;
  guint next = 0;
  char *text;
  DbrJsonDoc *doc;

  for (guint i = 0; words[i] && fits; i++)
    {
      if (take_pair (arguments, tool, words[i]))
        continue;
      if (names[next] && strcmp (names[next], "...") == 0)
        fits = add_word (arguments, names[next - 1], words[i]);
      else
        fits = names[next] && *names[next] && add_word (arguments, names[next], words[i]);
      next += names[next] && strcmp (names[next], "...") != 0;
      if (!fits)
        g_set_error (error, DBR_ARGUMENT_ERROR, DBR_ARGUMENT_ERROR_UNKNOWN,
                     _ ("\"%s\" means nothing here. drawbridge engine %s: %s"), words[i],
                     command->words, _ (command->summary));
    }
  if (!fits)
    return NULL;
  text = json_dumps (arguments, JSON_COMPACT);
  doc = dbr_json_doc_new_from_data (text ? text : "{}", -1, NULL, error);
  free (text);
  return doc;
}

static int
run_tool (DbrOpenOptions *open, const Command *command, char **words)
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
  arguments = read_words (command, dbr_catalogue_find (dbr_host_catalogue (host), command->tool),
                          words, &error);
  if (arguments)
    status = dbr_cli_run_tool (host, command->tool, arguments);
  else
    dbr_cli_complain (error);
  dbr_host_free (host);
  return status;
}

/* ---- the command line */

static char *
describe (void)
{
  GString *out = g_string_new (NULL);

  g_string_append (out, _ ("Commands that run until they are done:\n"));
  g_string_append (
      out, _ ("  serve, work, attach, backup, check    \"drawbridge-engine --help\" tells more\n"));
  g_string_append (out, _ ("Commands that ask the running engine:\n"));
  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    g_string_append_printf (out, "  %-15s %s\n", commands[i].words, _ (commands[i].summary));
  g_string_append (out, _ ("The token comes from BRIGADA_TOKEN, else from the file that the engine "
                           "wrote at its first start."));
  return g_string_free (out, FALSE);
}

int
dbr_cli_engine (int argc, char **argv)
{
  g_auto (DbrOpenOptions) open = { .assume_yes = TRUE, .is_command_line = TRUE };
  g_autofree char *output = NULL;
  const GOptionEntry entries[]
      = { { "socket", 0, 0, G_OPTION_ARG_FILENAME, &open.socket,
            N_ ("the engine's unix socket, in place of any other address"), "PATH" },
          { "timeout", 0, 0, G_OPTION_ARG_STRING, &open.timeout,
            N_ ("how long a call may take (30)"), "SECONDS" },
          { "output", 0, 0, G_OPTION_ARG_STRING, &output,
            N_ ("text, or json: the records that the answer is made of"), "text|json" },
          { NULL } };
  g_autoptr (GOptionContext) context = g_option_context_new (_ ("COMMAND [ARGUMENT...]"));
  g_autofree char *description = describe ();
  g_autoptr (GError) error = NULL;
  const Command *command;
  int n_words = 0;

  if (argc > 1 && g_strv_contains (programs, argv[1]))
    return run_program (argv);
  g_option_context_set_summary (context,
                                _ ("Runs the planning engine, and steers it from a shell."));
  g_option_context_set_description (context, description);
  g_option_context_add_main_entries (context, entries, GETTEXT_PACKAGE);
  if (!g_option_context_parse (context, &argc, &argv, &error))
    return dbr_cli_complain (error);
  if (!dbr_cli_read_output (output, &open.json_output))
    return DBR_EXIT_USAGE;
  command = find_command (argc - 1, argv + 1, &n_words);
  if (command == NULL)
    {
      g_autofree char *help = g_option_context_get_help (context, TRUE, NULL);
      g_printerr ("%s", help);
      return DBR_EXIT_USAGE;
    }
  open.backend = g_strdup (DBR_ENGINE);
  open.offer = g_strdup ("admin");
  return run_tool (&open, command, argv + 1 + n_words);
}
