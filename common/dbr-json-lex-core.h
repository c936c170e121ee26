/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The grammar of JSON as one loop over states, private to common/. It is compiled twice: by
 * dbr-json-lex.c with a callback, and by dbr-json-doc.c with the index builder inlined in its
 * place. So there is one grammar, and the in-memory reader still runs at the speed of a
 * hand-written one.
 */
#pragma once

#include "dbr-json-lex.h"

#include <string.h>

#define DBR_JSON_DEPTH_CAP \
  4096 /* no max_depth goes beyond: equality and composed output recurse \
        */

typedef enum
{
  LEX_START, /* before a top-level value */
  LEX_VALUE,
  LEX_FIRST_ELEMENT,
  LEX_FIRST_KEY,
  LEX_KEY,
  LEX_COLON,
  LEX_AFTER, /* a value, inside a container */
  LEX_DONE,
  LEX_GAP, /* after a line's value, before the line feed */
  LEX_STRING,
  LEX_ESCAPE,
  LEX_HEX,
  LEX_UTF8,
  LEX_NUMBER,
  LEX_LITERAL,
  LEX_FAILED,
  LEX_STOPPED,
} LexState;

/* States of a number; those from NUM_ZERO on may end it. */
typedef enum
{
  NUM_END, /* the byte does not go on */
  NUM_MINUS,
  NUM_DOT,
  NUM_E,
  NUM_SIGN,
  NUM_ZERO,
  NUM_INT,
  NUM_FRACTION,
  NUM_EXPONENT,
  NUM_STATES,
} NumState;

struct _DbrJsonLexer
{
  guint64 offset; /* of the next byte to be fed */
  guint64 token_start;
  LexState state;
  NumState number;
  guint depth;
  guint max_depth;
  gboolean is_lines;
  gboolean is_lax;
  gboolean is_key;
  gboolean is_escaped;
  guint8 need; /* hexadecimal digits or continuation bytes still to come */
  guint8 low;  /* bounds of the next continuation byte */
  guint8 high;
  guint8 literal_at;
  const char *literal;
  /* what went wrong */
  DbrJsonError error_code;
  LexState error_state;
  int error_found; /* a byte, or -1 for the end */
  guint64 error_at;
  guint8 is_object[]; /* by depth, from 1 */
};

extern const guint8 dbr_json_char_class[256];
#define CLASS_SPACE 1u /* white space between tokens */
#define CLASS_STRING_STOP \
  2u /* not a plain byte of a string: quote, backslash, control, non-ASCII */

extern const guint8 dbr_json_number_next[NUM_STATES][8];
extern const guint8 dbr_json_number_class[256]; /* column of the table above */

void
dbr_json_lexer_init (DbrJsonLexer *self, const DbrJsonLimits *limits, DbrJsonLexerFlags flags);
gsize
dbr_json_lexer_sizeof (const DbrJsonLimits *limits);
void
dbr_json_lexer_set_error (const DbrJsonLexer *self, GError **error);
/* Reads the lead byte of a sequence: continuation bytes to come and the bounds of the first; FALSE
 * for a byte that cannot lead. */
gboolean
dbr_json_utf8_lead (guint8 byte, guint8 *out_need, guint8 *out_low, guint8 *out_high);

static inline gboolean
lex_fail (DbrJsonLexer *self, DbrJsonError code, LexState state, int found, guint64 at)
{
  self->error_code = code;
  self->error_state = state;
  self->error_found = found;
  self->error_at = at;
  self->state = LEX_FAILED;
  return FALSE;
}

/* The first byte from @p on that is not a plain byte of a string, eight bytes at a time. */
static inline const guint8 *
lex_skip_plain (const guint8 *p, const guint8 *end)
{
#if G_BYTE_ORDER == G_LITTLE_ENDIAN
  const guint64 ones = G_GUINT64_CONSTANT (0x0101010101010101);
  const guint64 tops = ones << 7;
  while (end - p >= 8)
    {
      guint64 word;
      memcpy (&word, p, 8);
      guint64 quote = word ^ (ones * '"');
      guint64 backslash = word ^ (ones * '\\');
      /* A borrow can only mark bytes above a true mark, and only the lowest mark is used. */
      guint64 marks = (((quote - ones) & ~quote) | ((backslash - ones) & ~backslash)
                       | ((word - ones * 0x20) & ~word) | word)
                      & tops;
      if (marks)
        return p + (__builtin_ctzll (marks) >> 3);
      p += 8;
    }
#endif
  while (p < end && !(dbr_json_char_class[*p] & CLASS_STRING_STOP))
    p++;
  return p;
}

