/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server: what each method answers in each era, calls in flight, batches, questions to the user.
 */
#include "config.h"

#include "protocol/dbr-server.h"
#include "protocol/test-host.h"

typedef struct
{
  DbrToolHost *host;
  DbrServer *server;
  GPtrArray *lines; /* of char *: what was sent and not yet looked at */
  gboolean is_behind;
} Fixture;

static void
on_send (gpointer user_data, GString *line)
{
  Fixture *f = user_data;

  g_ptr_array_add (f->lines, g_string_free (line, FALSE));
}

static gboolean
on_is_behind (gpointer user_data)
{
  return ((Fixture *) user_data)->is_behind;
}

static Fixture *
fixture_new (const DbrServerOptions *options)
{
  Fixture *f = g_new0 (Fixture, 1);
  const DbrSink sink = { on_send, on_is_behind, f };

  f->host = test_host_new ();
  f->lines = g_ptr_array_new_with_free_func (g_free);
  f->server = dbr_server_new (f->host, &sink, options);
  return f;
}

static void
fixture_free (Fixture *f)
{
  dbr_server_free (f->server);
  g_ptr_array_unref (f->lines);
  test_host_free (f->host);
  g_free (f);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Fixture, fixture_free)

static void
take (Fixture *f, const char *text)
{
  g_autoptr (GBytes) line = g_bytes_new (text, strlen (text));

  dbr_server_take_line (f->server, line);
}

static void
run (Fixture *f)
{
  (void) f;
  while (g_main_context_iteration (NULL, FALSE))
    continue;
}

/* The lines sent since the last look, joined by LF. */
static char *
drain (Fixture *f)
{
  char *all;

  g_ptr_array_add (f->lines, NULL);
  all = g_strjoinv ("\n", (char **) f->lines->pdata);
  g_ptr_array_set_size (f->lines, 0);
  return all;
}

#define ASSERT_SENT(f, expected) \
  G_STMT_START \
  { \
    g_autofree char *sent_ = drain (f); \
    g_assert_cmpstr (sent_, ==, expected); \
  } \
  G_STMT_END

#define ASSERT_SENT_HAS(f, part) \
  G_STMT_START \
  { \
    g_autofree char *sent_ = drain (f); \
    g_assert_nonnull (strstr (sent_, part)); \
  } \
  G_STMT_END

static void
shake_hands (Fixture *f, const char *revision, const char *capabilities)
{
  g_autofree char *line
      = g_strdup_printf ("{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
                         "\"protocolVersion\":\"%s\","
                         "\"capabilities\":%s,\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}",
                         revision, capabilities);

  take (f, line);
  g_ptr_array_set_size (f->lines, 0);
}

static void
call (Fixture *f, const char *id, const char *tool, const char *rest)
{
  g_autofree char *line = g_strdup_printf (
      "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\"%s}}",
      id, tool, rest);

  take (f, line);
}

#define MODERN_META(capabilities) \
  ",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," \
  "\"io.modelcontextprotocol/clientCapabilities\":" capabilities "}"
#define IDENTITY \
  "\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{\"name\":\"test\",\"title\":\"Test host\"," \
  "\"version\":\"1.0\"}}"

/* --------------------------------------------------------------------------- handshake */

static void
test_versions (void)
{
  static const char *const asked[][2] = {
    { "\"2024-11-05\"", "2024-11-05" }, { "\"2025-03-26\"", "2025-03-26" },
    { "\"2025-06-18\"", "2025-06-18" }, { "\"2025-11-25\"", "2025-11-25" },
    { "\"2026-07-28\"", "2025-11-25" }, { "\"1999-01-01\"", "2025-11-25" },
    { "\"2099-01-01\"", "2025-11-25" }, { "null", "2025-11-25" },
    { "20250618", "2025-11-25" },       { "{}", "2025-11-25" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (asked); i++)
    {
      g_autoptr (Fixture) f = fixture_new (NULL);
      g_autofree char *line
          = g_strdup_printf ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
                             "\"protocolVersion\":%s}}",
                             asked[i][0]);
      g_autofree char *part
          = g_strdup_printf ("\"result\":{\"protocolVersion\":\"%s\"", asked[i][1]);

      take (f, line);
      ASSERT_SENT_HAS (f, part);
    }
}

