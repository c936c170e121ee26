/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-json-path-parse: queries, segments and selectors of RFC 9535 (appendix A), by recursive
 * descent of bounded depth. Filter expressions are in dbr-json-path-expr.c; what the grammar leaves
 * to typing (section 2.4.3) is in dbr-json-path-check.c.
 */
#include "config.h"

#include "dbr-json-path-parser.h"

#include <string.h>

#define MAX_INTEGER G_GINT64_CONSTANT (9007199254740991) /* section 2.1: I-JSON */

guint
path_parser_column (const PathParser *self, const char *at)
{
  return (guint) g_utf8_strlen (self->path->text, at - self->path->text) + 1;
}

/* Returns FALSE; what stands at @at is not @expected. */
gboolean
path_parser_fail (PathParser *self, const char *at, const char *expected)
{
  char found[32];
  char column[32] = "";

  if (at >= self->end)
    g_strlcpy (found, "the end", sizeof found);
  else if ((guchar) *at < 0x20)
    g_snprintf (found, sizeof found, "U+%04X", (guint) *at);
  else
    g_snprintf (found, sizeof found, "'%.*s'", (int) g_utf8_skip[(guchar) *at], at);
  if (at < self->end)
    g_snprintf (column, sizeof column, " at column %u", path_parser_column (self, at));
  g_set_error (self->error, DBR_JSON_PATH_ERROR, DBR_JSON_PATH_ERROR_SYNTAX,
               "JSONPath '%s': expected %s, found %s%s", self->path->text, expected, found, column);
  return FALSE;
}

gboolean
path_parser_enter (PathParser *self)
{
  if (++self->nesting <= DBR_JSON_PATH_MAX_NESTING)
    return TRUE;
  g_set_error (self->error, DBR_JSON_PATH_ERROR, DBR_JSON_PATH_ERROR_SYNTAX,
               "JSONPath '%s': nested deeper than %u levels at column %u", self->path->text,
               DBR_JSON_PATH_MAX_NESTING, path_parser_column (self, self->p));
  return FALSE;
}

void
path_parser_skip_blanks (PathParser *self)
{
  while (self->p < self->end && strchr (" \t\n\r", *self->p))
    self->p++;
}

gboolean
path_parser_at (const PathParser *self, char c)
{
  return self->p < self->end && *self->p == c;
}

gboolean
path_parser_take (PathParser *self, const char *token)
{
  gsize len = strlen (token);
  if ((gsize) (self->end - self->p) < len || memcmp (self->p, token, len) != 0)
    return FALSE;
  self->p += len;
  return TRUE;
}

static gboolean
at_digit (const PathParser *self)
{
  return self->p < self->end && g_ascii_isdigit (*self->p);
}

/* ---- strings */

static gboolean
parse_hex4 (PathParser *self, gunichar *out)
{
  *out = 0;
  for (int i = 0; i < 4; i++, self->p++)
    {
      if (self->p >= self->end || !g_ascii_isxdigit (*self->p))
        return path_parser_fail (self, self->p, "a hexadecimal digit");
      *out = *out << 4 | (guint) g_ascii_xdigit_value (*self->p);
    }
  return TRUE;
}

static gboolean
parse_unicode_escape (PathParser *self, GString *out)
{
  const char *at = self->p;
  gunichar c;
  gunichar low;

  if (!parse_hex4 (self, &c))
    return FALSE;
  if (c >= 0xDC00 && c < 0xE000)
    return path_parser_fail (self, at, "a character or the high half of a surrogate pair");
  if (c >= 0xD800 && c < 0xDC00)
    {
      at = self->p;
      if (!path_parser_take (self, "\\u"))
        return path_parser_fail (self, at, "the low half of a surrogate pair");
      if (!parse_hex4 (self, &low))
        return FALSE;
      if (low < 0xDC00 || low >= 0xE000)
        return path_parser_fail (self, at, "the low half of a surrogate pair");
      c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
    }
  if (c == 0)
    g_string_append_c (out, '\0');
  else
    g_string_append_unichar (out, c);
  return TRUE;
}

static gboolean
parse_escape (PathParser *self, char quote, GString *out)
{
  static const char letters[] = "bfnrt/\\";
  static const char values[] = "\b\f\n\r\t/\\";

  if (self->p < self->end && *self->p == quote)
    {
      g_string_append_c (out, *self->p++);
      return TRUE;
    }
  if (path_parser_take (self, "u"))
    return parse_unicode_escape (self, out);
  const char *letter = self->p < self->end ? strchr (letters, *self->p) : NULL;
  if (!letter)
    return path_parser_fail (self, self->p, "an escape (one of b f n r t / \\ u or the quote)");
  g_string_append_c (out, values[letter - letters]);
  self->p++;
  return TRUE;
}

/* self->p stands on the opening quote. */
gboolean
path_parse_string (PathParser *self, GString *out)
{
  char quote = *self->p++;

  for (;;)
    {
      if (self->p >= self->end || (guchar) *self->p < 0x20)
        return path_parser_fail (self, self->p, "the rest of a quoted text");
      char c = *self->p++;
      if (c == quote)
        return TRUE;
      if (c != '\\')
        g_string_append_c (out, c);
      else if (!parse_escape (self, quote, out))
        return FALSE;
    }
}

