/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON as the arguments of a tool with every kind of parameter. What is let through has the types
 * of the parameters, and is let through again unchanged.
 */
#include "config.h"

#include "catalogue/dbr-catalogue-priv.h"

#include <stdint.h>
#include <string.h>

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static const char text[]
    = "<catalogue name=\"t\" xmlns=\"urn:drawbridge:catalogue:1\"><title>T</title>"
      "<backend server-name=\"t\" url=\"http://localhost:1\"><gate writes-env=\"T_W\"/></backend>"
      "<category name=\"c\">C</category><tool name=\"t\" category=\"c\"><title>T</title>"
      "<description>D.</description>"
      "<param name=\"s\" type=\"string\" pattern=\"(a|b)*c?\" max-length=\"9\">S.</param>"
      "<param name=\"v\" type=\"string\">V.<value>one</value><value>two</value></param>"
      "<param name=\"i\" type=\"integer\" minimum=\"-5\" maximum=\"9007199254740993\" "
      "default=\"3\">I.</param>"
      "<param name=\"n\" type=\"number\" minimum=\"-1.5\">N.</param>"
      "<param name=\"b\" type=\"boolean\">B.</param>"
      "<param name=\"a\" type=\"array\" max-items=\"4\">A.<items type=\"integer\"/></param>"
      "<param name=\"o\" type=\"object\">O.</param>"
      "<param name=\"m\" type=\"object\">M.<param name=\"k\" type=\"string\" required=\"yes\"/>"
      "<param name=\"l\" type=\"array\"><items type=\"boolean\"/></param></param>"
      "<param name=\"x\" type=\"string\" refuse=\"***\">X.</param>"
      "<request id=\"r\" method=\"POST\" path=\"/x\"><query name=\"q\" "
      "value=\"{s}{v}{i}{n}{b}\"/><body>"
      "<field name=\"a\" from=\"$.args.a\"/><field name=\"o\" from=\"$.args.o\"/>"
      "<field name=\"m\" from=\"$.args.m\"/><field name=\"x\" from=\"$.args.x\"/></body></request>"
      "<answer><line>x</line></answer></tool></catalogue>";

static DbrJsonDoc *
reparsed (const DbrJsonDoc *doc, GString *out)
{
  dbr_json_append (dbr_json_doc_root (doc), out);
  DbrJsonDoc *again = dbr_json_doc_new_from_data (out->str, (gssize) out->len, NULL, NULL);
  g_assert (again);
  return again;
}

static void
check_types (DbrJson args)
{
  gint64 whole;
  DbrJson i = dbr_json_get (args, "i"), b = dbr_json_get (args, "b"), o = dbr_json_get (args, "o");
  g_assert (dbr_json_int64 (i, &whole) && whole >= -5);
  g_assert (!dbr_json_exists (b) || dbr_json_type (b) == DBR_JSON_BOOLEAN);
  g_assert (dbr_json_type (o) == DBR_JSON_NOTHING || dbr_json_type (o) == DBR_JSON_NULL
            || dbr_json_type (o) == DBR_JSON_OBJECT);
  g_assert (!dbr_json_string_equals (dbr_json_get (args, "x"), "***"));
  g_assert (dbr_json_count (dbr_json_get (args, "a")) <= 4);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  static DbrCatalogue *catalogue;
  const DbrCatalogueOptions options = { .is_shipped = TRUE };
  if (!catalogue)
    catalogue = dbr_catalogue_load_data (text, strlen (text), "t.xml", &options, NULL);
  g_assert (catalogue);
  const DbrTool *tool = dbr_catalogue_find (catalogue, "t");
  g_autoptr (DbrJsonDoc) doc
      = dbr_json_doc_new_from_data ((const char *) data, (gssize) size, NULL, NULL);
  if (!doc)
    return 0;
  g_autoptr (GError) error = NULL;
  g_autoptr (DbrJsonDoc) result = dbr_arguments_check (tool, dbr_json_doc_root (doc), &error);
  g_assert (!result == !!error);
  if (error)
    {
      g_assert (error->domain == DBR_ARGUMENT_ERROR);
      g_assert (g_utf8_validate (error->message, -1, NULL) && strlen (error->message) < 20000);
      return 0;
    }
  g_autoptr (GString) one = g_string_new (NULL), two = g_string_new (NULL);
  g_autoptr (DbrJsonDoc) first = reparsed (result, one);
  check_types (dbr_json_doc_root (first));
  g_autoptr (DbrJsonDoc) second = dbr_arguments_check (tool, dbr_json_doc_root (first), &error);
  g_assert (second && !error);
  g_autoptr (DbrJsonDoc) third = reparsed (second, two);
  g_assert (third && g_string_equal (one, two));
  return 0;
}
