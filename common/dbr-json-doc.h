/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-json-doc: JSON that came from somebody else, read once and never rewritten.
 *
 * A document is the text itself and an index of slices into it: numbers and ids stay the bytes that
 * came, objects keep their order (and their duplicate keys), nothing is copied. A document can also
 * be *composed* (DbrJsonBuilder) of fresh values and of links to nodes of other documents, so that
 * the answers of several requests look like one document without a copy. Immutable and
 * reference-counted after construction; not thread-safe. Source: RFC 8259; agreement with
 * JSONTestSuite is written down in tests/data/json/.
 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

#define DBR_JSON_MAX_DEPTH 256        /* containers in containers; default of DbrJsonLimits */
#define DBR_JSON_MAX_NODES (4u << 20) /* values and keys; default of DbrJsonLimits */

#define DBR_JSON_ERROR (dbr_json_error_quark ())
GQuark
dbr_json_error_quark (void);
typedef enum
{
  DBR_JSON_ERROR_SYNTAX, /* not JSON; the message says what was found and at which byte */
  DBR_JSON_ERROR_UTF8,   /* bytes that are not UTF-8 (overlong forms and surrogates included) */
  DBR_JSON_ERROR_DEPTH,  /* nested deeper than max_depth */
  DBR_JSON_ERROR_NODES,  /* more than max_nodes values and keys, or a text of 4 GiB and more */
} DbrJsonError;

typedef enum
{
  DBR_JSON_NOTHING, /* no node: what a failed look-up returns */
  DBR_JSON_NULL,
  DBR_JSON_BOOLEAN,
  DBR_JSON_NUMBER,
  DBR_JSON_STRING,
  DBR_JSON_ARRAY,
  DBR_JSON_OBJECT,
} DbrJsonType;

typedef enum
{
  DBR_JSON_STRICT = 0,
  DBR_JSON_LAX_UTF8 = 1 << 0, /* bad UTF-8 inside strings is let through (text output repairs it) */
} DbrJsonFlags;

typedef struct
{
  guint max_depth; /* 0: the default; 4096 at most */
  guint max_nodes; /* 0: the default */
  DbrJsonFlags flags;
} DbrJsonLimits;

typedef struct _DbrJsonDoc DbrJsonDoc;

/* A node, by value: borrows its document, valid as long as that is held. {NULL,0} is "nothing". */
typedef struct
{
  const DbrJsonDoc *doc;
  guint32 at;
} DbrJson;

#define DBR_JSON_NONE ((DbrJson){ NULL, 0 })

/* Parses one text (leading/trailing white space allowed, a BOM not). Takes its own reference on
 * @text (GBytes): no copy. limits may be NULL. */
DbrJsonDoc *
dbr_json_doc_new (GBytes *text, const DbrJsonLimits *limits, GError **error);
/* The same over a copy of @len bytes (-1: NUL-terminated). */
DbrJsonDoc *
dbr_json_doc_new_from_data (const char *text,
                            gssize len,
                            const DbrJsonLimits *limits,
                            GError **error);
DbrJsonDoc *
dbr_json_doc_ref (const DbrJsonDoc *self);
void
dbr_json_doc_unref (DbrJsonDoc *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DbrJsonDoc, dbr_json_doc_unref)
DbrJson
dbr_json_doc_root (const DbrJsonDoc *self);
gsize
dbr_json_doc_index_bytes (const DbrJsonDoc *self); /* memory that the index takes */

/* All accessors accept "nothing" and see through links. */
DbrJsonType
dbr_json_type (DbrJson node);
static inline gboolean
dbr_json_exists (DbrJson node)
{
  return node.doc != NULL;
}
/* The same value in the same place (a link and what it leads to are the same). */
gboolean
dbr_json_same (DbrJson a, DbrJson b);
gboolean
dbr_json_get_boolean (DbrJson node); /* FALSE unless `true` */
/* The bytes of the value as they came (a string with its quotes); for a composed array or object
 * NULL: use dbr_json_append(). Not NUL-terminated. */
