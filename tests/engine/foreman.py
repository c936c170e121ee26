#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A scripted foreman: a small real MCP client that plans through the bridge, started as a harness is.

    foreman.py CONFIG

CONFIG is the file that a harness is given: the server "brigada" and its environment. Standard library only. It does what
the prompt of a real one asks for: looks at the status, reads the messages, makes a plan of each request, answers, reports.
A request is one line: "Do A, then B and C" becomes tasks A, B, C, where B and C depend on A.
"""
import json
import re
import subprocess
import sys

PROTOCOL = "2025-11-25"


class Bridge:
    """The one server of the configuration, over stdio."""

    CAPABILITIES = {}

    def __init__(self, config):
        with open(config, encoding="utf-8") as file:
            servers = json.load(file)["mcpServers"]
        (server,) = servers.values()
        self.process = subprocess.Popen([server["command"], *server["args"]], env=server["env"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, encoding="utf-8", bufsize=1)
        self.last = 0
        self.ask("initialize", {"protocolVersion": PROTOCOL, "capabilities": self.CAPABILITIES,
                                "clientInfo": {"name": "scripted-foreman", "version": "1"}})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.tools = sorted(tool["name"] for tool in self.ask("tools/list", {})["tools"])

    def send(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        self.last += 1
        self.send({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params})
        while True:
            line = self.process.stdout.readline()
            if not line:
                sys.exit(f"the bridge ended before it answered {method}")
            reply = json.loads(line)
            if "method" in reply:
                self.hear(reply)
            elif reply.get("id") == self.last:
                if "error" in reply:
                    sys.exit(f"{method}: {reply['error']['message']}")
                return reply["result"]

    def hear(self, message):
        """What the server says by itself: nothing that a foreman, whom nobody sits at, could answer."""

    def call(self, tool, **arguments):
        """The answer's text; an answer that is a refusal ends the turn as a failure."""
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        text = "\n".join(part["text"] for part in result["content"] if part["type"] == "text")
        if result.get("isError"):
            sys.exit(f"{tool}: {text}")
        return text

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def waiting_messages(text):
    """(id, text) of every message of the user that the answer shows."""
    found = []
    for line in text.splitlines():
        head = re.match(r"message (\d+) of the (\w+), ", line)
        if head:
            found.append((int(head[1]), head[2], []))
        elif found and line.startswith("  "):
            found[-1][2].append(line.strip().removeprefix(">").strip())
    return [(number, author, " ".join(lines)) for number, author, lines in found]


def tasks_of(request):
    """Steps in their order: "then" orders, "and" and commas don't."""
    waves = re.split(r",?\s*\bthen\b\s*", request.strip().rstrip("."))
    tasks, before = [], []
    for wave in waves:
        titles = [title.strip() for title in re.split(r",\s*|\s+\band\b\s+", wave) if title.strip()]
        for title in titles:
            tasks.append({"title": title[:150], "brief": f"{title}\n\nPart of: {request}", "depends_on": before,
                          "paths": [re.sub(r"\W+", "-", title.lower()).strip("-")[:60] + "/**"]})
        before = titles
    return tasks


def main():
    bridge = Bridge(sys.argv[1])
    bridge.call("status")
    made = []
    for number, author, text in waiting_messages(bridge.call("messages")):
        if author == "user" and not text.startswith("?"):
            plan = bridge.call("plan_create", title=text[:100], summary="Asked for by the user.", tasks=tasks_of(text))
            made.append(plan.splitlines()[0])
            bridge.call("message_answer", message=number, text="I made a plan of it: " + made[-1])
        else:
            bridge.call("message_answer", message=number, text="Seen.")
    bridge.call("report", text="; ".join(made) if made else "Nothing new to plan.")
    bridge.close()


if __name__ == "__main__":
    main()
