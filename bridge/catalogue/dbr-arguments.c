/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-arguments: what a model sent, checked against the parameters and brought into their types.
 *
 * Models send numbers, booleans, objects and arrays as strings, null and "" for what they leave
 * out, and names that are nearly right. What has one meaning is taken; all else is refused before
 * any request, each problem with the argument's name, what came and what fits. Numbers are never
 * held as doubles on their way through. Text is English: models read it.
 */
#include "config.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include "dbr-catalogue-priv.h"
#include "dbr-nearest.h"
#include "dbr-text.h"

#include <errno.h>
#include <math.h>
#include <pcre2.h>
#include <string.h>

#define MAX_SHOWN_BYTES 80u     /* of a value or name in a message */
#define MAX_PROBLEMS 20u        /* in one message */
#define MAX_MATCH_STEPS 100000u /* of a pattern on one value */
#define MAX_MATCH_DEPTH 1000u
#define MAX_MATCH_KIB 1024u

G_DEFINE_QUARK (dbr_argument_error, dbr_argument_error)

typedef struct
{
  DbrJsonBuilder *builder;
  GString *path; /* of the value being checked: conf.k[2] */
  GString *problems;
  guint n_problems;
  DbrArgumentError first;
} Check;

/* ---- problems */

static void
problem (Check *check, DbrArgumentError code, const char *format, ...) G_GNUC_PRINTF (3, 4);

static void
problem (Check *check, DbrArgumentError code, const char *format, ...)
{
  if (check->n_problems++ == 0)
    check->first = code;
  if (check->n_problems > MAX_PROBLEMS)
    return;
  va_list args;
  va_start (args, format);
  if (check->problems->len)
    g_string_append_c (check->problems, '\n');
  if (check->path->len)
    g_string_append_printf (check->problems, "%s: ", check->path->str);
  g_string_append_vprintf (check->problems, format, args);
  va_end (args);
}

/* Text that a model wrote, on one line and not long (transfer full). */
static char *
shown (const char *text, gsize len)
{
  GString *out = g_string_new (NULL);
  gsize kept = dbr_text_cut_length (text, len, MAX_SHOWN_BYTES);
  dbr_text_append_safe (out, text, (gssize) kept, DBR_TEXT_ONE_LINE);
  if (kept < len)
    g_string_append (out, "…");
  return g_string_free (out, FALSE);
}

/* "the string \"ten\"", for "found …" (transfer full). */
static char *
found (DbrJson value)
{
  g_autoptr (GString) scratch = g_string_new (NULL);
  gsize len = 0;
  switch (dbr_json_type (value))
    {
    case DBR_JSON_STRING:
      {
        const char *text = dbr_json_string (value, scratch, &len);
        g_autofree char *safe = shown (text, len);
        return g_strdup_printf ("the string \"%s\"", safe);
      }
    case DBR_JSON_NUMBER:
      {
        dbr_json_append (value, scratch);
        g_autofree char *safe = shown (scratch->str, scratch->len);
        return g_strdup_printf ("the number %s", safe);
      }
    case DBR_JSON_BOOLEAN:
      return g_strdup (dbr_json_get_boolean (value) ? "true" : "false");
    case DBR_JSON_ARRAY:
      return g_strdup_printf ("an array of %u", dbr_json_count (value));
    case DBR_JSON_OBJECT:
      return g_strdup ("an object");
    case DBR_JSON_NULL:
      return g_strdup ("null");
    case DBR_JSON_NOTHING:
    default:
      return g_strdup ("nothing");
    }
}

static void
wrong_type (Check *check, DbrJson value, const char *expected)
{
  g_autofree char *got = found (value);
  problem (check, DBR_ARGUMENT_ERROR_TYPE, "expected %s, found %s.", expected, got);
  dbr_json_builder_null (check->builder);
}

/* The first sentence of a description, without its full stop (transfer full). */
static char *
first_sentence (const char *text)
{
  const char *end = text;
  while (*end && !(strchr (".!?", *end) && (end[1] == ' ' || end[1] == '\0')))
    end++;
  return g_strndup (text, (gsize) (end - text));
}

static void
missing (Check *check, const DbrParam *param)
{
  g_autofree char *says = first_sentence (param->description ? param->description : "");
  gsize len = check->path->len;
  if (len)
    g_string_append_c (check->path, '.');
  g_string_append (check->path, param->name);
  if (*says)
    problem (check, DBR_ARGUMENT_ERROR_MISSING, "is required: %s.", says);
  else
    problem (check, DBR_ARGUMENT_ERROR_MISSING, "is required.");
  g_string_truncate (check->path, len);
}

