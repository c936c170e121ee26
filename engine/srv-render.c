/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-render: records as the JSON of the API. Members are always there; what is not known is null.
 */
#include "config.h"

#include "srv-lease.h"
#include "srv-render.h"
#include "srv-trouble.h"

#include <string.h>
#include <time.h>

#define I(value) ((json_int_t) (value))

/* @n digits of @number, with zeros in front. */
static void
put_digits (char *to, int number, guint n)
{
  for (guint i = n; i > 0; i--, number /= 10)
    to[i - 1] = (char) ('0' + number % 10);
}

/* By hand: an answer has hundreds of them. */
json_t *
srv_render_time (gint64 us)
{
  time_t seconds = (time_t) (us / G_USEC_PER_SEC);
  struct tm parts;
  char text[] = "0000-00-00T00:00:00.000000Z";

  if (us <= 0 || !gmtime_r (&seconds, &parts) || parts.tm_year > 9999 - 1900)
    return json_null ();
  put_digits (text, parts.tm_year + 1900, 4);
  put_digits (text + 5, parts.tm_mon + 1, 2);
  put_digits (text + 8, parts.tm_mday, 2);
  put_digits (text + 11, parts.tm_hour, 2);
  put_digits (text + 14, parts.tm_min, 2);
  put_digits (text + 17, parts.tm_sec, 2);
  put_digits (text + 20, (int) (us % G_USEC_PER_SEC), 6);
  return json_string (text);
}

json_t *
srv_render_text (const char *text)
{
  return text ? json_string (text) : json_null ();
}

json_t *
srv_render_id (gint64 id)
{
  return id ? json_integer (id) : json_null ();
}

json_t *
srv_render_who (gint64 role, const char *name)
{
  return json_pack ("{s:s, s:o}", "role", srv_role_word (role), "name", srv_render_text (name));
}

json_t *
srv_render_cut (const char *text, glong max)
{
  /* That many bytes are at most that many characters: mostly it needn't be counted. */
  if (strnlen (text, (gsize) max + 1) <= (gsize) max || g_utf8_strlen (text, -1) <= max)
    return json_string (text);
  g_autofree char *head = g_utf8_substring (text, 0, max - 1);
  g_autofree char *cut = g_strconcat (head, "\xe2\x80\xa6", NULL);
  return json_string (cut);
}

json_t *
srv_render_list (const char *json)
{
  json_t *list = json ? json_loads (json, JSON_DECODE_ANY, NULL) : NULL;

  return list ? list : json_array ();
}

json_t *
srv_render_object (const char *json)
{
  return json ? json_loads (json, 0, NULL) : NULL;
}

static json_t *
render_strv (char **list)
{
  json_t *array = json_array ();

  for (guint i = 0; list && list[i]; i++)
    json_array_append_new (array, json_string (list[i]));
  return array;
}

json_t *
srv_render_settings (const SrvSettings *settings)
{
  return json_pack ("{s:s, s:I, s:o, s:s, s:I}", "approval", srv_approval_words[settings->approval],
                    "max_tasks", I (settings->max_tasks), "protected_paths",
                    render_strv (settings->protected_paths), "hours", settings->hours,
                    "turn_minutes", I (settings->turn_minutes));
}

/* Holds have the same members in all three records. */
#define RENDER_HOLD(record) \
  ((record)->held \
       ? json_pack ("{s:o, s:o, s:o}", "reason", srv_render_text ((record)->hold_reason), "by", \
                    srv_render_who ((record)->hold_role, (record)->hold_name), "since", \
                    srv_render_time ((record)->hold_at)) \
       : json_null ())

json_t *
srv_render_lease (const SrvLease *lease)
{
  return json_pack ("{s:I, s:I, s:s, s:s, s:o, s:o}", "id", I (lease->id), "project",
                    I (lease->project), "kind", srv_lease_kind_words[lease->kind_of], "holder",
                    lease->holder, "expires", srv_render_time (lease->expires), "ended",
                    srv_render_time (lease->ended));
}

static gboolean
has_same_settings (const SrvProject *a, const SrvProject *b)
{
  return a->approval == b->approval && a->max_tasks == b->max_tasks
         && a->turn_minutes == b->turn_minutes && strcmp (a->hours, b->hours) == 0
         && strcmp (a->protected_paths, b->protected_paths) == 0;
}

