/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a line to a method. What a request may see of the server's state is the handshake's revision
 * and whether its client shows forms; the modern era sees neither.
 */
#include "config.h"

#include "dbr-server.h"

#include "dbr-nearest.h"
#include "dbr-text.h"

struct _DbrServer
{
  DbrToolHost *host;
  DbrSink sink;
  DbrElicit *elicit;
  DbrCalls *calls;
  DbrRevision negotiated; /* by the last handshake */
  DbrRevision spoken;     /* by the last request: how errors without an id are written */
  gboolean client_has_form;
  DbrRevision tools_revision; /* whose list is kept in tools */
  char *tools;
};

typedef struct
{
  DbrServer *server;
  const DbrMessage *message;
  DbrBatch *batch; /* nullable */
  DbrRevision revision;
} Request;

/* ------------------------------------------------------------------------------ life */

DbrServer *
dbr_server_new (DbrToolHost *host, const DbrSink *sink, const DbrServerOptions *options)
{
  DbrServer *self = g_new0 (DbrServer, 1);

  self->host = host;
  self->sink = *sink;
  self->elicit = dbr_elicit_new (&self->sink, options != NULL ? &options->elicit : NULL);
  self->calls
      = dbr_calls_new (host, &self->sink, self->elicit, options != NULL ? &options->calls : NULL);
  return self;
}

void
dbr_server_free (DbrServer *self)
{
  if (self == NULL)
    return;
  dbr_calls_free (self->calls);
  dbr_elicit_free (self->elicit);
  g_free (self->tools);
  g_free (self);
}

void
dbr_server_end_of_input (DbrServer *self)
{
  dbr_elicit_end_of_input (self->elicit);
}

void
dbr_server_end_calls (DbrServer *self, const char *why)
{
  dbr_calls_end (self->calls, why);
}

void
dbr_server_resume (DbrServer *self)
{
  dbr_calls_pump (self->calls);
}

guint
dbr_server_in_flight (const DbrServer *self)
{
  return dbr_calls_in_flight (self->calls);
}

/* ----------------------------------------------------------------------------- answers */

/* Since 2025-11-25 an error without an id has no such member; before, JSON-RPC's null stands for
 * it. */
static const char *
unknown_id (const DbrServer *self)
{
  return self->spoken >= DBR_REVISION_2025_11_25 ? NULL : "null";
}

static void
answer (const Request *request, GString *line)
{
  dbr_batch_answer (request->batch, &request->server->sink, line);
}

static void
answer_error (const Request *request, DbrRpcError code, const char *text)
{
  answer (request, dbr_reply_error (request->message->id, code, text, NULL));
}

/* A name that a stranger chose, inside one of our sentences. */
static void
answer_name_error (const Request *request, DbrRpcError code, const char *text, const char *name)
{
  g_autoptr (GString) message = g_string_new (text);

  dbr_text_append_safe (message, name, (gssize) dbr_text_cut_length (name, strlen (name), 128),
                        DBR_TEXT_ONE_LINE);
  answer_error (request, code, message->str);
}

static void
answer_version_error (const Request *request)
{
  g_autoptr (GString) data = g_string_new ("{\"supported\":[\"");

  g_string_append (data, dbr_revision_name (DBR_REVISION_MODERN));
  g_string_append (data, "\"],\"requested\":");
  dbr_json_append (request->message->version, data);
  g_string_append_c (data, '}');
  answer (request,
          dbr_reply_error (
              request->message->id, DBR_RPC_ERROR_VERSION,
              "Unsupported protocol version: 2026-07-28 is spoken here; older revisions begin "
              "with initialize",
              data->str));
}

/* ----------------------------------------------------------------------------- methods */

