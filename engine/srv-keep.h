/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-keep: a small process between the engine and a command, so that nothing of it outlives it.
 *
 * `drawbridge-engine keep [--grace-ms=N] [--parent=PID] -- COMMAND…` runs the command in a session of its own and ends when
 * it ends: with its status, or 128 + the signal. Whatever the command started is killed then, however it
 * hid (own session, double fork): the keeper is the subreaper of all of it. SIGTERM asks the command
 * to stop, and kills it after the grace; SIGQUIT, or a second SIGTERM, kills at once. If whoever
 * started the keeper dies, that is a SIGTERM too: a killed engine leaves no orphans (PID is who
 * that is, in case it dies first).
 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

#define SRV_KEEP_GRACE_MS 5000u
#define SRV_KEEP_MAX_GRACE_MS 60000u
#define SRV_KEEP_CANT_START 127 /* exit status: the command can't be executed; stderr says why */

/**
 * srv_keep_main:
 * @argc: words of @argv
 * @argv: "keep", options, "--", the command and its arguments
 *
 * Runs before anything else of the program: no threads, no locale, no files.
 *
 * Returns: the exit status of the process; 2 for bad usage.
 */
int
srv_keep_main (int argc, char **argv);

/* The descriptor on which srv_keep_exec_main() tells. */
#define SRV_KEEP_TELL_FD 3
#define SRV_KEEP_TELL_STARTED '+'

/**
 * srv_keep_exec_main:
 * @argv: "exec", options, "--", the command and its arguments
 *
 * Becomes the command, from inside whatever shuts it in: an exit status alone can't tell a command that never started
 * from one that failed. Writes SRV_KEEP_TELL_STARTED to SRV_KEEP_TELL_FD first, and the reason behind it when the
 * command can't be executed; the command itself doesn't get the descriptor. Nothing on it at the end: what shuts the
 * command in didn't start.
 *
 * `--device=N --inode=N`: the folder that it was to come to (srv-checkout.h). Another one, or one with an engine's folder
 * in it (srv-look.h), is a reason too. `--scope`: no abstract socket and no process but its own can be reached from
 * it, nor from anything that it starts; only where srv_keep_can_scope().
 *
 * Returns: SRV_KEEP_CANT_START, or 2 when called wrongly.
 */
int
srv_keep_exec_main (int argc, char **argv);
/* Does this kernel have Landlock's scopes (Linux 6.12)? */
gboolean
srv_keep_can_scope (void);

G_END_DECLS
