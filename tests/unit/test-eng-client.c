/* SPDX-License-Identifier: Apache-2.0 */
/* What leaves: requests as the backend sees them, the barrier, writes at most once, waits, the
 * queue. */
#include "config.h"

#include "eng-fixture.h"

#include <string.h>

#define OK_BODY "{\"ok\":true}"

static const FakeAnswer ok = { .body = OK_BODY, .times = G_MAXUINT };

static const FakeRequest *
request_at (GPtrArray *requests, guint i)
{
  g_assert_cmpuint (requests->len, >, i);
  return g_ptr_array_index (requests, i);
}

static void
assert_header (const FakeRequest *request, const char *name, const char *value)
{
  guint n;
  g_autofree char *got = fake_request_header (request, name, &n);

  g_assert_cmpstr (got, ==, value);
  g_assert_cmpuint (n, ==, value != NULL ? 1 : 0);
}

static void
test_get (void)
{
  g_autoptr (Fixture) f = fixture_new ();
  g_autoptr (EngResponse) first = NULL;
  g_autoptr (EngResponse) second = NULL;
  g_autoptr (GPtrArray) requests = NULL;
  const char *const headers[] = { "If-None-Match", "\"7\"", "X-Empty", "", NULL };
  const EngRequest request = {
    .method = "GET",
    .path = "/api/v2/dags/a%62%3a",
    .query = "state=a&state=b",
    .headers = headers,
    .timeout_ms = 20000,
  };

  fake_backend_script (f->backend, "*", "*", &ok);
  first = fixture_run (f, &request);
  assert_answered (first, 200, OK_BODY);
  g_assert_cmpstr (first->content_type, ==, "application/json");
  g_assert_cmpstr (first->reason, ==, "OK");
  g_assert_cmpuint (first->attempts, ==, 1);
  g_assert_cmpint (first->retry_after_ms, ==, -1);
  second = fixture_get (f, "/api/v2/version");
  assert_answered (second, 200, OK_BODY);
  requests = fake_backend_requests (f->backend);
  g_assert_cmpuint (requests->len, ==, 2);
  g_assert_cmpstr (request_at (requests, 0)->target, ==, "/api/v2/dags/ab%3A?state=a&state=b");
  assert_header (request_at (requests, 0), "Accept", "application/json");
  assert_header (request_at (requests, 0), "If-None-Match", "\"7\"");
  assert_header (request_at (requests, 0), "X-Empty", "");
  assert_header (request_at (requests, 0), "User-Agent", "drawbridge/test");
  assert_header (request_at (requests, 0), "Accept-Encoding", "identity");
  assert_header (request_at (requests, 0), "Authorization", NULL);
  assert_header (request_at (requests, 0), "Content-Type", NULL);
  assert_header (request_at (requests, 1), "X-Empty", NULL);
  /* Reads share a connection. */
  g_assert_cmpuint (request_at (requests, 0)->connection, ==, request_at (requests, 1)->connection);
}

static void
test_base_path (void)
{
  g_autoptr (Fixture) f = fixture_new ();
  g_autoptr (EngResponse) response = NULL;
  g_autofree char *base = (char *) (gsize) f->config.base_url;
  g_autoptr (GPtrArray) requests = NULL;

  f->config.base_url = g_strconcat (base, "/team/airflow/api/v2/", NULL);
  f->config.sign_in = &f->sign_in;
  fake_backend_script (f->backend, "POST", "*",
                       &(FakeAnswer){ .status = 201, .body = "{\"access_token\":\"T\"}" });
  fake_backend_script (f->backend, "GET", "*", &ok);
  response = fixture_get (f, "/api/v2/version");
  assert_answered (response, 200, OK_BODY);
  requests = fake_backend_requests (f->backend);
  g_assert_cmpstr (request_at (requests, 0)->target, ==, "/team/airflow/auth/token");
  g_assert_cmpstr (request_at (requests, 1)->target, ==, "/team/airflow/api/v2/version");
  assert_header (request_at (requests, 1), "Authorization", "Bearer T");
}

