/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-template: evaluation. Most placeholders are one string member of the current item: these are
 * looked up and copied without the general evaluator, and nothing is allocated for them.
 */
#include "config.h"

#include "dbr-template-priv.h"
#include <string.h>

G_DEFINE_QUARK (dbr_template_error, dbr_template_error)

/* One value may not fill an answer: beyond this its end is cut off. */
#define MAX_VALUE_BYTES 8000u
#define MAX_LINES_BYTES 16000u
#define MAX_LINE_BYTES 2000u
#define QUOTE "> "
#define QUOTE_COLUMNS 78u /* a terminal that wraps by itself would begin a line without the mark */

/* Where a value goes: raw for requests, made safe for answers. */
typedef struct
{
  GString *out;
  gboolean is_safe;
  guint indent;
} Sink;

/* How a text of several lines stands in an answer. */
typedef struct
{
  guint max_lines; /* 0: all */
  gboolean is_quote;
} Lines;

/* One thread, and no placeholder is evaluated inside another: one set of buffers serves all. */
static DbrFormatState *
shared_state (void)
{
  static DbrFormatState *state = NULL;
  if (!state)
    state = dbr_format_state_new ();
  return state;
}

/* ------------------------------------------------------------------------------------ evaluation
 */

static DbrJson
look_up (const TemplateMembers *members, const DbrJsonPathEnv *env)
{
  DbrJson node = members->from_current ? env->current : env->root;
  for (guint i = 0; i < members->n_names; i++)
    node = dbr_json_get_n (node, members->names[i].name, members->names[i].len);
  return node;
}

static gboolean
budget_error (const TemplateSource *source, GError **error)
{
  g_set_error (error, DBR_TEMPLATE_ERROR, DBR_TEMPLATE_ERROR_BUDGET,
               "{%s} needed more steps than one answer may take", source->text);
  return FALSE;
}

/* Puts the nodes of a source into the state's items; those of computed values are held by it.
 * @member is what look_up() found for a simple one. */
static gboolean
select_nodes (const TemplateSource *source,
              DbrJson member,
              const DbrJsonPathEnv *env,
              DbrFormatState *state,
              GError **error)
{
  if (!source->path)
    {
      dbr_format_state_add_text (state, source->text, strlen (source->text));
      return TRUE;
    }
  if (source->members.is_simple)
    {
      if (dbr_json_exists (member))
        dbr_format_state_add_node (state, member);
      return TRUE;
    }
  g_auto (DbrNodeList) list;
  dbr_node_list_init (&list);
  if (!dbr_json_path_select (source->path, env, &list, NULL))
    return budget_error (source, error);
  for (guint i = 0; i < dbr_node_list_size (&list); i++)
    dbr_format_state_add_node (state, dbr_node_list_get (&list, i));
  for (guint i = 0; list.docs && i < list.docs->len; i++)
    g_ptr_array_add (state->docs, dbr_json_doc_ref (g_ptr_array_index (list.docs, i)));
  return TRUE;
}

static const DbrFormat *
format_at (const TemplateSource *source, guint i)
{
  return &g_array_index (source->formats, DbrFormat, i);
}

/* `count` behind a query that could select several. */
static gboolean
counts_nodes (const TemplateSource *source)
{
  return source->path && !dbr_json_path_is_singular (source->path) && source->formats
         && format_at (source, 0)->kind == DBR_FORMAT_COUNT;
}

/* However many there are: the one number that was selected is not their count. */
static void
become_count (DbrFormatState *state)
{
  char text[16];
  int len = g_snprintf (text, sizeof text, "%u", state->items->len);
  g_array_set_size (state->items, 0);
  dbr_format_state_add_text (state, text, (gsize) len);
}

