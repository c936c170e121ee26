/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-process: one command under a keeper (srv-keep.h), on the main loop: its input, its output, its end.
 *
 * Whatever it prints arrives through one callback, in pieces, below the priority of serving. The end is told once,
 * after the last byte. Freeing kills what still runs, without waiting. A command that kills its keeper is ended with it, and
 * so is what it started (srv-stray.h).
 */
#pragma once

#include <glib.h>
#include <sys/types.h>

G_BEGIN_DECLS

typedef struct _SrvProcess SrvProcess;

typedef enum
{
  SRV_PROCESS_ENDED,     /* by itself: exit status in @value; 127: could not be started */
  SRV_PROCESS_SIGNALLED, /* by a signal of its own making: its number in @value */
  SRV_PROCESS_STOPPED,   /* srv_process_stop() */
  SRV_PROCESS_TIMED_OUT,
  SRV_PROCESS_NOT_STARTED, /* only with tells_start: srv_process_problem() says why */
} SrvProcessEnd;

typedef struct
{
  const char *keeper;             /* absolute path of drawbridge-engine */
  const char *const *command;     /* words */
  const char *const *environment; /* NAME=VALUE, all of it */
  const char *folder;             /* where it starts; must be there */
  const char *input;              /* nullable: its standard input; else empty. At most 1 MiB */
  gboolean tells_start;           /* innermost in @command is srv_keep_exec_main() */
  guint limit_ms;                 /* 0: none */
  guint grace_ms;                 /* between asking it to end and killing it */
  void (*output) (const char *bytes, gsize length, gpointer user_data); /* nullable */
  void (*done) (SrvProcessEnd end, int value, gpointer user_data);
  gpointer user_data;
} SrvProcessOptions;

/* G_SPAWN_ERROR, G_UNIX_ERROR. */
SrvProcess *
srv_process_new (const SrvProcessOptions *options, GError **error);
/* Asks it to end, kills it after the grace; a second call kills at once. done() still comes. */
void
srv_process_stop (SrvProcess *self);
/* Why the command could not be started ("./foreman: No such file or directory"); NULL: what was to shut it in did not start, and
 * printed why. */
const char *
srv_process_problem (const SrvProcess *self);
pid_t
srv_process_pid (const SrvProcess *self);
void
srv_process_free (SrvProcess *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SrvProcess, srv_process_free)

/* "exit status 3", "killed by signal 9 (Killed)", ... Transfer full. */
char *
srv_process_describe (SrvProcessEnd end, int value);

G_END_DECLS