static void
test_origin (void)
{
  g_autoptr (Fixture) f = fixture_new ();

  g_assert_cmpstr (eng_door ()->origin (fixture_client (f)), ==, f->config.base_url);
  g_assert_cmpuint (eng_door ()->abi, ==, ENG_DOOR_ABI);
}

static void
send_write (Fixture *f, const char *method, const char *body, gsize len)
{
  g_autoptr (GBytes) bytes = body != NULL ? g_bytes_new (body, len) : NULL;
  const EngRequest request = {
    .method = method,
    .path = "/api/v2/x",
    .body = bytes,
    .timeout_ms = 20000,
  };
  g_autoptr (EngResponse) response = fixture_run (f, &request);

  assert_answered (response, 200, OK_BODY);
}

/* Each write on a connection of its own, HTTP/1.1, no Expect, its body whole, its method as given.
 */
static void
test_writes (void)
{
  static const char *const methods[] = { "POST", "PUT", "PATCH", "DELETE" };
  g_autoptr (Fixture) f = fixture_new ();
  g_autofree char *large = g_strnfill (2 << 20, 'x');
  g_autoptr (GPtrArray) requests = NULL;

  fake_backend_script (f->backend, "*", "*", &ok);
  for (guint i = 0; i < G_N_ELEMENTS (methods); i++)
    {
      g_autoptr (EngResponse) read = fixture_get (f, "/api/v2/x");

      send_write (f, methods[i], "{\"note\":null}", 13);
      send_write (f, methods[i], NULL, 0);
    }
  send_write (f, "POST", large, 2 << 20);
  requests = fake_backend_requests (f->backend);
  g_assert_cmpuint (requests->len, ==, 13);
  for (guint i = 0; i < 13; i++)
    {
      const FakeRequest *request = request_at (requests, i);

      if (g_str_equal (request->method, "GET"))
        {
          g_assert_cmpuint (request->connection, ==, 1);
          assert_header (request, "Content-Length", NULL);
          continue;
        }
      g_assert_nonnull (strstr (request->head, " HTTP/1.1\r\n"));
      assert_header (request, "Expect", NULL);
      assert_header (request, "Content-Type",
                     g_bytes_get_size (request->body) > 0 ? "application/json" : NULL);
      for (guint j = 0; j < i; j++)
        g_assert_cmpuint (request_at (requests, j)->connection, !=, request->connection);
    }
  g_assert_cmpstr (request_at (requests, 7)->method, ==, "PATCH");
  g_assert_cmpmem (g_bytes_get_data (request_at (requests, 7)->body, NULL), 13, "{\"note\":null}",
                   13);
  g_assert_cmpuint (g_bytes_get_size (request_at (requests, 12)->body), ==, 2 << 20);
  assert_header (request_at (requests, 2), "Content-Length", "0");
}

static void
test_head (void)
{
  g_autoptr (Fixture) f = fixture_new ();
  const EngRequest request = { .method = "HEAD", .path = "/api/v2/x", .timeout_ms = 20000 };
  g_autoptr (EngResponse) response = NULL;
  g_autoptr (EngResponse) after = NULL;

  fake_backend_script (f->backend, "HEAD", "*",
                       &(FakeAnswer){ .raw = "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n" });
  fake_backend_script (f->backend, "GET", "*", &ok);
  response = fixture_run (f, &request);
  assert_answered (response, 200, "");
  after = fixture_get (f, "/api/v2/x");
  assert_answered (after, 200, OK_BODY);
}

