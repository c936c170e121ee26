/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eng-tail: a queue of the wanted records, oldest first, over the cutter of common.
 *
 * Kept are matched records and what stands around them. `before` holds the last unmatched ones, in
 * case a match follows. Whatever is kept is counted in bytes, and the front goes when a bound is
 * passed.
 */
#include "config.h"

#include "eng-tail.h"

#include "dbr-json-cut.h"

#include <string.h>

struct _EngTailReader
{
  const EngTail *tail;
  DbrJsonCutter *cutter;
  GQueue kept;   /* of EngRecord */
  GQueue before; /* of EngRecord: at most `context` */
  guint n_matched_kept;
  guint after_left; /* unmatched ones still wanted after the last match */
  guint keep_records;
  guint context;
  gsize keep_bytes;
  gsize bytes; /* in both queues, their own overhead included */
  gsize peak_bytes;
  guint64 n_matched;
};

#define RECORD_OVERHEAD_BYTES \
  (sizeof (EngRecord) + sizeof (GList) + 32u) /* and the allocator's \
                                                                           */

static gsize
record_bytes (const EngRecord *record)
{
  return record->len + RECORD_OVERHEAD_BYTES;
}

static EngRecord *
record_new (const DbrJsonRecord *cut)
{
  gsize len = cut->head_len + cut->tail_len;
  EngRecord *record = g_malloc (sizeof (EngRecord) + len + 1);

  *record = (EngRecord){
    .index = cut->index,
    .text = (char *) (record + 1),
    .len = len,
    .head_len = cut->head_len,
    .true_len = cut->len,
  };
  memcpy (record->text, cut->head, cut->head_len);
  if (cut->tail_len > 0)
    memcpy (record->text + cut->head_len, cut->tail, cut->tail_len);
  record->text[len] = '\0';
  return record;
}

static void
drop_front (EngTailReader *self, GQueue *queue)
{
  EngRecord *record = g_queue_pop_head (queue);

  self->bytes -= record_bytes (record);
  if (queue == &self->kept && record->matched)
    self->n_matched_kept--;
  g_free (record);
}

/* After a match went, what stood after it goes too, unless it stands before the next one. */
static void
drop_orphans (EngTailReader *self)
{
  guint64 first_wanted = 0;

  for (GList *link = self->kept.head; link != NULL; link = link->next)
    {
      const EngRecord *record = link->data;

      if (!record->matched)
        continue;
      first_wanted = record->index > self->context ? record->index - self->context : 0;
      break;
    }
  while (self->kept.head != NULL)
    {
      const EngRecord *record = self->kept.head->data;

      if (record->matched || record->index >= first_wanted)
        return;
      drop_front (self, &self->kept);
    }
}

static void
trim (EngTailReader *self)
{
  gboolean dropped = FALSE;

  while (self->n_matched_kept > self->keep_records
         || (self->bytes > self->keep_bytes && self->kept.length > 1))
    {
      drop_front (self, &self->kept);
      dropped = TRUE;
    }
  while (self->bytes > self->keep_bytes && self->before.length > 0)
    drop_front (self, &self->before);
  if (dropped && self->context > 0)
    drop_orphans (self);
}

static void
keep_matched (EngTailReader *self, EngRecord *record)
{
  record->matched = TRUE;
  self->n_matched++;
  while (self->before.head != NULL)
    g_queue_push_tail_link (&self->kept, g_queue_pop_head_link (&self->before));
  g_queue_push_tail (&self->kept, record);
  self->n_matched_kept++;
  self->after_left = self->context;
}

static void
note_peak (EngTailReader *self)
{
  gsize now = self->bytes + dbr_json_cutter_peak_bytes (self->cutter);

  self->peak_bytes = MAX (self->peak_bytes, now);
}

static gboolean
on_record (const DbrJsonRecord *cut, gpointer user_data)
{
  EngTailReader *self = user_data;
  const EngTail *tail = self->tail;
  gboolean matched
      = tail->match == NULL
        || tail->match (cut->head, cut->head_len, cut->tail, cut->tail_len, tail->match_data);
  EngRecord *record;

  if (!matched && self->after_left == 0 && self->context == 0)
    return TRUE;
  record = record_new (cut);
  self->bytes += record_bytes (record);
  if (matched)
    keep_matched (self, record);
  else if (self->after_left > 0)
    {
      self->after_left--;
      g_queue_push_tail (&self->kept, record);
    }
  else
    {
      g_queue_push_tail (&self->before, record);
      if (self->before.length > self->context)
        drop_front (self, &self->before);
    }
  note_peak (self);
  trim (self);
  return TRUE;
}

EngTailReader *
eng_tail_reader_new (const EngTail *tail)
{
  EngTailReader *self = g_new0 (EngTailReader, 1);
  DbrJsonCutConfig config = {
    .mode = tail->array_member != NULL ? DBR_JSON_CUT_MEMBER : DBR_JSON_CUT_LINES,
    .member = tail->array_member,
    .max_record_bytes
    = tail->record_max_bytes != 0 ? MAX (tail->record_max_bytes, 64u) : ENG_TAIL_RECORD_BYTES,
    .limits = { .flags = DBR_JSON_LAX_UTF8 },
  };

  self->tail = tail;
  self->keep_records = CLAMP (tail->keep_records, 1u, ENG_TAIL_MAX_RECORDS);
  self->context = MIN (tail->context, ENG_TAIL_MAX_CONTEXT);
  self->keep_bytes = tail->keep_bytes != 0 ? tail->keep_bytes : ENG_TAIL_KEEP_BYTES;
  g_queue_init (&self->kept);
  g_queue_init (&self->before);
  self->cutter = dbr_json_cutter_new (&config, on_record, self);
  return self;
}

void
eng_tail_reader_free (EngTailReader *self)
{
  if (self == NULL)
    return;
  g_queue_clear_full (&self->kept, g_free);
  g_queue_clear_full (&self->before, g_free);
  dbr_json_cutter_free (self->cutter);
  g_free (self);
}

static void
set_broken (GError **error, const GError *cause)
{
  g_set_error (error, ENG_ERROR, ENG_ERROR_BROKEN,
               "the stream is not the JSON that was expected: %s", cause->message);
}

gboolean
eng_tail_reader_push (EngTailReader *self, const char *bytes, gsize len, GError **error)
{
  g_autoptr (GError) local = NULL;

  if (dbr_json_cutter_push (self->cutter, bytes, len, &local))
    return TRUE;
  set_broken (error, local);
  return FALSE;
}

gboolean
eng_tail_reader_end (EngTailReader *self, gboolean is_whole, GError **error)
{
  g_autoptr (GError) local = NULL;

  note_peak (self);
  if (!is_whole || dbr_json_cutter_finish (self->cutter, &local))
    return TRUE;
  set_broken (error, local);
  return FALSE;
}

void
eng_tail_reader_take (EngTailReader *self, EngResponse *response)
{
  EngRecord *record;

  response->records = g_ptr_array_new_full (self->kept.length, g_free);
  while ((record = g_queue_pop_head (&self->kept)) != NULL)
    g_ptr_array_add (response->records, record);
  response->records_seen = dbr_json_cutter_records (self->cutter);
  response->records_matched = self->n_matched;
  response->rest = dbr_json_cutter_dup_rest (self->cutter);
}

gsize
eng_tail_reader_peak_bytes (const EngTailReader *self)
{
  return self->peak_bytes;
}
