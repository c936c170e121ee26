/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-task-spec: dependencies may name tasks of the same request by title, so tasks are added first and linked then.
 */
#include "config.h"

#include "srv-task-spec.h"

#include <string.h>

#define MAX_DEPENDS 100
#define MAX_BRANCH 200

#define TASK_MEMBERS(flags) \
  { "title", SRV_MEMBER_TITLE, flags, 0, 0, NULL }, \
      { "brief", SRV_MEMBER_TEXT, flags, 0, 0, NULL }, \
      { "depends_on", SRV_MEMBER_ARRAY, 0, 0, MAX_DEPENDS, NULL }, \
      { "paths", SRV_MEMBER_ARRAY, 0, 0, SRV_MAX_GLOBS, NULL }, \
  { \
    "branch", SRV_MEMBER_TITLE, SRV_MEMBER_NULLABLE, 0, 0, NULL \
  }

static const SrvMember new_members[] = { TASK_MEMBERS (SRV_MEMBER_REQUIRED) };
static const SrvMember update_members[] = {
  TASK_MEMBERS (0),
  { "state", SRV_MEMBER_WORD, 0, 0, 0, (const char *const[]){ "done", "ready", NULL } },
};
static const SrvMember update_id_members[] = {
  TASK_MEMBERS (0),
  { "id", SRV_MEMBER_INTEGER, SRV_MEMBER_REQUIRED, 1, G_MAXINT64, NULL },
};

/* A conservative part of what git takes as a branch's name. */
static gboolean
is_branch (const char *branch)
{
  if (!*branch || strlen (branch) > MAX_BRANCH || strchr ("-/.", *branch) || strstr (branch, "..")
      || strstr (branch, "//") || strstr (branch, "@{") || strstr (branch, "/."))
    return FALSE;
  for (const char *p = branch; *p; p++)
    if ((guchar) *p <= 0x20 || *p == 0x7f || strchr ("~^:?*[\\", *p))
      return FALSE;
  return !g_str_has_suffix (branch, "/") && !g_str_has_suffix (branch, ".")
         && !g_str_has_suffix (branch, ".lock");
}

static void
check_branch (SrvCall *call, DbrJson object, const char *where)
{
  const char *branch = srv_call_text (call, object, "branch");

  if (branch && !is_branch (branch))
    {
      g_autofree char *field = g_strdup_printf ("%s%sbranch", where, *where ? "." : "");
      g_autofree char *quoted = srv_call_quote (branch);
      srv_call_problem (call, field, "%s is not a name that git takes for a branch", quoted);
    }
}

static void
check_parts (SrvCall *call, DbrJson object, const char *where)
{
  g_autofree char *field = g_strdup_printf ("%s%spaths", where, *where ? "." : "");

  srv_call_globs (call, dbr_json_get (object, "paths"), field);
  check_branch (call, object, where);
}

void
srv_task_spec_check_update (SrvCall *call, DbrJson object, const char *where, gboolean with_id)
{
  if (with_id)
    srv_call_check (call, object, where, update_id_members, G_N_ELEMENTS (update_id_members));
  else
    srv_call_check (call, object, where, update_members, G_N_ELEMENTS (update_members));
  check_parts (call, object, where);
}

static void
write_brief (SrvCall *call, gint64 task, const char *text, gboolean is_new)
{
  g_autoptr (SrvBrief) brief = SrvBrief_new ();

  brief->id = task;
  brief->text = g_strdup (text);
  if (is_new)
    srv_store_add (call->store, brief);
  else
    srv_store_put (call->store, brief);
}

SrvTask *
srv_task_spec_add (SrvCall *call, SrvPlanSet *set, DbrJson object, const char *where)
{
  srv_call_check (call, object, where, new_members, G_N_ELEMENTS (new_members));
  check_parts (call, object, where);
  SrvTask *task = srv_plan_set_add (call, set);
  const char *title = srv_call_text (call, object, "title");
  const char *brief = srv_call_text (call, object, "brief");
  const char *branch = srv_call_text (call, object, "branch");
  task->title = g_strdup (title ? title : "");
  task->branch = branch ? g_strdup (branch)
                        : g_strdup_printf ("plan-%" G_GINT64_FORMAT "/task-%" G_GINT64_FORMAT,
                                           task->plan, task->id);
  if (srv_call_is_bad (call))
    return task;
  task->paths = g_strdup (srv_call_globs (call, dbr_json_get (object, "paths"), where));
  write_brief (call, task->id, brief, TRUE);
  return task;
}

static gboolean
replace_text (char **field, const char *text)
{
  if (g_strcmp0 (*field, text) == 0)
    return FALSE;
  srv_text_set (field, text);
  return TRUE;
}

