/* SPDX-License-Identifier: Apache-2.0 */
/* drawbridge tools: which tools there are, and which layer withholds what. */
#include "config.h"

#include "cli/dbr-cli.h"

#include <glib/gi18n.h>
#include <string.h>

static void
print_tool (DbrToolHost *host, const DbrTool *tool)
{
  const DbrGate *gate = dbr_host_gate (host);
  g_autofree char *note = dbr_gate_note (gate, tool);
  const char *access = tool->access_varies ? "by method" : dbr_access_name (tool->access);

  if (!dbr_gate_in_scope (gate, tool))
    g_print ("  %-24s %-9s %s\n", tool->name, access, _ ("(out of scope: not listed, refused)"));
  else
    g_print ("  %-24s %-9s %s%s%s\n", tool->name, access, _ (tool->title), note ? " " : "",
             note ? note : "");
}

static void
print_report (DbrToolHost *host)
{
  const DbrCatalogue *catalogue = dbr_host_catalogue (host);
  DbrBackend *backend = dbr_host_backend (host);
  g_autofree char *layers = dbr_gate_report (dbr_host_gate (host));

  if (catalogue->offer)
    g_print (_ ("%s, offer %s%s: %s\n"), catalogue->name, catalogue->offer->name,
             catalogue->offer->is_default ? _ (" (the default)") : "", _ (catalogue->title));
  else
    g_print ("%s: %s\n", catalogue->name, _ (catalogue->title));
  g_print (_ ("  address: %s\n"), dbr_backend_origin (backend));
  g_print (_ ("  credentials: %s\n"), dbr_backend_credentials (backend));
  if (dbr_backend_problem (backend))
    g_print (_ ("  PROBLEM: %s\n"), dbr_backend_problem (backend));
  g_print ("%s", layers);
  for (guint c = 0; c < catalogue->categories->len; c++)
    {
      const DbrCategory *category = g_ptr_array_index (catalogue->categories, c);
      g_print ("\n%s (%s)\n", _ (category->title), category->name);
      for (guint i = 0; i < catalogue->tools->len; i++)
        {
          const DbrTool *tool = g_ptr_array_index (catalogue->tools, i);
          if (strcmp (tool->category, category->name) == 0)
            print_tool (host, tool);
        }
    }
}

static void
print_json (DbrToolHost *host)
{
  json_auto_t *list = host->list_tools (host);
  char *text = json_dumps (list, JSON_INDENT (2));

  g_print ("%s\n", text ? text : "[]");
  free (text);
}

static int
report_one (const DbrOpenOptions *open, gboolean as_json)
{
  g_autoptr (GError) error = NULL;
  DbrToolHost *host = dbr_open (open, &error);

  if (host == NULL)
    return dbr_cli_complain (error);
  if (as_json)
    print_json (host);
  else
    print_report (host);
  dbr_host_free (host);
  return DBR_EXIT_OK;
}

/* Every offer of one catalogue, unless one was chosen. As JSON it is one list: the default's. */
static int
report_offers (DbrOpenOptions *open, gboolean as_json)
{
  g_autoptr (GError) error = NULL;
  g_auto (GStrv) offers = open->offer || as_json ? NULL : dbr_open_offers (open, &error);
  int status = DBR_EXIT_OK;

  if (error)
    return dbr_cli_complain (error);
  if (offers == NULL || *offers == NULL)
    return report_one (open, as_json);
  for (guint i = 0; offers[i] && status == DBR_EXIT_OK; i++)
    {
      if (i)
        g_print ("\n");
      open->offer = offers[i];
      status = report_one (open, as_json);
    }
  open->offer = NULL; /* they were the list's */
  return status;
}

static int
report_all (DbrOpenOptions *open, gboolean as_json)
{
  g_auto (GStrv) names = dbr_install_catalogues ();

  for (guint i = 0; names[i]; i++)
    {
      int status;
      g_free (open->backend);
      open->backend = g_strdup (names[i]);
      if (i && !as_json)
        g_print ("\n");
      status = report_offers (open, as_json);
      if (status != DBR_EXIT_OK)
        return status;
    }
  return DBR_EXIT_OK;
}

int
dbr_cli_tools (int argc, char **argv)
{
  g_auto (DbrOpenOptions) open = { 0 };
  g_autofree GOptionEntry *entries = dbr_open_entries (&open, FALSE);
  g_autofree char *output = NULL;
  const GOptionEntry more[] = { { "output", 0, 0, G_OPTION_ARG_STRING, &output,
                                  N_ ("text, or json: the list as a client gets it"), "text|json" },
                                { NULL } };
  g_autoptr (GOptionContext) context = g_option_context_new (_ ("[BACKEND]"));
  g_autoptr (GError) error = NULL;
  gboolean as_json;

  g_option_context_set_summary (
      context, _ ("Lists the tools, what each may do, and which layer withholds what."));
  if (!dbr_option_parse (context, entries, more, &argc, &argv, &error))
    return dbr_cli_complain (error);
  if (!dbr_cli_read_output (output, &as_json))
    return DBR_EXIT_USAGE;
  if (argc > 2)
    {
      g_printerr (_ ("drawbridge tools: \"%s\" is one argument too many\n"), argv[2]);
      return DBR_EXIT_USAGE;
    }
  if (argc == 2 && open.backend == NULL)
    open.backend = g_strdup (argv[1]);
  if (!dbr_open_settle_offer (&open, &error))
    return dbr_cli_complain (error);
  if (open.backend == NULL && open.catalogue == NULL && open.offer)
    open.backend = g_strdup (DBR_ENGINE);
  if (open.backend == NULL && open.catalogue == NULL)
    return report_all (&open, as_json);
  return report_offers (&open, as_json);
}
