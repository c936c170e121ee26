/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When foremen wake, and what is told when they can't: over a store in memory, with a host that says what the test wants.
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
#define HAS(path, part) assert_has (TEXT (path), part)

#define CUT 299 /* bytes of a reason, and a character over its bound */

#define PROJECT \
  "{\"repo_url\": \"git@example.org:owner/shop.git\", \"checkout\": \"/srv/shop\", " \
  "\"foreman_command\": {\"preset\": \"claude\", \"model\": \"small\"}}"

typedef struct
{
  SrvFixture base;
  SrvWorld world;
  const char *turn;   /* why none starts; NULL: it does */
  const char *folder; /* what is wrong with checkouts */
  GPtrArray *granted; /* SrvTurn */
} Shop;

static void
assert_has (const char *text, const char *part)
{
  if (!strstr (text, part))
    g_error ("no \"%s\" in: %s", part, text);
}

/* One at a time in this program. */
static const char *folder_says;

static char *
checkout_problem (const char *checkout, gpointer data G_GNUC_UNUSED)
{
  g_assert_cmpint (checkout[0], ==, '/');
  return g_strdup (folder_says);
}

static GPtrArray *
foreman_problems (const json_t *foreman)
{
  GPtrArray *out = g_ptr_array_new_with_free_func (g_free);

  if (g_strcmp0 (json_string_value (json_object_get (foreman, "preset")), "cloude") == 0)
    {
      g_ptr_array_add (out, g_strdup ("preset"));
      g_ptr_array_add (out, g_strdup ("is no such thing"));
    }
  return out;
}

static char *
turn_problem (const json_t *foreman, const char *checkout, gpointer data)
{
  const Shop *shop = data;

  g_assert_true (json_is_object (foreman));
  return g_strdup (!checkout ? "no checkout is set" : shop->turn);
}

static void
on_granted (SrvTurn *turn, gpointer user_data)
{
  g_ptr_array_add (((Shop *) user_data)->granted, turn);
}

static void
set_up (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;

  (void) data;
  folder_says = NULL;
  shop->granted = g_ptr_array_new_with_free_func ((GDestroyNotify) srv_turn_free);
  shop->world = (SrvWorld){ .checkout_problem = checkout_problem,
                            .foreman_problems = foreman_problems,
                            .turn_problem = turn_problem,
                            .data = shop,
                            .max_turns = 2 };
  f->world = &shop->world;
  srv_fixture_open (f, NULL);
  srv_engine_grant_turns (f->engine, 2, on_granted, shop);
}

static void
tear_down (Shop *shop, gconstpointer data)
{
  (void) data;
  srv_fixture_close (&shop->base);
  g_ptr_array_unref (shop->granted);
}

/* The one turn that was granted since the last look. (transfer full) */
static SrvTurn *
take_turn (Shop *shop)
{
  g_assert_cmpuint (shop->granted->len, ==, 1);
  return g_ptr_array_steal_index (shop->granted, 0);
}

static void
end_turn (Shop *shop, const char *body)
{
  SrvFixture *f = &shop->base;
  g_autoptr (SrvTurn) turn = take_turn (shop);

  g_assert_cmpuint (CALL (&f->runner, LEASE_END, srv_fixture_id (turn->lease), body), ==, 200);
}

static void
say (Shop *shop, const char *text, const char *outcome)
{
  SrvFixture *f = &shop->base;
  g_autofree char *body = g_strdup_printf ("{\"text\": \"%s\"}", text);

  g_assert_cmpuint (CALL (&f->client, MESSAGE_ADD, "p:~", body), ==, 201);
  g_assert_cmpstr (TEXT ("outcome"), ==, outcome);
}

/* The last room is said to be taken by one message, though its turn has no lease yet. */
static void
test_last_room (void)
{
  /* The one that came too late is due too, and counts after that. */
  static const char *const outcomes[] = { "woke", "woke", "busy", "busy" };
  Shop shop = { .granted = NULL };
  SrvFixture *f = &shop.base;

  shop.world = (SrvWorld){ .checkout_problem = checkout_problem,
                           .foreman_problems = foreman_problems,
                           .turn_problem = turn_problem,
                           .data = &shop,
                           .max_turns = 2 };
  f->world = &shop.world;
  srv_fixture_open (f, NULL); /* and nobody takes the turns: as within one transaction */
  for (guint i = 0; i < 3; i++)
    {
      g_autofree char *add
          = g_strdup_printf ("{\"repo_url\": \"a@b.c:d/e%u\", \"checkout\": \"/srv/e%u\", "
                             "\"foreman_command\": {\"preset\": \"claude\"}}",
                             i, i);
      g_assert_cmpuint (CALL (&f->admin, PROJECT_ADD, NULL, add), ==, 201);
    }
  for (guint i = 0; i < G_N_ELEMENTS (outcomes); i++)
    {
      g_autofree char *query = g_strdup_printf ("repo_url=e%u", i % 3);
      g_autofree char *body = g_strdup_printf ("{\"text\": \"%u\"}", i);
      g_assert_cmpuint (CALL (&f->client, MESSAGE_ADD, "p:~", body, query), ==, 201);
      g_assert_cmpstr (TEXT ("outcome"), ==, outcomes[i]);
    }
  srv_fixture_close (f);
}

