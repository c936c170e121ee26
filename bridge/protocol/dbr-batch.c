/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whoever still owes an answer to the batch holds a reference; a cancelled call lets go without
 * one.
 */
#include "config.h"

#include "dbr-batch.h"

struct _DbrBatch
{
  const DbrSink *sink;
  GString *answers; /* the array without its end; empty: no answer yet */
  guint n_refs;
};

DbrBatch *
dbr_batch_new (const DbrSink *sink)
{
  DbrBatch *self = g_new0 (DbrBatch, 1);

  self->sink = sink;
  self->answers = g_string_new (NULL);
  self->n_refs = 1;
  return self;
}

DbrBatch *
dbr_batch_ref (DbrBatch *self)
{
  self->n_refs++;
  return self;
}

void
dbr_batch_unref (DbrBatch *self)
{
  if (self == NULL || --self->n_refs > 0)
    return;
  if (self->answers->len > 0)
    {
      g_string_append_c (self->answers, ']');
      self->sink->send (self->sink->user_data, g_steal_pointer (&self->answers));
    }
  else
    g_string_free (self->answers, TRUE);
  g_free (self);
}

void
dbr_batch_answer (DbrBatch *batch, const DbrSink *sink, GString *message)
{
  if (batch == NULL)
    {
      sink->send (sink->user_data, message);
      return;
    }
  g_string_append_c (batch->answers, batch->answers->len > 0 ? ',' : '[');
  g_string_append_len (batch->answers, message->str, (gssize) message->len);
  g_string_free (message, TRUE);
}
