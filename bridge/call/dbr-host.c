/* SPDX-License-Identifier: Apache-2.0 */
/* dbr-host: see the header. Knows which calls run, so that a cancel or the end can abort them. */
#include "config.h"

#include "call/dbr-host.h"

#include "call/dbr-call-priv.h"

#include <string.h>

typedef struct
{
  DbrToolHost host; /* first: the door */
  DbrCatalogue *catalogue;
  DbrGate *gate;
  DbrBackend *backend;
  gboolean assume_yes;
  gboolean json_output;
  DbrTypedFunc typed;
  gpointer typed_data;
  gint64 now_us;
  guint max_steps;
  const char *boundary;
  char *instructions;
  GHashTable *calls; /* set of DbrCall */
} Host;

static json_t *
list_tools (DbrToolHost *door)
{
  Host *self = (Host *) door;
  json_t *list = json_array ();

  for (guint i = 0; i < self->catalogue->tools->len; i++)
    {
      const DbrTool *tool = g_ptr_array_index (self->catalogue->tools, i);
      g_autofree char *note = NULL;
      if (!dbr_gate_lists (self->gate, tool))
        continue;
      note = dbr_gate_note (self->gate, tool);
      json_array_append_new (list, dbr_tool_describe (tool, note));
    }
  return list;
}

static gboolean
has_tool (DbrToolHost *door, const char *name)
{
  Host *self = (Host *) door;
  return dbr_catalogue_find (self->catalogue, name) != NULL;
}

static void
forget (DbrCall *call)
{
  Host *self = (Host *) call->host;
  g_hash_table_remove (self->calls, call);
}

/* ---- answers that need no request; they still come from the main loop, not from inside host->call
 */

static gboolean
finish_early (gpointer user_data)
{
  DbrCall *call = user_data;
  DbrCallResult *result = g_steal_pointer (&call->early);

  call->idle_id = 0;
  dbr_call_finish (call, result);
  return G_SOURCE_REMOVE;
}

static void
answer_early (DbrCall *call, DbrCallResult *result)
{
  call->early = result;
  call->idle_id = g_idle_add_full (G_PRIORITY_DEFAULT, finish_early, call, NULL);
}

static DbrCallResult *
argument_problem (const Host *self, const DbrTool *tool, const GError *error)
{
  DbrCallResult *result = g_new0 (DbrCallResult, 1);
  g_autofree char *text = g_strdup_printf (
      "Nothing was sent: the arguments of %s are not right.\n%s", tool->name, error->message);
  g_autoptr (GString) safe = g_string_new (NULL);

  dbr_text_append_safe (safe, text, -1, DBR_TEXT_LINES);
  dbr_mask_apply (dbr_backend_mask (self->backend), safe, 0, DBR_MASK_OWN);
  result->is_error = TRUE;
  result->text_len = safe->len;
  result->text = g_string_free (g_steal_pointer (&safe), FALSE);
  return result;
}

/* What is known to be refused before the arguments are looked at. */
static DbrCallResult *
refuse_at_once (const Host *self, const DbrTool *tool)
{
  if (!dbr_gate_in_scope (self->gate, tool))
    return dbr_gate_refuse (self->gate, tool, DBR_REFUSED_SCOPE, tool->access, NULL, NULL);
  if (!tool->access_varies && dbr_gate_state (self->gate, tool->access) == DBR_GATE_SHUT)
    return dbr_gate_refuse (self->gate, tool, DBR_REFUSED_ACCESS, tool->access, NULL, NULL);
  return NULL;
}

static DbrCall *
make_call (Host *self,
           const DbrTool *tool,
           const DbrCallRequest *request,
           const DbrCallEvents *events,
           gpointer user_data)
{
  DbrCall *call = g_new0 (DbrCall, 1);

  call->host = &self->host;
  call->catalogue = self->catalogue;
  call->gate = self->gate;
  call->backend = self->backend;
  call->tool = tool;
  call->events = *events;
  call->user_data = user_data;
  call->asking = request->asking;
  call->assume_yes = self->assume_yes;
  call->json_output = self->json_output;
  call->typed = self->typed;
  call->typed_data = self->typed_data;
  call->now_us = self->now_us;
  call->steps_left = self->max_steps;
  call->boundary = self->boundary;
  call->wants_progress = request->wants_progress && events->progress;
  call->forget = forget;
  if (request->input_responses.doc)
    {
      call->input_responses_doc = dbr_json_doc_ref (request->input_responses.doc);
      call->input_responses = request->input_responses;
    }
  call->request_state = g_strdup (request->request_state);
  g_hash_table_add (self->calls, call);
  return call;
}

