/* SPDX-License-Identifier: Apache-2.0 */
/* dbr-consent: see the header. The key lives as long as the process: a restart makes old questions
 * invalid, which is safe. */
#include "config.h"

#include "gate/dbr-consent.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#define KEY_BYTES 32
#define NONCE_BYTES 16

static guint8 key[KEY_BYTES];
static gboolean has_key;
static GHashTable *used; /* nonce -> expiry in seconds, GINT_TO_POINTER would not fit: boxed */

static gboolean
random_bytes (guint8 *out, gsize len)
{
  gsize have = 0;

  while (have < len)
    {
      ssize_t n = getrandom (out + have, len - have, 0);
      if (n > 0)
        have += (gsize) n;
      else if (errno != EINTR)
        return FALSE;
    }
  return TRUE;
}

static gboolean
ensure_key (void)
{
  if (!has_key)
    has_key = random_bytes (key, sizeof key);
  return has_key;
}

static const char *
effect (const DbrConsentRequest *request)
{
  if (request->access == DBR_ACCESS_DELETE)
    return "This can delete something for good.";
  if (request->destroys)
    return "This changes state that cannot be brought back.";
  return "This changes something there.";
}

/* A person can't judge a digest: the body itself, as data on one line. */
static void
append_body (GString *text, const char *data, gsize len)
{
  g_autoptr (GString) safe = g_string_new (NULL);
  gsize shown;

  dbr_text_append_safe (safe, data, (gssize) MIN (len, 4 * DBR_CONSENT_MAX_BODY),
                        DBR_TEXT_ONE_LINE);
  shown = dbr_text_cut_length (safe->str, safe->len, DBR_CONSENT_MAX_BODY);
  g_string_append_len (text, safe->str, (gssize) shown);
  if (shown < safe->len || len > 4 * DBR_CONSENT_MAX_BODY)
    g_string_append (text, "...");
}

char *
dbr_consent_message (const DbrConsentRequest *request)
{
  g_autoptr (GString) text = g_string_new (NULL);
  g_autofree char *decoded = dbr_path_decode (request->path);

  g_string_append_printf (text, "%s wants to send: %s %s%s", request->tool, request->method,
                          request->origin, request->path);
  if (request->query && *request->query)
    g_string_append_printf (text, "?%s", request->query);
  if (decoded && strcmp (decoded, request->path) != 0)
    {
      g_string_append (text, "\nDecoded path: ");
      dbr_text_append_safe (text, decoded, -1, DBR_TEXT_ONE_LINE);
    }
  if (request->body)
    {
      gsize len;
      const guint8 *data = g_bytes_get_data (request->body, &len);
      g_autofree char *digest = g_compute_checksum_for_data (G_CHECKSUM_SHA256, data, len);
      g_string_append_printf (text, "\nBody: %" G_GSIZE_FORMAT " bytes, SHA-256 %.16s...: ", len,
                              digest);
      append_body (text, (const char *) data, len);
    }
  else
    g_string_append (text, "\nNo body.");
  if (request->effect && *request->effect)
    {
      g_string_append_c (text, '\n');
      dbr_text_append_safe (text, request->effect, -1, DBR_TEXT_ONE_LINE);
    }
  g_string_append_printf (text, "\n%s", effect (request));
  return g_string_free (g_steal_pointer (&text), FALSE);
}

json_t *
dbr_consent_schema (void)
{
  return json_pack ("{s:s, s:{s:{s:s, s:s, s:s, s:b}}, s:[s]}", "type", "object", "properties",
                    DBR_CONSENT_KEY, "type", "boolean", "title", "Send it", "description",
                    "Yes: send exactly this request, once.", "default", 0, "required",
                    DBR_CONSENT_KEY);
}

/* The digest binds the state to everything the user was shown, length-prefixed so that no field can
 * run into the next. */
