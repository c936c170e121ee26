/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-secret: secrets of tokens. One is shown in the one answer that makes it and kept nowhere: the store has its
 * SHA-256.
 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

#define SRV_SECRET_LENGTH 43u /* base64url of 256 random bits */

/* (transfer full) (nullable): a new one, and what the store keeps of it; NULL: the system gives no random bytes. */
char *
srv_secret_new (char **out_hash);
/* (transfer full): 64 hexadecimal digits. */
char *
srv_secret_hash (const char *secret);

G_END_DECLS
