/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-turn-folder: the private folder of a turn and, beside it, the record of the process that runs it.
 *
 * BASE/NAME (0700) belongs to the command, which may do with it what it likes; BASE/NAME.pid is ours: process id and
 * its start time, so that a number that was given to another process since is left alone.
 */
#pragma once

#include <glib.h>
#include <sys/types.h>

G_BEGIN_DECLS

/* Makes @base (0700) and checks that it is a folder of ours. G_FILE_ERROR. */
gboolean
srv_turn_folder_prepare (const char *base, GError **error);
/* A new one; its path (transfer full). G_FILE_ERROR. */
char *
srv_turn_folder_new (const char *base, GError **error);
/* Writes down which process it belongs to. G_FILE_ERROR. */
gboolean
srv_turn_folder_record (const char *folder, pid_t pid, GError **error);
/* Deletes the folder, whatever it became (no link is followed), and its record. FALSE: something is left. */
gboolean
srv_turn_folder_remove (const char *folder);
/* What an earlier run left below @base: its processes are ended (at most @wait_ms for each), folders deleted.
 * Returns how many there were. */
guint
srv_turn_folder_clean (const char *base, guint wait_ms);

G_END_DECLS
