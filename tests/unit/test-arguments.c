/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments as models really send them. The tables are the specification: what has one meaning is
 * taken, all else is refused by name with what fits. Rows are {arguments, result or messages}.
 */
#include "config.h"

#include "catalogue/dbr-catalogue-priv.h"

#include <string.h>

#define HEAD \
  "<catalogue name=\"t\" xmlns=\"urn:drawbridge:catalogue:1\"><title>T</title>" \
  "<backend server-name=\"t\" url=\"http://localhost:1\"><gate writes-env=\"T_W\"/></backend>" \
  "<category name=\"c\">C</category><tool name=\"t\" category=\"c\"><title>T</title>" \
  "<description>D.</description>"
#define TAIL "<answer><line>{$.call.id}</line></answer></tool></catalogue>"

/* A tool that reads: everything in path and query. */
static const char read_tool[] = HEAD
    "<param name=\"dag_id\" type=\"string\" required=\"yes\">The Dag's id. As list_dags has "
    "it.</param>"
    "<param name=\"limit\" type=\"integer\" minimum=\"0\" maximum=\"100\" default=\"50\">How "
    "many.</param>"
    "<param name=\"state\" type=\"string\">A "
    "state.<value>queued</value><value>success</value><value>failed</value></param>"
    "<param name=\"big\" type=\"integer\">Any integer.</param>"
    "<param name=\"ratio\" type=\"number\" minimum=\"0.5\" maximum=\"2\">A ratio.</param>"
    "<param name=\"size\" type=\"number\">Any number.</param>"
    "<param name=\"paused\" type=\"boolean\">Paused.</param>"
    "<param name=\"tags\" type=\"array\" max-items=\"3\">Tags.<items type=\"string\" "
    "max-length=\"5\"/></param>"
    "<param name=\"try_number\" type=\"integer\">A try.<value>1</value><value>2</value></param>"
    "<param name=\"code\" type=\"string\" pattern=\"[A-Z]+\">A code.</param>"
    "<param name=\"slow\" type=\"string\" pattern=\"(a+)+b\">Slow.</param>"
    "<param name=\"short\" type=\"string\" min-length=\"2\" max-length=\"3\">Short.</param>"
    "<request id=\"r\" path=\"/x/{dag_id}\"><query name=\"a\" "
    "value=\"{state}{limit}{big}{ratio}{size}{paused}"
    "{$.args.tags[*]}{try_number}{code}{slow}{short}\"/></request>" TAIL;

/* A tool that writes: everything in the body. */
static const char write_tool[] = HEAD
    "<param name=\"id\" type=\"string\" required=\"yes\">Which.</param>"
    "<param name=\"note\" type=\"string\">A note.</param>"
    "<param name=\"dry_run\" type=\"boolean\" default=\"false\">Only show.</param>"
    "<param name=\"secret\" type=\"string\" refuse=\"***\">A secret.</param>"
    "<param name=\"conf\" type=\"object\">Anything.</param>"
    "<param name=\"pairs\" type=\"array\">Any array.</param>"
    "<param name=\"pool\" type=\"object\">A pool."
    "<param name=\"name\" type=\"string\" required=\"yes\">Its name.</param>"
    "<param name=\"slots\" type=\"integer\" minimum=\"1\">Its slots.</param>"
    "<param name=\"deferred\" type=\"boolean\" default=\"true\">Also deferred ones.</param></param>"
    "<request id=\"r\" method=\"PATCH\" path=\"/x/{id}\"><body>"
    "<field name=\"note\" from=\"$.args.note\"/><field name=\"d\" from=\"$.args.dry_run\"/>"
    "<field name=\"s\" from=\"$.args.secret\"/><field name=\"c\" from=\"$.args.conf\"/>"
    "<field name=\"pairs\" from=\"$.args.pairs\"/><field name=\"p\" "
    "from=\"$.args.pool\"/></body></request>" TAIL;

static const char no_params[] = HEAD "<request id=\"r\" path=\"/x\"/>" TAIL;

static DbrCatalogue *
load (const char *text)
{
  g_autoptr (GError) error = NULL;
  DbrCatalogueOptions options = { .is_shipped = TRUE };
  DbrCatalogue *catalogue
      = dbr_catalogue_load_data (text, strlen (text), "t.xml", &options, &error);
  g_assert_no_error (error);
  return catalogue;
}

