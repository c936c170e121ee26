/* SPDX-License-Identifier: Apache-2.0 */
/* dbr-backend: see the header. The environment is read here and nowhere else in the call path. */
#include "config.h"

#include "call/dbr-backend.h"

#include "dbr-url.h"

#include <dlfcn.h>
#include <string.h>

G_DEFINE_QUARK (dbr_backend_error, dbr_backend_error)

struct _DbrBackend
{
  const DbrCatalogue *catalogue;
  char *module_file;
  char *base_url;
  DbrUrl *url; /* base_url taken apart; NULL: unusable, and that is the problem */
  char *unix_socket;
  char *origin;
  char *credentials;
  char *problem;
  char *token;
  char *user;
  char *password;
  char *ca_file;
  char *plain_http_host;
  guint timeout_ms;
  char **environment;
  DbrMask *mask;
  void *module;
  const EngDoor *door;
  EngClient *client;
};

static void
set_problem (DbrBackend *self, char *text)
{
  if (self->problem == NULL)
    self->problem = text;
  else
    g_free (text);
}

/* A client that did not expand "${NAME}" hands the text on as it is; taking it for a value would
 * sign in with nonsense. */
static gboolean
is_unexpanded (const char *value)
{
  return value[0] == '$' && (value[1] == '{' || g_ascii_isalpha (value[1]) || value[1] == '_');
}

/* The variable's value without white space around it; NULL when unset. Set but empty is a problem:
 * falling back to a default would hide a mistake. */
static char *
read_variable (DbrBackend *self, const char *name)
{
  const char *value = NULL;
  g_autofree char *text = NULL;

  if (name)
    value = self->environment ? g_environ_getenv (self->environment, name) : g_getenv (name);
  if (value == NULL)
    return NULL;
  text = g_strstrip (g_strdup (value));
  if (*text == '\0')
    {
      set_problem (
          self,
          g_strdup_printf (
              "%s is set but empty: give it a value, or remove it from the environment", name));
      return NULL;
    }
  if (is_unexpanded (text))
    {
      set_problem (self, g_strdup_printf ("%s holds an unexpanded reference to another variable: "
                                          "the client that started this server did not fill it in",
                                          name));
      return NULL;
    }
  return g_steal_pointer (&text);
}

static gboolean
is_loopback (const DbrBackend *self)
{
  return self->unix_socket || (self->url && self->url->is_loopback);
}

static void
read_password (DbrBackend *self, const DbrSignInDef *def)
{
  self->user = read_variable (self, def->user_env);
  self->password = read_variable (self, def->password_env);
  if (self->problem)
    return;
  if (self->user == NULL && self->password == NULL && def->default_user && def->default_password)
    {
      if (!is_loopback (self))
        {
          set_problem (self,
                       g_strdup_printf ("no credentials for %s: set %s, or %s and %s", self->origin,
                                        def->token_env ? def->token_env : def->user_env,
                                        def->user_env, def->password_env));
          return;
        }
      /* Documented defaults: no secrets, so they are not masked. */
      self->user = g_strdup (def->default_user);
      self->password = g_strdup (def->default_password);
      self->credentials = g_strdup_printf ("the default user %s (loopback only)", self->user);
      return;
    }
  if (self->user == NULL || self->password == NULL)
    {
      set_problem (self, g_strdup_printf ("%s is not set: it goes together with %s",
                                          self->user ? def->password_env : def->user_env,
                                          self->user ? def->user_env : def->password_env));
      return;
    }
  if (g_strcmp0 (self->password, def->default_password) != 0)
    dbr_mask_add (self->mask, self->password);
  self->credentials
      = g_strdup_printf ("user and password from %s and %s", def->user_env, def->password_env);
}

