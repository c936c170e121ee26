/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test-host: a small tool host for the protocol's tests and fuzzer. Its tools need no network and
 * no clock:
 *
 * echo {text}       gives the text back; without one, the arguments as JSON
 * large {bytes}     that many times "x"
 * slow              ends when it is cancelled, or when somebody calls release
 * release           ends every slow call
 * fail              an error with structured content, as a refusal has
 * progress {steps}  reports 1..steps of steps and some steps that don't count, then ends
 * ask               asks the user and says what came of it
 */
#pragma once

#include "protocol/dbr-tool-host.h"

G_BEGIN_DECLS

DbrToolHost *
test_host_new (void);
/* No call may be in flight. */
void
test_host_free (DbrToolHost *host);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DbrToolHost, test_host_free)

/* What the host has seen so far. */
guint
test_host_n_calls (DbrToolHost *host);
guint
test_host_n_cancelled (DbrToolHost *host);
guint
test_host_n_running (DbrToolHost *host);

G_END_DECLS
