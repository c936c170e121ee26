/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-store-sqlite: the store in one SQLite file (WAL).
 *
 * Statements are prepared once and kept. The first failure is kept too; everything after it does nothing, so a half-done
 * operation can't be committed: commit and release refuse.
 */
#include "config.h"

#include "srv-store-sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define BUSY_TIMEOUT_MS 5000

/* ------------------------------------------------------------------ failures */
static SrvStoreFailure
failure_of (int rc)
{
  switch (rc & 0xff)
    {
    case SQLITE_FULL:
      return SRV_STORE_FULL;
    case SQLITE_READONLY:
      return SRV_STORE_READ_ONLY;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return SRV_STORE_DAMAGED;
    default:
      return SRV_STORE_BROKEN;
    }
}

static gboolean
fail (SrvStore *self, int rc)
{
  if (self->failure == SRV_STORE_OK)
    {
      self->failure = failure_of (rc);
      self->failure_text = g_strdup (sqlite3_errmsg (self->db));
    }
  return FALSE;
}

static void
forget_failure (SrvStore *self)
{
  self->failure = SRV_STORE_OK;
  g_clear_pointer (&self->failure_text, g_free);
}

SrvStoreFailure
srv_store_failure (const SrvStore *self, const char **out_text)
{
  if (out_text)
    *out_text = self->failure_text;
  return self->failure;
}

static gboolean
execute (SrvStore *self, const char *sql)
{
  if (self->failure != SRV_STORE_OK)
    return FALSE;
  int rc = sqlite3_exec (self->db, sql, NULL, NULL, NULL);
  return rc == SQLITE_OK || fail (self, rc);
}

/* ---------------------------------------------------------------------- files */
static void
name_files (SrvStore *self, const char *file)
{
  static const char *const suffixes[SRV_SQLITE_N_FILES] = { "", "-wal", "-shm" };

  for (guint i = 0; i < SRV_SQLITE_N_FILES; i++)
    self->files[i] = g_strconcat (file, suffixes[i], NULL);
}

/* Whether each is still what it was when it was seen first. SQLite would go on with what it has open: what is removed is
 * written to, synced, and gone. */
static gboolean
check_files (SrvStore *self)
{
  for (guint i = 0; i < SRV_SQLITE_N_FILES && self->files[i]; i++)
    {
      GStatBuf now;
      gboolean is_there = g_stat (self->files[i], &now) == 0;
      if (self->inodes[i] == 0 && is_there)
        {
          self->devices[i] = now.st_dev;
          self->inodes[i] = now.st_ino;
        }
      if (self->inodes[i] == 0
          || (is_there && now.st_dev == self->devices[i] && now.st_ino == self->inodes[i]))
        continue;
      if (self->failure == SRV_STORE_OK)
        {
          self->failure = SRV_STORE_REPLACED;
          self->failure_text
              = g_strdup_printf ("%s was removed or replaced while it was in use", self->files[i]);
        }
      return FALSE;
    }
  return TRUE;
}

/* -------------------------------------------------------------- transactions */
gboolean
srv_store_begin (SrvStore *self, gboolean writes)
{
  forget_failure (self);
  self->begun_id = self->last_id;
  self->begun_event = self->last_event;
  if (writes && !check_files (self))
    return FALSE;
  return execute (self, writes ? "BEGIN IMMEDIATE" : "BEGIN");
}

gboolean
srv_store_commit (SrvStore *self)
{
  /* Before anybody is told: what was committed is where the next start looks for it. */
  if (!execute (self, "COMMIT") || !check_files (self))
    return FALSE;
  /* A roll-back after it has nothing to take back: no number is given twice. */
  self->begun_id = self->last_id;
  self->begun_event = self->last_event;
  return TRUE;
}

void
srv_store_rollback (SrvStore *self)
{
  forget_failure (self);
  self->last_id = self->begun_id;
  self->last_event = self->begun_event;
  if (!sqlite3_get_autocommit (self->db))
    sqlite3_exec (self->db, "ROLLBACK", NULL, NULL, NULL);
}

gboolean
srv_store_savepoint (SrvStore *self)
{
  self->saved_id = self->last_id;
  self->saved_event = self->last_event;
  return execute (self, "SAVEPOINT request");
}

gboolean
srv_store_release (SrvStore *self)
{
  return execute (self, "RELEASE request");
}

