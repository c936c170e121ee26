/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-json-doc: building the index, walking it and looking members up. What the values mean
 * (strings, numbers, equality, text) is in dbr-json-value.c, composing in dbr-json-builder.c.
 */
#include "config.h"

#include "dbr-json-doc-priv.h"
#include "dbr-json-lex-core.h"

/* The open containers while the index grows. */
typedef struct
{
  guint32 at;   /* its node */
  guint32 last; /* the latest value in it; its own index while there is none */
} Frame;

typedef struct
{
  DbrJsonNode *nodes;
  guint32 n_nodes;
  guint32 room;
  guint32 max_nodes;
  guint32 keyed; /* NODE_KEYED when the node before is the key of the next value */
  Frame *top;
  Frame *frames;
} Index;

static void
index_grow (Index *self)
{
  self->room = self->room < NODE_MAX_NODES / 2 ? self->room * 2 : NODE_MAX_NODES;
  self->nodes = g_renew (DbrJsonNode, self->nodes, self->room);
}

static G_ALWAYS_INLINE inline gboolean
index_add (Index *self, guint32 meta, guint64 start, guint64 end)
{
  if (G_UNLIKELY (self->n_nodes == self->max_nodes))
    return FALSE;
  if (G_UNLIKELY (self->n_nodes == self->room))
    index_grow (self);
  self->nodes[self->n_nodes++]
      = (DbrJsonNode){ (guint32) start, (guint32) (end - start), meta | NODE_SPAN_ONE };
  return TRUE;
}

static G_ALWAYS_INLINE inline gboolean
index_value (Index *self, const DbrJsonToken *token, guint32 type)
{
  guint32 meta = type | self->keyed | (token->is_escaped ? NODE_ESCAPED : 0);
  self->keyed = 0;
  self->top->last = self->n_nodes;
  return index_add (self, meta, token->start, token->end);
}

static void
index_close (Index *self, guint64 end)
{
  Frame *frame = self->top--;
  DbrJsonNode *node = &self->nodes[frame->at];

  node->len = (guint32) end - node->start;
  node->meta = (node->meta & (NODE_SPAN_ONE - 1)) | (self->n_nodes - frame->at) << NODE_SPAN_SHIFT;
  if (frame->last != frame->at)
    self->nodes[frame->last].meta |= NODE_LAST;
}

static G_ALWAYS_INLINE inline gboolean
index_open (Index *self, const DbrJsonToken *token, guint32 type)
{
  guint32 at = self->n_nodes;
  if (!index_value (self, token, type))
    return FALSE;
  *++self->top = (Frame){ at, at };
  return TRUE;
}

static G_ALWAYS_INLINE inline gboolean
index_token (const DbrJsonToken *token, gpointer user_data)
{
  Index *self = user_data;

  switch (token->kind)
    {
    case DBR_JSON_TOKEN_BEGIN_OBJECT:
      return index_open (self, token, DBR_JSON_OBJECT);
    case DBR_JSON_TOKEN_BEGIN_ARRAY:
      return index_open (self, token, DBR_JSON_ARRAY);
    case DBR_JSON_TOKEN_END_OBJECT:
    case DBR_JSON_TOKEN_END_ARRAY:
      index_close (self, token->end);
      return TRUE;
    case DBR_JSON_TOKEN_KEY:
      self->keyed = NODE_KEYED;
      return index_add (self, DBR_JSON_STRING | NODE_LAST | (token->is_escaped ? NODE_ESCAPED : 0),
                        token->start, token->end);
    case DBR_JSON_TOKEN_STRING:
      return index_value (self, token, DBR_JSON_STRING);
    case DBR_JSON_TOKEN_NUMBER:
      return index_value (self, token, DBR_JSON_NUMBER);
    case DBR_JSON_TOKEN_TRUE:
    case DBR_JSON_TOKEN_FALSE:
      return index_value (self, token, DBR_JSON_BOOLEAN);
    case DBR_JSON_TOKEN_NULL:
      return index_value (self, token, DBR_JSON_NULL);
    }
  return TRUE;
}

