/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-trouble: see the header. What the host says comes from SrvWorld; without one every turn can start.
 */
#include "config.h"

#include "srv-trouble.h"

#include "dbr-text.h"
#include "srv-lease.h"
#include "srv-ops.h"
#include "srv-render.h"

#include <string.h>

#define MAX_NAMED 10u

/* Why no turn can start now; NULL: one can. (transfer full) */
static char *
problem_now (SrvCall *call, const SrvProject *project)
{
  const SrvWorld *world = call->world;

  if (!world || !project->command)
    return NULL;
  json_auto_t *foreman = srv_render_object (project->command);
  return world->turn_problem (foreman, project->checkout, world->data);
}

/* One line of bounded length, with no final stop: it stands within sentences. */
static char *
tidy (const char *reason)
{
  g_autofree char *cut = g_strndup (reason, SRV_TROUBLE_MAX_REASON);
  /* The cut may be inside a character; that one is left out. */
  const char *end = NULL;
  if (!g_utf8_validate (cut, -1, &end))
    cut[end - cut] = '\0';
  g_strdelimit (cut, "\n\r\t", ' ');
  g_strstrip (cut);
  gsize length = strlen (cut);
  if (length > 0 && cut[length - 1] == '.')
    cut[length - 1] = '\0';
  return g_steal_pointer (&cut);
}

static void
keep (SrvCall *call, SrvProject *project, const char *reason, gboolean ran)
{
  g_free (project->trouble_reason);
  project->trouble_reason = tidy (reason);
  project->trouble_ran = ran;
  if (project->trouble_since == 0)
    project->trouble_since = call->now;
}

static void
count_failure (SrvCall *call, SrvProject *project)
{
  gint64 doublings = CLAMP (project->trouble_failures, 0, 20);
  gint64 pause = MIN ((gint64) SRV_TROUBLE_FIRST_PAUSE_S << doublings, SRV_TROUBLE_MAX_PAUSE_S);

  project->trouble_failures = MIN (project->trouble_failures + 1, SRV_TROUBLE_MAX_FAILURES);
  project->trouble_next = call->now + pause * G_USEC_PER_SEC;
}

gboolean
srv_trouble_look (SrvCall *call, SrvProject *project, gboolean is_try)
{
  g_autofree char *problem = problem_now (call, project);

  if (!problem)
    {
      /* What kept turns from starting is gone; that turns end badly isn't known to be. */
      if (!project->trouble_ran)
        srv_trouble_clear (project);
      return TRUE;
    }
  g_autofree char *before = g_strdup (project->trouble_reason);
  gboolean is_news = project->trouble_failures == 0 || project->trouble_ran;
  keep (call, project, problem, FALSE);
  if (!is_try || project->trouble_next > call->now)
    return FALSE;
  count_failure (call, project);
  if (is_news || g_strcmp0 (before, project->trouble_reason) != 0)
    {
      g_autofree char *text
          = dbr_text_dup_sentence ("The foreman can't start: %s", project->trouble_reason);
      srv_call_engine_event (call, SRV_EVENT_TURN_CRASHED, SRV_ABOUT_PROJECT (project->id), 0,
                             text);
    }
  return FALSE;
}

void
srv_trouble_of_turn (SrvCall *call, SrvProject *project, const char *reason)
{
  if (!project->trouble_ran)
    srv_trouble_clear (project);
  keep (call, project, reason, TRUE);
  count_failure (call, project);
}

void
srv_trouble_clear (SrvProject *project)
{
  project->trouble_since = project->trouble_failures = project->trouble_next = project->trouble_ran
      = 0;
  g_clear_pointer (&project->trouble_reason, g_free);
}

/* Messages over which turns failed too often: they may go well now. */
static void
give_back (SrvCall *call, SrvProject *project)
{
  guint n;

  do
    {
      g_autoptr (GPtrArray) messages = srv_store_find (call->store, SRV_FIND_MESSAGES_GIVEN_UP,
                                                       project->id, 0, NULL, SRV_MAX_PAGE);
      n = messages->len;
      for (guint i = 0; i < n; i++)
        {
          SrvMessage *message = g_ptr_array_index (messages, i);
          message->state = SRV_MESSAGE_WAITING;
          srv_message_needs_none (message, project);
          message->delivered = message->deliveries = message->turn_ended = message->turn_failed = 0;
          project->n_waiting++;
          srv_store_put (call->store, message);
        }
    }
  while (n == SRV_MAX_PAGE);
}

