/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-catalogue-param: <param> and <items>: one definition makes the input schema, checks the
 * arguments and fills the request.
 *
 * Limits that don't belong to a type are refused rather than ignored: a limit that isn't enforced
 * is worse than none.
 */
#include "config.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include "dbr-catalogue-priv.h"

#include <glib/gi18n.h>
#include <pcre2.h>
#include <string.h>

static const char *const type_words[]
    = { "string", "integer", "number", "boolean", "object", "array", "path", NULL };

void
dbr_param_free (DbrParam *self)
{
  if (!self)
    return;
  g_free (self->name);
  g_strfreev (self->offers);
  g_free (self->description);
  g_free (self->wildcard);
  g_clear_pointer (&self->default_value, dbr_json_doc_unref);
  g_strfreev (self->values);
  g_free (self->pattern);
  g_clear_pointer (&self->regex, pcre2_code_free);
  g_free (self->refuse);
  dbr_param_free (self->items);
  g_clear_pointer (&self->members, g_ptr_array_unref);
  g_free (self);
}

static gboolean
is_text (const DbrParam *self)
{
  return self->type == DBR_PARAM_STRING || self->type == DBR_PARAM_PATH;
}

static gboolean
is_number (const DbrParam *self)
{
  return self->type == DBR_PARAM_INTEGER || self->type == DBR_PARAM_NUMBER;
}

/* "param \"limit\"" or "<items>", for messages. */
static const char *
called (const DbrParam *self)
{
  return self->name ? self->name : "items";
}

static gboolean
read_limit (DbrLoader *loader, const xmlNode *node, const char *name, gboolean *has, double *out)
{
  g_autofree char *text = dbr_xml_attribute (node, name);
  if (!text)
    return TRUE;
  /* -?D+(.D+)?: what a schema's reader needs no second thought about. */
  const char *at = text + (*text == '-');
  gsize whole = strspn (at, "0123456789"), rest = 0;
  if (at[whole] == '.')
    rest = strspn (at + whole + 1, "0123456789") + 1;
  if (whole == 0 || rest == 1 || at[whole + rest] != '\0' || strlen (text) > 20)
    {
      dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_GRAMMAR, dbr_node_line (node),
                          _ ("%s=\"%s\" of <%s> isn't a number; write it like -1 or 2.5"), name,
                          text, (const char *) node->name);
      return FALSE;
    }
  *has = TRUE;
  *out = g_ascii_strtod (text, NULL);
  return TRUE;
}

static void
compile_pattern (DbrLoader *loader, const xmlNode *node, DbrParam *self)
{
  int code = 0;
  PCRE2_SIZE at = 0;
  if (strlen (self->pattern) > DBR_PARAM_MAX_PATTERN)
    {
      dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_RULE, dbr_node_line (node),
                          _ ("the pattern of \"%s\" is over %u bytes; shorten it"), called (self),
                          DBR_PARAM_MAX_PATTERN);
      return;
    }
  self->regex = pcre2_compile ((PCRE2_SPTR) self->pattern, PCRE2_ZERO_TERMINATED,
                               PCRE2_UTF | PCRE2_ANCHORED | PCRE2_ENDANCHORED
                                   | PCRE2_NEVER_BACKSLASH_C | PCRE2_NO_AUTO_CAPTURE,
                               &code, &at, NULL);
  if (self->regex)
    return;
  PCRE2_UCHAR says[160] = "";
  pcre2_get_error_message (code, says, sizeof says);
  dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_RULE, dbr_node_line (node),
                      _ ("the pattern \"%s\" of \"%s\" can't be used: %s at character %u"),
                      self->pattern, called (self), (const char *) says, (guint) at + 1);
}

static void
read_limits (DbrLoader *loader, const xmlNode *node, DbrParam *self)
{
  static const guint lengths[] = { 0, DBR_CATALOGUE_MAX_BYTES }, counts[] = { 0, 10000 };
  self->max_length
      = self->type == DBR_PARAM_PATH ? DBR_PATH_MAX_BYTES : DBR_PARAM_DEFAULT_MAX_LENGTH;
  self->max_items = DBR_PARAM_DEFAULT_MAX_ITEMS;
  read_limit (loader, node, "minimum", &self->has_minimum, &self->minimum);
  read_limit (loader, node, "maximum", &self->has_maximum, &self->maximum);
  dbr_loader_uint (loader, node, "min-length", lengths, &self->min_length);
  dbr_loader_uint (loader, node, "max-length", lengths, &self->max_length);
  dbr_loader_uint (loader, node, "min-items", counts, &self->min_items);
  dbr_loader_uint (loader, node, "max-items", counts, &self->max_items);
  self->refuse = dbr_xml_attribute (node, "refuse");
  self->pattern = dbr_xml_attribute (node, "pattern");
  if (self->pattern)
    compile_pattern (loader, node, self);
}

/* An attribute or child that means nothing for the type. */
static void
out_of_place (DbrLoader *loader, const xmlNode *node, const DbrParam *self, const char *what)
{
  dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_RULE, dbr_node_line (node),
                      _ ("\"%s\" has %s, which means nothing for the type %s; remove it"),
                      called (self), what, type_words[self->type]);
}

