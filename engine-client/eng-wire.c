/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eng-wire: libcurl's options, in one place.
 *
 * An easy handle keeps what never changes for its backend (set once, in handle_new()); each
 * exchange sets all of the rest, so nothing of an earlier request can leak into a later one.
 * Source: curl_easy_setopt(3); design rules: no redirects, no cookies, no netrc, a write at most
 * once.
 */
#include "config.h"

#include "eng-wire.h"

#include "eng-policy.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#define BUFFER_BYTES (64L << 10)
#define MAX_CONNECTION_AGE_S 60L /* servers commonly close idle ones after 60 to 120 s */
#define DEFAULT_CONNECT_TIMEOUT_MS 5000u
#define CODE_TOO_LARGE 100 /* CURLE_TOO_LARGE of libcurl 8.6 */

/* ---------------------------------------------------------------- headers */

EngHeaders *
eng_headers_new (void)
{
  EngHeaders *self = g_new0 (EngHeaders, 1);

  self->n_refs = 1;
  return self;
}

EngHeaders *
eng_headers_ref (EngHeaders *self)
{
  self->n_refs++;
  return self;
}

void
eng_headers_unref (EngHeaders *self)
{
  if (self == NULL || --self->n_refs > 0)
    return;
  curl_slist_free_all (self->list);
  g_free (self);
}

void
eng_headers_add (EngHeaders *self, const char *name, const char *value)
{
  /* libcurl: "Name:" removes a field of its own, "Name;" sends an empty one. */
  g_autofree char *line = value == NULL      ? g_strconcat (name, ":", NULL)
                          : value[0] == '\0' ? g_strconcat (name, ";", NULL)
                                             : g_strconcat (name, ": ", value, NULL);
  struct curl_slist *longer = curl_slist_append (self->list, line);

  if (longer != NULL)
    self->list = longer;
}

/* ------------------------------------------------------------------- wire */

/* What libcurl calls by another name. */
static void
judge_header (EngExchange *self, CURLcode code)
{
  EngReader *reader = &self->reader;

  if (reader->error != NULL || reader->is_complete || !self->is_connected)
    return;
  /* To it, an answer that ends inside its header fields is a success without a body, ... */
  if (code == CURLE_OK)
    g_set_error (&reader->error, ENG_ERROR, ENG_ERROR_BROKEN,
                 "the answer of %s broke off inside its header fields", self->wire->origin);
  /* ... and a line of more than 100 kB an allocation that failed. */
  else if (code == CURLE_OUT_OF_MEMORY || code == (CURLcode) CODE_TOO_LARGE)
    g_set_error (&reader->error, ENG_ERROR, ENG_ERROR_TOO_LARGE,
                 "one of the header fields of the answer of %s is larger than 100 kB",
                 self->wire->origin);
}

static void
on_done (CURL *easy, CURLcode code, gpointer data)
{
  EngExchange *exchange = data;

  (void) easy;
  exchange->is_running = FALSE;
  judge_header (exchange, code);
  exchange->done (exchange, code);
}

static gboolean
check_file (const char *path, const char *what, const char *name, GError **error)
{
  g_autoptr (GError) local = NULL;
  g_autofree char *text = NULL;

  if (path == NULL)
    return TRUE;
  if (!g_file_get_contents (path, &text, NULL, &local))
    g_set_error (error, ENG_ERROR, ENG_ERROR_CONFIG, "%s: the %s \"%s\" cannot be read: %s", name,
                 what, path, local->message);
  else if (strstr (text, "-----BEGIN ") == NULL)
    g_set_error (error, ENG_ERROR, ENG_ERROR_CONFIG, "%s: the %s \"%s\" holds nothing in PEM form",
                 name, what, path);
  else
    return TRUE;
  return FALSE;
}

