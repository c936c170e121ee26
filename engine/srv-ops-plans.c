/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-ops-plans: plans made and amended by the foreman.
 */
#include "config.h"

#include "srv-ops.h"
#include "srv-render.h"
#include "srv-task-spec.h"

#include <string.h>

static SrvReply *
reply_plan (SrvCall *call, SrvPlanSet *set, guint status)
{
  SrvReply *reply = srv_plan_set_reply (
      set, status, srv_render_plan (call, set, SRV_WITH_TASKS | SRV_WITH_BRIEFS));

  if (status == 201)
    reply->location = g_strdup_printf ("/v1/plans/%" G_GINT64_FORMAT, set->plan->id);
  return reply;
}

/* --------------------------------------------------------------------- create */
static void
add_tasks (SrvCall *call, SrvPlanSet *set, DbrJson array, const char *name)
{
  guint first = set->tasks->len, i = 0;

  for (DbrJson value = dbr_json_first (array); dbr_json_exists (value) && i < SRV_MAX_TASKS;
       value = dbr_json_next (value), i++)
    {
      g_autofree char *where = g_strdup_printf ("%s[%u]", name, i);
      srv_task_spec_add (call, set, value, where);
    }
  i = 0;
  for (DbrJson value = dbr_json_first (array);
       dbr_json_exists (value) && first + i < set->tasks->len; value = dbr_json_next (value), i++)
    {
      g_autofree char *where = g_strdup_printf ("%s[%u]", name, i);
      srv_task_spec_link (call, set, g_ptr_array_index (set->tasks, first + i),
                          dbr_json_get (value, "depends_on"), where);
    }
}

SrvReply *
srv_op_PLAN_CREATE (SrvCall *call)
{
  static const SrvMember members[] = {
    { "project", SRV_MEMBER_INTEGER, 0, 1, G_MAXINT64, NULL },
    { "repo_url", SRV_MEMBER_TEXT, 0, 0, 0, NULL },
    { "title", SRV_MEMBER_TITLE, SRV_MEMBER_REQUIRED, 0, 0, NULL },
    { "summary", SRV_MEMBER_ANY_TEXT, SRV_MEMBER_NULLABLE, 0, 0, NULL },
    { "tasks", SRV_MEMBER_ARRAY, SRV_MEMBER_REQUIRED, 0, SRV_MAX_TASKS, NULL },
  };
  DbrJson body = call->request->body;
  DbrJson tasks = dbr_json_get (body, "tasks");
  SrvReply *refusal = NULL;

  srv_call_check (call, body, "", members, G_N_ELEMENTS (members));
  if (srv_call_is_bad (call))
    {
      /* Every problem at once: tasks too, in a plan that will not be. */
      SrvPlan *scratch = SrvPlan_new ();
      SrvProject *none = SrvProject_new ();
      srv_text_set (&none->hours, "any");
      g_autoptr (SrvPlanSet) set = srv_plan_set_new (call, scratch, none);
      add_tasks (call, set, tasks, "tasks");
      srv_task_spec_check_plan (call, set, "tasks");
      return srv_call_refuse (call);
    }
  SrvProject *project = srv_call_project (call, &refusal);
  if (!project)
    return refusal;
  SrvPlan *plan = SrvPlan_new ();
  plan->project = project->id;
  plan->title = g_strdup (srv_call_text (call, body, "title"));
  plan->summary = g_strdup (srv_call_text (call, body, "summary"));
  plan->version = 1;
  plan->created = call->now;
  g_autoptr (SrvPlanSet) set = srv_plan_set_new (call, plan, project);
  if (dbr_json_count (tasks) == 0)
    srv_call_problem (call, "tasks", "is empty: a plan has at least one task");
  add_tasks (call, set, tasks, "tasks");
  srv_task_spec_check_plan (call, set, "tasks");
  if (srv_call_is_bad (call))
    return srv_call_refuse (call);
  srv_call_eventf (call, SRV_EVENT_PLAN_CREATED, plan, "%s", plan->title);
  srv_plan_set_judge (call, set);
  srv_plan_set_settle (call, set);
  return reply_plan (call, set, 201);
}

