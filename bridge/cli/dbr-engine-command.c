/* SPDX-License-Identifier: Apache-2.0 */
/* dbr-engine-command: see the header. What an argument is, and what its value may be, stays the catalogue's word. */
#include "config.h"

#include "cli/dbr-cli.h"
#include "cli/dbr-engine-command.h"
#include "dbr-nearest.h"

#include <glib/gi18n.h>
#include <string.h>

#define WORDS_MAX 2
#define LIST_WIDTH 35

/* clang-format off */
static const DbrEngineCommand commands[] = {
  { "status", "status", "project",
    "[PROJECT] [all=true]", N_ ("what runs, what waits, what needs you"), FALSE, NULL },
  { "history", "history", "project",
    "[PROJECT] [task=ID] [limit=N] [before=SEQ]", N_ ("what happened, and who did it"), FALSE, NULL },
  { "ask", "ask_foreman", "text ...",
    "[project=PROJECT] TEXT", N_ ("send a foreman a message"), FALSE, NULL },
  { "answer", "question_answer", "question text ...",
    "QUESTION TEXT", N_ ("answer a foreman's question"), FALSE, NULL },
  { "plan", "plan_show", "plan",
    "PLAN", N_ ("a plan as a whole: summary, tasks, briefs, paths"), FALSE, NULL },
  { "task", "task_show", "task",
    "TASK", N_ ("a task as a whole: brief, notes, its latest job"), FALSE, NULL },
  { "approve", "plan_approve", "plan version",
    "PLAN VERSION [and_stop_asking=true [reasons=REASON]]", N_ ("approve a plan at the version that you saw"), FALSE, NULL },
  { "reject", "plan_reject", "plan version reason ...",
    "PLAN VERSION [REASON]", N_ ("reject it: what waits of it is cancelled"), FALSE, NULL },
  { "cancel", "cancel", "task reason ...",
    "TASK|plan=PLAN [dependents=true] [REASON]", N_ ("cancel a task, or all that is left of a plan"), FALSE, NULL },
  { "retry", "task_retry", "task",
    "TASK", N_ ("let a failed or cancelled task be done again"), FALSE, NULL },
  { "review", "task_review", "task state",
    "TASK done|ready", N_ ("end a task's review: it is done, or to be done again"), FALSE, NULL },
  { "note", "task_note", "task text ...",
    "TASK TEXT", N_ ("note something for a task's worker and the history"), FALSE, NULL },
  { "hold", "hold_place", "reason ...",
    "plan=PLAN|task=TASK|project=PROJECT REASON", N_ ("let nothing new of it start; what runs goes on"), FALSE, NULL },
  { "release", "hold_release", "reason ...",
    "plan=PLAN|task=TASK|project=PROJECT [REASON]", N_ ("end a hold"), FALSE, NULL },
  { "project list", "list_projects", "",
    "", N_ ("the projects, their settings and leases"), FALSE, NULL },
  { "project add", "project_add", "repo_url",
    "URL [checkout=DIR] [preset=NAME|command=JSON] [SETTING=VALUE...]", N_ ("add a project"), FALSE, NULL },
  { "project set", "project_set", "project",
    "PROJECT SETTING=VALUE...", N_ ("change one, such as approval=never"), FALSE, NULL },
  { "project remove", "project_remove", "project",
    "PROJECT", N_ ("remove one that has no live plan; its history stays"), FALSE, NULL },
  { "token list", "token_list", "",
    "", N_ ("the tokens that were made"), FALSE, NULL },
  { "token new", "token_new", "role name",
    "admin|client|worker NAME", N_ ("make one; it alone goes to standard output, once"), TRUE,
    N_ ("A coordinator's chat uses a client's token. A foreman's comes with its turn, with \"drawbridge engine "
        "attach\", or with \"drawbridge engine lease\".") },
  { "token revoke", "token_revoke", "token",
    "TOKEN", N_ ("end one, by its number in token list"), FALSE, NULL },
  { "lease", "lease_take", "project holder",
    "PROJECT HOLDER [ttl=SECONDS]", N_ ("a foreman's token for one by hand; it alone goes to standard output"), TRUE, NULL },
  { "lease end", "lease_end", "lease",
    "LEASE", N_ ("give a lease back, by its number"), FALSE, NULL },
};
/* clang-format on */

