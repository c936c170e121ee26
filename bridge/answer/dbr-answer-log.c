/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-answer-log: records of a log, one a line, between two fences.
 *
 * The newest records matter most: where there isn't room for all, the oldest are left out. Text in
 * a log is masked for shapes of secrets here, while it is still apart from our own words.
 */
#include "config.h"

#include "dbr-answer-priv.h"
#include "dbr-time.h"
#include <string.h>

#define RANK_INFO 20

/* ---------------------------------------------------------------------------------------- levels
 */

int
dbr_log_rank (const char *level)
{
  static const struct
  {
    const char *word;
    int rank;
  } levels[] = { { "trace", 10 },    { "debug", 10 }, { "info", 20 },      { "notice", 20 },
                 { "warning", 30 },  { "warn", 30 },  { "error", 40 },     { "err", 40 },
                 { "critical", 50 }, { "fatal", 50 }, { "emergency", 50 }, { "alert", 50 } };
  for (guint i = 0; i < G_N_ELEMENTS (levels); i++)
    if (g_ascii_strcasecmp (level, levels[i].word) == 0)
      return levels[i].rank;
  return -1;
}

static DbrJson
member (const DbrJsonPath *path, DbrJson record)
{
  if (!path)
    return DBR_JSON_NONE;
  DbrJsonPathEnv env = { .root = record, .current = record };
  return dbr_json_path_first (path, &env);
}

static int
node_rank (DbrJson level)
{
  g_autofree char *word = dbr_json_dup_string (level);
  return word ? dbr_log_rank (word) : -1;
}

int
dbr_log_style_rank (const DbrLogStyle *self, DbrJson record)
{
  int rank = node_rank (member (self->level, record));
  return rank < 0 ? RANK_INFO : rank;
}

/* ------------------------------------------------------------------------------------- searching
 */

static gboolean
holds_text (const char *text, gsize len, const char *needle)
{
  gsize n = strlen (needle);
  if (n == 0)
    return TRUE;
  char lower = g_ascii_tolower (needle[0]);
  for (gsize i = 0; i + n <= len; i++)
    if (g_ascii_tolower (text[i]) == lower && g_ascii_strncasecmp (text + i, needle, n) == 0)
      return TRUE;
  return FALSE;
}

/* In the strings of a value, wherever they stand. JSON's depth is bounded by its reader. */
static gboolean
value_holds (DbrJson value, const char *needle, GString *scratch)
{
  gsize len = 0;
  const char *text = NULL;
  switch (dbr_json_type (value))
    {
    case DBR_JSON_STRING:
      text = dbr_json_string (value, scratch, &len);
      return holds_text (text, len, needle);
    case DBR_JSON_ARRAY:
    case DBR_JSON_OBJECT:
      for (DbrJson child = dbr_json_first (value); dbr_json_exists (child);
           child = dbr_json_next (child))
        if (value_holds (child, needle, scratch))
          return TRUE;
      return FALSE;
    case DBR_JSON_NUMBER:
    case DBR_JSON_BOOLEAN:
      text = dbr_json_raw (value, &len);
      return text && holds_text (text, len, needle);
    case DBR_JSON_NOTHING:
    case DBR_JSON_NULL:
    default:
      return FALSE;
    }
}

gboolean
dbr_log_style_is_mark (const DbrLogStyle *self, DbrJson record)
{
  g_autoptr (GString) scratch = NULL;
  DbrJson text;
  const char *bytes;
  gsize len = 0;

  if (dbr_json_type (record) != DBR_JSON_OBJECT)
    return FALSE;
  text = member (self->text, record);
  bytes = dbr_json_raw (text, &len);
  /* Every line of a log comes here: decode only what may be one. */
  if (!bytes || len < 11 || bytes[0] != '"' || bytes[1] != ':' || bytes[2] != ':')
    return FALSE;
  if (node_rank (member (self->level, record)) > RANK_INFO)
    return FALSE;
  scratch = g_string_new (NULL);
  bytes = dbr_json_string (text, scratch, &len);
  return (len >= 9 && memcmp (bytes, "::group::", 9) == 0)
         || (len >= 12 && memcmp (bytes, "::endgroup::", 12) == 0);
}

