/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-command: the subcommands of drawbridge-engine.
 *
 * Each gets its own arguments, argv[0] being its name, and returns the exit status: 0 done, 1 it
 * failed, 2 it was called wrongly.
 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

int
srv_cmd_serve (int argc, char **argv);
int
srv_cmd_work (int argc, char **argv);
int
srv_cmd_attach (int argc, char **argv);
int
srv_cmd_backup (int argc, char **argv);
int
srv_cmd_check (int argc, char **argv);

/* Parses @argv, prints what is wrong or --help. FALSE: *out_status says how to end. What is left behind argv[0] are
 * the arguments, without the "--" that may stand before them. @summary: one sentence; @usage: what follows the options;
 * both and @entries marked for translation, not translated. */
gboolean
srv_command_parse (int *argc,
                   char ***argv,
                   const GOptionEntry *entries,
                   const char *usage,
                   const char *summary,
                   int *out_status);

G_END_DECLS