static void
test_before_handshake (void)
{
  g_autoptr (Fixture) f = fixture_new (NULL);

  take (f, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}");
  ASSERT_SENT (f, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
  take (f, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}");
  ASSERT_SENT_HAS (f, "\"id\":2,\"error\":{\"code\":-32602");
  take (f, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"initialize\"}");
  ASSERT_SENT_HAS (f, "\"id\":3,\"result\":{\"protocolVersion\":\"2025-11-25\"");
  take (f, "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"server/discover\"}");
  ASSERT_SENT_HAS (f, "\"id\":4,\"error\":{\"code\":-32602");
  take (f, "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"subscriptions/listen\",\"params\":{}}");
  ASSERT_SENT_HAS (f, "\"id\":5,\"error\":{\"code\":-32602");
}

/* What can't be read has no id: how that is written depends on the revision that was last spoken.
 */
static void
test_unreadable (void)
{
  static const struct
  {
    const char *revision;
    const char *id;
  } cases[] = {
    { NULL, "\"id\":null," },
    { "2024-11-05", "\"id\":null," },
    { "2025-03-26", "\"id\":null," },
    { "2025-06-18", "\"id\":null," },
    { "2025-11-25", "" },
    { "2026-07-28", "" },
  };
  const char *const lines[]
      = { "{bad", "5", "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}" };
  const int codes[] = { -32700, -32600, -32600 };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (Fixture) f = fixture_new (NULL);

      if (g_strcmp0 (cases[i].revision, "2026-07-28") == 0)
        take (f, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/"
                 "discover\",\"params\":{\"x\":0" MODERN_META ("{}") "}}");
      else if (cases[i].revision != NULL)
        shake_hands (f, cases[i].revision, "{}");
      g_ptr_array_set_size (f->lines, 0);
      for (guint n = 0; n < G_N_ELEMENTS (lines); n++)
        {
          g_autofree char *part = g_strdup_printf ("{\"jsonrpc\":\"2.0\",%s\"error\":{\"code\":%d",
                                                   cases[i].id, codes[n]);

          take (f, lines[n]);
          ASSERT_SENT_HAS (f, part);
        }
    }
}

static void
test_silence (void)
{
  g_autoptr (Fixture) f = fixture_new (NULL);
  static const char *const lines[] = {
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/roots/list_changed\"}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"tools/call\",\"params\":{\"name\":\"echo\"}}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"initialize\",\"params\":[]}",
    "{\"method\":\"x\"}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":99}}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":{}}}",
    "{\"jsonrpc\":\"2.0\",\"id\":\"ask-1\",\"result\":{\"action\":\"accept\"}}",
    "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":1,\"message\":\"\"}}",
    "{\"jsonrpc\":\"2.0\",\"result\":{}}",
  };

  for (guint i = 0; i < G_N_ELEMENTS (lines); i++)
    {
      take (f, lines[i]);
      run (f);
      ASSERT_SENT (f, "");
    }
  g_assert_cmpuint (test_host_n_calls (f->host), ==, 0);
}

static void
test_modern_checks (void)
{
  static const struct
  {
    const char *meta;
    const char *expected;
  } cases[] = {
    { "\"io.modelcontextprotocol/protocolVersion\":5", "\"error\":{\"code\":-32602" },
    { "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"", "\"error\":{\"code\":-32602" },
    { "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
      "\"io.modelcontextprotocol/clientCapabilities\":[]",
      "\"error\":{\"code\":-32602" },
    { "\"io.modelcontextprotocol/protocolVersion\":\"2025-11-25\","
      "\"io.modelcontextprotocol/clientCapabilities\":{}",
      "\"data\":{\"supported\":[\"2026-07-28\"],\"requested\":\"2025-11-25\"}" },
    { "\"io.modelcontextprotocol/protocolVersion\":\"20\\u003226\","
      "\"io.modelcontextprotocol/clientCapabilities\":{}",
      "\"error\":{\"code\":-32022" },
    { "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
      "\"io.modelcontextprotocol/clientCapabilities\":{},\"io.modelcontextprotocol/"
      "logLevel\":\"debug\"",
      "\"result\":{\"resultType\":\"complete\"" },
  };
  static const char *const removed[]
      = { "initialize",           "ping",           "logging/setLevel",
          "subscriptions/listen", "resources/list", "resources/templates/list",
          "prompts/list",         "nonsense" };
  g_autoptr (Fixture) f = fixture_new (NULL);

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *line = g_strdup_printf (
          "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":{%s}}}",
          cases[i].meta);

      take (f, line);
      ASSERT_SENT_HAS (f, cases[i].expected);
    }
  for (guint i = 0; i < G_N_ELEMENTS (removed); i++)
    {
      g_autofree char *line = g_strdup_printf (
          "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{\"x\":1%s}}", removed[i],
          MODERN_META ("{}"));
      g_autofree char *text = g_strdup_printf ("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-"
                                               "32601,\"message\":\"Method not found: %s\"}}",
                                               removed[i]);

      take (f, line);
      ASSERT_SENT (f, text);
    }
}

