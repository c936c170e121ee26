/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stub-airflow: makes the answers, each with the members and about the bytes a real Airflow 3
 * sends.
 *
 * One Dag, shop_orders: extract_0..7 -> load_0..7 -> join -> report, and work (mapped) -> collect;
 * notify runs whatever happens. What differs between its runs is which task instances failed.
 */
#include "config.h"

#include "bench/stub.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DAG "shop_orders"
#define N_DAGS 100
#define N_MAPPED 500
#define MAX_LIMIT 100
#define TI_ID "01a22caa-4421-7d49-acea-6b01c6a1dbdb"

static BenchText dags[N_DAGS];
static BenchText one_log_record;
static size_t number_at; /* where the record's number is in it */

/* ------------------------------------------------------------------------------------ the query */

/* Whether the query holds name=value; with @value NULL, whether it names @name at all. */
static bool
query_has (const char *query, const char *name, const char *value)
{
  size_t n_name = strlen (name);

  for (const char *at = query; *at; at += strcspn (at, "&"), at += *at == '&')
    if (!strncmp (at, name, n_name) && at[n_name] == '=')
      {
        size_t n_value = strcspn (at + n_name + 1, "&");

        if (!value || (strlen (value) == n_value && !strncmp (at + n_name + 1, value, n_value)))
          return true;
      }
  return false;
}

static long
query_number (const char *query, const char *name, long otherwise)
{
  size_t n_name = strlen (name);

  for (const char *at = query; *at; at += strcspn (at, "&"), at += *at == '&')
    if (!strncmp (at, name, n_name) && at[n_name] == '=')
      return atol (at + n_name + 1);
  return otherwise;
}

/* ----------------------------------------------------------------------------------------- Dags */

static void
make_dag (BenchText *text, int i)
{
  static const char *const teams[] = { "finance", "orders", "search", "ml", "growth" };
  static const char *const does[] = { "daily_load", "hourly_sync", "report", "cleanup" };
  bool is_scheduled = i % 2 == 0;
  char id[64];

  snprintf (id, sizeof id, "%s_%s_%03d", teams[i % 5], does[i % 4], i);
  bench_text_printf (
      text,
      "{\"dag_id\":\"%s\",\"dag_display_name\":\"%s\",\"is_paused\":%s,\"is_stale\":false,"
      "\"last_parsed_time\":\"2026-11-30T13:36:01.%06dZ\",\"last_parse_duration\":0.32621,"
      "\"last_expired\":null,\"bundle_name\":\"dags-folder\",\"bundle_version\":null,"
      "\"relative_fileloc\":\"%s.py\",\"fileloc\":\"/opt/airflow/dags/%s.py\",",
      id, id, i % 10 == 3 ? "true" : "false", i * 37, teams[i % 5], teams[i % 5]);
  bench_text_printf (text,
                     i % 3 == 0 ? "\"description\":\"Keeps the %s tables of the day fresh.\","
                                : "\"description\":null,%.0s",
                     teams[i % 5]);
  bench_text_printf (
      text,
      "\"timetable_summary\":%s,\"timetable_description\":\"%s\",\"timetable_partitioned\":false,"
      "\"timetable_periodic\":%s,\"tags\":[{\"name\":\"%s\",\"dag_id\":\"%s\",\"dag_display_name\":"
      "\"%s\"},"
      "{\"name\":\"team-%d\",\"dag_id\":\"%s\",\"dag_display_name\":\"%s\"}],",
      is_scheduled ? "\"0 3 * * *\"" : "null",
      is_scheduled ? "At 03:00" : "Never, external triggers only", is_scheduled ? "true" : "false",
      teams[i % 5], id, id, i % 7, id, id);
  bench_text_printf (
      text,
      "\"max_active_tasks\":16,\"max_active_runs\":16,\"max_consecutive_failed_dag_runs\":0,"
      "\"has_task_concurrency_limits\":false,\"has_import_errors\":%s,",
      i % 50 == 17 ? "true" : "false");
  if (is_scheduled)
    bench_text_printf (text, "\"next_dagrun_logical_date\":\"2026-12-01T03:00:00Z\","
                             "\"next_dagrun_data_interval_start\":\"2026-12-01T03:00:00Z\","
                             "\"next_dagrun_data_interval_end\":\"2026-12-02T03:00:00Z\","
                             "\"next_dagrun_run_after\":\"2026-12-02T03:00:00Z\",");
  else
    bench_text_printf (text,
                       "\"next_dagrun_logical_date\":null,\"next_dagrun_data_interval_start\":null,"
                       "\"next_dagrun_data_interval_end\":null,\"next_dagrun_run_after\":null,");
  bench_text_printf (
      text,
      "\"allowed_run_types\":null,\"owners\":[\"airflow\"],\"is_backfillable\":%s,"
      "\"file_token\":"
      "\"eyJidW5kbGVfbmFtZSI6ImRhZ3MtZm9sZGVyIiwicmVsYXRpdmVfZmlsZWxvYyI6Im1hbnkucHkifQ."
      "z_eedR16Oh7A8ShV3a49vg-A5NU\"}",
      is_scheduled ? "true" : "false");
}

