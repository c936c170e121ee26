#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The conversation of `./bootstrap demo`: a coordinator's chat over two projects, printed so that a person can follow it.

The engine, the bridge, the foremen's turns and the worker are the built programs; the coordinator's model and the
foremen's are played by scripts that speak MCP. Exits 1 where an answer is not what it must be."""
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import textwrap

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import foreman  # noqa: E402
from engine_http import BUILD, Engine, can_confine  # noqa: E402

BRIDGE = str(pathlib.Path(BUILD).resolve() / "drawbridge")
PROGRAM = str(pathlib.Path(BUILD).resolve() / "drawbridge-engine")
WRONG = []
SCRIPT = 'echo "$BRIGADA_TITLE: done in ${PWD##*/}" && mkdir -p done && touch "done/$BRIGADA_TASK"'
SHORT = "$DEMO"  # how the transcript calls the engine's folder


def heading(text):
    print(f"\n=== {text} " + "=" * max(3, 94 - len(text)), flush=True)


def wants(text, what, *words):
    missing = [word for word in words if word not in text]
    if missing:
        WRONG.append(f"{what}: the answer lacks {missing}")


def options():
    if can_confine():
        return []
    print("(bubblewrap doesn't work here: commands are started without it)")
    return ["--unconfined"]


class Coordinator(foreman.Bridge):
    CAPABILITIES = {"elicitation": {}}

    def __init__(self, config, show):
        self.show = show
        super().__init__(config)

    def hear(self, message):
        """The form that a client shows to its user, who says yes here."""
        if message["method"] == "elicitation/create":
            self.show("   the user is asked:\n" + textwrap.indent(message["params"]["message"].rstrip(), "     "))
            self.show("   the user: yes")
            (field,) = message["params"]["requestedSchema"]["properties"]
            self.send({"jsonrpc": "2.0", "id": message["id"], "result": {"action": "accept", "content": {field: True}}})

    def call(self, tool, **arguments):
        self.show(" ".join(["->", tool, *(f"{name}={json.dumps(value)}" for name, value in arguments.items())]))
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        text = "\n".join(part["text"] for part in result["content"] if part["type"] == "text")
        self.show("<- refused:" if result.get("isError") else "<-")
        self.show(textwrap.indent(text, "     ").rstrip())
        return text


class Demo:
    def __init__(self):
        more = options()
        # A socket's path has at most 107 bytes.
        base = os.environ.get("DBR_DEMO_FOLDER", "")
        self.engine = Engine(*more, base=base if 0 < len(base) < 60 else None)
        self.engine.start()
        self.more = more
        self.admin = self.engine.admin()
        self.seen = 0

    def show(self, text):
        print(text.replace(str(self.engine.folder), SHORT), flush=True)

    def shell(self, *words):
        """A command as a person types it."""
        self.show("$ drawbridge engine " + " ".join(shlex.quote(word) for word in words))
        env = {**os.environ, "BRIGADA_TOKEN": self.admin}
        done = subprocess.run([BRIDGE, "engine", *words, "--socket=" + self.engine.socket], env=env, check=False, text=True,
                              capture_output=True, stdin=subprocess.DEVNULL)
        self.show(textwrap.indent(done.stdout + done.stderr, "     ").rstrip())
        if done.returncode != 0:
            WRONG.append(f"drawbridge engine {words[0]}: exit status {done.returncode}")

    def token(self, role):
        return self.engine.ask("POST", "/v1/tokens", {"role": role, "name": "demo"}, self.admin).json["token"]

    def wait(self, kind, count):
        """Until that many events of the kind came since the last wait."""
        while count > 0:
            reply = self.engine.ask("GET", f"/v1/events?after={self.seen}&wait=30", None, self.admin).json
            if not reply["items"]:
                raise SystemExit(f"the demo waited 30 s for {kind}; the engine says:\n{self.engine.log_text()}")
            for event in reply["items"]:
                self.seen = event["seq"]
                count -= event["kind"] == kind
                if count == 0:
                    return

    def coordinator(self):
        config = self.engine.folder / "coordinator.json"
        config.write_text(json.dumps({"mcpServers": {"brigada-coordinator": {
            "command": BRIDGE, "args": ["mcp", "--coordinator", "--socket", self.engine.socket],
            "env": {"BRIGADA_TOKEN": self.token("client"), "BRIGADA_ALLOW_WRITES": "1"}}}}))
        return Coordinator(config, self.show)

    def worker(self):
        env = {**os.environ, "BRIGADA_TOKEN": self.token("worker"), "XDG_STATE_HOME": str(self.engine.folder / "xdg")}
        return subprocess.Popen([PROGRAM, "work", "--socket", self.engine.socket, "--name", "worker-1", *self.more, "--",
                                 "/bin/sh", "-c", SCRIPT], env=env, stdin=subprocess.DEVNULL, stderr=self.engine.log)


