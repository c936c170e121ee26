/* SPDX-License-Identifier: Apache-2.0 */
/* Paths, queries and the access table: every value is either encoded exactly or refused. */
#include "config.h"

#include "dbr-access.h"

#include <string.h>

static void
check_segment (const char *value, gssize len, const char *want, const char *message)
{
  g_autoptr (GString) path = g_string_new ("/x/");
  g_autoptr (GError) error = NULL;
  gboolean ok = dbr_path_append_segment (path, value, len, "dag_id", &error);

  if (want != NULL)
    {
      g_autofree char *whole = g_strconcat ("/x/", want, NULL);

      g_assert_no_error (error);
      g_assert_true (ok);
      g_assert_cmpstr (path->str, ==, whole);
      return;
    }
  g_assert_false (ok);
  g_assert_error (error, DBR_PATH_ERROR, DBR_PATH_ERROR_SEGMENT);
  g_assert_cmpstr (path->str, ==, "/x/");
  g_assert_true (g_str_has_prefix (error->message, "dag_id "));
  if (strstr (error->message, message) == NULL)
    g_error ("\"%s\" lacks \"%s\"", error->message, message);
}

static void
test_segment (void)
{
  check_segment ("etl", -1, "etl", NULL);
  check_segment ("A-Za-z0-9-._~", -1, "A-Za-z0-9-._~", NULL);
  check_segment ("a b", -1, "a%20b", NULL);
  check_segment ("a?x=1", -1, "a%3Fx%3D1", NULL);
  check_segment ("a#frag", -1, "a%23frag", NULL);
  check_segment ("50%", -1, "50%25", NULL);
  check_segment ("a%20b", -1, "a%2520b", NULL);
  check_segment ("...", -1, "...", NULL);
  check_segment ("~", -1, "~", NULL);
  check_segment ("manual__2026-01-01T00:00:00+00:00", -1,
                 "manual__2026-01-01T00%3A00%3A00%2B00%3A00", NULL);
  check_segment ("d\xc3\xa4g", -1, "d%C3%A4g", NULL);
  check_segment ("abc", 2, "ab", NULL);
  check_segment ("", -1, NULL, "is empty");
  check_segment (".", -1, NULL, "another path");
  check_segment ("..", -1, NULL, "another path");
  check_segment ("%2e", -1, NULL, "another path");
  check_segment (".%2E", -1, NULL, "another path");
  check_segment ("a/b", -1, NULL, "holds \"/\"");
  check_segment ("../../admin/config", -1, NULL, "holds \"/\"");
  check_segment ("a%2Fb", -1, NULL, "encoded slash");
  check_segment ("a%5cb", -1, NULL, "encoded slash");
  check_segment ("a%00b", -1, NULL, "encoded control");
  check_segment ("a\\b", -1, NULL, "backslash");
  check_segment ("a\nb", -1, NULL, "control character");
  check_segment ("a\x7f", -1, NULL, "control character");
  check_segment ("a\xc2\x85", -1, NULL, "control character");
  check_segment ("a\0b", 3, NULL, "NUL");
  check_segment ("\xff", -1, NULL, "UTF-8");
  check_segment ("\xc0\xaf", -1, NULL, "UTF-8");
}

static void
test_segment_length (void)
{
  g_autoptr (GString) path = g_string_new ("/");
  g_autofree char *most = g_strnfill (DBR_PATH_MAX_BYTES - 1, 'a');
  g_autofree char *more = g_strnfill (DBR_PATH_MAX_BYTES, 'a');
  g_autofree char *encoded = g_strnfill (DBR_PATH_MAX_BYTES / 2, ' ');
  g_autoptr (GError) error = NULL;

  g_assert_true (dbr_path_append_segment (path, most, -1, "x", &error));
  g_string_assign (path, "/");
  g_assert_false (dbr_path_append_segment (path, more, -1, "x", &error));
  g_assert_error (error, DBR_PATH_ERROR, DBR_PATH_ERROR_TOO_LONG);
  g_assert_cmpstr (path->str, ==, "/");
  g_clear_error (&error);
  g_assert_false (dbr_path_append_segment (path, encoded, -1, "x", &error));
  g_assert_error (error, DBR_PATH_ERROR, DBR_PATH_ERROR_TOO_LONG);
  g_assert_cmpstr (path->str, ==, "/");
}

static void
test_segments (void)
{
  static const char *const bad[] = { "", "/", "a/", "/a", "a//b", "a/../b", "a/.", "a\\b" };
  g_autoptr (GString) path = g_string_new ("/variables/");

  g_assert_true (dbr_path_append_segments (path, "team/a b/c", -1, "key", NULL));
  g_assert_cmpstr (path->str, ==, "/variables/team/a%20b/c");
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autoptr (GError) error = NULL;

      g_string_assign (path, "/v/");
      g_assert_false (dbr_path_append_segments (path, bad[i], -1, "key", &error));
      g_assert_error (error, DBR_PATH_ERROR, DBR_PATH_ERROR_SEGMENT);
      g_assert_cmpstr (path->str, ==, "/v/");
    }
}

