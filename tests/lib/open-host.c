/* SPDX-License-Identifier: Apache-2.0 */
/* open-host: see open-host.h. */
#include "config.h"

#include "lib/open-host.h"

DbrToolHost *
open_host (const char *file, const DbrHostOptions *options)
{
  return open_host_offer (file, NULL, options);
}

DbrToolHost *
open_host_offer (const char *file, const char *offer, const DbrHostOptions *options)
{
  g_autofree char *path = g_test_build_filename (G_TEST_DIST, file, NULL);
  DbrCatalogueOptions shipped = { .is_shipped = TRUE, .offer = offer };
  g_autoptr (GError) error = NULL;
  DbrCatalogue *catalogue = dbr_catalogue_load (path, &shipped, &error);
  DbrToolHost *host;

  g_assert_no_error (error);
  host = dbr_host_new (catalogue, options, &error);
  g_assert_no_error (error);
  return host;
}
