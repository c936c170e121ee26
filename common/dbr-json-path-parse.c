/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-json-path-parse: the grammar of RFC 9535 (appendix A), by recursive descent of bounded depth.
 * What the grammar leaves to typing (section 2.4.3) is in dbr-json-path-check.c.
 */
#include "config.h"

#include "dbr-json-path-priv.h"

#include <string.h>

#define MAX_INTEGER G_GINT64_CONSTANT (9007199254740991) /* section 2.1: I-JSON */

typedef struct
{
  DbrJsonPath *path;
  const char *p;
  const char *end;
  guint nesting;
  GError **error;
} Parser;

static PathExpr *
parse_or (Parser *self);
static PathQuery *
parse_query (Parser *self);

static guint
column_of (const Parser *self, const char *at)
{
  return (guint) g_utf8_strlen (self->path->text, at - self->path->text) + 1;
}

/* Returns FALSE; what stands at @at is not @expected. */
static gboolean
fail (Parser *self, const char *at, const char *expected)
{
  char found[32];
  char column[32] = "";

  if (at >= self->end)
    g_strlcpy (found, "the end", sizeof found);
  else if ((guchar) *at < 0x20)
    g_snprintf (found, sizeof found, "U+%04X", (guint) *at);
  else
    g_snprintf (found, sizeof found, "'%.*s'", (int) g_utf8_skip[(guchar) *at], at);
  if (at < self->end)
    g_snprintf (column, sizeof column, " at column %u", column_of (self, at));
  g_set_error (self->error, DBR_JSON_PATH_ERROR, DBR_JSON_PATH_ERROR_SYNTAX,
               "JSONPath '%s': expected %s, found %s%s", self->path->text, expected, found, column);
  return FALSE;
}

static gboolean
enter (Parser *self)
{
  if (++self->nesting <= DBR_JSON_PATH_MAX_NESTING)
    return TRUE;
  g_set_error (self->error, DBR_JSON_PATH_ERROR, DBR_JSON_PATH_ERROR_SYNTAX,
               "JSONPath '%s': nested deeper than %u levels at column %u", self->path->text,
               DBR_JSON_PATH_MAX_NESTING, column_of (self, self->p));
  return FALSE;
}

static void
skip_blanks (Parser *self)
{
  while (self->p < self->end && strchr (" \t\n\r", *self->p))
    self->p++;
}

static gboolean
at_char (const Parser *self, char c)
{
  return self->p < self->end && *self->p == c;
}

static gboolean
take (Parser *self, const char *token)
{
  gsize len = strlen (token);
  if ((gsize) (self->end - self->p) < len || memcmp (self->p, token, len) != 0)
    return FALSE;
  self->p += len;
  return TRUE;
}

static gboolean
at_digit (const Parser *self)
{
  return self->p < self->end && g_ascii_isdigit (*self->p);
}

/* ---- strings */

static gboolean
parse_hex4 (Parser *self, gunichar *out)
{
  *out = 0;
  for (int i = 0; i < 4; i++, self->p++)
    {
      if (self->p >= self->end || !g_ascii_isxdigit (*self->p))
        return fail (self, self->p, "a hexadecimal digit");
      *out = *out << 4 | (guint) g_ascii_xdigit_value (*self->p);
    }
  return TRUE;
}

static gboolean
parse_unicode_escape (Parser *self, GString *out)
{
  const char *at = self->p;
  gunichar c;
  gunichar low;

  if (!parse_hex4 (self, &c))
    return FALSE;
  if (c >= 0xDC00 && c < 0xE000)
    return fail (self, at, "a character or the high half of a surrogate pair");
  if (c >= 0xD800 && c < 0xDC00)
    {
      at = self->p;
      if (!take (self, "\\u"))
        return fail (self, at, "the low half of a surrogate pair");
      if (!parse_hex4 (self, &low))
        return FALSE;
      if (low < 0xDC00 || low >= 0xE000)
        return fail (self, at, "the low half of a surrogate pair");
      c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
    }
  if (c == 0)
    g_string_append_c (out, '\0');
  else
    g_string_append_unichar (out, c);
  return TRUE;
}

