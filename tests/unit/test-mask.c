/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets: our own in every form that a backend may echo, and the well-known shapes. */
#include "config.h"

#include "dbr-text.h"
#include <string.h>

#define SECRET "S3cr\"t/p\\ss w\xc3\xb6rd"

static char *
masked (const char *const *secrets, const char *text, DbrMaskFlags flags)
{
  g_autoptr (DbrMask) mask = dbr_mask_new ();
  for (guint i = 0; secrets && secrets[i]; i++)
    dbr_mask_add (mask, secrets[i]);
  g_autoptr (GString) out = g_string_new (text);
  dbr_mask_apply (mask, out, 0, flags);
  return g_string_free (g_steal_pointer (&out), FALSE);
}

static void
assert_masked (const char *secret, const char *text, const char *expected)
{
  const char *secrets[] = { secret, NULL };
  g_autofree char *out = masked (secrets, text, DBR_MASK_OWN);
  g_assert_cmpstr (out, ==, expected);
}

static void
test_forms (void)
{
  assert_masked (SECRET, "a " SECRET " b " SECRET, "a [masked] b [masked]");
  assert_masked (SECRET, "{\"p\": \"S3cr\\\"t\\/p\\\\ss w\\u00f6rd\"}", "{\"p\": \"[masked]\"}");
  assert_masked (SECRET, "x=S3cr%22t%2Fp%5Css%20w%c3%B6rd&y", "x=[masked]&y");
  assert_masked (SECRET, "x=S3cr%22t%2Fp%5Css+w%c3%B6rd&y", "x=[masked]&y");
  assert_masked (SECRET, "x=%53%33%63%72%22%74%2f%70%5c%73%73%20%77%c3%b6%72%64;", "x=[masked];");
  assert_masked ("correcthorse", "hex 636F7272656374686F727365.", "hex [masked].");
  assert_masked ("correcthorse", "correct horse", "correct horse");
  assert_masked ("a\\\\b12345", "<a\\\\b12345>", "<[masked]>");
  assert_masked ("50%25off!", "<50%25off!>", "<[masked]>");
}

/* A secret in escapes of several kinds, and in escapes of escapes, as text that went through several
 * programs holds it. */
