/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-ops-leases: leases of turns and of attached chats, and the tokens of everybody.
 *
 * A secret is shown in the one answer that makes it and kept nowhere: the store has its SHA-256.
 */
#include "config.h"

#include "srv-render.h"
#include "srv-trouble.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#define SECRET_BYTES 32
#define MIN_TTL 60
#define MAX_TTL 3600
#define TURN_TTL 600
#define CHAT_TTL 300
#define MAX_DELIVERED 500u

/* -------------------------------------------------------------------- secrets */
char *
srv_secret_hash (const char *secret)
{
  return g_compute_checksum_for_string (G_CHECKSUM_SHA256, secret, -1);
}

/* NULL: the system gives no random bytes. */
char *
srv_secret_new (char **out_hash)
{
  guint8 bytes[SECRET_BYTES];
  gsize have = 0;

  while (have < sizeof (bytes))
    {
      ssize_t n = getrandom (bytes + have, sizeof (bytes) - have, 0);
      if (n < 0 && errno != EINTR)
        return NULL;
      have += n > 0 ? (gsize) n : 0;
    }
  char *text = g_base64_encode (bytes, sizeof (bytes));
  g_strdelimit (text, "+", '-');
  g_strdelimit (text, "/", '_');
  text[43] = '\0'; /* the padding */
  *out_hash = srv_secret_hash (text);
  return text;
}

/* Adds the token; its secret. NULL: none could be made. (transfer full) */
static char *
make_token (SrvCall *call, SrvToken *token)
{
  char *secret = srv_secret_new (&token->hash);

  if (!secret)
    return NULL;
  token->created = call->now;
  srv_store_add (call->store, token);
  return secret;
}

static SrvReply *
no_random (void)
{
  return srv_reply_problem (503, "no_random_bytes", "The system gives no random bytes for a token.",
                            NULL);
}

/* --------------------------------------------------------------------- leases */
SrvLease *
srv_lease_current (SrvCall *call, gint64 project)
{
  if (call->leased && !g_hash_table_contains (call->leased, &project))
    return NULL;
  g_autoptr (SrvLease) lease
      = srv_store_find_one (call->store, SRV_FIND_LEASE_LIVE, project, 0, NULL);

  if (!lease || srv_rules_lease_is_over (lease->expires, lease->ended, call->now))
    return NULL;
  return g_steal_pointer (&lease);
}

static gboolean
waits_again (const SrvMessage *message, SrvLeaseEnd end)
{
  if (message->deliveries >= SRV_MAX_DELIVERIES)
    return FALSE;
  return end == SRV_LEASE_IS_FAILED
         || (end == SRV_LEASE_IS_DETACHED && message->author == SRV_AUTHOR_USER);
}

/* Says which messages got no answer and are not delivered again by themselves. */
static void
tell_unanswered (SrvCall *call, gint64 project, GString *ids, gboolean failed)
{
  if (ids->len == 0)
    return;
  g_autofree char *text
      = g_strconcat (failed ? "Not delivered again by themselves, after " G_STRINGIFY (
                         SRV_MAX_DELIVERIES) " turns that failed over them: "
                            : "The turn ended without an answer to what it was given: ",
                     strchr (ids->str, ',') ? "messages " : "message ", ids->str, ".", NULL);
  srv_call_event (call, SRV_EVENT_TURN_UNANSWERED, project, 0, 0, 0, text);
}

/* What the lease was given and left unanswered; what an earlier one left is as it was. */
static void
take_back (SrvCall *call, SrvProject *project, SrvLeaseEnd end)
{
  g_autoptr (GPtrArray) messages = srv_store_find (call->store, SRV_FIND_MESSAGES_UNANSWERED,
                                                   project->id, 0, NULL, MAX_DELIVERED);
  g_autoptr (GString) left = g_string_new (NULL);

  for (guint i = 0; i < messages->len; i++)
    {
      SrvMessage *message = g_ptr_array_index (messages, i);
      if (message->turn_ended)
        continue;
      if (waits_again (message, end))
        {
          message->state = SRV_MESSAGE_WAITING;
          message->delivered = 0;
          project->n_waiting++;
        }
      else if (message->author == SRV_AUTHOR_ENGINE)
        {
          /* It was told; it asks for no answer. */
          message->state = SRV_MESSAGE_ANSWERED;
          message->answered = call->now;
        }
      else
        {
          message->turn_ended = call->now;
          message->turn_failed = end == SRV_LEASE_IS_FAILED;
          g_string_append_printf (left, "%s%" G_GINT64_FORMAT, left->len > 0 ? ", " : "",
                                  message->id);
        }
      srv_store_put (call->store, message);
    }
  tell_unanswered (call, project->id, left, end == SRV_LEASE_IS_FAILED);
}

