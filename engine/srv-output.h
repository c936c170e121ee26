/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-output: the last bytes of what a process printed, and how people are shown them.
 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef struct _SrvOutput SrvOutput;

/* Keeps the last @max_bytes. */
SrvOutput *
srv_output_new (gsize max_bytes);
void
srv_output_free (SrvOutput *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SrvOutput, srv_output_free)
void
srv_output_add (SrvOutput *self, const char *bytes, gsize length);
/* All that came, not only what is kept. */
guint64
srv_output_total (const SrvOutput *self);
/**
 * srv_output_text:
 * @max_bytes: of the text
 * @secret: (nullable): shown as "***"
 *
 * The end of what is kept, blank lines after it left out, from a line's start where there is one: valid UTF-8
 * without escape sequences and control characters but line feeds and tabs. Transfer full; "" when nothing came.
 */
char *
srv_output_text (const SrvOutput *self, gsize max_bytes, const char *secret);

/* The same for any bytes. Transfer full. */
char *
srv_output_clean (const char *bytes, gsize length, gsize max_bytes, const char *secret);

G_END_DECLS
