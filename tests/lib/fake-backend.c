/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake-backend: sockets, threads and scripts.
 *
 * One lock guards scripts and records. Stopping shuts every socket down, which ends whatever a
 * thread waits for.
 */
#include "config.h"

#include "fake-backend.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define MAX_REQUEST_BYTES (16u << 20)
#define AWAIT_US (20 * G_TIME_SPAN_SECOND)

typedef struct
{
  char *method;
  char *path;
  FakeAnswer answer;
} Script;

typedef struct
{
  FakeBackend *backend;
  GThread *thread;
  int fd;
  guint number;
  GByteArray *in;
} Connection;

struct _FakeBackend
{
  int fd;
  guint port;
  char *unix_path;
  GThread *acceptor;
  GMutex lock;
  GMutex handler_lock;
  GCond changed;
  guint n_accepted;
  gboolean is_stopping;
  GPtrArray *connections; /* of Connection; the acceptor's, until it has ended */
  GPtrArray *requests;    /* of FakeRequest */
  GPtrArray *scripts;     /* of Script */
  FakeHandler handler;
  gpointer user_data;
};

/* ---------------------------------------------------------------- answers */

static char *
dup_bytes (const char *bytes, gssize *len)
{
  gsize n;
  char *copy;

  if (bytes == NULL)
    return NULL;
  n = *len > 0 ? (gsize) *len : strlen (bytes);
  copy = g_malloc (n + 1);
  memcpy (copy, bytes, n);
  copy[n] = '\0';
  *len = (gssize) n;
  return copy;
}

static void
script_free (gpointer data)
{
  Script *script = data;

  g_free (script->method);
  g_free (script->path);
  g_free ((gpointer) (gsize) script->answer.headers);
  g_free ((gpointer) (gsize) script->answer.body);
  g_free ((gpointer) (gsize) script->answer.raw);
  g_free ((gpointer) (gsize) script->answer.unit);
  g_free ((gpointer) (gsize) script->answer.end);
  g_free (script);
}

void
fake_backend_script (FakeBackend *self,
                     const char *method,
                     const char *path,
                     const FakeAnswer *answer)
{
  Script *script = g_new0 (Script, 1);

  script->method = g_strdup (method);
  script->path = g_strdup (path);
  script->answer = *answer;
  script->answer.headers = g_strdup (answer->headers);
  script->answer.body = dup_bytes (answer->body, &script->answer.body_len);
  script->answer.raw = dup_bytes (answer->raw, &script->answer.raw_len);
  script->answer.unit = g_strdup (answer->unit);
  script->answer.end = g_strdup (answer->end);
  if (script->answer.times == 0)
    script->answer.times = 1;
  g_mutex_lock (&self->lock);
  g_ptr_array_add (self->scripts, script);
  g_mutex_unlock (&self->lock);
}

static const char *
reason_of (guint status)
{
  switch (status)
    {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 204:
      return "No Content";
    case 401:
      return "Unauthorized";
    case 404:
      return "Not Found";
    default:
      return "Status";
    }
}

static void
append_chunked (GString *out, const char *body, gsize len)
{
  while (len > 0)
    {
      gsize n = MIN (len, 4096);

      g_string_append_printf (out, "%" G_GSIZE_MODIFIER "x\r\n", n);
      g_string_append_len (out, body, (gssize) n);
      g_string_append (out, "\r\n");
      body += n;
      len -= n;
    }
  g_string_append (out, "0\r\n\r\n");
}

