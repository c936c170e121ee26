/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-preset-render: a preset and what placeholders stand for in, words, variables and a configuration file out. Pure but
 * for the variables that are passed on, so that its results can be compared byte for byte.
 */
#include "config.h"

#include "srv-preset-priv.h"

#include <string.h>

typedef struct
{
  const SrvPresetValues *values;
  const char *model;
  char *config_path;
  char *prompt; /* expanded */
} Render;

static void
render_clear (Render *self)
{
  g_free (self->config_path);
  g_free (self->prompt);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Render, render_clear)

typedef enum
{
  EXPAND_PLAIN,           /* a word: no token */
  EXPAND_SECRET = 1 << 0, /* {token} allowed */
  EXPAND_QUOTED = 1 << 1, /* placeholders become JSON strings, which TOML reads too */
} ExpandFlags;

static gboolean G_GNUC_PRINTF (2, 3) invalid (GError **error, const char *format, ...)
{
  va_list list;
  va_start (list, format);
  g_autofree char *text = g_strdup_vprintf (format, list);
  va_end (list);
  g_set_error_literal (error, SRV_PRESET_ERROR, SRV_PRESET_ERROR_INVALID, text);
  return FALSE;
}

/* ------------------------------------------------------------- what the bridge is started with */
static json_t *
bridge_arguments (const Render *self)
{
  return json_pack ("[sss]", "mcp", "--socket", self->values->socket);
}

static json_t *
bridge_variables (const Render *self, gboolean with_token)
{
  json_t *all = json_object ();
  if (with_token)
    json_object_set_new (all, "BRIGADA_TOKEN", json_string (self->values->token));
  json_object_set_new (all, "BRIGADA_ALLOW_WRITES", json_string ("1"));
  return all;
}

/* ------------------------------------------------------------------------------ placeholders */
static char *
quote (const char *text)
{
  json_auto_t *value = json_string (text);
  return value != NULL ? json_dumps (value, JSON_ENCODE_ANY) : g_strdup ("\"\"");
}

static char *
look_up (const Render *self, const char *name, ExpandFlags flags)
{
  const SrvPresetValues *values = self->values;
  gsize which = 0;
  if (strcmp (name, "token") == 0)
    return (flags & EXPAND_SECRET) != 0 ? g_strdup (values->token) : NULL;
  while (srv_preset_placeholders[which] != NULL
         && strcmp (srv_preset_placeholders[which], name) != 0)
    which++;
  switch ((SrvPresetPlaceholder) which)
    {
    case SRV_PRESET_PLACEHOLDER_prompt:
      return g_strdup (self->prompt);
    case SRV_PRESET_PLACEHOLDER_config:
      return g_strdup (self->config_path);
    case SRV_PRESET_PLACEHOLDER_folder:
      return g_strdup (values->folder);
    case SRV_PRESET_PLACEHOLDER_project:
      return g_strdup_printf ("%" G_GINT64_FORMAT, values->project);
    case SRV_PRESET_PLACEHOLDER_name:
      return g_strdup (values->name);
    case SRV_PRESET_PLACEHOLDER_repo:
      return g_strdup (values->repo);
    case SRV_PRESET_PLACEHOLDER_checkout:
      return g_strdup (values->checkout);
    case SRV_PRESET_PLACEHOLDER_socket:
      return g_strdup (values->socket);
    case SRV_PRESET_PLACEHOLDER_bridge:
      return g_strdup (values->bridge);
    case SRV_PRESET_PLACEHOLDER_model:
      return g_strdup (self->model);
    case SRV_PRESET_PLACEHOLDER_home:
      return g_strdup (values->home);
    case SRV_PRESET_N_PLACEHOLDERS:
      break;
    }
  return NULL;
}

static gboolean
expand_one (const Render *self, const char *name, ExpandFlags flags, GString *out, GError **error)
{
  if ((flags & EXPAND_QUOTED) != 0 && strcmp (name, "arguments") == 0)
    {
      json_auto_t *list = bridge_arguments (self);
      g_autofree char *text = json_dumps (list, 0);
      g_string_append (out, text);
      return TRUE;
    }
  g_autofree char *value = look_up (self, name, flags);
  if (value == NULL && strcmp (name, "token") == 0)
    return invalid (error, "{%.40s} can't stand in a word of a command: everybody sees those",
                    name);
  if (value == NULL)
    return invalid (error, "{%.40s} is no placeholder, or has no value here", name);
  if ((flags & EXPAND_QUOTED) == 0)
    g_string_append (out, value);
  else
    {
      g_autofree char *quoted = quote (value);
      g_string_append (out, quoted);
    }
  return TRUE;
}

