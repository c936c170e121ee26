/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stub: a small HTTP/1.1 keep-alive server on loopback, one thread, epoll.
 *
 *   stub [--delay-ms N]      prints `port N`, serves until its stdin ends
 *
 * A delay is a timer, so requests wait side by side. Of a request line, Authorization, Accept and
 * Content-Length are read, nothing else. A long log is made 60 kB at a time while it is sent.
 */
#include "config.h"

#include "bench/stub.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define MAX_REQUEST 65536
#define CHUNK 61440

typedef struct Connection Connection;
struct Connection
{
  int fd;
  bool is_busy;    /* owes an answer: what came after its request waits in `in` */
  bool is_counted; /* that request counts */
  bool is_blocked; /* the peer does not read: EPOLLOUT is asked for */
  BenchText in, out;
  size_t n_sent;
  StubAnswer stream; /* while a body is made: n_records or n_bytes is not 0 */
  long n_made;       /* its records so far */
  double due_ms;
  Connection *next_due, *previous_due;
  bool is_due;
};

static struct
{
  long requests, connections, sign_ins, in_flight, max_in_flight, trips, bytes;
} counts;
static double delay_ms;
static int loop, timer;
static Connection *first_due, *last_due;

static void
die (const char *what)
{
  fprintf (stderr, "stub: %s: %s\n", what, strerror (errno));
  exit (2);
}

static void
connection_read (Connection *connection);

/* --------------------------------------------------------------------------------------- timers */

static void
timer_set (void)
{
  struct itimerspec spec = { 0 };

  if (first_due)
    {
      double ms = fmax (first_due->due_ms, 0.001);

      spec.it_value.tv_sec = (time_t) (ms / 1e3);
      spec.it_value.tv_nsec = (long) ((ms - (double) spec.it_value.tv_sec * 1e3) * 1e6);
    }
  timerfd_settime (timer, TFD_TIMER_ABSTIME, &spec, NULL);
}

static void
timer_add (Connection *connection)
{
  Connection *before = last_due;

  connection->due_ms = bench_now_ms () + delay_ms;
  while (before && before->due_ms > connection->due_ms)
    before = before->previous_due;
  connection->previous_due = before;
  connection->next_due = before ? before->next_due : first_due;
  *(before ? &before->next_due : &first_due) = connection;
  *(connection->next_due ? &connection->next_due->previous_due : &last_due) = connection;
  connection->is_due = true;
  if (first_due == connection)
    timer_set ();
}

static void
timer_remove (Connection *connection)
{
  if (!connection->is_due)
    return;
  *(connection->previous_due ? &connection->previous_due->next_due : &first_due)
      = connection->next_due;
  *(connection->next_due ? &connection->next_due->previous_due : &last_due)
      = connection->previous_due;
  connection->is_due = false;
}

/* ---------------------------------------------------------------------------------- connections */

static void
answer_done (Connection *connection)
{
  if (connection->is_busy && connection->is_counted)
    counts.in_flight--;
  connection->is_busy = false;
}

static void
connection_free (Connection *connection)
{
  answer_done (connection);
  timer_remove (connection);
  close (connection->fd);
  bench_text_clear (&connection->in);
  bench_text_clear (&connection->out);
  bench_text_clear (&connection->stream.body);
  free (connection);
}

static void
connection_watch (Connection *connection, bool is_blocked)
{
  struct epoll_event event
      = { .events = EPOLLIN | (is_blocked ? EPOLLOUT : 0), .data.ptr = connection };

  if (connection->is_blocked == is_blocked)
    return;
  connection->is_blocked = is_blocked;
  epoll_ctl (loop, EPOLL_CTL_MOD, connection->fd, &event);
}

/* The next chunk of a body that is made while it is sent. */
static void
stream_fill (Connection *connection)
{
  StubAnswer *stream = &connection->stream;
  BenchText *data = &stream->body;
  bool is_last = false;

  while (data->length < CHUNK && !is_last)
    {
      is_last = stream->n_records ? connection->n_made + 1 >= stream->n_records
                                  : stream->n_bytes - (long) data->length <= 0;
      stub_airflow_add_record (data, connection->n_made++, stream->is_ndjson, is_last);
    }
  if (stream->n_bytes)
    stream->n_bytes = is_last ? 0
                      : stream->n_bytes > (long) data->length
                          ? stream->n_bytes - (long) data->length
                          : 1;
  else if (is_last)
    stream->n_records = 0;
  connection->out.length = connection->n_sent = 0;
  bench_text_printf (&connection->out, "%zx\r\n", data->length);
  bench_text_add (&connection->out, data->bytes, data->length);
  bench_text_printf (&connection->out, "\r\n%s", is_last ? "0\r\n\r\n" : "");
  data->length = 0;
}

