/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations of the engine over a store in memory: each one's answer, each one's refusals, and the promises that
 * need more than one request.
 */
#include "config.h"

#include "srv-call.h"
#include "srv-fixture.h"
#include "srv-rules.h"

#include <string.h>

#define CALL(actor, op, target, ...) \
  srv_fixture_call (f, actor, SRV_OP_##op, target, __VA_ARGS__, NULL)
#define ID(path) srv_fixture_id (srv_fixture_int (f, path))
#define TEXT(path) srv_fixture_text (f, path)
#define INT(path) srv_fixture_int (f, path)
#define PROBLEM(status, code, text) srv_fixture_assert_problem (f, status, code, text)

#define NOTHING(f, why) assert_nothing (f, "{\"worker\": \"w\"}", why)

#define REPO "{\"repo_url\": \"git@Example.org:owner/shop.git\"}"
#define TWO_TASKS \
  "{\"title\": \"Cart\", \"summary\": \"A cart\", \"tasks\": [" \
  "{\"title\": \"Model\", \"brief\": \"Write it\", \"paths\": [\"src/model/**\"]}," \
  "{\"title\": \"View\", \"brief\": \"Show it\", \"depends_on\": [\"Model\"], \"branch\": " \
  "\"cart/view\"}]}"

typedef struct
{
  SrvFixture base;
  char project[32]; /* "p:1" */
  SrvActor foreman;
} Shop;

static void
assert_nothing (SrvFixture *f, const char *body, const char *why)
{
  g_assert_cmpuint (CALL (&f->worker, JOB_CLAIM, NULL, body), ==, 200);
  g_assert_true (json_is_null (srv_fixture_get (f, "job")));
  g_assert_cmpstr (TEXT ("waiting.code"), ==, why);
}

static void
add_project (SrvFixture *f, char *out)
{
  g_assert_cmpuint (CALL (&f->admin, PROJECT_ADD, NULL, REPO), ==, 201);
  g_snprintf (out, 32, "p:%" G_GINT64_FORMAT, INT ("id"));
}

static void
set_up (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;

  (void) data;
  srv_fixture_open (f, NULL);
  add_project (f, shop->project);
  g_assert_cmpuint (
      CALL (&f->admin, LEASE_TAKE, shop->project, "{\"holder\": \"turn\", \"ttl\": 3600}"), ==,
      201);
  shop->foreman = srv_fixture_foreman (f);
}

static void
tear_down (Shop *shop, gconstpointer data)
{
  (void) data;
  srv_fixture_close (&shop->base);
}

static void
test_projects (void)
{
  SrvFixture fixture = { 0 }, *f = &fixture;

  srv_fixture_open (f, NULL);
  g_assert_cmpuint (CALL (&f->admin, PROJECT_LIST, NULL, NULL), ==, 200);
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "items")), ==, 0);
  g_assert_cmpuint (CALL (&f->admin, PROJECT_GET, "p:~", NULL), ==, 404);
  PROBLEM (404, "no_project", "no project yet");
  g_assert_cmpuint (CALL (&f->admin, PROJECT_ADD, NULL, REPO), ==, 201);
  g_assert_cmpstr (TEXT ("repo_url"), ==, "https://example.org/owner/shop");
  g_assert_cmpstr (TEXT ("name"), ==, "shop");
  g_assert_cmpstr (TEXT ("foreman"), ==, "none");
  g_assert_cmpstr (TEXT ("settings.approval"), ==, "always");
  g_assert_cmpint (INT ("settings.max_tasks"), ==, 12);
  g_assert_cmpstr (TEXT ("settings.hours"), ==, "any");
  g_assert_cmpstr (TEXT ("created"), ==, "2027-01-15T08:00:00.000000Z");
  g_assert_cmpuint (CALL (&f->admin, PROJECT_ADD, NULL,
                          "{\"repo_url\": \"https://EXAMPLE.org:443/owner/shop/\"}"),
                    ==, 409);
  PROBLEM (409, "project_exists", "https://example.org/owner/shop is project ");
  g_assert_cmpstr (TEXT ("name"), ==, "shop");
  g_assert_cmpstr (TEXT ("repo_url"), ==, "https://example.org/owner/shop");
  g_assert_cmpuint (CALL (&f->admin, PROJECT_GET, "p:~", NULL), ==, 200);
  g_assert_cmpuint (
      CALL (&f->admin, PROJECT_ADD, NULL, "{\"repo_url\": \"https://example.org/owner/other\"}"),
      ==, 201);
  g_assert_cmpuint (CALL (&f->admin, PROJECT_GET, "p:~", NULL), ==, 409);
  PROBLEM (409, "project_needed", "https://example.org/owner/other");
  g_assert_cmpuint (CALL (&f->admin, PROJECT_GET, "p:~", NULL,
                          "repo_url=ssh://git@example.org:22/owner/other.git"),
                    ==, 200);
  g_assert_cmpstr (TEXT ("name"), ==, "other");
  srv_fixture_close (f);
}

/* A name names one project: the same twice, or what reads as a number or a URL, would name none. */
static void
test_names (void)
{
  static const struct
  {
    const char *name, *problem;
  } refused[] = {
    { "shop", "\\\"shop\\\" is the name of project " },
    { "42", "\\\"42\\\" would be taken for a project's number or URL" },
    { "https://example.org/a/b", "would be taken for" },
    { "git@example.org:a/b", "would be taken for" },
    { "example.org/a/b", "would be taken for" },
    { "ftp://nowhere", "would be taken for" },
    { "~", "would be taken for" },
  };
  static const char *const urls[][2] = {
    { "https://example.org/owner/shop", "shop" },
    { "https://example.org/ada/shop", "ada-shop" },
    { "https://example.com/ada/shop", "ada-shop-2" },
    { "https://example.net/ada/shop", "ada-shop-3" },
    { "https://example.org/owner/2048", "owner-2048" },
  };
  SrvFixture fixture = { 0 }, *f = &fixture;

  srv_fixture_open (f, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (urls); i++)
    {
      g_autofree char *add = g_strdup_printf ("{\"repo_url\": \"%s\"}", urls[i][0]);
      g_assert_cmpuint (CALL (&f->admin, PROJECT_ADD, NULL, add), ==, 201);
      g_assert_cmpstr (TEXT ("name"), ==, urls[i][1]);
    }
  g_autofree char *last = g_strdup_printf ("p:%s", ID ("id"));
  for (guint i = 0; i < G_N_ELEMENTS (refused); i++)
    {
      g_autofree char *add = g_strdup_printf (
          "{\"repo_url\": \"https://example.org/o/new\", \"name\": \"%s\"}", refused[i].name);
      g_autofree char *set = g_strdup_printf ("{\"name\": \"%s\"}", refused[i].name);
      g_assert_cmpuint (CALL (&f->admin, PROJECT_ADD, NULL, add), ==, 422);
      PROBLEM (422, "invalid", refused[i].problem);
      g_assert_cmpuint (CALL (&f->admin, PROJECT_SET, last, set), ==, 422);
      PROBLEM (422, "invalid", refused[i].problem);
    }
  g_assert_cmpuint (CALL (&f->admin, PROJECT_SET, "p:~", "{\"name\": \"shop\"}", "repo_url=shop"),
                    ==, 200);
  /* What was removed leaves its name. */
  g_assert_cmpuint (CALL (&f->admin, PROJECT_REMOVE, "p:~", NULL, "repo_url=shop"), ==, 200);
  g_assert_cmpuint (CALL (&f->admin, PROJECT_SET, last, "{\"name\": \"shop\"}"), ==, 200);
  srv_fixture_close (f);
}

/* What happened to a project that was removed is found by its number. */
static void
test_history_stays (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;
  g_autofree char *project = g_strdup_printf ("project=%s", shop->project + 2);
  g_autofree char *text = g_strdup_printf ("repo_url=%s", shop->project + 2);
  const char *selectors[] = { project, text };

  (void) data;
  g_assert_cmpuint (CALL (&f->admin, PROJECT_REMOVE, shop->project, NULL), ==, 200);
  for (guint i = 0; i < G_N_ELEMENTS (selectors); i++)
    {
      g_assert_cmpuint (CALL (&f->client, TIMELINE, NULL, NULL, selectors[i]), ==, 200);
      g_assert_cmpstr (TEXT ("items.0.kind"), ==, "project.added");
      g_assert_cmpuint (CALL (&f->client, EVENTS, NULL, NULL, selectors[i]), ==, 200);
      g_assert_cmpstr (TEXT ("items.0.kind"), ==, "project.added");
      g_assert_cmpuint (CALL (&f->client, STATUS, NULL, NULL, selectors[i]), ==, 404);
      g_assert_cmpuint (CALL (&f->client, PLAN_LIST, NULL, NULL, selectors[i]), ==, 404);
    }
  g_assert_cmpuint (CALL (&f->client, TIMELINE, NULL, NULL, "project=99999"), ==, 404);
}

/* What was wrong is quoted: which of several values it was, and what the engine read. */
static void
test_quoted (void)
{
  SrvFixture fixture = { 0 }, *f = &fixture;
  g_autoptr (GString) url = g_string_new ("");

  srv_fixture_open (f, NULL);
  for (guint i = 0; i < 300; i++)
    g_string_append (url, "\xc3\xa4");
  g_autofree char *add = g_strdup_printf ("{\"repo_url\": \"%s\"}", url->str);
  g_assert_cmpuint (CALL (&f->admin, PROJECT_ADD, NULL, add), ==, 422);
  PROBLEM (422, "invalid",
           "\xc3\xa4\xe2\x80\xa6\\\" is not a repository URL as https://host/owner/name is one");
  g_assert_cmpuint (CALL (&f->admin, PROJECT_ADD, NULL,
                          "{\"repo_url\": \"shop\", \"checkout\": \"srv\", \"settings\": "
                          "{\"approval\": \"maybe\", \"protected_paths\": [\"../x\"]}}"),
                    ==, 422);
  PROBLEM (422, "invalid", "\\\"shop\\\" is not a repository URL");
  PROBLEM (422, "invalid", "\\\"srv\\\" is not an absolute path");
  PROBLEM (422, "invalid", "\\\"maybe\\\" is none of: always, never");
  PROBLEM (422, "invalid", "\\\"../x\\\" is not a glob");
  srv_fixture_close (f);
}

