/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eng-read: one answer being received, within bounds.
 *
 * Filled by curl's header and body callbacks, which only record here. What is over a bound ends the
 * transfer by itself;
 * @error then says why, whatever libcurl calls it. Private to engine-client.
 */
#pragma once

#include "eng-client.h"
#include "eng-tail.h"

G_BEGIN_DECLS

#define ENG_READ_MAX_HEADER_BYTES (256u << 10) /* all header fields of one answer */
#define ENG_READ_MAX_HEADERS 256u              /* fields kept; more are counted, not kept */

typedef struct
{
  gsize max_body_bytes;
  const EngTail *tail; /* nullable */
  guint status;
  char *reason;
  GPtrArray *headers; /* name, value, ... */
  gsize header_bytes;
  gboolean is_complete;  /* the empty line after the fields of a final (not 1xx) answer came */
  gint64 content_length; /* -1: none */
  guint64 bytes_seen;
  GByteArray *body;           /* nullable */
  EngTailReader *tail_reader; /* nullable: the body goes there */
  GError *error;              /* nullable: why we ended the transfer */
} EngReader;

void
eng_reader_init (EngReader *self, gsize max_body_bytes, const EngTail *tail);
void
eng_reader_clear (EngReader *self);

/* CURLOPT_HEADERFUNCTION and CURLOPT_WRITEFUNCTION; the data is the EngReader. */
size_t
eng_reader_on_header (char *bytes, size_t size, size_t n, void *data);
size_t
eng_reader_on_body (char *bytes, size_t size, size_t n, void *data);

/* The value of the first field of that lower-case name, or NULL. */
const char *
eng_reader_header (const EngReader *self, const char *name);
/* Moves everything into @response. @is_whole: the body came to its end. FALSE with @error when a
 * tail is unreadable. */
gboolean
eng_reader_take (EngReader *self, EngResponse *response, gboolean is_whole, GError **error);

G_END_DECLS
