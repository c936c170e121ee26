/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-json-path: the path as an object, lists of nodes, and normalized paths.
 */
#include "config.h"

#include "dbr-json-path-priv.h"

#include <string.h>

G_DEFINE_QUARK (dbr_json_path_error, dbr_json_path_error)

#define FIRST_BLOCK 152u /* holds all of the commonest path, one name of an item */
#define NEXT_BLOCK 256u

/* A catalogue holds hundreds of paths of a few small pieces each: these are cut from blocks. */
gpointer
path_alloc (DbrJsonPath *self, gsize size)
{
  const gsize whole = (size + sizeof (gint64) - 1) & ~(sizeof (gint64) - 1);

  if (whole > self->arena_left)
    {
      self->arena_left = MAX (whole, self->arena->len == 0 ? FIRST_BLOCK : NEXT_BLOCK);
      self->arena_at = g_malloc0 (self->arena_left);
      g_ptr_array_add (self->arena, self->arena_at);
    }
  char *memory = self->arena_at;
  self->arena_at += whole;
  self->arena_left -= whole;
  return memory;
}

static gboolean
path_check (DbrJsonPath *self, GError **error)
{
  if (self->condition)
    return path_check_logical (self, self->condition, error);
  if (self->query)
    return path_check_query (self, self->query, error);
  if (self->call->kind == EXPR_FUNCTION && self->call->function->result != PATH_LOGICAL)
    return path_check_call (self, self->call, error);
  g_set_error (error, DBR_JSON_PATH_ERROR, DBR_JSON_PATH_ERROR_TYPE,
               "JSONPath '%s': a query or a function that gives a value is needed", self->text);
  return FALSE;
}

DbrJsonPath *
dbr_json_path_new (const char *text, DbrJsonPathFlags flags, GError **error)
{
  g_autoptr (DbrJsonPath) self = g_new0 (DbrJsonPath, 1);

  self->text = g_strdup (text);
  self->flags = flags;
  self->arena = g_ptr_array_new_with_free_func (g_free);
  self->docs = g_ptr_array_new_with_free_func ((GDestroyNotify) dbr_json_doc_unref);
  self->regexps = g_ptr_array_new_with_free_func ((GDestroyNotify) path_regexp_free);
  self->roots = g_ptr_array_new_with_free_func (g_free);
  if (!path_parse (self, error) || !path_check (self, error))
    return NULL;
  return g_steal_pointer (&self);
}

void
dbr_json_path_free (DbrJsonPath *self)
{
  if (!self)
    return;
  g_ptr_array_unref (self->regexps);
  g_ptr_array_unref (self->docs);
  g_ptr_array_unref (self->arena);
  g_ptr_array_unref (self->roots);
  g_free (self->text);
  g_free (self);
}

const char *
dbr_json_path_text (const DbrJsonPath *self)
{
  return self->text;
}

gboolean
dbr_json_path_is_singular (const DbrJsonPath *self)
{
  if (self->query)
    return self->query->is_singular;
  return self->call && self->call->function->result == PATH_VALUE;
}

gboolean
dbr_json_path_is_condition (const DbrJsonPath *self)
{
  return self->condition != NULL;
}

const char *const *
dbr_json_path_roots (const DbrJsonPath *self)
{
  return (const char *const *) self->roots->pdata;
}

void
dbr_node_list_init (DbrNodeList *self)
{
  *self = (DbrNodeList){ NULL, NULL };
}

void
dbr_node_list_clear (DbrNodeList *self)
{
  g_clear_pointer (&self->nodes, g_array_unref);
  g_clear_pointer (&self->docs, g_ptr_array_unref);
}

/* RFC 9535 section 2.7: a name in single quotes. */
static void
append_name (DbrJson key, GString *out)
{
  static const char letters[] = "btnfr";
  static const char values[] = "\b\t\n\f\r";
  g_autoptr (GString) scratch = g_string_new (NULL);
  gsize len;
  const char *name = dbr_json_string (key, scratch, &len);

  g_string_append (out, "['");
  for (gsize i = 0; i < len; i++)
    {
      const char *value = name[i] ? strchr (values, name[i]) : NULL;
      if (name[i] == '\'' || name[i] == '\\')
        g_string_append_printf (out, "\\%c", name[i]);
      else if (value)
        g_string_append_printf (out, "\\%c", letters[value - values]);
      else if ((guchar) name[i] < 0x20)
        g_string_append_printf (out, "\\u%04x", (guint) (guchar) name[i]);
      else
        g_string_append_c (out, name[i]);
    }
  g_string_append (out, "']");
}

static gboolean
append_path_to (DbrJson from, DbrJson node, GString *out)
{
  guint i = 0;

  if (dbr_json_same (from, node))
    return TRUE;
  for (DbrJson v = dbr_json_first (from); dbr_json_exists (v); v = dbr_json_next (v), i++)
    {
      gsize before = out->len;
      if (dbr_json_exists (dbr_json_key (v)))
        append_name (dbr_json_key (v), out);
      else
        g_string_append_printf (out, "[%u]", i);
      if (append_path_to (v, node, out))
        return TRUE;
      g_string_truncate (out, before);
    }
  return FALSE;
}

char *
dbr_json_path_normalized (DbrJson root, DbrJson node)
{
  GString *out = g_string_new ("$");

  if (dbr_json_exists (node) && append_path_to (root, node, out))
    return g_string_free (out, FALSE);
  g_string_free (out, TRUE);
  return NULL;
}
