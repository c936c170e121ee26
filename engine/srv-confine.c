/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-confine: a view is a list of bwrap options, in the order in which they are laid over each other:
 * everything read-only, then what is emptied, then what is let in again.
 */
#include "config.h"

#include "srv-confine.h"

#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

G_DEFINE_QUARK (srv_confine_error, srv_confine_error)

struct _SrvConfine
{
  char *bwrap; /* NULL: not confined */
  char *state_folder;
};

/* Where people and package managers put programs below the home. Nothing here holds credentials. */
static const char *const program_folders[] = {
  "~/.local/bin",
  "~/.local/lib",
  "~/.local/share/claude",
  "~/.local/share/pnpm",
  "~/.local/share/uv",
  "~/.local/share/mise",
  "~/.nvm",
  "~/.npm-global",
  "~/.volta",
  "~/.bun",
  "~/.asdf",
  "~/.opencode/bin",
  "~/.cargo/bin",
  "~/.rustup",
  "~/.pyenv",
  "~/.sdkman",
  "~/bin",
  "~/go/bin",
  "~/.gitconfig",
  NULL,
};
/* Name resolution needs these below /run on some systems; they are files and a folder of files. */
static const char *const run_files[] = { "/run/systemd/resolve/resolv.conf",
                                         "/run/systemd/resolve/stub-resolv.conf",
                                         "/run/resolvconf/resolv.conf",
                                         "/run/NetworkManager/resolv.conf",
                                         "/run/current-system",
                                         NULL };

#define ADD(words, ...) add ((words), (const char *const[]){ __VA_ARGS__, NULL })

static void
add (GPtrArray *words, const char *const *list)
{
  for (gsize i = 0; list[i] != NULL; i++)
    g_ptr_array_add (words, g_strdup (list[i]));
}

static char *
expand_home (const char *path)
{
  return path[0] == '~' && path[1] == '/' ? g_build_filename (g_get_home_dir (), path + 2, NULL)
                                          : g_strdup (path);
}

static char **
finish (GPtrArray *words)
{
  g_ptr_array_add (words, NULL);
  g_ptr_array_set_free_func (words, NULL);
  return (char **) g_ptr_array_free (words, FALSE);
}

static gboolean
try_it (const char *bwrap, GError **error)
{
  GPtrArray *list = g_ptr_array_new ();
  ADD (list, bwrap, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp",
       "--unshare-pid", "--unshare-ipc", "--die-with-parent", "--", "/bin/true");
  g_auto (GStrv) words = finish (list);
  g_autofree char *said = NULL;
  g_autoptr (GError) problem = NULL;
  int status = 0;
  gboolean ran
      = g_spawn_sync (NULL, words, NULL, G_SPAWN_STDOUT_TO_DEV_NULL | G_SPAWN_CHILD_INHERITS_STDIN,
                      NULL, NULL, NULL, &said, &status, &problem);
  if (ran && g_spawn_check_wait_status (status, &problem))
    return TRUE;
  g_autofree char *line = g_strndup (said != NULL ? said : "", 300);
  g_set_error (error, SRV_CONFINE_ERROR, SRV_CONFINE_ERROR_BROKEN,
               "bubblewrap doesn't work here (%s%s%s): allow user namespaces, or start commands "
               "without it by --unconfined",
               problem->message, line[0] != '\0' ? ": " : "", g_strchomp (line));
  return FALSE;
}

SrvConfine *
srv_confine_new (const char *state_folder, GError **error)
{
  g_autofree char *bwrap = g_find_program_in_path ("bwrap");
  if (bwrap == NULL)
    {
      g_set_error_literal (error, SRV_CONFINE_ERROR, SRV_CONFINE_ERROR_MISSING,
                           "bwrap is not installed: install bubblewrap, or start commands without "
                           "it by --unconfined (they can read every file that you can)");
      return NULL;
    }
  if (!try_it (bwrap, error))
    return NULL;
  SrvConfine *self = g_new0 (SrvConfine, 1);
  self->bwrap = g_steal_pointer (&bwrap);
  /* bwrap needs it absolute, and what a link leads to can be reached by its own name. */
  g_autofree char *real
      = state_folder != NULL ? g_canonicalize_filename (state_folder, NULL) : NULL;
  char *resolved = real != NULL ? realpath (real, NULL) : NULL;
  self->state_folder = g_strdup (resolved != NULL ? resolved : real);
  free (resolved);
  return self;
}

