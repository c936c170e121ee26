/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-ops-messages: what the user says and the foreman answers; questions the other way; reports.
 */
#include "config.h"

#include "srv-lease.h"
#include "srv-ops.h"
#include "srv-render.h"
#include "srv-trouble.h"
#include "srv-turns.h"

#include <string.h>

#define SAME_FOR_US (24 * G_TIME_SPAN_HOUR)
#define MAX_ID_DIGITS 18u
#define SAME_AHEAD_US G_TIME_SPAN_MINUTE /* clocks are set back a little all the time */

static const SrvMember text_members[]
    = { { "text", SRV_MEMBER_TEXT, SRV_MEMBER_REQUIRED, 0, 0, NULL } };

/* The text of the body; NULL and a refusal. */
static const char *
body_text (SrvCall *call, SrvReply **out_refusal)
{
  srv_call_check (call, call->request->body, "", text_members, G_N_ELEMENTS (text_members));
  if (!srv_call_is_bad (call))
    return srv_call_text (call, call->request->body, "text");
  *out_refusal = srv_call_refuse (call);
  return NULL;
}

static gint64
hash_of (const char *text)
{
  g_autoptr (GChecksum) sum = g_checksum_new (G_CHECKSUM_SHA256);
  guint8 digest[32];
  gsize length = sizeof (digest);
  gint64 hash;

  g_checksum_update (sum, (const guchar *) text, (gssize) strlen (text));
  g_checksum_get_digest (sum, digest, &length);
  memcpy (&hash, digest, sizeof (hash));
  return hash;
}

/* What a second answer is told of the first. */
static json_t *
answer_given (const char *answer, gint64 answered)
{
  return json_pack ("{s:o, s:o}", "answer", srv_render_text (answer), "answered",
                    srv_render_time (answered));
}

/* ------------------------------------------------------------------- messages */
SrvMessage *
srv_message_send (SrvCall *call, SrvProject *project, SrvAuthor author, const char *text)
{
  SrvMessage *message = SrvMessage_new ();

  message->project = project->id;
  message->author = author;
  message->text = g_strdup (text);
  message->hash = hash_of (text);
  message->sent = call->now;
  project->n_waiting++;
  srv_store_add (call->store, message);
  if (author == SRV_AUTHOR_ENGINE)
    srv_call_engine_event (call, SRV_EVENT_MESSAGE_SENT, SRV_ABOUT_PROJECT (project->id),
                           message->id, NULL);
  else
    srv_call_event (call, SRV_EVENT_MESSAGE_SENT, SRV_ABOUT_PROJECT (project->id), message->id,
                    NULL);
  return message;
}

void
srv_message_needs_none (SrvMessage *message, SrvProject *project)
{
  project->n_unanswered -= message->needs != 0;
  project->n_given_up -= message->needs != 0 && message->turn_failed != 0;
  message->needs = 0;
}

/* Who writes again has seen what got no answer: that stays unanswered, and asks for nothing any more. */
static void
pass_over (SrvCall *call, SrvProject *project)
{
  guint n = project->n_unanswered > 0 ? SRV_MAX_PAGE : 0;

  while (n == SRV_MAX_PAGE)
    {
      g_autoptr (GPtrArray) messages = srv_store_find (
          call->store, SRV_FIND_PROJECT_MESSAGES_NEEDING, project->id, 0, NULL, SRV_MAX_PAGE);
      n = messages->len;
      for (guint i = 0; i < n; i++)
        {
          SrvMessage *message = g_ptr_array_index (messages, i);
          srv_message_needs_none (message, project);
          srv_store_put (call->store, message);
        }
    }
}

/* ------------------------------------------- questions that a message answers */
#define MAX_ANSWERED 10u /* by one message */

/* The caller writes @project. */
static void
take_answer (SrvCall *call, SrvProject *project, SrvQuestion *question, const char *text)
{
  question->state = SRV_QUESTION_ANSWERED;
  question->answer = g_strdup (text);
  question->answered = call->now;
  project->n_questions--;
  srv_store_put (call->store, question);
  srv_call_event (call, SRV_EVENT_QUESTION_ANSWERED, SRV_ABOUT_PROJECT (project->id), question->id,
                  text);
}

