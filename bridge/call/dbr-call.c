/* SPDX-License-Identifier: Apache-2.0 */
/* dbr-call: drives the request graph of one call. See dbr-call-priv.h. */
#include "config.h"

#include "call/dbr-call-priv.h"

#include <string.h>

#define DBR_CALL_MAX_STEPS 20000000u /* JSONPath steps of a whole call */

/* ---- ending */

void
dbr_call_free (DbrCall *self)
{
  if (self->idle_id)
    g_source_remove (self->idle_id);
  for (guint i = 0; i < self->n_steps; i++)
    {
      DbrStep *step = &self->steps[i];
      g_clear_pointer (&step->parts, g_ptr_array_unref); /* aborts what is under way */
      g_clear_pointer (&step->body, dbr_json_doc_unref);
      g_clear_pointer (&step->items, dbr_json_doc_unref);
      g_clear_pointer (&step->left, dbr_json_doc_unref);
      g_free (step->error);
    }
  g_free (self->steps);
  if (self->asking_wire)
    dbr_wire_request_clear (self->asking_wire);
  g_free (self->asking_wire);
  g_clear_pointer (&self->graph, dbr_json_graph_free);
  g_clear_pointer (&self->root, dbr_json_doc_unref);
  g_clear_pointer (&self->args, dbr_json_doc_unref);
  g_clear_pointer (&self->input_responses_doc, dbr_json_doc_unref);
  g_clear_pointer (&self->early, dbr_call_result_free);
  g_free (self->request_state);
  g_free (self);
}

void
dbr_call_finish (DbrCall *self, DbrCallResult *result)
{
  DbrCallEvents events = self->events;
  gpointer user_data = self->user_data;

  self->forget (self);
  events.done (user_data, result);
}

void
dbr_call_fail (DbrCall *self, const char *text)
{
  DbrCallResult *result = g_new0 (DbrCallResult, 1);
  g_autoptr (GString) safe = g_string_new (NULL);

  dbr_text_append_safe (safe, text, -1, DBR_TEXT_LINES);
  dbr_mask_apply (dbr_backend_mask (self->backend), safe, 0, DBR_MASK_SHAPES);
  result->is_error = TRUE;
  result->text_len = safe->len;
  result->text = g_string_free (g_steal_pointer (&safe), FALSE);
  dbr_call_finish (self, result);
}

/* ---- the document */

static DbrJsonDoc *
root_of (DbrCall *self)
{
  if (self->root_is_stale || self->root == NULL)
    {
      g_clear_pointer (&self->root, dbr_json_doc_unref);
      self->root = dbr_call_compose (self);
      self->root_is_stale = FALSE;
    }
  return self->root;
}

const DbrJsonPathEnv *
dbr_call_env (DbrCall *self, DbrJson item, DbrJsonPathEnv *env)
{
  env->root = dbr_json_doc_root (root_of (self));
  env->current = item;
  env->now_us = self->now_us;
  env->graph = self->graph;
  env->steps_left = &self->steps_left;
  return env;
}

/* The graph's nodes come from an answer: it is built when that has come, before anything that waits
 * for it. */
static void
build_graph (DbrCall *self)
{
  const DbrGraphDef *def = self->tool->graph;
  DbrJsonPathEnv env;
  g_auto (DbrNodeList) nodes = { 0 };

  g_clear_pointer (&self->graph, dbr_json_graph_free);
  dbr_node_list_init (&nodes);
  if (!dbr_json_path_select (def->nodes, dbr_call_env (self, DBR_JSON_NONE, &env), &nodes, NULL))
    return;
  if (dbr_node_list_size (&nodes) > 0)
    self->graph = dbr_json_graph_new ((const DbrJson *) (gpointer) nodes.nodes->data,
                                      nodes.nodes->len, def->id, def->next);
}

/* ---- rendering */

