/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-plan-set: every change of a plan ends in settle, so that readiness, states, counts and what needs the user are
 * derived in one place and can't drift apart.
 */
#include "config.h"

#include "srv-plan-set.h"

#include <string.h>

/* ----------------------------------------------------------- parts of records */
char **
srv_globs_parse (const char *json)
{
  json_auto_t *list = json ? json_loads (json, 0, NULL) : NULL;
  gsize n = json_array_size (list);

  if (n == 0)
    return NULL;
  char **globs = g_new0 (char *, n + 1);
  for (gsize i = 0; i < n; i++)
    globs[i] = g_strdup (json_string_value (json_array_get (list, i)));
  return globs;
}

GArray *
srv_ids_parse (const char *text)
{
  GArray *ids = g_array_new (FALSE, FALSE, sizeof (gint64));

  while (text && *text)
    {
      char *end = NULL;
      gint64 id = g_ascii_strtoll (text, &end, 10);
      if (end == text)
        break;
      g_array_append_val (ids, id);
      text = *end == ',' ? end + 1 : end;
    }
  return ids;
}

char *
srv_ids_text (const GArray *ids)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < ids->len; i++)
    g_string_append_printf (text, "%s%" G_GINT64_FORMAT, i ? "," : "",
                            g_array_index (ids, gint64, i));
  return g_string_free (text, ids->len == 0);
}

void
srv_settings_of (const SrvProject *project, SrvSettings *out)
{
  *out = (SrvSettings){ .approval = project->approval,
                        .max_tasks = project->max_tasks,
                        .protected_paths = srv_globs_parse (project->protected_paths),
                        .hours = g_strdup (project->hours),
                        .turn_minutes = project->turn_minutes };
}

/* ------------------------------------------------------------ loading, values */
static gboolean
is_live (const SrvPlan *plan)
{
  return plan->state == SRV_PLAN_AWAITING_APPROVAL || plan->state == SRV_PLAN_ACTIVE;
}

SrvPlanSet *
srv_plan_set_new (SrvCall *call, SrvPlan *plan, SrvProject *project)
{
  SrvPlanSet *self = g_new0 (SrvPlanSet, 1);

  self->plan = plan;
  self->project = project;
  self->is_new = plan->id == 0;
  self->changed = g_hash_table_new (NULL, NULL);
  self->added = g_hash_table_new (NULL, NULL);
  self->judging = g_hash_table_new (NULL, NULL);
  if (self->is_new)
    {
      plan->id = srv_store_next_id (call->store);
      self->tasks = g_ptr_array_new_with_free_func (srv_record_free);
    }
  else
    {
      self->tasks
          = srv_store_find (call->store, SRV_FIND_TASKS_OF_PLAN, plan->id, 0, NULL, SRV_MAX_TASKS);
      self->was_live = is_live (plan);
      self->was_finished = !self->was_live;
      self->was_needing = plan->needs != 0;
      self->was_in_review = plan->reviews != 0;
    }
  srv_settings_of (project, &self->settings);
  srv_plan_set_refresh (self);
  return self;
}

SrvPlanSet *
srv_plan_set_load (SrvCall *call, gint64 id, SrvReply **out_refusal)
{
  SrvPlan *plan = srv_call_get (call, SRV_RECORD_PLAN, id, out_refusal);
  SrvProject *project
      = plan ? srv_store_get (call->store, SRV_RECORD_PROJECT, plan->project) : NULL;

  if (plan && project)
    return srv_plan_set_new (call, plan, project);
  if (plan)
    *out_refusal = srv_reply_missing ("project", plan->project);
  srv_record_free (plan);
  return NULL;
}

static void
clear_values (SrvPlanSet *self, guint n)
{
  for (guint i = 0; i < n; i++)
    {
      g_free (self->values[i].depends_on);
      g_strfreev (self->values[i].paths);
    }
  g_clear_pointer (&self->values, g_free);
  g_clear_pointer (&self->blocked, g_ptr_array_unref);
}

/* The values end with one of id 0, so that they know their own number. */
static guint
count_values (const SrvPlanSet *self)
{
  guint n = 0;

  while (self->values && self->values[n].id != 0)
    n++;
  return n;
}

void
srv_plan_set_refresh (SrvPlanSet *self)
{
  clear_values (self, count_values (self));
  self->values = g_new0 (SrvTaskValue, self->tasks->len + 1);
  for (guint i = 0; i < self->tasks->len; i++)
    {
      const SrvTask *task = g_ptr_array_index (self->tasks, i);
      GArray *ids = srv_ids_parse (task->depends_on);
      self->values[i] = (SrvTaskValue){ .id = task->id,
                                        .state = (SrvTaskState) task->state,
                                        .awaiting = task->awaiting != 0,
                                        .n_depends_on = ids->len };
      self->values[i].depends_on = (gint64 *) (gpointer) g_array_free (ids, FALSE);
    }
}

void
srv_plan_set_free (SrvPlanSet *self)
{
  clear_values (self, count_values (self));
  g_ptr_array_unref (self->tasks);
  g_hash_table_unref (self->changed);
  g_hash_table_unref (self->added);
  g_hash_table_unref (self->judging);
  g_clear_pointer (&self->titles, g_hash_table_unref);
  srv_settings_clear (&self->settings);
  srv_record_free (self->plan);
  srv_record_free (self->project);
  g_free (self);
}

/* They stand in the order of their ids: loaded so, and new ones get the next. */
SrvTask *
srv_plan_set_task (const SrvPlanSet *self, gint64 id)
{
  guint low = 0, high = self->tasks->len;

  while (low < high)
    {
      guint middle = low + (high - low) / 2;
      SrvTask *task = g_ptr_array_index (self->tasks, middle);
      if (task->id == id)
        return task;
      if (task->id < id)
        low = middle + 1;
      else
        high = middle;
    }
  return NULL;
}

