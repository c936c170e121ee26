/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-text: a byte string that grows, for the stub and the load client.
 *
 * Both use libc alone: the memory of the program under test is measured as PSS, which falls when
 * another running process maps the same library.
 */
#pragma once

#include <stddef.h>

typedef struct
{
  char *bytes; /* not terminated */
  size_t length, capacity;
} BenchText;

/* Ends the process when there is no memory: a yardstick has nothing better to do. */
void *
bench_allocate (size_t n_bytes);
void
bench_text_reserve (BenchText *text, size_t n_more);
void
bench_text_add (BenchText *text, const char *bytes, size_t n_bytes);
void
bench_text_printf (BenchText *text, const char *format, ...)
    __attribute__ ((format (printf, 2, 3)));
void
bench_text_drop (BenchText *text, size_t n_first);
void
bench_text_clear (BenchText *text);

/* Milliseconds of the monotonic clock. */
double
bench_now_ms (void);
