/* SPDX-License-Identifier: Apache-2.0 */
/* dbr-host: a catalogue, its gate and its backend as the tool host that protocol and command line
 * speak to. */
#pragma once

#include "call/dbr-backend.h"

G_BEGIN_DECLS

typedef struct
{
  DbrBackendOptions backend;
  const char *scope; /* nullable */
  gboolean hide_gated;
  gboolean is_command_line; /* texts are for a person at a shell, not for a client's user */
  DbrTypedFunc typed;       /* nullable */
  gpointer typed_data;
  gboolean assume_yes;  /* the person at the terminal said yes beforehand (call --yes) */
  gboolean json_output; /* answers are the records as JSON (call --output json) */
  gint64 now_us;        /* tests: the time that every call believes; 0: the clock */
  guint max_steps;      /* tests: JSONPath steps of a call; 0: DBR_CALL_MAX_STEPS */
  const char *boundary; /* tests: the word of log fences; NULL: random a call */
} DbrHostOptions;

/* Takes @catalogue (transfer full). Errors: as dbr_gate_new(). */
DbrToolHost *
dbr_host_new (DbrCatalogue *catalogue, const DbrHostOptions *options, GError **error);
void
dbr_host_free (DbrToolHost *self);
const DbrCatalogue *
dbr_host_catalogue (DbrToolHost *self);
const DbrGate *
dbr_host_gate (DbrToolHost *self);
DbrBackend *
dbr_host_backend (DbrToolHost *self);

G_END_DECLS
