/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random sequences of messages, turns, chats, holds and failures against a model: who holds the project, what each message
 * waits for, and whether a turn begins. The engine and the model agree after each step; and whatever happened, a foreman
 * that does its work afterwards gets everything: no project is wedged. SRV_MODEL_SEED and SRV_MODEL_ROUNDS as in
 * test-srv-model.
 */
#include "config.h"

#include "srv-fixture.h"
#include "srv-model.h"
#include "srv-rules.h"

#include <string.h>

#define CALL(actor, op, target, ...) \
  srv_fixture_call (f, actor, SRV_OP_##op, target, __VA_ARGS__, NULL)
#define MAX_MESSAGES 30u
#define STEPS 150u
#define TURN_S 600
#define CHAT_S 300

typedef struct
{
  gint64 id;
  SrvMessageState state;
  guint deliveries, text;
  gint64 sent;            /* by the wall clock */
  gboolean ended, failed; /* delivered, and the turn is over */
} Message;

typedef struct
{
  SrvFixture base;
  GRand *rand;
  gboolean has_command, held;
  gint64 lease; /* 0: nobody holds the project */
  SrvLeaseKind kind;
  gint64 expires;
  char *token, *old_token;
  guint failures;
  gint64 next; /* not before */
  Message messages[MAX_MESSAGES];
  guint n_messages;
  SrvTurn *granted; /* not looked at yet */
} Model;

/* ------------------------------------------------------------- the model's rules */
static guint
count_waiting (const Model *model)
{
  guint n = 0;

  for (guint i = 0; i < model->n_messages; i++)
    n += model->messages[i].state == SRV_MESSAGE_WAITING;
  return n;
}

static void
hold_lease (Model *model, SrvLeaseKind kind, gint64 seconds)
{
  model->kind = kind;
  model->expires = model->base.now + seconds * G_USEC_PER_SEC;
  for (guint i = 0; i < model->n_messages; i++)
    if (model->messages[i].state == SRV_MESSAGE_WAITING)
      {
        model->messages[i].state = SRV_MESSAGE_DELIVERED;
        model->messages[i].deliveries++;
        model->messages[i].ended = FALSE;
      }
}

static void
end_lease (Model *model, gboolean failed)
{
  gboolean gives_up = FALSE;

  g_free (model->old_token);
  model->old_token = g_steal_pointer (&model->token);
  model->lease = 0;
  for (guint i = 0; failed && i < model->n_messages; i++)
    gives_up |= model->messages[i].state == SRV_MESSAGE_DELIVERED && !model->messages[i].ended
                && model->messages[i].deliveries >= SRV_MAX_DELIVERIES;
  for (guint i = 0; i < model->n_messages; i++)
    {
      Message *message = &model->messages[i];
      if (message->state != SRV_MESSAGE_DELIVERED || message->ended)
        continue;
      if ((failed || model->kind == SRV_LEASE_CHAT) && message->deliveries < SRV_MAX_DELIVERIES)
        {
          message->state = SRV_MESSAGE_WAITING;
          message->deliveries = gives_up ? 0 : message->deliveries;
        }
      else
        {
          message->ended = TRUE;
          message->failed = failed;
        }
    }
}

static SrvOutcome
outcome_of (const Model *model)
{
  if (model->lease)
    return model->kind == SRV_LEASE_CHAT   ? SRV_OUTCOME_ATTACHED
           : model->kind == SRV_LEASE_HAND ? SRV_OUTCOME_LEASED
                                           : SRV_OUTCOME_TURN_RUNNING;
  if (!model->has_command)
    return SRV_OUTCOME_NO_COMMAND;
  if (model->held)
    return SRV_OUTCOME_HOLD;
  return model->next > model->base.now ? SRV_OUTCOME_TROUBLE : SRV_OUTCOME_WOKE;
}

/* ------------------------------------------------------------------- comparing */
static void
on_granted (SrvTurn *turn, gpointer user_data)
{
  Model *model = user_data;

  g_assert_null (model->granted);
  model->granted = turn;
}

/* Time, what it ends, and what then begins. */
static void
settle (Model *model, gint64 seconds)
{
  SrvFixture *f = &model->base;

  srv_fixture_pass (f, seconds);
  while (g_main_context_iteration (NULL, FALSE))
    ;
  if (model->lease && model->expires <= f->now)
    end_lease (model, TRUE);
  gboolean is_due
      = !model->lease && outcome_of (model) == SRV_OUTCOME_WOKE && count_waiting (model);
  g_assert_cmpint (model->granted != NULL, ==, is_due);
  if (!is_due)
    return;
  hold_lease (model, SRV_LEASE_TURN, TURN_S);
  model->lease = model->granted->lease;
  model->token = g_strdup (model->granted->token);
  g_clear_pointer (&model->granted, srv_turn_free);
}

static void
compare_messages (Model *model)
{
  SrvFixture *f = &model->base;
  gsize at;
  json_t *shown;

  g_assert_cmpuint (CALL (&f->client, MESSAGE_LIST, NULL, NULL, "limit=500"), ==, 200);
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "items")), ==, model->n_messages);
  json_array_foreach (srv_fixture_get (f, "items"), at, shown)
  {
    const Message *message = NULL;
    for (guint i = 0; i < model->n_messages; i++)
      if (model->messages[i].id == json_integer_value (json_object_get (shown, "id")))
        message = &model->messages[i];
    g_assert_nonnull (message);
    g_assert_cmpstr (json_string_value (json_object_get (shown, "state")), ==,
                     srv_message_state_words[message->state]);
    json_t *ended = json_object_get (shown, "turn_ended");
    g_assert_cmpint (!json_is_null (ended), ==,
                     message->state == SRV_MESSAGE_DELIVERED && message->ended);
    if (!json_is_null (ended))
      g_assert_cmpstr (json_string_value (json_object_get (ended, "outcome")), ==,
                       message->failed ? "crashed" : "done");
  }
}

