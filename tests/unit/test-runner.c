/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns of foremen as the runner has them: how each ends, what is told of it, and that nothing of it is left. Commands are
 * shells that are not shut in; this program is its own keeper, as drawbridge-engine is.
 */
#include "config.h"

#include "srv-fixture.h"
#include "srv-keep.h"
#include "srv-runner.h"
#include "srv-turn-folder.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#define CALL(actor, op, target, ...) \
  srv_fixture_call (f, actor, SRV_OP_##op, target, __VA_ARGS__, NULL)
#define WATCHDOG_S 60

static char own_path[4096];

typedef struct
{
  SrvFixture base;
  SrvRunner *runner;
  char *folder; /* the engine's, and the checkout */
  char *turns;  /* below it */
  guint watchdog;
} Shop;

static gboolean
on_watchdog (gpointer user_data G_GNUC_UNUSED)
{
  g_error ("the turn did not end");
  return G_SOURCE_REMOVE;
}

static void
start_runner (Shop *shop, SrvConfine *confine, const char *refusal)
{
  g_autoptr (GError) error = NULL;
  const SrvRunnerOptions options = { .socket = "/no/such/socket",
                                     .state_folder = shop->folder,
                                     .bridge = own_path,
                                     .keeper = own_path,
                                     .confine = confine,
                                     .refusal = refusal,
                                     .grace_ms = 20 };

  shop->runner = srv_runner_new (shop->base.engine, &options, &error);
  g_assert_no_error (error);
}

static void
set_up (Shop *shop, gconstpointer data G_GNUC_UNUSED)
{
  g_autoptr (GError) error = NULL;

  shop->folder = g_dir_make_tmp ("dbr-runner-XXXXXX", &error);
  g_assert_no_error (error);
  shop->turns = g_build_filename (shop->folder, "turns", NULL);
  shop->watchdog = g_timeout_add_seconds (WATCHDOG_S, on_watchdog, NULL);
  srv_fixture_open (&shop->base, NULL);
}

static void
tear_down (Shop *shop, gconstpointer data G_GNUC_UNUSED)
{
  g_autoptr (GDir) left = NULL;

  g_clear_pointer (&shop->runner, srv_runner_free);
  srv_fixture_close (&shop->base);
  left = g_dir_open (shop->turns, 0, NULL);
  g_assert_nonnull (left);
  g_assert_cmpstr (g_dir_read_name (left), ==, NULL);
  g_assert_true (srv_turn_folder_remove (shop->folder));
  g_source_remove (shop->watchdog);
  g_free (shop->turns);
  g_free (shop->folder);
}

/* A project whose foreman is the shell's @script, and a message that wakes it. */
static void
wake (Shop *shop, const char *script)
{
  SrvFixture *f = &shop->base;
  json_auto_t *body
      = json_pack ("{s:s, s:s, s:{s:[s, s, s]}}", "repo_url", "https://git.example.org/owner/shop",
                   "checkout", shop->folder, "foreman_command", "command", "/bin/sh", "-c", script);
  g_autofree char *text = json_dumps (body, 0);

  g_assert_cmpuint (CALL (&f->admin, PROJECT_ADD, NULL, text), ==, 201);
  g_assert_cmpuint (CALL (&f->client, MESSAGE_ADD, "p:~", "{\"text\": \"begin\"}"), ==, 201);
}

static void
wait_until_idle (Shop *shop)
{
  while (srv_runner_count (shop->runner) > 0)
    g_main_context_iteration (NULL, TRUE);
}

/* The newest event of the kind; its text is borrowed until the next request. */
static const char *
find_event (Shop *shop, const char *kind)
{
  SrvFixture *f = &shop->base;

  g_assert_cmpuint (CALL (&f->admin, TIMELINE, NULL, NULL), ==, 200);
  const json_t *items = srv_fixture_get (f, "items");
  for (size_t i = json_array_size (items); i > 0; i--)
    {
      const json_t *event = json_array_get (items, i - 1);
      if (g_strcmp0 (json_string_value (json_object_get (event, "kind")), kind) == 0)
        return json_string_value (json_object_get (event, "text"));
    }
  g_error ("no event %s", kind);
}

static void
assert_has (const char *text, const char *part)
{
  if (!text || !strstr (text, part))
    g_error ("no \"%s\" in: %s", part, text);
}

/* ------------------------------------------------------------------------ ends */
static void
test_well (Shop *shop, gconstpointer data G_GNUC_UNUSED)
{
  SrvFixture *f = &shop->base;

  start_runner (shop, srv_confine_new_unconfined (own_path), NULL);
  wake (shop, "echo all is done");
  wait_until_idle (shop);
  assert_has (find_event (shop, "lease.ended"),
              "The foreman's turn ended with exit status 0 after");
  g_assert_cmpuint (CALL (&f->admin, STATUS, NULL, NULL), ==, 200);
  g_assert_true (json_is_null (srv_fixture_get (f, "projects.0.foreman_trouble")));
}

static void
test_badly (Shop *shop, gconstpointer data G_GNUC_UNUSED)
{
  SrvFixture *f = &shop->base;
  const char *text;

  start_runner (shop, srv_confine_new_unconfined (own_path), NULL);
  wake (shop, "echo one; echo \"no key\"; exit 3");
  wait_until_idle (shop);
  text = find_event (shop, "turn.crashed");
  assert_has (text, "exit status 3 after");
  assert_has (text, "Its last line: no key\nThe last lines that it printed:\none\nno key");
  g_assert_cmpuint (CALL (&f->admin, STATUS, NULL, NULL), ==, 200);
  assert_has (srv_fixture_text (f, "projects.0.foreman_trouble.reason"), "exit status 3: no key");
}

static void
test_refused (Shop *shop, gconstpointer data G_GNUC_UNUSED)
{
  start_runner (shop, NULL, "bwrap is not installed");
  wake (shop, "echo");
  wait_until_idle (shop);
  g_assert_cmpstr (find_event (shop, "turn.crashed"), ==,
                   "The foreman could not be started: bwrap is not installed.");
}

static void
test_engine_ends (Shop *shop, gconstpointer data G_GNUC_UNUSED)
{
  SrvFixture *f = &shop->base;
  g_autofree char *mark = g_build_filename (shop->folder, "mark", NULL);

  start_runner (shop, srv_confine_new_unconfined (own_path), NULL);
  wake (shop, "echo > mark; exec sleep 1000");
  while (!g_file_test (mark, G_FILE_TEST_EXISTS))
    g_main_context_iteration (NULL, FALSE);
  g_clear_pointer (&shop->runner, srv_runner_free);
  assert_has (find_event (shop, "lease.ended"), "The foreman's turn was stopped: the engine ends.");
  /* That was no fault of its own. */
  g_assert_cmpuint (CALL (&f->admin, STATUS, NULL, NULL), ==, 200);
  g_assert_true (json_is_null (srv_fixture_get (f, "projects.0.foreman_trouble")));
}

/* 0: nobody holds the project. */
static gint64
current_lease (Shop *shop)
{
  SrvFixture *f = &shop->base;

  g_assert_cmpuint (CALL (&f->admin, PROJECT_GET, "p:~", NULL), ==, 200);
  return json_integer_value (json_object_get (srv_fixture_get (f, "lease"), "id"));
}

static void
on_answered (SrvReply *reply, gpointer user_data)
{
  *(guint *) user_data = reply->status;
  srv_reply_free (reply);
}

/* Ends a lease without a round of the main loop: nothing that was granted has begun when it returns. */
static void
end_at_once (Shop *shop, gint64 lease, guint *status)
{
  g_autoptr (DbrJsonDoc) doc
      = dbr_json_doc_new_from_data ("{\"outcome\": \"crashed\"}", -1, NULL, NULL);
  const SrvRequest request = { .operation = SRV_OP_LEASE_END,
                               .actor = shop->base.admin,
                               .id = lease,
                               .body = dbr_json_doc_root (doc) };

  srv_engine_write (shop->base.engine, &request, on_answered, status);
  while (current_lease (shop) == lease)
    g_thread_yield ();
}

/* Somebody else ended its lease before its command began: it never does, and the next turn isn't kept waiting. */
static void
test_ended_before (Shop *shop, gconstpointer data G_GNUC_UNUSED)
{
  SrvFixture *f = &shop->base;
  g_autofree char *mark = g_build_filename (shop->folder, "mark", NULL);
  g_autofree char *text = NULL;
  guint status = 0;

  start_runner (shop, srv_confine_new_unconfined (own_path), NULL);
  wake (shop, "echo turn >> mark; exec sleep 1000");
  end_at_once (shop, current_lease (shop), &status);
  while (!g_file_test (mark, G_FILE_TEST_EXISTS))
    g_main_context_iteration (NULL, FALSE);
  g_assert_cmpuint (status, ==, 200);
  g_assert_cmpuint (srv_runner_count (shop->runner), ==, 1);
  g_assert_cmpuint (
      CALL (&f->admin, LEASE_END, srv_fixture_id (current_lease (shop)), "{\"outcome\": \"done\"}"),
      ==, 200);
  wait_until_idle (shop);
  g_assert_true (g_file_get_contents (mark, &text, NULL, NULL));
  g_assert_cmpstr (text, ==, "turn\n");
}

int
main (int argc, char **argv)
{
  if (argc > 1 && strcmp (argv[1], "keep") == 0)
    return srv_keep_main (argc - 1, argv + 1);
  if (argc > 1 && strcmp (argv[1], "exec") == 0)
    return srv_keep_exec_main (argc - 1, argv + 1);
  ssize_t length = readlink ("/proc/self/exe", own_path, sizeof own_path - 1);
  g_assert_cmpint (length, >, 0);
  g_test_init (&argc, &argv, NULL);
  g_test_add ("/runner/well", Shop, NULL, set_up, test_well, tear_down);
  g_test_add ("/runner/badly", Shop, NULL, set_up, test_badly, tear_down);
  g_test_add ("/runner/refused", Shop, NULL, set_up, test_refused, tear_down);
  g_test_add ("/runner/engine-ends", Shop, NULL, set_up, test_engine_ends, tear_down);
  g_test_add ("/runner/ended-before", Shop, NULL, set_up, test_ended_before, tear_down);
  return g_test_run ();
}