static inline LexState
lex_after_value (const DbrJsonLexer *self)
{
  return self->depth ? LEX_AFTER : self->is_lines ? LEX_GAP : LEX_DONE;
}

static inline DbrJsonTokenKind
lex_literal_kind (const char *literal)
{
  return literal[0] == 't'   ? DBR_JSON_TOKEN_TRUE
         : literal[0] == 'f' ? DBR_JSON_TOKEN_FALSE
                             : DBR_JSON_TOKEN_NULL;
}

/* One complete token; sets the state that follows a value. */
static G_ALWAYS_INLINE inline gboolean
lex_emit (DbrJsonLexer *self,
          DbrJsonTokenKind kind,
          guint64 start,
          guint64 end,
          DbrJsonTokenFunc emit,
          gpointer user_data)
{
  DbrJsonToken token = { kind, self->is_escaped, self->depth, start, end };
  if (G_LIKELY (emit (&token, user_data)))
    return TRUE;
  self->state = LEX_STOPPED;
  return FALSE;
}

/* A byte at which a value may begin. FALSE: it may not. */
static G_ALWAYS_INLINE inline gboolean
lex_begin_value (
    DbrJsonLexer *self, guint8 byte, guint64 at, DbrJsonTokenFunc emit, gpointer user_data)
{
  LexState state = self->state;

  self->token_start = at;
  self->is_escaped = FALSE;
  switch (byte)
    {
    case '"':
      self->is_key = FALSE;
      self->state = LEX_STRING;
      return TRUE;
    case '{':
    case '[':
      if (self->depth == self->max_depth)
        return lex_fail (self, DBR_JSON_ERROR_DEPTH, state, byte, at);
      self->state = byte == '{' ? LEX_FIRST_KEY : LEX_FIRST_ELEMENT;
      if (!lex_emit (self, byte == '{' ? DBR_JSON_TOKEN_BEGIN_OBJECT : DBR_JSON_TOKEN_BEGIN_ARRAY,
                     at, at + 1, emit, user_data))
        return FALSE;
      self->is_object[++self->depth] = byte == '{';
      return TRUE;
    case 't':
    case 'f':
    case 'n':
      self->literal = byte == 't' ? "true" : byte == 'f' ? "false" : "null";
      self->literal_at = 1;
      self->state = LEX_LITERAL;
      return TRUE;
    default:
      if (byte == '-' || (byte >= '0' && byte <= '9'))
        {
          self->number = byte == '-' ? NUM_MINUS : byte == '0' ? NUM_ZERO : NUM_INT;
          self->state = LEX_NUMBER;
          return TRUE;
        }
      return lex_fail (self, DBR_JSON_ERROR_SYNTAX, state, byte, at);
    }
}

static G_ALWAYS_INLINE inline gboolean
lex_end_container (
    DbrJsonLexer *self, guint8 byte, guint64 at, DbrJsonTokenFunc emit, gpointer user_data)
{
  self->depth--;
  self->is_escaped = FALSE;
  self->state = lex_after_value (self);
  return lex_emit (self, byte == '}' ? DBR_JSON_TOKEN_END_OBJECT : DBR_JSON_TOKEN_END_ARRAY, at,
                   at + 1, emit, user_data);
}