static GString *
render (const FakeAnswer *answer)
{
  GString *out = g_string_new (NULL);
  guint status = answer->status != 0 ? answer->status : 200;
  gsize len = 0;

  if (answer->raw != NULL)
    {
      len = answer->raw_len > 0 ? (gsize) answer->raw_len : strlen (answer->raw);
      return g_string_append_len (out, answer->raw, (gssize) len);
    }
  if (answer->body != NULL)
    len = answer->body_len > 0 ? (gsize) answer->body_len : strlen (answer->body);
  g_string_append_printf (out, "HTTP/1.1 %u %s\r\n", status, reason_of (status));
  if (answer->headers == NULL || strcasestr (answer->headers, "content-type:") == NULL)
    g_string_append (out, "Content-Type: application/json\r\n");
  if (answer->headers != NULL)
    g_string_append (out, answer->headers);
  if (answer->chunked)
    g_string_append (out, "Transfer-Encoding: chunked\r\n");
  else if (!answer->no_length && answer->unit == NULL && status != 204)
    g_string_append_printf (out, "Content-Length: %" G_GSIZE_FORMAT "\r\n", len);
  g_string_append (out, "\r\n");
  if (answer->chunked)
    append_chunked (out, answer->body, len);
  else if (len > 0)
    g_string_append_len (out, answer->body, (gssize) len);
  return out;
}

/* ----------------------------------------------------------------- sending */

static gboolean
send_all (Connection *self, const char *bytes, gsize len)
{
  while (len > 0)
    {
      ssize_t n = send (self->fd, bytes, len, MSG_NOSIGNAL);

      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0)
        return FALSE;
      bytes += n;
      len -= (gsize) n;
    }
  return TRUE;
}

/* FALSE when the backend stops before. */
static gboolean
pause_ms (FakeBackend *backend, guint ms)
{
  gint64 until = g_get_monotonic_time () + ms * (gint64) G_TIME_SPAN_MILLISECOND;
  gboolean stopping;

  if (ms == 0)
    return TRUE;
  g_mutex_lock (&backend->lock);
  while (!backend->is_stopping && g_get_monotonic_time () < until)
    g_cond_wait_until (&backend->changed, &backend->lock, until);
  stopping = backend->is_stopping;
  g_mutex_unlock (&backend->lock);
  return !stopping;
}

static void
wait_until_client_goes (Connection *self)
{
  char byte;
  ssize_t n;

  do
    n = recv (self->fd, &byte, 1, 0);
  while (n > 0 || (n < 0 && errno == EINTR));
}

static gboolean
send_units (Connection *self, const FakeAnswer *answer)
{
  g_autoptr (GString) block = g_string_new (NULL);
  const char *mark = strstr (answer->unit, "{i}");

  for (guint64 i = 0; i < answer->count; i++)
    {
      if (mark == NULL)
        g_string_append (block, answer->unit);
      else
        {
          g_string_append_len (block, answer->unit, mark - answer->unit);
          g_string_append_printf (block, "%" G_GUINT64_FORMAT, i);
          g_string_append (block, mark + 3);
        }
      if (block->len < 65536)
        continue;
      if (!send_all (self, block->str, block->len))
        return FALSE;
      g_string_truncate (block, 0);
    }
  if (answer->end != NULL)
    g_string_append (block, answer->end);
  return send_all (self, block->str, block->len);
}

/* FALSE: the connection is done with. */
static gboolean
play (Connection *self, const FakeAnswer *answer)
{
  g_autoptr (GString) out = render (answer);
  struct linger abort_it = { 1, 0 };

  if (answer->mode == FAKE_DRIP)
    {
      for (gsize i = 0; i < out->len; i++)
        if (!pause_ms (self->backend, MAX (answer->delay_ms, 1))
            || !send_all (self, out->str + i, 1))
          return FALSE;
      return TRUE;
    }
  if (!pause_ms (self->backend, answer->delay_ms))
    return FALSE;
  if (answer->mode == FAKE_KEEP || answer->mode == FAKE_CLOSE)
    {
      if (!send_all (self, out->str, out->len))
        return FALSE;
      if (answer->unit != NULL)
        return send_units (self, answer) && FALSE;
      return answer->mode == FAKE_KEEP && !answer->no_length;
    }
  send_all (self, out->str, MIN (answer->at, out->len));
  if (answer->mode == FAKE_STALL)
    wait_until_client_goes (self);
  else if (answer->mode == FAKE_RESET)
    setsockopt (self->fd, SOL_SOCKET, SO_LINGER, &abort_it, sizeof abort_it);
  return FALSE;
}