static void
answer_dags (const StubRequest *request, BenchText *body)
{
  long limit = query_number (request->query, "limit", 50);
  long offset = query_number (request->query, "offset", 0);

  if (limit > MAX_LIMIT)
    limit = MAX_LIMIT;
  bench_text_printf (body, "{\"dags\":[");
  for (long i = offset; i < offset + limit && i < N_DAGS; i++)
    {
      if (i > offset)
        bench_text_add (body, ",", 1);
      bench_text_add (body, dags[i].bytes, dags[i].length);
    }
  bench_text_printf (body, "],\"total_entries\":%d}", N_DAGS);
}

#define DAG_VERSION(number) \
  "{\"id\":\"01a22ca6-9856-7bdf-83d1-b1184aaf36ee\",\"version_number\":" number \
  ",\"dag_id\":\"" DAG "\",\"bundle_name\":\"dags-folder\",\"bundle_version\":null," \
  "\"created_at\":\"2026-11-30T13:30:45.205359Z\",\"dag_display_name\":\"" DAG "\"," \
  "\"bundle_url\":null}"

static void
answer_details (BenchText *body)
{
  make_dag (body, 0);
  body->length--; /* its closing brace */
  bench_text_printf (
      body,
      ",\"catchup\":false,\"dag_run_timeout\":null,\"asset_expression\":null,\"doc_md\":null,"
      "\"start_date\":\"2026-01-01T00:00:00Z\",\"end_date\":null,\"is_paused_upon_creation\":null,"
      "\"params\":{},\"render_template_as_native_obj\":false,\"template_search_path\":null,"
      "\"timezone\":\"UTC\",\"last_parsed\":\"2026-11-30T13:36:09.421148Z\","
      "\"default_args\":{\"owner\":\"data-eng\"},\"rerun_with_latest_version\":null,"
      "\"owner_links\":{},\"is_favorite\":false,\"active_runs_count\":0,\"concurrency\":16,"
      "\"latest_dag_version\":" DAG_VERSION ("2") "}");
}

static void
add_task (BenchText *body, const char *id, const char *next, bool is_mapped)
{
  bench_text_printf (
      body,
      "%s{\"task_id\":\"%s\",\"task_display_name\":\"%s\",\"owner\":\"data-eng\","
      "\"start_date\":\"2026-01-01T00:00:00Z\",\"end_date\":null,\"trigger_rule\":\"%s\","
      "\"depends_on_past\":false,\"wait_for_downstream\":false,\"retries\":0.0,"
      "\"queue\":\"default\",\"pool\":\"default_pool\",\"pool_slots\":1.0,"
      "\"execution_timeout\":null,\"retry_delay\":{\"__type\":\"TimeDelta\",\"days\":0,"
      "\"seconds\":300,\"microseconds\":0},\"retry_exponential_backoff\":0.0,"
      "\"priority_weight\":1.0,\"weight_rule\":\"downstream\",\"ui_color\":\"#ffefeb\","
      "\"ui_fgcolor\":\"#000\",\"template_fields\":[\"templates_dict\",\"op_args\",\"op_kwargs\"],"
      "\"downstream_task_ids\":[%s],\"doc_md\":null,\"operator_name\":\"@task\",\"params\":{},"
      "\"class_ref\":{\"module_path\":\"airflow.providers.standard.decorators.python\","
      "\"class_name\":\"_PythonDecoratedOperator\"},\"is_mapped\":%s,\"extra_links\":[]}",
      body->bytes[body->length - 1] == '[' ? "" : ",", id, id,
      strcmp (id, "notify") ? "all_success" : "all_done", next, is_mapped ? "true" : "false");
}

