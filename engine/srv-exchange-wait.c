/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-exchange-wait: long polls, and the event stream, which is one long poll after the other: the
 * next begins when the client has taken what the last one brought.
 */
#include "config.h"

#include "srv-exchange-priv.h"
#include "srv-http.h"

#include <stdlib.h>
#include <string.h>

static gboolean
is_alive (gpointer user_data)
{
  SrvExchange *self = user_data;

  return self->link && !srv_link_is_gone (self->link);
}

/* What became of the token while it waited is told as a new request would be. (transfer full) */
static SrvReply *
as_fresh (SrvExchange *self, SrvReply *reply)
{
  SrvActor actor;
  SrvReply *fresh
      = reply->status == 401
            ? srv_auth_check (self->context->engine, self->authorization, &self->route, &actor)
            : NULL;

  if (!fresh)
    return reply;
  srv_reply_free (reply);
  return fresh;
}

static void
on_poll_done (SrvReply *reply, gpointer user_data)
{
  SrvExchange *self = user_data;

  self->poll = NULL;
  reply = as_fresh (self, reply);
  srv_exchange_answer (self, reply);
}

/* The seconds that the client would wait. */
static gint64
wait_asked (const SrvExchange *self)
{
  const char *text = srv_route_get (&self->route, "wait");
  DbrJson member = dbr_json_get (self->request.body, "wait");
  gint64 seconds = SRV_ROUTE_MAX_WAIT_S;

  if (self->route.operation == SRV_OP_JOB_CLAIM)
    /* What is not an integer of the range the engine refuses. */
    return dbr_json_exists (member) && !dbr_json_int64 (member, &seconds) ? 0
                                                                          : CLAMP (seconds, 0, 30);
  return text ? g_ascii_strtoll (text, NULL, 10) : seconds;
}

static gboolean
wants_stream (SrvExchange *self)
{
  const char *accept = soup_message_headers_get_list (
      soup_server_message_get_request_headers (self->msg), "Accept");
  g_autofree char *lower = accept ? g_ascii_strdown (accept, -1) : NULL;

  return lower && strstr (lower, "text/event-stream");
}

/* The stream's own query: the client's filter, and from where on. */
static void
stream_query (SrvExchange *self)
{
  static const char *const filters[] = { "project", "repo_url" };
  guint n = 0;

  g_snprintf (self->after_text, sizeof self->after_text, "%" G_GINT64_FORMAT, self->after);
  self->query[n++] = "after";
  self->query[n++] = self->after_text;
  for (guint i = 0; i < G_N_ELEMENTS (filters); i++)
    for (guint q = 0; self->route.query[q]; q += 2)
      if (strcmp (self->route.query[q], filters[i]) == 0)
        {
          self->query[n++] = self->route.query[q];
          self->query[n++] = self->route.query[q + 1];
        }
  self->query[n] = NULL;
  self->request.query = self->query;
}

/* Takes the text's bytes to the client; the next come when these are written. */
static void
stream_send (SrvExchange *self, char *text)
{
  soup_message_body_append_take (soup_server_message_get_response_body (self->msg), (guchar *) text,
                                 strlen (text));
  srv_link_set_phase (self->link, SRV_LINK_WRITING, self->context->answer_s);
  soup_server_message_unpause (self->msg);
}

static void
stream_begin (SrvExchange *self)
{
  SoupMessageHeaders *headers = soup_server_message_get_response_headers (self->msg);
  gboolean is_old = soup_server_message_get_http_version (self->msg) == SOUP_HTTP_1_0;

  self->is_stream = TRUE;
  soup_server_message_set_status (self->msg, 200, NULL);
  srv_exchange_set_body (self, NULL, NULL);
  soup_message_headers_replace (headers, "Content-Type", "text/event-stream");
  soup_message_headers_replace (headers, "Cache-Control", "no-store");
  soup_message_headers_set_encoding (headers, is_old ? SOUP_ENCODING_EOF : SOUP_ENCODING_CHUNKED);
  soup_message_body_set_accumulate (soup_server_message_get_response_body (self->msg), FALSE);
}

static void
stream_end (SrvExchange *self, SrvReply *refusal)
{
  char *data = json_dumps (refusal->body, JSON_COMPACT);
  char *text = g_strdup_printf ("event: end\ndata: %s\n\n", data);

  free (data);
  srv_reply_free (refusal);
  self->is_stream = FALSE;
  stream_send (self, text);
  soup_message_body_complete (soup_server_message_get_response_body (self->msg));
}

static void
on_stream_done (SrvReply *reply, gpointer user_data)
{
  SrvExchange *self = user_data;
  char *text;

  self->poll = NULL;
  reply = as_fresh (self, reply);
  if (reply->status != 200 && !self->is_stream)
    {
      srv_exchange_answer (self, reply);
      return;
    }
  if (reply->status != 200)
    {
      stream_end (self, reply);
      return;
    }
  if (!self->is_stream)
    {
      stream_begin (self);
      self->is_paused = FALSE;
    }
  text = srv_poll_stream_text (reply->body, &self->after);
  srv_reply_free (reply);
  stream_send (self, text);
}

static void
stream_next (SrvExchange *self)
{
  SrvActor actor;
  SrvReply *refusal
      = srv_auth_check (self->context->engine, self->authorization, &self->route, &actor);

  srv_link_set_phase (self->link, SRV_LINK_WORKING, 0);
  if (refusal)
    {
      if (self->is_stream)
        stream_end (self, refusal);
      else
        srv_exchange_answer (self, refusal);
      return;
    }
  stream_query (self);
  self->poll
      = srv_polls_add (self->context->polls, &self->request,
                       self->is_stream ? SRV_HTTP_STREAM_S : 0, is_alive, on_stream_done, self);
}

static void
on_wrote_chunk (SoupServerMessage *msg, SrvExchange *self)
{
  (void) msg;
  if (self->is_stream && !self->poll)
    stream_next (self);
}

void
srv_exchange_wait (SrvExchange *self)
{
  guint seconds;

  srv_exchange_pause (self);
  if (self->route.operation == SRV_OP_EVENTS && wants_stream (self))
    {
      const char *last = soup_message_headers_get_one (
          soup_server_message_get_request_headers (self->msg), "Last-Event-ID");
      const char *after = srv_route_get (&self->route, "after");

      /* A browser that connects again says where it was. */
      self->after = g_ascii_strtoll (last ? last : after ? after : "0", NULL, 10);
      self->after = MAX (self->after, 0);
      g_signal_connect (self->msg, "wrote-chunk", G_CALLBACK (on_wrote_chunk), self);
      stream_next (self);
      return;
    }
  seconds = MIN ((guint) wait_asked (self), self->context->max_wait_s);
  self->poll
      = srv_polls_add (self->context->polls, &self->request, seconds, is_alive, on_poll_done, self);
}
