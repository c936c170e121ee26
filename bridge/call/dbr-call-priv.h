/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-call (private): one tool call while it runs.
 *
 * dbr-call.c drives the request graph; dbr-call-send.c turns one request definition into HTTP
 * requests; dbr-call-collect.c turns responses into the document `$`; dbr-call-failure.c words what
 * went wrong; dbr-call-ask.c puts a write to the user. Invariants: at most one write is sent;
 * nothing is called back inside dbr_call_start(); `$` is composed anew after each change and holds
 * its parts by reference.
 */
#pragma once

#include "call/dbr-backend.h"
#include "gate/dbr-consent.h"

G_BEGIN_DECLS

#define DBR_CALL_MAX_LEFT 1000u    /* items that a for-each tells it left */
#define DBR_CALL_MAX_TRANSFERS 20u /* of one request: pages, or items of a for-each */

typedef struct _DbrCall DbrCall;
typedef struct _DbrStep DbrStep;

/* One HTTP request of a step: the request itself, one of its pages, or one item of its for-each. */
typedef struct
{
  DbrStep *step;
  guint index;           /* page or item */
  DbrJson item;          /* for-each */
  DbrJsonDoc *item_doc;  /* holds it: `$` may be composed anew meanwhile */
  EngTransfer *transfer; /* NULL when it isn't under way */
  EngTail tail;          /* must outlive the transfer */
  guint min_rank;        /* of the tail's level filter */
  char *contains;        /* of the tail's text filter */
  char *url;             /* for texts: origin and path */
  gboolean wants_body;   /* a read that answers with one: an empty 200 says nothing true */
  gboolean is_done;
  guint status;
  DbrJsonDoc *body;    /* nullable */
  DbrJsonDoc *problem; /* nullable: the body of a failure */
  char *error;         /* nullable: one line */
} DbrPart;

typedef enum
{
  DBR_STEP_WAITING,
  DBR_STEP_ASKING, /* the user is being asked */
  DBR_STEP_RUNNING,
  DBR_STEP_DONE,
  DBR_STEP_SKIPPED,
  DBR_STEP_FAILED,
} DbrStepState;

/* One request definition in this call. */
struct _DbrStep
{
  DbrCall *call;
  const DbrRequestDef *def;
  DbrStepState state;
  GPtrArray *parts; /* (element-type DbrPart) */
  guint n_pending;
  gint64 offset; /* first row asked for */
  gint64 total;  /* -1: unknown */
  guint rows;
  guint pages_planned;
  DbrJsonDoc *body;  /* what $.<id> is; nullable */
  DbrJsonDoc *items; /* for-each: an array of all its items, asked for or not; nullable */
  DbrJsonDoc *left;  /* for-each: an array of the items not asked for; nullable */
  char *error;       /* nullable: one line */
  guint status;
  gboolean was_sent;
};

