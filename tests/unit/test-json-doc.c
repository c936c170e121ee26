/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json-doc: every accessor, what it refuses, and agreement with JSONTestSuite and with jansson.
 */
#include "config.h"

#include "dbr-json-compare.h"
#include "dbr-json-doc.h"

#include <jansson.h>
#include <string.h>

static DbrJsonDoc *
parse (const char *text)
{
  g_autoptr (GError) error = NULL;
  DbrJsonDoc *doc = dbr_json_doc_new_from_data (text, -1, NULL, &error);
  g_assert_no_error (error);
  return doc;
}

static void
refuse (const char *text, gssize len, const DbrJsonLimits *limits, int code, const char *message)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DbrJsonDoc) doc = dbr_json_doc_new_from_data (text, len, limits, &error);
  g_assert_null (doc);
  g_assert_error (error, DBR_JSON_ERROR, code);
  if (message)
    g_assert_cmpstr (error->message, ==, message);
}

static char *
compact (DbrJson node)
{
  GString *out = g_string_new (NULL);
  dbr_json_append (node, out);
  return g_string_free (out, FALSE);
}

static void
test_walk (void)
{
  g_autoptr (DbrJsonDoc) doc = parse (
      " {\"a\" : [1, {\"b\":null}, [] , {}], \"c\\u0061\":true,\n\"d\":false, \"s\":\"x\"} ");
  DbrJson root = dbr_json_doc_root (doc);
  DbrJson a = dbr_json_get (root, "a");
  g_autofree char *text = compact (root);

  g_assert_cmpstr (text, ==,
                   "{\"a\":[1,{\"b\":null},[],{}],\"c\\u0061\":true,\"d\":false,\"s\":\"x\"}");
  g_assert_cmpint (dbr_json_type (root), ==, DBR_JSON_OBJECT);
  g_assert_cmpuint (dbr_json_count (root), ==, 4);
  g_assert_cmpuint (dbr_json_count (a), ==, 4);
  g_assert_cmpint (dbr_json_type (dbr_json_element (a, 0)), ==, DBR_JSON_NUMBER);
  g_assert_cmpint (dbr_json_type (dbr_json_element (a, 1)), ==, DBR_JSON_OBJECT);
  g_assert_cmpint (dbr_json_type (dbr_json_get (dbr_json_element (a, 1), "b")), ==, DBR_JSON_NULL);
  g_assert_cmpuint (dbr_json_count (dbr_json_element (a, 2)), ==, 0);
  g_assert_false (dbr_json_exists (dbr_json_first (dbr_json_element (a, 3))));
  g_assert_false (dbr_json_exists (dbr_json_element (a, 4)));
  g_assert_false (dbr_json_exists (dbr_json_element (root, 0)));
  g_assert_true (dbr_json_get_boolean (dbr_json_get (root, "ca")));
  g_assert_false (dbr_json_get_boolean (dbr_json_get (root, "d")));
  g_assert_false (dbr_json_exists (dbr_json_get (root, "c")));
  g_assert_false (dbr_json_exists (dbr_json_get (a, "a")));
  g_assert_true (dbr_json_string_equals (dbr_json_key (dbr_json_get (root, "ca")), "ca"));
  g_assert_false (dbr_json_exists (dbr_json_key (root)));
  g_assert_false (dbr_json_exists (dbr_json_key (dbr_json_element (a, 0))));
  g_assert_false (dbr_json_exists (dbr_json_next (root)));
  gsize len;
  const char *raw = dbr_json_raw (dbr_json_element (a, 1), &len);
  g_assert_cmpmem (raw, len, "{\"b\":null}", 10);
  g_assert_true (dbr_json_same (a, dbr_json_get (root, "a")));
  g_assert_false (dbr_json_same (a, root));
}

