/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What foremen, workers and clocks may not bring about: work that starts before what was approved, tasks that go round
 * for ever, things of removed projects that ask the user, messages that get lost among settled ones.
 */
#include "config.h"

#include "srv-fixture.h"
#include "srv-rules.h"

#include <string.h>

#define CALL(actor, op, target, ...) \
  srv_fixture_call (f, actor, SRV_OP_##op, target, __VA_ARGS__, NULL)
#define ID(path) srv_fixture_id (srv_fixture_int (f, path))
#define TEXT(path) srv_fixture_text (f, path)
#define INT(path) srv_fixture_int (f, path)
#define PROBLEM(status, code, text) srv_fixture_assert_problem (f, status, code, text)
#define MANY 510u /* more than any page */
#define DAY_S (24 * 3600)

#define GATE \
  "{\"title\": \"Gate\", \"tasks\": [{\"title\": \"review\", \"brief\": \"b\"}," \
  "{\"title\": \"deploy\", \"brief\": \"b\", \"depends_on\": [\"review\"]}," \
  "{\"title\": \"tell\", \"brief\": \"b\", \"depends_on\": [\"deploy\"]}]}"
#define ONE "{\"title\": \"One\", \"tasks\": [{\"title\": \"t\", \"brief\": \"b\"}]}"

typedef struct
{
  SrvFixture base;
  SrvActor foreman;
} Shop;

static void
take_lease (Shop *shop)
{
  SrvFixture *f = &shop->base;

  g_assert_cmpuint (CALL (&f->admin, LEASE_TAKE, "p:~", "{\"holder\": \"turn\", \"ttl\": 3600}"),
                    ==, 201);
  shop->foreman = srv_fixture_foreman (f);
}

static void
end_lease (Shop *shop, const char *body)
{
  SrvFixture *f = &shop->base;

  g_assert_cmpuint (CALL (&f->runner, LEASE_END, srv_fixture_id (shop->foreman.lease), body), ==,
                    200);
}

static void
set_up (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;

  (void) data;
  srv_fixture_open (f, NULL);
  g_assert_cmpuint (CALL (&f->admin, PROJECT_ADD, NULL,
                          "{\"repo_url\": \"https://example.org/o/shop\", \"checkout\": \"/srv\", "
                          "\"foreman_command\": {\"command\": [\"x\"]}}"),
                    ==, 201);
  take_lease (shop);
}

static void
tear_down (Shop *shop, gconstpointer data)
{
  (void) data;
  srv_fixture_close (&shop->base);
}

static gint64
say (SrvFixture *f, guint i)
{
  g_autofree char *body = g_strdup_printf ("{\"text\": \"message %u\"}", i);

  g_assert_cmpuint (CALL (&f->client, MESSAGE_ADD, "p:~", body), ==, 201);
  return INT ("id");
}

static void
assert_message (SrvFixture *f, gint64 id, const char *state)
{
  g_autofree char *cursor = g_strdup_printf ("cursor=%" G_GINT64_FORMAT, id + 1);

  g_assert_cmpuint (CALL (&f->client, MESSAGE_LIST, NULL, NULL, "limit=1", cursor), ==, 200);
  g_assert_cmpint (INT ("items.0.id"), ==, id);
  g_assert_cmpstr (TEXT ("items.0.state"), ==, state);
}

/* What is settled takes no room from what is not. */
static void
test_many_messages (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;
  gint64 first = 0;

  (void) data;
  for (guint i = 0; i < MANY; i++)
    {
      gint64 id = say (f, i);
      first = i == 0 ? id : first;
    }
  end_lease (shop, "{\"outcome\": \"done\"}");
  /* Two turns: one is given at most a page. */
  for (guint turn = 0; turn < 2; turn++)
    {
      take_lease (shop);
      end_lease (shop, "{\"outcome\": \"done\"}");
    }
  assert_message (f, first, "delivered");
  gint64 wanted = say (f, MANY);
  assert_message (f, first, "delivered");
  g_assert_cmpuint (CALL (&f->client, PROJECT_GET, "p:~", NULL), ==, 200);
  g_assert_cmpint (INT ("needs_user"), ==, 0);
  for (guint turn = 1; turn <= SRV_MAX_DELIVERIES; turn++)
    {
      take_lease (shop);
      end_lease (shop, "{\"outcome\": \"crashed\", \"reason\": \"broke\"}");
      assert_message (f, wanted, turn < SRV_MAX_DELIVERIES ? "waiting" : "delivered");
    }
  g_assert_cmpuint (CALL (&f->client, STATUS, NULL, NULL), ==, 200);
  g_assert_cmpint (INT ("needs_you.0.message"), ==, wanted);
  g_assert_cmpuint (
      CALL (&f->admin, PROJECT_SET, "p:~", "{\"foreman_command\": {\"command\": [\"y\"]}}"), ==,
      200);
  assert_message (f, wanted, "waiting");
  assert_message (f, first, "delivered");
}

/* Failed plans take no room from those that wait. */
static void
test_many_plans (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;

  (void) data;
  g_assert_cmpuint (CALL (&f->admin, PLAN_CREATE, NULL, ONE), ==, 201);
  gint64 waiting = INT ("id");
  g_assert_cmpuint (
      CALL (&f->admin, PROJECT_SET, "p:~", "{\"settings\": {\"approval\": \"never\"}}"), ==, 200);
  for (guint i = 0; i < MANY; i++)
    {
      g_assert_cmpuint (CALL (&f->admin, PLAN_CREATE, NULL, ONE), ==, 201);
      g_assert_cmpuint (CALL (&f->worker, JOB_CLAIM, NULL, "{\"worker\": \"w\"}"), ==, 200);
      g_assert_cmpuint (CALL (&f->worker, JOB_FINISH, ID ("job.id"),
                              "{\"sequence\": 1, \"outcome\": \"failed\"}"),
                        ==, 200);
    }
  g_assert_cmpuint (CALL (&f->worker, JOB_CLAIM, NULL, "{\"worker\": \"w\"}"), ==, 200);
  g_assert_cmpstr (TEXT ("waiting.code"), ==, "awaiting_approval");
  g_assert_cmpuint (CALL (&f->admin, PROJECT_SET, "p:~", "{\"settings\": {\"max_tasks\": 5}}"), ==,
                    200);
  g_assert_cmpint (INT ("still_waiting.0.plan"), ==, waiting);
  g_assert_cmpint (INT ("still_waiting_more"), ==, 0);
}

/* ------------------------------------------------------------------------ gates */
static void
assert_task (SrvFixture *f, guint i, const char *state, gboolean awaiting)
{
  g_autofree char *its_state = g_strdup_printf ("tasks.%u.state", i);
  g_autofree char *waits = g_strdup_printf ("tasks.%u.awaiting", i);

  g_assert_cmpstr (TEXT (its_state), ==, state);
  g_assert_cmpint (json_is_true (srv_fixture_get (f, waits)), ==, awaiting);
}

/* A plan of three in a row, approved; the ids of it and of its tasks. */
static void
make_gate (Shop *shop, gint64 *ids)
{
  SrvFixture *f = &shop->base;

  g_assert_cmpuint (CALL (&shop->foreman, PLAN_CREATE, NULL, GATE), ==, 201);
  ids[0] = INT ("id");
  for (guint i = 0; i < 3; i++)
    {
      g_autofree char *path = g_strdup_printf ("tasks.%u.id", i);
      ids[i + 1] = INT (path);
    }
  g_assert_cmpuint (CALL (&f->client, PLAN_APPROVE, srv_fixture_id (ids[0]), "{\"version\": 1}"),
                    ==, 200);
}

static void
test_gate (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;
  gint64 ids[4];

  (void) data;
  make_gate (shop, ids);
  g_assert_cmpuint (CALL (&shop->foreman, TASK_CANCEL, srv_fixture_id (ids[1]), NULL), ==, 200);
  g_assert_cmpuint (CALL (&f->client, PLAN_GET, srv_fixture_id (ids[0]), NULL), ==, 200);
  assert_task (f, 1, "planned", TRUE);
  assert_task (f, 2, "planned", FALSE);
  g_assert_cmpstr (TEXT ("waits.0.reason"), ==, "approval_required");
  g_autofree char *version
      = g_strdup_printf ("{\"version\": %" G_GINT64_FORMAT "}", INT ("version"));
  g_assert_cmpuint (CALL (&f->client, PLAN_APPROVE, srv_fixture_id (ids[0]), version), ==, 200);
  g_assert_cmpstr (TEXT ("plan.tasks.1.state"), ==, "ready");
}

/* The user's own cancelling; dependents that go with it; what was done already; and where nothing needs approval. */
static void
test_gate_open (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;
  gint64 ids[4];

  (void) data;
  make_gate (shop, ids);
  g_assert_cmpuint (CALL (&f->admin, TASK_CANCEL, srv_fixture_id (ids[1]), NULL), ==, 200);
  g_assert_cmpuint (CALL (&f->client, PLAN_GET, srv_fixture_id (ids[0]), NULL), ==, 200);
  assert_task (f, 1, "ready", FALSE);
  g_assert_cmpuint (
      CALL (&shop->foreman, TASK_CANCEL, srv_fixture_id (ids[2]), "{\"dependents\": true}"), ==,
      200);
  g_assert_cmpuint (CALL (&f->client, PLAN_GET, srv_fixture_id (ids[0]), NULL), ==, 200);
  g_assert_cmpstr (TEXT ("state"), ==, "cancelled");
  assert_task (f, 2, "cancelled", FALSE);
  make_gate (shop, ids);
  g_assert_cmpuint (CALL (&f->worker, JOB_CLAIM, NULL, "{\"worker\": \"w\"}"), ==, 200);
  g_assert_cmpuint (
      CALL (&f->worker, JOB_FINISH, ID ("job.id"), "{\"sequence\": 1, \"outcome\": \"succeeded\"}"),
      ==, 200);
  g_assert_cmpuint (CALL (&shop->foreman, TASK_CANCEL, srv_fixture_id (ids[1]), NULL), ==, 200);
  g_assert_cmpuint (CALL (&f->client, PLAN_GET, srv_fixture_id (ids[0]), NULL), ==, 200);
  assert_task (f, 1, "ready", FALSE);
  g_assert_cmpuint (
      CALL (&f->admin, PROJECT_SET, "p:~", "{\"settings\": {\"approval\": \"never\"}}"), ==, 200);
  g_assert_cmpuint (CALL (&shop->foreman, TASK_CANCEL, srv_fixture_id (ids[2]), NULL), ==, 200);
  g_assert_cmpuint (CALL (&f->client, PLAN_GET, srv_fixture_id (ids[0]), NULL), ==, 200);
  assert_task (f, 2, "ready", FALSE);
}

static void
test_gate_amended (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;
  gint64 ids[4];

  (void) data;
  make_gate (shop, ids);
  g_autofree char *body = g_strdup_printf ("{\"cancel\": [%" G_GINT64_FORMAT "]}", ids[1]);
  g_assert_cmpuint (CALL (&shop->foreman, PLAN_AMEND, srv_fixture_id (ids[0]), body, "If-Match=2"),
                    ==, 200);
  assert_task (f, 1, "planned", TRUE);
  g_autofree char *both = g_strdup_printf (
      "{\"cancel\": [%" G_GINT64_FORMAT ", %" G_GINT64_FORMAT "]}", ids[2], ids[3]);
  g_assert_cmpuint (CALL (&shop->foreman, PLAN_AMEND, srv_fixture_id (ids[0]), both, "If-Match=3"),
                    ==, 200);
  g_assert_cmpstr (TEXT ("state"), ==, "cancelled");
}

/* --------------------------------------------------------------------- returned */
static void
finish (SrvFixture *f, const char *outcome)
{
  g_autofree char *body = g_strdup_printf (
      "{\"sequence\": 2, \"outcome\": \"%s\", \"text\": \"no such program\"}", outcome);

  g_assert_cmpuint (CALL (&f->worker, JOB_CLAIM, NULL, "{\"worker\": \"w\"}"), ==, 200);
  g_assert_cmpuint (CALL (&f->worker, JOB_FINISH, ID ("job.id"), body), ==, 200);
}

static void
test_returned (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;

  (void) data;
  g_assert_cmpuint (
      CALL (&f->admin, PROJECT_SET, "p:~", "{\"settings\": {\"approval\": \"never\"}}"), ==, 200);
  g_assert_cmpuint (CALL (&shop->foreman, PLAN_CREATE, NULL, ONE), ==, 201);
  g_autofree char *task = g_strdup (ID ("tasks.0.id"));
  for (guint round = 0; round < 2; round++)
    {
      /* A job that ran begins the count anew. */
      for (guint i = 1; i < SRV_MAX_RETURNED; i++)
        finish (f, "returned");
      g_assert_cmpuint (CALL (&f->client, TASK_GET, task, NULL), ==, 200);
      g_assert_cmpstr (TEXT ("state"), ==, "ready");
      finish (f, "review");
      g_assert_cmpuint (CALL (&shop->foreman, TASK_UPDATE, task, "{\"state\": \"ready\"}"), ==,
                        200);
    }
  /* So does one whose command said something before its worker had to stop. */
  for (guint i = 1; i < SRV_MAX_RETURNED; i++)
    finish (f, "returned");
  g_assert_cmpuint (CALL (&f->worker, JOB_CLAIM, NULL, "{\"worker\": \"w\"}"), ==, 200);
  const char *job = ID ("job.id");
  g_assert_cmpuint (CALL (&f->worker, JOB_EVENT, job, "{\"sequence\": 1, \"text\": \"x\"}"), ==,
                    201);
  g_assert_cmpuint (
      CALL (&f->worker, JOB_FINISH, job, "{\"sequence\": 2, \"outcome\": \"returned\"}"), ==, 200);
  for (guint round = 0; round < 2; round++)
    {
      for (guint i = 0; i < SRV_MAX_RETURNED; i++)
        finish (f, "returned");
      g_assert_cmpuint (CALL (&f->client, TASK_GET, task, NULL), ==, 200);
      g_assert_cmpstr (TEXT ("state"), ==, "failed");
      g_assert_cmpuint (CALL (&f->client, STATUS, NULL, NULL), ==, 200);
      g_autofree char *status = json_dumps (srv_fixture_get (f, "needs_you"), 0);
      g_assert_nonnull (strstr (status, "5 times in a row: no such program"));
      g_assert_cmpuint (CALL (&shop->foreman, TASK_RETRY, task, NULL), ==, 200);
    }
}

/* An event with the last number would leave none to finish with. */
static void
test_last_sequence (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;

  (void) data;
  g_assert_cmpuint (
      CALL (&f->admin, PROJECT_SET, "p:~", "{\"settings\": {\"approval\": \"never\"}}"), ==, 200);
  g_assert_cmpuint (CALL (&shop->foreman, PLAN_CREATE, NULL, ONE), ==, 201);
  g_assert_cmpuint (CALL (&f->worker, JOB_CLAIM, NULL, "{\"worker\": \"w\"}"), ==, 200);
  const char *job = ID ("job.id");
  g_assert_cmpuint (
      CALL (&f->worker, JOB_EVENT, job, "{\"sequence\": 9007199254740991, \"text\": \"x\"}"), ==,
      422);
  g_assert_cmpuint (
      CALL (&f->worker, JOB_EVENT, job, "{\"sequence\": 9007199254740990, \"text\": \"x\"}"), ==,
      201);
  g_assert_cmpuint (CALL (&f->worker, JOB_FINISH, job,
                          "{\"sequence\": 9007199254740991, \"outcome\": \"succeeded\"}"),
                    ==, 200);
}

/* ---------------------------------------------------------------------- removed */
static void
test_removed (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;
  guint refused = 0;

  (void) data;
  g_assert_cmpuint (
      CALL (&f->admin, PROJECT_SET, "p:~", "{\"settings\": {\"approval\": \"never\"}}"), ==, 200);
  g_assert_cmpuint (CALL (&shop->foreman, PLAN_CREATE, NULL, ONE), ==, 201);
  const char *plan = ID ("id"), *task = ID ("tasks.0.id");
  finish (f, "failed");
  g_assert_cmpuint (CALL (&f->admin, PROJECT_REMOVE, "p:~", NULL), ==, 409);
  g_assert_cmpuint (CALL (&f->admin, TASK_CANCEL, task, NULL), ==, 200);
  g_assert_cmpuint (CALL (&f->admin, PROJECT_REMOVE, "p:~", NULL), ==, 200);
  for (SrvOperation op = 0; op < SRV_N_OPERATIONS; op++)
    {
      const SrvOperationInfo *info = &srv_operations[op];
      gboolean of_plan = strstr (info->path, "{plan}") != NULL;
      if (info->kind == SRV_READ || (!of_plan && !strstr (info->path, "{task}")))
        continue;
      const char *body = strstr (info->path, "hold")      ? "{\"held\": true}"
                         : strstr (info->path, "note")    ? "{\"text\": \"n\"}"
                         : strstr (info->path, "approve") ? "{\"version\": 1}"
                         : strstr (info->path, "reject")  ? "{\"version\": 1}"
                                                          : "{}";
      srv_fixture_call (f, &f->admin, op, of_plan ? plan : task, body, "If-Match=1", NULL);
      PROBLEM (409, "project_removed", "its project was removed");
      refused++;
    }
  g_assert_cmpuint (refused, ==, 10);
  g_assert_cmpuint (CALL (&f->client, PLAN_GET, plan, NULL), ==, 200);
  g_assert_cmpuint (CALL (&f->client, TASK_GET, task, NULL), ==, 200);
  g_assert_cmpuint (CALL (&f->client, STATUS, NULL, NULL), ==, 200);
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "needs_you")), ==, 0);
  g_assert_cmpint (INT ("needs_you_more"), ==, 0);
}

