/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-ops-tasks: single tasks added, rewritten, cancelled, tried again and noted upon by the foreman.
 */
#include "config.h"

#include "srv-ops.h"
#include "srv-render.h"
#include "srv-task-spec.h"

/* The task with its whole plan, open for changes. */
static SrvPlanSet *
load (SrvCall *call, SrvTask **out_task, SrvReply **out_refusal)
{
  g_autoptr (SrvTask) task = srv_call_get (call, SRV_RECORD_TASK, call->request->id, out_refusal);

  if (!task)
    return NULL;
  g_autoptr (SrvPlanSet) set = srv_plan_set_load (call, task->plan, out_refusal);
  if (!set)
    return NULL;
  *out_task = srv_plan_set_task (set, task->id);
  if (!*out_task)
    *out_refusal = srv_reply_missing ("task", task->id);
  else
    *out_refusal = srv_plan_check_match (call, set->plan, FALSE);
  return *out_refusal ? NULL : g_steal_pointer (&set);
}

static SrvPlanSet *
load_open (SrvCall *call, SrvTask **out_task, SrvReply **out_refusal)
{
  g_autoptr (SrvPlanSet) set = load (call, out_task, out_refusal);

  if (set)
    *out_refusal = srv_plan_check_open (set);
  return *out_refusal ? NULL : g_steal_pointer (&set);
}

static json_t *
render_one (SrvCall *call, SrvPlanSet *set, const SrvTask *task)
{
  g_autoptr (SrvBrief) brief = srv_store_get (call->store, SRV_RECORD_BRIEF, task->id);

  srv_rules_waves (set->values, set->tasks->len, NULL);
  return srv_render_task (set, srv_plan_set_index (set, task), brief ? brief->text : "");
}

static SrvReply *
reply_task (SrvCall *call, SrvPlanSet *set, const SrvTask *task, guint status)
{
  json_t *plan = srv_render_plan (call, set, 0);
  SrvReply *reply = srv_plan_set_reply (
      set, status, json_pack ("{s:o, s:o}", "task", render_one (call, set, task), "plan", plan));

  if (status == 201)
    reply->location = g_strdup_printf ("/v1/tasks/%" G_GINT64_FORMAT, task->id);
  return reply;
}

SrvReply *
srv_op_TASK_ADD (SrvCall *call)
{
  DbrJson body = call->request->body;
  SrvReply *refusal = NULL;
  g_autoptr (SrvPlanSet) set = srv_plan_set_load (call, call->request->id, &refusal);

  if (!set || (refusal = srv_plan_check_match (call, set->plan, FALSE))
      || (refusal = srv_plan_check_open (set)))
    return refusal;
  SrvTask *task = srv_task_spec_add (call, set, body, "");
  if (!srv_call_is_bad (call))
    {
      srv_task_spec_link (call, set, task, dbr_json_get (body, "depends_on"), "");
      srv_task_spec_check_plan (call, set, "task");
    }
  if (srv_call_is_bad (call))
    return srv_call_refuse (call);
  srv_plan_set_await (set, task);
  set->plan->version++;
  srv_call_event (call, SRV_EVENT_TASK_ADDED, SRV_ABOUT_TASK (task), 0, task->title);
  srv_plan_set_judge (call, set);
  srv_plan_set_settle (call, set);
  return reply_task (call, set, task, 201);
}

/* --------------------------------------------------------------------- update */
/* Review ends: done, or back to work. NULL: fine. */
static SrvReply *
set_state (SrvCall *call, SrvPlanSet *set, SrvTask *task, gboolean is_done)
{
  if (task->state != SRV_TASK_REVIEW)
    {
      g_autofree char *detail
          = g_strdup_printf ("Task %" G_GINT64_FORMAT
                             " is %s: only a task in review is moved to done or back to ready.",
                             task->id, srv_task_state_words[task->state]);
      return srv_reply_conflict ("task_not_in_review", detail,
                                 json_pack ("{s:s}", "state", srv_task_state_words[task->state]));
    }
  task->state = is_done ? SRV_TASK_DONE : SRV_TASK_PLANNED;
  srv_plan_set_change (set, task, call->now);
  if (is_done)
    srv_call_event (call, SRV_EVENT_TASK_DONE, SRV_ABOUT_TASK (task), 0, "Its review is over.");
  return NULL;
}

