/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine's operations: each line is one request to an engine in memory that has one of everything: NAME WHO BODY. WHO is
 * a letter for the role (a, c, w, f; in upper case with an Idempotency-Key), the id or "~" of what the path names, and, behind
 * an "@", If-Match; a read has NAME=VALUE of its query for a body. Whatever comes, the answer is a document with a status that
 * is documented; a problem has its code, and the status and timeline can still be read. DBR_FUZZ_WHOLE: what was replayed
 * must have reached every operation.
 */
#include "config.h"

#include "srv-fixture.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

#define MAX_LINES 32u
#define CALL(actor, op, target, ...) \
  srv_fixture_call (f, actor, SRV_OP_##op, target, __VA_ARGS__, NULL)

static void
take_reply (SrvReply *reply, gpointer user_data)
{
  *(SrvReply **) user_data = reply;
}

static void
check (const SrvReply *reply)
{
  static const guint known[] = { 200, 201, 204, 401, 403, 404, 409, 412, 422, 428 };
  gboolean found = FALSE;

  for (guint i = 0; i < G_N_ELEMENTS (known); i++)
    found |= known[i] == reply->status;
  if (!found)
    g_error ("status %u", reply->status);
  g_autofree char *text = reply->body ? json_dumps (reply->body, JSON_COMPACT) : NULL;
  g_assert_true (text != NULL || reply->status == 204);
  if (reply->status < 400)
    return;
  g_assert_true (json_is_string (json_object_get (reply->body, "code")));
  g_assert_true (json_is_string (json_object_get (reply->body, "detail")));
  g_assert_cmpint (json_integer_value (json_object_get (reply->body, "status")), ==, reply->status);
}

/* ---- what the corpus reaches */

static guint n_done[SRV_N_OPERATIONS], n_invalid[SRV_N_OPERATIONS];

/* Of a whole corpus: each operation must have been carried out, and each that takes a body have refused one. */
static void
check_reached (void)
{
  gboolean is_whole = TRUE;

  for (guint i = 0; i < SRV_N_OPERATIONS; i++)
    {
      gboolean is_read = strcmp (srv_operations[i].method, "GET") == 0;
      if (i == SRV_OP_HEALTH || i == SRV_OP_OPENAPI || (n_done[i] && (is_read || n_invalid[i])))
        continue;
      g_printerr ("%s: carried out %u times, a body refused %u times\n", srv_operations[i].name,
                  n_done[i], n_invalid[i]);
      is_whole = FALSE;
    }
  if (!is_whole)
    _exit (1);
}

static void
note_reached (SrvOperation operation, const SrvReply *reply)
{
  n_done[operation] += reply->status < 300;
  n_invalid[operation] += reply->status == 422;
  if (g_getenv ("DBR_FUZZ_VERBOSE"))
    {
      g_autofree char *text = json_dumps (reply->body, JSON_COMPACT);
      g_printerr ("%s %u %.200s\n", srv_operations[operation].name, reply->status, text);
    }
}

/* ---- a line */

/* By its name; what is no name stands for some operation too. */
static SrvOperation
operation_of (const char *name)
{
  for (guint i = 0; i < SRV_N_OPERATIONS; i++)
    if (strcmp (srv_operations[i].name, name) == 0)
      return (SrvOperation) i;
  return (SrvOperation) (g_str_hash (name) % SRV_N_OPERATIONS);
}

static void
send_request (SrvFixture *f, SrvRequest *request, const char *rest)
{
  g_autofree char *valid = g_utf8_make_valid (rest, -1);
  g_auto (GStrv) pair = g_strsplit (valid, "=", 2);
  const char *query[] = { pair[0], pair[0] ? pair[1] : NULL, NULL };
  g_autoptr (DbrJsonDoc) doc = dbr_json_doc_new_from_data (rest, -1, NULL, NULL);
  SrvReply *reply = NULL;

  if (srv_operations[request->operation].kind == SRV_READ || request->operation == SRV_OP_EVENTS)
    {
      request->query = query[1] ? query : NULL;
      reply = srv_engine_read (f->engine, request);
    }
  else
    {
      request->body = doc ? dbr_json_doc_root (doc) : DBR_JSON_NONE;
      srv_engine_write (f->engine, request, take_reply, &reply);
      while (!reply)
        g_main_context_iteration (NULL, TRUE);
    }
  check (reply);
  note_reached (request->operation, reply);
  srv_reply_free (reply);
}

static void
send_line (SrvFixture *f, const SrvActor *foreman, const char *line)
{
  g_auto (GStrv) words = g_strsplit (line, " ", 3);
  const char *who = words[0] && words[1] ? words[1] : "";
  const char *actor = strchr ("acwf", g_ascii_tolower (*who));
  const SrvActor *actors[] = { &f->admin, &f->client, &f->worker, foreman };
  SrvOperation operation = operation_of (words[0] ? words[0] : "");
  const char *ref = *who ? who + 1 : "";
  const char *version = strchr (ref, '@');
  gboolean by_project = strstr (srv_operations[operation].path, "{project}") != NULL;
  g_autofree char *place = version ? g_strndup (ref, (gsize) (version - ref)) : g_strdup (ref);
  SrvRequest request = { .operation = operation,
                         .actor = *actors[actor && *actor ? actor - "acwf" : 0],
                         .id = by_project ? 0 : g_ascii_strtoll (place, NULL, 10),
                         .project_ref = by_project ? place : NULL,
                         .if_match = version ? version + 1 : NULL,
                         .idempotency_key = g_ascii_isupper (*who) ? "key" : NULL };

  /* The front answers these, and lets no other place through. */
  if (operation == SRV_OP_HEALTH || operation == SRV_OP_OPENAPI || request.id < 0
      || (by_project && strcmp (place, "~") != 0 && g_ascii_strtoll (place, NULL, 10) <= 0))
    return;
  send_request (f, &request, who != words[1] || !words[2] ? "" : words[2]);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  SrvFixture fixture = { 0 }, *f = &fixture;
  const char *at = (const char *) data, *end = at + size;

  static gboolean is_begun;

  if (!is_begun && g_getenv ("DBR_FUZZ_WHOLE"))
    atexit (check_reached);
  is_begun = TRUE;
  srv_fixture_open (f, NULL);
  SrvActor foreman = srv_fixture_fill (f); /* the ids are below 24 */
  for (guint i = 0; i < MAX_LINES && at < end; i++)
    {
      const char *lf = memchr (at, '\n', (gsize) (end - at));
      gsize length = (gsize) ((lf ? lf : end) - at);
      g_autofree char *line = g_strndup (at, length);
      send_line (f, &foreman, line);
      at += length + 1;
    }
  srv_fixture_pass (f, 100);
  g_assert_cmpuint (CALL (&f->client, STATUS, NULL, NULL), ==, 200);
  g_assert_cmpuint (CALL (&f->client, TIMELINE, NULL, NULL), ==, 200);
  srv_fixture_close (f);
  return 0;
}
