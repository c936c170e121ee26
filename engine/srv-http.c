/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "srv-http.h"

#include "srv-exchange.h"

#include <sys/socket.h>

#define ACCEPT_AT_ONCE 64u

struct _SrvHttp
{
  SrvExchangeContext context;
  SoupServer *server;
  GPtrArray *listens;
  guint sweep;      /* source */
  gboolean is_deaf; /* out of descriptors: until the next sweep */
};

static void
on_ready (SrvListen *listen, gpointer user_data);

static void
on_closed (SrvLink *link, gpointer user_data)
{
  SrvHttp *self = user_data;
  SrvExchange *exchange = srv_link_data (link);

  if (exchange)
    srv_exchange_drop (exchange);
  g_hash_table_remove (self->context.links, link);
}

/* ------------------------------------------------------------------- messages */

/* libsoup hands the connection's address through, and nothing else that is ours. */
static SrvLink *
link_of (SoupServerMessage *msg)
{
  return g_object_get_data (G_OBJECT (soup_server_message_get_remote_address (msg)), "srv-link");
}

static void
on_started (SoupServer *server, SoupServerMessage *msg, gpointer user_data)
{
  SrvHttp *self = user_data;
  SrvLink *link = link_of (msg);

  (void) server;
  if (link && srv_link_phase (link) != SRV_LINK_LEAVING && !srv_link_data (link))
    srv_exchange_new (&self->context, link, msg);
}

static void
on_read (SoupServer *server,
         SoupServerMessage *msg,
         const char *path,
         GHashTable *query,
         gpointer user_data)
{
  SrvLink *link = link_of (msg);
  SrvExchange *exchange = link ? srv_link_data (link) : NULL;

  (void) server;
  (void) path;
  (void) query;
  (void) user_data;
  if (exchange)
    srv_exchange_run (exchange);
}

/* Takes an idle connection from libsoup: any of its messages will do for that. */
static void
link_release (SrvLink *link, gpointer user_data)
{
  g_autoptr (SrvLink) alive = g_object_ref (link);
  g_autoptr (GObject) msg = srv_link_keeper (link) ? g_object_ref (srv_link_keeper (link)) : NULL;
  g_autoptr (GIOStream) stream = NULL;

  (void) user_data;
  if (msg)
    stream = soup_server_message_steal_connection (SOUP_SERVER_MESSAGE (msg));
  srv_link_close (link);
}

/* Finished or aborted. */
static void
on_ended (SoupServer *server, SoupServerMessage *msg, gpointer user_data)
{
  SrvLink *link = link_of (msg);
  SrvExchange *exchange = link ? srv_link_data (link) : NULL;

  (void) server;
  (void) user_data;
  if (!exchange)
    return;
  srv_exchange_drop (exchange);
  srv_link_set_idle (link, SRV_HTTP_IDLE_S, G_OBJECT (msg), link_release);
}

/* ---------------------------------------------------------------- connections */

/* A copy, with references: whatever is done to one may take others out. */
static GPtrArray *
links_copy (SrvHttp *self)
{
  GPtrArray *links = g_ptr_array_new_with_free_func (g_object_unref);
  GHashTableIter iter;
  gpointer link;

  g_hash_table_iter_init (&iter, self->context.links);
  while (g_hash_table_iter_next (&iter, &link, NULL))
    g_ptr_array_add (links, g_object_ref (link));
  return links;
}

/* Whoever waits for an answer and went away. */
static gboolean
link_forget_gone (SrvLink *link)
{
  SrvExchange *exchange = srv_link_data (link);

  if (srv_link_phase (link) != SRV_LINK_WORKING || !exchange || !srv_exchange_is_waiting (exchange)
      || !srv_link_is_gone (link))
    return FALSE;
  srv_exchange_cut (exchange, NULL);
  return TRUE;
}

static void
link_evict (SrvLink *link)
{
  SrvExchange *exchange = srv_link_data (link);

  if (srv_link_phase (link) == SRV_LINK_IDLE)
    link_release (link, NULL);
  else if (exchange)
    srv_exchange_evict (exchange);
  else
    srv_link_close (link);
}