static void
compare (Model *model)
{
  SrvFixture *f = &model->base;
  const char *why = NULL;
  SrvActor actor;

  g_assert_cmpuint (CALL (&f->client, PROJECT_GET, "p:~", NULL), ==, 200);
  g_assert_cmpstr (srv_fixture_text (f, "foreman"), ==,
                   model->lease ? (model->kind == SRV_LEASE_TURN ? "awake" : "attached")
                                : (model->has_command ? "asleep" : "none"));
  g_assert_cmpint (srv_fixture_int (f, "waiting_messages"), ==, count_waiting (model));
  g_assert_cmpint (!json_is_null (srv_fixture_get (f, "foreman_trouble")), ==, model->failures > 0);
  if (model->failures > 0)
    g_assert_cmpint (srv_fixture_int (f, "foreman_trouble.failures"), ==, model->failures);
  if (model->lease)
    g_assert_cmpint (srv_fixture_int (f, "lease.id"), ==, model->lease);
  compare_messages (model);
  srv_fixture_assert_needs (f);
  /* A token lives as long as its lease. */
  if (model->token)
    g_assert_true (srv_engine_authenticate (f->engine, model->token, &actor, &why));
  if (model->old_token)
    {
      g_assert_false (srv_engine_authenticate (f->engine, model->old_token, &actor, &why));
      g_assert_cmpstr (why, ==, "lease_ended");
    }
}

/* ------------------------------------------------------------------- operations */
static guint
pick (Model *model, guint n)
{
  return (guint) g_rand_int_range (model->rand, 0, (gint32) n);
}

/* What the same text would repeat now: said within a day, and not in a future that was taken back. NULL: nothing. */
static const Message *
find_said (const Model *model, guint text)
{
  gint64 wall = model->base.now + model->base.skew;

  for (guint i = 0; i < model->n_messages; i++)
    if (model->messages[i].text == text && model->messages[i].sent > wall - G_TIME_SPAN_DAY
        && model->messages[i].sent <= wall + G_TIME_SPAN_MINUTE)
      return &model->messages[i];
  return NULL;
}

