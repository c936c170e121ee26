/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-rules: reasons, waves, readiness, ends, holds, leases and lost jobs.
 *
 * Plans have at most SRV_MAX_TASKS tasks; what walks dependencies visits each a few times, whatever their order.
 */
#include "config.h"

#include "srv-rules.h"

#include <string.h>

#define WORD(name, word, setting) word,
const char *const srv_reason_words[] = { SRV_REASONS (WORD) NULL };
#undef WORD
#define SETTING(name, word, setting) setting,
const char *const srv_reason_settings[] = { SRV_REASONS (SETTING) NULL };
#undef SETTING

void
srv_settings_clear (SrvSettings *self)
{
  g_clear_pointer (&self->protected_paths, g_strfreev);
  g_clear_pointer (&self->hours, g_free);
}

/* -------------------------------------------------------------------- reasons */
/* Tasks whose paths still matter: not over, and awaiting if only those are asked about. */
static gboolean
is_judged (const SrvTaskValue *task, gboolean only_awaiting)
{
  if (task->state == SRV_TASK_CANCELLED || task->state == SRV_TASK_DONE)
    return FALSE;
  return task->awaiting || !only_awaiting;
}

char **
srv_rules_touched (const SrvSettings *settings,
                   const SrvTaskValue *tasks,
                   guint n_tasks,
                   gboolean only_awaiting)
{
  GPtrArray *touched = g_ptr_array_new ();
  char **globs = settings->protected_paths;
  g_autoptr (SrvGlobSet) set = srv_glob_set_new ((const char *const *) globs);

  for (guint i = 0; globs && i < n_tasks; i++)
    {
      char **paths = tasks[i].paths;
      if (!is_judged (&tasks[i], only_awaiting))
        continue;
      if (!paths || !paths[0])
        srv_glob_set_touch (set, NULL);
      for (guint p = 0; paths && paths[p]; p++)
        srv_glob_set_touch (set, paths[p]);
    }
  for (guint i = 0; globs && globs[i]; i++)
    if (srv_glob_set_is_touched (set, i))
      g_ptr_array_add (touched, globs[i]);
  g_ptr_array_add (touched, NULL);
  return (char **) g_ptr_array_free (touched, FALSE);
}

guint
srv_rules_task_count (const SrvTaskValue *tasks, guint n_tasks)
{
  guint count = 0;

  for (guint i = 0; i < n_tasks; i++)
    count += tasks[i].state != SRV_TASK_CANCELLED;
  return count;
}

guint
srv_rules_reasons (const SrvSettings *settings,
                   const SrvTaskValue *tasks,
                   guint n_tasks,
                   gboolean only_awaiting,
                   gint64 now_us,
                   char ***out_touched)
{
  guint reasons = 0;
  char **touched = srv_rules_touched (settings, tasks, n_tasks, only_awaiting);

  if (settings->approval == SRV_APPROVAL_ALWAYS)
    reasons |= 1u << SRV_REASON_APPROVAL_REQUIRED;
  if (srv_rules_task_count (tasks, n_tasks) > settings->max_tasks)
    reasons |= 1u << SRV_REASON_TOO_MANY_TASKS;
  if (touched[0])
    reasons |= 1u << SRV_REASON_PROTECTED_PATH;
  if (!srv_hours_open (settings->hours, now_us))
    reasons |= 1u << SRV_REASON_OUTSIDE_HOURS;
  *out_touched = touched;
  return reasons;
}

static void
drop_touched (SrvSettings *settings, const char *const *touched)
{
  GPtrArray *kept = g_ptr_array_new ();

  for (guint i = 0; settings->protected_paths && settings->protected_paths[i]; i++)
    if (!touched || !g_strv_contains (touched, settings->protected_paths[i]))
      g_ptr_array_add (kept, g_strdup (settings->protected_paths[i]));
  g_ptr_array_add (kept, NULL);
  g_strfreev (settings->protected_paths);
  settings->protected_paths = (char **) g_ptr_array_free (kept, FALSE);
}

void
srv_rules_stop_asking (SrvSettings *settings,
                       SrvReason reason,
                       guint count,
                       const char *const *touched)
{
  switch (reason)
    {
    case SRV_REASON_APPROVAL_REQUIRED:
      settings->approval = SRV_APPROVAL_NEVER;
      break;
    case SRV_REASON_TOO_MANY_TASKS:
      settings->max_tasks = MAX (settings->max_tasks, count);
      break;
    case SRV_REASON_PROTECTED_PATH:
      drop_touched (settings, touched);
      break;
    case SRV_REASON_OUTSIDE_HOURS:
      g_free (settings->hours);
      settings->hours = g_strdup ("any");
      break;
    case SRV_N_REASONS:
      break;
    }
}

