/* SPDX-License-Identifier: Apache-2.0 */
/* The tool list: schemas that every client can read, and annotations that follow from access. */
#include "config.h"

#include "catalogue/dbr-catalogue-priv.h"

#include <string.h>

static DbrCatalogue *
load_file (const char *path)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *file = g_test_build_filename (G_TEST_DIST, path, NULL);
  DbrCatalogueOptions options = { .is_shipped = TRUE };
  DbrCatalogue *catalogue = dbr_catalogue_load (file, &options, &error);
  g_assert_no_error (error);
  return catalogue;
}

static char *
described (const DbrCatalogue *catalogue, const char *tool, const char *note)
{
  json_auto_t *value = dbr_tool_describe (dbr_catalogue_find (catalogue, tool), note);
  char *dumped = json_dumps (value, JSON_COMPACT);
  char *text = g_strdup (dumped);
  free (dumped);
  return text;
}

static void
test_whole (void)
{
  static const char text[]
      = "<catalogue name=\"t\" xmlns=\"urn:drawbridge:catalogue:1\"><title>T</title>"
        "<backend server-name=\"t\" url=\"http://localhost:1\"><gate writes-env=\"T_W\"/></backend>"
        "<category name=\"c\">C</category><tool name=\"t\" category=\"c\"><title>Title</title>"
        "<description>What it does.</description>"
        "<param name=\"a\" type=\"string\" required=\"yes\" min-length=\"1\" max-length=\"9\" "
        "pattern=\"[a-z]+\">A.</param>"
        "<param name=\"b\" type=\"integer\" minimum=\"-1\" maximum=\"5\" "
        "default=\"3\">B.<value>1</value><value>3</value></param>"
        "<param name=\"c\" type=\"number\" minimum=\"0.5\" default=\"1.5\">C.</param>"
        "<param name=\"d\" type=\"boolean\" default=\"false\">D.</param>"
        "<param name=\"e\" type=\"array\" min-items=\"1\" max-items=\"4\">E.<items "
        "type=\"array\"><items type=\"string\"><value>x</value></items></items></param>"
        "<param name=\"f\" type=\"object\">F.</param>"
        "<param name=\"g\" type=\"object\">G.<param name=\"h\" type=\"string\" "
        "required=\"yes\">H.</param><param name=\"i\" type=\"integer\"/></param>"
        "<param name=\"j\" type=\"string\" default=\"say &quot;x&quot;\">J.</param>"
        "<request id=\"r\" method=\"POST\" path=\"/x/{a}\"><body><field name=\"b\" "
        "from=\"$.args.b\"/><field name=\"c\" from=\"$.args.c\"/>"
        "<field name=\"d\" from=\"$.args.d\"/><field name=\"e\" from=\"$.args.e\"/><field "
        "name=\"f\" from=\"$.args.f\"/>"
        "<field name=\"g\" from=\"$.args.g\"/><field name=\"j\" "
        "from=\"$.args.j\"/></body></request>"
        "<answer><line>x</line></answer></tool></catalogue>";
  static const char wanted[]
      = "{\"name\":\"t\",\"title\":\"Title\",\"description\":\"What it does. "
        "Shut.\",\"inputSchema\":{\"type\":\"object\",\"properties\":{"
        "\"a\":{\"type\":\"string\",\"description\":\"A.\",\"minLength\":1,\"maxLength\":9,"
        "\"pattern\":\"^(?:[a-z]+)$\"},"
        "\"b\":{\"type\":\"integer\",\"description\":\"B.\",\"enum\":[1,3],\"minimum\":-1,"
        "\"maximum\":5,\"default\":3},"
        "\"c\":{\"type\":\"number\",\"description\":\"C.\",\"minimum\":0.5,\"default\":1.5},"
        "\"d\":{\"type\":\"boolean\",\"description\":\"D.\",\"default\":false},"
        "\"e\":{\"type\":\"array\",\"description\":\"E.\",\"minItems\":1,\"maxItems\":4,\"items\":{"
        "\"type\":\"array\",\"items\":{\"type\":\"string\",\"enum\":[\"x\"]}}},"
        "\"f\":{\"type\":\"object\",\"description\":\"F.\"},"
        "\"g\":{\"type\":\"object\",\"description\":\"G.\",\"properties\":{\"h\":{\"type\":"
        "\"string\",\"description\":\"H.\"},\"i\":{\"type\":\"integer\"}},"
        "\"required\":[\"h\"],\"additionalProperties\":false},"
        "\"j\":{\"type\":\"string\",\"description\":\"J.\",\"default\":\"say \\\"x\\\"\"}},"
        "\"required\":[\"a\"],\"additionalProperties\":false},"
        "\"annotations\":{\"title\":\"Title\",\"readOnlyHint\":false,\"destructiveHint\":false,"
        "\"idempotentHint\":false,\"openWorldHint\":true}}";
  g_autoptr (GError) error = NULL;
  DbrCatalogueOptions options = { .is_shipped = TRUE };
  g_autoptr (DbrCatalogue) catalogue
      = dbr_catalogue_load_data (text, strlen (text), "t.xml", &options, &error);
  g_assert_no_error (error);
  g_autofree char *got = described (catalogue, "t", "Shut.");
  g_assert_cmpstr (got, ==, wanted);
}

