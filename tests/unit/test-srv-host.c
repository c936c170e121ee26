/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host that the engine asks: what it says of checkouts, foremen and itself; and, over a file, so that reader and writer
 * share no lock, that both threads may be at it while it changes its mind (ThreadSanitizer looks on in tests/check-all).
 */
#include "config.h"

#include "srv-fixture.h"
#include "srv-host.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#define CALL(actor, op, target, ...) \
  srv_fixture_call (f, actor, SRV_OP_##op, target, __VA_ARGS__, NULL)
#define ROUNDS 60u

typedef struct
{
  SrvFixture base;
  SrvHost host;
  char *folder, *file;
  guint waiting; /* answers that are to come */
  guint turns;   /* that were granted */
  SrvTurn *turn; /* the last one */
} Place;

static void
set_up (Place *place, gconstpointer data)
{
  g_autoptr (GError) error = NULL;

  (void) data;
  place->folder = g_dir_make_tmp ("dbr-host-XXXXXX", &error);
  g_assert_no_error (error);
  place->file = g_build_filename (place->folder, "engine.db", NULL);
  srv_host_init (&place->host);
  place->base.world = &place->host.world;
  srv_fixture_open (&place->base, place->file);
}

static void
tear_down (Place *place, gconstpointer data)
{
  static const char *const ends[] = { "", "-wal", "-shm", ".lock" };

  (void) data;
  srv_fixture_close (&place->base);
  srv_host_clear (&place->host);
  srv_turn_free (place->turn);
  for (guint i = 0; i < G_N_ELEMENTS (ends); i++)
    {
      g_autofree char *path = g_strconcat (place->file, ends[i], NULL);
      g_unlink (path);
    }
  g_assert_cmpint (g_rmdir (place->folder), ==, 0);
  g_free (place->file);
  g_free (place->folder);
}

static void
on_granted (SrvTurn *turn, gpointer user_data)
{
  Place *place = user_data;

  srv_turn_free (place->turn);
  place->turn = turn;
  place->turns++;
}

/* ----------------------------------------------------------------------- looks */
static void
assert_turn (Place *place, const char *foreman, const char *checkout, const char *problem)
{
  const SrvWorld *world = &place->host.world;
  json_auto_t *value = json_loads (foreman, 0, NULL);
  g_autofree char *said = world->turn_problem (value, checkout, world->data);

  g_assert_cmpstr (said, ==, problem);
}

static void
test_looks (Place *place, gconstpointer data)
{
  g_autofree char *gone = g_build_filename (place->folder, "gone", NULL);
  g_autofree char *no_folder = g_strdup_printf ("the checkout %s is not a folder", place->file);
  g_autofree char *not_there = g_strdup_printf ("the checkout %s is not there", gone);

  (void) data;
  assert_turn (place, "{\"command\": [\"/bin/sh\"]}", place->folder, NULL);
  assert_turn (place, "{\"command\": [\"/bin/sh\"]}", NULL, "no checkout is set");
  assert_turn (place, "{\"command\": [\"/bin/sh\"]}", place->file, no_folder);
  assert_turn (place, "{\"command\": [\"/bin/sh\"]}", gone, not_there);
  assert_turn (place, "{\"command\": [\"/no/such\"]}", place->folder,
               "\"/no/such\" is no program that the engine can start");
  assert_turn (place, "{\"command\": [\"no-such-program\"]}", place->folder,
               "\"no-such-program\" is not on the engine's PATH");
  /* From the checkout, whichever that will be. */
  g_autofree char *no_program
      = g_strdup_printf ("\"bin/foreman\" is no program in the checkout %s", place->folder);
  assert_turn (place, "{\"command\": [\"bin/foreman\"]}", place->folder, no_program);
  assert_turn (place, "{\"command\": [\"bin/sh\"]}", "/", NULL);
  assert_turn (place, "{\"command\": [\"bin/foreman\"]}", "/", NULL);
  /* Known once it starts. */
  assert_turn (place, "{\"command\": [\"{checkout}/foreman\"]}", place->folder, NULL);
  assert_turn (
      place, "{\"command\": [\"/bin/sh\", \"{token}\"]}", place->folder,
      "the foreman's command[1] has {token}, which can't stand in a command: everybody sees "
      "its words");
  g_assert_null (srv_host_refusal (&place->host));
  srv_host_refuse (&place->host, "there is no room");
  srv_host_refuse (&place->host, "bwrap is not installed");
  g_assert_cmpstr (srv_host_refusal (&place->host), ==, "bwrap is not installed");
  assert_turn (place, "{\"command\": [\"/bin/sh\"]}", gone, "bwrap is not installed");
}

/* Where the state is known to be, no checkout may be, hold it, or lie: neither as it is set, nor when a turn is due. */
static void
test_states (Place *place, gconstpointer data)
{
  const SrvWorld *world = &place->host.world;
  g_autofree char *within = g_build_filename (place->folder, "state", "x", NULL);
  g_autofree char *state = g_build_filename (place->folder, "state", NULL);
  g_autofree char *lookalike = g_strconcat (state, "-of-mind", NULL);
  g_autofree char *link = g_build_filename (place->folder, "link", NULL);

  (void) data;
  g_assert_cmpint (g_mkdir_with_parents (within, 0700), ==, 0);
  g_assert_cmpint (g_mkdir (lookalike, 0700), ==, 0);
  g_assert_cmpint (symlink (".", link), ==, 0);
  srv_host_keep_from (&place->host, state);
  const struct
  {
    const char *checkout, *part;
  } cases[] = {
    { place->folder, "holds an engine's own folder" }, { link, "holds an engine's own folder" },
    { "/", "holds an engine's own folder" },           { state, "lies in an engine's own folder" },
    { within, "lies in an engine's own folder" },      { lookalike, NULL },
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      json_auto_t *foreman = json_pack ("{s:[s]}", "command", "/bin/sh");
      g_autofree char *problem = world->checkout_problem (cases[i].checkout, world->data);
      g_autofree char *at_turn = world->turn_problem (foreman, cases[i].checkout, world->data);
      g_assert_cmpint (problem != NULL, ==, cases[i].part != NULL);
      if (problem && (!strstr (problem, cases[i].part) || !strstr (problem, "a folder of its own")))
        g_error ("no \"%s\" in: %s", cases[i].part, problem);
      /* There it stands for none. */
      if (strcmp (cases[i].checkout, "/") != 0)
        g_assert_true ((problem == NULL && at_turn == NULL) || strstr (at_turn, problem) != NULL);
    }
  g_assert_cmpint (g_rmdir (within) | g_rmdir (state) | g_rmdir (lookalike) | g_unlink (link), ==,
                   0);
}

/* Another engine's, which is looked for when the checkout is set. */
static void
test_other_engine (Place *place, gconstpointer data)
{
  const SrvWorld *world = &place->host.world;
  g_autofree char *checkout = g_build_filename (place->folder, "checkout", NULL);
  g_autofree char *other = g_build_filename (checkout, "other", NULL);
  g_autofree char *token = g_build_filename (other, "admin.token", NULL);

  (void) data;
  g_assert_cmpint (g_mkdir_with_parents (other, 0700), ==, 0);
  g_assert_null (world->checkout_problem (checkout, world->data));
  g_assert_null (world->checkout_note (checkout, world->data));
  g_assert_true (g_file_set_contents (token, "x", 1, NULL));
  g_autofree char *problem = world->checkout_problem (checkout, world->data);
  g_assert_cmpstr (problem, ==,
                   "holds an engine's own folder, other: give the project a folder of its own");
  g_assert_cmpint (g_unlink (token) | g_rmdir (other) | g_rmdir (checkout), ==, 0);
}

/* --------------------------------------------------------------------- threads */
static void
on_answered (SrvReply *reply, gpointer user_data)
{
  Place *place = user_data;

  place->waiting--;
  srv_reply_free (reply);
}

static void
write_soon (Place *place, SrvOperation operation, gint64 id, const char *body)
{
  g_autoptr (DbrJsonDoc) doc = dbr_json_doc_new_from_data (body, -1, NULL, NULL);
  SrvRequest request = { .operation = operation,
                         .actor = place->base.admin,
                         .id = id,
                         .project_ref = id == 0 ? "~" : NULL,
                         .body = dbr_json_doc_root (doc) };

  place->waiting++;
  srv_engine_write (place->base.engine, &request, on_answered, place);
}

/* All that the main thread does while the writer asks the host and takes leases. */
static void
read_and_change (Place *place, guint round)
{
  SrvFixture *f = &place->base;
  SrvRequest request = { .operation = SRV_OP_STATUS, .actor = f->admin };
  g_autofree char *why = g_strdup_printf ("reason %u", round % 7);
  SrvActor actor;
  const char *unknown;

  srv_host_refuse (&place->host, why);
  srv_reply_free (srv_engine_read (f->engine, &request));
  if (place->turn)
    srv_engine_authenticate (f->engine, place->turn->token, &actor, &unknown);
  srv_engine_tick (f->engine);
  srv_engine_last_event (f->engine);
}

static void
test_threads (Place *place, gconstpointer data)
{
  SrvFixture *f = &place->base;
  g_autofree char *set = g_strdup_printf (
      "{\"checkout\": \"%s\", \"foreman_command\": {\"command\": [\"/bin/sh\"]}}", place->folder);
  g_autofree char *project
      = g_strdup_printf ("{\"repo_url\": \"https://git.example.org/owner/shop\", %s", set + 1);

  (void) data;
  srv_engine_grant_turns (f->engine, 1, on_granted, place);
  g_assert_cmpuint (CALL (&f->admin, PROJECT_ADD, NULL, project), ==, 201);
  g_assert_cmpuint (CALL (&f->admin, MESSAGE_ADD, "p:~", "{\"text\": \"begin\"}"), ==, 201);
  g_assert_cmpuint (place->turns, ==, 1);
  for (guint i = 0; i < ROUNDS; i++)
    {
      g_autofree char *text = g_strdup_printf ("{\"text\": \"message %u\"}", i);
      write_soon (place, SRV_OP_LEASE_END, place->turn->lease, "{\"outcome\": \"crashed\"}");
      write_soon (place, SRV_OP_MESSAGE_ADD, 0, text);
      write_soon (place, SRV_OP_PROJECT_SET, 0, set);
      read_and_change (place, i);
      if (i % 8 == 7)
        while (place->waiting > 0)
          g_main_context_iteration (NULL, TRUE);
    }
  while (place->waiting > 0)
    g_main_context_iteration (NULL, TRUE);
  g_assert_cmpuint (CALL (&f->admin, PROJECT_SET, "p:~", set), ==, 200);
  g_assert_cmpuint (CALL (&f->admin, STATUS, NULL, NULL), ==, 200);
  g_assert_cmpstr (srv_fixture_text (f, "projects.0.foreman_trouble.reason"), ==, "reason 3");
  srv_engine_grant_turns (f->engine, 0, NULL, NULL);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add ("/srv-host/looks", Place, NULL, set_up, test_looks, tear_down);
  g_test_add ("/srv-host/states", Place, NULL, set_up, test_states, tear_down);
  g_test_add ("/srv-host/other-engine", Place, NULL, set_up, test_other_engine, tear_down);
  g_test_add ("/srv-host/threads", Place, NULL, set_up, test_threads, tear_down);
  return g_test_run ();
}
