/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-world: a few looks at the file system, each for one request or one try of a turn.
 */
#include "config.h"

#include "srv-world.h"

#include "srv-preset.h"
#include "srv-runner.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *
checkout_problem (const char *checkout)
{
  struct stat about;

  if (stat (checkout, &about) != 0)
    return errno == ENOENT ? g_strdup ("is not there")
                           : g_strdup_printf ("can't be looked at: %s", g_strerror (errno));
  if (!S_ISDIR (about.st_mode))
    return g_strdup ("is not a folder");
  if (access (checkout, R_OK | X_OK) != 0)
    return g_strdup ("can't be entered by the engine");
  return NULL;
}

static char *
program_problem (const char *program)
{
  g_autofree char *found = g_find_program_in_path (program);

  if (found)
    return NULL;
  return g_strdup_printf (strchr (program, '/') ? "\"%s\" is no program that the engine can start"
                                                : "\"%s\" is not on the engine's PATH",
                          program);
}

/* The first that is wrong. */
static char *
foreman_problem (const json_t *foreman)
{
  g_autoptr (GPtrArray) problems = srv_preset_problems (foreman);
  g_autofree char *program = NULL;

  if (problems->len > 0)
    return g_strdup_printf ("the foreman's %s %s", (const char *) problems->pdata[0],
                            (const char *) problems->pdata[1]);
  program = srv_preset_program (foreman);
  /* With a placeholder in it, or relative to the checkout, it is known once it starts. */
  if (!program || strchr (program, '{') || (strchr (program, '/') && *program != '/'))
    return NULL;
  return program_problem (program);
}

static char *
turn_problem (const json_t *foreman, const char *checkout, gconstpointer data)
{
  const char *const *refusal = data;
  g_autofree char *of_checkout = checkout ? checkout_problem (checkout) : NULL;

  if (refusal && *refusal)
    return g_strdup (*refusal);
  if (!checkout)
    return g_strdup ("no checkout is set");
  if (of_checkout)
    return g_strdup_printf ("the checkout %s %s", checkout, of_checkout);
  return foreman_problem (foreman);
}

void
srv_world_init (SrvWorld *self, const char *const *refusal)
{
  self->checkout_problem = checkout_problem;
  self->foreman_problems = srv_preset_problems;
  self->turn_problem = turn_problem;
  self->data = refusal;
  self->max_turns = SRV_RUNNER_MAX_TURNS;
}