static void
test_check (void)
{
  static const struct
  {
    const char *path;
    const char *want; /* NULL: refused */
    const char *message;
  } cases[] = {
    { "/api/v2/dags", "/api/v2/dags", NULL },
    { "/api/v2/dags/a%41%2d%7e%3a", "/api/v2/dags/aA-~%3A", NULL },
    { "/api/v2/dags/a:b@c,d(e)", "/api/v2/dags/a:b@c,d(e)", NULL },
    { "/api/v2/dags/%C3%A4", "/api/v2/dags/%C3%A4", NULL },
    { "http://evil/x", NULL, "must begin with \"/api/v2/\"" },
    { "//evil/x", NULL, "must begin with" },
    { "@evil/x", NULL, "must begin with" },
    { "\\evil", NULL, "must begin with" },
    { "", NULL, "must begin with" },
    { "/api/v2", NULL, "must begin with" },
    { "/api/v2x/dags", NULL, "must begin with" },
    { "/api/v2/", NULL, "empty segment" },
    { "/api/v2/dags/", NULL, "empty segment" },
    { "/api/v2//dags", NULL, "empty segment" },
    { "/api/v2/x?y", NULL, "apart from the path" },
    { "/api/v2/x#z", NULL, "apart from the path" },
    { "/api/v2/x;y", NULL, "percent-encoded" },
    { "/api/v2/x y", NULL, "percent-encoded" },
    { "/api/v2/x\ty", NULL, "percent-encoded" },
    { "/api/v2/\xc3\xa4", NULL, "percent-encoded" },
    { "/api/v2/a\\b", NULL, "backslash" },
    { "/api/v2/../../auth/token", NULL, "another path" },
    { "/api/v2/./x", NULL, "another path" },
    { "/api/v2/%2e%2e/%2E./auth/token", NULL, "another path" },
    { "/api/v2/%252e%252e/x", NULL, "another path" },
    { "/api/v2/a%2Fb", NULL, "encoded slash" },
    { "/api/v2/a%252fb", NULL, "encoded slash" },
    { "/api/v2/a%5Cb", NULL, "backslash" },
    { "/api/v2/a%00", NULL, "NUL" },
    { "/api/v2/a%0a", NULL, "control" },
    { "/api/v2/a%7F", NULL, "control" },
    { "/api/v2/a%FF", NULL, "UTF-8" },
    { "/api/v2/a%", NULL, "hexadecimal" },
    { "/api/v2/a%4", NULL, "hexadecimal" },
    { "/api/v2/a%zz", NULL, "hexadecimal" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autofree char *path = dbr_path_check (cases[i].path, "/api/v2", &error);

      g_assert_cmpstr (path, ==, cases[i].want);
      if (cases[i].want != NULL)
        continue;
      g_assert_error (error, DBR_PATH_ERROR, DBR_PATH_ERROR_PATH);
      if (strstr (error->message, cases[i].message) == NULL)
        g_error ("%s: \"%s\" lacks \"%s\"", cases[i].path, error->message, cases[i].message);
    }
}

static void
test_check_length (void)
{
  g_autofree char *fill = g_strnfill (DBR_PATH_MAX_BYTES, 'a');
  g_autofree char *path = g_strconcat ("/api/v2/", fill, NULL);
  g_autoptr (GError) error = NULL;

  g_assert_null (dbr_path_check (path, "/api/v2", &error));
  g_assert_error (error, DBR_PATH_ERROR, DBR_PATH_ERROR_TOO_LONG);
}

static void
test_decode (void)
{
  g_autofree char *plain = dbr_path_decode ("/a%20b%2Fc+%C3%A4");

  g_assert_cmpstr (plain, ==, "/a b/c+\xc3\xa4");
  g_assert_null (dbr_path_decode ("%"));
  g_assert_null (dbr_path_decode ("%4"));
  g_assert_null (dbr_path_decode ("%4g"));
  g_assert_null (dbr_path_decode ("a%00"));
}

static void
test_query (void)
{
  g_autoptr (GString) query = g_string_new (NULL);

  dbr_query_append (query, "state", "failed", -1);
  dbr_query_append (query, "state", "queued", -1);
  dbr_query_append (query, "from", "2026-01-01T00:00:00+00:00", -1);
  dbr_query_append (query, "q", "a b&c=d#e", -1);
  dbr_query_append (query, "e", "", -1);
  dbr_query_append (query, "n", "abc", 1);
  g_assert_cmpstr (query->str, ==,
                   "state=failed&state=queued&from=2026-01-01T00%3A00%3A00%2B00%3A00"
                   "&q=a%20b%26c%3Dd%23e&e=&n=a");
}

static DbrAccessTable *
airflow_table (void)
{
  DbrAccessTable *table = dbr_access_table_new ("/api/v2");

  g_assert_true (dbr_access_table_add (table, NULL, "/config", DBR_ACCESS_DENIED, NULL));
  g_assert_true (dbr_access_table_add (table, "PATCH", "/variables", DBR_ACCESS_DELETE, NULL));
  g_assert_true (
      dbr_access_table_add (table, "POST", "/dags/{dag_id}/dagRuns/list", DBR_ACCESS_READ, NULL));
  g_assert_true (
      dbr_access_table_add (table, "GET", "/dags/{}/secret/...", DBR_ACCESS_WRITE, NULL));
  g_assert_true (dbr_access_table_add (table, NULL, "/dags/special", DBR_ACCESS_DELETE, NULL));
  return table;
}

static void
test_judge (void)
{
  static const struct
  {
    const char *method;
    const char *path;
    DbrAccess want;
  } cases[] = {
    { "GET", "/api/v2/dags", DBR_ACCESS_READ },
    { "HEAD", "/api/v2/dags", DBR_ACCESS_READ },
    { "QUERY", "/api/v2/dags", DBR_ACCESS_READ },
    { "OPTIONS", "/api/v2/dags", DBR_ACCESS_READ },
    { "POST", "/api/v2/dags", DBR_ACCESS_WRITE },
    { "PUT", "/api/v2/dags", DBR_ACCESS_WRITE },
    { "PATCH", "/api/v2/dags", DBR_ACCESS_WRITE },
    { "DELETE", "/api/v2/dags", DBR_ACCESS_DELETE },
    { "get", "/api/v2/dags", DBR_ACCESS_DENIED },
    { "GET ", "/api/v2/dags", DBR_ACCESS_DENIED },
    { "TRACE", "/api/v2/dags", DBR_ACCESS_DENIED },
    { "", "/api/v2/dags", DBR_ACCESS_DENIED },
    { "GET", "/api/v2/config", DBR_ACCESS_DENIED },
    { "GET", "/api/v2/config/", DBR_ACCESS_DENIED },
    { "GET", "/api/v2//config", DBR_ACCESS_DENIED },
    { "GET", "/api/v2/config/section/core", DBR_ACCESS_DENIED },
    { "GET", "/api/v2/%63onfig", DBR_ACCESS_DENIED },
    { "GET", "/api/v2/configs", DBR_ACCESS_READ },
    { "PATCH", "/api/v2/variables", DBR_ACCESS_DELETE },
    { "PATCH", "/api/v2/variable%73", DBR_ACCESS_DELETE },
    { "PATCH", "/api/v2/variables/x", DBR_ACCESS_WRITE },
    { "POST", "/api/v2/variables", DBR_ACCESS_WRITE },
    { "POST", "/api/v2/dags/~/dagRuns/list", DBR_ACCESS_READ },
    { "POST", "/api/v2/dags/x/dagRuns/list/y", DBR_ACCESS_WRITE },
    { "DELETE", "/api/v2/dags/x/dagRuns/list", DBR_ACCESS_DELETE },
    { "GET", "/api/v2/dags/x/secret", DBR_ACCESS_WRITE },
    { "GET", "/api/v2/dags/x/secret/y/z", DBR_ACCESS_WRITE },
    { "GET", "/api/v2/dags/special", DBR_ACCESS_DELETE },
    { "GET", "/api/v2/../config", DBR_ACCESS_DENIED },
    { "GET", "/api/v2/a%2Fb", DBR_ACCESS_DENIED },
    { "GET", "/api/v2/a%zz", DBR_ACCESS_DENIED },
    { "GET", "/auth/token", DBR_ACCESS_DENIED },
    { "GET", "/api/v1/dags", DBR_ACCESS_DENIED },
    { "GET", "api/v2/dags", DBR_ACCESS_DENIED },
    { "GET", "", DBR_ACCESS_DENIED },
  };
  g_autoptr (DbrAccessTable) table = airflow_table ();

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      DbrAccess access = dbr_access_table_judge (table, cases[i].method, cases[i].path);

      if (access != cases[i].want)
        g_error ("%s %s: %s", cases[i].method, cases[i].path, dbr_access_name (access));
    }
}

