/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-client: each request is one object that goes from try to try until it has its answer or its
 * patience is over. libsoup's session keeps the connection.
 */
#include "config.h"

#include "srv-client.h"

#include <gio/gunixsocketaddress.h>
#include <glib/gi18n.h>
#include <libsoup/soup.h>
#include <string.h>

G_DEFINE_QUARK (srv_client_error, srv_client_error)

#define FIRST_PAUSE_MS 50u
#define MAX_PAUSE_MS 5000u
#define PIECE 65536u   /* bytes of an answer that are read at once */
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
  GInputStream *stream; /* the answer's body; nullable */
  GByteArray *answer;   /* what came of it; SRV_CLIENT_MAX_ANSWER and a piece at most */
  SrvClientDone done;
  gpointer user_data;
} Call;

/* -------------------------------------------------------------------------------------- calls */
static void
call_free (Call *self)
{
  if (self->client != NULL)
    g_queue_unlink (&self->client->calls, &self->link);
  if (self->pause_source != 0)
    g_source_remove (self->pause_source);
  g_clear_object (&self->stream);
  g_clear_object (&self->message);
  g_byte_array_unref (self->answer);
  g_object_unref (self->cancel);
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
handle_answer (Call *self, guint status)
{
  g_autoptr (GBytes) bytes = g_bytes_new (self->answer->data, self->answer->len);
  g_autoptr (GError) error = NULL;
  g_autoptr (DbrJsonDoc) doc = NULL;
  gboolean ours = TRUE;
  if (status == 503 && try_later (self))
    {
      g_autofree char *problem = g_strdup_printf (
          _ ("the engine at %s can't serve now (status 503)"), self->client->name);
      tell_trouble (self->client, problem);
      return;
    }
  tell_trouble (self->client, NULL);
  if (g_bytes_get_size (bytes) > 0)
    {
      doc = dbr_json_doc_new (bytes, NULL, NULL);
      ours = doc != NULL;
    }
  if (!ours)
    g_set_error (&error, SRV_CLIENT_ERROR, SRV_CLIENT_ERROR_ANSWER,
                 _ ("what answers at %s is no engine: status %u without JSON"), self->client->name,
                 status);
  finish (self, ours ? status : 0, doc != NULL ? dbr_json_doc_root (doc) : DBR_JSON_NONE, error);
}

/* Nothing would make it better: it isn't tried again. */
static void
refuse_more (Call *self)
{
  g_autoptr (GError) error = NULL;
  g_set_error (&error, SRV_CLIENT_ERROR, SRV_CLIENT_ERROR_ANSWER,
               _ ("what answers at %s is no engine: it sends more than %u bytes"),
               self->client->name, SRV_CLIENT_MAX_ANSWER);
  /* Or the session would read the rest, for the next request's sake. */
  g_cancellable_cancel (self->cancel);
  finish (self, 0, DBR_JSON_NONE, error);
}

static void
end_try (Call *self, const GError *problem)
{
  g_autoptr (GError) error = NULL;
  if (self->client == NULL)
    {
      call_free (self);
      return;
    }
  guint status = soup_message_get_status (self->message);
  g_clear_object (&self->stream);
  g_clear_object (&self->message);
  if (problem == NULL)
    {
      handle_answer (self, status);
      return;
    }
  g_set_error (&error, SRV_CLIENT_ERROR, SRV_CLIENT_ERROR_AWAY,
               _ ("the engine at %s doesn't answer (%s): \"drawbridge engine serve\" starts one"),
               self->client->name, problem->message);
  if (try_later (self))
    {
      tell_trouble (self->client, error->message);
      return;
    }
  finish (self, 0, DBR_JSON_NONE, error);
}

static void
read_more (Call *self);

static void
on_read (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Call *self = user_data;
  g_autoptr (GError) problem = NULL;
  g_autoptr (GBytes) bytes
      = g_input_stream_read_bytes_finish (G_INPUT_STREAM (source), result, &problem);
  gsize length = bytes != NULL ? g_bytes_get_size (bytes) : 0;
  if (length == 0 || self->client == NULL)
    {
      end_try (self, problem);
      return;
    }
  g_byte_array_append (self->answer, g_bytes_get_data (bytes, NULL), (guint) length);
  if (self->answer->len > SRV_CLIENT_MAX_ANSWER)
    refuse_more (self);
  else
    read_more (self);
}

static void
read_more (Call *self)
{
  g_input_stream_read_bytes_async (self->stream, PIECE, G_PRIORITY_DEFAULT, self->cancel, on_read,
                                   self);
}

static void
on_sent (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Call *self = user_data;
  g_autoptr (GError) problem = NULL;
  self->stream = soup_session_send_finish (SOUP_SESSION (source), result, &problem);
  if (self->stream == NULL || self->client == NULL)
    end_try (self, problem);
  else
    read_more (self);
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
  g_byte_array_set_size (self->answer, 0);
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
  call->cancel = g_cancellable_new ();
  call->answer = g_byte_array_new ();
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
static gboolean
is_url_allowed (const char *url, GError **error)
{
  g_autoptr (GUri) uri = g_uri_parse (url, G_URI_FLAGS_NONE, NULL);
  const char *scheme = uri != NULL ? g_uri_get_scheme (uri) : "";
  const char *host = uri != NULL && g_uri_get_host (uri) != NULL ? g_uri_get_host (uri) : "";
  gboolean loopback = strcmp (host, "127.0.0.1") == 0 || strcmp (host, "::1") == 0
                      || strcmp (host, "localhost") == 0;
  if (*host != '\0' && g_uri_get_userinfo (uri) == NULL
      && (strcmp (scheme, "https") == 0 || (strcmp (scheme, "http") == 0 && loopback)))
    return TRUE;
  g_set_error_literal (
      error, SRV_CLIENT_ERROR, SRV_CLIENT_ERROR_ADDRESS,
      _ ("BRIGADA_URL is no address of an engine: https://HOST:PORT, or http on this machine, "
         "without a user's name"));
  return FALSE;
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
  if (url != NULL ? !is_url_allowed (url, error) : !is_socket_allowed (socket, error))
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
  self->base = g_strdup (url != NULL ? url : "http://localhost");
  if (g_str_has_suffix (self->base, "/"))
    self->base[strlen (self->base) - 1] = '\0';
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
srv_client_problem (guint status, DbrJson body, const GError *error)
{
  if (error != NULL)
    return g_strdup (error->message);
  char *detail = dbr_json_dup_string (dbr_json_get (body, "detail"));
  return detail != NULL ? detail : g_strdup_printf ("status %u", status);
}
