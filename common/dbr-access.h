/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-access: final paths and what a request may do to the backend.
 *
 * One table, made from the catalogue, says which access a (method, path) needs; the tool list, the
 * refusal and the barrier in engine-client all ask it, so nothing is decided twice.
 * Paths are built here too: every value percent-encoded once, and nothing that could
 * make another path of it let through. Pure functions, no sockets.
 * Source: RFC 3986 section 2.3 (unreserved), RFC 9110 section 9.2.1 (safe methods).
 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

#define DBR_PATH_ERROR (dbr_path_error_quark ())
GQuark
dbr_path_error_quark (void);
typedef enum
{
  DBR_PATH_ERROR_SEGMENT, /* a value that cannot be one segment: empty, ".", "..", with / \ or a control character, not UTF-8 */
  DBR_PATH_ERROR_PATH, /* a whole path (escape hatch) that is not a plain final path under the prefix */
  DBR_PATH_ERROR_TOO_LONG /* over DBR_PATH_MAX_BYTES */
} DbrPathError;

#define DBR_PATH_MAX_BYTES 16384u

/* Appends @value as one percent-encoded segment (every byte outside A-Za-z0-9-._~ encoded). @what names the value in the error ("dag_id").
 * An id with "/" is refused with a message that says so. */
gboolean
dbr_path_append_segment (
    GString *path, const char *value, gssize len, const char *what, GError **error);
/* The same for a value that the API's route takes with slashes: each piece between slashes is checked and encoded, "/" kept. */
gboolean
dbr_path_append_segments (
    GString *path, const char *value, gssize len, const char *what, GError **error);
/* Checks a whole final path given by a caller: begins with @prefix + "/", no "//", "\", "#", "?", ";", control or space or non-ASCII bytes, no "." or ".." piece, percent signs only
 * as %XX that does not decode to / \ . (as a dot piece) NUL or control; a trailing slash is refused. Returns it normalised (unreserved %XX decoded, hex in capitals), transfer full. */
char *
dbr_path_check (const char *path, const char *prefix, GError **error);
/* Decodes %XX once (for matching and for showing). NULL when the escapes are malformed. */
char *
dbr_path_decode (const char *path);
/* Appends name=value, percent-encoded ("+" and " " too), with & before it where query is not empty. */
void
dbr_query_append (GString *query, const char *name, const char *value, gssize value_len);

typedef enum
{
  DBR_ACCESS_READ,
  DBR_ACCESS_WRITE,
  DBR_ACCESS_DELETE,
  DBR_ACCESS_DENIED, /* never, whatever the flags */
} DbrAccess;
const char *
dbr_access_name (DbrAccess access); /* "read", "write", "delete", "denied" */

typedef struct _DbrAccessTable DbrAccessTable;
/* @prefix: "/api/v2"; patterns are relative to it. */
DbrAccessTable *
dbr_access_table_new (const char *prefix);
DbrAccessTable *
dbr_access_table_ref (DbrAccessTable *self);
void
dbr_access_table_unref (DbrAccessTable *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DbrAccessTable, dbr_access_table_unref)
/* @method: NULL for any. @pattern: "/variables", "/dags/{}/clear" ({} or {name}: any one segment), a final "/...": that path and everything below it. A deny row is
 * matched as if it ended in "/...". FALSE when the row lowers what may not be lowered (only POST, PATCH may be lowered to read). */
gboolean
dbr_access_table_add (DbrAccessTable *self,
                      const char *method,
                      const char *pattern,
                      DbrAccess access,
                      GError **error);
/* What @method on @path (final, encoded, with prefix) needs: the method's own (GET HEAD QUERY OPTIONS read; POST PUT PATCH write; DELETE delete; any other method denied) and then
 * the strictest matching row. Matching is on decoded segments. A path outside the prefix is denied. */
DbrAccess
dbr_access_table_judge (const DbrAccessTable *self, const char *method, const char *path);
/* The same for a path template whose placeholders may become anything: the strictest answer any filling could get, denials of
 * other routes apart (a placeholder never matches a literal row segment unless it is the only way). */
DbrAccess
dbr_access_table_judge_template (const DbrAccessTable *self,
                                 const char *method,
                                 const char *path_template);

/* Whether @name is a header field that no catalogue and no caller may set: it frames the message,
 * carries credentials, names its type or the client, or makes the receiver take another method, host
 * or path than the one that was judged. In any case; `_` counts as `-`, since servers that hand
 * fields on as variables don't tell them apart.
 * Source: RFC 9110, RFC 9112, RFC 7239; X-HTTP-Method-Override, X-Original-URL, X-Rewrite-URL and
 * their kind are customs of servers and frameworks. */
gboolean
dbr_header_is_reserved (const char *name);

G_END_DECLS
