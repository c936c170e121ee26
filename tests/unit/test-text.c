/* SPDX-License-Identifier: Apache-2.0 */
/* Text from strangers: every kind of byte that must not reach a reader as it came. */
#include "config.h"

#include "dbr-text.h"
#include <string.h>

typedef struct
{
  const char *in;
  gssize len; /* -1: NUL-terminated */
  const char *one_line;
  const char *lines; /* NULL: the same */
} SafeCase;

static const SafeCase safe_cases[] = {
  { "", -1, "", NULL },
  { "plain text", -1, "plain text", NULL },
  { "h\xc3\xa9llo \xe2\x82\xac \xf0\x9f\x98\x80", -1, "h\xc3\xa9llo \xe2\x82\xac \xf0\x9f\x98\x80",
    NULL },
  /* line breaks */
  { "a\nb\r\nc\rd", -1, "a\\nb\\nc\\nd", "a\nb\nc\nd" },
  { "a\xe2\x80\xa8"
    "b\xe2\x80\xa9"
    "c\xc2\x85"
    "d",
    -1, "a\\nb\\nc\\nd", "a\\u{2028}b\\u{2029}c\\u{85}d" },
  { "x\n[info] fake", -1, "x\\n[info] fake", "x\n[info] fake" },
  { "a\tb", -1, "a b", "a\tb" },
  /* controls */
  { "a\0b", 3, "ab", NULL },
  { "a\x01\x08\x0b\x0c\x0e\x1f\x7f"
    "b",
    -1, "ab", NULL },
  { "a\xc2\x80\xc2\x84\xc2\x99"
    "b",
    -1, "ab", NULL },
  /* escape sequences */
  { "\x1b[31mred\x1b[0m", -1, "red", NULL },
  { "\x1b[38;5;196;1mx\x1b[m", -1, "x", NULL },
  { "\x1b[2J\x1b[1;1Hx", -1, "x", NULL },
  { "\x1b]0;title\x07x", -1, "x", NULL },
  { "\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", -1, "link", NULL },
  { "\x1bP1$r0m\x1b\\x", -1, "x", NULL },
  { "\x1b(Bx\x1b=y\x1b"
    "7z",
    -1, "xyz", NULL },
  { "a\xc2\x9b"
    "31mb",
    -1, "ab", NULL },
  { "a\xc2\x9d"
    "0;t\xc2\x9c"
    "b",
    -1, "ab", NULL },
  { "a\x1b]never ends\nb", -1, "anever ends\\nb", "anever ends\nb" },
  { "a\x1b[31", -1, "a", NULL },
  { "a\x1b", -1, "a", NULL },
  { "a\x1b[\x01"
    "b",
    -1, "a[b", NULL },
  /* bad UTF-8 */
  { "a\xff"
    "b",
    -1,
    "a\xef\xbf\xbd"
    "b",
    NULL },
  { "\xc0\xaf", -1, "\xef\xbf\xbd\xef\xbf\xbd", NULL },
  { "\xe0\x80\xaf", -1, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", NULL },
  { "\xed\xa0\x80", -1, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", NULL },
  { "\xf4\x90\x80\x80", -1, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", NULL },
  { "\xf5x", -1, "\xef\xbf\xbdx", NULL },
  { "\xe2\x82", -1, "\xef\xbf\xbd", NULL },
  { "\xf0\x9f\x98", -1, "\xef\xbf\xbd", NULL },
  { "\xe2\x82x", -1, "\xef\xbf\xbdx", NULL },
  { "\x80", -1, "\xef\xbf\xbd", NULL },
  /* bidi and invisible */
  { "a\xe2\x80\xae"
    "b",
    -1, "a\\u{202E}b", NULL },
  { "\xe2\x81\xa6x\xe2\x81\xa9", -1, "\\u{2066}x\\u{2069}", NULL },
  { "a\xe2\x80\x8b"
    "b\xef\xbb\xbf"
    "c",
    -1, "a\\u{200B}b\\u{FEFF}c", NULL },
  { "\xf3\xa0\x81\x81", -1, "\\u{E0041}", NULL },
  { "\xe3\x85\xa4\xe1\x85\x9f\xef\xbe\xa0", -1, "\\u{3164}\\u{115F}\\u{FFA0}", NULL },
  { "a\xef\xb8\x80\xf3\xa0\x84\x80", -1, "a\\u{FE00}\\u{E0100}", NULL },
  { "\xef\xbf\xbf\xef\xb7\x90", -1, "\\u{FFFF}\\u{FDD0}", NULL },
  { "a\xe2\x80\x8d"
    "b",
    -1, "a\\u{200D}b", NULL },
  { "\xd8\x80\xd9\xa1", -1, "\xd8\x80\xd9\xa1", NULL },
  /* emoji keep what joins them */
  { "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb", -1,
    "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb", NULL },
  { "\xe2\x9d\xa4\xef\xb8\x8f\xe2\x80\x8d\xf0\x9f\x94\xa5", -1,
    "\xe2\x9d\xa4\xef\xb8\x8f\xe2\x80\x8d\xf0\x9f\x94\xa5", NULL },
  { "1\xef\xb8\x8f\xe2\x83\xa3", -1, "1\xef\xb8\x8f\xe2\x83\xa3", NULL },
  { "\xe2\x9d\xa4\xef\xb8\x8f\xef\xb8\x8f", -1, "\xe2\x9d\xa4\xef\xb8\x8f\\u{FE0F}", NULL },
};

static void
test_safe (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (safe_cases); i++)
    {
      const SafeCase *c = &safe_cases[i];
      g_autoptr (GString) out = g_string_new (NULL);
      dbr_text_append_safe (out, c->in, c->len, DBR_TEXT_ONE_LINE);
      g_assert_cmpstr (out->str, ==, c->one_line);
      g_string_truncate (out, 0);
      dbr_text_append_safe (out, c->in, c->len, DBR_TEXT_LINES);
      g_assert_cmpstr (out->str, ==, c->lines ? c->lines : c->one_line);
    }
}

static void
test_valid (void)
{
  static const struct
  {
    const char *in;
    gssize len;
    const char *out;
  } cases[] = {
    { "abc", -1, "abc" },
    { "a\xff\x1b[1m\n", -1, "a\xef\xbf\xbd\x1b[1m\n" },
    { "\xed\xa0\x80x", -1, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdx" },
    { "\xf0\x9f", -1, "\xef\xbf\xbd" },
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GString) out = g_string_new (NULL);
      dbr_text_append_valid (out, cases[i].in, cases[i].len);
      g_assert_cmpstr (out->str, ==, cases[i].out);
    }
  g_autoptr (GString) out = g_string_new (NULL);
  dbr_text_append_valid (out, "a\0b\xff", 4);
  g_assert_cmpmem (out->str, out->len, "a\0b\xef\xbf\xbd", 6);
}

static void
test_cut (void)
{
  const char *euro = "a\xe2\x82\xac"
                     "b";
  g_assert_cmpuint (dbr_text_cut_length (euro, 5, 9), ==, 5);
  g_assert_cmpuint (dbr_text_cut_length (euro, 5, 5), ==, 5);
  g_assert_cmpuint (dbr_text_cut_length (euro, 5, 4), ==, 4);
  g_assert_cmpuint (dbr_text_cut_length (euro, 5, 3), ==, 1);
  g_assert_cmpuint (dbr_text_cut_length (euro, 5, 2), ==, 1);
  g_assert_cmpuint (dbr_text_cut_length (euro, 5, 0), ==, 0);
}

static void
test_shell_word (void)
{
  static const char *const cases[][2]
      = { { "10", "10" },
          { "https://e.org/a:b@c%20,-_+", "https://e.org/a:b@c%20,-_+" },
          { "", "''" },
          { "a b", "'a b'" },
          { "a=b", "'a=b'" },
          { "$(x) `y` \\", "'$(x) `y` \\'" },
          { "it's", "'it'\\''s'" },
          { "~", "'~'" },
          { "\303\251", "'\303\251'" } };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *word = dbr_text_dup_shell_word (cases[i][0]);
      g_assert_cmpstr (word, ==, cases[i][1]);
    }
}

static void
test_json_string (void)
{
  g_autoptr (GString) out = g_string_new (NULL);
  dbr_text_append_json_string (out, "a\"\\\b\f\n\r\t\x01\x7f/\xe2\x80\xa8\xe2\x80\xa9\xe2\x82\xac",
                               -1);
  g_assert_cmpstr (out->str, ==,
                   "\"a\\\"\\\\\\b\\f\\n\\r\\t\\u0001\\u007f/\\u2028\\u2029\xe2\x82\xac\"");
  g_string_truncate (out, 0);
  dbr_text_append_json_string (out, "a\0b", 3);
  g_assert_cmpstr (out->str, ==, "\"a\\u0000b\"");
  g_string_truncate (out, 0);
  dbr_text_append_json_string (out, "", 0);
  g_assert_cmpstr (out->str, ==, "\"\"");
}

static void
test_redact_url (void)
{
  static const struct
  {
    const char *in, *out;
  } cases[] = {
    { "http://localhost:28080/api/v2?x=1#y", "http://localhost:28080/api/v2" },
    { "https://user:pass@host/x", "https://host/x" },
    { "https://user:p@ss@host:8443/x?token=1", "https://host:8443/x" },
    { "https://user:p/ss@host/x", "https://host/x" },
    { "https://host/a@b", "https://host/a@b" },
    { "https://[::1]:8080/x", "https://[::1]:8080/x" },
    { "user:pass@host/x", "host/x" },
    { "http://host\n/x\x1b[31m", "http://host\\n/x" },
    { "no scheme?x=http://u:p@h", "no scheme" },
    { "", "" },
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *out = dbr_text_redact_url (cases[i].in);
      g_assert_cmpstr (out, ==, cases[i].out);
    }
}

static void
test_sentence (void)
{
  static const struct
  {
    const char *words, *sentence;
  } cases[] = {
    { "x is bad", "Not so: x is bad." },
    { "x is bad.", "Not so: x is bad." },
    { "did you mean y?", "Not so: did you mean y?" },
    { "stop!", "Not so: stop!" },
    { "cut here…", "Not so: cut here…" },
    { "", "Not so: ." },
    { "\"a.\"", "Not so: \"a.\"." },
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *out = dbr_text_dup_sentence ("Not so: %s", cases[i].words);
      g_assert_cmpstr (out, ==, cases[i].sentence);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/text/safe", test_safe);
  g_test_add_func ("/text/valid", test_valid);
  g_test_add_func ("/text/cut", test_cut);
  g_test_add_func ("/text/shell-word", test_shell_word);
  g_test_add_func ("/text/json-string", test_json_string);
  g_test_add_func ("/text/redact-url", test_redact_url);
  g_test_add_func ("/text/sentence", test_sentence);
  return g_test_run ();
}
