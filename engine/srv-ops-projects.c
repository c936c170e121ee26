/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-ops-projects: projects and their settings, by the admin.
 */
#include "config.h"

#include "srv-lease.h"
#include "srv-ops.h"
#include "srv-render.h"
#include "srv-trouble.h"

#include <string.h>

#define MAX_WORD 4096       /* bytes of one of a command's */
#define MAX_NAMED_PLANS 10u /* in one refusal */
#define MAX_COMMAND (16 * 1024)
#define MAX_STILL_WAITING 20u

static const SrvMember setting_members[] = {
  { "approval", SRV_MEMBER_WORD, 0, 0, 0, srv_approval_words },
  { "max_tasks", SRV_MEMBER_INTEGER, 0, 1, SRV_MAX_TASKS, NULL },
  { "protected_paths", SRV_MEMBER_ARRAY, 0, 0, SRV_MAX_GLOBS, NULL },
  { "hours", SRV_MEMBER_TITLE, 0, 0, 0, NULL },
  { "turn_minutes", SRV_MEMBER_INTEGER, 0, 1, 24 * 60, NULL },
};

/* ------------------------------------------------------------------- settings */
static void
check_settings (SrvCall *call, DbrJson settings)
{
  if (dbr_json_type (settings) != DBR_JSON_OBJECT)
    return;
  srv_call_check (call, settings, "settings", setting_members, G_N_ELEMENTS (setting_members));
  srv_call_globs (call, dbr_json_get (settings, "protected_paths"), "settings.protected_paths");
  const char *hours = srv_call_text (call, settings, "hours");
  g_autofree char *problem = hours ? srv_hours_problem (hours) : NULL;
  if (problem && !srv_call_has_problem (call, "settings.hours"))
    srv_call_problem (call, "settings.hours", "%s", problem);
}

static void
take_settings (SrvCall *call, SrvProject *project, DbrJson settings)
{
  project->approval
      = srv_call_word (call, settings, "approval", srv_approval_words, (gint) project->approval);
  project->max_tasks = srv_call_integer (settings, "max_tasks", project->max_tasks);
  project->turn_minutes = srv_call_integer (settings, "turn_minutes", project->turn_minutes);
  if (srv_call_has (settings, "hours"))
    srv_text_set (&project->hours, srv_call_text (call, settings, "hours"));
  if (srv_call_has (settings, "protected_paths"))
    {
      const char *globs = srv_call_globs (call, dbr_json_get (settings, "protected_paths"),
                                          "settings.protected_paths");
      srv_text_set (&project->protected_paths, globs ? globs : "[]");
    }
}

void
srv_project_take_settings (SrvProject *project, const SrvSettings *settings)
{
  json_auto_t *all = srv_render_settings (settings);

  project->approval = settings->approval;
  project->max_tasks = settings->max_tasks;
  project->turn_minutes = settings->turn_minutes;
  srv_text_set (&project->hours, settings->hours);
  g_free (project->protected_paths);
  project->protected_paths = json_dumps (json_object_get (all, "protected_paths"), JSON_COMPACT);
}

void
srv_project_still_waiting (SrvCall *call, gint64 project, json_t *body)
{
  g_autoptr (GPtrArray) plans
      = srv_store_find (call->store, SRV_FIND_PLANS_WAITING, project, 0, NULL, SRV_MAX_PAGE);
  json_t *list = json_array ();
  gint64 more = 0;

  for (guint i = plans->len; i > 0; i--)
    {
      const SrvPlan *plan = g_ptr_array_index (plans, i - 1);
      if (json_array_size (list) == MAX_STILL_WAITING)
        more++;
      else
        json_array_append_new (list,
                               json_pack ("{s:I, s:I, s:s, s:I}", "plan", (json_int_t) plan->id,
                                          "version", (json_int_t) plan->version, "title",
                                          plan->title, "project", (json_int_t) project));
    }
  json_object_set_new (body, "still_waiting", list);
  json_object_set_new (body, "still_waiting_more", json_integer (more));
}

