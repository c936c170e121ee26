/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSONPath beyond the compliance suite: our flags, functions, graph, budget, roots and messages.
 */
#include "config.h"

#include "dbr-json-path-priv.h"
#include "dbr-json-path.h"

#include <string.h>

#define ANY (DBR_JSON_PATH_RELATIVE | DBR_JSON_PATH_VALUE)

static DbrJsonDoc *
parse (const char *text)
{
  g_autoptr (GError) error = NULL;
  DbrJsonDoc *doc = dbr_json_doc_new_from_data (text, -1, NULL, &error);
  g_assert_no_error (error);
  return doc;
}

static DbrJsonPath *
path_new (const char *text, DbrJsonPathFlags flags)
{
  g_autoptr (GError) error = NULL;
  DbrJsonPath *path = dbr_json_path_new (text, flags, &error);
  g_assert_no_error (error);
  return path;
}

/* The selected nodes as compact JSON with a blank between, or the error. */
static char *
select_text (const char *text, const DbrJsonPathEnv *env)
{
  g_autoptr (DbrJsonPath) path = path_new (text, ANY);
  g_autoptr (GError) error = NULL;
  g_auto (DbrNodeList) nodes;
  GString *out = g_string_new (NULL);

  dbr_node_list_init (&nodes);
  if (!dbr_json_path_select (path, env, &nodes, &error))
    g_string_append (out, error->message);
  for (guint i = 0; i < dbr_node_list_size (&nodes); i++)
    {
      if (i)
        g_string_append_c (out, ' ');
      dbr_json_append (dbr_node_list_get (&nodes, i), out);
    }
  return g_string_free (out, FALSE);
}

static void
assert_select (const char *text, const DbrJsonPathEnv *env, const char *want)
{
  g_autofree char *got = select_text (text, env);
  if (!g_str_equal (got, want))
    g_error ("%s: got %s, wanted %s", text, got, want);
}

static gboolean
test_of (const char *text, const DbrJsonPathEnv *env)
{
  g_autoptr (DbrJsonPath) path = path_new (text, DBR_JSON_PATH_CONDITION);
  g_autoptr (GError) error = NULL;
  gboolean result;

  g_assert_true (dbr_json_path_is_condition (path));
  g_assert_true (dbr_json_path_test (path, env, &result, &error));
  g_assert_no_error (error);
  return result;
}

static void
test_relative (void)
{
  g_autoptr (DbrJsonDoc) doc = parse ("{\"a\":{\"b\":[1,2,{\"c\":3}]},\"n\":2}");
  DbrJson root = dbr_json_doc_root (doc);
  DbrJsonPathEnv env = { .root = root, .current = dbr_json_get (root, "a") };

  assert_select ("@.b[2].c", &env, "3");
  assert_select (" @.b[?@ == $.n] ", &env, "2");
  assert_select ("@", &env, "{\"b\":[1,2,{\"c\":3}]}");
  assert_select ("$.n", &env, "2");
  assert_select ("@.absent.x", &env, "");
  env.current = DBR_JSON_NONE;
  assert_select ("@.b", &env, "");
}

static void
test_conditions (void)
{
  g_autoptr (DbrJsonDoc) doc
      = parse ("{\"s\":\"x\",\"n\":5,\"f\":false,\"l\":[1,2],\"e\":[],\"big\":9007199254740993}");
  DbrJsonPathEnv env = { .root = dbr_json_doc_root (doc), .current = dbr_json_doc_root (doc) };

  g_assert_true (test_of (" $.s == 'x' && @.n > 4 ", &env));
  g_assert_true (test_of ("$.f", &env)); /* exists */
  g_assert_false (test_of ("$.f == true", &env));
  g_assert_false (test_of ("!$.f", &env));
  g_assert_true (test_of ("!($.n < 5) && ($.n <= 5.0 || $.nope)", &env));
  g_assert_true (test_of ("$.big == 9007199254740993 && $.big != 9007199254740992", &env));
  g_assert_true (test_of ("$.l[*]", &env));
  g_assert_false (test_of ("$.e[*]", &env));
  g_assert_true (test_of ("count($.l[?@ > 1]) == 1", &env));
  g_assert_true (test_of ("length($.e) == 0", &env));
  g_assert_true (test_of ("$.nope == $.nix", &env));
  g_assert_false (test_of ("$.nope == null", &env));
  g_assert_true (test_of ("search($.s, '[w-z]') && match($.s, \"x\")", &env));
  g_assert_true (test_of ("$.n == 1 || $.n == 2 || $.n == 5 && $.s", &env));
}

