/* SPDX-License-Identifier: Apache-2.0 */
/* What a model and a person at a shell read of the same call. */
#include "config.h"

#include "call-fixture.h"

#include <string.h>

/* ---- a model and a person */

static const char *
typed (const char *tool, const char **out_names, gpointer user_data)
{
  (void) out_names;
  (void) user_data;
  return strcmp (tool, "get") == 0 ? "people get" : NULL;
}

/* The fixture's host gives way to people.xml in this offer. */
static void
reopen (CallFixture *f, const char *offer, guint port)
{
  g_auto (GStrv) environment = g_environ_setenv (NULL, "PEOPLE_WRITES", "1", TRUE);
  g_autofree char *url = g_strdup_printf ("http://127.0.0.1:%u", port);
  DbrHostOptions how = { 0 };

  how.backend.base_url = url;
  how.backend.environment = environment;
  how.typed = strcmp (offer, "person") == 0 ? typed : NULL;
  dbr_host_free (f->host);
  f->host = open_host_offer ("tests/data/call/people.xml", offer, &how);
}

static void
test_offers (CallFixture *f, gconstpointer flags)
{
  static const struct
  {
    guint status;
    const char *body, *model, *person;
  } cases[] = {
    { 200, "{\"name\":\"Axe\",\"next\":\"b c\"}", "Axe for a model\nNext: get {\"id\": \"b c\"}",
      "Axe for a person\nNext: people get id='b c'" },
    { 404, "{\"detail\":\"No axe.\",\"code\":\"none\"}", "Refused (404): No axe.\nLook.",
      "No axe.\nLook around." },
    { 404, "{\"detail\":\"No axe.\",\"code\":\"gone\"}", "Refused (404): No axe.\nGone for models.",
      "No axe.\nGone for people." },
    { 404, "{\"detail\":\"No axe.\",\"code\":\"mine\"}", "Refused (404): No axe.\nLook.",
      "No axe.\nMy own, a." },
    { 401, "{\"detail\":\"Who?\",\"code\":\"bad_token\"}", "Refused (401): Who?",
      "Who?\nTake another." },
    { 422,
      "{\"detail\":\"id is odd.\",\"code\":\"bad\",\"errors\":[{\"field\":\"id\",\"problem\":\"is "
      "odd\"}]}",
      "Refused (422): id is odd.", "id is odd." },
    { 422,
      "{\"detail\":\"2 are "
      "wrong.\",\"code\":\"bad\",\"errors\":[{\"field\":\"id\",\"problem\":\"is odd\"},"
      "{\"field\":\"x\",\"problem\":\"is even\"}]}",
      "Refused (422): 2 are wrong.\n- id is odd\n- x is even",
      "2 are wrong.\n- id is odd\n- x is even" },
    { 507, "{\"detail\":\"Full.\",\"code\":\"full\"}", "answered 507 Insufficient Storage: Full.",
      "Full." },
    /* Not worded by the backend: then a person needs all that is known. */
    { 500, "oops", "answered 500 Internal Server Error: oops",
      "answered 500 Internal Server Error: oops" },
  };
  static const char *const offers[] = { "model", "person" };

  (void) flags;
  for (guint o = 0; o < 2; o++)
    {
      reopen (f, offers[o], fake_backend_port (f->backend));
      for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
        {
          const char *wanted = o ? cases[i].person : cases[i].model;
          call_fixture_script (f, "GET", "/v1/one/a", cases[i].status, cases[i].body);
          call_fixture_run (f, "get", "{\"id\":\"a\"}");
          if (o && cases[i].status != 500)
            call_fixture_assert_text (f, cases[i].status != 200, wanted);
          else
            call_fixture_assert_says (f, cases[i].status != 200, wanted);
          g_assert_true (g_str_has_suffix (f->result->text, wanted));
        }
    }
}

static void
test_person_without_backend (CallFixture *f, gconstpointer flags)
{
  guint port = fake_backend_port (f->backend);
  g_autofree char *person = g_strdup_printf (
      "Nothing was done: no connection to http://127.0.0.1:%u: Connection refused.\nStart it.",
      port);

  (void) flags;
  g_clear_pointer (&f->backend, fake_backend_free);
  reopen (f, "person", port);
  call_fixture_run (f, "get", "{\"id\":\"a\"}");
  call_fixture_assert_text (f, TRUE, person);
  reopen (f, "model", port);
  call_fixture_run (f, "get", "{\"id\":\"a\"}");
  call_fixture_assert_says (
      f, TRUE,
      "Is it running, and is that its address? The next call tries again by itself.\nStart it.");
  f->backend = fake_backend_new ("127.0.0.1");
}

/* A wrong member is named as the argument that filled it. */
static void
test_problems_by_argument (CallFixture *f, gconstpointer flags)
{
  static const char body[]
      = "{\"detail\":\"name is odd.\",\"code\":\"bad\",\"errors\":["
        "{\"field\":\"settings.open.times[0]\",\"problem\":\"is odd\"},"
        "{\"field\":\"settings.open.timesheet\",\"problem\":\"is odd\"},"
        "{\"field\":\"settings.open\",\"problem\":\"is odd\"},"
        "{\"field\":\"settings.both\",\"problem\":\"is odd\"},"
        "{\"field\":\"name\",\"problem\":\"is odd\"},{\"field\":\"\",\"problem\":\"\"}]}";
  static const char *const offers[] = { "model", "person" };

  (void) flags;
  for (guint o = 0; o < 2; o++)
    {
      reopen (f, offers[o], fake_backend_port (f->backend));
      call_fixture_script (f, "POST", "/v1/set", 422, body);
      call_fixture_run (f, "set", "{\"hours\":[1],\"title\":\"x\"}");
      call_fixture_assert_says (
          f, TRUE, o ? "title is odd.\n- hours[0]" : "(422): title is odd.\n- hours[0]");
      call_fixture_assert_says (
          f, TRUE,
          "\n- hours[0] is odd\n- settings.open.timesheet is odd\n- settings.open is odd\n"
          "- settings.both is odd\n- title is odd\n- ");
    }
}

/* A field of a path that selects several is an array, of none too. */
static void
test_field_of_several (CallFixture *f, gconstpointer flags)
{
  static const char *const cases[][2]
      = { { "{\"items\":[{\"id\":1,\"on\":true},{\"id\":2,\"on\":false},{\"id\":1e1,\"on\":true}]}",
            "{\"ids\":[1,1e1]}" },
          { "{\"items\":[]}", "{\"ids\":[]}" } };

  (void) flags;
  reopen (f, "model", fake_backend_port (f->backend));
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GPtrArray) requests = NULL;
      const FakeRequest *sent;
      gsize len;
      const char *body;

      call_fixture_script (f, "GET", "/v1/seen", 200, cases[i][0]);
      call_fixture_script (f, "POST", "/v1/all", 200, "{\"n\":1}");
      call_fixture_run (f, "put", "{}");
      call_fixture_assert_says (f, FALSE, "1 thing");
      requests = fake_backend_requests (f->backend);
      sent = g_ptr_array_index (requests, requests->len - 1);
      body = g_bytes_get_data (sent->body, &len);
      g_assert_cmpmem (body, len, cases[i][1], strlen (cases[i][1]));
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  CALL_FIXTURE_ADD ("offers", "", test_offers);
  CALL_FIXTURE_ADD ("person-without-backend", "", test_person_without_backend);
  CALL_FIXTURE_ADD ("problems-by-argument", "", test_problems_by_argument);
  CALL_FIXTURE_ADD ("field-of-several", "", test_field_of_several);
  return g_test_run ();
}
