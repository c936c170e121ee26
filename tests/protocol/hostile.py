#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a transport does to a server: bursts, drips, stalls, early ends, signals, floods, and lines that are no messages.

Order and counts are asserted, never speed.
"""

import os
import signal
import socket
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from mcp_driver import Failed, Server, default_command, exact, expand, run_tests  # noqa: E402

INIT = (
    '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
    '"capabilities":{"elicitation":{}},"clientInfo":{"name":"t","version":"1"}}}'
)
INITED = '{"jsonrpc":"2.0","method":"notifications/initialized"}'
MAX_LINE = 4 << 20


def ping(number):
    return '{"jsonrpc":"2.0","id":%d,"method":"ping"}' % number


def call(number, tool, arguments="{}"):
    return '{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s","arguments":%s}}' % (
        number,
        tool,
        arguments,
    )


def cancel(number):
    return '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}' % number


def want(condition, text):
    if not condition:
        raise Failed(text)


def still_serves(server, number=9000):
    server.send_line(ping(number))
    server.wait_answer(str(number))


def ids_of(server):
    return [m["id"].text for m in server.messages() if "id" in m and m["id"] is not None]


# ---------------------------------------------------------------------------- reading


def one_write():
    """Every line of one write is answered with the input still open."""
    with Server() as server:
        server.send("\n".join([INIT, INITED, '{"jsonrpc":"2.0","id":1,"method":"tools/list"}', ping(2)]) + "\n")
        server.wait_answer("1")
        server.wait_answer("2")


def byte_by_byte():
    with Server() as server:
        for byte in "\n".join([INIT, INITED, call(1, "echo", '{"text":"é"}'), ping(2)]).encode() + b"\n":
            server.send(bytes([byte]))
        server.wait_answer("2")
        want(server.wait_answer("1")["result"]["content"][0]["text"] == "é", "the text came back wrong")


def handshake_with_open_input():
    with Server() as server:
        server.send_line(INIT)
        server.wait_answer("0")


def junk_lines():
    """Each line, then what it costs: nothing, or one error; a ping is answered after each."""
    table = [
        (b"", None),
        (b"\r", None),
        (b" \t ", None),
        (ping(1).encode() + b"\r", "answer"),
        (b"  " + ping(1).encode() + b"  ", "answer"),
        (ping(1).encode() + b" " + ping(2).encode(), -32700),
        (b"\xff\xfe", -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"\xc3\x28"}', -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"\xed\xa0\x80"}', -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"a\x00b"}', -32700),
        (b"\x00", -32700),
        (b"\xef\xbb\xbf" + ping(1).encode(), -32700),
        (b"Content-Length: 20", -32700),
        (b"#!/bin/sh", -32700),
        (b"{ not valid json !!", -32700),
        (b"[" * 100000, -32700),
        (b'{"a":' * 100000, -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping"', -32700),
        (b"NaN", -32700),
        (b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}', -32700),
        (b'{"jsonrpc":"2.0","id":01,"method":"ping"}', -32700),
        (b"null", -32600),
        (b'"ping"', -32600),
        (b"{}", -32600),
        (b"[[[]]]", -32600),
    ]
    with Server() as server:
        server.send_line(INIT)
        server.wait_answer("0")
        for number, (line, cost) in enumerate(table):
            before = len(server.lines)
            server.send_line(line)
            still_serves(server, 100 + number)
            came = [exact(text) for text in server.lines[before:-1]]
            if cost is None:
                want(not came, f"{line!r} was answered: {came}")
            elif cost == "answer":
                want(len(came) == 1 and "result" in came[0], f"{line!r} was not answered")
            else:
                want(len(came) == 1 and came[0].get("error", {}).get("code") == exact(str(cost)), f"{line[:60]!r}: {came}")


def byte_order_mark():
    with Server() as server:
        server.send(b"\xef\xbb\xbf" + INIT.encode() + b"\r\n")
        server.wait_answer("0")


def long_lines():
    """The longest line is served; one byte more costs one error, and so do 100 MB."""
    head = '{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"pad":"'
    tail = '","text":"ok"}}}'
    with Server() as server:
        server.send_line(INIT)
        for number, size in ((1, MAX_LINE - 1), (2, MAX_LINE), (3, MAX_LINE + 1)):
            first = head % number
            server.send_line(first + "x" * (size - len(first) - len(tail)) + tail)
        server.wait_answer("1")
        server.wait_answer("2")
        error = server.wait_until(lambda: next((m for m in server.messages() if "error" in m), None), "error")
        want(error["error"]["code"] == exact("-32700") and "id" not in error, f"{error}")
        still_serves(server, 4)
        for _ in range(100):
            server.send(b"x" * (1 << 20))
        server.send(b"\n")
        still_serves(server, 5)
        want(len([m for m in server.messages() if "error" in m]) == 2, "one error for a line, no more")
        want("3" not in ids_of(server), "a line that is too long was read")


# ------------------------------------------------------------------------------- ends


def end_of_input():
    """What was read is answered, each once, whether the last line has its LF or not."""
    for count in (1, 2, 20, 500):
        for last in ("\n", ""):
            with Server() as server:
                lines = [INIT, INITED] + [call(n, "echo") for n in range(1, count + 1)]
                server.send("\n".join(lines) + last)
                server.close_stdin()
                server.wait_exit(0)
                want(sorted(map(int, ids_of(server))) == list(range(count + 1)), f"{count} calls: {ids_of(server)}")


def end_mid_line():
    with Server() as server:
        server.send('{"jsonrpc":"2.0","id":1,"met')
        server.close_stdin()
        server.wait_exit(0)
        want(len(server.lines) == 1 and "-32700" in server.lines[0], f"{server.lines}")


def end_while_idle():
    with Server() as server:
        server.send_line(INIT)
        server.wait_answer("0")
        server.close_stdin()
        server.wait_exit(0)
        want(server.err == b"", f"standard error: {server.err!r}")


def end_while_calls_hang():
    """Calls that don't end are ended at the limit, and say so."""
    with Server(env={"ECHO_DRAIN_MS": "200", "ECHO_MAX_RUNNING": "2"}) as server:
        server.send("\n".join([INIT] + [call(n, "slow") for n in (1, 2, 3)]) + "\n")
        server.close_stdin()
        server.wait_exit(0)
        want(sorted(ids_of(server)) == ["0", "1", "2", "3"], f"{ids_of(server)}")
        want(sum("The input ended" in line for line in server.lines) == 3, f"{server.lines}")


