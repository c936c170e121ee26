/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The index of a JSON document, private to common/.
 *
 * Nodes stand in the order of the text: a container, then all that is in it; a member's key right
 * before its value. `meta` holds what walking needs: the type, three marks and the number of nodes
 * of the subtree. A composed document has a text too (of its fresh scalars), containers without a
 * text, and links.
 */
#pragma once

#include "dbr-json-doc.h"

G_BEGIN_DECLS

typedef struct
{
  guint32 start; /* in the text; of a link: in the links */
  guint32 len;   /* of the raw text; 0 for composed containers */
  guint32 meta;
} DbrJsonNode;

#define NODE_TYPE 0x07u
#define NODE_LINK 0x07u    /* a type of its own: see DbrJsonDoc.links */
#define NODE_ESCAPED 0x08u /* a string with backslashes */
#define NODE_KEYED 0x10u   /* the node before is its key */
#define NODE_LAST 0x20u    /* nothing follows in its container */
#define NODE_SPAN_SHIFT 6  /* nodes of the subtree, itself included */
#define NODE_SPAN_ONE (1u << NODE_SPAN_SHIFT)
#define NODE_MAX_NODES ((1u << 26) - 1)

struct _DbrJsonDoc
{
  gatomicrefcount refs;
  GBytes *bytes;
  const char *text;
  DbrJsonNode *nodes;
  guint32 n_nodes;
  guint32 n_links;
  DbrJson *links;  /* composed: never a link itself */
  GPtrArray *held; /* composed: (element-type DbrJsonDoc) of the links, each once */
};

static inline const DbrJsonNode *
node_at (DbrJson node)
{
  return &node.doc->nodes[node.at];
}

/* Where the value itself stands. */
static inline DbrJson
node_resolve (DbrJson node)
{
  if (node.doc && (node_at (node)->meta & NODE_TYPE) == NODE_LINK)
    return node.doc->links[node_at (node)->start];
  return node;
}

DbrJsonDoc *
dbr_json_doc_alloc (GBytes *bytes);

G_END_DECLS
