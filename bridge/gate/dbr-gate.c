/* SPDX-License-Identifier: Apache-2.0 */
/* dbr-gate: see the header. Everything here is a pure function of the catalogue and two variables.
 */
#include "config.h"

#include "gate/dbr-gate.h"

#include <glib/gi18n.h>
#include <string.h>

struct _DbrGate
{
  const DbrCatalogue *catalogue;
  char **scope; /* NULL: every category */
  gboolean hide_gated;
  char *origin;
  DbrGateState writes;
  DbrGateState deletes;
  gboolean writes_odd;
  gboolean deletes_odd;
};

DbrGateState
dbr_gate_parse_flag (const char *value, gboolean *out_odd)
{
  static const char *const open_words[] = { "1", "true", "yes", "on", NULL };
  static const char *const shut_words[] = { "", "0", "false", "no", "off", NULL };
  g_autofree char *word = NULL;

  *out_odd = FALSE;
  if (value == NULL)
    return DBR_GATE_SHUT;
  word = g_ascii_strdown (value, -1);
  g_strstrip (word);
  if (g_strv_contains (open_words, word))
    return DBR_GATE_OPEN;
  if (strcmp (word, "ask") == 0)
    return DBR_GATE_ASK;
  *out_odd = !g_strv_contains (shut_words, word);
  return DBR_GATE_SHUT;
}

static gboolean
check_scope (const DbrGate *self, GError **error)
{
  g_autoptr (GString) known = g_string_new (NULL);

  for (guint i = 0; i < self->catalogue->categories->len; i++)
    {
      const DbrCategory *category = g_ptr_array_index (self->catalogue->categories, i);
      g_string_append_printf (known, "%s%s", i ? ", " : "", category->name);
    }
  for (guint s = 0; self->scope[s]; s++)
    {
      gboolean found = FALSE;
      for (guint i = 0; i < self->catalogue->categories->len && !found; i++)
        {
          const DbrCategory *category = g_ptr_array_index (self->catalogue->categories, i);
          found = strcmp (category->name, self->scope[s]) == 0;
        }
      if (!found)
        {
          g_set_error (error, DBR_CATALOGUE_ERROR, DBR_CATALOGUE_ERROR_REFERENCE,
                       _ ("no category \"%s\" in the catalogue \"%s\"; it has %s"), self->scope[s],
                       self->catalogue->name, known->str);
          return FALSE;
        }
    }
  return TRUE;
}

static const char *
variable (const DbrGateOptions *options, const char *name)
{
  return options->environment ? g_environ_getenv (options->environment, name) : g_getenv (name);
}

DbrGate *
dbr_gate_new (const DbrCatalogue *catalogue, const DbrGateOptions *options, GError **error)
{
  g_autoptr (DbrGate) self = g_new0 (DbrGate, 1);
  const DbrBackendDef *backend = catalogue->backend;

  self->catalogue = catalogue;
  self->hide_gated = options->hide_gated;
  self->origin = g_strdup (options->origin ? options->origin : "the backend");
  if (options->scope)
    {
      self->scope = g_strsplit (options->scope, ",", 64);
      for (guint i = 0; self->scope[i]; i++)
        g_strstrip (self->scope[i]);
      if (!check_scope (self, error))
        return NULL;
    }
  if (backend->writes_env)
    self->writes = dbr_gate_parse_flag (variable (options, backend->writes_env), &self->writes_odd);
  if (backend->deletes_env)
    self->deletes
        = dbr_gate_parse_flag (variable (options, backend->deletes_env), &self->deletes_odd);
  return g_steal_pointer (&self);
}

void
dbr_gate_free (DbrGate *self)
{
  if (self == NULL)
    return;
  g_strfreev (self->scope);
  g_free (self->origin);
  g_free (self);
}

DbrGateState
dbr_gate_state (const DbrGate *self, DbrAccess access)
{
  switch (access)
    {
    case DBR_ACCESS_READ:
      return DBR_GATE_OPEN;
    case DBR_ACCESS_WRITE:
      return self->writes;
    case DBR_ACCESS_DELETE:
      return MIN (self->writes, self->deletes);
    case DBR_ACCESS_DENIED:
    default:
      return DBR_GATE_SHUT;
    }
}

gboolean
dbr_gate_in_scope (const DbrGate *self, const DbrTool *tool)
{
  return self->scope == NULL || g_strv_contains ((const char *const *) self->scope, tool->category);
}

gboolean
dbr_gate_lists (const DbrGate *self, const DbrTool *tool)
{
  DbrAccess least = tool->access_varies ? tool->least : tool->access;
  return dbr_gate_in_scope (self, tool)
         && !(self->hide_gated && dbr_gate_state (self, least) == DBR_GATE_SHUT);
}

