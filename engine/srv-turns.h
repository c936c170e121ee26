/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-turns: turns of foremen, granted by the engine.
 */
#pragma once

#include "srv-call.h"

G_BEGIN_DECLS

/* Do as many run, or are about to for other projects than this, as the host runs at a time? */
gboolean
srv_turns_are_full (SrvCall *call, gint64 project);
/* Takes leases for the foremen that should wake now, @max at a time over all projects; appends to @out
 * (element-type SrvTurn). Those that can't start get trouble (srv-trouble.h). Writes the projects. */
void
srv_turns_grant (SrvCall *call, guint max, GPtrArray *out);

G_END_DECLS
