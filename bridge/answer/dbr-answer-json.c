/* SPDX-License-Identifier: Apache-2.0 */
/* dbr-answer-json: values as JSON, cut at whole elements where they don't fit; and texts byte for
 * byte. */
#include "config.h"

#include "dbr-answer-priv.h"
#include <string.h>

#define NO_LIMIT G_MAXSIZE
#define MAX_NAMED_CUTS 3u

typedef struct
{
  GString *out;
  GString *scratch;
  gsize end;             /* of out: not to be passed */
  gsize array_bytes;     /* an array stops behind the element that passes this */
  gsize string_bytes;    /* a string is cut behind so many */
  gboolean cuts_objects; /* objects end as arrays do: the last resort */
  gboolean is_too_long;
  guint n_cut; /* elements left out */
  guint n_cut_strings;
  GString *cuts; /* "name: 70 of 100" of the first arrays that were cut; nullable */
  guint n_named;
} Writer;

static gboolean
is_plain_json (const char *raw, gsize len)
{
  for (gsize i = 0; i < len; i++)
    if ((guint8) raw[i] < 0x20 || (guint8) raw[i] >= 0x7f)
      return FALSE;
  return TRUE;
}

static void
append_escape (GString *out, gunichar c)
{
  if (c < 0x10000)
    {
      g_string_append_printf (out, "\\u%04x", c);
      return;
    }
  c -= 0x10000;
  g_string_append_printf (out, "\\u%04x\\u%04x", 0xd800 + (c >> 10), 0xdc00 + (c & 0x3ff));
}

static gboolean
is_unseen (gunichar c)
{
  /* Fillers and blanks that Unicode counts as letters or symbols. */
  static const gunichar blanks[]
      = { 0x34f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x2800, 0x3164, 0xffa0 };
  for (guint i = 0; i < G_N_ELEMENTS (blanks); i++)
    if (c == blanks[i])
      return TRUE;
  GUnicodeType type = g_unichar_type (c);
  return type == G_UNICODE_CONTROL || type == G_UNICODE_FORMAT || type == G_UNICODE_LINE_SEPARATOR
         || type == G_UNICODE_PARAGRAPH_SEPARATOR || (c >= 0xfe00 && c <= 0xfe0f)
         || (c >= 0xe0000 && c <= 0xe0fff);
}

/* A string with what can't be seen as \u escapes: it shows all, and means what it meant. */
static void
append_string (GString *out, const char *text, gsize len, GString *scratch)
{
  g_string_truncate (scratch, 0);
  dbr_text_append_valid (scratch, text, (gssize) len);
  g_autoptr (GString) quoted = g_string_sized_new (scratch->len + 2);
  dbr_text_append_json_string (quoted, scratch->str, (gssize) scratch->len);
  const char *end = quoted->str + quoted->len;
  for (const char *p = quoted->str; p < end;)
    {
      const char *next = p + g_utf8_skip[(guint8) *p];
      gunichar c = (guint8) *p < 0x80 ? (gunichar) *p : g_utf8_get_char (p);
      if (c >= 0x80 && is_unseen (c))
        append_escape (out, c);
      else
        g_string_append_len (out, p, next - p);
      p = next;
    }
}

static void
write_value (Writer *self, DbrJson node, const char *name);

static void
write_string (Writer *self, DbrJson node)
{
  gsize raw_len = 0;
  const char *raw = dbr_json_raw (node, &raw_len);
  if (raw && raw_len <= self->string_bytes && is_plain_json (raw, raw_len))
    {
      g_string_append_len (self->out, raw, (gssize) raw_len);
      return;
    }
  gsize len = 0;
  g_autoptr (GString) decoded = g_string_new (NULL);
  const char *text = dbr_json_string (node, decoded, &len);
  gsize keep = dbr_text_cut_length (text, len, self->string_bytes);
  if (keep == len)
    {
      append_string (self->out, text, len, self->scratch);
      return;
    }
  self->n_cut_strings++;
  g_autoptr (GString) cut = g_string_new_len (text, (gssize) keep);
  g_string_append_printf (cut, "… (%" G_GSIZE_FORMAT " more bytes)", len - keep);
  append_string (self->out, cut->str, cut->len, self->scratch);
}

