/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-template-parse: from text to parts. Brackets, parentheses and quotes inside of a placeholder
 * belong to its expression: only what stands outside of them separates sources and formats.
 */
#include "config.h"

#include "dbr-template-priv.h"
#include <string.h>

typedef struct
{
  const char *text;
  gsize at;
  guint piece; /* the open one, 0: none */
  guint n_pieces;
  gsize piece_at; /* where the open one began */
  GString *literal;
  DbrTemplate *result;
  GPtrArray *parameters, *roots;
} Reader;

/* ------------------------------------------------------------------------------------- freeing */

static void
free_source (gpointer data)
{
  TemplateSource *source = data;
  g_free (source->text);
  g_clear_pointer (&source->path, dbr_json_path_free);
  g_clear_pointer (&source->formats, g_array_unref);
  g_free (source);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TemplateSource, free_source)

static void
clear_part (gpointer data)
{
  TemplatePart *part = data;
  g_free (part->text);
  g_clear_pointer (&part->sources, g_ptr_array_unref);
}

static void
clear_format (gpointer data)
{
  dbr_format_clear (data);
}

void
dbr_template_free (DbrTemplate *self)
{
  g_free (self->text);
  g_array_unref (self->parts);
  g_strfreev (self->parameters);
  g_strfreev (self->roots);
  g_free (self);
}

/* -------------------------------------------------------------------------------------- names */

void
template_add_name (GPtrArray *names, const char *name)
{
  if (!g_ptr_array_find_with_equal_func (names, name, g_str_equal, NULL))
    g_ptr_array_add (names, g_strdup (name));
}

static gboolean
is_name_char (char c)
{
  return g_ascii_isalnum (c) || c == '_' || ((guint8) c & 0x80);
}

void
template_add_parameters (const char *expression, GPtrArray *names)
{
  static const char prefix[] = "$.args.";
  char quote = 0;
  for (const char *p = expression; *p; p++)
    {
      if (quote)
        {
          if (*p == '\\' && p[1])
            p++;
          else if (*p == quote)
            quote = 0;
        }
      else if (*p == '\'' || *p == '"')
        quote = *p;
      else if (g_str_has_prefix (p, prefix))
        {
          const char *name = p + sizeof prefix - 1;
          gsize n = 0;
          while (is_name_char (name[n]))
            n++;
          g_autofree char *copy = g_strndup (name, n);
          if (n > 0)
            template_add_name (names, copy);
        }
    }
}

static gboolean
is_parameter_name (const char *text)
{
  if (!g_ascii_isalpha (text[0]) && text[0] != '_')
    return FALSE;
  for (const char *p = text; *p; p++)
    if (!g_ascii_isalnum (*p) && *p != '_')
      return FALSE;
  return TRUE;
}

/* Is the expression only member names behind $ or @? */
static void
read_members (TemplateSource *source)
{
  TemplateMembers *members = &source->members;
  const char *p = source->text;
  if (*p != '@' && *p != '$')
    return;
  members->from_current = *p++ == '@';
  while (*p == '.' && members->n_names < G_N_ELEMENTS (members->names))
    {
      const char *name = ++p;
      if (!g_ascii_isalpha (*p) && *p != '_')
        return;
      while (g_ascii_isalnum (*p) || *p == '_')
        p++;
      members->names[members->n_names].name = name;
      members->names[members->n_names++].len = (gsize) (p - name);
    }
  members->is_simple = *p == 0;
}

/* --------------------------------------------------------------------------------- placeholders */

static guint
column (const Reader *reader, gsize at)
{
  return (guint) g_utf8_strlen (reader->text, (gssize) at) + 1;
}

/* The end of the stretch at @from that ends, outside of brackets and quotes, at one of @ends or at
 * "??". */
static gsize
stretch_end (const char *text, gsize from, const char *ends)
{
  guint depth = 0;
  char quote = 0;
  gsize i = from;
  for (; text[i]; i++)
    {
      char c = text[i];
      if (quote)
        {
          if (c == '\\' && text[i + 1])
            i++;
          else if (c == quote)
            quote = 0;
        }
      else if (c == '\'' || c == '"')
        quote = c;
      else if (c == '[' || c == '(')
        depth++;
      else if ((c == ']' || c == ')') && depth > 0)
        depth--;
      else if (depth == 0 && (strchr (ends, c) || (c == '?' && text[i + 1] == '?')))
        return i;
    }
  return i;
}

/* A format's argument is text ("yes:it's/no"): no brackets or quotes are counted there. */
static gsize
format_end (const char *text, gsize from)
{
  gsize i = from;
  while (text[i] && text[i] != '|' && text[i] != '}' && !(text[i] == '?' && text[i + 1] == '?'))
    i++;
  return i;
}