static void
answer_tasks (BenchText *body)
{
  bench_text_printf (body, "{\"tasks\":[");
  for (int i = 0; i < 8; i++)
    {
      char extract[16], load[16], next[16];

      snprintf (extract, sizeof extract, "extract_%d", i);
      snprintf (load, sizeof load, "load_%d", i);
      snprintf (next, sizeof next, "\"load_%d\"", i);
      add_task (body, extract, next, false);
      add_task (body, load, "\"join\"", false);
    }
  add_task (body, "join", "\"report\"", false);
  add_task (body, "report", "\"notify\"", false);
  add_task (body, "work", "\"collect\"", true);
  add_task (body, "collect", "\"notify\"", false);
  add_task (body, "notify", "", false);
  bench_text_printf (body, "],\"total_entries\":21}");
}

/* ----------------------------------------------------------------------------------------- runs */

static void
answer_run (BenchText *body, const char *run)
{
  bench_text_printf (
      body,
      "{\"dag_run_id\":\"%s\",\"dag_id\":\"" DAG "\",\"logical_date\":null,"
      "\"queued_at\":\"2026-11-30T13:34:45.783370Z\",\"start_date\":\"2026-11-30T13:34:47."
      "072189Z\","
      "\"end_date\":\"2026-11-30T13:34:55.575757Z\",\"duration\":8.503568,"
      "\"data_interval_start\":null,\"data_interval_end\":null,"
      "\"run_after\":\"2026-11-30T13:34:45.777239Z\","
      "\"last_scheduling_decision\":\"2026-11-30T13:34:55.570000Z\",\"run_type\":\"manual\","
      "\"state\":\"failed\",\"triggered_by\":\"rest_api\",\"triggering_user_name\":\"admin\","
      "\"conf\":{},\"note\":null,\"dag_versions\":[" DAG_VERSION (
          "2") "],"
               "\"bundle_version\":null,\"dag_display_name\":\"" DAG "\",\"partition_key\":null,"
               "\"partition_date\":null}",
      run);
}

typedef struct
{
  char task[16];
  const char *state;
  int map_index;
  BenchText json; /* made beforehand: the stub's own work would count as the backend's */
} Instance;

typedef struct
{
  const char *name;
  int n_failed, n_instances;
  Instance *instances; /* the failed ones first */
} Run;

static Run runs[] = { { .name = "one_failed", .n_failed = 1 },
                      { .name = "eight_failed", .n_failed = 8 },
                      { .name = "mapped_500", .n_failed = N_MAPPED },
                      { .name = "log_", .n_failed = 0 } /* and any that begins so */ };
#define N_RUNS (int) (sizeof runs / sizeof runs[0])

static const Run *
run_find (const char *name)
{
  for (int i = 0; i < N_RUNS; i++)
    if (!strcmp (name, runs[i].name))
      return &runs[i];
  return strncmp (name, "log_", 4) ? NULL : &runs[N_RUNS - 1];
}

static void
instance_make (const Run *run, int i, Instance *out)
{
  bool is_mapped = run->n_failed == N_MAPPED;
  int n_waiting = run->n_failed == 0 ? 0 : is_mapped ? 1 : 2;

  out->map_index = -1;
  if (i < run->n_failed)
    {
      snprintf (out->task, sizeof out->task, is_mapped ? "work" : "load_%d", i);
      out->map_index = is_mapped ? i : -1;
      out->state = "failed";
    }
  else if (i < run->n_failed + n_waiting)
    {
      strcpy (out->task, is_mapped ? "collect" : i == run->n_failed ? "join" : "report");
      out->state = "upstream_failed";
    }
  else
    {
      snprintf (out->task, sizeof out->task, run->n_failed ? "extract_%d" : "load_%d",
                i - run->n_failed - n_waiting);
      out->state = "success";
    }
}