static void
deliver (SrvCall *call, SrvProject *project)
{
  g_autoptr (GPtrArray) messages = srv_store_find (call->store, SRV_FIND_MESSAGES_WAITING,
                                                   project->id, 0, NULL, MAX_DELIVERED);

  for (guint i = 0; i < messages->len; i++)
    {
      SrvMessage *message = g_ptr_array_index (messages, i);
      message->state = SRV_MESSAGE_DELIVERED;
      message->delivered = call->now;
      message->deliveries++;
      message->turn_ended = message->turn_failed = 0;
      project->n_waiting--;
      srv_store_put (call->store, message);
    }
  project->wake = 0;
}

void
srv_lease_finish (SrvCall *call,
                  SrvProject *project,
                  SrvLease *lease,
                  SrvEventKind how,
                  SrvLeaseEnd end,
                  const char *text)
{
  g_autoptr (SrvToken) token = srv_store_get (call->store, SRV_RECORD_TOKEN, lease->token);

  lease->ended = call->now;
  srv_store_put (call->store, lease);
  if (token && !token->revoked)
    {
      token->revoked = call->now;
      srv_store_put (call->store, token);
    }
  take_back (call, project, end);
  srv_call_event (call, how, project->id, 0, 0, lease->id, text);
}

/* An expired lease that no tick has seen yet makes room. */
static SrvLease *
holding_lease (SrvCall *call, SrvProject *project)
{
  g_autoptr (SrvLease) lease
      = srv_store_find_one (call->store, SRV_FIND_LEASE_LIVE, project->id, 0, NULL);

  if (lease && srv_rules_lease_is_over (lease->expires, lease->ended, call->now))
    {
      srv_lease_finish (call, project, lease, SRV_EVENT_LEASE_EXPIRED, SRV_LEASE_IS_FAILED,
                        lease->holder);
      g_clear_pointer (&lease, srv_record_free);
    }
  return g_steal_pointer (&lease);
}

static char *
until (const SrvLease *lease)
{
  json_auto_t *time = srv_render_time (lease->expires);
  const char *text = json_string_value (time);

  /* To the second: people read it. */
  return g_strdup_printf ("%.19sZ", text ? text : "");
}

char *
srv_lease_outcome_text (const SrvLease *lease)
{
  g_autofree char *end = until (lease);

  return g_strdup_printf ("It waits: \"%s\" holds the lease until %s, and reads it; else the "
                          "foreman wakes for it when the lease ends.",
                          lease->holder, end);
}

static SrvReply *
lease_held (const SrvLease *lease)
{
  g_autofree char *end = until (lease);
  g_autofree char *detail
      = lease->kind_of == SRV_LEASE_CHAT ? g_strdup_printf (
            "A chat (\"%s\") is attached to the project: detach it first.", lease->holder)
        : lease->kind_of == SRV_LEASE_HAND
            ? g_strdup_printf ("\"%s\" holds lease %" G_GINT64_FORMAT
                               " of the project until %s: end it, or wait.",
                               lease->holder, lease->id, end)
            : g_strdup_printf ("A turn of the foreman (\"%s\") is running: wait for its end.",
                               lease->holder);

  return srv_reply_conflict ("lease_held", detail,
                             json_pack ("{s:o}", "lease", srv_render_lease (lease)));
}

/* Takes it for @holder, with what waits for the foreman; its secret. The caller writes @project and has looked that
 * nobody holds it. NULL: the system gives no random bytes. (transfer full) */
