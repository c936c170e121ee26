/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Templates: the first line is one (or, as a single letter, the one of a list), the rest is the JSON that it is
 * filled from. What it prints is valid UTF-8 without controls; what it can't read is said with a column.
 */
#include "config.h"

#include "answer/dbr-template.h"

#include <stdint.h>
#include <string.h>

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

#define STEPS 20000u

static const char *const templates[] = {
  "{@.a|ago} {@.a|time} {@.a|duration} {@.a|bytes} {@.a|yes:y/n}",
  "{@.a[*]|tally}[ {@.a[*]|ranges}][ {@.a[*]|distinct|limit:2}] {@.a[*]|count:x/y}",
  "{@.a[*]|sum} {@.a[*]|min} {@.a[*]|max} {@.a[*]|median} {@.a[*]|first} {@.a[*]|last}",
  "{@.a|shape} {@.a|last-line} {@.a|basename} {@.a|cut:3} {@.a|json-text|cut:9}",
  "{@.a|lines:3} {$..b|json} {@.a ?? @.b|shape ?? 'c'}",
  "{@.*|count} {@.a|json|lines|one-line}[[{@}]]",
};

static void
fill (const DbrTemplate *template, const DbrJsonPathEnv *env, gboolean is_listed)
{
  g_autoptr (GString) out = g_string_new (NULL);
  g_autoptr (GError) error = NULL;
  gboolean has_any = FALSE, is_bare = FALSE;
  g_auto (DbrNodeList) nodes;
  gboolean is_good = dbr_template_append (template, env, 2, out, &has_any, &error);
  g_assert (is_good == !error);
  g_assert (g_utf8_validate_len (out->str, out->len, NULL));
  if (is_listed)
    for (gsize i = 0; i < out->len; i++)
      g_assert ((guint8) out->str[i] >= 0x20 || out->str[i] == '\n' || out->str[i] == '\t');
  g_string_truncate (out, 0);
  dbr_template_expand (template, env, out, NULL, NULL);
  dbr_node_list_init (&nodes);
  dbr_template_nodes (template, env, &is_bare, &nodes, NULL);
  for (guint i = 0; i < dbr_template_n_parts (template); i++)
    g_assert (!dbr_template_literal (template, i) != !dbr_template_source (template, i));
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  const char *line_end = size > 0 ? memchr (data, '\n', size) : NULL;
  if (!line_end || size > 65536)
    return 0;
  gsize len = (gsize) (line_end - (const char *) data);
  g_autofree char *text = g_strndup ((const char *) data, len);
  gboolean is_listed = len == 1 && text[0] >= 'A' && text[0] < 'A' + (int) G_N_ELEMENTS (templates);
  g_autoptr (GError) error = NULL;
  g_autoptr (DbrTemplate) template
      = dbr_template_new (is_listed ? templates[text[0] - 'A'] : text, &error);
  g_assert (!template == !!error);
  if (error)
    {
      g_assert (g_str_has_prefix (error->message, "column "));
      return 0;
    }
  DbrJsonLimits limits = { .flags = DBR_JSON_LAX_UTF8 };
  g_autoptr (DbrJsonDoc) doc
      = dbr_json_doc_new_from_data (line_end + 1, (gssize) (size - len - 1), &limits, NULL);
  if (!doc)
    return 0;
  DbrJson root = dbr_json_doc_root (doc);
  guint steps = STEPS;
  DbrJsonPathEnv env = { root, root, G_GINT64_CONSTANT (1796045061000000), NULL, &steps };
  fill (template, &env, is_listed);
  return 0;
}
