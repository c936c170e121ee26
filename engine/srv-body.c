/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-body: what came in, read against a list of what may: every problem named, none twice.
 */
#include "config.h"

#include "srv-call.h"

#include "dbr-text.h"

#include <string.h>

#define MAX_QUOTED 200 /* characters */

/* ------------------------------------------------------------------- problems */
void
srv_call_problem (SrvCall *self, const char *field, const char *format, ...)
{
  va_list args;

  if (json_array_size (self->errors) >= SRV_MAX_ERRORS)
    return;
  va_start (args, format);
  g_autofree char *problem = g_strdup_vprintf (format, args);
  va_end (args);
  /* The name of an unknown member is the client's own text: it may hold anything. */
  g_autofree char *safe_field = g_utf8_make_valid (field, -1);
  g_autofree char *safe_problem = g_utf8_make_valid (problem, -1);
  json_array_append_new (self->errors,
                         json_pack ("{s:s, s:s}", "field", safe_field, "problem", safe_problem));
}

gboolean
srv_call_is_bad (const SrvCall *self)
{
  return json_array_size (self->errors) > 0;
}

gboolean
srv_call_has_problem (const SrvCall *self, const char *field)
{
  for (gsize i = 0; i < json_array_size (self->errors); i++)
    if (g_strcmp0 (json_string_value (json_object_get (json_array_get (self->errors, i), "field")),
                   field)
        == 0)
      return TRUE;
  return FALSE;
}

char *
srv_call_problems (const SrvCall *self)
{
  const json_t *first = json_array_get (self->errors, 0);
  gsize count = json_array_size (self->errors);
  g_autofree char *more = count > 1 ? g_strdup_printf ("; %" G_GSIZE_FORMAT " more problem%s",
                                                       count - 1, count > 2 ? "s" : "")
                                    : g_strdup ("");

  return dbr_text_dup_sentence ("%s %s%s", json_string_value (json_object_get (first, "field")),
                                json_string_value (json_object_get (first, "problem")), more);
}

char *
srv_call_quote (const char *text)
{
  if (g_utf8_strlen (text, -1) <= MAX_QUOTED)
    return g_strdup_printf ("\"%s\"", text);
  g_autofree char *head = g_utf8_substring (text, 0, MAX_QUOTED);
  return g_strdup_printf ("\"%s\xe2\x80\xa6\"", head);
}

SrvReply *
srv_call_refuse (SrvCall *self)
{
  g_autofree char *detail = srv_call_problems (self);

  return srv_reply_problem (422, "invalid", detail, json_pack ("{s:O}", "errors", self->errors));
}

static char *
join (const char *where, const char *name)
{
  return *where ? g_strdup_printf ("%s.%s", where, name) : g_strdup (name);
}

/* ---------------------------------------------------------------------- texts */
/* Those that break a line, and those that turn the order of what is shown. */
static gboolean
is_control (gunichar c)
{
  return g_unichar_iscntrl (c) || c == 0x2028 || c == 0x2029 || (c >= 0x202a && c <= 0x202e)
         || (c >= 0x2066 && c <= 0x2069);
}

/* (nullable): what is wrong with the text. */
static const char *
text_problem (const char *text, gsize length, SrvMemberType type)
{
  gboolean one_line
      = type == SRV_MEMBER_TITLE || type == SRV_MEMBER_NAME || type == SRV_MEMBER_PATH;

  if (memchr (text, '\0', length))
    return "has a NUL character";
  if (type != SRV_MEMBER_ANY_TEXT && strspn (text, " \t\r\n") == length)
    return "is empty";
  for (const char *p = text; one_line && *p; p += g_utf8_skip[*(const guchar *) p])
    if (is_control (g_utf8_get_char (p)))
      return "has a line break or another control character";
  return NULL;
}

static gsize
text_limit (SrvMemberType type)
{
  return type == SRV_MEMBER_TITLE  ? SRV_MAX_TITLE
         : type == SRV_MEMBER_NAME ? SRV_MAX_NAME
         : type == SRV_MEMBER_PATH ? SRV_MAX_PATH
                                   : SRV_MAX_TEXT;
}