static char *
check (const DbrCatalogue *catalogue, const char *arguments, int *out_code)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DbrJsonDoc) doc = dbr_json_doc_new_from_data (arguments, -1, NULL, &error);
  g_assert_no_error (error);
  g_autoptr (DbrJsonDoc) result
      = dbr_arguments_check (dbr_catalogue_find (catalogue, "t"), dbr_json_doc_root (doc), &error);
  *out_code = error ? error->code : -1;
  if (error)
    {
      g_assert_true (error->domain == DBR_ARGUMENT_ERROR);
      g_assert_null (result);
      return g_strdup (error->message);
    }
  GString *text = g_string_new (NULL);
  dbr_json_append (dbr_json_doc_root (result), text);
  return g_string_free (text, FALSE);
}

typedef struct
{
  const char *arguments, *result;
  int code; /* -1: fine, and result is what is sent on */
} Row;

static void
check_rows (const char *tool, const Row *rows, guint n)
{
  g_autoptr (DbrCatalogue) catalogue = load (tool);
  for (guint i = 0; i < n; i++)
    {
      int code;
      g_autofree char *got = check (catalogue, rows[i].arguments, &code);
      g_test_message ("%s", rows[i].arguments);
      g_assert_cmpstr (got, ==, rows[i].result);
      g_assert_cmpint (code, ==, rows[i].code);
    }
}

#define A "{\"dag_id\":\"a\","
#define L ",\"limit\":50"
#define FINE(in, out) \
  { \
    A in "}", "{\"dag_id\":\"a\"" out "}", -1 \
  }
#define BAD(in, message, code) \
  { \
    A in "}", message, DBR_ARGUMENT_ERROR_##code \
  }
#define INTEGER "expected an integer in plain digits, such as 10, found "

static void
test_numbers (void)
{
  static const Row rows[] = {
    FINE ("\"limit\":10", ",\"limit\":10"),
    FINE ("\"limit\":\"10\"", ",\"limit\":10"),
    FINE ("\"limit\":10.0", ",\"limit\":10"),
    FINE ("\"limit\":\"10.0\"", ",\"limit\":10"),
    FINE ("\"big\":\"-1\"", L ",\"big\":-1"),
    FINE ("\"limit\":\" 5 \"", ",\"limit\":5"),
    FINE ("\"limit\":0", ",\"limit\":0"),
    FINE ("\"limit\":-0", ",\"limit\":0"),
    FINE ("\"limit\":100", ",\"limit\":100"),
    FINE ("\"big\":9007199254740993", L ",\"big\":9007199254740993"),
    FINE ("\"big\":9223372036854775807", L ",\"big\":9223372036854775807"),
    FINE ("\"big\":\"-9223372036854775808\"", L ",\"big\":-9223372036854775808"),
    BAD ("\"limit\":1e1", "limit: " INTEGER "the number 1e1.", TYPE),
    BAD ("\"limit\":1e3", "limit: " INTEGER "the number 1e3.", TYPE),
    BAD ("\"limit\":\"1e1\"", "limit: " INTEGER "the string \"1e1\".", TYPE),
    BAD ("\"limit\":10.5", "limit: " INTEGER "the number 10.5.", TYPE),
    BAD ("\"limit\":\"0x10\"", "limit: " INTEGER "the string \"0x10\".", TYPE),
    BAD ("\"limit\":\"+5\"", "limit: " INTEGER "the string \"+5\".", TYPE),
    BAD ("\"limit\":\"007\"", "limit: " INTEGER "the string \"007\".", TYPE),
    BAD ("\"limit\":\"ten\"", "limit: " INTEGER "the string \"ten\".", TYPE),
    BAD ("\"limit\":\"NaN\"", "limit: " INTEGER "the string \"NaN\".", TYPE),
    BAD ("\"limit\":true", "limit: " INTEGER "true.", TYPE),
    BAD ("\"limit\":[1]", "limit: " INTEGER "an array of 1.", TYPE),
    BAD ("\"limit\":\"[1]\"", "limit: " INTEGER "the string \"[1]\".", TYPE),
    BAD ("\"limit\":\" \"", "limit: " INTEGER "the string \" \".", TYPE),
    BAD ("\"big\":99999999999999999999",
         "big: expected an integer of at most 64 bits, found the number 99999999999999999999.",
         TYPE),
    BAD ("\"limit\":101", "limit: 101 is over the maximum, 100.", RANGE),
    BAD ("\"limit\":-1", "limit: -1 is under the minimum, 0.", RANGE),
    BAD ("\"try_number\":3", "try_number: \"3\" is not one of: 1, 2.", RANGE),
    FINE ("\"try_number\":\"2\"", L ",\"try_number\":2"),
    FINE ("\"ratio\":1.10", L ",\"ratio\":1.10"),
    FINE ("\"ratio\":\"1.10\"", L ",\"ratio\":1.10"),
    FINE ("\"size\":1e400", L ",\"size\":1e400"),
    FINE ("\"size\":-0", L ",\"size\":-0"),
    BAD ("\"ratio\":0.4", "ratio: 0.4 is under the minimum, 0.5.", RANGE),
    BAD ("\"ratio\":1e400", "ratio: 1e400 is over the maximum, 2.", RANGE),
    BAD ("\"ratio\":-1e400", "ratio: -1e400 is under the minimum, 0.5.", RANGE),
    BAD ("\"ratio\":\"half\"", "ratio: expected a number, such as 2.5, found the string \"half\".",
         TYPE),
  };
  check_rows (read_tool, rows, G_N_ELEMENTS (rows));
}

