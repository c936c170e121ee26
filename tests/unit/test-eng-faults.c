/* SPDX-License-Identifier: Apache-2.0 */
/* What comes back, good and broken; ends in the middle; TLS; sockets of every kind. */
#include "config.h"

#include "eng-fixture.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define OK_BODY "{\"ok\":true}"

static const FakeAnswer ok = { .body = OK_BODY, .times = G_MAXUINT };

static GPtrArray *
results_new (void)
{
  return g_ptr_array_new_with_free_func ((GDestroyNotify) eng_response_free);
}

static char *
data_file (const char *name)
{
  return g_test_build_filename (G_TEST_DIST, "tests", "data", "engine-client", name, NULL);
}

/* -------------------------------------------------------------- broken ones */

static void
test_broken (void)
{
  static const struct
  {
    const char *raw;
    FakeMode mode;
    EngErrorCode code;
    EngSent sent;
    guint status;
    const char *message;
  } cases[] = {
    { "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"a\":", FAKE_CLOSE, ENG_ERROR_BROKEN,
      ENG_ANSWERED, 200, "broke off" },
    { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"a\":\r\n", FAKE_CLOSE,
      ENG_ERROR_BROKEN, ENG_ANSWERED, 200, "broke off" },
    { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", FAKE_CLOSE, ENG_ERROR_BROKEN,
      ENG_ANSWERED, 200, "broke off" },
    { "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", FAKE_CLOSE, ENG_ERROR_BROKEN, ENG_SENT, 200,
      "broke off" },
    { "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd", FAKE_CLOSE,
      ENG_ERROR_BROKEN, ENG_ANSWERED, 200, "broke off" },
    { "SSH-2.0-OpenSSH_9.2\r\n", FAKE_CLOSE, ENG_ERROR_BROKEN, ENG_SENT, 0, "not HTTP" },
    { "HTTP/1.1 200 OK\r\nContent-Ty", FAKE_CLOSE, ENG_ERROR_BROKEN, ENG_SENT, 200, "broke off" },
    { "\r\n\r\n", FAKE_CLOSE, ENG_ERROR_BROKEN, ENG_SENT, 0, "broke off" },
    { "HTTP/9.9 200 OK\r\n\r\n", FAKE_CLOSE, ENG_ERROR_BROKEN, ENG_SENT, 0, "broke off" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (Fixture) f = fixture_new ();
      g_autoptr (EngResponse) response = NULL;
      g_autoptr (EngResponse) after = NULL;

      g_test_message ("case %u", i);
      fake_backend_script (f->backend, "GET", "/api/v2/x",
                           &(FakeAnswer){ .raw = cases[i].raw, .mode = cases[i].mode });
      fake_backend_script (f->backend, "GET", "/api/v2/y", &ok);
      response = fixture_get (f, "/api/v2/x");
      assert_failed (response, cases[i].code, cases[i].sent, cases[i].message);
      g_assert_nonnull (strstr (response->error->message, f->config.base_url));
      after = fixture_get (f, "/api/v2/y");
      assert_answered (after, 200, OK_BODY);
    }
}

static void
test_header_flood (void)
{
  g_autoptr (Fixture) f = fixture_new ();
  g_autoptr (GString) raw = g_string_new ("HTTP/1.1 200 OK\r\n");
  g_autoptr (EngResponse) response = NULL;

  for (guint i = 0; raw->len < 400u << 10; i++)
    g_string_append_printf (raw, "X-%u: 0123456789012345678901234567890123456789\r\n", i);
  fake_backend_script (f->backend, "GET", "*",
                       &(FakeAnswer){ .raw = raw->str, .mode = FAKE_CLOSE });
  response = fixture_get (f, "/api/v2/x");
  assert_failed (response, ENG_ERROR_TOO_LARGE, ENG_SENT,
                 "header fields of the answer are larger than 256 kB");
}

/* One line without an end, which libcurl stops on its own. */
static void
test_long_header (void)
{
  g_autoptr (Fixture) f = fixture_new ();
  g_autofree char *fill = g_strnfill (400000, 'x');
  g_autofree char *raw = g_strconcat ("HTTP/1.1 200 OK\r\nX: ", fill, "\r\n\r\n", NULL);
  g_autofree char *status = g_strconcat ("HTTP/1.1 200 ", fill, "\r\n\r\n", NULL);
  g_autoptr (EngResponse) field = NULL;
  g_autoptr (EngResponse) line = NULL;

  fake_backend_script (f->backend, "GET", "*", &(FakeAnswer){ .raw = raw, .mode = FAKE_CLOSE });
  fake_backend_script (f->backend, "GET", "*", &(FakeAnswer){ .raw = status, .mode = FAKE_CLOSE });
  field = fixture_get (f, "/api/v2/x");
  assert_failed (field, ENG_ERROR_TOO_LARGE, ENG_SENT, "header fields");
  line = fixture_get (f, "/api/v2/x");
  assert_failed (line, ENG_ERROR_TOO_LARGE, ENG_SENT, "header fields");
}

static void
test_many_headers (void)
{
  g_autoptr (Fixture) f = fixture_new ();
  g_autoptr (GString) headers = g_string_new (NULL);
  g_autoptr (EngResponse) response = NULL;

  for (guint i = 0; i < 500; i++)
    g_string_append_printf (headers, "X-%u: \t v%u \xff\x1b \r\n", i, i);
  fake_backend_script (f->backend, "GET", "*",
                       &(FakeAnswer){ .headers = headers->str, .body = OK_BODY });
  response = fixture_get (f, "/api/v2/x");
  assert_answered (response, 200, OK_BODY);
  g_assert_cmpuint (response->headers->len, ==, 512);
  g_assert_cmpstr (g_ptr_array_index (response->headers, 2), ==, "x-0");
  g_assert_cmpstr (g_ptr_array_index (response->headers, 3), ==, "v0 ??");
}

static void
test_good_kinds (void)
{
  static const struct
  {
    FakeAnswer answer;
    guint status;
    const char *body;
    const char *content_type;
  } cases[] = {
    { { .status = 204 }, 204, "", "application/json" },
    { { .body = OK_BODY, .chunked = TRUE }, 200, OK_BODY, "application/json" },
    { { .body = OK_BODY, .no_length = TRUE }, 200, OK_BODY, "application/json" },
    { { .body = "<html>", .headers = "Content-Type: Text/HTML; charset=utf-8\r\n" },
      200,
      "<html>",
      "text/html" },
    { { .status = 500, .body = "oops", .headers = "Content-Type: text/plain\r\n" },
      500,
      "oops",
      "text/plain" },
    { { .status = 409, .body = "{}" }, 409, "{}", "application/json" },
    { { .raw
        = "HTTP/1.1 100 Continue\r\nX: y\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}" },
      200,
      "{}",
      NULL },
    { { .raw = "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n" }, 200, "", NULL },
    { { .raw = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX-Trailer: "
               "1\r\n\r\n" },
      200,
      "{}",
      NULL },
    { { .raw = "HTTP/1.0 200 OK\r\n\r\n{}", .mode = FAKE_CLOSE }, 200, "{}", NULL },
  };
  g_autoptr (Fixture) f = fixture_new ();

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (EngResponse) response = NULL;

      fake_backend_script (f->backend, "GET", "*", &cases[i].answer);
      response = fixture_get (f, "/api/v2/x");
      assert_answered (response, cases[i].status, cases[i].body);
      g_assert_cmpstr (response->content_type, ==, cases[i].content_type);
    }
}

