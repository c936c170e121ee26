/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-json-path-regexp: I-Regexp (RFC 9485) checked, put into PCRE2's words and run within limits.
 *
 * Only what the grammar of I-Regexp knows reaches PCRE2, so a pattern from a document cannot use
 * look-around, back references or anything else that is costly. One thing differs from the letter
 * of the grammar: ^ and $ stay anchors, as the RFC's own mapping to PCRE leaves them.
 */
#include "config.h"

#include "dbr-json-path-priv.h"

#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#define MAX_PATTERN DBR_JSON_PATH_MAX_TEXT
#define MAX_GROUPS 64u
#define MATCH_LIMIT 200000u /* backtracking steps: some milliseconds */
#define DEPTH_LIMIT 2000u
#define HEAP_LIMIT_KIB 1024u

struct _PathRegexp
{
  pcre2_code *code;
  pcre2_match_data *data;
  pcre2_match_context *context;
  guint units_left; /* of the run in progress */
};

typedef struct
{
  const char *p;
  const char *end;
  GString *out;
  guint n_open;
} Translator;

static gboolean
at_one_of (const Translator *self, const char *set)
{
  return self->p < self->end && *self->p != '\0' && strchr (set, *self->p) != NULL;
}

static void
copy_char (Translator *self)
{
  gsize len = (gsize) g_utf8_skip[(guchar) *self->p];
  len = MIN (len, (gsize) (self->end - self->p));
  g_string_append_len (self->out, self->p, (gssize) len);
  self->p += len;
}

/* \p{Lu} and \P{Lu}; IsCategory is one letter, or two. */
static gboolean
copy_category (Translator *self)
{
  static const char *const second[]
      = { "Llmotu", "Mcen", "Ndlo", "Pcdefios", "Zlps", "Sckmo", "Ccfno" };
  const char *p = self->p + 1;
  const char *set = NULL;

  if (self->end - p < 3 || p[0] != '{')
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (second); i++)
    if (second[i][0] == p[1])
      set = second[i] + 1;
  if (!set)
    return FALSE;
  p += 2;
  if (*p != '}')
    {
      if (*p == '\0' || !strchr (set, *p))
        return FALSE;
      p++;
    }
  if (p >= self->end || *p != '}')
    return FALSE;
  g_string_append_c (self->out, '\\');
  g_string_append_len (self->out, self->p, p + 1 - self->p);
  self->p = p + 1;
  return TRUE;
}

/* Behind a backslash. *out_is_single: it stands for one character (so it can bound a range). */
static gboolean
copy_escape (Translator *self, gboolean *out_is_single)
{
  *out_is_single = TRUE;
  if (at_one_of (self, "()*+-.?[\\]^nrt{|}"))
    {
      g_string_append_c (self->out, '\\');
      g_string_append_c (self->out, *self->p++);
      return TRUE;
    }
  *out_is_single = FALSE;
  return at_one_of (self, "pP") && copy_category (self);
}

static gboolean
copy_class_char (Translator *self, gboolean *out_is_single)
{
  *out_is_single = TRUE;
  if (self->p >= self->end || at_one_of (self, "-[]"))
    return FALSE;
  if (*self->p != '\\')
    {
      copy_char (self);
      return TRUE;
    }
  self->p++;
  return copy_escape (self, out_is_single);
}

/* A character, an escape or a range. */
static gboolean
copy_class_item (Translator *self)
{
  gboolean is_single;

  if (!copy_class_char (self, &is_single))
    return FALSE;
  if (!is_single || self->end - self->p < 2 || self->p[0] != '-' || self->p[1] == ']')
    return TRUE;
  g_string_append_c (self->out, *self->p++);
  return copy_class_char (self, &is_single) && is_single;
}

static void
copy_hyphen (Translator *self)
{
  g_string_append (self->out, "\\-");
  self->p++;
}

/* Behind the opening bracket. A hyphen may stand first and last. */
static gboolean
copy_class (Translator *self)
{
  g_string_append_c (self->out, '[');
  if (at_one_of (self, "^"))
    copy_char (self);
  if (at_one_of (self, "-"))
    copy_hyphen (self);
  else if (!copy_class_item (self))
    return FALSE;
  while (!at_one_of (self, "-]"))
    if (!copy_class_item (self))
      return FALSE;
  if (at_one_of (self, "-"))
    copy_hyphen (self);
  if (!at_one_of (self, "]"))
    return FALSE;
  copy_char (self);
  return TRUE;
}

/* {n}, {n,} or {n,m}; behind the brace. */
static gboolean
copy_range (Translator *self)
{
  const char *start = self->p;

  while (self->p < self->end && g_ascii_isdigit (*self->p))
    self->p++;
  if (self->p == start)
    return FALSE;
  if (at_one_of (self, ","))
    self->p++;
  while (self->p < self->end && g_ascii_isdigit (*self->p))
    self->p++;
  if (!at_one_of (self, "}"))
    return FALSE;
  self->p++;
  g_string_append_c (self->out, '{');
  g_string_append_len (self->out, start, self->p - start);
  return TRUE;
}

