/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-catalogue-scan: a look at a file before it is parsed.
 *
 * libxml2 compares every attribute of an element with every other one before it tells anybody of
 * them: the quarter of a million that fits into a file would take it minutes. So they are counted
 * here first, in one pass. NUL bytes are passed over, so that UTF-16 reads like ASCII.
 */
#include "config.h"

#include "catalogue/dbr-catalogue-priv.h"

typedef enum
{
  SCAN_TEXT,
  SCAN_OPEN, /* behind < */
  SCAN_BANG, /* behind <! */
  SCAN_DASH, /* behind <!- */
  SCAN_SKIP, /* in a comment, CDATA or processing instruction */
  SCAN_TAG,
} ScanState;

typedef struct
{
  ScanState state;
  char ending;      /* SCAN_SKIP: what stands before its >; - and ] twice */
  char last[2];     /* SCAN_SKIP: the two characters before */
  char quote;       /* SCAN_TAG: of the value in hand, or NUL */
  guint attributes; /* of the tag in hand */
} Scan;

static void
skip_to (Scan *scan, char ending)
{
  scan->state = SCAN_SKIP;
  scan->ending = ending;
  scan->last[0] = scan->last[1] = '\0';
}

static void
scan_skipped (Scan *scan, char c)
{
  gboolean is_single = scan->ending == '?';
  if (c == '>' && scan->last[1] == scan->ending && (is_single || scan->last[0] == scan->ending))
    scan->state = SCAN_TEXT;
  scan->last[0] = scan->last[1];
  scan->last[1] = c;
}

static void
scan_tag (Scan *scan, char c)
{
  if (scan->quote)
    scan->quote = c == scan->quote ? '\0' : scan->quote;
  else if (c == '"' || c == '\'')
    {
      scan->quote = c;
      scan->attributes++;
    }
  else if (c == '>')
    scan->state = SCAN_TEXT;
}

static void
scan_open (Scan *scan, char c)
{
  if (c == '!')
    scan->state = SCAN_BANG;
  else if (c == '?')
    skip_to (scan, '?');
  else
    {
      scan->state = SCAN_TAG;
      scan->quote = '\0';
      scan->attributes = 0;
    }
}

gboolean
dbr_catalogue_scan (const char *text, gsize len, guint *out_line)
{
  Scan scan = { .state = SCAN_TEXT };
  *out_line = 1;
  for (gsize i = 0; i < len; i++)
    {
      char c = text[i];
      *out_line += c == '\n';
      if (c == '\0')
        continue;
      switch (scan.state)
        {
        case SCAN_TEXT:
          scan.state = c == '<' ? SCAN_OPEN : SCAN_TEXT;
          break;
        case SCAN_OPEN:
          scan_open (&scan, c);
          break;
        case SCAN_BANG:
          if (c == '[')
            skip_to (&scan, ']');
          else if (c == '-')
            scan.state = SCAN_DASH;
          else
            return TRUE; /* a document type, or nothing: the parser ends there */
          break;
        case SCAN_DASH:
          skip_to (&scan, '-');
          break;
        case SCAN_SKIP:
          scan_skipped (&scan, c);
          break;
        case SCAN_TAG:
        default:
          scan_tag (&scan, c);
          if (scan.attributes > DBR_CATALOGUE_MAX_ATTRIBUTES)
            return FALSE;
        }
    }
  return TRUE;
}
