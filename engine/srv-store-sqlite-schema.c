/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-store-sqlite-schema: the tables, how older files become newer ones, and every look-up.
 *
 * Step N of the list brings a file of schema N to N + 1; steps are never edited once released. Live things are found by
 * partial indexes, newest events by rowid: nothing that status or timeline ask for reads a whole table.
 */
#include "config.h"

#include "srv-store-sqlite.h"

#define HOLD \
  "held INTEGER NOT NULL, hold_role INTEGER NOT NULL, hold_name TEXT, hold_reason TEXT, hold_at " \
  "INTEGER NOT NULL, "

/* States by number: plan 0 awaiting 1 active; task 1 ready; job 0 running; message 2 answered; question 0 open. */
static const char *const steps[SRV_STORE_SCHEMA] = {
  "CREATE TABLE project (id INTEGER PRIMARY KEY, name TEXT NOT NULL, repo_url TEXT NOT NULL, "
  "checkout TEXT, command TEXT, "
  "  approval INTEGER NOT NULL, max_tasks INTEGER NOT NULL, protected_paths TEXT NOT NULL, hours "
  "TEXT NOT NULL, "
  "  turn_minutes INTEGER NOT NULL, " HOLD
  "wake INTEGER NOT NULL, removed INTEGER NOT NULL, n_live INTEGER NOT NULL, "
  "  n_finished INTEGER NOT NULL, n_needs INTEGER NOT NULL, n_questions INTEGER NOT NULL, "
  "n_waiting INTEGER NOT NULL, "
  "  created INTEGER NOT NULL);"
  "CREATE UNIQUE INDEX project_url ON project (repo_url) WHERE removed = 0;"
  "CREATE INDEX project_due ON project (id) WHERE removed = 0 AND (wake <> 0 OR n_waiting > 0);"
  "CREATE TABLE plan (id INTEGER PRIMARY KEY, project INTEGER NOT NULL, title TEXT NOT NULL, "
  "summary TEXT, "
  "  version INTEGER NOT NULL, state INTEGER NOT NULL, needs INTEGER NOT NULL, by_clock INTEGER "
  "NOT NULL, " HOLD
  "  created INTEGER NOT NULL, updated INTEGER NOT NULL, finished INTEGER NOT NULL);"
  "CREATE INDEX plan_project ON plan (project);"
  "CREATE INDEX plan_state ON plan (state);"
  "CREATE INDEX plan_project_state ON plan (project, state);"
  "CREATE INDEX plan_live ON plan (project) WHERE state <= 1;"
  "CREATE INDEX plan_finished ON plan (finished) WHERE state > 1;"
  "CREATE INDEX plan_project_finished ON plan (project, finished) WHERE state > 1;"
  "CREATE INDEX plan_needs ON plan (project) WHERE needs <> 0;"
  "CREATE INDEX plan_by_clock ON plan (id) WHERE by_clock <> 0;"
  "CREATE TABLE task (id INTEGER PRIMARY KEY, plan INTEGER NOT NULL, project INTEGER NOT NULL, "
  "title TEXT NOT NULL, "
  "  paths TEXT, depends_on TEXT, branch TEXT, state INTEGER NOT NULL, attempt INTEGER NOT NULL, "
  "lost INTEGER NOT NULL, "
  "  awaiting INTEGER NOT NULL, job INTEGER NOT NULL, " HOLD
  "created INTEGER NOT NULL, updated INTEGER NOT NULL);"
  "CREATE INDEX task_plan ON task (plan);"
  "CREATE INDEX task_ready ON task (project) WHERE state = 1;"
  "CREATE TABLE brief (id INTEGER PRIMARY KEY, text TEXT NOT NULL);"
  "CREATE TABLE job (id INTEGER PRIMARY KEY, task INTEGER NOT NULL, plan INTEGER NOT NULL, project "
  "INTEGER NOT NULL, "
  "  token INTEGER NOT NULL, worker TEXT NOT NULL, state INTEGER NOT NULL, attempt INTEGER NOT "
  "NULL, started INTEGER NOT NULL, "
  "  heartbeat INTEGER NOT NULL, finished INTEGER NOT NULL, sequence INTEGER NOT NULL, latest_at "
  "INTEGER NOT NULL, latest TEXT);"
  "CREATE INDEX job_running ON job (project) WHERE state = 0;"
  "CREATE INDEX job_silent ON job (heartbeat) WHERE state = 0;"
  "CREATE TABLE message (id INTEGER PRIMARY KEY, project INTEGER NOT NULL, author INTEGER NOT "
  "NULL, text TEXT NOT NULL, "
  "  hash INTEGER NOT NULL, state INTEGER NOT NULL, deliveries INTEGER NOT NULL, sent INTEGER NOT "
  "NULL, "
  "  delivered INTEGER NOT NULL, answer TEXT, answered INTEGER NOT NULL);"
  "CREATE INDEX message_project ON message (project);"
  "CREATE INDEX message_same ON message (project, hash);"
  "CREATE INDEX message_open ON message (project) WHERE state < 2 AND author = 0;"
  "CREATE INDEX message_waiting ON message (project) WHERE state = 0;"
  "CREATE TABLE question (id INTEGER PRIMARY KEY, project INTEGER NOT NULL, text TEXT NOT NULL, "
  "options TEXT, "
  "  state INTEGER NOT NULL, asked INTEGER NOT NULL, answer TEXT, answered INTEGER NOT NULL);"
  "CREATE INDEX question_open ON question (project) WHERE state = 0;"
  "CREATE TABLE report (id INTEGER PRIMARY KEY, project INTEGER NOT NULL, text TEXT NOT NULL, at "
  "INTEGER NOT NULL);"
  "CREATE INDEX report_project ON report (project);"
  "CREATE TABLE note (id INTEGER PRIMARY KEY, task INTEGER NOT NULL, role INTEGER NOT NULL, name "
  "TEXT, "
  "  text TEXT NOT NULL, at INTEGER NOT NULL);"
  "CREATE INDEX note_task ON note (task);"
  "CREATE TABLE lease (id INTEGER PRIMARY KEY, project INTEGER NOT NULL, kind_of INTEGER NOT NULL, "
  "holder TEXT NOT NULL, "
  "  token INTEGER NOT NULL, expires INTEGER NOT NULL, ended INTEGER NOT NULL, created INTEGER NOT "
  "NULL);"
  "CREATE UNIQUE INDEX lease_live ON lease (project) WHERE ended = 0;"
  "CREATE INDEX lease_expires ON lease (expires) WHERE ended = 0;"
  "CREATE TABLE token (id INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, role INTEGER NOT NULL, "
  "name TEXT NOT NULL, "
  "  project INTEGER NOT NULL, lease INTEGER NOT NULL, created INTEGER NOT NULL, revoked INTEGER "
  "NOT NULL);"
  "CREATE INDEX token_made ON token (id) WHERE lease = 0;"
  "CREATE TABLE event (id INTEGER PRIMARY KEY, at INTEGER NOT NULL, project INTEGER NOT NULL, plan "
  "INTEGER NOT NULL, "
  "  task INTEGER NOT NULL, role INTEGER NOT NULL, name TEXT, what INTEGER NOT NULL, text TEXT, "
  "ref INTEGER NOT NULL);"
  "CREATE INDEX event_project ON event (project);"
  "CREATE INDEX event_task ON event (task) WHERE task <> 0;"
  "CREATE TABLE replay (id INTEGER PRIMARY KEY, token INTEGER NOT NULL, key TEXT NOT NULL, request "
  "TEXT NOT NULL, "
  "  status INTEGER NOT NULL, body TEXT, etag TEXT, location TEXT, secret INTEGER NOT NULL, at "
  "INTEGER NOT NULL);"
  "CREATE UNIQUE INDEX replay_key ON replay (token, key);"
  "CREATE INDEX replay_at ON replay (at);",
};

