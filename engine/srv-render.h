/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-render: records as the JSON of the API.
 */
#pragma once

#include "srv-plan-set.h"

G_BEGIN_DECLS

json_t *
srv_render_time (gint64 us); /* RFC 3339 in UTC; null for 0 */
/* The first @max characters, with "…" for the rest. */
json_t *
srv_render_cut (const char *text, glong max);
json_t *
srv_render_text (const char *text); /* null for NULL */
json_t *
srv_render_id (gint64 id); /* null for 0 */
json_t *
srv_render_list (const char *json); /* an array that the store keeps as JSON; [] for NULL */
/* What the engine keeps as an object; NULL: nothing. */
json_t *
srv_render_object (const char *json);
json_t *
srv_render_who (gint64 role, const char *name);
json_t *
srv_render_settings (const SrvSettings *settings);
json_t *
srv_render_project (SrvCall *call, const SrvProject *project);
/* Why it waits: [{reason, setting, from, to, text}]. */
json_t *
srv_render_waits (SrvPlanSet *set);
typedef enum
{
  SRV_WITH_TASKS = 1 << 0,
  SRV_WITH_BRIEFS = 1 << 1, /* with tasks */
} SrvRenderFlags;
json_t *
srv_render_plan (SrvCall *call, SrvPlanSet *set, SrvRenderFlags flags);
/* The tasks that became ready since srv_plan_set_ready() said @ready_before: [{id, title, branch}]. */
json_t *
srv_render_started (const SrvPlanSet *set, GHashTable *ready_before);
/* @set must hold it; @brief nullable: left out. */
json_t *
srv_render_task (SrvPlanSet *set, guint i, const char *brief);
json_t *
srv_render_message (SrvCall *call, const SrvMessage *message);
json_t *
srv_render_question (SrvCall *call, const SrvQuestion *question);
json_t *
srv_render_report (const SrvReport *report);
json_t *
srv_render_lease (const SrvLease *lease);
json_t *
srv_render_token (const SrvToken *token);
json_t *
srv_render_job (const SrvCall *call, const SrvJob *job);
json_t *
srv_render_event (SrvCall *call, const SrvEvent *event);
json_t *
srv_render_notes (SrvCall *call, gint64 task);
/* {items, next_cursor}; takes @items. */
json_t *
srv_render_page (json_t *items, gint64 next); /* 0: no more */

G_END_DECLS
