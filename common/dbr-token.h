/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-token: a bearer token from a file or a variable, judged before anything is sent with it.
 *
 * What is no token (a second line, a blank, a carriage return, a letter outside ASCII) would otherwise become a broken
 * header, and its refusal would say nothing of the cause. No message ever shows what was read.
 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

#define DBR_TOKEN_MAX_BYTES 4096

#define DBR_TOKEN_ERROR (dbr_token_error_quark ())
GQuark
dbr_token_error_quark (void);
typedef enum
{
  DBR_TOKEN_ERROR_READ,     /* it can't be opened or read, or is no file of ours */
  DBR_TOKEN_ERROR_OPEN,     /* others can read or write it */
  DBR_TOKEN_ERROR_NO_TOKEN, /* what is in it is none */
} DbrTokenError;

/**
 * dbr_token_check:
 * @text: what should be a token; @length bytes
 * @where: where it comes from, for the message: a file's name, or "BRIGADA_TOKEN"
 *
 * A token is 1 to #DBR_TOKEN_MAX_BYTES letters, digits and "-._~+/=".
 * Source: RFC 6750, section 2.1 (b64token).
 *
 * Errors: DBR_TOKEN_ERROR_NO_TOKEN; the message names @where and what is wrong.
 */
gboolean
dbr_token_check (const char *text, gsize length, const char *where, GError **error);

/**
 * dbr_token_read:
 * @file: a regular file of this user, no link, closed to others (0600 or less); one line, with or without its line feed
 *
 * Returns: (transfer full): the token
 * Errors: DBR_TOKEN_ERROR_*, each naming @file.
 */
char *
dbr_token_read (const char *file, GError **error);

G_END_DECLS