static void
test_values (void)
{
  g_autoptr (DbrJsonDoc) doc
      = parse ("{\"t\":\"2026-11-30T13:36:08Z\",\"u\":\"2026-11-30T13:36:09.5+00:00\","
               "\"bad\":\"soon\",\"n\":5,\"l\":[1,2,3],\"s\":\"h\\u00e9\"}");
  DbrJson root = dbr_json_doc_root (doc);
  DbrJsonPathEnv env
      = { .root = root, .current = root, .now_us = G_GINT64_CONSTANT (1796045828000000) };

  assert_select ("age($.t)", &env, "60");
  assert_select ("age(@.u)", &env, "58.5");
  assert_select ("age($.bad)", &env, "");
  assert_select ("age($.n)", &env, "");
  assert_select ("age($.nope)", &env, "");
  assert_select ("seconds($.t, $.u)", &env, "1.5");
  assert_select ("seconds($.u, $.t)", &env, "-1.5");
  assert_select ("seconds($.t, $.bad)", &env, "");
  assert_select ("length($.l)", &env, "3");
  assert_select ("length($.s)", &env, "2");
  assert_select ("length($)", &env, "6");
  assert_select ("length($.n)", &env, "");
  assert_select ("count($..*)", &env, "9");
  assert_select ("value($.l[?@ == 2])", &env, "2");
  assert_select ("value($.l[*])", &env, "");
  g_assert_true (test_of ("age($.t) == 60.0 && age($.u) < 60 && age($.bad) == $.nope", &env));
  g_assert_true (test_of ("seconds($.t, $.u) > 1.25", &env));
  g_assert_false (test_of ("age($.t) == '60'", &env));

  g_autoptr (DbrJsonPath) call = path_new ("age($.t)", ANY);
  g_assert_true (dbr_json_path_is_singular (call));
  g_assert_cmpstr (dbr_json_path_text (call), ==, "age($.t)");
}

static void
test_key (void)
{
  g_autoptr (DbrJsonDoc) doc = parse ("{\"a\":1,\"b\\n\":{\"x\":2},\"c\":[3]}");
  DbrJson root = dbr_json_doc_root (doc);
  DbrJsonPathEnv env = { .root = root, .current = dbr_json_get (root, "b\n") };

  assert_select ("key(@)", &env, "\"b\\n\"");
  assert_select ("key($.a)", &env, "\"a\"");
  assert_select ("key($)", &env, "");
  assert_select ("key($.c[0])", &env, "");
  assert_select ("key($.*)", &env, "");
  assert_select ("$[?key(@) == 'c']", &env, "[3]");

  /* A link has the name that it stands under. */
  g_autoptr (DbrJsonBuilder) builder = dbr_json_builder_new ();
  dbr_json_builder_begin_object (builder);
  dbr_json_builder_key (builder, "other");
  dbr_json_builder_link (builder, dbr_json_get (root, "a"));
  dbr_json_builder_end_object (builder);
  g_autoptr (DbrJsonDoc) composed = dbr_json_builder_end (builder);
  env.root = dbr_json_doc_root (composed);
  assert_select ("key($.other)", &env, "\"other\"");
}

