/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-call: events of a request, and the project that it means.
 */
#include "config.h"

#include "srv-call.h"

#include "dbr-nearest.h"
#include "srv-render.h"

#include <string.h>

#define MAX_NAMED 20u /* projects that a refusal lists */

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
  g_clear_pointer (&self->leased, g_hash_table_unref);
  g_clear_pointer (&self->names, g_hash_table_unref);
  g_clear_pointer (&self->settings_of, srv_record_free);
  g_clear_pointer (&self->settings, json_decref);
}

void
srv_call_know_leases (SrvCall *self)
{
  g_autoptr (GPtrArray) leases
      = srv_store_find (self->store, SRV_FIND_LEASES_LIVE, 0, 0, NULL, SRV_MAX_PAGE);

  if (leases->len == SRV_MAX_PAGE)
    return;
  self->leased = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  for (guint i = 0; i < leases->len; i++)
    g_hash_table_add (
        self->leased,
        g_memdup2 (&((SrvLease *) g_ptr_array_index (leases, i))->project, sizeof (gint64)));
}

/* --------------------------------------------------------------------- events */
gint64
srv_call_actor_role (const SrvCall *self)
{
  return self->actor.role == SRV_ROLE_ADMIN && self->actor.token == 0 ? 0
                                                                      : (gint64) self->actor.role;
}

/* Nobody does these: they follow from what was done. */
static gboolean
is_engines_own (SrvEventKind what)
{
  return what == SRV_EVENT_TASK_READY || what == SRV_EVENT_PLAN_ACTIVE
         || what == SRV_EVENT_PLAN_DONE || what == SRV_EVENT_PLAN_FAILED
         || what == SRV_EVENT_PLAN_CANCELLED || what == SRV_EVENT_JOB_LOST
         || what == SRV_EVENT_LEASE_EXPIRED || what == SRV_EVENT_TURN_UNANSWERED;
}

void
srv_call_event (SrvCall *self, SrvEventKind what, SrvAbout about, gint64 ref, const char *text)
{
  g_autoptr (SrvEvent) event = SrvEvent_new ();

  event->at = self->now;
  event->project = about.project;
  event->plan = about.plan;
  event->task = about.task;
  event->role = is_engines_own (what) ? 0 : srv_call_actor_role (self);
  event->name = is_engines_own (what) ? NULL : g_strdup (self->actor.name);
  event->what = what;
  event->text = g_strdup (text);
  event->ref = ref;
  srv_store_add (self->store, event);
}

void
srv_call_eventf (SrvCall *self, SrvEventKind what, const SrvPlan *plan, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  g_autofree char *text = g_strdup_vprintf (format, args);
  va_end (args);
  srv_call_event (self, what, SRV_ABOUT_PLAN (plan), 0, text);
}

void
srv_call_engine_event (
    SrvCall *self, SrvEventKind what, SrvAbout about, gint64 ref, const char *text)
{
  const SrvActor actor = self->actor;

  self->actor = (SrvActor){ .role = SRV_ROLE_ADMIN,
                            .name = what == SRV_EVENT_TURN_CRASHED ? "runner" : NULL };
  srv_call_event (self, what, about, ref, text);
  self->actor = actor;
}

/* ------------------------------------------------------------------- projects */
const char *
srv_call_project_name (SrvCall *self, gint64 project)
{
  gpointer name = NULL;

  if (!self->names)
    self->names = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, g_free);
  if (!g_hash_table_lookup_extended (self->names, &project, NULL, &name))
    {
      g_autoptr (SrvProject) found
          = project ? srv_store_get (self->store, SRV_RECORD_PROJECT, project) : NULL;
      name = found ? g_strdup (found->name) : NULL;
      g_hash_table_insert (self->names, g_memdup2 (&project, sizeof (project)), name);
    }
  return name;
}

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

/* What names this project and no other: its name, or its URL where another has that name, or where it reads as
 * another way of naming one. */
static const char *
project_ref (SrvCall *self, const SrvProject *project)
{
  g_autoptr (GPtrArray) namesakes
      = srv_store_find (self->store, SRV_FIND_PROJECTS_BY_NAME, 0, 0, project->name, 2);
  g_autofree char *url = srv_repo_url_canonical (project->name);
  gboolean is_number = project->name[strspn (project->name, "0123456789")] == '\0';

  return namesakes->len == 1 && !url && !is_number ? project->name : project->repo_url;
}

