#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A backend on a bad day: what it may do to an answer, and what a caller is told. Writes are sent once, whatever happens."""

import gzip
import http.server
import json
import os
import subprocess
import tempfile
import threading

from dbr_cases import Bridge, Fake, closed_port, has, headers, lacks, main, shell, want

WRITES = {"AIRFLOW_MCP_ALLOW_WRITES": "1"}
OPEN = {**WRITES, "AIRFLOW_MCP_ALLOW_DELETES": "1"}
WRITE_CALLS = (
    ("trigger_dag_run", {"dag_id": "a"}, "POST", "/api/v2/dags/a/dagRuns"),
    ("clear_task_instances", {"dag_id": "a", "dag_run_id": "r"}, "POST", "/api/v2/dags/a/clearTaskInstances"),
    ("set_dag_paused", {"dag_id": "a", "paused": True}, "PATCH", "/api/v2/dags/a"),
    ("airflow_api_call", {"method": "POST", "path": "/api/v2/pools", "body": {"name": "p"}}, "POST", "/api/v2/pools"),
    ("airflow_api_call", {"method": "DELETE", "path": "/api/v2/dags/a"}, "DELETE", "/api/v2/dags/a"),
)


def written(fake):
    return [r for r in fake.requests() if r["method"] != "GET"]