static void
read_credentials (DbrBackend *self)
{
  const DbrSignInDef *def = self->catalogue->backend->sign_in;

  if (def == NULL)
    {
      self->credentials = g_strdup ("none");
      return;
    }
  self->token = read_variable (self, def->token_env);
  if (self->problem)
    return;
  if (self->token)
    {
      dbr_mask_add (self->mask, self->token);
      self->credentials = g_strdup_printf ("token from %s", def->token_env);
      return;
    }
  if (def->path == NULL)
    {
      set_problem (self, g_strdup_printf ("no credentials for %s: set %s%s%s%s", self->origin,
                                          def->token_env, def->token_from ? " (" : "",
                                          def->token_from ? def->token_from : "",
                                          def->token_from ? ")" : ""));
      return;
    }
  read_password (self, def);
}

static void
read_address (DbrBackend *self, const DbrBackendOptions *options)
{
  const DbrBackendDef *def = self->catalogue->backend;
  const char *problem;

  self->unix_socket = options->unix_socket ? g_strdup (options->unix_socket)
                                           : read_variable (self, def->socket_env);
  self->base_url
      = options->base_url ? g_strdup (options->base_url) : read_variable (self, def->url_env);
  if (self->unix_socket == NULL && self->base_url == NULL && self->problem == NULL)
    self->unix_socket = g_strdup (options->default_socket);
  if (self->base_url == NULL)
    self->base_url = g_strdup (def->url ? def->url : "http://localhost");
  while (g_str_has_suffix (self->base_url, "/"))
    self->base_url[strlen (self->base_url) - 1] = '\0';
  self->origin = self->unix_socket ? g_strdup_printf ("unix:%s", self->unix_socket)
                                   : dbr_text_redact_url (self->base_url);
  /* Before the credentials: what is said of them depends on the host. */
  self->url = dbr_url_parse (self->base_url, def->prefix, &problem);
  if (problem)
    set_problem (self,
                 g_strdup_printf ("%s %s", def->url_env ? def->url_env : "the base URL", problem));
}

DbrBackend *
dbr_backend_new (const DbrCatalogue *catalogue, const DbrBackendOptions *options)
{
  DbrBackend *self = g_new0 (DbrBackend, 1);

  self->catalogue = catalogue;
  self->module_file = g_strdup (options->module_file);
  self->timeout_ms = options->timeout_ms ? options->timeout_ms : DBR_BACKEND_TIMEOUT_MS;
  self->environment = options->environment; /* only read here, at the start */
  self->plain_http_host = g_strdup (options->plain_http_host);
  self->mask = dbr_mask_new ();
  read_address (self, options);
  read_credentials (self);
  self->ca_file = read_variable (self, catalogue->backend->ca_file_env);
  self->environment = NULL;
  return self;
}

void
dbr_backend_free (DbrBackend *self)
{
  if (self == NULL)
    return;
  if (self->client)
    self->door->client_free (self->client);
  /* The module stays loaded: libcurl registers handlers that outlive it. */
  dbr_mask_unref (self->mask);
  g_free (self->module_file);
  g_free (self->base_url);
  dbr_url_free (self->url);
  g_free (self->unix_socket);
  g_free (self->origin);
  g_free (self->credentials);
  g_free (self->problem);
  g_free (self->token);
  g_free (self->user);
  g_free (self->password);
  g_free (self->ca_file);
  g_free (self->plain_http_host);
  g_free (self);
}

const char *
dbr_backend_problem (const DbrBackend *self)
{
  return self->problem;
}

const char *
dbr_backend_origin (const DbrBackend *self)
{
  return self->origin;
}

const char *
dbr_backend_credentials (const DbrBackend *self)
{
  return self->credentials ? self->credentials : "unusable";
}

guint
dbr_backend_timeout_ms (const DbrBackend *self)
{
  return self->timeout_ms;
}

DbrMask *
dbr_backend_mask (const DbrBackend *self)
{
  return self->mask;
}

