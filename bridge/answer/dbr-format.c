/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-format: reading formats and leading values through them. Formats that look at one value are
 * applied to every item; those that look at all of them change the list. A value that a format
 * can't read stays as it is.
 */
#include "config.h"

#include "dbr-format-priv.h"
#include "dbr-nearest.h"
#include <string.h>

typedef enum
{
  TAKES_NOTHING,
  TAKES_NUMBER, /* needed */
  TAKES_OPTIONAL_NUMBER,
  TAKES_OPTIONAL_WORD, /* word or word/plural */
  TAKES_PAIR,          /* A/B */
} Takes;

/* In the order of DbrFormatKind, which is the alphabet's. */
static const struct
{
  const char *name;
  DbrFormatKind kind;
  Takes takes;
} formats[] = {
  { "ago", DBR_FORMAT_AGO, TAKES_NOTHING },
  { "basename", DBR_FORMAT_BASENAME, TAKES_NOTHING },
  { "bytes", DBR_FORMAT_BYTES, TAKES_NOTHING },
  { "count", DBR_FORMAT_COUNT, TAKES_OPTIONAL_WORD },
  { "cut", DBR_FORMAT_CUT, TAKES_NUMBER },
  { "distinct", DBR_FORMAT_DISTINCT, TAKES_NOTHING },
  { "duration", DBR_FORMAT_DURATION, TAKES_NOTHING },
  { "first", DBR_FORMAT_FIRST, TAKES_NOTHING },
  { "flat", DBR_FORMAT_FLAT, TAKES_NOTHING },
  { "json", DBR_FORMAT_JSON, TAKES_NOTHING },
  { "json-text", DBR_FORMAT_JSON_TEXT, TAKES_NOTHING },
  { "last", DBR_FORMAT_LAST, TAKES_NOTHING },
  { "last-line", DBR_FORMAT_LAST_LINE, TAKES_NOTHING },
  { "limit", DBR_FORMAT_LIMIT, TAKES_NUMBER },
  { "lines", DBR_FORMAT_LINES, TAKES_OPTIONAL_NUMBER },
  { "max", DBR_FORMAT_MAX, TAKES_NOTHING },
  { "median", DBR_FORMAT_MEDIAN, TAKES_NOTHING },
  { "min", DBR_FORMAT_MIN, TAKES_NOTHING },
  { "one-line", DBR_FORMAT_ONE_LINE, TAKES_NOTHING },
  { "quote", DBR_FORMAT_QUOTE, TAKES_OPTIONAL_NUMBER },
  { "ranges", DBR_FORMAT_RANGES, TAKES_NOTHING },
  { "shape", DBR_FORMAT_SHAPE, TAKES_NOTHING },
  { "sum", DBR_FORMAT_SUM, TAKES_NOTHING },
  { "tally", DBR_FORMAT_TALLY, TAKES_NOTHING },
  { "time", DBR_FORMAT_TIME, TAKES_NOTHING },
  { "until", DBR_FORMAT_UNTIL, TAKES_NOTHING },
  { "words", DBR_FORMAT_WORDS, TAKES_NOTHING },
  { "yes", DBR_FORMAT_YES, TAKES_PAIR },
};

/* ------------------------------------------------------------------------------------- reading */

static char *
unknown_message (const char *name)
{
  const char *known[G_N_ELEMENTS (formats) + 1] = { NULL };
  for (guint i = 0; i < G_N_ELEMENTS (formats); i++)
    known[i] = formats[i].name;
  const char *nearest = dbr_nearest (name, known);
  if (nearest)
    return g_strdup_printf ("there is no format \"%s\"; did you mean \"%s\"?", name, nearest);
  g_autoptr (GString) list = g_string_new (known[0]);
  for (guint i = 1; known[i]; i++)
    g_string_append_printf (list, ", %s", known[i]);
  return g_strdup_printf ("there is no format \"%s\"; there are %s", name, list->str);
}

static gboolean
read_number (DbrFormat *self, const char *name, const char *argument, char **out_message)
{
  guint64 number = 0;
  if (!g_ascii_string_to_unsigned (argument, 10, 1, 1000000, &number, NULL))
    {
      *out_message = g_strdup_printf (
          "%s:%s: expected a whole number from 1 to 1000000 behind the colon", name, argument);
      return FALSE;
    }
  self->number = (guint) number;
  return TRUE;
}

