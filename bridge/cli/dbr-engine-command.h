/* SPDX-License-Identifier: Apache-2.0 */
/* dbr-engine-command: the commands of "drawbridge engine", each a tool of the catalogue's shell offer, typed. */
#pragma once

#include "catalogue/dbr-catalogue.h"

G_BEGIN_DECLS

typedef struct
{
  const char *words; /* one or two */
  const char *tool;
  const char *
      names; /* what bare words fill, in order, separated by spaces; "...": the one before takes all that follow */
  const char *usage;   /* what stands behind the words */
  const char *summary; /* untranslated */
  gboolean
      is_product; /* the answer's last line is what a script wants: it alone goes to standard output */
  const char *note; /* nullable, untranslated: what who gets it wrong should know */
} DbrEngineCommand;

/* The command that @words (ends with NULL) begin with, the longer one first; NULL: none (transfer none). */
const DbrEngineCommand *
dbr_engine_command_find (char **words, int *out_n_words);
/* The one that calls @tool, NULL if there is none. */
const DbrEngineCommand *
dbr_engine_command_of (const char *tool);
/* Why @words are no command, with the nearest or the group's (transfer full). */
char *
dbr_engine_command_complain (char **words);
/* The table, one a line, with the arguments that are needed (transfer full). */
char *
dbr_engine_command_list (void);
/* Those that begin with the word @group, with all arguments; "" if there are none (transfer full). */
char *
dbr_engine_command_list_group (const char *group);
/* Usage and every argument of one command (transfer full). */
char *
dbr_engine_command_help (const DbrEngineCommand *self, const DbrTool *tool);
/* Words to arguments: NAME=VALUE of what the tool has, other words by @self's names. Values are text, as by
 * "drawbridge call"; paths of this machine become absolute. Errors: DBR_ARGUMENT_ERROR, which says what the command takes. (transfer full) */
DbrJsonDoc *
dbr_engine_command_read (const DbrEngineCommand *self,
                         const DbrTool *tool,
                         char **words,
                         GError **error);

G_END_DECLS
