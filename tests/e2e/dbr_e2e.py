# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end tests share: TAP, a lab's address, and an MCP client of one page over stdio.

Standard library only. The client speaks either era by hand, so that a test sees the very lines that
went both ways; the official clients have tests of their own.
"""
import json
import os
import pathlib
import re
import selectors
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

MODERN = "2026-07-28"
LEGACY = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
SOURCE = pathlib.Path(os.environ.get("G_TEST_SRCDIR", pathlib.Path(__file__).resolve().parents[2]))
BUILD = pathlib.Path(os.environ.get("G_TEST_BUILDDIR", SOURCE / "build"))
PROGRAM = os.environ.get("DRAWBRIDGE", str(BUILD / "drawbridge"))
# A watchdog, not a measure: no answer of a healthy program takes this long on any machine.
PATIENCE_S = 120


def fresh(word):
    """An id that no other test and no earlier run of this one has."""
    return f"{word}-{os.getpid()}-{time.time_ns() % 10**9}"


class Tap:
    """Counts checks; says `not ok` with what was seen, and goes on."""

    def __init__(self):
        self.count = 0
        self.failures = 0

    def ok(self, passed, name, *seen):
        self.count += 1
        if not passed:
            self.failures += 1
        print(f"{'ok' if passed else 'not ok'} {self.count} - {name}", flush=True)
        if not passed:
            for one in seen:
                for line in str(one).splitlines():
                    print("#  " + line, flush=True)
        return passed

    def has(self, text, name, *wanted):
        """Every wanted string is in text."""
        missing = [one for one in wanted if one not in text]
        return self.ok(not missing, name, f"missing: {missing}", "in:", text)

    def lacks(self, text, name, *unwanted):
        found = [one for one in unwanted if one in text]
        return self.ok(not found, name, f"found: {found}", "in:", text)

    def matches(self, text, name, pattern):
        return self.ok(re.search(pattern, text, re.M) is not None, name, f"no match of: {pattern}", "in:", text)

    def skip(self, name, why):
        self.count += 1
        print(f"ok {self.count} - {name} # SKIP {why}", flush=True)

    def done(self):
        # The exit status stays 0: who reads TAP has counted the failures, a status would count once more.
        print(f"1..{self.count}")
        sys.exit(0)


def skip_all(why):
    """Leaves; where the lab is demanded (DBR_REQUIRE_LAB=1, as .ci/run does), a skip is a failure."""
    if os.environ.get("DBR_REQUIRE_LAB") == "1":
        print(f"1..1\nnot ok 1 - {why}")
        sys.exit(1)
    print(f"1..0 # SKIP {why}")
    sys.exit(0)


def lab_url():
    """The address of the running lab; without one the test is skipped with a word."""
    folder = os.environ.get("DBR_LAB")
    if not folder:
        skip_all("no Airflow lab: start one with tests/e2e/airflow/airflow-lab and name its folder in DBR_LAB")
    port = pathlib.Path(folder, "port")
    if not port.exists():
        skip_all(f"no Airflow lab was started in {folder}")
    if not os.access(PROGRAM, os.X_OK):
        skip_all(f"{PROGRAM} is not built")
    return "http://127.0.0.1:" + port.read_text(encoding="ascii").strip()


def clients_folder():
    folder = os.environ.get("DBR_CLIENTS")
    if not folder or not pathlib.Path(folder, "ready").exists():
        skip_all("no MCP clients: tests/e2e/clients/install-clients installs them; name its folder in DBR_CLIENTS")
    return pathlib.Path(folder)


def program_env(url, **more):
    """A bare environment: what a client passes on, and nothing that the person at the desk has set."""
    keep = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "DBR_SCHEMA_DIR", "DBR_MODULE_DIR", "G_DEBUG", "MALLOC_PERTURB_",
            "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "TMPDIR")
    env = {name: os.environ[name] for name in keep if name in os.environ}
    env.setdefault("DBR_SCHEMA_DIR", str(SOURCE / "schemas"))
    env.setdefault("DBR_MODULE_DIR", str(BUILD / "engine-client" / ".libs"))
    if url:
        env["AIRFLOW_API_URL"] = url
    env.update(more)
    return env


class Airflow:
    """Airflow's own API, past the program: to prepare what a test looks at, and to see what a call did."""

    def __init__(self, url, user="admin", password="admin"):
        self.url = url
        # The lab is on this machine: no proxy is ever asked.
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        self.token = None
        self.token = self.send("POST", "/auth/token", {"username": user, "password": password})["access_token"]

    def send(self, method, path, body=None):
        request = urllib.request.Request(self.url + path, method=method)
        request.add_header("Accept", "application/json")
        if self.token:
            request.add_header("Authorization", "Bearer " + self.token)
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        with self.opener.open(request, data, timeout=300) as reply:
            text = reply.read()
        return json.loads(text) if text else None

    def get(self, path):
        return self.send("GET", "/api/v2" + path)

    def state(self, dag, run):
        try:
            return self.get(f"/dags/{dag}/dagRuns/{run}")["state"]
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise
            return None

    def wait_state(self, dag, run, *wanted):
        """Waits until the run is in one of these states; the state it was in last."""
        end = time.monotonic() + PATIENCE_S
        state = None
        while time.monotonic() < end:
            state = self.state(dag, run)
            if state in wanted:
                break
            time.sleep(0.5)
        return state