DbrJsonDoc *
dbr_json_doc_alloc (GBytes *bytes)
{
  DbrJsonDoc *self = g_new0 (DbrJsonDoc, 1);
  g_atomic_ref_count_init (&self->refs);
  self->bytes = bytes;
  self->text = g_bytes_get_data (bytes, NULL);
  return self;
}

static gboolean
index_run (Index *self, DbrJsonLexer *lexer, const guint8 *text, gsize len)
{
  return lex_run (lexer, text, len, index_token, self) && lex_end (lexer, index_token, self);
}

DbrJsonDoc *
dbr_json_doc_new (GBytes *text, const DbrJsonLimits *limits, GError **error)
{
  gsize len = 0;
  const guint8 *bytes = g_bytes_get_data (text, &len);
  guint max_nodes = limits && limits->max_nodes ? limits->max_nodes : DBR_JSON_MAX_NODES;

  if (len > G_MAXUINT32)
    {
      g_set_error_literal (error, DBR_JSON_ERROR, DBR_JSON_ERROR_NODES,
                           "JSON of 4 GiB or more is not read");
      return NULL;
    }
  g_autofree DbrJsonLexer *lexer = g_malloc0 (dbr_json_lexer_sizeof (limits));
  dbr_json_lexer_init (lexer, limits, DBR_JSON_LEXER_TEXT);
  g_autofree Frame *frames = g_new (Frame, lexer->max_depth + 1);
  frames[0] = (Frame){ G_MAXUINT32, 0 }; /* around the root */
  Index index = { .room = MAX (8, (guint32) (len / 12)),
                  .max_nodes = MIN (max_nodes, NODE_MAX_NODES),
                  .frames = frames,
                  .top = frames };
  index.room = MIN (index.room, index.max_nodes);
  index.nodes = g_new (DbrJsonNode, index.room);
  if (!index_run (&index, lexer, bytes, len))
    {
      g_free (index.nodes);
      if (lexer->state == LEX_STOPPED)
        g_set_error (error, DBR_JSON_ERROR, DBR_JSON_ERROR_NODES,
                     "JSON of more than %u values and names", index.max_nodes);
      else
        dbr_json_lexer_set_error (lexer, error);
      return NULL;
    }
  index.nodes[0].meta |= NODE_LAST;

  DbrJsonDoc *self = dbr_json_doc_alloc (g_bytes_ref (text));
  self->nodes = g_renew (DbrJsonNode, index.nodes, index.n_nodes);
  self->n_nodes = index.n_nodes;
  return self;
}

DbrJsonDoc *
dbr_json_doc_new_from_data (const char *text,
                            gssize len,
                            const DbrJsonLimits *limits,
                            GError **error)
{
  g_autoptr (GBytes) bytes = g_bytes_new (text, len < 0 ? strlen (text) : (gsize) len);
  return dbr_json_doc_new (bytes, limits, error);
}

DbrJsonDoc *
dbr_json_doc_ref (const DbrJsonDoc *self)
{
  /* The count is the one thing that changes in a document. */
  DbrJsonDoc *mutable = (DbrJsonDoc *) (guintptr) self;
  g_atomic_ref_count_inc (&mutable->refs);
  return mutable;
}

void
dbr_json_doc_unref (DbrJsonDoc *self)
{
  if (!self || !g_atomic_ref_count_dec (&self->refs))
    return;
  g_bytes_unref (self->bytes);
  g_free (self->nodes);
  g_free (self->links);
  g_clear_pointer (&self->held, g_ptr_array_unref);
  g_free (self);
}

DbrJson
dbr_json_doc_root (const DbrJsonDoc *self)
{
  return (DbrJson){ self, 0 };
}

gsize
dbr_json_doc_index_bytes (const DbrJsonDoc *self)
{
  return sizeof *self + self->n_nodes * sizeof *self->nodes + self->n_links * sizeof *self->links;
}