static gboolean
read_argument (
    DbrFormat *self, Takes takes, const char *name, const char *argument, char **out_message)
{
  const char *slash = argument ? strchr (argument, '/') : NULL;
  switch (takes)
    {
    case TAKES_NUMBER:
      return read_number (self, name, argument ? argument : "", out_message);
    case TAKES_OPTIONAL_NUMBER:
      return !argument || read_number (self, name, argument, out_message);
    case TAKES_OPTIONAL_WORD:
      if (!argument)
        return TRUE;
      self->one = slash ? g_strndup (argument, (gsize) (slash - argument)) : g_strdup (argument);
      self->other = slash ? g_strdup (slash + 1) : g_strconcat (argument, "s", NULL);
      return TRUE;
    case TAKES_PAIR:
      if (!slash)
        {
          *out_message = g_strdup_printf (
              "%s takes two texts, \"%s:A/B\"; one of them may be empty", name, name);
          return FALSE;
        }
      self->one = g_strndup (argument, (gsize) (slash - argument));
      self->other = g_strdup (slash + 1);
      return TRUE;
    case TAKES_NOTHING:
    default:
      if (argument)
        *out_message = g_strdup_printf ("the format \"%s\" takes no argument", name);
      return !argument;
    }
}

gboolean
dbr_format_init (DbrFormat *self, const char *text, gsize len, char **out_message)
{
  *self = (DbrFormat){ 0 };
  const char *colon = memchr (text, ':', len);
  g_autofree char *name = g_strstrip (g_strndup (text, colon ? (gsize) (colon - text) : len));
  g_autofree char *argument
      = colon ? g_strndup (colon + 1, len - (gsize) (colon + 1 - text)) : NULL;
  for (guint i = 0; i < G_N_ELEMENTS (formats); i++)
    if (g_str_equal (name, formats[i].name))
      {
        self->kind = formats[i].kind;
        return read_argument (self, formats[i].takes, name, argument, out_message);
      }
  *out_message = unknown_message (name);
  return FALSE;
}

void
dbr_format_clear (DbrFormat *self)
{
  g_clear_pointer (&self->one, g_free);
  g_clear_pointer (&self->other, g_free);
}

/* --------------------------------------------------------------------------------------- state */

DbrFormatState *
dbr_format_state_new (void)
{
  DbrFormatState *self = g_new0 (DbrFormatState, 1);
  self->items = g_array_new (FALSE, FALSE, sizeof (DbrFormatItem));
  self->arena = g_string_new (NULL);
  self->scratch = g_string_new (NULL);
  self->work = g_string_new (NULL);
  self->docs = g_ptr_array_new_with_free_func ((GDestroyNotify) dbr_json_doc_unref);
  return self;
}

void
dbr_format_state_reset (DbrFormatState *self, gint64 now_us)
{
  g_array_set_size (self->items, 0);
  g_string_truncate (self->arena, 0);
  if (self->docs->len > 0)
    g_ptr_array_set_size (self->docs, 0);
  self->more = 0;
  self->is_lines = self->is_quote = FALSE;
  self->max_lines = 0;
  self->now_us = now_us;
}

void
dbr_format_state_add_node (DbrFormatState *self, DbrJson node)
{
  DbrFormatItem item = { node, 0, 0 };
  g_array_append_val (self->items, item);
}

void
dbr_format_state_add_text (DbrFormatState *self, const char *text, gsize len)
{
  DbrFormatItem item = { DBR_JSON_NONE, self->arena->len, len };
  g_string_append_len (self->arena, text, (gssize) len);
  g_array_append_val (self->items, item);
}

void
dbr_format_append_node (DbrJson node, GString *scratch, GString *out)
{
  gsize len = 0;
  const char *text = NULL;
  switch (dbr_json_type (node))
    {
    case DBR_JSON_STRING:
      text = dbr_json_string (node, scratch, &len);
      break;
    case DBR_JSON_NUMBER:
    case DBR_JSON_BOOLEAN:
      text = dbr_json_raw (node, &len);
      if (!text)
        dbr_json_append (node, out);
      break;
    case DBR_JSON_ARRAY:
    case DBR_JSON_OBJECT:
      dbr_json_append (node, out);
      break;
    case DBR_JSON_NOTHING:
    case DBR_JSON_NULL:
    default:
      break;
    }
  if (text)
    g_string_append_len (out, text, (gssize) len);
}

const char *
dbr_format_state_text (DbrFormatState *self, guint i, gsize *out_len)
{
  const DbrFormatItem *item = &g_array_index (self->items, DbrFormatItem, i);
  if (!dbr_json_exists (item->node))
    {
      *out_len = item->len;
      return self->arena->str + item->from;
    }
  if (dbr_json_type (item->node) == DBR_JSON_STRING)
    return dbr_json_string (item->node, self->scratch, out_len);
  g_string_truncate (self->scratch, 0);
  dbr_format_append_node (item->node, NULL, self->scratch);
  *out_len = self->scratch->len;
  return self->scratch->str;
}

