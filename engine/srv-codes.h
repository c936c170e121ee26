/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-codes: every code that a problem document of the engine may have, with its status.
 *
 * Codes are stable: programs decide by them. srv_reply_problem() takes no other ones; a test holds the OpenAPI document
 * to this list, both ways.
 */
#pragma once

/* X (status, code): a row for each pair that there is */
/* clang-format off */
#define SRV_CODES(X) \
  X (400, bad_request) \
  X (400, body_invalid) \
  X (400, body_unexpected) \
  X (400, idempotency_key_invalid) \
  X (400, if_match_invalid) \
  X (400, query_invalid) \
  X (401, lease_ended) \
  X (401, token_missing) \
  X (401, token_revoked) \
  X (401, token_unknown) \
  X (403, hold_not_yours) \
  X (403, not_your_job) \
  X (403, not_your_lease) \
  X (403, wrong_project) \
  X (403, wrong_role) \
  X (404, no_project) \
  X (404, not_found) \
  X (405, method_not_allowed) \
  X (408, request_timeout) \
  X (409, job_over) \
  X (409, last_admin) \
  X (409, lease_held) \
  X (409, lease_over) \
  X (409, message_answered) \
  X (409, plan_changed) \
  X (409, plan_not_waiting) \
  X (409, plan_over) \
  X (409, project_busy) \
  X (409, project_exists) \
  X (409, project_needed) \
  X (409, project_removed) \
  X (409, question_answered) \
  X (409, secret_gone) \
  X (409, sequence_used) \
  X (409, task_cancelled) \
  X (409, task_not_failed) \
  X (409, task_not_in_review) \
  X (409, task_not_open) \
  X (409, token_of_lease) \
  X (409, token_revoked) \
  X (411, length_required) \
  X (412, version_conflict) \
  X (413, body_too_large) \
  X (414, target_too_long) \
  X (415, media_type) \
  X (422, idempotency_mismatch) \
  X (422, invalid) \
  X (422, reasons_needed) \
  X (428, if_match_needed) \
  X (431, head_too_large) \
  X (503, busy) \
  X (503, no_random_bytes) \
  X (503, stopping) \
  X (503, store_damaged) \
  X (503, store_failed) \
  X (503, store_read_only) \
  X (503, store_replaced) \
  X (503, too_many_connections) \
  X (507, store_full)
/* clang-format on */
