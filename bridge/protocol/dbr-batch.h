/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-batch: the answers to one array of messages, kept until the last of them is there.
 *
 * Source: MCP 2025-03-26 basic (batching): an array of the responses, nothing when there is none.
 */
#pragma once

#include "dbr-reply.h"

G_BEGIN_DECLS

#define DBR_BATCH_MAX_MESSAGES 256u /* messages in one array */

typedef struct _DbrBatch DbrBatch;

/* @sink must outlive the batch. */
DbrBatch *
dbr_batch_new (const DbrSink *sink);
DbrBatch *
dbr_batch_ref (DbrBatch *self);
/* The array is sent when the last holder lets go. */
void
dbr_batch_unref (DbrBatch *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DbrBatch, dbr_batch_unref)

/* Sends @message (transfer full) by itself, or keeps it when there is a @batch (nullable). */
void
dbr_batch_answer (DbrBatch *batch, const DbrSink *sink, GString *message);

G_END_DECLS