static void
test_nothing (void)
{
  gsize len = 7;
  gint64 integer;
  double real;
  g_autoptr (GString) scratch = g_string_new (NULL);
  DbrJson none = DBR_JSON_NONE;
  g_autofree char *text = compact (none);

  g_assert_cmpint (dbr_json_type (none), ==, DBR_JSON_NOTHING);
  g_assert_false (dbr_json_exists (none));
  g_assert_false (dbr_json_get_boolean (none));
  g_assert_null (dbr_json_raw (none, &len));
  g_assert_null (dbr_json_string (none, scratch, &len));
  g_assert_null (dbr_json_dup_string (none));
  g_assert_false (dbr_json_string_equals (none, ""));
  g_assert_false (dbr_json_int64 (none, &integer));
  g_assert_false (dbr_json_double (none, &real));
  g_assert_cmpuint (dbr_json_count (none), ==, 0);
  g_assert_false (dbr_json_exists (dbr_json_get (none, "x")));
  g_assert_false (dbr_json_exists (dbr_json_element (none, 0)));
  g_assert_false (dbr_json_exists (dbr_json_first (none)));
  g_assert_false (dbr_json_exists (dbr_json_next (none)));
  g_assert_false (dbr_json_exists (dbr_json_key (none)));
  g_assert_true (dbr_json_equal (none, none));
  g_assert_true (dbr_json_same (none, none));
  g_assert_cmpstr (text, ==, "");
}

static void
test_numbers_keep_bytes (void)
{
  static const char *const texts[]
      = { "9007199254740993", "1e400", "-0", "1.10", "123456789012345678901234567890", "0E+2" };

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      g_autoptr (DbrJsonDoc) doc = parse (texts[i]);
      gsize len;
      const char *raw = dbr_json_raw (dbr_json_doc_root (doc), &len);
      g_autofree char *out = compact (dbr_json_doc_root (doc));
      g_assert_cmpmem (raw, len, texts[i], strlen (texts[i]));
      g_assert_cmpstr (out, ==, texts[i]);
    }
}