/* Rendered once for projects in a row that have the same. (transfer none) */
static json_t *
project_settings (SrvCall *call, const SrvProject *project)
{
  g_auto (SrvSettings) settings = { 0 };

  if (call->settings_of && has_same_settings (call->settings_of, project))
    return call->settings;
  srv_settings_of (project, &settings);
  json_decref (call->settings);
  srv_record_free (call->settings_of);
  call->settings = srv_render_settings (&settings);
  call->settings_of = SrvProject_new ();
  call->settings_of->approval = project->approval;
  call->settings_of->max_tasks = project->max_tasks;
  call->settings_of->turn_minutes = project->turn_minutes;
  call->settings_of->hours = g_strdup (project->hours);
  call->settings_of->protected_paths = g_strdup (project->protected_paths);
  return call->settings;
}

/* Reviews are the user's when no foreman works and none is about to: the last turn left them. */
static gint64
count_needs (const SrvProject *project, gboolean has_lease)
{
  gboolean is_users = !has_lease && !srv_rules_foreman_is_coming (project);

  /* What was given up is told with the trouble. */
  gint64 unanswered = project->n_unanswered - (project->trouble_since ? project->n_given_up : 0);

  return project->n_needs + project->n_questions + unanswered + (project->trouble_since != 0)
         + (is_users ? project->n_reviews : 0);
}

json_t *
srv_render_project (SrvCall *call, const SrvProject *project)
{
  g_autoptr (SrvLease) lease = srv_lease_current (call, project->id);
  SrvForemanState foreman = srv_rules_foreman_state (project->command != NULL, lease != NULL,
                                                     lease ? (SrvLeaseKind) lease->kind_of : 0);

  json_t *body
      = json_pack ("{s:I, s:s, s:s, s:o, s:s}", "id", I (project->id), "name", project->name,
                   "repo_url", project->repo_url, "checkout", srv_render_text (project->checkout),
                   "foreman", srv_foreman_state_words[foreman]);
  json_object_set_new (body, "foreman_command",
                       project->command ? json_loads (project->command, 0, NULL) : json_null ());
  json_object_set (body, "settings", project_settings (call, project));
  json_object_set_new (body, "hold", RENDER_HOLD (project));
  json_object_set_new (body, "lease", lease ? srv_render_lease (lease) : json_null ());
  json_object_set_new (body, "live_plans", json_integer (project->n_live));
  json_object_set_new (body, "foreman_trouble", srv_trouble_render (project, call->now));
  json_object_set_new (body, "needs_user", json_integer (count_needs (project, lease != NULL)));
  json_object_set_new (body, "waiting_messages", json_integer (project->n_waiting));
  json_object_set_new (body, "removed", json_boolean (project->removed));
  json_object_set_new (body, "created", srv_render_time (project->created));
  return body;
}

/* ---------------------------------------------------------------------- plans */
static json_t *
setting_value (const SrvSettings *settings, SrvReason reason)
{
  json_auto_t *all = srv_render_settings (settings);

  return json_incref (json_object_get (all, srv_reason_settings[reason]));
}

/* The settings may have changed since the plan was judged. */
static char *
reason_text (const SrvPlanSet *set, SrvReason reason, char **touched)
{
  guint count = srv_rules_task_count (set->values, set->tasks->len);
  g_autofree char *globs = NULL;

  switch (reason)
    {
    case SRV_REASON_APPROVAL_REQUIRED:
      if (set->settings.approval != SRV_APPROVAL_ALWAYS)
        return g_strdup ("Every plan needed the user's approval in this project when it was made.");
      return g_strdup (srv_plan_set_is_partial (set)
                           ? "Every change of a plan needs the user's approval in this project."
                           : "Every plan needs the user's approval in this project.");
    case SRV_REASON_TOO_MANY_TASKS:
      if (count <= set->settings.max_tasks)
        return g_strdup ("The plan had more tasks than might start without approval when it was "
                         "made.");
      return g_strdup_printf ("The plan has %u tasks; without approval at most %" G_GINT64_FORMAT
                              " may start.",
                              count, set->settings.max_tasks);
    case SRV_REASON_PROTECTED_PATH:
      globs = touched ? g_strjoinv (", ", touched) : g_strdup ("-");
      return g_strdup_printf ("The plan may touch protected paths: %s.", globs);
    case SRV_REASON_OUTSIDE_HOURS:
      return g_strdup_printf ("It is outside the hours in which plans start by themselves: %s.",
                              set->plan->waits_hours ? set->plan->waits_hours
                                                     : set->settings.hours);
    case SRV_N_REASONS:
      break;
    }
  return g_strdup ("");
}

