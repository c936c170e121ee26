/* SPDX-License-Identifier: Apache-2.0 */
/* dbr-option: see the header. GLib says only in its message which option it was. */
#include "config.h"

#include "dbr-option.h"

#include "dbr-nearest.h"

#include <glib/gi18n.h>
#include <string.h>

static void
add_names (GStrvBuilder *names, const GOptionEntry *entries)
{
  for (guint i = 0; entries && entries[i].long_name; i++)
    g_strv_builder_add (names, entries[i].long_name);
}

/* What stands behind the dashes of the option that @message names, without a value; NULL: a single letter, or none
 * (transfer full). */
static char *
option_in (const char *message)
{
  const char *found = strstr (message, "--");

  return found ? g_strndup (found + 2, strcspn (found + 2, "= ")) : NULL;
}

static void
suggest (GError *error, const GOptionEntry *entries, const GOptionEntry *more)
{
  g_autoptr (GStrvBuilder) known = g_strv_builder_new ();
  g_autofree char *option = option_in (error->message);
  g_auto (GStrv) names = NULL;
  const char *nearest;

  add_names (known, entries);
  add_names (known, more);
  g_strv_builder_add (known, "help");
  names = g_strv_builder_end (known);
  nearest = option ? dbr_nearest (option, (const char *const *) names) : NULL;
  if (nearest)
    {
      g_autofree char *message = g_steal_pointer (&error->message);
      error->message = g_strdup_printf (_ ("%s; did you mean --%s?"), message, nearest);
    }
}

gboolean
dbr_option_parse (GOptionContext *context,
                  const GOptionEntry *entries,
                  const GOptionEntry *more,
                  int *argc,
                  char ***argv,
                  GError **error)
{
  GError *problem = NULL;

  g_option_context_add_main_entries (context, entries, GETTEXT_PACKAGE);
  if (more)
    g_option_context_add_main_entries (context, more, GETTEXT_PACKAGE);
  if (g_option_context_parse (context, argc, argv, &problem))
    return TRUE;
  if (g_error_matches (problem, G_OPTION_ERROR, G_OPTION_ERROR_UNKNOWN_OPTION))
    suggest (problem, entries, more);
  g_propagate_error (error, problem);
  return FALSE;
}