/* ------------------------------------------------------------------ bounds */

static void
test_too_large (void)
{
  g_autoptr (Fixture) f = fixture_new ();
  g_autofree char *most = g_strnfill (100000, 'x');
  g_autofree char *more = g_strnfill (100001, 'x');
  g_autoptr (EngResponse) fits = NULL;

  f->config.max_body_bytes = 100000;
  fake_backend_script (f->backend, "GET", "*", &(FakeAnswer){ .body = most });
  fits = fixture_get (f, "/api/v2/x");
  assert_answered (fits, 200, most);
  for (guint chunked = 0; chunked < 2; chunked++)
    {
      g_autoptr (EngResponse) response = NULL;

      fake_backend_script (f->backend, "GET", "*",
                           &(FakeAnswer){ .body = more, .chunked = chunked });
      response = fixture_get (f, "/api/v2/x");
      assert_failed (response, ENG_ERROR_TOO_LARGE, ENG_ANSWERED, "larger than 98 kB");
      g_assert_cmpuint (response->status, ==, 200);
    }
}

static FakeAnswer
bomb_answer (char **out_bytes)
{
  g_autofree char *file = data_file ("bomb.gz");
  gsize len;

  g_assert_true (g_file_get_contents (file, out_bytes, &len, NULL));
  return (FakeAnswer){ .headers = "Content-Encoding: gzip\r\n",
                       .body = *out_bytes,
                       .body_len = (gssize) len };
}