/* Wherever repo_url selects: a URL, a name, an id; and all that a request says must fit. */
static void
test_selecting (void)
{
  SrvFixture fixture = { 0 }, *f = &fixture;
  g_autofree char *body = NULL;

  srv_fixture_open (f, NULL);
  for (guint i = 0; i < 22; i++)
    {
      g_autofree char *add
          = i == 0 ? g_strdup ("{\"repo_url\": \"https://example.org/o/p0\", \"name\": \"till\"}")
                   : g_strdup_printf ("{\"repo_url\": \"https://example.org/o/p%u\"}", i);
      g_assert_cmpuint (CALL (&f->admin, PROJECT_ADD, NULL, add), ==, 201);
    }
  g_autofree char *last = g_strdup_printf ("repo_url=%" G_GINT64_FORMAT, INT ("id"));
  g_assert_cmpuint (CALL (&f->admin, PROJECT_GET, "p:~", NULL, "repo_url=till"), ==, 200);
  g_assert_cmpstr (TEXT ("repo_url"), ==, "https://example.org/o/p0");
  gint64 till = INT ("id");
  g_assert_cmpuint (CALL (&f->admin, PROJECT_GET, "p:~", NULL, last), ==, 200);
  g_assert_cmpstr (TEXT ("repo_url"), ==, "https://example.org/o/p21");
  g_assert_cmpuint (CALL (&f->client, STATUS, NULL, NULL, "repo_url=till"), ==, 200);
  g_assert_cmpint (INT ("projects.0.id"), ==, till);
  g_assert_cmpuint (CALL (&f->client, MESSAGE_ADD, "p:~", "{\"text\": \"x\"}", "repo_url=till"), ==,
                    201);
  g_assert_cmpstr (TEXT ("project_name"), ==, "till");
  static const char *const none[]
      = { "repo_url=Till", "repo_url=https://example.org/o/none", "repo_url=o/p0" };
  for (guint i = 0; i < G_N_ELEMENTS (none); i++)
    {
      g_assert_cmpuint (CALL (&f->admin, PROJECT_GET, "p:~", NULL, none[i]), ==, 404);
      PROBLEM (404, "no_project", "There is no project ");
      g_assert_cmpuint (json_array_size (srv_fixture_get (f, "projects")), ==, 20);
      g_assert_cmpstr (TEXT ("projects.0.repo_url"), ==, "https://example.org/o/p0");
      g_assert_cmpint (INT ("projects_more"), ==, 2);
    }
  static const char *const meant[][2] = { { "repo_url=tlil", "till" },
                                          { "repo_url=Till", "till" },
                                          { "repo_url=https://example.org/o/p211", "p11" },
                                          { "repo_url=wholly-other", NULL } };
  for (guint i = 0; i < G_N_ELEMENTS (meant); i++)
    {
      g_assert_cmpuint (CALL (&f->admin, PROJECT_GET, "p:~", NULL, meant[i][0]), ==, 404);
      if (meant[i][1])
        g_assert_cmpstr (TEXT ("nearest.name"), ==, meant[i][1]);
      else
        g_assert_true (json_is_null (srv_fixture_get (f, "nearest")));
    }
  g_assert_cmpuint (CALL (&f->admin, PROJECT_GET, "p:~", NULL, "repo_url=99999"), ==, 404);
  PROBLEM (404, "not_found", "no project 99999");
  /* Two places that name two projects. */
  g_autofree char *project = g_strdup_printf ("project=%" G_GINT64_FORMAT, till);
  g_assert_cmpuint (CALL (&f->client, STATUS, NULL, NULL, project, "repo_url=till"), ==, 200);
  g_assert_cmpuint (CALL (&f->client, STATUS, NULL, NULL, project, last), ==, 422);
  PROBLEM (422, "invalid", "names another project than the rest of the request");
  g_assert_cmpuint (CALL (&f->admin, LEASE_TAKE, "p:~", "{\"holder\": \"t\"}", "repo_url=till"), ==,
                    201);
  SrvActor foreman = srv_fixture_foreman (f);
  body = g_strdup_printf ("{\"title\": \"P\", \"project\": %" G_GINT64_FORMAT
                          ", \"tasks\": [{\"title\": \"A\", \"brief\": \"b\"}]}",
                          till);
  g_assert_cmpuint (CALL (&foreman, PLAN_CREATE, NULL, body, last), ==, 403);
  PROBLEM (403, "wrong_project", "foreman's of another project");
  g_assert_null (json_object_get (f->last, "projects"));
  g_assert_cmpuint (CALL (&foreman, PLAN_CREATE, NULL, body, "repo_url=nowhere"), ==, 403);
  g_assert_null (json_object_get (f->last, "projects"));
  g_assert_cmpuint (CALL (&f->admin, PLAN_CREATE, NULL, body, last), ==, 422);
  PROBLEM (422, "invalid", "names another project");
  g_assert_cmpuint (CALL (&foreman, PLAN_CREATE, NULL, body, "repo_url=till"), ==, 201);
  srv_fixture_close (f);
}

/* What lines of many projects share is each one's own all the same. */
static void
test_project_lines (void)
{
  static const char *const settings[] = { "{\"max_tasks\": 1}", "{\"max_tasks\": 1}", "{}",
                                          "{\"hours\": \"08:00-09:00\"}", "{\"max_tasks\": 1}" };
  static const gint64 most[] = { 1, 1, 12, 12, 1 };
  SrvFixture fixture = { 0 }, *f = &fixture;

  srv_fixture_open (f, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (settings); i++)
    {
      g_autofree char *add = g_strdup_printf (
          "{\"repo_url\": \"https://example.org/o/p%u\", \"settings\": %s}", i, settings[i]);
      g_assert_cmpuint (CALL (&f->admin, PROJECT_ADD, NULL, add), ==, 201);
    }
  g_assert_cmpuint (CALL (&f->admin, ATTACH, "p:~", "{\"holder\": \"chat\"}", "repo_url=p2"), ==,
                    201);
  for (guint again = 0; again < 2; again++)
    {
      g_autofree char *text = g_strdup_printf ("{\"text\": \"report %u\"}", again);
      g_assert_cmpuint (CALL (&f->admin, REPORT_ADD, "p:~", text, "repo_url=p3"), ==, 201);
    }
  for (guint list = 0; list < 2; list++)
    {
      g_assert_cmpuint (list ? CALL (&f->admin, PROJECT_LIST, NULL, NULL)
                             : CALL (&f->admin, STATUS, NULL, NULL),
                        ==, 200);
      const json_t *lines = srv_fixture_get (f, list ? "items" : "projects");
      for (guint i = 0; i < G_N_ELEMENTS (settings); i++)
        {
          const json_t *line = json_array_get (lines, i);
          const json_t *shown = json_object_get (line, "settings");
          const json_t *report = json_object_get (line, "report");
          g_assert_cmpint (json_integer_value (json_object_get (shown, "max_tasks")), ==, most[i]);
          g_assert_cmpstr (json_string_value (json_object_get (shown, "hours")), ==,
                           i == 3 ? "08:00-09:00" : "any");
          g_assert_cmpstr (json_string_value (json_object_get (line, "foreman")), ==,
                           i == 2 ? "attached" : "none");
          g_assert_cmpstr (json_string_value (json_object_get (report, "text")), ==,
                           i == 3 && !list ? "report 1" : NULL);
        }
    }
  srv_fixture_close (f);
}

/* What can't be a name, a folder or hours, each said once. */
static void
test_project_problems (void)
{
  static const struct
  {
    const char *body, *field, *problem;
  } cases[] = {
    { "{\"settings\": {\"hours\": \"\"}}", "settings.hours", "is empty" },
    { "{\"settings\": {\"hours\": \" \"}}", "settings.hours", "is empty" },
    { "{\"settings\": {\"hours\": \"08:00\\n\"}}", "settings.hours", "has a line break" },
    { "{\"settings\": {\"hours\": \"noon\"}}", "settings.hours", "is not days" },
    { "{\"checkout\": \"/srv/a\\nb\"}", "checkout", "has a line break" },
    { "{\"checkout\": \"/srv/\\u001b[2J\"}", "checkout", "has a line break or another control" },
    { "{\"checkout\": \"/srv/\\u2028\"}", "checkout", "has a line break" },
    { "{\"checkout\": \"srv\"}", "checkout", "is not an absolute path" },
    { "{\"checkout\": \"\"}", "checkout", "is empty" },
    { "{\"name\": \"a\\tb\"}", "name", "has a line break" },
    { "{\"name\": \"a\\u0085b\"}", "name", "has a line break" },
    { "{\"name\": \"a\\u202eb\"}", "name", "has a line break" },
  };
  SrvFixture fixture = { 0 }, *f = &fixture;

  srv_fixture_open (f, NULL);
  g_assert_cmpuint (CALL (&f->admin, PROJECT_ADD, NULL, REPO), ==, 201);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_assert_cmpuint (CALL (&f->admin, PROJECT_SET, "p:~", cases[i].body), ==, 422);
      PROBLEM (422, "invalid", cases[i].problem);
      g_assert_cmpuint (json_array_size (srv_fixture_get (f, "errors")), ==, 1);
      g_assert_cmpstr (TEXT ("errors.0.field"), ==, cases[i].field);
    }
  g_autofree char *longest = g_strnfill (SRV_MAX_PATH, '/');
  for (guint more = 0; more < 2; more++)
    {
      g_autofree char *body
          = g_strdup_printf ("{\"checkout\": \"%s%s\"}", longest, more ? "x" : "");
      g_assert_cmpuint (CALL (&f->admin, PROJECT_SET, "p:~", body), ==, more ? 422 : 200);
    }
  srv_fixture_close (f);
}

/* Nobody reads what was said to a project that is removed, and nobody is asked about it. */
static void
test_remove (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;

  (void) data;
  for (guint i = 0; i < 3; i++)
    {
      g_autofree char *text = g_strdup_printf ("{\"text\": \"message %u\"}", i);
      g_assert_cmpuint (CALL (&f->client, MESSAGE_ADD, "p:~", text), ==, 201);
    }
  const char *message = ID ("id");
  g_assert_cmpuint (CALL (&shop->foreman, QUESTION_ADD, "p:~", "{\"text\": \"Red?\"}"), ==, 201);
  g_assert_cmpstr (TEXT ("project_name"), ==, "shop");
  g_assert_cmpuint (CALL (&f->admin, PROJECT_REMOVE, "p:~", NULL), ==, 200);
  g_assert_cmpint (INT ("dropped_messages"), ==, 3);
  g_assert_cmpint (INT ("waiting_messages"), ==, 0);
  g_assert_cmpuint (CALL (&f->client, TIMELINE, NULL, NULL, "limit=4"), ==, 200);
  g_assert_cmpstr (TEXT ("items.0.kind"), ==, "message.dropped");
  g_assert_cmpstr (TEXT ("items.0.text"), ==, "message 0");
  g_assert_cmpstr (TEXT ("items.3.kind"), ==, "project.removed");
  g_assert_cmpuint (CALL (&f->client, STATUS, NULL, NULL), ==, 200);
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "needs_you")), ==, 0);
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "waiting_messages")), ==, 0);
  g_assert_cmpuint (CALL (&f->admin, MESSAGE_ANSWER, message, "{\"text\": \"late\"}"), ==, 409);
}

/* A failed plan that a retry would revive keeps its project; once it is cancelled nothing of it starts again. */
static void
test_removed_plan (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;

  (void) data;
  g_assert_cmpuint (CALL (&shop->foreman, PLAN_CREATE, NULL, TWO_TASKS), ==, 201);
  const char *plan = ID ("id");
  g_assert_cmpuint (CALL (&f->client, PLAN_APPROVE, plan, "{\"version\": 1}"), ==, 200);
  g_assert_cmpuint (CALL (&f->admin, PROJECT_REMOVE, "p:~", NULL), ==, 409);
  PROBLEM (409, "project_busy", "1 live plan");
  g_assert_cmpuint (CALL (&f->worker, JOB_CLAIM, NULL, "{\"worker\": \"w\"}"), ==, 200);
  const char *job = ID ("job.id"), *task = ID ("task.id");
  g_assert_cmpuint (
      CALL (&f->worker, JOB_FINISH, job, "{\"sequence\": 1, \"outcome\": \"failed\"}"), ==, 200);
  g_assert_cmpuint (CALL (&f->admin, PROJECT_REMOVE, "p:~", NULL), ==, 409);
  g_autofree char *names = g_strdup_printf ("The project has 1 failed plan that a retry makes live "
                                            "again (%s), and can't be removed while it has.",
                                            plan);
  PROBLEM (409, "project_busy", names);
  g_assert_cmpuint (CALL (&f->admin, TASK_CANCEL, task, "{\"dependents\": true}"), ==, 200);
  /* Nothing is left that a hold would hold; one that is there may go. */
  g_assert_cmpuint (CALL (&f->client, TASK_HOLD, task, "{\"held\": true}"), ==, 409);
  g_assert_cmpuint (CALL (&f->client, PLAN_HOLD, plan, "{\"held\": true}"), ==, 409);
  PROBLEM (409, "plan_over", "is cancelled");
  g_assert_cmpuint (CALL (&f->client, PLAN_HOLD, plan, "{\"held\": false}"), ==, 200);
  g_assert_cmpuint (CALL (&f->client, STATUS, NULL, NULL), ==, 200);
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "plans")), ==, 1);
  g_assert_cmpuint (CALL (&f->admin, PROJECT_REMOVE, "p:~", NULL), ==, 200);
  g_assert_cmpint (INT ("needs_user"), ==, 0);
  g_assert_cmpuint (CALL (&f->client, STATUS, NULL, NULL), ==, 200);
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "needs_you")), ==, 0);
  /* Finished, but of no project that there is. */
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "plans")), ==, 0);
  g_assert_cmpuint (CALL (&f->admin, TASK_RETRY, task, NULL), ==, 409);
  PROBLEM (409, "project_removed", "its project was removed");
  g_assert_cmpuint (CALL (&f->admin, TASK_ADD, plan, "{\"title\": \"B\", \"brief\": \"b\"}"), ==,
                    409);
  g_assert_cmpuint (CALL (&f->client, PLAN_APPROVE, plan, "{\"version\": 2}"), ==, 409);
  PROBLEM (409, "project_removed", "its project was removed");
  g_assert_cmpuint (CALL (&f->client, PLAN_GET, plan, NULL), ==, 200);
}

