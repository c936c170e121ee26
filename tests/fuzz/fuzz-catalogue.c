/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes as a catalogue. Whatever they are: a catalogue, of which every promise of the header is
 * then held, or an error of ours that names the file.
 */
#include "config.h"

#include "catalogue/dbr-catalogue-priv.h"

#include <stdint.h>
#include <string.h>

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static void
check_tool (const DbrTool *tool)
{
  json_auto_t *described = dbr_tool_describe (tool, NULL);
  const DbrRequestDef *writes = NULL;
  g_assert (dbr_word_is (tool->name, DBR_WORD_TOOL));
  g_assert (json_is_object (json_object_get (described, "inputSchema")));
  g_assert (tool->requests->len >= 1 && tool->requests->len <= DBR_CATALOGUE_MAX_REQUESTS);
  g_assert (tool->answer && tool->least <= tool->access && tool->access < DBR_ACCESS_DENIED);
  for (guint i = 0; i < tool->requests->len; i++)
    {
      const DbrRequestDef *request = g_ptr_array_index (tool->requests, i);
      g_assert (request->index == i && dbr_tool_request (tool, request->id) == request);
      g_assert (!(request->needs & G_GUINT64_CONSTANT (1) << i));
      if (request->access == DBR_ACCESS_READ)
        continue;
      /* Several writes: each for another parameter of one_of. */
      g_assert (!writes
                || (writes->with && request->with && strcmp (writes->with, request->with) != 0));
      g_assert (!request->for_each && request->pages == 1 && !request->tail);
      writes = request;
    }
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  const DbrCatalogueOptions options = { .is_shipped = FALSE };
  g_autoptr (GError) error = NULL;
  g_autoptr (DbrCatalogue) catalogue
      = dbr_catalogue_load_data ((const char *) data, size, "fuzz.xml", &options, &error);
  if (!catalogue)
    {
      g_assert (error && error->domain == DBR_CATALOGUE_ERROR);
      g_assert (g_str_has_prefix (error->message, "fuzz.xml:"));
      return 0;
    }
  g_assert (!error && catalogue->tools->len >= 1);
  for (guint i = 0; i < catalogue->tools->len; i++)
    check_tool (g_ptr_array_index (catalogue->tools, i));
  return 0;
}
