/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-model: the things of the engine as plain records, their states and the words of both.
 *
 * Every record starts with its kind and id, so that one store function reads and writes all of
 * them from a table of fields. States and kinds of events are stored as numbers: their lists only
 * ever grow at the end. Texts are UTF-8 without NUL; times are microseconds since 1970, 0: never.
 */
#pragma once

#include "srv-operations.h"

G_BEGIN_DECLS

/* X (NAME, "word") */
#define SRV_PLAN_STATES(X) \
  X (AWAITING_APPROVAL, "awaiting_approval") \
  X (ACTIVE, "active") \
  X (DONE, "done") \
  X (FAILED, "failed") \
  X (REJECTED, "rejected") \
  X (CANCELLED, "cancelled")
#define SRV_TASK_STATES(X) \
  X (PLANNED, "planned") \
  X (READY, "ready") \
  X (RUNNING, "running") \
  X (REVIEW, "review") \
  X (DONE, "done") \
  X (FAILED, "failed") \
  X (CANCELLED, "cancelled")
#define SRV_JOB_STATES(X) \
  X (RUNNING, "running") \
  X (SUCCEEDED, "succeeded") \
  X (REVIEW, "review") \
  X (FAILED, "failed") \
  X (LOST, "lost") \
  X (RETURNED, "returned") \
  X (CANCELLED, "cancelled")
#define SRV_MESSAGE_STATES(X) \
  X (WAITING, "waiting") \
  X (DELIVERED, "delivered") \
  X (ANSWERED, "answered") \
  X (DROPPED, "dropped")
#define SRV_QUESTION_STATES(X) \
  X (OPEN, "open") \
  X (ANSWERED, "answered")
#define SRV_LEASE_KINDS(X) \
  X (TURN, "turn") \
  X (CHAT, "chat") \
  X (HAND, "hand")
#define SRV_APPROVALS(X) \
  X (ALWAYS, "always") \
  X (NEVER, "never")
#define SRV_DECISIONS(X) \
  X (NONE, "none") \
  X (APPROVED, "approved") \
  X (REJECTED, "rejected")
#define SRV_AUTHORS(X) \
  X (USER, "user") \
  X (FOREMAN, "foreman") \
  X (ENGINE, "engine")
#define SRV_FOREMAN_STATES(X) \
  X (NONE, "none") \
  X (ASLEEP, "asleep") \
  X (AWAKE, "awake") \
  X (ATTACHED, "attached")
#define SRV_OUTCOMES(X) \
  X (WOKE, "woke") \
  X (ATTACHED, "attached") \
  X (TURN_RUNNING, "turn_running") \
  X (NO_COMMAND, "no_command") \
  X (HOLD, "hold") \
  X (TROUBLE, "trouble") \
  X (BUSY, "busy") \
  X (LEASED, "leased")
#define SRV_EVENT_KINDS(X) \
  X (PROJECT_ADDED, "project.added") \
  X (PROJECT_SET, "project.set") \
  X (PROJECT_REMOVED, "project.removed") \
  X (PROJECT_HELD, "project.held") \
  X (PROJECT_RELEASED, "project.released") \
  X (MESSAGE_SENT, "message.sent") \
  X (MESSAGE_ANSWERED, "message.answered") \
  X (REPORT_MADE, "report.made") \
  X (QUESTION_ASKED, "question.asked") \
  X (QUESTION_ANSWERED, "question.answered") \
  X (LEASE_TAKEN, "lease.taken") \
  X (LEASE_ENDED, "lease.ended") \
  X (LEASE_EXPIRED, "lease.expired") \
  X (TURN_CRASHED, "turn.crashed") \
  X (PLAN_CREATED, "plan.created") \
  X (PLAN_AMENDED, "plan.amended") \
  X (PLAN_APPROVED, "plan.approved") \
  X (PLAN_REJECTED, "plan.rejected") \
  X (PLAN_HELD, "plan.held") \
  X (PLAN_RELEASED, "plan.released") \
  X (PLAN_ACTIVE, "plan.active") \
  X (PLAN_DONE, "plan.done") \
  X (PLAN_FAILED, "plan.failed") \
  X (PLAN_CANCELLED, "plan.cancelled") \
  X (TASK_ADDED, "task.added") \
  X (TASK_UPDATED, "task.updated") \
  X (TASK_CANCELLED, "task.cancelled") \
  X (TASK_RETRIED, "task.retried") \
  X (TASK_NOTED, "task.noted") \
  X (TASK_HELD, "task.held") \
  X (TASK_RELEASED, "task.released") \
  X (TASK_READY, "task.ready") \
  X (TASK_DONE, "task.done") \
  X (TASK_FAILED, "task.failed") \
  X (TASK_REVIEW, "task.review") \
  X (JOB_STARTED, "job.started") \
  X (JOB_LINE, "job.line") \
  X (JOB_FINISHED, "job.finished") \
  X (JOB_LOST, "job.lost") \
  X (JOB_STOPPED, "job.stopped") \
  X (TOKEN_MADE, "token.made") \
  X (TOKEN_REVOKED, "token.revoked") \
  X (JOB_RETURNED, "job.returned") \
  X (TURN_UNANSWERED, "turn.unanswered") \
  X (MESSAGE_DROPPED, "message.dropped")

