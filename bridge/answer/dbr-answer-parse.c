/* SPDX-License-Identifier: Apache-2.0 */
/* dbr-answer-parse: <answer> and <log-record> from XML to the compiled form. */
#include "config.h"

#include "dbr-answer-priv.h"
#include <glib/gi18n.h>
#include <string.h>

/* Which attributes and children each element takes. */
static const struct
{
  const char *name;
  ElementKind kind;
  const char *attributes, *children;
} kinds[] = {
#define CONTENT "line section each table log verbatim json call when otherwise"
  { "line", ELEMENT_LINE, "offer when indent fails", "" },
  { "section", ELEMENT_SECTION, "offer when title indent", CONTENT },
  { "each", ELEMENT_EACH, "offer when in sort group last limit as indent", CONTENT " more" },
  { "table", ELEMENT_TABLE, "offer when in sort limit indent", "column more" },
  { "log", ELEMENT_LOG, "offer when in limit indent", "" },
  { "verbatim", ELEMENT_VERBATIM, "offer when value", "" },
  { "json", ELEMENT_JSON, "offer when value indent", "" },
  { "call", ELEMENT_CALL, "offer when tool lead indent", "arg" },
  { "when", ELEMENT_WHEN, "offer test", CONTENT },
  { "otherwise", ELEMENT_OTHERWISE, "", CONTENT },
};

/* ------------------------------------------------------------------------------------- freeing */