static char *
read_literal (const char *text)
{
  g_autoptr (GString) out = g_string_new (NULL);
  for (const char *p = text + 1; p[0] && p[1]; p++)
    {
      if (p[0] == '\\' && p[2])
        p++;
      g_string_append_c (out, *p);
    }
  return g_string_free (g_steal_pointer (&out), FALSE);
}

static gboolean
not_closed (const Reader *reader, gsize brace, GError **error)
{
  g_set_error (error, DBR_TEMPLATE_ERROR, DBR_TEMPLATE_ERROR_SYNTAX,
               "column %u: this { isn't closed; write a } behind the name or path (a brace in the "
               "text is written {{)",
               column (reader, brace));
  return FALSE;
}

static gboolean
compile_source (Reader *reader, TemplateSource *source, gsize at, GError **error)
{
  gsize len = strlen (source->text);
  if (source->text[0] == '\'' && len >= 2 && source->text[len - 1] == '\'')
    {
      g_autofree char *quoted = g_steal_pointer (&source->text);
      source->text = read_literal (quoted);
      return TRUE;
    }
  if (is_parameter_name (source->text))
    {
      g_autofree char *name = g_steal_pointer (&source->text);
      source->text = g_strconcat ("$.args.", name, NULL);
    }
  g_autoptr (GError) local = NULL;
  /* The } that was found is another placeholder's. */
  if (source->text[stretch_end (source->text, 0, "{")] == '{')
    {
      while (at > 0 && reader->text[at] != '{')
        at--;
      return not_closed (reader, at, error);
    }
  source->path
      = dbr_json_path_new (source->text, DBR_JSON_PATH_RELATIVE | DBR_JSON_PATH_VALUE, &local);
  if (!source->path)
    {
      g_set_error (error, DBR_TEMPLATE_ERROR, DBR_TEMPLATE_ERROR_SYNTAX, "column %u: {%s}: %s",
                   column (reader, at), source->text, local->message);
      return FALSE;
    }
  source->is_function = source->text[0] != '$' && source->text[0] != '@';
  read_members (source);
  template_add_parameters (source->text, reader->parameters);
  const char *const *roots = dbr_json_path_roots (source->path);
  for (guint i = 0; roots && roots[i]; i++)
    template_add_name (reader->roots, roots[i]);
  return TRUE;
}

static gboolean
read_formats (Reader *reader, TemplateSource *source, GError **error)
{
  while (reader->text[reader->at] == '|')
    {
      gsize from = ++reader->at;
      reader->at = format_end (reader->text, from);
      /* A space before ?? isn't part of an argument. */
      gsize len = reader->at - from;
      while (len > 0 && reader->text[reader->at] == '?' && reader->text[from + len - 1] == ' ')
        len--;
      DbrFormat format;
      g_autofree char *message = NULL;
      gboolean is_good = dbr_format_init (&format, reader->text + from, len, &message);
      if (!source->formats)
        {
          source->formats = g_array_new (FALSE, FALSE, sizeof (DbrFormat));
          g_array_set_clear_func (source->formats, clear_format);
        }
      g_array_append_val (source->formats, format);
      if (!is_good)
        {
          g_set_error (error, DBR_TEMPLATE_ERROR, DBR_TEMPLATE_ERROR_FORMAT, "column %u: %s",
                       column (reader, from), message);
          return FALSE;
        }
    }
  return TRUE;
}

static gboolean
read_source (Reader *reader, GPtrArray *sources, GError **error)
{
  gsize from = reader->at;
  gsize end = stretch_end (reader->text, from, "|}");
  g_autoptr (TemplateSource) source = g_new0 (TemplateSource, 1);
  source->text = g_strstrip (g_strndup (reader->text + from, end - from));
  reader->at = end;
  if (source->text[0] == 0)
    {
      g_set_error (error, DBR_TEMPLATE_ERROR, DBR_TEMPLATE_ERROR_SYNTAX,
                   "column %u: expected a name, a path or a 'text' here", column (reader, from));
      return FALSE;
    }
  if (!compile_source (reader, source, from, error) || !read_formats (reader, source, error))
    return FALSE;
  g_ptr_array_add (sources, g_steal_pointer (&source));
  return TRUE;
}

/* The formats behind the last source are those of every query before it that has none of its own.
 */
static void
share_formats (GPtrArray *sources)
{
  TemplateSource *last = g_ptr_array_index (sources, sources->len - 1);
  for (guint i = 0; last->formats && i + 1 < sources->len; i++)
    {
      TemplateSource *source = g_ptr_array_index (sources, i);
      if (!source->formats)
        source->formats = g_array_ref (last->formats);
    }
}

static void
flush_literal (Reader *reader)
{
  if (reader->literal->len == 0)
    return;
  TemplatePart part = { .text = g_strndup (reader->literal->str, reader->literal->len),
                        .len = reader->literal->len,
                        .piece = reader->piece };
  g_array_append_val (reader->result->parts, part);
  g_string_truncate (reader->literal, 0);
}