static void
test_plan_life (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;

  (void) data;
  g_assert_cmpuint (CALL (&shop->foreman, PLAN_CREATE, NULL, TWO_TASKS), ==, 201);
  g_assert_cmpstr (TEXT ("state"), ==, "awaiting_approval");
  g_assert_cmpstr (f->etag, ==, "1");
  g_assert_cmpstr (TEXT ("waits.0.reason"), ==, "approval_required");
  g_assert_cmpstr (TEXT ("waits.0.from"), ==, "always");
  g_assert_cmpstr (TEXT ("waits.0.to"), ==, "never");
  g_assert_cmpint (INT ("tasks.1.wave"), ==, 2);
  g_assert_cmpint (INT ("tasks.1.depends_on.0"), ==, INT ("tasks.0.id"));
  const char *plan = ID ("id");
  g_assert_cmpuint (CALL (&f->client, PLAN_APPROVE, plan, "{\"version\": 2}"), ==, 409);
  PROBLEM (409, "plan_changed", "is at version 1");
  g_assert_cmpuint (CALL (&f->client, PLAN_APPROVE, "424242", "{\"version\": 1}"), ==, 404);
  PROBLEM (404, "not_found", "There is no plan 424242.");
  g_assert_cmpuint (CALL (&shop->foreman, PLAN_APPROVE, plan, "{\"version\": 1}"), ==, 403);
  PROBLEM (403, "wrong_role", "This token is a foreman token");
  g_assert_cmpuint (CALL (&f->client, PLAN_APPROVE, plan, "{\"version\": 1}"), ==, 200);
  g_assert_cmpstr (TEXT ("plan.state"), ==, "active");
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "started")), ==, 1);
  g_assert_cmpstr (TEXT ("started.0.title"), ==, "Model");
  f->now += 3 * G_TIME_SPAN_MINUTE;
  for (guint shown = 1; shown < 3; shown++)
    {
      g_autofree char *again = g_strdup_printf ("{\"version\": %u}", shown);
      g_assert_cmpuint (CALL (&f->admin, PLAN_APPROVE, plan, again), ==, 409);
      PROBLEM (409, "plan_not_waiting",
               "was approved already: at version 1, by the user (ada), 3 min ago. It is active");
      g_assert_cmpstr (TEXT ("decision"), ==, "approved");
      g_assert_cmpint (INT ("decided_version"), ==, 1);
      g_assert_cmpstr (TEXT ("decided_by.role"), ==, "user");
    }
  g_assert_cmpuint (CALL (&f->client, STATUS, NULL, NULL), ==, 200);
  g_assert_cmpstr (TEXT ("plans.0.tasks.0.state"), ==, "ready");
  g_assert_cmpstr (TEXT ("plans.0.tasks.1.state"), ==, "planned");
  for (guint i = 0; i < 2; i++)
    {
      g_assert_cmpuint (CALL (&f->worker, JOB_CLAIM, NULL, "{\"worker\": \"w1\"}"), ==, 200);
      const char *job = ID ("job.id");
      g_assert_cmpuint (
          CALL (&f->worker, JOB_FINISH, job, "{\"sequence\": 1, \"outcome\": \"succeeded\"}"), ==,
          200);
    }
  NOTHING (f, "nothing_ready");
  g_assert_cmpuint (CALL (&f->client, PLAN_GET, plan, NULL), ==, 200);
  g_assert_cmpstr (TEXT ("state"), ==, "done");
  g_assert_cmpuint (CALL (&f->client, TIMELINE, NULL, NULL), ==, 200);
}

/* ------------------------------------------------------------------- messages */
static void
test_messages (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;
  const char *command = "{\"foreman_command\": {\"command\": [\"true\"]}}";

  (void) data;
  g_assert_cmpuint (CALL (&f->client, MESSAGE_ADD, "p:~", "{\"text\": \"Add a cart\"}"), ==, 201);
  g_assert_cmpstr (TEXT ("outcome"), ==, "leased");
  g_assert_nonnull (strstr (TEXT ("outcome_text"), "\" holds the lease until 20"));
  g_assert_cmpstr (TEXT ("state"), ==, "waiting");
  g_assert_true (json_is_false (srv_fixture_get (f, "repeat")));
  const char *message = ID ("id");
  g_assert_cmpuint (CALL (&f->client, MESSAGE_ADD, "p:~", "{\"text\": \"Add a cart\"}"), ==, 200);
  g_assert_true (json_is_true (srv_fixture_get (f, "repeat")));
  g_assert_cmpstr (ID ("id"), ==, message);
  g_assert_nonnull (strstr (TEXT ("outcome_text"), "other words"));
  g_assert_cmpuint (CALL (&f->client, MESSAGE_LIST, NULL, NULL, "waiting=true"), ==, 200);
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "items")), ==, 1);
  g_assert_cmpuint (CALL (&f->client, MESSAGE_ANSWER, message, "{\"text\": \"Done\"}"), ==, 403);
  PROBLEM (403, "wrong_role", "a foreman's");
  g_assert_cmpuint (CALL (&shop->foreman, MESSAGE_ANSWER, message, "{\"text\": \"Done\"}"), ==,
                    200);
  g_assert_cmpstr (TEXT ("state"), ==, "answered");
  g_assert_cmpuint (CALL (&shop->foreman, MESSAGE_ANSWER, message, "{\"text\": \"Done\"}"), ==,
                    409);
  PROBLEM (409, "message_answered", "answered already");
  /* A day later the same text is a new message; the turn's lease is over. */
  srv_fixture_pass (f, 24 * 3600 + 1);
  g_assert_cmpuint (CALL (&f->client, MESSAGE_ADD, "p:~", "{\"text\": \"Add a cart\"}"), ==, 201);
  g_assert_cmpstr (TEXT ("outcome"), ==, "no_command");
  g_assert_cmpuint (CALL (&f->admin, PROJECT_SET, "p:~", command), ==, 200);
  g_assert_cmpuint (CALL (&f->client, MESSAGE_ADD, "p:~", "{\"text\": \"And a till\"}"), ==, 201);
  g_assert_cmpstr (TEXT ("outcome"), ==, "woke");
  g_assert_cmpuint (
      CALL (&f->client, PROJECT_HOLD, "p:~", "{\"held\": true, \"reason\": \"holidays\"}"), ==,
      200);
  g_assert_cmpuint (CALL (&f->client, MESSAGE_ADD, "p:~", "{\"text\": \"And a door\"}"), ==, 201);
  g_assert_cmpstr (TEXT ("outcome"), ==, "hold");
  g_assert_cmpuint (CALL (&f->admin, ATTACH, "p:~", "{\"holder\": \"ada's chat\"}"), ==, 201);
  const char *lease = ID ("id");
  g_assert_cmpuint (CALL (&f->client, MESSAGE_ADD, "p:~", "{\"text\": \"And a bell\"}"), ==, 201);
  g_assert_cmpstr (TEXT ("outcome"), ==, "attached");
  g_assert_cmpuint (CALL (&f->admin, LEASE_TAKE, "p:~", "{\"holder\": \"turn\"}"), ==, 409);
  PROBLEM (409, "lease_held", "ada's chat");
  /* Detaching gives back what the chat left unanswered. */
  g_assert_cmpuint (CALL (&f->admin, LEASE_END, lease, NULL), ==, 200);
  g_assert_cmpuint (CALL (&f->client, PROJECT_GET, "p:~", NULL), ==, 200);
  g_assert_cmpint (INT ("waiting_messages"), ==, 4);
  g_assert_cmpuint (CALL (&f->client, MESSAGE_ADD, "p:~", "{\"text\": \" \\n\", \"extra\": 1}"), ==,
                    422);
  PROBLEM (422, "invalid", "{\"field\": \"text\", \"problem\": \"is empty\"}");
  PROBLEM (422, "invalid", "{\"field\": \"extra\", \"problem\": \"is not known here\"}");
  g_assert_cmpuint (CALL (&f->client, MESSAGE_ADD, "p:~", "{\"text\": \"a\\u0000b\"}"), ==, 422);
  PROBLEM (422, "invalid", "has a NUL character");
  g_assert_cmpuint (CALL (&f->client, MESSAGE_ADD, "p:~", NULL), ==, 422);
  PROBLEM (422, "invalid", "text is missing.");
  g_assert_cmpuint (CALL (&f->client, MESSAGE_ADD, "p:77", "{\"text\": \"x\"}"), ==, 404);
}

static void
test_questions (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;

  (void) data;
  g_assert_cmpuint (
      CALL (&shop->foreman, QUESTION_ADD, "p:~", "{\"text\": \"Red?\", \"options\": [\"yes\", 3]}"),
      ==, 422);
  PROBLEM (422, "invalid", "options[1]");
  g_assert_cmpuint (CALL (&shop->foreman, QUESTION_ADD, "p:~",
                          "{\"text\": \"Red?\", \"options\": [\"yes\", \"no\"]}"),
                    ==, 201);
  const char *question = ID ("id");
  g_assert_cmpuint (CALL (&f->client, STATUS, NULL, NULL), ==, 200);
  g_assert_cmpstr (TEXT ("needs_you.0.kind"), ==, "question");
  g_assert_cmpstr (TEXT ("needs_you.0.options.1"), ==, "no");
  g_assert_cmpint (INT ("projects.0.needs_user"), ==, 1);
  g_assert_cmpuint (CALL (&shop->foreman, QUESTION_ANSWER, question, "{\"text\": \"yes\"}"), ==,
                    403);
  g_assert_cmpuint (CALL (&f->client, QUESTION_ANSWER, question, "{\"text\": \"yes\"}"), ==, 200);
  g_assert_cmpstr (TEXT ("state"), ==, "answered");
  g_assert_cmpuint (CALL (&f->client, QUESTION_ANSWER, question, "{\"text\": \"no\"}"), ==, 409);
  PROBLEM (409, "question_answered", "answered already");
  g_assert_cmpstr (TEXT ("answer"), ==, "yes");
  g_assert_cmpuint (CALL (&f->client, PROJECT_GET, "p:~", NULL), ==, 200);
  g_assert_cmpint (INT ("waiting_messages"), ==, 1);
  g_assert_cmpint (INT ("needs_user"), ==, 0);
  g_assert_cmpuint (CALL (&shop->foreman, REPORT_ADD, "p:~", "{\"text\": \"All is well\"}"), ==,
                    201);
  g_assert_cmpuint (CALL (&f->client, STATUS, NULL, NULL), ==, 200);
  g_assert_cmpstr (TEXT ("projects.0.report.text"), ==, "All is well");
}

/* --------------------------------------------------------------- idempotency */
static void
test_idempotency (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;

  (void) data;
  g_assert_cmpuint (CALL (&shop->foreman, PLAN_CREATE, NULL, TWO_TASKS, "Idempotency-Key=k1"), ==,
                    201);
  g_autofree char *first = json_dumps (f->last, JSON_COMPACT);
  g_assert_cmpuint (CALL (&shop->foreman, PLAN_CREATE, NULL, TWO_TASKS, "Idempotency-Key=k1"), ==,
                    201);
  g_autofree char *second = json_dumps (f->last, JSON_COMPACT);
  g_assert_cmpstr (first, ==, second);
  g_assert_cmpstr (f->etag, ==, "1");
  g_assert_nonnull (f->location);
  g_assert_cmpuint (
      CALL (&shop->foreman, REPORT_ADD, "p:~", "{\"text\": \"x\"}", "Idempotency-Key=k1"), ==, 422);
  PROBLEM (422, "idempotency_mismatch", "another request");
  g_assert_cmpuint (CALL (&f->client, PLAN_LIST, NULL, NULL), ==, 200);
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "items")), ==, 1);
  /* A refusal is not kept: the same key may try again. */
  g_assert_cmpuint (CALL (&f->admin, TOKEN_NEW, NULL, "{\"role\": \"king\", \"name\": \"x\"}",
                          "Idempotency-Key=k2"),
                    ==, 422);
  PROBLEM (422, "invalid", "is none of: admin, client, worker");
  const char *good = "{\"role\": \"client\", \"name\": \"phone\"}";
  g_assert_cmpuint (CALL (&f->admin, TOKEN_NEW, NULL, good, "Idempotency-Key=k2"), ==, 201);
  g_autofree char *secret = g_strdup (TEXT ("token"));
  g_assert_cmpuint (strlen (secret), ==, 43);
  g_assert_cmpuint (CALL (&f->admin, TOKEN_NEW, NULL, good, "Idempotency-Key=k2"), ==, 201);
  g_assert_cmpstr (TEXT ("token"), ==, secret);
  const char *token = ID ("id");
  SrvActor actor;
  const char *why = NULL;
  g_assert_true (srv_engine_authenticate (f->engine, secret, &actor, &why));
  g_assert_cmpint (actor.role, ==, SRV_ROLE_CLIENT);
  g_assert_cmpstr (actor.name, ==, "phone");
  g_assert_cmpuint (CALL (&f->admin, TOKEN_REVOKE, token, NULL), ==, 200);
  g_assert_cmpuint (CALL (&f->admin, TOKEN_REVOKE, token, NULL), ==, 409);
  PROBLEM (409, "token_revoked", "revoked already");
  g_assert_false (srv_engine_authenticate (f->engine, secret, &actor, &why));
  g_assert_cmpstr (why, ==, "token_revoked");
  g_assert_false (srv_engine_authenticate (f->engine, "nonsense", &actor, &why));
  g_assert_cmpstr (why, ==, "token_unknown");
  g_assert_cmpuint (CALL (&f->admin, TOKEN_LIST, NULL, NULL), ==, 200);
  g_assert_cmpstr (TEXT ("items.0.role"), ==, "client");
  g_assert_null (json_object_get (srv_fixture_get (f, "items.0"), "token"));
}

