/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random sequences of operations against a model of twenty lines of rules: the engine and the model agree after each.
 *
 * The model knows plans of up to six tasks: who depends on whom, states, attempts, versions, holds. It derives everything
 * anew each time, as slowly as it likes. SRV_MODEL_SEED and SRV_MODEL_ROUNDS repeat or prolong a run.
 */
#include "config.h"

#include "srv-fixture.h"
#include "srv-model.h"
#include "srv-rules.h"

#include <string.h>

#define CALL(actor, op, target, ...) \
  srv_fixture_call (f, actor, SRV_OP_##op, target, __VA_ARGS__, NULL)
#define MAX_PLANS 6u
#define MAX_TASKS 6u
#define STEPS 120u

typedef struct
{
  gint64 id;
  guint needs; /* bits of earlier tasks */
  SrvTaskState state;
  gboolean awaiting, held;
  guint attempt, lost;
  gint64 job;
  guint sequence;
  gint64 heartbeat;
} Task;

typedef struct
{
  gint64 id;
  SrvPlanState state;
  guint version, n_tasks;
  gboolean held;
  guint waits; /* reasons, while something waits */
  Task tasks[MAX_TASKS];
} Plan;

typedef struct
{
  SrvFixture base;
  GRand *rand;
  SrvActor foreman;
  gboolean asks;   /* approval: always */
  guint max_tasks; /* of a plan that starts by itself */
  gboolean held;   /* the project */
  Plan plans[MAX_PLANS];
  guint n_plans;
} Model;

/* ------------------------------------------------------------- the model's rules */
static void
derive (Plan *plan)
{
  gboolean approved = plan->state == SRV_PLAN_ACTIVE || plan->state == SRV_PLAN_FAILED
                      || plan->state == SRV_PLAN_DONE;
  guint of[SRV_N_TASK_STATES] = { 0 }, awaiting = 0;

  for (guint i = 0; i < plan->n_tasks; i++)
    {
      Task *task = &plan->tasks[i];
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
    }
  if (plan->state == SRV_PLAN_AWAITING_APPROVAL && of[SRV_TASK_CANCELLED] == plan->n_tasks)
    plan->state = SRV_PLAN_CANCELLED;
  if (plan->state != SRV_PLAN_AWAITING_APPROVAL && !awaiting)
    plan->waits = 0;
  if (!approved)
    return;
  if (of[SRV_TASK_RUNNING] || of[SRV_TASK_READY] || of[SRV_TASK_REVIEW] || awaiting)
    plan->state = SRV_PLAN_ACTIVE;
  else if (of[SRV_TASK_FAILED])
    plan->state = SRV_PLAN_FAILED;
  else if (of[SRV_TASK_PLANNED])
    plan->state = SRV_PLAN_ACTIVE;
  else
    plan->state = of[SRV_TASK_DONE] ? SRV_PLAN_DONE : SRV_PLAN_CANCELLED;
}

static gboolean
is_open (const Plan *plan)
{
  return plan->state == SRV_PLAN_AWAITING_APPROVAL || plan->state == SRV_PLAN_ACTIVE
         || plan->state == SRV_PLAN_FAILED;
}

static gboolean
is_waiting (const Plan *plan)
{
  if (plan->state == SRV_PLAN_AWAITING_APPROVAL)
    return TRUE;
  for (guint i = 0; i < plan->n_tasks; i++)
    if (is_open (plan) && plan->tasks[i].awaiting)
      return TRUE;
  return FALSE;
}

static void
approve (Plan *plan)
{
  for (guint i = 0; i < plan->n_tasks; i++)
    plan->tasks[i].awaiting = FALSE;
  if (plan->state == SRV_PLAN_AWAITING_APPROVAL)
    plan->state = SRV_PLAN_ACTIVE;
}

static guint
reasons_now (const Model *model, const Plan *plan)
{
  guint count = 0;

  for (guint i = 0; i < plan->n_tasks; i++)
    count += plan->tasks[i].state != SRV_TASK_CANCELLED;
  return (model->asks ? 1u << SRV_REASON_APPROVAL_REQUIRED : 0)
         | (count > model->max_tasks ? 1u << SRV_REASON_TOO_MANY_TASKS : 0);
}

/* A plan that waits goes on waiting, for what it waited for and for what there is now; new and changed tasks (bits) of one
 * at work wait only for what there is now. */
static void
judge (const Model *model, Plan *plan, guint changed)
{
  guint reasons = reasons_now (model, plan);

  if (plan->state == SRV_PLAN_AWAITING_APPROVAL)
    {
      plan->waits |= reasons;
      if (!plan->waits)
        approve (plan);
      return;
    }
  if (!changed || !reasons)
    return;
  plan->waits |= reasons;
  for (guint i = 0; i < plan->n_tasks; i++)
    plan->tasks[i].awaiting |= changed >> i & 1;
}

static void
cancel (Plan *plan, guint i)
{
  plan->tasks[i].state = SRV_TASK_CANCELLED;
  plan->tasks[i].awaiting = FALSE;
  plan->tasks[i].job = 0;
  for (guint j = 0; j < plan->n_tasks; j++)
    plan->tasks[j].needs &= ~(1u << i);
}

/* ------------------------------------------------------------------- comparing */
static void
compare_task (SrvFixture *f, const Plan *plan, guint i)
{
  const Task *task = &plan->tasks[i];
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

static guint
reasons_shown (SrvFixture *f)
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
  }
  return reasons;
}

