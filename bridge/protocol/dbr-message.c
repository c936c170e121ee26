/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a JSON value to a request, a notification or a response, or to the error that its sender
 * gets.
 */
#include "config.h"

#include "dbr-message.h"

#include "dbr-text.h"

#include <string.h>

/* Below this many members comparing each with each is cheaper than a hash table. */
#define FEW_MEMBERS 8u

G_DEFINE_QUARK (dbr_rpc_error, dbr_rpc_error)

DbrJsonDoc *
dbr_message_parse_line (GBytes *line, GError **error)
{
  const DbrJsonLimits limits = {
    .max_depth = DBR_MESSAGE_MAX_DEPTH,
    .max_nodes = DBR_MESSAGE_MAX_NODES,
  };
  g_autoptr (GError) cause = NULL;
  DbrJsonDoc *doc = dbr_json_doc_new (line, &limits, &cause);

  if (doc == NULL)
    g_set_error (error, DBR_RPC_ERROR, DBR_RPC_ERROR_PARSE, "Parse error: %s", cause->message);
  return doc;
}

static char *
dup_raw (DbrJson node)
{
  gsize n_bytes;
  const char *raw = dbr_json_raw (node, &n_bytes);

  return raw != NULL ? g_strndup (raw, n_bytes) : NULL;
}

char *
dbr_message_dup_text (DbrJson node)
{
  g_autoptr (GString) scratch = g_string_new (NULL);
  gsize n_bytes;
  const char *text = dbr_json_string (node, scratch, &n_bytes);

  return text != NULL && memchr (text, '\0', n_bytes) == NULL ? g_strndup (text, n_bytes) : NULL;
}

static gboolean
is_integer (DbrJson node)
{
  gsize n_bytes;
  const char *raw;

  if (dbr_json_type (node) != DBR_JSON_NUMBER)
    return FALSE;
  raw = dbr_json_raw (node, &n_bytes);
  for (gsize i = 0; i < n_bytes; i++)
    if (!g_ascii_isdigit (raw[i]) && raw[i] != '-')
      return FALSE;
  return TRUE;
}

/* A string written in one way only, whatever escapes it came with: NUL-free, and equal where the
 * strings are. */
static char *
dup_decoded (DbrJson string)
{
  g_autoptr (GString) scratch = g_string_new (NULL);
  GString *out = g_string_new (NULL);
  gsize n_bytes;
  const char *text = dbr_json_string (string, scratch, &n_bytes);

  dbr_text_append_json_string (out, text, (gssize) n_bytes);
  return g_string_free (out, FALSE);
}

char *
dbr_message_id_key (DbrJson id)
{
  gsize n_bytes;
  const char *raw = dbr_json_raw (id, &n_bytes);

  if (raw == NULL || n_bytes > DBR_MESSAGE_MAX_ID_BYTES)
    return NULL;
  if (is_integer (id))
    return n_bytes == 2 && memcmp (raw, "-0", 2) == 0 ? g_strdup ("0") : g_strndup (raw, n_bytes);
  return dbr_json_type (id) == DBR_JSON_STRING ? dup_decoded (id) : NULL;
}

/* ------------------------------------------------------------------ keys that occur twice */

/* Keys hardly ever hold an escape: then they are alike when their bytes are. */
static gboolean
same_text (DbrJson a, DbrJson b)
{
  g_autofree char *text_a = NULL;
  g_autofree char *text_b = NULL;
  gsize n_a, n_b;
  const char *raw_a = dbr_json_raw (a, &n_a);
  const char *raw_b = dbr_json_raw (b, &n_b);

  if (memchr (raw_a, '\\', n_a) == NULL && memchr (raw_b, '\\', n_b) == NULL)
    return n_a == n_b && memcmp (raw_a, raw_b, n_a) == 0;
  text_a = dup_decoded (a);
  text_b = dup_decoded (b);
  return strcmp (text_a, text_b) == 0;
}

