/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store's file: made, found again, not ours, too new, damaged, full, taken by another engine; that no look-up reads a
 * whole table; and that a batch costs one sync.
 */
#include "config.h"

#include "srv-fixture.h"
#include "srv-store-sqlite.h"

#include <glib/gstdio.h>
#include <string.h>

#define CALL(actor, op, target, ...) \
  srv_fixture_call (f, actor, SRV_OP_##op, target, __VA_ARGS__, NULL)
#define REPO "{\"repo_url\": \"https://example.org/owner/shop\"}"

typedef struct
{
  SrvFixture base;
  char *folder, *file;
} Place;

static void
set_up (Place *place, gconstpointer data)
{
  g_autoptr (GError) error = NULL;

  (void) data;
  place->folder = g_dir_make_tmp ("srv-store-XXXXXX", &error);
  g_assert_no_error (error);
  place->file = g_build_filename (place->folder, "engine.db", NULL);
}

static void
tear_down (Place *place, gconstpointer data)
{
  g_autoptr (GDir) dir = g_dir_open (place->folder, 0, NULL);
  const char *name;

  (void) data;
  srv_store_vfs_fail (SRV_STORE_OK);
  srv_fixture_close (&place->base);
  while ((name = g_dir_read_name (dir)))
    {
      g_autofree char *path = g_build_filename (place->folder, name, NULL);
      g_unlink (path);
    }
  g_rmdir (place->folder);
  g_free (place->folder);
  g_free (place->file);
}

static void
run_sql (const char *file, const char *sql)
{
  sqlite3 *db = NULL;

  g_assert_cmpint (sqlite3_open (file, &db), ==, SQLITE_OK);
  g_assert_cmpint (sqlite3_exec (db, sql, NULL, NULL, NULL), ==, SQLITE_OK);
  sqlite3_close (db);
}

static void
assert_refused (const char *file, SrvEngineError code, const char *text)
{
  g_autoptr (GError) error = NULL;
  SrvEngineOptions options = { .file = file };

  g_assert_null (srv_engine_new (&options, &error));
  g_assert_error (error, SRV_ENGINE_ERROR, (gint) code);
  g_assert_nonnull (strstr (error->message, text));
}

static void
test_reopen (Place *place, gconstpointer data)
{
  SrvFixture *f = &place->base;

  (void) data;
  srv_fixture_open (f, place->file);
  g_autofree char *secret = srv_engine_take_admin_secret (f->engine);
  g_assert_nonnull (secret);
  g_assert_null (srv_engine_take_admin_secret (f->engine));
  g_assert_cmpuint (CALL (&f->admin, PROJECT_ADD, NULL, REPO, "Idempotency-Key=a"), ==, 201);
  gint64 id = srv_fixture_int (f, "id");
  g_assert_cmpuint (CALL (&f->admin, TOKEN_NEW, NULL, "{\"role\": \"worker\", \"name\": \"w\"}",
                          "Idempotency-Key=b"),
                    ==, 201);
  srv_fixture_close (f);
  srv_fixture_open (f, place->file);
  g_assert_null (srv_engine_take_admin_secret (f->engine));
  SrvActor actor;
  const char *why;
  g_assert_true (srv_engine_authenticate (f->engine, secret, &actor, &why));
  g_assert_cmpint (actor.role, ==, SRV_ROLE_ADMIN);
  g_assert_cmpuint (CALL (&f->admin, PROJECT_GET, "p:~", NULL), ==, 200);
  g_assert_cmpuint (CALL (&f->admin, PROJECT_ADD, NULL, REPO, "Idempotency-Key=a"), ==, 201);
  g_assert_cmpint (srv_fixture_int (f, "id"), ==, id);
  /* The secret was nowhere on the disk. */
  g_assert_cmpuint (CALL (&f->admin, TOKEN_NEW, NULL, "{\"role\": \"worker\", \"name\": \"w\"}",
                          "Idempotency-Key=b"),
                    ==, 409);
  srv_fixture_assert_problem (f, 409, "secret_gone", "showed a token");
  g_assert_cmpuint (CALL (&f->admin, MESSAGE_ADD, "p:~", "{\"text\": \"hello\"}"), ==, 201);
  g_assert_cmpint (srv_fixture_int (f, "id"), >, id);
}

static void
test_foreign (Place *place, gconstpointer data)
{
  g_autofree char *before = NULL, *after = NULL;
  gsize n_before, n_after;

  (void) data;
  run_sql (place->file, "CREATE TABLE wine (id INTEGER PRIMARY KEY); INSERT INTO wine VALUES (1)");
  g_assert_true (g_file_get_contents (place->file, &before, &n_before, NULL));
  assert_refused (place->file, SRV_ENGINE_ERROR_SCHEMA, "is not an engine's store");
  g_assert_true (g_file_get_contents (place->file, &after, &n_after, NULL));
  g_assert_cmpmem (before, n_before, after, n_after);
  g_assert_true (
      g_file_set_contents (place->file,
                           "Dear diary, this is no database, but long enough to be taken for one."
                           "......................................................................",
                           -1, NULL));
  assert_refused (place->file, SRV_ENGINE_ERROR_STORE, "not a database");
  assert_refused ("/nowhere/at/all.db", SRV_ENGINE_ERROR_STORE, "can't open");
}

/* One row a line: what a file of an older schema becomes must be what a new file is. */
static char *
schema_of (const char *file)
{
  GString *text = g_string_new (NULL);
  sqlite3_stmt *statement = NULL;
  sqlite3 *db = NULL;

  g_assert_cmpint (sqlite3_open (file, &db), ==, SQLITE_OK);
  g_assert_cmpint (sqlite3_prepare_v2 (
                       db, "SELECT type || name || ifnull(sql, '') FROM sqlite_schema ORDER BY 1",
                       -1, &statement, NULL),
                   ==, SQLITE_OK);
  while (sqlite3_step (statement) == SQLITE_ROW)
    g_string_append_printf (text, "%s\n", (const char *) sqlite3_column_text (statement, 0));
  sqlite3_finalize (statement);
  sqlite3_close (db);
  return g_string_free (text, FALSE);
}

static void
test_migration (Place *place, gconstpointer data)
{
  SrvFixture *f = &place->base;
  g_autofree char *sql_file
      = g_test_build_filename (G_TEST_DIST, "tests", "data", "srv", "schema-1.sql", NULL);
  g_autofree char *sql = NULL, *report = NULL;
  g_autoptr (GError) error = NULL;

  (void) data;
  srv_fixture_open (f, place->file);
  srv_fixture_close (f);
  g_autofree char *fresh = schema_of (place->file);
  g_unlink (place->file);
  g_file_get_contents (sql_file, &sql, NULL, &error);
  g_assert_no_error (error);
  run_sql (place->file, sql);
  g_assert_true (srv_engine_check (place->file, &report, &error));
  srv_fixture_open (f, place->file);
  g_autofree char *migrated = schema_of (place->file);
  g_assert_cmpstr (migrated, ==, fresh);
  /* What waited waits, for what it waited for; what is in review is counted. */
  g_assert_cmpuint (CALL (&f->client, PLAN_GET, "4", NULL), ==, 200);
  g_assert_cmpstr (srv_fixture_text (f, "waits.0.reason"), ==, "approval_required");
  g_assert_cmpuint (CALL (&f->client, PLAN_GET, "6", NULL), ==, 200);
  g_assert_cmpstr (srv_fixture_text (f, "waits.0.reason"), ==, "outside_hours");
  g_assert_nonnull (strstr (srv_fixture_text (f, "waits.0.text"), "Sun 03:00-03:01"));
  g_assert_cmpuint (CALL (&f->client, PLAN_APPROVE, "8", "{\"version\": 3}"), ==, 200);
  g_assert_cmpstr (srv_fixture_text (f, "started.0.title"), ==, "more");
  srv_fixture_close (f);
  g_clear_pointer (&report, g_free);
  gboolean is_sound = srv_engine_check (place->file, &report, &error);
  g_assert_cmpstr (report, ==, "");
  g_assert_true (is_sound);
}

/* Names are one project's alone; a file from before may hold others. What is named as well as can be: ref. */
static void
test_namesakes (Place *place, gconstpointer data)
{
  static const struct
  {
    const char *url, *name, *ref;
  } cases[] = {
    { "https://a.example/o/shop", "shop", "https://a.example/o/shop" },
    { "https://b.example/o/shop", "shop", "https://b.example/o/shop" },
    { "https://a.example/o/docs", "docs", "docs" },
    { "https://a.example/o/year", "2027", "https://a.example/o/year" },
    { "https://a.example/o/odd", "git@c.example:o/odd", "https://a.example/o/odd" },
  };
  SrvFixture *f = &place->base;

  (void) data;
  srv_fixture_open (f, place->file);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *body = g_strdup_printf ("{\"repo_url\": \"%s\"}", cases[i].url);
      g_assert_cmpuint (CALL (&f->admin, PROJECT_ADD, NULL, body), ==, 201);
    }
  srv_fixture_close (f);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *sql = g_strdup_printf (
          "UPDATE project SET name = '%s' WHERE repo_url = '%s'", cases[i].name, cases[i].url);
      run_sql (place->file, sql);
    }
  srv_fixture_open (f, place->file);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *path = g_strdup_printf ("projects.%u.ref", i);
      g_autofree char *query = g_strdup_printf ("repo_url=%s", cases[i].ref);
      g_assert_cmpuint (CALL (&f->admin, PROJECT_GET, "p:~", NULL), ==, 409);
      srv_fixture_assert_problem (f, 409, "project_needed", "several projects");
      g_assert_cmpstr (srv_fixture_text (f, path), ==, cases[i].ref);
      g_assert_cmpuint (CALL (&f->admin, PROJECT_GET, "p:~", NULL, query), ==, 200);
      g_assert_cmpstr (srv_fixture_text (f, "repo_url"), ==, cases[i].url);
    }
  g_assert_cmpuint (CALL (&f->admin, PROJECT_GET, "p:~", NULL, "repo_url=none"), ==, 404);
  g_assert_cmpstr (srv_fixture_text (f, "projects.2.ref"), ==, "docs");
  g_assert_cmpuint (CALL (&f->admin, PROJECT_GET, "p:~", NULL, "repo_url=shop"), ==, 409);
  srv_fixture_assert_problem (f, 409, "project_needed", "2 projects have the name \\\"shop\\\"");
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "projects")), ==, 2);
  /* What it has it may keep, until it is set right. */
  g_autofree char *one
      = g_strdup_printf ("p:%" G_GINT64_FORMAT, srv_fixture_int (f, "projects.0.id"));
  g_assert_cmpuint (CALL (&f->admin, PROJECT_SET, one, "{\"name\": \"shop\", \"checkout\": null}"),
                    ==, 200);
  g_assert_cmpuint (CALL (&f->admin, PROJECT_SET, one, "{\"name\": \"till\"}"), ==, 200);
  g_assert_cmpuint (CALL (&f->admin, PROJECT_GET, "p:~", NULL, "repo_url=shop"), ==, 200);
}

