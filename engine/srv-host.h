/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-host: what this host says of checkouts and foremen (SrvWorld), and whether foremen start on it at all.
 *
 * Asked by the engine's writer while the main thread goes on: it looks at the file system and at what is compiled in, and
 * the one thing of it that changes is an atomic number.
 */
#pragma once

#include "srv-engine.h"

G_BEGIN_DECLS

typedef struct
{
  SrvWorld world; /* for the engine; it points to its host, which stays where it is */
  gint refusal;   /* atomic: a GQuark, 0: none; srv_host_refusal() */
  char *
      *states; /* folders of engines, which no checkout may hold: the default one, and this one's */
} SrvHost;

void
srv_host_init (SrvHost *self);
/* Where this engine's state is; before the engine has the world. */
void
srv_host_keep_from (SrvHost *self, const char *state_folder);
void
srv_host_clear (SrvHost *self);
/* From now on no foreman is started here, for this reason; the last one stands. From any thread. */
void
srv_host_refuse (SrvHost *self, const char *why);
/* (transfer none) (nullable): lives as long as the program. From any thread. */
const char *
srv_host_refusal (SrvHost *self);

G_END_DECLS
