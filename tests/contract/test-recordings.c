/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a real Airflow answered, recorded, rendered to golden texts: tests/contract/golden/cases.json names tool
 * and arguments, <name>.txt is the answer. DBR_UPDATE=1 writes the texts anew; look at the difference.
 * The clock and the fences' boundary are fixed, the port is masked, nothing else is.
 */
#include "config.h"

#include "lib/open-host.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NOW_US (G_GINT64_CONSTANT (1796046000) * G_USEC_PER_SEC) /* 2026-11-30 13:40:00Z */

typedef struct
{
  GPid pid;
  int to;
  int from;
  char *url;
} Recordings;

static gboolean
start_recordings (Recordings *self)
{
  const char *shared = g_getenv ("DBR_SHARED");
  g_autofree char *folder
      = g_build_filename (shared ? shared : "../shared", "airflow", "rec", NULL);
  g_autofree char *program
      = g_test_build_filename (G_TEST_BUILT, "tests", "lib", "fake-backend", NULL);
  char *argv[] = { program, folder, NULL };
  char line[64] = "";
  gsize have = 0;

  if (!g_file_test (folder, G_FILE_TEST_IS_DIR))
    return FALSE;
  g_assert_true (g_spawn_async_with_pipes (NULL, argv, NULL, G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL,
                                           &self->pid, &self->to, &self->from, NULL, NULL));
  while (have < sizeof line - 1 && strchr (line, '\n') == NULL)
    {
      ssize_t n = read (self->from, line + have, 1);
      g_assert_cmpint (n, ==, 1);
      have++;
    }
  self->url = g_strdup_printf ("http://127.0.0.1:%d", atoi (line + strlen ("port ")));
  return TRUE;
}

static void
on_done (gpointer user_data, DbrCallResult *result)
{
  DbrCallResult **out = user_data;
  *out = result;
}

static char *
call_tool (const char *url, DbrJson test)
{
  static const DbrCallEvents events = { NULL, NULL, on_done };
  gboolean writes = dbr_json_get_boolean (dbr_json_get (test, "writes"));
  g_auto (GStrv) environment
      = g_environ_setenv (NULL, "AIRFLOW_MCP_ALLOW_WRITES", writes ? "1" : "0", TRUE);
  const DbrHostOptions how = { .backend.base_url = url,
                               .backend.environment = environment,
                               .now_us = NOW_US,
                               .boundary = "boundary" };
  DbrToolHost *host = open_host ("schemas/airflow.xml", &how);
  g_autofree char *tool = dbr_json_dup_string (dbr_json_get (test, "tool"));
  g_autoptr (DbrCallResult) result = NULL;
  DbrCallRequest request = { 0 };
  g_auto (GStrv) pieces = NULL;
  g_autofree char *text = NULL;

  request.tool = tool;
  request.arguments = dbr_json_get (test, "arguments");
  host->call (host, &request, &events, &result);
  while (result == NULL)
    g_main_context_iteration (NULL, TRUE);
  pieces = g_strsplit (result->text, url, -1);
  text = g_strjoinv ("ORIGIN", pieces);
  dbr_host_free (host);
  return g_strdup_printf ("%s%s\n", result->is_error ? "ERROR\n" : "", text);
}

static void
test_one (const Recordings *recordings, DbrJson test)
{
  g_autofree char *name = dbr_json_dup_string (dbr_json_get (test, "name"));
  g_autofree char *base = g_strconcat (name, ".txt", NULL);
  g_autofree char *file
      = g_test_build_filename (G_TEST_DIST, "tests", "contract", "golden", base, NULL);
  g_autofree char *got = call_tool (recordings->url, test);
  g_autofree char *expected = NULL;

  g_test_message ("%s", name);
  if (g_getenv ("DBR_UPDATE"))
    g_assert_true (g_file_set_contents (file, got, -1, NULL));
  g_file_get_contents (file, &expected, NULL, NULL);
  g_assert_cmpstr (got, ==, expected);
}

static void
test_recordings (void)
{
  Recordings recordings = { 0 };
  g_autofree char *file
      = g_test_build_filename (G_TEST_DIST, "tests", "contract", "golden", "cases.json", NULL);
  g_autofree char *text = NULL;
  g_autoptr (DbrJsonDoc) doc = NULL;

  if (!start_recordings (&recordings))
    {
      g_test_skip ("no shared: the recordings are not there");
      return;
    }
  g_assert_true (g_file_get_contents (file, &text, NULL, NULL));
  doc = dbr_json_doc_new_from_data (text, -1, NULL, NULL);
  g_assert_nonnull (doc);
  for (DbrJson test = dbr_json_first (dbr_json_doc_root (doc)); dbr_json_exists (test);
       test = dbr_json_next (test))
    test_one (&recordings, test);
  close (recordings.to); /* its end */
  close (recordings.from);
  g_spawn_close_pid (recordings.pid);
  g_free (recordings.url);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/recordings", test_recordings);
  return g_test_run ();
}
