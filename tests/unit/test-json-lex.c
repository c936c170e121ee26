/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json-lex: the tokens, that no split changes them, and agreement with the index.
 */
#include "config.h"

#include "dbr-json-lex.h"

#include <string.h>

static gboolean
write_token (const DbrJsonToken *token, gpointer user_data)
{
  static const char letters[] = "{}[]ksntf0";
  g_string_append_printf (user_data, "%c%s%u:%" G_GUINT64_FORMAT "-%" G_GUINT64_FORMAT " ",
                          letters[token->kind], token->is_escaped ? "\\" : "", token->depth,
                          token->start, token->end);
  return TRUE;
}

/* The tokens in words, then the error. */
static char *
tokens_of (const char *text, gsize len, gsize first, gsize step, DbrJsonLexerFlags flags)
{
  g_autoptr (DbrJsonLexer) lexer = dbr_json_lexer_new (NULL, flags);
  g_autoptr (GError) error = NULL;
  GString *out = g_string_new (NULL);
  gsize at = 0;
  gsize n = MIN (first, len);

  for (;;)
    {
      /* A copy of its own: reading beyond a piece is seen by the sanitizer. */
      g_autofree char *piece = g_memdup2 (text + at, n);
      if (!dbr_json_lexer_push (lexer, piece, n, write_token, out, &error))
        break;
      at += n;
      if (at == len)
        break;
      n = MIN (step, len - at);
    }
  if (!error)
    dbr_json_lexer_finish (lexer, write_token, out, &error);
  if (error)
    g_string_append (out, error->message);
  return g_string_free (out, FALSE);
}

static void
assert_all_splits (const char *text, gsize len, DbrJsonLexerFlags flags)
{
  g_autofree char *whole = tokens_of (text, len, len, len, flags);
  g_autofree char *bytes = tokens_of (text, len, 1, 1, flags);

  g_assert_cmpstr (whole, ==, bytes);
  for (gsize split = 0; split <= len && len <= 200; split++)
    {
      g_autofree char *two = tokens_of (text, len, split, len, flags);
      g_assert_cmpstr (whole, ==, two);
    }
  if (flags & DBR_JSON_LEXER_LINES)
    return;
  g_autoptr (GError) error = NULL;
  g_autoptr (DbrJsonDoc) doc = dbr_json_doc_new_from_data (text, (gssize) len, NULL, &error);
  if (!doc)
    g_assert_true (g_str_has_suffix (whole, error->message));
  else
    g_assert_null (strstr (whole, "JSON"));
}

static void
test_tokens (void)
{
  static const char text[]
      = " {\"a\" : [1, -2.5e+3, \"\\u00e9\"], \"b\\n\":{}, \"c\":[true,false,null]} ";
  g_autofree char *tokens = tokens_of (text, strlen (text), strlen (text), 1, 0);
  g_assert_cmpstr (tokens, ==,
                   "{0:1-2 k1:2-5 [1:8-9 n2:9-10 n2:12-19 s\\2:21-29 ]1:29-30 k\\1:32-37 {1:38-39 "
                   "}1:39-40 k1:42-45 [1:46-47 t2:47-51 f2:52-57 02:58-62 ]1:62-63 }0:63-64 ");
  assert_all_splits (text, strlen (text), 0);
}

static void
test_lines (void)
{
  static const struct
  {
    const char *text;
    const char *tokens;
  } cases[] = {
    { "", "" },
    { "\n \r\n", "" },
    { "1\n2", "n0:0-1 n0:2-3 " },
    { "1\r\n\n{} \n\"x\"\n", "n0:0-1 {0:4-5 }0:5-6 s0:8-11 " },
    { "1 2", "n0:0-1 not valid JSON: expected a line feed, found '2' at byte 2" },
    { "{}{}", "{0:0-1 }0:1-2 not valid JSON: expected a line feed, found '{' at byte 2" },
    { "1\n[", "n0:0-1 [0:2-3 not valid JSON: expected a value or ']', found the end at byte 3" },
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      gsize len = strlen (cases[i].text);
      g_autofree char *tokens = tokens_of (cases[i].text, len, len, 1, DBR_JSON_LEXER_LINES);
      g_assert_cmpstr (tokens, ==, cases[i].tokens);
      assert_all_splits (cases[i].text, len, DBR_JSON_LEXER_LINES);
    }
}

static gboolean
stop_at_key (const DbrJsonToken *token, gpointer user_data)
{
  ++*(guint *) user_data;
  return token->kind != DBR_JSON_TOKEN_KEY;
}

static void
test_stop_and_fail (void)
{
  g_autoptr (DbrJsonLexer) lexer = dbr_json_lexer_new (NULL, 0);
  g_autoptr (GError) error = NULL;
  guint n = 0;

  g_assert_false (dbr_json_lexer_push (lexer, "{\"a\":1}", 7, stop_at_key, &n, &error));
  g_assert_no_error (error);
  g_assert_false (dbr_json_lexer_push (lexer, "1", 1, stop_at_key, &n, &error));
  g_assert_false (dbr_json_lexer_finish (lexer, stop_at_key, &n, &error));
  g_assert_no_error (error);
  g_assert_cmpuint (n, ==, 2);

  g_autoptr (DbrJsonLexer) bad = dbr_json_lexer_new (NULL, 0);
  for (int i = 0; i < 2; i++)
    {
      g_assert_false (dbr_json_lexer_push (bad, "}", 1, stop_at_key, &n, &error));
      g_assert_error (error, DBR_JSON_ERROR, DBR_JSON_ERROR_SYNTAX);
      g_assert_cmpstr (error->message, ==, "not valid JSON: expected a value, found '}' at byte 0");
      g_clear_error (&error);
    }
}

static void
test_position (void)
{
  g_autoptr (DbrJsonLexer) lexer = dbr_json_lexer_new (NULL, 0);
  g_autoptr (GString) out = g_string_new (NULL);
  guint64 start;

  g_assert_true (dbr_json_lexer_push (lexer, "[[{\"ke", 6, write_token, out, NULL));
  g_assert_cmpuint (dbr_json_lexer_depth (lexer), ==, 3);
  g_assert_cmpuint (dbr_json_lexer_offset (lexer), ==, 6);
  g_assert_true (dbr_json_lexer_is_inside (lexer, &start));
  g_assert_true (dbr_json_lexer_is_in_key (lexer));
  g_assert_cmpuint (start, ==, 3);
  g_assert_true (dbr_json_lexer_push (lexer, "y\":12", 5, write_token, out, NULL));
  g_assert_true (dbr_json_lexer_is_inside (lexer, &start));
  g_assert_false (dbr_json_lexer_is_in_key (lexer));
  g_assert_cmpuint (start, ==, 9);
  g_assert_true (dbr_json_lexer_push (lexer, "}", 1, write_token, out, NULL));
  g_assert_false (dbr_json_lexer_is_inside (lexer, &start));
  g_assert_cmpuint (dbr_json_lexer_depth (lexer), ==, 2);
}

static void
test_suite (void)
{
  const char *shared = g_getenv ("DBR_SHARED");
  g_autofree char *folder = g_build_filename (shared ? shared : ".", "json", "test_parsing", NULL);
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
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
      assert_all_splits (text, len, 0);
      assert_all_splits (text, len, DBR_JSON_LEXER_LINES);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/json-lex/tokens", test_tokens);
  g_test_add_func ("/json-lex/lines", test_lines);
  g_test_add_func ("/json-lex/stop-and-fail", test_stop_and_fail);
  g_test_add_func ("/json-lex/position", test_position);
  g_test_add_func ("/json-lex/suite", test_suite);
  return g_test_run ();
}