static const char *
shut_note (const char *tool_name, gpointer user_data)
{
  static char note[160];
  DbrCall *self = user_data;
  const DbrTool *tool = dbr_catalogue_find (self->catalogue, tool_name);
  g_autofree char *remedy = NULL;

  if (tool == NULL || tool->access == DBR_ACCESS_READ
      || dbr_gate_state (self->gate, tool->access) != DBR_GATE_SHUT)
    return NULL;
  remedy = dbr_gate_remedy (self->gate, tool->access);
  g_snprintf (note, sizeof note, "shut: needs %s",
              *remedy ? remedy : "a gate that this catalogue has not");
  return note;
}

static void
append_unread (DbrCall *self, GString *out)
{
  for (guint i = 0; i < self->n_steps; i++)
    {
      DbrStep *step = &self->steps[i];
      if (step->state != DBR_STEP_FAILED || step->error == NULL)
        continue;
      if (out->len && out->str[out->len - 1] != '\n')
        g_string_append_c (out, '\n');
      g_string_append_printf (out, "Not read (%s): ", step->def->id);
      dbr_text_append_safe (out, step->error, -1, DBR_TEXT_ONE_LINE);
      g_string_append_c (out, '\n');
    }
}

static void
append_write_notes (DbrCall *self, GString *out)
{
  if (self->flag_decided)
    g_string_append (out, "(This client can't ask the user; the gate's flag alone decided.)\n");
  /* Who typed the command knows where the own engine is. */
  if (self->typed && self->catalogue->backend->has_engine_socket)
    return;
  if (self->write_was_acknowledged && strstr (out->str, dbr_backend_origin (self->backend)) == NULL)
    g_string_append_printf (out, "(sent to %s)\n", dbr_backend_origin (self->backend));
}

/* Nothing to print: either the backend said nothing, or the answer looks for members that are not there. */
static void
describe_silence (DbrCall *self, GString *out)
{
  gboolean is_silent = TRUE;

  for (guint i = 0; i < self->n_steps; i++)
    {
      const DbrStep *step = &self->steps[i];
      DbrJson root = step->body ? dbr_json_doc_root (step->body) : DBR_JSON_NONE;

      if (step->body == NULL)
        continue;
      g_string_append_printf (
          out, "%s$.%s ",
          is_silent ? "The backend answered, but nothing of it is what this tool prints: " : "; ",
          step->def->id);
      is_silent = FALSE;
      if (dbr_json_type (root) == DBR_JSON_OBJECT)
        {
          g_string_append (out, "has the members ");
          for (DbrJson value = dbr_json_first (root); dbr_json_exists (value) && out->len < 600;
               value = dbr_json_next (value))
            {
              g_autofree char *key = dbr_json_dup_string (dbr_json_key (value));
              dbr_text_append_safe (out, key, -1, DBR_TEXT_ONE_LINE);
              g_string_append (out, dbr_json_exists (dbr_json_next (value)) ? ", " : "");
            }
        }
      else
        g_string_append_printf (
            out, "is %s", dbr_json_type (root) == DBR_JSON_ARRAY ? "an array" : "a single value");
    }
  if (is_silent)
    g_string_append (out, "Done; the backend answered without a body.");
}

/* Of a <call>'s argument: a word for a boolean is no string. */
static gboolean
takes_json (const char *tool, const char *argument, gpointer user_data)
{
  const DbrCall *self = user_data;
  const DbrTool *called = dbr_catalogue_find (self->catalogue, tool);
  const DbrParam *param = called ? dbr_tool_param (called, argument) : NULL;

  return param && param->type != DBR_PARAM_STRING && param->type != DBR_PARAM_PATH;
}

static void
make_boundary (char boundary[9])
{
  g_snprintf (boundary, 9, "%08x", g_random_int ());
}

