/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-ops-leases: leases taken by hand and by chats, prolonged and ended; those of turns end here too.
 */
#include "config.h"

#include "srv-lease.h"
#include "srv-ops.h"
#include "srv-render.h"
#include "srv-trouble.h"

#define MIN_TTL 60
#define CHAT_TTL 300

static SrvReply *
take (SrvCall *call, SrvLeaseKind kind, gint64 ttl)
{
  static const SrvMember members[] = {
    { "holder", SRV_MEMBER_NAME, SRV_MEMBER_REQUIRED, 0, 0, NULL },
    { "ttl", SRV_MEMBER_INTEGER, 0, MIN_TTL, SRV_MAX_TTL_S, NULL },
  };
  DbrJson body = call->request->body;
  SrvReply *refusal = NULL;
  g_autoptr (SrvProject) project = srv_call_project (call, &refusal);

  if (!project)
    return refusal;
  srv_call_check (call, body, "", members, G_N_ELEMENTS (members));
  if (srv_call_is_bad (call))
    return srv_call_refuse (call);
  g_autoptr (SrvLease) held = srv_lease_holding (call, project);
  if (held)
    return srv_lease_reply_held (held);
  g_autoptr (SrvLease) lease = NULL;
  g_autofree char *secret
      = srv_lease_take (call, project, kind, srv_call_text (call, body, "holder"),
                        srv_call_integer (body, "ttl", ttl), &lease);
  if (!secret)
    return srv_reply_no_random ();
  srv_store_put (call->store, project);
  json_t *answer = srv_render_lease (lease);
  json_object_set_new (answer, "token", json_string (secret));
  return srv_reply_json (201, answer);
}

SrvReply *
srv_op_LEASE_TAKE (SrvCall *call)
{
  return take (call, SRV_LEASE_HAND, SRV_ENGINE_LEASE_S);
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
    *out_refusal = srv_reply_conflict ("lease_over", "The lease has ended.", NULL);
  return *out_refusal ? NULL : g_steal_pointer (&lease);
}

/* Prolongs; no event: it decides nothing, and would fill the timeline. */
SrvReply *
srv_op_LEASE_RENEW (SrvCall *call)
{
  static const SrvMember members[]
      = { { "ttl", SRV_MEMBER_INTEGER, 0, MIN_TTL, SRV_MAX_TTL_S, NULL } };
  SrvReply *refusal = NULL;
  g_autoptr (SrvLease) lease = own_lease (call, &refusal);

  if (!lease)
    return refusal;
  srv_call_check (call, call->request->body, "", members, G_N_ELEMENTS (members));
  if (srv_call_is_bad (call))
    return srv_call_refuse (call);
  gint64 ttl = srv_call_integer (call->request->body, "ttl",
                                 lease->kind_of == SRV_LEASE_CHAT ? CHAT_TTL : SRV_ENGINE_LEASE_S);
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
    { "stopped", SRV_MEMBER_BOOLEAN, 0, 0, 0,
      NULL }, /* with the engine: says nothing of the turn */
  };
  static const char *const engines_own[] = { "reason", "stopped" };
  DbrJson body = call->request->body;
  SrvReply *refusal = NULL;
  g_autoptr (SrvLease) lease = own_lease (call, &refusal);

  if (!lease)
    return refusal;
  srv_call_check (call, body, "", members, G_N_ELEMENTS (members));
  for (guint i = 0; i < G_N_ELEMENTS (engines_own); i++)
    if (srv_call_has (body, engines_own[i]) && srv_call_actor_role (call) != 0)
      srv_call_problem (call, engines_own[i], "is for the engine alone to give");
  if (srv_call_is_bad (call))
    return srv_call_refuse (call);
  g_autoptr (SrvProject) project = srv_store_get (call->store, SRV_RECORD_PROJECT, lease->project);
  if (!project)
    return srv_reply_missing ("project", lease->project);
  const char *text = srv_call_text (call, body, "text");
  gboolean stopped = dbr_json_get_boolean (dbr_json_get (body, "stopped"));
  gboolean failed = !stopped && srv_call_word (call, body, "outcome", outcomes, 0) != 0;
  srv_lease_finish (call, project, lease, failed ? SRV_EVENT_TURN_CRASHED : SRV_EVENT_LEASE_ENDED,
                    stopped                            ? SRV_LEASE_IS_STOPPED
                    : failed                           ? SRV_LEASE_IS_FAILED
                    : lease->kind_of == SRV_LEASE_CHAT ? SRV_LEASE_IS_DETACHED
                                                       : SRV_LEASE_IS_DONE,
                    text ? text : lease->holder);
  if (!stopped)
    judge_turn (call, project, lease, failed, srv_call_text (call, body, "reason"));
  srv_store_put (call->store, project);
  return srv_reply_json (200, srv_render_lease (lease));
}
