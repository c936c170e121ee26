/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-json-builder: composes a document of fresh values and of links into others. Fresh scalars are
 * written as JSON into a text of its own, so that every accessor works on them as on what came.
 */
#include "config.h"

#include "dbr-json-doc-priv.h"

#include <string.h>

typedef struct
{
  guint32 at;
  guint32 last; /* its own index while it is empty */
} Level;

struct _DbrJsonBuilder
{
  GString *text;
  GArray *nodes;  /* DbrJsonNode */
  GArray *links;  /* DbrJson */
  GArray *levels; /* Level */
  GPtrArray *held;
  guint32 keyed;
};

static void
builder_reset (DbrJsonBuilder *self)
{
  self->text = g_string_new (NULL);
  self->nodes = g_array_new (FALSE, FALSE, sizeof (DbrJsonNode));
  self->links = g_array_new (FALSE, FALSE, sizeof (DbrJson));
  self->levels = g_array_new (FALSE, FALSE, sizeof (Level));
  self->held = g_ptr_array_new_with_free_func ((GDestroyNotify) dbr_json_doc_unref);
  self->keyed = 0;
}

static void
builder_clear (DbrJsonBuilder *self)
{
  g_string_free (self->text, TRUE);
  g_array_unref (self->nodes);
  g_array_unref (self->links);
  g_array_unref (self->levels);
  g_ptr_array_unref (self->held);
}

DbrJsonBuilder *
dbr_json_builder_new (void)
{
  DbrJsonBuilder *self = g_new0 (DbrJsonBuilder, 1);
  builder_reset (self);
  return self;
}

void
dbr_json_builder_free (DbrJsonBuilder *self)
{
  if (!self)
    return;
  builder_clear (self);
  g_free (self);
}

static Level *
top_level (DbrJsonBuilder *self)
{
  return self->levels->len ? &g_array_index (self->levels, Level, self->levels->len - 1) : NULL;
}

static DbrJsonNode *
nth_node (DbrJsonBuilder *self, guint32 at)
{
  return &g_array_index (self->nodes, DbrJsonNode, at);
}

static void
add_node (DbrJsonBuilder *self, guint32 meta, gsize start, gsize len)
{
  g_assert (self->nodes->len < NODE_MAX_NODES && start + len <= G_MAXUINT32);
  DbrJsonNode node = { (guint32) start, (guint32) len, meta | NODE_SPAN_ONE };
  g_array_append_val (self->nodes, node);
}

/* Room for a value here: one root, and a key before each member. */
static void
add_value (DbrJsonBuilder *self, guint32 meta, gsize start, gsize len)
{
  Level *level = top_level (self);

  g_assert (level != NULL || self->nodes->len == 0);
  if (level)
    {
      gboolean is_object = (nth_node (self, level->at)->meta & NODE_TYPE) == DBR_JSON_OBJECT;
      g_assert (is_object == (self->keyed != 0));
      level->last = self->nodes->len;
    }
  add_node (self, meta | self->keyed, start, len);
  self->keyed = 0;
}

static void
begin (DbrJsonBuilder *self, DbrJsonType type)
{
  Level level = { self->nodes->len, self->nodes->len };
  add_value (self, type, 0, 0);
  g_array_append_val (self->levels, level);
}

static void
end (DbrJsonBuilder *self, DbrJsonType type)
{
  Level *level = top_level (self);

  g_assert (level != NULL && !self->keyed);
  DbrJsonNode *node = nth_node (self, level->at);
  g_assert ((node->meta & NODE_TYPE) == (guint32) type);
  node->meta
      = (node->meta & (NODE_SPAN_ONE - 1)) | (self->nodes->len - level->at) << NODE_SPAN_SHIFT;
  if (level->last != level->at)
    nth_node (self, level->last)->meta |= NODE_LAST;
  g_array_set_size (self->levels, self->levels->len - 1);
}

void
dbr_json_builder_begin_object (DbrJsonBuilder *self)
{
  begin (self, DBR_JSON_OBJECT);
}

void
dbr_json_builder_end_object (DbrJsonBuilder *self)
{
  end (self, DBR_JSON_OBJECT);
}