static void
test_newer (Place *place, gconstpointer data)
{
  SrvFixture *f = &place->base;

  (void) data;
  srv_fixture_open (f, place->file);
  srv_fixture_close (f);
  run_sql (place->file, "PRAGMA user_version = 999");
  assert_refused (place->file, SRV_ENGINE_ERROR_SCHEMA, "newer program (schema 999;");
}

static void
test_two_engines (Place *place, gconstpointer data)
{
  SrvFixture *f = &place->base;

  (void) data;
  srv_fixture_open (f, place->file);
  assert_refused (place->file, SRV_ENGINE_ERROR_LOCKED, "another engine has ");
  srv_fixture_close (f);
  srv_fixture_open (f, place->file);
}

static void
assert_failing (SrvFixture *f, SrvStoreFailure failure, guint status, const char *code)
{
  srv_store_vfs_fail (failure);
  g_assert_cmpuint (CALL (&f->client, MESSAGE_ADD, "p:~", "{\"text\": \"lost\"}"), ==, status);
  srv_fixture_assert_problem (f, status, code, "nothing was changed");
  g_assert_cmpuint (CALL (&f->client, MESSAGE_LIST, NULL, NULL), ==, 200);
  g_assert_cmpuint (json_array_size (srv_fixture_get (f, "items")), ==, 0);
  g_assert_cmpuint (CALL (&f->client, STATUS, NULL, NULL), ==, 200);
  srv_store_vfs_fail (SRV_STORE_OK);
}