static void
free_argument (gpointer data)
{
  CallArgument *argument = data;
  g_free (argument->name);
  g_clear_pointer (&argument->from, dbr_json_path_free);
  g_clear_pointer (&argument->value, dbr_template_free);
  g_free (argument);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (CallArgument, free_argument)

static void
free_column (gpointer data)
{
  Column *column = data;
  g_free (column->title);
  g_clear_pointer (&column->cell, dbr_template_free);
  g_free (column);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Column, free_column)

void
element_free (gpointer data)
{
  Element *self = data;
  g_strfreev (self->offers);
  g_clear_pointer (&self->when, dbr_json_path_free);
  g_clear_pointer (&self->text, dbr_template_free);
  g_clear_pointer (&self->in, dbr_json_path_free);
  g_clear_pointer (&self->sort, dbr_json_path_free);
  g_clear_pointer (&self->group, dbr_template_free);
  g_clear_pointer (&self->limit, dbr_template_free);
  g_free (self->as);
  g_free (self->tool);
  g_clear_pointer (&self->children, g_ptr_array_unref);
  g_clear_pointer (&self->more, g_ptr_array_unref);
  g_clear_pointer (&self->columns, g_ptr_array_unref);
  g_clear_pointer (&self->arguments, g_ptr_array_unref);
  g_free (self);
}

void
dbr_answer_free (DbrAnswer *self)
{
  g_ptr_array_unref (self->children);
  g_free (self);
}

void
dbr_log_style_free (DbrLogStyle *self)
{
  g_clear_pointer (&self->time, dbr_json_path_free);
  g_clear_pointer (&self->level, dbr_json_path_free);
  g_clear_pointer (&self->text, dbr_json_path_free);
  g_clear_pointer (&self->source, dbr_json_path_free);
  g_clear_pointer (&self->error, element_free);
  g_free (self);
}

/* ---------------------------------------------------------------------------------- attributes */

static gboolean
convert_error (const xmlNode *node, const char *what, const GError *local, GError **error)
{
  dbr_xml_error (error, DBR_CATALOGUE_ERROR_PLACEHOLDER, node, _ ("%s of <%s>: %s"), what,
                 (const char *) node->name, local->message);
  return FALSE;
}

static gboolean
missing_error (const xmlNode *node, const char *name, GError **error)
{
  dbr_xml_error (error, DBR_CATALOGUE_ERROR_GRAMMAR, node,
                 _ ("<%s> lacks the attribute \"%s\"; add it"), (const char *) node->name, name);
  return FALSE;
}

static gboolean
read_path (const xmlNode *node,
           const char *name,
           DbrJsonPathFlags flags,
           DbrJsonPath **out_path,
           GError **error)
{
  g_autofree char *text = dbr_xml_attribute (node, name);
  g_autoptr (GError) local = NULL;
  if (!text)
    return TRUE;
  *out_path = dbr_json_path_new (text, flags, &local);
  return *out_path || convert_error (node, name, local, error);
}

static gboolean
read_needed_path (const xmlNode *node, const char *name, DbrJsonPath **out_path, GError **error)
{
  if (!read_path (node, name, DBR_JSON_PATH_RELATIVE | DBR_JSON_PATH_VALUE, out_path, error))
    return FALSE;
  return *out_path || missing_error (node, name, error);
}

static gboolean
read_template (const xmlNode *node, const char *name, DbrTemplate **out_template, GError **error)
{
  g_autofree char *text = dbr_xml_attribute (node, name);
  g_autoptr (GError) local = NULL;
  if (!text)
    return TRUE;
  *out_template = dbr_template_new (text, &local);
  return *out_template || convert_error (node, name, local, error);
}

static gboolean
read_content (const xmlNode *node, DbrTemplate **out_template, GError **error)
{
  g_autofree char *text = dbr_xml_text (node);
  g_autoptr (GError) local = NULL;
  *out_template = dbr_template_new (text, &local);
  return *out_template || convert_error (node, "the text", local, error);
}

static gboolean
refuse_text (const xmlNode *node, GError **error)
{
  g_autofree char *text = dbr_xml_text (node);
  if (text[0] == 0)
    return TRUE;
  dbr_xml_error (error, DBR_CATALOGUE_ERROR_GRAMMAR, node,
                 _ ("<%s> holds the text \"%.40s\"; text to print stands in a <line>"),
                 (const char *) node->name, text);
  return FALSE;
}

static gboolean
read_sort (const xmlNode *node, Element *self, GError **error)
{
  g_autofree char *text = dbr_xml_attribute (node, "sort");
  g_autoptr (GError) local = NULL;
  if (!text)
    return TRUE;
  self->descending = text[0] == '-';
  self->sort = dbr_json_path_new (text + (self->descending ? 1 : 0),
                                  DBR_JSON_PATH_RELATIVE | DBR_JSON_PATH_VALUE, &local);
  return self->sort || convert_error (node, "sort", local, error);
}

static gboolean
read_as (const xmlNode *node, Element *self, GError **error)
{
  self->as = dbr_xml_attribute (node, "as");
  if (!self->as)
    return TRUE;
  gboolean is_name = g_ascii_isalpha (self->as[0]);
  for (const char *c = self->as; *c; c++)
    is_name &= g_ascii_isalnum (*c) || *c == '_';
  static const char *const taken[] = { "args", "http", "now", "call", NULL };
  if (is_name && !g_strv_contains (taken, self->as))
    return TRUE;
  dbr_xml_error (
      error, DBR_CATALOGUE_ERROR_GRAMMAR, node,
      _ ("as=\"%s\": expected a name of letters, digits and _ that isn't args, http, now or call"),
      self->as);
  return FALSE;
}

/* ------------------------------------------------------------------------------------ elements */

static Element *
read_element (const xmlNode *node, guint depth, GError **error);

static gboolean
read_children (const xmlNode *node, guint depth, GPtrArray *out, GError **error)
{
  if (!refuse_text (node, error))
    return FALSE;
  for (xmlNode *child = dbr_xml_first_element (node); child; child = dbr_xml_next_element (child))
    {
      if (dbr_xml_is (child, "more") || dbr_xml_is (child, "column") || dbr_xml_is (child, "arg"))
        continue;
      Element *element = read_element (child, depth + 1, error);
      if (!element)
        return FALSE;
      if (element->kind == ELEMENT_OTHERWISE)
        {
          const Element *before = out->len > 0 ? g_ptr_array_index (out, out->len - 1) : NULL;
          if (!before || !before->when)
            {
              dbr_xml_error (
                  error, DBR_CATALOGUE_ERROR_RULE, child,
                  _ ("<otherwise> must stand directly behind an element with a condition "
                     "(<when>, or a when attribute)"));
              element_free (element);
              return FALSE;
            }
        }
      g_ptr_array_add (out, element);
    }
  return TRUE;
}

static gboolean
read_more (const xmlNode *node, guint depth, Element *self, GError **error)
{
  for (xmlNode *child = dbr_xml_first_element (node); child; child = dbr_xml_next_element (child))
    {
      if (!dbr_xml_is (child, "more"))
        continue;
      if (self->more)
        {
          dbr_xml_error (error, DBR_CATALOGUE_ERROR_DUPLICATE, child,
                         _ ("a second <more>: keep one"));
          return FALSE;
        }
      self->more = g_ptr_array_new_with_free_func (element_free);
      if (!dbr_xml_check (child, "", CONTENT, error)
          || !read_children (child, depth + 1, self->more, error))
        return FALSE;
    }
  return TRUE;
}

static gboolean
read_columns (const xmlNode *node, Element *self, GError **error)
{
  for (xmlNode *child = dbr_xml_first_element (node); child; child = dbr_xml_next_element (child))
    {
      if (!dbr_xml_is (child, "column"))
        continue;
      g_autoptr (Column) column = g_new0 (Column, 1);
      column->title = dbr_xml_attribute (child, "title");
      if (!dbr_xml_check (child, "title", "", error))
        return FALSE;
      if (!column->title)
        return missing_error (child, "title", error);
      if (!read_content (child, &column->cell, error))
        return FALSE;
      g_ptr_array_add (self->columns, g_steal_pointer (&column));
    }
  if (self->columns->len > 0)
    return TRUE;
  dbr_xml_error (error, DBR_CATALOGUE_ERROR_GRAMMAR, node,
                 _ ("<table> without a <column>: add one"));
  return FALSE;
}

static gboolean
read_arguments (const xmlNode *node, Element *self, GError **error)
{
  for (xmlNode *child = dbr_xml_first_element (node); child; child = dbr_xml_next_element (child))
    {
      g_autoptr (CallArgument) argument = g_new0 (CallArgument, 1);
      if (!dbr_xml_check (child, "name from value", "", error))
        return FALSE;
      argument->name = dbr_xml_attribute (child, "name");
      if (!argument->name)
        return missing_error (child, "name", error);
      if (!read_path (child, "from", DBR_JSON_PATH_RELATIVE | DBR_JSON_PATH_VALUE, &argument->from,
                      error)
          || !read_template (child, "value", &argument->value, error))
        return FALSE;
      if (!argument->from == !argument->value)
        {
          dbr_xml_error (error, DBR_CATALOGUE_ERROR_GRAMMAR, child,
                         _ ("<arg> takes either \"from\" (a path) or \"value\" (a template)"));
          return FALSE;
        }
      g_ptr_array_add (self->arguments, g_steal_pointer (&argument));
    }
  return TRUE;
}

static char **
read_offers (const xmlNode *node)
{
  g_autofree char *text = dbr_xml_attribute (node, "offer");
  return text ? g_strsplit (text, " ", -1) : NULL;
}

static gboolean
read_list (const xmlNode *node, Element *self, GError **error)
{
  return read_needed_path (node, "in", &self->in, error) && read_sort (node, self, error)
         && read_template (node, "group", &self->group, error)
         && dbr_xml_uint (node, "last", 1, 1000, &self->last, error)
         && read_template (node, "limit", &self->limit, error) && read_as (node, self, error);
}

/* What is special to each kind; attributes and children were checked by name. */
static gboolean
read_body (const xmlNode *node, guint depth, Element *self, GError **error)
{
  switch (self->kind)
    {
    case ELEMENT_LINE:
      return read_content (node, &self->text, error)
             && dbr_xml_yes_no (node, "fails", &self->fails, error);
    case ELEMENT_SECTION:
      if (!read_template (node, "title", &self->text, error))
        return FALSE;
      if (!self->text)
        return missing_error (node, "title", error);
      return read_children (node, depth, self->children, error);
    case ELEMENT_EACH:
      return read_list (node, self, error) && read_children (node, depth, self->children, error)
             && read_more (node, depth, self, error);
    case ELEMENT_TABLE:
      return read_list (node, self, error) && read_columns (node, self, error)
             && read_more (node, depth, self, error);
    case ELEMENT_LOG:
      return refuse_text (node, error) && read_list (node, self, error);
    case ELEMENT_VERBATIM:
    case ELEMENT_JSON:
      return refuse_text (node, error) && read_needed_path (node, "value", &self->in, error);
    case ELEMENT_CALL:
      self->tool = dbr_xml_attribute (node, "tool");
      if (!self->tool)
        return missing_error (node, "tool", error);
      return read_template (node, "lead", &self->text, error) && read_arguments (node, self, error);
    case ELEMENT_WHEN:
      if (!self->when)
        return missing_error (node, "test", error);
      return read_children (node, depth, self->children, error);
    case ELEMENT_OTHERWISE:
    default:
      return read_children (node, depth, self->children, error);
    }
}

static Element *
new_element (ElementKind kind, const xmlNode *node)
{
  Element *self = g_new0 (Element, 1);
  self->kind = kind;
  self->line = (guint) MAX (xmlGetLineNo (node), 0);
  self->children = g_ptr_array_new_with_free_func (element_free);
  self->columns = g_ptr_array_new_with_free_func (free_column);
  self->arguments = g_ptr_array_new_with_free_func (free_argument);
  return self;
}

static Element *
read_element (const xmlNode *node, guint depth, GError **error)
{
  guint k = 0;
  while (k < G_N_ELEMENTS (kinds) && !dbr_xml_is (node, kinds[k].name))
    k++;
  if (k == G_N_ELEMENTS (kinds))
    {
      dbr_xml_error (error, DBR_CATALOGUE_ERROR_GRAMMAR, node,
                     _ ("<%s> can't stand in an answer; there are %s"), (const char *) node->name,
                     CONTENT);
      return NULL;
    }
  if (depth > ANSWER_MAX_DEPTH)
    {
      dbr_xml_error (error, DBR_CATALOGUE_ERROR_XML, node,
                     _ ("more than %u elements in each other"), ANSWER_MAX_DEPTH);
      return NULL;
    }
  g_autoptr (Element) self = new_element (kinds[k].kind, node);
  self->offers = read_offers (node);
  const char *condition = self->kind == ELEMENT_WHEN ? "test" : "when";
  if (!dbr_xml_check (node, kinds[k].attributes, kinds[k].children, error)
      || !dbr_xml_uint (node, "indent", 0, ANSWER_MAX_INDENT, &self->indent, error)
      || !read_path (node, condition, DBR_JSON_PATH_CONDITION, &self->when, error)
      || !read_body (node, depth, self, error))
    return NULL;
  return g_steal_pointer (&self);
}

DbrAnswer *
dbr_answer_new (const xmlNode *answer, GError **error)
{
  g_autoptr (DbrAnswer) self = g_new0 (DbrAnswer, 1);
  self->children = g_ptr_array_new_with_free_func (element_free);
  if (!dbr_xml_check (answer, "", CONTENT, error)
      || !read_children (answer, 0, self->children, error))
    return NULL;
  return g_steal_pointer (&self);
}

DbrLogStyle *
dbr_log_style_new (const xmlNode *log_record, GError **error)
{
  g_autoptr (DbrLogStyle) self = g_new0 (DbrLogStyle, 1);
  const DbrJsonPathFlags flags = DBR_JSON_PATH_RELATIVE;
  if (!dbr_xml_check (log_record, "time level text source", "error", error)
      || !refuse_text (log_record, error)
      || !read_path (log_record, "time", flags, &self->time, error)
      || !read_path (log_record, "level", flags, &self->level, error)
      || !read_path (log_record, "text", flags, &self->text, error)
      || !read_path (log_record, "source", flags, &self->source, error))
    return NULL;
  if (!self->text)
    {
      missing_error (log_record, "text", error);
      return NULL;
    }
  const xmlNode *child = dbr_xml_first_element (log_record);
  if (!child)
    return g_steal_pointer (&self);
  if (dbr_xml_next_element (child))
    {
      dbr_xml_error (error, DBR_CATALOGUE_ERROR_DUPLICATE, child, _ ("a second <error>: keep one"));
      return NULL;
    }
  self->error = new_element (ELEMENT_EACH, child);
  if (!dbr_xml_check (child, "in", "line each section when otherwise", error)
      || !read_needed_path (child, "in", &self->error->in, error)
      || !read_children (child, 1, self->error->children, error))
    return NULL;
  return g_steal_pointer (&self);
}
