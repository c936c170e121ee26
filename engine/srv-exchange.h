/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-exchange: one request and its answer.
 *
 * The head is judged as soon as it is there (route, token, query, headers), so that a refusal costs
 * no body; the body when it is whole; then the engine answers, at once, after its sync, or after
 * a wait. Every refusal is a problem document. The exchange outlives its connection where
 * the engine still owes it an answer.
 */
#pragma once

#include "srv-auth.h"
#include "srv-link.h"
#include "srv-poll.h"

#include <libsoup/soup.h>

G_BEGIN_DECLS

/* What all exchanges share. */
typedef struct
{
  SrvEngine *engine;
  SrvPolls *polls;
  GHashTable *links; /* set of SrvLink: all that there are */
  guint max_wait_s;
  guint request_s; /* a client's seconds to send a request */
  guint answer_s;  /* and to take an answer */
} SrvExchangeContext;

typedef struct _SrvExchange SrvExchange;

/* Follows @msg from its start. @context outlives it. */
SrvExchange *
srv_exchange_new (const SrvExchangeContext *context, SrvLink *link, SoupServerMessage *msg);
/* The request is read whole: answers, now or later. */
void
srv_exchange_run (SrvExchange *self);
/* The connection is closed or the answer written: forgets both and the caller's reference. */
void
srv_exchange_drop (SrvExchange *self);
/* Takes the connection from libsoup, says @reply (transfer full, nullable: nothing) and leaves it. */
void
srv_exchange_cut (SrvExchange *self, SrvReply *reply);
/* Drops the connection at once, to make room for another. */
void
srv_exchange_evict (SrvExchange *self);
/* Whether it waits for something that may take long. */
gboolean
srv_exchange_is_waiting (const SrvExchange *self);

/* A whole answer as text, for a connection that closes after it. Takes @reply. */
char *
srv_exchange_words (SrvReply *reply);

G_END_DECLS
