/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loader: what comes out of a good file, the bounds on a file, and what a request's access,
 * order and needs are derived from. Bad files are in tests/contract.
 */
#include "config.h"

#include "catalogue/dbr-catalogue-priv.h"

#include <glib/gstdio.h>
#include <string.h>

static const DbrCatalogueOptions shipped = { .is_shipped = TRUE };

static DbrCatalogue *
load_file (const char *path)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *file = g_test_build_filename (G_TEST_DIST, path, NULL);
  DbrCatalogue *catalogue = dbr_catalogue_load (file, &shipped, &error);
  g_assert_no_error (error);
  return catalogue;
}

static const DbrTool *
find (const DbrCatalogue *catalogue, const char *name)
{
  const DbrTool *tool = dbr_catalogue_find (catalogue, name);
  g_assert_nonnull (tool);
  return tool;
}

/* A catalogue whose one tool's children are @inside, and whose backend's are @backend. */
static DbrCatalogue *
load_tool (const char *backend, const char *inside, GError **error)
{
  g_autofree char *text = g_strdup_printf (
      "<catalogue name=\"t\" xmlns=\"urn:drawbridge:catalogue:1\"><title>T</title>"
      "<backend server-name=\"t\" url=\"http://localhost:1\" prefix=\"/api\">"
      "<gate writes-env=\"T_W\" deletes-env=\"T_D\"/>%s</backend>"
      "<category name=\"c\">C</category><tool name=\"t\" category=\"c\"><title>T</title>"
      "<description>D.</description>%s<answer><line>{$.call.id}</line></answer></tool></catalogue>",
      backend, inside);
  return dbr_catalogue_load_data (text, strlen (text), "t.xml", &shipped, error);
}

static const DbrTool *
good_tool (DbrCatalogue **catalogue, const char *backend, const char *inside)
{
  g_autoptr (GError) error = NULL;
  g_clear_pointer (catalogue, dbr_catalogue_free);
  *catalogue = load_tool (backend, inside, &error);
  g_assert_no_error (error);
  return find (*catalogue, "t");
}

static void
test_backend (void)
{
  g_autoptr (DbrCatalogue) catalogue = load_file ("schemas/airflow.xml");
  const DbrBackendDef *backend = catalogue->backend;
  g_assert_cmpstr (catalogue->name, ==, "airflow");
  g_assert_cmpstr (catalogue->title, ==, "Apache Airflow");
  g_assert_true (g_str_has_prefix (catalogue->instructions, "Tools over one Airflow. "));
  g_assert_cmpstr (backend->server_name, ==, "airflow");
  g_assert_cmpstr (backend->url, ==, "http://localhost:28080");
  g_assert_cmpstr (backend->url_env, ==, "AIRFLOW_API_URL");
  g_assert_cmpstr (backend->prefix, ==, "/api/v2");
  g_assert_cmpstr (backend->sign_in->path, ==, "/auth/token");
  g_assert_cmpstr (backend->sign_in->user_member, ==, "username");
  g_assert_cmpstr (backend->sign_in->token_member, ==, "access_token");
  g_assert_cmpstr (backend->sign_in->renew_403, ==, "Invalid JWT token");
  g_assert_cmpstr (backend->ca_file_env, ==, "AIRFLOW_API_CA_FILE");
  g_assert_cmpstr (backend->writes_env, ==, "AIRFLOW_MCP_ALLOW_WRITES");
  g_assert_cmpstr (backend->deletes_env, ==, "AIRFLOW_MCP_ALLOW_DELETES");
  g_assert_cmpstr (backend->paging_total, ==, "total_entries");
  g_assert_cmpuint (backend->paging_max, ==, 100);
  g_assert_nonnull (backend->log_style);
  g_assert_cmpuint (backend->access_notes->len, >=, 9);
  g_assert_cmpint (dbr_access_table_judge (backend->access, "PATCH", "/api/v2/variables"), ==,
                   DBR_ACCESS_DELETE);
  g_assert_cmpint (dbr_access_table_judge (backend->access, "GET", "/api/v2/config"), ==,
                   DBR_ACCESS_DENIED);
}