#define CRASHED \
  "{\"outcome\": \"crashed\", \"text\": \"It broke.\", \"reason\": \"ended with exit status 1: " \
  "no key\"}"

/* What wakes a foreman and that it woke are one transaction. */
static void
test_granted (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;
  SrvActor actor;
  const char *why;

  (void) data;
  g_assert_cmpuint (CALL (&f->admin, PROJECT_ADD, NULL, PROJECT), ==, 201);
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "notes")), ==, 0);
  say (shop, "Add a cart", "woke");
  g_assert_cmpstr (TEXT ("outcome_text"), ==, "The foreman wakes for it now.");
  g_autoptr (SrvTurn) turn = take_turn (shop);
  g_assert_cmpstr (turn->name, ==, "shop");
  g_assert_cmpstr (turn->checkout, ==, "/srv/shop");
  g_assert_cmpstr (json_string_value (json_object_get (turn->foreman, "preset")), ==, "claude");
  g_assert_cmpuint (turn->turn_minutes, ==, 30);
  g_assert_true (srv_engine_authenticate (f->engine, turn->token, &actor, &why));
  g_assert_cmpint (actor.lease, ==, turn->lease);
  g_assert_cmpuint (CALL (&f->client, PROJECT_GET, "p:~", NULL), ==, 200);
  g_assert_cmpstr (TEXT ("foreman"), ==, "awake");
  g_assert_cmpstr (TEXT ("lease.holder"), ==, "foreman (claude)");
  g_assert_true (json_is_null (srv_fixture_get (f, "foreman_trouble")));
  say (shop, "And a till", "turn_running");
  g_assert_cmpuint (shop->granted->len, ==, 0);
  /* The next one begins with the end of this one. */
  g_assert_cmpuint (CALL (&f->admin, LEASE_END, srv_fixture_id (turn->lease), NULL), ==, 200);
  end_turn (shop, NULL);
  srv_fixture_pass (f, 1);
  g_assert_cmpuint (shop->granted->len, ==, 0);
}

/* Two at a time over all projects; the third waits for one's end. */
static void
test_bound (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;

  (void) data;
  for (guint i = 0; i < 3; i++)
    {
      g_autofree char *body = g_strdup_printf (
          "{\"repo_url\": \"https://git.example/o/p%u\", \"checkout\": \"/srv\", "
          "\"foreman_command\": {\"command\": [\"do\"]}}",
          i);
      g_assert_cmpuint (CALL (&f->admin, PROJECT_ADD, NULL, body), ==, 201);
      g_autofree char *project = g_strdup_printf ("p:%" G_GINT64_FORMAT, INT ("id"));
      g_assert_cmpuint (CALL (&f->client, MESSAGE_ADD, project, "{\"text\": \"Go\"}"), ==, 201);
      g_assert_cmpstr (TEXT ("outcome"), ==, i < 2 ? "woke" : "busy");
    }
  g_assert_cmpuint (shop->granted->len, ==, 2);
  HAS ("outcome_text", "the foreman wakes when one of them ends");
  g_autoptr (SrvTurn) first = g_ptr_array_steal_index (shop->granted, 0);
  g_assert_cmpuint (CALL (&f->admin, LEASE_END, srv_fixture_id (first->lease), NULL), ==, 200);
  g_assert_cmpuint (shop->granted->len, ==, 2);
  /* Told to stop, it grants none. */
  srv_engine_grant_turns (f->engine, 0, on_granted, shop);
  g_autofree char *again = g_strdup_printf ("p:%" G_GINT64_FORMAT, first->project);
  g_assert_cmpuint (CALL (&f->client, MESSAGE_ADD, again, "{\"text\": \"Again\"}"), ==, 201);
  srv_fixture_pass (f, 5);
  g_assert_cmpuint (shop->granted->len, ==, 2);
}