void
dbr_json_builder_begin_array (DbrJsonBuilder *self)
{
  begin (self, DBR_JSON_ARRAY);
}

void
dbr_json_builder_end_array (DbrJsonBuilder *self)
{
  end (self, DBR_JSON_ARRAY);
}

/* Writes a JSON string; returns NODE_ESCAPED when it has escapes. */
static guint32
write_string (GString *out, const char *text, gsize len)
{
  guint32 escaped = 0;

  g_string_append_c (out, '"');
  for (const char *p = text; p < text + len; p++)
    {
      guchar c = (guchar) *p;
      if (c != '"' && c != '\\' && c >= 0x20)
        {
          g_string_append_c (out, *p);
          continue;
        }
      escaped = NODE_ESCAPED;
      if (c == '"' || c == '\\')
        g_string_append_printf (out, "\\%c", c);
      else if (c == '\n')
        g_string_append (out, "\\n");
      else if (c == '\t')
        g_string_append (out, "\\t");
      else
        g_string_append_printf (out, "\\u%04x", c);
    }
  g_string_append_c (out, '"');
  return escaped;
}

void
dbr_json_builder_key (DbrJsonBuilder *self, const char *key)
{
  Level *level = top_level (self);
  gsize start = self->text->len;

  g_assert (level != NULL && !self->keyed
            && (nth_node (self, level->at)->meta & NODE_TYPE) == DBR_JSON_OBJECT);
  guint32 escaped = write_string (self->text, key, strlen (key));
  add_node (self, DBR_JSON_STRING | NODE_LAST | escaped, start, self->text->len - start);
  self->keyed = NODE_KEYED;
}

static void
add_text (DbrJsonBuilder *self, DbrJsonType type, const char *text)
{
  gsize start = self->text->len;
  g_string_append (self->text, text);
  add_value (self, type, start, self->text->len - start);
}

void
dbr_json_builder_null (DbrJsonBuilder *self)
{
  add_text (self, DBR_JSON_NULL, "null");
}

void
dbr_json_builder_boolean (DbrJsonBuilder *self, gboolean value)
{
  add_text (self, DBR_JSON_BOOLEAN, value ? "true" : "false");
}

void
dbr_json_builder_int64 (DbrJsonBuilder *self, gint64 value)
{
  char text[24];
  g_snprintf (text, sizeof text, "%" G_GINT64_FORMAT, value);
  add_text (self, DBR_JSON_NUMBER, text);
}

void
dbr_json_builder_string (DbrJsonBuilder *self, const char *text, gssize len)
{
  gsize start = self->text->len;
  guint32 escaped = write_string (self->text, text, len < 0 ? strlen (text) : (gsize) len);
  add_value (self, DBR_JSON_STRING | escaped, start, self->text->len - start);
}

void
dbr_json_builder_link (DbrJsonBuilder *self, DbrJson node)
{
  if (!dbr_json_exists (node))
    {
      dbr_json_builder_null (self);
      return;
    }
  node = node_resolve (node); /* so that a link never leads to a link */
  if (!g_ptr_array_find (self->held, node.doc, NULL))
    g_ptr_array_add (self->held, dbr_json_doc_ref (node.doc));
  add_value (self, NODE_LINK, self->links->len, 0);
  g_array_append_val (self->links, node);
}

DbrJsonDoc *
dbr_json_builder_end (DbrJsonBuilder *self)
{
  g_assert (self->levels->len == 0 && self->nodes->len > 0);
  nth_node (self, 0)->meta |= NODE_LAST;
  DbrJsonDoc *doc = dbr_json_doc_alloc (g_string_free_to_bytes (g_steal_pointer (&self->text)));
  doc->n_nodes = self->nodes->len;
  doc->n_links = self->links->len;
  doc->nodes = (DbrJsonNode *) (gpointer) g_array_free (self->nodes, FALSE);
  doc->links = (DbrJson *) (gpointer) g_array_free (self->links, FALSE);
  doc->held = self->held;
  g_array_unref (self->levels);
  builder_reset (self);
  return doc;
}
