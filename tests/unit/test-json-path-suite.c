/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSONPath against the compliance test suite of RFC 9535: every case, nodes, order and paths.
 */
#include "config.h"

#include "dbr-json-path.h"

#include <string.h>

static char *
compact (DbrJson node)
{
  GString *out = g_string_new (NULL);
  dbr_json_append (node, out);
  return g_string_free (out, FALSE);
}

static gboolean
is_result (const DbrNodeList *nodes, DbrJson values)
{
  guint i = 0;
  for (DbrJson v = dbr_json_first (values); dbr_json_exists (v); v = dbr_json_next (v), i++)
    if (i >= dbr_node_list_size (nodes) || !dbr_json_equal (dbr_node_list_get (nodes, i), v))
      return FALSE;
  return i == dbr_node_list_size (nodes);
}

static gboolean
is_at (const DbrNodeList *nodes, DbrJson root, DbrJson paths)
{
  guint i = 0;
  for (DbrJson v = dbr_json_first (paths); dbr_json_exists (v); v = dbr_json_next (v), i++)
    {
      g_autofree char *path = dbr_json_path_normalized (root, dbr_node_list_get (nodes, i));
      if (!dbr_json_string_equals (v, path))
        return FALSE;
    }
  return TRUE;
}

static gboolean
is_right (DbrJson test, DbrJson root, const DbrNodeList *nodes)
{
  DbrJson all = dbr_json_get (test, "results");
  DbrJson paths = dbr_json_first (dbr_json_get (test, "results_paths"));

  if (!dbr_json_exists (all))
    return is_result (nodes, dbr_json_get (test, "result"))
           && is_at (nodes, root, dbr_json_get (test, "result_paths"));
  for (DbrJson v = dbr_json_first (all); dbr_json_exists (v);
       v = dbr_json_next (v), paths = dbr_json_next (paths))
    if (is_result (nodes, v) && is_at (nodes, root, paths))
      return TRUE;
  return FALSE;
}

static gboolean
run_case (DbrJson test)
{
  g_autofree char *selector = dbr_json_dup_string (dbr_json_get (test, "selector"));
  g_autoptr (GError) error = NULL;
  g_autoptr (DbrJsonPath) path = dbr_json_path_new (selector, DBR_JSON_PATH_RFC, &error);
  DbrJsonPathEnv env = { .root = dbr_json_get (test, "document") };
  g_auto (DbrNodeList) nodes;

  dbr_node_list_init (&nodes);
  if (dbr_json_get_boolean (dbr_json_get (test, "invalid_selector")))
    {
      if (error)
        g_test_message ("%s", error->message);
      return path == NULL && error != NULL;
    }
  if (!path || !dbr_json_path_select (path, &env, &nodes, &error))
    {
      g_test_message ("%s", error->message);
      return FALSE;
    }
  DbrJson first = dbr_json_path_first (path, &env);
  gboolean is_first = dbr_node_list_size (&nodes)
                          ? dbr_json_same (first, dbr_node_list_get (&nodes, 0))
                          : !dbr_json_exists (first);
  return is_first && is_right (test, env.root, &nodes);
}

static void
test_suite (void)
{
  const char *shared = g_getenv ("DBR_SHARED");
  g_autofree char *file = g_build_filename (shared ? shared : ".", "jsonpath", "cts.json", NULL);
  g_autofree char *text = NULL;
  g_autoptr (GError) error = NULL;
  gsize len;
  guint n = 0;
  guint n_failed = 0;

  if (!g_file_get_contents (file, &text, &len, NULL))
    {
      g_test_skip ("no shared: jsonpath/cts.json");
      return;
    }
  g_autoptr (DbrJsonDoc) doc = dbr_json_doc_new_from_data (text, (gssize) len, NULL, &error);
  g_assert_no_error (error);
  DbrJson tests = dbr_json_get (dbr_json_doc_root (doc), "tests");
  for (DbrJson t = dbr_json_first (tests); dbr_json_exists (t); t = dbr_json_next (t), n++)
    if (!run_case (t))
      {
        g_autofree char *name = compact (dbr_json_get (t, "name"));
        g_autofree char *selector = compact (dbr_json_get (t, "selector"));
        g_printerr ("# failed: %s %s\n", name, selector);
        n_failed++;
      }
  g_assert_cmpuint (n, ==, 703);
  g_assert_cmpuint (n_failed, ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/json-path/suite", test_suite);
  return g_test_run ();
}
