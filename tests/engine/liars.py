#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What listens where an engine should be, and is none: a worker runs nothing for it, keeps no more of it than an answer
can be, prints nothing of it that rules a terminal or makes a line, and says what is wrong."""
import gzip
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import unicodedata
from xml.etree import ElementTree

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from engine_http import BUILD, PROGRAM, WATCHDOG_S, Tap  # noqa: E402

TAP = Tap()
BRIDGE = os.path.join(BUILD, "drawbridge")
EVIL = "\x1b]0;pwn\x07\x1b[31m\u202e\u2066\u200b\x85\nFORGED line\r"
SECRET = "A" * 43
JOB = {"job": {"id": 5, "heartbeat_seconds": 20}, "task": {"id": 1, "title": "t", "brief": "b", "paths": [], "branch": "b", "notes": []},
       "plan": {"id": 2, "title": "p", "summary": None}, "project": {"id": 3, "name": "n", "repo_url": "https://h.example/o/a", "checkout": None}}


def head(status, body, *more):
    return "\r\n".join([f"HTTP/1.1 {status} X", "Content-Type: application/json", f"Content-Length: {len(body)}", *more, "", ""]).encode() + body


def says(value, status=200):
    return lambda mine, asked: mine.sendall(head(status, json.dumps(value).encode()))


class Liar:
    """Answers each connection's requests with the functions given, the last of them for all that follow."""

    def __init__(self, *answers):
        self.answers, self.asked, self.sent = list(answers), [], 0
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="dbr-liar-"))
        self.path = str(self.folder / "engine.sock")
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(20)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                mine, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.talk, args=(mine,), daemon=True).start()

    def talk(self, mine):
        with mine:
            try:
                mine.settimeout(WATCHDOG_S)
                while True:
                    asked = b""
                    while b"\r\n\r\n" not in asked:
                        piece = mine.recv(65536)
                        if not piece:
                            return
                        asked += piece
                    top, body = asked.split(b"\r\n\r\n", 1)
                    length = next((int(line[15:]) for line in top.decode().lower().split("\r\n") if line.startswith("content-length:")), 0)
                    while len(body) < length:
                        body += mine.recv(65536)
                    self.asked.append(asked.decode())
                    answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
                    answer(mine, asked)
            except OSError:
                pass

    def run(self, *words, program=PROGRAM, timeout=WATCHDOG_S, **env):
        checkout = self.folder / "checkout"
        checkout.mkdir(exist_ok=True)
        mark = checkout / "ran"
        command = ["--unconfined", "--checkout", str(checkout)] if words[0] == "work" else []
        does = ["--", "touch", str(mark)] if program == PROGRAM else []
        done = subprocess.run([program, words[0], *command, "--socket", self.path, *words[1:], *does],
                              env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": str(self.folder), "BRIGADA_TOKEN": SECRET, "BRIGADA_ALLOW_WRITES": "1",
                                   "XDG_RUNTIME_DIR": str(self.folder / "run"), "XDG_STATE_HOME": str(self.folder / "xdg"), **env},
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout, check=False)
        self.ran = mark.exists()
        return done.returncode, done.stdout.decode("utf-8", "surrogateescape") + done.stderr.decode("utf-8", "surrogateescape")

    def close(self):
        self.listener.close()
        shutil.rmtree(self.folder)


