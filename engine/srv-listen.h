/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-listen: the sockets that the engine listens on.
 *
 * A unix socket is made with mode 0600 from its first moment and belongs to whoever holds the lock
 * beside it (PATH.lock): what a dead engine left is replaced, a live one is left alone. TCP is
 * for loopback, and for other addresses only with a certificate.
 */
#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

#define SRV_LISTEN_MAX_PEM (1024 * 1024) /* bytes of a certificate or key */

#define SRV_LISTEN_ERROR (srv_listen_error_quark ())
GQuark
srv_listen_error_quark (void);
typedef enum
{
  SRV_LISTEN_ERROR_ADDRESS, /* not an address, not allowed, or the path is too long */
  SRV_LISTEN_ERROR_IN_USE,  /* somebody answers there */
  SRV_LISTEN_ERROR_SYSTEM,  /* the system refuses; the message says what */
  SRV_LISTEN_ERROR_TLS,     /* the certificate or its key */
} SrvListenError;

typedef struct _SrvListen SrvListen;

/**
 * srv_listen_unix:
 * @path: absolute; at most 107 bytes. Its folder is made (0700) when it is missing, and must be
 * ours, writable for nobody else.
 *
 * Errors: SRV_LISTEN_ERROR_ADDRESS, IN_USE, SYSTEM.
 */
SrvListen *
srv_listen_unix (const char *path, GError **error);

/**
 * srv_listen_tcp:
 * @host_port: "127.0.0.1:8080", "[::1]:0", "localhost:8080"; no names are looked up; port 0: any
 * @cert: (nullable): file of the certificate, PEM; the key may be in it
 * @key: (nullable): file of its key, PEM
 *
 * Errors: SRV_LISTEN_ERROR_ADDRESS (also: not loopback and no certificate), IN_USE, SYSTEM, TLS.
 */
SrvListen *
srv_listen_tcp (const char *host_port, const char *cert, const char *key, GError **error);

/* Could these be listened on at all? Changes nothing: what is refused is refused before anything is made. Errors:
 * SRV_LISTEN_ERROR_ADDRESS, TLS. */
gboolean
srv_listen_check_unix (const char *path, GError **error);
gboolean
srv_listen_check_tcp (const char *host_port, const char *cert, const char *key, GError **error);

/* Stops; removes its unix socket. */
void
srv_listen_free (SrvListen *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SrvListen, srv_listen_free)

/* "unix:/run/…/engine.sock", "http://127.0.0.1:8080". Transfer none. */
const char *
srv_listen_name (const SrvListen *self);
guint
srv_listen_port (const SrvListen *self); /* 0: unix */

/* One connection that waits, with TLS over it where this is TLS; NULL: none, or an error. */
GIOStream *
srv_listen_accept (SrvListen *self, GSocket **out_socket, GError **error);

typedef void (*SrvListenReady) (SrvListen *self, gpointer user_data);
/* Calls @ready from the main loop while connections wait; NULL: stops calling. */
void
srv_listen_watch (SrvListen *self, SrvListenReady ready, gpointer user_data);

G_END_DECLS
