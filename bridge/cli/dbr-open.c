/* SPDX-License-Identifier: Apache-2.0 */
/* dbr-open: from a command line to a tool host. */
#include "config.h"

#include "cli/dbr-cli.h"
#include "dbr-place.h"

#include <glib/gi18n.h>
#include <string.h>

void
dbr_open_options_clear (DbrOpenOptions *self)
{
  g_free (self->backend);
  g_free (self->catalogue);
  g_free (self->offer);
  g_free (self->socket);
  g_strfreev (self->environment);
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
          { "client", 0, 0, G_OPTION_ARG_NONE, &self->client,
            N_ ("the tools for a user of the planning engine (offer client)"), NULL },
          { "coordinator", 0, 0, G_OPTION_ARG_NONE, &self->coordinator,
            N_ ("the tools for a coordinator of several projects (offer coordinator)"), NULL },
          { "offer", 0, 0, G_OPTION_ARG_STRING, &self->offer,
            N_ ("the tools of this offer of the catalogue"), "NAME" },
          { "socket", 0, 0, G_OPTION_ARG_FILENAME, &self->socket,
            N_ ("the server's unix socket, in place of any other address"), "PATH" },
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
load_shipped (const char *name, const char *offer, GError **error)
{
  g_autofree char *dir = dbr_install_schema_dir ();
  g_autofree char *base = g_strconcat (name, ".xml", NULL);
  g_autofree char *file = g_build_filename (dir, base, NULL);
  DbrCatalogueOptions options = { .is_shipped = TRUE, .schema_dir = dir, .offer = offer };

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
  DbrCatalogueOptions how
      = { .allow_env = (const char *const *) options->allow_env, .offer = options->offer };

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
    return load_shipped (options->backend, options->offer, error);
  dir = dbr_install_schema_dir ();
  how.schema_dir = dir;
  return dbr_catalogue_load (options->catalogue, &how, error);
}

DbrToolHost *
dbr_open (const DbrOpenOptions *options, GError **error)
{
  DbrCatalogue *catalogue;
  g_autofree char *socket = NULL;
  g_autofree char *default_socket = NULL;
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
  if (options->socket)
    socket = g_canonicalize_filename (options->socket, NULL);
  if (catalogue->backend->has_engine_socket)
    default_socket = dbr_place_socket ();
  how.backend.unix_socket = socket;
  how.backend.default_socket = default_socket;
  how.backend.environment = options->environment;
  how.backend.module_file = module;
  how.backend.plain_http_host = options->plain_http;
  how.backend.timeout_ms = options->timeout_s > 0 ? (guint) MAX (options->timeout_s * 1000, 50) : 0;
  how.scope = options->scope;
  how.hide_gated = options->hide_gated;
  how.is_command_line = options->is_command_line;
  how.assume_yes = options->assume_yes;
  how.json_output = options->json_output;
  return dbr_host_new (catalogue, &how, error);
}

/* ---- offers */

gboolean
dbr_open_settle_offer (DbrOpenOptions *options, GError **error)
{
  guint n = (options->offer != NULL) + (options->client != 0) + (options->coordinator != 0);

  if (n > 1)
    {
      g_set_error (error, DBR_CATALOGUE_ERROR, DBR_CATALOGUE_ERROR_RULE,
                   _ ("--client, --coordinator and --offer exclude each other"));
      return FALSE;
    }
  if (options->client || options->coordinator)
    options->offer = g_strdup (options->client ? "client" : "coordinator");
  options->client = options->coordinator = FALSE;
  return TRUE;
}

static char **
offer_names (const DbrCatalogue *catalogue)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; i < catalogue->offers->len; i++)
    g_ptr_array_add (names,
                     g_strdup (((DbrOffer *) g_ptr_array_index (catalogue->offers, i))->name));
  g_ptr_array_add (names, NULL);
  return (char **) g_ptr_array_free (g_steal_pointer (&names), FALSE);
}

char **
dbr_open_offers (const DbrOpenOptions *options, GError **error)
{
  g_autoptr (DbrCatalogue) catalogue = load (options, error);

  return catalogue ? offer_names (catalogue) : NULL;
}

/* One place where a tool was found. */
typedef struct
{
  char *backend;
  char *offer; /* nullable */
} Place;

static void
place_free (gpointer data)
{
  Place *place = data;
  g_free (place->backend);
  g_free (place->offer);
  g_free (place);
}

static void
add_place (GPtrArray *places, const DbrCatalogue *catalogue)
{
  Place *place = g_new0 (Place, 1);
  place->backend = g_strdup (catalogue->name);
  place->offer = catalogue->offer ? g_strdup (catalogue->offer->name) : NULL;
  g_ptr_array_add (places, place);
}

/* Looks in every offer of one catalogue, or in that of the name asked for. */
static gboolean
look_in (
    GPtrArray *places, const char *backend, const char *offer, const char *tool, GError **error)
{
  g_autoptr (DbrCatalogue) first = load_shipped (backend, NULL, error);
  g_auto (GStrv) offers = first ? offer_names (first) : NULL;

  if (first == NULL)
    return FALSE;
  if (*offers == NULL && offer == NULL && dbr_catalogue_find (first, tool))
    add_place (places, first);
  for (guint i = 0; offers[i]; i++)
    {
      g_autoptr (DbrCatalogue) one = NULL;
      if (offer && strcmp (offer, offers[i]) != 0)
        continue;
      one = load_shipped (backend, offers[i], error);
      if (one == NULL)
        return FALSE;
      if (dbr_catalogue_find (one, tool))
        add_place (places, one);
    }
  return TRUE;
}

static void
report_places (const GPtrArray *places, const char *tool, GError **error)
{
  g_autoptr (GString) list = g_string_new (NULL);

  for (guint i = 0; i < places->len; i++)
    {
      const Place *place = g_ptr_array_index (places, i);
      g_string_append_printf (list, "%s%s%s%s", i ? ", " : "", place->backend,
                              place->offer ? " --offer " : "", place->offer ? place->offer : "");
    }
  g_set_error (error, DBR_CATALOGUE_ERROR, DBR_CATALOGUE_ERROR_REFERENCE,
               _ ("several have a tool \"%s\": %s. Choose one with --backend NAME, --client, "
                  "--coordinator or --offer NAME."),
               tool, list->str);
}

gboolean
dbr_open_find_tool (DbrOpenOptions *options, const char *tool, GError **error)
{
  g_auto (GStrv) names = dbr_install_catalogues ();
  g_autoptr (GPtrArray) places = g_ptr_array_new_with_free_func (place_free);

  for (guint i = 0; names[i]; i++)
    if (!look_in (places, names[i], options->offer, tool, error))
      return FALSE;
  if (places->len == 1)
    {
      const Place *place = g_ptr_array_index (places, 0);
      options->backend = g_strdup (place->backend);
      g_free (options->offer);
      options->offer = g_strdup (place->offer);
      return TRUE;
    }
  if (places->len > 1)
    report_places (places, tool, error);
  else
    {
      g_autofree char *list = g_strjoinv (", ", names);
      g_set_error (
          error, DBR_CATALOGUE_ERROR, DBR_CATALOGUE_ERROR_REFERENCE,
          _ ("no tool \"%s\" in any shipped backend (%s); \"drawbridge tools\" lists them"), tool,
          list);
    }
  return FALSE;
}
