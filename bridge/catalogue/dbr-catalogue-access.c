/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-catalogue-access: what each request may do to the backend, and what each tool therefore is.
 *
 * Everything is asked of the backend's own access table, the one that the barrier asks; nothing is
 * typed into a catalogue by hand, so that a tool can't claim to be milder than its requests.
 */
#include "config.h"

#include "dbr-catalogue-priv.h"

#include <glib/gi18n.h>
#include <string.h>

static const char *const methods[]
    = { "GET", "HEAD", "QUERY", "POST", "PUT", "PATCH", "DELETE", NULL };

static void
rule (DbrLoader *loader, guint line, const char *id, const char *says)
{
  dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_RULE, line, _ ("request \"%s\": %s"), id, says);
}

/* The parameter that is all of a template: "{name}"; NULL for any other. */
static const DbrParam *
sole_param (const DbrTool *tool, const DbrTemplate *template)
{
  const char *text = dbr_template_text (template);
  gsize len = strlen (text);
  if (len < 3 || text[0] != '{' || text[len - 1] != '}')
    return NULL;
  g_autofree char *name = g_strndup (text + 1, len - 2);
  return dbr_tool_param (tool, name);
}

const char **
dbr_request_methods (DbrLoader *loader, const DbrTool *tool, const DbrRequestDef *request)
{
  const char *text = dbr_template_text (request->method);
  g_autofree const char **all = NULL;
  if (dbr_template_is_literal (request->method))
    {
      all = g_new0 (const char *, 2);
      all[0] = text;
    }
  else
    {
      const DbrParam *param = sole_param (tool, request->method);
      if (!param || !param->values || param->type != DBR_PARAM_STRING
          || (!param->required && !param->default_value))
        {
          rule (loader, request->line, request->id,
                _ ("its method is neither a method nor one parameter with values that is "
                   "required or has a default; write a method, or {name} of such a parameter"));
          return NULL;
        }
      guint n = g_strv_length (param->values);
      all = g_new0 (const char *, n + 1);
      memcpy (all, param->values, n * sizeof *all);
    }
  for (guint i = 0; all[i]; i++)
    if (!g_strv_contains (methods, all[i]))
      {
        g_autofree char *known = dbr_names_join (methods);
        g_autofree char *says
            = g_strdup_printf (_ ("its method \"%s\" isn't known; use one of: %s"), all[i], known);
        rule (loader, request->line, request->id, says);
        return NULL;
      }
  return g_steal_pointer (&all);
}

/* ---- paths */

/* A template as a path to judge: "{}" for each placeholder. */
static char *
path_pattern (const DbrTemplate *template)
{
  GString *path = g_string_new (NULL);
  for (guint i = 0; i < dbr_template_n_parts (template); i++)
    {
      const char *literal = dbr_template_literal (template, i);
      g_string_append (path, literal ? literal : "{}");
    }
  return g_string_free (path, FALSE);
}

/* Whether a template has a piece in [ ] outside of its placeholders; "[[" is a plain bracket. */
static gboolean
has_piece (const char *text)
{
  guint depth = 0;
  for (const char *at = text; *at; at++)
    if (strchr ("{}[]", *at) && at[1] == *at && !depth)
      at++;
    else if (*at == '{')
      depth++;
    else if (*at == '}')
      depth -= depth > 0;
    else if (*at == '[' && !depth)
      return TRUE;
  return FALSE;
}

static const char *
path_fault (const char *path)
{
  if (*path != '/')
    return _ ("its path doesn't begin with \"/\"; paths are relative to the prefix: add it");
  if (strpbrk (path, "?#"))
    return _ ("its path holds a query or a fragment; use <query> children");
  if (strpbrk (path, "\\; \t\n\r"))
    return _ ("its path holds a character that no path should; percent signs, spaces, \";\" and "
              "\"\\\" have no place in a template");
  if (strstr (path, "//") || g_str_has_suffix (path, "/"))
    return _ ("its path has an empty segment; remove the extra \"/\"");
  g_auto (GStrv) pieces = g_strsplit (path, "/", -1);
  for (guint i = 0; pieces[i]; i++)
    if (g_str_equal (pieces[i], ".") || g_str_equal (pieces[i], "..") || strchr (pieces[i], '%'))
      return _ ("its path has a dot segment or a percent sign; write the plain final path");
  return NULL;
}

static DbrAccess
judge_path (const DbrLoader *loader, const char *method, const char *path)
{
  const DbrBackendDef *backend = loader->catalogue->backend;
  g_autofree char *whole = g_strconcat (backend->prefix, path, NULL);
  return dbr_access_table_judge_template (backend->access, method, whole);
}