/* The server reads the write and closes: libcurl would send it again on a reused connection. */
static void
test_write_not_resent (void)
{
  static const FakeMode modes[] = { FAKE_TRUNCATE, FAKE_RESET };

  for (guint i = 0; i < G_N_ELEMENTS (modes); i++)
    {
      g_autoptr (Fixture) f = fixture_new ();
      g_autoptr (EngResponse) get = NULL;
      g_autoptr (EngResponse) post = NULL;

      fake_backend_script (f->backend, "GET", "*", &ok);
      fake_backend_script (f->backend, "POST", "*", &(FakeAnswer){ .mode = modes[i] });
      fake_backend_script (f->backend, "POST", "*", &ok);
      get = fixture_get (f, "/api/v2/x");
      post = fixture_post (f, "/api/v2/x", "{}");
      assert_failed (post, ENG_ERROR_BROKEN, ENG_SENT, "broke off");
      g_assert_cmpuint (fake_backend_count (f->backend, "POST", "/api/v2/x"), ==, 1);
      g_assert_cmpuint (post->attempts, ==, 1);
    }
}

/* A read on a kept-alive connection that died is repeated by libcurl. */
static void
test_read_resent (void)
{
  g_autoptr (Fixture) f = fixture_new ();
  g_autoptr (EngResponse) first = NULL;
  g_autoptr (EngResponse) second = NULL;

  fake_backend_script (f->backend, "GET", "*", &(FakeAnswer){ .body = OK_BODY });
  fake_backend_script (f->backend, "GET", "*", &(FakeAnswer){ .mode = FAKE_TRUNCATE });
  fake_backend_script (f->backend, "GET", "*", &ok);
  first = fixture_get (f, "/api/v2/x");
  second = fixture_get (f, "/api/v2/x");
  assert_answered (first, 200, OK_BODY);
  assert_answered (second, 200, OK_BODY);
}

static void
test_not_sent (void)
{
  g_autoptr (Fixture) f = fixture_new ();
  g_autoptr (EngResponse) refused = NULL;
  g_autofree char *base = (char *) (gsize) f->config.base_url;
  g_autofree char *address = NULL;
  g_autoptr (FakeBackend) gone = fake_backend_new ("127.0.0.1");
  guint port = fake_backend_port (gone);

  g_clear_pointer (&gone, fake_backend_free);
  f->config.base_url = g_strdup_printf ("http://127.0.0.1:%u", port);
  address = g_strdup_printf ("no connection to http://127.0.0.1:%u", port);
  refused = fixture_post (f, "/api/v2/x", "{}");
  assert_failed (refused, ENG_ERROR_CONNECT, ENG_NOT_SENT, address);
  g_assert_nonnull (strstr (refused->error->message, "Connection refused"));
  g_assert_cmpuint (refused->attempts, ==, 1);
  g_assert_cmpuint (refused->status, ==, 0);
}

/* A handle that sent before must not make a request look sent. */
static void
test_not_sent_after_sent (void)
{
  g_autoptr (Fixture) f = fixture_new ();
  g_autoptr (EngResponse) read = NULL;
  g_autoptr (EngResponse) write = NULL;
  g_autoptr (EngResponse) refused = NULL;

  fake_backend_script (f->backend, "*", "*", &ok);
  read = fixture_get (f, "/api/v2/x");
  write = fixture_post (f, "/api/v2/x", "{}");
  assert_answered (write, 200, OK_BODY);
  g_clear_pointer (&f->backend, fake_backend_free);
  refused = fixture_post (f, "/api/v2/x", "{}");
  assert_failed (refused, ENG_ERROR_CONNECT, ENG_NOT_SENT, "no connection to");
}

static void
test_resolve (void)
{
  g_autoptr (Fixture) f = fixture_new ();
  g_autofree char *base = (char *) (gsize) f->config.base_url;
  g_autoptr (EngResponse) response = NULL;

  g_unsetenv ("http_proxy");
  g_unsetenv ("all_proxy");
  f->config.base_url = g_strdup ("http://no-such-host.invalid");
  response = fixture_get (f, "/api/v2/x");
  assert_failed (response, ENG_ERROR_RESOLVE, ENG_NOT_SENT, "http://no-such-host.invalid");
}

