/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-checkout: paths are compared as the kernel gives them, and folders by device and inode too: a mount may show the same
 * one at another path.
 */
#include "config.h"

#include "srv-checkout.h"

#include "dbr-place.h"
#include "srv-look.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OWN_FOLDER "give the project a folder of its own"

char *
srv_checkout_resolve (const char *path)
{
  g_autofree char *absolute = g_canonicalize_filename (path, NULL);
  char *real = realpath (absolute, NULL);
  if (real != NULL || strcmp (absolute, "/") == 0)
    {
      char *copy = g_strdup (real != NULL ? real : absolute);
      free (real);
      return copy;
    }
  g_autofree char *above = g_path_get_dirname (absolute);
  g_autofree char *name = g_path_get_basename (absolute);
  g_autofree char *real_above = srv_checkout_resolve (above);
  return g_build_filename (real_above, name, NULL);
}

gboolean
srv_checkout_is_within (const char *path, const char *folder)
{
  gsize length = strlen (folder);
  if (strcmp (folder, "/") == 0)
    return TRUE;
  return strncmp (path, folder, length) == 0 && (path[length] == '\0' || path[length] == '/');
}

char **
srv_checkout_states (const char *const *more)
{
  g_autofree char *state = dbr_place_state ();
  g_autofree char *folder = g_path_get_dirname (state);
  g_autoptr (GPtrArray) list = g_ptr_array_new ();
  g_ptr_array_add (list, srv_checkout_resolve (folder));
  for (gsize i = 0; more != NULL && more[i] != NULL; i++)
    {
      g_autofree char *one = g_file_test (more[i], G_FILE_TEST_IS_DIR)
                                 ? g_strdup (more[i])
                                 : g_path_get_dirname (more[i]);
      g_ptr_array_add (list, srv_checkout_resolve (one));
    }
  g_ptr_array_add (list, NULL);
  return (char **) g_ptr_array_free (g_steal_pointer (&list), FALSE);
}

/* ------------------------------------------------------------------------- what it may not be */
static gboolean
is_same (const char *path, guint64 device, guint64 inode)
{
  struct stat about;
  return stat (path, &about) == 0 && about.st_dev == device && about.st_ino == inode;
}

/* Is the folder with that device and inode @path, or one above it? */
static gboolean
is_on_way (const char *path, guint64 device, guint64 inode)
{
  g_autofree char *at = g_strdup (path);
  for (;;)
    {
      if (is_same (at, device, inode))
        return TRUE;
      if (strcmp (at, "/") == 0)
        return FALSE;
      char *above = g_path_get_dirname (at);
      g_free (at);
      at = above;
    }
}

static gboolean
lies_in (const SrvCheckout *self, const char *state)
{
  struct stat about;
  return srv_checkout_is_within (self->path, state)
         || (stat (state, &about) == 0 && is_on_way (self->path, about.st_dev, about.st_ino));
}

static gboolean
holds (const SrvCheckout *self, const char *state)
{
  return srv_checkout_is_within (state, self->path) || is_on_way (state, self->device, self->inode);
}

/* The folder with an admin's token that is this one or above it. */
static char *
engine_above (const char *path)
{
  g_autofree char *at = g_strdup (path);
  while (strcmp (at, "/") != 0)
    {
      struct stat about;
      g_autofree char *token = g_build_filename (at, SRV_LOOK_TOKEN, NULL);
      if (lstat (token, &about) == 0)
        return g_steal_pointer (&at);
      char *above = g_path_get_dirname (at);
      g_free (at);
      at = above;
    }
  return NULL;
}