static void
test_nested (void)
{
#define EMOJI "pa\xf0\x9f\x94\x91<&>'\"word"
  static const struct
  {
    const char *secret, *in, *out;
  } cases[] = {
    { EMOJI, "\"pa\\ud83d\\udd11<&>'\\\"word\"", "\"[masked]\"" },
    { EMOJI, "pa\xf0\x9f\x94\x91&lt;&amp;&gt;&#39;&quot;word.", "[masked]." },
    { EMOJI, "pa&#x1F511;&#60;&#x26;&gt;&apos;&#34;word.", "[masked]." },
    { EMOJI, "pa&amp;#x1f511;&amp;lt;&amp;amp;&amp;gt;&amp;#x27;&amp;quot;word;", "[masked];" },
    { EMOJI, "b'pa\\xf0\\x9f\\x94\\x91<&>\\'\"word'", "b'[masked]'" },
    { EMOJI, "x \\\"pa\\\\ud83d\\\\udd11<&>'\\\\\\\"word\\\" y", "x \\\"[masked]\\\" y" },
    { "cAn/ry+%41", "u=cAn%252fry%252B%252541&v", "u=[masked]&v" },
    { "cAn/ry+%41", "u=cAn%25252fry%25252B%25252541", "u=[masked]" },
    { "cAn/ry+%41", "%22cAn%5C%2Fry%2B%2541%22", "%22[masked]%22" },
    { "canary12", "c\\u{200B}a\\u{200B}n\\u{200B}ary12 x", "[masked] x" },
    { "canary12", "c\\u0000a\\u0000n\\u0000a\\u0000r\\u0000y\\u00001\\u00002\\u0000.",
      "[masked]\\u0000." },
    { "canary12", "63 61 6e 61 72 79 31 32.", "[masked]." },
    { "canary12", "&unknown; &#; &#x; &#99999999; \\u{} \\u{zz} \\ud83d %", NULL },
    { "canary12", "%2563%2561%256e", NULL },
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    assert_masked (cases[i].secret, cases[i].in, cases[i].out ? cases[i].out : cases[i].in);
}

static void
test_wrapped (void)
{
  const char *secret = "a-token-of-such-a-length-that-its-base64-is-written-in-more-than-one-line";
  g_autofree char *text = g_base64_encode ((const guchar *) secret, strlen (secret));
  static const char *const breaks[] = { "\n", "\r\n", "\n    ", "\\n", "\\r\\n", NULL };
  for (guint at = 1; at < 76; at += 5)
    for (guint i = 0; breaks[i]; i++)
      {
        g_autofree char *in = g_strdup_printf ("<%.*s%s%s>", (int) at, text, breaks[i], text + at);
        const char *secrets[] = { secret, NULL };
        g_autofree char *out = masked (secrets, in, DBR_MASK_OWN);
        g_assert_cmpuint (strlen (out), <=, strlen ("<" DBR_MASK_TEXT "XXXX>"));
      }
  assert_masked ("correct horse", "correct\nhorse", "correct\nhorse");
}

/* Wherever a text is cut, and in whatever form the secret stands: what is left of it isn't shown. */
static void
test_cut (void)
{
  const char *secret = "cAn\"ry/0123456789\xc3\xb6%41";
  g_autofree char *base64 = g_base64_encode ((const guchar *) secret, strlen (secret));
  g_autoptr (GString) percent = g_string_new (NULL);
  g_autoptr (GString) unicode = g_string_new (NULL);
  g_autoptr (GString) references = g_string_new (NULL);
  for (const char *p = secret; *p; p += g_utf8_skip[(guint8) *p])
    {
      for (const char *byte = p; byte < p + g_utf8_skip[(guint8) *p]; byte++)
        g_string_append_printf (percent, "%%%02x", (guint8) *byte);
      g_string_append_printf (unicode, "\\u%04x", g_utf8_get_char (p));
      g_string_append_printf (references, "&#%u;", g_utf8_get_char (p));
    }
  const char *const forms[] = { secret, base64, percent->str, unicode->str, references->str, NULL };
  static const char *const marks[] = { "…", "..." };
  for (guint form = 0; forms[form]; form++)
    for (gsize keep = 8 * strlen (forms[form]) / strlen (secret) + 8; keep < strlen (forms[form]);
         keep++)
      for (guint mark = 0; mark < G_N_ELEMENTS (marks); mark++)
        {
          if (dbr_text_cut_length (forms[form], strlen (forms[form]), keep) != keep)
            continue;
          g_autofree char *in = g_strdup_printf ("x %.*s%s", (int) keep, forms[form], marks[mark]);
          const char *secrets[] = { secret, NULL };
          g_autofree char *out = masked (secrets, in, DBR_MASK_OWN);
          if (!g_str_has_prefix (out, "x " DBR_MASK_TEXT))
            g_error ("%s became %s", in, out);
        }
}

static void
test_base64 (void)
{
  const char *secret = "hunter2>>>???hunter2\xc3\xbf\xc3\xbf";
  for (guint before = 0; before < 6; before++)
    for (guint after = 0; after < 4; after++)
      {
        g_autofree char *plain
            = g_strdup_printf ("%.*s%s%.*s", (int) before, "user::", secret, (int) after, "tail");
        g_autofree char *standard = g_base64_encode ((const guchar *) plain, strlen (plain));
        const char *secrets[] = { secret, NULL };
        g_autofree char *out = masked (secrets, standard, DBR_MASK_OWN);
        g_assert_nonnull (strstr (out, DBR_MASK_TEXT));
        g_assert_cmpuint (strlen (out), <=, 8 + 2 + before * 2 + after * 2 + 8);
        g_autofree char *url = g_strdelimit (g_strdup (standard), "+", '-');
        g_strdelimit (url, "/", '_');
        g_autofree char *out_url = masked (secrets, url, DBR_MASK_OWN);
        g_assert_nonnull (strstr (out_url, DBR_MASK_TEXT));
      }
}

static void
test_limits (void)
{
  assert_masked ("1234567", "1234567", "1234567");
  assert_masked ("12345678", "12345678", "[masked]");
  assert_masked (NULL, "x", "x");
  assert_masked ("", "x", "x");
  g_autoptr (DbrMask) mask = dbr_mask_new ();
  for (guint i = 0; i < 100; i++)
    {
      g_autofree char *secret = g_strdup_printf ("secret-number-%03u", i);
      dbr_mask_add (mask, secret);
      dbr_mask_add (mask, secret);
    }
  g_autoptr (GString) out = g_string_new ("secret-number-000 secret-number-020 secret-number-099");
  dbr_mask_apply (mask, out, 0, DBR_MASK_OWN);
  g_assert_cmpstr (out->str, ==, "[masked] secret-number-020 [masked]");
}

static void
test_overlap (void)
{
  const char *secrets[] = { "abcdefgh1234", "1234ABCDEFGH", "abcdefgh", NULL };
  static const struct
  {
    const char *in, *out;
  } cases[] = {
    { "<abcdefgh1234ABCDEFGH>", "<[masked]>" },
    { "<abcdefgh1234abcdefgh1234>", "<[masked]>" },
    { "<abcdefgh12>", "<[masked]12>" },
    { "<abcdefgh 1234ABCDEFGH>", "<[masked] [masked]>" },
    { "abcdefg", "abcdefg" },
    { "<1234ABCDE…>", "<[masked]…>" },
    { "<1234ABC…>", "<1234ABC…>" },
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *out = masked (secrets, cases[i].in, DBR_MASK_OWN);
      g_assert_cmpstr (out, ==, cases[i].out);
    }
}

/* A shape ends at a blank or a quote; a secret of our own that has one must not lose its beginning
 * to it and show the rest. */
static void
test_later (void)
{
  g_autoptr (DbrMask) mask = dbr_mask_new ();
  dbr_mask_add (mask, "hunter2, and more");
  g_autoptr (GString) out = g_string_new ("password=hunter2, and more");
  dbr_mask_apply (mask, out, 0, DBR_MASK_SHAPES | DBR_MASK_OWN_LATER);
  g_assert_cmpstr (out->str, ==, "password=[masked]");
  g_string_assign (out, "it is hunter2, and more");
  dbr_mask_apply (mask, out, 0, DBR_MASK_SHAPES | DBR_MASK_OWN_LATER);
  g_assert_cmpstr (out->str, ==, "it is hunter2, and more");
  dbr_mask_apply (mask, out, 0, DBR_MASK_OWN);
  g_assert_cmpstr (out->str, ==, "it is [masked]");
}

static void
test_from (void)
{
  g_autoptr (DbrMask) mask = dbr_mask_new ();
  dbr_mask_add (mask, "topsecret");
  g_autoptr (GString) out = g_string_new ("topsecret topsecret");
  dbr_mask_apply (mask, out, 10, DBR_MASK_OWN);
  g_assert_cmpstr (out->str, ==, "topsecret [masked]");
  dbr_mask_apply (NULL, out, 0, DBR_MASK_SHAPES);
  g_assert_cmpstr (out->str, ==, "topsecret [masked]");
  dbr_mask_apply (mask, out, 1000, DBR_MASK_SHAPES);
  g_autoptr (DbrMask) second = dbr_mask_ref (mask);
  g_assert_true (second == mask);
}

static void
test_shapes (void)
{
  static const struct
  {
    const char *in, *out;
  } cases[] = {
    { "got eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl end", "got [masked] end" },
    { "Authorization: Bearer abcdefgh", "Authorization: Bearer [masked]" },
    { "curl -H 'authorization: basic dXNlcjpwYXNz'", "curl -H 'authorization: basic [masked]'" },
    { "Bearer k3Ym29xPqLw", "Bearer [masked]" },
    { "Bearer authentication is required", "Bearer authentication is required" },
    { "Basic authentication failed", "Basic authentication failed" },
    { "postgresql://airflow:s3cr3t@db:5432/x", "postgresql://airflow:[masked]@db:5432/x" },
    { "https://ghx0123456789@host/", "https://[masked]@host/" },
    { "ssh://git@github.com/x", "ssh://git@github.com/x" },
    { "mail a@b.example http://host/x", "mail a@b.example http://host/x" },
    { "password=hunter2 next", "password=[masked] next" },
    { "DB_PASSWORD = 'a b', x", "DB_PASSWORD = '[masked]', x" },
    { "{\"api_key\": \"x\\\"y\", \"n\": 1}", "{\"api_key\": \"[masked]\", \"n\": 1}" },
    { "{\\\"token\\\": \\\"abc\\\", \\\"n\\\": 1}",
      "{\\\"token\\\": \\\"[masked]\\\", \\\"n\\\": 1}" },
    { "secret: xyz", "secret: [masked]" },
    { "Invalid token: expected a string", "Invalid token: expected a string" },
    { "token: a1b2c3d4e5", "token: [masked]" },
    { "{\"continuation_token\": null}", "{\"continuation_token\": null}" },
    { "password=*** token=None", "password=*** token=None" },
    { "?token=abc&x=1", "?token=[masked]&x=1" },
    { "key AKIAIOSFODNN7EXAMPLE.", "key [masked]." },
    { "ghp_0123456789abcdefghijABCDEFGHIJ012345", "[masked]" },
    { "sk-learn", "sk-learn" },
    { "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----\nx",
      "-----BEGIN RSA PRIVATE KEY-----[masked]-----END RSA PRIVATE KEY-----\nx" },
    { "-----BEGIN PRIVATE KEY-----\\nMIIE", "-----BEGIN PRIVATE KEY-----[masked]" },
    { "-----BEGIN CERTIFICATE-----\nMIIE", "-----BEGIN CERTIFICATE-----\nMIIE" },
    { "password=", "password=" },
    { "{\"secret\": {\"password\": \"x\"}}", "{\"secret\": {\"password\": \"[masked]\"}}" },
    { "a=b: c", "a=b: c" },
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *out = masked (NULL, cases[i].in, DBR_MASK_SHAPES);
      g_assert_cmpstr (out, ==, cases[i].out);
      g_autofree char *own = masked (NULL, cases[i].in, DBR_MASK_OWN);
      g_assert_cmpstr (own, ==, cases[i].in);
      g_autofree char *twice = masked (NULL, out, DBR_MASK_SHAPES);
      g_assert_cmpstr (twice, ==, out);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/mask/forms", test_forms);
  g_test_add_func ("/mask/nested", test_nested);
  g_test_add_func ("/mask/wrapped", test_wrapped);
  g_test_add_func ("/mask/cut", test_cut);
  g_test_add_func ("/mask/base64", test_base64);
  g_test_add_func ("/mask/limits", test_limits);
  g_test_add_func ("/mask/overlap", test_overlap);
  g_test_add_func ("/mask/later", test_later);
  g_test_add_func ("/mask/from", test_from);
  g_test_add_func ("/mask/shapes", test_shapes);
  return g_test_run ();
}
