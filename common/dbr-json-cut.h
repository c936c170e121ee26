/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-json-cut: cuts the records of a long array out of a stream of JSON without holding the
 * stream.
 *
 * Bytes go in, cut anywhere; each complete record comes out as the bytes that came. Memory is
 * bounded by the configuration and does not grow with the stream: a record that is too long keeps
 * its beginning and its end.
 */
#pragma once

#include "dbr-json-doc.h"

G_BEGIN_DECLS

#define DBR_JSON_CUT_MAX_RECORD_BYTES 8192u       /* default of max_record_bytes */
#define DBR_JSON_CUT_MAX_REST_BYTES (64u * 1024u) /* what is kept of the other members */

typedef enum
{
  DBR_JSON_CUT_MEMBER, /* an object; the elements of its member `member`, or that member's string */
  DBR_JSON_CUT_LINES,  /* NDJSON: each line's value */
  DBR_JSON_CUT_ARRAY,  /* an array: its elements */
} DbrJsonCutMode;

typedef struct
{
  DbrJsonCutMode mode;
  const char *member;     /* of CUT_MEMBER; copied */
  gsize max_record_bytes; /* 0: the default; at least 16 */
  DbrJsonLimits limits;   /* max_nodes is not used */
} DbrJsonCutConfig;

/* One record, valid within the callback. Whole: @head has all @len bytes. Cut: @head and @tail are
 * what is left, together at most max_record_bytes, neither splits a UTF-8 sequence. */
typedef struct
{
  const char *head;
  gsize head_len;
  const char *tail; /* NULL when whole */
  gsize tail_len;
  guint64 len;   /* bytes that it has in the stream */
  guint64 index; /* from 0 */
  gboolean is_cut;
} DbrJsonRecord;

/* FALSE stops: no record comes any more, pushed bytes are only counted, finish() succeeds. */
typedef gboolean (*DbrJsonRecordFunc) (const DbrJsonRecord *record, gpointer user_data);

typedef struct _DbrJsonCutter DbrJsonCutter;

DbrJsonCutter *
dbr_json_cutter_new (const DbrJsonCutConfig *config, DbrJsonRecordFunc func, gpointer user_data);
void
dbr_json_cutter_free (DbrJsonCutter *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DbrJsonCutter, dbr_json_cutter_free)

/* Feeds bytes. The records before the fault were delivered when it fails; it goes on failing.
 * Errors: DBR_JSON_ERROR_SYNTAX, _UTF8, _DEPTH. Re-entrancy: calls @func; do not push or free
 * there. */
gboolean
dbr_json_cutter_push (DbrJsonCutter *self, const void *bytes, gsize n_bytes, GError **error);
/* The stream has ended: FALSE when the document was not complete. Errors: as push. Call once. */
gboolean
dbr_json_cutter_finish (DbrJsonCutter *self, GError **error);

/* An object of the complete top-level members that are not records, in their order (empty in the
 * other modes). At any time; transfer full. */
DbrJsonDoc *
dbr_json_cutter_dup_rest (const DbrJsonCutter *self);
/* TRUE when a member did not fit into DBR_JSON_CUT_MAX_REST_BYTES and was left out. */
gboolean
dbr_json_cutter_is_rest_cut (const DbrJsonCutter *self);
/* TRUE once the place of the records was seen: the array (or string) of that name, the array, a
 * line. */
gboolean
dbr_json_cutter_is_found (const DbrJsonCutter *self);
guint64
dbr_json_cutter_bytes (const DbrJsonCutter *self); /* fed */
guint64
dbr_json_cutter_records (const DbrJsonCutter *self); /* delivered */
gsize
dbr_json_cutter_peak_bytes (const DbrJsonCutter *self); /* most memory held so far */

G_END_DECLS