def end_while_asking():
    """A question is open: the end of input is no yes."""
    with Server() as server:
        server.send("\n".join([INIT, call(1, "ask")]) + "\n")
        server.wait_method("elicitation/create")
        server.close_stdin()
        server.wait_exit(0)
        want('"cancelled"' in server.lines[-1], f"{server.lines[-1]}")


def run_with(stdin, **more):
    return subprocess.run(
        expand(default_command()), stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, check=False, **more
    )


def odd_inputs():
    """/dev/null, a file, a FIFO and a socket as standard input; no input at all."""
    text = "\n".join([INIT, call(1, "echo"), ping(2)]) + "\n"
    done = run_with(subprocess.DEVNULL)
    want(done.returncode == 0 and done.stdout == b"", f"/dev/null: {done}")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "in")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        with open(path, "rb") as file:
            done = run_with(file)
        want(done.returncode == 0 and done.stdout.count(b"\n") == 3, f"file: {done}")
        fifo = os.path.join(folder, "fifo")
        os.mkfifo(fifo)
        writer = os.open(fifo, os.O_RDWR)
        reader = os.open(fifo, os.O_RDONLY)
        os.write(writer, text.encode())
        os.close(writer)
        done = run_with(reader)
        os.close(reader)
        want(done.returncode == 0 and done.stdout.count(b"\n") == 3, f"FIFO: {done}")
        directory = os.open(folder, os.O_RDONLY)
        done = run_with(directory)
        os.close(directory)
        want(done.returncode == 3 and done.stdout == b"", f"a folder: {done}")
    ours, theirs = socket.socketpair()
    ours.sendall(text.encode())
    ours.shutdown(socket.SHUT_WR)
    done = run_with(theirs)
    want(done.returncode == 0 and done.stdout.count(b"\n") == 3, f"socket: {done}")
    ours.close()
    theirs.close()
    done = run_with(None, preexec_fn=lambda: os.close(0))
    want(done.returncode == 3 and done.stdout == b"", f"closed: {done}")


def odd_outputs():
    """A file and a socket as standard output."""
    text = ("\n".join([INIT, call(1, "large", '{"bytes":3000000}'), ping(2)]) + "\n").encode()
    with tempfile.TemporaryFile() as file:
        done = subprocess.run(expand(default_command()), input=text, stdout=file, timeout=120, check=False)
        file.seek(0)
        want(done.returncode == 0 and file.read().count(b"\n") == 3, f"file: {done}")
    ours, theirs = socket.socketpair()
    process = subprocess.Popen(expand(default_command()), stdin=theirs, stdout=theirs)
    theirs.close()
    ours.sendall(text)
    ours.shutdown(socket.SHUT_WR)
    got = b""
    while chunk := ours.recv(1 << 16):
        got += chunk
    ours.close()
    want(process.wait(120) == 0 and got.count(b"\n") == 3, f"socket: {len(got)} bytes")
    done = subprocess.run(
        expand(default_command()), input=text, stdout=open("/dev/full", "wb"), stderr=subprocess.PIPE, timeout=120, check=False
    )
    want(done.returncode == 3, f"/dev/full: {done}")


def closed_output():
    """Nobody reads the answer: a quiet end with the documented status."""
    with Server() as server:
        server.send("\n".join([INIT, call(1, "slow")]) + "\n")
        server.wait_answer("0")
        server.process.stdout.close()
        server.process.stdin.write((call(2, "release") + "\n").encode())
        server.process.stdin.flush()
        want(server.process.wait(120) == 3, f"status {server.process.returncode}")
        want(server.process.stderr.read().count(b"\n") <= 1, "noise on standard error")


