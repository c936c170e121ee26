/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-json-path-eval: segments, selectors and filter expressions (RFC 9535 sections 2.3 and 2.5).
 *
 * A query goes segment by segment from a list of nodes to the next; lists are reused. Every node
 * visited and every comparison takes steps from the budget; when it is spent all loops end, and the
 * evaluation reports that instead of what it has.
 */
#include "config.h"

#include "dbr-json-compare.h"
#include "dbr-json-doc-priv.h"
#include "dbr-json-path-priv.h"

#include <string.h>

gboolean
path_spend (PathEval *self, guint steps)
{
  if (self->failure)
    return FALSE;
  if (*self->steps_left >= steps)
    {
      *self->steps_left -= steps;
      return TRUE;
    }
  *self->steps_left = 0;
  self->failure = "needs more steps than allowed";
  return FALSE;
}

GArray *
path_take_list (PathEval *self)
{
  if (self->spare && self->spare->len > 0)
    return g_ptr_array_steal_index_fast (self->spare, self->spare->len - 1);
  return g_array_new (FALSE, FALSE, sizeof (DbrJson));
}

void
path_give_list (PathEval *self, GArray *list)
{
  if (!self->spare)
    self->spare = g_ptr_array_new_with_free_func ((GDestroyNotify) g_array_unref);
  g_array_set_size (list, 0);
  g_ptr_array_add (self->spare, list);
}

/* Looking through a container costs by its size, whatever comes of it. */
static gboolean
spend_look (PathEval *self, DbrJson container)
{
  container = node_resolve (container);
  guint span = container.doc ? node_at (container)->meta >> NODE_SPAN_SHIFT : 0;
  return path_spend (self, 1 + (span >> 6));
}

static DbrJson
nth_element (DbrJson array, gint64 index)
{
  if (dbr_json_type (array) != DBR_JSON_ARRAY)
    return DBR_JSON_NONE;
  if (index < 0)
    index += dbr_json_count (array);
  return index < 0 || index > G_MAXUINT ? DBR_JSON_NONE : dbr_json_element (array, (guint) index);
}

static DbrJson
select_one (PathEval *self, const PathSelector *selector, DbrJson node)
{
  if (!spend_look (self, node))
    return DBR_JSON_NONE;
  return selector->kind == SELECT_NAME ? dbr_json_get_n (node, selector->name, selector->name_len)
                                       : nth_element (node, selector->start);
}

DbrJson
path_eval_singular (PathEval *self, const PathQuery *query, DbrJson current)
{
  DbrJson node = query->is_absolute ? self->env->root : current;

  for (const PathSegment *segment = query->segments; segment && dbr_json_exists (node);
       segment = segment->next)
    node = select_one (self, segment->selectors, node);
  return node;
}

/* RFC 9535 section 2.3.4.2.2. */
static void
select_slice (PathEval *self, const PathSelector *selector, DbrJson array, GArray *out)
{
  gint64 step = selector->step;

  if (dbr_json_type (array) != DBR_JSON_ARRAY || step == 0 || !spend_look (self, array))
    return;
  GArray *all = path_take_list (self);
  for (DbrJson v = dbr_json_first (array); dbr_json_exists (v); v = dbr_json_next (v))
    g_array_append_val (all, v);
  gint64 len = all->len;
  gint64 start = selector->has_start ? selector->start : step > 0 ? 0 : len - 1;
  gint64 end = selector->has_end ? selector->end : step > 0 ? len : -len - 1;
  start = start < 0 ? start + len : start;
  end = end < 0 ? end + len : end;
  if (step > 0)
    for (gint64 i = CLAMP (start, 0, len); i < CLAMP (end, 0, len) && path_spend (self, 1);
         i += MIN (step, len))
      g_array_append_val (out, g_array_index (all, DbrJson, i));
  else
    for (gint64 i = CLAMP (start, -1, len - 1);
         i > CLAMP (end, -1, len - 1) && path_spend (self, 1); i += MAX (step, -len))
      g_array_append_val (out, g_array_index (all, DbrJson, i));
  path_give_list (self, all);
}

static void
select_children (PathEval *self, const PathExpr *filter, DbrJson node, GArray *out)
{
  for (DbrJson v = dbr_json_first (node); dbr_json_exists (v) && path_spend (self, 1);
       v = dbr_json_next (v))
    if (!filter || path_eval_logical (self, filter, v))
      g_array_append_val (out, v);
}

static void
select_from (PathEval *self, const PathSegment *segment, DbrJson node, GArray *out)
{
  for (const PathSelector *selector = segment->selectors; selector && !self->failure;
       selector = selector->next)
    switch (selector->kind)
      {
      case SELECT_NAME:
      case SELECT_INDEX:
        {
          DbrJson found = select_one (self, selector, node);
          if (dbr_json_exists (found))
            g_array_append_val (out, found);
          break;
        }
      case SELECT_SLICE:
        select_slice (self, selector, node, out);
        break;
      case SELECT_WILDCARD:
      case SELECT_FILTER:
        select_children (self, selector->filter, node, out);
        break;
      }
}