static void
test_cannot_start (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;

  (void) data;
  shop->turn = "\"claude\" is not on the engine's PATH";
  g_assert_cmpuint (CALL (&f->admin, PROJECT_ADD, NULL, PROJECT), ==, 201);
  HAS ("notes.0", "No turn can start now: \"claude\" is not on the engine's PATH.");
  g_assert_cmpint (INT ("foreman_trouble.failures"), ==, 0);
  g_assert_true (json_is_null (srv_fixture_get (f, "foreman_trouble.next_try")));
  g_assert_cmpint (INT ("needs_user"), ==, 1);
  say (shop, "Add a cart", "trouble");
  g_assert_cmpstr (TEXT ("outcome_text"), ==,
                   "It waits. The foreman can't run: \"claude\" is not on the engine's PATH. The "
                   "next try is in 1 s. Setting the project's preset, command, checkout, model or "
                   "environment tries again at once.");
  g_assert_cmpstr (TEXT ("state"), ==, "waiting");
  g_assert_cmpuint (CALL (&f->client, MESSAGE_ADD, "p:~", "{\"text\": \"Add a cart\"}"), ==, 200);
  HAS ("outcome_text", "Nothing was sent");
  HAS ("outcome_text", "is not on the engine's PATH");
  g_assert_cmpuint (CALL (&f->client, STATUS, NULL, NULL), ==, 200);
  g_assert_cmpstr (TEXT ("needs_you.0.kind"), ==, "foreman");
  g_assert_cmpstr (TEXT ("needs_you.0.project_name"), ==, "shop");
  HAS ("needs_you.0.text", "The foreman can't run: \"claude\" is not");
  g_assert_cmpint (INT ("needs_you.0.failures"), ==, 1);
  g_assert_cmpint (INT ("needs_you_more"), ==, 0);
  g_assert_cmpstr (TEXT ("needs_you.0.next_try"), ==, TEXT ("projects.0.foreman_trouble.next_try"));
  /* Each try waits longer, is counted, and is no news: one event. */
  srv_fixture_pass (f, 1);
  srv_fixture_pass (f, 1);
  srv_fixture_pass (f, 1);
  g_assert_cmpuint (CALL (&f->client, PROJECT_LIST, NULL, NULL), ==, 200);
  g_assert_cmpint (INT ("items.0.foreman_trouble.failures"), ==, 3);
  g_assert_cmpstr (TEXT ("items.0.foreman_trouble.since"), ==, "2027-01-15T08:00:00.000000Z");
  g_assert_cmpuint (CALL (&f->client, TIMELINE, NULL, NULL, "limit=2"), ==, 200);
  g_assert_cmpstr (TEXT ("items.0.kind"), ==, "message.sent");
  g_assert_cmpstr (TEXT ("items.1.kind"), ==, "turn.crashed");
  HAS ("items.1.text", "The foreman can't start: \"claude\" is not on");
  /* Nothing was delivered; once it can start the next message need not wait for the next try. */
  shop->turn = NULL;
  say (shop, "Hello?", "woke");
  end_turn (shop, "{\"outcome\": \"done\"}");
  g_assert_cmpuint (CALL (&f->client, PROJECT_GET, "p:~", NULL), ==, 200);
  g_assert_true (json_is_null (srv_fixture_get (f, "foreman_trouble")));
}

/* It waits by itself, too; and no checkout is a reason. */
static void
test_set_right (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;

  (void) data;
  g_assert_cmpuint (CALL (&f->admin, PROJECT_ADD, NULL, "{\"repo_url\": \"a@b.c:d/e\"}"), ==, 201);
  HAS ("notes.0", "The project has no foreman: nothing wakes");
  HAS ("notes.1", "No checkout is set: turns and workers have no folder");
  say (shop, "Add a cart", "no_command");
  g_assert_cmpuint (CALL (&f->admin, PROJECT_SET, "p:~",
                          "{\"foreman_command\": {\"command\": [\"do\", \"it\"]}}"),
                    ==, 200);
  HAS ("notes.0", "No checkout is set");
  g_assert_cmpstr (TEXT ("foreman_trouble.reason"), ==, "no checkout is set");
  srv_fixture_pass (f, 2000);
  g_assert_cmpuint (CALL (&f->client, PROJECT_GET, "p:~", NULL), ==, 200);
  g_assert_cmpint (INT ("foreman_trouble.failures"), ==, 2);
  g_assert_cmpuint (CALL (&f->admin, PROJECT_SET, "p:~", "{\"checkout\": \"/srv/shop\"}"), ==, 200);
  g_assert_true (json_is_null (srv_fixture_get (f, "foreman_trouble")));
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "notes")), ==, 1);
  g_assert_cmpstr (TEXT ("notes.0"), ==, "The foreman is tried again now.");
  end_turn (shop, NULL);
}

