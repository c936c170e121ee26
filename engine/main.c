/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drawbridge-engine: the planning engine as a program: a table of subcommands.
 */
#include "config.h"

#include "dbr-install.h"
#include "dbr-option.h"
#include "dbr-place.h"
#include "dbr-text.h"
#include "srv-command.h"
#include "srv-engine.h"
#include "srv-folder.h"
#include "srv-keep.h"

#include <glib/gi18n.h>
#include <glib/gstdio.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

typedef struct
{
  const char *name;
  int (*run) (int argc, char **argv);
  const char *summary;
} Command;

static const Command commands[] = {
  { "serve", srv_cmd_serve, N_ ("serve the API on a unix socket (and TCP)") },
  { "work", srv_cmd_work, N_ ("do the jobs of plans with a command of yours") },
  { "attach", srv_cmd_attach, N_ ("be a project's foreman in a chat of your own") },
  { "backup", srv_cmd_backup, N_ ("copy the state while it is used") },
  { "check", srv_cmd_check, N_ ("check the state's integrity") },
};

gboolean
srv_command_parse (int *argc,
                   char ***argv,
                   const GOptionEntry *entries,
                   const char *usage,
                   const char *summary,
                   int *out_status)
{
  g_autoptr (GOptionContext) context = g_option_context_new (*usage ? _ (usage) : NULL);
  g_autoptr (GError) error = NULL;
  g_autofree char *name = g_strconcat ("drawbridge-engine ", (*argv)[0], NULL);
  gboolean wants_help = FALSE;
  const GOptionEntry help[]
      = { { "help", 'h', 0, G_OPTION_ARG_NONE, &wants_help, N_ ("show this help"), NULL },
          { NULL } };

  g_set_prgname (name);
  g_option_context_set_help_enabled (context, FALSE);
  g_option_context_set_summary (context, _ (summary));
  if (!dbr_option_parse (context, entries, help, argc, argv, &error))
    {
      g_printerr ("%s: %s\n", name, error->message);
      *out_status = 2;
      return FALSE;
    }
  if (wants_help)
    {
      g_autofree char *text = g_option_context_get_help (context, TRUE, NULL);

      g_print ("%s", text);
      *out_status = 0;
      return FALSE;
    }
  /* GOption leaves the "--" in front of what follows it. */
  if (*argc > 1 && strcmp ((*argv)[1], "--") == 0)
    {
      (*argv)[1] = (*argv)[0];
      (*argv)++;
      (*argc)--;
    }
  return TRUE;
}

static gboolean
is_same_file (const char *a, const char *b)
{
  GStatBuf first;
  GStatBuf second;

  return g_stat (a, &first) == 0 && g_stat (b, &second) == 0 && first.st_dev == second.st_dev
         && first.st_ino == second.st_ino;
}

static gboolean
backup (const char *state, const char *to, gboolean may_replace, GError **error)
{
  SrvStoreCounts counts;
  GStatBuf about;

  if (!srv_engine_backup_file (state, to, may_replace, error)
      || !srv_engine_count (to, &counts, error))
    return FALSE;
  g_autofree char *size = g_format_size (g_stat (to, &about) == 0 ? (guint64) about.st_size : 0);
  g_print (_ ("%s: %s, projects: %lld, plans: %lld, events: %lld\n"), to, size,
           (long long) counts.projects, (long long) counts.plans, (long long) counts.events);
  return TRUE;
}

/* The file that was named, or the default one; FALSE: it isn't there or can't be trusted, which was said. Takes and gives
 * *state. */
static gboolean
state_find (char **state, const char *command)
{
  g_autofree char *problem = NULL;
  g_autofree char *named = *state ? *state : dbr_place_state ();
  GStatBuf about;

  *state = NULL;
  if (g_lstat (named, &about) != 0 && (errno == ENOENT || errno == ENOTDIR))
    problem = g_strdup_printf (_ ("there is no state file %s: \"drawbridge engine serve\" makes it "
                                  "where there is none, --state FILE names another one"),
                               named);
  else
    *state = srv_folder_resolve_state (named, &problem);
  if (problem)
    g_printerr ("drawbridge-engine %s: %s\n", command, problem);
  return !problem;
}

int
srv_cmd_backup (int argc, char **argv)
{
  g_autofree char *state = NULL;
  gboolean force = FALSE;
  const GOptionEntry entries[] = {
    { "state", 0, 0, G_OPTION_ARG_FILENAME, &state, N_ ("the state's file"), "FILE" },
    { "force", 0, 0, G_OPTION_ARG_NONE, &force, N_ ("replace a file that is there already"), NULL },
    { NULL },
  };
  g_autoptr (GError) error = NULL;
  int status = 0;

  if (!srv_command_parse (&argc, &argv, entries, N_ ("TO"),
                          N_ ("Copies the state while it is used."), &status))
    return status;
  if (argc != 2)
    {
      g_printerr (_ ("drawbridge-engine backup: say where to: backup TO\n"));
      return 2;
    }
  if (!state_find (&state, "backup"))
    return 1;
  if (is_same_file (state, argv[1]))
    {
      g_printerr (_ ("drawbridge-engine backup: %s is the state itself\n"), argv[1]);
      return 2;
    }
  umask (077);
  if (backup (state, argv[1], force, &error))
    return 0;
  g_printerr (g_file_test (argv[1], G_FILE_TEST_EXISTS) && !force
                  ? _ ("drawbridge-engine backup: %s; --force replaces it\n")
                  : "drawbridge-engine backup: %s\n",
              error->message);
  return 1;
}

