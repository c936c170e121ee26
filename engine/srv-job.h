/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-job: one claimed job: its command, the stream of what it prints, its heartbeat, its end.
 *
 * What the command prints becomes events, numbered from 1: a line each when they come slowly, several together
 * when they come fast (at most five events a second, 16 kB each; what comes faster than that is counted
 * and left out). Everything is sent again until it is acknowledged: the numbers make that harmless.
 */
#pragma once

#include "srv-client.h"
#include "srv-confine.h"

G_BEGIN_DECLS

#define SRV_JOB_MAX_EVENT (16u * 1024u) /* bytes of one event's text */
#define SRV_JOB_EVENT_GAP_MS 200u
#define SRV_JOB_LIMIT_S (24u * 3600u) /* a command that runs longer is stopped, and failed */
#define SRV_JOB_REVIEW 75             /* exit status: done, and somebody should look at it */
/* So often a heartbeat goes out, or as often as the engine wants: it is also how a command learns that its task was
 * cancelled while it prints nothing. The command is asked to end then (TERM) and killed after SRV_KEEP_GRACE_MS. */
#define SRV_JOB_LOOK_S 5
#define SRV_JOB_LAST_LINES 1000u /* bytes that the engine is told of a failed command */

typedef struct
{
  SrvClient *client;
  const SrvConfine *confine;
  const char *keeper;           /* srv_place_keeper() */
  const char *const *command;   /* words; a relative path leads from the checkout */
  const char *const *variables; /* nullable: names of more variables that the command gets */
  const char *checkout;         /* nullable: the project's */
  const char *token_file;       /* nullable: not to be seen; in no checkout */
  const char *const
      *states; /* nullable: folders of engines; in no checkout, and no checkout in one */
} SrvJobSettings;

typedef enum
{
  SRV_JOB_TOLD,      /* the engine knows how it ended */
  SRV_JOB_TAKEN,     /* the engine had taken it away (lost, cancelled) */
  SRV_JOB_UNSTARTED, /* the command could not be started; the job was given back */
  SRV_JOB_ABANDONED, /* stopped here, or the engine could not be told */
} SrvJobEnd;

typedef struct _SrvJobRun SrvJobRun;
/* @text: how it ended, for people: "failed: exit status 3: no such branch". */
typedef void (*SrvJobDone) (SrvJobEnd end, const char *text, gpointer user_data);

/* @claim: the answer to a claim. @settings outlive the run. Never fails: what can't be started is told the engine. */
SrvJobRun *
srv_job_run_new (const SrvJobSettings *settings,
                 DbrJson claim,
                 SrvJobDone done,
                 gpointer user_data);
/* Stops the command; done() comes with SRV_JOB_ABANDONED. A second time: at once. */
void
srv_job_run_stop (SrvJobRun *self);
void
srv_job_run_free (SrvJobRun *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SrvJobRun, srv_job_run_free)

G_END_DECLS
