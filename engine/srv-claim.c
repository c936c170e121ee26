/* SPDX-License-Identifier: Apache-2.0 */
/* srv-claim: as schemas/engine.openapi.yaml describes JobClaimed and JobNone, as far as a worker uses them. */
#include "config.h"

#include "srv-claim.h"

#include <string.h>

/* One that can be a variable's value: no NUL in it. */
static gboolean
is_text (DbrJson object, const char *member)
{
  gsize length = 0;
  g_autoptr (GString) scratch = g_string_new (NULL);
  const char *text = dbr_json_string (dbr_json_get (object, member), scratch, &length);
  return text != NULL && memchr (text, '\0', length) == NULL;
}

static gboolean
is_text_or_null (DbrJson object, const char *member)
{
  return dbr_json_type (dbr_json_get (object, member)) == DBR_JSON_NULL || is_text (object, member);
}

static gboolean
is_number (DbrJson object, const char *member, gint64 from, gint64 to)
{
  gint64 number = 0;
  return dbr_json_int64 (dbr_json_get (object, member), &number) && number >= from && number <= to;
}

static gboolean
is_id (DbrJson object)
{
  return is_number (object, "id", 1, G_MAXINT64);
}

static gboolean
is_task (DbrJson task)
{
  DbrJson paths = dbr_json_get (task, "paths");
  DbrJson notes = dbr_json_get (task, "notes");
  if (!is_id (task) || !is_text (task, "title") || !is_text (task, "brief")
      || !is_text_or_null (task, "branch") || dbr_json_type (paths) != DBR_JSON_ARRAY
      || dbr_json_type (notes) != DBR_JSON_ARRAY)
    return FALSE;
  for (DbrJson path = dbr_json_first (paths); dbr_json_exists (path); path = dbr_json_next (path))
    if (dbr_json_type (path) != DBR_JSON_STRING)
      return FALSE;
  for (DbrJson note = dbr_json_first (notes); dbr_json_exists (note); note = dbr_json_next (note))
    if (!is_text (note, "text"))
      return FALSE;
  return TRUE;
}

static gboolean
is_project (DbrJson project)
{
  return is_id (project) && is_text (project, "name") && is_text (project, "repo_url")
         && is_text_or_null (project, "checkout");
}

SrvClaim
srv_claim_judge (DbrJson body)
{
  DbrJson job = dbr_json_get (body, "job");
  DbrJson waiting = dbr_json_get (body, "waiting");
  if (dbr_json_type (job) == DBR_JSON_NULL && is_text (waiting, "code")
      && is_text (waiting, "text"))
    return SRV_CLAIM_NOTHING;
  if (is_id (job) && is_number (job, "heartbeat_seconds", 0, SRV_CLAIM_MAX_PACE_S)
      && is_task (dbr_json_get (body, "task")) && is_id (dbr_json_get (body, "plan"))
      && is_project (dbr_json_get (body, "project")))
    return SRV_CLAIM_JOB;
  return SRV_CLAIM_STRANGE;
}
