/* SPDX-License-Identifier: Apache-2.0 */
/* What follows an answer; which headers and tokens may go. */
#include "config.h"

#include "eng-policy.h"

#include <string.h>

static EngNext
after (gboolean is_read, guint status, gint64 retry_after_ms, guint n_waits, guint *out_wait_ms)
{
  const EngSituation situation = {
    .is_read = is_read,
    .status = status,
    .retry_after_ms = retry_after_ms,
    .n_waits = n_waits,
    .left_ms = 10000,
  };

  return eng_policy_next (&situation, out_wait_ms);
}

static void
test_waits (void)
{
  static const guint statuses[] = { 429, 503 };
  guint ms;

  for (guint i = 0; i < G_N_ELEMENTS (statuses); i++)
    {
      guint status = statuses[i];

      g_assert_cmpint (after (TRUE, status, -1, 0, &ms), ==, ENG_NEXT_WAIT);
      g_assert_cmpuint (ms, ==, 500);
      g_assert_cmpint (after (TRUE, status, -1, 1, &ms), ==, ENG_NEXT_FINISH);
      g_assert_cmpint (after (TRUE, status, 2000, 2, &ms), ==, ENG_NEXT_WAIT);
      g_assert_cmpuint (ms, ==, 2000);
      g_assert_cmpint (after (TRUE, status, 2000, 3, &ms), ==, ENG_NEXT_FINISH);
      g_assert_cmpuint (ms, ==, 0);
      g_assert_cmpint (after (TRUE, status, 9999, 0, &ms), ==, ENG_NEXT_WAIT);
      g_assert_cmpint (after (TRUE, status, 10000, 0, &ms), ==, ENG_NEXT_FINISH);
      g_assert_cmpint (after (TRUE, status, 0, 0, &ms), ==, ENG_NEXT_WAIT);
      g_assert_cmpuint (ms, ==, 0);
      g_assert_cmpint (after (FALSE, status, 10, 0, &ms), ==, ENG_NEXT_FINISH);
    }
  g_assert_cmpint (after (TRUE, 500, 10, 0, &ms), ==, ENG_NEXT_FINISH);
  g_assert_cmpint (after (TRUE, 502, -1, 0, &ms), ==, ENG_NEXT_FINISH);
  g_assert_cmpint (after (TRUE, 200, -1, 0, &ms), ==, ENG_NEXT_FINISH);
}

static EngNext
refused (gboolean is_read, guint status, gboolean can_renew, gboolean names_token)
{
  const EngSituation situation = {
    .is_read = is_read,
    .status = status,
    .retry_after_ms = -1,
    .can_renew = can_renew,
    .names_token = names_token,
    .left_ms = 10000,
  };
  guint ms;

  return eng_policy_next (&situation, &ms);
}

static void
test_renewal (void)
{
  g_assert_cmpint (refused (TRUE, 401, TRUE, FALSE), ==, ENG_NEXT_SIGN_IN);
  g_assert_cmpint (refused (FALSE, 401, TRUE, FALSE), ==, ENG_NEXT_SIGN_IN);
  g_assert_cmpint (refused (FALSE, 401, FALSE, FALSE), ==, ENG_NEXT_FINISH);
  g_assert_cmpint (refused (TRUE, 403, TRUE, TRUE), ==, ENG_NEXT_SIGN_IN);
  g_assert_cmpint (refused (TRUE, 403, TRUE, FALSE), ==, ENG_NEXT_FINISH);
  g_assert_cmpint (refused (TRUE, 200, TRUE, TRUE), ==, ENG_NEXT_FINISH);
}

