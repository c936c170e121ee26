/* SPDX-License-Identifier: Apache-2.0 */
/* Base URLs as people write them, and origins for messages. */
#include "config.h"

#include "eng-client.h"
#include "eng-url.h"

#include <string.h>

static void
test_good (void)
{
  static const struct
  {
    const char *text;
    const char *origin;
    const char *base_path;
    gboolean is_tls;
    gboolean is_loopback;
    guint port;
  } cases[] = {
    { "http://localhost:28080", "http://localhost:28080", "", FALSE, TRUE, 28080 },
    { "http://localhost:28080/", "http://localhost:28080", "", FALSE, TRUE, 28080 },
    { "http://localhost:28080/api/v2", "http://localhost:28080", "", FALSE, TRUE, 28080 },
    { "http://localhost:28080/api/v2//", "http://localhost:28080", "", FALSE, TRUE, 28080 },
    { "https://h/team/airflow", "https://h", "/team/airflow", TRUE, FALSE, 443 },
    { "https://h/team/airflow/api/v2/", "https://h", "/team/airflow", TRUE, FALSE, 443 },
    { " HTTPS://Example.ORG:443/ \n", "https://example.org", "", TRUE, FALSE, 443 },
    { "http://example.org:80", "http://example.org", "", FALSE, FALSE, 80 },
    { "http://127.0.0.1:1", "http://127.0.0.1:1", "", FALSE, TRUE, 1 },
    { "http://127.9.9.9", "http://127.9.9.9", "", FALSE, TRUE, 80 },
    { "http://[::1]:65535", "http://[::1]:65535", "", FALSE, TRUE, 65535 },
    { "http://[FE80::1]", "http://[fe80::1]", "", FALSE, FALSE, 80 },
    { "http://127.evil.com", "http://127.evil.com", "", FALSE, FALSE, 80 },
    { "http://localhost.evil.com", "http://localhost.evil.com", "", FALSE, FALSE, 80 },
    { "http://2130706433", "http://2130706433", "", FALSE, FALSE, 80 },
    { "http://my_host/a%20b", "http://my_host", "/a%20b", FALSE, FALSE, 80 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (DbrUrl) url = eng_url_parse (cases[i].text, "AIRFLOW_API_URL", "/api/v2", &error);

      g_assert_no_error (error);
      g_assert_cmpstr (url->origin, ==, cases[i].origin);
      g_assert_cmpstr (url->base_path, ==, cases[i].base_path);
      g_assert_cmpint (url->is_tls, ==, cases[i].is_tls);
      g_assert_cmpint (url->is_loopback, ==, cases[i].is_loopback);
      g_assert_cmpuint (url->port, ==, cases[i].port);
    }
}

static void
test_bad (void)
{
  static const struct
  {
    const char *text;
    const char *message;
  } cases[] = {
    { "", "must begin with http:// or https://" },
    { "localhost:28080", "must begin with" },
    { "ftp://h", "must begin with" },
    { "http:/h", "must begin with" },
    { "file:///etc/passwd", "must begin with" },
    { "http://", "names no host" },
    { "http:///x", "names no host" },
    { "http://user:hunter2hunter2@h", "user info" },
    { "http://h/x@y", "user info" },
    { "http://h?x", "query" },
    { "http://h#x", "query" },
    { "http://h:0", "port" },
    { "http://h:65536", "port" },
    { "http://h:", "port" },
    { "http://h:8x", "port" },
    { "http://::1", "port" },
    { "http://[::1", "host name" },
    { "http://[::g]", "host name" },
    { "http://[]", "host name" },
    { "http://h\xc3\xa4", "host name" },
    { "http://h h", "host name" },
    { "http://h\\@evil", "user info" },
    { "http://h\\x", "host name" },
    { "http://h/a/../b", "not plain" },
    { "http://h/a//b", "not plain" },
    { "http://h/%2e%2e", "not plain" },
    { "http://h/a b", "not plain" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GError) error = NULL;

      g_assert_null (eng_url_parse (cases[i].text, "AIRFLOW_API_URL", "/api/v2", &error));
      g_assert_error (error, ENG_ERROR, ENG_ERROR_CONFIG);
      g_assert_true (g_str_has_prefix (error->message, "AIRFLOW_API_URL "));
      g_assert_null (strstr (error->message, "hunter2"));
      if (strstr (error->message, cases[i].message) == NULL)
        g_error ("%s: \"%s\" lacks \"%s\"", cases[i].text, error->message, cases[i].message);
    }
}

static void
test_long (void)
{
  g_autofree char *fill = g_strnfill (DBR_URL_MAX_BYTES, 'a');
  g_autofree char *text = g_strconcat ("http://h/", fill, NULL);
  g_autoptr (GError) error = NULL;

  g_assert_null (eng_url_parse (text, NULL, "/api/v2", &error));
  g_assert_cmpstr (error->message, ==, "the base URL is too long for a base URL");
}

static void
test_origin (void)
{
  static const struct
  {
    const char *location;
    const char *origin;
  } cases[] = {
    { "https://login.example.org/x?y=secret#z", "https://login.example.org" },
    { "http://user:pass@other:81/x", "http://other:81" },
    { "//other/x", "http://other" },
    { "/login", "http://h:1" },
    { "login?next=http://x", "http://h:1" },
    { "", "http://h:1" },
    { "javascript:alert(1)", NULL },
    { "http://", NULL },
    { "http://bad host/", NULL },
    { "http://other\\@evil/", "http://other" },
  };
  g_autoptr (DbrUrl) base = eng_url_parse ("http://h:1", NULL, "", NULL);

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *origin = dbr_url_origin (cases[i].location, base);

      g_assert_cmpstr (origin, ==, cases[i].origin);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/eng-url/good", test_good);
  g_test_add_func ("/eng-url/bad", test_bad);
  g_test_add_func ("/eng-url/long", test_long);
  g_test_add_func ("/eng-url/origin", test_origin);
  return g_test_run ();
}
