/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-fixture: see the header.
 */
#include "config.h"

#include "srv-fixture.h"

#include <string.h>

#define START ((gint64) 1800000000 * G_USEC_PER_SEC) /* a Friday: 2027-01-15 08:00 UTC */

static gint64
fixture_clock (gpointer user_data)
{
  return ((SrvFixture *) user_data)->now + ((SrvFixture *) user_data)->skew;
}

static gint64
fixture_steady (gpointer user_data)
{
  return ((SrvFixture *) user_data)->now;
}

void
srv_fixture_open (SrvFixture *self, const char *file)
{
  g_autoptr (GError) error = NULL;
  SrvEngineOptions options = { .file = file ? file : ":memory:",
                               .clock_us = fixture_clock,
                               .steady_us = fixture_steady,
                               .clock_data = self,
                               .world = self->world,
                               .synchronous = FALSE };

  if (self->now == 0)
    self->now = START;
  self->engine = srv_engine_new (&options, &error);
  g_assert_no_error (error);
  self->admin = (SrvActor){ .role = SRV_ROLE_ADMIN, .token = 900001, .name = "root" };
  self->client = (SrvActor){ .role = SRV_ROLE_CLIENT, .token = 900002, .name = "ada" };
  self->runner = (SrvActor){ .role = SRV_ROLE_ADMIN, .name = "runner" };
  self->worker = (SrvActor){ .role = SRV_ROLE_WORKER, .token = 900003, .name = "w1" };
}

static void
forget (SrvFixture *self)
{
  g_clear_pointer (&self->last, json_decref);
  g_clear_pointer (&self->etag, g_free);
  g_clear_pointer (&self->location, g_free);
}

void
srv_fixture_close (SrvFixture *self)
{
  forget (self);
  g_clear_pointer (&self->engine, srv_engine_free);
}

static void
take (SrvFixture *self, SrvReply *reply)
{
  forget (self);
  self->status = reply->status;
  self->last = reply->body ? json_incref (reply->body) : NULL;
  self->etag = g_strdup (reply->etag);
  self->location = g_strdup (reply->location);
  srv_reply_free (reply);
}

static void
done (SrvReply *reply, gpointer user_data)
{
  *(SrvReply **) user_data = reply;
}

static SrvReply *
send_request (SrvFixture *self, const SrvRequest *request)
{
  SrvReply *reply = NULL;

  if (srv_operations[request->operation].kind == SRV_READ || request->operation == SRV_OP_EVENTS)
    return srv_engine_read (self->engine, request);
  srv_engine_write (self->engine, request, done, &reply);
  while (!reply)
    g_main_context_iteration (NULL, TRUE);
  return reply;
}

guint
srv_fixture_call (SrvFixture *self,
                  const SrvActor *actor,
                  SrvOperation operation,
                  const char *target,
                  const char *body,
                  ...)
{
  SrvRequest request = { .operation = operation, .actor = *actor };
  g_autoptr (DbrJsonDoc) doc = NULL;
  const char *query[17] = { NULL };
  g_autoptr (GPtrArray) owned = g_ptr_array_new_with_free_func (g_free);
  guint n = 0;
  va_list args;
  const char *extra;

  va_start (args, body);
  while ((extra = va_arg (args, const char *)))
    {
      const char *equals = strchr (extra, '=');
      char *name = g_strndup (extra, (gsize) (equals - extra));
      g_ptr_array_add (owned, name);
      if (strcmp (name, "If-Match") == 0)
        request.if_match = equals + 1;
      else if (strcmp (name, "Idempotency-Key") == 0)
        request.idempotency_key = equals + 1;
      else
        {
          query[n++] = name;
          query[n++] = equals + 1;
        }
    }
  va_end (args);
  request.query = query;
  if (target && g_str_has_prefix (target, "p:"))
    request.project_ref = target + 2;
  else if (target)
    request.id = g_ascii_strtoll (target, NULL, 10);
  if (body)
    {
      g_autoptr (GError) error = NULL;
      doc = dbr_json_doc_new_from_data (body, -1, NULL, &error);
      g_assert_no_error (error);
      request.body = dbr_json_doc_root (doc);
    }
  take (self, send_request (self, &request));
  return self->status;
}

json_t *
srv_fixture_get (SrvFixture *self, const char *path)
{
  g_auto (GStrv) parts = g_strsplit (path, ".", -1);
  json_t *value = self->last;

  for (guint i = 0; parts[i] && value; i++)
    value = json_is_array (value)
                ? json_array_get (value, (gsize) g_ascii_strtoull (parts[i], NULL, 10))
                : json_object_get (value, parts[i]);
  if (!value)
    {
      g_autofree char *text = self->last ? json_dumps (self->last, JSON_INDENT (1)) : NULL;
      g_error ("no %s in %u %s", path, self->status, text ? text : "nothing");
    }
  return value;
}

gint64
srv_fixture_int (SrvFixture *self, const char *path)
{
  return json_integer_value (srv_fixture_get (self, path));
}

const char *
srv_fixture_text (SrvFixture *self, const char *path)
{
  return json_string_value (srv_fixture_get (self, path));
}

const char *
srv_fixture_id (gint64 id)
{
  static char buffers[8][32];
  static guint at;
  char *buffer = buffers[at++ % G_N_ELEMENTS (buffers)];

  g_snprintf (buffer, sizeof (buffers[0]), "%" G_GINT64_FORMAT, id);
  return buffer;
}