/* The number of the next "question 241" or "question #241" from *at on, which is moved on; 0: none. */
static gint64
next_named (const char *text, const char **at)
{
  static const char word[] = "question";
  const gsize length = strlen (word);

  for (const char *p = *at; *p; p++)
    {
      gboolean begins = p == text || !(g_ascii_isalnum (p[-1]) || p[-1] == '_');
      if (!begins || g_ascii_strncasecmp (p, word, length) != 0)
        continue;
      const char *digits = p + length + strspn (p + length, " \t\n");
      if (digits == p + length)
        continue;
      digits += *digits == '#';
      gsize n = strspn (digits, "0123456789");
      *at = digits + n;
      gint64 id = n <= MAX_ID_DIGITS ? g_ascii_strtoll (digits, NULL, 10) : 0;
      if (n > 0 && id > 0 && !g_ascii_isalpha (digits[n]) && digits[n] != '_')
        return id;
    }
  return 0;
}

/* Open questions of the project that the message names are answered by it. Their ids, "241, 243"; NULL: none.
 * (transfer full) */
static char *
answer_named (SrvCall *call, SrvProject *project, const SrvMessage *message)
{
  const char *at = message->text;
  g_autoptr (GString) ids = g_string_new (NULL);
  gint64 id;

  for (guint n = 0;
       n < MAX_ANSWERED && project->n_questions > 0 && (id = next_named (message->text, &at)) != 0;
       n++)
    {
      g_autoptr (SrvQuestion) question = srv_store_get (call->store, SRV_RECORD_QUESTION, id);
      if (!question || question->project != project->id || question->state != SRV_QUESTION_OPEN)
        continue;
      take_answer (call, project, question, message->text);
      g_string_append_printf (ids, "%s%" G_GINT64_FORMAT, ids->len > 0 ? ", " : "", id);
      g_autofree char *told = g_strdup_printf ("The user's message %" G_GINT64_FORMAT
                                               " answers question %" G_GINT64_FORMAT " (\"%s\").",
                                               message->id, id, question->text);
      srv_record_free (srv_message_send (call, project, SRV_AUTHOR_ENGINE, told));
    }
  return ids->len > 0 ? g_string_free (g_steal_pointer (&ids), FALSE) : NULL;
}

/* ------------------------------------------------------------ the user's message */
/* The user's same text within a day. */
static SrvMessage *
find_same (SrvCall *call, gint64 project, const char *text)
{
  g_autoptr (GPtrArray) found = srv_store_find (call->store, SRV_FIND_MESSAGES_SAME, project,
                                                hash_of (text), NULL, SRV_PAGE);

  /* The oldest of the day, so that what repeats a repeat is still told of the first. */
  for (guint i = found->len; i > 0; i--)
    {
      SrvMessage *message = g_ptr_array_index (found, i - 1);
      if (message->author == SRV_AUTHOR_USER && message->sent > call->now - SAME_FOR_US
          && message->sent <= call->now + SAME_AHEAD_US && strcmp (message->text, text) == 0)
        return g_ptr_array_steal_index (found, i - 1);
    }
  return NULL;
}