/* No nodes and `count`: 0, if what was asked about is there at all. */
static gboolean
counts_to_zero (const TemplateSource *source, const DbrJsonPathEnv *env)
{
  if (!counts_nodes (source))
    return FALSE;
  const char *name = g_str_has_prefix (source->text, "$.") ? source->text + 2 : "";
  gsize len = strspn (name, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_");
  return len == 0 || dbr_json_exists (dbr_json_get_n (env->root, name, len));
}

/* Formats for which null and "" are values. */
static gboolean
takes_empty (const TemplateSource *source)
{
  if (!source->formats)
    return FALSE;
  DbrFormatKind kind = format_at (source, 0)->kind;
  return kind == DBR_FORMAT_JSON || kind == DBR_FORMAT_COUNT || kind == DBR_FORMAT_TALLY;
}

/* Evaluates one source into the state. *out_present: it printed something. */
static gboolean
evaluate_source (const TemplateSource *source,
                 DbrJson member,
                 const DbrJsonPathEnv *env,
                 DbrFormatState *state,
                 gboolean *out_present,
                 GError **error)
{
  dbr_format_state_reset (state, env->now_us);
  *out_present = FALSE;
  if (!select_nodes (source, member, env, state, error))
    return FALSE;
  if (state->items->len == 0 ? !counts_to_zero (source, env)
                             : !takes_empty (source) && dbr_format_state_is_empty (state))
    return TRUE;
  if (counts_nodes (source))
    become_count (state);
  for (guint i = 0; source->formats && i < source->formats->len; i++)
    dbr_format_apply (format_at (source, i), state);
  *out_present = !dbr_format_state_is_empty (state);
  return TRUE;
}

/* ----------------------------------------------------------------------------------------- output
 */

static guint
count_lines (const char *text, gsize len)
{
  guint n = 1;
  for (gsize i = 0; i < len; i++)
    n += text[i] == '\n';
  return n;
}

/* At most @max_bytes of a text that is safe already. */
static void
put_cut (GString *out, const char *text, gsize len, gsize max_bytes)
{
  gsize keep = dbr_text_cut_length (text, len, max_bytes);
  g_string_append_len (out, text, (gssize) keep);
  if (keep < len)
    g_string_append_printf (out, "… (%" G_GSIZE_FORMAT " more bytes)", len - keep);
}

static guint
columns_of (gunichar c)
{
  return g_unichar_iszerowidth (c) ? 0 : g_unichar_iswide (c) ? 2 : 1;
}

static gsize
char_length (const char *p)
{
  return (gsize) g_utf8_skip[(guchar) *p];
}

/* One line of a quote, broken at blanks so that each row of it has the mark; a word is never broken. */
static void
put_quoted (const Sink *sink, const char *line, gsize len)
{
  guint width
      = MAX (QUOTE_COLUMNS - MIN (sink->indent, QUOTE_COLUMNS / 2) - (guint) strlen (QUOTE), 1);
  const char *row = line, *blank = NULL;
  const char *end = line + len;
  guint columns = 0, columns_to_blank = 0; /* of the row, and of it up to behind the blank */
  g_string_append (sink->out, QUOTE);
  for (const char *p = line; p < end; p += char_length (p))
    {
      gunichar c = g_utf8_get_char (p);
      columns += columns_of (c);
      if (g_unichar_isspace (c))
        {
          blank = p;
          columns_to_blank = columns;
        }
      if (columns <= width || !blank)
        continue;
      g_string_append_len (sink->out, row, blank - row);
      g_string_append_printf (sink->out, "\n%*s" QUOTE, (int) sink->indent, "");
      row = blank + char_length (blank);
      columns -= columns_to_blank;
      blank = NULL;
    }
  g_string_append_len (sink->out, row, end - row);
  while (sink->out->str[sink->out->len - 1] == ' ')
    g_string_truncate (sink->out, sink->out->len - 1);
}

static void
put_line (const Sink *sink, const Lines *how, const char *line, gsize len)
{
  if (!how->is_quote)
    {
      put_cut (sink->out, line, len, MAX_LINE_BYTES);
      return;
    }
  g_autoptr (GString) cut = g_string_new (NULL);
  put_cut (cut, line, len, MAX_LINE_BYTES);
  put_quoted (sink, cut->str, cut->len);
}

/* Lines of a text, the first where the template stands, the others at the line's own indent. */
static void
put_lines (const Sink *sink, const char *text, gsize len, const Lines *how)
{
  g_autoptr (GString) safe = g_string_sized_new (len + 16);
  dbr_text_append_safe (safe, text, (gssize) len, DBR_TEXT_LINES);
  while (safe->len > 0 && safe->str[safe->len - 1] == '\n')
    g_string_truncate (safe, safe->len - 1);
  const char *p = safe->str;
  const char *end = safe->str + safe->len;
  gsize from = sink->out->len;
  for (guint line = 0;; line++)
    {
      if ((how->max_lines > 0 && line == how->max_lines) || sink->out->len - from > MAX_LINES_BYTES)
        {
          guint left = count_lines (p, (gsize) (end - p));
          g_string_append_printf (sink->out, "(%u more %s)", left, left == 1 ? "line" : "lines");
          return;
        }
      const char *stop = memchr (p, '\n', (gsize) (end - p));
      put_line (sink, how, p, (gsize) ((stop ? stop : end) - p));
      if (!stop)
        return;
      p = stop + 1;
      g_string_append_printf (sink->out, "\n%*s", (int) sink->indent, "");
    }
}

/* The one place where a backend's text enters an answer. @lines: nullable: as one. */
static void
put_text (const Sink *sink, const char *text, gsize len, const Lines *lines)
{
  if (!sink->is_safe)
    g_string_append_len (sink->out, text, (gssize) len);
  else if (lines)
    put_lines (sink, text, len, lines);
  else
    {
      while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r'))
        len--;
      gsize keep = dbr_text_cut_length (text, len, MAX_VALUE_BYTES);
      dbr_text_append_safe (sink->out, text, (gssize) keep, DBR_TEXT_ONE_LINE);
      if (keep < len)
        g_string_append_printf (sink->out, "… (%" G_GSIZE_FORMAT " more bytes)", len - keep);
    }
}

static void
put_state (const Sink *sink, DbrFormatState *state)
{
  const Lines how = { state->max_lines, state->is_quote };
  const Lines *lines = state->is_lines ? &how : NULL;
  if (state->items->len == 1 && state->more == 0)
    {
      gsize len = 0;
      const char *text = dbr_format_state_text (state, 0, &len);
      put_text (sink, text, len, lines);
      return;
    }
  GString *joined = state->work;
  g_string_truncate (joined, 0);
  dbr_format_state_join (state, joined);
  put_text (sink, joined->str, joined->len, lines);
}

typedef enum
{
  SIMPLE_PUT,    /* it stands in the output */
  SIMPLE_ABSENT, /* there is no value, and no format that makes one of nothing */
  SIMPLE_NOT,    /* the general way decides */
} Simple;

/* One member: the way that nearly all values take, there or not. */
static Simple
put_simple (const TemplateSource *source,
            const DbrJsonPathEnv *env,
            const Sink *sink,
            DbrJson *out_member)
{
  *out_member = DBR_JSON_NONE;
  if (!source->members.is_simple)
    return SIMPLE_NOT;
  DbrJson node = *out_member = look_up (&source->members, env);
  DbrJsonType type = dbr_json_type (node);
  gsize len = 0;
  const char *text = NULL;
  if (type == DBR_JSON_NOTHING || (type == DBR_JSON_NULL && !takes_empty (source)))
    return SIMPLE_ABSENT;
  if (source->formats)
    return SIMPLE_NOT;
  if (type == DBR_JSON_STRING)
    text = dbr_json_string (node, shared_state ()->scratch, &len);
  else if (type == DBR_JSON_NUMBER || type == DBR_JSON_BOOLEAN)
    text = dbr_json_raw (node, &len);
  if (!text || len == 0)
    return SIMPLE_NOT;
  put_text (sink, text, len, NULL);
  return SIMPLE_PUT;
}

static gboolean
put_placeholder (const TemplatePart *part,
                 const DbrJsonPathEnv *env,
                 const Sink *sink,
                 gboolean *out_present,
                 GError **error)
{
  *out_present = TRUE;
  for (guint i = 0; i < part->sources->len; i++)
    {
      const TemplateSource *source = g_ptr_array_index (part->sources, i);
      DbrJson member;
      Simple simple = put_simple (source, env, sink, &member);
      if (simple == SIMPLE_PUT)
        return TRUE;
      if (simple == SIMPLE_ABSENT)
        continue;
      DbrFormatState *state = shared_state ();
      gboolean is_present = FALSE;
      if (!evaluate_source (source, member, env, state, &is_present, error))
        return FALSE;
      if (is_present)
        put_state (sink, state);
      dbr_format_state_reset (state, 0);
      if (is_present)
        return TRUE;
    }
  *out_present = FALSE;
  return TRUE;
}

typedef struct
{
  gboolean any; /* a placeholder had a value, or there is none */
  gboolean all; /* every placeholder outside of pieces had one */
} Presence;

static gboolean
put_parts (const DbrTemplate *self,
           const DbrJsonPathEnv *env,
           const Sink *sink,
           Presence *out_presence,
           GError **error)
{
  guint piece = 0;
  gsize piece_from = 0;
  gboolean is_piece_dropped = FALSE;
  gboolean any = FALSE, all = TRUE, has_placeholder = FALSE;
  for (guint i = 0; i < self->parts->len; i++)
    {
      const TemplatePart *part = &g_array_index (self->parts, TemplatePart, i);
      if (part->piece != piece)
        {
          piece = part->piece;
          piece_from = sink->out->len;
          is_piece_dropped = FALSE;
        }
      has_placeholder |= part->sources != NULL;
      if (is_piece_dropped)
        continue;
      gboolean is_present = FALSE;
      if (!part->sources)
        g_string_append_len (sink->out, part->text, (gssize) part->len);
      else if (!put_placeholder (part, env, sink, &is_present, error))
        return FALSE;
      else if (is_present)
        any = TRUE;
      else if (piece == 0)
        all = FALSE;
      else
        {
          g_string_truncate (sink->out, piece_from);
          is_piece_dropped = TRUE;
        }
    }
  out_presence->any = any || !has_placeholder;
  out_presence->all = all;
  return TRUE;
}

/* ----------------------------------------------------------------------------------------- public
 */

const char *
dbr_template_text (const DbrTemplate *self)
{
  return self->text;
}

const char *const *
dbr_template_parameters (const DbrTemplate *self)
{
  return (const char *const *) self->parameters;
}

const char *const *
dbr_template_roots (const DbrTemplate *self)
{
  return (const char *const *) self->roots;
}

gboolean
dbr_template_is_literal (const DbrTemplate *self)
{
  return self->is_literal;
}

guint
dbr_template_n_parts (const DbrTemplate *self)
{
  return self->parts->len;
}

static const TemplatePart *
part_at (const DbrTemplate *self, guint i)
{
  g_assert (i < self->parts->len);
  return &g_array_index (self->parts, TemplatePart, i);
}

const char *
dbr_template_literal (const DbrTemplate *self, guint i)
{
  return part_at (self, i)->sources ? NULL : part_at (self, i)->text;
}

const char *
dbr_template_source (const DbrTemplate *self, guint i)
{
  return part_at (self, i)->sources ? part_at (self, i)->text : NULL;
}

gboolean
dbr_template_value (const DbrTemplate *self,
                    guint i,
                    const DbrJsonPathEnv *env,
                    GString *out,
                    gboolean *out_present,
                    GError **error)
{
  Sink sink = { out, FALSE, 0 };
  g_assert (part_at (self, i)->sources);
  return put_placeholder (part_at (self, i), env, &sink, out_present, error);
}

gboolean
dbr_template_expand (const DbrTemplate *self,
                     const DbrJsonPathEnv *env,
                     GString *out,
                     gboolean *out_present,
                     GError **error)
{
  Sink sink = { out, FALSE, 0 };
  Presence presence = { FALSE, FALSE };
  gboolean is_good = put_parts (self, env, &sink, &presence, error);
  if (out_present)
    *out_present = presence.all;
  return is_good;
}

gboolean
dbr_template_append (const DbrTemplate *self,
                     const DbrJsonPathEnv *env,
                     guint indent,
                     GString *out,
                     gboolean *out_any,
                     GError **error)
{
  Sink sink = { out, TRUE, indent };
  Presence presence = { FALSE, FALSE };
  gboolean is_good = put_parts (self, env, &sink, &presence, error);
  if (out_any)
    *out_any = presence.any;
  return is_good;
}

gboolean
dbr_template_nodes (const DbrTemplate *self,
                    const DbrJsonPathEnv *env,
                    gboolean *out_bare,
                    DbrNodeList *out,
                    GError **error)
{
  *out_bare = FALSE;
  const TemplatePart *part = self->parts->len == 1 ? part_at (self, 0) : NULL;
  if (!part || !part->sources || part->piece)
    return TRUE;
  for (guint i = 0; i < part->sources->len; i++)
    {
      const TemplateSource *source = g_ptr_array_index (part->sources, i);
      if (!source->path || source->formats)
        return TRUE;
    }
  *out_bare = TRUE;
  for (guint i = 0; i < part->sources->len; i++)
    {
      const TemplateSource *source = g_ptr_array_index (part->sources, i);
      guint before = dbr_node_list_size (out);
      if (!dbr_json_path_select (source->path, env, out, NULL))
        return budget_error (source, error);
      for (guint n = before; n < dbr_node_list_size (out); n++)
        {
          DbrJson node = dbr_node_list_get (out, n);
          if (dbr_json_type (node) != DBR_JSON_NULL && !dbr_json_string_equals (node, ""))
            return TRUE;
        }
      g_array_set_size (out->nodes, before);
    }
  return TRUE;
}
