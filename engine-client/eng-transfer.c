/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eng-transfer: one request from send() to its one report.
 *
 *   NEW -> [SIGNING_IN] -> [QUEUED] -> RUNNING -> reported
 *            ^                            |
 *            +--- 401, once --------------+---- 429/503: WAITING -> NEW
 *
 * eng_transfer_go() is the only way out for a request, and begins with the barrier. A report is
 * always the last thing a function does, since the callback may free the client.
 */
#include "config.h"

#include "eng-client-priv.h"
#include "eng-policy.h"

#include <string.h>

static void
on_exchange_done (EngExchange *exchange, CURLcode code);

/* ------------------------------------------------------------------ timer */

static gint64
left_us (const EngTransfer *self)
{
  return self->deadline_us - g_get_monotonic_time ();
}

static void
clear_timer (EngTransfer *self)
{
  if (self->timer == NULL)
    return;
  g_source_destroy (self->timer);
  g_clear_pointer (&self->timer, g_source_unref);
}

static gboolean
timer_dispatch (GSource *source, GSourceFunc callback, gpointer user_data)
{
  (void) source;
  return callback (user_data);
}

static void
set_timer (EngTransfer *self, gint64 when_us, GSourceFunc func)
{
  static GSourceFuncs funcs = { NULL, NULL, timer_dispatch, NULL, NULL, NULL };

  clear_timer (self);
  self->timer = g_source_new (&funcs, sizeof (GSource));
  g_source_set_ready_time (self->timer, when_us);
  g_source_set_callback (self->timer, func, self, NULL);
  g_source_attach (self->timer, NULL);
}

/* --------------------------------------------------------------- life time */

static GStrv
dup_headers (const char *const *headers)
{
  GPtrArray *copy;

  if (headers == NULL)
    return NULL;
  copy = g_ptr_array_new ();
  for (; *headers != NULL; headers++)
    g_ptr_array_add (copy, g_strdup (*headers));
  g_ptr_array_add (copy, NULL);
  return (GStrv) g_ptr_array_free (copy, FALSE);
}

EngTransfer *
eng_transfer_new (EngClient *client, const EngRequest *request)
{
  EngTransfer *self = g_new0 (EngTransfer, 1);

  self->client = client;
  self->link.data = self;
  self->wait_link.data = self;
  self->method = g_strdup (request->method);
  self->path = g_strdup (request->path);
  self->query = g_strdup (request->query);
  self->headers = dup_headers (request->headers);
  self->body = request->body != NULL ? g_bytes_ref (request->body) : NULL;
  self->content_type
      = self->body != NULL
            ? g_strdup (request->content_type != NULL ? request->content_type : "application/json")
            : NULL;
  self->accept = g_strdup (request->accept != NULL ? request->accept : "application/json");
  self->tail = request->tail;
  self->is_read = eng_policy_is_read (request->method);
  self->consent = request->consent;
  self->timeout_ms = request->timeout_ms != 0 ? request->timeout_ms : ENG_CLIENT_DEFAULT_TIMEOUT_MS;
  self->start_us = g_get_monotonic_time ();
  self->deadline_us = self->start_us + self->timeout_ms * (gint64) G_TIME_SPAN_MILLISECOND;
  g_queue_push_tail_link (&client->transfers, &self->link);
  return self;
}

static void
leave_queues (EngTransfer *self)
{
  EngClient *client = self->client;

  if (self->state == ENG_STATE_QUEUED)
    g_queue_unlink (&client->queued, &self->wait_link);
  else if (self->state == ENG_STATE_SIGNING_IN)
    g_queue_unlink (&client->unsigned_, &self->wait_link);
  else if (self->state == ENG_STATE_RUNNING)
    client->n_in_flight--;
  self->state = ENG_STATE_NEW;
}

/* Leaves every list; frees nothing. A sign-in that nobody waits for any more ends. */
static void
detach (EngTransfer *self)
{
  EngClient *client = self->client;
  gboolean waited = self->state == ENG_STATE_SIGNING_IN;

  leave_queues (self);
  clear_timer (self);
  if (waited && client->unsigned_.length == 0)
    eng_signer_stop (client->signer);
  g_queue_unlink (&client->transfers, &self->link);
}

static void
release (EngTransfer *self)
{
  eng_exchange_clear (&self->exchange);
  g_clear_error (&self->failure);
  g_clear_pointer (&self->body, g_bytes_unref);
  g_strfreev (self->headers);
  g_free (self->method);
  g_free (self->path);
  g_free (self->query);
  g_free (self->content_type);
  g_free (self->accept);
  g_free (self);
}

void
eng_transfer_free (EngTransfer *self)
{
  detach (self);
  release (self);
}

/* ------------------------------------------------------------------ report */

