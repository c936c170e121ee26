/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who did it: every event of a whole story has the actor whose doing it is, whoever's request it was written in; and
 * the project by its name.
 */
#include "config.h"

#include "srv-fixture.h"

#include <string.h>

#define CALL(actor, op, target, ...) \
  srv_fixture_call (f, actor, SRV_OP_##op, target, __VA_ARGS__, NULL)
#define DO(status, ...) g_assert_cmpuint (CALL (__VA_ARGS__), ==, status)
#define TEXT(path) srv_fixture_text (f, path)
#define INT(path) srv_fixture_int (f, path)

/* The shop's host: no turn can start on it. */
static char *
turn_problem (const json_t *foreman, const char *checkout, gpointer data)
{
  (void) foreman, (void) checkout, (void) data;
  return g_strdup ("the model \"claud\" is not known; did you mean claude?");
}

static char *
checkout_problem (const char *checkout, gpointer data G_GNUC_UNUSED)
{
  (void) checkout;
  return NULL;
}

static GPtrArray *
foreman_problems (const json_t *foreman)
{
  (void) foreman;
  return g_ptr_array_new ();
}

static const SrvWorld world = { .checkout_problem = checkout_problem,
                                .foreman_problems = foreman_problems,
                                .turn_problem = turn_problem };

static void
finish (SrvFixture *f, const char *outcome)
{
  DO (200, &f->worker, JOB_CLAIM, NULL, "{\"worker\": \"w\"}");
  g_autofree char *body = g_strdup_printf ("{\"sequence\": 1, \"outcome\": \"%s\"}", outcome);
  DO (200, &f->worker, JOB_FINISH, srv_fixture_id (INT ("job.id")), body);
}

static gint64
plan (SrvFixture *f, const SrvActor *foreman, const char *tasks)
{
  g_autofree char *body = g_strdup_printf ("{\"title\": \"P\", \"tasks\": [%s]}", tasks);

  DO (201, foreman, PLAN_CREATE, NULL, body);
  return INT ("id");
}

#define TASK(title) "{\"title\": \"" title "\", \"brief\": \"b\"}"
#define AFTER(title, before) \
  "{\"title\": \"" title "\", \"brief\": \"b\", \"depends_on\": [\"" before "\"]}"

/* A message that wakes nobody, three plans: one done, one failed and cancelled, one rejected; a worker and a foreman
 * that are heard no more. */
static void
play (SrvFixture *f)
{
  DO (201, &f->admin, PROJECT_ADD, NULL,
      "{\"repo_url\": \"https://example.org/o/shop\", \"checkout\": \"/shop\", "
      "\"foreman_command\": "
      "{\"command\": [\"x\"]}}");
  DO (201, &f->client, MESSAGE_ADD, "p:~", "{\"text\": \"hello\"}");
  DO (201, &f->admin, LEASE_TAKE, "p:~", "{\"holder\": \"me\", \"ttl\": 60}");
  SrvActor foreman = srv_fixture_foreman (f);
  const char *one = srv_fixture_id (plan (f, &foreman, TASK ("a") ", " AFTER ("b", "a")));
  const char *two = srv_fixture_id (plan (f, &foreman, TASK ("c")));
  const char *three = srv_fixture_id (plan (f, &foreman, TASK ("d")));
  DO (200, &f->client, PLAN_APPROVE, one, "{\"version\": 1}");
  finish (f, "succeeded");
  finish (f, "succeeded");
  DO (200, &f->client, PLAN_APPROVE, two, "{\"version\": 1}");
  finish (f, "failed");
  DO (200, &f->admin, PLAN_GET, two, NULL);
  const char *task = srv_fixture_id (INT ("tasks.0.id"));
  DO (200, &foreman, TASK_RETRY, task, NULL);
  DO (200, &f->worker, JOB_CLAIM, NULL, "{\"worker\": \"w\"}");
  srv_fixture_pass (f, 100); /* the job is lost, the lease has expired */
  DO (200, &f->admin, TASK_CANCEL, task, "{}");
  DO (200, &f->client, PLAN_REJECT, three, "{\"version\": 1, \"reason\": \"no\"}");
}

/* Kinds that this story has, and whose they are; "*": several, looked at by their text. */
static const struct
{
  const char *kind, *role;
} doers[] = {
  { "project.added", "admin" },   { "message.sent", "*" },       { "turn.crashed", "engine" },
  { "lease.taken", "admin" },     { "plan.created", "foreman" }, { "plan.approved", "user" },
  { "task.ready", "engine" },     { "job.started", "worker" },   { "job.finished", "worker" },
  { "task.done", "worker" },      { "plan.done", "engine" },     { "task.failed", "worker" },
  { "plan.failed", "engine" },    { "task.retried", "foreman" }, { "plan.active", "engine" },
  { "job.lost", "engine" },       { "lease.expired", "engine" }, { "task.cancelled", "*" },
  { "plan.cancelled", "engine" }, { "plan.rejected", "user" },
};

static const char *
doer_of (const char *kind, const char *text)
{
  for (guint i = 0; i < G_N_ELEMENTS (doers); i++)
    if (strcmp (doers[i].kind, kind) == 0 && *doers[i].role != '*')
      return doers[i].role;
  if (strcmp (kind, "message.sent") == 0)
    return strcmp (text, "hello") == 0 ? "user" : "engine";
  return strcmp (kind, "task.cancelled") == 0 ? NULL : "a role for it in this test";
}

static void
test_doers (void)
{
  SrvFixture fixture = { .world = &world }, *f = &fixture;
  g_autoptr (GHashTable) seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  gsize at;
  json_t *event;

  srv_fixture_open (f, NULL);
  play (f);
  DO (200, &f->client, TIMELINE, NULL, NULL, "limit=500");
  json_array_foreach (srv_fixture_get (f, "items"), at, event)
  {
    const char *kind = json_string_value (json_object_get (event, "kind"));
    const char *text = json_string_value (json_object_get (event, "text"));
    json_t *actor = json_object_get (event, "actor");
    const char *role = doer_of (kind, text);
    if (g_str_has_prefix (kind, "token."))
      continue;
    g_hash_table_add (seen, g_strdup (kind));
    g_test_message ("%s by %s: %s", kind, json_string_value (json_object_get (actor, "role")),
                    text);
    if (role)
      g_assert_cmpstr (json_string_value (json_object_get (actor, "role")), ==, role);
    g_assert_cmpstr (json_string_value (json_object_get (event, "project_name")), ==, "shop");
    if (strcmp (kind, "turn.crashed") != 0)
      continue;
    g_assert_cmpstr (json_string_value (json_object_get (actor, "name")), ==, "runner");
    /* What ends a sentence by itself gets no full stop. */
    g_assert_cmpstr (text, ==,
                     "The foreman can't start: the model \"claud\" is not known; did you mean "
                     "claude?");
  }
  for (guint i = 0; i < G_N_ELEMENTS (doers); i++)
    if (!g_hash_table_contains (seen, doers[i].kind))
      g_error ("the story has no %s", doers[i].kind);
  srv_fixture_close (f);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/srv-events/doers", test_doers);
  return g_test_run ();
}
