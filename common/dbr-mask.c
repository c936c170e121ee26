/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-mask: secrets out of a text that is about to be shown; the contract is in dbr-text.h.
 *
 * Own secrets are compared through a decoder that reads percent escapes and JSON escapes as the
 * bytes they stand for, so every mixture of raw and escaped is one comparison. Whatever matches is
 * collected as ranges first and replaced afterwards: overlapping and adjoining finds become one
 * mark.
 */
#include "config.h"

#include "dbr-mask-shapes.h"
#include "dbr-text.h"
#include <string.h>

#define MAX_SECRETS 64u
/* The first ones come from the configuration and stay; after these the oldest is a sign-in's token.
 */
#define KEPT_SECRETS 8u

typedef enum
{
  FORM_RAW,
  FORM_BASE64, /* both alphabets */
  FORM_HEX,    /* either case */
} Form;

typedef struct
{
  char *bytes;
  gsize len;
  Form form;
} Needle;

struct _DbrMask
{
  guint ref_count;
  GPtrArray *secrets;    /* (element-type utf8) */
  GArray *needles;       /* (element-type Needle) */
  GArray *starts[256];   /* (element-type guint) nullable: needles that can begin with that byte */
  gboolean goes_on[256]; /* whether a needle can go on with that byte */
};

static void
clear_needle (gpointer data)
{
  Needle *needle = data;
  g_free (needle->bytes);
}

DbrMask *
dbr_mask_new (void)
{
  DbrMask *self = g_new0 (DbrMask, 1);
  self->ref_count = 1;
  self->secrets = g_ptr_array_new_with_free_func (g_free);
  self->needles = g_array_new (FALSE, FALSE, sizeof (Needle));
  g_array_set_clear_func (self->needles, clear_needle);
  return self;
}

DbrMask *
dbr_mask_ref (DbrMask *self)
{
  self->ref_count++;
  return self;
}

static void
clear_starts (DbrMask *self)
{
  for (guint i = 0; i < 256; i++)
    g_clear_pointer (&self->starts[i], g_array_unref);
}

void
dbr_mask_unref (DbrMask *self)
{
  if (--self->ref_count > 0)
    return;
  clear_starts (self);
  g_array_unref (self->needles);
  g_ptr_array_unref (self->secrets);
  g_free (self);
}

/* ------------------------------------------------------------------------------------- needles */

static char
base64_standard (char c)
{
  return c == '-' ? '+' : c == '_' ? '/' : c;
}

static char
fold (Form form, char c)
{
  switch (form)
    {
    case FORM_BASE64:
      return base64_standard (c);
    case FORM_HEX:
      return g_ascii_tolower (c);
    case FORM_RAW:
    default:
      return c;
    }
}

static gboolean
is_escape (char c)
{
  return c == '%' || c == '\\';
}

static void
add_start (DbrMask *self, guint8 byte, guint needle)
{
  if (!self->starts[byte])
    self->starts[byte] = g_array_new (FALSE, FALSE, sizeof (guint));
  g_array_append_val (self->starts[byte], needle);
}

static void
add_needle (DbrMask *self, Form form, const char *bytes, gsize len)
{
  Needle needle = { g_strndup (bytes, len), len, form };
  guint index = self->needles->len;
  g_array_append_val (self->needles, needle);
  for (guint i = 1; i < 256; i++)
    {
      if (is_escape ((char) i) || fold (form, (char) i) == bytes[0])
        add_start (self, (guint8) i, index);
      if (is_escape ((char) i) || fold (form, (char) i) == bytes[1])
        self->goes_on[i] = TRUE;
    }
}

/* The characters of a base64 text that depend on the secret alone, if it begins @before bytes into
 * a group of three. */
static void
add_base64 (DbrMask *self, const char *secret, gsize len, guint before)
{
  g_autofree guint8 *bytes = g_malloc0 (len + before + 1);
  memcpy (bytes + before, secret, len);
  g_autofree char *text = g_base64_encode (bytes, len + before);
  gsize from = (before * 8 + 5) / 6;
  gsize to = (len + before) * 8 / 6;
  add_needle (self, FORM_BASE64, text + from, to - from);
}