static gboolean
rewrites (DbrJson body)
{
  return dbr_json_count (body) > (srv_call_has (body, "state") ? 1u : 0u);
}

static SrvReply *
rewrite (SrvCall *call, SrvPlanSet *set, SrvTask *task, DbrJson body)
{
  if (!srv_rules_may_rewrite ((SrvTaskState) task->state))
    {
      g_autofree char *detail = g_strdup_printf ("Task %" G_GINT64_FORMAT
                                                 " is %s: it can't be rewritten, only cancelled.",
                                                 task->id, srv_task_state_words[task->state]);
      return srv_reply_conflict ("task_not_open", detail,
                                 json_pack ("{s:s}", "state", srv_task_state_words[task->state]));
    }
  g_autofree char *before = g_strdup (task->depends_on);
  gboolean changed = srv_task_spec_update (call, set, task, body);
  srv_task_spec_link (call, set, task, dbr_json_get (body, "depends_on"), "");
  if (changed || g_strcmp0 (before, task->depends_on) != 0)
    srv_plan_set_rewritten (call, set, task);
  srv_task_spec_check_plan (call, set, "task");
  return srv_call_is_bad (call) ? srv_call_refuse (call) : NULL;
}

SrvReply *
srv_op_TASK_UPDATE (SrvCall *call)
{
  static const char *const states[] = { "done", "ready", NULL };
  DbrJson body = call->request->body;
  SrvReply *refusal = NULL;
  SrvTask *task = NULL;
  g_autoptr (SrvPlanSet) set = load_open (call, &task, &refusal);

  if (!set)
    return refusal;
  srv_task_spec_check_update (call, body, "", FALSE);
  if (dbr_json_count (body) == 0)
    srv_call_problem (call, "body", "changes nothing");
  if (srv_call_is_bad (call))
    return srv_call_refuse (call);
  gint state = srv_call_word (call, body, "state", states, -1);
  if (state >= 0 && (refusal = set_state (call, set, task, state == 0)))
    return refusal;
  if (rewrites (body) && (refusal = rewrite (call, set, task, body)))
    return refusal;
  set->plan->version++;
  srv_call_event (call, SRV_EVENT_TASK_UPDATED, SRV_ABOUT_TASK (task), 0, task->title);
  srv_plan_set_judge (call, set);
  srv_plan_set_settle (call, set);
  return reply_task (call, set, task, 200);
}

/* --------------------------------------------------------------------- cancel */
static SrvReply *
already_cancelled (const SrvTask *task)
{
  g_autofree char *detail
      = g_strdup_printf ("Task %" G_GINT64_FORMAT " is cancelled already.", task->id);

  return srv_reply_conflict ("task_cancelled", detail, json_pack ("{s:s}", "state", "cancelled"));
}

SrvReply *
srv_op_TASK_CANCEL (SrvCall *call)
{
  static const SrvMember members[] = {
    { "dependents", SRV_MEMBER_BOOLEAN, 0, 0, 0, NULL },
    { "reason", SRV_MEMBER_ANY_TEXT, SRV_MEMBER_NULLABLE, 0, 0, NULL },
  };
  DbrJson body = call->request->body;
  SrvReply *refusal = NULL;
  SrvTask *task = NULL;
  g_autoptr (SrvPlanSet) set = load_open (call, &task, &refusal);
  g_autoptr (GArray) ids = g_array_new (FALSE, FALSE, sizeof (gint64));

  if (!set)
    return refusal;
  srv_call_check (call, body, "", members, G_N_ELEMENTS (members));
  if (srv_call_is_bad (call))
    return srv_call_refuse (call);
  if (task->state == SRV_TASK_CANCELLED)
    return already_cancelled (task);
  const char *reason = srv_call_text (call, body, "reason");
  if (dbr_json_get_boolean (dbr_json_get (body, "dependents")))
    srv_rules_dependents (set->values, set->tasks->len, task->id, ids);
  g_array_prepend_val (ids, task->id);
  g_autoptr (GHashTable) ready_before = srv_plan_set_ready (set);
  json_t *cancelled = json_array ();
  for (guint i = 0; i < ids->len; i++)
    {
      SrvTask *each = srv_plan_set_task (set, g_array_index (ids, gint64, i));
      if (each->state == SRV_TASK_CANCELLED || (i > 0 && each->state == SRV_TASK_DONE))
        continue;
      srv_plan_set_cancel (call, set, each, reason ? reason : "");
      json_array_append_new (cancelled, json_integer (each->id));
    }
  set->plan->version++;
  srv_plan_set_judge (call, set);
  srv_plan_set_settle (call, set);
  return srv_plan_set_reply (set, 200,
                             json_pack ("{s:o, s:o, s:o}", "cancelled", cancelled, "started",
                                        srv_render_started (set, ready_before), "plan",
                                        srv_render_plan (call, set, 0)));
}

