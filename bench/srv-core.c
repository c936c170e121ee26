/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-core: what the engine's store and operations take, beside a bare SQLite loop and beside a store a hundredth the size.
 *
 *   srv-core reads FOLDER    p50 of status and timeline over a large store and small ones with the same live plans
 *   srv-core writes FOLDER   durable writes: one at a time, 32 at a time, and a bare insert loop
 *
 * One JSON object a line, a line a round; the stores of reads stay in FOLDER and are taken again.
 */
#include "config.h"

#include "srv-engine.h"
#include "srv-store-sqlite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIVE 20u    /* plans */
#define OF_PLAN 10u /* tasks */
#define SAMPLES 100u
#define WRITES 1000u
#define ROUNDS 7u

/* ---------------------------------------------------------------------- filling */
static void
add_event (SrvStore *store, gint64 project, gint64 plan, gint64 task, guint i)
{
  g_autoptr (SrvEvent) event = SrvEvent_new ();

  event->at = g_get_real_time ();
  event->project = project;
  event->plan = plan;
  event->task = task;
  event->role = SRV_ROLE_WORKER;
  event->name = g_strdup ("w1");
  event->what = SRV_EVENT_JOB_LINE;
  event->text
      = g_strdup_printf ("line %u of the output of a worker, about as long as lines are", i);
  srv_store_add (store, event);
}

static void
add_plan (SrvStore *store, SrvProject *project, gboolean live, guint events)
{
  g_autoptr (SrvPlan) plan = SrvPlan_new ();

  plan->project = project->id;
  plan->title = g_strdup ("A plan of the benchmark");
  plan->version = 1;
  plan->state = live ? SRV_PLAN_ACTIVE : SRV_PLAN_DONE;
  plan->created = plan->updated = g_get_real_time ();
  plan->finished = live ? 0 : plan->created;
  srv_store_add (store, plan);
  for (guint i = 0; i < OF_PLAN; i++)
    {
      g_autoptr (SrvTask) task = SrvTask_new ();
      g_autoptr (SrvBrief) brief = SrvBrief_new ();
      task->plan = plan->id;
      task->project = project->id;
      task->title = g_strdup_printf ("Task %u", i);
      task->branch = g_strdup ("plan/task");
      task->state = live ? SRV_TASK_READY : SRV_TASK_DONE;
      task->created = task->updated = plan->created;
      srv_store_add (store, task);
      brief->id = task->id;
      brief->text = g_strdup ("What there is to do, in some words.");
      srv_store_add (store, brief);
      for (guint e = 0; e < events / OF_PLAN; e++)
        add_event (store, project->id, plan->id, task->id, e);
    }
  live ? project->n_live++ : project->n_finished++;
}

static void
fill (const char *file, guint projects, guint plans, guint events_of_plan)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (SrvStore) store = srv_store_open (file, TRUE, FALSE, &error);

  if (!store)
    g_error ("%s", error->message);
  guint live_left = LIVE;
  for (guint p = 0; p < projects; p++)
    {
      g_autoptr (SrvProject) project = SrvProject_new ();
      project->name = g_strdup_printf ("p%u", p);
      project->repo_url = g_strdup_printf ("https://example.org/o/p%u", p);
      project->protected_paths = g_strdup ("[]");
      project->hours = g_strdup ("any");
      project->max_tasks = 12;
      project->created = g_get_real_time ();
      srv_store_begin (store, TRUE);
      srv_store_add (store, project);
      for (guint i = 0; i < plans / projects; i++)
        {
          /* The live ones spread over the projects. */
          gboolean live = live_left > 0 && i < (LIVE + projects - 1) / projects;
          live_left -= live;
          add_plan (store, project, live, events_of_plan);
        }
      srv_store_put (store, project);
      if (!srv_store_commit (store))
        g_error ("can't fill the store");
    }
}

/* -------------------------------------------------------------------- measuring */
static int
compare_times (const void *a, const void *b)
{
  gint64 x = *(const gint64 *) a, y = *(const gint64 *) b;

  return x < y ? -1 : x > y;
}

static gint64
p50_of (SrvEngine *engine, SrvOperation operation, const char *const *query)
{
  gint64 times[SAMPLES];
  SrvRequest request = { .operation = operation,
                         .actor = { .role = SRV_ROLE_ADMIN, .token = 1, .name = "b" },
                         .query = query };

  for (guint i = 0; i < SAMPLES; i++)
    {
      gint64 start = g_get_monotonic_time ();
      g_autoptr (SrvReply) reply = srv_engine_read (engine, &request);
      times[i] = g_get_monotonic_time () - start;
      if (reply->status != 200)
        g_error ("status %u", reply->status);
    }
  qsort (times, SAMPLES, sizeof (*times), compare_times);
  return times[SAMPLES / 2];
}

static SrvEngine *
open_engine (const char *file)
{
  g_autoptr (GError) error = NULL;
  SrvEngineOptions options = { .file = file, .synchronous = TRUE };
  SrvEngine *engine = srv_engine_new (&options, &error);

  if (!engine)
    g_error ("%s", error->message);
  return engine;
}

/* The hundredth that the large one is compared with has the same live plans. As status has a line for each project, there
 * is one of a hundredth of the projects, and one of as many. */
static const struct
{
  const char *name;
  guint projects, plans, events_of_plan;
} sizes[]
    = { { "hundredth", 1, 100, 100 }, { "narrow", 100, 100, 100 }, { "large", 100, 10000, 100 } };

