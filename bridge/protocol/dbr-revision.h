/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-revision: the revisions of MCP that this program speaks, in the order of their dates.
 *
 * Legacy revisions begin with a handshake (initialize); the modern one says its version in every
 * request. Revisions compare with < and >=.
 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef enum
{
  DBR_REVISION_NONE, /* before any handshake */
  DBR_REVISION_2024_11_05,
  DBR_REVISION_2025_03_26,
  DBR_REVISION_2025_06_18,
  DBR_REVISION_2025_11_25,
  DBR_REVISION_2026_07_28,
} DbrRevision;

#define DBR_REVISION_NEWEST_LEGACY DBR_REVISION_2025_11_25
#define DBR_REVISION_MODERN DBR_REVISION_2026_07_28

/* "2025-11-25"; "" for %DBR_REVISION_NONE */
const char *
dbr_revision_name (DbrRevision self);
/* %DBR_REVISION_NONE for a name that is no revision's; @name is nullable */
DbrRevision
dbr_revision_from_name (const char *name);

static inline gboolean
dbr_revision_is_modern (DbrRevision self)
{
  return self >= DBR_REVISION_MODERN;
}

G_END_DECLS