static void
add_hex (DbrMask *self, const char *secret, gsize len)
{
  g_autoptr (GString) hex = g_string_sized_new (len * 2);
  for (gsize i = 0; i < len; i++)
    g_string_append_printf (hex, "%02x", (guint8) secret[i]);
  add_needle (self, FORM_HEX, hex->str, hex->len);
}

static void
compile (DbrMask *self)
{
  clear_starts (self);
  memset (self->goes_on, 0, sizeof self->goes_on);
  g_array_set_size (self->needles, 0);
  for (guint i = 0; i < self->secrets->len; i++)
    {
      const char *secret = g_ptr_array_index (self->secrets, i);
      gsize len = strlen (secret);
      add_needle (self, FORM_RAW, secret, len);
      for (guint before = 0; before < 3; before++)
        add_base64 (self, secret, len, before);
      add_hex (self, secret, len);
    }
}

void
dbr_mask_add (DbrMask *self, const char *secret)
{
  if (!secret || strlen (secret) < DBR_MASK_MIN_BYTES
      || g_ptr_array_find_with_equal_func (self->secrets, secret, g_str_equal, NULL))
    return;
  if (self->secrets->len == MAX_SECRETS)
    g_ptr_array_remove_index (self->secrets, KEPT_SECRETS);
  g_ptr_array_add (self->secrets, g_strdup (secret));
  compile (self);
}

/* ------------------------------------------------------------------------------------ matching */

static int
hex_pair (const char *p)
{
  int high = g_ascii_xdigit_value (p[0]);
  int low = high < 0 ? -1 : g_ascii_xdigit_value (p[1]);
  return low < 0 ? -1 : high << 4 | low;
}

/* What an escape at @p stands for, as UTF-8: returns the bytes read, 0 if it is none. */
static guint
read_escape (const char *p, gsize left, char out[6], guint *out_len)
{
  *out_len = 1;
  if (p[0] == '%')
    {
      int byte = left >= 3 ? hex_pair (p + 1) : -1;
      out[0] = (char) byte;
      return byte < 0 ? 0 : 3;
    }
  if (p[0] != '\\' || left < 2)
    return 0;
  if (p[1] == 'u')
    {
      int high = left >= 6 ? hex_pair (p + 2) : -1;
      int low = high < 0 ? -1 : hex_pair (p + 4);
      if (low < 0)
        return 0;
      *out_len = (guint) g_unichar_to_utf8 ((gunichar) (high << 8 | low), out);
      return 6;
    }
  static const char names[] = "\"\\/bfnrt";
  static const char values[] = "\"\\/\b\f\n\r\t";
  const char *name = p[1] ? strchr (names, p[1]) : NULL;
  if (!name)
    return 0;
  out[0] = values[name - names];
  return 2;
}

/* Was the text cut here ("abcdef…")? Then the beginning of a secret is one too. */
static gboolean
is_cut (const char *p, gsize left)
{
  return left >= 3 && memcmp (p, "…", 3) == 0;
}

/* @out_stop: how far it read. */
static gsize
match_plain (const Needle *needle, const char *p, gsize left, gsize *out_stop)
{
  gsize n = 0;
  while (n < needle->len && n < left && fold (needle->form, p[n]) == needle->bytes[n])
    n++;
  *out_stop = n;
  if (n == needle->len)
    return n;
  return n >= DBR_MASK_MIN_BYTES && is_cut (p + n, left - n) ? n : 0;
}

/* In a form, a blank is written as a plus. */
static gboolean
is_form_blank (const Needle *needle, char found, char wanted)
{
  return needle->form == FORM_RAW && found == '+' && wanted == ' ';
}

