/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "srv-route.h"

#include "dbr-nearest.h"

#include <string.h>

#define MAX_SEGMENTS 6

typedef enum
{
  VALUE_ID,
  VALUE_NUMBER,
  VALUE_BOOLEAN,
  VALUE_TEXT,
} ValueKind;

typedef struct
{
  const char *name;
  ValueKind kind;
  gint64 least;
  gint64 most; /* of a text: bytes */
} Parameter;

/* A name means the same everywhere. */
static const Parameter parameters[] = {
  { "after", VALUE_NUMBER, 0, G_MAXINT64 },
  { "all", VALUE_BOOLEAN, 0, 0 },
  { "before", VALUE_NUMBER, 1, G_MAXINT64 },
  { "cursor", VALUE_NUMBER, 0, G_MAXINT64 },
  { "limit", VALUE_NUMBER, 1, SRV_ROUTE_MAX_LIMIT },
  { "project", VALUE_ID, 1, G_MAXINT64 },
  { "repo_url", VALUE_TEXT, 1, 2000 },
  { "state", VALUE_TEXT, 1, 40 },
  { "task", VALUE_ID, 1, G_MAXINT64 },
  { "wait", VALUE_NUMBER, 0, SRV_ROUTE_MAX_WAIT_S },
  { "waiting", VALUE_BOOLEAN, 0, 0 },
};

/* What each operation knows; a path with {project} knows repo_url besides, for "~". */
static const char *const known[SRV_N_OPERATIONS] = {
  [SRV_OP_STATUS] = "project repo_url all",
  [SRV_OP_TIMELINE] = "project repo_url task limit before",
  [SRV_OP_EVENTS] = "after project repo_url limit wait",
  [SRV_OP_PROJECT_LIST] = "project repo_url limit cursor",
  [SRV_OP_MESSAGE_LIST] = "project repo_url waiting limit cursor",
  [SRV_OP_PLAN_CREATE] = "project repo_url",
  [SRV_OP_PLAN_LIST] = "project repo_url state limit cursor",
  [SRV_OP_TOKEN_LIST] = "limit cursor",
};

void
srv_route_clear (SrvRoute *self)
{
  g_clear_pointer (&self->project_ref, g_free);
  g_clear_pointer (&self->query, g_strfreev);
  memset (self, 0, sizeof *self);
}

/* A positive integer as we would write it; 0: not one. */
static gint64
id_parse (const char *text)
{
  gint64 value = 0;

  if (!g_ascii_isdigit (*text) || *text == '0')
    return 0;
  if (!g_ascii_string_to_signed (text, 10, 1, G_MAXINT64, &value, NULL))
    return 0;
  return value;
}

/* NULL when an escape is broken, hides a NUL or one of @forbidden, or the bytes are not UTF-8. */
static char *
text_decode (const char *encoded, const char *forbidden)
{
  g_autofree char *text = g_uri_unescape_string (encoded, forbidden);

  if (!text || !g_utf8_validate (text, -1, NULL))
    return NULL;
  return g_steal_pointer (&text);
}

/* Whether a row's path is this one. */
static gboolean
path_matches (const char *pattern, char **segments, gint64 *out_id, const char **out_project)
{
  g_auto (GStrv) parts = g_strsplit (pattern + 1, "/", MAX_SEGMENTS + 1);
  guint i;

  *out_id = 0;
  *out_project = NULL;
  for (i = 0; parts[i] && segments[i]; i++)
    {
      if (parts[i][0] != '{')
        {
          if (strcmp (parts[i], segments[i]) != 0)
            return FALSE;
          continue;
        }
      *out_id = id_parse (segments[i]);
      if (strcmp (parts[i], "{project}") == 0)
        *out_project = segments[i];
      if (*out_id == 0 && !(*out_project && strcmp (segments[i], "~") == 0))
        return FALSE;
    }
  return !parts[i] && !segments[i];
}

/* NULL when no path of ours can look like this. */
static char **
path_split (const char *path)
{
  g_auto (GStrv) segments = NULL;

  if (*path != '/' || strlen (path) > SRV_ROUTE_MAX_TARGET)
    return NULL;
  segments = g_strsplit (path + 1, "/", MAX_SEGMENTS + 1);
  for (guint i = 0; segments[i]; i++)
    {
      char *text = text_decode (segments[i], "/");

      if (!text)
        return NULL;
      g_free (segments[i]);
      segments[i] = text;
    }
  return g_steal_pointer (&segments);
}

char *
srv_route_allow (const char *path)
{
  g_auto (GStrv) segments = path_split (path);
  g_autoptr (GString) allow = g_string_new (NULL);
  const char *project;
  gint64 id;

  for (guint i = 0; segments && i < SRV_N_OPERATIONS; i++)
    if (path_matches (srv_operations[i].path, segments, &id, &project))
      g_string_append_printf (allow, "%s%s", allow->len ? ", " : "", srv_operations[i].method);
  return g_string_free (g_steal_pointer (&allow), FALSE);
}

SrvReply *
srv_route_find (const char *method, const char *path, SrvRoute *out_route)
{
  g_auto (GStrv) segments = NULL;
  g_autofree char *detail = NULL;
  gboolean is_known = FALSE;

  memset (out_route, 0, sizeof *out_route);
  if (strlen (path) > SRV_ROUTE_MAX_TARGET)
    return srv_reply_problem (414, "target_too_long", "The request's target is too long.", NULL);
  segments = path_split (path);
  for (guint i = 0; segments && i < SRV_N_OPERATIONS; i++)
    {
      const char *project;
      gint64 id;

      if (!path_matches (srv_operations[i].path, segments, &id, &project))
        continue;
      is_known = TRUE;
      if (strcmp (srv_operations[i].method, method) != 0)
        continue;
      out_route->operation = (SrvOperation) i;
      out_route->id = id;
      out_route->project_ref = g_strdup (project);
      return NULL;
    }
  if (!is_known)
    return srv_reply_problem (404, "not_found",
                              "No operation has this path; ids are positive integers. All of them "
                              "stand in /v1/openapi.json.",
                              NULL);
  {
    g_autofree char *allow = srv_route_allow (path);

    detail = g_strdup_printf ("This path takes %s only.", allow);
  }
  return srv_reply_problem (405, "method_not_allowed", detail, NULL);
}

