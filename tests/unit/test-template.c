/* SPDX-License-Identifier: Apache-2.0 */
/* Templates: every format with good, bad and absent input, pieces, fall-backs, errors with their
 * column. */
#include "config.h"

#include "answer/dbr-template.h"
#include <string.h>

/* 2026-11-30T13:24:21Z */
#define NOW_US (G_GINT64_CONSTANT (1796045061) * G_USEC_PER_SEC)

static const char data[]
    = "{\"near\":{\"m5\":\"2026-11-30T13:24:16Z\",\"m4\":\"2026-11-30T13:24:16.5Z\","
      "\"p0\":\"2026-11-30T13:24:21.9Z\",\"p1\":\"2026-11-30T13:24:22Z\","
      "\"p1_5\":\"2026-11-30T13:24:22.5Z\",\"p59_5\":\"2026-11-30T13:25:20.5Z\"},"
      "\"args\":{\"dag_id\":\"etl\",\"n\":5,\"on\":true,\"off\":false,\"empty\":\"\",\"tags\":["
      "\"a\",\"b\",\"c\"]},"
      "\"run\":{\"state\":\"failed\",\"note\":null,\"start\":\"2026-11-30T11:20:00Z\",\"soon\":"
      "\"2026-11-30T13:30:00+00:00\","
      "\"now\":\"2026-11-30T13:24:20.5Z\",\"old\":\"2020-01-01T00:00:00Z\",\"size\":1634567,"
      "\"small\":512,\"dur\":8.5,"
      "\"dur2\":123,\"dur3\":3840.2,\"dur4\":266400,\"dur5\":59.97,\"dur6\":0.352,\"neg\":-5,"
      "\"big\":12345678901234567890,"
      "\"text\":\"one\\ntwo\\nthree\\n\",\"lines\":\"\\n a  b \\r\\n\\n\\tc "
      "\",\"evil\":\"a\\n[info] "
      "b\\u202ec\\u001b[31m\",\"path\":\"/opt/dags/etl.py\","
      "\"js\":\"{\\\"a\\\" : 1}\",\"obj\":{\"a\": 1, \"b\":[1, 2]},\"list\":[],\"nul\":null,"
      "\"err\":\"KeyError: 'x1' at 0x7f3a in 12 of 6f1e2d3c4b5a, id "
      "01a22ca0-6d52-7a44-a798-52bce85a6521\","
      "\"long\":\"abcdefghijklmnopqrstuvwxyz\"},"
      "\"failed\":{\"ti\":[{\"id\":\"x\",\"m\":0,\"s\":\"failed\",\"d\":1.5},{\"id\":\"y\",\"m\":1,"
      "\"s\":\"up\",\"d\":4},"
      "{\"id\":\"x\",\"m\":2,\"s\":\"failed\",\"d\":2},{\"id\":\"z\",\"m\":7,\"s\":null,\"d\":null}"
      "]},"
      "\"http\":{\"failed\":{\"rows\":1,\"total\":30}}}";

static const char item[] = "{\"name\":\"it\",\"a\":{\"b\":{\"c\":\"deep\"}},\"n\":3}";

typedef struct
{
  const char *text, *out;
} Case;

