/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-ops-decisions: plans approved and rejected by the user, who names the version that was shown.
 */
#include "config.h"

#include "dbr-time.h"
#include "srv-ops.h"
#include "srv-render.h"

#include <string.h>

/* Nothing to decide; who did, if somebody. */
static SrvReply *
not_waiting (SrvCall *call, const SrvPlan *plan)
{
  const char *state = srv_plan_state_words[plan->state];
  const char *word = srv_decision_words[plan->decision];
  g_autofree char *detail = NULL;
  json_t *extra = json_pack ("{s:I, s:s}", "version", (json_int_t) plan->version, "state", state);

  if (plan->decision == SRV_DECISION_NONE)
    {
      detail = g_strdup_printf ("Plan %" G_GINT64_FORMAT " is %s: nothing of it waits for a "
                                "decision.",
                                plan->id, state);
      return srv_reply_conflict ("plan_not_waiting", detail, extra);
    }
  g_autoptr (GString) when = g_string_new (NULL);
  dbr_time_append_ago (when, call->now - plan->decided_at, "just now");
  const char *role = srv_role_word (plan->decided_role);
  gboolean is_named = plan->decided_name && strcmp (plan->decided_name, role) != 0;
  detail
      = g_strdup_printf ("Plan %" G_GINT64_FORMAT " was %s already: at version %" G_GINT64_FORMAT
                         ", by the %s%s%s%s, %s. It is %s: nothing of it waits for a decision.",
                         plan->id, word, plan->decided_version, role, is_named ? " (" : "",
                         is_named ? plan->decided_name : "", is_named ? ")" : "", when->str, state);
  json_object_set_new (extra, "decision", json_string (word));
  json_object_set_new (extra, "decided_version", json_integer (plan->decided_version));
  json_object_set_new (extra, "decided_by",
                       srv_render_who (plan->decided_role, plan->decided_name));
  json_object_set_new (extra, "decided_at", srv_render_time (plan->decided_at));
  return srv_reply_conflict ("plan_not_waiting", detail, extra);
}

static SrvReply *
check_shown (SrvCall *call, const SrvPlanSet *set)
{
  gint64 shown = srv_call_integer (call->request->body, "version", 0);
  const SrvPlan *plan = set->plan;

  if (!srv_plan_set_is_waiting (set))
    return not_waiting (call, plan);
  if (shown == plan->version)
    return NULL;
  g_autofree char *detail
      = shown > plan->version
            ? g_strdup_printf ("Plan %" G_GINT64_FORMAT " is at version %" G_GINT64_FORMAT
                               "; there is no version %" G_GINT64_FORMAT " yet.",
                               plan->id, plan->version, shown)
            : g_strdup_printf ("Plan %" G_GINT64_FORMAT " has changed: it is at version "
                               "%" G_GINT64_FORMAT ", not %" G_GINT64_FORMAT ".",
                               plan->id, plan->version, shown);
  return srv_reply_conflict ("plan_changed", detail,
                             json_pack ("{s:I, s:s}", "version", (json_int_t) plan->version,
                                        "state", srv_plan_state_words[plan->state]));
}

static json_t *
reason_list (guint reasons)
{
  json_t *list = json_array ();

  for (SrvReason reason = 0; reason < SRV_N_REASONS; reason++)
    if (reasons >> reason & 1)
      json_array_append_new (list, json_string (srv_reason_words[reason]));
  return list;
}

/* The reasons that reasons[] names; each must be one of the plan's own. */
static guint
named_reasons (SrvCall *call, DbrJson array, guint own)
{
  guint named = 0, i = 0;

  for (DbrJson value = dbr_json_first (array); dbr_json_exists (value);
       value = dbr_json_next (value), i++)
    {
      g_autofree char *field = g_strdup_printf ("reasons[%u]", i);
      g_autofree char *word = dbr_json_dup_string (value);
      gint reason = srv_word_find (srv_reason_words, word);
      if (reason < 0 || !(own >> reason & 1))
        srv_call_problem (call, field, "is not a reason why this plan waits");
      else
        named |= 1u << reason;
    }
  return named;
}

