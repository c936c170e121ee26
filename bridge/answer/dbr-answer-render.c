/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-answer-render: the elements that hold others, and the room that all of them share.
 *
 * Whoever loops over records remembers where the record in hand began. A line that finds no room
 * says so in the state; the loop then takes the whole record back and says how many are missing.
 */
#include "config.h"

#include "dbr-answer-priv.h"
#include <string.h>

/* Kept free to the very last, for the one line that says that even the reserve is used up. */
#define LAST_WORD "(More was left out: the answer is full.)\n"

/* ---------------------------------------------------------------------------------------- room */

gsize
render_end (const Render *self)
{
  return self->is_full || self->depth == 0 ? self->hard_end : self->soft_end;
}

void
render_put_line (Render *self, const char *text, gsize len)
{
  if (self->no_room)
    return;
  if (self->out->len + len + 1 > render_end (self))
    {
      self->no_room = TRUE;
      return;
    }
  g_string_append_len (self->out, text, (gssize) len);
  g_string_append_c (self->out, '\n');
}

void
render_printf (Render *self, guint indent, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *text = g_strdup_vprintf (format, args);
  va_end (args);
  g_autofree char *line = g_strdup_printf ("%*s%s", (int) indent, "", text);
  render_put_line (self, line, strlen (line));
}

char *
render_boundary (const Render *self, const char *text, gsize len)
{
  const char *word = self->env->boundary ? self->env->boundary : "data";
  g_autofree char *boundary = g_strdup (word);
  /* A text of n bytes can hold fewer than n such words: this ends. */
  for (guint i = 2; memmem (text, len, boundary, strlen (boundary)); i++)
    {
      g_free (boundary);
      boundary = g_strdup_printf ("%s-%u", word, i);
    }
  return g_steal_pointer (&boundary);
}

/* ---------------------------------------------------------------------------------- evaluation */

void
render_path_env (Render *self, DbrJsonPathEnv *out_env)
{
  *out_env = (DbrJsonPathEnv){
    .root = self->root,
    .current = self->current,
    .now_us = self->env->now_us,
    .graph = self->env->graph,
    .steps_left = &self->steps_left,
  };
}

static gboolean
budget_error (const DbrJsonPath *path, GError **error)
{
  g_set_error (error, DBR_TEMPLATE_ERROR, DBR_TEMPLATE_ERROR_BUDGET,
               "{%s} needed more steps than one answer may take", dbr_json_path_text (path));
  return FALSE;
}

gboolean
render_select (Render *self, const DbrJsonPath *path, DbrNodeList *out, GError **error)
{
  DbrJsonPathEnv env;
  render_path_env (self, &env);
  return dbr_json_path_select (path, &env, out, NULL) || budget_error (path, error);
}

static gboolean
holds (Render *self, const DbrJsonPath *condition, gboolean *out_result, GError **error)
{
  DbrJsonPathEnv env;
  render_path_env (self, &env);
  return dbr_json_path_test (condition, &env, out_result, NULL) || budget_error (condition, error);
}

gboolean
render_limit (
    Render *self, const Element *element, guint unlimited, guint *out_limit, GError **error)
{
  *out_limit = unlimited;
  if (!element->limit)
    return TRUE;
  g_autoptr (GString) text = g_string_new (NULL);
  DbrJsonPathEnv env;
  guint64 limit = 0;
  render_path_env (self, &env);
  if (!dbr_template_expand (element->limit, &env, text, NULL, error))
    return FALSE;
  if (g_ascii_string_to_unsigned (text->str, 10, 0, G_MAXUINT, &limit, NULL))
    *out_limit = MIN ((guint) limit, unlimited);
  return TRUE;
}

/* -------------------------------------------------------------------------------------------- each
 */

/* The root with one more member. */
static DbrJsonDoc *
bind (const Render *self, const char *name, DbrJson node)
{
  g_autoptr (DbrJsonBuilder) builder = dbr_json_builder_new ();
  dbr_json_builder_begin_object (builder);
  for (DbrJson value = dbr_json_first (self->root); dbr_json_exists (value);
       value = dbr_json_next (value))
    {
      g_autofree char *key = dbr_json_dup_string (dbr_json_key (value));
      if (!key || g_str_equal (key, name) || !g_utf8_validate (key, -1, NULL))
        continue;
      dbr_json_builder_key (builder, key);
      dbr_json_builder_link (builder, value);
    }
  dbr_json_builder_key (builder, name);
  dbr_json_builder_link (builder, node);
  dbr_json_builder_end_object (builder);
  return dbr_json_builder_end (builder);
}