static const Case cases[] = {
  /* sources */
  { "", "" },
  { "plain", "plain" },
  { "{dag_id}", "etl" },
  { "{ dag_id }", "etl" },
  { "{$.run.state} {@.name} {@.a.b.c} {@.n} {n} {on}", "failed it deep 3 5 true" },
  { "{$.run.big}", "12345678901234567890" },
  { "{$.run.obj} {$.run.list}", "{\"a\":1,\"b\":[1,2]} []" },
  { "{$['run']['state']}", "failed" },
  { "{$.failed.ti[*].id}", "x, y, x, z" },
  { "{$.failed.ti[?@.s == 'failed' || @.m > 5].id}", "x, x, z" },
  { "{$.failed.ti[?@.s == '}|?"
    "?'].id}",
    "" },
  { "{{x}} [[y]] }}{{", "{x} [y] }{" },
  { "{$.nothing}|{$.run.note}|{empty}", "||" },
  /* fall-backs */
  { "{$.nothing ?? dag_id}", "etl" },
  { "{$.run.note ?? empty ?? 'none yet'}", "none yet" },
  { "{$.run.note?"
    "?'it\\'s'}",
    "it's" },
  { "{$.run.list[0] ?? $.run.state}", "failed" },
  { "{$.run.nul ?? $.run.start|ago}", "2 h ago" },
  { "{$.run.start|time ?? $.run.state}", "2026-11-30 11:20:00Z" },
  { "{$.run.nul|time ?? $.run.state}", "failed" },
  { "{$.failed.ti[*].id|last ?? 'x'}", "z" },
  { "{$.failed.none[*].id|last ?? 'x'}", "x" },
  { "{off|yes:a/ ?? 'b'}", "b" },
  /* pieces */
  { "a[ b {dag_id}]c", "a b etlc" },
  { "a[ b {$.run.note}]c", "ac" },
  { "a[ {dag_id} {$.run.note}][ {n}]", "a 5" },
  { "x[[{n}]][ [[{n}]]]!", "x[5] [5]!" },
  { "x[ {on|yes:paused/}][ {off|yes:paused/}]", "x paused" },
  /* safe */
  { "{$.run.evil}", "a\\n[info] b\\u{202E}c" },
  { "{$.run.text}", "one\\ntwo\\nthree" },
  { "{'awaiting_approval'|words} {$.run.state|words} {n|words}[ {$.run.nul|words}]",
    "awaiting approval failed 5" },
  /* formats of times */
  { "{$.run.start|ago} {$.run.soon|ago} {$.run.now|ago} {$.run.old|ago}",
    "2 h ago in 5 min just now 6 y ago" },
  { "{$.near.m5|ago} {$.near.m4|ago} {$.near.p0|ago} {$.near.p1|ago} {$.near.p1_5|ago} "
    "{$.near.p59_5|ago}",
    "5 s ago just now just now in 1 s in 2 s in 1 min" },
  { "{$.near.m5|until} {$.near.m4|until} {$.near.p0|until} {$.near.p1|until} {$.near.p1_5|until} "
    "{$.run.soon|until} {$.run.state|until}",
    "5 s ago now now in 1 s in 2 s in 5 min failed" },
  { "{$.run.state|ago} {n|ago}[ {$.run.nul|ago}]", "failed 5" },
  { "{$.run.now|time} {$.run.soon|time} {$.run.state|time}",
    "2026-11-30 13:24:20Z 2026-11-30 13:30:00Z failed" },
  { "{$.run.dur|duration} {$.run.dur2|duration} {$.run.dur3|duration} {$.run.dur4|duration}",
    "8.5 s 2 min 3 s 1 h 4 min 3 d 2 h" },
  { "{$.run.dur5|duration} {$.run.dur6|duration} {$.run.neg|duration}", "1 min 0.35 s -5 s" },
  { "{$.run.state|duration} {$.run.obj|duration}[{$.run.nul|duration}]",
    "failed {\"a\":1,\"b\":[1,2]}" },
  { "{seconds($.run.start, $.run.now)|duration} {age($.run.start)}", "2 h 4 min 7461" },
  /* amounts */
  { "{$.run.size|bytes} {$.run.small|bytes} {n|bytes} {$.run.neg|bytes} {dag_id|bytes}",
    "1.6 MB 512 B 5 B -5 etl" },
  { "{n|count} {n|count:run} {$.http.failed.rows|count:Dag run} "
    "{$.http.failed.total|count:entry/entries}",
    "5 5 runs 1 Dag run 30 entries" },
  { "{$.failed.ti|count} {$.failed.ti[*]|count:row} {$.run.list|count:x}", "4 4 rows 0 xs" },
  { "{$.failed.ti[?@.s == 'no']|count:row}[ {$.nothing[*]|count:row}][ {$.nothing|count}]",
    "0 rows" },
  { "{$.run.state|count:x}", "1 x" },
  /* one number that a query selected is one, whatever it is */
  { "{$.failed.ti[?@.d == 4].d|count:row} {$.failed.ti[0:1].m|count:row} {$.run.small|count:row}",
    "1 row 1 row 512 rows" },
  { "{$.failed.ti[*].s|tally}[ {$.failed.none[*].s|tally}]", "2 failed, 1 up, 1 none" },
  { "{$.failed.ti[*].m|ranges} {$.failed.ti[*].id|ranges}[ {$.failed.none[*]|ranges}]",
    "0-2, 7 x, y, x, z" },
  { "{$.failed.ti[*].id|distinct} {$.failed.ti[*].id|first} {$.failed.ti[*].id|last}",
    "x, y, z x z" },
  { "{$.failed.ti[*].d|sum} {$.failed.ti[*].d|min} {$.failed.ti[*].d|max} "
    "{$.failed.ti[*].d|median} {$.failed.ti[*].m|median}",
    "7.5 1.5 4 2 1.5" },
  { "{$.failed.ti[*].id|sum} {n|sum}", "x, y, x, z 5" },
  { "{$.failed.ti[*].id|limit:2} {$.failed.ti[*].id|limit:4} {$.failed.ti[*].id|distinct|limit:1}",
    "x, y and 2 more x, y, x, z x and 2 more" },
  /* texts */
  { "{$.run.long|cut:5} {$.run.long|cut:26} {$.run.long|cut:1} {$.failed.ti[*].id|cut:5}",
    "abcd… abcdefghijklmnopqrstuvwxyz … x, y…" },
  { "{$.run.text|one-line}", "one\\ntwo\\nthree" },
  { "{$.run.text|flat} {$.run.lines|flat}", "one / two / three a b / c" },
  { "{$.run.text|lines}", "one\n  two\n  three" },
  { "{$.run.text|lines:2}", "one\n  two\n  (1 more line)" },
  { "{$.run.text|lines:3}", "one\n  two\n  three" },
  { "{$.run.text|quote}", "> one\n  > two\n  > three" },
  { "why: {$.run.text|quote:2}", "why: > one\n  > two\n  (1 more line)" },
  { "{$.run.lines|quote}", ">\n  >  a  b\n  >\n  > \tc" },
  { "{$.run.evil|quote}", "> a\n  > [info] b\\u{202E}c" },
  { "{$.run.nul|quote}", "" },
  { "{$.run.evil|lines}", "a\n  [info] b\\u{202E}c" },
  { "{$.run.text|last-line} {$.run.state|last-line} {$.run.path|basename} {$.run.state|basename}",
    "three failed etl.py failed" },
  { "{$.run.err|shape}", "KeyError: 'x1' at # in # of #, id #" },
  { "{$.run.obj|json} {$.run.state|json} {$.run.nul|json} {empty|json}[ {$.nothing|json}]",
    "{\"a\":1,\"b\":[1,2]} \"failed\" null \"\"" },
  { "{$.run.js|json-text} {$.run.state|json-text}", "{\"a\":1} failed" },
  { "{on|yes:it is/it isn't} {off|yes:it is/it isn't} {n|yes:a/b}", "it is it isn't 5" },
};