static gboolean
read_placeholder (Reader *reader, GError **error)
{
  gsize from = reader->at++;
  g_autoptr (GPtrArray) sources = g_ptr_array_new_with_free_func (free_source);
  for (;;)
    {
      if (!read_source (reader, sources, error))
        return FALSE;
      if (reader->text[reader->at] != '?')
        break;
      reader->at += 2;
    }
  if (reader->text[reader->at] != '}')
    return not_closed (reader, from, error);
  share_formats (sources);
  flush_literal (reader);
  TemplatePart part = { .text = g_strndup (reader->text + from + 1, reader->at - from - 1),
                        .len = reader->at - from - 1,
                        .piece = reader->piece,
                        .sources = g_steal_pointer (&sources) };
  g_array_append_val (reader->result->parts, part);
  reader->at++;
  return TRUE;
}

/* ------------------------------------------------------------------------------------ the whole */

static gboolean
refuse (const Reader *reader, gsize at, const char *message, GError **error)
{
  g_set_error (error, DBR_TEMPLATE_ERROR, DBR_TEMPLATE_ERROR_SYNTAX, "column %u: %s",
               column (reader, at), message);
  return FALSE;
}

static gboolean
open_piece (Reader *reader, GError **error)
{
  if (reader->piece)
    return refuse (reader, reader->at,
                   "pieces in [ ] don't nest; a bracket in the text is written [[", error);
  flush_literal (reader);
  reader->piece_at = reader->at++;
  reader->piece = ++reader->n_pieces;
  return TRUE;
}

static gboolean
close_piece (Reader *reader, GError **error)
{
  if (!reader->piece)
    return refuse (reader, reader->at, "this ] closes nothing; a bracket in the text is written ]]",
                   error);
  flush_literal (reader);
  gboolean has_placeholder = FALSE;
  for (guint i = 0; i < reader->result->parts->len; i++)
    {
      const TemplatePart *part = &g_array_index (reader->result->parts, TemplatePart, i);
      has_placeholder |= part->piece == reader->piece && part->sources;
    }
  if (!has_placeholder)
    return refuse (
        reader, reader->piece_at,
        "a piece in [ ] without a placeholder; brackets in the text are written [[ and ]]", error);
  reader->piece = 0;
  reader->at++;
  return TRUE;
}

static gboolean
read_next (Reader *reader, GError **error)
{
  char c = reader->text[reader->at];
  /* "]]" closes a literal bracket; three of them are that and the end of the piece. */
  if (strchr ("{}[]", c) && reader->text[reader->at + 1] == c)
    {
      g_string_append_c (reader->literal, c);
      reader->at += 2;
      return TRUE;
    }
  switch (c)
    {
    case '{':
      return read_placeholder (reader, error);
    case '[':
      return open_piece (reader, error);
    case ']':
      return close_piece (reader, error);
    case '}':
      return refuse (reader, reader->at, "this } closes nothing; a brace in the text is written }}",
                     error);
    default:
      g_string_append_c (reader->literal, c);
      reader->at++;
      return TRUE;
    }
}

static char **
take_names (GPtrArray *names)
{
  g_ptr_array_add (names, NULL);
  return (char **) g_ptr_array_steal (names, NULL);
}

DbrTemplate *
dbr_template_new (const char *text, GError **error)
{
  g_autoptr (DbrTemplate) self = g_new0 (DbrTemplate, 1);
  self->text = g_strdup (text);
  self->parts = g_array_new (FALSE, TRUE, sizeof (TemplatePart));
  g_array_set_clear_func (self->parts, clear_part);
  g_autoptr (GString) literal = g_string_new (NULL);
  g_autoptr (GPtrArray) parameters = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GPtrArray) roots = g_ptr_array_new_with_free_func (g_free);
  Reader reader = {
    .text = self->text, .literal = literal, .result = self, .parameters = parameters, .roots = roots
  };
  if (strlen (text) > DBR_TEMPLATE_MAX_TEXT || !g_utf8_validate (text, -1, NULL))
    {
      g_set_error (error, DBR_TEMPLATE_ERROR, DBR_TEMPLATE_ERROR_SYNTAX,
                   "column 1: a template is UTF-8 of at most %u bytes", DBR_TEMPLATE_MAX_TEXT);
      return NULL;
    }
  while (text[reader.at])
    if (!read_next (&reader, error))
      return NULL;
  if (reader.piece)
    {
      refuse (&reader, reader.piece_at,
              "this [ is never closed; a bracket in the text is written [[", error);
      return NULL;
    }
  flush_literal (&reader);
  self->is_literal
      = self->parts->len == 0
        || (self->parts->len == 1 && !g_array_index (self->parts, TemplatePart, 0).sources);
  self->parameters = take_names (parameters);
  self->roots = take_names (roots);
  return g_steal_pointer (&self);
}
