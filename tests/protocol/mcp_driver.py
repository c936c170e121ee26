# SPDX-License-Identifier: Apache-2.0
"""Spawns a server over pipes, talks to it line by line, and holds what it says to the schema.

Nothing here depends on speed: every wait ends when what it waits for is there, and WATCHDOG_S only
ends a test that would hang.
"""

import json
import os
import select
import shlex
import subprocess
import sys

WATCHDOG_S = 120
MODERN = "2026-07-28"
META_VERSION = "io.modelcontextprotocol/protocolVersion"
META_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"

SRC = os.environ.get("G_TEST_SRCDIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
BUILD = os.environ.get("G_TEST_BUILDDIR", os.getcwd())
SHARED = os.environ.get("DBR_SHARED", os.path.join(SRC, "..", "shared"))


def default_command():
    """The program under test: the echo server, unless the environment names another."""
    named = os.environ.get("DBR_PROTOCOL_CMD")
    return shlex.split(named) if named else [os.path.join(BUILD, "tests", "protocol", "echo-server")]


def expand(words):
    return [w.replace("@builddir@", BUILD).replace("@srcdir@", SRC).replace("@shared@", SHARED) for w in words]


class Failed(Exception):
    """A test failed; the message says how."""


class Raw:
    """A JSON number as it was written: 1 and 1.0 differ here, and nothing is rounded."""

    def __init__(self, text):
        self.text = text

    def __eq__(self, other):
        return isinstance(other, Raw) and self.text == other.text

    def __hash__(self):
        return hash(self.text)

    def __repr__(self):
        return self.text


def no_twins(pairs):
    keys = [k for k, _ in pairs]
    if len(set(keys)) != len(keys):
        raise Failed(f"an object with a key twice: {keys}")
    return dict(pairs)


def no_constants(text):
    raise Failed(f"{text} is no JSON")


def exact(line):
    """A value in which numbers keep their text."""
    return json.loads(line, parse_int=Raw, parse_float=Raw, parse_constant=no_constants, object_pairs_hook=no_twins)


class Server:
    """One process. Lines that came are in .lines (bytes), checked for what every line must be."""

    def __init__(self, command=None, env=None, stdin=subprocess.PIPE, stdout=subprocess.PIPE):
        full = dict(os.environ)
        full.update(env or {})
        self.process = subprocess.Popen(
            expand(command or default_command()), stdin=stdin, stdout=stdout, stderr=subprocess.PIPE, env=full
        )
        self.lines = []
        self.rest = b""
        self.seen_eof = False
        self.err = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe:
                try:
                    pipe.close()
                except OSError:
                    pass
        self.process.wait()

    # ---- writing

    def send(self, data):
        """Writes bytes, reading meanwhile so that neither side waits for the other for ever."""
        if isinstance(data, str):
            data = data.encode()
        fd = self.process.stdin.fileno()
        os.set_blocking(fd, False)
        while data:
            reads = [] if self.seen_eof else [self.process.stdout.fileno()]
            readable, writable, _ = select.select(reads, [fd], [], WATCHDOG_S)
            if not readable and not writable:
                raise Failed("the server takes no input")
            if readable:
                self._read_once()
            if writable:
                data = data[os.write(fd, data[:65536]) :]

    def send_line(self, text):
        self.send(text.encode() + b"\n" if isinstance(text, str) else text + b"\n")

    def send_json(self, value):
        self.send_line(json.dumps(value, separators=(",", ":")))

    def close_stdin(self):
        self.process.stdin.close()

    # ---- reading

    def _read_once(self):
        data = os.read(self.process.stdout.fileno(), 1 << 20)
        if not data:
            self.seen_eof = True
            if self.rest:
                raise Failed(f"the last line has no LF: {self.rest[:200]!r}")
            return
        *whole, self.rest = (self.rest + data).split(b"\n")
        for line in whole:
            self.lines.append(check_line(line))

    def wait_until(self, is_there, what):
        """Reads until is_there() gives something true, which is returned."""
        while True:
            found = is_there()
            if found:
                return found
            if self.seen_eof:
                raise Failed(f"the server ended before {what}; it said {self.lines[-3:]}; {self.err!r}")
            readable, _, _ = select.select([self.process.stdout.fileno()], [], [], WATCHDOG_S)
            if not readable:
                raise Failed(f"no {what} came; the server said {self.lines[-3:]}")
            self._read_once()

    def messages(self):
        for line in self.lines:
            value = exact(line)
            yield from value if isinstance(value, list) else [value]

    def find(self, **members):
        for message in self.messages():
            if all(message.get(k) == v for k, v in members.items()):
                return message
        return None

    def wait_answer(self, raw_id):
        """The response to the id that is written so in JSON."""
        wanted = exact(raw_id)
        return self.wait_until(
            lambda: next((m for m in self.messages() if "method" not in m and m.get("id", "") == wanted), None),
            f"answer to {raw_id}",
        )

    def wait_method(self, method, count=1):
        def is_there():
            found = [m for m in self.messages() if m.get("method") == method]
            return found[count - 1] if len(found) >= count else None

        return self.wait_until(is_there, method)

    def wait_count(self, count):
        return self.wait_until(lambda: len(self.lines) >= count, f"line {count}")

    def read_to_end(self):
        while not self.seen_eof:
            readable, _, _ = select.select([self.process.stdout.fileno()], [], [], WATCHDOG_S)
            if not readable:
                raise Failed("the server's output does not end")
            self._read_once()

    def wait_exit(self, status=0):
        if self.process.stdout and not self.process.stdout.closed:
            self.read_to_end()
        got = self.process.wait(WATCHDOG_S)
        self.err = self.process.stderr.read()
        if status is not None and got != status:
            raise Failed(f"exit status {got}, not {status}; standard error: {self.err[-2000:]!r}")
        return got


def check_line(line):
    """What holds for every line of every test: strict JSON in UTF-8, an object (or a batch of them) of JSON-RPC 2.0."""
    try:
        text = line.decode("utf-8", "strict")
        value = exact(text)
    except (UnicodeDecodeError, ValueError) as error:
        raise Failed(f"a line that is no JSON: {line[:200]!r}: {error}") from error
    for message in value if isinstance(value, list) and value else [value]:
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            raise Failed(f"a line that is no message: {line[:200]!r}")
    return text


# ------------------------------------------------------------------------------- schemas


class Schemas:
    """What a revision says about each message; .skip is why it can't be asked, or None."""

    RESULTS = {
        "initialize": "InitializeResult",
        "ping": "EmptyResult",
        "server/discover": "DiscoverResult",
        "tools/list": "ListToolsResult",
        "tools/call": "CallToolResult",
    }
    OWN = {
        "elicitation/create": "ElicitRequest",
        "notifications/progress": "ProgressNotification",
        "notifications/cancelled": "CancelledNotification",
    }

    def __init__(self):
        self.skip = None
        self.loaded = {}
        self.validators = {}
        self.folder = os.path.join(SHARED, "mcp", "schema")
        try:
            import jsonschema
        except ImportError:
            self.skip = "no jsonschema: the python3 module isn't installed"
            return
        self.jsonschema = jsonschema
        if not os.path.isdir(self.folder):
            self.skip = f"no shared: {self.folder} is missing"

    def _validator(self, revision, name):
        key = (revision, name)
        if key not in self.validators:
            if revision not in self.loaded:
                with open(os.path.join(self.folder, revision + ".json"), encoding="utf-8") as file:
                    self.loaded[revision] = json.load(file)
            document = self.loaded[revision]
            place = "definitions" if "definitions" in document else "$defs"
            kind = self.jsonschema.Draft7Validator if place == "definitions" else self.jsonschema.Draft202012Validator
            if name not in document[place]:
                raise Failed(f"{revision} knows no {name}")
            self.validators[key] = kind({"$ref": f"#/{place}/{name}", place: document[place]})
        return self.validators[key]

    def _check(self, revision, name, value):
        error = next(self._validator(revision, name).iter_errors(value), None)
        if error:
            raise Failed(f"not a {name} of {revision}: {error.message[:300]} in {json.dumps(value)[:300]}")

    def check(self, message, revision, method):
        """One message of the server; @method is that of the request which a response answers."""
        if self.skip:
            return
        revision = revision or "2024-11-05"
        if "method" in message:
            self._check(revision, self.OWN[message["method"]], message)
            self._check(revision, "JSONRPCRequest" if "id" in message else "JSONRPCNotification", message)
        elif "error" in message:
            if message.get("id", "") is None:
                message = dict(message, id=0)  # the one exemption: null where the id couldn't be read
            self._check(revision, "JSONRPCErrorResponse" if revision >= "2025-11-25" else "JSONRPCError", message)
        else:
            self._check(
                revision, "JSONRPCResultResponse" if revision >= "2025-11-25" else "JSONRPCResponse", message
            )
            name = self.RESULTS.get(method)
            if message["result"].get("resultType") == "input_required":
                name = "InputRequiredResult"
            if not name:
                raise Failed(f"a result for {method}")
            self._check(revision, name, message["result"])


def check_conversation(schemas, sent, lines):
    """Every emitted message against the revision of the request it answers; notices and errors without an id
    against the one that was negotiated last."""
    requests = {}
    negotiated = ""
    for line in sent:
        try:
            value = json.loads(line)
        except ValueError:
            continue
        for message in value if isinstance(value, list) else [value]:
            if isinstance(message, dict) and isinstance(message.get("id"), (str, int)) and "method" in message:
                params = message.get("params")
                meta = params.get("_meta") if isinstance(params, dict) else None
                is_modern = isinstance(meta, dict) and META_VERSION in meta
                requests.setdefault(json.dumps(message["id"]), []).append((message["method"], is_modern))
    for line in lines:
        value = json.loads(line)
        if isinstance(value, list):
            if negotiated != "2025-03-26":
                raise Failed(f"a batch in {negotiated}")
            if not schemas.skip:
                schemas._check(negotiated, "JSONRPCBatchResponse", [m for m in value if m.get("id") is not None])
        for message in value if isinstance(value, list) else [value]:
            asked = requests.get(json.dumps(message.get("id")), []) if "method" not in message else []
            method, is_modern = asked[0] if asked else (None, False)
            if len(asked) > 1:
                asked.pop(0)
            if method == "initialize" and "result" in message:
                negotiated = message["result"]["protocolVersion"]
            revision = MODERN if is_modern else negotiated
            if "error" in message and "id" not in message:
                revision = max(negotiated, "2025-11-25")
            schemas.check(message, revision, method)


# ----------------------------------------------------------------------------------- TAP


def run_tests(tests):
    """(name, function) pairs as TAP. A function gives a reason to skip, or None."""
    print(f"1..{len(tests)}", flush=True)
    for number, (name, test) in enumerate(tests, 1):
        try:
            reason = test()
            print(f"ok {number} {name}" + (f" # SKIP {reason}" if reason else ""), flush=True)
        except (Failed, OSError, ValueError, KeyError, subprocess.SubprocessError) as failure:
            for line in f"{type(failure).__name__}: {failure}".splitlines():
                print(f"# {line}")
            print(f"not ok {number} {name}", flush=True)
    sys.stdout.flush()