static gboolean
parse_escape (Parser *self, char quote, GString *out)
{
  static const char letters[] = "bfnrt/\\";
  static const char values[] = "\b\f\n\r\t/\\";

  if (self->p < self->end && *self->p == quote)
    {
      g_string_append_c (out, *self->p++);
      return TRUE;
    }
  if (take (self, "u"))
    return parse_unicode_escape (self, out);
  const char *letter = self->p < self->end ? strchr (letters, *self->p) : NULL;
  if (!letter)
    return fail (self, self->p, "an escape (one of b f n r t / \\ u or the quote)");
  g_string_append_c (out, values[letter - letters]);
  self->p++;
  return TRUE;
}

/* self->p stands on the opening quote. */
static gboolean
parse_string (Parser *self, GString *out)
{
  char quote = *self->p++;

  for (;;)
    {
      if (self->p >= self->end || (guchar) *self->p < 0x20)
        return fail (self, self->p, "the rest of a quoted text");
      char c = *self->p++;
      if (c == quote)
        return TRUE;
      if (c != '\\')
        g_string_append_c (out, c);
      else if (!parse_escape (self, quote, out))
        return FALSE;
    }
}

static void
set_name (Parser *self, PathSelector *selector, const char *name, gsize len)
{
  char *copy = path_alloc (self->path, len + 1);
  memcpy (copy, name, len);
  selector->kind = SELECT_NAME;
  selector->name = copy;
  selector->name_len = len;
}

/* ---- selectors */

static gboolean
parse_integer (Parser *self, gint64 *out)
{
  const char *start = self->p;
  gboolean is_negative = take (self, "-");
  gint64 value = 0;

  if (!at_digit (self) || (*self->p == '0' && is_negative))
    return fail (self, self->p, "a number");
  if (take (self, "0"))
    {
      *out = 0;
      return !at_digit (self) || fail (self, self->p, "a number without leading zeros");
    }
  for (; at_digit (self); self->p++)
    value = MIN (value * 10 + (*self->p - '0'), MAX_INTEGER + 1);
  if (value > MAX_INTEGER)
    {
      g_set_error (self->error, DBR_JSON_PATH_ERROR, DBR_JSON_PATH_ERROR_TYPE,
                   "JSONPath '%s': '%.*s' at column %u is beyond 9007199254740991",
                   self->path->text, (int) (self->p - start), start, column_of (self, start));
      return FALSE;
    }
  *out = is_negative ? -value : value;
  return TRUE;
}

static gboolean
at_integer (const Parser *self)
{
  return at_digit (self) || at_char (self, '-');
}

static gboolean
parse_index_or_slice (Parser *self, PathSelector *selector)
{
  selector->kind = SELECT_INDEX;
  selector->step = 1;
  if (at_integer (self))
    {
      selector->has_start = TRUE;
      if (!parse_integer (self, &selector->start))
        return FALSE;
    }
  const char *after = self->p;
  skip_blanks (self);
  if (!take (self, ":"))
    {
      self->p = after;
      return TRUE;
    }
  selector->kind = SELECT_SLICE;
  skip_blanks (self);
  if (at_integer (self))
    {
      selector->has_end = TRUE;
      if (!parse_integer (self, &selector->end))
        return FALSE;
      after = self->p;
      skip_blanks (self);
    }
  if (take (self, ":"))
    {
      skip_blanks (self);
      if (at_integer (self) && !parse_integer (self, &selector->step))
        return FALSE;
    }
  return TRUE;
}

static gboolean
parse_selector (Parser *self, PathSelector *selector)
{
  if (at_char (self, '\'') || at_char (self, '"'))
    {
      g_autoptr (GString) name = g_string_new (NULL);
      if (!parse_string (self, name))
        return FALSE;
      set_name (self, selector, name->str, name->len);
      return TRUE;
    }
  if (take (self, "*"))
    {
      selector->kind = SELECT_WILDCARD;
      return TRUE;
    }
  if (at_integer (self) || at_char (self, ':'))
    return parse_index_or_slice (self, selector);
  if (!take (self, "?"))
    return fail (self, self->p, "a quoted name, *, a number, a slice or a filter");
  skip_blanks (self);
  selector->kind = SELECT_FILTER;
  if (!enter (self))
    return FALSE;
  selector->filter = parse_or (self);
  self->nesting--;
  return selector->filter != NULL;
}