static void
test_defaults (void)
{
  g_autoptr (GError) error = NULL;
  static const char text[]
      = "<catalogue name=\"t\" xmlns=\"urn:drawbridge:catalogue:1\"><title>T</title>"
        "<backend server-name=\"t\" socket-env=\"T_SOCKET\"><sign-in path=\"/token\" "
        "user-env=\"T_USER\" "
        "password-env=\"T_PASSWORD\"/></backend><category name=\"c\">C</category>"
        "<tool name=\"t\" category=\"c\"><title>T</title><description>D.</description>"
        "<request id=\"r\" path=\"/x\"/><answer><line>x</line></answer></tool></catalogue>";
  g_autoptr (DbrCatalogue) catalogue
      = dbr_catalogue_load_data (text, strlen (text), "t.xml", &shipped, &error);
  g_assert_no_error (error);
  const DbrBackendDef *backend = catalogue->backend;
  g_assert_cmpstr (backend->prefix, ==, "");
  g_assert_null (backend->url);
  g_assert_cmpstr (backend->sign_in->user_member, ==, "username");
  g_assert_cmpstr (backend->sign_in->password_member, ==, "password");
  g_assert_cmpstr (backend->sign_in->token_member, ==, "access_token");
  g_assert_null (backend->paging_limit);
  g_assert_null (backend->writes_env);
  const DbrRequestDef *request = dbr_tool_request (find (catalogue, "t"), "r");
  g_assert_cmpstr (dbr_template_text (request->method), ==, "GET");
  g_assert_cmpuint (request->pages, ==, 1);
  g_assert_cmpuint (request->take, ==, 1);
  g_assert_cmpuint (request->max, ==, 8);
  g_assert_cmpuint (request->timeout_ms, ==, 0);
  g_assert_false (request->optional);
  g_assert_false (request->confirm);
  g_assert_false (request->destroys);
  g_assert_true (request->idempotent);
  g_assert_null (dbr_tool_request (find (catalogue, "t"), "q"));
  g_assert_null (dbr_catalogue_find (catalogue, "q"));
}

/* Requests wait for those that their expressions name, and for the graph's where they use it. */
static void
test_needs (void)
{
  g_autoptr (DbrCatalogue) catalogue = load_file ("schemas/airflow.xml");
  const DbrTool *tool = find (catalogue, "diagnose_dag_run");
  const DbrRequestDef *latest = dbr_tool_request (tool, "latest");
  const DbrRequestDef *run = dbr_tool_request (tool, "run");
  const DbrRequestDef *failed = dbr_tool_request (tool, "failed");
  const DbrRequestDef *tasks = dbr_tool_request (tool, "tasks");
  const DbrRequestDef *logs = dbr_tool_request (tool, "logs");
  g_assert_cmphex (latest->needs, ==, 0);
  g_assert_cmphex (tasks->needs, ==, 0);
  g_assert_cmphex (run->needs, ==, 1u << latest->index);
  g_assert_cmphex (logs->needs, ==, 1u << failed->index | 1u << tasks->index);
  g_assert_cmpuint (failed->pages, ==, 20);
  g_assert_cmpuint (logs->take, ==, 2);
  g_assert_cmpuint (logs->max, ==, 8);
  g_assert_cmpstr (tool->graph->id, ==, "task_id");
}

static void
assert_access (const DbrTool *tool, DbrAccess access, DbrAccess least)
{
  g_assert_cmpstr (dbr_access_name (tool->access), ==, dbr_access_name (access));
  g_assert_cmpstr (dbr_access_name (tool->least), ==, dbr_access_name (least));
  g_assert_cmpint (tool->access_varies, ==, access != least);
}