void
srv_fixture_assert_problem (SrvFixture *self, guint status, const char *code, const char *text)
{
  g_autofree char *all = self->last ? json_dumps (self->last, 0) : g_strdup ("");

  if (self->status != status || !strstr (all, text))
    g_error ("wanted %u %s with \"%s\", got %u %s", status, code, text, self->status, all);
  g_assert_cmpstr (srv_fixture_text (self, "code"), ==, code);
  g_assert_cmpint (srv_fixture_int (self, "status"), ==, status);
  g_assert_cmpstr (srv_fixture_text (self, "type"), ==, "about:blank");
}

SrvActor
srv_fixture_foreman (SrvFixture *self)
{
  SrvActor actor = { 0 };
  const char *why = NULL;

  g_assert_true (
      srv_engine_authenticate (self->engine, srv_fixture_text (self, "token"), &actor, &why));
  g_assert_cmpint (actor.role, ==, SRV_ROLE_FOREMAN);
  return actor;
}

void
srv_fixture_pass (SrvFixture *self, gint64 seconds)
{
  SrvRequest request = { .operation = SRV_OP_TOKEN_REVOKE, .actor = self->admin, .id = G_MAXINT64 };

  self->now += seconds * G_USEC_PER_SEC;
  srv_engine_tick (self->engine);
  /* What is written after the tick is answered after it. */
  srv_reply_free (send_request (self, &request));
}

void
srv_fixture_rounds (void (*round) (guint32 seed), guint n)
{
  const char *seed = g_getenv ("SRV_MODEL_SEED"), *rounds = g_getenv ("SRV_MODEL_ROUNDS");
  guint32 first = seed ? (guint32) g_ascii_strtoull (seed, NULL, 10) : 1;

  if (rounds)
    n = (guint) g_ascii_strtoull (rounds, NULL, 10);
  for (guint i = 0; i < n; i++)
    {
      g_test_message ("seed %u", first + i);
      round (first + i);
    }
}

#define CALL(actor, op, target, ...) \
  srv_fixture_call (self, actor, SRV_OP_##op, target, __VA_ARGS__, NULL)

SrvActor
srv_fixture_fill (SrvFixture *self)
{
  CALL (&self->admin, PROJECT_ADD, NULL,
        "{\"repo_url\": \"https://example.org/a/b\", \"foreman_command\": {\"preset\": \"x\"}}");
  CALL (&self->admin, LEASE_TAKE, "p:~", "{\"holder\": \"t\"}");
  SrvActor foreman = srv_fixture_foreman (self);
  CALL (&self->client, MESSAGE_ADD, "p:~", "{\"text\": \"hello\"}");
  CALL (&foreman, QUESTION_ADD, "p:~", "{\"text\": \"red?\", \"options\": [\"yes\", \"no\"]}");
  CALL (&foreman, REPORT_ADD, "p:~", "{\"text\": \"so far\"}");
  CALL (&foreman, PLAN_CREATE, NULL,
        "{\"title\": \"P\", \"tasks\": ["
        "{\"title\": \"a\", \"brief\": \"b\", \"paths\": [\"x/**\"]},"
        "{\"title\": \"c\", \"brief\": \"d\", \"depends_on\": [\"a\"]}]}");
  CALL (&self->client, PLAN_APPROVE, srv_fixture_id (srv_fixture_int (self, "id")),
        "{\"version\": 1}");
  CALL (&self->worker, JOB_CLAIM, NULL, "{\"worker\": \"w\"}");
  CALL (&foreman, PLAN_CREATE, NULL,
        "{\"title\": \"Q\", \"tasks\": [{\"title\": \"a\", \"brief\": \"b\"}]}");
  return foreman;
}

static char *
need_key (json_t *need)
{
  const char *kind = json_string_value (json_object_get (need, "kind"));
  gboolean is_plan
      = strcmp (kind, "plan") == 0 || strcmp (kind, "tasks") == 0 || strcmp (kind, "failed") == 0;
  const char *id = is_plan || strcmp (kind, "review") == 0 ? "plan"
                   : strcmp (kind, "foreman") == 0         ? "project"
                                                           : kind;

  /* A plan that waits and has failed tasks too is one thing with two entries. */
  return g_strdup_printf ("%s %" JSON_INTEGER_FORMAT, is_plan ? "plan" : kind,
                          json_integer_value (json_object_get (need, id)));
}

void
srv_fixture_assert_needs (SrvFixture *self)
{
  json_t *project, *need;
  size_t p, n;

  g_assert_cmpuint (srv_fixture_call (self, &self->client, SRV_OP_STATUS, NULL, NULL, NULL), ==,
                    200);
  gint64 more = srv_fixture_int (self, "needs_you_more");
  json_array_foreach (srv_fixture_get (self, "projects"), p, project)
  {
    g_autoptr (GHashTable) keys = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
    gint64 says = json_integer_value (json_object_get (project, "needs_user"));
    json_array_foreach (
        srv_fixture_get (self, "needs_you"), n,
        need) if (json_equal (json_object_get (need, "project"), json_object_get (project, "id")))
        g_hash_table_add (keys, need_key (need));
    more -= says - g_hash_table_size (keys);
    if (says < g_hash_table_size (keys))
      g_error ("%" G_GINT64_FORMAT " things need the user, and %u are shown", says,
               g_hash_table_size (keys));
  }
  g_assert_cmpint (more, ==, 0);
}
