/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-json-lex: a push tokenizer of JSON. Bytes go in, cut anywhere; tokens come out as positions
 * in the stream. It checks the whole grammar, keeps no text, and its memory is constant (one byte
 * for each level of nesting that the limits allow). The index of json-doc is built by the same
 * code. Source: RFC 8259; with DBR_JSON_LEXER_LINES one value a line (NDJSON).
 */
#pragma once

#include "dbr-json-doc.h"

G_BEGIN_DECLS

typedef enum
{
  DBR_JSON_TOKEN_BEGIN_OBJECT,
  DBR_JSON_TOKEN_END_OBJECT,
  DBR_JSON_TOKEN_BEGIN_ARRAY,
  DBR_JSON_TOKEN_END_ARRAY,
  DBR_JSON_TOKEN_KEY,
  DBR_JSON_TOKEN_STRING,
  DBR_JSON_TOKEN_NUMBER,
  DBR_JSON_TOKEN_TRUE,
  DBR_JSON_TOKEN_FALSE,
  DBR_JSON_TOKEN_NULL,
} DbrJsonTokenKind;

/* One token: the bytes from @start up to but without @end, counted from the stream's first byte;
 * strings with their quotes. @depth is the number of containers around it (a container's own begin
 * and end tokens have the same depth). */
typedef struct
{
  DbrJsonTokenKind kind;
  gboolean is_escaped; /* a key or string with at least one backslash */
  guint depth;
  guint64 start;
  guint64 end;
} DbrJsonToken;

/* FALSE stops: the push in progress returns FALSE without an error, and so does every later one. */
typedef gboolean (*DbrJsonTokenFunc) (const DbrJsonToken *token, gpointer user_data);

typedef enum
{
  DBR_JSON_LEXER_TEXT = 0, /* one value, white space around it */
  DBR_JSON_LEXER_LINES
  = 1 << 0, /* any number of values, a line feed between two; empty lines are skipped */
} DbrJsonLexerFlags;

typedef struct _DbrJsonLexer DbrJsonLexer;

/* limits: nullable; max_nodes is not used here. */
DbrJsonLexer *
dbr_json_lexer_new (const DbrJsonLimits *limits, DbrJsonLexerFlags flags);
void
dbr_json_lexer_free (DbrJsonLexer *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DbrJsonLexer, dbr_json_lexer_free)
/* Feeds @n bytes; calls @func for each token that they complete. A number at the very end of the
 * fed bytes is not complete until a byte that ends it or dbr_json_lexer_finish() came. Errors:
 * DBR_JSON_ERROR_SYNTAX, _UTF8, _DEPTH; they stay: a later push reports the same. */
gboolean
dbr_json_lexer_push (DbrJsonLexer *self,
                     const void *bytes,
                     gsize n,
                     DbrJsonTokenFunc func,
                     gpointer user_data,
                     GError **error);
/* The stream has ended. Errors: as push; SYNTAX also when the value is not complete. */
gboolean
dbr_json_lexer_finish (DbrJsonLexer *self,
                       DbrJsonTokenFunc func,
                       gpointer user_data,
                       GError **error);
/* TRUE when the fed bytes end inside a string, number or literal, which began at *out_start. */
gboolean
dbr_json_lexer_is_inside (const DbrJsonLexer *self, guint64 *out_start);
/* TRUE when they end inside a member's name. */
gboolean
dbr_json_lexer_is_in_key (const DbrJsonLexer *self);
guint
dbr_json_lexer_depth (const DbrJsonLexer *self); /* containers open now */
guint64
dbr_json_lexer_offset (const DbrJsonLexer *self); /* bytes fed */

G_END_DECLS