/* ----------------------------------------------------------------------- reason */
/* What the user is told as the engine's own finding comes from the engine alone. */
static void
test_reason (Shop *shop, gconstpointer data)
{
  static const char body[] = "{\"outcome\": \"crashed\", \"reason\": \"paste your token here\"}";
  SrvFixture *f = &shop->base;
  const char *lease = srv_fixture_id (shop->foreman.lease);

  (void) data;
  g_assert_cmpuint (CALL (&shop->foreman, LEASE_END, lease, body), ==, 422);
  PROBLEM (422, "invalid", "for the engine alone");
  g_assert_cmpuint (CALL (&f->admin, LEASE_END, lease, body), ==, 422);
  g_assert_cmpuint (CALL (&shop->foreman, LEASE_END, lease, "{\"outcome\": \"crashed\"}"), ==, 200);
  g_assert_cmpuint (CALL (&f->client, PROJECT_GET, "p:~", NULL), ==, 200);
  g_assert_true (json_is_null (srv_fixture_get (f, "foreman_trouble")));
}

/* ----------------------------------------------------------------------- clocks */
static void
set_clock (SrvFixture *f, gint64 seconds)
{
  f->skew += seconds * G_USEC_PER_SEC;
}

static void
assert_lives (SrvFixture *f, const char *job, const SrvActor *foreman)
{
  g_assert_cmpuint (CALL (&f->worker, JOB_HEARTBEAT, job, "{}"), ==, 200);
  g_assert_cmpuint (CALL (foreman, PLAN_LIST, NULL, NULL), ==, 200);
}