void
srv_trouble_reset (SrvCall *call, SrvProject *project)
{
  srv_trouble_clear (project);
  give_back (call, project);
  srv_trouble_look (call, project, FALSE);
}

gboolean
srv_trouble_waits (const SrvProject *project, gint64 now)
{
  return project->trouble_since != 0 && project->trouble_next > now;
}

/* ----------------------------------------------------------------------- words */
static char *
reason_text (const SrvProject *project)
{
  if (!project->trouble_ran)
    return g_strdup (project->trouble_reason);
  if (project->trouble_failures <= 1)
    return g_strdup_printf ("the last turn %s", project->trouble_reason);
  return g_strdup_printf ("the last %" G_GINT64_FORMAT " turns failed, the last one %s",
                          project->trouble_failures, project->trouble_reason);
}

json_t *
srv_trouble_render (const SrvProject *project, gint64 now)
{
  if (project->trouble_since == 0)
    return json_null ();
  g_autofree char *reason = reason_text (project);
  json_t *next = srv_rules_foreman_is_coming (project)
                     ? srv_render_time (MAX (project->trouble_next, now))
                     : json_null ();
  return json_pack ("{s:o, s:I, s:s, s:o}", "since", srv_render_time (project->trouble_since),
                    "failures", (json_int_t) project->trouble_failures, "reason", reason,
                    "next_try", next);
}

/* What turns were given up over, by id: "message 5", "messages 5, 7 and more"; NULL: nothing. (transfer full) */
static char *
given_up (SrvCall *call, const SrvProject *project)
{
  g_autoptr (GPtrArray) messages = project->n_given_up > 0
                                       ? srv_store_find (call->store, SRV_FIND_MESSAGES_FAILED,
                                                         project->id, 0, NULL, MAX_NAMED + 1)
                                       : NULL;
  g_autoptr (GString) ids = g_string_new (NULL);
  guint n = messages ? messages->len : 0;

  for (guint i = 0; i < MIN (n, MAX_NAMED); i++)
    g_string_append_printf (ids, "%s%" G_GINT64_FORMAT, i > 0 ? ", " : "",
                            ((const SrvMessage *) g_ptr_array_index (messages, i))->id);
  if (n == 0)
    return NULL;
  return g_strdup_printf ("Message%s %s%s %s given up after " G_STRINGIFY (
                              SRV_MAX_DELIVERIES) " turns that failed over %s.",
                          n > 1 ? "s" : "", ids->str, n > MAX_NAMED ? " and more" : "",
                          n > 1 ? "were" : "was", n > 1 ? "them" : "it");
}

/* What is wrong, as a sentence; while a turn runs it is that of the one before. (transfer full) */
static char *
why_text (const SrvProject *project, gboolean is_running)
{
  const char *reason = project->trouble_reason;
  const char *runs = is_running ? "A turn of the foreman runs now; " : "";

  if (!project->trouble_ran)
    return is_running ? dbr_text_dup_sentence ("%sanother can't start: %s", runs, reason)
                      : dbr_text_dup_sentence ("The foreman can't run: %s", reason);
  if (project->trouble_failures <= 1)
    return dbr_text_dup_sentence ("%s %s",
                                  is_running ? "A turn of the foreman runs now; the last one"
                                             : "The foreman's last turn",
                                  reason);
  return dbr_text_dup_sentence ("%s last %" G_GINT64_FORMAT " turns failed, the last one %s",
                                is_running ? "A turn of the foreman runs now; the"
                                           : "The foreman's",
                                project->trouble_failures, reason);
}

/* When it is tried again. (transfer full) */
static char *
next_text (SrvCall *call, const SrvProject *project, const SrvLease *lease, gboolean has_lost)
{
  gint64 wait = MAX (project->trouble_next - call->now, 0);
  gint64 seconds = (wait + G_USEC_PER_SEC - 1) / G_USEC_PER_SEC;

  if (lease)
    return g_strdup_printf ("None starts while \"%s\" holds the project.", lease->holder);
  if (!srv_rules_foreman_is_coming (project))
    return g_strdup (has_lost ? "No other message waits: the next one tries again."
                              : "Nothing waits for it: the next message tries again.");
  return seconds == 0 ? g_strdup ("It is tried again now.")
                      : g_strdup_printf ("The next try is in %" G_GINT64_FORMAT " s.", seconds);
}

