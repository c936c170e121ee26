/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-tool-host: what the protocol side asks of whatever owns the tools.
 *
 * Protocol knows neither HTTP nor catalogues; the host knows neither JSON-RPC nor eras. One host serves
 * stdio, HTTP and the command line. All on one thread; no callback runs inside the function that started it.
 */
#pragma once

#include "dbr-json-doc.h"
#include <jansson.h>

G_BEGIN_DECLS

typedef struct
{
  char *text; /* valid UTF-8, ends without a newline */
  gsize text_len;
  gboolean is_error;
  json_t *structured; /* nullable: a refusal's object */
  /* the modern era's question; text is then unused */
  gboolean input_required;
  char *ask_message;   /* what the form says */
  json_t *ask_schema;  /* requestedSchema */
  char *request_state; /* goes to the client and comes back in its retry */
} DbrCallResult;
void
dbr_call_result_free (DbrCallResult *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DbrCallResult, dbr_call_result_free)

typedef enum
{
  DBR_ASK_ACCEPTED,    /* accept, and the form's one boolean ("confirm") was true */
  DBR_ASK_DECLINED,    /* decline, or accept without true */
  DBR_ASK_CANCELLED,   /* cancel, end of input */
  DBR_ASK_TIMED_OUT,   /* no answer within the limit */
  DBR_ASK_UNAVAILABLE, /* the client can't ask after all (an error came back) */
} DbrAskOutcome;

typedef enum
{
  DBR_ASKING_IMPOSSIBLE, /* the client can't show a form: the flags alone decide */
  DBR_ASKING_INLINE,     /* legacy era, terminal: events->ask, then host->answered */
  DBR_ASKING_STATELESS, /* modern era: end the call with input_required; the retry brings state and responses */
} DbrAsking;

/* Read during host->call only, apart from the documents, which the host may reference. */
typedef struct
{
  const char *tool;
  DbrJson arguments; /* an object or nothing */
  DbrAsking asking;
  DbrJson input_responses;   /* modern retry: params.inputResponses, or nothing */
  const char *request_state; /* modern retry, nullable */
  gboolean wants_progress;
} DbrCallRequest;

typedef struct
{
  /* Nullable: nobody looks. total < 0: unknown; message nullable */
  void (*progress) (gpointer user_data, double progress, double total, const char *message);
  /* Inline asking only, else nullable; schema (transfer none). The answer comes through host->answered. */
  void (*ask) (gpointer user_data, const char *message, json_t *schema);
  /* result (transfer full); exactly once unless cancelled; the call's handle is gone after it. */
  void (*done) (gpointer user_data, DbrCallResult *result);
} DbrCallEvents;

typedef struct _DbrToolHost DbrToolHost;
struct _DbrToolHost
{
  const char *server_name;
  const char *server_title;
  const char *server_version;
  const char *instructions; /* nullable */
  /* The whole list (transfer full): an array of {name, title, description, inputSchema, annotations}. The protocol trims it by revision. */
  json_t *(*list_tools) (DbrToolHost *self);
  gboolean (*has_tool) (DbrToolHost *self, const char *name);
  /* Starts a call of a tool that exists; returns its handle, valid until done or cancel. */
  gpointer (*call) (DbrToolHost *self,
                    const DbrCallRequest *request,
                    const DbrCallEvents *events,
                    gpointer user_data);
  void (*answered) (DbrToolHost *self, gpointer call, DbrAskOutcome outcome);
  /* Aborts; done is not called. */
  void (*cancel) (DbrToolHost *self, gpointer call);
};

G_END_DECLS
