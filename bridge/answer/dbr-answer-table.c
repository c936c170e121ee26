/* SPDX-License-Identifier: Apache-2.0 */
/* dbr-answer-table: tables, and the line that says the exact next call. */
#include "config.h"

#include "dbr-answer-priv.h"
#include <string.h>

#define NO_VALUE "-" /* an empty cell of a column that others fill */

typedef struct
{
  gsize from, len;
} Cell;

typedef struct
{
  GString *text;
  GArray *cells;    /* (element-type Cell), row by row */
  gboolean *filled; /* a column with a value somewhere */
} Table;

static gboolean
fill_row (Render *self, const Element *element, DbrJson node, Table *table, GError **error)
{
  DbrJsonPathEnv env;
  DbrJson outer = self->current;
  self->current = node;
  render_path_env (self, &env);
  self->current = outer;
  for (guint c = 0; c < element->columns->len; c++)
    {
      const Column *column = g_ptr_array_index (element->columns, c);
      Cell cell = { table->text->len, 0 };
      gboolean has_any = FALSE;
      if (!dbr_template_append (column->cell, &env, 0, table->text, &has_any, error))
        return FALSE;
      if (!has_any)
        g_string_truncate (table->text, cell.from);
      cell.len = table->text->len - cell.from;
      /* A cell is one line, `lines` or not. */
      for (gsize i = cell.from; i < table->text->len; i++)
        if (table->text->str[i] == '\n')
          table->text->str[i] = ' ';
      table->filled[c] |= cell.len > 0;
      g_array_append_val (table->cells, cell);
    }
  return TRUE;
}

static void
append_cell (GString *line, const char *text, gsize len, gboolean *is_first)
{
  if (!*is_first)
    g_string_append (line, " | ");
  *is_first = FALSE;
  g_string_append_len (line, text, (gssize) len);
}

static void
make_header (const Element *element, const Table *table, GString *line)
{
  gboolean is_first = TRUE;
  g_string_truncate (line, 0);
  for (guint c = 0; c < element->columns->len; c++)
    {
      const Column *column = g_ptr_array_index (element->columns, c);
      if (table->filled[c])
        append_cell (line, column->title, strlen (column->title), &is_first);
    }
}

static void
make_row (const Element *element, const Table *table, guint row, GString *line)
{
  gboolean is_first = TRUE;
  g_string_truncate (line, 0);
  for (guint c = 0; c < element->columns->len; c++)
    {
      const Cell *cell = &g_array_index (table->cells, Cell, row * element->columns->len + c);
      if (!table->filled[c])
        continue;
      if (cell->len > 0)
        append_cell (line, table->text->str + cell->from, cell->len, &is_first);
      else
        append_cell (line, NO_VALUE, sizeof NO_VALUE - 1, &is_first);
    }
}

static void
put_indented (Render *self, const GString *line, guint indent)
{
  render_printf (self, indent, "%s", line->str);
}

/* Header and rows as far as they fit; returns how many rows. */
static guint
put_table (Render *self, const Element *element, const Table *table, guint n, guint indent)
{
  g_autoptr (GString) line = g_string_new (NULL);
  gsize before = self->out->len;
  guint shown = 0;
  make_header (element, table, line);
  self->depth++;
  if (!self->is_full)
    put_indented (self, line, indent);
  for (; shown < n && !self->no_room && !self->is_full; shown++)
    {
      make_row (element, table, shown, line);
      put_indented (self, line, indent);
      if (self->no_room)
        break;
    }
  self->depth--;
  if (self->no_room)
    {
      self->no_room = FALSE;
      self->is_full = TRUE;
    }
  if (shown == 0)
    g_string_truncate (self->out, before);
  return shown;
}

