/* SPDX-License-Identifier: Apache-2.0 */
/* dbr-gate: see the header. Everything here is a pure function of the catalogue and two variables.
 */
#include "config.h"

#include "gate/dbr-gate.h"

#include <glib/gi18n.h>
#include <string.h>

/* A flag as it was found. */
typedef struct
{
  const char *name; /* of its variable; nullable: the catalogue has none */
  DbrGateState state;
  const char *oddity; /* nullable: why the value is not understood; "%s" is the variable */
} Flag;

struct _DbrGate
{
  const DbrCatalogue *catalogue;
  char **scope; /* NULL: every category */
  gboolean hide_gated;
  gboolean is_command_line;
  char *origin;
  Flag writes;
  Flag deletes;
};

/* The value itself is never shown: it may be a secret that was put into the wrong variable. */
static const char is_empty[] = N_ ("%s is set but empty");
static const char is_unexpanded[]
    = N_ ("%s holds an unexpanded reference to another variable, such as ${NAME}");
static const char is_no_word[]
    = N_ ("the value of %s is none of 1, true, yes, on, 0, false, no, off, ask");

static const char *
oddity_of (const char *value)
{
  while (g_ascii_isspace (*value))
    value++;
  if (*value == '\0')
    return is_empty;
  return *value == '$' ? is_unexpanded : is_no_word;
}

