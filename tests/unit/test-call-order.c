/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls whose answers come when the test says so: the HTTP module behind them is a list of what was
 * sent. For what depends on the order in which answers and turns of the loop come, and for what goes
 * wrong before anything is sent.
 */
#include "config.h"

#include "lib/open-host.h"

#include <string.h>

/* ---- the HTTP module */

/* A request on its way: what the call holds as its transfer. */
typedef struct
{
  char *path;
  char *query;
  EngDone done;
  gpointer user_data;
} Sent;

static GPtrArray *on_the_way; /* (element-type Sent) */
static guint n_sent;

static void
sent_free (gpointer data)
{
  Sent *sent = data;

  g_free (sent->path);
  g_free (sent->query);
  g_free (sent);
}

static EngClient *
client_new (const EngConfig *config, GError **error)
{
  (void) config;
  (void) error;
  return (EngClient *) &on_the_way;
}

static void
client_free (EngClient *self)
{
  (void) self;
}

static EngTransfer *
send_request (EngClient *self, const EngRequest *request, EngDone done, gpointer user_data)
{
  Sent *sent = g_new0 (Sent, 1);

  (void) self;
  sent->path = g_strdup (request->path);
  sent->query = g_strdup (request->query);
  sent->done = done;
  sent->user_data = user_data;
  g_ptr_array_add (on_the_way, sent);
  n_sent++;
  return (EngTransfer *) sent;
}

static EngSent
cancel (EngTransfer *transfer)
{
  g_assert_true (g_ptr_array_remove (on_the_way, transfer));
  return ENG_NOT_SENT;
}

static void
response_free (EngResponse *response)
{
  g_clear_pointer (&response->body, g_bytes_unref);
  g_free (response);
}

static const char *
origin (EngClient *self)
{
  (void) self;
  return "http://localhost:1";
}

const EngDoor *
eng_door (void)
{
  static const EngDoor door
      = { ENG_DOOR_ABI, client_new, client_free, send_request, cancel, response_free, origin };

  return &door;
}

/* ---- driving a call */

typedef struct
{
  DbrToolHost *host;
  DbrCallResult *result;
} Fixture;

static void
on_done (gpointer user_data, DbrCallResult *result)
{
  Fixture *f = user_data;

  g_assert_null (f->result);
  f->result = result;
}

static void
open_call (Fixture *f, guint max_steps)
{
  g_auto (GStrv) environment = g_environ_setenv (NULL, "ORDER_WRITES", "1", TRUE);
  const DbrHostOptions how = { .max_steps = max_steps, .backend.environment = environment };

  f->host = open_host ("tests/data/call/order.xml", &how);
  on_the_way = g_ptr_array_new_with_free_func (sent_free);
  n_sent = 0;
}

static void
close_call (Fixture *f)
{
  dbr_host_free (f->host);
  g_clear_pointer (&f->result, dbr_call_result_free);
  g_clear_pointer (&on_the_way, g_ptr_array_unref);
}

/* All that the loop has to do: nothing here comes from outside. */
static void
turn (void)
{
  while (g_main_context_iteration (NULL, FALSE))
    ;
}

static void
begin (Fixture *f, const char *tool)
{
  static const DbrCallEvents events = { NULL, NULL, on_done };
  DbrCallRequest request = { .tool = tool, .wants_progress = TRUE };

  f->host->call (f->host, &request, &events, f);
  turn ();
}

/* Answers the first request on the way to @path, before the loop takes another turn. FALSE: none is. */
static gboolean
answer (const char *path, const char *body)
{
  for (guint i = 0; i < on_the_way->len; i++)
    {
      Sent *sent = g_ptr_array_index (on_the_way, i);
      EngResponse *response;

      if (strcmp (sent->path, path) != 0)
        continue;
      response = g_new0 (EngResponse, 1);
      response->status = 200;
      response->retry_after_ms = -1;
      response->sent = ENG_ANSWERED;
      response->body = g_bytes_new (body, strlen (body));
      g_ptr_array_steal_index (on_the_way, i);
      sent->done (response, sent->user_data);
      sent_free (sent);
      return TRUE;
    }
  return FALSE;
}

static void
assert_text (const Fixture *f, gboolean is_error, const char *text)
{
  g_assert_nonnull (f->result);
  g_assert_cmpstr (f->result->text, ==, text);
  g_assert_cmpint (f->result->is_error, ==, is_error);
}

/* ---- tests */

/* An answer and a first page in one turn of the loop: what waits for the answer must see it. */
static void
test_page_behind_answer (void)
{
  Fixture f = { 0 };

  open_call (&f, 0);
  begin (&f, "follow");
  g_assert_cmpuint (on_the_way->len, ==, 2);
  g_assert_true (answer ("/v1/first", "{\"go\":true}"));
  g_assert_true (answer ("/v1/list", "{\"items\":[1,2],\"total\":6}"));
  turn ();
  g_assert_true (answer ("/v1/next", "{\"name\":\"sent\"}"));
  g_assert_true (answer ("/v1/list", "{\"items\":[3,4],\"total\":6}"));
  g_assert_null (f.result);
  g_assert_true (answer ("/v1/list", "{\"items\":[5,6],\"total\":6}"));
  turn ();
  assert_text (&f, FALSE, "sent, 6 of 6");
  close_call (&f);
}