static void
test_strictest (void)
{
  g_autoptr (DbrAccessTable) table = dbr_access_table_new ("");

  g_assert_true (dbr_access_table_add (table, "POST", "/x/list", DBR_ACCESS_READ, NULL));
  g_assert_cmpint (dbr_access_table_judge (table, "POST", "/x/list"), ==, DBR_ACCESS_READ);
  g_assert_true (dbr_access_table_add (table, "POST", "/x/...", DBR_ACCESS_DELETE, NULL));
  g_assert_cmpint (dbr_access_table_judge (table, "POST", "/x/list"), ==, DBR_ACCESS_DELETE);
  g_assert_true (dbr_access_table_add (table, NULL, "/x/...", DBR_ACCESS_WRITE, NULL));
  g_assert_cmpint (dbr_access_table_judge (table, "DELETE", "/x/1"), ==, DBR_ACCESS_DELETE);
  g_assert_cmpint (dbr_access_table_judge (table, "GET", "/x/1"), ==, DBR_ACCESS_WRITE);
}

static void
test_template (void)
{
  g_autoptr (DbrAccessTable) table = airflow_table ();

  g_assert_cmpint (dbr_access_table_judge_template (table, "GET", "/api/v2/dags/{dag_id}"), ==,
                   DBR_ACCESS_DELETE);
  g_assert_cmpint (dbr_access_table_judge_template (table, "GET", "/api/v2/{anything}"), ==,
                   DBR_ACCESS_READ);
  g_assert_cmpint (
      dbr_access_table_judge_template (table, "POST", "/api/v2/dags/{dag_id}/dagRuns/list"), ==,
      DBR_ACCESS_READ);
  /* A placeholder never lowers. */
  g_assert_cmpint (
      dbr_access_table_judge_template (table, "POST", "/api/v2/dags/{dag_id}/dagRuns/{id}"), ==,
      DBR_ACCESS_WRITE);
  g_assert_cmpint (dbr_access_table_judge_template (table, "PATCH", "/api/v2/variables"), ==,
                   DBR_ACCESS_DELETE);
  g_assert_cmpint (dbr_access_table_judge_template (table, "GET", "/api/v2/config/{section}"), ==,
                   DBR_ACCESS_DENIED);
  g_assert_cmpint (dbr_access_table_judge_template (table, "GET", "/elsewhere"), ==,
                   DBR_ACCESS_DENIED);
}

