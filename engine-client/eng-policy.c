/* SPDX-License-Identifier: Apache-2.0 */
/* eng-policy: tables and small decisions, no state. */
#include "config.h"

#include "eng-policy.h"

#include "dbr-access.h"

#include <string.h>

#define DAY_MS (24 * 60 * 60 * (gint64) 1000)

static const char *const safe_methods[] = { "GET", "HEAD", "OPTIONS", "QUERY", NULL };

gboolean
eng_policy_is_read (const char *method)
{
  return g_strv_contains (safe_methods, method);
}

gboolean
eng_policy_is_method (const char *method)
{
  gsize len = strlen (method);

  for (gsize i = 0; i < len; i++)
    if (!g_ascii_isupper (method[i]))
      return FALSE;
  return len >= 1 && len <= 16;
}

EngNext
eng_policy_next (const EngSituation *s, guint *out_wait_ms)
{
  gint64 wait_ms = s->retry_after_ms;

  *out_wait_ms = 0;
  if (s->can_renew && (s->status == 401 || (s->status == 403 && s->names_token)))
    return ENG_NEXT_SIGN_IN;
  if (!s->is_read || (s->status != 429 && s->status != 503))
    return ENG_NEXT_FINISH;
  if (s->n_waits >= (wait_ms < 0 ? 1 : ENG_POLICY_MAX_WAITS))
    return ENG_NEXT_FINISH;
  if (wait_ms < 0)
    wait_ms = ENG_POLICY_DEFAULT_WAIT_MS;
  if (wait_ms >= s->left_ms)
    return ENG_NEXT_FINISH;
  *out_wait_ms = (guint) wait_ms;
  return ENG_NEXT_WAIT;
}

gint64
eng_policy_retry_after (const char *value, gint64 now_s)
{
  guint64 seconds;
  time_t date;
  gsize digits;

  while (*value == ' ' || *value == '\t')
    value++;
  digits = strspn (value, "0123456789");
  if (digits > 0 && value[digits + strspn (value + digits, " \t")] == '\0')
    {
      seconds = digits > 9 ? G_MAXUINT32 : g_ascii_strtoull (value, NULL, 10);
      return (gint64) MIN (seconds, (guint64) DAY_MS / 1000) * 1000;
    }
  if (!g_ascii_isalpha (*value))
    return -1;
  date = curl_getdate (value, NULL);
  if (date == -1)
    return -1;
  return CLAMP ((gint64) date - now_s, 0, DAY_MS / 1000) * 1000;
}

EngErrorCode
eng_policy_code (CURLcode code)
{
  static const struct
  {
    CURLcode curl;
    EngErrorCode code;
  } codes[] = {
    { CURLE_COULDNT_RESOLVE_HOST, ENG_ERROR_RESOLVE },
    { CURLE_COULDNT_RESOLVE_PROXY, ENG_ERROR_RESOLVE },
    { CURLE_COULDNT_CONNECT, ENG_ERROR_CONNECT },
    { CURLE_PROXY, ENG_ERROR_CONNECT },
    { CURLE_INTERFACE_FAILED, ENG_ERROR_CONNECT },
    { CURLE_SSL_CONNECT_ERROR, ENG_ERROR_TLS },
    { CURLE_PEER_FAILED_VERIFICATION, ENG_ERROR_TLS },
    { CURLE_SSL_CIPHER, ENG_ERROR_TLS },
    { CURLE_SSL_ISSUER_ERROR, ENG_ERROR_TLS },
    { CURLE_SSL_SHUTDOWN_FAILED, ENG_ERROR_TLS },
    { CURLE_SSL_INVALIDCERTSTATUS, ENG_ERROR_TLS },
    { CURLE_SSL_CLIENTCERT, ENG_ERROR_TLS },
    { CURLE_SSL_CACERT_BADFILE, ENG_ERROR_CONFIG },
    { CURLE_SSL_CERTPROBLEM, ENG_ERROR_CONFIG },
    { CURLE_SSL_CRL_BADFILE, ENG_ERROR_CONFIG },
    { CURLE_SSL_ENGINE_INITFAILED, ENG_ERROR_CONFIG },
    { CURLE_URL_MALFORMAT, ENG_ERROR_CONFIG },
    { CURLE_UNKNOWN_OPTION, ENG_ERROR_CONFIG },
    { CURLE_FAILED_INIT, ENG_ERROR_CONFIG },
    { CURLE_OPERATION_TIMEDOUT, ENG_ERROR_TIMEOUT },
    { CURLE_FILESIZE_EXCEEDED, ENG_ERROR_TOO_LARGE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (codes); i++)
    if (codes[i].curl == code)
      return codes[i].code;
  return ENG_ERROR_BROKEN;
}

static gboolean
is_token_char (guchar c)
{
  return g_ascii_isalnum (c) || (c != '\0' && strchr ("!#$%&'*+-.^_`|~", c) != NULL);
}

const char *
eng_policy_check_header (const char *name, const char *value, const char *credential)
{
  if (name[0] == '\0')
    return "is not a header name";
  for (const char *p = name; *p != '\0'; p++)
    if (!is_token_char ((guchar) *p))
      return "is not a header name";
  if (dbr_header_is_reserved (name)
      || (credential != NULL && g_ascii_strcasecmp (name, credential) == 0))
    return "cannot be set by a request: this program sets it, or nobody";
  for (const char *p = value; *p != '\0'; p++)
    if (*p != '\t' && ((guchar) *p < 0x20 || (guchar) *p >= 0x7f))
      return "has a value with a line break, a control or a non-ASCII character";
  return NULL;
}

char *
eng_policy_clean_token (const char *token, const char **out_problem)
{
  gsize len = strlen (token);

  *out_problem = NULL;
  while (len > 0 && strchr (" \t\r\n", token[len - 1]) != NULL)
    len--;
  if (len == 0)
    *out_problem = "is set but empty";
  else if (token[0] == '$' && (token[1] == '{' || g_ascii_isalpha (token[1]) || token[1] == '_'))
    *out_problem = "holds the name of a variable instead of its value (it was not expanded)";
  for (gsize i = 0; *out_problem == NULL && i < len; i++)
    if ((guchar) token[i] <= 0x20 || (guchar) token[i] >= 0x7f)
      *out_problem = "holds a blank, a control or a non-ASCII character";
  return *out_problem == NULL ? g_strndup (token, len) : NULL;
}

gboolean
eng_policy_speaks_plain_http (const char *detail)
{
  static const char *const words[] = { "wrong version number", "packet length too long",
                                       "unexpected TLS packet", "http request", NULL };

  for (guint i = 0; words[i] != NULL; i++)
    if (strstr (detail, words[i]) != NULL)
      return TRUE;
  return FALSE;
}
