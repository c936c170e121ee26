/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens: where they come from, when a new one is fetched, what is never sent or shown. */
#include "config.h"

#include "eng-fixture.h"

#include <string.h>

#define OK_BODY "{\"ok\":true}"
#define TOKEN(t) (&(FakeAnswer){ .status = 201, .body = "{\"access_token\":\"" t "\"}" })

static const FakeAnswer ok = { .body = OK_BODY, .times = G_MAXUINT };
static const FakeAnswer expired = { .status = 401, .body = "{\"detail\":\"Token Expired\"}" };

static Fixture *
signing_in (void)
{
  Fixture *f = fixture_new ();

  f->config.sign_in = &f->sign_in;
  return f;
}

static void
assert_token (Fixture *f, guint i, const char *field, const char *value)
{
  g_autoptr (GPtrArray) requests = fake_backend_requests (f->backend);
  g_autofree char *got = NULL;

  g_assert_cmpuint (requests->len, >, i);
  got = fake_request_header (g_ptr_array_index (requests, i), field, NULL);
  g_assert_cmpstr (got, ==, value);
}

static void
test_good (void)
{
  static const guint statuses[] = { 200, 201 };

  for (guint i = 0; i < G_N_ELEMENTS (statuses); i++)
    {
      g_autoptr (Fixture) f = signing_in ();
      g_autoptr (EngResponse) get = NULL;
      g_autoptr (EngResponse) post = NULL;
      g_autoptr (GPtrArray) requests = NULL;
      g_autoptr (GString) text = g_string_new ("see canary-token-77 here");
      const FakeRequest *sign_in;

      fake_backend_script (f->backend, "POST", "/auth/token",
                           &(FakeAnswer){ .status = statuses[i],
                                          .body = "{\"access_token\":\"canary-token-77\\n\"}" });
      fake_backend_script (f->backend, "*", "*", &ok);
      get = fixture_get (f, "/api/v2/x");
      post = fixture_post (f, "/api/v2/x", "{}");
      assert_answered (get, 200, OK_BODY);
      assert_answered (post, 200, OK_BODY);
      g_assert_cmpuint (get->attempts, ==, 1);
      requests = fake_backend_requests (f->backend);
      g_assert_cmpuint (requests->len, ==, 3);
      sign_in = g_ptr_array_index (requests, 0);
      g_assert_cmpmem (g_bytes_get_data (sign_in->body, NULL), g_bytes_get_size (sign_in->body),
                       f->sign_in.body, strlen (f->sign_in.body));
      assert_token (f, 0, "Content-Type", "application/json");
      assert_token (f, 0, "Authorization", NULL);
      assert_token (f, 1, "Authorization", "Bearer canary-token-77");
      assert_token (f, 2, "Authorization", "Bearer canary-token-77");
      dbr_mask_apply (f->mask, text, 0, DBR_MASK_OWN);
      g_assert_null (strstr (text->str, "canary"));
    }
}