/* ------------------------------------------------------------- retry and note */
SrvReply *
srv_op_TASK_RETRY (SrvCall *call)
{
  SrvReply *refusal = NULL;
  SrvTask *task = NULL;
  g_autoptr (SrvPlanSet) set = load_open (call, &task, &refusal);

  if (!set)
    return refusal;
  srv_call_check (call, call->request->body, "", NULL, 0);
  if (srv_call_is_bad (call))
    return srv_call_refuse (call);
  if (task->state != SRV_TASK_FAILED && task->state != SRV_TASK_CANCELLED)
    {
      g_autofree char *detail = g_strdup_printf (
          "Task %" G_GINT64_FORMAT " is %s: only a failed or cancelled one is tried again.",
          task->id, srv_task_state_words[task->state]);
      return srv_reply_conflict ("task_not_failed", detail,
                                 json_pack ("{s:s}", "state", srv_task_state_words[task->state]));
    }
  /* What was cancelled may have been rejected by the user: it is judged as a new task is. */
  if (task->state == SRV_TASK_CANCELLED)
    srv_plan_set_await (set, task);
  task->state = SRV_TASK_PLANNED;
  task->lost = task->returned = 0;
  srv_plan_set_change (set, task, call->now);
  srv_task_spec_check_plan (call, set, "task");
  if (srv_call_is_bad (call))
    return srv_call_refuse (call);
  set->plan->version++;
  srv_call_event (call, SRV_EVENT_TASK_RETRIED, SRV_ABOUT_TASK (task), 0, task->title);
  srv_plan_set_judge (call, set);
  srv_plan_set_settle (call, set);
  return reply_task (call, set, task, 200);
}

SrvReply *
srv_op_TASK_NOTE (SrvCall *call)
{
  static const SrvMember members[]
      = { { "text", SRV_MEMBER_TEXT, SRV_MEMBER_REQUIRED, 0, 0, NULL } };
  SrvReply *refusal = NULL;
  SrvTask *task = NULL;
  g_autoptr (SrvPlanSet) set = load (call, &task, &refusal);
  g_autoptr (SrvNote) note = SrvNote_new ();

  if (!set)
    return refusal;
  srv_call_check (call, call->request->body, "", members, G_N_ELEMENTS (members));
  if (srv_call_is_bad (call))
    return srv_call_refuse (call);
  note->task = task->id;
  note->role = srv_call_actor_role (call);
  note->name = g_strdup (call->actor.name);
  note->text = g_strdup (srv_call_text (call, call->request->body, "text"));
  note->at = call->now;
  srv_store_add (call->store, note);
  set->plan->version++;
  srv_call_event (call, SRV_EVENT_TASK_NOTED, SRV_ABOUT_TASK (task), note->id, note->text);
  srv_plan_set_settle (call, set);
  return reply_task (call, set, task, 200);
}

SrvReply *
srv_op_TASK_GET (SrvCall *call)
{
  SrvReply *refusal = NULL;
  SrvTask *task = NULL;
  g_autoptr (SrvPlanSet) set = load (call, &task, &refusal);

  if (!set)
    return refusal;
  g_autoptr (SrvJob) job
      = task->job ? srv_store_get (call->store, SRV_RECORD_JOB, task->job) : NULL;
  json_t *body = render_one (call, set, task);
  json_object_set_new (body, "notes", srv_render_notes (call, task->id));
  json_object_set_new (body, "job", job ? srv_render_job (call, job) : json_null ());
  return srv_reply_json (200, body);
}