/* ------------------------------------------------------------------------------- tools */

static void
test_list (void)
{
  static const char *const bad[] = { "\"\"", "\"x\"", "5" };
  g_autoptr (Fixture) f = fixture_new (NULL);

  shake_hands (f, "2024-11-05", "{}");
  take (f, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"cursor\":null}}");
  g_assert_cmpuint (f->lines->len, ==, 1);
  g_assert_null (strstr (g_ptr_array_index (f->lines, 0), "annotations"));
  g_assert_null (strstr (g_ptr_array_index (f->lines, 0), "title"));
  g_assert_null (strstr (g_ptr_array_index (f->lines, 0), "nextCursor"));
  ASSERT_SENT_HAS (f, "\"result\":{\"tools\":[{\"name\":\"echo\",\"description\":");
  shake_hands (f, "2025-03-26", "{}");
  take (f, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":null}");
  g_assert_null (strstr (g_ptr_array_index (f->lines, 0), "title"));
  ASSERT_SENT_HAS (f, "\"annotations\":{\"readOnlyHint\":true}");
  shake_hands (f, "2025-06-18", "{}");
  take (f, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
  ASSERT_SENT_HAS (f, "{\"name\":\"echo\",\"title\":\"echo\",");
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autofree char *line = g_strdup_printf (
          "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"cursor\":%s}}",
          bad[i]);

      take (f, line);
      ASSERT_SENT_HAS (f,
                       "\"error\":{\"code\":-32602,\"message\":\"Invalid params: unknown cursor");
    }
}

static void
test_call (void)
{
  g_autoptr (Fixture) f = fixture_new (NULL);

  shake_hands (f, "2025-06-18", "{}");
  call (f, "\"a\\u0062\"", "echo", ",\"arguments\":{\"text\":\"\\u001b\xc3\xa9\"}");
  ASSERT_SENT (f, "");
  run (f);
  ASSERT_SENT (
      f, "{\"jsonrpc\":\"2.0\",\"id\":\"a\\u0062\",\"result\":{\"content\":[{\"type\":\"text\","
         "\"text\":\"\\u001b\xc3\xa9\"}]}}");
  call (f, "1", "echo", ",\"arguments\":null");
  run (f);
  ASSERT_SENT_HAS (f, "\"text\":\"no arguments\"");
  call (f, "1", "echo", ",\"arguments\":{\"id\":9007199254740993,\"x\":1e400,\"y\":-0,\"z\":1.10}");
  run (f);
  ASSERT_SENT_HAS (
      f, "\"text\":\"{\\\"id\\\":9007199254740993,\\\"x\\\":1e400,\\\"y\\\":-0,\\\"z\\\":1.10}\"");
  call (f, "1", "echo", ",\"arguments\":[]");
  ASSERT_SENT_HAS (f, "-32602,\"message\":\"Invalid params: arguments must be an object\"");
  call (f, "1", "echo", ",\"arguments\":\"{}\"");
  ASSERT_SENT_HAS (f, "-32602,\"message\":\"Invalid params: arguments must be an object\"");
  call (f, "1", "no\\u202esuch", "");
  ASSERT_SENT (
      f, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,\"message\":\"Unknown tool: "
         "no\\\\u{202E}such\"}}");
  call (f, "1", "ecoh", "");
  ASSERT_SENT (
      f, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,\"message\":\"Unknown tool: "
         "ecoh; did you mean echo?\"}}");
  call (f, "1", "echo\\u0000", "");
  ASSERT_SENT_HAS (f, "-32602,\"message\":\"Invalid params: name must be a tool's name\"");
  take (f, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"}");
  ASSERT_SENT_HAS (f, "-32602,\"message\":\"Invalid params: name must be a tool's name\"");
}

