/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-catalogue-backend: <backend>: where it is, how one signs in, what its paths may do.
 *
 * Access rows go into the one table that the barrier asks later; nothing here decides by itself.
 */
#include "config.h"

#include "dbr-catalogue-priv.h"

#include <glib/gi18n.h>
#include <string.h>

static const char *const access_words[] = { "read", "write", "delete", NULL };

static void
sign_in_free (DbrSignInDef *self)
{
  if (!self)
    return;
  g_free (self->token_env);
  g_free (self->user_env);
  g_free (self->password_env);
  g_free (self->default_user);
  g_free (self->default_password);
  g_free (self->path);
  g_free (self->user_member);
  g_free (self->password_member);
  g_free (self->token_member);
  g_free (self->renew_403);
  g_free (self->token_from);
  g_free (self);
}

void
dbr_backend_def_free (DbrBackendDef *self)
{
  if (!self)
    return;
  g_free (self->server_name);
  g_free (self->url);
  g_free (self->url_env);
  g_free (self->socket_env);
  g_free (self->unreachable);
  g_free (self->prefix);
  sign_in_free (self->sign_in);
  g_free (self->ca_file_env);
  g_free (self->writes_env);
  g_free (self->deletes_env);
  g_clear_pointer (&self->access, dbr_access_table_unref);
  g_clear_pointer (&self->access_notes, g_ptr_array_unref);
  g_free (self->paging_limit);
  g_free (self->paging_offset);
  g_free (self->paging_total);
  g_clear_pointer (&self->error_detail, dbr_json_path_free);
  g_clear_pointer (&self->error_code, dbr_json_path_free);
  g_clear_pointer (&self->error_problems, dbr_json_path_free);
  g_clear_pointer (&self->error_problem, dbr_template_free);
  g_clear_pointer (&self->error_advice, g_ptr_array_unref);
  g_clear_pointer (&self->log_style, dbr_log_style_free);
  g_free (self);
}

/* A path as a catalogue writes it: no query, no fragment, nothing that leads elsewhere. */
static gboolean
is_plain_path (const char *path)
{
  if (*path != '/' || strpbrk (path, "?#\\ \t\n\r;") || strstr (path, "//"))
    return FALSE;
  g_auto (GStrv) pieces = g_strsplit (path + 1, "/", -1);
  for (guint i = 0; pieces[i]; i++)
    if (g_str_equal (pieces[i], ".") || g_str_equal (pieces[i], ".."))
      return FALSE;
  return TRUE;
}

static char *
read_path (DbrLoader *loader, const xmlNode *node, const char *name)
{
  g_autofree char *path = dbr_loader_need (loader, node, name);
  if (!path || is_plain_path (path))
    return g_steal_pointer (&path);
  dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_RULE, dbr_node_line (node),
                      _ ("%s=\"%s\" of <%s> isn't a plain path; it begins with \"/\" and has no "
                         "query, no empty and no dot segments"),
                      name, path, (const char *) node->name);
  return NULL;
}

