/* SPDX-License-Identifier: Apache-2.0 */
/* plan-model: see the header. Nothing of the engine's own rules is used here. */
#include "config.h"

#include "plan-model.h"

#include <string.h>

#define CALL(actor, op, target, ...) \
  srv_fixture_call (f, actor, SRV_OP_##op, target, __VA_ARGS__, NULL)
#define WEEK 10080u /* minutes */
#define BIT(reason) (1u << SRV_REASON_##reason)

const char *const model_globs[MODEL_N_GLOBS] = { "ci/**", "secret/*.key" };
const ModelPaths model_paths[MODEL_N_PATHS] = {
  { NULL, 3 }, /* none given: it may touch anything */
  { "[\"src/**\"]", 0 }, { "[\"ci/build.sh\", \"src/main.c\"]", 1 }, { "[\"secret/a*\"]", 2 },
  { "[\"**\"]", 3 },
};

/* ----------------------------------------------------------------------- hours */
/* One window of days (bits, 0: Monday), in minutes of the zone's day. */
static const struct
{
  const char *text;
  guint days, from, length, offset;
} hours_of[MODEL_N_HOURS] = {
  { "any", 0x7f, 0, 1440, 0 },
  { "09:00-17:00", 0x7f, 540, 480, 0 },
  { "Mon-Fri 22:00-06:00 UTC", 0x1f, 1320, 480, 0 },
  { "Sat,Sun 00:00-24:00", 0x60, 0, 1440, 0 },
  { "Fri-Mon 08:00-12:00 +01:00", 0x71, 480, 240, 60 },
};

const char *
model_hours_text (guint hours)
{
  return hours_of[hours].text;
}

static gboolean
is_within_hours (guint hours, gint64 now)
{
  /* The first day of 1970 was a Thursday. */
  guint minute = (guint) ((now / G_TIME_SPAN_MINUTE + hours_of[hours].offset + 3 * 1440) % WEEK);

  for (guint day = 0; day < 7; day++)
    if ((hours_of[hours].days >> day & 1)
        && (minute + WEEK - (day * 1440 + hours_of[hours].from)) % WEEK < hours_of[hours].length)
      return TRUE;
  return FALSE;
}

gint64
model_wall (const Model *self)
{
  return self->base.now + self->base.skew;
}

gint64
model_border (const Model *self)
{
  gint64 now = model_wall (self), at = now;
  gboolean is_open = is_within_hours (self->hours, now);

  for (guint i = 0; i < 24 * 7 && is_within_hours (self->hours, at) == is_open; i++)
    at = (at / G_TIME_SPAN_HOUR + 1) * G_TIME_SPAN_HOUR;
  return (at - now) / G_USEC_PER_SEC;
}

/* ----------------------------------------------------------------------- rules */
void
model_derive (ModelPlan *plan)
{
  gboolean approved = plan->state == SRV_PLAN_ACTIVE || plan->state == SRV_PLAN_FAILED
                      || plan->state == SRV_PLAN_DONE;
  guint of[SRV_N_TASK_STATES] = { 0 }, awaiting = 0, begun = 0;

  for (guint i = 0; i < plan->n_tasks; i++)
    {
      ModelTask *task = &plan->tasks[i];
      if (task->state == SRV_TASK_PLANNED || task->state == SRV_TASK_READY)
        {
          gboolean ready = approved && !task->awaiting;
          for (guint j = 0; j < plan->n_tasks; j++)
            if (task->needs >> j & 1)
              ready = ready && plan->tasks[j].state == SRV_TASK_DONE;
          task->state = ready ? SRV_TASK_READY : SRV_TASK_PLANNED;
        }
      of[task->state]++;
      awaiting += task->awaiting;
      /* A failed one that was rewritten waits too, but begins nothing: it is retried first. */
      begun += task->awaiting && task->state == SRV_TASK_PLANNED;
    }
  if (plan->state == SRV_PLAN_AWAITING_APPROVAL && of[SRV_TASK_CANCELLED] == plan->n_tasks)
    plan->state = SRV_PLAN_CANCELLED;
  if (plan->state != SRV_PLAN_AWAITING_APPROVAL && !awaiting)
    plan->waits = plan->globs = plan->hours = 0;
  if (!approved)
    return;
  if (of[SRV_TASK_RUNNING] || of[SRV_TASK_READY] || of[SRV_TASK_REVIEW] || begun)
    plan->state = SRV_PLAN_ACTIVE;
  else if (of[SRV_TASK_FAILED])
    plan->state = SRV_PLAN_FAILED;
  else if (of[SRV_TASK_PLANNED])
    plan->state = SRV_PLAN_ACTIVE;
  else
    plan->state = of[SRV_TASK_DONE] ? SRV_PLAN_DONE : SRV_PLAN_CANCELLED;
}

gboolean
model_is_open (const ModelPlan *plan)
{
  return plan->state == SRV_PLAN_AWAITING_APPROVAL || plan->state == SRV_PLAN_ACTIVE
         || plan->state == SRV_PLAN_FAILED;
}

gboolean
model_is_waiting (const ModelPlan *plan)
{
  if (plan->state == SRV_PLAN_AWAITING_APPROVAL)
    return TRUE;
  for (guint i = 0; i < plan->n_tasks; i++)
    if (model_is_open (plan) && plan->tasks[i].awaiting)
      return TRUE;
  return FALSE;
}

void
model_approve (ModelPlan *plan)
{
  for (guint i = 0; i < plan->n_tasks; i++)
    plan->tasks[i].awaiting = FALSE;
  if (plan->state == SRV_PLAN_AWAITING_APPROVAL)
    plan->state = SRV_PLAN_ACTIVE;
}

/* Why @plan would wait by the settings of now, and the globs that its tasks @judged (bits) may touch. */
static guint
reasons_now (const Model *self, const ModelPlan *plan, guint judged, guint *out_globs)
{
  guint count = 0;

  *out_globs = 0;
  for (guint i = 0; i < plan->n_tasks; i++)
    {
      const ModelTask *task = &plan->tasks[i];
      count += task->state != SRV_TASK_CANCELLED;
      if ((judged >> i & 1) && task->state != SRV_TASK_CANCELLED && task->state != SRV_TASK_DONE)
        *out_globs |= model_paths[task->paths].touches & self->protected;
    }
  return (self->asks ? BIT (APPROVAL_REQUIRED) : 0)
         | (count > self->max_tasks ? BIT (TOO_MANY_TASKS) : 0)
         | (*out_globs ? BIT (PROTECTED_PATH) : 0)
         | (is_within_hours (self->hours, model_wall (self)) ? 0 : BIT (OUTSIDE_HOURS));
}

static void
wait_for (const Model *self, ModelPlan *plan, guint reasons, guint globs)
{
  plan->waits = reasons;
  plan->globs |= globs;
  plan->hours = self->hours;
}

/* A plan that waits goes on waiting, for what it waited for and for what there is now (but hours are those of now); new
 * and changed tasks of one at work wait only for what there is now. */
void
model_judge (const Model *self, ModelPlan *plan, guint changed)
{
  gboolean whole = plan->state == SRV_PLAN_AWAITING_APPROVAL;
  guint globs, reasons = reasons_now (self, plan, whole ? G_MAXUINT : changed, &globs);

  if (whole)
    {
      reasons |= plan->waits & ~BIT (OUTSIDE_HOURS);
      if (reasons)
        wait_for (self, plan, reasons, globs);
      else
        model_approve (plan);
      return;
    }
  if (!changed || !reasons)
    return;
  wait_for (self, plan, plan->waits | reasons, globs);
  for (guint i = 0; i < plan->n_tasks; i++)
    plan->tasks[i].awaiting |= changed >> i & 1;
}

/* What waits for its hours alone is judged anew once they have come. */
static void
open_window (Model *self, ModelPlan *plan)
{
  guint awaiting = 0, globs;

  if (!model_is_waiting (plan) || plan->waits != BIT (OUTSIDE_HOURS)
      || !is_within_hours (plan->hours, model_wall (self)))
    return;
  for (guint i = 0; i < plan->n_tasks; i++)
    awaiting |= plan->tasks[i].awaiting ? 1u << i : 0;
  guint judged = plan->state == SRV_PLAN_AWAITING_APPROVAL ? G_MAXUINT : awaiting;
  guint reasons = reasons_now (self, plan, judged, &globs);
  plan->version++;
  if (reasons)
    wait_for (self, plan, reasons, globs);
  else
    model_approve (plan);
  model_derive (plan);
}

static void
lose_jobs (Model *self, ModelPlan *plan)
{
  for (guint i = 0; i < plan->n_tasks; i++)
    {
      ModelTask *task = &plan->tasks[i];
      if (task->state != SRV_TASK_RUNNING || self->base.now < task->heartbeat + 90 * G_USEC_PER_SEC)
        continue;
      task->job = 0;
      task->state = ++task->lost >= 3 ? SRV_TASK_FAILED : SRV_TASK_PLANNED;
      model_derive (plan);
    }
}

void
model_tick (Model *self)
{
  for (guint p = 0; p < self->n_plans; p++)
    lose_jobs (self, &self->plans[p]);
  for (guint p = 0; p < self->n_plans; p++)
    open_window (self, &self->plans[p]);
}

guint
model_cancel (ModelPlan *plan, guint task)
{
  guint changed = 0;

  for (guint j = 0; plan->tasks[task].state != SRV_TASK_DONE && j < plan->n_tasks; j++)
    if ((plan->tasks[j].needs >> task & 1)
        && (plan->tasks[j].state == SRV_TASK_PLANNED || plan->tasks[j].state == SRV_TASK_READY
            || plan->tasks[j].state == SRV_TASK_FAILED))
      changed |= 1u << j;
  plan->tasks[task].state = SRV_TASK_CANCELLED;
  plan->tasks[task].awaiting = FALSE;
  plan->tasks[task].job = 0;
  for (guint j = 0; j < plan->n_tasks; j++)
    plan->tasks[j].needs &= ~(1u << task);
  return changed;
}

/* ------------------------------------------------------------------- comparing */
static void
compare_task (SrvFixture *f, const ModelPlan *plan, guint i)
{
  const ModelTask *task = &plan->tasks[i];
  json_t *shown = json_array_get (srv_fixture_get (f, "tasks"), i);
  guint needs = 0;
  gsize at;
  json_t *id;

  json_array_foreach (json_object_get (shown, "depends_on"), at,
                      id) for (guint j = 0; j < plan->n_tasks; j++) needs
      |= plan->tasks[j].id == json_integer_value (id) ? 1u << j : 0;
  g_assert_cmpint (json_integer_value (json_object_get (shown, "id")), ==, task->id);
  g_assert_cmpstr (json_string_value (json_object_get (shown, "state")), ==,
                   srv_task_state_words[task->state]);
  g_assert_cmpuint (needs, ==, task->needs);
  g_assert_cmpint (json_is_true (json_object_get (shown, "awaiting")), ==, task->awaiting);
  g_assert_cmpint (json_integer_value (json_object_get (shown, "attempt")), ==, task->attempt);
  g_assert_cmpint (json_integer_value (json_object_get (shown, "lost")), ==, task->lost);
  g_assert_cmpint (!json_is_null (json_object_get (shown, "hold")), ==, task->held);
}

/* What the reason says: the globs, or the hours. */
static void
compare_reason (const ModelPlan *plan, gint reason, const char *text)
{
  for (guint i = 0; reason == SRV_REASON_PROTECTED_PATH && i < MODEL_N_GLOBS; i++)
    g_assert_cmpint (strstr (text, model_globs[i]) != NULL, ==, plan->globs >> i & 1);
  if (reason == SRV_REASON_OUTSIDE_HOURS)
    g_assert_nonnull (strstr (text, hours_of[plan->hours].text));
}

static guint
reasons_shown (SrvFixture *f, const ModelPlan *plan)
{
  guint reasons = 0;
  gsize at;
  json_t *wait;

  json_array_foreach (srv_fixture_get (f, "waits"), at, wait)
  {
    gint reason
        = srv_word_find (srv_reason_words, json_string_value (json_object_get (wait, "reason")));
    g_assert_cmpint (reason, >=, 0);
    reasons |= 1u << reason;
    compare_reason (plan, reason, json_string_value (json_object_get (wait, "text")));
  }
  return reasons;
}

static void
compare_questions (SrvFixture *f, const Model *self, guint open)
{
  guint shown = 0;
  gsize at;
  json_t *need;

  json_array_foreach (srv_fixture_get (f, "needs_you"), at, need)
  {
    gboolean is_known = FALSE;
    if (strcmp (json_string_value (json_object_get (need, "kind")), "question") != 0)
      continue;
    for (guint q = 0; q < self->n_questions; q++)
      is_known
          |= !self->questions[q].is_answered
             && self->questions[q].id == json_integer_value (json_object_get (need, "question"));
    g_assert_true (is_known);
    shown++;
  }
  g_assert_cmpuint (shown, ==, open);
}

void
model_compare (Model *self)
{
  SrvFixture *f = &self->base;
  guint live = 0, needing = 0, open = 0;

  for (guint p = 0; p < self->n_plans; p++)
    {
      const ModelPlan *plan = &self->plans[p];
      gboolean failed = FALSE, review = FALSE;
      g_assert_cmpuint (CALL (&f->client, PLAN_GET, srv_fixture_id (plan->id), NULL), ==, 200);
      g_assert_cmpstr (srv_fixture_text (f, "state"), ==, srv_plan_state_words[plan->state]);
      g_assert_cmpint (srv_fixture_int (f, "version"), ==, plan->version);
      g_assert_cmpuint (reasons_shown (f, plan), ==, model_is_waiting (plan) ? plan->waits : 0);
      for (guint i = 0; i < plan->n_tasks; i++)
        {
          compare_task (f, plan, i);
          failed |= plan->tasks[i].state == SRV_TASK_FAILED;
          review |= plan->tasks[i].state == SRV_TASK_REVIEW;
        }
      live += plan->state <= SRV_PLAN_ACTIVE;
      /* The project has no foreman: reviews need the user. */
      needing += (model_is_open (plan) && (model_is_waiting (plan) || failed)) + review;
    }
  for (guint q = 0; q < self->n_questions; q++)
    open += !self->questions[q].is_answered;
  g_assert_cmpuint (CALL (&f->client, PROJECT_GET, "p:~", NULL), ==, 200);
  g_assert_cmpint (srv_fixture_int (f, "live_plans"), ==, live);
  g_assert_cmpint (srv_fixture_int (f, "needs_user"), ==, needing + open);
  g_assert_cmpint (srv_fixture_int (f, "waiting_messages"), ==, self->told);
  srv_fixture_assert_needs (f); /* of the status */
  compare_questions (f, self, open);
}
