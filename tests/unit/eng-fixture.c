/* SPDX-License-Identifier: Apache-2.0 */
/* eng-fixture: a watchdog of a minute instead of sleeps. */
#include "config.h"

#include "eng-fixture.h"

#include <string.h>

#define WATCHDOG_S 60

Fixture *
fixture_new (void)
{
  Fixture *self = g_new0 (Fixture, 1);

  self->backend = fake_backend_new ("127.0.0.1");
  g_assert_nonnull (self->backend);
  self->access = dbr_access_table_new ("/api/v2");
  self->mask = dbr_mask_new ();
  self->sign_in = (EngSignIn){
    .path = "/auth/token",
    .body = "{\"username\":\"u\",\"password\":\"" CANARY_PASSWORD "\"}",
    .token_member = "access_token",
    .renew_403 = "Invalid JWT token",
  };
  self->config = (EngConfig){
    .base_url = g_strdup_printf ("http://127.0.0.1:%u", fake_backend_port (self->backend)),
    .base_url_name = "AIRFLOW_API_URL",
    .prefix = "/api/v2",
    .access = self->access,
    .writes = ENG_GATE_OPEN,
    .deletes = ENG_GATE_OPEN,
    .ca_file_name = "AIRFLOW_API_CA_FILE",
    .user_agent = "drawbridge/test",
    .mask = self->mask,
  };
  return self;
}

EngClient *
fixture_client (Fixture *self)
{
  g_autoptr (GError) error = NULL;

  if (self->client == NULL)
    {
      self->client = eng_door ()->client_new (&self->config, &error);
      g_assert_no_error (error);
    }
  return self->client;
}

void
fixture_free (Fixture *self)
{
  if (self->client != NULL)
    eng_door ()->client_free (self->client);
  fake_backend_free (self->backend);
  dbr_access_table_unref (self->access);
  dbr_mask_unref (self->mask);
  g_free ((gpointer) (gsize) self->config.base_url);
  g_free (self);
}

static void
on_done (EngResponse *response, gpointer user_data)
{
  g_ptr_array_add (user_data, response);
}

EngTransfer *
fixture_send (Fixture *self, const EngRequest *request, GPtrArray *out)
{
  guint before = out->len;
  EngTransfer *transfer = eng_door ()->send (fixture_client (self), request, on_done, out);

  g_assert_cmpuint (out->len, ==, before); /* never inside send() */
  return transfer;
}

static gboolean
on_watchdog (gpointer user_data)
{
  (void) user_data;
  g_error ("nothing happened for a minute");
  return G_SOURCE_REMOVE;
}

void
fixture_wait (GPtrArray *out, guint n)
{
  guint watchdog = g_timeout_add_seconds (WATCHDOG_S, on_watchdog, NULL);

  while (out->len < n)
    g_main_context_iteration (NULL, TRUE);
  g_source_remove (watchdog);
}

static gboolean
on_tick (gpointer user_data)
{
  (void) user_data;
  return G_SOURCE_CONTINUE;
}

void
fixture_wait_requests (Fixture *self, guint n)
{
  guint watchdog = g_timeout_add_seconds (WATCHDOG_S, on_watchdog, NULL);
  guint tick = g_timeout_add (1, on_tick, NULL);
  guint seen = 0;

  while (seen < n)
    {
      g_autoptr (GPtrArray) requests = NULL;

      g_main_context_iteration (NULL, TRUE);
      requests = fake_backend_requests (self->backend);
      seen = requests->len;
    }
  g_source_remove (tick);
  g_source_remove (watchdog);
}

EngResponse *
fixture_run (Fixture *self, const EngRequest *request)
{
  g_autoptr (GPtrArray) out = g_ptr_array_new ();

  fixture_send (self, request, out);
  fixture_wait (out, 1);
  return g_ptr_array_index (out, 0);
}

EngResponse *
fixture_get (Fixture *self, const char *path)
{
  const EngRequest request = { .method = "GET", .path = path, .timeout_ms = 20000 };

  return fixture_run (self, &request);
}

EngResponse *
fixture_post (Fixture *self, const char *path, const char *body)
{
  g_autoptr (GBytes) bytes = g_bytes_new (body, strlen (body));
  const EngRequest request = { .method = "POST", .path = path, .body = bytes, .timeout_ms = 20000 };

  return fixture_run (self, &request);
}

void
assert_failed (const EngResponse *response, EngErrorCode code, EngSent sent, const char *part)
{
  g_assert_nonnull (response->error);
  if (!g_error_matches (response->error, ENG_ERROR, (gint) code) || response->sent != sent
      || strstr (response->error->message, part) == NULL)
    g_error ("code %d, sent %d, \"%s\": expected code %d, sent %d, \"%s\"", response->error->code,
             (int) response->sent, response->error->message, (int) code, (int) sent, part);
}

void
assert_answered (const EngResponse *response, guint status, const char *body)
{
  gsize len = 0;
  const char *bytes = response->body != NULL ? g_bytes_get_data (response->body, &len) : "";

  g_assert_no_error (response->error);
  g_assert_cmpint (response->sent, ==, ENG_ANSWERED);
  g_assert_cmpuint (response->status, ==, status);
  if (body != NULL)
    g_assert_cmpmem (bytes, len, body, strlen (body));
}
