/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-host: a few looks at the file system, each for one request or one try of a turn.
 */
#include "config.h"

#include "srv-host.h"

#include "srv-preset.h"
#include "srv-runner.h"

#include <errno.h>
#include <stdlib.h>
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

static gboolean
is_within (const char *path, const char *folder)
{
  gsize length = strlen (folder);

  return strncmp (path, folder, length) == 0
         && (path[length] == '/' || path[length] == '\0' || strcmp (folder, "/") == 0);
}

/* As it is, with no link in it; what isn't there as it was given. (transfer full) */
static char *
resolve (const char *path)
{
  char *real = realpath (path, NULL);
  char *resolved = g_strdup (real ? real : path);

  free (real);
  return resolved;
}

static char *
checkout_note (const char *checkout, const char *state_folder)
{
  g_autofree char *folder = resolve (checkout), *home = resolve (g_get_home_dir ());
  g_autofree char *state = state_folder ? resolve (state_folder) : NULL;

  if (state && is_within (folder, state))
    return g_strdup_printf ("The checkout %s lies in the folder of the engine's state, %s: nothing "
                            "is started there.",
                            checkout, state);
  if (state && is_within (state, folder))
    return g_strdup_printf ("The checkout %s holds the folder of the engine's state, %s: only what "
                            "is shut in is kept away from the tokens there.",
                            checkout, state);
  if (strcmp (folder, home) == 0)
    return g_strdup_printf ("The checkout %s is a home folder: turns and workers may change "
                            "everything in it.",
                            checkout);
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

/* The first that is wrong. @checkout "/": which one it will be is not known. */
static char *
foreman_problem (const json_t *foreman, const char *checkout)
{
  g_autoptr (GPtrArray) problems = srv_preset_problems (foreman);
  g_autofree char *program = NULL;

  if (problems->len > 0)
    return g_strdup_printf ("the foreman's %s %s", (const char *) problems->pdata[0],
                            (const char *) problems->pdata[1]);
  program = srv_preset_program (foreman);
  /* With a placeholder in it, it is known once it starts. */
  if (!program || strchr (program, '{'))
    return NULL;
  if (!strchr (program, '/') || *program == '/')
    return program_problem (program);
  g_autofree char *path = g_build_filename (checkout, program, NULL);
  if (strcmp (checkout, "/") == 0
      || (g_file_test (path, G_FILE_TEST_IS_EXECUTABLE) && !g_file_test (path, G_FILE_TEST_IS_DIR)))
    return NULL;
  return g_strdup_printf ("\"%s\" is no program in the checkout %s", program, checkout);
}

static char *
turn_problem (const json_t *foreman, const char *checkout, gpointer data)
{
  const char *refusal = srv_host_refusal (data);
  g_autofree char *of_checkout = checkout ? checkout_problem (checkout) : NULL;

  if (refusal)
    return g_strdup (refusal);
  if (!checkout)
    return g_strdup ("no checkout is set");
  if (of_checkout)
    return g_strdup_printf ("the checkout %s %s", checkout, of_checkout);
  return foreman_problem (foreman, checkout);
}

void
srv_host_init (SrvHost *self)
{
  self->world = (SrvWorld){ .checkout_problem = checkout_problem,
                            .foreman_problems = srv_preset_problems,
                            .turn_problem = turn_problem,
                            .checkout_note = checkout_note,
                            .data = self,
                            .max_turns = SRV_RUNNER_MAX_TURNS };
  self->refusal = 0;
}

void
srv_host_refuse (SrvHost *self, const char *why)
{
  /* A quark's text stays: whoever is just saying the one before may go on. */
  g_atomic_int_set (&self->refusal, (gint) g_quark_from_string (why));
}

const char *
srv_host_refusal (SrvHost *self)
{
  return g_quark_to_string ((GQuark) g_atomic_int_get (&self->refusal));
}
