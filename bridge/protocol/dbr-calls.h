/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-calls: the tool calls in flight, and all that is sent about them.
 *
 * A call is answered exactly once, or never when its sender cancelled it. At most max_running calls
 * run; up to max_queued more, of max_held_bytes of text together, wait; beyond that a call is
 * answered as busy at once. Progress goes out only where a token came, strictly increases, and is
 * left out while the reader is behind.
 */
#pragma once

#include "dbr-batch.h"
#include "dbr-elicit.h"

G_BEGIN_DECLS

#define DBR_CALLS_MAX_RUNNING 64u            /* default */
#define DBR_CALLS_MAX_QUEUED 1024u           /* default */
#define DBR_CALLS_MAX_HELD_BYTES (64u << 20) /* default: text of the queued calls */

typedef struct
{
  guint max_running;    /* 0: the default */
  guint max_queued;     /* 0: the default */
  gsize max_held_bytes; /* 0: the default */
} DbrCallsOptions;

/* One tools/call that was found well-formed. Read during dbr_calls_start() only. */
typedef struct
{
  const DbrMessage *message;
  DbrRevision revision;
  DbrBatch *batch; /* nullable: a reference is taken */
  const char *tool;
  DbrJson arguments; /* object or nothing */
  DbrAsking asking;
  DbrJson input_responses;
  const char *request_state; /* nullable */
} DbrCallSpec;

typedef struct _DbrCalls DbrCalls;

/* All three must outlive it; @options is copied, nullable. */
DbrCalls *
dbr_calls_new (DbrToolHost *host,
               const DbrSink *sink,
               DbrElicit *elicit,
               const DbrCallsOptions *options);
/* Calls still in flight are aborted without an answer. */
void
dbr_calls_free (DbrCalls *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DbrCalls, dbr_calls_free)

/**
 * dbr_calls_start:
 *
 * Starts the call, queues it, or answers it as busy.
 *
 * Returns: %FALSE when a call of that id is in flight: nothing was done
 */
gboolean
dbr_calls_start (DbrCalls *self, const DbrCallSpec *spec);

/* Aborts the call of that id; nothing is sent for it any more. Unknown ids and "nothing" are
 * ignored. */
void
dbr_calls_cancel (DbrCalls *self, DbrJson id);

/* Starts what waits and may run: to be called when the reader has caught up. */
void
dbr_calls_pump (DbrCalls *self);

/* Aborts what runs and waits, and answers each with an error that says @why. */
void
dbr_calls_end (DbrCalls *self, const char *why);

guint
dbr_calls_in_flight (const DbrCalls *self); /* running and queued */

G_END_DECLS