static void
test_composed (void)
{
  g_autoptr (DbrJsonDoc) body
      = parse ("{\"dags\":[{\"id\":\"a\",\"p\":true},{\"id\":\"b\",\"p\":false}]}");
  g_autoptr (DbrJsonBuilder) builder = dbr_json_builder_new ();
  dbr_json_builder_begin_object (builder);
  dbr_json_builder_key (builder, "list");
  dbr_json_builder_link (builder, dbr_json_doc_root (body));
  dbr_json_builder_key (builder, "args");
  dbr_json_builder_begin_object (builder);
  dbr_json_builder_key (builder, "id");
  dbr_json_builder_string (builder, "b", -1);
  dbr_json_builder_end_object (builder);
  dbr_json_builder_end_object (builder);
  g_autoptr (DbrJsonDoc) doc = dbr_json_builder_end (builder);
  DbrJsonPathEnv env = { .root = dbr_json_doc_root (doc) };

  assert_select ("$.list.dags[?@.id == $.args.id].p", &env, "false");
  assert_select ("$..id", &env, "\"a\" \"b\" \"b\"");
  g_autoptr (DbrJsonPath) path = path_new ("$.list.dags[1].id", 0);
  g_assert_true (dbr_json_path_is_singular (path));
  DbrJson id = dbr_json_path_first (path, &env);
  g_assert_true (dbr_json_string_equals (id, "b"));
  g_autofree char *normalized = dbr_json_path_normalized (env.root, id);
  g_assert_cmpstr (normalized, ==, "$['list']['dags'][1]['id']");
  g_assert_null (dbr_json_path_normalized (dbr_json_get (env.root, "args"), id));
}

/* a -> b -> d -> e, a -> c -> d, d -> b closes a cycle, x alone. */
static const char diamond[] = "{\"tasks\":[{\"id\":\"a\",\"next\":[\"b\",\"c\"]},{\"id\":\"b\","
                              "\"next\":[\"d\",\"nobody\"]},"
                              "{\"id\":\"c\",\"next\":[\"d\"]},{\"id\":\"d\",\"next\":[\"e\",\"b\"]"
                              "},{\"id\":\"e\",\"next\":[]},"
                              "{\"id\":\"x\"},{\"noid\":1},7,{\"id\":\"a\",\"next\":[\"x\"]}],"
                              "\"bad\":[{\"task\":\"c\"},{\"task\":\"e\"},{\"task\":\"ghost\"},{"
                              "\"task\":\"b\"},{\"task\":3}]}";

static DbrJsonGraph *
graph_of (DbrJson list)
{
  g_autoptr (GArray) nodes = g_array_new (FALSE, FALSE, sizeof (DbrJson));
  for (DbrJson v = dbr_json_first (list); dbr_json_exists (v); v = dbr_json_next (v))
    g_array_append_val (nodes, v);
  return dbr_json_graph_new ((const DbrJson *) (gpointer) nodes->data, nodes->len, "id", "next");
}

static void
test_graph (void)
{
  g_autoptr (DbrJsonDoc) doc = parse (diamond);
  DbrJson root = dbr_json_doc_root (doc);
  g_autoptr (DbrJsonGraph) graph = graph_of (dbr_json_get (root, "tasks"));
  DbrJsonPathEnv env = { .root = root, .graph = graph };

  for (int i = 0; i < 2; i++) /* the second time from what was remembered */
    {
      assert_select ("downstream('a')", &env, "\"b\" \"c\" \"d\" \"e\"");
      assert_select ("upstream('e')", &env, "\"a\" \"b\" \"c\" \"d\"");
      assert_select ("upstream('b')", &env, "\"a\" \"c\" \"d\"");
      assert_select ("upstream('a')", &env, "");
      assert_select ("upstream('x')", &env, "");
      assert_select ("upstream('ghost')", &env, "");
      assert_select ("upstream(5)", &env, "");
      assert_select ("upstream('e', $.bad[*].task)", &env, "\"c\" \"b\"");
      assert_select ("downstream('c', $.bad[?@.task != 'e'].task)", &env, "\"b\"");
    }
  assert_select ("$.bad[?!upstream(@.task, $.bad[*].task)].task", &env, "\"c\" \"ghost\" 3");
  assert_select ("$.bad[?count(upstream(@.task)) == 4].task", &env, "\"e\"");
  env.graph = NULL;
  assert_select ("downstream('a')", &env, "");

  g_autoptr (DbrJsonPath) path = path_new ("upstream(@.x)", ANY);
  g_assert_false (dbr_json_path_is_singular (path));
  g_autoptr (DbrJsonGraph) empty = dbr_json_graph_new (NULL, 0, "id", "next");
  env.graph = empty;
  assert_select ("downstream('a')", &env, "");
}

