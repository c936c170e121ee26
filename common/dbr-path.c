/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-path: builds final paths and queries, and checks paths that a caller wrote whole.
 *
 * Invariant: what leaves here has no empty, "." or ".." segment in any reading (as it is, decoded
 * once, decoded twice), and decodes to exactly the values that went in. Source: RFC 3986
 * sections 2.1 to 2.3 and 5.2.4; servers that decode %2F before they route exist.
 */
#include "config.h"

#include "dbr-path-priv.h"

#include <string.h>

G_DEFINE_QUARK (dbr_path_error, dbr_path_error)

static gboolean
is_unreserved (guchar c)
{
  return g_ascii_isalnum (c) || c == '-' || c == '.' || c == '_' || c == '~';
}

static void
append_encoded (GString *out, const char *bytes, gsize len)
{
  static const char hex[] = "0123456789ABCDEF";

  for (gsize i = 0; i < len; i++)
    {
      guchar c = (guchar) bytes[i];

      if (is_unreserved (c))
        g_string_append_c (out, (char) c);
      else
        {
          g_string_append_c (out, '%');
          g_string_append_c (out, hex[c >> 4]);
          g_string_append_c (out, hex[c & 15]);
        }
    }
}

/* The byte that "%XX" at @text stands for, or -1. @left: bytes from @text on. */
static int
escape_at (const char *text, gsize left)
{
  if (left < 3 || text[0] != '%' || !g_ascii_isxdigit (text[1]) || !g_ascii_isxdigit (text[2]))
    return -1;
  return g_ascii_xdigit_value (text[1]) << 4 | g_ascii_xdigit_value (text[2]);
}

/* C0, DEL and C1 (two bytes in UTF-8) of valid UTF-8. */
static gboolean
holds_control (const char *piece, gsize len)
{
  for (gsize i = 0; i < len; i++)
    {
      guchar c = (guchar) piece[i];

      if (c < 0x20 || c == 0x7f || (c == 0xc2 && (guchar) piece[i + 1] < 0xa0))
        return TRUE;
    }
  return FALSE;
}

/* "." or ".." when each dot may also be written %2E. */
static gboolean
is_dots (const char *piece, gsize len)
{
  guint dots = 0;

  for (gsize i = 0; i < len; dots++)
    if (piece[i] == '.')
      i++;
    else if (escape_at (piece + i, len - i) == '.')
      i += 3;
    else
      return FALSE;
  return dots == 1 || dots == 2;
}

static const char *
problem_of_escapes (const char *piece, gsize len)
{
  for (gsize i = 0; i < len; i++)
    {
      int c = escape_at (piece + i, len - i);

      if (c == '/' || c == '\\')
        return "holds an encoded slash (%2F or %5C), which some servers take for a separator";
      if (c >= 0 && (c < 0x20 || c == 0x7f))
        return "holds an encoded control character";
    }
  return NULL;
}

static const char *
problem_of_piece (const char *piece, gsize len)
{
  if (len == 0)
    return "is empty";
  if (memchr (piece, '\0', len) != NULL)
    return "holds a NUL byte";
  if (!g_utf8_validate (piece, (gssize) len, NULL))
    return "is not valid UTF-8";
  if (memchr (piece, '/', len) != NULL)
    return "holds \"/\": the API cannot address such a name in a path; find it through its list "
           "with a filter";
  if (memchr (piece, '\\', len) != NULL)
    return "holds a backslash";
  if (holds_control (piece, len))
    return "holds a control character";
  if (is_dots (piece, len))
    return "is \".\" or \"..\", which would make another path";
  return problem_of_escapes (piece, len);
}

gboolean
dbr_path_piece_check (const char *piece, gsize len, const char **out_problem)
{
  const char *problem = problem_of_piece (piece, len);

  if (out_problem != NULL)
    *out_problem = problem;
  return problem == NULL;
}

/* Takes back what was appended since @old_len when the path grew too long. */
static gboolean
check_length (GString *path, gsize old_len, const char *what, GError **error)
{
  if (path->len <= DBR_PATH_MAX_BYTES)
    return TRUE;
  g_string_truncate (path, old_len);
  g_set_error (error, DBR_PATH_ERROR, DBR_PATH_ERROR_TOO_LONG,
               "%s makes the path longer than %u bytes", what, DBR_PATH_MAX_BYTES);
  return FALSE;
}

gboolean
dbr_path_append_segment (
    GString *path, const char *value, gssize len, const char *what, GError **error)
{
  gsize n = len < 0 ? strlen (value) : (gsize) len;
  gsize old_len = path->len;
  const char *problem;

  if (n > DBR_PATH_MAX_BYTES)
    {
      g_set_error (error, DBR_PATH_ERROR, DBR_PATH_ERROR_TOO_LONG,
                   "%s makes the path longer than %u bytes", what, DBR_PATH_MAX_BYTES);
      return FALSE;
    }
  if (!dbr_path_piece_check (value, n, &problem))
    {
      g_set_error (error, DBR_PATH_ERROR, DBR_PATH_ERROR_SEGMENT, "%s %s", what, problem);
      return FALSE;
    }
  append_encoded (path, value, n);
  return check_length (path, old_len, what, error);
}

