/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-call-send: from a request definition and `$` to bytes on the way. See dbr-call-priv.h.
 *
 * Values that come from answers pass the same checks as arguments: a backend must not steer our
 * paths.
 */
#include "config.h"

#include "call/dbr-call-priv.h"

#include <string.h>

void
dbr_wire_request_clear (DbrWireRequest *self)
{
  g_clear_pointer (&self->method, g_free);
  g_clear_pointer (&self->path, g_free);
  if (self->query)
    g_string_free (self->query, TRUE);
  self->query = NULL;
  g_clear_pointer (&self->headers, g_ptr_array_unref);
  g_clear_pointer (&self->body, g_bytes_unref);
}

void
dbr_part_free (DbrPart *part)
{
  if (part->transfer)
    part->step->call->door->cancel (part->transfer);
  g_clear_pointer (&part->body, dbr_json_doc_unref);
  g_clear_pointer (&part->problem, dbr_json_doc_unref);
  g_clear_pointer (&part->item_doc, dbr_json_doc_unref);
  g_free (part->contains);
  g_free (part->url);
  g_free (part->error);
  g_free (part);
}

guint
dbr_call_remaining_ms (const DbrCall *self)
{
  gint64 left = (self->deadline_us - g_get_monotonic_time ()) / 1000;
  return (guint) CLAMP (left, 1, G_MAXINT);
}

/* ---- the path */

static const DbrParam *
param_of (const DbrTool *tool, const char *name)
{
  for (guint i = 0; i < tool->params->len; i++)
    {
      const DbrParam *param = g_ptr_array_index (tool->params, i);
      if (strcmp (param->name, name) == 0)
        return param;
    }
  return NULL;
}

static DbrBuild
append_value (
    const DbrPart *part, guint i, const DbrJsonPathEnv *env, GString *path, GError **error)
{
  const DbrRequestDef *def = part->step->def;
  const char *source = dbr_template_source (def->path, i);
  const DbrParam *param = param_of (part->step->call->tool, source);
  g_autoptr (GString) value = g_string_new (NULL);
  gboolean present;
  gboolean ok;

  if (!dbr_template_value (def->path, i, env, value, &present, error))
    return DBR_BUILD_ERROR;
  if (!present)
    {
      if (param == NULL || param->wildcard == NULL)
        return DBR_BUILD_ABSENT;
      g_string_append (path, param->wildcard);
      return DBR_BUILD_OK;
    }
  ok = param && param->slashes
           ? dbr_path_append_segments (path, value->str, (gssize) value->len, source, error)
           : dbr_path_append_segment (path, value->str, (gssize) value->len, source, error);
  return ok ? DBR_BUILD_OK : DBR_BUILD_ERROR;
}

static DbrBuild
build_whole_path (const DbrPart *part,
                  const DbrJsonPathEnv *env,
                  DbrWireRequest *out,
                  GError **error)
{
  const DbrCall *self = part->step->call;
  g_autoptr (GString) value = g_string_new (NULL);
  gboolean present;

  if (!dbr_template_expand (part->step->def->path, env, value, &present, error))
    return DBR_BUILD_ERROR;
  if (!present)
    return DBR_BUILD_ABSENT;
  out->path = dbr_path_check (value->str, self->catalogue->backend->prefix, error);
  return out->path ? DBR_BUILD_OK : DBR_BUILD_ERROR;
}

static DbrBuild
build_path (const DbrPart *part, const DbrJsonPathEnv *env, DbrWireRequest *out, GError **error)
{
  const DbrTemplate *template = part->step->def->path;
  g_autoptr (GString) path = NULL;

  if (part->step->def->whole_path)
    return build_whole_path (part, env, out, error);
  path = g_string_new (part->step->call->catalogue->backend->prefix);
  for (guint i = 0; i < dbr_template_n_parts (template); i++)
    {
      const char *literal = dbr_template_literal (template, i);
      DbrBuild built = DBR_BUILD_OK;

      if (literal)
        g_string_append (path, literal);
      else
        built = append_value (part, i, env, path, error);
      if (built != DBR_BUILD_OK)
        return built;
    }
  out->path = g_string_free (g_steal_pointer (&path), FALSE);
  return DBR_BUILD_OK;
}

/* ---- the query */

static void
append_node (GString *query, const char *name, DbrJson node)
{
  g_autoptr (GString) text = g_string_new (NULL);
  DbrJsonType type = dbr_json_type (node);
  gsize len;
  const char *value;

  if (type == DBR_JSON_NULL || type == DBR_JSON_NOTHING)
    return;
  if (type == DBR_JSON_STRING)
    {
      value = dbr_json_string (node, text, &len);
      if (len)
        dbr_query_append (query, name, value, (gssize) len);
      return;
    }
  dbr_json_append (node, text);
  dbr_query_append (query, name, text->str, (gssize) text->len);
}

