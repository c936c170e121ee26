/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz-srv-target: "METHOD PATH?QUERY" and header values from strangers: found or refused with a
 * problem, and what was found is what the table says.
 */
#include "config.h"

#include "srv-auth.h"
#include "srv-input.h"
#include "srv-secret.h"

#include <stdint.h>
#include <string.h>

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static void
check_refusal (SrvReply *reply)
{
  g_assert_cmpuint (reply->status, >=, 400);
  g_assert_cmpuint (reply->status, <, 500);
  g_assert_true (json_is_string (json_object_get (reply->body, "code")));
  g_assert_true (json_is_string (json_object_get (reply->body, "detail")));
  srv_reply_free (reply);
}

static void
check_route (SrvRoute *route, const char *method, const char *query)
{
  const SrvOperationInfo *info = &srv_operations[route->operation];
  SrvReply *refusal = srv_route_query (route, query);

  g_assert_cmpstr (info->method, ==, method);
  g_assert_true ((strchr (info->path, '{') != NULL) == (route->id > 0 || route->project_ref));
  if (refusal)
    {
      check_refusal (refusal);
      return;
    }
  for (guint i = 0; route->query[i]; i += 2)
    {
      g_assert_nonnull (route->query[i + 1]);
      g_assert_true (g_utf8_validate (route->query[i + 1], -1, NULL));
      g_assert_cmpstr (srv_route_get (route, route->query[i]), ==, route->query[i + 1]);
    }
}

static void
check_headers (const char *text)
{
  const char *secret = srv_auth_bearer (text);
  g_autofree char *version = srv_input_if_match (text);

  if (secret)
    g_assert_cmpuint (strlen (secret), ==, SRV_SECRET_LENGTH);
  if (version)
    g_assert_cmpuint (strspn (version, "0123456789"), ==, strlen (version));
  if (srv_input_key_is_good (text))
    g_assert_cmpuint (strlen (text), <=, 200);
  srv_input_type_is_json (text);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  g_autofree char *text = g_strndup ((const char *) data, size);
  char *path = strchr (text, ' ');
  char *query;
  g_auto (SrvRoute) route = { 0 };
  SrvReply *refusal;

  check_headers (text);
  if (!path)
    return 0;
  *path++ = '\0';
  query = strchr (path, '?');
  if (query)
    *query++ = '\0';
  refusal = srv_route_find (text, path, &route);
  if (refusal)
    {
      g_autofree char *allow = srv_route_allow (path);

      g_assert_true ((refusal->status == 405) == (*allow != '\0'));
      check_refusal (refusal);
    }
  else
    check_route (&route, text, query);
  return 0;
}
