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

/* Feeds bytes. TRUE: all were taken; FALSE: self->state is LEX_FAILED or LEX_STOPPED. */
static G_ALWAYS_INLINE inline gboolean
lex_run (
    DbrJsonLexer *self, const guint8 *bytes, gsize n, DbrJsonTokenFunc emit, gpointer user_data)
{
  const guint8 *p = bytes;
  const guint8 *const end = n ? bytes + n : bytes; /* no bytes may be a NULL pointer */
  const guint64 base = self->offset;

#define LEX_AT ((guint64) (p - bytes) + base)
#define LEX_BAD(code) return lex_fail (self, (code), self->state, *p, LEX_AT)

  if (self->state >= LEX_FAILED)
    return FALSE;
  self->offset += n;
  while (p < end)
    {
      if (self->state < LEX_STRING && (dbr_json_char_class[*p] & CLASS_SPACE))
        {
          if (*p == '\n' && self->state == LEX_GAP)
            self->state = LEX_START;
          p++;
          continue;
        }
      switch (self->state)
        {
        case LEX_FIRST_ELEMENT:
          if (*p == ']')
            {
              if (!lex_end_container (self, *p, LEX_AT, emit, user_data))
                return FALSE;
              p++;
              break;
            }
          G_GNUC_FALLTHROUGH;
        case LEX_START:
        case LEX_VALUE:
          if (!lex_begin_value (self, *p, LEX_AT, emit, user_data))
            return FALSE;
          p++;
          break;
        case LEX_FIRST_KEY:
          if (*p == '}')
            {
              if (!lex_end_container (self, *p, LEX_AT, emit, user_data))
                return FALSE;
              p++;
              break;
            }
          G_GNUC_FALLTHROUGH;
        case LEX_KEY:
          if (*p != '"')
            LEX_BAD (DBR_JSON_ERROR_SYNTAX);
          self->token_start = LEX_AT;
          self->is_escaped = FALSE;
          self->is_key = TRUE;
          self->state = LEX_STRING;
          p++;
          break;
        case LEX_COLON:
          if (*p != ':')
            LEX_BAD (DBR_JSON_ERROR_SYNTAX);
          self->state = LEX_VALUE;
          p++;
          break;
        case LEX_AFTER:
          if (*p == ',')
            self->state = self->is_object[self->depth] ? LEX_KEY : LEX_VALUE;
          else if (*p != (self->is_object[self->depth] ? '}' : ']'))
            LEX_BAD (DBR_JSON_ERROR_SYNTAX);
          else if (!lex_end_container (self, *p, LEX_AT, emit, user_data))
            return FALSE;
          p++;
          break;
        case LEX_DONE:
        case LEX_GAP:
          LEX_BAD (DBR_JSON_ERROR_SYNTAX);
        case LEX_STRING:
          p = lex_skip_plain (p, end);
          if (p == end)
            break;
          if (*p == '"')
            {
              p++;
              self->state = self->is_key ? LEX_COLON : lex_after_value (self);
              if (!lex_emit (self, self->is_key ? DBR_JSON_TOKEN_KEY : DBR_JSON_TOKEN_STRING,
                             self->token_start, LEX_AT, emit, user_data))
                return FALSE;
            }
          else if (*p == '\\')
            {
              self->is_escaped = TRUE;
              self->state = LEX_ESCAPE;
              p++;
            }
          else if (*p < 0x20)
            LEX_BAD (DBR_JSON_ERROR_SYNTAX);
          else if (self->is_lax)
            p++;
          else if (!dbr_json_utf8_lead (*p, &self->need, &self->low, &self->high))
            LEX_BAD (DBR_JSON_ERROR_UTF8);
          else
            {
              self->state = LEX_UTF8;
              p++;
            }
          break;
        case LEX_UTF8:
          if (*p < self->low || *p > self->high)
            LEX_BAD (DBR_JSON_ERROR_UTF8);
          self->low = 0x80;
          self->high = 0xBF;
          if (--self->need == 0)
            self->state = LEX_STRING;
          p++;
          break;
        case LEX_ESCAPE:
          if (*p == 'u')
            {
              self->need = 4;
              self->state = LEX_HEX;
            }
          else if (*p == '\0' || !strchr ("\"\\/bfnrt", *p))
            LEX_BAD (DBR_JSON_ERROR_SYNTAX);
          else
            self->state = LEX_STRING;
          p++;
          break;
        case LEX_HEX:
          if (!g_ascii_isxdigit (*p))
            LEX_BAD (DBR_JSON_ERROR_SYNTAX);
          if (--self->need == 0)
            self->state = LEX_STRING;
          p++;
          break;
        case LEX_NUMBER:
          {
            NumState number = self->number;
            NumState next = number;
            while (p < end
                   && (next = dbr_json_number_next[number][dbr_json_number_class[*p]]) != NUM_END)
              {
                number = next;
                p++;
              }
            self->number = number;
            if (p == end)
              break;
            if (number < NUM_ZERO)
              LEX_BAD (DBR_JSON_ERROR_SYNTAX);
            self->state = lex_after_value (self);
            if (!lex_emit (self, DBR_JSON_TOKEN_NUMBER, self->token_start, LEX_AT, emit, user_data))
              return FALSE;
          }
          break;
        case LEX_LITERAL:
          if (*p != (guint8) self->literal[self->literal_at])
            LEX_BAD (DBR_JSON_ERROR_SYNTAX);
          p++;
          if (self->literal[++self->literal_at] != '\0')
            break;
          self->state = lex_after_value (self);
          if (!lex_emit (self, lex_literal_kind (self->literal), self->token_start, LEX_AT, emit,
                         user_data))
            return FALSE;
          break;
        case LEX_FAILED:
        case LEX_STOPPED:
          return FALSE;
        }
    }
  return TRUE;
#undef LEX_AT
#undef LEX_BAD
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