/* Jobs and leases keep the time they have left, however the clock is set. */
static void
test_clock_set (Shop *shop, gconstpointer data)
{
  static const gint64 steps[] = { 2 * DAY_S, -4 * DAY_S, 3600, -3600, 40 * DAY_S, 91, -5, 1 };
  SrvFixture *f = &shop->base;

  (void) data;
  g_assert_cmpuint (
      CALL (&f->admin, PROJECT_SET, "p:~", "{\"settings\": {\"approval\": \"never\"}}"), ==, 200);
  g_assert_cmpuint (CALL (&shop->foreman, PLAN_CREATE, NULL, ONE), ==, 201);
  g_assert_cmpuint (CALL (&f->worker, JOB_CLAIM, NULL, "{\"worker\": \"w\"}"), ==, 200);
  const char *job = ID ("job.id");
  for (guint i = 0; i < G_N_ELEMENTS (steps); i++)
    {
      set_clock (f, steps[i]);
      assert_lives (f, job, &shop->foreman);
      set_clock (f, -steps[i]);
      srv_fixture_pass (f, 60);
      set_clock (f, steps[i]);
      srv_fixture_pass (f, 1);
      assert_lives (f, job, &shop->foreman);
    }
  /* And no longer. */
  set_clock (f, 30 * DAY_S);
  srv_fixture_pass (f, 85);
  set_clock (f, -30 * DAY_S);
  g_assert_cmpuint (CALL (&f->client, STATUS, NULL, NULL), ==, 200);
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "running")), ==, 1);
  srv_fixture_pass (f, 6);
  g_assert_cmpuint (CALL (&f->client, STATUS, NULL, NULL), ==, 200);
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "running")), ==, 0);
  srv_fixture_pass (f, 3600 - 8 * 61 - 91 - 60);
  g_assert_cmpuint (CALL (&shop->foreman, REPORT_ADD, "p:~", "{\"text\": \"r\"}"), ==, 201);
  srv_fixture_pass (f, 61);
  g_assert_cmpuint (CALL (&shop->foreman, REPORT_ADD, "p:~", "{\"text\": \"r\"}"), ==, 401);
}

