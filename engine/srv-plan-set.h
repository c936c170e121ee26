/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-plan-set: a plan with its project and tasks in memory, changed by an operation, judged and settled, written at once.
 */
#pragma once

#include "srv-call.h"

G_BEGIN_DECLS

typedef struct
{
  SrvPlan *plan;
  SrvProject *project;
  GPtrArray *tasks;     /* SrvTask, oldest first */
  SrvTaskValue *values; /* the same tasks as the rules see them; after srv_plan_set_refresh() */
  SrvSettings settings; /* the project's */
  GPtrArray *blocked;   /* srv_rules_blocked() of the values, once it was asked for */
  GHashTable *titles;   /* tasks by title, once one was asked for */
  GHashTable *changed;  /* tasks to be written */
  GHashTable *added;    /* tasks that the store does not have yet */
  GHashTable
      *judging; /* tasks of a plan at work that are new or changed, to whether they waited before */
  gboolean is_new; /* nor has it the plan */
  gboolean was_live, was_finished, was_needing, was_in_review;
} SrvPlanSet;

/* NULL and a refusal (404, 403). */
SrvPlanSet *
srv_plan_set_load (SrvCall *call, gint64 plan, SrvReply **out_refusal);
/* @body (transfer full), with the plan's version as its ETag. */
SrvReply *
srv_plan_set_reply (const SrvPlanSet *self, guint status, json_t *body);
/* With records that are at hand; takes them. */
SrvPlanSet *
srv_plan_set_new (SrvCall *call, SrvPlan *plan, SrvProject *project);
void
srv_plan_set_free (SrvPlanSet *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SrvPlanSet, srv_plan_set_free)

SrvTask *
srv_plan_set_task (const SrvPlanSet *self, gint64 id); /* nullable */
guint
srv_plan_set_index (const SrvPlanSet *self, const SrvTask *task);
/* A new, empty task with its id; written by settle. */
SrvTask *
srv_plan_set_add (SrvCall *call, SrvPlanSet *self);
void
srv_plan_set_change (SrvPlanSet *self, SrvTask *task, gint64 now);
void
srv_plan_set_refresh (SrvPlanSet *self);
/* Why it waits (bits of SrvReason), as it was judged when it was made or changed; 0 when it does not wait. */
guint
srv_plan_set_reasons (const SrvPlanSet *self);
/* The protected globs that it waits for. (transfer full) (nullable) */
char **
srv_plan_set_touched (const SrvPlanSet *self);
/* Is it the awaiting tasks of a plan at work that wait? */
gboolean
srv_plan_set_is_partial (const SrvPlanSet *self);
gboolean
srv_plan_set_is_waiting (const SrvPlanSet *self);
/* A new or changed task of a plan at work: it waits until it is judged. */
void
srv_plan_set_await (SrvPlanSet *self, SrvTask *task);
/* Judges what is new or changed by the settings as they are. What no reason holds goes on; what waited before goes on
 * waiting, whatever the settings are now: only the user's approval ends that, or the hours when it waits for nothing
 * else. */
void
srv_plan_set_judge (SrvCall *call, SrvPlanSet *self);
/* The hours that a plan waited for have come: it starts, unless the settings have another reason by now. */
void
srv_plan_set_open (SrvCall *call, SrvPlanSet *self);
/* Approves what waits. */
void
srv_plan_set_approve (SrvPlanSet *self, gint64 now);
/* Says who decided about the version that was shown. */
void
srv_plan_set_decided (SrvCall *call, SrvPlanSet *self, SrvDecision decision);
/* Cancels one task and stops its job. After the last one, and before anything is linked anew: */
void
srv_plan_set_cancel (SrvCall *call, SrvPlanSet *self, SrvTask *task, const char *why);
/* takes cancelled tasks out of what others depend on; settle does it too. */
void
srv_plan_set_drop_cancelled (SrvPlanSet *self, gint64 now);
/* The first task with the title that is not cancelled; nullable. */
SrvTask *
srv_plan_set_find_title (SrvPlanSet *self, const char *title);
/* The ids of failed tasks that the task at @i waits for. (transfer none) */
const GArray *
srv_plan_set_blocked (SrvPlanSet *self, guint i);
/* Derives readiness and the plan's state, keeps the project's counts, and writes all that changed. */
void
srv_plan_set_settle (SrvCall *call, SrvPlanSet *self);

/* ---- parts of records */
void
srv_settings_of (const SrvProject *project, SrvSettings *out);
char **
srv_globs_parse (const char *json); /* (transfer full) (nullable) */
GArray *
srv_ids_parse (const char *text); /* "3,5" (transfer full) */
char *
srv_ids_text (const GArray *ids); /* NULL when empty */

void
srv_project_take_settings (SrvProject *project, const SrvSettings *settings);
/* Puts into @body: still_waiting, the project's plans that await approval (20 at most), and still_waiting_more, the
 * number of the rest. */
void
srv_project_still_waiting (SrvCall *call, gint64 project, json_t *body);
/* NULL: may be changed; else 409 plan_over. */
SrvReply *
srv_plan_check_open (const SrvPlanSet *set);
/* NULL: If-Match fits or, unless @needed, is not there; else 412 or 428. */
SrvReply *
srv_plan_check_match (SrvCall *call, const SrvPlan *plan, gboolean needed);
/* A task was rewritten: it is judged anew. */
void
srv_plan_set_rewritten (SrvCall *call, SrvPlanSet *self, SrvTask *task);

/* ---- things that several operations do (srv-ops-messages.c, srv-ops-leases.c) */
/* Adds a message and counts it in @project, which the caller writes. (transfer full) */
SrvMessage *
srv_message_send (SrvCall *call, SrvProject *project, SrvAuthor author, const char *text);
/* The lease that holds the project now; NULL: none. Does not look at expired ones. */
SrvLease *
srv_lease_current (SrvCall *call, gint64 project);
/* Why a message waits for a lease that was taken by hand. (transfer full) */
char *
srv_lease_outcome_text (const SrvLease *lease);
/* How a lease ended, and so what becomes of the messages that it was given and did not answer. */
typedef enum
{
  SRV_LEASE_IS_DONE,     /* a turn did what it wanted: they stay delivered */
  SRV_LEASE_IS_DETACHED, /* a chat went: the user's wait again */
  SRV_LEASE_IS_FAILED,   /* crashed or expired: all wait again */
} SrvLeaseEnd;
/* Ends it: its token dies. What the engine itself said counts as answered once its lease ended well. The
 * caller writes @project. */
void
srv_lease_finish (SrvCall *call,
                  SrvProject *project,
                  SrvLease *lease,
                  SrvEventKind how,
                  SrvLeaseEnd end,
                  const char *text);
/* Do as many run as the host runs at a time? */
gboolean
srv_turns_are_full (SrvCall *call);
/* Takes leases for the foremen that should wake now, @max at a time over all projects; appends to @out
 * (element-type SrvTurn). Those that can't start get trouble. */
void
srv_turns_grant (SrvCall *call, guint max, GPtrArray *out);
void
srv_job_lose (SrvCall *call, SrvJob *job);
/* (transfer full): 43 characters; *out_hash is what is stored. */
char *
srv_secret_new (char **out_hash);
char *
srv_secret_hash (const char *secret);

/* Every second: leases, lost jobs, hours. */
SrvReply *
srv_op_tick (SrvCall *call);

#define SRV_OPERATION_FUNCTION(name, method, path, kind, roles) \
  SrvReply *srv_op_##name (SrvCall *call);
SRV_OPERATIONS (SRV_OPERATION_FUNCTION)
#undef SRV_OPERATION_FUNCTION

G_END_DECLS
