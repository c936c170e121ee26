/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-xml: see the header. libxml2's own node values are copied into GLib's allocator at this
 * border, so that nobody else ever has to remember which of the two frees a string.
 */
#include "config.h"

#include "dbr-nearest.h"
#include "dbr-xml.h"
#include <glib/gi18n.h>
#include <libxml/xmlmemory.h>
#include <string.h>

G_DEFINE_QUARK (dbr_catalogue_error, dbr_catalogue_error)

typedef xmlChar DbrXmlChar;
static void
free_xml_chars (DbrXmlChar *text)
{
  if (text)
    xmlFree (text);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DbrXmlChar, free_xml_chars)

static const char *
node_file (const xmlNode *node)
{
  if (!node || !node->doc || !node->doc->URL)
    return "catalogue";
  return (const char *) node->doc->URL;
}

void
dbr_xml_error (GError **error, DbrCatalogueError code, const xmlNode *node, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *message = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error (error, DBR_CATALOGUE_ERROR, code, "%s:%ld: %s", node_file (node),
               node ? xmlGetLineNo (node) : 0L, message);
}

char *
dbr_xml_attribute (const xmlNode *node, const char *name)
{
  g_autoptr (DbrXmlChar) value = xmlGetNoNsProp (node, (const xmlChar *) name);
  return g_strdup ((const char *) value);
}

gboolean
dbr_xml_is (const xmlNode *node, const char *name)
{
  return node && node->type == XML_ELEMENT_NODE && node->ns
         && g_str_equal ((const char *) node->ns->href, DBR_XML_NAMESPACE)
         && g_str_equal ((const char *) node->name, name);
}

static xmlNode *
element_from (xmlNode *node)
{
  while (node && node->type != XML_ELEMENT_NODE)
    node = node->next;
  return node;
}

xmlNode *
dbr_xml_first_element (const xmlNode *node)
{
  return element_from (node->children);
}

xmlNode *
dbr_xml_next_element (const xmlNode *node)
{
  return element_from (node->next);
}

char *
dbr_xml_text (const xmlNode *node)
{
  g_autoptr (GString) text = g_string_new (NULL);
  gboolean is_space = FALSE;
  for (const xmlNode *child = node->children; child; child = child->next)
    {
      if (child->type != XML_TEXT_NODE && child->type != XML_CDATA_SECTION_NODE)
        continue;
      for (const char *c = (const char *) child->content; c && *c;)
        {
          gsize n_spaces = strspn (c, " \t\r\n");
          gsize n_others = strcspn (c + n_spaces, " \t\r\n");
          is_space = is_space || n_spaces > 0;
          if (is_space && n_others > 0 && text->len > 0)
            g_string_append_c (text, ' ');
          if (n_others > 0)
            is_space = FALSE;
          g_string_append_len (text, c + n_spaces, (gssize) n_others);
          c += n_spaces + n_others;
        }
    }
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static void
refuse_name (
    const xmlNode *node, gboolean is_attribute, const char *name, char **allowed, GError **error)
{
  const char *nearest = dbr_nearest (name, (const char *const *) allowed);
  const char *element = (const char *) node->name;
  if (!allowed[0])
    dbr_xml_error (error, DBR_CATALOGUE_ERROR_GRAMMAR, node,
                   is_attribute ? _ ("<%s> has no attributes, but \"%s\" stands here: remove it")
                                : _ ("<%s> has no children, but \"%s\" stands here: remove it"),
                   element, name);
  else if (nearest)
    dbr_xml_error (error, DBR_CATALOGUE_ERROR_GRAMMAR, node,
                   is_attribute ? _ ("<%s> has no attribute \"%s\"; did you mean \"%s\"?")
                                : _ ("<%s> has no child \"%s\"; did you mean \"%s\"?"),
                   element, name, nearest);
  else
    {
      g_autofree char *list = g_strjoinv (", ", allowed);
      dbr_xml_error (error, DBR_CATALOGUE_ERROR_GRAMMAR, node,
                     is_attribute ? _ ("<%s> has no attribute \"%s\"; allowed here: %s")
                                  : _ ("<%s> has no child \"%s\"; allowed here: %s"),
                     element, name, list);
    }
}

static char **
split_names (const char *names)
{
  return names && *names ? g_strsplit (names, " ", -1) : g_new0 (char *, 1);
}

/* Whether @name is one of @names, which are separated by spaces. */
static gboolean
lists_name (const char *names, const char *name)
{
  gsize len = strlen (name);
  for (const char *at = names; at && *at; at = strchr (at, ' ') ? strchr (at, ' ') + 1 : NULL)
    if (strncmp (at, name, len) == 0 && (at[len] == ' ' || at[len] == '\0'))
      return TRUE;
  return FALSE;
}

/* Made only where it is needed: most elements are as they should be. */
static void
refuse (
    const xmlNode *node, gboolean is_attribute, const char *name, const char *names, GError **error)
{
  g_auto (GStrv) allowed = split_names (names);
  refuse_name (node, is_attribute, name, allowed, error);
}

gboolean
dbr_xml_check (const xmlNode *node, const char *attributes, const char *children, GError **error)
{
  for (const xmlAttr *attribute = node->properties; attribute; attribute = attribute->next)
    {
      const char *name = (const char *) attribute->name;
      /* Attributes of other namespaces (xml:lang, a translator's marks) are nobody's business. */
      if (attribute->ns || lists_name (attributes, name))
        continue;
      refuse (node, TRUE, name, attributes, error);
      return FALSE;
    }
  for (xmlNode *child = dbr_xml_first_element (node); child; child = dbr_xml_next_element (child))
    {
      const char *name = (const char *) child->name;
      if (dbr_xml_is (child, name) && lists_name (children, name))
        continue;
      if (!dbr_xml_is (child, name))
        dbr_xml_error (error, DBR_CATALOGUE_ERROR_GRAMMAR, child,
                       _ ("<%s> is not in the namespace \"%s\""), name, DBR_XML_NAMESPACE);
      else
        refuse (node, FALSE, name, children, error);
      return FALSE;
    }
  return TRUE;
}

gboolean
dbr_xml_yes_no (const xmlNode *node, const char *name, gboolean *out_value, GError **error)
{
  g_autofree char *value = dbr_xml_attribute (node, name);
  if (!value)
    return TRUE;
  if (!g_str_equal (value, "yes") && !g_str_equal (value, "no"))
    {
      dbr_xml_error (error, DBR_CATALOGUE_ERROR_GRAMMAR, node,
                     _ ("%s=\"%s\" of <%s>: expected \"yes\" or \"no\""), name, value,
                     (const char *) node->name);
      return FALSE;
    }
  *out_value = g_str_equal (value, "yes");
  return TRUE;
}

gboolean
dbr_xml_uint (
    const xmlNode *node, const char *name, guint min, guint max, guint *out_value, GError **error)
{
  g_autofree char *value = dbr_xml_attribute (node, name);
  if (!value)
    return TRUE;
  guint64 number = 0;
  if (!g_ascii_string_to_unsigned (value, 10, min, max, &number, NULL))
    {
      dbr_xml_error (error, DBR_CATALOGUE_ERROR_GRAMMAR, node,
                     _ ("%s=\"%s\" of <%s>: expected a whole number from %u to %u"), name, value,
                     (const char *) node->name, min, max);
      return FALSE;
    }
  *out_value = (guint) number;
  return TRUE;
}
