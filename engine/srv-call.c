/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-call: events of a request, and the project that it means.
 */
#include "config.h"

#include "srv-call.h"
#include "srv-render.h"

#include <string.h>

void
srv_call_init (SrvCall *self, SrvStore *store, const SrvRequest *request, gint64 now)
{
  *self = (SrvCall){ .store = store, .request = request, .actor = request->actor, .now = now };
  self->errors = json_array ();
  self->texts = g_ptr_array_new_with_free_func (g_free);
}

void
srv_call_clear (SrvCall *self)
{
  g_clear_pointer (&self->errors, json_decref);
  g_clear_pointer (&self->texts, g_ptr_array_unref);
}

/* --------------------------------------------------------------------- events */
gint64
srv_call_actor_role (const SrvCall *self)
{
  return self->actor.role == SRV_ROLE_ADMIN && self->actor.token == 0 ? 0
                                                                      : (gint64) self->actor.role;
}

void
srv_call_event (SrvCall *self,
                SrvEventKind what,
                gint64 project,
                gint64 plan,
                gint64 task,
                gint64 ref,
                const char *text)
{
  g_autoptr (SrvEvent) event = SrvEvent_new ();

  event->at = self->now;
  event->project = project;
  event->plan = plan;
  event->task = task;
  event->role = srv_call_actor_role (self);
  event->name = g_strdup (self->actor.name);
  event->what = what;
  event->text = g_strdup (text);
  event->ref = ref;
  srv_store_add (self->store, event);
}

void
srv_call_eventf (
    SrvCall *self, SrvEventKind what, const SrvPlan *plan, gint64 task, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  g_autofree char *text = g_strdup_vprintf (format, args);
  va_end (args);
  srv_call_event (self, what, plan->project, plan->id, task, 0, text);
}

/* ------------------------------------------------------------------- projects */
SrvReply *
srv_call_may (const SrvCall *self, gint64 project)
{
  if (self->actor.role == SRV_ROLE_FOREMAN && self->actor.project != project)
    return srv_reply_forbidden (
        "wrong_project",
        "This token is the foreman's of another project: it can't see or change this one. "
        "Trying again won't help.");
  return NULL;
}

static SrvReply *
project_needed (GPtrArray *projects)
{
  json_t *list = json_array ();

  for (guint i = 0; i < projects->len; i++)
    {
      const SrvProject *project = g_ptr_array_index (projects, i);
      json_array_append_new (list,
                             json_pack ("{s:I, s:s, s:s}", "id", (json_int_t) project->id, "name",
                                        project->name, "repo_url", project->repo_url));
    }
  return srv_reply_conflict ("project_needed",
                             "The engine has several projects: name one by its repo_url or id.",
                             json_pack ("{s:o}", "projects", list));
}

static SrvProject *
only_project (SrvCall *self, SrvReply **out_refusal)
{
  g_autoptr (GPtrArray) projects
      = srv_store_find (self->store, SRV_FIND_PROJECTS, 0, 0, NULL, SRV_MAX_PAGE);

  if (projects->len == 1)
    return g_ptr_array_steal_index (projects, 0);
  *out_refusal
      = projects->len == 0
            ? srv_reply_problem (404, "no_project", "The engine has no project yet: add one.", NULL)
            : project_needed (projects);
  return NULL;
}

static SrvProject *
project_by_id (SrvCall *self, gint64 id, SrvReply **out_refusal);

static SrvProject *
project_by_url (SrvCall *self, const char *url, SrvReply **out_refusal)
{
  g_autofree char *canonical = srv_repo_url_canonical (url);
  g_autoptr (GPtrArray) all = NULL;
  gint64 id;

  if (g_ascii_string_to_signed (url, 10, 1, G_MAXINT64, &id, NULL))
    return project_by_id (self, id, out_refusal);
  if (!canonical)
    {
      all = srv_store_find (self->store, SRV_FIND_PROJECTS, 0, 0, NULL, SRV_MAX_PAGE);
      for (guint i = 0; i < all->len; i++)
        if (strcmp (((SrvProject *) g_ptr_array_index (all, i))->name, url) == 0)
          return g_ptr_array_steal_index (all, i);
      srv_call_problem (self, "repo_url", "is not a repository URL: like https://host/owner/name");
      *out_refusal = srv_call_refuse (self);
      return NULL;
    }
  SrvProject *project = srv_store_find_one (self->store, SRV_FIND_PROJECT_BY_URL, 0, 0, canonical);
  if (!project)
    {
      g_autofree char *detail = g_strdup_printf ("There is no project %s.", canonical);
      *out_refusal = srv_reply_problem (404, "not_found", detail, NULL);
    }
  return project;
}