static void
check_places (DbrLoader *loader, const xmlNode *node, const DbrParam *self)
{
  static const struct
  {
    const char *name;
    guint types; /* a bit for each */
  } places[] = {
    { "minimum", 1u << DBR_PARAM_INTEGER | 1u << DBR_PARAM_NUMBER },
    { "maximum", 1u << DBR_PARAM_INTEGER | 1u << DBR_PARAM_NUMBER },
    { "min-length", 1u << DBR_PARAM_STRING },
    { "max-length", 1u << DBR_PARAM_STRING },
    { "pattern", 1u << DBR_PARAM_STRING | 1u << DBR_PARAM_PATH },
    { "refuse", 1u << DBR_PARAM_STRING },
    { "slashes", 1u << DBR_PARAM_STRING },
    { "local", 1u << DBR_PARAM_STRING },
    { "wildcard", 1u << DBR_PARAM_STRING },
    { "min-items", 1u << DBR_PARAM_ARRAY },
    { "max-items", 1u << DBR_PARAM_ARRAY },
  };
  for (guint i = 0; i < G_N_ELEMENTS (places); i++)
    if (!(places[i].types & 1u << self->type)
        && xmlHasProp (node, (const xmlChar *) places[i].name))
      out_of_place (loader, node, self, places[i].name);
  if (self->values && !is_number (self) && self->type != DBR_PARAM_STRING)
    out_of_place (loader, node, self, _ ("<value> children"));
  if (self->items && self->type != DBR_PARAM_ARRAY)
    out_of_place (loader, node, self, _ ("an <items> child"));
  if (self->members && self->type != DBR_PARAM_OBJECT)
    out_of_place (loader, node, self, _ ("<param> children"));
}

static void
check_order (DbrLoader *loader, const xmlNode *node, const DbrParam *self)
{
  const char *what = NULL;
  if (self->has_minimum && self->has_maximum && self->minimum > self->maximum)
    what = _ ("minimum over its maximum");
  else if (self->type == DBR_PARAM_STRING && self->min_length > self->max_length)
    what = _ ("min-length over its max-length");
  else if (self->min_items > self->max_items)
    what = _ ("min-items over its max-items");
  if (what)
    dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_RULE, dbr_node_line (node),
                        _ ("\"%s\" has its %s, so that no value fits; exchange them"),
                        called (self), what);
}

/* ---- children */

static void
read_value (DbrLoader *loader, const xmlNode *node, const DbrParam *self, GPtrArray *values)
{
  g_autofree char *text
      = dbr_loader_form (loader, node, "", "") ? dbr_loader_text (loader, node) : NULL;
  if (!text)
    return;
  for (guint i = 0; i < values->len; i++)
    if (g_str_equal (g_ptr_array_index (values, i), text))
      dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_DUPLICATE, dbr_node_line (node),
                          _ ("the value \"%s\" of \"%s\" is there twice; remove one"), text,
                          called (self));
  if (is_number (self))
    {
      g_autoptr (DbrJsonDoc) doc = dbr_json_doc_new_from_data (text, -1, NULL, NULL);
      gint64 whole;
      gboolean fits = doc && dbr_json_type (dbr_json_doc_root (doc)) == DBR_JSON_NUMBER;
      if (fits && self->type == DBR_PARAM_INTEGER)
        fits = dbr_json_int64 (dbr_json_doc_root (doc), &whole) && !strpbrk (text, ".eE");
      if (!fits)
        dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_RULE, dbr_node_line (node),
                            _ ("the value \"%s\" of \"%s\" isn't of the type %s; correct one"),
                            text, called (self), type_words[self->type]);
    }
  if (values->len == DBR_CATALOGUE_MAX_VALUES)
    dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_RULE, dbr_node_line (node),
                        _ ("\"%s\" has over %u values; a model can't choose among so many"),
                        called (self), DBR_CATALOGUE_MAX_VALUES);
  g_ptr_array_add (values, g_steal_pointer (&text));
}

static void
add_member (DbrLoader *loader, const xmlNode *node, DbrParam *self, guint depth)
{
  DbrParam *member = dbr_param_read (loader, node, depth + 1);
  if (!member)
    return;
  if (!self->members)
    self->members = g_ptr_array_new_with_free_func ((GDestroyNotify) dbr_param_free);
  for (guint i = 0; i < self->members->len; i++)
    if (g_str_equal (((DbrParam *) g_ptr_array_index (self->members, i))->name, member->name))
      dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_DUPLICATE, dbr_node_line (node),
                          _ ("\"%s\" has two members \"%s\"; rename or remove one"), called (self),
                          member->name);
  if (self->members->len == DBR_CATALOGUE_MAX_PARAMS)
    dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_RULE, dbr_node_line (node),
                        _ ("\"%s\" has over %u members; split the tool"), called (self),
                        DBR_CATALOGUE_MAX_PARAMS);
  g_ptr_array_add (self->members, member);
}

