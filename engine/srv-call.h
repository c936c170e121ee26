/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-call: one request at work: its store, its time, its body read against a list of members, its events.
 *
 * Operations are functions of a call that return a reply; a reply of 4xx or a failed store undoes all that they wrote.
 */
#pragma once

#include "srv-engine.h"
#include "srv-rules.h"
#include "srv-store.h"

G_BEGIN_DECLS

#define SRV_MAX_TITLE 200u        /* bytes */
#define SRV_MAX_TEXT (64u * 1024) /* bytes */
#define SRV_MAX_NAME 100u         /* bytes: holders, workers, names of tokens and projects */
#define SRV_MAX_PATH 4096u        /* bytes: checkouts */
#define SRV_MAX_ERRORS 100u       /* problems that one answer lists */
#define SRV_PAGE 100u
#define SRV_MAX_PAGE 500u
#define SRV_NO_ID G_MAXINT64

typedef struct
{
  SrvStore *store;
  const SrvRequest *request;
  SrvActor actor;        /* as the request's */
  gint64 now;            /* us since 1970 */
  const SrvWorld *world; /* nullable */
  json_t *errors;        /* [{field, problem}] */
  GPtrArray *texts;      /* owned strings that last as long as the call */
  /* For those that show many projects: */
  GHashTable *names;       /* of projects, by id; NULL: none was asked for yet */
  GHashTable *leased;      /* ids of projects that a lease holds; NULL: not asked yet */
  SrvProject *settings_of; /* whose settings were rendered last, nullable; */
  json_t *settings;        /* and what that gave: most projects have the same */
} SrvCall;

void
srv_call_init (SrvCall *self, SrvStore *store, const SrvRequest *request, gint64 now);
void
srv_call_clear (SrvCall *self);

/* ---- replies */
SrvReply *
srv_reply_json (guint status, json_t *body); /* transfer full */
/* 404: "There is no plan 12." */
SrvReply *
srv_reply_missing (const char *thing, gint64 id);
SrvReply *
srv_reply_forbidden (const char *code, const char *detail);
/* 409 with members of its own: a format and jansson's json_pack() for the members is the caller's. */
SrvReply *
srv_reply_conflict (const char *code, const char *detail, json_t *extra);

/* ---- problems of input */
void
srv_call_problem (SrvCall *self, const char *field, const char *format, ...) G_GNUC_PRINTF (3, 4);
gboolean
srv_call_is_bad (const SrvCall *self);
/* Has the field a problem already? What else is wrong with it then says nothing new. */
gboolean
srv_call_has_problem (const SrvCall *self, const char *field);
/* The first one as a sentence, and how many more. (transfer full) */
char *
srv_call_problems (const SrvCall *self);
/* The text in quotation marks, at most 200 characters of it: what was wrong. (transfer full) */
char *
srv_call_quote (const char *text);
/* 422 with all of them: code "invalid". */
SrvReply *
srv_call_refuse (SrvCall *self);

/* ---- the body */
typedef enum
{
  SRV_MEMBER_TITLE,    /* 1..SRV_MAX_TITLE bytes, one line, not blank */
  SRV_MEMBER_NAME,     /* 1..SRV_MAX_NAME bytes, likewise */
  SRV_MEMBER_PATH,     /* 1..SRV_MAX_PATH bytes, likewise */
  SRV_MEMBER_TEXT,     /* 1..SRV_MAX_TEXT bytes, not blank */
  SRV_MEMBER_ANY_TEXT, /* 0..SRV_MAX_TEXT bytes */
  SRV_MEMBER_BOOLEAN,
  SRV_MEMBER_INTEGER, /* min..max */
  SRV_MEMBER_WORD,    /* one of words */
  SRV_MEMBER_ARRAY,   /* at most max elements */
  SRV_MEMBER_OBJECT,
} SrvMemberType;
typedef enum
{
  SRV_MEMBER_REQUIRED = 1 << 0,
  SRV_MEMBER_NULLABLE = 1 << 1,
} SrvMemberFlags;
typedef struct
{
  const char *name;
  SrvMemberType type;
  SrvMemberFlags flags;
  gint64 min, max;
  const char *const *words;
} SrvMember;
/* Checks an object: every unknown, missing, doubled or wrong member becomes a problem, named @where.name. An absent body
 * counts as {}. */
