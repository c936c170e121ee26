/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-json-lex: the tokenizer with a callback, the tables of its grammar and the words of its
 * errors. The loop itself is in dbr-json-lex-core.h, shared with the index.
 */
#include "config.h"

#include "dbr-json-lex-core.h"

G_DEFINE_QUARK (dbr_json_error, dbr_json_error)

#define STOP CLASS_STRING_STOP
const guint8 dbr_json_char_class[256] = {
  [0 ... 8] = STOP,
  ['\t'] = CLASS_SPACE | STOP,
  ['\n'] = CLASS_SPACE | STOP,
  [11 ... 12] = STOP,
  ['\r'] = CLASS_SPACE | STOP,
  [14 ... 0x1f] = STOP,
  [' '] = CLASS_SPACE,
  ['"'] = STOP,
  ['\\'] = STOP,
  [0x80 ... 0xff] = STOP,
};
#undef STOP

/* Columns of the number table. */
enum
{
  COL_OTHER,
  COL_ZERO,
  COL_DIGIT,
  COL_DOT,
  COL_E,
  COL_MINUS,
  COL_PLUS,
};

const guint8 dbr_json_number_class[256] = {
  ['0'] = COL_ZERO, ['1' ... '9'] = COL_DIGIT, ['.'] = COL_DOT,  ['e'] = COL_E,
  ['E'] = COL_E,    ['-'] = COL_MINUS,         ['+'] = COL_PLUS,
};

#define ROW(zero, digit, dot, e, sign) \
  { \
    [COL_ZERO] = (zero), [COL_DIGIT] = (digit), [COL_DOT] = (dot), [COL_E] = (e), \
    [COL_MINUS] = (sign), [COL_PLUS] = (sign) \
  }
const guint8 dbr_json_number_next[NUM_STATES][8] = {
  [NUM_MINUS] = ROW (NUM_ZERO, NUM_INT, NUM_END, NUM_END, NUM_END),
  [NUM_ZERO] = ROW (NUM_END, NUM_END, NUM_DOT, NUM_E, NUM_END),
  [NUM_INT] = ROW (NUM_INT, NUM_INT, NUM_DOT, NUM_E, NUM_END),
  [NUM_DOT] = ROW (NUM_FRACTION, NUM_FRACTION, NUM_END, NUM_END, NUM_END),
  [NUM_FRACTION] = ROW (NUM_FRACTION, NUM_FRACTION, NUM_END, NUM_E, NUM_END),
  [NUM_E] = ROW (NUM_EXPONENT, NUM_EXPONENT, NUM_END, NUM_END, NUM_SIGN),
  [NUM_SIGN] = ROW (NUM_EXPONENT, NUM_EXPONENT, NUM_END, NUM_END, NUM_END),
  [NUM_EXPONENT] = ROW (NUM_EXPONENT, NUM_EXPONENT, NUM_END, NUM_END, NUM_END),
};
#undef ROW

/* Unicode 15.0, table 3-7: overlong forms, surrogates and what lies beyond U+10FFFF are left out.
 */
gboolean
dbr_json_utf8_lead (guint8 byte, guint8 *out_need, guint8 *out_low, guint8 *out_high)
{
  if (byte < 0xC2 || byte > 0xF4)
    return FALSE;
  *out_need = byte < 0xE0 ? 1 : byte < 0xF0 ? 2 : 3;
  *out_low = byte == 0xE0 ? 0xA0 : byte == 0xF0 ? 0x90 : 0x80;
  *out_high = byte == 0xED ? 0x9F : byte == 0xF4 ? 0x8F : 0xBF;
  return TRUE;
}

static guint
limits_max_depth (const DbrJsonLimits *limits)
{
  return limits && limits->max_depth ? MIN (limits->max_depth, DBR_JSON_DEPTH_CAP)
                                     : DBR_JSON_MAX_DEPTH;
}

gsize
dbr_json_lexer_sizeof (const DbrJsonLimits *limits)
{
  return sizeof (DbrJsonLexer) + limits_max_depth (limits) + 1;
}

void
dbr_json_lexer_init (DbrJsonLexer *self, const DbrJsonLimits *limits, DbrJsonLexerFlags flags)
{
  *self = (DbrJsonLexer){
    .state = LEX_START,
    .max_depth = limits_max_depth (limits),
    .is_lines = (flags & DBR_JSON_LEXER_LINES) != 0,
    .is_lax = limits && (limits->flags & DBR_JSON_LAX_UTF8),
  };
}

