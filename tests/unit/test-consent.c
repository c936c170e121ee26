/* SPDX-License-Identifier: Apache-2.0 */
/* The user's yes: what the form says, and a state that no client can bend. */
#include "config.h"

#include "gate/dbr-consent.h"

#include <string.h>

#define NOW_US (G_GINT64_CONSTANT (1800000000) * G_USEC_PER_SEC)

static DbrConsentRequest
sample (GBytes *body)
{
  DbrConsentRequest request
      = { "airflow_api_call", "DELETE", "http://127.0.0.1:8080", "/api/v2/dags/a%20b", "x=1", body,
          DBR_ACCESS_DELETE,  TRUE };
  return request;
}

static void
test_message (void)
{
  g_autoptr (GBytes) body = g_bytes_new_static ("{}", 2);
  DbrConsentRequest request = sample (body);
  g_autofree char *message = dbr_consent_message (&request);

  g_assert_cmpstr (
      message, ==,
      "airflow_api_call wants to send: DELETE http://127.0.0.1:8080/api/v2/dags/a%20b?x=1\n"
      "Decoded path: /api/v2/dags/a b\n"
      "Body: 2 bytes, SHA-256 44136fa355b3678a...: {}\n"
      "This can delete something for good.");
  request.body = NULL;
  request.path = "/api/v2/x";
  request.query = NULL;
  request.access = DBR_ACCESS_WRITE;
  request.destroys = FALSE;
  g_free (message);
  message = dbr_consent_message (&request);
  g_assert_cmpstr (message, ==,
                   "airflow_api_call wants to send: DELETE http://127.0.0.1:8080/api/v2/x\nNo "
                   "body.\nThis changes something there.");
}

static void
test_message_shows_what_hides (void)
{
  DbrConsentRequest request = sample (NULL);
  g_autofree char *message = NULL;

  request.path = "/api/v2/dags/a%0ANo%20body%E2%80%AE";
  message = dbr_consent_message (&request);
  g_assert_nonnull (strstr (message, "Decoded path: /api/v2/dags/a\\nNo body\\u{202E}\n"));
}

/* The body is what the user says yes to: it is shown, as data and bounded. */
static void
test_message_shows_the_body (void)
{
  g_autofree char *long_text = g_strnfill (3000, 'x');
  g_autoptr (GBytes) body = g_bytes_new_static ("{\"a\":\"\x1b[31m\nYes\"}", 17);
  g_autoptr (GBytes) big = g_bytes_new (long_text, 3000);
  DbrConsentRequest request = sample (body);
  g_autofree char *message = dbr_consent_message (&request);

  g_assert_nonnull (strstr (message, "...: {\"a\":\"\\nYes\"}\nThis can delete"));
  request.body = big;
  g_free (message);
  message = dbr_consent_message (&request);
  g_assert_cmpuint (strlen (message), <, 1000);
  g_assert_nonnull (strstr (message, "xxx...\nThis can delete"));
}

static void
test_schema (void)
{
  json_auto_t *schema = dbr_consent_schema ();
  json_t *field = json_object_get (json_object_get (schema, "properties"), "confirm");

  g_assert_cmpstr (json_string_value (json_object_get (schema, "type")), ==, "object");
  g_assert_cmpstr (json_string_value (json_object_get (field, "type")), ==, "boolean");
  g_assert_true (json_is_false (json_object_get (field, "default")));
}

static void
test_state_once (void)
{
  DbrConsentRequest request = sample (NULL);
  g_autofree char *state = dbr_consent_seal (&request, NOW_US);

  g_assert_cmpint (dbr_consent_open (&request, state, NOW_US + G_USEC_PER_SEC), ==,
                   DBR_CONSENT_VALID);
  g_assert_cmpint (dbr_consent_open (&request, state, NOW_US + 2 * G_USEC_PER_SEC), ==,
                   DBR_CONSENT_USED);
}

static void
test_state_expires (void)
{
  DbrConsentRequest request = sample (NULL);
  g_autofree char *state = dbr_consent_seal (&request, NOW_US);
  gint64 later = NOW_US + (DBR_CONSENT_LIFETIME_S + 1) * (gint64) G_USEC_PER_SEC;

  g_assert_cmpint (dbr_consent_open (&request, state, later), ==, DBR_CONSENT_EXPIRED);
}