/* Defines SrvNoun with SRV_NOUN_X and SRV_N_NOUNS, and the words: NULL-terminated srv_<noun>_words. */
#define SRV_PLAN_ITEM(name, word) SRV_PLAN_##name,
#define SRV_TASK_ITEM(name, word) SRV_TASK_##name,
#define SRV_JOB_ITEM(name, word) SRV_JOB_##name,
#define SRV_MESSAGE_ITEM(name, word) SRV_MESSAGE_##name,
#define SRV_QUESTION_ITEM(name, word) SRV_QUESTION_##name,
#define SRV_LEASE_ITEM(name, word) SRV_LEASE_##name,
#define SRV_APPROVAL_ITEM(name, word) SRV_APPROVAL_##name,
#define SRV_DECISION_ITEM(name, word) SRV_DECISION_##name,
#define SRV_AUTHOR_ITEM(name, word) SRV_AUTHOR_##name,
#define SRV_FOREMAN_ITEM(name, word) SRV_FOREMAN_##name,
#define SRV_OUTCOME_ITEM(name, word) SRV_OUTCOME_##name,
#define SRV_EVENT_ITEM(name, word) SRV_EVENT_##name,

/* clang-format off */
typedef enum { SRV_PLAN_STATES (SRV_PLAN_ITEM) SRV_N_PLAN_STATES } SrvPlanState;
typedef enum { SRV_TASK_STATES (SRV_TASK_ITEM) SRV_N_TASK_STATES } SrvTaskState;
typedef enum { SRV_JOB_STATES (SRV_JOB_ITEM) SRV_N_JOB_STATES } SrvJobState;
typedef enum { SRV_MESSAGE_STATES (SRV_MESSAGE_ITEM) SRV_N_MESSAGE_STATES } SrvMessageState;
typedef enum { SRV_QUESTION_STATES (SRV_QUESTION_ITEM) SRV_N_QUESTION_STATES } SrvQuestionState;
typedef enum { SRV_LEASE_KINDS (SRV_LEASE_ITEM) SRV_N_LEASE_KINDS } SrvLeaseKind;
typedef enum { SRV_APPROVALS (SRV_APPROVAL_ITEM) SRV_N_APPROVALS } SrvApproval;
typedef enum { SRV_DECISIONS (SRV_DECISION_ITEM) SRV_N_DECISIONS } SrvDecision;
typedef enum { SRV_AUTHORS (SRV_AUTHOR_ITEM) SRV_N_AUTHORS } SrvAuthor;
typedef enum { SRV_FOREMAN_STATES (SRV_FOREMAN_ITEM) SRV_N_FOREMAN_STATES } SrvForemanState;
typedef enum { SRV_OUTCOMES (SRV_OUTCOME_ITEM) SRV_N_OUTCOMES } SrvOutcome;
typedef enum { SRV_EVENT_KINDS (SRV_EVENT_ITEM) SRV_N_EVENT_KINDS } SrvEventKind;
/* clang-format on */