class Refused(Exception):
    """A JSON-RPC error came back."""

    def __init__(self, error):
        super().__init__(f"{error.get('code')}: {error.get('message')}")
        self.code = error.get("code")


class Session:
    """One `drawbridge mcp airflow` and a conversation with it."""

    def __init__(self, url, revision=MODERN, listener=None, capabilities=None, command=None, **env):
        self.revision = revision
        self.listener = listener or (lambda direction, line: None)
        self.capabilities = capabilities or {}
        self.last_id = 0
        self.buffer = b""
        self.others = []
        # A file and no pipe: a pipe that nobody reads would stall a talkative program.
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(command or [PROGRAM, "mcp", "airflow"], env=program_env(url, **env),
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.process.stdout, selectors.EVENT_READ)
        if revision == MODERN:
            self.opening = self.request("server/discover")
        else:
            self.opening = self.request("initialize", {
                "protocolVersion": revision, "capabilities": self.capabilities,
                "clientInfo": {"name": "dbr-e2e", "version": "1"}})
            self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def send(self, message):
        line = json.dumps(message, ensure_ascii=False)
        self.listener("->", line)
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def read_line(self):
        end = time.monotonic() + PATIENCE_S
        while b"\n" not in self.buffer:
            if not self.selector.select(max(0, end - time.monotonic())):
                raise TimeoutError(f"no answer within {PATIENCE_S} s")
            chunk = os.read(self.process.stdout.fileno(), 65536)
            if not chunk:
                # Only now, so that this cannot wait for a program that lives on.
                self.process.wait(PATIENCE_S)
                raise EOFError(f"the program ended ({self.process.returncode}): "
                               + self.stderr())
            self.buffer += chunk
        line, self.buffer = self.buffer.split(b"\n", 1)
        text = line.decode()
        self.listener("<-", text)
        return json.loads(text)

    def request(self, method, params=None, **meta):
        self.last_id += 1
        wanted = self.last_id
        params = dict(params or {})
        if self.revision == MODERN:
            params["_meta"] = {"io.modelcontextprotocol/protocolVersion": MODERN,
                               "io.modelcontextprotocol/clientInfo": {"name": "dbr-e2e", "version": "1"},
                               "io.modelcontextprotocol/clientCapabilities": self.capabilities, **meta}
        elif meta:
            params["_meta"] = meta
        message = {"jsonrpc": "2.0", "id": wanted, "method": method}
        if params:
            message["params"] = params
        self.send(message)
        while True:
            answer = self.read_line()
            if answer.get("id") == wanted and "method" not in answer:
                break
            self.others.append(answer)
        if "error" in answer:
            raise Refused(answer["error"])
        return answer["result"]

    def tools(self):
        return {tool["name"]: tool for tool in self.request("tools/list")["tools"]}

    def call(self, name, _meta=None, **arguments):
        """(text, is_error, result) of a tool call."""
        result = self.request("tools/call", {"name": name, "arguments": arguments}, **(_meta or {}))
        text = "\n".join(block["text"] for block in result["content"] if block["type"] == "text")
        return text, bool(result.get("isError")), result

    def close(self):
        """Ends the input; the exit status of the program."""
        if self.process.stdin.closed:
            return self.process.returncode
        self.process.stdin.close()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.selector.close()
        self.process.stdout.close()
        return self.process.returncode

    def stderr(self):
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")