static void
compare (Model *model)
{
  SrvFixture *f = &model->base;
  guint live = 0, needing = 0;

  for (guint p = 0; p < model->n_plans; p++)
    {
      const Plan *plan = &model->plans[p];
      gboolean failed = FALSE, review = FALSE;
      g_assert_cmpuint (CALL (&f->client, PLAN_GET, srv_fixture_id (plan->id), NULL), ==, 200);
      g_assert_cmpstr (srv_fixture_text (f, "state"), ==, srv_plan_state_words[plan->state]);
      g_assert_cmpint (srv_fixture_int (f, "version"), ==, plan->version);
      g_assert_cmpuint (reasons_shown (f), ==, is_waiting (plan) ? plan->waits : 0);
      for (guint i = 0; i < plan->n_tasks; i++)
        {
          compare_task (f, plan, i);
          failed |= plan->tasks[i].state == SRV_TASK_FAILED;
          review |= plan->tasks[i].state == SRV_TASK_REVIEW;
        }
      live += plan->state <= SRV_PLAN_ACTIVE;
      /* The project has no foreman: reviews need the user. */
      needing += (is_open (plan) && (is_waiting (plan) || failed)) + review;
    }
  g_assert_cmpuint (CALL (&f->client, PROJECT_GET, "p:~", NULL), ==, 200);
  g_assert_cmpint (srv_fixture_int (f, "live_plans"), ==, live);
  g_assert_cmpint (srv_fixture_int (f, "needs_user"), ==, needing);
  srv_fixture_assert_needs (f);
}

/* ------------------------------------------------------------------- operations */
static guint
pick (Model *model, guint n)
{
  return (guint) g_rand_int_range (model->rand, 0, (gint32) n);
}

static void
op_create (Model *model)
{
  SrvFixture *f = &model->base;
  g_autoptr (GString) body = g_string_new ("{\"title\": \"P\", \"tasks\": [");

  if (model->n_plans == MAX_PLANS)
    return;
  Plan *plan = &model->plans[model->n_plans++];
  *plan = (Plan){ .version = 1, .n_tasks = 1 + pick (model, MAX_TASKS - 1) };
  for (guint i = 0; i < plan->n_tasks; i++)
    {
      plan->tasks[i].needs = pick (model, 4) ? pick (model, 1u << i) : 0;
      g_string_append_printf (body, "%s{\"title\": \"t%u\", \"brief\": \"b\", \"depends_on\": [",
                              i ? "," : "", i);
      for (guint j = 0, n = 0; j < i; j++)
        if (plan->tasks[i].needs >> j & 1)
          g_string_append_printf (body, "%s\"t%u\"", n++ ? "," : "", j);
      g_string_append (body, "]}");
    }
  g_string_append (body, "]}");
  g_assert_cmpuint (CALL (&model->foreman, PLAN_CREATE, NULL, body->str), ==, 201);
  plan->id = srv_fixture_int (f, "id");
  for (guint i = 0; i < plan->n_tasks; i++)
    {
      g_autofree char *path = g_strdup_printf ("tasks.%u.id", i);
      plan->tasks[i].id = srv_fixture_int (f, path);
    }
  judge (model, plan, 0);
  derive (plan);
}

