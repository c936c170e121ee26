/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eng-client: the library that owns HTTP. Its door.
 *
 * curl multi on the default GLib main context, one thread. It signs in, passes the barrier, sends, reads
 * within bounds, and reports exactly one of: an answer, a failure before anything was sent,
 * a failure with unknown outcome. It knows nothing of MCP, catalogues or texts for a model.
 * Built as a module that the first request loads (eng_door() is its only symbol), and as a static library for its tests.
 * Source: RFC 9110, 9112; design rules of section 4 (origin fixed, no redirects, a write at most once).
 */
#pragma once

#include "dbr-access.h"
#include "dbr-json-doc.h"
#include "dbr-text.h"

G_BEGIN_DECLS

#define ENG_ERROR (eng_error_quark ())
GQuark
eng_error_quark (void);
typedef enum
{
  ENG_ERROR_CONFIG, /* base URL, CA file, socket path, token bytes unusable; the message names the variable when it is known */
  ENG_ERROR_BARRIER, /* method and path need access that is not open; nothing was sent */
  ENG_ERROR_RESOLVE, /* host name not found */
  ENG_ERROR_CONNECT, /* nobody listens there, or the socket file is missing; message names address or socket path */
  ENG_ERROR_TLS,       /* certificate or handshake */
  ENG_ERROR_TIMEOUT,   /* deadline passed; see EngResponse.sent for what that means */
  ENG_ERROR_BROKEN,    /* connection died, wrong length, bad encoding, not HTTP */
  ENG_ERROR_TOO_LARGE, /* body over max_body_bytes (after decompression), or headers over 256 kB */
  ENG_ERROR_AUTH, /* sign-in refused or unreadable; message has status and the backend's detail */
  ENG_ERROR_BUSY, /* too many requests queued */
} EngErrorCode;

typedef enum
{
  ENG_NOT_SENT, /* the backend can't have acted */
  ENG_SENT, /* the request (or a part of it) left and no complete answer came: outcome unknown */
  ENG_ANSWERED, /* a complete status line and headers came */
} EngSent;

typedef enum
{
  ENG_GATE_SHUT,
  ENG_GATE_ASK, /* open only for a request that carries consent */
  ENG_GATE_OPEN,
} EngGate;

/* How to obtain the bearer. All strings copied. */
typedef struct
{
  const char *fixed_token;      /* nullable; then only `header` below is used and a 401 is final */
  const char *fixed_token_name; /* nullable: the variable it came from, for messages */
  const char *path;             /* "/auth/token", relative to the base URL (not to the prefix) */
  const char *body;             /* JSON text to POST */
  const char *token_member;     /* "access_token" */
  const char *renew_403; /* nullable: a 403 whose `detail` string is this means a bad token too */
  const char *header;    /* nullable: "Authorization" with "Bearer " before the token */
} EngSignIn;

typedef struct
{
  const char *
      base_url; /* scheme://host[:port][/base]; user info, query, fragment refused; trailing slashes cut; a base that already ends in the prefix is accepted */
  const char *base_url_name; /* for messages: "AIRFLOW_API_URL" */
  const char *unix_socket;   /* nullable; at most 107 bytes */
  const char *prefix;        /* "/api/v2" */
  DbrAccessTable *access;    /* (transfer none), referenced */
  EngGate writes;
  EngGate deletes;          /* a delete needs both to be at least ASK */
  const EngSignIn *sign_in; /* nullable: no credentials */
  const char *ca_file;      /* nullable */
  const char *ca_file_name; /* for messages: "AIRFLOW_API_CA_FILE" */
  const char *client_cert;  /* nullable, PEM */
  const char *client_key;   /* nullable, PEM */
  gboolean
      allow_plain_http_credentials; /* else none are sent over http:// to a host that isn't loopback */
  const char *allow_plain_http_name; /* nullable: what allows them, for messages */
  const char *user_agent;            /* "drawbridge/0.1.0" */
  guint connect_timeout_ms;          /* 0: 5000 */
  guint max_in_flight;               /* 0: 64; more wait in a queue of 1024 */
  gsize max_body_bytes;              /* 0: 8 MiB */
  DbrMask *mask; /* (transfer none), referenced; gets every token that sign-in brings */
} EngConfig;