static void
test_redirects (void)
{
  static const guint statuses[] = { 301, 302, 303, 307, 308 };
  g_autoptr (Fixture) f = fixture_new ();
  g_autoptr (FakeBackend) other = fake_backend_new ("127.0.0.1");
  g_autofree char *origin = g_strdup_printf ("http://127.0.0.1:%u", fake_backend_port (other));
  g_autofree char *location = g_strdup_printf (
      "Location: http://u:p@127.0.0.1:%u/login?secret=1\r\n", fake_backend_port (other));
  g_autoptr (GPtrArray) seen = NULL;

  f->sign_in.fixed_token = "token-12345678";
  f->config.sign_in = &f->sign_in;
  for (guint i = 0; i < G_N_ELEMENTS (statuses); i++)
    {
      g_autoptr (EngResponse) get = NULL;
      g_autoptr (EngResponse) post = NULL;

      fake_backend_script (f->backend, "*", "*",
                           &(FakeAnswer){ .status = statuses[i], .headers = location, .times = 2 });
      get = fixture_get (f, "/api/v2/x");
      post = fixture_post (f, "/api/v2/x", "{}");
      assert_answered (get, statuses[i], "");
      assert_answered (post, statuses[i], "");
      g_assert_cmpstr (get->location_origin, ==, origin);
    }
  seen = fake_backend_requests (other);
  g_assert_cmpuint (seen->len, ==, 0);
}

/* ----------------------------------------------------------------- barrier */

static void
test_barrier (void)
{
  static const struct
  {
    const char *method;
    const char *path;
    const char *query;
    const char *message;
  } cases[] = {
    { "get", "/api/v2/x", NULL, "capitals" },
    { "GET\r\nX: 1", "/api/v2/x", NULL, "capitals" },
    { "", "/api/v2/x", NULL, "capitals" },
    { "TRACE", "/api/v2/x", NULL, "never allowed" },
    { "CONNECT", "/api/v2/x", NULL, "never allowed" },
    { "GET", "/auth/token", NULL, "must begin with" },
    { "GET", "http://evil/x", NULL, "must begin with" },
    { "GET", "//evil/x", NULL, "must begin with" },
    { "GET", "/api/v2/../../auth/token", NULL, "another path" },
    { "GET", "/api/v2/%2e%2e/x", NULL, "another path" },
    { "GET", "/api/v2/a%2Fb", NULL, "encoded slash" },
    { "GET", "/api/v2/x?y", NULL, "apart from the path" },
    { "GET", "/api/v2/x#y", NULL, "apart from the path" },
    { "GET", "/api/v2/x\r\nA: b", NULL, "percent-encoded" },
    { "GET", "/api/v2/config", NULL, "never allowed" },
    { "GET", "/api/v2/%63onfig/x", NULL, "never allowed" },
    { "GET", "/api/v2/x", "a b", "percent-encoded" },
    { "GET", "/api/v2/x", "a#b", "percent-encoded" },
    { "GET", "/api/v2/x", "a\r\nb", "percent-encoded" },
  };
  g_autoptr (Fixture) f = fixture_new ();
  g_autoptr (GPtrArray) seen = NULL;

  dbr_access_table_add (f->access, NULL, "/config", DBR_ACCESS_DENIED, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      const EngRequest request = {
        .method = cases[i].method,
        .path = cases[i].path,
        .query = cases[i].query,
        .timeout_ms = 20000,
        .consent = TRUE,
      };
      g_autoptr (EngResponse) response = fixture_run (f, &request);

      assert_failed (response, ENG_ERROR_BARRIER, ENG_NOT_SENT, cases[i].message);
      g_assert_cmpuint (response->attempts, ==, 0);
    }
  seen = fake_backend_requests (f->backend);
  g_assert_cmpuint (seen->len, ==, 0);
}