static gboolean
render (const char *text, GString *out, gboolean *out_any)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DbrTemplate) template = dbr_template_new (text, &error);
  g_assert_no_error (error);
  g_autoptr (DbrJsonDoc) root = dbr_json_doc_new_from_data (data, -1, NULL, &error);
  g_assert_no_error (error);
  g_autoptr (DbrJsonDoc) current = dbr_json_doc_new_from_data (item, -1, NULL, NULL);
  DbrJsonPathEnv env
      = { dbr_json_doc_root (root), dbr_json_doc_root (current), NOW_US, NULL, NULL };
  gboolean is_good = dbr_template_append (template, &env, 2, out, out_any, &error);
  g_assert_no_error (error);
  return is_good;
}

static void
test_cases (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GString) out = g_string_new (NULL);
      g_assert_true (render (cases[i].text, out, NULL));
      if (!g_str_equal (out->str, cases[i].out))
        g_test_message ("template %s", cases[i].text);
      g_assert_cmpstr (out->str, ==, cases[i].out);
    }
}

static void
test_any (void)
{
  static const struct
  {
    const char *text;
    gboolean any;
  } any_cases[] = {
    { "", TRUE },
    { "x", TRUE },
    { "x {dag_id}", TRUE },
    { "x {$.nothing}", FALSE },
    { "x[ {$.nothing}]", FALSE },
    { "x {$.nothing} {n}", TRUE },
    { "x {$.nothing ?? 'y'}", TRUE },
  };
  for (guint i = 0; i < G_N_ELEMENTS (any_cases); i++)
    {
      g_autoptr (GString) out = g_string_new (NULL);
      gboolean any = FALSE;
      render (any_cases[i].text, out, &any);
      g_assert_cmpint (any, ==, any_cases[i].any);
    }
}

