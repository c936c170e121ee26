/* SPDX-License-Identifier: Apache-2.0 */
/* test-claim: a job and the lack of one are known; each thing that a worker uses, missing or of another kind, makes neither. */
#include "config.h"

#include "srv-claim.h"

#include <jansson.h>
#include <string.h>

static const char job[] = "{\"job\":{\"id\":5,\"heartbeat_seconds\":20},\"task\":{\"id\":1,"
                          "\"title\":\"t\",\"brief\":\"b\",\"paths\":[\"src/**\"],"
                          "\"branch\":null,\"notes\":[{\"text\":\"n\"}]},\"plan\":{\"id\":2,"
                          "\"title\":\"p\",\"summary\":null},"
                          "\"project\":{\"id\":3,\"name\":\"shop\",\"repo_url\":\"https://"
                          "git.example/a/shop\",\"checkout\":\"/x\"}}";

static SrvClaim
judge (const char *text)
{
  g_autoptr (DbrJsonDoc) doc = dbr_json_doc_new_from_data (text, -1, NULL, NULL);
  g_assert_nonnull (doc);
  return srv_claim_judge (dbr_json_doc_root (doc));
}

static void
test_whole (void)
{
  g_assert_cmpint (judge (job), ==, SRV_CLAIM_JOB);
  g_assert_cmpint (judge ("{\"job\":null,\"waiting\":{\"code\":\"held\",\"text\":\"why\"}}"), ==,
                   SRV_CLAIM_NOTHING);
  static const char *const strange[] = { "{}",
                                         "null",
                                         "[1]",
                                         "7",
                                         "\"job\"",
                                         "{\"job\":null}",
                                         "{\"waiting\":{\"code\":\"held\",\"text\":\"why\"}}",
                                         "{\"job\":null,\"waiting\":{\"code\":\"held\"}}",
                                         "{\"job\":null,\"waiting\":{\"code\":1,\"text\":\"why\"}}",
                                         "{\"job\":null,\"waiting\":\"why\"}" };
  for (gsize i = 0; i < G_N_ELEMENTS (strange); i++)
    g_assert_cmpint (judge (strange[i]), ==, SRV_CLAIM_STRANGE);
}

/* The job's document with one member as @value says; NULL: left out. */
static SrvClaim
judge_changed (const char *object, const char *member, const char *value)
{
  json_auto_t *root = json_loads (job, 0, NULL);
  json_t *holder = json_object_get (root, object);
  if (value != NULL)
    json_object_set_new (holder, member,
                         json_loads (value, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL));
  else
    json_object_del (holder, member);
  char *text = json_dumps (root, 0);
  SrvClaim claim = judge (text);
  free (text);
  return claim;
}

static void
test_members (void)
{
  static const struct
  {
    const char *object;
    const char *member;
    gboolean may_be_null;
    const char *wrong[5];
  } cases[] = {
    { "job", "id", FALSE, { "0", "-1", "\"5\"", "1.5", "1e30" } },
    { "job", "heartbeat_seconds", FALSE, { "-1", "86401", "\"20\"", "[]", "{}" } },
    { "task", "id", FALSE, { "0", "-5", "\"1\"", "[]", "{}" } },
    { "task", "title", FALSE, { "7", "[]", "{}", "true", "\"a\\u0000b=c\"" } },
    { "task", "brief", FALSE, { "7", "[]", "{}", "true", "\"a\\u0000b\"" } },
    { "task", "branch", TRUE, { "7", "[]", "{}", "true", "\"\\u0000\"" } },
    { "task", "paths", FALSE, { "7", "\"x\"", "{}", "[1]", "[\"a\",null]" } },
    { "task", "notes", FALSE, { "7", "\"x\"", "[\"n\"]", "[{}]", "[{\"text\":1}]" } },
    { "plan", "id", FALSE, { "0", "\"x\"", "[]", "true", "-1" } },
    { "project", "id", FALSE, { "0", "\"x\"", "[]", "true", "-1" } },
    { "project", "name", FALSE, { "0", "[]", "{}", "true", "\"a\\u0000\"" } },
    { "project", "repo_url", FALSE, { "0", "[]", "{}", "true", "\"a\\u0000\"" } },
    { "project", "checkout", TRUE, { "0", "[]", "{}", "true", "\"/a\\u0000\"" } },
  };
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_assert_cmpint (judge_changed (cases[i].object, cases[i].member, NULL), ==,
                       SRV_CLAIM_STRANGE);
      g_assert_cmpint (judge_changed (cases[i].object, cases[i].member, "null"), ==,
                       cases[i].may_be_null ? SRV_CLAIM_JOB : SRV_CLAIM_STRANGE);
      for (gsize n = 0; n < G_N_ELEMENTS (cases[i].wrong); n++)
        g_assert_cmpint (judge_changed (cases[i].object, cases[i].member, cases[i].wrong[n]), ==,
                         SRV_CLAIM_STRANGE);
    }
  g_assert_cmpint (judge_changed ("job", "heartbeat_seconds", "0"), ==, SRV_CLAIM_JOB);
  g_assert_cmpint (judge_changed ("job", "heartbeat_seconds", "86400"), ==, SRV_CLAIM_JOB);
  g_assert_cmpint (judge_changed ("job", "id", "9223372036854775807"), ==, SRV_CLAIM_JOB);
  g_assert_cmpint (judge_changed ("task", "notes", "[]"), ==, SRV_CLAIM_JOB);
  g_assert_cmpint (judge_changed ("task", "new", "1"), ==, SRV_CLAIM_JOB);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/claim/whole", test_whole);
  g_test_add_func ("/claim/members", test_members);
  return g_test_run ();
}
