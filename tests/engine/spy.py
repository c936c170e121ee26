#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a foreman or a worker with a shell could try: looks for another token everywhere and approves its own plan with it.

    spy.py FOLDER SOCKET REPORT [CONFIG]

FOLDER is the engine's own (state, log, token files beside it), SOCKET its socket. What it found is written as JSON to REPORT:
secrets that open something, sockets that answer, capabilities, and what approving said.
"""
import http.client
import json
import os
import re
import socket
import sys

TOKEN = re.compile(rb"(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])")
MAX_FILE = 256 * 1024
MAX_DEPTH = 4  # below a home lie whole tool chains


class Connection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("engine", timeout=30)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(self.path)


def candidates(places):
    """Everything that looks like a token, in files and in the environments and memory of processes."""
    found = set()

    def look(path):
        try:
            with open(path, "rb") as file:
                found.update(match.decode() for match in TOKEN.findall(file.read()))
        except OSError:
            pass

    for place in places:
        for folder, folders, files in os.walk(place):
            deep = folder[len(place):].count("/") >= MAX_DEPTH
            folders[:] = [name for name in folders if not deep and not os.path.islink(os.path.join(folder, name))]
            for name in files:
                path = os.path.join(folder, name)
                if os.path.isfile(path) and os.path.getsize(path) < MAX_FILE:
                    look(path)
    for pid in os.listdir("/proc"):
        if pid.isdigit():
            for name in ("environ", "cmdline"):
                look(f"/proc/{pid}/{name}")
    return found


def sockets(places):
    open_ones = []
    for place in places:
        for folder, _, files in os.walk(place):
            for name in files:
                path = os.path.join(folder, name)
                try:
                    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as one:
                        one.connect(path)
                    open_ones.append(path)
                except OSError:
                    pass
    return open_ones


def listed_sockets():
    """Whichever the kernel lists for this network and answers here, "@" before an abstract one."""
    open_ones = set()
    with open("/proc/net/unix", encoding="utf-8", errors="surrogateescape") as file:
        for line in list(file)[1:]:
            name = line.rstrip("\n").split(" ", 7)[-1].lstrip("0123456789 ")
            if name[:1] in ("@", "/"):
                try:
                    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as one:
                        one.settimeout(5)
                        one.connect("\0" + name[1:] if name[0] == "@" else name)
                    open_ones.add(name)
                except OSError:
                    pass
    return sorted(open_ones)


def capabilities():
    with open("/proc/self/status", encoding="utf-8") as file:
        return [int(line.split()[1], 16) for line in file if line.startswith(("CapPrm", "CapEff", "CapAmb"))]


def ask(path, method, target, token, body=None):
    try:
        connection = Connection(path)
        connection.request(method, target, None if body is None else json.dumps(body),
                           {"Authorization": "Bearer " + token, "Content-Type": "application/json"})
        reply = connection.getresponse()
        return reply.status, json.loads(reply.read() or b"null")
    except OSError as error:
        return 0, {"code": str(error)}


def approve_all(path, token):
    """What approving each waiting plan said to this token."""
    status, plans = ask(path, "GET", "/v1/plans?state=awaiting_approval", token)
    if status != 200:
        return [(status, plans.get("code"))]
    said = []
    for plan in plans["items"]:
        status, body = ask(path, "POST", f"/v1/plans/{plan['id']}/approve", token, {"version": plan["version"]})
        said.append((status, body.get("code")))
    return said


def main():
    folder, path, report = sys.argv[1:4]
    own = None
    if len(sys.argv) > 4:
        with open(sys.argv[4], encoding="utf-8") as file:
            own = json.load(file)["mcpServers"]["brigada"]["env"]["BRIGADA_TOKEN"]
    home = os.path.expanduser("~")
    found = candidates([folder, home, "/run", "/tmp", "/var/tmp", "/dev/shm", os.getcwd()])
    found.discard(own)
    # A token of the engine is told from other words by asking it.
    opens = sorted(one for one in found if ask(path, "GET", "/v1/projects", one)[0] in (200, 403))
    result = {
        "looked_at": len(found),
        "opens": opens,
        "planned": ask(path, "POST", "/v1/plans", own, {"title": "Take the gold", "tasks": [
            {"title": "Dig", "brief": "Dig."}]})[0] if own else None,
        "approved_with_own": approve_all(path, own) if own else [],
        "approved_with_found": [approve_all(path, one) for one in opens],
        "sockets": sockets(["/run", "/tmp", "/var/run", "/var/tmp", home, folder]),
        "listed_sockets": listed_sockets(),
        "capabilities": capabilities(),
        "variables": sorted(name for name in os.environ if name.startswith("BRIGADA_")),
        "state": os.listdir(folder) if os.path.isdir(folder) else None,
    }
    with open(report, "w", encoding="utf-8") as file:
        json.dump(result, file)


if __name__ == "__main__":
    main()
