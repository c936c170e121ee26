/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-catalogue-offer: several selections of the tools over one API, each for another kind of user.
 *
 * The whole file is read and checked; then all that isn't of the chosen offer is dropped. Nothing
 * after the loader knows that other offers exist, so nothing can let one of their tools through.
 */
#include "config.h"

#include "dbr-catalogue-priv.h"

#include <glib/gi18n.h>

void
dbr_offer_free (gpointer data)
{
  DbrOffer *self = data;
  g_free (self->name);
  g_free (self->server_name);
  g_free (self->instructions);
  g_free (self);
}

void
dbr_offer_read (DbrLoader *loader, const xmlNode *node)
{
  static const char *const shell[] = { "shell", NULL };
  if (!dbr_loader_form (loader, node, "name default server-name only", ""))
    return;
  DbrOffer *self = g_new0 (DbrOffer, 1);
  dbr_loader_mark (loader, self, node);
  self->name = dbr_loader_word (loader, node, "name", DBR_WORD_CATALOGUE, TRUE);
  self->server_name = dbr_loader_word (loader, node, "server-name", DBR_WORD_SERVER, FALSE);
  self->instructions = dbr_loader_text (loader, node);
  dbr_loader_yes_no (loader, node, "default", &self->is_default);
  self->is_shell_only = dbr_loader_choice (loader, node, "only", shell, FALSE) == 0;
  if (self->name)
    g_ptr_array_add (loader->catalogue->offers, self);
  else
    dbr_offer_free (self);
}

static const DbrOffer *
find (const DbrCatalogue *self, const char *name)
{
  for (guint i = 0; i < self->offers->len; i++)
    {
      const DbrOffer *offer = g_ptr_array_index (self->offers, i);
      if (g_str_equal (offer->name, name))
        return offer;
    }
  return NULL;
}

/* What there is instead of @name (transfer full). */
static char *
remedy (const DbrCatalogue *self, const char *name)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  for (guint i = 0; i < self->offers->len; i++)
    g_ptr_array_add (names, ((DbrOffer *) g_ptr_array_index (self->offers, i))->name);
  return dbr_catalogue_hint (name, names);
}

/* The first of @names that is no offer; NULL when all are. */
static const char *
unknown_offer (const DbrCatalogue *self, char **names)
{
  for (guint i = 0; names && names[i]; i++)
    if (!find (self, names[i]))
      return names[i];
  return NULL;
}

static void
check_param (DbrLoader *loader, const DbrParam *param)
{
  const char *unknown = unknown_offer (loader->catalogue, param->offers);
  if (!unknown)
    return;
  g_autofree char *says = remedy (loader->catalogue, unknown);
  dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_REFERENCE, dbr_loader_line (loader, param),
                      _ ("the parameter \"%s\" names the offer \"%s\", which isn't there; %s"),
                      param->name, unknown, says);
}

static void
check_advice (DbrLoader *loader, const GPtrArray *all)
{
  for (guint i = 0; i < all->len; i++)
    {
      const DbrAdvice *advice = g_ptr_array_index (all, i);
      const char *unknown = unknown_offer (loader->catalogue, advice->offers);
      if (!unknown)
        continue;
      g_autofree char *says = remedy (loader->catalogue, unknown);
      dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_REFERENCE, dbr_loader_line (loader, advice),
                          _ ("an <on> names the offer \"%s\", which isn't there; %s"), unknown,
                          says);
    }
}

static void
check_tool (DbrLoader *loader, const DbrTool *tool)
{
  const char *unknown = unknown_offer (loader->catalogue, tool->offers);
  if (unknown)
    {
      g_autofree char *says = remedy (loader->catalogue, unknown);
      dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_REFERENCE, tool->line,
                          _ ("the tool \"%s\" names the offer \"%s\", which isn't there; %s"),
                          tool->name, unknown, says);
    }
  for (guint i = 0; i < tool->params->len; i++)
    check_param (loader, g_ptr_array_index (tool->params, i));
  for (guint i = 0; i < tool->requests->len; i++)
    check_advice (loader, ((DbrRequestDef *) g_ptr_array_index (tool->requests, i))->advice);
}

static void
check_offer (DbrLoader *loader, guint index, guint *n_default)
{
  const DbrCatalogue *self = loader->catalogue;
  const DbrOffer *offer = g_ptr_array_index (self->offers, index);
  guint line = dbr_loader_line (loader, offer), n_tools = 0;
  for (guint i = 0; i < self->tools->len; i++)
    n_tools += dbr_tool_is_offered (g_ptr_array_index (self->tools, i), offer);
  if (find (self, offer->name) != offer)
    dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_DUPLICATE, line,
                        _ ("a second offer \"%s\"; rename one"), offer->name);
  else if (n_tools == 0 && !loader->options->is_quick)
    dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_RULE, line,
                        _ ("the offer \"%s\" has no tool; remove it, or name it in a tool's offer"),
                        offer->name);
  if (!offer->is_default)
    return;
  if (offer->is_shell_only)
    dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_RULE, line,
                        _ ("the offer \"%s\" is only for the shell, so it can't be the default; "
                           "choose another"),
                        offer->name);
  if ((*n_default)++)
    dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_DUPLICATE, line,
                        _ ("a second default offer, \"%s\"; keep one"), offer->name);
}