/* Which reasons to settle for good; a refusal when that is not said clearly. */
static SrvReply *
choose_reasons (SrvCall *call, guint own, guint *out_chosen)
{
  DbrJson array = dbr_json_get (call->request->body, "reasons");
  gboolean is_one = own != 0 && (own & (own - 1)) == 0;

  *out_chosen = named_reasons (call, array, own);
  if (!dbr_json_get_boolean (dbr_json_get (call->request->body, "and_stop_asking")))
    {
      if (dbr_json_exists (array))
        srv_call_problem (call, "reasons", "goes only with and_stop_asking: true");
      return srv_call_is_bad (call) ? srv_call_refuse (call) : NULL;
    }
  if (!dbr_json_exists (array) && (is_one || own == 0))
    *out_chosen = own;
  else if (*out_chosen == 0 && !srv_call_is_bad (call))
    srv_call_problem (
        call, "reasons",
        is_one || own == 0
            ? "names nothing: leave it out, or name what to settle for good"
            : "is needed: the plan waits for several reasons; name those to settle for good");
  if (!srv_call_is_bad (call))
    return NULL;
  g_autofree char *detail = srv_call_problems (call);
  return srv_reply_problem (
      422, "reasons_needed", detail,
      json_pack ("{s:O, s:o}", "errors", call->errors, "reasons", reason_list (own)));
}

/* One setting made what the person would have made of it; nothing is said of what was so already. */
static void
change_setting (SrvCall *call, SrvPlanSet *set, SrvReason reason, json_t *changes)
{
  const char *setting = srv_reason_settings[reason];
  g_auto (GStrv) touched = srv_plan_set_touched (set);
  json_auto_t *before = srv_render_settings (&set->settings);

  srv_rules_stop_asking (&set->settings, reason,
                         srv_rules_task_count (set->values, set->tasks->len),
                         (const char *const *) touched);
  json_auto_t *after = srv_render_settings (&set->settings);
  json_t *from = json_object_get (before, setting), *to = json_object_get (after, setting);
  if (json_equal (from, to))
    return;
  g_autofree char *from_text = json_dumps (from, JSON_COMPACT | JSON_ENCODE_ANY);
  g_autofree char *to_text = json_dumps (to, JSON_COMPACT | JSON_ENCODE_ANY);
  g_autofree char *value
      = json_is_string (from) ? g_strdup (json_string_value (from)) : g_strdup (from_text);
  g_autofree char *assignment = g_strdup_printf ("%s=%s", setting, value);
  g_autofree char *quoted = g_shell_quote (assignment);
  g_autofree char *undo
      = g_strdup_printf ("drawbridge engine project set %s %s", set->project->name,
                         strpbrk (assignment, " []\"';*?{}$") ? quoted : assignment);
  g_autofree char *text = g_strdup_printf ("%s: from %s to %s", setting, from_text, to_text);
  json_array_append_new (changes,
                         json_pack ("{s:s, s:s, s:O, s:O, s:s}", "reason", srv_reason_words[reason],
                                    "setting", setting, "from", from, "to", to, "undo", undo));
  srv_call_event (call, SRV_EVENT_PROJECT_SET, SRV_ABOUT_PLAN (set->plan), 0, text);
}

static json_t *
stop_asking (SrvCall *call, SrvPlanSet *set, guint reasons)
{
  json_t *changes = json_array ();

  for (SrvReason reason = 0; reason < SRV_N_REASONS; reason++)
    if (reasons >> reason & 1)
      change_setting (call, set, reason, changes);
  srv_project_take_settings (set->project, &set->settings);
  return changes;
}

