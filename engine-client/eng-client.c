/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eng-client: one backend: its configuration, its queue, its transfers.
 *
 * Nothing here waits: every function returns at once, reports come from the default main context.
 */
#include "config.h"

#include "eng-client.h"

#include "eng-client-priv.h"

#include <string.h>

G_DEFINE_QUARK (eng_error, eng_error)

void
eng_response_free (EngResponse *self)
{
  if (self == NULL)
    return;
  g_clear_error (&self->error);
  g_free (self->reason);
  g_free (self->content_type);
  g_free (self->location_origin);
  g_clear_pointer (&self->headers, g_ptr_array_unref);
  g_clear_pointer (&self->body, g_bytes_unref);
  g_clear_pointer (&self->records, g_ptr_array_unref);
  g_clear_pointer (&self->rest, dbr_json_doc_unref);
  g_free (self);
}

static gboolean
check_plain_http (const EngClient *self, const EngConfig *config, GError **error)
{
  g_autofree char *problem = NULL;

  if (config->sign_in == NULL || config->unix_socket != NULL
      || config->allow_plain_http_credentials)
    return TRUE;
  problem = dbr_url_plain_problem (
      self->wire->url, config->base_url_name != NULL ? config->base_url_name : "the base URL");
  if (problem == NULL)
    return TRUE;
  g_set_error (error, ENG_ERROR, ENG_ERROR_CONFIG, "%s, or allow it with %s", problem,
               config->allow_plain_http_name != NULL ? config->allow_plain_http_name
                                                     : "allow_plain_http_credentials");
  return FALSE;
}

static EngClient *
client_new (const EngConfig *config, GError **error)
{
  g_autoptr (EngClient) self = g_new0 (EngClient, 1);

  g_queue_init (&self->transfers);
  g_queue_init (&self->queued);
  g_queue_init (&self->unsigned_);
  self->wire = eng_wire_new (config, error);
  if (self->wire == NULL || !check_plain_http (self, config, error))
    return NULL;
  self->signer = eng_signer_new (self->wire, config->sign_in, config->mask, error);
  if (self->signer == NULL)
    return NULL;
  eng_signer_set_done (self->signer, eng_client_on_signed_in, self);
  self->access = dbr_access_table_ref (config->access);
  self->prefix = g_strdup (config->prefix);
  self->writes = config->writes;
  self->deletes = config->deletes;
  self->max_in_flight
      = config->max_in_flight != 0 ? config->max_in_flight : ENG_WIRE_MAX_CONNECTIONS;
  self->max_body_bytes = MIN (config->max_body_bytes != 0 ? config->max_body_bytes
                                                          : (gsize) ENG_CLIENT_MAX_BODY_BYTES,
                              (gsize) ENG_CLIENT_BODY_CEILING_BYTES);
  return g_steal_pointer (&self);
}

void
eng_client_free (EngClient *self)
{
  if (self == NULL)
    return;
  while (self->transfers.head != NULL)
    eng_transfer_free (self->transfers.head->data);
  g_clear_pointer (&self->plain_headers, eng_headers_unref);
  eng_signer_free (self->signer);
  eng_wire_free (self->wire);
  g_clear_pointer (&self->access, dbr_access_table_unref);
  g_free (self->prefix);
  g_free (self);
}

void
eng_client_on_signed_in (const GError *error, gpointer user_data)
{
  EngClient *self = user_data;
  /* Those that come back for another token wait for the next one, not in this round. */
  guint n = self->unsigned_.length;

  for (; n > 0 && self->unsigned_.head != NULL; n--)
    {
      EngTransfer *transfer = self->unsigned_.head->data;

      if (error != NULL)
        eng_transfer_fail (transfer, g_error_copy (error));
      else
        eng_transfer_go (transfer);
    }
}

void
eng_client_pump (EngClient *self)
{
  while (self->queued.head != NULL && self->n_in_flight < self->max_in_flight)
    eng_transfer_go (self->queued.head->data);
}

static EngTransfer *
client_send (EngClient *self, const EngRequest *request, EngDone done, gpointer user_data)
{
  EngTransfer *transfer = eng_transfer_new (self, request);

  transfer->done = done;
  transfer->user_data = user_data;
  eng_transfer_go (transfer);
  return transfer;
}

static EngSent
client_cancel (EngTransfer *transfer)
{
  EngClient *client = transfer->client;
  EngSent sent = eng_exchange_sent (&transfer->exchange);

  eng_transfer_free (transfer);
  eng_client_pump (client);
  return sent;
}

static const char *
client_origin (EngClient *self)
{
  return self->wire->origin;
}

const EngDoor *
eng_door (void)
{
  static const EngDoor door = {
    .abi = ENG_DOOR_ABI,
    .client_new = client_new,
    .client_free = eng_client_free,
    .send = client_send,
    .cancel = client_cancel,
    .response_free = eng_response_free,
    .origin = client_origin,
  };

  return &door;
}