static void
read_children (DbrLoader *loader, const xmlNode *node, DbrParam *self, guint depth)
{
  g_autoptr (GPtrArray) values = g_ptr_array_new_with_free_func (g_free);
  gboolean items = FALSE;
  for (xmlNode *child = dbr_xml_first_element (node); child; child = dbr_xml_next_element (child))
    if (dbr_xml_is (child, "value"))
      read_value (loader, child, self, values);
    else if (dbr_xml_is (child, "items"))
      {
        dbr_loader_once (loader, child, &items);
        dbr_param_free (self->items);
        self->items = dbr_param_read (loader, child, depth + 1);
      }
    else
      add_member (loader, child, self, depth);
  if (values->len)
    {
      g_ptr_array_add (values, NULL);
      self->values = (char **) g_ptr_array_free (g_steal_pointer (&values), FALSE);
    }
}

static void
read_default (DbrLoader *loader, const xmlNode *node, DbrParam *self)
{
  g_autofree char *text = dbr_xml_attribute (node, "default");
  if (!text)
    return;
  if (self->required)
    {
      dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_RULE, dbr_node_line (node),
                          _ ("\"%s\" is required, so that its default is never used; remove one"),
                          called (self));
      return;
    }
  if (self->type == DBR_PARAM_BOOLEAN && !g_str_equal (text, "true")
      && !g_str_equal (text, "false"))
    {
      dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_RULE, dbr_node_line (node),
                          _ ("the default \"%s\" of \"%s\" is no boolean; write true or false"),
                          text, called (self));
      return;
    }
  if (is_text (self))
    {
      g_autoptr (DbrJsonBuilder) builder = dbr_json_builder_new ();
      dbr_json_builder_string (builder, text, -1);
      self->default_value = dbr_json_builder_end (builder);
    }
  else
    self->default_value = dbr_loader_json (loader, node, "default");
  g_autofree char *problem = self->default_value
                                 ? dbr_param_problem (self, dbr_json_doc_root (self->default_value))
                                 : NULL;
  if (problem)
    dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_RULE, dbr_node_line (node),
                        _ ("the default \"%s\" doesn't fit its own parameter: %s"), text, problem);
}

DbrParam *
dbr_param_read (DbrLoader *loader, const xmlNode *node, guint depth)
{
  gboolean is_items = dbr_xml_is (node, "items");
  if (depth > DBR_CATALOGUE_MAX_NESTING)
    {
      dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_RULE, dbr_node_line (node),
                          _ ("parameters are nested over %u deep; make the object free"),
                          DBR_CATALOGUE_MAX_NESTING);
      return NULL;
    }
  if (!dbr_loader_form (loader, node,
                        is_items ? "type minimum maximum min-length max-length pattern refuse "
                                   "min-items max-items"
                                 : "name type offer required default minimum maximum min-length "
                                   "max-length pattern slashes local wildcard refuse min-items "
                                   "max-items",
                        "value items param"))
    return NULL;
  g_autoptr (DbrParam) self = g_new0 (DbrParam, 1);
  dbr_loader_mark (loader, self, node);
  int type = dbr_loader_choice (loader, node, "type", type_words, TRUE);
  if (!is_items)
    self->name = dbr_loader_word (loader, node, "name", DBR_WORD_PARAM, TRUE);
  if (type < 0 || (!is_items && !self->name))
    return NULL;
  self->type = (DbrParamType) type;
  self->description = dbr_xml_text (node);
  if (!is_items && depth == 0 && !*self->description)
    dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_RULE, dbr_node_line (node),
                        _ ("the parameter \"%s\" has no description; a model needs one"),
                        self->name);
  if (self->type == DBR_PARAM_PATH && depth > 0)
    dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_RULE, dbr_node_line (node),
                        _ ("the type path stands inside of another parameter; only a tool's own "
                           "parameter can be a whole path"));
  self->offers = dbr_loader_words (loader, node, "offer", DBR_WORD_CATALOGUE, 1);
  if (self->offers && depth > 0)
    dbr_loader_problem (
        loader, DBR_CATALOGUE_ERROR_RULE, dbr_node_line (node),
        _ ("\"%s\" is a member, so it can't have an offer of its own; give it to the "
           "whole parameter"),
        self->name);
  dbr_loader_yes_no (loader, node, "required", &self->required);
  dbr_loader_yes_no (loader, node, "slashes", &self->slashes);
  dbr_loader_yes_no (loader, node, "local", &self->is_local);
  if (self->is_local && depth > 0)
    dbr_loader_problem (
        loader, DBR_CATALOGUE_ERROR_RULE, dbr_node_line (node),
        _ ("\"%s\" is a member, so it can't be local; make it a parameter of the tool"),
        self->name);
  self->wildcard = dbr_xml_attribute (node, "wildcard");
  if (self->wildcard && self->required)
    dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_RULE, dbr_node_line (node),
                        _ ("\"%s\" is required, so that its wildcard is never used; remove one"),
                        self->name);
  read_limits (loader, node, self);
  read_children (loader, node, self, depth);
  check_places (loader, node, self);
  check_order (loader, node, self);
  read_default (loader, node, self);
  return g_steal_pointer (&self);
}
