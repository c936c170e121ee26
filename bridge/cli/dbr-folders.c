/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-folders: where this user's sockets and kept files are, without any configuration.
 *
 * The engine answers the same question in the same way (engine/srv-folders.c): change both or none.
 */
#include "config.h"

#include "cli/dbr-cli.h"

#include <glib/gstdio.h>
#include <pwd.h>
#include <unistd.h>

/* A variable that holds an absolute path; NULL otherwise, as the XDG specification says. */
static const char *
folder_variable (const char *name)
{
  const char *value = g_getenv (name);
  return value && g_path_is_absolute (value) ? value : NULL;
}

static char *
home_dir (void)
{
  struct passwd entry, *found = NULL;
  char buffer[4096];

  if (getpwuid_r (getuid (), &entry, buffer, sizeof buffer, &found) == 0 && found && found->pw_dir
      && g_path_is_absolute (found->pw_dir))
    return g_strdup (found->pw_dir);
  return g_strdup (g_get_home_dir ());
}

static char *
state_dir (void)
{
  const char *chosen = folder_variable ("XDG_STATE_HOME");
  g_autofree char *home = chosen ? NULL : home_dir ();

  return chosen ? g_strdup (chosen) : g_build_filename (home, ".local", "state", NULL);
}

static gboolean
is_ours (const char *dir)
{
  GStatBuf about;
  return g_lstat (dir, &about) == 0 && S_ISDIR (about.st_mode) && about.st_uid == getuid ();
}

char *
dbr_folders_socket (const char *relative)
{
  const char *chosen = folder_variable ("XDG_RUNTIME_DIR");
  g_autofree char *usual = g_strdup_printf ("/run/user/%u", (guint) getuid ());
  g_autofree char *state = NULL;

  if (chosen)
    return g_build_filename (chosen, relative, NULL);
  if (is_ours (usual))
    return g_build_filename (usual, relative, NULL);
  state = state_dir ();
  return g_build_filename (state, relative, NULL);
}

char *
dbr_folders_state (const char *name)
{
  g_autofree char *dir = state_dir ();
  return g_build_filename (dir, "drawbridge", name, NULL);
}