static guint
count_of (const GPtrArray *links, gint64 owner)
{
  guint n = 0;

  for (guint i = 0; i < links->len; i++)
    n += srv_link_owner (links->pdata[i]) == owner;
  return n;
}

/* How willingly one is given up; 0: not at all. */
static guint
expendable (SrvLink *link)
{
  const SrvExchange *exchange = srv_link_data (link);

  if (srv_link_phase (link) == SRV_LINK_IDLE)
    return 3;
  if (srv_link_owner (link) == 0)
    return 2;
  return srv_link_phase (link) != SRV_LINK_WORKING
         || (exchange && srv_exchange_is_waiting (exchange));
}

/* Of those that can be given up best the oldest; of those with owners one of whoever has most. */
static SrvLink *
find_expendable (const GPtrArray *links)
{
  SrvLink *found = NULL;
  guint best = 0, most = 0;

  for (guint i = 0; i < links->len; i++)
    {
      SrvLink *link = links->pdata[i];
      guint is = expendable (link), n = is == 1 ? count_of (links, srv_link_owner (link)) : 0;

      if (is == 0 || is < best || (is == best && n < most)
          || (is == best && n == most && srv_link_since (link) >= srv_link_since (found)))
        continue;
      found = link;
      best = is;
      most = n;
    }
  return found;
}

/* Those who are gone; else whoever is given up best. */
static gboolean
room_make (SrvHttp *self)
{
  g_autoptr (GPtrArray) links = links_copy (self);
  gboolean is_made = FALSE;
  SrvLink *found;

  for (guint i = 0; i < links->len; i++)
    is_made = link_forget_gone (links->pdata[i]) || is_made;
  found = is_made ? NULL : find_expendable (links);
  if (found)
    link_evict (found);
  return is_made || found;
}

static void
link_add (SrvHttp *self, GIOStream *stream, GSocket *socket)
{
  g_autoptr (GSocketAddress) address = g_inet_socket_address_new_from_string ("127.0.0.1", 0);
  g_autoptr (SrvLink) link = NULL;

  if (g_hash_table_size (self->context.links) >= SRV_HTTP_MAX_LINKS && !room_make (self))
    {
      g_autofree char *words = srv_exchange_words (srv_reply_problem (
          503, "too_many_connections", "The engine has as many connections as it takes.", NULL));

      g_socket_send (socket, words, strlen (words), NULL, NULL);
      return;
    }
  link = srv_link_new (stream, socket, on_closed, self);
  g_hash_table_add (self->context.links, g_object_ref (link));
  /* The message keeps the address, and the address the link. */
  g_object_set_data_full (G_OBJECT (address), "srv-link", g_object_ref (link), g_object_unref);
  soup_server_accept_iostream (self->server, G_IO_STREAM (link), address, address, NULL);
}

static void
deafen (SrvHttp *self, gboolean is_deaf)
{
  self->is_deaf = is_deaf;
  for (guint i = 0; i < self->listens->len; i++)
    srv_listen_watch (self->listens->pdata[i], is_deaf ? NULL : on_ready, self);
}

static void
on_ready (SrvListen *listen, gpointer user_data)
{
  SrvHttp *self = user_data;

  for (guint i = 0; i < ACCEPT_AT_ONCE; i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (GSocket) socket = NULL;
      g_autoptr (GIOStream) stream = srv_listen_accept (listen, &socket, &error);

      if (stream)
        {
          link_add (self, stream, socket);
          continue;
        }
      if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_WOULD_BLOCK))
        return;
      if (!g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CONNECTION_CLOSED))
        {
          g_warning ("can't accept on %s: %s", srv_listen_name (listen), error->message);
          deafen (self, TRUE);
          return;
        }
    }
}