/* A /proc that is mounted at or below it, or that it lies in: in it, other processes' variables and folders are open. */
static gboolean
shows_processes (const SrvCheckout *self)
{
  g_autofree char *text = NULL;
  if (!g_file_get_contents ("/proc/self/mountinfo", &text, NULL, NULL))
    return FALSE;
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  for (gsize i = 0; lines[i] != NULL; i++)
    {
      /* Source: proc(5), mountinfo: the fifth field is where, escaped in octal; behind " - " stands the type. */
      const char *type = strstr (lines[i], " - ");
      g_auto (GStrv) fields = g_strsplit (lines[i], " ", 6);
      if (type == NULL || g_strv_length (fields) < 6 || !g_str_has_prefix (type, " - proc "))
        continue;
      g_autofree char *where = g_strcompress (fields[4]);
      if (srv_checkout_is_within (where, self->path) || srv_checkout_is_within (self->path, where))
        return TRUE;
    }
  return FALSE;
}

static gboolean
refuse (const char *what, const char *which, GError **error)
{
  g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_ACCES, "%s%s%s: " OWN_FOLDER, what,
               *which != '\0' ? ", " : "", which);
  return FALSE;
}

static gboolean
check (const SrvCheckout *self, const char *const *states, GError **error)
{
  for (gsize i = 0; states != NULL && states[i] != NULL; i++)
    {
      if (lies_in (self, states[i]))
        return refuse ("lies in an engine's own folder", states[i], error);
      if (holds (self, states[i]))
        return refuse ("holds an engine's own folder", states[i], error);
    }
  g_autofree char *above = engine_above (self->path);
  if (above != NULL)
    return refuse ("lies in an engine's own folder", above, error);
  if (shows_processes (self))
    return refuse ("shows other processes by its /proc", "", error);
  return TRUE;
}

/* -------------------------------------------------------------------------------------- opening */
static gboolean
failed (const char *problem, GError **error)
{
  int number = errno;
  g_set_error (error, G_FILE_ERROR, (gint) g_file_error_from_errno (number),
               "is no folder here: %s", problem != NULL ? problem : g_strerror (number));
  return FALSE;
}

/* What it is, and how the kernel calls it. */
static gboolean
identify (SrvCheckout *self, const char *path, GError **error)
{
  struct stat about;
  char real[4096];
  int fd = open (path, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return failed (NULL, error);
  g_autofree char *link = g_strdup_printf ("/proc/self/fd/%d", fd);
  ssize_t length = readlink (link, real, sizeof real);
  gboolean ok = fstat (fd, &about) == 0 && length > 0 && (gsize) length < sizeof real;
  close (fd);
  if (!ok)
    return failed ("its path is too long", error);
  self->path = g_strndup (real, (gsize) length);
  self->device = about.st_dev;
  self->inode = about.st_ino;
  /* One that is deleted has a path with a remark behind it. */
  return is_same (self->path, self->device, self->inode) || failed ("it is gone", error);
}

SrvCheckout *
srv_checkout_open (const char *path, const char *const *states, GError **error)
{
  g_autoptr (SrvCheckout) self = g_new0 (SrvCheckout, 1);
  if (!g_path_is_absolute (path))
    {
      g_set_error_literal (error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "is no absolute path");
      return NULL;
    }
  if (!identify (self, path, error) || !check (self, states, error))
    return NULL;
  return g_steal_pointer (&self);
}

gboolean
srv_checkout_look (const SrvCheckout *self, gboolean *out_whole, GError **error)
{
  char found[4096];
  SrvLook look = srv_look_below (self->path, found, sizeof found);
  *out_whole = look != SRV_LOOK_CUT;
  return look != SRV_LOOK_FOUND || refuse ("holds an engine's own folder", found, error);
}

gboolean
srv_checkout_keeps_apart (const SrvCheckout *self, const char *secret, GError **error)
{
  g_autofree char *real = secret != NULL ? srv_checkout_resolve (secret) : NULL;
  if (real == NULL || !srv_checkout_is_within (real, self->path))
    return TRUE;
  g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_ACCES,
               "holds the worker's token file, %s: keep it elsewhere", real);
  return FALSE;
}

void
srv_checkout_free (SrvCheckout *self)
{
  if (self == NULL)
    return;
  g_free (self->path);
  g_free (self);
}