/* ---- finding */

const DbrEngineCommand *
dbr_engine_command_find (char **words, int *out_n_words)
{
  for (int n = (int) MIN (g_strv_length (words), WORDS_MAX); n > 0; n--)
    {
      g_autofree char *typed
          = n == 2 ? g_strjoin (" ", words[0], words[1], NULL) : g_strdup (words[0]);
      for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
        if (strcmp (commands[i].words, typed) == 0)
          {
            *out_n_words = n;
            return &commands[i];
          }
    }
  return NULL;
}

const DbrEngineCommand *
dbr_engine_command_of (const char *tool)
{
  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    if (strcmp (commands[i].tool, tool) == 0)
      return &commands[i];
  return NULL;
}

static gboolean
is_of_group (const DbrEngineCommand *command, const char *group)
{
  gsize len = strlen (group);

  return strncmp (command->words, group, len) == 0
         && (command->words[len] == ' ' || command->words[len] == '\0');
}

/* "ask TEXT": without what stands in brackets. */
static void
append_needed (GString *out, const DbrEngineCommand *command)
{
  guint depth = 0;
  gboolean has_space = TRUE;

  g_string_append (out, command->words);
  for (const char *c = command->usage; *c; c++)
    {
      depth += *c == '[';
      if (depth == 0 && *c != ' ')
        g_string_append_printf (out, "%s%c", has_space ? " " : "", *c);
      if (depth == 0)
        has_space = *c == ' ';
      if (*c == ']')
        depth--;
    }
}

char *
dbr_engine_command_list (void)
{
  GString *out = g_string_new (NULL);

  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    {
      g_autoptr (GString) typed = g_string_new (NULL);
      append_needed (typed, &commands[i]);
      g_string_append_printf (out, "  %-*s%s %s\n", LIST_WIDTH, typed->str,
                              typed->len > LIST_WIDTH ? "\n     " : "", _ (commands[i].summary));
    }
  return g_string_free (out, FALSE);
}

char *
dbr_engine_command_list_group (const char *group)
{
  GString *out = g_string_new (NULL);

  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    if (is_of_group (&commands[i], group))
      g_string_append_printf (out, "  %s%s%s\n      %s\n", commands[i].words,
                              *commands[i].usage ? " " : "", commands[i].usage,
                              _ (commands[i].summary));
  return g_string_free (out, FALSE);
}

/* "project list, project add", or "" when @word begins no command of two words. */
static char *
group_names (const char *word)
{
  g_autoptr (GString) names = g_string_new (NULL);

  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    if (is_of_group (&commands[i], word))
      g_string_append_printf (names, "%s%s", names->len ? ", " : "", commands[i].words);
  return g_string_free (g_steal_pointer (&names), FALSE);
}

char *
dbr_engine_command_complain (char **words)
{
  g_autofree char *group = group_names (words[0]);
  g_autofree char *typed
      = words[1] && *group ? g_strjoin (" ", words[0], words[1], NULL) : g_strdup (words[0]);
  const char *names[G_N_ELEMENTS (commands) + 8] = { NULL }; /* the programs are fewer */
  const char *word = *group && words[1] ? words[1] : words[0];
  gsize skipped = *group ? strlen (words[0]) + 1 : 0; /* of each command that may be meant */
  const char *nearest;
  g_autofree char *remedy = NULL;
  guint n = 0;

  if (*group && words[1] == NULL)
    return g_strdup_printf (_ ("\"%s\" wants one word more. There are: %s."), words[0], group);
  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    if (*group == '\0' || is_of_group (&commands[i], words[0]))
      names[n++] = strlen (commands[i].words) > skipped ? commands[i].words + skipped : "";
  for (guint i = 0; *group == '\0' && dbr_engine_programs[i]; i++)
    names[n++] = dbr_engine_programs[i];
  nearest = dbr_nearest (word, names);
  remedy = nearest ? g_strdup_printf (_ (" Did you mean %s?"), nearest) : g_strdup ("");
  if (*group)
    return g_strdup_printf (_ ("there is no command \"%s\".%s There are: %s."), typed, remedy,
                            group);
  return g_strdup_printf (
      _ ("there is no command \"%s\".%s \"drawbridge engine --help\" lists them."), typed, remedy);
}