static char *
take_free (SrvCall *call,
           SrvProject *project,
           SrvLeaseKind kind,
           const char *holder,
           gint64 ttl,
           SrvLease **out_lease)
{
  g_autoptr (SrvLease) lease = SrvLease_new ();
  g_autoptr (SrvToken) token = SrvToken_new ();

  lease->id = srv_store_next_id (call->store);
  token->role = SRV_ROLE_FOREMAN;
  token->name = g_strdup (holder);
  token->project = project->id;
  token->lease = lease->id;
  g_autofree char *secret = make_token (call, token);
  if (!secret)
    return NULL;
  lease->project = project->id;
  lease->kind_of = kind;
  lease->holder = g_strdup (holder);
  lease->token = token->id;
  lease->created = call->now;
  lease->expires = call->now + ttl * G_USEC_PER_SEC;
  srv_store_add (call->store, lease);
  deliver (call, project);
  srv_call_event (call, SRV_EVENT_LEASE_TAKEN, project->id, 0, 0, lease->id, lease->holder);
  *out_lease = g_steal_pointer (&lease);
  return g_steal_pointer (&secret);
}

static SrvReply *
take (SrvCall *call, SrvLeaseKind kind, gint64 ttl)
{
  static const SrvMember members[] = {
    { "holder", SRV_MEMBER_NAME, SRV_MEMBER_REQUIRED, 0, 0, NULL },
    { "ttl", SRV_MEMBER_INTEGER, 0, MIN_TTL, MAX_TTL, NULL },
  };
  DbrJson body = call->request->body;
  SrvReply *refusal = NULL;
  g_autoptr (SrvProject) project = srv_call_project (call, &refusal);

  if (!project)
    return refusal;
  srv_call_check (call, body, "", members, G_N_ELEMENTS (members));
  if (srv_call_is_bad (call))
    return srv_call_refuse (call);
  g_autoptr (SrvLease) held = holding_lease (call, project);
  if (held)
    return lease_held (held);
  g_autoptr (SrvLease) lease = NULL;
  g_autofree char *secret = take_free (call, project, kind, srv_call_text (call, body, "holder"),
                                       srv_call_integer (body, "ttl", ttl), &lease);
  if (!secret)
    return no_random ();
  srv_store_put (call->store, project);
  json_t *answer = srv_render_lease (lease);
  json_object_set_new (answer, "token", json_string (secret));
  return srv_reply_json (201, answer);
}

SrvReply *
srv_op_LEASE_TAKE (SrvCall *call)
{
  return take (call, SRV_LEASE_HAND, TURN_TTL);
}

SrvReply *
srv_op_ATTACH (SrvCall *call)
{
  return take (call, SRV_LEASE_CHAT, CHAT_TTL);
}

/* The lease of the path, if it lives and is the actor's own (or the actor is the admin). */
static SrvLease *
own_lease (SrvCall *call, SrvReply **out_refusal)
{
  g_autoptr (SrvLease) lease
      = srv_call_get (call, SRV_RECORD_LEASE, call->request->id, out_refusal);

  if (!lease)
    return NULL;
  if (call->actor.role == SRV_ROLE_FOREMAN && call->actor.lease != lease->id)
    *out_refusal = srv_reply_forbidden ("not_your_lease", "This lease is another holder's.");
  else if (srv_rules_lease_is_over (lease->expires, lease->ended, call->now))
    *out_refusal = srv_reply_conflict ("lease_over", "The lease has ended: take a new one.", NULL);
  return *out_refusal ? NULL : g_steal_pointer (&lease);
}

/* Prolongs; no event: it decides nothing, and would fill the timeline. */
SrvReply *
srv_op_LEASE_RENEW (SrvCall *call)
{
  static const SrvMember members[] = { { "ttl", SRV_MEMBER_INTEGER, 0, MIN_TTL, MAX_TTL, NULL } };
  SrvReply *refusal = NULL;
  g_autoptr (SrvLease) lease = own_lease (call, &refusal);

  if (!lease)
    return refusal;
  srv_call_check (call, call->request->body, "", members, G_N_ELEMENTS (members));
  if (srv_call_is_bad (call))
    return srv_call_refuse (call);
  gint64 ttl = srv_call_integer (call->request->body, "ttl",
                                 lease->kind_of == SRV_LEASE_CHAT ? CHAT_TTL : TURN_TTL);
  lease->expires = MAX (lease->expires, call->now + ttl * G_USEC_PER_SEC);
  srv_store_put (call->store, lease);
  return srv_reply_json (200, srv_render_lease (lease));
}