static void
test_full (Place *place, gconstpointer data)
{
  SrvFixture *f = &place->base;
  g_autofree char *report = NULL;

  (void) data;
  srv_fixture_open (f, place->file);
  g_assert_cmpuint (CALL (&f->admin, PROJECT_ADD, NULL, REPO), ==, 201);
  assert_failing (f, SRV_STORE_FULL, 507, "store_full");
  assert_failing (f, SRV_STORE_READ_ONLY, 503, "store_read_only");
  assert_failing (f, SRV_STORE_BROKEN, 503, "store_failed");
  g_assert_cmpuint (CALL (&f->client, MESSAGE_ADD, "p:~", "{\"text\": \"kept\"}"), ==, 201);
  srv_fixture_close (f);
  g_assert_true (srv_engine_check (place->file, &report, NULL));
  g_assert_cmpstr (report, ==, "");
}

static void
test_damaged (Place *place, gconstpointer data)
{
  SrvFixture *f = &place->base;
  g_autofree char *report = NULL, *bytes = NULL;
  gsize length;

  (void) data;
  srv_fixture_open (f, place->file);
  g_assert_cmpuint (CALL (&f->admin, PROJECT_ADD, NULL, REPO), ==, 201);
  for (guint i = 0; i < 200; i++)
    {
      g_autofree char *body = g_strdup_printf ("{\"text\": \"message %u %0500d\"}", i, 7);
      g_assert_cmpuint (CALL (&f->client, MESSAGE_ADD, "p:~", body), ==, 201);
    }
  srv_fixture_close (f);
  run_sql (place->file, "PRAGMA wal_checkpoint (TRUNCATE)");
  g_assert_true (g_file_get_contents (place->file, &bytes, &length, NULL));
  /* One page of messages. */
  char *inside = NULL;
  for (gsize i = 0; i + 12 < length; i++)
    if (memcmp (bytes + i, "message 100 ", 12) == 0)
      inside = bytes + i;
  g_assert_nonnull (inside);
  memset (bytes + (inside - bytes) / 4096 * 4096, 0xa5, 4096);
  g_assert_true (g_file_set_contents (place->file, bytes, (gssize) length, NULL));
  /* The schema is whole: it starts, and says clearly what it can't read. */
  srv_fixture_open (f, place->file);
  g_assert_cmpuint (CALL (&f->client, MESSAGE_LIST, NULL, NULL, "limit=500"), ==, 503);
  srv_fixture_assert_problem (f, 503, "store_damaged", "restore it from a backup");
  srv_fixture_close (f);
  g_assert_false (srv_engine_check (place->file, &report, NULL));
  g_assert_cmpuint (strlen (report), >, 0);
}

