/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-json-path: RFC 9535 queries over json-doc, with the catalogue language's functions.
 *
 * An expression is parsed and type-checked once (when a catalogue is loaded) and evaluated often.
 * Evaluation costs are bounded by a step budget (regular expressions included) and bounded
 * recursion; absolute queries inside filters are evaluated once per evaluation, not once per item.
 *
 * Source: RFC 9535 (all of it; functions length, count, match, search, value). Regular expressions
 * are RFC 9485 I-Regexp, run by PCRE2 with match, depth and heap limits. RFC 9535 lets a pattern
 * that is not I-Regexp match nothing; with any flag but DBR_JSON_PATH_RFC a literal one is an error
 * instead.
 *
 * Own functions (types as RFC 9535 section 2.4.1 uses them):
 *
 *   age(Value time) -> Value
 *     seconds from that RFC 3339 time to env->now_us (1.5, 60); Nothing when unreadable
 *
 *   seconds(Value a, Value b) -> Value
 *     seconds from a to b; positive when b is later
 *
 *   key(Nodes one) -> Value
 *     the member name under which the one node stands; Nothing for elements, for none and for
 * several
 *
 *   upstream(Value id [, Nodes set]) -> Nodes
 *   downstream(Value id [, Nodes set]) -> Nodes
 *     of the set those nodes whose string names a transitive predecessor (successor) of id, id
 * itself left out; without a set the graph's own id nodes, in the graph's order. See DbrJsonGraph.
 */
#pragma once

#include "dbr-json-doc.h"

G_BEGIN_DECLS

/* Default budget of one evaluation; a step is a node visited or a comparison made. Long texts and
 * numbers cost a step more for each 256 bytes, regular expressions by what they try. */
#define DBR_JSON_PATH_MAX_STEPS 2000000u
#define DBR_JSON_PATH_MAX_TEXT 4096u  /* longest expression, bytes */
#define DBR_JSON_PATH_MAX_NESTING 64u /* parentheses, filters in filters */

#define DBR_JSON_PATH_ERROR (dbr_json_path_error_quark ())
GQuark
dbr_json_path_error_quark (void);
typedef enum
{
  DBR_JSON_PATH_ERROR_SYNTAX, /* not well-formed; the message says what was found, expected and at
                                 which column (from 1) */
  DBR_JSON_PATH_ERROR_TYPE,   /* well-formed but not well-typed, unknown function, integer out of
                                 range */
  DBR_JSON_PATH_ERROR_BUDGET, /* evaluation needed more steps than allowed */
} DbrJsonPathError;

typedef struct _DbrJsonPath DbrJsonPath;

typedef enum
{
  DBR_JSON_PATH_RFC = 0,            /* a query of RFC 9535: begins with $ */
  DBR_JSON_PATH_RELATIVE = 1 << 0,  /* may also begin with @ (the current item) */
  DBR_JSON_PATH_CONDITION = 1 << 1, /* a filter expression's inside (logical-expr), e.g. `$.a.b ==
                                       'x' && !@.c`; query beginnings $ and @ */
  DBR_JSON_PATH_VALUE = 1 << 2, /* also a bare call of a function that gives a value or nodes, e.g.
                                   `age(@.start_date)`, `upstream(@.id)`; with RELATIVE */
} DbrJsonPathFlags;

/* The path is immutable after construction and may be evaluated re-entrantly (one thread). */
DbrJsonPath *
dbr_json_path_new (const char *text, DbrJsonPathFlags flags, GError **error);
void
dbr_json_path_free (DbrJsonPath *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DbrJsonPath, dbr_json_path_free)
const char *
dbr_json_path_text (const DbrJsonPath *self);
/* TRUE when it can only ever give one node or none (RFC 9535 "singular query"), or is a VALUE
 * function. */
gboolean
dbr_json_path_is_singular (const DbrJsonPath *self);
gboolean
dbr_json_path_is_condition (const DbrJsonPath *self);
/* The distinct first names after `$` used anywhere in it ("failed" of $.failed.x, "http.failed" of
 * $.http.failed, "http.failed.rows" of $.http.failed.rows), filters and arguments included: what a
 * request or a template depends on. NULL-terminated, transfer none. `$` alone or $[*] gives "*". */
const char *const *
dbr_json_path_roots (const DbrJsonPath *self);

/* Directed graph for upstream()/downstream(): built once per call from nodes of a document, O(nodes
 * + edges) to build, reachability memoised. Cycles allowed. */
typedef struct _DbrJsonGraph DbrJsonGraph;
/* @nodes: objects; @id_key: their string member that names them; @next_key: their member that is an
 * array of successors' names. Others are ignored. At most 100,000 nodes. */
DbrJsonGraph *
dbr_json_graph_new (const DbrJson *nodes, guint n_nodes, const char *id_key, const char *next_key);
void
dbr_json_graph_free (DbrJsonGraph *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DbrJsonGraph, dbr_json_graph_free)

typedef struct
{
  DbrJson root;        /* $ */
  DbrJson current;     /* @; nothing where there is none */
  gint64 now_us;       /* wall clock, microseconds since 1970 UTC */
  DbrJsonGraph *graph; /* nullable: upstream() and downstream() are then empty */
  guint *steps_left;   /* nullable: the default budget for this one evaluation; otherwise shared and
                          decreased */
} DbrJsonPathEnv;

/* A list of nodes: owned by the caller, reusable; holds extra documents that computed values (VALUE
 * functions) live in. */
typedef struct
{
  GArray *nodes;   /* (element-type DbrJson) */
  GPtrArray *docs; /* (element-type DbrJsonDoc) nullable */
} DbrNodeList;
void
dbr_node_list_init (DbrNodeList *self);
void
dbr_node_list_clear (DbrNodeList *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (DbrNodeList, dbr_node_list_clear)
static inline guint
dbr_node_list_size (const DbrNodeList *self)
{
  return self->nodes ? self->nodes->len : 0;
}
static inline DbrJson
dbr_node_list_get (const DbrNodeList *self, guint i)
{
  return g_array_index (self->nodes, DbrJson, i);
}

/* Appends the nodes that the query selects, in RFC 9535 order. A VALUE function gives one node (a
 * composed document) or none. Errors: DBR_JSON_PATH_ERROR_BUDGET. Asserts that self is not a
 * condition. */
gboolean
dbr_json_path_select (const DbrJsonPath *self,
                      const DbrJsonPathEnv *env,
                      DbrNodeList *out,
                      GError **error);
/* The first node or nothing; cheap for singular queries (no allocation). Nothing also when the
 * budget ran out. Not for VALUE functions (use select). */
DbrJson
dbr_json_path_first (const DbrJsonPath *self, const DbrJsonPathEnv *env);
/* Asserts that self is a condition. Errors: as select. */
gboolean
dbr_json_path_test (const DbrJsonPath *self,
                    const DbrJsonPathEnv *env,
                    gboolean *out_result,
                    GError **error);
/* RFC 9535 section 2.7 normalized path of a node relative to root, for tests. NULL if not found. */
char *
dbr_json_path_normalized (DbrJson root, DbrJson node);

G_END_DECLS
