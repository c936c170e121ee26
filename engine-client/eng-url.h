/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eng-url: the base URL of a backend, taken apart once, and origins for messages.
 *
 * Pure functions. The base is the only URL that is ever parsed; requests are the origin, the base
 * path and a checked final path put together, never resolved against each other.
 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

#define ENG_URL_MAX_BYTES 2048u

typedef struct
{
  gboolean is_tls;
  gboolean is_loopback; /* "localhost", 127.0.0.0/8, [::1]: the host itself, by name or literal */
  char *host;           /* lower case; an IPv6 literal in brackets */
  guint port;           /* 1..65535, the scheme's own when none was written */
  char *origin;         /* scheme://host[:port], the port left out when it is the scheme's own */
  char *base_path;      /* "" or "/team/airflow": no trailing slash, the API's prefix cut off */
} EngUrl;

/**
 * eng_url_parse:
 * @text: what a person wrote: http(s)://host[:port][/base], white space around it ignored
 * @name: (nullable): the variable it came from, for messages
 * @prefix: the API's prefix; a base that ends in it is taken without it
 * @error: return location
 *
 * Takes a base URL apart. User info, query, fragment, other schemes, bare IPv6 literals, ports out
 * of range and dot segments are refused; the message names @name and never shows user info.
 *
 * Returns: (transfer full) (nullable): free with eng_url_free().
 * Errors: #ENG_ERROR_CONFIG.
 * Source: RFC 3986 section 3.
 */
EngUrl *
eng_url_parse (const char *text, const char *name, const char *prefix, GError **error);
void
eng_url_free (EngUrl *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (EngUrl, eng_url_free)

/**
 * eng_url_origin:
 * @location: a Location field's value, from a stranger
 * @base: the backend it came from; a relative reference has its origin
 *
 * Returns: (transfer full) (nullable): scheme://host[:port] without user info, NULL when it cannot
 * be told. Source: RFC 9110 section 10.2.2.
 */
char *
eng_url_origin (const char *location, const EngUrl *base);

G_END_DECLS
