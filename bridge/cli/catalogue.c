/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drawbridge catalogue check FILE...: whether files are catalogues, and what they would reach: the
 * origin, the variables that they read, the paths whose access they change, each tool's access.
 * Loads only: no variable's value is read and nothing is sent.
 */
#include "config.h"

#include "cli/dbr-cli.h"

#include <glib/gi18n.h>
#include <glib/gstdio.h>
#include <string.h>

static void
print_variable (const char *name, const char *use)
{
  if (name)
    g_print ("    %-28s %s\n", name, use);
}

static gboolean
has_variables (const DbrBackendDef *backend)
{
  const DbrSignInDef *sign_in = backend->sign_in;
  return backend->url_env || backend->socket_env || backend->ca_file_env || backend->writes_env
         || backend->deletes_env
         || (sign_in && (sign_in->token_env || sign_in->user_env || sign_in->password_env));
}

static void
print_variables (const DbrBackendDef *backend)
{
  const DbrSignInDef *sign_in = backend->sign_in;
  if (!has_variables (backend))
    {
      g_print (_ ("  variables: none\n"));
      return;
    }
  g_print (_ ("  variables:\n"));
  print_variable (backend->url_env, _ ("the server's address"));
  print_variable (backend->socket_env, _ ("the server's unix socket"));
  print_variable (backend->ca_file_env, _ ("a file of certificates to trust"));
  if (sign_in)
    {
      print_variable (sign_in->token_env, _ ("a token"));
      print_variable (sign_in->user_env, _ ("the user's name"));
      print_variable (sign_in->password_env, _ ("the password"));
    }
  print_variable (backend->writes_env, _ ("opens writes"));
  print_variable (backend->deletes_env, _ ("opens deletes, together with writes"));
}

static void
print_access (const DbrBackendDef *backend)
{
  if (backend->access_notes->len == 0)
    return;
  g_print (_ ("  access other than the method says:\n"));
  for (guint i = 0; i < backend->access_notes->len; i++)
    g_print ("    %s\n", (const char *) g_ptr_array_index (backend->access_notes, i));
}

static void
print_tools (const DbrCatalogue *catalogue)
{
  g_print (g_dngettext (GETTEXT_PACKAGE, "  %u tool:\n", "  %u tools:\n", catalogue->tools->len),
           catalogue->tools->len);
  for (guint i = 0; i < catalogue->tools->len; i++)
    {
      const DbrTool *tool = g_ptr_array_index (catalogue->tools, i);
      if (tool->access_varies)
        g_print (_ ("    %-28s %s to %s, by its arguments\n"), tool->name,
                 dbr_access_name (tool->least), dbr_access_name (tool->access));
      else
        g_print ("    %-28s %s\n", tool->name, dbr_access_name (tool->access));
    }
}

/* Each offer's tools: the file was checked, so that it loads again. */
static void
print_offers (const DbrCatalogue *catalogue, const DbrCatalogueOptions *options)
{
  for (guint i = 0; i < catalogue->offers->len; i++)
    {
      const DbrOffer *offer = g_ptr_array_index (catalogue->offers, i);
      DbrCatalogueOptions how = *options;
      how.offer = offer->name;
      g_autoptr (DbrCatalogue) one = dbr_catalogue_load (catalogue->file, &how, NULL);
      g_print (_ ("  offer %s%s%s:\n"), offer->name, offer->is_default ? _ (", the default") : "",
               offer->is_shell_only ? _ (", for the command line only") : "");
      if (one)
        print_tools (one);
    }
}

static void
print_catalogue (const DbrCatalogue *catalogue, const DbrCatalogueOptions *options)
{
  const DbrBackendDef *backend = catalogue->backend;
  g_autofree char *address = backend->url ? dbr_text_redact_url (backend->url) : NULL;
  g_print (_ ("OK %s: %s, \"%s\"\n"), catalogue->file, catalogue->name, _ (catalogue->title));
  if (address)
    g_print (_ ("  origin: %s, prefix \"%s\"\n"), address, backend->prefix);
  else
    g_print (_ ("  origin: only from the environment, prefix \"%s\"\n"), backend->prefix);
  if (backend->sign_in && backend->sign_in->path)
    g_print (_ ("  signs in at: %s\n"), backend->sign_in->path);
  print_variables (backend);
  print_access (backend);
  if (catalogue->offer)
    print_offers (catalogue, options);
  else
    print_tools (catalogue);
}

/* One of our own, byte for byte: whoever changes a copy has made a catalogue of his own. */
static gboolean
is_ours (const char *file, const char *schema_dir)
{
  g_autofree char *base = g_path_get_basename (file);
  g_autofree char *installed = g_build_filename (schema_dir, base, NULL);
  g_autofree char *one = NULL, *two = NULL;
  gsize one_len = 0, two_len = 0;
  GStatBuf about;
  if (!*schema_dir || g_stat (file, &about) != 0 || !S_ISREG (about.st_mode)
      || about.st_size > (goffset) DBR_CATALOGUE_MAX_BYTES)
    return FALSE;
  return g_file_get_contents (installed, &one, &one_len, NULL)
         && g_file_get_contents (file, &two, &two_len, NULL) && one_len == two_len
         && memcmp (one, two, one_len) == 0;
}

static int
check_files (char **files, char **allow_env)
{
  g_autofree char *schema_dir = dbr_install_schema_dir ();
  int status = DBR_EXIT_OK;
  for (guint i = 0; files[i]; i++)
    {
      g_autoptr (GError) error = NULL;
      DbrCatalogueOptions options = { .is_shipped = is_ours (files[i], schema_dir),
                                      .allow_env = (const char *const *) allow_env,
                                      .schema_dir = *schema_dir ? schema_dir : NULL };
      g_autoptr (DbrCatalogue) catalogue = dbr_catalogue_load (files[i], &options, &error);
      if (catalogue)
        print_catalogue (catalogue, &options);
      else
        {
          g_printerr ("%s\n", error->message);
          status = DBR_EXIT_USAGE;
        }
    }
  return status;
}

int
dbr_cli_catalogue (int argc, char **argv)
{
  g_auto (GStrv) allow_env = NULL;
  const GOptionEntry entries[]
      = { { "allow-env", 0, 0, G_OPTION_ARG_STRING_ARRAY, &allow_env,
            N_ ("a variable that the files may name although it does not begin with their name"),
            "NAME" },
          { NULL } };
  g_autoptr (GOptionContext) context = g_option_context_new (_ ("check FILE..."));
  g_autoptr (GError) error = NULL;
  g_option_context_set_summary (context, _ ("Checks catalogues of your own: prints what each "
                                            "reaches, or every problem with its line."));
  if (!dbr_option_parse (context, entries, NULL, &argc, &argv, &error))
    return dbr_cli_complain (error);
  if (argc < 3 || strcmp (argv[1], "check") != 0)
    {
      g_printerr (_ ("drawbridge catalogue: write \"drawbridge catalogue check FILE...\"\n"));
      return DBR_EXIT_USAGE;
    }
  return check_files (argv + 2, allow_env);
}
