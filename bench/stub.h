/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stub: the backend of the benchmarks, in the shape of Airflow's /api/v2, made up and exact.
 *
 * stub.c owns sockets and time, stub-airflow.c the answers. Addresses that matter:
 *   Dag `shop_orders`, its runs one_failed, eight_failed, mapped_500 (one task, 500 mapped
 *   instances, all failed), log_N (a log of N records) and log_bytes_N (at least N bytes of log).
 *   GET /__stats, GET /__reset, GET /__set?delay_ms=N steer it and are not counted.
 */
#pragma once

#include <stdbool.h>

#include "bench/bench-text.h"

typedef struct
{
  const char *method;
  const char *path;  /* as it came, without the query */
  const char *query; /* as it came, "" if none */
  bool has_token;    /* a bearer token came with it */
  bool wants_ndjson;
} StubRequest;

typedef struct
{
  int status;
  const char *content_type;
  BenchText body;
  /* A body that is made while it is sent, when either is not 0; `body` is then its beginning. */
  long n_records, n_bytes;
  bool is_ndjson;
} StubAnswer;

/* Makes what every answer shares; once, before the first request. */
void
stub_airflow_prepare (void);

/* Fills @answer, whose body the caller clears. */
void
stub_airflow_answer (const StubRequest *request, StubAnswer *answer);

/* Adds log record @number and, if @is_last, what ends the body. */
void
stub_airflow_add_record (BenchText *text, long number, bool is_ndjson, bool is_last);