static void
test_structured (void)
{
  static const struct
  {
    const char *revision;
    gboolean has;
  } cases[] = {
    { "2024-11-05", FALSE }, { "2025-03-26", FALSE }, { "2025-06-18", TRUE }, { "2025-11-25", TRUE }
  };
  g_autoptr (Fixture) f = fixture_new (NULL);

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      shake_hands (f, cases[i].revision, "{}");
      call (f, "1", "fail", "");
      run (f);
      g_assert_cmpint (
          strstr (g_ptr_array_index (f->lines, 0), ",\"structuredContent\":{\"tool\":\"fail\"")
              != NULL,
          ==, cases[i].has);
      ASSERT_SENT_HAS (f, "\"isError\":true");
    }
  call (f, "1", "fail", MODERN_META ("{}"));
  run (f);
  ASSERT_SENT (f, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"resultType\":\"complete\"," IDENTITY
                  ",\"content\":[{\"type\":\"text\",\"text\":\"it failed\"}],\"structuredContent\":"
                  "{\"tool\":\"fail\",\"refused\":true},\"isError\":true}}");
}

/* ------------------------------------------------------------------------------- calls */

static void
test_cancel (void)
{
  g_autoptr (Fixture) f = fixture_new (NULL);

  shake_hands (f, "2025-11-25", "{}");
  call (f, "\"s\"", "slow", "");
  call (f, "2", "slow", "");
  take (f, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"}");
  ASSERT_SENT (f, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}");
  /* the number 2 is not the string "2" */
  take (f, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
           "cancelled\",\"params\":{\"requestId\":\"2\"}}");
  g_assert_cmpuint (test_host_n_cancelled (f->host), ==, 0);
  take (f, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
           "cancelled\",\"params\":{\"requestId\":\"\\u0073\","
           "\"reason\":\"x\"}}");
  g_assert_cmpuint (test_host_n_cancelled (f->host), ==, 1);
  g_assert_cmpuint (dbr_server_in_flight (f->server), ==, 1);
  call (f, "4", "release", "");
  run (f);
  g_assert_cmpuint (f->lines->len, ==, 2);
  ASSERT_SENT_HAS (f, "\"text\":\"released 1\"");
  take (
      f,
      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":2}}");
  run (f);
  ASSERT_SENT (f, "");
  g_assert_cmpuint (dbr_server_in_flight (f->server), ==, 0);
}

static void
test_duplicate (void)
{
  g_autoptr (Fixture) f = fixture_new (NULL);

  shake_hands (f, "2025-11-25", "{}");
  call (f, "1", "slow", "");
  call (f, "1", "echo", "");
  run (f);
  ASSERT_SENT (
      f,
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32600,\"message\":\"Invalid Request: a "
      "call with this id is still in flight\"}}");
  call (f, "2", "release", "");
  run (f);
  g_ptr_array_set_size (f->lines, 0);
  call (f, "1", "echo", "");
  run (f);
  ASSERT_SENT_HAS (f, "\"id\":1,\"result\"");
}

