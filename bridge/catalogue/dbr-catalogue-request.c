/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-catalogue-request: <request>: what one request is made of, read but not yet judged.
 *
 * What can be decided within the element is decided here; what needs the rest of the tool
 * (references, access, cycles) is the semantic pass's.
 */
#include "config.h"

#include "dbr-catalogue-priv.h"

#include <glib/gi18n.h>
#include <string.h>

static void
field_free (gpointer data)
{
  DbrField *self = data;
  g_free (self->name);
  g_clear_pointer (&self->value, dbr_template_free);
  g_clear_pointer (&self->when, dbr_json_path_free);
  g_clear_pointer (&self->from, dbr_json_path_free);
  g_clear_pointer (&self->json, dbr_json_doc_unref);
  g_clear_pointer (&self->absent, dbr_json_doc_unref);
  g_clear_pointer (&self->fields, g_ptr_array_unref);
  g_free (self);
}

static void
tail_free (DbrTailSpec *self)
{
  if (!self)
    return;
  g_free (self->records_member);
  g_clear_pointer (&self->lines, dbr_template_free);
  g_clear_pointer (&self->level, dbr_template_free);
  g_clear_pointer (&self->contains, dbr_template_free);
  g_clear_pointer (&self->context, dbr_template_free);
  g_free (self);
}

void
dbr_advice_free (gpointer data)
{
  DbrAdvice *self = data;
  g_free (self->code);
  g_strfreev (self->offers);
  g_clear_pointer (&self->advice, dbr_template_free);
  g_free (self);
}

void
dbr_request_free (DbrRequestDef *self)
{
  if (!self)
    return;
  g_free (self->id);
  g_free (self->with);
  g_clear_pointer (&self->method, dbr_template_free);
  g_clear_pointer (&self->path, dbr_template_free);
  g_clear_pointer (&self->when, dbr_json_path_free);
  g_free (self->accept);
  g_free (self->rows);
  g_clear_pointer (&self->expects, dbr_json_path_free);
  g_clear_pointer (&self->for_each, dbr_json_path_free);
  g_clear_pointer (&self->per, dbr_template_free);
  g_clear_pointer (&self->query, g_ptr_array_unref);
  g_clear_pointer (&self->headers, g_ptr_array_unref);
  g_clear_pointer (&self->body_from, dbr_json_path_free);
  g_clear_pointer (&self->body_fields, g_ptr_array_unref);
  tail_free (self->tail);
  g_clear_pointer (&self->advice, g_ptr_array_unref);
  g_clear_pointer (&self->unknown, dbr_template_free);
  g_clear_pointer (&self->effect, dbr_template_free);
  g_free (self);
}

static void
rule (DbrLoader *loader, const xmlNode *node, const char *says)
{
  dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_RULE, dbr_node_line (node), "<%s>: %s",
                      (const char *) node->name, says);
}

/* @ways: the attributes of which exactly one must be there. */
static gboolean
one_of (DbrLoader *loader, const xmlNode *node, const char *const *ways)
{
  guint n = 0;
  for (guint i = 0; ways[i]; i++)
    n += xmlHasProp (node, (const xmlChar *) ways[i]) != NULL;
  if (n == 1)
    return TRUE;
  g_autofree char *all = dbr_names_join (ways);
  dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_GRAMMAR, dbr_node_line (node),
                      n ? _ ("<%s> has several of %s; keep one")
                        : _ ("<%s> has none of %s; add one"),
                      (const char *) node->name, all);
  return FALSE;
}

static void
read_query (DbrLoader *loader, const xmlNode *node, DbrRequestDef *self)
{
  static const char *const ways[] = { "value", "from", NULL };
  if (!dbr_loader_form (loader, node, "name when value from", "") || !one_of (loader, node, ways))
    return;
  DbrField *field = g_new0 (DbrField, 1);
  g_ptr_array_add (self->query, field);
  dbr_loader_mark (loader, field, node);
  field->when = dbr_loader_path (loader, node, "when", DBR_JSON_PATH_CONDITION);
  field->from = dbr_loader_path (loader, node, "from", DBR_JSON_PATH_RELATIVE);
  field->value = dbr_loader_template (loader, node, "value");
  if (xmlHasProp (node, (const xmlChar *) "value"))
    field->name = dbr_loader_need (loader, node, "name");
  else if (xmlHasProp (node, (const xmlChar *) "name"))
    dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_GRAMMAR, dbr_node_line (node),
                        _ ("<query> has from and a name; the object's members name the pairs: "
                           "remove the name, or use value"));
}