def odd(text):
    return sorted({f"U+{ord(c):04X}" for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp", "Cs", "Cn")})


def is_data(text):
    return not odd(text) and not any(line.startswith("FORGED") for line in text.split("\n")) and "CRITICAL" not in text


def test_shapes():
    def changed(**parts):
        return {**JOB, **{name: {**JOB[name], **part} for name, part in parts.items()}}

    cases = {"{}": {}, "null": None, "[1]": [1], "a number": 7, "a text": "job", "a job alone": {"job": {"id": 1}}, "no heartbeat": changed(job={"heartbeat_seconds": -5}),
             "job 0": changed(job={"id": 0}), "a task without a number": changed(task={"id": None}), "a zero byte": changed(task={"title": "a\0b"}),
             "no plan": {**JOB, "plan": None}, "notes that are none": changed(task={"notes": 7}), "waiting for nothing": {"job": None, "waiting": {}}}
    for name, answer in cases.items():
        liar = Liar(says(answer))
        status, text = liar.run("work")
        TAP.ok(status == 1 and not liar.ran and f"what answers at unix:{liar.path} is no engine: status 200 with neither" in text
               and len(liar.asked) == 1, f"no command runs for {name}", f"{status} {liar.ran} {liar.asked} {text}")
        liar.close()
    for name, answer in {"{}": {}, "null": None, "no token": {"id": 1, "project": 1}, "a bad token": {"id": 1, "project": 1, "token": "a b"},
                         "lease 0": {"id": 0, "project": 1, "token": SECRET}}.items():
        liar = Liar(says(answer, 201))
        status, text = liar.run("attach")
        TAP.ok(status == 1 and not liar.ran and "is no engine: status 201 without a lease" in text and len(liar.asked) == 1,
               f"no chat begins for {name}", f"{status} {liar.ran} {liar.asked} {text}")
        liar.close()


def test_later():
    """An engine that was one may be behind a proxy that speaks for it a while."""
    none = says({"job": None, "waiting": {"code": "nothing_ready", "text": "nothing"}})
    liar = Liar(none, says({}), says("<html>"), says({"code": "token_revoked", "detail": "over"}, 401))
    status, text = liar.run("work")
    TAP.ok(status == 1 and not liar.ran and len(liar.asked) == 4 and "waiting: what answers at" in text and "work: over\n" in text,
           "a worker outlasts what is no engine for a while", f"{status} {len(liar.asked)} {text}")
    liar.close()


def flood(liar, mine, asked):
    mine.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
    piece = b"10000\r\n" + b" " * 65536 + b"\r\n"
    while liar.sent < 400_000_000:
        mine.sendall(piece)
        liar.sent += len(piece)


def plain_flood(liar, mine, asked):
    mine.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 400000000\r\n\r\n")
    while liar.sent < 400_000_000:
        mine.sendall(b" " * 65536)
        liar.sent += 65536


def endless(liar, mine, asked):
    mine.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
    while liar.sent < 400_000_000:
        mine.sendall(b" " * 65536)
        liar.sent += 65536


def test_bounds():
    for name, how in {"chunks": flood, "one length": plain_flood, "no length": endless}.items():
        for words in (["work"], ["attach"]):
            liar = Liar(None)
            liar.answers = [lambda mine, asked, liar=liar, how=how: how(liar, mine, asked)]
            status, text = liar.run(*words)
            TAP.ok(status == 1 and not liar.ran and "is no engine: it sends more than 4194304 bytes" in text and liar.sent < 16 << 20,
                   f"{words[0]}: no more of an answer by {name} is taken than shows that it is too long", f"{status} {liar.sent} {text}")
            liar.close()
    packed = gzip.compress(json.dumps({"job": None, "waiting": {"code": "x", "text": "0" * 40_000_000}}).encode())
    for coding in ("gzip", "br", "x"):
        liar = Liar(lambda mine, asked, coding=coding: mine.sendall(head(200, packed, "Content-Encoding: " + coding)))
        status, text = liar.run("work")
        TAP.ok(status == 1 and "is no engine: it sends its answer packed" in text and "accept-encoding" not in liar.asked[0].lower(),
               f"nothing packed is asked for, and {coding} is not unpacked", f"{status} {text} {liar.asked}")
        liar.close()
    edge = json.dumps({"code": "x", "detail": "edge"})
    liar = Liar(lambda mine, asked: mine.sendall(head(401, edge.ljust(4 << 20).encode())))
    status, text = liar.run("work")
    TAP.ok(status == 1 and "work: edge\n" in text, "an answer of exactly 4 MiB is taken", f"{status} {text}")
    liar.close()


def test_words():
    wait = {"job": None, "waiting": {"code": "x", "text": "w" + EVIL}}
    denied = {"code": "x", "detail": "d" + EVIL}
    job = {**JOB, "task": {**JOB["task"], "title": "t" + EVIL}, "project": {**JOB["project"], "name": "n" + EVIL}}
    for name, words, answers in (
            ("why it waits", ["work"], [says(wait), says(denied, 401)]),
            ("a refusal", ["work"], [says(denied, 403)]), ("a failure", ["work"], [says(denied, 429), says(denied, 401)]),
            ("a job's names", ["work", "--once"], [says(job), says(denied, 409)]),
            ("a refusal", ["attach"], [says(denied, 403)]),
            ("a name that was meant", ["attach"], [says({**denied, "code": "no_project", "nearest": {"ref": "n" + EVIL}}, 404)]),
            ("the end of a chat", ["attach"], [says({"id": 1, "project": 1, "token": SECRET}, 201), says(denied, 500)])):
        liar = Liar(*answers)
        status, text = liar.run(*words)
        TAP.ok(is_data(text) and "FORGED" in text and SECRET not in text, f"{words[0]}: {name} is data", f"{status} {ascii(text)}")
        liar.close()
    liar = Liar(says({}))
    name = str(liar.folder / "state\x1b[31m\u202ex")
    env = {**os.environ, "LC_ALL": "C.UTF-8"}
    for words in (["check", "--state", name], ["backup", "--state", name, name], ["serve", "--state", name + "/x/y", "--socket", name * 9],
                  ["check", name], ["\x1b[31m\u202e"], ["work", "--\x1b[31m"], ["work", "--", "\x1b[31m"], ["attach", "--", "/\x1b[31m"],
                  ["work", "--checkout", "/\x1b[31m", "--", "true"], ["work", "--project", "\x1b[31m", "--", "true"]):
        done = subprocess.run([PROGRAM, *words], env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=WATCHDOG_S, check=False)
        text = (done.stdout + done.stderr).decode("utf-8", "surrogateescape")
        TAP.ok(done.returncode in (1, 2) and text and not odd(text), f"{ascii(words[:2])}: what was typed is data", f"{done.returncode} {ascii(text)}")
    liar.close()


NAME = "{urn:drawbridge:catalogue:1}"


def tools():
    """Each tool of each offer, with the least that it takes; one of several, each."""
    root = ElementTree.parse(pathlib.Path(__file__).resolve().parents[2] / "schemas" / "engine.xml").getroot()
    offers = [offer.get("name") for offer in root.iter(NAME + "offer")]
    for tool in root.iter(NAME + "tool"):
        for offer in (tool.get("offer") or " ".join(offers)).split():
            params = {param.get("name"): param for param in tool.findall(NAME + "param") if offer in (param.get("offer") or offer).split()}
            least = {name: value_of(param) for name, param in params.items() if param.get("required")}
            choice = tool.find(NAME + "one-of")
            for one in choice.get("params").split() if choice is not None else [None]:
                more = {one: value_of(params[one])} if one else {"approval": "never"} if tool.get("name") == "project_set" else {}
                writes = any(request.get("method", "GET") != "GET" and request.get("with", one) == one for request in tool.iter(NAME + "request"))
                yield offer, tool.get("name"), {**least, **more}, writes


def value_of(param):
    value = param.find(NAME + "value")
    if value is not None:
        return value.text
    if param.get("type") == "array":
        return [{"title": "t", "brief": "b"}]
    return 60 if param.get("type") == "integer" else "x"


def test_tools():
    """No tool takes for a success, or for a state of things, what answers 200 and is no engine's answer."""
    wrong = {}
    for answer in ({}, None, [1], {"id": None, "plan": {}, "task": [], "token": SECRET}):
        liar = Liar(says(answer))
        for offer, tool, arguments, writes in tools():
            status, text = liar.run("call", "--offer", offer, "--yes", "--arguments", json.dumps(arguments), tool, program=BRIDGE)
            writes = writes and tool != "cancel"  # which reads first
            needed = "Outcome unknown: " if writes else "with another answer than this API's"
            if status != 1 or needed not in text or "Approved" in text:
                wrong[f"{offer}'s {tool} {arguments} for {answer}"] = f"{status} {text}"
        liar.close()
    TAP.ok(not wrong, "no tool takes a stranger's 200 for the engine's", "\n".join(f"{name}: {text}" for name, text in wrong.items()))


def main():
    test_tools()
    test_shapes()
    test_later()
    test_bounds()
    test_words()


main()
TAP.end()
