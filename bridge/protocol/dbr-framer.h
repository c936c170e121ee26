/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-framer: a stream of bytes becomes lines, in memory that no sender can make grow.
 *
 * The reader fills the framer's own buffer (space, filled) and then takes lines until there is no
 * whole one left. At most one line of max_line_bytes and one read of look-ahead are held; a longer
 * line is refused once, as soon as it is known to be too long, and skipped in constant memory up to
 * its LF. Source: MCP basic/transports, stdio: UTF-8, one message a line, no LF inside.
 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

#define DBR_FRAMER_MAX_LINE_BYTES (4u << 20) /* default: longest line, terminator not counted */
#define DBR_FRAMER_READ_BYTES (64u << 10)    /* size of the buffer at rest, bytes */

#define DBR_FRAME_ERROR (dbr_frame_error_quark ())
GQuark
dbr_frame_error_quark (void);
typedef enum
{
  DBR_FRAME_ERROR_TOO_LONG, /* a line of more than max_line_bytes */
  DBR_FRAME_ERROR_NOT_UTF8, /* a line with bytes that are not UTF-8 */
} DbrFrameError;

typedef enum
{
  DBR_FRAME_LINE,    /* a line was taken */
  DBR_FRAME_REFUSED, /* a line was refused: the error is set, the next one can be taken */
  DBR_FRAME_MORE,    /* no whole line here: more bytes are needed */
  DBR_FRAME_END,     /* all was taken and the input has ended */
} DbrFrameStatus;

typedef struct _DbrFramer DbrFramer;

/**
 * dbr_framer_new:
 * @max_line_bytes: longest line without its terminator, bytes; 0: %DBR_FRAMER_MAX_LINE_BYTES
 *
 * Returns: (transfer full): a framer at the start of its stream
 */
DbrFramer *
dbr_framer_new (gsize max_line_bytes);
void
dbr_framer_free (DbrFramer *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DbrFramer, dbr_framer_free)

/**
 * dbr_framer_space:
 * @self: the framer; every whole line has been taken
 * @out_bytes: (out): how many bytes may be written, at least 1
 *
 * Returns: (transfer none): where the next bytes of the stream go, valid until the next call
 */
char *
dbr_framer_space (DbrFramer *self, gsize *out_bytes);

/**
 * dbr_framer_filled:
 * @n_bytes: how many bytes were written into the space; 0: the input has ended
 *
 * After the end a last line without a LF is taken as a line.
 */
void
dbr_framer_filled (DbrFramer *self, gsize n_bytes);

/**
 * dbr_framer_take:
 * @out_line: (out) (transfer full): with %DBR_FRAME_LINE the line: UTF-8 without LF and without one
 * CR before it, not blank; a byte order mark at the start of the stream is dropped
 * @error: set with %DBR_FRAME_REFUSED only
 *
 * Takes the next line. Lines of white space alone are passed over. A NUL is left to the JSON
 * reader.
 *
 * Errors: #DBR_FRAME_ERROR_TOO_LONG, #DBR_FRAME_ERROR_NOT_UTF8.
 */
DbrFrameStatus
dbr_framer_take (DbrFramer *self, GBytes **out_line, GError **error);

/* The largest the buffer has ever been, bytes: what the tests hold the bound to. */
gsize
dbr_framer_peak_bytes (const DbrFramer *self);

G_END_DECLS
