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

#include "dbr-install.h"

#include <libintl.h>
#include <locale.h>
#include <stdio.h>
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

/* Where letters aren't UTF-8: GLib would show "?" for what ASCII can say. */
static void
print_plain (const char *text, FILE *to)
{
  const char *charset;
  g_autoptr (GString) plain = g_string_new (text);

  g_get_charset (&charset);
  g_string_replace (plain, "\u2026", "...", 0);
  g_string_replace (plain, "\u201c", "\"", 0);
  g_string_replace (plain, "\u201d", "\"", 0);
  g_string_replace (plain, "\u201e", "\"", 0);
  g_autofree char *converted = g_convert_with_fallback (plain->str, (gssize) plain->len, charset,
                                                        "UTF-8", "?", NULL, NULL, NULL);
  fputs (converted ? converted : plain->str, to);
  fflush (to);
}

static void
on_print (const char *text)
{
  print_plain (text, stdout);
}

static void
on_printerr (const char *text)
{
  print_plain (text, stderr);
}

void
dbr_install_language (void)
{
  /* Only what letters are and which language messages have: numbers are written for programs too. */
  setlocale (LC_CTYPE, "");
#ifdef ENABLE_NLS
  g_autofree char *folder = choose ("po", LOCALEDIR);
  setlocale (LC_MESSAGES, "");
  bindtextdomain (GETTEXT_PACKAGE, folder);
  bind_textdomain_codeset (GETTEXT_PACKAGE, "UTF-8");
  textdomain (GETTEXT_PACKAGE);
#endif
  if (!g_get_charset (NULL))
    {
      g_set_print_handler (on_print);
      g_set_printerr_handler (on_printerr);
    }
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
