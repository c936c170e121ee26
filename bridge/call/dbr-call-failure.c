/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-call-failure: words for what went wrong, so that a model knows what it may do next.
 *
 * Three kinds are never mixed: nothing was sent; the backend answered with a failure; it was sent
 * and nobody knows. See dbr-call-priv.h.
 */
#include "config.h"

#include "call/dbr-call-priv.h"

#include <string.h>

#define DETAIL_MAX_BYTES 600u
#define PROBLEMS_MAX 20u
#define DETAIL_WINDOW_BYTES (4 * DETAIL_MAX_BYTES) /* looked at: escape sequences shrink a text */

gboolean
dbr_call_is_success (const DbrRequestDef *def, guint status)
{
  if (status >= 200 && status < 300)
    return TRUE;
  for (guint i = 0; def->accept && def->accept[i]; i++)
    if (def->accept[i] == status)
      return TRUE;
  return FALSE;
}

/* ---- the backend's own words */

static void
append_location (GString *out, DbrJson location)
{
  gboolean first = TRUE;

  for (DbrJson piece = dbr_json_first (location); dbr_json_exists (piece);
       piece = dbr_json_next (piece))
    {
      g_autoptr (GString) scratch = g_string_new (NULL);
      gsize len;
      const char *text = dbr_json_string (piece, scratch, &len);
      if (!first)
        g_string_append_c (out, '.');
      if (text)
        g_string_append_len (out, text, (gssize) len);
      else
        dbr_json_append (piece, out);
      first = FALSE;
    }
}

/* FastAPI's list of {loc, msg}: one "where: what" each. */
static gboolean
append_problem (GString *out, DbrJson problem)
{
  g_autofree char *message = dbr_json_dup_string (dbr_json_get (problem, "msg"));

  if (message == NULL)
    return FALSE;
  if (out->len)
    g_string_append (out, "; ");
  append_location (out, dbr_json_get (problem, "loc"));
  g_string_append_printf (out, ": %s", message);
  return TRUE;
}

static void
append_detail_node (GString *out, DbrJson detail)
{
  g_autoptr (GString) scratch = g_string_new (NULL);
  gsize len;

  switch (dbr_json_type (detail))
    {
    case DBR_JSON_STRING:
      {
        const char *text = dbr_json_string (detail, scratch, &len);
        g_string_append_len (out, text, (gssize) len);
        return;
      }
    case DBR_JSON_ARRAY:
      for (DbrJson problem = dbr_json_first (detail); dbr_json_exists (problem);
           problem = dbr_json_next (problem))
        if (!append_problem (out, problem))
          dbr_json_append (problem, out);
      return;
    case DBR_JSON_OBJECT:
      {
        g_autofree char *reason = dbr_json_dup_string (dbr_json_get (detail, "reason"));
        g_autofree char *cause = dbr_json_dup_string (dbr_json_get (detail, "orig_error"));
        if (reason)
          {
            g_string_append_printf (out, "%s%s%s", reason, cause ? ": " : "", cause ? cause : "");
            return;
          }
        dbr_json_append (detail, out);
        return;
      }
    case DBR_JSON_NOTHING:
    case DBR_JSON_NULL:
    case DBR_JSON_BOOLEAN:
    case DBR_JSON_NUMBER:
    default:
      dbr_json_append (detail, out);
    }
}

static gboolean
is_html (const EngResponse *response)
{
  return response->content_type && strstr (response->content_type, "html");
}

/* Made safe, and no longer than a detail may be. The mark at a cut also tells the mask that a secret
 * may have been cut there. */
static void
append_cut (GString *safe, const GString *text)
{
  gsize window = MIN (text->len, DETAIL_WINDOW_BYTES);
  dbr_text_append_safe (safe, text->str, (gssize) window, DBR_TEXT_ONE_LINE);
  gboolean is_cut = window < text->len || safe->len > DETAIL_MAX_BYTES;
  g_string_truncate (safe, dbr_text_cut_length (safe->str, safe->len, DETAIL_MAX_BYTES));
  if (is_cut)
    g_string_append (safe, "…");
}

/* What the body says of the failure, short; "" when it says nothing. */
static char *
detail_of (DbrCall *self, const EngResponse *response)
{
  static const DbrJsonLimits limits = { 64, 100000, DBR_JSON_LAX_UTF8 };
  const DbrJsonPath *path = self->catalogue->backend->error_detail;
  g_autoptr (DbrJsonDoc) doc
      = response->body ? dbr_json_doc_new (response->body, &limits, NULL) : NULL;
  g_autoptr (GString) out = g_string_new (NULL);
  g_autoptr (GString) safe = g_string_new (NULL);

  if (doc)
    {
      DbrJsonPathEnv env
          = { dbr_json_doc_root (doc), dbr_json_doc_root (doc), self->now_us, NULL, NULL };
      DbrJson detail = path ? dbr_json_path_first (path, &env) : DBR_JSON_NONE;
      append_detail_node (out, dbr_json_exists (detail) ? detail : env.root);
    }
  else if (response->body && !is_html (response))
    {
      gsize len;
      const char *data = g_bytes_get_data (response->body, &len);
      g_string_append_len (out, data, (gssize) MIN (len, DETAIL_WINDOW_BYTES + 1));
    }
  append_cut (safe, out);
  return g_string_free (g_steal_pointer (&safe), FALSE);
}