static void
render (DbrCall *self)
{
  DbrCallResult *result = g_new0 (DbrCallResult, 1);
  g_autoptr (GString) out = g_string_sized_new (4096);
  g_autoptr (GError) error = NULL;
  g_autoptr (GString) records = self->json_output ? g_string_new (NULL) : NULL;
  char boundary[9];
  gboolean fails = FALSE;
  DbrAnswerEnv env = { 0 };

  make_boundary (boundary);
  env.root = dbr_json_doc_root (root_of (self));
  env.now_us = self->now_us;
  env.graph = self->graph;
  env.log_style = self->catalogue->backend->log_style;
  env.mask = dbr_backend_mask (self->backend);
  env.boundary = self->boundary ? self->boundary : boundary;
  env.shut = shut_note;
  env.shut_data = self;
  env.takes_json = takes_json;
  env.takes_json_data = self;
  env.offer = self->catalogue->offer ? self->catalogue->offer->name : NULL;
  env.typed = self->typed;
  env.typed_data = self->typed_data;
  env.records = records;
  env.out_fails = &fails;
  if (!dbr_tool_answer (self->tool))
    g_string_append (out, "(The catalogue's answer of this tool can't be read: drawbridge "
                          "catalogue check says why.)\n");
  else if (!dbr_answer_render (dbr_tool_answer (self->tool), &env, out, &error))
    g_string_append_printf (out, "\n(The answer is cut here: %s.)\n", error->message);
  if (records)
    g_string_printf (out, records->len ? "[\n%s\n]" : "[%s]", records->str);
  else
    {
      gsize from = out->len;
      append_unread (self, out);
      append_write_notes (self, out);
      dbr_mask_apply (dbr_backend_mask (self->backend), out, from, DBR_MASK_SHAPES);
    }
  while (out->len && out->str[out->len - 1] == '\n')
    g_string_truncate (out, out->len - 1);
  if (out->len == 0)
    describe_silence (self, out);
  /* What was done is done: nothing that the answer says afterwards makes a failure of it. */
  result->is_error = fails && !self->write_was_acknowledged;
  result->text_len = out->len;
  result->text = g_string_free (g_steal_pointer (&out), FALSE);
  dbr_call_finish (self, result);
}

/* ---- starting steps */

static gboolean
is_over (const DbrStep *step)
{
  return step->state == DBR_STEP_DONE || step->state == DBR_STEP_SKIPPED
         || step->state == DBR_STEP_FAILED;
}

/* A write goes last among those that don't need its answer, so that no needed read can fail after
 * it was sent. */
static gboolean
must_wait_for_reads (const DbrCall *self, const DbrStep *step)
{
  guint64 bit = G_GUINT64_CONSTANT (1) << step->def->index;

  if (step->def->access == DBR_ACCESS_READ)
    return FALSE;
  for (guint i = 0; i < self->n_steps; i++)
    {
      const DbrStep *other = &self->steps[i];
      /* Another write is the other way of a <one-of>: it is passed over. */
      if (other->def->access == DBR_ACCESS_READ && !other->def->optional && !is_over (other)
          && !(other->def->needs & bit))
        return TRUE;
    }
  return FALSE;
}

static gboolean
is_ready (const DbrCall *self, const DbrStep *step)
{
  for (guint i = 0; i < self->n_steps; i++)
    if ((step->def->needs & (G_GUINT64_CONSTANT (1) << i)) && !is_over (&self->steps[i]))
      return FALSE;
  return !must_wait_for_reads (self, step);
}

DbrPart *
dbr_call_add_part (DbrStep *step, DbrJson item)
{
  DbrPart *part = g_new0 (DbrPart, 1);

  part->step = step;
  part->index = step->parts->len;
  part->item = item;
  part->item_doc = item.doc ? dbr_json_doc_ref (item.doc) : NULL;
  g_ptr_array_add (step->parts, part);
  return part;
}

gboolean
dbr_call_needs (const DbrStep *step)
{
  return !step->def->optional
         && !(step->call->write_was_acknowledged && step->def->access == DBR_ACCESS_READ);
}

/* An error before anything of it was sent: a bad path value, an expression that takes too long and
 * the like. FALSE when the call ended. */
