#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A foreman without a harness: makes a plan of each message, one task a piece between semicolons, each after the one before.

    drawbridge engine project set app checkout=. 'command=["python3", "example-foreman.py", "{config}"]'

The engine starts it for one turn, with the file of the bridge's entry: how the bridge is started, and the turn's token in
its environment. What a model would do by the tools, this does by "drawbridge call" of the same tools.
"""
import json
import os
import subprocess
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    (ENTRY,) = json.load(file)["mcpServers"].values()
if ENTRY["args"][0] != "mcp":
    sys.exit("the entry doesn't start with mcp")


def call(tool, *options, must=True, **arguments):
    """A tool's answer as text; a refusal ends the turn, and the engine tells the user what was printed."""
    command = [ENTRY["command"], "call", "engine", tool, *ENTRY["args"][1:], *options, "--arguments", json.dumps(arguments)]
    return subprocess.run(command, env={**os.environ, **ENTRY["env"]}, stdout=subprocess.PIPE, text=True, check=must).stdout


def answer(message, text):
    """One that is answered already, by the turn before, say, is refused: no reason to leave the others without an answer."""
    call("message_answer", must=False, message=message["id"], text=text)


def main():
    done = []
    for message in json.loads(call("messages", "--output", "json")):
        if message["author"] == "user":
            tasks = [{"title": piece.strip()[:200], "brief": piece.strip(), "depends_on": []}
                     for piece in message["text"].split(";") if piece.strip()]
            for before, task in zip(tasks, tasks[1:]):
                task["depends_on"] = [before["title"]]
            plan = call("plan_create", title=message["text"][:200], summary=message["text"], tasks=tasks).splitlines()[0]
            answer(message, plan)
            done.append(plan)
        else:
            answer(message, "Seen.")
    call("report", text="; ".join(done) or "Nothing new.")


main()
