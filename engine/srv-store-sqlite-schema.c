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
  "CREATE INDEX plan_live ON plan (id) WHERE state <= 1;"
  "CREATE INDEX plan_project_live ON plan (project) WHERE state <= 1;"
  "CREATE INDEX plan_finished ON plan (finished) WHERE state > 1;"
  "CREATE INDEX plan_project_finished ON plan (project, finished) WHERE state > 1;"
  "CREATE INDEX plan_needing ON plan (id) WHERE needs <> 0;"
  "CREATE INDEX plan_project_needing ON plan (project) WHERE needs <> 0;"
  "CREATE INDEX plan_by_clock ON plan (id) WHERE by_clock <> 0;"
  "CREATE TABLE task (id INTEGER PRIMARY KEY, plan INTEGER NOT NULL, project INTEGER NOT NULL, "
  "title TEXT NOT NULL, "
  "  paths TEXT, depends_on TEXT, branch TEXT, state INTEGER NOT NULL, attempt INTEGER NOT NULL, "
  "lost INTEGER NOT NULL, "
  "  awaiting INTEGER NOT NULL, job INTEGER NOT NULL, " HOLD
  "created INTEGER NOT NULL, updated INTEGER NOT NULL);"
  "CREATE INDEX task_plan ON task (plan);"
  "CREATE INDEX task_ready ON task (id) WHERE state = 1;"
  "CREATE TABLE brief (id INTEGER PRIMARY KEY, text TEXT NOT NULL);"
  "CREATE TABLE job (id INTEGER PRIMARY KEY, task INTEGER NOT NULL, plan INTEGER NOT NULL, project "
  "INTEGER NOT NULL, "
  "  token INTEGER NOT NULL, worker TEXT NOT NULL, state INTEGER NOT NULL, attempt INTEGER NOT "
  "NULL, started INTEGER NOT NULL, "
  "  heartbeat INTEGER NOT NULL, finished INTEGER NOT NULL, sequence INTEGER NOT NULL, latest_at "
  "INTEGER NOT NULL, latest TEXT);"
  "CREATE INDEX job_running ON job (id) WHERE state = 0;"
  "CREATE INDEX job_silent ON job (heartbeat) WHERE state = 0;"
  "CREATE TABLE message (id INTEGER PRIMARY KEY, project INTEGER NOT NULL, author INTEGER NOT "
  "NULL, text TEXT NOT NULL, "
  "  hash INTEGER NOT NULL, state INTEGER NOT NULL, deliveries INTEGER NOT NULL, sent INTEGER NOT "
  "NULL, "
  "  delivered INTEGER NOT NULL, answer TEXT, answered INTEGER NOT NULL);"
  "CREATE INDEX message_project ON message (project);"
  "CREATE INDEX message_same ON message (project, hash);"
  "CREATE INDEX message_open ON message (id) WHERE state < 2;"
  "CREATE INDEX message_project_open ON message (project) WHERE state < 2;"
  "CREATE INDEX message_waiting ON message (project) WHERE state = 0;"
  "CREATE TABLE question (id INTEGER PRIMARY KEY, project INTEGER NOT NULL, text TEXT NOT NULL, "
  "options TEXT, "
  "  state INTEGER NOT NULL, asked INTEGER NOT NULL, answer TEXT, answered INTEGER NOT NULL);"
  "CREATE INDEX question_open ON question (id) WHERE state = 0;"
  "CREATE INDEX question_project_open ON question (project) WHERE state = 0;"
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
  "CREATE TABLE token (id INTEGER PRIMARY KEY, hash TEXT NOT NULL, role INTEGER NOT NULL, "
  "name TEXT NOT NULL, "
  "  project INTEGER NOT NULL, lease INTEGER NOT NULL, created INTEGER NOT NULL, revoked INTEGER "
  "NOT NULL);"
  "CREATE UNIQUE INDEX token_hash ON token (hash);"
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
  /* 1 to 2: why a plan waits is kept as it was judged, and who decided about it; tasks in review; why tasks failed.
   * What waits in an older file waits for approval, unless only for its hours. */
  "ALTER TABLE project ADD COLUMN n_reviews INTEGER NOT NULL DEFAULT 0;"
  "ALTER TABLE project ADD COLUMN report INTEGER NOT NULL DEFAULT 0;" /* the latest; 0: none */
  "UPDATE project SET report = (SELECT ifnull(max(id), 0) FROM report WHERE report.project = "
  "project.id);"
  "ALTER TABLE plan ADD COLUMN reviews INTEGER NOT NULL DEFAULT 0;"
  "ALTER TABLE plan ADD COLUMN waits INTEGER NOT NULL DEFAULT 0;"
  "ALTER TABLE plan ADD COLUMN waits_hours TEXT;"
  "ALTER TABLE plan ADD COLUMN waits_globs TEXT;"
  "ALTER TABLE plan ADD COLUMN decision INTEGER NOT NULL DEFAULT 0;"
  "ALTER TABLE plan ADD COLUMN decided_version INTEGER NOT NULL DEFAULT 0;"
  "ALTER TABLE plan ADD COLUMN decided_role INTEGER NOT NULL DEFAULT 0;"
  "ALTER TABLE plan ADD COLUMN decided_name TEXT;"
  "ALTER TABLE plan ADD COLUMN decided_at INTEGER NOT NULL DEFAULT 0;"
  "ALTER TABLE task ADD COLUMN reason TEXT;"
  "UPDATE plan SET waits = CASE WHEN by_clock <> 0 THEN 8 ELSE 1 END,"
  "  waits_hours = (SELECT hours FROM project WHERE project.id = plan.project)"
  "  WHERE state = 0 OR id IN (SELECT plan FROM task WHERE awaiting <> 0);"
  "UPDATE plan SET reviews = (SELECT count(*) FROM task WHERE task.plan = plan.id AND "
  "task.state = 3);"
  "UPDATE project SET n_reviews = (SELECT count(*) FROM plan WHERE plan.project = project.id AND "
  "reviews <> 0);"
  "CREATE INDEX project_name ON project (name) WHERE removed = 0;"
  "CREATE INDEX plan_review ON plan (id) WHERE reviews <> 0;"
  "CREATE INDEX plan_project_review ON plan (project) WHERE reviews <> 0;"
  "CREATE INDEX token_admin ON token (id) WHERE role = 1 AND revoked = 0 AND lease = 0;"
  "ALTER TABLE project ADD COLUMN trouble_since INTEGER NOT NULL DEFAULT 0;"
  "ALTER TABLE project ADD COLUMN trouble_failures INTEGER NOT NULL DEFAULT 0;"
  "ALTER TABLE project ADD COLUMN trouble_next INTEGER NOT NULL DEFAULT 0;"
  "ALTER TABLE project ADD COLUMN trouble_ran INTEGER NOT NULL DEFAULT 0;"
  "ALTER TABLE project ADD COLUMN trouble_reason TEXT;"
  "CREATE INDEX project_troubled ON project (id) WHERE removed = 0 AND trouble_since <> 0;"
  "CREATE INDEX project_retried ON project (trouble_next) WHERE trouble_next <> 0;"
  "ALTER TABLE message ADD COLUMN turn_ended INTEGER NOT NULL DEFAULT 0;"
  "ALTER TABLE message ADD COLUMN turn_failed INTEGER NOT NULL DEFAULT 0;"
  "ALTER TABLE message ADD COLUMN needs INTEGER NOT NULL DEFAULT 0;"
  "ALTER TABLE project ADD COLUMN n_unanswered INTEGER NOT NULL DEFAULT 0;"
  "CREATE INDEX message_needing ON message (id) WHERE needs <> 0;"
  "CREATE INDEX message_project_needing ON message (project) WHERE needs <> 0;"
  "CREATE INDEX message_given ON message (project) WHERE state = 1 AND turn_ended = 0;"
  "CREATE INDEX message_failed ON message (project) WHERE state = 1 AND turn_failed <> 0;"
  "ALTER TABLE task ADD COLUMN returned INTEGER NOT NULL DEFAULT 0;"
  "ALTER TABLE project ADD COLUMN n_given_up INTEGER NOT NULL DEFAULT 0;",
};