static gboolean
copy_quantifier (Translator *self)
{
  if (at_one_of (self, "*+?"))
    copy_char (self);
  else if (at_one_of (self, "{"))
    {
      self->p++;
      return copy_range (self);
    }
  return TRUE;
}

/* One atom with its quantifier, a bar, or an opening parenthesis. */
static gboolean
copy_piece (Translator *self)
{
  gboolean is_single;
  char c = *self->p;

  switch (c)
    {
    case '|':
      copy_char (self);
      return TRUE;
    case '(':
      self->p++;
      g_string_append (self->out, "(?:");
      return ++self->n_open <= MAX_GROUPS;
    case ')':
      if (self->n_open-- == 0)
        return FALSE;
      copy_char (self);
      return copy_quantifier (self);
    case '.':
      self->p++;
      g_string_append (self->out, "[^\\n\\r]");
      return copy_quantifier (self);
    case '\\':
      self->p++;
      return copy_escape (self, &is_single) && copy_quantifier (self);
    case '[':
      self->p++;
      return copy_class (self) && copy_quantifier (self);
    case '^':
    case '$':
      copy_char (self); /* repeating an anchor is refused by what follows */
      return TRUE;
    default:
      if (strchr ("*+?]{}", c) && c != '\0')
        return FALSE;
      copy_char (self);
      return copy_quantifier (self);
    }
}

char *
path_regexp_translate (const char *pattern, gsize len, gsize *out_len, char **out_message)
{
  g_autoptr (GString) out = g_string_new ("(?:");
  Translator self = { pattern, pattern + len, out, 0 };
  gboolean ok = len <= MAX_PATTERN;

  while (ok && self.p < self.end)
    ok = copy_piece (&self);
  if (!ok || self.n_open != 0)
    {
      if (out_message)
        *out_message
            = g_strdup_printf ("not a regular expression of RFC 9485 from its byte %u on (no "
                               "\\d \\w \\s, no lazy quantifiers, no look-around)",
                               (guint) (self.p - pattern) + 1);
      return NULL;
    }
  g_string_append_c (out, ')');
  *out_len = out->len;
  return g_string_free (g_steal_pointer (&out), FALSE);
}

/* PCRE2's own limits hold for each start in the text. This one counts each item that is tried, at
 * every start, and how far an item could run. */
static int
on_item (pcre2_callout_block *block, void *user_data)
{
  PathRegexp *self = user_data;
  gsize cost = 1 + (block->subject_length - block->current_position) / 256;

  if (self->units_left < cost)
    return PCRE2_ERROR_CALLOUT;
  self->units_left -= (guint) cost;
  return 0;
}

PathRegexp *
path_regexp_new (const char *pattern, gsize len, gboolean is_whole, char **out_message)
{
  gsize code_len;
  int code;
  PCRE2_SIZE at;
  g_autofree char *text = path_regexp_translate (pattern, len, &code_len, out_message);

  if (!text)
    return NULL;
  guint32 options = PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_AUTO_CALLOUT
                    | (is_whole ? PCRE2_ANCHORED | PCRE2_ENDANCHORED : 0);
  pcre2_code *compiled = pcre2_compile ((PCRE2_SPTR) text, code_len, options, &code, &at, NULL);
  if (!compiled)
    {
      if (out_message)
        {
          char words[128];
          pcre2_get_error_message (code, (PCRE2_UCHAR *) words, sizeof words);
          *out_message = g_strdup_printf ("not a usable regular expression: %s", words);
        }
      return NULL;
    }
  PathRegexp *self = g_new0 (PathRegexp, 1);
  self->code = compiled;
  self->data = pcre2_match_data_create (1, NULL);
  self->context = pcre2_match_context_create (NULL);
  pcre2_set_match_limit (self->context, MATCH_LIMIT);
  pcre2_set_depth_limit (self->context, DEPTH_LIMIT);
  pcre2_set_heap_limit (self->context, HEAP_LIMIT_KIB);
  pcre2_set_callout (self->context, on_item, self);
  return self;
}

void
path_regexp_free (PathRegexp *self)
{
  if (!self)
    return;
  pcre2_match_context_free (self->context);
  pcre2_match_data_free (self->data);
  pcre2_code_free (self->code);
  g_free (self);
}

PathRegexpResult
path_regexp_run (PathRegexp *self, const char *text, gsize len, guint *units_left)
{
  self->units_left = *units_left;
  int result = pcre2_match (self->code, (PCRE2_SPTR) text, len, 0, 0, self->data, self->context);
  *units_left = self->units_left;

  if (result >= 0)
    return REGEXP_YES;
  if (result == PCRE2_ERROR_MATCHLIMIT || result == PCRE2_ERROR_DEPTHLIMIT
      || result == PCRE2_ERROR_HEAPLIMIT || result == PCRE2_ERROR_CALLOUT)
    return REGEXP_TOO_COSTLY;
  return REGEXP_NO; /* no match, or a text that is not UTF-8 */
}
