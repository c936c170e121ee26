/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-client: requests to an engine, from the main loop: what a worker and an attached chat need.
 *
 * Over the unix socket, or TCP (BRIGADA_URL). A request that may be repeated (an idempotency key or a sequence number
 * makes it so) is tried again while the engine is away, with growing pauses up to 5 s: an engine that restarts
 * loses no worker.
 */
#pragma once

#include "dbr-json-doc.h"
#include <jansson.h>

G_BEGIN_DECLS

#define SRV_CLIENT_MAX_ANSWER (4u * 1024u * 1024u) /* framed in any way, never packed */
#define SRV_CLIENT_TIMEOUT_S 60u                   /* for one try; a long poll takes 30 */

#define SRV_CLIENT_ERROR (srv_client_error_quark ())
GQuark
srv_client_error_quark (void);
typedef enum
{
  SRV_CLIENT_ERROR_ADDRESS, /* no socket, not a URL that we speak, or no certificates */
  SRV_CLIENT_ERROR_TOKEN,   /* no token */
  SRV_CLIENT_ERROR_AWAY,    /* the engine did not answer, at last */
  SRV_CLIENT_ERROR_ANSWER,  /* what answered is no engine: no JSON, packed, or too much */
} SrvClientError;

typedef struct _SrvClient SrvClient;

/**
 * srv_client_new:
 * @socket: (nullable): path of the engine's socket
 * @url: (nullable): "https://host:port", or http on loopback, as dbr_url_parse() reads it; instead of @socket
 * @ca_file: (nullable): PEM, the certificates to trust over TLS; without it the system's
 * @token: the secret: dbr_token_check() knows it
 *
 * Errors: SRV_CLIENT_ERROR_ADDRESS.
 */
SrvClient *
srv_client_new (
    const char *socket, const char *url, const char *ca_file, const char *token, GError **error);
/* Requests under way are dropped: their callbacks don't come. */
void
srv_client_free (SrvClient *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SrvClient, srv_client_free)

/* Where it is: "unix:/run/...", or the URL. */
const char *
srv_client_name (const SrvClient *self);

/* A try without an answer, and another one comes: @problem is a sentence. NULL: the engine answers again. */
typedef void (*SrvClientTrouble) (const char *problem, gpointer user_data);
void
srv_client_set_trouble (SrvClient *self, SrvClientTrouble trouble, gpointer user_data);

/* @status: 0 and @error: no answer at last. @body is nothing when there was none; valid during the call. */
typedef void (*SrvClientDone) (guint status, DbrJson body, const GError *error, gpointer user_data);

/**
 * srv_client_post:
 * @path: "/v1/jobs/claim"
 * @body: (transfer full): JSON object
 * @patience_s: how long to try again while there is no answer, or a 503; 0: once
 */
void
srv_client_post (SrvClient *self,
                 const char *path,
                 json_t *body,
                 guint patience_s,
                 SrvClientDone done,
                 gpointer user_data);

/* Forgets the requests of that @user_data: their callbacks don't come. What was sent may still happen. */
void
srv_client_drop (SrvClient *self, gpointer user_data);

/* A string of an answer as one line, safe to print; NULL: none. Transfer full. */
char *
srv_client_text (DbrJson node);
/* "detail" of a problem document, else "status 409", as srv_client_text(). Transfer full. */
char *
srv_client_problem (guint status, DbrJson body, const GError *error);
/* What is said of an answer that no engine gives; @words: "status 200 without JSON". Transfer full. */
char *
srv_client_strange (const SrvClient *self, const char *words);

G_END_DECLS