static void
check_text (SrvCall *self, DbrJson value, const char *field, SrvMemberType type)
{
  g_autoptr (GString) scratch = g_string_new (NULL);
  gsize length = 0, limit = text_limit (type);
  const char *slice = dbr_json_string (value, scratch, &length);

  if (!slice)
    {
      srv_call_problem (self, field, "is not a text");
      return;
    }
  g_autofree char *text = g_strndup (slice, length);
  memcpy (text, slice, length);
  const char *problem = text_problem (text, length, type);
  if (length > limit)
    srv_call_problem (self, field, "is longer than %" G_GSIZE_FORMAT " bytes", limit);
  else if (problem)
    srv_call_problem (self, field, "%s", problem);
}

static void
check_integer (SrvCall *self, DbrJson value, const char *field, const SrvMember *member)
{
  gint64 number;

  if (!dbr_json_int64 (value, &number) || number < member->min || number > member->max)
    srv_call_problem (self, field,
                      "is not an integer from %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT,
                      member->min, member->max);
}

static void
check_word (SrvCall *self, DbrJson value, const char *field, const SrvMember *member)
{
  for (guint i = 0; member->words[i]; i++)
    if (dbr_json_string_equals (value, member->words[i]))
      return;
  g_autoptr (GString) list = g_string_new (NULL);
  for (guint i = 0; member->words[i]; i++)
    g_string_append_printf (list, "%s%s", i ? ", " : "", member->words[i]);
  g_autofree char *word = dbr_json_dup_string (value);
  g_autofree char *quoted = word ? srv_call_quote (word) : NULL;
  srv_call_problem (self, field, quoted ? "%s is none of: %s" : "%sis none of: %s",
                    quoted ? quoted : "", list->str);
}

static void
check_value (SrvCall *self, DbrJson value, const char *field, const SrvMember *member)
{
  DbrJsonType type = dbr_json_type (value);

  if (type == DBR_JSON_NULL && (member->flags & SRV_MEMBER_NULLABLE))
    return;
  switch (member->type)
    {
    case SRV_MEMBER_TITLE:
    case SRV_MEMBER_NAME:
    case SRV_MEMBER_PATH:
    case SRV_MEMBER_TEXT:
    case SRV_MEMBER_ANY_TEXT:
      check_text (self, value, field, member->type);
      break;
    case SRV_MEMBER_BOOLEAN:
      if (type != DBR_JSON_BOOLEAN)
        srv_call_problem (self, field, "is neither true nor false");
      break;
    case SRV_MEMBER_INTEGER:
      check_integer (self, value, field, member);
      break;
    case SRV_MEMBER_WORD:
      check_word (self, value, field, member);
      break;
    case SRV_MEMBER_ARRAY:
      if (type != DBR_JSON_ARRAY)
        srv_call_problem (self, field, "is not a list");
      else if (dbr_json_count (value) > member->max)
        srv_call_problem (self, field, "has more than %" G_GINT64_FORMAT " elements", member->max);
      break;
    case SRV_MEMBER_OBJECT:
      if (type != DBR_JSON_OBJECT)
        srv_call_problem (self, field, "is not an object");
      break;
    }
}

/* ----------------------------------------------------------------------- body */
static const SrvMember *
find_member (const SrvMember *members, guint n_members, DbrJson key)
{
  for (guint i = 0; i < n_members; i++)
    if (dbr_json_string_equals (key, members[i].name))
      return &members[i];
  return NULL;
}

static void
check_member (
    SrvCall *self, DbrJson value, const char *where, const SrvMember *members, guint n_members)
{
  const SrvMember *member = find_member (members, n_members, dbr_json_key (value));
  g_autofree char *key = dbr_json_dup_string (dbr_json_key (value));

  key[MIN (strlen (key), 100)] = '\0';
  g_autofree char *field = join (where, key);
  if (!member)
    srv_call_problem (self, field, "is not known here");
  else
    check_value (self, value, field, member);
}

void
srv_call_check (
    SrvCall *self, DbrJson object, const char *where, const SrvMember *members, guint n_members)
{
  guint count = 0;

  if (dbr_json_exists (object) && dbr_json_type (object) != DBR_JSON_OBJECT)
    {
      srv_call_problem (self, *where ? where : "body", "is not an object");
      return;
    }
  for (DbrJson value = dbr_json_first (object); dbr_json_exists (value) && count <= SRV_MAX_ERRORS;
       value = dbr_json_next (value), count++)
    check_member (self, value, where, members, n_members);
  for (guint i = 0; i < n_members; i++)
    {
      g_autofree char *field = join (where, members[i].name);
      guint times = 0;
      for (DbrJson value = dbr_json_first (object); dbr_json_exists (value) && times < 2;
           value = dbr_json_next (value))
        times += dbr_json_string_equals (dbr_json_key (value), members[i].name);
      if (times > 1)
        srv_call_problem (self, field, "is there more than once");
      if (times == 0 && (members[i].flags & SRV_MEMBER_REQUIRED))
        srv_call_problem (self, field, "is missing");
    }
}

