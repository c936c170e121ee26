/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "srv-exchange-priv.h"

#include "srv-http.h"
#include "srv-input.h"
#include "srv-openapi.h"

#include <stdlib.h>
#include <string.h>

#define PROBLEM "application/problem+json"

static SrvExchange *
exchange_ref (SrvExchange *self)
{
  self->n_refs++;
  return self;
}

static void
exchange_unref (SrvExchange *self)
{
  if (--self->n_refs > 0)
    return;
  srv_route_clear (&self->route);
  g_free (self->actor_name);
  g_free (self->authorization);
  g_free (self->if_match);
  g_free (self->idempotency_key);
  g_clear_pointer (&self->refusal, srv_reply_free);
  g_byte_array_unref (self->body);
  g_clear_pointer (&self->doc, dbr_json_doc_unref);
  g_free (self);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SrvExchange, exchange_unref)

void
srv_exchange_drop (SrvExchange *self)
{
  if (self->link)
    srv_link_set_data (self->link, NULL);
  if (self->msg)
    g_signal_handlers_disconnect_by_data (self->msg, self);
  g_clear_pointer (&self->poll, srv_poll_cancel);
  g_clear_object (&self->msg);
  g_clear_object (&self->link);
  exchange_unref (self);
}

gboolean
srv_exchange_is_waiting (const SrvExchange *self)
{
  return self->poll != NULL || self->is_stream;
}

/* ------------------------------------------------------------------ answering */

char *
srv_exchange_words (SrvReply *reply)
{
  char *body = json_dumps (reply->body, JSON_COMPACT);
  char *words = g_strdup_printf (
      "HTTP/1.1 %u %s\r\nContent-Type: " PROBLEM
      "\r\nContent-Length: %zu\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n%s",
      reply->status, soup_status_get_phrase (reply->status), strlen (body), body);

  free (body);
  srv_reply_free (reply);
  return words;
}

void
srv_exchange_cut (SrvExchange *self, SrvReply *reply)
{
  g_autoptr (SrvExchange) alive = exchange_ref (self);
  g_autoptr (SrvLink) link = g_object_ref (self->link);
  g_autoptr (SoupServerMessage) msg = g_object_ref (self->msg);
  g_autoptr (GIOStream) stream = NULL;

  srv_exchange_drop (self);
  stream = soup_server_message_steal_connection (msg);
  srv_link_leave (link, reply ? srv_exchange_words (reply) : NULL);
}

void
srv_exchange_evict (SrvExchange *self)
{
  g_autoptr (SrvLink) link = g_object_ref (self->link);
  g_autoptr (SoupServerMessage) msg = g_object_ref (self->msg);
  g_autoptr (GIOStream) stream = NULL;

  srv_exchange_drop (self);
  stream = soup_server_message_steal_connection (msg);
  srv_link_drop (link, srv_exchange_words (srv_reply_problem (
                           503, "too_many_connections",
                           "The engine has as many connections as it takes.", NULL)));
}

static void
headers_add (SrvExchange *self, const SrvReply *reply)
{
  SoupMessageHeaders *headers = soup_server_message_get_response_headers (self->msg);

  soup_message_headers_replace (headers, "Cache-Control", "no-store");
  if (reply->etag)
    {
      g_autofree char *tag = g_strdup_printf ("\"%s\"", reply->etag);

      soup_message_headers_replace (headers, "ETag", tag);
    }
  if (reply->location)
    soup_message_headers_replace (headers, "Location", reply->location);
  if (reply->status == 401)
    soup_message_headers_replace (headers, "WWW-Authenticate", "Bearer");
  if (reply->status == 503)
    soup_message_headers_replace (headers, "Retry-After", "1");
  if (reply->status == 405)
    {
      g_autofree char *allow
          = srv_route_allow (g_uri_get_path (soup_server_message_get_uri (self->msg)));

      soup_message_headers_replace (headers, "Allow", allow);
    }
}

void
srv_exchange_set_body (SrvExchange *self, const char *type, const char *text)
{
  soup_message_body_truncate (soup_server_message_get_response_body (self->msg));
  soup_message_headers_remove (soup_server_message_get_response_headers (self->msg),
                               "Content-Type");
  if (text)
    soup_server_message_set_response (self->msg, type, SOUP_MEMORY_COPY, text, strlen (text));
}

static void
message_resume (SrvExchange *self)
{
  srv_link_set_phase (self->link, SRV_LINK_WRITING, self->context->answer_s);
  if (!self->is_paused)
    return;
  self->is_paused = FALSE;
  soup_server_message_unpause (self->msg);
}

/* Takes @reply. */
void
srv_exchange_answer (SrvExchange *self, SrvReply *reply)
{
  char *text = NULL;

  if (!self->msg)
    {
      srv_reply_free (reply);
      return;
    }
  if (reply->body)
    text = json_dumps (reply->body, JSON_COMPACT);
  soup_server_message_set_status (self->msg, reply->status, NULL);
  headers_add (self, reply);
  srv_exchange_set_body (self, reply->status >= 400 ? PROBLEM : "application/json", text);
  free (text);
  srv_reply_free (reply);
  message_resume (self);
}

