/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-preset-check: what is wrong with a foreman before it is ever started: every fault, by its field.
 */
#include "config.h"

#include "srv-preset-priv.h"

#include "dbr-nearest.h"

#include <string.h>

static void G_GNUC_PRINTF (3, 4) add (GPtrArray *out, const char *field, const char *format, ...)
{
  va_list list;

  va_start (list, format);
  char *problem = g_strdup_vprintf (format, list);
  va_end (list);
  g_ptr_array_add (out, g_strdup (field));
  g_ptr_array_add (out, problem);
}

static void
check_preset (const char *name, GPtrArray *out)
{
  if (!name || g_strv_contains (srv_preset_names (), name))
    return;
  g_autofree char *known = srv_preset_list_words (srv_preset_names (), "", "");
  const char *nearest = dbr_nearest (name, srv_preset_names ());
  add (out, "preset", "\"%s\" is not known: there are %s%s%s%s", name, known,
       nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
}

static void
check_placeholder (const char *name, gboolean has_model, const char *field, GPtrArray *out)
{
  if (strcmp (name, "token") == 0)
    add (out, field, "has {token}, which can't stand in a command: everybody sees its words");
  else if (strcmp (name, "model") == 0 && !has_model)
    add (out, field, "has {model}, but no model is set");
  else if (!g_strv_contains (srv_preset_placeholders, name))
    {
      g_autofree char *known = srv_preset_list_words (srv_preset_placeholders, "{", "}");
      const char *nearest = dbr_nearest (name, srv_preset_placeholders);
      add (out, field, "has {%.80s}, which is no placeholder: there are %s%s%s%s", name, known,
           nearest ? "; did you mean {" : "", nearest ? nearest : "", nearest ? "}?" : "");
    }
}

static void
check_word (const char *word, gboolean has_model, const char *field, GPtrArray *out)
{
  for (const char *at = word; *at != '\0';)
    {
      gsize length = srv_preset_placeholder_length (at);
      g_autofree char *name = length > 0 ? g_strndup (at + 1, length - 2) : NULL;
      if (name)
        check_placeholder (name, has_model, field, out);
      at += MAX (length, 1);
    }
}

static void
check_command (const json_t *foreman, GPtrArray *out)
{
  const json_t *words = json_object_get (foreman, "command");
  gboolean has_model = json_is_string (json_object_get (foreman, "model"));

  for (size_t i = 0; i < json_array_size (words); i++)
    {
      const char *word = json_string_value (json_array_get (words, i));
      g_autofree char *field = g_strdup_printf ("command[%zu]", i);
      if (word)
        check_word (word, has_model, field, out);
    }
}

static gboolean
is_variable (const char *name)
{
  if (!g_ascii_isalpha (*name) && *name != '_')
    return FALSE;
  while (g_ascii_isalnum (*name) || *name == '_')
    name++;
  return *name == '\0';
}

static void
check_environment (const json_t *foreman, GPtrArray *out)
{
  const json_t *names = json_object_get (foreman, "environment");

  for (size_t i = 0; i < json_array_size (names); i++)
    {
      const char *name = json_string_value (json_array_get (names, i));
      g_autofree char *field = g_strdup_printf ("environment[%zu]", i);
      if (name && !is_variable (name))
        add (out, field,
             "is not the name of a variable: letters, digits and _; its value comes from the "
             "engine's environment");
      else if (name && !srv_preset_may_pass (name))
        add (out, field,
             "is the engine's own, or changes how programs are loaded: it is never "
             "handed on");
    }
}

GPtrArray *
srv_preset_problems (const json_t *foreman)
{
  GPtrArray *out = g_ptr_array_new_with_free_func (g_free);

  check_preset (json_string_value (json_object_get (foreman, "preset")), out);
  check_command (foreman, out);
  check_environment (foreman, out);
  return out;
}