static Plan *
any_plan (Model *model)
{
  return model->n_plans ? &model->plans[pick (model, model->n_plans)] : NULL;
}

static void
op_decide (Model *model, gboolean approves)
{
  SrvFixture *f = &model->base;
  Plan *plan = any_plan (model);

  if (!plan)
    return;
  guint shown = plan->version - (pick (model, 4) == 0);
  g_autofree char *body = g_strdup_printf ("{\"version\": %u}", MAX (shown, 1));
  const char *id = srv_fixture_id (plan->id);
  guint status = approves ? CALL (&f->client, PLAN_APPROVE, id, body)
                          : CALL (&f->client, PLAN_REJECT, id, body);
  if (!is_waiting (plan))
    {
      srv_fixture_assert_problem (f, 409, "plan_not_waiting", "nothing of it waits");
      return;
    }
  if (MAX (shown, 1) != plan->version)
    {
      srv_fixture_assert_problem (f, 409, "plan_changed", "has changed");
      return;
    }
  g_assert_cmpuint (status, ==, 200);
  plan->version++;
  gboolean whole = plan->state == SRV_PLAN_AWAITING_APPROVAL;
  if (approves)
    approve (plan);
  for (guint i = 0; !approves && i < plan->n_tasks; i++)
    if (plan->tasks[i].state != SRV_TASK_CANCELLED && (whole || plan->tasks[i].awaiting))
      cancel (plan, i);
  if (!approves && whole)
    plan->state = SRV_PLAN_REJECTED;
  derive (plan);
}

static void
op_add (Model *model)
{
  SrvFixture *f = &model->base;
  Plan *plan = any_plan (model);
  guint needs = 0;

  if (!plan || plan->n_tasks == MAX_TASKS)
    return;
  g_autoptr (GString) body = g_string_new (NULL);
  g_string_printf (body, "{\"title\": \"t%u\", \"brief\": \"b\", \"depends_on\": [", plan->n_tasks);
  guint on = pick (model, plan->n_tasks);
  if (plan->tasks[on].state != SRV_TASK_CANCELLED)
    {
      g_string_append_printf (body, "%" G_GINT64_FORMAT, plan->tasks[on].id);
      needs = 1u << on;
    }
  g_string_append (body, "]}");
  guint status = CALL (&model->foreman, TASK_ADD, srv_fixture_id (plan->id), body->str);
  if (!is_open (plan))
    {
      g_assert_cmpuint (status, ==, 409);
      return;
    }
  g_assert_cmpuint (status, ==, 201);
  plan->tasks[plan->n_tasks++] = (Task){ .id = srv_fixture_int (f, "task.id"), .needs = needs };
  plan->version++;
  judge (model, plan, 1u << (plan->n_tasks - 1));
  derive (plan);
}

static void
op_cancel (Model *model)
{
  Plan *plan = any_plan (model);
  SrvFixture *f = &model->base;

  if (!plan)
    return;
  guint i = pick (model, plan->n_tasks);
  gboolean all = pick (model, 2);
  guint status = CALL (&model->foreman, TASK_CANCEL, srv_fixture_id (plan->tasks[i].id),
                       all ? "{\"dependents\": true}" : "{}");
  if (!is_open (plan) || plan->tasks[i].state == SRV_TASK_CANCELLED)
    {
      g_assert_cmpuint (status, ==, 409);
      return;
    }
  g_assert_cmpuint (status, ==, 200);
  guint taken = 1u << i, before = 0;
  while (all && taken != before)
    {
      before = taken;
      for (guint j = 0; j < plan->n_tasks; j++)
        if (plan->tasks[j].needs & taken)
          taken |= 1u << j;
    }
  for (guint j = 0; j < plan->n_tasks; j++)
    if ((taken >> j & 1) && plan->tasks[j].state != SRV_TASK_CANCELLED
        && (j == i || plan->tasks[j].state != SRV_TASK_DONE))
      cancel (plan, j);
  plan->version++;
  judge (model, plan, 0);
  derive (plan);
}