json_t *
srv_render_waits (SrvPlanSet *set)
{
  guint reasons = srv_plan_set_reasons (set);
  g_auto (GStrv) touched = srv_plan_set_touched (set);
  json_t *waits = json_array ();

  for (SrvReason reason = 0; reason < SRV_N_REASONS; reason++)
    {
      if (!(reasons >> reason & 1))
        continue;
      g_auto (SrvSettings) after = { 0 };
      srv_settings_of (set->project, &after);
      srv_rules_stop_asking (&after, reason, srv_rules_task_count (set->values, set->tasks->len),
                             (const char *const *) touched);
      g_autofree char *text = reason_text (set, reason, touched);
      json_array_append_new (waits, json_pack ("{s:s, s:s, s:o, s:o, s:s}", "reason",
                                               srv_reason_words[reason], "setting",
                                               srv_reason_settings[reason], "from",
                                               setting_value (&set->settings, reason), "to",
                                               setting_value (&after, reason), "text", text));
    }
  return waits;
}

static void
append_hold (json_t *holds, const char *on, gint64 id, json_t *hold)
{
  if (json_is_object (hold))
    {
      json_object_set_new (hold, "on", json_string (on));
      json_object_set_new (hold, "id", json_integer (id));
      json_array_append (holds, hold);
    }
  json_decref (hold);
}

static json_t *
render_holds (SrvPlanSet *set)
{
  json_t *holds = json_array ();

  append_hold (holds, "project", set->project->id, RENDER_HOLD (set->project));
  append_hold (holds, "plan", set->plan->id, RENDER_HOLD (set->plan));
  for (guint i = 0; i < set->tasks->len; i++)
    {
      const SrvTask *task = g_ptr_array_index (set->tasks, i);
      append_hold (holds, "task", task->id, RENDER_HOLD (task));
    }
  return holds;
}

json_t *
srv_render_task (SrvPlanSet *set, guint i, const char *brief)
{
  const SrvTask *task = g_ptr_array_index (set->tasks, i);
  const SrvTaskValue *value = &set->values[i];
  json_t *depends_on = json_array (), *blocked_by = json_array ();

  for (guint d = 0; d < value->n_depends_on; d++)
    json_array_append_new (depends_on, json_integer (value->depends_on[d]));
  const GArray *blocked = value->state == SRV_TASK_PLANNED ? srv_plan_set_blocked (set, i) : NULL;
  for (guint b = 0; blocked && b < blocked->len; b++)
    json_array_append_new (blocked_by, json_integer (g_array_index (blocked, gint64, b)));
  json_t *body = json_pack ("{s:I, s:I, s:I, s:s, s:o, s:o, s:o, s:I, s:s}", "id", I (task->id),
                            "plan", I (task->plan), "project", I (task->project), "title",
                            task->title, "paths", srv_render_list (task->paths), "depends_on",
                            depends_on, "branch", srv_render_text (task->branch), "wave",
                            I (value->wave), "state", srv_task_state_words[task->state]);
  if (brief)
    json_object_set_new (body, "brief", json_string (brief));
  if (task->state == SRV_TASK_FAILED || task->state == SRV_TASK_REVIEW)
    json_object_set_new (body, "reason", srv_render_text (task->reason));
  json_object_set_new (body, "attempt", json_integer (task->attempt));
  json_object_set_new (body, "lost", json_integer (task->lost));
  json_object_set_new (body, "awaiting", json_boolean (task->awaiting));
  json_object_set_new (body, "blocked_by", blocked_by);
  json_object_set_new (body, "hold", RENDER_HOLD (task));
  json_object_set_new (body, "created", srv_render_time (task->created));
  json_object_set_new (body, "updated", srv_render_time (task->updated));
  return body;
}

