/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A checkout is one folder, whichever path leads to it; with an engine's folder around, in or below it, it is refused.
 */
#include "config.h"

#include "srv-checkout.h"
#include "srv-look.h"

#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct
{
  char *folder; /* without links */
} Place;

static void
set_up (Place *self, gconstpointer data G_GNUC_UNUSED)
{
  g_autofree char *made = g_dir_make_tmp ("dbr-checkout-XXXXXX", NULL);
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

/* What is wrong with @checkout, and a look into it; NULL: nothing. Transfer full. */
static char *
problem_of (const char *checkout, const char *const *states, gboolean *out_whole)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (SrvCheckout) opened = srv_checkout_open (checkout, states, &error);
  if (opened != NULL && srv_checkout_look (opened, out_whole, &error))
    return NULL;
  g_assert_error (error, G_FILE_ERROR, G_FILE_ERROR_ACCES);
  g_assert_true (g_str_has_suffix (error->message, ": give the project a folder of its own"));
  return g_strdup (error->message);
}

static void
assert_refused (const char *checkout,
                const char *const *states,
                const char *what,
                const char *which)
{
  gboolean whole;
  g_autofree char *says = g_strdup_printf ("%s an engine's own folder, %s:", what, which);
  g_autofree char *problem = problem_of (checkout, states, &whole);
  if (problem == NULL || !g_str_has_prefix (problem, says))
    g_error ("%s: not refused as it should be: %s", checkout, problem);
}

/* Whichever way leads to it, it is one folder, by its real path. */
static void
test_identity (Place *self, gconstpointer data G_GNUC_UNUSED)
{
  g_autofree char *folder = make (self, "real/checkout", FALSE);
  g_autofree char *link = g_build_filename (self->folder, "link", NULL);
  g_autofree char *through = g_build_filename (link, "..", "checkout", ".", NULL);
  g_autofree char *file = g_build_filename (folder, "file", NULL);
  g_autofree char *gone = g_build_filename (folder, "gone", NULL);
  g_autoptr (GError) error = NULL;
  struct stat about;

  g_assert_cmpint (symlink (folder, link), ==, 0);
  g_assert_cmpint (stat (folder, &about), ==, 0);
  const char *const ways[] = { folder, link, through };
  for (guint i = 0; i < G_N_ELEMENTS (ways); i++)
    {
      g_autoptr (SrvCheckout) checkout = srv_checkout_open (ways[i], NULL, &error);
      g_assert_no_error (error);
      g_assert_cmpstr (checkout->path, ==, folder);
      g_assert_cmpuint (checkout->device, ==, about.st_dev);
      g_assert_cmpuint (checkout->inode, ==, about.st_ino);
    }
  g_assert_true (g_file_set_contents (file, "x", 1, NULL));
  g_assert_null (srv_checkout_open (file, NULL, &error));
  g_assert_error (error, G_FILE_ERROR, G_FILE_ERROR_NOTDIR);
  g_clear_error (&error);
  g_assert_null (srv_checkout_open (gone, NULL, &error));
  g_assert_error (error, G_FILE_ERROR, G_FILE_ERROR_NOENT);
  g_assert_true (g_str_has_prefix (error->message, "is no folder here: "));
  g_clear_error (&error);
  g_assert_null (srv_checkout_open ("usr", NULL, &error));
  g_assert_error (error, G_FILE_ERROR, G_FILE_ERROR_INVAL);
}

static void
test_below (Place *self, gconstpointer data G_GNUC_UNUSED)
{
  g_autofree char *near_one = make (self, "near", FALSE);
  g_autofree char *deepest = make (self, "deepest", FALSE);
  g_autofree char *too_deep = make (self, "too-deep", FALSE);
  g_autofree char *linking = make (self, "linking", FALSE);
  g_autofree char *link = g_build_filename (linking, "link", NULL);
  gboolean whole = FALSE;

  g_free (make (self, "near/state", TRUE));
  g_free (make (self, "deepest/1/2/3/4/5/6", TRUE));
  g_free (make (self, "too-deep/1/2/3/4/5/6/7", TRUE));
  g_assert_cmpint (symlink (near_one, link), ==, 0);
  assert_refused (near_one, NULL, "holds", "state");
  assert_refused (deepest, NULL, "holds", "1/2/3/4/5/6");
  g_assert_null (problem_of (too_deep, NULL, &whole));
  g_assert_true (whole);
  g_assert_null (problem_of (linking, NULL, &whole));
}

