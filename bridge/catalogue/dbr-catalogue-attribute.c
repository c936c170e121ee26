/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-catalogue-attribute: attributes and texts of a catalogue, read into what they stand for.
 *
 * Every reader reports into the loader and goes on. The forms are those of schemas/catalogue.rng:
 * what is refused here with DBR_CATALOGUE_ERROR_GRAMMAR is refused there, and nothing else is
 * (tests/contract/test-catalogue-files.c holds the two against each other).
 */
#include "config.h"

#include "dbr-catalogue-priv.h"
#include "dbr-nearest.h"

#include <glib/gi18n.h>

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGIT "0123456789"

static const struct
{
  const char *first, *rest;
  guint max;
  const char *says;
} words[] = {
  [DBR_WORD_CATALOGUE] = { LOWER, LOWER DIGIT "-", 30, "[a-z][a-z0-9-]{0,29}" },
  [DBR_WORD_TOOL] = { LOWER DIGIT "_", LOWER DIGIT "_", 40, "[a-z0-9_]{1,40}" },
  [DBR_WORD_CATEGORY] = { LOWER DIGIT "_-", LOWER DIGIT "_-", 40, "[a-z0-9_-]{1,40}" },
  [DBR_WORD_ID] = { LOWER, LOWER DIGIT "_", 40, "[a-z][a-z0-9_]{0,39}" },
  [DBR_WORD_PARAM] = { LOWER UPPER "_", LOWER UPPER DIGIT "_", 64, "[A-Za-z_][A-Za-z0-9_]{0,63}" },
  [DBR_WORD_VARIABLE] = { UPPER "_", UPPER DIGIT "_", 100, "[A-Z_][A-Z0-9_]{0,99}" },
  [DBR_WORD_SERVER] = { LOWER UPPER DIGIT "_-", LOWER UPPER DIGIT "_-", 64, "[A-Za-z0-9_-]{1,64}" },
  [DBR_WORD_HEADER] = { LOWER UPPER DIGIT "-", LOWER UPPER DIGIT "-", 64, "[A-Za-z0-9-]{1,64}" },
  [DBR_WORD_CODE] = { LOWER DIGIT "_.-", LOWER DIGIT "_.-", 64, "[a-z0-9_.-]{1,64}" },
};

gboolean
dbr_word_is (const char *text, DbrWord kind)
{
  return *text && strchr (words[kind].first, *text) && strlen (text) <= words[kind].max
         && text[strspn (text, words[kind].rest)] == '\0';
}

char *
dbr_names_join (const char *const *names)
{
  GString *all = g_string_new (NULL);
  for (guint i = 0; names[i]; i++)
    g_string_append_printf (all, "%s%s", i ? ", " : "", names[i]);
  return g_string_free (all, FALSE);
}

/* These hold text; whatever stands between the children of the others is a slip. */
static gboolean
holds_text (const xmlNode *node)
{
  static const char *const with_text[]
      = { "title", "instructions", "category", "description", "param",  "items", "value",
          "on",    "unknown",      "offer",    "unreachable", "effect", NULL };
  return g_strv_contains (with_text, (const char *) node->name);
}

gboolean
dbr_loader_form (DbrLoader *self, const xmlNode *node, const char *attributes, const char *children)
{
  GError *error = NULL;
  if (!dbr_xml_check (node, attributes, children, &error))
    {
      dbr_loader_take (self, error);
      return FALSE;
    }
  if (!node->children || holds_text (node))
    return TRUE;
  g_autofree char *text = dbr_xml_text (node);
  if (text && *text)
    dbr_loader_problem (self, DBR_CATALOGUE_ERROR_GRAMMAR, dbr_node_line (node),
                        _ ("<%s> holds the text \"%.40s\", which means nothing there; remove it"),
                        (const char *) node->name, text);
  return TRUE;
}

/* An attribute that must be there and say something. */
char *
dbr_loader_need (DbrLoader *self, const xmlNode *node, const char *name)
{
  g_autofree char *value = dbr_xml_attribute (node, name);
  if (value && *value)
    return g_steal_pointer (&value);
  dbr_loader_problem (self, DBR_CATALOGUE_ERROR_GRAMMAR, dbr_node_line (node),
                      value ? _ ("<%s> has an empty %s; give it a value")
                            : _ ("<%s> has no attribute %s; add it"),
                      (const char *) node->name, name);
  return NULL;
}

char *
dbr_loader_word (
    DbrLoader *self, const xmlNode *node, const char *name, DbrWord kind, gboolean needed)
{
  g_autofree char *value
      = needed ? dbr_loader_need (self, node, name) : dbr_xml_attribute (node, name);
  if (value && !dbr_word_is (value, kind))
    {
      dbr_loader_problem (self, DBR_CATALOGUE_ERROR_GRAMMAR, dbr_node_line (node),
                          _ ("%s=\"%s\" of <%s> can't be used as a name; it must match %s"), name,
                          value, (const char *) node->name, words[kind].says);
      return NULL;
    }
  return g_steal_pointer (&value);
}

char **
dbr_loader_words (DbrLoader *self, const xmlNode *node, const char *name, DbrWord kind, guint least)
{
  g_autofree char *value = dbr_xml_attribute (node, name);
  if (!value)
    return NULL;
  g_auto (GStrv) all = g_strsplit (value, " ", -1);
  gboolean fits = g_strv_length (all) >= least;
  for (guint i = 0; all[i]; i++)
    fits = fits && dbr_word_is (all[i], kind);
  if (!fits)
    {
      dbr_loader_problem (self, DBR_CATALOGUE_ERROR_GRAMMAR, dbr_node_line (node),
                          _ ("%s=\"%s\" of <%s> isn't a list of names; write at least %u, with one "
                             "space between, each like %s"),
                          name, value, (const char *) node->name, least, words[kind].says);
      return NULL;
    }
  for (guint i = 0; all[i]; i++)
    for (guint j = 0; j < i; j++)
      if (g_str_equal (all[i], all[j]))
        {
          dbr_loader_problem (self, DBR_CATALOGUE_ERROR_DUPLICATE, dbr_node_line (node),
                              _ ("%s=\"%s\" of <%s> names \"%s\" twice; remove one"), name, value,
                              (const char *) node->name, all[i]);
          return NULL;
        }
  return g_steal_pointer (&all);
}