static void
test_crashes (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;

  (void) data;
  g_assert_cmpuint (CALL (&f->admin, PROJECT_ADD, NULL, PROJECT), ==, 201);
  say (shop, "Add a cart", "woke");
  end_turn (shop, CRASHED);
  g_assert_cmpuint (CALL (&f->client, PROJECT_GET, "p:~", NULL), ==, 200);
  g_assert_cmpstr (TEXT ("foreman_trouble.reason"), ==,
                   "the last turn ended with exit status 1: no key");
  say (shop, "And a till", "trouble");
  HAS ("outcome_text", "The next try is in 1 s.");
  srv_fixture_pass (f, 1);
  end_turn (shop, CRASHED);
  srv_fixture_pass (f, 1);
  g_assert_cmpuint (shop->granted->len, ==, 0);
  srv_fixture_pass (f, 1);
  end_turn (shop, CRASHED);
  g_assert_cmpuint (CALL (&f->client, STATUS, NULL, NULL), ==, 200);
  /* The first was delivered three times: it waits no more, and that is told, once. */
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "needs_you")), ==, 1);
  g_assert_cmpstr (TEXT ("needs_you.0.kind"), ==, "foreman");
  HAS ("needs_you.0.text", "The foreman's last 3 turns failed, the last one ended with exit status "
                           "1: no key. ");
  g_autofree char *lost = g_strdup_printf (
      "Message %" G_GINT64_FORMAT " was given up after 3 turns that failed over it. The next try "
      "is in 4 s. Setting the project's preset, command, checkout, model or environment gives it "
      "what was given up, and tries again at once.",
      INT ("waiting_messages.0.id"));
  HAS ("needs_you.0.text", lost);
  g_assert_cmpstr (TEXT ("waiting_messages.0.state"), ==, "delivered");
  g_assert_cmpstr (TEXT ("waiting_messages.0.turn_ended.outcome"), ==, "crashed");
  g_assert_true (json_is_null (srv_fixture_get (f, "waiting_messages.1.turn_ended")));
  g_autofree char *id = g_strdup_printf ("that failed over them: message %" G_GINT64_FORMAT ".",
                                         INT ("waiting_messages.0.id"));
  g_assert_cmpuint (CALL (&f->client, TIMELINE, NULL, NULL, "limit=2"), ==, 200);
  g_assert_cmpstr (TEXT ("items.0.kind"), ==, "turn.unanswered");
  HAS ("items.0.text", id);
  /* What was with it begins afresh: three turns more. */
  for (guint i = 2; i < 5; i++)
    {
      srv_fixture_pass (f, 1 << i);
      g_assert_cmpuint (CALL (&f->client, STATUS, NULL, NULL), ==, 200);
      HAS ("needs_you.0.text", "A turn of the foreman runs now; the last ");
      g_assert_null (strstr (TEXT ("needs_you.0.text"), "Nothing waits"));
      g_assert_null (strstr (TEXT ("needs_you.0.text"), "at once"));
      end_turn (shop, CRASHED);
    }
  g_assert_cmpuint (CALL (&f->client, PROJECT_GET, "p:~", NULL), ==, 200);
  g_assert_true (json_is_null (srv_fixture_get (f, "foreman_trouble.next_try")));
  g_assert_cmpint (INT ("waiting_messages"), ==, 0);
  srv_fixture_assert_needs (f);
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "needs_you")), ==, 1);
  g_assert_cmpuint (CALL (&f->client, MESSAGE_LIST, NULL, NULL, "waiting=true"), ==, 200);
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "items")), ==, 0);
  srv_fixture_assert_needs (f);
  HAS ("needs_you.0.text", " were given up after 3 turns that failed over them. No other message "
                           "waits: the next one tries again.");
  srv_fixture_pass (f, 1000);
  g_assert_cmpuint (shop->granted->len, ==, 0);
  /* A change of what it is started with gives both back, and wakes at once. */
  g_assert_cmpuint (
      CALL (&f->admin, PROJECT_SET, "p:~", "{\"foreman_command\": {\"model\": \"large\"}}"), ==,
      200);
  g_assert_cmpstr (TEXT ("foreman_command.preset"), ==, "claude");
  g_assert_cmpstr (TEXT ("foreman_command.model"), ==, "large");
  g_assert_cmpint (INT ("waiting_messages"), ==, 2);
  g_assert_cmpint (INT ("needs_user"), ==, 0);
  g_assert_cmpstr (TEXT ("notes.0"), ==, "2 messages that had been given up wait again.");
  g_assert_cmpstr (TEXT ("notes.1"), ==, "The foreman is tried again now.");
  end_turn (shop, "{\"outcome\": \"timed_out\", \"reason\": \"reached its time limit.\"}");
  g_assert_cmpuint (CALL (&f->client, PROJECT_GET, "p:~", NULL), ==, 200);
  g_assert_cmpstr (TEXT ("foreman_trouble.reason"), ==, "the last turn reached its time limit");
  /* What others ended says nothing of the foreman; what ends well ends the trouble. */
  srv_fixture_pass (f, 1);
  end_turn (shop, "{\"outcome\": \"crashed\"}");
  g_assert_cmpuint (CALL (&f->client, PROJECT_GET, "p:~", NULL), ==, 200);
  g_assert_cmpint (INT ("foreman_trouble.failures"), ==, 1);
  end_turn (shop, NULL);
  g_assert_cmpuint (CALL (&f->client, PROJECT_GET, "p:~", NULL), ==, 200);
  g_assert_true (json_is_null (srv_fixture_get (f, "foreman_trouble")));
}

