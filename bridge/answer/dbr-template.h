/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-template: text with placeholders (doc/catalogue.md, "Templates"), compiled once.
 *
 * The same templates fill answers (made safe and masked) and requests (raw values that the URL and
 * header builders check). Logic-less: values, fall-backs, formats; nothing else.
 */
#pragma once

#include "dbr-json-path.h"
#include "dbr-text.h"

G_BEGIN_DECLS

#define DBR_TEMPLATE_ERROR (dbr_template_error_quark ())
GQuark
dbr_template_error_quark (void);
typedef enum
{
  DBR_TEMPLATE_ERROR_SYNTAX, /* braces, brackets, an expression that can't be read; the message names column and text */
  DBR_TEMPLATE_ERROR_FORMAT, /* unknown format or bad argument; the nearest one is named */
  DBR_TEMPLATE_ERROR_BUDGET, /* an evaluation ran out of steps */
} DbrTemplateError;

typedef struct _DbrTemplate DbrTemplate;
DbrTemplate *
dbr_template_new (const char *text, GError **error);
void
dbr_template_free (DbrTemplate *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DbrTemplate, dbr_template_free)
const char *
dbr_template_text (const DbrTemplate *self);
/* The parameter names that it uses as {name} or $.args.name; NULL-terminated, transfer none. */
const char *const *
dbr_template_parameters (const DbrTemplate *self);
/* As dbr_json_path_roots(): "failed", "http.failed.rows", "args", ...; NULL-terminated, transfer none. */
const char *const *
dbr_template_roots (const DbrTemplate *self);
gboolean
dbr_template_is_literal (const DbrTemplate *self); /* no placeholder */

/* Parts, for URL building: literals and placeholders in order (pieces in [] count as their parts). */
guint
dbr_template_n_parts (const DbrTemplate *self);
const char *
dbr_template_literal (const DbrTemplate *self, guint i); /* NULL for a placeholder */
const char *
dbr_template_source (
    const DbrTemplate *self,
    guint i); /* a placeholder's text for messages ("dag_id"); NULL for a literal */
/* Appends a placeholder's raw value, formats applied, nothing made safe. *out_present FALSE when absent. */
gboolean
dbr_template_value (const DbrTemplate *self,
                    guint i,
                    const DbrJsonPathEnv *env,
                    GString *out,
                    gboolean *out_present,
                    GError **error);
/* The whole template raw. *out_present: every placeholder outside of [] had a value (TRUE for a literal). */
gboolean
dbr_template_expand (const DbrTemplate *self,
                     const DbrJsonPathEnv *env,
                     GString *out,
                     gboolean *out_present,
                     GError **error);
/* If it is one bare placeholder without formats: its nodes (for repeated query keys). FALSE in *out_bare otherwise. */
gboolean
dbr_template_nodes (const DbrTemplate *self,
                    const DbrJsonPathEnv *env,
                    gboolean *out_bare,
                    DbrNodeList *out,
                    GError **error);
/* For answers: literals as they are, values made safe (dbr_text_append_safe); `lines` values indented by @indent.
 * *out_any: at least one placeholder had a value, or there is none. */
gboolean
dbr_template_append (const DbrTemplate *self,
                     const DbrJsonPathEnv *env,
                     guint indent,
                     GString *out,
                     gboolean *out_any,
                     GError **error);

G_END_DECLS
