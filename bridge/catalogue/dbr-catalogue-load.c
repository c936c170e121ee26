/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-catalogue-load: from a file's bytes to a checked catalogue, or to every problem in it.
 *
 * The file may be anybody's. Bytes and depth are bounded, nothing outside of it is ever read, and a
 * document type ends the parse before a single entity is declared.
 */
#include "config.h"

#include "dbr-catalogue-priv.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gi18n.h>
#include <libxml/parser.h>
#include <libxml/parserInternals.h>
#include <libxml/relaxng.h>
#include <string.h>
#include <unistd.h>

typedef struct
{
  DbrCatalogueError code;
  guint line, order;
  char *text; /* with FILE:LINE */
} Problem;

static void
problem_free (gpointer data)
{
  Problem *problem = data;
  g_free (problem->text);
  g_free (problem);
}

static void
add_problem (DbrLoader *self, DbrCatalogueError code, guint line, char *text)
{
  if (self->problems->len == DBR_CATALOGUE_KEPT_PROBLEMS)
    {
      self->n_more++;
      g_free (text);
      return;
    }
  Problem *problem = g_new (Problem, 1);
  *problem = (Problem){ code, line, self->problems->len, text };
  g_ptr_array_add (self->problems, problem);
}

void
dbr_loader_problem (DbrLoader *self, DbrCatalogueError code, guint line, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *text = g_strdup_vprintf (format, args);
  va_end (args);
  add_problem (self, code, line, g_strdup_printf ("%s:%u: %s", self->file, line, text));
}

void
dbr_loader_take (DbrLoader *self, GError *error)
{
  g_autoptr (GError) owned = error;
  gsize len = strlen (self->file);
  guint line = 0;
  if (g_str_has_prefix (owned->message, self->file) && owned->message[len] == ':')
    line = (guint) strtoul (owned->message + len + 1, NULL, 10);
  int code = owned->domain == DBR_CATALOGUE_ERROR ? owned->code : DBR_CATALOGUE_ERROR_PLACEHOLDER;
  if (line)
    add_problem (self, (DbrCatalogueError) code, line, g_strdup (owned->message));
  else
    dbr_loader_problem (self, (DbrCatalogueError) code, 1, "%s", owned->message);
}

guint
dbr_node_line (const xmlNode *node)
{
  long line = xmlGetLineNo (node);
  return line > 0 ? (guint) line : 1;
}

void
dbr_loader_mark (DbrLoader *self, gconstpointer thing, const xmlNode *node)
{
  /* A key only: never followed. */
  g_hash_table_insert (self->lines, GSIZE_TO_POINTER ((gsize) thing),
                       GUINT_TO_POINTER (dbr_node_line (node)));
}

guint
dbr_loader_line (const DbrLoader *self, gconstpointer thing)
{
  return GPOINTER_TO_UINT (g_hash_table_lookup (self->lines, thing));
}

static int
by_line (gconstpointer a, gconstpointer b)
{
  const Problem *one = *(const Problem *const *) a, *two = *(const Problem *const *) b;
  if (one->line != two->line)
    return one->line < two->line ? -1 : 1;
  return one->order < two->order ? -1 : one->order > two->order;
}

/* All problems as one error, in the order of the file. */
static void
give_problems (DbrLoader *self, GError **error)
{
  g_autoptr (GString) all = g_string_new (NULL);
  g_ptr_array_sort (self->problems, by_line);
  const Problem *first = g_ptr_array_index (self->problems, 0);
  guint shown = MIN (self->problems->len, DBR_CATALOGUE_MAX_PROBLEMS);
  for (guint i = 0; i < shown; i++)
    {
      const Problem *problem = g_ptr_array_index (self->problems, i);
      g_string_append_printf (all, "%s%s", i ? "\n" : "", problem->text);
    }
  guint left = self->problems->len - shown + self->n_more;
  if (left)
    {
      g_string_append_c (all, '\n');
      g_string_append_printf (all,
                              g_dngettext (GETTEXT_PACKAGE, "%s: and %u more problem",
                                           "%s: and %u more problems", left),
                              self->file, left);
    }
  g_set_error_literal (error, DBR_CATALOGUE_ERROR, (int) first->code, all->str);
}

/* ---- bytes and XML */

