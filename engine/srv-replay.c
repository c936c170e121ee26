/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-replay: see the header. Used by the writer's thread alone.
 */
#include "config.h"

#include "srv-replay.h"

struct _SrvReplays
{
  GHashTable *secrets; /* replay id -> body as text */
  GQueue order;        /* copies of the ids, oldest first */
};

SrvReplays *
srv_replays_new (void)
{
  SrvReplays *self = g_new0 (SrvReplays, 1);

  self->secrets = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, g_free);
  g_queue_init (&self->order);
  return self;
}

void
srv_replays_free (SrvReplays *self)
{
  g_queue_clear_full (&self->order, g_free);
  g_hash_table_unref (self->secrets);
  g_free (self);
}

char *
srv_replay_fingerprint (const SrvRequest *request)
{
  g_autoptr (GString) text = g_string_new (NULL);

  g_string_append_printf (text, "%s\n%" G_GINT64_FORMAT "\n%s\n%s\n",
                          srv_operations[request->operation].name, request->id,
                          request->project_ref ? request->project_ref : "",
                          request->if_match ? request->if_match : "");
  for (guint i = 0; request->query && request->query[i]; i++)
    g_string_append_printf (text, "%s\n", request->query[i]);
  if (dbr_json_exists (request->body))
    dbr_json_append (request->body, text);
  return g_compute_checksum_for_string (G_CHECKSUM_SHA256, text->str, (gssize) text->len);
}

/* An id may come twice, when the transaction of its first failed: table and queue own their ids each. */
static void
remember (SrvReplays *self, gint64 id, char *body)
{
  g_hash_table_replace (self->secrets, g_memdup2 (&id, sizeof (id)), body);
  g_queue_push_tail (&self->order, g_memdup2 (&id, sizeof (id)));
  if (g_queue_get_length (&self->order) <= SRV_REPLAY_MAX_SECRETS)
    return;
  g_autofree gint64 *oldest = g_queue_pop_head (&self->order);
  g_hash_table_remove (self->secrets, oldest);
}

SrvReply *
srv_replays_find (SrvReplays *self,
                  SrvStore *store,
                  const SrvRequest *request,
                  const char *fingerprint)
{
  g_autoptr (SrvReplay) kept = srv_store_find_one (store, SRV_FIND_REPLAY, request->actor.token, 0,
                                                   request->idempotency_key);

  if (!kept)
    return NULL;
  if (g_strcmp0 (kept->request, fingerprint) != 0)
    return srv_reply_problem (422, "idempotency_mismatch",
                              "This Idempotency-Key came before with another request.",
                              json_pack ("{s:[{s:s, s:s}]}", "errors", "field", "Idempotency-Key",
                                         "problem", "came before with another request"));
  const char *body = kept->secret ? g_hash_table_lookup (self->secrets, &kept->id) : kept->body;
  if (!body)
    return srv_reply_problem (
        409, "secret_gone", "The first answer showed a token, once, and it is kept nowhere.", NULL);
  SrvReply *reply = g_new0 (SrvReply, 1);
  reply->status = (guint) kept->status;
  reply->body = json_loads (body, 0, NULL);
  reply->etag = g_strdup (kept->etag);
  reply->location = g_strdup (kept->location);
  return reply;
}

void
srv_replays_keep (SrvReplays *self,
                  SrvStore *store,
                  const SrvRequest *request,
                  const char *fingerprint,
                  const SrvReply *reply,
                  gint64 now)
{
  g_autoptr (SrvReplay) kept = SrvReplay_new ();
  /* Only answers that make a token have a text of that name. */
  gboolean has_secret = json_is_string (json_object_get (reply->body, "token"));

  if (!reply->body || reply->is_nothing)
    return;
  char *body = json_dumps (reply->body, JSON_COMPACT);
  kept->token = request->actor.token;
  kept->key = g_strdup (request->idempotency_key);
  kept->request = g_strdup (fingerprint);
  kept->status = reply->status;
  kept->body = has_secret ? NULL : body;
  kept->etag = g_strdup (reply->etag);
  kept->location = g_strdup (reply->location);
  kept->secret = has_secret;
  kept->at = now;
  srv_store_add (store, kept);
  if (has_secret)
    remember (self, kept->id, body);
}
