/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drawbridge-engine: the planning engine as a program: a table of subcommands.
 */
#include "config.h"

#include "dbr-place.h"
#include "srv-command.h"
#include "srv-engine.h"
#include "srv-keep.h"

#include <string.h>
#include <sys/stat.h>

typedef struct
{
  const char *name;
  int (*run) (int argc, char **argv);
  const char *summary;
} Command;

static const Command commands[] = {
  { "serve", srv_cmd_serve, "serve the API on a unix socket (and TCP)" },
  { "work", srv_cmd_work, "do the jobs of plans with a command of yours" },
  { "attach", srv_cmd_attach, "be a project's foreman in a chat of your own" },
  { "backup", srv_cmd_backup, "copy the state while it is used" },
  { "check", srv_cmd_check, "check the state's integrity" },
};

gboolean
srv_command_parse (int *argc,
                   char ***argv,
                   const GOptionEntry *entries,
                   const char *usage,
                   const char *summary,
                   int *out_status)
{
  g_autoptr (GOptionContext) context = g_option_context_new (usage);
  g_autoptr (GError) error = NULL;
  g_autofree char *name = g_strconcat ("drawbridge-engine ", (*argv)[0], NULL);
  gboolean wants_help = FALSE;
  const GOptionEntry help[]
      = { { "help", 'h', 0, G_OPTION_ARG_NONE, &wants_help, "show this help", NULL }, { NULL } };

  g_set_prgname (name);
  g_option_context_set_help_enabled (context, FALSE);
  g_option_context_set_summary (context, summary);
  g_option_context_add_main_entries (context, entries, NULL);
  g_option_context_add_main_entries (context, help, NULL);
  if (!g_option_context_parse (context, argc, argv, &error))
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
  return TRUE;
}

int
srv_cmd_backup (int argc, char **argv)
{
  g_autofree char *state = NULL;
  const GOptionEntry entries[]
      = { { "state", 0, 0, G_OPTION_ARG_FILENAME, &state, "the state's file", "FILE" }, { NULL } };
  g_autoptr (GError) error = NULL;
  int status = 0;

  if (!srv_command_parse (&argc, &argv, entries, "TO", "Copies the state while it is used.",
                          &status))
    return status;
  if (argc != 2)
    {
      g_printerr ("drawbridge-engine backup: say where to: backup TO\n");
      return 2;
    }
  if (!state)
    state = dbr_place_state ();
  umask (077);
  if (!srv_engine_backup_file (state, argv[1], &error))
    {
      g_printerr ("drawbridge-engine backup: %s\n", error->message);
      return 1;
    }
  return 0;
}

int
srv_cmd_check (int argc, char **argv)
{
  g_autofree char *state = NULL;
  const GOptionEntry entries[]
      = { { "state", 0, 0, G_OPTION_ARG_FILENAME, &state, "the state's file", "FILE" }, { NULL } };
  g_autofree char *report = NULL;
  g_autoptr (GError) error = NULL;
  int status = 0;

  if (!srv_command_parse (&argc, &argv, entries, "", "Checks the state's integrity.", &status))
    return status;
  if (argc != 1)
    {
      g_printerr ("drawbridge-engine check: takes no argument %s\n", argv[1]);
      return 2;
    }
  if (!state)
    state = dbr_place_state ();
  if (srv_engine_check (state, &report, &error))
    {
      g_print ("%s: sound\n", state);
      return 0;
    }
  if (error)
    g_printerr ("drawbridge-engine check: %s\n", error->message);
  else
    g_print ("%s", report);
  return 1;
}

static void
usage_print (void)
{
  g_print ("usage: drawbridge-engine COMMAND [OPTION...]\n\n");
  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    g_print ("  %-8s %s\n", commands[i].name, commands[i].summary);
  g_print ("\ndrawbridge-engine COMMAND --help says more.\n");
}

int
main (int argc, char **argv)
{
  const char *name = argc > 1 ? argv[1] : "";

  /* Ours alone, and first: it starts with every turn. */
  if (strcmp (name, "keep") == 0)
    return srv_keep_main (argc - 1, argv + 1);
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
  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    if (strcmp (name, commands[i].name) == 0)
      return commands[i].run (argc - 1, argv + 1);
  if (*name)
    g_printerr ("drawbridge-engine: there is no command %s\n", name);
  usage_print ();
  return 2;
}
