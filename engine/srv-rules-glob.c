/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-rules-glob: do two globs have a path in common?
 *
 * Both are walked at once over the product of their positions, a row of it at a time: a set of positions in the one
 * glob, as bits, for each position in the other. Judging a plan compares all its paths with all that is protected: what
 * begins otherwise is told apart at once, and what a judgement may cost in all is bounded.
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
#define N_WORDS ((MAX_TOKENS + 63) / 64)

typedef struct
{
  Token tokens[MAX_TOKENS];
  guint n;
  guint path_end; /* a path may end here, or at the end of what lies under it */
} Glob;

typedef struct
{
  guint64 words[N_WORDS];
} Set;

static void
tokenize (const char *glob, Glob *self)
{
  Token *out = self->tokens;
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
  guint path_end = n;
  if (n > 0)
    {
      if (!has_slash)
        out[n++] = (Token){ LITERAL, '/' };
      out[n++] = (Token){ STARS, '*' };
    }
  self->path_end = has_slash ? n : path_end;
  out[n++] = (Token){ END, 0 };
  self->n = n;
}

static gboolean
may_be_empty (Token token)
{
  return token.kind == STAR || token.kind == STARS || token.kind == STARS_SLASH;
}

/* ----------------------------------------------------------------------- sets */
static void
add (Set *set, guint i)
{
  set->words[i / 64] |= G_GUINT64_CONSTANT (1) << (i % 64);
}

static gboolean
has (const Set *set, guint i)
{
  return (set->words[i / 64] >> (i % 64) & 1) != 0;
}

/* From each position of @set that @passes has, on to the next, and so on: the carry of an addition runs there. */
static void
flood (Set *set, const Set *passes)
{
  guint64 carry = 0;

  for (guint w = 0; w < N_WORDS; w++)
    {
      guint64 pass = passes->words[w], start = set->words[w] & pass;
      guint64 sum = start + pass;
      guint64 over = sum < pass;
      sum += carry;
      over |= sum < carry;
      set->words[w] |= sum ^ pass;
      carry = over;
    }
}

/* --------------------------------------------------------------------- columns */
/* What the positions of a glob are, as sets. */
typedef struct
{
  Set literal[256]; /* the byte */
  Set any_literal;
  Set pattern; /* takes all but a slash, at least */
  Set deep;    /* takes a slash too */
  Set empty;   /* may be empty; stays where it is when it takes one */
} Columns;

static void
columns_fill (Columns *self, const Glob *glob)
{
  memset (self, 0, sizeof *self);
  for (guint j = 0; j < glob->n; j++)
    {
      Token token = glob->tokens[j];
      if (token.kind == END)
        continue;
      add (token.kind == LITERAL ? &self->any_literal : &self->pattern, j);
      if (token.kind == LITERAL)
        add (&self->literal[(guchar) token.literal], j);
      if (token.kind == STARS || token.kind == STARS_SLASH)
        add (&self->deep, j);
      if (may_be_empty (token))
        add (&self->empty, j);
    }
}

/* The positions that take what @token takes, one of it at least. */
static Set
takers (const Columns *self, Token token)
{
  gboolean is_deep = token.kind == STARS || token.kind == STARS_SLASH;
  const Set *same = &self->literal[token.kind == LITERAL ? (guchar) token.literal : '/'];
  const Set *patterns
      = token.kind == LITERAL && token.literal == '/' ? &self->deep : &self->pattern;
  Set out = { { 0 } };

  for (guint w = 0; w < N_WORDS && token.kind != END; w++)
    {
      guint64 literals = token.kind == LITERAL ? same->words[w]
                         : is_deep             ? self->any_literal.words[w]
                                               : self->any_literal.words[w] & ~same->words[w];
      out.words[w] = literals | patterns->words[w];
    }
  return out;
}

