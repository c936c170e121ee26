/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-backend: one catalogue's backend as this process reaches it.
 *
 * Reads address and credentials from the environment once, at start; what is wrong with them is
 * kept and told by each call (the tool list must not depend on it). Loads the HTTP module at the
 * first request, not before: a client may start the program several times only to list tools.
 */
#pragma once

#include "catalogue/dbr-catalogue.h"
#include "eng-client.h"
#include "gate/dbr-gate.h"

G_BEGIN_DECLS

/* How a person at a shell types a call of the tool, up to its arguments: "drawbridge call NAME". As typed of DbrAnswerEnv. */
typedef const char *(*DbrTypedFunc) (const char *tool, const char **out_names, gpointer user_data);

#define DBR_BACKEND_TIMEOUT_MS 30000u /* a whole call; under the 60 s at which clients give up */

#define DBR_BACKEND_ERROR (dbr_backend_error_quark ())
GQuark
dbr_backend_error_quark (void);
typedef enum
{
  DBR_BACKEND_ERROR_CONFIG, /* what dbr_backend_problem() says */
  DBR_BACKEND_ERROR_MODULE, /* the HTTP module is missing, broken or of another version */
} DbrBackendError;

typedef struct
{
  const char *module_file;     /* the HTTP module; NULL: eng_door() is linked in (tests) */
  const char *base_url;        /* overrides the catalogue's and its variable; NULL: these */
  const char *unix_socket;     /* nullable: in place of every variable */
  const char *default_socket;  /* nullable: when neither of the variables of an address is set */
  guint timeout_ms;            /* 0: DBR_BACKEND_TIMEOUT_MS */
  const char *plain_http_host; /* nullable: credentials may go over plain http to this host */
  char **environment;          /* nullable: the process's own */
} DbrBackendOptions;

typedef struct _DbrBackend DbrBackend;
/* Never fails: see problem(). @catalogue must outlive it. */
DbrBackend *
dbr_backend_new (const DbrCatalogue *catalogue, const DbrBackendOptions *options);
void
dbr_backend_free (DbrBackend *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DbrBackend, dbr_backend_free)
/* What keeps every call from working ("AIRFLOW_API_URL is set but empty..."), NULL when nothing
 * does. Names variables, never values. */
const char *
dbr_backend_problem (const DbrBackend *self);
/* scheme://host[:port][/base] without user info, or unix:PATH; for texts. */
const char *
dbr_backend_origin (const DbrBackend *self);
/* How it signs in, one phrase for reports: "token from AIRFLOW_ACCESS_TOKEN". */
const char *
dbr_backend_credentials (const DbrBackend *self);
guint
dbr_backend_timeout_ms (const DbrBackend *self);
DbrMask *
dbr_backend_mask (const DbrBackend *self);
/* The HTTP client, made at the first use. Errors: DBR_BACKEND_ERROR; ENG_ERROR_CONFIG as the door's
 * client_new(). */
gboolean
dbr_backend_open (DbrBackend *self,
                  const DbrGate *gate,
                  const EngDoor **out_door,
                  EngClient **out_client,
                  GError **error);

G_END_DECLS