/* Behind the opening bracket. */
static gboolean
parse_brackets (Parser *self, PathSegment *segment)
{
  PathSelector **link = &segment->selectors;

  for (;;)
    {
      PathSelector *selector = path_alloc (self->path, sizeof *selector);
      skip_blanks (self);
      if (!parse_selector (self, selector))
        return FALSE;
      *link = selector;
      link = &selector->next;
      skip_blanks (self);
      if (take (self, "]"))
        return TRUE;
      if (!take (self, ","))
        return fail (self, self->p, "',' or ']'");
    }
}

static gboolean
is_name_char (const Parser *self, gboolean is_first)
{
  if (self->p >= self->end)
    return FALSE;
  char c = *self->p;
  return g_ascii_isalpha (c) || c == '_' || ((guchar) c & 0x80)
         || (!is_first && g_ascii_isdigit (c));
}

/* Behind the dot: a name or *. */
static gboolean
parse_shorthand (Parser *self, PathSegment *segment)
{
  const char *start = self->p;

  segment->selectors = path_alloc (self->path, sizeof (PathSelector));
  if (take (self, "*"))
    {
      segment->selectors->kind = SELECT_WILDCARD;
      return TRUE;
    }
  if (!is_name_char (self, TRUE))
    return fail (self, self->p, segment->is_descendant ? "a name, * or '['" : "a name or *");
  while (is_name_char (self, FALSE))
    self->p++;
  set_name (self, segment->selectors, start, (gsize) (self->p - start));
  return TRUE;
}

/* ---- queries */

static const PathSelector *
only_name (const PathSegment *segment)
{
  return segment && !segment->is_descendant && segment->selectors->kind == SELECT_NAME
                 && !segment->selectors->next
             ? segment->selectors
             : NULL;
}

static void
note_root (Parser *self, const PathQuery *query)
{
  const PathSelector *name = only_name (query->segments);
  g_autofree char *root = NULL;

  if (name && g_str_equal (name->name, "http"))
    {
      const PathSelector *second = only_name (query->segments->next);
      root = second ? g_strconcat ("http.", second->name, NULL) : g_strdup ("*");
    }
  else
    root = g_strdup (name ? name->name : "*");
  if (!g_ptr_array_find_with_equal_func (self->path->roots, root, g_str_equal, NULL))
    g_ptr_array_add (self->path->roots, g_steal_pointer (&root));
}

static gboolean
parse_segment (Parser *self, PathSegment *segment)
{
  if (take (self, "["))
    return parse_brackets (self, segment);
  if (take (self, ".."))
    {
      segment->is_descendant = TRUE;
      return take (self, "[") ? parse_brackets (self, segment) : parse_shorthand (self, segment);
    }
  self->p++; /* the dot */
  return parse_shorthand (self, segment);
}

static gboolean
is_singular_segment (const PathSegment *segment)
{
  const PathSelector *selector = segment->selectors;
  return !segment->is_descendant && !selector->next
         && (selector->kind == SELECT_NAME || selector->kind == SELECT_INDEX);
}

/* self->p stands on $ or @. */
static PathQuery *
parse_query (Parser *self)
{
  PathQuery *query = path_alloc (self->path, sizeof *query);
  PathSegment **link = &query->segments;

  query->is_absolute = *self->p++ == '$';
  query->is_singular = TRUE;
  if (query->is_absolute)
    query->slot = self->path->n_slots++;
  for (;;)
    {
      const char *after = self->p;
      skip_blanks (self);
      if (!at_char (self, '[') && !at_char (self, '.'))
        {
          self->p = after;
          break;
        }
      PathSegment *segment = path_alloc (self->path, sizeof *segment);
      if (!parse_segment (self, segment))
        return NULL;
      query->is_singular = query->is_singular && is_singular_segment (segment);
      *link = segment;
      link = &segment->next;
    }
  if (query->is_absolute)
    note_root (self, query);
  return query;
}

/* ---- expressions */

static PathExpr *
new_expr (Parser *self, ExprKind kind, const char *at)
{
  PathExpr *expr = path_alloc (self->path, sizeof *expr);
  expr->kind = kind;
  expr->column = column_of (self, at);
  return expr;
}