/* What another hand wrote: a sound file for SQLite, and nothing that an engine says. */
static void
test_unsound (Place *place, gconstpointer data)
{
  SrvFixture *f = &place->base;

  (void) data;
  srv_fixture_open (f, place->file);
  g_assert_cmpuint (CALL (&f->admin, PROJECT_ADD, NULL, REPO), ==, 201);
  g_assert_cmpuint (CALL (&f->client, MESSAGE_ADD, "p:~", "{\"text\": \"hi\"}"), ==, 201);
  static const char *const edits[] = {
    "UPDATE message SET state = 9",
    "UPDATE message SET state = 0, author = -1",
    "UPDATE message SET author = 0, text = CAST (x'ff' AS TEXT)",
    "UPDATE message SET text = 'hi', sent = 9223372036854775807",
  };
  for (guint i = 0; i < G_N_ELEMENTS (edits); i++)
    {
      srv_fixture_close (f);
      run_sql (place->file, edits[i]);
      srv_fixture_open (f, place->file);
      g_assert_cmpuint (CALL (&f->client, MESSAGE_LIST, NULL, NULL), ==, 503);
      srv_fixture_assert_problem (f, 503, "store_damaged", "restore it from a backup");
    }
  srv_fixture_close (f);
  run_sql (place->file, "UPDATE event SET id = 9223372036854775807 WHERE id = 1");
  assert_refused (place->file, SRV_ENGINE_ERROR_STORE, "an id is beyond any");
  run_sql (place->file, "CREATE TRIGGER t AFTER INSERT ON event BEGIN DELETE FROM event; END");
  assert_refused (place->file, SRV_ENGINE_ERROR_SCHEMA, "a trigger");
}

