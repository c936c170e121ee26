/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-rules: reasons, waves, readiness, ends, holds, leases and lost jobs.
 *
 * Plans have at most SRV_MAX_TASKS tasks; what walks dependencies visits each once.
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

typedef struct
{
  gint64 id;
  guint at;
} Place;

static gint
compare_places (gconstpointer a, gconstpointer b)
{
  gint64 x = ((const Place *) a)->id, y = ((const Place *) b)->id;

  return x < y ? -1 : x > y;
}

/* Where each id stands, in the order of ids. (transfer full) */
static GArray *
index_of (const SrvTaskValue *tasks, guint n_tasks)
{
  GArray *index = g_array_sized_new (FALSE, FALSE, sizeof (Place), n_tasks);

  for (guint i = 0; i < n_tasks; i++)
    {
      Place place = { tasks[i].id, i };
      g_array_append_val (index, place);
    }
  g_array_sort (index, compare_places);
  return index;
}

static guint
find_task (GArray *index, gint64 id)
{
  Place place = { id, 0 };
  guint found;

  return g_array_binary_search (index, &place, compare_places, &found)
             ? g_array_index (index, Place, found).at
             : NOWHERE;
}

/* One pass; FALSE when some dependency has no wave yet. */
static gboolean
set_wave (GArray *index, const SrvTaskValue *tasks, SrvTaskValue *task)
{
  guint wave = 1;

  for (guint i = 0; i < task->n_depends_on; i++)
    {
      guint needed = find_task (index, task->depends_on[i]);
      if (needed == NOWHERE)
        continue;
      if (tasks[needed].wave == 0)
        return FALSE;
      wave = MAX (wave, tasks[needed].wave + 1);
    }
  task->wave = wave;
  return TRUE;
}

/* A task on a circle: what has no wave is on one or behind one, and following what it needs leads onto it. */
static gint64
find_cycle (GArray *index, const SrvTaskValue *tasks, guint n_tasks)
{
  guint at = 0;

  while (tasks[at].wave != 0)
    at++;
  for (guint step = 0; step < n_tasks; step++)
    for (guint d = 0; d < tasks[at].n_depends_on; d++)
      {
        guint needed = find_task (index, tasks[at].depends_on[d]);
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
  g_autoptr (GArray) index = index_of (tasks, n_tasks);
  guint left = n_tasks, before;

  for (guint i = 0; i < n_tasks; i++)
    tasks[i].wave = 0;
  do
    {
      before = left;
      for (guint i = 0; i < n_tasks; i++)
        if (tasks[i].wave == 0 && set_wave (index, tasks, &tasks[i]))
          left--;
    }
  while (left > 0 && left < before);
  if (left > 0 && out_cycle)
    *out_cycle = find_cycle (index, tasks, n_tasks);
  return left == 0;
}

SrvTaskState
srv_rules_readiness (const SrvTaskValue *tasks, guint n_tasks, guint i, gboolean plan_is_active)
{
  const SrvTaskValue *task = &tasks[i];

  if (!plan_is_active || task->awaiting)
    return SRV_TASK_PLANNED;
  for (guint d = 0; d < task->n_depends_on; d++)
    {
      gboolean done = FALSE;
      for (guint j = 0; !done && j < n_tasks; j++)
        done = tasks[j].id == task->depends_on[d] && tasks[j].state == SRV_TASK_DONE;
      if (!done)
        return SRV_TASK_PLANNED;
    }
  return SRV_TASK_READY;
}

void
srv_rules_blocked_by (const SrvTaskValue *tasks, guint n_tasks, guint i, GArray *out)
{
  g_autoptr (GArray) index = index_of (tasks, n_tasks);
  g_autofree gboolean *seen = g_new0 (gboolean, n_tasks);
  g_autofree guint *todo = g_new (guint, n_tasks);
  guint n_todo = 1;

  todo[0] = i;
  seen[i] = TRUE;
  while (n_todo > 0)
    {
      const SrvTaskValue *task = &tasks[todo[--n_todo]];
      for (guint d = 0; d < task->n_depends_on; d++)
        {
          guint needed = find_task (index, task->depends_on[d]);
          if (needed == NOWHERE || seen[needed])
            continue;
          seen[needed] = TRUE;
          todo[n_todo++] = needed;
        }
    }
  for (guint j = 0; j < n_tasks; j++)
    if (seen[j] && j != i && tasks[j].state == SRV_TASK_FAILED)
      g_array_append_val (out, tasks[j].id);
}

static gboolean
needs_one_of (const SrvTaskValue *task, const GArray *ids, gint64 id)
{
  for (guint d = 0; d < task->n_depends_on; d++)
    {
      if (task->depends_on[d] == id)
        return TRUE;
      for (guint i = 0; i < ids->len; i++)
        if (g_array_index (ids, gint64, i) == task->depends_on[d])
          return TRUE;
    }
  return FALSE;
}

void
srv_rules_dependents (const SrvTaskValue *tasks, guint n_tasks, gint64 id, GArray *out)
{
  g_autofree gboolean *taken = g_new0 (gboolean, n_tasks + 1);
  gboolean grew = TRUE;

  while (grew)
    {
      grew = FALSE;
      for (guint i = 0; i < n_tasks; i++)
        if (!taken[i] && tasks[i].id != id && needs_one_of (&tasks[i], out, id))
          {
            taken[i] = grew = TRUE;
            g_array_append_val (out, tasks[i].id);
          }
    }
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
srv_rules_lost_at (gint64 heartbeat_us)
{
  return heartbeat_us + (gint64) SRV_MISSED_HEARTBEATS * SRV_HEARTBEAT_SECONDS * G_USEC_PER_SEC;
}

gboolean
srv_rules_lost_too_often (gint64 lost)
{
  return lost >= SRV_MAX_LOST;
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
  if (is_held)
    return SRV_OUTCOME_HOLD;
  if (!has_command)
    return SRV_OUTCOME_NO_COMMAND;
  return is_troubled ? SRV_OUTCOME_TROUBLE : SRV_OUTCOME_WOKE;
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
      return "It waits: a turn of the foreman is running, and the next one begins when that ends.";
    case SRV_OUTCOME_NO_COMMAND:
      return "It waits: the project has no foreman command, so nothing wakes for it until one is "
             "set or a chat attaches.";
    case SRV_OUTCOME_HOLD:
      return "It waits: the project is on hold, and the foreman wakes once the hold is released.";
    case SRV_OUTCOME_BUSY:
      return "It waits: the engine runs as many turns as it starts at a time, and the foreman wakes "
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
