/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations of the engine over a store in memory: each one's answer, each one's refusals, and the promises that
 * need more than one request.
 */
#include "config.h"

#include "srv-fixture.h"

#include <string.h>

#define CALL(actor, op, target, ...) \
  srv_fixture_call (f, actor, SRV_OP_##op, target, __VA_ARGS__, NULL)
#define ID(path) srv_fixture_id (srv_fixture_int (f, path))
#define TEXT(path) srv_fixture_text (f, path)
#define INT(path) srv_fixture_int (f, path)
#define PROBLEM(status, code, text) srv_fixture_assert_problem (f, status, code, text)

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
  PROBLEM (404, "no_project", "add one");
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
  g_assert_cmpuint (CALL (&f->client, PLAN_APPROVE, plan, "{\"version\": 1}"), ==, 409);
  PROBLEM (409, "plan_changed", "is at version 2");
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
  g_assert_cmpuint (CALL (&f->worker, JOB_CLAIM, NULL, "{\"worker\": \"w1\"}"), ==, 204);
  g_assert_cmpuint (CALL (&f->client, PLAN_GET, plan, NULL), ==, 200);
  g_assert_cmpstr (TEXT ("state"), ==, "done");
  g_assert_cmpuint (CALL (&f->client, TIMELINE, NULL, NULL), ==, 200);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/srv-ops/projects", test_projects);
#define SHOP(path, function) g_test_add (path, Shop, NULL, set_up, function, tear_down)
  SHOP ("/srv-ops/plan-life", test_plan_life);
  return g_test_run ();
}
