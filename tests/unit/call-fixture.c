/* SPDX-License-Identifier: Apache-2.0 */
/* call-fixture: see the header. */
#include "config.h"

#include "call-fixture.h"

#include <string.h>

void
call_fixture_set_up (CallFixture *f, gconstpointer flags)
{
  const char *words = flags ? flags : "";
  g_auto (GStrv) environment = NULL;
  g_autofree char *url = NULL;
  DbrHostOptions how = { 0 };

  environment = g_environ_setenv (environment, "SHOP_WRITES",
                                  strstr (words, "writes=ask") ? "ask"
                                  : strstr (words, "writes")   ? "1"
                                                               : "0",
                                  TRUE);
  environment
      = g_environ_setenv (environment, "SHOP_DELETES", strstr (words, "deletes") ? "1" : "0", TRUE);
  f->backend = fake_backend_new ("127.0.0.1");
  url = g_strdup_printf ("http://127.0.0.1:%u", fake_backend_port (f->backend));
  how.backend.base_url = url;
  how.backend.timeout_ms = strstr (words, "short") ? 300 : 0;
  how.backend.environment = environment;
  f->host = open_host ("tests/data/call/shop.xml", &how);
  f->loop = g_main_loop_new (NULL, FALSE);
}

void
call_fixture_tear_down (CallFixture *f, gconstpointer flags)
{
  (void) flags;
  dbr_host_free (f->host);
  g_clear_pointer (&f->result, dbr_call_result_free);
  g_main_loop_unref (f->loop);
  g_free (f->asked);
  fake_backend_free (f->backend);
}

static void
on_progress (gpointer user_data, double progress, double total, const char *message)
{
  CallFixture *f = user_data;

  (void) total;
  (void) message;
  g_assert_cmpfloat (progress, >, f->n_progress);
  f->n_progress++;
}

static gboolean
give_answer (gpointer user_data)
{
  CallFixture *f = user_data;
  f->host->answered (f->host, f->call, f->outcome);
  return G_SOURCE_REMOVE;
}

static void
on_ask (gpointer user_data, const char *message, json_t *schema)
{
  CallFixture *f = user_data;

  g_assert_nonnull (schema);
  f->n_asked++;
  g_free (f->asked);
  f->asked = g_strdup (message);
  g_idle_add (give_answer, f);
}

static void
on_done (gpointer user_data, DbrCallResult *result)
{
  CallFixture *f = user_data;

  g_clear_pointer (&f->result, dbr_call_result_free);
  f->result = result;
  g_main_loop_quit (f->loop);
}

const DbrCallEvents call_fixture_events = { on_progress, on_ask, on_done };

static gboolean
too_long (gpointer user_data)
{
  (void) user_data;
  g_error ("no answer within a minute");
  return G_SOURCE_REMOVE;
}

void
call_fixture_run_request (CallFixture *f, DbrCallRequest *request, const char *arguments)
{
  g_autoptr (DbrJsonDoc) doc = dbr_json_doc_new_from_data (arguments, -1, NULL, NULL);
  guint watchdog = g_timeout_add_seconds (60, too_long, NULL);

  request->arguments = dbr_json_doc_root (doc);
  f->n_progress = 0;
  g_clear_pointer (&f->result, dbr_call_result_free);
  f->call = f->host->call (f->host, request, &call_fixture_events, f);
  g_assert_null (f->result); /* nothing is called back from inside call() */
  g_main_loop_run (f->loop);
  g_source_remove (watchdog);
}

void
call_fixture_run_asking (CallFixture *f, const char *tool, const char *arguments, DbrAsking asking)
{
  DbrCallRequest request = { 0 };

  request.tool = tool;
  request.asking = asking;
  request.wants_progress = TRUE;
  call_fixture_run_request (f, &request, arguments);
}

void
call_fixture_run (CallFixture *f, const char *tool, const char *arguments)
{
  call_fixture_run_asking (f, tool, arguments, DBR_ASKING_IMPOSSIBLE);
}

void
call_fixture_script (
    CallFixture *f, const char *method, const char *path, guint status, const char *body)
{
  FakeAnswer answer = { 0 };

  answer.status = status;
  answer.headers = "Content-Type: application/json\r\n";
  answer.body = body;
  fake_backend_script (f->backend, method, path, &answer);
}

void
call_fixture_assert_text (const CallFixture *f, gboolean is_error, const char *text)
{
  g_assert_cmpstr (f->result->text, ==, text);
  g_assert_cmpint (f->result->is_error, ==, is_error);
}

void
call_fixture_assert_says (const CallFixture *f, gboolean is_error, const char *part)
{
  if (strstr (f->result->text, part) == NULL)
    g_test_message ("got: %s", f->result->text);
  g_assert_nonnull (strstr (f->result->text, part));
  g_assert_cmpint (f->result->is_error, ==, is_error);
}

void
call_fixture_assert_silence (CallFixture *f)
{
  g_autoptr (GPtrArray) requests = fake_backend_requests (f->backend);
  g_assert_cmpuint (requests->len, ==, 0);
}
