/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-confine: a view is a list of bwrap options, in the order in which they are laid over each other:
 * everything read-only, then what is emptied, then what is let in again.
 */
#include "config.h"

#include "srv-confine.h"

#include "srv-keep.h"

#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

G_DEFINE_QUARK (srv_confine_error, srv_confine_error)

/* Where the kernel lists unix sockets; much more than any machine has. */
#define SOCKETS "/proc/net/unix"
#define MAX_SOCKETS 4096u

struct _SrvConfine
{
  char *bwrap;  /* NULL: not confined */
  char *keeper; /* takes the step before the command */
  const char *const *states;
};

/* What is emptied, without links, each once; and what of it is shown after all. */
typedef struct
{
  GPtrArray *words;
  GPtrArray *hidden;
  GPtrArray *shown; /* what was let in: where it really is, where it is laid, ... */
} View;

#define LINUXBREW \
  "/home" \
  "/linuxbrew/.linuxbrew" /* a package manager's own, the same everywhere */

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
  LINUXBREW,
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
  if (path[0] != '~' || path[1] != '/')
    return g_strdup (path);
  /* What is hidden is hidden by this name. */
  g_autofree char *home = srv_checkout_resolve (g_get_home_dir ());
  return g_build_filename (home, path + 2, NULL);
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
       "--unshare-pid", "--unshare-ipc", "--cap-drop", "ALL", "--die-with-parent", "--",
       "/bin/true");
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
srv_confine_new (const char *keeper, const char *const *states, GError **error)
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
  SrvConfine *self = srv_confine_new_unconfined (keeper);
  self->bwrap = g_steal_pointer (&bwrap);
  self->states = states;
  return self;
}

SrvConfine *
srv_confine_new_unconfined (const char *keeper)
{
  SrvConfine *self = g_new0 (SrvConfine, 1);
  self->keeper = g_strdup (keeper);
  return self;
}

void
srv_confine_free (SrvConfine *self)
{
  if (self == NULL)
    return;
  g_free (self->bwrap);
  g_free (self->keeper);
  g_free (self);
}

gboolean
srv_confine_is_real (const SrvConfine *self)
{
  return self->bwrap != NULL;
}

const char *
srv_confine_gap (const SrvConfine *self)
{
  if (self->bwrap == NULL || srv_keep_can_scope ())
    return NULL;
  return "this kernel has no Landlock scopes (Linux 6.12): commands can reach abstract unix "
         "sockets";
}

/* ----------------------------------------------------------------------------------- emptying */
static gboolean
is_hidden (const View *self, const char *path)
{
  for (guint i = 0; i < self->hidden->len; i++)
    if (srv_checkout_is_within (path, self->hidden->pdata[i]))
      return TRUE;
  return FALSE;
}

/* Empties a folder, once: laying one emptiness over another would hide what was let in. */
static void
hide (View *self, const char *path)
{
  if (path == NULL || path[0] != '/' || !g_file_test (path, G_FILE_TEST_IS_DIR))
    return;
  g_autofree char *real = srv_checkout_resolve (path);
  if (real[1] == '\0' || g_ptr_array_find_with_equal_func (self->hidden, real, g_str_equal, NULL))
    return;
  ADD (self->words, "--tmpfs", real);
  g_ptr_array_add (self->hidden, g_steal_pointer (&real));
}

/* --------------------------------------------------------------------------------- letting in */
/* Where what lies at @path is laid: there, when that is below what is emptied; else where it really is, since a link
 * on the way leads there inside too. */
static char *
place_of (const View *self, const char *path)
{
  g_autofree char *folder = g_path_get_dirname (path);
  g_autofree char *name = g_path_get_basename (path);
  g_autofree char *real_folder = srv_checkout_resolve (folder);
  g_autofree char *place = g_build_filename (real_folder, name, NULL);
  if (is_hidden (self, path))
    return g_strdup (path);
  return is_hidden (self, place) ? g_steal_pointer (&place) : srv_checkout_resolve (path);
}

static void
let_one_in (View *self, const char *option, const char *path)
{
  char *place = place_of (self, path);
  ADD (self->words, option, path, place);
  g_ptr_array_add (self->shown, srv_checkout_resolve (path));
  g_ptr_array_add (self->shown, place);
}

static void
let_in (View *self, const char *option, const char *const *paths)
{
  for (gsize i = 0; paths != NULL && paths[i] != NULL; i++)
    {
      g_autofree char *path = expand_home (paths[i]);
      if (path[0] == '/' && g_file_test (path, G_FILE_TEST_EXISTS))
        let_one_in (self, option, path);
    }
}

/* A program that is named by its path may lie below a hidden folder. */
static void
let_program_in (View *self, const char *program)
{
  if (program != NULL && program[0] == '/' && g_file_test (program, G_FILE_TEST_IS_REGULAR))
    let_one_in (self, "--ro-bind", program);
}

