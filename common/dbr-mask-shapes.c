/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-mask-shapes: see the header. No regular expressions: every shape hangs on one rare byte
 * or a fixed beginning, so that a text without any costs one look at each byte.
 */
#include "config.h"

#include "dbr-mask-shapes.h"
#include <string.h>

#define MIN_TOKEN 8u

typedef struct
{
  const char *text;
  gsize len;
  GArray **ranges;
} Scan;

static void
found (Scan *scan, gsize from, gsize to)
{
  dbr_mask_add_range (scan->ranges, from, to);
}

static gboolean
is_token_char (char c)
{
  return g_ascii_isalnum (c) || (c != 0 && strchr ("-_.~+/=", c));
}

static gboolean
is_word_char (char c)
{
  return g_ascii_isalnum (c) || c == '_' || c == '-';
}

static gsize
run_of (const Scan *scan, gsize at, gboolean (*is_member) (char c))
{
  gsize end = at;
  while (end < scan->len && is_member (scan->text[end]))
    end++;
  return end - at;
}

static gboolean
begins_with (const Scan *scan, gsize at, const char *word)
{
  gsize n = strlen (word);
  return at + n <= scan->len && g_ascii_strncasecmp (scan->text + at, word, n) == 0;
}

static gboolean
is_word_start (const Scan *scan, gsize at)
{
  return at == 0 || !is_word_char (scan->text[at - 1]);
}

/* Prose has no digits and capitals inside of words: "Bearer authentication" stays, "Bearer k3Ym…"
 * doesn't. */
static gboolean
looks_random (const char *text, gsize len)
{
  if (len < MIN_TOKEN)
    return FALSE;
  for (gsize i = 0; i < len; i++)
    if (g_ascii_isdigit (text[i]) || text[i] == '=' || (i > 0 && g_ascii_isupper (text[i])))
      return TRUE;
  return FALSE;
}

/* --------------------------------------------------------------------------- fixed beginnings */

/* Authorization: Bearer x, and without the header's name. */
static void
find_scheme (Scan *scan, gsize at)
{
  gsize name = begins_with (scan, at, "bearer ") ? 7 : begins_with (scan, at, "basic ") ? 6 : 0;
  if (name == 0 || !is_word_start (scan, at))
    return;
  gsize from = at + name;
  while (from < scan->len && scan->text[from] == ' ')
    from++;
  gsize n = run_of (scan, from, is_token_char);
  static const char header[] = "authorization";
  gsize h = sizeof header - 1;
  gboolean is_header = FALSE;
  for (gsize gap = 1; gap <= 6 && at >= h + gap && !is_header; gap++)
    is_header = begins_with (scan, at - h - gap, header);
  if (is_header || looks_random (scan->text + from, n))
    found (scan, from, from + n);
}

/* A JSON Web Token: three base64url parts (RFC 7519), the first of which begins as `{"` encodes. */
static void
find_jwt (Scan *scan, gsize at)
{
  if (!is_word_start (scan, at) || at + 3 > scan->len || memcmp (scan->text + at, "eyJ", 3) != 0)
    return;
  gsize first = run_of (scan, at, is_word_char);
  gsize dot = at + first;
  if (first < MIN_TOKEN || dot >= scan->len || scan->text[dot] != '.')
    return;
  gsize second = run_of (scan, dot + 1, is_word_char);
  if (second < MIN_TOKEN)
    return;
  gsize end = dot + 1 + second;
  if (end < scan->len && scan->text[end] == '.')
    end += 1 + run_of (scan, end + 1, is_word_char);
  found (scan, at, end);
}

/* Keys that services begin with a word of their own, so that leaks can be found. */
static void
find_prefixed (Scan *scan, gsize at)
{
  static const struct
  {
    const char *prefix;
    guint min; /* bytes after the prefix */
  } keys[] = { { "AKIA", 16 },   { "ASIA", 16 },  { "ghp_", 20 },  { "gho_", 20 },
               { "ghu_", 20 },   { "ghs_", 20 },  { "ghr_", 20 },  { "github_pat_", 20 },
               { "glpat-", 20 }, { "xoxb-", 10 }, { "xoxp-", 10 }, { "xoxa-", 10 },
               { "sk-", 20 } };
  if (!is_word_start (scan, at))
    return;
  for (guint i = 0; i < G_N_ELEMENTS (keys); i++)
    {
      gsize n = strlen (keys[i].prefix);
      if (at + n > scan->len || memcmp (scan->text + at, keys[i].prefix, n) != 0)
        continue;
      gsize rest = run_of (scan, at + n, is_word_char);
      if (rest >= keys[i].min)
        found (scan, at, at + n + rest);
      return;
    }
}

