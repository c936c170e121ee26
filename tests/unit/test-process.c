/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes and their keeper: however a command ends or refuses to, nothing of it is left.
 * This program is its own keeper, as drawbridge-engine is.
 */
#include "config.h"

#include "srv-keep.h"
#include "srv-output.h"
#include "srv-process.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define WATCHDOG_S 60

static char own_path[4096];

typedef struct
{
  GMainLoop *loop;
  SrvProcess *process;
  GString *output;
  gsize bytes;
  const char *stop_at; /* stops the command when this is printed */
  gboolean twice;
  SrvProcessEnd end;
  int value;
} Run;

static void
on_output (const char *bytes, gsize length, gpointer user_data)
{
  Run *self = user_data;
  self->bytes += length;
  if (self->output->len < 100000)
    g_string_append_len (self->output, bytes, (gssize) length);
  if (self->stop_at != NULL && strstr (self->output->str, self->stop_at) != NULL)
    {
      self->stop_at = NULL;
      srv_process_stop (self->process);
      if (self->twice)
        srv_process_stop (self->process);
    }
}

static void
on_done (SrvProcessEnd end, int value, gpointer user_data)
{
  Run *self = user_data;
  self->end = end;
  self->value = value;
  g_main_loop_quit (self->loop);
}

static gboolean
on_watchdog (gpointer user_data G_GNUC_UNUSED)
{
  g_error ("the process did not end");
  return G_SOURCE_REMOVE;
}

typedef struct
{
  const char *script;
  const char *input;
  const char *stop_at;
  guint limit_ms;
  guint grace_ms;
  gboolean twice;
} Case;

/* Runs a shell script to its end; the output (transfer full). */
static char *
run (const Case *what, SrvProcessEnd *out_end, int *out_value)
{
  const char *const command[] = { "/bin/sh", "-c", what->script, NULL };
  const char *const environment[] = { "PATH=/usr/bin:/bin", "LC_ALL=C", NULL };
  Run self = { .loop = g_main_loop_new (NULL, FALSE),
               .output = g_string_new (NULL),
               .stop_at = what->stop_at,
               .twice = what->twice };
  const SrvProcessOptions options = { .keeper = own_path,
                                      .command = command,
                                      .environment = environment,
                                      .folder = "/",
                                      .input = what->input,
                                      .limit_ms = what->limit_ms,
                                      .grace_ms = what->grace_ms,
                                      .output = on_output,
                                      .done = on_done,
                                      .user_data = &self };
  g_autoptr (GError) error = NULL;
  guint watchdog = g_timeout_add_seconds (WATCHDOG_S, on_watchdog, NULL);
  self.process = srv_process_new (&options, &error);
  g_assert_no_error (error);
  g_main_loop_run (self.loop);
  g_source_remove (watchdog);
  srv_process_free (self.process);
  g_main_loop_unref (self.loop);
  *out_end = self.end;
  *out_value = self.value;
  return g_string_free (self.output, FALSE);
}

static gboolean
is_alive (const char *pid)
{
  return kill ((pid_t) g_ascii_strtoll (pid, NULL, 10), 0) == 0;
}

/* Every number of a line is a process: none may be alive. */
static void
assert_all_dead (const char *output)
{
  g_auto (GStrv) words = g_strsplit_set (output, " \n", -1);
  guint count = 0;
  for (gsize i = 0; words[i] != NULL; i++)
    if (g_ascii_isdigit (words[i][0]))
      {
        count++;
        if (is_alive (words[i]))
          g_error ("process %s outlived its command", words[i]);
      }
  g_assert_cmpuint (count, >, 0);
}

static void
test_status (void)
{
  SrvProcessEnd end;
  int value;
  g_autofree char *output
      = run (&(Case){ .script = "cat; echo err >&2; exit 75", .input = "a brief\n" }, &end, &value);
  g_assert_cmpstr (output, ==, "a brief\nerr\n");
  g_assert_cmpint (end, ==, SRV_PROCESS_ENDED);
  g_assert_cmpint (value, ==, 75);
}

static void
test_no_input (void)
{
  SrvProcessEnd end;
  int value;
  g_autofree char *output = run (&(Case){ .script = "cat; echo end" }, &end, &value);
  g_assert_cmpstr (output, ==, "end\n");
}

static void
test_crash (void)
{
  SrvProcessEnd end;
  int value;
  g_autofree char *output = run (&(Case){ .script = "kill -SEGV $$" }, &end, &value);
  g_autofree char *text = srv_process_describe (end, value);
  g_assert_cmpint (end, ==, SRV_PROCESS_SIGNALLED);
  g_assert_cmpint (value, ==, SIGSEGV);
  g_assert_nonnull (strstr (text, "signal 11"));
  g_assert_cmpstr (output, ==, "");
}

