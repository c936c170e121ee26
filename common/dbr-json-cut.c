/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-json-cut: the cutter. The lexer gives positions; two captures turn them into bytes: one of
 * the record in progress, one of the top-level member in progress. A capture that is open at the
 * end of the fed bytes takes what it needs of them, so nothing else of a chunk is ever kept.
 */
#include "config.h"

#include "dbr-json-cut.h"
#include "dbr-json-lex.h"

#include <string.h>

/* From where on bytes are wanted; what lies before @next was taken. */
typedef struct
{
  gboolean is_open;
  guint64 start;
  guint64 next;
} Capture;

struct _DbrJsonCutter
{
  DbrJsonCutMode mode;
  char *member;
  gsize max_bytes;
  DbrJsonRecordFunc func;
  gpointer user_data;
  DbrJsonLexer *lexer;
  /* the bytes being fed */
  const char *chunk;
  guint64 chunk_start;
  guint64 chunk_end;
  /* records */
  guint record_depth;
  gboolean is_among; /* records: inside the array */
  gboolean is_found;
  gboolean is_stopped;
  guint64 n_records;
  Capture record;
  GString *head; /* at most max_bytes; the first half counts once the record is longer */
  GString *tail; /* at most twice the half */
  /* top-level members */
  Capture rest;
  GString *members;
  gsize members_before; /* length before the member in progress */
  gboolean is_overfull; /* the member in progress does not fit */
  gboolean is_rest_cut;
  gboolean is_wanted; /* its name is the one asked for */
  guint64 key_end;
  GString *key; /* raw, with quotes; longer than any spelling of `member` when not whole */
  gsize peak_bytes;
};

static gsize
half_of (const DbrJsonCutter *self)
{
  return self->max_bytes / 2;
}

static gsize
key_room (const DbrJsonCutter *self)
{
  return self->member ? strlen (self->member) * 6 + 3 : 0;
}

DbrJsonCutter *
dbr_json_cutter_new (const DbrJsonCutConfig *config, DbrJsonRecordFunc func, gpointer user_data)
{
  DbrJsonCutter *self = g_new0 (DbrJsonCutter, 1);
  gsize max_bytes
      = config->max_record_bytes ? config->max_record_bytes : DBR_JSON_CUT_MAX_RECORD_BYTES;

  g_assert (config->mode != DBR_JSON_CUT_MEMBER || config->member != NULL);
  self->mode = config->mode;
  self->member = config->mode == DBR_JSON_CUT_MEMBER ? g_strdup (config->member) : NULL;
  self->max_bytes = MAX (max_bytes, 16);
  self->func = func;
  self->user_data = user_data;
  self->lexer = dbr_json_lexer_new (&config->limits, config->mode == DBR_JSON_CUT_LINES
                                                         ? DBR_JSON_LEXER_LINES
                                                         : DBR_JSON_LEXER_TEXT);
  self->record_depth = config->mode == DBR_JSON_CUT_MEMBER  ? 2
                       : config->mode == DBR_JSON_CUT_ARRAY ? 1
                                                            : 0;
  self->is_among = config->mode == DBR_JSON_CUT_LINES;
  self->head = g_string_new (NULL);
  self->tail = g_string_new (NULL);
  self->members = g_string_new (NULL);
  self->key = g_string_new (NULL);
  return self;
}

void
dbr_json_cutter_free (DbrJsonCutter *self)
{
  if (!self)
    return;
  dbr_json_lexer_free (self->lexer);
  g_string_free (self->head, TRUE);
  g_string_free (self->tail, TRUE);
  g_string_free (self->members, TRUE);
  g_string_free (self->key, TRUE);
  g_free (self->member);
  g_free (self);
}

static void
capture_open (Capture *self, guint64 start)
{
  if (!self->is_open)
    *self = (Capture){ TRUE, start, start };
}

