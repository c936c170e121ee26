/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-time: times as microseconds since 1970: read from RFC 3339, and told by how long ago they are.
 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* RFC 3339 date-time (any offset, fraction up to 9 digits, lower-case t/z, a space for T; no
 * offset: UTC) to microseconds since 1970. */
gboolean
dbr_time_parse (const char *text, gsize len, gint64 *out_us);

/* "3 min ago", "in 5 s": one number, rounded down, in s, min, h, d or y; seconds to come are rounded up. What is less than
 * 5 s ago, or not to come within a whole second, is @now. @diff_us: since then; negative: until then. */
void
dbr_time_append_ago (GString *out, gint64 diff_us, const char *now);

G_END_DECLS
