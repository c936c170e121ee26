/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-json-path-func: what the functions do (RFC 9535 section 2.4, and ours: see dbr-json-path.h).
 */
#include "config.h"

#include "dbr-json-path-priv.h"
#include "dbr-time.h"

#include <string.h>

#define REGEXP_UNITS_PER_STEP 16u

static const PathNumberOrNode nothing;

static PathNumberOrNode
number (gint64 value)
{
  PathNumberOrNode result = nothing;
  result.number_len
      = (gsize) g_snprintf (result.number, sizeof result.number, "%" G_GINT64_FORMAT, value);
  return result;
}

/* Seconds, with as many digits behind the point as they need. */
static PathNumberOrNode
seconds_of (gint64 us)
{
  PathNumberOrNode result = nothing;
  guint64 size = us < 0 ? 0 - (guint64) us : (guint64) us;
  char *text = result.number;

  g_snprintf (text, sizeof result.number, "%s%" G_GUINT64_FORMAT ".%06u", us < 0 ? "-" : "",
              size / G_USEC_PER_SEC, (guint) (size % G_USEC_PER_SEC));
  gsize len = strlen (text);
  while (text[len - 1] == '0')
    len--;
  if (text[len - 1] == '.')
    len--;
  result.number_len = len;
  return result;
}

static PathNumberOrNode
call_length (PathEval *self, const PathExpr *call, DbrJson current)
{
  PathNumberOrNode value = path_eval_value (self, call->args[0], current);
  DbrJsonType type = dbr_json_type (value.node);

  if (type == DBR_JSON_ARRAY || type == DBR_JSON_OBJECT)
    {
      guint count = dbr_json_count (value.node);
      return path_spend (self, 1 + count / 64) ? number (count) : nothing;
    }
  if (type != DBR_JSON_STRING)
    return nothing;
  g_autoptr (GString) scratch = g_string_new (NULL);
  gsize len;
  gint64 count = 0;
  const char *text = dbr_json_string (value.node, scratch, &len);
  for (gsize i = 0; i < len; i++)
    count += ((guchar) text[i] & 0xC0) != 0x80;
  return path_spend (self, 1 + (guint) (len / 256)) ? number (count) : nothing;
}

static PathNumberOrNode
call_nodes_function (PathEval *self, const PathExpr *call, DbrJson current)
{
  PathNumberOrNode result = nothing;
  GArray *nodes = path_eval_nodes (self, call->args[0], current);

  if (call->function->id == FUNCTION_COUNT)
    result = number (nodes->len);
  else if (nodes->len == 1)
    {
      DbrJson one = g_array_index (nodes, DbrJson, 0);
      result.node = call->function->id == FUNCTION_KEY ? dbr_json_key (one) : one;
    }
  path_release_nodes (self, call->args[0], nodes);
  return result;
}

static gboolean
eval_time (PathEval *self, const PathExpr *expr, DbrJson current, gint64 *out_us)
{
  PathNumberOrNode value = path_eval_value (self, expr, current);
  g_autoptr (GString) scratch = NULL;
  gsize len;

  if (dbr_json_type (value.node) != DBR_JSON_STRING)
    return FALSE;
  scratch = g_string_new (NULL);
  const char *text = dbr_json_string (value.node, scratch, &len);
  return dbr_time_parse (text, len, out_us);
}

PathNumberOrNode
path_call_value (PathEval *self, const PathExpr *call, DbrJson current)
{
  gint64 from_us;
  gint64 to_us;

  switch (call->function->id)
    {
    case FUNCTION_LENGTH:
      return call_length (self, call, current);
    case FUNCTION_COUNT:
    case FUNCTION_VALUE:
    case FUNCTION_KEY:
      return call_nodes_function (self, call, current);
    case FUNCTION_AGE:
      if (!eval_time (self, call->args[0], current, &from_us))
        return nothing;
      return seconds_of (self->env->now_us - from_us);
    case FUNCTION_SECONDS:
      if (!eval_time (self, call->args[0], current, &from_us)
          || !eval_time (self, call->args[1], current, &to_us))
        return nothing;
      return seconds_of (to_us - from_us);
    case FUNCTION_MATCH:
    case FUNCTION_SEARCH:
    case FUNCTION_UPSTREAM:
    case FUNCTION_DOWNSTREAM:
      break;
    }
  g_assert_not_reached (); /* the check lets only functions of ValueType stand for a value */
}

/* A pattern from a document: the latest one stays compiled. NULL when it is not I-Regexp. */
static PathRegexp *
regexp_for (PathEval *self, const char *pattern, gsize len, gboolean is_whole)
{
  if (self->regexp_text && self->regexp_is_whole == is_whole && strlen (self->regexp_text) == len
      && memcmp (self->regexp_text, pattern, len) == 0)
    return self->regexp;
  g_clear_pointer (&self->regexp, path_regexp_free);
  g_free (self->regexp_text);
  self->regexp_text = g_strndup (pattern, len);
  self->regexp_is_whole = is_whole;
  if (path_spend (self, 64 + (guint) MIN (len, DBR_JSON_PATH_MAX_TEXT)))
    self->regexp = path_regexp_new (pattern, len, is_whole, NULL);
  return self->regexp;
}

