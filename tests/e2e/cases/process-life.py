#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The program's life between its client and its backend: starts, bursts, ends, odd lines."""

import json
import os
import signal
import subprocess
import tempfile

from dbr_cases import Bridge, Fake, PROGRAM, SIGNED_IN, WATCHDOG_S, backend, closed_port, command, fresh_env, has, lacks, main, want

INIT = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
INITED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def line(value):
    return json.dumps(value).encode() + b"\n"


def call_line(number, tool="get_version", arguments=None):
    return line({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": tool, "arguments": arguments or {}}})


def burst():
    """A burst in one write is answered while the input stays open"""
    with Bridge(revision=None) as bridge:
        bridge.send(line(INIT) + line(INITED) + line({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}))
        bridge.wait_answer("1")
        bridge.wait_answer("2")


def drip():
    """A conversation in single bytes is answered while the input stays open"""
    with Bridge(revision=None) as bridge:
        for byte in line(INIT) + line(INITED) + line({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}):
            bridge.send(bytes([byte]))
        bridge.wait_answer("1")
        bridge.wait_answer("2")


def named_pipe():
    """The end of a named pipe and /dev/null end the program with status 0"""
    with tempfile.TemporaryDirectory() as folder:
        pipe = os.path.join(folder, "f")
        os.mkfifo(pipe)
        process = subprocess.Popen(
            ["/bin/sh", "-c", 'exec "$0" mcp airflow <"$1"', PROGRAM, pipe], env=fresh_env(SIGNED_IN), stdout=subprocess.PIPE
        )
        with open(pipe, "wb") as writer:
            writer.write(line(INIT))
        out, _ = process.communicate(timeout=WATCHDOG_S)
        want(process.returncode == 0, "status", process.returncode)
        want(json.loads(out)["id"] == 1, out)
        with open(os.devnull, "rb") as null:
            want(subprocess.run(command("mcp", "airflow"), stdin=null, env=fresh_env(SIGNED_IN), timeout=WATCHDOG_S).returncode == 0, "status")


def end_while_waiting():
    """A client that goes away takes the program with it, even while the backend hangs"""
    with Fake() as fake:
        fake.always("GET", "*", mode="stall")
        with Bridge(fake) as bridge:
            number = bridge.send_call("get_version")
            fake.wait_requests(1)
            bridge.close_stdin()
            bridge.wait_exit(0)
            want(bridge.find(id=None) is None, "a stray line")
            answers = [json.loads(one) for one in bridge.lines if json.loads(one).get("id") == number]
            want(len(answers) == 1 and answers[0]["result"]["isError"], f"what was read was not answered: {answers}")


def reader_gone():
    """A closed standard output ends the program quietly, by no signal"""
    with Fake() as fake:
        fake.always("GET", "*", body={"version": "3"}, delay_ms=200)
        with Bridge(fake) as bridge:
            bridge.any_exit = True
            bridge.send_call("get_version")
            fake.wait_requests(1)
            bridge.process.stdout.close()
            status = bridge.process.wait(WATCHDOG_S)
            want(status >= 0, f"died of signal {-status}")
            bridge.err = bridge.process.stderr.read()
            want(len(bridge.err.splitlines()) <= 1, bridge.err)


def one_shot():
    """Calls that are piped in at once are all answered, each once, before the program ends"""
    with Fake() as fake:
        fake.always("GET", "*", body={"version": "3.0"}, delay_ms=20)
        for count in (1, 2, 20, 200):
            with Bridge(fake, revision=None) as bridge:
                bridge.send(line(INIT) + line(INITED) + b"".join(call_line(10 + i) for i in range(count)))
                bridge.close_stdin()
                bridge.wait_exit(0)
                ids = sorted(json.loads(one)["id"] for one in bridge.lines)
                want(ids == [1, *range(10, 10 + count)], f"of {count}: {ids}")
                want(all(not json.loads(one)["result"].get("isError") for one in bridge.lines), bridge.lines[:3])


def full_disk():
    """An answer that can't be written isn't reported as one"""
    with open("/dev/full", "wb") as full:
        for words in (("tools",), ("call", "get_version")):
            with Fake() as fake:
                fake.always("GET", "/api/v2/version", body={"version": "3"})
                env = fresh_env({"AIRFLOW_API_URL": fake.url, "AIRFLOW_ACCESS_TOKEN": "t" * 9})
                done = subprocess.run(command(*words), env=env, stdout=full, stderr=subprocess.PIPE, timeout=WATCHDOG_S, check=False)
                want(done.returncode == 3, words, done)


def quiet():
    """Neither output holds a word that nobody asked for"""
    with Fake() as fake:
        fake.always("GET", "*", body={"version": "3.0"})
        with Bridge(fake, env={"G_MESSAGES_DEBUG": "all"}) as bridge:
            bridge.good("get_version")
            bridge.close_stdin()
            bridge.wait_exit(0)
            want(bridge.err == b"", bridge.err)
            want(len(bridge.lines) == 2, bridge.lines)


def odd_lines():
    """No line, however broken, ends the program or swallows the next one"""
    table = (
        b"", b"\r", b"\xff\xfe", b"{ not valid json !!", b"[" * 100000, b"{}" + b"{}", b"null", b'"x"', b"[]",
        b'{"jsonrpc":"2.0","id":{},"method":"ping"}', b'{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}',
        b'{"jsonrpc":"2.0","id":77,"method":7}', b"x" * (5 << 20), b'{"jsonrpc":"1.0","id":3,"method":"ping"}',
    )
    with Bridge() as bridge:
        for odd in table:
            bridge.send(odd + b"\n")
            bridge.ask("ping")
        bridge.send(b"\xef\xbb\xbf\r\n")
        bridge.ask("ping")


def long_line():
    """Arguments of a megabyte come through; what is over the limit costs one error"""
    with Fake() as fake:
        fake.always("POST", "/api/v2/dags/a/dagRuns", body={"dag_run_id": "r", "dag_id": "a", "state": "queued"})
        with Bridge(fake, env={"AIRFLOW_MCP_ALLOW_WRITES": "1"}) as bridge:
            text = "A" * (1 << 20)
            bridge.good("trigger_dag_run", {"dag_id": "a", "conf": {"big": text}})
            sent = next(r for r in fake.requests() if r["method"] == "POST")
            want(json.loads(sent["body"])["conf"]["big"] == text, "the argument changed on its way")


def backend_comes_later():
    """The program starts without its backend, says so in a call's result, and works once it is up"""
    held, port = closed_port()
    with Bridge(f"http://127.0.0.1:{port}") as bridge:
        want(len(bridge.ask("tools/list")["tools"]) >= 15, "no tools without a backend")
        text = bridge.bad("get_version")
        has(text, f"127.0.0.1:{port}", "Nothing was sent", "AIRFLOW_API_URL")
        held.close()
        with backend([b'{"version":"9.9"}'], port):
            has(bridge.good("get_version"), "9.9")


def signals():
    """SIGTERM and SIGINT end it cleanly, idle or with a call under way"""
    for number in (signal.SIGTERM, signal.SIGINT):
        for busy in (False, True):
            with Fake() as fake:
                fake.always("GET", "*", mode="stall")
                with Bridge(fake) as bridge:
                    bridge.any_exit = True
                    if busy:
                        bridge.send_call("get_version")
                        fake.wait_requests(1)
                    bridge.process.send_signal(number)
                    status = bridge.process.wait(WATCHDOG_S)
                    want(status >= 0 or status == -number, f"status {status}")
                    lacks(bridge.process.stderr.read().decode(), "Sanitizer", "CRITICAL", "WARNING")


if __name__ == "__main__":
    main([burst, drip, named_pipe, end_while_waiting, reader_gone, one_shot, full_disk, quiet, odd_lines, long_line, backend_comes_later, signals])