static void
test_backup (Place *place, gconstpointer data)
{
  SrvFixture *f = &place->base;
  g_autofree char *copy = g_build_filename (place->folder, "copy.db", NULL);
  g_autofree char *report = NULL;
  g_autoptr (GError) error = NULL;

  (void) data;
  srv_fixture_open (f, place->file);
  g_assert_cmpuint (CALL (&f->admin, PROJECT_ADD, NULL, REPO), ==, 201);
  g_assert_true (srv_engine_backup (f->engine, copy, &error));
  g_assert_no_error (error);
  g_assert_false (srv_engine_backup (f->engine, "/nowhere/x", &error));
  g_assert_error (error, SRV_ENGINE_ERROR, SRV_ENGINE_ERROR_STORE);
  srv_fixture_close (f);
  g_assert_true (srv_engine_check (copy, &report, NULL));
  run_sql (copy, "UPDATE project SET n_live = 5");
  g_free (report);
  g_assert_false (srv_engine_check (copy, &report, NULL));
  g_assert_nonnull (strstr (report, "counts its live plans wrongly"));
  srv_fixture_open (f, copy);
  g_assert_cmpuint (CALL (&f->admin, PROJECT_GET, "p:~", NULL), ==, 200);
}

/* Every look-up walks the index that it names; none reads a table, none sorts. */
static void
assert_plan (sqlite3 *db, const SrvSqliteFind *find)
{
  g_autoptr (GString) sql = g_string_new ("EXPLAIN QUERY PLAN SELECT *");
  sqlite3_stmt *statement = NULL;

  srv_sqlite_append_from (sql, find);
  g_assert_cmpint (sqlite3_prepare_v2 (db, sql->str, -1, &statement, NULL), ==, SQLITE_OK);
  while (sqlite3_step (statement) == SQLITE_ROW)
    {
      const char *step = (const char *) sqlite3_column_text (statement, 3);
      if (strstr (step, "TEMP B-TREE"))
        g_error ("sorts: %s", sql->str);
      if (g_str_has_prefix (step, "SCAN") && !strstr (step, "USING INDEX")
          && find->kind != SRV_RECORD_PROJECT)
        g_error ("%s in: %s", step, sql->str);
    }
  sqlite3_finalize (statement);
}

static void
test_no_scans (Place *place, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (SrvStore) store = srv_store_open (place->file, TRUE, FALSE, &error);

  (void) data;
  g_assert_no_error (error);
  for (guint i = 0; i < SRV_N_FINDS; i++)
    {
      assert_plan (store->db, &srv_sqlite_finds[i]);
      g_autoptr (GPtrArray) found = srv_store_find (store, (SrvFind) i, 0, 0, "x", 1);
      g_assert_cmpuint (found->len, ==, 0);
      g_assert_cmpint (srv_store_failure (store, NULL), ==, SRV_STORE_OK);
    }
}

static void
count_down (SrvReply *reply, gpointer user_data)
{
  g_assert_cmpuint (reply->status, ==, 201);
  srv_reply_free (reply);
  --*(guint *) user_data;
}

