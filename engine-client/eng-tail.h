/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eng-tail: the last records of a stream of any length, in bounded memory.
 *
 * Private to engine-client; the bounds are those of EngTail.
 */
#pragma once

#include "eng-client.h"

G_BEGIN_DECLS

#define ENG_TAIL_KEEP_BYTES (2u << 20) /* default of keep_bytes */
#define ENG_TAIL_RECORD_BYTES 8192u    /* default of record_max_bytes */
#define ENG_TAIL_MAX_RECORDS 2000u     /* of keep_records */
#define ENG_TAIL_MAX_CONTEXT 20u       /* of context */

typedef struct _EngTailReader EngTailReader;

/* @tail must outlive the reader. */
EngTailReader *
eng_tail_reader_new (const EngTail *tail);
void
eng_tail_reader_free (EngTailReader *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (EngTailReader, eng_tail_reader_free)

/* Feeds bytes of the stream. Errors: #ENG_ERROR_BROKEN when it is not the JSON that was promised.
 */
gboolean
eng_tail_reader_push (EngTailReader *self, const char *bytes, gsize len, GError **error);
/* The stream ended. @is_whole FALSE: it was cut, so what is open is dropped. Errors:
 * #ENG_ERROR_BROKEN when a whole one ends inside a value. */
gboolean
eng_tail_reader_end (EngTailReader *self, gboolean is_whole, GError **error);
/* Hands over records, counts and the other members. */
void
eng_tail_reader_take (EngTailReader *self, EngResponse *response);
/* The most memory that records and buffers took at one time, bytes. */
gsize
eng_tail_reader_peak_bytes (const EngTailReader *self);

G_END_DECLS
