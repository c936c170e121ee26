/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-catalogue: a backend and its tools, loaded from schemas/<name>.xml or a user's file.
 *
 * The file is checked whole at load (form, references, rules); what is here can be relied on by everybody
 * else. Immutable afterwards. Knows no sockets. The language: doc/catalogue.md.
 */
#pragma once

#include "answer/dbr-answer.h"
#include "dbr-access.h"
#include <jansson.h>

G_BEGIN_DECLS

#define DBR_CATALOGUE_MAX_BYTES (4u << 20)
#define DBR_CATALOGUE_MAX_TOOLS 500u

typedef enum
{
  DBR_PARAM_STRING,
  DBR_PARAM_INTEGER,
  DBR_PARAM_NUMBER,
  DBR_PARAM_BOOLEAN,
  DBR_PARAM_OBJECT,
  DBR_PARAM_ARRAY,
  DBR_PARAM_PATH, /* a whole final path; a string in JSON Schema */
} DbrParamType;

typedef struct _DbrParam DbrParam;
struct _DbrParam
{
  char *name;    /* NULL for items */
  char **offers; /* nullable: in every offer of its tool */
  char *description;
  DbrParamType type;
  gboolean required;
  gboolean slashes;
  gboolean is_local;         /* a path on the caller's machine: a shell makes it absolute */
  char *wildcard;            /* nullable: stands in the path when left out */
  DbrJsonDoc *default_value; /* nullable */
  char **values;             /* nullable: enum (as text) */
  gboolean has_minimum, has_maximum;
  double minimum, maximum;
  guint min_length, max_length; /* characters */
  char *pattern;                /* nullable */
  gpointer regex;               /* compiled pattern (pcre2_code), private */
  char *refuse;                 /* nullable */
  guint min_items, max_items;
  DbrParam *items;     /* arrays; nullable: anything */
  GPtrArray *members;  /* (element-type DbrParam) of an object; NULL: free */
  gboolean in_path;    /* it stands in a path as a segment: values that cannot are refused */
  gboolean keeps_null; /* it only fills body fields (`from`): null and "" are sent as they came */
};

typedef struct
{
  char *name;         /* NULL with from_object */
  DbrTemplate *value; /* query, header; field text */
  DbrJsonPath *when;  /* query, field: nullable condition */
  DbrJsonPath *from;  /* field: node; query: object of pairs */
  DbrJsonDoc *json;   /* field: fixed JSON */
  DbrJsonDoc *absent; /* field: JSON when `from` selects nothing; NULL: leave out */
  GPtrArray *fields;  /* (element-type DbrField) field: an object of these; left out when all are */
} DbrField;

typedef struct
{
  char *records_member;                            /* NULL: NDJSON */
  DbrTemplate *lines, *level, *contains, *context; /* nullable but lines */
} DbrTailSpec;

typedef struct
{
  guint status;  /* 0: any */
  char *code;    /* nullable: any; else what the backend's error_code selects */
  char **offers; /* nullable: in every offer */
  DbrTemplate *advice;
} DbrAdvice;

typedef struct
{
  char *id;
  guint index;         /* in tool->requests */
  DbrTemplate *method; /* usually a literal */
  DbrTemplate *path;   /* relative to the prefix; a `path` parameter alone: the whole final path */
  gboolean whole_path; /* the path is one {parameter} of type path */
  DbrJsonPath *when;   /* nullable condition */
  char *with;          /* nullable: sent only if this parameter of the tool's one_of is given */
  gboolean optional;
  guint *accept;         /* 0-terminated, nullable */
  char *rows;            /* nullable */
  DbrJsonPath *expects;  /* nullable condition over the body: else a success is none of this API */
  guint pages;           /* 1: no paging */
  DbrJsonPath *for_each; /* nullable */
  DbrTemplate *per;      /* nullable */
  guint take, max;
  gboolean confirm; /* by attribute; deletes always confirm */
  gboolean destroys;
  gboolean idempotent;
  guint timeout_ms;       /* 0: the default */
  GPtrArray *query;       /* (element-type DbrField) */
  GPtrArray *headers;     /* (element-type DbrField) */
  DbrJsonPath *body_from; /* nullable */
  GPtrArray *body_fields; /* (element-type DbrField) nullable */
  DbrTailSpec *tail;      /* nullable */
  GPtrArray *advice;      /* (element-type DbrAdvice) */
  DbrTemplate *unknown;   /* nullable */
  DbrTemplate *effect;    /* nullable: what the user is told that it does; reads only $.args */
  guint64 needs;    /* bit i: waits for tool->requests[i] (graph users need the graph's source) */
  DbrAccess access; /* strictest that it can need (any method of an enum) */
  gboolean method_varies;
  guint line;
} DbrRequestDef;

