/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random sequences of operations against a model of few rules (plan-model.h): the engine and the model agree after each.
 * Settings change under plans that wait, and time crosses the borders of the hours. SRV_MODEL_SEED and SRV_MODEL_ROUNDS
 * repeat or prolong a run.
 */
#include "config.h"

#include "plan-model.h"

#include <string.h>

#define CALL(actor, op, target, ...) \
  srv_fixture_call (f, actor, SRV_OP_##op, target, __VA_ARGS__, NULL)
#define STEPS 120u

/* ------------------------------------------------------------------- operations */
static guint
pick (Model *model, guint n)
{
  return (guint) g_rand_int_range (model->rand, 0, (gint32) n);
}

/* ", \"paths\": [...]", or nothing for none. */
static void
append_paths (GString *body, guint paths)
{
  if (model_paths[paths].json)
    g_string_append_printf (body, ", \"paths\": %s", model_paths[paths].json);
}

/* A foreman with a lease of its own, for one operation; or the admin, who may do the same and decides by that. */
static SrvActor
somebody (Model *model, gboolean *out_is_foreman)
{
  SrvFixture *f = &model->base;

  *out_is_foreman = pick (model, 2);
  if (!*out_is_foreman)
    return f->admin;
  g_assert_cmpuint (CALL (&f->admin, LEASE_TAKE, "p:~", "{\"holder\": \"turn\"}"), ==, 201);
  return srv_fixture_foreman (f);
}

/* Keeps what the operation answered. */
static void
leave (Model *model, const SrvActor *actor)
{
  SrvFixture *f = &model->base;
  json_t *last = json_incref (f->last);
  guint status = f->status;

  if (actor->role == SRV_ROLE_FOREMAN)
    {
      g_assert_cmpuint (CALL (actor, LEASE_END, srv_fixture_id (actor->lease), NULL), ==, 200);
      model->told = 0; /* it was told */
      json_decref (f->last);
      f->last = json_incref (last);
      f->status = status;
    }
  json_decref (last);
}

static void
op_create (Model *model)
{
  SrvFixture *f = &model->base;
  g_autoptr (GString) body = g_string_new ("{\"title\": \"P\", \"tasks\": [");

  if (model->n_plans == MODEL_MAX_PLANS)
    return;
  ModelPlan *plan = &model->plans[model->n_plans++];
  *plan = (ModelPlan){ .version = 1, .n_tasks = 1 + pick (model, MODEL_MAX_TASKS - 1) };
  for (guint i = 0; i < plan->n_tasks; i++)
    {
      plan->tasks[i].needs = pick (model, 4) ? pick (model, 1u << i) : 0;
      g_string_append_printf (body, "%s{\"title\": \"t%u\", \"brief\": \"b\", \"depends_on\": [",
                              i ? "," : "", i);
      for (guint j = 0, n = 0; j < i; j++)
        if (plan->tasks[i].needs >> j & 1)
          g_string_append_printf (body, "%s\"t%u\"", n++ ? "," : "", j);
      g_string_append (body, "]");
      append_paths (body, plan->tasks[i].paths = pick (model, MODEL_N_PATHS));
      g_string_append (body, "}");
    }
  g_string_append (body, "]}");
  g_assert_cmpuint (CALL (&model->foreman, PLAN_CREATE, NULL, body->str), ==, 201);
  plan->id = srv_fixture_int (f, "id");
  for (guint i = 0; i < plan->n_tasks; i++)
    {
      g_autofree char *path = g_strdup_printf ("tasks.%u.id", i);
      plan->tasks[i].id = srv_fixture_int (f, path);
    }
  model_judge (model, plan, 0);
  model_derive (plan);
}

static ModelPlan *
any_plan (Model *model)
{
  return model->n_plans ? &model->plans[pick (model, model->n_plans)] : NULL;
}

/* All of the plan's own reasons, to be settled for good. */
static void
append_reasons (GString *body, guint reasons)
{
  g_string_append (body, ", \"and_stop_asking\": true, \"reasons\": [");
  for (guint reason = 0, n = 0; reason < SRV_N_REASONS; reason++)
    if (reasons >> reason & 1)
      g_string_append_printf (body, "%s\"%s\"", n++ ? ", " : "", srv_reason_words[reason]);
  g_string_append (body, "]");
}

static void
stop_asking (Model *model, const ModelPlan *plan)
{
  guint count = 0;

  for (guint i = 0; i < plan->n_tasks; i++)
    count += plan->tasks[i].state != SRV_TASK_CANCELLED;
  if (plan->waits >> SRV_REASON_APPROVAL_REQUIRED & 1)
    model->asks = FALSE;
  if (plan->waits >> SRV_REASON_TOO_MANY_TASKS & 1)
    model->max_tasks = MAX (model->max_tasks, count);
  if (plan->waits >> SRV_REASON_PROTECTED_PATH & 1)
    model->protected &= ~plan->globs;
  if (plan->waits >> SRV_REASON_OUTSIDE_HOURS & 1)
    model->hours = 0;
}

static void
op_decide (Model *model, gboolean approves)
{
  SrvFixture *f = &model->base;
  ModelPlan *plan = any_plan (model);

  if (!plan)
    return;
  guint shown = plan->version - (pick (model, 4) == 0) + (pick (model, 8) == 0);
  gboolean stops = approves && pick (model, 6) == 0;
  g_autoptr (GString) body = g_string_new (NULL);
  g_string_printf (body, "{\"version\": %u", MAX (shown, 1));
  if (stops)
    append_reasons (body, plan->waits);
  g_string_append (body, "}");
  const char *id = srv_fixture_id (plan->id);
  guint status = approves ? CALL (&f->client, PLAN_APPROVE, id, body->str)
                          : CALL (&f->client, PLAN_REJECT, id, body->str);
  if (!model_is_waiting (plan))
    {
      srv_fixture_assert_problem (f, 409, "plan_not_waiting", "nothing of it waits");
      return;
    }
  if (MAX (shown, 1) != plan->version)
    {
      srv_fixture_assert_problem (f, 409, "plan_changed",
                                  shown > plan->version ? "yet." : "has changed");
      return;
    }
  g_assert_cmpuint (status, ==, 200);
  plan->version++;
  gboolean whole = plan->state == SRV_PLAN_AWAITING_APPROVAL;
  model->told += !approves;
  if (stops)
    stop_asking (model, plan);
  if (approves)
    model_approve (plan);
  for (guint i = 0; !approves && i < plan->n_tasks; i++)
    if (plan->tasks[i].state != SRV_TASK_CANCELLED && (whole || plan->tasks[i].awaiting))
      model_cancel (plan, i);
  if (!approves && whole)
    plan->state = SRV_PLAN_REJECTED;
  model_derive (plan);
}

static void
op_add (Model *model)
{
  SrvFixture *f = &model->base;
  ModelPlan *plan = any_plan (model);
  guint needs = 0, paths = pick (model, MODEL_N_PATHS);

  if (!plan || plan->n_tasks == MODEL_MAX_TASKS)
    return;
  g_autoptr (GString) body = g_string_new (NULL);
  g_string_printf (body, "{\"title\": \"t%u\", \"brief\": \"b\", \"depends_on\": [", plan->n_tasks);
  guint on = pick (model, plan->n_tasks);
  if (plan->tasks[on].state != SRV_TASK_CANCELLED)
    {
      g_string_append_printf (body, "%" G_GINT64_FORMAT, plan->tasks[on].id);
      needs = 1u << on;
    }
  g_string_append (body, "]");
  append_paths (body, paths);
  g_string_append (body, "}");
  guint status = CALL (&model->foreman, TASK_ADD, srv_fixture_id (plan->id), body->str);
  if (!model_is_open (plan))
    {
      g_assert_cmpuint (status, ==, 409);
      return;
    }
  g_assert_cmpuint (status, ==, 201);
  plan->tasks[plan->n_tasks++]
      = (ModelTask){ .id = srv_fixture_int (f, "task.id"), .needs = needs, .paths = paths };
  plan->version++;
  model_judge (model, plan, 1u << (plan->n_tasks - 1));
  model_derive (plan);
}

static void
op_cancel (Model *model)
{
  ModelPlan *plan = any_plan (model);
  SrvFixture *f = &model->base;

  if (!plan)
    return;
  guint i = pick (model, plan->n_tasks);
  gboolean all = pick (model, 2), is_foreman;
  const SrvActor actor = somebody (model, &is_foreman);
  guint status = CALL (&actor, TASK_CANCEL, srv_fixture_id (plan->tasks[i].id),
                       all ? "{\"dependents\": true}" : "{}");
  leave (model, &actor);
  if (!model_is_open (plan) || plan->tasks[i].state == SRV_TASK_CANCELLED)
    {
      g_assert_cmpuint (status, ==, 409);
      return;
    }
  g_assert_cmpuint (status, ==, 200);
  guint taken = 1u << i, before = 0, changed = 0, cancelled = 0;
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
      {
        changed |= model_cancel (plan, j);
        cancelled |= 1u << j;
      }
  plan->version++;
  model_judge (model, plan, is_foreman ? changed & ~cancelled : 0);
  model_derive (plan);
}

/* Whether some task would wait for itself. */
static gboolean
is_circular (const ModelPlan *plan)
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
append_needs (GString *body, const ModelPlan *plan, guint needs)
{
  g_string_append (body, ", \"depends_on\": [");
  for (guint j = 0, n = 0; j < plan->n_tasks; j++)
    if (needs >> j & 1)
      g_string_append_printf (body, "%s%" G_GINT64_FORMAT, n++ ? "," : "", plan->tasks[j].id);
  g_string_append (body, "]");
}

/* A task cancelled, one rewritten, one added (an index beyond the tasks: none of that); the last two have the same needs
 * and paths. */
typedef struct
{
  guint cancelled, rewritten, needs, paths;
  gboolean adds, is_foreman;
} Amendment;

/* What it makes of the plan. FALSE: it is refused. */
static gboolean
amend (Model *model, ModelPlan *plan, const Amendment *a)
{
  guint n = plan->n_tasks, gone = 0, changed = 0;

  if (a->cancelled < n && plan->tasks[a->cancelled].state == SRV_TASK_CANCELLED)
    return FALSE;
  if (a->cancelled < n)
    changed = model_cancel (plan, a->cancelled);
  for (guint j = 0; j < n; j++)
    gone |= plan->tasks[j].state == SRV_TASK_CANCELLED ? 1u << j : 0;
  if (((a->rewritten < n || a->adds) && (a->needs & gone))
      || (a->rewritten < n && (a->needs >> a->rewritten & 1)))
    return FALSE;
  if (a->rewritten < n)
    {
      ModelTask *task = &plan->tasks[a->rewritten];
      if (task->state != SRV_TASK_PLANNED && task->state != SRV_TASK_READY
          && task->state != SRV_TASK_FAILED)
        return FALSE;
      task->needs = a->needs;
      if (model_paths[a->paths].json)
        task->paths = a->paths; /* not given: they stay */
    }
  if (a->adds)
    plan->tasks[plan->n_tasks++] = (ModelTask){ .needs = a->needs, .paths = a->paths };
  if (is_circular (plan))
    return FALSE;
  model_judge (model, plan,
               (a->rewritten < n ? 1u << a->rewritten : 0) | (a->adds ? 1u << n : 0)
                   | (a->is_foreman ? changed : 0));
  return TRUE;
}

static void
append_amendment (GString *body, const ModelPlan *plan, const Amendment *a)
{
  guint n = plan->n_tasks;

  g_string_append_printf (body, "{\"summary\": \"%u\"", plan->version);
  if (a->cancelled < n)
    g_string_append_printf (body, ", \"cancel\": [%" G_GINT64_FORMAT "]",
                            plan->tasks[a->cancelled].id);
  if (a->rewritten < n)
    {
      g_string_append_printf (body,
                              ", \"update\": [{\"id\": %" G_GINT64_FORMAT ", \"brief\": \"%u\"",
                              plan->tasks[a->rewritten].id, plan->version);
      append_needs (body, plan, a->needs);
      append_paths (body, a->paths);
      g_string_append (body, "}]");
    }
  if (a->adds)
    {
      g_string_append_printf (body, ", \"add\": [{\"title\": \"t%u\", \"brief\": \"b\"", n);
      append_needs (body, plan, a->needs);
      append_paths (body, a->paths);
      g_string_append (body, "}]");
    }
  g_string_append (body, "}");
}

/* Everything that an amendment may do, at once; of what is refused nothing is done. */
static void
op_amend (Model *model)
{
  SrvFixture *f = &model->base;
  ModelPlan *plan = any_plan (model);

  if (!plan)
    return;
  ModelPlan amended = *plan;
  gboolean is_foreman;
  guint n = plan->n_tasks, version = plan->version + (pick (model, 5) == 0);
  Amendment a = { .cancelled = pick (model, 2 * n),
                  .rewritten = pick (model, 2 * n),
                  .needs = pick (model, 2) ? 1u << pick (model, n) : 0,
                  .paths = pick (model, MODEL_N_PATHS),
                  .adds = n < MODEL_MAX_TASKS && pick (model, 2) };
  g_autofree char *match = g_strdup_printf ("If-Match=%u", version);
  g_autoptr (GString) body = g_string_new (NULL);

  append_amendment (body, plan, &a);
  const SrvActor actor = somebody (model, &is_foreman);
  a.is_foreman = is_foreman;
  guint status = CALL (&actor, PLAN_AMEND, srv_fixture_id (plan->id), body->str, match);
  leave (model, &actor);
  if (version != plan->version)
    {
      srv_fixture_assert_problem (f, 412, "version_conflict", "version");
      return;
    }
  if (!model_is_open (plan))
    {
      srv_fixture_assert_problem (f, 409, "plan_over", "can't be changed");
      return;
    }
  if (!amend (model, &amended, &a))
    {
      g_assert_cmpuint (status, ==, 422);
      return;
    }
  g_assert_cmpuint (status, ==, 200);
  if (a.adds)
    {
      g_autofree char *path = g_strdup_printf ("tasks.%u.id", n);
      amended.tasks[n].id = srv_fixture_int (f, path);
    }
  *plan = amended;
  plan->version++;
  model_derive (plan);
}

static void
op_retry (Model *model)
{
  ModelPlan *plan = any_plan (model);
  SrvFixture *f = &model->base;

  if (!plan)
    return;
  ModelTask *task = &plan->tasks[pick (model, plan->n_tasks)];
  guint status = CALL (&model->foreman, TASK_RETRY, srv_fixture_id (task->id), NULL);
  if (!model_is_open (plan)
      || (task->state != SRV_TASK_FAILED && task->state != SRV_TASK_CANCELLED))
    {
      g_assert_cmpuint (status, ==, 409);
      return;
    }
  g_assert_cmpuint (status, ==, 200);
  guint changed = task->state == SRV_TASK_CANCELLED ? 1u << (task - plan->tasks) : 0;
  task->state = SRV_TASK_PLANNED;
  task->lost = task->returned = 0;
  plan->version++;
  model_judge (model, plan, changed);
  model_derive (plan);
}

/* The task with the lowest id that is ready and under no hold. */
static ModelTask *
first_ready (Model *model, ModelPlan **out_plan)
{
  ModelTask *first = NULL;

  for (guint p = 0; !model->held && p < model->n_plans; p++)
    for (guint i = 0; !model->plans[p].held && i < model->plans[p].n_tasks; i++)
      {
        ModelTask *task = &model->plans[p].tasks[i];
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
  ModelPlan *plan = NULL;
  ModelTask *task = first_ready (model, &plan);
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
  if (pick (model, 3) == 0)
    {
      /* Given back at once. */
      g_assert_cmpuint (CALL (&f->worker, JOB_FINISH, srv_fixture_id (task->job),
                              "{\"sequence\": 1, \"outcome\": \"returned\"}"),
                        ==, 200);
      task->attempt--;
      task->job = 0;
      task->state = ++task->returned >= SRV_MAX_RETURNED ? SRV_TASK_FAILED : SRV_TASK_PLANNED;
    }
  model_derive (plan);
}

static void
op_job (Model *model)
{
  static const char *const outcomes[] = { "succeeded", "review", "failed" };
  static const SrvTaskState states[] = { SRV_TASK_DONE, SRV_TASK_REVIEW, SRV_TASK_FAILED };
  SrvFixture *f = &model->base;
  ModelPlan *plan = any_plan (model);

  if (!plan)
    return;
  ModelTask *task = &plan->tasks[pick (model, plan->n_tasks)];
  if (task->state == SRV_TASK_REVIEW)
    {
      gboolean done = pick (model, 2);
      g_assert_cmpuint (CALL (&model->foreman, TASK_UPDATE, srv_fixture_id (task->id),
                              done ? "{\"state\": \"done\"}" : "{\"state\": \"ready\"}"),
                        ==, model_is_open (plan) ? 200 : 409);
      task->state = done ? SRV_TASK_DONE : SRV_TASK_PLANNED;
      plan->version++;
      model_derive (plan);
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
  task->job = task->returned = 0;
  model_derive (plan);
}

static void
op_hold (Model *model)
{
  SrvFixture *f = &model->base;
  ModelPlan *plan = any_plan (model);
  gboolean *held = NULL;
  guint what = pick (model, 3);

  if (!plan)
    return;
  ModelTask *task = &plan->tasks[pick (model, plan->n_tasks)];
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
  gboolean is_over = what > 0 && plan->state != SRV_PLAN_AWAITING_APPROVAL
                     && plan->state != SRV_PLAN_ACTIVE && plan->state != SRV_PLAN_FAILED;
  is_over |= what == 2 && (task->state == SRV_TASK_DONE || task->state == SRV_TASK_CANCELLED);
  g_assert_cmpuint (f->status, ==, place && is_over ? 409 : 200);
  if (place && is_over)
    return;
  if (what > 0 && (place || *held))
    plan->version++;
  *held = place;
  model_derive (plan);
}

static void
op_settings (Model *model)
{
  SrvFixture *f = &model->base;
  g_autoptr (GString) body = g_string_new (NULL);

  model->asks = pick (model, 4) == 0;
  model->max_tasks = 1 + pick (model, MODEL_MAX_TASKS);
  model->protected = pick (model, 2) ? pick (model, 1u << MODEL_N_GLOBS) : 0;
  model->hours = pick (model, 2) ? pick (model, MODEL_N_HOURS) : 0;
  g_string_printf (body,
                   "{\"settings\": {\"approval\": \"%s\", \"max_tasks\": %u, \"hours\": \"%s\", "
                   "\"protected_paths\": [",
                   model->asks ? "always" : "never", model->max_tasks,
                   model_hours_text (model->hours));
  for (guint i = 0, n = 0; i < MODEL_N_GLOBS; i++)
    if (model->protected >> i & 1)
      g_string_append_printf (body, "%s\"%s\"", n++ ? ", " : "", model_globs[i]);
  g_string_append (body, "]}}");
  g_assert_cmpuint (CALL (&f->admin, PROJECT_SET, "p:~", body->str), ==, 200);
  /* What waits goes on waiting: a setting is for what comes. */
}

/* Seconds, or up to a second around the next border of the hours. */
static void
op_pass (Model *model)
{
  SrvFixture *f = &model->base;
  gint64 seconds
      = pick (model, 2) ? 20 + pick (model, 60) : model_border (model) - 1 + pick (model, 3);

  srv_fixture_pass (f, seconds);
  model_tick (model);
}

/* The wall clock is set: jobs go on by the other one, hours are of this one. */
static void
op_clock (Model *model)
{
  static const gint64 steps[] = { -2 * 86400, -3600, -7, 5, 100, 3600, 86400 };

  model->base.skew += steps[pick (model, G_N_ELEMENTS (steps))] * G_USEC_PER_SEC;
  srv_fixture_pass (&model->base, 0);
  model_tick (model);
}

/* Asked by the foreman, answered once by the user; the answer is told the foreman. */
static void
op_question (Model *model)
{
  SrvFixture *f = &model->base;

  if (model->n_questions < MODEL_MAX_QUESTIONS && pick (model, 3) == 0)
    {
      g_assert_cmpuint (CALL (&model->foreman, QUESTION_ADD, "p:~", "{\"text\": \"Which?\"}"), ==,
                        201);
      model->questions[model->n_questions++] = (ModelQuestion){ .id = srv_fixture_int (f, "id") };
      return;
    }
  if (model->n_questions == 0)
    return;
  ModelQuestion *question = &model->questions[pick (model, model->n_questions)];
  CALL (&f->client, QUESTION_ANSWER, srv_fixture_id (question->id), "{\"text\": \"That.\"}");
  if (question->is_answered)
    {
      srv_fixture_assert_problem (f, 409, "question_answered", "is answered already");
      g_assert_cmpstr (srv_fixture_text (f, "answer"), ==, "That.");
      return;
    }
  g_assert_cmpuint (f->status, ==, 200);
  question->is_answered = TRUE;
  model->told++;
}

/* Everything live is cancelled, and the project removed: nothing of it changes or asks any more. */
static void
remove_project (Model *model)
{
  SrvFixture *f = &model->base;

  for (guint p = 0; p < model->n_plans; p++)
    for (guint i = 0; i < model->plans[p].n_tasks; i++)
      if ((model->plans[p].state <= SRV_PLAN_ACTIVE || model->plans[p].state == SRV_PLAN_FAILED)
          && pick (model, 8))
        CALL (&f->admin, TASK_CANCEL, srv_fixture_id (model->plans[p].tasks[i].id), NULL);
  CALL (&f->client, PROJECT_GET, "p:~", NULL);
  gint64 live = srv_fixture_int (f, "live_plans");
  CALL (&f->client, PLAN_LIST, NULL, NULL, "state=failed");
  live += (gint64) json_array_size (srv_fixture_get (f, "items"));
  g_assert_cmpuint (CALL (&f->admin, PROJECT_REMOVE, "p:~", NULL), ==, live ? 409 : 200);
  for (guint p = 0; !live && p < model->n_plans; p++)
    {
      const char *plan = srv_fixture_id (model->plans[p].id);
      const char *task = srv_fixture_id (model->plans[p].tasks[0].id);
      g_assert_cmpuint (CALL (&f->client, PLAN_HOLD, plan, "{\"held\": true}"), ==, 409);
      g_assert_cmpuint (CALL (&f->client, TASK_HOLD, task, "{\"held\": true}"), ==, 409);
      g_assert_cmpuint (CALL (&f->admin, TASK_NOTE, task, "{\"text\": \"n\"}"), ==, 409);
      g_assert_cmpuint (CALL (&f->admin, TASK_RETRY, task, NULL), ==, 409);
      srv_fixture_assert_problem (f, 409, "project_removed", "was removed");
    }
  srv_fixture_assert_needs (f);
  if (!live)
    g_assert_cmpuint (json_array_size (srv_fixture_get (f, "needs_you")), ==, 0);
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
      switch (pick (&model, 18))
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
          pick (&model, 2) ? op_hold (&model) : op_settings (&model);
          break;
        case 13:
        case 14:
          op_pass (&model);
          break;
        case 15:
          op_clock (&model);
          break;
        case 16:
          op_question (&model);
          break;
        default:
          op_job (&model);
          break;
        }
      model_compare (&model);
    }
  remove_project (&model);
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
