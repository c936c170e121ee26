/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store's opening over any file: the input is the file itself; or, after "P", a patch of a real store (three bytes of
 * offset, one to write there, again and again; 0xffffff cuts it); or, after "Q", SQL that another hand ran on a real store.
 * "p" and "q" do the same to a store of the oldest schema, so that what is migrated is not what an engine left.
 * Either the engine refuses the file and says why, or it is usable: reads and writes are answered, by 503 where what they
 * need is damaged. The check reads the same file.
 */
#include "config.h"

#include "srv-fixture.h"
#include "srv-store-sqlite.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

#define MAX_BYTES (64u * 1024u)
#define MAX_SQL_STEPS 2000u /* of a thousand instructions */
#define CALL(actor, op, target, ...) \
  srv_fixture_call (f, actor, SRV_OP_##op, target, __VA_ARGS__, NULL)

static char *folder, *file;

static void
remove_files (void)
{
  static const char *const ends[] = { "", "-wal", "-shm", "-journal", ".lock" };

  for (guint i = 0; i < G_N_ELEMENTS (ends); i++)
    {
      g_autofree char *name = g_strconcat (file, ends[i], NULL);
      g_unlink (name);
    }
}

static void
remove_folder (void)
{
  remove_files ();
  g_rmdir (folder);
  g_free (folder);
  g_free (file);
}

static void
make_folder (void)
{
  g_autoptr (GError) error = NULL;

  folder = g_dir_make_tmp ("fuzz-srv-store-XXXXXX", &error);
  g_assert_no_error (error);
  file = g_build_filename (folder, "engine.db", NULL);
  atexit (remove_folder);
}

static void
run_sql (const char *sql, int (*progress) (void *), void *data)
{
  sqlite3 *db = NULL;

  g_assert_cmpint (sqlite3_open (file, &db), ==, SQLITE_OK);
  /* Into this file and nowhere else (VACUUM attaches one). */
  if (progress)
    sqlite3_limit (db, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_limit (db, SQLITE_LIMIT_LENGTH, 1 << 20);
  sqlite3_progress_handler (db, progress ? 1000 : 0, progress, data);
  sqlite3_exec (db, sql, NULL, NULL, NULL);
  sqlite3_close (db);
}

static int
count_down (void *data)
{
  guint *left = data;

  return *left == 0 || --*left == 0;
}

typedef enum
{
  TODAY,
  OLDEST,
  N_BASES
} Base;

static void
make_oldest (void)
{
  g_autofree char *sql = NULL;
  g_autoptr (GError) error = NULL;

  g_file_get_contents (OLDEST_SCHEMA, &sql, NULL, &error);
  g_assert_no_error (error);
  run_sql (sql, NULL, NULL);
}

static void
make_today (void)
{
  SrvFixture fixture = { 0 };

  srv_fixture_open (&fixture, file);
  srv_fixture_fill (&fixture);
  srv_fixture_close (&fixture);
}

/* A real store in small pages, the same each time but for the secrets. */
static const char *
base (Base which, gsize *out_bytes)
{
  static char *bytes[N_BASES];
  static gsize n_bytes[N_BASES];

  if (!bytes[which])
    {
      if (which == TODAY)
        make_today ();
      else
        make_oldest ();
      run_sql ("UPDATE token SET hash = printf ('%064d', id); PRAGMA journal_mode = DELETE;"
               "PRAGMA page_size = 512; VACUUM;",
               NULL, NULL);
      g_assert_true (g_file_get_contents (file, &bytes[which], &n_bytes[which], NULL));
      g_assert_cmpuint (n_bytes[which], <=, MAX_BYTES);
      remove_files ();
    }
  *out_bytes = n_bytes[which];
  return bytes[which];
}

/* The schema that the file says; -1: it can't be read. */
static int
schema_of_file (void)
{
  sqlite3_stmt *statement = NULL;
  sqlite3 *db = NULL;
  int schema = -1;

  if (sqlite3_open (file, &db) == SQLITE_OK
      && sqlite3_prepare_v2 (db, "PRAGMA user_version", -1, &statement, NULL) == SQLITE_OK
      && sqlite3_step (statement) == SQLITE_ROW)
    schema = sqlite3_column_int (statement, 0);
  sqlite3_finalize (statement);
  sqlite3_close (db);
  return schema;
}

static void
write_file (const void *bytes, gsize n_bytes)
{
  g_autoptr (GError) error = NULL;

  g_file_set_contents_full (file, bytes, (gssize) n_bytes, G_FILE_SET_CONTENTS_NONE, 0600, &error);
  g_assert_no_error (error);
}

static void
write_patched (Base which, const uint8_t *patch, size_t size)
{
  gsize n_bytes;
  const char *from = base (which, &n_bytes);
  g_autofree char *bytes = g_memdup2 (from, n_bytes);

  for (; size >= 4; patch += 4, size -= 4)
    {
      gsize offset = (gsize) patch[0] << 16 | (gsize) patch[1] << 8 | patch[2];
      if (offset == 0xffffff)
        n_bytes = n_bytes * patch[3] / 256;
      else if (offset < n_bytes)
        bytes[offset] = (char) patch[3];
    }
  write_file (bytes, n_bytes);
}

static void
write_edited (Base which, const uint8_t *sql, size_t size)
{
  gsize n_bytes;
  const char *from = base (which, &n_bytes);
  g_autofree char *text = g_strndup ((const char *) sql, size);
  guint left = MAX_SQL_STEPS;

  write_file (from, n_bytes);
  run_sql (text, count_down, &left);
}

static void
check_answer (SrvFixture *f, guint status)
{
  if (status == 500 || status == 501 || status == 502)
    g_error ("status %u", status);
  if (status >= 400)
    g_assert_nonnull (srv_fixture_text (f, "code"));
  else if (status != 204)
    g_assert_nonnull (f->last);
}

static void
granted (SrvTurn *turn, gpointer user_data G_GNUC_UNUSED)
{
  srv_turn_free (turn);
}

static void
use (SrvFixture *f)
{
  static const SrvOperation lists[] = { SRV_OP_STATUS,    SRV_OP_TIMELINE,     SRV_OP_PROJECT_LIST,
                                        SRV_OP_PLAN_LIST, SRV_OP_MESSAGE_LIST, SRV_OP_TOKEN_LIST };
  const char *why;
  SrvActor actor;

  for (guint i = 0; i < G_N_ELEMENTS (lists); i++)
    check_answer (f, srv_fixture_call (f, &f->client, lists[i], NULL, NULL, NULL));
  for (gint64 id = 1; id < 24; id++)
    {
      check_answer (f, CALL (&f->client, PLAN_GET, srv_fixture_id (id), NULL));
      check_answer (f, CALL (&f->client, TASK_GET, srv_fixture_id (id), NULL));
    }
  srv_engine_authenticate (f->engine, "no such secret", &actor, &why);
  srv_engine_grant_turns (f->engine, 3, granted, NULL);
  check_answer (f, CALL (&f->client, MESSAGE_ADD, "p:~", "{\"text\": \"another\"}"));
  check_answer (f, CALL (&f->admin, REPORT_ADD, "p:~", "{\"text\": \"another\"}"));
  check_answer (f, CALL (&f->worker, JOB_CLAIM, NULL, "{\"worker\": \"v\"}"));
  srv_fixture_pass (f, 100);
}

static gint64
clock_of (gpointer data)
{
  return ((SrvFixture *) data)->now;
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  SrvFixture fixture = { 0 };
  g_autoptr (GError) error = NULL;
  g_autofree char *report = NULL;

  if (size > MAX_BYTES)
    return -1;
  if (!folder)
    make_folder ();
  char kind = size ? (char) data[0] : '\0';
  Base which = g_ascii_islower (kind) ? OLDEST : TODAY;
  if (kind == 'P' || kind == 'p')
    write_patched (which, data + 1, size - 1);
  else if (kind == 'Q' || kind == 'q')
    write_edited (which, data + 1, size - 1);
  else
    write_file (data, size);
  int schema_before = schema_of_file ();
  SrvEngineOptions options = { .file = file, .clock_us = clock_of, .clock_data = &fixture };
  fixture.now = (gint64) 1800000000 * G_USEC_PER_SEC;
  fixture.engine = srv_engine_new (&options, &error);
  g_assert_true ((fixture.engine == NULL) == (error != NULL));
  if (error)
    g_assert_true (error->domain == SRV_ENGINE_ERROR && *error->message);
  if (fixture.engine)
    {
      fixture.admin = (SrvActor){ .role = SRV_ROLE_ADMIN, .token = 900001, .name = "root" };
      fixture.client = (SrvActor){ .role = SRV_ROLE_CLIENT, .token = 900002, .name = "ada" };
      fixture.worker = (SrvActor){ .role = SRV_ROLE_WORKER, .token = 900003, .name = "w1" };
      use (&fixture);
    }
  gboolean is_open = fixture.engine != NULL;
  srv_fixture_close (&fixture);
  /* Migrated whole, or as it was. */
  int schema_after = schema_of_file ();
  if (is_open)
    g_assert_true (schema_after == SRV_STORE_SCHEMA || schema_after == -1);
  else
    g_assert_true (schema_after == SRV_STORE_SCHEMA || schema_after == schema_before);
  g_clear_error (&error);
  gboolean is_sound = srv_engine_check (file, &report, &error);
  g_assert_true (!is_sound || (!error && *report == '\0'));
  g_assert_true (is_sound || error || *report != '\0');
  remove_files ();
  return 0;
}
