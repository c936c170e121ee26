/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan-model: what the engine should make of plans, in few lines: of up to six tasks each, who depends on whom, states,
 * attempts, versions, holds, and why they wait. Everything is derived anew each time, as slowly as it likes.
 */
#pragma once

#include "srv-fixture.h"
#include "srv-model.h"
#include "srv-rules.h"

G_BEGIN_DECLS

#define MODEL_MAX_PLANS 6u
#define MODEL_MAX_TASKS 6u
#define MODEL_MAX_QUESTIONS 8u
#define MODEL_N_GLOBS 2u
#define MODEL_N_HOURS 5u
#define MODEL_N_PATHS 5u

typedef struct
{
  gint64 id;
  guint needs; /* bits of earlier tasks */
  SrvTaskState state;
  gboolean awaiting, held;
  guint paths; /* of model_paths */
  guint attempt, lost, returned;
  gint64 job;
  guint sequence;
  gint64 heartbeat;
} ModelTask;

typedef struct
{
  gint64 id;
  SrvPlanState state;
  guint version, n_tasks;
  gboolean held;
  /* While something waits: why, the protected globs that it may touch (bits), and the hours that it was judged by. */
  guint waits, globs, hours;
  ModelTask tasks[MODEL_MAX_TASKS];
} ModelPlan;

typedef struct
{
  gint64 id;
  gboolean is_answered;
} ModelQuestion;

typedef struct
{
  SrvFixture base;
  GRand *rand;
  SrvActor foreman;
  gboolean asks;   /* approval: always */
  guint max_tasks; /* of a plan that starts by itself */
  guint protected; /* bits of model_globs */
  guint hours;     /* of model_hours */
  gboolean held;   /* the project */
  guint told;      /* messages of the engine to the foreman */
  ModelPlan plans[MODEL_MAX_PLANS];
  guint n_plans;
  ModelQuestion questions[MODEL_MAX_QUESTIONS];
  guint n_questions;
} Model;

extern const char *const model_globs[MODEL_N_GLOBS];
/* A task's paths as JSON, and the bits of the globs that it may touch with them. */
typedef struct
{
  const char *json;
  guint touches;
} ModelPaths;
extern const ModelPaths model_paths[MODEL_N_PATHS];
const char *
model_hours_text (guint hours);
/* Seconds until the hours of now open or close, or until some whole hour where they never do. */
gint64
model_border (const Model *self);

/* States and what follows from them. */
void
model_derive (ModelPlan *plan);
/* Of a plan whose tasks (bits) are new or changed. */
void
model_judge (const Model *self, ModelPlan *plan, guint changed);
void
model_approve (ModelPlan *plan);
/* The tasks (bits) that are changed by it when a foreman does it. */
guint
model_cancel (ModelPlan *plan, guint task);
/* The engine's wall clock, which may be set; everything else is measured by base.now. */
gint64
model_wall (const Model *self);
/* Time has come to base.now. */
void
model_tick (Model *self);
gboolean
model_is_open (const ModelPlan *plan);
gboolean
model_is_waiting (const ModelPlan *plan);
/* The engine shows what the model has. */
void
model_compare (Model *self);

G_END_DECLS