const char *
srv_call_text (SrvCall *self, DbrJson object, const char *name)
{
  char *text = dbr_json_dup_string (dbr_json_get (object, name));

  if (text)
    g_ptr_array_add (self->texts, text);
  return text;
}

gint64
srv_call_integer (DbrJson object, const char *name, gint64 otherwise)
{
  gint64 number;

  return dbr_json_int64 (dbr_json_get (object, name), &number) ? number : otherwise;
}

gint
srv_call_word (
    SrvCall *self, DbrJson object, const char *name, const char *const *words, gint otherwise)
{
  const char *word = srv_call_text (self, object, name);
  gint found = srv_word_find (words, word);

  return found < 0 ? otherwise : found;
}

gboolean
srv_call_has (DbrJson object, const char *name)
{
  return dbr_json_exists (dbr_json_get (object, name));
}

const char *
srv_call_element_text (SrvCall *self, DbrJson element, const char *where, gsize max_bytes)
{
  gsize before = json_array_size (self->errors);

  check_text (self, element, where, SRV_MEMBER_TEXT);
  if (json_array_size (self->errors) > before)
    return NULL;
  char *text = dbr_json_dup_string (element);
  if (!text)
    return NULL;
  g_ptr_array_add (self->texts, text);
  if (strlen (text) <= max_bytes)
    return text;
  srv_call_problem (self, where, "is longer than %" G_GSIZE_FORMAT " bytes", max_bytes);
  return NULL;
}

const char *
srv_call_globs (SrvCall *self, DbrJson array, const char *where)
{
  json_t *list = json_array ();
  guint i = 0;

  for (DbrJson value = dbr_json_first (array); dbr_json_exists (value) && i < SRV_MAX_GLOBS;
       value = dbr_json_next (value), i++)
    {
      g_autofree char *field = g_strdup_printf ("%s[%u]", where, i);
      const char *glob = srv_call_element_text (self, value, field, SRV_MAX_GLOB);
      if (glob && srv_glob_is_valid (glob))
        json_array_append_new (list, json_string (glob));
      else if (glob)
        {
          g_autofree char *quoted = srv_call_quote (glob);
          srv_call_problem (self, field,
                            "%s is not a glob of paths in the repository (no \"..\", no backslash, "
                            "no control character)",
                            quoted);
        }
    }
  char *text = json_array_size (list) ? json_dumps (list, JSON_COMPACT) : NULL;
  json_decref (list);
  if (text)
    g_ptr_array_add (self->texts, text);
  return text;
}

/* ---------------------------------------------------------------------- query */
const char *
srv_call_query (const SrvCall *self, const char *name)
{
  const char *const *query = self->request->query;

  for (guint i = 0; query && query[i] && query[i + 1]; i += 2)
    if (strcmp (query[i], name) == 0)
      return query[i + 1];
  return NULL;
}

void
srv_call_query_known (SrvCall *self, const char *const *known)
{
  const char *const *query = self->request->query;

  for (guint i = 0; query && query[i] && query[i + 1]; i += 2)
    if (srv_word_find (known, query[i]) < 0)
      {
        g_autofree char *field = g_strndup (query[i], 100);
        srv_call_problem (self, field, "is not known here");
      }
}

void
srv_call_query_integer (SrvCall *self, const char *name, gint64 min, gint64 max, gint64 *out)
{
  const char *text = srv_call_query (self, name);

  if (text && !g_ascii_string_to_signed (text, 10, min, max, out, NULL))
    srv_call_problem (self, name,
                      "is not an integer from %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT, min, max);
}

gboolean
srv_call_query_flag (SrvCall *self, const char *name)
{
  const char *text = srv_call_query (self, name);

  if (text && strcmp (text, "true") != 0 && strcmp (text, "false") != 0)
    srv_call_problem (self, name, "is neither true nor false");
  return text && strcmp (text, "true") == 0;
}