char *
dbr_gate_remedy (const DbrGate *self, DbrAccess access)
{
  const DbrBackendDef *backend = self->catalogue->backend;
  g_autoptr (GString) text = g_string_new (NULL);

  if (access != DBR_ACCESS_WRITE && access != DBR_ACCESS_DELETE)
    return g_string_free (g_steal_pointer (&text), FALSE);
  if (backend->writes_env == NULL || (access == DBR_ACCESS_DELETE && backend->deletes_env == NULL))
    return g_string_free (g_steal_pointer (&text), FALSE);
  if (self->writes == DBR_GATE_SHUT)
    g_string_append_printf (text, "%s=1", backend->writes_env);
  if (access == DBR_ACCESS_DELETE && self->deletes == DBR_GATE_SHUT)
    g_string_append_printf (text, "%s%s=1", text->len ? " and " : "", backend->deletes_env);
  return g_string_free (g_steal_pointer (&text), FALSE);
}

char *
dbr_gate_note (const DbrGate *self, const DbrTool *tool)
{
  g_autofree char *remedy = NULL;

  if (tool->access == DBR_ACCESS_READ || dbr_gate_state (self, tool->access) != DBR_GATE_SHUT)
    return NULL;
  remedy = dbr_gate_remedy (self, tool->access);
  if (tool->access_varies)
    {
      if (dbr_gate_state (self, DBR_ACCESS_WRITE) != DBR_GATE_SHUT)
        return g_strdup_printf ("(Deletes are shut here: they need %s.)",
                                *remedy ? remedy : "a gate that this catalogue has not");
      return g_strdup_printf ("(Only reads are open here: writes and deletes need %s.)",
                              *remedy ? remedy : "gates that this catalogue has not");
    }
  return g_strdup_printf ("(Shut here: needs %s.)",
                          *remedy ? remedy : "a gate that this catalogue has not");
}

static const char *
state_word (DbrGateState state)
{
  return state == DBR_GATE_OPEN  ? "open"
         : state == DBR_GATE_ASK ? "open after the user's yes"
                                 : "shut";
}

/* For people, so translated; what a model reads (dbr_gate_summary) is English. */
static void
report_gate (GString *out, const char *what, const char *variable, DbrGateState state, gboolean odd)
{
  if (variable == NULL)
    g_string_append_printf (out, _ ("  %s: shut; this catalogue has no variable that opens it\n"),
                            what);
  else if (odd)
    g_string_append_printf (
        out,
        _ ("  %s: shut; the value of %s is none of 1, true, yes, on, 0, false, no, off, ask\n"),
        what, variable);
  else if (state == DBR_GATE_OPEN)
    g_string_append_printf (out, _ ("  %s: open (%s)\n"), what, variable);
  else if (state == DBR_GATE_ASK)
    g_string_append_printf (out, _ ("  %s: open after the user's yes (%s)\n"), what, variable);
  else
    g_string_append_printf (out, _ ("  %s: shut (%s)\n"), what, variable);
}

char *
dbr_gate_report (const DbrGate *self)
{
  const DbrBackendDef *backend = self->catalogue->backend;
  g_autoptr (GString) out = g_string_new (NULL);

  if (self->scope)
    {
      g_autofree char *scope = g_strjoinv (", ", self->scope);
      g_string_append_printf (out, _ ("  scope: %s\n"), scope);
    }
  else
    g_string_append (out, _ ("  scope: every category\n"));
  g_string_append (out, _ ("  reads: open\n"));
  report_gate (out, _ ("writes"), backend->writes_env, self->writes, self->writes_odd);
  report_gate (out, _ ("deletes"), backend->deletes_env, dbr_gate_state (self, DBR_ACCESS_DELETE),
               self->deletes_odd);
  return g_string_free (g_steal_pointer (&out), FALSE);
}

static void
summarize (GString *out, const char *what, const char *name, DbrGateState state)
{
  g_string_append_printf (out, ", %s %s", what, state_word (state));
  if (name && state == DBR_GATE_SHUT)
    g_string_append_printf (out, " (%s)", name);
}

char *
dbr_gate_summary (const DbrGate *self)
{
  const DbrBackendDef *backend = self->catalogue->backend;
  g_autoptr (GString) out = g_string_new ("In this server: reads open");

  summarize (out, "writes", backend->writes_env, self->writes);
  summarize (out, "deletes", backend->deletes_env, dbr_gate_state (self, DBR_ACCESS_DELETE));
  if (self->scope)
    {
      g_autofree char *scope = g_strjoinv (", ", self->scope);
      g_string_append_printf (out, "; only the categories %s", scope);
    }
  g_string_append_c (out, '.');
  return g_string_free (g_steal_pointer (&out), FALSE);
}

/* ---- the refusal */