SrvConfine *
srv_confine_new_unconfined (void)
{
  return g_new0 (SrvConfine, 1);
}

void
srv_confine_free (SrvConfine *self)
{
  if (self == NULL)
    return;
  g_free (self->bwrap);
  g_free (self->state_folder);
  g_free (self);
}

gboolean
srv_confine_is_real (const SrvConfine *self)
{
  return self->bwrap != NULL;
}

/* Empties a folder, once: laying one emptiness over another would hide what was let in. */
static void
hide (GPtrArray *words, const char *path)
{
  if (path != NULL && path[0] == '/' && path[1] != '\0' && g_file_test (path, G_FILE_TEST_IS_DIR))
    ADD (words, "--tmpfs", path);
}

static void
let_in (GPtrArray *words, const char *option, const char *const *paths)
{
  for (gsize i = 0; paths != NULL && paths[i] != NULL; i++)
    {
      g_autofree char *path = expand_home (paths[i]);
      if (path[0] == '/' && g_file_test (path, G_FILE_TEST_EXISTS))
        ADD (words, option, path, path);
    }
}

/* A program that is named by its path may lie below a hidden folder. */
static void
let_program_in (GPtrArray *words, const char *program)
{
  if (program != NULL && program[0] == '/' && g_file_test (program, G_FILE_TEST_IS_REGULAR))
    ADD (words, "--ro-bind", program, program);
}

static void
add_view (GPtrArray *words, const SrvConfine *self, const SrvConfineView *view, const char *command)
{
  const char *runtime = g_getenv ("XDG_RUNTIME_DIR");
  struct passwd entry;
  struct passwd *user = NULL;
  char buffer[4096];
  if (getpwuid_r (geteuid (), &entry, buffer, sizeof buffer, &user) != 0)
    user = NULL;
  ADD (words, self->bwrap, "--unshare-pid", "--unshare-ipc", "--die-with-parent", "--ro-bind", "/",
       "/", "--dev", "/dev", "--proc", "/proc");
  hide (words, "/tmp");
  hide (words, "/var/tmp");
  hide (words, "/run");
  hide (words, "/mnt/wslg");
  hide (words, g_get_home_dir ());
  hide (words, user != NULL ? user->pw_dir : NULL);
  hide (words, runtime);
  let_in (words, "--ro-bind", run_files);
  let_in (words, "--ro-bind", program_folders);
  let_in (words, "--ro-bind", view->readable);
  let_program_in (words, view->program);
  let_program_in (words, command);
  let_in (words, "--bind", view->writable);
  ADD (words, "--bind", view->checkout, view->checkout);
  /* Last of what is emptied: neither a checkout nor a preset can open it. */
  hide (words, self->state_folder);
  for (gsize i = 0; view->hidden != NULL && view->hidden[i] != NULL; i++)
    hide (words, view->hidden[i]);
  if (view->secret != NULL && view->secret[0] == '/')
    ADD (words, "--ro-bind-try", "/dev/null", view->secret);
  if (view->folder != NULL)
    ADD (words, "--bind", view->folder, view->folder);
  if (view->socket != NULL)
    ADD (words, "--bind", view->socket, view->socket);
  ADD (words, "--chdir", view->checkout, "--");
}

char **
srv_confine_wrap (const SrvConfine *self, const SrvConfineView *view, const char *const *command)
{
  GPtrArray *words = g_ptr_array_new ();
  if (self->bwrap != NULL)
    add_view (words, self, view, command[0]);
  add (words, command);
  return finish (words);
}
