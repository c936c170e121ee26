/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-plan-judge: why a plan, or what is new of a plan at work, waits, and what ends that.
 *
 * The settings are asked when something is made or changed and when the hours come; between, what they said then stands
 * in the plan (waits, waits_hours, waits_globs), whatever they are by now.
 */
#include "config.h"

#include "srv-plan-set.h"

/* -------------------------------------------------------------------- waiting */
static gboolean
has_awaiting (const SrvPlanSet *self)
{
  for (guint i = 0; i < self->tasks->len; i++)
    if (((const SrvTask *) g_ptr_array_index (self->tasks, i))->awaiting)
      return TRUE;
  return FALSE;
}

gboolean
srv_plan_set_is_partial (const SrvPlanSet *self)
{
  return (self->plan->state == SRV_PLAN_ACTIVE || self->plan->state == SRV_PLAN_FAILED)
         && has_awaiting (self);
}

gboolean
srv_plan_set_is_waiting (const SrvPlanSet *self)
{
  return self->plan->state == SRV_PLAN_AWAITING_APPROVAL || srv_plan_set_is_partial (self);
}

guint
srv_plan_set_reasons (const SrvPlanSet *self)
{
  return srv_plan_set_is_waiting (self) ? (guint) self->plan->waits : 0;
}

char **
srv_plan_set_touched (const SrvPlanSet *self)
{
  return srv_globs_parse (self->plan->waits_globs);
}

void
srv_plan_set_approve (SrvPlanSet *self, gint64 now)
{
  for (guint i = 0; i < self->tasks->len; i++)
    {
      SrvTask *task = g_ptr_array_index (self->tasks, i);
      if (!task->awaiting)
        continue;
      task->awaiting = 0;
      srv_plan_set_change (self, task, now);
    }
  if (self->plan->state == SRV_PLAN_AWAITING_APPROVAL)
    self->plan->state = SRV_PLAN_ACTIVE;
}

void
srv_plan_set_decided (SrvCall *call, SrvPlanSet *self, SrvDecision decision)
{
  SrvPlan *plan = self->plan;

  plan->decision = decision;
  plan->decided_version = plan->version;
  plan->decided_role = srv_call_actor_role (call);
  plan->decided_at = call->now;
  srv_text_set (&plan->decided_name, call->actor.name);
}

void
srv_plan_set_await (SrvPlanSet *self, SrvTask *task)
{
  if (self->plan->state == SRV_PLAN_AWAITING_APPROVAL
      || g_hash_table_contains (self->judging, task))
    return;
  g_hash_table_insert (self->judging, task, GINT_TO_POINTER (task->awaiting));
  task->awaiting = 1;
}

/* ------------------------------------------------------------------- judging */
/* The globs of the waiting plan and those that its judgement found now. */
static void
add_globs (SrvPlan *plan, char **touched)
{
  g_auto (GStrv) before = srv_globs_parse (plan->waits_globs);
  json_auto_t *list = json_array ();

  for (guint i = 0; before && before[i]; i++)
    json_array_append_new (list, json_string (before[i]));
  for (guint i = 0; touched[i] && json_array_size (list) < SRV_MAX_GLOBS; i++)
    if (!before || !g_strv_contains ((const char *const *) before, touched[i]))
      json_array_append_new (list, json_string (touched[i]));
  g_free (plan->waits_globs);
  plan->waits_globs = json_array_size (list) ? json_dumps (list, JSON_COMPACT) : NULL;
}

/* What the settings say now of all the tasks, or of those that are being judged. */
static guint
judge_now (SrvPlanSet *self, gboolean only_judged, gint64 now, char ***out_touched)
{
  guint n = self->tasks->len;

  srv_plan_set_refresh (self);
  for (guint i = 0; i < n; i++)
    {
      const SrvTask *task = g_ptr_array_index (self->tasks, i);
      gboolean is_judged = g_hash_table_contains (self->judging, task);
      if (is_judged || !only_judged)
        self->values[i].paths = srv_globs_parse (task->paths);
      self->values[i].awaiting = is_judged;
    }
  guint reasons
      = srv_rules_reasons (&self->settings, self->values, n, only_judged, now, out_touched);
  for (guint i = 0; i < n; i++)
    {
      g_clear_pointer (&self->values[i].paths, g_strfreev);
      self->values[i].awaiting = ((SrvTask *) g_ptr_array_index (self->tasks, i))->awaiting != 0;
    }
  return reasons;
}

static void
wait_for (SrvPlanSet *self, guint reasons, char **touched)
{
  self->plan->waits = reasons;
  srv_text_set (&self->plan->waits_hours, self->settings.hours);
  add_globs (self->plan, touched);
}

static void
start_plan (SrvCall *call, SrvPlanSet *self)
{
  srv_call_eventf (call, SRV_EVENT_PLAN_ACTIVE, self->plan,
                   "The plan starts: nothing in the project's settings holds it.");
  srv_plan_set_approve (self, call->now);
}

static void
judge_plan (SrvCall *call, SrvPlanSet *self)
{
  guint only_hours = 1u << SRV_REASON_OUTSIDE_HOURS;
  g_autofree char **touched = NULL;
  guint reasons = judge_now (self, FALSE, call->now, &touched);

  reasons |= (guint) self->plan->waits & ~only_hours;
  if (reasons != 0)
    wait_for (self, reasons, touched);
  else
    start_plan (call, self);
}

static void
judge_tasks (SrvCall *call, SrvPlanSet *self)
{
  g_autofree char **touched = NULL;
  GHashTableIter iter;
  gpointer key, waited;
  guint reasons = judge_now (self, TRUE, call->now, &touched);

  if (reasons != 0)
    {
      wait_for (self, reasons | (guint) self->plan->waits, touched);
      return;
    }
  g_hash_table_iter_init (&iter, self->judging);
  while (g_hash_table_iter_next (&iter, &key, &waited))
    ((SrvTask *) key)->awaiting = GPOINTER_TO_INT (waited);
}

void
srv_plan_set_judge (SrvCall *call, SrvPlanSet *self)
{
  if (self->plan->state == SRV_PLAN_AWAITING_APPROVAL)
    judge_plan (call, self);
  else if (g_hash_table_size (self->judging) > 0)
    judge_tasks (call, self);
  g_hash_table_remove_all (self->judging);
}

void
srv_plan_set_open (SrvCall *call, SrvPlanSet *self)
{
  gboolean partial = srv_plan_set_is_partial (self);
  g_autofree char **touched = NULL;

  for (guint i = 0; partial && i < self->tasks->len; i++)
    if (((SrvTask *) g_ptr_array_index (self->tasks, i))->awaiting)
      g_hash_table_add (self->judging, g_ptr_array_index (self->tasks, i));
  guint reasons = judge_now (self, partial, call->now, &touched);
  g_hash_table_remove_all (self->judging);
  if (reasons != 0)
    wait_for (self, reasons, touched);
  else if (partial)
    srv_plan_set_approve (self, call->now);
  else
    start_plan (call, self);
}

void
srv_plan_set_rewritten (SrvCall *call, SrvPlanSet *self, SrvTask *task)
{
  if (task->state == SRV_TASK_READY)
    task->state = SRV_TASK_PLANNED;
  srv_plan_set_await (self, task);
  srv_plan_set_change (self, task, call->now);
}
