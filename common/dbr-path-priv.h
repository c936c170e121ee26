/* SPDX-License-Identifier: Apache-2.0 */
/* dbr-path-priv: what the builder of paths and the access table share. */
#pragma once

#include "dbr-access.h"

/*
 * dbr_path_piece_check:
 * @piece: a decoded segment
 * @len: bytes
 * @out_problem: (out) (nullable) (transfer none): what is wrong, to follow the name of the value
 *
 * Whether a decoded segment can stand in a path without making another path of it, for the backend
 * and for a proxy that decodes once more than it should.
 */
gboolean
dbr_path_piece_check (const char *piece, gsize len, const char **out_problem);
