/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The real protocol over a small host. Bounds come from the environment, so that a test of a limit
 * needn't wait for the limit that people get.
 */
#include "config.h"

#include "protocol/dbr-stdio.h"
#include "test-host.h"

static guint
env_number (const char *name)
{
  const char *text = g_getenv (name);

  return text != NULL ? (guint) g_ascii_strtoull (text, NULL, 10) : 0;
}

int
main (void)
{
  DbrToolHost *host = test_host_new ();
  const DbrStdioOptions options = {
    .max_line_bytes = env_number ("ECHO_MAX_LINE_BYTES"),
    .max_output_bytes = env_number ("ECHO_MAX_OUTPUT_BYTES"),
    .drain_ms = env_number ("ECHO_DRAIN_MS"),
    .server = {
      .calls = {
        .max_running = env_number ("ECHO_MAX_RUNNING"),
        .max_queued = env_number ("ECHO_MAX_QUEUED"),
      },
      .elicit = {
        .limit_ms = env_number ("ECHO_ASK_MS"),
        .limit_progress_ms = env_number ("ECHO_ASK_PROGRESS_MS"),
        .progress_every_ms = env_number ("ECHO_ASK_EVERY_MS"),
      },
    },
  };
  int status;

  status = dbr_stdio_serve (host, &options);
  test_host_free (host);
  return status;
}
