/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-ops-status: what runs, what waits for whom and what needs the user, in one snapshot.
 *
 * Live things come from partial indexes, finished ones are a count that the project keeps: the cost is that of what is
 * shown, not of what there was.
 */
#include "config.h"

#include "srv-ops.h"
#include "srv-render.h"
#include "srv-trouble.h"

#define MAX_PROJECTS 500u
#define MAX_LIVE 200u
#define MAX_RUNNING 200u
#define MAX_WAITING 50u
#define MAX_NEEDS 50u
#define RECENT 3u
#define MAX_SHOWN 500       /* characters of a brief or a message */
#define MAX_PLAN_BRIEFS 50u /* of one plan */
#define MAX_BRIEFS 500u     /* of all */

typedef struct
{
  SrvCall *call;
  gint64 project;   /* 0: all */
  GHashTable *sets; /* plan id -> SrvPlanSet */
  gint64 n_live, n_finished, n_needs;
  guint n_briefs; /* shown */
} Status;

static SrvPlanSet *
plan_set (Status *self, gint64 id)
{
  SrvPlanSet *set = g_hash_table_lookup (self->sets, &id);
  SrvReply *refusal = NULL;

  if (set)
    return set;
  set = srv_plan_set_load (self->call, id, &refusal);
  srv_reply_free (refusal);
  if (set)
    g_hash_table_insert (self->sets, &set->plan->id, set);
  return set;
}

static json_t *
render_project (Status *self, const SrvProject *project)
{
  json_t *body = srv_render_project (self->call, project);
  g_autoptr (SrvReport) report
      = project->report ? srv_store_get (self->call->store, SRV_RECORD_REPORT, project->report)
                        : NULL;

  json_object_set_new (
      body, "report",
      report ? json_pack ("{s:s, s:o}", "text", report->text, "at", srv_render_time (report->at))
             : json_null ());
  self->n_live += project->n_live;
  self->n_finished += project->n_finished;
  self->n_needs += json_integer_value (json_object_get (body, "needs_user"));
  return body;
}

static json_t *
render_projects (Status *self)
{
  json_t *list = json_array ();

  if (self->project)
    {
      g_autoptr (SrvProject) project
          = srv_store_get (self->call->store, SRV_RECORD_PROJECT, self->project);
      if (project)
        json_array_append_new (list, render_project (self, project));
      return list;
    }
  srv_call_know_leases (self->call);
  g_autoptr (GPtrArray) found
      = srv_store_find (self->call->store, SRV_FIND_PROJECTS, 0, 0, NULL, MAX_PROJECTS);
  for (guint i = 0; i < found->len; i++)
    json_array_append_new (list, render_project (self, g_ptr_array_index (found, i)));
  return list;
}

static json_t *
render_running (Status *self)
{
  g_autoptr (GPtrArray) jobs = srv_store_find (self->call->store, SRV_FIND_JOBS_RUNNING,
                                               self->project, 0, NULL, MAX_RUNNING);
  json_t *list = json_array ();

  for (guint i = 0; i < jobs->len; i++)
    {
      const SrvJob *job = g_ptr_array_index (jobs, i);
      SrvPlanSet *set = plan_set (self, job->plan);
      const SrvTask *task = set ? srv_plan_set_task (set, job->task) : NULL;
      json_t *body = srv_render_job (self->call, job);
      json_object_set_new (body, "task_title", srv_render_text (task ? task->title : NULL));
      json_object_set_new (body, "branch", srv_render_text (task ? task->branch : NULL));
      json_object_set_new (body, "plan_title", srv_render_text (set ? set->plan->title : NULL));
      json_object_set_new (body, "project_name", srv_render_text (set ? set->project->name : NULL));
      json_array_append_new (list, body);
    }
  return list;
}

