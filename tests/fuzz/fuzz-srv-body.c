/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine's operations: each line is one request to an engine in memory that has one of everything: a byte for the
 * operation, one for the id, one for the role, and the body (of a read: a value of the query). Whatever comes, the answer
 * is a document with a status that is documented; a problem has its code, and the status and timeline can still be read.
 */
#include "config.h"

#include "srv-fixture.h"

#include <stdint.h>
#include <string.h>

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

#define MAX_LINES 16u
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

static void
send_line (SrvFixture *f, const SrvActor *foreman, const char *line, gsize length)
{
  const SrvActor *actors[] = { &f->admin, &f->client, &f->worker, foreman };
  guint8 operation = (guint8) line[0] % SRV_N_OPERATIONS, id = (guint8) line[1] % 24,
         role = (guint8) line[2];
  g_autofree char *value = g_utf8_make_valid (line + 3, (gssize) (length - 3));
  const char *query[] = { "limit", value, "state", value, "repo_url", value, NULL };
  g_autoptr (DbrJsonDoc) doc
      = dbr_json_doc_new_from_data (line + 3, (gssize) (length - 3), NULL, NULL);
  gboolean by_project = strstr (srv_operations[operation].path, "{project}") != NULL;
  g_autofree char *ref = by_project ? (id ? g_strdup_printf ("%u", id) : g_strdup ("~")) : NULL;
  SrvRequest request = { .operation = operation,
                         .actor = *actors[role % 4],
                         .id = by_project ? 0 : id,
                         .project_ref = ref,
                         .if_match = role & 4 ? "1" : NULL,
                         .idempotency_key = role & 8 ? "key" : NULL };
  SrvReply *reply = NULL;

  if (operation == SRV_OP_HEALTH || operation == SRV_OP_OPENAPI)
    return;
  if (srv_operations[operation].kind == SRV_READ || operation == SRV_OP_EVENTS)
    {
      request.query = role & 16 ? query + (role >> 5 & 2) * 2 : NULL;
      reply = srv_engine_read (f->engine, &request);
    }
  else
    {
      request.body = doc ? dbr_json_doc_root (doc) : DBR_JSON_NONE;
      srv_engine_write (f->engine, &request, take_reply, &reply);
      while (!reply)
        g_main_context_iteration (NULL, TRUE);
    }
  check (reply);
  srv_reply_free (reply);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  SrvFixture fixture = { 0 }, *f = &fixture;
  const char *at = (const char *) data, *end = at + size;

  if (size < 3)
    return 0;
  srv_fixture_open (f, NULL);
  SrvActor foreman = srv_fixture_fill (f); /* the ids are below 24 */
  for (guint i = 0; i < MAX_LINES && at < end; i++)
    {
      const char *lf = memchr (at, '\n', (gsize) (end - at));
      gsize length = (gsize) ((lf ? lf : end) - at);
      if (length >= 3)
        send_line (f, &foreman, at, length);
      at += length + 1;
    }
  srv_fixture_pass (f, 100);
  g_assert_cmpuint (CALL (&f->client, STATUS, NULL, NULL), ==, 200);
  g_assert_cmpuint (CALL (&f->client, TIMELINE, NULL, NULL), ==, 200);
  srv_fixture_close (f);
  return 0;
}
