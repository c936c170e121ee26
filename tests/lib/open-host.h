/* SPDX-License-Identifier: Apache-2.0 */
/* open-host: a catalogue of the source tree as a host of tools. */
#pragma once

#include "call/dbr-host.h"

G_BEGIN_DECLS

/* @file: below the sources' folder. Aborts when it can't be loaded or opened. */
DbrToolHost *
open_host (const char *file, const DbrHostOptions *options);
/* The same in one of its offers. */
DbrToolHost *
open_host_offer (const char *file, const char *offer, const DbrHostOptions *options);

G_END_DECLS
