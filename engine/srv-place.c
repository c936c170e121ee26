/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-place: tokens come from the environment or a file, never from an argument: those are public.
 */
#include "config.h"

#include "srv-place.h"

#include "dbr-place.h"
#include "dbr-text.h"
#include "dbr-token.h"

#include <glib/gi18n.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const srv_place_socket_help
    = N_ ("the engine's socket (default: BRIGADA_SOCKET, else the address in BRIGADA_URL, else "
          "where serve puts it)");
const char *const srv_place_token_help
    = N_ ("file of the token, mode 0600 (default: BRIGADA_TOKEN)");
const char *const srv_place_admin_token_help
    = N_ ("file of the token, mode 0600 (default: BRIGADA_TOKEN, else the admin's own file)");

char *
srv_place_program (void)
{
  char path[4096];
  ssize_t length = readlink ("/proc/self/exe", path, sizeof path - 1);
  return length > 0 ? g_strndup (path, (gsize) length) : NULL;
}

char *
srv_place_bridge (void)
{
  g_autofree char *own = srv_place_program ();
  g_autofree char *folder = own != NULL ? g_path_get_dirname (own) : NULL;
  return folder != NULL ? g_build_filename (folder, "drawbridge", NULL) : NULL;
}

char *
srv_place_keeper (void)
{
  g_autofree char *own = srv_place_program ();
  g_autofree char *folder = own != NULL ? g_path_get_dirname (own) : NULL;
  char *places[] = {
    folder != NULL ? g_build_filename (folder, "drawbridge-keep", NULL) : NULL,
    folder != NULL ? g_build_filename (folder, "..", "lib", "drawbridge", "drawbridge-keep", NULL)
                   : NULL,
    g_strdup (MODULEDIR "/drawbridge-keep"),
  };
  char *found = NULL;
  for (gsize i = 0; i < G_N_ELEMENTS (places); i++)
    {
      if (found == NULL && places[i] != NULL && g_file_test (places[i], G_FILE_TEST_IS_EXECUTABLE))
        found = g_steal_pointer (&places[i]);
      g_free (places[i]);
    }
  return found != NULL ? found : g_steal_pointer (&own);
}

char *
srv_place_command_problem (const char *command, const char *folder)
{
  g_autofree char *path = NULL;
  if (strchr (command, '/') == NULL)
    path = g_find_program_in_path (command);
  else if (g_path_is_absolute (command))
    path = g_strdup (command);
  else if (folder != NULL)
    path = g_build_filename (folder, command, NULL);
  else
    return NULL;
  if (path == NULL && g_file_test (command, G_FILE_TEST_IS_REGULAR))
    return g_strdup_printf (_ ("there is no command %s in PATH; the one of this folder is ./%s"),
                            command, command);
  if (path == NULL)
    return g_strdup_printf (_ ("there is no command %s in PATH"), command);
  if (!g_file_test (path, G_FILE_TEST_IS_REGULAR))
    return g_strdup_printf (_ ("there is no command %s"), path);
  return g_file_test (path, G_FILE_TEST_IS_EXECUTABLE)
             ? NULL
             : g_strdup_printf (_ ("%s can't be executed"), path);
}

char *
srv_place_find_command (const char *command, const char *checkout, char **out_problem)
{
  g_autofree char *folder = g_path_get_dirname (command);
  g_autofree char *name = g_path_get_basename (command);
  *out_problem = NULL;
  if (strchr (command, '/') != NULL && !g_path_is_absolute (command))
    {
      g_autofree char *here = g_canonicalize_filename (".", NULL);
      if (g_file_test (command, G_FILE_TEST_IS_REGULAR))
        {
          /* Links to the folder are followed as they are now; the file keeps the name that it was called by. */
          g_autofree char *from_here = g_strconcat (here, "/", folder, NULL);
          g_autofree char *real = realpath (from_here, NULL);
          char *found = g_build_filename (real != NULL ? real : from_here, name, NULL);
          *out_problem = srv_place_command_problem (found, NULL);
          return found;
        }
      g_autofree char *there = checkout != NULL ? g_build_filename (checkout, command, NULL) : NULL;
      if (there != NULL && !g_file_test (there, G_FILE_TEST_IS_REGULAR))
        {
          *out_problem = g_strdup_printf (_ ("there is no command %s, neither in this folder, %s, "
                                             "nor in the checkout, %s"),
                                          command, here, checkout);
          return g_strdup (command);
        }
    }
  *out_problem = srv_place_command_problem (command, checkout);
  return g_strdup (command);
}

static char *
find_token (const SrvPlaceOptions *options, const char *fallback_file, GError **error)
{
  const char *given = g_getenv ("BRIGADA_TOKEN");
  if (options->token_file != NULL)
    return dbr_token_read (options->token_file, error);
  if (given != NULL && *given != '\0')
    return dbr_token_check (given, strlen (given), "BRIGADA_TOKEN", error) ? g_strdup (given)
                                                                           : NULL;
  if (fallback_file != NULL)
    return dbr_token_read (fallback_file, error);
  g_set_error_literal (error, SRV_CLIENT_ERROR, SRV_CLIENT_ERROR_TOKEN,
                       _ ("no token: set BRIGADA_TOKEN, or give --token-file FILE"));
  return NULL;
}

char *
srv_place_problem (guint status, const char *problem, const char *remedy)
{
  g_autoptr (GString) text = g_string_new (NULL);
  dbr_text_append_safe (text, problem, -1, DBR_TEXT_ONE_LINE);
  if (status == 401 || status == 403)
    g_string_append_printf (text, "\n%s", remedy);
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static const char *
variable (const char *name)
{
  const char *value = g_getenv (name);
  return value != NULL && *value != '\0' ? value : NULL;
}

SrvClient *
srv_place_client (SrvPlaceOptions *options, const char *fallback_file, GError **error)
{
  g_autofree char *token = find_token (options, fallback_file, error);
  char *socket = dbr_place_named_socket (options->socket);
  const char *url = socket == NULL ? variable ("BRIGADA_URL") : NULL;
  g_free (options->socket);
  options->socket = socket != NULL ? socket : dbr_place_socket ();
  if (token == NULL)
    return NULL;
  return srv_client_new (options->socket, url, variable ("BRIGADA_CA_FILE"), token, error);
}