/* As deep as the document, which its reader has bounded. */
static void
select_descendants (PathEval *self, const PathSegment *segment, DbrJson node, GArray *out)
{
  if (!path_spend (self, 1))
    return;
  select_from (self, segment, node, out);
  for (DbrJson v = dbr_json_first (node); dbr_json_exists (v) && !self->failure;
       v = dbr_json_next (v))
    if (dbr_json_type (v) >= DBR_JSON_ARRAY)
      select_descendants (self, segment, v, out);
}

static void
eval_segment (PathEval *self, const PathSegment *segment, DbrJson node, GArray *out)
{
  if (segment->is_descendant)
    select_descendants (self, segment, node, out);
  else
    select_from (self, segment, node, out);
}

static gboolean
selects_one (const PathSegment *segment)
{
  const PathSelector *selector = segment->selectors;

  return !segment->is_descendant && !selector->next
         && (selector->kind == SELECT_NAME || selector->kind == SELECT_INDEX);
}

/* One segment that takes all there is, and behind it only names and indexes: x[*].name. */
static gboolean
is_each (const PathSegment *segment)
{
  if (segment->is_descendant || segment->selectors->next
      || segment->selectors->kind != SELECT_WILDCARD)
    return FALSE;
  for (segment = segment->next; segment; segment = segment->next)
    if (!selects_one (segment))
      return FALSE;
  return TRUE;
}

static void
eval_each (PathEval *self, const PathSegment *behind, DbrJson container, GArray *out)
{
  for (DbrJson v = dbr_json_first (container); dbr_json_exists (v) && path_spend (self, 1);
       v = dbr_json_next (v))
    {
      DbrJson node = v;
      for (const PathSegment *at = behind; at && dbr_json_exists (node); at = at->next)
        node = select_one (self, at->selectors, node);
      if (dbr_json_exists (node) && !self->failure)
        g_array_append_val (out, node);
    }
}

static void
eval_query (PathEval *self, const PathQuery *query, DbrJson current, GArray *out)
{
  const PathSegment *segment = query->segments;
  DbrJson start = query->is_absolute ? self->env->root : current;

  /* Most queries are names, and one step to all of a list among them: no list of ours is needed. */
  for (; segment && selects_one (segment) && dbr_json_exists (start); segment = segment->next)
    start = select_one (self, segment->selectors, start);
  if (!dbr_json_exists (start) || self->failure)
    return;
  if (!segment)
    {
      g_array_append_val (out, start);
      return;
    }
  if (is_each (segment))
    {
      eval_each (self, segment->next, start, out);
      return;
    }
  GArray *from = path_take_list (self);
  GArray *to = path_take_list (self);
  g_array_append_val (from, start);
  for (; segment->next && !self->failure; segment = segment->next)
    {
      for (guint i = 0; i < from->len && !self->failure; i++)
        eval_segment (self, segment, g_array_index (from, DbrJson, i), to);
      GArray *empty = from;
      from = to;
      to = empty;
      g_array_set_size (to, 0);
    }
  for (guint i = 0; i < from->len && !self->failure; i++)
    eval_segment (self, segment, g_array_index (from, DbrJson, i), out);
  path_give_list (self, from);
  path_give_list (self, to);
}

/* An absolute query means the same for every item: it is evaluated once. */
static PathSlot *
slot_of (PathEval *self, const PathQuery *query)
{
  if (!self->slots)
    self->slots = g_new0 (PathSlot, self->path->n_slots);
  return &self->slots[query->slot];
}

static DbrJson
cached_singular (PathEval *self, const PathQuery *query, DbrJson current)
{
  if (!query->is_absolute)
    return path_eval_singular (self, query, current);
  PathSlot *slot = slot_of (self, query);
  if (!slot->is_done)
    *slot = (PathSlot){ TRUE, path_eval_singular (self, query, current), NULL };
  return slot->one;
}

GArray *
path_eval_nodes (PathEval *self, const PathExpr *expr, DbrJson current)
{
  if (expr->kind == EXPR_QUERY && expr->query->is_absolute)
    {
      PathSlot *slot = slot_of (self, expr->query);
      if (!slot->nodes)
        {
          GArray *nodes = g_array_new (FALSE, FALSE, sizeof (DbrJson));
          eval_query (self, expr->query, current, nodes);
          slot->nodes = nodes;
        }
      return slot->nodes;
    }
  GArray *nodes = path_take_list (self);
  if (expr->kind == EXPR_QUERY)
    eval_query (self, expr->query, current, nodes);
  else
    path_call_nodes (self, expr, current, nodes);
  return nodes;
}