static void
op_say (Model *model)
{
  SrvFixture *f = &model->base;
  gboolean again = model->n_messages > 0 && pick (model, 4) == 0;
  guint text
      = again ? model->messages[pick (model, model->n_messages)].text : model->n_messages + 1;
  const Message *said = find_said (model, text);

  if (!said && model->n_messages == MAX_MESSAGES)
    return;
  g_autofree char *body = g_strdup_printf ("{\"text\": \"message %u\"}", text);
  SrvOutcome outcome = outcome_of (model);
  g_assert_cmpuint (CALL (&f->client, MESSAGE_ADD, "p:~", body), ==, said ? 200 : 201);
  g_assert_cmpstr (srv_fixture_text (f, "outcome"), ==, srv_outcome_words[outcome]);
  g_assert_cmpint (json_is_true (srv_fixture_get (f, "repeat")), ==, said != NULL);
  if (said)
    g_assert_cmpint (srv_fixture_int (f, "id"), ==, said->id);
  else
    model->messages[model->n_messages++] = (Message){ .id = srv_fixture_int (f, "id"),
                                                      .state = SRV_MESSAGE_WAITING,
                                                      .text = text,
                                                      .sent = f->now + f->skew };
}

static void
op_answer (Model *model)
{
  SrvFixture *f = &model->base;
  const char *why = NULL;
  SrvActor foreman;

  if (!model->lease || !model->n_messages)
    return;
  Message *message = &model->messages[pick (model, model->n_messages)];
  g_assert_true (srv_engine_authenticate (f->engine, model->token, &foreman, &why));
  guint status
      = CALL (&foreman, MESSAGE_ANSWER, srv_fixture_id (message->id), "{\"text\": \"so\"}");
  g_assert_cmpuint (status, ==, message->state == SRV_MESSAGE_ANSWERED ? 409 : 200);
  message->state = SRV_MESSAGE_ANSWERED;
}

static void
op_take (Model *model)
{
  SrvFixture *f = &model->base;
  gboolean is_chat = pick (model, 2);
  guint status = is_chat ? CALL (&f->admin, ATTACH, "p:~", "{\"holder\": \"x\"}")
                         : CALL (&f->admin, LEASE_TAKE, "p:~", "{\"holder\": \"x\"}");

  if (model->lease)
    {
      srv_fixture_assert_problem (f, 409, "lease_held", "");
      return;
    }
  g_assert_cmpuint (status, ==, 201);
  hold_lease (model, is_chat ? SRV_LEASE_CHAT : SRV_LEASE_HAND, is_chat ? CHAT_S : TURN_S);
  model->lease = srv_fixture_int (f, "id");
  model->token = g_strdup (srv_fixture_text (f, "token"));
}

static void
op_renew (Model *model)
{
  SrvFixture *f = &model->base;

  if (!model->lease)
    return;
  g_assert_cmpuint (CALL (&f->admin, LEASE_RENEW, srv_fixture_id (model->lease), "{\"ttl\": 900}"),
                    ==, 200);
  model->expires = MAX (model->expires, f->now + 900 * G_USEC_PER_SEC);
}

static void
op_end (Model *model)
{
  static const char *const bodies[]
      = { "{}", "{\"outcome\": \"done\"}", "{\"outcome\": \"crashed\"}",
          "{\"outcome\": \"timed_out\", \"reason\": \"took too long\"}",
          "{\"outcome\": \"crashed\", \"reason\": \"ended with exit status 1\"}" };
  SrvFixture *f = &model->base;
  guint which = pick (model, G_N_ELEMENTS (bodies));

  if (!model->lease)
    return;
  g_assert_cmpuint (CALL (&f->runner, LEASE_END, srv_fixture_id (model->lease), bodies[which]), ==,
                    200);
  end_lease (model, which >= 2);
  if (model->kind != SRV_LEASE_TURN || which == 2)
    return;
  if (which < 2)
    model->failures = 0;
  model->next = which < 2 ? 0 : f->now + MIN (1 << MIN (model->failures, 20), 300) * G_USEC_PER_SEC;
  model->failures += which > 2;
}

static void
op_hold (Model *model, gboolean held)
{
  SrvFixture *f = &model->base;

  g_assert_cmpuint (
      CALL (&f->client, PROJECT_HOLD, "p:~", held ? "{\"held\": true}" : "{\"held\": false}"), ==,
      200);
  model->held = held;
}