static void
note_cut (Writer *self, const char *name, guint shown, guint count)
{
  self->n_cut += count - shown;
  if (count == shown || !self->cuts || self->n_named == MAX_NAMED_CUTS)
    return;
  g_string_append_printf (self->cuts, "%s", self->n_named++ > 0 ? ", " : "");
  gsize len = strlen (name);
  gsize keep = dbr_text_cut_length (name, len, 60);
  dbr_text_append_safe (self->cuts, name, (gssize) keep, DBR_TEXT_ONE_LINE);
  g_string_append_printf (self->cuts, "%s %u of %u", keep < len ? "…" : "", shown, count);
}

/* Where a container stood before the element in hand, to take that back. */
typedef struct
{
  gsize from;   /* the container's beginning */
  gsize before; /* the element's */
  gsize cuts_len;
  guint n_cut, n_cut_strings, n_named;
} Mark;

static void
set_mark (const Writer *self, Mark *mark)
{
  mark->before = self->out->len;
  mark->cuts_len = self->cuts ? self->cuts->len : 0;
  mark->n_cut = self->n_cut;
  mark->n_cut_strings = self->n_cut_strings;
  mark->n_named = self->n_named;
}

/* Whether the container ends with the element in hand: it is taken back, unless it is the first and was cut
 * inside itself (otherwise a list in a list would leave nothing of both);
 * one that found no room at all leaves the attempt to fail, down to the last one with no elements. */
static gboolean
ends_here (Writer *self, const Mark *mark, guint *shown)
{
  if (self->out->len - mark->from <= self->array_bytes)
    return FALSE;
  gboolean was_cut = self->n_cut > mark->n_cut || (self->is_too_long && self->array_bytes > 0);
  if (*shown == 0 && was_cut)
    {
      (*shown)++;
      return TRUE;
    }
  g_string_truncate (self->out, mark->before);
  if (self->cuts)
    g_string_truncate (self->cuts, mark->cuts_len);
  self->n_cut = mark->n_cut;
  self->n_cut_strings = mark->n_cut_strings;
  self->n_named = mark->n_named;
  self->is_too_long = FALSE;
  return TRUE;
}

static void
write_member (Writer *self, DbrJson value)
{
  gsize len = 0;
  g_autoptr (GString) decoded = g_string_new (NULL);
  const char *key = dbr_json_string (dbr_json_key (value), decoded, &len);
  g_autofree char *name = g_strndup (key ? key : "", key ? len : 0);
  append_string (self->out, key ? key : "", key ? len : 0, self->scratch);
  g_string_append_c (self->out, ':');
  write_value (self, value, name);
}

/* An array or an object. */
static void
write_container (Writer *self, DbrJson container, const char *name)
{
  gboolean is_object = dbr_json_type (container) == DBR_JSON_OBJECT;
  gboolean may_end = !is_object || self->cuts_objects;
  Mark mark = { .from = self->out->len };
  guint shown = 0;
  g_string_append_c (self->out, is_object ? '{' : '[');
  for (DbrJson value = dbr_json_first (container); dbr_json_exists (value) && !self->is_too_long;
       value = dbr_json_next (value))
    {
      set_mark (self, &mark);
      if (shown > 0)
        g_string_append_c (self->out, ',');
      if (is_object)
        write_member (self, value);
      else
        write_value (self, value, name);
      if (may_end && ends_here (self, &mark, &shown))
        {
          note_cut (self, name, shown, dbr_json_count (container));
          break;
        }
      shown++;
    }
  g_string_append_c (self->out, is_object ? '}' : ']');
}