gboolean
srv_store_rollback_to (SrvStore *self)
{
  forget_failure (self);
  self->last_id = self->saved_id;
  self->last_event = self->saved_event;
  /* SQLite itself may have rolled back the whole transaction (a full disk): then there is no savepoint left. */
  if (sqlite3_get_autocommit (self->db))
    return FALSE;
  return execute (self, "ROLLBACK TO request") && execute (self, "RELEASE request");
}

gint64
srv_store_last_event (const SrvStore *self)
{
  return self->last_event;
}

/* -------------------------------------------------------------------- records */
static void
append_columns (GString *sql, const SrvRecordInfo *info)
{
  g_string_append (sql, "id");
  for (guint i = 0; i < info->n_fields; i++)
    g_string_append_printf (sql, ", %s", info->fields[i].name);
}

static char *
statement_sql (SrvRecordKind kind, SrvStatement what)
{
  const SrvRecordInfo *info = srv_record_info (kind);
  GString *sql = g_string_new (NULL);

  if (what == SRV_STATEMENT_GET)
    {
      g_string_append (sql, "SELECT ");
      append_columns (sql, info);
      g_string_append_printf (sql, " FROM %s WHERE id = ?1", info->table);
    }
  else if (what == SRV_STATEMENT_ADD)
    {
      g_string_append_printf (sql, "INSERT INTO %s (", info->table);
      append_columns (sql, info);
      g_string_append (sql, ") VALUES (?1");
      for (guint i = 0; i < info->n_fields; i++)
        g_string_append_printf (sql, ", ?%u", i + 2);
      g_string_append_c (sql, ')');
    }
  else
    {
      g_string_append_printf (sql, "UPDATE %s SET ", info->table);
      for (guint i = 0; i < info->n_fields; i++)
        g_string_append_printf (sql, "%s%s = ?%u", i ? ", " : "", info->fields[i].name, i + 2);
      g_string_append (sql, " WHERE id = ?1");
    }
  return g_string_free (sql, FALSE);
}

static sqlite3_stmt *
prepare (SrvStore *self, sqlite3_stmt **slot, const char *sql)
{
  int rc = sqlite3_prepare_v3 (self->db, sql, -1, SQLITE_PREPARE_PERSISTENT, slot, NULL);

  if (rc != SQLITE_OK)
    fail (self, rc);
  return *slot;
}

static sqlite3_stmt *
record_statement (SrvStore *self, SrvRecordKind kind, SrvStatement what)
{
  sqlite3_stmt **slot = &self->of_record[kind][what];

  if (self->failure != SRV_STORE_OK)
    return NULL;
  if (*slot)
    return *slot;
  g_autofree char *sql = statement_sql (kind, what);
  return prepare (self, slot, sql);
}

/* The record of the row; NULL, a failure, when no engine can have written it. */
static gpointer
read_record (SrvStore *self, sqlite3_stmt *statement, SrvRecordKind kind)
{
  const SrvRecordInfo *info = srv_record_info (kind);
  SrvRecord *record = srv_record_new (kind);

  record->id = sqlite3_column_int64 (statement, 0);
  for (guint i = 0; i < info->n_fields; i++)
    {
      gpointer field = G_STRUCT_MEMBER_P (record, info->fields[i].offset);
      if (info->fields[i].is_text)
        *(char **) field = g_strdup ((const char *) sqlite3_column_text (statement, (int) i + 1));
      else
        *(gint64 *) field = sqlite3_column_int64 (statement, (int) i + 1);
    }
  if (srv_record_is_sound (record))
    return record;
  if (self->failure == SRV_STORE_OK)
    {
      self->failure = SRV_STORE_DAMAGED;
      self->failure_text
          = g_strdup_printf ("%s %" G_GINT64_FORMAT " is damaged", info->table, record->id);
    }
  srv_record_free (record);
  return NULL;
}

