/* SPDX-License-Identifier: Apache-2.0 */
/* dbr-mask-decode: what escapes in a text stand for. Private to dbr-mask. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Bytes that an escape can begin with: percent sign, backslash, ampersand. */
#define DBR_MASK_IS_ESCAPE(c) ((c) == '%' || (c) == '\\' || (c) == '&')

/* What the escape at the beginning of @p stands for: percent-encoding (RFC 3986 section 2.1), JSON's
 * escapes with surrogate pairs (RFC 8259 section 7), \' and \xNN as programs print strings,
 * HTML's character references of ASCII (`&amp;`, `&#39;`, `&#x27;`), and \u{200B}, by which an answer
 * shows what can't be seen. A NUL and what can't be seen stand for nothing: @out_len is then 0.
 * Returns: the bytes read; 0: no escape stands here. */
guint
dbr_mask_read_escape (const char *p, gsize left, char out[6], guint *out_len);

/* The text with each escape replaced by what it stands for, once; NULL (transfer full): it has none.
 */
GString *
dbr_mask_decode (const char *text, gsize len);

/* Turns offsets in the decoded text, which rise, into those of @text. */
typedef struct
{
  const char *text;
  gsize len;
  gsize at, decoded_at; /* both 0 at first */
} DbrMaskWalk;

/* The offset in the text of what stands at @decoded; inside of an escape its beginning, or with
 * @is_end what follows it. */
gsize
dbr_mask_walk_to (DbrMaskWalk *self, gsize decoded, gboolean is_end);

/* Was the text cut at @p ("abcdef…", "abcdef..."), maybe inside of an escape? */
gboolean
dbr_mask_is_cut (const char *p, gsize left);

G_END_DECLS