/* Every part of what the user was shown is bound: another request can't use the yes. */
static void
test_state_is_bound (void)
{
  g_autoptr (GBytes) body = g_bytes_new_static ("{\"a\":1}", 7);
  DbrConsentRequest asked = sample (NULL);
  g_autofree char *state = dbr_consent_seal (&asked, NOW_US);
  const char *const changed[] = { "tool", "method", "origin", "path", "query", "body" };

  for (guint i = 0; i < G_N_ELEMENTS (changed); i++)
    {
      DbrConsentRequest other = asked;
      if (i == 0)
        other.tool = "other";
      else if (i == 1)
        other.method = "PATCH";
      else if (i == 2)
        other.origin = "http://127.0.0.1:8081";
      else if (i == 3)
        other.path = "/api/v2/dags/b";
      else if (i == 4)
        other.query = "";
      else
        other.body = body;
      g_test_message ("changed: %s", changed[i]);
      g_assert_cmpint (dbr_consent_open (&other, state, NOW_US), ==, DBR_CONSENT_FORGED);
    }
  g_assert_cmpint (dbr_consent_open (&asked, state, NOW_US), ==, DBR_CONSENT_VALID);
}

static void
test_state_forged (void)
{
  DbrConsentRequest request = sample (NULL);
  g_autofree char *state = dbr_consent_seal (&request, NOW_US);
  g_autofree char *huge = g_strnfill (100000, 'a');
  const char *const bad[] = { "", ".", "..", "1.2.3", "9999999999.00.00", huge };

  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    g_assert_cmpint (dbr_consent_open (&request, bad[i], NOW_US), ==, DBR_CONSENT_FORGED);
  for (gsize i = 0; i < strlen (state); i++)
    {
      g_autofree char *bent = g_strdup (state);
      bent[i] = bent[i] == '1' ? '2' : '1';
      g_assert_cmpint (dbr_consent_open (&request, bent, NOW_US), ==, DBR_CONSENT_FORGED);
    }
}

static DbrAskOutcome
read_text (const char *text)
{
  g_autoptr (DbrJsonDoc) doc = dbr_json_doc_new_from_data (text, -1, NULL, NULL);
  return dbr_consent_read (dbr_json_doc_root (doc));
}

static void
test_read (void)
{
  g_assert_cmpint (
      read_text ("{\"confirm\":{\"action\":\"accept\",\"content\":{\"confirm\":true}}}"), ==,
      DBR_ASK_ACCEPTED);
  g_assert_cmpint (
      read_text ("{\"confirm\":{\"action\":\"accept\",\"content\":{\"confirm\":false}}}"), ==,
      DBR_ASK_DECLINED);
  g_assert_cmpint (
      read_text ("{\"confirm\":{\"action\":\"accept\",\"content\":{\"confirm\":\"true\"}}}"), ==,
      DBR_ASK_DECLINED);
  g_assert_cmpint (read_text ("{\"confirm\":{\"action\":\"accept\"}}"), ==, DBR_ASK_DECLINED);
  g_assert_cmpint (read_text ("{\"confirm\":{\"action\":\"decline\"}}"), ==, DBR_ASK_DECLINED);
  g_assert_cmpint (read_text ("{\"confirm\":{\"action\":\"cancel\"}}"), ==, DBR_ASK_CANCELLED);
  g_assert_cmpint (
      read_text ("{\"confirm\":{\"action\":\"ACCEPT\",\"content\":{\"confirm\":true}}}"), ==,
      DBR_ASK_UNAVAILABLE);
  g_assert_cmpint (read_text ("{\"other\":{}}"), ==, DBR_ASK_UNAVAILABLE);
  g_assert_cmpint (read_text ("[]"), ==, DBR_ASK_UNAVAILABLE);
  g_assert_cmpint (dbr_consent_read (DBR_JSON_NONE), ==, DBR_ASK_UNAVAILABLE);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/consent/message", test_message);
  g_test_add_func ("/consent/message-shows-what-hides", test_message_shows_what_hides);
  g_test_add_func ("/consent/message-shows-the-body", test_message_shows_the_body);
  g_test_add_func ("/consent/schema", test_schema);
  g_test_add_func ("/consent/state/once", test_state_once);
  g_test_add_func ("/consent/state/expires", test_state_expires);
  g_test_add_func ("/consent/state/bound", test_state_is_bound);
  g_test_add_func ("/consent/state/forged", test_state_forged);
  g_test_add_func ("/consent/read", test_read);
  return g_test_run ();
}
