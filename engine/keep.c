/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drawbridge-keep: the keeper alone, as `drawbridge-engine keep` and `exec` are, without the engine's libraries: one starts with
 * every turn and every job.
 */
#include "config.h"

#include "srv-keep.h"

#include <stdio.h>
#include <string.h>

int
main (int argc, char **argv)
{
  if (argc > 1 && strcmp (argv[1], "keep") == 0)
    return srv_keep_main (argc - 1, argv + 1);
  if (argc > 1 && strcmp (argv[1], "exec") == 0)
    return srv_keep_exec_main (argc - 1, argv + 1);
  fputs ("drawbridge-keep is started by drawbridge-engine\n", stderr);
  return 2;
}
