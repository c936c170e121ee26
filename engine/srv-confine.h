/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-confine: what a started command can see, by bubblewrap.
 *
 * The file system is read-only; /tmp, /var/tmp, /run, all homes and the engine's own folders are empty, so that
 * no token of another role and no socket (session bus, agents, containers, other engines) is
 * there; sockets that are listening elsewhere when it starts are covered. Let in again are the checkout (writable), what a
 * preset names, folders where programs are installed, and for a foreman the engine's socket. Processes are a world of their
 * own: no other environment can be read, and none outlives the command. Nobody has a capability there, root neither.
 * The network stays, a harness talks to its model; abstract unix sockets, which are of the network, don't where
 * the kernel can tell them apart (srv_confine_gap()).
 */
#pragma once

#include "srv-checkout.h"

G_BEGIN_DECLS

#define SRV_CONFINE_ERROR (srv_confine_error_quark ())
GQuark
srv_confine_error_quark (void);
typedef enum
{
  SRV_CONFINE_ERROR_MISSING, /* no bwrap in PATH */
  SRV_CONFINE_ERROR_BROKEN,  /* it doesn't work here (the kernel forbids namespaces); its words */
} SrvConfineError;

typedef struct _SrvConfine SrvConfine;

/**
 * srv_confine_new:
 * @keeper: srv_place_keeper(): it takes the step before the command
 * @states: (nullable): folders of engines, hidden; NULL-terminated; outlives it
 *
 * Finds bwrap and tries it once.
 *
 * Errors: SRV_CONFINE_ERROR_MISSING, SRV_CONFINE_ERROR_BROKEN; the message says what to do.
 */
SrvConfine *
srv_confine_new (const char *keeper, const char *const *states, GError **error);
/* Starts commands as they are: what `--unconfined` asks for. */
SrvConfine *
srv_confine_new_unconfined (const char *keeper);
void
srv_confine_free (SrvConfine *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SrvConfine, srv_confine_free)
gboolean
srv_confine_is_real (const SrvConfine *self);
/* What this kernel can't keep from a confined command, a part of a sentence; NULL: nothing. */
const char *
srv_confine_gap (const SrvConfine *self);

typedef struct
{
  const SrvCheckout *checkout; /* where the command starts; writable */
  const char *socket;          /* nullable: no socket */
  const char *secret;          /* nullable: a file that reads as empty: a token */
  const char *folder;          /* nullable: the turn's private folder; writable */
  const char *program;         /* nullable: a file that must be visible: our bridge */
  const char *const
      *readable; /* nullable: more paths, absolute or "~/..."; missing ones are left out */
  const char *const *writable; /* nullable: the same, writable */
} SrvConfineView;

/**
 * srv_confine_wrap:
 * @command: (array NULL-terminated): the command and its arguments
 *
 * Returns: (transfer full): the words to execute: bwrap and its options, when confined; the step before the command
 * (srv_keep_exec_main(): it tells whether the command started); @command.
 */
char **
srv_confine_wrap (const SrvConfine *self, const SrvConfineView *view, const char *const *command);

G_END_DECLS