gboolean
render_table (Render *self, const Element *element, guint indent, GError **error)
{
  g_auto (DbrNodeList) list;
  guint limit = 0;
  dbr_node_list_init (&list);
  if (!render_items (self, element, &list, error)
      || !render_limit (self, element, dbr_node_list_size (&list), &limit, error))
    return FALSE;
  g_autoptr (GString) text = g_string_new (NULL);
  g_autoptr (GArray) cells = g_array_new (FALSE, FALSE, sizeof (Cell));
  g_autofree gboolean *filled = g_new0 (gboolean, element->columns->len);
  Table table = { text, cells, filled };
  guint n = 0;
  /* Rows behind those that could ever fit needn't be made. */
  for (; n < limit && text->len <= self->soft_end; n++)
    if (!fill_row (self, element, dbr_node_list_get (&list, n), &table, error))
      return FALSE;
  guint shown = n > 0 ? put_table (self, element, &table, n, indent) : 0;
  for (guint i = 0; i < shown; i++)
    render_collect (self, dbr_node_list_get (&list, i), DBR_MASK_OWN);
  return render_more (self, element, shown, dbr_node_list_size (&list), indent, error);
}

/* -------------------------------------------------------------------------------------------- call
 */

/* What a template gave, as the JSON that the tool takes there: a string, unless it takes none. */
static void
append_text (Render *self,
             const Element *element,
             const CallArgument *argument,
             const GString *text,
             GString *out)
{
  const DbrAnswerEnv *env = self->env;
  g_autoptr (GString) valid = g_string_new (NULL);
  g_autoptr (DbrJsonDoc) doc = NULL;

  dbr_text_append_valid (valid, text->str, (gssize) text->len);
  if (env->takes_json && env->takes_json (element->tool, argument->name, env->takes_json_data))
    doc = dbr_json_doc_new_from_data (valid->str, (gssize) valid->len, NULL, NULL);
  if (doc == NULL)
    {
      g_autoptr (DbrJsonBuilder) builder = dbr_json_builder_new ();
      dbr_json_builder_string (builder, valid->str, (gssize) valid->len);
      doc = dbr_json_builder_end (builder);
    }
  answer_append_json (dbr_json_doc_root (doc), out);
}

/* The argument's value as JSON; FALSE with *out_absent when there is none. */
static gboolean
append_argument (Render *self,
                 const Element *element,
                 const CallArgument *argument,
                 GString *out,
                 gboolean *out_absent,
                 GError **error)
{
  *out_absent = FALSE;
  if (argument->value)
    {
      DbrJsonPathEnv env;
      gboolean is_present = FALSE;
      g_autoptr (GString) text = g_string_new (NULL);
      render_path_env (self, &env);
      if (!dbr_template_expand (argument->value, &env, text, &is_present, error))
        return FALSE;
      *out_absent = !is_present;
      append_text (self, element, argument, text, out);
      return TRUE;
    }
  g_auto (DbrNodeList) list;
  dbr_node_list_init (&list);
  if (!render_select (self, argument->from, &list, error))
    return FALSE;
  guint n = dbr_node_list_size (&list);
  *out_absent = n == 0 || (n == 1 && dbr_json_type (dbr_node_list_get (&list, 0)) == DBR_JSON_NULL);
  if (*out_absent)
    return TRUE;
  /* A query that can select several gives an array, whatever it selects today. */
  gboolean is_list = !dbr_json_path_is_singular (argument->from);
  if (is_list)
    g_string_append_c (out, '[');
  for (guint i = 0; i < n; i++)
    {
      if (i > 0)
        g_string_append (out, ", ");
      answer_append_json (dbr_node_list_get (&list, i), out);
    }
  if (is_list)
    g_string_append_c (out, ']');
  return TRUE;
}

/* As a shell takes it: a string without its quotes, quoted where the shell would read it otherwise. (transfer full) */
static char *
typed_word (const GString *json)
{
  g_autoptr (DbrJsonDoc) doc
      = dbr_json_doc_new_from_data (json->str, (gssize) json->len, NULL, NULL);
  g_autofree char *string = doc ? dbr_json_dup_string (dbr_json_doc_root (doc)) : NULL;
  g_autofree char *word = dbr_text_dup_shell_word (string ? string : json->str);
  g_autoptr (GString) safe = g_string_new (NULL);

  dbr_text_append_safe (safe, word, -1, DBR_TEXT_ONE_LINE);
  return g_string_free (g_steal_pointer (&safe), FALSE);
}

