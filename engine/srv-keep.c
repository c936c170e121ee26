/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-keep: one command and everything that it starts, ended together.
 *
 * The loop waits for signals only; nothing here allocates, so it works where memory is short, or needs a library but
 * libc: as a program of its own (keep.c) it starts in a fraction of the time that the engine's libraries take. Kill
 * passes go over the keeper's direct children: whatever loses its parent becomes one (subreaper), so the
 * passes end when no child is left.
 */
#include "config.h"

#include "srv-keep.h"

#include "srv-look.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A fork bomb can outrun the passes for a while, not for this long. */
#define KILL_PASSES_S 20

/* Landlock, which the system's headers may not know yet; the numbers are the same on every architecture. Source: Linux,
 * include/uapi/linux/landlock.h, and its ABI 6 (Linux 6.12) for the scopes. */
#define LANDLOCK_CREATE_RULESET 444
#define LANDLOCK_RESTRICT_SELF 446
#define LANDLOCK_VERSION 1u
#define LANDLOCK_SCOPES_SINCE 6
#define LANDLOCK_SCOPE_ABSTRACT (1u << 0)
#define LANDLOCK_SCOPE_SIGNALS (1u << 1)

typedef struct
{
  pid_t command;
  int status;       /* wait status, once ended */
  gboolean ended;   /* the command itself */
  gboolean nothing; /* no child at all is left */
} Keeper;