static void
set_name (PathParser *self, PathSelector *selector, const char *name, gsize len)
{
  char *copy = path_alloc (self->path, len + 1);
  memcpy (copy, name, len);
  selector->kind = SELECT_NAME;
  selector->name = copy;
  selector->name_len = len;
}

/* ---- selectors */

static gboolean
parse_integer (PathParser *self, gint64 *out)
{
  const char *start = self->p;
  gboolean is_negative = path_parser_take (self, "-");
  gint64 value = 0;

  if (!at_digit (self) || (*self->p == '0' && is_negative))
    return path_parser_fail (self, self->p, "a number");
  if (path_parser_take (self, "0"))
    {
      *out = 0;
      return !at_digit (self) || path_parser_fail (self, self->p, "a number without leading zeros");
    }
  for (; at_digit (self); self->p++)
    value = MIN (value * 10 + (*self->p - '0'), MAX_INTEGER + 1);
  if (value > MAX_INTEGER)
    {
      g_set_error (self->error, DBR_JSON_PATH_ERROR, DBR_JSON_PATH_ERROR_TYPE,
                   "JSONPath '%s': '%.*s' at column %u is beyond 9007199254740991",
                   self->path->text, (int) (self->p - start), start,
                   path_parser_column (self, start));
      return FALSE;
    }
  *out = is_negative ? -value : value;
  return TRUE;
}

gboolean
path_parser_at_integer (const PathParser *self)
{
  return at_digit (self) || path_parser_at (self, '-');
}

static gboolean
parse_index_or_slice (PathParser *self, PathSelector *selector)
{
  selector->kind = SELECT_INDEX;
  selector->step = 1;
  if (path_parser_at_integer (self))
    {
      selector->has_start = TRUE;
      if (!parse_integer (self, &selector->start))
        return FALSE;
    }
  const char *after = self->p;
  path_parser_skip_blanks (self);
  if (!path_parser_take (self, ":"))
    {
      self->p = after;
      return TRUE;
    }
  selector->kind = SELECT_SLICE;
  path_parser_skip_blanks (self);
  if (path_parser_at_integer (self))
    {
      selector->has_end = TRUE;
      if (!parse_integer (self, &selector->end))
        return FALSE;
      after = self->p;
      path_parser_skip_blanks (self);
    }
  if (path_parser_take (self, ":"))
    {
      path_parser_skip_blanks (self);
      if (path_parser_at_integer (self) && !parse_integer (self, &selector->step))
        return FALSE;
    }
  return TRUE;
}

static gboolean
parse_selector (PathParser *self, PathSelector *selector)
{
  if (path_parser_at (self, '\'') || path_parser_at (self, '"'))
    {
      g_autoptr (GString) name = g_string_new (NULL);
      if (!path_parse_string (self, name))
        return FALSE;
      set_name (self, selector, name->str, name->len);
      return TRUE;
    }
  if (path_parser_take (self, "*"))
    {
      selector->kind = SELECT_WILDCARD;
      return TRUE;
    }
  if (path_parser_at_integer (self) || path_parser_at (self, ':'))
    return parse_index_or_slice (self, selector);
  if (!path_parser_take (self, "?"))
    return path_parser_fail (self, self->p, "a quoted name, *, a number, a slice or a filter");
  path_parser_skip_blanks (self);
  selector->kind = SELECT_FILTER;
  if (!path_parser_enter (self))
    return FALSE;
  selector->filter = path_parse_or (self);
  self->nesting--;
  return selector->filter != NULL;
}

/* Behind the opening bracket. */
static gboolean
parse_brackets (PathParser *self, PathSegment *segment)
{
  PathSelector **link = &segment->selectors;

  for (;;)
    {
      PathSelector *selector = path_alloc (self->path, sizeof *selector);
      path_parser_skip_blanks (self);
      if (!parse_selector (self, selector))
        return FALSE;
      *link = selector;
      link = &selector->next;
      path_parser_skip_blanks (self);
      if (path_parser_take (self, "]"))
        return TRUE;
      if (!path_parser_take (self, ","))
        return path_parser_fail (self, self->p, "',' or ']'");
    }
}

static gboolean
is_name_char (const PathParser *self, gboolean is_first)
{
  if (self->p >= self->end)
    return FALSE;
  char c = *self->p;
  return g_ascii_isalpha (c) || c == '_' || ((guchar) c & 0x80)
         || (!is_first && g_ascii_isdigit (c));
}

/* Behind the dot: a name or *. */
static gboolean
parse_shorthand (PathParser *self, PathSegment *segment)
{
  const char *start = self->p;

  segment->selectors = path_alloc (self->path, sizeof (PathSelector));
  if (path_parser_take (self, "*"))
    {
      segment->selectors->kind = SELECT_WILDCARD;
      return TRUE;
    }
  if (!is_name_char (self, TRUE))
    return path_parser_fail (self, self->p,
                             segment->is_descendant ? "a name, * or '['" : "a name or *");
  while (is_name_char (self, FALSE))
    self->p++;
  set_name (self, segment->selectors, start, (gsize) (self->p - start));
  return TRUE;
}

