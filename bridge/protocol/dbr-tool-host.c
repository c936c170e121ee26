/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a host hands over is owned by the protocol from then on.
 */
#include "config.h"

#include "dbr-tool-host.h"

void
dbr_call_result_free (DbrCallResult *self)
{
  if (self == NULL)
    return;
  g_free (self->text);
  json_decref (self->structured);
  g_free (self->ask_message);
  json_decref (self->ask_schema);
  g_free (self->request_state);
  g_free (self);
}