static void
handle_initialize (const Request *request)
{
  DbrServer *self = request->server;
  DbrJson params = request->message->params;
  g_autofree char *wanted = dbr_message_dup_text (dbr_json_get (params, "protocolVersion"));
  DbrRevision revision = dbr_revision_from_name (wanted);

  if (request->batch != NULL)
    {
      answer_error (request, DBR_RPC_ERROR_REQUEST,
                    "Invalid Request: initialize can't be part of a batch");
      return;
    }
  if (revision == DBR_REVISION_NONE || dbr_revision_is_modern (revision))
    revision = DBR_REVISION_NEWEST_LEGACY;
  self->negotiated = self->spoken = revision;
  self->client_has_form = revision >= DBR_REVISION_2025_06_18
                          && dbr_elicit_has_form (dbr_json_get (params, "capabilities"));
  answer (request, dbr_reply_handshake (request->message->id, revision, self->host));
}

static void
handle_discover (const Request *request)
{
  answer (request,
          dbr_reply_handshake (request->message->id, request->revision, request->server->host));
}

static void
handle_ping (const Request *request)
{
  answer (request, dbr_reply_empty (request->message->id));
}

static gboolean
is_given (DbrJson object, const char *key)
{
  const DbrJsonType type = dbr_json_type (dbr_json_get (object, key));

  return type != DBR_JSON_NOTHING && type != DBR_JSON_NULL;
}

static void
handle_list_tools (const Request *request)
{
  DbrServer *self = request->server;

  if (is_given (request->message->params, "cursor"))
    {
      answer_error (request, DBR_RPC_ERROR_PARAMS,
                    "Invalid params: unknown cursor; the list has one page");
      return;
    }
  if (self->tools == NULL || self->tools_revision != request->revision)
    {
      json_t *tools = self->host->list_tools (self->host);

      g_free (self->tools);
      self->tools = dbr_reply_trim_tools (tools, request->revision);
      self->tools_revision = request->revision;
      json_decref (tools);
    }
  answer (request,
          dbr_reply_tools (request->message->id, request->revision, self->host, self->tools));
}

/* What the call's era and client allow for asking the user. */
static DbrAsking
find_asking (const Request *request)
{
  if (!dbr_revision_is_modern (request->revision))
    return request->server->client_has_form ? DBR_ASKING_INLINE : DBR_ASKING_IMPOSSIBLE;
  return dbr_elicit_has_form (dbr_json_get (request->message->meta, DBR_META_CAPABILITIES))
             ? DBR_ASKING_STATELESS
             : DBR_ASKING_IMPOSSIBLE;
}

/* The modern era's second try; older revisions know nothing of these members and they are passed
 * over. */
static gboolean
read_retry (const Request *request, DbrCallSpec *spec, char **out_state)
{
  DbrJson params = request->message->params;

  if (!dbr_revision_is_modern (request->revision))
    return TRUE;
  if (is_given (params, "inputResponses"))
    spec->input_responses = dbr_json_get (params, "inputResponses");
  if (dbr_json_exists (spec->input_responses)
      && dbr_json_type (spec->input_responses) != DBR_JSON_OBJECT)
    {
      answer_error (request, DBR_RPC_ERROR_PARAMS,
                    "Invalid params: inputResponses must be an object");
      return FALSE;
    }
  *out_state = dbr_message_dup_text (dbr_json_get (params, "requestState"));
  if (*out_state == NULL && is_given (params, "requestState"))
    {
      answer_error (request, DBR_RPC_ERROR_PARAMS,
                    "Invalid params: requestState must be the string that was sent");
      return FALSE;
    }
  spec->request_state = *out_state;
  return TRUE;
}

/* With the listed tool that was most likely meant. */
static void
answer_unknown_tool (const Request *request, const char *tool)
{
  DbrToolHost *host = request->server->host;
  json_auto_t *tools = host->list_tools (host);
  g_autofree const char **names = g_new0 (const char *, json_array_size (tools) + 1);
  g_autoptr (GString) message = g_string_new ("Unknown tool: ");
  const char *nearest;
  json_t *item;
  size_t i;

  json_array_foreach (tools, i, item) names[i] = json_string_value (json_object_get (item, "name"));
  nearest = dbr_nearest (tool, names);
  dbr_text_append_safe (message, tool, (gssize) dbr_text_cut_length (tool, strlen (tool), 128),
                        DBR_TEXT_ONE_LINE);
  if (nearest)
    g_string_append_printf (message, "; did you mean %s?", nearest);
  answer_error (request, DBR_RPC_ERROR_PARAMS, message->str);
}