static void
link_sweep (SrvLink *link)
{
  SrvExchange *exchange = srv_link_data (link);
  gboolean is_due = srv_link_is_due (link);

  switch (srv_link_phase (link))
    {
    case SRV_LINK_READING:
      if (is_due && exchange)
        srv_exchange_cut (exchange, srv_reply_problem (408, "request_timeout",
                                                       "The request took too long to come.", NULL));
      break;
    case SRV_LINK_WORKING:
      link_forget_gone (link);
      break;
    case SRV_LINK_WRITING:
      if (is_due && exchange)
        srv_exchange_cut (exchange, NULL);
      break;
    case SRV_LINK_IDLE:
      if (is_due)
        link_release (link, NULL);
      break;
    case SRV_LINK_LEAVING:
      if (is_due)
        srv_link_close (link);
      break;
    default:
      g_assert_not_reached ();
    }
}

static gboolean
on_sweep (gpointer user_data)
{
  SrvHttp *self = user_data;
  g_autoptr (GPtrArray) links = links_copy (self);

  for (guint i = 0; i < links->len; i++)
    link_sweep (links->pdata[i]);
  if (self->is_deaf)
    deafen (self, FALSE);
  return G_SOURCE_CONTINUE;
}

/* ---------------------------------------------------------------------- whole */

/* libsoup keeps a connection open after an answer only while it listens itself: it is given one
 * end of a pair of sockets, on which nobody ever connects. */
static void
keep_alive_allow (SoupServer *server)
{
  int pair[2];
  g_autoptr (GSocket) ours = NULL;
  GSocket *silent;

  if (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
    return;
  ours = g_socket_new_from_fd (pair[0], NULL);
  silent = g_socket_new_from_fd (pair[1], NULL);
  if (ours && silent)
    soup_server_listen_socket (server, ours, 0, NULL);
  if (silent)
    g_object_set_data_full (G_OBJECT (server), "srv-silent", silent, g_object_unref);
}

SrvHttp *
srv_http_new (SrvEngine *engine)
{
  SrvHttp *self = g_new0 (SrvHttp, 1);

  self->context.engine = engine;
  self->context.polls = srv_polls_new (engine);
  self->context.max_wait_s = SRV_ROUTE_MAX_WAIT_S;
  srv_http_set_request_timeout (self, SRV_HTTP_REQUEST_S);
  self->listens = g_ptr_array_new_with_free_func ((GDestroyNotify) srv_listen_free);
  self->context.links = g_hash_table_new_full (NULL, NULL, g_object_unref, NULL);
  self->server = g_object_new (SOUP_TYPE_SERVER, "raw-paths", TRUE, NULL);
  g_signal_connect (self->server, "request-started", G_CALLBACK (on_started), self);
  g_signal_connect (self->server, "request-finished", G_CALLBACK (on_ended), self);
  g_signal_connect (self->server, "request-aborted", G_CALLBACK (on_ended), self);
  soup_server_add_handler (self->server, NULL, on_read, self, NULL);
  keep_alive_allow (self->server);
  self->sweep = g_timeout_add_seconds (1, on_sweep, self);
  return self;
}

void
srv_http_add (SrvHttp *self, SrvListen *listen)
{
  g_ptr_array_add (self->listens, listen);
  srv_listen_watch (listen, on_ready, self);
}

void
srv_http_set_max_wait (SrvHttp *self, guint seconds)
{
  self->context.max_wait_s = MIN (seconds, SRV_ROUTE_MAX_WAIT_S);
}

void
srv_http_set_request_timeout (SrvHttp *self, guint seconds)
{
  self->context.request_s = MAX (seconds, 1);
  self->context.answer_s = self->context.request_s * SRV_HTTP_ANSWER_S / SRV_HTTP_REQUEST_S;
}

void
srv_http_free (SrvHttp *self)
{
  g_autoptr (GPtrArray) links = NULL;

  g_clear_handle_id (&self->sweep, g_source_remove);
  g_ptr_array_set_size (self->listens, 0);
  soup_server_disconnect (self->server);
  links = links_copy (self);
  for (guint i = 0; i < links->len; i++)
    srv_link_close (links->pdata[i]);
  g_object_unref (self->server);
  srv_polls_free (self->context.polls);
  g_ptr_array_unref (self->listens);
  g_hash_table_unref (self->context.links);
  g_free (self);
}
