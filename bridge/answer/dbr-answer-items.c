/* SPDX-License-Identifier: Apache-2.0 */
/* dbr-answer-items: what a loop goes over: selected, sorted, grouped. */
#include "config.h"

#include "dbr-answer-priv.h"
#include <string.h>

/* --------------------------------------------------------------------------------------- sorting
 */

typedef struct
{
  DbrJson node, key;
  guint at; /* equal keys keep their order */
} SortItem;

static guint
key_rank (DbrJson key)
{
  switch (dbr_json_type (key))
    {
    case DBR_JSON_NUMBER:
      return 0;
    case DBR_JSON_STRING:
      return 1;
    case DBR_JSON_BOOLEAN:
      return 2;
    case DBR_JSON_ARRAY:
    case DBR_JSON_OBJECT:
      return 3;
    case DBR_JSON_NOTHING:
    case DBR_JSON_NULL:
    default:
      return 4;
    }
}

static int
compare_keys (DbrJson a, DbrJson b)
{
  double x = 0, y = 0;
  switch ((guint) dbr_json_type (a))
    {
    case DBR_JSON_NUMBER:
      dbr_json_double (a, &x);
      dbr_json_double (b, &y);
      return x < y ? -1 : x > y;
    case DBR_JSON_STRING:
      {
        g_autofree char *first = dbr_json_dup_string (a);
        g_autofree char *second = dbr_json_dup_string (b);
        return strcmp (first, second);
      }
    case DBR_JSON_BOOLEAN:
      return dbr_json_get_boolean (a) - dbr_json_get_boolean (b);
    default:
      return 0;
    }
}

static int
compare_items (gconstpointer a, gconstpointer b, gpointer user_data)
{
  const SortItem *first = a;
  const SortItem *second = b;
  gboolean descending = *(const gboolean *) user_data;
  guint rank = key_rank (first->key);
  guint other_rank = key_rank (second->key);
  /* What has no key comes last in either direction. */
  if (rank != other_rank)
    return rank < other_rank ? -1 : 1;
  int order = compare_keys (first->key, second->key);
  if (order != 0)
    return descending ? -order : order;
  return first->at < second->at ? -1 : 1;
}

static gboolean
sort_items (Render *self, const Element *element, DbrNodeList *list, GError **error)
{
  g_autoptr (GArray) items = g_array_new (FALSE, FALSE, sizeof (SortItem));
  g_auto (DbrNodeList) keys;
  dbr_node_list_init (&keys);
  DbrJson outer = self->current;
  for (guint i = 0; i < dbr_node_list_size (list); i++)
    {
      SortItem item = { dbr_node_list_get (list, i), DBR_JSON_NONE, i };
      guint before = dbr_node_list_size (&keys);
      self->current = item.node;
      gboolean is_good = render_select (self, element->sort, &keys, error);
      self->current = outer;
      if (!is_good)
        return FALSE;
      if (dbr_node_list_size (&keys) > before)
        item.key = dbr_node_list_get (&keys, before);
      g_array_append_val (items, item);
    }
  gboolean descending = element->descending;
  g_array_sort_with_data (items, compare_items, &descending);
  for (guint i = 0; i < items->len; i++)
    g_array_index (list->nodes, DbrJson, i) = g_array_index (items, SortItem, i).node;
  return TRUE;
}

gboolean
render_items (Render *self, const Element *element, DbrNodeList *out, GError **error)
{
  return render_select (self, element->in, out, error)
         && (!element->sort || dbr_node_list_size (out) < 2
             || sort_items (self, element, out, error));
}

/* -------------------------------------------------------------------------------------- grouping
 */

typedef struct
{
  char *key;
  GArray *members; /* (element-type DbrJson) */
} Group;

static void
free_group (gpointer data)
{
  Group *group = data;
  g_free (group->key);
  g_array_unref (group->members);
  g_free (group);
}

/* In order of first appearance. */
static GPtrArray *
collect_groups (Render *self, const Element *element, const DbrNodeList *list, GError **error)
{
  g_autoptr (GPtrArray) groups = g_ptr_array_new_with_free_func (free_group);
  g_autoptr (GHashTable) index = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (GString) text = g_string_new (NULL);
  g_autoptr (GString) valid = g_string_new (NULL);
  DbrJson outer = self->current;
  for (guint i = 0; i < dbr_node_list_size (list); i++)
    {
      DbrJson node = dbr_node_list_get (list, i);
      DbrJsonPathEnv env;
      self->current = node;
      render_path_env (self, &env);
      self->current = outer;
      g_string_truncate (text, 0);
      if (!dbr_template_expand (element->group, &env, text, NULL, error))
        return NULL;
      g_string_truncate (valid, 0);
      dbr_text_append_valid (valid, text->str, (gssize) text->len);
      g_autofree char *key = g_strstrip (g_strdup (valid->str));
      Group *group = g_hash_table_lookup (index, key);
      if (!group)
        {
          group = g_new0 (Group, 1);
          group->key = g_steal_pointer (&key);
          group->members = g_array_new (FALSE, FALSE, sizeof (DbrJson));
          g_ptr_array_add (groups, group);
          g_hash_table_insert (index, group->key, group);
        }
      g_array_append_val (group->members, node);
    }
  return g_steal_pointer (&groups);
}

/* {key, count, first, items} for each group, linked to the items; replaces the list's nodes. */
gboolean
render_groups (
    Render *self, const Element *element, DbrNodeList *list, DbrJsonDoc **out_doc, GError **error)
{
  g_autoptr (GPtrArray) groups = collect_groups (self, element, list, error);
  if (!groups)
    return FALSE;
  g_autoptr (DbrJsonBuilder) builder = dbr_json_builder_new ();
  dbr_json_builder_begin_array (builder);
  for (guint i = 0; i < groups->len; i++)
    {
      const Group *group = g_ptr_array_index (groups, i);
      dbr_json_builder_begin_object (builder);
      dbr_json_builder_key (builder, "key");
      dbr_json_builder_string (builder, group->key, -1);
      dbr_json_builder_key (builder, "count");
      dbr_json_builder_int64 (builder, group->members->len);
      dbr_json_builder_key (builder, "first");
      dbr_json_builder_link (builder, g_array_index (group->members, DbrJson, 0));
      dbr_json_builder_key (builder, "items");
      dbr_json_builder_begin_array (builder);
      for (guint m = 0; m < group->members->len; m++)
        dbr_json_builder_link (builder, g_array_index (group->members, DbrJson, m));
      dbr_json_builder_end_array (builder);
      dbr_json_builder_end_object (builder);
    }
  dbr_json_builder_end_array (builder);
  *out_doc = dbr_json_builder_end (builder);
  g_array_set_size (list->nodes, 0);
  for (DbrJson node = dbr_json_first (dbr_json_doc_root (*out_doc)); dbr_json_exists (node);
       node = dbr_json_next (node))
    g_array_append_val (list->nodes, node);
  return TRUE;
}