DbrGateState
dbr_gate_parse_flag (const char *value, gboolean *out_odd)
{
  static const char *const open_words[] = { "1", "true", "yes", "on", NULL };
  static const char *const shut_words[] = { "0", "false", "no", "off", NULL };
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

static void
read_flag (Flag *flag, const DbrGateOptions *options, const char *name)
{
  const char *value = NULL;
  gboolean is_odd;

  flag->name = name;
  if (name)
    value = options->environment ? g_environ_getenv (options->environment, name) : g_getenv (name);
  flag->state = dbr_gate_parse_flag (value, &is_odd);
  flag->oddity = is_odd ? oddity_of (value) : NULL;
}

DbrGate *
dbr_gate_new (const DbrCatalogue *catalogue, const DbrGateOptions *options, GError **error)
{
  g_autoptr (DbrGate) self = g_new0 (DbrGate, 1);
  const DbrBackendDef *backend = catalogue->backend;

  self->catalogue = catalogue;
  self->hide_gated = options->hide_gated;
  self->is_command_line = options->is_command_line;
  self->origin = g_strdup (options->origin ? options->origin : "the backend");
  if (options->scope)
    {
      self->scope = g_strsplit (options->scope, ",", 64);
      for (guint i = 0; self->scope[i]; i++)
        g_strstrip (self->scope[i]);
      if (!check_scope (self, error))
        return NULL;
    }
  read_flag (&self->writes, options, backend->writes_env);
  read_flag (&self->deletes, options, backend->deletes_env);
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
      return self->writes.state;
    case DBR_ACCESS_DELETE:
      return MIN (self->writes.state, self->deletes.state);
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
  g_autoptr (GString) text = g_string_new (NULL);

  if (access != DBR_ACCESS_WRITE && access != DBR_ACCESS_DELETE)
    return g_string_free (g_steal_pointer (&text), FALSE);
  if (self->writes.name == NULL || (access == DBR_ACCESS_DELETE && self->deletes.name == NULL))
    return g_string_free (g_steal_pointer (&text), FALSE);
  if (self->writes.state == DBR_GATE_SHUT)
    g_string_append_printf (text, "%s=1", self->writes.name);
  if (access == DBR_ACCESS_DELETE && self->deletes.state == DBR_GATE_SHUT)
    g_string_append_printf (text, "%s%s=1", text->len ? " and " : "", self->deletes.name);
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static void
append_oddity (GString *out, const Flag *flag, const char *says)
{
  g_autoptr (GString) text = g_string_new (says);

  g_string_replace (text, "%s", flag->name, 1);
  g_string_append_printf (out, "%s%s", out->len ? "; " : "", text->str);
}

/* What is odd about the flags that @access needs; "" when nothing is (transfer full). */
static char *
oddities (const DbrGate *self, DbrAccess access)
{
  g_autoptr (GString) out = g_string_new (NULL);

  if (self->writes.oddity && access != DBR_ACCESS_READ)
    append_oddity (out, &self->writes, self->writes.oddity);
  if (self->deletes.oddity && access == DBR_ACCESS_DELETE)
    append_oddity (out, &self->deletes, self->deletes.oddity);
  return g_string_free (g_steal_pointer (&out), FALSE);
}

char *
dbr_gate_problem (const DbrGate *self)
{
  g_autofree char *odd = oddities (self, DBR_ACCESS_DELETE);

  return *odd ? g_strdup_printf ("%s: it opens nothing", odd) : NULL;
}

char *
dbr_gate_note (const DbrGate *self, const DbrTool *tool)
{
  g_autofree char *remedy = NULL;
  g_autofree char *odd = oddities (self, tool->access);
  const char *but = *odd ? "; now " : "";

  if (tool->access == DBR_ACCESS_READ || dbr_gate_state (self, tool->access) != DBR_GATE_SHUT)
    return NULL;
  remedy = dbr_gate_remedy (self, tool->access);
  if (tool->access_varies)
    {
      if (dbr_gate_state (self, DBR_ACCESS_WRITE) != DBR_GATE_SHUT)
        return g_strdup_printf ("(Deletes are shut here: they need %s%s%s.)",
                                *remedy ? remedy : "a gate that this catalogue has not", but, odd);
      return g_strdup_printf ("(Only reads are open here: writes and deletes need %s%s%s.)",
                              *remedy ? remedy : "gates that this catalogue has not", but, odd);
    }
  return g_strdup_printf ("(Shut here: needs %s%s%s.)",
                          *remedy ? remedy : "a gate that this catalogue has not", but, odd);
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
report_gate (GString *out, const char *what, const Flag *flag, DbrGateState state)
{
  if (flag->name == NULL)
    g_string_append_printf (out, _ ("  %s: shut; this catalogue has no variable that opens it\n"),
                            what);
  else if (flag->oddity)
    {
      g_autoptr (GString) why = g_string_new (NULL);
      append_oddity (why, flag, _ (flag->oddity));
      g_string_append_printf (out, _ ("  %s: shut; %s\n"), what, why->str);
    }
  else if (state == DBR_GATE_OPEN)
    g_string_append_printf (out, _ ("  %s: open (%s)\n"), what, flag->name);
  else if (state == DBR_GATE_ASK)
    g_string_append_printf (out, _ ("  %s: open after the user's yes (%s)\n"), what, flag->name);
  else
    g_string_append_printf (out, _ ("  %s: shut (%s)\n"), what, flag->name);
}

char *
dbr_gate_report (const DbrGate *self)
{
  g_autoptr (GString) out = g_string_new (NULL);

  if (self->scope)
    {
      g_autofree char *scope = g_strjoinv (", ", self->scope);
      g_string_append_printf (out, _ ("  scope: %s\n"), scope);
    }
  else
    g_string_append (out, _ ("  scope: every category\n"));
  g_string_append (out, _ ("  reads: open\n"));
  report_gate (out, _ ("writes"), &self->writes, self->writes.state);
  report_gate (out, _ ("deletes"), &self->deletes, dbr_gate_state (self, DBR_ACCESS_DELETE));
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
  g_autofree char *problem = dbr_gate_problem (self);
  g_autoptr (GString) out = g_string_new ("In this server: reads open");

  summarize (out, "writes", self->writes.name, self->writes.state);
  summarize (out, "deletes", self->deletes.name, dbr_gate_state (self, DBR_ACCESS_DELETE));
  if (self->scope)
    {
      g_autofree char *scope = g_strjoinv (", ", self->scope);
      g_string_append_printf (out, "; only the categories %s", scope);
    }
  if (problem)
    g_string_append_printf (out, "; %s", problem);
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

/* What whoever reads the refusal can do (transfer full). */
static char *
how_to_open (const DbrGate *self, const char *remedy)
{
  if (self->is_command_line)
    {
      g_auto (GStrv) words = g_strsplit (remedy, " and ", -1);
      g_autofree char *front = g_strjoinv (" ", words);
      return g_strdup_printf (
          "To open it, run the same command again with %s in front of it (%s drawbridge ...).",
          remedy, front);
    }
  return g_strdup_printf (
      "The person who started this server can open it: set %s in the environment of this server's "
      "entry in the client's MCP settings, then restart the server. "
      "Calling again without that will be refused again.",
      remedy);
}

/* Who typed a command doesn't know the tool behind it. */
static const char *
called (const DbrGate *self, const DbrTool *tool)
{
  const DbrOffer *offer = self->catalogue->offer;

  return offer && offer->is_shell_only ? "this command" : tool->name;
}

static char *
access_text (const DbrGate *self, const DbrTool *tool, DbrAccess access, const char *what)
{
  g_autofree char *remedy = dbr_gate_remedy (self, access);
  g_autofree char *odd = oddities (self, access);
  const char *verb = access == DBR_ACCESS_DELETE ? "deletes are" : "writes are";

  if (*remedy == '\0')
    return g_strdup_printf ("Refused, nothing was sent: %s needs %s access to %s, and this "
                            "catalogue has no gate that opens it.%s%s",
                            called (self, tool), dbr_access_name (access), self->origin,
                            what ? " Asked for: " : "", what ? what : "");
  g_autofree char *how = how_to_open (self, remedy);
  return g_strdup_printf (
      "Refused, nothing was sent: %s needs %s access to %s, and %s shut%s%s.\n%s%s%s",
      called (self, tool), dbr_access_name (access), self->origin, verb, *odd ? ": " : "", odd, how,
      what ? "\nAsked for: " : "", what ? what : "");
}

static char *
refusal_text (const DbrGate *self,
              const DbrTool *tool,
              DbrRefusal refusal,
              DbrAccess access,
              const char *what,
              const char *detail)
{
  const char *asked = what ? what : called (self, tool);

  switch (refusal)
    {
    case DBR_REFUSED_SCOPE:
      if (self->is_command_line)
        return g_strdup_printf ("Refused, nothing was sent: %s belongs to the category \"%s\", "
                                "which --scope leaves out. Add it there, or leave --scope away.",
                                tool->name, tool->category);
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
      if (self->is_command_line)
        return g_strdup_printf (
            "Refused, nothing was sent: %s needs a yes to this very request, "
            "and there is no terminal to ask on. Say yes beforehand with --yes.",
            asked);
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