/* ---- queries */

static const PathSelector *
only_name (const PathSegment *segment)
{
  return segment && !segment->is_descendant && segment->selectors->kind == SELECT_NAME
                 && !segment->selectors->next
             ? segment->selectors
             : NULL;
}

static void
note_root (PathParser *self, const PathQuery *query)
{
  const PathSelector *name = only_name (query->segments);
  g_autofree char *root = NULL;

  if (name && g_str_equal (name->name, "http"))
    {
      const PathSelector *second = only_name (query->segments->next);
      const PathSelector *third = second ? only_name (query->segments->next->next) : NULL;
      root = second ? g_strconcat ("http.", second->name, third ? "." : NULL,
                                   third ? third->name : NULL, NULL)
                    : g_strdup ("*");
    }
  else
    root = g_strdup (name ? name->name : "*");
  if (!g_ptr_array_find_with_equal_func (self->path->roots, root, g_str_equal, NULL))
    g_ptr_array_add (self->path->roots, g_steal_pointer (&root));
}

static gboolean
parse_segment (PathParser *self, PathSegment *segment)
{
  if (path_parser_take (self, "["))
    return parse_brackets (self, segment);
  if (path_parser_take (self, ".."))
    {
      segment->is_descendant = TRUE;
      return path_parser_take (self, "[") ? parse_brackets (self, segment)
                                          : parse_shorthand (self, segment);
    }
  self->p++; /* the dot */
  return parse_shorthand (self, segment);
}

static gboolean
is_singular_segment (const PathSegment *segment)
{
  const PathSelector *selector = segment->selectors;
  return !segment->is_descendant && !selector->next
         && (selector->kind == SELECT_NAME || selector->kind == SELECT_INDEX);
}

/* self->p stands on $ or @. */
PathQuery *
path_parse_query (PathParser *self)
{
  PathQuery *query = path_alloc (self->path, sizeof *query);
  PathSegment **link = &query->segments;

  query->is_absolute = *self->p++ == '$';
  query->is_singular = TRUE;
  if (query->is_absolute)
    query->slot = self->path->n_slots++;
  for (;;)
    {
      const char *after = self->p;
      path_parser_skip_blanks (self);
      if (!path_parser_at (self, '[') && !path_parser_at (self, '.'))
        {
          self->p = after;
          break;
        }
      PathSegment *segment = path_alloc (self->path, sizeof *segment);
      if (!parse_segment (self, segment))
        return NULL;
      query->is_singular = query->is_singular && is_singular_segment (segment);
      *link = segment;
      link = &segment->next;
    }
  if (query->is_absolute)
    note_root (self, query);
  return query;
}

/* ---- the whole */

static gboolean
parse_top (PathParser *self)
{
  DbrJsonPath *path = self->path;

  if (path->flags & DBR_JSON_PATH_CONDITION)
    {
      path->condition = path_parse_or (self);
      return path->condition != NULL;
    }
  if ((path->flags & DBR_JSON_PATH_VALUE) && self->p < self->end && g_ascii_islower (*self->p))
    {
      path->call = path_parse_word (self);
      return path->call != NULL;
    }
  gboolean is_relative_ok = (path->flags & (DBR_JSON_PATH_RELATIVE | DBR_JSON_PATH_VALUE)) != 0;
  if (!path_parser_at (self, '$') && !(is_relative_ok && path_parser_at (self, '@')))
    return path_parser_fail (self, self->p, is_relative_ok ? "$ or @" : "$");
  path->query = path_parse_query (self);
  return path->query != NULL;
}

gboolean
path_parse (DbrJsonPath *self, GError **error)
{
  gsize len = strlen (self->text);
  PathParser parser = { self, self->text, self->text + len, 0, error };

  if (len > DBR_JSON_PATH_MAX_TEXT)
    {
      g_set_error (error, DBR_JSON_PATH_ERROR, DBR_JSON_PATH_ERROR_SYNTAX,
                   "a JSONPath of more than %u bytes", DBR_JSON_PATH_MAX_TEXT);
      return FALSE;
    }
  if (!g_utf8_validate (self->text, (gssize) len, NULL))
    {
      g_set_error_literal (error, DBR_JSON_PATH_ERROR, DBR_JSON_PATH_ERROR_SYNTAX,
                           "a JSONPath that is not UTF-8");
      return FALSE;
    }
  /* In a catalogue a text may have blanks around it; RFC 9535 allows none. */
  if (self->flags != DBR_JSON_PATH_RFC)
    path_parser_skip_blanks (&parser);
  if (!parse_top (&parser))
    return FALSE;
  if (self->flags != DBR_JSON_PATH_RFC)
    path_parser_skip_blanks (&parser);
  if (parser.p < parser.end)
    return path_parser_fail (&parser, parser.p, "the end");
  g_ptr_array_add (self->roots, NULL);
  return TRUE;
}
