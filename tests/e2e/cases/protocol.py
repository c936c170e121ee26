#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a client of any age relies on: versions, errors where errors belong, cancelling, deadlines, progress, exact numbers."""

import json

from dbr_cases import MODERN_META, Bridge, Fake, backend, closed_port, has, lacks, main, want

NEWEST = "2025-11-25"


def unknown_notifications():
    """A notification is never answered, whatever its method"""
    with Bridge() as bridge:
        before = len(bridge.lines)
        for method in ("notifications/roots/list_changed", "notifications/x", "tools/list", "initialize", ""):
            bridge.send_json({"jsonrpc": "2.0", "method": method})
        bridge.ask("ping")
        want(len(bridge.lines) == before + 1, bridge.lines[before:])


def versions():
    """Each version we speak is echoed; any other is answered with our newest, never with an error"""
    for asked in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"):
        with Bridge(revision=asked) as bridge:
            want(bridge.greeting["protocolVersion"] == asked, asked, bridge.greeting)
    for asked in ("1999-01-01", "2099-01-01", "2026-07-28", "", 7, None, {}):
        with Bridge(revision=None) as bridge:
            params = {"protocolVersion": asked, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
            want(bridge.ask("initialize", params)["protocolVersion"] == NEWEST, asked)
            bridge.ask("tools/list")
    with Bridge(revision=None) as bridge:
        want(bridge.ask("initialize", {})["protocolVersion"] == NEWEST, "no params")


def probe():
    """A discover before the handshake is answered, with and without its _meta, and the handshake still works"""
    for params in ({"_meta": MODERN_META}, {}, None):
        with Bridge(revision=None) as bridge:
            answer = bridge.wait_plain(bridge.send_request("server/discover", params))
            want(("result" in answer) == bool(params), answer)
            bridge.ask("initialize", {"protocolVersion": NEWEST, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})
            want(bridge.ask("tools/list")["tools"], "no tools after the probe")


def null_params():
    """Null is the same as left out; arrays and strings in its place are refused"""
    with Fake() as fake:
        fake.always("GET", "*", body={"version": "3"})
        with Bridge(fake) as bridge:
            for method in ("tools/list", "ping"):
                bridge.send_line('{"jsonrpc":"2.0","id":"%s","method":"%s","params":null}' % (method, method))
                bridge.wait_answer(f'"{method}"')
                want("result" in bridge.lines[-1], bridge.lines[-1])
            want(not bridge.wait_result(bridge.send_request("tools/call", {"name": "get_version", "arguments": None})).get("isError"), "null arguments")
            for wrong in ([], "x", 1):
                want("error" in bridge.wait_plain(bridge.send_request("tools/list", wrong)), "params", wrong)
                want("error" in bridge.wait_plain(bridge.send_request("tools/call", {"name": "get_version", "arguments": wrong})), "arguments", wrong)


def odd_cancels():
    """A cancel for what never was, is done, or names nothing changes nothing"""
    with Fake() as fake:
        fake.always("GET", "*", body={"version": "3"})
        with Bridge(fake) as bridge:
            bridge.good("get_version")
            for params in ({"requestId": 4711}, {"requestId": bridge.next_id}, {}, None, {"requestId": None}, {"requestId": {}}, []):
                bridge.send_json({"jsonrpc": "2.0", "method": "notifications/cancelled", **({} if params is None else {"params": params})})
            bridge.ask("ping")
            bridge.good("get_version")


def cancel():
    """While a call hangs, ping is answered; a cancel ends the call for good and the next one works"""
    with Fake() as fake:
        fake.script("GET", "/api/v2/version", {"mode": "stall"}, {"body": {"version": "3"}, "times": 0})
        with Bridge(fake) as bridge:
            hanging = bridge.send_call("get_version")
            bridge.ask("ping")
            bridge.ask("tools/list")
            fake.wait_requests(1)
            bridge.ask("ping")
            bridge.send_json({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": hanging}})
            bridge.good("get_version")
            bridge.close_stdin()
            bridge.wait_exit(0)
            want(not [one for one in bridge.lines if json.loads(one).get("id") == hanging], "the cancelled call was answered")


def deadline():
    """A backend that never answers, drips or stalls costs the deadline, and the answer says what is known"""
    with Fake() as fake:
        for mode in ({"mode": "stall"}, {"mode": "stall", "at": 40}, {"mode": "drip", "delay_ms": 50}, {"mode": "stall", "at": 100}):
            fake.always("GET", "/api/v2/version", body={"version": "3" * 500}, **mode)
            fake.always("POST", "/api/v2/dags/a/dagRuns", body={"dag_id": "a" * 500}, **mode)
            with Bridge(fake, "--timeout", "0.3", env={"AIRFLOW_MCP_ALLOW_WRITES": "1"}) as bridge:
                has(bridge.bad("get_version"), "No answer from", " ms")
                text = bridge.bad("trigger_dag_run", {"dag_id": "a"})
                has(text, "Outcome unknown", "list_dag_runs")
                want(len([r for r in fake.requests() if r["method"] == "POST"]) == 1, "the write was repeated")
                bridge.ask("ping")
            fake.forget()


def progress():
    """Progress comes only to a call that brought a token, echoes it exactly, grows, and stops at the answer"""
    with Fake() as fake:
        fake.always("GET", "/api/v2/version", body={"version": "3"})
        fake.always("GET", "/api/v2/dags/a/dagRuns/r", body={"dag_id": "a", "dag_run_id": "r", "state": "failed"})
        for token in (None, "t", 0, 12345678901234):
            with Bridge(fake) as bridge:
                more = {} if token is None else {"_meta": {"progressToken": token}}
                bridge.call("get_version", **more)
                bridge.call("diagnose_dag_run", {"dag_id": "a", "dag_run_id": "r"}, **more)
                seen = [json.loads(one) for one in bridge.lines if "notifications/progress" in one]
                want(token is not None or not seen, "progress without a token")
                want(all(one["params"]["progressToken"] == token for one in seen), seen)


def failures_are_results():
    """Whatever the backend does wrong is a result that says so, with status and detail, never a protocol error"""
    with Fake() as fake, Bridge(fake) as bridge:
        for status in (400, 403, 404, 405, 409, 410, 412, 418, 422, 429, 500, 501, 502, 503, 504):
            fake.forget()
            fake.always("GET", "/api/v2/x", status=status, body={"detail": f"because {status}"}, headers=[["Retry-After", "1000"]])
            text, is_error = bridge.api_get()
            want(is_error, status, text)
            has(text, str(status), f"because {status}")
    held, port = closed_port()
    with held, Bridge(f"http://127.0.0.1:{port}") as bridge:
        bridge.bad("get_version")


def protocol_errors():
    """Only faults of the protocol are protocol errors: unknown method, unknown tool, wrong params, with words"""
    with Bridge() as bridge:
        for method, params, code, word in (
            ("nonsense", {}, -32601, "nonsense"),
            ("tools/call", {"name": "get_versoin"}, -32602, "get_versoin"),
            ("tools/call", {}, -32602, "name"),
            ("tools/call", {"name": 5}, -32602, "name"),
            ("tools/call", {"name": "get_version", "arguments": []}, -32602, "arguments"),
            ("tools/list", {"cursor": "x"}, -32602, "cursor"),
        ):
            answer = bridge.wait_plain(bridge.send_request(method, params))
            want(answer.get("error", {}).get("code") == code, method, params, answer)
            has(answer["error"]["message"], word)


def exact_numbers():
    """Large and odd numbers survive both ways, digit by digit"""
    numbers = ("9007199254740993", "12345678901234567890123", "1e400", "-0", "1.10", "0.1000000000000000055511151231257827")
    with Fake() as fake:
        body = '{"dag_id":"a","dag_run_id":"r","state":"queued"}'
        fake.always("POST", "/api/v2/dags/a/dagRuns", body=body, headers=[["Content-Type", "application/json"]])
        with Bridge(fake, env={"AIRFLOW_MCP_ALLOW_WRITES": "1"}) as bridge:
            for number in numbers:
                fake.always("GET", "/api/v2/n", body='{"n":%s}' % number, headers=[["Content-Type", "application/json"]])
                text, is_error = bridge.api_get("/api/v2/n")
                want(not is_error, text)
                has(text, number)
                bridge.next_id += 1
                bridge.send_line(
                    '{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"trigger_dag_run",'
                    '"arguments":{"dag_id":"a","conf":{"n":%s}}}}' % (bridge.next_id, number)
                )
                want(not bridge.wait_result(bridge.next_id).get("isError"), bridge.lines[-1])
                has([r for r in fake.requests() if r["method"] == "POST"][-1]["body"], '{"n":%s}' % number)
                fake.forget()
                fake.always("POST", "/api/v2/dags/a/dagRuns", body=body, headers=[["Content-Type", "application/json"]])


def broken_text():
    """Broken UTF-8, lone surrogates, NUL and escape sequences of the backend come out as clean text"""
    bodies = (
        b'{"a":"x\xbe\xc8y"}', b'{"a":"x\xe2\x82"}', b'{"a":"\\ud83d"}', b'{"a":"\\u0000\\u001b[31mred"}',
        b'{"a":"\xc0\xaf"}', b'{"a":"\xed\xa0\x80"}', b'{"a":"\xf4\x90\x80\x80"}', b"\x00\x01\x02", b'{"a":"\x00"}',
    )
    with backend(bodies) as address, Bridge(address) as bridge:
        for body in bodies:
            text, _ = bridge.api_get()
            lacks(text, "\x00", "\x1b", "\ud83d")
            want(text, body)


if __name__ == "__main__":
    main([
        unknown_notifications, versions, probe, null_params, odd_cancels, cancel, deadline, progress, failures_are_results,
        protocol_errors, exact_numbers, broken_text,
    ])
