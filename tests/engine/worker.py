#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A worker as whoever starts it sees it: what it refuses, what it says while it works and waits, and what it gives back."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from engine_http import BUILD, PROGRAM, WATCHDOG_S, Engine, Tap, can_confine  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
TAP = Tap()
CONFINED = can_confine()
OPTIONS = [] if CONFINED else ["--unconfined"]


class Worker:
    """The started program and its lines, as they come."""

    def __init__(self, yard, *words, env=None, options=OPTIONS):
        self.lines = []
        self.news = threading.Condition()
        self.process = subprocess.Popen([PROGRAM, "work", *options, *words], env=yard.env(**(env or {})), text=True,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stderr:
            with self.news:
                self.lines.append(line.rstrip("\n").removeprefix("drawbridge-engine work: "))
                self.news.notify_all()

    def wait_for(self, words, count=1):
        """The count-th line with these words."""
        with self.news:
            if not self.news.wait_for(lambda: sum(words in line for line in self.lines) >= count, WATCHDOG_S):
                raise SystemExit(f"no line with {words!r} came in {WATCHDOG_S} s:\n" + "\n".join(self.lines))
            return [line for line in self.lines if words in line][count - 1]

    def end(self, how=None):
        if how:
            self.process.send_signal(how)
        status = self.process.wait(WATCHDOG_S)
        self.reader.join(WATCHDOG_S)
        self.process.stderr.close()
        return status

    @property
    def text(self):
        return "\n".join(self.lines)


class Yard:
    """An engine with one project and plans of one or more tasks that may start at once."""

    def __init__(self, checkout="checkout", options=()):
        self.engine = Engine(*OPTIONS, "--max-wait", "1", *options)
        self.engine.start()
        self.admin = self.engine.admin()
        self.worker = self.post("/v1/tokens", {"role": "worker", "name": "worker"})["token"]
        self.checkout = self.engine.folder / "checkout"
        self.checkout.mkdir()
        if checkout:
            (self.engine.folder / checkout).mkdir(exist_ok=True)
        self.project = self.post("/v1/projects", {"repo_url": "https://git.example/a/shop", "settings": {"approval": "never"},
                                                  "checkout": str(self.engine.folder / checkout) if checkout else None})["id"]
        self.lease = self.post(f"/v1/projects/{self.project}/lease", {"holder": "test", "ttl": 3600})["token"]

    def env(self, **more):
        env = {**os.environ, "BRIGADA_TOKEN": self.worker, "BRIGADA_SOCKET": self.engine.socket, "LC_ALL": "C.UTF-8",
               "XDG_STATE_HOME": str(self.engine.folder / "xdg"), "XDG_RUNTIME_DIR": str(self.engine.folder / "none"), **more}
        for name in ("BRIGADA_URL", "BRIGADA_CA_FILE", "LANGUAGE"):
            if name not in more:
                env.pop(name, None)
        return {name: value for name, value in env.items() if value is not None}

    def post(self, target, body, token=None, method="POST"):
        reply = self.engine.ask(method, target, body, token or self.admin)
        assert reply.status < 300, reply.text
        return reply.json

    def plan(self, *titles):
        plan = self.post("/v1/plans", {"title": "Plan", "tasks": [{"title": t, "brief": t} for t in titles]}, self.lease)
        return [task["id"] for task in plan["tasks"]]

    def task(self, task):
        return self.engine.ask("GET", f"/v1/tasks/{task}", None, self.admin).json

    def events(self, kind):
        items = self.engine.ask("GET", "/v1/timeline?limit=500", None, self.admin).json["items"]
        return [event["text"] for event in items if event["kind"] == kind]

    def wait_for(self, kind):
        seen, until = 0, time.monotonic() + WATCHDOG_S
        while time.monotonic() < until:
            for event in self.engine.ask("GET", f"/v1/events?after={seen}&wait=1", None, self.admin).json["items"]:
                if event["kind"] == kind:
                    return event
                seen = event["seq"]
        raise SystemExit(f"no {kind} came in {WATCHDOG_S} s")

    def run(self, *words, cwd=None, **env):
        return subprocess.run([PROGRAM, *words], env=self.env(**env), cwd=cwd, check=False, capture_output=True, text=True,
                              timeout=WATCHDOG_S)

    def close(self):
        TAP.equal(self.engine.close(), 0, "the engine ends well")


def test_refusals():
    """What could only fail one task after another is refused before the first claim."""
    yard = Yard()
    yard.plan("one", "two")
    plain = yard.engine.folder / "plain"
    plain.write_text("no program\n")
    state = str(yard.engine.folder / "state")
    for words, says in (
            (["--", "nosuch"], "there is no command nosuch in PATH"),
            (["--", "/nowhere/nosuch"], "there is no command /nowhere/nosuch"),
            (["--", str(plain)], f"{plain} can't be executed"),
            (["--", "/tmp"], "there is no command /tmp"),
            (["--checkout", str(yard.checkout), "--", "./nosuch"], "there is no command ./nosuch, neither in this folder, "
             f"{os.getcwd()}, nor in the checkout, {yard.checkout}"),
            (["--checkout", str(yard.checkout), "--token-file", str(yard.checkout / "desk.token"), "--", "true"],
             f"--checkout {yard.checkout} holds the worker's token file, {os.path.realpath(yard.checkout)}/desk.token: keep it elsewhere"),
            (["--checkout", "/nowhere", "--", "true"], "--checkout /nowhere is no folder"),
            (["--checkout", str(plain), "--", "true"], f"--checkout {plain} is no folder"),
            (["--checkout", "here", "--", "true"], "--checkout takes an absolute path"),
            (["--checkout", state, "--", "true"], "lies in an engine's own folder, " + os.path.realpath(state)),
            (["--project", "", "--", "true"], "--project takes the number, name or repository URL"),
            ([], "say which command does the jobs")):
        done = yard.run("work", *OPTIONS, *words)
        TAP.ok(done.returncode == 2 and says in done.stderr, f"refused: work {' '.join(words[:3])}", done.stderr)
    TAP.equal(yard.events("job.started"), [], "none of them claimed a job")
    before = len(yard.events("lease.taken"))
    for command, says in (("nosuch", "there is no command nosuch in PATH"), ("./nosuch", "there is no command "),
                          (str(plain), f"{plain} can't be executed")):
        done = yard.run("attach", "--", command, BRIGADA_TOKEN=yard.admin)
        TAP.ok(done.returncode == 2 and says in done.stderr, f"refused: attach -- {command}", done.stderr)
    yard.post("/v1/projects", {"repo_url": "https://git.example/a/store"})
    for words, says in ((["--project", "shop"], ('"test" holds lease', "drawbridge engine lease end LEASE")),
                        (["--project", "stroe"], ('no project "stroe"', "Did you mean store?", "--project", "drawbridge engine project list")),
                        ([], ("several projects", "--project"))):
        done = yard.run("attach", *words, "--", "true", BRIGADA_TOKEN=yard.admin)
        TAP.ok(done.returncode == 1 and all(word in done.stderr for word in says), f"refused: attach {' '.join(words)}, with what to do", done.stderr)
    TAP.equal(len(yard.events("lease.taken")), before, "none of them took the lease")
    yard.close()


def test_tokens():
    """A token that is missing or another's is told with where a good one comes from; who doesn't work says no such thing."""
    yard = Yard()
    client = yard.post("/v1/tokens", {"role": "client", "name": "me"})["token"]
    for name, token in (("none", None), ("a client's", client), ("nobody's", "A" * 43), ("an unreadable", "x y")):
        done = yard.run("work", *OPTIONS, "--", "true", BRIGADA_TOKEN=token)
        TAP.ok(done.returncode == 1 and (name == "an unreadable" or "drawbridge engine token new worker NAME" in done.stderr),
               f"work with {name} token says how to get one", done.stderr)
        TAP.ok("works for" not in done.stderr, "and doesn't say that it works", done.stderr)
        lines = done.stderr.splitlines()
        TAP.ok("\\n" not in done.stderr and (name == "an unreadable" or len(lines) == 2 and lines[1].startswith('"drawbridge engine token new')),
               "what to do has a line of its own", done.stderr)
    for name, token in (("none", None), ("a client's", client), ("a worker's", yard.worker), ("nobody's", "A" * 43)):
        done = yard.run("attach", "--", "true", BRIGADA_TOKEN=token)
        TAP.ok(done.returncode == 1 and "\nAttaching takes an admin's token" in done.stderr and "\\n" not in done.stderr,
               f"attach with {name} token says which it needs", done.stderr)
    TAP.ok("else of BRIGADA_TOKEN, else" in done.stderr and "admin's own file" in yard.run("attach", "--help").stdout, "and which it takes")
    yard.close()


def test_projects():
    """A project is named by number, name or URL, here as everywhere."""
    yard = Yard()
    other = yard.post("/v1/projects", {"repo_url": "https://git.example/o/other"})
    mine = yard.engine.ask("GET", f"/v1/projects/{yard.project}", None, yard.admin).json
    yard.plan("one", "two", "three")
    for word in (str(yard.project), mine["name"], mine["repo_url"] + ".git"):
        done = yard.run("work", *OPTIONS, "--once", "--project", other["name"], "--project", word, "--", "true")
        TAP.ok(done.returncode == 0 and f"of {mine['name']} taken" in done.stderr, f"--project {word}", done.stderr)
    for word in ("nosuch", "99999", "https://git.example/o/nosuch"):
        done = yard.run("work", *OPTIONS, "--once", "--project", word, "--", "true")
        TAP.ok(done.returncode == 1 and word in done.stderr and mine["name"] + '"' not in done.stderr, f"--project {word} is refused", done.stderr)
        TAP.ok("works for" not in done.stderr, "and doesn't say that it works", done.stderr)
    yard.close()


def test_given_back():
    """What can't be started is no attempt at the task, and the worker stops."""
    yard = Yard("gone")
    (yard.engine.folder / "gone").rmdir()
    task, _ = yard.plan("one", "two")
    script = yard.checkout / "script"
    script.write_text("#!/nowhere/interpreter\n")
    script.chmod(0o755)
    cases = [([], "true", "the checkout " + str(yard.engine.folder / "gone") + " is no folder here"),
             (["--checkout", str(yard.checkout)], str(script), "script: No such file or directory"),
             (["--checkout", str(yard.checkout)], "./script", "script: No such file or directory")]
    if CONFINED:
        hidden = yard.engine.folder / "bin"
        hidden.mkdir()
        shutil.copy("/bin/true", hidden / "only-here")
        cases.append((["--checkout", str(yard.checkout)], "only-here", "only-here: No such file or directory"))
    for n, (options, command, says) in enumerate(cases, 1):
        worker = Worker(yard, *options, "--", command, env={"PATH": os.environ["PATH"] + f":{yard.engine.folder}/bin"})
        TAP.equal(worker.end(), 1, f"a worker whose command can't be started stops: {command}")
        TAP.ok("given back, the command could not be started: " in worker.text and says in worker.text
               and "it stops here" in worker.lines[-1], "and says why", worker.text)
        state = yard.task(task)
        TAP.equal((state["state"], state["attempt"]), ("ready", 0), "the task is ready again, the attempt not counted")
        TAP.equal(len(yard.events("job.returned")), n, "one job was claimed, not all")
    TAP.ok("could not start its command" in yard.events("job.returned")[-1], "history says why", yard.events("job.returned"))
    yard.close()


def put_script(path, words):
    path.write_text(f"#!/bin/sh\necho {words}\n")
    path.chmod(0o755)


def test_program():
    """A relative path is one of the folder where the command was typed; else of the checkout."""
    yard = Yard()
    tasks = yard.plan("one", "two", "three", "four", "five")
    mine = yard.engine.folder / "mine" / "deep"
    mine.mkdir(parents=True)
    (yard.engine.folder / "way").symlink_to(mine)
    put_script(mine / "wk.sh", "of mine")
    put_script(mine.parent / "up.sh", "of above")
    put_script(yard.checkout / "wk.sh", "of the checkout")
    put_script(yard.checkout / "own.sh", "of the checkout")
    (mine / "plain.sh").write_text("")
    for command, options, says in (("./wk.sh", [], "of mine"), ("../deep/wk.sh", ["--checkout", str(yard.checkout)], "of mine"),
                                   ("../up.sh", [], "of above"), ("./own.sh", [], "of the checkout"),
                                   ("./own.sh", ["--checkout", str(yard.checkout)], "of the checkout")):
        done = yard.run("work", *OPTIONS, "--once", *options, "--", command, cwd=yard.engine.folder / "way")
        TAP.ok(done.returncode == 0 and "succeeded" in done.stderr, f"work {' '.join(options[:1])} -- {command} is found", done.stderr)
        lines = [event["text"] for event in yard.engine.ask("GET", "/v1/events?limit=500", None, yard.admin).json["items"] if event["kind"] == "job.line"]
        TAP.ok(says in lines[-1:], f"and is the one {says}", lines)
    TAP.ok(all(yard.task(task)["state"] == "done" for task in tasks), "each did a job")
    task, = yard.plan("six")
    done = yard.run("work", *OPTIONS, "--", "./nosuch.sh", cwd=mine)
    TAP.ok(done.returncode == 1 and f"there is no ./nosuch.sh, neither in the checkout {yard.checkout} nor in the folder where the worker was "
           f"started, {mine}" in done.stderr, "one that is nowhere: both places are named", done.stderr)
    TAP.equal((yard.task(task)["state"], len(yard.events("job.returned"))), ("ready", 1), "one job was given back")
    for words, says in (("./plain.sh", f"{mine}/plain.sh can't be executed"), ("wk.sh", "there is no command wk.sh in PATH; the one of this folder is ./wk.sh")):
        for command in (["work", *OPTIONS], ["attach"]):
            done = yard.run(*command, "--", words, cwd=mine, BRIGADA_TOKEN=yard.admin if command == ["attach"] else yard.worker)
            TAP.ok(done.returncode == 2 and says.split("/")[-1] in done.stderr, f"{command[0]} -- {words} is refused", done.stderr)
    yard.post(f"/v1/leases/{yard.engine.ask('GET', '/v1/projects', None, yard.admin).json['items'][0]['lease']['id']}/end", {"outcome": "done"})
    done = yard.run("attach", "--", "./wk.sh", cwd=mine, BRIGADA_TOKEN=yard.admin)
    TAP.equal((done.returncode, done.stdout), (0, "of mine\n"), "attach -- ./wk.sh is the one of this folder")
    yard.close()


def test_lines():
    """What a person reads: who works for whom, what was taken, how it ended, why there is nothing."""
    yard = Yard(None)
    script = "case $BRIGADA_TITLE in good) ;; look) exit 75;; quiet) exit 4;; kill) kill -9 $$;; *) echo one; echo last words >&2; exit 3;; esac"
    worker = Worker(yard, "--name", "wally", "--", "/bin/sh", "-c", script)
    first = worker.wait_for("wally works for")
    TAP.ok(f"unix:{yard.engine.socket}" in first and ("bubblewrap" if CONFINED else "NOT shut in") in first, "who, where, how", first)
    TAP.equal(worker.wait_for("waiting:"), "waiting: No task is ready.", "it says that it waits")
    yard.plan("good", "look", "bad", "quiet", "kill")
    TAP.ok("has no checkout" in worker.wait_for("waiting:", 2), "a project without a checkout is left alone", worker.text)
    TAP.equal(yard.events("job.started"), [], "its jobs aren't claimed")
    yard.post(f"/v1/projects/{yard.project}/hold", {"held": True}, method="PUT")
    yard.post(f"/v1/projects/{yard.project}", {"checkout": str(yard.checkout)}, method="PATCH")
    TAP.ok("on hold" in worker.wait_for("waiting:", 3), "neither is one on hold", worker.text)
    yard.post(f"/v1/projects/{yard.project}/hold", {"held": False}, method="PUT")
    for words in ('("good") of shop taken', 'succeeded', '("look") of shop taken', "put up for review (exit status 75)",
                  "failed (exit status 3): one / last words", "failed (exit status 4), it printed nothing", "failed (signal 9, Killed"):
        worker.wait_for(words)
    TAP.ok(True, "each job has a line for its beginning and its end")
    worker.wait_for("waiting: No task is ready.", 2)
    finished = "\n".join(yard.events("job.finished"))
    TAP.ok("ended with exit status 3; its last lines: one / last words" in finished
           and "exit status 4, and printed nothing." in finished, "history has the last lines too", finished)
    TAP.equal(worker.end(signal.SIGTERM), 0, "told to stop, it ends")
    TAP.equal([line.startswith("waiting") for line in worker.lines].count(True), 4, "each reason was said once")
    done = yard.run("work", *OPTIONS, "--project", "99", "--", "true")
    TAP.ok(done.returncode == 1 and "There is no project 99" in done.stderr, "a wrong project is refused", done.stderr)
    yard.close()


def test_engine_away():
    yard = Yard()
    task, = yard.plan("one")
    yard.engine.stop()
    worker = Worker(yard, "--once", "--", "true")
    line = worker.wait_for("waiting:")
    TAP.ok(f"the engine at unix:{yard.engine.socket} doesn't answer (" in line and '"drawbridge engine serve" starts one' in line
           and "localhost" not in line, "an engine that is away is said to be, by its socket", line)
    yard.engine.start()
    worker.wait_for("works for the engine")
    TAP.equal(worker.end(), 0, "when it is there the worker goes on")
    TAP.equal([sum(words in line for line in worker.lines) for words in ("doesn't answer", "works for", "answers again")], [1, 1, 0],
              "both were said once, and nothing of a time before")
    TAP.equal(yard.task(task)["state"], "done", "and the job done")
    yard.close()


def test_cancel():
    """Cancelled while it runs: told apart from failed, and killed, deaf or not."""
    yard = Yard()
    for script in ("echo started; sleep 1000", "trap '' TERM; echo started; while :; do sleep 1; done"):
        task, = yard.plan("long")
        worker = Worker(yard, "--once", "--", "/bin/sh", "-c", script)
        worker.wait_for("taken")
        while "started" not in "".join(yard.events("job.line")):
            time.sleep(0.05)
        yard.post(f"/v1/tasks/{task}/cancel", {}, yard.lease)
        line = worker.wait_for("cancelled")
        TAP.ok("cancelled: its task was cancelled, the command was stopped" in line, "the worker says cancelled", line)
        TAP.equal(worker.end(), 0, "and is done")
        TAP.ok("failed" not in worker.text, "not failed", worker.text)
        TAP.equal(yard.task(task)["state"], "cancelled", "the task stays cancelled")
    TAP.equal(yard.events("job.finished"), [], "nothing of it was finished")
    yard.close()


def test_stop():
    """A worker that is told to stop gives its job back at once."""
    yard = Yard()
    task, = yard.plan("long")
    worker = Worker(yard, "--", "sleep", "1000")
    worker.wait_for("taken")
    TAP.equal(worker.end(signal.SIGTERM), 0, "told to stop, a worker ends well")
    TAP.ok("given back: the worker was told to stop" in worker.text, "it says what became of the job", worker.text)
    TAP.equal((yard.task(task)["state"], yard.events("job.returned")),
              ("ready", ["The worker was told to stop, and stopped its command."]), "and so does the engine, at once")
    yard.close()


def test_silent():
    """Workers that are heard of no more, killed or stopped: each loses its job to the next one, the third loss fails the task."""
    yard = Yard(options=["--heartbeat", "2"])
    task, = yard.plan("long")
    workers = []
    for n, (name, how) in enumerate((("ann", signal.SIGKILL), ("bob", signal.SIGSTOP), ("cid", signal.SIGKILL)), 1):
        worker = Worker(yard, "--once", "--name", name, "--", "/bin/sh", "-c", "echo started; sleep 1000")
        worker.wait_for("taken")
        now = yard.task(task)
        TAP.equal((now["state"], now["attempt"], now["lost"], now["job"]["worker"], now["job"]["heartbeat_seconds"]),
                  ("running", n, n - 1, name, 2), f"attempt {n} is {name}'s, who is told the interval")
        TAP.equal(yard.events("job.lost"), [w[0] for w in workers], "all before were lost")
        worker.process.send_signal(how)
        workers.append((name, worker))
    event = yard.wait_for("task.failed")
    TAP.equal((event["text"], event["actor"]["role"]), ("3 attempts were lost: their workers fell silent.", "engine"), "the third fails the task")
    now = yard.task(task)
    TAP.equal((now["state"], now["attempt"], now["lost"]), ("failed", 3, 3), "with all three counted")
    needs, = yard.engine.ask("GET", "/v1/status", None, yard.admin).json["needs_you"]
    TAP.equal((needs["kind"], needs["plan"], [t["id"] for t in needs["tasks"]]), ("failed", now["plan"], [task]), "its plan needs the user")
    _, bob = workers[1]
    bob.process.send_signal(signal.SIGCONT)
    line = bob.wait_for("lost:")
    TAP.ok("lost: the engine heard nothing of it for too long" in line, "who comes to again hears of it", line)
    TAP.equal([worker.end() for _, worker in workers], [-signal.SIGKILL, 0, -signal.SIGKILL], "and ends, its command with it")
    TAP.equal((yard.task(task)["state"], len(yard.events("job.finished"))), ("failed", 0), "what it did counts for nothing")
    TAP.equal(yard.post(f"/v1/tasks/{task}/retry", None, yard.lease)["task"]["lost"], 0, "retried, it has three attempts again")
    yard.close()
    for value in ("0", "601", "x"):
        done = yard.run("serve", "--heartbeat", value)
        TAP.ok(done.returncode == 2 and "--heartbeat" in done.stderr, f"an interval that is none: {value}", done.stderr)


def page_script():
    """The worker's script of the foremen's page, as it stands there."""
    text = (HERE.parents[1] / "doc" / "foremen.md").read_text(encoding="utf-8")
    script, = re.findall(r"^A `do-task.sh` may be:\n\n```sh\n(.*?)^```$", text, re.M | re.S)
    return script


def test_page():
    """That script does what its comments say: done, failed and tried again, in review; each on its branch, with all of its work."""
    if not shutil.which("git") or not shutil.which("make"):
        TAP.ok(True, "the page's script # SKIP no git or no make here")
        return
    yard = Yard()
    shop = yard.checkout

    def git(*words):
        return subprocess.run(["git", "-C", str(shop), *words], check=True, text=True, stdout=subprocess.PIPE).stdout.strip()

    def put(name, text):
        (shop / name).parent.mkdir(exist_ok=True)
        (shop / name).write_text(text)
        (shop / name).chmod(0o755)

    put("do-task.sh", page_script())
    put("bin/my-agent", '#!/bin/sh\n[ "$1" = --prompt ] || exit 9\necho "$2" >> "$BRIGADA_TASK.txt"\necho "agent: $2"\n'
        '[ "$2" != "go wrong once" ] || [ "$BRIGADA_ATTEMPT" != 1 ]\n')
    put("Makefile", "check:\n\t! grep -q sloppy *.txt\n")
    git("init", "-q", "-b", "main")
    for name in ("name", "email"):
        git("config", "user." + name, "worker@example.org")
    git("add", "-A")
    git("commit", "-qm", "Begin")
    good, wrong, sloppy = yard.plan("do well", "go wrong once", "be sloppy")
    branch = {task: yard.task(task)["branch"] for task in (good, wrong, sloppy)}
    path = {"PATH": f"{shop}/bin:{os.environ['PATH']}"}

    def work(task, ends):
        worker = Worker(yard, "--once", "--", "./do-task.sh", env=path)
        TAP.equal((worker.end(), yard.task(task)["state"]), (0, ends), f"{yard.task(task)['title']}: {ends}")
        TAP.equal((git("branch", "--show-current"), git("status", "--porcelain")), (branch[task], ""), "on its branch, all of it committed")
        return git("log", "--format=%s", "-1")

    TAP.equal(work(good, "done"), "do well", "by the task's title")
    TAP.ok("agent: do well" in "".join(yard.events("job.line")), "the agent got the brief", yard.events("job.line"))
    TAP.equal(work(wrong, "failed"), "go wrong once", "a failed attempt's work too")
    yard.post(f"/v1/tasks/{wrong}/retry", None, yard.lease)
    TAP.equal(work(wrong, "done"), "go wrong once", "tried again, it goes on from there")
    TAP.equal(git("rev-list", "--count", "--grep=go wrong once", branch[wrong]), "2", "with both attempts")
    work(sloppy, "review")
    yard.close()


def test_places():
    """Where the engine is and who asks: option, environment, default; each fault named, no secret shown."""
    yard = Yard()
    folder = yard.engine.folder
    nothing = str(folder / "nothing.sock")
    token = folder / "token"
    token.write_text(yard.worker + "\n")
    token.chmod(0o600)
    yard.plan("a", "b", "c")
    work = ["work", *OPTIONS, "--once"]
    for name, options, env in (
            ("the variable", [], {}),
            ("the option before the variable", ["--socket", yard.engine.socket], {"BRIGADA_SOCKET": nothing}),
            ("the socket before an address", ["--token-file", str(token)],
             {"BRIGADA_URL": "http://127.0.0.1:9", "BRIGADA_TOKEN": None})):
        done = yard.run(*work, *options, "--", "true", **env)
        TAP.ok(done.returncode == 0 and "succeeded" in done.stderr, f"the engine is found by {name}", done.stderr)
    done = yard.run("attach", BRIGADA_SOCKET=nothing)
    TAP.ok(done.returncode == 1 and f"the engine at unix:{nothing} doesn't answer (" in done.stderr
           and '"drawbridge engine serve"' in done.stderr and "localhost" not in done.stderr,
           "attach without an engine names the socket", done.stderr)
    # The same judgement in the same words as the bridge's, which reads the same variable.
    bridge = [os.path.join(BUILD, "drawbridge"), "call", "--client", "engine", "status"]
    for url in ("http://engine.example:80", "ftp://127.0.0.1", "https://user:secret@127.0.0.1", "secret", "http://127.0.0.1:9/?x=secret",
                "https://engine.example/#secret", "http://[::1", "http://127.0.0.1:0", "https://engine.example/a/../b", "http:///x"):
        done = yard.run(*work, "--", "true", BRIGADA_SOCKET=None, BRIGADA_URL=url)
        said = done.stderr.removeprefix("drawbridge-engine work: ").rstrip("\n")
        TAP.ok(done.returncode == 1 and "secret" not in done.stderr and ("BRIGADA_URL" in said and "\n" not in said),
               f"an address that isn't one: {url}", done.stderr)
        other = subprocess.run(bridge, env=yard.env(BRIGADA_SOCKET=None, BRIGADA_URL=url), check=False, capture_output=True, text=True,
                               timeout=WATCHDOG_S)
        TAP.ok(other.returncode == 1 and said.split(" ", 1)[1] in other.stdout + other.stderr and "secret" not in other.stdout + other.stderr,
               f"the bridge says the same of {url}", said + "\n" + other.stdout + other.stderr)
    done = yard.run(*work, "--", "true", BRIGADA_SOCKET=None, BRIGADA_URL="https://127.0.0.1:9", BRIGADA_CA_FILE=str(token))
    TAP.ok(done.returncode == 1 and f"the certificates in {token} can't be used" in done.stderr, "certificates that aren't any",
           done.stderr)
    done = yard.run(*work, "--socket", "run/engine.sock", "--", "true")
    TAP.ok(done.returncode == 1 and "is no path of a socket: absolute" in done.stderr, "a socket that isn't one", done.stderr)
    for content, says in ((b"secret\nsecret\n", "more than one line"), (b"secret \n", "a blank"), (b"secret\r\n", "carriage return"),
                          ("s\u00e9cret".encode(), "outside ASCII"), (b"secret\0", "a zero byte"), (b"", "is empty"),
                          (b"secret" * 1000, "longer than any token")):
        token.write_bytes(content)
        done = yard.run(*work, "--token-file", str(token), "--", "true")
        TAP.ok(done.returncode == 1 and f"{token} holds no token: it " in done.stderr and says in done.stderr
               and "secret" not in done.stderr.replace(str(token), "") and "CRITICAL" not in done.stderr, f"a token file with {says}",
               done.stderr)
        if b"\0" not in content and content:
            for words in (work + ["--", "true"], ["attach"]):
                done = yard.run(*words, BRIGADA_TOKEN=os.fsdecode(content))
                TAP.ok(done.returncode == 1 and "BRIGADA_TOKEN holds no token: it " in done.stderr and says in done.stderr
                       and "secret" not in done.stderr, f"{words[0]}: BRIGADA_TOKEN with {says}", done.stderr)
    yard.close()


def test_states():
    """A state in a folder of its own choice: no command runs where it is within its reach, as far as the worker can know of it."""
    yard = Yard(None)
    around = yard.engine.folder / "around"
    deep = around.joinpath(*(f"d{n}" for n in range(8)))
    near = yard.engine.folder / "near"
    link = yard.engine.folder / "link"
    for folder in (deep, near / "x"):
        folder.mkdir(parents=True)
        (folder / "admin.token").write_text(yard.admin + "\n")
    link.symlink_to(around)
    shutil.copy(HERE / "spy.py", around)
    own = ": give the project a folder of its own"
    for name, words, says in (
            ("found below the checkout", ["--checkout", str(near)], "holds an engine's own folder, x" + own),
            ("named", ["--checkout", str(around), "--state", str(deep / "engine.db")], "holds an engine's own folder, "),
            ("named, behind a link", ["--checkout", str(link), "--state", str(deep)], "holds an engine's own folder, ")):
        done = yard.run("work", *OPTIONS, "--once", *words, "--", "true")
        TAP.ok(done.returncode == 2 and f"--checkout {words[1]} {says}" in done.stderr, f"refused with a state that is {name}", done.stderr)
    # The project's own checkout: known when a job is taken.
    yard.post(f"/v1/projects/{yard.project}", {"checkout": str(yard.checkout)}, method="PATCH")
    task, = yard.plan("look around")
    for name, options, says in (
            ("a state was moved into", [], "holds an engine's own folder, here"),
            ("is a link to a state", ["--state", str(deep)], "lies in an engine's own folder, "),
            ("holds the worker's token file", ["--token-file", str(yard.checkout / "desk.token")], f"the checkout {yard.checkout} holds the worker's token file, ")):
        if "moved" in name:
            shutil.copytree(near / "x", yard.checkout / "here")
        elif "link" in name:
            shutil.rmtree(yard.checkout)
            yard.checkout.symlink_to(deep)
        else:
            yard.checkout.unlink()
            yard.checkout.mkdir()
            (yard.checkout / "desk.token").write_text(yard.worker + "\n")
            (yard.checkout / "desk.token").chmod(0o600)
        worker = Worker(yard, "--once", *options, "--", "true")
        TAP.equal(worker.end(), 1, f"a worker stops where the checkout {name}")
        TAP.ok("given back" in worker.text and says in worker.text, "saying why", worker.text)
        TAP.equal((yard.task(task)["state"], yard.task(task)["attempt"]), ("ready", 0), "the job was given back")
    # One that it can't know of.
    if CONFINED:
        worker = Worker(yard, "--once", "--checkout", str(around), "--", "python3", "spy.py", str(deep), yard.engine.socket, "report.json")
        TAP.equal(worker.end(), 0, "deeper than it looks, and not named")
        TAP.equal(json.loads((around / "report.json").read_text())["state"], ["admin.token"], "a spy sees it (so it is a good one)")
    yard.close()


def test_care():
    """What backup and check say; and their language."""
    yard = Yard()
    yard.plan("one")
    copy = str(yard.engine.folder / "copy.db")
    state = ["--state", yard.engine.state]
    done = yard.run("backup", *state, copy)
    TAP.ok(done.returncode == 0 and done.stdout.startswith(f"{copy}: ") and "kB, projects: 1, plans: 1, events: " in done.stdout,
           "backup says what it wrote", done.stdout + done.stderr)
    before = pathlib.Path(copy).read_bytes()
    done = yard.run("backup", *state, copy)
    TAP.ok(done.returncode == 1 and f"{copy} is there already; --force replaces it" in done.stderr, "it replaces nothing unasked",
           done.stderr)
    TAP.ok(pathlib.Path(copy).read_bytes() == before and not os.path.exists(copy + ".part"), "and leaves nothing")
    TAP.equal(yard.run("backup", *state, "--force", copy).returncode, 0, "with --force it does")
    done = yard.run("backup", *state, "--force", yard.engine.state)
    TAP.ok(done.returncode == 2 and "is the state itself" in done.stderr, "never the state by itself", done.stderr)
    done = yard.run("check", "--state", copy)
    TAP.ok(done.returncode == 0 and re.search(
        r": sound\. Checked: the file's structure, and \d+ rules about its records \(projects: 1, plans: 1, events: \d+\)", done.stdout), "check says what it checked", done.stdout)
    for command in ("", "work", "serve", "attach", "backup", "check"):
        done = yard.run(*[command] if command else [], "--help", LC_ALL="C")
        TAP.ok(done.returncode == 0 and "?" not in done.stdout and done.stdout.isascii() and "[OPTION...]" in done.stdout,
               f"{command or 'drawbridge-engine'} --help is plain where letters are", done.stdout)
    if shutil.which("locale") and "de_DE.utf8" in subprocess.run(["locale", "-a"], check=False, text=True, capture_output=True).stdout:
        done = yard.run("check", "--state", copy, LC_ALL="de_DE.UTF-8", LANGUAGE="de")
        TAP.ok("unversehrt" in done.stdout, "messages are translated", done.stdout)
    yard.close()


def main():
    signal.alarm(WATCHDOG_S * 8)
    only = sys.argv[1:]
    for test in (test_refusals, test_tokens, test_projects, test_given_back, test_program, test_lines, test_engine_away, test_cancel, test_stop, test_silent, test_page, test_places,
                 test_states, test_care):
        if not only or test.__name__ in only:
            test()
    TAP.end()


main()
