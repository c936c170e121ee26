/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-host: a few looks at the file system, each for one request or one try of a turn.
 */
#include "config.h"

#include "srv-host.h"

#include "srv-checkout.h"
#include "srv-preset.h"
#include "srv-runner.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *
stat_problem (const char *checkout)
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

/* What is wrong with it whatever is in it: a few looks, for each try of a turn. */
static SrvCheckout *
open_checkout (const SrvHost *self, const char *checkout, char **out_problem)
{
  g_autoptr (GError) error = NULL;
  SrvCheckout *opened = NULL;

  *out_problem = stat_problem (checkout);
  if (*out_problem)
    return NULL;
  opened = srv_checkout_open (checkout, (const char *const *) self->states, &error);
  if (!opened)
    *out_problem = g_strdup (error->message);
  return opened;
}

static char *
checkout_problem (const char *checkout, gpointer data)
{
  char *problem = NULL;
  g_autoptr (SrvCheckout) opened = open_checkout (data, checkout, &problem);
  g_autoptr (GError) error = NULL;
  gboolean is_whole;

  if (opened && !srv_checkout_look (opened, &is_whole, &error))
    problem = g_strdup (error->message);
  return problem;
}

static char *
checkout_note (const char *checkout, gpointer data)
{
  g_autofree char *problem = NULL;
  g_autoptr (SrvCheckout) opened = open_checkout (data, checkout, &problem);
  g_autofree char *home = srv_checkout_resolve (g_get_home_dir ());
  gboolean is_whole = TRUE;

  if (opened && strcmp (opened->path, home) == 0)
    return g_strdup_printf ("The checkout %s is a home folder: turns and workers may change "
                            "everything in it.",
                            checkout);
  if (opened && srv_checkout_look (opened, &is_whole, NULL) && !is_whole)
    return g_strdup_printf ("The checkout %s has too many names to look for other engines' folders "
                            "in all of it: keep them out of it.",
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
  g_autofree char *of_checkout = NULL;
  /* "/" stands for one that isn't set yet; as a checkout it is refused where it is set, and where a turn starts. */
  g_autoptr (SrvCheckout) opened = checkout && strcmp (checkout, "/") != 0
                                       ? open_checkout (data, checkout, &of_checkout)
                                       : NULL;

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
  self->states = srv_checkout_states (NULL);
}

void
srv_host_keep_from (SrvHost *self, const char *state_folder)
{
  const char *const more[] = { state_folder, NULL };

  g_strfreev (self->states);
  self->states = srv_checkout_states (more);
}

void
srv_host_clear (SrvHost *self)
{
  g_clear_pointer (&self->states, g_strfreev);
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