static char *
expand (const Render *self, const char *text, ExpandFlags flags, GError **error)
{
  g_autoptr (GString) out = g_string_new (NULL);
  for (const char *at = text; *at != '\0';)
    {
      gsize length = srv_preset_placeholder_length (at);
      if (length == 0)
        {
          g_string_append_c (out, *at++);
          continue;
        }
      g_autofree char *name = g_strndup (at + 1, length - 2);
      if (!expand_one (self, name, flags, out, error))
        return NULL;
      at += length;
    }
  return g_string_free (g_steal_pointer (&out), FALSE);
}

/* ----------------------------------------------------------------------------- configuration */
static json_t *
expand_json (const Render *self, json_t *value, GError **error);

static json_t *
expand_json_string (const Render *self, const char *text, GError **error)
{
  if (strcmp (text, "{arguments}") == 0)
    return bridge_arguments (self);
  if (strcmp (text, "{variables}") == 0)
    return bridge_variables (self, TRUE);
  if (strcmp (text, "{command}") == 0)
    {
      json_t *words = bridge_arguments (self);
      json_array_insert_new (words, 0, json_string (self->values->bridge));
      return words;
    }
  g_autofree char *expanded = expand (self, text, EXPAND_SECRET, error);
  return expanded != NULL ? json_string (expanded) : NULL;
}

static json_t *
expand_json_object (const Render *self, json_t *value, GError **error)
{
  json_auto_t *copy = json_object ();
  const char *key;
  json_t *member;
  json_object_foreach (value, key, member)
  {
    json_t *expanded = expand_json (self, member, error);
    if (expanded == NULL)
      return NULL;
    json_object_set_new (copy, key, expanded);
  }
  return g_steal_pointer (&copy);
}

/* Presets are ours and flat: the depth is theirs. */
static json_t *
expand_json (const Render *self, json_t *value, GError **error)
{
  if (json_is_string (value))
    return expand_json_string (self, json_string_value (value), error);
  if (json_is_object (value))
    return expand_json_object (self, value, error);
  if (!json_is_array (value))
    return json_deep_copy (value);
  json_auto_t *copy = json_array ();
  for (size_t i = 0; i < json_array_size (value); i++)
    {
      json_t *expanded = expand_json (self, json_array_get (value, i), error);
      if (expanded == NULL)
        return NULL;
      json_array_append_new (copy, expanded);
    }
  return g_steal_pointer (&copy);
}

static char *
expand_lines (const Render *self, const json_t *lines, GError **error)
{
  g_autoptr (GString) out = g_string_new (NULL);
  for (size_t i = 0; i < json_array_size (lines); i++)
    {
      const char *line = json_string_value (json_array_get (lines, i));
      if (strcmp (line, "{variables_without_token}") == 0)
        {
          json_auto_t *all = bridge_variables (self, FALSE);
          const char *name;
          json_t *value;
          json_object_foreach (all, name, value)
          {
            g_autofree char *quoted = quote (json_string_value (value));
            g_string_append_printf (out, "%s = %s\n", name, quoted);
          }
          continue;
        }
      g_autofree char *expanded = expand (self, line, EXPAND_QUOTED | EXPAND_SECRET, error);
      if (expanded == NULL)
        return NULL;
      g_string_append_printf (out, "%s\n", expanded);
    }
  return g_string_free (g_steal_pointer (&out), FALSE);
}

static char *
render_config (const Render *self, json_t *config, GError **error)
{
  if (json_is_array (config))
    return expand_lines (self, config, error);
  json_auto_t *value = expand_json (self, config, error);
  if (value == NULL)
    return NULL;
  g_autofree char *text = json_dumps (value, JSON_INDENT (2));
  return text != NULL ? g_strconcat (text, "\n", NULL) : NULL;
}

/* ------------------------------------------------------------------------ words and variables */
static gboolean
add_words (const Render *self, const json_t *words, GPtrArray *out, GError **error)
{
  for (size_t i = 0; i < json_array_size (words); i++)
    {
      const char *word = json_string_value (json_array_get (words, i));
      if (word == NULL || out->len >= SRV_PRESET_MAX_WORDS)
        return invalid (error, "a command is a list of at most %u words", SRV_PRESET_MAX_WORDS);
      char *expanded = expand (self, word, EXPAND_PLAIN, error);
      if (expanded == NULL)
        return FALSE;
      g_ptr_array_add (out, expanded);
    }
  return TRUE;
}

