/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-ops-tokens: tokens made and revoked by the admin; the tokens of leases come and go with those.
 */
#include "config.h"

#include "srv-ops.h"
#include "srv-render.h"
#include "srv-secret.h"

char *
srv_token_add (SrvCall *call, SrvToken *token)
{
  char *secret = srv_secret_new (&token->hash);

  if (!secret)
    return NULL;
  token->created = call->now;
  srv_store_add (call->store, token);
  return secret;
}

SrvReply *
srv_reply_no_random (void)
{
  return srv_reply_problem (503, "no_random_bytes", "The system gives no random bytes for a token.",
                            NULL);
}

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
  g_autofree char *secret = srv_token_add (call, token);
  if (!secret)
    return srv_reply_no_random ();
  srv_call_event (call, SRV_EVENT_TOKEN_MADE, SRV_ABOUT_NOTHING, token->id, token->name);
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
    return srv_reply_conflict ("token_of_lease", "This token is a lease's, and ends with it.",
                               NULL);
  if (token->revoked)
    return srv_reply_conflict ("token_revoked", "The token is revoked already.", NULL);
  if (is_last_admin (call, token))
    return srv_reply_conflict (
        "last_admin",
        "This is the last admin token that is good: without one nobody could make another.", NULL);
  token->revoked = call->now;
  srv_store_put (call->store, token);
  srv_call_event (call, SRV_EVENT_TOKEN_REVOKED, SRV_ABOUT_NOTHING, token->id, token->name);
  return srv_reply_json (200, srv_render_token (token));
}
