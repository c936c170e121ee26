/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-secret: see the header.
 */
#include "config.h"

#include "srv-secret.h"

#include <errno.h>
#include <sys/random.h>

#define SECRET_BYTES 32

char *
srv_secret_hash (const char *secret)
{
  return g_compute_checksum_for_string (G_CHECKSUM_SHA256, secret, -1);
}

char *
srv_secret_new (char **out_hash)
{
  guint8 bytes[SECRET_BYTES];
  gsize have = 0;

  while (have < sizeof (bytes))
    {
      ssize_t n = getrandom (bytes + have, sizeof (bytes) - have, 0);
      if (n < 0 && errno != EINTR)
        return NULL;
      have += n > 0 ? (gsize) n : 0;
    }
  char *text = g_base64_encode (bytes, sizeof (bytes));
  g_strdelimit (text, "+", '-');
  g_strdelimit (text, "/", '_');
  text[SRV_SECRET_LENGTH] = '\0'; /* the padding */
  *out_hash = srv_secret_hash (text);
  return text;
}