/* A foreman that wakes for a review and leaves it, leaves it to the user; until it has looked, it is the foreman's. */
static void
test_review_is_left (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;
  SrvActor foreman;

  (void) data;
  g_assert_cmpuint (CALL (&f->admin, PROJECT_ADD, NULL, PROJECT), ==, 201);
  g_assert_cmpuint (
      CALL (&f->admin, PROJECT_SET, "p:~", "{\"settings\": {\"approval\": \"never\"}}"), ==, 200);
  g_assert_cmpuint (CALL (&f->admin, LEASE_TAKE, "p:~", "{\"holder\": \"me\"}"), ==, 201);
  foreman = srv_fixture_foreman (f);
  g_assert_cmpuint (
      CALL (&foreman, PLAN_CREATE, NULL,
            "{\"title\": \"Cart\", \"tasks\": [{\"title\": \"One\", \"brief\": \"do\"}]}"),
      ==, 201);
  g_assert_cmpuint (CALL (&f->worker, JOB_CLAIM, NULL, "{\"worker\": \"w\"}"), ==, 200);
  const char *job = ID ("job.id"), *task = ID ("task.id");
  g_assert_cmpuint (
      CALL (&f->worker, JOB_FINISH, job, "{\"sequence\": 1, \"outcome\": \"review\"}"), ==, 200);
  srv_fixture_assert_needs (f);
  g_assert_cmpint (INT ("projects.0.needs_user"), ==, 0);
  g_assert_cmpuint (CALL (&f->admin, LEASE_END, srv_fixture_id (foreman.lease), NULL), ==, 200);
  /* It wakes for it, and ends nothing. */
  srv_fixture_assert_needs (f);
  g_assert_cmpint (INT ("projects.0.needs_user"), ==, 0);
  end_turn (shop, NULL);
  srv_fixture_assert_needs (f);
  g_assert_cmpstr (TEXT ("needs_you.0.kind"), ==, "review");
  g_assert_cmpint (INT ("needs_you.0.tasks.0.id"), ==, atoi (task));
  g_assert_cmpstr (TEXT ("projects.0.foreman"), ==, "asleep");
  /* It is about to look again; on hold it isn't. */
  shop->turn = "no";
  say (shop, "Look", "trouble");
  srv_fixture_assert_needs (f);
  g_assert_cmpstr (TEXT ("needs_you.0.kind"), ==, "foreman");
  g_assert_cmpuint (CALL (&f->client, PROJECT_HOLD, "p:~", "{\"held\": true}"), ==, 200);
  srv_fixture_assert_needs (f);
  g_assert_cmpint (INT ("projects.0.needs_user"), ==, 2);
  g_assert_cmpuint (CALL (&f->admin, TASK_UPDATE, task, "{\"state\": \"done\"}"), ==, 200);
  srv_fixture_assert_needs (f);
  g_assert_cmpint (INT ("projects.0.needs_user"), ==, 1);
}

static void
test_pause_is_bounded (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;
  g_autofree char *long_word = g_strnfill (1000, 'x');
  g_autofree char *reason = g_strdup_printf ("a%s\xc3\xa4", long_word);

  (void) data;
  shop->turn = "first\nline";
  g_assert_cmpuint (CALL (&f->admin, PROJECT_ADD, NULL, PROJECT), ==, 201);
  g_assert_cmpstr (TEXT ("foreman_trouble.reason"), ==, "first line");
  say (shop, "Add a cart", "trouble");
  for (guint i = 0; i < 40; i++)
    srv_fixture_pass (f, 300);
  say (shop, "And a till", "trouble");
  HAS ("outcome_text", "The next try is in 300 s.");
  reason[CUT] = '\xc3';
  reason[CUT + 1] = '\xa4';
  shop->turn = reason;
  srv_fixture_pass (f, 300);
  g_assert_cmpuint (CALL (&f->client, PROJECT_GET, "p:~", NULL), ==, 200);
  g_assert_cmpuint (strlen (TEXT ("foreman_trouble.reason")), ==, CUT);
}

/* A turn that ends well and leaves messages without an answer. */
static void
test_unanswered (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;

  (void) data;
  g_assert_cmpuint (CALL (&f->admin, PROJECT_ADD, NULL, PROJECT), ==, 201);
  say (shop, "Add a cart", "woke");
  const char *first = ID ("id");
  end_turn (shop, "{\"outcome\": \"done\"}");
  g_assert_cmpuint (CALL (&f->client, MESSAGE_LIST, NULL, NULL), ==, 200);
  g_assert_cmpstr (TEXT ("items.0.state"), ==, "delivered");
  g_assert_cmpstr (TEXT ("items.0.turn_ended.outcome"), ==, "done");
  g_assert_cmpuint (CALL (&f->client, TIMELINE, NULL, NULL, "limit=2"), ==, 200);
  g_assert_cmpstr (TEXT ("items.0.kind"), ==, "turn.unanswered");
  g_autofree char *text = g_strdup_printf (
      "The turn ended without an answer to what it was given: message %s.", first);
  g_assert_cmpstr (TEXT ("items.0.text"), ==, text);
  srv_fixture_pass (f, 10);
  g_assert_cmpuint (shop->granted->len, ==, 0);
  srv_fixture_assert_needs (f);
  g_assert_cmpint (INT ("projects.0.needs_user"), ==, 1);
  g_assert_cmpint (INT ("needs_you.0.message"), ==, atoi (first));
  g_assert_cmpstr (TEXT ("needs_you.0.turn_ended.outcome"), ==, "done");
  /* A later turn, well or not, doesn't change it; its answer does. */
  say (shop, "And a till", "woke");
  /* Who asks anew has seen it. */
  srv_fixture_assert_needs (f);
  g_assert_cmpint (INT ("projects.0.needs_user"), ==, 0);
  end_turn (shop, CRASHED);
  g_assert_cmpuint (CALL (&f->client, PROJECT_GET, "p:~", NULL), ==, 200);
  g_assert_cmpint (INT ("waiting_messages"), ==, 1);
  g_assert_cmpuint (CALL (&f->admin, MESSAGE_ANSWER, first, "{\"text\": \"Late\"}"), ==, 200);
  g_assert_true (json_is_null (srv_fixture_get (f, "turn_ended")));
}

