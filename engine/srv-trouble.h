/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-trouble: why a project's foreman can't run, kept with the project.
 *
 * Either a turn can't even start (no checkout, an unknown program; looked at before anything is delivered), or turns
 * ended badly. Each try that fails makes the pause before the next one longer; a turn that ends well, or a change of
 * what foremen are started with, ends the trouble. It is stored, so that what clients are told doesn't depend on
 * whether the engine was restarted, and is written in the transaction of what caused it.
 */
#pragma once

#include "srv-call.h"

G_BEGIN_DECLS

#define SRV_TROUBLE_FIRST_PAUSE_S 1 /* after the first failure; doubles */
#define SRV_TROUBLE_MAX_PAUSE_S 300
#define SRV_TROUBLE_MAX_FAILURES 1000000 /* counted; a number that people are shown */
#define SRV_TROUBLE_MAX_REASON 300u      /* bytes */

/* Can a turn start now? Says no and keeps why; with @is_try that is a failed try, with an event when it is news. The
 * caller writes @project. */
gboolean
srv_trouble_look (SrvCall *call, SrvProject *project, gboolean is_try);
/* A turn ran and ended badly: @reason is what it did, "ended with exit status 1: the last line". */
void
srv_trouble_of_turn (SrvCall *call, SrvProject *project, const char *reason);
void
srv_trouble_clear (SrvProject *project);
/* What foremen are started with has changed: forgets the trouble, gives back the messages that were given up
 * because of it, and looks anew. */
void
srv_trouble_reset (SrvCall *call, SrvProject *project);
/* It says that nothing starts now; after a pause it may. */
gboolean
srv_trouble_waits (const SrvProject *project, gint64 now);

/* {since, failures, reason, next_try}, or null. */
json_t *
srv_trouble_render (const SrvProject *project, gint64 now);
/* What status says of it: a sentence or two. (transfer full) */
char *
srv_trouble_text (SrvCall *call, const SrvProject *project);
/* The one line that says what a message did. (transfer full) */
char *
srv_trouble_outcome_text (SrvCall *call, const SrvProject *project, SrvOutcome outcome);

/* Warnings of a project that was added or set: [text]. */
json_t *
srv_trouble_notes (SrvCall *call, const SrvProject *project);

G_END_DECLS