static void
test_missing (void)
{
  SrvProcessEnd end;
  int value;
  const char *const command[] = { "/nonexistent/program", NULL };
  const char *const environment[] = { NULL };
  Run self = { .loop = g_main_loop_new (NULL, FALSE), .output = g_string_new (NULL) };
  const SrvProcessOptions options = { .keeper = own_path,
                                      .command = command,
                                      .environment = environment,
                                      .folder = "/",
                                      .output = on_output,
                                      .done = on_done,
                                      .user_data = &self };
  g_autoptr (SrvProcess) process = srv_process_new (&options, NULL);
  g_main_loop_run (self.loop);
  end = self.end;
  value = self.value;
  g_autofree char *text = srv_process_describe (end, value);
  g_assert_cmpint (value, ==, SRV_KEEP_CANT_START);
  g_assert_nonnull (strstr (text, "could not be started"));
  g_assert_nonnull (strstr (self.output->str, "can't start /nonexistent/program: No such file"));
  g_string_free (self.output, TRUE);
  g_main_loop_unref (self.loop);
}

static void
test_missing_folder (void)
{
  const char *const command[] = { "/bin/true", NULL };
  const char *const environment[] = { NULL };
  const SrvProcessOptions options = { .keeper = own_path,
                                      .command = command,
                                      .environment = environment,
                                      .folder = "/nonexistent",
                                      .done = on_done };
  g_autoptr (GError) error = NULL;
  g_autoptr (SrvProcess) process = srv_process_new (&options, &error);
  g_assert_null (process);
  g_assert_error (error, G_SPAWN_ERROR, G_SPAWN_ERROR_CHDIR);
}

/* A command that never was is told from one that failed, whatever its exit status. */
static void
test_starting (void)
{
  static const struct
  {
    const char *words[7];
    SrvProcessEnd end;
    int value;
    const char *problem; /* nullable */
  } cases[] = {
    { { own_path, "exec", "--", "/bin/true" }, SRV_PROCESS_ENDED, 0, NULL },
    { { own_path, "exec", "--", "/bin/sh", "-c" }, SRV_PROCESS_ENDED, 2, NULL },
    { { own_path, "exec", "--", "/nonexistent/program" },
      SRV_PROCESS_NOT_STARTED,
      127,
      "/nonexistent/program: No such file or directory" },
    { { own_path, "exec", "--", "/" }, SRV_PROCESS_NOT_STARTED, 127, "/: Permission denied" },
    { { own_path, "exec", "--device=1", "--inode=1", "--", "/bin/true" },
      SRV_PROCESS_NOT_STARTED,
      127,
      "the checkout is no longer the folder that it was" },
    /* What shuts it in fails, or isn't there. */
    { { "/bin/sh", "-c", "exit 1" }, SRV_PROCESS_NOT_STARTED, 1, NULL },
    { { "/nonexistent/bwrap" }, SRV_PROCESS_NOT_STARTED, 127, NULL },
    /* The command has no part in telling. */
    { { own_path, "exec", "--", "/bin/sh", "-c", "echo no >&3" }, SRV_PROCESS_ENDED, 2, NULL },
  };
  const char *const environment[] = { "PATH=/usr/bin:/bin", "LC_ALL=C", NULL };
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      Run self = { .loop = g_main_loop_new (NULL, FALSE), .output = g_string_new (NULL) };
      const SrvProcessOptions options = { .keeper = own_path,
                                          .command = cases[i].words,
                                          .environment = environment,
                                          .folder = "/",
                                          .tells_start = TRUE,
                                          .output = on_output,
                                          .done = on_done,
                                          .user_data = &self };
      g_autoptr (GError) error = NULL;
      guint watchdog = g_timeout_add_seconds (WATCHDOG_S, on_watchdog, NULL);
      self.process = srv_process_new (&options, &error);
      g_assert_no_error (error);
      g_main_loop_run (self.loop);
      g_source_remove (watchdog);
      g_assert_cmpint (self.end, ==, cases[i].end);
      g_assert_cmpint (self.value, ==, cases[i].value);
      g_assert_cmpstr (srv_process_problem (self.process), ==, cases[i].problem);
      srv_process_free (self.process);
      g_main_loop_unref (self.loop);
      g_string_free (self.output, TRUE);
    }
}

/* Children in the background, in sessions of their own, orphaned, deaf to SIGTERM: none outlives it. */
#define HIDERS \
  "trap '' TERM HUP; sleep 1000 & echo $!; " \
  "setsid sh -c 'trap \"\" TERM HUP; echo $$; sleep 1000 & echo $!; exec sleep 1000' & " \
  "(setsid sh -c 'sleep 1000 & echo $!' &) ; "

