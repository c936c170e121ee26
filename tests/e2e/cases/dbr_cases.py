# SPDX-License-Identifier: Apache-2.0
"""What the cases share: the real program, a fake backend that records and plays, and a watch for secrets.

Every byte that the program writes, on either output, is searched for the credentials that it was given.
Waits end when what they wait for is there; nothing passes or fails by speed.
"""

import base64
import contextlib
import html
import http.server
import json
import os
import re
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "protocol"))
import mcp_driver as driver  # noqa: E402
from mcp_driver import BUILD, SHARED, SRC, WATCHDOG_S, Failed, run_tests  # noqa: E402,F401

PROGRAM = os.environ.get("DRAWBRIDGE", os.path.join(BUILD, "drawbridge"))
RECORDINGS = os.path.join(SHARED, "airflow", "rec")
USER = "canary-person"
PASSWORD = "cAnary/pa$$+word? 77%"
TOKEN = "cAnary-t0ken.abc_DEF-0123456789"
# What the tests' surroundings may hand on: how to find the parts of the build, how to be strict.
HANDED_ON = ("DBR_SCHEMA_DIR", "DBR_MODULE_DIR", "G_DEBUG", "MALLOC_PERTURB_", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS")
SIGNED_IN = {"AIRFLOW_USERNAME": USER, "AIRFLOW_PASSWORD": PASSWORD}
MODERN_META = {driver.META_VERSION: driver.MODERN, driver.META_CAPABILITIES: {}}


def want(condition, *said):
    if not condition:
        raise Failed(" ".join(str(one) for one in said))


def has(text, *wanted):
    for one in wanted:
        want(one in text, f"{one!r} is missing in: {text[:3000]}")


def lacks(text, *unwanted):
    for one in unwanted:
        want(one not in text, f"{one!r} is in: {text[:3000]}")


def fresh_env(*layers):
    env = {name: os.environ[name] for name in HANDED_ON if name in os.environ}
    env.setdefault("LC_ALL", "C.UTF-8")
    for layer in layers:
        env.update(layer or {})
    return env


# ----------------------------------------------------------------------------- secrets


def shapes(secret):
    """A secret as it may come out: raw, percent-encoded (also twice), as JSON, in HTML, in hex, in base64 at each of three places."""
    data = secret.encode()
    found = {secret, urllib.parse.quote(secret, safe=""), urllib.parse.quote_plus(secret), json.dumps(secret)[1:-1]}
    found |= {urllib.parse.quote(urllib.parse.quote(secret, safe=""), safe=""), data.hex(" "), html.escape(secret)}
    for pad in range(3):
        text = base64.b64encode(b"x" * pad + data).decode().rstrip("=")
        inner = text[(pad * 8 + 5) // 6 : len(text) - 1]
        found |= {inner, inner.replace("+", "-").replace("/", "_")}
    return found | {lower_escapes(one) for one in found}


def lower_escapes(text):
    return re.sub("%[0-9A-F]{2}", lambda found: found.group().lower(), text)


def search_secrets(output, secrets):
    for secret in secrets:
        for shape in shapes(secret):
            want(shape.encode() not in output, f"a secret came out as {shape!r} in {output[:2000]!r}")


def secrets_of(env):
    names = ("AIRFLOW_ACCESS_TOKEN", "AIRFLOW_PASSWORD")
    own = [env[name].strip() for name in names if len(env.get(name, "").strip()) >= 8]
    return own + ["fake-token-1", "fake-token-2"]


# -------------------------------------------------------------------------- the backend


class Fake:
    """tests/lib/fake-backend as a process of its own."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen(
            [os.path.join(BUILD, "tests", "lib", "fake-backend"), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={k: v for k, v in fresh_env().items() if not k.startswith("DBR_")},
        )
        kind, _, self.where = self.process.stdout.readline().decode().strip().partition(" ")
        self.is_there = bool(kind)
        self.is_v6 = "::1" in arguments
        host = "[::1]" if self.is_v6 else "127.0.0.1"
        self.url = f"http://{host}:{self.where}" if kind == "port" else None
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            self.process.wait()
        self.process.stdout.close()

    def _own(self, method, path, value=None):
        data = json.dumps(value).encode() if value is not None else None
        request = urllib.request.Request(self.url + path, data=data, method=method)
        with self.opener.open(request, timeout=WATCHDOG_S) as answer:
            return answer.read()

    def script(self, method, path, *answers):
        self._own("POST", "/__script", {"method": method, "path": path, "answers": list(answers)})
        return self

    def always(self, method, path, **answer):
        return self.script(method, path, dict(answer, times=0))

    def all_requests(self):
        return json.loads(self._own("GET", "/__requests"))

    def requests(self):
        """Those for the API, without signing in and the test's own."""
        return [r for r in self.all_requests() if not r["target"].startswith(("/__", "/auth/"))]

    def wait_requests(self, count):
        """Until that many came; a watchdog only ends a test that would hang."""
        end = time.monotonic() + WATCHDOG_S
        while len(self.requests()) < count:
            want(time.monotonic() < end, "the request did not come")

    def sign_ins(self):
        return [r for r in self.all_requests() if r["target"].startswith("/auth/")]

    def forget(self):
        self._own("DELETE", "/__requests")


def headers(request, name):
    return [value for key, value in request["headers"] if key.lower() == name.lower()]


# -------------------------------------------------------------------------- the program


def command(*arguments):
    return [PROGRAM, *arguments]


class Bridge(driver.Server):
    """`drawbridge mcp airflow` over pipes, spoken to in the handshake era unless told otherwise."""

    def __init__(self, fake=None, *arguments, env=None, revision="2025-11-25", capabilities=None, backend=("airflow",)):
        address = {"AIRFLOW_API_URL": fake.url if isinstance(fake, Fake) else fake} if fake else {}
        self.env = fresh_env(SIGNED_IN, address, env)
        self.env = {k: v for k, v in self.env.items() if v is not None}
        self.next_id = 0
        self.process = subprocess.Popen(
            command("mcp", *backend, *arguments),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.env,
        )
        self.lines = []
        self.rest = b""
        self.seen_eof = False
        self.err = b""
        if revision:
            self.greeting = self.ask(
                "initialize",
                {"protocolVersion": revision, "capabilities": capabilities or {}, "clientInfo": {"name": "t", "version": "1"}},
            )
            self.send_json({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def __exit__(self, kind, *rest):
        """A test that went well also ends the program well, and looks through all it wrote."""
        try:
            if kind is None:
                if not self.process.stdin.closed:
                    self.process.stdin.close()
                self.wait_exit(None if getattr(self, "any_exit", False) else 0)
                self.search()
        finally:
            super().__exit__(kind, *rest)

    def search(self):
        texts = [item["text"] for line in self.lines for item in json.loads(line).get("result", {}).get("content", [])] if (
            all(line.startswith("{") for line in self.lines)
        ) else []
        output = "\n".join([*self.lines, *texts]).encode() + self.err
        search_secrets(output, secrets_of(self.env))
        lacks(self.err.decode("utf-8", "replace"), "Sanitizer", "runtime error")

    def send_request(self, method, params=None):
        self.next_id += 1
        message = {"jsonrpc": "2.0", "id": self.next_id, "method": method}
        if params is not None:
            message["params"] = params
        self.send_json(message)
        return self.next_id

    def wait_plain(self, number):
        """The response as plain JSON."""
        self.wait_answer(str(number))
        return next(m for m in map(json.loads, self.lines) if "method" not in m and m.get("id") == number)

    def ask(self, method, params=None):
        message = self.wait_plain(self.send_request(method, params))
        want("result" in message, method, "failed:", message)
        return message["result"]

    def send_call(self, tool, arguments=None, **more):
        return self.send_request("tools/call", {"name": tool, "arguments": arguments or {}, **more})

    def wait_result(self, number):
        message = self.wait_plain(number)
        want("result" in message, "no result:", message)
        return message["result"]

    def call(self, tool, arguments=None, **more):
        """(text, is_error)"""
        return texts_of(self.wait_result(self.send_call(tool, arguments, **more)))

    def good(self, tool, arguments=None):
        text, is_error = self.call(tool, arguments)
        want(not is_error, tool, str(arguments)[:500], "failed:", text)
        return text

    def bad(self, tool, arguments=None):
        text, is_error = self.call(tool, arguments)
        want(is_error, tool, str(arguments)[:500], "should be an error:", text)
        return text

    def api_get(self, path="/api/v2/x", **query):
        return self.call("airflow_api_get", {"path": path, **({"query": query} if query else {})})


def texts_of(result):
    return "\n".join(item["text"] for item in result["content"]), result.get("isError", False)


def shell(*arguments, env=None, address=None, stdin=b"", bare=False):
    """The program as a person calls it: (exit status, standard output, standard error)."""
    full = {} if bare else fresh_env(SIGNED_IN)
    if address:
        full["AIRFLOW_API_URL"] = address
    full.update(env or {})
    full = {k: v for k, v in full.items() if v is not None}
    done = subprocess.run(
        command(*arguments), env=full, input=stdin, capture_output=True, timeout=WATCHDOG_S, check=False
    )
    search_secrets(done.stdout + done.stderr, secrets_of(full))
    lacks(done.stderr.decode("utf-8", "replace"), "Sanitizer", "runtime error")
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def closed_port():
    """A port of 127.0.0.1 where nobody listens, and the socket that keeps it so."""
    import socket

    held = socket.socket()
    held.bind(("127.0.0.1", 0))
    return held, held.getsockname()[1]


@contextlib.contextmanager
def backend(bodies, port=0):
    """A backend of this process: signs in anybody and answers each read with the next of the bodies. Its address."""
    left = iter(bodies)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.reply(201, b'{"access_token":"fake-token-1"}')

        def do_GET(self):
            self.reply(200, next(left))

        def reply(self, status, body):
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def main(tests):
    """Each test is a function; its doc string's first line is its name."""
    run_tests([((test.__doc__ or test.__name__).strip().splitlines()[0].rstrip("."), test) for test in tests])