/* ---- one command's help */

char *
dbr_engine_command_help (const DbrEngineCommand *self, const DbrTool *tool)
{
  GString *out = g_string_new (NULL);

  g_string_append_printf (out, _ ("Usage: drawbridge engine %s%s%s\n\n"), self->words,
                          *self->usage ? " " : "", self->usage);
  g_string_append_printf (out, "%s\n", _ (self->summary));
  if (self->note)
    g_string_append_printf (out, "%s\n", _ (self->note));
  if (tool->params->len)
    g_string_append (
        out, _ ("\nArguments, each also as NAME=VALUE (PROJECT: a name, number or URL):\n"));
  dbr_cli_describe_params (out, tool->params, 2);
  return g_string_free (out, FALSE);
}

/* ---- words to arguments */

/* name=value of a parameter that the tool has; anything else is a bare word, equals signs and all. */
static gboolean
take_pair (json_t *arguments, const DbrTool *tool, const char *word)
{
  const char *equals = strchr (word, '=');
  g_autofree char *name = equals ? g_strndup (word, (gsize) (equals - word)) : NULL;
  const DbrParam *param = name ? dbr_tool_param (tool, name) : NULL;

  if (param == NULL)
    return FALSE;
  return dbr_cli_set_argument (arguments, param, equals + 1);
}

static gboolean
add_word (json_t *arguments, const DbrTool *tool, const char *name, const char *word)
{
  const char *before = json_string_value (json_object_get (arguments, name));
  g_autofree char *joined = before ? g_strdup_printf ("%s %s", before, word) : g_strdup (word);

  return dbr_cli_set_argument (arguments, dbr_tool_param (tool, name), joined);
}

/* Whether @name was given by its name, or another of the parameters that exclude it. */
static gboolean
is_settled (json_t *arguments, const DbrTool *tool, const char *name)
{
  if (json_object_get (arguments, name))
    return TRUE;
  if (!tool->one_of || !g_strv_contains ((const char *const *) tool->one_of, name))
    return FALSE;
  for (guint i = 0; tool->one_of[i]; i++)
    if (json_object_get (arguments, tool->one_of[i]))
      return TRUE;
  return FALSE;
}

/* Ends with NULL. */
static GPtrArray *
param_names (const DbrTool *tool)
{
  GPtrArray *names = g_ptr_array_new ();

  for (guint i = 0; i < tool->params->len; i++)
    g_ptr_array_add (names, ((DbrParam *) g_ptr_array_index (tool->params, i))->name);
  g_ptr_array_add (names, NULL);
  return names;
}