static void
on_engine_done (SrvReply *reply, gpointer user_data)
{
  g_autoptr (SrvExchange) self = user_data;

  srv_exchange_answer (self, reply);
}

void
srv_exchange_pause (SrvExchange *self)
{
  srv_link_set_phase (self->link, SRV_LINK_WORKING, 0);
  self->is_paused = TRUE;
  soup_server_message_pause (self->msg);
}

/* -------------------------------------------------------------------- reading */

static gboolean
takes_body (const SrvExchange *self)
{
  return strcmp (srv_operations[self->route.operation].method, "GET") != 0;
}

static SrvReply *
headers_check (SrvExchange *self, SoupMessageHeaders *headers)
{
  const char *match = soup_message_headers_get_list (headers, "If-Match");
  const char *key = soup_message_headers_get_list (headers, "Idempotency-Key");
  const char *type = soup_message_headers_get_list (headers, "Content-Type");
  gboolean has_body = soup_message_headers_get_content_length (headers) > 0;

  if (has_body && !takes_body (self))
    return srv_reply_problem (400, "body_unexpected", "A GET takes no body here.", NULL);
  if ((has_body || type) && takes_body (self) && !srv_input_type_is_json (type))
    return srv_reply_problem (415, "media_type", "The body must be application/json.", NULL);
  if (match && !(self->if_match = srv_input_if_match (match)))
    return srv_reply_problem (400, "if_match_invalid",
                              "If-Match takes one version in quotes: If-Match: \"3\".", NULL);
  if (key && !srv_input_key_is_good (key))
    return srv_reply_problem (400, "idempotency_key_invalid",
                              "Idempotency-Key takes 1 to 200 visible ASCII characters.", NULL);
  self->idempotency_key = g_strdup (key);
  return NULL;
}

static guint
share_of (SrvRole role)
{
  return role == SRV_ROLE_FOREMAN  ? SRV_HTTP_FOREMAN_LINKS
         : role == SRV_ROLE_WORKER ? SRV_HTTP_WORKER_LINKS
                                   : G_MAXUINT;
}

/* The link is its token's from now on, unless that has as many as it may. */
static SrvReply *
link_own (SrvExchange *self)
{
  guint n = 0;
  GHashTableIter iter;
  gpointer link;

  if (!self->actor.token || srv_link_owner (self->link) == self->actor.token)
    return NULL;
  g_hash_table_iter_init (&iter, self->context->links);
  while (g_hash_table_iter_next (&iter, &link, NULL))
    n += srv_link_owner (link) == self->actor.token;
  if (n >= share_of (self->actor.role))
    return srv_reply_problem (503, "too_many_connections",
                              "This token has as many connections as one may have.", NULL);
  srv_link_set_owner (self->link, self->actor.token);
  return NULL;
}

/* The refusal that the head alone deserves; NULL: none. */
static SrvReply *
head_check (SrvExchange *self)
{
  SoupMessageHeaders *headers = soup_server_message_get_request_headers (self->msg);
  GUri *uri = soup_server_message_get_uri (self->msg);
  SrvReply *refusal;

  self->authorization = g_strdup (soup_message_headers_get_list (headers, "Authorization"));
  refusal = srv_route_find (soup_server_message_get_method (self->msg), g_uri_get_path (uri),
                            &self->route);
  if (!refusal)
    refusal
        = srv_auth_check (self->context->engine, self->authorization, &self->route, &self->actor);
  if (!refusal)
    refusal = link_own (self);
  if (!refusal)
    refusal = srv_route_query (&self->route, g_uri_get_query (uri));
  /* A foreman's project in the query. */
  if (!refusal && self->actor.role)
    refusal = srv_auth_judge (&self->actor, &self->route);
  if (!refusal)
    refusal = headers_check (self, headers);
  self->actor_name = g_strdup (self->actor.name);
  self->actor.name = self->actor_name;
  return refusal;
}

/* Why a body can't even be read; NULL: it can. */
static SrvReply *
length_check (SoupMessageHeaders *headers)
{
  const char *length = soup_message_headers_get_list (headers, "Content-Length");
  gint64 n_bytes = 0;

  /* Two ways to find the end of one request would be one too many. */
  if (soup_message_headers_get_list (headers, "Transfer-Encoding"))
    return srv_reply_problem (411, "length_required",
                              "A body comes with its Content-Length here, not in chunks.", NULL);
  if (!length)
    return NULL;
  if (strspn (length, "0123456789") != strlen (length)
      || !g_ascii_string_to_signed (length, 10, 0, G_MAXINT64, &n_bytes, NULL))
    return srv_reply_problem (400, "bad_request", "Content-Length is not a number of bytes.", NULL);
  if (n_bytes > SRV_INPUT_MAX_BYTES)
    return srv_reply_problem (413, "body_too_large", "A body has at most 1,048,576 bytes.", NULL);
  return NULL;
}