static const char *
layer_name (DbrRefusal refusal)
{
  switch (refusal)
    {
    case DBR_REFUSED_SCOPE:
      return "scope";
    case DBR_REFUSED_ACCESS:
    case DBR_REFUSED_DENIED:
      return "access";
    case DBR_REFUSED_UNASKABLE:
    case DBR_REFUSED_UNCONFIRMED:
    default:
      return "confirmation";
    }
}

static json_t *
granted (const DbrGate *self)
{
  json_t *list = json_array ();

  for (DbrAccess access = DBR_ACCESS_READ; access <= DBR_ACCESS_DELETE; access++)
    if (dbr_gate_state (self, access) != DBR_GATE_SHUT)
      json_array_append_new (list, json_string (dbr_access_name (access)));
  return list;
}

static json_t *
categories (const DbrGate *self, gboolean only_granted)
{
  json_t *list = json_array ();

  for (guint i = 0; i < self->catalogue->categories->len; i++)
    {
      const DbrCategory *category = g_ptr_array_index (self->catalogue->categories, i);
      if (!only_granted || self->scope == NULL
          || g_strv_contains ((const char *const *) self->scope, category->name))
        json_array_append_new (list, json_string (category->name));
    }
  return list;
}

static char *
access_text (const DbrGate *self, const DbrTool *tool, DbrAccess access, const char *what)
{
  g_autofree char *remedy = dbr_gate_remedy (self, access);
  const char *verb = access == DBR_ACCESS_DELETE ? "deletes are" : "writes are";

  if (*remedy == '\0')
    return g_strdup_printf ("Refused, nothing was sent: %s needs %s access to %s, and this "
                            "catalogue has no gate that opens it.%s%s",
                            tool->name, dbr_access_name (access), self->origin,
                            what ? " Asked for: " : "", what ? what : "");
  return g_strdup_printf (
      "Refused, nothing was sent: %s needs %s access to %s, and %s shut.\n"
      "The person who started this server can open it: set %s in the environment of this server's "
      "entry in the client's MCP settings, then restart the server. "
      "Calling again without that will be refused again.%s%s",
      tool->name, dbr_access_name (access), self->origin, verb, remedy, what ? "\nAsked for: " : "",
      what ? what : "");
}

static char *
refusal_text (const DbrGate *self,
              const DbrTool *tool,
              DbrRefusal refusal,
              DbrAccess access,
              const char *what,
              const char *detail)
{
  const char *asked = what ? what : tool->name;

  switch (refusal)
    {
    case DBR_REFUSED_SCOPE:
      return g_strdup_printf (
          "Refused, nothing was sent: %s belongs to the category \"%s\", which this server was not "
          "started with (--scope). "
          "The person who started it can add the category there and restart it.",
          tool->name, tool->category);
    case DBR_REFUSED_DENIED:
      return g_strdup_printf ("Refused, nothing was sent: %s is closed in this catalogue, whatever "
                              "the gates. No flag opens it.",
                              asked);
    case DBR_REFUSED_UNASKABLE:
      return g_strdup_printf ("Refused, nothing was sent: %s needs the user's yes to this very "
                              "request, and this client cannot ask (it has no elicitation). "
                              "The person who started this server can set the gate's variable to 1 "
                              "instead of ask, or use a client that can ask.",
                              asked);
    case DBR_REFUSED_UNCONFIRMED:
      return g_strdup_printf ("Nothing was sent: %s needs the user's yes, and %s. Do not repeat it "
                              "unless the user asks for it.",
                              asked, detail ? detail : "there was no yes");
    case DBR_REFUSED_ACCESS:
    default:
      return access_text (self, tool, access, what);
    }
}

DbrCallResult *
dbr_gate_refuse (const DbrGate *self,
                 const DbrTool *tool,
                 DbrRefusal refusal,
                 DbrAccess access,
                 const char *what,
                 const char *detail)
{
  g_autoptr (DbrCallResult) result = g_new0 (DbrCallResult, 1);
  gboolean by_scope = refusal == DBR_REFUSED_SCOPE;
  json_t *requires
      = by_scope ? json_pack ("[s]", tool->category) : json_pack ("[s]", dbr_access_name (access));
  json_t *known
      = by_scope ? categories (self, FALSE) : json_pack ("[sss]", "read", "write", "delete");

  result->text = refusal_text (self, tool, refusal, access, what, detail);
  result->text_len = strlen (result->text);
  result->is_error = TRUE;
  result->structured = json_pack (
      "{s:s, s:b, s:s, s:s, s:o, s:o, s:o, s:b}", "tool", tool->name, "refused", 1, "layer",
      layer_name (refusal), "reason", result->text, "requires", requires, "granted",
      by_scope ? categories (self, TRUE) : granted (self), "known", known, "retry_will_succeed", 0);
  return g_steal_pointer (&result);
}