static void
read_header (DbrLoader *loader, const xmlNode *node, DbrRequestDef *self)
{
  if (!dbr_loader_form (loader, node, "name value", ""))
    return;
  g_autofree char *name = dbr_loader_word (loader, node, "name", DBR_WORD_HEADER, TRUE);
  g_autofree char *value = dbr_loader_need (loader, node, "value");
  if (!name || !value)
    return;
  if (dbr_header_is_reserved (name))
    dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_RULE, dbr_node_line (node),
                        _ ("the header \"%s\" is the bridge's own; a request can't set it: "
                           "remove it"),
                        name);
  for (guint i = 0; i < self->headers->len; i++)
    if (!g_ascii_strcasecmp (((DbrField *) g_ptr_array_index (self->headers, i))->name, name))
      dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_DUPLICATE, dbr_node_line (node),
                          _ ("the header \"%s\" is there twice; remove one"), name);
  DbrField *field = g_new0 (DbrField, 1);
  g_ptr_array_add (self->headers, field);
  dbr_loader_mark (loader, field, node);
  field->name = g_steal_pointer (&name);
  field->value = dbr_loader_template (loader, node, "value");
}

#define MAX_FIELD_NESTING 4u

static void
read_field (DbrLoader *loader, const xmlNode *node, GPtrArray *all, guint depth);

/* An object made of fields. */
static void
read_nested (DbrLoader *loader, const xmlNode *node, DbrField *field, guint depth)
{
  field->fields = g_ptr_array_new_with_free_func (field_free);
  if (depth == MAX_FIELD_NESTING)
    rule (loader, node, _ ("fields are nested deeper than 4; no body needs that"));
  else
    for (xmlNode *child = dbr_xml_first_element (node); child; child = dbr_xml_next_element (child))
      read_field (loader, child, field->fields, depth + 1);
}

/* Whether a field says in exactly one way what it is. */
static gboolean
has_one_way (DbrLoader *loader, const xmlNode *node)
{
  static const char *const ways[] = { "from", "value", "json", NULL };
  gboolean any = FALSE;
  if (!dbr_xml_first_element (node))
    return one_of (loader, node, ways);
  for (guint i = 0; ways[i]; i++)
    any = any || xmlHasProp (node, (const xmlChar *) ways[i]);
  if (any)
    dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_GRAMMAR, dbr_node_line (node),
                        _ ("<field> has <field> children and one of from, value, json; keep one "
                           "of them"));
  return !any;
}

static void
read_field (DbrLoader *loader, const xmlNode *node, GPtrArray *all, guint depth)
{
  if (!dbr_loader_form (loader, node, "name when from value json absent", "field")
      || !has_one_way (loader, node))
    return;
  g_autofree char *name = dbr_loader_need (loader, node, "name");
  if (!name)
    return;
  for (guint i = 0; i < all->len; i++)
    if (g_str_equal (((DbrField *) g_ptr_array_index (all, i))->name, name))
      dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_DUPLICATE, dbr_node_line (node),
                          _ ("the field \"%s\" is there twice; remove one"), name);
  DbrField *field = g_new0 (DbrField, 1);
  g_ptr_array_add (all, field);
  dbr_loader_mark (loader, field, node);
  field->name = g_steal_pointer (&name);
  field->when = dbr_loader_path (loader, node, "when", DBR_JSON_PATH_CONDITION);
  field->from = dbr_loader_path (loader, node, "from", DBR_JSON_PATH_RELATIVE);
  field->value = dbr_loader_template (loader, node, "value");
  field->json = dbr_loader_json (loader, node, "json");
  field->absent = dbr_loader_json (loader, node, "absent");
  if (dbr_xml_first_element (node))
    read_nested (loader, node, field, depth);
  if (field->from && !dbr_json_path_is_singular (field->from) && field->absent)
    rule (loader, node,
          _ ("its from may select several values, which is an array and never absent; remove "
             "absent, or name one node"));
  if (xmlHasProp (node, (const xmlChar *) "absent") && !xmlHasProp (node, (const xmlChar *) "from"))
    dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_GRAMMAR, dbr_node_line (node),
                        _ ("<field> has absent without from; it is what is sent when from "
                           "selects nothing: remove it"));
}