/* ---- what a string may hold */

/* The JSON that stands in a string, NULL when it is no string or holds none. */
static DbrJsonDoc *
unpacked (DbrJson value)
{
  g_autoptr (GString) scratch = g_string_new (NULL);
  gsize len = 0;
  const char *text = dbr_json_string (value, scratch, &len);
  return text ? dbr_json_doc_new_from_data (text, (gssize) len, NULL, NULL) : NULL;
}

/* A number's text: the token, or the token that stands in a string; NULL otherwise. */
static DbrJson
number_of (DbrJson value, DbrJsonDoc **out_holder)
{
  if (dbr_json_type (value) == DBR_JSON_NUMBER)
    return value;
  *out_holder = unpacked (value);
  DbrJson inner = *out_holder ? dbr_json_doc_root (*out_holder) : DBR_JSON_NONE;
  return dbr_json_type (inner) == DBR_JSON_NUMBER ? inner : DBR_JSON_NONE;
}

/* An integer as it is written: digits, or digits and a fraction of zeros; never an exponent.
 * Gives FALSE where the value isn't one; *out_fits FALSE where it has no room in 64 bits. */
static gboolean
integer_of (DbrJson number, gint64 *out_value, gboolean *out_fits)
{
  g_autoptr (GString) token = g_string_new (NULL);
  if (!dbr_json_exists (number))
    return FALSE;
  dbr_json_append (number, token);
  gsize digits = strspn (token->str, "-0123456789");
  const char *rest = token->str + digits;
  if (*rest == '.' && rest[1 + strspn (rest + 1, "0")] == '\0')
    g_string_truncate (token, digits);
  else if (*rest)
    return FALSE;
  errno = 0;
  *out_value = g_ascii_strtoll (token->str, NULL, 10);
  *out_fits = errno == 0;
  return TRUE;
}

/* ---- limits */

/* Exact, also where @limit has no place among the integers. */
static gboolean
is_under (gint64 value, double limit)
{
  if (limit >= 9223372036854775808.0)
    return TRUE;
  return limit > -9223372036854775808.0 && value < (gint64) ceil (limit);
}

static gboolean
is_over (gint64 value, double limit)
{
  if (limit < -9223372036854775808.0)
    return TRUE;
  return limit < 9223372036854775808.0 && value > (gint64) floor (limit);
}

static void
out_of_range (Check *check, const DbrParam *param, DbrJson value, gboolean is_low)
{
  char limit[G_ASCII_DTOSTR_BUF_SIZE];
  g_autoptr (GString) token = g_string_new (NULL);
  dbr_json_append (value, token);
  g_autofree char *got = shown (token->str, token->len);
  g_ascii_formatd (limit, sizeof limit, "%.15g", is_low ? param->minimum : param->maximum);
  problem (check, DBR_ARGUMENT_ERROR_RANGE, "%s is %s the %s, %s.", got, is_low ? "under" : "over",
           is_low ? "minimum" : "maximum", limit);
}

static void
not_a_value (Check *check, const DbrParam *param, const char *text, gsize len)
{
  g_autofree char *got = shown (text, len);
  g_autofree char *all = g_strjoinv (", ", param->values);
  const char *nearest = param->type == DBR_PARAM_STRING
                            ? dbr_nearest (text, (const char *const *) param->values)
                            : NULL;
  g_autofree char *remedy
      = nearest ? g_strdup_printf (" Did you mean %s?", nearest) : g_strdup ("");
  problem (check, DBR_ARGUMENT_ERROR_RANGE, "\"%s\" is not one of: %s.%s", got, all, remedy);
}

static gboolean
is_number_value (const DbrParam *param, DbrJson number)
{
  for (guint i = 0; param->values[i]; i++)
    {
      g_autoptr (DbrJsonDoc) doc = dbr_json_doc_new_from_data (param->values[i], -1, NULL, NULL);
      if (doc && dbr_json_equal (dbr_json_doc_root (doc), number))
        return TRUE;
    }
  return FALSE;
}

static void
check_number_value (Check *check, const DbrParam *param, DbrJson number)
{
  g_autoptr (GString) token = g_string_new (NULL);
  if (!param->values || is_number_value (param, number))
    return;
  dbr_json_append (number, token);
  not_a_value (check, param, token->str, token->len);
}