static DbrAccess
plain_access (const char *method)
{
  if (g_str_equal (method, "GET") || g_str_equal (method, "HEAD") || g_str_equal (method, "QUERY"))
    return DBR_ACCESS_READ;
  return g_str_equal (method, "DELETE") ? DBR_ACCESS_DELETE : DBR_ACCESS_WRITE;
}

/* Any path under the prefix: what the rows can make of @method at most and at least. */
static void
judge_any (const DbrLoader *loader, const char *method, DbrAccess *out_most, DbrAccess *out_least)
{
  *out_most = *out_least = plain_access (method);
  for (guint i = 0; i < loader->rows->len; i++)
    {
      const DbrAccessRow *row = &g_array_index (loader->rows, DbrAccessRow, i);
      if (row->access == DBR_ACCESS_DENIED || (row->method && !g_str_equal (row->method, method)))
        continue;
      *out_most = MAX (*out_most, row->access);
      *out_least = MIN (*out_least, row->access);
    }
}

/* The strictest and the least that @request can need over any path. */
static void
judge_whole (DbrLoader *loader,
             DbrRequestDef *request,
             const char *const *used,
             DbrAccess *out_least)
{
  request->access = DBR_ACCESS_READ;
  *out_least = DBR_ACCESS_DENIED;
  for (guint i = 0; used[i]; i++)
    {
      DbrAccess most, least;
      judge_any (loader, used[i], &most, &least);
      request->access = MAX (request->access, most);
      *out_least = MIN (*out_least, least);
    }
}

/* The same over its own path. FALSE when that can't be judged. */
static gboolean
judge (DbrLoader *loader, DbrRequestDef *request, const char *const *used, DbrAccess *out_least)
{
  g_autofree char *path = path_pattern (request->path);
  const char *fault = path_fault (path);
  if (!fault && has_piece (dbr_template_text (request->path)))
    fault = _ ("its path has an optional piece in []; a path is whole: make two requests, each "
               "with when");
  request->access = DBR_ACCESS_READ;
  *out_least = DBR_ACCESS_DENIED;
  for (guint i = 0; !fault && used[i]; i++)
    {
      DbrAccess access = judge_path (loader, used[i], path);
      request->access = MAX (request->access, access);
      *out_least = MIN (*out_least, access);
      if (access == DBR_ACCESS_DENIED)
        fault = _ ("its path is denied by the backend's <deny>; remove the request or the row");
    }
  if (fault)
    rule (loader, request->line, request->id, fault);
  return fault == NULL;
}

/* ---- rules */

static gboolean
may_be_repeated (const char *const *used)
{
  for (guint i = 0; used[i]; i++)
    if (g_str_equal (used[i], "POST") || g_str_equal (used[i], "PATCH"))
      return FALSE;
  return TRUE;
}

static gboolean
takes_body (const char *const *used)
{
  for (guint i = 0; used[i]; i++)
    if (!g_str_equal (used[i], "GET") && !g_str_equal (used[i], "HEAD"))
      return TRUE;
  return FALSE;
}

static void
check_write (DbrLoader *loader, DbrRequestDef *self, gboolean said_destroys)
{
  guint line = self->line;
  if (self->for_each)
    rule (loader, line, self->id, _ ("it may write, so for-each would write often; remove it"));
  if (self->pages > 1)
    rule (loader, line, self->id, _ ("it may write, so it can't have pages; remove them"));
  if (self->tail)
    rule (loader, line, self->id, _ ("it may write, so it can't have a <tail>; remove it"));
  if (self->access == DBR_ACCESS_DELETE && said_destroys && !self->destroys)
    rule (loader, line, self->id,
          _ ("it may delete, so destroys=\"no\" isn't true; remove the attribute"));
}

static void
check_read (DbrLoader *loader, const DbrRequestDef *self)
{
  const char *says = NULL;
  if (self->confirm)
    says = _ ("it only reads, so confirm has no use; remove it");
  else if (self->destroys >= 0)
    says = _ ("it only reads, so destroys has no use; remove it");
  else if (self->idempotent >= 0)
    says = _ ("it only reads, so idempotent has no use; remove it");
  else if (self->effect)
    says = _ ("it only reads, so it has no effect that a user is asked about; remove <effect>");
  else if (self->unknown)
    says = _ ("it only reads, so its outcome can't be unknown; remove <unknown>");
  if (says)
    rule (loader, self->line, self->id, says);
}

