/* SPDX-License-Identifier: Apache-2.0 */
/* dbr-nearest: "did you mean": the known word that a mistyped one is closest to. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Of @known (NULL-terminated, nullable) the word at the smallest edit distance (Levenshtein, ASCII
 * case ignored), if at most a third of the word's length and at most 3 slips lie between them; else
 * the shortest that begins with the word, else one that ends with it, else one that holds it, if the
 * word has 3 bytes or more ("run_id": dag_run_id); otherwise NULL. Words of more than 63 bytes have no
 * neighbours. Transfer none. */
const char *
dbr_nearest (const char *word, const char *const *known);

G_END_DECLS
