/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crash-driver: writes under load until it is killed, and tells what was acknowledged.
 *
 *   crash-driver load FILE ROUND [KEY=TEXT...]   repeats the messages KEY=TEXT first; then load without end. Lines:
 *                                                "try KEY TEXT" before a message is sent, "ack KIND ID TEXT" after
 *   crash-driver dump FILE                       "event KIND REF PLAN TEXT" for each event, oldest first; then "finding
 *                                                TEXT" for what the check finds
 *   crash-driver rest FILE                       two hours later: what still runs, as "running N"
 */
#include "config.h"

#include "srv-engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CLIENTS 8u

typedef struct
{
  SrvEngine *engine;
  const char *round;
  guint n;
  gint64 project;
  GMainLoop *loop;
} Load;

typedef struct
{
  Load *load;
  const char *kind;
  char *text;
  guint step;
  gint64 job;
} Client;

static gint64 later_us; /* what "rest" adds to the clock */

static gint64
clock_us (gpointer user_data)
{
  (void) user_data;
  return g_get_real_time () + later_us;
}

static void
say (const char *format, ...) G_GNUC_PRINTF (1, 2);

/* One write a line: what was said was said, whatever comes. */
static void
say (const char *format, ...)
{
  va_list args;

  va_start (args, format);
  g_autofree char *line = g_strdup_vprintf (format, args);
  va_end (args);
  if (write (STDOUT_FILENO, line, strlen (line)) < 0)
    exit (3);
}

static SrvEngine *
open_engine (const char *file)
{
  g_autoptr (GError) error = NULL;
  SrvEngineOptions options = { .file = file, .clock_us = clock_us, .synchronous = TRUE };
  SrvEngine *engine = srv_engine_new (&options, &error);

  if (!engine)
    {
      say ("finding can't open: %s\n", error->message);
      exit (1);
    }
  return engine;
}

static void
post (SrvEngine *engine,
      SrvOperation operation,
      gint64 id,
      const char *key,
      const char *body,
      SrvDone done,
      gpointer data)
{
  g_autoptr (DbrJsonDoc) doc = dbr_json_doc_new_from_data (body, -1, NULL, NULL);
  SrvRequest request = { .operation = operation,
                         .actor = { .role = SRV_ROLE_ADMIN, .token = 7, .name = "load" },
                         .id = id,
                         .project_ref = id ? NULL : "~",
                         .idempotency_key = key,
                         .body = dbr_json_doc_root (doc) };

  srv_engine_write (engine, &request, done, data);
}

/* ----------------------------------------------------------------------- load */
static void
next_step (Client *client);

static void
send_message (Client *client, const char *key, const char *text, SrvDone done)
{
  g_autofree char *body = g_strdup_printf ("{\"text\": \"%s\"}", text);

  say ("try %s %s\n", key, text);
  client->kind = "message.sent";
  g_free (client->text);
  client->text = g_strdup (text);
  post (client->load->engine, SRV_OP_MESSAGE_ADD, 0, key, body, done, client);
}

static void
acknowledged (SrvReply *reply, gpointer user_data)
{
  Client *client = user_data;

  if (reply->status >= 300)
    {
      g_autofree char *text = json_dumps (reply->body, JSON_COMPACT);
      say ("finding %s answered %u %s\n", client->kind, reply->status, text);
      exit (1);
    }
  if (strcmp (client->kind, "job.started") == 0)
    client->job
        = reply->status == 200
              ? json_integer_value (json_object_get (json_object_get (reply->body, "job"), "id"))
              : 0;
  gint64 id = client->job ? client->job : json_integer_value (json_object_get (reply->body, "id"));
  if (reply->status != 204)
    say ("ack %s %" G_GINT64_FORMAT " %s\n", client->kind, id, client->text);
  srv_reply_free (reply);
  next_step (client);
}

static void
next_step (Client *client)
{
  Load *load = client->load;
  g_autofree char *name = g_strdup_printf ("%s-%u", load->round, load->n++);
  g_autofree char *body = NULL;

  if (client->job && client->step % 5 == 3)
    {
      gint64 job = client->job;
      client->kind = "job.finished";
      client->step++;
      post (load->engine, SRV_OP_JOB_FINISH, job, NULL,
            "{\"sequence\": 1, \"outcome\": \"succeeded\"}", acknowledged, client);
      return;
    }
  client->job = 0;
  switch (client->step++ % 5)
    {
    case 0:
      send_message (client, name, name, acknowledged);
      return;
    case 1:
      client->kind = "plan.created";
      body
          = g_strdup_printf ("{\"title\": \"%s\", \"tasks\": [{\"title\": \"a\", \"brief\": \"b\"},"
                             "{\"title\": \"c\", \"brief\": \"d\", \"depends_on\": [\"a\"]}]}",
                             name);
      g_free (client->text);
      client->text = g_strdup (name);
      post (load->engine, SRV_OP_PLAN_CREATE, 0, NULL, body, acknowledged, client);
      return;
    case 2:
      client->kind = "job.started";
      post (load->engine, SRV_OP_JOB_CLAIM, 1, NULL, "{\"worker\": \"w\"}", acknowledged, client);
      return;
    default:
      client->kind = "report.made";
      body = g_strdup_printf ("{\"text\": \"%s\"}", name);
      g_free (client->text);
      client->text = g_strdup (name);
      post (load->engine, SRV_OP_REPORT_ADD, 0, NULL, body, acknowledged, client);
      return;
    }
}