static void
check_gates (DbrLoader *loader, const DbrRequestDef *self, DbrAccess least)
{
  const DbrBackendDef *backend = loader->catalogue->backend;
  if (self->access > DBR_ACCESS_READ && !backend->writes_env)
    rule (loader, self->line, self->id,
          _ ("it may write, but the backend has no <gate writes-env=…>, so it could never be "
             "sent; add the gate or remove the request"));
  else if (least == DBR_ACCESS_DELETE && !backend->deletes_env)
    rule (loader, self->line, self->id,
          _ ("it deletes, but the backend's <gate> has no deletes-env, so it could never be "
             "sent; add it or remove the request"));
}

static void
check_wildcards (DbrLoader *loader, const DbrTool *tool, const DbrRequestDef *self)
{
  const char *const *names = dbr_template_parameters (self->path);
  for (guint i = 0; names[i]; i++)
    {
      const DbrParam *param = dbr_tool_param (tool, names[i]);
      if (param && param->wildcard && self->access > DBR_ACCESS_READ)
        rule (loader, self->line, self->id,
              _ ("it may write, and its path holds a parameter with a wildcard: leaving that out "
                 "would write to everything; make the parameter required"));
    }
}

static void
settle (DbrLoader *loader, DbrTool *tool, DbrRequestDef *self)
{
  g_autofree const char **used = dbr_request_methods (loader, tool, self);
  DbrAccess least = DBR_ACCESS_READ;
  const DbrParam *whole = sole_param (tool, self->path);
  self->whole_path = whole && whole->type == DBR_PARAM_PATH;
  self->method_varies = !dbr_template_is_literal (self->method);
  if (!used)
    return;
  if (self->whole_path)
    judge_whole (loader, self, used, &least);
  else if (!judge (loader, self, used, &least))
    return;
  gboolean said_destroys = self->destroys >= 0;
  if (self->access > DBR_ACCESS_READ)
    check_write (loader, self, said_destroys);
  else
    check_read (loader, self);
  if ((self->body_from || self->body_fields) && !takes_body (used))
    rule (loader, self->line, self->id,
          _ ("GET and HEAD have no body; use <query>, or another method"));
  check_gates (loader, self, least);
  check_wildcards (loader, tool, self);
  if (!said_destroys)
    self->destroys = self->access == DBR_ACCESS_DELETE;
  if (self->idempotent < 0)
    self->idempotent = self->access == DBR_ACCESS_READ || may_be_repeated (used);
  self->confirm = self->confirm || least == DBR_ACCESS_DELETE;
  tool->access = MAX (tool->access, self->access);
  tool->least = MAX (tool->least, least);
  tool->destroys = tool->destroys || self->destroys;
  tool->idempotent = tool->idempotent && self->idempotent;
}

/* A write before the @i-th that could go out in the same call: not one of the other way of a <one-of>. */
static const DbrRequestDef *
other_write (const DbrTool *tool, guint i)
{
  const DbrRequestDef *request = g_ptr_array_index (tool->requests, i);
  for (guint j = 0; j < i; j++)
    {
      const DbrRequestDef *before = g_ptr_array_index (tool->requests, j);
      if (before->access != DBR_ACCESS_READ
          && (!before->with || !request->with || g_str_equal (before->with, request->with)))
        return before;
    }
  return NULL;
}

void
dbr_catalogue_check_access (DbrLoader *loader, DbrTool *tool)
{
  tool->access = tool->least = DBR_ACCESS_READ;
  tool->idempotent = TRUE;
  for (guint i = 0; i < tool->requests->len; i++)
    {
      DbrRequestDef *request = g_ptr_array_index (tool->requests, i);
      settle (loader, tool, request);
      if (request->access == DBR_ACCESS_READ)
        continue;
      const DbrRequestDef *other = other_write (tool, i);
      if (other)
        dbr_loader_problem (
            loader, DBR_CATALOGUE_ERROR_RULE, request->line,
            _ ("request \"%s\" may write, but \"%s\" already does; a tool writes "
               "once: make two tools, or give each a parameter of <one-of> by with"),
            request->id, other->id);
    }
  tool->access_varies = tool->least != tool->access;
}

/* ---- variables */

/* "my-api" -> "MY_API_" */
static char *
variable_prefix (const char *name)
{
  g_autofree char *upper = g_ascii_strup (name, -1);
  g_strdelimit (upper, "-", '_');
  return g_strconcat (upper, "_", NULL);
}