static json_t *
render_sent (SrvCall *call,
             const SrvProject *project,
             const SrvMessage *message,
             gboolean is_repeat)
{
  g_autoptr (SrvLease) lease = srv_lease_current (call, project->id);
  SrvOutcome outcome = srv_rules_outcome (project->command != NULL, project->held != 0,
                                          srv_trouble_waits (project, call->now), lease != NULL,
                                          lease ? (SrvLeaseKind) lease->kind_of : 0);
  if (outcome == SRV_OUTCOME_WOKE && srv_turns_are_full (call, project->id))
    outcome = SRV_OUTCOME_BUSY;
  g_autofree char *line = lease ? srv_lease_outcome_text (lease, project)
                                : srv_trouble_outcome_text (call, project, outcome);
  json_t *body = srv_render_message (call, message);

  json_object_set_new (body, "repeat", json_boolean (is_repeat));
  json_object_set_new (body, "first_sent", srv_render_time (message->sent));
  json_object_set_new (body, "outcome", json_string (srv_outcome_words[outcome]));
  if (is_repeat)
    {
      gboolean is_stuck = outcome == SRV_OUTCOME_TROUBLE && message->state != SRV_MESSAGE_ANSWERED;
      char *repeat
          = g_strconcat ("Nothing was sent: this text was sent before, within 24 hours. To "
                         "send it anew, say it in other words.",
                         is_stuck ? " " : NULL, line, NULL);
      g_free (line);
      line = repeat;
    }
  json_object_set_new (body, "outcome_text", json_string (line));
  return body;
}

/* The one who asks is told at once when no turn can start. */
static void
look_for_turn (SrvCall *call, SrvProject *project)
{
  g_autoptr (SrvLease) lease = srv_lease_current (call, project->id);

  if (!lease && !project->held)
    srv_trouble_look (call, project, TRUE);
}

SrvReply *
srv_op_MESSAGE_ADD (SrvCall *call)
{
  SrvReply *refusal = NULL;
  g_autoptr (SrvProject) project = srv_call_project (call, &refusal);
  const char *text = project ? body_text (call, &refusal) : NULL;

  if (!text)
    return refusal;
  g_autoptr (SrvMessage) same = find_same (call, project->id, text);
  if (same)
    return srv_reply_json (200, render_sent (call, project, same, TRUE));
  pass_over (call, project);
  g_autoptr (SrvMessage) message = srv_message_send (call, project, SRV_AUTHOR_USER, text);
  look_for_turn (call, project);
  g_autofree char *answered = answer_named (call, project, message);
  srv_store_put (call->store, project);
  json_t *body = render_sent (call, project, message, FALSE);
  if (answered)
    {
      g_autofree char *line
          = g_strdup_printf ("%s It answers question%s %s.",
                             json_string_value (json_object_get (body, "outcome_text")),
                             strchr (answered, ',') ? "s" : "", answered);
      json_object_set_new (body, "outcome_text", json_string (line));
    }
  return srv_reply_json (201, body);
}

SrvReply *
srv_op_MESSAGE_ANSWER (SrvCall *call)
{
  SrvReply *refusal = NULL;
  g_autoptr (SrvMessage) message
      = srv_call_get (call, SRV_RECORD_MESSAGE, call->request->id, &refusal);
  const char *text = message ? body_text (call, &refusal) : NULL;

  if (!text)
    return refusal;
  g_autoptr (SrvProject) project
      = srv_store_get (call->store, SRV_RECORD_PROJECT, message->project);
  if (!project)
    return srv_reply_missing ("project", message->project);
  if (message->state >= SRV_MESSAGE_ANSWERED)
    {
      g_autofree char *detail
          = g_strdup_printf ("Message %" G_GINT64_FORMAT " is answered already.", message->id);
      return srv_reply_conflict ("message_answered", detail,
                                 answer_given (message->answer, message->answered));
    }
  if (message->state == SRV_MESSAGE_WAITING)
    {
      project->n_waiting--;
      message->delivered = call->now;
    }
  srv_message_needs_none (message, project);
  srv_store_put (call->store, project);
  message->state = SRV_MESSAGE_ANSWERED;
  message->answer = g_strdup (text);
  message->answered = call->now;
  message->turn_ended = message->turn_failed = 0;
  srv_store_put (call->store, message);
  srv_call_event (call, SRV_EVENT_MESSAGE_ANSWERED, SRV_ABOUT_PROJECT (message->project),
                  message->id, NULL);
  return srv_reply_json (200, srv_render_message (call, message));
}

