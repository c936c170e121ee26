/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-ops: the operations, one function each (srv-ops-*.c), and the steps that several of them share.
 *
 * An operation reads its call, writes to the store straight down, and returns one reply; what refuses it returns a reply
 * of 4xx, which undoes what was written. Steps that change a project leave it to the caller to write it.
 */
#pragma once

#include "srv-plan-set.h"

G_BEGIN_DECLS

#define SRV_OPERATION_FUNCTION(name, method, path, kind, roles) \
  SrvReply *srv_op_##name (SrvCall *call);
SRV_OPERATIONS (SRV_OPERATION_FUNCTION)
#undef SRV_OPERATION_FUNCTION
/* Runs one request, a read or a write: may this role, does its lease still live, then its operation. @world nullable. */
SrvReply *
srv_dispatch (SrvStore *store, const SrvWorld *world, const SrvRequest *request, gint64 now);
/* Each second: leases, lost jobs, hours. */
SrvReply *
srv_op_tick (SrvCall *call);
/* The wall clock jumped by @step us to the call's now: what runs keeps the time that it had left. */
void
srv_op_clock (SrvCall *call, gint64 step);

/* ---- srv-ops-plans.c */
/* NULL: may be changed; else 409 plan_over. */
SrvReply *
srv_plan_check_open (const SrvPlanSet *set);
/* NULL: If-Match fits or, unless @needed, is not there; else 412 or 428. */
SrvReply *
srv_plan_check_match (SrvCall *call, const SrvPlan *plan, gboolean needed);

/* ---- srv-ops-projects.c */
void
srv_project_take_settings (SrvProject *project, const SrvSettings *settings);
/* Puts into @body: still_waiting, the project's plans that await approval (20 at most), and still_waiting_more, the
 * number of the rest. */
void
srv_project_still_waiting (SrvCall *call, gint64 project, json_t *body);

/* ---- srv-ops-messages.c */
/* Adds a message and counts it in @project. (transfer full) */
SrvMessage *
srv_message_send (SrvCall *call, SrvProject *project, SrvAuthor author, const char *text);
/* The message asks the user for nothing (any more). The caller writes both. */
void
srv_message_needs_none (SrvMessage *message, SrvProject *project);

/* ---- srv-ops-jobs.c */
/* A worker fell silent: the task is ready again, or failed when that happened too often. */
void
srv_job_lose (SrvCall *call, SrvJob *job);

/* ---- srv-ops-tokens.c */
/* Adds the token, with a new secret's hash; its secret. NULL: the system gives no random bytes. (transfer full) */
char *
srv_token_add (SrvCall *call, SrvToken *token);
/* 503 no_random_bytes. */
SrvReply *
srv_reply_no_random (void);

G_END_DECLS
