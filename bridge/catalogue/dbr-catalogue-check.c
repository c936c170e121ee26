/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-catalogue-check: the semantic pass over a file that was read without a problem.
 *
 * Everything that is named must be there, everything that is there must be named, and the requests
 * of a tool must be able to go out in some order.
 */
#include "config.h"

#include "dbr-catalogue-priv.h"
#include "dbr-nearest.h"

#include <glib/gi18n.h>
#include <string.h>

/* One tool while its expressions are walked. */
typedef struct
{
  DbrLoader *loader;
  DbrTool *tool;
  DbrRequestDef *request; /* NULL: the answer */
  guint line;
  guint64 used;    /* bit i: params[i] is used or reported */
  guint64 in_path; /* bit i: stands in a path */
  guint64 in_text; /* bit i: stands where null can't be said: queries, headers, tails */
  guint64 in_field;
} Pass;

static void
say (const Pass *pass, DbrCatalogueError code, const char *text)
{
  if (pass->request)
    dbr_loader_problem (pass->loader, code, pass->line, _ ("request \"%s\": %s"), pass->request->id,
                        text);
  else
    dbr_loader_problem (pass->loader, code, pass->line, _ ("the answer of \"%s\": %s"),
                        pass->tool->name, text);
}

#define MAX_HINTS 20u /* names of what there is, in one message */

/* "did you mean x?" or what there is. */
char *
dbr_catalogue_hint (const char *name, const GPtrArray *names)
{
  guint shown = MIN (names->len, MAX_HINTS);
  g_autofree const char **all = g_new0 (const char *, names->len + 1);
  for (guint i = 0; i < names->len; i++)
    all[i] = g_ptr_array_index (names, i);
  const char *nearest = dbr_nearest (name, all);
  if (names->len == 0)
    return g_strdup (_ ("there are none"));
  if (nearest)
    return g_strdup_printf (_ ("did you mean \"%s\"?"), nearest);
  all[shown] = NULL;
  g_autofree char *list = dbr_names_join (all);
  return g_strdup_printf (names->len > shown ? _ ("there are: %s…") : _ ("there are: %s"), list);
}

static void
use_parameter (Pass *pass, const char *name, guint64 *also)
{
  for (guint i = 0; i < pass->tool->params->len; i++)
    if (g_str_equal (((DbrParam *) g_ptr_array_index (pass->tool->params, i))->name, name))
      {
        pass->used |= G_GUINT64_CONSTANT (1) << i;
        if (also)
          *also |= G_GUINT64_CONSTANT (1) << i;
        return;
      }
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  for (guint i = 0; i < pass->tool->params->len; i++)
    g_ptr_array_add (names, ((DbrParam *) g_ptr_array_index (pass->tool->params, i))->name);
  g_autofree char *remedy = dbr_catalogue_hint (name, names);
  g_autofree char *text
      = g_strdup_printf (_ ("the tool has no parameter \"%s\"; %s"), name, remedy);
  say (pass, DBR_CATALOGUE_ERROR_REFERENCE, text);
}

/* What is told of a request: $.http.<request>.<member>. */
static void
check_report (const Pass *pass, const DbrRequestDef *request, const char *member)
{
  static const char *const always[] = { "sent", "status", "error", "problem", NULL };
  static const char *const of_each[] = { "items", "left", NULL };
  static const char *const of_rows[] = { "rows", "first", "last", NULL };
  static const char *const of_total[] = { "total", "next", "cut", NULL };
  gboolean needs_total = g_strv_contains (of_total, member);
  const char *says = NULL;
  if (g_strv_contains (always, member))
    return;
  if (g_strv_contains (of_each, member))
    says = request->for_each ? NULL
                             : _ ("$.http.%r.%m is never there, as \"%r\" is sent once and not for "
                                  "each of something; give it for-each=\"a path\"");
  else if (!needs_total && !g_strv_contains (of_rows, member))
    says = _ ("$.http.%r.%m doesn't exist; there are: sent, status, error, problem, items, left, "
              "rows, total, first, last, next, cut");
  else if (!request->rows)
    says = _ ("$.http.%r.%m is never there, as nothing says which member of the answer is the "
              "list; give the request \"%r\" rows=\"that member\"");
  else if (needs_total && !pass->loader->catalogue->backend->paging_total)
    says = _ ("$.http.%r.%m is never there, as nothing says which member of the answer counts all "
              "rows; give the backend a <paging> with total=\"that member\"");
  if (!says)
    return;
  g_autoptr (GString) text = g_string_new (says);
  g_string_replace (text, "%r", request->id, 0);
  g_string_replace (text, "%m", member, 0);
  say (pass, DBR_CATALOGUE_ERROR_REFERENCE, text->str);
}