#define LIMIT " LIMIT ?3"
#define NEWEST " ORDER BY id DESC LIMIT ?3"
#define OLDEST " ORDER BY id LIMIT ?3"

/* A project of 0 means any; "any" is a statement of its own where the index needs it (see below). */
const SrvSqliteFind srv_sqlite_finds[SRV_N_FINDS] = {
  [SRV_FIND_PROJECTS] = { SRV_RECORD_PROJECT, "removed = 0 AND id > ?1" OLDEST },
  [SRV_FIND_PROJECT_BY_URL] = { SRV_RECORD_PROJECT, "removed = 0 AND repo_url = ?4" LIMIT },
  [SRV_FIND_PROJECTS_DUE]
  = { SRV_RECORD_PROJECT, "removed = 0 AND (wake <> 0 OR n_waiting > 0)" OLDEST },
  [SRV_FIND_PLANS] = { SRV_RECORD_PLAN, "id < ?2" NEWEST },
  [SRV_FIND_PROJECT_PLANS] = { SRV_RECORD_PLAN, "project = ?1 AND id < ?2" NEWEST },
  [SRV_FIND_PLANS_IN_STATE] = { SRV_RECORD_PLAN, "state = ?1 AND id < ?2" NEWEST },
  [SRV_FIND_PROJECT_PLANS_IN_STATE]
  = { SRV_RECORD_PLAN, "project = ?1 AND state = CAST (?4 AS INTEGER) AND id < ?2" NEWEST },
  [SRV_FIND_PLANS_LIVE] = { SRV_RECORD_PLAN, "state <= 1 AND id < ?2" NEWEST },
  [SRV_FIND_PROJECT_PLANS_LIVE]
  = { SRV_RECORD_PLAN, "project = ?1 AND state <= 1 AND id < ?2" NEWEST },
  [SRV_FIND_PLANS_FINISHED] = { SRV_RECORD_PLAN, "state > 1 ORDER BY finished DESC LIMIT ?3" },
  [SRV_FIND_PROJECT_PLANS_FINISHED]
  = { SRV_RECORD_PLAN, "project = ?1 AND state > 1 ORDER BY finished DESC LIMIT ?3" },
  [SRV_FIND_PLANS_NEEDING] = { SRV_RECORD_PLAN, "needs <> 0" NEWEST },
  [SRV_FIND_PROJECT_PLANS_NEEDING] = { SRV_RECORD_PLAN, "project = ?1 AND needs <> 0" NEWEST },
  [SRV_FIND_PLANS_BY_CLOCK] = { SRV_RECORD_PLAN, "by_clock <> 0 AND id > ?1" OLDEST },
  [SRV_FIND_TASKS_OF_PLAN] = { SRV_RECORD_TASK, "plan = ?1" OLDEST },
  [SRV_FIND_TASKS_READY]
  = { SRV_RECORD_TASK,
      "state = 1 AND held = 0 AND (?1 = 0 OR project = ?1)"
      " AND (SELECT held FROM plan WHERE plan.id = task.plan) = 0"
      " AND (SELECT held FROM project WHERE project.id = task.project) = 0" OLDEST },
  [SRV_FIND_BRIEFS_OF_PLAN]
  = { SRV_RECORD_BRIEF, "id IN (SELECT id FROM task WHERE plan = ?1)" OLDEST },
  [SRV_FIND_JOBS_RUNNING] = { SRV_RECORD_JOB, "state = 0 AND (?1 = 0 OR project = ?1)" OLDEST },
  [SRV_FIND_JOBS_SILENT]
  = { SRV_RECORD_JOB, "state = 0 AND heartbeat <= ?1 ORDER BY heartbeat LIMIT ?3" },
  [SRV_FIND_JOB_SILENT_FIRST] = { SRV_RECORD_JOB, "state = 0 ORDER BY heartbeat LIMIT ?3" },
  [SRV_FIND_MESSAGES] = { SRV_RECORD_MESSAGE, "id < ?2" NEWEST },
  [SRV_FIND_PROJECT_MESSAGES] = { SRV_RECORD_MESSAGE, "project = ?1 AND id < ?2" NEWEST },
  [SRV_FIND_MESSAGES_OPEN]
  = { SRV_RECORD_MESSAGE,
      "state < 2 AND author = 0 AND (?1 = 0 OR project = ?1) AND id < ?2" NEWEST },
  [SRV_FIND_MESSAGES_WAITING] = { SRV_RECORD_MESSAGE, "state = 0 AND project = ?1" OLDEST },
  [SRV_FIND_MESSAGES_UNANSWERED]
  = { SRV_RECORD_MESSAGE, "state < 2 AND author = 0 AND project = ?1 AND state = 1" OLDEST },
  [SRV_FIND_MESSAGES_SAME] = { SRV_RECORD_MESSAGE, "project = ?1 AND hash = ?2" NEWEST },
  [SRV_FIND_QUESTIONS_OPEN]
  = { SRV_RECORD_QUESTION, "state = 0 AND (?1 = 0 OR project = ?1)" NEWEST },
  [SRV_FIND_REPORT_LATEST] = { SRV_RECORD_REPORT, "project = ?1" NEWEST },
  [SRV_FIND_NOTES_OF_TASK] = { SRV_RECORD_NOTE, "task = ?1" NEWEST },
  [SRV_FIND_LEASE_LIVE] = { SRV_RECORD_LEASE, "ended = 0 AND project = ?1" LIMIT },
  [SRV_FIND_LEASES_LIVE] = { SRV_RECORD_LEASE, "ended = 0 ORDER BY expires LIMIT ?3" },
  [SRV_FIND_TOKEN_BY_HASH] = { SRV_RECORD_TOKEN, "hash = ?4" LIMIT },
  [SRV_FIND_TOKENS] = { SRV_RECORD_TOKEN, "lease = 0 AND id < ?2" NEWEST },
  [SRV_FIND_EVENTS_BEFORE] = { SRV_RECORD_EVENT, "id < ?2" NEWEST },
  [SRV_FIND_PROJECT_EVENTS_BEFORE] = { SRV_RECORD_EVENT, "project = ?1 AND id < ?2" NEWEST },
  [SRV_FIND_EVENTS_OF_TASK] = { SRV_RECORD_EVENT, "task = ?1 AND task <> 0 AND id < ?2" NEWEST },
  [SRV_FIND_EVENTS_AFTER] = { SRV_RECORD_EVENT, "id > ?2" OLDEST },
  [SRV_FIND_PROJECT_EVENTS_AFTER] = { SRV_RECORD_EVENT, "project = ?1 AND id > ?2" OLDEST },
  [SRV_FIND_REPLAY] = { SRV_RECORD_REPLAY, "token = ?1 AND key = ?4" LIMIT },
};

