/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-ops-jobs: workers claim ready tasks, tell what they do, and finish; silent ones are lost.
 *
 * What jobs do moves tasks on but does not raise the plan's version: that is of what the plan says, and of what the user
 * was shown.
 */
#include "config.h"

#include "srv-ops.h"
#include "srv-render.h"

#include <string.h>

#define MAX_LATEST 1000 /* characters */
#define MAX_REASON 400  /* characters */
#define MAX_REF 2000    /* bytes of what names a project */
/* What JSON readers with doubles keep exactly; and far from what the store takes for damage. */
#define MAX_SEQUENCE ((G_GINT64_CONSTANT (1) << 53) - 1)

/* ---------------------------------------------------------------------- claim */
/* The first that @find has in the projects asked for (gint64), or in any: NULL. */
static gpointer
find_first (SrvCall *call, const GArray *projects, SrvFind find, gint64 b)
{
  gpointer found = NULL;

  if (!projects)
    return srv_store_find_one (call->store, find, 0, b, NULL);
  for (guint i = 0; !found && i < projects->len; i++)
    found = srv_store_find_one (call->store, find, g_array_index (projects, gint64, i), b, NULL);
  return found;
}

/* What a plan's approval would start, or NULL. */
static char *
awaited (SrvCall *call, const GArray *projects)
{
  g_autoptr (SrvPlan) plan = find_first (call, projects, SRV_FIND_PLANS_WAITING, 0);

  if (!plan)
    return NULL;
  return g_strdup_printf (plan->state == SRV_PLAN_AWAITING_APPROVAL
                              ? "No task is ready; plan %" G_GINT64_FORMAT
                                " (\"%s\") awaits approval."
                              : "No task is ready; new or changed tasks of plan %" G_GINT64_FORMAT
                                " (\"%s\") await approval.",
                          plan->id, plan->title);
}

/* Why there is nothing: one sentence, about the first thing that stands in the way. */
static SrvReply *
nothing (SrvCall *call, const GArray *projects)
{
  g_autoptr (SrvTask) free_one = find_first (call, projects, SRV_FIND_TASKS_READY, 0);
  g_autoptr (SrvTask) held = find_first (call, projects, SRV_FIND_TASKS_READY_HELD, 0);
  g_autoptr (SrvProject) project = srv_store_find_one (call->store, SRV_FIND_PROJECTS, 0, 0, NULL);
  g_autofree char *text = NULL;
  const char *code = "nothing_ready";

  if (free_one)
    {
      code = "no_checkout";
      text = g_strdup_printf ("Task %" G_GINT64_FORMAT
                              " (\"%s\") is ready, but its project %" G_GINT64_FORMAT
                              " has no checkout, and the worker has no folder of its own for it.",
                              free_one->id, free_one->title, free_one->project);
    }
  else if (held)
    {
      code = "held";
      text = g_strdup_printf ("Task %" G_GINT64_FORMAT
                              " (\"%s\") is ready, but on hold: it, its plan or its project.",
                              held->id, held->title);
    }
  else if ((text = awaited (call, projects)))
    code = "awaiting_approval";
  else if (!project)
    {
      code = "no_project";
      text = g_strdup ("The engine has no project yet.");
    }
  SrvReply *reply
      = srv_reply_json (200, json_pack ("{s:n, s:{s:s, s:s}}", "job", "waiting", "code", code,
                                        "text", text ? text : "No task is ready."));
  reply->is_nothing = TRUE; /* a claim that waits asks again */
  return reply;
}

static json_t *
render_claim (SrvCall *call, SrvPlanSet *set, const SrvTask *task, const SrvJob *job)
{
  g_autoptr (SrvBrief) brief = srv_store_get (call->store, SRV_RECORD_BRIEF, task->id);
  json_t *body = json_object ();

  json_object_set_new (body, "job", srv_render_job (call, job));
  json_object_set_new (body, "task",
                       json_pack ("{s:I, s:s, s:s, s:o, s:o, s:o}", "id", (json_int_t) task->id,
                                  "title", task->title, "brief", brief ? brief->text : "", "paths",
                                  srv_render_list (task->paths), "branch",
                                  srv_render_text (task->branch), "notes",
                                  srv_render_notes (call, task->id)));
  json_object_set_new (body, "plan",
                       json_pack ("{s:I, s:s, s:o}", "id", (json_int_t) set->plan->id, "title",
                                  set->plan->title, "summary",
                                  srv_render_text (set->plan->summary)));
  json_object_set_new (body, "project",
                       json_pack ("{s:I, s:s, s:s, s:o}", "id", (json_int_t) set->project->id,
                                  "name", set->project->name, "repo_url", set->project->repo_url,
                                  "checkout", srv_render_text (set->project->checkout)));
  return body;
}