/* What of the fed bytes the capture has not taken yet, up to @end. */
static const char *
capture_take (DbrJsonCutter *self, Capture *capture, guint64 end, gsize *out_len)
{
  const char *bytes = self->chunk + (capture->next - self->chunk_start);
  *out_len = end - capture->next;
  capture->next = end;
  return bytes;
}

static void
tail_append (DbrJsonCutter *self, const char *bytes, gsize len)
{
  gsize keep = half_of (self);

  if (len >= keep)
    {
      g_string_truncate (self->tail, 0);
      bytes += len - keep;
      len = keep;
    }
  else if (self->tail->len + len > 2 * keep)
    g_string_erase (self->tail, 0, (gssize) (self->tail->len + len - keep));
  g_string_append_len (self->tail, bytes, (gssize) len);
}

static void
record_append (DbrJsonCutter *self, guint64 end)
{
  gsize len;
  const char *bytes = capture_take (self, &self->record, end, &len);
  gsize room = self->max_bytes - self->head->len;
  gsize fits = MIN (room, len);

  g_string_append_len (self->head, bytes, (gssize) fits);
  if (fits == len)
    return;
  if (self->tail->len == 0)
    {
      gsize half = half_of (self);
      tail_append (self, self->head->str + self->head->len - half, half);
    }
  tail_append (self, bytes + fits, len - fits);
}

static gboolean
is_continuation (char byte)
{
  return ((guchar) byte & 0xC0) == 0x80;
}

/* The length without a UTF-8 sequence that is not whole at the end. */
static gsize
whole_len (const char *text, gsize len)
{
  gsize at = len;

  while (at > 0 && len - at < 3 && is_continuation (text[at - 1]))
    at--;
  if (at == 0)
    return len;
  guchar lead = (guchar) text[at - 1];
  gsize need = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
  return len - (at - 1) < need ? at - 1 : len;
}

static void
fill_cut (DbrJsonCutter *self, DbrJsonRecord *record)
{
  gsize half = half_of (self);

  record->is_cut = TRUE;
  record->head = self->head->str;
  record->head_len = whole_len (self->head->str, half);
  record->tail = self->tail->str + self->tail->len - half;
  record->tail_len = half;
  for (int i = 0; i < 3 && is_continuation (record->tail[0]); i++)
    {
      record->tail++;
      record->tail_len--;
    }
}

static gboolean
record_close (DbrJsonCutter *self, guint64 end)
{
  DbrJsonRecord record = { .len = end - self->record.start, .index = self->n_records };

  if (self->record.next == self->record.start && record.len <= self->max_bytes)
    record.head = capture_take (self, &self->record, end, &record.head_len); /* no copy */
  else
    {
      record_append (self, end);
      if (record.len > self->max_bytes)
        fill_cut (self, &record);
      else
        {
          record.head = self->head->str;
          record.head_len = self->head->len;
        }
    }
  self->n_records++;
  self->is_found = TRUE;
  self->is_stopped = !self->func (&record, self->user_data);
  self->record.is_open = FALSE;
  g_string_truncate (self->head, 0);
  g_string_truncate (self->tail, 0);
  return !self->is_stopped;
}

static void
record_drop (DbrJsonCutter *self)
{
  self->record.is_open = FALSE;
  g_string_truncate (self->head, 0);
  g_string_truncate (self->tail, 0);
}

/* Bytes of the member in progress: to the rest, and of its name to the key. */
static void
rest_append (DbrJsonCutter *self, guint64 end)
{
  gsize len;
  guint64 from = self->rest.next;
  const char *bytes = capture_take (self, &self->rest, end, &len);

  if (self->key_end == 0 || from < self->key_end)
    {
      gsize of_key = self->key_end ? MIN (len, self->key_end - from) : len;
      gsize room = key_room (self) - self->key->len;
      g_string_append_len (self->key, bytes, (gssize) MIN (of_key, room));
    }
  if (self->is_overfull)
    return;
  self->is_overfull = self->members->len + len > DBR_JSON_CUT_MAX_REST_BYTES;
  if (self->is_overfull)
    g_string_truncate (self->members, self->members_before);
  else
    g_string_append_len (self->members, bytes, (gssize) len);
}