/* [{id, name, repo_url, ref}] */
static json_t *
list_projects (SrvCall *self, GPtrArray *projects, guint most)
{
  json_t *list = json_array ();

  for (guint i = 0; i < MIN (projects->len, most); i++)
    {
      const SrvProject *project = g_ptr_array_index (projects, i);
      json_array_append_new (list,
                             json_pack ("{s:I, s:s, s:s, s:s}", "id", (json_int_t) project->id,
                                        "name", project->name, "repo_url", project->repo_url, "ref",
                                        project_ref (self, project)));
    }
  return list;
}

static SrvReply *
project_needed (SrvCall *self, GPtrArray *projects, const char *detail)
{
  return srv_reply_conflict (
      "project_needed", detail,
      json_pack ("{s:o}", "projects", list_projects (self, projects, G_MAXUINT)));
}

/* The one that is most likely meant, as in a list of projects; null: none is near. */
static json_t *
nearest_project (SrvCall *self, GPtrArray *projects, const char *named)
{
  g_autoptr (GPtrArray) meant = g_ptr_array_new ();
  g_autofree const char **known = g_new0 (const char *, 2 * projects->len + 1);
  const char *nearest = NULL;

  for (guint i = 0; i < projects->len; i++)
    {
      const SrvProject *project = g_ptr_array_index (projects, i);
      known[2 * i] = project->name;
      known[2 * i + 1] = project->repo_url;
    }
  nearest = dbr_nearest (named, known);
  for (guint i = 0; nearest && i < 2 * projects->len; i++)
    if (known[i] == nearest)
      g_ptr_array_add (meant, projects->pdata[i / 2]);
  json_auto_t *list = list_projects (self, meant, 1);
  return json_incref (meant->len > 0 ? json_array_get (list, 0) : json_null ());
}

/* 404 with the projects that there are, so that the caller can name one of them. */
static SrvReply *
no_project (SrvCall *self, const char *named, const char *detail)
{
  g_autoptr (GPtrArray) projects
      = srv_store_find (self->store, SRV_FIND_PROJECTS, 0, 0, NULL, SRV_MAX_PAGE);
  gint64 more = (gint64) projects->len - MIN (projects->len, MAX_NAMED);

  return srv_reply_problem (
      404, "no_project", projects->len == 0 ? "The engine has no project yet." : detail,
      json_pack ("{s:o, s:I, s:o}", "projects", list_projects (self, projects, MAX_NAMED),
                 "projects_more", (json_int_t) more, "nearest",
                 nearest_project (self, projects, named)));
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
            ? no_project (self, "", "")
            : project_needed (self, projects,
                              "The engine has several projects, and the request names none.");
  return NULL;
}

static SrvProject *
project_by_name (SrvCall *self, const char *name, SrvReply **out_refusal)
{
  g_autoptr (GPtrArray) found
      = srv_store_find (self->store, SRV_FIND_PROJECTS_BY_NAME, 0, 0, name, SRV_MAX_PAGE);
  g_autofree char *detail = NULL;

  if (found->len == 1)
    return g_ptr_array_steal_index (found, 0);
  if (found->len == 0)
    {
      detail = g_strdup_printf (
          "There is no project \"%s\": a project is named by its name, its number or its "
          "repository URL.",
          name);
      *out_refusal = no_project (self, name, detail);
      return NULL;
    }
  detail = g_strdup_printf (
      "%u projects have the name \"%s\"; each has a number and a repository URL of its own.",
      found->len, name);
  *out_refusal = project_needed (self, found, detail);
  return NULL;
}

/* What happened stays, of projects that were removed too. */
static gboolean
is_history (const SrvCall *self)
{
  return self->request->operation == SRV_OP_TIMELINE || self->request->operation == SRV_OP_EVENTS;
}

static SrvProject *
project_by_id (SrvCall *self, gint64 id, SrvReply **out_refusal)
{
  g_autoptr (SrvProject) project = srv_store_get (self->store, SRV_RECORD_PROJECT, id);

  if (project && (!project->removed || is_history (self)))
    return g_steal_pointer (&project);
  *out_refusal = srv_reply_missing ("project", id);
  return NULL;
}

/* @project (transfer full, nullable), unless the text that means it is the name of another: a file of an earlier program
 * may have such names. */
static SrvProject *
but_no_namesake (SrvCall *self, SrvProject *project, const char *text, SrvReply **out_refusal)
{
  g_autoptr (SrvProject) mine = project;

  if (!mine)
    return NULL;
  g_autoptr (GPtrArray) meant
      = srv_store_find (self->store, SRV_FIND_PROJECTS_BY_NAME, 0, 0, text, SRV_MAX_PAGE);
  for (guint i = meant->len; i > 0; i--)
    if (((const SrvProject *) g_ptr_array_index (meant, i - 1))->id == mine->id)
      g_ptr_array_remove_index (meant, i - 1);
  if (meant->len == 0)
    return g_steal_pointer (&mine);
  g_autofree char *detail = g_strdup_printf (
      "\"%s\" is the number or URL of one project and the name of another.", text);
  g_ptr_array_insert (meant, 0, g_steal_pointer (&mine));
  *out_refusal = project_needed (self, meant, detail);
  return NULL;
}