/* Whether some task would wait for itself. */
static gboolean
is_circular (const Plan *plan)
{
  guint done = 0, before;

  do
    {
      before = done;
      for (guint i = 0; i < plan->n_tasks; i++)
        if (!(plan->tasks[i].needs & ~done))
          done |= 1u << i;
    }
  while (done != before);
  return done != (1u << plan->n_tasks) - 1;
}

static void
append_needs (GString *body, const Plan *plan, guint needs)
{
  g_string_append (body, ", \"depends_on\": [");
  for (guint j = 0, n = 0; j < plan->n_tasks; j++)
    if (needs >> j & 1)
      g_string_append_printf (body, "%s%" G_GINT64_FORMAT, n++ ? "," : "", plan->tasks[j].id);
  g_string_append (body, "]");
}

/* What an amendment makes of the plan: a task cancelled, one rewritten, one added (an index beyond the tasks: none of
 * that). FALSE: it is refused. */
static gboolean
amend (Model *model, Plan *plan, guint cancelled, guint rewritten, guint needs, gboolean adds)
{
  guint n = plan->n_tasks, gone = 0;

  if (cancelled < n && plan->tasks[cancelled].state == SRV_TASK_CANCELLED)
    return FALSE;
  if (cancelled < n)
    cancel (plan, cancelled);
  for (guint j = 0; j < n; j++)
    gone |= plan->tasks[j].state == SRV_TASK_CANCELLED ? 1u << j : 0;
  if (((rewritten < n || adds) && (needs & gone)) || (rewritten < n && (needs >> rewritten & 1)))
    return FALSE;
  if (rewritten < n)
    {
      Task *task = &plan->tasks[rewritten];
      if (task->state != SRV_TASK_PLANNED && task->state != SRV_TASK_READY
          && task->state != SRV_TASK_FAILED)
        return FALSE;
      task->needs = needs;
    }
  if (adds)
    plan->tasks[plan->n_tasks++] = (Task){ .needs = needs };
  if (is_circular (plan))
    return FALSE;
  judge (model, plan, (rewritten < n ? 1u << rewritten : 0) | (adds ? 1u << n : 0));
  return TRUE;
}

/* Everything that an amendment may do, at once; of what is refused nothing is done. */
static void
op_amend (Model *model)
{
  SrvFixture *f = &model->base;
  Plan *plan = any_plan (model);

  if (!plan)
    return;
  Plan amended = *plan;
  guint n = plan->n_tasks, cancelled = pick (model, 2 * n), rewritten = pick (model, 2 * n);
  guint needs = pick (model, 2) ? 1u << pick (model, n) : 0;
  gboolean adds = n < MAX_TASKS && pick (model, 2);
  guint version = plan->version + (pick (model, 5) == 0);
  g_autofree char *match = g_strdup_printf ("If-Match=%u", version);
  g_autoptr (GString) body = g_string_new (NULL);

  g_string_printf (body, "{\"summary\": \"%u\"", plan->version);
  if (cancelled < n)
    g_string_append_printf (body, ", \"cancel\": [%" G_GINT64_FORMAT "]",
                            plan->tasks[cancelled].id);
  if (rewritten < n)
    {
      g_string_append_printf (body,
                              ", \"update\": [{\"id\": %" G_GINT64_FORMAT ", \"brief\": \"%u\"",
                              plan->tasks[rewritten].id, plan->version);
      append_needs (body, plan, needs);
      g_string_append (body, "}]");
    }
  if (adds)
    {
      g_string_append_printf (body, ", \"add\": [{\"title\": \"t%u\", \"brief\": \"b\"", n);
      append_needs (body, plan, needs);
      g_string_append (body, "}]");
    }
  g_string_append (body, "}");
  guint status = CALL (&model->foreman, PLAN_AMEND, srv_fixture_id (plan->id), body->str, match);
  if (version != plan->version)
    {
      srv_fixture_assert_problem (f, 412, "version_conflict", "version");
      return;
    }
  if (!is_open (plan))
    {
      srv_fixture_assert_problem (f, 409, "plan_over", "can't be changed");
      return;
    }
  if (!amend (model, &amended, cancelled, rewritten, needs, adds))
    {
      g_assert_cmpuint (status, ==, 422);
      return;
    }
  g_assert_cmpuint (status, ==, 200);
  if (adds)
    {
      g_autofree char *path = g_strdup_printf ("tasks.%u.id", n);
      amended.tasks[n].id = srv_fixture_int (f, path);
    }
  *plan = amended;
  plan->version++;
  derive (plan);
}

