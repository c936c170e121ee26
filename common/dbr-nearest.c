/* SPDX-License-Identifier: Apache-2.0 */
/* dbr-nearest: see the header. One row of the table is enough, words are short. */
#include "config.h"

#include "dbr-nearest.h"
#include <string.h>

#define MAX_WORD 63u

static guint
edit_distance (const char *a, const char *b)
{
  guint row[MAX_WORD + 1];
  gsize len_b = strlen (b);
  if (len_b > MAX_WORD || strlen (a) > MAX_WORD)
    return G_MAXUINT;
  for (guint j = 0; j <= len_b; j++)
    row[j] = j;
  for (guint i = 1; a[i - 1]; i++)
    {
      guint diagonal = row[0];
      row[0] = i;
      for (guint j = 1; j <= len_b; j++)
        {
          guint above = row[j];
          gboolean differs = g_ascii_tolower (a[i - 1]) != g_ascii_tolower (b[j - 1]);
          guint change = diagonal + (differs ? 1 : 0);
          row[j] = MIN (change, MIN (above, row[j - 1]) + 1);
          diagonal = above;
        }
    }
  return row[len_b];
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
  return nearest;
}