SrvReply *
srv_op_PLAN_APPROVE (SrvCall *call)
{
  static const SrvMember members[] = {
    { "version", SRV_MEMBER_INTEGER, SRV_MEMBER_REQUIRED, 1, G_MAXINT64, NULL },
    { "and_stop_asking", SRV_MEMBER_BOOLEAN, 0, 0, 0, NULL },
    { "reasons", SRV_MEMBER_ARRAY, 0, 0, SRV_N_REASONS, NULL },
  };
  SrvReply *refusal = NULL;
  guint chosen = 0;
  g_autoptr (SrvPlanSet) set = srv_plan_set_load (call, call->request->id, &refusal);

  if (!set)
    return refusal;
  srv_call_check (call, call->request->body, "", members, G_N_ELEMENTS (members));
  if (srv_call_is_bad (call))
    return srv_call_refuse (call);
  if ((refusal = check_shown (call, set))
      || (refusal = choose_reasons (call, srv_plan_set_reasons (set), &chosen)))
    return refusal;
  g_autoptr (GHashTable) ready_before = srv_plan_set_ready (set);
  json_t *changes = stop_asking (call, set, chosen);
  srv_plan_set_decided (call, set, SRV_DECISION_APPROVED);
  set->plan->version++;
  srv_call_eventf (call, SRV_EVENT_PLAN_APPROVED, set->plan, "Version %" G_GINT64_FORMAT ".",
                   set->plan->version - 1);
  srv_plan_set_approve (set, call->now);
  set->project->wake = 1;
  srv_plan_set_settle (call, set);
  SrvReply *reply = srv_plan_set_reply (
      set, 200,
      json_pack ("{s:o, s:o, s:o}", "plan",
                 srv_render_plan (call, set, SRV_WITH_TASKS | SRV_WITH_BRIEFS), "started",
                 srv_render_started (set, ready_before), "settings_changed", changes));
  srv_project_still_waiting (call, set->project->id, reply->body);
  return reply;
}

static void
cancel_waiting (SrvCall *call, SrvPlanSet *set, const char *why)
{
  gboolean partial = srv_plan_set_is_partial (set);

  for (guint i = 0; i < set->tasks->len; i++)
    {
      SrvTask *task = g_ptr_array_index (set->tasks, i);
      if (task->state != SRV_TASK_CANCELLED && (task->awaiting || !partial))
        srv_plan_set_cancel (call, set, task, why);
    }
  if (partial)
    return;
  set->plan->state = SRV_PLAN_REJECTED;
  set->plan->finished = call->now;
}

SrvReply *
srv_op_PLAN_REJECT (SrvCall *call)
{
  static const SrvMember members[] = {
    { "version", SRV_MEMBER_INTEGER, SRV_MEMBER_REQUIRED, 1, G_MAXINT64, NULL },
    { "reason", SRV_MEMBER_ANY_TEXT, SRV_MEMBER_NULLABLE, 0, 0, NULL },
  };
  SrvReply *refusal = NULL;
  g_autoptr (SrvPlanSet) set = srv_plan_set_load (call, call->request->id, &refusal);

  if (!set)
    return refusal;
  srv_call_check (call, call->request->body, "", members, G_N_ELEMENTS (members));
  if (srv_call_is_bad (call))
    return srv_call_refuse (call);
  if ((refusal = check_shown (call, set)))
    return refusal;
  const char *reason = srv_call_text (call, call->request->body, "reason");
  gboolean partial = srv_plan_set_is_partial (set);
  g_autofree char *text = g_strdup_printf (
      "%s plan %" G_GINT64_FORMAT " (\"%s\", version %" G_GINT64_FORMAT ")%s%s",
      partial ? "The user rejected the new and changed tasks of" : "The user rejected",
      set->plan->id, set->plan->title, set->plan->version, reason && *reason ? ": " : ".",
      reason && *reason ? reason : "");
  srv_plan_set_decided (call, set, SRV_DECISION_REJECTED);
  set->plan->version++;
  srv_call_event (call, SRV_EVENT_PLAN_REJECTED, SRV_ABOUT_PLAN (set->plan), 0,
                  reason ? reason : "");
  cancel_waiting (call, set, "The user rejected it.");
  g_autoptr (SrvMessage) message = srv_message_send (call, set->project, SRV_AUTHOR_ENGINE, text);
  srv_plan_set_settle (call, set);
  return srv_plan_set_reply (
      set, 200,
      json_pack ("{s:o, s:o}", "plan",
                 srv_render_plan (call, set, SRV_WITH_TASKS | SRV_WITH_BRIEFS), "message",
                 srv_render_message (call, message)));
}