SrvTask *
srv_plan_set_find_title (SrvPlanSet *self, const char *title)
{
  if (!self->titles)
    {
      self->titles = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
      for (guint i = self->tasks->len; i > 0; i--)
        {
          SrvTask *task = g_ptr_array_index (self->tasks, i - 1);
          if (task->state != SRV_TASK_CANCELLED)
            g_hash_table_replace (self->titles, g_strdup (task->title), task);
        }
    }
  return g_hash_table_lookup (self->titles, title);
}

const GArray *
srv_plan_set_blocked (SrvPlanSet *self, guint i)
{
  if (!self->blocked)
    self->blocked = srv_rules_blocked (self->values, self->tasks->len);
  return g_ptr_array_index (self->blocked, i);
}

guint
srv_plan_set_index (const SrvPlanSet *self, const SrvTask *task)
{
  guint at = 0;

  g_ptr_array_find (self->tasks, task, &at);
  return at;
}

SrvTask *
srv_plan_set_add (SrvCall *call, SrvPlanSet *self)
{
  SrvTask *task = SrvTask_new ();

  task->id = srv_store_next_id (call->store);
  task->plan = self->plan->id;
  task->project = self->plan->project;
  task->created = task->updated = call->now;
  g_clear_pointer (&self->titles, g_hash_table_unref);
  g_ptr_array_add (self->tasks, task);
  g_hash_table_add (self->added, task);
  return task;
}

void
srv_plan_set_change (SrvPlanSet *self, SrvTask *task, gint64 now)
{
  task->updated = now;
  g_hash_table_add (self->changed, task);
}

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
  srv_call_eventf (call, SRV_EVENT_PLAN_ACTIVE, self->plan, 0,
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

/* ----------------------------------------------------------------- cancelling */
static void
stop_job (SrvCall *call, SrvTask *task)
{
  g_autoptr (SrvJob) job
      = task->job ? srv_store_get (call->store, SRV_RECORD_JOB, task->job) : NULL;

  task->job = 0;
  if (!job || job->state != SRV_JOB_RUNNING)
    return;
  job->state = SRV_JOB_CANCELLED;
  job->finished = call->now;
  srv_store_put (call->store, job);
  srv_call_event (call, SRV_EVENT_JOB_STOPPED, task->project, task->plan, task->id, job->id,
                  "Its task was cancelled.");
}

/* From cancelled ones too: tried again, they would wait for it for ever. */
void
srv_plan_set_drop_cancelled (SrvPlanSet *self, gint64 now)
{
  for (guint i = 0; i < self->tasks->len; i++)
    {
      SrvTask *task = g_ptr_array_index (self->tasks, i);
      g_autoptr (GArray) ids = srv_ids_parse (task->depends_on);
      guint before = ids->len;
      for (guint d = ids->len; d > 0; d--)
        {
          const SrvTask *needed = srv_plan_set_task (self, g_array_index (ids, gint64, d - 1));
          if (needed && needed->state == SRV_TASK_CANCELLED)
            g_array_remove_index (ids, d - 1);
        }
      if (ids->len == before)
        continue;
      g_free (task->depends_on);
      task->depends_on = srv_ids_text (ids);
      srv_plan_set_change (self, task, now);
    }
}

void
srv_plan_set_cancel (SrvCall *call, SrvPlanSet *self, SrvTask *task, const char *why)
{
  stop_job (call, task);
  task->state = SRV_TASK_CANCELLED;
  task->awaiting = 0;
  g_clear_pointer (&self->titles, g_hash_table_unref);
  srv_plan_set_change (self, task, call->now);
  srv_call_event (call, SRV_EVENT_TASK_CANCELLED, task->project, task->plan, task->id, 0, why);
}

/* ------------------------------------------------------------------- settling */
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
        srv_call_event (call, SRV_EVENT_TASK_READY, task->project, task->plan, task->id, 0,
                        task->title);
    }
}

static void
say_plan_state (SrvCall *call, SrvPlanSet *self)
{
  SrvPlan *plan = self->plan;
  gboolean is_over = !is_live (plan);

  plan->finished = is_over ? call->now : 0;
  if (plan->state == SRV_PLAN_DONE || plan->state == SRV_PLAN_FAILED)
    self->project->wake = 1;
  if (plan->state == SRV_PLAN_DONE)
    srv_call_eventf (call, SRV_EVENT_PLAN_DONE, plan, 0, "All tasks of the plan are done.");
  else if (plan->state == SRV_PLAN_FAILED)
    srv_call_eventf (call, SRV_EVENT_PLAN_FAILED, plan, 0,
                     "Nothing of the plan can go on: a task failed.");
  else if (plan->state == SRV_PLAN_CANCELLED)
    srv_call_eventf (call, SRV_EVENT_PLAN_CANCELLED, plan, 0,
                     "All tasks of the plan are cancelled.");
  else if (plan->state == SRV_PLAN_ACTIVE && self->was_finished)
    srv_call_eventf (call, SRV_EVENT_PLAN_ACTIVE, plan, 0, "The plan is at work again.");
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
  gboolean is_open = is_live (plan) || plan->state == SRV_PLAN_FAILED;
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
  gboolean live = is_live (self->plan), needing = self->plan->needs != 0;
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

SrvReply *
srv_plan_set_reply (const SrvPlanSet *self, guint status, json_t *body)
{
  SrvReply *reply = srv_reply_json (status, body);

  reply->etag = g_strdup_printf ("%" G_GINT64_FORMAT, self->plan->version);
  return reply;
}