/* ---------------------------------------------------------------- dependencies */
#define NOWHERE G_MAXUINT

/* Where the task stands; they are in the order of their ids. */
static guint
find_task (const SrvTaskValue *tasks, guint n_tasks, gint64 id)
{
  guint low = 0, high = n_tasks;

  while (low < high)
    {
      guint middle = low + (high - low) / 2;
      if (tasks[middle].id < id)
        low = middle + 1;
      else
        high = middle;
    }
  return low < n_tasks && tasks[low].id == id ? low : NOWHERE;
}

/* Who depends on whom, the other way round: those that depend on task i are at[first[i]] to at[first[i + 1] - 1]. */
typedef struct
{
  guint *first;
  guint *at;
} Dependents;

static void
dependents_clear (Dependents *self)
{
  g_free (self->first);
  g_free (self->at);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Dependents, dependents_clear)

static void
dependents_fill (Dependents *self, const SrvTaskValue *tasks, guint n_tasks)
{
  g_autofree guint *next = g_new (guint, n_tasks + 1);

  self->first = g_new0 (guint, n_tasks + 2);
  for (guint i = 0; i < n_tasks; i++)
    for (guint d = 0; d < tasks[i].n_depends_on; d++)
      {
        guint needed = find_task (tasks, n_tasks, tasks[i].depends_on[d]);
        if (needed != NOWHERE)
          self->first[needed + 1]++;
      }
  for (guint i = 0; i < n_tasks; i++)
    {
      self->first[i + 1] += self->first[i];
      next[i] = self->first[i];
    }
  self->at = g_new (guint, self->first[n_tasks] + 1);
  for (guint i = 0; i < n_tasks; i++)
    for (guint d = 0; d < tasks[i].n_depends_on; d++)
      {
        guint needed = find_task (tasks, n_tasks, tasks[i].depends_on[d]);
        if (needed != NOWHERE)
          self->at[next[needed]++] = i;
      }
}

/* An order in which each task comes after all that it depends on; returns how many could be put into it. */
static guint
order_tasks (const Dependents *dependents, guint n_tasks, guint *order)
{
  g_autofree guint *left = g_new0 (guint, n_tasks + 1);
  guint n = 0;

  for (guint e = 0; e < dependents->first[n_tasks]; e++)
    left[dependents->at[e]]++;
  for (guint i = 0; i < n_tasks; i++)
    if (left[i] == 0)
      order[n++] = i;
  for (guint done = 0; done < n; done++)
    for (guint e = dependents->first[order[done]]; e < dependents->first[order[done] + 1]; e++)
      if (--left[dependents->at[e]] == 0)
        order[n++] = dependents->at[e];
  return n;
}

/* A task on a circle: what has no wave is on one or behind one, and following what it needs leads onto it. */
static gint64
find_cycle (const SrvTaskValue *tasks, guint n_tasks)
{
  guint at = 0;

  while (tasks[at].wave != 0)
    at++;
  for (guint step = 0; step < n_tasks; step++)
    for (guint d = 0; d < tasks[at].n_depends_on; d++)
      {
        guint needed = find_task (tasks, n_tasks, tasks[at].depends_on[d]);
        if (needed == NOWHERE || tasks[needed].wave != 0)
          continue;
        at = needed;
        break;
      }
  return tasks[at].id;
}

gboolean
srv_rules_waves (SrvTaskValue *tasks, guint n_tasks, gint64 *out_cycle)
{
  g_auto (Dependents) dependents = { 0 };
  g_autofree guint *order = g_new (guint, n_tasks + 1);

  dependents_fill (&dependents, tasks, n_tasks);
  guint n = order_tasks (&dependents, n_tasks, order);
  for (guint i = 0; i < n_tasks; i++)
    tasks[i].wave = 0;
  for (guint i = 0; i < n; i++)
    {
      SrvTaskValue *task = &tasks[order[i]];
      task->wave = 1;
      for (guint d = 0; d < task->n_depends_on; d++)
        {
          guint needed = find_task (tasks, n_tasks, task->depends_on[d]);
          if (needed != NOWHERE)
            task->wave = MAX (task->wave, tasks[needed].wave + 1);
        }
    }
  if (n < n_tasks && out_cycle)
    *out_cycle = find_cycle (tasks, n_tasks);
  return n == n_tasks;
}

