/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eng-wire: one backend's connections, and one exchange (a request and its answer) over them.
 *
 * Holds every libcurl option of the program. It does not know what a sign-in, a retry or a barrier
 * is: eng-client and eng-sign-in decide, and are the only callers of eng_exchange_start(). Private
 * to engine-client.
 */
#pragma once

#include "eng-client.h"
#include "eng-multi.h"
#include "eng-read.h"
#include "eng-url.h"

G_BEGIN_DECLS

#define ENG_WIRE_MAX_CONNECTIONS 64u /* default of max_in_flight */
#define ENG_WIRE_MAX_IDLE 8u         /* easy handles kept for reuse, each with its buffer */

typedef struct
{
  DbrUrl *url;
  char *unix_socket;   /* nullable */
  char *ca_file;       /* nullable */
  char *ca_file_name;  /* nullable */
  char *base_url_name; /* nullable */
  char *client_cert;   /* nullable */
  char *client_key;    /* nullable */
  char *user_agent;
  char *origin; /* for messages */
  guint connect_timeout_ms;
  EngMulti *multi;
  GPtrArray *idle; /* of CURL */
} EngWire;

/* Header lines, shared by the exchanges that send the same ones. */
typedef struct
{
  gint n_refs;
  struct curl_slist *list;
} EngHeaders;

EngHeaders *
eng_headers_new (void);
EngHeaders *
eng_headers_ref (EngHeaders *self);
void
eng_headers_unref (EngHeaders *self);
void
eng_headers_add (EngHeaders *self, const char *name, const char *value);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (EngHeaders, eng_headers_unref)

/* What to send. Valid during eng_exchange_start() only; @headers and @body are referenced. */
typedef struct
{
  const char *method;
  const char *url;
  EngHeaders *headers;
  GBytes *body;       /* nullable */
  gboolean is_read;   /* may share a connection, speak HTTP/2, be repeated on a dead one */
  gboolean may_reuse; /* a fresh connection that may be kept (sign-in) */
  guint timeout_ms;   /* 1..: what is left of limit_ms */
  guint limit_ms;     /* what the whole request has, for messages */
  gsize max_body_bytes;
  const EngTail *tail;
} EngAsk;

typedef struct _EngExchange EngExchange;
typedef void (*EngExchangeDone) (EngExchange *exchange, CURLcode code);

/* Embedded in its owner; all zero when idle. */
struct _EngExchange
{
  EngWire *wire;
  CURL *easy; /* NULL when not running and not yet cleared */
  gboolean is_running;
  gboolean is_connected; /* the request was about to go out, once at least */
  EngHeaders *headers;
  GBytes *body;
  guint limit_ms;
  EngReader reader;
  EngExchangeDone done;
  char error_text[CURL_ERROR_SIZE];
};

/* Takes nothing of @config but copies. Errors: #ENG_ERROR_CONFIG. */
EngWire *
eng_wire_new (const EngConfig *config, GError **error);
/* No exchange may be running. */
void
eng_wire_free (EngWire *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (EngWire, eng_wire_free)

/* FALSE with #ENG_ERROR_CONFIG when libcurl refuses; @done comes from the main loop, once, unless
 * cleared before. */
gboolean
eng_exchange_start (
    EngExchange *self, EngWire *wire, const EngAsk *ask, EngExchangeDone done, GError **error);
/* How far the request got. */
EngSent
eng_exchange_sent (const EngExchange *self);
/* Why it failed, as a sentence with the origin in it. @code: not CURLE_OK, unless the reader has an
 * error. */
GError *
eng_exchange_error (const EngExchange *self, CURLcode code);
/* Aborts it if it runs; gives back what it holds. */
void
eng_exchange_clear (EngExchange *self);

G_END_DECLS