/* Bounded in time, depth and memory: the text is a stranger's, and the pattern may be, too. */
static void
check_pattern (Check *check, const DbrParam *param, const char *text, gsize len)
{
  pcre2_match_context *limits = pcre2_match_context_create (NULL);
  pcre2_match_data *match = pcre2_match_data_create (1, NULL);
  int rc = PCRE2_ERROR_NOMEMORY;
  if (limits && match)
    {
      pcre2_set_match_limit (limits, MAX_MATCH_STEPS);
      pcre2_set_depth_limit (limits, MAX_MATCH_DEPTH);
      pcre2_set_heap_limit (limits, MAX_MATCH_KIB);
      rc = pcre2_match (param->regex, (PCRE2_SPTR) text, len, 0, 0, match, limits);
    }
  pcre2_match_data_free (match);
  pcre2_match_context_free (limits);
  if (rc >= 0)
    return;
  g_autofree char *got = shown (text, len);
  if (rc == PCRE2_ERROR_NOMATCH)
    problem (check, DBR_ARGUMENT_ERROR_RANGE, "\"%s\" doesn't match the pattern %s.", got,
             param->pattern);
  else
    problem (check, DBR_ARGUMENT_ERROR_RANGE,
             "\"%s\" takes too long to compare with the pattern %s.", got, param->pattern);
}

/* The same check that the path's building makes, but before the first request: a tool may need the
 * value in its second. */
static void
check_segment (Check *check, const DbrParam *param, const char *text, gsize len)
{
  g_autoptr (GString) scratch = g_string_new (NULL);
  g_autoptr (GError) error = NULL;
  gboolean ok = param->slashes
                    ? dbr_path_append_segments (scratch, text, (gssize) len, "the value", &error)
                    : dbr_path_append_segment (scratch, text, (gssize) len, "the value", &error);
  if (!ok)
    problem (check, DBR_ARGUMENT_ERROR_RANGE, "%s.", error->message);
}

static void
check_text (Check *check, const DbrParam *param, const char *text, gsize len)
{
  guint length = (guint) g_utf8_strlen (text, (gssize) len);
  if (memchr (text, '\0', len))
    problem (check, DBR_ARGUMENT_ERROR_RANGE, "holds a NUL character; remove it.");
  else if (param->refuse && g_str_equal (param->refuse, text))
    problem (check, DBR_ARGUMENT_ERROR_RANGE,
             "\"%s\" stands for a value that isn't shown and is never sent back; leave it out or "
             "give the real value.",
             param->refuse);
  else if (length < param->min_length)
    problem (check, DBR_ARGUMENT_ERROR_RANGE, "has %u characters; at least %u are needed.", length,
             param->min_length);
  else if (length > param->max_length)
    problem (check, DBR_ARGUMENT_ERROR_RANGE, "has %u characters; at most %u fit.", length,
             param->max_length);
  else if (param->values && !g_strv_contains ((const char *const *) param->values, text))
    not_a_value (check, param, text, len);
  else
    {
      if (param->in_path)
        check_segment (check, param, text, len);
      if (param->regex)
        check_pattern (check, param, text, len);
    }
}

/* ---- values: each gives exactly one value to the builder */

static void
check_value (Check *check, const DbrParam *param, DbrJson value);
static void
check_members (Check *check, const GPtrArray *params, DbrJson object);

/* The one allowed value that differs from @text only in case; NULL when it is one itself, or when
 * none or several do. */
static const char *
in_another_case (const DbrParam *param, const char *text)
{
  const char *meant = NULL;
  for (guint i = 0; param->values && param->values[i]; i++)
    {
      if (g_str_equal (param->values[i], text))
        return NULL;
      if (g_ascii_strcasecmp (param->values[i], text) != 0)
        continue;
      if (meant)
        return NULL;
      meant = param->values[i];
    }
  return meant;
}

static void
check_string (Check *check, const DbrParam *param, DbrJson value)
{
  g_autoptr (GString) scratch = g_string_new (NULL);
  gsize len = 0;
  const char *text = dbr_json_string (value, scratch, &len);
  if (!text)
    {
      wrong_type (check, value, "a string");
      return;
    }
  /* A slice isn't NUL-terminated; comparing needs that. */
  g_autofree char *copy = g_strndup (text, len);
  const char *meant = memchr (text, '\0', len) ? NULL : in_another_case (param, copy);
  if (meant)
    {
      dbr_json_builder_string (check->builder, meant, -1);
      return;
    }
  if (memchr (text, '\0', len))
    problem (check, DBR_ARGUMENT_ERROR_RANGE, "holds a NUL character; remove it.");
  else
    check_text (check, param, copy, len);
  dbr_json_builder_link (check->builder, value);
}

