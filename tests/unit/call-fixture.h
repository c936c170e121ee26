/* SPDX-License-Identifier: Apache-2.0 */
/* call-fixture: whole calls over a made-up catalogue (tests/data/call/shop.xml) and a fake backend. */
#pragma once

#include "lib/fake-backend.h"
#include "lib/open-host.h"

G_BEGIN_DECLS

typedef struct
{
  FakeBackend *backend;
  DbrToolHost *host;
  GMainLoop *loop;
  gpointer call;
  DbrCallResult *result;
  DbrAskOutcome outcome; /* what the user answers */
  guint n_asked;
  char *asked;
  guint n_progress;
} CallFixture;

#define CALL_FIXTURE_ADD(path, flags, function) \
  g_test_add ("/call/" path, CallFixture, flags, call_fixture_set_up, function, \
              call_fixture_tear_down)

/* @flags: words: "writes", "writes=ask", "deletes" open those gates; "short": 300 ms for a call. */
void
call_fixture_set_up (CallFixture *f, gconstpointer flags);
void
call_fixture_tear_down (CallFixture *f, gconstpointer flags);
/* The events of a call, for those who start one themselves; user data is the fixture. */
extern const DbrCallEvents call_fixture_events;
/* Each waits until the call is done. */
void
call_fixture_run_request (CallFixture *f, DbrCallRequest *request, const char *arguments);
void
call_fixture_run_asking (CallFixture *f, const char *tool, const char *arguments, DbrAsking asking);
void
call_fixture_run (CallFixture *f, const char *tool, const char *arguments);
/* The backend's next answer to it. */
void
call_fixture_script (
    CallFixture *f, const char *method, const char *path, guint status, const char *body);
void
call_fixture_assert_text (const CallFixture *f, gboolean is_error, const char *text);
void
call_fixture_assert_says (const CallFixture *f, gboolean is_error, const char *part);
/* Not one request may have left. */
void
call_fixture_assert_silence (CallFixture *f);

G_END_DECLS
