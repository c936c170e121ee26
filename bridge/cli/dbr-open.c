/* SPDX-License-Identifier: Apache-2.0 */
/* dbr-open: from a command line to a tool host. */
#include "config.h"

#include "cli/dbr-cli.h"
#include "dbr-nearest.h"
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
  g_free (self->timeout);
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
          { "timeout", 0, 0, G_OPTION_ARG_STRING, &self->timeout,
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

gboolean
dbr_cli_read_output (const char *output, gboolean *out_is_json)
{
  *out_is_json = g_strcmp0 (output, "json") == 0;
  if (output == NULL || *out_is_json || strcmp (output, "text") == 0)
    return TRUE;
  g_printerr (_ ("drawbridge: --output takes text or json, not \"%s\"\n"), output);
  return FALSE;
}

char *
dbr_cli_suggest (const char *name, const GPtrArray *names)
{
  g_autofree const char **all = g_new0 (const char *, names->len + 1);
  const char *nearest;

  for (guint i = 0; i < names->len; i++)
    all[i] = g_ptr_array_index (names, i);
  nearest = dbr_nearest (name, all);
  return nearest ? g_strdup_printf (_ (" Did you mean %s?"), nearest) : g_strdup ("");
}

static DbrCatalogue *
load_shipped (const char *name, const char *offer, GError **error)
{
  g_autofree char *dir = dbr_install_schema_dir ();
  g_autofree char *base = g_strconcat (name, ".xml", NULL);
  g_autofree char *file = g_build_filename (dir, base, NULL);
  DbrCatalogueOptions options
      = { .is_shipped = TRUE, .is_quick = TRUE, .schema_dir = dir, .offer = offer };

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

/* Without the option: 0, the backend's own. */
static gboolean
read_timeout (const char *text, guint *out_ms, GError **error)
{
  char *end;
  double seconds;

  *out_ms = 0;
  if (text == NULL)
    return TRUE;
  seconds = g_ascii_strtod (text, &end);
  /* So that NaN is refused, too. */
  if (*text == '\0' || *end != '\0' || !(seconds >= 0.05 && seconds <= 3600))
    {
      g_set_error (error, DBR_CATALOGUE_ERROR, DBR_CATALOGUE_ERROR_RULE,
                   _ ("--timeout takes 0.05 to 3600 seconds, not \"%s\""), text);
      return FALSE;
    }
  *out_ms = (guint) (seconds * 1000);
  return TRUE;
}

DbrToolHost *
dbr_open (const DbrOpenOptions *options, GError **error)
{
  DbrCatalogue *catalogue;
  g_autofree char *socket = NULL;
  g_autofree char *default_socket = NULL;
  g_autofree char *module = dbr_install_module ();
  DbrHostOptions how = { 0 };

  if (!read_timeout (options->timeout, &how.backend.timeout_ms, error))
    return NULL;
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
  how.scope = options->scope;
  how.hide_gated = options->hide_gated;
  how.is_command_line = options->is_command_line;
  how.typed = options->typed;
  how.typed_data = options->typed_data;
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

/* Looks for a tool in what is shipped. */
typedef struct
{
  const char *tool;
  const char *offer; /* nullable: any */
  GPtrArray *places; /* (element-type Place) where it is */
  GPtrArray *names;  /* (element-type utf8) of all tools that were passed */
} Search;

typedef struct
{
  char *backend;
  char *offer; /* nullable */
  gboolean is_default;
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
add_names (GPtrArray *names, const DbrCatalogue *catalogue)
{
  for (guint i = 0; i < catalogue->tools->len; i++)
    g_ptr_array_add (names, g_strdup (((DbrTool *) g_ptr_array_index (catalogue->tools, i))->name));
}

static void
add_place (GPtrArray *places, const DbrCatalogue *catalogue)
{
  Place *place = g_new0 (Place, 1);
  place->backend = g_strdup (catalogue->name);
  place->offer = catalogue->offer ? g_strdup (catalogue->offer->name) : NULL;
  place->is_default = catalogue->offer && catalogue->offer->is_default;
  g_ptr_array_add (places, place);
}

static void
look_at (const Search *search, const DbrCatalogue *catalogue)
{
  add_names (search->names, catalogue);
  if (dbr_catalogue_find (catalogue, search->tool))
    add_place (search->places, catalogue);
}

/* Looks in every offer of one catalogue, or in that of the name asked for. */
static gboolean
look_in (const Search *search, const char *backend, GError **error)
{
  g_autoptr (DbrCatalogue) first = load_shipped (backend, NULL, error);
  g_auto (GStrv) offers = first ? offer_names (first) : NULL;

  if (first == NULL)
    return FALSE;
  if (*offers == NULL && search->offer == NULL)
    look_at (search, first);
  for (guint i = 0; offers[i]; i++)
    {
      g_autoptr (DbrCatalogue) one = NULL;
      if (search->offer && strcmp (search->offer, offers[i]) != 0)
        continue;
      one = load_shipped (backend, offers[i], error);
      if (one == NULL)
        return FALSE;
      look_at (search, one);
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

/* The only one; of several in a backend that was named the one in its default offer. */
static const Place *
choose_place (const GPtrArray *places, gboolean is_named)
{
  for (guint i = 0; is_named && i < places->len; i++)
    if (((const Place *) g_ptr_array_index (places, i))->is_default)
      return g_ptr_array_index (places, i);
  return places->len == 1 ? g_ptr_array_index (places, 0) : NULL;
}

static void
report_no_tool (const Search *search, const char *backend, char **names, GError **error)
{
  g_autofree char *list = g_strjoinv (", ", names);
  g_autofree char *remedy = dbr_cli_suggest (search->tool, search->names);

  if (backend == NULL && g_strv_contains ((const char *const *) names, search->tool))
    g_set_error (error, DBR_CATALOGUE_ERROR, DBR_CATALOGUE_ERROR_REFERENCE,
                 _ ("\"%s\" is a backend, not a tool; \"drawbridge tools %s\" lists its tools."),
                 search->tool, search->tool);
  else if (backend)
    g_set_error (error, DBR_CATALOGUE_ERROR, DBR_CATALOGUE_ERROR_REFERENCE,
                 _ ("no tool \"%s\" in %s.%s \"drawbridge tools %s\" lists them."), search->tool,
                 backend, remedy, backend);
  else
    g_set_error (
        error, DBR_CATALOGUE_ERROR, DBR_CATALOGUE_ERROR_REFERENCE,
        _ ("no tool \"%s\" in any shipped backend (%s).%s \"drawbridge tools\" lists them."),
        search->tool, list, remedy);
}

gboolean
dbr_open_find_tool (DbrOpenOptions *options, const char *tool, GError **error)
{
  g_auto (GStrv) names = dbr_install_catalogues ();
  g_autoptr (GPtrArray) places = g_ptr_array_new_with_free_func (place_free);
  g_autoptr (GPtrArray) tools = g_ptr_array_new_with_free_func (g_free);
  const Search search = { tool, options->offer, places, tools };
  const Place *place;

  for (guint i = 0; names[i]; i++)
    if ((options->backend == NULL || strcmp (options->backend, names[i]) == 0)
        && !look_in (&search, names[i], error))
      return FALSE;
  place = choose_place (places, options->backend != NULL);
  if (place)
    {
      g_free (options->backend);
      options->backend = g_strdup (place->backend);
      g_free (options->offer);
      options->offer = g_strdup (place->offer);
      return TRUE;
    }
  if (places->len > 1)
    report_places (places, tool, error);
  else
    report_no_tool (&search, options->backend, names, error);
  return FALSE;
}