static DbrJson
find_twin_of_few (DbrJson object)
{
  DbrJson keys[FEW_MEMBERS];
  guint n_keys = 0;

  for (DbrJson v = dbr_json_first (object); dbr_json_exists (v); v = dbr_json_next (v))
    {
      DbrJson key = dbr_json_key (v);

      for (guint i = 0; i < n_keys; i++)
        if (same_text (keys[i], key))
          return key;
      keys[n_keys++] = key;
    }
  return DBR_JSON_NONE;
}

static DbrJson
find_twin_of_many (DbrJson object)
{
  g_autoptr (GHashTable) seen
      = g_hash_table_new_full (g_bytes_hash, g_bytes_equal, (GDestroyNotify) g_bytes_unref, NULL);
  g_autoptr (GString) scratch = g_string_new (NULL);

  for (DbrJson v = dbr_json_first (object); dbr_json_exists (v); v = dbr_json_next (v))
    {
      gsize n_bytes;
      const char *text = dbr_json_string (dbr_json_key (v), scratch, &n_bytes);

      if (!g_hash_table_add (seen, g_bytes_new (text, n_bytes)))
        return dbr_json_key (v);
    }
  return DBR_JSON_NONE;
}

/* The first key that stands twice in one object, anywhere below @node. Recursion ends at the depth
 * limit of a line. */
static DbrJson
find_twin (DbrJson node)
{
  const DbrJsonType type = dbr_json_type (node);
  DbrJson twin = DBR_JSON_NONE;

  if (type != DBR_JSON_OBJECT && type != DBR_JSON_ARRAY)
    return twin;
  if (type == DBR_JSON_OBJECT)
    twin
        = dbr_json_count (node) <= FEW_MEMBERS ? find_twin_of_few (node) : find_twin_of_many (node);
  for (DbrJson v = dbr_json_first (node); !dbr_json_exists (twin) && dbr_json_exists (v);
       v = dbr_json_next (v))
    twin = find_twin (v);
  return twin;
}

static gboolean
check_twins (DbrJson node, GError **error)
{
  g_autoptr (GString) shown = NULL;
  g_autoptr (GString) scratch = NULL;
  DbrJson twin = find_twin (node);
  const char *text;
  gsize n_bytes;

  if (!dbr_json_exists (twin))
    return TRUE;
  shown = g_string_new (NULL);
  scratch = g_string_new (NULL);
  text = dbr_json_string (twin, scratch, &n_bytes);
  dbr_text_append_safe (shown, text, (gssize) dbr_text_cut_length (text, n_bytes, 64),
                        DBR_TEXT_ONE_LINE);
  g_set_error (error, DBR_RPC_ERROR, DBR_RPC_ERROR_REQUEST,
               "Invalid Request: the key \"%s\" occurs twice in one object", shown->str);
  return FALSE;
}

/* --------------------------------------------------------------------------- the message */

static gboolean
refuse (GError **error, const char *why)
{
  g_set_error (error, DBR_RPC_ERROR, DBR_RPC_ERROR_REQUEST, "Invalid Request: %s", why);
  return FALSE;
}

static guint
count_members (DbrJson object, const char *key)
{
  guint n = 0;

  for (DbrJson v = dbr_json_first (object); dbr_json_exists (v); v = dbr_json_next (v))
    n += dbr_json_string_equals (dbr_json_key (v), key) ? 1 : 0;
  return n;
}

/* An id can be echoed when there is exactly one and it is a string or an integer. */
static gboolean
read_id (DbrMessage *self, GError **error)
{
  DbrJson id = dbr_json_get (self->node, "id");

  if (count_members (self->node, "id") > 1)
    return refuse (error, "the key \"id\" occurs twice in one object");
  if (!is_integer (id) && dbr_json_type (id) != DBR_JSON_STRING)
    return refuse (error, "an id is a string or an integer");
  self->id = dup_raw (id);
  if (strlen (self->id) > DBR_MESSAGE_MAX_ID_BYTES)
    return refuse (error, "the id is longer than 1024 bytes");
  return TRUE;
}