/* Can it stand without its name? Not quoted, and no option. */
static gboolean
is_bare (const char *word)
{
  return *word != '-' && *word != '\'' && *word != '"';
}

/* The words of all arguments, in their order; NULL for one that is absent. NULL: an error. */
static GPtrArray *
typed_words (Render *self, const Element *element, GError **error)
{
  g_autoptr (GPtrArray) words = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; i < element->arguments->len; i++)
    {
      g_autoptr (GString) json = g_string_new (NULL);
      gboolean is_absent = FALSE;
      if (!append_argument (self, element, g_ptr_array_index (element->arguments, i), json,
                            &is_absent, error))
        return NULL;
      g_ptr_array_add (words, is_absent ? NULL : typed_word (json));
    }
  return g_steal_pointer (&words);
}

/* Where the argument of that name stands among @words; their number: it is not there, or can't stand bare. */
static guint
find_bare (const Element *element, const GPtrArray *words, const char *name)
{
  guint i = 0;

  while (i < words->len
         && strcmp (((CallArgument *) g_ptr_array_index (element->arguments, i))->name, name) != 0)
    i++;
  return i < words->len && words->pdata[i] && is_bare (words->pdata[i]) ? i : words->len;
}

static gboolean
append_typed_arguments (
    Render *self, const Element *element, const char *names, GString *line, GError **error)
{
  g_autoptr (GPtrArray) words = typed_words (self, element, error);
  g_auto (GStrv) bare = g_strsplit (names ? names : "", " ", -1);

  if (!words)
    return FALSE;
  for (guint n = 0; bare[n]; n++)
    {
      guint i = find_bare (element, words, bare[n]);
      if (i == words->len)
        break;
      g_string_append_printf (line, " %s", (char *) words->pdata[i]);
      g_clear_pointer (&words->pdata[i], g_free);
    }
  for (guint i = 0; i < words->len; i++)
    if (words->pdata[i])
      g_string_append_printf (line, " %s=%s",
                              ((CallArgument *) g_ptr_array_index (element->arguments, i))->name,
                              (char *) words->pdata[i]);
  return TRUE;
}

static gboolean
append_arguments (Render *self, const Element *element, GString *line, GError **error)
{
  gboolean is_first = TRUE;
  g_string_append_c (line, '{');
  for (guint i = 0; i < element->arguments->len; i++)
    {
      const CallArgument *argument = g_ptr_array_index (element->arguments, i);
      gsize from = line->len;
      gboolean is_absent = FALSE;
      g_string_append_printf (line, "%s\"%s\": ", is_first ? "" : ", ", argument->name);
      if (!append_argument (self, element, argument, line, &is_absent, error))
        return FALSE;
      if (is_absent)
        g_string_truncate (line, from);
      else
        is_first = FALSE;
    }
  g_string_append_c (line, '}');
  return TRUE;
}

gboolean
render_call (Render *self, const Element *element, guint indent, GError **error)
{
  g_autoptr (GString) line = g_string_new (NULL);
  for (guint i = 0; i < indent; i++)
    g_string_append_c (line, ' ');
  if (element->text)
    {
      DbrJsonPathEnv env;
      gboolean has_any = FALSE;
      render_path_env (self, &env);
      if (!dbr_template_append (element->text, &env, indent, line, &has_any, error))
        return FALSE;
      if (has_any)
        g_string_append (line, ": ");
    }
  const char *names = NULL;
  const char *typed
      = self->env->typed ? self->env->typed (element->tool, &names, self->env->typed_data) : NULL;
  g_string_append_printf (line, "%s%s", typed ? typed : element->tool, typed ? "" : " ");
  if (!(typed ? append_typed_arguments (self, element, names, line, error)
              : append_arguments (self, element, line, error)))
    return FALSE;
  const char *shut = self->env->shut ? self->env->shut (element->tool, self->env->shut_data) : NULL;
  if (shut)
    g_string_append_printf (line, " (%s)", shut);
  render_put_line (self, line->str, line->len);
  return TRUE;
}