static void
test_bomb (void)
{
  g_autoptr (Fixture) f = fixture_new ();
  g_autofree char *bytes = NULL;
  const FakeAnswer answer = bomb_answer (&bytes);
  const EngTail tail = { .array_member = "content", .keep_records = 5 };
  const EngRequest request
      = { .method = "GET", .path = "/api/v2/x", .tail = &tail, .timeout_ms = 20000 };
  g_autoptr (EngResponse) whole = NULL;
  g_autoptr (EngResponse) last = NULL;

  fake_backend_script (f->backend, "GET", "*", &answer);
  fake_backend_script (f->backend, "GET", "*", &answer);
  whole = fixture_get (f, "/api/v2/x");
  assert_failed (whole, ENG_ERROR_TOO_LARGE, ENG_ANSWERED, "larger than 8192 kB");
  last = fixture_run (f, &request);
  g_assert_no_error (last->error);
  g_assert_true (last->tail_complete);
  g_assert_cmpuint (last->records->len, ==, 1);
  g_assert_cmpuint (last->bytes_seen, >, 20 << 20);
  g_assert_cmpstr (((EngRecord *) g_ptr_array_index (last->records, 0))->text, ==,
                   "{\"event\":\"last\"}");
}

/* ---------------------------------------------------------------- deadlines */

static void
test_deadlines (void)
{
  static const struct
  {
    FakeAnswer answer;
    EngSent sent;
    const char *message;
  } cases[] = {
    { { .mode = FAKE_STALL }, ENG_SENT, "no answer from" },
    { { .body = OK_BODY, .mode = FAKE_STALL, .at = 20 }, ENG_SENT, "no answer from" },
    { { .raw = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", .mode = FAKE_STALL, .at = 40 },
      ENG_ANSWERED,
      "no complete answer from" },
    { { .body = OK_BODY, .mode = FAKE_DRIP, .delay_ms = 20 }, ENG_SENT, "no answer from" },
  };
  g_autoptr (Fixture) f = fixture_new ();

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      const EngRequest request = { .method = "POST", .path = "/api/v2/x", .timeout_ms = 300 };
      g_autoptr (EngResponse) response = NULL;

      fake_backend_script (f->backend, "POST", "*", &cases[i].answer);
      response = fixture_run (f, &request);
      assert_failed (response, ENG_ERROR_TIMEOUT, cases[i].sent, cases[i].message);
      g_assert_nonnull (strstr (response->error->message, "within 300 ms"));
    }
}

/* -------------------------------------------------------------------- tails */

static const EngTail three = { .keep_records = 3 };
static const EngRequest tail_request = {
  .method = "GET",
  .path = "/api/v2/log",
  .accept = "application/x-ndjson",
  .tail = &three,
  .timeout_ms = 20000,
};

static void
test_tail (void)
{
  g_autoptr (Fixture) f = fixture_new ();
  g_autoptr (EngResponse) response = NULL;
  const EngRecord *last;

  fake_backend_script (f->backend, "GET", "*",
                       &(FakeAnswer){ .unit = "{\"event\":\"line {i}\"}\n",
                                      .count = 200000,
                                      .headers = "Airflow-Continuation-Token: t\r\n" });
  response = fixture_run (f, &tail_request);
  assert_answered (response, 200, "");
  g_assert_true (response->tail_complete);
  g_assert_cmpuint (response->records->len, ==, 3);
  g_assert_cmpuint (response->records_seen, ==, 200000);
  last = g_ptr_array_index (response->records, 2);
  g_assert_cmpstr (last->text, ==, "{\"event\":\"line 199999\"}");
  g_assert_cmpuint (last->index, ==, 199999);
}

