/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-url: the base URL of a backend, taken apart once, and origins for messages.
 *
 * Pure functions. The base is the only URL that is ever parsed; requests are the origin, the base
 * path and a checked final path put together, never resolved against each other.
 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

#define DBR_URL_MAX_BYTES 2048u

typedef struct
{
  gboolean is_tls;
  gboolean is_loopback; /* "localhost", 127.0.0.0/8, [::1]: the host itself, by name or literal */
  char *host;           /* lower case; an IPv6 literal in brackets */
  guint port;           /* 1..65535, the scheme's own when none was written */
  char *origin;         /* scheme://host[:port], the port left out when it is the scheme's own */
  char *base_path;      /* "" or "/team/airflow": no trailing slash, the API's prefix cut off */
} DbrUrl;

/**
 * dbr_url_parse:
 * @text: what a person wrote: http(s)://host[:port][/base], white space around it ignored
 * @prefix: the API's prefix; a base that ends in it is taken without it
 * @out_problem: what is wrong, a static text that follows the name of what holds it ("must begin
 *   with http:// or https://"); NULL when nothing is
 *
 * Takes a base URL apart. User info, query, fragment, other schemes, bare IPv6 literals, ports out
 * of range and dot segments are refused; no problem's text shows anything of @text.
 *
 * Returns: (transfer full) (nullable): free with dbr_url_free(); NULL with a problem.
 * Source: RFC 3986 section 3.
 */
DbrUrl *
dbr_url_parse (const char *text, const char *prefix, const char **out_problem);
void
dbr_url_free (DbrUrl *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DbrUrl, dbr_url_free)

/**
 * dbr_url_plain_problem:
 * @name: what holds the address, such as "BRIGADA_URL"
 *
 * Returns: (transfer full) (nullable): why no credentials go to @self, as a sentence: plain http to another host.
 */
char *
dbr_url_plain_problem (const DbrUrl *self, const char *name);

/**
 * dbr_url_origin:
 * @location: a Location field's value, from a stranger
 * @base: the backend it came from; a relative reference has its origin
 *
 * Returns: (transfer full) (nullable): scheme://host[:port] without user info, NULL when it cannot
 * be told. Source: RFC 9110 section 10.2.2.
 */
char *
dbr_url_origin (const char *location, const DbrUrl *base);

G_END_DECLS
