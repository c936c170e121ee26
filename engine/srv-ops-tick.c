/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-ops-tick: what time does: leases run out, silent jobs are lost, hours open.
 */
#include "config.h"

#include "srv-lease.h"
#include "srv-ops.h"
#include "srv-render.h"
#include "srv-trouble.h"

#define AT_ONCE 500u     /* things of one kind in one tick; the next one takes the rest */
#define OPEN_AT_ONCE 20u /* plans: each may cost a whole judgement of its paths */
#define KEEP_REPLAYS_US (24 * G_TIME_SPAN_HOUR)

static void
expire_leases (SrvCall *call)
{
  g_autoptr (GPtrArray) leases
      = srv_store_find (call->store, SRV_FIND_LEASES_LIVE, 0, 0, NULL, AT_ONCE);

  for (guint i = 0; i < leases->len; i++)
    {
      SrvLease *lease = g_ptr_array_index (leases, i);
      g_autoptr (SrvProject) project = NULL;
      if (!srv_rules_lease_is_over (lease->expires, lease->ended, call->now))
        break;
      project = srv_store_get (call->store, SRV_RECORD_PROJECT, lease->project);
      if (!project)
        continue;
      srv_lease_finish (call, project, lease, SRV_EVENT_LEASE_EXPIRED, SRV_LEASE_IS_FAILED,
                        lease->holder);
      srv_store_put (call->store, project);
    }
}

static void
lose_jobs (SrvCall *call)
{
  gint64 silent_since = call->now - srv_rules_lost_at (0, srv_world_heartbeat_s (call->world));
  g_autoptr (GPtrArray) jobs
      = srv_store_find (call->store, SRV_FIND_JOBS_SILENT, silent_since, 0, NULL, AT_ONCE);

  for (guint i = 0; i < jobs->len; i++)
    srv_job_lose (call, g_ptr_array_index (jobs, i));
}

/* TRUE: it was opened, or judged anew. */
static gboolean
open_window (SrvCall *call, const SrvPlan *plan)
{
  SrvReply *refusal = NULL;

  if (plan->waits_hours && !srv_hours_open (plan->waits_hours, call->now))
    return FALSE;
  g_autoptr (SrvPlanSet) set = srv_plan_set_load (call, plan->id, &refusal);
  srv_reply_free (refusal);
  if (!set)
    return FALSE;
  set->plan->version++;
  srv_plan_set_open (call, set);
  srv_plan_set_settle (call, set);
  return TRUE;
}

/* Plans whose own hours have come: those that they were judged by. */
static void
open_windows (SrvCall *call)
{
  gint64 after = 0;
  guint opened = 0, n;

  do
    {
      g_autoptr (GPtrArray) plans
          = srv_store_find (call->store, SRV_FIND_PLANS_BY_CLOCK, after, 0, NULL, SRV_PAGE);
      n = plans->len;
      for (guint i = 0; i < n && opened < OPEN_AT_ONCE; i++)
        {
          const SrvPlan *plan = g_ptr_array_index (plans, i);
          opened += open_window (call, plan);
          after = plan->id;
        }
    }
  while (n == SRV_PAGE && opened < OPEN_AT_ONCE);
}

void
srv_op_clock (SrvCall *call, gint64 step)
{
  g_autoptr (GPtrArray) leases
      = srv_store_find (call->store, SRV_FIND_LEASES_LIVE, 0, 0, NULL, G_MAXINT32);
  g_autoptr (GPtrArray) jobs
      = srv_store_find (call->store, SRV_FIND_JOBS_RUNNING, 0, 0, NULL, G_MAXINT32);
  g_autoptr (GPtrArray) projects
      = srv_store_find (call->store, SRV_FIND_PROJECTS_TROUBLED, 0, 0, NULL, G_MAXINT32);
  gint64 latest_try = call->now + (gint64) SRV_TROUBLE_MAX_PAUSE_S * G_USEC_PER_SEC;

  for (guint i = 0; i < leases->len; i++)
    {
      SrvLease *lease = g_ptr_array_index (leases, i);
      lease->expires = MAX (lease->expires + step, 1);
      srv_store_put (call->store, lease);
    }
  for (guint i = 0; i < jobs->len; i++)
    {
      SrvJob *job = g_ptr_array_index (jobs, i);
      job->heartbeat = CLAMP (job->heartbeat + step, 1, call->now);
      /* They are told as durations. */
      job->started = CLAMP (job->started + step, 1, call->now);
      if (job->latest_at != 0)
        job->latest_at = CLAMP (job->latest_at + step, 1, call->now);
      srv_store_put (call->store, job);
    }
  for (guint i = 0; i < projects->len; i++)
    {
      SrvProject *project = g_ptr_array_index (projects, i);
      if (project->trouble_next == 0)
        continue;
      project->trouble_next = CLAMP (project->trouble_next + step, 1, latest_try);
      srv_store_put (call->store, project);
    }
}

SrvReply *
srv_op_tick (SrvCall *call)
{
  expire_leases (call);
  lose_jobs (call);
  open_windows (call);
  srv_store_forget_replays (call->store, call->now - KEEP_REPLAYS_US);
  return srv_reply_json (200, NULL);
}
