/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-access: the table that says what a request may do to the backend.
 *
 * A row never makes a request cheaper than its method says, with one exception that
 * dbr_access_table_add() admits: POST and PATCH rows that read. Everything doubtful (an unknown
 * method, a path outside the prefix, escapes that do not decode) is denied.
 */
#include "config.h"

#include "dbr-access.h"

#include "dbr-path-priv.h"

#include <string.h>

typedef struct
{
  char *method;  /* NULL: any */
  char **pieces; /* NULL element-wise end; a piece "{}" stands for any one */
  guint n_pieces;
  gboolean is_tree; /* and everything below */
  DbrAccess access;
} Row;

struct _DbrAccessTable
{
  gint n_refs;
  char **prefix;
  guint n_prefix;
  GPtrArray *rows; /* of Row */
};

static void
row_free (gpointer data)
{
  Row *row = data;

  g_free (row->method);
  g_strfreev (row->pieces);
  g_free (row);
}

const char *
dbr_access_name (DbrAccess access)
{
  static const char *const names[] = {
    [DBR_ACCESS_READ] = "read",
    [DBR_ACCESS_WRITE] = "write",
    [DBR_ACCESS_DELETE] = "delete",
    [DBR_ACCESS_DENIED] = "denied",
  };

  return (guint) access < G_N_ELEMENTS (names) ? names[access] : "denied";
}

static DbrAccess
access_of_method (const char *method)
{
  static const struct
  {
    const char *method;
    DbrAccess access;
  } methods[] = {
    { "GET", DBR_ACCESS_READ },     { "HEAD", DBR_ACCESS_READ },     { "QUERY", DBR_ACCESS_READ },
    { "POST", DBR_ACCESS_WRITE },   { "PUT", DBR_ACCESS_WRITE },     { "PATCH", DBR_ACCESS_WRITE },
    { "OPTIONS", DBR_ACCESS_READ }, { "DELETE", DBR_ACCESS_DELETE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (methods); i++)
    if (g_str_equal (method, methods[i].method))
      return methods[i].access;
  return DBR_ACCESS_DENIED;
}

/* The pieces of "/a/b/": empty ones dropped, so that a trailing slash never escapes a row. */
static char **
split (const char *path, guint *out_n)
{
  g_auto (GStrv) raw = g_strsplit (path, "/", -1);
  g_autoptr (GPtrArray) pieces = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; raw[i] != NULL; i++)
    if (raw[i][0] != '\0')
      g_ptr_array_add (pieces, g_steal_pointer (&raw[i]));
    else
      g_clear_pointer (&raw[i], g_free);
  /* Some entries of raw were taken: what is left of it is only the vector. */
  g_free (g_steal_pointer (&raw));
  *out_n = pieces->len;
  g_ptr_array_add (pieces, NULL);
  return (char **) g_ptr_array_free (g_steal_pointer (&pieces), FALSE);
}

DbrAccessTable *
dbr_access_table_new (const char *prefix)
{
  DbrAccessTable *self = g_new0 (DbrAccessTable, 1);

  self->n_refs = 1;
  self->prefix = split (prefix, &self->n_prefix);
  self->rows = g_ptr_array_new_with_free_func (row_free);
  return self;
}

DbrAccessTable *
dbr_access_table_ref (DbrAccessTable *self)
{
  self->n_refs++;
  return self;
}

void
dbr_access_table_unref (DbrAccessTable *self)
{
  if (self == NULL || --self->n_refs > 0)
    return;
  g_strfreev (self->prefix);
  g_ptr_array_unref (self->rows);
  g_free (self);
}

static gboolean
is_placeholder (const char *piece)
{
  return strchr (piece, '{') != NULL;
}

static gboolean
pattern_is_sound (const char *pattern, GError **error)
{
  const char *bad = NULL;

  if (pattern[0] != '/')
    bad = "must begin with \"/\"";
  else if (strstr (pattern, "//") != NULL)
    bad = "holds an empty segment";
  else if (strpbrk (pattern, "?#%\\ ") != NULL)
    bad = "is written decoded, without query or fragment";
  if (bad == NULL)
    return TRUE;
  g_set_error (error, DBR_PATH_ERROR, DBR_PATH_ERROR_PATH, "pattern \"%s\" %s", pattern, bad);
  return FALSE;
}

static gboolean
may_have_access (const char *method, const char *pattern, DbrAccess access, GError **error)
{
  DbrAccess own;

  if (method == NULL)
    {
      if (access != DBR_ACCESS_READ)
        return TRUE;
      g_set_error (
          error, DBR_PATH_ERROR, DBR_PATH_ERROR_PATH,
          "a row for any method of \"%s\" cannot be a read: only POST or PATCH can be lowered",
          pattern);
      return FALSE;
    }
  own = access_of_method (method);
  if (own == DBR_ACCESS_DENIED)
    {
      g_set_error (error, DBR_PATH_ERROR, DBR_PATH_ERROR_PATH,
                   "\"%s\" is not a method (GET, HEAD, QUERY, OPTIONS, POST, PUT, PATCH, DELETE)",
                   method);
      return FALSE;
    }
  if (access >= own || g_str_equal (method, "POST") || g_str_equal (method, "PATCH"))
    return TRUE;
  g_set_error (error, DBR_PATH_ERROR, DBR_PATH_ERROR_PATH,
               "%s %s cannot be lowered to %s: only POST or PATCH can", method, pattern,
               dbr_access_name (access));
  return FALSE;
}

