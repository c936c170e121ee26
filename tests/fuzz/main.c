/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replays inputs through a fuzzer that was built without libFuzzer: each argument is a file or a
 * folder of files; arguments that begin with - are libFuzzer's and are passed over.
 */
#include "config.h"

#include <glib.h>
#include <stdint.h>

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static gboolean
replay_file (const char *path)
{
  g_autofree char *text = NULL;
  g_autofree uint8_t *data = NULL;
  g_autoptr (GError) error = NULL;
  gsize n_bytes;

  if (!g_file_get_contents (path, &text, &n_bytes, &error))
    {
      g_printerr ("%s\n", error->message);
      return FALSE;
    }
  /* exactly as large as the input, so that a sanitizer sees a read beyond it */
  data = g_memdup2 (text, n_bytes);
  LLVMFuzzerTestOneInput (data, n_bytes);
  return TRUE;
}

static gboolean
replay (const char *path)
{
  g_autoptr (GDir) folder = g_dir_open (path, 0, NULL);
  const char *name;

  if (folder == NULL)
    return replay_file (path);
  while ((name = g_dir_read_name (folder)) != NULL)
    {
      g_autofree char *inner = g_build_filename (path, name, NULL);

      if (!replay (inner))
        return FALSE;
    }
  return TRUE;
}

int
main (int argc, char **argv)
{
  for (int i = 1; i < argc; i++)
    if (argv[i][0] != '-' && !replay (argv[i]))
      return 1;
  return 0;
}