/* Who decides about a plan is shown what its tasks are told. @tasks: as rendered, in the set's order. */
static void
add_briefs (Status *self, const SrvPlanSet *set, json_t *tasks)
{
  gboolean partial = srv_plan_set_is_partial (set);
  guint end = MIN (self->n_briefs + MAX_PLAN_BRIEFS, MAX_BRIEFS);

  if (!srv_plan_set_is_waiting (set))
    return;
  for (guint i = 0; i < set->tasks->len && self->n_briefs < end; i++)
    {
      const SrvTask *task = g_ptr_array_index (set->tasks, i);
      if (partial ? !task->awaiting : task->state == SRV_TASK_CANCELLED)
        continue;
      g_autoptr (SrvBrief) brief = srv_store_get (self->call->store, SRV_RECORD_BRIEF, task->id);
      self->n_briefs++;
      if (brief)
        json_object_set_new (json_array_get (tasks, i), "brief",
                             srv_render_cut (brief->text, MAX_SHOWN));
    }
}

static guint
append_plans (Status *self, json_t *list, SrvFind what, guint limit)
{
  g_autoptr (GPtrArray) plans
      = srv_store_find (self->call->store, what, self->project, SRV_NO_ID, NULL, limit);

  for (guint i = 0; i < plans->len; i++)
    {
      SrvPlanSet *set = plan_set (self, ((SrvPlan *) g_ptr_array_index (plans, i))->id);
      if (!set)
        continue;
      json_t *body = srv_render_plan (self->call, set, SRV_WITH_TASKS);
      add_briefs (self, set, json_object_get (body, "tasks"));
      json_array_append_new (list, body);
    }
  return plans->len;
}

/* ------------------------------------------------------------------ needs you */
/* What the user decides about: the tasks that wait, and what they may touch. */
static json_t *
waiting_list (const SrvPlanSet *set, gboolean only_awaiting)
{
  json_t *list = json_array ();

  for (guint i = 0; i < set->tasks->len; i++)
    {
      const SrvTask *task = g_ptr_array_index (set->tasks, i);
      if (only_awaiting ? task->awaiting != 0 : task->state != SRV_TASK_CANCELLED)
        json_array_append_new (list,
                               json_pack ("{s:I, s:s, s:o}", "id", (json_int_t) task->id, "title",
                                          task->title, "paths", srv_render_list (task->paths)));
    }
  return list;
}

static json_t *
need_of_plan (const char *kind, const SrvPlanSet *set)
{
  return json_pack ("{s:s, s:I, s:s, s:I, s:I, s:s}", "kind", kind, "project",
                    (json_int_t) set->project->id, "project_name", set->project->name, "plan",
                    (json_int_t) set->plan->id, "version", (json_int_t) set->plan->version, "title",
                    set->plan->title);
}

/* The tasks in @state, each with what its worker said last; nothing when there are none. */
static void
append_need_of_tasks (json_t *list, const SrvPlanSet *set, const char *kind, SrvTaskState state)
{
  json_t *tasks = json_array ();

  for (guint i = 0; i < set->tasks->len; i++)
    {
      const SrvTask *task = g_ptr_array_index (set->tasks, i);
      if (task->state == (gint64) state)
        json_array_append_new (tasks,
                               json_pack ("{s:I, s:s, s:o}", "id", (json_int_t) task->id, "title",
                                          task->title, "reason", srv_render_text (task->reason)));
    }
  if (json_array_size (tasks) == 0)
    {
      json_decref (tasks);
      return;
    }
  json_t *need = need_of_plan (kind, set);
  json_object_set_new (need, "tasks", tasks);
  json_array_append_new (list, need);
}

static void
append_needs_of_plan (json_t *list, SrvPlanSet *set)
{
  if (srv_plan_set_is_waiting (set))
    {
      gboolean partial = srv_plan_set_is_partial (set);
      json_t *need = need_of_plan (partial ? "tasks" : "plan", set);
      json_object_set_new (need, "summary", srv_render_text (set->plan->summary));
      json_object_set_new (need, "waits", srv_render_waits (set));
      json_object_set_new (need, partial ? "awaiting" : "tasks", waiting_list (set, partial));
      json_array_append_new (list, need);
    }
  append_need_of_tasks (list, set, "failed", SRV_TASK_FAILED);
}

