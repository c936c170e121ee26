/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-gate: the layers that may withhold a tool, and the refusal that they share.
 *
 * Scope (which categories) and access (reads, writes, deletes; from the catalogue's two environment
 * flags). What a request needs is never decided here: dbr-access says it, this says whether that is
 * open.
 */
#pragma once

#include "catalogue/dbr-catalogue.h"
#include "protocol/dbr-tool-host.h"

G_BEGIN_DECLS

typedef enum
{
  DBR_GATE_SHUT,
  DBR_GATE_ASK, /* opened by the flag's value "ask": never without the user's yes */
  DBR_GATE_OPEN,
} DbrGateState;

/* Reads a flag's value: 1 true yes on, 0 false no off (any case, trimmed), ask. NULL is shut.
 * Anything else, "" too, is shut and *out_odd is set: a typo must not open a gate, nor go unsaid. */
DbrGateState
dbr_gate_parse_flag (const char *value, gboolean *out_odd);

typedef struct
{
  const char *scope;   /* nullable: categories separated by commas; NULL: every category */
  gboolean hide_gated; /* leave shut tools out of the list */
  const char *origin;  /* for texts */
  char **environment;  /* nullable: the process's own */
  gboolean
      is_command_line; /* refusals tell a person at a shell what to do, not a client's settings */
} DbrGateOptions;

typedef struct _DbrGate DbrGate;
/* Reads the catalogue's two flags from the environment. Errors: DBR_CATALOGUE_ERROR_REFERENCE for a
 * scope that names no category (known ones are listed). @catalogue must outlive it. */
DbrGate *
dbr_gate_new (const DbrCatalogue *catalogue, const DbrGateOptions *options, GError **error);
void
dbr_gate_free (DbrGate *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DbrGate, dbr_gate_free)

/* What @access meets: reads are open, writes have their flag, deletes need both (the stricter state
 * counts). Denied is shut. */
DbrGateState
dbr_gate_state (const DbrGate *self, DbrAccess access);
gboolean
dbr_gate_in_scope (const DbrGate *self, const DbrTool *tool);
/* In the tool list: in scope, and not hidden for its gate. */
gboolean
dbr_gate_lists (const DbrGate *self, const DbrTool *tool);
/* What the tool list says of a gated tool ("Shut: ..."), NULL when open (transfer full). */
char *
dbr_gate_note (const DbrGate *self, const DbrTool *tool);
/* The variables to set for @access, for texts: "AIRFLOW_MCP_ALLOW_WRITES=1"; "" when no variable
 * opens it (transfer full). */
char *
dbr_gate_remedy (const DbrGate *self, DbrAccess access);
/* What is odd about a flag's value, in one sentence without full stop ("X is set but empty: it opens
 * nothing"); NULL when both are understood (transfer full). Texts of refusals say it too. */
char *
dbr_gate_problem (const DbrGate *self);
/* What every layer does, in one sentence, for the handshake's instructions (transfer full). */
char *
dbr_gate_summary (const DbrGate *self);
/* One line a layer, as `drawbridge tools` and the log at start show it (transfer full). */
char *
dbr_gate_report (const DbrGate *self);

typedef enum
{
  DBR_REFUSED_SCOPE,
  DBR_REFUSED_ACCESS,
  DBR_REFUSED_DENIED,      /* a path that no flag opens */
  DBR_REFUSED_UNASKABLE,   /* needs the user's yes, and this client can't ask */
  DBR_REFUSED_UNCONFIRMED, /* asked; @detail says what came of it */
} DbrRefusal;
/* The refusal: a tool result with isError and a structured part. @what: "POST http://.../dagRuns",
 * nullable; @detail nullable. */
DbrCallResult *
dbr_gate_refuse (const DbrGate *self,
                 const DbrTool *tool,
                 DbrRefusal refusal,
                 DbrAccess access,
                 const char *what,
                 const char *detail);

G_END_DECLS