/* ---------------------------------------------------------------------- amend */
SrvReply *
srv_plan_check_match (SrvCall *call, const SrvPlan *plan, gboolean needed)
{
  const char *if_match = call->request->if_match;
  g_autofree char *version = g_strdup_printf ("%" G_GINT64_FORMAT, plan->version);

  if (!if_match && needed)
    {
      g_autofree char *missing = g_strdup_printf (
          "The request has no If-Match with the version of the plan that the change was made for; "
          "plan %" G_GINT64_FORMAT " is at version %s.",
          plan->id, version);
      return srv_reply_problem (428, "if_match_needed", missing,
                                json_pack ("{s:I}", "version", (json_int_t) plan->version));
    }
  if (!if_match || strcmp (if_match, version) == 0)
    return NULL;
  g_autofree char *detail
      = g_strdup_printf ("Plan %" G_GINT64_FORMAT " has changed: it is at version %s, not %.20s.",
                         plan->id, version, if_match);
  return srv_reply_problem (412, "version_conflict", detail,
                            json_pack ("{s:I}", "version", (json_int_t) plan->version));
}

SrvReply *
srv_plan_check_open (const SrvPlanSet *set)
{
  const SrvPlan *plan = set->plan;

  if (plan->state == SRV_PLAN_AWAITING_APPROVAL || plan->state == SRV_PLAN_ACTIVE
      || plan->state == SRV_PLAN_FAILED)
    return NULL;
  g_autofree char *detail
      = g_strdup_printf ("Plan %" G_GINT64_FORMAT " is %s: it can't be changed any more.", plan->id,
                         srv_plan_state_words[plan->state]);
  return srv_reply_conflict ("plan_over", detail,
                             json_pack ("{s:s}", "state", srv_plan_state_words[plan->state]));
}

static void
amend_cancel (SrvCall *call, SrvPlanSet *set, DbrJson array, const char *reason)
{
  guint i = 0;

  for (DbrJson value = dbr_json_first (array); dbr_json_exists (value);
       value = dbr_json_next (value), i++)
    {
      g_autofree char *field = g_strdup_printf ("cancel[%u]", i);
      gint64 id;
      SrvTask *task = dbr_json_int64 (value, &id) ? srv_plan_set_task (set, id) : NULL;
      if (!task)
        srv_call_problem (call, field, "is not the id of a task of the plan");
      else if (task->state == SRV_TASK_CANCELLED)
        srv_call_problem (call, field, "is cancelled already");
      else
        srv_plan_set_cancel (call, set, task, reason ? reason : "The plan was amended.");
    }
}

static SrvTask *
amended_task (SrvCall *call, SrvPlanSet *set, DbrJson value, const char *where)
{
  SrvTask *task = srv_plan_set_task (set, srv_call_integer (value, "id", 0));
  g_autofree char *field = g_strdup_printf ("%s.id", where);

  if (!task)
    srv_call_problem (call, field, "is not the id of a task of the plan");
  else if (!srv_rules_may_rewrite ((SrvTaskState) task->state))
    srv_call_problem (call, field, "names a task that is %s: it can't be rewritten, only cancelled",
                      srv_task_state_words[task->state]);
  else
    return task;
  return NULL;
}

/* Updates come before links, so that dependencies may name new titles. */
static void
amend_update (SrvCall *call, SrvPlanSet *set, DbrJson array)
{
  guint i = 0;

  for (DbrJson value = dbr_json_first (array); dbr_json_exists (value);
       value = dbr_json_next (value), i++)
    {
      g_autofree char *where = g_strdup_printf ("update[%u]", i);
      srv_task_spec_check_update (call, value, where, TRUE);
      SrvTask *task = amended_task (call, set, value, where);
      if (task && !srv_call_is_bad (call) && srv_task_spec_update (call, set, task, value))
        srv_plan_set_rewritten (call, set, task);
    }
}