/* One byte between tokens, white space apart; it is taken when TRUE comes back. */
static G_ALWAYS_INLINE inline gboolean
lex_between (DbrJsonLexer *self, guint8 byte, guint64 at, DbrJsonTokenFunc emit, gpointer user_data)
{
  switch (self->state)
    {
    case LEX_FIRST_ELEMENT:
      if (byte == ']')
        return lex_end_container (self, byte, at, emit, user_data);
      G_GNUC_FALLTHROUGH;
    case LEX_START:
    case LEX_VALUE:
      return lex_begin_value (self, byte, at, emit, user_data);
    case LEX_FIRST_KEY:
      if (byte == '}')
        return lex_end_container (self, byte, at, emit, user_data);
      G_GNUC_FALLTHROUGH;
    case LEX_KEY:
      if (byte != '"')
        break;
      self->token_start = at;
      self->is_escaped = FALSE;
      self->is_key = TRUE;
      self->state = LEX_STRING;
      return TRUE;
    case LEX_COLON:
      if (byte != ':')
        break;
      self->state = LEX_VALUE;
      return TRUE;
    case LEX_AFTER:
      if (byte == (self->is_object[self->depth] ? '}' : ']'))
        return lex_end_container (self, byte, at, emit, user_data);
      if (byte != ',')
        break;
      self->state = self->is_object[self->depth] ? LEX_KEY : LEX_VALUE;
      return TRUE;
    case LEX_DONE:
    case LEX_GAP:
    case LEX_STRING:
    case LEX_ESCAPE:
    case LEX_HEX:
    case LEX_UTF8:
    case LEX_NUMBER:
    case LEX_LITERAL:
    case LEX_FAILED:
    case LEX_STOPPED:
      break;
    }
  return lex_fail (self, DBR_JSON_ERROR_SYNTAX, self->state, byte, at);
}

/* A byte of an escape or of a UTF-8 sequence that has begun. */
static inline gboolean
lex_string_rest (DbrJsonLexer *self, guint8 byte, guint64 at)
{
  LexState state = self->state;

  if (state == LEX_UTF8)
    {
      if (byte < self->low || byte > self->high)
        return lex_fail (self, DBR_JSON_ERROR_UTF8, state, byte, at);
      self->low = 0x80;
      self->high = 0xBF;
    }
  else if (state == LEX_ESCAPE && byte == 'u')
    {
      self->need = 4;
      self->state = LEX_HEX;
      return TRUE;
    }
  else if (state == LEX_ESCAPE ? byte == '\0' || !strchr ("\"\\/bfnrt", byte)
                               : !g_ascii_isxdigit (byte))
    return lex_fail (self, DBR_JSON_ERROR_SYNTAX, state, byte, at);
  if (state == LEX_ESCAPE || --self->need == 0)
    self->state = LEX_STRING;
  return TRUE;
}

/* A byte of a string that is neither plain nor the closing quote. */
static inline gboolean
lex_string_byte (DbrJsonLexer *self, guint8 byte, guint64 at)
{
  if (byte == '\\')
    {
      self->is_escaped = TRUE;
      self->state = LEX_ESCAPE;
      return TRUE;
    }
  if (byte < 0x20)
    return lex_fail (self, DBR_JSON_ERROR_SYNTAX, LEX_STRING, byte, at);
  if (self->is_lax)
    return TRUE;
  if (!dbr_json_utf8_lead (byte, &self->need, &self->low, &self->high))
    return lex_fail (self, DBR_JSON_ERROR_UTF8, LEX_STRING, byte, at);
  self->state = LEX_UTF8;
  return TRUE;
}

/* Goes on in a number; self->number tells where it stands. */
static inline const guint8 *
lex_skip_number (DbrJsonLexer *self, const guint8 *p, const guint8 *end)
{
  guint8 number = self->number;
  guint8 next;

  while (p < end && (next = dbr_json_number_next[number][dbr_json_number_class[*p]]) != NUM_END)
    {
      number = next;
      p++;
    }
  self->number = number;
  return p;
}