/* 500 tasks in layers of 10, each on all of the layer before; all failed. Which failed first? */
static void
test_graph_large (void)
{
  g_autoptr (GString) text = g_string_new ("{\"tasks\":[");
  for (guint i = 0; i < 500; i++)
    {
      g_string_append_printf (text, "%s{\"id\":\"task_%u\",\"next\":[", i ? "," : "", i);
      for (guint j = i / 10 * 10 + 10; j < MIN (500, i / 10 * 10 + 20); j++)
        g_string_append_printf (text, "%s\"task_%u\"", j % 10 ? "," : "", j);
      g_string_append (text, "]}");
    }
  g_string_append (text, "]}");
  g_autoptr (DbrJsonDoc) doc = parse (text->str);
  DbrJson root = dbr_json_doc_root (doc);
  gint64 start_us = g_get_monotonic_time ();
  g_autoptr (DbrJsonGraph) graph = graph_of (dbr_json_get (root, "tasks"));
  guint steps = DBR_JSON_PATH_MAX_STEPS;
  DbrJsonPathEnv env = { .root = root, .graph = graph, .steps_left = &steps };
  g_autoptr (DbrJsonPath) path
      = path_new ("$.tasks[?!upstream(@.id, $.tasks[?@.id].id)].id", DBR_JSON_PATH_RFC);
  g_auto (DbrNodeList) nodes;

  dbr_node_list_init (&nodes);
  g_assert_true (dbr_json_path_select (path, &env, &nodes, NULL));
  g_test_message ("%" G_GINT64_FORMAT " us, %u steps", g_get_monotonic_time () - start_us,
                  DBR_JSON_PATH_MAX_STEPS - steps);
  g_assert_cmpuint (dbr_node_list_size (&nodes), ==, 10);
}

/* More nodes than remembered bits have room for: what is forgotten is walked again. */
static void
test_graph_forgets (void)
{
  g_autoptr (GString) text = g_string_new ("[");
  for (guint i = 0; i < 30000; i++)
    g_string_append_printf (text, "%s{\"id\":\"%u\",\"next\":[]}", i ? "," : "", i);
  g_string_append (text, "]");
  g_autoptr (DbrJsonDoc) doc = parse (text->str);
  g_autoptr (DbrJsonGraph) graph = graph_of (dbr_json_doc_root (doc));
  for (guint i = 0; i < 6000; i++)
    g_assert_cmpuint (path_graph_reach (graph, i, TRUE).cost, ==, 1);
  g_assert_cmpuint (path_graph_reach (graph, 5999, TRUE).cost, ==, 0);
  g_assert_cmpuint (path_graph_reach (graph, 0, TRUE).cost, ==, 1);
}

