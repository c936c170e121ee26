/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-lease: who speaks for a project: a turn of its foreman, a person's chat, or whoever took it by hand.
 *
 * One lease a project. Taking it delivers what waits for the foreman; ending it kills its token and decides which of the
 * messages that it left unanswered wait again. Callers write @project.
 */
#pragma once

#include "srv-call.h"

G_BEGIN_DECLS

/* The lease that holds the project; NULL: none. One that is over but was not ended yet is none. (transfer full) */
SrvLease *
srv_lease_current (SrvCall *call, gint64 project);
/* The same, to take its place: one that is over is ended first. (transfer full) */
SrvLease *
srv_lease_holding (SrvCall *call, SrvProject *project);

/**
 * srv_lease_take:
 * @project: nobody holds it
 * @ttl_s: seconds
 * @out_lease: (transfer full)
 *
 * Returns: (transfer full) (nullable): the secret of its token; %NULL: the system gives no random bytes.
 */
char *
srv_lease_take (SrvCall *call,
                SrvProject *project,
                SrvLeaseKind kind,
                const char *holder,
                gint64 ttl_s,
                SrvLease **out_lease);

/* How a lease ended, and so what becomes of the messages that it was given and did not answer. */
typedef enum
{
  SRV_LEASE_IS_DONE,     /* a turn did what it wanted: they stay delivered */
  SRV_LEASE_IS_DETACHED, /* a chat went: the user's wait again */
  SRV_LEASE_IS_FAILED, /* crashed or expired: all wait again, SRV_MAX_DELIVERIES times at most; then they are given
                          * up, and those that were with them begin afresh */
  SRV_LEASE_IS_STOPPED, /* the engine ended, not the turn: all wait again, and it doesn't count */
} SrvLeaseEnd;
/* What the engine itself said counts as answered once its lease ended well: done or detached. @how, @text: the event. */
void
srv_lease_finish (SrvCall *call,
                  SrvProject *project,
                  SrvLease *lease,
                  SrvEventKind how,
                  SrvLeaseEnd end,
                  const char *text);

/* Why a message waits while there is the lease, and what comes after it. (transfer full) */
char *
srv_lease_outcome_text (const SrvLease *lease, const SrvProject *project);
/* 409 lease_held: who holds it, and what to do. */
SrvReply *
srv_lease_reply_held (const SrvLease *lease);

G_END_DECLS