DbrJsonLexer *
dbr_json_lexer_new (const DbrJsonLimits *limits, DbrJsonLexerFlags flags)
{
  DbrJsonLexer *self = g_malloc0 (dbr_json_lexer_sizeof (limits));
  dbr_json_lexer_init (self, limits, flags);
  return self;
}

void
dbr_json_lexer_free (DbrJsonLexer *self)
{
  g_free (self);
}

static const char *
expected_text (const DbrJsonLexer *self)
{
  switch (self->error_state)
    {
    case LEX_START:
    case LEX_VALUE:
      return "a value";
    case LEX_FIRST_ELEMENT:
      return "a value or ']'";
    case LEX_FIRST_KEY:
      return "a name in quotes or '}'";
    case LEX_KEY:
      return "a name in quotes";
    case LEX_COLON:
      return "':'";
    case LEX_AFTER:
      return self->is_object[self->depth] ? "',' or '}'" : "',' or ']'";
    case LEX_DONE:
      return "the end";
    case LEX_GAP:
      return "a line feed";
    case LEX_STRING:
      return "a character of a string or its closing quote";
    case LEX_ESCAPE:
      return "one of \"\\/bfnrtu after a backslash";
    case LEX_HEX:
      return "four hexadecimal digits after \\u";
    case LEX_UTF8:
      return "the rest of a UTF-8 sequence";
    case LEX_NUMBER:
      return "a digit";
    case LEX_LITERAL:
      return "true, false or null";
    case LEX_FAILED:
    case LEX_STOPPED:
      break;
    }
  return "nothing";
}

void
dbr_json_lexer_set_error (const DbrJsonLexer *self, GError **error)
{
  char found[24];

  if (self->error_found < 0)
    g_strlcpy (found, "the end", sizeof found);
  else if (g_ascii_isgraph (self->error_found))
    g_snprintf (found, sizeof found, "'%c'", self->error_found);
  else
    g_snprintf (found, sizeof found, "byte 0x%02X", (guint) self->error_found);

  if (self->error_code == DBR_JSON_ERROR_DEPTH)
    g_set_error (error, DBR_JSON_ERROR, DBR_JSON_ERROR_DEPTH,
                 "JSON nested deeper than %u levels at byte %" G_GUINT64_FORMAT, self->max_depth,
                 self->error_at);
  else if (self->error_code == DBR_JSON_ERROR_UTF8)
    g_set_error (error, DBR_JSON_ERROR, DBR_JSON_ERROR_UTF8,
                 "not valid UTF-8: %s within a string at byte %" G_GUINT64_FORMAT, found,
                 self->error_at);
  else
    g_set_error (error, DBR_JSON_ERROR, self->error_code,
                 "not valid JSON: expected %s, found %s at byte %" G_GUINT64_FORMAT,
                 expected_text (self), found, self->error_at);
}

static gboolean
report (const DbrJsonLexer *self, gboolean ok, GError **error)
{
  if (!ok && self->state == LEX_FAILED)
    dbr_json_lexer_set_error (self, error);
  return ok;
}

gboolean
dbr_json_lexer_push (DbrJsonLexer *self,
                     const void *bytes,
                     gsize n,
                     DbrJsonTokenFunc func,
                     gpointer user_data,
                     GError **error)
{
  return report (self, lex_run (self, bytes, n, func, user_data), error);
}

gboolean
dbr_json_lexer_finish (DbrJsonLexer *self,
                       DbrJsonTokenFunc func,
                       gpointer user_data,
                       GError **error)
{
  return report (self, lex_end (self, func, user_data), error);
}

gboolean
dbr_json_lexer_is_inside (const DbrJsonLexer *self, guint64 *out_start)
{
  *out_start = self->token_start;
  return self->state >= LEX_STRING && self->state <= LEX_LITERAL;
}

gboolean
dbr_json_lexer_is_in_key (const DbrJsonLexer *self)
{
  return self->is_key && self->state >= LEX_STRING && self->state <= LEX_UTF8;
}

guint
dbr_json_lexer_depth (const DbrJsonLexer *self)
{
  return self->depth;
}

guint64
dbr_json_lexer_offset (const DbrJsonLexer *self)
{
  return self->offset;
}