class Raw:
    """A server that answers GETs with the bytes it is given, whatever they are."""

    def __init__(self, reply):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                body = b'{"access_token":"fake-token-1"}'
                self.wfile.write(b"HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))

            def do_GET(self):
                self.close_connection = True
                try:
                    reply(self.wfile)
                except OSError:
                    pass

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def write_once():
    """A write whose connection dies before the answer was sent once, and its outcome is called unknown"""
    with Fake() as fake:
        for mode in ("truncate", "reset"):
            for tool, arguments, method, path in WRITE_CALLS:
                fake.forget()
                fake.always("GET", "*", body={"version": "3"})
                fake.script(method, path, {"mode": mode}, {"body": {}, "times": 0})
                with Bridge(fake, env=OPEN) as bridge:
                    bridge.good("get_version")
                    text = bridge.bad(tool, arguments)
                    has(text, "Outcome unknown", "may have been carried out")
                    want(len(written(fake)) == 1, mode, tool, written(fake))


def not_sent():
    """A write that never left is told apart from one whose fate is unknown"""
    held, port = closed_port()
    with held, Bridge(f"http://127.0.0.1:{port}", env=OPEN) as bridge:
        for tool, arguments, _, _ in WRITE_CALLS:
            text = bridge.bad(tool, arguments)
            has(text, "Nothing was sent")
            lacks(text, "unknown", "may have been")
    with Bridge("http://no-such-host.invalid:1", env={**OPEN, "AIRFLOW_ACCESS_TOKEN": "abc-def-ghi-jkl"}) as bridge:
        has(bridge.bad("trigger_dag_run", {"dag_id": "a"}), "Nothing was sent")


def fresh_connections():
    """A write never rides on a connection that was used before"""
    with Fake() as fake:
        fake.always("GET", "*", body={"version": "3"})
        fake.always("PATCH", "/api/v2/dags/a", body={"dag_id": "a", "is_paused": True})
        with Bridge(fake, env=WRITES) as bridge:
            for _ in range(3):
                bridge.good("get_version")
                bridge.good("set_dag_paused", {"dag_id": "a", "paused": True})
            for request in written(fake):
                before = [r for r in fake.all_requests() if r["connection"] == request["connection"]]
                want(before[0] == request, "an older connection carried a write")
                want(not headers(request, "expect"), request)


def writes_fail_loudly():
    """Each write tool calls 404, 409, 422 and 500 an error, with the detail"""
    with Fake() as fake, Bridge(fake, env=OPEN) as bridge:
        for status in (400, 404, 409, 422, 500, 503):
            for tool, arguments, method, path in WRITE_CALLS:
                fake.forget()
                fake.always(method, path, status=status, body={"detail": f"no, {status}"}, headers=[["Retry-After", "0"]])
                has(bridge.bad(tool, arguments), str(status), f"no, {status}")
                want(len(written(fake)) == 1, status, tool, "was sent", len(written(fake)))


def redirects():
    """A redirect is an error that names where to, is never followed, and takes no credential along"""
    with Fake() as fake, Fake() as other, Bridge(fake, env=OPEN) as bridge:
        for status in (301, 302, 303, 307, 308):
            for target in (f"{other.url}/login?next=cAnary-query", "/login", ""):
                fake.forget()
                location = [["Location", target]] if target else []
                fake.always("GET", "/api/v2/x", status=status, headers=location)
                fake.always("PATCH", "/api/v2/dags/a", status=status, headers=location)
                text, is_error = bridge.api_get()
                want(is_error, status, text)
                has(text, str(status), "redirect")
                lacks(text, "cAnary-query")
                if target.startswith("http"):
                    has(text, other.url)
                has(bridge.bad("set_dag_paused", {"dag_id": "a", "paused": True}), str(status))
                want(len(written(fake)) == 1, written(fake))
        want(not other.requests() and not other.sign_ins(), "the redirect was followed")


def accepts():
    """Every request says once that it wants JSON, and sends its credential"""
    with Fake() as fake:
        fake.always("PATCH", "/api/v2/dags/a", body={"dag_id": "a", "is_paused": True})
        with Bridge(fake, env=WRITES) as bridge:
            for tool, arguments in (
                ("get_version", {}), ("list_dags", {}), ("diagnose_dag_run", {"dag_id": "a"}), ("set_dag_paused", {"dag_id": "a", "paused": True}),
                ("get_task_log", {"dag_id": "a", "dag_run_id": "r", "task_id": "t"}),
            ):
                bridge.call(tool, arguments)
            want(len(fake.requests()) >= 6, fake.requests())
            for request in fake.requests():
                want(headers(request, "accept") == ["application/json"], request)
                want(headers(request, "authorization") == ["Bearer fake-token-1"], request)
                want(len(headers(request, "host")) == 1 and not headers(request, "cookie"), request)


def cut_bodies():
    """An answer that ends early, or whose length is wrong, is an error, never half an answer"""
    with Fake() as fake, Bridge(fake, "--timeout", "5") as bridge:
        body = json.dumps({"version": "3" * 1000})
        head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
        for raw in (
            {"body": {"version": "3" * 1000}, "mode": "truncate", "at": 300},
            {"body": {"version": "3" * 1000}, "mode": "reset", "at": 300},
            {"raw": f"{head}Content-Length: {len(body) + 10}\r\n\r\n{body}", "mode": "close"},
            {"raw": f"{head}Content-Length: 20\r\nConnection: close\r\n\r\n{body}", "mode": "close"},
            {"raw": f"{head}Transfer-Encoding: chunked\r\n\r\n400\r\n{body}", "mode": "close"},
            {"raw": f"{head}Transfer-Encoding: chunked\r\n\r\nzz\r\n{body}", "mode": "close"},
            {"raw": "HTTP/1.1 200\r\n", "mode": "close"},
            {"raw": "garbage\r\n\r\n", "mode": "close"},
            {"raw": "", "mode": "close"},
        ):
            fake.forget()
            fake.always("GET", "/api/v2/version", **raw)
            text = bridge.bad("get_version")
            lacks(text, "Airflow 333")


def wrong_kinds():
    """HTML, text and nothing at all in place of JSON are told as what they are"""
    with Fake() as fake, Bridge(fake) as bridge:
        page = "<html><body>Please <b>sign in</b></body></html>"
        for status in (200, 404, 502):
            fake.forget()
            fake.always("GET", "/api/v2/version", status=status, body=page, headers=[["Content-Type", "text/html; charset=utf-8"]])
            text = bridge.bad("get_version")
            has(text, str(status), "HTML")
            lacks(text, "<b>")
        for body, kind in (("Internal Server Error", "text/plain"), ("{broken", "application/json"), ("", "application/json"), ("[1,2", "application/json")):
            for status in (200, 500):
                fake.forget()
                fake.always("GET", "/api/v2/version", status=status, body=body, headers=[["Content-Type", kind]])
                has(bridge.bad("get_version"), str(status))


def another_api():
    """JSON of another API is told as that, and not as a list without entries"""
    with Fake() as fake, Bridge(fake) as bridge:
        for body in ({}, {"hello": "world"}, [], "x", 5, {"dags": None}, {"dags": {}}):
            fake.forget()
            fake.always("GET", "*", body=json.dumps(body), headers=[["Content-Type", "application/json"]])
            has(bridge.bad("list_dags"), "address")


def details():
    """Each shape of detail is told in words: text, a list of places, an object, none"""
    with Fake() as fake, Bridge(fake) as bridge:
        for detail, words in (
            ("run state x is unknown", ("run state x is unknown",)),
            ([{"type": "int_parsing", "loc": ["query", "limit"], "msg": "should be an integer", "input": "x"}], ("query.limit", "should be an integer")),
            ({"reason": "Unique constraint violation", "statement": "INSERT", "orig_error": "duplicate key"}, ("Unique constraint", "duplicate key")),
            ({"other": "thing"}, ("other", "thing")),
            ([], ()),
            (None, ()),
            (7, ("7",)),
            ([[["deep"]]], ("deep",)),
        ):
            fake.forget()
            fake.always("GET", "/api/v2/x", status=422, body={"detail": detail})
            text, is_error = bridge.api_get()
            want(is_error, text)
            has(text, "422", *words)
        for body in ({"error": "API route not found"}, [1], "plain", {}):
            fake.forget()
            fake.always("GET", "/api/v2/x", status=404, body=body)
            has(bridge.api_get()[0], "404", *(["API route not found"] if isinstance(body, dict) and body else []))


def no_content():
    """204 is a success without an answer, with its JSON content type or without"""
    with Fake() as fake, Bridge(fake, env=OPEN) as bridge:
        for kind in ([], [["Content-Type", "application/json"]]):
            fake.forget()
            fake.always("DELETE", "/api/v2/dags/a", status=204, headers=kind)
            has(bridge.good("airflow_api_call", {"method": "DELETE", "path": "/api/v2/dags/a"}), "204")


def busy():
    """A read waits as long as a busy backend asks within the deadline; a write is never repeated"""
    with Fake() as fake:
        for status in (429, 503):
            fake.forget()
            fake.script("GET", "/api/v2/version", {"status": status, "headers": [["Retry-After", "0"]], "body": {"detail": "busy"}}, {"body": {"version": "3.7"}})
            with Bridge(fake) as bridge:
                has(bridge.good("get_version"), "3.7")
                want(len(fake.requests()) == 2, fake.requests())
            fake.forget()
            fake.always("GET", "/api/v2/version", status=status, headers=[["Retry-After", "3600"]], body={"detail": "busy"})
            fake.always("PATCH", "/api/v2/dags/a", status=status, headers=[["Retry-After", "0"]], body={"detail": "busy"})
            with Bridge(fake, env=WRITES) as bridge:
                has(bridge.bad("get_version"), str(status), "busy")
                has(bridge.bad("set_dag_paused", {"dag_id": "a", "paused": True}), str(status), "busy")
                want(len(fake.requests()) == 2, fake.requests())


def gzip_bomb():
    """An answer that unpacks to far too much is an error, and the next call works"""
    bomb = gzip.compress(b" " * (512 << 20), 1)

    def reply(out):
        out.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(bomb)
        )
        out.write(bomb)

    with Raw(reply) as raw, Bridge(raw.url) as bridge:
        for _ in range(2):
            has(bridge.bad("get_version"), "8")
        bridge.ask("ping")