static void
test_busy (void)
{
  const DbrServerOptions options = { .calls = { .max_running = 2, .max_queued = 3 } };
  g_autoptr (Fixture) f = fixture_new (&options);

  shake_hands (f, "2025-11-25", "{}");
  for (guint i = 1; i <= 6; i++)
    {
      g_autofree char *id = g_strdup_printf ("%u", i);

      call (f, id, "slow", "");
    }
  g_assert_cmpuint (test_host_n_running (f->host), ==, 2);
  g_assert_cmpuint (dbr_server_in_flight (f->server), ==, 5);
  g_assert_cmpuint (f->lines->len, ==, 1);
  ASSERT_SENT_HAS (f, "\"id\":6,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"Busy: ");
  /* a queued call is cancelled; then a running one, whose place the next takes */
  take (
      f,
      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":4}}");
  take (
      f,
      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}");
  run (f);
  g_assert_cmpuint (test_host_n_running (f->host), ==, 2);
  g_assert_cmpuint (test_host_n_calls (f->host), ==, 3);
  g_assert_cmpuint (dbr_server_in_flight (f->server), ==, 3);
  dbr_server_end_calls (f->server, "It is over.");
  g_assert_cmpuint (f->lines->len, ==, 3);
  ASSERT_SENT_HAS (f, "\"text\":\"It is over.\"}],\"isError\":true");
  g_assert_cmpuint (dbr_server_in_flight (f->server), ==, 0);
}

/* The text that waits is bounded as well as the number of calls. */
static void
test_busy_bytes (void)
{
  const DbrServerOptions options = { .calls = { .max_running = 1, .max_held_bytes = 300 } };
  g_autoptr (Fixture) f = fixture_new (&options);

  shake_hands (f, "2025-11-25", "{}");
  for (guint i = 1; i <= 5; i++)
    {
      g_autofree char *id = g_strdup_printf ("%u", i);

      call (f, id, "slow", ",\"arguments\":{\"text\":\"0123456789012345\"}");
    }
  g_assert_cmpuint (dbr_server_in_flight (f->server), ==, 3);
  g_assert_cmpuint (f->lines->len, ==, 2);
}

static void
test_behind (void)
{
  g_autoptr (Fixture) f = fixture_new (NULL);

  shake_hands (f, "2025-11-25", "{}");
  f->is_behind = TRUE;
  call (f, "1", "progress", ",\"_meta\":{\"progressToken\":1}");
  run (f);
  ASSERT_SENT (f, "");
  g_assert_cmpuint (test_host_n_calls (f->host), ==, 0);
  f->is_behind = FALSE;
  dbr_server_resume (f->server);
  f->is_behind = TRUE;
  run (f);
  ASSERT_SENT_HAS (f, "\"id\":1,\"result\"");
}

static void
test_progress (void)
{
  static const char *const tokens[]
      = { "0", "7", "\"t\\u0031\"", "\"\"", "123456789012345678901234567890" };
  static const char *const none[] = { "null", "1.5", "{}", "true" };
  g_autoptr (Fixture) f = fixture_new (NULL);

  shake_hands (f, "2025-11-25", "{}");
  for (guint i = 0; i < G_N_ELEMENTS (tokens); i++)
    {
      g_autofree char *rest = g_strdup_printf (
          ",\"arguments\":{\"steps\":2},\"_meta\":{\"progressToken\":%s}", tokens[i]);
      g_autofree char *expected = g_strdup_printf (
          "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
          "progress\",\"params\":{\"progressToken\":%s,"
          "\"progress\":1,\"total\":2,\"message\":\"a step\"}}\n"
          "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
          "progress\",\"params\":{\"progressToken\":%s,"
          "\"progress\":2,\"total\":2,\"message\":\"a step\"}}\n"
          "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":"
          "\"progressed\"}]}}",
          tokens[i], tokens[i]);

      call (f, "1", "progress", rest);
      run (f);
      ASSERT_SENT (f, expected);
    }
  for (guint i = 0; i < G_N_ELEMENTS (none); i++)
    {
      g_autofree char *rest = g_strdup_printf (",\"_meta\":{\"progressToken\":%s}", none[i]);

      call (f, "1", "progress", rest);
      run (f);
      g_assert_cmpuint (f->lines->len, ==, 1);
      g_ptr_array_set_size (f->lines, 0);
    }
  shake_hands (f, "2024-11-05", "{}");
  call (f, "1", "progress", ",\"arguments\":{\"steps\":1},\"_meta\":{\"progressToken\":1}");
  run (f);
  ASSERT_SENT_HAS (f, "\"progress\":1,\"total\":1}}\n");
}

/* ----------------------------------------------------------------------------- batches */

static void
test_batch (void)
{
  g_autoptr (Fixture) f = fixture_new (NULL);
  g_autoptr (GString) many = g_string_new ("[");

  shake_hands (f, "2025-03-26", "{}");
  take (f, "[]");
  ASSERT_SENT_HAS (f, "\"id\":null,\"error\":{\"code\":-32600");
  take (f, "[{\"jsonrpc\":\"2.0\",\"method\":\"x\"},{\"jsonrpc\":\"2.0\",\"method\":\"y\"}]");
  ASSERT_SENT (f, "");
  take (f,
        "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"},5,"
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"initialize\"},"
        "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\"}},"
        "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"tools/list\",\"params\":{\"x\":1" MODERN_META (
            "{}") "}}]");
  ASSERT_SENT (f, "");
  run (f);
  ASSERT_SENT (
      f,
      "[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}},"
      "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"Invalid Request: "
      "a "
      "message is an object\"}},"
      "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32600,\"message\":\"Invalid Request: "
      "initialize can't be part of a batch\"}},"
      "{\"jsonrpc\":\"2.0\",\"id\":4,\"error\":{\"code\":-32600,\"message\":\"Invalid Request: a "
      "modern request can't be part of a batch\"}},"
      "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"no "
      "arguments\"}]}}]");
  /* a cancelled call owes the batch nothing */
  take (f,
        "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"},"
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"slow\"}}]");
  ASSERT_SENT (f, "");
  take (
      f,
      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":2}}");
  ASSERT_SENT (f, "[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}]");
  for (guint i = 0; i < DBR_BATCH_MAX_MESSAGES + 1; i++)
    g_string_append (many, i > 0 ? ",0" : "0");
  g_string_append_c (many, ']');
  take (f, many->str);
  ASSERT_SENT_HAS (f, "Invalid Request: a batch holds at most 256 messages");
  shake_hands (f, "2025-06-18", "{}");
  take (f, "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]");
  ASSERT_SENT (f, "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":"
                  "\"Invalid Request: an "
                  "array of messages belongs to 2025-03-26 only\"}}");
}