static void
append_pairs (GString *query, DbrJson object)
{
  for (DbrJson value = dbr_json_first (object); dbr_json_exists (value);
       value = dbr_json_next (value))
    {
      g_autofree char *name = dbr_json_dup_string (dbr_json_key (value));

      if (dbr_json_type (value) != DBR_JSON_ARRAY)
        {
          append_node (query, name, value);
          continue;
        }
      for (DbrJson element = dbr_json_first (value); dbr_json_exists (element);
           element = dbr_json_next (element))
        append_node (query, name, element);
    }
}

static gboolean
append_field (const DbrField *field, const DbrJsonPathEnv *env, GString *query, GError **error)
{
  g_auto (DbrNodeList) nodes = { 0 };
  g_autoptr (GString) text = NULL;
  gboolean bare;
  gboolean holds = TRUE;

  if (field->when && !dbr_json_path_test (field->when, env, &holds, error))
    return FALSE;
  if (!holds)
    return TRUE;
  dbr_node_list_init (&nodes);
  if (field->from)
    {
      if (!dbr_json_path_select (field->from, env, &nodes, error))
        return FALSE;
      for (guint i = 0; i < dbr_node_list_size (&nodes); i++)
        append_pairs (query, dbr_node_list_get (&nodes, i));
      return TRUE;
    }
  if (!dbr_template_nodes (field->value, env, &bare, &nodes, error))
    return FALSE;
  if (bare)
    {
      for (guint i = 0; i < dbr_node_list_size (&nodes); i++)
        append_node (query, field->name, dbr_node_list_get (&nodes, i));
      return TRUE;
    }
  text = g_string_new (NULL);
  if (!dbr_template_expand (field->value, env, text, &holds, error))
    return FALSE;
  if (holds && text->len)
    dbr_query_append (query, field->name, text->str, (gssize) text->len);
  return TRUE;
}

static gboolean
names_query (const DbrRequestDef *def, const char *name)
{
  for (guint i = 0; i < def->query->len; i++)
    {
      const DbrField *field = g_ptr_array_index (def->query, i);
      if (g_strcmp0 (field->name, name) == 0)
        return TRUE;
    }
  return FALSE;
}

/* The offset that this request asks for: what a list's "first row" is counted from. */
static void
note_offset (DbrPart *part, const GString *query)
{
  const char *name = part->step->call->catalogue->backend->paging_offset;
  g_autofree char *key = name ? g_strdup_printf ("%s=", name) : NULL;
  const char *at;

  if (key == NULL || part->index > 0)
    return;
  for (at = query->str; at && *at; at = strchr (at, '&') ? strchr (at, '&') + 1 : NULL)
    if (g_str_has_prefix (at, key))
      part->step->offset = g_ascii_strtoll (at + strlen (key), NULL, 10);
}

static gboolean
build_query (DbrPart *part, const DbrJsonPathEnv *env, DbrWireRequest *out, GError **error)
{
  const DbrRequestDef *def = part->step->def;
  const DbrBackendDef *backend = part->step->call->catalogue->backend;
  char number[24];

  out->query = g_string_new (NULL);
  for (guint i = 0; i < def->query->len; i++)
    if (!append_field (g_ptr_array_index (def->query, i), env, out->query, error))
      return FALSE;
  if (def->pages > 1)
    {
      if (!names_query (def, backend->paging_limit))
        {
          g_snprintf (number, sizeof number, "%u", backend->paging_max);
          dbr_query_append (out->query, backend->paging_limit, number, -1);
        }
      /* Pages follow what came, not what was asked: a server may give fewer rows than `limit`. */
      g_snprintf (number, sizeof number, "%u", part->index * part->step->rows);
      dbr_query_append (out->query, backend->paging_offset, number, -1);
    }
  note_offset (part, out->query);
  return TRUE;
}

/* ---- headers and body */

static gboolean
build_headers (const DbrPart *part, const DbrJsonPathEnv *env, DbrWireRequest *out, GError **error)
{
  const DbrRequestDef *def = part->step->def;

  out->headers = g_ptr_array_new_with_free_func (g_free);
  for (guint i = 0; i < def->headers->len; i++)
    {
      const DbrField *field = g_ptr_array_index (def->headers, i);
      g_autoptr (GString) text = g_string_new (NULL);
      gboolean present;

      if (!dbr_template_expand (field->value, env, text, &present, error))
        return FALSE;
      if (!present || text->len == 0)
        continue;
      g_ptr_array_add (out->headers, g_strdup (field->name));
      g_ptr_array_add (out->headers, g_string_free (g_steal_pointer (&text), FALSE));
    }
  g_ptr_array_add (out->headers, NULL);
  return TRUE;
}

