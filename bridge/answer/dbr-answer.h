/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-answer: an answer template (doc/catalogue.md, "Answers"), compiled from XML once and rendered often.
 *
 * Output is valid UTF-8, bounded (whole records only), masked, and holds backend text only as data.
 * Knows neither protocol nor network.
 */
#pragma once

#include "dbr-template.h"
#include "dbr-xml.h"

G_BEGIN_DECLS

#define DBR_ANSWER_MAX_BYTES 40000u

/* How a backend's log records read: <log-record>. */
typedef struct _DbrLogStyle DbrLogStyle;
/* <log-record time= level= text= source=> with template children for structured errors (<error in="@.error_detail[*]">line/each...</error>). Errors: DBR_CATALOGUE_ERROR with file and line. */
DbrLogStyle *
dbr_log_style_new (const xmlNode *log_record, GError **error);
void
dbr_log_style_free (DbrLogStyle *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DbrLogStyle, dbr_log_style_free)
/* For the level filter of a tail: the record's level as a rank (debug 10, info 20, warning 30, error 40, critical 50; unknown words and none: 20). */
int
dbr_log_style_rank (const DbrLogStyle *self, DbrJson record);
int
dbr_log_rank (const char *level); /* of a word; -1 if unknown */
/* Whether the record is only a mark by which a viewer folds lines (::group::, ::endgroup::); never an answer's line. */
gboolean
dbr_log_style_is_mark (const DbrLogStyle *self, DbrJson record);
/* Whether the record's text (or its structured error) holds @needle, ASCII case ignored. */
gboolean
dbr_log_style_contains (const DbrLogStyle *self, DbrJson record, const char *needle);

typedef struct _DbrAnswer DbrAnswer;
/* Reads <answer>. Errors: DBR_CATALOGUE_ERROR with file and line. */
DbrAnswer *
dbr_answer_new (const xmlNode *answer, GError **error);
void
dbr_answer_free (DbrAnswer *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DbrAnswer, dbr_answer_free)

/* What it refers to, for the loader's checks: calls @root for each root name ("failed", "http.run.rows", "args", "pool"...), @parameter for each parameter name and @call for each <call>:
 * tool and its argument names, @offer for each name of an offer. Any may be NULL. Names bound by `as` are not reported inside their each. */
typedef struct
{
  void (*root) (const char *name,
                const xmlNode *where,
                gpointer user_data); /* where: line only, may be NULL after load */
  void (*parameter) (const char *name, guint line, gpointer user_data);
  /* @offers: nullable: those that the call is printed in */
  void (*call) (const char *tool,
                const char *const *arguments,
                const char *const *offers,
                guint line,
                gpointer user_data);
  void (*offer) (const char *name, guint line, gpointer user_data);
} DbrAnswerVisitor;
void
dbr_answer_visit (const DbrAnswer *self, const DbrAnswerVisitor *visitor, gpointer user_data);

typedef struct
{
  DbrJson root; /* $ */
  gint64 now_us;
  DbrJsonGraph *graph;          /* nullable */
  const DbrLogStyle *log_style; /* nullable: records print as JSON */
  const DbrMask *mask;          /* nullable */
  const char *boundary;         /* a word for fences, random per call (injected: tests fix it) */
  gsize max_bytes;              /* 0: DBR_ANSWER_MAX_BYTES */
  /* A note for <call> of a tool whose gate is shut, e.g. "shut: AIRFLOW_MCP_ALLOW_WRITES"; NULL when open. (transfer none) */
  const char *(*shut) (const char *tool, gpointer user_data);
  gpointer shut_data;
  /* Nullable: whether that argument of the tool is anything but a string: what a template gives for it then stands as
   * the JSON that it is ("true": true). */
  gboolean (*takes_json) (const char *tool, const char *argument, gpointer user_data);
  gpointer takes_json_data;
  const char *offer; /* nullable: elements of other offers aren't printed */
  /* Nullable: how a person types a call of the tool, up to its arguments ("drawbridge engine approve"), which then
   * stand as NAME=VALUE; NULL: as a model calls it (transfer none). Sets *out_names, which is NULL before, to the names
   * that bare words fill, in order ("plan version reason ..."; static): plain values of these stand bare, up to the first that isn't there. */
  const char *(*typed) (const char *tool, const char **out_names, gpointer user_data);
  gpointer typed_data;
  /* Nullable: for --output json gets what every outermost each, table, log and json chose: the elements
   * of an array, indented and with commas between them, their numbers as they came. */
  GString *records;
  /* Nullable: set when a line with fails="yes" was printed. */
  gboolean *out_fails;
} DbrAnswerEnv;

/* Appends the answer. Errors: DBR_TEMPLATE_ERROR_BUDGET only (what was rendered until then stays). */
gboolean
dbr_answer_render (const DbrAnswer *self, const DbrAnswerEnv *env, GString *out, GError **error);

G_END_DECLS
