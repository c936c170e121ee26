/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-stray: a child's number is not given away before we have reaped it, so none of them is somebody else's.
 */
#include "config.h"

#include "srv-stray.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static GHashTable *known; /* pid -> itself; of the one thread that starts processes */

static void
add_listed (GArray *out, const char *thread)
{
  g_autofree char *path = g_build_filename ("/proc/self/task", thread, "children", NULL);
  g_autofree char *text = NULL;
  if (!g_file_get_contents (path, &text, NULL, NULL))
    return;
  for (char *at = text; *at != '\0'; at += strspn (at, " "))
    {
      pid_t pid = (pid_t) g_ascii_strtoull (at, &at, 10);
      if (pid <= 1)
        return;
      if (!g_hash_table_contains (known, GINT_TO_POINTER (pid)))
        g_array_append_val (out, pid);
    }
}

/* Children that aren't known, as the kernel lists them for each of our threads. Source: proc(5). */
static GArray *
list_unknown (void)
{
  GArray *out = g_array_new (FALSE, FALSE, sizeof (pid_t));
  g_autoptr (GDir) threads = g_dir_open ("/proc/self/task", 0, NULL);
  const char *name;
  while (threads != NULL && (name = g_dir_read_name (threads)) != NULL)
    add_listed (out, name);
  return out;
}

void
srv_stray_know (pid_t keeper)
{
  if (known == NULL)
    {
      known = g_hash_table_new (NULL, NULL);
      /* Whoever became this program may have left children to it: they are none of any command. */
      g_autoptr (GArray) before = list_unknown ();
      for (guint i = 0; i < before->len; i++)
        g_hash_table_add (known, GINT_TO_POINTER (g_array_index (before, pid_t, i)));
      prctl (PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    }
  g_hash_table_add (known, GINT_TO_POINTER (keeper));
}

void
srv_stray_forget (pid_t keeper)
{
  g_hash_table_remove (known, GINT_TO_POINTER (keeper));
}

/* Kills it and reaps it, if it ends in time. */
static void
end_one (pid_t pid, gint64 until)
{
  gint64 left_ms = MAX (until - g_get_monotonic_time (), 0) / 1000;
  struct pollfd one = { .fd = (int) syscall (SYS_pidfd_open, pid, 0), .events = POLLIN };
  kill (pid, SIGKILL);
  if (one.fd >= 0)
    {
      poll (&one, 1, (int) left_ms);
      close (one.fd);
    }
  waitpid (pid, NULL, WNOHANG);
}

void
srv_stray_end (void)
{
  gint64 until = g_get_monotonic_time () + SRV_STRAY_LIMIT_MS * 1000;
  guint count;
  /* What one of them had started is ours after its end. */
  do
    {
      g_autoptr (GArray) strays = list_unknown ();
      count = strays->len;
      for (guint i = 0; i < count; i++)
        end_one (g_array_index (strays, pid_t, i), until);
    }
  while (count > 0 && g_get_monotonic_time () < until);
  if (count > 0)
    g_message ("%u process%s of a command that killed its keeper may still be there", count,
               count == 1 ? "" : "es");
}
