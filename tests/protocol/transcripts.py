#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plays tests/protocol/<group>/<case>/in.jsonl to a server and compares what comes with out.jsonl.

in.jsonl    lines to send as they are; "#wait ID" waits for the answer to that id, "#wait-method NAME" for a
            message of the server's with that method, other lines with # are comments
out.jsonl   what must come, in any order; a response matches by its id, the rest by what it says
mask        dotted paths (result.serverInfo.version), one a line, whose values aren't compared
config      JSON: cmd (words; @builddir@, @srcdir@, @shared@), env (object), exit (status)

Every message is also held to the schema of its revision. DBR_UPDATE=1 writes out.jsonl anew.
Folders can be named as arguments.
"""

import json
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import mcp_driver as driver  # noqa: E402

ROOT = os.path.join(driver.SRC, "tests", "protocol")
SCHEMAS = driver.Schemas()


def read_lines(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8", newline="\n") as file:
        return [line.rstrip("\n") for line in file if line.strip()]


def mask(value, path):
    head, _, rest = path.partition(".")
    if isinstance(value, list):
        for item in value:
            mask(item, path)
    elif isinstance(value, dict) and head in value:
        if rest:
            mask(value[head], rest)
        else:
            value[head] = "*"


def masked(line, paths):
    value = driver.exact(line)
    for path in paths:
        mask(value, path)
    return value


def compare(expected, got, paths):
    left = [(line, masked(line, paths)) for line in got]
    for line in expected:
        wanted = masked(line, paths)
        found = next((item for item in left if item[1] == wanted), None)
        if found is None:
            near = [text for text, value in left if isinstance(wanted, dict) and isinstance(value, dict)
                    and value.get("id") == wanted.get("id")]
            raise driver.Failed(f"missing: {line}\ncame:    " + "\n         ".join(near or [t for t, _ in left][:5]))
        left.remove(found)
    if left:
        raise driver.Failed("more than expected: " + "\n".join(text for text, _ in left[:5]))


def play(folder):
    config = json.loads("\n".join(read_lines(os.path.join(folder, "config"))) or "{}")
    script = read_lines(os.path.join(folder, "in.jsonl"))
    sent = []
    with driver.Server(config.get("cmd"), config.get("env")) as server:
        for line in script:
            if line.startswith("#wait "):
                server.wait_answer(line[6:])
            elif line.startswith("#wait-method "):
                server.wait_method(line[13:])
            elif not line.startswith("#"):
                server.send_line(line)
                sent.append(line)
        server.close_stdin()
        server.wait_exit(config.get("exit", 0))
        got = list(server.lines)
    driver.check_conversation(SCHEMAS, sent, got)
    out = os.path.join(folder, "out.jsonl")
    if os.environ.get("DBR_UPDATE") == "1":
        with open(out, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(line + "\n" for line in got)
    compare(read_lines(out), got, read_lines(os.path.join(folder, "mask")))


def find_cases(arguments):
    if arguments:
        return arguments
    groups = [os.path.join(ROOT, name) for name in sorted(os.listdir(ROOT))]
    return [
        os.path.join(group, case)
        for group in groups
        if os.path.isdir(group)
        for case in sorted(os.listdir(group))
        if os.path.exists(os.path.join(group, case, "in.jsonl"))
    ]


def main():
    tests = [
        (os.path.relpath(folder, ROOT), lambda folder=folder: play(folder)) for folder in find_cases(sys.argv[1:])
    ]
    tests.append(("schemas were asked", lambda: SCHEMAS.skip))
    driver.run_tests(tests)


if __name__ == "__main__":
    main()