/* Access is the table's word on method and path; nothing says it by hand. */
static void
test_access (void)
{
#define ID "<param name=\"id\" type=\"string\" required=\"yes\">Id.</param>"
#define METHOD(values) "<param name=\"m\" type=\"string\" required=\"yes\">M." values "</param>"
#define PATH "<param name=\"p\" type=\"path\" required=\"yes\">P.</param>"
#define GET "<value>GET</value>"
#define POST "<value>POST</value>"
#define DELETE "<value>DELETE</value>"
#define PATCH "<value>PATCH</value>"
  static const char search[] = "<access method=\"POST\" path=\"/x/list\" is=\"read\"/>";
  static const char bulk[] = "<access method=\"PATCH\" path=\"/x\" is=\"delete\"/>";
  static const struct
  {
    const char *backend, *inside;
    DbrAccess access, least;
    gboolean confirm, destroys, idempotent;
  } rows[] = {
    { "", "<request id=\"r\" path=\"/x\"/>", DBR_ACCESS_READ, DBR_ACCESS_READ, FALSE, FALSE, TRUE },
    { "", "<request id=\"r\" method=\"QUERY\" path=\"/x\"/>", DBR_ACCESS_READ, DBR_ACCESS_READ,
      FALSE, FALSE, TRUE },
    { "", "<request id=\"r\" method=\"POST\" path=\"/x\"/>", DBR_ACCESS_WRITE, DBR_ACCESS_WRITE,
      FALSE, FALSE, FALSE },
    { "", "<request id=\"r\" method=\"PUT\" path=\"/x\"/>", DBR_ACCESS_WRITE, DBR_ACCESS_WRITE,
      FALSE, FALSE, TRUE },
    { "", "<request id=\"r\" method=\"PUT\" path=\"/x\" idempotent=\"no\"/>", DBR_ACCESS_WRITE,
      DBR_ACCESS_WRITE, FALSE, FALSE, FALSE },
    { "",
      "<request id=\"r\" method=\"PATCH\" path=\"/x\" destroys=\"yes\" confirm=\"user\" "
      "idempotent=\"yes\"/>",
      DBR_ACCESS_WRITE, DBR_ACCESS_WRITE, TRUE, TRUE, TRUE },
    { "", ID "<request id=\"r\" method=\"DELETE\" path=\"/x/{id}\"/>", DBR_ACCESS_DELETE,
      DBR_ACCESS_DELETE, TRUE, TRUE, TRUE },
    { search, "<request id=\"r\" method=\"POST\" path=\"/x/list\"/>", DBR_ACCESS_READ,
      DBR_ACCESS_READ, FALSE, FALSE, TRUE },
    { search, "<request id=\"r\" method=\"POST\" path=\"/y/list\"/>", DBR_ACCESS_WRITE,
      DBR_ACCESS_WRITE, FALSE, FALSE, FALSE },
    { bulk, "<request id=\"r\" method=\"PATCH\" path=\"/x\"/>", DBR_ACCESS_DELETE,
      DBR_ACCESS_DELETE, TRUE, TRUE, FALSE },
    { bulk, ID "<request id=\"r\" method=\"PATCH\" path=\"/x/{id}\"/>", DBR_ACCESS_WRITE,
      DBR_ACCESS_WRITE, FALSE, FALSE, FALSE },
    { "", METHOD (GET POST) "<request id=\"r\" method=\"{m}\" path=\"/x\"/>", DBR_ACCESS_WRITE,
      DBR_ACCESS_READ, FALSE, FALSE, FALSE },
    { "", METHOD (GET DELETE) PATH "<request id=\"r\" method=\"{m}\" path=\"{p}\"/>",
      DBR_ACCESS_DELETE, DBR_ACCESS_READ, FALSE, TRUE, TRUE },
    { "", PATH "<request id=\"r\" path=\"{p}\"/>", DBR_ACCESS_READ, DBR_ACCESS_READ, FALSE, FALSE,
      TRUE },
    { bulk, METHOD (POST PATCH) PATH "<request id=\"r\" method=\"{m}\" path=\"{p}\"/>",
      DBR_ACCESS_DELETE, DBR_ACCESS_WRITE, FALSE, TRUE, FALSE },
    { search, PATH "<request id=\"r\" method=\"POST\" path=\"{p}\"/>", DBR_ACCESS_WRITE,
      DBR_ACCESS_READ, FALSE, FALSE, FALSE },
  };
  g_autoptr (DbrCatalogue) catalogue = NULL;
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_test_message ("%s", rows[i].inside);
      const DbrTool *tool = good_tool (&catalogue, rows[i].backend, rows[i].inside);
      const DbrRequestDef *request = g_ptr_array_index (tool->requests, 0);
      assert_access (tool, rows[i].access, rows[i].least);
      g_assert_cmpint (request->confirm, ==, rows[i].confirm);
      g_assert_cmpint (tool->destroys, ==, rows[i].destroys);
      g_assert_cmpint (tool->idempotent, ==, rows[i].idempotent);
    }
}