static void
test_booleans (void)
{
#define YES_NO "paused: expected true or false, found "
  static const Row rows[] = {
    FINE ("\"paused\":true", L ",\"paused\":true"),
    FINE ("\"paused\":false", L ",\"paused\":false"),
    FINE ("\"paused\":\"true\"", L ",\"paused\":true"),
    FINE ("\"paused\":\" False \"", L ",\"paused\":false"),
    BAD ("\"paused\":1", YES_NO "the number 1.", TYPE),
    FINE ("\"paused\":\"yes\"", L ",\"paused\":true"),
    FINE ("\"paused\":\"On\"", L ",\"paused\":true"),
    FINE ("\"paused\":\"no\"", L ",\"paused\":false"),
    FINE ("\"paused\":\" OFF\"", L ",\"paused\":false"),
    BAD ("\"paused\":\"y\"", YES_NO "the string \"y\".", TYPE),
    BAD ("\"paused\":\"1\"", YES_NO "the string \"1\".", TYPE),
  };
  check_rows (read_tool, rows, G_N_ELEMENTS (rows));
}

static void
test_left_out (void)
{
  static const Row rows[] = {
    FINE ("\"state\":null,\"limit\":0,\"paused\":false,\"code\":\"\"",
          ",\"limit\":0,\"paused\":false"),
    FINE ("\"limit\":null", L),
    FINE ("\"limit\":\"\"", L),
    FINE ("\"paused\":\"\",\"tags\":\"\",\"ratio\":null,\"tags\":null", L),
    { "{}", "dag_id: is required: The Dag's id.", DBR_ARGUMENT_ERROR_MISSING },
    { "null", "dag_id: is required: The Dag's id.", DBR_ARGUMENT_ERROR_MISSING },
    { "{\"dag_id\":\"\"}", "dag_id: is required: The Dag's id.", DBR_ARGUMENT_ERROR_MISSING },
    { "{\"dag_id\":null}", "dag_id: is required: The Dag's id.", DBR_ARGUMENT_ERROR_MISSING },
    { "[]", "arguments must be an object, found an array of 0.", DBR_ARGUMENT_ERROR_TYPE },
    { "\"x\"", "arguments must be an object, found the string \"x\".", DBR_ARGUMENT_ERROR_TYPE },
  };
  check_rows (read_tool, rows, G_N_ELEMENTS (rows));
}

