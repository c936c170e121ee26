/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-client: each request is one object that goes from try to try until it has its answer or its
 * patience is over. libsoup's session keeps the connection; it unpacks nothing, since nothing packed is asked
 * for, and of an answer that is too long no more is read than shows that.
 */
#include "config.h"

#include "srv-client.h"

#include "dbr-text.h"
#include "dbr-url.h"

#include <gio/gunixsocketaddress.h>
#include <glib/gi18n.h>
#include <libsoup/soup.h>
#include <string.h>

G_DEFINE_QUARK (srv_client_error, srv_client_error)

#define FIRST_PAUSE_MS 50u
#define MAX_PAUSE_MS 5000u
#define PIECE_BYTES 65536u
#define MAX_SOCKET 107 /* bytes of sockaddr_un.sun_path, without its NUL */

struct _SrvClient
{
  SoupSession *session;
  char *base;
  char *name; /* for people */
  char *token;
  SrvClientTrouble trouble; /* nullable */
  gpointer trouble_data;
  gboolean in_trouble;
  GQueue calls; /* Call, under way */
};

typedef struct
{
  SrvClient *client;
  GList link;
  GCancellable *cancel;
  char *path;
  GBytes *body;
  char *key;
  gint64 until; /* monotonic */
  guint pause_ms;
  guint pause_source;
  SoupMessage *message;
  GInputStream *stream; /* of the answer */
  GByteArray *answer;
  guint limit_source; /* of this try */
  SrvClientDone done;
  gpointer user_data;
} Call;

/* -------------------------------------------------------------------------------------- calls */
static void
end_try (Call *self)
{
  if (self->limit_source != 0)
    g_source_remove (self->limit_source);
  self->limit_source = 0;
  g_clear_object (&self->stream);
  g_clear_object (&self->message);
  g_clear_object (&self->cancel);
  g_clear_pointer (&self->answer, g_byte_array_unref);
}

static void
call_free (Call *self)
{
  if (self->client != NULL)
    g_queue_unlink (&self->client->calls, &self->link);
  if (self->pause_source != 0)
    g_source_remove (self->pause_source);
  end_try (self);
  g_bytes_unref (self->body);
  g_free (self->key);
  g_free (self->path);
  g_free (self);
}

static void
finish (Call *self, guint status, DbrJson body, const GError *error)
{
  SrvClientDone done = self->done;
  gpointer user_data = self->user_data;
  call_free (self);
  done (status, body, error, user_data);
}

static void
try_call (Call *self);

static gboolean
on_pause_over (gpointer user_data)
{
  Call *self = user_data;
  self->pause_source = 0;
  try_call (self);
  return G_SOURCE_REMOVE;
}

/* TRUE: another try comes. */
static gboolean
try_later (Call *self)
{
  if (g_get_monotonic_time () + (gint64) self->pause_ms * 1000 >= self->until)
    return FALSE;
  self->pause_source = g_timeout_add (self->pause_ms, on_pause_over, self);
  self->pause_ms = MIN (self->pause_ms * 2, MAX_PAUSE_MS);
  return TRUE;
}

static void
tell_trouble (SrvClient *self, const char *problem)
{
  gboolean was = self->in_trouble;
  self->in_trouble = problem != NULL;
  if (self->trouble != NULL && (was || problem != NULL))
    self->trouble (problem, self->trouble_data);
}

static void
finish_strange (Call *self, const char *words)
{
  g_autofree char *text = srv_client_strange (self->client, words);
  g_autoptr (GError) error = g_error_new_literal (SRV_CLIENT_ERROR, SRV_CLIENT_ERROR_ANSWER, text);
  tell_trouble (self->client, NULL);
  finish (self, 0, DBR_JSON_NONE, error);
}

static void
handle_answer (Call *self, guint status, GBytes *bytes)
{
  g_autoptr (DbrJsonDoc) doc = NULL;
  if (status == 503 && try_later (self))
    {
      g_autofree char *problem = g_strdup_printf (
          _ ("the engine at %s can't serve now (status 503)"), self->client->name);
      tell_trouble (self->client, problem);
      return;
    }
  if (g_bytes_get_size (bytes) > 0 && (doc = dbr_json_doc_new (bytes, NULL, NULL)) == NULL)
    {
      g_autofree char *words = g_strdup_printf (_ ("status %u without JSON"), status);
      finish_strange (self, words);
      return;
    }
  tell_trouble (self->client, NULL);
  finish (self, status, doc != NULL ? dbr_json_doc_root (doc) : DBR_JSON_NONE, NULL);
}

