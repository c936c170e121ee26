/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-catalogue-priv: what the readers of a catalogue share while one file is loaded.
 *
 * Reading goes on after a problem, so that one run shows them all; a reader that can't go on
 * returns NULL and has reported why. The semantic pass runs only over a file that was read without
 * a problem, so it may rely on every pointer that the language requires.
 */
#pragma once

#include "catalogue/dbr-catalogue.h"

G_BEGIN_DECLS

#define DBR_CATALOGUE_MAX_REQUESTS 32u    /* a tool; DbrRequestDef.needs has a bit for each */
#define DBR_CATALOGUE_MAX_PARAMS 64u      /* an object */
#define DBR_CATALOGUE_MAX_VALUES 200u     /* an enum */
#define DBR_CATALOGUE_MAX_NESTING 4u      /* params and items in each other */
#define DBR_CATALOGUE_MAX_ATTRIBUTES 100u /* of an element */
#define DBR_CATALOGUE_MAX_PROBLEMS 20u    /* shown in one message */
#define DBR_CATALOGUE_KEPT_PROBLEMS 1000u /* kept to choose those from; the rest is counted */
#define DBR_PARAM_DEFAULT_MAX_LENGTH 4096u
#define DBR_PARAM_DEFAULT_MAX_ITEMS 100u
#define DBR_PARAM_MAX_PATTERN 512u /* bytes of a pattern */

/* One row of the access table, kept for what can't be asked of DbrAccessTable. */
typedef struct
{
  char *method; /* nullable: any */
  DbrAccess access;
} DbrAccessRow;

typedef struct
{
  const char *file; /* as messages name it */
  const DbrCatalogueOptions *options;
  DbrCatalogue *catalogue; /* being filled */
  GPtrArray *problems;     /* (element-type Problem) */
  guint n_more;            /* problems that weren't kept */
  GArray *rows;            /* (element-type DbrAccessRow) */
  GHashTable *lines;       /* expression or definition -> line */
  GPtrArray *bindings;     /* (element-type DbrBinding): names that `as` binds, in file order */
} DbrLoader;

typedef struct
{
  char *name;
  guint tool; /* index of the tool */
  guint line;
} DbrBinding;

/* What a word may be made of; the same patterns stand in schemas/catalogue.rng. */
typedef enum
{
  DBR_WORD_CATALOGUE, /* [a-z][a-z0-9-]{0,29} */
  DBR_WORD_TOOL,      /* [a-z0-9_]{1,40} */
  DBR_WORD_CATEGORY,  /* [a-z0-9_-]{1,40} */
  DBR_WORD_ID,        /* [a-z][a-z0-9_]{0,39} */
  DBR_WORD_PARAM,     /* [A-Za-z_][A-Za-z0-9_]{0,63} */
  DBR_WORD_VARIABLE,  /* [A-Z_][A-Z0-9_]{0,99} */
  DBR_WORD_SERVER,    /* [A-Za-z0-9_-]{1,64} */
  DBR_WORD_HEADER,    /* [A-Za-z0-9-]{1,64} */
  DBR_WORD_CODE,      /* [a-z0-9_.-]{1,64} */
} DbrWord;

/* ---- problems (dbr-catalogue-load.c) */
void
dbr_loader_problem (DbrLoader *self, DbrCatalogueError code, guint line, const char *format, ...)
    G_GNUC_PRINTF (4, 5);
/* Takes over an error of another module whose message begins with FILE:LINE. */
void
dbr_loader_take (DbrLoader *self, GError *error);
/* An element that the language keeps for later. */
void
dbr_loader_reserved (DbrLoader *self, const xmlNode *node);
guint
dbr_loader_line (const DbrLoader *self, gconstpointer thing); /* 0 when it wasn't marked */
void
dbr_loader_mark (DbrLoader *self, gconstpointer thing, const xmlNode *node);
guint
dbr_node_line (const xmlNode *node);

/* ---- attributes (dbr-catalogue-attribute.c); each reports what is wrong and returns NULL or FALSE
 */
gboolean
dbr_loader_form (DbrLoader *self,
                 const xmlNode *node,
                 const char *attributes,
                 const char *children);
char *
dbr_loader_need (DbrLoader *self, const xmlNode *node, const char *name);
char *
dbr_loader_word (
    DbrLoader *self, const xmlNode *node, const char *name, DbrWord kind, gboolean needed);
/* Names parted by single spaces, each once, at least @least; NULL when absent or wrong. */
char **
dbr_loader_words (
    DbrLoader *self, const xmlNode *node, const char *name, DbrWord kind, guint least);
gboolean
dbr_loader_yes_no (DbrLoader *self, const xmlNode *node, const char *name, gboolean *out);
gboolean
dbr_loader_uint (
    DbrLoader *self, const xmlNode *node, const char *name, const guint *range, guint *out);
int
dbr_loader_choice (DbrLoader *self,
                   const xmlNode *node,
                   const char *name,
                   const char *const *choices,
                   gboolean needed); /* -1: absent or wrong */
char *
dbr_loader_text (DbrLoader *self, const xmlNode *node); /* not empty */
DbrTemplate *
dbr_loader_template (DbrLoader *self, const xmlNode *node, const char *name);
DbrTemplate *
dbr_loader_template_text (DbrLoader *self, const xmlNode *node);
DbrJsonPath *
dbr_loader_path (DbrLoader *self, const xmlNode *node, const char *name, DbrJsonPathFlags flags);
DbrJsonDoc *
dbr_loader_json (DbrLoader *self, const xmlNode *node, const char *name);
/* "a, b, c" (transfer full). */
char *
dbr_names_join (const char *const *names);
gboolean
dbr_word_is (const char *text, DbrWord kind);

