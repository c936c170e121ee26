/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-link: one accepted connection, as the stream that libsoup reads and writes.
 *
 * libsoup knows no deadline and says nothing when it drops a connection. The link owns the real
 * stream and its end: it knows what it waits for and until when, notices a client that went away
 * while nobody reads, and can say last words (408, 413, 431) and let them arrive: it stops
 * sending, throws away a bounded rest of what still comes in, and only then closes.
 */
#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

#define SRV_LINK_LEAVE_S 5u                 /* for last words to arrive */
#define SRV_LINK_LEAVE_BYTES (1024u * 1024) /* of a late body that are thrown away */

typedef enum
{
  SRV_LINK_READING, /* a request */
  SRV_LINK_WORKING, /* on the answer: no deadline of its own */
  SRV_LINK_WRITING, /* the answer */
  SRV_LINK_IDLE,    /* between two requests */
  SRV_LINK_LEAVING, /* libsoup has let go of it */
} SrvLinkPhase;

#define SRV_TYPE_LINK (srv_link_get_type ())
G_DECLARE_FINAL_TYPE (SrvLink, srv_link, SRV, LINK, GIOStream)

/* The last call about a link: its socket is closed. */
typedef void (*SrvLinkClosed) (SrvLink *self, gpointer user_data);

/* @base: a socket's connection, or TLS over it; @socket: the socket below. Takes references. */
SrvLink *
srv_link_new (GIOStream *base, GSocket *socket, SrvLinkClosed closed, gpointer user_data);

/* Enters a phase that may last @seconds (0: as long as it likes). No way back from LEAVING. */
void
srv_link_set_phase (SrvLink *self, SrvLinkPhase phase, guint seconds);
SrvLinkPhase
srv_link_phase (const SrvLink *self);
/* Whether the phase has lasted too long. */
gboolean
srv_link_is_due (const SrvLink *self);
/* Microseconds, monotonic, since which it has been in its phase. */
gint64
srv_link_since (const SrvLink *self);

/**
 * srv_link_set_idle:
 * @seconds: how long it may idle
 * @keeper: what @gone will need (srv_link_keeper()); held until the phase ends
 * @gone: called, before anybody reads, when the client closes instead of sending
 *
 * Enters SRV_LINK_IDLE. libsoup (3.2) forgets a connection that ends while it idles, without
 * closing it: so the end must not get to it.
 */
void
srv_link_set_idle (SrvLink *self, guint seconds, GObject *keeper, SrvLinkClosed gone);
GObject *
srv_link_keeper (const SrvLink *self);

/* Whether the client closed its end, or its sending half, and nothing waits to be read. */
gboolean
srv_link_is_gone (const SrvLink *self);

/* What to say when the stream is dropped while the client is still there (transfer full, nullable:
 * nothing). */
void
srv_link_set_last_words (SrvLink *self, char *words);

/* Says @words (transfer full, nullable) and leaves. The caller has taken the link from libsoup. */
void
srv_link_leave (SrvLink *self, char *words);
/* Closes at once. */
void
srv_link_close (SrvLink *self);
/* The same, with @words (transfer full, nullable) where they go out without waiting. */
void
srv_link_drop (SrvLink *self, char *words);
/* Whose request it brought: a token's id; 0: nobody's so far. */
void
srv_link_set_owner (SrvLink *self, gint64 owner);
gint64
srv_link_owner (const SrvLink *self);

/* What its owner hangs on it. */
void
srv_link_set_data (SrvLink *self, gpointer data);
gpointer
srv_link_data (const SrvLink *self);

G_END_DECLS