/* At the deadline what was read is the answer. */
static void
test_tail_deadline (void)
{
  g_autoptr (Fixture) f = fixture_new ();
  EngRequest request = tail_request;
  g_autoptr (EngResponse) some = NULL;
  g_autoptr (EngResponse) none = NULL;
  g_autoptr (EngResponse) silent = NULL;
  const char *raw = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n1\n2\n3\n4\n5";

  request.timeout_ms = 500;
  fake_backend_script (f->backend, "GET", "*",
                       &(FakeAnswer){ .raw = raw, .mode = FAKE_STALL, .at = strlen (raw) });
  fake_backend_script (f->backend, "GET", "*",
                       &(FakeAnswer){ .raw = raw, .mode = FAKE_STALL, .at = strlen (raw) - 9 });
  fake_backend_script (f->backend, "GET", "*", &(FakeAnswer){ .mode = FAKE_STALL });
  some = fixture_run (f, &request);
  assert_answered (some, 200, "");
  g_assert_false (some->tail_complete);
  g_assert_cmpuint (some->records->len, ==, 3);
  g_assert_cmpuint (some->records_seen, ==, 4);
  none = fixture_run (f, &request);
  assert_answered (none, 200, "");
  g_assert_false (none->tail_complete);
  g_assert_cmpuint (none->records->len, ==, 0);
  silent = fixture_run (f, &request);
  assert_failed (silent, ENG_ERROR_TIMEOUT, ENG_SENT, "no answer from");
}

static void
test_tail_others (void)
{
  g_autoptr (Fixture) f = fixture_new ();
  g_autoptr (EngResponse) missing = NULL;
  g_autoptr (EngResponse) page = NULL;
  g_autoptr (EngResponse) nothing = NULL;
  g_autoptr (EngResponse) broken = NULL;
  g_autoptr (EngResponse) cut = NULL;

  fake_backend_script (f->backend, "GET", "*",
                       &(FakeAnswer){ .status = 404, .body = "{\"detail\":\"x\"}" });
  fake_backend_script (f->backend, "GET", "*",
                       &(FakeAnswer){ .headers = "Content-Type: text/html\r\n", .body = "<html>" });
  fake_backend_script (f->backend, "GET", "*", &(FakeAnswer){ .status = 204 });
  fake_backend_script (f->backend, "GET", "*", &(FakeAnswer){ .body = "1\n]\n" });
  fake_backend_script (f->backend, "GET", "*",
                       &(FakeAnswer){ .raw = "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n1\n2\n3",
                                      .mode = FAKE_CLOSE });
  missing = fixture_run (f, &tail_request);
  assert_answered (missing, 404, "{\"detail\":\"x\"}");
  g_assert_null (missing->records);
  page = fixture_run (f, &tail_request);
  assert_answered (page, 200, "<html>");
  g_assert_null (page->records);
  nothing = fixture_run (f, &tail_request);
  assert_answered (nothing, 204, "");
  g_assert_cmpuint (nothing->records->len, ==, 0);
  g_assert_true (nothing->tail_complete);
  broken = fixture_run (f, &tail_request);
  assert_failed (broken, ENG_ERROR_BROKEN, ENG_ANSWERED, "not the JSON that was expected");
  cut = fixture_run (f, &tail_request);
  assert_failed (cut, ENG_ERROR_BROKEN, ENG_ANSWERED, "broke off");
  g_assert_cmpuint (cut->records_seen, ==, 2);
}

/* ------------------------------------------------------------------ cancels */

