/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-store-vfs: the system's own files, with the syncs counted and a disk that tests can fill.
 *
 * The shim opens what the default VFS opens and then puts a copy of its table of methods in place, with xSync and
 * xWrite replaced; a file's state stays the default VFS's own. Source: SQLite's "OS Interface" documentation: a VFS
 * may set pMethods as it likes in xOpen.
 */
#include "config.h"

#include "srv-store.h"

#include <errno.h>
#include <sqlite3.h>

#define MAX_TABLES 8 /* the unix VFS has one a kind of locking */

typedef struct
{
  const sqlite3_io_methods *theirs;
  sqlite3_io_methods ours;
} Table;

static Table tables[MAX_TABLES];
static guint n_tables;
static GMutex tables_mutex;
static guint64 syncs; /* atomic */
static gint failing;  /* atomic: what writes answer instead; 0: nothing */
static sqlite3_vfs shim;

static const sqlite3_io_methods *
original (sqlite3_file *file)
{
  const Table *table
      = (const Table *) ((const char *) file->pMethods - G_STRUCT_OFFSET (Table, ours));

  return table->theirs;
}

static int
count_sync (sqlite3_file *file, int flags)
{
  __atomic_add_fetch (&syncs, 1, __ATOMIC_RELAXED);
  return original (file)->xSync (file, flags);
}

static int
write_unless_full (sqlite3_file *file, const void *bytes, int n_bytes, sqlite3_int64 offset)
{
  int rc = g_atomic_int_get (&failing);

  if (rc != SQLITE_OK)
    return rc;
  errno = 0;
  rc = original (file)->xWrite (file, bytes, n_bytes, offset);
  /* SQLite knows of a full disk only; a limit of the file's size and a quota are no other. */
  return (rc & 0xff) == SQLITE_IOERR && (errno == EFBIG || errno == EDQUOT) ? SQLITE_FULL : rc;
}

/* The table that stands for @theirs; NULL when there are too many (then the file stays as it is). */
static const sqlite3_io_methods *
replace (const sqlite3_io_methods *theirs)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&tables_mutex);

  for (guint i = 0; i < n_tables; i++)
    if (tables[i].theirs == theirs)
      return &tables[i].ours;
  if (n_tables == MAX_TABLES)
    return NULL;
  Table *table = &tables[n_tables++];
  table->theirs = theirs;
  table->ours = *theirs;
  table->ours.xSync = count_sync;
  table->ours.xWrite = write_unless_full;
  return &table->ours;
}

static int
open_file (sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out_flags)
{
  sqlite3_vfs *system = vfs->pAppData;
  int rc = system->xOpen (system, name, file, flags, out_flags);

  if (rc == SQLITE_OK && file->pMethods)
    {
      const sqlite3_io_methods *ours = replace (file->pMethods);
      if (ours)
        file->pMethods = ours;
    }
  return rc;
}

const char *
srv_store_vfs (void)
{
  static gsize once;

  if (g_once_init_enter (&once))
    {
      sqlite3_vfs *system = sqlite3_vfs_find (NULL);
      shim = *system;
      shim.pNext = NULL;
      shim.zName = "drawbridge";
      shim.pAppData = system;
      shim.xOpen = open_file;
      sqlite3_vfs_register (&shim, 0);
      g_once_init_leave (&once, 1);
    }
  return shim.zName;
}

guint64
srv_store_vfs_syncs (void)
{
  return __atomic_load_n (&syncs, __ATOMIC_RELAXED);
}

void
srv_store_vfs_fail (SrvStoreFailure failure)
{
  static const int codes[] = {
    [SRV_STORE_OK] = SQLITE_OK,
    [SRV_STORE_FULL] = SQLITE_FULL,
    [SRV_STORE_READ_ONLY] = SQLITE_READONLY,
    [SRV_STORE_DAMAGED] = SQLITE_CORRUPT,
    [SRV_STORE_REPLACED] = SQLITE_IOERR_WRITE,
    [SRV_STORE_BROKEN] = SQLITE_IOERR_WRITE,
  };

  g_atomic_int_set (&failing, codes[failure]);
}