static void
test_strings (void)
{
  static const Row rows[] = {
    FINE ("\"code\":\"ABC\"", L ",\"code\":\"ABC\""),
    BAD ("\"code\":\"ABc\"", "code: \"ABc\" doesn't match the pattern [A-Z]+.", RANGE),
    BAD ("\"code\":\"ABC\\n\"", "code: \"ABC\\n\" doesn't match the pattern [A-Z]+.", RANGE),
    BAD ("\"code\":5", "code: expected a string, found the number 5.", TYPE),
    BAD ("\"code\":true", "code: expected a string, found true.", TYPE),
    BAD ("\"code\":{}", "code: expected a string, found an object.", TYPE),
    BAD ("\"code\":\"A\\u0000\"", "code: holds a NUL character; remove it.", RANGE),
    BAD ("\"short\":\"a\"", "short: has 1 characters; at least 2 are needed.", RANGE),
    BAD ("\"short\":\"äöüß\"", "short: has 4 characters; at most 3 fit.", RANGE),
    FINE ("\"short\":\"äöü\"", L ",\"short\":\"äöü\""),
    FINE ("\"state\":\"failed\"", L ",\"state\":\"failed\""),
    FINE ("\"state\":\"Failed\"", L ",\"state\":\"failed\""),
    FINE ("\"state\":\"QUEUED\"", L ",\"state\":\"queued\""),
    BAD ("\"state\":\"fail\"",
         "state: \"fail\" is not one of: queued, success, failed. Did you mean failed?", RANGE),
    BAD ("\"state\":\"succ\"",
         "state: \"succ\" is not one of: queued, success, failed. Did you mean success?", RANGE),
    BAD ("\"state\":\"zzz\"", "state: \"zzz\" is not one of: queued, success, failed.", RANGE),
    BAD ("\"state\":\"\\u202efailed\"",
         "state: \"\\u{202E}failed\" is not one of: queued, success, failed. Did you mean failed?",
         RANGE),
    BAD ("\"slow\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaacb\"",
         "slow: \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaacb\" takes too long to compare with the "
         "pattern "
         "(a+)+b.",
         RANGE),
  };
  check_rows (read_tool, rows, G_N_ELEMENTS (rows));
}

static void
test_arrays (void)
{
#define ARRAY "expected an array, such as [\"a\", \"b\"], found "
  static const Row rows[] = {
    FINE ("\"tags\":[\"x\",\"y\"]", L ",\"tags\":[\"x\",\"y\"]"),
    FINE ("\"tags\":\"[\\\"x\\\"]\"", L ",\"tags\":[\"x\"]"),
    FINE ("\"tags\":[]", L ",\"tags\":[]"),
    FINE ("\"tags\":\"x\"", L ",\"tags\":[\"x\"]"),
    FINE ("\"tags\":\"5\"", L ",\"tags\":[\"5\"]"),
    FINE ("\"tags\":\"\\\"x\\\"\"", L ",\"tags\":[\"\\\"x\\\"\"]"),
    BAD ("\"tags\":\"toolong\"", "tags: has 7 characters; at most 5 fit.", RANGE),
    BAD ("\"tags\":\"a, b\"",
         "tags: expected an array, written [\"a\", \"b\"], found the string \"a, b\".", TYPE),
    BAD ("\"tags\":\" [x\"", "tags: " ARRAY "the string \" [x\".", TYPE),
    BAD ("\"tags\":5", "tags: " ARRAY "the number 5.", TYPE),
    BAD ("\"tags\":\"{}\"", "tags: " ARRAY "the string \"{}\".", TYPE),
    BAD ("\"tags\":[\"x\",5]", "tags[1]: expected a string, found the number 5.", TYPE),
    BAD ("\"tags\":[null]", "tags[0]: expected a string, found null.", TYPE),
    BAD ("\"tags\":[\"toolong\"]", "tags[0]: has 7 characters; at most 5 fit.", RANGE),
    BAD ("\"tags\":[\"a\",\"b\",\"c\",\"d\"]", "tags: has 4 elements; at most 3 fit.", RANGE),
  };
  check_rows (read_tool, rows, G_N_ELEMENTS (rows));
}

