/* SPDX-License-Identifier: Apache-2.0 */
/* dbr-format-list: formats that look at all values: how many, which, between what. */
#include "config.h"

#include "dbr-format-priv.h"
#include <string.h>

#define MAX_RANGES 20u

static DbrFormatItem *
item_at (DbrFormatState *state, guint i)
{
  return &g_array_index (state->items, DbrFormatItem, i);
}

static void
keep_only (DbrFormatState *state, guint i)
{
  DbrFormatItem item = *item_at (state, i);
  g_array_set_size (state->items, 0);
  g_array_append_val (state->items, item);
}

static void
become_text (DbrFormatState *state, const GString *text)
{
  g_array_set_size (state->items, 0);
  dbr_format_state_add_text (state, text->str, text->len);
}

/* --------------------------------------------------------------------------------------- count */

static void
format_count (const DbrFormat *self, DbrFormatState *state)
{
  g_autoptr (GString) text = g_string_new (NULL);
  double number = state->items->len;
  if (state->items->len == 1)
    {
      DbrJson node = item_at (state, 0)->node;
      gsize len = 0;
      const char *value = dbr_format_state_text (state, 0, &len);
      if (dbr_json_type (node) == DBR_JSON_ARRAY)
        number = dbr_json_count (node);
      else if (dbr_json_type (node) == DBR_JSON_NUMBER || !dbr_json_exists (node))
        {
          if (!format_parse_number (value, len, &number))
            return;
          /* As it came: a number of 20 digits keeps them all. */
          g_string_append_len (text, value, (gssize) len);
        }
    }
  if (text->len == 0)
    format_append_number (text, number);
  if (self->one)
    g_string_append_printf (text, " %s", number == 1 ? self->one : self->other);
  become_text (state, text);
}

/* ------------------------------------------------------------------------------- different values
 */

typedef struct
{
  char *text;
  guint first, count;
} Bin;

static void
free_bin (gpointer data)
{
  Bin *bin = data;
  g_free (bin->text);
  g_free (bin);
}

/* The different texts in order of first appearance (element-type Bin). A null counts as "none". */
static GPtrArray *
collect_bins (DbrFormatState *state)
{
  GPtrArray *bins = g_ptr_array_new_with_free_func (free_bin);
  g_autoptr (GHashTable) index = g_hash_table_new (g_str_hash, g_str_equal);
  for (guint i = 0; i < state->items->len; i++)
    {
      gsize len = 0;
      const char *value = dbr_format_state_text (state, i, &len);
      gboolean is_null = dbr_json_type (item_at (state, i)->node) == DBR_JSON_NULL;
      g_autofree char *text = is_null ? g_strdup ("none") : g_strndup (value, len);
      Bin *bin = g_hash_table_lookup (index, text);
      if (!bin)
        {
          bin = g_new0 (Bin, 1);
          bin->text = g_steal_pointer (&text);
          bin->first = i;
          g_ptr_array_add (bins, bin);
          g_hash_table_insert (index, bin->text, bin);
        }
      bin->count++;
    }
  return bins;
}

static int
compare_bins (gconstpointer a, gconstpointer b)
{
  const Bin *first = *(const Bin *const *) a;
  const Bin *second = *(const Bin *const *) b;
  if (first->count != second->count)
    return first->count > second->count ? -1 : 1;
  return first->first < second->first ? -1 : 1;
}

static void
format_tally (DbrFormatState *state)
{
  g_autoptr (GPtrArray) bins = collect_bins (state);
  g_autoptr (GString) text = g_string_new (NULL);
  g_ptr_array_sort (bins, compare_bins);
  for (guint i = 0; i < bins->len; i++)
    {
      const Bin *bin = g_ptr_array_index (bins, i);
      g_string_append_printf (text, "%s%u %s", i > 0 ? ", " : "", bin->count, bin->text);
    }
  become_text (state, text);
}

static void
format_distinct (DbrFormatState *state)
{
  g_autoptr (GPtrArray) bins = collect_bins (state);
  for (guint i = 0; i < bins->len; i++)
    {
      const Bin *bin = g_ptr_array_index (bins, i);
      *item_at (state, i)
          = *item_at (state, bin->first); /* first >= i: never overwritten before read */
    }
  g_array_set_size (state->items, bins->len);
}

/* ------------------------------------------------------------------------------------- numbers */

static int
compare_int64 (gconstpointer a, gconstpointer b)
{
  gint64 first = *(const gint64 *) a;
  gint64 second = *(const gint64 *) b;
  return first < second ? -1 : first > second;
}

