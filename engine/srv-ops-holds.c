/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-ops-holds: nothing new starts under a hold. It names who placed it; a foreman releases only foremen's.
 */
#include "config.h"

#include "srv-ops.h"
#include "srv-render.h"

/* The hold of a record of whatever kind. */
typedef struct
{
  gint64 *held, *role, *at;
  char **name, **reason;
} Hold;

#define HOLD_OF(record) \
  ((Hold){ &(record)->held, &(record)->hold_role, &(record)->hold_at, &(record)->hold_name, \
           &(record)->hold_reason })

typedef enum
{
  UNCHANGED,
  PLACED,
  RELEASED,
} Kind;

/* What became of it. */
typedef struct
{
  Kind kind;
  gboolean was_held, is_replaced;
  char *replaced_reason;
} Change;

static void
change_clear (Change *self)
{
  g_free (self->replaced_reason);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Change, change_clear)

static void
place (SrvCall *call, Hold hold, Change *out)
{
  if (*hold.held && !srv_rules_hold_replaces (*hold.role, call->actor.role))
    return;
  out->kind = PLACED;
  out->is_replaced = *hold.held != 0;
  if (out->is_replaced)
    out->replaced_reason = g_strdup (*hold.reason);
  *hold.held = 1;
  *hold.role = srv_call_actor_role (call);
  *hold.at = call->now;
  srv_text_set (hold.name, call->actor.name);
  srv_text_set (hold.reason, srv_call_text (call, call->request->body, "reason"));
}

static SrvReply *
release (SrvCall *call, Hold hold, Change *out)
{
  if (!*hold.held)
    return NULL;
  if (!srv_rules_may_release (*hold.role, call->actor.role))
    return srv_reply_forbidden (
        "hold_not_yours", "This hold was not placed by a foreman: only the user releases it.");
  out->kind = RELEASED;
  *hold.held = 0;
  *hold.role = *hold.at = 0;
  srv_text_set (hold.name, NULL);
  srv_text_set (hold.reason, NULL);
  return NULL;
}

/* Nothing of it will start by itself: a hold would say something that isn't so. NULL: something may. */
static SrvReply *
check_not_over (const SrvPlanSet *set, const SrvTask *task)
{
  SrvReply *over = set ? srv_plan_check_open (set) : NULL;

  if (over || !task || (task->state != SRV_TASK_DONE && task->state != SRV_TASK_CANCELLED))
    return over;
  const char *state = srv_task_state_words[task->state];
  g_autofree char *detail = g_strdup_printf (
      "Task %" G_GINT64_FORMAT " is %s: there is nothing to hold.", task->id, state);
  return srv_reply_conflict (task->state == SRV_TASK_DONE ? "task_not_open" : "task_cancelled",
                             detail, json_pack ("{s:s}", "state", state));
}

/* @set, @task: what is held, nullable. NULL: done, as *out says. */
static SrvReply *
apply (SrvCall *call, Hold hold, const SrvPlanSet *set, const SrvTask *task, Change *out)
{
  static const SrvMember members[] = {
    { "held", SRV_MEMBER_BOOLEAN, SRV_MEMBER_REQUIRED, 0, 0, NULL },
    { "reason", SRV_MEMBER_ANY_TEXT, SRV_MEMBER_NULLABLE, 0, 0, NULL },
  };
  DbrJson body = call->request->body;

  srv_call_check (call, body, "", members, G_N_ELEMENTS (members));
  if (srv_call_is_bad (call))
    return srv_call_refuse (call);
  out->was_held = *hold.held != 0;
  if (!dbr_json_get_boolean (dbr_json_get (body, "held")))
    return release (call, hold, out);
  SrvReply *over = check_not_over (set, task);
  if (over)
    return over;
  place (call, hold, out);
  return NULL;
}

static json_t *
with_change (json_t *body, const Change *change)
{
  json_object_set_new (body, "was_held", json_boolean (change->was_held));
  json_object_set_new (body, "replaced", json_boolean (change->is_replaced));
  json_object_set_new (body, "replaced_reason", srv_render_text (change->replaced_reason));
  return body;
}

static const char *
reason_of (SrvCall *call)
{
  const char *reason = srv_call_text (call, call->request->body, "reason");

  return reason ? reason : "";
}

SrvReply *
srv_op_PROJECT_HOLD (SrvCall *call)
{
  SrvReply *refusal = NULL;
  g_auto (Change) change = { 0 };
  g_autoptr (SrvProject) project = srv_call_project (call, &refusal);

  if (!project)
    return refusal;
  if ((refusal = apply (call, HOLD_OF (project), NULL, NULL, &change)))
    return refusal;
  if (change.kind != UNCHANGED)
    {
      srv_store_put (call->store, project);
      srv_call_event (call,
                      change.kind == PLACED ? SRV_EVENT_PROJECT_HELD : SRV_EVENT_PROJECT_RELEASED,
                      SRV_ABOUT_PROJECT (project->id), 0, reason_of (call));
    }
  return srv_reply_json (200, with_change (srv_render_project (call, project), &change));
}

static void
finish (SrvCall *call, SrvPlanSet *set, SrvEventKind what, const SrvTask *task)
{
  set->plan->version++;
  srv_call_event (call, what, task ? SRV_ABOUT_TASK (task) : SRV_ABOUT_PLAN (set->plan), 0,
                  reason_of (call));
  srv_plan_set_settle (call, set);
}

SrvReply *
srv_op_PLAN_HOLD (SrvCall *call)
{
  SrvReply *refusal = NULL;
  g_auto (Change) change = { 0 };
  g_autoptr (SrvPlanSet) set = srv_plan_set_load (call, call->request->id, &refusal);

  if (!set)
    return refusal;
  if ((refusal = apply (call, HOLD_OF (set->plan), set, NULL, &change)))
    return refusal;
  if (change.kind != UNCHANGED)
    finish (call, set, change.kind == PLACED ? SRV_EVENT_PLAN_HELD : SRV_EVENT_PLAN_RELEASED, NULL);
  return srv_plan_set_reply (set, 200,
                             with_change (srv_render_plan (call, set, SRV_WITH_TASKS), &change));
}

SrvReply *
srv_op_TASK_HOLD (SrvCall *call)
{
  SrvReply *refusal = NULL;
  g_auto (Change) change = { 0 };
  g_autoptr (SrvTask) found = srv_call_get (call, SRV_RECORD_TASK, call->request->id, &refusal);
  g_autoptr (SrvPlanSet) set = found ? srv_plan_set_load (call, found->plan, &refusal) : NULL;
  SrvTask *task = set ? srv_plan_set_task (set, found->id) : NULL;

  if (!task)
    return refusal ? refusal : srv_reply_missing ("task", call->request->id);
  if ((refusal = apply (call, HOLD_OF (task), set, task, &change)))
    return refusal;
  if (change.kind != UNCHANGED)
    {
      srv_plan_set_change (set, task, call->now);
      finish (call, set, change.kind == PLACED ? SRV_EVENT_TASK_HELD : SRV_EVENT_TASK_RELEASED,
              task);
    }
  srv_rules_waves (set->values, set->tasks->len, NULL);
  json_t *body = json_pack ("{s:o, s:o}", "task",
                            srv_render_task (set, srv_plan_set_index (set, task), NULL), "plan",
                            srv_render_plan (call, set, 0));
  return srv_plan_set_reply (set, 200, with_change (body, &change));
}