static void
test_retry_after (void)
{
  static const struct
  {
    const char *value;
    gint64 ms;
  } cases[] = {
    { "0", 0 },
    { "1", 1000 },
    { " 120 ", 120000 },
    { "86400", 86400000 },
    { "86401", 86400000 },
    { "99999999999999999999999", 86400000 },
    { "Sun, 06 Nov 1994 08:49:37 GMT", 0 },
    { "Thu, 01 Jan 2026 00:00:10 GMT", 10000 },
    { "Thu, 01 Jan 2099 00:00:10 GMT", 86400000 },
    { "", -1 },
    { "-1", -1 },
    { "1.5", -1 },
    { "soon", -1 },
    { "1; x", -1 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    g_assert_cmpint (eng_policy_retry_after (cases[i].value, 1767225600), ==, cases[i].ms);
}

static void
test_methods (void)
{
  g_assert_true (eng_policy_is_read ("GET"));
  g_assert_true (eng_policy_is_read ("QUERY"));
  g_assert_false (eng_policy_is_read ("POST"));
  g_assert_false (eng_policy_is_read ("get"));
  g_assert_true (eng_policy_is_method ("PATCH"));
  g_assert_false (eng_policy_is_method (""));
  g_assert_false (eng_policy_is_method ("get"));
  g_assert_false (eng_policy_is_method ("GET "));
  g_assert_false (eng_policy_is_method ("GET\r\nDELETE"));
  g_assert_false (eng_policy_is_method ("ABCDEFGHIJKLMNOPQ"));
}

static void
test_codes (void)
{
  g_assert_cmpint (eng_policy_code (CURLE_COULDNT_RESOLVE_HOST), ==, ENG_ERROR_RESOLVE);
  g_assert_cmpint (eng_policy_code (CURLE_COULDNT_CONNECT), ==, ENG_ERROR_CONNECT);
  g_assert_cmpint (eng_policy_code (CURLE_PEER_FAILED_VERIFICATION), ==, ENG_ERROR_TLS);
  g_assert_cmpint (eng_policy_code (CURLE_OPERATION_TIMEDOUT), ==, ENG_ERROR_TIMEOUT);
  g_assert_cmpint (eng_policy_code (CURLE_SSL_CACERT_BADFILE), ==, ENG_ERROR_CONFIG);
  g_assert_cmpint (eng_policy_code (CURLE_GOT_NOTHING), ==, ENG_ERROR_BROKEN);
  g_assert_cmpint (eng_policy_code (CURLE_HTTP2), ==, ENG_ERROR_BROKEN);
}

static void
test_headers (void)
{
  static const char *const reserved[] = {
    "Authorization",
    "HOST",
    "content-length",
    "Content-Type",
    "Transfer-Encoding",
    "connection",
    "Cookie",
    "Expect",
    "X-HTTP-Method-Override",
    "x-http-method",
    "Proxy-Authorization",
    "Accept",
    "X-Forwarded-Host",
    "X-Forwarded_Host",
    "Forwarded",
    "Via",
    "X-Original-URL",
    "X-REWRITE-URL",
    "X_HTTP_METHOD_OVERRIDE",
    "Content_Length",
    "X-Api-Key",
  };

  g_assert_null (eng_policy_check_header ("If-Match", "\"7\"", "X-Api-Key"));
  g_assert_null (eng_policy_check_header ("Idempotency-Key", "", NULL));
  g_assert_null (eng_policy_check_header ("X-Api-Key", "v", NULL));
  for (guint i = 0; i < G_N_ELEMENTS (reserved); i++)
    g_assert_nonnull (
        strstr (eng_policy_check_header (reserved[i], "v", "X-Api-Key"), "cannot be set"));
  g_assert_nonnull (strstr (eng_policy_check_header ("", "v", NULL), "not a header name"));
  g_assert_nonnull (strstr (eng_policy_check_header ("A:b", "v", NULL), "not a header name"));
  g_assert_nonnull (strstr (eng_policy_check_header ("A b", "v", NULL), "not a header name"));
  g_assert_nonnull (strstr (eng_policy_check_header ("A\r\nB", "v", NULL), "not a header name"));
  g_assert_nonnull (strstr (eng_policy_check_header ("A", "v\r\nX: 1", NULL), "line break"));
  g_assert_nonnull (strstr (eng_policy_check_header ("A", "v\n", NULL), "line break"));
  g_assert_nonnull (strstr (eng_policy_check_header ("A", "\xc3\xa4", NULL), "non-ASCII"));
}

static void
test_tokens (void)
{
  static const struct
  {
    const char *token;
    const char *want;
    const char *problem;
  } cases[] = {
    { "T", "T", NULL },
    { "T\n", "T", NULL },
    { "T \r\n", "T", NULL },
    { "", NULL, "empty" },
    { " \n", NULL, "empty" },
    { "${AIRFLOW_TOKEN}", NULL, "not expanded" },
    { "$AIRFLOW_TOKEN", NULL, "not expanded" },
    { "$9", "$9", NULL },
    { "a\r\nX: 1", NULL, "blank, a control" },
    { "a b", NULL, "blank" },
    { " a", NULL, "blank" },
    { "\xc3\xa9", NULL, "non-ASCII" },
    { "a\x7f", NULL, "control" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      const char *problem = "untouched";
      g_autofree char *token = eng_policy_clean_token (cases[i].token, &problem);

      g_assert_cmpstr (token, ==, cases[i].want);
      if (cases[i].want != NULL)
        g_assert_null (problem);
      else
        g_assert_nonnull (strstr (problem, cases[i].problem));
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/eng-policy/waits", test_waits);
  g_test_add_func ("/eng-policy/renewal", test_renewal);
  g_test_add_func ("/eng-policy/retry-after", test_retry_after);
  g_test_add_func ("/eng-policy/methods", test_methods);
  g_test_add_func ("/eng-policy/codes", test_codes);
  g_test_add_func ("/eng-policy/headers", test_headers);
  g_test_add_func ("/eng-policy/tokens", test_tokens);
  return g_test_run ();
}
