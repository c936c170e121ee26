/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-install: where a program's parts are, from the build tree or installed, wherever that was moved to; and the
 * language of its messages. Compiled into each program: what configure said is not a library's.
 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* The folder with the shipped catalogues; "" when none is found (transfer full). */
char *
dbr_install_schema_dir (void);
/* The HTTP module's file (transfer full). */
char *
dbr_install_module (void);
/* The names of the shipped catalogues, sorted (transfer full). */
char **
dbr_install_catalogues (void);
/* The planning engine's program: beside ours (transfer full). */
char *
dbr_install_engine (void);

/* Once, at the program's start: letters and messages as the environment says; all else stays as programs write it. */
void
dbr_install_language (void);

G_END_DECLS