static void
test_unknown (void)
{
  static const Row rows[] = {
    { "{\"id\":\"a\",\"nots\":1}",
      "there is no argument \"nots\"; did you mean \"note\"? Known: id, note, dry_run, secret, "
      "conf, pairs, pool.",
      DBR_ARGUMENT_ERROR_UNKNOWN },
    { "{\"id\":\"a\",\"dry\":1}",
      "there is no argument \"dry\"; did you mean \"dry_run\"? Known: id, note, dry_run, secret, "
      "conf, pairs, pool.",
      DBR_ARGUMENT_ERROR_UNKNOWN },
    { "{\"id\":\"a\",\"something\":1}",
      "there is no argument \"something\". Known: id, note, dry_run, secret, conf, pairs, pool.",
      DBR_ARGUMENT_ERROR_UNKNOWN },
    { "{\"id\":\"a\",\"\\u001b[1mx\\n\":1}",
      "there is no argument \"x\\n\". Known: id, note, dry_run, secret, conf, pairs, pool.",
      DBR_ARGUMENT_ERROR_UNKNOWN },
    { "{\"nota\":1,\"secret\":\"***\",\"pool\":{\"slots\":0,\"nam\":\"x\"}}",
      "id: is required: Which.\n"
      "secret: \"***\" stands for a value that isn't shown and is never sent back; leave it out or "
      "give the real "
      "value.\n"
      "pool.name: is required: Its name.\n"
      "pool.slots: 0 is under the minimum, 1.\n"
      "pool: there is no argument \"nam\"; did you mean \"name\"? Known: name, slots, deferred.\n"
      "there is no argument \"nota\"; did you mean \"note\"? Known: id, note, dry_run, secret, "
      "conf, pairs, pool.",
      DBR_ARGUMENT_ERROR_MISSING },
  };
  static const Row none[] = {
    { "{}", "{}", -1 },
    { "{\"a\":1}", "there is no argument \"a\". Known: none.", DBR_ARGUMENT_ERROR_UNKNOWN },
  };
  check_rows (write_tool, rows, G_N_ELEMENTS (rows));
  check_rows (no_params, none, G_N_ELEMENTS (none));
}

#define D ",\"dry_run\":false"

static void
test_bodies (void)
{
#define OBJECT "conf: expected an object, such as {\"key\": 1}, found "
  static const Row rows[] = {
    /* null clears a field; a default is what null means elsewhere */
    { "{\"id\":\"a\",\"note\":null}", "{\"id\":\"a\",\"note\":null" D "}", -1 },
    { "{\"id\":\"a\",\"note\":\"\"}", "{\"id\":\"a\",\"note\":\"\"" D "}", -1 },
    { "{\"id\":\"a\",\"dry_run\":null}", "{\"id\":\"a\"" D "}", -1 },
    { "{\"id\":\"a\",\"conf\":\"\"}", "{\"id\":\"a\"" D "}", -1 },
    { "{\"id\":\"a\",\"conf\":null}", "{\"id\":\"a\"" D ",\"conf\":null}", -1 },
    { "{\"id\":\"a\",\"conf\":{\"k\":null,\"id\":9007199254740993,\"f\":1.10,\"e\":1e400,\"z\":-0,"
      "\"k\":\"\"}}",
      "{\"id\":\"a\"" D
      ",\"conf\":{\"k\":null,\"id\":9007199254740993,\"f\":1.10,\"e\":1e400,\"z\":-0,\"k\":\"\"}}",
      -1 },
    { "{\"id\":\"a\",\"conf\":\"{\\\"k\\\":9007199254740993}\"}",
      "{\"id\":\"a\"" D ",\"conf\":{\"k\":9007199254740993}}", -1 },
    { "{\"id\":\"a\",\"conf\":\"[1]\"}", OBJECT "the string \"[1]\".", DBR_ARGUMENT_ERROR_TYPE },
    { "{\"id\":\"a\",\"conf\":\"oops\"}", OBJECT "the string \"oops\".", DBR_ARGUMENT_ERROR_TYPE },
    { "{\"id\":\"a\",\"conf\":\"\\\"{}\\\"\"}", OBJECT "the string \"\"{}\"\".",
      DBR_ARGUMENT_ERROR_TYPE },
    { "{\"id\":\"a\",\"conf\":[]}", OBJECT "an array of 0.", DBR_ARGUMENT_ERROR_TYPE },
    { "{\"id\":\"a\",\"pairs\":[\"x\",[\"y\",1]]}",
      "{\"id\":\"a\"" D ",\"pairs\":[\"x\",[\"y\",1]]}", -1 },
    { "{\"id\":\"a\",\"pool\":{\"name\":\"p\",\"slots\":\"3\"}}",
      "{\"id\":\"a\"" D ",\"pool\":{\"name\":\"p\",\"slots\":3,\"deferred\":true}}", -1 },
    { "{\"id\":\"a\",\"pool\":{\"name\":\"p\",\"slots\":null}}",
      "{\"id\":\"a\"" D ",\"pool\":{\"name\":\"p\",\"slots\":null,\"deferred\":true}}", -1 },
    { "{\"id\":\"a\",\"secret\":\"***\"}",
      "secret: \"***\" stands for a value that isn't shown and is never sent back; leave it out or "
      "give the real "
      "value.",
      DBR_ARGUMENT_ERROR_RANGE },
    { "{\"id\":\"a\",\"secret\":\"****\"}", "{\"id\":\"a\"" D ",\"secret\":\"****\"}", -1 },
  };
  check_rows (write_tool, rows, G_N_ELEMENTS (rows));
}