static GBytes *
read_file (const char *file, GError **error)
{
  int fd = open (file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  g_autoptr (GByteArray) bytes = g_byte_array_new ();
  gssize got = fd < 0 ? -1 : 1;
  while (got > 0 && bytes->len <= DBR_CATALOGUE_MAX_BYTES)
    {
      guint8 buffer[65536];
      got = read (fd, buffer, sizeof buffer);
      if (got < 0 && errno == EINTR)
        got = 1;
      else if (got > 0)
        g_byte_array_append (bytes, buffer, (guint) got);
    }
  int reason = errno;
  if (fd >= 0)
    close (fd);
  if (got < 0)
    g_set_error (error, DBR_CATALOGUE_ERROR, DBR_CATALOGUE_ERROR_READ, _ ("%s: can't be read: %s"),
                 file, g_strerror (reason));
  else if (bytes->len > DBR_CATALOGUE_MAX_BYTES)
    g_set_error (error, DBR_CATALOGUE_ERROR, DBR_CATALOGUE_ERROR_READ,
                 _ ("%s: is over %u MiB; a catalogue is a text of some kilobytes"), file,
                 DBR_CATALOGUE_MAX_BYTES >> 20);
  else
    return g_byte_array_free_to_bytes (g_steal_pointer (&bytes));
  return NULL;
}

typedef struct
{
  DbrLoader *loader;
  gboolean stopped; /* the first problem is reported */
} ParseState;

/* For the two characters that people forget to escape; "" for other mistakes. */
static const char *
xml_remedy (const char *text)
{
  if (strstr (text, "EntityRef") || strstr (text, "Entity '"))
    return _ ("; write &amp; for an & in text");
  if (strstr (text, "Unescaped '<'") || strstr (text, "StartTag: invalid element name"))
    return _ ("; write &lt; for a < in text");
  return "";
}

static void
on_xml_error (void *data, xmlErrorPtr problem)
{
  ParseState *state = ((xmlParserCtxtPtr) data)->_private;
  if (state->stopped || problem->level < XML_ERR_ERROR)
    return;
  state->stopped = TRUE;
  g_autofree char *text = g_strdup (problem->message ? problem->message : "");
  g_strchomp (text);
  if (strstr (text, "Excessive depth"))
    dbr_loader_problem (state->loader, DBR_CATALOGUE_ERROR_XML, (guint) MAX (1, problem->line),
                        _ ("elements are nested deeper than 256; no catalogue needs that"));
  else
    dbr_loader_problem (state->loader, DBR_CATALOGUE_ERROR_XML, (guint) MAX (1, problem->line),
                        _ ("isn't well-formed XML: %s%s"), text, xml_remedy (text));
}

/* Called where <!DOCTYPE begins to mean something: before its entities are declared. */
static void
on_doctype (void *data,
            G_GNUC_UNUSED const xmlChar *name,
            G_GNUC_UNUSED const xmlChar *public_id,
            G_GNUC_UNUSED const xmlChar *system_id)
{
  xmlParserCtxtPtr parser = data;
  ParseState *state = parser->_private;
  if (!state->stopped)
    dbr_loader_problem (state->loader, DBR_CATALOGUE_ERROR_XML,
                        (guint) MAX (1, xmlSAX2GetLineNumber (parser)),
                        _ ("has a document type (<!DOCTYPE …>); remove it: a catalogue has none"));
  state->stopped = TRUE;
  xmlStopParser (parser);
}

static xmlDoc *
parse (DbrLoader *loader, const char *text, gsize len)
{
  ParseState state = { .loader = loader };
  guint line = 0;
  if (!dbr_catalogue_scan (text, len, &line))
    {
      dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_XML, line,
                          _ ("an element has over %u attributes; no catalogue needs that"),
                          DBR_CATALOGUE_MAX_ATTRIBUTES);
      return NULL;
    }
  xmlParserCtxtPtr parser = xmlNewParserCtxt ();
  if (!parser)
    return NULL;
  parser->_private = &state;
  parser->sax->serror = on_xml_error;
  parser->sax->internalSubset = on_doctype;
  g_autoptr (DbrXmlDoc) doc
      = xmlCtxtReadMemory (parser, text, (int) len, NULL, NULL,
                           XML_PARSE_NONET | XML_PARSE_BIG_LINES | XML_PARSE_NOERROR
                               | XML_PARSE_NOWARNING | XML_PARSE_NOCDATA);
  xmlFreeParserCtxt (parser);
  if (state.stopped || !doc)
    {
      if (!state.stopped)
        dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_XML, 1, _ ("isn't well-formed XML"));
      return NULL;
    }
  doc->URL = xmlStrdup ((const xmlChar *) loader->file);
  return g_steal_pointer (&doc);
}

/* ---- the grammar as a second opinion on files of others */

