/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-problem: replies, and problem documents as RFC 9457 describes them.
 */
#include "config.h"

#include "srv-call.h"
#include "srv-codes.h"

#include <string.h>

void
srv_reply_free (SrvReply *self)
{
  if (!self)
    return;
  json_decref (self->body);
  g_free (self->etag);
  g_free (self->location);
  g_free (self);
}

SrvReply *
srv_reply_json (guint status, json_t *body)
{
  SrvReply *self = g_new0 (SrvReply, 1);

  self->status = status;
  self->body = body;
  return self;
}

static const char *
status_title (guint status)
{
  switch (status)
    {
    case 400:
      return "Bad request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not found";
    case 409:
      return "Conflict";
    case 412:
      return "Precondition failed";
    case 422:
      return "Unprocessable content";
    case 428:
      return "Precondition required";
    case 503:
      return "Service unavailable";
    case 507:
      return "Insufficient storage";
    default:
      return "Error";
    }
}

static gboolean
is_known (guint status, const char *code)
{
#define ROW(a_status, a_code) { a_status, #a_code },
  static const struct
  {
    guint status;
    const char *code;
  } known[] = { SRV_CODES (ROW) };
#undef ROW

  for (guint i = 0; i < G_N_ELEMENTS (known); i++)
    if (known[i].status == status && strcmp (known[i].code, code) == 0)
      return TRUE;
  return FALSE;
}

SrvReply *
srv_reply_problem (guint status, const char *code, const char *detail, json_t *extra)
{
  if (!is_known (status, code))
    g_critical ("the code %s with status %u is not in srv-codes.h", code, status);
  json_t *body
      = json_pack ("{s:s, s:s, s:i, s:s, s:s}", "type", "about:blank", "title",
                   status_title (status), "status", (int) status, "detail", detail, "code", code);

  if (extra)
    {
      json_object_update_missing (body, extra);
      json_decref (extra);
    }
  return srv_reply_json (status, body);
}

SrvReply *
srv_reply_missing (const char *thing, gint64 id)
{
  g_autofree char *detail = g_strdup_printf ("There is no %s %" G_GINT64_FORMAT ".", thing, id);

  return srv_reply_problem (404, "not_found", detail, NULL);
}

SrvReply *
srv_reply_forbidden (const char *code, const char *detail)
{
  return srv_reply_problem (403, code, detail, NULL);
}

SrvReply *
srv_reply_conflict (const char *code, const char *detail, json_t *extra)
{
  return srv_reply_problem (409, code, detail, extra);
}