/* The first node of a path; "nothing" in *out when there is none. Computed values live as long as
 * @nodes. */
static gboolean
select_one (const DbrJsonPath *path,
            const DbrJsonPathEnv *env,
            DbrNodeList *nodes,
            DbrJson *out,
            GError **error)
{
  *out = DBR_JSON_NONE;
  if (!dbr_json_path_select (path, env, nodes, error))
    return FALSE;
  if (dbr_node_list_size (nodes) > 0)
    *out = dbr_node_list_get (nodes, 0);
  return TRUE;
}

static gboolean
append_members (const GPtrArray *fields, const DbrJsonPathEnv *env, GString *body, GError **error);

/* A path that can select several gives an array, whatever it selects today. */
static void
append_array (const DbrNodeList *nodes, GString *value)
{
  g_string_append_c (value, '[');
  for (guint i = 0; i < dbr_node_list_size (nodes); i++)
    {
      if (i)
        g_string_append_c (value, ',');
      dbr_json_append (dbr_node_list_get (nodes, i), value);
    }
  g_string_append_c (value, ']');
}

/* The value of a field as JSON; *out_present FALSE: it is left out. */
static gboolean
append_value_of (const DbrField *field,
                 const DbrJsonPathEnv *env,
                 GString *value,
                 gboolean *out_present,
                 GError **error)
{
  g_auto (DbrNodeList) nodes = { 0 };

  dbr_node_list_init (&nodes);
  *out_present = TRUE;
  if (field->fields)
    {
      if (!append_members (field->fields, env, value, error))
        return FALSE;
      *out_present = value->len > strlen ("{}");
    }
  else if (field->json)
    dbr_json_append (dbr_json_doc_root (field->json), value);
  else if (field->from)
    {
      DbrJson node;
      if (!select_one (field->from, env, &nodes, &node, error))
        return FALSE;
      if (!dbr_json_path_is_singular (field->from))
        append_array (&nodes, value);
      else if (dbr_json_exists (node))
        dbr_json_append (node, value);
      else if (field->absent)
        dbr_json_append (dbr_json_doc_root (field->absent), value);
      else
        *out_present = FALSE;
    }
  else
    {
      g_autoptr (GString) text = g_string_new (NULL);
      g_autoptr (GString) valid = g_string_new (NULL);
      if (!dbr_template_expand (field->value, env, text, out_present, error))
        return FALSE;
      dbr_text_append_valid (valid, text->str, (gssize) text->len);
      dbr_text_append_json_string (value, valid->str, (gssize) valid->len);
    }
  return TRUE;
}

static gboolean
append_member (const DbrField *field, const DbrJsonPathEnv *env, GString *body, GError **error)
{
  g_autoptr (GString) value = g_string_new (NULL);
  gboolean present = TRUE;

  if (field->when && !dbr_json_path_test (field->when, env, &present, error))
    return FALSE;
  if (!present)
    return TRUE;
  if (!append_value_of (field, env, value, &present, error))
    return FALSE;
  if (!present)
    return TRUE;
  if (body->str[body->len - 1] != '{')
    g_string_append_c (body, ',');
  dbr_text_append_json_string (body, field->name, -1);
  g_string_append_c (body, ':');
  g_string_append_len (body, value->str, (gssize) value->len);
  return TRUE;
}

static gboolean
append_members (const GPtrArray *fields, const DbrJsonPathEnv *env, GString *body, GError **error)
{
  g_string_append_c (body, '{');
  for (guint i = 0; i < fields->len; i++)
    if (!append_member (g_ptr_array_index (fields, i), env, body, error))
      return FALSE;
  g_string_append_c (body, '}');
  return TRUE;
}

static gboolean
build_body (const DbrPart *part, const DbrJsonPathEnv *env, DbrWireRequest *out, GError **error)
{
  const DbrRequestDef *def = part->step->def;
  g_autoptr (GString) body = g_string_new (NULL);

  if (def->body_from)
    {
      g_auto (DbrNodeList) nodes = { 0 };
      DbrJson node;
      dbr_node_list_init (&nodes);
      if (!select_one (def->body_from, env, &nodes, &node, error))
        return FALSE;
      if (!dbr_json_exists (node))
        return TRUE;
      dbr_json_append (node, body);
    }
  else if (def->body_fields)
    {
      if (!append_members (def->body_fields, env, body, error))
        return FALSE;
    }
  else
    return TRUE;
  out->body = g_string_free_to_bytes (g_steal_pointer (&body));
  return TRUE;
}

