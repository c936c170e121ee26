/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-fixture: an engine in memory with a clock of its own, and requests in one line.
 */
#pragma once

#include "srv-engine.h"

G_BEGIN_DECLS

typedef struct
{
  SrvEngine *engine;
  gint64 now;            /* us; the engine's clock */
  gint64 skew;           /* us by which its wall clock was set since */
  const SrvWorld *world; /* nullable; set before opening */
  SrvActor admin, client, worker;
  SrvActor runner; /* the engine itself */
  json_t *last;    /* the last body; borrowed by tests until the next request */
  guint status;    /* and its status */
  char *etag, *location;
} SrvFixture;

/* @file NULL: in memory. */
void
srv_fixture_open (SrvFixture *self, const char *file);
void
srv_fixture_close (SrvFixture *self);
/* One request; @target: "7" an id, "p:7" or "p:~" a project's, NULL none; @body JSON or NULL. Extra: "If-Match=3", "Idempotency-Key=k"
 * or "name=value" of the query, NULL-terminated. Returns the status. */
guint
srv_fixture_call (SrvFixture *self,
                  const SrvActor *actor,
                  SrvOperation operation,
                  const char *target,
                  const char *body,
                  ...) G_GNUC_NULL_TERMINATED;
/* A value of the last body: "tasks.0.id"; aborts when it is not there. */
json_t *
srv_fixture_get (SrvFixture *self, const char *path);
gint64
srv_fixture_int (SrvFixture *self, const char *path);
const char *
srv_fixture_text (SrvFixture *self, const char *path);
/* The id of a place as text, in a static buffer of eight. */
const char *
srv_fixture_id (gint64 id);
/* Asserts status and code of a problem, and that its detail or errors hold @text. */
void
srv_fixture_assert_problem (SrvFixture *self, guint status, const char *code, const char *text);
/* The foreman of a lease that the last answer gave. */
SrvActor
srv_fixture_foreman (SrvFixture *self);
/* Plays @n random rounds, each with its seed, from 1 on; SRV_MODEL_SEED and SRV_MODEL_ROUNDS say otherwise. */
void
srv_fixture_rounds (void (*round) (guint32 seed), guint n);
/* One of everything: a project with a preset, its lease (whose foreman is returned), message, question, report; a
 * plan at work, one that awaits approval, a running job. */
SrvActor
srv_fixture_fill (SrvFixture *self);
/* Asks for status: what each project says that needs the user is what the list of it holds, no more and no less. */
void
srv_fixture_assert_needs (SrvFixture *self);
/* Lets seconds pass, ticks, and waits until all is written. */
void
srv_fixture_pass (SrvFixture *self, gint64 seconds);

G_END_DECLS