static gint64
now_ms (void)
{
  struct timespec now;
  clock_gettime (CLOCK_MONOTONIC, &now);
  return (gint64) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Takes every status that is there. */
static void
reap (Keeper *self)
{
  for (;;)
    {
      int status = 0;
      pid_t pid = waitpid (-1, &status, WNOHANG);
      if (pid < 0 && errno == EINTR)
        continue;
      if (pid < 0)
        self->nothing = TRUE;
      if (pid <= 0)
        return;
      if (pid == self->command)
        {
          self->ended = TRUE;
          self->status = status;
        }
    }
}

/* SIGKILL to each direct child as the kernel lists them now. */
static void
kill_children (void)
{
  char text[4096];
  int fd = open ("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return;
  pid_t pid = 0;
  for (;;)
    {
      ssize_t got = read (fd, text, sizeof text);
      if (got <= 0)
        break;
      for (ssize_t i = 0; i < got; i++)
        {
          if (text[i] >= '0' && text[i] <= '9')
            pid = pid * 10 + (text[i] - '0');
          else if (pid > 1)
            {
              kill (pid, SIGKILL);
              pid = 0;
            }
        }
    }
  close (fd);
}

static void
wait_signal (const sigset_t *signals, int timeout_ms, int *out_signal)
{
  struct timespec timeout = { timeout_ms / 1000, (timeout_ms % 1000) * 1000000L };
  int got = timeout_ms < 0 ? sigwaitinfo (signals, NULL) : sigtimedwait (signals, NULL, &timeout);
  *out_signal = got > 0 ? got : 0;
}

static void
kill_everything (Keeper *self, const sigset_t *signals)
{
  gint64 until = now_ms () + KILL_PASSES_S * 1000;
  reap (self);
  while (!self->nothing && now_ms () < until)
    {
      int got;
      if (!self->ended)
        kill (-self->command, SIGKILL);
      kill_children ();
      /* SIGCHLD says when to look again; the tick is for children that were adopted meanwhile. */
      wait_signal (signals, 20, &got);
      reap (self);
    }
}

static G_GNUC_NORETURN void
become_command (char **argv, const sigset_t *before, pid_t keeper)
{
  char words[256];
  setsid ();
  prctl (PR_SET_PDEATHSIG, SIGKILL);
  if (getppid () != keeper)
    _exit (SRV_KEEP_CANT_START);
  sigprocmask (SIG_SETMASK, before, NULL);
  execvp (argv[0], argv);
  int length
      = snprintf (words, sizeof words, "can't start %.150s: %s\n", argv[0], strerror (errno));
  if (length > 0 && write (STDERR_FILENO, words, MIN ((size_t) length, sizeof words - 1)) < 0)
    _exit (SRV_KEEP_CANT_START);
  _exit (SRV_KEEP_CANT_START);
}

/* "@option=NUMBER" with digits only, within the bounds. */
static gboolean
read_number (const char *word, const char *option, guint64 min, guint64 max, guint64 *out)
{
  size_t length = strlen (option);
  if (strncmp (word, option, length) != 0 || word[length] < '0' || word[length] > '9')
    return FALSE;
  char *end;
  errno = 0;
  *out = strtoull (word + length, &end, 10);
  return errno == 0 && *end == '\0' && *out >= min && *out <= max;
}

/* The command's words; NULL: bad usage. */
static char **
read_arguments (int argc, char **argv, guint *out_grace_ms, pid_t *out_parent)
{
  *out_grace_ms = SRV_KEEP_GRACE_MS;
  *out_parent = getppid ();
  for (int i = 1; i < argc; i++)
    {
      if (strcmp (argv[i], "--") == 0)
        return i + 1 < argc ? argv + i + 1 : NULL;
      guint64 value;
      if (read_number (argv[i], "--grace-ms=", 0, SRV_KEEP_MAX_GRACE_MS, &value))
        *out_grace_ms = (guint) value;
      else if (read_number (argv[i], "--parent=", 1, G_MAXINT, &value))
        *out_parent = (pid_t) value;
      else
        return NULL;
    }
  return NULL;
}

/* Until the command ended or has to be killed. */
static void
watch_command (Keeper *self, const sigset_t *signals, guint grace_ms)
{
  gint64 kill_at = -1;
  for (;;)
    {
      int got;
      gint64 left = kill_at < 0 ? -1 : kill_at - now_ms ();
      if (kill_at >= 0 && left <= 0)
        return;
      wait_signal (signals, (int) left, &got);
      if (got == SIGCHLD)
        reap (self);
      else if (got == SIGQUIT || (got != 0 && kill_at >= 0))
        return;
      else if (got != 0)
        {
          kill (-self->command, SIGTERM);
          kill_at = now_ms () + grace_ms;
        }
      if (self->ended)
        return;
    }
}

int
srv_keep_main (int argc, char **argv)
{
  guint grace_ms;
  pid_t parent;
  char **command = read_arguments (argc, argv, &grace_ms, &parent);
  if (command == NULL)
    {
      fputs ("usage: drawbridge-engine keep [--grace-ms=0..60000] [--parent=PID] -- COMMAND "
             "[ARGUMENT...]\n",
             stderr);
      return 2;
    }
  sigset_t signals;
  sigset_t before;
  sigemptyset (&before);
  sigemptyset (&signals);
  sigaddset (&signals, SIGCHLD);
  sigaddset (&signals, SIGTERM);
  sigaddset (&signals, SIGINT);
  sigaddset (&signals, SIGHUP);
  sigaddset (&signals, SIGQUIT);
  sigprocmask (SIG_BLOCK, &signals, NULL);
  signal (SIGCHLD, SIG_DFL);
  signal (SIGXFSZ, SIG_DFL);
  /* It may have died before we asked to be told of it. */
  if (prctl (PR_SET_PDEATHSIG, SIGTERM) != 0 || prctl (PR_SET_CHILD_SUBREAPER, 1) != 0
      || getppid () != parent)
    {
      fprintf (stderr, "can't keep a command: %s\n", strerror (errno));
      return SRV_KEEP_CANT_START;
    }
  pid_t keeper = getpid ();
  Keeper self = { .command = fork () };
  if (self.command == 0)
    become_command (command, &before, keeper);
  if (self.command < 0)
    {
      fprintf (stderr, "can't start %s: %s\n", command[0], strerror (errno));
      return SRV_KEEP_CANT_START;
    }
  watch_command (&self, &signals, grace_ms);
  kill_everything (&self, &signals);
  if (WIFEXITED (self.status))
    return WEXITSTATUS (self.status);
  return WIFSIGNALED (self.status) ? 128 + WTERMSIG (self.status) : SRV_KEEP_CANT_START;
}

/* ------------------------------------------------------------------------ the step before a command */
static void
tell (const char *words)
{
  if (write (SRV_KEEP_TELL_FD, words, strlen (words)) < 0)
    _exit (SRV_KEEP_CANT_START); /* nobody listens: nobody started us */
}

gboolean
srv_keep_can_scope (void)
{
  return syscall (LANDLOCK_CREATE_RULESET, NULL, (size_t) 0, LANDLOCK_VERSION)
         >= LANDLOCK_SCOPES_SINCE;
}

/* Abstract sockets and processes of this command and what it starts: no others. FALSE: errno says why. */
static gboolean
scope (void)
{
  const struct
  {
    guint64 files, network, scoped;
  } rules = { 0, 0, LANDLOCK_SCOPE_ABSTRACT | LANDLOCK_SCOPE_SIGNALS };
  int fd = (int) syscall (LANDLOCK_CREATE_RULESET, &rules, sizeof rules, 0);
  gboolean ok = fd >= 0 && prctl (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && syscall (LANDLOCK_RESTRICT_SELF, fd, 0) == 0;
  if (fd >= 0)
    close (fd);
  return ok;
}

/* Why the command must not run where we have come to; NULL: it may. */
static const char *
place_problem (guint64 device, guint64 inode)
{
  static char words[300];
  char found[200];
  struct stat about;
  if (stat (".", &about) != 0 || about.st_dev != device || about.st_ino != inode)
    return "the checkout is no longer the folder that it was";
  if (srv_look_below (".", found, sizeof found) != SRV_LOOK_FOUND)
    return NULL;
  snprintf (words, sizeof words, "the checkout holds an engine's own folder, %s", found);
  return words;
}

int
srv_keep_exec_main (int argc, char **argv)
{
  const char started[] = { SRV_KEEP_TELL_STARTED, '\0' };
  guint64 device = 0;
  guint64 inode = 0;
  gboolean is_scoped = FALSE;
  int at = 1;
  for (; at < argc && strcmp (argv[at], "--") != 0; at++)
    if (strcmp (argv[at], "--scope") == 0)
      is_scoped = TRUE;
    else if (!read_number (argv[at], "--device=", 0, G_MAXUINT64, &device)
             && !read_number (argv[at], "--inode=", 1, G_MAXUINT64, &inode))
      argc = 0;
  if (at + 1 >= argc)
    {
      fputs ("usage: drawbridge-engine exec [--scope] [--device=N --inode=N] -- COMMAND "
             "[ARGUMENT...]\n",
             stderr);
      return 2;
    }
  if (fcntl (SRV_KEEP_TELL_FD, F_SETFD, FD_CLOEXEC) != 0)
    return SRV_KEEP_CANT_START;
  tell (started);
  const char *problem = inode != 0 ? place_problem (device, inode) : NULL;
  if (problem == NULL && is_scoped && !scope ())
    problem = strerror (errno);
  if (problem == NULL)
    {
      static char words[200];
      execvp (argv[at + 1], argv + at + 1);
      snprintf (words, sizeof words, "%.150s: %s", argv[at + 1], strerror (errno));
      problem = words;
    }
  tell (problem);
  return SRV_KEEP_CANT_START;
}
