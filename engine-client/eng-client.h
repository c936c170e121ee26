/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eng-client: the library that owns HTTP. Its door.
 *
 * curl multi on the default GLib main context, one thread. It signs in, passes the barrier, sends, reads
 * within bounds, and reports exactly one of: an answer, a failure before anything was sent,
 * a failure with unknown outcome. It knows nothing of MCP, catalogues or texts for a model.
 * Built as a module that the first request loads (eng_door() is its only symbol; it takes common/ from the
 * program and is never unloaded: a resolver thread of libcurl may still run), and as a static library for
 * its tests. The program must ignore SIGPIPE, since OpenSSL writes to sockets that may have gone.
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

/*
 * EngErrorCode:
 * @ENG_ERROR_CONFIG: base URL, CA file, socket path or token unusable; the message names the variable where
 *   it is known, never its value
 * @ENG_ERROR_BARRIER: the request may not go: its form, or access that is not open
 * @ENG_ERROR_RESOLVE: host name not found
 * @ENG_ERROR_CONNECT: nobody listens there, no such socket, or a proxy refuses; the message names the address
 *   tried or the socket's path
 * @ENG_ERROR_TLS: certificate or handshake
 * @ENG_ERROR_TIMEOUT: the deadline passed; see EngResponse.sent for what that means
 * @ENG_ERROR_BROKEN: the connection died, wrong length, bad encoding, not HTTP, not the JSON of a tail
 * @ENG_ERROR_TOO_LARGE: the body over max_body_bytes (after decompression), or header fields over 256 kB
 * @ENG_ERROR_AUTH: the sign-in refused the credentials (400, 401, 403, 422); the message has its status and
 *   detail. A sign-in that got no answer keeps its own code, with a message that begins "signing in: "
 * @ENG_ERROR_BUSY: too many requests queued
 * @ENG_ERROR_SIGN_IN: the sign-in answered with anything else that isn't a token: the address may be wrong (then
 *   the message asks for it), or the backend is in trouble
 */
typedef enum
{
  ENG_ERROR_CONFIG,
  ENG_ERROR_BARRIER,
  ENG_ERROR_RESOLVE,
  ENG_ERROR_CONNECT,
  ENG_ERROR_TLS,
  ENG_ERROR_TIMEOUT,
  ENG_ERROR_BROKEN,
  ENG_ERROR_TOO_LARGE,
  ENG_ERROR_AUTH,
  ENG_ERROR_BUSY,
  ENG_ERROR_SIGN_IN,
} EngErrorCode;

typedef enum
{
  ENG_NOT_SENT, /* the backend can't have acted */
  ENG_SENT, /* a part of the request left, no complete head of an answer came: outcome unknown */
  ENG_ANSWERED, /* a complete status line and header fields came */
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
  /* Nullable; then only `header` below is used and a 401 is final. Blanks and line ends after it are cut; one that
   * is empty, looks like ${NAME} or holds bytes outside 0x21..0x7E is ENG_ERROR_CONFIG at client_new(). */
  const char *fixed_token;
  const char *fixed_token_name; /* nullable: the variable it came from, for messages */
  const char *path;             /* "/auth/token", relative to the base URL (not to the prefix) */
  const char *body;             /* JSON text to POST */
  const char *token_member;     /* "access_token" */
  const char *renew_403; /* nullable: a 403 whose `detail` is this string means a bad token too */
  const char *header;    /* nullable: "Authorization", with "Bearer " before the token */
} EngSignIn;

typedef struct
{
  /* scheme://host[:port][/base]; user info, query and fragment are refused, trailing slashes cut; a base that
   * already ends in the prefix is accepted. Nullable with a unix socket. */
  const char *base_url;
  const char *base_url_name; /* for messages: "AIRFLOW_API_URL" */
  const char *unix_socket;   /* nullable; absolute, at most 107 bytes */
  const char *prefix;        /* "/api/v2" */
  DbrAccessTable *access;    /* (transfer none), referenced */
  EngGate writes;
  EngGate deletes;          /* a delete needs both */
  const EngSignIn *sign_in; /* nullable: no credentials */
  const char *ca_file;      /* nullable, PEM */
  const char *ca_file_name; /* for messages: "AIRFLOW_API_CA_FILE" */
  const char *client_cert;  /* nullable, PEM */
  const char *client_key;   /* nullable, PEM */
  /* Else client_new() refuses credentials for http:// to a host that isn't loopback. */
  gboolean allow_plain_http_credentials;
  const char *allow_plain_http_name; /* nullable: what allows them, for messages */
  const char *user_agent;            /* "drawbridge/0.1.0" */
  guint connect_timeout_ms;          /* 0: 5000 */
  guint max_in_flight;               /* 0: 64; more wait in a queue of 1024 */
  gsize max_body_bytes;              /* 0: 8 MiB; at most 1 GiB */
  DbrMask *mask;                     /* nullable, referenced; gets every token */
} EngConfig;

