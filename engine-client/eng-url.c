/* SPDX-License-Identifier: Apache-2.0 */
/* eng-url: see the header. */
#include "config.h"

#include "eng-url.h"

#include "eng-client.h"

DbrUrl *
eng_url_parse (const char *text, const char *name, const char *prefix, GError **error)
{
  const char *problem;
  DbrUrl *url = dbr_url_parse (text, prefix, &problem);

  if (url == NULL)
    g_set_error (error, ENG_ERROR, ENG_ERROR_CONFIG, "%s %s", name != NULL ? name : "the base URL",
                 problem);
  return url;
}
