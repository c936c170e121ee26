/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load: measures an MCP server on stdio from outside. Prints one JSON object.
 *
 *   load start [-n SPAWNS] -- SERVER [ARGUMENT]...
 *       spawn to the answer of tools/list, with an initialize before it, for each spawn
 *   load calls [-n CALLS] [-k IN_FLIGHT] [-w WARM_UP] -t TOOL [-a ARGUMENTS] -- SERVER
 * [ARGUMENT]... latency, throughput, CPU, memory (PSS idle and after, resident before and at its
 * peak during the measured calls), size of the answer
 *
 * Times are of the moment when the last byte of a line was read. CPU is the server's own clock
 * (user and system). Answers are matched by id; anything without a known id is passed over.
 */
#include "config.h"

#include "bench/bench-text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_CALLS 1000000

extern char **environ;

typedef struct
{
  pid_t pid;
  int to, from;
  clockid_t cpu;
  BenchText in;
  size_t n_line; /* the line read last, still at the start of `in` */
} Server;

typedef struct
{
  long n_calls, n_in_flight, n_warm_up;
  const char *tool, *arguments, *warm_up_arguments;
  char **command;
} Options;

typedef struct
{
  double *took_ms;
  long n_errors, n_text_bytes, n_line_bytes;
  BenchText text; /* the first answer, as JSON wrote it */
} Answers;

static void
die (const char *what)
{
  fprintf (stderr, "load: %s\n", what);
  exit (2);
}

/* --------------------------------------------------------------------------------- the server */

static void
server_start (Server *server, char **command)
{
  posix_spawn_file_actions_t actions;
  int to[2], from[2];

  *server = (Server){ 0 };
  if (pipe2 (to, O_CLOEXEC) < 0 || pipe2 (from, O_CLOEXEC) < 0)
    die ("no pipe");
  posix_spawn_file_actions_init (&actions);
  posix_spawn_file_actions_adddup2 (&actions, to[0], 0);
  posix_spawn_file_actions_adddup2 (&actions, from[1], 1);
  if (posix_spawnp (&server->pid, command[0], &actions, NULL, command, environ) != 0)
    die ("the server cannot be started");
  posix_spawn_file_actions_destroy (&actions);
  close (to[0]);
  close (from[1]);
  server->to = to[1];
  server->from = from[0];
  if (clock_getcpuclockid (server->pid, &server->cpu) != 0)
    die ("the server has no CPU clock");
}

static void
server_send (Server *server, const BenchText *line)
{
  for (size_t n_sent = 0; n_sent < line->length;)
    {
      ssize_t n = write (server->to, line->bytes + n_sent, line->length - n_sent);

      if (n < 0 && errno != EINTR)
        die ("the server does not read");
      n_sent += n > 0 ? (size_t) n : 0;
    }
}

/* Waits for the next line; valid until the next call. Its length holds no LF. */
static const char *
server_read_line (Server *server)
{
  size_t n_scanned = 0;

  bench_text_drop (&server->in, server->n_line);
  server->n_line = 0;
  for (;;)
    {
      char *end = server->in.length > n_scanned
                      ? memchr (server->in.bytes + n_scanned, '\n', server->in.length - n_scanned)
                      : NULL;
      ssize_t n;

      if (end)
        {
          *end = 0;
          server->n_line = (size_t) (end + 1 - server->in.bytes);
          return server->in.bytes;
        }
      n_scanned = server->in.length;
      bench_text_reserve (&server->in, 65536);
      n = read (server->from, server->in.bytes + server->in.length,
                server->in.capacity - server->in.length);
      if (n == 0)
        die ("the server ended");
      if (n < 0 && errno != EINTR)
        die ("the server cannot be read");
      server->in.length += n > 0 ? (size_t) n : 0;
    }
}

static double
server_cpu_ms (const Server *server)
{
  struct timespec used;

  if (clock_gettime (server->cpu, &used) < 0)
    die ("the server ended");
  return (double) used.tv_sec * 1e3 + (double) used.tv_nsec / 1e6;
}

/* A kB figure of /proc/PID/@file, as bytes; 0 when it is not there. */
static long
server_memory (const Server *server, const char *file, const char *key)
{
  char path[64], line[256];
  long kb = 0;
  FILE *stream;

  snprintf (path, sizeof path, "/proc/%d/%s", (int) server->pid, file);
  stream = fopen (path, "re");
  while (stream && fgets (line, sizeof line, stream))
    if (!strncmp (line, key, strlen (key)) && line[strlen (key)] == ':')
      kb = atol (line + strlen (key) + 1);
  if (stream)
    fclose (stream);
  return kb * 1024;
}