static void
op_retry (Model *model)
{
  Plan *plan = any_plan (model);
  SrvFixture *f = &model->base;

  if (!plan)
    return;
  Task *task = &plan->tasks[pick (model, plan->n_tasks)];
  guint status = CALL (&model->foreman, TASK_RETRY, srv_fixture_id (task->id), NULL);
  if (!is_open (plan) || (task->state != SRV_TASK_FAILED && task->state != SRV_TASK_CANCELLED))
    {
      g_assert_cmpuint (status, ==, 409);
      return;
    }
  g_assert_cmpuint (status, ==, 200);
  guint changed = task->state == SRV_TASK_CANCELLED ? 1u << (task - plan->tasks) : 0;
  task->state = SRV_TASK_PLANNED;
  task->lost = 0;
  plan->version++;
  judge (model, plan, changed);
  derive (plan);
}

/* The task with the lowest id that is ready and under no hold. */
static Task *
first_ready (Model *model, Plan **out_plan)
{
  Task *first = NULL;

  for (guint p = 0; !model->held && p < model->n_plans; p++)
    for (guint i = 0; !model->plans[p].held && i < model->plans[p].n_tasks; i++)
      {
        Task *task = &model->plans[p].tasks[i];
        if (task->state != SRV_TASK_READY || task->held || (first && first->id < task->id))
          continue;
        first = task;
        *out_plan = &model->plans[p];
      }
  return first;
}

static void
op_claim (Model *model)
{
  SrvFixture *f = &model->base;
  Plan *plan = NULL;
  Task *task = first_ready (model, &plan);
  guint status = CALL (&f->worker, JOB_CLAIM, NULL, "{\"worker\": \"w\"}");

  g_assert_cmpuint (status, ==, 200);
  g_assert_cmpint (json_is_null (srv_fixture_get (f, "job")), ==, task == NULL);
  if (!task)
    return;
  g_assert_cmpint (srv_fixture_int (f, "task.id"), ==, task->id);
  task->state = SRV_TASK_RUNNING;
  task->attempt++;
  task->job = srv_fixture_int (f, "job.id");
  task->sequence = 0;
  task->heartbeat = f->now;
  derive (plan);
}

static void
op_job (Model *model)
{
  static const char *const outcomes[] = { "succeeded", "review", "failed" };
  static const SrvTaskState states[] = { SRV_TASK_DONE, SRV_TASK_REVIEW, SRV_TASK_FAILED };
  SrvFixture *f = &model->base;
  Plan *plan = any_plan (model);

  if (!plan)
    return;
  Task *task = &plan->tasks[pick (model, plan->n_tasks)];
  if (task->state == SRV_TASK_REVIEW)
    {
      gboolean done = pick (model, 2);
      g_assert_cmpuint (CALL (&model->foreman, TASK_UPDATE, srv_fixture_id (task->id),
                              done ? "{\"state\": \"done\"}" : "{\"state\": \"ready\"}"),
                        ==, is_open (plan) ? 200 : 409);
      task->state = done ? SRV_TASK_DONE : SRV_TASK_PLANNED;
      plan->version++;
      derive (plan);
    }
  if (task->state != SRV_TASK_RUNNING)
    return;
  const char *job = srv_fixture_id (task->job);
  guint outcome = pick (model, 4);
  if (outcome == 3)
    {
      g_autofree char *line
          = g_strdup_printf ("{\"sequence\": %u, \"text\": \"x\"}", ++task->sequence);
      g_assert_cmpuint (CALL (&f->worker, JOB_EVENT, job, line), ==, 201);
      g_assert_cmpuint (CALL (&f->worker, JOB_EVENT, job, line), ==, 200);
      task->heartbeat = f->now;
      return;
    }
  g_autofree char *end = g_strdup_printf ("{\"sequence\": %u, \"outcome\": \"%s\"}",
                                          ++task->sequence, outcomes[outcome]);
  g_assert_cmpuint (CALL (&f->worker, JOB_FINISH, job, end), ==, 200);
  g_assert_cmpuint (CALL (&f->worker, JOB_FINISH, job, end), ==, 200);
  task->state = states[outcome];
  task->job = 0;
  derive (plan);
}

