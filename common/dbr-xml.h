/* SPDX-License-Identifier: Apache-2.0 */
/* dbr-xml: what every reader of a catalogue's XML needs: clean-up types and errors with file and line. */
#pragma once

#include <glib.h>
#include <libxml/tree.h>

G_BEGIN_DECLS

#define DBR_XML_NAMESPACE "urn:drawbridge:catalogue:1"

#define DBR_CATALOGUE_ERROR (dbr_catalogue_error_quark ())
GQuark
dbr_catalogue_error_quark (void);
typedef enum
{
  DBR_CATALOGUE_ERROR_READ, /* the file can't be read, or is over 4 MiB */
  DBR_CATALOGUE_ERROR_XML,  /* not well-formed, a DTD, or nested too deep */
  DBR_CATALOGUE_ERROR_GRAMMAR, /* an element or attribute that doesn't belong there, or a value of the wrong form */
  DBR_CATALOGUE_ERROR_REFERENCE,   /* something named that isn't there */
  DBR_CATALOGUE_ERROR_DUPLICATE,   /* something named twice */
  DBR_CATALOGUE_ERROR_PLACEHOLDER, /* a template, path or condition that can't be read */
  DBR_CATALOGUE_ERROR_RULE, /* allowed by the grammar, refused by a rule (two writes, a lowered DELETE...) */
} DbrCatalogueError;

typedef xmlDoc DbrXmlDoc;
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DbrXmlDoc, xmlFreeDoc)

/* "FILE:LINE: message". @node gives both; the message says what was found, what was expected and the remedy. */
void
dbr_xml_error (GError **error, DbrCatalogueError code, const xmlNode *node, const char *format, ...)
    G_GNUC_PRINTF (4, 5);
/* An attribute's value, NULL when absent (transfer full). */
char *
dbr_xml_attribute (const xmlNode *node, const char *name);
/* Local name equals @name and the namespace is ours. */
gboolean
dbr_xml_is (const xmlNode *node, const char *name);
/* First/next child element of any name, skipping text and comments. */
xmlNode *
dbr_xml_first_element (const xmlNode *node);
xmlNode *
dbr_xml_next_element (const xmlNode *node);
/* Text content of the direct text children, white space folded to single spaces and trimmed (transfer full). */
char *
dbr_xml_text (const xmlNode *node);
/* Refuses attributes and element children that aren't listed (names separated by spaces), naming the nearest allowed one. */
gboolean
dbr_xml_check (const xmlNode *node, const char *attributes, const char *children, GError **error);
/* yes/no, integers in a range; *out_value keeps its value when the attribute is absent. */
gboolean
dbr_xml_yes_no (const xmlNode *node, const char *name, gboolean *out_value, GError **error);
gboolean
dbr_xml_uint (
    const xmlNode *node, const char *name, guint min, guint max, guint *out_value, GError **error);

G_END_DECLS