/* One record of a tail. */
typedef struct
{
  guint64 index; /* from 0, in the stream */
  char *text;    /* its JSON text; cut records hold head, "\n...\n" is NOT inserted: see head_len */
  gsize len;
  gsize
      head_len; /* == len when whole; otherwise text[0..head_len) is the beginning and the rest the end */
  guint64 true_len;
  gboolean matched; /* by itself, not as context */
} EngRecord;

/* Whether a record is wanted. @text is one JSON value (cut records: the head only). */
typedef gboolean (*EngRecordMatch) (const char *text, gsize len, gpointer user_data);

typedef struct
{
  const char *array_member; /* "content": records are the elements of that member; NULL: NDJSON */
  guint keep_records;       /* the last N wanted ones (with their context); 1..2000 */
  gsize keep_bytes;         /* 0: 2 MiB; memory kept for records, context included */
  gsize record_max_bytes;   /* 0: 8192 */
  guint context;            /* records before and after a matched one, 0..20 */
  EngRecordMatch match;     /* nullable: every record is wanted */
  gpointer match_data;
} EngTail;

typedef struct
{
  const char *method; /* upper case */
  const char *path;   /* final and encoded, prefix included, from dbr_path_*; checked again here */
  const char *query;  /* encoded, without "?"; nullable */
  const char *const *
      headers; /* name, value, name, value, NULL; nullable; no Authorization, Host, Content-Length, X-HTTP-Method-Override...: refused */
  GBytes *body;             /* nullable */
  const char *content_type; /* with a body; default application/json */
  const char *accept;       /* default application/json */
  const EngTail *
      tail; /* nullable: read a tail instead of a body; used during the transfer, must outlive it */
  guint timeout_ms; /* whole request, sign-in and waiting for Retry-After included */
  gboolean consent; /* the user said yes to this very request */
} EngRequest;

typedef struct
{
  GError *
      error; /* nullable; NULL means: status and body (or tail) are valid. A tail cut by the deadline has no error but tail_complete FALSE */
  EngSent sent;
  guint status;          /* 0 when none */
  char *reason;          /* nullable */
  char *content_type;    /* nullable, lower case, without parameters */
  char *location_origin; /* 3xx only: scheme://host[:port] of Location, nullable */
  gint64 retry_after_ms; /* -1: none */
  GPtrArray *headers;    /* (element-type utf8) name, value, ...: lower-case names; bounded */
  GBytes *body;          /* nullable; an error answer's body too (even in tail mode) */
  GPtrArray *records;    /* tail: (element-type EngRecord), oldest first */
  guint64 records_seen;
  guint64 records_matched;
  guint64 bytes_seen;
  gboolean tail_complete;
  DbrJsonDoc *rest; /* tail: the other top-level members, nullable */
  guint attempts;   /* requests really sent for it, sign-in apart */
  gint64 elapsed_us;
} EngResponse;
void
eng_response_free (EngResponse *self);

typedef struct _EngClient EngClient;
typedef struct _EngTransfer EngTransfer;
/* @response is owned by the callee of this callback (free with eng_response_free of the door). Never called inside send(). */
typedef void (*EngDone) (EngResponse *response, gpointer user_data);

/* What the module gives. */
typedef struct
{
  guint abi; /* ENG_DOOR_ABI */
  EngClient *(*client_new) (const EngConfig *config, GError **error);
  void (*client_free) (
      EngClient *self); /* transfers in flight are aborted without their callback */
  /* Passes the barrier and sends. Everything that goes wrong arrives through @done, from the main loop. */
  EngTransfer *(*send) (EngClient *self,
                        const EngRequest *request,
                        EngDone done,
                        gpointer user_data);
  /* Aborts; @done is not called. Tells whether the request may have reached the backend. */
  EngSent (*cancel) (EngTransfer *transfer);
  void (*response_free) (EngResponse *response);
  const char *(*origin) (EngClient *self); /* scheme://host[:port] or unix:PATH, for messages */
} EngDoor;
#define ENG_DOOR_ABI 1u
const EngDoor *
eng_door (void);

G_END_DECLS
