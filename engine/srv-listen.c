/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "srv-listen.h"

#include "srv-folder.h"

#include <glib/gstdio.h>

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* As many as the system allows: a full queue turns everybody away, not only who filled it. */
#define BACKLOG 4096

struct _SrvListen
{
  GSocket *socket;
  GTlsCertificate *certificate; /* nullable */
  char *name;
  guint port;
  char *path; /* unix; nullable */
  dev_t device;
  ino_t inode;
  int lock_fd;
  GSource *source;
  SrvListenReady ready;
  gpointer user_data;
};

G_DEFINE_QUARK (srv_listen_error, srv_listen_error)

static void
system_error (GError **error, const char *what, const char *where)
{
  int saved = errno;

  g_set_error (error, SRV_LISTEN_ERROR,
               saved == EADDRINUSE ? SRV_LISTEN_ERROR_IN_USE : SRV_LISTEN_ERROR_SYSTEM,
               "can't %s %s: %s", what, where, g_strerror (saved));
}

static SrvListen *
listen_new (GSocket *socket)
{
  SrvListen *self = g_new0 (SrvListen, 1);

  self->socket = socket;
  self->lock_fd = -1;
  g_socket_set_blocking (socket, FALSE);
  return self;
}

void
srv_listen_free (SrvListen *self)
{
  struct stat now;

  srv_listen_watch (self, NULL, NULL);
  /* Not what somebody else has put there since. */
  if (self->path && g_lstat (self->path, &now) == 0 && now.st_dev == self->device
      && now.st_ino == self->inode)
    g_unlink (self->path);
  g_clear_object (&self->socket);
  g_clear_object (&self->certificate);
  if (self->lock_fd >= 0)
    close (self->lock_fd);
  g_free (self->path);
  g_free (self->name);
  g_free (self);
}

/* ---- unix */

static gboolean
folder_check (const char *path, GError **error)
{
  g_autofree char *folder = g_path_get_dirname (path);
  g_autofree char *problem = NULL;

  if (g_mkdir_with_parents (folder, 0700) != 0)
    {
      system_error (error, "make the folder", folder);
      return FALSE;
    }
  problem = srv_folder_problem (folder);
  if (!problem)
    return TRUE;
  g_set_error_literal (error, SRV_LISTEN_ERROR, SRV_LISTEN_ERROR_ADDRESS, problem);
  return FALSE;
}