static void
test_bad (void)
{
  static const struct
  {
    guint status;
    EngErrorCode code;
    const char *headers;
    const char *body;
    const char *message;
  } cases[] = {
    { 401, ENG_ERROR_AUTH, NULL, "{\"detail\":\"Invalid credentials\"}",
      "/auth/token answered 401: Invalid credentials" },
    { 404, ENG_ERROR_SIGN_IN, NULL, "{\"detail\":\"Not Found\"}",
      "answered 404: Not Found. Is AIRFLOW_API_URL the address of the API (it takes no page's "
      "path)?" },
    { 422, ENG_ERROR_AUTH, NULL,
      "{\"detail\":[{\"msg\":\"Field required\",\"input\":\"" CANARY_PASSWORD
      "\"},{\"msg\":\"b\"}]}",
      "answered 422: Field required; b" },
    { 500, ENG_ERROR_SIGN_IN, "Content-Type: text/plain\r\n", "Internal " CANARY_PASSWORD,
      "answered 500" },
    { 400, ENG_ERROR_AUTH, NULL, "{\"detail\":\"bad\\u001b[31m\\nline\"}",
      "answered 400: bad\\nline" },
    { 302, ENG_ERROR_SIGN_IN, "Location: https://login.example.org/x?y\r\n", "",
      "a redirect to https://login.example.org: a login page" },
    { 302, ENG_ERROR_SIGN_IN, NULL, "", "a redirect to elsewhere" },
    { 200, ENG_ERROR_SIGN_IN, "Content-Type: text/html\r\n", "<html>",
      "answered 200, but with something that is not JSON" },
    { 204, ENG_ERROR_SIGN_IN, NULL, NULL, "answered 204" },
    { 201, ENG_ERROR_SIGN_IN, NULL, "{}", "without a string \"access_token\"" },
    { 201, ENG_ERROR_SIGN_IN, NULL, "{\"access_token\":\"\"}",
      "without a string \"access_token\"" },
    { 201, ENG_ERROR_SIGN_IN, NULL, "{\"access_token\":7}", "without a string \"access_token\"" },
    { 201, ENG_ERROR_SIGN_IN, NULL, "{\"access_token\":null}",
      "without a string \"access_token\"" },
    { 201, ENG_ERROR_SIGN_IN, NULL, "[]", "without a string \"access_token\"" },
    { 201, ENG_ERROR_SIGN_IN, NULL, "{\"access_token\":\"canary a\\r\\nX: 1\"}",
      "a token that cannot be sent: \"access_token\" holds" },
    { 201, ENG_ERROR_SIGN_IN, NULL, "{\"access_token\":\"canary\\u00e9\"}",
      "a token that cannot be sent: \"access_token\" holds" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (Fixture) f = signing_in ();
      g_autoptr (EngResponse) response = NULL;

      dbr_mask_add (f->mask, CANARY_PASSWORD);
      fake_backend_script (f->backend, "POST", "/auth/token",
                           &(FakeAnswer){ .status = cases[i].status,
                                          .headers = cases[i].headers,
                                          .body = cases[i].body });
      response = fixture_get (f, "/api/v2/x");
      assert_failed (response, cases[i].code, ENG_NOT_SENT, cases[i].message);
      g_assert_null (strstr (response->error->message, "canary"));
      g_assert_cmpuint (response->attempts, ==, 0);
      g_assert_cmpuint (fake_backend_count (f->backend, "GET", "/api/v2/x"), ==, 0);
    }
}

static void
test_large (void)
{
  g_autoptr (Fixture) f = signing_in ();
  g_autofree char *body = g_strnfill (100000, ' ');
  g_autoptr (EngResponse) response = NULL;

  fake_backend_script (f->backend, "POST", "/auth/token",
                       &(FakeAnswer){ .status = 201, .body = body });
  response = fixture_get (f, "/api/v2/x");
  assert_failed (response, ENG_ERROR_SIGN_IN, ENG_NOT_SENT, "larger than 64 kB");
}

static void
test_down (void)
{
  g_autoptr (Fixture) f = signing_in ();
  g_autoptr (EngResponse) broken = NULL;
  g_autoptr (EngResponse) late = NULL;
  const EngRequest request = { .method = "GET", .path = "/api/v2/x", .timeout_ms = 100 };

  fake_backend_script (f->backend, "POST", "/auth/token", &(FakeAnswer){ .mode = FAKE_TRUNCATE });
  broken = fixture_get (f, "/api/v2/x");
  assert_failed (broken, ENG_ERROR_BROKEN, ENG_NOT_SENT, "signing in: ");
  g_assert_cmpuint (fake_backend_count (f->backend, "POST", "/auth/token"), ==, 1);
  fake_backend_script (f->backend, "POST", "/auth/token", &(FakeAnswer){ .mode = FAKE_STALL });
  late = fixture_run (f, &request);
  assert_failed (late, ENG_ERROR_TIMEOUT, ENG_NOT_SENT, "the sign-in did not end");
  /* The sign-in that nobody waited for any more was dropped: a new one works. */
  fake_backend_script (f->backend, "POST", "/auth/token", TOKEN ("T"));
  fake_backend_script (f->backend, "GET", "*", &ok);
  {
    g_autoptr (EngResponse) again = fixture_get (f, "/api/v2/x");

    assert_answered (again, 200, OK_BODY);
  }
}

/* Five requests, one sign-in; when it fails, it fails for all. */
static void
test_shared (void)
{
  for (guint works = 0; works < 2; works++)
    {
      g_autoptr (Fixture) f = signing_in ();
      g_autoptr (GPtrArray) out
          = g_ptr_array_new_with_free_func ((GDestroyNotify) eng_response_free);
      const EngRequest request = { .method = "GET", .path = "/api/v2/x", .timeout_ms = 20000 };

      fake_backend_script (f->backend, "POST", "/auth/token", works ? TOKEN ("T") : &expired);
      fake_backend_script (f->backend, "GET", "*", &ok);
      for (guint i = 0; i < 5; i++)
        fixture_send (f, &request, out);
      fixture_wait (out, 5);
      g_assert_cmpuint (fake_backend_count (f->backend, "POST", "/auth/token"), ==, 1);
      for (guint i = 0; i < 5; i++)
        if (works)
          assert_answered (g_ptr_array_index (out, i), 200, OK_BODY);
        else
          assert_failed (g_ptr_array_index (out, i), ENG_ERROR_AUTH, ENG_NOT_SENT, "answered 401");
    }
}

static void
test_renewed (void)
{
  static const FakeAnswer named = { .status = 403, .body = "{\"detail\":\"Invalid JWT token\"}" };
  const FakeAnswer *refusals[] = { &expired, &named };

  for (guint i = 0; i < G_N_ELEMENTS (refusals); i++)
    {
      g_autoptr (Fixture) f = signing_in ();
      g_autoptr (EngResponse) response = NULL;

      fake_backend_script (f->backend, "POST", "/auth/token", TOKEN ("T1"));
      fake_backend_script (f->backend, "POST", "/auth/token", TOKEN ("T2"));
      fake_backend_script (f->backend, "POST", "/api/v2/x", refusals[i]);
      fake_backend_script (f->backend, "POST", "/api/v2/x", &ok);
      response = fixture_post (f, "/api/v2/x", "{}");
      assert_answered (response, 200, OK_BODY);
      g_assert_cmpuint (response->attempts, ==, 2);
      assert_token (f, 1, "Authorization", "Bearer T1");
      assert_token (f, 3, "Authorization", "Bearer T2");
      g_assert_cmpuint (fake_backend_count (f->backend, "POST", "/api/v2/x"), ==, 2);
    }
}

static void
test_renewed_once (void)
{
  g_autoptr (Fixture) f = signing_in ();
  g_autoptr (EngResponse) twice = NULL;
  g_autoptr (EngResponse) forbidden = NULL;
  FakeAnswer always = expired;

  always.times = G_MAXUINT;
  fake_backend_script (f->backend, "POST", "/auth/token", TOKEN ("T1"));
  fake_backend_script (f->backend, "POST", "/auth/token", TOKEN ("T2"));
  fake_backend_script (f->backend, "GET", "/api/v2/x", &always);
  fake_backend_script (
      f->backend, "GET", "/api/v2/y",
      &(FakeAnswer){ .status = 403, .body = "{\"detail\":\"Forbidden\"}", .times = 5 });
  twice = fixture_get (f, "/api/v2/x");
  assert_answered (twice, 401, "{\"detail\":\"Token Expired\"}");
  g_assert_cmpuint (fake_backend_count (f->backend, "GET", "/api/v2/x"), ==, 2);
  forbidden = fixture_get (f, "/api/v2/y");
  assert_answered (forbidden, 403, NULL);
  g_assert_cmpuint (fake_backend_count (f->backend, "GET", "/api/v2/y"), ==, 1);
  g_assert_cmpuint (fake_backend_count (f->backend, "POST", "/auth/token"), ==, 2);
}

/* A 401 and then no new token: an AUTH error; the refused request was carried out by nobody. */
static void
test_renewal_fails (void)
{
  g_autoptr (Fixture) f = signing_in ();
  g_autoptr (EngResponse) response = NULL;

  fake_backend_script (f->backend, "POST", "/auth/token", TOKEN ("T1"));
  fake_backend_script (f->backend, "POST", "/auth/token", &expired);
  fake_backend_script (f->backend, "POST", "/api/v2/x", &expired);
  response = fixture_post (f, "/api/v2/x", "{}");
  assert_failed (response, ENG_ERROR_AUTH, ENG_NOT_SENT, "answered 401: Token Expired");
  g_assert_cmpuint (response->attempts, ==, 1);
}

/* Refuses what comes with the first token. */
static gboolean
refuse_first_token (const FakeRequest *request, FakeAnswer *answer, gpointer user_data)
{
  g_autofree char *credential = fake_request_header (request, "authorization", NULL);

  (void) user_data;
  *answer = g_strcmp0 (credential, "Bearer T1") == 0 ? expired : ok;
  return TRUE;
}

/* Many refused at once: one new sign-in, each repeated once. */
static void
test_renewed_together (void)
{
  g_autoptr (Fixture) f = signing_in ();
  g_autoptr (GPtrArray) out = g_ptr_array_new_with_free_func ((GDestroyNotify) eng_response_free);
  const EngRequest request = { .method = "GET", .path = "/api/v2/x", .timeout_ms = 20000 };

  fake_backend_script (f->backend, "POST", "/auth/token", TOKEN ("T1"));
  fake_backend_script (f->backend, "POST", "/auth/token", TOKEN ("T2"));
  fake_backend_set_handler (f->backend, refuse_first_token, NULL);
  for (guint i = 0; i < 8; i++)
    fixture_send (f, &request, out);
  fixture_wait (out, 8);
  for (guint i = 0; i < 8; i++)
    assert_answered (g_ptr_array_index (out, i), 200, OK_BODY);
  g_assert_cmpuint (fake_backend_count (f->backend, "POST", "/auth/token"), ==, 2);
  g_assert_cmpuint (fake_backend_count (f->backend, "GET", "/api/v2/x"), ==, 16);
}

static void
test_fixed (void)
{
  g_autoptr (Fixture) f = signing_in ();
  g_autoptr (EngResponse) first = NULL;
  g_autoptr (EngResponse) second = NULL;

  f->sign_in = (EngSignIn){ .fixed_token = "fixed-token-1 \r\n",
                            .fixed_token_name = "AIRFLOW_ACCESS_TOKEN" };
  fake_backend_script (f->backend, "GET", "/api/v2/x", &expired);
  fake_backend_script (f->backend, "GET", "/api/v2/x", &ok);
  first = fixture_get (f, "/api/v2/x");
  assert_answered (first, 401, NULL);
  g_assert_cmpuint (fake_backend_count (f->backend, "GET", "/api/v2/x"), ==, 1);
  second = fixture_get (f, "/api/v2/x");
  assert_answered (second, 200, OK_BODY);
  assert_token (f, 0, "Authorization", "Bearer fixed-token-1");
}

static void
test_other_header (void)
{
  g_autoptr (Fixture) f = signing_in ();
  g_autoptr (EngResponse) response = NULL;

  f->sign_in = (EngSignIn){ .fixed_token = "key-1", .header = "X-Api-Key" };
  fake_backend_script (f->backend, "GET", "*", &ok);
  response = fixture_get (f, "/api/v2/x");
  assert_token (f, 0, "X-Api-Key", "key-1");
  assert_token (f, 0, "Authorization", NULL);
}

static void
assert_no_client (Fixture *f, const char *part)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (eng_door ()->client_new (&f->config, &error));
  g_assert_error (error, ENG_ERROR, ENG_ERROR_CONFIG);
  g_assert_null (strstr (error->message, "canary"));
  if (strstr (error->message, part) == NULL)
    g_error ("\"%s\" lacks \"%s\"", error->message, part);
}