/* ---- bounds */

static void
assert_fails (const char *file, DbrCatalogueError code, const char *says)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DbrCatalogue) catalogue = dbr_catalogue_load (file, &shipped, &error);
  g_assert_null (catalogue);
  g_assert_error (error, DBR_CATALOGUE_ERROR, (int) code);
  g_assert_cmpstr (error->message, ==, says);
}

static void
test_files (void)
{
  g_autofree char *dir = g_dir_make_tmp ("dbr-catalogue-XXXXXX", NULL);
  g_autofree char *file = g_build_filename (dir, "a b.xml", NULL);
  g_autofree char *missing = g_strdup_printf ("%s: can't be read: No such file or directory", file);
  g_autofree char *folder = g_strdup_printf ("%s: can't be read: Is a directory", dir);
  g_autofree char *large
      = g_strdup_printf ("%s: is over 4 MiB; a catalogue is a text of some kilobytes", file);
  assert_fails (file, DBR_CATALOGUE_ERROR_READ, missing);
  assert_fails (dir, DBR_CATALOGUE_ERROR_READ, folder);

  g_autofree char *text = g_strnfill (DBR_CATALOGUE_MAX_BYTES + 1, ' ');
  g_assert_true (g_file_set_contents (file, text, DBR_CATALOGUE_MAX_BYTES + 1, NULL));
  assert_fails (file, DBR_CATALOGUE_ERROR_READ, large);
  /* The bound itself is still read: white space alone isn't XML. */
  g_autofree char *empty
      = g_strdup_printf ("%s:1: isn't well-formed XML: Start tag expected, '<' not found", file);
  g_assert_true (g_file_set_contents (file, text, DBR_CATALOGUE_MAX_BYTES, NULL));
  assert_fails (file, DBR_CATALOGUE_ERROR_XML, empty);

  g_autofree char *nothing
      = g_strdup_printf ("%s:1: isn't well-formed XML: Document is empty", file);
  g_assert_true (g_file_set_contents (file, "", 0, NULL));
  assert_fails (file, DBR_CATALOGUE_ERROR_XML, nothing);
  g_remove (file);
  g_rmdir (dir);
}

/* Attributes are counted before the parser compares each with all others, in any disguise. */
static void
test_wide (void)
{
  static const char *const before[]
      = { "", "<?a <b c='>?>", "<!-- <a b=\" -->", "<!----><!-- - -- > ' -->" };
  for (guint i = 0; i < G_N_ELEMENTS (before); i++)
    for (guint n = DBR_CATALOGUE_MAX_ATTRIBUTES - 1; n <= 200000; n = n < 1000 ? n + 1 : n * 10)
      {
        g_autoptr (GError) error = NULL;
        g_autoptr (GString) text = g_string_new (before[i]);
        g_string_append (text, "\n<catalogue xmlns=\"urn:drawbridge:catalogue:1\"");
        for (guint k = 1; k < n; k++)
          g_string_append_printf (text, " a%u=%s", k, k % 2 ? "'>\"'" : "\"'>\"");
        g_string_append (text, "/>");
        g_assert_null (dbr_catalogue_load_data (text->str, text->len, "t.xml", &shipped, &error));
        gboolean is_wide
            = strstr (error->message, "t.xml:2: an element has over 100 attributes") != NULL;
        g_assert_cmpint (is_wide, ==, n > DBR_CATALOGUE_MAX_ATTRIBUTES);
        n = n == DBR_CATALOGUE_MAX_ATTRIBUTES + 1 ? 20000 : n;
      }
  guint line = 0;
  g_autofree char *sixteen = NULL;
  gsize n_bytes = 0;
  g_autoptr (GString) wide = g_string_new ("<a");
  for (guint k = 0; k <= DBR_CATALOGUE_MAX_ATTRIBUTES; k++)
    g_string_append_printf (wide, " a%u=''", k);
  g_assert_false (dbr_catalogue_scan (wide->str, wide->len, &line));
  sixteen = g_convert (wide->str, (gssize) wide->len, "UTF-16", "UTF-8", NULL, &n_bytes, NULL);
  g_assert_false (dbr_catalogue_scan (sixteen, n_bytes, &line));
  g_assert_true (dbr_catalogue_scan ("<![CDATA[<a ' \" ]]]><!a", 23, &line));
}