/* The request that a root means: 0..31; -1: none is needed, or it isn't there (reported). */
static int
root_request (const Pass *pass, const char *root)
{
  static const char *const plain[] = { "args", "now", "call", NULL };
  gboolean whole
      = g_str_equal (root, "*") || g_str_equal (root, "http") || g_str_equal (root, "http.*");
  gboolean is_report = g_str_has_prefix (root, "http.");
  g_auto (GStrv) report = g_strsplit (is_report ? root + 5 : root, ".", is_report ? 2 : 1);
  const char *id = report[0];
  if (g_strv_contains (plain, root) || (whole && !pass->request))
    return -1;
  if (whole)
    {
      say (pass, DBR_CATALOGUE_ERROR_RULE,
           _ ("an expression reads everything ($ or $.http), and so would wait for itself; name "
              "the request"));
      return -1;
    }
  const DbrRequestDef *request = dbr_tool_request (pass->tool, id);
  if (request && is_report && report[1])
    check_report (pass, request, report[1]);
  if (request)
    return (int) request->index;
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  for (guint i = 0; i < pass->tool->requests->len; i++)
    g_ptr_array_add (names, ((DbrRequestDef *) g_ptr_array_index (pass->tool->requests, i))->id);
  g_autofree char *remedy = dbr_catalogue_hint (id, names);
  g_autofree char *text = g_strdup_printf (_ ("there is no request \"%s\"; %s"), id, remedy);
  say (pass, DBR_CATALOGUE_ERROR_REFERENCE, text);
  return -1;
}

/* ---- requests */

static void
check_path_parameter (Pass *pass, const char *name)
{
  const DbrParam *param = dbr_tool_param (pass->tool, name);
  const char *says = NULL;
  if (!param)
    return;
  if (param->type == DBR_PARAM_OBJECT || param->type == DBR_PARAM_ARRAY)
    says = _ ("\"%s\" is an object or array, which can't stand in a path; use <query> or <body>");
  else if (param->type == DBR_PARAM_PATH && !pass->request->whole_path)
    says = _ ("\"%s\" is of the type path, so it must be the whole path: write path=\"{%s}\", or "
              "make it a string");
  if (!says)
    return;
  g_autofree char *first = g_strdup (says);
  g_autoptr (GString) text = g_string_new (first);
  g_string_replace (text, "%s", name, 0);
  say (pass, DBR_CATALOGUE_ERROR_RULE, text->str);
}