static gboolean
check_files (const EngConfig *config, GError **error)
{
  const char *ca_name = config->ca_file_name != NULL ? config->ca_file_name : "CA file";

  return check_file (config->ca_file, "CA file", ca_name, error)
         && check_file (config->client_cert, "client certificate", "client certificate", error)
         && check_file (config->client_key, "key", "client key", error);
}

static gboolean
check_socket_path (const char *path, GError **error)
{
  const gsize max = sizeof (((struct sockaddr_un *) NULL)->sun_path) - 1;

  if (path == NULL || (path[0] == '/' && strlen (path) <= max))
    return TRUE;
  if (path[0] != '/')
    g_set_error (error, ENG_ERROR, ENG_ERROR_CONFIG, "the socket path \"%s\" is not absolute",
                 path);
  else
    g_set_error (error, ENG_ERROR, ENG_ERROR_CONFIG,
                 "the socket path \"%s\" is too long: %" G_GSIZE_FORMAT
                 " bytes, at most %" G_GSIZE_FORMAT " are possible",
                 path, strlen (path), max);
  return FALSE;
}

EngWire *
eng_wire_new (const EngConfig *config, GError **error)
{
  g_autoptr (EngWire) self = g_new0 (EngWire, 1);
  const char *base = config->base_url;

  if (base == NULL && config->unix_socket != NULL)
    base = "http://localhost";
  self->idle = g_ptr_array_new ();
  self->url
      = eng_url_parse (base != NULL ? base : "", config->base_url_name, config->prefix, error);
  if (self->url == NULL || !check_socket_path (config->unix_socket, error)
      || !check_files (config, error))
    return NULL;
  if (curl_global_init (CURL_GLOBAL_DEFAULT) == CURLE_OK)
    self->multi = eng_multi_new (on_done, config->max_in_flight != 0 ? config->max_in_flight
                                                                     : ENG_WIRE_MAX_CONNECTIONS);
  if (self->multi == NULL)
    {
      g_set_error_literal (error, ENG_ERROR, ENG_ERROR_CONFIG, "libcurl does not start");
      return NULL;
    }
  self->unix_socket = g_strdup (config->unix_socket);
  self->ca_file = g_strdup (config->ca_file);
  self->ca_file_name = g_strdup (config->ca_file_name);
  self->base_url_name = g_strdup (config->base_url_name);
  self->client_cert = g_strdup (config->client_cert);
  self->client_key = g_strdup (config->client_key);
  self->user_agent = g_strdup (config->user_agent != NULL ? config->user_agent : PACKAGE_NAME);
  self->origin = config->unix_socket != NULL ? g_strconcat ("unix:", config->unix_socket, NULL)
                                             : g_strdup (self->url->origin);
  self->connect_timeout_ms
      = config->connect_timeout_ms != 0 ? config->connect_timeout_ms : DEFAULT_CONNECT_TIMEOUT_MS;
  return g_steal_pointer (&self);
}

void
eng_wire_free (EngWire *self)
{
  if (self == NULL)
    return;
  for (guint i = 0; i < self->idle->len; i++)
    curl_easy_cleanup (g_ptr_array_index (self->idle, i));
  g_ptr_array_unref (self->idle);
  eng_multi_free (self->multi);
  dbr_url_free (self->url);
  g_free (self->unix_socket);
  g_free (self->ca_file);
  g_free (self->ca_file_name);
  g_free (self->base_url_name);
  g_free (self->client_cert);
  g_free (self->client_key);
  g_free (self->user_agent);
  g_free (self->origin);
  g_free (self);
}

static gboolean
is_local (const EngWire *self)
{
  return self->unix_socket != NULL || self->url->is_loopback;
}

