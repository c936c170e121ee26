/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-writer: the one thread that writes. It takes all requests that wait into one transaction, a savepoint each, syncs
 * once, and only then hands the answers to the main context.
 */
#pragma once

#include "srv-engine.h"
#include "srv-store.h"

G_BEGIN_DECLS

#define SRV_WRITER_MAX_WAITING 4096 /* requests; more are answered 503 at once */
#define SRV_WRITER_MAX_BATCH 512    /* requests in one transaction */

typedef struct _SrvWriter SrvWriter;

/* From the main context, after commits that made events. */
typedef void (*SrvWritten) (gint64 last_event, gpointer user_data);

/* @store is used by the writer's thread alone from now on, under @mutex when that is not NULL (a store in memory is
 * shared with the readers). */
SrvWriter *
srv_writer_new (SrvStore *store,
                GMutex *mutex,
                const SrvEngineOptions *options,
                SrvWritten written,
                gpointer user_data);
/* Finishes the batch at work; the rest is answered 503. All answers have been given when it returns. */
void
srv_writer_free (SrvWriter *self);
/* @done nullable: nobody waits. */
void
srv_writer_push (SrvWriter *self, const SrvRequest *request, SrvDone done, gpointer user_data);
void
srv_writer_push_tick (SrvWriter *self);

/* @granted NULL: none any more. */
void
srv_writer_grant_turns (SrvWriter *self, guint max, SrvGranted granted, gpointer user_data);

G_END_DECLS
