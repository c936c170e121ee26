/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-replay: a request that comes again with the same Idempotency-Key gets the answer of the first.
 *
 * Answers are kept for 24 hours, by token and key, in the transaction of what they answer. An answer that shows a token
 * is kept in memory only: secrets are never on the disk.
 */
#pragma once

#include "srv-engine.h"
#include "srv-store.h"

G_BEGIN_DECLS

#define SRV_REPLAY_MAX_SECRETS 256 /* answers in memory; the oldest go first */

typedef struct _SrvReplays SrvReplays;
SrvReplays *
srv_replays_new (void);
void
srv_replays_free (SrvReplays *self);

/* What identifies the request beyond its key: all of it but the key. (transfer full) */
char *
srv_replay_fingerprint (const SrvRequest *request);
/* The first answer, or 422 idempotency_mismatch; NULL: it is new. */
SrvReply *
srv_replays_find (SrvReplays *self,
                  SrvStore *store,
                  const SrvRequest *request,
                  const char *fingerprint);
/* Keeps a 2xx answer that has a body and did something. */
void
srv_replays_keep (SrvReplays *self,
                  SrvStore *store,
                  const SrvRequest *request,
                  const char *fingerprint,
                  const SrvReply *reply,
                  gint64 now);

G_END_DECLS