/* ---------------------------------------------------------------------- plans */
static void
test_plan_problems (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;

  (void) data;
  g_assert_cmpuint (
      CALL (&shop->foreman, PLAN_CREATE, NULL,
            "{\"title\": \"\", \"colour\": 1, \"tasks\": [{\"title\": \"A\", \"brief\": \"x\", "
            "\"depends_on\": [\"Z\", 5, \"A\"]},"
            "{\"title\": \"A\", \"brief\": 3, \"paths\": [\"../x\"], \"branch\": \"a b\"}]}"),
      ==, 422);
  PROBLEM (422, "invalid", "\"title\", \"problem\": \"is empty\"");
  PROBLEM (422, "invalid", "\"colour\", \"problem\": \"is not known here\"");
  PROBLEM (422, "invalid",
           "\"tasks[0].depends_on[0]\", \"problem\": \"names the task \\\"Z\\\", which the plan "
           "does not have\"");
  PROBLEM (
      422, "invalid",
      "\"tasks[0].depends_on[1]\", \"problem\": \"names task 5, which the plan does not have\"");
  PROBLEM (422, "invalid", "\"tasks[0].depends_on[2]\", \"problem\": \"is the task itself\"");
  PROBLEM (422, "invalid", "\"tasks[1].brief\", \"problem\": \"is not a text\"");
  PROBLEM (422, "invalid", "\"tasks[1].paths[0]\"");
  PROBLEM (422, "invalid", "\"tasks[1].branch\"");
  g_assert_cmpuint (CALL (&shop->foreman, PLAN_CREATE, NULL,
                          "{\"title\": \"T\", \"tasks\": [{\"title\": \"A\", \"brief\": \"x\", "
                          "\"depends_on\": [\"B\"]},"
                          "{\"title\": \"B\", \"brief\": \"x\", \"depends_on\": [\"A\"]}]}"),
                    ==, 422);
  PROBLEM (422, "invalid", "depend on each other in a circle");
  g_assert_cmpuint (CALL (&shop->foreman, PLAN_CREATE, NULL,
                          "{\"title\": \"T\", \"tasks\": [{\"title\": \"A\", \"brief\": "
                          "\"x\"},{\"title\": \"A\", \"brief\": \"x\"}]}"),
                    ==, 422);
  PROBLEM (422, "invalid", "has two tasks with the title \\\"A\\\"");
  g_assert_cmpuint (CALL (&shop->foreman, PLAN_CREATE, NULL, "{\"title\": \"T\", \"tasks\": []}"),
                    ==, 422);
  PROBLEM (422, "invalid", "a plan has at least one task");
  g_assert_cmpuint (CALL (&shop->foreman, PLAN_CREATE, NULL, "[]"), ==, 422);
  PROBLEM (422, "invalid", "body is not an object");
  /* Nothing of it is left. */
  g_assert_cmpuint (CALL (&f->client, PLAN_LIST, NULL, NULL), ==, 200);
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "items")), ==, 0);
}

/* What waits can be decided about from what needs_you says alone. */
static void
test_needs_of_plans (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;

  (void) data;
  g_assert_cmpuint (CALL (&shop->foreman, PLAN_CREATE, NULL, TWO_TASKS), ==, 201);
  const char *plan = ID ("id");
  g_assert_cmpuint (CALL (&f->client, STATUS, NULL, NULL), ==, 200);
  g_assert_cmpstr (TEXT ("needs_you.0.kind"), ==, "plan");
  g_assert_cmpstr (TEXT ("needs_you.0.summary"), ==, "A cart");
  g_assert_cmpstr (TEXT ("needs_you.0.tasks.0.title"), ==, "Model");
  g_assert_cmpstr (TEXT ("needs_you.0.tasks.0.paths.0"), ==, "src/model/**");
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "needs_you.0.tasks.1.paths")), ==, 0);
  g_assert_cmpuint (CALL (&f->client, PLAN_APPROVE, plan, "{\"version\": 1}"), ==, 200);
  g_assert_cmpuint (CALL (&shop->foreman, TASK_ADD, plan,
                          "{\"title\": \"Extra\", \"brief\": \"e\", \"paths\": [\"doc/*\"]}"),
                    ==, 201);
  g_assert_cmpuint (CALL (&f->client, STATUS, NULL, NULL), ==, 200);
  g_assert_cmpstr (TEXT ("needs_you.0.kind"), ==, "tasks");
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "needs_you.0.awaiting")), ==, 1);
  g_assert_cmpstr (TEXT ("needs_you.0.awaiting.0.paths.0"), ==, "doc/*");
}

static void
test_amend (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;

  (void) data;
  g_assert_cmpuint (CALL (&shop->foreman, PLAN_CREATE, NULL, TWO_TASKS), ==, 201);
  const char *plan = ID ("id"), *model = ID ("tasks.0.id");
  g_assert_cmpuint (CALL (&shop->foreman, PLAN_AMEND, plan, "{\"title\": \"Till\"}"), ==, 428);
  PROBLEM (428, "if_match_needed", "If-Match");
  g_assert_cmpuint (CALL (&shop->foreman, PLAN_AMEND, plan, "{\"title\": \"Till\"}", "If-Match=3"),
                    ==, 412);
  PROBLEM (412, "version_conflict", "at version 1, not 3");
  g_assert_cmpint (INT ("version"), ==, 1);
  g_autofree char *body
      = g_strdup_printf ("{\"title\": \"Till\", \"cancel\": [%s], \"add\": [{\"title\": \"Test\", "
                         "\"brief\": \"t\", \"depends_on\": [\"View\"]}]}",
                         model);
  g_assert_cmpuint (CALL (&shop->foreman, PLAN_AMEND, plan, body, "If-Match=1"), ==, 200);
  g_assert_cmpint (INT ("version"), ==, 2);
  g_assert_cmpstr (TEXT ("title"), ==, "Till");
  g_assert_cmpstr (TEXT ("tasks.0.state"), ==, "cancelled");
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "tasks.1.depends_on")), ==, 0);
  g_assert_cmpint (INT ("tasks.2.wave"), ==, 2);
  g_assert_cmpuint (CALL (&f->client, PLAN_APPROVE, plan, "{\"version\": 1}"), ==, 409);
  PROBLEM (409, "plan_changed", "is at version 2");
  g_assert_cmpuint (CALL (&f->client, PLAN_APPROVE, plan, "{\"version\": 2}"), ==, 200);
  g_assert_cmpuint (CALL (&f->worker, JOB_CLAIM, NULL, "{\"worker\": \"w\"}"), ==, 200);
  g_assert_cmpstr (TEXT ("task.title"), ==, "View");
  g_assert_cmpstr (TEXT ("task.branch"), ==, "cart/view");
  const char *view = ID ("task.id");
  /* What runs can't be rewritten; what is new waits while it goes on. */
  g_autofree char *rewrite
      = g_strdup_printf ("{\"update\": [{\"id\": %s, \"title\": \"V\"}]}", view);
  g_assert_cmpuint (CALL (&shop->foreman, PLAN_AMEND, plan, rewrite, "If-Match=3"), ==, 422);
  PROBLEM (422, "invalid", "is running: it can't be rewritten, only cancelled");
  g_assert_cmpuint (
      CALL (&shop->foreman, TASK_ADD, plan, "{\"title\": \"Extra\", \"brief\": \"e\"}"), ==, 201);
  g_assert_true (json_is_true (srv_fixture_get (f, "task.awaiting")));
  g_assert_cmpstr (TEXT ("plan.state"), ==, "active");
  g_assert_cmpint (INT ("plan.awaiting.0"), ==, INT ("task.id"));
  const char *extra = ID ("task.id");
  g_assert_cmpuint (CALL (&f->client, STATUS, NULL, NULL), ==, 200);
  g_assert_cmpstr (TEXT ("needs_you.0.kind"), ==, "tasks");
  g_assert_cmpint (INT ("needs_you.0.version"), ==, 4);
  g_assert_cmpstr (TEXT ("running.0.task_title"), ==, "View");
  g_assert_cmpuint (CALL (&f->client, PLAN_REJECT, plan, "{\"version\": 4, \"reason\": \"no\"}"),
                    ==, 200);
  g_assert_cmpstr (TEXT ("plan.state"), ==, "active");
  g_assert_nonnull (strstr (TEXT ("message.text"), "new and changed tasks of plan"));
  /* What the user rejected does not come back by a retry. */
  g_assert_cmpuint (CALL (&shop->foreman, TASK_RETRY, extra, NULL), ==, 200);
  g_assert_true (json_is_true (srv_fixture_get (f, "task.awaiting")));
  g_assert_cmpstr (TEXT ("task.state"), ==, "planned");
  g_assert_cmpuint (CALL (&f->client, PLAN_APPROVE, plan, "{\"version\": 6}"), ==, 200);
  g_assert_cmpstr (TEXT ("started.0.title"), ==, "Extra");
  g_assert_cmpuint (CALL (&f->client, PLAN_APPROVE, plan, "{\"version\": 7}"), ==, 409);
  PROBLEM (409, "plan_not_waiting", "nothing of it waits");
}

static void
test_reject (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;

  (void) data;
  g_assert_cmpuint (CALL (&shop->foreman, PLAN_CREATE, NULL, TWO_TASKS), ==, 201);
  const char *plan = ID ("id"), *model = ID ("tasks.0.id");
  g_assert_cmpuint (
      CALL (&f->client, PLAN_REJECT, plan, "{\"version\": 1, \"reason\": \"too dear\"}"), ==, 200);
  g_assert_cmpstr (TEXT ("plan.state"), ==, "rejected");
  g_assert_cmpstr (TEXT ("plan.tasks.1.state"), ==, "cancelled");
  g_assert_cmpstr (TEXT ("message.author"), ==, "engine");
  g_assert_nonnull (strstr (TEXT ("message.text"), "too dear"));
  g_assert_cmpuint (CALL (&shop->foreman, TASK_RETRY, model, NULL), ==, 409);
  PROBLEM (409, "plan_over", "is rejected");
  g_assert_cmpuint (CALL (&shop->foreman, PLAN_AMEND, plan, "{\"title\": \"x\"}", "If-Match=2"), ==,
                    409);
  PROBLEM (409, "plan_over", "can't be changed any more");
  g_assert_cmpuint (CALL (&f->client, STATUS, NULL, NULL), ==, 200);
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "needs_you")), ==, 0);
  g_assert_cmpstr (TEXT ("plans.0.state"), ==, "rejected");
  /* The notice reaches the next turn, and is over with it. */
  g_assert_cmpuint (CALL (&f->admin, LEASE_END, srv_fixture_id (shop->foreman.lease), NULL), ==,
                    200);
  for (guint turn = 0; turn < 2; turn++)
    {
      g_assert_cmpuint (CALL (&f->admin, LEASE_TAKE, "p:~", "{\"holder\": \"next\"}"), ==, 201);
      SrvActor next = srv_fixture_foreman (f);
      g_assert_cmpuint (CALL (&next, MESSAGE_LIST, NULL, NULL, "waiting=true"), ==, 200);
      g_assert_cmpuint (json_array_size (srv_fixture_get (f, "items")), ==, turn == 0);
      g_assert_cmpuint (CALL (&next, LEASE_END, srv_fixture_id (next.lease), NULL), ==, 200);
    }
  g_assert_cmpuint (CALL (&f->client, STATUS, NULL, NULL), ==, 200);
  g_assert_cmpint (INT ("finished_more"), ==, 0);
}

