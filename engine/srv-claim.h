/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-claim: what an answer to a claim is, before anything is run for it.
 *
 * Whatever listens at an address can answer 200 with some JSON: only what has the form of a job is one.
 */
#pragma once

#include "dbr-json-doc.h"

G_BEGIN_DECLS

#define SRV_CLAIM_MAX_PACE_S 86400 /* between two heartbeats */

typedef enum
{
  SRV_CLAIM_JOB, /* ids from 1, the texts, a heartbeat's interval of 0 to SRV_CLAIM_MAX_PACE_S */
  SRV_CLAIM_NOTHING, /* no job, and why: "waiting" with code and text */
  SRV_CLAIM_STRANGE, /* neither: no engine answers so */
} SrvClaim;

/* @body: the body of a 200; members that are not known are passed over. */
SrvClaim
srv_claim_judge (DbrJson body);

G_END_DECLS