/* Calls back; self is gone, and perhaps the client. */
static void
report (EngTransfer *self, EngResponse *response)
{
  EngClient *client = self->client;
  EngDone done = self->done;
  gpointer user_data = self->user_data;

  response->attempts = self->attempts;
  response->elapsed_us = g_get_monotonic_time () - self->start_us;
  detach (self);
  release (self);
  eng_client_pump (client);
  done (response, user_data);
}

static EngResponse *
response_new (void)
{
  EngResponse *response = g_new0 (EngResponse, 1);

  response->retry_after_ms = -1;
  return response;
}

static gboolean
on_failure (gpointer user_data)
{
  EngTransfer *self = user_data;
  EngResponse *response = response_new ();

  response->error = g_steal_pointer (&self->failure);
  response->sent = self->failure_sent;
  report (self, response);
  return G_SOURCE_REMOVE;
}

void
eng_transfer_fail (EngTransfer *self, GError *error)
{
  gboolean was_waiting = self->state == ENG_STATE_SIGNING_IN;

  leave_queues (self);
  if (was_waiting && self->client->unsigned_.length == 0)
    eng_signer_stop (self->client->signer);
  self->state = ENG_STATE_FAILED;
  g_clear_error (&self->failure);
  self->failure = error;
  self->failure_sent = ENG_NOT_SENT;
  set_timer (self, 0, on_failure);
}

static gboolean
on_deadline (gpointer user_data)
{
  EngTransfer *self = user_data;
  const char *for_what = self->state == ENG_STATE_SIGNING_IN ? "the sign-in did not end"
                                                             : "no request could be started";

  eng_transfer_fail (self, g_error_new (ENG_ERROR, ENG_ERROR_TIMEOUT, "%s at %s within %u ms",
                                        for_what, self->client->wire->origin, self->timeout_ms));
  return G_SOURCE_REMOVE;
}

/* ---------------------------------------------------------------- the way out */

static void
wait_for_token (EngTransfer *self)
{
  EngClient *client = self->client;
  g_autoptr (GError) error = NULL;

  if (!eng_signer_start (client->signer, &error))
    {
      eng_transfer_fail (self, g_steal_pointer (&error));
      return;
    }
  self->state = ENG_STATE_SIGNING_IN;
  g_queue_push_tail_link (&client->unsigned_, &self->wait_link);
  set_timer (self, self->deadline_us, on_deadline);
}

static void
wait_for_place (EngTransfer *self)
{
  EngClient *client = self->client;

  if (client->queued.length >= ENG_CLIENT_MAX_QUEUED)
    {
      eng_transfer_fail (self, g_error_new (ENG_ERROR, ENG_ERROR_BUSY,
                                            "%u requests to %s wait already: try again later",
                                            ENG_CLIENT_MAX_QUEUED, client->wire->origin));
      return;
    }
  self->state = ENG_STATE_QUEUED;
  g_queue_push_tail_link (&client->queued, &self->wait_link);
  set_timer (self, self->deadline_us, on_deadline);
}

/* Most requests send the same fields: those are made once a token. */
static EngHeaders *
headers_for (EngTransfer *self)
{
  EngClient *client = self->client;
  g_autoptr (EngHeaders) headers = NULL;
  gboolean is_plain = self->headers == NULL && self->body == NULL && self->is_read
                      && g_str_equal (self->accept, "application/json");

  self->generation = eng_signer_generation (client->signer);
  if (is_plain && client->plain_headers != NULL && client->plain_generation == self->generation)
    return eng_headers_ref (client->plain_headers);
  headers = eng_headers_new ();
  eng_headers_add (headers, "Accept", self->accept);
  eng_signer_add_header (client->signer, headers);
  if (!self->is_read || self->body != NULL)
    {
      eng_headers_add (headers, "Content-Type", self->content_type); /* NULL: none at all */
      eng_headers_add (headers, "Expect", NULL);
    }
  for (guint i = 0; self->headers != NULL && self->headers[i] != NULL; i += 2)
    eng_headers_add (headers, self->headers[i], self->headers[i + 1]);
  if (is_plain)
    {
      g_clear_pointer (&client->plain_headers, eng_headers_unref);
      client->plain_headers = eng_headers_ref (headers);
      client->plain_generation = self->generation;
    }
  return g_steal_pointer (&headers);
}

