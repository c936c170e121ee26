/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-store-sqlite: what the files of the SQLite store share; nobody else includes it.
 */
#pragma once

#include "srv-engine.h"
#include "srv-store.h"

#include <sqlite3.h>
#include <sys/stat.h>

G_BEGIN_DECLS

#define SRV_SQLITE_APPLICATION_ID 0x64726264            /* "drbd" */
#define SRV_SQLITE_MAX_ID (G_GINT64_CONSTANT (1) << 53) /* JSON's numbers */

typedef enum
{
  SRV_STATEMENT_GET,
  SRV_STATEMENT_ADD,
  SRV_STATEMENT_PUT,
  SRV_N_STATEMENTS
} SrvStatement;

#define SRV_SQLITE_N_FILES 3u

struct _SrvStore
{
  sqlite3 *db;
  /* A writer's files (the store, its log, the log's index) and what they were when they were seen first; NULL: none. */
  char *files[SRV_SQLITE_N_FILES];
  dev_t devices[SRV_SQLITE_N_FILES];
  ino_t inodes[SRV_SQLITE_N_FILES];
  int lock_fd; /* writer: held against other engines; -1: none */
  sqlite3_stmt *of_record[SRV_N_RECORDS][SRV_N_STATEMENTS];
  sqlite3_stmt *finds[SRV_N_FINDS];
  SrvStoreFailure failure;
  char *failure_text;
  gint64 last_id;
  gint64 last_event;
  gint64 saved_id; /* at the savepoint */
  gint64 saved_event;
  gint64 begun_id; /* at the begin */
  gint64 begun_event;
};

typedef struct
{
  SrvRecordKind kind;
  const char *index; /* NULL: by id */
  const char *where; /* ?1 = a, ?2 = b, ?3 = limit, ?4 = text */
} SrvSqliteFind;
/* " FROM table INDEXED BY index WHERE ..." */
void
srv_sqlite_append_from (GString *sql, const SrvSqliteFind *find);
extern const SrvSqliteFind srv_sqlite_finds[SRV_N_FINDS];

/* Brings the file to our schema. Errors: SRV_ENGINE_ERROR_SCHEMA, _STORE. */
gboolean
srv_sqlite_migrate (sqlite3 *db, GError **error);
/* Ours and not of a newer program, and nothing in it that runs: no view, trigger or virtual table. */
gboolean
srv_sqlite_check_identity (sqlite3 *db, GError **error);
/* Why a file can't be opened, as the system says it: SQLite's own words are "unable to open database file". Always FALSE.
 * @what: a verb; @db: (nullable): what sqlite3_open_v2() gave with @rc. Error: SRV_ENGINE_ERROR_STORE. */
gboolean
srv_sqlite_cannot (const char *what, const char *file, sqlite3 *db, int rc, GError **error);
/* Opens a store that is not to be written to; also on a read-only disk, when no log is left to be read. As sqlite3_open_v2(). */
int
srv_sqlite_open_to_read (const char *file, sqlite3 **out_db, const char *vfs);
gboolean
srv_sqlite_exec (sqlite3 *db, const char *sql, GError **error);
gint64
srv_sqlite_integer (sqlite3 *db, const char *sql); /* -1: none */

G_END_DECLS
