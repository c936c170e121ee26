/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-rules-url: the many spellings of a repository, made one.
 */
#include "config.h"

#include "srv-rules.h"

#include <string.h>

#define MAX_URL 500

static const char *const schemes[] = { "https://", "http://", "ssh://", "git://", "git+ssh://" };

static gboolean
is_host (const char *host)
{
  if (!*host || *host == '.' || *host == '-' || strlen (host) > 253)
    return FALSE;
  for (const char *p = host; *p; p++)
    if (!g_ascii_isalnum (*p) && *p != '.' && *p != '-')
      return FALSE;
  return !strstr (host, "..") && !g_str_has_suffix (host, ".");
}

static gboolean
is_segment (const char *segment)
{
  if (!*segment || strcmp (segment, ".") == 0 || strcmp (segment, "..") == 0)
    return FALSE;
  for (const char *p = segment; *p; p++)
    if (!g_ascii_isalnum (*p) && !strchr ("._-~+", *p))
      return FALSE;
  return TRUE;
}

/* owner/name without slashes at its ends and .git; NULL: not one. */
static char *
clean_path (const char *path)
{
  while (*path == '/')
    path++;
  g_autofree char *copy = g_strdup (path);
  gsize length = strlen (copy);
  while (length > 0 && copy[length - 1] == '/')
    copy[--length] = '\0';
  if (g_str_has_suffix (copy, ".git"))
    copy[length - 4] = '\0';
  g_auto (GStrv) segments = g_strsplit (copy, "/", -1);
  if (g_strv_length (segments) < 2)
    return NULL;
  for (guint i = 0; segments[i]; i++)
    if (!is_segment (segments[i]))
      return NULL;
  return g_steal_pointer (&copy);
}

static gboolean
is_port (const char *port)
{
  gsize digits = strspn (port, "0123456789");

  return digits > 0 && digits <= 5 && port[digits] == '\0' && g_ascii_strtoull (port, NULL, 10) > 0
         && g_ascii_strtoull (port, NULL, 10) <= G_MAXUINT16;
}

/* What stands before "@"; it is dropped, but must be one. */
static gboolean
is_user (const char *user, gsize length)
{
  for (gsize i = 0; i < length; i++)
    if (user[i] == '%'
            ? length - i < 3 || !g_ascii_isxdigit (user[i + 1]) || !g_ascii_isxdigit (user[i + 2])
            : !g_ascii_isgraph (user[i]) || strchr ("\"<>\\^`{|}", user[i]))
      return FALSE;
  return TRUE;
}

/* Host (with user and port) and path of the text; FALSE: neither form. */
static gboolean
divide (const char *text, char **out_authority, const char **out_path)
{
  for (guint i = 0; i < G_N_ELEMENTS (schemes); i++)
    if (g_ascii_strncasecmp (text, schemes[i], strlen (schemes[i])) == 0)
      {
        const char *rest = text + strlen (schemes[i]);
        const char *slash = strchr (rest, '/');
        if (!slash)
          return FALSE;
        *out_authority = g_strndup (rest, (gsize) (slash - rest));
        *out_path = slash + 1;
        return TRUE;
      }
  const char *colon = strchr (text, ':');
  const char *slash = strchr (text, '/');
  if (strstr (text, "://") || !slash)
    return FALSE;
  /* host:owner/name, or host/owner/name without a scheme */
  const char *end = colon && colon < slash ? colon : slash;
  *out_authority = g_strndup (text, (gsize) (end - text));
  *out_path = end + 1;
  return TRUE;
}

char *
srv_repo_url_canonical (const char *text)
{
  g_autofree char *authority = NULL;
  const char *path = NULL;

  if (!text || strlen (text) > MAX_URL || !divide (text, &authority, &path))
    return NULL;
  const char *at = strrchr (authority, '@');
  g_autofree char *host = g_ascii_strdown (at ? at + 1 : authority, -1);
  char *colon = strchr (host, ':');
  if ((colon && !is_port (colon + 1)) || (at && !is_user (authority, (gsize) (at - authority))))
    return NULL;
  if (colon)
    *colon = '\0';
  /* The root's dot says what is meant without it too. */
  gsize length = strlen (host);
  if (length > 1 && host[length - 1] == '.')
    host[length - 1] = '\0';
  g_autofree char *clean = clean_path (path);
  if (!clean || !is_host (host) || !strchr (host, '.'))
    {
      /* A host without a dot is a machine of one's own network; a scheme must say that it is a host. */
      if (!clean || !is_host (host) || (!strstr (text, "://") && !at))
        return NULL;
    }
  return g_strdup_printf ("https://%s/%s", host, clean);
}
