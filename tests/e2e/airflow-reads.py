#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every reading tool over stdio against a real Airflow: what its answer says, not only that it came."""
import pathlib
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import dbr_e2e  # noqa: E402

URL = dbr_e2e.lab_url()
TAP = dbr_e2e.Tap()
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u200e\u200f\u2028\u2029\u202a-\u202e]")


def good(session, name, tool, *wanted, without=(), **arguments):
    """A call that succeeds and whose text holds what is wanted; the text."""
    text, error, _ = session.call(tool, **arguments)
    TAP.ok(not error, f"{name}: no error", text)
    TAP.has(text, f"{name}: says what it must", *wanted)
    if without:
        TAP.lacks(text, f"{name}: says nothing else", *without)
    TAP.ok(not CONTROLS.search(text), f"{name}: no control or direction character",
           [hex(ord(one)) for one in CONTROLS.findall(text)][:5])
    TAP.ok(len(text.encode()) <= 40 * 1024, f"{name}: within the cap", len(text.encode()))
    return text


def bad(session, name, tool, *wanted, without=(), **arguments):
    text, error, _ = session.call(tool, **arguments)
    TAP.ok(error, f"{name}: an error", text)
    TAP.has(text, f"{name}: says what is wrong", *wanted)
    if without:
        TAP.lacks(text, f"{name}: says nothing else", *without)
    return text


def server(session):
    tools = session.tools()
    TAP.ok(len(tools) >= 15, "fifteen tools are listed", sorted(tools))
    TAP.ok(all(tool["inputSchema"]["type"] == "object" and tool["description"] for tool in tools.values()),
           "each has a description and takes an object")
    TAP.ok(tools["list_dags"].get("annotations", {}).get("readOnlyHint") is True, "list_dags is marked as reading")
    TAP.ok(tools["trigger_dag_run"].get("annotations", {}).get("readOnlyHint") is not True, "trigger_dag_run is not")
    good(session, "get_version", "get_version", "Airflow 3.3.2", URL)
    good(session, "get_health", "get_health", "scheduler: healthy", "metadatabase: healthy", "triggerer: healthy",
         "dag_processor: healthy")


def dags(session):
    text = good(session, "list_dags of all", "list_dags", "berth_000", "berth_050", "100")
    TAP.matches(text, "list_dags of all: how many there are", r"of 1[12]\d")
    TAP.has(text, "list_dags of all: the call for the rest", "list_dags", "offset")
    good(session, "the rest of list_dags", "list_dags", "stores_mapped", "stock_slow", without=("berth_000",), offset=100)
    good(session, "list_dags by tag", "list_dags", "orders_daily", "orders_broken", "nightly_paused", "paused",
         without=("berth_", "log_noise"), tags=["shop"])
    good(session, "list_dags, tags as a string", "list_dags", "orders_daily", without=("berth_",), tags='["shop"]')
    good(session, "list_dags of other scripts", "list_dags", "odd.name-1.0", without=("orders_",), tags=["港"])
    good(session, "list_dags paused", "list_dags", "nightly_paused", without=("orders_daily",), paused=True)
    good(session, "list_dags with import errors", "list_dags", "late_break", "IMPORT ERROR", without=("orders_",),
         has_import_errors=True)
    good(session, "list_dags, limit as a string", "list_dags", "berth_000", "berth_001", without=("berth_002",), limit="2")
    good(session, "list_dags, left-out as null and empty", "list_dags", "orders_daily", tags=["shop"], dag_id_pattern="",
         paused=None)
    bad(session, "a parameter that is not there", "list_dags", "tag", "tags", tag=["shop"])
    bad(session, "a limit out of range", "list_dags", "limit", "100", limit=1000)
    good(session, "get_dag", "get_dag", "orders_broken", "Its convert task raises", "shop.py", "shop-team", "bad-1",
         "failed", dag_id="orders_broken")
    good(session, "get_dag with parameters", "get_dag", "country", "rows", "reason", "DE", dag_id="report_params")
    good(session, "get_dag of an odd name", "get_dag", "odd.name-1.0", "Übersicht", dag_id="odd.name-1.0")
    good(session, "get_dag of a file that broke", "get_dag", "IMPORT ERROR", dag_id="late_break")
    bad(session, "get_dag of nothing", "get_dag", "no_such_dag", "list_dags", dag_id="no_such_dag")
    bad(session, "get_dag with a slash", "get_dag", "dag_id", dag_id="orders_daily/details")
    bad(session, "get_dag without its id", "get_dag", "dag_id")
    good(session, "list_import_errors", "list_import_errors", "broken_import.py", "harbour_module_that_is_nowhere",
         "broken_syntax.py", "SyntaxError", "late_break.py")


