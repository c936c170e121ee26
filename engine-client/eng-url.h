/* SPDX-License-Identifier: Apache-2.0 */
/* eng-url: dbr-url's reading of a base URL, with the errors of this part. */
#pragma once

#include "dbr-url.h"

G_BEGIN_DECLS

/* As dbr_url_parse(); @name (nullable) is the variable that @text came from, for the message.
 * Errors: #ENG_ERROR_CONFIG. */
DbrUrl *
eng_url_parse (const char *text, const char *name, const char *prefix, GError **error);

G_END_DECLS