SrvTaskState
srv_rules_readiness (const SrvTaskValue *tasks, guint n_tasks, guint i, gboolean plan_is_active)
{
  const SrvTaskValue *task = &tasks[i];

  if (!plan_is_active || task->awaiting)
    return SRV_TASK_PLANNED;
  for (guint d = 0; d < task->n_depends_on; d++)
    {
      guint needed = find_task (tasks, n_tasks, task->depends_on[d]);
      if (needed == NOWHERE || tasks[needed].state != SRV_TASK_DONE)
        return SRV_TASK_PLANNED;
    }
  return SRV_TASK_READY;
}

/* The ids of the failed tasks that are in the set. (transfer full) */
static GArray *
ids_of (const SrvTaskValue *tasks, guint n_tasks, const guint64 *set)
{
  GArray *ids = g_array_new (FALSE, FALSE, sizeof (gint64));

  for (guint i = 0; i < n_tasks; i++)
    if (set[i / 64] >> (i % 64) & 1)
      g_array_append_val (ids, tasks[i].id);
  return ids;
}

GPtrArray *
srv_rules_blocked (const SrvTaskValue *tasks, guint n_tasks)
{
  g_auto (Dependents) dependents = { 0 };
  g_autofree guint *order = g_new (guint, n_tasks + 1);
  guint n_words = n_tasks / 64 + 1, failed = 0;
  GPtrArray *blocked = g_ptr_array_new_full (n_tasks, (GDestroyNotify) g_array_unref);

  for (guint i = 0; i < n_tasks; i++)
    failed += tasks[i].state == SRV_TASK_FAILED;
  g_autofree guint64 *sets = g_new0 (guint64, failed ? n_tasks * n_words : n_words);
  if (failed > 0)
    dependents_fill (&dependents, tasks, n_tasks);
  guint n = failed > 0 ? order_tasks (&dependents, n_tasks, order) : 0;
  for (guint i = 0; i < n; i++)
    for (guint e = dependents.first[order[i]]; e < dependents.first[order[i] + 1]; e++)
      {
        guint64 *from = &sets[order[i] * n_words], *to = &sets[dependents.at[e] * n_words];
        for (guint w = 0; w < n_words; w++)
          to[w] |= from[w];
        if (tasks[order[i]].state == SRV_TASK_FAILED)
          to[order[i] / 64] |= G_GUINT64_CONSTANT (1) << (order[i] % 64);
      }
  for (guint i = 0; i < n_tasks; i++)
    g_ptr_array_add (blocked,
                     ids_of (tasks, failed ? n_tasks : 0, failed ? &sets[i * n_words] : sets));
  return blocked;
}

void
srv_rules_dependents (const SrvTaskValue *tasks, guint n_tasks, gint64 id, GArray *out)
{
  g_auto (Dependents) dependents = { 0 };
  g_autofree gboolean *taken = g_new0 (gboolean, n_tasks + 1);
  g_autofree guint *todo = g_new (guint, n_tasks + 1);
  guint start = find_task (tasks, n_tasks, id), n_todo = 0;

  if (start == NOWHERE)
    return;
  dependents_fill (&dependents, tasks, n_tasks);
  taken[start] = TRUE;
  todo[n_todo++] = start;
  while (n_todo > 0)
    {
      guint at = todo[--n_todo];
      for (guint e = dependents.first[at]; e < dependents.first[at + 1]; e++)
        if (!taken[dependents.at[e]])
          {
            taken[dependents.at[e]] = TRUE;
            todo[n_todo++] = dependents.at[e];
          }
    }
  for (guint i = 0; i < n_tasks; i++)
    if (taken[i] && i != start)
      g_array_append_val (out, tasks[i].id);
}

SrvPlanState
srv_rules_plan_state (const SrvTaskValue *tasks, guint n_tasks)
{
  guint of[SRV_N_TASK_STATES] = { 0 };
  guint awaiting = 0;

  for (guint i = 0; i < n_tasks; i++)
    {
      of[tasks[i].state]++;
      awaiting += tasks[i].awaiting && tasks[i].state == SRV_TASK_PLANNED;
    }
  if (of[SRV_TASK_RUNNING] + of[SRV_TASK_READY] + of[SRV_TASK_REVIEW] + awaiting > 0)
    return SRV_PLAN_ACTIVE;
  if (of[SRV_TASK_FAILED] > 0)
    return SRV_PLAN_FAILED;
  if (of[SRV_TASK_PLANNED] > 0)
    return SRV_PLAN_ACTIVE;
  return of[SRV_TASK_DONE] > 0 ? SRV_PLAN_DONE : SRV_PLAN_CANCELLED;
}