static gsize
match_escaped (const Needle *needle, const char *p, gsize left)
{
  gsize at = 0, matched = 0;
  while (matched < needle->len)
    {
      if (at == left)
        return 0;
      char decoded[6];
      guint n = 0;
      guint read = read_escape (p + at, left - at, decoded, &n);
      for (guint i = 0; read > 0 && i < n; i++)
        if (matched + i >= needle->len
            || fold (needle->form, decoded[i]) != needle->bytes[matched + i])
          read = 0;
      if (read == 0)
        {
          if (fold (needle->form, p[at]) != needle->bytes[matched]
              && !is_form_blank (needle, p[at], needle->bytes[matched]))
            return matched >= DBR_MASK_MIN_BYTES && is_cut (p + at, left - at) ? at : 0;
          read = n = 1;
        }
      at += read;
      matched += n;
    }
  return at;
}

/* How many bytes of the text at @p the needle covers; 0: it isn't there. A secret that holds
 * backslashes or percent signs itself reads differently in both ways. */
static gsize
match (const Needle *needle, const char *p, gsize left)
{
  gsize stop = 0;
  gsize n = match_plain (needle, p, left, &stop);
  if (n > 0)
    return n;
  /* Where no escape was met, the other way reads the same and ends there too. */
  for (gsize i = 0; i <= stop && i < left; i++)
    if (is_escape (p[i]))
      return match_escaped (needle, p, left);
  return 0;
}

static gsize
longest_match (const DbrMask *self, const GArray *candidates, const char *p, gsize left)
{
  gsize longest = 0;
  for (guint i = 0; i < candidates->len; i++)
    {
      guint index = g_array_index (candidates, guint, i);
      gsize n = match (&g_array_index (self->needles, Needle, index), p, left);
      longest = MAX (longest, n);
    }
  return longest;
}

static void
find_own (const DbrMask *self, const char *text, gsize len, GArray **ranges)
{
  for (gsize i = 0; i < len; i++)
    {
      const GArray *candidates = self->starts[(guint8) text[i]];
      if (G_LIKELY (!candidates))
        continue;
      /* Behind a plain byte the next one tells most places apart: every needle is longer. */
      if (!is_escape (text[i]) && i + 1 < len && !self->goes_on[(guint8) text[i + 1]])
        continue;
      gsize n = longest_match (self, candidates, text + i, len - i);
      if (n == 0)
        continue;
      dbr_mask_add_range (ranges, i, i + n);
    }
}

static int
compare_ranges (gconstpointer a, gconstpointer b)
{
  const DbrMaskRange *first = a;
  const DbrMaskRange *second = b;
  if (first->from != second->from)
    return first->from < second->from ? -1 : 1;
  return first->to < second->to ? -1 : first->to > second->to;
}

static void
replace (GString *text, gsize from, GArray *ranges)
{
  g_autofree char *old = g_strndup (text->str + from, text->len - from);
  gsize old_len = text->len - from;
  gsize done = 0;
  g_string_truncate (text, from);
  for (guint i = 0; i < ranges->len;)
    {
      DbrMaskRange range = g_array_index (ranges, DbrMaskRange, i++);
      for (; i < ranges->len && g_array_index (ranges, DbrMaskRange, i).from <= range.to; i++)
        range.to = MAX (range.to, g_array_index (ranges, DbrMaskRange, i).to);
      g_string_append_len (text, old + done, (gssize) (range.from - done));
      g_string_append (text, DBR_MASK_TEXT);
      done = range.to;
    }
  g_string_append_len (text, old + done, (gssize) (old_len - done));
}

void
dbr_mask_apply (const DbrMask *self, GString *text, gsize from, DbrMaskFlags flags)
{
  if (from >= text->len)
    return;
  g_autoptr (GArray) ranges = NULL;
  if (self && self->needles->len > 0)
    find_own (self, text->str + from, text->len - from, &ranges);
  if (flags & DBR_MASK_SHAPES)
    dbr_mask_find_shapes (text->str + from, text->len - from, &ranges);
  if (ranges == NULL)
    return;
  g_array_sort (ranges, compare_ranges);
  replace (text, from, ranges);
}
