/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers: the first byte chooses one of a list, the second how much room it has, the rest is the JSON. What comes
 * out is valid UTF-8, has no controls (but in a verbatim text), stays within its room, and every fence that opens is closed.
 */
#include "config.h"

#include "answer/dbr-answer.h"
#include <libxml/parser.h>

#include <stdint.h>
#include <string.h>

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

#define NS " xmlns='" DBR_XML_NAMESPACE "'>"
#define BOUNDARY "zq7"

static const char style_xml[]
    = "<log-record xmlns='" DBR_XML_NAMESPACE "' time='@.timestamp' level='@.level' text='@.event'>"
      "<error in='@.error_detail[*]'><line>{@.exc_type}[: {@.exc_value}]</line>"
      "<each in='@.frames[-4:]'><line indent='2'>at {@.filename}:{@.lineno} in "
      "{@.name}</line></each></error></log-record>";

static const char *const answers[] = {
  "<answer" NS "<log in='$.r[*]'/><line>{$.t|lines:5}</line><log in='$.r[*]' limit='2'/></answer>",
  "<answer" NS
  "<each in='$.r[*]' sort='@.n' group='{@.g|shape}' limit='{$.l}'><line>{@.key} {@.count}</line>"
  "<each in='@.items[*]' as='p'><line indent='2'>{$.p}</line></each></each></answer>",
  "<answer" NS "<table in='$.r[*]' sort='-@.n'><column title='N'>{@.n}</column><column "
  "title='T'>{@.t|lines}</column></table>"
  "<call tool='x' lead='{$.t}'><arg name='a' from='$.r[*].n'/><arg name='b' value='{$.t}'/><arg "
  "name='c' from='$.t'/></call></answer>",
  "<answer" NS "<json value='$.t'/><json value='$'/></answer>",
  "<answer" NS
  "<section title='{$.t}'><each in='$.r[*]'><log in='@.l[*]'/><line when='@.n &gt; 1'>{@.n}</line>"
  "<otherwise><line>{@.t|ago}</line></otherwise></each></section></answer>",
  "<answer" NS
  "<verbatim value='$.t'/><verbatim value='$.r[*]'/></answer>", /* the last one: controls are kept */
};

static DbrAnswer *compiled[G_N_ELEMENTS (answers)];
static DbrLogStyle *style;

static xmlDoc *
parse (const char *text)
{
  return xmlReadMemory (text, (int) strlen (text), "fuzz.xml", NULL, XML_PARSE_NONET);
}

static void
compile (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DbrXmlDoc) style_doc = parse (style_xml);
  style = dbr_log_style_new (xmlDocGetRootElement (style_doc), &error);
  g_assert_no_error (error);
  for (guint i = 0; i < G_N_ELEMENTS (answers); i++)
    {
      g_autoptr (DbrXmlDoc) doc = parse (answers[i]);
      compiled[i] = dbr_answer_new (xmlDocGetRootElement (doc), &error);
      g_assert_no_error (error);
    }
}

/* Fences never stand in each other: each line that opens one is followed by the line that closes it. */
static void
assert_fenced (const char *text)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  g_autofree char *end = NULL;
  for (guint i = 0; lines[i]; i++)
    {
      const char *kind = g_str_has_prefix (lines[i], "--- log " BOUNDARY)    ? "--- log "
                         : g_str_has_prefix (lines[i], "--- text " BOUNDARY) ? "--- text "
                                                                             : NULL;
      if (!end && kind)
        {
          end = g_strdup_printf ("--- end %s", lines[i] + strlen (kind));
          /* the opening fence ends in " ---", the closing one may say more before it */
          end[strlen (end) - 4] = 0;
        }
      else if (end && g_str_has_prefix (lines[i], end) && strchr (" ,", lines[i][strlen (end)]))
        g_clear_pointer (&end, g_free);
    }
  g_assert (!end);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  static const gsize rooms[] = { 0, 10, 300, 1000, 3000 };
  if (size < 3 || size > 65536)
    return 0;
  if (!style)
    compile ();
  guint chosen = data[0] % G_N_ELEMENTS (answers);
  DbrJsonLimits limits = { .flags = DBR_JSON_LAX_UTF8 };
  g_autoptr (DbrJsonDoc) doc
      = dbr_json_doc_new_from_data ((const char *) data + 2, (gssize) size - 2, &limits, NULL);
  if (!doc)
    return 0;
  gsize room = rooms[data[1] % G_N_ELEMENTS (rooms)];
  g_autoptr (GString) out = g_string_new (NULL);
  g_autoptr (GError) error = NULL;
  DbrAnswerEnv env = { .root = dbr_json_doc_root (doc),
                       .now_us = G_GINT64_CONSTANT (1796045061000000),
                       .log_style = style,
                       .boundary = BOUNDARY,
                       .max_bytes = room };
  gboolean is_good = dbr_answer_render (compiled[chosen], &env, out, &error);
  g_assert (is_good == !error);
  g_assert (g_utf8_validate_len (out->str, out->len, NULL));
  g_assert (out->len <= (room ? room : DBR_ANSWER_MAX_BYTES));
  for (gsize i = 0; chosen + 1 < G_N_ELEMENTS (answers) && i < out->len; i++)
    g_assert ((guint8) out->str[i] >= 0x20 || out->str[i] == '\n' || out->str[i] == '\t');
  assert_fenced (out->str);
  return 0;
}