/* ---------------------------------------------------------------------------------- covering */
static void
cover (View *self, const char *path)
{
  ADD (self->words, "--ro-bind", "/dev/null", path);
}

/* A socket that could be connected to is covered wherever it is seen: that a file system is read-only stops nobody. */
static void
cover_socket (View *self, const char *path)
{
  struct stat about;
  if (lstat (path, &about) != 0 || !S_ISSOCK (about.st_mode) || access (path, W_OK) != 0)
    return;
  g_autofree char *real = srv_checkout_resolve (path);
  if (!is_hidden (self, real))
    cover (self, real);
  for (guint i = 0; i < self->shown->len; i += 2)
    {
      const char *source = self->shown->pdata[i];
      if (!srv_checkout_is_within (real, source))
        continue;
      g_autofree char *place
          = g_strconcat (self->shown->pdata[i + 1], real + strlen (source), NULL);
      if (is_hidden (self, real) || strcmp (place, real) != 0)
        cover (self, place);
    }
}

/* Source: proc(5), /proc/net/unix: the address ends a line; connections have it as well as what they are made to. */
static void
cover_sockets (View *self)
{
  g_autofree char *text = NULL;
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);
  if (!g_file_get_contents (SOCKETS, &text, NULL, NULL))
    return;
  char *line = text;
  for (guint i = 0; i < MAX_SOCKETS && line != NULL; i++)
    {
      char *end = strchr (line, '\n');
      if (end != NULL)
        *end = '\0';
      char *path = strstr (line, " /");
      if (path != NULL && g_hash_table_add (seen, path + 1))
        cover_socket (self, path + 1);
      line = end != NULL ? end + 1 : NULL;
    }
}

static void
hide_places (View *self)
{
  struct passwd entry;
  struct passwd *user = NULL;
  char buffer[4096];
  if (getpwuid_r (geteuid (), &entry, buffer, sizeof buffer, &user) != 0)
    user = NULL;
  hide (self, "/tmp");
  hide (self, "/var/tmp");
  hide (self, "/run");
  hide (self, "/mnt/wslg");
  hide (self, "/home");
  hide (self, g_get_home_dir ());
  hide (self, user != NULL ? user->pw_dir : NULL);
  hide (self, g_getenv ("XDG_RUNTIME_DIR"));
}

static void
add_view (View *self, const SrvConfine *confine, const SrvConfineView *view, const char *command)
{
  const char *checkout = view->checkout->path;
  /* Root would keep its capabilities, and could take off again what is laid over. */
  ADD (self->words, confine->bwrap, "--unshare-pid", "--unshare-ipc", "--cap-drop", "ALL",
       "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc");
  hide_places (self);
  let_in (self, "--ro-bind", run_files);
  let_in (self, "--ro-bind", program_folders);
  let_in (self, "--ro-bind", view->readable);
  let_program_in (self, view->program);
  let_program_in (self, confine->keeper);
  let_program_in (self, command);
  let_in (self, "--bind", view->writable);
  cover_sockets (self);
  ADD (self->words, "--bind", checkout, checkout);
  /* Last of what is emptied: no preset can open it. A checkout is none that holds one (srv-checkout.h). */
  for (gsize i = 0; confine->states != NULL && confine->states[i] != NULL; i++)
    hide (self, confine->states[i]);
  if (view->secret != NULL && g_file_test (view->secret, G_FILE_TEST_EXISTS))
    {
      g_autofree char *secret = srv_checkout_resolve (view->secret);
      ADD (self->words, "--ro-bind", "/dev/null", secret);
    }
  if (view->folder != NULL)
    let_one_in (self, "--bind", view->folder);
  if (view->socket != NULL)
    let_one_in (self, "--bind", view->socket);
  ADD (self->words, "--chdir", checkout, "--");
}

/* From here on it is the command's own business; this step is the last of ours (srv-keep.h). */
static void
add_step (GPtrArray *words, const SrvConfine *confine, const SrvCheckout *checkout)
{
  ADD (words, confine->keeper, "exec");
  if (confine->bwrap != NULL && srv_keep_can_scope ())
    ADD (words, "--scope");
  g_ptr_array_add (words, g_strdup_printf ("--device=%" G_GUINT64_FORMAT, checkout->device));
  g_ptr_array_add (words, g_strdup_printf ("--inode=%" G_GUINT64_FORMAT, checkout->inode));
  ADD (words, "--");
}

char **
srv_confine_wrap (const SrvConfine *self, const SrvConfineView *view, const char *const *command)
{
  g_autoptr (GPtrArray) hidden = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GPtrArray) shown = g_ptr_array_new_with_free_func (g_free);
  View laid = { .words = g_ptr_array_new (), .hidden = hidden, .shown = shown };
  if (self->bwrap != NULL)
    add_view (&laid, self, view, command[0]);
  add_step (laid.words, self, view->checkout);
  add (laid.words, command);
  return finish (laid.words);
}