static const char *
reason_phrase (guint status)
{
  static const struct
  {
    guint status;
    const char *phrase;
  } phrases[] = { { 400, "Bad Request" },
                  { 401, "Unauthorized" },
                  { 403, "Forbidden" },
                  { 404, "Not Found" },
                  { 405, "Method Not Allowed" },
                  { 406, "Not Acceptable" },
                  { 409, "Conflict" },
                  { 412, "Precondition Failed" },
                  { 413, "Content Too Large" },
                  { 415, "Unsupported Media Type" },
                  { 422, "Unprocessable Content" },
                  { 428, "Precondition Required" },
                  { 429, "Too Many Requests" },
                  { 500, "Internal Server Error" },
                  { 502, "Bad Gateway" },
                  { 503, "Service Unavailable" },
                  { 504, "Gateway Timeout" },
                  { 507, "Insufficient Storage" } };

  for (guint i = 0; i < G_N_ELEMENTS (phrases); i++)
    if (phrases[i].status == status)
      return phrases[i].phrase;
  return NULL;
}

static char *
describe_status (DbrCall *self, const EngResponse *response)
{
  const char *phrase = reason_phrase (response->status);
  g_autofree char *detail = NULL;

  if (response->status >= 300 && response->status < 400)
    return g_strdup_printf ("%u, a redirect to %s, which is never followed: probably a sign-in "
                            "page or a wrong base address",
                            response->status,
                            response->location_origin ? response->location_origin
                                                      : "an unnamed place");
  detail = detail_of (self, response);
  if (is_html (response))
    return g_strdup_printf (
        "%u with an HTML page instead of an API answer: is that the address of the API?",
        response->status);
  return g_strdup_printf ("%u%s%s%s%s", response->status, phrase ? " " : "", phrase ? phrase : "",
                          *detail ? ": " : "", detail);
}

char *
dbr_call_describe_response (DbrCall *self, const EngResponse *response)
{
  if (response->error)
    return g_strdup (response->error->message);
  if (response->status >= 200 && response->status < 300)
    return is_html (response)
               ? g_strdup_printf (
                   "%u with an HTML page instead of JSON: is that the address of the API?",
                   response->status)
               : g_strdup_printf ("%u with a body that is not JSON", response->status);
  return describe_status (self, response);
}

/* ---- advice */

static void
append_template (GString *out, const DbrTemplate *template, DbrCall *self, DbrJson item)
{
  DbrJsonPathEnv env;
  gboolean any;

  g_string_append_c (out, '\n');
  dbr_template_append (template, dbr_call_env (self, item, &env), 0, out, &any, NULL);
}

static void
append_credentials (GString *out, DbrCall *self)
{
  if (self->catalogue->backend->sign_in)
    g_string_append_printf (out, "\nThe credentials were not accepted (%s).",
                            dbr_backend_credentials (self->backend));
}

/* A 403 that means the token and not the account: the sign-in names its words. */
static gboolean
is_refused_token (const DbrSignInDef *sign_in, guint status, const char *text)
{
  return status == 403 && sign_in && sign_in->renew_403 && strstr (text, sign_in->renew_403);
}

