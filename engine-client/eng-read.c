/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eng-read: header fields, bounded bodies, tails.
 *
 * A body is appended straight to one array that is as large as Content-Length says from the start.
 * Whether the body is a tail is decided at its first byte: only a success that isn't a web page can
 * be one.
 */
#include "config.h"

#include "eng-read.h"

#include <string.h>

void
eng_reader_init (EngReader *self, gsize max_body_bytes, const EngTail *tail)
{
  *self = (EngReader){
    .max_body_bytes = max_body_bytes,
    .tail = tail,
    .content_length = -1,
  };
}

static void
forget_headers (EngReader *self)
{
  g_clear_pointer (&self->headers, g_ptr_array_unref);
  g_clear_pointer (&self->reason, g_free);
  self->content_length = -1;
  self->status = 0;
}

void
eng_reader_clear (EngReader *self)
{
  forget_headers (self);
  g_clear_pointer (&self->body, g_byte_array_unref);
  g_clear_pointer (&self->tail_reader, eng_tail_reader_free);
  g_clear_error (&self->error);
}

/* A byte string from a stranger as text: outside printable ASCII becomes "?". */
static char *
dup_ascii (const char *bytes, gsize len)
{
  char *text = g_strndup (bytes, len);

  for (char *p = text; *p != '\0'; p++)
    if ((guchar) *p < 0x20 || (guchar) *p >= 0x7f)
      *p = '?';
  return text;
}

static void
read_status_line (EngReader *self, const char *line, gsize len)
{
  const char *p = memchr (line, ' ', len);
  const char *end = line + len;
  guint status = 0;

  forget_headers (self);
  self->is_complete = FALSE;
  self->headers = g_ptr_array_new_full (32, g_free);
  if (p == NULL)
    return;
  while (p < end && *p == ' ')
    p++;
  for (; p < end && g_ascii_isdigit (*p) && status < 1000; p++)
    status = status * 10 + (guint) (*p - '0');
  self->status = status;
  while (p < end && *p == ' ')
    p++;
  if (p < end)
    self->reason = dup_ascii (p, (gsize) MIN (end - p, 128));
}

static void
read_field (EngReader *self, const char *line, gsize len)
{
  const char *colon = memchr (line, ':', len);
  const char *value;
  gsize value_len;
  char *name;

  if (colon == NULL || self->headers == NULL || self->headers->len >= 2 * ENG_READ_MAX_HEADERS)
    return;
  value = colon + 1;
  value_len = (gsize) (line + len - value);
  while (value_len > 0 && (*value == ' ' || *value == '\t'))
    value++, value_len--;
  while (value_len > 0 && (value[value_len - 1] == ' ' || value[value_len - 1] == '\t'))
    value_len--;
  name = g_ascii_strdown (line, colon - line);
  g_ptr_array_add (self->headers, name);
  g_ptr_array_add (self->headers, dup_ascii (value, value_len));
  if (g_str_equal (name, "content-length"))
    {
      guint64 length;

      if (g_ascii_string_to_unsigned (g_ptr_array_index (self->headers, self->headers->len - 1), 10,
                                      0, G_MAXINT64, &length, NULL))
        self->content_length = (gint64) length;
    }
}

size_t
eng_reader_on_header (char *bytes, size_t size, size_t n, void *data)
{
  EngReader *self = data;
  gsize total = size * n;
  gsize len = total;

  self->header_bytes += total;
  if (self->header_bytes > ENG_READ_MAX_HEADER_BYTES)
    {
      if (self->error == NULL)
        g_set_error (&self->error, ENG_ERROR, ENG_ERROR_TOO_LARGE,
                     "the header fields of the answer are larger than %u kB",
                     ENG_READ_MAX_HEADER_BYTES >> 10);
      return 0;
    }
  while (len > 0 && (bytes[len - 1] == '\r' || bytes[len - 1] == '\n'))
    len--;
  if (len >= 5 && memcmp (bytes, "HTTP/", 5) == 0)
    read_status_line (self, bytes, len);
  else if (self->is_complete)
    ; /* trailer fields: counted, not kept */
  else if (len == 0)
    self->is_complete = self->status >= 200 || self->status == 101;
  else
    read_field (self, bytes, len);
  return total;
}

const char *
eng_reader_header (const EngReader *self, const char *name)
{
  for (guint i = 0; self->headers != NULL && i + 1 < self->headers->len; i += 2)
    if (g_str_equal (g_ptr_array_index (self->headers, i), name))
      return g_ptr_array_index (self->headers, i + 1);
  return NULL;
}

static void
begin_body (EngReader *self)
{
  const char *type = eng_reader_header (self, "content-type");
  gboolean is_page = type != NULL && g_ascii_strncasecmp (type, "text/html", 9) == 0;

  if (self->tail != NULL && self->status >= 200 && self->status < 300 && !is_page)
    {
      self->tail_reader = eng_tail_reader_new (self->tail);
      return;
    }
  if (self->content_length > 0 && (guint64) self->content_length <= self->max_body_bytes)
    self->body = g_byte_array_sized_new ((guint) self->content_length);
  else
    self->body = g_byte_array_new ();
}

static gboolean
read_body (EngReader *self, const char *bytes, gsize len, GError **error)
{
  if (self->body == NULL && self->tail_reader == NULL)
    begin_body (self);
  self->bytes_seen += len;
  if (self->tail_reader != NULL)
    return eng_tail_reader_push (self->tail_reader, bytes, len, error);
  if (self->bytes_seen > self->max_body_bytes)
    {
      g_set_error (error, ENG_ERROR, ENG_ERROR_TOO_LARGE,
                   "the answer is larger than %" G_GSIZE_FORMAT " kB",
                   (self->max_body_bytes + 1023) >> 10);
      return FALSE;
    }
  g_byte_array_append (self->body, (const guint8 *) bytes, (guint) len);
  return TRUE;
}

size_t
eng_reader_on_body (char *bytes, size_t size, size_t n, void *data)
{
  EngReader *self = data;
  gsize len = size * n;

  if (self->error != NULL || !read_body (self, bytes, len, &self->error))
    return len == 0 ? 1 : 0; /* anything but the length ends the transfer */
  return len;
}

/* "application/json; charset=utf-8" -> "application/json" */
static char *
media_type (const char *value)
{
  g_autofree char *bare = NULL;

  if (value == NULL)
    return NULL;
  bare = g_strndup (value, strcspn (value, "; \t"));
  return g_ascii_strdown (bare, -1);
}

gboolean
eng_reader_take (EngReader *self, EngResponse *response, gboolean is_whole, GError **error)
{
  gboolean ok = TRUE;

  response->status = self->status;
  response->content_type = media_type (eng_reader_header (self, "content-type"));
  response->reason = g_steal_pointer (&self->reason);
  response->headers = g_steal_pointer (&self->headers);
  response->bytes_seen = self->bytes_seen;
  if (self->body != NULL)
    response->body = g_byte_array_free_to_bytes (g_steal_pointer (&self->body));
  if (self->tail_reader != NULL)
    {
      ok = eng_tail_reader_end (self->tail_reader, is_whole, error);
      eng_tail_reader_take (self->tail_reader, response);
      response->tail_complete = ok && is_whole;
      g_clear_pointer (&self->tail_reader, eng_tail_reader_free);
    }
  else if (self->tail != NULL && self->bytes_seen == 0)
    {
      response->records = g_ptr_array_new ();
      response->tail_complete = is_whole;
    }
  return ok;
}