/* --------------------------------------------------------------- receiving */

static void
request_free (gpointer data)
{
  FakeRequest *request = data;

  g_free (request->method);
  g_free (request->target);
  g_free (request->head);
  g_bytes_unref (request->body);
  g_free (request);
}

static FakeRequest *
request_copy (const FakeRequest *request)
{
  FakeRequest *copy = g_new0 (FakeRequest, 1);

  copy->connection = request->connection;
  copy->method = g_strdup (request->method);
  copy->target = g_strdup (request->target);
  copy->head = g_strdup (request->head);
  copy->body = g_bytes_ref (request->body);
  return copy;
}

char *
fake_request_header (const FakeRequest *request, const char *name, guint *out_n)
{
  g_auto (GStrv) lines = g_strsplit (request->head, "\r\n", -1);
  gsize len = strlen (name);
  char *value = NULL;
  guint n = 0;

  for (guint i = 0; lines[i] != NULL; i++)
    if (g_ascii_strncasecmp (lines[i], name, len) == 0 && lines[i][len] == ':' && n++ == 0)
      value = g_strstrip (g_strdup (lines[i] + len + 1));
  if (out_n != NULL)
    *out_n = n;
  return value;
}

static gboolean
receive_more (Connection *self)
{
  guint8 buffer[65536];
  ssize_t n;

  do
    n = recv (self->fd, buffer, sizeof buffer, 0);
  while (n < 0 && errno == EINTR);
  if (n <= 0 || self->in->len + (gsize) n > MAX_REQUEST_BYTES)
    return FALSE;
  g_byte_array_append (self->in, buffer, (guint) n);
  return TRUE;
}

/* One whole request taken off the connection's input, or NULL at its end. Chunked requests are not
 * understood: nobody here sends one. */
static FakeRequest *
receive (Connection *self)
{
  FakeRequest *request;
  const char *end;
  gsize head_len, body_len;
  g_autofree char *length = NULL;
  g_auto (GStrv) words = NULL;

  while ((end = self->in->len > 0 ? memmem (self->in->data, self->in->len, "\r\n\r\n", 4) : NULL)
         == NULL)
    if (!receive_more (self))
      return NULL;
  head_len = (gsize) (end + 4 - (const char *) self->in->data);
  request = g_new0 (FakeRequest, 1);
  request->connection = self->number;
  request->head = g_strndup ((const char *) self->in->data, head_len);
  words = g_strsplit_set (request->head, " \r", 3);
  request->method = g_strdup (words[0] != NULL ? words[0] : "");
  request->target = g_strdup (words[0] != NULL && words[1] != NULL ? words[1] : "");
  length = fake_request_header (request, "content-length", NULL);
  body_len = length != NULL ? (gsize) g_ascii_strtoull (length, NULL, 10) : 0;
  while (self->in->len < head_len + body_len)
    if (!receive_more (self))
      {
        request->body = g_bytes_new (NULL, 0);
        request_free (request);
        return NULL;
      }
  request->body = g_bytes_new (self->in->data + head_len, body_len);
  g_byte_array_remove_range (self->in, 0, (guint) (head_len + body_len));
  return request;
}

static gboolean
fits (const Script *script, const FakeRequest *request)
{
  gsize len = strcspn (request->target, "?");

  if (!g_str_equal (script->method, "*") && !g_str_equal (script->method, request->method))
    return FALSE;
  return g_str_equal (script->path, "*")
         || (strlen (script->path) == len && strncmp (script->path, request->target, len) == 0);
}

/* Under the lock. */
static Script *
take_script (FakeBackend *self, const FakeRequest *request)
{
  for (guint i = 0; i < self->scripts->len; i++)
    {
      Script *script = g_ptr_array_index (self->scripts, i);

      if (script->answer.times > 0 && fits (script, request))
        {
          if (script->answer.times != G_MAXUINT)
            script->answer.times--;
          return script;
        }
    }
  return NULL;
}