static void
test_errors (void)
{
  static const struct
  {
    const char *text;
    int code;
    const char *message;
  } errors[] = {
    { "abc {x", DBR_TEMPLATE_ERROR_SYNTAX,
      "column 5: this { isn't closed; write a } behind the name or path (a brace in the text is "
      "written {{)" },
    { "abc }", DBR_TEMPLATE_ERROR_SYNTAX,
      "column 5: this } closes nothing; a brace in the text is written }}" },
    { "é [x", DBR_TEMPLATE_ERROR_SYNTAX,
      "column 3: this [ is never closed; a bracket in the text is written [[" },
    { "x]", DBR_TEMPLATE_ERROR_SYNTAX,
      "column 2: this ] closes nothing; a bracket in the text is written ]]" },
    { "[a [{x}]]", DBR_TEMPLATE_ERROR_SYNTAX,
      "column 4: pieces in [ ] don't nest; a bracket in the text is written [[" },
    { "[x]", DBR_TEMPLATE_ERROR_SYNTAX,
      "column 1: a piece in [ ] without a placeholder; brackets in the text are written [[ and "
      "]]" },
    { "{}", DBR_TEMPLATE_ERROR_SYNTAX, "column 2: expected a name, a path or a 'text' here" },
    { "{a ?? }", DBR_TEMPLATE_ERROR_SYNTAX, "column 6: expected a name, a path or a 'text' here" },
    { "{a|agp}", DBR_TEMPLATE_ERROR_FORMAT,
      "column 4: there is no format \"agp\"; did you mean \"ago\"?" },
    { "{a|cut}", DBR_TEMPLATE_ERROR_FORMAT,
      "column 4: cut:: expected a whole number from 1 to 1000000 behind the colon" },
    { "{a|cut:0}", DBR_TEMPLATE_ERROR_FORMAT,
      "column 4: cut:0: expected a whole number from 1 to 1000000 behind the colon" },
    { "{a|ago:1}", DBR_TEMPLATE_ERROR_FORMAT, "column 4: the format \"ago\" takes no argument" },
    { "{a|yes:x}", DBR_TEMPLATE_ERROR_FORMAT,
      "column 4: yes takes two texts, \"yes:A/B\"; one of them may be empty" },
  };
  for (guint i = 0; i < G_N_ELEMENTS (errors); i++)
    {
      g_autoptr (GError) error = NULL;
      g_assert_null (dbr_template_new (errors[i].text, &error));
      g_assert_error (error, DBR_TEMPLATE_ERROR, errors[i].code);
      g_assert_cmpstr (error->message, ==, errors[i].message);
    }
  g_autoptr (GError) error = NULL;
  g_assert_null (dbr_template_new ("x {$.a[}", &error));
  g_assert_error (error, DBR_TEMPLATE_ERROR, DBR_TEMPLATE_ERROR_SYNTAX);
  g_assert_true (g_str_has_prefix (error->message, "column 4: "));
  g_clear_error (&error);
  g_assert_null (dbr_template_new ("{a|zzzzzz}", &error));
  g_assert_nonnull (strstr (error->message, "there are ago, basename"));
  g_clear_error (&error);
  g_autofree char *huge = g_strnfill (9000, 'x');
  g_assert_null (dbr_template_new (huge, &error));
  g_assert_error (error, DBR_TEMPLATE_ERROR, DBR_TEMPLATE_ERROR_SYNTAX);
}

static char *
join (const char *const *names)
{
  g_autoptr (GString) out = g_string_new (names[0]);
  for (guint i = 1; names[0] && names[i]; i++)
    g_string_append_printf (out, " %s", names[i]);
  return g_string_free (g_steal_pointer (&out), FALSE);
}