static void
on_expression (const DbrExpression *expression, gpointer user_data)
{
  Pass *pass = user_data;
  gboolean whole = FALSE;
  gconstpointer key
      = expression->template ? (gconstpointer) expression->template : expression->path;
  guint line = dbr_loader_line (pass->loader, key);
  pass->line = line ? line : pass->request->line;

  guint64 *also = NULL;
  if (expression->role == DBR_ROLE_FIELD && expression->path)
    also = &pass->in_field;
  else if (expression->role == DBR_ROLE_PATH)
    also = &pass->in_path;
  else if (expression->role != DBR_ROLE_WHEN && expression->role != DBR_ROLE_ADVICE
           && expression->role != DBR_ROLE_EFFECT)
    also = &pass->in_text;
  g_auto (GStrv) names = dbr_expression_parameters (expression, &whole);
  for (guint i = 0; names[i]; i++)
    {
      use_parameter (pass, names[i], also);
      if (expression->role == DBR_ROLE_PATH)
        check_path_parameter (pass, names[i]);
    }
  if (whole)
    pass->used = G_MAXUINT64;

  const char *const *roots = dbr_expression_roots (expression);
  for (guint i = 0; roots[i]; i++)
    {
      if (expression->role == DBR_ROLE_EFFECT && !g_str_equal (roots[i], "args"))
        {
          say (pass, DBR_CATALOGUE_ERROR_RULE,
               _ ("<effect> is what the user is asked about, so it says only what the arguments "
                  "say; remove what reads an answer"));
          continue;
        }
      int request = root_request (pass, roots[i]);
      if (request >= 0 && expression->role != DBR_ROLE_ADVICE)
        pass->request->needs |= G_GUINT64_CONSTANT (1) << request;
    }
  if (!pass->request->for_each && dbr_expression_uses_item (expression))
    say (pass, DBR_CATALOGUE_ERROR_RULE,
         _ ("an expression uses @, but without for-each there is no item; write a path from $"));
  if (!dbr_expression_uses_graph (expression))
    return;
  if (!pass->tool->graph)
    {
      say (pass, DBR_CATALOGUE_ERROR_REFERENCE,
           _ ("upstream() and downstream() need the tool's <graph>; add one"));
      return;
    }
  roots = dbr_json_path_roots (pass->tool->graph->nodes);
  for (guint i = 0; roots[i]; i++)
    {
      const DbrRequestDef *source = dbr_tool_request (pass->tool, roots[i]);
      if (source)
        pass->request->needs |= G_GUINT64_CONSTANT (1) << source->index;
    }
}

static void
check_pages (Pass *pass, const DbrRequestDef *request)
{
  const DbrBackendDef *backend = pass->loader->catalogue->backend;
  pass->line = request->line;
  if (request->pages > 1 && !backend->paging_limit)
    say (pass, DBR_CATALOGUE_ERROR_RULE,
         _ ("pages needs the backend's <paging>; add it, or remove pages"));
  gboolean counts = request->pages > 1 && backend->paging_offset;
  for (guint i = 0; counts && i < request->query->len; i++)
    if (g_strcmp0 (((const DbrField *) g_ptr_array_index (request->query, i))->name,
                   backend->paging_offset)
        == 0)
      say (pass, DBR_CATALOGUE_ERROR_RULE,
           _ ("pages counts the offset itself; remove the <query> that sets it"));
}

static gboolean
is_one_of (const DbrTool *tool, const char *param)
{
  return tool->one_of && g_strv_contains ((const char *const *) tool->one_of, param);
}

static void
check_request (Pass *pass, DbrRequestDef *request)
{
  pass->request = request;
  pass->line = request->line;
  if (request->with && !is_one_of (pass->tool, request->with))
    {
      g_autofree char *text = g_strdup_printf (
          _ ("with=\"%s\" names no parameter of the tool's <one-of>; add it there, or use when"),
          request->with);
      say (pass, DBR_CATALOGUE_ERROR_REFERENCE, text);
    }
  dbr_request_expressions (request, on_expression, pass);
  check_pages (pass, request);
}

/* Takes away, again and again, what waits for nothing; what is left waits for itself. */
static void
check_cycles (Pass *pass)
{
  GPtrArray *requests = pass->tool->requests;
  guint64 left = requests->len >= 64 ? G_MAXUINT64 : (G_GUINT64_CONSTANT (1) << requests->len) - 1;
  gboolean moved = TRUE;
  while (moved)
    {
      moved = FALSE;
      for (guint i = 0; i < requests->len; i++)
        {
          const DbrRequestDef *request = g_ptr_array_index (requests, i);
          guint64 bit = G_GUINT64_CONSTANT (1) << i;
          if ((left & bit) && !(request->needs & left))
            {
              left &= ~bit;
              moved = TRUE;
            }
        }
    }
  if (!left)
    return;
  g_autoptr (GString) names = g_string_new (NULL);
  const DbrRequestDef *first = NULL;
  for (guint i = 0; i < requests->len; i++)
    if (left & G_GUINT64_CONSTANT (1) << i)
      {
        const DbrRequestDef *request = g_ptr_array_index (requests, i);
        g_string_append_printf (names, "%s%s", first ? ", " : "", request->id);
        first = first ? first : request;
      }
  dbr_loader_problem (pass->loader, DBR_CATALOGUE_ERROR_RULE, first->line,
                      _ ("requests wait for each other in a circle, so that none can go out: %s; "
                         "remove a reference"),
                      names->str);
}

