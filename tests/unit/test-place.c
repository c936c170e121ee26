/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the engine's files are when nobody says: with and without the XDG folders and a home.
 */
#include "config.h"

#include "dbr-place.h"

#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What the password database says, and no variable. */
static char *
state_of_home (const char *name)
{
  const struct passwd *entry = getpwuid (geteuid ());
  return g_build_filename (entry != NULL ? entry->pw_dir : "/", ".local", "state", "drawbridge",
                           name, NULL);
}

static void
test_xdg (void)
{
  g_setenv ("XDG_RUNTIME_DIR", "/run/of/mine", TRUE);
  g_setenv ("XDG_STATE_HOME", "/state/of/mine", TRUE);
  g_autofree char *socket = dbr_place_socket ();
  g_autofree char *state = dbr_place_state ();
  g_autofree char *token = dbr_place_admin_token (state);
  g_assert_cmpstr (socket, ==, "/run/of/mine/drawbridge/engine.sock");
  g_assert_cmpstr (state, ==, "/state/of/mine/drawbridge/engine.db");
  g_assert_cmpstr (token, ==, "/state/of/mine/drawbridge/admin.token");
}

static void
assert_defaults (void)
{
  g_autofree char *run = g_strdup_printf ("/run/user/%lu", (unsigned long) geteuid ());
  g_autofree char *in_run = g_build_filename (run, "drawbridge", "engine.sock", NULL);
  g_autofree char *in_home = state_of_home ("engine.sock");
  g_autofree char *wanted = state_of_home ("engine.db");
  g_autofree char *socket = dbr_place_socket ();
  g_autofree char *state = dbr_place_state ();
  struct stat info;
  gboolean is_ours = lstat (run, &info) == 0 && S_ISDIR (info.st_mode) && info.st_uid == geteuid ();
  g_assert_cmpstr (state, ==, wanted);
  g_assert_cmpstr (socket, ==, is_ours ? in_run : in_home);
}

static void
test_unset (void)
{
  g_unsetenv ("XDG_RUNTIME_DIR");
  g_unsetenv ("XDG_STATE_HOME");
  assert_defaults ();
  /* HOME is another's after sudo, or not there in a service. */
  g_setenv ("HOME", "/srv/of/another", TRUE);
  assert_defaults ();
  g_unsetenv ("HOME");
  assert_defaults ();
}

/* Their specification: all paths must be absolute. */
static void
test_relative (void)
{
  static const char *const values[] = { "", "relative", "./run", "~/run" };
  for (gsize i = 0; i < G_N_ELEMENTS (values); i++)
    {
      g_setenv ("XDG_RUNTIME_DIR", values[i], TRUE);
      g_setenv ("XDG_STATE_HOME", values[i], TRUE);
      assert_defaults ();
    }
}

/* Without a folder for sockets the socket is beside the state. */
static void
test_beside (void)
{
  g_autofree char *run = g_strdup_printf ("/run/user/%lu", (unsigned long) geteuid ());
  g_unsetenv ("XDG_RUNTIME_DIR");
  g_setenv ("XDG_STATE_HOME", "/state/of/mine", TRUE);
  g_autofree char *socket = dbr_place_socket ();
  g_assert_true (g_str_has_prefix (socket, run)
                 || strcmp (socket, "/state/of/mine/drawbridge/engine.sock") == 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/place/xdg", test_xdg);
  g_test_add_func ("/place/unset", test_unset);
  g_test_add_func ("/place/relative", test_relative);
  g_test_add_func ("/place/beside", test_beside);
  return g_test_run ();
}