static void
test_orphans (void)
{
  SrvProcessEnd end;
  int value;
  g_autofree char *output
      = run (&(Case){ .script = HIDERS "while [ -z \"$done\" ]; do done=1; done; echo end",
                      .stop_at = NULL },
             &end, &value);
  g_assert_cmpint (end, ==, SRV_PROCESS_ENDED);
  g_assert_cmpint (value, ==, 0);
  assert_all_dead (output);
}

/* A command can kill its keeper, where nothing shuts it in; that helps nothing that it started. */
static void
test_keeper_killed (void)
{
  SrvProcessEnd end;
  int value;
  g_autofree char *output
      = run (&(Case){ .script = HIDERS "echo $$; kill -KILL $PPID; while :; do sleep 1000; done",
                      .stop_at = NULL },
             &end, &value);
  g_assert_cmpint (end, ==, SRV_PROCESS_SIGNALLED);
  g_assert_cmpint (value, ==, SIGKILL);
  assert_all_dead (output);
}

static void
test_stop_deaf (void)
{
  SrvProcessEnd end;
  int value;
  g_autofree char *output
      = run (&(Case){ .script = HIDERS "echo ready; while :; do sleep 1000; done",
                      .stop_at = "ready",
                      .grace_ms = 50 },
             &end, &value);
  g_assert_cmpint (end, ==, SRV_PROCESS_STOPPED);
  assert_all_dead (output);
}

static void
test_stop_twice (void)
{
  SrvProcessEnd end;
  int value;
  gint64 before = g_get_monotonic_time ();
  g_autofree char *output
      = run (&(Case){ .script = HIDERS "echo ready; while :; do sleep 1000; done",
                      .stop_at = "ready",
                      .grace_ms = 50000,
                      .twice = TRUE },
             &end, &value);
  g_assert_cmpint (end, ==, SRV_PROCESS_STOPPED);
  g_assert_cmpint (g_get_monotonic_time () - before, <, 45 * G_USEC_PER_SEC); /* not by the grace */
  assert_all_dead (output);
}

static void
test_stop_kindly (void)
{
  SrvProcessEnd end;
  int value;
  g_autofree char *output = run (
      &(Case){ .script
               = "trap 'echo bye; exit 0' TERM; echo ready; while :; do read -r x || :; done",
               .stop_at = "ready",
               .grace_ms = 30000 },
      &end, &value);
  g_assert_nonnull (strstr (output, "bye"));
  g_assert_cmpint (end, ==, SRV_PROCESS_STOPPED);
}

static void
test_limit (void)
{
  SrvProcessEnd end;
  int value;
  g_autofree char *output = run (
      &(Case){ .script = HIDERS "while :; do sleep 1000; done", .limit_ms = 300, .grace_ms = 20 },
      &end, &value);
  g_autofree char *text = srv_process_describe (end, value);
  g_assert_cmpint (end, ==, SRV_PROCESS_TIMED_OUT);
  g_assert_cmpstr (text, ==, "reached its time limit");
  assert_all_dead (output);
}

/* The keeper's parent is killed: the keeper ends everything by itself. */
static void
test_parent_killed (void)
{
  SrvProcessEnd end;
  int value;
  g_autofree char *script
      = g_strdup_printf ("sh -c '\"%s\" keep --grace-ms=20 -- sh -c \"trap : TERM HUP; echo "
                         "\\$\\$; echo ready; exec sleep 1000\" & echo $!; wait' & "
                         "victim=$!; sleep 0.3; kill -9 $victim; wait; "
                         /* The keeper's last act is closing its output: this reads until then. */
                         "echo killed",
                         own_path);
  g_autofree char *output = run (&(Case){ .script = script }, &end, &value);
  g_assert_nonnull (strstr (output, "killed"));
  assert_all_dead (output);
}

static void
test_flood (void)
{
  SrvProcessEnd end;
  int value;
  g_autofree char *output
      = run (&(Case){ .script = "yes a-long-line-of-nothing-in-particular & sleep 0.2; exit 3" },
             &end, &value);
  g_assert_cmpint (value, ==, 3);
  g_assert_cmpuint (strlen (output), >, 0);
}

static void
test_usage (void)
{
  static const char *const rows[][4] = {
    { "keep", NULL },
    { "keep", "--", NULL },
    { "keep", "true", NULL },
    { "keep", "--grace-ms=x", "--", "true" },
    { "keep", "--grace-ms=60001", "--", "true" },
  };
  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      char *words[6] = { own_path };
      int status;
      for (gsize j = 0; j < 4 && rows[i][j] != NULL; j++)
        words[j + 1] = g_strdup (rows[i][j]);
      g_assert_true (g_spawn_sync (NULL, words, NULL, G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, NULL,
                                   NULL, &status, NULL));
      g_assert_cmpint (status >> 8, ==, 2);
      for (gsize j = 1; words[j] != NULL; j++)
        g_free (words[j]);
    }
}