/* The other order, and the pages themselves out of order. */
static void
test_answer_behind_page (void)
{
  Fixture f = { 0 };

  open_call (&f, 0);
  begin (&f, "follow");
  g_assert_true (answer ("/v1/list", "{\"items\":[1,2],\"total\":3}"));
  g_assert_true (answer ("/v1/list", "{\"items\":[3],\"total\":3}"));
  g_assert_true (answer ("/v1/first", "{\"go\":true}"));
  turn ();
  g_assert_true (answer ("/v1/next", "{\"name\":\"sent\"}"));
  turn ();
  assert_text (&f, FALSE, "sent, 3 of 3");
  close_call (&f);
}

/* How a call ended whose expressions may take only @max_steps. */
typedef enum
{
  NOT_ASKED, /* not even the first request that needs them */
  PAGE_LOST, /* a page behind the first */
  ALL_THERE,
} Outcome;

static Outcome
run_costly (const char *tool, guint max_steps, gboolean is_error)
{
  Fixture f = { 0 };
  Outcome outcome;

  open_call (&f, max_steps);
  begin (&f, tool);
  g_assert_true (answer ("/v1/first", "{\"name\":\"It\",\"numbers\":[1,2,3,4,5,6,7,8,9]}"));
  turn ();
  if (answer ("/v1/list", "{\"items\":[1,2],\"total\":6}"))
    turn ();
  while (answer ("/v1/list", "{\"items\":[1,2],\"total\":6}"))
    turn ();
  g_assert_nonnull (f.result);
  if (strcmp (f.result->text, "It, 6 of 6") == 0)
    outcome = ALL_THERE;
  else
    {
      outcome = strstr (f.result->text, "Page ") ? PAGE_LOST : NOT_ASKED;
      g_assert_cmpint (f.result->is_error, ==, is_error);
      g_assert_nonnull (strstr (f.result->text, "step"));
      if (!is_error)
        g_assert_true (g_str_has_prefix (f.result->text, "It"));
      if (!is_error)
        g_assert_nonnull (strstr (f.result->text, "\nNot read (list): "));
    }
  close_call (&f);
  return outcome;
}

/* From too few steps for anything to enough for all: whatever page it is that can't be asked for,
 * an optional request costs one line of the answer, a needed one costs the answer. */
static void
test_page_without_request (void)
{
  static const struct
  {
    const char *tool;
    gboolean is_error;
  } cases[] = { { "costly", FALSE }, { "needed", TRUE } };

  for (guint c = 0; c < G_N_ELEMENTS (cases); c++)
    {
      guint n[3] = { 0 };

      for (guint steps = 1; n[ALL_THERE] == 0; steps++)
        {
          g_assert_cmpuint (steps, <, 2000);
          n[run_costly (cases[c].tool, steps, cases[c].is_error)]++;
        }
      g_assert_cmpuint (n[NOT_ASKED], >, 0);
      g_assert_cmpuint (n[PAGE_LOST], >, 0);
    }
}

/* An optional request may fail in its condition and in its items too. */
static void
test_optional_conditions (void)
{
  guint n_told = 0;

  for (guint steps = 1; steps < 300; steps++)
    {
      Fixture f = { 0 };

      open_call (&f, steps);
      begin (&f, "choose");
      g_assert_true (answer ("/v1/first", "{\"name\":\"It\",\"numbers\":[1,2,3,4,5,6,7,8,9]}"));
      turn ();
      if (answer ("/v1/held", "{}"))
        turn ();
      g_assert_nonnull (f.result);
      g_assert_false (f.result->is_error);
      g_assert_true (g_str_has_prefix (f.result->text, "It"));
      n_told += strstr (f.result->text, "\nNot read (held): ") != NULL;
      close_call (&f);
    }
  g_assert_cmpuint (n_told, >, 0);
}

/* Once a write was acknowledged, a read that its answer spoils can't make a failure of it. */
static void
test_read_spoilt_by_write (void)
{
  Fixture f = { 0 };

  open_call (&f, 0);
  begin (&f, "add");
  g_assert_true (answer ("/v1/things", "{\"id\":\"a/b\"}"));
  turn ();
  g_assert_true (answer ("/v1/list", "{\"items\":[1,2],\"total\":2}"));
  turn ();
  g_assert_nonnull (f.result);
  g_assert_false (f.result->is_error);
  g_assert_true (g_str_has_prefix (f.result->text, "Added a/b.\nNot read (thing): "));
  g_assert_cmpuint (n_sent, ==, 2);
  close_call (&f);
}

/* A call that is cancelled takes back what is on the way. */
static void
test_cancel (void)
{
  static const DbrCallEvents events = { NULL, NULL, on_done };
  const DbrCallRequest request = { .tool = "follow" };
  Fixture f = { 0 };
  gpointer call;

  open_call (&f, 0);
  call = f.host->call (f.host, &request, &events, &f);
  turn ();
  g_assert_true (answer ("/v1/list", "{\"items\":[1,2],\"total\":6}"));
  g_assert_cmpuint (on_the_way->len, ==, 3);
  f.host->cancel (f.host, call);
  g_assert_cmpuint (on_the_way->len, ==, 0);
  turn ();
  g_assert_null (f.result);
  close_call (&f);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/call-order/page-behind-answer", test_page_behind_answer);
  g_test_add_func ("/call-order/answer-behind-page", test_answer_behind_page);
  g_test_add_func ("/call-order/page-without-request", test_page_without_request);
  g_test_add_func ("/call-order/optional-conditions", test_optional_conditions);
  g_test_add_func ("/call-order/read-spoilt-by-write", test_read_spoilt_by_write);
  g_test_add_func ("/call-order/cancel", test_cancel);
  return g_test_run ();
}
