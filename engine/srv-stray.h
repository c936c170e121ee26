/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-stray: what is left of a command whose keeper was killed.
 *
 * A command that isn't shut in can kill its keeper (srv-keep.h). What it started then becomes this process's own, and is
 * ended with the command. Only where every child is started through srv-process, from one thread: any other, but for
 * those that were there before, is taken for a stray.
 */
#pragma once

#include <glib.h>
#include <sys/types.h>

G_BEGIN_DECLS

#define SRV_STRAY_LIMIT_MS 200 /* for all of it; who forks faster is left, which is said */

/* This keeper is ours until srv_stray_forget(). The first makes this process the one that orphans below it go to. */
void
srv_stray_know (pid_t keeper);
void
srv_stray_forget (pid_t keeper);
/* A keeper was killed: kills and reaps every child that is not known, and what comes to us by that. */
void
srv_stray_end (void);

G_END_DECLS
