/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-hide: folders are looked at one level after the other, so that the bound leaves out the deepest.
 */
#include "config.h"

#include "srv-hide.h"

#include "dbr-place.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct
{
  GQueue folders; /* char *, yet to be read */
  guint n_entries;
  GPtrArray *found;
} Walk;

static char *
resolve (const char *path)
{
  g_autofree char *absolute = g_canonicalize_filename (path, NULL);
  char *real = realpath (absolute, NULL);
  char *copy = g_strdup (real != NULL ? real : absolute);
  free (real);
  return copy;
}

char *
srv_hide_folder (const char *path)
{
  g_autofree char *folder
      = g_file_test (path, G_FILE_TEST_IS_DIR) ? g_strdup (path) : g_path_get_dirname (path);
  return resolve (folder);
}

static gboolean
holds_token (const char *folder)
{
  g_autofree char *state = g_build_filename (folder, "engine.db", NULL);
  g_autofree char *token = dbr_place_admin_token (state);
  struct stat about;
  return lstat (token, &about) == 0;
}

static gboolean
is_within (const char *path, const char *folder)
{
  gsize length = strlen (folder);
  return strncmp (path, folder, length) == 0 && (path[length] == '\0' || path[length] == '/');
}

/* The engine's folder in which @path lies, or which it is. */
static char *
engine_above (const char *path, const char *const *known)
{
  for (gsize i = 0; known != NULL && known[i] != NULL; i++)
    if (is_within (path, known[i]))
      return g_strdup (known[i]);
  g_autofree char *at = g_strdup (path);
  while (strcmp (at, "/") != 0)
    {
      if (holds_token (at))
        return g_steal_pointer (&at);
      char *parent = g_path_get_dirname (at);
      g_free (at);
      at = parent;
    }
  return NULL;
}

static void
walk_folder (Walk *self, const char *folder, guint depth)
{
  DIR *dir = opendir (folder);
  const struct dirent *entry;
  while (dir != NULL && self->n_entries < SRV_HIDE_MAX_ENTRIES && (entry = readdir (dir)) != NULL)
    {
      struct stat about;
      if (strcmp (entry->d_name, ".") == 0 || strcmp (entry->d_name, "..") == 0)
        continue;
      self->n_entries++;
      g_autofree char *path = g_build_filename (folder, entry->d_name, NULL);
      if (entry->d_type != DT_DIR
          && (entry->d_type != DT_UNKNOWN || lstat (path, &about) != 0 || !S_ISDIR (about.st_mode)))
        continue;
      if (holds_token (path))
        g_ptr_array_add (self->found, g_steal_pointer (&path));
      else if (depth < SRV_HIDE_MAX_DEPTH)
        g_queue_push_tail (&self->folders, g_steal_pointer (&path));
    }
  if (dir != NULL)
    closedir (dir);
}

char **
srv_hide_find (const char *checkout, const char *const *known, GError **error)
{
  g_autofree char *real = resolve (checkout);
  g_autofree char *above = engine_above (real, known);
  Walk walk = { .folders = G_QUEUE_INIT, .found = g_ptr_array_new () };
  if (above != NULL)
    {
      g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_ACCES,
                   "the checkout %s lies in an engine's own folder, %s: a command there could read "
                   "its tokens",
                   checkout, above);
      g_ptr_array_unref (walk.found);
      return NULL;
    }
  for (gsize i = 0; known != NULL && known[i] != NULL; i++)
    g_ptr_array_add (walk.found, g_strdup (known[i]));
  g_queue_push_tail (&walk.folders, g_steal_pointer (&real));
  for (guint depth = 1; !g_queue_is_empty (&walk.folders); depth++)
    for (guint left = walk.folders.length; left > 0; left--)
      {
        g_autofree char *folder = g_queue_pop_head (&walk.folders);
        walk_folder (&walk, folder, depth);
      }
  g_ptr_array_add (walk.found, NULL);
  return (char **) g_ptr_array_free (walk.found, FALSE);
}
