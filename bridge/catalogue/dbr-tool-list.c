/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-tool-list: a tool as tools/list shows it.
 *
 * Schemas are flat objects of a fixed list of keywords, because one that a client can't read takes
 * all the others with it: type, description, enum, minimum, maximum, minLength, maxLength, pattern,
 * default, items, minItems, maxItems, properties, required, additionalProperties. Limits that are
 * only our bounds aren't shown: a model pays for every word.
 */
#include "config.h"

#include "dbr-catalogue-priv.h"

#include <math.h>

static const char *const schema_types[] = {
  [DBR_PARAM_STRING] = "string",   [DBR_PARAM_INTEGER] = "integer", [DBR_PARAM_NUMBER] = "number",
  [DBR_PARAM_BOOLEAN] = "boolean", [DBR_PARAM_OBJECT] = "object",   [DBR_PARAM_ARRAY] = "array",
  [DBR_PARAM_PATH] = "string",
};

static json_t *
number (double value)
{
  if (value == floor (value) && fabs (value) < 9007199254740992.0)
    return json_integer ((json_int_t) value);
  return json_real (value);
}

static json_t *
from_doc (const DbrJsonDoc *doc)
{
  g_autoptr (GString) text = g_string_new (NULL);
  dbr_json_append (dbr_json_doc_root (doc), text);
  json_t *value = json_loadb (text->str, text->len, JSON_DECODE_ANY, NULL);
  return value ? value : json_null ();
}

static json_t *
enumeration (const DbrParam *param)
{
  json_t *all = json_array ();
  for (guint i = 0; param->values[i]; i++)
    {
      const char *text = param->values[i];
      gboolean is_string = param->type == DBR_PARAM_STRING;
      json_t *value = is_string ? json_string (text) : json_loads (text, JSON_DECODE_ANY, NULL);
      json_array_append_new (all, value ? value : json_string (text));
    }
  return all;
}

/* The pattern counts for the whole value; JSON Schema's is searched for. */
static json_t *
whole_pattern (const char *pattern)
{
  g_autofree char *text = g_strdup_printf ("^(?:%s)$", pattern);
  return json_string (text);
}

static json_t *
schema_of (const DbrParam *param);

/* @out_required (nullable): gets the array, when it isn't empty. */
static json_t *
properties (const GPtrArray *params, json_t **out_required)
{
  json_t *all = json_object (), *required = json_array ();
  for (guint i = 0; params && i < params->len; i++)
    {
      const DbrParam *param = g_ptr_array_index (params, i);
      json_object_set_new (all, param->name, schema_of (param));
      if (param->required)
        json_array_append_new (required, json_string (param->name));
    }
  if (json_array_size (required))
    *out_required = required;
  else
    json_decref (required);
  return all;
}

static void
close_object (json_t *schema, const GPtrArray *params)
{
  json_t *required = NULL;
  json_object_set_new (schema, "properties", properties (params, &required));
  if (required)
    json_object_set_new (schema, "required", required);
  json_object_set_new (schema, "additionalProperties", json_false ());
}

static void
add_limits (json_t *schema, const DbrParam *param)
{
  if (param->has_minimum)
    json_object_set_new (schema, "minimum", number (param->minimum));
  if (param->has_maximum)
    json_object_set_new (schema, "maximum", number (param->maximum));
  if (param->type == DBR_PARAM_STRING && param->min_length)
    json_object_set_new (schema, "minLength", json_integer (param->min_length));
  if (param->type == DBR_PARAM_STRING && param->max_length != DBR_PARAM_DEFAULT_MAX_LENGTH)
    json_object_set_new (schema, "maxLength", json_integer (param->max_length));
  if (param->pattern)
    json_object_set_new (schema, "pattern", whole_pattern (param->pattern));
  if (param->type == DBR_PARAM_ARRAY && param->min_items)
    json_object_set_new (schema, "minItems", json_integer (param->min_items));
  if (param->type == DBR_PARAM_ARRAY && param->max_items != DBR_PARAM_DEFAULT_MAX_ITEMS)
    json_object_set_new (schema, "maxItems", json_integer (param->max_items));
}

static json_t *
schema_of (const DbrParam *param)
{
  json_t *schema = json_object ();
  json_object_set_new (schema, "type", json_string (schema_types[param->type]));
  if (param->description && *param->description)
    json_object_set_new (schema, "description", json_string (param->description));
  if (param->values)
    json_object_set_new (schema, "enum", enumeration (param));
  add_limits (schema, param);
  if (param->default_value)
    json_object_set_new (schema, "default", from_doc (param->default_value));
  if (param->type == DBR_PARAM_ARRAY) /* there are clients that refuse an array without */
    json_object_set_new (schema, "items", param->items ? schema_of (param->items) : json_object ());
  if (param->members)
    close_object (schema, param->members);
  return schema;
}

static json_t *
annotations (const DbrTool *self)
{
  gboolean reads = self->access == DBR_ACCESS_READ;
  json_t *all = json_object ();
  json_object_set_new (all, "title", json_string (self->title));
  json_object_set_new (all, "readOnlyHint", json_boolean (reads));
  json_object_set_new (all, "destructiveHint", json_boolean (!reads && self->destroys));
  json_object_set_new (all, "idempotentHint", json_boolean (self->idempotent));
  json_object_set_new (all, "openWorldHint", json_true ());
  return all;
}

json_t *
dbr_tool_describe (const DbrTool *self, const char *note)
{
  json_t *tool = json_object (), *schema = json_object ();
  g_autofree char *one_of
      = self->one_of ? dbr_names_join ((const char *const *) self->one_of) : NULL;
  g_autofree char *description = g_strdup_printf (
      "%s%s%s%s%s%s", self->description, one_of ? " Give exactly one of " : "",
      one_of ? one_of : "", one_of ? "." : "", note ? " " : "", note ? note : "");
  json_object_set_new (tool, "name", json_string (self->name));
  json_object_set_new (tool, "title", json_string (self->title));
  json_object_set_new (tool, "description", json_string (description));
  json_object_set_new (schema, "type", json_string ("object"));
  close_object (schema, self->params);
  json_object_set_new (tool, "inputSchema", schema);
  json_object_set_new (tool, "annotations", annotations (self));
  return tool;
}
