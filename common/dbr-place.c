/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "dbr-place.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *
folder_from (const char *variable)
{
  const char *value = g_getenv (variable);

  return value && g_path_is_absolute (value) ? value : NULL;
}

static char *
home_find (void)
{
  char buffer[16384];
  struct passwd entry;
  struct passwd *found = NULL;

  if (getpwuid_r (geteuid (), &entry, buffer, sizeof buffer, &found) == 0 && found && found->pw_dir
      && g_path_is_absolute (found->pw_dir))
    return g_strdup (found->pw_dir);
  return g_strdup ("/");
}

char *
dbr_place_state (void)
{
  const char *folder = folder_from ("XDG_STATE_HOME");
  g_autofree char *home = NULL;

  if (folder)
    return g_build_filename (folder, "drawbridge", "engine.db", NULL);
  home = home_find ();
  return g_build_filename (home, ".local", "state", "drawbridge", "engine.db", NULL);
}

char *
dbr_place_named_socket (const char *option)
{
  const char *named = option ? option : g_getenv ("BRIGADA_SOCKET");

  return named && *named ? g_strdup (named) : NULL;
}

char *
dbr_place_socket (void)
{
  const char *folder = folder_from ("XDG_RUNTIME_DIR");
  g_autofree char *run = g_strdup_printf ("/run/user/%lu", (unsigned long) geteuid ());
  g_autofree char *state = NULL;
  g_autofree char *beside = NULL;
  struct stat info;

  if (!folder && lstat (run, &info) == 0 && S_ISDIR (info.st_mode) && info.st_uid == geteuid ())
    folder = run;
  if (folder)
    return g_build_filename (folder, "drawbridge", "engine.sock", NULL);
  state = dbr_place_state ();
  beside = g_path_get_dirname (state);
  return g_build_filename (beside, "engine.sock", NULL);
}

char *
dbr_place_admin_token (const char *state_file)
{
  g_autofree char *folder = g_path_get_dirname (state_file);

  return g_build_filename (folder, "admin.token", NULL);
}
