/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-lease: taking and ending, and what that does to the messages that wait for the foreman.
 */
#include "config.h"

#include "srv-lease.h"

#include "srv-ops.h"
#include "srv-render.h"

#include <string.h>

#define MAX_DELIVERED 500u

SrvLease *
srv_lease_current (SrvCall *call, gint64 project)
{
  if (call->leased && !g_hash_table_contains (call->leased, &project))
    return NULL;
  g_autoptr (SrvLease) lease
      = srv_store_find_one (call->store, SRV_FIND_LEASE_LIVE, project, 0, NULL);

  if (!lease || srv_rules_lease_is_over (lease->expires, lease->ended, call->now))
    return NULL;
  return g_steal_pointer (&lease);
}

static gboolean
is_given_up (const SrvMessage *message, SrvLeaseEnd end)
{
  return end == SRV_LEASE_IS_FAILED && message->deliveries >= SRV_MAX_DELIVERIES;
}

static gboolean
waits_again (const SrvMessage *message, SrvLeaseEnd end)
{
  switch (end)
    {
    case SRV_LEASE_IS_STOPPED:
      return TRUE;
    case SRV_LEASE_IS_FAILED:
      return !is_given_up (message, end);
    case SRV_LEASE_IS_DETACHED:
      return message->author == SRV_AUTHOR_USER && message->deliveries < SRV_MAX_DELIVERIES;
    case SRV_LEASE_IS_DONE:
    default:
      return FALSE;
    }
}

static void
wait_again (SrvMessage *message, SrvProject *project, SrvLeaseEnd end, gboolean afresh)
{
  message->state = SRV_MESSAGE_WAITING;
  message->delivered = 0;
  if (afresh)
    message->deliveries = 0;
  else if (end == SRV_LEASE_IS_STOPPED)
    message->deliveries = MAX (message->deliveries - 1, 0);
  project->n_waiting++;
}

/* Says which messages got no answer and are not delivered again by themselves. */
static void
tell_unanswered (SrvCall *call, gint64 project, GString *ids, gboolean failed)
{
  if (ids->len == 0)
    return;
  g_autofree char *text
      = g_strconcat (failed ? "Not delivered again by themselves, after " G_STRINGIFY (
                         SRV_MAX_DELIVERIES) " turns that failed over them: "
                            : "The turn ended without an answer to what it was given: ",
                     strchr (ids->str, ',') ? "messages " : "message ", ids->str, ".", NULL);
  srv_call_event (call, SRV_EVENT_TURN_UNANSWERED, SRV_ABOUT_PROJECT (project), 0, text);
}

/* What the lease was given and left unanswered; what an earlier one left is as it was. */
static void
take_back (SrvCall *call, SrvProject *project, SrvLeaseEnd end)
{
  g_autoptr (GPtrArray) messages = srv_store_find (call->store, SRV_FIND_MESSAGES_WITH_FOREMAN,
                                                   project->id, 0, NULL, MAX_DELIVERED);
  g_autoptr (GString) left = g_string_new (NULL);
  gboolean gives_up = FALSE;

  /* Turns that failed over what is given up now may have failed over it alone: the others begin afresh. */
  for (guint i = 0; i < messages->len; i++)
    gives_up |= is_given_up (g_ptr_array_index (messages, i), end);
  for (guint i = 0; i < messages->len; i++)
    {
      SrvMessage *message = g_ptr_array_index (messages, i);
      if (waits_again (message, end))
        wait_again (message, project, end, gives_up);
      else if (message->author == SRV_AUTHOR_ENGINE && end != SRV_LEASE_IS_FAILED)
        {
          /* It was told; it asks for no answer. */
          message->state = SRV_MESSAGE_ANSWERED;
          message->answered = call->now;
        }
      else
        {
          message->turn_ended = call->now;
          message->turn_failed = end == SRV_LEASE_IS_FAILED;
          message->needs = 1;
          project->n_unanswered++;
          project->n_given_up += message->turn_failed;
          g_string_append_printf (left, "%s%" G_GINT64_FORMAT, left->len > 0 ? ", " : "",
                                  message->id);
        }
      srv_store_put (call->store, message);
    }
  tell_unanswered (call, project->id, left, end == SRV_LEASE_IS_FAILED);
}

static void
deliver (SrvCall *call, SrvProject *project)
{
  g_autoptr (GPtrArray) messages = srv_store_find (call->store, SRV_FIND_MESSAGES_WAITING,
                                                   project->id, 0, NULL, MAX_DELIVERED);

  for (guint i = 0; i < messages->len; i++)
    {
      SrvMessage *message = g_ptr_array_index (messages, i);
      message->state = SRV_MESSAGE_DELIVERED;
      message->delivered = call->now;
      message->deliveries++;
      message->turn_ended = message->turn_failed = 0;
      project->n_waiting--;
      srv_store_put (call->store, message);
    }
  project->wake = 0;
}

