/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eng-sign-in: the token of a client, and the one request that brings it.
 *
 * At most one sign-in runs; everybody else waits for it. Its request is fixed (method, path and
 * body from the catalogue, no caller data), so it does not pass the barrier. Private to
 * engine-client.
 */
#pragma once

#include "eng-wire.h"

G_BEGIN_DECLS

#define ENG_SIGN_IN_TIMEOUT_MS 30000u
#define ENG_SIGN_IN_MAX_BYTES (64u << 10) /* of its answer */

typedef struct _EngSigner EngSigner;
/* @error: (nullable): why there is no token. From the main loop, never inside eng_signer_start().
 */
typedef void (*EngSignerDone) (const GError *error, gpointer user_data);

/* @config: may be NULL: no credentials. @mask: nullable. Errors: #ENG_ERROR_CONFIG (a fixed token
 * that cannot be sent). */
EngSigner *
eng_signer_new (EngWire *wire, const EngSignIn *config, DbrMask *mask, GError **error);
void
eng_signer_free (EngSigner *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (EngSigner, eng_signer_free)
void
eng_signer_set_done (EngSigner *self, EngSignerDone done, gpointer user_data);

gboolean
eng_signer_needs_token (const EngSigner *self); /* credentials exist, and no token is there */
gboolean
eng_signer_can_renew (const EngSigner *self);
/* The field that carries the token, NULL without credentials. */
const char *
eng_signer_field (const EngSigner *self);
/* Grows with every token; tells whether a refused one is still the current one. */
guint
eng_signer_generation (const EngSigner *self);
/* Forgets the token if it is still that of @generation. */
void
eng_signer_refuse (EngSigner *self, guint generation);
/* Adds the field with the token, if there is one. */
void
eng_signer_add_header (const EngSigner *self, EngHeaders *headers);
/* Whether an answer says, with status 403, that the token is bad. */
gboolean
eng_signer_is_named_by (const EngSigner *self, const EngReader *reader);
/* Starts a sign-in unless one runs. Errors: #ENG_ERROR_CONFIG. */
gboolean
eng_signer_start (EngSigner *self, GError **error);
/* Nobody waits any more. */
void
eng_signer_stop (EngSigner *self);

G_END_DECLS