#define SETTING "Setting the project's preset, command, checkout, model or environment "

char *
srv_trouble_text (SrvCall *call, const SrvProject *project)
{
  g_autoptr (SrvLease) lease = srv_lease_current (call, project->id);
  gboolean is_running = lease && lease->kind_of == SRV_LEASE_TURN;
  g_autofree char *why = why_text (project, is_running);
  g_autofree char *lost = given_up (call, project);
  g_autofree char *next = next_text (call, project, lease, lost != NULL);
  GString *text = g_string_new (why);

  if (lost)
    g_string_append_printf (text, " %s", lost);
  if (!is_running)
    g_string_append_printf (text, " %s", next);
  /* While somebody holds the project a change starts nothing. */
  if (lost)
    g_string_append_printf (text, " " SETTING "gives it what was given up%s.",
                            lease ? "" : ", and tries again at once");
  else if (!lease)
    g_string_append (text, " " SETTING "tries again at once.");
  return g_string_free (text, FALSE);
}

char *
srv_trouble_outcome_text (SrvCall *call, const SrvProject *project, SrvOutcome outcome)
{
  if (project->trouble_since == 0
      || (outcome != SRV_OUTCOME_TROUBLE && outcome != SRV_OUTCOME_WOKE))
    return g_strdup (srv_rules_outcome_text (outcome));
  g_autofree char *reason = reason_text (project);
  if (outcome == SRV_OUTCOME_WOKE)
    return dbr_text_dup_sentence ("The foreman wakes for it now, though it had trouble before: %s",
                                  reason);
  g_autofree char *text = srv_trouble_text (call, project);
  return g_strdup_printf ("It waits. %s", text);
}

static gboolean
is_same_folder (const char *a, const char *b)
{
  g_autofree char *first = a ? g_canonicalize_filename (a, "/") : NULL;
  g_autofree char *second = g_canonicalize_filename (b, "/");

  return g_strcmp0 (first, second) == 0;
}

/* Of other projects by their names: links that lead there too are not followed. */
static void
note_checkout (SrvCall *call, const SrvProject *project, json_t *notes)
{
  const SrvWorld *world = call->world;
  g_autofree char *warning = world && world->checkout_note
                                 ? world->checkout_note (project->checkout, world->data)
                                 : NULL;
  g_autoptr (GPtrArray) others
      = srv_store_find (call->store, SRV_FIND_PROJECTS, 0, 0, NULL, SRV_MAX_PAGE);

  if (warning)
    json_array_append_new (notes, json_string (warning));
  for (guint i = 0; i < others->len; i++)
    {
      const SrvProject *other = g_ptr_array_index (others, i);
      if (other->id == project->id || !is_same_folder (other->checkout, project->checkout))
        continue;
      g_autofree char *text = g_strdup_printf (
          "Project %" G_GINT64_FORMAT
          " (\"%s\") has the same checkout: turns and workers of both work in one folder.",
          other->id, other->name);
      json_array_append_new (notes, json_string (text));
      return;
    }
}

json_t *
srv_trouble_notes (SrvCall *call, const SrvProject *project)
{
  json_t *notes = json_array ();

  if (!project->command)
    json_array_append_new (
        notes, json_string ("The project has no foreman: nothing wakes for its messages until a "
                            "preset or a command is set, or a chat attaches."));
  if (!project->checkout)
    json_array_append_new (
        notes, json_string (
                   "No checkout is set: turns and workers have no folder to run in until it is."));
  else
    note_checkout (call, project, notes);
  const SrvWorld *world = call->world;
  if (!world || !project->command)
    return notes;
  json_auto_t *foreman = srv_render_object (project->command);
  g_autofree char *problem
      = world->turn_problem (foreman, project->checkout ? project->checkout : "/", world->data);
  if (problem)
    {
      g_autofree char *reason = tidy (problem);
      g_autofree char *note = dbr_text_dup_sentence ("No turn can start now: %s", reason);
      json_array_append_new (notes, json_string (note));
    }
  return notes;
}
