/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-http: the engine's HTTP front, on the default main context.
 *
 * libsoup speaks HTTP; what it leaves open is bounded here. A connection has 20 s for a whole
 * request (408), 60 s between two, 60 s to take an answer. A body has at most 1 MiB: a longer one
 * is refused as soon as it is known (413) and not read; its length must be said (no chunks: 411). The head has at most 64 KiB (431). 512
 * connections at most: then one that idles makes room for the newcomer, else the oldest that never
 * brought a request with a good token, else the oldest of the token that has most. A foreman's
 * token has 32 of them at most, a worker's 256: one more is told 503. Whoever waits in a long poll and goes away frees its wait within a second; a client that
 * closes its sending half counts as gone.
 */
#pragma once

#include "srv-engine.h"
#include "srv-listen.h"

G_BEGIN_DECLS

#define SRV_HTTP_MAX_LINKS 512u
#define SRV_HTTP_FOREMAN_LINKS 32u /* of one turn or chat */
#define SRV_HTTP_WORKER_LINKS 256u /* of one token */
#define SRV_HTTP_REQUEST_S 20u
#define SRV_HTTP_IDLE_S 60u
#define SRV_HTTP_ANSWER_S 60u
#define SRV_HTTP_STREAM_S 15u /* of silence before a stream's comment */

typedef struct _SrvHttp SrvHttp;

/* Serves @engine, which outlives it. */
SrvHttp *
srv_http_new (SrvEngine *engine);
/* Drops every connection. */
void
srv_http_free (SrvHttp *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SrvHttp, srv_http_free)

/* Takes @listen (transfer full). */
void
srv_http_add (SrvHttp *self, SrvListen *listen);
/* The longest that a long poll may wait; 30 s when never set. */
void
srv_http_set_max_wait (SrvHttp *self, guint seconds);
/* A client's seconds for a request; SRV_HTTP_REQUEST_S when never set. To take an answer it has as much
 * longer as SRV_HTTP_ANSWER_S is. */
void
srv_http_set_request_timeout (SrvHttp *self, guint seconds);

G_END_DECLS
