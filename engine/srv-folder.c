/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-folder: see the header.
 */
#include "config.h"

#include "srv-folder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OTHERS_WRITE (S_IWGRP | S_IWOTH)

char *
srv_folder_problem (const char *folder)
{
  struct stat link, about;

  if (lstat (folder, &link) != 0 || stat (folder, &about) != 0)
    {
      int number = errno;
      char *text = g_strdup_printf ("can't look at the folder %s: %s", folder, g_strerror (number));
      errno = number;
      return text;
    }
  if (!S_ISDIR (about.st_mode))
    return g_strdup_printf ("%s is not a folder", folder);
  if (S_ISLNK (link.st_mode) && link.st_uid != geteuid () && link.st_uid != 0)
    return g_strdup_printf ("the link %s must be yours: who owns it can lead it elsewhere", folder);
  /* What is shared is no fault of its mode. */
  if ((about.st_mode & (S_ISVTX | S_IWOTH)) == (S_ISVTX | S_IWOTH))
    return g_strdup_printf ("%s is everybody's folder: the engine's files need one of their own, "
                            "such as %s/drawbridge",
                            folder, strcmp (folder, "/") == 0 ? "" : folder);
  if (about.st_uid != geteuid ())
    return g_strdup_printf ("the folder %s must be yours: the engine's files need one of their own",
                            folder);
  if ((about.st_mode & OTHERS_WRITE) != 0)
    return g_strdup_printf ("the folder %s must be yours and writable for you only (chmod 700)",
                            folder);
  return NULL;
}

static char *
real_path (const char *path)
{
  char *resolved = realpath (path, NULL);
  char *copy = g_strdup (resolved);

  free (resolved);
  return copy;
}

char *
srv_folder_resolve_state (const char *state, char **out_problem)
{
  g_autofree char *absolute = g_canonicalize_filename (state, NULL);
  g_autofree char *folder = g_path_get_dirname (absolute);
  g_autofree char *name = g_path_get_basename (absolute);
  struct stat about;

  *out_problem = NULL;
  if (lstat (folder, &about) != 0 && errno == ENOENT)
    return g_steal_pointer (&absolute);
  *out_problem = srv_folder_problem (folder);
  if (*out_problem)
    return NULL;
  g_autofree char *real = real_path (folder);
  if (!real)
    {
      *out_problem
          = g_strdup_printf ("can't look at the folder %s: %s", folder, g_strerror (errno));
      return NULL;
    }
  char *resolved = g_build_filename (real, name, NULL);
  if (lstat (resolved, &about) == 0 && S_ISLNK (about.st_mode))
    {
      *out_problem = g_strdup_printf (
          "%s is a link: name the file itself, so that what lies beside it is one place", absolute);
      g_clear_pointer (&resolved, g_free);
    }
  return resolved;
}
