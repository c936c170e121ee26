/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-runner: turns of foremen: a lease that the engine granted, a run (srv-turn-run.h), and the end of both.
 *
 * One a project at a time. However it ends (exit, crash, time limit, its lease's end, the engine's), everything that it
 * started is killed (srv-keep.h) and its folder deleted before its lease is ended; what went wrong is an event, and
 * the foreman's trouble (srv-trouble.h), which makes it wait.
 */
#pragma once

#include "srv-confine.h"
#include "srv-engine.h"

G_BEGIN_DECLS

#define SRV_RUNNER_MAX_TURNS 64u /* at a time, over all projects */

#define SRV_RUNNER_ERROR (srv_runner_error_quark ())
GQuark
srv_runner_error_quark (void);
typedef enum
{
  SRV_RUNNER_ERROR_FOLDER, /* can't be made, or isn't ours alone */
  SRV_RUNNER_ERROR_BRIDGE, /* drawbridge is not beside the engine */
} SrvRunnerError;

typedef struct
{
  const char *socket;       /* where the engine listens: what foremen connect to */
  const char *state_folder; /* "turns" below it holds the private folders */
  const char *const
      *states; /* nullable: folders of engines (srv_checkout_states()), this one's too; outlives */
  const char *bridge;  /* nullable: "drawbridge" beside this program */
  const char *keeper;  /* nullable: srv_place_keeper() */
  SrvConfine *confine; /* transfer full; nullable: nothing is started, and each turn says why */
  const char *refusal; /* then: why */
  guint grace_ms;      /* between SIGTERM and SIGKILL; 0: 5 s */
} SrvRunnerOptions;

typedef struct _SrvRunner SrvRunner;

/**
 * srv_runner_new:
 * @engine: outlives the runner
 * @options: copied
 *
 * Cleans up after a run that was killed (processes, folders, leases), then starts what is due now
 * and later, from the main loop.
 *
 * Errors: SRV_RUNNER_ERROR_FOLDER, SRV_RUNNER_ERROR_BRIDGE.
 */
SrvRunner *
srv_runner_new (SrvEngine *engine, const SrvRunnerOptions *options, GError **error);
/* Kills what runs, waits for it, ends its leases as far as the engine still answers. */
void
srv_runner_free (SrvRunner *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SrvRunner, srv_runner_free)
/* Turns that are under way. */
guint
srv_runner_count (const SrvRunner *self);

G_END_DECLS
