/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes through framer, messages and server over the test host. Whatever comes in, every line that
 * goes out is strict JSON without a LF, a JSON-RPC 2.0 object or a batch of them, and no call is
 * left when all were ended.
 */
#include "config.h"

#include "protocol/dbr-framer.h"
#include "protocol/dbr-server.h"
#include "protocol/test-host.h"

#include <stdint.h>
#include <string.h>

#define MAX_LINE_BYTES 16384u

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static void
check_message (DbrJson message)
{
  g_assert_true (dbr_json_type (message) == DBR_JSON_OBJECT);
  g_assert_true (dbr_json_string_equals (dbr_json_get (message, "jsonrpc"), "2.0"));
  g_assert_true (dbr_json_exists (dbr_json_get (message, "method"))
                 || dbr_json_exists (dbr_json_get (message, "result"))
                 || dbr_json_exists (dbr_json_get (message, "error")));
}

static void
on_send (gpointer user_data, GString *line)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DbrJsonDoc) doc
      = dbr_json_doc_new_from_data (line->str, (gssize) line->len, NULL, &error);
  DbrJson root;

  (void) user_data;
  g_assert_no_error (error);
  g_assert_null (memchr (line->str, '\n', line->len));
  root = dbr_json_doc_root (doc);
  if (dbr_json_type (root) == DBR_JSON_ARRAY)
    {
      g_assert_cmpuint (dbr_json_count (root), >, 0);
      for (DbrJson v = dbr_json_first (root); dbr_json_exists (v); v = dbr_json_next (v))
        check_message (v);
    }
  else
    check_message (root);
  g_string_free (line, TRUE);
}

static gboolean
on_is_behind (gpointer user_data)
{
  guint *n_asked = user_data;

  return ++*n_asked % 7 == 0;
}

static void
take_lines (DbrFramer *framer, DbrServer *server)
{
  for (;;)
    {
      g_autoptr (GBytes) line = NULL;
      g_autoptr (GError) error = NULL;
      const DbrFrameStatus status = dbr_framer_take (framer, &line, &error);

      if (status == DBR_FRAME_LINE)
        dbr_server_take_line (server, line);
      else if (status == DBR_FRAME_REFUSED)
        dbr_server_refuse_line (server, error);
      else
        return;
      /* now and then, so that calls pile up as well as end */
      if (line != NULL && g_bytes_get_size (line) % 3 == 0)
        while (g_main_context_iteration (NULL, FALSE))
          continue;
    }
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  const DbrServerOptions options = { .calls = { .max_running = 4, .max_queued = 4 } };
  guint n_asked = (guint) size;
  const DbrSink sink = { on_send, on_is_behind, &n_asked };
  const gsize step = 1 + size % 509;
  DbrToolHost *host = test_host_new ();
  DbrServer *server = dbr_server_new (host, &sink, &options);
  g_autoptr (DbrFramer) framer = dbr_framer_new (MAX_LINE_BYTES);

  for (;;)
    {
      gsize n_space;
      char *space = dbr_framer_space (framer, &n_space);
      const gsize n = MIN (MIN (n_space, step), size);

      memcpy (space, data, n);
      dbr_framer_filled (framer, n);
      take_lines (framer, server);
      dbr_server_resume (server);
      if (n == 0)
        break;
      data += n;
      size -= n;
    }
  dbr_server_end_of_input (server);
  while (g_main_context_iteration (NULL, FALSE))
    continue;
  dbr_server_end_calls (server, "The end.");
  g_assert_cmpuint (dbr_server_in_flight (server), ==, 0);
  g_assert_cmpuint (test_host_n_running (host), ==, 0);
  dbr_server_free (server);
  test_host_free (host);
  return 0;
}