static void
test_reasons (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;

  (void) data;
  g_assert_cmpuint (CALL (&f->admin, PROJECT_SET, "p:~",
                          "{\"settings\": {\"max_tasks\": 1, \"protected_paths\": [\"deploy/**\", "
                          "\"src/model/*.sql\"],"
                          "\"hours\": \"Mon-Thu 09:00-17:00 Europe/Berlin\"}}"),
                    ==, 200);
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "changes")), ==, 3);
  g_assert_cmpuint (CALL (&shop->foreman, PLAN_CREATE, NULL,
                          "{\"title\": \"T\", \"tasks\": [{\"title\": \"A\", \"brief\": \"x\", "
                          "\"paths\": [\"src/**\"]},"
                          "{\"title\": \"B\", \"brief\": \"x\", \"paths\": [\"doc/*\"]}]}"),
                    ==, 201);
  const char *plan = ID ("id");
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "waits")), ==, 4);
  g_assert_cmpstr (TEXT ("waits.2.reason"), ==, "protected_path");
  g_assert_cmpstr (TEXT ("waits.2.to.0"), ==, "deploy/**");
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "waits.2.to")), ==, 1);
  g_assert_cmpuint (
      CALL (&f->client, PLAN_APPROVE, plan, "{\"version\": 1, \"and_stop_asking\": true}"), ==,
      422);
  PROBLEM (422, "reasons_needed", "several reasons");
  g_assert_cmpstr (TEXT ("reasons.3"), ==, "outside_hours");
  g_assert_cmpuint (CALL (&f->client, PLAN_APPROVE, plan,
                          "{\"version\": 1, \"and_stop_asking\": true, \"reasons\": [\"rain\"]}"),
                    ==, 422);
  PROBLEM (422, "reasons_needed", "is not a reason why this plan waits");
  g_assert_cmpuint (
      CALL (&f->client, PLAN_APPROVE, plan, "{\"version\": 1, \"reasons\": [\"too_many_tasks\"]}"),
      ==, 422);
  PROBLEM (422, "invalid", "goes only with and_stop_asking");
  g_assert_cmpuint (CALL (&f->client, PLAN_APPROVE, plan,
                          "{\"version\": 1, \"and_stop_asking\": true, \"reasons\": "
                          "[\"too_many_tasks\", \"protected_path\"]}"),
                    ==, 200);
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "settings_changed")), ==, 2);
  g_assert_cmpstr (TEXT ("settings_changed.0.setting"), ==, "max_tasks");
  g_assert_cmpint (INT ("settings_changed.0.from"), ==, 1);
  g_assert_cmpint (INT ("settings_changed.0.to"), ==, 2);
  g_assert_nonnull (strstr (TEXT ("settings_changed.0.undo"), "max_tasks=1"));
  g_assert_cmpuint (CALL (&f->admin, PROJECT_GET, "p:~", NULL), ==, 200);
  g_assert_cmpint (INT ("settings.max_tasks"), ==, 2);
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "settings.protected_paths")), ==, 1);
  g_assert_cmpstr (TEXT ("settings.approval"), ==, "always");
}

/* A plan that only the hours hold starts when they open. */
static void
test_hours (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;

  (void) data;
  g_assert_cmpuint (
      CALL (&f->admin, PROJECT_SET, "p:~",
            "{\"settings\": {\"approval\": \"never\", \"hours\": \"09:30-17:00 Europe/Berlin\"}}"),
      ==, 200);
  g_assert_cmpuint (CALL (&shop->foreman, PLAN_CREATE, NULL, TWO_TASKS), ==, 201);
  const char *plan = ID ("id");
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "waits")), ==, 1);
  g_assert_cmpstr (TEXT ("waits.0.reason"), ==, "outside_hours");
  srv_fixture_pass (f, 29 * 60);
  g_assert_cmpuint (CALL (&f->client, PLAN_GET, plan, NULL), ==, 200);
  g_assert_cmpstr (TEXT ("state"), ==, "awaiting_approval");
  srv_fixture_pass (f, 60);
  g_assert_cmpuint (CALL (&f->client, PLAN_GET, plan, NULL), ==, 200);
  g_assert_cmpstr (TEXT ("state"), ==, "active");
  g_assert_cmpuint (
      CALL (&f->admin, PROJECT_SET, "p:~", "{\"settings\": {\"hours\": \"Mon 8-9\"}}"), ==, 422);
  PROBLEM (422, "invalid", "has no times like 08:00-18:00");
}

/* ------------------------------------------------------- what waits goes on waiting */
#define SET(settings) \
  g_assert_cmpuint (CALL (&f->admin, PROJECT_SET, "p:~", "{\"settings\": " settings "}"), ==, 200)

static const char *
make_plan (SrvFixture *f, const SrvActor *foreman, const char *title, const char *paths)
{
  g_autofree char *body
      = g_strdup_printf ("{\"title\": \"%s\", \"tasks\": [{\"title\": \"A\", \"brief\": \"x\", "
                         "\"paths\": %s}]}",
                         title, paths);

  g_assert_cmpuint (CALL (foreman, PLAN_CREATE, NULL, body), ==, 201);
  return ID ("id");
}

static const char *
state_of (SrvFixture *f, const char *plan)
{
  g_assert_cmpuint (CALL (&f->client, PLAN_GET, plan, NULL), ==, 200);
  return TEXT ("state");
}

/* No change of a setting starts a plan that waits, whatever its reason; the answers name those that do. */
static void
test_still_waiting (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;
  const char *plans[3];

  (void) data;
  SET ("{\"protected_paths\": [\"deploy/**\"], \"max_tasks\": 1}");
  for (guint i = 0; i < 3; i++)
    {
      g_autofree char *title = g_strdup_printf ("Plan %u", i);
      plans[i] = make_plan (f, &shop->foreman, title, i == 1 ? "[\"deploy/x\"]" : "[\"src/x\"]");
    }
  SET ("{\"approval\": \"never\", \"protected_paths\": [], \"max_tasks\": 500}");
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "still_waiting")), ==, 3);
  g_assert_cmpstr (ID ("still_waiting.1.plan"), ==, plans[1]);
  g_assert_cmpint (INT ("still_waiting.1.version"), ==, 1);
  g_assert_cmpstr (TEXT ("still_waiting.1.title"), ==, "Plan 1");
  g_assert_cmpint (INT ("still_waiting_more"), ==, 0);
  srv_fixture_pass (f, 61);
  g_assert_cmpstr (state_of (f, plans[1]), ==, "awaiting_approval");
  /* Why, as it was judged then. */
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "waits")), ==, 2);
  g_assert_nonnull (strstr (TEXT ("waits.0.text"), "needed the user's approval"));
  g_assert_nonnull (strstr (TEXT ("waits.1.text"), "deploy/**"));
  /* Amended, it is judged by the settings as they are, but does not start by that. */
  g_assert_cmpuint (
      CALL (&shop->foreman, PLAN_AMEND, plans[2], "{\"title\": \"Plan two\"}", "If-Match=1"), ==,
      200);
  g_assert_cmpstr (TEXT ("state"), ==, "awaiting_approval");
  /* What is made from now on starts. */
  g_assert_cmpstr (state_of (f, make_plan (f, &shop->foreman, "New", "[\"src/x\"]")), ==, "active");
  SET ("{\"approval\": \"never\"}");
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "changes")), ==, 0);
  /* The setting has that value already: no change is listed, and it is approved. */
  g_assert_cmpuint (
      CALL (&f->client, PLAN_APPROVE, plans[0], "{\"version\": 1, \"and_stop_asking\": true}"), ==,
      200);
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "settings_changed")), ==, 0);
  g_assert_cmpstr (TEXT ("plan.state"), ==, "active");
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "still_waiting")), ==, 2);
  g_assert_cmpstr (TEXT ("still_waiting.1.title"), ==, "Plan two");
  g_assert_cmpint (INT ("still_waiting.1.version"), ==, 2);
}

/* and_stop_asking is of the plans to come. */
static void
test_stop_asking (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;
  const char *first, *last = NULL;

  (void) data;
  first = make_plan (f, &shop->foreman, "First", "[]");
  for (guint i = 0; i < 21; i++)
    last = make_plan (f, &shop->foreman, "Other", "[]");
  g_assert_cmpuint (
      CALL (&f->client, PLAN_APPROVE, first, "{\"version\": 1, \"and_stop_asking\": true}"), ==,
      200);
  g_assert_cmpstr (TEXT ("settings_changed.0.to"), ==, "never");
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "still_waiting")), ==, 20);
  g_assert_cmpint (INT ("still_waiting_more"), ==, 1);
  srv_fixture_pass (f, 61);
  g_assert_cmpstr (state_of (f, last), ==, "awaiting_approval");
}

/* Tasks of a plan at work: those that waited wait on, those that come are judged by themselves. */
static void
test_tasks_still_waiting (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;
  const char *plan = make_plan (f, &shop->foreman, "P", "[]");

  (void) data;
  g_assert_cmpuint (CALL (&f->client, PLAN_APPROVE, plan, "{\"version\": 1}"), ==, 200);
  g_assert_cmpuint (CALL (&shop->foreman, TASK_ADD, plan, "{\"title\": \"B\", \"brief\": \"b\"}"),
                    ==, 201);
  const char *waits = ID ("task.id");
  SET ("{\"approval\": \"never\"}");
  g_assert_cmpint (INT ("still_waiting.0.version"), ==, 3);
  g_assert_cmpuint (CALL (&shop->foreman, TASK_ADD, plan, "{\"title\": \"C\", \"brief\": \"c\"}"),
                    ==, 201);
  g_assert_cmpstr (TEXT ("task.state"), ==, "ready");
  g_assert_cmpuint (CALL (&shop->foreman, TASK_UPDATE, waits, "{\"brief\": \"more\"}"), ==, 200);
  g_assert_true (json_is_true (srv_fixture_get (f, "task.awaiting")));
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "plan.awaiting")), ==, 1);
  g_assert_cmpuint (CALL (&f->client, PLAN_APPROVE, plan, "{\"version\": 5}"), ==, 200);
  g_assert_cmpstr (TEXT ("started.0.title"), ==, "B");
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "still_waiting")), ==, 0);
}

/* A plan that waits for its hours keeps them: others start it neither sooner nor past what is asked by then. */
static void
test_hours_kept (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;

  (void) data;
  SET ("{\"approval\": \"never\", \"hours\": \"08:10-08:20\"}");
  const char *early = make_plan (f, &shop->foreman, "Early", "[\"deploy/x\"]");
  SET ("{\"hours\": \"08:05-08:20\"}");
  const char *other = make_plan (f, &shop->foreman, "Other", "[]");
  SET ("{\"hours\": \"any\"}");
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "still_waiting")), ==, 2);
  srv_fixture_pass (f, 61);
  g_assert_cmpstr (state_of (f, other), ==, "awaiting_approval");
  srv_fixture_pass (f, 4 * 60);
  g_assert_cmpstr (state_of (f, other), ==, "active");
  g_assert_cmpint (INT ("version"), ==, 2);
  g_assert_cmpstr (state_of (f, early), ==, "awaiting_approval");
  SET ("{\"protected_paths\": [\"deploy/**\"]}");
  srv_fixture_pass (f, 5 * 60);
  g_assert_cmpstr (state_of (f, early), ==, "awaiting_approval");
  g_assert_cmpstr (TEXT ("waits.0.reason"), ==, "protected_path");
  g_assert_cmpuint (CALL (&f->client, PLAN_APPROVE, early, "{\"version\": 2}"), ==, 200);
}

/* ---------------------------------------------------------------------- bounds */
static void
test_too_many_paths (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;

  (void) data;
  for (guint most = 20; most < 22; most++)
    {
      g_autoptr (GString) body = g_string_new ("{\"title\": \"P\", \"tasks\": [");
      for (guint t = 0; t < most; t++)
        {
          g_string_append_printf (body, "%s{\"title\": \"t%u\", \"brief\": \"b\", \"paths\": [",
                                  t ? "," : "", t);
          for (guint p = 0; p < SRV_MAX_PATHS / 20 && (t < 20 || p < 1); p++)
            g_string_append_printf (body, "%s\"src/%u\"", p ? "," : "", p);
          g_string_append (body, "]}");
        }
      g_string_append (body, "]}");
      g_assert_cmpuint (CALL (&shop->foreman, PLAN_CREATE, NULL, body->str), ==,
                        most == 20 ? 201 : 422);
    }
  PROBLEM (422, "invalid", "would give the plan more than 2000 paths");
}

