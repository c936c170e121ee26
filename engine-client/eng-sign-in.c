/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eng-sign-in: POST the catalogue's body, take one string member of the answer.
 *
 * Whatever is not a 200 or 201 with that member is an error with the status and the backend's own
 * words, cut and masked: an answer may echo the password that it refused. Whether it speaks of the
 * credentials or of a wrong address is told apart by the status.
 */
#include "config.h"

#include "eng-sign-in.h"

#include "eng-policy.h"

#include <string.h>

#define MAX_DETAIL_BYTES 300u

struct _EngSigner
{
  EngWire *wire;
  DbrMask *mask; /* nullable */
  gboolean has_credentials;
  gboolean is_fixed;
  char *url;
  GBytes *body;
  char *token_member;
  char *renew_403;
  char *field; /* "Authorization" unless the catalogue names another */
  gboolean is_bearer;
  char *token; /* nullable */
  guint generation;
  EngExchange exchange;
  EngSignerDone done;
  gpointer user_data;
};

static gboolean
take_token (EngSigner *self, const char *token, const char **out_problem)
{
  char *clean = eng_policy_clean_token (token, out_problem);

  if (clean == NULL)
    return FALSE;
  g_free (self->token);
  self->token = clean;
  self->generation++;
  if (self->mask != NULL)
    dbr_mask_add (self->mask, clean);
  return TRUE;
}

EngSigner *
eng_signer_new (EngWire *wire, const EngSignIn *config, DbrMask *mask, GError **error)
{
  g_autoptr (EngSigner) self = g_new0 (EngSigner, 1);
  const char *problem;

  self->wire = wire;
  self->mask = mask != NULL ? dbr_mask_ref (mask) : NULL;
  if (config == NULL)
    return g_steal_pointer (&self);
  self->has_credentials = TRUE;
  self->is_fixed = config->fixed_token != NULL;
  self->is_bearer = config->header == NULL;
  self->field = g_strdup (self->is_bearer ? "Authorization" : config->header);
  if (self->is_fixed)
    {
      if (take_token (self, config->fixed_token, &problem))
        return g_steal_pointer (&self);
      g_set_error (error, ENG_ERROR, ENG_ERROR_CONFIG, "%s %s",
                   config->fixed_token_name != NULL ? config->fixed_token_name : "the token",
                   problem);
      return NULL;
    }
  self->url = g_strconcat (wire->url->origin, wire->url->base_path, config->path, NULL);
  self->body = g_bytes_new (config->body, strlen (config->body));
  self->token_member = g_strdup (config->token_member);
  self->renew_403 = g_strdup (config->renew_403);
  return g_steal_pointer (&self);
}

void
eng_signer_free (EngSigner *self)
{
  if (self == NULL)
    return;
  eng_exchange_clear (&self->exchange);
  g_clear_pointer (&self->mask, dbr_mask_unref);
  g_clear_pointer (&self->body, g_bytes_unref);
  g_free (self->url);
  g_free (self->token_member);
  g_free (self->renew_403);
  g_free (self->field);
  g_free (self->token);
  g_free (self);
}

void
eng_signer_set_done (EngSigner *self, EngSignerDone done, gpointer user_data)
{
  self->done = done;
  self->user_data = user_data;
}

gboolean
eng_signer_needs_token (const EngSigner *self)
{
  return self->has_credentials && self->token == NULL;
}

gboolean
eng_signer_can_renew (const EngSigner *self)
{
  return self->has_credentials && !self->is_fixed;
}

const char *
eng_signer_field (const EngSigner *self)
{
  return self->field;
}

guint
eng_signer_generation (const EngSigner *self)
{
  return self->generation;
}

void
eng_signer_refuse (EngSigner *self, guint generation)
{
  if (!self->is_fixed && self->generation == generation)
    g_clear_pointer (&self->token, g_free);
}

void
eng_signer_add_header (const EngSigner *self, EngHeaders *headers)
{
  g_autofree char *value = NULL;

  if (self->token == NULL)
    return;
  value = g_strconcat (self->is_bearer ? "Bearer " : "", self->token, NULL);
  eng_headers_add (headers, self->field, value);
}

/* ------------------------------------------------------------ what it said */

static DbrJsonDoc *
parse_body (const EngReader *reader)
{
  if (reader->body == NULL)
    return NULL;
  return dbr_json_doc_new_from_data ((const char *) reader->body->data, reader->body->len, NULL,
                                     NULL);
}

gboolean
eng_signer_is_named_by (const EngSigner *self, const EngReader *reader)
{
  g_autoptr (DbrJsonDoc) doc = NULL;

  if (self->renew_403 == NULL || reader->status != 403)
    return FALSE;
  doc = parse_body (reader);
  return doc != NULL
         && dbr_json_string_equals (dbr_json_get (dbr_json_doc_root (doc), "detail"),
                                    self->renew_403);
}

/* The mark at a cut also tells the mask that a secret may have been cut there. */
static void
append_words (GString *words, const char *text, gsize len)
{
  gsize keep = MIN (len, 4 * MAX_DETAIL_BYTES);

  dbr_text_append_safe (words, text, (gssize) keep, DBR_TEXT_ONE_LINE);
  if (keep < len)
    g_string_append (words, "…");
}

/* The backend's own words: `detail` as a string, or the `msg` of each of its items. Never the whole
 * body. */