static void
read_body (DbrLoader *loader, const xmlNode *node, DbrRequestDef *self)
{
  if (!dbr_loader_form (loader, node, "from", "field"))
    return;
  const xmlNode *first = dbr_xml_first_element (node);
  gboolean from = xmlHasProp (node, (const xmlChar *) "from") != NULL;
  if (from == (first != NULL))
    {
      dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_GRAMMAR, dbr_node_line (node),
                          from ? _ ("<body> has from and <field> children; keep one of them")
                               : _ ("<body> has neither from nor a <field>; add one"));
      return;
    }
  if (from)
    {
      self->body_from = dbr_loader_path (loader, node, "from", DBR_JSON_PATH_RELATIVE);
      if (self->body_from && !dbr_json_path_is_singular (self->body_from))
        rule (loader, node, _ ("its from may select several values; a body is one: name one node"));
      return;
    }
  self->body_fields = g_ptr_array_new_with_free_func (field_free);
  for (const xmlNode *child = first; child; child = dbr_xml_next_element (child))
    read_field (loader, child, self->body_fields, 1);
}

static void
read_tail (DbrLoader *loader, const xmlNode *node, DbrRequestDef *self)
{
  if (!dbr_loader_form (loader, node, "records lines level contains context", ""))
    return;
  tail_free (self->tail);
  DbrTailSpec *tail = self->tail = g_new0 (DbrTailSpec, 1);
  dbr_loader_mark (loader, tail, node);
  g_autofree char *lines = dbr_loader_need (loader, node, "lines");
  tail->records_member = dbr_xml_attribute (node, "records");
  tail->lines = lines ? dbr_loader_template (loader, node, "lines") : NULL;
  tail->level = dbr_loader_template (loader, node, "level");
  tail->contains = dbr_loader_template (loader, node, "contains");
  tail->context = dbr_loader_template (loader, node, "context");
}

static gboolean
share_an_offer (char **some, char **others)
{
  if (some == NULL || others == NULL)
    return some == others;
  for (guint i = 0; some[i]; i++)
    if (g_strv_contains ((const char *const *) others, some[i]))
      return TRUE;
  return FALSE;
}

/* Two that would both be meant: the same status or any, the same code or any, and in one offer. */
static gboolean
is_same_case (const DbrAdvice *one, const DbrAdvice *other)
{
  return one->status == other->status && g_strcmp0 (one->code, other->code) == 0
         && share_an_offer (one->offers, other->offers);
}

static void
report_same_case (DbrLoader *loader, const xmlNode *node, const DbrAdvice *one)
{
  if (one->code)
    dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_DUPLICATE, dbr_node_line (node),
                        _ ("the advice for code \"%s\" is there twice; merge them"), one->code);
  else
    dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_DUPLICATE, dbr_node_line (node),
                        _ ("the advice for status %u is there twice; merge them"), one->status);
}