static char *
digest (const DbrConsentRequest *request, const char *head)
{
  g_autoptr (GHmac) hmac = g_hmac_new (G_CHECKSUM_SHA256, key, sizeof key);
  const char *fields[] = { head,
                           request->tool,
                           request->method,
                           request->origin,
                           request->path,
                           request->query ? request->query : "" };
  gsize body_len = 0;
  const guint8 *body = request->body ? g_bytes_get_data (request->body, &body_len) : NULL;
  guint64 length;

  for (guint i = 0; i < G_N_ELEMENTS (fields); i++)
    {
      length = GUINT64_TO_LE (strlen (fields[i]));
      g_hmac_update (hmac, (const guchar *) &length, sizeof length);
      g_hmac_update (hmac, (const guchar *) fields[i], (gssize) strlen (fields[i]));
    }
  length = GUINT64_TO_LE (request->body ? body_len + 1 : 0);
  g_hmac_update (hmac, (const guchar *) &length, sizeof length);
  if (body_len)
    g_hmac_update (hmac, body, (gssize) body_len);
  return g_strdup (g_hmac_get_string (hmac));
}

char *
dbr_consent_seal (const DbrConsentRequest *request, gint64 now_us)
{
  guint8 nonce[NONCE_BYTES];
  g_autoptr (GString) head = g_string_new (NULL);
  g_autofree char *mac = NULL;

  if (!ensure_key () || !random_bytes (nonce, sizeof nonce))
    return g_strdup (""); /* never opens: a request without randomness stays unconfirmed */
  g_string_append_printf (head, "%" G_GINT64_FORMAT ".",
                          now_us / G_USEC_PER_SEC + DBR_CONSENT_LIFETIME_S);
  for (guint i = 0; i < sizeof nonce; i++)
    g_string_append_printf (head, "%02x", nonce[i]);
  mac = digest (request, head->str);
  g_string_append_printf (head, ".%s", mac);
  return g_string_free (g_steal_pointer (&head), FALSE);
}

static gboolean
equal_constant_time (const char *a, const char *b)
{
  gsize len = strlen (a);
  guint8 difference = 0;

  if (strlen (b) != len)
    return FALSE;
  for (gsize i = 0; i < len; i++)
    difference |= (guint8) (a[i] ^ b[i]);
  return difference == 0;
}

static gboolean
is_over (gpointer nonce, gpointer expiry, gpointer now_s)
{
  (void) nonce;
  return *(gint64 *) expiry < *(gint64 *) now_s;
}

/* FALSE when it was used before, or too many are remembered to be sure. */
static gboolean
use_once (const char *head, gint64 expiry, gint64 now_s)
{
  gint64 *boxed;

  if (used == NULL)
    used = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  if (g_hash_table_contains (used, head))
    return FALSE;
  if (g_hash_table_size (used) >= DBR_CONSENT_MAX_USED)
    g_hash_table_foreach_remove (used, is_over, &now_s);
  if (g_hash_table_size (used) >= DBR_CONSENT_MAX_USED)
    return FALSE;
  boxed = g_new (gint64, 1);
  *boxed = expiry;
  g_hash_table_insert (used, g_strdup (head), boxed);
  return TRUE;
}

DbrConsentCheck
dbr_consent_open (const DbrConsentRequest *request, const char *state, gint64 now_us)
{
  const char *dot = strrchr (state, '.');
  g_autofree char *head = NULL;
  g_autofree char *mac = NULL;
  gint64 expiry;

  if (dot == NULL || !has_key || strlen (state) > 256)
    return DBR_CONSENT_FORGED;
  head = g_strndup (state, (gsize) (dot - state));
  mac = digest (request, head);
  if (!equal_constant_time (mac, dot + 1))
    return DBR_CONSENT_FORGED;
  expiry = g_ascii_strtoll (head, NULL, 10);
  if (expiry < now_us / G_USEC_PER_SEC)
    return DBR_CONSENT_EXPIRED;
  return use_once (head, expiry, now_us / G_USEC_PER_SEC) ? DBR_CONSENT_VALID : DBR_CONSENT_USED;
}

DbrAskOutcome
dbr_consent_read (DbrJson input_responses)
{
  DbrJson answer = dbr_json_get (input_responses, DBR_CONSENT_KEY);
  DbrJson action = dbr_json_get (answer, "action");

  if (dbr_json_string_equals (action, "accept"))
    return dbr_json_get_boolean (dbr_json_get (dbr_json_get (answer, "content"), DBR_CONSENT_KEY))
               ? DBR_ASK_ACCEPTED
               : DBR_ASK_DECLINED;
  if (dbr_json_string_equals (action, "decline"))
    return DBR_ASK_DECLINED;
  if (dbr_json_string_equals (action, "cancel"))
    return DBR_ASK_CANCELLED;
  return DBR_ASK_UNAVAILABLE;
}
