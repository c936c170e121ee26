/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-auth: who asks, and whether they may.
 *
 * One table decides, operation x role, and it is srv-operations.h. A foreman besides reaches its
 * own project only: what names a project in path or query is refused here, what names it through a
 * plan, a task or a message by the core, with the same code. Tokens come in the Authorization
 * header alone, never in a query (queries end up in logs).
 */
#pragma once

#include "srv-route.h"

G_BEGIN_DECLS

/**
 * srv_auth_bearer:
 * @header: (nullable): the Authorization header's value; several joined by commas
 *
 * The secret of "Bearer SECRET" (the scheme in any case), or %NULL when it is anything else: absent,
 * another scheme, more than one, not of a token's form. Transfer none: points into @header.
 * Source: RFC 6750 section 2.1.
 */
const char *
srv_auth_bearer (const char *header);

/* Whether a role may do an operation at all (nobody needs a token for those without roles). */
gboolean
srv_auth_role_may (SrvOperation operation, SrvRole role);

/**
 * srv_auth_check:
 * @engine: knows the tokens
 * @header: (nullable): the Authorization header's value
 * @route: with its operation, id and query (the query may still be missing)
 * @out_actor: (out): who it is; its name belongs to the engine
 *
 * Returns: (transfer full) (nullable): %NULL when they may, else the refusal: 401 token_missing,
 * token_unknown, token_revoked, lease_ended; 403 wrong_role, wrong_project. A refusal says
 * what is needed and that trying again does not help.
 */
SrvReply *
srv_auth_check (SrvEngine *engine, const char *header, const SrvRoute *route, SrvActor *out_actor);

/* The second half, without an engine: may this actor do that? */
SrvReply *
srv_auth_judge (const SrvActor *actor, const SrvRoute *route);

/* "admin", "client", "foreman", "worker". */
const char *
srv_auth_role_name (SrvRole role);

G_END_DECLS
