/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-place: where the engine's socket and state are when nobody says, the same for the engine and
 * for whoever looks for it.
 *
 * Relative values of the XDG variables are ignored, as their specification wants it. The home
 * folder comes from the password database: $HOME may be another user's (sudo) or not be set.
 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* The socket that somebody named: @option, else $BRIGADA_SOCKET. NULL: nobody did. It wins over an address
 * (BRIGADA_URL), which wins over dbr_place_socket(); the bridge's catalogue says the same. Transfer full. */
char *
dbr_place_named_socket (const char *option);

/* $XDG_RUNTIME_DIR/drawbridge/engine.sock; unset: /run/user/UID if that folder is ours; else in the
 * folder of dbr_place_state(). Transfer full. */
char *
dbr_place_socket (void);

/* $XDG_STATE_HOME/drawbridge/engine.db; unset: ~/.local/state/drawbridge/engine.db. Transfer full. */
char *
dbr_place_state (void);

/* The admin token's file, beside a state file (each state has a folder of its own). Transfer full. */
char *
dbr_place_admin_token (const char *state_file);

G_END_DECLS