/* The id that an element of projects means; 0: a problem or a refusal. */
static gint64
project_meant (SrvCall *call, DbrJson value, const char *field, SrvReply **out_refusal)
{
  gint64 id = 0;

  if (dbr_json_type (value) == DBR_JSON_STRING)
    {
      const char *text = srv_call_element_text (call, value, field, MAX_REF);
      return text ? srv_call_project_of_text (call, text, out_refusal) : 0;
    }
  if (!dbr_json_int64 (value, &id) || id < 1)
    {
      srv_call_problem (call, field, "is neither the number, the name nor the URL of a project");
      return 0;
    }
  g_autoptr (SrvProject) project = srv_store_get (call->store, SRV_RECORD_PROJECT, id);
  if (project && !project->removed)
    return id;
  *out_refusal = srv_reply_missing ("project", id);
  return 0;
}

/* NULL: any project, or a refusal: a worker for a project that isn't there would wait for ever. (transfer full)
 * (element-type gint64) */
static GArray *
read_projects (SrvCall *call, DbrJson projects, SrvReply **out_refusal)
{
  guint i = 0;

  if (dbr_json_type (projects) != DBR_JSON_ARRAY)
    return NULL;
  g_autoptr (GArray) ids = g_array_new (FALSE, FALSE, sizeof (gint64));
  for (DbrJson v = dbr_json_first (projects); !*out_refusal && dbr_json_exists (v);
       v = dbr_json_next (v), i++)
    {
      g_autofree char *field = g_strdup_printf ("projects[%u]", i);
      gint64 id = project_meant (call, v, field, out_refusal);
      g_array_append_val (ids, id);
    }
  if (!*out_refusal && srv_call_is_bad (call))
    *out_refusal = srv_call_refuse (call);
  return *out_refusal ? NULL : g_steal_pointer (&ids);
}

SrvReply *
srv_op_JOB_CLAIM (SrvCall *call)
{
  static const SrvMember members[] = {
    { "worker", SRV_MEMBER_NAME, SRV_MEMBER_REQUIRED, 0, 0, NULL },
    { "wait", SRV_MEMBER_INTEGER, 0, 0, 30, NULL },
    { "projects", SRV_MEMBER_ARRAY, SRV_MEMBER_NULLABLE, 0, 100, NULL },
    { "needs_checkout", SRV_MEMBER_BOOLEAN, 0, 0, 0, NULL },
  };
  DbrJson body = call->request->body;
  SrvReply *refusal = NULL;

  srv_call_check (call, body, "", members, G_N_ELEMENTS (members));
  if (srv_call_is_bad (call))
    return srv_call_refuse (call);
  g_autoptr (GArray) projects = read_projects (call, dbr_json_get (body, "projects"), &refusal);
  if (refusal)
    return refusal;
  g_autoptr (SrvTask) ready
      = find_first (call, projects, SRV_FIND_TASKS_READY,
                    dbr_json_get_boolean (dbr_json_get (body, "needs_checkout")));
  if (!ready)
    return nothing (call, projects);
  g_autoptr (SrvPlanSet) set = srv_plan_set_load (call, ready->plan, &refusal);
  SrvTask *task = set ? srv_plan_set_task (set, ready->id) : NULL;
  if (!task)
    return refusal ? refusal : srv_reply_missing ("task", ready->id);
  g_autoptr (SrvJob) job = SrvJob_new ();
  task->state = SRV_TASK_RUNNING;
  task->attempt++;
  job->task = task->id;
  job->plan = task->plan;
  job->project = task->project;
  job->token = call->actor.token;
  job->worker = g_strdup (srv_call_text (call, body, "worker"));
  job->attempt = task->attempt;
  job->started = job->heartbeat = call->now;
  srv_store_add (call->store, job);
  task->job = job->id;
  srv_plan_set_change (set, task, call->now);
  srv_call_event (call, SRV_EVENT_JOB_STARTED, SRV_ABOUT_TASK (task), job->id, job->worker);
  srv_plan_set_settle (call, set);
  return srv_reply_json (200, render_claim (call, set, task, job));
}

/* ------------------------------------------------------------ a job's own life */
/* The end of @text, of at most @max characters: what went wrong is said last. (transfer full) */
static char *
last_part (const char *text, glong max)
{
  g_autofree char *chomped = g_strchomp (g_strdup (text));
  glong length = g_utf8_strlen (chomped, -1);

  if (length <= max)
    return g_steal_pointer (&chomped);
  return g_strconcat ("…", g_utf8_offset_to_pointer (chomped, length - max + 1), NULL);
}