/* ---------------------------------------------------------------------- tasks */
static const char *
start (SrvFixture *f, const SrvActor *foreman)
{
  g_assert_cmpuint (
      CALL (&f->admin, PROJECT_SET, "p:~", "{\"settings\": {\"approval\": \"never\"}}"), ==, 200);
  g_assert_cmpuint (CALL (foreman, PLAN_CREATE, NULL, TWO_TASKS), ==, 201);
  g_assert_cmpstr (TEXT ("state"), ==, "active");
  return ID ("id");
}

static void
test_review_and_failure (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;
  const char *plan = start (f, &shop->foreman);

  (void) data;
  g_assert_cmpuint (CALL (&f->worker, JOB_CLAIM, NULL, "{\"worker\": \"w\"}"), ==, 200);
  const char *job = ID ("job.id"), *task = ID ("task.id");
  g_assert_cmpuint (
      CALL (&f->worker, JOB_FINISH, job, "{\"sequence\": 1, \"outcome\": \"review\"}"), ==, 200);
  g_assert_cmpuint (
      CALL (&f->worker, JOB_FINISH, job, "{\"sequence\": 1, \"outcome\": \"review\"}"), ==, 200);
  g_assert_cmpuint (
      CALL (&f->worker, JOB_FINISH, job, "{\"sequence\": 2, \"outcome\": \"failed\"}"), ==, 409);
  PROBLEM (409, "job_over", "is over: it is review");
  g_assert_cmpuint (CALL (&shop->foreman, TASK_UPDATE, task, "{\"title\": \"x\"}"), ==, 409);
  PROBLEM (409, "task_not_open", "is review: it can't be rewritten");
  g_assert_cmpuint (CALL (&shop->foreman, TASK_UPDATE, task, "{\"state\": \"ready\"}"), ==, 200);
  g_assert_cmpstr (TEXT ("task.state"), ==, "ready");
  g_assert_cmpuint (CALL (&shop->foreman, TASK_UPDATE, task, "{\"state\": \"done\"}"), ==, 409);
  PROBLEM (409, "task_not_in_review", "only a task in review");
  g_assert_cmpuint (CALL (&shop->foreman, TASK_NOTE, task, "{\"text\": \"mind the gap\"}"), ==,
                    200);
  g_assert_cmpuint (CALL (&f->worker, JOB_CLAIM, NULL, "{\"worker\": \"w\"}"), ==, 200);
  g_assert_cmpstr (TEXT ("task.notes.0.text"), ==, "mind the gap");
  g_assert_cmpint (INT ("job.attempt"), ==, 2);
  job = ID ("job.id");
  g_assert_cmpuint (CALL (&f->worker, JOB_FINISH, job,
                          "{\"sequence\": 1, \"outcome\": \"failed\", \"text\": \"exit 1\"}"),
                    ==, 200);
  g_assert_cmpuint (CALL (&f->client, PLAN_GET, plan, NULL), ==, 200);
  g_assert_cmpstr (TEXT ("state"), ==, "failed");
  g_assert_cmpint (INT ("tasks.1.blocked_by.0"), ==, INT ("tasks.0.id"));
  g_assert_cmpuint (CALL (&f->client, STATUS, NULL, NULL), ==, 200);
  g_assert_cmpstr (TEXT ("needs_you.0.kind"), ==, "failed");
  g_assert_cmpstr (TEXT ("needs_you.0.tasks.0.reason"), ==, "exit 1");
  g_assert_cmpstr (TEXT ("plans.0.tasks.0.reason"), ==, "exit 1");
  g_assert_cmpuint (CALL (&shop->foreman, TASK_RETRY, task, NULL), ==, 200);
  g_assert_cmpstr (TEXT ("plan.state"), ==, "active");
  g_assert_cmpstr (TEXT ("task.state"), ==, "ready");
  g_assert_cmpuint (CALL (&shop->foreman, TASK_RETRY, task, NULL), ==, 409);
  PROBLEM (409, "task_not_failed", "is ready");
  g_assert_cmpuint (CALL (&shop->foreman, TASK_CANCEL, task, "{\"dependents\": true}"), ==, 200);
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "cancelled")), ==, 2);
  g_assert_cmpstr (TEXT ("plan.state"), ==, "cancelled");
}

/* Each reason why a worker gets nothing, and what makes a difference. */
static void
test_nothing (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;
  static const char settings[] = "{\"checkout\": \"/srv/shop\"}";

  (void) data;
  NOTHING (f, "nothing_ready");
  g_assert_cmpuint (CALL (&shop->foreman, PLAN_CREATE, NULL, TWO_TASKS), ==, 201);
  const char *plan = ID ("id");
  NOTHING (f, "awaiting_approval");
  g_assert_nonnull (strstr (TEXT ("waiting.text"), "(\"Cart\") awaits approval"));
  g_autofree char *mine
      = g_strdup_printf ("{\"worker\": \"w\", \"projects\": [%s]}", shop->project + 2);
  assert_nothing (f, mine, "awaiting_approval");
  g_assert_cmpuint (CALL (&f->client, PLAN_APPROVE, plan, "{\"version\": 1}"), ==, 200);
  assert_nothing (f, "{\"worker\": \"w\", \"needs_checkout\": true}", "no_checkout");
  g_assert_nonnull (strstr (TEXT ("waiting.text"), "(\"Model\") is ready, but its project"));
  g_assert_cmpuint (CALL (&f->client, PLAN_HOLD, plan, "{\"held\": true}"), ==, 200);
  NOTHING (f, "held");
  g_assert_nonnull (strstr (TEXT ("waiting.text"), "on hold"));
  g_assert_cmpuint (CALL (&f->client, PLAN_HOLD, plan, "{\"held\": false}"), ==, 200);
  g_assert_cmpuint (CALL (&f->admin, PROJECT_SET, shop->project, settings), ==, 200);
  g_assert_cmpuint (
      CALL (&f->worker, JOB_CLAIM, NULL, "{\"worker\": \"w\", \"needs_checkout\": true}"), ==, 200);
  g_assert_cmpstr (TEXT ("task.title"), ==, "Model");
  NOTHING (f, "nothing_ready");
}

/* A command that could not be started costs the task nothing. */
static void
test_returned (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;
  const char *plan = start (f, &shop->foreman);

  (void) data;
  for (guint i = 1; i < SRV_MAX_RETURNED; i++)
    {
      g_assert_cmpuint (CALL (&f->worker, JOB_CLAIM, NULL, "{\"worker\": \"w\"}"), ==, 200);
      g_assert_cmpint (INT ("job.attempt"), ==, 1);
      const char *job = ID ("job.id");
      static const char body[]
          = "{\"sequence\": 1, \"outcome\": \"returned\", \"text\": \"no such file\"}";
      g_assert_cmpuint (CALL (&f->worker, JOB_FINISH, job, body), ==, 200);
      g_assert_cmpstr (TEXT ("state"), ==, "returned");
      g_assert_cmpuint (CALL (&f->worker, JOB_FINISH, job, body), ==, 200);
      g_assert_cmpuint (CALL (&f->worker, JOB_HEARTBEAT, job, NULL), ==, 409);
      PROBLEM (409, "job_over", "is returned");
      g_assert_cmpuint (CALL (&f->client, PLAN_GET, plan, NULL), ==, 200);
      g_assert_cmpstr (TEXT ("tasks.0.state"), ==, "ready");
      g_assert_cmpint (INT ("tasks.0.attempt"), ==, 0);
    }
  g_assert_cmpuint (CALL (&f->client, TIMELINE, NULL, NULL, "limit=2"), ==, 200);
  g_assert_cmpstr (TEXT ("items.0.kind"), ==, "job.returned");
  g_assert_cmpstr (TEXT ("items.0.text"), ==, "no such file");
  g_assert_cmpstr (TEXT ("items.1.kind"), ==, "task.ready");
}

/* What a person needs: why it failed, the last lines rather than the first; and who ends a review. */
static void
test_needs_of_tasks (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;
  const char *command = "{\"foreman_command\": {\"command\": [\"true\"]}}";
  g_autofree char *many = g_strnfill (500, 'x');
  g_autofree char *event = g_strdup_printf (
      "{\"sequence\": 1, \"text\": \"%s\\nlast but one\\nlast \\u00e4\\n\"}", many);

  (void) data;
  start (f, &shop->foreman);
  g_assert_cmpuint (CALL (&f->worker, JOB_CLAIM, NULL, "{\"worker\": \"w\"}"), ==, 200);
  const char *job = ID ("job.id"), *task = ID ("task.id");
  g_assert_cmpuint (CALL (&f->worker, JOB_EVENT, job, event), ==, 201);
  g_assert_cmpuint (CALL (&f->worker, JOB_FINISH, job,
                          "{\"sequence\": 9223372036854775807, \"outcome\": \"failed\"}"),
                    ==, 422);
  PROBLEM (422, "invalid",
           "\"sequence\", \"problem\": \"is not an integer from 1 to 9007199254740991\"");
  g_assert_cmpuint (CALL (&f->worker, JOB_FINISH, job,
                          "{\"sequence\": 2, \"outcome\": \"failed\", \"text\": \"exit 3\"}"),
                    ==, 200);
  g_assert_cmpuint (CALL (&f->client, STATUS, NULL, NULL), ==, 200);
  g_assert_cmpstr (TEXT ("needs_you.0.tasks.0.reason"), ==, "exit 3");
  g_assert_cmpuint (CALL (&f->admin, TASK_RETRY, task, NULL), ==, 200);
  g_assert_cmpuint (CALL (&f->worker, JOB_CLAIM, NULL, "{\"worker\": \"w\"}"), ==, 200);
  job = ID ("job.id");
  g_assert_cmpuint (CALL (&f->worker, JOB_EVENT, job, event), ==, 201);
  g_assert_cmpuint (
      CALL (&f->worker, JOB_FINISH, job, "{\"sequence\": 2, \"outcome\": \"review\"}"), ==, 200);
  /* A turn runs: the foreman ends it. */
  g_assert_cmpuint (CALL (&f->client, STATUS, NULL, NULL), ==, 200);
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "needs_you")), ==, 0);
  g_assert_cmpuint (CALL (&shop->foreman, LEASE_END, srv_fixture_id (shop->foreman.lease), NULL),
                    ==, 200);
  for (guint one = 0; one < 2; one++)
    {
      g_autofree char *query = g_strdup_printf ("project=%s", shop->project + 2);
      g_assert_cmpuint (CALL (&f->client, STATUS, NULL, NULL, one ? query : "all=false"), ==, 200);
      g_assert_cmpstr (TEXT ("needs_you.0.kind"), ==, "review");
      g_assert_cmpstr (TEXT ("needs_you.0.project_name"), ==, "shop");
      g_assert_cmpstr (ID ("needs_you.0.tasks.0.id"), ==, task);
      const char *reason = TEXT ("needs_you.0.tasks.0.reason");
      g_assert_true (g_str_has_suffix (reason, "xx\nlast but one\nlast \xc3\xa4"));
      g_assert_true (g_str_has_prefix (reason, "\xe2\x80\xa6xx"));
      g_assert_cmpint (g_utf8_strlen (reason, -1), ==, 400);
      g_assert_cmpint (INT ("projects.0.needs_user"), ==, 1);
      g_assert_cmpint (INT ("needs_you_more"), ==, 0);
    }
  g_assert_cmpuint (CALL (&f->admin, PROJECT_SET, "p:~", command), ==, 200);
  g_assert_cmpint (INT ("needs_user"), ==, 0);
  g_assert_cmpuint (CALL (&f->client, STATUS, NULL, NULL), ==, 200);
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "needs_you")), ==, 0);
  /* The admin may end it too. */
  g_assert_cmpuint (CALL (&f->admin, TASK_UPDATE, task, "{\"state\": \"done\"}"), ==, 200);
  g_assert_null (json_object_get (srv_fixture_get (f, "task"), "reason"));
}

