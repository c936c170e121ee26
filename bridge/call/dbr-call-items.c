/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-call-items: which items of a for-each are asked for, and which are left. See dbr-call-priv.h.
 *
 * Of the items whose `per` text is equal, `take` are spread evenly, first and last among them: what fails in
 * another way is more often far off than next door. Every group gets its first before one gets its second.
 */
#include "config.h"

#include "call/dbr-call-priv.h"

typedef struct
{
  GArray *members; /* (element-type guint) indices into the nodes, ascending */
} Group;

static void
group_free (gpointer data)
{
  Group *group = data;

  g_array_unref (group->members);
  g_free (group);
}

/* In order of first appearance; without `per` each item is a group of its own. */
static gboolean
group_items (const DbrRequestDef *def,
             DbrJsonPathEnv *env,
             const DbrNodeList *nodes,
             GPtrArray *groups,
             GError **error)
{
  g_autoptr (GHashTable) by_text = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  for (guint i = 0; i < dbr_node_list_size (nodes); i++)
    {
      g_autoptr (GString) text = g_string_new (NULL);
      Group *group = NULL;
      gboolean present;

      env->current = dbr_node_list_get (nodes, i);
      if (def->per && !dbr_template_expand (def->per, env, text, &present, error))
        return FALSE;
      if (def->per)
        group = g_hash_table_lookup (by_text, text->str);
      if (group == NULL)
        {
          group = g_new0 (Group, 1);
          group->members = g_array_new (FALSE, FALSE, sizeof (guint));
          g_ptr_array_add (groups, group);
          if (def->per)
            g_hash_table_insert (by_text, g_strdup (text->str), group);
        }
      g_array_append_val (group->members, i);
    }
  return TRUE;
}

/* The index of the @nth (from 0) of @take members spread over the group. */
static guint
spread (const Group *group, guint nth, guint take)
{
  guint n = group->members->len;
  guint at = take > 1 ? (guint) ((guint64) nth * (n - 1) / (take - 1)) : 0;

  return g_array_index (group->members, guint, at);
}

/* Round by round, so that `max` cuts the later ones of big groups and not the only ones of small groups. */
static void
mark_chosen (const DbrRequestDef *def, const GPtrArray *groups, gboolean *chosen)
{
  guint take = def->per ? MAX (def->take, 1) : 1;
  guint left = def->max;

  for (guint nth = 0; nth < take; nth++)
    for (guint g = 0; g < groups->len && left > 0; g++)
      {
        const Group *group = g_ptr_array_index (groups, g);
        guint picks = MIN (take, group->members->len);

        if (nth >= picks)
          continue;
        /* The last comes second: what is cut first is the middle. */
        chosen[spread (group, nth == 1 ? picks - 1 : nth > 1 ? nth - 1 : 0, picks)] = TRUE;
        left--;
      }
}

gboolean
dbr_call_choose_items (DbrStep *step, GError **error)
{
  const DbrRequestDef *def = step->def;
  DbrJsonPathEnv env;
  g_auto (DbrNodeList) nodes = { 0 };
  g_autoptr (GPtrArray) groups = g_ptr_array_new_with_free_func (group_free);
  g_autoptr (DbrJsonBuilder) items = dbr_json_builder_new ();
  g_autoptr (DbrJsonBuilder) left = dbr_json_builder_new ();
  g_autofree gboolean *chosen = NULL;
  guint n_left = 0;

  dbr_node_list_init (&nodes);
  dbr_call_env (step->call, DBR_JSON_NONE, &env);
  if (!dbr_json_path_select (def->for_each, &env, &nodes, error)
      || !group_items (def, &env, &nodes, groups, error))
    return FALSE;
  chosen = g_new0 (gboolean, dbr_node_list_size (&nodes) + 1);
  mark_chosen (def, groups, chosen);
  dbr_json_builder_begin_array (items);
  dbr_json_builder_begin_array (left);
  for (guint i = 0; i < dbr_node_list_size (&nodes); i++)
    {
      DbrJson item = dbr_node_list_get (&nodes, i);

      dbr_json_builder_link (items, item);
      if (chosen[i])
        dbr_call_add_part (step, item);
      else if (n_left++ < DBR_CALL_MAX_LEFT)
        dbr_json_builder_link (left, item);
    }
  dbr_json_builder_end_array (items);
  dbr_json_builder_end_array (left);
  step->items = dbr_json_builder_end (items);
  step->left = dbr_json_builder_end (left);
  return TRUE;
}