static void
test_budget (void)
{
  g_autoptr (DbrJsonDoc) doc = parse (
      "{\"l\":[[1,2,3],[4,5,6],[7,8,9]],\"s\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac\"}");
  guint steps = 5;
  DbrJsonPathEnv env = { .root = dbr_json_doc_root (doc), .steps_left = &steps };
  g_autoptr (DbrJsonPath) path = path_new ("$..*", 0);
  g_autoptr (DbrJsonPath) single = path_new ("$.l[1][2]", 0);
  g_autoptr (DbrJsonPath) condition = path_new ("$.l[?@[0] == 4]", DBR_JSON_PATH_CONDITION);
  g_autoptr (GError) error = NULL;
  g_auto (DbrNodeList) nodes;
  gboolean result;

  dbr_node_list_init (&nodes);
  g_assert_false (dbr_json_path_select (path, &env, &nodes, &error));
  g_assert_error (error, DBR_JSON_PATH_ERROR, DBR_JSON_PATH_ERROR_BUDGET);
  g_assert_cmpstr (error->message, ==, "JSONPath '$..*' needs more steps than allowed");
  g_assert_cmpuint (dbr_node_list_size (&nodes), ==, 0);
  g_assert_cmpuint (steps, ==, 0);
  g_clear_error (&error);
  g_assert_false (dbr_json_exists (dbr_json_path_first (path, &env)));
  g_assert_false (dbr_json_exists (dbr_json_path_first (single, &env)));
  g_assert_false (dbr_json_path_test (condition, &env, &result, &error));
  g_assert_error (error, DBR_JSON_PATH_ERROR, DBR_JSON_PATH_ERROR_BUDGET);
  g_clear_error (&error);

  steps = 1000;
  g_assert_true (dbr_json_path_select (path, &env, &nodes, &error));
  g_assert_cmpuint (dbr_node_list_size (&nodes), ==, 14);
  g_assert_cmpuint (steps, <, 1000);
  g_assert_true (dbr_json_path_test (condition, &env, &result, &error));
  g_assert_true (result);

  env.steps_left = NULL;
  g_autoptr (DbrJsonPath) evil = path_new ("search($.s, '(a|aa)+[bd]')", DBR_JSON_PATH_CONDITION);
  g_assert_false (dbr_json_path_test (evil, &env, &result, &error));
  g_assert_error (error, DBR_JSON_PATH_ERROR, DBR_JSON_PATH_ERROR_BUDGET);
  g_assert_nonnull (strstr (error->message, "regular expression"));
}

/* An attacker's document: filters over filters over everything end at the budget. */
static void
test_budget_quadratic (void)
{
  g_autoptr (GString) text = g_string_new ("[0");
  for (guint i = 1; i < 3000; i++)
    g_string_append_printf (text, ",{\"a\":%u}", i);
  g_string_append (text, "]");
  g_autoptr (DbrJsonDoc) doc = parse (text->str);
  DbrJsonPathEnv env = { .root = dbr_json_doc_root (doc) };

  assert_select ("$[?count($[?@.a]) == 2999][?@ == 3]", &env, "3");
  g_autofree char *got
      = select_text ("$[?count(@..a) == 1 && $[?@.a > 0]][?count($..[?@]) == 0]", &env);
  g_assert_cmpstr (got, ==, "");
  env.current = env.root;
  g_autofree char *nested = select_text ("@[?@..[?@..[?@.a == value($..a)]]]", &env);
  g_assert_nonnull (nested);
}

/* One comparison or match over a long text is many steps. */
static void
test_budget_of_long_texts (void)
{
  g_autofree char *a = g_strnfill (300000, 'a');
  g_autofree char *digits = g_strnfill (300000, '7');
  g_autofree char *text
      = g_strdup_printf ("{\"s\":\"%s\",\"t\":\"%s\",\"n\":%s,\"m\":%s}", a, a, digits, digits);
  g_autoptr (DbrJsonDoc) doc = parse (text);
  static const char *const costly[]
      = { "$.s == $.t", "$.s < $.t", "$.n == $.m", "$.n > $.m", "search($.s, 'aa')" };
  for (guint i = 0; i < G_N_ELEMENTS (costly); i++)
    {
      guint steps = 100;
      DbrJsonPathEnv env = { .root = dbr_json_doc_root (doc), .steps_left = &steps };
      g_autoptr (DbrJsonPath) path = path_new (costly[i], DBR_JSON_PATH_CONDITION);
      g_autoptr (GError) error = NULL;
      gboolean result;
      g_assert_false (dbr_json_path_test (path, &env, &result, &error));
      g_assert_error (error, DBR_JSON_PATH_ERROR, DBR_JSON_PATH_ERROR_BUDGET);
    }
  /* Quadratic in the text although no start backtracks far. */
  DbrJsonPathEnv env = { .root = dbr_json_doc_root (doc) };
  g_autoptr (DbrJsonPath) path = path_new ("search($.s, 'a*[bc]')", DBR_JSON_PATH_CONDITION);
  g_autoptr (GError) error = NULL;
  gboolean result;
  g_assert_false (dbr_json_path_test (path, &env, &result, &error));
  g_assert_error (error, DBR_JSON_PATH_ERROR, DBR_JSON_PATH_ERROR_BUDGET);
}

