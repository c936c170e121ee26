/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "srv-input.h"

#include <string.h>

#define MAX_ERRORS 20u

static void
error_add (json_t *errors, const char *field, const char *problem)
{
  if (json_array_size (errors) < MAX_ERRORS)
    json_array_append_new (errors, json_pack ("{s:s, s:s}", "field", field, "problem", problem));
}

static void
text_check (DbrJson node, const char *field, json_t *errors)
{
  g_autoptr (GString) scratch = g_string_new (NULL);
  gsize len = 0;
  const char *text = dbr_json_string (node, scratch, &len);

  if (text && memchr (text, '\0', len))
    error_add (errors, field, "holds a NUL character");
}

static void
node_check (DbrJson node, const char *field, json_t *errors);

static void
object_check (DbrJson object, const char *field, json_t *errors)
{
  g_autoptr (GHashTable) seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  for (DbrJson value = dbr_json_first (object); dbr_json_exists (value);
       value = dbr_json_next (value))
    {
      DbrJson key = dbr_json_key (value);
      char *name = dbr_json_dup_string (key);
      g_autofree char *path = *field ? g_strdup_printf ("%s.%s", field, name) : g_strdup (name);

      text_check (key, path, errors);
      if (!g_hash_table_add (seen, name))
        error_add (errors, path, "is given twice");
      node_check (value, path, errors);
    }
}

/* As deep as the parser let it be. */
static void
node_check (DbrJson node, const char *field, json_t *errors)
{
  DbrJsonType type = dbr_json_type (node);
  guint i = 0;

  if (json_array_size (errors) >= MAX_ERRORS)
    return;
  if (type == DBR_JSON_STRING)
    text_check (node, field, errors);
  else if (type == DBR_JSON_OBJECT)
    object_check (node, field, errors);
  else if (type == DBR_JSON_ARRAY)
    for (DbrJson value = dbr_json_first (node); dbr_json_exists (value);
         value = dbr_json_next (value))
      {
        DbrJsonType inner = dbr_json_type (value);
        g_autofree char *path = NULL;

        /* A million numbers need no million names. */
        if (inner == DBR_JSON_STRING || inner == DBR_JSON_OBJECT || inner == DBR_JSON_ARRAY)
          {
            path = g_strdup_printf ("%s[%u]", field, i);
            node_check (value, path, errors);
          }
        i++;
      }
}

SrvReply *
srv_input_parse (GBytes *bytes, DbrJsonDoc **out_doc)
{
  const DbrJsonLimits limits = { .max_depth = SRV_INPUT_MAX_DEPTH };
  g_autoptr (GError) error = NULL;
  g_autoptr (DbrJsonDoc) doc = dbr_json_doc_new (bytes, &limits, &error);
  json_t *errors;

  if (!doc)
    {
      g_autofree char *shown = g_utf8_make_valid (error->message, -1);

      return srv_reply_problem (400, "body_invalid", shown, NULL);
    }
  if (dbr_json_type (dbr_json_doc_root (doc)) != DBR_JSON_OBJECT)
    return srv_reply_problem (400, "body_invalid", "The body is not a JSON object.", NULL);
  errors = json_array ();
  node_check (dbr_json_doc_root (doc), "", errors);
  if (json_array_size (errors) > 0)
    return srv_reply_problem (400, "body_invalid", "The body is not clear.",
                              json_pack ("{s:o}", "errors", errors));
  json_decref (errors);
  *out_doc = g_steal_pointer (&doc);
  return NULL;
}

gboolean
srv_input_type_is_json (const char *content_type)
{
  g_autofree char *type = NULL;
  char *parameters;

  if (!content_type)
    return FALSE;
  type = g_ascii_strdown (content_type, -1);
  parameters = strchr (type, ';');
  if (parameters)
    {
      *parameters++ = '\0';
      g_strstrip (parameters);
      if (strcmp (parameters, "charset=utf-8") != 0
          && strcmp (parameters, "charset=\"utf-8\"") != 0)
        return FALSE;
    }
  return strcmp (g_strstrip (type), "application/json") == 0;
}

char *
srv_input_if_match (const char *header)
{
  gsize n = header[0] == '"' ? strspn (header + 1, "0123456789") : 0;

  if (n < 1 || n > 18 || strcmp (header + 1 + n, "\"") != 0)
    return NULL;
  return g_strndup (header + 1, n);
}

gboolean
srv_input_key_is_good (const char *key)
{
  gsize n = 0;

  while (g_ascii_isgraph (key[n]))
    n++;
  return n >= 1 && n <= 200 && key[n] == '\0';
}
