/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-call-tail: what is wanted of a long log, and its records as JSON. See dbr-call-priv.h.
 *
 * A record over 8 kB comes in two ends; what can be read of them still tells its level and its first words.
 */
#include "config.h"

#include "call/dbr-call-priv.h"

#include <string.h>

static const DbrJsonLimits body_limits = { 0, 0, DBR_JSON_LAX_UTF8 };

/* ---- records that were cut */

static DbrJsonDoc *
parse (const GString *text)
{
  return dbr_json_doc_new_from_data (text->str, (gssize) text->len, &body_limits, NULL);
}

/* The beginning, closed as JSON. */
static DbrJsonDoc *
read_head (const char *head, gsize len)
{
  static const char *const endings[] = { "…\"}", "}", "…\"", "…\"}]}", NULL };

  /* An escape or a character may be cut in two: step back over at most one of them. */
  for (guint back = 0; back < 12 && len > back; back++)
    for (guint i = 0; endings[i]; i++)
      {
        g_autoptr (GString) text = g_string_new_len (head, (gssize) (len - back));
        DbrJsonDoc *doc;

        g_string_append (text, endings[i]);
        doc = parse (text);
        if (doc)
          return doc;
      }
  return NULL;
}

/* The members that stand whole in the end: the longest rest behind a comma that reads as an object's. */
static DbrJsonDoc *
read_tail (const char *tail, gsize len)
{
  const char *end = tail + len;
  guint tries = 0;

  for (const char *at = memchr (tail, ',', len); at && tries < 64; tries++)
    {
      g_autoptr (GString) text = g_string_new ("{");
      DbrJsonDoc *doc;

      g_string_append_len (text, at + 1, end - at - 1);
      doc = parse (text);
      if (doc)
        return doc;
      at = memchr (at + 1, ',', (gsize) (end - at - 1));
    }
  return NULL;
}

static void
add_members (DbrJsonBuilder *builder, DbrJson object, DbrJson before)
{
  if (dbr_json_type (object) != DBR_JSON_OBJECT)
    return;
  for (DbrJson value = dbr_json_first (object); dbr_json_exists (value);
       value = dbr_json_next (value))
    {
      g_autofree char *key = dbr_json_dup_string (dbr_json_key (value));
      g_autoptr (GString) valid = g_string_new (NULL);

      dbr_text_append_valid (valid, key ? key : "", -1);
      if (strcmp (valid->str, "cut") == 0 || dbr_json_exists (dbr_json_get (before, valid->str)))
        continue;
      dbr_json_builder_key (builder, valid->str);
      dbr_json_builder_link (builder, value);
    }
}

/* {"cut": its length, ...what could be read of both ends}. */
static DbrJsonDoc *
read_cut (const char *head, gsize head_len, const char *tail, gsize tail_len, guint64 true_len)
{
  g_autoptr (DbrJsonBuilder) builder = dbr_json_builder_new ();
  g_autoptr (DbrJsonDoc) first = read_head (head, head_len);
  g_autoptr (DbrJsonDoc) last = tail ? read_tail (tail, tail_len) : NULL;
  DbrJson root = first ? dbr_json_doc_root (first) : DBR_JSON_NONE;

  dbr_json_builder_begin_object (builder);
  dbr_json_builder_key (builder, "cut");
  dbr_json_builder_int64 (builder, (gint64) true_len);
  add_members (builder, root, DBR_JSON_NONE);
  if (last)
    add_members (builder, dbr_json_doc_root (last), root);
  dbr_json_builder_end_object (builder);
  return dbr_json_builder_end (builder);
}

static void
add_record (DbrJsonBuilder *builder, const EngRecord *record)
{
  g_autoptr (DbrJsonDoc) doc = NULL;

  if (record->head_len < record->len || record->true_len > record->len)
    {
      doc = read_cut (record->text, record->head_len, record->text + record->head_len,
                      record->len - record->head_len, record->true_len);
      dbr_json_builder_link (builder, dbr_json_doc_root (doc));
      return;
    }
  doc = dbr_json_doc_new_from_data (record->text, (gssize) record->len, &body_limits, NULL);
  if (doc)
    dbr_json_builder_link (builder, dbr_json_doc_root (doc));
  else
    {
      g_autoptr (GString) valid = g_string_new (NULL);
      dbr_text_append_valid (valid, record->text, (gssize) record->len);
      dbr_json_builder_string (builder, valid->str, (gssize) valid->len);
    }
}

