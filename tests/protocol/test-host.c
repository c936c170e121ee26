/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every call does its work from the main loop, never inside the function that started it.
 */
#include "config.h"

#include "test-host.h"

#include <stdio.h>

#define MAX_LARGE_BYTES (8 << 20)

typedef struct
{
  DbrToolHost host;   /* first: the host is this */
  GPtrArray *running; /* of TestCall */
  guint n_calls;
  guint n_cancelled;
} TestHost;

typedef struct
{
  TestHost *host;
  const DbrCallEvents *events;
  gpointer user_data;
  char *tool;
  DbrJsonDoc *doc; /* of the arguments, nullable */
  DbrJson arguments;
  DbrAsking asking;
  char *request_state;
  DbrJson input_responses;
  gboolean is_asking;
  guint source;
} TestCall;

static void
call_free (gpointer data)
{
  TestCall *call = data;

  if (call->source != 0)
    g_source_remove (call->source);
  g_clear_pointer (&call->doc, dbr_json_doc_unref);
  g_free (call->tool);
  g_free (call->request_state);
  g_free (call);
}

static DbrCallResult *
result_new (const char *text)
{
  DbrCallResult *result = g_new0 (DbrCallResult, 1);

  result->text = g_strdup (text);
  result->text_len = strlen (text);
  return result;
}

static void
end_call (TestCall *call, DbrCallResult *result)
{
  const DbrCallEvents *events = call->events;
  gpointer user_data = call->user_data;

  g_ptr_array_remove (call->host->running, call);
  events->done (user_data, result);
}

static json_t *
confirm_schema (void)
{
  return json_pack ("{s:s, s:{s:{s:s, s:s, s:b}}, s:[s]}", "type", "object", "properties",
                    "confirm", "type", "boolean", "title", "Do it", "default", 0, "required",
                    "confirm");
}

/* ------------------------------------------------------------------------------ tools */

static void
run_echo (TestCall *call)
{
  DbrCallResult *result = g_new0 (DbrCallResult, 1);
  DbrJson text = dbr_json_get (call->arguments, "text");

  if (g_getenv ("ECHO_PRINT") != NULL)
    {
      /* What a chatty library would do. */
      puts ("a stray print");
      fflush (stdout);
    }
  if (dbr_json_type (text) == DBR_JSON_STRING)
    {
      g_autoptr (GString) scratch = g_string_new (NULL);
      const char *bytes = dbr_json_string (text, scratch, &result->text_len);

      result->text = g_memdup2 (bytes, result->text_len);
    }
  else
    {
      GString *out = g_string_new (NULL);

      if (dbr_json_exists (call->arguments))
        dbr_json_append (call->arguments, out);
      else
        g_string_append (out, "no arguments");
      result->text_len = out->len;
      result->text = g_string_free (out, FALSE);
    }
  end_call (call, result);
}

static void
run_large (TestCall *call)
{
  gint64 n_bytes = 0;
  g_autofree char *text = NULL;

  dbr_json_int64 (dbr_json_get (call->arguments, "bytes"), &n_bytes);
  text = g_strnfill ((gsize) CLAMP (n_bytes, 0, MAX_LARGE_BYTES), 'x');
  end_call (call, result_new (text));
}

static void
run_fail (TestCall *call)
{
  DbrCallResult *result = result_new ("it failed");

  result->is_error = TRUE;
  result->structured = json_pack ("{s:s, s:b}", "tool", "fail", "refused", 1);
  end_call (call, result);
}

static void
run_progress (TestCall *call)
{
  gint64 steps = 3;
  TestHost *host = call->host;
  const DbrCallEvents *events = call->events;

  (void) host;
  dbr_json_int64 (dbr_json_get (call->arguments, "steps"), &steps);
  for (gint64 i = 1; i <= CLAMP (steps, 0, 1000); i++)
    {
      events->progress (call->user_data, (double) i, (double) steps, "a step");
      events->progress (call->user_data, (double) i, (double) steps, "the same step again");
      events->progress (call->user_data, -1, -1, NULL);
    }
  end_call (call, result_new ("progressed"));
}

static void
run_release (TestCall *call)
{
  TestHost *host = call->host;
  g_autoptr (GPtrArray) slow = g_ptr_array_new ();
  g_autofree char *text = NULL;

  for (guint i = 0; i < host->running->len; i++)
    if (strcmp (((TestCall *) g_ptr_array_index (host->running, i))->tool, "slow") == 0)
      g_ptr_array_add (slow, g_ptr_array_index (host->running, i));
  text = g_strdup_printf ("released %u", slow->len);
  for (guint i = 0; i < slow->len; i++)
    end_call (g_ptr_array_index (slow, i), result_new ("released"));
  end_call (call, result_new (text));
}

