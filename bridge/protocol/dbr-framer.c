/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One buffer: [start, end) is what came and was not taken, [start, scan) is known to hold no LF, so
 * that a line which comes a byte at a time is searched once. While a long line is skipped the
 * buffer is emptied as fast as it fills.
 */
#include "config.h"

#include "dbr-framer.h"

#include <string.h>

#define BOM "\xef\xbb\xbf"
#define BOM_BYTES 3u
/* A line of exactly max_line_bytes may still have its CR behind it when its LF hasn't come. */
#define SLACK_BYTES 1u

struct _DbrFramer
{
  char *buffer;
  gsize capacity;
  gsize start;
  gsize scan;
  gsize end;
  gsize max_line_bytes;
  gsize peak_bytes;
  gboolean is_at_start; /* a byte order mark may still come */
  gboolean is_skipping; /* inside a line that was refused as too long */
  gboolean has_ended;
};

G_DEFINE_QUARK (dbr_frame_error, dbr_frame_error)

static void
resize (DbrFramer *self, gsize capacity)
{
  self->buffer = g_realloc (self->buffer, capacity);
  self->capacity = capacity;
  self->peak_bytes = MAX (self->peak_bytes, capacity);
}

DbrFramer *
dbr_framer_new (gsize max_line_bytes)
{
  DbrFramer *self = g_new0 (DbrFramer, 1);

  self->max_line_bytes = max_line_bytes > 0 ? max_line_bytes : DBR_FRAMER_MAX_LINE_BYTES;
  self->is_at_start = TRUE;
  resize (self, DBR_FRAMER_READ_BYTES);
  return self;
}

void
dbr_framer_free (DbrFramer *self)
{
  if (self == NULL)
    return;
  g_free (self->buffer);
  g_free (self);
}

char *
dbr_framer_space (DbrFramer *self, gsize *out_bytes)
{
  const gsize wanted = DBR_FRAMER_READ_BYTES / 4;

  if (self->capacity - self->end < wanted && self->start > 0)
    {
      memmove (self->buffer, self->buffer + self->start, self->end - self->start);
      self->scan -= self->start;
      self->end -= self->start;
      self->start = 0;
    }
  if (self->capacity - self->end < wanted)
    {
      const gsize most = self->max_line_bytes + SLACK_BYTES + BOM_BYTES + DBR_FRAMER_READ_BYTES;

      resize (self,
              MIN (MAX (self->capacity * 2, self->end + wanted), MAX (most, self->end + wanted)));
    }
  *out_bytes = self->capacity - self->end;
  return self->buffer + self->end;
}

void
dbr_framer_filled (DbrFramer *self, gsize n_bytes)
{
  g_return_if_fail (n_bytes <= self->capacity - self->end);

  self->end += n_bytes;
  if (n_bytes == 0)
    self->has_ended = TRUE;
}

/* Forgets everything up to @at; a buffer that one long line made large becomes small again. */
static void
drop_until (DbrFramer *self, gsize at)
{
  self->start = self->scan = at;
  if (at < self->end)
    return;
  self->start = self->scan = self->end = 0;
  if (self->capacity > 4 * DBR_FRAMER_READ_BYTES)
    resize (self, DBR_FRAMER_READ_BYTES);
}

/* Returns FALSE while the first bytes may still turn out to be a byte order mark. */
static gboolean
pass_bom (DbrFramer *self)
{
  const gsize have = MIN (self->end - self->start, BOM_BYTES);

  if (memcmp (self->buffer + self->start, BOM, have) == 0)
    {
      if (have < BOM_BYTES && !self->has_ended)
        return FALSE;
      if (have == BOM_BYTES)
        self->start = self->scan = self->start + BOM_BYTES;
    }
  self->is_at_start = FALSE;
  return TRUE;
}

static gboolean
is_blank (const char *line, gsize n_bytes)
{
  for (gsize i = 0; i < n_bytes; i++)
    if (line[i] != ' ' && line[i] != '\t' && line[i] != '\r')
      return FALSE;
  return TRUE;
}

/* g_utf8_validate() counts a NUL as wrong; here it is a character like any other. */
static gboolean
is_utf8 (const char *line, gsize n_bytes, gsize *out_at)
{
  const char *at = line;
  const char *end = line + n_bytes;

  while (!g_utf8_validate_len (at, (gsize) (end - at), &at))
    {
      if (*at != '\0')
        {
          *out_at = (gsize) (at - line);
          return FALSE;
        }
      at++;
    }
  return TRUE;
}

static void
set_too_long (const DbrFramer *self, GError **error)
{
  g_set_error (error, DBR_FRAME_ERROR, DBR_FRAME_ERROR_TOO_LONG,
               "Parse error: the line is longer than %" G_GSIZE_FORMAT " bytes and was skipped",
               self->max_line_bytes);
}

/* @line is not empty. */
static DbrFrameStatus
check_line (
    const DbrFramer *self, const char *line, gsize n_bytes, GBytes **out_line, GError **error)
{
  gsize at;

  if (line[n_bytes - 1] == '\r')
    n_bytes--;
  if (n_bytes > self->max_line_bytes)
    {
      set_too_long (self, error);
      return DBR_FRAME_REFUSED;
    }
  if (!is_utf8 (line, n_bytes, &at))
    {
      g_set_error (error, DBR_FRAME_ERROR, DBR_FRAME_ERROR_NOT_UTF8,
                   "Parse error: the line is not UTF-8 at byte %" G_GSIZE_FORMAT, at);
      return DBR_FRAME_REFUSED;
    }
  *out_line = g_bytes_new (line, n_bytes);
  return DBR_FRAME_LINE;
}

/* No LF so far: is it a line that is too long, the last one, or is there more to come? */
static DbrFrameStatus
check_open_line (DbrFramer *self, GBytes **out_line, GError **error)
{
  const gsize n_bytes = self->end - self->start;
  DbrFrameStatus status;

  self->scan = self->end;
  if (n_bytes > self->max_line_bytes + SLACK_BYTES)
    {
      self->is_skipping = TRUE;
      drop_until (self, self->end);
      set_too_long (self, error);
      return DBR_FRAME_REFUSED;
    }
  if (!self->has_ended)
    return DBR_FRAME_MORE;
  if (is_blank (self->buffer + self->start, n_bytes))
    return DBR_FRAME_END;
  status = check_line (self, self->buffer + self->start, n_bytes, out_line, error);
  drop_until (self, self->end);
  return status;
}

DbrFrameStatus
dbr_framer_take (DbrFramer *self, GBytes **out_line, GError **error)
{
  *out_line = NULL;
  if (self->is_at_start && !pass_bom (self))
    return DBR_FRAME_MORE;
  for (;;)
    {
      const char *line = self->buffer + self->start;
      const char *lf = memchr (self->buffer + self->scan, '\n', self->end - self->scan);
      DbrFrameStatus status;
      gsize n_bytes;

      if (lf == NULL && self->is_skipping)
        {
          drop_until (self, self->end);
          return self->has_ended ? DBR_FRAME_END : DBR_FRAME_MORE;
        }
      if (lf == NULL)
        return check_open_line (self, out_line, error);
      n_bytes = (gsize) (lf - line);
      if (self->is_skipping || is_blank (line, n_bytes))
        {
          self->is_skipping = FALSE;
          drop_until (self, self->start + n_bytes + 1);
          continue;
        }
      status = check_line (self, line, n_bytes, out_line, error);
      drop_until (self, self->start + n_bytes + 1);
      return status;
    }
}

gsize
dbr_framer_peak_bytes (const DbrFramer *self)
{
  return self->peak_bytes;
}