/* ---------------------------------------------------------------------- names */
/* Names another project, whatever it may be called: a number, or a URL in some spelling. */
static gboolean
reads_as_selector (const char *name)
{
  g_autofree char *url = srv_repo_url_canonical (name);

  return name[strspn (name, "0123456789")] == '\0' || url || strstr (name, "://")
         || strcmp (name, "~") == 0;
}

/* Files of earlier programs may have several; the first. */
static SrvProject *
find_namesake (SrvCall *call, const char *name)
{
  return srv_store_find_one (call->store, SRV_FIND_PROJECTS_BY_NAME, 0, 0, name);
}

static void
check_name (SrvCall *call, DbrJson body, const SrvProject *project)
{
  const char *name = srv_call_text (call, body, "name");

  if (!name || srv_call_has_problem (call, "name")
      || (project && strcmp (project->name, name) == 0))
    return;
  g_autofree char *quoted = srv_call_quote (name);
  g_autoptr (SrvProject) same = find_namesake (call, name);
  if (reads_as_selector (name))
    srv_call_problem (call, "name", "%s would be taken for a project's number or URL", quoted);
  else if (same)
    srv_call_problem (call, "name", "%s is the name of project %" G_GINT64_FORMAT " (%s) already",
                      quoted, same->id, same->repo_url);
}

static gboolean
is_free_name (SrvCall *call, const char *name)
{
  g_autoptr (SrvProject) same = find_namesake (call, name);

  return !same && !reads_as_selector (name);
}

/* Of "https://host/owner/name": name, else owner-name, else that with a number. (transfer full) */
static char *
default_name (SrvCall *call, const char *url)
{
  g_auto (GStrv) parts = g_strsplit (strstr (url, "://") + 3, "/", -1);
  guint n = g_strv_length (parts);
  g_autofree char *last = g_strndup (parts[n - 1], SRV_MAX_NAME);
  g_autofree char *owned = g_strdup_printf ("%.40s-%.50s", n > 1 ? parts[n - 2] : "", last);
  char *name = g_utf8_make_valid (last, -1);

  for (guint i = 1; !is_free_name (call, name); i++)
    {
      g_autofree char *next = i > 1 ? g_strdup_printf ("%s-%u", owned, i) : g_strdup (owned);
      g_free (name);
      name = g_utf8_make_valid (next, -1);
    }
  return name;
}

/* -------------------------------------------------------------------- members */
#define PROJECT_MEMBERS \
  { "name", SRV_MEMBER_NAME, 0, 0, 0, NULL }, \
      { "checkout", SRV_MEMBER_PATH, SRV_MEMBER_NULLABLE, 0, 0, NULL }, \
      { "foreman_command", SRV_MEMBER_OBJECT, SRV_MEMBER_NULLABLE, 0, 0, NULL }, \
  { \
    "settings", SRV_MEMBER_OBJECT, 0, 0, 0, NULL \
  }

static const SrvMember add_members[] = {
  { "repo_url", SRV_MEMBER_TEXT, SRV_MEMBER_REQUIRED, 0, 0, NULL },
  PROJECT_MEMBERS,
};
static const SrvMember set_members[] = { PROJECT_MEMBERS };

/* The foreman that the request makes: what it says, or, when it names neither a preset nor a command, that change of
 * the one that is set. NULL: none. */
static json_t *
read_foreman (DbrJson command, const SrvProject *project)
{
  g_autoptr (GString) text = g_string_new (NULL);
  const char *key;
  json_t *value;
  void *next;

  dbr_json_append (command, text);
  json_auto_t *said = srv_render_object (text->str);
  gboolean is_change = !json_object_get (said, "preset") && !json_object_get (said, "command");
  json_t *foreman = is_change && project && project->command ? srv_render_object (project->command)
                                                             : json_object ();
  json_object_update (foreman, said);
  json_object_foreach_safe (foreman, next, key, value) if (json_is_null (value))
      json_object_del (foreman, key);
  return foreman;
}