/* Makes the peak begin at what is resident now. */
static void
server_reset_peak (const Server *server)
{
  char path[64];
  FILE *stream;

  snprintf (path, sizeof path, "/proc/%d/clear_refs", (int) server->pid);
  stream = fopen (path, "we");
  if (stream)
    {
      fputs ("5", stream);
      fclose (stream);
    }
}

static void
server_end (Server *server)
{
  int status;

  close (server->to);
  while (read (server->from, (char[4096]){ 0 }, 4096) > 0)
    ;
  close (server->from);
  while (waitpid (server->pid, &status, 0) < 0 && errno == EINTR)
    ;
  bench_text_clear (&server->in);
}

/* --------------------------------------------------------------------------------- the protocol */

/* The id of an answer: a number of ours, or -1. Ours are small numbers at the top level. */
static long
answer_id (const char *line)
{
  static const char usual[] = "{\"jsonrpc\":\"2.0\",\"id\":";
  int depth = 0;

  if (!strncmp (line, usual, sizeof usual - 1))
    return atol (line + sizeof usual - 1);
  for (const char *at = line; *at; at++)
    if (*at == '"')
      {
        if (depth == 1 && !strncmp (at, "\"id\":", 5) && at[5 + strspn (at + 5, " ")] != '"')
          return atol (at + 5);
        for (at++; *at && *at != '"'; at++)
          if (*at == '\\' && at[1])
            at++;
        if (!*at)
          break;
      }
    else if (*at == '{' || *at == '[')
      depth++;
    else if (*at == '}' || *at == ']')
      depth--;
  return -1;
}

static void
server_shake_hands (Server *server)
{
  BenchText line = { 0 };

  bench_text_printf (&line, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
                            "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
                            "\"clientInfo\":{\"name\":\"load\",\"version\":\"1\"}}}\n");
  server_send (server, &line);
  while (answer_id (server_read_line (server)) != 1)
    ;
  line.length = 0;
  bench_text_printf (&line, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"
                            "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}\n");
  server_send (server, &line);
  while (answer_id (server_read_line (server)) != 2)
    ;
  bench_text_clear (&line);
}

/* Where the first text of a result begins, and how long it is in JSON and as text. */
static const char *
answer_text (const char *line, size_t *out_json, long *out_text)
{
  const char *text = strstr (line, "\"text\":\"");
  const char *at;

  *out_json = 0;
  *out_text = 0;
  if (!text)
    return NULL;
  text += 8;
  for (at = text; *at && *at != '"'; at++)
    {
      if (*at == '\\')
        at += at[1] == 'u' ? 5 : 1; /* \u00XX is one byte here, more would be two or three */
      ++*out_text;
    }
  *out_json = (size_t) (at - text);
  return text;
}

/* Keeps as many calls going as the options say until all are answered. */
static void
server_call (Server *server, const Options *options, bool is_warm_up, Answers *answers)
{
  long n_calls = is_warm_up ? options->n_warm_up : options->n_calls;
  const char *arguments
      = is_warm_up && options->warm_up_arguments ? options->warm_up_arguments : options->arguments;
  double *began_ms = bench_allocate (sizeof (double) * (size_t) n_calls);
  BenchText line = { 0 };
  long n_sent = 0, n_done = 0;

  while (n_done < n_calls)
    {
      const char *answer;
      long id;

      line.length = 0;
      while (n_sent < n_calls && n_sent - n_done < options->n_in_flight)
        {
          bench_text_printf (
              &line,
              "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"method\":\"tools/call\",\"params\":{"
              "\"name\":\"%s\",\"arguments\":%s}}\n",
              n_sent + 10, options->tool, arguments);
          began_ms[n_sent++] = bench_now_ms ();
        }
      server_send (server, &line);
      answer = server_read_line (server);
      id = answer_id (answer) - 10;
      if (id < 0 || id >= n_sent || began_ms[id] == 0)
        continue;
      answers->took_ms[n_done++] = bench_now_ms () - began_ms[id];
      began_ms[id] = 0;
      if (strstr (answer, "\"isError\":true"))
        answers->n_errors++;
      if (n_done == 1)
        {
          size_t n_json;
          const char *text = answer_text (answer, &n_json, &answers->n_text_bytes);

          answers->n_line_bytes = (long) server->n_line;
          bench_text_add (&answers->text, text, text ? n_json : 0);
        }
    }
  bench_text_clear (&line);
  free (began_ms);
}

/* ------------------------------------------------------------------------------------- figures */

static int
compare (const void *a, const void *b)
{
  const double *x = a, *y = b;

  return (*x > *y) - (*x < *y);
}

static void
print_list (const char *name, const double *values, long n)
{
  printf ("\"%s\":[", name);
  for (long i = 0; i < n; i++)
    printf ("%s%.3f", i ? "," : "", values[i]);
  printf ("]");
}