static void
test_barrier_headers (void)
{
  static const char *const bad[][2] = {
    { "Authorization", "Bearer x" },
    { "Host", "evil" },
    { "X-HTTP-Method-Override", "DELETE" },
    { "Content-Length", "0" },
    { "Transfer-Encoding", "chunked" },
    { "A", "b\r\nc: d" },
    { "A\r\nB", "c" },
  };
  g_autoptr (Fixture) f = fixture_new ();
  const char *const odd[] = { "A", NULL };
  EngRequest request = { .method = "GET", .path = "/api/v2/x", .timeout_ms = 20000 };
  g_autoptr (GPtrArray) seen = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      const char *const headers[] = { bad[i][0], bad[i][1], NULL };
      g_autoptr (EngResponse) response = NULL;

      request.headers = headers;
      response = fixture_run (f, &request);
      assert_failed (response, ENG_ERROR_BARRIER, ENG_NOT_SENT, "the header field \"");
    }
  {
    g_autoptr (EngResponse) response = NULL;

    request.headers = odd;
    response = fixture_run (f, &request);
    assert_failed (response, ENG_ERROR_BARRIER, ENG_NOT_SENT, "pairs");
  }
  {
    g_autoptr (EngResponse) response = NULL;

    request.headers = NULL;
    request.accept = "a\r\nX: 1";
    response = fixture_run (f, &request);
    assert_failed (response, ENG_ERROR_BARRIER, ENG_NOT_SENT, "media type");
  }
  seen = fake_backend_requests (f->backend);
  g_assert_cmpuint (seen->len, ==, 0);
}

/* Every pair of gates, with and without the user's yes, against a read, a write and both kinds of
 * delete. */
static void
test_gates (void)
{
  static const struct
  {
    const char *method;
    const char *path;
    DbrAccess access;
  } asks[] = {
    { "GET", "/api/v2/x", DBR_ACCESS_READ },        { "POST", "/api/v2/list", DBR_ACCESS_READ },
    { "POST", "/api/v2/x", DBR_ACCESS_WRITE },      { "DELETE", "/api/v2/x", DBR_ACCESS_DELETE },
    { "PATCH", "/api/v2/bulk", DBR_ACCESS_DELETE },
  };

  for (guint i = 0; i < 18; i++)
    {
      g_autoptr (Fixture) f = fixture_new ();
      gboolean consent = i >= 9;
      gboolean writes, deletes;

      f->config.writes = (EngGate) (i % 3);
      f->config.deletes = (EngGate) (i / 3 % 3);
      writes = f->config.writes == ENG_GATE_OPEN || (f->config.writes == ENG_GATE_ASK && consent);
      deletes
          = f->config.deletes == ENG_GATE_OPEN || (f->config.deletes == ENG_GATE_ASK && consent);
      dbr_access_table_add (f->access, "POST", "/list", DBR_ACCESS_READ, NULL);
      dbr_access_table_add (f->access, "PATCH", "/bulk", DBR_ACCESS_DELETE, NULL);
      fake_backend_script (f->backend, "*", "*", &ok);
      for (guint j = 0; j < G_N_ELEMENTS (asks); j++)
        {
          const EngRequest request = {
            .method = asks[j].method,
            .path = asks[j].path,
            .timeout_ms = 20000,
            .consent = consent,
          };
          g_autoptr (EngResponse) response = fixture_run (f, &request);
          gboolean may = asks[j].access == DBR_ACCESS_READ
                         || (writes && (asks[j].access == DBR_ACCESS_WRITE || deletes));

          if (may)
            assert_answered (response, 200, OK_BODY);
          else
            assert_failed (response, ENG_ERROR_BARRIER, ENG_NOT_SENT, asks[j].method);
          g_assert_cmpuint (fake_backend_count (f->backend, asks[j].method, asks[j].path), ==,
                            may ? 1 : 0);
        }
    }
}