typedef struct
{
  char *name;
  DbrJsonPath *nodes;
  char *id, *next;
} DbrGraphDef;

typedef struct _DbrToolAnswer DbrToolAnswer;

typedef struct
{
  char *name, *category, *title, *description;
  char **offers;         /* nullable: in every offer */
  char **one_of;         /* nullable: parameters of which exactly one is given */
  GPtrArray *params;     /* (element-type DbrParam) */
  GPtrArray *requests;   /* (element-type DbrRequestDef), at most 32 */
  DbrGraphDef *graph;    /* nullable */
  DbrToolAnswer *answer; /* see dbr_tool_answer() */
  DbrAccess access;      /* strictest of its requests */
  gboolean
      access_varies; /* an escape hatch: what it needs depends on its arguments; access is then the strictest, `least` the least */
  DbrAccess least;
  gboolean destroys, idempotent; /* for annotations */
  guint line;
} DbrTool;

typedef struct
{
  char *token_env, *user_env, *password_env; /* nullable */
  char *default_user, *default_password;     /* nullable; for loopback origins only */
  char *path;                                /* nullable: only a fixed token */
  char *user_member, *password_member, *token_member;
  char *renew_403;  /* nullable */
  char *token_from; /* nullable: where a token comes from, for who has none */
} DbrSignInDef;

typedef struct
{
  char *server_name;
  char *url, *url_env, *socket_env; /* nullable but url or socket */
  char *unreachable;                /* nullable: what to do when no connection can be made */
  gboolean has_engine_socket; /* when no variable says where: the place of the user's own engine */
  char *prefix;
  DbrSignInDef *sign_in;          /* nullable */
  char *ca_file_env;              /* nullable */
  char *writes_env, *deletes_env; /* nullable: that gate can't be opened */
  DbrAccessTable *access;
  GPtrArray *access_notes; /* (element-type utf8) one line a row, for `catalogue check` */
  char *paging_limit, *paging_offset; /* nullable: query parameters */
  char *paging_total;                 /* nullable: the body's member */
  guint paging_max;
  DbrJsonPath *error_detail;   /* nullable */
  DbrJsonPath *error_code;     /* nullable: a stable word in a failure's body */
  DbrJsonPath *error_problems; /* nullable: the wrong fields in a failure's body */
  DbrTemplate *error_problem;  /* with error_problems: one of them (@) as text */
  GPtrArray *error_advice;     /* (element-type DbrAdvice) of any request */
  DbrLogStyle *log_style;      /* nullable */
} DbrBackendDef;

typedef struct
{
  char *name, *title;
} DbrCategory;

/* One of several selections of the tools, for one kind of user. */
typedef struct
{
  char *name;
  char *server_name;  /* nullable: the backend's */
  char *instructions; /* after the catalogue's own */
  gboolean is_default;
  gboolean is_shell_only; /* for the command line; never served over MCP */
} DbrOffer;

typedef struct
{
  char *name, *title, *instructions, *file;
  gboolean is_shipped;
  DbrBackendDef *backend;
  GPtrArray *categories; /* (element-type DbrCategory) */
  GPtrArray *tools;      /* (element-type DbrTool), in file order; those of the offer */
  GPtrArray *offers;     /* (element-type DbrOffer) all of the file; empty: it has none */
  const DbrOffer *offer; /* the one that was loaded; NULL: the file has none */
  DbrXmlDoc *
      document; /* of a file that was read quickly: what its answers are compiled from; else NULL */
} DbrCatalogue;

