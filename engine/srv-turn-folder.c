/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-turn-folder: deletion works on folder handles, so that nobody can swap a folder for a link
 * between a look and a deed.
 */
#include "config.h"

#include "srv-turn-folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_DEPTH 128u /* of folders in folders that are followed: a handle each */

static gboolean
failed (GError **error, const char *what, const char *path)
{
  int number = errno;
  g_set_error (error, G_FILE_ERROR, (gint) g_file_error_from_errno (number), "can't %s %s: %s",
               what, path, g_strerror (number));
  return FALSE;
}

gboolean
srv_turn_folder_prepare (const char *base, GError **error)
{
  struct stat about;
  if (g_mkdir_with_parents (base, 0700) != 0)
    return failed (error, "make", base);
  if (lstat (base, &about) != 0)
    return failed (error, "look at", base);
  if (!S_ISDIR (about.st_mode) || about.st_uid != geteuid () || (about.st_mode & 077) != 0)
    {
      g_set_error (
          error, G_FILE_ERROR, G_FILE_ERROR_PERM,
          "%s is not a folder that only we can open: delete it, or make it ours with mode 0700",
          base);
      return FALSE;
    }
  return TRUE;
}

char *
srv_turn_folder_new (const char *base, GError **error)
{
  g_autofree char *path = g_build_filename (base, "turn-XXXXXX", NULL);
  if (g_mkdtemp_full (path, 0700) == NULL)
    {
      failed (error, "make a folder in", base);
      return NULL;
    }
  return g_steal_pointer (&path);
}

/* When a process started, in ticks since boot; 0: it is not there. Source: proc(5), stat, field 22. */
static guint64
start_time (pid_t pid)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/stat", (int) pid);
  g_autofree char *text = NULL;
  if (!g_file_get_contents (path, &text, NULL, NULL))
    return 0;
  /* The second field is a name in brackets, which may hold anything. */
  const char *at = strrchr (text, ')');
  for (guint field = 2; at != NULL && field < 22; field++)
    {
      at = strchr (at, ' ');
      at = at != NULL ? at + 1 : NULL;
    }
  return at != NULL ? g_ascii_strtoull (at, NULL, 10) : 0;
}

gboolean
srv_turn_folder_record (const char *folder, pid_t pid, GError **error)
{
  g_autofree char *path = g_strconcat (folder, ".pid", NULL);
  g_autofree char *text
      = g_strdup_printf ("%d %" G_GUINT64_FORMAT "\n", (int) pid, start_time (pid));
  return g_file_set_contents_full (path, text, -1, G_FILE_SET_CONTENTS_NONE, 0600, error);
}

/* ---------------------------------------------------------------------------------- deleting */
static gboolean
remove_entry (int parent, const char *name, guint depth);

static gboolean
remove_folder (int parent, const char *name, guint depth)
{
  int fd = openat (parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  /* A command may have closed it against itself. */
  if (fd < 0 && errno == EACCES && fchmodat (parent, name, 0700, 0) == 0)
    fd = openat (parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0)
    return FALSE;
  DIR *stream = fdopendir (fd);
  if (stream == NULL)
    {
      close (fd);
      return FALSE;
    }
  gboolean all = TRUE;
  // cppcheck-suppress readdirCalled; the stream is ours alone
  for (struct dirent *entry = readdir (stream); entry != NULL; entry = readdir (stream))
    if (strcmp (entry->d_name, ".") != 0 && strcmp (entry->d_name, "..") != 0)
      all = remove_entry (fd, entry->d_name, depth + 1) && all;
  closedir (stream);
  return unlinkat (parent, name, AT_REMOVEDIR) == 0 && all;
}

static gboolean
remove_entry (int parent, const char *name, guint depth)
{
  struct stat about;
  if (fstatat (parent, name, &about, AT_SYMLINK_NOFOLLOW) != 0)
    return errno == ENOENT;
  if (!S_ISDIR (about.st_mode))
    return unlinkat (parent, name, 0) == 0;
  return depth < MAX_DEPTH && remove_folder (parent, name, depth);
}

gboolean
srv_turn_folder_remove (const char *folder)
{
  g_autofree char *record = g_strconcat (folder, ".pid", NULL);
  gboolean all = remove_entry (AT_FDCWD, folder, 0);
  return (g_unlink (record) == 0 || errno == ENOENT) && all;
}

/* ---------------------------------------------------------------------------------- cleaning */
static void
end_process (pid_t pid, guint64 started, guint wait_ms)
{
  int handle = (int) syscall (SYS_pidfd_open, pid, 0);
  /* After the handle is there the number can't be given away under our hands. */
  if (started != 0 && start_time (pid) == started)
    {
      struct pollfd one = { .fd = handle, .events = POLLIN };
      kill (pid, SIGQUIT); /* a keeper kills all of it at once */
      kill (pid, SIGCONT);
      if (handle < 0 || poll (&one, 1, (int) wait_ms) == 0)
        kill (pid, SIGKILL);
    }
  if (handle >= 0)
    close (handle);
}

static void
end_recorded (const char *path, guint wait_ms)
{
  g_autofree char *text = NULL;
  if (!g_file_get_contents (path, &text, NULL, NULL))
    return;
  char *rest = NULL;
  guint64 pid = g_ascii_strtoull (text, &rest, 10);
  guint64 started = g_ascii_strtoull (rest, NULL, 10);
  if (pid > 1 && pid <= G_MAXINT)
    end_process ((pid_t) pid, started, wait_ms);
}

guint
srv_turn_folder_clean (const char *base, guint wait_ms)
{
  g_autoptr (GDir) folder = g_dir_open (base, 0, NULL);
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  guint count = 0;
  if (folder == NULL)
    return 0;
  for (const char *name = g_dir_read_name (folder); name != NULL; name = g_dir_read_name (folder))
    g_ptr_array_add (names, g_build_filename (base, name, NULL));
  for (guint i = 0; i < names->len; i++)
    if (g_str_has_suffix (names->pdata[i], ".pid"))
      end_recorded (names->pdata[i], wait_ms);
  for (guint i = 0; i < names->len; i++)
    {
      count += g_str_has_suffix (names->pdata[i], ".pid") ? 0 : 1;
      remove_entry (AT_FDCWD, names->pdata[i], 0);
    }
  return count;
}
