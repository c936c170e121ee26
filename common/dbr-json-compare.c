/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-json-compare: numbers as exact decimals, and equality.
 *
 * A number's text is brought to a sign, digits without zeros at either end and a power of ten,
 * without a copy; so comparison is exact at any size, and an integer is recognised however it is
 * written.
 */
#include "config.h"

#include "dbr-json-compare.h"
#include "dbr-json-doc-priv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The digits are those of @first..@last but the point. Zero has no digits. */
typedef struct
{
  const char *first;
  const char *last; /* one past */
  gint64 n_digits;
  gint64 magnitude; /* the value is 0.DIGITS times ten to this */
  gboolean is_negative;
} Decimal;

#define EXPONENT_CAP \
  G_GINT64_CONSTANT (1000000000000) /* beyond any text's length: order is all that counts */

static gint64
read_exponent (const char *p, const char *end)
{
  gboolean is_negative = FALSE;
  gint64 value = 0;

  if (p < end && (*p == '+' || *p == '-'))
    is_negative = *p++ == '-';
  for (; p < end; p++)
    value = MIN (value * 10 + (*p - '0'), EXPONENT_CAP);
  return is_negative ? -value : value;
}

static void
read_decimal (const char *p, gsize len, Decimal *out)
{
  const char *end = p + len;
  const char *mantissa_end = p;
  const char *point = NULL;

  *out = (Decimal){ 0 };
  if (*p == '-')
    {
      out->is_negative = TRUE;
      p++;
    }
  for (mantissa_end = p; mantissa_end < end && (*mantissa_end | 0x20) != 'e'; mantissa_end++)
    if (*mantissa_end == '.')
      point = mantissa_end;
  if (!point)
    point = mantissa_end;

  const char *first = p;
  const char *last = mantissa_end;
  while (first < last && (*first == '0' || *first == '.'))
    first++;
  if (first == last)
    {
      out->is_negative = FALSE;
      return;
    }
  while (last[-1] == '0' || last[-1] == '.')
    last--;
  out->first = first;
  out->last = last;
  out->n_digits = last - first - (first < point && point < last ? 1 : 0);
  out->magnitude = first < point ? point - first : point + 1 - first;
  if (mantissa_end < end)
    out->magnitude += read_exponent (mantissa_end + 1, end);
}

static int
compare_digits (const Decimal *a, const Decimal *b)
{
  const char *p = a->first;
  const char *q = b->first;

  for (;;)
    {
      if (p < a->last && *p == '.')
        p++;
      if (q < b->last && *q == '.')
        q++;
      if (p >= a->last || q >= b->last)
        return (p < a->last) - (q < b->last);
      if (*p != *q)
        return *p < *q ? -1 : 1;
      p++;
      q++;
    }
}

static int
sign_of (const Decimal *d)
{
  return d->n_digits == 0 ? 0 : d->is_negative ? -1 : 1;
}

int
dbr_json_number_text_compare (const char *a, gsize a_len, const char *b, gsize b_len)
{
  Decimal x;
  Decimal y;

  read_decimal (a, a_len, &x);
  read_decimal (b, b_len, &y);
  int sign = sign_of (&x);
  if (sign != sign_of (&y))
    return sign < sign_of (&y) ? -1 : 1;
  if (sign == 0)
    return 0;
  if (x.magnitude != y.magnitude)
    return x.magnitude < y.magnitude ? -sign : sign;
  return sign * compare_digits (&x, &y);
}

int
dbr_json_number_compare (DbrJson a, DbrJson b)
{
  gsize a_len;
  gsize b_len;
  const char *a_text = dbr_json_raw (a, &a_len);
  const char *b_text = dbr_json_raw (b, &b_len);
  return dbr_json_number_text_compare (a_text, a_len, b_text, b_len);
}

gboolean
dbr_json_int64 (DbrJson node, gint64 *out_value)
{
  gsize len;
  Decimal d;
  guint64 value = 0;

  if (dbr_json_type (node) != DBR_JSON_NUMBER)
    return FALSE;
  const char *text = dbr_json_raw (node, &len);
  read_decimal (text, len, &d);
  if (d.n_digits > 0 && (d.magnitude > 19 || d.magnitude < d.n_digits))
    return FALSE;
  for (const char *p = d.first; p < d.last; p++)
    if (*p != '.')
      value = value * 10 + (guint64) (*p - '0');
  for (gint64 i = d.n_digits; i < d.magnitude && d.n_digits > 0; i++)
    value *= 10; /* at most 19 digits: fits 64 bits */
  if (value > (guint64) G_MAXINT64 + (d.is_negative ? 1 : 0))
    return FALSE;
  *out_value = d.is_negative ? (gint64) (0 - value) : (gint64) value;
  return TRUE;
}

gboolean
dbr_json_double (DbrJson node, double *out_value)
{
  char small[64];
  g_autofree char *large = NULL;
  gsize len;

  if (dbr_json_type (node) != DBR_JSON_NUMBER)
    return FALSE;
  const char *text = dbr_json_raw (node, &len);
  char *copy = small;
  if (len >= sizeof small)
    copy = large = g_malloc (len + 1);
  memcpy (copy, text, len);
  copy[len] = '\0';
  *out_value = g_ascii_strtod (copy, NULL);
  return isfinite (*out_value);
}

