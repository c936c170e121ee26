/* SPDX-License-Identifier: Apache-2.0 */
/* dbr-call-ask: the gate in front of one request, and the question to the user. See
 * dbr-call-priv.h. */
#include "config.h"

#include "call/dbr-call-priv.h"

static void
describe (const DbrPart *part, const DbrWireRequest *wire, DbrConsentRequest *out)
{
  const DbrCall *self = part->step->call;

  out->tool = self->tool->name;
  out->method = wire->method;
  out->origin = dbr_backend_origin (self->backend);
  out->path = wire->path;
  out->query = wire->query ? wire->query->str : NULL;
  out->body = wire->body;
  out->access = wire->access;
  out->destroys = part->step->def->destroys;
}

/* The catalogue's sentence on what the request does, NULL when it has none (transfer full). */
static char *
effect_of (const DbrPart *part)
{
  const DbrTemplate *template = part->step->def->effect;
  g_autoptr (GString) text = g_string_new (NULL);
  DbrJsonPathEnv env;
  gboolean any;

  if (template == NULL
      || !dbr_template_expand (template, dbr_call_env (part->step->call, part->item, &env), text,
                               &any, NULL))
    return NULL;
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static void
refuse (DbrPart *part, const DbrWireRequest *wire, DbrRefusal refusal, const char *detail)
{
  DbrCall *self = part->step->call;
  g_autofree char *what
      = g_strdup_printf ("%s %s%s", wire->method, dbr_backend_origin (self->backend), wire->path);

  dbr_call_finish (self,
                   dbr_gate_refuse (self->gate, self->tool, refusal, wire->access, what, detail));
}

/* Ends the call with a question; the client's retry walks the same way again and brings the answer.
 */
static void
ask_stateless (DbrPart *part, const DbrConsentRequest *question)
{
  DbrCall *self = part->step->call;
  DbrCallResult *result = g_new0 (DbrCallResult, 1);

  result->input_required = TRUE;
  result->ask_message = dbr_consent_message (question);
  result->ask_schema = dbr_consent_schema ();
  result->request_state = dbr_consent_seal (question, self->now_us);
  dbr_call_finish (self, result);
}

/* A retry: the state must be ours, for this very request, fresh and unused; then the answer counts.
 */
static gboolean
read_answer (DbrPart *part, DbrWireRequest *wire, const DbrConsentRequest *question)
{
  DbrCall *self = part->step->call;
  DbrAskOutcome outcome;

  switch (dbr_consent_open (question, self->request_state, self->now_us))
    {
    case DBR_CONSENT_FORGED:
      refuse (part, wire, DBR_REFUSED_UNCONFIRMED,
              "the requestState is not one that this server gave out for this request");
      return FALSE;
    case DBR_CONSENT_EXPIRED:
      refuse (part, wire, DBR_REFUSED_UNCONFIRMED, "the answer came too late");
      return FALSE;
    case DBR_CONSENT_USED:
      refuse (part, wire, DBR_REFUSED_UNCONFIRMED, "that yes was used already");
      return FALSE;
    case DBR_CONSENT_VALID:
    default:
      break;
    }
  outcome = dbr_consent_read (self->input_responses);
  if (outcome == DBR_ASK_ACCEPTED)
    {
      self->has_consent = TRUE;
      return TRUE;
    }
  refuse (part, wire, DBR_REFUSED_UNCONFIRMED,
          outcome == DBR_ASK_DECLINED    ? "the user declined"
          : outcome == DBR_ASK_CANCELLED ? "the question was closed without an answer"
                                         : "no answer to it came");
  return FALSE;
}

static void
ask_inline (DbrPart *part, DbrWireRequest *wire, const DbrConsentRequest *question)
{
  DbrCall *self = part->step->call;
  g_autofree char *message = dbr_consent_message (question);
  json_auto_t *schema = dbr_consent_schema ();

  part->step->state = DBR_STEP_ASKING;
  self->asking_part = part;
  self->asking_wire = g_new (DbrWireRequest, 1);
  *self->asking_wire = *wire;
  *wire = (DbrWireRequest){ 0 }; /* handed over */
  self->asked_at_us = g_get_monotonic_time ();
  self->events.ask (self->user_data, message, schema);
}

gboolean
dbr_call_pass_gate (DbrPart *part, DbrWireRequest *wire)
{
  DbrCall *self = part->step->call;
  DbrGateState state = dbr_gate_state (self->gate, wire->access);
  DbrConsentRequest question = { 0 };
  g_autofree char *effect = NULL;

  if (wire->access == DBR_ACCESS_DENIED || state == DBR_GATE_SHUT)
    {
      refuse (part, wire,
              wire->access == DBR_ACCESS_DENIED ? DBR_REFUSED_DENIED : DBR_REFUSED_ACCESS, NULL);
      return FALSE;
    }
  if (wire->access == DBR_ACCESS_READ)
    return TRUE;
  if (wire->access != DBR_ACCESS_DELETE && !part->step->def->confirm && state == DBR_GATE_OPEN)
    return TRUE;
  if (self->assume_yes)
    {
      self->has_consent = TRUE;
      return TRUE;
    }
  describe (part, wire, &question);
  effect = effect_of (part);
  question.effect = effect;
  switch (self->asking)
    {
    case DBR_ASKING_INLINE:
      ask_inline (part, wire, &question);
      return FALSE;
    case DBR_ASKING_STATELESS:
      if (self->request_state)
        return read_answer (part, wire, &question);
      ask_stateless (part, &question);
      return FALSE;
    case DBR_ASKING_IMPOSSIBLE:
    default:
      break;
    }
  if (state == DBR_GATE_ASK)
    {
      refuse (part, wire, DBR_REFUSED_UNASKABLE, NULL);
      return FALSE;
    }
  self->flag_decided = TRUE;
  return TRUE;
}
