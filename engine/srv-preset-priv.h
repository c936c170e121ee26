/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-preset-priv: what the parts of srv-preset share.
 */
#pragma once

#include "srv-preset.h"

G_BEGIN_DECLS

/* X (name): what may stand in a word of a command as {name}; {token} may not. */
#define SRV_PRESET_PLACEHOLDERS(X) \
  X (prompt) \
  X (config) \
  X (folder) \
  X (project) \
  X (name) \
  X (repo) \
  X (checkout) \
  X (socket) \
  X (bridge) \
  X (model) \
  X (home)
typedef enum
{
#define SRV_PRESET_PLACEHOLDER_ITEM(name) SRV_PRESET_PLACEHOLDER_##name,
  SRV_PRESET_PLACEHOLDERS (SRV_PRESET_PLACEHOLDER_ITEM)
#undef SRV_PRESET_PLACEHOLDER_ITEM
      SRV_PRESET_N_PLACEHOLDERS
} SrvPresetPlaceholder;
extern const char *const srv_preset_placeholders[]; /* NULL-terminated */

/* A file of presets/, as text. Transfer full. */
char *
srv_preset_resource (const char *name);
/* "command" too, which is no preset to choose. Transfer full. Errors: SRV_PRESET_ERROR_UNKNOWN. */
json_t *
srv_preset_load (const char *name, GError **error);
/* "{a}, {b} and {c}". Transfer full. */
char *
srv_preset_list_words (const char *const *words, const char *before, const char *after);

G_END_DECLS
