/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-json-path-expr: the grammar of filter expressions (RFC 9535 section 2.3.5.1). It is a little
 * wider than the RFC's: that a literal is no condition and a comparison's sides are single values
 * is left to dbr-json-path-check.c, which can say it better.
 */
#include "config.h"

#include "dbr-json-path-parser.h"

#include <string.h>

static PathExpr *
new_expr (PathParser *self, ExprKind kind, const char *at)
{
  PathExpr *expr = path_alloc (self->path, sizeof *expr);
  expr->kind = kind;
  expr->column = path_parser_column (self, at);
  return expr;
}

static PathExpr *
new_literal (PathParser *self, const char *at, DbrJsonDoc *doc)
{
  PathExpr *expr = new_expr (self, EXPR_LITERAL, at);
  g_ptr_array_add (self->path->docs, doc);
  expr->literal = dbr_json_doc_root (doc);
  return expr;
}

static PathExpr *
parse_string_literal (PathParser *self)
{
  const char *at = self->p;
  g_autoptr (GString) text = g_string_new (NULL);
  g_autoptr (DbrJsonBuilder) builder = dbr_json_builder_new ();

  if (!path_parse_string (self, text))
    return NULL;
  dbr_json_builder_string (builder, text->str, (gssize) text->len);
  return new_literal (self, at, dbr_json_builder_end (builder));
}

/* A number is written as in JSON, so JSON's reader is the judge of it. */
static PathExpr *
parse_number_literal (PathParser *self)
{
  const char *at = self->p;

  while (self->p < self->end && (g_ascii_isalnum (*self->p) || strchr ("+-.", *self->p)))
    self->p++;
  DbrJsonDoc *doc = dbr_json_doc_new_from_data (at, self->p - at, NULL, NULL);
  if (!doc)
    {
      path_parser_fail (self, at, "a number as JSON writes it");
      return NULL;
    }
  return new_literal (self, at, doc);
}

static gboolean
is_function_char (const PathParser *self)
{
  return self->p < self->end
         && (g_ascii_islower (*self->p) || *self->p == '_' || g_ascii_isdigit (*self->p));
}

static gboolean
parse_arguments (PathParser *self, PathExpr *call)
{
  path_parser_skip_blanks (self);
  if (path_parser_take (self, ")"))
    return TRUE;
  for (;;)
    {
      PathExpr *argument = path_parse_or (self);
      if (!argument)
        return FALSE;
      if (call->n_args < PATH_MAX_ARGS)
        call->args[call->n_args] = argument;
      call->n_args++; /* too many are found by the check */
      path_parser_skip_blanks (self);
      if (path_parser_take (self, ")"))
        return TRUE;
      if (!path_parser_take (self, ","))
        return path_parser_fail (self, self->p, "',' or ')'");
      path_parser_skip_blanks (self);
    }
}

/* A function call, or true, false, null. */
PathExpr *
path_parse_word (PathParser *self)
{
  const char *at = self->p;

  while (is_function_char (self))
    self->p++;
  gsize len = (gsize) (self->p - at);
  if (!path_parser_at (self, '('))
    {
      DbrJsonDoc *doc = dbr_json_doc_new_from_data (at, (gssize) len, NULL, NULL);
      if (doc)
        return new_literal (self, at, doc);
      path_parser_fail (self, at, "$, @, a literal or a function call");
      return NULL;
    }
  PathExpr *call = new_expr (self, EXPR_FUNCTION, at);
  call->function = path_function_find (at, len);
  if (!call->function)
    {
      g_set_error (self->error, DBR_JSON_PATH_ERROR, DBR_JSON_PATH_ERROR_TYPE,
                   "JSONPath '%s': no function is called '%.*s' (column %u)", self->path->text,
                   (int) len, at, call->column);
      return NULL;
    }
  self->p++;
  if (!path_parser_enter (self) || !parse_arguments (self, call))
    return NULL;
  self->nesting--;
  return call;
}