void
srv_call_check (
    SrvCall *self, DbrJson object, const char *where, const SrvMember *members, guint n_members);
/* After a check. Texts last as long as the call; NULL when absent or null. */
const char *
srv_call_text (SrvCall *self, DbrJson object, const char *name);
gint64
srv_call_integer (DbrJson object, const char *name, gint64 otherwise);
gint
srv_call_word (
    SrvCall *self, DbrJson object, const char *name, const char *const *words, gint otherwise);
gboolean
srv_call_has (DbrJson object, const char *name); /* there, even as null */
/* One text element; NULL and a problem when it is none or too long. */
const char *
srv_call_element_text (SrvCall *self, DbrJson element, const char *where, gsize max_bytes);
/* A list of globs as compact JSON text; a problem named @where[i] for each wrong one. NULL: none. */
const char *
srv_call_globs (SrvCall *self, DbrJson array, const char *where);

/* ---- the query */
const char *
srv_call_query (const SrvCall *self, const char *name);
/* *out unchanged when absent; a problem when not an integer of the range. */
void
srv_call_query_integer (SrvCall *self, const char *name, gint64 min, gint64 max, gint64 *out);
gboolean
srv_call_query_flag (SrvCall *self, const char *name);
/* limit and cursor; *out_before is SRV_NO_ID at the start. Unknown names of the query are problems: @known is NULL-terminated. */
void
srv_call_query_known (SrvCall *self, const char *const *known);

/* ---- projects */
/* The project that the path, the query, the body or the token names, by its id, its repository's URL or its name; they
 * must not contradict each other. NULL and *out_refusal (transfer full): 404 no_project, 409 project_needed, 403, 422. */
SrvProject *
srv_call_project (SrvCall *self, SrvReply **out_refusal);
/* Asks once for all leases, so that each project without one needs no look of its own. */
void
srv_call_know_leases (SrvCall *self);
/* For reads over all: 0 and NULL refusal when none was named. */
gint64
srv_call_project_filter (SrvCall *self, SrvReply **out_refusal);
/* The project that the number, name or URL means; 0: a refusal, which tells nothing of other projects. */
gint64
srv_call_project_of_text (SrvCall *self, const char *text, SrvReply **out_refusal);
/* May the actor see and change this project? NULL: yes. */
SrvReply *
srv_call_may (const SrvCall *self, gint64 project);
/* Finds the record; NULL and a 404 or 403. */
gpointer
srv_call_get (SrvCall *self, SrvRecordKind kind, gint64 id, SrvReply **out_refusal);

/* The project's name, also of a removed one; nullable. Lasts as long as the call. */
const char *
srv_call_project_name (SrvCall *self, gint64 project);

/* ---- events */
/* What one is about: its project, plan and task; 0: none. */
typedef struct
{
  gint64 project, plan, task;
} SrvAbout;
#define SRV_ABOUT_NOTHING ((SrvAbout){ 0 })
#define SRV_ABOUT_PROJECT(id) ((SrvAbout){ .project = (id) })
#define SRV_ABOUT_PLAN(record) ((SrvAbout){ .project = (record)->project, .plan = (record)->id })
#define SRV_ABOUT_TASK(record) \
  ((SrvAbout){ .project = (record)->project, .plan = (record)->plan, .task = (record)->id })
/* The task of a job. */
#define SRV_ABOUT_JOB(record) \
  ((SrvAbout){ .project = (record)->project, .plan = (record)->plan, .task = (record)->task })
/* @ref: the id of the message, question, report, lease, job, note or token that it is about too; 0: none. @text
 * nullable. By the actor; but what the engine's own rules bring about (a task is ready, a plan is done, a lease has
 * expired) is the engine's, whoever's request it is in. */
void
srv_call_event (SrvCall *self, SrvEventKind what, SrvAbout about, gint64 ref, const char *text);
void
srv_call_eventf (SrvCall *self, SrvEventKind what, const SrvPlan *plan, const char *format, ...)
    G_GNUC_PRINTF (4, 5);
/* Of the engine's own doing, whoever's request it is in. */
void
srv_call_engine_event (
    SrvCall *self, SrvEventKind what, SrvAbout about, gint64 ref, const char *text);
/* Who acts, as events tell it; 0: the engine itself. */
gint64
srv_call_actor_role (const SrvCall *self);

G_END_DECLS