static void
write_value (Writer *self, DbrJson node, const char *name)
{
  switch (dbr_json_type (node))
    {
    case DBR_JSON_STRING:
      write_string (self, node);
      break;
    case DBR_JSON_ARRAY:
    case DBR_JSON_OBJECT:
      write_container (self, node, name);
      break;
    case DBR_JSON_NULL:
    case DBR_JSON_BOOLEAN:
    case DBR_JSON_NUMBER:
      dbr_json_append (node, self->out);
      break;
    case DBR_JSON_NOTHING:
    default:
      g_string_append (self->out, "null");
      break;
    }
  if (self->out->len > self->end)
    self->is_too_long = TRUE;
}

/* One attempt. FALSE: it doesn't fit. */
static gboolean
write_bounded (Writer *self, DbrJson node, gsize room, gsize array_bytes, gsize string_bytes)
{
  g_string_truncate (self->out, 0);
  if (self->cuts)
    g_string_truncate (self->cuts, 0);
  self->end = room;
  self->array_bytes = array_bytes;
  self->string_bytes = string_bytes;
  self->is_too_long = FALSE;
  self->n_cut = self->n_cut_strings = self->n_named = 0;
  write_value (self, node, "the value");
  return !self->is_too_long && self->out->len <= room;
}

/* The most that arrays may take so that the whole fits: tried by halves. */
static gboolean
write_cut (Writer *self, DbrJson node, gsize room, gsize string_bytes)
{
  gsize low = 0, high = room;
  if (!write_bounded (self, node, room, low, string_bytes))
    return FALSE;
  while (high - low > 16)
    {
      gsize middle = low + (high - low) / 2;
      if (write_bounded (self, node, room, middle, string_bytes))
        low = middle;
      else
        high = middle;
    }
  return write_bounded (self, node, room, low, string_bytes);
}

static gboolean
write_fitting (Writer *self, DbrJson node, gsize room)
{
  static const gsize string_bytes[] = { NO_LIMIT, 4000, 400, 40 };
  if (write_bounded (self, node, room, NO_LIMIT, NO_LIMIT))
    return TRUE;
  for (guint i = 0; i < 2 * G_N_ELEMENTS (string_bytes); i++)
    {
      self->cuts_objects = i >= G_N_ELEMENTS (string_bytes);
      if (write_cut (self, node, room, string_bytes[i % G_N_ELEMENTS (string_bytes)]))
        return TRUE;
    }
  return FALSE;
}

void
answer_append_json (DbrJson node, GString *out)
{
  g_autoptr (GString) scratch = g_string_new (NULL);
  Writer writer = { .out = out,
                    .scratch = scratch,
                    .end = NO_LIMIT,
                    .array_bytes = NO_LIMIT,
                    .string_bytes = NO_LIMIT };
  write_value (&writer, node, "");
}

/* ------------------------------------------------------------------------------------- the element
 */

static gsize
room_left (const Render *self, gsize for_words)
{
  gsize end = self->is_full ? self->hard_end : self->soft_end;
  gsize used = self->out->len + for_words;
  return end > used ? end - used : 0;
}

static gboolean
put_json (Render *self, DbrJson node, guint indent)
{
  g_autoptr (GString) out = g_string_new (NULL);
  g_autoptr (GString) scratch = g_string_new (NULL);
  g_autoptr (GString) cuts = g_string_new (NULL);
  Writer writer = { .out = out, .scratch = scratch, .cuts = cuts };
  gsize room = room_left (self, 400);
  gboolean fits = write_fitting (&writer, node, room);
  dbr_mask_apply (self->env->mask, out, 0, DBR_MASK_SHAPES);
  /* A mark may be longer than the secret that it hides. */
  if (!fits || out->len > room + 200)
    {
      self->is_full = TRUE;
      render_printf (self, indent, "(A JSON value is left out: no room.)");
      return TRUE;
    }
  render_put_line (self, out->str, out->len);
  if (writer.n_cut == 0 && writer.n_cut_strings == 0)
    return TRUE;
  self->is_full = TRUE;
  if (writer.n_cut > 0)
    render_printf (self, indent, "(Cut to fit; shown: %s%s.)", cuts->str,
                   writer.n_named == MAX_NAMED_CUTS ? " and more" : "");
  if (writer.n_cut_strings > 0)
    render_printf (self, indent, "(Cut to fit: %u long %s.)", writer.n_cut_strings,
                   writer.n_cut_strings == 1 ? "string" : "strings");
  return TRUE;
}

