/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-operations: every operation of the engine's API, once.
 *
 * The router, the authorisation, the core and the tests against the OpenAPI document all read this table: a row is
 * name, method, path, kind and the roles that may. {project} is an id, or "~": then the query's repo_url names it, and left out too it is the only project
 * (409 listing them when there are several). All other {names} are integer ids.
 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef enum
{
  SRV_ROLE_ADMIN = 1 << 0,   /* everything */
  SRV_ROLE_CLIENT = 1 << 1,  /* the user: messages, answers, approvals; reads everything */
  SRV_ROLE_FOREMAN = 1 << 2, /* one project while its lease lives */
  SRV_ROLE_WORKER = 1 << 3,  /* jobs */
} SrvRole;

#define SRV_ALL (SRV_ROLE_ADMIN | SRV_ROLE_CLIENT | SRV_ROLE_FOREMAN | SRV_ROLE_WORKER)
#define SRV_AC (SRV_ROLE_ADMIN | SRV_ROLE_CLIENT)
#define SRV_ACF (SRV_ROLE_ADMIN | SRV_ROLE_CLIENT | SRV_ROLE_FOREMAN)
#define SRV_AF (SRV_ROLE_ADMIN | SRV_ROLE_FOREMAN)
#define SRV_A SRV_ROLE_ADMIN
#define SRV_AW (SRV_ROLE_ADMIN | SRV_ROLE_WORKER)

typedef enum
{
  SRV_READ,  /* one snapshot */
  SRV_WRITE, /* through the writer: a savepoint with its event, answered after the sync */
  SRV_WAIT,  /* may wait (long poll) before it answers */
} SrvKind;

