/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-exchange-priv: what the two files of an exchange share; nobody else includes it.
 */
#pragma once

#include "srv-exchange.h"

G_BEGIN_DECLS

struct _SrvExchange
{
  guint n_refs;
  const SrvExchangeContext *context;
  SrvLink *link;          /* NULL: dropped */
  SoupServerMessage *msg; /* NULL: dropped */
  SrvRoute route;
  SrvActor actor;
  char *actor_name;
  char *authorization; /* a stream asks again whether its token still lives */
  char *if_match;
  char *idempotency_key;
  SrvReply *refusal; /* known before the body was read */
  GByteArray *body;
  DbrJsonDoc *doc;
  SrvRequest request;
  SrvPoll *poll;
  gboolean is_paused;
  gboolean is_stream;
  gint64 after;         /* a stream's last event */
  const char *query[7]; /* a stream's own */
  char after_text[24];
};

/* Takes @reply; nothing but that when the client is gone. */
void
srv_exchange_answer (SrvExchange *self, SrvReply *reply);
/* Replaces the answer's body and its type; NULL: none. */
void
srv_exchange_set_body (SrvExchange *self, const char *type, const char *text);
/* The answer comes later. */
void
srv_exchange_pause (SrvExchange *self);
/* Begins the wait of a long poll or a stream. */
void
srv_exchange_wait (SrvExchange *self);

G_END_DECLS