static void
handle_call_tool (const Request *request)
{
  DbrServer *self = request->server;
  DbrJson params = request->message->params;
  g_autofree char *tool = dbr_message_dup_text (dbr_json_get (params, "name"));
  g_autofree char *state = NULL;
  DbrCallSpec spec = {
    .message = request->message,
    .revision = request->revision,
    .batch = request->batch,
    .tool = tool,
    .arguments
    = is_given (params, "arguments") ? dbr_json_get (params, "arguments") : DBR_JSON_NONE,
    .asking = find_asking (request),
  };

  if (tool == NULL)
    answer_error (request, DBR_RPC_ERROR_PARAMS, "Invalid params: name must be a tool's name");
  else if (!self->host->has_tool (self->host, tool))
    answer_unknown_tool (request, tool);
  else if (dbr_json_exists (spec.arguments) && dbr_json_type (spec.arguments) != DBR_JSON_OBJECT)
    answer_error (request, DBR_RPC_ERROR_PARAMS, "Invalid params: arguments must be an object");
  else if (read_retry (request, &spec, &state) && !dbr_calls_start (self->calls, &spec))
    answer_error (request, DBR_RPC_ERROR_REQUEST,
                  "Invalid Request: a call with this id is still in flight");
}

typedef struct
{
  const char *name;
  gboolean is_legacy;
  gboolean is_modern;
  void (*handle) (const Request *request);
} Method;

/* Everything else, including what belongs to capabilities that are not advertised, is not found. */
static const Method methods[] = {
  { "initialize", TRUE, FALSE, handle_initialize },
  { "ping", TRUE, FALSE, handle_ping },
  { "server/discover", FALSE, TRUE, handle_discover },
  { "tools/list", TRUE, TRUE, handle_list_tools },
  { "tools/call", TRUE, TRUE, handle_call_tool },
};

static void
call_method (const Request *request)
{
  const gboolean is_modern = dbr_revision_is_modern (request->revision);

  for (guint i = 0; i < G_N_ELEMENTS (methods); i++)
    if (strcmp (methods[i].name, request->message->method) == 0
        && (is_modern ? methods[i].is_modern : methods[i].is_legacy))
      {
        methods[i].handle (request);
        return;
      }
  answer_name_error (request, DBR_RPC_ERROR_METHOD, "Method not found: ", request->message->method);
}

/* -------------------------------------------------------------------------------- eras */

/* Source: 2026-07-28 basic: the required keys, then the version, then the method. */
static void
take_modern (Request *request)
{
  const DbrMessage *message = request->message;

  request->server->spoken = request->revision = DBR_REVISION_MODERN;
  if (request->batch != NULL)
    answer_error (request, DBR_RPC_ERROR_REQUEST,
                  "Invalid Request: a modern request can't be part of a batch");
  else if (dbr_json_type (message->version) != DBR_JSON_STRING)
    answer_error (request, DBR_RPC_ERROR_PARAMS,
                  "Invalid params: _meta[\"" DBR_META_VERSION "\"] must be a string");
  else if (dbr_json_type (dbr_json_get (message->meta, DBR_META_CAPABILITIES)) != DBR_JSON_OBJECT)
    answer_error (request, DBR_RPC_ERROR_PARAMS,
                  "Invalid params: _meta[\"" DBR_META_CAPABILITIES "\"] must be an object");
  else if (!dbr_json_string_equals (message->version, dbr_revision_name (DBR_REVISION_MODERN)))
    answer_version_error (request);
  else
    call_method (request);
}