static gboolean
step_could_not_start (DbrStep *step, const GError *error)
{
  g_autofree char *text = NULL;

  step->call->root_is_stale = TRUE;
  if (!dbr_call_needs (step))
    {
      step->state = DBR_STEP_FAILED;
      step->error = g_strdup (error->message);
      return TRUE;
    }
  text = g_strdup_printf ("Nothing was sent: %s", error->message);
  dbr_call_fail (step->call, text);
  return FALSE;
}

/* As above, of one item of a for-each: it is told beside the others. */
static gboolean
part_could_not_start (DbrPart *part, const GError *error)
{
  if (!part->step->def->for_each)
    return step_could_not_start (part->step, error);
  part->error = g_strdup (error->message);
  part->is_done = TRUE;
  return TRUE;
}

/* Builds, passes the gate and sends one part. FALSE when the call is gone or waits for the user. */
static gboolean
start_part (DbrPart *part)
{
  DbrStep *step = part->step;
  DbrCall *self = step->call;
  g_auto (DbrWireRequest) wire = { 0 };
  g_autoptr (GError) error = NULL;
  DbrBuild built = dbr_call_build (part, &wire, &error);

  if (built == DBR_BUILD_ABSENT)
    {
      part->is_done = TRUE;
      if (!step->def->for_each)
        step->state = DBR_STEP_SKIPPED;
      return TRUE;
    }
  if (built == DBR_BUILD_ERROR)
    return part_could_not_start (part, error);
  if (!dbr_call_pass_gate (part, &wire))
    return FALSE;
  if (!dbr_backend_open (self->backend, self->gate, &self->door, &self->client, &error))
    {
      g_autofree char *text = dbr_text_dup_sentence ("Nothing was sent: %s", error->message);
      dbr_call_fail (self, text);
      return FALSE;
    }
  dbr_call_send (part, &wire);
  return TRUE;
}

/* Ends a step nothing of which is under way (all skipped, or no items). */
static void
end_if_idle (DbrStep *step)
{
  if (step->state == DBR_STEP_RUNNING && step->n_pending == 0)
    dbr_call_step_ended (step);
}

/* Whether the parameter of a <one-of> that a request stands for was given. */
static gboolean
is_given (const DbrCall *self, const char *with)
{
  return with == NULL || dbr_json_exists (dbr_json_get (dbr_json_doc_root (self->args), with));
}

/* FALSE when the call ended or waits for the user. */
static gboolean
start_step (DbrStep *step)
{
  DbrCall *self = step->call;
  DbrJsonPathEnv env;
  g_autoptr (GError) error = NULL;
  gboolean holds = is_given (self, step->def->with);

  if (holds && step->def->when
      && !dbr_json_path_test (step->def->when, dbr_call_env (self, DBR_JSON_NONE, &env), &holds,
                              &error))
    return step_could_not_start (step, error);
  self->root_is_stale = TRUE;
  if (!holds)
    {
      step->state = DBR_STEP_SKIPPED;
      return TRUE;
    }
  step->state = DBR_STEP_RUNNING;
  if (step->def->for_each == NULL)
    {
      if (!start_part (dbr_call_add_part (step, DBR_JSON_NONE)))
        return FALSE;
      return TRUE;
    }
  if (!dbr_call_choose_items (step, &error))
    return step_could_not_start (step, error);
  for (guint i = 0; i < step->parts->len; i++)
    if (!start_part (g_ptr_array_index (step->parts, i)))
      return FALSE;
  end_if_idle (step);
  return TRUE;
}

/* Starts whatever is ready, again and again, since a skipped step can make others ready; renders
 * when all is over. */
static void
advance (DbrCall *self)
{
  gboolean again = TRUE;
  gboolean all_over = TRUE;

  while (again)
    {
      again = FALSE;
      for (guint i = 0; i < self->n_steps; i++)
        {
          DbrStep *step = &self->steps[i];
          if (step->state != DBR_STEP_WAITING || !is_ready (self, step))
            continue;
          if (!start_step (step))
            return;
          again = again || is_over (step);
        }
    }
  for (guint i = 0; i < self->n_steps; i++)
    all_over = all_over && is_over (&self->steps[i]);
  if (all_over)
    render (self);
}

