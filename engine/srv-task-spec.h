/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-task-spec: tasks as they come in, put into a plan: texts checked, titles and ids of dependencies resolved.
 */
#pragma once

#include "srv-plan-set.h"

G_BEGIN_DECLS

/* Adds one task; its dependencies wait for srv_task_spec_link(). */
SrvTask *
srv_task_spec_add (SrvCall *call, SrvPlanSet *set, DbrJson object, const char *where);
/* Rewrites one; TRUE when something of it changed. */
gboolean
srv_task_spec_update (SrvCall *call, SrvPlanSet *set, SrvTask *task, DbrJson object);
/* Checks the members of an update ("id" among them when @with_id). */
void
srv_task_spec_check_update (SrvCall *call, DbrJson object, const char *where, gboolean with_id);
/* Sets depends_on from titles and ids once every task of the request is there. */
void
srv_task_spec_link (
    SrvCall *call, SrvPlanSet *set, SrvTask *task, DbrJson depends_on, const char *where);
/* Doubled titles, cycles, too many tasks: problems of the plan as a whole. */
void
srv_task_spec_check_plan (SrvCall *call, SrvPlanSet *set, const char *where);

G_END_DECLS
