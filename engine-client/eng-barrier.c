/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eng-barrier: what may leave.
 *
 * Called by eng_transfer_go() right before every request, repeats included, so that nothing above
 * (a tool, a template, an escape hatch) can forget it or be mistaken about it. Trusts nothing it is
 * given.
 */
#include "config.h"

#include "eng-client-priv.h"
#include "eng-policy.h"

#include <string.h>

static gboolean
refuse (GError **error, const char *format, ...) G_GNUC_PRINTF (2, 3);

static gboolean
refuse (GError **error, const char *format, ...)
{
  va_list args;
  g_autofree char *message = NULL;

  va_start (args, format);
  message = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error_literal (error, ENG_ERROR, ENG_ERROR_BARRIER, message);
  return FALSE;
}

static gboolean
is_plain (const char *text, const char *refused)
{
  for (const char *p = text; *p != '\0'; p++)
    if ((guchar) *p <= 0x20 || (guchar) *p >= 0x7f || strchr (refused, *p) != NULL)
      return FALSE;
  return TRUE;
}

static gboolean
check_headers (const EngTransfer *t, const char *credential, GError **error)
{
  guint n = t->headers != NULL ? g_strv_length (t->headers) : 0;

  if (n % 2 != 0 || n > 2 * ENG_CLIENT_MAX_REQUEST_HEADERS)
    return refuse (error, "the header fields are not at most %u pairs",
                   ENG_CLIENT_MAX_REQUEST_HEADERS);
  for (guint i = 0; i < n; i += 2)
    {
      const char *problem = eng_policy_check_header (t->headers[i], t->headers[i + 1], credential);

      if (problem != NULL)
        {
          g_autofree char *name = g_strescape (t->headers[i], NULL);

          return refuse (error, "the header field \"%.64s\" %s", name, problem);
        }
    }
  if (!is_plain (t->accept, "\"\\")
      || (t->content_type != NULL && !is_plain (t->content_type, "\"\\")))
    return refuse (error,
                   "the media type holds a blank, a quote, a control or a non-ASCII character");
  return TRUE;
}

static const char *
name_of_gate (EngGate gate)
{
  return gate == ENG_GATE_SHUT ? "not open" : "open only with the user's yes";
}

static gboolean
check_access (const EngClient *client, const EngTransfer *t, const char *path, GError **error)
{
  DbrAccess access = dbr_access_table_judge (client->access, t->method, path);
  EngGate writes = client->writes;
  EngGate deletes = client->deletes;

  if (access == DBR_ACCESS_READ)
    return TRUE;
  if (access != DBR_ACCESS_WRITE && access != DBR_ACCESS_DELETE)
    return refuse (error, "%s %s is never allowed", t->method, path);
  if (writes == ENG_GATE_SHUT || (writes == ENG_GATE_ASK && !t->consent))
    return refuse (error, "%s %s is a %s: writes are %s", t->method, path, dbr_access_name (access),
                   name_of_gate (writes));
  if (access == DBR_ACCESS_DELETE
      && (deletes == ENG_GATE_SHUT || (deletes == ENG_GATE_ASK && !t->consent)))
    return refuse (error, "%s %s is a delete: deletes are %s", t->method, path,
                   name_of_gate (deletes));
  return TRUE;
}

char *
eng_barrier_pass (const EngClient *client, const EngTransfer *t, GError **error)
{
  g_autoptr (GError) local = NULL;
  g_autofree char *path = NULL;

  if (!eng_policy_is_method (t->method))
    {
      refuse (error, "the method is not one of HTTP's in capitals");
      return NULL;
    }
  path = dbr_path_check (t->path, client->prefix, &local);
  if (path == NULL)
    {
      refuse (error, "%s", local->message);
      return NULL;
    }
  if (t->query != NULL
      && (strlen (t->query) > ENG_CLIENT_MAX_QUERY_BYTES || !is_plain (t->query, "#\\\"<>")))
    {
      refuse (error, "the query is longer than %u bytes or not percent-encoded",
              ENG_CLIENT_MAX_QUERY_BYTES);
      return NULL;
    }
  if (!check_headers (t, eng_signer_field (client->signer), error)
      || !check_access (client, t, path, error))
    return NULL;
  return g_steal_pointer (&path);
}