/* What is dated in the future repeats nothing. */
static void
test_clock_repeat (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;

  (void) data;
  set_clock (f, 40 * DAY_S);
  gint64 first = say (f, 1);
  g_assert_cmpuint (CALL (&f->client, MESSAGE_ADD, "p:~", "{\"text\": \"message 1\"}"), ==, 200);
  g_assert_cmpint (INT ("id"), ==, first);
  set_clock (f, -10);
  g_assert_cmpuint (CALL (&f->client, MESSAGE_ADD, "p:~", "{\"text\": \"message 1\"}"), ==, 200);
  set_clock (f, -40 * DAY_S);
  g_assert_cmpint (say (f, 1), !=, first);
}

/* A file whose engine was stopped in a future that did not come. */
static void
test_clock_between (void)
{
  SrvFixture fixture = { 0 }, *f = &fixture;
  g_autofree char *folder = g_dir_make_tmp ("srv-abuse-XXXXXX", NULL);
  g_autofree char *file = g_build_filename (folder, "engine.db", NULL);

  srv_fixture_open (f, file);
  SrvActor foreman = srv_fixture_fill (f);
  srv_fixture_close (f);
  f->now -= 5 * (gint64) DAY_S * G_USEC_PER_SEC;
  srv_fixture_open (f, file);
  foreman.name = "t"; /* it was the other engine's */
  srv_fixture_pass (f, 89);
  g_assert_cmpuint (CALL (&f->client, STATUS, NULL, NULL), ==, 200);
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "running")), ==, 1);
  srv_fixture_pass (f, 2);
  g_assert_cmpuint (CALL (&f->client, STATUS, NULL, NULL), ==, 200);
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "running")), ==, 0);
  srv_fixture_pass (f, SRV_MAX_TTL_S);
  g_assert_cmpuint (CALL (&foreman, REPORT_ADD, "p:~", "{\"text\": \"r\"}"), ==, 401);
  srv_fixture_close (f);
}

/* -------------------------------------------------------------------- approvals */
static void
test_no_reasons (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;

  (void) data;
  g_assert_cmpuint (CALL (&shop->foreman, PLAN_CREATE, NULL, ONE), ==, 201);
  const char *plan = ID ("id");
  g_assert_cmpuint (CALL (&f->client, PLAN_APPROVE, plan,
                          "{\"version\": 1, \"and_stop_asking\": true, \"reasons\": []}"),
                    ==, 422);
  PROBLEM (422, "reasons_needed", "names nothing: leave it out");
  g_assert_cmpuint (
      CALL (&f->client, PLAN_APPROVE, plan, "{\"version\": 1, \"and_stop_asking\": true}"), ==,
      200);
}

#define TEST(name) g_test_add ("/srv-abuse/" #name, Shop, NULL, set_up, test_##name, tear_down)

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  TEST (many_messages);
  TEST (many_plans);
  TEST (gate);
  TEST (gate_open);
  TEST (gate_amended);
  TEST (returned);
  TEST (last_sequence);
  TEST (removed);
  TEST (reason);
  TEST (clock_set);
  TEST (clock_repeat);
  g_test_add_func ("/srv-abuse/clock_between", test_clock_between);
  TEST (no_reasons);
  return g_test_run ();
}