static void
add_instance (BenchText *body, const char *run, const Instance *instance)
{
  char rendered[32] = "null";

  if (instance->map_index >= 0)
    snprintf (rendered, sizeof rendered, "\"shard-%d\"", instance->map_index);
  bench_text_printf (
      body,
      "{\"id\":\"" TI_ID "\",\"task_id\":\"%s\",\"dag_id\":\"" DAG "\",\"dag_run_id\":\"%s\","
      "\"map_index\":%d,\"logical_date\":null,\"run_after\":\"2026-11-30T13:34:45.777239Z\","
      "\"start_date\":\"2026-11-30T13:34:48.656299Z\",\"end_date\":\"2026-11-30T13:34:54.180946Z\","
      "\"duration\":5.525,\"state\":\"%s\",\"try_number\":1,\"max_tries\":0,"
      "\"task_display_name\":\"%s\",\"dag_display_name\":\"" DAG "\",\"hostname\":\"worker-3\","
      "\"unixname\":\"airflow\",\"pool\":\"default_pool\",\"pool_slots\":1,\"queue\":\"default\","
      "\"priority_weight\":3,\"operator\":\"_PythonDecoratedOperator\",\"operator_name\":\"@task\","
      "\"queued_when\":\"2026-11-30T13:34:48.614250Z\",\"scheduled_when\":\"2026-11-30T13:34:48."
      "531881Z\","
      "\"pid\":3328,\"executor\":null,\"executor_config\":\"{}\",\"note\":null,"
      "\"rendered_map_index\":%s,\"rendered_fields\":{\"templates_dict\":null,\"op_args\":[{"
      "\"rows\":42}],"
      "\"op_kwargs\":{}},\"trigger\":null,\"triggerer_job\":null,\"dag_version\":" DAG_VERSION (
          "2") "}",
      instance->task, run, instance->map_index, instance->state, instance->task, rendered);
}

static void
make_runs (void)
{
  for (int r = 0; r < N_RUNS; r++)
    {
      Run *run = &runs[r];

      run->n_instances = run->n_failed ? run->n_failed + 10 : 1;
      run->instances = bench_allocate (sizeof (Instance) * (size_t) run->n_instances);
      for (int i = 0; i < run->n_instances; i++)
        {
          instance_make (run, i, &run->instances[i]);
          add_instance (&run->instances[i].json, run->name, &run->instances[i]);
        }
    }
}

static void
answer_instances (const StubRequest *request, BenchText *body, const Run *run)
{
  const char *query = request->query;
  bool any_state = !query_has (query, "state", NULL);
  bool any_task = !query_has (query, "task_id", NULL);
  long limit = query_number (query, "limit", 50);
  long offset = query_number (query, "offset", 0);
  long map_index = query_number (query, "map_index", -2);
  long n = 0;

  if (limit > MAX_LIMIT)
    limit = MAX_LIMIT;
  bench_text_printf (body, "{\"task_instances\":[");
  for (int i = 0; i < run->n_instances; i++)
    {
      const Instance *instance = &run->instances[i];

      if ((!any_state && !query_has (query, "state", instance->state))
          || (!any_task && !query_has (query, "task_id", instance->task))
          || (map_index > -2 && map_index != instance->map_index))
        continue;
      if (n >= offset && n < offset + limit)
        {
          if (n > offset)
            bench_text_add (body, ",", 1);
          bench_text_add (body, instance->json.bytes, instance->json.length);
        }
      n++;
    }
  bench_text_printf (body,
                     "],\"total_entries\":%ld,\"total_entries_limit\":null,\"next_cursor\":null,"
                     "\"previous_cursor\":null}",
                     n);
}

/* ----------------------------------------------------------------------------------------- logs */