static void
rest_open (DbrJsonCutter *self, guint64 start)
{
  if (self->rest.is_open)
    return;
  capture_open (&self->rest, start);
  self->members_before = self->members->len;
  self->is_overfull = FALSE;
  self->is_wanted = FALSE;
  self->key_end = 0;
  g_string_truncate (self->key, 0);
  if (self->members->len)
    g_string_append_c (self->members, ',');
}

static void
rest_drop (DbrJsonCutter *self)
{
  g_string_truncate (self->members, self->members_before);
  self->rest.is_open = FALSE;
}

static void
rest_close (DbrJsonCutter *self, guint64 end)
{
  rest_append (self, end);
  self->rest.is_open = FALSE;
  self->is_rest_cut |= self->is_overfull;
  record_drop (self);
}

static void
rest_key (DbrJsonCutter *self, const DbrJsonToken *token)
{
  rest_open (self, token->start);
  self->key_end = token->end;
  rest_append (self, token->end);
  if (self->key->len >= key_room (self))
    return;
  g_autoptr (DbrJsonDoc) key
      = dbr_json_doc_new_from_data (self->key->str, (gssize) self->key->len, NULL, NULL);
  self->is_wanted = key && dbr_json_string_equals (dbr_json_doc_root (key), self->member);
}

static gboolean
is_begin (DbrJsonTokenKind kind)
{
  return kind == DBR_JSON_TOKEN_BEGIN_ARRAY || kind == DBR_JSON_TOKEN_BEGIN_OBJECT;
}

/* A token of an element or a line, at the depth of records. */
static gboolean
record_token (DbrJsonCutter *self, const DbrJsonToken *token)
{
  if (is_begin (token->kind))
    {
      capture_open (&self->record, token->start);
      return TRUE;
    }
  capture_open (&self->record, token->start);
  return record_close (self, token->end);
}

/* A token between the braces of the object whose member is wanted. */
static gboolean
member_token (DbrJsonCutter *self, const DbrJsonToken *token)
{
  switch (token->kind)
    {
    case DBR_JSON_TOKEN_KEY:
      rest_key (self, token);
      return TRUE;
    case DBR_JSON_TOKEN_BEGIN_ARRAY:
      if (self->is_wanted)
        {
          rest_drop (self);
          self->is_among = self->is_found = TRUE;
        }
      return TRUE;
    case DBR_JSON_TOKEN_BEGIN_OBJECT:
      self->is_wanted = FALSE;
      return TRUE;
    case DBR_JSON_TOKEN_END_ARRAY:
      if (!self->is_among)
        rest_close (self, token->end);
      self->is_among = FALSE;
      return TRUE;
    case DBR_JSON_TOKEN_STRING:
      if (self->is_wanted)
        {
          rest_drop (self);
          capture_open (&self->record, token->start);
          return record_close (self, token->end);
        }
      G_GNUC_FALLTHROUGH;
    case DBR_JSON_TOKEN_END_OBJECT:
    case DBR_JSON_TOKEN_NUMBER:
    case DBR_JSON_TOKEN_TRUE:
    case DBR_JSON_TOKEN_FALSE:
    case DBR_JSON_TOKEN_NULL:
      rest_close (self, token->end);
      return TRUE;
    }
  return TRUE;
}