void
dbr_advice_read (DbrLoader *loader, const xmlNode *node, GPtrArray *all)
{
  static const guint range[] = { 300, 599 };
  DbrAdvice case_of = { 0 };
  g_autofree char *code = NULL;
  g_auto (GStrv) offers = NULL;
  if (!dbr_loader_form (loader, node, "status code offer", ""))
    return;
  gboolean status = xmlHasProp (node, (const xmlChar *) "status") != NULL;
  code = dbr_loader_word (loader, node, "code", DBR_WORD_CODE, FALSE);
  if (!status && !xmlHasProp (node, (const xmlChar *) "code"))
    {
      dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_GRAMMAR, dbr_node_line (node),
                          _ ("<on> has neither status nor code; add one"));
      return;
    }
  if (status && !dbr_loader_uint (loader, node, "status", range, &case_of.status))
    return;
  offers = dbr_loader_words (loader, node, "offer", DBR_WORD_CATALOGUE, 1);
  case_of.code = code;
  case_of.offers = offers;
  for (guint i = 0; i < all->len; i++)
    if (is_same_case (g_ptr_array_index (all, i), &case_of))
      report_same_case (loader, node, &case_of);
  DbrAdvice *advice = g_new0 (DbrAdvice, 1);
  g_ptr_array_add (all, advice);
  advice->status = case_of.status;
  dbr_loader_mark (loader, advice, node);
  advice->code = g_steal_pointer (&code);
  advice->offers = g_steal_pointer (&offers);
  advice->advice = dbr_loader_template_text (loader, node);
}

static void
read_children (DbrLoader *loader, const xmlNode *node, DbrRequestDef *self)
{
  gboolean body = FALSE, tail = FALSE, unknown = FALSE, effect = FALSE;
  for (xmlNode *child = dbr_xml_first_element (node); child; child = dbr_xml_next_element (child))
    if (dbr_xml_is (child, "query"))
      read_query (loader, child, self);
    else if (dbr_xml_is (child, "header"))
      read_header (loader, child, self);
    else if (dbr_xml_is (child, "body"))
      {
        dbr_loader_once (loader, child, &body);
        if (!self->body_from && !self->body_fields)
          read_body (loader, child, self);
      }
    else if (dbr_xml_is (child, "tail"))
      {
        dbr_loader_once (loader, child, &tail);
        read_tail (loader, child, self);
      }
    else if (dbr_xml_is (child, "on"))
      dbr_advice_read (loader, child, self->advice);
    else if (dbr_xml_is (child, "effect"))
      {
        dbr_loader_once (loader, child, &effect);
        g_clear_pointer (&self->effect, dbr_template_free);
        self->effect = dbr_loader_form (loader, child, "", "")
                           ? dbr_loader_template_text (loader, child)
                           : NULL;
      }
    else if (dbr_xml_is (child, "unknown"))
      {
        dbr_loader_once (loader, child, &unknown);
        g_clear_pointer (&self->unknown, dbr_template_free);
        self->unknown = dbr_loader_form (loader, child, "", "")
                            ? dbr_loader_template_text (loader, child)
                            : NULL;
      }
    else
      dbr_loader_reserved (loader, child);
}

/* "404 409": each a failure's status, once. */
static guint *
read_accept (DbrLoader *loader, const xmlNode *node)
{
  g_autofree char *text = dbr_xml_attribute (node, "accept");
  if (!text)
    return NULL;
  g_auto (GStrv) words = g_strsplit (text, " ", -1);
  g_autofree guint *statuses = g_new0 (guint, g_strv_length (words) + 1);
  gboolean fits = g_strv_length (words) >= 1 && g_strv_length (words) <= 8;
  for (guint i = 0; fits && words[i]; i++)
    {
      guint64 status = 0;
      fits = strlen (words[i]) == 3
             && g_ascii_string_to_unsigned (words[i], 10, 400, 599, &status, NULL);
      statuses[i] = (guint) status;
    }
  if (fits)
    return g_steal_pointer (&statuses);
  dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_GRAMMAR, dbr_node_line (node),
                      _ ("accept=\"%s\" of <request> isn't a list of statuses; write up to 8 from "
                         "400 to 599, like \"404 409\""),
                      text);
  return NULL;
}