/* ------------------------------------------------------------------- waits */

static void
test_retry_after (void)
{
  g_autoptr (Fixture) f = fixture_new ();
  g_autoptr (EngResponse) third = NULL;
  g_autoptr (EngResponse) never = NULL;
  const FakeAnswer later
      = { .status = 503, .headers = "Retry-After: 0\r\n", .body = "{}", .times = 3 };
  const FakeAnswer always = { .status = 429,
                              .headers = "Retry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\n",
                              .body = "{}",
                              .times = G_MAXUINT };

  fake_backend_script (f->backend, "GET", "/api/v2/a", &later);
  fake_backend_script (f->backend, "GET", "/api/v2/a", &ok);
  fake_backend_script (f->backend, "GET", "/api/v2/b", &always);
  third = fixture_get (f, "/api/v2/a");
  assert_answered (third, 200, OK_BODY);
  g_assert_cmpuint (third->attempts, ==, 4);
  never = fixture_get (f, "/api/v2/b");
  assert_answered (never, 429, "{}");
  g_assert_cmpuint (never->attempts, ==, 4);
  g_assert_cmpint (never->retry_after_ms, ==, 0);
}

static void
test_retry_limits (void)
{
  g_autoptr (Fixture) f = fixture_new ();
  g_autoptr (EngResponse) no_time = NULL;
  g_autoptr (EngResponse) too_late = NULL;
  g_autoptr (EngResponse) write = NULL;

  fake_backend_script (f->backend, "GET", "/api/v2/a",
                       &(FakeAnswer){ .status = 503, .body = "{}", .times = 5 });
  fake_backend_script (
      f->backend, "GET", "/api/v2/b",
      &(FakeAnswer){ .status = 503, .headers = "Retry-After: 60\r\n", .body = "{}" });
  fake_backend_script (
      f->backend, "POST", "/api/v2/c",
      &(FakeAnswer){ .status = 503, .headers = "Retry-After: 0\r\n", .body = "{}", .times = 5 });
  no_time = fixture_get (f, "/api/v2/a");
  assert_answered (no_time, 503, "{}");
  g_assert_cmpuint (no_time->attempts, ==, 2);
  g_assert_cmpint (no_time->elapsed_us, >=, 500000);
  too_late = fixture_get (f, "/api/v2/b");
  assert_answered (too_late, 503, "{}");
  g_assert_cmpuint (too_late->attempts, ==, 1);
  g_assert_cmpint (too_late->retry_after_ms, ==, 60000);
  write = fixture_post (f, "/api/v2/c", "{}");
  assert_answered (write, 503, "{}");
  g_assert_cmpuint (fake_backend_count (f->backend, "POST", "/api/v2/c"), ==, 1);
}

/* ------------------------------------------------------------------- queue */

static void
test_in_flight (void)
{
  g_autoptr (Fixture) f = fixture_new ();
  g_autoptr (GPtrArray) out = g_ptr_array_new_with_free_func ((GDestroyNotify) eng_response_free);
  g_autoptr (GPtrArray) requests = NULL;
  const EngRequest request = { .method = "GET", .path = "/api/v2/x", .timeout_ms = 20000 };

  f->config.max_in_flight = 2;
  fake_backend_script (f->backend, "*", "*", &ok);
  for (guint i = 0; i < 20; i++)
    fixture_send (f, &request, out);
  fixture_wait (out, 20);
  requests = fake_backend_requests (f->backend);
  g_assert_cmpuint (requests->len, ==, 20);
  for (guint i = 0; i < 20; i++)
    {
      assert_answered (g_ptr_array_index (out, i), 200, OK_BODY);
      g_assert_cmpuint (request_at (requests, i)->connection, <=, 2);
    }
}