gboolean
render_json (Render *self, const Element *element, guint indent, GError **error)
{
  g_auto (DbrNodeList) list;
  dbr_node_list_init (&list);
  if (!render_select (self, element->in, &list, error))
    return FALSE;
  for (guint i = 0; i < dbr_node_list_size (&list); i++)
    {
      DbrJson node = dbr_node_list_get (&list, i);
      if (!put_json (self, node, indent))
        return FALSE;
      render_collect (self, node, DBR_MASK_SHAPES);
    }
  return TRUE;
}

/* ---------------------------------------------------------------------------------------- verbatim
 */

/* Half a surrogate pair: it has no UTF-8, and decoding would put something else in its place. */
static gboolean
has_lone_surrogate (const char *raw, gsize len)
{
  for (gsize i = 0; i + 5 < len; i++)
    {
      if (raw[i] != '\\')
        continue;
      if (raw[++i] != 'u' || (raw[i + 1] | 0x20) != 'd' || g_ascii_xdigit_value (raw[i + 2]) < 8)
        continue;
      gboolean is_high = g_ascii_xdigit_value (raw[i + 2]) < 12;
      gboolean has_low = i + 10 < len && raw[i + 5] == '\\' && raw[i + 6] == 'u'
                         && (raw[i + 7] | 0x20) == 'd' && g_ascii_xdigit_value (raw[i + 8]) >= 12;
      if (!is_high || !has_low)
        return TRUE;
      i += 10;
    }
  return FALSE;
}

/* Why a text can't be given as it is; NULL: it can. */
static const char *
verbatim_obstacle (const Render *self, DbrJson node, const char *text, gsize len)
{
  gsize raw_len = 0;
  const char *raw = dbr_json_raw (node, &raw_len);
  if (!g_utf8_validate_len (text, len, NULL) || (raw && has_lone_surrogate (raw, raw_len)))
    return "it is not valid UTF-8 text";
  if (len + 200 > room_left (self, 0))
    return "it doesn't fit";
  g_autoptr (GString) masked = g_string_new_len (text, (gssize) len);
  dbr_mask_apply (self->env->mask, masked, 0, DBR_MASK_OWN);
  if (masked->len != len || memcmp (masked->str, text, len) != 0)
    return "it holds a secret of this server";
  return NULL;
}

static void
put_verbatim (Render *self, DbrJson node)
{
  gsize len = 0;
  g_autoptr (GString) scratch = g_string_new (NULL);
  const char *text = dbr_json_string (node, scratch, &len);
  const char *obstacle = verbatim_obstacle (self, node, text, len);
  if (obstacle)
    {
      render_printf (self, 0, "(A text of %" G_GSIZE_FORMAT " bytes is left out: %s.)", len,
                     obstacle);
      return;
    }
  g_autofree char *boundary = render_boundary (self, text, len);
  gboolean has_end = len > 0 && text[len - 1] == '\n';
  render_printf (self, 0, "--- text %s ---", boundary);
  render_put_line (self, text, has_end ? len - 1 : len);
  render_printf (self, 0, has_end ? "--- end %s ---" : "--- end %s, without a line break ---",
                 boundary);
}

gboolean
render_verbatim (Render *self, const Element *element, guint indent, GError **error)
{
  g_auto (DbrNodeList) list;
  dbr_node_list_init (&list);
  if (!render_select (self, element->in, &list, error))
    return FALSE;
  for (guint i = 0; i < dbr_node_list_size (&list); i++)
    {
      DbrJson node = dbr_node_list_get (&list, i);
      DbrJsonType type = dbr_json_type (node);
      if (type == DBR_JSON_STRING)
        put_verbatim (self, node);
      else if (type != DBR_JSON_NULL && !put_json (self, node, indent))
        return FALSE;
      render_collect (self, node, DBR_MASK_OWN);
    }
  return TRUE;
}
