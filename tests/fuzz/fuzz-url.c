/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz-url: a base URL that is taken reads back as itself, and an origin holds no user info. */
#include "config.h"

#include "eng-client.h"
#include "eng-policy.h"
#include "eng-url.h"

#include <stdint.h>
#include <string.h>

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static void
fuzz_base (const char *text)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DbrUrl) url = eng_url_parse (text, "NAME", "/api/v2", &error);
  g_autoptr (DbrUrl) again = NULL;
  g_autofree char *whole = NULL;

  g_assert_true ((url == NULL) == (error != NULL));
  if (url == NULL)
    {
      g_assert_true (g_str_has_prefix (error->message, "NAME "));
      return;
    }
  g_assert_null (strpbrk (url->origin, "@?#\\ \r\n"));
  g_assert_false (g_str_has_suffix (url->base_path, "/"));
  whole = g_strconcat (url->origin, url->base_path, "/api/v2", NULL);
  if (strlen (whole) > DBR_URL_MAX_BYTES)
    return;
  again = eng_url_parse (whole, NULL, "/api/v2", &error);
  g_assert_no_error (error);
  g_assert_cmpstr (again->origin, ==, url->origin);
  g_assert_cmpstr (again->base_path, ==, url->base_path);
  g_assert_cmpint (again->is_loopback, ==, url->is_loopback);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  g_autofree char *text = g_strndup ((const char *) data, size);
  g_autoptr (DbrUrl) base = eng_url_parse ("http://h:1", NULL, "", NULL);
  g_autofree char *origin = dbr_url_origin (text, base);
  const char *problem;
  g_autofree char *token = eng_policy_clean_token (text, &problem);

  fuzz_base (text);
  if (origin != NULL)
    g_assert_null (strpbrk (origin, "@?#\\ \r\n"));
  g_assert_true ((token == NULL) == (problem != NULL));
  if (token != NULL)
    g_assert_null (strpbrk (token, " \r\n\t"));
  g_assert_cmpint (eng_policy_retry_after (text, 0), >=, -1);
  return 0;
}