static void
test_names (void)
{
  g_autoptr (DbrTemplate) template
      = dbr_template_new ("{dag_id}/{try ?? $.args.other} {$.failed.ti[?@.x == $.args.third && @.y "
                          "== '$.args.no'].id} {$.http.run.rows} {@.z}",
                          NULL);
  g_assert_nonnull (template);
  g_autofree char *parameters = join (dbr_template_parameters (template));
  g_autofree char *roots = join (dbr_template_roots (template));
  g_assert_cmpstr (parameters, ==, "dag_id try other third");
  g_assert_cmpstr (roots, ==, "args failed http.run.rows");
  g_assert_false (dbr_template_is_literal (template));
  g_autoptr (DbrTemplate) literal = dbr_template_new ("a [[b]]", NULL);
  g_assert_true (dbr_template_is_literal (literal));
  g_assert_cmpstr (dbr_template_text (literal), ==, "a [[b]]");
  g_assert_cmpstr (dbr_template_literal (literal, 0), ==, "a [b]");
}

static void
test_requests (void)
{
  g_autoptr (DbrJsonDoc) root = dbr_json_doc_new_from_data (data, -1, NULL, NULL);
  DbrJsonPathEnv env = { dbr_json_doc_root (root), DBR_JSON_NONE, NOW_US, NULL, NULL };
  g_autoptr (DbrTemplate) path
      = dbr_template_new ("/dags/{dag_id}/x/{$.run.evil}[/{$.run.nul}]", NULL);
  g_assert_cmpuint (dbr_template_n_parts (path), ==, 6);
  g_assert_cmpstr (dbr_template_literal (path, 0), ==, "/dags/");
  g_assert_null (dbr_template_source (path, 0));
  g_assert_cmpstr (dbr_template_source (path, 1), ==, "dag_id");
  g_assert_null (dbr_template_literal (path, 1));
  g_autoptr (GString) out = g_string_new (NULL);
  gboolean present = FALSE;
  g_assert_true (dbr_template_value (path, 3, &env, out, &present, NULL));
  g_assert_true (present);
  g_assert_cmpstr (out->str, ==,
                   "a\n[info] b\xe2\x80\xae"
                   "c\x1b[31m");
  g_string_truncate (out, 0);
  g_assert_true (dbr_template_expand (path, &env, out, &present, NULL));
  g_assert_true (present);
  g_assert_true (g_str_has_prefix (out->str, "/dags/etl/x/a\n["));
  g_autoptr (DbrTemplate) absent = dbr_template_new ("/x/{$.run.nul}", NULL);
  g_assert_true (dbr_template_expand (absent, &env, out, &present, NULL));
  g_assert_false (present);
}

static void
test_nodes (void)
{
  static const struct
  {
    const char *text;
    gboolean bare;
    guint n;
  } node_cases[] = {
    { "{$.args.tags[*]}", TRUE, 3 },
    { "{dag_id}", TRUE, 1 },
    { "{$.run.nul}", TRUE, 0 },
    { "{empty ?? dag_id}", TRUE, 1 },
    { "x{dag_id}", FALSE, 0 },
    { "{dag_id|cut:3}", FALSE, 0 },
    { "x", FALSE, 0 },
    { "{dag_id ?? 'x'}", FALSE, 0 },
  };
  g_autoptr (DbrJsonDoc) root = dbr_json_doc_new_from_data (data, -1, NULL, NULL);
  DbrJsonPathEnv env = { dbr_json_doc_root (root), DBR_JSON_NONE, NOW_US, NULL, NULL };
  for (guint i = 0; i < G_N_ELEMENTS (node_cases); i++)
    {
      g_autoptr (DbrTemplate) template = dbr_template_new (node_cases[i].text, NULL);
      g_auto (DbrNodeList) list;
      dbr_node_list_init (&list);
      gboolean bare = FALSE;
      g_assert_true (dbr_template_nodes (template, &env, &bare, &list, NULL));
      g_assert_cmpint (bare, ==, node_cases[i].bare);
      g_assert_cmpuint (dbr_node_list_size (&list), ==, node_cases[i].n);
    }
}