static void
on_grammar_error (void *data, xmlErrorPtr problem)
{
  DbrLoader *loader = data;
  g_autofree char *text = g_strdup (problem->message ? problem->message : "");
  if (loader->problems->len == 0)
    dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_GRAMMAR, (guint) MAX (1, problem->line),
                        _ ("isn't a catalogue by catalogue.rng: %s"), g_strchomp (text));
}

static void
ignore (G_GNUC_UNUSED void *data, G_GNUC_UNUSED xmlErrorPtr problem)
{
}

static void
check_grammar (DbrLoader *loader, xmlDoc *doc)
{
  g_autofree char *file = g_build_filename (loader->options->schema_dir, "catalogue.rng", NULL);
  /* Read by ourselves: libxml2 would print what it can't find. */
  g_autoptr (GBytes) text = read_file (file, NULL);
  gsize len = 0;
  const char *bytes = text ? g_bytes_get_data (text, &len) : NULL;
  xmlRelaxNGParserCtxtPtr parser = bytes ? xmlRelaxNGNewMemParserCtxt (bytes, (int) len) : NULL;
  if (parser)
    xmlRelaxNGSetParserStructuredErrors (parser, ignore, NULL);
  xmlRelaxNGPtr grammar = parser ? xmlRelaxNGParse (parser) : NULL;
  xmlRelaxNGValidCtxtPtr validator = grammar ? xmlRelaxNGNewValidCtxt (grammar) : NULL;
  if (validator)
    {
      xmlRelaxNGSetValidStructuredErrors (validator, on_grammar_error, loader);
      if (xmlRelaxNGValidateDoc (validator, doc) != 0 && loader->problems->len == 0)
        dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_GRAMMAR, 1,
                            _ ("isn't a catalogue by catalogue.rng"));
    }
  else
    dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_READ, 1,
                        _ ("can't be checked: the grammar \"%s\" can't be read; "
                           "is the program installed whole?"),
                        file);
  g_clear_pointer (&validator, xmlRelaxNGFreeValidCtxt);
  g_clear_pointer (&grammar, xmlRelaxNGFree);
  g_clear_pointer (&parser, xmlRelaxNGFreeParserCtxt);
}

/* ---- the root element */

static void
category_free (gpointer data)
{
  DbrCategory *category = data;
  g_free (category->name);
  g_free (category->title);
  g_free (category);
}

static void
read_category (DbrLoader *loader, const xmlNode *node)
{
  if (!dbr_loader_form (loader, node, "name", ""))
    return;
  g_autofree char *name = dbr_loader_word (loader, node, "name", DBR_WORD_CATEGORY, TRUE);
  g_autofree char *title = dbr_loader_text (loader, node);
  if (!name || !title)
    return;
  DbrCategory *category = g_new0 (DbrCategory, 1);
  dbr_loader_mark (loader, category, node);
  category->name = g_steal_pointer (&name);
  category->title = g_steal_pointer (&title);
  g_ptr_array_add (loader->catalogue->categories, category);
}

static void
read_tool (DbrLoader *loader, const xmlNode *node)
{
  GPtrArray *tools = loader->catalogue->tools;
  DbrTool *tool = tools->len < DBR_CATALOGUE_MAX_TOOLS ? dbr_tool_read (loader, node) : NULL;
  if (tool)
    g_ptr_array_add (tools, tool);
  else if (tools->len == DBR_CATALOGUE_MAX_TOOLS)
    dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_RULE, dbr_node_line (node),
                        _ ("a catalogue has at most %u tools; split it"), DBR_CATALOGUE_MAX_TOOLS);
}

static void
read_root (DbrLoader *loader, const xmlNode *root)
{
  DbrCatalogue *self = loader->catalogue;
  gboolean title = FALSE, instructions = FALSE, backend = FALSE;
  if (!dbr_xml_is (root, "catalogue"))
    {
      dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_GRAMMAR, dbr_node_line (root),
                          _ ("begins with <%s>; a catalogue begins with <catalogue xmlns=\"%s\">"),
                          (const char *) root->name, DBR_XML_NAMESPACE);
      return;
    }
  if (!dbr_loader_form (loader, root, "name", "title instructions backend category tool offer"))
    return;
  dbr_loader_mark (loader, self, root);
  self->name = dbr_loader_word (loader, root, "name", DBR_WORD_CATALOGUE, TRUE);
  for (xmlNode *child = dbr_xml_first_element (root); child; child = dbr_xml_next_element (child))
    if (dbr_xml_is (child, "title"))
      {
        dbr_loader_once (loader, child, &title);
        g_free (self->title);
        self->title
            = dbr_loader_form (loader, child, "", "") ? dbr_loader_text (loader, child) : NULL;
      }
    else if (dbr_xml_is (child, "instructions"))
      {
        dbr_loader_once (loader, child, &instructions);
        g_free (self->instructions);
        self->instructions
            = dbr_loader_form (loader, child, "", "") ? dbr_loader_text (loader, child) : NULL;
      }
    else if (dbr_xml_is (child, "backend"))
      {
        dbr_loader_once (loader, child, &backend);
        dbr_backend_def_free (self->backend);
        self->backend = dbr_backend_read (loader, child);
      }
    else if (dbr_xml_is (child, "category"))
      read_category (loader, child);
    else if (dbr_xml_is (child, "tool"))
      {
        if (dbr_offer_is_wanted (loader, child))
          read_tool (loader, child);
      }
    else if (dbr_xml_is (child, "offer"))
      dbr_offer_read (loader, child);
    else
      dbr_loader_reserved (loader, child);
  dbr_loader_missing (loader, root, "title", title);
  dbr_loader_missing (loader, root, "backend", backend);
}