/* One record of a tail. Freed with its response. */
typedef struct
{
  guint64 index; /* from 0, in the stream */
  /* Its JSON text, NUL-terminated; of a cut one its head and its end, nothing between. */
  char *text;
  gsize len;
  gsize head_len;   /* len when whole; else text[0..head_len) is the beginning, the rest the end */
  guint64 true_len; /* bytes that it has in the stream */
  gboolean matched; /* by itself, not as context */
} EngRecord;

/* Whether a record is wanted. Whole: @head is one JSON value and @tail NULL. Cut: its beginning and its end. */
typedef gboolean (*EngRecordMatch) (
    const char *head, gsize head_len, const char *tail, gsize tail_len, gpointer user_data);

/* How to read a tail: only a 2xx answer that isn't text/html is one, any other is read as a body. The stream may have
 * any length; memory stays within these bounds. */
typedef struct
{
  const char *array_member; /* "content": records are the elements of that member; NULL: NDJSON */
  guint keep_records;       /* the last N wanted ones (with their context); 1..2000 */
  gsize keep_bytes;         /* 0: 2 MiB; of all records kept (the newest one is kept in any case) */
  gsize record_max_bytes;   /* 0: 8192; a longer record is cut in its middle */
  guint context;            /* records before and after a matched one, 0..20 */
  EngRecordMatch match;     /* nullable: every record is wanted */
  gpointer match_data;
} EngTail;

/* One request; all but the tail is copied by send(). GET, HEAD, OPTIONS and QUERY are reads: they share connections and wait
 * for 429 and 503 (at most 3 times, within the deadline). Anything else goes out once, on a connection of its own,
 * whatever the access table calls it; the one repeat follows a 401 (or the catalogue's 403) and a new sign-in. */
typedef struct
{
  const char *method; /* upper case */
  const char *path;   /* final and encoded, prefix included, from dbr_path_*; checked again here */
  const char *query;  /* nullable; encoded, without "?" */
  /* Nullable; name, value, ..., NULL. What frames or routes the message or carries credentials is refused (Authorization,
   * Host, Content-*, Accept, X-HTTP-Method-Override...). */
  const char *const *headers;
  GBytes *body;             /* nullable */
  const char *content_type; /* of a body; default application/json */
  const char *accept;       /* default application/json */
  const EngTail *tail;      /* nullable; must outlive the transfer */
  guint timeout_ms;         /* the whole request, with sign-in, queue and waits; 0: 30000 */
  gboolean consent;         /* the user said yes to this very request */
} EngRequest;

typedef struct
{
  /* Nullable. NULL: status and body (or records) are valid. A tail that the deadline cut has no error, but tail_complete is
   * FALSE. With an error, what came before it is here too. */
  GError *error;
  EngSent sent; /* of the last attempt; NOT_SENT also where the token was refused and none came */
  guint status; /* 0 when none */
  char *reason; /* nullable */
  char *content_type;    /* nullable, lower case, without parameters */
  char *location_origin; /* 3xx only: scheme://host[:port] of Location, nullable */
  gint64 retry_after_ms; /* -1: none */
  GPtrArray *headers;    /* (element-type utf8) nullable; lower-case name, ASCII value, ... */
  GBytes *body;          /* nullable when empty */
  GPtrArray *records;    /* (element-type EngRecord) nullable; a tail's, oldest first */
  guint64 records_seen;
  guint64 records_matched;
  guint64 bytes_seen; /* of the body, decompressed */
  gboolean tail_complete;
  DbrJsonDoc *rest; /* nullable; a tail's other top-level members */
  guint attempts;   /* requests started for it, sign-in apart */
  gint64 elapsed_us;
} EngResponse;
void
eng_response_free (EngResponse *self);

typedef struct _EngClient EngClient;
typedef struct _EngTransfer EngTransfer;

/* @response: (transfer full): freed with response_free() of the door. From the main loop, never inside send(). May call anything of
 * the door, client_free() too. */
typedef void (*EngDone) (EngResponse *response, gpointer user_data);

/* What the module gives. */
typedef struct
{
  guint abi; /* ENG_DOOR_ABI */
  /* Reads files, opens no connection. Errors: ENG_ERROR_CONFIG. */
  EngClient *(*client_new) (const EngConfig *config, GError **error);
  /* Transfers in flight are aborted without their callback. */
  void (*client_free) (EngClient *self);
  /* Passes the barrier and sends; whatever goes wrong arrives through @done. The transfer is valid until then, or until it
   * is cancelled. */
  EngTransfer *(*send) (EngClient *self,
                        const EngRequest *request,
                        EngDone done,
                        gpointer user_data);
  /* Aborts; @done is not called. Tells whether the request may have reached the backend. */
  EngSent (*cancel) (EngTransfer *transfer);
  void (*response_free) (EngResponse *response);
  /* scheme://host[:port] or unix:PATH, for messages; valid as long as the client. */
  const char *(*origin) (EngClient *self);
} EngDoor;
#define ENG_DOOR_ABI 1u
const EngDoor *
eng_door (void);

G_END_DECLS