/* The row after one of @row: @token and what takes it have gone on, or @token was empty. FALSE: nothing is left. */
static gboolean
next_row (Set *row, const Columns *columns, Token token)
{
  Set takes = takers (columns, token), passes = columns->empty;
  gboolean stays = may_be_empty (token);
  guint64 carry = 0, any = 0;

  for (guint w = 0; w < N_WORDS && stays; w++)
    passes.words[w] |= takes.words[w];
  flood (row, &passes);
  for (guint w = 0; w < N_WORDS; w++)
    {
      guint64 taking = row->words[w] & takes.words[w];
      guint64 moved = taking & ~columns->empty.words[w];
      if (!stays)
        row->words[w] = (taking & columns->empty.words[w]) | moved << 1 | carry;
      carry = moved >> 63;
      any |= row->words[w];
    }
  return any != 0;
}

/* *steps counts rows. */
static gboolean
meet (const Glob *a, const Glob *b, const Columns *columns, guint *steps)
{
  Set row = { { 1 } };

  for (guint i = 0; i < a->n; i++)
    {
      ++*steps;
      if (i == a->path_end || i + 1 == a->n)
        {
          Set ends = row;
          flood (&ends, &columns->empty);
          if (has (&ends, b->path_end) || has (&ends, b->n - 1))
            return TRUE;
        }
      if (!next_row (&row, columns, a->tokens[i]))
        return FALSE;
    }
  return FALSE;
}

gboolean
srv_globs_overlap (const char *a, const char *b)
{
  Glob a_glob, b_glob;
  Columns columns;
  guint steps = 0;

  tokenize (a, &a_glob);
  tokenize (b, &b_glob);
  columns_fill (&columns, &b_glob);
  return meet (&a_glob, &b_glob, &columns, &steps);
}

/* ------------------------------------------------------------------------ sets */
typedef struct
{
  Glob glob;
  Columns columns;
  gboolean is_touched;
} Member;

struct _SrvGlobSet
{
  Member *members;
  guint n, n_touched, steps;
};

SrvGlobSet *
srv_glob_set_new (const char *const *globs)
{
  SrvGlobSet *self = g_new0 (SrvGlobSet, 1);

  while (globs && globs[self->n])
    self->n++;
  self->members = g_new (Member, self->n);
  for (guint i = 0; i < self->n; i++)
    {
      Member *member = &self->members[i];
      tokenize (globs[i], &member->glob);
      columns_fill (&member->columns, &member->glob);
      member->is_touched = FALSE;
    }
  return self;
}

void
srv_glob_set_free (SrvGlobSet *self)
{
  g_free (self->members);
  g_free (self);
}

/* Two different bytes before either has a pattern: no path begins with both. */
static gboolean
begin_apart (const Glob *a, const Glob *b)
{
  for (guint i = 0; a->tokens[i].kind == LITERAL && b->tokens[i].kind == LITERAL; i++)
    if (a->tokens[i].literal != b->tokens[i].literal)
      return TRUE;
  return FALSE;
}

static gboolean
compare (SrvGlobSet *self, const Glob *glob, const Member *member)
{
  self->steps++;
  if (begin_apart (glob, &member->glob))
    return FALSE;
  return meet (glob, &member->glob, &member->columns, &self->steps);
}

void
srv_glob_set_touch (SrvGlobSet *self, const char *text)
{
  Glob glob;

  if (self->n_touched == self->n)
    return;
  if (text)
    tokenize (text, &glob);
  for (guint i = 0; i < self->n; i++)
    {
      Member *member = &self->members[i];
      if (member->is_touched)
        continue;
      member->is_touched
          = !text || self->steps >= SRV_MAX_GLOB_STEPS || compare (self, &glob, member);
      self->n_touched += member->is_touched;
    }
}

gboolean
srv_glob_set_is_touched (const SrvGlobSet *self, guint i)
{
  return self->members[i].is_touched;
}

guint
srv_glob_set_steps (const SrvGlobSet *self)
{
  return self->steps;
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