/* The parameter that alone fills a field; NULL: none, or several do (transfer full). */
static char *
filled_by (const DbrField *field)
{
  const char *from = field->from ? dbr_json_path_text (field->from) : "";
  const char *const *names = field->value ? dbr_template_parameters (field->value) : NULL;

  if (names && names[0] && names[1] == NULL)
    return g_strdup (names[0]);
  from = g_str_has_prefix (from, "$.args.") ? from + strlen ("$.args.") : "";
  return *from && from[strspn (from, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_")] == '\0'
             ? g_strdup (from)
             : NULL;
}

/* Where @text begins with the path of one of @fields: the parameter, and how much of the text it stands for. */
static char *
find_argument (const GPtrArray *fields, const char *text, gsize *out_len)
{
  for (guint i = 0; fields && i < fields->len; i++)
    {
      const DbrField *field = g_ptr_array_index (fields, i);
      gsize len = field->name ? strlen (field->name) : 0;
      char *found = NULL;

      if (len == 0 || strncmp (text, field->name, len) != 0)
        continue;
      if (field->fields && text[len] == '.')
        found = find_argument (field->fields, text + len + 1, out_len);
      else if (!field->fields && !g_ascii_isalnum (text[len]) && text[len] != '_')
        found = filled_by (field);
      if (found == NULL)
        continue;
      *out_len = field->fields ? len + 1 + *out_len : len;
      return found;
    }
  return NULL;
}

/* A backend names the members of a body; who called knows the arguments that filled them (transfer full). */
static char *
by_argument (const DbrStep *step, const char *text)
{
  gsize len = 0;
  g_autofree char *name = find_argument (step->def->body_fields, text, &len);

  return name ? g_strconcat (name, text + len, NULL) : g_strdup (text);
}

/* The wrong fields, each on a line as the catalogue says. */
static void
append_problems (GString *out, const DbrStep *step, const DbrPart *part)
{
  const DbrBackendDef *backend = step->call->catalogue->backend;
  DbrJson root = part->problem ? dbr_json_doc_root (part->problem) : DBR_JSON_NONE;
  DbrJsonPathEnv env = { root, root, step->call->now_us, NULL, NULL };
  g_auto (DbrNodeList) nodes = { 0 };

  dbr_node_list_init (&nodes);
  if (part->problem == NULL || backend->error_problems == NULL
      || !dbr_json_path_select (backend->error_problems, &env, &nodes, NULL))
    return;
  for (guint i = 0; i < dbr_node_list_size (&nodes) && i < PROBLEMS_MAX; i++)
    {
      g_autoptr (GString) problem = g_string_new (NULL);
      g_autofree char *named = NULL;
      env.current = dbr_node_list_get (&nodes, i);
      dbr_template_append (backend->error_problem, &env, 0, problem, NULL, NULL);
      named = by_argument (step, problem->str);
      /* The only one is often what was just said as a whole. */
      if (dbr_node_list_size (&nodes) > 1
          || (strstr (out->str, problem->str) == NULL && strstr (out->str, named) == NULL))
        g_string_append_printf (out, "\n- %s", named);
    }
  if (dbr_node_list_size (&nodes) > PROBLEMS_MAX)
    g_string_append_printf (out, "\n- and %u more", dbr_node_list_size (&nodes) - PROBLEMS_MAX);
}

/* The stable word of a failure, NULL when its body has none (transfer full). */
static char *
code_of (const DbrStep *step, const DbrPart *part)
{
  const DbrJsonPath *path = step->call->catalogue->backend->error_code;
  DbrJson root = part->problem ? dbr_json_doc_root (part->problem) : DBR_JSON_NONE;
  DbrJsonPathEnv env = { root, root, step->call->now_us, NULL, NULL };

  return path && part->problem ? dbr_json_dup_string (dbr_json_path_first (path, &env)) : NULL;
}

static gboolean
is_offered (const DbrAdvice *advice, const DbrOffer *offer)
{
  return advice->offers == NULL || offer == NULL
         || g_strv_contains ((const char *const *) advice->offers, offer->name);
}

/* The narrowest that fits: status and code, then the code, then the status; of two the one for this offer. */
static const DbrAdvice *
find_advice (const GPtrArray *all, const DbrOffer *offer, guint status, const char *code)
{
  const DbrAdvice *best = NULL;
  guint best_rank = 0;

  for (guint i = 0; i < all->len; i++)
    {
      const DbrAdvice *advice = g_ptr_array_index (all, i);
      guint rank = (advice->code ? 4 : 0) + (advice->status ? 2 : 0) + (advice->offers ? 1 : 0);
      if (!is_offered (advice, offer) || (advice->status && advice->status != status)
          || (advice->code && g_strcmp0 (advice->code, code) != 0) || rank <= best_rank)
        continue;
      best = advice;
      best_rank = rank;
    }
  return best;
}

static void
append_advice (GString *out, DbrStep *step, const DbrPart *part, guint status)
{
  const DbrBackendDef *backend = step->call->catalogue->backend;
  g_autofree char *code = code_of (step, part);
  const DbrOffer *offer = step->call->catalogue->offer;
  const DbrAdvice *advice = find_advice (step->def->advice, offer, status, code);

  if (advice)
    append_template (out, advice->advice, step->call, part->item);
  else if ((advice = find_advice (backend->error_advice, offer, status, code)) != NULL)
    append_template (out, advice->advice, step->call,
                     part->problem ? dbr_json_doc_root (part->problem) : DBR_JSON_NONE);
  if (advice && advice->code)
    return; /* it knows better than the status */
  if (status == 401 || is_refused_token (backend->sign_in, status, part->error))
    append_credentials (out, step->call);
  else if (status == 403)
    g_string_append (out, "\nThe account that this server uses may not do that.");
}

static gboolean
is_write (const DbrStep *step)
{
  return step->def->access != DBR_ACCESS_READ;
}

static void
append_unknown_outcome (GString *out, DbrStep *step, const DbrPart *part)
{
  g_string_append_printf (out,
                          "Outcome unknown: %s was sent, but no whole answer came (%s). It may "
                          "have been carried out. Do not repeat it before you have looked.",
                          part->url, part->error);
  if (step->def->unknown)
    append_template (out, step->def->unknown, step->call, part->item);
}

/* A success, and yet nothing that this API says: a write may have been carried out, by whatever that is. */
static void
append_strange (GString *out, DbrStep *step, const DbrPart *part)
{
  g_string_append_printf (out,
                          "Outcome unknown: %s was answered, but not as this API answers (%s). "
                          "It may have been carried out. Do not repeat it before you have looked.",
                          part->url, part->error);
  if (step->def->unknown)
    append_template (out, step->def->unknown, step->call, part->item);
}

static const char *
try_text (int code)
{
  switch (code)
    {
    case ENG_ERROR_RESOLVE:
    case ENG_ERROR_CONNECT:
      return "\nIs it running, and is that its address? The next call tries again by itself.";
    case ENG_ERROR_TIMEOUT:
      return "\nA narrower request may be quicker; the next call tries again by itself.";
    default:
      return "";
    }
}

/* Where the address comes from, and what the catalogue says to do. */
static void
append_address (GString *out, const DbrCall *self)
{
  const DbrBackendDef *backend = self->catalogue->backend;
  gboolean is_socket = g_str_has_prefix (dbr_backend_origin (self->backend), "unix:");
  const char *variable = is_socket ? backend->socket_env : backend->url_env;

  if (variable)
    g_string_append_printf (
        out, is_socket ? " Another address: %s." : " Its address comes from %s.", variable);
  if (backend->unreachable)
    g_string_append_printf (out, "\n%s", backend->unreachable);
}

/* Whether a person reads it who typed a command. */
static gboolean
is_for_shell (const DbrCall *self)
{
  return self->catalogue->offer && self->catalogue->offer->is_shell_only;
}

/* Nothing came back, or nothing went out. */
static void
append_silence (GString *out, const DbrStep *step, const DbrPart *part, const EngResponse *response)
{
  gboolean is_connection
      = response->error->code == ENG_ERROR_RESOLVE || response->error->code == ENG_ERROR_CONNECT;

  if (is_for_shell (step->call) && is_connection)
    {
      g_autofree char *text = dbr_text_dup_sentence ("Nothing was done: %s", part->error);
      g_string_append (out, text);
    }
  else
    g_string_append_printf (out, "%s%s: %s%s",
                            response->sent == ENG_NOT_SENT ? "Nothing was sent to "
                                                           : "No answer from ",
                            part->url, part->error, try_text (response->error->code));
  if (is_connection)
    append_address (out, step->call);
  if (response->error->code == ENG_ERROR_AUTH)
    append_credentials (out, step->call);
}

/* What was answered. Where the backend words its failures itself, that is all that a person needs, and all but the status
 * that a model does; of a write it also learns which backend refused it. */
static void
append_refusal (GString *out, DbrStep *step, const DbrPart *part, const EngResponse *response)
{
  gboolean is_person = is_for_shell (step->call);
  /* What fails by itself refuses nothing: then a model needs all that is known. */
  g_autofree char *code = is_person || response->status < 500 ? code_of (step, part) : NULL;
  g_autofree char *detail = code ? detail_of (step->call, response) : NULL;

  if (detail && *detail)
    {
      g_autofree char *named = by_argument (step, detail);
      if (!is_person)
        g_string_append_printf (out, "Refused%s%s (%u): ", is_write (step) ? " by " : "",
                                is_write (step) ? dbr_backend_origin (step->call->backend) : "",
                                response->status);
      g_string_append (out, named);
    }
  else
    g_string_append_printf (out, "%s answered %s", part->url, part->error);
}

char *
dbr_call_failure_text (DbrStep *step, const DbrPart *part, const EngResponse *response)
{
  g_autoptr (GString) out = g_string_new (NULL);

  if (is_write (step) && response->error == NULL && response->status >= 200
      && response->status < 300)
    append_strange (out, step, part);
  else if (response->error == NULL)
    {
      append_refusal (out, step, part, response);
      append_problems (out, step, part);
      append_advice (out, step, part, response->status);
    }
  else if (is_write (step) && response->sent != ENG_NOT_SENT)
    append_unknown_outcome (out, step, part);
  else
    append_silence (out, step, part, response);
  return g_string_free (g_steal_pointer (&out), FALSE);
}