static gboolean
on_idle (gpointer user_data)
{
  DbrCall *self = user_data;

  self->idle_id = 0;
  advance (self);
  return G_SOURCE_REMOVE;
}

void
dbr_call_continue (DbrCall *self)
{
  if (self->idle_id == 0)
    self->idle_id = g_idle_add_full (G_PRIORITY_DEFAULT, on_idle, self, NULL);
}

void
dbr_call_step_ended (DbrStep *step)
{
  DbrCall *self = step->call;

  dbr_call_collect_step (step);
  if (step->state == DBR_STEP_RUNNING)
    step->state = DBR_STEP_DONE;
  self->root_is_stale = TRUE;
  if (self->tool->graph && (dbr_json_path_roots (self->tool->graph->nodes)[0] != NULL)
      && strcmp (dbr_json_path_roots (self->tool->graph->nodes)[0], step->def->id) == 0)
    build_graph (self);
}

/* ---- the door for dbr-host.c */

DbrCall *
dbr_call_start (DbrCall *self)
{
  g_autofree char *id = g_uuid_string_random ();

  g_strlcpy (self->id, id, sizeof self->id);
  if (self->now_us == 0)
    self->now_us = g_get_real_time ();
  self->deadline_us
      = g_get_monotonic_time () + (gint64) dbr_backend_timeout_ms (self->backend) * 1000;
  if (self->steps_left == 0)
    self->steps_left = DBR_CALL_MAX_STEPS;
  self->n_steps = self->tool->requests->len;
  self->steps = g_new0 (DbrStep, self->n_steps);
  for (guint i = 0; i < self->n_steps; i++)
    {
      DbrStep *step = &self->steps[i];
      step->call = self;
      step->def = g_ptr_array_index (self->tool->requests, i);
      step->parts = g_ptr_array_new_with_free_func ((GDestroyNotify) dbr_part_free);
      step->total = -1;
    }
  dbr_call_continue (self);
  return self;
}

static const char *
outcome_text (DbrAskOutcome outcome)
{
  switch (outcome)
    {
    case DBR_ASK_DECLINED:
      return "the user declined";
    case DBR_ASK_CANCELLED:
      return "the question was closed without an answer";
    case DBR_ASK_TIMED_OUT:
      return "no answer came in time";
    case DBR_ASK_ACCEPTED:
    case DBR_ASK_UNAVAILABLE:
    default:
      return "the client could not ask after all";
    }
}

void
dbr_call_answered (DbrCall *self, DbrAskOutcome outcome)
{
  DbrPart *part = self->asking_part;
  g_autoptr (GError) error = NULL;

  if (part == NULL)
    return;
  self->asking_part = NULL;
  /* The user's time to think isn't the backend's. */
  self->deadline_us += g_get_monotonic_time () - self->asked_at_us;
  if (outcome != DBR_ASK_ACCEPTED)
    {
      g_autofree char *what
          = g_strdup_printf ("%s %s%s", self->asking_wire->method,
                             dbr_backend_origin (self->backend), self->asking_wire->path);
      dbr_call_finish (self,
                       dbr_gate_refuse (self->gate, self->tool, DBR_REFUSED_UNCONFIRMED,
                                        self->asking_wire->access, what, outcome_text (outcome)));
      return;
    }
  self->has_consent = TRUE;
  part->step->state = DBR_STEP_RUNNING;
  if (!dbr_backend_open (self->backend, self->gate, &self->door, &self->client, &error))
    {
      g_autofree char *text = dbr_text_dup_sentence ("Nothing was sent: %s", error->message);
      dbr_call_fail (self, text);
      return;
    }
  dbr_call_send (part, self->asking_wire);
}
