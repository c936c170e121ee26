/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-poll: requests that wait until there is something to say.
 *
 * Two operations wait: EVENTS until an event is there, JOB_CLAIM until a task is ready. Nothing
 * polls: a commit that made events wakes them (srv_engine_watch), once however many commits came
 * together. Event polls then read again. Claims are made one at a time in the order in which they
 * came, and once a claim found nothing, others that ask for the same don't try: a
 * hundred waiting workers cost one claim a commit, not a hundred.
 */
#pragma once

#include "srv-engine.h"

G_BEGIN_DECLS

typedef struct _SrvPolls SrvPolls;
typedef struct _SrvPoll SrvPoll;

typedef void (*SrvPollDone) (SrvReply *reply /* transfer full */, gpointer user_data);
/* Whether whoever asked is still there: no job is claimed for the dead. */
typedef gboolean (*SrvPollAlive) (gpointer user_data);

SrvPolls *
srv_polls_new (SrvEngine *engine);
/* Nobody may wait any more. */
void
srv_polls_free (SrvPolls *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SrvPolls, srv_polls_free)

/**
 * srv_polls_add:
 * @request: (not copied): EVENTS or JOB_CLAIM; must stay until @done or srv_poll_cancel()
 * @wait_s: 0: tries once; else at most that many seconds
 * @alive: (nullable)
 * @done: called once, from the main loop, never from within this call
 *
 * Waits. When the time is over the last answer is given: no events, or 204.
 *
 * Returns: (transfer none): to cancel it with; gone once @done was called.
 */
SrvPoll *
srv_polls_add (SrvPolls *self,
               const SrvRequest *request,
               guint wait_s,
               SrvPollAlive alive,
               SrvPollDone done,
               gpointer user_data);
/* Its @done is never called. A claim that is already with the engine is not taken back: the job is
 * lost by its heartbeat. */
void
srv_poll_cancel (SrvPoll *poll);

guint
srv_polls_count (const SrvPolls *self);

/**
 * srv_poll_stream_text:
 * @body: an EVENTS answer
 * @inout_after: becomes the last event's seq
 *
 * The same as text/event-stream: id is the seq, event the kind, data the event itself; a comment
 * when there is none, so that a dead connection shows. Transfer full.
 * Source: HTML standard, section server-sent events.
 */
char *
srv_poll_stream_text (const json_t *body, gint64 *inout_after);

G_END_DECLS
