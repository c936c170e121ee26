/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-rules: what waits and why, as pure functions over values: no store, no clock, no socket.
 */
#pragma once

#include "srv-model.h"

G_BEGIN_DECLS

#define SRV_MAX_TASKS 500        /* tasks of one plan, cancelled ones included */
#define SRV_MAX_GLOB 200         /* bytes of one glob */
#define SRV_MAX_GLOBS 100        /* of a task, or protected */
#define SRV_MAX_PATHS 2000       /* globs of all tasks of a plan */
#define SRV_MAX_WINDOWS 20       /* of one hours setting */
#define SRV_MAX_TTL_S 3600       /* of a lease */
#define SRV_MAX_LOST 3           /* lost attempts that fail a task */
#define SRV_MAX_RETURNED 5       /* times in a row that it was given back without being tried */
#define SRV_HEARTBEAT_SECONDS 30 /* a worker's interval, unless the host says another one */
#define SRV_MAX_HEARTBEAT_SECONDS 600
#define SRV_MISSED_HEARTBEATS 3 /* after so many a job is lost */
#define SRV_MAX_DELIVERIES 3    /* turns that may fail over one message */

/* ---- why a plan waits: X (NAME, "word", "setting") */
#define SRV_REASONS(X) \
  X (APPROVAL_REQUIRED, "approval_required", "approval") \
  X (TOO_MANY_TASKS, "too_many_tasks", "max_tasks") \
  X (PROTECTED_PATH, "protected_path", "protected_paths") \
  X (OUTSIDE_HOURS, "outside_hours", "hours")
typedef enum
{
#define SRV_REASON_ITEM(name, word, setting) SRV_REASON_##name,
  SRV_REASONS (SRV_REASON_ITEM)
#undef SRV_REASON_ITEM
      SRV_N_REASONS
} SrvReason;
extern const char *const srv_reason_words[];    /* NULL-terminated */
extern const char *const srv_reason_settings[]; /* the one setting of each */