/* Whether a tool is worth reading; offers stand before the tools. */
gboolean
dbr_offer_is_wanted (const DbrLoader *loader, const xmlNode *tool)
{
  const DbrCatalogue *self = loader->catalogue;
  const char *wanted = loader->options->offer;
  g_autofree char *names = NULL;
  g_auto (GStrv) list = NULL;
  if (!loader->options->is_quick)
    return TRUE;
  for (guint i = 0; !wanted && i < self->offers->len; i++)
    if (((DbrOffer *) g_ptr_array_index (self->offers, i))->is_default)
      wanted = ((DbrOffer *) g_ptr_array_index (self->offers, i))->name;
  names = dbr_xml_attribute (tool, "offer");
  if (!wanted || !names)
    return TRUE;
  list = g_strsplit (names, " ", -1);
  return g_strv_contains ((const char *const *) list, wanted);
}

void
dbr_offers_check (DbrLoader *loader)
{
  const DbrCatalogue *self = loader->catalogue;
  guint n_default = 0;
  for (guint i = 0; i < self->offers->len; i++)
    check_offer (loader, i, &n_default);
  if (self->offers->len && n_default == 0)
    dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_RULE,
                        dbr_loader_line (loader, g_ptr_array_index (self->offers, 0)),
                        _ ("no offer is the default; give one of them default=\"yes\""));
  check_advice (loader, self->backend->error_advice);
  for (guint i = 0; i < self->tools->len; i++)
    check_tool (loader, g_ptr_array_index (self->tools, i));
}

void
dbr_offer_check_name (DbrLoader *loader, const char *name, guint line)
{
  if (find (loader->catalogue, name))
    return;
  g_autofree char *says = remedy (loader->catalogue, name);
  dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_REFERENCE, line,
                      _ ("an element of the answer names the offer \"%s\", which isn't there; %s"),
                      name, says);
}

static gboolean
is_offered (char **names, const DbrOffer *offer)
{
  return !offer || !names || g_strv_contains ((const char *const *) names, offer->name);
}

gboolean
dbr_tool_is_offered (const DbrTool *self, const DbrOffer *offer)
{
  return is_offered (self->offers, offer);
}

const DbrTool *
dbr_offer_find (const DbrCatalogue *catalogue, const DbrOffer *offer, const char *tool)
{
  for (guint i = 0; i < catalogue->tools->len; i++)
    {
      const DbrTool *candidate = g_ptr_array_index (catalogue->tools, i);
      if (g_str_equal (candidate->name, tool) && dbr_tool_is_offered (candidate, offer))
        return candidate;
    }
  return NULL;
}

static const DbrOffer *
choose (const DbrCatalogue *self, const char *name)
{
  if (name)
    return find (self, name);
  for (guint i = 0; i < self->offers->len; i++)
    {
      const DbrOffer *offer = g_ptr_array_index (self->offers, i);
      if (offer->is_default)
        return offer;
    }
  return NULL;
}

static void
keep_params (DbrTool *tool, const DbrOffer *offer)
{
  for (guint i = tool->params->len; i > 0; i--)
    if (!is_offered (((DbrParam *) g_ptr_array_index (tool->params, i - 1))->offers, offer))
      g_ptr_array_remove_index (tool->params, i - 1);
}

static gboolean
has_tools (const DbrCatalogue *self, const char *category)
{
  for (guint i = 0; i < self->tools->len; i++)
    if (g_str_equal (((const DbrTool *) g_ptr_array_index (self->tools, i))->category, category))
      return TRUE;
  return FALSE;
}

void
dbr_offers_choose (DbrLoader *loader)
{
  DbrCatalogue *self = loader->catalogue;
  const char *name = loader->options->offer;
  if (name && !find (self, name))
    {
      g_autofree char *says = remedy (self, name);
      dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_REFERENCE, dbr_loader_line (loader, self),
                          _ ("the catalogue \"%s\" has no offer \"%s\"; %s"), self->name, name,
                          says);
      return;
    }
  self->offer = choose (self, name);
  if (!self->offer)
    return;
  for (guint i = self->tools->len; i > 0; i--)
    if (dbr_tool_is_offered (g_ptr_array_index (self->tools, i - 1), self->offer))
      keep_params (g_ptr_array_index (self->tools, i - 1), self->offer);
    else
      g_ptr_array_remove_index (self->tools, i - 1);
  for (guint i = self->categories->len; i > 0; i--)
    if (!has_tools (self, ((DbrCategory *) g_ptr_array_index (self->categories, i - 1))->name))
      g_ptr_array_remove_index (self->categories, i - 1);
}