static void
append_range (GString *text, gint64 from, gint64 to)
{
  if (text->len > 0)
    g_string_append (text, ", ");
  g_string_append_printf (text, "%" G_GINT64_FORMAT, from);
  if (to > from)
    g_string_append_printf (text, "-%" G_GINT64_FORMAT, to);
}

static void
format_ranges (DbrFormatState *state)
{
  g_autoptr (GArray) numbers = g_array_new (FALSE, FALSE, sizeof (gint64));
  for (guint i = 0; i < state->items->len; i++)
    {
      gint64 number = 0;
      if (dbr_json_type (item_at (state, i)->node) == DBR_JSON_NULL)
        continue;
      if (!dbr_json_int64 (item_at (state, i)->node, &number))
        return;
      g_array_append_val (numbers, number);
    }
  g_array_sort (numbers, compare_int64);
  g_autoptr (GString) text = g_string_new (NULL);
  guint n_ranges = 0;
  for (guint i = 0; i < numbers->len;)
    {
      gint64 from = g_array_index (numbers, gint64, i);
      gint64 to = from;
      for (i++; i < numbers->len; i++)
        {
          gint64 next = g_array_index (numbers, gint64, i);
          if (next != to && next - 1 != to)
            break;
          to = next;
        }
      if (n_ranges < MAX_RANGES)
        append_range (text, from, to);
      n_ranges++;
    }
  if (n_ranges > MAX_RANGES)
    g_string_append_printf (text, " and %u more", n_ranges - MAX_RANGES);
  become_text (state, text);
}

typedef struct
{
  double value;
  guint item;
} Number;

static int
compare_numbers (gconstpointer a, gconstpointer b)
{
  double first = ((const Number *) a)->value;
  double second = ((const Number *) b)->value;
  return first < second ? -1 : first > second;
}

static void
append_statistic (const DbrFormat *self, GArray *numbers, GString *text)
{
  double sum = 0;
  for (guint i = 0; i < numbers->len; i++)
    sum += g_array_index (numbers, Number, i).value;
  guint middle = numbers->len / 2;
  double upper = g_array_index (numbers, Number, middle).value;
  double lower = g_array_index (numbers, Number, numbers->len % 2 == 0 ? middle - 1 : middle).value;
  format_append_number (text, self->kind == DBR_FORMAT_SUM ? sum : lower + (upper - lower) / 2);
}

static void
format_statistic (const DbrFormat *self, DbrFormatState *state)
{
  g_autoptr (GArray) numbers = g_array_new (FALSE, FALSE, sizeof (Number));
  for (guint i = 0; i < state->items->len; i++)
    {
      gsize len = 0;
      const char *value = dbr_format_state_text (state, i, &len);
      Number number = { 0, i };
      if (dbr_json_type (item_at (state, i)->node) == DBR_JSON_NULL)
        continue;
      if (!format_parse_number (value, len, &number.value))
        return;
      g_array_append_val (numbers, number);
    }
  if (numbers->len == 0)
    return;
  g_array_sort (numbers, compare_numbers);
  if (self->kind == DBR_FORMAT_MIN)
    keep_only (state, g_array_index (numbers, Number, 0).item);
  else if (self->kind == DBR_FORMAT_MAX)
    keep_only (state, g_array_index (numbers, Number, numbers->len - 1).item);
  else
    {
      g_autoptr (GString) text = g_string_new (NULL);
      append_statistic (self, numbers, text);
      become_text (state, text);
    }
}

static void
format_limit (const DbrFormat *self, DbrFormatState *state)
{
  if (state->items->len <= self->number)
    return;
  state->more += state->items->len - self->number;
  g_array_set_size (state->items, self->number);
}

void
format_list (const DbrFormat *self, DbrFormatState *state)
{
  guint n = state->items->len;
  switch ((guint) self->kind)
    {
    case DBR_FORMAT_COUNT:
      format_count (self, state);
      break;
    case DBR_FORMAT_DISTINCT:
      format_distinct (state);
      break;
    case DBR_FORMAT_FIRST:
    case DBR_FORMAT_LAST:
      if (n > 1)
        keep_only (state, self->kind == DBR_FORMAT_FIRST ? 0 : n - 1);
      break;
    case DBR_FORMAT_LIMIT:
      format_limit (self, state);
      break;
    case DBR_FORMAT_RANGES:
      format_ranges (state);
      break;
    case DBR_FORMAT_TALLY:
      format_tally (state);
      break;
    default:
      format_statistic (self, state);
      break;
    }
}
