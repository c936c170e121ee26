/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-folder: folders of the engine's own files: its sockets, its state.
 *
 * Whoever may write such a folder can put another file in the place of ours, whatever mode ours has.
 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Is @folder ours, and writable for nobody else? The same of a link to it: ours, or the system's. NULL: yes; else
 * a sentence that says what to do (transfer full); a folder that is shared on purpose (/tmp) isn't to be changed, but left. A folder that can't be looked at is one, with errno set. */
char *
srv_folder_problem (const char *folder);
/* The state file as it is named from the root, links in its folders followed: what is hidden from commands, and what
 * they are shown, is then one path. NULL and *out_problem (both transfer full): the file is a link itself, or its folder
 * is not for us alone. A missing folder or file is none. */
char *
srv_folder_resolve_state (const char *state, char **out_problem);

G_END_DECLS