gboolean
srv_sqlite_exec (sqlite3 *db, const char *sql, GError **error)
{
  if (sqlite3_exec (db, sql, NULL, NULL, NULL) == SQLITE_OK)
    return TRUE;
  g_set_error (error, SRV_ENGINE_ERROR, SRV_ENGINE_ERROR_STORE, "the store: %s",
               sqlite3_errmsg (db));
  return FALSE;
}

gint64
srv_sqlite_integer (sqlite3 *db, const char *sql)
{
  sqlite3_stmt *statement = NULL;
  gint64 value = -1;

  if (sqlite3_prepare_v2 (db, sql, -1, &statement, NULL) == SQLITE_OK
      && sqlite3_step (statement) == SQLITE_ROW)
    value = sqlite3_column_int64 (statement, 0);
  sqlite3_finalize (statement);
  return value;
}

gboolean
srv_sqlite_check_identity (sqlite3 *db, GError **error)
{
  gint64 application = srv_sqlite_integer (db, "PRAGMA application_id");
  gint64 schema = srv_sqlite_integer (db, "PRAGMA user_version");

  if (application < 0 || schema < 0)
    g_set_error (error, SRV_ENGINE_ERROR, SRV_ENGINE_ERROR_STORE, "the store can't be read: %s",
                 sqlite3_errmsg (db));
  else if (application != SRV_SQLITE_APPLICATION_ID)
    g_set_error_literal (error, SRV_ENGINE_ERROR, SRV_ENGINE_ERROR_SCHEMA,
                         "this file is not an engine's store");
  else if (schema > SRV_STORE_SCHEMA)
    g_set_error (error, SRV_ENGINE_ERROR, SRV_ENGINE_ERROR_SCHEMA,
                 "the store was written by a newer program (schema %" G_GINT64_FORMAT
                 "; this one knows up to %d)",
                 schema, SRV_STORE_SCHEMA);
  else
    return TRUE;
  return FALSE;
}