static void
read_sign_in (DbrLoader *loader, const xmlNode *node, DbrBackendDef *backend)
{
  if (!dbr_loader_form (loader, node,
                        "token-env user-env password-env default-user default-password path "
                        "user-member password-member token renew-403 token-from",
                        ""))
    return;
  sign_in_free (backend->sign_in);
  DbrSignInDef *self = backend->sign_in = g_new0 (DbrSignInDef, 1);
  dbr_loader_mark (loader, self, node);
  self->token_env = dbr_loader_word (loader, node, "token-env", DBR_WORD_VARIABLE, FALSE);
  self->user_env = dbr_loader_word (loader, node, "user-env", DBR_WORD_VARIABLE, FALSE);
  self->password_env = dbr_loader_word (loader, node, "password-env", DBR_WORD_VARIABLE, FALSE);
  self->default_user = dbr_xml_attribute (node, "default-user");
  self->default_password = dbr_xml_attribute (node, "default-password");
  self->user_member = dbr_xml_attribute (node, "user-member");
  self->password_member = dbr_xml_attribute (node, "password-member");
  self->token_member = dbr_xml_attribute (node, "token");
  self->renew_403 = dbr_xml_attribute (node, "renew-403");
  self->token_from = dbr_xml_attribute (node, "token-from");
  g_autofree char *path = dbr_xml_attribute (node, "path");
  if (path)
    self->path = read_path (loader, node, "path");

  const char *says = NULL;
  if (!path && !self->token_env)
    says = _ ("<sign-in> names neither token-env nor path; add the variable of a fixed token, or "
              "the path that gives one");
  else if (path && (!self->user_env || !self->password_env))
    says = _ ("<sign-in> has a path but not both of user-env and password-env; add them");
  else if (!path
           && (self->user_env || self->password_env || self->default_user || self->default_password
               || self->user_member || self->password_member || self->token_member
               || self->renew_403))
    says = _ ("<sign-in> says how a token is asked for but has no path; add path, or keep only "
              "token-env");
  else if (self->token_from && !self->token_env)
    says = _ ("<sign-in> says where a token comes from but not which variable takes it; add "
              "token-env");
  else if (!self->default_user != !self->default_password)
    says = _ ("<sign-in> has one of default-user and default-password; give both or none");
  if (says)
    dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_RULE, dbr_node_line (node), "%s", says);
  if (path && !self->user_member)
    self->user_member = g_strdup ("username");
  if (path && !self->password_member)
    self->password_member = g_strdup ("password");
  if (path && !self->token_member)
    self->token_member = g_strdup ("access_token");
}

static void
read_row (DbrLoader *loader, const xmlNode *node, DbrBackendDef *backend, gboolean deny)
{
  if (!dbr_loader_form (loader, node, deny ? "path" : "method path is", ""))
    return;
  g_autofree char *method = dbr_xml_attribute (node, "method");
  g_autofree char *path = read_path (loader, node, "path");
  int is
      = deny ? (int) DBR_ACCESS_DENIED : dbr_loader_choice (loader, node, "is", access_words, TRUE);
  g_autoptr (GError) error = NULL;
  if (!path || is < 0)
    return;
  if (method && (!*method || strspn (method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != strlen (method)))
    {
      dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_GRAMMAR, dbr_node_line (node),
                          _ ("method=\"%s\" of <access> isn't a method; write it in capitals"),
                          method);
      return;
    }
  g_autofree char *note
      = deny ? g_strdup_printf (_ ("%s and all below it is denied"), path)
             : g_strdup_printf (_ ("%s %s is a %s"), method ? method : _ ("any method on"), path,
                                access_words[is]);
  for (guint i = 0; i < backend->access_notes->len; i++)
    if (g_str_equal (g_ptr_array_index (backend->access_notes, i), note))
      dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_DUPLICATE, dbr_node_line (node),
                          _ ("the row for \"%s\" is there twice; remove one"), path);
  if (!dbr_access_table_add (backend->access, method, path, (DbrAccess) is, &error))
    {
      dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_RULE, dbr_node_line (node), "%s",
                          error->message);
      return;
    }
  DbrAccessRow row = { g_steal_pointer (&method), (DbrAccess) is };
  g_array_append_val (loader->rows, row);
  g_ptr_array_add (backend->access_notes, g_steal_pointer (&note));
}

static void
read_gate (DbrLoader *loader, const xmlNode *node, DbrBackendDef *backend)
{
  if (!dbr_loader_form (loader, node, "writes-env deletes-env", ""))
    return;
  g_free (backend->writes_env);
  g_free (backend->deletes_env);
  backend->writes_env = dbr_loader_word (loader, node, "writes-env", DBR_WORD_VARIABLE, FALSE);
  backend->deletes_env = dbr_loader_word (loader, node, "deletes-env", DBR_WORD_VARIABLE, FALSE);
  if (backend->deletes_env && !backend->writes_env)
    dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_RULE, dbr_node_line (node),
                        _ ("<gate> names deletes-env without writes-env; a delete needs both "
                           "flags: add writes-env"));
}