const char *
dbr_json_raw (DbrJson node, gsize *out_len);
/* Appends the value as compact JSON: slices of other texts byte for byte apart from white space
 * between tokens. */
void
dbr_json_append (DbrJson node, GString *out);

/* Strings. A slice without escapes comes back in place; otherwise it is decoded into @scratch
 * (emptied first). Lone surrogates decode to U+FFFD; \u0000 decodes to a NUL byte (so use out_len).
 * NULL when not a string. */
const char *
dbr_json_string (DbrJson node, GString *scratch, gsize *out_len);
char *
dbr_json_dup_string (
    DbrJson node); /* NUL-terminated copy, NULL when not a string; stops at a NUL */
gboolean
dbr_json_string_equals (DbrJson node, const char *text);

/* Numbers: the text is the truth. Both return FALSE when not exactly representable (int64) or not
 * finite (double). */
gboolean
dbr_json_int64 (DbrJson node, gint64 *out_value); /* 5, 5.0, 5e0, 50e-1 are 5; 5.5 is not */
gboolean
dbr_json_double (DbrJson node, double *out_value);

/* Containers. count: elements or members. */
guint
dbr_json_count (DbrJson node); /* O(count) */
/* Member by decoded key; of duplicates the last; nothing when absent or not an object. */
DbrJson
dbr_json_get (DbrJson object, const char *key);
DbrJson
dbr_json_get_n (DbrJson object, const char *key, gsize key_len);
DbrJson
dbr_json_element (DbrJson array, guint i); /* O(i): iterate instead */
/* Iterates an array or object: `for (DbrJson v = dbr_json_first (c); dbr_json_exists (v); v =
 * dbr_json_next (v))`. Values only; key() gives the member's key. */
DbrJson
dbr_json_first (DbrJson container);
DbrJson
dbr_json_next (DbrJson node);
/* The key node (a string) under which a member's value stands; nothing for elements and roots. */
DbrJson
dbr_json_key (DbrJson node);
/* A look-up table for repeated dbr_json_get() on one large object may be added later; keep the API.
 */

/* RFC 9535 equality: numbers by exact mathematical value, at any size, strings by decoded text,
 * containers deep, object order ignored. */
gboolean
dbr_json_equal (DbrJson a, DbrJson b);

/* ---- composing */
typedef struct _DbrJsonBuilder DbrJsonBuilder;
DbrJsonBuilder *
dbr_json_builder_new (void);
void
dbr_json_builder_free (DbrJsonBuilder *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DbrJsonBuilder, dbr_json_builder_free)
void
dbr_json_builder_begin_object (DbrJsonBuilder *self);
void
dbr_json_builder_end_object (DbrJsonBuilder *self);
void
dbr_json_builder_begin_array (DbrJsonBuilder *self);
void
dbr_json_builder_end_array (DbrJsonBuilder *self);
void
dbr_json_builder_key (DbrJsonBuilder *self, const char *key); /* valid UTF-8; escaped here */
void
dbr_json_builder_null (DbrJsonBuilder *self);
void
dbr_json_builder_boolean (DbrJsonBuilder *self, gboolean value);
void
dbr_json_builder_int64 (DbrJsonBuilder *self, gint64 value);
void
dbr_json_builder_string (DbrJsonBuilder *self,
                         const char *text,
                         gssize len); /* -1: NUL-terminated; must be valid UTF-8 */
/* A link to @node, whose document is held as long as the composed one lives. "Nothing" becomes
 * null. */
void
dbr_json_builder_link (DbrJsonBuilder *self, DbrJson node);
/* Closes and empties the builder. Unbalanced use is our own bug (asserted). */
DbrJsonDoc *
dbr_json_builder_end (DbrJsonBuilder *self);

G_END_DECLS
