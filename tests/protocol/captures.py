#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Replays what real clients sent: every request is answered once, in its own era, as its schema says.

A recording may hold several processes, one after another, as some clients start a server more than once. What a client
sent over HTTP is the same JSON and is replayed too.
"""

import glob
import json
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import mcp_driver as driver  # noqa: E402

SCHEMAS = driver.Schemas()


def read_processes(path):
    """The lines that each process got."""
    processes = []
    with open(path, encoding="utf-8") as file:
        for text in file:
            entry = json.loads(text)
            line = entry.get("line" if entry.get("dir") else "body") or ""
            if entry.get("dir") == "ev" and line.startswith("start") or not processes:
                processes.append([])
            if entry.get("dir", "in") == "in" and line.startswith("{"):
                processes[-1].append(line)
    return [lines for lines in processes if lines]


def replay(lines):
    ids = []
    with driver.Server() as server:
        for line in lines:
            message = json.loads(line)
            server.send_line(line)
            if "id" in message and "method" in message:
                raw = json.dumps(message["id"])
                ids.append(message["id"])
                answer = server.wait_answer(raw)
                if message["method"] in ("initialize", "server/discover", "tools/list") and "result" not in answer:
                    raise driver.Failed(f"{message['method']} was refused: {answer}")
        server.close_stdin()
        server.wait_exit(0)
        answered = [json.loads(text)["id"] for text in server.lines if "method" not in json.loads(text)]
        if sorted(map(str, answered)) != sorted(map(str, ids)):
            raise driver.Failed(f"asked {ids}, answered {answered}")
        driver.check_conversation(SCHEMAS, lines, server.lines)


def test(path):
    processes = read_processes(path)
    if not processes:
        return "nothing was sent"
    for lines in processes:
        replay(lines)
    return None


def main():
    folder = os.path.join(driver.SHARED, "mcp", "captures")
    paths = sorted(glob.glob(os.path.join(folder, "*.jsonl")))
    if not paths:
        driver.run_tests([("captures", lambda: f"no shared: {folder} is missing")])
        return
    tests = [(os.path.basename(path), lambda path=path: test(path)) for path in paths]
    tests.append(("schemas were asked", lambda: SCHEMAS.skip))
    driver.run_tests(tests)


if __name__ == "__main__":
    main()
