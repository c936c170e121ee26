/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-mask: secrets out of a text that is about to be shown; the contract is in dbr-text.h.
 *
 * Own secrets are compared through a decoder that reads escapes of all kinds as the bytes they stand
 * for, so every mixture of raw and escaped is one comparison; escapes in escapes are decoded and
 * searched again. Whatever matches is collected as ranges first and replaced afterwards: overlapping
 * and adjoining finds become one mark.
 */
#include "config.h"

#include "dbr-mask-decode.h"
#include "dbr-mask-shapes.h"
#include "dbr-text.h"
#include <string.h>

#define MAX_SECRETS 64u
/* The first ones come from the configuration and stay; after these the oldest is a sign-in's token.
 */
#define KEPT_SECRETS 8u

/* Escapes of escapes that are read, beside the outermost. */
#define MAX_ESCAPE_DEPTH 3u

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
      if (DBR_MASK_IS_ESCAPE (i) || fold (form, (char) i) == bytes[0])
        add_start (self, (guint8) i, index);
      if (DBR_MASK_IS_ESCAPE (i) || fold (form, (char) i) == bytes[1])
        self->goes_on[i] = TRUE;
    }
  if (form != FORM_RAW)
    self->goes_on['\n'] = self->goes_on['\r'] = TRUE;
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
  return n >= DBR_MASK_MIN_BYTES && dbr_mask_is_cut (p + n, left - n) ? n : 0;
}

/* In a form, a blank is written as a plus. */
static gboolean
is_form_blank (const Needle *needle, char found, char wanted)
{
  return needle->form == FORM_RAW && found == '+' && wanted == ' ';
}

/* Long base64 and hex are written in lines, which may be indented. */
static gboolean
is_wrap (const Needle *needle, char c)
{
  return needle->form != FORM_RAW && (c == '\n' || c == '\r' || c == ' ');
}

/* The bytes of an escape, if it goes on with the needle at @matched; else 0. */
static guint
match_escape (const Needle *needle, gsize matched, const char *p, gsize left, guint *out_matched)
{
  char decoded[6];
  guint read = DBR_MASK_IS_ESCAPE (*p) ? dbr_mask_read_escape (p, left, decoded, out_matched) : 0;
  if (read > 0 && *out_matched == 1 && matched > 0 && is_wrap (needle, decoded[0]))
    {
      *out_matched = 0;
      return read;
    }
  for (guint i = 0; read > 0 && i < *out_matched; i++)
    if (matched + i >= needle->len || fold (needle->form, decoded[i]) != needle->bytes[matched + i])
      return 0;
  return *out_matched > 0 || matched > 0 ? read : 0;
}

static gsize
match_escaped (const Needle *needle, const char *p, gsize left)
{
  gsize at = 0, matched = 0;
  while (matched < needle->len)
    {
      if (at == left)
        return 0;
      guint n = 0;
      guint read = match_escape (needle, matched, p + at, left - at, &n);
      if (read == 0)
        {
          if (matched >= DBR_MASK_MIN_BYTES && dbr_mask_is_cut (p + at, left - at))
            return at;
          read = n = 1;
          if (matched > 0 && is_wrap (needle, p[at]))
            n = 0;
          else if (fold (needle->form, p[at]) != needle->bytes[matched]
                   && !is_form_blank (needle, p[at], needle->bytes[matched]))
            return 0;
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
  if (stop > 0 && stop < left && is_wrap (needle, p[stop]))
    return match_escaped (needle, p, left);
  /* Where no escape was met, the other way reads the same and ends there too. */
  for (gsize i = 0; i <= stop && i < left; i++)
    if (DBR_MASK_IS_ESCAPE (p[i]))
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
      if (!DBR_MASK_IS_ESCAPE (text[i]) && i + 1 < len && !self->goes_on[(guint8) text[i + 1]])
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

/* Escapes in escapes: JSON in a JSON string, an address in a query. Each level is what the one
 * before stands for, and what is found there goes back the same way. */
static void
find_nested (const DbrMask *self, const char *text, gsize len, guint depth, GArray **ranges)
{
  if (depth == MAX_ESCAPE_DEPTH)
    return;
  GString *decoded = dbr_mask_decode (text, len);
  if (!decoded)
    return;
  g_autoptr (GArray) found = NULL;
  find_own (self, decoded->str, decoded->len, &found);
  find_nested (self, decoded->str, decoded->len, depth + 1, &found);
  if (found)
    g_array_sort (found, compare_ranges);
  DbrMaskWalk from = { text, len, 0, 0 };
  for (guint i = 0; found && i < found->len; i++)
    {
      DbrMaskRange range = g_array_index (found, DbrMaskRange, i);
      gsize start = dbr_mask_walk_to (&from, range.from, FALSE);
      DbrMaskWalk to = from;
      dbr_mask_add_range (ranges, start, dbr_mask_walk_to (&to, range.to, TRUE));
    }
  g_string_free (decoded, TRUE);
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
  if (flags & DBR_MASK_SHAPES)
    dbr_mask_find_shapes (text->str + from, text->len - from, &ranges);
  gboolean is_later = (flags & DBR_MASK_OWN_LATER) && ranges == NULL;
  if (self && self->needles->len > 0 && !is_later)
    {
      find_own (self, text->str + from, text->len - from, &ranges);
      find_nested (self, text->str + from, text->len - from, 0, &ranges);
    }
  if (ranges == NULL)
    return;
  g_array_sort (ranges, compare_ranges);
  replace (text, from, ranges);
}
