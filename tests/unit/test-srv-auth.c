/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "srv-auth.h"
#include "srv-fixture.h"
#include "srv-secret.h"

#include <string.h>

static const SrvRole all_roles[]
    = { SRV_ROLE_ADMIN, SRV_ROLE_CLIENT, SRV_ROLE_FOREMAN, SRV_ROLE_WORKER };

static void
assert_problem (SrvReply *reply, guint status, const char *code)
{
  g_assert_nonnull (reply);
  g_assert_cmpuint (reply->status, ==, status);
  g_assert_cmpstr (json_string_value (json_object_get (reply->body, "code")), ==, code);
  g_assert_true (json_is_false (json_object_get (reply->body, "retry_will_succeed")));
  g_assert_cmpuint (json_array_size (json_object_get (reply->body, "requires")), >, 0);
  srv_reply_free (reply);
}

/* What each role may, said once more, in words and by hand: a slip in the table shows here. */
static const char *const client_may
    = " STATUS TIMELINE EVENTS PROJECT_LIST PROJECT_GET PROJECT_HOLD MESSAGE_ADD MESSAGE_LIST "
      "QUESTION_ANSWER PLAN_LIST PLAN_GET PLAN_APPROVE PLAN_REJECT PLAN_HOLD TASK_GET TASK_HOLD ";
static const char *const foreman_may
    = " STATUS TIMELINE EVENTS PROJECT_LIST PROJECT_GET PROJECT_HOLD MESSAGE_LIST MESSAGE_ANSWER "
      "REPORT_ADD QUESTION_ADD LEASE_RENEW LEASE_END PLAN_CREATE PLAN_LIST PLAN_GET PLAN_AMEND "
      "PLAN_HOLD TASK_ADD TASK_GET TASK_UPDATE TASK_CANCEL TASK_RETRY TASK_NOTE TASK_HOLD ";
static const char *const worker_may = " JOB_CLAIM JOB_EVENT JOB_HEARTBEAT JOB_FINISH ";

static gboolean
may_by_hand (SrvOperation operation, SrvRole role)
{
  g_autofree char *word = g_strdup_printf (" %s ", srv_operations[operation].name);

  if (role == SRV_ROLE_ADMIN || operation == SRV_OP_HEALTH || operation == SRV_OP_OPENAPI)
    return TRUE;
  return strstr (role == SRV_ROLE_CLIENT    ? client_may
                 : role == SRV_ROLE_FOREMAN ? foreman_may
                                            : worker_may,
                 word)
         != NULL;
}

static void
test_table (void)
{
  for (guint i = 0; i < SRV_N_OPERATIONS; i++)
    for (guint r = 0; r < G_N_ELEMENTS (all_roles); r++)
      {
        SrvOperation operation = (SrvOperation) i;
        const SrvActor actor = { .role = all_roles[r], .project = 7, .token = 1 };
        const SrvRoute route = { .operation = operation };
        gboolean may = may_by_hand (operation, all_roles[r]);

        g_test_message ("%s as %s", srv_operations[i].name, srv_auth_role_name (all_roles[r]));
        g_assert_true (srv_auth_role_may (operation, all_roles[r]) == may);
        if (may)
          g_assert_null (srv_auth_judge (&actor, &route));
        else
          assert_problem (srv_auth_judge (&actor, &route), 403, "wrong_role");
      }
}

static void
test_project (void)
{
  const SrvActor foreman = { .role = SRV_ROLE_FOREMAN, .project = 7 };
  const SrvActor client = { .role = SRV_ROLE_CLIENT };
  g_auto (SrvRoute) route = { 0 };

  g_assert_null (srv_route_find ("GET", "/v1/projects/8", &route));
  assert_problem (srv_auth_judge (&foreman, &route), 403, "wrong_project");
  g_assert_null (srv_auth_judge (&client, &route));
  srv_route_clear (&route);
  g_assert_null (srv_route_find ("GET", "/v1/projects/7", &route));
  g_assert_null (srv_auth_judge (&foreman, &route));
  srv_route_clear (&route);
  g_assert_null (srv_route_find ("GET", "/v1/status", &route));
  g_assert_null (srv_route_query (&route, "project=8"));
  assert_problem (srv_auth_judge (&foreman, &route), 403, "wrong_project");
}