/* A project's settings. */
typedef struct
{
  gint64 approval; /* SrvApproval */
  gint64 max_tasks;
  char **protected_paths;
  char *hours;
  gint64 turn_minutes;
} SrvSettings;
#define SRV_DEFAULT_MAX_TASKS 12
#define SRV_DEFAULT_HOURS "any"
#define SRV_DEFAULT_TURN_MINUTES 30
void
srv_settings_clear (SrvSettings *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (SrvSettings, srv_settings_clear)

/* A task as the rules see it. */
typedef struct
{
  gint64 id;
  SrvTaskState state;
  gboolean awaiting; /* new or changed, not yet approved */
  gint64 *depends_on;
  guint n_depends_on;
  char **paths; /* nullable; none: it may touch anything */
  guint wave;   /* filled by srv_rules_waves() */
} SrvTaskValue;

/* The reasons (bits 1 << SrvReason) why the plan's tasks wait: all of them, or with @only_awaiting those that await.
 * The number of tasks is always the plan's; cancelled ones don't count. *out_touched: as srv_rules_touched() gives it. */
guint
srv_rules_reasons (const SrvSettings *settings,
                   const SrvTaskValue *tasks,
                   guint n_tasks,
                   gboolean only_awaiting,
                   gint64 now_us,
                   char ***out_touched);
/* Tasks that are not cancelled. */
guint
srv_rules_task_count (const SrvTaskValue *tasks, guint n_tasks);
/* What and_stop_asking makes of the reason's one setting, for a plan of @count tasks that may touch the globs of
 * @touched (nullable). What the setting allows already stays as it is. */
void
srv_rules_stop_asking (SrvSettings *settings,
                       SrvReason reason,
                       guint count,
                       const char *const *touched);
/* The protected globs that the tasks may touch, by a comparison of at most SRV_MAX_GLOB_STEPS. (transfer container): a
 * NULL-terminated list of borrowed globs */
char **
srv_rules_touched (const SrvSettings *settings,
                   const SrvTaskValue *tasks,
                   guint n_tasks,
                   gboolean only_awaiting);

/* ---- waves, readiness, ends: @tasks stand in the order of their ids */
/* Sets wave: 1 without dependencies, else one more than the greatest of them. A dependency that is not among @tasks
 * counts as none. FALSE: a cycle; *out_cycle (nullable) is a task on it. */
gboolean
srv_rules_waves (SrvTaskValue *tasks, guint n_tasks, gint64 *out_cycle);
/* What a planned or ready task is now: ready when the plan is active, it does not await, and all it depends on are done. */
SrvTaskState
srv_rules_readiness (const SrvTaskValue *tasks, guint n_tasks, guint i, gboolean plan_is_active);
/* For each task the ids (gint64) of the failed tasks that it waits for, through any number of others. (transfer full)
 * (element-type GArray) */
GPtrArray *
srv_rules_blocked (const SrvTaskValue *tasks, guint n_tasks);
/* All that depend on @id, through any number of others (not @id itself); appended (gint64). */
void
srv_rules_dependents (const SrvTaskValue *tasks, guint n_tasks, gint64 id, GArray *out);
/* The state of a plan that was approved, from its tasks. */
SrvPlanState
srv_rules_plan_state (const SrvTaskValue *tasks, guint n_tasks);
/* May a task in @from be rewritten? Those running, in review, done or cancelled may not. */
gboolean
srv_rules_may_rewrite (SrvTaskState from);

/* ---- holds, leases, jobs */
/* A foreman releases only foremen's holds. */
gboolean
srv_rules_may_release (gint64 hold_role, SrvRole by);
/* Does a new hold take the place of the one there is? A foreman's never takes another's place. */
gboolean
srv_rules_hold_replaces (gint64 hold_role, SrvRole by);
gboolean
srv_rules_lease_is_over (gint64 expires_us, gint64 ended_us, gint64 now_us);
/* When a job with this heartbeat is lost. */
gint64
srv_rules_lost_at (gint64 heartbeat_us, guint interval_s);
/* Does a task that has now lost so many attempts fail? */
gboolean
srv_rules_lost_too_often (gint64 lost);
/* Nothing but time stands between the project and the next turn of its foreman. */
gboolean
srv_rules_foreman_is_coming (const SrvProject *project);
SrvForemanState
srv_rules_foreman_state (gboolean has_command, gboolean has_lease, SrvLeaseKind kind);
/* What a message that comes now does. */
SrvOutcome
srv_rules_outcome (gboolean has_command,
                   gboolean is_held,
                   gboolean is_troubled,
                   gboolean has_lease,
                   SrvLeaseKind kind);
const char *
srv_rules_outcome_text (SrvOutcome outcome);
/* Who comes for what a lease leaves unread; stands within a sentence that says which lease. */
const char *
srv_rules_after_lease_text (const SrvProject *project);

/* ---- repository URLs */
/**
 * srv_repo_url_canonical:
 * @text: https, http, ssh, git URL, or host:owner/name as scp writes it
 *
 * Returns: (transfer full) (nullable): `https://host/owner/name`: host in lower case, no user, port or .git; NULL when
 *   it can't be one. Groups in groups (`host/a/b/name`) stay.
 */
char *
srv_repo_url_canonical (const char *text);

/* ---- hours: "any", or windows like "Mon-Fri 08:00-18:00 Europe/Berlin", several apart by ";". Days: names or ranges
 * apart by ","; left out: every day. The zone: an IANA name, UTC when left out. An end before its begin is the next
 * day's; 24:00 is a day's end. */
/* (nullable): what is wrong with it, a sentence; NULL: nothing. (transfer full) */
char *
srv_hours_problem (const char *hours);
gboolean
srv_hours_open (const char *hours, gint64 now_us); /* a wrong one is open never */

/* ---- globs over paths in a repository: "?", "*" (not over "/"), "**" (over anything). What a glob matches
 * stands for what lies under it too. */
gboolean
srv_glob_is_valid (const char *glob);
/* Could one path match both? */
gboolean
srv_globs_overlap (const char *a, const char *b);
/* Steps that the comparisons of one judgement may take, some tens of milliseconds of the writer. A pair that only
 * begins alike costs one, any other one a token of the glob. What is left when they are used up counts as touched: then
 * the user is asked once too often, never too seldom. */
#define SRV_MAX_GLOB_STEPS 1000000
/* Which of these globs (at most SRV_MAX_GLOBS) do others overlap? */
typedef struct _SrvGlobSet SrvGlobSet;
SrvGlobSet *
srv_glob_set_new (const char *const *globs); /* nullable; borrowed as long as the set lives */
void
srv_glob_set_free (SrvGlobSet *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SrvGlobSet, srv_glob_set_free)
/* Compares one glob with those that are not touched yet; NULL touches all. */
void
srv_glob_set_touch (SrvGlobSet *self, const char *glob);
gboolean
srv_glob_set_is_touched (const SrvGlobSet *self, guint i);
guint
srv_glob_set_steps (const SrvGlobSet *self); /* taken so far */

G_END_DECLS
