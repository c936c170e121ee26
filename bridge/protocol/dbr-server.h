/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-server: MCP of every revision over one tool host, one line in, lines out; no descriptors, no
 * loop of its own.
 *
 * Each message is judged by itself, with no lock on an era: a request whose _meta says a protocol
 * version is modern, even after a handshake; initialize without it is legacy and is remembered;
 * other requests are legacy once a handshake has been. Nothing that is fed to it ends the process.
 * Source: MCP 2026-07-28 basic/versioning; the four legacy revisions' lifecycle.
 */
#pragma once

#include "dbr-calls.h"

G_BEGIN_DECLS

typedef struct
{
  DbrCallsOptions calls;
  DbrElicitOptions elicit;
} DbrServerOptions;

typedef struct _DbrServer DbrServer;

/**
 * dbr_server_new:
 * @host: must outlive the server
 * @sink: copied; its functions may be called from every function below and from the host's events
 * @options: (nullable): copied; zeros are defaults
 */
DbrServer *
dbr_server_new (DbrToolHost *host, const DbrSink *sink, const DbrServerOptions *options);
/* Calls in flight are aborted and stay without an answer. */
void
dbr_server_free (DbrServer *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DbrServer, dbr_server_free)

/* Takes one line (UTF-8, no LF): whatever it holds costs its sender at most one error (one a
 * message in a batch). */
void
dbr_server_take_line (DbrServer *self, GBytes *line);

/* A line that could not be read: @why goes out as a parse error. Its id is unknown: the error has
 * none, or null where the revision wants one (before a handshake, and in the revisions before
 * 2025-11-25). */
void
dbr_server_refuse_line (DbrServer *self, const GError *why);

/* No more lines: calls in flight go on; questions to the user are cancelled. */
void
dbr_server_end_of_input (DbrServer *self);

/* Aborts the calls in flight; each is answered with an error that says @why (UTF-8, a sentence). */
void
dbr_server_end_calls (DbrServer *self, const char *why);

/* The reader has caught up: starts calls that waited for it. */
void
dbr_server_resume (DbrServer *self);

/* Calls running and queued. */
guint
dbr_server_in_flight (const DbrServer *self);

G_END_DECLS