/* Binds and runs an INSERT or UPDATE. Text is bound in place: the statement ends before this returns. */
static void
write_record (SrvStore *self, gconstpointer record, SrvStatement what)
{
  const SrvRecord *head = record;
  const SrvRecordInfo *info = srv_record_info (head->kind);
  sqlite3_stmt *statement = record_statement (self, head->kind, what);

  if (!statement)
    return;
  sqlite3_bind_int64 (statement, 1, head->id);
  for (guint i = 0; i < info->n_fields; i++)
    {
      gconstpointer field = (const char *) record + info->fields[i].offset;
      if (info->fields[i].is_text)
        sqlite3_bind_text (statement, (int) i + 2, *(char *const *) field, -1, SQLITE_STATIC);
      else
        sqlite3_bind_int64 (statement, (int) i + 2, *(const gint64 *) field);
    }
  int rc = sqlite3_step (statement);
  if (rc != SQLITE_DONE)
    fail (self, rc);
  sqlite3_reset (statement);
  sqlite3_clear_bindings (statement);
}

gpointer
srv_store_get (SrvStore *self, SrvRecordKind kind, gint64 id)
{
  sqlite3_stmt *statement = record_statement (self, kind, SRV_STATEMENT_GET);
  gpointer record = NULL;

  if (!statement)
    return NULL;
  sqlite3_bind_int64 (statement, 1, id);
  int rc = sqlite3_step (statement);
  if (rc == SQLITE_ROW)
    record = read_record (self, statement, kind);
  else if (rc != SQLITE_DONE)
    fail (self, rc);
  sqlite3_reset (statement);
  return record;
}

void
srv_store_add (SrvStore *self, gpointer record)
{
  SrvRecord *head = record;

  if (head->id == 0)
    head->id = head->kind == SRV_RECORD_EVENT ? ++self->last_event : ++self->last_id;
  write_record (self, record, SRV_STATEMENT_ADD);
}

void
srv_store_put (SrvStore *self, gconstpointer record)
{
  write_record (self, record, SRV_STATEMENT_PUT);
}

gint64
srv_store_next_id (SrvStore *self)
{
  return ++self->last_id;
}

static sqlite3_stmt *
find_statement (SrvStore *self, SrvFind what)
{
  const SrvSqliteFind *find = &srv_sqlite_finds[what];

  if (self->failure != SRV_STORE_OK)
    return NULL;
  if (self->finds[what])
    return self->finds[what];
  g_autoptr (GString) sql = g_string_new ("SELECT ");
  append_columns (sql, srv_record_info (find->kind));
  srv_sqlite_append_from (sql, find);
  return prepare (self, &self->finds[what], sql->str);
}

GPtrArray *
srv_store_find (SrvStore *self, SrvFind what, gint64 a, gint64 b, const char *text, guint limit)
{
  GPtrArray *found = g_ptr_array_new_with_free_func (srv_record_free);
  sqlite3_stmt *statement = find_statement (self, what);
  int rc;

  if (!statement)
    return found;
  /* Not every statement has every parameter: a range error of bind is expected. */
  sqlite3_bind_int64 (statement, 1, a);
  sqlite3_bind_int64 (statement, 2, b);
  sqlite3_bind_int64 (statement, 3, limit);
  if (sqlite3_bind_parameter_count (statement) >= 4)
    sqlite3_bind_text (statement, 4, text, -1, SQLITE_STATIC);
  while ((rc = sqlite3_step (statement)) == SQLITE_ROW)
    {
      gpointer record = read_record (self, statement, srv_sqlite_finds[what].kind);
      if (!record)
        break;
      g_ptr_array_add (found, record);
    }
  if (rc != SQLITE_DONE && rc != SQLITE_ROW)
    fail (self, rc);
  sqlite3_reset (statement);
  sqlite3_clear_bindings (statement);
  return found;
}

gpointer
srv_store_find_one (SrvStore *self, SrvFind what, gint64 a, gint64 b, const char *text)
{
  g_autoptr (GPtrArray) found = srv_store_find (self, what, a, b, text, 1);

  return found->len ? g_ptr_array_steal_index (found, 0) : NULL;
}

void
srv_store_forget_replays (SrvStore *self, gint64 before_us)
{
  g_autofree char *sql
      = g_strdup_printf ("DELETE FROM replay WHERE at < %" G_GINT64_FORMAT, before_us);

  execute (self, sql);
}

