/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eng-policy: what to do after a transfer, decided by pure functions.
 *
 * The rules: a write is sent at most once, but for one repeat after an answer that refused the
 * token; a read may wait for a backend that asks for it, at most ENG_POLICY_MAX_WAITS times and
 * never beyond its deadline.
 */
#pragma once

#include "eng-client.h"

#include <curl/curl.h>

G_BEGIN_DECLS

#define ENG_POLICY_MAX_WAITS 3u        /* waits for Retry-After in one read */
#define ENG_POLICY_DEFAULT_WAIT_MS 500 /* one wait where 429 or 503 names no time */

typedef enum
{
  ENG_NEXT_FINISH,
  ENG_NEXT_WAIT,    /* and send again */
  ENG_NEXT_SIGN_IN, /* get a new token and send again */
} EngNext;

typedef struct
{
  gboolean is_read;
  guint status;
  gint64 retry_after_ms; /* -1: none */
  guint n_waits;         /* waited before */
  gboolean can_renew;    /* a sign-in exists, its token isn't fixed, and none was renewed for this
                            request */
  gboolean names_token;  /* a 403 whose detail says that the token is bad */
  gint64 left_ms;        /* to the deadline */
} EngSituation;

/**
 * eng_policy_next:
 * @situation: an answer and what went before it
 * @out_wait_ms: (out): 0 unless %ENG_NEXT_WAIT
 *
 * Returns: what to do now.
 * Source: RFC 9110 sections 9.2.2 (idempotent methods), 10.2.3 (Retry-After), 15.5.2 (401), 15.6.4
 * (503); RFC 6585 section 4 (429).
 */
EngNext
eng_policy_next (const EngSituation *situation, guint *out_wait_ms);

/**
 * eng_policy_retry_after:
 * @value: a Retry-After field: seconds or an HTTP date
 * @now_s: the time now, seconds since 1970
 *
 * Returns: milliseconds from now, 0 for a date that has passed, -1 when it is neither; at most a
 * day. Source: RFC 9110 section 10.2.3.
 */
gint64
eng_policy_retry_after (const char *value, gint64 now_s);

/* GET, HEAD, OPTIONS, QUERY: may be sent again. Source: RFC 9110 section 9.2.1. */
gboolean
eng_policy_is_read (const char *method);

/* A token of RFC 9110 section 5.6.2 in capitals: "GET" yes, "get", "GET " no. */
gboolean
eng_policy_is_method (const char *method);

/* The module's code for libcurl's; %CURLE_OK is our own bug. */
EngErrorCode
eng_policy_code (CURLcode code);

/**
 * eng_policy_check_header:
 * @name: field name that a catalogue or caller wants to send
 * @value: its value
 * @credential: (nullable): the field that carries the token, refused too
 *
 * Fields that frame the message, carry credentials or make another method of it are refused, and
 * every byte that could end a line.
 *
 * Returns: NULL when it may go, otherwise what is wrong with it, to follow its name.
 */
const char *
eng_policy_check_header (const char *name, const char *value, const char *credential);

/**
 * eng_policy_clean_token:
 * @token: from the environment or a sign-in
 * @out_problem: (out): what is wrong, to follow the name of the variable; never holds the value
 *
 * Cuts CR, LF and blanks at the end. Refused: an empty one, one that looks like an unexpanded
 * variable, and bytes outside 0x21..0x7E, which would end the header line or not survive it.
 *
 * Returns: (transfer full) (nullable): the token.
 * Source: RFC 9110 section 11.2 (token68).
 */
char *
eng_policy_clean_token (const char *token, const char **out_problem);

/* Whether @detail, a TLS library's words for a failed handshake, means that no TLS came back at all
 * but most likely a plain HTTP answer (OpenSSL, GnuTLS). */
gboolean
eng_policy_speaks_plain_http (const char *detail);

G_END_DECLS
