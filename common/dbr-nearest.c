/* SPDX-License-Identifier: Apache-2.0 */
/* dbr-nearest: see the header. Three rows of the table are enough. */
#include "config.h"

#include "dbr-nearest.h"
#include <string.h>

#define MAX_WORD 63u
#define MIN_PART 3u

/* Levenshtein's distance with swapped neighbours as one slip. */
static guint
edit_distance (const char *a, const char *b)
{
  guint rows[3][MAX_WORD + 1];
  gsize len_a = strlen (a), len_b = strlen (b);
  if (len_b > MAX_WORD || len_a > MAX_WORD)
    return G_MAXUINT;
  for (guint j = 0; j <= len_b; j++)
    rows[0][j] = j;
  for (guint i = 1; i <= len_a; i++)
    {
      guint *row = rows[i % 3];
      const guint *above = rows[(i + 2) % 3];
      const guint *two_above = rows[(i + 1) % 3];
      char c = g_ascii_tolower (a[i - 1]);
      row[0] = i;
      for (guint j = 1; j <= len_b; j++)
        {
          char d = g_ascii_tolower (b[j - 1]);
          guint best = MIN (above[j], row[j - 1]) + 1;
          best = MIN (best, above[j - 1] + (c != d ? 1 : 0));
          if (i > 1 && j > 1 && c == g_ascii_tolower (b[j - 2]) && d == g_ascii_tolower (a[i - 2]))
            best = MIN (best, two_above[j - 2] + 1);
          row[j] = best;
        }
    }
  return rows[len_a % 3][len_b];
}

/* How a known word holds the word: 3 at its beginning, 2 at its end, 1 inside, 0 not at all. */
static guint
holds (const char *known, const char *word)
{
  gsize len = strlen (word), known_len = strlen (known);
  if (len < MIN_PART || len >= known_len)
    return 0;
  if (g_ascii_strncasecmp (known, word, len) == 0)
    return 3;
  if (g_ascii_strcasecmp (known + known_len - len, word) == 0)
    return 2;
  for (gsize i = 1; i + len < known_len; i++)
    if (g_ascii_strncasecmp (known + i, word, len) == 0)
      return 1;
  return 0;
}

static const char *
nearest_by_part (const char *word, const char *const *known)
{
  const char *nearest = NULL;
  guint best = 0;
  for (guint i = 0; known[i] && strlen (word) <= MAX_WORD; i++)
    {
      guint rank = holds (known[i], word);
      if (rank > best || (rank > 0 && rank == best && strlen (known[i]) < strlen (nearest)))
        {
          best = rank;
          nearest = known[i];
        }
    }
  return nearest;
}

const char *
dbr_nearest (const char *word, const char *const *known)
{
  const char *nearest = NULL;
  guint allowed = MIN (3u, MAX (1u, (guint) strlen (word) / 3));
  guint best = allowed + 1;
  for (guint i = 0; known && known[i]; i++)
    {
      guint distance = edit_distance (word, known[i]);
      if (distance < best)
        {
          best = distance;
          nearest = known[i];
        }
    }
  return nearest || known == NULL ? nearest : nearest_by_part (word, known);
}