gboolean
render_more (
    Render *self, const Element *element, guint shown, guint total, guint indent, GError **error)
{
  guint left = total - shown;
  if (left == 0)
    return TRUE;
  if (!element->more)
    {
      render_printf (self, indent,
                     shown > 0 ? "(%u more of %u not shown)" : "(%u of %u not shown: no room)",
                     left, total);
      return TRUE;
    }
  g_autoptr (DbrJsonBuilder) builder = dbr_json_builder_new ();
  dbr_json_builder_begin_object (builder);
  dbr_json_builder_key (builder, "shown");
  dbr_json_builder_int64 (builder, shown);
  dbr_json_builder_key (builder, "left");
  dbr_json_builder_int64 (builder, left);
  dbr_json_builder_key (builder, "total");
  dbr_json_builder_int64 (builder, total);
  dbr_json_builder_end_object (builder);
  g_autoptr (DbrJsonDoc) doc = dbr_json_builder_end (builder);
  DbrJson outer = self->current;
  self->current = dbr_json_doc_root (doc);
  gboolean is_good = render_children (self, element->more, indent, error);
  self->current = outer;
  return is_good;
}

static gboolean
render_item (Render *self, const Element *element, DbrJson node, guint indent, GError **error)
{
  DbrJson outer = self->current;
  DbrJson outer_root = self->root;
  g_autoptr (DbrJsonDoc) bound = element->as ? bind (self, element->as, node) : NULL;
  if (bound)
    self->root = dbr_json_doc_root (bound);
  self->current = node;
  self->depth++;
  gboolean is_good = render_children (self, element->children, indent, error);
  self->depth--;
  self->current = outer;
  self->root = outer_root;
  return is_good;
}

static void
collect_item (Render *self, const Element *element, DbrJson node)
{
  if (!element->group)
    {
      render_collect (self, node, DBR_MASK_OWN);
      return;
    }
  for (DbrJson member = dbr_json_first (dbr_json_get (node, "items")); dbr_json_exists (member);
       member = dbr_json_next (member))
    render_collect (self, member, DBR_MASK_OWN);
}

static gboolean
render_each (Render *self, const Element *element, guint indent, GError **error)
{
  g_auto (DbrNodeList) list;
  g_autoptr (DbrJsonDoc) groups = NULL;
  guint limit = 0, shown = 0;
  dbr_node_list_init (&list);
  if (!render_items (self, element, &list, error))
    return FALSE;
  if (element->last && element->last < dbr_node_list_size (&list))
    g_array_remove_range (list.nodes, 0, list.nodes->len - element->last);
  if ((element->group && !render_groups (self, element, &list, &groups, error))
      || !render_limit (self, element, dbr_node_list_size (&list), &limit, error))
    return FALSE;
  for (; shown < limit && !self->is_full; shown++)
    {
      gsize before = self->out->len;
      DbrJson node = dbr_node_list_get (&list, shown);
      if (!render_item (self, element, node, indent, error))
        return FALSE;
      if (self->no_room)
        {
          g_string_truncate (self->out, before);
          self->no_room = FALSE;
          self->is_full = TRUE;
          break;
        }
      collect_item (self, element, node);
    }
  return render_more (self, element, shown, dbr_node_list_size (&list), indent, error);
}

/* ------------------------------------------------------------------------------------ the others
 */

/* The line that begins at @from doesn't fit. Inside of a record the loop takes the record back;
 * outside nobody does: a short line takes from the reserve, a long one loses its end. */
static void
line_too_long (Render *self, gsize from)
{
  static const char mark[] = "… (cut: no room)\n";
  gboolean is_record = self->depth > 0 || self->is_full;
  if (!is_record && self->out->len - from < 500 && self->out->len <= self->hard_end)
    self->is_full = TRUE;
  else if (!is_record && from + 200 <= self->soft_end)
    {
      gsize keep
          = dbr_text_cut_length (self->out->str, self->out->len, self->soft_end - sizeof mark);
      g_string_truncate (self->out, keep);
      g_string_append (self->out, mark);
      self->is_full = TRUE;
    }
  else
    {
      self->no_room = TRUE;
      g_string_truncate (self->out, from);
    }
}