/* What this host knows of it: presets, placeholders, variables. */
static void
check_foreman (SrvCall *call, DbrJson command, const SrvProject *project)
{
  json_auto_t *foreman = read_foreman (command, project);
  gboolean has_command = json_array_size (json_object_get (foreman, "command")) > 0;

  if ((json_object_get (foreman, "preset") != NULL) == has_command)
    srv_call_problem (call, "foreman_command",
                      has_command
                          ? "has a preset and a command: it takes one of them"
                          : "has neither a preset nor a command: model and environment alone "
                            "change a foreman that is set already");
  if (!call->world)
    return;
  g_autoptr (GPtrArray) problems = call->world->foreman_problems (foreman);
  for (guint i = 0; i + 1 < problems->len; i += 2)
    {
      g_autofree char *field
          = g_strconcat ("foreman_command.", (const char *) problems->pdata[i], NULL);
      srv_call_problem (call, field, "%s", (const char *) problems->pdata[i + 1]);
    }
}

/* A command is {"preset": name, ...} or {"command": [...]}. */
static void
check_command (SrvCall *call, DbrJson command, const SrvProject *project)
{
  g_autoptr (GString) text = g_string_new (NULL);
  static const SrvMember members[] = {
    { "preset", SRV_MEMBER_NAME, 0, 0, 0, NULL },
    { "command", SRV_MEMBER_ARRAY, 0, 0, 100, NULL },
    { "environment", SRV_MEMBER_ARRAY, 0, 0, 100, NULL },
    { "model", SRV_MEMBER_NAME, SRV_MEMBER_NULLABLE, 0, 0, NULL },
  };
  guint n_errors = (guint) json_array_size (call->errors);
  guint i = 0;

  if (dbr_json_type (command) != DBR_JSON_OBJECT)
    return;
  srv_call_check (call, command, "foreman_command", members, G_N_ELEMENTS (members));
  for (DbrJson v = dbr_json_first (dbr_json_get (command, "command")); dbr_json_exists (v);
       v = dbr_json_next (v), i++)
    {
      g_autofree char *field = g_strdup_printf ("foreman_command.command[%u]", i);
      srv_call_element_text (call, v, field, MAX_WORD);
    }
  i = 0;
  for (DbrJson v = dbr_json_first (dbr_json_get (command, "environment")); dbr_json_exists (v);
       v = dbr_json_next (v), i++)
    {
      g_autofree char *field = g_strdup_printf ("foreman_command.environment[%u]", i);
      srv_call_element_text (call, v, field, SRV_MAX_NAME);
    }
  if (json_array_size (call->errors) == n_errors)
    check_foreman (call, command, project);
  dbr_json_append (command, text);
  if (text->len > MAX_COMMAND)
    srv_call_problem (call, "foreman_command", "is longer than %d bytes", MAX_COMMAND);
}

/* Turns run in it, so it is the engine that must get there. */
static void
check_checkout (SrvCall *call, DbrJson body)
{
  const char *checkout = srv_call_text (call, body, "checkout");

  if (!checkout || srv_call_has_problem (call, "checkout"))
    return;
  g_autofree char *quoted = srv_call_quote (checkout);
  if (*checkout != '/')
    srv_call_problem (call, "checkout", "%s is not an absolute path", quoted);
  else if (call->world)
    {
      g_autofree char *problem = call->world->checkout_problem (checkout, call->world->data);
      if (problem)
        srv_call_problem (call, "checkout", "%s %s", quoted, problem);
    }
}

static void
check_members (SrvCall *call, DbrJson body, const SrvProject *project)
{
  check_name (call, body, project);
  check_checkout (call, body);
  check_command (call, dbr_json_get (body, "foreman_command"), project);
  check_settings (call, dbr_json_get (body, "settings"));
}