static gboolean
load_module (DbrBackend *self, GError **error)
{
  const EngDoor *(*enter) (void);

  if (self->module_file == NULL)
    {
      /* Linked in, as in the tests; weak so that the program does without. */
      enter = (const EngDoor *(*) (void) ) dlsym (RTLD_DEFAULT, "eng_door");
    }
  else
    {
      self->module = dlopen (self->module_file, RTLD_NOW | RTLD_LOCAL);
      enter = self->module ? (const EngDoor *(*) (void) ) dlsym (self->module, "eng_door") : NULL;
    }
  if (enter == NULL)
    {
      const char *reason = dlerror ();
      g_set_error (error, DBR_BACKEND_ERROR, DBR_BACKEND_ERROR_MODULE,
                   "the HTTP module can't be loaded: %s", reason ? reason : "no eng_door in it");
      return FALSE;
    }
  self->door = enter ();
  if (self->door->abi != ENG_DOOR_ABI)
    {
      g_set_error (
          error, DBR_BACKEND_ERROR, DBR_BACKEND_ERROR_MODULE,
          "the HTTP module is of another version (%u, not %u): install program and module together",
          self->door->abi, ENG_DOOR_ABI);
      self->door = NULL;
      return FALSE;
    }
  return TRUE;
}

static char *
sign_in_body (const DbrBackend *self, const DbrSignInDef *def)
{
  json_auto_t *body = json_pack ("{s:s, s:s}", def->user_member, self->user, def->password_member,
                                 self->password);
  char *text = body ? json_dumps (body, JSON_COMPACT) : NULL;
  char *copy = g_strdup (text ? text : "{}");

  free (text);
  return copy;
}

static EngGate
eng_gate (DbrGateState state)
{
  return state == DBR_GATE_OPEN  ? ENG_GATE_OPEN
         : state == DBR_GATE_ASK ? ENG_GATE_ASK
                                 : ENG_GATE_SHUT;
}

static gboolean
make_client (DbrBackend *self, const DbrGate *gate, GError **error)
{
  const DbrBackendDef *def = self->catalogue->backend;
  const DbrSignInDef *sign_in = def->sign_in;
  g_autofree char *body = sign_in && !self->token ? sign_in_body (self, sign_in) : NULL;
  EngSignIn how = { 0 };
  EngConfig config = { 0 };

  if (sign_in)
    {
      how.fixed_token = self->token;
      how.fixed_token_name = sign_in->token_env;
      how.path = sign_in->path;
      how.body = body;
      how.token_member = sign_in->token_member;
      how.renew_403 = sign_in->renew_403;
      config.sign_in = &how;
    }
  config.base_url = self->base_url;
  config.base_url_name = def->url_env;
  config.unix_socket = self->unix_socket;
  config.prefix = def->prefix;
  config.access = def->access;
  config.writes = eng_gate (dbr_gate_state (gate, DBR_ACCESS_WRITE));
  config.deletes = eng_gate (dbr_gate_state (gate, DBR_ACCESS_DELETE));
  config.ca_file = self->ca_file;
  config.ca_file_name = def->ca_file_env;
  config.allow_plain_http_credentials
      = self->plain_http_host && g_ascii_strcasecmp (self->url->host, self->plain_http_host) == 0;
  config.allow_plain_http_name = "the option --allow-plain-http HOST";
  config.user_agent = "drawbridge/" PACKAGE_VERSION;
  config.mask = self->mask;
  self->client = self->door->client_new (&config, error);
  return self->client != NULL;
}

gboolean
dbr_backend_open (DbrBackend *self,
                  const DbrGate *gate,
                  const EngDoor **out_door,
                  EngClient **out_client,
                  GError **error)
{
  if (self->problem)
    {
      g_set_error_literal (error, DBR_BACKEND_ERROR, DBR_BACKEND_ERROR_CONFIG, self->problem);
      return FALSE;
    }
  if (self->door == NULL && !load_module (self, error))
    return FALSE;
  if (self->client == NULL && !make_client (self, gate, error))
    return FALSE;
  *out_door = self->door;
  *out_client = self->client;
  return TRUE;
}
