/* SPDX-License-Identifier: Apache-2.0 */
/* dbr-cli: the subcommands, one file each, and what they share: finding the installed parts,
 * opening a tool host. */
#pragma once

#include "call/dbr-host.h"
#include "dbr-install.h"
#include "dbr-option.h"

G_BEGIN_DECLS

/* Exit statuses of every command. */
enum
{
  DBR_EXIT_OK = 0,
  DBR_EXIT_FAILED = 1, /* the tool's answer is an error */
  DBR_EXIT_USAGE = 2,  /* wrong command line, catalogue or configuration */
  DBR_EXIT_IO = 3,
};

/* argv[0] is the subcommand's name. */
int
dbr_cli_mcp (int argc, char **argv);
int
dbr_cli_call (int argc, char **argv);
int
dbr_cli_tools (int argc, char **argv);
int
dbr_cli_catalogue (int argc, char **argv);
int
dbr_cli_engine (int argc, char **argv);
/* Words of "drawbridge engine" that its own program understands; ends with NULL. */
extern const char *const dbr_engine_programs[];

/* ---- dbr-open.c */
#define DBR_ENGINE "engine" /* the backend that is meant when none is named */
typedef struct
{
  char *backend;                /* a shipped catalogue's name */
  char *catalogue;              /* or a file of the user's own */
  char *offer;                  /* nullable: the catalogue's default one */
  gboolean client, coordinator; /* the offers of these names */
  char *socket;                 /* nullable: in place of all other addresses */
  char **environment;           /* nullable: the process's own */
  char **allow_env;
  char *plain_http;
  char *scope;
  gboolean hide_gated;
  char *timeout;            /* nullable: as it was written */
  gboolean is_command_line; /* refusals say what to do at a shell */
  DbrTypedFunc typed;       /* nullable */
  gpointer typed_data;
  gboolean assume_yes;
  gboolean json_output;
} DbrOpenOptions;
void
dbr_open_options_clear (DbrOpenOptions *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (DbrOpenOptions, dbr_open_options_clear)
/* The command-line options that fill it (static table over @self, ends with {NULL}); (transfer
 * full). */
GOptionEntry *
dbr_open_entries (DbrOpenOptions *self, gboolean for_call);
/* Loads one catalogue and makes a host of it. Prints nothing. Errors: DBR_CATALOGUE_ERROR. */
DbrToolHost *
dbr_open (const DbrOpenOptions *options, GError **error);
/* Sets backend and offer to the one shipped offer that has the tool; with an offer chosen, looks only in those of
 * that name. Errors: DBR_CATALOGUE_ERROR_REFERENCE when none or several have it (they are named). */
gboolean
dbr_open_find_tool (DbrOpenOptions *options, const char *tool, GError **error);
/* The names of the catalogue's offers, in their order; empty when it has none (transfer full). */
char **
dbr_open_offers (const DbrOpenOptions *options, GError **error);
/* Makes one word of offer, client and coordinator. Errors: DBR_CATALOGUE_ERROR_RULE when several are given. */
gboolean
dbr_open_settle_offer (DbrOpenOptions *options, GError **error);

/* Calls one tool that the host has and prints its answer, a failure to standard error. With @last_alone only the
 * answer's last line goes to standard output, what stands before it to standard error. Gives the exit status. */
int
dbr_cli_run_tool (DbrToolHost *host, const char *tool, DbrJsonDoc *arguments, gboolean last_alone);
/* Sets an argument to the text of a command line; a path of this machine becomes absolute. FALSE: it is not UTF-8.
 * @param: what it is of. */
gboolean
dbr_cli_set_argument (json_t *arguments, const DbrParam *param, const char *text);
/* What each of @params takes, one a line behind @indent spaces, members below what holds them. @params: (element-type DbrParam) */
void
dbr_cli_describe_params (GString *out, const GPtrArray *params, guint indent);
/* Usage and every argument of a tool that is called by @command (transfer full). */
char *
dbr_cli_tool_help (const DbrTool *tool, const char *command);
/* Whether @output is a form of answers; FALSE after saying what it takes. */
gboolean
dbr_cli_read_output (const char *output, gboolean *out_is_json);
/* " Did you mean NAME?", or "" (transfer full). @names: (element-type utf8) */
char *
dbr_cli_suggest (const char *name, const GPtrArray *names);
/* Prints "drawbridge: MESSAGE" to standard error and gives DBR_EXIT_USAGE. */
int
dbr_cli_complain (const GError *error);

G_END_DECLS
