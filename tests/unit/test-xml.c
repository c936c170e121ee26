/* SPDX-License-Identifier: Apache-2.0 */
/* Reading XML: what stands there, what mustn't, and what a mistyped name is close to. */
#include "config.h"

#include "dbr-nearest.h"
#include "dbr-xml.h"
#include <libxml/parser.h>
#include <string.h>

static const char text[]
    = "<a xmlns='" DBR_XML_NAMESPACE "' x='1' on='yes' bad='maybe'>\n one <!-- c --> two\n"
      "<b/><![CDATA[ three]]><c xmlns='urn:other'/><b/></a>";

static DbrXmlDoc *
parse (void)
{
  DbrXmlDoc *doc = xmlReadMemory (text, (int) strlen (text), "test.xml", NULL, XML_PARSE_NONET);
  g_assert_nonnull (doc);
  return doc;
}

static void
test_reading (void)
{
  g_autoptr (DbrXmlDoc) doc = parse ();
  const xmlNode *root = xmlDocGetRootElement (doc);
  g_autofree char *x = dbr_xml_attribute (root, "x");
  g_autofree char *none = dbr_xml_attribute (root, "none");
  g_autofree char *content = dbr_xml_text (root);
  g_assert_cmpstr (x, ==, "1");
  g_assert_null (none);
  g_assert_cmpstr (content, ==, "one two three");
  g_assert_true (dbr_xml_is (root, "a"));
  g_assert_false (dbr_xml_is (root, "b"));
  const xmlNode *first = dbr_xml_first_element (root);
  g_assert_true (dbr_xml_is (first, "b"));
  const xmlNode *other = dbr_xml_next_element (first);
  g_assert_false (dbr_xml_is (other, "c")); /* another namespace */
  const xmlNode *last = dbr_xml_next_element (other);
  g_assert_true (dbr_xml_is (last, "b"));
  g_assert_null (dbr_xml_next_element (last));
  g_assert_null (dbr_xml_first_element (last));
}

static void
test_check (void)
{
  static const struct
  {
    const char *attributes, *children, *message;
  } cases[] = {
    { "x on bad", "b c", "test.xml:3: <c> is not in the namespace \"" DBR_XML_NAMESPACE "\"" },
    { "x onn bad", "b", "test.xml:1: <a> has no attribute \"on\"; did you mean \"onn\"?" },
    { "", "b", "test.xml:1: <a> has no attributes, but \"x\" stands here: remove it" },
    { "x on bad", "section table",
      "test.xml:1: <a> has no child \"b\"; allowed here: section, table" },
  };
  g_autoptr (DbrXmlDoc) doc = parse ();
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GError) error = NULL;
      g_assert_false (dbr_xml_check (xmlDocGetRootElement (doc), cases[i].attributes,
                                     cases[i].children, &error));
      g_assert_error (error, DBR_CATALOGUE_ERROR, DBR_CATALOGUE_ERROR_GRAMMAR);
      g_assert_cmpstr (error->message, ==, cases[i].message);
    }
}

static void
test_values (void)
{
  g_autoptr (DbrXmlDoc) doc = parse ();
  const xmlNode *root = xmlDocGetRootElement (doc);
  g_autoptr (GError) error = NULL;
  gboolean on = FALSE;
  guint number = 7;
  g_assert_true (dbr_xml_yes_no (root, "on", &on, &error));
  g_assert_true (on);
  g_assert_true (dbr_xml_yes_no (root, "none", &on, &error));
  g_assert_true (on);
  g_assert_false (dbr_xml_yes_no (root, "bad", &on, &error));
  g_assert_cmpstr (error->message, ==,
                   "test.xml:1: bad=\"maybe\" of <a>: expected \"yes\" or \"no\"");
  g_clear_error (&error);
  g_assert_true (dbr_xml_uint (root, "none", 0, 9, &number, &error));
  g_assert_cmpuint (number, ==, 7);
  g_assert_true (dbr_xml_uint (root, "x", 0, 9, &number, &error));
  g_assert_cmpuint (number, ==, 1);
  g_assert_false (dbr_xml_uint (root, "x", 2, 9, &number, &error));
  g_assert_cmpstr (error->message, ==,
                   "test.xml:1: x=\"1\" of <a>: expected a whole number from 2 to 9");
  g_assert_cmpuint (number, ==, 1);
}

static void
test_nearest (void)
{
  static const char *const words[] = { "limit", "line", "lines", "state", NULL };
  g_assert_cmpstr (dbr_nearest ("lien", words), ==, "line");
  g_assert_cmpstr (dbr_nearest ("LIMITS", words), ==, "limit");
  g_assert_cmpstr (dbr_nearest ("lines", words), ==, "lines");
  g_assert_cmpstr (dbr_nearest ("staate", words), ==, "state");
  g_assert_null (dbr_nearest ("offset", words));
  static const char *const parts[]
      = { "dag_run_id", "dag_id", "warning", "note_of_run", "a_run_b", NULL };
  g_assert_cmpstr (dbr_nearest ("run_id", parts), ==, "dag_run_id");
  g_assert_cmpstr (dbr_nearest ("dag", parts), ==, "dag_id");
  g_assert_cmpstr (dbr_nearest ("WARN", parts), ==, "warning");
  g_assert_cmpstr (dbr_nearest ("run", parts), ==, "note_of_run"); /* an end before an inside */
  g_assert_cmpstr (dbr_nearest ("note_of", parts), ==, "note_of_run");
  g_assert_null (dbr_nearest ("ag", parts));
  g_assert_null (dbr_nearest ("dag_id_of_it", parts));
  g_assert_null (dbr_nearest ("", words));
  g_assert_null (dbr_nearest ("x", NULL));
  g_autofree char *huge = g_strnfill (10000, 'l');
  g_assert_null (dbr_nearest (huge, words));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/xml/reading", test_reading);
  g_test_add_func ("/xml/check", test_check);
  g_test_add_func ("/xml/values", test_values);
  g_test_add_func ("/xml/nearest", test_nearest);
  return g_test_run ();
}
