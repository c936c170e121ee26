/* SPDX-License-Identifier: Apache-2.0 */
/* bench-text: see the header. */
#include "config.h"

#include "bench/bench-text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void *
bench_allocate (size_t n_bytes)
{
  void *memory = calloc (1, n_bytes ? n_bytes : 1);

  if (!memory)
    {
      fputs ("bench: no memory\n", stderr);
      exit (2);
    }
  return memory;
}

void
bench_text_reserve (BenchText *text, size_t n_more)
{
  size_t capacity = text->capacity ? text->capacity : 256;
  char *grown;

  if (text->length + n_more <= text->capacity)
    return;
  while (capacity < text->length + n_more)
    capacity *= 2;
  grown = bench_allocate (capacity);
  if (text->length)
    memcpy (grown, text->bytes, text->length);
  free (text->bytes);
  text->bytes = grown;
  text->capacity = capacity;
}

void
bench_text_add (BenchText *text, const char *bytes, size_t n_bytes)
{
  if (n_bytes == 0)
    return;
  bench_text_reserve (text, n_bytes);
  memcpy (text->bytes + text->length, bytes, n_bytes);
  text->length += n_bytes;
}

void
bench_text_printf (BenchText *text, const char *format, ...)
{
  va_list arguments, again;
  int n;

  va_start (arguments, format);
  va_copy (again, arguments);
  n = vsnprintf (NULL, 0, format, arguments);
  va_end (arguments);
  if (n > 0)
    {
      bench_text_reserve (text, (size_t) n + 1);
      vsnprintf (text->bytes + text->length, (size_t) n + 1, format, again);
      text->length += (size_t) n;
    }
  va_end (again);
}

void
bench_text_drop (BenchText *text, size_t n_first)
{
  memmove (text->bytes, text->bytes + n_first, text->length - n_first);
  text->length -= n_first;
}

void
bench_text_clear (BenchText *text)
{
  free (text->bytes);
  *text = (BenchText){ 0 };
}

double
bench_now_ms (void)
{
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);
  return (double) now.tv_sec * 1e3 + (double) now.tv_nsec / 1e6;
}