#define NEWEST " ORDER BY id DESC LIMIT ?3"
#define OLDEST " ORDER BY id LIMIT ?3"
#define DUE \
  "removed = 0 AND (wake <> 0 OR n_waiting > 0) AND held = 0 AND command IS NOT NULL" \
  " AND NOT EXISTS (SELECT 1 FROM lease WHERE lease.project = project.id AND lease.ended = 0)"

/* Each look-up names its index, so that one that could not use it fails to compile; none: by id alone. */
/* clang-format off */
const SrvSqliteFind srv_sqlite_finds[SRV_N_FINDS] = {
#define FIND(name, kind, index, where) [SRV_FIND_##name] = { SRV_RECORD_##kind, index, where },
  FIND (PROJECTS, PROJECT, NULL, "removed = 0 AND id > ?1" OLDEST)
  FIND (PROJECT_BY_URL, PROJECT, "project_url", "removed = 0 AND repo_url = ?4 LIMIT ?3")
  FIND (PROJECTS_BY_NAME, PROJECT, "project_name", "removed = 0 AND name = ?4" OLDEST)
  FIND (PROJECTS_DUE, PROJECT, "project_due", DUE " AND trouble_next <= ?1" OLDEST)
  FIND (PROJECT_RETRIED_FIRST, PROJECT, "project_retried", DUE " AND trouble_next <> 0 AND trouble_next > ?1 ORDER BY trouble_next LIMIT ?3")
  FIND (PROJECTS_TROUBLED, PROJECT, "project_troubled", "removed = 0 AND trouble_since <> 0 AND (?1 = 0 OR id = ?1)" OLDEST)
  FIND (PLANS, PLAN, NULL, "id < ?2" NEWEST)
  FIND (PROJECT_PLANS, PLAN, "plan_project", "project = ?1 AND id < ?2" NEWEST)
  FIND (PLANS_IN_STATE, PLAN, "plan_state", "state = ?1 AND id < ?2" NEWEST)
  FIND (PROJECT_PLANS_IN_STATE, PLAN, "plan_project_state", "project = ?1 AND state = CAST (?4 AS INTEGER) AND id < ?2" NEWEST)
  FIND (PLANS_LIVE, PLAN, "plan_live", "state <= 1 AND id < ?2" NEWEST)
  FIND (PROJECT_PLANS_LIVE, PLAN, "plan_project_live", "project = ?1 AND state <= 1 AND id < ?2" NEWEST)
  FIND (PLANS_FINISHED, PLAN, "plan_finished", "state > 1 AND (SELECT removed FROM project WHERE project.id = plan.project) = 0 ORDER BY finished DESC LIMIT ?3")
  FIND (PROJECT_PLANS_FINISHED, PLAN, "plan_project_finished", "project = ?1 AND state > 1 ORDER BY finished DESC LIMIT ?3")
  FIND (PLANS_NEEDING, PLAN, "plan_needing", "needs <> 0" NEWEST)
  FIND (PROJECT_PLANS_NEEDING, PLAN, "plan_project_needing", "project = ?1 AND needs <> 0" NEWEST)
  FIND (PLANS_WAITING, PLAN, "plan_needing", "needs <> 0 AND waits <> 0 AND (?1 = 0 OR project = ?1)" NEWEST)
/* Nobody ends a review: no turn runs, no chat is attached, and no turn is about to start. As
 * srv_rules_foreman_is_coming() says it. */
#define NO_FOREMAN \
  " AND NOT EXISTS (SELECT 1 FROM project WHERE project.id = plan.project AND command IS NOT NULL" \
  " AND held = 0 AND (wake <> 0 OR n_waiting > 0))" \
  " AND NOT EXISTS (SELECT 1 FROM lease WHERE lease.project = plan.project AND ended = 0)"
  FIND (PLANS_IN_REVIEW, PLAN, "plan_review", "reviews <> 0" NO_FOREMAN NEWEST)
  FIND (PROJECT_PLANS_IN_REVIEW, PLAN, "plan_project_review", "reviews <> 0 AND project = ?1" NO_FOREMAN NEWEST)
#undef NO_FOREMAN
  FIND (PLANS_BY_CLOCK, PLAN, "plan_by_clock", "by_clock <> 0 AND id > ?1" OLDEST)
  FIND (TASKS_OF_PLAN, TASK, "task_plan", "plan = ?1" OLDEST)
  FIND (TASKS_READY, TASK, "task_ready",
        "state = 1 AND held = 0 AND (?1 = 0 OR project = ?1)"
        " AND (SELECT held FROM plan WHERE plan.id = task.plan) = 0"
        " AND (SELECT held FROM project WHERE project.id = task.project) = 0"
        " AND (?2 = 0 OR (SELECT checkout FROM project WHERE project.id = task.project) IS NOT NULL)" OLDEST)
  FIND (TASKS_READY_HELD, TASK, "task_ready", "state = 1 AND (?1 = 0 OR project = ?1)" OLDEST)
  FIND (BRIEFS_OF_PLAN, BRIEF, NULL, "id IN (SELECT id FROM task WHERE plan = ?1)" OLDEST)
  FIND (JOBS_RUNNING, JOB, "job_running", "state = 0 AND (?1 = 0 OR project = ?1)" OLDEST)
  FIND (JOBS_SILENT, JOB, "job_silent", "state = 0 AND heartbeat <= ?1 ORDER BY heartbeat LIMIT ?3")
  FIND (JOB_SILENT_FIRST, JOB, "job_silent", "state = 0 ORDER BY heartbeat LIMIT ?3")
  FIND (MESSAGES, MESSAGE, NULL, "id < ?2" NEWEST)
  FIND (PROJECT_MESSAGES, MESSAGE, "message_project", "project = ?1 AND id < ?2" NEWEST)
  FIND (MESSAGES_OPEN, MESSAGE, "message_open", "state < 2 AND id < ?2" NEWEST)
  FIND (PROJECT_MESSAGES_OPEN, MESSAGE, "message_project_open", "state < 2 AND project = ?1 AND id < ?2" NEWEST)
  FIND (MESSAGES_UNDONE, MESSAGE, "message_open", "state < 2 AND turn_failed = 0 AND id < ?2" NEWEST)
  FIND (PROJECT_MESSAGES_UNDONE, MESSAGE, "message_project_open", "state < 2 AND turn_failed = 0 AND project = ?1 AND id < ?2" NEWEST)
  FIND (MESSAGES_WAITING, MESSAGE, "message_waiting", "state = 0 AND project = ?1" OLDEST)
  FIND (MESSAGES_WITH_FOREMAN, MESSAGE, "message_given", "state = 1 AND turn_ended = 0 AND project = ?1" OLDEST)
  FIND (MESSAGES_GIVEN_UP, MESSAGE, "message_failed", "state = 1 AND turn_failed <> 0 AND project = ?1" OLDEST)
/* What a trouble that the user is told of names is not told a second time. */
#define NOT_TOLD \
  " AND (turn_failed = 0 OR (SELECT trouble_since FROM project WHERE project.id = message.project) = 0)"
  FIND (MESSAGES_NEEDING_ALONE, MESSAGE, "message_needing", "needs <> 0" NOT_TOLD NEWEST)
  FIND (PROJECT_MESSAGES_NEEDING_ALONE, MESSAGE, "message_project_needing", "needs <> 0 AND project = ?1" NOT_TOLD NEWEST)
#undef NOT_TOLD
  FIND (PROJECT_MESSAGES_NEEDING, MESSAGE, "message_project_needing", "needs <> 0 AND project = ?1" NEWEST)
  FIND (MESSAGES_FAILED, MESSAGE, "message_project_needing", "needs <> 0 AND turn_failed <> 0 AND project = ?1" OLDEST)
  FIND (MESSAGES_SAME, MESSAGE, "message_same", "project = ?1 AND hash = ?2" NEWEST)
  FIND (QUESTIONS_OPEN, QUESTION, "question_open", "state = 0" NEWEST)
  FIND (PROJECT_QUESTIONS_OPEN, QUESTION, "question_project_open", "state = 0 AND project = ?1" NEWEST)
  FIND (NOTES_OF_TASK, NOTE, "note_task", "task = ?1" NEWEST)
  FIND (LEASE_LIVE, LEASE, "lease_live", "ended = 0 AND project = ?1 LIMIT ?3")
  FIND (LEASES_LIVE, LEASE, "lease_expires", "ended = 0 ORDER BY expires LIMIT ?3")
  FIND (TOKEN_BY_HASH, TOKEN, "token_hash", "hash = ?4 LIMIT ?3")
  FIND (TOKENS, TOKEN, "token_made", "lease = 0 AND id < ?2" NEWEST)
  FIND (ADMINS_LIVE, TOKEN, "token_admin", "role = 1 AND revoked = 0 AND lease = 0" OLDEST)
  FIND (EVENTS_BEFORE, EVENT, NULL, "id < ?2" NEWEST)
  FIND (PROJECT_EVENTS_BEFORE, EVENT, "event_project", "project = ?1 AND id < ?2" NEWEST)
  FIND (EVENTS_OF_TASK, EVENT, "event_task", "task = ?1 AND task <> 0 AND id < ?2" NEWEST)
  FIND (EVENTS_AFTER, EVENT, NULL, "id > ?2" OLDEST)
  FIND (PROJECT_EVENTS_AFTER, EVENT, "event_project", "project = ?1 AND id > ?2" OLDEST)
  FIND (REPLAY, REPLAY, "replay_key", "token = ?1 AND key = ?4 LIMIT ?3")
#undef FIND
};
/* clang-format on */

void
srv_sqlite_append_from (GString *sql, const SrvSqliteFind *find)
{
  const char *table = srv_record_info (find->kind)->table;

  if (find->index)
    g_string_append_printf (sql, " FROM %s INDEXED BY %s WHERE %s", table, find->index,
                            find->where);
  else
    g_string_append_printf (sql, " FROM %s NOT INDEXED WHERE %s", table, find->where);
}

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
  else if (srv_sqlite_integer (db, "SELECT count(*) FROM sqlite_schema WHERE type NOT IN "
                                   "('table', 'index') OR sql LIKE '%virtual%'")
           != 0)
    g_set_error_literal (
        error, SRV_ENGINE_ERROR, SRV_ENGINE_ERROR_SCHEMA,
        "the store can't be read, or holds what no engine makes: a view, a trigger "
        "or a virtual table");
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