DbrBuild
dbr_call_build (DbrPart *part, DbrWireRequest *out, GError **error)
{
  DbrCall *self = part->step->call;
  DbrJsonPathEnv env;
  g_autoptr (GString) method = g_string_new (NULL);
  gboolean present;
  DbrBuild built;

  dbr_call_env (self, part->item, &env);
  if (!dbr_template_expand (part->step->def->method, &env, method, &present, error))
    return DBR_BUILD_ERROR;
  out->method = g_string_free (g_steal_pointer (&method), FALSE);
  built = build_path (part, &env, out, error);
  if (built != DBR_BUILD_OK)
    return built;
  if (!build_query (part, &env, out, error) || !build_headers (part, &env, out, error)
      || !build_body (part, &env, out, error))
    return DBR_BUILD_ERROR;
  out->access = dbr_access_table_judge (self->catalogue->backend->access, out->method, out->path);
  return DBR_BUILD_OK;
}

/* ---- sending */

static void
report_progress (DbrCall *self)
{
  g_autofree char *message = NULL;

  self->n_finished++;
  if (!self->wants_progress)
    return;
  message = g_strdup_printf ("%u requests answered", self->n_finished);
  self->events.progress (self->user_data, self->n_finished, -1, message);
}

/* After the first page: all others at once, since the total is known. */
static gboolean
send_more_pages (DbrStep *step)
{
  guint n;

  if (step->def->pages <= 1 || step->parts->len != 1 || step->rows == 0
      || step->total <= (gint64) step->rows)
    return TRUE;
  n = (guint) MIN ((step->total + step->rows - 1) / step->rows, (gint64) step->def->pages);
  for (guint i = 1; i < n; i++)
    {
      DbrPart *part = dbr_call_add_part (step, DBR_JSON_NONE);
      g_auto (DbrWireRequest) wire = { 0 };
      g_autoptr (GError) error = NULL;

      if (dbr_call_build (part, &wire, &error) == DBR_BUILD_OK)
        {
          dbr_call_send (part, &wire);
          continue;
        }
      part->is_done = TRUE;
      part->error = g_strdup_printf ("Page %u could not be asked for: %s", i + 1,
                                     error ? error->message : "no path");
      if (!dbr_call_needs (step))
        return TRUE; /* told when the pages that went out have come */
      dbr_call_fail (step->call, part->error);
      return FALSE;
    }
  return TRUE;
}

static void
on_done (EngResponse *response, gpointer user_data)
{
  DbrPart *part = user_data;
  DbrStep *step = part->step;
  DbrCall *self = step->call;
  gboolean is_write = step->def->access != DBR_ACCESS_READ;

  part->transfer = NULL;
  part->is_done = TRUE;
  step->n_pending--;
  dbr_call_collect_part (part, response);
  if (part->error && !step->def->for_each && dbr_call_needs (step))
    {
      g_autofree char *text = dbr_call_failure_text (step, part, response);
      self->door->response_free (response);
      dbr_call_fail (self, text);
      return;
    }
  if (is_write && part->error == NULL)
    self->write_was_acknowledged = TRUE;
  self->door->response_free (response);
  report_progress (self);
  if (!send_more_pages (step))
    return;
  if (step->n_pending == 0)
    {
      dbr_call_step_ended (step);
      dbr_call_continue (self);
    }
}

void
dbr_call_send (DbrPart *part, const DbrWireRequest *wire)
{
  DbrStep *step = part->step;
  DbrCall *self = step->call;
  guint remaining = dbr_call_remaining_ms (self);
  EngRequest request = { 0 };

  part->url = g_strdup_printf ("%s%s", dbr_backend_origin (self->backend), wire->path);
  request.method = wire->method;
  request.path = wire->path;
  request.query = wire->query && wire->query->len ? wire->query->str : NULL;
  request.headers = wire->headers ? (const char *const *) wire->headers->pdata : NULL;
  request.body = wire->body;
  request.timeout_ms = step->def->timeout_ms ? MIN (step->def->timeout_ms, remaining) : remaining;
  request.consent = self->has_consent;
  if (step->def->tail)
    {
      dbr_call_prepare_tail (part, step->def->tail);
      request.tail = &part->tail;
    }
  if (wire->access != DBR_ACCESS_READ)
    self->write_was_sent = TRUE;
  part->wants_body = wire->access == DBR_ACCESS_READ && strcmp (wire->method, "HEAD") != 0;
  part->transfer = self->door->send (self->client, &request, on_done, part);
  step->n_pending++;
  step->was_sent = TRUE;
}
