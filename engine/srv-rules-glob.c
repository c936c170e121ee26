/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-rules-glob: do two globs have a path in common?
 *
 * Both are walked at once over the product of their positions; each pair of positions is visited once, so the cost is
 * the product of the lengths at worst.
 */
#include "config.h"

#include "srv-rules.h"

#include <string.h>

typedef enum
{
  END,
  LITERAL,
  NOT_SLASH, /* ? */
  STAR,
  STARS,       /* ** */
  STARS_SLASH, /* any folders, none too */
} Kind;

typedef struct
{
  Kind kind;
  char literal;
} Token;

#define MAX_TOKENS (SRV_MAX_GLOB + 4) /* a tail for what lies under it, and the end */

static guint
tokenize (const char *glob, gboolean under, Token *out)
{
  guint n = 0;

  while (g_str_has_prefix (glob, "./"))
    glob += 2;
  while (*glob == '/')
    glob++;
  for (const char *p = glob; *p && n < SRV_MAX_GLOB; p++)
    {
      Token token = { *p == '?' ? NOT_SLASH : *p == '*' ? STAR : LITERAL, *p };
      if (p[0] == '*' && p[1] == '*')
        {
          gboolean slash = p[2] == '/';
          token.kind = slash ? STARS_SLASH : STARS;
          p += slash ? 2 : 1;
        }
      out[n++] = token;
    }
  gboolean has_slash = n > 0 && out[n - 1].kind == LITERAL && out[n - 1].literal == '/';
  if ((under || has_slash) && n > 0)
    {
      if (!has_slash)
        out[n++] = (Token){ LITERAL, '/' };
      out[n++] = (Token){ STARS, '*' };
    }
  out[n++] = (Token){ END, 0 };
  return n;
}

static gboolean
takes (Token token, Token other)
{
  if (token.kind == END || other.kind == END)
    return FALSE;
  if (token.kind == LITERAL && other.kind == LITERAL)
    return token.literal == other.literal;
  if (token.kind == LITERAL)
    return token.literal != '/' || other.kind == STARS || other.kind == STARS_SLASH;
  if (other.kind == LITERAL)
    return takes (other, token);
  return TRUE;
}

static gboolean
may_be_empty (Token token)
{
  return token.kind == STAR || token.kind == STARS || token.kind == STARS_SLASH;
}

static guint
after (const Token *tokens, guint i)
{
  return may_be_empty (tokens[i]) ? i : i + 1;
}

static gboolean
meet (const Token *a, guint n_a, const Token *b, guint n_b)
{
  g_autofree guint8 *seen = g_malloc0 ((gsize) n_a * n_b);
  g_autoptr (GArray) todo = g_array_new (FALSE, FALSE, sizeof (guint));
  guint start = 0;

  g_array_append_val (todo, start);
  while (todo->len > 0)
    {
      guint at = g_array_index (todo, guint, todo->len - 1);
      g_array_set_size (todo, todo->len - 1);
      if (seen[at])
        continue;
      seen[at] = 1;
      guint i = at / n_b, j = at % n_b;
      if (a[i].kind == END && b[j].kind == END)
        return TRUE;
      guint next[3];
      guint n_next = 0;
      if (may_be_empty (a[i]))
        next[n_next++] = (i + 1) * n_b + j;
      if (may_be_empty (b[j]))
        next[n_next++] = i * n_b + j + 1;
      if (takes (a[i], b[j]))
        next[n_next++] = after (a, i) * n_b + after (b, j);
      g_array_append_vals (todo, next, n_next);
    }
  return FALSE;
}

gboolean
srv_globs_overlap (const char *a, const char *b)
{
  Token a_tokens[MAX_TOKENS], b_tokens[MAX_TOKENS];

  for (guint under = 0; under < 3; under++)
    {
      guint n_a = tokenize (a, under == 1, a_tokens);
      guint n_b = tokenize (b, under == 2, b_tokens);
      if (meet (a_tokens, n_a, b_tokens, n_b))
        return TRUE;
    }
  return FALSE;
}

gboolean
srv_glob_is_valid (const char *glob)
{
  gsize length = strlen (glob);

  if (length == 0 || length > SRV_MAX_GLOB || !g_utf8_validate (glob, (gssize) length, NULL))
    return FALSE;
  for (const char *p = glob; *p; p++)
    if ((guchar) *p < 0x20 || *p == 0x7f || *p == '\\')
      return FALSE;
  g_auto (GStrv) parts = g_strsplit (glob, "/", -1);
  for (guint i = 0; parts[i]; i++)
    if (strcmp (parts[i], "..") == 0)
      return FALSE;
  return TRUE;
}
