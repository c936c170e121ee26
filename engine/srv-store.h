/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-store: where the records lie. The only door to the file: another database is another file behind this header.
 *
 * A store is one connection, used by one thread at a time. Reads and writes happen between begin and commit; a write
 * sees itself, a reader sees the snapshot of its begin. The first failure is kept (srv_store_failure()): what follows it
 * does nothing and finds nothing, so that operations are written straight down and asked once at their end.
 */
#pragma once

#include "srv-engine.h"
#include "srv-model.h"

G_BEGIN_DECLS

#define SRV_STORE_SCHEMA 2 /* user_version of the file that this program writes */

typedef struct _SrvStore SrvStore;

/* What a look-up by anything but the id finds; @a and @b as said, newest first unless said otherwise. */
typedef enum
{
  SRV_FIND_PROJECTS,         /* oldest first, not removed, id > a */
  SRV_FIND_PROJECT_BY_URL,   /* text; not removed */
  SRV_FIND_PROJECTS_BY_NAME, /* text; not removed; oldest first */
  SRV_FIND_PROJECTS_DUE, /* wake or messages waiting, a command, no hold, no lease, to be tried by a; oldest first */
  SRV_FIND_PROJECT_RETRIED_FIRST,  /* the same, to be tried after a; the soonest first */
  SRV_FIND_PROJECTS_TROUBLED,      /* project a (0: any): its foreman can't run; oldest first */
  SRV_FIND_PLANS,                  /* id < b */
  SRV_FIND_PROJECT_PLANS,          /* of project a, id < b; so each pair below */
  SRV_FIND_PLANS_IN_STATE,         /* state a, id < b */
  SRV_FIND_PROJECT_PLANS_IN_STATE, /* project a, state (a number) in text, id < b */
  SRV_FIND_PLANS_LIVE,             /* id < b */
  SRV_FIND_PROJECT_PLANS_LIVE,
  SRV_FIND_PLANS_FINISHED, /* most recently finished first */
  SRV_FIND_PROJECT_PLANS_FINISHED,
  SRV_FIND_PLANS_NEEDING,
  SRV_FIND_PROJECT_PLANS_NEEDING,
  SRV_FIND_PLANS_WAITING,   /* project a (0: any): something of them waits for a decision */
  SRV_FIND_PLANS_IN_REVIEW, /* of projects whose foreman neither works nor is about to */
  SRV_FIND_PROJECT_PLANS_IN_REVIEW,
  SRV_FIND_PLANS_BY_CLOCK, /* wait for nothing but the hours; oldest first, id > a */
  SRV_FIND_TASKS_OF_PLAN,  /* plan a; oldest first */
  SRV_FIND_TASKS_READY, /* project a (0: any); under no hold; b: of a project with a checkout; oldest first */
  SRV_FIND_TASKS_READY_HELD, /* project a (0: any): held or not; oldest first */
  SRV_FIND_BRIEFS_OF_PLAN,   /* plan a; oldest first */
  SRV_FIND_JOBS_RUNNING,     /* project a (0: any); oldest first */
  SRV_FIND_JOBS_SILENT,      /* running, heartbeat <= a; the longest silent first */
  SRV_FIND_JOB_SILENT_FIRST, /* the running job with the oldest heartbeat */
  SRV_FIND_MESSAGES,         /* id < b */
  SRV_FIND_PROJECT_MESSAGES,
  SRV_FIND_MESSAGES_OPEN, /* not answered; id < b */
  SRV_FIND_PROJECT_MESSAGES_OPEN,
  SRV_FIND_MESSAGES_UNDONE, /* of those, without what was given up */
  SRV_FIND_PROJECT_MESSAGES_UNDONE,
  SRV_FIND_MESSAGES_WAITING, /* project a; any author; oldest first */
  SRV_FIND_MESSAGES_WITH_FOREMAN, /* project a: delivered, not answered, their turn goes on; oldest first */
  SRV_FIND_MESSAGES_GIVEN_UP, /* project a: not answered, their turns failed too often; oldest first */
  SRV_FIND_MESSAGES_NEEDING_ALONE, /* that no turn answered and none will by itself, without what a trouble names */
  SRV_FIND_PROJECT_MESSAGES_NEEDING_ALONE,
  SRV_FIND_PROJECT_MESSAGES_NEEDING,
  SRV_FIND_MESSAGES_FAILED, /* project a: of those the ones that turns failed over; oldest first */
  SRV_FIND_MESSAGES_SAME,   /* project a, hash b */
  SRV_FIND_QUESTIONS_OPEN,
  SRV_FIND_PROJECT_QUESTIONS_OPEN,
  SRV_FIND_NOTES_OF_TASK, /* task a */
  SRV_FIND_LEASE_LIVE,    /* project a */
  SRV_FIND_LEASES_LIVE,   /* soonest to expire first */
  SRV_FIND_TOKEN_BY_HASH, /* text */
  SRV_FIND_TOKENS,        /* id < b, not of leases */
  SRV_FIND_ADMINS_LIVE,   /* tokens; oldest first */
  SRV_FIND_EVENTS_BEFORE, /* seq < b */
  SRV_FIND_PROJECT_EVENTS_BEFORE,
  SRV_FIND_EVENTS_OF_TASK, /* task a, seq < b */
  SRV_FIND_EVENTS_AFTER,   /* seq > b; oldest first */
  SRV_FIND_PROJECT_EVENTS_AFTER,
  SRV_FIND_REPLAY, /* token a, key text */
  SRV_N_FINDS
} SrvFind;