int
dbr_json_string_compare (DbrJson a, DbrJson b)
{
  /* g_string_new() allocates: only when there is something to decode. */
  g_autoptr (GString) scratch_a = NULL;
  g_autoptr (GString) scratch_b = NULL;
  gsize len_a;
  gsize len_b;

  a = node_resolve (a);
  b = node_resolve (b);
  if (node_at (a)->meta & NODE_ESCAPED)
    scratch_a = g_string_new (NULL);
  if (node_at (b)->meta & NODE_ESCAPED)
    scratch_b = g_string_new (NULL);
  const char *text_a = dbr_json_string (a, scratch_a, &len_a);
  const char *text_b = dbr_json_string (b, scratch_b, &len_b);
  int order = memcmp (text_a, text_b, MIN (len_a, len_b));
  if (order != 0)
    return order < 0 ? -1 : 1;
  return len_a < len_b ? -1 : len_a > len_b;
}

typedef struct
{
  DbrJson key;
  DbrJson value;
} Member;

static int
order_members (const void *a, const void *b)
{
  const Member *x = a;
  const Member *y = b;
  int order = dbr_json_string_compare (x->key, y->key);
  return order ? order : (x->key.at > y->key.at) - (x->key.at < y->key.at);
}

/* The members by key, of duplicates the last alone. */
static Member *
sorted_members (DbrJson object, guint *out_n)
{
  guint n = 0;
  guint kept = 0;
  Member *members = g_new (Member, MAX (1, dbr_json_count (object)));

  for (DbrJson v = dbr_json_first (object); dbr_json_exists (v); v = dbr_json_next (v))
    members[n++] = (Member){ dbr_json_key (v), v };
  qsort (members, n, sizeof *members, order_members);
  for (guint i = 0; i < n; i++)
    if (i + 1 == n || dbr_json_string_compare (members[i].key, members[i + 1].key) != 0)
      members[kept++] = members[i];
  *out_n = kept;
  return members;
}

static gboolean
spend (guint *steps_left, gsize steps)
{
  if (!steps_left)
    return TRUE;
  if (*steps_left < steps)
    {
      *steps_left = 0;
      return FALSE;
    }
  *steps_left -= (guint) steps;
  return TRUE;
}

/* What it costs to look at all of a number or string. */
static gsize
cost_of (DbrJson scalar)
{
  gsize len;
  dbr_json_raw (scalar, &len);
  return len / 256;
}

static gboolean
equal_objects (DbrJson a, DbrJson b, guint *steps_left)
{
  guint n_a;
  guint n_b;

  if (!spend (steps_left, dbr_json_count (a) + dbr_json_count (b)))
    return FALSE;
  g_autofree Member *of_a = sorted_members (a, &n_a);
  g_autofree Member *of_b = sorted_members (b, &n_b);

  if (n_a != n_b)
    return FALSE;
  for (guint i = 0; i < n_a; i++)
    if (dbr_json_string_compare (of_a[i].key, of_b[i].key) != 0
        || !dbr_json_equal_within (of_a[i].value, of_b[i].value, steps_left))
      return FALSE;
  return TRUE;
}

static gboolean
equal_arrays (DbrJson a, DbrJson b, guint *steps_left)
{
  DbrJson x = dbr_json_first (a);
  DbrJson y = dbr_json_first (b);

  for (; dbr_json_exists (x) && dbr_json_exists (y); x = dbr_json_next (x), y = dbr_json_next (y))
    if (!dbr_json_equal_within (x, y, steps_left))
      return FALSE;
  return dbr_json_exists (x) == dbr_json_exists (y);
}

gboolean
dbr_json_equal_within (DbrJson a, DbrJson b, guint *steps_left)
{
  DbrJsonType type = dbr_json_type (a);

  if (!spend (steps_left, 1) || type != dbr_json_type (b))
    return FALSE;
  if (dbr_json_same (a, b))
    return TRUE;
  switch (type)
    {
    case DBR_JSON_NOTHING:
    case DBR_JSON_NULL:
      return TRUE;
    case DBR_JSON_BOOLEAN:
      return dbr_json_get_boolean (a) == dbr_json_get_boolean (b);
    case DBR_JSON_NUMBER:
      return spend (steps_left, cost_of (a) + cost_of (b)) && dbr_json_number_compare (a, b) == 0;
    case DBR_JSON_STRING:
      return spend (steps_left, cost_of (a) + cost_of (b)) && dbr_json_string_compare (a, b) == 0;
    case DBR_JSON_ARRAY:
      return equal_arrays (a, b, steps_left);
    case DBR_JSON_OBJECT:
      return equal_objects (a, b, steps_left);
    }
  return FALSE;
}

gboolean
dbr_json_equal (DbrJson a, DbrJson b)
{
  return dbr_json_equal_within (a, b, NULL);
}