/* Goes on in a token at @p, which is the stream's byte @at. Returns how far it came, or NULL. */
static G_ALWAYS_INLINE inline const guint8 *
lex_inside (DbrJsonLexer *self,
            const guint8 *p,
            const guint8 *end,
            guint64 at,
            DbrJsonTokenFunc emit,
            gpointer user_data)
{
  const guint8 *const from = p;
  DbrJsonTokenKind kind;

  if (self->state == LEX_STRING)
    {
      p = lex_skip_plain (p, end);
      if (p == end)
        return p;
      if (*p != '"')
        return lex_string_byte (self, *p, at + (guint64) (p - from)) ? p + 1 : NULL;
      p++;
      kind = self->is_key ? DBR_JSON_TOKEN_KEY : DBR_JSON_TOKEN_STRING;
    }
  else if (self->state == LEX_NUMBER)
    {
      p = lex_skip_number (self, p, end);
      if (p == end)
        return p;
      if (self->number < NUM_ZERO)
        {
          lex_fail (self, DBR_JSON_ERROR_SYNTAX, LEX_NUMBER, *p, at + (guint64) (p - from));
          return NULL;
        }
      kind = DBR_JSON_TOKEN_NUMBER;
    }
  else if (self->state == LEX_LITERAL)
    {
      for (; p < end && self->literal[self->literal_at] != '\0'; p++, self->literal_at++)
        if (*p != (guint8) self->literal[self->literal_at])
          {
            lex_fail (self, DBR_JSON_ERROR_SYNTAX, LEX_LITERAL, *p, at + (guint64) (p - from));
            return NULL;
          }
      if (self->literal[self->literal_at] != '\0')
        return p;
      kind = lex_literal_kind (self->literal);
    }
  else
    return lex_string_rest (self, *p, at) ? p + 1 : NULL;
  self->state = kind == DBR_JSON_TOKEN_KEY ? LEX_COLON : lex_after_value (self);
  at += (guint64) (p - from);
  return lex_emit (self, kind, self->token_start, at, emit, user_data) ? p : NULL;
}

/* What nearly always follows a key or a value at once, without the general way's choices. */
static G_ALWAYS_INLINE inline const guint8 *
lex_usual_separator (DbrJsonLexer *self, const guint8 *p, const guint8 *end)
{
  if (p == end)
    return p;
  if (self->state == LEX_COLON && *p == ':')
    self->state = LEX_VALUE;
  else if (self->state == LEX_AFTER && *p == ',')
    self->state = self->is_object[self->depth] ? LEX_KEY : LEX_VALUE;
  else
    return p;
  return p + 1;
}

/* Feeds bytes. TRUE: all were taken; FALSE: self->state is LEX_FAILED or LEX_STOPPED. */
static G_ALWAYS_INLINE inline gboolean
lex_run (
    DbrJsonLexer *self, const guint8 *bytes, gsize n, DbrJsonTokenFunc emit, gpointer user_data)
{
  const guint8 *p = bytes;
  const guint8 *const end = n ? bytes + n : bytes; /* no bytes may be a NULL pointer */
  const guint64 base = self->offset;

  if (self->state >= LEX_FAILED)
    return FALSE;
  self->offset += n;
  while (p < end)
    {
      guint64 at = base + (guint64) (p - bytes);
      if (self->state >= LEX_STRING)
        {
          p = lex_inside (self, p, end, at, emit, user_data);
          if (!p)
            return FALSE;
          p = lex_usual_separator (self, p, end);
        }
      else if (dbr_json_char_class[*p] & CLASS_SPACE)
        {
          if (*p == '\n' && self->state == LEX_GAP)
            self->state = LEX_START;
          p++;
        }
      else if (lex_between (self, *p, at, emit, user_data))
        p++;
      else
        return FALSE;
    }
  return TRUE;
}

/* The input has ended. FALSE: as lex_run(). */
static G_ALWAYS_INLINE inline gboolean
lex_end (DbrJsonLexer *self, DbrJsonTokenFunc emit, gpointer user_data)
{
  if (self->state >= LEX_FAILED)
    return FALSE;
  if (self->state == LEX_NUMBER && self->number >= NUM_ZERO)
    {
      self->state = lex_after_value (self);
      /* Inside a container the text is cut off, and maybe the number too: it is no token. */
      if (self->depth == 0
          && !lex_emit (self, DBR_JSON_TOKEN_NUMBER, self->token_start, self->offset, emit,
                        user_data))
        return FALSE;
    }
  if (self->state == LEX_DONE || self->state == LEX_GAP
      || (self->state == LEX_START && self->is_lines))
    return TRUE;
  return lex_fail (self, DBR_JSON_ERROR_SYNTAX, self->state, -1, self->offset);
}