static gboolean
start (EngTransfer *self, const char *path, GError **error)
{
  EngClient *client = self->client;
  const DbrUrl *base = client->wire->url;
  g_autoptr (EngHeaders) headers = headers_for (self);
  gboolean has_query = self->query != NULL && self->query[0] != '\0';
  g_autofree char *url = g_strconcat (base->origin, base->base_path, path, has_query ? "?" : "",
                                      has_query ? self->query : "", NULL);
  EngAsk ask = {
    .method = self->method,
    .url = url,
    .headers = headers,
    .body = self->body,
    .is_read = self->is_read,
    .limit_ms = self->timeout_ms,
    .timeout_ms = (guint) MAX ((left_us (self) + 999) / 1000, 1),
    .max_body_bytes = client->max_body_bytes,
    .tail = self->tail,
  };

  return eng_exchange_start (&self->exchange, client->wire, &ask, on_exchange_done, error);
}

void
eng_transfer_go (EngTransfer *self)
{
  EngClient *client = self->client;
  g_autoptr (GError) error = NULL;
  g_autofree char *path = NULL;

  leave_queues (self);
  clear_timer (self);
  path = eng_barrier_pass (client, self, &error);
  if (path == NULL)
    eng_transfer_fail (self, g_steal_pointer (&error));
  else if (left_us (self) <= 0)
    on_deadline (self);
  else if (eng_signer_needs_token (client->signer))
    wait_for_token (self);
  else if (client->n_in_flight >= client->max_in_flight)
    wait_for_place (self);
  else if (!start (self, path, &error))
    {
      eng_exchange_clear (&self->exchange);
      eng_transfer_fail (self, g_steal_pointer (&error));
    }
  else
    {
      self->state = ENG_STATE_RUNNING;
      self->attempts++;
      client->n_in_flight++;
    }
}

/* ---------------------------------------------------------------- the answer */

static gint64
retry_after_ms (const EngTransfer *self)
{
  const char *value = eng_reader_header (&self->exchange.reader, "retry-after");

  return value == NULL ? -1 : eng_policy_retry_after (value, g_get_real_time () / G_USEC_PER_SEC);
}

static gboolean
on_wait_over (gpointer user_data)
{
  eng_transfer_go (user_data);
  return G_SOURCE_REMOVE;
}

/* Sends again when that is right. FALSE: this answer is the answer. */
static gboolean
try_again (EngTransfer *self)
{
  EngClient *client = self->client;
  EngSituation situation = {
    .is_read = self->is_read,
    .status = self->exchange.reader.status,
    .retry_after_ms = retry_after_ms (self),
    .n_waits = self->n_waits,
    .can_renew = !self->is_renewed && eng_signer_can_renew (client->signer),
    .names_token = eng_signer_is_named_by (client->signer, &self->exchange.reader),
    .left_ms = left_us (self) / 1000,
  };
  guint wait_ms;
  EngNext next = eng_policy_next (&situation, &wait_ms);

  if (next == ENG_NEXT_FINISH)
    return FALSE;
  eng_exchange_clear (&self->exchange);
  leave_queues (self);
  if (next == ENG_NEXT_SIGN_IN)
    {
      self->is_renewed = TRUE;
      eng_signer_refuse (client->signer, self->generation);
      eng_transfer_go (self);
    }
  else
    {
      self->n_waits++;
      self->state = ENG_STATE_WAITING;
      set_timer (self, g_get_monotonic_time () + wait_ms * (gint64) G_TIME_SPAN_MILLISECOND,
                 on_wait_over);
    }
  eng_client_pump (client);
  return TRUE;
}

/* A tail that the deadline cut is an answer. */
static gboolean
is_cut_tail (const EngTransfer *self, CURLcode code)
{
  return code == CURLE_OPERATION_TIMEDOUT && self->tail != NULL && self->exchange.reader.is_complete
         && (self->exchange.reader.tail_reader != NULL || self->exchange.reader.body == NULL)
         && self->exchange.reader.status >= 200 && self->exchange.reader.status < 300;
}

static void
fill_location (EngTransfer *self, EngResponse *response)
{
  const char *location = eng_reader_header (&self->exchange.reader, "location");

  if (location != NULL && self->exchange.reader.status >= 300 && self->exchange.reader.status < 400)
    response->location_origin = dbr_url_origin (location, self->client->wire->url);
}

static void
on_exchange_done (EngExchange *exchange, CURLcode code)
{
  EngTransfer *self = (EngTransfer *) ((char *) exchange - G_STRUCT_OFFSET (EngTransfer, exchange));
  gboolean failed = exchange->reader.error != NULL || code != CURLE_OK;
  EngResponse *response;

  if (!failed && try_again (self))
    return;
  response = response_new ();
  response->sent = eng_exchange_sent (exchange);
  response->retry_after_ms = retry_after_ms (self);
  fill_location (self, response);
  if (failed && !is_cut_tail (self, code))
    response->error = eng_exchange_error (exchange, code);
  eng_reader_take (&exchange->reader, response, !failed,
                   response->error == NULL ? &response->error : NULL);
  report (self, response);
}