/* Exactly one of several; null and "" are not given. */
static void
test_one_of (void)
{
  static const char text[] = HEAD
      "<param name=\"a\" type=\"integer\">A.</param><param name=\"b\" type=\"string\">B.</param>"
      "<one-of params=\"a b\"/>"
      "<request id=\"r\" path=\"/a/{a}\" with=\"a\"/><request id=\"s\" path=\"/b/{b}\" "
      "with=\"b\"/>" TAIL;
  static const Row rows[] = {
    { "{\"a\":\"1\"}", "{\"a\":1}", -1 },
    { "{\"a\":null,\"b\":\"x\"}", "{\"b\":\"x\"}", -1 },
    { "{}", "exactly one of a, b must be given; found none.", DBR_ARGUMENT_ERROR_MISSING },
    { "{\"a\":\"\",\"b\":\"\"}", "exactly one of a, b must be given; found none.",
      DBR_ARGUMENT_ERROR_MISSING },
    { "{\"a\":1,\"b\":\"x\"}", "exactly one of a, b must be given; found a, b.",
      DBR_ARGUMENT_ERROR_RANGE },
  };
  check_rows (text, rows, G_N_ELEMENTS (rows));
}

/* A hundred problems make a message that can be read. */
static void
test_many_problems (void)
{
  g_autoptr (DbrCatalogue) catalogue = load (no_params);
  g_autoptr (GString) arguments = g_string_new ("{");
  for (guint i = 0; i < 100; i++)
    g_string_append_printf (arguments, "%s\"k%u\":1", i ? "," : "", i);
  g_string_append_c (arguments, '}');
  int code;
  g_autofree char *got = check (catalogue, arguments->str, &code);
  g_assert_true (g_str_has_suffix (got, "\nand 80 more."));
  g_assert_cmpuint (strlen (got), <, 2000);
}

/* A value of a megabyte is named by its beginning. */
static void
test_long_value (void)
{
  g_autoptr (DbrCatalogue) catalogue = load (read_tool);
  g_autofree char *long_text = g_strnfill (1u << 20, 'x');
  g_autofree char *arguments
      = g_strdup_printf ("{\"dag_id\":\"%s\",\"limit\":\"%s\"}", long_text, long_text);
  int code;
  g_autofree char *got = check (catalogue, arguments, &code);
  g_assert_true (strstr (got, "dag_id: has 1048576 characters; at most 4096 fit.") != NULL);
  g_assert_cmpuint (strlen (got), <, 400);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/arguments/numbers", test_numbers);
  g_test_add_func ("/arguments/booleans", test_booleans);
  g_test_add_func ("/arguments/left-out", test_left_out);
  g_test_add_func ("/arguments/strings", test_strings);
  g_test_add_func ("/arguments/arrays", test_arrays);
  g_test_add_func ("/arguments/unknown", test_unknown);
  g_test_add_func ("/arguments/bodies", test_bodies);
  g_test_add_func ("/arguments/one-of", test_one_of);
  g_test_add_func ("/arguments/many-problems", test_many_problems);
  g_test_add_func ("/arguments/long-value", test_long_value);
  return g_test_run ();
}