static void
test_cancel (void)
{
  g_autoptr (Fixture) f = fixture_new ();
  g_autoptr (GPtrArray) out = results_new ();
  const EngDoor *door = eng_door ();
  const EngRequest request = { .method = "GET", .path = "/api/v2/x", .timeout_ms = 20000 };
  EngTransfer *running, *queued;

  f->config.max_in_flight = 1;
  fake_backend_script (f->backend, "GET", "*", &(FakeAnswer){ .mode = FAKE_STALL });
  fake_backend_script (f->backend, "GET", "*", &ok);
  running = fixture_send (f, &request, out);
  queued = fixture_send (f, &request, out);
  g_assert_cmpint (door->cancel (queued), ==, ENG_NOT_SENT);
  fixture_wait_requests (f, 1);
  fixture_send (f, &request, out);
  g_assert_cmpint (door->cancel (running), ==, ENG_SENT);
  /* Its place went to the next one. */
  fixture_wait (out, 1);
  assert_answered (g_ptr_array_index (out, 0), 200, OK_BODY);
  g_assert_cmpint (door->cancel (fixture_send (f, &request, out)), ==, ENG_NOT_SENT);
  g_assert_cmpuint (out->len, ==, 1);
}

static void
test_cancel_stages (void)
{
  g_autoptr (Fixture) f = fixture_new ();
  g_autoptr (GPtrArray) out = results_new ();
  const EngDoor *door = eng_door ();
  const EngRequest request = { .method = "GET", .path = "/api/v2/x", .timeout_ms = 20000 };
  const EngRequest refused = { .method = "GET", .path = "/elsewhere", .timeout_ms = 20000 };
  EngTransfer *transfer;

  f->config.sign_in = &f->sign_in;
  fake_backend_script (f->backend, "POST", "/auth/token", &(FakeAnswer){ .mode = FAKE_STALL });
  fake_backend_script (f->backend, "POST", "/auth/token",
                       &(FakeAnswer){ .body = "{\"access_token\":\"T\"}" });
  fake_backend_script (f->backend, "GET", "*",
                       &(FakeAnswer){ .status = 503, .headers = "Retry-After: 10\r\n" });
  fake_backend_script (f->backend, "GET", "*", &ok);
  /* while signing in */
  transfer = fixture_send (f, &request, out);
  fixture_wait_requests (f, 1);
  g_assert_cmpint (door->cancel (transfer), ==, ENG_NOT_SENT);
  /* while waiting for Retry-After: nothing but the wait is left to run */
  transfer = fixture_send (f, &request, out);
  fixture_wait_requests (f, 3);
  for (guint i = 0; i < 100; i++)
    g_main_context_iteration (NULL, FALSE);
  door->cancel (transfer);
  /* before its failure is told */
  g_assert_cmpint (door->cancel (fixture_send (f, &refused, out)), ==, ENG_NOT_SENT);
  fixture_send (f, &request, out);
  fixture_wait (out, 1);
  assert_answered (g_ptr_array_index (out, 0), 200, OK_BODY);
}

/* A client that goes takes everything with it, silently. */
static void
test_free_in_flight (void)
{
  g_autoptr (Fixture) f = fixture_new ();
  g_autoptr (GPtrArray) out = results_new ();
  const EngRequest request = { .method = "GET", .path = "/api/v2/x", .timeout_ms = 20000 };
  const EngRequest refused = { .method = "GET", .path = "/elsewhere", .timeout_ms = 20000 };

  f->config.max_in_flight = 3;
  fake_backend_script (f->backend, "GET", "*", &(FakeAnswer){ .mode = FAKE_STALL, .times = 3 });
  for (guint i = 0; i < 6; i++)
    fixture_send (f, &request, out);
  fixture_send (f, &refused, out);
  while (out->len == 0)
    g_main_context_iteration (NULL, TRUE);
  fixture_wait_requests (f, 3);
  fixture_send (f, &refused, out);
  eng_door ()->client_free (g_steal_pointer (&f->client));
  while (g_main_context_iteration (NULL, FALSE))
    ;
  g_assert_cmpuint (out->len, ==, 1);
}

static void
on_done_free (EngResponse *response, gpointer user_data)
{
  Fixture *f = user_data;

  eng_response_free (response);
  g_assert_nonnull (f->client);
  eng_door ()->client_free (g_steal_pointer (&f->client));
}