def runs(session):
    good(session, "list_dag_runs of one", "list_dag_runs", "bad-1", "failed", dag_id="orders_broken")
    text = good(session, "list_dag_runs of all, failed", "list_dag_runs", "stores_mapped", "mapped-1", "late_break",
                state=["failed"], limit=100)
    TAP.lacks(text, "list_dag_runs of all, failed: no other state", "| success")
    good(session, "list_dag_runs by pattern", "list_dag_runs", "odd:run+1~x", run_id_pattern="odd:run+1")
    bad(session, "list_dag_runs of nothing", "list_dag_runs", "no_such_dag", dag_id="no_such_dag")
    good(session, "list_task_instances", "list_task_instances", "stores", "add_up", "count_stock", "store-7", "upstream_failed",
         dag_id="stores_mapped", dag_run_id="mapped-1")
    good(session, "list_task_instances, failed", "list_task_instances", "store-2", "store-7", without=("store-3", "add_up"),
         dag_id="stores_mapped", dag_run_id="mapped-1", state=["failed"])
    good(session, "list_task_instances of an odd run", "list_task_instances", "group.task-1", "success",
         dag_id="odd.name-1.0", dag_run_id="odd:run+1~x")
    good(session, "get_task_instance", "get_task_instance", "convert", "failed", dag_id="orders_broken", dag_run_id="bad-1",
         task_id="convert")
    good(session, "get_task_instance of a mapped one", "get_task_instance", "count_stock", "failed",
         dag_id="stores_mapped", dag_run_id="mapped-1", task_id="count_stock", map_index=7)
    good(session, "get_task_instance that waits", "get_task_instance", "wait_for_pool", "no_such_pool",
         dag_id="pool_missing", dag_run_id="stuck-1", task_id="wait_for_pool")