/* Briefs come oldest first, as the tasks do; each task has one. */
static json_t *
render_tasks (SrvCall *call, SrvPlanSet *set, gboolean with_briefs)
{
  g_autoptr (GPtrArray) briefs = with_briefs
                                     ? srv_store_find (call->store, SRV_FIND_BRIEFS_OF_PLAN,
                                                       set->plan->id, 0, NULL, SRV_MAX_TASKS)
                                     : NULL;
  json_t *tasks = json_array ();
  guint b = 0;

  for (guint i = 0; i < set->tasks->len; i++)
    {
      const SrvTask *task = g_ptr_array_index (set->tasks, i);
      while (briefs && b < briefs->len
             && ((SrvBrief *) g_ptr_array_index (briefs, b))->id < task->id)
        b++;
      const SrvBrief *brief = briefs && b < briefs->len ? g_ptr_array_index (briefs, b) : NULL;
      json_array_append_new (
          tasks, srv_render_task (set, i, brief && brief->id == task->id ? brief->text : NULL));
    }
  return tasks;
}

static json_t *
render_counts (SrvPlanSet *set, gint64 *out_blocked)
{
  guint of[SRV_N_TASK_STATES] = { 0 };
  json_t *counts = json_object ();

  for (guint i = 0; i < set->tasks->len; i++)
    of[set->values[i].state]++;
  for (guint s = 0; s < SRV_N_TASK_STATES; s++)
    json_object_set_new (counts, srv_task_state_words[s], json_integer (of[s]));
  *out_blocked = of[SRV_TASK_FAILED];
  return counts;
}

json_t *
srv_render_plan (SrvCall *call, SrvPlanSet *set, SrvRenderFlags flags)
{
  const SrvPlan *plan = set->plan;
  json_t *awaiting = json_array ();
  gint64 failed;

  srv_rules_waves (set->values, set->tasks->len, NULL);
  for (guint i = 0; i < set->tasks->len; i++)
    if (set->values[i].awaiting)
      json_array_append_new (awaiting, json_integer (set->values[i].id));
  json_t *body = json_pack (
      "{s:I, s:I, s:s, s:o, s:s, s:I, s:o, s:o, s:o, s:o}", "id", I (plan->id), "project",
      I (plan->project), "title", plan->title, "summary", srv_render_text (plan->summary), "state",
      srv_plan_state_words[plan->state], "version", I (plan->version), "hold", RENDER_HOLD (plan),
      "holds", render_holds (set), "awaiting", awaiting, "waits", srv_render_waits (set));
  json_object_set_new (body, "counts", render_counts (set, &failed));
  json_object_set_new (body, "blocked", json_boolean (failed > 0));
  if (flags & SRV_WITH_TASKS)
    json_object_set_new (body, "tasks", render_tasks (call, set, (flags & SRV_WITH_BRIEFS) != 0));
  json_object_set_new (body, "created", srv_render_time (plan->created));
  json_object_set_new (body, "updated", srv_render_time (plan->updated));
  json_object_set_new (body, "finished", srv_render_time (plan->finished));
  return body;
}

json_t *
srv_render_started (const SrvPlanSet *set, GHashTable *ready_before)
{
  json_t *started = json_array ();

  for (guint i = 0; i < set->tasks->len; i++)
    {
      const SrvTask *task = g_ptr_array_index (set->tasks, i);
      if (task->state == SRV_TASK_READY && !g_hash_table_contains (ready_before, task))
        json_array_append_new (started,
                               json_pack ("{s:I, s:s, s:o}", "id", (json_int_t) task->id, "title",
                                          task->title, "branch", srv_render_text (task->branch)));
    }
  return started;
}

/* --------------------------------------------------------------------- others */
static json_t *
project_name (SrvCall *call, gint64 id)
{
  return srv_render_text (srv_call_project_name (call, id));
}

json_t *
srv_render_message (SrvCall *call, const SrvMessage *message)
{
  json_t *turn_ended = message->turn_ended
                           ? json_pack ("{s:o, s:s}", "at", srv_render_time (message->turn_ended),
                                        "outcome", message->turn_failed ? "crashed" : "done")
                           : json_null ();
  json_t *body
      = json_pack ("{s:I, s:I, s:o, s:s, s:s, s:s}", "id", I (message->id), "project",
                   I (message->project), "project_name", project_name (call, message->project),
                   "author", srv_author_words[message->author], "text", message->text, "state",
                   srv_message_state_words[message->state]);

  json_object_set_new (body, "sent", srv_render_time (message->sent));
  json_object_set_new (body, "delivered", srv_render_time (message->delivered));
  json_object_set_new (body, "answer", srv_render_text (message->answer));
  json_object_set_new (body, "answered", srv_render_time (message->answered));
  json_object_set_new (body, "turn_ended", turn_ended);
  return body;
}

