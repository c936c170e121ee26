/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client of workers and chats against peers that are no engine: what they send is bounded, and said.
 */
#include "config.h"

#include "srv-client.h"

#include <gio/gio.h>
#include <gio/gunixsocketaddress.h>
#include <glib/gstdio.h>
#include <string.h>

#define WATCHDOG_S 60
#define MAX_SENT (64u * 1024u * 1024u) /* a client that takes so much has no bound */

typedef struct
{
  const char *head;
  gboolean is_chunked;
  char *folder, *path;
  GSocketService *service;
  GMainLoop *loop;
  guint tries;  /* atomic */
  gint endless; /* atomic: all was taken */
  guint status;
  char *said;
} Peer;

static gboolean
on_watchdog (gpointer user_data G_GNUC_UNUSED)
{
  g_error ("no answer was told");
  return G_SOURCE_REMOVE;
}

/* In a thread of its own: answers without reading, until nobody takes more. */
static gboolean
on_run (GThreadedSocketService *service G_GNUC_UNUSED,
        GSocketConnection *connection,
        GObject *source G_GNUC_UNUSED,
        gpointer user_data)
{
  Peer *self = user_data;
  GOutputStream *out = g_io_stream_get_output_stream (G_IO_STREAM (connection));
  g_autofree char *zeros = g_strnfill (65536, '0');
  g_autofree char *piece
      = self->is_chunked ? g_strdup_printf ("10000\r\n%s\r\n", zeros) : g_strdup (zeros);
  gsize sent = 0;
  gboolean ok = g_output_stream_write_all (out, self->head, strlen (self->head), NULL, NULL, NULL);

  g_atomic_int_inc ((gint *) &self->tries);
  while (ok && sent < MAX_SENT)
    {
      ok = g_output_stream_write_all (out, piece, strlen (piece), NULL, NULL, NULL);
      sent += strlen (zeros);
    }
  if (ok)
    g_atomic_int_set (&self->endless, 1);
  return TRUE;
}

static void
on_done (guint status, DbrJson body G_GNUC_UNUSED, const GError *error, gpointer user_data)
{
  Peer *self = user_data;

  self->status = status;
  self->said = g_strdup (error ? error->message : NULL);
  g_main_loop_quit (self->loop);
}

static void
ask (Peer *self)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (SrvClient) client = srv_client_new (self->path, NULL, NULL, "token", &error);
  guint watchdog = g_timeout_add_seconds (WATCHDOG_S, on_watchdog, NULL);

  g_assert_no_error (error);
  self->loop = g_main_loop_new (NULL, FALSE);
  srv_client_post (client, "/v1/jobs/claim", json_object (), WATCHDOG_S, on_done, self);
  g_main_loop_run (self->loop);
  g_main_loop_unref (self->loop);
  g_source_remove (watchdog);
}

static void
test_too_much (gconstpointer data)
{
  Peer self = { .head = data, .is_chunked = strstr (data, "chunked") != NULL };
  g_autoptr (GError) error = NULL;
  g_autoptr (GSocketAddress) address = NULL;
  g_autofree char *wanted = NULL;

  self.folder = g_dir_make_tmp ("dbr-client-XXXXXX", &error);
  g_assert_no_error (error);
  self.path = g_build_filename (self.folder, "sock", NULL);
  address = g_unix_socket_address_new (self.path);
  self.service = g_threaded_socket_service_new (2);
  g_socket_listener_add_address (G_SOCKET_LISTENER (self.service), address, G_SOCKET_TYPE_STREAM,
                                 G_SOCKET_PROTOCOL_DEFAULT, NULL, NULL, &error);
  g_assert_no_error (error);
  g_signal_connect (self.service, "run", G_CALLBACK (on_run), &self);
  ask (&self);
  wanted = g_strdup_printf (
      "what answers at unix:%s is no engine: it sends more than 4194304 bytes", self.path);
  g_assert_cmpstr (self.said, ==, wanted);
  g_assert_cmpuint (self.status, ==, 0);
  g_assert_cmpint (g_atomic_int_get (&self.endless), ==, 0);
  g_assert_cmpint (g_atomic_int_get ((gint *) &self.tries), ==, 1);
  g_socket_service_stop (self.service);
  g_socket_listener_close (G_SOCKET_LISTENER (self.service));
  g_object_unref (self.service);
  g_unlink (self.path);
  g_assert_cmpint (g_rmdir (self.folder), ==, 0);
  g_free (self.path);
  g_free (self.folder);
  g_free (self.said);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/client/long",
                        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                        "Content-Length: 99999999\r\n\r\n",
                        test_too_much);
  g_test_add_data_func ("/client/endless",
                        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                        "Transfer-Encoding: chunked\r\n\r\n",
                        test_too_much);
  g_test_add_data_func (
      "/client/until-closed",
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n",
      test_too_much);
  return g_test_run ();
}
