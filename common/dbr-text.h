/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-text: text from strangers made safe to show, and secrets masked on the way out.
 *
 * Whatever a backend sent becomes valid UTF-8 without control or escape sequences, with bidi and
 * invisible characters shown as escapes, so that it can neither break the terminal, nor the JSON line, nor pretend to be our own words.
 * Source: Unicode 15 general categories Cc, Cf, Zl, Zp; ECMA-48 control sequences.
 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef enum
{
  DBR_TEXT_ONE_LINE, /* line breaks of any kind become the two characters \n */
  DBR_TEXT_LINES,    /* \n stays (CR LF and CR become \n; U+2028/2029/0085 are shown as escapes) */
} DbrTextMode;

/* Appends @bytes: bad UTF-8 (overlong, surrogates, truncated) becomes U+FFFD; ANSI/ECMA-48 sequences are removed whole; other C0/C1 controls, NUL and DEL are removed, tab becomes a space in one-line mode; bidi, zero width, tag and other
 * invisible characters (Cf, U+115F, U+3164...) are shown as \u{202E}. Emoji joiners (ZWJ between emoji, VS16) stay. len -1: NUL-terminated. */
void
dbr_text_append_safe (GString *out, const char *bytes, gssize len, DbrTextMode mode);
/* Only makes UTF-8 valid. */
void
dbr_text_append_valid (GString *out, const char *bytes, gssize len);
/* The largest prefix of at most max_bytes that ends at a code point boundary. */
gsize
dbr_text_cut_length (const char *text, gsize len, gsize max_bytes);
/* Appends text as a JSON string with quotes; @text must be valid UTF-8. Escapes ", \, C0, DEL, U+2028/9. Fast: runs of plain bytes are copied whole. */
void
dbr_text_append_json_string (GString *out, const char *text, gssize len);

/* ---- masking */
#define DBR_MASK_TEXT "[masked]"
#define DBR_MASK_MIN_BYTES 8u /* shorter secrets are not masked: they would mask ordinary words */

typedef struct _DbrMask DbrMask;
DbrMask *
dbr_mask_new (void);
DbrMask *
dbr_mask_ref (DbrMask *self);
void
dbr_mask_unref (DbrMask *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DbrMask, dbr_mask_unref)
/* Remembers a secret: it is then masked raw, in base64 (all three alignments, standard and URL
 * alphabet, wrapped or not), hex, percent-encoded, as a form, JSON and HTML escape it, in up to four
 * such escapes of each other, and its beginning (8 bytes and more) where a text was cut with "…" or
 * "...". At most 64 secrets: the first 8 (the configuration's) stay, then the oldest
 * (a sign-in's token) goes. */
void
dbr_mask_add (DbrMask *self, const char *secret);
typedef enum
{
  DBR_MASK_OWN = 0, /* only our own secrets */
  /* and well-known shapes: JWTs, Bearer/Basic headers, user:pass@ in URLs, password=, token=,
   * secret= and api_key= values, AKIA..., ghp_..., PEM private keys */
  DBR_MASK_SHAPES = 1 << 0,
  /* our own are looked for later, over more text: here only where a shape would hide a part of one */
  DBR_MASK_OWN_LATER = 1 << 1,
} DbrMaskFlags;
/* Masks in place everything from byte @from on. @self: nullable (then no own secrets). */
void
dbr_mask_apply (const DbrMask *self, GString *text, gsize from, DbrMaskFlags flags);

/* A URL for messages: scheme, host, port and path; user info, query and fragment gone. */
char *
dbr_text_redact_url (const char *url);

/* @text as a POSIX shell takes it for one word: as it stands where that is plain, else quoted (transfer full). */
char *
dbr_text_dup_shell_word (const char *text);
/* A sentence that ends with others' words: a full stop follows unless they end one themselves (". ? ! …"). (transfer full) */
char *
dbr_text_dup_sentence (const char *format, ...) G_GNUC_PRINTF (1, 2);

G_END_DECLS
