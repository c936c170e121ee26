/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-turns: which foremen wake now: their leases, taken in the transaction of what woke them.
 */
#include "config.h"

#include "srv-turns.h"

#include "srv-lease.h"
#include "srv-render.h"
#include "srv-trouble.h"

#include <string.h>

void
srv_turn_free (SrvTurn *self)
{
  if (!self)
    return;
  if (self->token)
    explicit_bzero (self->token, strlen (self->token));
  g_free (self->token);
  g_free (self->name);
  g_free (self->repo_url);
  g_free (self->checkout);
  json_decref (self->foreman);
  g_free (self);
}

static guint
count_turns (SrvCall *call)
{
  g_autoptr (GPtrArray) leases
      = srv_store_find (call->store, SRV_FIND_LEASES_LIVE, 0, 0, NULL, SRV_MAX_PAGE);
  guint count = 0;

  for (guint i = 0; i < leases->len; i++)
    count += ((SrvLease *) g_ptr_array_index (leases, i))->kind_of == SRV_LEASE_TURN;
  return count;
}

gboolean
srv_turns_are_full (SrvCall *call, gint64 project)
{
  guint max = call->world ? call->world->max_turns : 0;
  guint busy = max > 0 ? count_turns (call) : 0;

  if (busy >= max)
    return max > 0;
  /* Those that another request of the same transaction wakes have no lease yet. */
  g_autoptr (GPtrArray) due
      = srv_store_find (call->store, SRV_FIND_PROJECTS_DUE, call->now, 0, NULL, max - busy + 1);
  for (guint i = 0; i < due->len; i++)
    busy += ((SrvProject *) g_ptr_array_index (due, i))->id != project;
  return busy >= max;
}

static char *
holder_of (json_t *foreman)
{
  const char *preset = json_string_value (json_object_get (foreman, "preset"));
  g_autofree char *cut = g_strdup_printf ("foreman (%.60s)", preset ? preset : "command");

  /* The preset's name is the user's text: the cut may be inside a character. */
  return g_utf8_make_valid (cut, -1);
}

/* NULL: no random bytes. */
static SrvTurn *
grant (SrvCall *call, SrvProject *project)
{
  json_auto_t *foreman = srv_render_object (project->command);
  g_autofree char *holder = holder_of (foreman);
  g_autoptr (SrvLease) lease = NULL;
  g_autofree char *secret
      = srv_lease_take (call, project, SRV_LEASE_TURN, holder, SRV_ENGINE_LEASE_S, &lease);

  if (!secret)
    return NULL;
  SrvTurn *turn = g_new0 (SrvTurn, 1);
  turn->project = project->id;
  turn->lease = lease->id;
  turn->token = g_steal_pointer (&secret);
  turn->name = g_strdup (project->name);
  turn->repo_url = g_strdup (project->repo_url);
  turn->checkout = g_strdup (project->checkout);
  turn->foreman = g_steal_pointer (&foreman);
  turn->turn_minutes = (guint) project->turn_minutes;
  return turn;
}

void
srv_turns_grant (SrvCall *call, guint max, GPtrArray *out)
{
  g_autoptr (GPtrArray) due
      = srv_store_find (call->store, SRV_FIND_PROJECTS_DUE, call->now, 0, NULL, SRV_PAGE);
  guint running = due->len > 0 ? count_turns (call) : 0;

  for (guint i = 0; i < due->len && running < max; i++)
    {
      SrvProject *project = g_ptr_array_index (due, i);
      SrvTurn *turn = srv_trouble_look (call, project, TRUE) ? grant (call, project) : NULL;
      if (turn)
        {
          g_ptr_array_add (out, turn);
          running++;
        }
      srv_store_put (call->store, project);
    }
}
