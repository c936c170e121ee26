/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-preset: presets as data: which there are, their files that are compiled in, what they may hand on; and the files of
 * one that was rendered.
 */
#include "config.h"

#include "srv-preset-priv.h"

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

#define WORD(name) #name,
const char *const srv_preset_placeholders[] = { SRV_PRESET_PLACEHOLDERS (WORD) NULL };
#undef WORD

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

gboolean
srv_preset_may_pass (const char *name)
{
  return !g_str_has_prefix (name, "BRIGADA_") && !g_str_has_prefix (name, "LD_")
         && strchr (name, '=') == NULL && *name != '\0';
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

char *
srv_preset_list_words (const char *const *words, const char *before, const char *after)
{
  GString *out = g_string_new (NULL);
  for (gsize i = 0; words[i] != NULL; i++)
    g_string_append_printf (out, "%s%s%s%s",
                            i == 0                 ? ""
                            : words[i + 1] != NULL ? ", "
                                                   : " and ",
                            before, words[i], after);
  return g_string_free (out, FALSE);
}

/* -------------------------------------------------------------------------------- compiled in */
char *
srv_preset_resource (const char *name)
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

json_t *
srv_preset_load (const char *name, GError **error)
{
  if (!g_strv_contains (names, name) && strcmp (name, "command") != 0)
    {
      g_autofree char *known = srv_preset_list_words (names, "", "");
      g_set_error (error, SRV_PRESET_ERROR, SRV_PRESET_ERROR_UNKNOWN,
                   "there is no preset %.80s: there are %s, or give the command itself", name,
                   known);
      return NULL;
    }
  g_autofree char *file = g_strconcat (name, ".json", NULL);
  g_autofree char *text = srv_preset_resource (file);
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
  json_auto_t *preset = srv_preset_load (name, NULL);
  return g_strdup (json_string_value (json_array_get (json_object_get (preset, "command"), 0)));
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