/* A word with a misspelt name, also among the words of a text: likelier a slip than meant. Who means it names the text. */
static gboolean
is_slip (const DbrEngineCommand *self, const DbrTool *tool, const char *word, GError **error)
{
  gsize len = strspn (word, "abcdefghijklmnopqrstuvwxyz_");
  g_autoptr (GPtrArray) names = param_names (tool);
  g_autofree char *name = g_strndup (word, len);
  const char *nearest = dbr_nearest (name, (const char *const *) names->pdata);
  g_autofree char *remedy
      = nearest ? g_strdup_printf (_ (" Did you mean %s?"), nearest) : g_strdup ("");

  if (len < 3 || word[len] != '=' || strpbrk (word, " \t\n"))
    return FALSE;
  if (g_str_has_suffix (self->names, " ..."))
    {
      g_auto (GStrv) own = g_strsplit (self->names, " ", -1);
      g_set_error (
          error, DBR_ARGUMENT_ERROR, DBR_ARGUMENT_ERROR_UNKNOWN,
          _ ("\"%s\": there is no argument \"%s\".%s If it belongs to the text, write that "
             "as %s='...'."),
          word, name, remedy, own[g_strv_length (own) - 2]);
    }
  else
    g_set_error (error, DBR_ARGUMENT_ERROR, DBR_ARGUMENT_ERROR_UNKNOWN,
                 _ ("\"%s\": there is no argument \"%s\".%s It is: drawbridge engine %s %s"), word,
                 name, remedy, self->words, self->usage);
  return TRUE;
}

/* Bare words fill the names in order; the last name takes all that are left when "..." follows it. */
static gboolean
read_bare (const DbrEngineCommand *self,
           const DbrTool *tool,
           json_t *arguments,
           const GPtrArray *words,
           GError **error)
{
  g_auto (GStrv) names = g_strsplit (self->names, " ", -1);
  guint next = 0;

  for (guint i = 0; i < words->len; i++)
    {
      const char *word = g_ptr_array_index (words, i);
      gboolean is_more = names[next] && strcmp (names[next], "...") == 0;
      if (is_slip (self, tool, word, error))
        return FALSE;
      while (!is_more && names[next] && *names[next] && is_settled (arguments, tool, names[next]))
        next += names[next + 1] && strcmp (names[next + 1], "...") == 0 ? 2 : 1;
      if (!is_more && (!names[next] || !*names[next]))
        {
          g_set_error (error, DBR_ARGUMENT_ERROR, DBR_ARGUMENT_ERROR_UNKNOWN,
                       _ ("\"%s\" is one word too many. It is: drawbridge engine %s %s"), word,
                       self->words, self->usage);
          return FALSE;
        }
      if (!add_word (arguments, tool, names[is_more ? next - 1 : next], word))
        {
          g_set_error (error, DBR_ARGUMENT_ERROR, DBR_ARGUMENT_ERROR_TYPE,
                       _ ("a word of the command line is not UTF-8"));
          return FALSE;
        }
      next += !is_more;
    }
  return TRUE;
}

/* The catalogue's word on the values, and how the command is typed. */
static gboolean
check (const DbrEngineCommand *self, const DbrTool *tool, DbrJsonDoc *arguments, GError **error)
{
  g_autoptr (GError) problem = NULL;
  g_autoptr (DbrJsonDoc) doc = dbr_arguments_check (tool, dbr_json_doc_root (arguments), &problem);

  if (doc == NULL)
    g_set_error (error, DBR_ARGUMENT_ERROR, problem->code,
                 _ ("the arguments are not right.\n%s\n%s%sIt is: drawbridge engine %s %s"),
                 problem->message, self->note ? _ (self->note) : "", self->note ? "\n" : "",
                 self->words, self->usage);
  return doc != NULL;
}

DbrJsonDoc *
dbr_engine_command_read (const DbrEngineCommand *self,
                         const DbrTool *tool,
                         char **words,
                         GError **error)
{
  g_autoptr (GPtrArray) bare = g_ptr_array_new ();
  json_auto_t *arguments = json_object ();
  char *text;
  g_autoptr (DbrJsonDoc) doc = NULL;

  for (guint i = 0; words[i]; i++)
    if (!take_pair (arguments, tool, words[i]))
      g_ptr_array_add (bare, words[i]);
  if (!read_bare (self, tool, arguments, bare, error))
    return NULL;
  text = json_dumps (arguments, JSON_COMPACT);
  doc = dbr_json_doc_new_from_data (text ? text : "{}", -1, NULL, error);
  free (text);
  return doc && !check (self, tool, doc, error) ? NULL : g_steal_pointer (&doc);
}
