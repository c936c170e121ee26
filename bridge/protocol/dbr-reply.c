/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages are written directly: an answer's text is the bulk of the traffic, and building a tree
 * around it would copy it twice more. jansson writes what the host gave as a tree.
 */
#include "config.h"

#include "dbr-reply.h"

#include "dbr-message.h"
#include "dbr-text.h"

#include <math.h>

/* How long a client may keep the list: it is fixed for a process, but flags may differ after a
 * restart. */
#define LIST_TTL_MS 60000

typedef struct
{
  const char *name;
  DbrRevision since;
} Member;

static const Member tool_members[] = {
  { "name", DBR_REVISION_2024_11_05 },         { "title", DBR_REVISION_2025_06_18 },
  { "description", DBR_REVISION_2024_11_05 },  { "inputSchema", DBR_REVISION_2024_11_05 },
  { "outputSchema", DBR_REVISION_2025_06_18 }, { "annotations", DBR_REVISION_2025_03_26 },
  { "icons", DBR_REVISION_2025_11_25 },        { "_meta", DBR_REVISION_2025_06_18 },
};

/* ------------------------------------------------------------------------------ pieces */

static void
append_text (GString *out, const char *text, gsize n_bytes)
{
  if (g_utf8_validate_len (text, n_bytes, NULL))
    dbr_text_append_json_string (out, text, (gssize) n_bytes);
  else
    {
      g_autoptr (GString) valid = g_string_sized_new (n_bytes);

      dbr_text_append_valid (valid, text, (gssize) n_bytes);
      dbr_text_append_json_string (out, valid->str, (gssize) valid->len);
    }
}

static void
append_member (GString *out, const char *key, const char *text)
{
  g_string_append_printf (out, ",\"%s\":", key);
  append_text (out, text, strlen (text));
}

static int
append_chunk (const char *bytes, size_t n_bytes, void *user_data)
{
  g_string_append_len (user_data, bytes, (gssize) n_bytes);
  return 0;
}

static void
append_tree (GString *out, const json_t *tree)
{
  if (tree == NULL
      || json_dump_callback (tree, append_chunk, out, JSON_COMPACT | JSON_ENCODE_ANY) != 0)
    g_string_append (out, "null");
}

static void
append_double (GString *out, double value)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];

  if (fabs (value) < 1e15 && value == (double) (gint64) value)
    g_string_append_printf (out, "%" G_GINT64_FORMAT, (gint64) value);
  else
    g_string_append (out, g_ascii_dtostr (text, sizeof text, value));
}

static GString *
begin (const char *id, gsize n_bytes)
{
  GString *out = g_string_sized_new (n_bytes);

  g_string_append (out, "{\"jsonrpc\":\"2.0\"");
  if (id != NULL)
    g_string_append_printf (out, ",\"id\":%s", id);
  return out;
}

static void
append_identity (GString *out, DbrRevision revision, const DbrToolHost *host)
{
  g_string_append (out, "{\"name\":");
  append_text (out, host->server_name, strlen (host->server_name));
  if (host->server_title != NULL && revision >= DBR_REVISION_2025_06_18)
    append_member (out, "title", host->server_title);
  append_member (out, "version", host->server_version);
  g_string_append_c (out, '}');
}

/* Every result of the modern era says of what kind it is and who made it. */
static void
append_modern (GString *out, const char *type, const DbrToolHost *host)
{
  g_string_append_printf (out,
                          "\"resultType\":\"%s\",\"_meta\":{\"" DBR_META_SERVER_INFO "\":", type);
  append_identity (out, DBR_REVISION_MODERN, host);
  g_string_append_c (out, '}');
}

/* ---------------------------------------------------------------------------- messages */

GString *
dbr_reply_error (const char *id, gint code, const char *message, const char *data)
{
  GString *out = begin (id, 256);

  g_string_append_printf (out, ",\"error\":{\"code\":%d", code);
  append_member (out, "message", message);
  if (data != NULL)
    g_string_append_printf (out, ",\"data\":%s", data);
  g_string_append (out, "}}");
  return out;
}

GString *
dbr_reply_empty (const char *id)
{
  GString *out = begin (id, 64);

  g_string_append (out, ",\"result\":{}}");
  return out;
}

GString *
dbr_reply_handshake (const char *id, DbrRevision revision, const DbrToolHost *host)
{
  GString *out = begin (id, 1024);

  g_string_append (out, ",\"result\":{");
  if (dbr_revision_is_modern (revision))
    {
      append_modern (out, "complete", host);
      g_string_append_printf (
          out, ",\"supportedVersions\":[\"%s\"],\"ttlMs\":%d,\"cacheScope\":\"private\"",
          dbr_revision_name (DBR_REVISION_MODERN), LIST_TTL_MS);
    }
  else
    {
      g_string_append_printf (
          out, "\"protocolVersion\":\"%s\",\"serverInfo\":", dbr_revision_name (revision));
      append_identity (out, revision, host);
    }
  g_string_append (out, ",\"capabilities\":{\"tools\":{}}");
  if (host->instructions != NULL)
    append_member (out, "instructions", host->instructions);
  g_string_append (out, "}}");
  return out;
}

