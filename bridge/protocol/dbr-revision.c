/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of the revisions are their dates.
 */
#include "config.h"

#include "dbr-revision.h"

static const char *const names[] = {
  "", "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28",
};

const char *
dbr_revision_name (DbrRevision self)
{
  return names[self];
}

DbrRevision
dbr_revision_from_name (const char *name)
{
  for (guint i = 1; i < G_N_ELEMENTS (names); i++)
    if (g_strcmp0 (name, names[i]) == 0)
      return (DbrRevision) i;
  return DBR_REVISION_NONE;
}