/* Only the runner gives a reason: a turn that others ended says nothing of the foreman. */
static void
judge_turn (
    SrvCall *call, SrvProject *project, const SrvLease *lease, gboolean failed, const char *reason)
{
  if (lease->kind_of != SRV_LEASE_TURN)
    return;
  if (!failed)
    srv_trouble_clear (project);
  else if (reason && *reason)
    srv_trouble_of_turn (call, project, reason);
}

SrvReply *
srv_op_LEASE_END (SrvCall *call)
{
  static const char *const outcomes[] = { "done", "crashed", "timed_out", NULL };
  static const SrvMember members[] = {
    { "outcome", SRV_MEMBER_WORD, 0, 0, 0, outcomes },
    { "text", SRV_MEMBER_ANY_TEXT, SRV_MEMBER_NULLABLE, 0, 0, NULL },
    { "reason", SRV_MEMBER_ANY_TEXT, SRV_MEMBER_NULLABLE, 0, 0, NULL },
  };
  DbrJson body = call->request->body;
  SrvReply *refusal = NULL;
  g_autoptr (SrvLease) lease = own_lease (call, &refusal);

  if (!lease)
    return refusal;
  srv_call_check (call, body, "", members, G_N_ELEMENTS (members));
  if (srv_call_is_bad (call))
    return srv_call_refuse (call);
  g_autoptr (SrvProject) project = srv_store_get (call->store, SRV_RECORD_PROJECT, lease->project);
  if (!project)
    return srv_reply_missing ("project", lease->project);
  const char *text = srv_call_text (call, body, "text");
  gboolean failed = srv_call_word (call, body, "outcome", outcomes, 0) != 0;
  srv_lease_finish (call, project, lease, failed ? SRV_EVENT_TURN_CRASHED : SRV_EVENT_LEASE_ENDED,
                    failed                             ? SRV_LEASE_IS_FAILED
                    : lease->kind_of == SRV_LEASE_CHAT ? SRV_LEASE_IS_DETACHED
                                                       : SRV_LEASE_IS_DONE,
                    text ? text : lease->holder);
  judge_turn (call, project, lease, failed, srv_call_text (call, body, "reason"));
  srv_store_put (call->store, project);
  return srv_reply_json (200, srv_render_lease (lease));
}

/* ---------------------------------------------------------------------- turns */
static guint
count_turns (SrvCall *call)
{
  g_autoptr (GPtrArray) leases
      = srv_store_find (call->store, SRV_FIND_LEASES_LIVE, 0, 0, NULL, SRV_MAX_PAGE);
  guint count = 0;

  for (guint i = 0; i < leases->len; i++)
    count += ((SrvLease *) g_ptr_array_index (leases, i))->kind_of == SRV_LEASE_TURN;
  return count;
}

gboolean
srv_turns_are_full (SrvCall *call)
{
  return call->world && call->world->max_turns != 0 && count_turns (call) >= call->world->max_turns;
}

static char *
holder_of (json_t *foreman)
{
  const char *preset = json_string_value (json_object_get (foreman, "preset"));
  g_autofree char *cut = g_strdup_printf ("foreman (%.60s)", preset ? preset : "command");

  /* The preset's name is the user's text: the cut may be inside a character. */
  return g_utf8_make_valid (cut, -1);
}

