/* SPDX-License-Identifier: Apache-2.0 */
/* dbr-catalogue-tool: <tool>: its texts, parameters, requests, graph and answer, gathered. */
#include "config.h"

#include "dbr-catalogue-priv.h"

#include <glib/gi18n.h>

static void
graph_free (DbrGraphDef *self)
{
  if (!self)
    return;
  g_free (self->name);
  g_clear_pointer (&self->nodes, dbr_json_path_free);
  g_free (self->id);
  g_free (self->next);
  g_free (self);
}

struct _DbrToolAnswer
{
  DbrAnswer *compiled; /* nullable: not yet */
  const xmlNode *node; /* of the catalogue's document */
};

static void
tool_answer_free (DbrToolAnswer *self)
{
  if (!self)
    return;
  g_clear_pointer (&self->compiled, dbr_answer_free);
  g_free (self);
}

const DbrAnswer *
dbr_tool_answer (const DbrTool *self)
{
  DbrToolAnswer *answer = self->answer;
  if (answer && !answer->compiled && answer->node)
    {
      answer->compiled = dbr_answer_new (answer->node, NULL);
      answer->node = NULL; /* once */
    }
  return answer ? answer->compiled : NULL;
}

void
dbr_tool_free (DbrTool *self)
{
  if (!self)
    return;
  g_free (self->name);
  g_free (self->category);
  g_free (self->title);
  g_free (self->description);
  g_strfreev (self->offers);
  g_strfreev (self->one_of);
  g_clear_pointer (&self->params, g_ptr_array_unref);
  g_clear_pointer (&self->requests, g_ptr_array_unref);
  graph_free (self->graph);
  tool_answer_free (self->answer);
  g_free (self);
}

const DbrRequestDef *
dbr_tool_request (const DbrTool *self, const char *id)
{
  for (guint i = 0; i < self->requests->len; i++)
    {
      const DbrRequestDef *request = g_ptr_array_index (self->requests, i);
      if (g_str_equal (request->id, id))
        return request;
    }
  return NULL;
}

const DbrParam *
dbr_tool_param (const DbrTool *self, const char *name)
{
  for (guint i = 0; i < self->params->len; i++)
    {
      const DbrParam *param = g_ptr_array_index (self->params, i);
      if (g_str_equal (param->name, name))
        return param;
    }
  return NULL;
}

static void
add_param (DbrLoader *loader, const xmlNode *node, DbrTool *self)
{
  DbrParam *param = dbr_param_read (loader, node, 0);
  if (!param)
    return;
  if (dbr_tool_param (self, param->name))
    dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_DUPLICATE, dbr_node_line (node),
                        _ ("a second parameter \"%s\"; rename or remove one"), param->name);
  if (self->params->len == DBR_CATALOGUE_MAX_PARAMS)
    dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_RULE, dbr_node_line (node),
                        _ ("a tool has at most %u parameters; split it"), DBR_CATALOGUE_MAX_PARAMS);
  g_ptr_array_add (self->params, param);
}

static void
add_request (DbrLoader *loader, const xmlNode *node, DbrTool *self)
{
  static const char *const taken[] = { "args", "http", "now", "call", NULL };
  DbrRequestDef *request = dbr_request_read (loader, node, self->requests->len);
  if (!request)
    return;
  if (g_strv_contains (taken, request->id))
    dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_RULE, request->line,
                        _ ("the request id \"%s\" is taken: $.%s means something else; rename it"),
                        request->id, request->id);
  if (dbr_tool_request (self, request->id))
    dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_DUPLICATE, request->line,
                        _ ("a second request \"%s\"; rename one"), request->id);
  if (self->requests->len == DBR_CATALOGUE_MAX_REQUESTS)
    dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_RULE, request->line,
                        _ ("a tool has at most %u requests; split it"), DBR_CATALOGUE_MAX_REQUESTS);
  g_ptr_array_add (self->requests, request);
}

static DbrGraphDef *
read_graph (DbrLoader *loader, const xmlNode *node)
{
  if (!dbr_loader_form (loader, node, "name nodes id next", ""))
    return NULL;
  DbrGraphDef *self = g_new0 (DbrGraphDef, 1);
  dbr_loader_mark (loader, self, node);
  g_autofree char *nodes = dbr_loader_need (loader, node, "nodes");
  self->name = dbr_loader_word (loader, node, "name", DBR_WORD_ID, TRUE);
  self->nodes = nodes ? dbr_loader_path (loader, node, "nodes", DBR_JSON_PATH_RFC) : NULL;
  self->id = dbr_loader_need (loader, node, "id");
  self->next = dbr_loader_need (loader, node, "next");
  return self;
}

