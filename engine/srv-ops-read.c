/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-ops-read: lists and the timeline. Each reads its page from an index, never a table.
 */
#include "config.h"

#include "srv-ops.h"
#include "srv-render.h"

/* limit and cursor of a list; FALSE and a refusal. @known: names of the query, NULL-terminated. */
static gboolean
read_page (SrvCall *call,
           const char *const *known,
           gint64 *out_limit,
           gint64 *out_from,
           SrvReply **out_refusal)
{
  *out_limit = SRV_PAGE;
  srv_call_query_known (call, known);
  srv_call_query_integer (call, "limit", 1, SRV_MAX_PAGE, out_limit);
  srv_call_query_integer (call, "cursor", 0, G_MAXINT64, out_from);
  if (srv_call_is_bad (call))
    *out_refusal = srv_call_refuse (call);
  return !srv_call_is_bad (call);
}

static gint64
next_of (GPtrArray *found, gint64 limit)
{
  return found->len == limit ? ((SrvRecord *) g_ptr_array_index (found, found->len - 1))->id : 0;
}

SrvReply *
srv_op_PROJECT_LIST (SrvCall *call)
{
  static const char *const known[] = { "limit", "cursor", "project", "repo_url", NULL };
  SrvReply *refusal = NULL;
  gint64 limit, after = 0;

  if (!read_page (call, known, &limit, &after, &refusal))
    return refusal;
  gint64 only = srv_call_project_filter (call, &refusal);
  if (refusal)
    return refusal;
  json_t *items = json_array ();
  if (only)
    {
      g_autoptr (SrvProject) project = srv_store_get (call->store, SRV_RECORD_PROJECT, only);
      if (project)
        json_array_append_new (items, srv_render_project (call, project));
      return srv_reply_json (200, srv_render_page (items, 0));
    }
  srv_call_know_leases (call);
  g_autoptr (GPtrArray) found
      = srv_store_find (call->store, SRV_FIND_PROJECTS, after, 0, NULL, (guint) limit);
  for (guint i = 0; i < found->len; i++)
    json_array_append_new (items, srv_render_project (call, g_ptr_array_index (found, i)));
  return srv_reply_json (200, srv_render_page (items, next_of (found, limit)));
}

SrvReply *
srv_op_MESSAGE_LIST (SrvCall *call)
{
  static const char *const known[] = { "limit", "cursor", "project", "repo_url", "waiting", NULL };
  SrvReply *refusal = NULL;
  gint64 limit, before = SRV_NO_ID;
  gboolean waiting = srv_call_query_flag (call, "waiting");

  if (!read_page (call, known, &limit, &before, &refusal))
    return refusal;
  gint64 project = srv_call_project_filter (call, &refusal);
  if (refusal)
    return refusal;
  SrvFind all = waiting ? SRV_FIND_MESSAGES_UNDONE : SRV_FIND_MESSAGES;
  SrvFind of_project = waiting ? SRV_FIND_PROJECT_MESSAGES_UNDONE : SRV_FIND_PROJECT_MESSAGES;
  g_autoptr (GPtrArray) found = srv_store_find (call->store, project ? of_project : all, project,
                                                before, NULL, (guint) limit);
  json_t *items = json_array ();
  for (guint i = 0; i < found->len; i++)
    json_array_append_new (items, srv_render_message (call, g_ptr_array_index (found, i)));
  return srv_reply_json (200, srv_render_page (items, next_of (found, limit)));
}

static GPtrArray *
find_plans (SrvCall *call, gint64 project, gint state, gint64 before, gint64 limit)
{
  g_autofree char *text = g_strdup_printf ("%d", state);

  if (state < 0)
    return srv_store_find (call->store, project ? SRV_FIND_PROJECT_PLANS : SRV_FIND_PLANS, project,
                           before, NULL, (guint) limit);
  if (project)
    return srv_store_find (call->store, SRV_FIND_PROJECT_PLANS_IN_STATE, project, before, text,
                           (guint) limit);
  return srv_store_find (call->store, SRV_FIND_PLANS_IN_STATE, state, before, NULL, (guint) limit);
}

SrvReply *
srv_op_PLAN_LIST (SrvCall *call)
{
  static const char *const known[] = { "limit", "cursor", "project", "repo_url", "state", NULL };
  SrvReply *refusal = NULL;
  gint64 limit, before = SRV_NO_ID;
  const char *word = srv_call_query (call, "state");
  gint state = srv_word_find (srv_plan_state_words, word);

  if (word && state < 0)
    srv_call_problem (call, "state", "is not a state of plans");
  if (!read_page (call, known, &limit, &before, &refusal))
    return refusal;
  gint64 project = srv_call_project_filter (call, &refusal);
  if (refusal)
    return refusal;
  g_autoptr (GPtrArray) found = find_plans (call, project, state, before, limit);
  json_t *items = json_array ();
  for (guint i = 0; i < found->len; i++)
    {
      const SrvPlan *plan = g_ptr_array_index (found, i);
      g_autoptr (SrvPlanSet) set = srv_plan_set_load (call, plan->id, &refusal);
      if (set)
        json_array_append_new (items, srv_render_plan (call, set, 0));
      g_clear_pointer (&refusal, srv_reply_free);
    }
  return srv_reply_json (200, srv_render_page (items, next_of (found, limit)));
}