/* Whoever sets the command wants it tried: what was given up waits again. */
static void
op_command (Model *model, gboolean has_command)
{
  SrvFixture *f = &model->base;

  g_assert_cmpuint (CALL (&f->admin, PROJECT_SET, "p:~",
                          has_command ? "{\"foreman_command\": {\"command\": [\"x\"]}}"
                                      : "{\"foreman_command\": null}"),
                    ==, 200);
  model->has_command = has_command;
  model->failures = 0;
  model->next = 0;
  for (guint i = 0; i < model->n_messages; i++)
    {
      Message *message = &model->messages[i];
      if (message->state != SRV_MESSAGE_DELIVERED || !message->ended || !message->failed)
        continue;
      message->state = SRV_MESSAGE_WAITING;
      message->deliveries = 0;
    }
}

/* The wall clock is set: leases and pauses go on by the other one. */
static void
op_clock (Model *model)
{
  static const gint64 steps[] = { -40 * 86400, -3600, -7, 5, 700, 3600, 86400 };

  model->base.skew += steps[pick (model, G_N_ELEMENTS (steps))] * G_USEC_PER_SEC;
}

static void
step (Model *model)
{
  switch (pick (model, 13))
    {
    case 11:
      op_clock (model);
      break;
    case 0:
    case 1:
    case 2:
      op_say (model);
      break;
    case 3:
    case 4:
      op_answer (model);
      break;
    case 5:
      op_take (model);
      break;
    case 6:
      op_renew (model);
      break;
    case 7:
    case 8:
      op_end (model);
      break;
    case 9:
      op_hold (model, pick (model, 3) == 0);
      break;
    case 10:
      if (pick (model, 4) == 0)
        op_command (model, pick (model, 4) != 0);
      break;
    default:
      settle (model, 1 + pick (model, 500));
      break;
    }
  settle (model, 0);
}

/* A foreman that works, with nothing in its way: each message is answered, or was given up with a word. */
static void
work_off (Model *model)
{
  SrvFixture *f = &model->base;

  op_hold (model, FALSE);
  settle (model, 0);
  for (guint turn = 0; turn < 4; turn++)
    {
      if (model->lease)
        {
          CALL (&f->admin, LEASE_END, srv_fixture_id (model->lease), "{\"outcome\": \"done\"}");
          g_assert_cmpuint (f->status, ==, 200);
          end_lease (model, FALSE);
          model->failures = model->kind == SRV_LEASE_TURN ? 0 : model->failures;
          model->next = model->kind == SRV_LEASE_TURN ? 0 : model->next;
        }
      if (turn == 0)
        op_command (model, TRUE);
      settle (model, 301);
      for (guint i = 0; model->lease && i < model->n_messages; i++)
        if (model->messages[i].state != SRV_MESSAGE_ANSWERED && !model->messages[i].ended)
          {
            CALL (&f->admin, MESSAGE_ANSWER, srv_fixture_id (model->messages[i].id),
                  "{\"text\": \"so\"}");
            g_assert_cmpuint (f->status, ==, 200);
            model->messages[i].state = SRV_MESSAGE_ANSWERED;
          }
      compare (model);
    }
  g_assert_cmpint (model->lease, ==, 0);
  for (guint i = 0; i < model->n_messages; i++)
    g_assert_true (model->messages[i].state == SRV_MESSAGE_ANSWERED || model->messages[i].ended);
}

static void
run_round (guint32 seed)
{
  Model model = { .rand = g_rand_new_with_seed (seed), .has_command = TRUE };
  SrvFixture *f = &model.base;

  srv_fixture_open (f, NULL);
  srv_engine_grant_turns (f->engine, 2, on_granted, &model);
  g_assert_cmpuint (CALL (&f->admin, PROJECT_ADD, NULL,
                          "{\"repo_url\": \"https://example.org/a/b\", \"checkout\": \"/srv\", "
                          "\"foreman_command\": {\"command\": [\"x\"]}}"),
                    ==, 201);
  for (guint i = 0; i < STEPS; i++)
    {
      step (&model);
      compare (&model);
    }
  work_off (&model);
  srv_fixture_close (f);
  g_rand_free (model.rand);
  g_free (model.token);
  g_free (model.old_token);
}

static void
test_model (void)
{
  srv_fixture_rounds (run_round, 20);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/srv-turns-model/agrees", test_model);
  return g_test_run ();
}
