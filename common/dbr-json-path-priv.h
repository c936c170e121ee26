/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parsed form of a JSONPath and the doors between its parts, private to common/.
 * Everything hangs off DbrJsonPath.arena and lives as long as the path.
 */
#pragma once

#include "dbr-json-path.h"

G_BEGIN_DECLS

typedef struct _PathExpr PathExpr;
typedef struct _PathRegexp PathRegexp;

/* RFC 9535 section 2.4.1. */
typedef enum
{
  PATH_VALUE,
  PATH_LOGICAL,
  PATH_NODES,
} PathType;

typedef enum
{
  SELECT_NAME,
  SELECT_WILDCARD,
  SELECT_INDEX,
  SELECT_SLICE,
  SELECT_FILTER,
} SelectorKind;

typedef struct _PathSelector
{
  SelectorKind kind;
  const char *name;
  gsize name_len;
  gint64 start; /* also the index */
  gint64 end;
  gint64 step;
  gboolean has_start;
  gboolean has_end;
  PathExpr *filter;
  struct _PathSelector *next;
} PathSelector;

typedef struct _PathSegment
{
  gboolean is_descendant;
  PathSelector *selectors;
  struct _PathSegment *next;
} PathSegment;

typedef struct
{
  gboolean is_absolute;
  gboolean is_singular;
  guint slot; /* of an absolute query: where an evaluation keeps its nodes */
  PathSegment *segments;
} PathQuery;

typedef enum
{
  FUNCTION_LENGTH,
  FUNCTION_COUNT,
  FUNCTION_MATCH,
  FUNCTION_SEARCH,
  FUNCTION_VALUE,
  FUNCTION_AGE,
  FUNCTION_SECONDS,
  FUNCTION_KEY,
  FUNCTION_UPSTREAM,
  FUNCTION_DOWNSTREAM,
} PathFunctionId;

#define PATH_MAX_ARGS 2

typedef struct
{
  const char *name;
  PathFunctionId id;
  PathType result;
  guint min_args;
  guint max_args;
  PathType args[PATH_MAX_ARGS];
} PathFunction;

typedef enum
{
  EXPR_OR,
  EXPR_AND,
  EXPR_NOT,
  EXPR_COMPARE,
  EXPR_QUERY,
  EXPR_LITERAL,
  EXPR_FUNCTION,
} ExprKind;

typedef enum
{
  COMPARE_EQ,
  COMPARE_NE,
  COMPARE_LT,
  COMPARE_LE,
  COMPARE_GT,
  COMPARE_GE,
} CompareOp;

struct _PathExpr
{
  ExprKind kind;
  CompareOp op;
  guint column;      /* from 1 */
  gboolean is_paren; /* stood in parentheses: a logical expression whatever is in it */
  PathExpr *a;
  PathExpr *b;
  PathQuery *query;
  DbrJson literal;
  const PathFunction *function;
  PathExpr *args[PATH_MAX_ARGS];
  guint n_args;
  guint memo;         /* of upstream and downstream: where an evaluation keeps the set's places */
  PathRegexp *regexp; /* of match and search with a literal pattern that is I-Regexp */
};

struct _DbrJsonPath
{
  char *text;
  DbrJsonPathFlags flags;
  PathQuery *query; /* one of these three is set */
  PathExpr *condition;
  PathExpr *call;
  guint n_slots;
  guint n_memos;
  GPtrArray *arena; /* blocks of plain memory */
  char *arena_at;   /* what is left of the last one */
  gsize arena_left;
  GPtrArray *docs;    /* (element-type DbrJsonDoc) of the literals */
  GPtrArray *regexps; /* (element-type PathRegexp) */
  GPtrArray *roots;   /* (element-type utf8), NULL-terminated after parsing */
};

gpointer
path_alloc (DbrJsonPath *self, gsize size); /* zeroed */
/* Parses self->text into the rest. */
gboolean
path_parse (DbrJsonPath *self, GError **error);