def logs(session):
    noise = {"dag_id": "log_noise", "dag_run_id": "noise-1", "task_id": "shout"}
    text = good(session, "get_task_log", "get_task_log", "last line of noise", "belt stopped", without=("crate 1500 is",), **noise)
    TAP.ok(150 <= text.count("\n") <= 320, "get_task_log: about 200 lines", text.count("\n"))
    text = good(session, "get_task_log, few lines", "get_task_log", "last line of noise", without=("crate 2900",), lines=5, **noise)
    text = good(session, "get_task_log by level", "get_task_log", "the belt stopped at crate 1234", without=("crate 2998 is",),
                level="error", **noise)
    text = good(session, "get_task_log by text with context", "get_task_log", "crate 1233 is", "crate 1234 is", "crate 1235 is",
                without=("crate 1236 is",), contains="CRATE 1234 IS", context=1, **noise)
    text = good(session, "get_task_log of colours and scripts", "get_task_log", "mark 2900 東京", "red", contains="mark 29", **noise)
    text = good(session, "get_task_log of long lines", "get_task_log", "LONG 2700", contains="LONG 27", **noise)
    TAP.ok(len(text) < 12000, "get_task_log of long lines: cut", len(text))
    good(session, "get_task_log, much", "get_task_log", "last line of noise", lines=2000, **noise)
    bad(session, "get_task_log, too many lines", "get_task_log", "lines", "2000", lines=5000, **noise)
    good(session, "get_task_log of a cause chain", "get_task_log", "ValueError", "XTS", "KeyError", "shop.py",
         dag_id="orders_broken", dag_run_id="bad-1", task_id="convert")
    retry = {"dag_id": "feed_retrying", "dag_run_id": "retry-1", "task_id": "fetch"}
    good(session, "get_task_log of the last try", "get_task_log", "this is try 3", **retry)
    good(session, "get_task_log of the first try", "get_task_log", "this is try 1", "ConnectionError", "503 on try 1",
         try_number=1, **retry)
    good(session, "get_task_log of a mapped one", "get_task_log", "stock file of store 4", dag_id="stores_mapped",
         dag_run_id="mapped-1", task_id="count_stock", map_index=4)
    text, _, _ = session.call("get_task_log", dag_id="stores_mapped", dag_run_id="mapped-1", task_id="count_stock")
    TAP.has(text, "get_task_log of a mapped one without its index: asks for it", "map_index")
    text, _, _ = session.call("get_task_log", dag_id="orders_broken", dag_run_id="bad-1", task_id="publish")
    TAP.has(text, "get_task_log of an upstream_failed task: says so", "upstream")
    good(session, "get_task_log of a running task", "get_task_log", "is counted", "running", lines=3,
         dag_id="stock_slow", dag_run_id="walk-1", task_id="walk")
    good(session, "get_task_log with secrets", "get_task_log", "RuntimeError", "db.example.org",
         without=("tidewater4711", "AKIAQQ7EXAMPLEZZ2345", "c2lnbmF0dXJlLW9mLWxhYg"),
         dag_id="log_secret", dag_run_id="secret-1", task_id="leak")


def diagnoses(session):
    text = good(session, "diagnosis", "diagnose_dag_run", "1 root failure", "convert", "ValueError", "XTS", "KeyError",
                "publish", "clear_task_instances", "bad-1", "shop.py", dag_id="orders_broken", dag_run_id="bad-1")
    TAP.lacks(text, "diagnosis: the failed cleanup is no cause", "/var/lock/orders")
    TAP.matches(text, "diagnosis: it is named as such", r"Failed after a root failure.*release_lock")
    TAP.matches(text, "diagnosis: how many logs of how many", r"Read 1 log of 1 ")
    text = good(session, "diagnosis of mapped failures", "diagnose_dag_run", "count_stock", "RuntimeError", "stock file of store",
                "add_up", "4", dag_id="stores_mapped", dag_run_id="mapped-1")
    TAP.ok(text.count("RuntimeError") == 1, "diagnosis of mapped failures: alike ones once", text)
    TAP.matches(text, "diagnosis of mapped failures: how many logs of how many", r"Read \d logs? of 4 ")
    good(session, "diagnosis of the latest", "diagnose_dag_run", "exhausted-1", "TimeoutError", "try 2", dag_id="feed_exhausted")
    good(session, "diagnosis of a hidden failure", "diagnose_dag_run", "weigh", "the scale answered nothing", "success",
         dag_id="orders_hidden", dag_run_id="hidden-1")
    good(session, "diagnosis with a newer version", "diagnose_dag_run", "tonnage", "version 1", "version 2",
         dag_id="late_change", dag_run_id="late-1")
    good(session, "diagnosis with a broken file", "diagnose_dag_run", "ZeroDivisionError", "late_break.py", "fails to import",
         "tonnage_tables_not_installed", dag_id="late_break", dag_run_id="late-1")
    good(session, "diagnosis of a good run", "diagnose_dag_run", "success", "No task instance failed", without=("clear_task_instances",),
         dag_id="orders_daily", dag_run_id="ok-1")
    good(session, "diagnosis of a running run", "diagnose_dag_run", "running", dag_id="stock_slow", dag_run_id="walk-1")
    good(session, "diagnosis with secrets", "diagnose_dag_run", "RuntimeError", "leak", without=("tidewater4711",),
         dag_id="log_secret", dag_run_id="secret-1")
    good(session, "diagnosis where nothing failed ever", "diagnose_dag_run", "no failed run", dag_id="berth_000")
    bad(session, "diagnosis of nothing", "diagnose_dag_run", "404", dag_id="orders_broken", dag_run_id="no-such-run")