static void
test_bearer (void)
{
  g_autofree char *secret = g_strnfill (SRV_SECRET_LENGTH, 'a');
  g_autofree char *good = g_strconcat ("bEARER  ", secret, NULL);
  g_autofree char *longer = g_strconcat ("Bearer ", secret, "a", NULL);
  g_autofree char *two = g_strconcat ("Bearer ", secret, ", Bearer ", secret, NULL);
  g_autofree char *basic = g_strconcat ("Basic ", secret, NULL);

  g_assert_cmpstr (srv_auth_bearer (good), ==, secret);
  g_assert_null (srv_auth_bearer (NULL));
  g_assert_null (srv_auth_bearer (""));
  g_assert_null (srv_auth_bearer ("Bearer"));
  g_assert_null (srv_auth_bearer ("Bearer abc"));
  g_assert_null (srv_auth_bearer (longer));
  g_assert_null (srv_auth_bearer (two));
  g_assert_null (srv_auth_bearer (basic));
  g_assert_null (srv_auth_bearer (secret));
}

/* With an engine: tokens that live, were revoked, and whose lease ended. */
static void
test_tokens (void)
{
  SrvFixture fixture = { 0 };
  g_auto (SrvRoute) route = { 0 };
  g_autofree char *client = NULL;
  g_autofree char *foreman = NULL;
  g_autofree char *forged = g_strnfill (SRV_SECRET_LENGTH, 'A');
  g_autofree char *forged_header = g_strconcat ("Bearer ", forged, NULL);
  SrvActor actor;
  gint64 id;

  srv_fixture_open (&fixture, NULL);
  g_assert_null (srv_route_find ("GET", "/v1/status", &route));
  g_assert_cmpuint (srv_fixture_call (&fixture, &fixture.admin, SRV_OP_TOKEN_NEW, NULL,
                                      "{\"role\":\"client\",\"name\":\"me\"}", NULL),
                    ==, 201);
  client = g_strconcat ("Bearer ", srv_fixture_text (&fixture, "token"), NULL);
  id = srv_fixture_int (&fixture, "id");
  g_assert_null (srv_auth_check (fixture.engine, client, &route, &actor));
  g_assert_cmpint (actor.role, ==, SRV_ROLE_CLIENT);
  g_assert_cmpstr (actor.name, ==, "me");
  srv_fixture_call (&fixture, &fixture.admin, SRV_OP_TOKEN_REVOKE, srv_fixture_id (id), NULL, NULL);
  assert_problem (srv_auth_check (fixture.engine, client, &route, &actor), 401, "token_revoked");
  assert_problem (srv_auth_check (fixture.engine, forged_header, &route, &actor), 401,
                  "token_unknown");
  assert_problem (srv_auth_check (fixture.engine, "Bearer x", &route, &actor), 401,
                  "token_unknown");
  assert_problem (srv_auth_check (fixture.engine, NULL, &route, &actor), 401, "token_missing");
  srv_fixture_call (&fixture, &fixture.admin, SRV_OP_PROJECT_ADD, NULL,
                    "{\"repo_url\":\"https://h/a/b\"}", NULL);
  srv_fixture_call (&fixture, &fixture.admin, SRV_OP_LEASE_TAKE, "p:~", "{\"holder\":\"turn\"}",
                    NULL);
  foreman = g_strconcat ("Bearer ", srv_fixture_text (&fixture, "token"), NULL);
  id = srv_fixture_int (&fixture, "id");
  g_assert_null (srv_auth_check (fixture.engine, foreman, &route, &actor));
  g_assert_cmpint (actor.role, ==, SRV_ROLE_FOREMAN);
  srv_fixture_call (&fixture, &fixture.admin, SRV_OP_LEASE_END, srv_fixture_id (id), NULL, NULL);
  assert_problem (srv_auth_check (fixture.engine, foreman, &route, &actor), 401, "lease_ended");
  srv_route_clear (&route);
  g_assert_null (srv_route_find ("GET", "/v1/health", &route));
  g_assert_null (srv_auth_check (fixture.engine, NULL, &route, &actor));
  srv_fixture_close (&fixture);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/srv-auth/table", test_table);
  g_test_add_func ("/srv-auth/project", test_project);
  g_test_add_func ("/srv-auth/bearer", test_bearer);
  g_test_add_func ("/srv-auth/tokens", test_tokens);
  return g_test_run ();
}