/* ----------------------------------------------------------------------------- asking */

#define QUESTION_SCHEMA \
  "{\"type\":\"object\",\"properties\":{\"confirm\":{\"type\":\"boolean\",\"title\":\"Do it\"," \
  "\"default\":false}},\"required\":[\"confirm\"]}"

static void
test_ask_outcomes (void)
{
  static const char *const answers[][2] = {
    { "\"result\":{\"action\":\"accept\",\"content\":{\"confirm\":true}}", "accepted" },
    { "\"result\":{\"action\":\"accept\",\"content\":{\"confirm\":false}}", "declined" },
    { "\"result\":{\"action\":\"accept\",\"content\":{\"confirm\":\"true\"}}", "declined" },
    { "\"result\":{\"action\":\"accept\"}", "declined" },
    { "\"result\":{\"action\":\"decline\",\"content\":{\"confirm\":true}}", "declined" },
    { "\"result\":{\"action\":\"cancel\"}", "cancelled" },
    { "\"result\":{\"action\":\"ACCEPT\",\"content\":{\"confirm\":true}}", "cancelled" },
    { "\"result\":{}", "cancelled" },
    { "\"result\":null", "cancelled" },
    { "\"error\":{\"code\":-32601,\"message\":\"no\"}", "unavailable" },
  };
  g_autoptr (Fixture) f = fixture_new (NULL);

  shake_hands (f, "2025-06-18", "{\"elicitation\":{}}");
  for (guint i = 0; i < G_N_ELEMENTS (answers); i++)
    {
      g_autofree char *question = g_strdup_printf (
          "{\"jsonrpc\":\"2.0\",\"id\":\"ask-%u\",\"method\":\"elicitation/create\",\"params\":"
          "{\"requestedSchema\":" QUESTION_SCHEMA ",\"message\":\"May I?\"}}",
          i + 1);
      g_autofree char *other
          = g_strdup_printf ("{\"jsonrpc\":\"2.0\",\"id\":\"ask-99\",%s}", answers[i][0]);
      g_autofree char *answer
          = g_strdup_printf ("{\"jsonrpc\":\"2.0\",\"id\":\"ask-%u\",%s}", i + 1, answers[i][0]);
      g_autofree char *text = g_strdup_printf ("\"text\":\"%s\"", answers[i][1]);

      call (f, "1", "ask", "");
      run (f);
      ASSERT_SENT (f, question);
      take (f, other);
      run (f);
      ASSERT_SENT (f, "");
      take (f, answer);
      run (f);
      ASSERT_SENT_HAS (f, text);
      /* the answer counts once */
      take (f, answer);
      run (f);
      ASSERT_SENT (f, "");
    }
}

