/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-consent: the user's yes to one request, and the state that carries the question through a
 * stateless client.
 *
 * The form shows method, origin, path as sent and decoded, the body's beginning and digest, and our own
 * sentence of the effect; no text of a backend. Its one field is a boolean. In the modern era the
 * question's state goes out and comes back with the retry: authenticated with a key of this
 * process, bound to the very request, expiring, used once. Source: MCP 2026-07-28
 * basic/patterns/mrtr; MCP 2025-11-25 client/elicitation.
 */
#pragma once

#include "dbr-access.h"
#include "dbr-text.h"
#include "protocol/dbr-tool-host.h"

G_BEGIN_DECLS

#define DBR_CONSENT_KEY \
  "confirm" /* the field's name, and the key under which inputResponses answers */
#define DBR_CONSENT_LIFETIME_S 600 /* how long a question stays answerable */
#define DBR_CONSENT_MAX_BODY 500u  /* bytes of the body that the form shows */
#define DBR_CONSENT_MAX_USED 4096u /* remembered uses; the oldest expire first */

typedef struct
{
  const char *tool;
  const char *method;
  const char *origin;
  const char *path;  /* as sent */
  const char *query; /* nullable, as sent */
  GBytes *body;      /* nullable */
  DbrAccess access;
  gboolean destroys;
  const char *effect; /* nullable: what it does, by the catalogue and the arguments */
} DbrConsentRequest;

/* The form's message (transfer full) and its requestedSchema (new reference). */
char *
dbr_consent_message (const DbrConsentRequest *request);
json_t *
dbr_consent_schema (void);

/* A fresh state for the question (transfer full). @now_us: wall clock. */
char *
dbr_consent_seal (const DbrConsentRequest *request, gint64 now_us);
typedef enum
{
  DBR_CONSENT_VALID,
  DBR_CONSENT_FORGED, /* not ours, or for another request */
  DBR_CONSENT_EXPIRED,
  DBR_CONSENT_USED,
} DbrConsentCheck;
/* Checks and uses up a state. */
DbrConsentCheck
dbr_consent_open (const DbrConsentRequest *request, const char *state, gint64 now_us);
/* What the client's inputResponses say; DBR_ASK_UNAVAILABLE when they have no answer to our
 * question. */
DbrAskOutcome
dbr_consent_read (DbrJson input_responses);

G_END_DECLS
