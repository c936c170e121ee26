/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-checkout: the folder in which a command runs: which one it is, and that no engine's state is within its reach.
 *
 * A path is only a way to it: a link may lead elsewhere the next time. So it is opened once, known from then on by device
 * and inode, and by the path that the kernel gives it; the step before the command (srv-keep.h) compares it with where it
 * has come to. A folder that holds an engine's state, is one or lies in one is refused, whatever hides the state: who may
 * write around it could move it out of what hides it.
 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef struct
{
  char *path; /* without links */
  guint64 device;
  guint64 inode;
} SrvCheckout;

/**
 * srv_checkout_open:
 * @path: absolute
 * @states: (nullable): NULL-terminated list of folders of engines that are known (srv_checkout_states()); they need not be there
 *
 * Errors, with messages that stand behind its name ("holds ..."): G_FILE_ERROR_INVAL: not absolute; of what can't be opened; G_FILE_ERROR_ACCES: it holds one of @states, is or lies in one or in another
 * folder with an admin's token, or shows processes (it is or holds a mounted /proc).
 */
SrvCheckout *
srv_checkout_open (const char *path, const char *const *states, GError **error);
/**
 * srv_checkout_look:
 * @out_whole: (out): FALSE: it has more names than are looked at (srv-look.h)
 *
 * Looks for other engines below. Reads up to 50,000 names: not for each request.
 *
 * Errors: G_FILE_ERROR_ACCES: there is one.
 */
gboolean
srv_checkout_look (const SrvCheckout *self, gboolean *out_whole, GError **error);
/**
 * srv_checkout_keeps_apart:
 * @secret: (nullable): a file, which need not be there
 *
 * Errors: G_FILE_ERROR_ACCES, with a message as of srv_checkout_open(): @secret lies in it. Other commands run there too,
 * which don't have it hidden; and who may write around it could move it.
 */
gboolean
srv_checkout_keeps_apart (const SrvCheckout *self, const char *secret, GError **error);
void
srv_checkout_free (SrvCheckout *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SrvCheckout, srv_checkout_free)

/* The folders of the default state and of @more (paths of files or of folders), links resolved as far as they are there.
 * @more: (nullable). Transfer full. */
char **
srv_checkout_states (const char *const *more);
/* @path without links as far as it is there; transfer full. */
char *
srv_checkout_resolve (const char *path);
/* Is @path @folder, or below it? Both absolute and without links. */
gboolean
srv_checkout_is_within (const char *path, const char *folder);

G_END_DECLS