static void
test_bad_rows (void)
{
  static const struct
  {
    const char *method;
    const char *pattern;
    DbrAccess access;
    const char *message;
  } cases[] = {
    { "DELETE", "/x", DBR_ACCESS_READ, "cannot be lowered" },
    { "DELETE", "/x", DBR_ACCESS_WRITE, "cannot be lowered" },
    { "PUT", "/x", DBR_ACCESS_READ, "cannot be lowered" },
    { NULL, "/x", DBR_ACCESS_READ, "cannot be a read" },
    { "post", "/x", DBR_ACCESS_WRITE, "not a method" },
    { "GET", "x", DBR_ACCESS_WRITE, "must begin" },
    { "GET", "", DBR_ACCESS_WRITE, "must begin" },
    { "GET", "/a//b", DBR_ACCESS_WRITE, "empty segment" },
    { "GET", "/a%20b", DBR_ACCESS_WRITE, "decoded" },
    { "GET", "/a?b", DBR_ACCESS_WRITE, "query" },
  };
  g_autoptr (DbrAccessTable) table = dbr_access_table_new ("/api/v2");

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GError) error = NULL;

      g_assert_false (
          dbr_access_table_add (table, cases[i].method, cases[i].pattern, cases[i].access, &error));
      g_assert_error (error, DBR_PATH_ERROR, DBR_PATH_ERROR_PATH);
      if (strstr (error->message, cases[i].message) == NULL)
        g_error ("\"%s\" lacks \"%s\"", error->message, cases[i].message);
    }
}

static void
test_names (void)
{
  g_assert_cmpstr (dbr_access_name (DBR_ACCESS_READ), ==, "read");
  g_assert_cmpstr (dbr_access_name (DBR_ACCESS_WRITE), ==, "write");
  g_assert_cmpstr (dbr_access_name (DBR_ACCESS_DELETE), ==, "delete");
  g_assert_cmpstr (dbr_access_name (DBR_ACCESS_DENIED), ==, "denied");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/path/segment", test_segment);
  g_test_add_func ("/path/segment-length", test_segment_length);
  g_test_add_func ("/path/segments", test_segments);
  g_test_add_func ("/path/check", test_check);
  g_test_add_func ("/path/check-length", test_check_length);
  g_test_add_func ("/path/decode", test_decode);
  g_test_add_func ("/path/query", test_query);
  g_test_add_func ("/access/judge", test_judge);
  g_test_add_func ("/access/strictest", test_strictest);
  g_test_add_func ("/access/template", test_template);
  g_test_add_func ("/access/bad-rows", test_bad_rows);
  g_test_add_func ("/access/names", test_names);
  return g_test_run ();
}