static void
test_sixty_four (void)
{
  g_autoptr (Fixture) f = fixture_new ();
  g_autoptr (GPtrArray) out = g_ptr_array_new_with_free_func ((GDestroyNotify) eng_response_free);
  const EngRequest request = { .method = "GET", .path = "/api/v2/x", .timeout_ms = 20000 };

  /* None is answered before all 64 have arrived: a request that waits for another connection would
   * end the test. */
  fake_backend_script (f->backend, "*", "*", &(FakeAnswer){ .mode = FAKE_STALL, .times = 64 });
  for (guint i = 0; i < 64; i++)
    fixture_send (f, &request, out);
  fixture_wait_requests (f, 64);
  g_assert_cmpuint (out->len, ==, 0);
}

static void
test_busy (void)
{
  g_autoptr (Fixture) f = fixture_new ();
  g_autoptr (GPtrArray) out = g_ptr_array_new_with_free_func ((GDestroyNotify) eng_response_free);
  const EngRequest request = { .method = "GET", .path = "/api/v2/x", .timeout_ms = 20000 };

  f->config.max_in_flight = 1;
  fake_backend_script (f->backend, "*", "*",
                       &(FakeAnswer){ .mode = FAKE_STALL, .times = G_MAXUINT });
  for (guint i = 0; i < 1 + 1024 + 1; i++)
    fixture_send (f, &request, out);
  fixture_wait (out, 1);
  assert_failed (g_ptr_array_index (out, 0), ENG_ERROR_BUSY, ENG_NOT_SENT, "1024 requests");
}

static void
test_queued_deadline (void)
{
  g_autoptr (Fixture) f = fixture_new ();
  g_autoptr (GPtrArray) out = g_ptr_array_new_with_free_func ((GDestroyNotify) eng_response_free);
  EngRequest request = { .method = "GET", .path = "/api/v2/x", .timeout_ms = 20000 };

  f->config.max_in_flight = 1;
  fake_backend_script (f->backend, "*", "*", &(FakeAnswer){ .mode = FAKE_STALL });
  fixture_send (f, &request, out);
  request.timeout_ms = 50;
  fixture_send (f, &request, out);
  fixture_wait (out, 1);
  assert_failed (g_ptr_array_index (out, 0), ENG_ERROR_TIMEOUT, ENG_NOT_SENT,
                 "no request could be started");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  /* A proxy of the environment is never asked about loopback. */
  g_setenv ("http_proxy", "http://127.0.0.1:1", TRUE);
  g_setenv ("all_proxy", "http://127.0.0.1:1", TRUE);
  g_test_add_func ("/eng-client/get", test_get);
  g_test_add_func ("/eng-client/base-path", test_base_path);
  g_test_add_func ("/eng-client/origin", test_origin);
  g_test_add_func ("/eng-client/writes", test_writes);
  g_test_add_func ("/eng-client/head", test_head);
  g_test_add_func ("/eng-client/write-not-resent", test_write_not_resent);
  g_test_add_func ("/eng-client/read-resent", test_read_resent);
  g_test_add_func ("/eng-client/not-sent", test_not_sent);
  g_test_add_func ("/eng-client/not-sent-after-sent", test_not_sent_after_sent);
  g_test_add_func ("/eng-client/redirects", test_redirects);
  g_test_add_func ("/eng-client/barrier", test_barrier);
  g_test_add_func ("/eng-client/barrier-headers", test_barrier_headers);
  g_test_add_func ("/eng-client/gates", test_gates);
  g_test_add_func ("/eng-client/retry-after", test_retry_after);
  g_test_add_func ("/eng-client/retry-limits", test_retry_limits);
  g_test_add_func ("/eng-client/in-flight", test_in_flight);
  g_test_add_func ("/eng-client/sixty-four", test_sixty_four);
  g_test_add_func ("/eng-client/busy", test_busy);
  g_test_add_func ("/eng-client/queued-deadline", test_queued_deadline);
  g_test_add_func ("/eng-client/resolve", test_resolve);
  return g_test_run ();
}
