/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSONPath: the first line is an expression (its first byte chooses the flags), the rest a
 * document. Whatever is accepted is evaluated within a small budget; the first node of a selection
 * is what dbr_json_path_first() gives, and a plain query's nodes have normalized paths that lead
 * back to them.
 */
#include "config.h"

#include "dbr-json-path.h"

#include <stdint.h>
#include <string.h>

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

#define STEPS 20000u

/* The path leads to the node (or to its equal: of duplicate names the last is found). */
static void
assert_leads_back (DbrJson root, DbrJson node)
{
  g_autofree char *normalized = dbr_json_path_normalized (root, node);
  g_autoptr (GError) error = NULL;

  if (!normalized || strlen (normalized) > DBR_JSON_PATH_MAX_TEXT)
    return; /* a literal or a computed value */
  g_autoptr (DbrJsonPath) path = dbr_json_path_new (normalized, DBR_JSON_PATH_RFC, &error);
  g_assert_no_error (error);
  g_assert (dbr_json_path_is_singular (path));
}

static void
select_nodes (const DbrJsonPath *path, DbrJsonPathEnv *env)
{
  g_auto (DbrNodeList) nodes;
  g_autoptr (GError) error = NULL;

  dbr_node_list_init (&nodes);
  gboolean ok = dbr_json_path_select (path, env, &nodes, &error);
  g_assert (ok == (error == NULL));
  g_assert (ok || dbr_node_list_size (&nodes) == 0);
  if (dbr_json_path_is_singular (path))
    g_assert (dbr_node_list_size (&nodes) <= 1);
  if (dbr_node_list_size (&nodes) > 0)
    assert_leads_back (env->root, dbr_node_list_get (&nodes, 0));
  const char *text = dbr_json_path_text (path) + strspn (dbr_json_path_text (path), " \t\n\r");
  if (ok && (*text == '$' || *text == '@'))
    {
      *env->steps_left = STEPS;
      DbrJson first = dbr_json_path_first (path, env);
      DbrJson want = dbr_node_list_size (&nodes) ? dbr_node_list_get (&nodes, 0) : DBR_JSON_NONE;
      g_assert (dbr_json_same (first, want));
    }
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  const uint8_t *lf = size ? memchr (data, '\n', size) : NULL;
  if (size < 2 || !lf || lf == data || memchr (data, '\0', (size_t) (lf - data)))
    return 0;
  g_autofree char *text = g_strndup ((const char *) data + 1, (gsize) (lf - data - 1));
  g_autoptr (DbrJsonDoc) doc = dbr_json_doc_new_from_data (
      (const char *) lf + 1, (gssize) (data + size - lf - 1), NULL, NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (DbrJsonPath) path = dbr_json_path_new (text, (DbrJsonPathFlags) (data[0] & 7), &error);
  guint steps = STEPS;

  g_assert ((path == NULL) == (error != NULL));
  if (!path || !doc)
    return 0;
  DbrJson root = dbr_json_doc_root (doc);
  DbrJsonPathEnv env = { .root = root, .current = dbr_json_first (root), .steps_left = &steps };
  DbrJson nodes[16];
  guint n = 0;
  for (DbrJson v = dbr_json_first (env.current); dbr_json_exists (v) && n < G_N_ELEMENTS (nodes);
       v = dbr_json_next (v))
    nodes[n++] = v;
  g_autoptr (DbrJsonGraph) graph = dbr_json_graph_new (nodes, n, "id", "next");
  env.graph = graph;
  if (dbr_json_path_is_condition (path))
    {
      gboolean result;
      gboolean ok = dbr_json_path_test (path, &env, &result, &error);
      g_assert (ok == (error == NULL));
    }
  else
    select_nodes (path, &env);
  g_assert (steps <= STEPS);
  return 0;
}
