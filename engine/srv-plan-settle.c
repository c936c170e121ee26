/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-plan-settle: every change of a plan ends here, so that readiness, states, counts and what needs the user are derived
 * in one place and can't drift apart.
 */
#include "config.h"

#include "srv-plan-set.h"

static void
settle_tasks (SrvCall *call, SrvPlanSet *self, gboolean is_approved)
{
  for (guint i = 0; i < self->tasks->len; i++)
    {
      SrvTask *task = g_ptr_array_index (self->tasks, i);
      if (task->state != SRV_TASK_PLANNED && task->state != SRV_TASK_READY)
        continue;
      SrvTaskState now_is = srv_rules_readiness (self->values, self->tasks->len, i, is_approved);
      if (now_is == (SrvTaskState) task->state)
        continue;
      task->state = now_is;
      self->values[i].state = now_is;
      srv_plan_set_change (self, task, call->now);
      if (now_is == SRV_TASK_READY)
        srv_call_event (call, SRV_EVENT_TASK_READY, SRV_ABOUT_TASK (task), 0, task->title);
    }
}

/* "3 done, 1 failed": the states that tasks are in, what is over first. (transfer full) */
static char *
counts_text (const SrvPlanSet *self)
{
  static const SrvTaskState order[]
      = { SRV_TASK_DONE,    SRV_TASK_FAILED, SRV_TASK_CANCELLED, SRV_TASK_REVIEW,
          SRV_TASK_RUNNING, SRV_TASK_READY,  SRV_TASK_PLANNED };
  g_autoptr (GString) text = g_string_new (NULL);
  guint of[SRV_N_TASK_STATES] = { 0 };

  for (guint i = 0; i < self->tasks->len; i++)
    of[self->values[i].state]++;
  for (guint i = 0; i < G_N_ELEMENTS (order); i++)
    if (of[order[i]] > 0)
      g_string_append_printf (text, "%s%u %s", text->len > 0 ? ", " : "", of[order[i]],
                              srv_task_state_words[order[i]]);
  return g_strdup (text->str);
}

static void
say_plan_state (SrvCall *call, SrvPlanSet *self)
{
  SrvPlan *plan = self->plan;
  gboolean is_over = !srv_plan_is_live (plan);
  g_autofree char *counts = counts_text (self);

  plan->finished = is_over ? call->now : 0;
  if (plan->state == SRV_PLAN_DONE || plan->state == SRV_PLAN_FAILED)
    self->project->wake = 1;
  if (plan->state == SRV_PLAN_DONE)
    srv_call_eventf (call, SRV_EVENT_PLAN_DONE, plan, "The plan is done. Its tasks: %s.", counts);
  else if (plan->state == SRV_PLAN_FAILED)
    srv_call_eventf (call, SRV_EVENT_PLAN_FAILED, plan,
                     "Nothing of the plan can go on. Its tasks: %s.", counts);
  else if (plan->state == SRV_PLAN_CANCELLED)
    srv_call_eventf (call, SRV_EVENT_PLAN_CANCELLED, plan, "All tasks of the plan are cancelled.");
  else if (plan->state == SRV_PLAN_ACTIVE && self->was_finished)
    srv_call_eventf (call, SRV_EVENT_PLAN_ACTIVE, plan, "The plan is at work again.");
}

static void
settle_plan (SrvCall *call, SrvPlanSet *self, gboolean is_approved)
{
  SrvPlan *plan = self->plan;
  SrvPlanState before = (SrvPlanState) plan->state;
  guint failed = 0, reviews = 0;

  if (is_approved)
    plan->state = srv_rules_plan_state (self->values, self->tasks->len);
  else if (plan->state == SRV_PLAN_AWAITING_APPROVAL
           && srv_rules_task_count (self->values, self->tasks->len) == 0)
    plan->state = SRV_PLAN_CANCELLED;
  if (plan->state != before)
    say_plan_state (call, self);
  for (guint i = 0; i < self->tasks->len; i++)
    {
      failed += self->values[i].state == SRV_TASK_FAILED;
      reviews += self->values[i].state == SRV_TASK_REVIEW;
    }
  gboolean is_open
      = !self->project->removed && (srv_plan_is_live (plan) || plan->state == SRV_PLAN_FAILED);
  plan->needs = is_open && (srv_plan_set_is_waiting (self) || failed > 0);
  plan->reviews = reviews;
  if (!srv_plan_set_is_waiting (self))
    {
      plan->waits = 0;
      srv_text_set (&plan->waits_hours, NULL);
      srv_text_set (&plan->waits_globs, NULL);
    }
  plan->by_clock = plan->waits == 1 << SRV_REASON_OUTSIDE_HOURS;
  plan->updated = call->now;
}

static void
count_in_project (SrvPlanSet *self)
{
  gboolean live = srv_plan_is_live (self->plan), needing = self->plan->needs != 0;
  gboolean in_review = self->plan->reviews != 0;

  self->project->n_live += (gint) live - (gint) self->was_live;
  self->project->n_finished += (gint) !live - (gint) self->was_finished;
  self->project->n_needs += (gint) needing - (gint) self->was_needing;
  self->project->n_reviews += (gint) in_review - (gint) self->was_in_review;
  self->was_in_review = in_review;
  self->was_live = live;
  self->was_finished = !live;
  self->was_needing = needing;
}

void
srv_plan_set_settle (SrvCall *call, SrvPlanSet *self)
{
  SrvPlanState state = (SrvPlanState) self->plan->state;
  gboolean is_approved
      = state == SRV_PLAN_ACTIVE || state == SRV_PLAN_FAILED || state == SRV_PLAN_DONE;

  srv_plan_set_drop_cancelled (self, call->now);
  srv_plan_set_refresh (self);
  settle_tasks (call, self, is_approved);
  settle_plan (call, self, is_approved);
  count_in_project (self);
  if (self->is_new)
    srv_store_add (call->store, self->plan);
  else
    srv_store_put (call->store, self->plan);
  self->is_new = FALSE;
  for (guint i = 0; i < self->tasks->len; i++)
    {
      SrvTask *task = g_ptr_array_index (self->tasks, i);
      if (g_hash_table_remove (self->added, task))
        srv_store_add (call->store, task);
      else if (g_hash_table_contains (self->changed, task))
        srv_store_put (call->store, task);
    }
  g_hash_table_remove_all (self->changed);
  srv_store_put (call->store, self->project);
}