static PathExpr *
parse_paren (PathParser *self)
{
  self->p++;
  if (!path_parser_enter (self))
    return NULL;
  path_parser_skip_blanks (self);
  PathExpr *expr = path_parse_or (self);
  if (!expr)
    return NULL;
  self->nesting--;
  path_parser_skip_blanks (self);
  if (!path_parser_take (self, ")"))
    {
      path_parser_fail (self, self->p, "')'");
      return NULL;
    }
  expr->is_paren = TRUE;
  return expr;
}

/* A literal, a query or a function call. */
static PathExpr *
parse_operand (PathParser *self)
{
  if (path_parser_at (self, '$') || path_parser_at (self, '@'))
    {
      PathExpr *expr = new_expr (self, EXPR_QUERY, self->p);
      expr->query = path_parse_query (self);
      return expr->query ? expr : NULL;
    }
  if (path_parser_at (self, '\'') || path_parser_at (self, '"'))
    return parse_string_literal (self);
  if (path_parser_at_integer (self))
    return parse_number_literal (self);
  if (self->p < self->end && g_ascii_islower (*self->p))
    return path_parse_word (self);
  path_parser_fail (self, self->p, "$, @, a literal, a function call, ! or '('");
  return NULL;
}

static gboolean
take_compare_op (PathParser *self, CompareOp *out)
{
  static const struct
  {
    const char *text;
    CompareOp op;
  } ops[] = { { "==", COMPARE_EQ }, { "!=", COMPARE_NE }, { "<=", COMPARE_LE },
              { ">=", COMPARE_GE }, { "<", COMPARE_LT },  { ">", COMPARE_GT } };

  for (guint i = 0; i < G_N_ELEMENTS (ops); i++)
    if (path_parser_take (self, ops[i].text))
      {
        *out = ops[i].op;
        return TRUE;
      }
  return FALSE;
}

static PathExpr *
parse_not (PathParser *self)
{
  PathExpr *expr = new_expr (self, EXPR_NOT, self->p);
  self->p++;
  path_parser_skip_blanks (self);
  expr->a = path_parser_at (self, '(') ? parse_paren (self) : parse_operand (self);
  return expr->a ? expr : NULL;
}

static PathExpr *
parse_basic (PathParser *self)
{
  CompareOp op;

  if (path_parser_at (self, '!'))
    return parse_not (self);
  if (path_parser_at (self, '('))
    return parse_paren (self);
  PathExpr *operand = parse_operand (self);
  if (!operand)
    return NULL;
  const char *after = self->p;
  path_parser_skip_blanks (self);
  if (!take_compare_op (self, &op))
    {
      self->p = after;
      return operand;
    }
  PathExpr *expr = new_expr (self, EXPR_COMPARE, after);
  expr->op = op;
  expr->a = operand;
  path_parser_skip_blanks (self);
  expr->b = parse_operand (self);
  return expr->b ? expr : NULL;
}

/* Chains lean to the right, so that checking and evaluating one is a loop: only parentheses cost
 * depth. */
static PathExpr *
parse_chain (PathParser *self,
             const char *op,
             ExprKind kind,
             PathExpr *(*parse_part) (PathParser *) )
{
  PathExpr *head = parse_part (self);
  PathExpr **last = &head;

  while (*last)
    {
      const char *after = self->p;
      path_parser_skip_blanks (self);
      if (!path_parser_take (self, op))
        {
          self->p = after;
          return head;
        }
      PathExpr *chain = new_expr (self, kind, after);
      path_parser_skip_blanks (self);
      chain->a = *last;
      chain->b = parse_part (self);
      *last = chain;
      last = &chain->b;
    }
  return NULL;
}

static PathExpr *
parse_and (PathParser *self)
{
  return parse_chain (self, "&&", EXPR_AND, parse_basic);
}

PathExpr *
path_parse_or (PathParser *self)
{
  return parse_chain (self, "||", EXPR_OR, parse_and);
}
