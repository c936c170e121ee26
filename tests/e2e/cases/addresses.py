#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where requests go: never anywhere but where the tool says, under the address that was given, whatever an id holds."""

import socketserver
import threading

from dbr_cases import Bridge, Fake, has, main, shell, want

OPEN = {"AIRFLOW_MCP_ALLOW_WRITES": "1", "AIRFLOW_MCP_ALLOW_DELETES": "1"}
ODD_IDS = (
    "a/dagRuns/secret", "../../admin/config", "..", ".", "a/..", "a\\b", "a\nb", "a\x00b", "a\x7fb", "/", "a/", "//evil", "\u2028/",
)
ENCODED = (
    ("a?x=1", "a%3Fx%3D1"), ("a#frag", "a%23frag"), ("a%2Fb", None), ("50%", "50%25"), ("a b", "a%20b"), ("ü", "%C3%BC"),
    ("a+b", "a%2Bb"), ("a;b", "a%3Bb"), ("a:b", "a%3Ab"), ("a@b", "a%40b"), ("...", "..."), ("%2e%2e", None),
)


def ids_in_paths():
    """An id that would lead elsewhere is refused with a reason; any other arrives as itself"""
    with Fake() as fake, Bridge(fake, env=OPEN) as bridge:
        for tool, name in (("get_dag", "dag_id"), ("trigger_dag_run", "dag_id"), ("set_dag_paused", "dag_id")):
            more = {"paused": True} if tool == "set_dag_paused" else {}
            for odd in ODD_IDS:
                has(bridge.bad(tool, {name: odd, **more}), name)
        for odd in ODD_IDS:
            where = {"dag_id": "d", "dag_run_id": odd}
            has(bridge.bad("diagnose_dag_run", where), "dag_run_id")
            has(bridge.bad("list_task_instances", where), "dag_run_id")
            has(bridge.bad("get_task_log", {"dag_id": "d", "dag_run_id": "r", "task_id": odd}), "task_id")
        want(not fake.requests() and not fake.sign_ins(), fake.requests())
        for value, sent in ENCODED:
            bridge.bad("get_dag", {"dag_id": value})
            targets = [r["target"] for r in fake.requests()]
            want(sent is None or any(t.startswith(f"/api/v2/dags/{sent}/") for t in targets), value, targets)
        # One that was given up may come late: so all are looked at together.
        allowed = tuple(f"/api/v2/dags/{sent}/" for _, sent in ENCODED if sent)
        want(all(t.startswith(allowed) for t in targets), targets)


def ids_from_answers():
    """An id that the backend itself names goes through the same check"""
    with Fake() as fake:
        fake.always("GET", "/api/v2/dags/d/dagRuns", body={"dag_runs": [{"dag_run_id": "x/../../../connections"}], "total_entries": 1})
        with Bridge(fake) as bridge:
            bridge.call("diagnose_dag_run", {"dag_id": "d"})
            want(all("connections" not in r["target"] for r in fake.requests()), fake.requests())


def slashes_explained():
    """A slash in an id is refused with the reason and with what finds such a thing"""
    with Bridge() as bridge:
        has(bridge.bad("diagnose_dag_run", {"dag_id": "d", "dag_run_id": "files/2026/a.csv"}), "/", "dag_run_id")


def escape_hatch():
    """A whole path stays on the one origin and under the API's prefix, in canonical form"""
    bad = (
        "http://evil.example/x", "//evil.example/x", "@evil.example/x", "\\evil", "/api/v2/x?y", "/api/v2/x#z", "/api/v2/%2e%2e/%2e%2e/auth/token",
        "/api/v2/../auth/token", "/api/v2//x", "/api/v2/./x", "/auth/token", "/api/v1/x", "/api/v2", "api/v2/x", "", " ", "/api/v2/a\nb",
        "/api/v2/a%0ab", "/api/v2/a%00", "/api/v2/x%2F..%2Fy", "/api/v2/x\\y", "/api/v2/%5c", "/api/v2/a\r\nHost: evil", "/api/v2x/y",
        "/API/V2/x", "/api/v2/%zz", "/api/v2/x%", ".", "/api/v2/config", "/api/v2/config/section/core", "/api/v2/auth/login", "/api/v2/c%6Fnfig",
        "/api/v2/%63onfig", "/api/v2/config/",
    )
    with Fake() as fake, Fake() as other, Bridge(fake, env=OPEN) as bridge:
        for path in (*bad, f"{other.url}/api/v2/x", f"//127.0.0.1:{other.where}/api/v2/x", f"@127.0.0.1:{other.where}/api/v2/x"):
            want(len(bridge.bad("airflow_api_get", {"path": path})) > 20, path)
            bridge.bad("airflow_api_call", {"method": "DELETE", "path": path})
        want(not fake.requests() and not fake.sign_ins(), fake.requests())
        want(not other.requests(), other.requests())
        for path in ("/api/v2/pools", "/api/v2/variables/a%20b", "/api/v2/dags/~/dagRuns"):
            bridge.call("airflow_api_get", {"path": path})
            want(fake.requests()[-1]["target"] == path, path, fake.requests()[-1]["target"])


