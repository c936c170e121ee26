/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-plan-set: loading a plan whole, finding and changing its tasks. Why it waits is srv-plan-judge.c, what follows from
 * a change srv-plan-settle.c.
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
gboolean
srv_plan_is_live (const SrvPlan *plan)
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
      self->was_live = srv_plan_is_live (plan);
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

  if (plan && !project)
    *out_refusal = srv_reply_missing ("project", plan->project);
  else if (plan && project->removed && srv_operations[call->request->operation].kind != SRV_READ)
    {
      g_autofree char *detail = g_strdup_printf (
          "Plan %" G_GINT64_FORMAT " can't be changed any more: its project was removed.", id);
      *out_refusal
          = srv_reply_conflict ("project_removed", detail,
                                json_pack ("{s:I, s:s}", "project", (json_int_t) project->id,
                                           "state", srv_plan_state_words[plan->state]));
    }
  else if (plan)
    return srv_plan_set_new (call, plan, project);
  srv_record_free (plan);
  srv_record_free (project);
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

GHashTable *
srv_plan_set_ready (const SrvPlanSet *self)
{
  GHashTable *ready = g_hash_table_new (NULL, NULL);

  for (guint i = 0; i < self->tasks->len; i++)
    {
      SrvTask *task = g_ptr_array_index (self->tasks, i);
      if (task->state == SRV_TASK_READY)
        g_hash_table_add (ready, task);
    }
  return ready;
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
  srv_call_event (call, SRV_EVENT_JOB_STOPPED, SRV_ABOUT_TASK (task), job->id,
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

/* What the user approved behind a task that a foreman takes away would start before its time. The user's own cancelling
 * is the user's decision; and what is done holds nothing back. */
static void
judge_dependents (SrvCall *call, SrvPlanSet *self, const SrvTask *gone)
{
  if (call->actor.role != SRV_ROLE_FOREMAN || gone->state == SRV_TASK_DONE)
    return;
  for (guint i = 0; i < self->tasks->len; i++)
    {
      SrvTask *task = g_ptr_array_index (self->tasks, i);
      g_autoptr (GArray) ids = srv_ids_parse (task->depends_on);
      gboolean depends = FALSE;
      for (guint d = 0; d < ids->len; d++)
        depends = depends || g_array_index (ids, gint64, d) == gone->id;
      if (depends && srv_rules_may_rewrite ((SrvTaskState) task->state))
        srv_plan_set_rewritten (call, self, task);
    }
}

void
srv_plan_set_cancel (SrvCall *call, SrvPlanSet *self, SrvTask *task, const char *why)
{
  judge_dependents (call, self, task);
  g_hash_table_remove (self->judging, task);
  stop_job (call, task);
  task->state = SRV_TASK_CANCELLED;
  task->awaiting = 0;
  g_clear_pointer (&self->titles, g_hash_table_unref);
  srv_plan_set_change (self, task, call->now);
  srv_call_event (call, SRV_EVENT_TASK_CANCELLED, SRV_ABOUT_TASK (task), 0, why);
}

/* ------------------------------------------------------------------- answering */
SrvReply *
srv_plan_set_reply (const SrvPlanSet *self, guint status, json_t *body)
{
  SrvReply *reply = srv_reply_json (status, body);

  reply->etag = g_strdup_printf ("%" G_GINT64_FORMAT, self->plan->version);
  return reply;
}