/* The lock of the path; -1: somebody has it. It is never removed: that would be a race. */
static int
lock_take (const char *path, GError **error)
{
  g_autofree char *name = g_strconcat (path, ".lock", NULL);
  int fd = g_open (name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

  if (fd < 0)
    {
      system_error (error, "open", name);
      return -1;
    }
  if (flock (fd, LOCK_EX | LOCK_NB) == 0)
    return fd;
  if (errno == EWOULDBLOCK)
    g_set_error (error, SRV_LISTEN_ERROR, SRV_LISTEN_ERROR_IN_USE, "another engine listens on %s",
                 path);
  else
    system_error (error, "lock", name);
  close (fd);
  return -1;
}

/* With the lock, what lies there is stale, unless a program that takes no locks answers. */
static gboolean
stale_remove (int fd, const struct sockaddr_un *address, GError **error)
{
  struct stat info;

  if (g_lstat (address->sun_path, &info) != 0)
    return TRUE;
  if (!S_ISSOCK (info.st_mode))
    {
      g_set_error (error, SRV_LISTEN_ERROR, SRV_LISTEN_ERROR_ADDRESS,
                   "%s exists and is not a socket", address->sun_path);
      return FALSE;
    }
  if (connect (fd, (const struct sockaddr *) address, sizeof *address) == 0 || errno == EAGAIN
      || errno == EPROTOTYPE)
    {
      g_set_error (error, SRV_LISTEN_ERROR, SRV_LISTEN_ERROR_IN_USE,
                   "another program listens on %s", address->sun_path);
      return FALSE;
    }
  if (g_unlink (address->sun_path) == 0 || errno == ENOENT)
    return TRUE;
  system_error (error, "remove the stale socket", address->sun_path);
  return FALSE;
}

static int
unix_bind (const struct sockaddr_un *address, GError **error)
{
  int probe = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  gboolean ok = probe >= 0 && fd >= 0;

  if (!ok)
    system_error (error, "make a socket for", address->sun_path);
  else if ((ok = stale_remove (probe, address, error)))
    {
      /* Before bind: the file then has this mode from the start. */
      ok = fchmod (fd, 0600) == 0
           && bind (fd, (const struct sockaddr *) address, sizeof *address) == 0
           && chmod (address->sun_path, 0600) == 0 && listen (fd, BACKLOG) == 0;
      if (!ok)
        system_error (error, "listen on", address->sun_path);
    }
  if (probe >= 0)
    close (probe);
  if (!ok && fd >= 0)
    close (fd);
  return ok ? fd : -1;
}

gboolean
srv_listen_check_unix (const char *path, GError **error)
{
  gsize max = sizeof ((struct sockaddr_un *) NULL)->sun_path - 1;
  struct stat info;

  if (g_path_is_absolute (path) && strlen (path) <= max)
    {
      if (g_lstat (path, &info) != 0 || S_ISSOCK (info.st_mode))
        return TRUE;
      g_set_error (error, SRV_LISTEN_ERROR, SRV_LISTEN_ERROR_ADDRESS,
                   "%s exists and is not a socket", path);
      return FALSE;
    }
  g_set_error (error, SRV_LISTEN_ERROR, SRV_LISTEN_ERROR_ADDRESS,
               "a socket's path is absolute and at most %zu bytes long: %s", max, path);
  return FALSE;
}

SrvListen *
srv_listen_unix (const char *path, GError **error)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  g_autoptr (SrvListen) self = NULL;
  GSocket *socket;
  struct stat info;
  int lock;
  int fd;

  if (!srv_listen_check_unix (path, error))
    return NULL;
  g_strlcpy (address.sun_path, path, sizeof address.sun_path);
  if (!folder_check (path, error) || (lock = lock_take (path, error)) < 0)
    return NULL;
  fd = unix_bind (&address, error);
  socket = fd >= 0 ? g_socket_new_from_fd (fd, NULL) : NULL;
  if (!socket)
    {
      close (lock);
      return NULL;
    }
  self = listen_new (socket);
  self->lock_fd = lock;
  self->path = g_strdup (path);
  self->name = g_strconcat ("unix:", path, NULL);
  if (g_lstat (path, &info) == 0)
    {
      self->device = info.st_dev;
      self->inode = info.st_ino;
    }
  return g_steal_pointer (&self);
}

/* ---- TCP */

static GSocketAddress *
address_parse (const char *host_port, GError **error)
{
  const char *colon = strrchr (host_port, ':');
  g_autofree char *host = colon ? g_strndup (host_port, (gsize) (colon - host_port)) : NULL;
  GSocketAddress *address = NULL;
  guint64 port;
  gsize n;

  if (host && g_ascii_string_to_unsigned (colon + 1, 10, 0, 65535, &port, NULL))
    {
      n = strlen (host);
      if (n > 2 && host[0] == '[' && host[n - 1] == ']')
        {
          host[n - 1] = '\0';
          address = g_inet_socket_address_new_from_string (host + 1, (guint) port);
        }
      else if (g_ascii_strcasecmp (host, "localhost") == 0)
        address = g_inet_socket_address_new_from_string ("127.0.0.1", (guint) port);
      else if (!strchr (host, ':'))
        address = g_inet_socket_address_new_from_string (host, (guint) port);
    }
  if (!address)
    g_set_error (error, SRV_LISTEN_ERROR, SRV_LISTEN_ERROR_ADDRESS,
                 "not an address to listen on: %s; it is 127.0.0.1:PORT or [::1]:PORT", host_port);
  return address;
}

/* Read whole before anything else happens: so it is a file, and one that ends. */
static gboolean
pem_check (const char *path, GError **error)
{
  struct stat info;
  gboolean is_there = g_stat (path, &info) == 0;

  if (is_there && S_ISREG (info.st_mode) && info.st_size <= SRV_LISTEN_MAX_PEM)
    return TRUE;
  g_set_error (error, SRV_LISTEN_ERROR, SRV_LISTEN_ERROR_TLS,
               "can't use the certificate or key %s: %s", path,
               !is_there                ? g_strerror (errno)
               : S_ISREG (info.st_mode) ? "it is longer than 1 MiB"
                                        : "it is not a file");
  return FALSE;
}