/* -------------------------------------------------------------------- reports */
SrvReply *
srv_op_REPORT_ADD (SrvCall *call)
{
  SrvReply *refusal = NULL;
  g_autoptr (SrvProject) project = srv_call_project (call, &refusal);
  const char *text = project ? body_text (call, &refusal) : NULL;
  g_autoptr (SrvReport) report = SrvReport_new ();

  if (!text)
    return refusal;
  report->project = project->id;
  report->text = g_strdup (text);
  report->at = call->now;
  srv_store_add (call->store, report);
  project->report = report->id;
  srv_store_put (call->store, project);
  srv_call_event (call, SRV_EVENT_REPORT_MADE, SRV_ABOUT_PROJECT (project->id), report->id, text);
  return srv_reply_json (201, srv_render_report (report));
}

/* ------------------------------------------------------------------ questions */
#define MAX_OPTIONS 20
#define MAX_OPTION 500

/* The options as compact JSON. */
static char *
read_options (SrvCall *call, DbrJson array)
{
  json_auto_t *list = json_array ();
  guint i = 0;

  for (DbrJson v = dbr_json_first (array); dbr_json_exists (v) && i < MAX_OPTIONS;
       v = dbr_json_next (v), i++)
    {
      g_autofree char *field = g_strdup_printf ("options[%u]", i);
      const char *option = srv_call_element_text (call, v, field, MAX_OPTION);
      if (option)
        json_array_append_new (list, json_string (option));
    }
  return json_dumps (list, JSON_COMPACT);
}

SrvReply *
srv_op_QUESTION_ADD (SrvCall *call)
{
  static const SrvMember members[] = {
    { "text", SRV_MEMBER_TEXT, SRV_MEMBER_REQUIRED, 0, 0, NULL },
    { "options", SRV_MEMBER_ARRAY, 0, 0, MAX_OPTIONS, NULL },
  };
  DbrJson body = call->request->body;
  SrvReply *refusal = NULL;
  g_autoptr (SrvProject) project = srv_call_project (call, &refusal);
  g_autoptr (SrvQuestion) question = SrvQuestion_new ();

  if (!project)
    return refusal;
  srv_call_check (call, body, "", members, G_N_ELEMENTS (members));
  question->options = read_options (call, dbr_json_get (body, "options"));
  if (srv_call_is_bad (call))
    return srv_call_refuse (call);
  question->project = project->id;
  question->text = g_strdup (srv_call_text (call, body, "text"));
  question->asked = call->now;
  project->n_questions++;
  srv_store_add (call->store, question);
  srv_store_put (call->store, project);
  srv_call_event (call, SRV_EVENT_QUESTION_ASKED, SRV_ABOUT_PROJECT (project->id), question->id,
                  question->text);
  return srv_reply_json (201, srv_render_question (call, question));
}

/* The answer reaches the foreman as a message that quotes the question. */
SrvReply *
srv_op_QUESTION_ANSWER (SrvCall *call)
{
  SrvReply *refusal = NULL;
  g_autoptr (SrvQuestion) question
      = srv_call_get (call, SRV_RECORD_QUESTION, call->request->id, &refusal);
  const char *text = question ? body_text (call, &refusal) : NULL;

  if (!text)
    return refusal;
  g_autoptr (SrvProject) project
      = srv_store_get (call->store, SRV_RECORD_PROJECT, question->project);
  if (!project)
    return srv_reply_missing ("project", question->project);
  if (question->state == SRV_QUESTION_ANSWERED)
    {
      g_autofree char *detail
          = g_strdup_printf ("Question %" G_GINT64_FORMAT " is answered already.", question->id);
      return srv_reply_conflict ("question_answered", detail,
                                 answer_given (question->answer, question->answered));
    }
  take_answer (call, project, question, text);
  g_autofree char *said
      = g_strdup_printf ("The user answered question %" G_GINT64_FORMAT " (\"%s\"): %s",
                         question->id, question->text, text);
  g_autoptr (SrvMessage) message = srv_message_send (call, project, SRV_AUTHOR_ENGINE, said);
  srv_store_put (call->store, project);
  return srv_reply_json (200, srv_render_question (call, question));
}