/* Two projects in one folder get in each other's way. */
static void
test_shared_checkout (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;

  (void) data;
  g_assert_cmpuint (CALL (&f->admin, PROJECT_ADD, NULL, PROJECT), ==, 201);
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "notes")), ==, 0);
  g_assert_cmpuint (CALL (&f->admin, PROJECT_ADD, NULL,
                          "{\"repo_url\": \"a@b.c:d/e\", \"checkout\": \"/srv/./shop/\"}"),
                    ==, 201);
  HAS ("notes.1", "(\"shop\") has the same checkout");
  g_assert_cmpuint (
      CALL (&f->admin, PROJECT_SET, "p:~", "{\"checkout\": \"/srv/shop2\"}", "repo_url=e"), ==,
      200);
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "notes")), ==, 1);
}

static void
test_refused (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;

  (void) data;
  folder_says = "is not there";
  g_assert_cmpuint (CALL (&f->admin, PROJECT_ADD, NULL,
                          "{\"repo_url\": \"a@b.c:d/e\", \"checkout\": \"/srv\", "
                          "\"foreman_command\": {\"preset\": \"cloude\"}}"),
                    ==, 422);
  PROBLEM (422, "invalid", "{\"field\": \"checkout\", \"problem\": \"\\\"/srv\\\" is not there\"}");
  PROBLEM (422, "invalid",
           "{\"field\": \"foreman_command.preset\", \"problem\": \"is no such thing\"}");
  folder_says = NULL;
  g_assert_cmpuint (CALL (&f->admin, PROJECT_ADD, NULL, "{\"repo_url\": \"a@b.c:d/e\"}"), ==, 201);
  g_assert_cmpuint (
      CALL (&f->admin, PROJECT_SET, "p:~", "{\"foreman_command\": {\"environment\": [\"A\"]}}"), ==,
      422);
  PROBLEM (422, "invalid", "has neither a preset nor a command: model and environment alone");
  g_assert_cmpuint (CALL (&f->admin, PROJECT_SET, "p:~",
                          "{\"foreman_command\": {\"preset\": \"claude\", \"command\": [\"a\"]}}"),
                    ==, 422);
  PROBLEM (422, "invalid", "has a preset and a command: it takes one of them");
  g_assert_cmpuint (
      CALL (&f->admin, PROJECT_SET, "p:~",
            "{\"foreman_command\": {\"preset\": \"claude\", \"environment\": [\"A\"]}}"),
      ==, 200);
  g_assert_cmpuint (
      CALL (&f->admin, PROJECT_SET, "p:~", "{\"foreman_command\": {\"model\": \"m\"}}"), ==, 200);
  g_assert_cmpstr (TEXT ("foreman_command.environment.0"), ==, "A");
  g_assert_cmpuint (CALL (&f->admin, PROJECT_SET, "p:~",
                          "{\"foreman_command\": {\"model\": null, \"environment\": []}}"),
                    ==, 200);
  g_assert_null (json_object_get (srv_fixture_get (f, "foreman_command"), "model"));
  g_assert_cmpstr (TEXT ("foreman_command.preset"), ==, "claude");
  /* A foreman that is named replaces all of the one before. */
  g_assert_cmpuint (
      CALL (&f->admin, PROJECT_SET, "p:~", "{\"foreman_command\": {\"command\": [\"do\"]}}"), ==,
      200);
  g_assert_cmpuint (json_object_size (srv_fixture_get (f, "foreman_command")), ==, 1);
}

/* What the engine tells a foreman is lost as little as what the user says: over it turns fail as often, and then it
 * is told and given back. */
