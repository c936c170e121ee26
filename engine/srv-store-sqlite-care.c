/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-store-sqlite-care: backup while the store is used, and the check of a file: SQLite's own and our invariants.
 */
#include "config.h"

#include "srv-store-sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <unistd.h>

#define MAX_FINDINGS 100
#define BACKUP_PAGES 256

/* Nobody can change it, and the file alone is all of it. */
static gboolean
is_frozen (const char *file)
{
  g_autofree char *folder = g_path_get_dirname (file);
  g_autofree char *log = g_strconcat (file, "-wal", NULL);
  GStatBuf about;

  return access (folder, W_OK) != 0 && errno == EROFS
         && (g_stat (log, &about) != 0 || about.st_size == 0);
}

int
srv_sqlite_open_to_read (const char *file, sqlite3 **out_db, const char *vfs)
{
  /* For writing all the same, or it could not take part in the shared memory of the log. */
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;

  if (!is_frozen (file))
    return sqlite3_open_v2 (file, out_db, flags, vfs);
  /* That memory can't be made there. Source: SQLite's "Write-Ahead Logging", read-only databases. */
  g_autofree char *absolute = g_canonicalize_filename (file, NULL);
  g_autofree char *address = g_filename_to_uri (absolute, NULL, NULL);
  g_autofree char *uri = g_strconcat (address ? address : "", "?immutable=1", NULL);
  return sqlite3_open_v2 (uri, out_db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX,
                          vfs);
}

gboolean
srv_sqlite_cannot (const char *what, const char *file, sqlite3 *db, int rc, GError **error)
{
  int number = db ? sqlite3_system_errno (db) : 0;

  g_set_error (error, SRV_ENGINE_ERROR, SRV_ENGINE_ERROR_STORE, "can't %s %s: %s", what, file,
               rc == SQLITE_CANTOPEN && number != 0 ? g_strerror (number)
               : db                                 ? sqlite3_errmsg (db)
                                                    : sqlite3_errstr (rc));
  return FALSE;
}

static gboolean
copy_pages (sqlite3 *from, sqlite3 *to, GError **error)
{
  sqlite3_backup *backup = sqlite3_backup_init (to, "main", from, "main");
  int rc = SQLITE_OK;

  while (backup && (rc == SQLITE_OK || rc == SQLITE_BUSY || rc == SQLITE_LOCKED))
    {
      rc = sqlite3_backup_step (backup, BACKUP_PAGES);
      if (rc == SQLITE_BUSY || rc == SQLITE_LOCKED)
        sqlite3_sleep (10);
    }
  if (backup)
    rc = sqlite3_backup_finish (backup);
  if (backup && rc == SQLITE_OK)
    return TRUE;
  g_set_error (error, SRV_ENGINE_ERROR, SRV_ENGINE_ERROR_STORE, "the backup failed: %s",
               sqlite3_errmsg (to));
  return FALSE;
}