static void
amend_link (SrvCall *call, SrvPlanSet *set, DbrJson array)
{
  guint i = 0;

  for (DbrJson value = dbr_json_first (array); dbr_json_exists (value);
       value = dbr_json_next (value), i++)
    {
      g_autofree char *where = g_strdup_printf ("update[%u]", i);
      SrvTask *task = srv_plan_set_task (set, srv_call_integer (value, "id", 0));
      if (!task || !srv_call_has (value, "depends_on")
          || !srv_rules_may_rewrite ((SrvTaskState) task->state))
        continue;
      g_autofree char *before = g_strdup (task->depends_on);
      srv_task_spec_link (call, set, task, dbr_json_get (value, "depends_on"), where);
      if (g_strcmp0 (before, task->depends_on) != 0)
        srv_plan_set_rewritten (call, set, task);
    }
}

static void
amend (SrvCall *call, SrvPlanSet *set, DbrJson body, const char *reason)
{
  guint before = set->tasks->len;

  if (srv_call_has (body, "title"))
    srv_text_set (&set->plan->title, srv_call_text (call, body, "title"));
  if (srv_call_has (body, "summary"))
    srv_text_set (&set->plan->summary, srv_call_text (call, body, "summary"));
  amend_cancel (call, set, dbr_json_get (body, "cancel"), reason);
  srv_plan_set_drop_cancelled (set, call->now);
  amend_update (call, set, dbr_json_get (body, "update"));
  add_tasks (call, set, dbr_json_get (body, "add"), "add");
  amend_link (call, set, dbr_json_get (body, "update"));
  for (guint i = before; i < set->tasks->len; i++)
    srv_plan_set_await (set, g_ptr_array_index (set->tasks, i));
  srv_task_spec_check_plan (call, set, "tasks");
}

SrvReply *
srv_op_PLAN_AMEND (SrvCall *call)
{
  static const SrvMember members[] = {
    { "title", SRV_MEMBER_TITLE, 0, 0, 0, NULL },
    { "summary", SRV_MEMBER_ANY_TEXT, SRV_MEMBER_NULLABLE, 0, 0, NULL },
    { "add", SRV_MEMBER_ARRAY, 0, 0, SRV_MAX_TASKS, NULL },
    { "update", SRV_MEMBER_ARRAY, 0, 0, SRV_MAX_TASKS, NULL },
    { "cancel", SRV_MEMBER_ARRAY, 0, 0, SRV_MAX_TASKS, NULL },
    { "reason", SRV_MEMBER_ANY_TEXT, SRV_MEMBER_NULLABLE, 0, 0, NULL },
  };
  DbrJson body = call->request->body;
  const char *reason = srv_call_text (call, body, "reason");
  SrvReply *refusal = NULL;
  g_autoptr (SrvPlanSet) set = srv_plan_set_load (call, call->request->id, &refusal);

  if (!set || (refusal = srv_plan_check_match (call, set->plan, TRUE))
      || (refusal = srv_plan_check_open (set)))
    return refusal;
  srv_call_check (call, body, "", members, G_N_ELEMENTS (members));
  if (dbr_json_count (body) == (srv_call_has (body, "reason") ? 1u : 0u))
    srv_call_problem (call, "body",
                      "changes nothing: it has none of title, summary, add, update and cancel");
  if (reason && !*reason)
    reason = NULL;
  g_autoptr (GHashTable) ready_before = srv_plan_set_ready (set);
  if (!srv_call_is_bad (call))
    amend (call, set, body, reason);
  if (srv_call_is_bad (call))
    return srv_call_refuse (call);
  set->plan->version++;
  srv_call_eventf (call, SRV_EVENT_PLAN_AMENDED, set->plan, "Version %" G_GINT64_FORMAT "%s%s",
                   set->plan->version, reason ? ": " : ".", reason ? reason : "");
  srv_plan_set_judge (call, set);
  srv_plan_set_settle (call, set);
  SrvReply *reply = reply_plan (call, set, 200);
  json_object_set_new (reply->body, "started", srv_render_started (set, ready_before));
  return reply;
}

/* ---------------------------------------------------------------------- reads */
SrvReply *
srv_op_PLAN_GET (SrvCall *call)
{
  SrvReply *refusal = NULL;
  g_autoptr (SrvPlanSet) set = srv_plan_set_load (call, call->request->id, &refusal);

  return set ? reply_plan (call, set, 200) : refusal;
}