void
dbr_loader_reserved (DbrLoader *self, const xmlNode *node)
{
  dbr_loader_problem (self, DBR_CATALOGUE_ERROR_RULE, dbr_node_line (node),
                      _ ("<%s> is not supported yet: the word is kept for later; remove it"),
                      (const char *) node->name);
}

/* ---- the door */

void
dbr_catalogue_free (DbrCatalogue *self)
{
  if (!self)
    return;
  g_free (self->name);
  g_free (self->title);
  g_free (self->instructions);
  g_free (self->file);
  dbr_backend_def_free (self->backend);
  g_ptr_array_unref (self->categories);
  g_ptr_array_unref (self->tools);
  g_ptr_array_unref (self->offers);
  g_clear_pointer (&self->document, xmlFreeDoc);
  g_free (self);
}

static void
row_clear (gpointer data)
{
  g_free (((DbrAccessRow *) data)->method);
}

static void
binding_free (gpointer data)
{
  g_free (((DbrBinding *) data)->name);
  g_free (data);
}

DbrCatalogue *
dbr_catalogue_load_data (const char *text,
                         gsize len,
                         const char *file,
                         const DbrCatalogueOptions *options,
                         GError **error)
{
  g_autoptr (DbrCatalogue) self = g_new0 (DbrCatalogue, 1);
  g_autoptr (GPtrArray) problems = g_ptr_array_new_with_free_func (problem_free);
  g_autoptr (GPtrArray) bindings = g_ptr_array_new_with_free_func (binding_free);
  g_autoptr (GArray) rows = g_array_new (FALSE, FALSE, sizeof (DbrAccessRow));
  g_autoptr (GHashTable) lines = g_hash_table_new (NULL, NULL);
  DbrLoader loader = { .file = file,
                       .options = options,
                       .catalogue = self,
                       .problems = problems,
                       .rows = rows,
                       .lines = lines,
                       .bindings = bindings };
  g_array_set_clear_func (rows, row_clear);
  self->file = g_strdup (file);
  self->is_shipped = options->is_shipped;
  self->categories = g_ptr_array_new_with_free_func (category_free);
  self->tools = g_ptr_array_new_with_free_func ((GDestroyNotify) dbr_tool_free);
  self->offers = g_ptr_array_new_with_free_func (dbr_offer_free);

  g_autoptr (DbrXmlDoc) doc = parse (&loader, text, len);
  if (doc)
    read_root (&loader, xmlDocGetRootElement (doc));
  if (doc && problems->len == 0)
    dbr_catalogue_check (&loader);
  if (doc && problems->len == 0 && !options->is_shipped && options->schema_dir)
    check_grammar (&loader, doc);
  if (doc && problems->len == 0)
    dbr_offers_choose (&loader);
  if (problems->len)
    {
      give_problems (&loader, error);
      return NULL;
    }
  if (options->is_quick)
    self->document = g_steal_pointer (&doc);
  return g_steal_pointer (&self);
}

DbrCatalogue *
dbr_catalogue_load (const char *file, const DbrCatalogueOptions *options, GError **error)
{
  g_autoptr (GBytes) bytes = read_file (file, error);
  gsize len = 0;
  if (!bytes)
    return NULL;
  const char *text = g_bytes_get_data (bytes, &len);
  return dbr_catalogue_load_data (text ? text : "", len, file, options, error);
}

const DbrTool *
dbr_catalogue_find (const DbrCatalogue *self, const char *tool)
{
  for (guint i = 0; i < self->tools->len; i++)
    {
      const DbrTool *candidate = g_ptr_array_index (self->tools, i);
      if (g_str_equal (candidate->name, tool))
        return candidate;
    }
  return NULL;
}