/* One that is known is refused however deep it lies, whether it is there or not, and by whichever link it is named. */
static void
test_known (Place *self, gconstpointer data G_GNUC_UNUSED)
{
  g_autofree char *checkout = make (self, "checkout", FALSE);
  g_autofree char *deep = make (self, "checkout/1/2/3/4/5/6/7/8", FALSE);
  g_autofree char *similar = make (self, "checkout-too", FALSE);
  g_autofree char *link = g_build_filename (self->folder, "link", NULL);
  g_autofree char *file = g_build_filename (link, "7", "8", "engine.db", NULL);
  g_autofree char *not_yet = g_build_filename (checkout, "not", "yet", NULL);
  g_autofree char *above = g_path_get_dirname (deep);
  g_autofree char *above_that = g_path_get_dirname (above);
  const char *const named[] = { file, NULL };
  gboolean whole;

  g_assert_cmpint (symlink (above_that, link), ==, 0);
  g_auto (GStrv) states = srv_checkout_states (named);
  g_assert_cmpuint (g_strv_length (states), ==, 2);
  g_assert_cmpstr (states[1], ==, deep);
  assert_refused (checkout, (const char *const *) states, "holds", deep);
  assert_refused (link, (const char *const *) states, "holds", deep);
  assert_refused (deep, (const char *const *) states, "lies in", deep);
  assert_refused ("/", (const char *const *) states, "holds", states[0]);
  g_assert_null (problem_of (similar, (const char *const *) states, &whole));
  const char *const missing[] = { not_yet, NULL };
  assert_refused (checkout, missing, "holds", not_yet);
}

static void
test_inside (Place *self, gconstpointer data G_GNUC_UNUSED)
{
  g_autofree char *engine = make (self, "engine", TRUE);
  g_autofree char *within = make (self, "engine/turns/1", FALSE);
  g_autofree char *link = g_build_filename (self->folder, "link", NULL);

  g_assert_cmpint (symlink (within, link), ==, 0);
  assert_refused (engine, NULL, "lies in", engine);
  assert_refused (within, NULL, "lies in", engine);
  assert_refused (link, NULL, "lies in", engine);
}

/* The host's processes are open there. */
static void
test_processes (Place *self G_GNUC_UNUSED, gconstpointer data G_GNUC_UNUSED)
{
  const char *const checkouts[] = { "/", "/proc", "/proc/self", "/proc/self/root" };
  for (guint i = 0; i < G_N_ELEMENTS (checkouts); i++)
    {
      gboolean whole;
      g_autofree char *problem = problem_of (checkouts[i], NULL, &whole);
      g_assert_nonnull (problem);
      g_assert_true (g_str_has_prefix (problem, "shows other processes by its /proc:"));
    }
}

/* The upper ones first: what the bound leaves out lies deeper, and that something is left out is said. */
static void
test_entries (Place *self, gconstpointer data G_GNUC_UNUSED)
{
  g_autofree char *checkout = make (self, "checkout", FALSE);
  g_autofree char *full = make (self, "checkout/full", FALSE);
  gboolean whole = FALSE;

  g_assert_null (problem_of (checkout, NULL, &whole));
  g_assert_true (whole);
  for (guint i = 0; i < SRV_LOOK_MAX_ENTRIES; i++)
    {
      char name[64];
      g_snprintf (name, sizeof name, "%s/%u", full, i);
      g_assert_cmpint (symlink ("x", name), ==, 0);
    }
  g_assert_null (problem_of (checkout, NULL, &whole));
  g_assert_false (whole);
  g_free (make (self, "checkout/state", TRUE));
  assert_refused (checkout, NULL, "holds", "state");
}

static void
test_resolve (Place *self, gconstpointer data G_GNUC_UNUSED)
{
  g_autofree char *folder = make (self, "folder", FALSE);
  g_autofree char *link = g_build_filename (self->folder, "link", NULL);
  g_autofree char *asked = g_build_filename (link, "gone", "x", NULL);
  g_autofree char *wanted = g_build_filename (folder, "gone", "x", NULL);

  g_assert_cmpint (symlink (folder, link), ==, 0);
  g_autofree char *resolved = srv_checkout_resolve (asked);
  g_assert_cmpstr (resolved, ==, wanted);
  g_assert_true (srv_checkout_is_within (wanted, folder));
  g_assert_true (srv_checkout_is_within (folder, folder));
  g_assert_true (srv_checkout_is_within (folder, "/"));
  g_assert_false (srv_checkout_is_within (folder, wanted));
  g_assert_false (srv_checkout_is_within ("/a-b", "/a"));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add ("/checkout/identity", Place, NULL, set_up, test_identity, tear_down);
  g_test_add ("/checkout/below", Place, NULL, set_up, test_below, tear_down);
  g_test_add ("/checkout/known", Place, NULL, set_up, test_known, tear_down);
  g_test_add ("/checkout/inside", Place, NULL, set_up, test_inside, tear_down);
  g_test_add ("/checkout/processes", Place, NULL, set_up, test_processes, tear_down);
  g_test_add ("/checkout/entries", Place, NULL, set_up, test_entries, tear_down);
  g_test_add ("/checkout/resolve", Place, NULL, set_up, test_resolve, tear_down);
  return g_test_run ();
}