void
path_release_nodes (PathEval *self, const PathExpr *expr, GArray *nodes)
{
  if (expr->kind != EXPR_QUERY || !expr->query->is_absolute)
    path_give_list (self, nodes);
}

PathNumberOrNode
path_eval_value (PathEval *self, const PathExpr *expr, DbrJson current)
{
  if (expr->kind == EXPR_FUNCTION)
    return path_call_value (self, expr, current);
  PathNumberOrNode value
      = { .node = expr->kind == EXPR_LITERAL ? expr->literal
                                             : cached_singular (self, expr->query, current) };
  return value;
}

/* ---- comparisons */

static const char *
number_text (const PathNumberOrNode *value, gsize *out_len)
{
  if (!value->number_len)
    return dbr_json_raw (value->node, out_len);
  *out_len = value->number_len;
  return value->number;
}

static gboolean
is_number (const PathNumberOrNode *value)
{
  return value->number_len || dbr_json_type (value->node) == DBR_JSON_NUMBER;
}

static int
compare_numbers (const PathNumberOrNode *a, const PathNumberOrNode *b)
{
  gsize a_len;
  gsize b_len;
  const char *a_text = number_text (a, &a_len);
  const char *b_text = number_text (b, &b_len);
  return dbr_json_number_text_compare (a_text, a_len, b_text, b_len);
}

static gboolean
values_equal (PathEval *self, const PathNumberOrNode *a, const PathNumberOrNode *b)
{
  if (is_number (a) && is_number (b))
    return compare_numbers (a, b) == 0;
  if (a->number_len || b->number_len)
    return FALSE;
  gboolean is_equal = dbr_json_equal_within (a->node, b->node, self->steps_left);
  if (!is_equal && *self->steps_left == 0)
    path_spend (self, 1); /* says so */
  return is_equal;
}

static gboolean
value_less (const PathNumberOrNode *a, const PathNumberOrNode *b)
{
  if (is_number (a) && is_number (b))
    return compare_numbers (a, b) < 0;
  return dbr_json_type (a->node) == DBR_JSON_STRING && dbr_json_type (b->node) == DBR_JSON_STRING
         && dbr_json_string_compare (a->node, b->node) < 0;
}

/* What it costs to look at all of a text; containers are paid for as they are walked. */
static guint
cost_of (const PathNumberOrNode *value)
{
  gsize len;
  dbr_json_raw (value->node, &len);
  return dbr_json_type (value->node) < DBR_JSON_ARRAY ? (guint) (len / 256) : 0;
}

/* RFC 9535 section 2.3.5.2.2. */
static gboolean
eval_compare (PathEval *self, const PathExpr *expr, DbrJson current)
{
  PathNumberOrNode a = path_eval_value (self, expr->a, current);
  PathNumberOrNode b = path_eval_value (self, expr->b, current);

  if (!path_spend (self, 1 + cost_of (&a) + cost_of (&b)))
    return FALSE;
  switch (expr->op)
    {
    case COMPARE_EQ:
      return values_equal (self, &a, &b);
    case COMPARE_NE:
      return !values_equal (self, &a, &b);
    case COMPARE_LT:
      return value_less (&a, &b);
    case COMPARE_GT:
      return value_less (&b, &a);
    case COMPARE_LE:
      return value_less (&a, &b) || values_equal (self, &a, &b);
    case COMPARE_GE:
      return value_less (&b, &a) || values_equal (self, &a, &b);
    }
  return FALSE;
}

static gboolean
eval_exists (PathEval *self, const PathExpr *expr, DbrJson current)
{
  if (expr->kind == EXPR_QUERY && expr->query->is_singular)
    return dbr_json_exists (cached_singular (self, expr->query, current));
  GArray *nodes = path_eval_nodes (self, expr, current);
  gboolean is_any = nodes->len > 0;
  path_release_nodes (self, expr, nodes);
  return is_any;
}

static gboolean
eval_term (PathEval *self, const PathExpr *expr, DbrJson current)
{
  switch (expr->kind)
    {
    case EXPR_OR:
    case EXPR_AND:
      return path_eval_logical (self, expr, current);
    case EXPR_NOT:
      return !path_eval_logical (self, expr->a, current);
    case EXPR_COMPARE:
      return eval_compare (self, expr, current);
    case EXPR_FUNCTION:
      if (expr->function->result == PATH_LOGICAL)
        return path_call_logical (self, expr, current);
      G_GNUC_FALLTHROUGH;
    case EXPR_QUERY:
      return eval_exists (self, expr, current);
    case EXPR_LITERAL:
      break;
    }
  g_assert_not_reached (); /* the check lets no literal stand alone */
}