static gboolean
needs_modern (const char *method)
{
  return strcmp (method, "server/discover") == 0 || strcmp (method, "subscriptions/listen") == 0;
}

/* Before a handshake only initialize and ping make sense without the modern era's keys. */
static gboolean
is_early (const char *method)
{
  return strcmp (method, "initialize") == 0 || strcmp (method, "ping") == 0;
}

static void
take_legacy (Request *request)
{
  DbrServer *self = request->server;
  const char *method = request->message->method;

  request->revision = self->negotiated;
  if (needs_modern (method) || (self->negotiated == DBR_REVISION_NONE && !is_early (method)))
    {
      answer_error (request, DBR_RPC_ERROR_PARAMS,
                    "Invalid params: params._meta lacks \"" DBR_META_VERSION
                    "\" and \"" DBR_META_CAPABILITIES "\" (or send initialize first)");
      return;
    }
  if (self->negotiated != DBR_REVISION_NONE)
    self->spoken = self->negotiated;
  call_method (request);
}

/* --------------------------------------------------------------------------- messages */

static void
take_notification (DbrServer *self, const DbrMessage *message)
{
  if (g_strcmp0 (message->method, "notifications/cancelled") == 0)
    dbr_calls_cancel (self->calls, dbr_json_get (message->params, "requestId"));
}

static void
take_message (DbrServer *self, DbrJson node, DbrBatch *batch)
{
  g_auto (DbrMessage) message = { 0 };
  g_autoptr (GError) error = NULL;
  Request request = { self, &message, batch, self->negotiated };

  if (!dbr_message_init (&message, node, &error))
    {
      const char *id = message.id != NULL ? message.id : unknown_id (self);

      answer (&request, dbr_reply_error (id, error->code, error->message, NULL));
      return;
    }
  switch (message.kind)
    {
    case DBR_MESSAGE_REQUEST:
      if (dbr_json_exists (message.version))
        take_modern (&request);
      else
        take_legacy (&request);
      break;
    case DBR_MESSAGE_NOTIFICATION:
      take_notification (self, &message);
      break;
    case DBR_MESSAGE_RESPONSE:
      dbr_elicit_take_response (self->elicit, &message);
      break;
    default:
      g_assert_not_reached ();
    }
}

static void
refuse (DbrServer *self, gint code, const char *why)
{
  self->sink.send (self->sink.user_data, dbr_reply_error (unknown_id (self), code, why, NULL));
}

static void
take_batch (DbrServer *self, DbrJson array)
{
  g_autoptr (DbrBatch) batch = NULL;
  const guint n_messages = dbr_json_count (array);

  if (self->negotiated != DBR_REVISION_2025_03_26)
    refuse (self, DBR_RPC_ERROR_REQUEST,
            "Invalid Request: an array of messages belongs to 2025-03-26 only");
  else if (n_messages == 0)
    refuse (self, DBR_RPC_ERROR_REQUEST, "Invalid Request: the batch is empty");
  else if (n_messages > DBR_BATCH_MAX_MESSAGES)
    refuse (self, DBR_RPC_ERROR_REQUEST, "Invalid Request: a batch holds at most 256 messages");
  else
    {
      batch = dbr_batch_new (&self->sink);
      for (DbrJson v = dbr_json_first (array); dbr_json_exists (v); v = dbr_json_next (v))
        take_message (self, v, batch);
    }
}

void
dbr_server_take_line (DbrServer *self, GBytes *line)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DbrJsonDoc) doc = dbr_message_parse_line (line, &error);

  if (doc == NULL)
    refuse (self, error->code, error->message);
  else if (dbr_json_type (dbr_json_doc_root (doc)) == DBR_JSON_ARRAY)
    take_batch (self, dbr_json_doc_root (doc));
  else
    take_message (self, dbr_json_doc_root (doc), NULL);
}

void
dbr_server_refuse_line (DbrServer *self, const GError *why)
{
  refuse (self, DBR_RPC_ERROR_PARSE, why->message);
}