static void
assert_roots (const char *text, DbrJsonPathFlags flags, const char *want)
{
  g_autoptr (DbrJsonPath) path = path_new (text, flags);
  g_autofree char *roots
      = g_strjoinv (" ", (char **) (gpointer) (guintptr) dbr_json_path_roots (path));
  g_assert_cmpstr (roots, ==, want);
}

static void
test_roots (void)
{
  assert_roots ("$.failed.x", 0, "failed");
  assert_roots ("$['failed'][?@.a == $.http.failed.status && $.failed.b]", 0,
                "http.failed.status failed");
  assert_roots ("$", 0, "*");
  assert_roots ("$[*]", 0, "*");
  assert_roots ("$..x", 0, "*");
  assert_roots ("$.http", 0, "*");
  assert_roots ("$.http.*", 0, "*");
  assert_roots ("$['a','b']", 0, "*");
  assert_roots ("@.a", ANY, "");
  assert_roots ("upstream(@.id, $.failed.ids)", ANY, "failed");
  assert_roots ("age($.now)", ANY, "now");
  assert_roots ("$.a && ($.b == 1 || !$.c)", DBR_JSON_PATH_CONDITION, "a b c");
}

static void
refuse (const char *text, DbrJsonPathFlags flags, int code, const char *message)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DbrJsonPath) path = dbr_json_path_new (text, flags, &error);
  g_assert_null (path);
  g_assert_error (error, DBR_JSON_PATH_ERROR, code);
  if (message)
    g_assert_cmpstr (error->message, ==, message);
}