/* Who decides sees what the tasks are told: of what waits, and a bounded part of it. */
static void
test_briefs_of_waiting (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;
  g_autoptr (GString) tasks = g_string_new (NULL);
  g_autoptr (GString) brief = g_string_new (NULL);

  (void) data;
  for (guint i = 0; i < 600; i++)
    g_string_append (brief, "\xc3\xa4");
  for (guint i = 0; i < 60; i++)
    g_string_append_printf (tasks, "%s{\"title\": \"T%u\", \"brief\": \"%s\"}", i ? ", " : "", i,
                            i == 1 ? brief->str : "short");
  g_autofree char *body = g_strdup_printf ("{\"title\": \"Many\", \"tasks\": [%s]}", tasks->str);
  g_assert_cmpuint (CALL (&shop->foreman, PLAN_CREATE, NULL, body), ==, 201);
  const char *plan = ID ("id");
  g_assert_cmpuint (CALL (&f->client, STATUS, NULL, NULL), ==, 200);
  g_assert_cmpstr (TEXT ("plans.0.tasks.0.brief"), ==, "short");
  g_assert_cmpint (g_utf8_strlen (TEXT ("plans.0.tasks.1.brief"), -1), ==, 500);
  g_assert_true (g_str_has_suffix (TEXT ("plans.0.tasks.1.brief"), "\xc3\xa4\xe2\x80\xa6"));
  g_assert_cmpstr (TEXT ("plans.0.tasks.49.brief"), ==, "short");
  g_assert_null (json_object_get (srv_fixture_get (f, "plans.0.tasks.50"), "brief"));
  g_assert_cmpuint (CALL (&f->client, PLAN_APPROVE, plan, "{\"version\": 1}"), ==, 200);
  g_assert_cmpuint (CALL (&f->client, STATUS, NULL, NULL), ==, 200);
  g_assert_null (json_object_get (srv_fixture_get (f, "plans.0.tasks.0"), "brief"));
  g_assert_cmpuint (
      CALL (&shop->foreman, TASK_ADD, plan, "{\"title\": \"Late\", \"brief\": \"and this\"}"), ==,
      201);
  g_assert_cmpuint (CALL (&f->client, STATUS, NULL, NULL), ==, 200);
  g_assert_null (json_object_get (srv_fixture_get (f, "plans.0.tasks.0"), "brief"));
  g_assert_cmpstr (TEXT ("plans.0.tasks.60.brief"), ==, "and this");
}

/* Cancelling what others wait for starts those: the answer says so, and so do the events say why. */
static void
test_cancel_starts (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;

  (void) data;
  const char *plan = start (f, &shop->foreman);
  const char *first = ID ("tasks.0.id"), *second = ID ("tasks.1.id");
  g_assert_cmpuint (CALL (&shop->foreman, TASK_CANCEL, first, "{}"), ==, 200);
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "started")), ==, 1);
  g_assert_cmpstr (ID ("started.0.id"), ==, second);
  g_assert_cmpstr (TEXT ("started.0.title"), ==, "View");
  g_assert_cmpstr (TEXT ("started.0.branch"), ==, "cart/view");
  g_assert_cmpuint (CALL (&shop->foreman, PLAN_AMEND, plan, "{\"reason\": \"no\"}", "If-Match=2"),
                    ==, 422);
  PROBLEM (422, "invalid", "changes nothing");
  g_assert_cmpuint (CALL (&shop->foreman, PLAN_AMEND, plan,
                          "{\"add\": [{\"title\": \"Till\", \"brief\": \"b\"}, {\"title\": "
                          "\"Bell\", \"brief\": \"b\", \"depends_on\": [\"Till\"]}]}",
                          "If-Match=2"),
                    ==, 200);
  g_assert_cmpstr (TEXT ("started.0.title"), ==, "Till");
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "started")), ==, 1);
  g_autofree char *body = g_strdup_printf (
      "{\"cancel\": [%" G_GINT64_FORMAT "], \"reason\": \"too dear\"}", INT ("started.0.id"));
  g_assert_cmpuint (CALL (&shop->foreman, PLAN_AMEND, plan, body, "If-Match=3"), ==, 200);
  g_assert_cmpstr (TEXT ("started.0.title"), ==, "Bell");
  g_assert_cmpuint (CALL (&f->client, TIMELINE, NULL, NULL, "limit=3"), ==, 200);
  g_assert_cmpstr (TEXT ("items.0.kind"), ==, "task.cancelled");
  g_assert_cmpstr (TEXT ("items.0.text"), ==, "too dear");
  g_assert_cmpstr (TEXT ("items.1.text"), ==, "Version 4: too dear");
  /* What became of all of them is said when the plan is over. */
  for (guint i = 0; i < 2; i++)
    {
      g_assert_cmpuint (CALL (&f->worker, JOB_CLAIM, NULL, "{\"worker\": \"w\"}"), ==, 200);
      const char *job = ID ("job.id");
      g_assert_cmpuint (CALL (&f->worker, JOB_FINISH, job,
                              i == 0 ? "{\"sequence\": 1, \"outcome\": \"succeeded\"}"
                                     : "{\"sequence\": 1, \"outcome\": \"failed\"}"),
                        ==, 200);
    }
  g_assert_cmpuint (CALL (&f->client, TIMELINE, NULL, NULL, "limit=1"), ==, 200);
  g_assert_cmpstr (TEXT ("items.0.text"), ==,
                   "Nothing of the plan can go on. Its tasks: 1 done, 1 failed, 2 cancelled.");
  g_assert_cmpuint (CALL (&f->client, PLAN_GET, plan, NULL), ==, 200);
  g_autofree char *rest
      = g_strdup_printf ("{\"cancel\": [%" G_GINT64_FORMAT "]}", INT ("tasks.3.id"));
  g_assert_cmpstr (TEXT ("tasks.3.state"), ==, "failed");
  g_autofree char *match = g_strdup_printf ("If-Match=%" G_GINT64_FORMAT, INT ("version"));
  g_assert_cmpuint (CALL (&shop->foreman, PLAN_AMEND, plan, rest, match), ==, 200);
  g_assert_cmpuint (CALL (&f->client, TIMELINE, NULL, NULL, "limit=1"), ==, 200);
  g_assert_cmpstr (TEXT ("items.0.text"), ==, "The plan is done. Its tasks: 1 done, 3 cancelled.");
}

/* Who comes for what is left, told as it is. */
static void
test_after_lease (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;

  (void) data;
  g_assert_cmpuint (CALL (&f->client, MESSAGE_ADD, "p:~", "{\"text\": \"one\"}"), ==, 201);
  g_assert_true (g_str_has_suffix (TEXT ("outcome_text"),
                                   "if it doesn't, the project has no foreman that "
                                   "would wake for it when that ends."));
  g_assert_cmpuint (CALL (&f->client, PROJECT_HOLD, "p:~", "{\"held\": true}"), ==, 200);
  g_assert_cmpuint (CALL (&f->client, MESSAGE_ADD, "p:~", "{\"text\": \"two\"}"), ==, 201);
  g_assert_true (g_str_has_suffix (TEXT ("outcome_text"),
                                   "no foreman that would wake for it when that ends."));
  g_assert_cmpuint (
      CALL (&f->admin, PROJECT_SET, "p:~", "{\"foreman_command\": {\"command\": [\"true\"]}}"), ==,
      200);
  g_assert_cmpuint (CALL (&f->client, MESSAGE_ADD, "p:~", "{\"text\": \"three\"}"), ==, 201);
  g_assert_true (g_str_has_suffix (TEXT ("outcome_text"),
                                   "once that has ended and the hold on the project is released."));
  g_assert_cmpuint (CALL (&f->client, PROJECT_HOLD, "p:~", "{\"held\": false}"), ==, 200);
  g_assert_cmpuint (CALL (&f->client, MESSAGE_ADD, "p:~", "{\"text\": \"four\"}"), ==, 201);
  g_assert_true (
      g_str_has_suffix (TEXT ("outcome_text"), "the foreman wakes for it when that ends."));
}

static void
test_cancel_running (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;

  (void) data;
  start (f, &shop->foreman);
  g_assert_cmpuint (CALL (&f->worker, JOB_CLAIM, NULL, "{\"worker\": \"w\"}"), ==, 200);
  const char *job = ID ("job.id"), *task = ID ("task.id");
  g_assert_cmpuint (CALL (&shop->foreman, TASK_CANCEL, task, "{}"), ==, 200);
  g_assert_cmpuint (CALL (&shop->foreman, TASK_CANCEL, task, "{}"), ==, 409);
  PROBLEM (409, "task_cancelled", "cancelled already");
  g_assert_cmpuint (CALL (&f->worker, JOB_HEARTBEAT, job, NULL), ==, 409);
  PROBLEM (409, "job_over", "is over: it is cancelled");
  g_assert_cmpstr (TEXT ("state"), ==, "cancelled");
  g_assert_cmpuint (
      CALL (&f->worker, JOB_FINISH, job, "{\"sequence\": 1, \"outcome\": \"succeeded\"}"), ==, 409);
  /* Its dependent goes on without it. */
  g_assert_cmpuint (CALL (&f->worker, JOB_CLAIM, NULL, "{\"worker\": \"w\"}"), ==, 200);
  g_assert_cmpstr (TEXT ("task.title"), ==, "View");
}

static void
test_jobs (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;
  const char *plan = start (f, &shop->foreman);
  SrvActor other = { .role = SRV_ROLE_WORKER, .token = 900077, .name = "w2" };

  (void) data;
  g_assert_cmpuint (CALL (&f->worker, JOB_CLAIM, NULL, "{\"worker\": \"w\", \"projects\": [99]}"),
                    ==, 404);
  PROBLEM (404, "not_found", "no project 99");
  static const char *const none[][2]
      = { { "\"99\"", "no project 99" },
          { "\"till\"", "no project \\\"till\\\"" },
          { "\"https://a.b/c/d\"", "no project \\\"https://a.b/c/d\\\"" } };
  for (guint i = 0; i < G_N_ELEMENTS (none); i++)
    {
      g_autofree char *body
          = g_strdup_printf ("{\"worker\": \"w\", \"projects\": [%s]}", none[i][0]);
      g_assert_cmpuint (CALL (&f->worker, JOB_CLAIM, NULL, body), ==, 404);
      PROBLEM (404, "not_found", none[i][1]);
      g_assert_null (json_object_get (f->last, "projects"));
    }
  static const char *const bad[] = { "0", "-1", "true", "\"\"", "1.5", "[]" };
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autofree char *body
          = g_strdup_printf ("{\"worker\": \"w\", \"projects\": [\"shop\", %s]}", bad[i]);
      g_assert_cmpuint (CALL (&f->worker, JOB_CLAIM, NULL, body), ==, 422);
      PROBLEM (422, "invalid", "\"projects[1]\"");
    }
  for (guint attempt = 1; attempt <= 3; attempt++)
    {
      g_assert_cmpuint (CALL (&f->worker, JOB_CLAIM, NULL, "{\"worker\": \"w\"}"), ==, 200);
      const char *job = ID ("job.id");
      g_assert_cmpint (INT ("job.heartbeat_seconds"), ==, 30);
      NOTHING (f, "nothing_ready");
      g_assert_cmpuint (
          CALL (&f->worker, JOB_EVENT, job, "{\"sequence\": 9007199254740992, \"text\": \"line\"}"),
          ==, 422);
      g_assert_cmpuint (CALL (&f->worker, JOB_EVENT, job, "{\"sequence\": 1, \"text\": \"line\"}"),
                        ==, 201);
      g_assert_cmpuint (CALL (&f->worker, JOB_EVENT, job, "{\"sequence\": 1, \"text\": \"line\"}"),
                        ==, 200);
      g_assert_true (json_is_true (srv_fixture_get (f, "repeat")));
      g_assert_cmpuint (CALL (&other, JOB_HEARTBEAT, job, NULL), ==, 403);
      PROBLEM (403, "not_your_job", "another token");
      srv_fixture_pass (f, 80);
      g_assert_cmpuint (CALL (&f->worker, JOB_HEARTBEAT, job, NULL), ==, 200);
      srv_fixture_pass (f, 89);
      g_assert_cmpuint (CALL (&f->client, STATUS, NULL, NULL), ==, 200);
      g_assert_cmpstr (TEXT ("running.0.latest.text"), ==, "line");
      srv_fixture_pass (f, 1);
      g_assert_cmpuint (CALL (&f->worker, JOB_HEARTBEAT, job, NULL), ==, 409);
      PROBLEM (409, "job_over", "is lost");
      g_assert_cmpuint (CALL (&f->client, PLAN_GET, plan, NULL), ==, 200);
      g_assert_cmpstr (TEXT ("tasks.0.state"), ==, attempt < 3 ? "ready" : "failed");
      g_assert_cmpint (INT ("tasks.0.attempt"), ==, attempt);
    }
  g_assert_cmpstr (TEXT ("state"), ==, "failed");
}

