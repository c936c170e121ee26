#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""README's first steps with the engine, as a newcomer pastes them: every line of that block is run."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from engine_http import BUILD, WATCHDOG_S, Answer, Connection, Tap, can_confine  # noqa: E402

SOURCE = pathlib.Path(__file__).resolve().parents[2]
TAP = Tap()


def steps():
    """The commands of the block, without their comments."""
    text = (SOURCE / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^    drawbridge engine serve\n(?:    .*\n|\n)+", text, re.M)
    return [re.sub(r"\s{2,}#.*", "", line).strip() for line in block.splitlines() if line.strip()]


class Newcomer:
    """Two terminals of one person."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "doc").mkdir()
        shutil.copy(SOURCE / "doc" / "example-foreman.py", folder / "doc")
        (folder / "run").mkdir(mode=0o700)
        self.env = {**{name: os.environ[name] for name in ("LD_LIBRARY_PATH", "ASAN_OPTIONS") if name in os.environ},
                    "PATH": f"{pathlib.Path(BUILD).resolve()}:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": str(folder),
                    "XDG_RUNTIME_DIR": str(folder / "run"), "XDG_STATE_HOME": str(folder / "state")}
        self.more = [] if can_confine() else ["--unconfined"]
        self.shell = subprocess.Popen(["/bin/sh"], cwd=folder, env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True)

    def serve(self, line):
        server = subprocess.Popen(line.split() + self.more, cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=open(self.folder / "log", "w", encoding="utf-8"), text=True)
        server.stdout.readline()
        return server

    def ask(self, path):
        token = (self.folder / "state" / "drawbridge" / "admin.token").read_text().strip()
        mine = Connection(str(self.folder / "run" / "drawbridge" / "engine.sock"))
        mine.request("GET", "/v1" + path, headers={"Authorization": "Bearer " + token})
        items = Answer(mine.getresponse()).json["items"]
        mine.close()
        return items

    def wait_for(self, kind, seen=0):
        """The number of the event after that one: the first of its kind."""
        while True:
            events = self.ask(f"/events?after={seen}&wait=30")
            if not events:
                raise SystemExit(f"no {kind} came in 30 s")
            for event in events:
                if event["kind"] == kind:
                    return event["seq"]
            seen = events[-1]["seq"]

    def type(self, line):
        """In the one shell: what a line sets is there for the next."""
        self.shell.stdin.write(f"{line}\necho \"[end $?]\"\n")
        self.shell.stdin.flush()
        text = ""
        while not (found := re.search(r"\[end (\d+)\]\n$", text)):
            got = self.shell.stdout.readline()
            if not got:
                raise SystemExit(f"the shell ended at {line}:\n{text}")
            text += got
        return text[:found.start()], int(found[1])


def reject(me):
    """The engine speaks to the foreman, too: each message is given to it once, and answered."""
    seen = me.wait_for("plan.done")
    me.type("unset BRIGADA_TOKEN; drawbridge engine ask 'Paint it red'")
    seen = me.wait_for("lease.ended", me.wait_for("plan.created", seen))
    text, _ = me.type("drawbridge engine status | grep '^    to reject it'")
    text, status = me.type(text.strip().removeprefix("to reject it: ") + " not red")
    TAP.equal(status, 0, text.strip())
    me.wait_for("lease.ended", me.wait_for("message.answered", seen))
    messages = me.ask("/messages")
    TAP.equal(({one["state"] for one in messages}, {one["author"] for one in messages}), ({"answered"}, {"user", "engine"}),
              "the example answers whoever speaks to it")
    crashed = [event["text"] for event in me.ask("/events?after=0") if event["kind"] in ("turn.crashed", "turn.unanswered")]
    TAP.equal(crashed, [], "no turn of it crashed")


def main():
    with tempfile.TemporaryDirectory(prefix="dbr-") as folder:
        me = Newcomer(pathlib.Path(folder))
        lines = steps()
        TAP.ok(len(lines) == 10, "README's block", lines)
        server = me.serve(lines.pop(0))
        for line in lines:
            if " approve " in line:
                me.wait_for("lease.ended")  # the foreman's turn takes as long as it takes
                text, _ = me.type("drawbridge engine status | grep '^    to approve it'")
                printed = text.strip().removeprefix("to approve it: ")
                TAP.equal(re.sub(r"\d+", "", printed, count=1), re.sub(r"\d+", "", line, count=1), "status prints README's very next line")
                line = printed
            if " work " in line:
                line = re.sub(r"work --", "work --once " + " ".join(me.more) + " --", line)
                me.type(line)
            text, status = me.type(line)
            TAP.ok(status == 0, line, text)
        TAP.ok("plan.done" in text and "message.answered" in text and "worker desk" in text, "history tells it", text)
        made = sorted(path.name for path in (me.folder / "app").iterdir())
        TAP.ok("Draw the form.txt" in made and "test the form.txt" in made, "the tasks were done", made)
        reject(me)
        me.shell.stdin.close()
        me.shell.wait(WATCHDOG_S)
        server.send_signal(signal.SIGTERM)
        server.stdout.read()
        TAP.equal(server.wait(WATCHDOG_S), 0, "the engine ends in peace")
    TAP.end()


main()