void
srv_lease_finish (SrvCall *call,
                  SrvProject *project,
                  SrvLease *lease,
                  SrvEventKind how,
                  SrvLeaseEnd end,
                  const char *text)
{
  g_autoptr (SrvToken) token = srv_store_get (call->store, SRV_RECORD_TOKEN, lease->token);

  lease->ended = call->now;
  srv_store_put (call->store, lease);
  if (token && !token->revoked)
    {
      token->revoked = call->now;
      srv_store_put (call->store, token);
    }
  take_back (call, project, end);
  srv_call_event (call, how, SRV_ABOUT_PROJECT (project->id), lease->id, text);
}

/* An expired lease that no tick has seen yet makes room. */
SrvLease *
srv_lease_holding (SrvCall *call, SrvProject *project)
{
  g_autoptr (SrvLease) lease
      = srv_store_find_one (call->store, SRV_FIND_LEASE_LIVE, project->id, 0, NULL);

  if (lease && srv_rules_lease_is_over (lease->expires, lease->ended, call->now))
    {
      srv_lease_finish (call, project, lease, SRV_EVENT_LEASE_EXPIRED, SRV_LEASE_IS_FAILED,
                        lease->holder);
      g_clear_pointer (&lease, srv_record_free);
    }
  return g_steal_pointer (&lease);
}

static char *
until (const SrvLease *lease)
{
  json_auto_t *time = srv_render_time (lease->expires);
  const char *text = json_string_value (time);

  /* To the second: people read it. */
  return g_strdup_printf ("%.19sZ", text ? text : "");
}

char *
srv_lease_outcome_text (const SrvLease *lease, const SrvProject *project)
{
  g_autofree char *end = until (lease);
  const char *after = srv_rules_after_lease_text (project);

  if (lease->kind_of == SRV_LEASE_HAND)
    return g_strdup_printf (
        "It waits: \"%s\" holds the lease until %s, and reads it; if it doesn't, %s.",
        lease->holder, end, after);
  return lease->kind_of == SRV_LEASE_CHAT
             ? g_strdup (srv_rules_outcome_text (SRV_OUTCOME_ATTACHED))
             : g_strdup_printf ("It waits: a turn of the foreman is running; %s.", after);
}

SrvReply *
srv_lease_reply_held (const SrvLease *lease)
{
  g_autofree char *end = until (lease);
  g_autofree char *detail
      = lease->kind_of == SRV_LEASE_CHAT ? g_strdup_printf (
            "A chat (\"%s\") is attached to the project, with lease %" G_GINT64_FORMAT
            ", which ends with it.",
            lease->holder, lease->id)
        : lease->kind_of == SRV_LEASE_HAND
            ? g_strdup_printf ("\"%s\" holds lease %" G_GINT64_FORMAT " of the project until %s.",
                               lease->holder, lease->id, end)
            : g_strdup_printf (
                "A turn of the foreman (\"%s\") is running, with lease %" G_GINT64_FORMAT
                ", which ends with it.",
                lease->holder, lease->id);

  return srv_reply_conflict ("lease_held", detail,
                             json_pack ("{s:o}", "lease", srv_render_lease (lease)));
}

char *
srv_lease_take (SrvCall *call,
                SrvProject *project,
                SrvLeaseKind kind,
                const char *holder,
                gint64 ttl_s,
                SrvLease **out_lease)
{
  g_autoptr (SrvLease) lease = SrvLease_new ();
  g_autoptr (SrvToken) token = SrvToken_new ();

  lease->id = srv_store_next_id (call->store);
  token->role = SRV_ROLE_FOREMAN;
  token->name = g_strdup (holder);
  token->project = project->id;
  token->lease = lease->id;
  g_autofree char *secret = srv_token_add (call, token);
  if (!secret)
    return NULL;
  lease->project = project->id;
  lease->kind_of = kind;
  lease->holder = g_strdup (holder);
  lease->token = token->id;
  lease->created = call->now;
  lease->expires = call->now + ttl_s * G_USEC_PER_SEC;
  srv_store_add (call->store, lease);
  deliver (call, project);
  srv_call_event (call, SRV_EVENT_LEASE_TAKEN, SRV_ABOUT_PROJECT (project->id), lease->id,
                  lease->holder);
  *out_lease = g_steal_pointer (&lease);
  return g_steal_pointer (&secret);
}
