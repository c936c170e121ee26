/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Engines' folders around a checkout: found down to the bounds, never by a link; and a checkout in one is refused.
 */
#include "config.h"

#include "srv-hide.h"

#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct
{
  char *folder; /* without links */
} Place;

static void
set_up (Place *self, gconstpointer data G_GNUC_UNUSED)
{
  g_autofree char *made = g_dir_make_tmp ("dbr-hide-XXXXXX", NULL);
  char *real = realpath (made, NULL);
  self->folder = g_strdup (real);
  free (real);
}

static void
tear_down (Place *self, gconstpointer data G_GNUC_UNUSED)
{
  g_autofree char *quoted = g_shell_quote (self->folder);
  g_autofree char *line = g_strconcat ("rm -rf -- ", quoted, NULL);
  g_assert_true (g_spawn_command_line_sync (line, NULL, NULL, NULL, NULL));
  g_free (self->folder);
}

/* A folder below it, made; with a token when it is an engine's. Transfer full. */
static char *
make (Place *self, const char *name, gboolean is_engine)
{
  char *path = g_build_filename (self->folder, name, NULL);
  g_autofree char *token = g_build_filename (path, "admin.token", NULL);
  g_assert_cmpint (g_mkdir_with_parents (path, 0700), ==, 0);
  if (is_engine)
    g_assert_true (g_file_set_contents (token, "x", 1, NULL));
  return path;
}

static void
assert_found (const char *checkout, const char *const *known, const char *const *wanted)
{
  g_autoptr (GError) error = NULL;
  g_auto (GStrv) found = srv_hide_find (checkout, known, &error);
  g_assert_no_error (error);
  g_autofree char *all = g_strjoinv ("\n", found);
  if (!g_strv_equal ((const char *const *) found, wanted))
    g_error ("not what was to be found: %s", all);
}

static void
test_below (Place *self, gconstpointer data G_GNUC_UNUSED)
{
  g_autofree char *checkout = make (self, "checkout", FALSE);
  g_autofree char *near_one = make (self, "checkout/state", TRUE);
  g_autofree char *deepest = make (self, "checkout/1/2/3/4/5/6", TRUE);
  g_autofree char *too_deep = make (self, "checkout/a/b/c/d/e/f/g", TRUE);
  g_autofree char *beside = make (self, "beside", TRUE);
  g_autofree char *link = g_build_filename (checkout, "link", NULL);
  const char *const known[] = { beside, NULL };
  const char *const wanted[] = { beside, near_one, deepest, NULL };

  g_assert_cmpint (symlink (beside, link), ==, 0);
  assert_found (checkout, known, wanted);
  assert_found (checkout, NULL, wanted + 1);
}

static void
test_inside (Place *self, gconstpointer data G_GNUC_UNUSED)
{
  g_autofree char *engine = make (self, "engine", TRUE);
  g_autofree char *within = make (self, "engine/turns/1", FALSE);
  g_autofree char *named = make (self, "named", FALSE);
  g_autofree char *below_named = make (self, "named/x", FALSE);
  g_autofree char *similar = make (self, "named-too", FALSE);
  g_autofree char *link = g_build_filename (self->folder, "link", NULL);
  const char *const known[] = { named, NULL };
  const struct
  {
    const char *checkout, *says;
  } cases[] = { { engine, engine },
                { within, engine },
                { named, named },
                { below_named, named },
                { link, engine } };

  g_assert_cmpint (symlink (within, link), ==, 0);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autofree char *says = g_strdup_printf (
          "the checkout %s lies in an engine's own folder, %s:", cases[i].checkout, cases[i].says);
      g_assert_null (srv_hide_find (cases[i].checkout, known, &error));
      g_assert_error (error, G_FILE_ERROR, G_FILE_ERROR_ACCES);
      g_assert_true (g_str_has_prefix (error->message, says));
    }
  assert_found (similar, known, known);
}

/* The upper ones first: what the bound leaves out lies deeper. */
static void
test_entries (Place *self, gconstpointer data G_GNUC_UNUSED)
{
  g_autofree char *checkout = make (self, "checkout", FALSE);
  g_autofree char *full = make (self, "checkout/full", FALSE);
  g_autofree char *deep = make (self, "checkout/full/state", TRUE);
  g_autofree char *upper = make (self, "checkout/state", TRUE);
  g_autofree char *left_out = make (self, "checkout/full/x/y", TRUE);
  const char *const wanted[] = { upper, deep, NULL };
  const char *const cut[] = { upper, NULL };

  g_autoptr (GError) error = NULL;
  g_auto (GStrv) before = srv_hide_find (checkout, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (g_strv_length (before), ==, 3);
  for (guint i = 0; i < SRV_HIDE_MAX_ENTRIES; i++)
    {
      char name[64];
      g_snprintf (name, sizeof name, "%s/%u", full, i);
      g_assert_cmpint (symlink ("x", name), ==, 0);
    }
  g_auto (GStrv) after = srv_hide_find (checkout, NULL, &error);
  g_assert_no_error (error);
  /* In which order a folder gives its names is its own business. */
  g_assert_true (g_strv_equal ((const char *const *) after, wanted)
                 || g_strv_equal ((const char *const *) after, cut));
  g_assert_false (g_strv_contains ((const char *const *) after, left_out));
}

static void
test_folder (Place *self, gconstpointer data G_GNUC_UNUSED)
{
  g_autofree char *state = make (self, "state", TRUE);
  g_autofree char *file = g_build_filename (state, "engine.db", NULL);
  g_autofree char *gone = g_build_filename (self->folder, "gone", "engine.db", NULL);
  g_autofree char *gone_folder = g_path_get_dirname (gone);
  g_autofree char *of_folder = srv_hide_folder (state);
  g_autofree char *of_file = srv_hide_folder (file);
  g_autofree char *of_gone = srv_hide_folder (gone);

  g_assert_cmpstr (of_folder, ==, state);
  g_assert_cmpstr (of_file, ==, state);
  g_assert_cmpstr (of_gone, ==, gone_folder);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add ("/hide/below", Place, NULL, set_up, test_below, tear_down);
  g_test_add ("/hide/inside", Place, NULL, set_up, test_inside, tear_down);
  g_test_add ("/hide/entries", Place, NULL, set_up, test_entries, tear_down);
  g_test_add ("/hide/folder", Place, NULL, set_up, test_folder, tear_down);
  return g_test_run ();
}
