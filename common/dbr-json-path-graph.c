/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-json-path-graph: the directed graph behind upstream() and downstream(). Edges are two arrays
 * in each direction; what is reachable from a node is a bit a node, remembered up to MEMO_BYTES in
 * all.
 */
#include "config.h"

#include "dbr-json-path-priv.h"

#include <string.h>

#define MAX_GRAPH_NODES 100000u
#define MEMO_BYTES (16u * 1024u * 1024u)

/* The neighbours of i are targets[starts[i]] up to but without targets[starts[i + 1]]. */
typedef struct
{
  guint *starts;
  guint *targets;
  guint8 **reach; /* remembered bits of each node, or NULL */
} Direction;

struct _DbrJsonGraph
{
  guint n;
  DbrJson *ids;
  GHashTable *places; /* (utf8, index + 1) */
  Direction down;
  Direction up;
  gsize memo_bytes;
};

typedef struct
{
  guint from;
  guint to;
} Edge;

static guint
place_of (const DbrJsonGraph *self, const char *id)
{
  guint place = GPOINTER_TO_UINT (g_hash_table_lookup (self->places, id));
  return place ? place - 1 : GRAPH_NOWHERE;
}

guint
path_graph_find (const DbrJsonGraph *self, DbrJson id)
{
  g_autofree char *text = dbr_json_dup_string (id);
  return text ? place_of (self, text) : GRAPH_NOWHERE;
}

guint
path_graph_size (const DbrJsonGraph *self)
{
  return self->n;
}

DbrJson
path_graph_id (const DbrJsonGraph *self, guint i)
{
  return self->ids[i];
}

/* Of two nodes with one id the first counts; returns the objects that became nodes. */
static DbrJson *
collect_nodes (DbrJsonGraph *self, const DbrJson *nodes, guint n_nodes, const char *id_key)
{
  DbrJson *kept = g_new (DbrJson, n_nodes + 1);

  self->ids = g_new (DbrJson, n_nodes + 1);
  for (guint i = 0; i < n_nodes; i++)
    {
      DbrJson id = dbr_json_get (nodes[i], id_key);
      g_autofree char *text = dbr_json_dup_string (id);
      if (!text || place_of (self, text) != GRAPH_NOWHERE)
        continue;
      kept[self->n] = nodes[i];
      self->ids[self->n] = id;
      self->n++;
      g_hash_table_insert (self->places, g_steal_pointer (&text), GUINT_TO_POINTER (self->n));
    }
  return kept;
}

static GArray *
collect_edges (const DbrJsonGraph *self, const DbrJson *kept, const char *next_key)
{
  GArray *edges = g_array_new (FALSE, FALSE, sizeof (Edge));

  for (guint i = 0; i < self->n; i++)
    {
      DbrJson next = dbr_json_get (kept[i], next_key);
      for (DbrJson v = dbr_json_first (next); dbr_json_exists (v); v = dbr_json_next (v))
        {
          Edge edge = { i, path_graph_find (self, v) };
          if (edge.to != GRAPH_NOWHERE)
            g_array_append_val (edges, edge);
        }
    }
  return edges;
}

static void
direction_init (Direction *self, guint n, const GArray *edges, gboolean is_upstream)
{
  self->starts = g_new0 (guint, n + 2);
  self->targets = g_new (guint, edges->len + 1);
  self->reach = g_new0 (guint8 *, n + 1);
  for (guint i = 0; i < edges->len; i++)
    {
      const Edge *edge = &g_array_index (edges, Edge, i);
      self->starts[(is_upstream ? edge->to : edge->from) + 2]++;
    }
  for (guint i = 2; i < n + 2; i++)
    self->starts[i] += self->starts[i - 1];
  /* starts[i + 1] is where the next neighbour of i goes, and in the end where those of i + 1 begin.
   */
  for (guint i = 0; i < edges->len; i++)
    {
      const Edge *edge = &g_array_index (edges, Edge, i);
      guint from = is_upstream ? edge->to : edge->from;
      self->targets[self->starts[from + 1]++] = is_upstream ? edge->from : edge->to;
    }
}

static void
direction_forget (Direction *self, guint n)
{
  for (guint i = 0; i < n; i++)
    g_clear_pointer (&self->reach[i], g_free);
}

static void
direction_clear (Direction *self, guint n)
{
  direction_forget (self, n);
  g_free (self->reach);
  g_free (self->starts);
  g_free (self->targets);
}

DbrJsonGraph *
dbr_json_graph_new (const DbrJson *nodes, guint n_nodes, const char *id_key, const char *next_key)
{
  DbrJsonGraph *self = g_new0 (DbrJsonGraph, 1);

  self->places = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autofree DbrJson *kept = collect_nodes (self, nodes, MIN (n_nodes, MAX_GRAPH_NODES), id_key);
  g_autoptr (GArray) edges = collect_edges (self, kept, next_key);
  direction_init (&self->down, self->n, edges, FALSE);
  direction_init (&self->up, self->n, edges, TRUE);
  return self;
}

void
dbr_json_graph_free (DbrJsonGraph *self)
{
  if (!self)
    return;
  direction_clear (&self->down, self->n);
  direction_clear (&self->up, self->n);
  g_hash_table_unref (self->places);
  g_free (self->ids);
  g_free (self);
}

/* Fills @bits with what is reachable from @from, itself left out. What is remembered of a node on
 * the way is taken over whole, also on a cycle: it is complete. Returns the cost in steps; an edge
 * is cheap. */
static guint
walk (const Direction *self, guint from, guint8 *bits, gsize size)
{
  g_autoptr (GArray) open = g_array_new (FALSE, FALSE, sizeof (guint));
  guint n_nodes = 0;
  guint n_edges = 0;

  g_array_append_val (open, from);
  while (open->len > 0)
    {
      guint at = g_array_index (open, guint, open->len - 1);
      g_array_set_size (open, open->len - 1);
      n_nodes++;
      for (guint i = self->starts[at]; i < self->starts[at + 1]; i++, n_edges++)
        {
          guint to = self->targets[i];
          if (bits[to / 8] & (1u << to % 8))
            continue;
          bits[to / 8] |= (guint8) (1u << to % 8);
          if (!self->reach[to])
            {
              g_array_append_val (open, to);
              continue;
            }
          for (gsize j = 0; j < size; j++)
            bits[j] |= self->reach[to][j];
          n_edges += (guint) size / 16;
        }
    }
  bits[from / 8] &= (guint8) ~(1u << from % 8);
  return n_nodes + n_edges / 16;
}

PathReach
path_graph_reach (DbrJsonGraph *self, guint from, gboolean is_upstream)
{
  Direction *direction = is_upstream ? &self->up : &self->down;
  gsize size = self->n / 8 + 1;

  if (direction->reach[from])
    return (PathReach){ direction->reach[from], 0 };
  if (self->memo_bytes + size > MEMO_BYTES)
    {
      direction_forget (&self->down, self->n);
      direction_forget (&self->up, self->n);
      self->memo_bytes = 0;
    }
  self->memo_bytes += size;
  guint8 *bits = g_malloc0 (size);
  PathReach reach = { bits, walk (direction, from, bits, size) };
  direction->reach[from] = bits;
  return reach;
}