static const Parameter *
parameter_find (const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (parameters); i++)
    if (strcmp (parameters[i].name, name) == 0)
      return &parameters[i];
  return NULL;
}

char **
srv_route_parameters (SrvOperation operation)
{
  if (strstr (srv_operations[operation].path, "{project}"))
    return g_strsplit ("repo_url", " ", -1);
  return g_strsplit (known[operation] ? known[operation] : "", " ", -1);
}

/* What is wrong with a value; NULL: nothing. */
static char *
value_problem (const Parameter *parameter, const char *value)
{
  gint64 number;

  switch (parameter->kind)
    {
    case VALUE_ID:
      return id_parse (value) ? NULL : g_strdup ("is not a positive integer");
    case VALUE_NUMBER:
      if (g_ascii_isdigit (*value)
          && g_ascii_string_to_signed (value, 10, parameter->least, parameter->most, &number, NULL))
        return NULL;
      if (parameter->most == G_MAXINT64)
        return g_strdup_printf ("is not an integer from %" G_GINT64_FORMAT " up", parameter->least);
      return g_strdup_printf ("is not an integer of %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT,
                              parameter->least, parameter->most);
    case VALUE_BOOLEAN:
      if (strcmp (value, "true") == 0 || strcmp (value, "false") == 0)
        return NULL;
      return g_strdup ("is neither true nor false");
    case VALUE_TEXT:
      if (*value && strlen (value) <= (gsize) parameter->most)
        return NULL;
      return g_strdup_printf ("is not a text of 1 to %" G_GINT64_FORMAT " bytes", parameter->most);
    default:
      g_assert_not_reached ();
    }
}

static void
errors_add (json_t *errors, const char *field, const char *problem)
{
  g_autofree char *shown = g_utf8_make_valid (field, strnlen (field, 100));

  json_array_append_new (errors, json_pack ("{s:s, s:s}", "field", shown, "problem", problem));
}

/* One "name=value". */
static void
pair_take (SrvRoute *self, char **names, const char *pair, GPtrArray *query, json_t *errors)
{
  g_autofree char *spaced = g_strdelimit (g_strdup (pair), "+", ' ');
  char *equals = strchr (spaced, '=');
  g_autofree char *value = text_decode (equals ? equals + 1 : "", NULL);
  g_autofree char *name = NULL;
  g_autofree char *problem = NULL;

  if (equals)
    *equals = '\0';
  name = g_uri_unescape_string (spaced, NULL);
  if (!name || !g_strv_contains ((const char *const *) names, name))
    {
      const char *nearest = dbr_nearest (name ? name : spaced, (const char *const *) names);

      problem = nearest ? g_strdup_printf ("is not known here; did you mean %s?", nearest)
                        : g_strdup ("is not known here");
      errors_add (errors, name ? name : spaced, problem);
      return;
    }
  for (guint i = 0; i < query->len; i += 2)
    if (strcmp (query->pdata[i], name) == 0)
      {
        errors_add (errors, name, "is given twice");
        return;
      }
  problem = value ? value_problem (parameter_find (name), value) : g_strdup ("is not UTF-8");
  if (!problem && strcmp (name, "repo_url") == 0 && self->project_ref && self->id != 0)
    problem = g_strdup ("goes with \"~\" in the path, not with an id");
  if (problem)
    errors_add (errors, name, problem);
  g_ptr_array_add (query, g_steal_pointer (&name));
  g_ptr_array_add (query, value ? g_steal_pointer (&value) : g_strdup (""));
}

SrvReply *
srv_route_query (SrvRoute *self, const char *query)
{
  g_autoptr (GPtrArray) pairs = g_ptr_array_new_with_free_func (g_free);
  g_auto (GStrv) names = srv_route_parameters (self->operation);
  g_auto (GStrv) given = NULL;
  json_t *errors;

  if (query && strlen (query) > SRV_ROUTE_MAX_TARGET)
    return srv_reply_problem (414, "target_too_long", "The request's target is too long.", NULL);
  given = g_strsplit (query ? query : "", "&", SRV_ROUTE_MAX_QUERY + 1);
  if (g_strv_length (given) > SRV_ROUTE_MAX_QUERY)
    return srv_reply_problem (400, "query_invalid", "The query has too many parameters.", NULL);
  errors = json_array ();
  for (guint i = 0; given[i]; i++)
    if (*given[i])
      pair_take (self, names, given[i], pairs, errors);
  if (json_array_size (errors) > 0)
    return srv_reply_problem (400, "query_invalid", "The query is not right.",
                              json_pack ("{s:o}", "errors", errors));
  json_decref (errors);
  g_ptr_array_add (pairs, NULL);
  self->query = (char **) g_ptr_array_free (g_steal_pointer (&pairs), FALSE);
  return NULL;
}

const char *
srv_route_get (const SrvRoute *self, const char *name)
{
  for (guint i = 0; self->query && self->query[i]; i += 2)
    if (strcmp (self->query[i], name) == 0)
      return self->query[i + 1];
  return NULL;
}