static void
test_errors (void)
{
  g_autofree char *dots = g_strnfill (DBR_JSON_PATH_MAX_TEXT + 1, '.');
  g_autoptr (GString) deep = g_string_new (NULL);
  for (guint i = 0; i <= DBR_JSON_PATH_MAX_NESTING; i++)
    g_string_append_c (deep, '(');

  refuse ("@.a", 0, DBR_JSON_PATH_ERROR_SYNTAX,
          "JSONPath '@.a': expected $, found '@' at column 1");
  refuse ("$.a b", ANY, DBR_JSON_PATH_ERROR_SYNTAX,
          "JSONPath '$.a b': expected the end, found 'b' at column 5");
  refuse ("$.\xC3\xA9[\n", ANY, DBR_JSON_PATH_ERROR_SYNTAX,
          "JSONPath '$.\xC3\xA9[\n': expected a quoted name, *, a number, a slice or a filter, "
          "found the end");
  refuse ("$.a[\x01]", ANY, DBR_JSON_PATH_ERROR_SYNTAX,
          "JSONPath '$.a[\x01]': expected a quoted name, *, a number, a slice or a filter, found "
          "U+0001 at column 5");
  refuse ("$.a\xFF", 0, DBR_JSON_PATH_ERROR_SYNTAX, "a JSONPath that is not UTF-8");
  refuse (dots, 0, DBR_JSON_PATH_ERROR_SYNTAX, "a JSONPath of more than 4096 bytes");
  refuse (deep->str, DBR_JSON_PATH_CONDITION, DBR_JSON_PATH_ERROR_SYNTAX, NULL);
  refuse ("$[?nosuch(@)]", 0, DBR_JSON_PATH_ERROR_TYPE,
          "JSONPath '$[?nosuch(@)]': no function is called 'nosuch' (column 4)");
  refuse ("age(@.a, @.b)", ANY, DBR_JSON_PATH_ERROR_TYPE,
          "JSONPath 'age(@.a, @.b)': age() takes one argument, not 2 (column 1)");
  refuse ("upstream()", ANY, DBR_JSON_PATH_ERROR_TYPE,
          "JSONPath 'upstream()': upstream() takes one argument or two, not 0 (column 1)");
  refuse ("seconds(@.a)", ANY, DBR_JSON_PATH_ERROR_TYPE,
          "JSONPath 'seconds(@.a)': seconds() takes two arguments, not 1 (column 1)");
  refuse ("age(@.*)", ANY, DBR_JSON_PATH_ERROR_TYPE, NULL);
  refuse ("age((@.a))", ANY, DBR_JSON_PATH_ERROR_TYPE, NULL);
  refuse ("count('a')", ANY, DBR_JSON_PATH_ERROR_TYPE,
          "JSONPath 'count('a')': a query is needed here (column 7)");
  refuse ("match(@.a, 'b')", ANY, DBR_JSON_PATH_ERROR_TYPE,
          "JSONPath 'match(@.a, 'b')': a query or a function that gives a value is needed");
  refuse ("true", ANY, DBR_JSON_PATH_ERROR_TYPE,
          "JSONPath 'true': a query or a function that gives a value is needed");
  refuse ("length(@.a)", DBR_JSON_PATH_CONDITION, DBR_JSON_PATH_ERROR_TYPE,
          "JSONPath 'length(@.a)': a value alone is no condition: compare it (column 1)");
  refuse ("match(@.a, '\\\\d+')", DBR_JSON_PATH_CONDITION, DBR_JSON_PATH_ERROR_TYPE,
          "JSONPath 'match(@.a, '\\\\d+')': not a regular expression of RFC 9485 from its byte 2 "
          "on (no "
          "\\d \\w \\s, no lazy quantifiers, no look-around) (column 12)");
  refuse (
      "$[9007199254740992]", 0, DBR_JSON_PATH_ERROR_TYPE,
      "JSONPath '$[9007199254740992]': '9007199254740992' at column 3 is beyond 9007199254740991");
  refuse ("", ANY, DBR_JSON_PATH_ERROR_SYNTAX, "JSONPath '': expected $ or @, found the end");
}

/* The longest chain is no deep recursion, and the deepest nesting is accepted. */
static void
test_extremes (void)
{
  g_autoptr (GString) chain = g_string_new ("@");
  g_autoptr (GString) nested = g_string_new ("@");
  DbrJsonPathEnv env = { .root = DBR_JSON_NONE };
  while (chain->len < DBR_JSON_PATH_MAX_TEXT - 4)
    g_string_append (chain, "||@");
  for (guint i = 0; i < DBR_JSON_PATH_MAX_NESTING; i++)
    {
      g_string_prepend_c (nested, '(');
      g_string_append_c (nested, ')');
    }
  g_assert_false (test_of (chain->str, &env));
  g_assert_false (test_of (nested->str, &env));
}

static void
test_regexp (void)
{
  static const struct
  {
    const char *pattern;
    const char *translated; /* NULL: not I-Regexp */
  } cases[] = {
    { "", "(?:)" },
    { "a.b|c", "(?:a[^\\n\\r]b|c)" },
    { "(ab)*c+d?", "(?:(?:ab)*c+d?)" },
    { "a{2}b{2,}c{2,3}", "(?:a{2}b{2,}c{2,3})" },
    { "[a-z^-]", "(?:[a-z^\\-])" },
    { "[^-a]", "(?:[^\\-a])" },
    { "[\\p{L}\\n-\\r.]", "(?:[\\p{L}\\n-\\r.])" },
    { "\\p{Lu}\\P{N}", "(?:\\p{Lu}\\P{N})" },
    { "^a\\.$", "(?:^a\\.$)" },
    { "\xC3\xA9+", "(?:\xC3\xA9+)" },
    { "a*?", NULL },
    { "a++", NULL },
    { "*", NULL },
    { "(?=a)", NULL },
    { "(a", NULL },
    { "a)", NULL },
    { "[", NULL },
    { "[]", NULL },
    { "[a", NULL },
    { "[a-", NULL },
    { "[[:alpha:]]", NULL },
    { "[a-c-e]", NULL },
    { "[\\p{L}-z]", NULL },
    { "\\d", NULL },
    { "\\1", NULL },
    { "\\", NULL },
    { "\\p{Lx}", NULL },
    { "\\p{Latin}", NULL },
    { "\\p{L", NULL },
    { "a{,2}", NULL },
    { "a{2", NULL },
    { "{", NULL },
    { "}", NULL },
    { "]", NULL },
    { "^*", NULL },
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      gsize len;
      g_autofree char *message = NULL;
      g_autofree char *text
          = path_regexp_translate (cases[i].pattern, strlen (cases[i].pattern), &len, &message);
      if (g_strcmp0 (text, cases[i].translated) != 0)
        g_error ("%s: %s", cases[i].pattern, text);
      g_assert_true ((text == NULL) == (message != NULL));
    }
  g_autofree char *message = NULL;
  g_assert_null (path_regexp_new ("a{70000}", 8, TRUE, &message));
  g_assert_true (g_str_has_prefix (message, "not a usable regular expression: "));
}

