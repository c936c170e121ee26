/* SPDX-License-Identifier: Apache-2.0 */
/* dbr-option: command lines, with a word on what a mistyped option was meant to be. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Parses a command line with @entries and @more (nullable), whose texts are translated. Errors: G_OPTION_ERROR and what
 * the entries' callbacks give; where an option is unknown the message names the nearest that there is ("--help" too). */
gboolean
dbr_option_parse (GOptionContext *context,
                  const GOptionEntry *entries,
                  const GOptionEntry *more,
                  int *argc,
                  char ***argv,
                  GError **error);

G_END_DECLS
