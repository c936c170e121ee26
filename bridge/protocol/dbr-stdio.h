/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-stdio: serves one client over standard input and output until the input ends.
 *
 * Only this module writes the real standard output: at the start the descriptor is put aside and 1
 * becomes a second standard error, so that no library's print can reach the protocol. While more
 * than max_output_bytes wait for a reader that doesn't read, nothing is read either. Source: MCP
 * basic/transports, stdio; basic/lifecycle, shutdown.
 */
#pragma once

#include "dbr-server.h"

G_BEGIN_DECLS

#define DBR_STDIO_DRAIN_MS 5000u              /* default */
#define DBR_STDIO_MAX_OUTPUT_BYTES (1u << 20) /* default */

/* Exit statuses of dbr_stdio_serve(). */
enum
{
  DBR_STDIO_EXIT_END = 0, /* end of input, or SIGTERM, SIGINT, SIGHUP */
  DBR_STDIO_EXIT_IO = 3,  /* reading or writing failed; also: the client stopped reading for good
                             while it still wrote */
};

typedef struct
{
  gsize max_line_bytes;   /* 0: %DBR_FRAMER_MAX_LINE_BYTES */
  gsize max_output_bytes; /* what may wait for the reader before reading stops; 0: the default */
  guint drain_ms; /* after the end of input: how long calls in flight may take; 0: the default */
  DbrServerOptions server;
} DbrStdioOptions;

/**
 * dbr_stdio_serve:
 * @host: the tools
 * @options: (nullable): zeros are defaults
 *
 * Runs the default main context until the client leaves. What was read is answered within drain_ms;
 * calls that still run then are aborted and answered as such. A signal aborts them without an
 * answer.
 *
 * Returns: the exit status of the process
 */
int
dbr_stdio_serve (DbrToolHost *host, const DbrStdioOptions *options);

G_END_DECLS