def escape_hatch(session):
    good(session, "airflow_api_get", "airflow_api_get", "default_pool", path="/api/v2/pools")
    good(session, "airflow_api_get with a query", "airflow_api_get", "berth_000", without=("berth_001",), path="/api/v2/dags",
         query={"limit": 1, "order_by": "dag_id", "tags": ["berth"]})
    good(session, "airflow_api_call that reads", "airflow_api_call", "200", "default_pool", method="GET", path="/api/v2/pools")
    bad(session, "the configuration", "airflow_api_get", "/config", path="/api/v2/config")
    bad(session, "the configuration, encoded", "airflow_api_get", path="/api/v2/%63onfig")
    bad(session, "a path that climbs", "airflow_api_get", path="/api/v2/dags/../config")
    bad(session, "a path outside", "airflow_api_get", "/api/v2", path="/auth/token")
    bad(session, "a path of nothing", "airflow_api_get", "404", path="/api/v2/no/such/route")


def strangers():
    with dbr_e2e.Session(URL, AIRFLOW_USERNAME="viewer", AIRFLOW_PASSWORD="viewer") as session:
        good(session, "a viewer reads", "get_dag", "orders_daily", dag_id="orders_daily")
        bad(session, "a viewer may not read variables", "airflow_api_get", "403", path="/api/v2/variables")
    with dbr_e2e.Session(URL, AIRFLOW_USERNAME="admin", AIRFLOW_PASSWORD="not-the-password") as session:
        bad(session, "a wrong password", "list_dags", "401", "AIRFLOW_PASSWORD", without=("not-the-password",))
    token = dbr_e2e.Airflow(URL).token
    with dbr_e2e.Session(URL, AIRFLOW_ACCESS_TOKEN=token) as session:
        good(session, "a fixed token", "get_dag", "orders_daily", dag_id="orders_daily")
    with dbr_e2e.Session(URL, AIRFLOW_ACCESS_TOKEN="garbage-token-of-this-test") as session:
        bad(session, "a garbage token", "list_dags", "AIRFLOW_ACCESS_TOKEN", without=("garbage-token-of-this-test",))
    # Port 9 of this machine: nobody listens there.
    with dbr_e2e.Session("http://127.0.0.1:9") as session:
        TAP.ok(len(session.tools()) >= 15, "the tools are listed without a backend")
        bad(session, "a backend that is down", "get_version", "http://127.0.0.1:9")


def revisions():
    for revision in dbr_e2e.LEGACY:
        with dbr_e2e.Session(URL, revision) as session:
            TAP.ok(session.opening["protocolVersion"] == revision, f"{revision}: agreed on", session.opening)
            good(session, revision, "diagnose_dag_run", "convert", "ValueError", dag_id="orders_broken", dag_run_id="bad-1")
            session.request("ping")
        TAP.ok(session.process.returncode == 0, f"{revision}: ends with 0", session.process.returncode)


def main():
    session = dbr_e2e.Session(URL)
    for group in (server, dags, runs, logs, diagnoses, escape_hatch):
        group(session)
    TAP.ok(session.close() == 0, "the program ends with 0")
    TAP.ok(not session.stderr(), "and wrote nothing to its standard error", session.stderr())
    strangers()
    revisions()


try:
    main()
except (dbr_e2e.Refused, OSError, EOFError, KeyError, ValueError) as failure:
    TAP.ok(False, "the conversation is held to its end", repr(failure))
TAP.done()