static void
read_paging (DbrLoader *loader, const xmlNode *node, DbrBackendDef *backend)
{
  static const guint range[] = { 1, 10000 };
  if (!dbr_loader_form (loader, node, "limit offset total max", ""))
    return;
  g_free (backend->paging_limit);
  g_free (backend->paging_offset);
  g_free (backend->paging_total);
  backend->paging_limit = dbr_loader_need (loader, node, "limit");
  backend->paging_offset = dbr_loader_need (loader, node, "offset");
  backend->paging_total = dbr_xml_attribute (node, "total");
  dbr_loader_uint (loader, node, "max", range, &backend->paging_max);
}

/* It stands for every request of every tool, so it can read none of them. */
static void
check_common_advice (DbrLoader *loader, const xmlNode *node, const DbrAdvice *advice)
{
  static const char *const known[] = { "now", "call", NULL };
  const char *const *roots = advice->advice ? dbr_template_roots (advice->advice) : known;
  for (guint i = 0; roots[i]; i++)
    if (!g_strv_contains (known, roots[i]))
      dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_REFERENCE, dbr_node_line (node),
                          _ ("an <on> of <error> reads $.%s; it is for every request, so it knows "
                             "only @ (the failure's body), $.now and $.call"),
                          roots[i]);
}

/* What is read of a failure is read once: a second <error> is reported, not mixed in. */
static void
read_error (DbrLoader *loader, const xmlNode *node, DbrBackendDef *self)
{
  if (self->error_detail || !dbr_loader_form (loader, node, "detail code problems problem", "on"))
    return;
  g_autofree char *detail = dbr_loader_need (loader, node, "detail");
  if (detail)
    self->error_detail = dbr_loader_path (loader, node, "detail", DBR_JSON_PATH_RFC);
  self->error_code = dbr_loader_path (loader, node, "code", DBR_JSON_PATH_RFC);
  self->error_problems = dbr_loader_path (loader, node, "problems", DBR_JSON_PATH_RFC);
  self->error_problem = dbr_loader_template (loader, node, "problem");
  if (!xmlHasProp (node, (const xmlChar *) "problems")
      != !xmlHasProp (node, (const xmlChar *) "problem"))
    dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_GRAMMAR, dbr_node_line (node),
                        _ ("<error> has one of problems and problem; the path of the wrong fields "
                           "and how one reads go together: give both or none"));
  for (xmlNode *child = dbr_xml_first_element (node); child; child = dbr_xml_next_element (child))
    dbr_advice_read (loader, child, self->error_advice);
  for (guint i = 0; i < self->error_advice->len; i++)
    check_common_advice (loader, node, g_ptr_array_index (self->error_advice, i));
}

/* The place of a program of ours, found by whoever opens the backend. */
static void
read_socket (DbrLoader *loader, const xmlNode *node, DbrBackendDef *self)
{
  static const char *const places[] = { "engine", NULL };
  self->has_engine_socket = dbr_loader_choice (loader, node, "socket", places, FALSE) == 0;
  if (self->has_engine_socket && !loader->options->is_shipped)
    dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_RULE, dbr_node_line (node),
                        _ ("socket=\"engine\" of <backend> is for catalogues that come with the "
                           "program; name a variable by socket-env"));
}