/* Names that `as` binds, for the semantic pass; an answer itself doesn't tell them. */
static void
collect_bindings (DbrLoader *loader, const xmlNode *node)
{
  for (xmlNode *child = dbr_xml_first_element (node); child; child = dbr_xml_next_element (child))
    {
      g_autofree char *name = dbr_xml_attribute (child, "as");
      if (name)
        {
          DbrBinding *binding = g_new (DbrBinding, 1);
          *binding = (DbrBinding){ g_steal_pointer (&name), loader->catalogue->tools->len,
                                   dbr_node_line (child) };
          g_ptr_array_add (loader->bindings, binding);
        }
      collect_bindings (loader, child);
    }
}

static char *
read_text (DbrLoader *loader, const xmlNode *node)
{
  return dbr_loader_form (loader, node, "", "") ? dbr_loader_text (loader, node) : NULL;
}

static char **
read_one_of (DbrLoader *loader, const xmlNode *node)
{
  g_autofree char *params = dbr_loader_form (loader, node, "params", "")
                                ? dbr_loader_need (loader, node, "params")
                                : NULL;
  return params ? dbr_loader_words (loader, node, "params", DBR_WORD_PARAM, 2) : NULL;
}

typedef struct
{
  gboolean title, description, graph, answer, request, one_of;
} Seen;

static void
read_child (DbrLoader *loader, const xmlNode *child, DbrTool *self, Seen *seen)
{
  if (dbr_xml_is (child, "title"))
    {
      dbr_loader_once (loader, child, &seen->title);
      g_free (self->title);
      self->title = read_text (loader, child);
    }
  else if (dbr_xml_is (child, "description"))
    {
      dbr_loader_once (loader, child, &seen->description);
      g_free (self->description);
      self->description = read_text (loader, child);
    }
  else if (dbr_xml_is (child, "param"))
    add_param (loader, child, self);
  else if (dbr_xml_is (child, "request"))
    {
      seen->request = TRUE;
      add_request (loader, child, self);
    }
  else if (dbr_xml_is (child, "one-of"))
    {
      dbr_loader_once (loader, child, &seen->one_of);
      g_strfreev (self->one_of);
      self->one_of = read_one_of (loader, child);
    }
  else if (dbr_xml_is (child, "graph"))
    {
      dbr_loader_once (loader, child, &seen->graph);
      graph_free (self->graph);
      self->graph = read_graph (loader, child);
    }
  else if (dbr_xml_is (child, "answer"))
    {
      GError *error = NULL;
      dbr_loader_once (loader, child, &seen->answer);
      tool_answer_free (self->answer);
      self->answer = g_new0 (DbrToolAnswer, 1);
      self->answer->node = child;
      if (loader->options->is_quick)
        return;
      self->answer->compiled = dbr_answer_new (child, &error);
      if (self->answer->compiled)
        dbr_loader_mark (loader, self->answer->compiled, child);
      else
        dbr_loader_take (loader, error);
      collect_bindings (loader, child);
    }
  else
    dbr_loader_reserved (loader, child);
}

DbrTool *
dbr_tool_read (DbrLoader *loader, const xmlNode *node)
{
  Seen seen = { FALSE };
  if (!dbr_loader_form (loader, node, "name category offer",
                        "title description param one-of request graph answer find use"))
    return NULL;
  g_autoptr (DbrTool) self = g_new0 (DbrTool, 1);
  dbr_loader_mark (loader, self, node);
  self->line = dbr_node_line (node);
  self->name = dbr_loader_word (loader, node, "name", DBR_WORD_TOOL, TRUE);
  self->category = dbr_loader_word (loader, node, "category", DBR_WORD_CATEGORY, TRUE);
  self->offers = dbr_loader_words (loader, node, "offer", DBR_WORD_CATALOGUE, 1);
  self->params = g_ptr_array_new_with_free_func ((GDestroyNotify) dbr_param_free);
  self->requests = g_ptr_array_new_with_free_func ((GDestroyNotify) dbr_request_free);
  for (xmlNode *child = dbr_xml_first_element (node); child; child = dbr_xml_next_element (child))
    read_child (loader, child, self, &seen);
  dbr_loader_missing (loader, node, "title", seen.title);
  dbr_loader_missing (loader, node, "description", seen.description);
  dbr_loader_missing (loader, node, "request", seen.request);
  dbr_loader_missing (loader, node, "answer", seen.answer);
  return self->name ? g_steal_pointer (&self) : NULL;
}