DbrJsonType
dbr_json_type (DbrJson node)
{
  node = node_resolve (node);
  return node.doc ? (DbrJsonType) (node_at (node)->meta & NODE_TYPE) : DBR_JSON_NOTHING;
}

gboolean
dbr_json_same (DbrJson a, DbrJson b)
{
  a = node_resolve (a);
  b = node_resolve (b);
  return a.doc == b.doc && (!a.doc || a.at == b.at);
}

DbrJson
dbr_json_first (DbrJson container)
{
  container = node_resolve (container);
  if (!container.doc || node_at (container)->meta < 2 * NODE_SPAN_ONE)
    return DBR_JSON_NONE;
  gboolean is_object = (node_at (container)->meta & NODE_TYPE) == DBR_JSON_OBJECT;
  return (DbrJson){ container.doc, container.at + (is_object ? 2 : 1) };
}

DbrJson
dbr_json_next (DbrJson node)
{
  if (!node.doc || (node_at (node)->meta & NODE_LAST))
    return DBR_JSON_NONE;
  guint32 meta = node_at (node)->meta;
  return (DbrJson){ node.doc, node.at + (meta >> NODE_SPAN_SHIFT) + ((meta & NODE_KEYED) ? 1 : 0) };
}

DbrJson
dbr_json_key (DbrJson node)
{
  if (!node.doc || !(node_at (node)->meta & NODE_KEYED))
    return DBR_JSON_NONE;
  return (DbrJson){ node.doc, node.at - 1 };
}

guint
dbr_json_count (DbrJson node)
{
  guint count = 0;
  for (DbrJson v = dbr_json_first (node); dbr_json_exists (v); v = dbr_json_next (v))
    count++;
  return count;
}

DbrJson
dbr_json_element (DbrJson array, guint i)
{
  if (dbr_json_type (array) != DBR_JSON_ARRAY)
    return DBR_JSON_NONE;
  DbrJson v = dbr_json_first (array);
  while (i-- > 0 && dbr_json_exists (v))
    v = dbr_json_next (v);
  return v;
}

/* Is the key at @at this one? Most are told apart by their length or first byte. */
static inline gboolean
key_matches (const DbrJsonDoc *doc, guint32 at, const char *text, gsize len)
{
  const DbrJsonNode *node = &doc->nodes[at];

  if (!(node->meta & NODE_ESCAPED))
    return node->len == len + 2 && (len == 0 || doc->text[node->start + 1] == text[0])
           && memcmp (doc->text + node->start + 1, text, len) == 0;
  /* An escape is never shorter than what it stands for, and at most six times as long. */
  if (node->len < len + 2 || node->len > 6 * len + 2)
    return FALSE;
  g_autoptr (GString) scratch = g_string_new (NULL);
  gsize decoded_len;
  const char *decoded = dbr_json_string ((DbrJson){ doc, at }, scratch, &decoded_len);
  return decoded_len == len && memcmp (decoded, text, len) == 0;
}

/* Templates come here for every member of every row, so this walks the index itself. */
DbrJson
dbr_json_get_n (DbrJson object, const char *key, gsize key_len)
{
  DbrJson member
      = dbr_json_type (object) == DBR_JSON_OBJECT ? dbr_json_first (object) : DBR_JSON_NONE;
  DbrJson found = DBR_JSON_NONE;
  guint32 meta = 0;

  if (!member.doc)
    return DBR_JSON_NONE;
  for (;; member.at += (meta >> NODE_SPAN_SHIFT) + 1)
    {
      meta = member.doc->nodes[member.at].meta;
      if (key_matches (member.doc, member.at - 1, key, key_len))
        found = member; /* of several alike, the last */
      if (meta & NODE_LAST)
        return found;
    }
}

DbrJson
dbr_json_get (DbrJson object, const char *key)
{
  return dbr_json_get_n (object, key, strlen (key));
}
