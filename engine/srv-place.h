/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-place: what the subcommands that talk to an engine have in common: where it is, who they are, where our programs
 * are.
 */
#pragma once

#include "srv-client.h"

G_BEGIN_DECLS

/* This program, absolute; the bridge beside it. Transfer full; NULL: unknown. */
char *
srv_place_program (void);
char *
srv_place_bridge (void);
/* What keeps commands: drawbridge-keep, beside this program or where it is installed; else this program, which can do
 * the same. Transfer full; NULL: unknown. */
char *
srv_place_keeper (void);

/* Why @command can't be one, looked up as execvp() does from @folder (nullable: not known yet, which makes a relative
 * path good); NULL: it can. For people. Transfer full. */
char *
srv_place_command_problem (const char *command, const char *folder);

/* @command as it is to be executed in @checkout (nullable: not known yet): a relative path is made an absolute one if it
 * leads from the folder that we are in to a file; else it is one of the checkout's. Transfer full. *out_problem: as
 * srv_place_command_problem(). */
char *
srv_place_find_command (const char *command, const char *checkout, char **out_problem);

typedef struct
{
  char *socket;     /* nullable: BRIGADA_SOCKET, else BRIGADA_URL, else the default place */
  char *token_file; /* nullable: BRIGADA_TOKEN, else what @fallback_file says */
} SrvPlaceOptions;

/* A problem, made one line, with what is to be done about it, when that is a token (status 401 or 403, or none was
 * found): @remedy says where a good one comes from, on a line of its own. To be printed as it is. Transfer full. */
char *
srv_place_problem (guint status, const char *problem, const char *remedy);

/* Options --socket and --token-file. */
#define SRV_PLACE_ENTRIES(options, token_help) \
  { "socket", 0, 0, G_OPTION_ARG_FILENAME, &(options).socket, srv_place_socket_help, "PATH" }, \
  { \
    "token-file", 0, 0, G_OPTION_ARG_FILENAME, &(options).token_file, token_help, "FILE" \
  }
extern const char *const srv_place_socket_help;
extern const char *const srv_place_token_help, *const srv_place_admin_token_help;

/**
 * srv_place_client:
 * @options: completed: the socket
 * @fallback_file: (nullable): of the token
 *
 * Over TLS the certificates of BRIGADA_CA_FILE are trusted, without it the system's.
 *
 * Errors: SRV_CLIENT_ERROR_*, DBR_TOKEN_ERROR_*.
 */
SrvClient *
srv_place_client (SrvPlaceOptions *options, const char *fallback_file, GError **error);

G_END_DECLS