static void
handle_silence (Call *self, const GError *problem)
{
  g_autoptr (GError) error = NULL;
  gboolean is_late = g_error_matches (problem, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_set_error (&error, SRV_CLIENT_ERROR, SRV_CLIENT_ERROR_AWAY,
               _ ("the engine at %s doesn't answer (%s): \"drawbridge engine serve\" starts one"),
               self->client->name, is_late ? _ ("no whole answer in time") : problem->message);
  end_try (self);
  if (try_later (self))
    tell_trouble (self->client, error->message);
  else
    finish (self, 0, DBR_JSON_NONE, error);
}

/* Closed in the usual way, a connection is read to the end of its answer, which a liar never comes to. */
static void
cut_off (Call *self)
{
  soup_session_abort (self->client->session);
  end_try (self);
}

static void
read_on (Call *self);

static void
on_piece (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Call *self = user_data;
  g_autoptr (GError) problem = NULL;
  g_autoptr (GBytes) piece
      = g_input_stream_read_bytes_finish (G_INPUT_STREAM (source), result, &problem);
  if (self->client == NULL)
    {
      call_free (self);
      return;
    }
  if (piece == NULL)
    {
      handle_silence (self, problem);
      return;
    }
  if (g_bytes_get_size (piece) > 0)
    {
      gsize length;
      const guint8 *data = g_bytes_get_data (piece, &length);
      g_byte_array_append (self->answer, data, (guint) length);
      read_on (self);
      return;
    }
  guint status = soup_message_get_status (self->message);
  g_autoptr (GBytes) bytes = g_byte_array_free_to_bytes (g_steal_pointer (&self->answer));
  end_try (self);
  handle_answer (self, status, bytes);
}

static void
read_on (Call *self)
{
  if (self->answer->len <= SRV_CLIENT_MAX_ANSWER)
    {
      g_input_stream_read_bytes_async (self->stream, PIECE_BYTES, G_PRIORITY_DEFAULT, self->cancel,
                                       on_piece, self);
      return;
    }
  g_autofree char *words
      = g_strdup_printf (_ ("it sends more than %u bytes"), SRV_CLIENT_MAX_ANSWER);
  cut_off (self);
  finish_strange (self, words);
}

static void
on_sent (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Call *self = user_data;
  g_autoptr (GError) problem = NULL;
  self->stream = soup_session_send_finish (SOUP_SESSION (source), result, &problem);
  if (self->client == NULL)
    {
      call_free (self);
      return;
    }
  if (self->stream == NULL)
    {
      handle_silence (self, problem);
      return;
    }
  SoupMessageHeaders *headers = soup_message_get_response_headers (self->message);
  if (soup_message_headers_get_one (headers, "Content-Encoding") != NULL)
    {
      cut_off (self);
      finish_strange (self, _ ("it sends its answer packed, which was not asked for"));
      return;
    }
  self->answer = g_byte_array_new ();
  read_on (self);
}

/* Bytes that come one by one keep a connection alive for ever. */
static gboolean
on_try_over (gpointer user_data)
{
  Call *self = user_data;
  self->limit_source = 0;
  g_cancellable_cancel (self->cancel);
  return G_SOURCE_REMOVE;
}

static void
try_call (Call *self)
{
  SrvClient *client = self->client;
  g_autofree char *url = g_strconcat (client->base, self->path, NULL);
  g_autofree char *bearer = g_strconcat ("Bearer ", client->token, NULL);
  self->message = soup_message_new ("POST", url);
  SoupMessageHeaders *headers = soup_message_get_request_headers (self->message);
  soup_message_headers_replace (headers, "Authorization", bearer);
  soup_message_headers_replace (headers, "Accept", "application/json");
  soup_message_headers_replace (headers, "Idempotency-Key", self->key);
  soup_message_set_flags (self->message, SOUP_MESSAGE_NO_REDIRECT);
  soup_message_set_request_body_from_bytes (self->message, "application/json", self->body);
  self->cancel = g_cancellable_new ();
  self->limit_source = g_timeout_add_seconds (SRV_CLIENT_TIMEOUT_S, on_try_over, self);
  soup_session_send_async (client->session, self->message, G_PRIORITY_DEFAULT, self->cancel,
                           on_sent, self);
}

void
srv_client_post (SrvClient *self,
                 const char *path,
                 json_t *body,
                 guint patience_s,
                 SrvClientDone done,
                 gpointer user_data)
{
  Call *call = g_new0 (Call, 1);
  char *text = json_dumps (body, JSON_COMPACT);
  json_decref (body);
  call->client = self;
  call->link.data = call;
  call->path = g_strdup (path);
  call->body = g_bytes_new_with_free_func (text, strlen (text), free, text);
  call->key = g_uuid_string_random ();
  call->until = g_get_monotonic_time () + (gint64) patience_s * G_USEC_PER_SEC;
  call->pause_ms = FIRST_PAUSE_MS;
  call->done = done;
  call->user_data = user_data;
  g_queue_push_tail_link (&self->calls, &call->link);
  try_call (call);
}

/* ------------------------------------------------------------------------------------- client */
/* What the bridge takes from the same variable. NULL: it is no address of an engine. Transfer full. */
static char *
read_url (const char *url, GError **error)
{
  const char *problem;
  g_autoptr (DbrUrl) parsed = dbr_url_parse (url, "/v1", &problem);
  g_autofree char *plain = parsed != NULL ? dbr_url_plain_problem (parsed, "BRIGADA_URL") : NULL;
  if (parsed != NULL && plain == NULL)
    return g_strconcat (parsed->origin, parsed->base_path, NULL);
  if (parsed == NULL)
    g_set_error (error, SRV_CLIENT_ERROR, SRV_CLIENT_ERROR_ADDRESS, "BRIGADA_URL %s", problem);
  else
    g_set_error_literal (error, SRV_CLIENT_ERROR, SRV_CLIENT_ERROR_ADDRESS, plain);
  return NULL;
}

static gboolean
is_socket_allowed (const char *socket, GError **error)
{
  if (socket != NULL && socket[0] == '/' && strlen (socket) <= MAX_SOCKET)
    return TRUE;
  g_set_error (error, SRV_CLIENT_ERROR, SRV_CLIENT_ERROR_ADDRESS,
               _ ("%s is no path of a socket: absolute, at most %d bytes"),
               socket != NULL ? socket : "(nothing)", MAX_SOCKET);
  return FALSE;
}

static gboolean
trust (SoupSession *session, const char *ca_file, GError **error)
{
  g_autoptr (GError) problem = NULL;
  g_autofree char *absolute = g_canonicalize_filename (ca_file, NULL);
  g_autoptr (GTlsDatabase) database = g_tls_file_database_new (absolute, &problem);
  if (database == NULL)
    {
      g_set_error (error, SRV_CLIENT_ERROR, SRV_CLIENT_ERROR_ADDRESS,
                   _ ("the certificates in %s can't be used: %s"), ca_file, problem->message);
      return FALSE;
    }
  soup_session_set_tls_database (session, database);
  return TRUE;
}

SrvClient *
srv_client_new (
    const char *socket, const char *url, const char *ca_file, const char *token, GError **error)
{
  g_autofree char *base = url != NULL ? read_url (url, error) : g_strdup ("http://localhost");
  if (base == NULL || (url == NULL && !is_socket_allowed (socket, error)))
    return NULL;
  g_autoptr (GSocketAddress) address = url == NULL ? g_unix_socket_address_new (socket) : NULL;
  g_autoptr (SoupSession) session
      = url == NULL ? soup_session_new_with_options ("remote-connectable", address, NULL)
                    : soup_session_new ();
  if (url != NULL && ca_file != NULL && !trust (session, ca_file, error))
    return NULL;
  SrvClient *self = g_new0 (SrvClient, 1);
  self->session = g_steal_pointer (&session);
  soup_session_set_timeout (self->session, SRV_CLIENT_TIMEOUT_S);
  soup_session_set_user_agent (self->session, "drawbridge-engine/" PACKAGE_VERSION);
  soup_session_remove_feature_by_type (self->session, SOUP_TYPE_CONTENT_DECODER);
  self->base = g_steal_pointer (&base);
  self->name = url != NULL ? g_strdup (self->base) : g_strdup_printf ("unix:%s", socket);
  self->token = g_strdup (token);
  g_queue_init (&self->calls);
  return self;
}

const char *
srv_client_name (const SrvClient *self)
{
  return self->name;
}

void
srv_client_set_trouble (SrvClient *self, SrvClientTrouble trouble, gpointer user_data)
{
  self->trouble = trouble;
  self->trouble_data = user_data;
}

/* A call that is with libsoup is freed when that lets go of it. */
static void
drop (Call *call)
{
  g_queue_unlink (&call->client->calls, &call->link);
  call->client = NULL;
  if (call->message != NULL)
    g_cancellable_cancel (call->cancel);
  else
    call_free (call);
}

void
srv_client_drop (SrvClient *self, gpointer user_data)
{
  GList *next;
  for (GList *at = self->calls.head; at != NULL; at = next)
    {
      Call *call = at->data;
      next = at->next;
      if (call->user_data == user_data)
        drop (call);
    }
}

void
srv_client_free (SrvClient *self)
{
  if (self == NULL)
    return;
  while (self->calls.head != NULL)
    drop (self->calls.head->data);
  soup_session_abort (self->session);
  g_object_unref (self->session);
  explicit_bzero (self->token, strlen (self->token));
  g_free (self->token);
  g_free (self->name);
  g_free (self->base);
  g_free (self);
}

char *
srv_client_text (DbrJson node)
{
  g_autofree char *text = dbr_json_dup_string (node);
  g_autoptr (GString) safe = g_string_new (NULL);
  if (text == NULL)
    return NULL;
  dbr_text_append_safe (safe, text, -1, DBR_TEXT_ONE_LINE);
  return g_string_free (g_steal_pointer (&safe), FALSE);
}

char *
srv_client_problem (guint status, DbrJson body, const GError *error)
{
  if (error != NULL)
    return g_strdup (error->message);
  char *detail = srv_client_text (dbr_json_get (body, "detail"));
  return detail != NULL ? detail : g_strdup_printf ("status %u", status);
}

char *
srv_client_strange (const SrvClient *self, const char *words)
{
  return g_strdup_printf (_ ("what answers at %s is no engine: %s"), self->name, words);
}
