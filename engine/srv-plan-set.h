/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-plan-set: a plan with its project and tasks in memory: changed by an operation, judged, settled, written at once.
 *
 * An operation loads (or makes) a set, changes tasks, says which of them are new to the user (await, rewritten), judges,
 * and settles last; nothing of the plan, its tasks or its project is written before that but new briefs and events.
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
  gboolean is_new;                                             /* nor has it the plan */
  gboolean was_live, was_finished, was_needing, was_in_review; /* as the project counts it */
} SrvPlanSet;

/* NULL and a refusal: 404, 403; 409 project_removed when the request is more than a read. */
SrvPlanSet *
srv_plan_set_load (SrvCall *call, gint64 plan, SrvReply **out_refusal);
/* With records that are at hand; takes them. A plan without an id is new, and gets one. */
SrvPlanSet *
srv_plan_set_new (SrvCall *call, SrvPlan *plan, SrvProject *project);
void
srv_plan_set_free (SrvPlanSet *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SrvPlanSet, srv_plan_set_free)
/* @body (transfer full), with the plan's version as its ETag. */
SrvReply *
srv_plan_set_reply (const SrvPlanSet *self, guint status, json_t *body);

/* ---- its tasks */
SrvTask *
srv_plan_set_task (const SrvPlanSet *self, gint64 id); /* nullable */
guint
srv_plan_set_index (const SrvPlanSet *self, const SrvTask *task);
/* The first task with the title that is not cancelled; nullable. */
SrvTask *
srv_plan_set_find_title (SrvPlanSet *self, const char *title);
/* The ids of failed tasks that the task at @i waits for. (transfer none) */
const GArray *
srv_plan_set_blocked (SrvPlanSet *self, guint i);
/* A new, empty task with its id. */
SrvTask *
srv_plan_set_add (SrvCall *call, SrvPlanSet *self);
/* The task is to be written. */
void
srv_plan_set_change (SrvPlanSet *self, SrvTask *task, gint64 now);
/* Cancels one task and stops its job; what depended on it is judged anew when a foreman does that. After the last one,
 * and before anything is linked anew: */
void
srv_plan_set_cancel (SrvCall *call, SrvPlanSet *self, SrvTask *task, const char *why);
/* takes cancelled tasks out of what others depend on; settle does it too. */
void
srv_plan_set_drop_cancelled (SrvPlanSet *self, gint64 now);
/* The tasks that are ready: what is ready later and not among them became so. (transfer full) */
GHashTable *
srv_plan_set_ready (const SrvPlanSet *self);
/* Makes the values anew from the tasks. */
void
srv_plan_set_refresh (SrvPlanSet *self);

/* ---- why it waits (srv-plan-judge.c) */
/* Is it the awaiting tasks of a plan at work that wait? */
gboolean
srv_plan_set_is_partial (const SrvPlanSet *self);
gboolean
srv_plan_set_is_waiting (const SrvPlanSet *self);
/* Bits of SrvReason, as it was judged when it was made or changed; 0 when it does not wait. */
guint
srv_plan_set_reasons (const SrvPlanSet *self);
/* The protected globs that it waits for. (transfer full) (nullable) */
char **
srv_plan_set_touched (const SrvPlanSet *self);
/* A new or changed task of a plan at work: it waits until it is judged. */
void
srv_plan_set_await (SrvPlanSet *self, SrvTask *task);
/* A task was rewritten: it is judged anew. */
void
srv_plan_set_rewritten (SrvCall *call, SrvPlanSet *self, SrvTask *task);
/* Judges what is new or changed by the settings as they are. What no reason holds goes on; what waited before goes on
 * waiting, whatever the settings are: only the user's approval ends that, or the hours when it waits for nothing
 * else. */
void
srv_plan_set_judge (SrvCall *call, SrvPlanSet *self);
/* The hours that a plan waited for have come: it starts, unless the settings have another reason by now. */
void
srv_plan_set_open (SrvCall *call, SrvPlanSet *self);
/* Approves what waits. */
void
srv_plan_set_approve (SrvPlanSet *self, gint64 now);
/* Notes who decided about the version that was shown. */
void
srv_plan_set_decided (SrvCall *call, SrvPlanSet *self, SrvDecision decision);

/* ---- what follows from a change (srv-plan-settle.c) */
/* Derives readiness and the plan's state, keeps the project's counts, and writes all that changed. */
void
srv_plan_set_settle (SrvCall *call, SrvPlanSet *self);

/* ---- parts of records */
/* Awaiting approval, or at work. */
gboolean
srv_plan_is_live (const SrvPlan *plan);
void
srv_settings_of (const SrvProject *project, SrvSettings *out);
char **
srv_globs_parse (const char *json); /* (transfer full) (nullable) */
GArray *
srv_ids_parse (const char *text); /* "3,5" (transfer full) */
char *
srv_ids_text (const GArray *ids); /* NULL when empty */

G_END_DECLS
