/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-dispatch: from a request to its operation: may this role, does its lease still live, then the function.
 */
#include "config.h"

#include "srv-ops.h"

typedef SrvReply *(*Function) (SrvCall *call);
static const Function functions[SRV_N_OPERATIONS] = {
#define FUNCTION(name, method, path, kind, roles) srv_op_##name,
  SRV_OPERATIONS (FUNCTION)
#undef FUNCTION
};

static const char *
needed_roles (guint roles)
{
  return roles == SRV_ROLE_ADMIN ? "an admin"
         : roles == SRV_AC       ? "the user's (client) or an admin"
         : roles == SRV_AF       ? "a foreman's"
         : roles == SRV_AW       ? "a worker's"
         : roles == SRV_ACF      ? "a client, foreman or admin"
                                 : "another";
}

static SrvReply *
check_role (const SrvRequest *request)
{
  guint roles = srv_operations[request->operation].roles;

  if (roles == 0 || (roles & request->actor.role))
    return NULL;
  g_autofree char *detail
      = g_strdup_printf ("This token is a %s token; this needs %s token. Trying again won't help.",
                         request->actor.role == SRV_ROLE_CLIENT    ? "client"
                         : request->actor.role == SRV_ROLE_FOREMAN ? "foreman"
                         : request->actor.role == SRV_ROLE_WORKER  ? "worker"
                                                                   : "admin",
                         needed_roles (roles));
  return srv_reply_problem (403, "wrong_role", detail, NULL);
}

/* Likewise the token may have been revoked, while the request waited for a task or for events. */
static SrvReply *
check_token (SrvStore *store, const SrvActor *actor)
{
  g_autoptr (SrvToken) token
      = actor->token ? srv_store_get (store, SRV_RECORD_TOKEN, actor->token) : NULL;

  if (!token || !token->revoked || token->lease)
    return NULL;
  return srv_reply_problem (401, "token_revoked",
                            "This token was revoked. Trying again won't help: an admin makes a "
                            "new one.",
                            NULL);
}

/* The lease may have ended between the token's check and this transaction. */
static SrvReply *
check_lease (SrvStore *store, const SrvActor *actor, gint64 now)
{
  if (actor->role != SRV_ROLE_FOREMAN)
    return NULL;
  g_autoptr (SrvLease) lease = srv_store_get (store, SRV_RECORD_LEASE, actor->lease);
  if (lease && lease->project == actor->project
      && !srv_rules_lease_is_over (lease->expires, lease->ended, now))
    return NULL;
  return srv_reply_problem (
      401, "lease_ended",
      "This foreman's lease has ended: its turn is over. Trying again won't help.", NULL);
}

SrvReply *
srv_dispatch (SrvStore *store, const SrvWorld *world, const SrvRequest *request, gint64 now)
{
  SrvCall call;
  SrvReply *reply = check_role (request);

  if (!reply)
    reply = check_lease (store, &request->actor, now);
  if (!reply)
    reply = check_token (store, &request->actor);
  if (reply)
    return reply;
  srv_call_init (&call, store, request, now);
  call.world = world;
  reply = functions[request->operation](&call);
  srv_call_clear (&call);
  return reply;
}