static PathExpr *
new_literal (Parser *self, const char *at, DbrJsonDoc *doc)
{
  PathExpr *expr = new_expr (self, EXPR_LITERAL, at);
  g_ptr_array_add (self->path->docs, doc);
  expr->literal = dbr_json_doc_root (doc);
  return expr;
}

static PathExpr *
parse_string_literal (Parser *self)
{
  const char *at = self->p;
  g_autoptr (GString) text = g_string_new (NULL);
  g_autoptr (DbrJsonBuilder) builder = dbr_json_builder_new ();

  if (!parse_string (self, text))
    return NULL;
  dbr_json_builder_string (builder, text->str, (gssize) text->len);
  return new_literal (self, at, dbr_json_builder_end (builder));
}

/* A number is written as in JSON, so JSON's reader is the judge of it. */
static PathExpr *
parse_number_literal (Parser *self)
{
  const char *at = self->p;

  while (self->p < self->end && (g_ascii_isalnum (*self->p) || strchr ("+-.", *self->p)))
    self->p++;
  DbrJsonDoc *doc = dbr_json_doc_new_from_data (at, self->p - at, NULL, NULL);
  if (!doc)
    {
      fail (self, at, "a number as JSON writes it");
      return NULL;
    }
  return new_literal (self, at, doc);
}

static gboolean
is_function_char (const Parser *self)
{
  return self->p < self->end
         && (g_ascii_islower (*self->p) || *self->p == '_' || g_ascii_isdigit (*self->p));
}

static gboolean
parse_arguments (Parser *self, PathExpr *call)
{
  skip_blanks (self);
  if (take (self, ")"))
    return TRUE;
  for (;;)
    {
      PathExpr *argument = parse_or (self);
      if (!argument)
        return FALSE;
      if (call->n_args < PATH_MAX_ARGS)
        call->args[call->n_args] = argument;
      call->n_args++; /* too many are found by the check */
      skip_blanks (self);
      if (take (self, ")"))
        return TRUE;
      if (!take (self, ","))
        return fail (self, self->p, "',' or ')'");
      skip_blanks (self);
    }
}

