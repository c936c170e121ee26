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

typedef struct
{
  char *socket;     /* nullable: the default place */
  char *token_file; /* nullable: BRIGADA_TOKEN, else what @fallback_file says */
} SrvPlaceOptions;

/* Options --socket and --token-file. */
#define SRV_PLACE_ENTRIES(options) \
  { "socket", \
    0, \
    0, \
    G_OPTION_ARG_FILENAME, \
    &(options).socket, \
    "the engine's socket (default: where serve puts it; BRIGADA_URL: over TCP)", \
    "PATH" }, \
  { \
    "token-file", 0, 0, G_OPTION_ARG_FILENAME, &(options).token_file, \
        "file of the token, mode 0600 (default: BRIGADA_TOKEN)", "FILE" \
  }

/**
 * srv_place_client:
 * @options: completed: the default socket
 * @fallback_file: (nullable): of the token
 *
 * Errors: SRV_CLIENT_ERROR_*.
 */
SrvClient *
srv_place_client (SrvPlaceOptions *options, const char *fallback_file, GError **error);

G_END_DECLS