static void
test_int64 (void)
{
  static const struct
  {
    const char *text;
    gboolean ok;
    gint64 value;
  } cases[] = {
    { "5", TRUE, 5 },
    { "5.0", TRUE, 5 },
    { "5e0", TRUE, 5 },
    { "50e-1", TRUE, 5 },
    { "0.05e2", TRUE, 5 },
    { "0.000", TRUE, 0 },
    { "0e999999999999999999999", TRUE, 0 },
    { "-0", TRUE, 0 },
    { "5.5", FALSE, 0 },
    { "1e-1", FALSE, 0 },
    { "120.50e1", TRUE, 1205 },
    { "10.01e2", TRUE, 1001 },
    { "9007199254740993", TRUE, G_GINT64_CONSTANT (9007199254740993) },
    { "9223372036854775807", TRUE, G_MAXINT64 },
    { "9223372036854775808", FALSE, 0 },
    { "-9223372036854775808", TRUE, G_MININT64 },
    { "-9223372036854775809", FALSE, 0 },
    { "9.223372036854775807e18", TRUE, G_MAXINT64 },
    { "9999999999999999999", FALSE, 0 },
    { "1e18", TRUE, G_GINT64_CONSTANT (1000000000000000000) },
    { "1e19", FALSE, 0 },
    { "1e400", FALSE, 0 },
    { "1e99999999999999999999", FALSE, 0 },
    { "\"5\"", FALSE, 0 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (DbrJsonDoc) doc = parse (cases[i].text);
      gint64 value = 0;
      gboolean ok = dbr_json_int64 (dbr_json_doc_root (doc), &value);
      if (ok != cases[i].ok || value != cases[i].value)
        g_error ("%s: %d %" G_GINT64_FORMAT, cases[i].text, ok, value);
    }
}

static void
test_double (void)
{
  g_autofree char *zeros = g_strnfill (200, '0');
  g_autofree char *long_text = g_strdup_printf ("1.5%s", zeros);
  g_autoptr (DbrJsonDoc) doc = parse ("[1.10, 1e400, -1e400, 1e-400, \"1\"]");
  g_autoptr (DbrJsonDoc) long_doc = parse (long_text);
  double value;

  g_assert_true (dbr_json_double (dbr_json_element (dbr_json_doc_root (doc), 0), &value));
  g_assert_cmpfloat (value, ==, 1.1);
  g_assert_false (dbr_json_double (dbr_json_element (dbr_json_doc_root (doc), 1), &value));
  g_assert_false (dbr_json_double (dbr_json_element (dbr_json_doc_root (doc), 2), &value));
  g_assert_true (dbr_json_double (dbr_json_element (dbr_json_doc_root (doc), 3), &value));
  g_assert_cmpfloat (value, ==, 0.0);
  g_assert_false (dbr_json_double (dbr_json_element (dbr_json_doc_root (doc), 4), &value));
  g_assert_true (dbr_json_double (dbr_json_doc_root (long_doc), &value));
  g_assert_cmpfloat (value, ==, 1.5);
}

static void
test_strings (void)
{
  static const struct
  {
    const char *text;
    const char *decoded;
    gssize len;
  } cases[] = {
    { "\"\"", "", 0 },
    { "\"plain\"", "plain", -1 },
    { "\"a\\\"\\\\\\/\\b\\f\\n\\r\\tz\"", "a\"\\/\b\f\n\r\tz", -1 },
    { "\"\\u00e9\"", "\xC3\xA9", -1 },
    { "\"\\uD834\\uDd1e\"", "\xF0\x9D\x84\x9E", -1 },
    { "\"\\uD834\"", "\xEF\xBF\xBD", -1 },
    { "\"\\uDd1e\\uD834x\"", "\xEF\xBF\xBD\xEF\xBF\xBDx", -1 },
    { "\"\\uD834\\u0041\"",
      "\xEF\xBF\xBD"
      "A",
      -1 },
    { "\"a\\u0000b\"", "a\0b", 3 },
  };
  g_autoptr (GString) scratch = g_string_new ("rubbish");

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (DbrJsonDoc) doc = parse (cases[i].text);
      gsize len;
      const char *text = dbr_json_string (dbr_json_doc_root (doc), scratch, &len);
      gsize want = cases[i].len < 0 ? strlen (cases[i].decoded) : (gsize) cases[i].len;
      g_assert_cmpmem (text, len, cases[i].decoded, want);
      g_autofree char *dup = dbr_json_dup_string (dbr_json_doc_root (doc));
      g_assert_cmpstr (dup, ==, cases[i].decoded);
    }
  g_autoptr (DbrJsonDoc) doc = parse ("[\"\\u0061bc\", \"abc\", \"a\\u0000\", 1]");
  DbrJson first = dbr_json_first (dbr_json_doc_root (doc));
  g_assert_true (dbr_json_string_equals (first, "abc"));
  g_assert_true (dbr_json_string_equals (dbr_json_next (first), "abc"));
  g_assert_false (dbr_json_string_equals (dbr_json_next (first), "abd"));
  g_assert_false (dbr_json_string_equals (dbr_json_next (dbr_json_next (first)), "a"));
  g_assert_cmpint (dbr_json_string_compare (first, dbr_json_next (first)), ==, 0);
}

static void
test_duplicates (void)
{
  g_autoptr (DbrJsonDoc) doc = parse ("{\"k\":1,\"\\u006b\":2,\"z\":3,\"\":4}");
  DbrJson root = dbr_json_doc_root (doc);
  gint64 value;

  g_assert_cmpuint (dbr_json_count (root), ==, 4);
  g_assert_true (dbr_json_int64 (dbr_json_get (root, "k"), &value));
  g_assert_cmpint (value, ==, 2);
  g_assert_true (dbr_json_int64 (dbr_json_get (root, ""), &value));
  g_assert_cmpint (value, ==, 4);
  g_assert_false (dbr_json_exists (dbr_json_get_n (root, "kk", 2)));
  g_assert_true (dbr_json_exists (dbr_json_get_n (root, "kk", 1)));
}

