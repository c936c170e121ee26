/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-preset: how a harness is started, as data (presets/NAME.json): its words, its configuration file, its
 * environment.
 *
 * A preset is one object: command[] and model[] (words; the latter added when the project names a
 * model), file and config (an object becomes JSON; a list of lines becomes text in which each
 * placeholder is a quoted string, as TOML takes it), environment[] (names passed on when they are set),
 * set{} (more variables), links{} (credentials in the turn's folder, to the user's own file) and writable[].
 *
 * Placeholders, anywhere in a string: {prompt} {config} {folder} {project} {name} {repo} {checkout} {socket}
 * {bridge} {model} {home}; in config and set also {token}. Alone in a string of config: {arguments} (what
 * the bridge is called with), {command} (the same with the bridge), {variables} (the bridge's
 * environment). {variables_without_token} is a line of its own. An unknown one is an error, and so is
 * {token} in a word of the command: arguments are public.
 */
#pragma once

#include <glib.h>
#include <jansson.h>

G_BEGIN_DECLS

#define SRV_PRESET_MAX_WORDS 256u

#define SRV_PRESET_ERROR (srv_preset_error_quark ())
GQuark
srv_preset_error_quark (void);
typedef enum
{
  SRV_PRESET_ERROR_UNKNOWN, /* no preset of that name; the message lists them */
  SRV_PRESET_ERROR_INVALID, /* not a foreman command, or a placeholder that isn't one */
  SRV_PRESET_ERROR_FOLDER,  /* the file can't be written */
} SrvPresetError;

/* What placeholders stand for; all required but model and prompt (the prompt that we ship). */
typedef struct
{
  gint64 project;
  const char *name;
  const char *repo;
  const char *checkout;
  const char *socket;
  const char *bridge; /* absolute path of drawbridge */
  const char *folder; /* absolute, ours, 0700, empty */
  const char *token;
  const char *home;
  const char *prompt; /* nullable */
} SrvPresetValues;

typedef struct
{
  char **command;     /* words */
  char **environment; /* NAME=VALUE: everything that the command gets */
  char *file;         /* where the configuration goes; below the folder */
  char *config;       /* its bytes */
  char **links;       /* name below the folder, target, ... */
  char **writable;    /* files and folders that it writes outside of its folder */
} SrvPreset;

/* Names of the presets, sorted. Transfer none. */
const char *const *
srv_preset_names (void);

/**
 * srv_preset_render:
 * @foreman: {"preset": NAME} or {"command": [...]}, with "model" and "environment": [names] as one likes
 * @values: what placeholders stand for
 *
 * Pure: reads nothing but the process's environment (the variables that are passed on).
 *
 * Errors: SRV_PRESET_ERROR_UNKNOWN, SRV_PRESET_ERROR_INVALID.
 */
SrvPreset *
srv_preset_render (const json_t *foreman, const SrvPresetValues *values, GError **error);
void
srv_preset_free (SrvPreset *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SrvPreset, srv_preset_free)

/* Writes the configuration (0600) and the links below @folder. Errors: SRV_PRESET_ERROR_FOLDER. */
gboolean
srv_preset_write (const SrvPreset *self, const char *folder, GError **error);

/**
 * srv_preset_problems:
 * @foreman: as srv_preset_render() takes it, of the right types
 *
 * Returns: (element-type utf8) (transfer full): field, problem, field, problem, ...: unknown presets and
 *   placeholders, variables that can't be handed on; empty: none.
 */
GPtrArray *
srv_preset_problems (const json_t *foreman);
/* The program that would be started, placeholders not yet replaced; NULL: unknown. Transfer full. */
char *
srv_preset_program (const json_t *foreman);
/* The length of "{word}" at the start of @text; 0: it is none, but maybe braces of something else (JSON, a shell's). */
gsize
srv_preset_placeholder_length (const char *text);
/* May a variable be handed to a command? Not a token of ours, nor what changes how programs are loaded. */
gboolean
srv_preset_may_pass (const char *name);

/* Variables that every command gets when they are set: where programs are and how people read. */
const char *const *
srv_preset_common_environment (void);

G_END_DECLS