/* -------------------------------------------------------------------- opening */
/* The lock is a file of its own: SQLite's locks belong to single transactions. It goes with the process. */
static gboolean
lock_file (SrvStore *self, const char *file, GError **error)
{
  g_autofree char *name = g_strconcat (file, ".lock", NULL);

  self->lock_fd = open (name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (self->lock_fd < 0)
    {
      g_set_error (error, SRV_ENGINE_ERROR, SRV_ENGINE_ERROR_STORE, "can't open %s: %s", name,
                   g_strerror (errno));
      return FALSE;
    }
  if (flock (self->lock_fd, LOCK_EX | LOCK_NB) == 0)
    return TRUE;
  g_set_error (error, SRV_ENGINE_ERROR, SRV_ENGINE_ERROR_LOCKED,
               "another engine has %s open: stop it first", file);
  return FALSE;
}

/* The last id that any record took; all kinds but events share the sequence. */
static gboolean
read_last_ids (SrvStore *self, GError **error)
{
  for (SrvRecordKind kind = 0; kind < SRV_N_RECORDS; kind++)
    {
      g_autofree char *sql
          = g_strdup_printf ("SELECT coalesce(max(id), 0) FROM %s", srv_record_info (kind)->table);
      gint64 last = srv_sqlite_integer (self->db, sql);
      if (kind == SRV_RECORD_EVENT)
        self->last_event = MAX (last, 0);
      else
        self->last_id = MAX (self->last_id, last);
    }
  if (self->last_id <= SRV_SQLITE_MAX_ID && self->last_event <= SRV_SQLITE_MAX_ID)
    return TRUE;
  g_set_error_literal (error, SRV_ENGINE_ERROR, SRV_ENGINE_ERROR_STORE,
                       "the store is damaged: an id is beyond any that an engine gives");
  return FALSE;
}

static gboolean
configure (SrvStore *self, gboolean is_writer, gboolean synchronous, GError **error)
{
  sqlite3_busy_timeout (self->db, BUSY_TIMEOUT_MS);
  sqlite3_extended_result_codes (self->db, 1);
  sqlite3_db_config (self->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
  sqlite3_db_config (self->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
  if (!is_writer)
    return srv_sqlite_check_identity (self->db, error);
  if (!srv_sqlite_exec (
          self->db, synchronous ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = OFF", error))
    return FALSE;
  /* A foreign file must stay as it is: look before the journal mode is changed. */
  gint64 tables = srv_sqlite_integer (self->db, "SELECT count(*) FROM sqlite_schema");
  if (tables != 0 && !srv_sqlite_check_identity (self->db, error))
    return FALSE;
  if (sqlite3_db_readonly (self->db, "main") == 1)
    return srv_sqlite_check_identity (self->db, error);
  if (!srv_sqlite_exec (self->db, "PRAGMA journal_mode = WAL", error)
      || !srv_sqlite_migrate (self->db, error))
    return FALSE;
  return read_last_ids (self, error);
}

SrvStore *
srv_store_open (const char *file, gboolean is_writer, gboolean synchronous, GError **error)
{
  g_autoptr (SrvStore) self = g_new0 (SrvStore, 1);
  gboolean in_memory = strcmp (file, ":memory:") == 0;
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;

  self->lock_fd = -1;
  if (is_writer && !in_memory && !lock_file (self, file, error))
    return NULL;
  int rc = is_writer ? sqlite3_open_v2 (file, &self->db, flags, srv_store_vfs ())
                     : srv_sqlite_open_to_read (file, &self->db, srv_store_vfs ());
  if (rc != SQLITE_OK)
    {
      srv_sqlite_cannot ("open", file, self->db, rc, error);
      return NULL;
    }
  if (!configure (self, is_writer, synchronous, error))
    {
      g_prefix_error (error, "%s: ", file);
      return NULL;
    }
  if (!is_writer && !srv_sqlite_exec (self->db, "PRAGMA query_only = ON", error))
    return NULL;
  if (is_writer && !in_memory)
    {
      name_files (self, file);
      check_files (self);
    }
  return g_steal_pointer (&self);
}

void
srv_store_free (SrvStore *self)
{
  if (!self)
    return;
  for (guint i = 0; i < SRV_N_RECORDS; i++)
    for (guint j = 0; j < SRV_N_STATEMENTS; j++)
      sqlite3_finalize (self->of_record[i][j]);
  for (guint i = 0; i < SRV_N_FINDS; i++)
    sqlite3_finalize (self->finds[i]);
  sqlite3_close_v2 (self->db);
  for (guint i = 0; i < SRV_SQLITE_N_FILES; i++)
    g_free (self->files[i]);
  if (self->lock_fd >= 0)
    close (self->lock_fd);
  g_free (self->failure_text);
  g_free (self);
}