/* The client may be freed by the callback of one of its own requests. */
static void
test_free_in_callback (void)
{
  static const char *const paths[] = { "/api/v2/x", "/elsewhere" };

  for (guint i = 0; i < G_N_ELEMENTS (paths); i++)
    {
      g_autoptr (Fixture) f = fixture_new ();
      const EngRequest request = { .method = "GET", .path = paths[i], .timeout_ms = 20000 };

      fake_backend_script (f->backend, "GET", "*", &ok);
      for (guint j = 0; j < 4; j++)
        eng_door ()->send (fixture_client (f), &request, on_done_free, f);
      while (f->client != NULL)
        g_main_context_iteration (NULL, TRUE);
      while (g_main_context_iteration (NULL, FALSE))
        ;
    }
}

/* ------------------------------------------------------- sockets and hosts */

static void
assert_no_client (Fixture *f, const char *part)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (eng_door ()->client_new (&f->config, &error));
  g_assert_error (error, ENG_ERROR, ENG_ERROR_CONFIG);
  if (strstr (error->message, part) == NULL)
    g_error ("\"%s\" lacks \"%s\"", error->message, part);
}

static void
test_unix (void)
{
  g_autoptr (Fixture) f = fixture_new ();
  g_autofree char *base = (char *) (gsize) f->config.base_url;
  g_autofree char *dir = g_dir_make_tmp ("eng-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (dir, "s", NULL);
  g_autofree char *origin = g_strconcat ("unix:", path, NULL);
  g_autofree char *missing
      = g_strdup_printf ("no connection to unix:%s: there is no such socket", path);
  g_autofree char *refused = g_strdup_printf ("no connection to unix:%s: ", path);
  g_autofree char *fill = g_strnfill (107, 'x');
  g_autofree char *longer = g_strconcat ("/", fill, NULL);
  g_autoptr (EngResponse) response = NULL;
  g_autoptr (EngResponse) gone = NULL;
  g_autoptr (EngResponse) dead = NULL;

  fake_backend_free (f->backend);
  f->backend = fake_backend_new (path);
  g_assert_nonnull (f->backend);
  fake_backend_script (f->backend, "*", "*", &ok);
  f->config.base_url = NULL;
  f->config.unix_socket = path;
  f->config.sign_in = NULL;
  response = fixture_get (f, "/api/v2/x");
  assert_answered (response, 200, OK_BODY);
  g_assert_cmpstr (eng_door ()->origin (f->client), ==, origin);
  g_clear_pointer (&f->backend, fake_backend_free);
  gone = fixture_post (f, "/api/v2/x", "{}");
  assert_failed (gone, ENG_ERROR_CONNECT, ENG_NOT_SENT, missing);
  g_assert_true (g_file_set_contents (path, "", 0, NULL));
  dead = fixture_post (f, "/api/v2/x", "{}");
  assert_failed (dead, ENG_ERROR_CONNECT, ENG_NOT_SENT, refused);
  unlink (path);
  rmdir (dir);
  f->config.unix_socket = longer;
  assert_no_client (f, "is too long: 108 bytes, at most 107");
  g_assert_cmpuint (strlen (longer), ==, 108);
  f->config.unix_socket = "relative";
  assert_no_client (f, "is not absolute");
}

static void
test_localhost (void)
{
  static const char *const addresses[] = { "127.0.0.1", "::1" };

  for (guint i = 0; i < G_N_ELEMENTS (addresses); i++)
    {
      g_autoptr (Fixture) f = fixture_new ();
      g_autofree char *base = (char *) (gsize) f->config.base_url;
      FakeBackend *other = fake_backend_new (addresses[i]);
      g_autoptr (EngResponse) response = NULL;

      if (other == NULL)
        {
          f->config.base_url = NULL;
          g_test_skip ("no IPv6 on loopback here");
          return;
        }
      fake_backend_free (f->backend);
      f->backend = other;
      f->config.base_url = g_strdup_printf ("http://localhost:%u", fake_backend_port (other));
      fake_backend_script (other, "*", "*", &ok);
      response = fixture_post (f, "/api/v2/x", "{}");
      assert_answered (response, 200, OK_BODY);
    }
}

/* Another host: through the proxy of the environment, gzip asked for. */
static void
test_proxy (void)
{
  g_autoptr (Fixture) f = fixture_new ();
  g_autofree char *proxy = (char *) (gsize) f->config.base_url;
  g_autoptr (GPtrArray) requests = NULL;
  g_autofree char *encoding = NULL;
  g_autoptr (EngResponse) plain = NULL;
  const FakeRequest *request;

  g_setenv ("http_proxy", proxy, TRUE);
  f->config.base_url = g_strdup ("http://airflow.invalid:8080");
  fake_backend_script (f->backend, "GET", "*", &ok);
  plain = fixture_get (f, "/api/v2/x");
  g_unsetenv ("http_proxy");
  assert_answered (plain, 200, OK_BODY);
  requests = fake_backend_requests (f->backend);
  request = g_ptr_array_index (requests, 0);
  g_assert_cmpstr (request->target, ==, "http://airflow.invalid:8080/api/v2/x");
  encoding = fake_request_header (request, "accept-encoding", NULL);
  g_assert_cmpstr (encoding, ==, "gzip");
}

/* A proxy that refuses the tunnel saw a CONNECT, but the backend saw nothing. */
static void
test_proxy_refuses (void)
{
  g_autoptr (Fixture) f = fixture_new ();
  g_autofree char *proxy = (char *) (gsize) f->config.base_url;
  g_autoptr (EngResponse) refused = NULL;
  g_autoptr (EngResponse) closed = NULL;

  g_setenv ("https_proxy", proxy, TRUE);
  f->config.base_url = g_strdup ("https://airflow.invalid");
  fake_backend_script (f->backend, "CONNECT", "*", &(FakeAnswer){ .status = 502, .body = "no" });
  fake_backend_script (f->backend, "CONNECT", "*", &(FakeAnswer){ .mode = FAKE_TRUNCATE });
  refused = fixture_post (f, "/api/v2/x", "{}");
  closed = fixture_post (f, "/api/v2/x", "{}");
  g_unsetenv ("https_proxy");
  assert_failed (refused, ENG_ERROR_CONNECT, ENG_NOT_SENT, "https://airflow.invalid");
  g_assert_nonnull (closed->error);
  g_assert_cmpint (closed->sent, ==, ENG_NOT_SENT);
  g_assert_null (refused->body);
}

/* --------------------------------------------------------------------- TLS */

typedef struct
{
  GPid pid;
  int in;
  int out;
  guint port;
} TlsBackend;

static gboolean
tls_start (TlsBackend *self)
{
  const char *python = g_getenv ("PYTHON");
  g_autofree char *script
      = g_test_build_filename (G_TEST_DIST, "tests", "lib", "tls-backend.py", NULL);
  g_autofree char *cert = data_file ("localhost.crt");
  g_autofree char *key = data_file ("localhost.key");
  const char *argv[]
      = { python != NULL && python[0] != '\0' ? python : "python3", script, cert, key, NULL };
  char line[64] = "";
  gsize len = 0;

  if (!g_spawn_async_with_pipes (NULL, (char **) (gsize) argv, NULL,
                                 G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL,
                                 &self->pid, &self->in, &self->out, NULL, NULL))
    return FALSE;
  while (len < sizeof line - 1 && read (self->out, line + len, 1) == 1 && line[len] != '\n')
    len++;
  self->port = g_str_has_prefix (line, "port ") ? (guint) g_ascii_strtoull (line + 5, NULL, 10) : 0;
  return self->port != 0;
}

static void
tls_stop (TlsBackend *self)
{
  close (self->in);
  close (self->out);
  waitpid (self->pid, NULL, 0);
}

static EngResponse *
tls_get (const TlsBackend *tls, const char *host, const char *ca_file)
{
  g_autoptr (Fixture) f = fixture_new ();
  g_autofree char *base = (char *) (gsize) f->config.base_url;

  f->config.base_url = g_strdup_printf ("https://%s:%u", host, tls->port);
  f->config.ca_file = ca_file;
  return fixture_post (f, "/api/v2/x", "{}");
}

static void
test_tls (void)
{
  TlsBackend tls;
  g_autofree char *cert = data_file ("localhost.crt");
  g_autoptr (EngResponse) untrusted = NULL;
  g_autoptr (EngResponse) trusted = NULL;
  g_autoptr (EngResponse) other_name = NULL;

  if (!tls_start (&tls))
    {
      g_test_skip ("no python3 with ssl");
      return;
    }
  untrusted = tls_get (&tls, "localhost", NULL);
  assert_failed (untrusted, ENG_ERROR_TLS, ENG_NOT_SENT, "AIRFLOW_API_CA_FILE");
  trusted = tls_get (&tls, "localhost", cert);
  assert_answered (trusted, 200, "{\"tls\":true}");
  other_name = tls_get (&tls, "127.0.0.1", cert);
  assert_failed (other_name, ENG_ERROR_TLS, ENG_NOT_SENT,
                 "no trusted connection to https://127.0.0.1");
  tls_stop (&tls);
}

static void
test_tls_to_plain (void)
{
  g_autoptr (Fixture) f = fixture_new ();
  g_autofree char *base = (char *) (gsize) f->config.base_url;
  g_autoptr (EngResponse) response = NULL;

  f->config.base_url = g_strdup_printf ("https://127.0.0.1:%u", fake_backend_port (f->backend));
  fake_backend_script (f->backend, "*", "*", &ok);
  /* The server waits for the end of a header that never comes. */
  {
    const EngRequest request = { .method = "POST", .path = "/api/v2/x", .timeout_ms = 300 };

    response = fixture_run (f, &request);
  }
  g_assert_nonnull (response->error);
  g_assert_cmpint (response->sent, ==, ENG_NOT_SENT);
}

static void
test_ca_file (void)
{
  g_autoptr (Fixture) f = fixture_new ();
  g_autofree char *readme = data_file ("README");

  f->config.ca_file = "/nonexistent/ca.pem";
  assert_no_client (f, "AIRFLOW_API_CA_FILE: the CA file \"/nonexistent/ca.pem\" cannot be read");
  f->config.ca_file = readme;
  assert_no_client (f, "holds nothing in PEM form");
  f->config.ca_file = NULL;
  f->config.client_cert = "/nonexistent/c.pem";
  assert_no_client (f, "client certificate");
  f->config.client_cert = NULL;
  f->config.client_key = "/nonexistent/k.pem";
  assert_no_client (f, "client key");
}

static void
test_bad_url (void)
{
  g_autoptr (Fixture) f = fixture_new ();
  g_autofree char *base = (char *) (gsize) f->config.base_url;

  f->config.base_url = NULL;
  assert_no_client (f, "AIRFLOW_API_URL must begin with http:// or https://");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/eng-faults/broken", test_broken);
  g_test_add_func ("/eng-faults/header-flood", test_header_flood);
  g_test_add_func ("/eng-faults/long-header", test_long_header);
  g_test_add_func ("/eng-faults/many-headers", test_many_headers);
  g_test_add_func ("/eng-faults/good-kinds", test_good_kinds);
  g_test_add_func ("/eng-faults/too-large", test_too_large);
  g_test_add_func ("/eng-faults/bomb", test_bomb);
  g_test_add_func ("/eng-faults/deadlines", test_deadlines);
  g_test_add_func ("/eng-faults/tail", test_tail);
  g_test_add_func ("/eng-faults/tail-deadline", test_tail_deadline);
  g_test_add_func ("/eng-faults/tail-others", test_tail_others);
  g_test_add_func ("/eng-faults/cancel", test_cancel);
  g_test_add_func ("/eng-faults/cancel-stages", test_cancel_stages);
  g_test_add_func ("/eng-faults/free-in-flight", test_free_in_flight);
  g_test_add_func ("/eng-faults/free-in-callback", test_free_in_callback);
  g_test_add_func ("/eng-faults/unix", test_unix);
  g_test_add_func ("/eng-faults/localhost", test_localhost);
  g_test_add_func ("/eng-faults/proxy", test_proxy);
  g_test_add_func ("/eng-faults/proxy-refuses", test_proxy_refuses);
  g_test_add_func ("/eng-faults/tls", test_tls);
  g_test_add_func ("/eng-faults/tls-to-plain", test_tls_to_plain);
  g_test_add_func ("/eng-faults/ca-file", test_ca_file);
  g_test_add_func ("/eng-faults/bad-url", test_bad_url);
  return g_test_run ();
}
