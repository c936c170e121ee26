#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plays tests/protocol/<group>/<case>/in.jsonl to a server and compares what comes with out.jsonl.

in.jsonl    lines to send as they are; "#wait ID" waits for the answer to that id, "#wait-method NAME" for a
            message of the server's with that method, other lines with # are comments; @state:ID@ stands for the
            requestState of the answer to that id
out.jsonl   what must come, in any order; a response matches by its id, the rest by what it says
mask        dotted paths (result.serverInfo.version), one a line, whose values aren't compared
config      JSON: cmd (words; @builddir@, @srcdir@, @shared@), env (object), exit (status), backend (scripts of
            tests/lib/fake-backend, which then runs; @backend@ stands for its address, also in out.jsonl, and
            @version@ there for the program's; with "runtime": true it listens at the planning engine's default
            socket below a new folder, @runtime@; "@ago:300@" in a script is the time 300 seconds ago)
requests    what the backend must have got, in any order: method, target and body, one a line

Every message is also held to the schema of its revision. DBR_UPDATE=1 writes out.jsonl anew.
Folders can be named as arguments.
"""

import http.client
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e", "cases"))
import mcp_driver as driver  # noqa: E402
from dbr_cases import Fake  # noqa: E402

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


class SocketFake(Fake):
    """The fake at the engine's default socket below a runtime folder."""

    def __init__(self, runtime):
        self.runtime = runtime
        self.path = os.path.join(runtime, "drawbridge", "engine.sock")
        os.mkdir(os.path.dirname(self.path))
        super().__init__("--listen", self.path)
        self.url = "unix:" + self.path

    def _own(self, method, path, value=None):
        connection = http.client.HTTPConnection("localhost", timeout=60)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(self.path)
        connection.request(method, path, json.dumps(value) if value is not None else None)
        data = connection.getresponse().read()
        connection.close()
        return data

    def fill(self, text):
        return text.replace("@backend@", self.url).replace("@runtime@", self.runtime)

    def hide(self, text):
        return text.replace(self.url, "@backend@").replace(self.runtime, "@runtime@")


def fill_times(scripts):
    def moment(found):
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - int(found.group(1))))

    return json.loads(re.sub("@ago:([0-9]+)@", moment, json.dumps(scripts)))


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


def fill_states(line, server):
    """Puts the requestState that came in answer to ID in place of @state:ID@."""

    def state(found):
        answer = next(m for m in map(json.loads, server.lines) if m.get("id") == json.loads(found.group(1)))
        return json.dumps(answer["result"]["requestState"])[1:-1]

    return re.sub("@state:([^@]*)@", state, line)


def check_requests(folder, backend):
    got = sorted(f"{r['method']} {r['target']} {r['body']}".strip() for r in backend.requests())
    path = os.path.join(folder, "requests")
    if os.environ.get("DBR_UPDATE") == "1":
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(line + "\n" for line in got)
    if read_lines(path) != got:
        raise driver.Failed(f"the backend got {got}, not {read_lines(path)}")


def play(folder):
    config = json.loads("\n".join(read_lines(os.path.join(folder, "config"))) or "{}")
    if "backend" not in config:
        play_with(folder, config, None)
        return
    with tempfile.TemporaryDirectory(prefix="dbr-") as runtime:
        with SocketFake(runtime) if config.get("runtime") else Fake() as backend:
            for script in fill_times(config["backend"]):
                backend.script(script["method"], script["path"], *script["answers"])
            play_with(folder, config, backend)
            check_requests(folder, backend)


def program_version(command):
    done = subprocess.run([driver.expand(command)[0], "--version"], capture_output=True, text=True, check=True)
    return done.stdout.split()[-1]


def play_with(folder, config, backend):
    script = read_lines(os.path.join(folder, "in.jsonl"))
    env = dict(config.get("env", {}))
    if backend:
        env = {name: backend.fill(value) if config.get("runtime") else value.replace("@backend@", backend.url)
               for name, value in env.items()}
    sent = []
    with driver.Server(config.get("cmd"), env) as server:
        for line in script:
            line = fill_states(line, server)
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
    if backend:
        version = program_version(config["cmd"])
        hide = backend.hide if config.get("runtime") else lambda line: line.replace(backend.url, "@backend@")
        got = [hide(line).replace(f'"version":"{version}"', '"version":"@version@"') for line in got]
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