static void
read_numbers (DbrLoader *loader, const xmlNode *node, DbrRequestDef *self)
{
  static const guint twenty[] = { 1, 20 }, minute[] = { 1, 60 };
  static const char *const user[] = { "user", NULL };
  guint seconds = 0;
  self->pages = 1;
  self->take = 1;
  self->max = 8;
  dbr_loader_uint (loader, node, "pages", twenty, &self->pages);
  dbr_loader_uint (loader, node, "take", twenty, &self->take);
  dbr_loader_uint (loader, node, "max", twenty, &self->max);
  dbr_loader_uint (loader, node, "timeout", minute, &seconds);
  self->timeout_ms = seconds * 1000;
  /* -1: not said; the semantic pass derives it from the method. */
  self->destroys = self->idempotent = -1;
  dbr_loader_yes_no (loader, node, "optional", &self->optional);
  dbr_loader_yes_no (loader, node, "destroys", &self->destroys);
  dbr_loader_yes_no (loader, node, "idempotent", &self->idempotent);
  self->confirm = dbr_loader_choice (loader, node, "confirm", user, FALSE) == 0;
}

static void
check_together (DbrLoader *loader, const xmlNode *node, const DbrRequestDef *self)
{
  gboolean has[4] = { FALSE };
  static const char *const names[] = { "per", "take", "max", "for-each" };
  for (guint i = 0; i < 4; i++)
    has[i] = xmlHasProp (node, (const xmlChar *) names[i]) != NULL;
  if (!has[3] && (has[0] || has[1] || has[2]))
    rule (loader, node,
          _ ("per, take and max say how for-each goes on; add for-each or remove them"));
  else if (has[1] && !has[0])
    rule (loader, node, _ ("take counts items whose per is equal; add per"));
  if (self->pages > 1 && !self->rows)
    rule (loader, node, _ ("pages needs rows: the member that holds the list"));
  if (self->pages > 1 && (has[3] || self->tail))
    rule (loader, node, _ ("pages can't go with for-each or <tail>; remove one"));
  if (self->tail && self->expects)
    rule (loader, node,
          _ ("expects can't go with <tail>, whose answer is no document; remove one"));
  if (self->tail && self->rows)
    rule (loader, node, _ ("rows can't go with <tail>, whose own records names the list"));
  if (self->tail && (self->body_from || self->body_fields))
    rule (loader, node, _ ("<tail> reads; it can't go with a <body>"));
}

DbrRequestDef *
dbr_request_read (DbrLoader *loader, const xmlNode *node, guint index)
{
  if (!dbr_loader_form (
          loader, node,
          "id path method when with optional accept expects rows pages for-each per take max "
          "confirm destroys idempotent timeout",
          "query header body tail on effect unknown until"))
    return NULL;
  g_autoptr (DbrRequestDef) self = g_new0 (DbrRequestDef, 1);
  dbr_loader_mark (loader, self, node);
  self->index = index;
  self->line = dbr_node_line (node);
  self->id = dbr_loader_word (loader, node, "id", DBR_WORD_ID, TRUE);
  g_autofree char *path = dbr_loader_need (loader, node, "path");
  self->path = path ? dbr_loader_template (loader, node, "path") : NULL;
  self->method = dbr_loader_template (loader, node, "method");
  if (!xmlHasProp (node, (const xmlChar *) "method"))
    self->method = dbr_template_new ("GET", NULL);
  self->when = dbr_loader_path (loader, node, "when", DBR_JSON_PATH_CONDITION);
  self->with = dbr_loader_word (loader, node, "with", DBR_WORD_PARAM, FALSE);
  self->accept = read_accept (loader, node);
  self->expects = dbr_loader_path (loader, node, "expects", DBR_JSON_PATH_CONDITION);
  self->rows = dbr_xml_attribute (node, "rows");
  self->for_each = dbr_loader_path (loader, node, "for-each", DBR_JSON_PATH_RFC);
  self->per = dbr_loader_template (loader, node, "per");
  self->query = g_ptr_array_new_with_free_func (field_free);
  self->headers = g_ptr_array_new_with_free_func (field_free);
  self->advice = g_ptr_array_new_with_free_func (dbr_advice_free);
  read_numbers (loader, node, self);
  read_children (loader, node, self);
  check_together (loader, node, self);
  return self->id && self->path && self->method ? g_steal_pointer (&self) : NULL;
}
