/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-input: what a request brings besides its target: its body and its headers, read strictly.
 *
 * Pure. A body is one JSON object of valid UTF-8, at most 64 deep, in which no object says a key
 * twice (two readers would take two meanings from it) and no text holds a NUL (it would end there
 * for some and not for others).
 */
#pragma once

#include "srv-engine.h"

G_BEGIN_DECLS

#define SRV_INPUT_MAX_BYTES (1024u * 1024)
#define SRV_INPUT_MAX_DEPTH 64u

/**
 * srv_input_parse:
 * @bytes: at most SRV_INPUT_MAX_BYTES
 * @out_doc: (out) (transfer full): the document when it is good
 *
 * Returns: (transfer full) (nullable): %NULL when good, else 400 body_invalid; its detail names the
 * byte, or its errors[] the keys.
 */
SrvReply *
srv_input_parse (GBytes *bytes, DbrJsonDoc **out_doc);

/* Whether a Content-Type says JSON in UTF-8. Source: RFC 9110 section 8.3, RFC 8259. */
gboolean
srv_input_type_is_json (const char *content_type);

/* The version in If-Match: exactly one strong tag of 1 to 18 digits; NULL: anything else. Transfer
 * full. Source: RFC 9110 section 13.1.1. */
char *
srv_input_if_match (const char *header);

/* Whether an Idempotency-Key is 1 to 200 visible ASCII characters. */
gboolean
srv_input_key_is_good (const char *key);

G_END_DECLS