/* The stores take turns, so that what else the machine does falls on all. */
static void
measure_reads (const char *folder)
{
  static const char *const one[] = { "project", "1", NULL };
  SrvEngine *engines[G_N_ELEMENTS (sizes)];

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      g_autofree char *file = g_strdup_printf ("%s/%s.db", folder, sizes[i].name);
      if (!g_file_test (file, G_FILE_TEST_EXISTS))
        fill (file, sizes[i].projects, sizes[i].plans, sizes[i].events_of_plan);
      engines[i] = open_engine (file);
    }
  for (guint round = 0; round < ROUNDS; round++)
    for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
      printf ("{\"store\": \"%s\", \"status_us\": %" G_GINT64_FORMAT
              ", \"status_of_one_us\": %" G_GINT64_FORMAT ", \"timeline_us\": %" G_GINT64_FORMAT
              ", \"timeline_of_one_us\": %" G_GINT64_FORMAT "}\n",
              sizes[i].name, p50_of (engines[i], SRV_OP_STATUS, NULL),
              p50_of (engines[i], SRV_OP_STATUS, one), p50_of (engines[i], SRV_OP_TIMELINE, NULL),
              p50_of (engines[i], SRV_OP_TIMELINE, one));
  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    srv_engine_free (engines[i]);
}

/* ---------------------------------------------------------------------- writing */
typedef struct
{
  SrvEngine *engine;
  guint sent, answered;
} Writing;

static void
answered (SrvReply *reply, gpointer user_data)
{
  Writing *writing = user_data;

  if (reply->status != 201)
    g_error ("status %u", reply->status);
  srv_reply_free (reply);
  writing->answered++;
}

static void
write_one (Writing *writing, const char *prefix)
{
  g_autofree char *text = g_strdup_printf ("{\"text\": \"%s %u\"}", prefix, writing->sent++);
  g_autoptr (DbrJsonDoc) doc = dbr_json_doc_new_from_data (text, -1, NULL, NULL);
  SrvRequest request = { .operation = SRV_OP_REPORT_ADD,
                         .actor = { .role = SRV_ROLE_ADMIN, .token = 1, .name = "b" },
                         .project_ref = "~",
                         .body = dbr_json_doc_root (doc) };

  srv_engine_write (writing->engine, &request, answered, writing);
}

static double
rate_of (SrvEngine *engine, guint at_once, const char *prefix)
{
  Writing writing = { .engine = engine };
  gint64 start = g_get_monotonic_time ();

  while (writing.answered < WRITES)
    {
      while (writing.sent < WRITES && writing.sent - writing.answered < at_once)
        write_one (&writing, prefix);
      g_main_context_iteration (NULL, TRUE);
    }
  return WRITES * 1e6 / (double) (g_get_monotonic_time () - start);
}

/* The same rows as a report and its event, one transaction each. */
static double
bare_rate (const char *file)
{
  sqlite3 *db = NULL;
  sqlite3_stmt *report = NULL, *event = NULL;

  sqlite3_open (file, &db);
  sqlite3_exec (db,
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                "CREATE TABLE report (id INTEGER PRIMARY KEY, project, text, at);"
                "CREATE TABLE event (id INTEGER PRIMARY KEY, at, project, plan, task, role, name, "
                "what, text, ref)",
                NULL, NULL, NULL);
  sqlite3_prepare_v2 (db, "INSERT INTO report (project, text, at) VALUES (1, 'some text', 5)", -1,
                      &report, NULL);
  sqlite3_prepare_v2 (db,
                      "INSERT INTO event (at, project, plan, task, role, name, what, text, ref)"
                      " VALUES (5, 1, 0, 0, 1, 'b', 7, 'some text', 9)",
                      -1, &event, NULL);
  gint64 start = g_get_monotonic_time ();
  for (guint i = 0; i < WRITES; i++)
    {
      sqlite3_exec (db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
      sqlite3_step (report);
      sqlite3_reset (report);
      sqlite3_step (event);
      sqlite3_reset (event);
      sqlite3_exec (db, "COMMIT", NULL, NULL, NULL);
    }
  double rate = WRITES * 1e6 / (double) (g_get_monotonic_time () - start);
  sqlite3_finalize (report);
  sqlite3_finalize (event);
  sqlite3_close (db);
  return rate;
}

static void
measure_writes (const char *folder)
{
  g_autofree char *bare = g_strdup_printf ("%s/bare.db", folder),
                  *file = g_strdup_printf ("%s/writes.db", folder);

  fill (file, 1, 1, 0);
  SrvEngine *engine = open_engine (file);
  for (guint round = 0; round < ROUNDS; round++)
    {
      g_autofree char *again = g_strdup_printf ("%s.%u", bare, round);
      double loop = bare_rate (again);
      double one = rate_of (engine, 1, "one");
      guint64 before = srv_engine_syncs ();
      double many = rate_of (engine, 32, "many");
      printf ("{\"bare\": %.1f, \"one\": %.1f, \"many\": %.1f, \"writes_a_sync\": %.2f}\n", loop,
              one, many, (double) WRITES / (double) (srv_engine_syncs () - before));
    }
  srv_engine_free (engine);
}

int
main (int argc, char **argv)
{
  if (argc == 3 && strcmp (argv[1], "reads") == 0)
    measure_reads (argv[2]);
  else if (argc == 3 && strcmp (argv[1], "writes") == 0)
    measure_writes (argv[2]);
  else
    {
      fprintf (stderr, "usage: srv-core reads|writes FOLDER\n");
      return 2;
    }
  return 0;
}