/* The job that the request is about, its body checked; NULL: *@out_refusal says why not. */
static SrvJob *
own_job (SrvCall *call, const SrvMember *members, guint n_members, SrvReply **out_refusal)
{
  g_autoptr (SrvJob) job = srv_store_get (call->store, SRV_RECORD_JOB, call->request->id);

  if (!job)
    *out_refusal = srv_reply_missing ("job", call->request->id);
  else if (call->actor.role == SRV_ROLE_WORKER && call->actor.token != job->token)
    *out_refusal = srv_reply_forbidden ("not_your_job", "This job was claimed with another token.");
  if (*out_refusal)
    return NULL;
  srv_call_check (call, call->request->body, "", members, n_members);
  if (!srv_call_is_bad (call))
    return g_steal_pointer (&job);
  *out_refusal = srv_call_refuse (call);
  return NULL;
}

static SrvReply *
job_over (const SrvJob *job)
{
  g_autofree char *detail = g_strdup_printf ("Job %" G_GINT64_FORMAT " is over: it is %s.", job->id,
                                             srv_job_state_words[job->state]);

  return srv_reply_conflict ("job_over", detail,
                             json_pack ("{s:s}", "state", srv_job_state_words[job->state]));
}

SrvReply *
srv_op_JOB_EVENT (SrvCall *call)
{
  static const SrvMember members[] = {
    /* One is left to finish with. */
    { "sequence", SRV_MEMBER_INTEGER, SRV_MEMBER_REQUIRED, 1, MAX_SEQUENCE - 1, NULL },
    { "text", SRV_MEMBER_ANY_TEXT, SRV_MEMBER_REQUIRED, 0, 0, NULL },
  };
  DbrJson body = call->request->body;
  SrvReply *refusal = NULL;
  g_autoptr (SrvJob) job = own_job (call, members, G_N_ELEMENTS (members), &refusal);

  if (!job)
    return refusal;
  gint64 sequence = srv_call_integer (body, "sequence", 0);
  if (sequence <= job->sequence)
    return srv_reply_json (200, json_pack ("{s:o, s:I, s:b}", "job", srv_render_job (call, job),
                                           "sequence", (json_int_t) sequence, "repeat", 1));
  if (job->state != SRV_JOB_RUNNING)
    return job_over (job);
  const char *text = srv_call_text (call, body, "text");
  job->sequence = sequence;
  job->heartbeat = job->latest_at = call->now;
  g_free (job->latest);
  job->latest = last_part (text, MAX_LATEST);
  srv_store_put (call->store, job);
  srv_call_event (call, SRV_EVENT_JOB_LINE, SRV_ABOUT_JOB (job), job->id, text);
  return srv_reply_json (201, json_pack ("{s:o, s:I, s:b}", "job", srv_render_job (call, job),
                                         "sequence", (json_int_t) sequence, "repeat", 0));
}

/* Prolongs; no event: it decides nothing. */
SrvReply *
srv_op_JOB_HEARTBEAT (SrvCall *call)
{
  SrvReply *refusal = NULL;
  g_autoptr (SrvJob) job = own_job (call, NULL, 0, &refusal);

  if (!job)
    return refusal;
  if (job->state != SRV_JOB_RUNNING)
    return job_over (job);
  job->heartbeat = call->now;
  srv_store_put (call->store, job);
  return srv_reply_json (200, srv_render_job (call, job));
}

/* The task goes on from its job. */
static void
end_task (SrvCall *call, const SrvJob *job, SrvTaskState state, const char *text)
{
  SrvReply *refusal = NULL;
  g_autoptr (SrvPlanSet) set = srv_plan_set_load (call, job->plan, &refusal);
  SrvTask *task = set ? srv_plan_set_task (set, job->task) : NULL;

  srv_reply_free (refusal);
  if (!task || task->job != job->id)
    return;
  task->job = 0;
  task->state = state;
  if (state == SRV_TASK_REVIEW || state == SRV_TASK_FAILED)
    {
      g_free (task->reason);
      task->reason = last_part (text, MAX_REASON);
    }
  srv_plan_set_change (set, task, call->now);
  if (state != SRV_TASK_PLANNED)
    {
      set->project->wake = 1;
      srv_call_event (call,
                      state == SRV_TASK_DONE     ? SRV_EVENT_TASK_DONE
                      : state == SRV_TASK_REVIEW ? SRV_EVENT_TASK_REVIEW
                                                 : SRV_EVENT_TASK_FAILED,
                      SRV_ABOUT_TASK (task), job->id, text);
    }
  srv_plan_set_settle (call, set);
}