/* What stands between the lines of a private key (RFC 7468); without an end line: all that follows.
 */
static void
find_pem (Scan *scan, gsize at)
{
  static const char begin[] = "-----BEGIN ";
  gsize from = at + sizeof begin - 1;
  if (!begins_with (scan, at, begin))
    return;
  gsize label = from;
  while (label < scan->len && (g_ascii_isalnum (scan->text[label]) || scan->text[label] == ' '))
    label++;
  if (label + 5 > scan->len || memcmp (scan->text + label, "-----", 5) != 0 || label < from + 11
      || memcmp (scan->text + label - 11, "PRIVATE KEY", 11) != 0)
    return;
  from = label + 5;
  const char *end = memmem (scan->text + from, scan->len - from, "-----END ", 9);
  found (scan, from, end ? (gsize) (end - scan->text) : scan->len);
}

/* ------------------------------------------------------------------------------ user info, values
 */

/* scheme://user:password@host: the password; a long user name alone is a token. */
static void
find_user_info (Scan *scan, gsize colon)
{
  if (colon + 3 > scan->len || memcmp (scan->text + colon, "://", 3) != 0)
    return;
  gsize from = colon + 3, at = 0, separator = 0;
  for (gsize i = from; i < scan->len && i < from + 1024; i++)
    {
      char c = scan->text[i];
      if (c == '@')
        at = i;
      else if (c == ':' && separator == 0)
        separator = i;
      else if ((guint8) c <= ' ' || strchr ("/?#\"'<>", c))
        break;
    }
  if (at == 0)
    return;
  if (separator != 0 && separator < at)
    found (scan, separator + 1, at);
  else if (at - from >= MIN_TOKEN)
    found (scan, from, at);
}

typedef enum
{
  NAME_PLAIN,
  NAME_TOKEN,    /* a word of prose too */
  NAME_PASSWORD, /* nobody writes it before a colon without meaning it */
} NameKind;

static NameKind
name_kind (const char *name, gsize len)
{
  static const struct
  {
    const char *suffix;
    NameKind kind;
  } names[] = { { "password", NAME_PASSWORD },    { "passwd", NAME_PASSWORD },
                { "pwd", NAME_PASSWORD },         { "passphrase", NAME_PASSWORD },
                { "secret", NAME_PASSWORD },      { "api_key", NAME_PASSWORD },
                { "apikey", NAME_PASSWORD },      { "api-key", NAME_PASSWORD },
                { "secret_key", NAME_PASSWORD },  { "access_key", NAME_PASSWORD },
                { "private_key", NAME_PASSWORD }, { "fernet_key", NAME_PASSWORD },
                { "token", NAME_TOKEN },          { "credentials", NAME_TOKEN } };
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      gsize n = strlen (names[i].suffix);
      if (len >= n && g_ascii_strncasecmp (name + len - n, names[i].suffix, n) == 0)
        return names[i].kind;
    }
  return NAME_PLAIN;
}

static gboolean
is_empty_value (const char *value, gsize len)
{
  static const char *const words[] = { "null", "none", "true", "false", "nil", "undefined" };
  gsize stars = 0;
  while (stars < len && value[stars] == '*')
    stars++;
  if (stars == len)
    return TRUE;
  for (guint i = 0; i < G_N_ELEMENTS (words); i++)
    if (strlen (words[i]) == len && g_ascii_strncasecmp (value, words[i], len) == 0)
      return TRUE;
  return len >= 7 && memcmp (value, "[masked]", 7) == 0; /* the bracket ends a bare value */
}

/* A quote, maybe escaped once because JSON stands in JSON: its length at @at, 0 if there is none.
 */
