# SPDX-License-Identifier: Apache-2.0
"""The built drawbridge-engine as a test sees it: started in a folder of its own, spoken to over its unix socket."""
import atexit
import http.client
import json
import os
import pathlib
import resource
import selectors
import shutil
import socket
import subprocess
import tempfile
import time

BUILD = os.environ.get("G_TEST_BUILDDIR", ".")
PROGRAM = os.environ.get("DBR_ENGINE", os.path.join(BUILD, "drawbridge-engine"))
WATCHDOG_S = 60


def can_confine():
    """Whether bubblewrap works here; else commands are started only with --unconfined."""
    bwrap = shutil.which("bwrap")
    return bwrap is not None and subprocess.run(
        [bwrap, "--ro-bind", "/", "/", "--proc", "/proc", "--unshare-pid", "true"], check=False,
        stderr=subprocess.DEVNULL).returncode == 0


class Connection(http.client.HTTPConnection):
    """HTTP over a unix socket."""

    def __init__(self, path, timeout=WATCHDOG_S):
        super().__init__("engine", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        # Blocking: a full backlog is waited for, not an error.
        self.sock.connect(self.path)
        self.sock.settimeout(self.timeout)


class Answer:
    def __init__(self, reply):
        self.status = reply.status
        self.headers = reply.headers
        self.text = reply.read().decode()
        self.type = reply.headers.get("Content-Type", "")
        self.json = json.loads(self.text) if "json" in self.type else None

    @property
    def code(self):
        return self.json.get("code") if isinstance(self.json, dict) else None


class Engine:
    def __init__(self, *options, base=None):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="dbr-engine-", dir=base))
        self.socket = str(self.folder / "run" / "engine.sock")
        self.state = str(self.folder / "state" / "engine.db")
        self.options = options
        self.process = None
        self.lines = []

    def start(self, n_lines=1, limit=None):
        self.log = open(self.folder / "log", "ab")
        self.process = subprocess.Popen(
            [PROGRAM, "serve", "--socket", self.socket, "--state", self.state, *self.options],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.log,
            preexec_fn=limit and (lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))))
        atexit.register(self.process.kill)
        self.lines = [self.process.stdout.readline().decode().strip() for _ in range(n_lines)]
        return self

    def stop(self, kill=False):
        if self.process and self.process.poll() is None:
            self.process.kill() if kill else self.process.terminate()
            self.process.wait(WATCHDOG_S)
        if self.process:
            self.process.stdout.close()
            self.log.close()
        return self.process.returncode

    def close(self):
        status = self.stop()
        shutil.rmtree(self.folder)
        return status

    def admin(self):
        return (self.folder / "state" / "admin.token").read_text().strip()

    def log_text(self):
        return (self.folder / "log").read_text()

    def ask(self, method, target, body=None, token=None, headers=None, connection=None):
        mine = connection or Connection(self.socket)
        all_headers = dict(headers or {})
        if token:
            all_headers["Authorization"] = "Bearer " + token
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
            all_headers.setdefault("Content-Type", "application/json")
        mine.request(method, target, body, all_headers)
        answer = Answer(mine.getresponse())
        if not connection:
            mine.close()
        return answer

    def raw(self, data, timeout=WATCHDOG_S, half_close=False):
        """Sends bytes, as many as are taken, and reads until the engine closes."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as mine:
            mine.connect(self.socket)
            mine.settimeout(timeout)
            try:
                mine.sendall(data)
            except (BrokenPipeError, ConnectionResetError):
                pass
            if half_close:
                mine.shutdown(socket.SHUT_WR)
            return read_all(mine)


def read_all(mine):
    got = b""
    while True:
        try:
            piece = mine.recv(65536)
        except ConnectionResetError:
            return got
        if not piece:
            return got
        got += piece


def read_until(mine, needle):
    """What comes until needle was there; everything when it never is."""
    got = b""
    until = time.monotonic() + WATCHDOG_S
    waits = selectors.DefaultSelector()
    waits.register(mine, selectors.EVENT_READ)
    while needle not in got and time.monotonic() < until:
        if not waits.select(1):
            continue
        piece = mine.recv(65536)
        if not piece:
            break
        got += piece
    waits.close()
    return got


class Tap:
    """One line a check; ends the program with its exit status."""

    def __init__(self):
        self.n = self.n_failed = 0

    def ok(self, is_good, name, why=""):
        self.n += 1
        if not is_good:
            self.n_failed += 1
        print(f"{'ok' if is_good else 'not ok'} {self.n} - {name}", flush=True)
        if not is_good and why != "":
            print("# " + str(why).replace("\n", "\n# "), flush=True)

    def equal(self, got, wanted, name):
        self.ok(got == wanted, name, f"got {got!r}, wanted {wanted!r}")

    def end(self):
        print(f"1..{self.n}")
        raise SystemExit(1 if self.n_failed else 0)