static void
check_integer (Check *check, const DbrParam *param, DbrJson value)
{
  g_autoptr (DbrJsonDoc) holder = NULL;
  DbrJson number = number_of (value, &holder);
  gboolean fits = FALSE;
  gint64 whole = 0;
  if (!integer_of (number, &whole, &fits))
    {
      wrong_type (check, value, "an integer in plain digits, such as 10");
      return;
    }
  if (!fits)
    {
      wrong_type (check, value, "an integer of at most 64 bits");
      return;
    }
  if (param->has_minimum && is_under (whole, param->minimum))
    out_of_range (check, param, number, TRUE);
  else if (param->has_maximum && is_over (whole, param->maximum))
    out_of_range (check, param, number, FALSE);
  else
    check_number_value (check, param, number);
  dbr_json_builder_int64 (check->builder, whole);
}

static void
check_number (Check *check, const DbrParam *param, DbrJson value)
{
  g_autoptr (DbrJsonDoc) holder = NULL;
  DbrJson number = number_of (value, &holder);
  double size = 0;
  if (!dbr_json_exists (number))
    {
      wrong_type (check, value, "a number, such as 2.5");
      return;
    }
  /* 1e400 is beyond a double, and so over any maximum or under any minimum. */
  if (!dbr_json_double (number, &size))
    {
      g_autoptr (GString) token = g_string_new (NULL);
      dbr_json_append (number, token);
      size = *token->str == '-' ? -HUGE_VAL : HUGE_VAL;
    }
  if (param->has_minimum && size < param->minimum)
    out_of_range (check, param, number, TRUE);
  else if (param->has_maximum && size > param->maximum)
    out_of_range (check, param, number, FALSE);
  else
    check_number_value (check, param, number);
  dbr_json_builder_link (check->builder, number);
}

static void
check_boolean (Check *check, DbrJson value)
{
  static const char *const yes[] = { "true", "yes", "on", NULL };
  static const char *const no[] = { "false", "no", "off", NULL };
  g_autofree char *text = dbr_json_dup_string (value);
  g_autofree char *word = text ? g_ascii_strdown (g_strstrip (text), -1) : NULL;
  if (dbr_json_type (value) == DBR_JSON_BOOLEAN)
    dbr_json_builder_boolean (check->builder, dbr_json_get_boolean (value));
  else if (word && g_strv_contains (yes, word))
    dbr_json_builder_boolean (check->builder, TRUE);
  else if (word && g_strv_contains (no, word))
    dbr_json_builder_boolean (check->builder, FALSE);
  else
    wrong_type (check, value, "true or false");
}

static void
check_object (Check *check, const DbrParam *param, DbrJson value)
{
  g_autoptr (DbrJsonDoc) holder = unpacked (value);
  DbrJson object = holder ? dbr_json_doc_root (holder) : value;
  if (dbr_json_type (object) != DBR_JSON_OBJECT)
    wrong_type (check, value, "an object, such as {\"key\": 1}");
  else if (param->members)
    {
      dbr_json_builder_begin_object (check->builder);
      check_members (check, param->members, object);
      dbr_json_builder_end_object (check->builder);
    }
  else
    dbr_json_builder_link (check->builder, object);
}

/* ["a", "b"] for "a, b" (transfer full). */
static char *
as_array (const char *text)
{
  g_auto (GStrv) words = g_strsplit (text, ",", -1);
  GString *out = g_string_new ("[");
  for (guint i = 0; words[i]; i++)
    {
      if (i)
        g_string_append (out, ", ");
      dbr_text_append_json_string (out, g_strstrip (words[i]), -1);
    }
  g_string_append_c (out, ']');
  return g_string_free (out, FALSE);
}

/* No array, but perhaps its one element: a string of its own. With a comma it may be several, which is
 * not guessed at. */
static void
check_lone (Check *check, const DbrParam *param, DbrJson value)
{
  gboolean of_strings = param->items && param->items->type == DBR_PARAM_STRING;
  g_autofree char *text = of_strings ? dbr_json_dup_string (value) : NULL;
  if (text == NULL || strchr ("[{", *g_strchug (text)) || strlen (text) > MAX_SHOWN_BYTES
      || param->min_items > 1 || param->max_items < 1)
    {
      wrong_type (check, value, "an array, such as [\"a\", \"b\"]");
      return;
    }
  if (strchr (text, ','))
    {
      g_autofree char *array = as_array (text);
      g_autofree char *expected = g_strdup_printf ("an array, written %s", array);
      wrong_type (check, value, expected);
      return;
    }
  dbr_json_builder_begin_array (check->builder);
  check_value (check, param->items, value);
  dbr_json_builder_end_array (check->builder);
}