static void
run_ask (TestCall *call)
{
  if (call->asking == DBR_ASKING_INLINE)
    {
      json_t *schema = confirm_schema ();

      call->is_asking = TRUE;
      call->events->ask (call->user_data, "May I?", schema);
      json_decref (schema);
    }
  else if (call->asking == DBR_ASKING_STATELESS && call->request_state == NULL)
    {
      DbrCallResult *result = g_new0 (DbrCallResult, 1);

      result->input_required = TRUE;
      result->ask_message = g_strdup ("May I?");
      result->ask_schema = confirm_schema ();
      result->request_state = g_strdup ("state \"1\"");
      end_call (call, result);
    }
  else if (call->asking == DBR_ASKING_STATELESS)
    {
      GString *out = g_string_new (call->request_state);

      g_string_append (out, " ");
      dbr_json_append (call->input_responses, out);
      end_call (call, result_new (out->str));
      g_string_free (out, TRUE);
    }
  else
    end_call (call, result_new ("can't ask"));
}

static const struct
{
  const char *name;
  const char *description;
  void (*run) (TestCall *call); /* NULL: never ends by itself */
} tools[] = {
  { "echo", "Gives the text back", run_echo },
  { "large", "A long text", run_large },
  { "slow", "Waits to be released or cancelled", NULL },
  { "release", "Ends every slow call", run_release },
  { "fail", "Fails", run_fail },
  { "progress", "Reports progress", run_progress },
  { "ask", "Asks the user", run_ask },
};

static gint
find_tool (const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (tools); i++)
    if (strcmp (tools[i].name, name) == 0)
      return (gint) i;
  return -1;
}

/* ------------------------------------------------------------------------------- host */

static json_t *
list_tools (DbrToolHost *host)
{
  json_t *list = json_array ();

  (void) host;
  for (guint i = 0; i < G_N_ELEMENTS (tools); i++)
    json_array_append_new (list, json_pack ("{s:s, s:s, s:s, s:{s:s, s:{}}, s:{s:b}}", "name",
                                            tools[i].name, "title", tools[i].name, "description",
                                            tools[i].description, "inputSchema", "type", "object",
                                            "properties", "annotations", "readOnlyHint", 1));
  return list;
}

static gboolean
has_tool (DbrToolHost *host, const char *name)
{
  (void) host;
  return find_tool (name) >= 0;
}

static gboolean
on_run (gpointer data)
{
  TestCall *call = data;

  call->source = 0;
  tools[find_tool (call->tool)].run (call);
  return G_SOURCE_REMOVE;
}

static gpointer
start_call (DbrToolHost *host,
            const DbrCallRequest *request,
            const DbrCallEvents *events,
            gpointer user_data)
{
  TestHost *self = (TestHost *) host;
  TestCall *call = g_new0 (TestCall, 1);

  call->host = self;
  call->events = events;
  call->user_data = user_data;
  call->tool = g_strdup (request->tool);
  call->asking = request->asking;
  call->request_state = g_strdup (request->request_state);
  call->arguments = request->arguments;
  call->input_responses = request->input_responses;
  if (dbr_json_exists (request->arguments))
    call->doc = dbr_json_doc_ref (request->arguments.doc);
  else if (dbr_json_exists (request->input_responses))
    call->doc = dbr_json_doc_ref (request->input_responses.doc);
  if (tools[find_tool (call->tool)].run != NULL)
    call->source = g_idle_add_full (G_PRIORITY_DEFAULT, on_run, call, NULL);
  g_ptr_array_add (self->running, call);
  self->n_calls++;
  return call;
}

static void
answered (DbrToolHost *host, gpointer handle, DbrAskOutcome outcome)
{
  static const char *const names[]
      = { "accepted", "declined", "cancelled", "timed out", "unavailable" };

  (void) host;
  end_call (handle, result_new (names[outcome]));
}

static void
cancel (DbrToolHost *host, gpointer handle)
{
  TestHost *self = (TestHost *) host;

  self->n_cancelled++;
  g_ptr_array_remove (self->running, handle);
}

DbrToolHost *
test_host_new (void)
{
  TestHost *self = g_new0 (TestHost, 1);

  self->host = (DbrToolHost){
    .server_name = "test",
    .server_title = "Test host",
    .server_version = "1.0",
    .instructions = "Only for tests.",
    .list_tools = list_tools,
    .has_tool = has_tool,
    .call = start_call,
    .answered = answered,
    .cancel = cancel,
  };
  self->running = g_ptr_array_new_with_free_func (call_free);
  return &self->host;
}

void
test_host_free (DbrToolHost *host)
{
  TestHost *self = (TestHost *) host;

  g_assert_cmpuint (self->running->len, ==, 0);
  g_ptr_array_unref (self->running);
  g_free (self);
}

guint
test_host_n_calls (DbrToolHost *host)
{
  return ((TestHost *) host)->n_calls;
}

guint
test_host_n_cancelled (DbrToolHost *host)
{
  return ((TestHost *) host)->n_cancelled;
}

guint
test_host_n_running (DbrToolHost *host)
{
  return ((TestHost *) host)->running->len;
}