static void
test_engines_message (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;

  (void) data;
  g_assert_cmpuint (CALL (&f->admin, PROJECT_ADD, NULL, PROJECT), ==, 201);
  g_assert_cmpuint (CALL (&f->admin, LEASE_TAKE, "p:~", "{\"holder\": \"me\"}"), ==, 201);
  const char *lease = ID ("id");
  SrvActor foreman = srv_fixture_foreman (f);
  g_assert_cmpuint (CALL (&foreman, QUESTION_ADD, "p:~", "{\"text\": \"Which one?\"}"), ==, 201);
  const char *question = ID ("id");
  g_assert_cmpuint (CALL (&f->admin, LEASE_END, lease, NULL), ==, 200);
  g_assert_cmpuint (CALL (&f->client, QUESTION_ANSWER, question, "{\"text\": \"That\"}"), ==, 200);
  for (guint i = 0; i < 3; i++)
    {
      end_turn (shop, CRASHED);
      srv_fixture_pass (f, 1 << i);
    }
  g_assert_cmpuint (shop->granted->len, ==, 0);
  srv_fixture_assert_needs (f);
  HAS ("needs_you.0.text", " was given up after 3 turns that failed over it.");
  g_assert_cmpstr (TEXT ("waiting_messages.0.author"), ==, "engine");
  g_assert_cmpstr (TEXT ("waiting_messages.0.state"), ==, "delivered");
  g_assert_cmpuint (CALL (&f->client, TIMELINE, NULL, NULL, "limit=2"), ==, 200);
  g_assert_cmpstr (TEXT ("items.0.kind"), ==, "turn.unanswered");
  g_assert_cmpuint (
      CALL (&f->admin, PROJECT_SET, "p:~", "{\"foreman_command\": {\"model\": \"large\"}}"), ==,
      200);
  g_assert_cmpint (INT ("waiting_messages"), ==, 1);
  end_turn (shop, "{\"outcome\": \"done\"}");
  srv_fixture_assert_needs (f);
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "needs_you")), ==, 0);
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "waiting_messages")), ==, 0);
}

/* However often the engine ends under a turn, that is no turn that failed; nobody else may say so. */
static void
test_stopped (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;

  (void) data;
  g_assert_cmpuint (CALL (&f->admin, PROJECT_ADD, NULL, PROJECT), ==, 201);
  say (shop, "Add a cart", "woke");
  for (guint i = 0; i < 5; i++)
    {
      end_turn (shop, "{\"stopped\": true, \"text\": \"The engine ends.\"}");
      g_assert_cmpuint (CALL (&f->client, TIMELINE, NULL, NULL, "limit=2"), ==, 200);
      g_assert_cmpstr (TEXT ("items.0.kind"), ==, "lease.ended");
      g_assert_cmpstr (TEXT ("items.0.text"), ==, "The engine ends.");
      srv_fixture_assert_needs (f);
      g_assert_cmpuint (json_array_size (srv_fixture_get (f, "needs_you")), ==, 0);
    }
  /* Nor are turns that failed forgotten over it. */
  for (guint i = 0; i < 3; i++)
    {
      end_turn (shop, i == 1 ? "{\"stopped\": true}" : CRASHED);
      srv_fixture_pass (f, 4);
    }
  end_turn (shop, CRASHED);
  srv_fixture_pass (f, 10);
  g_assert_cmpuint (shop->granted->len, ==, 0);
  g_assert_cmpuint (CALL (&f->admin, LEASE_TAKE, "p:~", "{\"holder\": \"me\"}"), ==, 201);
  g_assert_cmpuint (CALL (&f->admin, LEASE_END, ID ("id"), "{\"stopped\": true}"), ==, 422);
  PROBLEM (422, "invalid", "stopped is for the engine alone to give");
}

