/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-preset: data in, words and bytes out. Rendering is pure, so that its results can be compared byte for byte;
 * writing is apart.
 */
#include "config.h"

#include "srv-preset.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

G_DEFINE_QUARK (srv_preset_error, srv_preset_error)

#define RESOURCES "/drawbridge/presets/"

/* Made by glib-compile-resources of presets/. */
GResource *
srv_presets_get_resource (void);
void
srv_presets_register_resource (void);

/* claude.json is "claude"; "command" is what any command gets and no name to choose. */
static const char *const names[] = { "claude", "codex", "gemini", "opencode", NULL };
static const char *const common[]
    = { "PATH",        "HOME",       "USER",          "LOGNAME",      "SHELL",
        "LANG",        "LANGUAGE",   "LC_ALL",        "LC_CTYPE",     "LC_MESSAGES",
        "TZ",          "HTTP_PROXY", "HTTPS_PROXY",   "NO_PROXY",     "http_proxy",
        "https_proxy", "no_proxy",   "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
        NULL };

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

const char *const *
srv_preset_names (void)
{
  return names;
}

const char *const *
srv_preset_common_environment (void)
{
  return common;
}

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
  const struct
  {
    const char *name;
    const char *value;
  } known[] = {
    { "prompt", self->prompt },   { "config", self->config_path }, { "folder", values->folder },
    { "name", values->name },     { "repo", values->repo },        { "checkout", values->checkout },
    { "socket", values->socket }, { "bridge", values->bridge },    { "model", self->model },
    { "home", values->home },
  };
  if (strcmp (name, "project") == 0)
    return g_strdup_printf ("%" G_GINT64_FORMAT, values->project);
  if (strcmp (name, "token") == 0)
    return (flags & EXPAND_SECRET) != 0 ? g_strdup (values->token) : NULL;
  for (gsize i = 0; i < G_N_ELEMENTS (known); i++)
    if (strcmp (name, known[i].name) == 0)
      return g_strdup (known[i].value);
  return NULL;
}

gsize
srv_preset_placeholder_length (const char *text)
{
  gsize i = 1;
  if (text[0] != '{')
    return 0;
  while (g_ascii_islower (text[i]) || text[i] == '_')
    i++;
  return i > 1 && text[i] == '}' ? i + 1 : 0;
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
        return invalid (error, "a command is a list of at most 256 words");
      char *expanded = expand (self, word, EXPAND_PLAIN, error);
      if (expanded == NULL)
        return FALSE;
      g_ptr_array_add (out, expanded);
    }
  return TRUE;
}

gboolean
srv_preset_may_pass (const char *name)
{
  return !g_str_has_prefix (name, "BRIGADA_") && !g_str_has_prefix (name, "LD_")
         && strchr (name, '=') == NULL && *name != '\0';
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
  if (!pass_on (common, json_object_get (preset, "environment"), out, error)
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
static char *
resource_text (const char *name)
{
  static gsize registered = 0;
  if (g_once_init_enter (&registered))
    {
      srv_presets_register_resource ();
      g_once_init_leave (&registered, 1);
    }
  g_autofree char *path = g_strconcat (RESOURCES, name, NULL);
  g_autoptr (GBytes) bytes = g_resource_lookup_data (srv_presets_get_resource (), path,
                                                     G_RESOURCE_LOOKUP_FLAGS_NONE, NULL);
  g_assert (bytes != NULL); /* compiled in */
  gsize length;
  const char *data = g_bytes_get_data (bytes, &length);
  return g_strndup (data, length);
}

static json_t *
load_preset (const char *name, GError **error)
{
  if (!g_strv_contains (names, name) && strcmp (name, "command") != 0)
    {
      g_set_error (
          error, SRV_PRESET_ERROR, SRV_PRESET_ERROR_UNKNOWN,
          "there is no preset %.80s: there are claude, codex, gemini and opencode, or give "
          "the command itself",
          name);
      return NULL;
    }
  g_autofree char *file = g_strconcat (name, ".json", NULL);
  g_autofree char *text = resource_text (file);
  json_t *preset = json_loads (text, 0, NULL);
  g_assert (preset != NULL);
  return preset;
}

char *
srv_preset_program (const json_t *foreman)
{
  const char *name = json_string_value (json_object_get (foreman, "preset"));
  const json_t *own = json_object_get (foreman, "command");
  if (own != NULL || name == NULL)
    return g_strdup (json_string_value (json_array_get (own, 0)));
  json_auto_t *preset = load_preset (name, NULL);
  return g_strdup (json_string_value (json_array_get (json_object_get (preset, "command"), 0)));
}

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
  json_auto_t *preset = load_preset (name != NULL ? name : "command", error);
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
      g_autofree char *template = resource_text ("prompt.txt");
      self.prompt = expand (&self, g_strchomp (template), EXPAND_PLAIN, error);
    }
  if (self.prompt == NULL)
    return NULL;
  g_autoptr (SrvPreset) out = g_new0 (SrvPreset, 1);
  return render_all (&self, preset, foreman, out, error) ? g_steal_pointer (&out) : NULL;
}

void
srv_preset_free (SrvPreset *self)
{
  if (self == NULL)
    return;
  g_strfreev (self->command);
  g_strfreev (self->environment);
  g_free (self->file);
  g_free (self->config);
  g_strfreev (self->links);
  g_strfreev (self->writable);
  g_free (self);
}

/* ------------------------------------------------------------------------------------- files */
static gboolean
can_not (GError **error, const char *what, const char *path)
{
  g_set_error (error, SRV_PRESET_ERROR, SRV_PRESET_ERROR_FOLDER, "can't %s %s: %s", what, path,
               g_strerror (errno));
  return FALSE;
}

static gboolean
make_parent (const char *path, GError **error)
{
  g_autofree char *parent = g_path_get_dirname (path);
  return g_mkdir_with_parents (parent, 0700) == 0 || can_not (error, "make", parent);
}

static gboolean
write_file (const char *path, const char *text, GError **error)
{
  gsize length = strlen (text);
  int fd = g_open (path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0)
    return can_not (error, "make", path);
  gsize done = 0;
  while (done < length)
    {
      ssize_t got = write (fd, text + done, length - done);
      if (got < 0 && errno != EINTR)
        break;
      done += got > 0 ? (gsize) got : 0;
    }
  if (close (fd) != 0 || done < length)
    return can_not (error, "write", path);
  return TRUE;
}

gboolean
srv_preset_write (const SrvPreset *self, const char *folder, GError **error)
{
  g_autofree char *path = g_build_filename (folder, self->file, NULL);
  if (!make_parent (path, error) || !write_file (path, self->config, error))
    return FALSE;
  for (gsize i = 0; self->links[i] != NULL; i += 2)
    {
      g_autofree char *link = g_build_filename (folder, self->links[i], NULL);
      if (!g_file_test (self->links[i + 1], G_FILE_TEST_EXISTS))
        continue;
      if (!make_parent (link, error))
        return FALSE;
      if (symlink (self->links[i + 1], link) != 0)
        return can_not (error, "link", link);
    }
  return TRUE;
}
