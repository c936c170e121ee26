/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "srv-auth.h"

#include "srv-secret.h"

#include <string.h>

static const struct
{
  SrvRole role;
  const char *name;
} roles[] = {
  { SRV_ROLE_ADMIN, "admin" },
  { SRV_ROLE_CLIENT, "client" },
  { SRV_ROLE_FOREMAN, "foreman" },
  { SRV_ROLE_WORKER, "worker" },
};

const char *
srv_auth_role_name (SrvRole role)
{
  for (guint i = 0; i < G_N_ELEMENTS (roles); i++)
    if (roles[i].role == role)
      return roles[i].name;
  return "unknown";
}

const char *
srv_auth_bearer (const char *header)
{
  const char *secret;
  gsize n = 0;

  if (!header || g_ascii_strncasecmp (header, "bearer ", 7) != 0)
    return NULL;
  secret = header + 7;
  secret += strspn (secret, " ");
  while (g_ascii_isalnum (secret[n]) || secret[n] == '-' || secret[n] == '_')
    n++;
  return n == SRV_SECRET_LENGTH && secret[n] == '\0' ? secret : NULL;
}

gboolean
srv_auth_role_may (SrvOperation operation, SrvRole role)
{
  guint allowed = srv_operations[operation].roles;

  return allowed == 0 || (allowed & (guint) role) != 0;
}

/* What a refusal carries for a program: which kinds of token would do, and that a retry won't. */
static json_t *
needs (SrvOperation operation)
{
  json_t *requires = json_array ();

  for (guint i = 0; i < G_N_ELEMENTS (roles); i++)
    if (srv_auth_role_may (operation, roles[i].role))
      json_array_append_new (requires, json_string (roles[i].name));
  return json_pack ("{s:o, s:b}", "requires", requires, "retry_will_succeed", 0);
}

static SrvReply *
unauthorized (const char *code, const SrvRoute *route)
{
  static const struct
  {
    const char *code;
    const char *detail;
  } details[] = {
    { "token_missing", "This needs a token in the header \"Authorization: Bearer TOKEN\"." },
    { "token_unknown", "The engine does not know this token: it was made by another engine, or "
                       "mistyped. Trying again won't help." },
    { "token_revoked", "This token was revoked. Trying again won't help: an admin makes a new "
                       "one." },
    { "lease_ended", "The lease of this token has ended, and the token with it. Trying again won't "
                     "help: the next turn or attached chat gets its own." },
  };
  const char *detail = "This token is not good any more.";

  for (guint i = 0; i < G_N_ELEMENTS (details); i++)
    if (g_strcmp0 (details[i].code, code) == 0)
      detail = details[i].detail;
  return srv_reply_problem (401, code, detail, needs (route->operation));
}

static SrvReply *
other_project (const SrvActor *actor, const SrvRoute *route)
{
  g_autofree char *detail = g_strdup_printf ("This foreman's token is for project %" G_GINT64_FORMAT
                                             " only. Trying again won't help.",
                                             actor->project);
  json_t *extra = needs (route->operation);

  json_object_set_new (extra, "project", json_integer (actor->project));
  return srv_reply_problem (403, "wrong_project", detail, extra);
}

SrvReply *
srv_auth_judge (const SrvActor *actor, const SrvRoute *route)
{
  const char *project = srv_route_get (route, "project");

  if (!srv_auth_role_may (route->operation, actor->role))
    {
      json_t *extra = needs (route->operation);
      g_autofree char *detail = g_strdup_printf (
          "This is a %s's token, and that is not for a %s to do. Trying again won't help.",
          srv_auth_role_name (actor->role), srv_auth_role_name (actor->role));

      json_object_set_new (extra, "token", json_string (srv_auth_role_name (actor->role)));
      return srv_reply_problem (403, "wrong_role", detail, extra);
    }
  if (actor->role != SRV_ROLE_FOREMAN)
    return NULL;
  if (route->project_ref && route->id != 0 && route->id != actor->project)
    return other_project (actor, route);
  if (project && g_ascii_strtoll (project, NULL, 10) != actor->project)
    return other_project (actor, route);
  return NULL;
}

SrvReply *
srv_auth_check (SrvEngine *engine, const char *header, const SrvRoute *route, SrvActor *out_actor)
{
  const char *secret;
  const char *why = "token_unknown";

  memset (out_actor, 0, sizeof *out_actor);
  if (srv_operations[route->operation].roles == 0)
    return NULL;
  if (!header || g_ascii_strncasecmp (header, "bearer", 6) != 0)
    return unauthorized ("token_missing", route);
  secret = srv_auth_bearer (header);
  if (!secret || !srv_engine_authenticate (engine, secret, out_actor, &why))
    return unauthorized (why, route);
  return srv_auth_judge (out_actor, route);
}