static void
take_members (SrvCall *call, SrvProject *project, DbrJson body)
{
  DbrJson command = dbr_json_get (body, "foreman_command");

  if (srv_call_has (body, "name"))
    srv_text_set (&project->name, srv_call_text (call, body, "name"));
  if (srv_call_has (body, "checkout"))
    srv_text_set (&project->checkout, srv_call_text (call, body, "checkout"));
  if (dbr_json_type (command) == DBR_JSON_OBJECT)
    {
      json_auto_t *foreman = read_foreman (command, project);
      g_free (project->command);
      project->command = json_dumps (foreman, JSON_COMPACT);
    }
  else if (dbr_json_exists (command))
    srv_text_set (&project->command, NULL);
  take_settings (call, project, dbr_json_get (body, "settings"));
  if (dbr_json_exists (command) || srv_call_has (body, "checkout"))
    srv_trouble_reset (call, project);
}

/* ----------------------------------------------------------------- operations */
SrvReply *
srv_op_PROJECT_ADD (SrvCall *call)
{
  DbrJson body = call->request->body;

  srv_call_check (call, body, "", add_members, G_N_ELEMENTS (add_members));
  check_members (call, body, NULL);
  const char *url = srv_call_text (call, body, "repo_url");
  g_autofree char *canonical = url ? srv_repo_url_canonical (url) : NULL;
  if (url && !canonical)
    {
      g_autofree char *quoted = srv_call_quote (url);
      srv_call_problem (call, "repo_url",
                        "%s is not a repository URL as https://host/owner/name is one", quoted);
    }
  if (srv_call_is_bad (call))
    return srv_call_refuse (call);
  g_autoptr (SrvProject) same
      = srv_store_find_one (call->store, SRV_FIND_PROJECT_BY_URL, 0, 0, canonical);
  if (same)
    {
      g_autofree char *detail = g_strdup_printf (
          "%s is project %" G_GINT64_FORMAT " (\"%s\") already.", canonical, same->id, same->name);
      return srv_reply_conflict ("project_exists", detail,
                                 json_pack ("{s:I, s:s, s:s}", "project", (json_int_t) same->id,
                                            "name", same->name, "repo_url", same->repo_url));
    }
  g_autoptr (SrvProject) project = SrvProject_new ();
  project->repo_url = g_strdup (canonical);
  if (!srv_call_has (body, "name"))
    project->name = default_name (call, canonical);
  project->approval = SRV_APPROVAL_ALWAYS;
  project->max_tasks = SRV_DEFAULT_MAX_TASKS;
  project->protected_paths = g_strdup ("[]");
  project->hours = g_strdup (SRV_DEFAULT_HOURS);
  project->turn_minutes = SRV_DEFAULT_TURN_MINUTES;
  project->created = call->now;
  take_members (call, project, body);
  srv_store_add (call->store, project);
  srv_call_event (call, SRV_EVENT_PROJECT_ADDED, SRV_ABOUT_PROJECT (project->id), 0,
                  project->repo_url);
  json_t *answer = srv_render_project (call, project);
  json_object_set_new (answer, "notes", srv_trouble_notes (call, project));
  SrvReply *reply = srv_reply_json (201, answer);
  reply->location = g_strdup_printf ("/v1/projects/%" G_GINT64_FORMAT, project->id);
  return reply;
}

static void
add_change (
    SrvCall *call, json_t *changes, gint64 project, const char *name, json_t *from, json_t *to)
{
  if (json_equal (from, to))
    return;
  g_autofree char *from_text = json_dumps (from, JSON_COMPACT | JSON_ENCODE_ANY);
  g_autofree char *to_text = json_dumps (to, JSON_COMPACT | JSON_ENCODE_ANY);
  g_autofree char *text = g_strdup_printf ("%s: from %s to %s", name, from_text, to_text);
  json_array_append_new (changes,
                         json_pack ("{s:s, s:O, s:O}", "setting", name, "from", from, "to", to));
  srv_call_event (call, SRV_EVENT_PROJECT_SET, SRV_ABOUT_PROJECT (project), 0, text);
}

