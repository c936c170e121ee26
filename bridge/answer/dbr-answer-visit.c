/* SPDX-License-Identifier: Apache-2.0 */
/* dbr-answer-visit: what an answer refers to, told to whoever checks references. */
#include "config.h"

#include "dbr-answer-priv.h"
#include "dbr-template-priv.h"

typedef struct
{
  const DbrAnswerVisitor *visitor;
  gpointer user_data;
  GPtrArray *bound; /* (element-type utf8), transfer none: names of `as` around here */
  guint line;
  const char *const *offers; /* nullable: of the innermost element that has some */
} Visit;

static void
visit_root (const Visit *self, const char *root)
{
  if (!self->visitor->root
      || g_ptr_array_find_with_equal_func (self->bound, root, g_str_equal, NULL))
    return;
  xmlNode where = { .type = XML_ELEMENT_NODE, .line = (unsigned short) MIN (self->line, 65535u) };
  self->visitor->root (root, &where, self->user_data);
}

static void
visit_path (const Visit *self, const DbrJsonPath *path)
{
  if (!path)
    return;
  const char *const *roots = dbr_json_path_roots (path);
  for (guint i = 0; roots && roots[i]; i++)
    visit_root (self, roots[i]);
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  template_add_parameters (dbr_json_path_text (path), names);
  for (guint i = 0; self->visitor->parameter && i < names->len; i++)
    self->visitor->parameter (g_ptr_array_index (names, i), self->line, self->user_data);
}

static void
visit_template (const Visit *self, const DbrTemplate *template)
{
  if (!template)
    return;
  const char *const *names = dbr_template_roots (template);
  for (guint i = 0; names[i]; i++)
    visit_root (self, names[i]);
  names = dbr_template_parameters (template);
  for (guint i = 0; self->visitor->parameter && names[i]; i++)
    self->visitor->parameter (names[i], self->line, self->user_data);
}

static void
visit_call (const Visit *self, const Element *element)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  for (guint i = 0; i < element->arguments->len; i++)
    {
      const CallArgument *argument = g_ptr_array_index (element->arguments, i);
      visit_path (self, argument->from);
      visit_template (self, argument->value);
      g_ptr_array_add (names, argument->name);
    }
  g_ptr_array_add (names, NULL);
  if (self->visitor->call)
    self->visitor->call (element->tool, (const char *const *) names->pdata, self->offers,
                         element->line, self->user_data);
}

static void
visit_offers (Visit *self, const Element *element)
{
  for (guint i = 0; element->offers && element->offers[i] && self->visitor->offer; i++)
    self->visitor->offer (element->offers[i], element->line, self->user_data);
  if (element->offers)
    self->offers = (const char *const *) element->offers;
}

static void
visit_children (Visit *self, const GPtrArray *children)
{
  const char *const *offers = self->offers;
  for (guint i = 0; children && i < children->len; i++)
    {
      const Element *element = g_ptr_array_index (children, i);
      self->line = element->line;
      visit_offers (self, element);
      visit_path (self, element->when);
      visit_path (self, element->in);
      visit_template (self, element->limit);
      if (element->as)
        g_ptr_array_add (self->bound, element->as);
      visit_path (self, element->sort);
      visit_template (self, element->group);
      visit_template (self, element->text);
      for (guint c = 0; c < element->columns->len; c++)
        visit_template (self, ((const Column *) g_ptr_array_index (element->columns, c))->cell);
      if (element->kind == ELEMENT_CALL)
        visit_call (self, element);
      visit_children (self, element->children);
      visit_children (self, element->more);
      if (element->as)
        g_ptr_array_remove_index (self->bound, self->bound->len - 1);
      self->offers = offers;
    }
}

void
dbr_answer_visit (const DbrAnswer *self, const DbrAnswerVisitor *visitor, gpointer user_data)
{
  g_autoptr (GPtrArray) bound = g_ptr_array_new ();
  Visit visit = { visitor, user_data, bound, 0, NULL };
  visit_children (&visit, self->children);
}