/* A function call, or true, false, null. */
static PathExpr *
parse_word (Parser *self)
{
  const char *at = self->p;

  while (is_function_char (self))
    self->p++;
  gsize len = (gsize) (self->p - at);
  if (!at_char (self, '('))
    {
      DbrJsonDoc *doc = dbr_json_doc_new_from_data (at, (gssize) len, NULL, NULL);
      if (doc)
        return new_literal (self, at, doc);
      fail (self, at, "$, @, a literal or a function call");
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
  if (!enter (self) || !parse_arguments (self, call))
    return NULL;
  self->nesting--;
  return call;
}

static PathExpr *
parse_paren (Parser *self)
{
  self->p++;
  if (!enter (self))
    return NULL;
  skip_blanks (self);
  PathExpr *expr = parse_or (self);
  if (!expr)
    return NULL;
  self->nesting--;
  skip_blanks (self);
  if (!take (self, ")"))
    {
      fail (self, self->p, "')'");
      return NULL;
    }
  expr->is_paren = TRUE;
  return expr;
}

/* A literal, a query or a function call. */
static PathExpr *
parse_operand (Parser *self)
{
  if (at_char (self, '$') || at_char (self, '@'))
    {
      PathExpr *expr = new_expr (self, EXPR_QUERY, self->p);
      expr->query = parse_query (self);
      return expr->query ? expr : NULL;
    }
  if (at_char (self, '\'') || at_char (self, '"'))
    return parse_string_literal (self);
  if (at_integer (self))
    return parse_number_literal (self);
  if (self->p < self->end && g_ascii_islower (*self->p))
    return parse_word (self);
  fail (self, self->p, "$, @, a literal, a function call, ! or '('");
  return NULL;
}

static gboolean
take_compare_op (Parser *self, CompareOp *out)
{
  static const struct
  {
    const char *text;
    CompareOp op;
  } ops[] = { { "==", COMPARE_EQ }, { "!=", COMPARE_NE }, { "<=", COMPARE_LE },
              { ">=", COMPARE_GE }, { "<", COMPARE_LT },  { ">", COMPARE_GT } };

  for (guint i = 0; i < G_N_ELEMENTS (ops); i++)
    if (take (self, ops[i].text))
      {
        *out = ops[i].op;
        return TRUE;
      }
  return FALSE;
}

static PathExpr *
parse_not (Parser *self)
{
  PathExpr *expr = new_expr (self, EXPR_NOT, self->p);
  self->p++;
  skip_blanks (self);
  expr->a = at_char (self, '(') ? parse_paren (self) : parse_operand (self);
  return expr->a ? expr : NULL;
}

static PathExpr *
parse_basic (Parser *self)
{
  CompareOp op;

  if (at_char (self, '!'))
    return parse_not (self);
  if (at_char (self, '('))
    return parse_paren (self);
  PathExpr *operand = parse_operand (self);
  if (!operand)
    return NULL;
  const char *after = self->p;
  skip_blanks (self);
  if (!take_compare_op (self, &op))
    {
      self->p = after;
      return operand;
    }
  PathExpr *expr = new_expr (self, EXPR_COMPARE, after);
  expr->op = op;
  expr->a = operand;
  skip_blanks (self);
  expr->b = parse_operand (self);
  return expr->b ? expr : NULL;
}

/* Chains lean to the right, so that checking and evaluating one is a loop: only parentheses cost
 * depth. */
static PathExpr *
parse_chain (Parser *self, const char *op, ExprKind kind, PathExpr *(*parse_part) (Parser *) )
{
  PathExpr *head = parse_part (self);
  PathExpr **last = &head;

  while (*last)
    {
      const char *after = self->p;
      skip_blanks (self);
      if (!take (self, op))
        {
          self->p = after;
          return head;
        }
      PathExpr *chain = new_expr (self, kind, after);
      skip_blanks (self);
      chain->a = *last;
      chain->b = parse_part (self);
      *last = chain;
      last = &chain->b;
    }
  return NULL;
}

static PathExpr *
parse_and (Parser *self)
{
  return parse_chain (self, "&&", EXPR_AND, parse_basic);
}

static PathExpr *
parse_or (Parser *self)
{
  return parse_chain (self, "||", EXPR_OR, parse_and);
}

/* ---- the whole */

static gboolean
parse_top (Parser *self)
{
  DbrJsonPath *path = self->path;

  if (path->flags & DBR_JSON_PATH_CONDITION)
    {
      path->condition = parse_or (self);
      return path->condition != NULL;
    }
  if ((path->flags & DBR_JSON_PATH_VALUE) && self->p < self->end && g_ascii_islower (*self->p))
    {
      path->call = parse_word (self);
      return path->call != NULL;
    }
  gboolean is_relative_ok = (path->flags & (DBR_JSON_PATH_RELATIVE | DBR_JSON_PATH_VALUE)) != 0;
  if (!at_char (self, '$') && !(is_relative_ok && at_char (self, '@')))
    return fail (self, self->p, is_relative_ok ? "$ or @" : "$");
  path->query = parse_query (self);
  return path->query != NULL;
}

gboolean
path_parse (DbrJsonPath *self, GError **error)
{
  gsize len = strlen (self->text);
  Parser parser = { self, self->text, self->text + len, 0, error };

  if (len > DBR_JSON_PATH_MAX_TEXT)
    {
      g_set_error (error, DBR_JSON_PATH_ERROR, DBR_JSON_PATH_ERROR_SYNTAX,
                   "a JSONPath of more than %u bytes", DBR_JSON_PATH_MAX_TEXT);
      return FALSE;
    }
  if (!g_utf8_validate (self->text, (gssize) len, NULL))
    {
      g_set_error_literal (error, DBR_JSON_PATH_ERROR, DBR_JSON_PATH_ERROR_SYNTAX,
                           "a JSONPath that is not UTF-8");
      return FALSE;
    }
  /* In a catalogue a text may have blanks around it; RFC 9535 allows none. */
  if (self->flags != DBR_JSON_PATH_RFC)
    skip_blanks (&parser);
  if (!parse_top (&parser))
    return FALSE;
  if (self->flags != DBR_JSON_PATH_RFC)
    skip_blanks (&parser);
  if (parser.p < parser.end)
    return fail (&parser, parser.p, "the end");
  g_ptr_array_add (self->roots, NULL);
  return TRUE;
}