gboolean
srv_task_spec_update (SrvCall *call, SrvPlanSet *set, SrvTask *task, DbrJson object)
{
  gboolean changed = FALSE;
  const char *brief = srv_call_text (call, object, "brief");
  g_autoptr (SrvBrief) old = brief ? srv_store_get (call->store, SRV_RECORD_BRIEF, task->id) : NULL;

  if (srv_call_has (object, "title"))
    {
      changed |= replace_text (&task->title, srv_call_text (call, object, "title"));
      g_clear_pointer (&set->titles, g_hash_table_unref);
    }
  if (srv_call_has (object, "paths"))
    changed |= replace_text (&task->paths,
                             srv_call_globs (call, dbr_json_get (object, "paths"), "paths"));
  if (srv_call_text (call, object, "branch"))
    changed |= replace_text (&task->branch, srv_call_text (call, object, "branch"));
  if (brief && (!old || strcmp (old->text, brief) != 0))
    {
      write_brief (call, task->id, brief, old == NULL);
      changed = TRUE;
    }
  if (changed)
    srv_plan_set_change (set, task, call->now);
  return changed;
}

/* ---------------------------------------------------------------- dependencies */
/* A title (a text) or an id (a number); NULL and a problem. */
static SrvTask *
resolve (SrvCall *call, SrvPlanSet *set, DbrJson value, const char *field)
{
  gint64 id = 0;
  SrvTask *task = NULL;

  if (dbr_json_type (value) == DBR_JSON_NUMBER && dbr_json_int64 (value, &id))
    {
      task = srv_plan_set_task (set, id);
      /* The ids of new tasks can be guessed, but nobody was told them yet. */
      if (task && task->state != SRV_TASK_CANCELLED && !g_hash_table_contains (set->added, task))
        return task;
      srv_call_problem (call, field,
                        "names task %" G_GINT64_FORMAT ", which the plan does not have", id);
      return NULL;
    }
  if (dbr_json_type (value) != DBR_JSON_STRING)
    {
      srv_call_problem (call, field, "is neither the title nor the id of a task");
      return NULL;
    }
  const char *title = srv_call_element_text (call, value, field, SRV_MAX_TITLE);
  task = title ? srv_plan_set_find_title (set, title) : NULL;
  if (title && !task)
    srv_call_problem (call, field, "names the task \"%s\", which the plan does not have", title);
  return task;
}

void
srv_task_spec_link (
    SrvCall *call, SrvPlanSet *set, SrvTask *task, DbrJson depends_on, const char *where)
{
  g_autoptr (GArray) ids = g_array_new (FALSE, FALSE, sizeof (gint64));
  guint i = 0;

  if (dbr_json_type (depends_on) != DBR_JSON_ARRAY)
    return;
  for (DbrJson value = dbr_json_first (depends_on); dbr_json_exists (value) && i < MAX_DEPENDS;
       value = dbr_json_next (value), i++)
    {
      g_autofree char *field = g_strdup_printf ("%s%sdepends_on[%u]", where, *where ? "." : "", i);
      const SrvTask *needed = resolve (call, set, value, field);
      gboolean doubled = FALSE;
      for (guint k = 0; needed && k < ids->len; k++)
        doubled |= g_array_index (ids, gint64, k) == needed->id;
      if (needed == task)
        srv_call_problem (call, field, "is the task itself");
      else if (needed && !doubled)
        g_array_append_val (ids, needed->id);
    }
  g_autofree char *text = srv_ids_text (ids);
  if (replace_text (&task->depends_on, text))
    srv_plan_set_change (set, task, call->now);
}

static guint
count_paths (const SrvPlanSet *set)
{
  guint count = 0;

  for (guint i = 0; i < set->tasks->len; i++)
    {
      const SrvTask *task = g_ptr_array_index (set->tasks, i);
      g_auto (GStrv) paths
          = task->state == SRV_TASK_CANCELLED ? NULL : srv_globs_parse (task->paths);
      count += paths ? g_strv_length (paths) : 0;
    }
  return count;
}

void
srv_task_spec_check_plan (SrvCall *call, SrvPlanSet *set, const char *where)
{
  g_autoptr (GHashTable) titles = g_hash_table_new (g_str_hash, g_str_equal);
  gint64 cycle = 0;

  if (set->tasks->len > SRV_MAX_TASKS)
    srv_call_problem (call, where, "would give the plan more than %d tasks", SRV_MAX_TASKS);
  if (count_paths (set) > SRV_MAX_PATHS)
    srv_call_problem (call, where, "would give the plan more than %d paths", SRV_MAX_PATHS);
  for (guint i = 0; i < set->tasks->len; i++)
    {
      const SrvTask *task = g_ptr_array_index (set->tasks, i);
      if (task->state != SRV_TASK_CANCELLED && *task->title
          && !g_hash_table_add (titles, task->title))
        srv_call_problem (call, where, "has two tasks with the title \"%s\"", task->title);
    }
  srv_plan_set_refresh (set);
  if (srv_rules_waves (set->values, set->tasks->len, &cycle))
    return;
  const SrvTask *task = srv_plan_set_task (set, cycle);
  srv_call_problem (call, where, "depend on each other in a circle: \"%s\" would wait for itself",
                    task ? task->title : "");
}
