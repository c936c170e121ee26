/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-answer-priv: the compiled answer, and the state of one rendering.
 *
 * Room: elements write until `soft_end`; what must still be said afterwards (how many were left
 * out, calls, closing lines) may use the rest up to `hard_end`. Nothing is written beyond that.
 */
#pragma once

#include "dbr-answer.h"

G_BEGIN_DECLS

#define ANSWER_RESERVE_BYTES 1500u
#define ANSWER_MAX_DEPTH 16u      /* elements in elements */
#define ANSWER_MAX_STEPS 8000000u /* of JSONPath, for a whole answer */
#define ANSWER_MAX_INDENT 8u
#define ANSWER_LOG_MAX_CHARACTERS 2000u /* of one line of a log */
#define ANSWER_LOG_MAX_BYTES 12000u     /* of one record, its error included */

typedef enum
{
  ELEMENT_LINE,
  ELEMENT_SECTION,
  ELEMENT_EACH,
  ELEMENT_TABLE,
  ELEMENT_LOG,
  ELEMENT_VERBATIM,
  ELEMENT_JSON,
  ELEMENT_CALL,
  ELEMENT_WHEN,
  ELEMENT_OTHERWISE,
} ElementKind;

typedef struct
{
  char *name;
  DbrJsonPath *from; /* one of the two */
  DbrTemplate *value;
} CallArgument;

typedef struct
{
  char *title;
  DbrTemplate *cell;
} Column;

typedef struct
{
  ElementKind kind;
  guint line; /* in the file */
  guint indent;
  char **offers;     /* nullable: it stands in every offer */
  DbrJsonPath *when; /* nullable; `test` of <when> */
  DbrTemplate *text; /* line, section's title, call's lead; nullable in the latter */
  DbrJsonPath *in;   /* each, table, log, verbatim, json */
  DbrJsonPath *sort; /* nullable */
  gboolean descending;
  DbrTemplate *group;   /* nullable */
  DbrTemplate *limit;   /* nullable */
  gboolean fails;       /* line: what it says is a failure */
  guint last;           /* each: only so many items from the end; 0: all */
  char *as;             /* nullable */
  char *tool;           /* call */
  GPtrArray *children;  /* (element-type Element) */
  GPtrArray *more;      /* (element-type Element) nullable: the children of <more> */
  GPtrArray *columns;   /* (element-type Column) */
  GPtrArray *arguments; /* (element-type CallArgument) */
} Element;

struct _DbrAnswer
{
  GPtrArray *children; /* (element-type Element) */
};

struct _DbrLogStyle
{
  DbrJsonPath *time, *level, *text, *source; /* nullable but text */
  Element *error;                            /* nullable: an each */
};

/* dbr-answer-parse.c */
void
element_free (gpointer data);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Element, element_free)

typedef struct
{
  const DbrAnswerEnv *env;
  DbrJson root;    /* $, with the names that `as` bound */
  DbrJson current; /* @ */
  GString *out;
  gsize soft_end, hard_end; /* lengths of out */
  guint steps_left;         /* of JSONPath, for the whole answer */
  guint depth;              /* of each and table in each other */
  gboolean no_room;         /* a line of the record being written didn't fit: roll it back */
  gboolean is_full;         /* an element was cut and said so; what follows may use the reserve */
  gboolean has_dropped;     /* a line outside of records found no room */
} Render;

/* dbr-answer-render.c, -items.c */
gboolean
render_children (Render *self, const GPtrArray *children, guint indent, GError **error);
void
render_path_env (Render *self, DbrJsonPathEnv *out_env);
gboolean
render_select (Render *self, const DbrJsonPath *path, DbrNodeList *out, GError **error);
/* Where the record in hand must end. */
gsize
render_end (const Render *self);
/* Appends one whole line (with its line break), or notes that there was no room. */
void
render_put_line (Render *self, const char *text, gsize len);
void
render_printf (Render *self, guint indent, const char *format, ...) G_GNUC_PRINTF (3, 4);
/* Gives --output json its records. */
void
render_collect (Render *self, DbrJson node, DbrMaskFlags flags);
/* The items an element goes over: selected, sorted. */
gboolean
render_items (Render *self, const Element *element, DbrNodeList *out, GError **error);
/* Replaces the items by {key, count, first, items} of those whose `group` text is equal, in order of
 * first appearance. @out_doc: what they live in (transfer full). */
gboolean
render_groups (
    Render *self, const Element *element, DbrNodeList *list, DbrJsonDoc **out_doc, GError **error);
/* *out_limit: the value of `limit`, or @unlimited. */
gboolean
render_limit (
    Render *self, const Element *element, guint unlimited, guint *out_limit, GError **error);
/* `more`, or the standard line: @shown of @total, some for want of room. */
gboolean
render_more (
    Render *self, const Element *element, guint shown, guint total, guint indent, GError **error);
/* A fence's word that stands nowhere in @text (transfer full). */
char *
render_boundary (const Render *self, const char *text, gsize len);

/* dbr-answer-table.c, -log.c, -json.c, -call.c */
gboolean
render_table (Render *self, const Element *element, guint indent, GError **error);
gboolean
render_log (Render *self, const Element *element, guint indent, GError **error);
gboolean
render_verbatim (Render *self, const Element *element, guint indent, GError **error);
gboolean
render_json (Render *self, const Element *element, guint indent, GError **error);
gboolean
render_call (Render *self, const Element *element, guint indent, GError **error);

/* Appends a value as JSON that is safe to show and still means the same: what must not be seen is a
 * \u escape. */
void
answer_append_json (DbrJson node, GString *out);

G_END_DECLS