static void
check_array (Check *check, const DbrParam *param, DbrJson value)
{
  g_autoptr (DbrJsonDoc) holder = unpacked (value);
  DbrJson array = holder ? dbr_json_doc_root (holder) : value;
  if (dbr_json_type (array) != DBR_JSON_ARRAY)
    {
      check_lone (check, param, value);
      return;
    }
  guint n = dbr_json_count (array), i = 0;
  if (n < param->min_items || n > param->max_items)
    {
      gboolean few = n < param->min_items;
      problem (check, DBR_ARGUMENT_ERROR_RANGE, "has %u elements; %s %u %s.", n,
               few ? "at least" : "at most", few ? param->min_items : param->max_items,
               few ? "are needed" : "fit");
      dbr_json_builder_null (check->builder);
      return;
    }
  if (!param->items)
    {
      dbr_json_builder_link (check->builder, array);
      return;
    }
  dbr_json_builder_begin_array (check->builder);
  gsize len = check->path->len;
  for (DbrJson at = dbr_json_first (array); dbr_json_exists (at); at = dbr_json_next (at))
    {
      g_string_append_printf (check->path, "[%u]", i++);
      check_value (check, param->items, at);
      g_string_truncate (check->path, len);
    }
  dbr_json_builder_end_array (check->builder);
}

static void
check_value (Check *check, const DbrParam *param, DbrJson value)
{
  switch (param->type)
    {
    case DBR_PARAM_STRING:
    case DBR_PARAM_PATH:
      check_string (check, param, value);
      break;
    case DBR_PARAM_INTEGER:
      check_integer (check, param, value);
      break;
    case DBR_PARAM_NUMBER:
      check_number (check, param, value);
      break;
    case DBR_PARAM_BOOLEAN:
      check_boolean (check, value);
      break;
    case DBR_PARAM_OBJECT:
      check_object (check, param, value);
      break;
    case DBR_PARAM_ARRAY:
      check_array (check, param, value);
      break;
    default:
      g_assert_not_reached ();
    }
}

/* ---- objects */

/* What a model writes for "not given": null and "". Inside of objects, and where a parameter only
 * fills a body, both are values of their own: null clears a field. */
static gboolean
is_left_out (const DbrParam *param, DbrJson value, gboolean is_nested)
{
  DbrJsonType type = dbr_json_type (value);
  gboolean is_text = param->type == DBR_PARAM_STRING || param->type == DBR_PARAM_PATH;
  if (type == DBR_JSON_NOTHING)
    return TRUE;
  if (type == DBR_JSON_NULL)
    return param->required || !(is_nested || param->keeps_null);
  return dbr_json_string_equals (value, "") && (!is_text || (!is_nested && !param->keeps_null));
}

static void
check_member (Check *check, const DbrParam *param, DbrJson value, gboolean is_nested)
{
  if (is_left_out (param, value, is_nested))
    {
      if (param->required)
        missing (check, param);
      else if (param->default_value)
        {
          dbr_json_builder_key (check->builder, param->name);
          dbr_json_builder_link (check->builder, dbr_json_doc_root (param->default_value));
        }
      return;
    }
  gsize len = check->path->len;
  if (len)
    g_string_append_c (check->path, '.');
  g_string_append (check->path, param->name);
  dbr_json_builder_key (check->builder, param->name);
  if (dbr_json_type (value) == DBR_JSON_NULL)
    dbr_json_builder_null (check->builder);
  else
    check_value (check, param, value);
  g_string_truncate (check->path, len);
}

static void
unknown (Check *check, const GPtrArray *params, const char *key, gsize key_len)
{
  /* Nobody reads further names: a hundred thousand of them must not cost a search each. */
  if (check->n_problems >= MAX_PROBLEMS)
    {
      check->n_problems++;
      return;
    }
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  g_autofree char *name = shown (key, key_len);
  for (guint i = 0; i < params->len; i++)
    g_ptr_array_add (names, ((const DbrParam *) g_ptr_array_index (params, i))->name);
  g_ptr_array_add (names, NULL);
  const char *nearest = dbr_nearest (name, (const char *const *) names->pdata);
  g_autofree char *all = dbr_names_join ((const char *const *) names->pdata);
  g_autofree char *remedy
      = nearest ? g_strdup_printf ("; did you mean \"%s\"?", nearest) : g_strdup (".");
  problem (check, DBR_ARGUMENT_ERROR_UNKNOWN, "there is no argument \"%s\"%s Known: %s.", name,
           remedy, params->len ? all : "none");
}

