/* SPDX-License-Identifier: Apache-2.0 */
/* dbr-mask-shapes: what looks like a secret, whoever it belongs to. Private to dbr-mask. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef struct
{
  gsize from, to; /* bytes */
} DbrMaskRange;

/* Adds to a list that is made when the first range comes: most texts have none, and answers are many. */
static inline void
dbr_mask_add_range (GArray **ranges, gsize from, gsize to)
{
  DbrMaskRange range = { from, to };

  if (to <= from)
    return;
  if (*ranges == NULL)
    *ranges = g_array_new (FALSE, FALSE, sizeof (DbrMaskRange));
  g_array_append_val (*ranges, range);
}

/* Adds what looks like a secret in @text to @ranges (element-type DbrMaskRange), in no order,
 * maybe overlapping. No range crosses a line break but those of PEM private keys. */
void
dbr_mask_find_shapes (const char *text, gsize len, GArray **ranges);

G_END_DECLS
