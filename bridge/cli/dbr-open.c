/* SPDX-License-Identifier: Apache-2.0 */
/* dbr-open: from a command line to a tool host. */
#include "config.h"

#include "cli/dbr-cli.h"

#include <glib/gi18n.h>
#include <string.h>

void
dbr_open_options_clear (DbrOpenOptions *self)
{
  g_free (self->backend);
  g_free (self->catalogue);
  g_strfreev (self->allow_env);
  g_free (self->plain_http);
  g_free (self->scope);
}

GOptionEntry *
dbr_open_entries (DbrOpenOptions *self, gboolean for_call)
{
  const GOptionEntry entries[]
      = { { "backend", 0, 0, G_OPTION_ARG_STRING, &self->backend,
            N_ ("a shipped backend's name, such as airflow"), "NAME" },
          { "catalogue", 0, 0, G_OPTION_ARG_FILENAME, &self->catalogue,
            N_ ("a catalogue file of your own instead"), "FILE" },
          { "allow-env", 0, 0, G_OPTION_ARG_STRING_ARRAY, &self->allow_env,
            N_ ("let that file read this variable too (may be repeated)"), "NAME" },
          { "scope", 0, 0, G_OPTION_ARG_STRING, &self->scope,
            N_ ("only tools of these categories (a,b)"), "LIST" },
          { "allow-plain-http", 0, 0, G_OPTION_ARG_STRING, &self->plain_http,
            N_ ("send credentials over plain http to this host"), "HOST" },
          { "timeout", 0, 0, G_OPTION_ARG_DOUBLE, &self->timeout_s,
            N_ ("how long a call may take (30)"), "SECONDS" },
          { for_call ? "yes" : "hide-gated", 0, 0, G_OPTION_ARG_NONE,
            for_call ? &self->assume_yes : &self->hide_gated,
            for_call ? N_ ("say yes beforehand to what asks for it")
                     : N_ ("leave tools whose gate is shut out of the list"),
            NULL },
          { NULL } };

  return g_memdup2 (entries, sizeof entries);
}

int
dbr_cli_complain (const GError *error)
{
  g_printerr ("drawbridge: %s\n", error->message);
  return DBR_EXIT_USAGE;
}

static DbrCatalogue *
load_shipped (const char *name, GError **error)
{
  g_autofree char *dir = dbr_install_schema_dir ();
  g_autofree char *base = g_strconcat (name, ".xml", NULL);
  g_autofree char *file = g_build_filename (dir, base, NULL);
  DbrCatalogueOptions options = { TRUE, NULL, dir };

  if (strchr (name, '/') || name[0] == '.' || !g_file_test (file, G_FILE_TEST_EXISTS))
    {
      g_auto (GStrv) names = dbr_install_catalogues ();
      g_autofree char *known = g_strjoinv (", ", names);
      g_set_error (
          error, DBR_CATALOGUE_ERROR, DBR_CATALOGUE_ERROR_READ,
          _ ("no backend \"%s\"; there is: %s. A file of your own goes with --catalogue FILE."),
          name, *known ? known : _ ("none (incomplete installation)"));
      return NULL;
    }
  return dbr_catalogue_load (file, &options, error);
}

static DbrCatalogue *
load (const DbrOpenOptions *options, GError **error)
{
  g_autofree char *dir = NULL;
  DbrCatalogueOptions how = { FALSE, (const char *const *) options->allow_env, NULL };

  if (options->catalogue == NULL && options->backend == NULL)
    {
      g_auto (GStrv) names = dbr_install_catalogues ();
      g_autofree char *known = g_strjoinv (", ", names);
      g_set_error (error, DBR_CATALOGUE_ERROR, DBR_CATALOGUE_ERROR_READ,
                   _ ("name a backend (%s) or give --catalogue FILE"), known);
      return NULL;
    }
  if (options->catalogue && options->backend)
    {
      g_set_error (error, DBR_CATALOGUE_ERROR, DBR_CATALOGUE_ERROR_READ,
                   _ ("a backend's name and --catalogue exclude each other"));
      return NULL;
    }
  if (options->catalogue == NULL)
    return load_shipped (options->backend, error);
  dir = dbr_install_schema_dir ();
  how.schema_dir = dir;
  return dbr_catalogue_load (options->catalogue, &how, error);
}

DbrToolHost *
dbr_open (const DbrOpenOptions *options, GError **error)
{
  DbrCatalogue *catalogue;
  g_autofree char *module = dbr_install_module ();
  DbrHostOptions how = { 0 };

  if (options->timeout_s < 0 || options->timeout_s > 3600)
    {
      g_set_error (error, DBR_CATALOGUE_ERROR, DBR_CATALOGUE_ERROR_RULE,
                   _ ("--timeout takes 0.05 to 3600 seconds"));
      return NULL;
    }
  catalogue = load (options, error);
  if (catalogue == NULL)
    return NULL;
  how.backend.module_file = module;
  how.backend.plain_http_host = options->plain_http;
  how.backend.timeout_ms = options->timeout_s > 0 ? (guint) MAX (options->timeout_s * 1000, 50) : 0;
  how.scope = options->scope;
  how.hide_gated = options->hide_gated;
  how.assume_yes = options->assume_yes;
  how.json_output = options->json_output;
  return dbr_host_new (catalogue, &how, error);
}

char *
dbr_open_find_backend (const char *tool, GError **error)
{
  g_auto (GStrv) names = dbr_install_catalogues ();
  g_autoptr (GPtrArray) found = g_ptr_array_new ();
  g_autofree char *list = NULL;

  for (guint i = 0; names[i]; i++)
    {
      g_autoptr (DbrCatalogue) catalogue = load_shipped (names[i], error);
      if (catalogue == NULL)
        return NULL;
      if (dbr_catalogue_find (catalogue, tool))
        g_ptr_array_add (found, names[i]);
    }
  if (found->len == 1)
    return g_strdup (g_ptr_array_index (found, 0));
  g_ptr_array_add (found, NULL);
  list = found->len > 1 ? g_strjoinv (", ", (char **) found->pdata) : g_strjoinv (", ", names);
  if (found->len > 1)
    g_set_error (error, DBR_CATALOGUE_ERROR, DBR_CATALOGUE_ERROR_REFERENCE,
                 _ ("several backends have a tool \"%s\": %s. Choose one with --backend."), tool,
                 list);
  else
    g_set_error (error, DBR_CATALOGUE_ERROR, DBR_CATALOGUE_ERROR_REFERENCE,
                 _ ("no tool \"%s\" in any shipped backend (%s); \"drawbridge tools\" lists them"),
                 tool, list);
  return NULL;
}
