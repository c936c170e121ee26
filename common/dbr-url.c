/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-url: a strict reader of http and https base URLs.
 *
 * Strict, since libcurl reads much that a person did not mean ("http:/x", user info, odd IPv4
 * forms), and what is loopback must not be a guess: only literals that inet_pton() takes, and
 * "localhost".
 */
#include "config.h"

#include "dbr-url.h"

#include "dbr-access.h"

#include <arpa/inet.h>
#include <string.h>

void
dbr_url_free (DbrUrl *self)
{
  if (self == NULL)
    return;
  g_free (self->host);
  g_free (self->origin);
  g_free (self->base_path);
  g_free (self);
}

static gboolean
parse_scheme (const char **text, gboolean *out_is_tls)
{
  if (g_ascii_strncasecmp (*text, "http://", 7) == 0)
    {
      *out_is_tls = FALSE;
      *text += 7;
      return TRUE;
    }
  if (g_ascii_strncasecmp (*text, "https://", 8) == 0)
    {
      *out_is_tls = TRUE;
      *text += 8;
      return TRUE;
    }
  return FALSE;
}

static gboolean
is_host_name (const char *host)
{
  if (host[0] == '\0' || strlen (host) > 253)
    return FALSE;
  for (const char *p = host; *p != '\0'; p++)
    if (!g_ascii_isalnum (*p) && strchr ("-._", *p) == NULL)
      return FALSE;
  return TRUE;
}

static gboolean
is_ipv6_literal (const char *host)
{
  gsize len = strlen (host);
  g_autofree char *bare = NULL;
  struct in6_addr address;

  if (len < 4 || host[0] != '[' || host[len - 1] != ']')
    return FALSE;
  bare = g_strndup (host + 1, len - 2);
  return inet_pton (AF_INET6, bare, &address) == 1;
}

static gboolean
host_is_loopback (const char *host)
{
  struct in_addr v4;
  struct in6_addr v6;
  g_autofree char *bare = NULL;

  if (g_str_equal (host, "localhost"))
    return TRUE;
  if (inet_pton (AF_INET, host, &v4) == 1)
    return ntohl (v4.s_addr) >> 24 == 127;
  if (host[0] != '[')
    return FALSE;
  bare = g_strndup (host + 1, strlen (host) - 2);
  return inet_pton (AF_INET6, bare, &v6) == 1 && IN6_IS_ADDR_LOOPBACK (&v6);
}

static gboolean
parse_port (const char *text, guint *out_port)
{
  guint64 port;

  if (!g_ascii_string_to_unsigned (text, 10, 1, 65535, &port, NULL))
    return FALSE;
  *out_port = (guint) port;
  return TRUE;
}

static const char no_host[]
    = "has no usable host name (IPv6 addresses go in brackets, other scripts in their xn-- form)";

/* host[:port] of an authority without user info. Returns what is wrong, or NULL. */
static const char *
parse_authority (DbrUrl *self, const char *authority)
{
  g_autofree char *host = NULL;
  const char *bracket = strrchr (authority, ']');
  const char *colon = strchr (bracket != NULL ? bracket : authority, ':');

  if (authority[0] == '[' && bracket == NULL)
    return no_host;
  self->port = self->is_tls ? 443 : 80;
  if (colon != NULL && !parse_port (colon + 1, &self->port))
    return "has a port that is not a number from 1 to 65535";
  host = colon != NULL ? g_strndup (authority, (gsize) (colon - authority)) : g_strdup (authority);
  self->host = g_ascii_strdown (host, -1);
  if (self->host[0] == '[' ? !is_ipv6_literal (self->host) : !is_host_name (self->host))
    return no_host;
  self->is_loopback = host_is_loopback (self->host);
  if (self->port == (self->is_tls ? 443u : 80u))
    self->origin = g_strdup_printf ("%s://%s", self->is_tls ? "https" : "http", self->host);
  else
    self->origin
        = g_strdup_printf ("%s://%s:%u", self->is_tls ? "https" : "http", self->host, self->port);
  return NULL;
}

/* The base path without slashes at its end and without the API's own prefix. */
static const char *
parse_base_path (DbrUrl *self, const char *path, const char *prefix)
{
  g_autofree char *trimmed = g_strdup (path);
  gsize len = strlen (trimmed);

  while (len > 0 && trimmed[len - 1] == '/')
    trimmed[--len] = '\0';
  if (len > 0)
    {
      g_autofree char *checked = dbr_path_check (trimmed, "", NULL);

      if (checked == NULL)
        return "has a path that is not plain (no dot segments, no \"//\", no odd characters)";
      g_free (g_steal_pointer (&trimmed));
      trimmed = g_steal_pointer (&checked);
    }
  if (prefix[0] != '\0' && g_str_has_suffix (trimmed, prefix))
    trimmed[strlen (trimmed) - strlen (prefix)] = '\0';
  self->base_path = g_steal_pointer (&trimmed);
  return NULL;
}

static const char *
parse (DbrUrl *self, const char *text, const char *prefix)
{
  g_autofree char *authority = NULL;
  const char *rest = text;
  gsize len;

  if (strlen (text) > DBR_URL_MAX_BYTES)
    return "is too long for a base URL";
  if (!parse_scheme (&rest, &self->is_tls))
    return "must begin with http:// or https://";
  if (strchr (rest, '@') != NULL)
    return "holds user info (\"user@\"): credentials have variables of their own";
  if (strchr (rest, '?') != NULL || strchr (rest, '#') != NULL)
    return "holds a query or a fragment: a base URL has none";
  len = strcspn (rest, "/");
  authority = g_strndup (rest, len);
  if (authority[0] == '\0')
    return "names no host";
  return parse_authority (self, authority) ?: parse_base_path (self, rest + len, prefix);
}

DbrUrl *
dbr_url_parse (const char *text, const char *prefix, const char **out_problem)
{
  g_autoptr (DbrUrl) self = g_new0 (DbrUrl, 1);
  g_autofree char *trimmed = g_strstrip (g_strdup (text));

  *out_problem = parse (self, trimmed, prefix);
  return *out_problem == NULL ? g_steal_pointer (&self) : NULL;
}

char *
dbr_url_plain_problem (const DbrUrl *self, const char *name)
{
  if (self->is_tls || self->is_loopback)
    return NULL;
  return g_strdup_printf (
      "credentials are not sent over plain http to another host (%s): use https:// in %s",
      self->origin, name);
}

char *
dbr_url_origin (const char *location, const DbrUrl *base)
{
  g_autoptr (DbrUrl) other = g_new0 (DbrUrl, 1);
  g_autofree char *authority = NULL;
  const char *rest = location;
  const char *at;

  if (strlen (location) > DBR_URL_MAX_BYTES)
    return NULL;
  other->is_tls = base->is_tls;
  if (!parse_scheme (&rest, &other->is_tls))
    {
      if (g_str_has_prefix (location, "//"))
        rest = location + 2;
      else if (g_ascii_isalpha (location[0]) && location[strcspn (location, ":/?#")] == ':')
        return NULL; /* another scheme */
      else
        return g_strdup (base->origin);
    }
  authority = g_strndup (rest, strcspn (rest, "/?#\\"));
  at = strrchr (authority, '@');
  if (parse_authority (other, at != NULL ? at + 1 : authority) != NULL)
    return NULL;
  return g_steal_pointer (&other->origin);
}
