/* SPDX-License-Identifier: Apache-2.0 */
/* dbr-mask-shapes: what looks like a secret, whoever it belongs to. Private to dbr-mask. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef struct
{
  gsize from, to; /* bytes */
} DbrMaskRange;

/* Appends what looks like a secret in @text to @ranges (element-type DbrMaskRange), in no order,
 * maybe overlapping. No range crosses a line break but those of PEM private keys. */
void
dbr_mask_find_shapes (const char *text, gsize len, GArray *ranges);

G_END_DECLS