def spellings():
    """Each way to write the base address leads to the same paths, sign-in included"""
    with Fake() as fake:
        fake.always("GET", "*", body={"version": "3"})
        port = fake.where
        for base, root in (
            (f"http://127.0.0.1:{port}", ""),
            (f"http://127.0.0.1:{port}/", ""),
            (f"http://127.0.0.1:{port}//", ""),
            (f"HTTP://LOCALHOST:{port}", ""),
            (f" http://127.0.0.1:{port} ", ""),
            (f"http://127.0.0.1:{port}/team/airflow", "/team/airflow"),
            (f"http://127.0.0.1:{port}/team/airflow/", "/team/airflow"),
            (f"http://127.0.0.1:{port}/api/v2", ""),
            (f"http://127.0.0.1:{port}/team/airflow/api/v2/", "/team/airflow"),
        ):
            fake.forget()
            fake.always("GET", "*", body={"version": "3"})
            fake.always("POST", root + "/auth/token", status=201, body={"access_token": "fake-token-1"})
            status, out, err = shell("call", "get_version", address=base)
            want(status == 0, base, out, err)
            targets = [r["target"] for r in fake.all_requests() if "/__" not in r["target"]]
            want(targets == [f"{root}/auth/token", f"{root}/api/v2/version"], base, targets)


def unusable_bases():
    """A base address with a query, a fragment, a user or no sense is refused in words that name the variable, and sends nothing"""
    with Fake() as fake:
        port = fake.where
        for base in (
            f"http://127.0.0.1:{port}/?a=b", f"http://127.0.0.1:{port}/#x", f"http://u:cAnary-secret@127.0.0.1:{port}", f"127.0.0.1:{port}", "localhost",
            "ftp://127.0.0.1/", "file:///etc/passwd", f"http://:{port}", "http://", "http://a b/", f"http://127.0.0.1:{port}/a/../b", "http://127.0.0.1:99999",
            f"http://127.0.0.1:{port}\nx",
        ):
            status, out, err = shell("call", "get_version", address=base)
            want(status == 1 and not out, base, status, out, err)
            has(err, "AIRFLOW_API_URL")
            want("cAnary-secret" not in err, err)
        want(not fake.requests() and not fake.sign_ins(), fake.all_requests())


def form_before_credentials():
    """An address without a scheme is told as one, whether credentials are there or not"""
    none = {"AIRFLOW_USERNAME": None, "AIRFLOW_PASSWORD": None}
    for base in ("localhost:43915", "127.0.0.1:43915", "airflow.example", "ftp://airflow.example"):
        for env in (none, {}):
            status, out, err = shell("call", "get_version", address=base, env=env)
            want(status == 1 and not out, base, status, out, err)
            has(err, "AIRFLOW_API_URL must begin with http:// or https://")
            want("credentials" not in err and "AIRFLOW_USERNAME" not in err, err)
        _, out, _ = shell("tools", "airflow", address=base, env=none)
        has(out, "PROBLEM: AIRFLOW_API_URL must begin with http:// or https://")


def plain_port():
    """https to a port that speaks plain http is told as that"""
    class Plain(socketserver.BaseRequestHandler):
        def handle(self):
            self.request.recv(1)
            self.request.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

    with socketserver.TCPServer(("127.0.0.1", 0), Plain) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        status, out, err = shell("call", "get_version", address=f"https://127.0.0.1:{server.server_address[1]}")
        server.shutdown()
        want(status == 1 and not out, status, out, err)
        has(err, "that port seems to speak plain http, so AIRFLOW_API_URL should begin with http://")


def families():
    """localhost is found on either address family"""
    skipped = None
    for listen in ("127.0.0.1", "::1"):
        with Fake("--listen", listen) as fake:
            if not fake.is_there:
                skipped = f"no {listen} on this machine"
                continue
            fake.always("GET", "*", body={"version": "3"})
            for host in ("localhost", "[::1]" if fake.is_v6 else "127.0.0.1"):
                status, out, err = shell("call", "get_version", address=f"http://{host}:{fake.where}")
                want(status == 0, host, listen, err)
    return skipped


if __name__ == "__main__":
    main([ids_in_paths, ids_from_answers, slashes_explained, escape_hatch, spellings, unusable_bases, form_before_credentials, plain_port, families])
