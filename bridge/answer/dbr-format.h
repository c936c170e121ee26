/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-format: the formats of a placeholder ({@.start_date|ago}), each a step from values to values.
 * The list of them, with what they take and print, is in doc/catalogue.md. Private to the answer
 * part.
 */
#pragma once

#include "dbr-json-path.h"

G_BEGIN_DECLS

typedef enum
{
  DBR_FORMAT_AGO,
  DBR_FORMAT_BASENAME,
  DBR_FORMAT_BYTES,
  DBR_FORMAT_COUNT,
  DBR_FORMAT_CUT,
  DBR_FORMAT_DISTINCT,
  DBR_FORMAT_DURATION,
  DBR_FORMAT_FIRST,
  DBR_FORMAT_FLAT,
  DBR_FORMAT_JSON,
  DBR_FORMAT_JSON_TEXT,
  DBR_FORMAT_LAST,
  DBR_FORMAT_LAST_LINE,
  DBR_FORMAT_LIMIT,
  DBR_FORMAT_LINES,
  DBR_FORMAT_MAX,
  DBR_FORMAT_MEDIAN,
  DBR_FORMAT_MIN,
  DBR_FORMAT_ONE_LINE,
  DBR_FORMAT_QUOTE,
  DBR_FORMAT_RANGES,
  DBR_FORMAT_SHAPE,
  DBR_FORMAT_SUM,
  DBR_FORMAT_TALLY,
  DBR_FORMAT_TIME,
  DBR_FORMAT_UNTIL,
  DBR_FORMAT_WORDS,
  DBR_FORMAT_YES,
} DbrFormatKind;

typedef struct
{
  DbrFormatKind kind;
  guint number; /* limit:N, cut:N, lines:N; 0: none given */
  char *one;    /* count's word, yes's first half; nullable */
  char *other;  /* count's plural, yes's second half; nullable */
} DbrFormat;

/* Reads "word" or "word:argument". FALSE with a message (transfer full) that names the nearest
 * word. */
gboolean
dbr_format_init (DbrFormat *self, const char *text, gsize len, char **out_message);
void
dbr_format_clear (DbrFormat *self);

/* One value on its way through the formats: a node as it came, or a text that a format made. */
typedef struct
{
  DbrJson node;    /* nothing: it is a text */
  gsize from, len; /* of the text, in DbrFormatState.arena */
} DbrFormatItem;

/* Reused from placeholder to placeholder: emptied, not freed. */
typedef struct
{
  GArray *items;    /* (element-type DbrFormatItem) */
  GString *arena;   /* texts that formats made */
  GString *scratch; /* the text of the item last asked for */
  GString *work;    /* what a format is making */
  GPtrArray
      *docs;  /* (element-type DbrJsonDoc) that nodes of items live in, if nobody else holds them */
  guint more; /* items that limit: dropped */
  gboolean is_lines;
  gboolean is_quote; /* of lines: each is marked as somebody's words */
  guint max_lines;   /* 0: all */
  gint64 now_us;
} DbrFormatState;

DbrFormatState *
dbr_format_state_new (void);
void
dbr_format_state_reset (DbrFormatState *self, gint64 now_us);
void
dbr_format_state_add_node (DbrFormatState *self, DbrJson node);
void
dbr_format_state_add_text (DbrFormatState *self, const char *text, gsize len);
/* The text of an item, valid until the next call and the next change of the state. */
const char *
dbr_format_state_text (DbrFormatState *self, guint i, gsize *out_len);
/* Whether no item holds anything but null and "". */
gboolean
dbr_format_state_is_empty (const DbrFormatState *self);
void
dbr_format_apply (const DbrFormat *self, DbrFormatState *state);
/* Appends all items joined by ", " as they are; limit's "and N more" behind them. */
void
dbr_format_state_join (DbrFormatState *self, GString *out);

/* Appends what a node prints: a string's bytes, a number as it came, compact JSON; null prints
 * nothing. */
void
dbr_format_append_node (DbrJson node, GString *scratch, GString *out);

G_END_DECLS
