/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-output: lines go to a descriptor in order, never blocking: what it doesn't take now waits in
 * a queue.
 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef struct _DbrOutput DbrOutput;

typedef struct
{
  void (*drained) (gpointer user_data);         /* the queue has become empty */
  void (*failed) (gpointer user_data, int err); /* errno; nothing more will be written */
} DbrOutputEvents;

/* Takes over @fd: it is closed in the end, and its file status flags are put back.
 * Events come from the main loop or from inside dbr_output_send(). */
DbrOutput *
dbr_output_new (int fd, const DbrOutputEvents *events, gpointer user_data);
void
dbr_output_free (DbrOutput *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DbrOutput, dbr_output_free)

/* @line (transfer full): a line without its LF; one write where the descriptor takes it whole */
void
dbr_output_send (DbrOutput *self, GString *line);
/* Bytes that wait. */
gsize
dbr_output_queued_bytes (const DbrOutput *self);
/* One last try to write what waits, without waiting. */
void
dbr_output_flush (DbrOutput *self);

G_END_DECLS