static gboolean
answer_one (Connection *self, FakeRequest *request)
{
  FakeBackend *backend = self->backend;
  FakeAnswer answer = { .status = 404, .body = "{\"detail\":\"Not Found\"}" };
  gboolean is_internal = g_str_has_prefix (request->target, "/__");
  Script *script;

  g_mutex_lock (&backend->lock);
  script = is_internal ? NULL : take_script (backend, request);
  if (!is_internal)
    g_ptr_array_add (backend->requests, request_copy (request));
  g_cond_broadcast (&backend->changed);
  /* Scripts are only freed when all threads are gone, so the answer may be read without the lock.
   */
  if (script != NULL)
    answer = script->answer;
  g_mutex_unlock (&backend->lock);
  if (script == NULL && backend->handler != NULL)
    {
      g_mutex_lock (&backend->handler_lock);
      backend->handler (request, &answer, backend->user_data);
      g_mutex_unlock (&backend->handler_lock);
    }
  request_free (request);
  return play (self, &answer);
}

static gpointer
serve (gpointer data)
{
  Connection *self = data;
  FakeRequest *request;

  while ((request = receive (self)) != NULL && answer_one (self, request))
    ;
  g_mutex_lock (&self->backend->lock);
  close (self->fd);
  self->fd = -1;
  g_mutex_unlock (&self->backend->lock);
  return NULL;
}

static void
connection_free (Connection *self)
{
  g_thread_join (self->thread);
  g_byte_array_unref (self->in);
  g_free (self);
}

/* Threads that have ended keep their stacks until they are joined. */
static void
reap (FakeBackend *self)
{
  for (guint i = self->connections->len; i > 0; i--)
    {
      Connection *connection = g_ptr_array_index (self->connections, i - 1);
      gboolean is_over;

      g_mutex_lock (&self->lock);
      is_over = connection->fd < 0;
      g_mutex_unlock (&self->lock);
      if (!is_over)
        continue;
      g_ptr_array_remove_index_fast (self->connections, i - 1);
      connection_free (connection);
    }
}