/* Elements that stand at most once, or at least once, under their parent. */
void
dbr_loader_once (DbrLoader *self, const xmlNode *child, gboolean *seen);
void
dbr_loader_missing (DbrLoader *self, const xmlNode *node, const char *child, gboolean seen);

/* ---- elements */
DbrBackendDef *
dbr_backend_read (DbrLoader *loader, const xmlNode *node);
void
dbr_backend_def_free (DbrBackendDef *self);
DbrParam *
dbr_param_read (DbrLoader *loader, const xmlNode *node, guint depth);
void
dbr_param_free (DbrParam *self);
DbrRequestDef *
dbr_request_read (DbrLoader *loader, const xmlNode *node, guint index);
void
dbr_request_free (DbrRequestDef *self);
/* <on>: into @advice (element-type DbrAdvice). */
void
dbr_advice_read (DbrLoader *loader, const xmlNode *node, GPtrArray *advice);
void
dbr_advice_free (gpointer advice);
DbrTool *
dbr_tool_read (DbrLoader *loader, const xmlNode *node);
void
dbr_tool_free (DbrTool *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DbrBackendDef, dbr_backend_def_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DbrParam, dbr_param_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DbrRequestDef, dbr_request_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DbrTool, dbr_tool_free)

/* ---- expressions of a request (dbr-catalogue-expression.c) */
typedef enum
{
  DBR_ROLE_METHOD,
  DBR_ROLE_PATH,
  DBR_ROLE_WHEN,
  DBR_ROLE_FOR_EACH,
  DBR_ROLE_PER,
  DBR_ROLE_QUERY,
  DBR_ROLE_HEADER,
  DBR_ROLE_FIELD, /* a body's field: null can be sent */
  DBR_ROLE_BODY,
  DBR_ROLE_TAIL,
  DBR_ROLE_ADVICE, /* evaluated after the request: waits for nothing */
  DBR_ROLE_EFFECT, /* told to the user before it is sent: no word of a backend */
} DbrRole;

/* One of @template and @path. */
typedef struct
{
  DbrRole role;
  const char *what; /* the attribute or element, for messages */
  const DbrTemplate *template;
  const DbrJsonPath *path;
} DbrExpression;

typedef void (*DbrExpressionFunc) (const DbrExpression *expression, gpointer user_data);
void
dbr_request_expressions (const DbrRequestDef *self, DbrExpressionFunc function, gpointer user_data);
const char *
dbr_expression_text (const DbrExpression *self);
const char *const *
dbr_expression_roots (const DbrExpression *self);
/* The parameters that it reads, NULL-terminated (transfer full). *out_all: it reads $.args as a
 * whole. */
char **
dbr_expression_parameters (const DbrExpression *self, gboolean *out_all);
/* Whether it uses @ outside of filters: only for-each gives it an item. */
gboolean
dbr_expression_uses_item (const DbrExpression *self);
gboolean
dbr_expression_uses_graph (const DbrExpression *self);

/* ---- offers (dbr-catalogue-offer.c) */
void
dbr_offer_read (DbrLoader *loader, const xmlNode *node);
void
dbr_offer_free (gpointer offer);
/* Names, the default, and what tools say of them. */
gboolean
dbr_offer_is_wanted (const DbrLoader *loader, const xmlNode *tool);
void
dbr_offers_check (DbrLoader *loader);
/* Of an answer's element. */
void
dbr_offer_check_name (DbrLoader *loader, const char *name, guint line);
/* Whether the tool is in @offer (NULL: the file has none). */
gboolean
dbr_tool_is_offered (const DbrTool *self, const DbrOffer *offer);
/* The tool of that name in @offer (NULL: the file has none). */
const DbrTool *
dbr_offer_find (const DbrCatalogue *catalogue, const DbrOffer *offer, const char *tool);
/* Keeps the chosen offer only; a name that isn't there is a problem. */
void
dbr_offers_choose (DbrLoader *loader);

/* ---- the semantic pass */
/* "did you mean x?" or what there is (transfer full). @names: (element-type utf8). */
char *
dbr_catalogue_hint (const char *name, const GPtrArray *names);
void
dbr_catalogue_check (DbrLoader *loader); /* the whole file */
/* Fills in access and what annotations are derived from; judges it. */
void
dbr_catalogue_check_access (DbrLoader *loader, DbrTool *tool);
/* The methods that a request may use, NULL-terminated (transfer container); NULL when reported. */
const char **
dbr_request_methods (DbrLoader *loader, const DbrTool *tool, const DbrRequestDef *request);
void
dbr_catalogue_check_variables (DbrLoader *loader);

/* What is wrong with @value as @param, NULL when nothing is (transfer full). */
char *
dbr_param_problem (const DbrParam *param, DbrJson value);

/* The same as dbr_catalogue_load() over bytes; @file is what messages call them. */
DbrCatalogue *
dbr_catalogue_load_data (const char *text,
                         gsize len,
                         const char *file,
                         const DbrCatalogueOptions *options,
                         GError **error);

/* Looks at a file before it is parsed. FALSE: an element that begins before or in *@out_line has
 * over DBR_CATALOGUE_MAX_ATTRIBUTES attributes. */
gboolean
dbr_catalogue_scan (const char *text, gsize len, guint *out_line);

G_END_DECLS