static void
test_errors (void)
{
  DbrJsonLimits shallow = { .max_depth = 2 };
  DbrJsonLimits few = { .max_nodes = 3 };
  DbrJsonLimits lax = { .flags = DBR_JSON_LAX_UTF8 };
  g_autoptr (GError) error = NULL;

  refuse ("", 0, NULL, DBR_JSON_ERROR_SYNTAX,
          "not valid JSON: expected a value, found the end at byte 0");
  refuse ("[1,]", -1, NULL, DBR_JSON_ERROR_SYNTAX,
          "not valid JSON: expected a value, found ']' at byte 3");
  refuse ("{\"a\" 1}", -1, NULL, DBR_JSON_ERROR_SYNTAX,
          "not valid JSON: expected ':', found '1' at byte 5");
  refuse ("[1 2]", -1, NULL, DBR_JSON_ERROR_SYNTAX,
          "not valid JSON: expected ',' or ']', found '2' at byte 3");
  refuse ("{\"a\":1]", -1, NULL, DBR_JSON_ERROR_SYNTAX,
          "not valid JSON: expected ',' or '}', found ']' at byte 6");
  refuse ("{} x", -1, NULL, DBR_JSON_ERROR_SYNTAX,
          "not valid JSON: expected the end, found 'x' at byte 3");
  refuse ("01", -1, NULL, DBR_JSON_ERROR_SYNTAX,
          "not valid JSON: expected the end, found '1' at byte 1");
  refuse ("-", -1, NULL, DBR_JSON_ERROR_SYNTAX,
          "not valid JSON: expected a digit, found the end at byte 1");
  refuse ("\"\n\"", -1, NULL, DBR_JSON_ERROR_SYNTAX,
          "not valid JSON: expected a character of a string or its closing quote, found byte 0x0A "
          "at byte 1");
  refuse ("\"\\u12x4\"", -1, NULL, DBR_JSON_ERROR_SYNTAX,
          "not valid JSON: expected four hexadecimal digits after \\u, found 'x' at byte 5");
  refuse (
      "\"\\\0\"", 4, NULL, DBR_JSON_ERROR_SYNTAX,
      "not valid JSON: expected one of \"\\/bfnrtu after a backslash, found byte 0x00 at byte 2");
  refuse ("nul", -1, NULL, DBR_JSON_ERROR_SYNTAX,
          "not valid JSON: expected true, false or null, found the end at byte 3");
  refuse ("\xEF\xBB\xBF{}", -1, NULL, DBR_JSON_ERROR_SYNTAX,
          "not valid JSON: expected a value, found byte 0xEF at byte 0");
  refuse ("\"\xC0\x80\"", -1, NULL, DBR_JSON_ERROR_UTF8,
          "not valid UTF-8: byte 0xC0 within a string at byte 1");
  refuse ("\"\xED\xA0\x80\"", -1, NULL, DBR_JSON_ERROR_UTF8,
          "not valid UTF-8: byte 0xA0 within a string at byte 2");
  refuse ("[[[]]]", -1, &shallow, DBR_JSON_ERROR_DEPTH,
          "JSON nested deeper than 2 levels at byte 2");
  refuse ("[1,2,3]", -1, &few, DBR_JSON_ERROR_NODES, "JSON of more than 3 values and names");

  g_autoptr (DbrJsonDoc) deep = dbr_json_doc_new_from_data ("[[1]]", -1, &shallow, &error);
  g_assert_no_error (error);
  g_assert_nonnull (deep);
  g_autoptr (DbrJsonDoc) full = dbr_json_doc_new_from_data ("{\"a\":1}", -1, &few, &error);
  g_assert_no_error (error);
  g_assert_nonnull (full);
  g_autoptr (DbrJsonDoc) bad = dbr_json_doc_new_from_data ("\"\xFFz\"", -1, &lax, &error);
  g_assert_no_error (error);
  gsize len;
  g_assert_cmpmem (dbr_json_string (dbr_json_doc_root (bad), NULL, &len), 2, "\xFFz", 2);
  refuse ("\xFF", 1, &lax, DBR_JSON_ERROR_SYNTAX,
          "not valid JSON: expected a value, found byte 0xFF at byte 0");
}

