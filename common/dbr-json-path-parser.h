/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parser of a JSONPath, private to its two halves: queries (dbr-json-path-parse.c) and filter
 * expressions (dbr-json-path-expr.c).
 */
#pragma once

#include "dbr-json-path-priv.h"

G_BEGIN_DECLS

typedef struct
{
  DbrJsonPath *path;
  const char *p;
  const char *end;
  guint nesting;
  GError **error;
} PathParser;

/* Sets the error "expected @expected, found what stands at @at"; returns FALSE. */
gboolean
path_parser_fail (PathParser *self, const char *at, const char *expected);
/* One level deeper; FALSE with the error set when it is too deep. Leaving is --self->nesting. */
gboolean
path_parser_enter (PathParser *self);
void
path_parser_skip_blanks (PathParser *self);
gboolean
path_parser_at (const PathParser *self, char c);
gboolean
path_parser_at_integer (const PathParser *self);
/* Takes @token if it comes next. */
gboolean
path_parser_take (PathParser *self, const char *token);
guint
path_parser_column (const PathParser *self, const char *at); /* from 1 */

/* Each stands on its first character and sets the error when it returns FALSE or NULL. */
gboolean
path_parse_string (PathParser *self, GString *out);
PathQuery *
path_parse_query (PathParser *self);
PathExpr *
path_parse_or (PathParser *self);
PathExpr *
path_parse_word (PathParser *self); /* a function call, or true, false, null */

G_END_DECLS