static void
test_budget (void)
{
  g_autoptr (DbrJsonDoc) root = dbr_json_doc_new_from_data (data, -1, NULL, NULL);
  guint steps = 2;
  DbrJsonPathEnv env = { dbr_json_doc_root (root), DBR_JSON_NONE, NOW_US, NULL, &steps };
  g_autoptr (DbrTemplate) template = dbr_template_new ("{$..id}", NULL);
  g_autoptr (GString) out = g_string_new (NULL);
  g_autoptr (GError) error = NULL;
  g_assert_false (dbr_template_append (template, &env, 0, out, NULL, &error));
  g_assert_error (error, DBR_TEMPLATE_ERROR, DBR_TEMPLATE_ERROR_BUDGET);
  g_assert_cmpstr (error->message, ==, "{$..id} needed more steps than one answer may take");
}

/* No row of a quote is wider than a terminal, which would wrap it without the mark, but for one word. */
static void
test_quote_rows (void)
{
  static const struct
  {
    const char *word; /* repeated, and what is between */
    const char *gap;
    guint n;
    guint indent;
    glong widest;
  } quotes[] = {
    { "word", " ", 200, 2, 78 },       { "task 9 done", "\302\240", 90, 0, 78 },
    { "x", "          ", 100, 8, 78 }, { "\346\274\242\345\255\227", " ", 60, 2, 78 },
    { "e\314\201", " ", 100, 2, 150 },
  };
  for (guint i = 0; i < G_N_ELEMENTS (quotes); i++)
    {
      g_autoptr (GString) text = g_string_new (NULL);
      g_autoptr (GString) out = g_string_new (NULL);
      g_autoptr (DbrTemplate) template = dbr_template_new ("{$.t|quote}", NULL);
      for (guint n = 0; n < quotes[i].n; n++)
        g_string_append_printf (text, "%s%s", n ? quotes[i].gap : "", quotes[i].word);
      g_autofree char *json = g_strdup_printf ("{\"t\":\"%s\"}", text->str);
      g_autoptr (DbrJsonDoc) doc = dbr_json_doc_new_from_data (json, -1, NULL, NULL);
      DbrJsonPathEnv env = { .root = dbr_json_doc_root (doc) };
      g_assert_true (dbr_template_append (template, &env, quotes[i].indent, out, NULL, NULL));
      g_auto (GStrv) rows = g_strsplit (out->str, "\n", -1);
      g_assert_cmpuint (g_strv_length (rows), >, 1);
      for (guint row = 0; rows[row]; row++)
        {
          const char *at = row == 0 ? rows[row] : rows[row] + quotes[i].indent;
          g_assert_true (g_str_has_prefix (at, ">"));
          g_assert_cmpint (g_utf8_strlen (rows[row], -1), <=, quotes[i].widest);
        }
    }
  g_autofree char *word = g_strnfill (500, 'w');
  g_autofree char *json = g_strdup_printf ("{\"t\":\"a %s b\"}", word);
  g_autofree char *wanted = g_strdup_printf ("> a\n> %s\n> b", word);
  g_autoptr (DbrJsonDoc) doc = dbr_json_doc_new_from_data (json, -1, NULL, NULL);
  g_autoptr (DbrTemplate) template = dbr_template_new ("{$.t|quote}", NULL);
  g_autoptr (GString) out = g_string_new (NULL);
  DbrJsonPathEnv env = { .root = dbr_json_doc_root (doc) };
  g_assert_true (dbr_template_append (template, &env, 0, out, NULL, NULL));
  g_assert_cmpstr (out->str, ==, wanted);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/template/quote-rows", test_quote_rows);
  g_test_add_func ("/template/cases", test_cases);
  g_test_add_func ("/template/any", test_any);
  g_test_add_func ("/template/errors", test_errors);
  g_test_add_func ("/template/names", test_names);
  g_test_add_func ("/template/requests", test_requests);
  g_test_add_func ("/template/nodes", test_nodes);
  g_test_add_func ("/template/budget", test_budget);
  return g_test_run ();
}