extern const char *const srv_plan_state_words[];
extern const char *const srv_task_state_words[];
extern const char *const srv_job_state_words[];
extern const char *const srv_message_state_words[];
extern const char *const srv_question_state_words[];
extern const char *const srv_lease_kind_words[];
extern const char *const srv_approval_words[];
extern const char *const srv_decision_words[];
extern const char *const srv_author_words[];
extern const char *const srv_foreman_state_words[];
extern const char *const srv_outcome_words[];
extern const char *const srv_event_kind_words[];
/* The number of @word in a NULL-terminated list; -1: not there. */
gint
srv_word_find (const char *const *words, const char *word);
/* "user" for a client, "engine" for 0 (this process itself). */
const char *
srv_role_word (gint64 role);

/* ---- records: INT (name) is a gint64, TEXT (name) an owned string, maybe NULL */
/* clang-format off */
#define SRV_HOLD_FIELDS(INT, TEXT) \
  INT (held) INT (hold_role) TEXT (hold_name) TEXT (hold_reason) INT (hold_at)
#define SRV_PROJECT_FIELDS(INT, TEXT) \
  TEXT (name) TEXT (repo_url) TEXT (checkout) TEXT (command) \
  INT (approval) INT (max_tasks) TEXT (protected_paths) TEXT (hours) INT (turn_minutes) \
  SRV_HOLD_FIELDS (INT, TEXT) \
  INT (wake) INT (removed) \
  INT (n_live) INT (n_finished) INT (n_needs) INT (n_reviews) INT (n_questions) INT (n_waiting) \
  INT (n_unanswered) INT (n_given_up) /* the second: of the first, those that too many turns failed over */ \
  INT (report) \
  INT (created) \
  INT (trouble_since) INT (trouble_failures) INT (trouble_next) INT (trouble_ran) TEXT (trouble_reason)
#define SRV_PLAN_FIELDS(INT, TEXT) \
  INT (project) TEXT (title) TEXT (summary) INT (version) INT (state) INT (needs) INT (reviews) \
  INT (waits) TEXT (waits_hours) TEXT (waits_globs) INT (by_clock) \
  INT (decision) INT (decided_version) INT (decided_role) TEXT (decided_name) INT (decided_at) \
  SRV_HOLD_FIELDS (INT, TEXT) \
  INT (created) INT (updated) INT (finished)
#define SRV_TASK_FIELDS(INT, TEXT) \
  INT (plan) INT (project) TEXT (title) TEXT (paths) TEXT (depends_on) TEXT (branch) \
  INT (state) INT (attempt) INT (lost) INT (returned) INT (awaiting) INT (job) TEXT (reason) \
  SRV_HOLD_FIELDS (INT, TEXT) \
  INT (created) INT (updated)
#define SRV_BRIEF_FIELDS(INT, TEXT) TEXT (text)
#define SRV_JOB_FIELDS(INT, TEXT) \
  INT (task) INT (plan) INT (project) INT (token) TEXT (worker) INT (state) INT (attempt) \
  INT (started) INT (heartbeat) INT (finished) INT (sequence) INT (latest_at) TEXT (latest)
#define SRV_MESSAGE_FIELDS(INT, TEXT) \
  INT (project) INT (author) TEXT (text) INT (hash) INT (state) INT (deliveries) \
  INT (sent) INT (delivered) TEXT (answer) INT (answered) INT (turn_ended) INT (turn_failed) \
  INT (needs)
#define SRV_QUESTION_FIELDS(INT, TEXT) \
  INT (project) TEXT (text) TEXT (options) INT (state) INT (asked) TEXT (answer) INT (answered)
#define SRV_REPORT_FIELDS(INT, TEXT) INT (project) TEXT (text) INT (at)
#define SRV_NOTE_FIELDS(INT, TEXT) INT (task) INT (role) TEXT (name) TEXT (text) INT (at)
#define SRV_LEASE_FIELDS(INT, TEXT) \
  INT (project) INT (kind_of) TEXT (holder) INT (token) INT (expires) INT (ended) INT (created)
