/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-json-path-check: what the functions are and whether an expression is well-typed (RFC 9535
 * section 2.4.3), so that evaluation never meets a wrong type. Literal patterns are compiled here.
 */
#include "config.h"

#include "dbr-json-path-priv.h"

#include <string.h>

static const PathFunction functions[] = {
  { "length", FUNCTION_LENGTH, PATH_VALUE, 1, 1, { PATH_VALUE } },
  { "count", FUNCTION_COUNT, PATH_VALUE, 1, 1, { PATH_NODES } },
  { "match", FUNCTION_MATCH, PATH_LOGICAL, 2, 2, { PATH_VALUE, PATH_VALUE } },
  { "search", FUNCTION_SEARCH, PATH_LOGICAL, 2, 2, { PATH_VALUE, PATH_VALUE } },
  { "value", FUNCTION_VALUE, PATH_VALUE, 1, 1, { PATH_NODES } },
  { "age", FUNCTION_AGE, PATH_VALUE, 1, 1, { PATH_VALUE } },
  { "seconds", FUNCTION_SECONDS, PATH_VALUE, 2, 2, { PATH_VALUE, PATH_VALUE } },
  { "key", FUNCTION_KEY, PATH_VALUE, 1, 1, { PATH_NODES } },
  { "upstream", FUNCTION_UPSTREAM, PATH_NODES, 1, 2, { PATH_VALUE, PATH_NODES } },
  { "downstream", FUNCTION_DOWNSTREAM, PATH_NODES, 1, 2, { PATH_VALUE, PATH_NODES } },
};

const PathFunction *
path_function_find (const char *name, gsize len)
{
  for (guint i = 0; i < G_N_ELEMENTS (functions); i++)
    if (strlen (functions[i].name) == len && memcmp (functions[i].name, name, len) == 0)
      return &functions[i];
  return NULL;
}

static gboolean
fail (const DbrJsonPath *self, const PathExpr *at, GError **error, const char *why)
{
  g_set_error (error, DBR_JSON_PATH_ERROR, DBR_JSON_PATH_ERROR_TYPE,
               "JSONPath '%s': %s (column %u)", self->text, why, at->column);
  return FALSE;
}

/* A single value: of a comparison, or of a function's value parameter. */
static gboolean
check_value (DbrJsonPath *self, PathExpr *expr, GError **error)
{
  if (expr->is_paren)
    return fail (self, expr, error, "parentheses are a condition, a single value is needed here");
  switch (expr->kind)
    {
    case EXPR_LITERAL:
      return TRUE;
    case EXPR_QUERY:
      if (!expr->query->is_singular)
        return fail (self, expr, error,
                     "this query can give several nodes, a single value is needed here (names and "
                     "indexes only, or value())");
      return TRUE;
    case EXPR_FUNCTION:
      if (expr->function->result != PATH_VALUE)
        return fail (self, expr, error,
                     "this function gives no value, a single value is needed here");
      return path_check_call (self, expr, error);
    case EXPR_OR:
    case EXPR_AND:
    case EXPR_NOT:
    case EXPR_COMPARE:
      break;
    }
  return fail (self, expr, error, "this is a condition, a single value is needed here");
}

static gboolean
check_nodes (DbrJsonPath *self, PathExpr *expr, GError **error)
{
  if (!expr->is_paren && expr->kind == EXPR_QUERY)
    return path_check_query (self, expr->query, error);
  if (!expr->is_paren && expr->kind == EXPR_FUNCTION && expr->function->result == PATH_NODES)
    return path_check_call (self, expr, error);
  return fail (self, expr, error, "a query is needed here");
}

/* Compiles the pattern of match() and search() once when it is a literal. RFC 9535 wants "no match"
 * of a pattern that is not I-Regexp; in a catalogue it is a mistake that somebody should hear
 * about. */
static gboolean
check_pattern (DbrJsonPath *self, PathExpr *call, GError **error)
{
  gsize len;
  g_autoptr (GString) scratch = g_string_new (NULL);
  g_autofree char *message = NULL;

  if (call->args[1]->kind != EXPR_LITERAL)
    return TRUE;
  const char *pattern = dbr_json_string (call->args[1]->literal, scratch, &len);
  if (!pattern)
    return TRUE;
  call->regexp = path_regexp_new (pattern, len, call->function->id == FUNCTION_MATCH, &message);
  if (call->regexp)
    g_ptr_array_add (self->regexps, call->regexp);
  else if (self->flags != DBR_JSON_PATH_RFC)
    return fail (self, call->args[1], error, message);
  return TRUE;
}

gboolean
path_check_call (DbrJsonPath *self, PathExpr *call, GError **error)
{
  const PathFunction *function = call->function;

  if (call->n_args < function->min_args || call->n_args > function->max_args)
    {
      g_autofree char *why = g_strdup_printf ("%s() takes %s, not %u", function->name,
                                              function->max_args == 1   ? "one argument"
                                              : function->min_args == 1 ? "one argument or two"
                                                                        : "two arguments",
                                              call->n_args);
      return fail (self, call, error, why);
    }
  for (guint i = 0; i < call->n_args; i++)
    if (!(function->args[i] == PATH_VALUE ? check_value : check_nodes) (self, call->args[i], error))
      return FALSE;
  if (function->id == FUNCTION_MATCH || function->id == FUNCTION_SEARCH)
    return check_pattern (self, call, error);
  if (function->id == FUNCTION_UPSTREAM || function->id == FUNCTION_DOWNSTREAM)
    call->memo = self->n_memos++;
  return TRUE;
}

static gboolean
check_test (DbrJsonPath *self, PathExpr *expr, GError **error)
{
  switch (expr->kind)
    {
    case EXPR_NOT:
      return path_check_logical (self, expr->a, error);
    case EXPR_COMPARE:
      return check_value (self, expr->a, error) && check_value (self, expr->b, error);
    case EXPR_QUERY:
      return path_check_query (self, expr->query, error);
    case EXPR_LITERAL:
      return fail (self, expr, error, "a literal alone is no condition: compare it");
    case EXPR_FUNCTION:
      if (expr->function->result == PATH_VALUE)
        return fail (self, expr, error, "a value alone is no condition: compare it");
      return path_check_call (self, expr, error);
    case EXPR_OR:
    case EXPR_AND:
      break;
    }
  return path_check_logical (self, expr, error);
}

gboolean
path_check_logical (DbrJsonPath *self, PathExpr *expr, GError **error)
{
  for (; expr->kind == EXPR_OR || expr->kind == EXPR_AND; expr = expr->b)
    if (!path_check_logical (self, expr->a, error))
      return FALSE;
  return check_test (self, expr, error);
}

gboolean
path_check_query (DbrJsonPath *self, PathQuery *query, GError **error)
{
  for (PathSegment *segment = query->segments; segment; segment = segment->next)
    for (PathSelector *selector = segment->selectors; selector; selector = selector->next)
      if (selector->kind == SELECT_FILTER && !path_check_logical (self, selector->filter, error))
        return FALSE;
  return TRUE;
}