static gboolean
pass_on (const char *const *list, const json_t *more, GPtrArray *out, GError **error)
{
  for (gsize i = 0; list != NULL && list[i] != NULL; i++)
    {
      const char *value = g_getenv (list[i]);
      if (value != NULL)
        g_ptr_array_add (out, g_strdup_printf ("%s=%s", list[i], value));
    }
  for (size_t i = 0; i < json_array_size (more); i++)
    {
      const char *name = json_string_value (json_array_get (more, i));
      if (name == NULL || !srv_preset_may_pass (name))
        return invalid (error, "the variable %.80s can't be passed on",
                        name != NULL ? name : "(no text)");
      const char *value = g_getenv (name);
      if (value != NULL)
        g_ptr_array_add (out, g_strdup_printf ("%s=%s", name, value));
    }
  return TRUE;
}

static gboolean
render_environment (
    const Render *self, const json_t *preset, const json_t *foreman, GPtrArray *out, GError **error)
{
  const char *name;
  json_t *value;
  if (!pass_on (srv_preset_common_environment (), json_object_get (preset, "environment"), out,
                error)
      || !pass_on (NULL, json_object_get (foreman, "environment"), out, error))
    return FALSE;
  json_object_foreach (json_object_get (preset, "set"), name, value)
  {
    g_autofree char *expanded = expand (self, json_string_value (value), EXPAND_SECRET, error);
    if (expanded == NULL)
      return FALSE;
    g_ptr_array_add (out, g_strdup_printf ("%s=%s", name, expanded));
  }
  return TRUE;
}

/* ------------------------------------------------------------------------------------ render */
static char **
finish (GPtrArray *list)
{
  g_ptr_array_add (list, NULL);
  g_ptr_array_set_free_func (list, NULL);
  return (char **) g_ptr_array_free (list, FALSE);
}

static char **
render_paths (const Render *self, const json_t *preset, const char *member)
{
  GPtrArray *out = g_ptr_array_new ();
  json_t *value = json_object_get (preset, member);
  for (size_t i = 0; i < json_array_size (value); i++)
    g_ptr_array_add (out, g_strdup (json_string_value (json_array_get (value, i))));
  for (void *at = json_object_iter (value); at != NULL; at = json_object_iter_next (value, at))
    {
      const char *path = json_string_value (json_object_iter_value (at));
      g_ptr_array_add (out, g_strdup (json_object_iter_key (at)));
      g_ptr_array_add (out, path[0] == '~' ? g_strconcat (self->values->home, path + 1, NULL)
                                           : g_strdup (path));
    }
  return finish (out);
}

static gboolean
render_all (
    Render *self, const json_t *preset, const json_t *foreman, SrvPreset *out, GError **error)
{
  g_autoptr (GPtrArray) words = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GPtrArray) variables = g_ptr_array_new_with_free_func (g_free);
  const json_t *own = json_object_get (foreman, "command");
  if (!add_words (self, own != NULL ? own : json_object_get (preset, "command"), words, error))
    return FALSE;
  if (words->len == 0 || *(char *) words->pdata[0] == '\0')
    return invalid (error, "the foreman's command is empty");
  if (own == NULL && self->model != NULL
      && !add_words (self, json_object_get (preset, "model"), words, error))
    return FALSE;
  if (!render_environment (self, preset, foreman, variables, error))
    return FALSE;
  out->config = render_config (self, json_object_get (preset, "config"), error);
  if (out->config == NULL)
    return FALSE;
  out->command = finish (g_steal_pointer (&words));
  out->environment = finish (g_steal_pointer (&variables));
  out->file = g_strdup (json_string_value (json_object_get (preset, "file")));
  out->links = render_paths (self, preset, "links");
  out->writable = render_paths (self, preset, "writable");
  return TRUE;
}

SrvPreset *
srv_preset_render (const json_t *foreman, const SrvPresetValues *values, GError **error)
{
  const char *name = json_string_value (json_object_get (foreman, "preset"));
  if (name == NULL && !json_is_array (json_object_get (foreman, "command")))
    {
      invalid (error, "a foreman is {\"preset\": name} or {\"command\": [words]}");
      return NULL;
    }
  json_auto_t *preset = srv_preset_load (name != NULL ? name : "command", error);
  if (preset == NULL)
    return NULL;
  g_auto (Render) self = {
    .values = values,
    .model = json_string_value (json_object_get (foreman, "model")),
    .config_path
    = g_build_filename (values->folder, json_string_value (json_object_get (preset, "file")), NULL),
  };
  if (values->prompt != NULL)
    self.prompt = g_strdup (values->prompt);
  else
    {
      g_autofree char *template = srv_preset_resource ("prompt.txt");
      self.prompt = expand (&self, g_strchomp (template), EXPAND_PLAIN, error);
    }
  if (self.prompt == NULL)
    return NULL;
  g_autoptr (SrvPreset) out = g_new0 (SrvPreset, 1);
  return render_all (&self, preset, foreman, out, error) ? g_steal_pointer (&out) : NULL;
}