def endless_body():
    """An answer without end costs no more than its bound"""

    def reply(out):
        out.write(b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n{"version":"')
        while True:
            out.write(b"x" * 65536)

    with Raw(reply) as raw, Bridge(raw.url) as bridge:
        bridge.bad("get_version")
        bridge.ask("ping")


def endless_headers():
    """Headers without end are cut off"""

    def reply(out):
        out.write(b"HTTP/1.1 200 OK\r\n")
        while True:
            out.write(b"X-Filler: " + b"x" * 1000 + b"\r\n")

    with Raw(reply) as raw, Bridge(raw.url, "--timeout", "20") as bridge:
        bridge.bad("get_version")
        bridge.ask("ping")


def proxies():
    """A proxy of the environment is never used for this machine"""
    with Fake() as fake, Fake() as proxy:
        fake.always("GET", "*", body={"version": "3"})
        env = {name: proxy.url for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY")}
        for host in ("127.0.0.1", "localhost"):
            status, _, err = shell("call", "get_version", address=f"http://{host}:{fake.where}", env=env)
            want(status == 0, err)
        want(not proxy.requests() and not proxy.sign_ins(), proxy.all_requests())


def make_certificate(folder, name, subject):
    files = [os.path.join(folder, f"{name}.{kind}") for kind in ("pem", "key")]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=" + name, "-addext", "subjectAltName=" + subject,
         "-out", files[0], "-keyout", files[1]], check=True, capture_output=True, timeout=120,
    )
    return files


def tls():
    """TLS needs a certificate that is trusted and of the right name; a CA file of one's own is taken, and read only where it is there"""
    import shutil
    import ssl

    if shutil.which("openssl") is None:
        return "no openssl to make a certificate with"
    with tempfile.TemporaryDirectory() as folder:
        good = make_certificate(folder, "here", "IP:127.0.0.1,DNS:localhost")
        wrong = make_certificate(folder, "there", "DNS:elsewhere.example")
        empty = os.path.join(folder, "empty.pem")
        with open(empty, "wb"):
            pass
        for files, ca, works, word in (
            (good, None, False, "AIRFLOW_API_CA_FILE"),
            (good, good[0], True, "9.1"),
            (wrong, wrong[0], False, "127.0.0.1"),
            (good, wrong[0], False, "AIRFLOW_API_CA_FILE"),
            (good, os.path.join(folder, "missing.pem"), False, "AIRFLOW_API_CA_FILE"),
            (good, empty, False, "AIRFLOW_API_CA_FILE"),
            (good, folder, False, "AIRFLOW_API_CA_FILE"),
        ):
            def reply(out):
                out.write(b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 17\r\nConnection: close\r\n\r\n{"version":"9.1"}')

            with Raw(reply) as raw:
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(*files)
                raw.server.socket = context.wrap_socket(raw.server.socket, server_side=True, do_handshake_on_connect=False)
                raw.server.handle_error = lambda *_: None
                status, out, err = shell("call", "get_version", address=raw.url.replace("http:", "https:"), env={"AIRFLOW_API_CA_FILE": ca})
                want((status == 0) == works, ca, status, out, err)
                has(out + err, word)
                if not works:
                    has(err, "Nothing was sent")
    return None


if __name__ == "__main__":
    main([
        write_once, not_sent, fresh_connections, writes_fail_loudly, redirects, accepts, cut_bodies, wrong_kinds, another_api, details, no_content, busy,
        gzip_bomb, endless_body, endless_headers, proxies, tls,
    ])