static gpointer
start (DbrToolHost *door,
       const DbrCallRequest *request,
       const DbrCallEvents *events,
       gpointer user_data)
{
  Host *self = (Host *) door;
  const DbrTool *tool = dbr_catalogue_find (self->catalogue, request->tool);
  DbrCall *call = make_call (self, tool, request, events, user_data);
  DbrCallResult *refusal = refuse_at_once (self, tool);
  g_autoptr (GError) error = NULL;

  if (refusal)
    {
      answer_early (call, refusal);
      return call;
    }
  call->args = dbr_arguments_check (tool, request->arguments, &error);
  if (call->args == NULL)
    {
      answer_early (call, argument_problem (self, tool, error));
      return call;
    }
  return dbr_call_start (call);
}

static void
answered (DbrToolHost *door, gpointer call, DbrAskOutcome outcome)
{
  (void) door;
  dbr_call_answered (call, outcome);
}

static void
cancel (DbrToolHost *door, gpointer handle)
{
  Host *self = (Host *) door;
  DbrCall *call = handle;

  if (call->write_was_sent && !call->write_was_acknowledged)
    g_printerr ("drawbridge: %s was cancelled after its write was sent: the outcome is unknown\n",
                call->tool->name);
  g_hash_table_remove (self->calls, call);
}

/* What the catalogue says, and what the layers withhold here: a model should know before its first call. */
static char *
instructions (const Host *self)
{
  const char *own = self->catalogue->instructions;
  const char *offer = self->catalogue->offer ? self->catalogue->offer->instructions : NULL;
  g_autofree char *layers = dbr_gate_summary (self->gate);

  return g_strdup_printf ("%s%s%s%s%s", own ? own : "", own ? "\n" : "", offer ? offer : "",
                          offer ? "\n" : "", layers);
}

DbrToolHost *
dbr_host_new (DbrCatalogue *catalogue, const DbrHostOptions *options, GError **error)
{
  Host *self = g_new0 (Host, 1);
  DbrGateOptions gate = { options->scope, options->hide_gated, NULL, options->backend.environment,
                          options->is_command_line };

  self->catalogue = catalogue;
  self->backend = dbr_backend_new (catalogue, &options->backend);
  gate.origin = dbr_backend_origin (self->backend);
  self->calls = g_hash_table_new_full (NULL, NULL, (GDestroyNotify) dbr_call_free, NULL);
  self->assume_yes = options->assume_yes;
  self->json_output = options->json_output;
  self->typed = options->typed;
  self->typed_data = options->typed_data;
  self->now_us = options->now_us;
  self->max_steps = options->max_steps;
  self->boundary = options->boundary;
  self->gate = dbr_gate_new (catalogue, &gate, error);
  if (self->gate == NULL)
    {
      dbr_host_free (&self->host);
      return NULL;
    }
  self->host.server_name = catalogue->offer && catalogue->offer->server_name
                               ? catalogue->offer->server_name
                               : catalogue->backend->server_name;
  self->host.server_title = catalogue->title;
  self->host.server_version = PACKAGE_VERSION;
  self->instructions = instructions (self);
  self->host.instructions = self->instructions;
  self->host.list_tools = list_tools;
  self->host.has_tool = has_tool;
  self->host.call = start;
  self->host.answered = answered;
  self->host.cancel = cancel;
  return &self->host;
}

void
dbr_host_free (DbrToolHost *door)
{
  Host *self = (Host *) door;

  if (self == NULL)
    return;
  g_hash_table_unref (self->calls);
  g_clear_pointer (&self->gate, dbr_gate_free);
  g_free (self->instructions);
  dbr_backend_free (self->backend);
  dbr_catalogue_free (self->catalogue);
  g_free (self);
}

const DbrCatalogue *
dbr_host_catalogue (DbrToolHost *door)
{
  return ((Host *) door)->catalogue;
}

const DbrGate *
dbr_host_gate (DbrToolHost *door)
{
  return ((Host *) door)->gate;
}

DbrBackend *
dbr_host_backend (DbrToolHost *door)
{
  return ((Host *) door)->backend;
}