static gboolean
run_regexp (PathEval *self, PathRegexp *regexp, const char *text, gsize len)
{
  if (!path_spend (self, 1 + (guint) (len / 256)))
    return FALSE;
  guint had = MIN (*self->steps_left, G_MAXUINT / REGEXP_UNITS_PER_STEP) * REGEXP_UNITS_PER_STEP;
  guint units_left = had;
  PathRegexpResult result = path_regexp_run (regexp, text, len, &units_left);
  if (result == REGEXP_TOO_COSTLY)
    self->failure = "has a regular expression that takes too many steps on one of the texts";
  else
    path_spend (self, (had - units_left) / REGEXP_UNITS_PER_STEP);
  return result == REGEXP_YES;
}

gboolean
path_call_logical (PathEval *self, const PathExpr *call, DbrJson current)
{
  PathNumberOrNode subject = path_eval_value (self, call->args[0], current);
  PathNumberOrNode pattern = path_eval_value (self, call->args[1], current);
  PathRegexp *regexp = call->regexp;
  gsize len;

  if (dbr_json_type (subject.node) != DBR_JSON_STRING
      || dbr_json_type (pattern.node) != DBR_JSON_STRING)
    return FALSE;
  g_autoptr (GString) scratch = g_string_new (NULL);
  if (call->args[1]->kind != EXPR_LITERAL)
    {
      const char *text = dbr_json_string (pattern.node, scratch, &len);
      regexp = regexp_for (self, text, len, call->function->id == FUNCTION_MATCH);
    }
  if (!regexp)
    return FALSE;
  const char *text = dbr_json_string (subject.node, scratch, &len);
  return run_regexp (self, regexp, text, len);
}

/* ---- upstream and downstream */

static gboolean
has_bit (PathReach reach, guint i)
{
  return reach.bits[i / 8] >> i % 8 & 1;
}

static void
append_reached (PathEval *self, PathReach reach, GArray *out)
{
  guint n = path_graph_size (self->env->graph);

  if (!path_spend (self, 1 + n / 16))
    return;
  for (guint i = 0; i < n; i++)
    if (has_bit (reach, i))
      {
        DbrJson id = path_graph_id (self->env->graph, i);
        g_array_append_val (out, id);
      }
}

/* Where the set's nodes stand in the graph. An absolute set is looked up once an evaluation. */
static const PathMemo *
places_of (PathEval *self, const PathExpr *call, const GArray *set)
{
  const PathExpr *argument = call->args[1];
  gboolean is_fixed = argument->kind == EXPR_QUERY && argument->query->is_absolute;

  if (!self->memos)
    self->memos = g_new0 (PathMemo, self->path->n_memos);
  PathMemo *memo = &self->memos[call->memo];
  if (is_fixed && memo->places)
    return memo;
  g_clear_pointer (&memo->places, g_array_unref);
  g_clear_pointer (&memo->bits, g_free);
  memo->places = g_array_sized_new (FALSE, FALSE, sizeof (guint), set->len);
  memo->bits = g_malloc0 (path_graph_size (self->env->graph) / 8 + 1);
  for (guint i = 0; i < set->len && path_spend (self, 1); i++)
    {
      guint place = path_graph_find (self->env->graph, g_array_index (set, DbrJson, i));
      g_array_append_val (memo->places, place);
      if (place != GRAPH_NOWHERE)
        memo->bits[place / 8] |= (guint8) (1u << place % 8);
    }
  return memo;
}

/* Whether the two have a place in common. */
static gboolean
do_meet (PathEval *self, PathReach reach, const guint8 *bits)
{
  gsize size = path_graph_size (self->env->graph) / 8 + 1;

  for (gsize i = 0; i < size; i++)
    if (reach.bits[i] & bits[i])
      return TRUE;
  return FALSE;
}

/* A set is often hundreds of instances of few tasks, and asked about as often: only where something
 * of it is reached does it matter what. */
static void
append_of_set (PathEval *self, const PathExpr *call, PathReach reach, DbrJson current, GArray *out)
{
  GArray *set = path_eval_nodes (self, call->args[1], current);
  const PathMemo *memo = places_of (self, call, set);

  if (path_spend (self, 1 + path_graph_size (self->env->graph) / 128)
      && do_meet (self, reach, memo->bits) && path_spend (self, set->len / 16))
    for (guint i = 0; i < memo->places->len; i++)
      {
        guint place = g_array_index (memo->places, guint, i);
        if (place != GRAPH_NOWHERE && has_bit (reach, place))
          g_array_append_val (out, g_array_index (set, DbrJson, i));
      }
  path_release_nodes (self, call->args[1], set);
}

void
path_call_nodes (PathEval *self, const PathExpr *call, DbrJson current, GArray *out)
{
  DbrJsonGraph *graph = self->env->graph;
  PathNumberOrNode id = path_eval_value (self, call->args[0], current);

  if (!graph || dbr_json_type (id.node) != DBR_JSON_STRING)
    return;
  guint from = path_graph_find (graph, id.node);
  if (from == GRAPH_NOWHERE)
    return;
  PathReach reach = path_graph_reach (graph, from, call->function->id == FUNCTION_UPSTREAM);
  if (!path_spend (self, 1 + reach.cost))
    return;
  if (call->n_args == 1)
    append_reached (self, reach, out);
  else
    append_of_set (self, call, reach, current, out);
}