/* Foremen that can't run; how many. */
static guint
append_troubles (Status *self, json_t *list)
{
  g_autoptr (GPtrArray) projects = srv_store_find (self->call->store, SRV_FIND_PROJECTS_TROUBLED,
                                                   self->project, 0, NULL, MAX_NEEDS);

  for (guint i = 0; i < projects->len; i++)
    {
      const SrvProject *project = g_ptr_array_index (projects, i);
      g_autofree char *text = srv_trouble_text (self->call, project);
      json_auto_t *trouble = srv_trouble_render (project, self->call->now);
      json_array_append_new (list, json_pack ("{s:s, s:I, s:s, s:s, s:O, s:O}", "kind", "foreman",
                                              "project", (json_int_t) project->id, "project_name",
                                              project->name, "text", text, "failures",
                                              json_object_get (trouble, "failures"), "next_try",
                                              json_object_get (trouble, "next_try")));
    }
  return projects->len;
}

static guint
append_needs_of_plans (Status *self, json_t *list)
{
  SrvFind what = self->project ? SRV_FIND_PROJECT_PLANS_NEEDING : SRV_FIND_PLANS_NEEDING;
  g_autoptr (GPtrArray) plans
      = srv_store_find (self->call->store, what, self->project, 0, NULL, MAX_NEEDS);

  for (guint i = plans->len; i > 0; i--)
    {
      SrvPlanSet *set = plan_set (self, ((SrvPlan *) g_ptr_array_index (plans, i - 1))->id);
      if (set)
        append_needs_of_plan (list, set);
    }
  return plans->len;
}

static guint
append_reviews (Status *self, json_t *list)
{
  SrvFind what = self->project ? SRV_FIND_PROJECT_PLANS_IN_REVIEW : SRV_FIND_PLANS_IN_REVIEW;
  g_autoptr (GPtrArray) plans
      = srv_store_find (self->call->store, what, self->project, 0, NULL, MAX_NEEDS);

  for (guint i = plans->len; i > 0; i--)
    {
      SrvPlanSet *set = plan_set (self, ((SrvPlan *) g_ptr_array_index (plans, i - 1))->id);
      if (set)
        append_need_of_tasks (list, set, "review", SRV_TASK_REVIEW);
    }
  return plans->len;
}

static guint
append_questions (Status *self, json_t *list)
{
  SrvFind what = self->project ? SRV_FIND_PROJECT_QUESTIONS_OPEN : SRV_FIND_QUESTIONS_OPEN;
  g_autoptr (GPtrArray) questions
      = srv_store_find (self->call->store, what, self->project, 0, NULL, MAX_NEEDS);

  for (guint i = questions->len; i > 0; i--)
    {
      json_t *need = srv_render_question (self->call, g_ptr_array_index (questions, i - 1));
      json_object_set (need, "question", json_object_get (need, "id"));
      json_object_set_new (need, "kind", json_string ("question"));
      json_array_append_new (list, need);
    }
  return questions->len;
}

