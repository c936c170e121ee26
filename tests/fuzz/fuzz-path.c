/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz-path: whatever goes in, a path that comes out leads where its values say, and nowhere else.
 */
#include "config.h"

#include "dbr-access.h"

#include <stdint.h>
#include <string.h>

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

/* No empty, "." or ".." piece, as it is and decoded once and twice. */
static void
check_pieces (const char *path)
{
  g_autofree char *once = dbr_path_decode (path);
  g_autofree char *twice = once != NULL ? dbr_path_decode (once) : NULL;
  const char *readings[] = { path, once, twice };

  g_assert_nonnull (once);
  for (guint i = 0; i < G_N_ELEMENTS (readings); i++)
    {
      g_auto (GStrv) pieces = readings[i] != NULL ? g_strsplit (readings[i], "/", -1) : NULL;

      for (guint j = 1; pieces != NULL && pieces[j] != NULL; j++)
        {
          g_assert_cmpstr (pieces[j], !=, "");
          g_assert_cmpstr (pieces[j], !=, ".");
          g_assert_cmpstr (pieces[j], !=, "..");
          g_assert_null (strpbrk (pieces[j], "\\\r\n"));
        }
    }
  g_assert_null (strpbrk (path, "?# ;\\"));
}

static void
fuzz_build (const char *value, gsize len, gboolean with_slashes)
{
  g_autoptr (GString) path = g_string_new ("/api/v2/x/");
  g_autoptr (GError) error = NULL;
  g_autofree char *checked = NULL;
  g_autofree char *plain = NULL;
  gboolean ok = with_slashes ? dbr_path_append_segments (path, value, (gssize) len, "v", &error)
                             : dbr_path_append_segment (path, value, (gssize) len, "v", &error);

  g_assert_true (ok == (error == NULL));
  if (!ok)
    {
      g_assert_cmpstr (path->str, ==, "/api/v2/x/");
      return;
    }
  check_pieces (path->str);
  checked = dbr_path_check (path->str, "/api/v2", &error);
  g_assert_no_error (error);
  g_assert_cmpstr (checked, ==, path->str);
  plain = dbr_path_decode (path->str + strlen ("/api/v2/x/"));
  g_assert_cmpmem (plain, strlen (plain), value, len);
  if (!with_slashes)
    g_assert_null (strchr (path->str + strlen ("/api/v2/x/"), '/'));
}

static void
fuzz_check (const DbrAccessTable *table, const char *path)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *checked = dbr_path_check (path, "/api/v2", &error);
  g_autofree char *again = NULL;

  g_assert_true ((checked == NULL) == (error != NULL));
  if (checked == NULL)
    {
      dbr_access_table_judge (table, "GET", path);
      return;
    }
  check_pieces (checked);
  again = dbr_path_check (checked, "/api/v2", NULL);
  g_assert_cmpstr (again, ==, checked);
  g_assert_cmpint (dbr_access_table_judge (table, "GET", path), ==,
                   dbr_access_table_judge (table, "GET", checked));
  if (g_str_has_prefix (checked, "/api/v2/config/") || g_str_equal (checked, "/api/v2/config"))
    g_assert_cmpint (dbr_access_table_judge (table, "GET", checked), ==, DBR_ACCESS_DENIED);
  g_assert_cmpint (dbr_access_table_judge (table, "DELETE", checked), >=, DBR_ACCESS_DELETE);
}

static void
fuzz_table (DbrAccessTable *table, const char *pattern)
{
  dbr_access_table_add (table, "PATCH", pattern, DBR_ACCESS_DELETE, NULL);
  dbr_access_table_add (table, "POST", pattern, DBR_ACCESS_READ, NULL);
  dbr_access_table_judge_template (table, "POST", pattern);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  g_autoptr (DbrAccessTable) table = dbr_access_table_new ("/api/v2");
  g_autoptr (GString) query = g_string_new (NULL);
  g_autofree char *text = g_strndup ((const char *) data, size);
  g_autofree char *under = g_strconcat ("/api/v2/", text, NULL);

  if (size > 2 * DBR_PATH_MAX_BYTES)
    return 0;
  dbr_access_table_add (table, NULL, "/config", DBR_ACCESS_DENIED, NULL);
  fuzz_build ((const char *) data, size, FALSE);
  fuzz_build ((const char *) data, size, TRUE);
  fuzz_check (table, text);
  fuzz_check (table, under);
  fuzz_table (table, text);
  fuzz_check (table, under);
  dbr_query_append (query, "n", (const char *) data, (gssize) size);
  for (gsize i = 2; i < query->len; i++)
    g_assert_true (g_ascii_isalnum (query->str[i]) || strchr ("%-._~", query->str[i]) != NULL);
  return 0;
}