/* The catalogue of ours whose variable this is, NULL when none's (transfer full). */
static char *
owner_of (const DbrLoader *loader, const char *variable)
{
  /* Ours by name even where their files aren't installed. */
  static const char *const ours[]
      = { "airflow", "engine", "breeze", "workspace", "brigada", "drawbridge" };
  for (guint i = 0; i < G_N_ELEMENTS (ours); i++)
    {
      g_autofree char *prefix = variable_prefix (ours[i]);
      if (g_str_has_prefix (variable, prefix))
        return g_strdup (ours[i]);
    }
  const char *folder = loader->options->schema_dir;
  g_autoptr (GDir) dir = folder ? g_dir_open (folder, 0, NULL) : NULL;
  for (const char *name = dir ? g_dir_read_name (dir) : NULL; name; name = g_dir_read_name (dir))
    {
      if (!g_str_has_suffix (name, ".xml"))
        continue;
      g_autofree char *base = g_strndup (name, strlen (name) - 4);
      g_autofree char *prefix = variable_prefix (base);
      if (g_str_has_prefix (variable, prefix))
        return g_steal_pointer (&base);
    }
  return NULL;
}

/* Where a catalogue names a variable. */
typedef struct
{
  const char *variable; /* nullable */
  const char *use;
  guint line;
} Variable;

static void
check_owner (DbrLoader *loader, const Variable *self)
{
  const DbrCatalogueOptions *options = loader->options;
  g_autofree char *owner = owner_of (loader, self->variable);
  g_autofree char *prefix = variable_prefix (loader->catalogue->name);
  g_autofree char *owners = owner ? variable_prefix (owner) : NULL;
  if (owners && g_str_has_prefix (prefix, owners))
    return; /* the catalogue's name is at fault: check_name() says so */
  if (owner)
    dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_RULE, self->line,
                        _ ("the variable %s belongs to \"%s\", which comes with the program; "
                           "name one that begins with %s"),
                        self->variable, owner, prefix);
  else if (!g_str_has_prefix (self->variable, prefix)
           && !(options->allow_env && g_strv_contains (options->allow_env, self->variable)))
    dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_RULE, self->line,
                        _ ("the variable %s isn't this catalogue's to read; name one that begins "
                           "with %s, or start with --allow-env %s"),
                        self->variable, prefix, self->variable);
}

/* A name under which a file of somebody's own would read our variables. */
static void
check_name (DbrLoader *loader)
{
  g_autofree char *prefix = variable_prefix (loader->catalogue->name);
  g_autofree char *owner = owner_of (loader, prefix);
  if (owner && g_str_equal (owner, loader->catalogue->name))
    dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_RULE,
                        dbr_loader_line (loader, loader->catalogue),
                        _ ("the name \"%s\" is taken by a catalogue that comes with the program; "
                           "choose another name"),
                        owner);
  else if (owner)
    dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_RULE,
                        dbr_loader_line (loader, loader->catalogue),
                        _ ("the name \"%s\" is too near to \"%s\", which comes with the program: "
                           "their variables would begin alike; choose another name"),
                        loader->catalogue->name, owner);
}

void
dbr_catalogue_check_variables (DbrLoader *loader)
{
  static const DbrSignInDef none = { 0 };
  const DbrBackendDef *backend = loader->catalogue->backend;
  const DbrSignInDef *sign_in = backend->sign_in ? backend->sign_in : &none;
  guint line = dbr_loader_line (loader, backend), sign_in_line = dbr_loader_line (loader, sign_in);
  if (!loader->options->is_shipped)
    check_name (loader);
  const Variable all[] = {
    { backend->url_env, "url-env", line },
    { backend->socket_env, "socket-env", line },
    { backend->ca_file_env, "ca-file", line },
    { backend->writes_env, "writes-env", line },
    { backend->deletes_env, "deletes-env", line },
    { sign_in->token_env, "token-env", sign_in_line },
    { sign_in->user_env, "user-env", sign_in_line },
    { sign_in->password_env, "password-env", sign_in_line },
  };
  for (guint i = 0; i < G_N_ELEMENTS (all); i++)
    {
      for (guint j = 0; all[i].variable && j < i; j++)
        if (g_strcmp0 (all[i].variable, all[j].variable) == 0)
          dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_DUPLICATE, all[i].line,
                              _ ("the variable %s is %s and %s at once; give each its own"),
                              all[i].variable, all[j].use, all[i].use);
      if (all[i].variable && !loader->options->is_shipped)
        check_owner (loader, &all[i]);
    }
}