/* Nesting of 256 is read, one more is not; the hard cap holds whatever a caller asks for. */
static void
test_depth (void)
{
  for (guint depth = DBR_JSON_MAX_DEPTH; depth <= DBR_JSON_MAX_DEPTH + 1; depth++)
    {
      g_autoptr (GString) text = g_string_new (NULL);
      for (guint i = 0; i < depth; i++)
        g_string_append_c (text, '[');
      for (guint i = 0; i < depth; i++)
        g_string_append_c (text, ']');
      g_autoptr (DbrJsonDoc) doc = dbr_json_doc_new_from_data (text->str, -1, NULL, NULL);
      g_assert_cmpint (doc != NULL, ==, depth == DBR_JSON_MAX_DEPTH);
    }
  g_autofree char *deep = g_strnfill (100000, '[');
  DbrJsonLimits limits = { .max_depth = G_MAXUINT };
  refuse (deep, -1, &limits, DBR_JSON_ERROR_DEPTH,
          "JSON nested deeper than 4096 levels at byte 4096");
}

static void
test_equal (void)
{
  static const struct
  {
    const char *a;
    const char *b;
    gboolean equal;
  } cases[] = {
    { "1", "1.0", TRUE },
    { "10", "1e1", TRUE },
    { "100", "1e3", FALSE },
    { "-1", "1", FALSE },
    { "0", "-0.0e5", TRUE },
    { "1e400", "10e399", TRUE },
    { "1e400", "2e400", FALSE },
    { "9007199254740993", "9007199254740992", FALSE },
    { "0.1", "0.10000", TRUE },
    { "1.5", "1.55", FALSE },
    { "\"a\"", "\"\\u0061\"", TRUE },
    { "\"a\"", "\"b\"", FALSE },
    { "true", "true", TRUE },
    { "true", "false", FALSE },
    { "null", "false", FALSE },
    { "[1,2]", "[1,2.0]", TRUE },
    { "[1,2]", "[1]", FALSE },
    { "[1]", "[1,2]", FALSE },
    { "[]", "{}", FALSE },
    { "{\"a\":1,\"b\":[2]}", "{\"b\":[2],\"a\":1}", TRUE },
    { "{\"a\":1}", "{\"a\":1,\"b\":1}", FALSE },
    { "{\"a\":1}", "{\"b\":1}", FALSE },
    { "{\"a\":9,\"a\":1}", "{\"\\u0061\":1}", TRUE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (DbrJsonDoc) a = parse (cases[i].a);
      g_autoptr (DbrJsonDoc) b = parse (cases[i].b);
      DbrJson x = dbr_json_doc_root (a);
      DbrJson y = dbr_json_doc_root (b);
      if (dbr_json_equal (x, y) != cases[i].equal || dbr_json_equal (y, x) != cases[i].equal)
        g_error ("%s %s", cases[i].a, cases[i].b);
      g_assert_true (dbr_json_equal (x, x));
    }
}

static void
test_number_order (void)
{
  static const char *const rising[]
      = { "-1e400", "-1e2", "-99.9", "-1",   "-0.5",  "-1e-9", "-0",  "1e-9",  "0.05",
          "0.5",    "0.51", "5",     "10.5", "10.51", "99",    "1e2", "1e400", "11e399" };
  for (guint i = 0; i < G_N_ELEMENTS (rising); i++)
    for (guint j = 0; j < G_N_ELEMENTS (rising); j++)
      {
        g_autoptr (DbrJsonDoc) a = parse (rising[i]);
        g_autoptr (DbrJsonDoc) b = parse (rising[j]);
        int want = i < j ? -1 : i > j;
        if (dbr_json_number_compare (dbr_json_doc_root (a), dbr_json_doc_root (b)) != want)
          g_error ("%s %s", rising[i], rising[j]);
      }
}

static void
test_equal_budget (void)
{
  g_autoptr (DbrJsonDoc) a = parse ("[1,2,3,4]");
  g_autoptr (DbrJsonDoc) b = parse ("[1,2,3,4]");
  guint steps = 5;

  g_assert_true (dbr_json_equal_within (dbr_json_doc_root (a), dbr_json_doc_root (b), &steps));
  g_assert_cmpuint (steps, ==, 0);
  steps = 4;
  g_assert_false (dbr_json_equal_within (dbr_json_doc_root (a), dbr_json_doc_root (b), &steps));
  g_assert_cmpuint (steps, ==, 0);
}

/* Sorting the members is paid for before it is done. */
static void
test_equal_budget_of_objects (void)
{
  g_autoptr (GString) text = g_string_new ("{");
  for (guint i = 0; i < 1000; i++)
    g_string_append_printf (text, "%s\"%u\":%u", i ? "," : "", i, i);
  g_string_append_c (text, '}');
  g_autoptr (DbrJsonDoc) a = parse (text->str);
  g_autoptr (DbrJsonDoc) b = parse (text->str);
  guint steps = 1500;

  g_assert_false (dbr_json_equal_within (dbr_json_doc_root (a), dbr_json_doc_root (b), &steps));
  g_assert_cmpuint (steps, ==, 0);
  steps = 3001;
  g_assert_true (dbr_json_equal_within (dbr_json_doc_root (a), dbr_json_doc_root (b), &steps));
  g_assert_cmpuint (steps, ==, 0);
}

static void
test_builder (void)
{
  g_autoptr (DbrJsonBuilder) builder = dbr_json_builder_new ();
  g_autoptr (DbrJsonDoc) first = NULL;
  g_autoptr (DbrJsonDoc) second = NULL;
  DbrJson root;

  {
    g_autoptr (DbrJsonDoc) body = parse ("{ \"n\" : 1.10 , \"list\": [ 1, 2 ] }");
    dbr_json_builder_begin_object (builder);
    dbr_json_builder_key (builder, "bo\"dy\n");
    dbr_json_builder_link (builder, dbr_json_doc_root (body));
    dbr_json_builder_key (builder, "list");
    dbr_json_builder_link (builder, dbr_json_get (dbr_json_doc_root (body), "list"));
    dbr_json_builder_key (builder, "none");
    dbr_json_builder_link (builder, DBR_JSON_NONE);
    dbr_json_builder_key (builder, "fresh");
    dbr_json_builder_begin_array (builder);
    dbr_json_builder_null (builder);
    dbr_json_builder_boolean (builder, TRUE);
    dbr_json_builder_boolean (builder, FALSE);
    dbr_json_builder_int64 (builder, G_MININT64);
    dbr_json_builder_string (builder, "t\tb\\\x01", -1);
    dbr_json_builder_string (builder, "xyz", 2);
    dbr_json_builder_begin_object (builder);
    dbr_json_builder_end_object (builder);
    dbr_json_builder_end_array (builder);
    dbr_json_builder_end_object (builder);
    first = dbr_json_builder_end (builder);
  }
  root = dbr_json_doc_root (first);
  g_autofree char *text = compact (root);
  g_assert_cmpstr (
      text, ==,
      "{\"bo\\\"dy\\n\":{\"n\":1.10,\"list\":[1,2]},\"list\":[1,2],\"none\":null,\"fresh\":"
      "[null,true,false,-9223372036854775808,\"t\\tb\\\\\\u0001\",\"xy\",{}]}");
  DbrJson body = dbr_json_get (root, "bo\"dy\n");
  g_assert_cmpint (dbr_json_type (body), ==, DBR_JSON_OBJECT);
  g_assert_true (dbr_json_string_equals (dbr_json_key (body), "bo\"dy\n"));
  g_assert_true (dbr_json_same (dbr_json_get (body, "list"), dbr_json_get (root, "list")));
  g_assert_true (dbr_json_same (dbr_json_next (body), dbr_json_get (root, "list")));
  g_assert_cmpuint (dbr_json_count (root), ==, 4);
  gsize len;
  g_assert_null (dbr_json_raw (root, &len));
  g_assert_cmpmem (dbr_json_raw (dbr_json_get (root, "list"), &len), 8, "[ 1, 2 ]", 8);

  /* The builder is empty again; a link to a link leads to the value itself. */
  dbr_json_builder_begin_array (builder);
  dbr_json_builder_link (builder, body);
  dbr_json_builder_link (builder, dbr_json_get (root, "fresh"));
  dbr_json_builder_end_array (builder);
  second = dbr_json_builder_end (builder);
  DbrJson again = dbr_json_first (dbr_json_doc_root (second));
  g_assert_true (dbr_json_same (again, body));
  g_clear_pointer (&first, dbr_json_doc_unref);
  g_autofree char *text_again = compact (dbr_json_doc_root (second));
  g_assert_true (g_str_has_prefix (text_again, "[{\"n\":1.10,\"list\":[1,2]},[null,true,"));
  g_assert_true (dbr_json_doc_index_bytes (second) > 0);

  dbr_json_builder_int64 (builder, 5);
  g_autoptr (DbrJsonDoc) scalar = dbr_json_builder_end (builder);
  g_assert_cmpint (dbr_json_type (dbr_json_doc_root (scalar)), ==, DBR_JSON_NUMBER);
  dbr_json_builder_begin_array (builder); /* freed half way */
}

static void
assert_as_jansson (DbrJson ours, json_t *theirs)
{
  g_autoptr (GString) scratch = g_string_new (NULL);
  gsize len;
  gint64 integer = 0;
  double real = 0;
  const char *text;

  switch (json_typeof (theirs))
    {
    case JSON_OBJECT:
      g_assert_cmpint (dbr_json_type (ours), ==, DBR_JSON_OBJECT);
      for (DbrJson v = dbr_json_first (ours); dbr_json_exists (v); v = dbr_json_next (v))
        {
          g_autofree char *key = dbr_json_dup_string (dbr_json_key (v));
          json_t *other = json_object_get (theirs, key);
          g_assert_nonnull (other);
          assert_as_jansson (dbr_json_get (ours, key), other);
        }
      break;
    case JSON_ARRAY:
      g_assert_cmpuint (dbr_json_count (ours), ==, json_array_size (theirs));
      for (guint i = 0; i < json_array_size (theirs); i++)
        assert_as_jansson (dbr_json_element (ours, i), json_array_get (theirs, i));
      break;
    case JSON_STRING:
      text = dbr_json_string (ours, scratch, &len);
      g_assert_cmpmem (text, len, json_string_value (theirs), json_string_length (theirs));
      break;
    case JSON_INTEGER:
      g_assert_true (dbr_json_int64 (ours, &integer));
      g_assert_cmpint (integer, ==, json_integer_value (theirs));
      break;
    case JSON_REAL:
      g_assert_true (dbr_json_double (ours, &real));
      g_assert_cmpfloat (real, ==, json_real_value (theirs));
      break;
    case JSON_TRUE:
    case JSON_FALSE:
      g_assert_cmpint (dbr_json_type (ours), ==, DBR_JSON_BOOLEAN);
      g_assert_cmpint (dbr_json_get_boolean (ours), ==, json_is_true (theirs));
      break;
    case JSON_NULL:
      g_assert_cmpint (dbr_json_type (ours), ==, DBR_JSON_NULL);
      break;
    }
}

static GHashTable *
read_decisions (void)
{
  g_autofree char *path
      = g_test_build_filename (G_TEST_DIST, "tests", "data", "json", "i-decisions.txt", NULL);
  g_autofree char *text = NULL;
  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  GHashTable *decisions = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  for (char **line = lines; *line; line++)
    {
      g_auto (GStrv) words = g_strsplit (*line, " ", 3);
      if (**line != '#' && g_strv_length (words) >= 2)
        g_hash_table_insert (decisions, g_strdup (words[1]), g_strdup (words[0]));
    }
  return decisions;
}

static const char *
verdict_of (const char *text, gsize len)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DbrJsonDoc) doc = dbr_json_doc_new_from_data (text, (gssize) len, NULL, &error);

  if (doc)
    return "accept";
  return g_error_matches (error, DBR_JSON_ERROR, DBR_JSON_ERROR_UTF8)    ? "utf8"
         : g_error_matches (error, DBR_JSON_ERROR, DBR_JSON_ERROR_DEPTH) ? "depth"
                                                                         : "syntax";
}

