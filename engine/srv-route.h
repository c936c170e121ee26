/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-route: from a method and a target to an operation, its ids and its query.
 *
 * Pure: no socket, no store. Everything comes from the table in srv-operations.h; which query
 * parameters an operation knows, and what they may say, stands in srv-route.c alone. What is not
 * known is refused by name, never ignored: a filter that a typing error switches off answers the
 * wrong question.
 */
#pragma once

#include "srv-engine.h"

G_BEGIN_DECLS

#define SRV_ROUTE_MAX_TARGET 8192u /* bytes of path and query together; more: 414 */
#define SRV_ROUTE_MAX_QUERY 16u    /* parameters; more: 400 */
#define SRV_ROUTE_MAX_LIMIT 500
#define SRV_ROUTE_MAX_WAIT_S 30

typedef struct
{
  SrvOperation operation;
  gint64 id;         /* the path's integer; 0: none, or "~" */
  char *project_ref; /* the segment at {project}; NULL when the path has none */
  char **query;      /* name, value, ..., NULL; decoded; NULL before srv_route_query() */
} SrvRoute;

/* Frees what it holds, not itself; all zero is empty. */
void
srv_route_clear (SrvRoute *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (SrvRoute, srv_route_clear)

/**
 * srv_route_find:
 * @method: as it came; methods are told apart by case
 * @path: the target before "?", still percent-encoded
 * @out_route: (out): emptied and filled
 *
 * Finds the operation. Ids are positive integers without leading zeros: anything else is nowhere.
 *
 * Returns: (transfer full) (nullable): %NULL when found, else the refusal: 404 not_found, 405
 * method_not_allowed, 414 target_too_long.
 */
SrvReply *
srv_route_find (const char *method, const char *path, SrvRoute *out_route);

/* The methods of a path, for the Allow header: "GET, POST"; "" when there is no such path. */
char *
srv_route_allow (const char *path);

/**
 * srv_route_query:
 * @self: with its operation
 * @query: (nullable): what follows "?", still encoded ("+" is a space)
 *
 * Decodes and checks the query.
 *
 * Returns: (transfer full) (nullable): %NULL when good, else 400 query_invalid whose errors[] name
 * each wrong parameter, or 414.
 */
SrvReply *
srv_route_query (SrvRoute *self, const char *query);

/* A parameter's value, NULL when it was not given. */
const char *
srv_route_get (const SrvRoute *self, const char *name);

/* The names that an operation knows (transfer full): for the contract test. */
char **
srv_route_parameters (SrvOperation operation);

G_END_DECLS