/* ---- the answer */

static void
on_answer_root (const char *name, const xmlNode *where, gpointer user_data)
{
  Pass *pass = user_data;
  guint line = pass->line;
  if (where)
    pass->line = dbr_node_line (where);
  root_request (pass, name);
  pass->line = line;
}

static void
on_answer_parameter (const char *name, guint line, gpointer user_data)
{
  Pass *pass = user_data;
  guint before = pass->line;
  if (line)
    pass->line = line;
  use_parameter (pass, name, NULL);
  pass->line = before;
}

/* The arguments of a <call> against the parameters of the tool that it means. */
static void
check_call (const Pass *pass, const DbrTool *tool, const char *const *arguments, guint line)
{
  DbrLoader *loader = pass->loader;
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  for (guint i = 0; i < tool->params->len; i++)
    {
      const DbrParam *param = g_ptr_array_index (tool->params, i);
      g_ptr_array_add (names, param->name);
      if (param->required && !g_strv_contains (arguments, param->name))
        dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_REFERENCE, line,
                            _ ("<call> of \"%s\" lacks the required argument \"%s\"; add it"),
                            tool->name, param->name);
    }
  for (guint i = 0; arguments[i]; i++)
    {
      for (guint j = 0; j < i; j++)
        if (g_str_equal (arguments[i], arguments[j]))
          dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_DUPLICATE, line,
                              _ ("<call> of \"%s\" gives the argument \"%s\" twice; remove one"),
                              tool->name, arguments[i]);
      if (dbr_tool_param (tool, arguments[i]))
        continue;
      g_autofree char *remedy = dbr_catalogue_hint (arguments[i], names);
      dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_REFERENCE, line,
                          _ ("<call> gives \"%s\" the argument \"%s\", which it doesn't take; %s"),
                          tool->name, arguments[i], remedy);
    }
}

static void
report_no_tool (const Pass *pass, const DbrOffer *offer, const char *name, guint line)
{
  const GPtrArray *tools = pass->loader->catalogue->tools;
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  for (guint i = 0; i < tools->len; i++)
    {
      DbrTool *tool = g_ptr_array_index (tools, i);
      if (dbr_tool_is_offered (tool, offer))
        g_ptr_array_add (names, tool->name);
    }
  g_autofree char *remedy = dbr_catalogue_hint (name, names);
  if (offer)
    dbr_loader_problem (pass->loader, DBR_CATALOGUE_ERROR_REFERENCE, line,
                        _ ("<call> names the tool \"%s\", which isn't in the offer \"%s\"; %s"),
                        name, offer->name, remedy);
  else
    dbr_loader_problem (pass->loader, DBR_CATALOGUE_ERROR_REFERENCE, line,
                        _ ("<call> names the tool \"%s\", which isn't there; %s"), name, remedy);
}

/* A tool of several offers must find what it names in each of them. */
static void
on_answer_call (const char *name,
                const char *const *arguments,
                const char *const *offers,
                guint line,
                gpointer user_data)
{
  const Pass *pass = user_data;
  const DbrCatalogue *catalogue = pass->loader->catalogue;
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);
  guint n = MAX (catalogue->offers->len, 1);
  line = line ? line : pass->line;
  for (guint i = 0; i < n; i++)
    {
      const DbrOffer *offer
          = catalogue->offers->len ? g_ptr_array_index (catalogue->offers, i) : NULL;
      if (!dbr_tool_is_offered (pass->tool, offer)
          || (offers && offer && !g_strv_contains (offers, offer->name)))
        continue;
      const DbrTool *tool = dbr_offer_find (catalogue, offer, name);
      if (!tool)
        report_no_tool (pass, offer, name, line);
      else if (g_hash_table_add (seen, GSIZE_TO_POINTER ((gsize) tool)))
        check_call (pass, tool, arguments, line);
    }
}