static gboolean
is_known (const GPtrArray *params, const char *key, gsize len)
{
  for (guint i = 0; i < params->len; i++)
    {
      const DbrParam *param = g_ptr_array_index (params, i);
      if (strlen (param->name) == len && memcmp (param->name, key, len) == 0)
        return TRUE;
    }
  return FALSE;
}

static void
check_members (Check *check, const GPtrArray *params, DbrJson object)
{
  gboolean is_nested = check->path->len > 0;
  g_autoptr (GString) scratch = g_string_new (NULL);
  for (guint i = 0; i < params->len; i++)
    {
      const DbrParam *param = g_ptr_array_index (params, i);
      check_member (check, param, dbr_json_get (object, param->name), is_nested);
    }
  for (DbrJson at = dbr_json_first (object); dbr_json_exists (at); at = dbr_json_next (at))
    {
      gsize len = 0;
      const char *key = dbr_json_string (dbr_json_key (at), scratch, &len);
      if (!is_known (params, key, len))
        unknown (check, params, key, len);
    }
}

/* Exactly one of them must be there. */
static void
check_one_of (Check *check, const DbrTool *tool, DbrJson object)
{
  g_autoptr (GPtrArray) given = g_ptr_array_new ();
  for (guint i = 0; i < tool->params->len; i++)
    {
      const DbrParam *param = g_ptr_array_index (tool->params, i);
      if (g_strv_contains ((const char *const *) tool->one_of, param->name)
          && !is_left_out (param, dbr_json_get (object, param->name), FALSE))
        g_ptr_array_add (given, param->name);
    }
  if (given->len == 1)
    return;
  g_ptr_array_add (given, NULL);
  g_autofree char *all = dbr_names_join ((const char *const *) tool->one_of);
  g_autofree char *these = dbr_names_join ((const char *const *) given->pdata);
  problem (check, *these == '\0' ? DBR_ARGUMENT_ERROR_MISSING : DBR_ARGUMENT_ERROR_RANGE,
           "exactly one of %s must be given; found %s.", all, *these ? these : "none");
}

/* ---- doors */

static void
check_begin (Check *check)
{
  *check = (Check){ .builder = dbr_json_builder_new (),
                    .path = g_string_new (NULL),
                    .problems = g_string_new (NULL) };
}

static void
check_clear (Check *check)
{
  dbr_json_builder_free (check->builder);
  g_string_free (check->path, TRUE);
  g_string_free (check->problems, TRUE);
}

DbrJsonDoc *
dbr_arguments_check (const DbrTool *tool, DbrJson arguments, GError **error)
{
  DbrJsonType type = dbr_json_type (arguments);
  Check check;
  check_begin (&check);
  dbr_json_builder_begin_object (check.builder);
  if (type == DBR_JSON_OBJECT || type == DBR_JSON_NOTHING || type == DBR_JSON_NULL)
    {
      check_members (&check, tool->params, arguments);
      if (tool->one_of)
        check_one_of (&check, tool, arguments);
    }
  else
    {
      g_autofree char *got = found (arguments);
      problem (&check, DBR_ARGUMENT_ERROR_TYPE, "arguments must be an object, found %s.", got);
    }
  dbr_json_builder_end_object (check.builder);
  g_autoptr (DbrJsonDoc) doc = dbr_json_builder_end (check.builder);
  if (check.n_problems > MAX_PROBLEMS)
    g_string_append_printf (check.problems, "\nand %u more.", check.n_problems - MAX_PROBLEMS);
  if (check.n_problems)
    {
      g_set_error_literal (error, DBR_ARGUMENT_ERROR, (int) check.first, check.problems->str);
      g_clear_pointer (&doc, dbr_json_doc_unref);
    }
  check_clear (&check);
  return g_steal_pointer (&doc);
}

char *
dbr_param_problem (const DbrParam *param, DbrJson value)
{
  Check check;
  check_begin (&check);
  check_value (&check, param, value);
  g_autoptr (DbrJsonDoc) doc = dbr_json_builder_end (check.builder);
  char *text = check.n_problems ? g_strdup (check.problems->str) : NULL;
  check_clear (&check);
  return text;
}