static void
test_bad_token (void)
{
  static const char *const tokens[]
      = { "canary\r\nX-Evil: 1", "canary b", "canary\xc3\xa9", "", " \n", "${canary}" };

  for (guint i = 0; i < G_N_ELEMENTS (tokens); i++)
    {
      g_autoptr (Fixture) f = signing_in ();

      f->sign_in.fixed_token = tokens[i];
      f->sign_in.fixed_token_name = "AIRFLOW_ACCESS_TOKEN";
      assert_no_client (f, "AIRFLOW_ACCESS_TOKEN ");
    }
}

static void
test_plain_http (void)
{
  g_autoptr (Fixture) f = signing_in ();
  g_autofree char *base = (char *) (gsize) f->config.base_url;

  f->config.base_url = g_strdup ("http://airflow.invalid:8080");
  f->config.allow_plain_http_name = "AIRFLOW_ALLOW_PLAIN";
  assert_no_client (f, "not sent over plain http to another host (http://airflow.invalid:8080): "
                       "use https:// in AIRFLOW_API_URL, or allow it with AIRFLOW_ALLOW_PLAIN");
  f->config.allow_plain_http_credentials = TRUE;
  fixture_client (f);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/eng-sign-in/good", test_good);
  g_test_add_func ("/eng-sign-in/bad", test_bad);
  g_test_add_func ("/eng-sign-in/large", test_large);
  g_test_add_func ("/eng-sign-in/down", test_down);
  g_test_add_func ("/eng-sign-in/shared", test_shared);
  g_test_add_func ("/eng-sign-in/renewed", test_renewed);
  g_test_add_func ("/eng-sign-in/renewed-once", test_renewed_once);
  g_test_add_func ("/eng-sign-in/renewal-fails", test_renewal_fails);
  g_test_add_func ("/eng-sign-in/renewed-together", test_renewed_together);
  g_test_add_func ("/eng-sign-in/fixed", test_fixed);
  g_test_add_func ("/eng-sign-in/other-header", test_other_header);
  g_test_add_func ("/eng-sign-in/bad-token", test_bad_token);
  g_test_add_func ("/eng-sign-in/plain-http", test_plain_http);
  return g_test_run ();
}