gboolean
dbr_path_append_segments (
    GString *path, const char *value, gssize len, const char *what, GError **error)
{
  gsize left = len < 0 ? strlen (value) : (gsize) len;
  gsize old_len = path->len;

  for (;;)
    {
      const char *slash = memchr (value, '/', left);
      gsize n = slash != NULL ? (gsize) (slash - value) : left;

      if (!dbr_path_append_segment (path, value, (gssize) n, what, error))
        {
          g_string_truncate (path, old_len);
          return FALSE;
        }
      if (slash == NULL)
        return TRUE;
      g_string_append_c (path, '/');
      value += n + 1;
      left -= n + 1;
    }
}

char *
dbr_path_decode (const char *path)
{
  gsize len = strlen (path);
  g_autoptr (GString) out = g_string_sized_new (len);

  for (gsize i = 0; i < len; i++)
    {
      int c = (guchar) path[i];

      if (c == '%')
        {
          c = escape_at (path + i, len - i);
          if (c <= 0) /* a NUL would end the string early */
            return NULL;
          i += 2;
        }
      g_string_append_c (out, (char) c);
    }
  return g_string_free (g_steal_pointer (&out), FALSE);
}

/* What RFC 3986 allows raw in a segment, without ";" (some servers cut parameters there). */
static gboolean
is_segment_byte (guchar c)
{
  return is_unreserved (c) || (c != '\0' && strchr ("!$&'()*+,=:@%", c) != NULL);
}

static const char *
problem_of_bytes (const char *path)
{
  for (const char *p = path; *p != '\0'; p++)
    {
      if (*p == '?' || *p == '#')
        return "holds \"?\" or \"#\": give the query apart from the path";
      if (*p == '\\')
        return "holds a backslash";
      if (*p != '/' && !is_segment_byte ((guchar) *p))
        return "holds a byte that must be percent-encoded";
      if (*p == '%' && escape_at (p, strnlen (p, 3)) < 0)
        return "holds \"%\" without two hexadecimal digits after it";
    }
  return NULL;
}

/* Unreserved characters plain, other escapes with capital digits. */
static void
append_normalised (GString *out, const char *piece, gsize len)
{
  for (gsize i = 0; i < len; i++)
    {
      int c = escape_at (piece + i, len - i);
      char byte = (char) c;

      if (c < 0)
        g_string_append_c (out, piece[i]);
      else
        {
          append_encoded (out, &byte, 1);
          i += 2;
        }
    }
}

static gboolean
append_checked_piece (GString *out, const char *piece, gsize len, const char **out_problem)
{
  g_autofree char *raw = g_strndup (piece, len);
  g_autofree char *plain = dbr_path_decode (raw);

  if (plain == NULL)
    {
      *out_problem = "holds an encoded NUL byte";
      return FALSE;
    }
  if (!dbr_path_piece_check (plain, strlen (plain), out_problem))
    {
      if (len == 0)
        *out_problem = "holds an empty segment (\"//\" or a slash at its end)";
      else if (strchr (plain, '/') != NULL)
        *out_problem = "holds an encoded slash (%2F)";
      return FALSE;
    }
  g_string_append_c (out, '/');
  append_normalised (out, piece, len);
  return TRUE;
}

static gboolean
is_under (const char *path, const char *prefix)
{
  gsize len = strlen (prefix);

  return strncmp (path, prefix, len) == 0 && path[len] == '/';
}

char *
dbr_path_check (const char *path, const char *prefix, GError **error)
{
  g_autoptr (GString) out = g_string_sized_new (128);
  const char *problem = NULL;

  if (strlen (path) > DBR_PATH_MAX_BYTES)
    {
      g_set_error (error, DBR_PATH_ERROR, DBR_PATH_ERROR_TOO_LONG,
                   "the path is longer than %u bytes", DBR_PATH_MAX_BYTES);
      return NULL;
    }
  if (!is_under (path, prefix))
    {
      g_set_error (error, DBR_PATH_ERROR, DBR_PATH_ERROR_PATH, "the path must begin with \"%s/\"",
                   prefix);
      return NULL;
    }
  problem = problem_of_bytes (path);
  for (const char *p = path; problem == NULL && *p == '/';)
    {
      gsize len = strcspn (p + 1, "/");

      append_checked_piece (out, p + 1, len, &problem);
      p += 1 + len;
    }
  if (problem != NULL)
    {
      g_set_error (error, DBR_PATH_ERROR, DBR_PATH_ERROR_PATH, "the path %s", problem);
      return NULL;
    }
  return g_string_free (g_steal_pointer (&out), FALSE);
}

void
dbr_query_append (GString *query, const char *name, const char *value, gssize value_len)
{
  if (query->len > 0)
    g_string_append_c (query, '&');
  append_encoded (query, name, strlen (name));
  g_string_append_c (query, '=');
  append_encoded (query, value, value_len < 0 ? strlen (value) : (gsize) value_len);
}