/* --------------------------------------------------------------------------------- the output */
static void
test_output (void)
{
  g_autoptr (SrvOutput) output = srv_output_new (100);
  g_autofree char *none = srv_output_text (output, 50, NULL);
  g_assert_cmpstr (none, ==, "");
  for (guint i = 0; i < 1000; i++)
    srv_output_add (output, "0123456789", 10);
  g_assert_cmpuint (srv_output_total (output), ==, 10000);
  g_autofree char *all = srv_output_text (output, 1000, NULL);
  g_assert_cmpuint (strlen (all), ==, 100);
  g_autofree char *huge = g_strnfill (5000, 'x');
  srv_output_add (output, huge, 5000);
  const char *last = "\nline \xff\x1b[31m two\r\n\ttoken S3CR3T\n";
  srv_output_add (output, last, strlen (last));
  g_autofree char *end = srv_output_text (output, 60, "S3CR3T");
  g_assert_cmpstr (end, ==, "line \xef\xbf\xbd two\n\ttoken ***");
  g_autofree char *short_end = srv_output_text (output, 12, "S3CR3T");
  g_assert_cmpstr (short_end, ==, "\ttoken ***");
}

/* What is kept is the end, in whole lines and whole characters, whatever follows it. */
static void
test_output_end (void)
{
  static const struct
  {
    const char *bytes;
    gsize max_bytes;
    const char *wanted;
  } cases[] = {
    { "first line\nsecond line\nError: no key\n\n\n   \n\n", 16, "Error: no key" },
    { "first line\nsecond line\nError: no key", 30, "second line\nError: no key" },
    { "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4", 5, "\xc3\xa4\xc3\xa4" },
    { "\xf0\x9f\x98\x80\xf0\x9f\x98\x80", 7, "\xf0\x9f\x98\x80" },
    { "\033[1;31mred\033[0m \033]0;title\aplain \033]8;;http://x\033\\link\033[K", 100,
      "red plain link" },
    { "a\033", 10, "a" },
    { "a\033[31", 10, "a" },
    { "a\033]0;never ended\nb", 20, "a\nb" },
    { "\n\n", 10, "" },
  };
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *got
          = srv_output_clean (cases[i].bytes, strlen (cases[i].bytes), cases[i].max_bytes, NULL);
      g_assert_cmpstr (got, ==, cases[i].wanted);
    }
}

/* What an engine ignores for itself, its commands don't. */
static void
test_signals (void)
{
  SrvProcessEnd end;
  int value;
  g_auto (GStrv) names = g_strsplit ("XFSZ PIPE", " ", -1);
  void (*xfsz) (int) = signal (SIGXFSZ, SIG_IGN);
  void (*pipe) (int) = signal (SIGPIPE, SIG_IGN);
  for (gsize i = 0; names[i] != NULL; i++)
    {
      g_autofree char *script = g_strdup_printf ("kill -%s $$; echo ignored", names[i]);
      g_autofree char *output = run (&(Case){ .script = script }, &end, &value);
      g_assert_cmpstr (output, ==, "");
      g_assert_cmpint (end, ==, SRV_PROCESS_SIGNALLED);
      g_assert_cmpint (value, ==, i == 0 ? SIGXFSZ : SIGPIPE);
    }
  signal (SIGXFSZ, xfsz);
  signal (SIGPIPE, pipe);
}

int
main (int argc, char **argv)
{
  if (argc > 1 && strcmp (argv[1], "keep") == 0)
    return srv_keep_main (argc - 1, argv + 1);
  if (argc > 1 && strcmp (argv[1], "exec") == 0)
    return srv_keep_exec_main (argc - 1, argv + 1);
  ssize_t length = readlink ("/proc/self/exe", own_path, sizeof own_path - 1);
  g_assert_cmpint (length, >, 0);
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/process/status", test_status);
  g_test_add_func ("/process/starting", test_starting);
  g_test_add_func ("/process/no-input", test_no_input);
  g_test_add_func ("/process/crash", test_crash);
  g_test_add_func ("/process/missing", test_missing);
  g_test_add_func ("/process/missing-folder", test_missing_folder);
  g_test_add_func ("/process/orphans", test_orphans);
  g_test_add_func ("/process/keeper-killed", test_keeper_killed);
  g_test_add_func ("/process/stop-deaf", test_stop_deaf);
  g_test_add_func ("/process/stop-twice", test_stop_twice);
  g_test_add_func ("/process/stop-kindly", test_stop_kindly);
  g_test_add_func ("/process/limit", test_limit);
  g_test_add_func ("/process/parent-killed", test_parent_killed);
  g_test_add_func ("/process/flood", test_flood);
  g_test_add_func ("/process/signals", test_signals);
  g_test_add_func ("/process/usage", test_usage);
  g_test_add_func ("/process/output", test_output);
  g_test_add_func ("/process/output-end", test_output_end);
  return g_test_run ();
}
