/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-world: what this host says of checkouts and foremen, for the engine's operations (SrvWorld).
 */
#pragma once

#include "srv-engine.h"

G_BEGIN_DECLS

/* @refusal: (nullable): where it is said, later too, why no foreman is started here at all; outlives the world. */
void
srv_world_init (SrvWorld *self, const char *const *refusal);

G_END_DECLS
