/* SPDX-License-Identifier: Apache-2.0 */
/* drawbridge mcp: serves MCP on standard input and output. */
#include "config.h"

#include "cli/dbr-cli.h"
#include "protocol/dbr-stdio.h"

#include <glib/gi18n.h>

static gboolean
is_for_shell (const DbrCatalogue *catalogue)
{
  return catalogue->offer && catalogue->offer->is_shell_only;
}

int
dbr_cli_mcp (int argc, char **argv)
{
  g_auto (DbrOpenOptions) open = { 0 };
  g_autofree GOptionEntry *entries = dbr_open_entries (&open, FALSE);
  g_autoptr (GOptionContext) context = g_option_context_new (_ ("[BACKEND]"));
  g_autoptr (GError) error = NULL;
  g_autofree char *gate_problem = NULL;
  DbrToolHost *host;
  int status;

  g_option_context_set_summary (
      context,
      _ ("Serves MCP on standard input and output, for one client, until the input ends."));
  if (!dbr_option_parse (context, entries, NULL, &argc, &argv, &error))
    return dbr_cli_complain (error);
  if (argc > 2)
    {
      g_printerr (_ ("drawbridge mcp: \"%s\" is one argument too many\n"), argv[2]);
      return DBR_EXIT_USAGE;
    }
  if (argc == 2 && open.backend == NULL)
    open.backend = g_strdup (argv[1]);
  if (!dbr_open_settle_offer (&open, &error))
    return dbr_cli_complain (error);
  if (open.backend == NULL && open.catalogue == NULL)
    open.backend = g_strdup (DBR_ENGINE);
  host = dbr_open (&open, &error);
  if (host == NULL)
    return dbr_cli_complain (error);
  if (is_for_shell (dbr_host_catalogue (host)))
    {
      g_printerr (_ ("drawbridge mcp: the offer \"%s\" is for the command line only\n"),
                  open.offer);
      dbr_host_free (host);
      return DBR_EXIT_USAGE;
    }
  if (dbr_backend_problem (dbr_host_backend (host)))
    g_printerr ("drawbridge: %s\n", dbr_backend_problem (dbr_host_backend (host)));
  gate_problem = dbr_gate_problem (dbr_host_gate (host));
  if (gate_problem)
    g_printerr ("drawbridge: %s\n", gate_problem);
  status = dbr_stdio_serve (host, NULL);
  dbr_host_free (host);
  return status;
}