static SrvProject *
project_by_id (SrvCall *self, gint64 id, SrvReply **out_refusal)
{
  g_autoptr (SrvProject) project = srv_store_get (self->store, SRV_RECORD_PROJECT, id);

  if (project && !project->removed)
    return g_steal_pointer (&project);
  *out_refusal = srv_reply_missing ("project", id);
  return NULL;
}

/* What the request says: an id (> 0), a URL, or neither. The path wins over the query, the query over the body. */
static gboolean
named_project (SrvCall *self, gint64 *out_id, const char **out_url)
{
  const SrvRequest *request = self->request;
  const char *in_query = srv_call_query (self, "project");

  *out_url = srv_call_query (self, "repo_url");
  if (request->project_ref && strcmp (request->project_ref, "~") != 0)
    return g_ascii_string_to_signed (request->project_ref, 10, 1, G_MAXINT64, out_id, NULL)
           || (*out_id = -1);
  if (!request->project_ref && in_query)
    return g_ascii_string_to_signed (in_query, 10, 1, G_MAXINT64, out_id, NULL) || (*out_id = -1);
  if (*out_url)
    return TRUE;
  if (request->operation == SRV_OP_PLAN_CREATE)
    {
      *out_id = srv_call_integer (request->body, "project", 0);
      *out_url = srv_call_text (self, request->body, "repo_url");
    }
  return *out_id != 0 || *out_url;
}

static SrvProject *
find_project (SrvCall *self, gboolean needed, SrvReply **out_refusal)
{
  gint64 id = 0;
  const char *url = NULL;
  g_autoptr (SrvProject) project = NULL;

  *out_refusal = NULL;
  if (named_project (self, &id, &url))
    project
        = id != 0 ? project_by_id (self, id, out_refusal) : project_by_url (self, url, out_refusal);
  else if (self->actor.role == SRV_ROLE_FOREMAN)
    project = project_by_id (self, self->actor.project, out_refusal);
  else if (needed)
    project = only_project (self, out_refusal);
  if (project)
    *out_refusal = srv_call_may (self, project->id);
  else if (*out_refusal && self->actor.role == SRV_ROLE_FOREMAN)
    {
      /* A foreman is not told which other projects there are. */
      srv_reply_free (*out_refusal);
      *out_refusal = srv_call_may (self, -1);
    }
  return *out_refusal ? NULL : g_steal_pointer (&project);
}

SrvProject *
srv_call_project (SrvCall *self, SrvReply **out_refusal)
{
  return find_project (self, TRUE, out_refusal);
}

gint64
srv_call_project_filter (SrvCall *self, SrvReply **out_refusal)
{
  g_autoptr (SrvProject) project = find_project (self, FALSE, out_refusal);

  return project ? project->id : 0;
}

static gint64
project_of (gconstpointer record, SrvRecordKind kind)
{
  switch (kind)
    {
    case SRV_RECORD_PLAN:
      return ((const SrvPlan *) record)->project;
    case SRV_RECORD_TASK:
      return ((const SrvTask *) record)->project;
    case SRV_RECORD_MESSAGE:
      return ((const SrvMessage *) record)->project;
    case SRV_RECORD_QUESTION:
      return ((const SrvQuestion *) record)->project;
    case SRV_RECORD_LEASE:
      return ((const SrvLease *) record)->project;
    case SRV_RECORD_JOB:
      return ((const SrvJob *) record)->project;
    case SRV_RECORD_PROJECT:
    case SRV_RECORD_BRIEF:
    case SRV_RECORD_REPORT:
    case SRV_RECORD_NOTE:
    case SRV_RECORD_TOKEN:
    case SRV_RECORD_EVENT:
    case SRV_RECORD_REPLAY:
    case SRV_N_RECORDS:
      break;
    }
  return 0;
}

gpointer
srv_call_get (SrvCall *self, SrvRecordKind kind, gint64 id, SrvReply **out_refusal)
{
  gpointer record = srv_store_get (self->store, kind, id);

  *out_refusal = record ? srv_call_may (self, project_of (record, kind))
                        : srv_reply_missing (srv_record_info (kind)->table, id);
  if (*out_refusal)
    g_clear_pointer (&record, srv_record_free);
  return record;
}