/* What was read and got no answer; what was given up is told once, with the foreman's trouble. */
static guint
append_unanswered (Status *self, json_t *list)
{
  SrvFind what
      = self->project ? SRV_FIND_PROJECT_MESSAGES_NEEDING_ALONE : SRV_FIND_MESSAGES_NEEDING_ALONE;
  g_autoptr (GPtrArray) messages
      = srv_store_find (self->call->store, what, self->project, 0, NULL, MAX_NEEDS);

  for (guint i = messages->len; i > 0; i--)
    {
      const SrvMessage *message = g_ptr_array_index (messages, i - 1);
      json_auto_t *all = srv_render_message (self->call, message);
      json_array_append_new (list, json_pack ("{s:s, s:O, s:O, s:O, s:o, s:O, s:O}", "kind",
                                              "message", "message", json_object_get (all, "id"),
                                              "project", json_object_get (all, "project"),
                                              "project_name", json_object_get (all, "project_name"),
                                              "text", srv_render_cut (message->text, MAX_SHOWN),
                                              "sent", json_object_get (all, "sent"), "turn_ended",
                                              json_object_get (all, "turn_ended")));
    }
  return messages->len;
}

static json_t *
render_needs (Status *self, gint64 *out_shown)
{
  json_t *list = json_array ();

  *out_shown = append_needs_of_plans (self, list);
  *out_shown += append_reviews (self, list);
  *out_shown += append_questions (self, list);
  *out_shown += append_unanswered (self, list);
  *out_shown += append_troubles (self, list);
  return list;
}

/* --------------------------------------------------------------------- status */
static void
append_messages (Status *self, json_t *body)
{
  g_autoptr (GPtrArray) messages = srv_store_find (
      self->call->store, self->project ? SRV_FIND_PROJECT_MESSAGES_OPEN : SRV_FIND_MESSAGES_OPEN,
      self->project, SRV_NO_ID, NULL, MAX_WAITING + 1);
  json_t *list = json_array ();

  for (guint i = MIN (messages->len, MAX_WAITING); i > 0; i--)
    json_array_append_new (list,
                           srv_render_message (self->call, g_ptr_array_index (messages, i - 1)));
  json_object_set_new (body, "waiting_messages", list);
  json_object_set_new (body, "waiting_messages_more", json_boolean (messages->len > MAX_WAITING));
}

SrvReply *
srv_op_STATUS (SrvCall *call)
{
  static const char *const known[] = { "project", "repo_url", "all", NULL };
  Status self = { .call = call };
  SrvReply *refusal = NULL;
  gint64 shown_needs = 0;

  srv_call_query_known (call, known);
  gboolean all = srv_call_query_flag (call, "all");
  if (srv_call_is_bad (call))
    return srv_call_refuse (call);
  self.project = srv_call_project_filter (call, &refusal);
  if (refusal)
    return refusal;
  self.sets = g_hash_table_new_full (g_int64_hash, g_int64_equal, NULL,
                                     (GDestroyNotify) srv_plan_set_free);
  json_t *projects = render_projects (&self);
  json_t *running = render_running (&self);
  json_t *plans = json_array ();
  guint live = append_plans (
      &self, plans, self.project ? SRV_FIND_PROJECT_PLANS_LIVE : SRV_FIND_PLANS_LIVE, MAX_LIVE);
  guint finished = append_plans (
      &self, plans, self.project ? SRV_FIND_PROJECT_PLANS_FINISHED : SRV_FIND_PLANS_FINISHED,
      all ? SRV_MAX_PAGE : RECENT);
  json_t *needs = render_needs (&self, &shown_needs);
  g_autoptr (SrvEvent) newest
      = srv_store_find_one (call->store, SRV_FIND_EVENTS_BEFORE, 0, SRV_NO_ID, NULL);
  json_t *body = json_pack (
      "{s:o, s:I, s:o, s:o, s:o, s:I, s:I, s:o, s:I}", "at", srv_render_time (call->now), "seq",
      (json_int_t) (newest ? newest->id : 0), "projects", projects, "running", running, "plans",
      plans, "live_more", (json_int_t) MAX (self.n_live - live, 0), "finished_more",
      (json_int_t) MAX (self.n_finished - finished, 0), "needs_you", needs, "needs_you_more",
      (json_int_t) MAX (self.n_needs - shown_needs, 0));
  append_messages (&self, body);
  g_hash_table_unref (self.sets);
  return srv_reply_json (200, body);
}
