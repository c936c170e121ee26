#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long an answer may get: always under what clients take, whole records only, with what is missing and how to get it."""

import json
import re

from dbr_cases import Bridge, Fake, has, main, want

CAP = 40 * 1024 + 2048  # the documented cap, and room for the last lines that say what was left out
RUN = "/api/v2/dags/d/dagRuns/r"


def fits(text):
    size = len(text.encode())
    want(size <= CAP, size, "bytes:", text[:200], "...", text[-300:])
    return text


def many_rows():
    """A list of far too much ends with whole rows, says how many are missing, and the first line counts all that came"""
    rows = [{"dag_id": f"dag_{i:04}_" + "n" * 60, "description": "words " * 20, "tags": [{"name": "ü" * 30}] * 9, "timetable_summary": "x" * 300} for i in range(500)]
    with Fake() as fake, Bridge(fake) as bridge:
        fake.always("GET", "/api/v2/dags", body={"dags": rows, "total_entries": 500})
        lines = fits(bridge.good("list_dags")).split("\n")
        has(lines[0], "500 Dags")
        shown = [line for line in lines if line.startswith("dag_")]
        want(20 < len(shown) < 500 and len({line.count(" | ") for line in shown}) == 1, "a row was cut", len(shown))
        has("\n".join(lines[len(shown) :]), str(500 - len(shown)))


def many_lines():
    """Two thousand long log lines end under the cap, the newest being there"""
    content = [{"timestamp": "2026-01-01T00:00:00Z", "level": "info", "event": f"line {i} " + "é" * 200} for i in range(10000)]
    with Fake() as fake, Bridge(fake) as bridge:
        fake.always("GET", f"{RUN}/taskInstances", body={"task_instances": [{"task_id": "t", "map_index": -1, "try_number": 1, "state": "failed"}], "total_entries": 1})
        fake.always("GET", f"{RUN}/taskInstances/t/logs/1", body={"content": content})
        text = fits(bridge.good("get_task_log", {"dag_id": "d", "dag_run_id": "r", "task_id": "t", "lines": 2000}))
        has(text, "of 10000", "line 9999")
        fence = re.search("^--- log ([0-9a-f]+)", text, re.M).group(1)
        has(text, f"--- end {fence} ---")


def long_values():
    """One value of a megabyte is cut at a character, and that is said"""
    with Fake() as fake, Bridge(fake) as bridge:
        for value in ("x" * (1 << 20), "ü" * (1 << 19), "\u202e" * 100000, ["y" * 1000] * 1000, {f"key{i}": "z" * 100 for i in range(5000)}):
            fake.forget()
            fake.always("GET", "/api/v2/x", body={"v": value})
            text, is_error = bridge.api_get()
            want(not is_error, text[:300])
            fits(text)


def many_failures():
    """A run with five hundred failed instances and an error of a megabyte is diagnosed under the cap"""
    failed = [{"task_id": f"task_{i % 60}", "dag_id": "d", "dag_run_id": "r", "map_index": i, "state": "failed", "try_number": 1} for i in range(500)]
    error = [{"exc_type": "E" * 5000, "exc_value": "v" * (1 << 20), "frames": [{"filename": "/opt/x.py" * 100, "lineno": 1, "name": "f"}] * 200}]
    with Fake() as fake, Bridge(fake) as bridge:
        fake.always("GET", RUN, body={"dag_id": "d", "dag_run_id": "r", "state": "failed"})
        for page in range(5):
            fake.script("GET", f"{RUN}/taskInstances", {"body": {"task_instances": failed[page * 100 : page * 100 + 100], "total_entries": 500}})
        for i in range(60):
            fake.always("GET", f"{RUN}/taskInstances/task_{i}/logs/1", body={"content": [{"event": "boom", "level": "error", "error_detail": error}] * 3})
        text = fits(bridge.good("diagnose_dag_run", {"dag_id": "d", "dag_run_id": "r"}))
        has(text, "500", "clear_task_instances")


def long_errors():
    """An error page of a megabyte costs a few lines"""
    with Fake() as fake, Bridge(fake) as bridge:
        for body in ("no " * 400000, json.dumps({"detail": "no " * 300000}), json.dumps({"detail": [{"loc": ["a"] * 50, "msg": "m" * 100}] * 5000})):
            fake.forget()
            fake.always("GET", "/api/v2/x", status=500, body=body, headers=[["Content-Type", "application/json"]])
            text, is_error = bridge.api_get()
            want(is_error and len(text) < 4096, len(text))


def small_lists():
    """A hundred Dags as they are cost less than 8 kB"""
    rows = [{"dag_id": f"team_{i % 7}_pipeline_{i:03}", "timetable_summary": "0 3 * * *", "is_paused": False, "tags": [{"name": "team"}], "has_import_errors": False} for i in range(100)]
    with Fake() as fake, Bridge(fake) as bridge:
        fake.always("GET", "/api/v2/dags", body={"dags": rows, "total_entries": 100})
        want(len(bridge.good("list_dags").encode()) < 8000, "too long")


if __name__ == "__main__":
    main([many_rows, many_lines, long_values, many_failures, long_errors, small_lists])