DbrJsonDoc *
dbr_call_tail_body (const EngResponse *response)
{
  g_autoptr (DbrJsonBuilder) builder = dbr_json_builder_new ();

  dbr_json_builder_begin_object (builder);
  dbr_json_builder_key (builder, "records");
  dbr_json_builder_begin_array (builder);
  for (guint i = 0; response->records && i < response->records->len; i++)
    add_record (builder, g_ptr_array_index (response->records, i));
  dbr_json_builder_end_array (builder);
  dbr_json_builder_key (builder, "seen");
  dbr_json_builder_int64 (builder, (gint64) response->records_seen);
  dbr_json_builder_key (builder, "matched");
  dbr_json_builder_int64 (builder, (gint64) response->records_matched);
  dbr_json_builder_key (builder, "bytes");
  dbr_json_builder_int64 (builder, (gint64) response->bytes_seen);
  dbr_json_builder_key (builder, "complete");
  dbr_json_builder_boolean (builder, response->tail_complete);
  dbr_json_builder_end_object (builder);
  return dbr_json_builder_end (builder);
}

/* ---- what is wanted */

static guint
expand_uint (const DbrTemplate *template, const DbrJsonPathEnv *env, guint otherwise)
{
  g_autoptr (GString) text = g_string_new (NULL);
  gboolean present;

  if (template == NULL || !dbr_template_expand (template, env, text, &present, NULL) || !present
      || text->len == 0)
    return otherwise;
  return (guint) g_ascii_strtoull (text->str, NULL, 10);
}

static char *
expand_text (const DbrTemplate *template, const DbrJsonPathEnv *env)
{
  g_autoptr (GString) text = g_string_new (NULL);
  gboolean present;

  if (template == NULL || !dbr_template_expand (template, env, text, &present, NULL) || !present
      || text->len == 0)
    return NULL;
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static gboolean
holds (const char *text, gsize len, const char *needle)
{
  gsize n = strlen (needle);

  for (gsize i = 0; text && i + n <= len; i++)
    if (g_ascii_strncasecmp (text + i, needle, n) == 0)
      return TRUE;
  return FALSE;
}

/* Whether a viewer's mark may stand in it: the only records that must be read when nothing is asked for. */
static gboolean
may_be_mark (const char *head, gsize head_len)
{
  const char *end = head + head_len;

  for (const char *at = head; (at = memchr (at, ':', (gsize) (end - at))) != NULL; at++)
    if (at > head && at[-1] == '"' && at + 1 < end && at[1] == ':')
      return TRUE;
  return FALSE;
}

/* Called for each record of a log that may have a billion bytes: look, forget. */
static gboolean
matches (const char *head, gsize head_len, const char *tail, gsize tail_len, gpointer user_data)
{
  DbrPart *part = user_data;
  const DbrLogStyle *style = part->step->call->catalogue->backend->log_style;
  g_autoptr (DbrJsonDoc) doc = NULL;
  DbrJson record;

  if (style == NULL || (!part->min_rank && !part->contains && !may_be_mark (head, head_len)))
    return part->contains == NULL || holds (head, head_len, part->contains)
           || holds (tail, tail_len, part->contains);
  if (tail == NULL)
    doc = dbr_json_doc_new_from_data (head, (gssize) head_len, &body_limits, NULL);
  if (doc == NULL)
    doc = read_cut (head, head_len, tail, tail_len, head_len + tail_len);
  record = dbr_json_doc_root (doc);
  if (dbr_log_style_is_mark (style, record))
    return FALSE;
  if (part->min_rank && dbr_log_style_rank (style, record) < (int) part->min_rank)
    return FALSE;
  return part->contains == NULL || dbr_log_style_contains (style, record, part->contains)
         || (tail
             && (holds (head, head_len, part->contains) || holds (tail, tail_len, part->contains)));
}

void
dbr_call_prepare_tail (DbrPart *part, const DbrTailSpec *spec)
{
  DbrJsonPathEnv env;
  g_autofree char *level = NULL;
  int rank;

  dbr_call_env (part->step->call, part->item, &env);
  level = expand_text (spec->level, &env);
  rank = level ? dbr_log_rank (level) : -1;
  part->min_rank = rank > 0 ? (guint) rank : 0;
  part->contains = expand_text (spec->contains, &env);
  part->tail.array_member = spec->records_member;
  part->tail.keep_records = CLAMP (expand_uint (spec->lines, &env, 200), 1, 2000);
  part->tail.context = MIN (expand_uint (spec->context, &env, 0), 20);
  part->tail.match = matches;
  part->tail.match_data = part;
}