static void
test_no_parameters (void)
{
  g_autoptr (DbrCatalogue) catalogue = load_file ("schemas/airflow.xml");
  g_autofree char *got = described (catalogue, "get_version", NULL);
  g_assert_cmpstr (
      got, ==,
      "{\"name\":\"get_version\",\"title\":\"Airflow version\",\"description\":\"The version of "
      "the "
      "Airflow behind this server.\",\"inputSchema\":{\"type\":\"object\",\"properties\":{},"
      "\"additionalProperties\":false},\"annotations\":{\"title\":\"Airflow "
      "version\",\"readOnlyHint\":true,\"destructiveHint\":false,\"idempotentHint\":true,"
      "\"openWorldHint\":true}}");
}

static void
test_annotations (void)
{
  static const struct
  {
    const char *tool;
    gboolean reads, destroys, idempotent;
  } rows[] = {
    { "list_dags", TRUE, FALSE, TRUE },         { "airflow_api_get", TRUE, FALSE, TRUE },
    { "trigger_dag_run", FALSE, FALSE, FALSE }, { "clear_task_instances", FALSE, TRUE, FALSE },
    { "set_dag_paused", FALSE, FALSE, TRUE },   { "airflow_api_call", FALSE, TRUE, FALSE },
  };
  g_autoptr (DbrCatalogue) catalogue = load_file ("schemas/airflow.xml");
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      json_auto_t *tool = dbr_tool_describe (dbr_catalogue_find (catalogue, rows[i].tool), NULL);
      const json_t *hints = json_object_get (tool, "annotations");
      g_test_message ("%s", rows[i].tool);
      g_assert_cmpint (json_is_true (json_object_get (hints, "readOnlyHint")), ==, rows[i].reads);
      g_assert_cmpint (json_is_true (json_object_get (hints, "destructiveHint")), ==,
                       rows[i].destroys);
      g_assert_cmpint (json_is_true (json_object_get (hints, "idempotentHint")), ==,
                       rows[i].idempotent);
      g_assert_true (json_is_true (json_object_get (hints, "openWorldHint")));
    }
}

/* ---- what keeps every client's list whole */

static void
lint_schema (json_t *schema, gboolean is_root)
{
  static const char *const keywords[]
      = { "type",      "description", "enum",       "minimum",  "maximum",
          "minLength", "maxLength",   "pattern",    "default",  "items",
          "minItems",  "maxItems",    "properties", "required", "additionalProperties",
          NULL };
  static const char *const types[]
      = { "string", "integer", "number", "boolean", "object", "array", NULL };
  const char *key;
  json_t *value;
  json_object_foreach (schema, key, value) g_assert_true (g_strv_contains (keywords, key));
  const char *type = json_string_value (json_object_get (schema, "type"));
  g_assert_nonnull (type);
  g_assert_true (g_strv_contains (types, type));
  g_assert_true (!is_root || g_str_equal (type, "object"));
  json_t *properties = json_object_get (schema, "properties");
  g_assert_true (!is_root || json_is_object (properties));
  json_object_foreach (properties, key, value) lint_schema (value, FALSE);
  size_t i;
  json_array_foreach (json_object_get (schema, "required"), i, value)
      g_assert_nonnull (json_object_get (properties, json_string_value (value)));
  const json_t *items = json_object_get (schema, "items");
  g_assert_true ((items != NULL) == g_str_equal (type, "array"));
  if (json_object_size (items))
    lint_schema (json_object_get (schema, "items"), FALSE);
}

static void
lint_tools (const DbrCatalogue *catalogue)
{
  for (guint i = 0; i < catalogue->tools->len; i++)
    {
      const DbrTool *tool = g_ptr_array_index (catalogue->tools, i);
      json_auto_t *value = dbr_tool_describe (tool, NULL);
      g_test_message ("%s", tool->name);
      g_assert_cmpuint (strlen (tool->name), <=, 40);
      g_assert_true (dbr_word_is (tool->name, DBR_WORD_TOOL));
      g_assert_cmpuint (json_object_size (value), ==, 5);
      g_assert_null (json_object_get (value, "outputSchema"));
      lint_schema (json_object_get (value, "inputSchema"), TRUE);
    }
}

static void
test_lint (gconstpointer data)
{
  g_autoptr (DbrCatalogue) catalogue = load_file (data);
  lint_tools (catalogue);
}

static void
test_lint_engine (gconstpointer data)
{
  g_autofree char *file = g_test_build_filename (G_TEST_DIST, "schemas", "engine.xml", NULL);
  g_autoptr (GError) error = NULL;
  DbrCatalogueOptions options = { .is_shipped = TRUE, .offer = data };
  g_autoptr (DbrCatalogue) catalogue = dbr_catalogue_load (file, &options, &error);
  g_assert_no_error (error);
  lint_tools (catalogue);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/tool-list/whole", test_whole);
  g_test_add_func ("/tool-list/no-parameters", test_no_parameters);
  g_test_add_func ("/tool-list/annotations", test_annotations);
  g_test_add_data_func ("/tool-list/lint/foreman", "foreman", test_lint_engine);
  g_test_add_data_func ("/tool-list/lint/client", "client", test_lint_engine);
  g_test_add_data_func ("/tool-list/lint/coordinator", "coordinator", test_lint_engine);
  g_test_add_data_func ("/tool-list/lint/admin", "admin", test_lint_engine);
  g_test_add_data_func ("/tool-list/lint/airflow", "schemas/airflow.xml", test_lint);
  g_test_add_data_func ("/tool-list/lint/example", "doc/example-catalogue.xml", test_lint);
  return g_test_run ();
}
