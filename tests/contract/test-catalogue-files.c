/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Catalogues as files: good ones load; of bad ones every problem is told with its exact text and
 * line (tests/contract/catalogue/bad/<case>/{input.xml,error}). The grammar in schemas/ agrees: it
 * refuses what the loader calls GRAMMAR and nothing else. DBR_UPDATE=1 rewrites the error files.
 */
#include "config.h"

#include "catalogue/dbr-catalogue.h"

#include <glib/gstdio.h>
#include <libxml/parser.h>
#include <libxml/relaxng.h>
#include <string.h>
#include <unistd.h>

static const char *const code_words[]
    = { "READ", "XML", "GRAMMAR", "REFERENCE", "DUPLICATE", "PLACEHOLDER", "RULE" };

static xmlRelaxNGPtr grammar;

static char *
source_path (const char *path)
{
  return g_test_build_filename (G_TEST_DIST, path, NULL);
}

static void
ignore (G_GNUC_UNUSED void *data, G_GNUC_UNUSED xmlErrorPtr error)
{
}

/* Whether the grammar takes the file. */
static gboolean
is_valid (const char *file)
{
  g_autoptr (DbrXmlDoc) doc = xmlReadFile (file, NULL, XML_PARSE_NONET | XML_PARSE_NOERROR);
  g_assert_nonnull (doc);
  xmlRelaxNGValidCtxtPtr validator = xmlRelaxNGNewValidCtxt (grammar);
  xmlRelaxNGSetValidStructuredErrors (validator, ignore, NULL);
  int rc = xmlRelaxNGValidateDoc (validator, doc);
  xmlRelaxNGFreeValidCtxt (validator);
  return rc == 0;
}

static void
read_grammar (void)
{
  g_autofree char *file = source_path ("schemas/catalogue.rng");
  xmlRelaxNGParserCtxtPtr parser = xmlRelaxNGNewParserCtxt (file);
  grammar = xmlRelaxNGParse (parser);
  xmlRelaxNGFreeParserCtxt (parser);
  g_assert_nonnull (grammar);
}

static void
test_good (gconstpointer data)
{
  const char *path = data;
  g_autofree char *file = source_path (path);
  g_autofree char *schemas = source_path ("schemas");
  g_autoptr (GError) error = NULL;
  DbrCatalogueOptions options
      = { .is_shipped = g_str_has_prefix (path, "schemas/"), .schema_dir = schemas };
  g_autoptr (DbrCatalogue) catalogue = dbr_catalogue_load (file, &options, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (catalogue->file, ==, file);
  g_assert_true (is_valid (file));
}

static void
test_bad (gconstpointer data)
{
  g_autofree char *schemas = source_path ("schemas");
  g_autofree char *wanted_file = g_build_filename (data, "error", NULL);
  g_autofree char *wanted = NULL;
  g_autoptr (GError) error = NULL;
  DbrCatalogueOptions options = { .schema_dir = schemas };
  /* Messages name the file as it was given. */
  g_assert_cmpint (g_chdir (data), ==, 0);
  g_autoptr (DbrCatalogue) catalogue = dbr_catalogue_load ("input.xml", &options, &error);
  g_assert_null (catalogue);
  g_assert_nonnull (error);
  g_assert_true (error->domain == DBR_CATALOGUE_ERROR);
  g_assert_cmpuint ((guint) error->code, <, G_N_ELEMENTS (code_words));
  g_autofree char *got = g_strdup_printf ("%s\n%s\n", code_words[error->code], error->message);
  if (g_getenv ("DBR_UPDATE"))
    g_assert_true (g_file_set_contents (wanted_file, got, -1, NULL));
  g_assert_true (g_file_get_contents (wanted_file, &wanted, NULL, NULL));
  g_assert_cmpstr (got, ==, wanted);
  gboolean is_single = strchr (error->message, '\n') == NULL;
  if (error->code == DBR_CATALOGUE_ERROR_GRAMMAR)
    g_assert_false (is_valid ("input.xml"));
  else if (error->code != DBR_CATALOGUE_ERROR_XML && is_single)
    g_assert_true (is_valid ("input.xml"));
}

static void
add_folder (const char *path, gboolean good)
{
  g_autofree char *folder = source_path (path);
  g_autoptr (GError) error = NULL;
  g_autoptr (GDir) dir = g_dir_open (folder, 0, &error);
  g_assert_no_error (error);
  for (const char *name = g_dir_read_name (dir); name; name = g_dir_read_name (dir))
    {
      g_autofree char *test = g_strdup_printf ("/catalogue/%s/%s", good ? "good" : "bad", name);
      if (good)
        g_test_add_data_func_full (test, g_build_filename (path, name, NULL), test_good, g_free);
      else
        g_test_add_data_func_full (test, g_build_filename (folder, name, NULL), test_bad, g_free);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  read_grammar ();
  g_test_add_data_func ("/catalogue/good/airflow", "schemas/airflow.xml", test_good);
  g_test_add_data_func ("/catalogue/good/example", "doc/example-catalogue.xml", test_good);
  g_test_add_data_func ("/catalogue/good/engine", "schemas/engine.xml", test_good);
  add_folder ("tests/contract/catalogue/good", TRUE);
  add_folder ("tests/contract/catalogue/bad", FALSE);
  int rc = g_test_run ();
  xmlRelaxNGFree (grammar);
  xmlCleanupParser ();
  return rc;
}
