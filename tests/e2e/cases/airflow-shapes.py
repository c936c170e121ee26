#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What an Airflow really answers: clamped pages, logs of every shape, masked values, ids from everywhere."""

import json

from dbr_cases import Bridge, Fake, has, lacks, main, want

WRITES = {"AIRFLOW_MCP_ALLOW_WRITES": "1"}
RUN = "/api/v2/dags/d/dagRuns/r"
WHERE = {"dag_id": "d", "dag_run_id": "r"}


def task(**more):
    return {"task_id": "t", "dag_id": "d", "dag_run_id": "r", "map_index": -1, "state": "failed", "try_number": 1, "max_tries": 0, **more}


def listed(*rows, key="task_instances", total=None):
    return {key: list(rows), "total_entries": len(rows) if total is None else total}


def with_log(content, token=None, **more):
    fake = Fake()
    fake.always("GET", f"{RUN}/taskInstances", body=listed(task(**more)))
    fake.always("GET", f"{RUN}/taskInstances/t/logs/1", body={"content": content, "continuation_token": token})
    return fake


def trigger_bodies():
    """A trigger always names a logical date, null when none was given, and only what the API knows"""
    with Fake() as fake, Bridge(fake, env=WRITES) as bridge:
        fake.always("POST", "/api/v2/dags/d/dagRuns", body={"dag_id": "d", "dag_run_id": "r", "state": "queued"})
        for arguments, body in (
            ({}, {"logical_date": None}),
            ({"conf": {}}, {"logical_date": None, "conf": {}}),
            ({"logical_date": "2026-01-01T00:00:00Z"}, {"logical_date": "2026-01-01T00:00:00Z"}),
            ({"dag_run_id": "x", "note": "n"}, {"logical_date": None, "dag_run_id": "x", "note": "n"}),
        ):
            bridge.good("trigger_dag_run", {"dag_id": "d", **arguments})
            sent = json.loads([r for r in fake.requests() if r["method"] == "POST"][-1]["body"])
            want(sent == body, sent, body)
        fake.forget()
        detail = [{"loc": ["body", "logical_date"], "msg": "Input should have timezone info"}]
        fake.always("POST", "/api/v2/dags/d/dagRuns", status=422, body={"detail": detail})
        has(bridge.bad("trigger_dag_run", {"dag_id": "d", "logical_date": "2026-01-01T00:00:00Z"}), "422", "body.logical_date", "timezone")
        fake.forget()
        has(bridge.bad("trigger_dag_run", {"dag_id": "d", "logical_date": "2026-01-01"}), "logical_date", "doesn't match")
        want(not fake.requests(), "a date without an offset was sent")


def clamped_pages():
    """A page that the backend cut is counted by what came, with how to get the rest"""
    with Fake() as fake, Bridge(fake) as bridge:
        fake.always("GET", "/api/v2/dags", body=listed(*({"dag_id": f"d{i}"} for i in range(60)), key="dags", total=250))
        text = bridge.good("list_dags", {"limit": 100})
        has(text, "60", "250", "d59", "list_dags", '"offset": 60')
        bridge.good("list_dags", {"limit": 100, "offset": 60})
        has(fake.requests()[-1]["target"], "offset=60")


def no_rest():
    """A whole list says no word of a rest"""
    with Fake() as fake, Bridge(fake) as bridge:
        fake.always("GET", "/api/v2/dags", body=listed({"dag_id": "d1"}, {"dag_id": "d2"}, key="dags"))
        lacks(bridge.good("list_dags"), "Next page", "offset")


def log_shapes():
    """A log is a list of objects, of strings, of both, or one text; events of any type; unknown members"""
    for content, words in (
        ([{"timestamp": "2026-01-01T00:00:00Z", "event": "one", "level": "info", "new": {"a": 1}}], ("one",)),
        (["plain one", "plain two"], ("plain one", "plain two")),
        ([{"event": "an object"}, "a string"], ("an object", "a string")),
        ([{"event": 5}, {"event": None}, {"event": {"a": 7}}, {"event": ["x"]}, {}], ("5", "7")),
        ([{"event": "::group::Pre task execution logs"}, {"event": "in it"}, {"event": "::endgroup::"}], ("in it",)),
        ([{"event": "a\nb\u2028c\x00d\x1b[31me"}], ("a", "b")),
        ([{"event": "x" * 20000}], ("xxx",)),
        ([], ()),
        (None, ()),
    ):
        with with_log(content) as fake, Bridge(fake) as bridge:
            text = bridge.good("get_task_log", {**WHERE, "task_id": "t"})
            has(text, *words)
            lacks(text, "\x1b", "\x00")