/* However many problems: twenty are told, the others counted. */
static void
test_many_problems (void)
{
  for (guint n = 100; n <= 10000; n *= 10)
    {
      g_autoptr (GString) inside = g_string_new (NULL);
      g_autoptr (GError) error = NULL;
      for (guint i = 0; i < n; i++)
        g_string_append (inside, "<param name=\"p\" type=\"strnig\">P.</param>\n");
      g_string_append (inside, "<request id=\"r\" path=\"/x\"/>");
      g_assert_null (load_tool ("", inside->str, &error));
      g_auto (GStrv) lines = g_strsplit (error->message, "\n", -1);
      g_autofree char *last = g_strdup_printf ("t.xml: and %u more problems", n - 20);
      g_assert_cmpuint (g_strv_length (lines), ==, DBR_CATALOGUE_MAX_PROBLEMS + 1);
      g_assert_cmpstr (lines[DBR_CATALOGUE_MAX_PROBLEMS], ==, last);
    }
}

/* What there is, is named to a bound. */
static void
test_hints (void)
{
  g_autoptr (GString) inside = g_string_new (NULL);
  g_autoptr (GError) error = NULL;
  for (guint i = 0; i < 30; i++)
    g_string_append_printf (inside, "<request id=\"r%u\" path=\"/x\"/>", i);
  g_string_append (inside, "<request id=\"s\" path=\"/{$.something}\"/>");
  g_assert_null (load_tool ("", inside->str, &error));
  g_assert_cmpstr (error->message, ==,
                   "t.xml:1: request \"s\": there is no request \"something\"; there are: r0, r1, "
                   "r2, r3, r4, r5, r6, "
                   "r7, r8, r9, r10, r11, r12, r13, r14, r15, r16, r17, r18, r19…");
}

static void
test_bounds (void)
{
  g_autoptr (GString) inside = g_string_new (NULL);
  g_autoptr (DbrCatalogue) catalogue = NULL;
  for (guint i = 0; i < DBR_CATALOGUE_MAX_REQUESTS; i++)
    g_string_append_printf (inside, "<request id=\"r%u\" path=\"/x\"/>", i);
  const DbrTool *tool = good_tool (&catalogue, "", inside->str);
  g_assert_cmpuint (tool->requests->len, ==, DBR_CATALOGUE_MAX_REQUESTS);
  g_autoptr (GError) error = NULL;
  g_string_append (inside, "<request id=\"one_more\" path=\"/x\"/>");
  g_assert_null (load_tool ("", inside->str, &error));
  g_assert_cmpstr (error->message, ==, "t.xml:1: a tool has at most 32 requests; split it");
  g_assert_error (error, DBR_CATALOGUE_ERROR, DBR_CATALOGUE_ERROR_RULE);
}

static void
append_tools (GString *text, guint n)
{
  for (guint i = 0; i < n; i++)
    {
      g_string_append_printf (text,
                              "<tool name=\"t%u\" category=\"c\"><title>T</title>"
                              "<description>D.</description>",
                              i);
      for (guint p = 0; p < 6; p++)
        g_string_append_printf (text, "<param name=\"p%u\" type=\"string\">A parameter.</param>\n",
                                p);
      g_string_append (
          text, "<request id=\"r\" path=\"/x\"><query name=\"q\" value=\"{p0}{p1}{p2}{p3}{p4}"
                "{p5}\"/></request><answer><line>{$.r.x}</line></answer></tool>\n");
    }
}

