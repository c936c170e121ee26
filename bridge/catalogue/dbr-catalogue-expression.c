/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-catalogue-expression: the templates, paths and conditions of a request, one after another,
 * and what each of them reads.
 *
 * Roots come from the compiled expression. Parameter names inside of a path ($.args.name) and the
 * use of @ come from its text, with quoted strings passed over.
 */
#include "config.h"

#include "dbr-catalogue-priv.h"

#include <string.h>

typedef struct
{
  DbrExpressionFunc function;
  gpointer user_data;
} Walk;

static void
visit (const Walk *walk, DbrRole role, const char *what, const DbrTemplate *template)
{
  if (template)
    walk->function (&(DbrExpression){ role, what, template, NULL }, walk->user_data);
}

static void
visit_path (const Walk *walk, DbrRole role, const char *what, const DbrJsonPath *path)
{
  if (path)
    walk->function (&(DbrExpression){ role, what, NULL, path }, walk->user_data);
}

static void
visit_fields (const Walk *walk, DbrRole role, const char *what, const GPtrArray *fields)
{
  for (guint i = 0; fields && i < fields->len; i++)
    {
      const DbrField *field = g_ptr_array_index (fields, i);
      visit_path (walk, DBR_ROLE_WHEN, "when", field->when);
      visit_path (walk, role, what, field->from);
      visit (walk, role, what, field->value);
      visit_fields (walk, role, what, field->fields);
    }
}

void
dbr_request_expressions (const DbrRequestDef *self, DbrExpressionFunc function, gpointer user_data)
{
  const Walk walk = { function, user_data };
  visit (&walk, DBR_ROLE_METHOD, "method", self->method);
  visit (&walk, DBR_ROLE_PATH, "path", self->path);
  visit_path (&walk, DBR_ROLE_WHEN, "when", self->when);
  visit_path (&walk, DBR_ROLE_FOR_EACH, "for-each", self->for_each);
  visit (&walk, DBR_ROLE_PER, "per", self->per);
  visit_fields (&walk, DBR_ROLE_QUERY, "query", self->query);
  visit_fields (&walk, DBR_ROLE_HEADER, "header", self->headers);
  visit_fields (&walk, DBR_ROLE_FIELD, "field", self->body_fields);
  visit_path (&walk, DBR_ROLE_BODY, "body", self->body_from);
  if (self->tail)
    {
      visit (&walk, DBR_ROLE_TAIL, "lines", self->tail->lines);
      visit (&walk, DBR_ROLE_TAIL, "level", self->tail->level);
      visit (&walk, DBR_ROLE_TAIL, "contains", self->tail->contains);
      visit (&walk, DBR_ROLE_TAIL, "context", self->tail->context);
    }
  for (guint i = 0; i < self->advice->len; i++)
    visit (&walk, DBR_ROLE_ADVICE, "on",
           ((const DbrAdvice *) g_ptr_array_index (self->advice, i))->advice);
  visit (&walk, DBR_ROLE_ADVICE, "unknown", self->unknown);
  visit (&walk, DBR_ROLE_EFFECT, "effect", self->effect);
}

const char *
dbr_expression_text (const DbrExpression *self)
{
  return self->template ? dbr_template_text (self->template) : dbr_json_path_text (self->path);
}

const char *const *
dbr_expression_roots (const DbrExpression *self)
{
  return self->template ? dbr_template_roots (self->template) : dbr_json_path_roots (self->path);
}

/* Passes over a quoted string that begins at @at; gives where it ends. */
static const char *
past_quotes (const char *at)
{
  char quote = *at++;
  while (*at && *at != quote)
    at += *at == '\\' && at[1] ? 2 : 1;
  return *at ? at + 1 : at;
}

static gboolean
is_name (char c)
{
  return g_ascii_isalnum (c) || c == '_';
}

static void
path_parameters (const char *text, GPtrArray *names, gboolean *out_all)
{
  for (const char *at = text; *at;)
    if (*at == '\'' || *at == '"')
      at = past_quotes (at);
    else if (g_str_has_prefix (at, "$.args") && !is_name (at[6]))
      {
        const char *name = at + 6;
        gsize len = 0;
        if (*name == '.')
          while (is_name (name[1 + len]))
            len++;
        if (len)
          g_ptr_array_add (names, g_strndup (name + 1, len));
        else
          *out_all = TRUE;
        at = name + len + (len > 0);
      }
    else
      at++;
}

char **
dbr_expression_parameters (const DbrExpression *self, gboolean *out_all)
{
  GPtrArray *names = g_ptr_array_new ();
  *out_all = FALSE;
  if (self->path)
    path_parameters (dbr_json_path_text (self->path), names, out_all);
  else
    {
      const char *const *read = dbr_template_parameters (self->template);
      for (guint i = 0; read[i]; i++)
        g_ptr_array_add (names, g_strdup (read[i]));
      gboolean args = g_strv_contains (dbr_template_roots (self->template), "args");
      *out_all = args && names->len == 0;
    }
  g_ptr_array_add (names, NULL);
  return (char **) g_ptr_array_free (names, FALSE);
}

/* Whether @text uses @ where no filter gives it a meaning. */
static gboolean
uses_item (const char *text)
{
  guint depth = 0; /* brackets: inside of them @ is a filter's */
  for (const char *at = text; *at;)
    if (*at == '\'' || *at == '"')
      at = past_quotes (at);
    else
      {
        if (*at == '[')
          depth++;
        else if (*at == ']' && depth)
          depth--;
        else if (*at == '@' && !depth)
          return TRUE;
        at++;
      }
  return FALSE;
}

gboolean
dbr_expression_uses_item (const DbrExpression *self)
{
  if (self->path)
    return uses_item (dbr_json_path_text (self->path));
  for (guint i = 0; i < dbr_template_n_parts (self->template); i++)
    {
      const char *source = dbr_template_source (self->template, i);
      if (source && uses_item (source))
        return TRUE;
    }
  return FALSE;
}

gboolean
dbr_expression_uses_graph (const DbrExpression *self)
{
  const char *text = dbr_expression_text (self);
  return strstr (text, "upstream(") || strstr (text, "downstream(");
}