static void
make_log_record (void)
{
  static const char before[] = "{\"timestamp\":\"2026-11-30T13:24:23.414815Z\",\"event\":\"line ";

  bench_text_printf (&one_log_record,
                     "%s000000000 of noise: lorem ipsum dolor sit amet\",\"level\":\"info\","
                     "\"logger\":\"noisy.lab\",\"run_id\":\"noisy_1\",\"dag_id\":\"" DAG "\","
                     "\"ti_id\":\"" TI_ID
                     "\",\"task_id\":\"load_0\",\"map_index\":-1,\"try_number\":1,"
                     "\"filename\":\"noisy.py\",\"lineno\":22}",
                     before);
  number_at = sizeof before - 1;
}

void
stub_airflow_add_record (BenchText *text, long number, bool is_ndjson, bool is_last)
{
  size_t at = text->length + number_at;

  bench_text_reserve (text, one_log_record.length + 64);
  bench_text_add (text, one_log_record.bytes, one_log_record.length);
  for (int digit = 8; digit >= 0; digit--, number /= 10)
    text->bytes[at + (size_t) digit] = (char) ('0' + number % 10);
  if (is_ndjson)
    bench_text_add (text, "\n", 1);
  else if (is_last)
    bench_text_printf (text, "],\"continuation_token\":null}");
  else
    bench_text_add (text, ",", 1);
}

static void
add_failed_log (BenchText *body, const char *task, long map_index, bool is_ndjson)
{
  static const char *const steps[] = { "Pre Execute", "connecting to the shop database",
                                       "opened cursor", "reading batch", "about to convert rows" };
  const char *between = is_ndjson ? "\n" : ",";

  bench_text_printf (body,
                     "%s{\"timestamp\":null,\"event\":\"::group::Log message source details\"}%s"
                     "{\"timestamp\":null,\"event\":\"/opt/airflow/logs/dag_id=" DAG
                     "/task_id=%s/attempt=1.log\"}%s"
                     "{\"timestamp\":null,\"event\":\"::endgroup::\"}%s",
                     is_ndjson ? "" : "{\"content\":[", between, task, between, between);
  for (int i = 0; i < 16; i++)
    bench_text_printf (
        body,
        "{\"timestamp\":\"2026-11-30T13:34:48.%06dZ\",\"event\":\"%s %d\",\"level\":\"info\","
        "\"map_index\":%ld,\"dag_id\":\"" DAG "\",\"task_id\":\"%s\",\"try_number\":1,"
        "\"ti_id\":\"" TI_ID
        "\",\"logger\":\"task\",\"filename\":\"task_runner.py\",\"lineno\":460}%s",
        i * 1013, steps[i * 5 / 16], i, map_index, task, between);
  bench_text_printf (
      body,
      "{\"timestamp\":\"2026-11-30T13:34:49.164729Z\",\"event\":\"Task failed with exception\","
      "\"level\":\"error\",\"map_index\":%ld,\"dag_id\":\"" DAG
      "\",\"task_id\":\"%s\",\"try_number\":1,"
      "\"logger\":\"task\",\"filename\":\"task_runner.py\",\"lineno\":1676,\"error_detail\":[{"
      "\"exc_type\":\"ValueError\",\"exc_value\":\"column '%s' not found in batch "
      "%ld\",\"exc_notes\":[],"
      "\"syntax_error\":null,\"is_cause\":false,\"frames\":[",
      map_index, task, task, map_index < 0 ? 7 : map_index);
  for (int i = 0; i < 12; i++)
    bench_text_printf (
        body,
        "{\"filename\":\"/opt/airflow/site-packages/airflow/sdk/execution_time/task_runner.py\","
        "\"lineno\":%d,\"name\":\"_execute_task\"},",
        1579 + i);
  bench_text_printf (
      body,
      "{\"filename\":\"/opt/airflow/dags/shop.py\",\"lineno\":52,\"name\":\"transform\"}],"
      "\"is_group\":false,\"exceptions\":[]},{\"exc_type\":\"KeyError\",\"exc_value\":\"'rows'\","
      "\"exc_notes\":[],\"syntax_error\":null,\"is_cause\":true,\"frames\":[{\"filename\":"
      "\"/opt/airflow/dags/shop.py\",\"lineno\":47,\"name\":\"deep\"}],\"is_group\":false,"
      "\"exceptions\":[]}]}%s",
      is_ndjson ? "\n" : "],\"continuation_token\":null}");
}