def one_text():
    """A log that is one text, or one line a string, is shown or called what it is, never lost in silence"""
    with with_log("line one\nline two") as fake, Bridge(fake) as bridge:
        text, is_error = bridge.call("get_task_log", {**WHERE, "task_id": "t"})
        want(is_error or "line two" in text, text)


def tracebacks():
    """A structured traceback reads as one, causes included"""
    frames = [{"filename": "/opt/dags/shop.py", "lineno": 12, "name": "load"}]
    error = [{"exc_type": "ValueError", "exc_value": "no rows", "frames": frames, "is_cause": False},
             {"exc_type": "KeyError", "exc_value": "'id'", "frames": frames, "is_cause": True}]
    with with_log([{"event": "Task failed", "level": "error", "error_detail": error}]) as fake, Bridge(fake) as bridge:
        text = bridge.good("get_task_log", {**WHERE, "task_id": "t"})
        has(text, "ValueError: no rows", "/opt/dags/shop.py:12", "load", "KeyError")


def endless_log():
    """A log without end is answered within the deadline with its newest lines, and says that it was cut"""
    with Fake() as fake:
        fake.always("GET", f"{RUN}/taskInstances", body=listed(task(state="running")))
        fake.always(
            "GET", f"{RUN}/taskInstances/t/logs/1", headers=[["Content-Type", "application/json"]], body='{"content":[{"event":"first"}',
            unit=',{"timestamp":"2026-01-01T00:00:00Z","level":"info","event":"line number {i} of many"}', count=1 << 40,
        )
        with Bridge(fake, "--timeout", "0.3") as bridge:
            text = bridge.good("get_task_log", {**WHERE, "task_id": "t", "lines": 5})
            has(text, "5 lines of", "line number", "goes on")
            bridge.ask("ping")


def long_log():
    """Of a long log the newest lines come, as many as asked for, with the count of all"""
    with Fake() as fake:
        fake.always("GET", f"{RUN}/taskInstances", body=listed(task()))
        fake.always(
            "GET", f"{RUN}/taskInstances/t/logs/1", headers=[["Content-Type", "application/json"]], body='{"content":[{"event":"first"}',
            unit=',{"level":"info","event":"line {i}."}', count=200000, end=',{"level":"error","event":"the last"}],"continuation_token":null}',
        )
        with Bridge(fake, "--timeout", "60") as bridge:
            text = bridge.good("get_task_log", {**WHERE, "task_id": "t", "lines": 3})
            has(text, "3 lines of 200002", "line 199999.", "the last")
            lacks(text, "line 199990.")
            text = bridge.good("get_task_log", {**WHERE, "task_id": "t", "level": "error"})
            has(text, "1 line matches", "the last")
            text = bridge.good("get_task_log", {**WHERE, "task_id": "t", "contains": "LINE 777.", "context": 1})
            has(text, "line 776.", "line 777.", "line 778.")


def broken_log():
    """A log that breaks off is told as broken, with what had come or with an error"""
    with Fake() as fake:
        fake.always("GET", f"{RUN}/taskInstances", body=listed(task()))
        fake.always("GET", f"{RUN}/taskInstances/t/logs/1", body={"content": [{"event": f"line {i}"} for i in range(100)]}, mode="truncate", at=1500)
        with Bridge(fake) as bridge:
            text, is_error = bridge.call("get_task_log", {**WHERE, "task_id": "t"})
            want(is_error or "goes on" in text, text)


def mapped():
    """A mapped task without an index is explained; with one its log is read at that index"""
    with Fake() as fake, Bridge(fake) as bridge:
        fake.always("GET", f"{RUN}/taskInstances", body=listed(*(task(map_index=i, state="success" if i else "failed") for i in range(3))))
        for tool in ("get_task_log", "get_task_instance"):
            has(bridge.bad(tool, {**WHERE, "task_id": "t"}), "mapped", "0-2", "failed: 0", "map_index")
        want(not [r for r in fake.requests() if "/logs/" in r["target"]], "a log was asked for")
        fake.forget()
        fake.always("GET", f"{RUN}/taskInstances", body=listed(task(map_index=2, try_number=3)))
        fake.always("GET", f"{RUN}/taskInstances/t/logs/3", body={"content": [{"event": "of two"}], "continuation_token": None})
        has(bridge.good("get_task_log", {**WHERE, "task_id": "t", "map_index": 2}), "of two")
        has([r["target"] for r in fake.requests() if "/logs/" in r["target"]][0], "/logs/3?", "map_index=2")


