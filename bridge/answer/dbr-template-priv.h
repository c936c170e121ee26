/* SPDX-License-Identifier: Apache-2.0 */
/* dbr-template-priv: the compiled form, between the reader and what evaluates it. */
#pragma once

#include "dbr-format.h"
#include "dbr-template.h"

G_BEGIN_DECLS

#define DBR_TEMPLATE_MAX_TEXT 8192u /* bytes of one template */

/* What `@.name`, `$.args.name` and the like are read as: member names, looked up without the
 * general evaluator. */
typedef struct
{
  gboolean is_simple;
  gboolean from_current; /* @, else $ */
  guint n_names;
  struct
  {
    const char *name; /* in the source's text */
    gsize len;
  } names[4];
} TemplateMembers;

typedef struct
{
  char *text;           /* of the expression, or of the literal */
  DbrJsonPath *path;    /* NULL: a literal */
  gboolean is_function; /* path is a VALUE function, not a query */
  TemplateMembers members;
  GArray *formats; /* (element-type DbrFormat) nullable */
} TemplateSource;

typedef struct
{
  char *text; /* a literal's text, or a placeholder's for messages */
  gsize len;
  guint piece;        /* 0: outside of pieces; else its number from 1 */
  GPtrArray *sources; /* (element-type TemplateSource); NULL: a literal */
} TemplatePart;

struct _DbrTemplate
{
  char *text;
  GArray *parts; /* (element-type TemplatePart) */
  char **parameters;
  char **roots;
  gboolean is_literal;
};

/* Adds the NAMEs of $.args.NAME in an expression, if they aren't there yet. */
void
template_add_parameters (const char *expression, GPtrArray *names);
void
template_add_name (GPtrArray *names, const char *name);

G_END_DECLS