/* What stands for a project wherever a repo_url selects one: digits are its id, a repository's URL in any spelling is
 * that, any other text is its name. */
static SrvProject *
project_by_text (SrvCall *self, const char *text, SrvReply **out_refusal)
{
  g_autofree char *canonical = NULL;
  gint64 id = 0;

  if (text[strspn (text, "0123456789")] == '\0'
      && g_ascii_string_to_signed (text, 10, 1, G_MAXINT64, &id, NULL))
    return but_no_namesake (self, project_by_id (self, id, out_refusal), text, out_refusal);
  canonical = srv_repo_url_canonical (text);
  if (!canonical)
    return project_by_name (self, text, out_refusal);
  SrvProject *project = srv_store_find_one (self->store, SRV_FIND_PROJECT_BY_URL, 0, 0, canonical);
  if (!project)
    {
      g_autofree char *detail = g_strdup_printf ("There is no project %s.", canonical);
      *out_refusal = no_project (self, canonical, detail);
    }
  return but_no_namesake (self, project, text, out_refusal);
}

gint64
srv_call_project_of_text (SrvCall *self, const char *text, SrvReply **out_refusal)
{
  g_autoptr (SrvProject) project = project_by_text (self, text, out_refusal);

  if (project)
    return project->id;
  /* Who asks so may not see which others there are. */
  gboolean is_several = (*out_refusal)->status == 409;
  gboolean is_number = text[strspn (text, "0123456789")] == '\0';
  g_autofree char *quoted = is_number ? g_strdup (text) : srv_call_quote (text);
  g_autofree char *detail = g_strdup_printf ("There is no project %s.", quoted);
  srv_reply_free (*out_refusal);
  if (is_several)
    srv_call_problem (self, "projects", "%s is the name of several projects", quoted);
  *out_refusal
      = is_several ? srv_call_refuse (self) : srv_reply_problem (404, "not_found", detail, NULL);
  return 0;
}

/* One place of the request that names a project; all that do must name the same. */
static gboolean
take_named (SrvCall *self, SrvProject **project, SrvProject *named, SrvReply **out_refusal)
{
  g_autoptr (SrvProject) mine = named;

  if (!mine)
    return FALSE;
  if (!*project)
    *project = g_steal_pointer (&mine);
  else if ((*project)->id != mine->id)
    {
      srv_call_problem (self, "repo_url", "names another project than the rest of the request");
      *out_refusal = srv_call_refuse (self);
    }
  return *out_refusal == NULL;
}

/* The project that path, query and body name. NULL: a refusal, or none of them does. */
static SrvProject *
named_project (SrvCall *self, SrvReply **out_refusal)
{
  const SrvRequest *request = self->request;
  gboolean in_path = request->project_ref && strcmp (request->project_ref, "~") != 0;
  const char *id = in_path                ? request->project_ref
                   : request->project_ref ? NULL
                                          : srv_call_query (self, "project");
  const char *text = in_path ? NULL : srv_call_query (self, "repo_url");
  gboolean in_body = request->operation == SRV_OP_PLAN_CREATE;
  gint64 body_id = in_body ? srv_call_integer (request->body, "project", 0) : 0;
  const char *body_text = in_body ? srv_call_text (self, request->body, "repo_url") : NULL;
  g_autoptr (SrvProject) project = NULL;
  gboolean ok = TRUE;

  if (id)
    ok = take_named (self, &project,
                     project_by_id (self, g_ascii_strtoll (id, NULL, 10), out_refusal),
                     out_refusal);
  if (ok && text)
    ok = take_named (self, &project, project_by_text (self, text, out_refusal), out_refusal);
  if (ok && body_id)
    ok = take_named (self, &project, project_by_id (self, body_id, out_refusal), out_refusal);
  if (ok && body_text)
    ok = take_named (self, &project, project_by_text (self, body_text, out_refusal), out_refusal);
  return ok ? g_steal_pointer (&project) : NULL;
}

static SrvProject *
find_project (SrvCall *self, gboolean needed, SrvReply **out_refusal)
{
  *out_refusal = NULL;
  g_autoptr (SrvProject) project = named_project (self, out_refusal);

  if (!project && !*out_refusal && self->actor.role == SRV_ROLE_FOREMAN)
    project = project_by_id (self, self->actor.project, out_refusal);
  else if (!project && !*out_refusal && needed)
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