/* The most tools that a file may have, and one more; lines beyond 65535 are counted, too. */
static void
test_many_tools (void)
{
  static const char head[]
      = "<catalogue name=\"t\" xmlns=\"urn:drawbridge:catalogue:1\"><title>T</title>"
        "<backend server-name=\"t\" url=\"http://localhost:1\"/><category name=\"c\">C</category>";
  g_autoptr (GString) text = g_string_new (head);
  g_autoptr (GError) error = NULL;
  append_tools (text, DBR_CATALOGUE_MAX_TOOLS);
  g_string_append (text, "</catalogue>");
  g_autoptr (DbrCatalogue) catalogue
      = dbr_catalogue_load_data (text->str, text->len, "t.xml", &shipped, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (catalogue->tools->len, ==, DBR_CATALOGUE_MAX_TOOLS);

  g_string_assign (text, head);
  for (guint i = 0; i < 70000; i++)
    g_string_append_c (text, '\n');
  append_tools (text, DBR_CATALOGUE_MAX_TOOLS + 1);
  g_string_append (text, "</catalogue>");
  g_assert_null (dbr_catalogue_load_data (text->str, text->len, "t.xml", &shipped, &error));
  g_assert_cmpstr (error->message, ==, "t.xml:73501: a catalogue has at most 500 tools; split it");
}

/* ---- variables of others */

static void
test_variables (void)
{
  static const char text[]
      = "<catalogue name=\"my-api\" xmlns=\"urn:drawbridge:catalogue:1\"><title>T</title>"
        "<backend server-name=\"t\" url-env=\"MY_API_URL\"><sign-in "
        "token-env=\"CORP_TOKEN\"/></backend>"
        "<category name=\"c\">C</category><tool name=\"t\" category=\"c\"><title>T</title>"
        "<description>D.</description><request id=\"r\" "
        "path=\"/x\"/><answer><line>x</line></answer>"
        "</tool></catalogue>";
  static const char *const allow[] = { "CORP_TOKEN", "AIRFLOW_ACCESS_TOKEN", NULL };
  DbrCatalogueOptions user = { 0 }, allowing = { .allow_env = allow };
  g_autoptr (GError) error = NULL;
  g_assert_null (dbr_catalogue_load_data (text, strlen (text), "t.xml", &user, &error));
  g_assert_cmpstr (
      error->message, ==,
      "t.xml:1: the variable CORP_TOKEN isn't this catalogue's to read; name one that begins with "
      "MY_API_, or start with --allow-env CORP_TOKEN");
  g_clear_error (&error);
  g_autoptr (DbrCatalogue) catalogue
      = dbr_catalogue_load_data (text, strlen (text), "t.xml", &allowing, &error);
  g_assert_no_error (error);
  /* What belongs to a shipped catalogue can't be allowed. */
  g_autoptr (GString) other = g_string_new (text);
  g_string_replace (other, "CORP_TOKEN", "AIRFLOW_ACCESS_TOKEN", 0);
  g_assert_null (dbr_catalogue_load_data (other->str, other->len, "t.xml", &allowing, &error));
  g_assert_cmpstr (
      error->message, ==,
      "t.xml:1: the variable AIRFLOW_ACCESS_TOKEN belongs to \"airflow\", which comes with the "
      "program; name one that begins with MY_API_");
}

/* ---- offers */

static DbrCatalogue *
load_offers (const char *offer, GError **error)
{
  g_autofree char *file
      = g_test_build_filename (G_TEST_DIST, "tests/contract/catalogue/good/offers.xml", NULL);
  DbrCatalogueOptions options = { .offer = offer };
  return dbr_catalogue_load (file, &options, error);
}

/* The default offer: of two tools with one name its own, and nothing of the other. */
static void
test_offer_default (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DbrCatalogue) catalogue = load_offers (NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (catalogue->offers->len, ==, 2);
  g_assert_cmpstr (catalogue->offer->name, ==, "reader");
  g_assert_cmpstr (catalogue->offer->instructions, ==, "Read.");
  g_assert_false (catalogue->offer->is_shell_only);
  g_assert_cmpuint (catalogue->tools->len, ==, 1);
  g_assert_cmpuint (dbr_catalogue_find (catalogue, "list_books")->params->len, ==, 2);
  g_assert_null (dbr_catalogue_find (catalogue, "set_book"));
}

static void
test_offer_chosen (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DbrCatalogue) catalogue = load_offers ("writer", &error);
  g_assert_no_error (error);
  g_assert_cmpstr (catalogue->offer->server_name, ==, "shelf-writer");
  g_assert_true (catalogue->offer->is_shell_only);
  g_assert_cmpuint (catalogue->tools->len, ==, 2);
  g_assert_cmpuint (dbr_catalogue_find (catalogue, "list_books")->params->len, ==, 1);
  const DbrTool *tool = dbr_catalogue_find (catalogue, "set_book");
  g_assert_cmpstr (tool->one_of[1], ==, "shelf");
  g_assert_cmpstr (dbr_tool_request (tool, "book")->with, ==, "book_id");
  const DbrAdvice *advice = g_ptr_array_index (dbr_tool_request (tool, "book")->advice, 0);
  g_assert_cmpuint (advice->status, ==, 409);
  g_assert_cmpstr (advice->code, ==, "changed");
}

