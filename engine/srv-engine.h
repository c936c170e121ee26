/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-engine: the engine without HTTP: operations over a store.
 *
 * One writer thread takes waiting writes together into one transaction, a savepoint and an event each, and
 * answers them after one sync. Reads run on the caller's thread over a snapshot and never wait for it. Rules (what waits
 * and why, waves, holds, leases, lost jobs) are pure functions in srv-rules.h.
 *
 * Threads: what stands here is for the thread that made the engine, whose main context also gets every callback. The
 * writer's thread has a connection of its own; the two share what waits and what was answered (under srv-writer.c's
 * mutex) and, of the options, the clock and the world, which must bear both.
 */
#pragma once

#include "dbr-json-doc.h"
#include "srv-operations.h"
#include <jansson.h>

G_BEGIN_DECLS

#define SRV_ENGINE_ERROR (srv_engine_error_quark ())
GQuark
srv_engine_error_quark (void);
typedef enum
{
  SRV_ENGINE_ERROR_STORE,  /* can't be opened: permissions, disk, damaged file */
  SRV_ENGINE_ERROR_SCHEMA, /* not our file, or of a newer program */
  SRV_ENGINE_ERROR_LOCKED, /* another engine has it */
} SrvEngineError;

/* Who asks: from the token (srv-auth.h). */
typedef struct
{
  SrvRole role;
  gint64 token;   /* its id; 0: this process itself (runner) */
  gint64 project; /* foreman: its lease's project; 0 otherwise */
  gint64 lease;   /* foreman */
  const char *name;
} SrvActor;

/* One request, whatever it came by. Pointers are borrowed for the call. */
typedef struct
{
  SrvOperation operation;
  SrvActor actor;
  gint64 id;                   /* the path's integer; 0 for "~" or none */
  const char *project_ref;     /* {project} as the path has it: "7" or "~"; NULL: it has none */
  const char *const *query;    /* name, value, ..., NULL; decoded; nullable */
  DbrJson body;                /* nothing: no body */
  const char *if_match;        /* the version between the quotes; nullable */
  const char *idempotency_key; /* nullable; 1..200 visible ASCII */
} SrvRequest;

/* Status 2xx: the body is the thing. Otherwise it is a problem document (RFC 9457): type, title, status, detail, code
 * (srv-codes.h), and members of the code's own ("version", "errors": [{field, problem}], "projects"). */
typedef struct
{
  guint status;
  json_t *body;        /* nullable */
  char *etag;          /* version; nullable */
  char *location;      /* nullable */
  gboolean is_nothing; /* a success that did nothing: with its Idempotency-Key it is tried anew */
} SrvReply;
void
srv_reply_free (SrvReply *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SrvReply, srv_reply_free)
/* A problem: @code is stable ("version_conflict"); @detail one sentence for people; @extra (transfer full, nullable) more
 * members. */
SrvReply *
srv_reply_problem (guint status, const char *code, const char *detail, json_t *extra);

/* What the engine's host says of checkouts and foremen. Texts: transfer full, a part of a sentence without its stop.
 *
 * Threads: the writer's thread asks, within its transaction, while the main thread goes on (and may ask too). What
 * is asked may look at the file system and at what it is given; it calls nothing of the engine, waits for no other
 * thread, and guards whatever of @data may change. The struct itself stays as it is while an engine has it. */
typedef struct
{
  /* "is not a folder here"; NULL: turns can run in it. Looks at what is in it, too: for a request, not for a turn. */
  char *(*checkout_problem) (const char *checkout, gpointer data);
  /* What is wrong with a foreman wherever it is: field, problem, field, problem, ...; the fields as in "preset",
   * "command[2]". (element-type utf8) (transfer full) */
  GPtrArray *(*foreman_problems) (const json_t *foreman);
  /* Why no turn could start now; NULL: one could. @checkout nullable: none is set. */
  char *(*turn_problem) (const json_t *foreman, const char *checkout, gpointer data);
  gpointer data;
  /* A warning about a checkout that turns can run in: a sentence; NULL: none. Nullable. */
  char *(*checkout_note) (const char *checkout, gpointer data);
  guint max_turns;   /* at a time, over all projects; 0: any number */
  guint heartbeat_s; /* how often workers are to be heard of; 0: SRV_HEARTBEAT_SECONDS */
} SrvWorld;

guint
srv_world_heartbeat_s (const SrvWorld *self); /* nullable */

typedef struct
{
  /* The SQLite file; ":memory:" for tests. */
  const char *file;
  /* FALSE only in tests: no sync. */
  gboolean synchronous;
  /* nullable: the wall clock; asked by both threads; injected in tests. */
  gint64 (*clock_us) (gpointer user_data);
  /* nullable: the monotonic clock, or, with a clock_us, that one; likewise. */
  gint64 (*steady_us) (gpointer user_data);
  gpointer clock_data;
  /* nullable: checkouts and foremen are not looked at; outlives the engine. */
  const SrvWorld *world;
  /* nullable: keeps an admin's secret before its token is; FALSE: no token is made, and the next start tries again. Not
   * used after srv_engine_new(), nor are the next two. */
  gboolean (*keep_secret) (const char *secret, gpointer secret_data);
  gpointer secret_data;
  /* nullable: what was kept at an earlier start; with keep_secret, another token is made when this is no live
   * admin's. */
  const char *kept_secret;
} SrvEngineOptions;