static void
test_ask_abilities (void)
{
  static const struct
  {
    const char *revision;
    const char *capabilities;
    gboolean asks;
  } cases[] = {
    { "2025-11-25", "{\"elicitation\":{}}", TRUE },
    { "2025-11-25", "{\"elicitation\":{\"form\":{}}}", TRUE },
    { "2025-11-25", "{\"elicitation\":{\"form\":{},\"url\":{}}}", TRUE },
    { "2025-11-25", "{\"elicitation\":{\"url\":{}}}", FALSE },
    { "2025-11-25", "{\"elicitation\":null}", FALSE },
    { "2025-11-25", "{\"elicitation\":true}", FALSE },
    { "2025-11-25", "{}", FALSE },
    { "2025-11-25", "null", FALSE },
    { "2025-06-18", "{\"elicitation\":{}}", TRUE },
    { "2025-03-26", "{\"elicitation\":{}}", FALSE },
    { "2024-11-05", "{\"elicitation\":{}}", FALSE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (Fixture) f = fixture_new (NULL);

      shake_hands (f, cases[i].revision, cases[i].capabilities);
      call (f, "1", "ask", "");
      run (f);
      ASSERT_SENT_HAS (f, cases[i].asks ? "\"elicitation/create\"" : "\"text\":\"can't ask\"");
    }
}

static void
wait_for_lines (Fixture *f, guint n_lines)
{
  while (f->lines->len < n_lines)
    g_main_context_iteration (NULL, TRUE);
}

static void
test_ask_limits (void)
{
  const DbrServerOptions options
      = { .elicit = { .limit_ms = 5, .limit_progress_ms = 30, .progress_every_ms = 10 } };
  g_autoptr (Fixture) f = fixture_new (&options);

  shake_hands (f, "2025-11-25", "{\"elicitation\":{}}");
  call (f, "1", "ask", "");
  wait_for_lines (f, 3);
  ASSERT_SENT (
      f,
      "{\"jsonrpc\":\"2.0\",\"id\":\"ask-1\",\"method\":\"elicitation/create\",\"params\":"
      "{\"requestedSchema\":" QUESTION_SCHEMA ",\"mode\":\"form\",\"message\":\"May I?\"}}\n"
      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
      "cancelled\",\"params\":{\"requestId\":\"ask-1\","
      "\"reason\":\"The user did not answer in time\"}}\n"
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"timed "
      "out\"}]}}");
  call (f, "2", "ask", ",\"_meta\":{\"progressToken\":\"p\"}");
  wait_for_lines (f, 5);
  g_assert_nonnull (strstr (g_ptr_array_index (f->lines, 1),
                            "\"progress\":0.0009765625,\"message\":\"Waiting for"));
  g_assert_nonnull (strstr (g_ptr_array_index (f->lines, 2),
                            "\"progress\":0.001953125,\"message\":\"Waiting for"));
  g_assert_nonnull (strstr (g_ptr_array_index (f->lines, 4), "\"text\":\"timed out\""));
}

static void
test_ask_cancelled (void)
{
  g_autoptr (Fixture) f = fixture_new (NULL);

  shake_hands (f, "2025-11-25", "{\"elicitation\":{}}");
  call (f, "1", "ask", "");
  run (f);
  g_ptr_array_set_size (f->lines, 0);
  take (
      f,
      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}");
  ASSERT_SENT (f, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
                  "cancelled\",\"params\":{\"requestId\":\"ask-1\","
                  "\"reason\":\"The call that asked was cancelled\"}}");
  take (f, "{\"jsonrpc\":\"2.0\",\"id\":\"ask-1\",\"result\":{\"action\":\"accept\",\"content\":{"
           "\"confirm\":true}}}");
  run (f);
  ASSERT_SENT (f, "");
}

/* The end of input is a no to open questions and to those that come later. */
static void
test_ask_end_of_input (void)
{
  g_autoptr (Fixture) f = fixture_new (NULL);

  shake_hands (f, "2025-11-25", "{\"elicitation\":{}}");
  call (f, "1", "ask", "");
  run (f);
  call (f, "2", "ask", "");
  dbr_server_end_of_input (f->server);
  wait_for_lines (f, 3);
  ASSERT_SENT (
      f, "{\"jsonrpc\":\"2.0\",\"id\":\"ask-1\",\"method\":\"elicitation/create\",\"params\":"
         "{\"requestedSchema\":" QUESTION_SCHEMA ",\"mode\":\"form\",\"message\":\"May I?\"}}\n"
         "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":"
         "\"cancelled\"}]}}\n"
         "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"content\":[{\"type\":\"text\",\"text\":"
         "\"cancelled\"}]}}");
}

static void
test_ask_modern (void)
{
  static const char *const cannot[]
      = { MODERN_META ("{}"), MODERN_META ("{\"elicitation\":{\"url\":{}}}") };
  g_autoptr (Fixture) f = fixture_new (NULL);

  call (f, "1", "ask", MODERN_META ("{\"elicitation\":{\"form\":{}}}"));
  run (f);
  ASSERT_SENT (
      f, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"resultType\":\"input_required\"," IDENTITY
         ",\"inputRequests\":{\"confirm\":{\"method\":\"elicitation/create\",\"params\":{\"mode\":"
         "\"form\",\"message\":\"May I?\",\"requestedSchema\":" QUESTION_SCHEMA
         "}}},\"requestState\":\"state \\\"1\\\"\"}}");
  call (f, "2", "ask",
        ",\"requestState\":\"s\",\"inputResponses\":{\"confirm\":{\"action\":\"accept\"}"
        "}" MODERN_META ("{\"elicitation\":{}}"));
  run (f);
  ASSERT_SENT_HAS (f, "\"text\":\"s {\\\"confirm\\\":{\\\"action\\\":\\\"accept\\\"}}\"");
  call (f, "3", "ask", ",\"requestState\":5" MODERN_META ("{\"elicitation\":{}}"));
  ASSERT_SENT_HAS (f, "\"id\":3,\"error\":{\"code\":-32602");
  call (f, "3", "ask", ",\"inputResponses\":[]" MODERN_META ("{\"elicitation\":{}}"));
  ASSERT_SENT_HAS (f, "\"id\":3,\"error\":{\"code\":-32602");
  for (guint i = 0; i < G_N_ELEMENTS (cannot); i++)
    {
      call (f, "4", "ask", cannot[i]);
      run (f);
      ASSERT_SENT_HAS (f, "\"text\":\"can't ask\"");
    }
  /* what a handshake said about the client is nothing to a modern request */
  shake_hands (f, "2025-11-25", "{\"elicitation\":{}}");
  call (f, "5", "ask", MODERN_META ("{}"));
  run (f);
  ASSERT_SENT_HAS (f, "\"text\":\"can't ask\"");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/server/versions", test_versions);
  g_test_add_func ("/server/before-handshake", test_before_handshake);
  g_test_add_func ("/server/unreadable", test_unreadable);
  g_test_add_func ("/server/silence", test_silence);
  g_test_add_func ("/server/modern-checks", test_modern_checks);
  g_test_add_func ("/server/list", test_list);
  g_test_add_func ("/server/call", test_call);
  g_test_add_func ("/server/structured", test_structured);
  g_test_add_func ("/server/cancel", test_cancel);
  g_test_add_func ("/server/duplicate", test_duplicate);
  g_test_add_func ("/server/busy", test_busy);
  g_test_add_func ("/server/busy-bytes", test_busy_bytes);
  g_test_add_func ("/server/behind", test_behind);
  g_test_add_func ("/server/progress", test_progress);
  g_test_add_func ("/server/batch", test_batch);
  g_test_add_func ("/server/ask/outcomes", test_ask_outcomes);
  g_test_add_func ("/server/ask/abilities", test_ask_abilities);
  g_test_add_func ("/server/ask/limits", test_ask_limits);
  g_test_add_func ("/server/ask/cancelled", test_ask_cancelled);
  g_test_add_func ("/server/ask/end-of-input", test_ask_end_of_input);
  g_test_add_func ("/server/ask/modern", test_ask_modern);
  return g_test_run ();
}