static gboolean
on_token (const DbrJsonToken *token, gpointer user_data)
{
  DbrJsonCutter *self = user_data;

  if (self->is_among && token->depth == self->record_depth)
    return record_token (self, token);
  if (self->mode == DBR_JSON_CUT_MEMBER && token->depth == 1)
    {
      /* In an array at the top there are no members. */
      if (self->rest.is_open || self->is_among || token->kind == DBR_JSON_TOKEN_KEY)
        return member_token (self, token);
      return TRUE;
    }
  if (self->mode == DBR_JSON_CUT_ARRAY && token->depth == 0)
    {
      self->is_among = token->kind == DBR_JSON_TOKEN_BEGIN_ARRAY;
      self->is_found |= self->is_among;
    }
  return TRUE;
}

/* The fed bytes end: what is in progress takes its share of them. */
static void
keep_open (DbrJsonCutter *self)
{
  guint64 start;
  gboolean is_inside = dbr_json_lexer_is_inside (self->lexer, &start);
  guint depth = dbr_json_lexer_depth (self->lexer);

  if (is_inside && self->is_among && depth == self->record_depth)
    capture_open (&self->record, start);
  if (self->mode == DBR_JSON_CUT_MEMBER && depth == 1 && is_inside)
    {
      if (self->rest.is_open && self->is_wanted && start >= self->key_end)
        capture_open (&self->record, start);
      if (dbr_json_lexer_is_in_key (self->lexer))
        rest_open (self, start);
    }
  if (self->record.is_open)
    record_append (self, self->chunk_end);
  if (self->rest.is_open)
    rest_append (self, self->chunk_end);
}

static void
note_peak (DbrJsonCutter *self)
{
  gsize now = sizeof *self + self->head->allocated_len + self->tail->allocated_len
              + self->members->allocated_len + self->key->allocated_len;
  self->peak_bytes = MAX (self->peak_bytes, now);
}

gboolean
dbr_json_cutter_push (DbrJsonCutter *self, const void *bytes, gsize n_bytes, GError **error)
{
  g_autoptr (GError) fault = NULL;

  self->chunk = n_bytes ? bytes : "";
  self->chunk_start = self->chunk_end;
  self->chunk_end += n_bytes;
  if (self->is_stopped)
    return TRUE;
  gboolean ok = dbr_json_lexer_push (self->lexer, bytes, n_bytes, on_token, self, &fault);
  if (ok)
    keep_open (self);
  note_peak (self);
  if (fault)
    {
      g_propagate_error (error, g_steal_pointer (&fault));
      return FALSE;
    }
  return TRUE;
}

gboolean
dbr_json_cutter_finish (DbrJsonCutter *self, GError **error)
{
  self->chunk_start = self->chunk_end;
  self->chunk = "";
  if (self->is_stopped)
    return TRUE;
  return dbr_json_lexer_finish (self->lexer, on_token, self, error) || self->is_stopped;
}

DbrJsonDoc *
dbr_json_cutter_dup_rest (const DbrJsonCutter *self)
{
  /* A member in progress is left out. */
  gsize len = self->rest.is_open ? self->members_before : self->members->len;
  g_autoptr (GString) text = g_string_new ("{");
  g_string_append_len (text, self->members->str, (gssize) len);
  g_string_append_c (text, '}');
  DbrJsonLimits lax = { .max_depth = G_MAXUINT, .flags = DBR_JSON_LAX_UTF8 };
  DbrJsonDoc *doc = dbr_json_doc_new_from_data (text->str, (gssize) text->len, &lax, NULL);
  g_assert (doc != NULL); /* every byte of it has passed the lexer */
  return doc;
}

gboolean
dbr_json_cutter_is_rest_cut (const DbrJsonCutter *self)
{
  return self->is_rest_cut;
}

gboolean
dbr_json_cutter_is_found (const DbrJsonCutter *self)
{
  return self->is_found;
}

guint64
dbr_json_cutter_bytes (const DbrJsonCutter *self)
{
  return self->chunk_end;
}

guint64
dbr_json_cutter_records (const DbrJsonCutter *self)
{
  return self->n_records;
}

gsize
dbr_json_cutter_peak_bytes (const DbrJsonCutter *self)
{
  return self->peak_bytes;
}