typedef struct _SrvEngine SrvEngine;
/**
 * srv_engine_new:
 * @options: copied; what it points to as said there
 *
 * Opens the store, makes it when it is missing, and starts the writer's thread. A first start makes an admin's token.
 *
 * Errors: #SRV_ENGINE_ERROR_STORE, #SRV_ENGINE_ERROR_SCHEMA, #SRV_ENGINE_ERROR_LOCKED.
 */
SrvEngine *
srv_engine_new (const SrvEngineOptions *options, GError **error);
/* Finishes what the writer took, answers the rest (503 stopping); every callback has come when it returns. */
void
srv_engine_free (SrvEngine *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SrvEngine, srv_engine_free)

/* An operation of kind SRV_READ, or SRV_OP_EVENTS, answered at once. (HEALTH and OPENAPI are the front's.) */
SrvReply *
srv_engine_read (SrvEngine *self, const SrvRequest *request);
/* @reply: transfer full. From the main context, never from within srv_engine_write(). */
typedef void (*SrvDone) (SrvReply *reply, gpointer user_data);
/* Any other operation. Copies what it needs of @request (the body's document by reference). At most 4,096 wait; more:
 * 503 busy. SRV_OP_JOB_CLAIM is answered without a job when nothing is ready: the waiting is the front's. @done
 * nullable. */
void
srv_engine_write (SrvEngine *self, const SrvRequest *request, SrvDone done, gpointer user_data);
/* The newest event's seq, as far as it was told. */
gint64
srv_engine_last_event (SrvEngine *self);
/* @changed runs in the main context after commits that made events: long polls look again, and so does the runner. */
typedef void (*SrvChanged) (SrvEngine *self, gpointer user_data);
void
srv_engine_watch (SrvEngine *self, SrvChanged changed, gpointer user_data);
void
srv_engine_unwatch (SrvEngine *self, SrvChanged changed, gpointer user_data);
#define SRV_ENGINE_MAX_WATCHERS 4u
/* When the wall clock moves against the steady one by more than this (it was set, or the machine slept), jobs, leases and
 * pauses keep the time that they had left. */
#define SRV_ENGINE_CLOCK_STEP_US (2 * G_USEC_PER_SEC)
/* How long readers allow for a step that the writer may not have seen yet. */
#define SRV_ENGINE_STEP_GRACE_US (5 * G_USEC_PER_SEC)
/* us by which the wall clock is before the steady one. */
gint64
srv_engine_options_offset_us (const SrvEngineOptions *options);
/* Time passes: leases expire, silent jobs are lost, windows of hours open, foremen are tried again. serve calls it each
 * second; tests with their clock. Returns when to call it next (us since 1970). */
gint64
srv_engine_tick (SrvEngine *self);

/* Whose secret (srv-secret.h) is it? FALSE: unknown, revoked or expired; *out_why is the code: token_unknown,
 * token_revoked, lease_ended. What *out_actor points to lasts as long as the engine. */
gboolean
srv_engine_authenticate (SrvEngine *self,
                         const char *secret,
                         SrvActor *out_actor,
                         const char **out_why);
/* The secret of the admin's token that this start made, once; NULL: none was made. (transfer full) */
char *
srv_engine_take_admin_secret (SrvEngine *self);

/* ---- for the runner: turns of foremen that should wake: a message waits, or a task finished or failed, or a plan was
 * decided about since their last turn; and nobody holds a lease, nothing holds the project, a foreman is set, and no pause
 * after trouble is on. */
typedef struct
{
  gint64 project;
  gint64 lease; /* taken for the turn */
  char *token;  /* its secret */
  char *name;
  char *repo_url;
  char *checkout;
  json_t *foreman; /* {"preset": "claude", ...} or {"command": [..]} as set */
  guint turn_minutes;
} SrvTurn;
void
srv_turn_free (SrvTurn *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SrvTurn, srv_turn_free)
#define SRV_ENGINE_LEASE_S 600u /* a turn's; renew it before */
/* @turn: transfer full. In the main context, after the answers of its commit. */
typedef void (*SrvGranted) (SrvTurn *turn, gpointer user_data);
/**
 * srv_engine_grant_turns:
 * @max: turns at a time, over all projects
 * @granted: (nullable): with @max 0: none are granted any more
 *
 * From now on a turn's lease is taken in the transaction that makes the turn due: what woke it and that it
 * woke are one sync, and nobody can come between.
 */
void
srv_engine_grant_turns (SrvEngine *self, guint max, SrvGranted granted, gpointer user_data);

/* Copies the file while it is used (SQLite's backup). Errors: SRV_ENGINE_ERROR_STORE. */
gboolean
srv_engine_backup (SrvEngine *self, const char *to, GError **error);
/* The same of a file that another process may have open: takes no lock of the engine's. Without @may_replace a file that
 * is there already is left alone: SRV_ENGINE_ERROR_STORE. */
gboolean
srv_engine_backup_file (const char *file, const char *to, gboolean may_replace, GError **error);
/* Checks it: SQLite's structure, and our own rules about records. TRUE: sound. *@out_report (transfer full): a line a
 * finding. FALSE with @error: it can't be read at all. */
gboolean
srv_engine_check (const char *file, char **out_report, GError **error);
/* What a file holds, and how many rules about its records a check looks at. */
typedef struct
{
  gint64 projects;
  gint64 plans;
  gint64 events;
  guint rules;
} SrvStoreCounts;
gboolean
srv_engine_count (const char *file, SrvStoreCounts *out, GError **error);
/* Counted in our VFS shim, for tests and bench. */
guint64
srv_engine_syncs (void);

G_END_DECLS