static void
on_answer_offer (const char *name, guint line, gpointer user_data)
{
  const Pass *pass = user_data;
  dbr_offer_check_name (pass->loader, name, line ? line : pass->line);
}

static void
check_answer (Pass *pass)
{
  static const DbrAnswerVisitor visitor
      = { on_answer_root, on_answer_parameter, on_answer_call, on_answer_offer };
  pass->request = NULL;
  pass->line = dbr_loader_line (pass->loader, dbr_tool_answer (pass->tool));
  dbr_answer_visit (dbr_tool_answer (pass->tool), &visitor, pass);
}

/* ---- parameters and graph */

static void
check_parameters (Pass *pass)
{
  for (guint i = 0; i < pass->tool->params->len; i++)
    {
      DbrParam *param = g_ptr_array_index (pass->tool->params, i);
      guint64 bit = G_GUINT64_CONSTANT (1) << i;
      const char *says = NULL;
      if (!(pass->used & bit) && !pass->loader->options->is_quick)
        says = _ ("the parameter \"%s\" is used by no request and not in the answer; use or "
                  "remove it");
      else if (!(pass->in_path & bit) && (param->wildcard || param->slashes))
        says = _ ("the parameter \"%s\" stands in no path, so that its wildcard or slashes mean "
                  "nothing; remove them");
      if (says)
        {
          g_autoptr (GString) text = g_string_new (says);
          g_string_replace (text, "%s", param->name, 0);
          dbr_loader_problem (pass->loader, DBR_CATALOGUE_ERROR_RULE,
                              dbr_loader_line (pass->loader, param), "%s", text->str);
        }
      param->in_path = (pass->in_path & bit) && param->type != DBR_PARAM_PATH;
      param->keeps_null = (pass->in_field & bit) && !((pass->in_text | pass->in_path) & bit)
                          && !param->required && !param->default_value;
    }
}

/* What is one of several can be left out, so it has no default and isn't required. */
static void
check_one_of (Pass *pass)
{
  DbrTool *tool = pass->tool;
  for (guint i = 0; tool->one_of && tool->one_of[i]; i++)
    {
      const DbrParam *param = dbr_tool_param (tool, tool->one_of[i]);
      if (!param)
        {
          use_parameter (pass, tool->one_of[i], NULL);
          continue;
        }
      if (param->required || param->default_value || param->wildcard)
        dbr_loader_problem (pass->loader, DBR_CATALOGUE_ERROR_RULE,
                            dbr_loader_line (pass->loader, param),
                            _ ("the parameter \"%s\" is one of several, so it can be left out; "
                               "remove required, default and wildcard"),
                            param->name);
    }
}

static void
check_graph (Pass *pass)
{
  const DbrGraphDef *graph = pass->tool->graph;
  if (!graph)
    return;
  const char *const *roots = dbr_json_path_roots (graph->nodes);
  for (guint i = 0; roots[i]; i++)
    if (!dbr_tool_request (pass->tool, roots[i]))
      dbr_loader_problem (pass->loader, DBR_CATALOGUE_ERROR_REFERENCE,
                          dbr_loader_line (pass->loader, graph),
                          _ ("<graph> takes its nodes from \"%s\", which is no request of the "
                             "tool; begin its path with $.<request>"),
                          roots[i]);
}

