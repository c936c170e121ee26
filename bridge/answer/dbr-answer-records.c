/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-answer-records: what an answer chose, as indented JSON, for --output json.
 *
 * Values stay text all the way: a number that went through a double would come out as another one.
 */
#include "config.h"

#include "dbr-answer-priv.h"

#define INDENT 2u

static void
append_line (GString *out, guint depth)
{
  g_string_append_printf (out, "\n%*s", (int) (INDENT * depth), "");
}

static void
append_indented (GString *out, DbrJson node, guint depth)
{
  DbrJsonType type = dbr_json_type (node);
  gboolean is_object = type == DBR_JSON_OBJECT;
  if ((!is_object && type != DBR_JSON_ARRAY) || dbr_json_count (node) == 0)
    {
      answer_append_json (node, out);
      return;
    }
  g_string_append_c (out, is_object ? '{' : '[');
  for (DbrJson value = dbr_json_first (node); dbr_json_exists (value);
       value = dbr_json_next (value))
    {
      append_line (out, depth + 1);
      if (is_object)
        {
          answer_append_json (dbr_json_key (value), out);
          g_string_append (out, ": ");
        }
      append_indented (out, value, depth + 1);
      if (dbr_json_exists (dbr_json_next (value)))
        g_string_append_c (out, ',');
    }
  append_line (out, depth);
  g_string_append_c (out, is_object ? '}' : ']');
}

void
render_collect (Render *self, DbrJson node, DbrMaskFlags flags)
{
  GString *records = self->env->records;
  if (!records || self->depth > 0)
    return;
  g_autoptr (GString) text = g_string_new (NULL);
  g_autoptr (GString) valid = g_string_new (NULL);
  dbr_json_append (node, text);
  dbr_text_append_valid (valid, text->str, (gssize) text->len);
  dbr_mask_apply (self->env->mask, valid, 0, flags);
  g_autoptr (DbrJsonDoc) masked
      = dbr_json_doc_new_from_data (valid->str, (gssize) valid->len, NULL, NULL);
  g_string_append (records, records->len ? ",\n" : "");
  g_string_append_printf (records, "%*s", (int) INDENT, "");
  if (masked)
    append_indented (records, dbr_json_doc_root (masked), 1);
  else /* a mark that isn't JSON stands where a number was */
    dbr_text_append_json_string (records, valid->str, (gssize) valid->len);
}