gboolean
srv_rules_may_rewrite (SrvTaskState from)
{
  return from == SRV_TASK_PLANNED || from == SRV_TASK_READY || from == SRV_TASK_FAILED;
}

/* ------------------------------------------------------- holds, leases, jobs */
gboolean
srv_rules_may_release (gint64 hold_role, SrvRole by)
{
  return by != SRV_ROLE_FOREMAN || hold_role == SRV_ROLE_FOREMAN;
}

gboolean
srv_rules_hold_replaces (gint64 hold_role, SrvRole by)
{
  return srv_rules_may_release (hold_role, by);
}

gboolean
srv_rules_lease_is_over (gint64 expires_us, gint64 ended_us, gint64 now_us)
{
  return ended_us != 0 || expires_us <= now_us;
}

gint64
srv_rules_lost_at (gint64 heartbeat_us, guint interval_s)
{
  return heartbeat_us + (gint64) SRV_MISSED_HEARTBEATS * interval_s * G_USEC_PER_SEC;
}

gboolean
srv_rules_lost_too_often (gint64 lost)
{
  return lost >= SRV_MAX_LOST;
}

gboolean
srv_rules_foreman_is_coming (const SrvProject *project)
{
  return project->command && !project->held && (project->wake || project->n_waiting > 0);
}

SrvForemanState
srv_rules_foreman_state (gboolean has_command, gboolean has_lease, SrvLeaseKind kind)
{
  if (has_lease)
    return kind == SRV_LEASE_TURN ? SRV_FOREMAN_AWAKE : SRV_FOREMAN_ATTACHED;
  return has_command ? SRV_FOREMAN_ASLEEP : SRV_FOREMAN_NONE;
}

SrvOutcome
srv_rules_outcome (gboolean has_command,
                   gboolean is_held,
                   gboolean is_troubled,
                   gboolean has_lease,
                   SrvLeaseKind kind)
{
  if (has_lease)
    return kind == SRV_LEASE_CHAT   ? SRV_OUTCOME_ATTACHED
           : kind == SRV_LEASE_HAND ? SRV_OUTCOME_LEASED
                                    : SRV_OUTCOME_TURN_RUNNING;
  /* First, as a hold that ends would wake nobody. */
  if (!has_command)
    return SRV_OUTCOME_NO_COMMAND;
  if (is_held)
    return SRV_OUTCOME_HOLD;
  return is_troubled ? SRV_OUTCOME_TROUBLE : SRV_OUTCOME_WOKE;
}

const char *
srv_rules_after_lease_text (const SrvProject *project)
{
  if (!project->command)
    return "the project has no foreman that would wake for it when that ends";
  return project->held ? "the foreman wakes for it once that has ended and the hold on the project "
                         "is released"
                       : "the foreman wakes for it when that ends";
}

const char *
srv_rules_outcome_text (SrvOutcome outcome)
{
  switch (outcome)
    {
    case SRV_OUTCOME_WOKE:
      return "The foreman wakes for it now.";
    case SRV_OUTCOME_ATTACHED:
      return "It waits for the chat that is attached to the project, which reads it next.";
    case SRV_OUTCOME_TURN_RUNNING:
      return "It waits: a turn of the foreman is running.";
    case SRV_OUTCOME_NO_COMMAND:
      return "It waits: the project has no foreman, so nothing wakes for it until a preset or a "
             "command is set, or a chat attaches.";
    case SRV_OUTCOME_HOLD:
      return "It waits: the project is on hold, and the foreman wakes once the hold is released.";
    case SRV_OUTCOME_BUSY:
      return "It waits: the engine runs as many turns as it starts at a time, and the foreman "
             "wakes "
             "when one of them ends.";
    case SRV_OUTCOME_TROUBLE:
      return "It waits: the foreman can't run.";
    case SRV_OUTCOME_LEASED:
      return "It waits for whoever holds the project's lease.";
    case SRV_N_OUTCOMES:
      break;
    }
  return "It waits.";
}