static gboolean
render_line (Render *self, const Element *element, guint indent, GError **error)
{
  if (self->no_room)
    return TRUE;
  DbrJsonPathEnv env;
  gsize from = self->out->len;
  gboolean has_any = FALSE;
  render_path_env (self, &env);
  for (guint i = 0; i < indent; i++)
    g_string_append_c (self->out, ' ');
  if (!dbr_template_append (element->text, &env, indent, self->out, &has_any, error))
    {
      g_string_truncate (self->out, from);
      return FALSE;
    }
  while (self->out->len > from && self->out->str[self->out->len - 1] == ' ')
    g_string_truncate (self->out, self->out->len - 1);
  if (!has_any || self->out->len == from)
    {
      g_string_truncate (self->out, from);
      return TRUE;
    }
  /* An exception's message or a parameter's default shows in a line as well as in a log. Our own secrets are
   * looked for once, over the whole answer. */
  dbr_mask_apply (self->env->mask, self->out, from, DBR_MASK_SHAPES | DBR_MASK_OWN_LATER);
  g_string_append_c (self->out, '\n');
  if (self->out->len > (self->is_full ? self->hard_end : self->soft_end))
    line_too_long (self, from);
  if (element->fails && self->env->out_fails)
    *self->env->out_fails = TRUE;
  return TRUE;
}

static gboolean
render_section (Render *self, const Element *element, guint indent, GError **error)
{
  gsize from = self->out->len;
  if (!render_line (self, element, indent, error))
    return FALSE;
  gsize title_end = self->out->len;
  if (self->no_room)
    return TRUE;
  if (!render_children (self, element->children, indent, error))
    return FALSE;
  if (self->out->len == title_end)
    g_string_truncate (self->out, from);
  return TRUE;
}

static gboolean
render_element (Render *self, const Element *element, guint indent, GError **error)
{
  switch (element->kind)
    {
    case ELEMENT_LINE:
      return render_line (self, element, indent, error);
    case ELEMENT_SECTION:
      return render_section (self, element, indent, error);
    case ELEMENT_EACH:
      return render_each (self, element, indent, error);
    case ELEMENT_TABLE:
      return render_table (self, element, indent, error);
    case ELEMENT_LOG:
      return render_log (self, element, indent, error);
    case ELEMENT_VERBATIM:
      return render_verbatim (self, element, indent, error);
    case ELEMENT_JSON:
      return render_json (self, element, indent, error);
    case ELEMENT_CALL:
      return render_call (self, element, indent, error);
    case ELEMENT_WHEN:
    case ELEMENT_OTHERWISE:
    default:
      return render_children (self, element->children, indent, error);
    }
}

/* Outside of records a line that found no room is left out by itself; the last word says so. */
static void
drop_lines (Render *self)
{
  if (self->depth > 0 || !self->no_room)
    return;
  self->no_room = FALSE;
  self->is_full = TRUE;
  self->has_dropped = TRUE;
}

static gboolean
is_offered (const Render *self, const Element *element)
{
  return element->offers == NULL || self->env->offer == NULL
         || g_strv_contains ((const char *const *) element->offers, self->env->offer);
}

gboolean
render_children (Render *self, const GPtrArray *children, guint indent, GError **error)
{
  gboolean any_held = FALSE; /* among the conditions that stand directly before */
  gboolean is_first = TRUE;
  for (guint i = 0; i < children->len && !self->no_room; i++)
    {
      const Element *element = g_ptr_array_index (children, i);
      gboolean is_shown = TRUE;
      if (!is_offered (self, element))
        continue;
      if (element->kind == ELEMENT_OTHERWISE)
        is_shown = !any_held;
      else if (!element->when)
        any_held = FALSE;
      else
        {
          if (!holds (self, element->when, &is_shown, error))
            return FALSE;
          any_held = is_shown || (any_held && !is_first);
        }
      is_first = element->when == NULL;
      if (is_shown && !render_element (self, element, indent + element->indent, error))
        return FALSE;
      drop_lines (self);
    }
  return TRUE;
}

gboolean
dbr_answer_render (const DbrAnswer *self, const DbrAnswerEnv *env, GString *out, GError **error)
{
  gsize max_bytes = env->max_bytes > 0 ? env->max_bytes : DBR_ANSWER_MAX_BYTES;
  gsize last_word = sizeof LAST_WORD - 1;
  gsize start = out->len;
  gsize hard = max_bytes > last_word ? max_bytes - last_word : 0;
  gsize reserve = MIN ((gsize) ANSWER_RESERVE_BYTES, hard / 4);
  Render render = {
    .env = env,
    .root = env->root,
    .current = DBR_JSON_NONE,
    .out = out,
    .soft_end = start + hard - reserve,
    .hard_end = start + hard,
    .steps_left = ANSWER_MAX_STEPS,
  };
  gboolean is_good = render_children (&render, self->children, 0, error);
  if (render.has_dropped && max_bytes > last_word)
    g_string_append (out, LAST_WORD);
  dbr_mask_apply (env->mask, out, start, DBR_MASK_OWN);
  return is_good;
}