/* null counts as left out: clients send it for members that are optional. */
static DbrJson
get_unless_null (DbrJson object, const char *key)
{
  DbrJson value = dbr_json_get (object, key);

  return dbr_json_type (value) == DBR_JSON_NULL ? DBR_JSON_NONE : value;
}

static gboolean
read_params (DbrMessage *self, GError **error)
{
  self->params = get_unless_null (self->node, "params");
  if (dbr_json_exists (self->params) && dbr_json_type (self->params) != DBR_JSON_OBJECT)
    {
      self->params = DBR_JSON_NONE;
      g_set_error (error, DBR_RPC_ERROR, DBR_RPC_ERROR_PARAMS,
                   "Invalid params: params must be an object");
      return FALSE;
    }
  self->meta = get_unless_null (self->params, "_meta");
  if (dbr_json_exists (self->meta) && dbr_json_type (self->meta) != DBR_JSON_OBJECT)
    {
      self->meta = DBR_JSON_NONE;
      g_set_error (error, DBR_RPC_ERROR, DBR_RPC_ERROR_PARAMS,
                   "Invalid params: _meta must be an object");
      return FALSE;
    }
  self->version = dbr_json_get (self->meta, DBR_META_VERSION);
  return TRUE;
}

/* Nothing about a notification is an error to its sender: what can't be used counts as left out. */
static gboolean
init_notification (DbrMessage *self)
{
  self->kind = DBR_MESSAGE_NOTIFICATION;
  if (!dbr_json_string_equals (dbr_json_get (self->node, "jsonrpc"), "2.0")
      || !check_twins (self->node, NULL))
    return TRUE;
  self->method = dbr_message_dup_text (dbr_json_get (self->node, "method"));
  read_params (self, NULL);
  return TRUE;
}

gboolean
dbr_message_init (DbrMessage *self, DbrJson node, GError **error)
{
  gboolean has_id, has_method, has_outcome;

  *self = (DbrMessage){ .kind = DBR_MESSAGE_REQUEST };
  if (dbr_json_type (node) != DBR_JSON_OBJECT)
    return refuse (error, "a message is an object");
  self->doc = dbr_json_doc_ref (node.doc);
  self->node = node;
  has_id = dbr_json_exists (dbr_json_get (node, "id"));
  has_method = dbr_json_exists (dbr_json_get (node, "method"));
  has_outcome = dbr_json_exists (dbr_json_get (node, "result"))
                || dbr_json_exists (dbr_json_get (node, "error"));

  if (has_method && !has_id)
    return init_notification (self);
  if (has_outcome && !has_method)
    {
      /* A response is never answered, so a wrong one has no error; without an id it matches
       * nothing. */
      self->kind = DBR_MESSAGE_RESPONSE;
      if (has_id && check_twins (node, NULL))
        read_id (self, NULL);
      return TRUE;
    }
  if (!has_id)
    return refuse (error, "there is no method, result or error");
  if (!read_id (self, error) || !check_twins (node, error))
    return FALSE;
  if (has_outcome)
    return refuse (error, "a message has a method or an outcome, not both");
  if (!dbr_json_string_equals (dbr_json_get (node, "jsonrpc"), "2.0"))
    return refuse (error, "jsonrpc must be \"2.0\"");
  self->method = dbr_message_dup_text (dbr_json_get (node, "method"));
  if (self->method == NULL || *self->method == '\0')
    return refuse (error, "method must be a string");
  return read_params (self, error);
}

void
dbr_message_clear (DbrMessage *self)
{
  g_clear_pointer (&self->id, g_free);
  g_clear_pointer (&self->method, g_free);
  g_clear_pointer (&self->doc, dbr_json_doc_unref);
  self->node = DBR_JSON_NONE;
}