/* A request as it will leave, ready to be shown, judged and sent. */
typedef struct
{
  char *method;
  char *path;
  GString *query;
  GPtrArray *headers; /* (element-type utf8) name, value */
  GBytes *body;
  DbrAccess access;
} DbrWireRequest;
void
dbr_wire_request_clear (DbrWireRequest *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (DbrWireRequest, dbr_wire_request_clear)

struct _DbrCall
{
  DbrToolHost *host; /* of dbr-host.c, for its parts below */
  const DbrCatalogue *catalogue;
  const DbrGate *gate;
  DbrBackend *backend;
  const DbrTool *tool;
  DbrCallEvents events;
  gpointer user_data;
  DbrAsking asking;
  gboolean assume_yes;
  gboolean json_output;
  DbrTypedFunc typed; /* nullable */
  gpointer typed_data;
  gboolean wants_progress;
  DbrJsonDoc *input_responses_doc;
  DbrJson input_responses;
  char *request_state;

  DbrJsonDoc *args;
  char id[37];
  const char *boundary; /* nullable: random */
  gint64 now_us;        /* wall clock at the start: one "now" for the whole answer */
  gint64 deadline_us;   /* monotonic; moved on while the user is asked */
  guint steps_left;     /* of JSONPath; 0 before the start: DBR_CALL_MAX_STEPS */
  DbrStep *steps;
  guint n_steps;
  DbrJsonDoc *root; /* $ */
  gboolean root_is_stale;
  DbrJsonGraph *graph;
  guint idle_id;
  guint n_finished;
  DbrCallResult *early; /* an answer that needed no request */

  const EngDoor *door;
  EngClient *client;
  DbrStep *asking_step;
  DbrPart *asking_part;
  DbrWireRequest *asking_wire;
  gint64 asked_at_us;
  gboolean has_consent;
  gboolean flag_decided; /* a write that wanted the user's yes went on the flag alone */
  gboolean write_was_sent;
  gboolean write_was_acknowledged;
  void (*forget) (DbrCall *call); /* the host's: takes it out of its table and frees it */
};

/* dbr-call.c */
void
dbr_call_finish (DbrCall *self,
                 DbrCallResult *result); /* the last thing that happens to a call: frees it */
void
dbr_call_fail (DbrCall *self,
               const char *text); /* finish with isError and this text, made safe and masked */
void
dbr_call_step_ended (DbrStep *step);
/* Whether a failure of this step is the call's: not of an optional one, nor of a read after the write
 * was acknowledged. */
gboolean
dbr_call_needs (const DbrStep *step);
const DbrJsonPathEnv *
dbr_call_env (DbrCall *self, DbrJson item, DbrJsonPathEnv *env);
void
dbr_call_continue (DbrCall *self); /* from the main loop */

/* dbr-call-send.c */
typedef enum
{
  DBR_BUILD_OK,
  DBR_BUILD_ABSENT, /* a path placeholder has no value: the request isn't sent */
  DBR_BUILD_ERROR,
} DbrBuild;
DbrBuild
dbr_call_build (DbrPart *part, DbrWireRequest *out, GError **error);
void
dbr_call_send (DbrPart *part, const DbrWireRequest *wire);
void
dbr_part_free (DbrPart *part);
guint
dbr_call_remaining_ms (const DbrCall *self);

DbrPart *
dbr_call_add_part (DbrStep *step, DbrJson item);

/* dbr-call-items.c */
gboolean
dbr_call_choose_items (DbrStep *step, GError **error); /* adds a part an item */

/* dbr-call-tail.c */
void
dbr_call_prepare_tail (DbrPart *part, const DbrTailSpec *spec); /* fills part->tail */
DbrJsonDoc *
dbr_call_tail_body (const EngResponse *response); /* {records, seen, matched, bytes, complete} */

/* dbr-call-collect.c */
void
dbr_call_collect_part (DbrPart *part, EngResponse *response); /* fills body, status or error */
void
dbr_call_collect_step (DbrStep *step); /* all parts are done: fills the step's body */
DbrJsonDoc *
dbr_call_compose (DbrCall *self);

/* dbr-call-failure.c */
gboolean
dbr_call_is_success (const DbrRequestDef *def, guint status);
/* One line: "404 Not Found: Dag not found". */
char *
dbr_call_describe_response (DbrCall *self, const EngResponse *response);
/* The whole text of a needed request's failure, with advice (transfer full). */
char *
dbr_call_failure_text (DbrStep *step, const DbrPart *part, const EngResponse *response);

/* dbr-call-ask.c */
/* Whether this request may go: TRUE go on; FALSE: the call was finished, or it waits for the user
 * (the step is then ASKING). */
gboolean
dbr_call_pass_gate (DbrPart *part, DbrWireRequest *wire);

/* dbr-call.c, for dbr-host.c */
DbrCall *
dbr_call_start (DbrCall *self);
void
dbr_call_answered (DbrCall *self, DbrAskOutcome outcome);
void
dbr_call_free (DbrCall *self);

G_END_DECLS