typedef struct
{
  guint left; /* of both sides */
  gboolean failed;
} Handshake;

static void
on_shaken (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Handshake *self = user_data;

  if (!g_tls_connection_handshake_finish (G_TLS_CONNECTION (source), result, NULL))
    self->failed = TRUE;
  self->left--;
}

static gboolean
accept_any (GTlsConnection *connection,
            GTlsCertificate *certificate,
            GTlsCertificateFlags errors,
            gpointer user_data)
{
  (void) connection;
  (void) certificate;
  (void) errors;
  (void) user_data;
  return TRUE;
}

static GIOStream *
stream_of (int fd)
{
  g_autoptr (GSocket) socket = g_socket_new_from_fd (fd, NULL);

  return socket ? G_IO_STREAM (g_socket_connection_factory_create_connection (socket)) : NULL;
}

/* Loading tells nothing of whether the key is the certificate's: we shake hands with ourselves once. */
static gboolean
key_fits (GTlsCertificate *certificate)
{
  int pair[2];
  Handshake state = { .left = 2 };
  g_autoptr (GMainContext) context = g_main_context_new ();

  if (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
    return TRUE;
  g_main_context_push_thread_default (context);
  {
    g_autoptr (GIOStream) ours = stream_of (pair[0]);
    g_autoptr (GIOStream) theirs = stream_of (pair[1]);
    g_autoptr (GIOStream) server = g_tls_server_connection_new (ours, certificate, NULL);
    g_autoptr (GIOStream) client = g_tls_client_connection_new (theirs, NULL, NULL);

    state.failed = !server || !client;
    if (!state.failed)
      {
        g_signal_connect (client, "accept-certificate", G_CALLBACK (accept_any), NULL);
        g_tls_connection_handshake_async (G_TLS_CONNECTION (server), G_PRIORITY_DEFAULT, NULL,
                                          on_shaken, &state);
        g_tls_connection_handshake_async (G_TLS_CONNECTION (client), G_PRIORITY_DEFAULT, NULL,
                                          on_shaken, &state);
      }
    while (!state.failed && state.left > 0)
      g_main_context_iteration (context, TRUE);
    if (ours)
      g_io_stream_close (ours, NULL, NULL);
    if (theirs)
      g_io_stream_close (theirs, NULL, NULL);
    while (server && client && state.left > 0)
      g_main_context_iteration (context, TRUE);
  }
  g_main_context_pop_thread_default (context);
  return !state.failed;
}

static GTlsCertificate *
certificate_read (const char *cert, const char *key, GError **error)
{
  g_autoptr (GError) inner = NULL;

  if (!pem_check (cert, error) || (key && !pem_check (key, error)))
    return NULL;
  GTlsCertificate *certificate = key ? g_tls_certificate_new_from_files (cert, key, &inner)
                                     : g_tls_certificate_new_from_file (cert, &inner);

  if (!certificate)
    g_set_error (error, SRV_LISTEN_ERROR, SRV_LISTEN_ERROR_TLS, "can't use the certificate %s: %s",
                 cert, inner->message);
  else if (!key_fits (certificate))
    {
      g_clear_object (&certificate);
      g_set_error (error, SRV_LISTEN_ERROR, SRV_LISTEN_ERROR_TLS,
                   key ? "the key in %s is not the one of the certificate %s"
                       : "there is no key in %s for the certificate %s: give --tls-key",
                   key ? key : cert, cert);
    }
  return certificate;
}

static GSocket *
tcp_bind (GSocketAddress *address, const char *shown, GError **error)
{
  g_autoptr (GError) inner = NULL;
  g_autoptr (GSocket) socket = g_socket_new (g_socket_address_get_family (address),
                                             G_SOCKET_TYPE_STREAM, G_SOCKET_PROTOCOL_TCP, &inner);

  if (socket)
    {
      g_socket_set_listen_backlog (socket, BACKLOG);
      if (g_socket_bind (socket, address, TRUE, &inner) && g_socket_listen (socket, &inner))
        return g_steal_pointer (&socket);
    }
  g_set_error (error, SRV_LISTEN_ERROR,
               g_error_matches (inner, G_IO_ERROR, G_IO_ERROR_ADDRESS_IN_USE)
                   ? SRV_LISTEN_ERROR_IN_USE
                   : SRV_LISTEN_ERROR_SYSTEM,
               "can't listen on %s: %s", shown, inner->message);
  return NULL;
}

/* What may be listened on; NULL: nothing that can be, or only with TLS. */
static GSocketAddress *
address_allowed (const char *host_port, const char *cert, GError **error)
{
  g_autoptr (GSocketAddress) address = address_parse (host_port, error);

  if (!address || cert
      || g_inet_address_get_is_loopback (
          g_inet_socket_address_get_address (G_INET_SOCKET_ADDRESS (address))))
    return g_steal_pointer (&address);
  g_set_error (error, SRV_LISTEN_ERROR, SRV_LISTEN_ERROR_ADDRESS,
               "%s is not loopback: tokens would travel in the clear. Give --tls-cert and "
               "--tls-key, or listen on 127.0.0.1",
               host_port);
  return NULL;
}

gboolean
srv_listen_check_tcp (const char *host_port, const char *cert, const char *key, GError **error)
{
  g_autoptr (GSocketAddress) address = address_allowed (host_port, cert, error);
  g_autoptr (GTlsCertificate) certificate
      = address && cert ? certificate_read (cert, key, error) : NULL;

  return address && (!cert || certificate);
}

SrvListen *
srv_listen_tcp (const char *host_port, const char *cert, const char *key, GError **error)
{
  g_autoptr (GSocketAddress) address = address_allowed (host_port, cert, error);
  g_autoptr (GSocketAddress) bound = NULL;
  g_autoptr (GTlsCertificate) certificate = NULL;
  g_autofree char *host = NULL;
  GInetAddress *inet;
  GSocket *socket;
  SrvListen *self;

  if (!address)
    return NULL;
  inet = g_inet_socket_address_get_address (G_INET_SOCKET_ADDRESS (address));
  if (cert && !(certificate = certificate_read (cert, key, error)))
    return NULL;
  socket = tcp_bind (address, host_port, error);
  if (!socket)
    return NULL;
  self = listen_new (socket);
  self->certificate = g_steal_pointer (&certificate);
  bound = g_socket_get_local_address (socket, NULL);
  self->port = bound ? g_inet_socket_address_get_port (G_INET_SOCKET_ADDRESS (bound)) : 0;
  host = g_inet_address_to_string (inet);
  self->name = g_strdup_printf (strchr (host, ':') ? "%s://[%s]:%u" : "%s://%s:%u",
                                cert ? "https" : "http", host, self->port);
  return self;
}

/* ---- both */

const char *
srv_listen_name (const SrvListen *self)
{
  return self->name;
}

guint
srv_listen_port (const SrvListen *self)
{
  return self->port;
}

GIOStream *
srv_listen_accept (SrvListen *self, GSocket **out_socket, GError **error)
{
  g_autoptr (GSocket) socket = g_socket_accept (self->socket, NULL, error);
  g_autoptr (GIOStream) stream = NULL;

  if (!socket)
    return NULL;
  g_socket_set_blocking (socket, FALSE);
  if (!self->path)
    g_socket_set_option (socket, IPPROTO_TCP, TCP_NODELAY, 1, NULL);
  stream = G_IO_STREAM (g_socket_connection_factory_create_connection (socket));
  if (self->certificate)
    {
      GIOStream *tls = g_tls_server_connection_new (stream, self->certificate, error);

      if (!tls)
        return NULL;
      g_object_unref (stream);
      stream = tls;
    }
  *out_socket = g_steal_pointer (&socket);
  return g_steal_pointer (&stream);
}

static gboolean
on_ready (GSocket *socket, GIOCondition condition, gpointer user_data)
{
  SrvListen *self = user_data;

  (void) socket;
  (void) condition;
  self->ready (self, self->user_data);
  return G_SOURCE_CONTINUE;
}

void
srv_listen_watch (SrvListen *self, SrvListenReady ready, gpointer user_data)
{
  if (self->source)
    {
      g_source_destroy (self->source);
      g_clear_pointer (&self->source, g_source_unref);
    }
  self->ready = ready;
  self->user_data = user_data;
  if (!ready)
    return;
  self->source = g_socket_create_source (self->socket, G_IO_IN, NULL);
  g_source_set_callback (self->source, G_SOURCE_FUNC (on_ready), self, NULL);
  g_source_attach (self->source, NULL);
}