/* Sends what it can; FALSE when the connection is gone. */
static bool
connection_send (Connection *connection)
{
  for (;;)
    {
      ssize_t n;

      if (connection->n_sent == connection->out.length)
        {
          if (!connection->stream.n_records && !connection->stream.n_bytes)
            break;
          stream_fill (connection);
        }
      n = send (connection->fd, connection->out.bytes + connection->n_sent,
                connection->out.length - connection->n_sent, MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0 && errno == EAGAIN)
        {
          connection_watch (connection, true);
          return true;
        }
      if (n < 0)
        {
          connection_free (connection);
          return false;
        }
      connection->n_sent += (size_t) n;
      counts.bytes += n;
    }
  connection->out.length = connection->n_sent = 0;
  connection_watch (connection, false);
  answer_done (connection);
  return true;
}

/* -------------------------------------------------------------------------------------- answers */

static const char *
reason (int status)
{
  switch (status)
    {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 401:
      return "Unauthorized";
    case 404:
      return "Not Found";
    default:
      return "Refused";
    }
}

static void
answer_put (Connection *connection, StubAnswer *answer)
{
  bool is_stream = answer->n_records || answer->n_bytes;

  bench_text_printf (&connection->out,
                     "HTTP/1.1 %d %s\r\ncontent-type: %s\r\nvary: Accept-Encoding\r\n",
                     answer->status, reason (answer->status), answer->content_type);
  if (is_stream)
    bench_text_printf (&connection->out, "transfer-encoding: chunked\r\n\r\n");
  else
    {
      bench_text_printf (&connection->out, "content-length: %zu\r\n\r\n", answer->body.length);
      bench_text_add (&connection->out, answer->body.bytes, answer->body.length);
      bench_text_clear (&answer->body);
    }
  connection->stream = *answer;
  connection->n_made = 0;
}

static void
answer_control (const StubRequest *request, StubAnswer *answer)
{
  const char *delay = strstr (request->query, "delay_ms=");

  *answer = (StubAnswer){ .status = 200, .content_type = "application/json" };
  if (!strcmp (request->path, "/__set") && delay)
    delay_ms = atof (delay + 9);
  bench_text_printf (&answer->body,
                     "{\"requests\":%ld,\"connections\":%ld,\"sign_ins\":%ld,\"in_flight\":%ld,"
                     "\"max_in_flight\":%ld,\"trips\":%ld,\"bytes\":%ld,\"delay_ms\":%g}\n",
                     counts.requests, counts.connections, counts.sign_ins, counts.in_flight,
                     counts.max_in_flight, counts.trips, counts.bytes, delay_ms);
  if (!strcmp (request->path, "/__reset"))
    {
      counts.requests = counts.connections = counts.sign_ins = counts.trips = counts.bytes = 0;
      counts.max_in_flight = counts.in_flight;
    }
}

/* A trip begins when a request comes while none is in flight. */
static void
count (const StubRequest *request)
{
  counts.requests++;
  if (!strcmp (request->path, "/auth/token"))
    counts.sign_ins++;
  if (counts.in_flight++ == 0)
    counts.trips++;
  if (counts.in_flight > counts.max_in_flight)
    counts.max_in_flight = counts.in_flight;
}

static const char *
header (const char *head, const char *name)
{
  size_t n_name = strlen (name);

  for (const char *line = strstr (head, "\r\n"); line; line = strstr (line + 2, "\r\n"))
    if (!strncasecmp (line + 2, name, n_name) && line[2 + n_name] == ':')
      return line + 3 + n_name + strspn (line + 3 + n_name, " ");
  return NULL;
}

/* Takes one request out of what came, if it is whole; FALSE when the connection is gone. */
static bool
request_take (Connection *connection, bool *out_taken)
{
  char *end = connection->in.length
                  ? memmem (connection->in.bytes, connection->in.length, "\r\n\r\n", 4)
                  : NULL;
  char method[16], target[8192], *query;
  const char *length, *token, *accept;
  size_t n_whole;
  StubRequest request = { .method = method, .path = target, .query = "" };
  StubAnswer answer;

  *out_taken = false;
  if (!end)
    return true;
  end[2] = 0; /* the last header line keeps its end */
  length = header (connection->in.bytes, "content-length");
  n_whole = (size_t) (end + 4 - connection->in.bytes) + (length ? strtoul (length, NULL, 10) : 0);
  if (n_whole > connection->in.length)
    {
      end[2] = '\r';
      return true;
    }
  if (sscanf (connection->in.bytes, "%15s %8191s HTTP/1.1", method, target) != 2)
    {
      connection_free (connection);
      return false;
    }
  query = strchr (target, '?');
  if (query)
    {
      *query = 0;
      request.query = query + 1;
    }
  token = header (connection->in.bytes, "authorization");
  request.has_token = token && !strncasecmp (token, "bearer ", 7);
  accept = header (connection->in.bytes, "accept");
  request.wants_ndjson = accept && !strncasecmp (accept, "application/x-ndjson", 20);
  bench_text_drop (&connection->in, n_whole);
  connection->is_busy = *out_taken = true;
  connection->is_counted = strncmp (target, "/__", 3) != 0;
  if (connection->is_counted)
    {
      count (&request);
      stub_airflow_answer (&request, &answer);
    }
  else
    answer_control (&request, &answer);
  answer_put (connection, &answer);
  if (connection->is_counted && delay_ms > 0)
    {
      timer_add (connection);
      return true;
    }
  return connection_send (connection);
}