typedef struct
{
  gboolean is_shipped; /* trusted with any variable; RELAX NG is skipped (the build checked it) */
  /* For start-up, of files that the tests checked: tools of other offers aren't read, and answers not before they are first needed. What is wrong there stays unseen. */
  gboolean is_quick;
  const char *const
      *allow_env;         /* nullable: more variables that a user's file may read; ours never */
  const char *schema_dir; /* nullable: where catalogue.rng and our own catalogues are */
  const char *offer;      /* nullable: the file's default one */
} DbrCatalogueOptions;

/**
 * dbr_catalogue_load:
 * @file: path of the file; messages name it as it is given here
 * @options: whose file it is; with a schema_dir a user's file is also held against catalogue.rng
 * @error: return location
 *
 * Reads at most DBR_CATALOGUE_MAX_BYTES and checks form, references and rules. Nothing outside of
 * the file is read: a document type is refused before it declares anything. The whole file is
 * checked; then what isn't of the offer is dropped, so that nothing of another one can be reached.
 *
 * Returns: (transfer full): the catalogue, or %NULL.
 * Errors: #DBR_CATALOGUE_ERROR, the code of the first problem. Every line of the message is one,
 *   "FILE:LINE: what was found, expected, to be done", in the order of the file; at most 20, then
 *   how many more there are. The form is checked first: references and rules only once it is right.
 */
DbrCatalogue *
dbr_catalogue_load (const char *file, const DbrCatalogueOptions *options, GError **error);
void
dbr_catalogue_free (DbrCatalogue *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DbrCatalogue, dbr_catalogue_free)
const DbrTool *
dbr_catalogue_find (const DbrCatalogue *self, const char *tool);
/* The tool's own parameter of that name; NULL: it has none (transfer none). */
const DbrParam *
dbr_tool_param (const DbrTool *self, const char *name);
/* The tool's answer, compiled now if it wasn't yet. NULL only when a file that was read quickly is wrong there (transfer none). */
const DbrAnswer *
dbr_tool_answer (const DbrTool *self);
const DbrRequestDef *
dbr_tool_request (const DbrTool *self, const char *id);

/* ---- tool list (dbr-tool-list.c) */
/* {name, title, description, inputSchema, annotations{title, readOnlyHint, destructiveHint, idempotentHint, openWorldHint}}; @note (nullable) is appended to the description. */
json_t *
dbr_tool_describe (const DbrTool *self, const char *note);

/* ---- arguments (dbr-arguments.c) */
#define DBR_ARGUMENT_ERROR (dbr_argument_error_quark ())
GQuark
dbr_argument_error_quark (void);
typedef enum
{
  DBR_ARGUMENT_ERROR_MISSING,
  DBR_ARGUMENT_ERROR_TYPE,
  DBR_ARGUMENT_ERROR_RANGE,   /* limits, enum, pattern, refuse, length */
  DBR_ARGUMENT_ERROR_UNKNOWN, /* names the nearest */
} DbrArgumentError;
/**
 * dbr_arguments_check:
 * @tool: the tool
 * @arguments: an object, null or nothing: what a model sent
 * @error: return location
 *
 * Brings arguments into the types of the parameters: numbers, booleans, objects and arrays that
 * came as strings are unpacked; integers become plain digits; null and "" mean left out (but for
 * parameters that keep them); defaults are filled in. Numbers, strings and what is inside of free
 * objects stay the bytes that came. Members stand in the order of the parameters. doc/catalogue.md
 * ("Parameters") has the table.
 *
 * Returns: (transfer full): the object, or %NULL.
 * Errors: #DBR_ARGUMENT_ERROR, the code of the first problem; the message has all (at most 20, then
 *   how many more), one a line, in English, safe to show: what a model wrote is cut to 80 bytes.
 */
DbrJsonDoc *
dbr_arguments_check (const DbrTool *tool, DbrJson arguments, GError **error);

G_END_DECLS