static gsize
quote_at (const Scan *scan, gsize at)
{
  gsize slash = at < scan->len && scan->text[at] == '\\' ? 1 : 0;
  if (at + slash >= scan->len)
    return 0;
  char c = scan->text[at + slash];
  return c == '"' || (c == '\'' && slash == 0) ? slash + 1 : 0;
}

static gsize
value_end (const Scan *scan, gsize from, gsize quote)
{
  char mark = quote > 0 ? scan->text[from - 1] : 0;
  for (gsize i = from; i < scan->len; i++)
    {
      char c = scan->text[i];
      if ((guint8) c < ' ')
        return i;
      if (quote == 0 && (c == ' ' || strchr (",;&)]}\"'<>", c)))
        return i;
      if (quote == 2 && c == '\\' && i + 1 < scan->len && scan->text[i + 1] == mark)
        return i;
      if (quote == 1 && c == mark)
        return i;
      if (quote == 1 && c == '\\' && i + 1 < scan->len && (guint8) scan->text[i + 1] >= ' ')
        i++;
    }
  return scan->len;
}

/* password=x, "token": "x", db_secret: x. @at is the = or : between. */
static void
find_value (Scan *scan, gsize at)
{
  gsize end = at;
  while (end > 0 && scan->text[end - 1] == ' ' && at - end < 3)
    end--;
  gboolean is_quoted = end > 0 && (scan->text[end - 1] == '"' || scan->text[end - 1] == '\'');
  if (is_quoted)
    end--;
  if (is_quoted && end > 0 && scan->text[end - 1] == '\\')
    end--;
  gsize name = end;
  while (name > 0 && is_word_char (scan->text[name - 1]) && end - name < 64)
    name--;
  NameKind kind = name_kind (scan->text + name, end - name);
  if (kind == NAME_PLAIN)
    return;
  gsize from = at + 1;
  while (from < scan->len && scan->text[from] == ' ' && from - at < 4)
    from++;
  gsize quote = quote_at (scan, from);
  from += quote;
  gsize to = value_end (scan, from, quote);
  /* An object or a list: its members are looked at by themselves. */
  if (quote == 0 && from < scan->len && (scan->text[from] == '{' || scan->text[from] == '['))
    return;
  if (to <= from || is_empty_value (scan->text + from, to - from))
    return;
  if (scan->text[at] == '=' || is_quoted || quote > 0 || kind == NAME_PASSWORD
      || looks_random (scan->text + from, to - from))
    found (scan, from, to);
}

/* Whether the byte behind @at can go on what began there: most letters end here, without a call. */
static inline gboolean
goes_on (const Scan *scan, gsize at, char one, char other)
{
  char next = at + 1 < scan->len ? scan->text[at + 1] : 0;
  return next == one || next == other;
}

void
dbr_mask_find_shapes (const char *text, gsize len, GArray **ranges)
{
  Scan scan = { text, len, ranges };
  for (gsize i = 0; i < len; i++)
    switch (text[i])
      {
      case 'b':
      case 'B': /* bearer, basic */
        if (goes_on (&scan, i, 'e', 'a') || goes_on (&scan, i, 'E', 'A'))
          find_scheme (&scan, i);
        break;
      case 'e':
        if (goes_on (&scan, i, 'y', 'y'))
          find_jwt (&scan, i);
        break;
      case 'A': /* AKIA, ASIA */
        if (goes_on (&scan, i, 'K', 'S'))
          find_prefixed (&scan, i);
        break;
      case 'g': /* ghp_, glpat-, github_pat_ */
        if (goes_on (&scan, i, 'h', 'l') || goes_on (&scan, i, 'i', 'i'))
          find_prefixed (&scan, i);
        break;
      case 'x':
        if (goes_on (&scan, i, 'o', 'o'))
          find_prefixed (&scan, i);
        break;
      case 's':
        if (goes_on (&scan, i, 'k', 'k'))
          find_prefixed (&scan, i);
        break;
      case '-':
        if (goes_on (&scan, i, '-', '-'))
          find_pem (&scan, i);
        break;
      case ':':
        find_user_info (&scan, i);
        find_value (&scan, i);
        break;
      case '=':
        find_value (&scan, i);
        break;
      default:
        break;
      }
}