gboolean
dbr_log_style_contains (const DbrLogStyle *self, DbrJson record, const char *needle)
{
  g_autoptr (GString) scratch = g_string_new (NULL);
  if (dbr_json_type (record) != DBR_JSON_OBJECT)
    return value_holds (record, needle, scratch);
  if (value_holds (member (self->text, record), needle, scratch))
    return TRUE;
  if (!self->error)
    return FALSE;
  DbrJsonPathEnv env = { .root = record, .current = record };
  g_auto (DbrNodeList) errors;
  dbr_node_list_init (&errors);
  dbr_json_path_select (self->error->in, &env, &errors, NULL);
  for (guint i = 0; i < dbr_node_list_size (&errors); i++)
    if (value_holds (dbr_node_list_get (&errors, i), needle, scratch))
      return TRUE;
  return FALSE;
}

/* ------------------------------------------------------------------------------------ one record
 */

typedef struct
{
  gsize from;    /* in LogText.text */
  gsize body;    /* where it continues behind the time */
  gsize len;     /* of the body */
  guint times;   /* how often it came one after the other */
  char date[11]; /* shown where it changes */
} LogEntry;

typedef struct
{
  Render *render;
  const DbrLogStyle *style; /* nullable */
  GString *text;
  GString *scratch, *value;
  GArray *entries; /* (element-type LogEntry) */
} LogText;

/* Appends one line, its end cut off beyond the limit. */
static void
append_cut_line (GString *out, const char *text, gsize len)
{
  if (len <= ANSWER_LOG_MAX_CHARACTERS)
    {
      g_string_append_len (out, text, (gssize) len);
      return;
    }
  gsize total = (gsize) g_utf8_strlen (text, (gssize) len);
  if (total <= ANSWER_LOG_MAX_CHARACTERS)
    {
      g_string_append_len (out, text, (gssize) len);
      return;
    }
  const char *end = g_utf8_offset_to_pointer (text, ANSWER_LOG_MAX_CHARACTERS);
  g_string_append_len (out, text, end - text);
  g_string_append_printf (out, "… (%" G_GSIZE_FORMAT " more characters)",
                          total - ANSWER_LOG_MAX_CHARACTERS);
}

/* Several lines of one record: those behind the first are indented, so that none looks like a
 * record. */
static void
append_lines (LogText *self, const char *text, gsize len)
{
  GString *safe = self->value;
  g_string_truncate (safe, 0);
  dbr_text_append_safe (safe, text, (gssize) len, DBR_TEXT_LINES);
  dbr_mask_apply (self->render->env->mask, safe, 0, DBR_MASK_SHAPES);
  while (safe->len > 0 && g_ascii_isspace (safe->str[safe->len - 1]))
    g_string_truncate (safe, safe->len - 1);
  const char *p = safe->str;
  const char *end = safe->str + safe->len;
  gsize from = self->text->len;
  for (;;)
    {
      const char *stop = memchr (p, '\n', (gsize) (end - p));
      append_cut_line (self->text, p, (gsize) ((stop ? stop : end) - p));
      if (!stop)
        return;
      p = stop + 1;
      if (self->text->len - from > ANSWER_LOG_MAX_BYTES / 2)
        {
          guint left = 1;
          for (const char *c = p; c < end; c++)
            left += *c == '\n';
          g_string_append_printf (self->text, "\n    … (%u more lines of this record)", left);
          return;
        }
      g_string_append (self->text, "\n    ");
    }
}

static void
append_time (LogText *self, LogEntry *entry, DbrJson time)
{
  gsize len = 0;
  gint64 t_us = 0;
  const char *text = dbr_json_string (time, self->scratch, &len);
  if (!text || len == 0)
    return;
  g_autoptr (GDateTime) parsed
      = dbr_time_parse (text, len, &t_us)
            ? g_date_time_new_from_unix_utc (t_us / G_USEC_PER_SEC - (t_us % G_USEC_PER_SEC < 0))
            : NULL;
  if (!parsed)
    {
      gsize keep = dbr_text_cut_length (text, len, 40);
      dbr_text_append_safe (self->text, text, (gssize) keep, DBR_TEXT_ONE_LINE);
      g_string_append (self->text, keep < len ? "… " : " ");
      return;
    }
  g_snprintf (entry->date, sizeof entry->date, "%04d-%02d-%02d", g_date_time_get_year (parsed),
              g_date_time_get_month (parsed), g_date_time_get_day_of_month (parsed));
  g_string_append_printf (self->text, "%02d:%02d:%02d ", g_date_time_get_hour (parsed),
                          g_date_time_get_minute (parsed), g_date_time_get_second (parsed));
}