/* A message that names an open question answers it, and says so. */
static void
test_answers_by_name (Shop *shop, gconstpointer data)
{
  static const char *const not_named[]
      = { "#%s",          "%s",           "Question%s",  "subquestion %s",
          "question %sa", "question %s0", "question -%s" };
  SrvFixture *f = &shop->base;

  (void) data;
  g_assert_cmpuint (CALL (&f->admin, PROJECT_ADD, NULL, PROJECT), ==, 201);
  g_assert_cmpuint (CALL (&f->admin, LEASE_TAKE, "p:~", "{\"holder\": \"me\"}"), ==, 201);
  SrvActor foreman = srv_fixture_foreman (f);
  const char *ids[3];
  for (guint i = 0; i < 3; i++)
    {
      g_assert_cmpuint (CALL (&foreman, QUESTION_ADD, "p:~", "{\"text\": \"Which one?\"}"), ==,
                        201);
      ids[i] = ID ("id");
    }
  for (guint i = 0; i < G_N_ELEMENTS (not_named); i++)
    {
      g_auto (GStrv) parts = g_strsplit (not_named[i], "%s", 2);
      g_autofree char *text = g_strconcat (parts[0], ids[0], parts[1], NULL);
      say (shop, text, "leased");
      g_assert_null (strstr (TEXT ("outcome_text"), "answers"));
    }
  g_assert_cmpuint (CALL (&f->client, PROJECT_GET, "p:~", NULL), ==, 200);
  g_assert_cmpint (INT ("needs_user"), ==, 3);
  g_autofree char *first = g_strdup_printf ("QUESTION %s: the blue one", ids[0]);
  g_autofree char *says = g_strdup_printf (" It answers question %s.", ids[0]);
  say (shop, first, "leased");
  HAS ("outcome_text", says);
  gint64 message = INT ("id");
  g_assert_cmpuint (CALL (&f->client, TIMELINE, NULL, NULL, "limit=2"), ==, 200);
  g_assert_cmpstr (TEXT ("items.0.kind"), ==, "question.answered");
  g_assert_cmpstr (TEXT ("items.0.text"), ==, first);
  g_autofree char *told = g_strdup_printf ("The user's message %" G_GINT64_FORMAT
                                           " answers question %s (\"Which one?\").",
                                           message, ids[0]);
  g_assert_cmpstr (TEXT ("items.1.text"), ==, told);
  /* One that is answered isn't again; several are at once. */
  g_autofree char *rest = g_strdup_printf (
      "question 0, question %s and question #%s, question %s: yes", ids[0], ids[1], ids[2]);
  g_autofree char *both = g_strdup_printf (" It answers questions %s, %s.", ids[1], ids[2]);
  say (shop, rest, "leased");
  HAS ("outcome_text", both);
  srv_fixture_assert_needs (f);
  g_assert_cmpint (INT ("projects.0.needs_user"), ==, 0);
  g_assert_cmpuint (CALL (&f->client, QUESTION_ANSWER, ids[0], "{\"text\": \"no\"}"), ==, 409);
  PROBLEM (409, "question_answered", "is answered already");
  /* Another project's is none of this one. */
  g_assert_cmpuint (CALL (&foreman, QUESTION_ADD, "p:~", "{\"text\": \"And now?\"}"), ==, 201);
  g_autofree char *other = g_strdup_printf ("{\"text\": \"question %s: no\"}", ID ("id"));
  g_assert_cmpuint (
      CALL (&f->admin, PROJECT_ADD, NULL, "{\"repo_url\": \"https://git.example.org/a/b\"}"), ==,
      201);
  g_autofree char *target = g_strdup_printf ("p:%" G_GINT64_FORMAT, INT ("id"));
  g_assert_cmpuint (CALL (&f->client, MESSAGE_ADD, target, other), ==, 201);
  g_assert_null (strstr (TEXT ("outcome_text"), "answers"));
}

#define TEST(name) g_test_add ("/srv-turns/" #name, Shop, NULL, set_up, test_##name, tear_down)

#define MANY 500 /* messages that one lease is given at most */
#define MORE 20

static void
end_lease (SrvFixture *f, const char *body)
{
  g_assert_cmpuint (CALL (&f->admin, LEASE_TAKE, "p:~", "{\"holder\": \"hand\"}"), ==, 201);
  g_assert_cmpuint (CALL (&f->admin, LEASE_END, ID ("id"), body), ==, 200);
}

static gint64
count_waiting (SrvFixture *f)
{
  g_assert_cmpuint (CALL (&f->admin, PROJECT_GET, "p:~", NULL), ==, 200);
  return INT ("waiting_messages");
}

/* However many messages earlier turns left without an answer, those of a turn that fails wait again; and what was given
 * up is given back. */
static void
test_many_unanswered (Shop *shop, gconstpointer data)
{
  SrvFixture *f = &shop->base;

  (void) data;
  g_assert_cmpuint (
      CALL (&f->admin, PROJECT_ADD, NULL, "{\"repo_url\": \"https://git.example.org/owner/shop\"}"),
      ==, 201);
  for (guint i = 0; i < MANY + MORE; i++)
    {
      g_autofree char *text = g_strdup_printf ("{\"text\": \"message %u\"}", i);
      g_assert_cmpuint (CALL (&f->client, MESSAGE_ADD, "p:~", text), ==, 201);
    }
  end_lease (f, "{\"outcome\": \"done\"}");
  g_assert_cmpint (count_waiting (f), ==, MORE);
  end_lease (f, "{\"outcome\": \"crashed\"}");
  g_assert_cmpint (count_waiting (f), ==, MORE);
  end_lease (f, "{\"outcome\": \"crashed\"}");
  end_lease (f, "{\"outcome\": \"crashed\"}");
  g_assert_cmpint (count_waiting (f), ==, 0);
  g_assert_cmpuint (CALL (&f->admin, PROJECT_SET, "p:~", "{\"checkout\": \"/srv/shop\"}"), ==, 200);
  g_assert_cmpint (count_waiting (f), ==, MORE);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  TEST (granted);
  g_test_add_func ("/srv-turns/last-room", test_last_room);
  TEST (bound);
  TEST (cannot_start);
  TEST (set_right);
  TEST (crashes);
  TEST (pause_is_bounded);
  TEST (unanswered);
  TEST (engines_message);
  TEST (answers_by_name);
  TEST (stopped);
  TEST (many_unanswered);
  TEST (review_is_left);
  TEST (shared_checkout);
  TEST (refused);
  return g_test_run ();
}