/* Given back, that was no attempt at the task. TRUE: it was given back so often in a row, without a word of its command,
 * that nobody will ever run it. */
static gboolean
count_returned (SrvCall *call, const SrvJob *job, gboolean has_told)
{
  g_autoptr (SrvTask) task = srv_store_get (call->store, SRV_RECORD_TASK, job->task);
  gboolean is_returned = job->state == SRV_JOB_RETURNED;

  if (!task || task->job != job->id)
    return FALSE;
  task->attempt -= is_returned && task->attempt > 0;
  task->returned = is_returned && !has_told ? task->returned + 1 : 0;
  srv_store_put (call->store, task);
  return task->returned >= SRV_MAX_RETURNED;
}

SrvReply *
srv_op_JOB_FINISH (SrvCall *call)
{
  static const char *const outcomes[] = { "succeeded", "review", "failed", "returned", NULL };
  static const SrvJobState states[]
      = { SRV_JOB_SUCCEEDED, SRV_JOB_REVIEW, SRV_JOB_FAILED, SRV_JOB_RETURNED };
  static const SrvTaskState task_states[]
      = { SRV_TASK_DONE, SRV_TASK_REVIEW, SRV_TASK_FAILED, SRV_TASK_PLANNED };
  static const SrvMember members[] = {
    { "sequence", SRV_MEMBER_INTEGER, SRV_MEMBER_REQUIRED, 1, MAX_SEQUENCE, NULL },
    { "outcome", SRV_MEMBER_WORD, SRV_MEMBER_REQUIRED, 0, 0, outcomes },
    { "text", SRV_MEMBER_ANY_TEXT, SRV_MEMBER_NULLABLE, 0, 0, NULL },
  };
  DbrJson body = call->request->body;
  SrvReply *refusal = NULL;
  g_autoptr (SrvJob) job = own_job (call, members, G_N_ELEMENTS (members), &refusal);

  if (!job)
    return refusal;
  gint64 sequence = srv_call_integer (body, "sequence", 0);
  gint outcome = srv_call_word (call, body, "outcome", outcomes, 0);
  if (job->state != SRV_JOB_RUNNING)
    return sequence == job->sequence && job->state == (gint64) states[outcome]
               ? srv_reply_json (200, srv_render_job (call, job))
               : job_over (job);
  if (sequence <= job->sequence)
    return srv_reply_conflict (
        "sequence_used", "This sequence number was an event of the job: finish with the next one.",
        json_pack ("{s:I}", "sequence", (json_int_t) job->sequence));
  const char *text = srv_call_text (call, body, "text");
  gboolean has_told = job->sequence > 0;
  job->state = states[outcome];
  job->sequence = sequence;
  job->heartbeat = job->finished = call->now;
  srv_store_put (call->store, job);
  gboolean is_returned = job->state == SRV_JOB_RETURNED;
  srv_call_event (call, is_returned ? SRV_EVENT_JOB_RETURNED : SRV_EVENT_JOB_FINISHED,
                  SRV_ABOUT_JOB (job), job->id, text ? text : outcomes[outcome]);
  /* Why it ended so: what the worker says of it, or else the last that it said at all. */
  const char *why = text ? text : job->latest ? job->latest : outcomes[outcome];
  g_autofree char *given_up
      = count_returned (call, job, has_told) ? g_strdup_printf (
            "Given back without being run " G_STRINGIFY (SRV_MAX_RETURNED) " times in a row: %s",
            why)
                                             : NULL;
  end_task (call, job, given_up ? SRV_TASK_FAILED : task_states[outcome],
            given_up ? given_up : why);
  return srv_reply_json (200, srv_render_job (call, job));
}

void
srv_job_lose (SrvCall *call, SrvJob *job)
{
  g_autoptr (SrvTask) task = srv_store_get (call->store, SRV_RECORD_TASK, job->task);
  g_autofree char *text = NULL;

  job->state = SRV_JOB_LOST;
  job->finished = call->now;
  srv_store_put (call->store, job);
  srv_call_event (call, SRV_EVENT_JOB_LOST, SRV_ABOUT_JOB (job), job->id, job->worker);
  if (!task || task->job != job->id)
    return;
  task->lost++;
  srv_store_put (call->store, task);
  text = g_strdup_printf ("%" G_GINT64_FORMAT " attempts were lost: their workers fell silent.",
                          task->lost);
  end_task (call, job, srv_rules_lost_too_often (task->lost) ? SRV_TASK_FAILED : SRV_TASK_PLANNED,
            text);
}