static void
test_offer_unknown (void)
{
  g_autofree char *small
      = g_test_build_filename (G_TEST_DIST, "tests/contract/catalogue/good/small.xml", NULL);
  DbrCatalogueOptions options = { .offer = "reader" };
  g_autoptr (GError) error = NULL;
  g_assert_null (load_offers ("readr", &error));
  g_assert_error (error, DBR_CATALOGUE_ERROR, DBR_CATALOGUE_ERROR_REFERENCE);
  g_assert_true (g_str_has_suffix (
      error->message, "the catalogue \"shelf\" has no offer \"readr\"; did you mean \"reader\"?"));
  g_clear_error (&error);
  g_assert_null (dbr_catalogue_load (small, &options, &error));
  g_assert_error (error, DBR_CATALOGUE_ERROR, DBR_CATALOGUE_ERROR_REFERENCE);
  g_assert_true (g_str_has_suffix (error->message, "has no offer \"reader\"; there are none"));
}

/* A parameter of another offer is gone with it. */
static void
test_offer_param (void)
{
  g_autofree char *file = g_test_build_filename (G_TEST_DIST, "schemas/engine.xml", NULL);
  g_autoptr (GError) error = NULL;
  for (guint i = 0; i < 2; i++)
    {
      DbrCatalogueOptions options = { .is_shipped = TRUE, .offer = i ? "coordinator" : "client" };
      g_autoptr (DbrCatalogue) catalogue = dbr_catalogue_load (file, &options, &error);
      g_assert_no_error (error);
      g_assert_cmpuint (dbr_catalogue_find (catalogue, "status")->params->len, ==, i ? 2 : 1);
      g_assert_cmpuint (catalogue->categories->len, ==, i ? 3 : 2);
    }
}

/* A user's file is also held against the grammar; without it nothing is called checked. */
static void
test_grammar_missing (void)
{
  g_autofree char *file = g_test_build_filename (G_TEST_DIST, "doc/example-catalogue.xml", NULL);
  g_autoptr (GError) error = NULL;
  DbrCatalogueOptions options = { .schema_dir = "/nowhere" };
  g_assert_null (dbr_catalogue_load (file, &options, &error));
  g_assert_error (error, DBR_CATALOGUE_ERROR, DBR_CATALOGUE_ERROR_READ);
  g_assert_true (strstr (error->message, "\"/nowhere/catalogue.rng\" can't be read") != NULL);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/catalogue/wide", test_wide);
  g_test_add_func ("/catalogue/backend", test_backend);
  g_test_add_func ("/catalogue/defaults", test_defaults);
  g_test_add_func ("/catalogue/needs", test_needs);
  g_test_add_func ("/catalogue/access", test_access);
  g_test_add_func ("/catalogue/files", test_files);
  g_test_add_func ("/catalogue/many-problems", test_many_problems);
  g_test_add_func ("/catalogue/hints", test_hints);
  g_test_add_func ("/catalogue/bounds", test_bounds);
  g_test_add_func ("/catalogue/many-tools", test_many_tools);
  g_test_add_func ("/catalogue/variables", test_variables);
  g_test_add_func ("/catalogue/grammar-missing", test_grammar_missing);
  g_test_add_func ("/catalogue/offer/default", test_offer_default);
  g_test_add_func ("/catalogue/offer/chosen", test_offer_chosen);
  g_test_add_func ("/catalogue/offer/unknown", test_offer_unknown);
  g_test_add_func ("/catalogue/offer/param", test_offer_param);
  return g_test_run ();
}