static gpointer
accept_all (gpointer data)
{
  FakeBackend *self = data;
  int fd;

  while ((fd = accept (self->fd, NULL, NULL)) >= 0 || errno == EINTR || errno == ECONNABORTED)
    {
      Connection *connection;
      int on = 1;

      if (fd < 0)
        continue;
      setsockopt (fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      connection = g_new0 (Connection, 1);
      connection->backend = self;
      connection->fd = fd;
      connection->in = g_byte_array_new ();
      connection->number = ++self->n_accepted;
      g_ptr_array_add (self->connections, connection);
      reap (self);
      connection->thread = g_thread_new ("fake-connection", serve, connection);
    }
  return NULL;
}

/* --------------------------------------------------------------- life time */

static int
listen_on (FakeBackend *self, const char *where)
{
  struct sockaddr_in v4 = { .sin_family = AF_INET };
  struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
  struct sockaddr_un un = { .sun_family = AF_UNIX };
  gboolean is_v6 = inet_pton (AF_INET6, where, &v6.sin6_addr) == 1;
  gboolean is_v4 = inet_pton (AF_INET, where, &v4.sin_addr) == 1;
  struct sockaddr *address = is_v6   ? (struct sockaddr *) &v6
                             : is_v4 ? (struct sockaddr *) &v4
                                     : (struct sockaddr *) &un;
  socklen_t len = is_v6 ? sizeof v6 : is_v4 ? sizeof v4 : sizeof un;
  int fd = socket (address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int on = 1;

  if (fd < 0)
    return -1;
  if (is_v6)
    setsockopt (fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  if (!is_v6 && !is_v4)
    {
      g_strlcpy (un.sun_path, where, sizeof un.sun_path);
      self->unix_path = g_strdup (where);
    }
  if (bind (fd, address, len) != 0 || listen (fd, 128) != 0 || getsockname (fd, address, &len) != 0)
    {
      close (fd);
      return -1;
    }
  self->port = is_v6 ? ntohs (v6.sin6_port) : is_v4 ? ntohs (v4.sin_port) : 0;
  return fd;
}

FakeBackend *
fake_backend_new (const char *where)
{
  FakeBackend *self = g_new0 (FakeBackend, 1);

  self->fd = listen_on (self, where);
  if (self->fd < 0)
    {
      g_free (self->unix_path);
      g_free (self);
      return NULL;
    }
  g_mutex_init (&self->lock);
  g_mutex_init (&self->handler_lock);
  g_cond_init (&self->changed);
  self->connections = g_ptr_array_new ();
  self->requests = g_ptr_array_new_with_free_func (request_free);
  self->scripts = g_ptr_array_new_with_free_func (script_free);
  self->acceptor = g_thread_new ("fake-acceptor", accept_all, self);
  return self;
}

void
fake_backend_free (FakeBackend *self)
{
  if (self == NULL)
    return;
  g_mutex_lock (&self->lock);
  self->is_stopping = TRUE;
  g_cond_broadcast (&self->changed);
  g_mutex_unlock (&self->lock);
  shutdown (self->fd, SHUT_RDWR); /* ends accept() */
  g_thread_join (self->acceptor);
  close (self->fd);
  for (guint i = 0; i < self->connections->len; i++)
    {
      Connection *connection = g_ptr_array_index (self->connections, i);

      g_mutex_lock (&self->lock);
      if (connection->fd >= 0)
        shutdown (connection->fd, SHUT_RDWR);
      g_mutex_unlock (&self->lock);
      connection_free (connection);
    }
  g_ptr_array_unref (self->connections);
  g_ptr_array_unref (self->requests);
  g_ptr_array_unref (self->scripts);
  if (self->unix_path != NULL)
    unlink (self->unix_path);
  g_free (self->unix_path);
  g_mutex_clear (&self->lock);
  g_mutex_clear (&self->handler_lock);
  g_cond_clear (&self->changed);
  g_free (self);
}

guint
fake_backend_port (const FakeBackend *self)
{
  return self->port;
}

void
fake_backend_set_handler (FakeBackend *self, FakeHandler handler, gpointer user_data)
{
  self->handler = handler;
  self->user_data = user_data;
}

/* ------------------------------------------------------------- what it saw */

GPtrArray *
fake_backend_requests (FakeBackend *self)
{
  GPtrArray *copies = g_ptr_array_new_with_free_func (request_free);

  g_mutex_lock (&self->lock);
  for (guint i = 0; i < self->requests->len; i++)
    {
      const FakeRequest *request = g_ptr_array_index (self->requests, i);

      g_ptr_array_add (copies, request_copy (request));
    }
  g_mutex_unlock (&self->lock);
  return copies;
}

guint
fake_backend_count (FakeBackend *self, const char *method, const char *path)
{
  g_autoptr (GPtrArray) requests = fake_backend_requests (self);
  guint n = 0;

  for (guint i = 0; i < requests->len; i++)
    {
      const FakeRequest *request = g_ptr_array_index (requests, i);
      gsize len = strcspn (request->target, "?");

      if (g_str_equal (request->method, method) && strlen (path) == len
          && strncmp (path, request->target, len) == 0)
        n++;
    }
  return n;
}

void
fake_backend_clear (FakeBackend *self)
{
  g_mutex_lock (&self->lock);
  /* An answer may still be read by a thread: scripts stay, but are used up. */
  for (guint i = 0; i < self->scripts->len; i++)
    ((Script *) g_ptr_array_index (self->scripts, i))->answer.times = 0;
  g_ptr_array_set_size (self->requests, 0);
  g_mutex_unlock (&self->lock);
}

gboolean
fake_backend_await (FakeBackend *self, guint n)
{
  gint64 until = g_get_monotonic_time () + AWAIT_US;
  gboolean ok = TRUE;

  g_mutex_lock (&self->lock);
  while (ok && self->requests->len < n)
    ok = g_cond_wait_until (&self->changed, &self->lock, until);
  g_mutex_unlock (&self->lock);
  return ok;
}