/* Compares two renderings of the project; each difference is an event. */
static json_t *
changes_between (SrvCall *call, json_t *before, json_t *after, gint64 project)
{
  static const char *const members[] = { "name", "checkout", "foreman_command" };
  json_t *changes = json_array ();
  const char *key;
  json_t *value;

  for (guint i = 0; i < G_N_ELEMENTS (members); i++)
    add_change (call, changes, project, members[i], json_object_get (before, members[i]),
                json_object_get (after, members[i]));
  json_object_foreach (json_object_get (after, "settings"), key, value)
      add_change (call, changes, project, key,
                  json_object_get (json_object_get (before, "settings"), key), value);
  return changes;
}

/* What setting it did beside what was set: even the same value tries the foreman again. @given_back: messages. */
static void
note_retry (SrvCall *call,
            const SrvProject *project,
            gint64 given_back,
            gboolean was_troubled,
            json_t *notes)
{
  g_autoptr (SrvLease) lease = srv_lease_current (call, project->id);
  gboolean wakes = was_troubled && project->trouble_since == 0 && !lease
                   && srv_rules_foreman_is_coming (project);
  g_autofree char *back
      = given_back == 0
            ? NULL
            : g_strdup_printf ("%" G_GINT64_FORMAT
                               " message%s that had been given up wait%s again.",
                               given_back, given_back == 1 ? "" : "s", given_back == 1 ? "s" : "");

  if (back)
    json_array_append_new (notes, json_string (back));
  if (wakes)
    json_array_append_new (notes, json_string ("The foreman is tried again now."));
}

SrvReply *
srv_op_PROJECT_SET (SrvCall *call)
{
  DbrJson body = call->request->body;
  SrvReply *refusal = NULL;
  g_autoptr (SrvProject) project = srv_call_project (call, &refusal);

  if (!project)
    return refusal;
  srv_call_check (call, body, "", set_members, G_N_ELEMENTS (set_members));
  check_members (call, body, project);
  if (dbr_json_count (body) == 0)
    srv_call_problem (call, "body",
                      "changes nothing: give name, checkout, foreman_command or settings");
  if (srv_call_is_bad (call))
    return srv_call_refuse (call);
  json_auto_t *before = srv_render_project (call, project);
  const gint64 waited = project->n_waiting, was_troubled = project->trouble_since;
  take_members (call, project, body);
  srv_store_put (call->store, project);
  json_t *after = srv_render_project (call, project);
  json_object_set_new (after, "changes", changes_between (call, before, after, project->id));
  srv_project_still_waiting (call, project->id, after);
  json_t *notes = srv_trouble_notes (call, project);
  note_retry (call, project, project->n_waiting - waited, was_troubled != 0, notes);
  json_object_set_new (after, "notes", notes);
  return srv_reply_json (200, after);
}

/* Nobody will read them. */
static gint64
drop_messages (SrvCall *call, SrvProject *project)
{
  gint64 dropped = 0;
  guint n;

  do
    {
      g_autoptr (GPtrArray) open = srv_store_find (call->store, SRV_FIND_PROJECT_MESSAGES_OPEN,
                                                   project->id, SRV_NO_ID, NULL, SRV_MAX_PAGE);
      n = open->len;
      for (guint i = n; i > 0; i--)
        {
          SrvMessage *message = g_ptr_array_index (open, i - 1);
          message->state = SRV_MESSAGE_DROPPED;
          srv_message_needs_none (message, project);
          srv_store_put (call->store, message);
          srv_call_event (call, SRV_EVENT_MESSAGE_DROPPED, SRV_ABOUT_PROJECT (project->id),
                          message->id, NULL);
        }
      dropped += n;
    }
  while (n == SRV_MAX_PAGE);
  project->n_waiting = 0;
  return dropped;
}

/* What would ask the user about a project that is no more: its questions. */
static void
ask_no_more (SrvCall *call, SrvProject *project)
{
  g_autoptr (GPtrArray) questions = srv_store_find (call->store, SRV_FIND_PROJECT_QUESTIONS_OPEN,
                                                    project->id, 0, NULL, G_MAXUINT);

  for (guint i = 0; i < questions->len; i++)
    {
      SrvQuestion *question = g_ptr_array_index (questions, i);
      question->state = SRV_QUESTION_ANSWERED;
      question->answered = call->now;
      srv_store_put (call->store, question);
    }
  project->n_questions = 0;
}