def converse(demo):
    heading("1. Two projects, each with a foreman (from a shell)")
    for name in ("shop", "docs"):
        checkout = demo.engine.folder / name
        checkout.mkdir()
        shutil.copy(HERE / "foreman.py", checkout)
        demo.shell("project", "add", f"https://git.example/demo/{name}", f"checkout={checkout}",
                   'command=["python3","foreman.py","{config}"]')
    heading("2. A coordinator's chat: what is there?")
    chat = demo.coordinator()
    print("     its tools: " + ", ".join(chat.tools))
    wants(chat.call("list_projects"), "list_projects", "shop", "docs")
    heading("3. The user asks; each project's foreman wakes, plans through the bridge, and sleeps again")
    wants(chat.call("ask_foreman", repo_url="https://git.example/demo/shop",
                    text="Draw the price list, then print it and translate it"), "ask_foreman", "wakes")
    chat.call("ask_foreman", repo_url="https://git.example/demo/docs", text="Write the manual")
    demo.wait("lease.ended", 2)
    heading("4. What needs the user?")
    wants(chat.call("status"), "status", "awaiting approval", "approval")
    plans = demo.engine.ask("GET", "/v1/plans?state=awaiting_approval", None, demo.admin).json["items"]
    if len(plans) != 2:
        raise SystemExit(f"{len(plans)} plans wait for approval, not 2")
    first, second = sorted(plans, key=lambda plan: -plan["project"])
    heading("5. Before the user says yes, somebody adds to the plan: a yes to what it was doesn't count")
    task = demo.engine.ask("GET", f"/v1/plans/{first['id']}", None, demo.admin).json["tasks"][0]["id"]
    demo.shell("note", str(task), "Mind the umlauts")
    wants(chat.call("plan_approve", plan=first["id"], version=first["version"]), "a version that has changed", "Nothing was approved",
          f"version {first['version'] + 1}")
    heading("6. The user says yes in the chat to what it is now, to the second plan once and for all; a worker starts")
    worker = demo.worker()
    wants(chat.call("plan_approve", plan=first["id"], version=first["version"] + 1), "plan_approve", "Ready for a worker")
    wants(chat.call("plan_approve", plan=second["id"], version=second["version"], and_stop_asking=True),
          "plan_approve, and stop asking", "approval", "never")
    demo.wait("plan.done", 2)
    heading("7. How did it go?")
    wants(chat.call("status", all=True), "status afterwards", "done")
    wants(chat.call("history", repo_url="https://git.example/demo/shop", limit=40), "history", "message.sent", "price list",
          "plan.approved", "task.done", "plan.done")
    chat.close()
    worker.terminate()
    heading(f"The end: the worker ended with {worker.wait(60)}, the engine with {demo.engine.stop()}")


def main():
    demo = Demo()
    print(f"The engine: {PROGRAM} serve\n{SHORT} is {demo.engine.folder}")
    try:
        converse(demo)
    finally:
        if demo.engine.process.poll() is None:
            demo.engine.stop()
        shutil.rmtree(demo.engine.folder, ignore_errors=True)
    for one in WRONG:
        print("WRONG: " + one)
    sys.exit(1 if WRONG else 0)


main()
