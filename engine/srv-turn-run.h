/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-turn-run: one turn of a foreman that was granted: its private folder with the configuration, its process, what it
 * printed, and how it ended.
 *
 * However it ends, its process and its folder are gone before that is told.
 */
#pragma once

#include "srv-confine.h"
#include "srv-engine.h"

G_BEGIN_DECLS

#define SRV_TURN_RUN_MAX_OUTPUT (64u * 1024u) /* bytes kept of what it prints: the last ones */
#define SRV_TURN_RUN_SHOWN_OUTPUT 2000u       /* bytes of it in what is told */

/* Where turns run; outlives them. */
typedef struct
{
  const char *socket;        /* where the engine listens: what foremen connect to */
  const char *folder;        /* private folders are made in it */
  const char *bridge;        /* absolute path of drawbridge */
  const char *keeper;        /* srv_place_keeper() */
  const SrvConfine *confine; /* nullable: no turn starts, and tells @refusal */
  const char *const *states; /* nullable: folders of engines, which no checkout may hold */
  const char *refusal;
  guint grace_ms; /* between SIGTERM and SIGKILL */
} SrvTurnPlace;

/* How it ended, for people and for LEASE_END; valid UTF-8, lasts as long as the call. */
typedef struct
{
  const char *outcome; /* "done", "crashed", "timed_out" */
  const char *text;
  const char *reason; /* nullable: what the turn itself did wrong, a part of a sentence */
  gboolean stopped;   /* by a stop with a reason: it says nothing of the turn */
} SrvTurnEnd;

typedef struct _SrvTurnRun SrvTurnRun;
typedef void (*SrvTurnRunDone) (const SrvTurnEnd *end, gpointer user_data);

/**
 * srv_turn_run_new:
 * @turn: outlives the run
 * @done: comes once, from the main loop; the run may not be freed in it
 *
 * Starts a few rounds of the main loop later, when the answers of the commit that granted it have left.
 */
SrvTurnRun *
srv_turn_run_new (const SrvTurnPlace *place,
                  const SrvTurn *turn,
                  SrvTurnRunDone done,
                  gpointer user_data);
/* Asks it to end, with the grace; a second time changes nothing but @why. @done still comes, unless it came already.
 * @why: (nullable): static, for people: what ends it, when that is not its lease. */
void
srv_turn_run_stop (SrvTurnRun *self, const char *why);
/* Kills what still runs, without waiting. */
void
srv_turn_run_free (SrvTurnRun *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SrvTurnRun, srv_turn_run_free)

G_END_DECLS