gboolean
srv_sqlite_migrate (sqlite3 *db, GError **error)
{
  if (!srv_sqlite_exec (db, "BEGIN IMMEDIATE", error))
    return FALSE;
  gboolean is_new = srv_sqlite_integer (db, "PRAGMA application_id") == 0
                    && srv_sqlite_integer (db, "SELECT count(*) FROM sqlite_schema") == 0;
  gint64 schema = srv_sqlite_integer (db, "PRAGMA user_version");
  gboolean ok = is_new || srv_sqlite_check_identity (db, error);

  if (ok && is_new)
    {
      g_autofree char *sql
          = g_strdup_printf ("PRAGMA application_id = %d", SRV_SQLITE_APPLICATION_ID);
      ok = srv_sqlite_exec (db, sql, error);
      schema = 0;
    }
  for (gint64 step = schema; ok && step < SRV_STORE_SCHEMA; step++)
    ok = srv_sqlite_exec (db, steps[step], error);
  if (ok && schema < SRV_STORE_SCHEMA)
    {
      g_autofree char *sql = g_strdup_printf ("PRAGMA user_version = %d", SRV_STORE_SCHEMA);
      ok = srv_sqlite_exec (db, sql, error);
    }
  if (ok)
    return srv_sqlite_exec (db, "COMMIT", error);
  sqlite3_exec (db, "ROLLBACK", NULL, NULL, NULL);
  return FALSE;
}
