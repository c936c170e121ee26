/* SPDX-License-Identifier: Apache-2.0 */
/* eng-client-priv: what the files of engine-client's core share. */
#pragma once

#include "eng-client.h"
#include "eng-sign-in.h"
#include "eng-wire.h"

G_BEGIN_DECLS

#define ENG_CLIENT_MAX_QUEUED 1024u
#define ENG_CLIENT_MAX_BODY_BYTES (8u << 20)     /* default of max_body_bytes */
#define ENG_CLIENT_BODY_CEILING_BYTES (1u << 30) /* of max_body_bytes */
#define ENG_CLIENT_MAX_QUERY_BYTES 32768u
#define ENG_CLIENT_MAX_REQUEST_HEADERS 64u
#define ENG_CLIENT_DEFAULT_TIMEOUT_MS 30000u

struct _EngClient
{
  EngWire *wire;
  EngSigner *signer;
  DbrAccessTable *access;
  char *prefix;
  EngGate writes;
  EngGate deletes;
  guint max_in_flight;
  gsize max_body_bytes;
  guint n_in_flight;
  GQueue transfers; /* all of them: EngTransfer.link */
  GQueue queued;    /* waiting for a place: EngTransfer.wait_link */
  GQueue unsigned_; /* waiting for a token: EngTransfer.wait_link */
  EngHeaders
      *plain_headers; /* nullable: those of a GET without any of its own, for the present token */
  guint plain_generation;
};

typedef enum
{
  ENG_STATE_NEW,
  ENG_STATE_QUEUED,
  ENG_STATE_SIGNING_IN,
  ENG_STATE_RUNNING,
  ENG_STATE_WAITING, /* for Retry-After */
  ENG_STATE_FAILED,  /* about to report `failure` */
} EngState;

struct _EngTransfer
{
  EngClient *client;
  EngState state;
  GList link;
  GList wait_link;
  GSource *timer; /* nullable: deadline while not running, end of a wait, or report of a failure */
  char *method;
  char *path;
  char *query;
  GStrv headers;
  GBytes *body;
  char *content_type;
  char *accept;
  const EngTail *tail;
  gboolean is_read;
  gboolean consent;
  gint64 start_us;
  gint64 deadline_us;
  guint timeout_ms;
  guint n_waits;
  guint attempts;
  gboolean is_renewed;
  guint generation; /* of the token that was sent */
  GError *failure;
  EngSent failure_sent;
  EngExchange exchange;
  EngDone done;
  gpointer user_data;
};

/**
 * eng_barrier_pass:
 * @client: the client
 * @transfer: what is to be sent
 * @error: return location
 *
 * The layer of access, on the one way out: method, final path, query, header fields, then what the
 * access table says against the gates and the user's consent.
 *
 * Returns: (transfer full) (nullable): the path in its normal form, which is what is sent.
 * Errors: #ENG_ERROR_BARRIER.
 */
char *
eng_barrier_pass (const EngClient *client, const EngTransfer *transfer, GError **error);

void
eng_client_free (EngClient *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (EngClient, eng_client_free)

EngTransfer *
eng_transfer_new (EngClient *client, const EngRequest *request);
/* Sends as soon as a token and a place are there. Never calls back from inside. */
void
eng_transfer_go (EngTransfer *self);
/* Without its callback. */
void
eng_transfer_free (EngTransfer *self);
/* Ends it with that error, from the main loop. Takes @error. */
void
eng_transfer_fail (EngTransfer *self, GError *error);

/* The token came, or @error says why not. */
void
eng_client_on_signed_in (const GError *error, gpointer user_data);
/* A place is free. */
void
eng_client_pump (EngClient *self);

G_END_DECLS