/* NULL: no random bytes. */
static SrvTurn *
grant (SrvCall *call, SrvProject *project)
{
  json_auto_t *foreman = srv_render_object (project->command);
  g_autofree char *holder = holder_of (foreman);
  g_autoptr (SrvLease) lease = NULL;
  g_autofree char *secret
      = take_free (call, project, SRV_LEASE_TURN, holder, SRV_ENGINE_LEASE_S, &lease);

  if (!secret)
    return NULL;
  SrvTurn *turn = g_new0 (SrvTurn, 1);
  turn->project = project->id;
  turn->lease = lease->id;
  turn->token = g_steal_pointer (&secret);
  turn->name = g_strdup (project->name);
  turn->repo_url = g_strdup (project->repo_url);
  turn->checkout = g_strdup (project->checkout);
  turn->foreman = g_steal_pointer (&foreman);
  turn->turn_minutes = (guint) project->turn_minutes;
  return turn;
}

void
srv_turns_grant (SrvCall *call, guint max, GPtrArray *out)
{
  g_autoptr (GPtrArray) due
      = srv_store_find (call->store, SRV_FIND_PROJECTS_DUE, call->now, 0, NULL, SRV_PAGE);
  guint running = due->len > 0 ? count_turns (call) : 0;

  for (guint i = 0; i < due->len && running < max; i++)
    {
      SrvProject *project = g_ptr_array_index (due, i);
      SrvTurn *turn = srv_trouble_look (call, project, TRUE) ? grant (call, project) : NULL;
      if (turn)
        {
          g_ptr_array_add (out, turn);
          running++;
        }
      srv_store_put (call->store, project);
    }
}

/* --------------------------------------------------------------------- tokens */
SrvReply *
srv_op_TOKEN_NEW (SrvCall *call)
{
  static const char *const roles[] = { "admin", "client", "worker", NULL };
  static const SrvRole role_of[] = { SRV_ROLE_ADMIN, SRV_ROLE_CLIENT, SRV_ROLE_WORKER };
  static const SrvMember members[] = {
    { "role", SRV_MEMBER_WORD, SRV_MEMBER_REQUIRED, 0, 0, roles },
    { "name", SRV_MEMBER_NAME, SRV_MEMBER_REQUIRED, 0, 0, NULL },
  };
  DbrJson body = call->request->body;

  srv_call_check (call, body, "", members, G_N_ELEMENTS (members));
  if (srv_call_is_bad (call))
    return srv_call_refuse (call);
  g_autoptr (SrvToken) token = SrvToken_new ();
  token->role = role_of[srv_call_word (call, body, "role", roles, 1)];
  token->name = g_strdup (srv_call_text (call, body, "name"));
  g_autofree char *secret = make_token (call, token);
  if (!secret)
    return no_random ();
  srv_call_event (call, SRV_EVENT_TOKEN_MADE, 0, 0, 0, token->id, token->name);
  json_t *answer = srv_render_token (token);
  json_object_set_new (answer, "token", json_string (secret));
  return srv_reply_json (201, answer);
}

/* Is it the only token that can make others? */
static gboolean
is_last_admin (SrvCall *call, const SrvToken *token)
{
  g_autoptr (GPtrArray) admins = srv_store_find (call->store, SRV_FIND_ADMINS_LIVE, 0, 0, NULL, 2);

  return admins->len == 1 && ((SrvToken *) g_ptr_array_index (admins, 0))->id == token->id;
}

SrvReply *
srv_op_TOKEN_REVOKE (SrvCall *call)
{
  g_autoptr (SrvToken) token = srv_store_get (call->store, SRV_RECORD_TOKEN, call->request->id);

  if (!token)
    return srv_reply_missing ("token", call->request->id);
  srv_call_check (call, call->request->body, "", NULL, 0);
  if (srv_call_is_bad (call))
    return srv_call_refuse (call);
  if (token->lease)
    return srv_reply_conflict ("token_of_lease", "This token is a lease's: end the lease.", NULL);
  if (token->revoked)
    return srv_reply_conflict ("token_revoked", "The token is revoked already.", NULL);
  if (is_last_admin (call, token))
    return srv_reply_conflict (
        "last_admin", "This is the last admin token that is good: make another one first.", NULL);
  token->revoked = call->now;
  srv_store_put (call->store, token);
  srv_call_event (call, SRV_EVENT_TOKEN_REVOKED, 0, 0, 0, token->id, token->name);
  return srv_reply_json (200, srv_render_token (token));
}
