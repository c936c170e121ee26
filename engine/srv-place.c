/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-place: tokens come from the environment or a file, never from an argument: those are public.
 */
#include "config.h"

#include "srv-place.h"

#include "dbr-place.h"

#include <unistd.h>

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

static char *
find_token (const SrvPlaceOptions *options, const char *fallback_file, GError **error)
{
  const char *given = g_getenv ("BRIGADA_TOKEN");
  if (options->token_file != NULL)
    return srv_client_read_token (options->token_file, error);
  if (given != NULL && *given != '\0')
    return g_strdup (given);
  if (fallback_file != NULL)
    return srv_client_read_token (fallback_file, error);
  g_set_error_literal (error, SRV_CLIENT_ERROR, SRV_CLIENT_ERROR_TOKEN,
                       "no token: set BRIGADA_TOKEN, or give --token-file FILE");
  return NULL;
}

SrvClient *
srv_place_client (SrvPlaceOptions *options, const char *fallback_file, GError **error)
{
  g_autofree char *token = find_token (options, fallback_file, error);
  const char *url = g_getenv ("BRIGADA_URL");
  if (token == NULL)
    return NULL;
  if (options->socket == NULL)
    options->socket = dbr_place_socket ();
  return srv_client_new (options->socket, url != NULL && *url != '\0' ? url : NULL, token, error);
}