static void
test_suite (void)
{
  const char *shared = g_getenv ("DBR_SHARED");
  g_autofree char *folder = g_build_filename (shared ? shared : ".", "json", "test_parsing", NULL);
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  g_autoptr (GHashTable) decisions = read_decisions ();
  guint n = 0;
  const char *name;

  if (!dir)
    {
      g_test_skip ("no shared: json/test_parsing");
      return;
    }
  while ((name = g_dir_read_name (dir)))
    {
      g_autofree char *path = g_build_filename (folder, name, NULL);
      g_autofree char *text = NULL;
      gsize len;
      g_assert_true (g_file_get_contents (path, &text, &len, NULL));
      const char *verdict = verdict_of (text, len);
      const char *want = g_hash_table_lookup (decisions, name);
      gboolean right = name[0] == 'y'   ? g_str_equal (verdict, "accept")
                       : name[0] == 'n' ? !g_str_equal (verdict, "accept")
                                        : g_strcmp0 (verdict, want) == 0;
      if (!right)
        g_error ("%s: %s instead of %s", name, verdict, want ? want : "the other");
      n++;
      g_autoptr (DbrJsonDoc) doc = dbr_json_doc_new_from_data (text, (gssize) len, NULL, NULL);
      json_auto_t *theirs = json_loadb (text, len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
      /* jansson takes a NUL after a number for the end; it nests deeper than we do. */
      if (theirs && name[0] != 'n' && !g_str_equal (verdict, "depth"))
        g_assert_cmpstr (doc ? name : "", ==, name);
      /* A member's name with a NUL is beyond our C-string comparison here. */
      if (doc && theirs && !strstr (text, "\\u0000"))
        assert_as_jansson (dbr_json_doc_root (doc), theirs);
    }
  g_assert_cmpuint (n, ==, 318);
}

static void
test_recorded (void)
{
  const char *shared = g_getenv ("DBR_SHARED");
  g_autofree char *path
      = g_build_filename (shared ? shared : ".", "airflow", "rec", "dags_all_100.json", NULL);
  g_autofree char *text = NULL;
  gsize len;

  if (!g_file_get_contents (path, &text, &len, NULL))
    {
      g_test_skip ("no shared: airflow/rec");
      return;
    }
  g_autoptr (GBytes) bytes = g_bytes_new (text, len);
  g_autoptr (GError) error = NULL;
  g_autoptr (DbrJsonDoc) recorded = dbr_json_doc_new (bytes, NULL, &error);
  g_assert_no_error (error);
  DbrJson body = dbr_json_get (dbr_json_get (dbr_json_doc_root (recorded), "response"), "body");
  g_autofree char *body_text = compact (body);
  g_autoptr (DbrJsonDoc) doc = parse (body_text);
  g_assert_cmpuint (dbr_json_count (dbr_json_get (dbr_json_doc_root (doc), "dags")), ==, 78);
  g_assert_cmpuint (dbr_json_doc_index_bytes (doc), <=, 128 * 1024);
  g_assert_true (dbr_json_equal (body, dbr_json_doc_root (doc)));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/json-doc/walk", test_walk);
  g_test_add_func ("/json-doc/nothing", test_nothing);
  g_test_add_func ("/json-doc/numbers-keep-bytes", test_numbers_keep_bytes);
  g_test_add_func ("/json-doc/int64", test_int64);
  g_test_add_func ("/json-doc/double", test_double);
  g_test_add_func ("/json-doc/strings", test_strings);
  g_test_add_func ("/json-doc/duplicates", test_duplicates);
  g_test_add_func ("/json-doc/errors", test_errors);
  g_test_add_func ("/json-doc/depth", test_depth);
  g_test_add_func ("/json-doc/equal", test_equal);
  g_test_add_func ("/json-doc/number-order", test_number_order);
  g_test_add_func ("/json-doc/equal-budget", test_equal_budget);
  g_test_add_func ("/json-doc/equal-budget-of-objects", test_equal_budget_of_objects);
  g_test_add_func ("/json-doc/builder", test_builder);
  g_test_add_func ("/json-doc/suite", test_suite);
  g_test_add_func ("/json-doc/recorded", test_recorded);
  return g_test_run ();
}
