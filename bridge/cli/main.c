/* SPDX-License-Identifier: Apache-2.0 */
/* main: one subcommand a file; this one only chooses. */
#include "config.h"

#include "cli/dbr-cli.h"
#include "dbr-nearest.h"

#include <glib/gi18n.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdio.h>
#include <string.h>

#define KEPT_BYTES (1 << 20)

static const struct
{
  const char *name;
  int (*run) (int argc, char **argv);
  const char *summary;
} commands[] = {
  { "mcp", dbr_cli_mcp, N_ ("serve MCP on standard input and output") },
  { "call", dbr_cli_call, N_ ("call one tool from a shell") },
  { "tools", dbr_cli_tools, N_ ("list tools, and which layer withholds what") },
  { "catalogue", dbr_cli_catalogue, N_ ("check a catalogue of your own") },
  { "engine", dbr_cli_engine, N_ ("run the planning engine, and steer it from a shell") },
};

static void
print_help (void)
{
  g_print (_ (
      "Usage: drawbridge COMMAND [OPTION...]\n\nA stateless bridge from MCP to a REST API.\n\n"));
  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    g_print ("  %-10s %s\n", commands[i].name, _ (commands[i].summary));
  g_print (_ ("\n\"drawbridge COMMAND --help\" tells more.\n"));
}

/* An answer's body and its index come and go with every call: as many pages would be given back and
 * faulted in again each time, a quarter of the CPU of a call. */
static void
keep_some_memory (void)
{
#ifdef __GLIBC__
  mallopt (M_TRIM_THRESHOLD, KEPT_BYTES);
  mallopt (M_MMAP_THRESHOLD, KEPT_BYTES);
#endif
}

/* A full disk must not look like an answer: what was printed may not have arrived. */
static int
written (int status)
{
  if (fflush (stdout) == 0 && !ferror (stdout))
    return status;
  return status == DBR_EXIT_OK ? DBR_EXIT_IO : status;
}

static int
complain_of_command (const char *word)
{
  const char *names[G_N_ELEMENTS (commands) + 1] = { NULL };
  const char *nearest;
  g_autofree char *remedy = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    names[i] = commands[i].name;
  nearest = dbr_nearest (word, names);
  remedy = nearest ? g_strdup_printf (_ (" Did you mean %s?"), nearest) : g_strdup ("");
  g_printerr (_ ("drawbridge: no command \"%s\".%s \"drawbridge --help\" lists them.\n"), word,
              remedy);
  return DBR_EXIT_USAGE;
}

int
main (int argc, char **argv)
{
  keep_some_memory ();
  dbr_install_language ();
  if (argc < 2 || strcmp (argv[1], "--help") == 0 || strcmp (argv[1], "-h") == 0
      || strcmp (argv[1], "help") == 0)
    {
      print_help ();
      return argc < 2 ? DBR_EXIT_USAGE : DBR_EXIT_OK;
    }
  if (strcmp (argv[1], "--version") == 0)
    {
      g_print ("drawbridge %s\n", PACKAGE_VERSION);
      return DBR_EXIT_OK;
    }
  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    if (strcmp (argv[1], commands[i].name) == 0)
      {
        g_autofree char *name = g_strconcat ("drawbridge ", commands[i].name, NULL);
        g_set_prgname (name); /* what a command's --help calls it */
        return written (commands[i].run (argc - 1, argv + 1));
      }
  return complain_of_command (argv[1]);
}
