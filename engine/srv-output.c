/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-output: a buffer that is cut to its last half when it has grown to twice its bound: each byte is moved
 * once at most.
 */
#include "config.h"

#include "srv-output.h"

#include <string.h>

struct _SrvOutput
{
  GString *bytes;
  gsize max_bytes;
  guint64 total;
};

SrvOutput *
srv_output_new (gsize max_bytes)
{
  SrvOutput *self = g_new0 (SrvOutput, 1);
  self->bytes = g_string_new (NULL);
  self->max_bytes = max_bytes;
  return self;
}

void
srv_output_free (SrvOutput *self)
{
  if (self == NULL)
    return;
  g_string_free (self->bytes, TRUE);
  g_free (self);
}

void
srv_output_add (SrvOutput *self, const char *bytes, gsize length)
{
  self->total += length;
  if (length > self->max_bytes)
    {
      bytes += length - self->max_bytes;
      length = self->max_bytes;
    }
  g_string_append_len (self->bytes, bytes, (gssize) length);
  if (self->bytes->len > 2 * self->max_bytes)
    g_string_erase (self->bytes, 0, (gssize) (self->bytes->len - self->max_bytes));
}

guint64
srv_output_total (const SrvOutput *self)
{
  return self->total;
}

/* The length of an escape sequence at @text: colours (CSI) and titles (OSC); 1: some other escape. Source: ECMA-48,
 * 5.4 and 8.3.89. */
static gsize
escape_length (const char *text)
{
  gsize i = 2;
  if (text[1] == '[')
    {
      while (text[i] >= 0x20 && text[i] <= 0x3f)
        i++;
      return text[i] >= 0x40 && text[i] <= 0x7e ? i + 1 : i;
    }
  if (text[1] != ']')
    return 1;
  while (text[i] != '\0' && text[i] != '\n' && text[i] != '\a' && text[i] != '\033')
    i++;
  return text[i] == '\a' ? i + 1 : text[i] == '\033' && text[i + 1] == '\\' ? i + 2 : i;
}

static void
drop_controls (char *text)
{
  char *to = text;
  gsize length;
  for (const char *at = text; *at != '\0'; at += length)
    {
      if (*at == '\033')
        {
          length = escape_length (at);
          continue;
        }
      gunichar c = g_utf8_get_char (at);
      length = (gsize) g_utf8_skip[(guchar) *at];
      if (c == '\r' || (c != '\n' && c != '\t' && g_unichar_iscntrl (c)))
        continue;
      memmove (to, at, length);
      to += length;
    }
  *to = '\0';
}

char *
srv_output_clean (const char *bytes, gsize length, gsize max_bytes, const char *secret)
{
  g_autofree char *valid = g_utf8_make_valid (bytes, (gssize) length);
  g_autoptr (GString) text = g_string_new (valid);
  if (secret != NULL && *secret != '\0')
    g_string_replace (text, secret, "***", 0);
  drop_controls (text->str);
  /* First: blank lines at the end would else take the place of what was said. */
  const char *from = g_strchomp (text->str);
  gsize have = strlen (from);
  if (have > max_bytes)
    {
      from += have - max_bytes;
      while ((*from & 0xC0) == 0x80)
        from++;
      const char *line = strchr (from, '\n');
      if (line != NULL && line[1] != '\0')
        from = line + 1;
    }
  return g_strdup (from);
}

char *
srv_output_text (const SrvOutput *self, gsize max_bytes, const char *secret)
{
  gsize from = self->bytes->len > self->max_bytes ? self->bytes->len - self->max_bytes : 0;
  return srv_output_clean (self->bytes->str + from, self->bytes->len - from, max_bytes, secret);
}