static void
measure_start (const Options *options)
{
  size_t n_bytes = sizeof (double) * (size_t) options->n_calls;
  double *took_ms = bench_allocate (n_bytes);
  double *cpu_ms = bench_allocate (n_bytes);

  for (long i = 0; i < options->n_calls; i++)
    {
      Server server;
      double began_ms = bench_now_ms ();

      server_start (&server, options->command);
      server_shake_hands (&server);
      took_ms[i] = bench_now_ms () - began_ms;
      cpu_ms[i] = server_cpu_ms (&server);
      server_end (&server);
    }
  printf ("{");
  print_list ("ms", took_ms, options->n_calls);
  printf (",");
  print_list ("cpu_ms", cpu_ms, options->n_calls);
  printf ("}\n");
  free (took_ms);
  free (cpu_ms);
}

static void
measure_calls (const Options *options)
{
  long n = options->n_calls, pss_idle, before, peak;
  double *took_ms = bench_allocate (sizeof (double) * (size_t) (n + options->n_warm_up));
  Answers warm = { .took_ms = took_ms }, answers = { .took_ms = took_ms };
  double began_ms, wall_ms, cpu_ms;
  Server server;

  server_start (&server, options->command);
  server_shake_hands (&server);
  pss_idle = server_memory (&server, "smaps_rollup", "Pss");
  if (options->n_warm_up)
    server_call (&server, options, true, &warm);
  server_reset_peak (&server);
  before = server_memory (&server, "status", "VmRSS");
  cpu_ms = server_cpu_ms (&server);
  began_ms = bench_now_ms ();
  server_call (&server, options, false, &answers);
  wall_ms = bench_now_ms () - began_ms;
  cpu_ms = server_cpu_ms (&server) - cpu_ms;
  peak = server_memory (&server, "status", "VmHWM");
  qsort (took_ms, (size_t) n, sizeof *took_ms, compare);
  printf ("{\"calls\":%ld,\"in_flight\":%ld,\"errors\":%ld,\"p50_ms\":%.4f,\"p95_ms\":%.4f,"
          "\"min_ms\":%.4f,\"calls_per_s\":%.1f,\"cpu_ms_per_call\":%.5f,",
          n, options->n_in_flight, answers.n_errors + warm.n_errors, took_ms[n / 2],
          took_ms[n * 95 / 100], took_ms[0], (double) n / wall_ms * 1e3, cpu_ms / (double) n);
  printf ("\"pss_idle\":%ld,\"pss_after\":%ld,\"resident_before\":%ld,\"resident_peak\":%ld,"
          "\"text_bytes\":%ld,\"line_bytes\":%ld,\"text\":\"",
          pss_idle, server_memory (&server, "smaps_rollup", "Pss"), before, peak,
          answers.n_text_bytes, answers.n_line_bytes);
  fwrite (answers.text.bytes, 1, answers.text.length, stdout);
  printf ("\"}\n");
  bench_text_clear (&answers.text);
  bench_text_clear (&warm.text);
  server_end (&server);
  free (took_ms);
}

static long
number_of (const char *text)
{
  char *end;
  long value = strtol (text, &end, 10);

  if (*end || value < 0 || value > MAX_CALLS)
    die ("a number from 0 to 1000000 is expected");
  return value;
}

static bool
read_options (int argc, char **argv, Options *options)
{
  int letter;

  *options = (Options){ .n_calls = 10, .n_in_flight = 1, .arguments = "{}" };
  while ((letter = getopt (argc, argv, "+n:k:w:t:a:A:")) != -1)
    switch (letter)
      {
      case 'n':
        options->n_calls = number_of (optarg);
        break;
      case 'k':
        options->n_in_flight = number_of (optarg);
        break;
      case 'w':
        options->n_warm_up = number_of (optarg);
        break;
      case 't':
        options->tool = optarg;
        break;
      case 'a':
        options->arguments = optarg;
        break;
      case 'A':
        options->warm_up_arguments = optarg;
        break;
      default:
        return false;
      }
  options->command = argv + optind;
  return optind < argc && options->n_calls > 0 && options->n_in_flight > 0;
}

int
main (int argc, char **argv)
{
  Options options;
  bool is_start = argc > 1 && !strcmp (argv[1], "start");

  if (argc < 2 || (!is_start && strcmp (argv[1], "calls"))
      || !read_options (argc - 1, argv + 1, &options) || (!is_start && !options.tool))
    {
      fputs ("usage: load start [-n N] -- SERVER...\n"
             "       load calls [-n N] [-k K] [-w W] -t TOOL [-a JSON] [-A JSON] -- SERVER...\n",
             stderr);
      return 2;
    }
  signal (SIGPIPE, SIG_IGN);
  if (is_start)
    measure_start (&options);
  else
    measure_calls (&options);
  return 0;
}