/* In one step where the kernel and the file system can. */
static gboolean
put_in_place (const char *part, const char *to, gboolean may_replace, GError **error)
{
  gboolean is_there
      = g_file_test (to, G_FILE_TEST_EXISTS) || g_file_test (to, G_FILE_TEST_IS_SYMLINK);

  if (may_replace && g_rename (part, to) == 0)
    return TRUE;
  if (!may_replace && !is_there)
    {
      if (renameat2 (AT_FDCWD, part, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return TRUE;
      if ((errno == EINVAL || errno == ENOSYS) && g_rename (part, to) == 0)
        return TRUE;
      is_there = errno == EEXIST;
    }
  if (!may_replace && is_there)
    g_set_error (error, SRV_ENGINE_ERROR, SRV_ENGINE_ERROR_STORE, "%s is there already", to);
  else
    g_set_error (error, SRV_ENGINE_ERROR, SRV_ENGINE_ERROR_STORE, "can't rename %s to %s: %s", part,
                 to, g_strerror (errno));
  return FALSE;
}

/* Written beside and renamed, so that a file of that name is always a whole backup. */
gboolean
srv_store_backup (SrvStore *self, const char *to, gboolean may_replace, GError **error)
{
  g_autofree char *part = g_strconcat (to, ".part", NULL);
  sqlite3 *target = NULL;

  if (!may_replace && g_file_test (to, G_FILE_TEST_EXISTS))
    {
      g_set_error (error, SRV_ENGINE_ERROR, SRV_ENGINE_ERROR_STORE, "%s is there already", to);
      return FALSE;
    }
  g_unlink (part);
  int rc = sqlite3_open_v2 (part, &target, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
  gboolean ok = rc == SQLITE_OK || srv_sqlite_cannot ("write", part, target, rc, error);
  g_chmod (part, 0600);
  ok = ok && copy_pages (self->db, target, error)
       && srv_sqlite_exec (target, "PRAGMA journal_mode = DELETE", error);
  sqlite3_close_v2 (target);
  ok = ok && put_in_place (part, to, may_replace, error);
  if (!ok)
    g_unlink (part);
  return ok;
}

/* Each finds rows that must not be; the first column goes into the line. */
static const struct
{
  gint64 since; /* schema */
  const char *text;
  const char *sql;
} invariants[] = {
  { 1, "project %s counts its live plans wrongly",
    "SELECT id FROM project WHERE n_live <> (SELECT count(*) FROM plan WHERE plan.project = "
    "project.id AND state <= 1)" },
  { 1, "project %s counts its finished plans wrongly",
    "SELECT id FROM project WHERE n_finished <> (SELECT count(*) FROM plan WHERE plan.project = "
    "project.id AND state > 1)" },
  { 1, "project %s counts the plans that need the user wrongly",
    "SELECT id FROM project WHERE n_needs <> (SELECT count(*) FROM plan WHERE plan.project = "
    "project.id AND needs <> 0)" },
  { 1, "project %s counts its open questions wrongly",
    "SELECT id FROM project WHERE n_questions <> (SELECT count(*) FROM question WHERE "
    "question.project = project.id"
    " AND state = 0)" },
  { 1, "project %s counts its waiting messages wrongly",
    "SELECT id FROM project WHERE n_waiting <> (SELECT count(*) FROM message WHERE message.project "
    "= project.id"
    " AND state = 0)" },
  { 1, "plan %s belongs to no project",
    "SELECT id FROM plan WHERE project NOT IN (SELECT id FROM project)" },
  { 1, "task %s belongs to no plan",
    "SELECT id FROM task WHERE plan NOT IN (SELECT id FROM plan)" },
  { 1, "task %s has no brief", "SELECT id FROM task WHERE id NOT IN (SELECT id FROM brief)" },
  { 1, "task %s runs without a running job",
    "SELECT id FROM task WHERE state = 2 AND job NOT IN (SELECT id FROM job WHERE state = 0)" },
  { 1, "job %s runs, but its task does not know it",
    "SELECT id FROM job WHERE state = 0 AND id NOT IN (SELECT job FROM task WHERE state = 2)" },
  { 1, "task %s is ready in a plan that is not active",
    "SELECT id FROM task WHERE state = 1 AND plan NOT IN (SELECT id FROM plan WHERE state = 1)" },
  { 1, "lease %s ended, but its token lives",
    "SELECT id FROM lease WHERE ended <> 0 AND token IN (SELECT id FROM token WHERE revoked = 0)" },
  { 2, "project %s counts its plans with tasks in review wrongly",
    "SELECT id FROM project WHERE n_reviews <> (SELECT count(*) FROM plan WHERE plan.project = "
    "project.id AND reviews <> 0)" },
  { 2, "project %s counts its messages that need the user wrongly",
    "SELECT id FROM project WHERE n_unanswered <> (SELECT count(*) FROM message WHERE "
    "message.project = project.id AND needs <> 0)" },
  { 2, "project %s counts its messages that were given up wrongly",
    "SELECT id FROM project WHERE n_given_up <> (SELECT count(*) FROM message WHERE "
    "message.project = project.id AND needs <> 0 AND turn_failed <> 0)" },
  { 2, "message %s needs the user, though nothing went wrong with it",
    "SELECT id FROM message WHERE needs <> 0 AND (state <> 1 OR turn_ended = 0)" },
  { 2, "project %s has another latest report",
    "SELECT id FROM project WHERE report <> (SELECT ifnull(max(id), 0) FROM report WHERE "
    "report.project = project.id)" },
  { 2, "plan %s counts its tasks in review wrongly",
    "SELECT id FROM plan WHERE reviews <> (SELECT count(*) FROM task WHERE task.plan = plan.id AND "
    "task.state = 3)" },
  { 2, "plan %s waits without a reason, or has one and does not wait",
    "SELECT id FROM plan WHERE (waits <> 0) <> (state = 0 OR (state IN (1, 3) AND EXISTS (SELECT 1 "
    "FROM task WHERE task.plan = plan.id AND awaiting <> 0)))" },
};

/* One line a row; FALSE: it can't be asked. */
static gboolean
append_rows (sqlite3 *db, const char *sql, const char *before, const char *after, GString *findings)
{
  sqlite3_stmt *statement = NULL;
  int rc = sqlite3_prepare_v2 (db, sql, -1, &statement, NULL);

  for (guint n = 0;
       rc == SQLITE_OK && n < MAX_FINDINGS && (rc = sqlite3_step (statement)) == SQLITE_ROW;
       n++, rc = SQLITE_OK)
    {
      const char *text = (const char *) sqlite3_column_text (statement, 0);
      if (g_strcmp0 (text, "ok") != 0)
        g_string_append_printf (findings, "%s%s%s\n", before, text ? text : "", after);
    }
  if (rc != SQLITE_OK && rc != SQLITE_DONE && rc != SQLITE_ROW)
    g_string_append_printf (findings, "the file can't be read: %s\n", sqlite3_errmsg (db));
  sqlite3_finalize (statement);
  return rc == SQLITE_OK || rc == SQLITE_DONE || rc == SQLITE_ROW;
}

gboolean
srv_store_check (const char *file, GString *findings, GError **error)
{
  sqlite3 *db = NULL;
  int rc = srv_sqlite_open_to_read (file, &db, NULL);
  gboolean ok = rc == SQLITE_OK || srv_sqlite_cannot ("open", file, db, rc, error);

  sqlite3_busy_timeout (db, 5000);
  ok = ok && srv_sqlite_check_identity (db, error);
  /* One snapshot for all that is asked. */
  ok = ok && srv_sqlite_exec (db, "BEGIN", error);
  gint64 schema = ok ? srv_sqlite_integer (db, "PRAGMA user_version") : 0;
  gboolean readable = ok && append_rows (db, "PRAGMA integrity_check (100)", "", "", findings);
  for (guint i = 0; readable && i < G_N_ELEMENTS (invariants); i++)
    {
      if (invariants[i].since > schema)
        continue;
      g_auto (GStrv) parts = g_strsplit (invariants[i].text, "%s", 2);
      readable = append_rows (db, invariants[i].sql, parts[0], parts[1], findings);
    }
  sqlite3_close_v2 (db);
  return ok;
}

gboolean
srv_store_count (const char *file, SrvStoreCounts *out, GError **error)
{
  sqlite3 *db = NULL;
  int rc = srv_sqlite_open_to_read (file, &db, NULL);
  gboolean ok = rc == SQLITE_OK || srv_sqlite_cannot ("open", file, db, rc, error);

  sqlite3_busy_timeout (db, 5000);
  ok = ok && srv_sqlite_check_identity (db, error);
  if (ok)
    {
      out->projects = srv_sqlite_integer (db, "SELECT count(*) FROM project WHERE removed = 0");
      out->plans = srv_sqlite_integer (db, "SELECT count(*) FROM plan");
      out->events = srv_sqlite_integer (db, "SELECT count(*) FROM event");
      out->rules = G_N_ELEMENTS (invariants);
    }
  sqlite3_close_v2 (db);
  return ok;
}
