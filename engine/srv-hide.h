/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-hide: which folders of engines a worker's command must not see.
 *
 * A worker doesn't know where its engine keeps its state; the default, what `--state` names, and what a look below the
 * checkout finds are all that it can know. A folder with an admin's token is an engine's.
 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

#define SRV_HIDE_MAX_DEPTH 6       /* folders below a checkout, links not followed */
#define SRV_HIDE_MAX_ENTRIES 50000 /* names looked at, the upper ones first */

/* The folder of a state: @path itself, or where that file lies; links resolved when it is there. Transfer full. */
char *
srv_hide_folder (const char *path);

/**
 * srv_hide_find:
 * @checkout: absolute
 * @known: (nullable): NULL-terminated list of folders, absolute
 *
 * Returns: (transfer full): @known and every folder below @checkout that holds an admin's token
 * Errors: G_FILE_ERROR_ACCES: @checkout lies in such a folder, or in a known one.
 */
char **
srv_hide_find (const char *checkout, const char *const *known, GError **error);

G_END_DECLS
