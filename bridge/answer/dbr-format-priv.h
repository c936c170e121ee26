/* SPDX-License-Identifier: Apache-2.0 */
/* dbr-format-priv: between dbr-format's own files: one value at a time here, whole lists there. */
#pragma once

#include "dbr-format.h"

G_BEGIN_DECLS

/* A number written in plain decimal (JSON's grammar, more or less); FALSE for all else. */
gboolean
format_parse_number (const char *text, gsize len, double *out_value);
void
format_append_number (GString *out, double value);

/* dbr-format-value.c: append what @self prints for one text; FALSE: can't read it. */
gboolean
format_value (
    const DbrFormat *self, DbrJson node, const char *text, gsize len, gint64 now_us, GString *out);
/* dbr-format-list.c: change the state's list. */
void
format_list (const DbrFormat *self, DbrFormatState *state);

G_END_DECLS
