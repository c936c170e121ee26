/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-install: finds the program's parts relative to the program itself.
 *
 * In the build tree the module lies in engine-client/.libs beside the program; an installed program
 * looks where configure said, then beside its own bin folder, so that a moved or staged
 * installation works. No environment variable steers this: what is loaded as code must not be
 * chosen by a variable.
 */
#include "config.h"

#include "cli/dbr-cli.h"

#include <string.h>

static char *
program_dir (void)
{
  g_autofree char *program = g_file_read_link ("/proc/self/exe", NULL);
  return program ? g_path_get_dirname (program) : g_strdup (BINDIR);
}

static gboolean
is_build_tree (const char *dir)
{
  g_autofree char *module = g_build_filename (dir, "engine-client", "libeng-client.la", NULL);
  return g_file_test (module, G_FILE_TEST_EXISTS);
}

static char *
relocated (const char *dir, const char *configured)
{
  /* /prefix/lib/x seen from /prefix/bin: replace the configured prefix by the parent of our own bin
   * folder. */
  g_autofree char *prefix = g_path_get_dirname (dir);

  if (!g_str_has_prefix (configured, PREFIX "/"))
    return g_strdup (configured);
  return g_build_filename (prefix, configured + strlen (PREFIX "/"), NULL);
}

static char *
choose (const char *built, const char *configured)
{
  g_autofree char *dir = program_dir ();
  g_autofree char *moved = NULL;

  if (is_build_tree (dir))
    return g_build_filename (dir, built, NULL);
  moved = relocated (dir, configured);
  return g_strdup (g_file_test (moved, G_FILE_TEST_EXISTS) ? moved : configured);
}

char *
dbr_install_schema_dir (void)
{
  return choose ("schemas", SCHEMADIR);
}

char *
dbr_install_module (void)
{
  g_autofree char *dir = choose ("engine-client/.libs", MODULEDIR);
  return g_build_filename (dir, "libeng-client.so", NULL);
}

char *
dbr_install_engine (void)
{
  g_autofree char *dir = program_dir ();
  return g_build_filename (dir, "drawbridge-engine", NULL);
}

char *
dbr_install_locale_dir (void)
{
  return choose ("po", LOCALEDIR);
}

static int
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

char **
dbr_install_catalogues (void)
{
  g_autofree char *path = dbr_install_schema_dir ();
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  const char *file;

  while (dir && (file = g_dir_read_name (dir)))
    if (g_str_has_suffix (file, ".xml"))
      g_ptr_array_add (names, g_strndup (file, strlen (file) - 4));
  g_ptr_array_sort (names, compare_names);
  g_ptr_array_add (names, NULL);
  return (char **) g_ptr_array_free (g_steal_pointer (&names), FALSE);
}