/* clang-format off */
#define SRV_OPERATIONS(X) \
  X (HEALTH,          "GET",   "/v1/health",                         SRV_READ,  0) /* no token */ \
  X (OPENAPI,         "GET",   "/v1/openapi.json",                   SRV_READ,  0) \
  X (STATUS,          "GET",   "/v1/status",                         SRV_READ,  SRV_ACF) /* ?project|repo_url, all */ \
  X (TIMELINE,        "GET",   "/v1/timeline",                       SRV_READ,  SRV_ACF) /* ?project|repo_url, task, limit 1..500, before */ \
  X (EVENTS,          "GET",   "/v1/events",                         SRV_WAIT,  SRV_ACF) /* ?after, project, wait 0..30; text/event-stream */ \
  X (PROJECT_LIST,    "GET",   "/v1/projects",                       SRV_READ,  SRV_ACF) \
  X (PROJECT_ADD,     "POST",  "/v1/projects",                       SRV_WRITE, SRV_A) \
  X (PROJECT_GET,     "GET",   "/v1/projects/{project}",             SRV_READ,  SRV_ACF) \
  X (PROJECT_SET,     "PATCH", "/v1/projects/{project}",             SRV_WRITE, SRV_A) \
  X (PROJECT_REMOVE,  "POST",  "/v1/projects/{project}/remove",      SRV_WRITE, SRV_A) \
  X (PROJECT_HOLD,    "PUT",   "/v1/projects/{project}/hold",        SRV_WRITE, SRV_ACF) \
  X (MESSAGE_ADD,     "POST",  "/v1/projects/{project}/messages",    SRV_WRITE, SRV_AC) \
  X (MESSAGE_LIST,    "GET",   "/v1/messages",                       SRV_READ,  SRV_ACF) /* ?project, waiting, limit, cursor */ \
  X (MESSAGE_ANSWER,  "POST",  "/v1/messages/{message}/answer",      SRV_WRITE, SRV_AF) \
  X (REPORT_ADD,      "POST",  "/v1/projects/{project}/report",      SRV_WRITE, SRV_AF) \
  X (QUESTION_ADD,    "POST",  "/v1/projects/{project}/questions",   SRV_WRITE, SRV_AF) \
  X (QUESTION_ANSWER, "POST",  "/v1/questions/{question}/answer",    SRV_WRITE, SRV_AC) \
  X (LEASE_TAKE,      "POST",  "/v1/projects/{project}/lease",       SRV_WRITE, SRV_A) \
  X (ATTACH,          "POST",  "/v1/projects/{project}/attach",      SRV_WRITE, SRV_A) \
  X (LEASE_RENEW,     "POST",  "/v1/leases/{lease}/renew",           SRV_WRITE, SRV_AF) \
  X (LEASE_END,       "POST",  "/v1/leases/{lease}/end",             SRV_WRITE, SRV_AF) \
  X (PLAN_CREATE,     "POST",  "/v1/plans",                          SRV_WRITE, SRV_AF) \
  X (PLAN_LIST,       "GET",   "/v1/plans",                          SRV_READ,  SRV_ACF) /* ?project, state, limit, cursor */ \
  X (PLAN_GET,        "GET",   "/v1/plans/{plan}",                   SRV_READ,  SRV_ACF) \
  X (PLAN_AMEND,      "PATCH", "/v1/plans/{plan}",                   SRV_WRITE, SRV_AF) /* If-Match */ \
  X (PLAN_APPROVE,    "POST",  "/v1/plans/{plan}/approve",           SRV_WRITE, SRV_AC) \
  X (PLAN_REJECT,     "POST",  "/v1/plans/{plan}/reject",            SRV_WRITE, SRV_AC) \
  X (PLAN_HOLD,       "PUT",   "/v1/plans/{plan}/hold",              SRV_WRITE, SRV_ACF) \
  X (TASK_ADD,        "POST",  "/v1/plans/{plan}/tasks",             SRV_WRITE, SRV_AF) \
  X (TASK_GET,        "GET",   "/v1/tasks/{task}",                   SRV_READ,  SRV_ACF) \
  X (TASK_UPDATE,     "PATCH", "/v1/tasks/{task}",                   SRV_WRITE, SRV_AF) \
  X (TASK_CANCEL,     "POST",  "/v1/tasks/{task}/cancel",            SRV_WRITE, SRV_AF) \
  X (TASK_RETRY,      "POST",  "/v1/tasks/{task}/retry",             SRV_WRITE, SRV_AF) \
  X (TASK_NOTE,       "POST",  "/v1/tasks/{task}/note",              SRV_WRITE, SRV_AF) \
  X (TASK_HOLD,       "PUT",   "/v1/tasks/{task}/hold",              SRV_WRITE, SRV_ACF) \
  X (JOB_CLAIM,       "POST",  "/v1/jobs/claim",                     SRV_WAIT,  SRV_AW) /* body: worker, wait 0..30, projects? */ \
  X (JOB_EVENT,       "POST",  "/v1/jobs/{job}/events",              SRV_WRITE, SRV_AW) \
  X (JOB_HEARTBEAT,   "POST",  "/v1/jobs/{job}/heartbeat",           SRV_WRITE, SRV_AW) \
  X (JOB_FINISH,      "POST",  "/v1/jobs/{job}/finish",              SRV_WRITE, SRV_AW) \
  X (TOKEN_LIST,      "GET",   "/v1/tokens",                         SRV_READ,  SRV_A) \
  X (TOKEN_NEW,       "POST",  "/v1/tokens",                         SRV_WRITE, SRV_A) \
  X (TOKEN_REVOKE,    "POST",  "/v1/tokens/{token}/revoke",          SRV_WRITE, SRV_A)
/* clang-format on */

typedef enum
{
#define SRV_OPERATION_NAME(name, method, path, kind, roles) SRV_OP_##name,
  SRV_OPERATIONS (SRV_OPERATION_NAME)
#undef SRV_OPERATION_NAME
      SRV_N_OPERATIONS
} SrvOperation;

typedef struct
{
  const char *name; /* "PLAN_APPROVE" */
  const char *method;
  const char *path;
  SrvKind kind;
  guint roles; /* 0: no token needed */
} SrvOperationInfo;
extern const SrvOperationInfo srv_operations[SRV_N_OPERATIONS];

G_END_DECLS