gboolean
path_eval_logical (PathEval *self, const PathExpr *expr, DbrJson current)
{
  ExprKind kind = expr->kind;

  if (kind != EXPR_OR && kind != EXPR_AND)
    return eval_term (self, expr, current);
  for (; expr->kind == kind; expr = expr->b)
    {
      gboolean part = path_eval_logical (self, expr->a, current);
      if (self->failure || part == (kind == EXPR_OR))
        return part;
    }
  return path_eval_logical (self, expr, current);
}

/* ---- the public side */

static PathEval
eval_begin (const DbrJsonPath *path, const DbrJsonPathEnv *env)
{
  return (PathEval){
    .path = path, .env = env, .own_steps = DBR_JSON_PATH_MAX_STEPS, .steps_left = env->steps_left
  };
}

static void
eval_end (PathEval *self)
{
  for (guint i = 0; self->slots && i < self->path->n_slots; i++)
    g_clear_pointer (&self->slots[i].nodes, g_array_unref);
  for (guint i = 0; self->memos && i < self->path->n_memos; i++)
    {
      g_clear_pointer (&self->memos[i].places, g_array_unref);
      g_clear_pointer (&self->memos[i].bits, g_free);
    }
  g_free (self->slots);
  g_free (self->memos);
  g_clear_pointer (&self->spare, g_ptr_array_unref);
  g_clear_pointer (&self->regexp, path_regexp_free);
  g_free (self->regexp_text);
}

static gboolean
eval_report (const PathEval *self, GError **error)
{
  if (!self->failure)
    return TRUE;
  g_set_error (error, DBR_JSON_PATH_ERROR, DBR_JSON_PATH_ERROR_BUDGET, "JSONPath '%s' %s",
               self->path->text, self->failure);
  return FALSE;
}

static void
append_computed (DbrNodeList *out, const PathNumberOrNode *value)
{
  DbrJson node = value->node;

  if (value->number_len)
    {
      DbrJsonDoc *doc
          = dbr_json_doc_new_from_data (value->number, (gssize) value->number_len, NULL, NULL);
      g_assert (doc != NULL);
      if (!out->docs)
        out->docs = g_ptr_array_new_with_free_func ((GDestroyNotify) dbr_json_doc_unref);
      g_ptr_array_add (out->docs, doc);
      node = dbr_json_doc_root (doc);
    }
  if (dbr_json_exists (node))
    g_array_append_val (out->nodes, node);
}

gboolean
dbr_json_path_select (const DbrJsonPath *self,
                      const DbrJsonPathEnv *env,
                      DbrNodeList *out,
                      GError **error)
{
  PathEval eval = eval_begin (self, env);

  g_assert (!self->condition);
  if (!eval.steps_left)
    eval.steps_left = &eval.own_steps;
  if (!out->nodes)
    out->nodes = g_array_new (FALSE, FALSE, sizeof (DbrJson));
  guint before = out->nodes->len;
  if (self->query)
    eval_query (&eval, self->query, env->current, out->nodes);
  else if (self->call->function->result == PATH_NODES)
    path_call_nodes (&eval, self->call, env->current, out->nodes);
  else
    {
      PathNumberOrNode value = path_call_value (&eval, self->call, env->current);
      append_computed (out, &value);
    }
  gboolean ok = eval_report (&eval, error);
  if (!ok)
    g_array_set_size (out->nodes, before);
  eval_end (&eval);
  return ok;
}

DbrJson
dbr_json_path_first (const DbrJsonPath *self, const DbrJsonPathEnv *env)
{
  PathEval eval = eval_begin (self, env);
  DbrJson first = DBR_JSON_NONE;

  g_assert (self->query);
  if (!eval.steps_left)
    eval.steps_left = &eval.own_steps;
  if (self->query->is_singular)
    first = path_eval_singular (&eval, self->query, env->current);
  else
    {
      GArray *nodes = path_take_list (&eval);
      eval_query (&eval, self->query, env->current, nodes);
      if (nodes->len > 0)
        first = g_array_index (nodes, DbrJson, 0);
      g_array_unref (nodes);
    }
  if (eval.failure)
    first = DBR_JSON_NONE;
  eval_end (&eval);
  return first;
}

gboolean
dbr_json_path_test (const DbrJsonPath *self,
                    const DbrJsonPathEnv *env,
                    gboolean *out_result,
                    GError **error)
{
  PathEval eval = eval_begin (self, env);

  g_assert (self->condition);
  if (!eval.steps_left)
    eval.steps_left = &eval.own_steps;
  *out_result = path_eval_logical (&eval, self->condition, env->current);
  gboolean ok = eval_report (&eval, error);
  eval_end (&eval);
  return ok;
}