def signals():
    """Each signal ends it cleanly, also while calls run and a reader stalls."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        for lines in ([INIT], [INIT, call(1, "slow"), call(2, "ask")]):
            with Server() as server:
                server.send("\n".join(lines) + "\n")
                server.wait_answer("0")
                server.process.send_signal(number)
                server.wait_exit(0)
                want(server.err == b"", f"{server.err!r}")
    with Server() as server:
        server.send_line(INIT)
        server.wait_answer("0")
        server.process.stdin.write((call(1, "large", '{"bytes":5000000}') + "\n").encode())
        server.process.stdin.flush()
        server.process.send_signal(signal.SIGTERM)
        want(server.process.wait(120) == 0, f"status {server.process.returncode}")


# --------------------------------------------------------------------------- pressure


def stalled_reader():
    """While nobody reads, the server stops reading: its input fills up, and nothing is lost when reading goes on."""
    with Server() as server:
        server.send_line(INIT)
        server.wait_answer("0")
        fd = server.process.stdin.fileno()
        os.set_blocking(fd, False)
        number = 0
        rest = b""
        quiet = 0  # how often in a row the server waited for something while its input was full
        # Answers are larger than requests; the pipes must fill up long before this many.
        while quiet < 500 and number < 1_000_000:
            if not rest:
                number += 1
                rest = b'{"jsonrpc":"2.0","id":%d,"method":"tools/list"}\n' % number
            try:
                rest = rest[os.write(fd, rest) :]
                quiet = 0
            except BlockingIOError:
                quiet = quiet + 1 if server_sleeps(server.process.pid) else 0
                os.sched_yield()
        want(quiet == 500, "the server read on although nobody reads its answers")
        server.send(rest)
        server.close_stdin()
        server.wait_exit(0)
        got = ids_of(server)
        want(len(set(got)) == len(got), "an id was answered twice")
        want(sorted(map(int, got)) == list(range(number + 1)), "an answer is missing")


def server_sleeps(pid):
    """Whether the process waits for something (and not for a processor)."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        return file.read().rsplit(")", 1)[1].split()[0] == "S"


def flood_of_calls():
    """64 run, 1,024 wait, the rest is told so; each is answered once."""
    total = 64 + 1024 + 10
    with Server() as server:
        server.send("\n".join([INIT] + [call(n, "slow") for n in range(1, total + 1)]) + "\n")
        for number in range(64 + 1024 + 1, total + 1):
            answer = server.wait_answer(str(number))
            want(answer["result"].get("isError") is True, f"{answer}")
            want(answer["result"]["content"][0]["text"].startswith("Busy: "), f"{answer}")
        still_serves(server)
        for number in range(65, 64 + 1024 + 1):
            server.send_line(cancel(number))
        server.send_line(cancel(1))
        server.send_line(call(9001, "release"))
        server.wait_answer("9001")
        server.close_stdin()
        server.wait_exit(0)
        got = [int(i) for i in ids_of(server)]
        want(len(set(got)) == len(got), "an id was answered twice")
        want(not set(got) & ({1} | set(range(65, 1089))), "a cancelled call was answered")
        want(set(range(2, 65)) <= set(got), "a running call was lost")


def cancel_and_ping():
    """A ping is answered while a call hangs; a cancelled call never is; its id can be used again."""
    with Server() as server:
        server.send("\n".join([INIT, call(1, "slow"), ping(2)]) + "\n")
        server.wait_answer("2")
        server.send("\n".join([cancel(1), cancel(1), cancel(77), call(3, "echo")]) + "\n")
        server.wait_answer("3")
        want("1" not in ids_of(server), "a cancelled call was answered")
        server.send_line(call(1, "echo"))
        server.wait_answer("1")


def stray_prints():
    """What a library prints to standard output reaches standard error."""
    with Server(env={"ECHO_PRINT": "1"}) as server:
        server.send("\n".join([INIT, call(1, "echo")]) + "\n")
        server.wait_answer("1")
        server.close_stdin()
        server.wait_exit(0)
        want(server.err == b"a stray print\n", f"{server.err!r}")


def restart_quickly():
    """A client starts a probe, ends it at once, and starts the real one."""
    for _ in range(5):
        with Server() as server:
            server.send_line('{"jsonrpc":"2.0","id":1,"method":"server/discover"}')
            server.process.send_signal(signal.SIGTERM)
            want(server.process.wait(120) in (0, -signal.SIGTERM), f"status {server.process.returncode}")


TESTS = [
    one_write,
    byte_by_byte,
    handshake_with_open_input,
    junk_lines,
    byte_order_mark,
    long_lines,
    end_of_input,
    end_mid_line,
    end_while_idle,
    end_while_calls_hang,
    end_while_asking,
    odd_inputs,
    odd_outputs,
    closed_output,
    signals,
    stalled_reader,
    flood_of_calls,
    cancel_and_ping,
    stray_prints,
    restart_quickly,
]

if __name__ == "__main__":
    chosen = [test for test in TESTS if not sys.argv[1:] or test.__name__ in sys.argv[1:]]
    run_tests([(test.__name__.replace("_", "-"), test) for test in chosen])
