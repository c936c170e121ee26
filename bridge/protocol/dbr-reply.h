/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-reply: the messages that go out, each as one line of JSON, trimmed to its revision.
 *
 * Pure functions: every writer returns a new text without a newline (transfer full). Ids and tokens
 * are JSON texts that came from the client, or NULL where there is none to echo. Source: MCP
 * schema.ts of each revision.
 */
#pragma once

#include "dbr-revision.h"
#include "dbr-tool-host.h"

G_BEGIN_DECLS

/* Where messages go. Two functions that the transport owns. */
typedef struct
{
  /* line (transfer full): one message, no newline */
  void (*send) (gpointer user_data, GString *line);
  /* TRUE while the reader is behind: then no progress is sent and no queued call starts */
  gboolean (*is_behind) (gpointer user_data);
  gpointer user_data;
} DbrSink;

/**
 * dbr_reply_error:
 * @id: (nullable): the id's JSON text; "null" is written as it is; %NULL: the message has no id
 * @code: a #DbrRpcError
 * @message: UTF-8
 * @data: (nullable): JSON text
 */
GString *
dbr_reply_error (const char *id, gint code, const char *message, const char *data);

/* An empty result: ping in the legacy era. */
GString *
dbr_reply_empty (const char *id);

/* initialize (legacy @revision) or server/discover (modern). */
GString *
dbr_reply_handshake (const char *id, DbrRevision revision, const DbrToolHost *host);

/**
 * dbr_reply_trim_tools:
 * @tools: what #DbrToolHost.list_tools gave
 *
 * Returns: (transfer full): the JSON text of the array as @revision knows it, other members left
 * out
 */
char *
dbr_reply_trim_tools (json_t *tools, DbrRevision revision);
/* @tools: JSON text from dbr_reply_trim_tools(). One page, no cursor. */
GString *
dbr_reply_tools (const char *id, DbrRevision revision, const DbrToolHost *host, const char *tools);

/* tools/call ended; in the modern era this may be the question (input_required). */
GString *
dbr_reply_call (const char *id,
                DbrRevision revision,
                const DbrToolHost *host,
                const DbrCallResult *result);

/* total < 0: left out; message: nullable, left out before 2025-03-26. Numbers are finite. */
GString *
dbr_reply_progress (
    const char *token, DbrRevision revision, double progress, double total, const char *message);

/* Legacy: our request to the client, under our id (JSON text). */
GString *
dbr_reply_elicitation (const char *id,
                       DbrRevision revision,
                       const char *message,
                       const json_t *schema);

/* Our own request @id is no longer waited for. */
GString *
dbr_reply_cancelled (const char *id, const char *reason);

G_END_DECLS