static void
on_got_headers (SoupServerMessage *msg, SrvExchange *self)
{
  SoupMessageHeaders *headers = soup_server_message_get_request_headers (msg);
  g_autoptr (SrvReply) unreadable = NULL;

  srv_link_set_last_words (self->link, NULL);
  /* What libsoup refuses itself has the answer of srv_exchange_new(). */
  if (soup_server_message_get_status (msg) != 0)
    return;
  self->refusal = head_check (self);
  unreadable = length_check (headers);
  if (unreadable)
    {
      srv_exchange_cut (self, self->refusal ? g_steal_pointer (&self->refusal)
                                            : g_steal_pointer (&unreadable));
      return;
    }
  if (soup_message_headers_get_expectations (headers) & SOUP_EXPECTATION_CONTINUE)
    {
      srv_exchange_set_body (self, NULL, NULL);
      if (self->refusal)
        srv_exchange_cut (self, g_steal_pointer (&self->refusal));
    }
}

/* Never more than Content-Length said, and that was checked. */
static void
on_got_chunk (SoupServerMessage *msg, GBytes *chunk, SrvExchange *self)
{
  gsize size;
  const guint8 *data = g_bytes_get_data (chunk, &size);

  (void) msg;
  g_byte_array_append (self->body, data, (guint) size);
}

SrvExchange *
srv_exchange_new (const SrvExchangeContext *context, SrvLink *link, SoupServerMessage *msg)
{
  SrvExchange *self = g_new0 (SrvExchange, 1);
  SrvReply *reply = srv_reply_problem (400, "bad_request",
                                       "This is not a request of HTTP/1.1 as it must be.", NULL);
  char *text;

  self->n_refs = 1;
  self->context = context;
  self->link = g_object_ref (link);
  self->msg = g_object_ref (msg);
  self->body = g_byte_array_new ();
  srv_link_set_data (link, self);
  srv_link_set_phase (link, SRV_LINK_READING, context->request_s);
  srv_link_set_last_words (
      link, srv_exchange_words (srv_reply_problem (431, "head_too_large",
                                                   "A request's head has at most 64 KiB.", NULL)));
  /* libsoup answers what it can't read by itself, with 400 or 501 and whatever body is set; the
   * status is therefore not said again in it. */
  json_object_del (reply->body, "status");
  text = json_dumps (reply->body, JSON_COMPACT);
  srv_exchange_set_body (self, PROBLEM, text);
  free (text);
  srv_reply_free (reply);
  soup_message_body_set_accumulate (soup_server_message_get_request_body (msg), FALSE);
  g_signal_connect (msg, "got-headers", G_CALLBACK (on_got_headers), self);
  g_signal_connect (msg, "got-chunk", G_CALLBACK (on_got_chunk), self);
  return self;
}

/* -------------------------------------------------------------------- running */

static void
request_fill (SrvExchange *self)
{
  self->request = (SrvRequest){
    .operation = self->route.operation,
    .actor = self->actor,
    .id = self->route.id,
    .project_ref = self->route.project_ref,
    .query = (const char *const *) self->route.query,
    .body = self->doc ? dbr_json_doc_root (self->doc) : DBR_JSON_NONE,
    .if_match = self->if_match,
    .idempotency_key = self->idempotency_key,
  };
}

static SrvReply *
health (void)
{
  SrvReply *reply = g_new0 (SrvReply, 1);

  reply->status = 200;
  reply->body = json_pack ("{s:s, s:s}", "status", "ok", "version", PACKAGE_VERSION);
  return reply;
}

static SrvReply *
body_read (SrvExchange *self)
{
  g_autoptr (GBytes) bytes = NULL;

  if (self->body->len == 0)
    return NULL;
  bytes = g_byte_array_free_to_bytes (g_steal_pointer (&self->body));
  self->body = g_byte_array_new ();
  return srv_input_parse (bytes, &self->doc);
}

static void
openapi_answer (SrvExchange *self)
{
  soup_server_message_set_status (self->msg, 200, NULL);
  srv_exchange_set_body (self, "application/json", srv_openapi);
  message_resume (self);
}

void
srv_exchange_run (SrvExchange *self)
{
  SrvReply *refusal = g_steal_pointer (&self->refusal);

  if (!refusal)
    refusal = body_read (self);
  if (refusal)
    {
      srv_exchange_answer (self, refusal);
      return;
    }
  request_fill (self);
  if (self->route.operation == SRV_OP_OPENAPI)
    openapi_answer (self);
  else if (self->route.operation == SRV_OP_HEALTH)
    srv_exchange_answer (self, health ());
  else if (srv_operations[self->route.operation].kind == SRV_READ)
    srv_exchange_answer (self, srv_engine_read (self->context->engine, &self->request));
  else if (srv_operations[self->route.operation].kind == SRV_WAIT)
    srv_exchange_wait (self);
  else
    {
      srv_exchange_pause (self);
      srv_engine_write (self->context->engine, &self->request, on_engine_done, exchange_ref (self));
    }
}