/* 32 at once: their syncs are counted, not timed. */
static void
test_group_commit (Place *place, gconstpointer data)
{
  SrvFixture *f = &place->base;
  SrvEngineOptions options = { .file = place->file, .synchronous = TRUE };
  g_autoptr (GError) error = NULL;
  guint left = 0, sent = 0;

  (void) data;
  srv_fixture_open (f, place->file);
  srv_engine_free (f->engine);
  f->engine = srv_engine_new (&options, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (CALL (&f->admin, PROJECT_ADD, NULL, REPO), ==, 201);
  guint64 before = srv_engine_syncs ();
  for (guint round = 0; round < 10; round++)
    {
      for (guint i = 0; i < 32; i++, sent++, left++)
        {
          g_autofree char *text = g_strdup_printf ("{\"text\": \"message %u\"}", sent);
          g_autoptr (DbrJsonDoc) doc = dbr_json_doc_new_from_data (text, -1, NULL, NULL);
          SrvRequest request = { .operation = SRV_OP_MESSAGE_ADD,
                                 .actor = f->client,
                                 .project_ref = "~",
                                 .body = dbr_json_doc_root (doc) };
          srv_engine_write (f->engine, &request, count_down, &left);
        }
      while (left > 0)
        g_main_context_iteration (NULL, TRUE);
    }
  guint64 syncs = srv_engine_syncs () - before;
  g_test_message ("%u writes, %" G_GUINT64_FORMAT " syncs", sent, syncs);
  g_assert_cmpuint (syncs, >, 0);
  g_assert_cmpuint (syncs * 8, <=, sent);
}

/* Names that no project gets any more: what means one by its number or URL, and another by its name, means neither. */
static void
test_names_of_old (Place *place, gconstpointer data)
{
  SrvFixture fixture = { 0 }, *f = &fixture;
  static const char *const urls[] = { "example.org/o/a", "example.org/o/b", "example.org/o/c" };
  gint64 ids[3];

  (void) data;
  srv_fixture_open (f, place->file);
  for (guint i = 0; i < G_N_ELEMENTS (urls); i++)
    {
      g_autofree char *body = g_strdup_printf ("{\"repo_url\": \"https://%s\"}", urls[i]);
      g_assert_cmpuint (CALL (&f->admin, PROJECT_ADD, NULL, body), ==, 201);
      ids[i] = srv_fixture_int (f, "id");
    }
  srv_fixture_close (f);
  g_autofree char *sql = g_strdup_printf (
      "UPDATE project SET name = '%" G_GINT64_FORMAT "' WHERE id = %" G_GINT64_FORMAT ";"
      "UPDATE project SET name = '%s' WHERE id = %" G_GINT64_FORMAT,
      ids[0], ids[1], urls[0], ids[2]);
  run_sql (place->file, sql);
  srv_fixture_open (f, place->file);
  g_autofree char *by_number = g_strdup_printf ("repo_url=%" G_GINT64_FORMAT, ids[0]);
  g_autofree char *by_url = g_strdup_printf ("repo_url=%s", urls[0]);
  const char *const meant[] = { by_number, by_url };
  for (guint i = 0; i < G_N_ELEMENTS (meant); i++)
    {
      g_assert_cmpuint (CALL (&f->client, MESSAGE_ADD, "p:~", "{\"text\": \"which?\"}", meant[i]),
                        ==, 409);
      srv_fixture_assert_problem (f, 409, "project_needed", "and the name of another");
      g_assert_cmpint (srv_fixture_int (f, "projects.0.id"), ==, ids[0]);
      g_assert_cmpint (srv_fixture_int (f, "projects.1.id"), ==, ids[i + 1]);
    }
  g_assert_cmpuint (CALL (&f->client, PROJECT_GET, "p:~", NULL, "repo_url=https://example.org/o/a"),
                    ==, 200);
  g_assert_cmpint (srv_fixture_int (f, "id"), ==, ids[0]);
  srv_fixture_close (f);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
#define PLACE(path, function) g_test_add (path, Place, NULL, set_up, function, tear_down)
  PLACE ("/srv-store/names-of-old", test_names_of_old);
  PLACE ("/srv-store/reopen", test_reopen);
  PLACE ("/srv-store/foreign", test_foreign);
  PLACE ("/srv-store/migration", test_migration);
  PLACE ("/srv-store/namesakes", test_namesakes);
  PLACE ("/srv-store/newer", test_newer);
  PLACE ("/srv-store/two-engines", test_two_engines);
  PLACE ("/srv-store/full", test_full);
  PLACE ("/srv-store/unsound", test_unsound);
  PLACE ("/srv-store/damaged", test_damaged);
  PLACE ("/srv-store/backup", test_backup);
  PLACE ("/srv-store/no-scans", test_no_scans);
  PLACE ("/srv-store/group-commit", test_group_commit);
  return g_test_run ();
}