def try_zero():
    """A task that never ran has try 0, and its log is asked for at 0"""
    with Fake() as fake, Bridge(fake) as bridge:
        fake.always("GET", f"{RUN}/taskInstances", body=listed(task(state="upstream_failed", try_number=0)))
        fake.always("GET", f"{RUN}/taskInstances/t/logs/0", body={"content": [{"event": "Upstream failed"}], "continuation_token": None})
        has(bridge.good("get_task_log", {**WHERE, "task_id": "t"}), "Upstream failed")


def odd_rows():
    """Rows with members missing, null or of another type are shown for what they have, nothing invented"""
    rows = [{"dag_id": "plain"}, {"dag_id": None}, {}, {"dag_id": 5, "tags": "x"}, {"dag_id": "nulls", "tags": None, "description": None, "next_dagrun_run_after": "soon"},
            {"dag_id": "big", "description": "y" * 100000, "tags": [{"name": "z" * 5000}] * 50}, None, "text", 7, [1]]
    with Fake() as fake, Bridge(fake) as bridge:
        fake.always("GET", "/api/v2/dags", body=listed(*rows, key="dags"))
        text = bridge.good("list_dags")
        has(text, "10 Dags", "plain", "nulls")
        lacks(text, "None", "null |", "(null)")


def wrong_diagnosis():
    """A diagnosis over hostile answers ends in words: graphs with circles, runs without versions, logs that are no logs"""
    circle = [{"task_id": "a", "downstream_task_ids": ["b"]}, {"task_id": "b", "downstream_task_ids": ["a", "missing", 5, None]}, {}, None, "x"]
    with Fake() as fake, Bridge(fake) as bridge:
        fake.always("GET", RUN, body={"dag_id": "d", "dag_run_id": "r", "state": "failed"})
        fake.always("GET", f"{RUN}/taskInstances", body=listed(task(task_id="a"), task(task_id="b"), {"state": "failed"}))
        fake.always("GET", "/api/v2/dags/d/tasks", body={"tasks": circle})
        fake.always("GET", "/api/v2/dags/d/details", body={"dag_id": "d"})
        fake.always("GET", "/api/v2/importErrors", body={"import_errors": [], "total_entries": 0})
        fake.always("GET", f"{RUN}/taskInstances/a/logs/1", body={"content": {"no": "list"}})
        fake.always("GET", f"{RUN}/taskInstances/b/logs/1", status=500, body="boom", headers=[["Content-Type", "text/plain"]])
        has(bridge.good("diagnose_dag_run", WHERE), "d / r: failed")


def optional_parts():
    """A diagnosis of which a part can't be read says which, and gives the rest"""
    with Fake() as fake, Bridge(fake) as bridge:
        fake.always("GET", RUN, body={"dag_id": "d", "dag_run_id": "r", "state": "failed"})
        fake.always("GET", f"{RUN}/taskInstances", body=listed(task()))
        fake.always("GET", f"{RUN}/taskInstances/t/logs/1", status=403, body={"detail": "Forbidden"})
        fake.always("GET", "/api/v2/dags/d/tasks", status=500, body={"detail": "boom"})
        text = bridge.good("diagnose_dag_run", WHERE)
        has(text, "1 root failure", "403", "clear_task_instances")


def found_latest():
    """Without a run id the latest failed run is diagnosed; without one, that is said"""
    with Fake() as fake, Bridge(fake) as bridge:
        fake.always("GET", "/api/v2/dags/d/dagRuns", body=listed({"dag_run_id": "r"}, key="dag_runs"))
        fake.always("GET", RUN, body={"dag_id": "d", "dag_run_id": "r", "state": "failed"})
        fake.always("GET", f"{RUN}/taskInstances", body=listed())
        has(bridge.good("diagnose_dag_run", {"dag_id": "d"}), "d / r: failed")
        fake.forget()
        fake.always("GET", "/api/v2/dags/d/dagRuns", body=listed(key="dag_runs"))
        has(bridge.good("diagnose_dag_run", {"dag_id": "d"}), "no failed run")


def slashed_names():
    """A path of the whole API takes the names that hold encoded letters, and no encoded slash"""
    with Fake() as fake, Bridge(fake) as bridge:
        bridge.call("airflow_api_get", {"path": "/api/v2/variables/folder/name"})
        want(fake.requests()[-1]["target"] == "/api/v2/variables/folder/name", fake.requests())


if __name__ == "__main__":
    main([
        trigger_bodies, clamped_pages, no_rest, log_shapes, one_text, tracebacks, endless_log, long_log, broken_log, mapped, try_zero, odd_rows,
        wrong_diagnosis, optional_parts, found_latest, slashed_names,
    ])