static CURL *
handle_new (const EngWire *self)
{
  CURL *easy = curl_easy_init ();

  if (easy == NULL)
    return NULL;
  curl_easy_setopt (easy, CURLOPT_NOSIGNAL, 1L);
  /* Else giving up on a name would wait for the resolver, and everybody with it. */
  curl_easy_setopt (easy, CURLOPT_QUICK_EXIT, 1L);
  curl_easy_setopt (easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt (easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt (easy, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt (easy, CURLOPT_NETRC, (long) CURL_NETRC_IGNORED);
  curl_easy_setopt (easy, CURLOPT_TCP_NODELAY, 1L);
  curl_easy_setopt (easy, CURLOPT_BUFFERSIZE, BUFFER_BYTES);
  curl_easy_setopt (easy, CURLOPT_MAXAGE_CONN, MAX_CONNECTION_AGE_S);
  curl_easy_setopt (easy, CURLOPT_CONNECTTIMEOUT_MS, (long) self->connect_timeout_ms);
  curl_easy_setopt (easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  curl_easy_setopt (easy, CURLOPT_USERAGENT, self->user_agent);
  curl_easy_setopt (easy, CURLOPT_HEADERFUNCTION, eng_reader_on_header);
  curl_easy_setopt (easy, CURLOPT_WRITEFUNCTION, eng_reader_on_body);
  if (is_local (self))
    curl_easy_setopt (easy, CURLOPT_PROXY, "");
  if (self->unix_socket != NULL)
    curl_easy_setopt (easy, CURLOPT_UNIX_SOCKET_PATH, self->unix_socket);
  if (self->ca_file != NULL)
    curl_easy_setopt (easy, CURLOPT_CAINFO, self->ca_file);
  if (self->client_cert != NULL)
    curl_easy_setopt (easy, CURLOPT_SSLCERT, self->client_cert);
  if (self->client_key != NULL)
    curl_easy_setopt (easy, CURLOPT_SSLKEY, self->client_key);
  return easy;
}

/* --------------------------------------------------------------- exchange */

/* The connection stands and the request is about to go out. */
static int
on_connected (void *data, char *remote_ip, char *local_ip, int remote_port, int local_port)
{
  EngExchange *self = data;

  (void) remote_ip;
  (void) local_ip;
  (void) remote_port;
  (void) local_port;
  self->is_connected = TRUE;
  return CURL_PREREQFUNC_OK;
}

static void
set_method (CURL *easy, const EngAsk *ask)
{
  gboolean is_head = g_str_equal (ask->method, "HEAD");

  curl_easy_setopt (easy, CURLOPT_HTTPGET, 1L); /* undoes NOBODY, POST */
  curl_easy_setopt (easy, CURLOPT_POSTFIELDS, NULL);
  if (ask->body != NULL || g_str_equal (ask->method, "POST"))
    {
      gsize len = 0;
      const char *bytes = ask->body != NULL ? g_bytes_get_data (ask->body, &len) : NULL;

      curl_easy_setopt (easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t) len);
      curl_easy_setopt (easy, CURLOPT_POSTFIELDS, bytes != NULL ? bytes : "");
    }
  else if (is_head)
    curl_easy_setopt (easy, CURLOPT_NOBODY, 1L);
  else
    curl_easy_setopt (easy, CURLOPT_HTTPGET, 1L);
  curl_easy_setopt (easy, CURLOPT_CUSTOMREQUEST, is_head ? NULL : ask->method);
}

static void
set_connection (CURL *easy, const EngWire *wire, const EngAsk *ask)
{
  /* libcurl repeats a request, whatever its method, when a *reused* connection dies before an
   * answer; only a fresh one makes a write go out once. HTTP/2 has repeats of its own. */
  gboolean is_fresh = !ask->is_read;

  curl_easy_setopt (easy, CURLOPT_FRESH_CONNECT, is_fresh ? 1L : 0L);
  curl_easy_setopt (easy, CURLOPT_FORBID_REUSE, is_fresh && !ask->may_reuse ? 1L : 0L);
  curl_easy_setopt (
      easy, CURLOPT_HTTP_VERSION,
      (long) (is_fresh || !wire->url->is_tls ? CURL_HTTP_VERSION_1_1 : CURL_HTTP_VERSION_2TLS));
  /* "identity" asks for nothing but lets libcurl undo what a server compresses unasked, within our
   * bounds. */
  curl_easy_setopt (easy, CURLOPT_ACCEPT_ENCODING,
                    ask->is_read && !is_local (wire) ? "gzip" : "identity");
}

gboolean
eng_exchange_start (
    EngExchange *self, EngWire *wire, const EngAsk *ask, EngExchangeDone done, GError **error)
{
  CURL *easy = wire->idle->len > 0 ? g_ptr_array_remove_index_fast (wire->idle, wire->idle->len - 1)
                                   : handle_new (wire);

  self->wire = wire;
  self->easy = easy;
  self->done = done;
  self->limit_ms = ask->limit_ms;
  self->headers = eng_headers_ref (ask->headers);
  self->body = ask->body != NULL ? g_bytes_ref (ask->body) : NULL;
  self->error_text[0] = '\0';
  self->is_connected = FALSE;
  eng_reader_init (&self->reader, ask->max_body_bytes, ask->tail);
  if (easy != NULL)
    {
      curl_easy_setopt (easy, CURLOPT_PRIVATE, self);
      curl_easy_setopt (easy, CURLOPT_PREREQFUNCTION, on_connected);
      curl_easy_setopt (easy, CURLOPT_PREREQDATA, self);
      curl_easy_setopt (easy, CURLOPT_HEADERDATA, &self->reader);
      curl_easy_setopt (easy, CURLOPT_WRITEDATA, &self->reader);
      curl_easy_setopt (easy, CURLOPT_ERRORBUFFER, self->error_text);
      curl_easy_setopt (easy, CURLOPT_HTTPHEADER, self->headers->list);
      curl_easy_setopt (easy, CURLOPT_TIMEOUT_MS, (long) MAX (ask->timeout_ms, 1u));
      set_method (easy, ask);
      set_connection (easy, wire, ask);
      if (curl_easy_setopt (easy, CURLOPT_URL, ask->url) == CURLE_OK
          && eng_multi_add (wire->multi, easy))
        {
          self->is_running = TRUE;
          return TRUE;
        }
    }
  g_set_error_literal (error, ENG_ERROR, ENG_ERROR_CONFIG, "libcurl does not take the request");
  return FALSE;
}

EngSent
eng_exchange_sent (const EngExchange *self)
{
  long request_bytes = 0;

  if (self->easy == NULL || !self->is_connected)
    return ENG_NOT_SENT;
  if (self->reader.is_complete)
    return ENG_ANSWERED;
  /* Behind a proxy its CONNECT counts too: a tunnel that dies at this very moment looks sent, which
   * is the careful answer. */
  curl_easy_getinfo (self->easy, CURLINFO_REQUEST_SIZE, &request_bytes);
  return request_bytes > 0 ? ENG_SENT : ENG_NOT_SENT;
}

/* " (127.0.0.1 port 1234)" where libcurl knows which address it tried. */
static char *
address_tried (const EngExchange *self)
{
  const char *ip = NULL;
  long port = 0;

  if (self->wire->unix_socket != NULL)
    return g_strdup ("");
  curl_easy_getinfo (self->easy, CURLINFO_PRIMARY_IP, &ip);
  curl_easy_getinfo (self->easy, CURLINFO_PRIMARY_PORT, &port);
  if (ip == NULL || ip[0] == '\0')
    return g_strdup ("");
  return g_strdup_printf (" (%s port %ld)", ip, port);
}

static char *
why_not_connected (const EngExchange *self)
{
  long os_error = 0;

  curl_easy_getinfo (self->easy, CURLINFO_OS_ERRNO, &os_error);
  if (self->wire->unix_socket != NULL && !g_file_test (self->wire->unix_socket, G_FILE_TEST_EXISTS))
    return g_strdup ("there is no such socket");
  if (os_error != 0)
    return g_strdup (g_strerror ((int) os_error));
  return g_strdup (self->error_text[0] != '\0' ? self->error_text : "nobody listens there");
}

/* "30 s", "250 ms" */
static char *
format_ms (guint ms)
{
  return ms % 1000 == 0 ? g_strdup_printf ("%u s", ms / 1000) : g_strdup_printf ("%u ms", ms);
}

static char *
message_for_timeout (const EngExchange *self)
{
  const char *origin = self->wire->origin;
  gboolean is_sent = eng_exchange_sent (self) != ENG_NOT_SENT;
  g_autofree char *limit
      = format_ms (is_sent ? self->limit_ms : MIN (self->limit_ms, self->wire->connect_timeout_ms));

  if (!is_sent)
    return g_strdup_printf ("no connection to %s within %s", origin, limit);
  return g_strdup_printf ("%s from %s within %s",
                          self->reader.is_complete ? "no complete answer" : "no answer", origin,
                          limit);
}

/* What breaks off before a connection to the backend stands is a proxy's tunnel. */
static EngErrorCode
code_for (const EngExchange *self, CURLcode code)
{
  EngErrorCode own = eng_policy_code (code);

  return own == ENG_ERROR_BROKEN && !self->is_connected ? ENG_ERROR_CONNECT : own;
}

static char *
message_for (const EngExchange *self, CURLcode code)
{
  const char *origin = self->wire->origin;
  const char *detail = self->error_text[0] != '\0' ? self->error_text : curl_easy_strerror (code);

  switch ((guint) code_for (self, code))
    {
    case ENG_ERROR_RESOLVE:
      return g_strdup_printf ("the host of %s is not known: %s", origin, detail);
    case ENG_ERROR_CONNECT:
      {
        g_autofree char *address = address_tried (self);
        g_autofree char *why = why_not_connected (self);

        return g_strdup_printf ("no connection to %s%s: %s", origin, address, why);
      }
    case ENG_ERROR_TLS:
      if (eng_policy_speaks_plain_http (detail))
        return g_strdup_printf (
            "no TLS connection to %s: that port seems to speak plain http, so "
            "%s should begin with http://",
            origin, self->wire->base_url_name != NULL ? self->wire->base_url_name : "the base URL");
      return g_strdup_printf ("no trusted connection to %s: %s%s%s", origin, detail,
                              self->wire->ca_file_name != NULL ? "; a CA file can be named in "
                                                               : "",
                              self->wire->ca_file_name != NULL ? self->wire->ca_file_name : "");
    case ENG_ERROR_TIMEOUT:
      return message_for_timeout (self);
    case ENG_ERROR_CONFIG:
      return g_strdup_printf ("the request to %s cannot be made: %s", origin, detail);
    case ENG_ERROR_TOO_LARGE:
      return g_strdup_printf ("the answer of %s is too large: %s", origin, detail);
    default:
      return g_strdup_printf ("the answer of %s broke off or is not HTTP: %s", origin, detail);
    }
}

GError *
eng_exchange_error (const EngExchange *self, CURLcode code)
{
  g_autofree char *message = NULL;

  if (self->reader.error != NULL)
    return g_error_copy (self->reader.error);
  message = message_for (self, code);
  return g_error_new_literal (ENG_ERROR, code_for (self, code), message);
}

void
eng_exchange_clear (EngExchange *self)
{
  if (self->is_running)
    eng_multi_remove (self->wire->multi, self->easy);
  self->is_running = FALSE;
  if (self->easy != NULL)
    {
      curl_easy_setopt (self->easy, CURLOPT_ERRORBUFFER, NULL);
      if (self->wire->idle->len < ENG_WIRE_MAX_IDLE)
        g_ptr_array_add (self->wire->idle, self->easy);
      else
        curl_easy_cleanup (self->easy);
      self->easy = NULL;
    }
  g_clear_pointer (&self->headers, eng_headers_unref);
  g_clear_pointer (&self->body, g_bytes_unref);
  eng_reader_clear (&self->reader);
}