static void
test_regexp_of_document (void)
{
  g_autoptr (DbrJsonDoc) doc = parse (
      "{\"l\":[\"ab\",\"b\",\"\\u00e9\",\"(\"],\"p\":[\"a.\",\"(?=a)\",\".\",\"\\\\(\",\"a\"]}");
  DbrJsonPathEnv env = { .root = dbr_json_doc_root (doc) };

  assert_select ("$.l[?match(@, $.p[0])]", &env, "\"ab\"");
  assert_select ("$.l[?match(@, $.p[1])]", &env, "");
  assert_select ("$.l[?match(@, $.p[2])]", &env, "\"b\" \"\\u00e9\" \"(\"");
  assert_select ("$.l[?search(@, $.p[3])]", &env, "\"(\"");
  assert_select ("$.l[?match(@, $.p[4]) || search(@, $.p[4])]", &env, "\"ab\"");
  assert_select ("$.p[?match('a', @)]", &env, "\".\" \"a\"");
}

static void
test_normalized (void)
{
  g_autoptr (DbrJsonDoc) doc = parse ("{\"a'\\\\\":{\"\\b\\u0000\\u000b\":[1]}}");
  DbrJson root = dbr_json_doc_root (doc);
  DbrJson leaf = dbr_json_first (dbr_json_first (dbr_json_first (root)));
  g_autofree char *text = dbr_json_path_normalized (root, leaf);
  g_autofree char *whole = dbr_json_path_normalized (root, root);

  g_assert_cmpstr (text, ==, "$['a\\'\\\\']['\\b\\u0000\\u000b'][0]");
  g_assert_cmpstr (whole, ==, "$");
  g_assert_null (dbr_json_path_normalized (root, DBR_JSON_NONE));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/json-path/relative", test_relative);
  g_test_add_func ("/json-path/conditions", test_conditions);
  g_test_add_func ("/json-path/values", test_values);
  g_test_add_func ("/json-path/key", test_key);
  g_test_add_func ("/json-path/composed", test_composed);
  g_test_add_func ("/json-path/graph", test_graph);
  g_test_add_func ("/json-path/graph-large", test_graph_large);
  g_test_add_func ("/json-path/graph-forgets", test_graph_forgets);
  g_test_add_func ("/json-path/budget", test_budget);
  g_test_add_func ("/json-path/budget-quadratic", test_budget_quadratic);
  g_test_add_func ("/json-path/budget-of-long-texts", test_budget_of_long_texts);
  g_test_add_func ("/json-path/roots", test_roots);
  g_test_add_func ("/json-path/errors", test_errors);
  g_test_add_func ("/json-path/extremes", test_extremes);
  g_test_add_func ("/json-path/regexp", test_regexp);
  g_test_add_func ("/json-path/regexp-of-document", test_regexp_of_document);
  g_test_add_func ("/json-path/normalized", test_normalized);
  return g_test_run ();
}
