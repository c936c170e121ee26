/* SPDX-License-Identifier: Apache-2.0 */
/* eng-fixture: a fake backend, a client of it, and requests that are waited for. */
#pragma once

#include "eng-client.h"
#include "tests/lib/fake-backend.h"

G_BEGIN_DECLS

#define CANARY_PASSWORD "canary-password-0001"

typedef struct
{
  FakeBackend *backend;
  EngClient *client;
  DbrAccessTable *access;
  DbrMask *mask;
  EngSignIn sign_in; /* ready to be pointed to */
  EngConfig config;
} Fixture;

/* A backend on 127.0.0.1 and a configuration that reaches it, without credentials, every gate open.
 */
Fixture *
fixture_new (void);
/* The client, made of the configuration as it is now. */
EngClient *
fixture_client (Fixture *self);
void
fixture_free (Fixture *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Fixture, fixture_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (EngResponse, eng_response_free)

/* Sends and waits. */
EngResponse *
fixture_run (Fixture *self, const EngRequest *request);
EngResponse *
fixture_get (Fixture *self, const char *path);
EngResponse *
fixture_post (Fixture *self, const char *path, const char *body);

/* Several at a time: results come into @out (element-type EngResponse) in the order of their ends.
 */
EngTransfer *
fixture_send (Fixture *self, const EngRequest *request, GPtrArray *out);
/* Runs the main loop until @out has @n. */
void
fixture_wait (GPtrArray *out, guint n);
/* Runs the main loop until the backend has read @n requests. */
void
fixture_wait_requests (Fixture *self, guint n);

/* Asserts an error code, how far it got, and a part of the message. */
void
assert_failed (const EngResponse *response, EngErrorCode code, EngSent sent, const char *part);
/* Asserts no error, that status and that body (NULL: any). */
void
assert_answered (const EngResponse *response, guint status, const char *body);

G_END_DECLS