static void
append_detail (const EngSigner *self, const EngReader *reader, GString *out)
{
  g_autoptr (DbrJsonDoc) doc = parse_body (reader);
  g_autoptr (GString) scratch = g_string_new (NULL);
  g_autoptr (GString) words = g_string_new (NULL);
  DbrJson detail;
  const char *text;
  gsize len;

  if (doc == NULL)
    return;
  detail = dbr_json_get (dbr_json_doc_root (doc), "detail");
  text = dbr_json_string (detail, scratch, &len);
  if (text != NULL)
    append_words (words, text, len);
  if (dbr_json_type (detail) == DBR_JSON_ARRAY)
    for (DbrJson item = dbr_json_first (detail);
         dbr_json_exists (item) && words->len < MAX_DETAIL_BYTES; item = dbr_json_next (item))
      {
        text = dbr_json_string (dbr_json_get (item, "msg"), scratch, &len);
        if (text == NULL)
          continue;
        if (words->len > 0)
          g_string_append (words, "; ");
        append_words (words, text, len);
      }
  if (self->mask != NULL)
    dbr_mask_apply (self->mask, words, 0, DBR_MASK_OWN);
  if (words->len == 0)
    return;
  g_string_append (out, ": ");
  g_string_append_len (out, words->str,
                       (gssize) dbr_text_cut_length (words->str, words->len, MAX_DETAIL_BYTES));
}

/* Only these speak of the credentials; any other answer is not what a sign-in says. */
static gboolean
is_about_credentials (guint status)
{
  return status == 400 || status == 401 || status == 403 || status == 422;
}

/* A backend in trouble is still the right one. */
static gboolean
is_elsewhere (guint status)
{
  return status != 429 && (status < 500 || status == 501);
}

static void
append_address_question (const EngSigner *self, GString *out)
{
  const char *name = self->wire->base_url_name;

  g_string_append_printf (out, ". Is %s the address of the API (it takes no page's path)?",
                          name != NULL ? name : "the base URL");
}

static GError *
refused (const EngSigner *self, const char *what)
{
  const EngReader *reader = &self->exchange.reader;
  gboolean is_auth = is_about_credentials (reader->status);
  g_autoptr (GString) text = g_string_new (NULL);

  g_string_printf (text, "sign-in at %s answered %u", self->url, reader->status);
  if (reader->status >= 300 && reader->status < 400)
    {
      const char *location = eng_reader_header (reader, "location");
      g_autofree char *origin
          = location != NULL ? dbr_url_origin (location, self->wire->url) : NULL;

      g_string_append_printf (text, ", a redirect to %s: a login page, or a wrong base URL",
                              origin != NULL ? origin : "elsewhere");
    }
  else if (what != NULL)
    g_string_append_printf (text, ", but %s", what);
  else
    append_detail (self, reader, text);
  if (!is_auth && is_elsewhere (reader->status))
    append_address_question (self, text);
  return g_error_new_literal (ENG_ERROR, is_auth ? ENG_ERROR_AUTH : ENG_ERROR_SIGN_IN, text->str);
}

static GError *
read_answer (EngSigner *self)
{
  const EngReader *reader = &self->exchange.reader;
  g_autoptr (DbrJsonDoc) doc = NULL;
  g_autofree char *token = NULL;
  const char *problem;

  if (reader->status != 200 && reader->status != 201)
    return refused (self, NULL);
  doc = parse_body (reader);
  if (doc == NULL)
    return refused (self, "with something that is not JSON");
  token = dbr_json_dup_string (dbr_json_get (dbr_json_doc_root (doc), self->token_member));
  if (token == NULL || token[0] == '\0')
    {
      g_autofree char *what = g_strdup_printf ("without a string \"%s\"", self->token_member);

      return refused (self, what);
    }
  if (!take_token (self, token, &problem))
    {
      g_autofree char *what = g_strdup_printf ("with a token that cannot be sent: \"%s\" %s",
                                               self->token_member, problem);

      return refused (self, what);
    }
  return NULL;
}

static void
on_exchange_done (EngExchange *exchange, CURLcode code)
{
  EngSigner *self = (EngSigner *) ((char *) exchange - G_STRUCT_OFFSET (EngSigner, exchange));
  g_autoptr (GError) error = NULL;

  if (exchange->reader.error != NULL)
    error = refused (self, exchange->reader.error->message);
  else if (code != CURLE_OK)
    {
      error = eng_exchange_error (exchange, code);
      g_prefix_error (&error, "signing in: ");
    }
  else
    error = read_answer (self);
  eng_exchange_clear (exchange);
  self->done (error, self->user_data);
}

gboolean
eng_signer_start (EngSigner *self, GError **error)
{
  g_autoptr (EngHeaders) headers = NULL;
  EngAsk ask = {
    .method = "POST",
    .url = self->url,
    .body = self->body,
    .may_reuse = TRUE,
    .timeout_ms = ENG_SIGN_IN_TIMEOUT_MS,
    .limit_ms = ENG_SIGN_IN_TIMEOUT_MS,
    .max_body_bytes = ENG_SIGN_IN_MAX_BYTES,
  };

  if (self->exchange.is_running)
    return TRUE;
  headers = eng_headers_new ();
  eng_headers_add (headers, "Accept", "application/json");
  eng_headers_add (headers, "Content-Type", "application/json");
  eng_headers_add (headers, "Expect", NULL);
  ask.headers = headers;
  if (eng_exchange_start (&self->exchange, self->wire, &ask, on_exchange_done, error))
    return TRUE;
  eng_exchange_clear (&self->exchange);
  return FALSE;
}

void
eng_signer_stop (EngSigner *self)
{
  eng_exchange_clear (&self->exchange);
}