static void
append_level (LogText *self, DbrJson level)
{
  gsize len = 0;
  const char *text = dbr_json_string (level, self->scratch, &len);
  int rank = node_rank (level);
  if (!text || len == 0 || rank == RANK_INFO)
    return;
  gsize keep = dbr_text_cut_length (text, len, 16);
  if (keep < len)
    {
      /* No level of anybody: as it came, so that a secret is seen. */
      dbr_text_append_safe (self->text, text, (gssize) keep, DBR_TEXT_ONE_LINE);
      g_string_append (self->text, "… ");
      return;
    }
  g_autofree char *upper = g_ascii_strup (text, (gssize) len);
  dbr_text_append_safe (self->text, upper, -1, DBR_TEXT_ONE_LINE);
  g_string_append_c (self->text, ' ');
}

/* The errors of a record through the style's own children, into the log's text. */
static gboolean
append_error (LogText *self, DbrJson record, gboolean has_words, GError **error)
{
  const Element *style = self->style->error;
  if (!style)
    return TRUE;
  g_auto (DbrNodeList) errors;
  dbr_node_list_init (&errors);
  Render inner = *self->render;
  inner.out = self->scratch;
  inner.current = record;
  inner.soft_end = inner.hard_end = ANSWER_LOG_MAX_BYTES / 2;
  inner.depth = 1;
  inner.is_full = FALSE;
  inner.no_room = FALSE;
  g_string_truncate (self->scratch, 0);
  gboolean is_good = render_select (&inner, style->in, &errors, error);
  for (guint i = 0; is_good && i < dbr_node_list_size (&errors) && !inner.no_room; i++)
    {
      inner.current = dbr_node_list_get (&errors, i);
      is_good = render_children (&inner, style->children, 2, error);
    }
  self->render->steps_left = inner.steps_left;
  if (inner.no_room)
    g_string_append (self->scratch, "  … (more of this error left out)\n");
  dbr_mask_apply (self->render->env->mask, self->scratch, 0, DBR_MASK_SHAPES);
  if (self->scratch->len > 0)
    {
      /* Without words of the record's own the error begins right behind the time. */
      gsize skip = has_words ? 0 : 2;
      if (has_words)
        g_string_append_c (self->text, '\n');
      g_string_append_len (self->text, self->scratch->str + skip,
                           (gssize) (self->scratch->len - 1 - skip));
    }
  return is_good;
}

static void
append_value (LogText *self, DbrJson value)
{
  g_autoptr (GString) json = g_string_new (NULL);
  gsize len = 0;
  const char *text = dbr_json_string (value, self->scratch, &len);
  if (text)
    append_lines (self, text, len);
  else
    {
      answer_append_json (value, json);
      append_lines (self, json->str, json->len);
    }
}

/* Appends one record; *out_is_shown FALSE: it is only a mark. */
static gboolean
append_record (
    LogText *self, DbrJson record, LogEntry *entry, gboolean *out_is_shown, GError **error)
{
  entry->from = self->text->len;
  entry->times = 1;
  *out_is_shown = TRUE;
  if (!self->style || dbr_json_type (record) != DBR_JSON_OBJECT)
    {
      entry->body = self->text->len;
      append_value (self, record);
      entry->len = self->text->len - entry->body;
      return TRUE;
    }
  DbrJson text = member (self->style->text, record);
  DbrJson level = member (self->style->level, record);
  if (dbr_log_style_is_mark (self->style, record))
    {
      *out_is_shown = FALSE;
      return TRUE;
    }
  append_time (self, entry, member (self->style->time, record));
  entry->body = self->text->len;
  append_level (self, level);
  gsize words = self->text->len;
  if (dbr_json_exists (text) && dbr_json_type (text) != DBR_JSON_NULL)
    append_value (self, text);
  if (!append_error (self, record, self->text->len > words, error))
    return FALSE;
  if (self->text->len == words && dbr_json_type (text) <= DBR_JSON_NULL)
    append_value (self, record);
  gint64 cut = 0;
  if (dbr_json_int64 (dbr_json_get (record, "cut"), &cut))
    g_string_append_printf (self->text, " … (cut: the record has %" G_GINT64_FORMAT " bytes)", cut);
  while (self->text->len > entry->body && self->text->str[self->text->len - 1] == ' ')
    g_string_truncate (self->text, self->text->len - 1);
  entry->len = self->text->len - entry->body;
  return TRUE;
}

/* ---------------------------------------------------------------------------------------- the log
 */

/* The same line again: counted, not printed. */
static gboolean
fold_entry (LogText *self, const LogEntry *entry)
{
  if (self->entries->len == 0)
    return FALSE;
  LogEntry *before = &g_array_index (self->entries, LogEntry, self->entries->len - 1);
  if (before->len != entry->len
      || memcmp (self->text->str + before->body, self->text->str + entry->body, entry->len) != 0)
    return FALSE;
  before->times++;
  g_string_truncate (self->text, entry->from);
  return TRUE;
}