static void
read_child (DbrLoader *loader, const xmlNode *child, DbrBackendDef *self)
{
  if (dbr_xml_is (child, "sign-in"))
    read_sign_in (loader, child, self);
  else if (dbr_xml_is (child, "ca-file"))
    {
      g_free (self->ca_file_env);
      self->ca_file_env = dbr_loader_form (loader, child, "env", "")
                              ? dbr_loader_word (loader, child, "env", DBR_WORD_VARIABLE, TRUE)
                              : NULL;
    }
  else if (dbr_xml_is (child, "gate"))
    read_gate (loader, child, self);
  else if (dbr_xml_is (child, "access"))
    read_row (loader, child, self, FALSE);
  else if (dbr_xml_is (child, "deny"))
    read_row (loader, child, self, TRUE);
  else if (dbr_xml_is (child, "paging"))
    read_paging (loader, child, self);
  else if (dbr_xml_is (child, "error"))
    read_error (loader, child, self);
  else if (dbr_xml_is (child, "unreachable"))
    {
      g_free (self->unreachable);
      self->unreachable
          = dbr_loader_form (loader, child, "", "") ? dbr_loader_text (loader, child) : NULL;
    }
  else if (dbr_xml_is (child, "log-record"))
    {
      GError *error = NULL;
      g_clear_pointer (&self->log_style, dbr_log_style_free);
      self->log_style = dbr_log_style_new (child, &error);
      if (error)
        dbr_loader_take (loader, error);
    }
  else
    dbr_loader_reserved (loader, child);
}

static gboolean
is_base_url (const char *url)
{
  const char *rest = g_str_has_prefix (url, "http://")    ? url + 7
                     : g_str_has_prefix (url, "https://") ? url + 8
                                                          : "";
  return *rest && !strchr ("/:", *rest) && !strpbrk (rest, "?#@\\ \t\n\r");
}

static void
read_address (DbrLoader *loader, const xmlNode *node, DbrBackendDef *self)
{
  self->server_name = dbr_loader_word (loader, node, "server-name", DBR_WORD_SERVER, TRUE);
  self->url = dbr_xml_attribute (node, "url");
  self->url_env = dbr_loader_word (loader, node, "url-env", DBR_WORD_VARIABLE, FALSE);
  self->socket_env = dbr_loader_word (loader, node, "socket-env", DBR_WORD_VARIABLE, FALSE);
  self->prefix = dbr_xml_attribute (node, "prefix");
  if (!self->prefix)
    self->prefix = g_strdup ("");
  const char *prefix = self->prefix;
  if (*prefix && (!is_plain_path (prefix) || g_str_has_suffix (prefix, "/")))
    dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_RULE, dbr_node_line (node),
                        _ ("prefix=\"%s\" of <backend> isn't a plain path; write it like "
                           "\"/api/v2\", or leave it out"),
                        prefix);
  if (self->url && !is_base_url (self->url))
    dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_RULE, dbr_node_line (node),
                        _ ("url=\"%s\" of <backend> isn't the address of a server; write "
                           "http:// or https://, a host and nothing secret"),
                        self->url);
  read_socket (loader, node, self);
  if (!self->url && !self->url_env && !self->socket_env && !self->has_engine_socket)
    dbr_loader_problem (loader, DBR_CATALOGUE_ERROR_RULE, dbr_node_line (node),
                        _ ("<backend> names none of url, url-env and socket-env; add the address "
                           "of the server or the variable that holds it"));
}

DbrBackendDef *
dbr_backend_read (DbrLoader *loader, const xmlNode *node)
{
  /* These stand once; rows may repeat. */
  static const char *const single[]
      = { "sign-in", "ca-file", "gate", "paging", "error", "log-record", "unreachable" };
  gboolean seen[G_N_ELEMENTS (single)] = { FALSE };
  if (!dbr_loader_form (
          loader, node, "server-name url url-env socket-env socket prefix",
          "sign-in ca-file gate access deny paging error log-record unreachable link"))
    return NULL;
  DbrBackendDef *self = g_new0 (DbrBackendDef, 1);
  dbr_loader_mark (loader, self, node);
  read_address (loader, node, self);
  self->paging_max = 100;
  self->error_advice = g_ptr_array_new_with_free_func (dbr_advice_free);
  self->access = dbr_access_table_new (self->prefix);
  self->access_notes = g_ptr_array_new_with_free_func (g_free);
  for (xmlNode *child = dbr_xml_first_element (node); child; child = dbr_xml_next_element (child))
    {
      for (guint i = 0; i < G_N_ELEMENTS (single); i++)
        if (dbr_xml_is (child, single[i]))
          dbr_loader_once (loader, child, &seen[i]);
      read_child (loader, child, self);
    }
  return self;
}