SrvReply *
srv_op_TOKEN_LIST (SrvCall *call)
{
  static const char *const known[] = { "limit", "cursor", NULL };
  SrvReply *refusal = NULL;
  gint64 limit, before = SRV_NO_ID;

  if (!read_page (call, known, &limit, &before, &refusal))
    return refusal;
  g_autoptr (GPtrArray) found
      = srv_store_find (call->store, SRV_FIND_TOKENS, 0, before, NULL, (guint) limit);
  json_t *items = json_array ();
  for (guint i = 0; i < found->len; i++)
    json_array_append_new (items, srv_render_token (g_ptr_array_index (found, i)));
  return srv_reply_json (200, srv_render_page (items, next_of (found, limit)));
}

/* --------------------------------------------------------------------- events */
/* The task that is asked about, if it may be seen; 0: none named. */
static gint64
task_filter (SrvCall *call, gint64 id, SrvReply **out_refusal)
{
  g_autoptr (SrvTask) task = id ? srv_call_get (call, SRV_RECORD_TASK, id, out_refusal) : NULL;

  return task ? task->id : 0;
}

SrvReply *
srv_op_TIMELINE (SrvCall *call)
{
  static const char *const known[] = { "project", "repo_url", "task", "limit", "before", NULL };
  SrvReply *refusal = NULL;
  gint64 limit = SRV_PAGE, before = SRV_NO_ID, task = 0;

  srv_call_query_known (call, known);
  srv_call_query_integer (call, "limit", 1, SRV_MAX_PAGE, &limit);
  srv_call_query_integer (call, "before", 1, G_MAXINT64, &before);
  srv_call_query_integer (call, "task", 1, G_MAXINT64, &task);
  if (srv_call_is_bad (call))
    return srv_call_refuse (call);
  gint64 project = srv_call_project_filter (call, &refusal);
  if (!refusal)
    task = task_filter (call, task, &refusal);
  if (refusal)
    return refusal;
  SrvFind what = task      ? SRV_FIND_EVENTS_OF_TASK
                 : project ? SRV_FIND_PROJECT_EVENTS_BEFORE
                           : SRV_FIND_EVENTS_BEFORE;
  g_autoptr (GPtrArray) found
      = srv_store_find (call->store, what, task ? task : project, before, NULL, (guint) limit);
  json_t *items = json_array ();
  for (guint i = found->len; i > 0; i--)
    json_array_append_new (items, srv_render_event (call, g_ptr_array_index (found, i - 1)));
  return srv_reply_json (200, json_pack ("{s:o, s:o}", "items", items, "next_before",
                                         srv_render_id (next_of (found, limit))));
}

SrvReply *
srv_op_EVENTS (SrvCall *call)
{
  static const char *const known[] = { "project", "repo_url", "after", "limit", "wait", NULL };
  SrvReply *refusal = NULL;
  gint64 limit = SRV_PAGE, after = 0, wait = 0;

  srv_call_query_known (call, known);
  srv_call_query_integer (call, "limit", 1, SRV_MAX_PAGE, &limit);
  srv_call_query_integer (call, "after", 0, G_MAXINT64, &after);
  srv_call_query_integer (call, "wait", 0, 30, &wait);
  if (srv_call_is_bad (call))
    return srv_call_refuse (call);
  gint64 project = srv_call_project_filter (call, &refusal);
  if (refusal)
    return refusal;
  g_autoptr (GPtrArray) found = srv_store_find (
      call->store, project ? SRV_FIND_PROJECT_EVENTS_AFTER : SRV_FIND_EVENTS_AFTER, project, after,
      NULL, (guint) limit);
  json_t *items = json_array ();
  for (guint i = 0; i < found->len; i++)
    json_array_append_new (items, srv_render_event (call, g_ptr_array_index (found, i)));
  gint64 last = found->len ? ((SrvRecord *) g_ptr_array_index (found, found->len - 1))->id : after;
  return srv_reply_json (200, json_pack ("{s:o, s:I}", "items", items, "last", (json_int_t) last));
}

/* HTTP's own: never asked of the core. */
static SrvReply *
not_here (void)
{
  return srv_reply_problem (404, "not_found", "This is answered by the HTTP front.", NULL);
}

SrvReply *
srv_op_HEALTH (SrvCall *call)
{
  (void) call;
  return not_here ();
}

SrvReply *
srv_op_OPENAPI (SrvCall *call)
{
  (void) call;
  return not_here ();
}