static gboolean
is_empty_item (const DbrFormatItem *item)
{
  if (!dbr_json_exists (item->node))
    return item->len == 0;
  DbrJsonType type = dbr_json_type (item->node);
  return type == DBR_JSON_NULL
         || (type == DBR_JSON_STRING && dbr_json_string_equals (item->node, ""));
}

gboolean
dbr_format_state_is_empty (const DbrFormatState *self)
{
  for (guint i = 0; i < self->items->len; i++)
    if (!is_empty_item (&g_array_index (self->items, DbrFormatItem, i)))
      return FALSE;
  return TRUE;
}

void
dbr_format_state_join (DbrFormatState *self, GString *out)
{
  gboolean is_first = TRUE;
  for (guint i = 0; i < self->items->len; i++)
    {
      if (is_empty_item (&g_array_index (self->items, DbrFormatItem, i)))
        continue;
      if (!is_first)
        g_string_append_len (out, ", ", 2);
      is_first = FALSE;
      gsize len = 0;
      const char *text = dbr_format_state_text (self, i, &len);
      g_string_append_len (out, text, (gssize) len);
    }
  if (self->more > 0)
    g_string_append_printf (out, " and %u more", self->more);
}

/* ------------------------------------------------------------------------------------ applying */

/* Applies a format of single values to each item. */
static void
apply_each (const DbrFormat *self, DbrFormatState *state)
{
  GString *text = state->work;
  for (guint i = 0; i < state->items->len; i++)
    {
      gsize len = 0;
      const char *old = dbr_format_state_text (state, i, &len);
      DbrFormatItem *item = &g_array_index (state->items, DbrFormatItem, i);
      g_string_truncate (text, 0);
      if (!format_value (self, item->node, old, len, state->now_us, text))
        continue;
      item->node = DBR_JSON_NONE;
      item->from = state->arena->len;
      item->len = text->len;
      g_string_append_len (state->arena, text->str, (gssize) text->len);
    }
}

/* `cut` is about the whole: joins the items first. */
static void
apply_cut (const DbrFormat *self, DbrFormatState *state)
{
  g_autoptr (GString) joined = g_string_new (NULL);
  dbr_format_state_join (state, joined);
  state->more = 0;
  gsize bytes = 0, characters = 0, last = 0;
  while (bytes < joined->len && characters <= self->number)
    {
      if (characters + 1 == self->number)
        last = bytes;
      bytes++;
      while (bytes < joined->len && ((guint8) joined->str[bytes] & 0xc0) == 0x80)
        bytes++;
      characters++;
    }
  if (characters > self->number)
    {
      g_string_truncate (joined, last);
      g_string_append (joined, "…");
    }
  g_array_set_size (state->items, 0);
  dbr_format_state_add_text (state, joined->str, joined->len);
}

void
dbr_format_apply (const DbrFormat *self, DbrFormatState *state)
{
  switch (self->kind)
    {
    case DBR_FORMAT_AGO:
    case DBR_FORMAT_UNTIL:
    case DBR_FORMAT_WORDS:
    case DBR_FORMAT_BASENAME:
    case DBR_FORMAT_BYTES:
    case DBR_FORMAT_DURATION:
    case DBR_FORMAT_JSON:
    case DBR_FORMAT_JSON_TEXT:
    case DBR_FORMAT_FLAT:
    case DBR_FORMAT_LAST_LINE:
    case DBR_FORMAT_SHAPE:
    case DBR_FORMAT_TIME:
    case DBR_FORMAT_YES:
      apply_each (self, state);
      break;
    case DBR_FORMAT_CUT:
      apply_cut (self, state);
      break;
    case DBR_FORMAT_LINES:
    case DBR_FORMAT_QUOTE:
      state->is_lines = TRUE;
      state->is_quote = self->kind == DBR_FORMAT_QUOTE;
      state->max_lines = self->number;
      break;
    case DBR_FORMAT_ONE_LINE:
      state->is_lines = state->is_quote = FALSE;
      break;
    case DBR_FORMAT_COUNT:
    case DBR_FORMAT_DISTINCT:
    case DBR_FORMAT_FIRST:
    case DBR_FORMAT_LAST:
    case DBR_FORMAT_LIMIT:
    case DBR_FORMAT_MAX:
    case DBR_FORMAT_MEDIAN:
    case DBR_FORMAT_MIN:
    case DBR_FORMAT_RANGES:
    case DBR_FORMAT_SUM:
    case DBR_FORMAT_TALLY:
    default:
      format_list (self, state);
      break;
    }
}