#define SRV_TOKEN_FIELDS(INT, TEXT) \
  TEXT (hash) INT (role) TEXT (name) INT (project) INT (lease) INT (created) INT (revoked)
#define SRV_EVENT_FIELDS(INT, TEXT) \
  INT (at) INT (project) INT (plan) INT (task) INT (role) TEXT (name) INT (what) TEXT (text) INT (ref)
/* The answer of a request that came with an Idempotency-Key. */
#define SRV_REPLAY_FIELDS(INT, TEXT) \
  INT (token) TEXT (key) TEXT (request) INT (status) TEXT (body) TEXT (etag) TEXT (location) \
  INT (secret) INT (at)
/* clang-format on */

/* X (KIND, Type, table, FIELDS) */
#define SRV_RECORDS(X) \
  X (PROJECT, SrvProject, project, SRV_PROJECT_FIELDS) \
  X (PLAN, SrvPlan, plan, SRV_PLAN_FIELDS) \
  X (TASK, SrvTask, task, SRV_TASK_FIELDS) \
  X (BRIEF, SrvBrief, brief, SRV_BRIEF_FIELDS) \
  X (JOB, SrvJob, job, SRV_JOB_FIELDS) \
  X (MESSAGE, SrvMessage, message, SRV_MESSAGE_FIELDS) \
  X (QUESTION, SrvQuestion, question, SRV_QUESTION_FIELDS) \
  X (REPORT, SrvReport, report, SRV_REPORT_FIELDS) \
  X (NOTE, SrvNote, note, SRV_NOTE_FIELDS) \
  X (LEASE, SrvLease, lease, SRV_LEASE_FIELDS) \
  X (TOKEN, SrvToken, token, SRV_TOKEN_FIELDS) \
  X (EVENT, SrvEvent, event, SRV_EVENT_FIELDS) \
  X (REPLAY, SrvReplay, replay, SRV_REPLAY_FIELDS)

typedef enum
{
#define SRV_RECORD_KIND(kind, type, table, fields) SRV_RECORD_##kind,
  SRV_RECORDS (SRV_RECORD_KIND)
#undef SRV_RECORD_KIND
      SRV_N_RECORDS
} SrvRecordKind;

/* The head of every record. */
typedef struct
{
  SrvRecordKind kind;
  gint64 id;
} SrvRecord;

#define SRV_FIELD_INT(name) gint64 name;
#define SRV_FIELD_TEXT(name) char *name;
#define SRV_RECORD_STRUCT(KIND, Type, table, FIELDS) \
  typedef struct \
  { \
    SrvRecordKind kind; \
    gint64 id; \
    FIELDS (SRV_FIELD_INT, SRV_FIELD_TEXT) \
  } Type;
SRV_RECORDS (SRV_RECORD_STRUCT)
#undef SRV_RECORD_STRUCT

/* What the store knows of a record. */
typedef struct
{
  const char *name;
  gsize offset;
  gboolean is_text;
} SrvField;
typedef struct
{
  const char *table;
  gsize size;
  const SrvField *fields; /* id not among them */
  guint n_fields;
} SrvRecordInfo;
const SrvRecordInfo *
srv_record_info (SrvRecordKind kind);

gpointer
srv_record_new (SrvRecordKind kind); /* all zero */
void
srv_record_free (gpointer record); /* nullable */
/* What a file may hold and no engine wrote: a state without a word, a missing or broken text, a number out of any range. */
gboolean
srv_record_is_sound (gconstpointer record);

#define SRV_RECORD_FUNCTIONS(KIND, Type, table, FIELDS) \
  static inline void Type##_free (Type *self) { srv_record_free (self); } \
  static inline Type *Type##_new (void) { return (Type *) srv_record_new (SRV_RECORD_##KIND); } \
  G_DEFINE_AUTOPTR_CLEANUP_FUNC (Type, Type##_free)
SRV_RECORDS (SRV_RECORD_FUNCTIONS)
#undef SRV_RECORD_FUNCTIONS

/* Replaces an owned text. */
void
srv_text_set (char **field, const char *text);

G_END_DECLS