static void
check_bindings (Pass *pass, guint index)
{
  static const char *const taken[] = { "args", "http", "now", "call", NULL };
  for (guint i = 0; i < pass->loader->bindings->len; i++)
    {
      const DbrBinding *binding = g_ptr_array_index (pass->loader->bindings, i);
      if (binding->tool != index
          || (!g_strv_contains (taken, binding->name)
              && !dbr_tool_request (pass->tool, binding->name)))
        continue;
      dbr_loader_problem (pass->loader, DBR_CATALOGUE_ERROR_DUPLICATE, binding->line,
                          _ ("as=\"%s\" hides $.%s, which means something else; choose another "
                             "name"),
                          binding->name, binding->name);
    }
}

static void
check_tool (DbrLoader *loader, DbrTool *tool, guint index)
{
  Pass pass = { .loader = loader, .tool = tool };
  gboolean known = FALSE;
  for (guint i = 0; i < loader->catalogue->categories->len; i++)
    known = known
            || g_str_equal (
                ((DbrCategory *) g_ptr_array_index (loader->catalogue->categories, i))->name,
                tool->category);
  if (!known)
    {
      g_autoptr (GPtrArray) names = g_ptr_array_new ();
      for (guint i = 0; i < loader->catalogue->categories->len; i++)
        g_ptr_array_add (
            names, ((DbrCategory *) g_ptr_array_index (loader->catalogue->categories, i))->name);
      g_autofree char *remedy = dbr_catalogue_hint (tool->category, names);
      dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_REFERENCE, tool->line,
                          _ ("the tool \"%s\" names the category \"%s\", which isn't there; %s"),
                          tool->name, tool->category, remedy);
    }
  dbr_catalogue_check_access (loader, tool);
  for (guint i = 0; i < tool->requests->len; i++)
    check_request (&pass, g_ptr_array_index (tool->requests, i));
  check_cycles (&pass);
  if (!loader->options->is_quick)
    check_answer (&pass);
  check_graph (&pass);
  check_one_of (&pass);
  check_parameters (&pass);
  check_bindings (&pass, index);
}

/* ---- the file */

/* One name may stand in several offers, each time for another tool; never twice in one. */
static void
check_tool_name (DbrLoader *loader, const DbrTool *before, const DbrTool *tool)
{
  const GPtrArray *offers = loader->catalogue->offers;
  if (!g_str_equal (before->name, tool->name))
    return;
  if (offers->len == 0)
    dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_DUPLICATE, tool->line,
                        _ ("the name \"%s\" is taken by the tool in line %u; rename one"),
                        tool->name, before->line);
  for (guint i = 0; i < offers->len; i++)
    {
      const DbrOffer *offer = g_ptr_array_index (offers, i);
      if (!dbr_tool_is_offered (before, offer) || !dbr_tool_is_offered (tool, offer))
        continue;
      dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_DUPLICATE, tool->line,
                          _ ("a second tool \"%s\" in the offer \"%s\"; rename one, or name "
                             "other offers"),
                          tool->name, offer->name);
      return;
    }
}

static void
check_names (DbrLoader *loader)
{
  const DbrCatalogue *self = loader->catalogue;
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);
  for (guint i = 0; i < self->categories->len; i++)
    {
      const DbrCategory *category = g_ptr_array_index (self->categories, i);
      if (!g_hash_table_add (seen, category->name))
        dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_DUPLICATE,
                            dbr_loader_line (loader, category),
                            _ ("a second category \"%s\"; merge them"), category->name);
    }
  for (guint i = 0; i < self->tools->len; i++)
    for (guint j = 0; j < i; j++)
      check_tool_name (loader, g_ptr_array_index (self->tools, j),
                       g_ptr_array_index (self->tools, i));
}

void
dbr_catalogue_check (DbrLoader *loader)
{
  const DbrCatalogue *self = loader->catalogue;
  dbr_offers_check (loader);
  check_names (loader);
  dbr_catalogue_check_variables (loader);
  if (self->tools->len == 0)
    dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_RULE, 1,
                        _ ("has no <tool>, so that there is nothing to call; add one"));
  for (guint i = 0; i < self->tools->len; i++)
    check_tool (loader, g_ptr_array_index (self->tools, i), i);
}