int
srv_cmd_check (int argc, char **argv)
{
  g_autofree char *state = NULL;
  const GOptionEntry entries[]
      = { { "state", 0, 0, G_OPTION_ARG_FILENAME, &state, N_ ("the state's file"), "FILE" },
          { NULL } };
  g_autofree char *report = NULL;
  g_autoptr (GError) error = NULL;
  SrvStoreCounts counts;
  int status = 0;

  if (!srv_command_parse (&argc, &argv, entries, "", N_ ("Checks the state's integrity."), &status))
    return status;
  if (argc != 1)
    {
      g_printerr (_ ("drawbridge-engine %s: takes no argument %s\n"), "check", argv[1]);
      return 2;
    }
  if (!state_find (&state, "check"))
    return 1;
  if (srv_engine_check (state, &report, &error) && srv_engine_count (state, &counts, &error))
    {
      g_print (_ ("%s: sound. Checked: the file's structure, and %u rules about its records "
                  "(projects: %lld, plans: %lld, events: %lld)\n"),
               state, counts.rules, (long long) counts.projects, (long long) counts.plans,
               (long long) counts.events);
      return 0;
    }
  if (error)
    g_printerr ("drawbridge-engine check: %s\n", error->message);
  else
    g_print (_ ("%s: not sound\n%s"), state, report);
  return 1;
}

static void
usage_print (void)
{
  g_print (_ ("usage: drawbridge-engine COMMAND [OPTION...]\n\n"));
  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    g_print ("  %-8s %s\n", commands[i].name, _ (commands[i].summary));
  g_print (_ ("\ndrawbridge-engine COMMAND --help says more.\n"));
}

/* "help COMMAND" is what "COMMAND --help" says. */
static int
help_show (char *name)
{
  char option[] = "--help";
  char *argv[] = { name, option, NULL };

  for (guint i = 0; name && i < G_N_ELEMENTS (commands); i++)
    if (strcmp (name, commands[i].name) == 0)
      return commands[i].run (2, argv);
  if (name)
    g_printerr (_ ("drawbridge-engine: there is no command %s\n"), name);
  usage_print ();
  return name ? 2 : 0;
}

/* ------------------------------------------------------------------------------------- output */
/* The one way out to a person: names of files, an engine's words and a client's texts rule no terminal. */
static void
put_safe (FILE *file, const char *text)
{
  g_autoptr (GString) safe = g_string_new (NULL);
  const char *charset;

  dbr_text_append_safe (safe, text, -1, DBR_TEXT_LINES);
  gboolean is_utf8 = g_get_charset (&charset);
  g_autofree char *to = g_strconcat (charset, "//TRANSLIT", NULL);
  g_autofree char *other
      = is_utf8 ? NULL
                : g_convert_with_fallback (safe->str, -1, to, "UTF-8", "?", NULL, NULL, NULL);
  fputs (other ? other : safe->str, file);
  fflush (file);
}

static void
on_print (const char *text)
{
  put_safe (stdout, text);
}

static void
on_print_error (const char *text)
{
  put_safe (stderr, text);
}

/* A message of the log is one line, and what we tell whoever runs us looks as all that we tell. */
static GLogWriterOutput
on_log (GLogLevelFlags level, const GLogField *fields, gsize n_fields, gpointer user_data)
{
  g_autofree GLogField *copies = g_memdup2 (fields, n_fields * sizeof *fields);
  g_autoptr (GString) safe = g_string_new (NULL);
  /* Faults of ours and words of libraries keep where they come from. */
  gboolean is_plain = (level & (G_LOG_LEVEL_WARNING | G_LOG_LEVEL_MESSAGE)) != 0
                      && (level & G_LOG_FLAG_FATAL) == 0
                      && !g_log_writer_is_journald (fileno (stderr));

  for (gsize i = 0; i < n_fields; i++)
    if (strcmp (copies[i].key, "MESSAGE") == 0)
      {
        dbr_text_append_safe (safe, copies[i].value, copies[i].length, DBR_TEXT_ONE_LINE);
        copies[i].value = safe->str;
        copies[i].length = -1;
      }
    else if (strcmp (copies[i].key, "GLIB_DOMAIN") == 0
             && g_strcmp0 (copies[i].value, G_LOG_DOMAIN) != 0)
      is_plain = FALSE;
  if (!is_plain)
    return g_log_writer_default (level, copies, n_fields, user_data);
  g_printerr ("drawbridge-engine: %s\n", safe->str);
  return G_LOG_WRITER_HANDLED;
}

int
main (int argc, char **argv)
{
  const char *name = argc > 1 ? argv[1] : "";

  /* Ours alone, and first: it starts with every turn. */
  if (strcmp (name, "keep") == 0)
    return srv_keep_main (argc - 1, argv + 1);
  if (strcmp (name, "exec") == 0)
    return srv_keep_exec_main (argc - 1, argv + 1);
  dbr_install_language ();
  g_set_print_handler (on_print);
  g_set_printerr_handler (on_print_error);
  g_log_set_writer_func (on_log, NULL, NULL);
  if (strcmp (name, "--help") == 0 || strcmp (name, "-h") == 0)
    {
      usage_print ();
      return 0;
    }
  if (strcmp (name, "--version") == 0)
    {
      g_print ("drawbridge-engine %s\n", PACKAGE_VERSION);
      return 0;
    }
  if (strcmp (name, "help") == 0)
    return help_show (argc > 2 ? argv[2] : NULL);
  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    if (strcmp (name, commands[i].name) == 0)
      return commands[i].run (argc - 1, argv + 1);
  if (*name)
    g_printerr (_ ("drawbridge-engine: there is no command %s\n"), name);
  usage_print ();
  return 2;
}