gboolean
dbr_loader_yes_no (DbrLoader *self, const xmlNode *node, const char *name, gboolean *out)
{
  GError *error = NULL;
  if (dbr_xml_yes_no (node, name, out, &error))
    return TRUE;
  dbr_loader_take (self, error);
  return FALSE;
}

/* @range: least and greatest. */
gboolean
dbr_loader_uint (
    DbrLoader *self, const xmlNode *node, const char *name, const guint *range, guint *out)
{
  GError *error = NULL;
  if (dbr_xml_uint (node, name, range[0], range[1], out, &error))
    return TRUE;
  dbr_loader_take (self, error);
  return FALSE;
}

int
dbr_loader_choice (DbrLoader *self,
                   const xmlNode *node,
                   const char *name,
                   const char *const *choices,
                   gboolean needed)
{
  g_autofree char *value
      = needed ? dbr_loader_need (self, node, name) : dbr_xml_attribute (node, name);
  if (!value)
    return -1;
  for (int i = 0; choices[i]; i++)
    if (g_str_equal (choices[i], value))
      return i;
  g_autofree char *all = dbr_names_join (choices);
  dbr_loader_problem (self, DBR_CATALOGUE_ERROR_GRAMMAR, dbr_node_line (node),
                      _ ("%s=\"%s\" of <%s> isn't known; it must be one of: %s"), name, value,
                      (const char *) node->name, all);
  return -1;
}

char *
dbr_loader_text (DbrLoader *self, const xmlNode *node)
{
  g_autofree char *text = dbr_xml_text (node);
  if (text && *text)
    return g_steal_pointer (&text);
  dbr_loader_problem (self, DBR_CATALOGUE_ERROR_GRAMMAR, dbr_node_line (node),
                      _ ("<%s> is empty; write its text"), (const char *) node->name);
  return NULL;
}

/* What an expression is made into; NULL with *error set when it can't be read. */
typedef gpointer (*Compile) (const char *text, DbrJsonPathFlags flags, GError **error);

static gpointer
compile_template (const char *text, DbrJsonPathFlags flags, GError **error)
{
  (void) flags;
  return dbr_template_new (text, error);
}

static gpointer
compile_path (const char *text, DbrJsonPathFlags flags, GError **error)
{
  return dbr_json_path_new (text, flags, error);
}

static gpointer
compile_json (const char *text, DbrJsonPathFlags flags, GError **error)
{
  (void) flags;
  return dbr_json_doc_new_from_data (text, -1, NULL, error);
}

/* The expression in the attribute @name (NULL: in the text), with the line where it stands; NULL
 * when it is absent, or can't be read (reported). */
static gpointer
expression (
    DbrLoader *self, const xmlNode *node, const char *name, Compile compile, DbrJsonPathFlags flags)
{
  g_autofree char *text = name ? dbr_xml_attribute (node, name) : dbr_loader_text (self, node);
  g_autoptr (GError) error = NULL;
  gpointer compiled = text ? compile (text, flags, &error) : NULL;

  if (compiled)
    dbr_loader_mark (self, compiled, node);
  else if (error && name)
    dbr_loader_problem (self, DBR_CATALOGUE_ERROR_PLACEHOLDER, dbr_node_line (node),
                        _ ("%s=\"%s\" of <%s> can't be read: %s"), name, text,
                        (const char *) node->name, error->message);
  else if (error)
    dbr_loader_problem (self, DBR_CATALOGUE_ERROR_PLACEHOLDER, dbr_node_line (node),
                        _ ("the text of <%s> can't be read: %s"), (const char *) node->name,
                        error->message);
  return compiled;
}

DbrTemplate *
dbr_loader_template (DbrLoader *self, const xmlNode *node, const char *name)
{
  return expression (self, node, name, compile_template, 0);
}

DbrTemplate *
dbr_loader_template_text (DbrLoader *self, const xmlNode *node)
{
  return expression (self, node, NULL, compile_template, 0);
}

DbrJsonPath *
dbr_loader_path (DbrLoader *self, const xmlNode *node, const char *name, DbrJsonPathFlags flags)
{
  return expression (self, node, name, compile_path, flags);
}

DbrJsonDoc *
dbr_loader_json (DbrLoader *self, const xmlNode *node, const char *name)
{
  return expression (self, node, name, compile_json, 0);
}

void
dbr_loader_once (DbrLoader *self, const xmlNode *child, gboolean *seen)
{
  if (*seen)
    dbr_loader_problem (self, DBR_CATALOGUE_ERROR_GRAMMAR, dbr_node_line (child),
                        _ ("a second <%s>; <%s> takes one: remove or merge it"),
                        (const char *) child->name, (const char *) child->parent->name);
  *seen = TRUE;
}

void
dbr_loader_missing (DbrLoader *self, const xmlNode *node, const char *child, gboolean seen)
{
  if (!seen)
    dbr_loader_problem (self, DBR_CATALOGUE_ERROR_GRAMMAR, dbr_node_line (node),
                        _ ("<%s> has no <%s>; add one"), (const char *) node->name, child);
}
