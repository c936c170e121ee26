/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake-backend: a small HTTP/1.1 server on loopback for tests.
 *
 * It records the bytes of every request and plays scripted answers, good and broken: it writes what
 * it is told, not what HTTP allows. A thread a connection, blocking sockets; no libcurl, no
 * libsoup, so that it shares no fault with what it tests.
 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef enum
{
  FAKE_KEEP,     /* the whole answer, and the connection stays open */
  FAKE_CLOSE,    /* the whole answer, then close */
  FAKE_TRUNCATE, /* the first `at` bytes of it (0: none), then close */
  FAKE_RESET,    /* the first `at` bytes of it, then a TCP reset */
  FAKE_STALL,    /* the first `at` bytes of it, then silence until the client goes */
  FAKE_DRIP,     /* a byte every `delay_ms` */
} FakeMode;

typedef struct
{
  guint status;        /* 0: 200 */
  const char *headers; /* nullable: lines, each ended by CR LF */
  const char *body;    /* nullable */
  gssize body_len;     /* with a body: 0 or -1: NUL-terminated */
  const char *raw;     /* nullable: the whole answer in place of all above */
  gssize raw_len;      /* like body_len */
  const char *unit;    /* nullable: sent `count` times after the body, "{i}" being the number; no
                          Content-Length then */
  guint64 count;
  const char *end;    /* nullable: after the units */
  gboolean no_length; /* no Content-Length (nor Transfer-Encoding) */
  gboolean chunked;   /* the body in chunks of at most 4096 bytes */
  FakeMode mode;
  gsize at;
  guint delay_ms; /* before the answer (drip: between bytes) */
  guint times;    /* 0: once; G_MAXUINT: always */
} FakeAnswer;

typedef struct
{
  guint connection; /* number of the connection, from 1 */
  char *method;
  char *target;
  char *head; /* everything up to and with the empty line, as it came */
  GBytes *body;
} FakeRequest;

typedef struct _FakeBackend FakeBackend;

/* Fills an answer for a request that no script awaits. FALSE: 404 {"detail":"Not Found"}. Strings
 * must live as long as the backend. Called from threads, one at a time. */
typedef gboolean (*FakeHandler) (const FakeRequest *request,
                                 FakeAnswer *answer,
                                 gpointer user_data);

/* @where: "127.0.0.1", "::1", or an absolute path for a unix socket. Port 0. NULL when it cannot
 * listen there. */
FakeBackend *
fake_backend_new (const char *where);
/* Ends every connection and thread. */
void
fake_backend_free (FakeBackend *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (FakeBackend, fake_backend_free)
guint
fake_backend_port (const FakeBackend *self);
void
fake_backend_set_handler (FakeBackend *self, FakeHandler handler, gpointer user_data);
/* Adds to the answers for @method ("*": any) and @path (the target before "?"; "*": any). Used in
 * order. Copied. */
void
fake_backend_script (FakeBackend *self,
                     const char *method,
                     const char *path,
                     const FakeAnswer *answer);
/* Requests so far; copies. (element-type FakeRequest) */
GPtrArray *
fake_backend_requests (FakeBackend *self);
guint
fake_backend_count (FakeBackend *self, const char *method, const char *path);
void
fake_backend_clear (FakeBackend *self);
/* Blocks until that many requests (any) were read whole. FALSE after 20 s. */
gboolean
fake_backend_await (FakeBackend *self, guint n);
/* The value of a header, or NULL; transfer full. @out_n: how often it came, nullable. */
char *
fake_request_header (const FakeRequest *request, const char *name, guint *out_n);

G_END_DECLS