gboolean
dbr_access_table_add (
    DbrAccessTable *self, const char *method, const char *pattern, DbrAccess access, GError **error)
{
  g_autofree char *stem = NULL;
  gboolean is_tree = g_str_has_suffix (pattern, "/...");
  Row *row;

  if (!pattern_is_sound (pattern, error) || !may_have_access (method, pattern, access, error))
    return FALSE;
  stem = g_strndup (pattern, strlen (pattern) - (is_tree ? strlen ("/...") : 0));
  row = g_new0 (Row, 1);
  row->method = g_strdup (method);
  row->pieces = split (stem, &row->n_pieces);
  row->is_tree = is_tree || access == DBR_ACCESS_DENIED;
  row->access = access;
  g_ptr_array_add (self->rows, row);
  return TRUE;
}

typedef enum
{
  MATCH_PATH,           /* pieces are values */
  MATCH_TEMPLATE,       /* pieces may be placeholders: they match only placeholders of the row */
  MATCH_TEMPLATE_LOOSE, /* and literals too */
} MatchMode;

static gboolean
row_matches (const Row *row, const char *method, char **pieces, guint n_pieces, MatchMode mode)
{
  if (row->method != NULL && !g_str_equal (row->method, method))
    return FALSE;
  if (n_pieces < row->n_pieces || (n_pieces > row->n_pieces && !row->is_tree))
    return FALSE;
  for (guint i = 0; i < row->n_pieces; i++)
    {
      if (is_placeholder (row->pieces[i]))
        continue;
      if (mode != MATCH_PATH && is_placeholder (pieces[i]))
        {
          if (mode == MATCH_TEMPLATE)
            return FALSE;
          continue;
        }
      if (!g_str_equal (row->pieces[i], pieces[i]))
        return FALSE;
    }
  return TRUE;
}

/* The strictest row wins; without a lowering row the method's own access is the least. */
static DbrAccess
judge_pieces (const DbrAccessTable *self,
              const char *method,
              char **pieces,
              guint n_pieces,
              MatchMode mode,
              gboolean *out_matched)
{
  DbrAccess own = access_of_method (method);
  DbrAccess strictest = DBR_ACCESS_READ;
  gboolean is_lowered = FALSE;

  *out_matched = FALSE;
  for (guint i = 0; i < self->rows->len; i++)
    {
      const Row *row = g_ptr_array_index (self->rows, i);

      if (!row_matches (row, method, pieces, n_pieces, mode))
        continue;
      if (mode == MATCH_TEMPLATE_LOOSE && (row->access == DBR_ACCESS_DENIED || row->access <= own))
        continue;
      *out_matched = TRUE;
      strictest = MAX (strictest, row->access);
      is_lowered = is_lowered || (row->method != NULL && row->access < own);
    }
  return own == DBR_ACCESS_DENIED || !is_lowered ? MAX (own, strictest) : strictest;
}

/* The pieces below the prefix, or NULL when @path is not under it. */
static char **
below_prefix (const DbrAccessTable *self, char **pieces, guint *n_pieces)
{
  if (*n_pieces < self->n_prefix)
    return NULL;
  for (guint i = 0; i < self->n_prefix; i++)
    if (!g_str_equal (pieces[i], self->prefix[i]))
      return NULL;
  *n_pieces -= self->n_prefix;
  return pieces + self->n_prefix;
}

DbrAccess
dbr_access_table_judge (const DbrAccessTable *self, const char *method, const char *path)
{
  guint n = 0;
  g_auto (GStrv) pieces = NULL;
  char **below;
  gboolean matched;

  if (path[0] != '/')
    return DBR_ACCESS_DENIED;
  pieces = split (path, &n);
  for (guint i = 0; i < n; i++)
    {
      char *plain = dbr_path_decode (pieces[i]);

      if (plain == NULL || !dbr_path_piece_check (plain, strlen (plain), NULL))
        {
          g_free (plain);
          return DBR_ACCESS_DENIED;
        }
      g_free (pieces[i]);
      pieces[i] = plain;
    }
  below = below_prefix (self, pieces, &n);
  return below == NULL ? DBR_ACCESS_DENIED
                       : judge_pieces (self, method, below, n, MATCH_PATH, &matched);
}

DbrAccess
dbr_access_table_judge_template (const DbrAccessTable *self,
                                 const char *method,
                                 const char *path_template)
{
  guint n = 0;
  g_auto (GStrv) pieces = split (path_template, &n);
  char **below = below_prefix (self, pieces, &n);
  gboolean matched;
  DbrAccess access;

  if (below == NULL)
    return DBR_ACCESS_DENIED;
  access = judge_pieces (self, method, below, n, MATCH_TEMPLATE, &matched);
  return matched ? access : judge_pieces (self, method, below, n, MATCH_TEMPLATE_LOOSE, &matched);
}

/* ------------------------------------------------------------------------------------ headers */

gboolean
dbr_header_is_reserved (const char *name)
{
  static const char *const names[] = {
    "accept",
    "accept-encoding",
    "authorization",
    "connection",
    "cookie",
    "expect",
    "forwarded",
    "host",
    "http2-settings",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
    "via",
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
    "x-real-ip",
    NULL,
  };
  static const char *const prefixes[]
      = { "content-", "proxy-", "x-forwarded-", "x-original-", "x-rewrite-", NULL };
  g_autofree char *plain = g_ascii_strdown (name, -1);

  g_strdelimit (plain, "_", '-');
  for (guint i = 0; prefixes[i]; i++)
    if (g_str_has_prefix (plain, prefixes[i]))
      return TRUE;
  return g_strv_contains (names, plain);
}