/* "1 failed plan that a retry makes live again (7)"; what is first is "live plan". FALSE: there are none. */
static gboolean
append_plans (GString *text, GPtrArray *plans, const char *word, const char *after)
{
  gboolean more = plans->len > MAX_NAMED_PLANS;
  guint n = MIN (plans->len, MAX_NAMED_PLANS);

  if (n == 0)
    return FALSE;
  g_string_append_printf (text, "%s%s%u %s plan%s%s (", text->len > 0 ? " and " : "",
                          more ? "more than " : "", n, word, n == 1 ? "" : "s", after);
  for (guint i = 0; i < n; i++)
    g_string_append_printf (text, "%s%" G_GINT64_FORMAT, i > 0 ? ", " : "",
                            ((const SrvPlan *) g_ptr_array_index (plans, i))->id);
  g_string_append (text, more ? " …)" : ")");
  return TRUE;
}

/* Plans that would be left undone. NULL: none. */
static SrvReply *
check_plans (SrvCall *call, const SrvProject *project)
{
  g_autofree char *failed_state = g_strdup_printf ("%d", SRV_PLAN_FAILED);
  g_autoptr (GPtrArray) live = srv_store_find (call->store, SRV_FIND_PROJECT_PLANS_LIVE,
                                               project->id, SRV_NO_ID, NULL, MAX_NAMED_PLANS + 1);
  g_autoptr (GPtrArray) failed
      = srv_store_find (call->store, SRV_FIND_PROJECT_PLANS_IN_STATE, project->id, SRV_NO_ID,
                        failed_state, MAX_NAMED_PLANS + 1);
  g_autoptr (GString) which = g_string_new (NULL);
  gboolean any = append_plans (which, live, "live", "");

  any |= append_plans (which, failed, "failed",
                       failed->len == 1 ? " that a retry makes live again"
                                        : " that retries make live again");
  if (!any)
    return NULL;
  g_autofree char *detail
      = g_strdup_printf ("The project has %s, and can't be removed while it has.", which->str);
  return srv_reply_conflict ("project_busy", detail,
                             json_pack ("{s:I}", "live_plans", (json_int_t) project->n_live));
}

SrvReply *
srv_op_PROJECT_REMOVE (SrvCall *call)
{
  SrvReply *refusal = NULL;
  g_autoptr (SrvProject) project = srv_call_project (call, &refusal);

  if (!project)
    return refusal;
  srv_call_check (call, call->request->body, "", NULL, 0);
  if (srv_call_is_bad (call))
    return srv_call_refuse (call);
  if ((refusal = check_plans (call, project)))
    return refusal;
  g_autoptr (SrvLease) lease
      = srv_store_find_one (call->store, SRV_FIND_LEASE_LIVE, project->id, 0, NULL);
  if (lease)
    srv_lease_finish (call, project, lease, SRV_EVENT_LEASE_ENDED, SRV_LEASE_IS_DONE,
                      "The project was removed.");
  gint64 dropped = drop_messages (call, project);
  ask_no_more (call, project);
  project->removed = 1;
  srv_store_put (call->store, project);
  srv_call_event (call, SRV_EVENT_PROJECT_REMOVED, SRV_ABOUT_PROJECT (project->id), 0,
                  project->repo_url);
  json_t *body = srv_render_project (call, project);
  json_object_set_new (body, "dropped_messages", json_integer (dropped));
  return srv_reply_json (200, body);
}

SrvReply *
srv_op_PROJECT_GET (SrvCall *call)
{
  SrvReply *refusal = NULL;
  g_autoptr (SrvProject) project = srv_call_project (call, &refusal);

  return project ? srv_reply_json (200, srv_render_project (call, project)) : refusal;
}