static void
store_reply (SrvReply *reply, gpointer user_data)
{
  *(SrvReply **) user_data = reply;
}

static void
post_and_wait (SrvEngine *engine, SrvOperation operation, const char *body)
{
  SrvReply *reply = NULL;

  post (engine, operation, 0, NULL, body, store_reply, &reply);
  while (!reply)
    g_main_context_iteration (NULL, TRUE);
  srv_reply_free (reply);
}

static gboolean
tick (gpointer user_data)
{
  srv_engine_tick (user_data);
  return G_SOURCE_CONTINUE;
}

static int
run_load (const char *file, const char *round, char **repeats)
{
  Load load = { .engine = open_engine (file), .round = round };
  Client clients[CLIENTS] = { 0 };

  post_and_wait (
      load.engine, SRV_OP_PROJECT_ADD,
      "{\"repo_url\": \"https://example.org/a/b\", \"settings\": {\"approval\": \"never\"}}");
  for (guint i = 0; repeats[i]; i++)
    {
      g_auto (GStrv) parts = g_strsplit (repeats[i], "=", 2);
      Client *client = g_new0 (Client, 1);
      client->load = &load;
      client->step = 4;
      send_message (client, parts[0], parts[1], acknowledged);
    }
  for (guint i = 0; i < CLIENTS; i++)
    {
      clients[i].load = &load;
      clients[i].step = i;
      clients[i].text = g_strdup ("");
      next_step (&clients[i]);
    }
  g_timeout_add (100, tick, load.engine);
  load.loop = g_main_loop_new (NULL, FALSE);
  g_main_loop_run (load.loop); /* until killed */
  return 0;
}

/* ----------------------------------------------------------------------- dump */
static json_t *
ask (SrvEngine *engine, SrvOperation operation, const char *const *query)
{
  SrvRequest request = { .operation = operation,
                         .actor = { .role = SRV_ROLE_ADMIN, .token = 7, .name = "dump" },
                         .query = query };
  g_autoptr (SrvReply) reply = srv_engine_read (engine, &request);

  if (reply->status != 200)
    say ("finding a read answered %u\n", reply->status);
  return json_incref (reply->body);
}

static int
dump (const char *file)
{
  SrvEngine *engine = open_engine (file);
  gint64 after = 0;
  gsize n;

  do
    {
      g_autofree char *from = g_strdup_printf ("%" G_GINT64_FORMAT, after);
      const char *query[] = { "after", from, "limit", "500", NULL };
      json_auto_t *page = ask (engine, SRV_OP_EVENTS, query);
      json_t *items = json_object_get (page, "items"), *event;
      n = json_array_size (items);
      gsize i;
      json_array_foreach (items, i, event)
          say ("event %s %" JSON_INTEGER_FORMAT " %" JSON_INTEGER_FORMAT " %s\n",
               json_string_value (json_object_get (event, "kind")),
               json_integer_value (json_object_get (event, "ref")),
               json_integer_value (json_object_get (event, "plan")),
               json_string_value (json_object_get (event, "text")));
      after = json_integer_value (json_object_get (page, "last"));
    }
  while (n > 0);
  srv_engine_free (engine);
  g_autofree char *report = NULL;
  g_autoptr (GError) error = NULL;
  if (!srv_engine_check (file, &report, &error))
    say ("finding %s%s\n", report, error ? error->message : "");
  say ("end\n");
  return 0;
}

static int
rest (const char *file)
{
  SrvEngine *engine = open_engine (file);

  /* Three lost attempts each, two hours apart: nothing can run after them. */
  later_us = 2 * G_TIME_SPAN_HOUR;
  srv_engine_tick (engine);
  post_and_wait (engine, SRV_OP_REPORT_ADD, "{\"text\": \"rest\"}");
  json_auto_t *status = ask (engine, SRV_OP_STATUS, NULL);
  say ("running %" G_GSIZE_FORMAT "\n", json_array_size (json_object_get (status, "running")));
  srv_engine_free (engine);
  g_autofree char *report = NULL;
  if (!srv_engine_check (file, &report, NULL))
    say ("finding %s\n", report);
  say ("end\n");
  return 0;
}

int
main (int argc, char **argv)
{
  if (argc >= 4 && strcmp (argv[1], "load") == 0)
    return run_load (argv[2], argv[3], argv + 4);
  if (argc == 3 && strcmp (argv[1], "dump") == 0)
    return dump (argv[2]);
  if (argc == 3 && strcmp (argv[1], "rest") == 0)
    return rest (argv[2]);
  fprintf (stderr, "usage: crash-driver load FILE ROUND [KEY=TEXT...] | dump FILE | rest FILE\n");
  return 2;
}
