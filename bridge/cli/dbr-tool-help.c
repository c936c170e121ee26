/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-tool-help: a tool's arguments for a person at a shell: what each takes, and below a list or an object what it is
 * made of. What is shown is what a client's schema shows, in words.
 */
#include "config.h"

#include "cli/dbr-cli.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#define NAME_WIDTH 16

static const char *const types[] = {
  [DBR_PARAM_STRING] = N_ ("text"),
  [DBR_PARAM_INTEGER] = N_ ("a number"),
  [DBR_PARAM_NUMBER] = N_ ("a number"),
  [DBR_PARAM_BOOLEAN] = N_ ("true or false"),
  [DBR_PARAM_OBJECT] = N_ ("a JSON object"),
  [DBR_PARAM_ARRAY] = N_ ("a JSON list"),
  [DBR_PARAM_PATH] = N_ ("a path of the API"),
};

/* (transfer full) */
static char *
number_text (double value)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];

  return fabs (value) < 1e15 && floor (value) == value
             ? g_strdup_printf ("%.0f", value)
             : g_strdup (g_ascii_dtostr (text, sizeof text, value));
}

static void
add_range (GString *out, const DbrParam *param)
{
  g_autofree char *from = number_text (param->minimum);
  g_autofree char *to = number_text (param->maximum);

  if (param->has_minimum && param->has_maximum)
    g_string_append_printf (out, _ (", %s to %s"), from, to);
  else if (param->has_minimum && param->minimum > 1) /* that an id is not 0 goes without saying */
    g_string_append_printf (out, _ (", at least %s"), from);
  else if (param->has_maximum)
    g_string_append_printf (out, _ (", at most %s"), to);
}

/* "a number, 1 to 500", "text (always|never)", "a JSON list (text), or one word". */
static void
add_type (GString *out, const DbrParam *param)
{
  g_string_append (out, _ (types[param->type]));
  add_range (out, param);
  if (param->values)
    {
      g_autofree char *values = g_strjoinv ("|", param->values);
      g_string_append_printf (out, " (%s)", values);
    }
  if (param->items && param->items->type != DBR_PARAM_OBJECT)
    {
      g_autoptr (GString) one = g_string_new (NULL);
      add_type (one, param->items);
      g_string_append_printf (out, _ (", each %s"), one->str);
      if (param->items->type == DBR_PARAM_STRING)
        g_string_append (out, _ ("; or one word"));
    }
}

static void
add_default (GString *out, const DbrParam *param)
{
  g_autoptr (GString) text = g_string_new (NULL);

  if (param->default_value == NULL)
    return;
  dbr_json_append (dbr_json_doc_root (param->default_value), text);
  g_string_append_printf (out, _ (", %s when left out"), text->str);
}

void
dbr_cli_describe_params (GString *out, const GPtrArray *params, guint indent)
{
  for (guint i = 0; i < params->len; i++)
    {
      const DbrParam *param = g_ptr_array_index (params, i);
      const DbrParam *object = param->items ? param->items : param;
      g_string_append_printf (out, "%*s%-*s ", (int) indent, "", NAME_WIDTH, param->name);
      add_type (out, param);
      if (param->required)
        g_string_append_printf (out, ", %s", _ ("needed"));
      add_default (out, param);
      g_string_append_printf (out, "%s%s\n", param->description ? ". " : "",
                              param->description ? _ (param->description) : "");
      if (object->members && param->items)
        g_string_append_printf (out, "%*s%s\n", (int) indent + 2, "", _ ("each a JSON object of:"));
      if (object->members)
        dbr_cli_describe_params (out, object->members, indent + 4);
    }
}

char *
dbr_cli_tool_help (const DbrTool *tool, const char *command)
{
  GString *out = g_string_new (NULL);

  g_string_append_printf (
      out, tool->params->len ? _ ("Usage: %s NAME=VALUE...\n\n") : _ ("Usage: %s\n\n"), command);
  g_string_append_printf (out, "%s\n", _ (tool->description));
  if (tool->params->len)
    g_string_append (out, _ ("\nArguments, each as NAME=VALUE, or all as one JSON object:\n"));
  dbr_cli_describe_params (out, tool->params, 2);
  if (tool->one_of)
    {
      g_autofree char *names = g_strjoinv (", ", tool->one_of);
      g_string_append_printf (out, _ ("Exactly one of %s is given.\n"), names);
    }
  return g_string_free (out, FALSE);
}
