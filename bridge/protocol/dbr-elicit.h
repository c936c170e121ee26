/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-elicit: the user is asked through a legacy client: our request goes out, its answer is
 * awaited.
 *
 * Our ids ("ask-1", ...) are a space of their own. Every question ends exactly once, by an answer,
 * by the limit or by the end of input, unless it is dropped. At most one question a call is open.
 * Source: MCP 2025-06-18 and 2025-11-25, client/elicitation.
 */
#pragma once

#include "dbr-message.h"
#include "dbr-reply.h"

G_BEGIN_DECLS

#define DBR_ELICIT_LIMIT_MS 45000u           /* default: clients give up at 60 s */
#define DBR_ELICIT_LIMIT_PROGRESS_MS 120000u /* default: with progress a client waits longer */
#define DBR_ELICIT_PROGRESS_EVERY_MS 10000u  /* default */

typedef struct
{
  guint limit_ms;          /* 0: the default */
  guint limit_progress_ms; /* 0: the default */
  guint progress_every_ms; /* 0: the default */
} DbrElicitOptions;

typedef struct _DbrElicit DbrElicit;
typedef struct _DbrAsk DbrAsk;

typedef struct
{
  /* Never from inside dbr_elicit_ask(); the question is gone. */
  void (*done) (gpointer user_data, DbrAskOutcome outcome);
  /* Only for a question with progress: waited_ms of limit_ms have passed. */
  void (*waiting) (gpointer user_data, guint waited_ms, guint limit_ms);
} DbrAskEvents;

/* @sink must outlive it; @options is copied, nullable. Timers run on the default main context. */
DbrElicit *
dbr_elicit_new (const DbrSink *sink, const DbrElicitOptions *options);
/* Open questions are dropped without an outcome. */
void
dbr_elicit_free (DbrElicit *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DbrElicit, dbr_elicit_free)

/* Whether ClientCapabilities @capabilities (or nothing) say that a form can be shown: {} means
 * form. */
gboolean
dbr_elicit_has_form (DbrJson capabilities);

typedef struct
{
  DbrRevision revision;  /* of the call that asks */
  gboolean has_progress; /* the client gets progress of that call */
  const char *message;
  const json_t *schema;
} DbrQuestion;

/**
 * dbr_elicit_ask:
 * @question: read during the call only
 * @events: (transfer none): must outlive the question
 *
 * Sends the question. After the end of input nothing is sent and the outcome is %DBR_ASK_CANCELLED.
 *
 * Returns: (transfer none): valid until done or dropped
 */
DbrAsk *
dbr_elicit_ask (DbrElicit *self,
                const DbrQuestion *question,
                const DbrAskEvents *events,
                gpointer user_data);

/* The one who asked has gone: no outcome, and the client is told that it may close its form. */
void
dbr_elicit_drop (DbrElicit *self, DbrAsk *ask);

/* Ends the question that @response answers; others are ignored. accept with confirm true is a yes,
 * every other accept a no; an error means that the client can't ask; what can't be understood
 * counts as cancelled. */
void
dbr_elicit_take_response (DbrElicit *self, const DbrMessage *response);

/* Nobody can answer any more: open questions are cancelled, and so is each later one. */
void
dbr_elicit_end_of_input (DbrElicit *self);

G_END_DECLS