static void
answer_log (const StubRequest *request, StubAnswer *answer, const char *run, const char *task)
{
  answer->is_ndjson = request->wants_ndjson;
  answer->content_type = request->wants_ndjson ? "application/x-ndjson" : "application/json";
  if (!strncmp (run, "log_bytes_", 10))
    answer->n_bytes = atol (run + 10);
  else if (!strncmp (run, "log_", 4))
    answer->n_records = atol (run + 4);
  else
    {
      add_failed_log (&answer->body, task, query_number (request->query, "map_index", -1),
                      request->wants_ndjson);
      return;
    }
  if (!request->wants_ndjson)
    bench_text_printf (&answer->body, "{\"content\":[");
}

/* --------------------------------------------------------------------------------------- routes */

static void
fail (StubAnswer *answer, int status, const char *detail)
{
  answer->status = status;
  bench_text_printf (&answer->body, "{\"detail\":\"%s\"}", detail);
}

static void
answer_dag_path (const StubRequest *request, StubAnswer *answer, const char *rest)
{
  char run[128] = "", task[128] = "", tail[32] = "";
  int n_try = 0, n_read = 0;

  if (!strcmp (rest, "/details"))
    answer_details (&answer->body);
  else if (!strcmp (rest, "/tasks"))
    answer_tasks (&answer->body);
  else if (sscanf (rest, "/dagRuns/%127[^/]/taskInstances/%127[^/]/logs/%d%n", run, task, &n_try,
                   &n_read)
               == 3
           && rest[n_read] == 0)
    answer_log (request, answer, run, task);
  else if (sscanf (rest, "/dagRuns/%127[^/]/%31[a-zA-Z]%n", run, tail, &n_read) == 2
           && !strcmp (tail, "taskInstances") && rest[n_read] == 0 && run_find (run))
    answer_instances (request, &answer->body, run_find (run));
  else if (sscanf (rest, "/dagRuns/%127[^/]%n", run, &n_read) == 1 && rest[n_read] == 0)
    answer_run (&answer->body, run);
  else
    fail (answer, 404, "Not Found");
}

void
stub_airflow_prepare (void)
{
  for (int i = 0; i < N_DAGS; i++)
    make_dag (&dags[i], i);
  make_runs ();
  make_log_record ();
}

void
stub_airflow_answer (const StubRequest *request, StubAnswer *answer)
{
  static const char dag_path[] = "/api/v2/dags/" DAG;
  const char *path = request->path;

  *answer = (StubAnswer){ .status = 200, .content_type = "application/json" };
  if (!strcmp (request->method, "POST") && !strcmp (path, "/auth/token"))
    {
      answer->status = 201;
      bench_text_printf (&answer->body,
                         "{\"access_token\":\"eyJhbGciOiJIUzUxMiJ9.eyJzdWIiOiIxIn0.c3R1Yg\"}");
    }
  else if (strcmp (request->method, "GET"))
    fail (answer, 405, "Method Not Allowed");
  else if (!strcmp (path, "/api/v2/version"))
    bench_text_printf (&answer->body,
                       "{\"version\":\"3.3.2\",\"git_version\":\".release:aa19d2dbb9ed\"}");
  else if (!request->has_token)
    fail (answer, 401, "Not authenticated");
  else if (!strcmp (path, "/api/v2/dags"))
    answer_dags (request, &answer->body);
  else if (!strcmp (path, "/api/v2/importErrors"))
    bench_text_printf (&answer->body, "{\"import_errors\":[],\"total_entries\":0}");
  else if (!strncmp (path, dag_path, sizeof dag_path - 1))
    answer_dag_path (request, answer, path + sizeof dag_path - 1);
  else
    fail (answer, 404, "Not Found");
}
