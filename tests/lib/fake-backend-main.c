/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake-backend: the fake as a program, for tests that drive the bridge from outside.
 *
 *   fake-backend [--listen ADDRESS|SOCKET-PATH] [--delay-ms N] [--require-token]
 * [RECORDING-FOLDER...]
 *
 * Prints "port N" (or "socket PATH") and ends when its standard input does. Answers, in this order:
 *   GET /__requests     what came so far:
 * [{"connection":1,"method":"GET","target":"/a?b=c","headers":[["Host","..."],...],"body":"..."},...]
 *   DELETE /__requests  forgets requests and scripts
 *   POST /__script
 * {"method":"GET"|"*","path":"/api/v2/x"|"*","answers":[{"status":200,"headers":[["Retry-After","1"]],"body":any
 * JSON or a string, "raw":"HTTP/1.1
 * ...","mode":"keep|close|truncate|reset|stall|drip","at":bytes,"delay_ms":0,"times":1 (0: always),
 *                       "chunked":false,"no_length":false,"unit":"...{i}...","count":0,"end":"..."},...]}:
 * used in order, before anything below POST /auth/token    201 {"access_token":"fake-token-N"}
 *   recordings
 * {"request":{"method","path","query","headers","user"},"response":{"status","headers","body"}}:
 * same method, same decoded path, the query that fits best anything else       404 {"detail":"Not
 * Found"} With --require-token, what comes without a token of the last sign-in gets 401
 * {"detail":"Not authenticated"}.
 */
#include "config.h"

#include "dbr-access.h"
#include "dbr-json-doc.h"
#include "dbr-text.h"
#include "fake-backend.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct
{
  char *method;
  char *path;  /* decoded */
  GStrv query; /* decoded pairs, sorted */
  gboolean is_admin;
  char *accept;
  guint status;
  char *headers;
  char *body;
  gsize body_len;
} Recording;

typedef struct
{
  FakeBackend *backend;
  GPtrArray *recordings; /* of Recording */
  guint n_tokens;
  gboolean requires_token;
  guint delay_ms;
  GPtrArray *answers; /* strings that live as long as the program */
} Fake;

static const char *
keep (Fake *self, char *text)
{
  g_ptr_array_add (self->answers, text);
  return text;
}

/* -------------------------------------------------------------- recordings */

static int
compare_strings (const void *a, const void *b)
{
  return strcmp (*(char *const *) a, *(char *const *) b);
}

static GStrv
split_query (const char *query)
{
  GStrv pairs = g_strsplit (query != NULL ? query : "", "&", -1);
  guint n = g_strv_length (pairs);

  for (guint i = 0; i < n; i++)
    {
      g_autofree char *spaced = g_strdelimit (g_strdup (pairs[i]), "+", ' ');
      char *plain = dbr_path_decode (spaced);

      if (plain == NULL)
        continue;
      g_free (pairs[i]);
      pairs[i] = plain;
    }
  qsort (pairs, n, sizeof *pairs, compare_strings);
  return pairs;
}

static char *
member (DbrJson object, const char *name)
{
  char *text = dbr_json_dup_string (dbr_json_get (object, name));

  return text != NULL ? text : g_strdup ("");
}

static gboolean
is_framing (const char *name)
{
  static const char *const names[]
      = { "content-length", "transfer-encoding", "content-encoding", "connection", "date", NULL };
  g_autofree char *lower = g_ascii_strdown (name, -1);

  return g_strv_contains (names, lower);
}

static char *
header_lines (DbrJson headers)
{
  GString *lines = g_string_new (NULL);

  for (DbrJson pair = dbr_json_first (headers); dbr_json_exists (pair); pair = dbr_json_next (pair))
    {
      gboolean is_array = dbr_json_type (headers) == DBR_JSON_ARRAY;
      g_autofree char *name
          = dbr_json_dup_string (is_array ? dbr_json_element (pair, 0) : dbr_json_key (pair));
      g_autofree char *value = dbr_json_dup_string (is_array ? dbr_json_element (pair, 1) : pair);

      if (name != NULL && value != NULL && !is_framing (name))
        g_string_append_printf (lines, "%s: %s\r\n", name, value);
    }
  return g_string_free (lines, FALSE);
}

/* A string as it is, anything else as JSON text. */
static char *
body_text (DbrJson body, gsize *out_len)
{
  g_autoptr (GString) text = g_string_new (NULL);
  const char *plain;
  gsize len;

  if (dbr_json_exists (body))
    {
      plain = dbr_json_string (body, text, &len);
      if (plain == NULL)
        dbr_json_append (body, text);
      else if (plain != text->str)
        g_string_append_len (g_string_truncate (text, 0), plain, (gssize) len);
    }
  *out_len = text->len;
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static void
load_recording (Fake *self, const char *file)
{
  g_autofree char *text = NULL;
  g_autoptr (DbrJsonDoc) doc = NULL;
  g_autofree char *path = NULL, *query = NULL, *user = NULL;
  DbrJson request, response;
  Recording *recording;
  gint64 status = 0;
  gsize len;

  if (!g_file_get_contents (file, &text, &len, NULL))
    return;
  doc = dbr_json_doc_new_from_data (text, (gssize) len, NULL, NULL);
  if (doc == NULL)
    return;
  request = dbr_json_get (dbr_json_doc_root (doc), "request");
  response = dbr_json_get (dbr_json_doc_root (doc), "response");
  if (!dbr_json_exists (request) || !dbr_json_int64 (dbr_json_get (response, "status"), &status))
    return;
  recording = g_new0 (Recording, 1);
  path = member (request, "path");
  query = member (request, "query");
  user = member (request, "user");
  recording->method = member (request, "method");
  recording->path = dbr_path_decode (path);
  if (recording->path == NULL)
    recording->path = g_strdup (path);
  recording->query = split_query (query);
  recording->is_admin = user[0] == '\0' || g_str_equal (user, "admin");
  recording->accept = member (dbr_json_get (request, "headers"), "Accept");
  recording->status = (guint) status;
  recording->headers = header_lines (dbr_json_get (response, "headers"));
  recording->body = body_text (dbr_json_get (response, "body"), &recording->body_len);
  g_ptr_array_add (self->recordings, recording);
}

static gboolean
load_folder (Fake *self, const char *folder)
{
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  const char *name;

  if (dir == NULL)
    return FALSE;
  while ((name = g_dir_read_name (dir)) != NULL)
    if (g_str_has_suffix (name, ".json"))
      g_ptr_array_add (names, g_build_filename (folder, name, NULL));
  g_ptr_array_sort (names, compare_strings);
  for (guint i = 0; i < names->len; i++)
    load_recording (self, g_ptr_array_index (names, i));
  return TRUE;
}

/* Both sorted: pairs in common count for it, others against it. */
static int
score_query (char **a, char **b)
{
  int score = 0;

  while (*a != NULL || *b != NULL)
    {
      int order = *a == NULL ? 1 : *b == NULL ? -1 : strcmp (*a, *b);

      score += order == 0 ? 2 : -1;
      a += order <= 0;
      b += order >= 0;
    }
  return score;
}

static const Recording *
find_recording (Fake *self, const FakeRequest *request)
{
  const char *mark = strchr (request->target, '?');
  g_autofree char *path = mark != NULL
                              ? g_strndup (request->target, (gsize) (mark - request->target))
                              : g_strdup (request->target);
  g_autofree char *plain = dbr_path_decode (path);
  g_autofree char *accept = fake_request_header (request, "accept", NULL);
  g_auto (GStrv) query = split_query (mark != NULL ? mark + 1 : NULL);
  const Recording *best = NULL;
  int best_score = G_MININT;

  for (guint i = 0; i < self->recordings->len; i++)
    {
      const Recording *one = g_ptr_array_index (self->recordings, i);
      int score;

      if (!g_str_equal (one->method, request->method) || g_strcmp0 (one->path, plain) != 0)
        continue;
      score = score_query (one->query, query);
      score -= one->is_admin ? 0 : 100;
      score -= one->status == 401 || one->status == 403 ? 50 : 0;
      score
          -= one->accept[0] == '\0' || accept == NULL || g_str_equal (one->accept, accept) ? 0 : 30;
      if (score > best_score)
        {
          best = one;
          best_score = score;
        }
    }
  return best;
}

/* ------------------------------------------------------------ own resources */

static void
append_request (GString *out, const FakeRequest *request)
{
  g_auto (GStrv) lines = g_strsplit (request->head, "\r\n", -1);
  g_autoptr (GString) body = g_string_new (NULL);
  gsize len;
  const char *bytes = g_bytes_get_data (request->body, &len);

  g_string_append_printf (out, "{\"connection\":%u,\"method\":", request->connection);
  dbr_text_append_json_string (out, request->method, -1);
  g_string_append (out, ",\"target\":");
  dbr_text_append_json_string (out, request->target, -1);
  g_string_append (out, ",\"headers\":[");
  for (guint i = 1; lines[0] != NULL && lines[i] != NULL && lines[i][0] != '\0'; i++)
    {
      char *colon = strchr (lines[i], ':');

      if (colon == NULL)
        continue;
      *colon = '\0';
      g_string_append (out, i > 1 ? ",[" : "[");
      dbr_text_append_json_string (out, lines[i], -1);
      g_string_append_c (out, ',');
      dbr_text_append_json_string (out, g_strstrip (colon + 1), -1);
      g_string_append_c (out, ']');
    }
  g_string_append (out, "],\"body\":");
  dbr_text_append_valid (body, bytes, (gssize) len);
  dbr_text_append_json_string (out, body->str, (gssize) body->len);
  g_string_append_c (out, '}');
}

static char *
list_requests (Fake *self)
{
  g_autoptr (GPtrArray) requests = fake_backend_requests (self->backend);
  GString *out = g_string_new ("[");

  for (guint i = 0; i < requests->len; i++)
    {
      if (i > 0)
        g_string_append_c (out, ',');
      append_request (out, g_ptr_array_index (requests, i));
    }
  g_string_append_c (out, ']');
  return g_string_free (out, FALSE);
}

static FakeMode
mode_of (const char *name)
{
  static const char *const names[]
      = { [FAKE_KEEP] = "keep",   [FAKE_CLOSE] = "close", [FAKE_TRUNCATE] = "truncate",
          [FAKE_RESET] = "reset", [FAKE_STALL] = "stall", [FAKE_DRIP] = "drip" };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    if (g_str_equal (name, names[i]))
      return (FakeMode) i;
  return FAKE_KEEP;
}

static guint64
number (DbrJson object, const char *name, guint64 otherwise)
{
  gint64 value;

  return dbr_json_int64 (dbr_json_get (object, name), &value) && value >= 0 ? (guint64) value
                                                                            : otherwise;
}

static void
add_script (Fake *self, const char *method, const char *path, DbrJson json)
{
  g_autofree char *headers = header_lines (dbr_json_get (json, "headers"));
  g_autofree char *mode = member (json, "mode");
  g_autofree char *unit = dbr_json_dup_string (dbr_json_get (json, "unit"));
  g_autofree char *end = dbr_json_dup_string (dbr_json_get (json, "end"));
  g_autofree char *body = NULL, *raw = NULL;
  gsize body_len = 0, raw_len = 0;
  FakeAnswer answer = {
    .status = (guint) number (json, "status", 200),
    .headers = headers,
    .unit = unit,
    .count = number (json, "count", 0),
    .end = end,
    .no_length = dbr_json_get_boolean (dbr_json_get (json, "no_length")),
    .chunked = dbr_json_get_boolean (dbr_json_get (json, "chunked")),
    .mode = mode_of (mode),
    .at = (gsize) number (json, "at", 0),
    .delay_ms = (guint) number (json, "delay_ms", 0),
    .times = (guint) number (json, "times", 1),
  };

  if (answer.times == 0)
    answer.times = G_MAXUINT;
  body = body_text (dbr_json_get (json, "body"), &body_len);
  answer.body = body;
  answer.body_len = (gssize) body_len;
  if (dbr_json_exists (dbr_json_get (json, "raw")))
    {
      raw = body_text (dbr_json_get (json, "raw"), &raw_len);
      answer.raw = raw;
      answer.raw_len = (gssize) raw_len;
    }
  fake_backend_script (self->backend, method, path, &answer);
}

static gboolean
script (Fake *self, const FakeRequest *request)
{
  gsize len;
  const char *bytes = g_bytes_get_data (request->body, &len);
  g_autoptr (DbrJsonDoc) doc = dbr_json_doc_new_from_data (bytes, (gssize) len, NULL, NULL);
  g_autofree char *method = NULL, *path = NULL;
  DbrJson answers;

  if (doc == NULL)
    return FALSE;
  method = member (dbr_json_doc_root (doc), "method");
  path = member (dbr_json_doc_root (doc), "path");
  answers = dbr_json_get (dbr_json_doc_root (doc), "answers");
  if (method[0] == '\0' || path[0] == '\0' || dbr_json_count (answers) == 0)
    return FALSE;
  for (DbrJson one = dbr_json_first (answers); dbr_json_exists (one); one = dbr_json_next (one))
    add_script (self, method, path, one);
  return TRUE;
}

static gboolean
answer_own (Fake *self, const FakeRequest *request, FakeAnswer *answer)
{
  if (g_str_equal (request->target, "/__requests") && g_str_equal (request->method, "GET"))
    {
      *answer = (FakeAnswer){ .body = keep (self, list_requests (self)) };
      return TRUE;
    }
  if (g_str_equal (request->target, "/__requests") && g_str_equal (request->method, "DELETE"))
    {
      fake_backend_clear (self->backend);
      *answer = (FakeAnswer){ .status = 204 };
      return TRUE;
    }
  if (g_str_equal (request->target, "/__script") && g_str_equal (request->method, "POST"))
    {
      if (script (self, request))
        *answer = (FakeAnswer){ .status = 204 };
      else
        *answer = (FakeAnswer){ .status = 400, .body = "{\"detail\":\"not a script\"}" };
      return TRUE;
    }
  return FALSE;
}

static gboolean
is_signed_in (Fake *self, const FakeRequest *request)
{
  g_autofree char *credential = fake_request_header (request, "authorization", NULL);
  g_autofree char *right = g_strdup_printf ("Bearer fake-token-%u", self->n_tokens);

  return g_strcmp0 (credential, right) == 0;
}

static gboolean
handle (const FakeRequest *request, FakeAnswer *answer, gpointer user_data)
{
  Fake *self = user_data;
  const Recording *recording;

  if (answer_own (self, request, answer))
    return TRUE;
  if (g_str_equal (request->target, "/auth/token") && g_str_equal (request->method, "POST"))
    {
      *answer = (FakeAnswer){
        .status = 201,
        .body
        = keep (self, g_strdup_printf ("{\"access_token\":\"fake-token-%u\"}", ++self->n_tokens)),
      };
      return TRUE;
    }
  if (self->requires_token && !is_signed_in (self, request))
    {
      *answer = (FakeAnswer){ .status = 401, .body = "{\"detail\":\"Not authenticated\"}" };
      return TRUE;
    }
  answer->delay_ms = self->delay_ms;
  recording = find_recording (self, request);
  if (recording == NULL)
    return FALSE;
  *answer = (FakeAnswer){
    .status = recording->status,
    .headers = recording->headers,
    .body = recording->body,
    .body_len = (gssize) recording->body_len,
    .delay_ms = self->delay_ms,
  };
  return TRUE;
}

static void
wait_for_end_of_input (void)
{
  char buffer[256];

  while (read (STDIN_FILENO, buffer, sizeof buffer) > 0)
    ;
}

int
main (int argc, char **argv)
{
  static char *listen_on = NULL;
  static int delay_ms = 0;
  static gboolean requires_token = FALSE;
  static char **folders = NULL;
  const GOptionEntry entries[] = {
    { "listen", 0, 0, G_OPTION_ARG_STRING, &listen_on, "address or socket path", "WHERE" },
    { "delay-ms", 0, 0, G_OPTION_ARG_INT, &delay_ms, "before each answer", "N" },
    { "require-token", 0, 0, G_OPTION_ARG_NONE, &requires_token, "401 without a token", NULL },
    { G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &folders, NULL, "FOLDER" },
    { NULL, 0, 0, 0, NULL, NULL, NULL },
  };
  g_autoptr (GOptionContext) context = g_option_context_new ("- plays an HTTP backend");
  g_autoptr (GError) error = NULL;
  Fake fake = { .recordings = g_ptr_array_new (), .answers = g_ptr_array_new () };

  g_option_context_add_main_entries (context, entries, NULL);
  if (!g_option_context_parse (context, &argc, &argv, &error))
    {
      g_printerr ("fake-backend: %s\n", error->message);
      return 2;
    }
  fake.delay_ms = (guint) MAX (delay_ms, 0);
  fake.requires_token = requires_token;
  for (guint i = 0; folders != NULL && folders[i] != NULL; i++)
    if (!load_folder (&fake, folders[i]))
      {
        g_printerr ("fake-backend: no folder \"%s\"\n", folders[i]);
        return 2;
      }
  fake.backend = fake_backend_new (listen_on != NULL ? listen_on : "127.0.0.1");
  if (fake.backend == NULL)
    {
      g_printerr ("fake-backend: cannot listen\n");
      return 2;
    }
  fake_backend_set_handler (fake.backend, handle, &fake);
  if (listen_on != NULL && listen_on[0] == '/')
    printf ("socket %s\n", listen_on);
  else
    printf ("port %u\n", fake_backend_port (fake.backend));
  fflush (stdout);
  wait_for_end_of_input ();
  fake_backend_free (fake.backend);
  return 0;
}