const PathFunction *
path_function_find (const char *name, gsize len);
gboolean
path_check_query (DbrJsonPath *self, PathQuery *query, GError **error);
gboolean
path_check_logical (DbrJsonPath *self, PathExpr *expr, GError **error);
gboolean
path_check_call (DbrJsonPath *self, PathExpr *call, GError **error);

typedef enum
{
  REGEXP_NO,
  REGEXP_YES,
  REGEXP_TOO_COSTLY,
} PathRegexpResult;

/* @is_whole: match(), otherwise search(). NULL when @pattern is not I-Regexp; then *out_message
 * says why (nullable, transfer full). */
PathRegexp *
path_regexp_new (const char *pattern, gsize len, gboolean is_whole, char **out_message);
void
path_regexp_free (PathRegexp *self);
/* Takes what it costs from *units_left: a unit for each item tried, more where the text is long. */
PathRegexpResult
path_regexp_run (PathRegexp *self, const char *text, gsize len, guint *units_left);
/* The pattern in PCRE2's words. */
char *
path_regexp_translate (const char *pattern, gsize len, gsize *out_len, char **out_message);

/* Which nodes of a graph lie before or behind one; bit i of the result stands for node i. */
typedef struct
{
  const guint8 *bits; /* owned by the graph, until the next call */
  guint cost;         /* in steps; 0 when remembered */
} PathReach;

#define GRAPH_NOWHERE G_MAXUINT
guint
path_graph_find (const DbrJsonGraph *self, DbrJson id); /* GRAPH_NOWHERE when not in it */
guint
path_graph_size (const DbrJsonGraph *self);
DbrJson
path_graph_id (const DbrJsonGraph *self, guint i);
PathReach
path_graph_reach (DbrJsonGraph *self, guint from, gboolean is_upstream);

/* ---- one evaluation */

/* A value that is compared or given to a function: a node, or a number that was computed. */
typedef struct
{
  DbrJson node;
  gsize number_len; /* 0: a node, or nothing */
  char number[32];
} PathNumberOrNode;

typedef struct
{
  gboolean is_done;
  DbrJson one;   /* of a singular query */
  GArray *nodes; /* of the others */
} PathSlot;

typedef struct
{
  GArray *places; /* (element-type guint) of the set's nodes in the graph */
  guint8 *bits;   /* the same, a bit a place */
} PathMemo;

typedef struct
{
  const DbrJsonPath *path;
  const DbrJsonPathEnv *env;
  guint *steps_left;
  guint own_steps;
  const char *failure; /* why it stopped; NULL while it has not */
  PathSlot *slots;
  PathMemo *memos;
  GPtrArray *spare;   /* (element-type GArray) emptied lists */
  PathRegexp *regexp; /* the latest pattern that came from a document */
  char *regexp_text;
  gboolean regexp_is_whole;
} PathEval;

gboolean
path_spend (PathEval *self, guint steps); /* FALSE: the budget is spent */
GArray *
path_take_list (PathEval *self); /* an empty list of DbrJson */
void
path_give_list (PathEval *self, GArray *list);
DbrJson
path_eval_singular (PathEval *self, const PathQuery *query, DbrJson current);
/* The nodes; to give back with path_release_nodes(). */
GArray *
path_eval_nodes (PathEval *self, const PathExpr *expr, DbrJson current);
void
path_release_nodes (PathEval *self, const PathExpr *expr, GArray *nodes);
PathNumberOrNode
path_eval_value (PathEval *self, const PathExpr *expr, DbrJson current);
gboolean
path_eval_logical (PathEval *self, const PathExpr *expr, DbrJson current);

PathNumberOrNode
path_call_value (PathEval *self, const PathExpr *call, DbrJson current);
gboolean
path_call_logical (PathEval *self, const PathExpr *call, DbrJson current);
void
path_call_nodes (PathEval *self, const PathExpr *call, DbrJson current, GArray *out);

G_END_DECLS