/* ---------------------------------------------------------------------- holds */
static void
test_holds (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;
  const char *plan = start (f, &shop->foreman);

  (void) data;
  g_assert_cmpuint (
      CALL (&shop->foreman, PLAN_HOLD, plan, "{\"held\": true, \"reason\": \"wait\"}"), ==, 200);
  g_assert_cmpstr (TEXT ("holds.0.by.role"), ==, "foreman");
  NOTHING (f, "held");
  g_assert_cmpuint (CALL (&shop->foreman, PLAN_HOLD, plan, "{\"held\": false}"), ==, 200);
  g_assert_cmpuint (CALL (&f->client, PLAN_HOLD, plan, "{\"held\": true}"), ==, 200);
  g_assert_cmpuint (
      CALL (&shop->foreman, PLAN_HOLD, plan, "{\"held\": true, \"reason\": \"mine\"}"), ==, 200);
  g_assert_cmpstr (TEXT ("hold.by.role"), ==, "user");
  g_assert_cmpuint (CALL (&shop->foreman, PLAN_HOLD, plan, "{\"held\": false}"), ==, 403);
  PROBLEM (403, "hold_not_yours", "only the user releases it");
  g_assert_cmpuint (CALL (&f->client, PLAN_HOLD, plan, "{\"held\": false}"), ==, 200);
  g_assert_cmpuint (CALL (&f->client, PLAN_GET, plan, NULL), ==, 200);
  const char *task = ID ("tasks.0.id");
  g_assert_cmpuint (CALL (&f->client, TASK_HOLD, task, "{\"held\": true}"), ==, 200);
  NOTHING (f, "held");
  g_assert_cmpuint (CALL (&f->client, TASK_HOLD, task, "{\"held\": false}"), ==, 200);
  g_assert_cmpuint (CALL (&f->client, PROJECT_HOLD, "p:~", "{\"held\": true}"), ==, 200);
  NOTHING (f, "held");
  g_assert_cmpuint (CALL (&f->client, PROJECT_HOLD, "p:~", "{\"held\": false}"), ==, 200);
  g_assert_cmpuint (CALL (&f->worker, JOB_CLAIM, NULL, "{\"worker\": \"w\"}"), ==, 200);
  g_assert_cmpuint (CALL (&f->client, PLAN_HOLD, plan, "{}"), ==, 422);
  PROBLEM (422, "invalid", "held is missing");
  /* What was there before, at each of the three. */
  for (guint what = 0; what < 3; what++)
    {
      static const char *const bodies[]
          = { "{\"held\": false}", "{\"held\": true, \"reason\": \"one\"}",
              "{\"held\": true, \"reason\": \"two\"}", "{\"held\": false}" };
      for (guint i = 0; i < G_N_ELEMENTS (bodies); i++)
        {
          guint status = what == 0   ? CALL (&f->client, PROJECT_HOLD, "p:~", bodies[i])
                         : what == 1 ? CALL (&f->client, PLAN_HOLD, plan, bodies[i])
                                     : CALL (&f->client, TASK_HOLD, task, bodies[i]);
          g_assert_cmpuint (status, ==, 200);
          g_assert_cmpint (json_is_true (srv_fixture_get (f, "was_held")), ==, i > 1);
          g_assert_cmpint (json_is_true (srv_fixture_get (f, "replaced")), ==, i == 2);
          g_assert_cmpstr (json_string_value (srv_fixture_get (f, "replaced_reason")), ==,
                           i == 2 ? "one" : NULL);
        }
    }
}

/* --------------------------------------------------------------------- leases */
static void
test_leases (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;
  SrvActor actor;
  const char *why = NULL;

  (void) data;
  g_assert_cmpuint (
      CALL (&f->admin, PROJECT_ADD, NULL, "{\"repo_url\": \"https://example.org/owner/other\"}"),
      ==, 201);
  g_autofree char *other = g_strdup_printf ("p:%" G_GINT64_FORMAT, INT ("id"));
  g_assert_cmpuint (CALL (&shop->foreman, PROJECT_GET, other, NULL), ==, 403);
  PROBLEM (403, "wrong_project", "Trying again won't help");
  g_assert_cmpuint (CALL (&shop->foreman, PROJECT_GET, "p:4711", NULL), ==, 403);
  g_assert_cmpuint (CALL (&shop->foreman, STATUS, NULL, NULL), ==, 200);
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "projects")), ==, 1);
  g_assert_cmpuint (CALL (&shop->foreman, PROJECT_LIST, NULL, NULL), ==, 200);
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "items")), ==, 1);
  g_assert_cmpuint (CALL (&f->admin, LEASE_TAKE, other, "{\"holder\": \"t\", \"ttl\": 59}"), ==,
                    422);
  PROBLEM (422, "invalid", "is not an integer from 60 to 3600");
  g_assert_cmpuint (CALL (&f->admin, LEASE_TAKE, other, "{\"holder\": \"t\", \"ttl\": 60}"), ==,
                    201);
  g_autofree char *secret = g_strdup (TEXT ("token"));
  const char *lease = ID ("id");
  SrvActor second = srv_fixture_foreman (f);
  g_assert_cmpuint (CALL (&shop->foreman, LEASE_RENEW, lease, NULL), ==, 403);
  g_assert_cmpuint (CALL (&second, LEASE_RENEW, lease, "{\"ttl\": 120}"), ==, 200);
  f->now += 119 * G_USEC_PER_SEC;
  g_assert_cmpuint (CALL (&second, REPORT_ADD, "p:~", "{\"text\": \"x\"}"), ==, 201);
  f->now += G_USEC_PER_SEC;
  g_assert_false (srv_engine_authenticate (f->engine, secret, &actor, &why));
  g_assert_cmpstr (why, ==, "lease_ended");
  g_assert_cmpuint (CALL (&second, REPORT_ADD, "p:~", "{\"text\": \"y\"}"), ==, 401);
  PROBLEM (401, "lease_ended", "its turn is over");
  /* It makes room before any tick. */
  g_assert_cmpuint (CALL (&f->admin, LEASE_TAKE, other, "{\"holder\": \"t2\"}"), ==, 201);
  const char *third = ID ("id");
  g_assert_cmpuint (
      CALL (&f->admin, LEASE_END, third, "{\"outcome\": \"crashed\", \"text\": \"exit 1\"}"), ==,
      200);
  g_assert_cmpuint (CALL (&f->admin, LEASE_END, third, "{}"), ==, 409);
  PROBLEM (409, "lease_over", "has ended");
  g_assert_cmpuint (CALL (&f->client, TIMELINE, NULL, NULL, "limit=1"), ==, 200);
  g_assert_cmpstr (TEXT ("items.0.kind"), ==, "turn.crashed");
}

/* ---------------------------------------------------------------------- reads */
static void
test_lists (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;

  (void) data;
  for (guint i = 0; i < 5; i++)
    {
      g_autofree char *body = g_strdup_printf ("{\"text\": \"message %u\"}", i);
      g_assert_cmpuint (CALL (&f->client, MESSAGE_ADD, "p:~", body), ==, 201);
    }
  g_assert_cmpuint (CALL (&f->client, MESSAGE_LIST, NULL, NULL, "limit=2"), ==, 200);
  g_assert_cmpstr (TEXT ("items.0.text"), ==, "message 4");
  g_autofree char *cursor = g_strdup_printf ("cursor=%s", TEXT ("next_cursor"));
  g_assert_cmpuint (CALL (&f->client, MESSAGE_LIST, NULL, NULL, "limit=2", cursor), ==, 200);
  g_assert_cmpstr (TEXT ("items.0.text"), ==, "message 2");
  g_assert_cmpuint (CALL (&f->client, TIMELINE, NULL, NULL, "limit=2"), ==, 200);
  g_assert_cmpstr (TEXT ("items.1.text"), ==, "message 4");
  g_assert_cmpstr (TEXT ("items.1.actor.role"), ==, "user");
  g_autofree char *before = g_strdup_printf ("before=%" G_GINT64_FORMAT, INT ("next_before"));
  g_assert_cmpuint (CALL (&f->client, TIMELINE, NULL, NULL, "limit=2", before), ==, 200);
  g_assert_cmpstr (TEXT ("items.1.text"), ==, "message 2");
  g_assert_cmpuint (CALL (&f->client, EVENTS, NULL, NULL, "after=2", "limit=1"), ==, 200);
  g_assert_cmpint (INT ("items.0.seq"), ==, 3);
  g_assert_cmpint (INT ("last"), ==, 3);
  g_assert_cmpuint (CALL (&f->client, TIMELINE, NULL, NULL, "limit=501", "colour=red", "before=0"),
                    ==, 422);
  PROBLEM (422, "invalid", "\"limit\", \"problem\": \"is not an integer from 1 to 500\"");
  PROBLEM (422, "invalid", "\"colour\", \"problem\": \"is not known here\"");
  g_assert_cmpuint (CALL (&f->client, PLAN_LIST, NULL, NULL, "state=asleep"), ==, 422);
  PROBLEM (422, "invalid", "is not a state of plans");
  g_assert_cmpuint (CALL (&f->worker, STATUS, NULL, NULL), ==, 403);
  PROBLEM (403, "wrong_role", "This token is a worker token");
  g_assert_cmpuint (CALL (&f->admin, PROJECT_REMOVE, "p:~", NULL), ==, 200);
  g_assert_cmpuint (CALL (&f->admin, PROJECT_GET, shop->project, NULL), ==, 404);
  g_assert_cmpuint (CALL (&f->admin, PROJECT_ADD, NULL, REPO), ==, 201);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/srv-ops/projects", test_projects);
  g_test_add_func ("/srv-ops/selecting", test_selecting);
  g_test_add_func ("/srv-ops/project-lines", test_project_lines);
  g_test_add_func ("/srv-ops/project-problems", test_project_problems);
#define SHOP(path, function) g_test_add (path, Shop, NULL, set_up, function, tear_down)
  SHOP ("/srv-ops/plan-life", test_plan_life);
  SHOP ("/srv-ops/messages", test_messages);
  SHOP ("/srv-ops/remove", test_remove);
  SHOP ("/srv-ops/removed-plan", test_removed_plan);
  SHOP ("/srv-ops/questions", test_questions);
  SHOP ("/srv-ops/idempotency", test_idempotency);
  SHOP ("/srv-ops/plan-problems", test_plan_problems);
  SHOP ("/srv-ops/needs-of-plans", test_needs_of_plans);
  SHOP ("/srv-ops/amend", test_amend);
  SHOP ("/srv-ops/reject", test_reject);
  SHOP ("/srv-ops/nothing", test_nothing);
  SHOP ("/srv-ops/returned", test_returned);
  SHOP ("/srv-ops/reasons", test_reasons);
  SHOP ("/srv-ops/hours", test_hours);
  SHOP ("/srv-ops/still-waiting", test_still_waiting);
  SHOP ("/srv-ops/stop-asking", test_stop_asking);
  SHOP ("/srv-ops/tasks-still-waiting", test_tasks_still_waiting);
  SHOP ("/srv-ops/hours-kept", test_hours_kept);
  SHOP ("/srv-ops/too-many-paths", test_too_many_paths);
  SHOP ("/srv-ops/review-and-failure", test_review_and_failure);
  SHOP ("/srv-ops/briefs-of-waiting", test_briefs_of_waiting);
  SHOP ("/srv-ops/cancel-starts", test_cancel_starts);
  SHOP ("/srv-ops/after-lease", test_after_lease);
  SHOP ("/srv-ops/history-stays", test_history_stays);
  g_test_add_func ("/srv-ops/names", test_names);
  g_test_add_func ("/srv-ops/quoted", test_quoted);
  SHOP ("/srv-ops/needs-of-tasks", test_needs_of_tasks);
  SHOP ("/srv-ops/cancel-running", test_cancel_running);
  SHOP ("/srv-ops/jobs", test_jobs);
  SHOP ("/srv-ops/holds", test_holds);
  SHOP ("/srv-ops/leases", test_leases);
  SHOP ("/srv-ops/lists", test_lists);
  return g_test_run ();
}