json_t *
srv_render_question (SrvCall *call, const SrvQuestion *question)
{
  return json_pack ("{s:I, s:I, s:o, s:s, s:o, s:s, s:o, s:o, s:o}", "id", I (question->id),
                    "project", I (question->project), "project_name",
                    project_name (call, question->project), "text", question->text, "options",
                    srv_render_list (question->options), "state",
                    srv_question_state_words[question->state], "asked",
                    srv_render_time (question->asked), "answer", srv_render_text (question->answer),
                    "answered", srv_render_time (question->answered));
}

json_t *
srv_render_report (const SrvReport *report)
{
  return json_pack ("{s:I, s:I, s:s, s:o}", "id", I (report->id), "project", I (report->project),
                    "text", report->text, "at", srv_render_time (report->at));
}

json_t *
srv_render_token (const SrvToken *token)
{
  return json_pack ("{s:I, s:s, s:s, s:o, s:o, s:o}", "id", I (token->id), "role",
                    token->role == SRV_ROLE_CLIENT ? "client" : srv_role_word (token->role), "name",
                    token->name, "project", srv_render_id (token->project), "created",
                    srv_render_time (token->created), "revoked", srv_render_time (token->revoked));
}

json_t *
srv_render_job (const SrvCall *call, const SrvJob *job)
{
  json_t *latest = job->latest ? json_pack ("{s:o, s:s}", "at", srv_render_time (job->latest_at),
                                            "text", job->latest)
                               : json_null ();

  return json_pack (
      "{s:I, s:I, s:I, s:I, s:s, s:s, s:I, s:o, s:o, s:o, s:I, s:o, s:i}", "id", I (job->id),
      "task", I (job->task), "plan", I (job->plan), "project", I (job->project), "worker",
      job->worker, "state", srv_job_state_words[job->state], "attempt", I (job->attempt), "started",
      srv_render_time (job->started), "heartbeat", srv_render_time (job->heartbeat), "finished",
      srv_render_time (job->finished), "sequence", I (job->sequence), "latest", latest,
      "heartbeat_seconds", (int) srv_world_heartbeat_s (call->world));
}

/* A message's text is stored once: its events show it from there. */
json_t *
srv_render_event (SrvCall *call, const SrvEvent *event)
{
  gboolean is_message = event->what == SRV_EVENT_MESSAGE_SENT
                        || event->what == SRV_EVENT_MESSAGE_ANSWERED
                        || event->what == SRV_EVENT_MESSAGE_DROPPED;
  g_autoptr (SrvMessage) message
      = is_message ? srv_store_get (call->store, SRV_RECORD_MESSAGE, event->ref) : NULL;
  const char *text = event->text;

  if (message)
    text = event->what == SRV_EVENT_MESSAGE_ANSWERED ? message->answer : message->text;
  return json_pack ("{s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:s, s:o}", "seq", I (event->id),
                    "at", srv_render_time (event->at), "project", srv_render_id (event->project),
                    "project_name", project_name (call, event->project), "plan",
                    srv_render_id (event->plan), "task", srv_render_id (event->task), "actor",
                    srv_render_who (event->role, event->name), "kind",
                    srv_event_kind_words[CLAMP (event->what, 0, SRV_N_EVENT_KINDS - 1)], "text",
                    text ? text : "", "ref", srv_render_id (event->ref));
}

json_t *
srv_render_notes (SrvCall *call, gint64 task)
{
  g_autoptr (GPtrArray) notes
      = srv_store_find (call->store, SRV_FIND_NOTES_OF_TASK, task, 0, NULL, SRV_PAGE);
  json_t *list = json_array ();

  for (guint i = notes->len; i > 0; i--)
    {
      const SrvNote *note = g_ptr_array_index (notes, i - 1);
      json_array_append_new (list, json_pack ("{s:o, s:o, s:s}", "at", srv_render_time (note->at),
                                              "by", srv_render_who (note->role, note->name), "text",
                                              note->text));
    }
  return list;
}

json_t *
srv_render_page (json_t *items, gint64 next)
{
  json_t *cursor = json_null ();

  if (next)
    {
      g_autofree char *text = g_strdup_printf ("%" G_GINT64_FORMAT, next);
      cursor = json_string (text);
    }
  return json_pack ("{s:o, s:o}", "items", items, "next_cursor", cursor);
}
