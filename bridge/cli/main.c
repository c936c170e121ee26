/* SPDX-License-Identifier: Apache-2.0 */
/* main: one subcommand a file; this one only chooses. */
#include "config.h"

#include <glib.h>

int
main (int argc, char **argv)
{
  (void) argc;
  (void) argv;
  return 2;
}