typedef enum
{
  SRV_STORE_OK,
  SRV_STORE_FULL,      /* disk or quota: 507 */
  SRV_STORE_READ_ONLY, /* 503 */
  SRV_STORE_DAMAGED,   /* 503 */
  SRV_STORE_REPLACED, /* its file, or one beside it, is not where it was: 503; nothing of that is kept */
  SRV_STORE_BROKEN, /* input/output error and everything else: 503 */
} SrvStoreFailure;

/**
 * srv_store_open:
 * @file: the file's name, or ":memory:"
 * @is_writer: %TRUE: made when missing, brought to #SRV_STORE_SCHEMA in one transaction, and locked against other
 *   engines until closed; %FALSE: read only, the file must be there
 * @synchronous: %FALSE never syncs (tests)
 * @error: return location
 *
 * Returns: (transfer full) (nullable): the store
 * Errors: #SRV_ENGINE_ERROR_STORE, #SRV_ENGINE_ERROR_SCHEMA, #SRV_ENGINE_ERROR_LOCKED.
 */
SrvStore *
srv_store_open (const char *file, gboolean is_writer, gboolean synchronous, GError **error);
void
srv_store_free (SrvStore *self); /* nullable */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SrvStore, srv_store_free)

/* A transaction. commit and the savepoint functions say FALSE when the store failed; after that rollback. */
gboolean
srv_store_begin (SrvStore *self, gboolean writes);
gboolean
srv_store_commit (SrvStore *self);
void
srv_store_rollback (SrvStore *self); /* forgets the failure too */
gboolean
srv_store_savepoint (SrvStore *self);
gboolean
srv_store_release (SrvStore *self);
/* Undoes what came after the savepoint and forgets the failure; FALSE when even that failed: roll all back. */
gboolean
srv_store_rollback_to (SrvStore *self);
/* The first failure since the last rollback; *out_text (nullable) says what SQLite said. */
SrvStoreFailure
srv_store_failure (const SrvStore *self, const char **out_text);

/* (transfer full) (nullable): of the kind that was asked for. */
gpointer
srv_store_get (SrvStore *self, SrvRecordKind kind, gint64 id);
/* Writes a new record; gives it the next id when it has none. An event's ids are a sequence of their own. */
void
srv_store_add (SrvStore *self, gpointer record);
void
srv_store_put (SrvStore *self, gconstpointer record);
/* (element-type SrvRecord) (transfer full): at most @limit */
GPtrArray *
srv_store_find (SrvStore *self, SrvFind what, gint64 a, gint64 b, const char *text, guint limit);
/* The first of srv_store_find(). */
gpointer
srv_store_find_one (SrvStore *self, SrvFind what, gint64 a, gint64 b, const char *text);
/* Drops answers kept for Idempotency-Key that are older. */
void
srv_store_forget_replays (SrvStore *self, gint64 before_us);
gint64
srv_store_next_id (SrvStore *self); /* takes it */
gint64
srv_store_last_event (const SrvStore *self); /* writer: with what is not committed yet */

gboolean
srv_store_backup (SrvStore *self, const char *to, gboolean may_replace, GError **error);
gboolean
srv_store_count (const char *file, SrvStoreCounts *out, GError **error);
/* Appends one line a finding; nothing when sound. FALSE and @error when the file can't be read at all. */
gboolean
srv_store_check (const char *file, GString *findings, GError **error);

/* ---- the shim under SQLite's files (srv-store-vfs.c) */
/* Registers it; its name. */
const char *
srv_store_vfs (void);
guint64
srv_store_vfs_syncs (void);
/* For tests: every write to a file fails like this from now on; SRV_STORE_OK: no more. */
void
srv_store_vfs_fail (SrvStoreFailure failure);

G_END_DECLS