static void
op_hold (Model *model)
{
  SrvFixture *f = &model->base;
  Plan *plan = any_plan (model);
  gboolean *held = NULL;
  guint what = pick (model, 3);

  if (!plan)
    return;
  Task *task = &plan->tasks[pick (model, plan->n_tasks)];
  gboolean place = pick (model, 3) == 0;
  const char *body = place ? "{\"held\": true}" : "{\"held\": false}";
  if (what == 0)
    {
      held = &model->held;
      CALL (&f->client, PROJECT_HOLD, "p:~", body);
    }
  else if (what == 1)
    {
      held = &plan->held;
      CALL (&f->client, PLAN_HOLD, srv_fixture_id (plan->id), body);
    }
  else
    {
      held = &task->held;
      CALL (&f->client, TASK_HOLD, srv_fixture_id (task->id), body);
    }
  g_assert_cmpuint (f->status, ==, 200);
  if (what > 0 && (place || *held))
    plan->version++;
  *held = place;
  derive (plan);
}

static void
op_ask (Model *model)
{
  SrvFixture *f = &model->base;

  model->asks = pick (model, 3) == 0;
  model->max_tasks = 1 + pick (model, MAX_TASKS);
  g_autofree char *body
      = g_strdup_printf ("{\"settings\": {\"approval\": \"%s\", \"max_tasks\": %u}}",
                         model->asks ? "always" : "never", model->max_tasks);
  g_assert_cmpuint (CALL (&f->admin, PROJECT_SET, "p:~", body), ==, 200);
  /* What waits goes on waiting: a setting is for what comes. */
}

static void
op_pass (Model *model)
{
  SrvFixture *f = &model->base;

  srv_fixture_pass (f, 20 + pick (model, 60));
  for (guint p = 0; p < model->n_plans; p++)
    for (guint i = 0; i < model->plans[p].n_tasks; i++)
      {
        Task *task = &model->plans[p].tasks[i];
        if (task->state != SRV_TASK_RUNNING || f->now < task->heartbeat + 90 * G_USEC_PER_SEC)
          continue;
        task->job = 0;
        task->state = ++task->lost >= 3 ? SRV_TASK_FAILED : SRV_TASK_PLANNED;
        derive (&model->plans[p]);
      }
}

static void
run_round (guint32 seed)
{
  Model model = { .rand = g_rand_new_with_seed (seed), .asks = TRUE, .max_tasks = 12 };
  SrvFixture *f = &model.base;

  srv_fixture_open (f, NULL);
  g_assert_cmpuint (
      CALL (&f->admin, PROJECT_ADD, NULL, "{\"repo_url\": \"https://example.org/a/b\"}"), ==, 201);
  /* An admin may do what a foreman may; no lease runs out under it. */
  model.foreman = f->admin;
  for (guint step = 0; step < STEPS; step++)
    {
      switch (pick (&model, 14))
        {
        case 0:
        case 1:
          op_create (&model);
          break;
        case 2:
          op_decide (&model, TRUE);
          break;
        case 3:
          op_decide (&model, pick (&model, 3) != 0);
          break;
        case 4:
          op_add (&model);
          break;
        case 5:
          op_cancel (&model);
          break;
        case 6:
          op_retry (&model);
          break;
        case 7:
        case 8:
          op_claim (&model);
          break;
        case 9:
          op_job (&model);
          break;
        case 10:
        case 11:
          op_amend (&model);
          break;
        case 12:
          pick (&model, 2) ? op_hold (&model) : op_pass (&model);
          break;
        default:
          pick (&model, 4) ? op_job (&model) : op_ask (&model);
          break;
        }
      compare (&model);
    }
  srv_fixture_close (f);
  g_rand_free (model.rand);
}

static void
test_model (void)
{
  srv_fixture_rounds (run_round, 30);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/srv-model/agrees", test_model);
  return g_test_run ();
}
