/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-message: what one JSON-RPC message is, read from a line that a stranger sent.
 *
 * A message is judged by itself. Its id stays the JSON text that came and is echoed byte for byte.
 * Keys that occur twice in one object are refused wherever they stand: two readers could take
 * different values, and one of the readers is a gate. Source: JSON-RPC 2.0; MCP 2026-07-28 basic
 * (messages, _meta), basic/versioning (backward compatibility).
 */
#pragma once

#include "dbr-json-doc.h"

G_BEGIN_DECLS

#define DBR_MESSAGE_MAX_DEPTH 64u        /* containers in containers of one line */
#define DBR_MESSAGE_MAX_NODES (1u << 19) /* values and keys of one line */
#define DBR_MESSAGE_MAX_ID_BYTES 1024u   /* an id or a progress token, as JSON text */

#define DBR_META_VERSION "io.modelcontextprotocol/protocolVersion"
#define DBR_META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define DBR_META_SERVER_INFO "io.modelcontextprotocol/serverInfo"

/* The codes are the wire's. */
#define DBR_RPC_ERROR (dbr_rpc_error_quark ())
GQuark
dbr_rpc_error_quark (void);
typedef enum
{
  DBR_RPC_ERROR_PARSE = -32700,
  DBR_RPC_ERROR_INTERNAL = -32603,
  DBR_RPC_ERROR_PARAMS = -32602,
  DBR_RPC_ERROR_METHOD = -32601,
  DBR_RPC_ERROR_REQUEST = -32600,
  DBR_RPC_ERROR_VERSION = -32022, /* modern: a revision that is not spoken here */
} DbrRpcError;

typedef enum
{
  DBR_MESSAGE_REQUEST,
  DBR_MESSAGE_NOTIFICATION,
  DBR_MESSAGE_RESPONSE,
} DbrMessageKind;

/* Holds its document; the nodes live as long as it does. */
typedef struct
{
  DbrMessageKind kind;
  DbrJsonDoc *doc; /* held */
  DbrJson node;    /* the whole message */
  char *id;        /* the id's JSON text; NULL: none, or none that can be echoed */
  char *method;    /* requests and notifications; UTF-8, not empty */
  DbrJson params;  /* an object, or nothing (null counts as left out) */
  DbrJson meta;    /* params._meta: an object or nothing */
  DbrJson version; /* the modern era's mark: the protocolVersion in meta, of any type, or nothing */
} DbrMessage;

/**
 * dbr_message_parse_line:
 * @line: UTF-8 text of one line
 *
 * Returns: (transfer full): the document, or %NULL
 * Errors: #DBR_RPC_ERROR_PARSE (not JSON, or deeper or larger than the limits above).
 */
DbrJsonDoc *
dbr_message_parse_line (GBytes *line, GError **error);

/**
 * dbr_message_init:
 * @self: (out caller-allocates): to be cleared in any case; the id is set after an error too, where
 * it can be told
 * @node: what claims to be a message: the root of a line, or an element of a batch
 *
 * Classifies @node. Something with a method and without an id is a notification whatever else is
 * wrong with it: it must never be answered.
 *
 * Errors: #DBR_RPC_ERROR_REQUEST (no object, wrong jsonrpc, odd id, no method, method and result
 * together, a key twice), #DBR_RPC_ERROR_PARAMS (params or _meta is no object).
 */
gboolean
dbr_message_init (DbrMessage *self, DbrJson node, GError **error);
void
dbr_message_clear (DbrMessage *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (DbrMessage, dbr_message_clear)

/**
 * dbr_message_id_key:
 * @id: a node
 *
 * Ids that are equal as JSON values have equal keys, however they were written: `"a"` and
 * `"\u0061"`.
 *
 * Returns: (transfer full) (nullable): a text to compare and to hash; %NULL when @id is no string
 * and no integer, or longer than %DBR_MESSAGE_MAX_ID_BYTES
 */
char *
dbr_message_id_key (DbrJson id);

/* The string's text when it is one without NUL, otherwise %NULL (transfer full). */
char *
dbr_message_dup_text (DbrJson node);

G_END_DECLS