char *
dbr_reply_trim_tools (json_t *tools, DbrRevision revision)
{
  GString *out = g_string_sized_new (4096);
  json_t *tool;
  size_t i;

  g_string_append_c (out, '[');
  json_array_foreach (tools, i, tool)
  {
    gboolean is_first = TRUE;

    g_string_append (out, i > 0 ? ",{" : "{");
    for (guint m = 0; m < G_N_ELEMENTS (tool_members); m++)
      {
        const json_t *value = json_object_get (tool, tool_members[m].name);

        if (value == NULL || revision < tool_members[m].since)
          continue;
        g_string_append_printf (out, "%s\"%s\":", is_first ? "" : ",", tool_members[m].name);
        append_tree (out, value);
        is_first = FALSE;
      }
    g_string_append_c (out, '}');
  }
  g_string_append_c (out, ']');
  return g_string_free (out, FALSE);
}

GString *
dbr_reply_tools (const char *id, DbrRevision revision, const DbrToolHost *host, const char *tools)
{
  GString *out = begin (id, strlen (tools) + 512);

  g_string_append (out, ",\"result\":{");
  if (dbr_revision_is_modern (revision))
    {
      append_modern (out, "complete", host);
      g_string_append_printf (out, ",\"ttlMs\":%d,\"cacheScope\":\"private\",", LIST_TTL_MS);
    }
  g_string_append (out, "\"tools\":");
  g_string_append (out, tools);
  g_string_append (out, "}}");
  return out;
}

static void
append_question (GString *out, const DbrToolHost *host, const DbrCallResult *result)
{
  append_modern (out, "input_required", host);
  g_string_append (out, ",\"inputRequests\":{\"confirm\":{\"method\":\"elicitation/create\","
                        "\"params\":{\"mode\":\"form\"");
  append_member (out, "message", result->ask_message != NULL ? result->ask_message : "");
  g_string_append (out, ",\"requestedSchema\":");
  append_tree (out, result->ask_schema);
  g_string_append (out, "}}}");
  if (result->request_state != NULL)
    append_member (out, "requestState", result->request_state);
}

static void
append_answer (GString *out,
               DbrRevision revision,
               const DbrToolHost *host,
               const DbrCallResult *result)
{
  const gboolean is_modern = dbr_revision_is_modern (revision);

  if (is_modern)
    {
      append_modern (out, "complete", host);
      g_string_append_c (out, ',');
    }
  g_string_append (out, "\"content\":[{\"type\":\"text\",\"text\":");
  append_text (out, result->text != NULL ? result->text : "", result->text_len);
  g_string_append (out, "}]");
  if (result->structured != NULL
      && (is_modern
          || (revision >= DBR_REVISION_2025_06_18 && json_is_object (result->structured))))
    {
      g_string_append (out, ",\"structuredContent\":");
      append_tree (out, result->structured);
    }
  if (result->is_error)
    g_string_append (out, ",\"isError\":true");
}

GString *
dbr_reply_call (const char *id,
                DbrRevision revision,
                const DbrToolHost *host,
                const DbrCallResult *result)
{
  /* Most answers have few characters to escape: an eighth more than the text rarely has to grow. */
  GString *out = begin (id, result->text_len + result->text_len / 8 + 512);

  g_string_append (out, ",\"result\":{");
  if (result->input_required)
    append_question (out, host, result);
  else
    append_answer (out, revision, host, result);
  g_string_append (out, "}}");
  return out;
}

GString *
dbr_reply_progress (
    const char *token, DbrRevision revision, double progress, double total, const char *message)
{
  GString *out = begin (NULL, 256);

  g_string_append_printf (
      out, ",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%s,\"progress\":",
      token);
  append_double (out, progress);
  if (total >= 0)
    {
      g_string_append (out, ",\"total\":");
      append_double (out, total);
    }
  if (message != NULL && revision >= DBR_REVISION_2025_03_26)
    append_member (out, "message", message);
  g_string_append (out, "}}");
  return out;
}

GString *
dbr_reply_elicitation (const char *id,
                       DbrRevision revision,
                       const char *message,
                       const json_t *schema)
{
  GString *out = begin (id, 1024);

  g_string_append (out, ",\"method\":\"elicitation/create\",\"params\":{\"requestedSchema\":");
  append_tree (out, schema);
  if (revision >= DBR_REVISION_2025_11_25)
    g_string_append (out, ",\"mode\":\"form\"");
  append_member (out, "message", message);
  g_string_append (out, "}}");
  return out;
}

GString *
dbr_reply_cancelled (const char *id, const char *reason)
{
  GString *out = begin (NULL, 128);

  g_string_append_printf (
      out, ",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":%s", id);
  append_member (out, "reason", reason);
  g_string_append (out, "}}");
  return out;
}