static void
connection_serve (Connection *connection)
{
  bool taken = true;

  while (taken && !connection->is_busy)
    if (!request_take (connection, &taken))
      return;
}

static void
connection_read (Connection *connection)
{
  ssize_t n;

  bench_text_reserve (&connection->in, 4096);
  n = recv (connection->fd, connection->in.bytes + connection->in.length,
            connection->in.capacity - connection->in.length, 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR))
    return;
  if (n <= 0 || connection->in.length > MAX_REQUEST)
    {
      connection_free (connection);
      return;
    }
  connection->in.length += (size_t) n;
  connection_serve (connection);
}

static void
timer_fire (void)
{
  unsigned long long n_fired;
  double now = bench_now_ms ();

  if (read (timer, &n_fired, sizeof n_fired) < 0 && errno != EAGAIN)
    die ("timer");
  while (first_due && first_due->due_ms <= now)
    {
      Connection *connection = first_due;

      timer_remove (connection);
      if (connection_send (connection))
        connection_serve (connection);
    }
  timer_set ();
}

/* ------------------------------------------------------------------------------------- the loop */

static int
listen_on_loopback (void)
{
  struct sockaddr_in address
      = { .sin_family = AF_INET, .sin_addr.s_addr = htonl (INADDR_LOOPBACK) };
  socklen_t n_address = sizeof address;
  int fd = socket (AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

  if (fd < 0 || bind (fd, (struct sockaddr *) &address, sizeof address) < 0 || listen (fd, 512) < 0
      || getsockname (fd, (struct sockaddr *) &address, &n_address) < 0)
    die ("listen");
  printf ("port %d\n", ntohs (address.sin_port));
  fflush (stdout);
  return fd;
}

static void
accept_all (int listener)
{
  int fd;

  while ((fd = accept4 (listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0)
    {
      Connection *connection = bench_allocate (sizeof *connection);
      struct epoll_event event = { .events = EPOLLIN, .data.ptr = connection };

      setsockopt (fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof (int));
      connection->fd = fd;
      counts.connections++;
      if (epoll_ctl (loop, EPOLL_CTL_ADD, fd, &event) < 0)
        die ("epoll");
    }
}

static void
watch (int fd, void *tag)
{
  struct epoll_event event = { .events = EPOLLIN, .data.ptr = tag };

  if (epoll_ctl (loop, EPOLL_CTL_ADD, fd, &event) < 0)
    die (fd == 0 ? "stdin must be a pipe: its end ends the stub" : "epoll");
}

static void
connection_event (Connection *connection, unsigned events)
{
  if ((events & EPOLLOUT) && connection->is_blocked)
    {
      if (connection_send (connection))
        connection_serve (connection);
    }
  else
    connection_read (connection);
}

int
main (int argc, char **argv)
{
  struct epoll_event events[64];
  int listener;

  if (argc == 3 && !strcmp (argv[1], "--delay-ms"))
    delay_ms = atof (argv[2]);
  else if (argc != 1)
    {
      fputs ("usage: stub [--delay-ms N]\n", stderr);
      return 2;
    }
  stub_airflow_prepare ();
  signal (SIGPIPE, SIG_IGN);
  loop = epoll_create1 (EPOLL_CLOEXEC);
  timer = timerfd_create (CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  listener = listen_on_loopback ();
  watch (listener, &listener);
  watch (timer, &timer);
  watch (0, &loop);
  for (;;)
    {
      bool is_timed = false;
      int n = epoll_wait (loop, events, 64, -1);

      for (int i = 0; i < n; i++)
        if (events[i].data.ptr == &listener)
          accept_all (listener);
        else if (events[i].data.ptr == &timer)
          is_timed = true;
        else if (events[i].data.ptr != &loop)
          connection_event (events[i].data.ptr, events[i].events);
        else if (read (0, (char[256]){ 0 }, 256) <= 0)
          return 0;
      if (is_timed) /* after the events: it may free a connection that one of them names */
        timer_fire ();
    }
}