static gboolean
append_records (LogText *self, const DbrNodeList *list, GError **error)
{
  for (guint i = 0; i < dbr_node_list_size (list); i++)
    {
      LogEntry entry = { 0 };
      gboolean is_shown = FALSE;
      if (!append_record (self, dbr_node_list_get (list, i), &entry, &is_shown, error))
        return FALSE;
      if (is_shown && !fold_entry (self, &entry))
        g_array_append_val (self->entries, entry);
    }
  return TRUE;
}

enum
{
  DATE_BYTES = 11,
  REPEATED_BYTES = 32
};

static gsize
entry_size (const LogText *self, guint i)
{
  const LogEntry *entry = &g_array_index (self->entries, LogEntry, i);
  const LogEntry *before = i > 0 ? entry - 1 : entry;
  gsize date = g_str_equal (entry->date, before->date) ? 0 : DATE_BYTES;
  gsize times = entry->times > 1 ? REPEATED_BYTES : 0;
  return (entry->body - entry->from) + entry->len + 1 + times + date;
}

/* The first entry of those that are shown: as many of the newest as fit. */
static guint
first_shown (const LogText *self, gsize room, guint limit)
{
  guint first = self->entries->len;
  gsize used = DATE_BYTES; /* the first one always shows its date */
  while (first > 0 && self->entries->len - first < limit)
    {
      gsize size = entry_size (self, first - 1);
      if (used + size > room)
        break;
      used += size;
      first--;
    }
  return first;
}

static GString *
shown_text (const LogText *self, guint first)
{
  GString *out = g_string_new (NULL);
  const char *date = "";
  for (guint i = first; i < self->entries->len; i++)
    {
      const LogEntry *entry = &g_array_index (self->entries, LogEntry, i);
      if (entry->date[0] && !g_str_equal (entry->date, date))
        {
          date = entry->date;
          g_string_append_printf (out, "%s ", date);
        }
      g_string_append_len (out, self->text->str + entry->from,
                           (gssize) (entry->body - entry->from + entry->len));
      if (entry->times > 1)
        g_string_append_printf (out, " (repeated %u times)", entry->times);
      g_string_append_c (out, '\n');
    }
  return out;
}

static void
put_log (Render *render, LogText *log, guint limit, guint indent)
{
  const gsize fences = 160 + 2 * (render->env->boundary ? strlen (render->env->boundary) : 8);
  gsize end = render->is_full ? 0 : render->soft_end;
  gsize room = end > render->out->len + fences ? end - render->out->len - fences : 0;
  guint first = first_shown (log, room, limit);
  guint n = log->entries->len;
  if (first > 0 && n - first < limit)
    render->is_full = TRUE;
  if (first == n)
    {
      render_printf (render, indent, "(%u log %s left out: no room)", n, n == 1 ? "line" : "lines");
      return;
    }
  g_autoptr (GString) text = shown_text (log, first);
  /* Keys that go over several records are seen only here. */
  dbr_mask_apply (render->env->mask, text, 0, DBR_MASK_SHAPES);
  g_autofree char *boundary = render_boundary (render, text->str, text->len);
  if (first > 0)
    render_printf (render, indent, "(%u earlier %s left out)", first,
                   first == 1 ? "line" : "lines");
  render_printf (render, indent, "--- log %s ---", boundary);
  render_put_line (render, text->str, text->len - 1);
  render_printf (render, indent, "--- end %s ---", boundary);
}

gboolean
render_log (Render *self, const Element *element, guint indent, GError **error)
{
  g_auto (DbrNodeList) list;
  guint limit = 0;
  dbr_node_list_init (&list);
  if (!render_items (self, element, &list, error)
      || !render_limit (self, element, G_MAXUINT, &limit, error))
    return FALSE;
  g_autoptr (GString) text = g_string_sized_new (4096);
  g_autoptr (GString) scratch = g_string_new (NULL);
  g_autoptr (GString) value = g_string_new (NULL);
  g_autoptr (GArray) entries = g_array_new (FALSE, FALSE, sizeof (LogEntry));
  LogText log = { self, self->env->log_style, text, scratch, value, entries };
  if (!append_records (&log, &list, error))
    return FALSE;
  for (guint i = 0; i < dbr_node_list_size (&list); i++)
    render_collect (self, dbr_node_list_get (&list, i), DBR_MASK_SHAPES);
  if (entries->len > 0)
    put_log (self, &log, limit, indent);
  return TRUE;
}
