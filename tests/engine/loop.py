#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The whole loop with the built programs: a user asks, a foreman wakes and plans through the bridge, the user approves,
workers do the tasks; and everything that a command of a foreman or a worker may do wrong."""
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time
import uuid

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import spy  # noqa: E402
from engine_http import BUILD, PROGRAM, WATCHDOG_S, Engine, Tap, can_confine  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
TAP = Tap()
CONFINED = can_confine()
OPTIONS = [] if CONFINED else ["--unconfined"]


class Shop:
    """An engine with its users, and the waiting that every test needs."""

    def __init__(self, *options, linked=False):
        self.engine = Engine(*OPTIONS, *options)
        if linked:
            (self.engine.folder / "real").mkdir(0o700)
            (self.engine.folder / "state").symlink_to(self.engine.folder / "real")
        self.engine.start()
        self.admin = self.engine.admin()
        self.client = self.token("client")
        self.worker = self.token("worker")
        self.seen = 0
        self.events = []

    def token(self, role):
        return self.engine.ask("POST", "/v1/tokens", {"role": role, "name": role}, self.admin).json["token"]

    def project(self, name, command, **settings):
        checkout = self.engine.folder / name
        checkout.mkdir()
        for script in ("foreman.py", "spy.py"):
            shutil.copy(HERE / script, checkout)
        reply = self.engine.ask("POST", "/v1/projects", {
            "repo_url": f"git@git.example:owner/{name}.git", "checkout": str(checkout), "settings": settings,
            "foreman_command": {"command": command} if command else None}, self.admin)
        assert reply.status == 201, reply.text
        return reply.json

    def say(self, project, text):
        return self.engine.ask("POST", f"/v1/projects/{project['id']}/messages", {"text": text}, self.client).json

    def wait(self, kind, project=None, count=1):
        """The count-th event of that kind from now on; what came meanwhile is kept for the next wait."""
        until = time.monotonic() + WATCHDOG_S
        while time.monotonic() < until:
            for i, event in enumerate(self.events):
                if event["kind"] == kind and (project is None or event["project"] == project["id"]):
                    count -= 1
                    del self.events[: i + 1]
                    if count == 0:
                        return event
                    break
            else:
                reply = self.engine.ask("GET", f"/v1/events?after={self.seen}&wait=10", None, self.client).json
                self.events += reply["items"]
                if reply["items"]:
                    self.seen = reply["items"][-1]["seq"]
        last = "\n".join(f"{e['kind']}: {e['text']}" for e in self.get("/v1/timeline?limit=10")["items"])
        raise SystemExit(f"no event {kind} came in {WATCHDOG_S} s; the last were:\n{last}\n{self.engine.log_text()}")

    def get(self, target):
        return self.engine.ask("GET", target, None, self.client).json

    def plans(self, project):
        return self.get(f"/v1/plans?project={project['id']}")["items"]

    def approve(self, plan):
        return self.engine.ask("POST", f"/v1/plans/{plan['id']}/approve", {"version": plan["version"]}, self.client)

    def work(self, *command, options=()):
        env = {**os.environ, "BRIGADA_TOKEN": self.worker, "XDG_STATE_HOME": str(self.engine.folder / "xdg")}
        env.pop("BRIGADA_URL", None)
        return subprocess.Popen([PROGRAM, "work", "--socket", self.engine.socket, *OPTIONS, *options, "--", *command],
                                env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.engine.log)

    def leftovers(self):
        return [path.name for path in (self.engine.folder / "state" / "turns").iterdir()]

    def close(self):
        return self.engine.close()


def processes_with(mark):
    """Every process of the machine whose command line has the mark."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if mark.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                pass
    return found


def wait_until(true, what):
    """For what no event tells: the end of a process."""
    until = time.monotonic() + WATCHDOG_S
    while not true():
        if time.monotonic() > until:
            raise SystemExit(f"waited {WATCHDOG_S} s for: {what}")
        time.sleep(0.02)


def stop(process):
    process.terminate()
    return process.wait(WATCHDOG_S)


FOREMAN = ["python3", "foreman.py", "{config}"]


def test_loop():
    shop = Shop()
    one, two = shop.project("one", FOREMAN), shop.project("two", FOREMAN, approval="never")
    said = shop.say(one, "Draw the plan, then build the wall and paint the door")
    TAP.equal(said["outcome"], "woke", "asking wakes the foreman")
    again = shop.say(one, "Draw the plan, then build the wall and paint the door")
    TAP.ok(again["repeat"] and again["id"] == said["id"], "the same text again is told as a repeat")
    shop.wait("lease.ended", one)
    (plan,) = shop.plans(one)
    TAP.equal(plan["state"], "awaiting_approval", "the plan awaits the user")
    status = shop.get("/v1/status")
    needs = [(n["kind"], n["plan"], n["version"]) for n in status["needs_you"] if n["kind"] == "plan"]
    TAP.equal(needs, [("plan", plan["id"], plan["version"])], "status says what needs the user")
    TAP.equal([m["state"] for m in shop.get("/v1/messages")["items"]], ["answered"], "the message was answered")

    worker = shop.work("/bin/sh", "-c", "cat; echo on $BRIGADA_BRANCH in $PWD; test -z \"$BRIGADA_TOKEN\"")
    TAP.equal(shop.approve(plan).status, 200, "the user approves")
    shop.wait("plan.done", one)
    full = shop.get(f"/v1/plans/{plan['id']}")
    TAP.equal({task["state"] for task in full["tasks"]}, {"done"}, "a worker did all tasks")
    waves = {task["title"]: task["wave"] for task in full["tasks"]}
    TAP.equal(waves, {"Draw the plan": 1, "build the wall": 2, "paint the door": 2}, "in two waves")
    lines = [e["text"] for e in shop.get(f"/v1/timeline?project={one['id']}&limit=500")["items"] if e["kind"] == "job.line"]
    TAP.ok(len(lines) >= 3 and "Draw the plan" in "".join(lines) and str(shop.engine.folder / "one") in "".join(lines),
           "what the worker printed is history: it got the brief and ran in the checkout", lines)
    shop.say(two, "Sweep the yard")
    shop.wait("plan.done", two)
    TAP.ok(True, "with approval never the second project's plan runs by itself")
    shop.wait("report.made", two)
    TAP.equal(stop(worker), 0, "a worker that is told to stop ends well")

    wait_until(lambda: shop.get("/v1/projects")["items"][1]["foreman"] == "asleep", "the last turn's end")
    TAP.equal(shop.leftovers(), [], "no folder and no token file is left")
    TAP.equal(shop.close(), 0, "the engine ends well")


def test_review_and_failure():
    shop = Shop()
    project = shop.project("shop", FOREMAN, approval="never")
    worker = shop.work("/bin/sh", "-c", "case $BRIGADA_TITLE in *look*) exit 75;; *) echo no >&2; exit 3;; esac",
                       options=["--name", "wally"])
    shop.say(project, "take a look and break it")
    shop.wait("task.failed", project)
    states = {}

    def settled():
        states.update((t["title"], t["state"]) for t in shop.get(f"/v1/plans/{shop.plans(project)[0]['id']}")["tasks"])
        return set(states.values()) == {"review", "failed"}

    wait_until(settled, "both tasks' ends")
    TAP.equal(states, {"take a look": "review", "break it": "failed"}, "exit 75 is a review, 3 a failure")
    text = json.dumps(shop.get("/v1/timeline?limit=500"))
    TAP.ok("wally" in text and "exit status 3" in text, "history says who and how", text[-800:])
    worker.kill()
    worker.wait()
    shop.close()


def test_attach():
    shop = Shop()
    project = shop.project("shop", FOREMAN)
    chat = shop.engine.folder / "chat.py"
    chat.write_text("import sys\nprint(sys.argv[1], flush=True)\nsys.stdin.readline()\n")
    env = {**os.environ, "BRIGADA_TOKEN": shop.admin, "XDG_RUNTIME_DIR": str(shop.engine.folder / "run")}
    attached = subprocess.Popen([PROGRAM, "attach", "--socket", shop.engine.socket, "--project", "https://git.example/owner/shop",
                                 "--", sys.executable, str(chat), "{config}"], env=env, stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=shop.engine.log, text=True)
    config = pathlib.Path(attached.stdout.readline().strip())
    TAP.equal(shop.get("/v1/projects")["items"][0]["foreman"], "attached", "a chat is attached")
    entry = json.loads(config.read_text())["mcpServers"]["brigada"]
    TAP.equal(config.stat().st_mode & 0o777, 0o600, "its entry is private")
    token = entry["env"]["BRIGADA_TOKEN"]
    TAP.equal(shop.engine.ask("GET", "/v1/status", None, token).status, 200, "the entry's token opens the project")
    said = shop.say(project, "Mow the lawn")
    TAP.equal(said["outcome"], "attached", "a message waits for the chat")
    attached.stdin.close()
    TAP.equal(attached.wait(WATCHDOG_S), 0, "the chat ends")
    shop.wait("plan.created", project)
    TAP.ok(True, "detaching wakes the foreman for what waits")
    TAP.equal(shop.engine.ask("GET", "/v1/status", None, token).status, 401, "the chat's token ended with it")
    TAP.ok(not config.exists(), "its entry is gone")
    shop.close()


def test_bad_foremen():
    """Each ends as an event, leaves nothing, and doesn't stop the project."""
    shop = Shop()
    mark = uuid.uuid4().hex
    scripts = {
        "exits": ("exit 9", "exit status 9"),
        "explains": ("seq 1 2000; echo Error: no key >&2; printf '\\n\\n'; exit 1", "Its last line: Error: no key\n"),
        "missing": (None, "is no program that the engine can start"),
        "floods": ("yes flood | head -c 30000000; exit 4", "flood"),
        "forks": (f"for i in 1 2 3; do setsid sh -c 'trap \"\" TERM HUP; sleep 1000; : {mark}' & done; exit 5", "exit status 5"),
        "crashes": ("kill -SEGV $$", "signal 11"),
    }
    projects = {name: shop.project(name, ["/bin/sh", "-c", script] if script else ["/nonexistent/foreman"])
                for name, (script, _) in scripts.items()}
    for name, project in projects.items():
        shop.say(project, "Do something")
    for name, (_, wanted) in scripts.items():
        events = [e for e in shop.get(f"/v1/timeline?project={projects[name]['id']}&limit=500")["items"]
                  if e["kind"] == "turn.crashed"]
        if not events:
            events = [shop.wait("turn.crashed", projects[name])]
            shop.seen, shop.events = 0, []
        TAP.ok(wanted in events[0]["text"] and len(events[0]["text"]) < 4000, f"a foreman that {name} is an event",
               events[0]["text"][:2000])
    TAP.equal(processes_with(mark), [], "nothing that it started in sessions of their own is left")

    # The message waits again, and is given up after three turns that failed over it.
    exits = projects["exits"]
    shop.seen, shop.events = 0, []
    shop.wait("turn.crashed", exits, count=3)
    TAP.equal(shop.engine.ask("GET", "/v1/health").status, 200, "the engine serves meanwhile")
    said = shop.say(exits, "Something else")
    TAP.ok(said["outcome"] == "trouble" and "The foreman's last 3 turns failed, the last one ended with exit status 9" in said["outcome_text"]
           and "The next try is in " in said["outcome_text"], "who asks is told that it waits, why and how long", said)
    trouble = shop.get(f"/v1/projects/{exits['id']}")["foreman_trouble"]
    TAP.ok(trouble["failures"] == 3 and trouble["next_try"], "the project says the same", trouble)
    given_up = shop.get(f"/v1/messages?project={exits['id']}")["items"][1]
    TAP.equal(given_up["turn_ended"]["outcome"], "crashed", "the message that was given up says so")
    reply = shop.engine.ask("PATCH", f"/v1/projects/{exits['id']}", {"foreman_command": {
        "command": ["/bin/sh", "-c", "sleep 1000; : " + mark]}}, shop.admin)
    TAP.equal(reply.json["foreman_trouble"], None, "a new command ends the trouble")
    wait_until(lambda: processes_with(mark), "the new command's start")
    TAP.ok(True, "and wakes at once for what waits")
    TAP.equal(shop.close(), 0, "the engine ends well")


def test_refused_settings():
    """What can never run is refused where it is set, every fault by its field; what may run later is told."""
    shop = Shop()
    project = shop.project("shop", None)
    place = f"/v1/projects/{project['id']}"

    def problems(**change):
        reply = shop.engine.ask("PATCH", place, change, shop.admin)
        return {e["field"]: e["problem"] for e in reply.json["errors"]} if reply.status == 422 else reply.text

    for name in ("cloude", "x" + "\u00e4" * 49, "\u00e4" * 50):
        said = problems(foreman_command={"preset": name})
        TAP.ok("claude, codex, gemini and opencode" in said["foreman_command.preset"], "a preset that isn't there is refused", said)
    TAP.ok("did you mean claude?" in problems(foreman_command={"preset": "cloude"})["foreman_command.preset"], "with the nearest")
    folder = shop.engine.folder
    (folder / "file").write_text("")
    for path, wanted in ((folder / "gone", "is not there"), (folder / "file", "is not a folder"), ("relative", "absolute path")):
        said = problems(checkout=str(path), foreman_command={
            "command": ["do", "{promt}", "{token}", "{model}", "{}"], "environment": ["A", "B=1", "BRIGADA_TOKEN", "LD_PRELOAD"]})
        TAP.ok(wanted in said["checkout"], f"a checkout that {wanted}", said)
        TAP.equal(sorted(said), ["checkout", *(f"foreman_command.command[{i}]" for i in (1, 2, 3)),
                                 *(f"foreman_command.environment[{i}]" for i in (1, 2, 3))], "all faults at once, by field")
        TAP.ok("did you mean {prompt}?" in said["foreman_command.command[1]"], "with the nearest placeholder", said)
    TAP.equal(shop.get(place)["foreman_command"], None, "nothing was changed")
    reply = shop.engine.ask("PATCH", place, {"foreman_command": {"command": ["no-such-harness"]}}, shop.admin)
    TAP.ok(reply.status == 200 and reply.json["notes"] == ['No turn can start now: "no-such-harness" is not on the engine\'s PATH.'],
           "a program that isn't there is accepted, with a warning", reply.text)
    said = shop.say(project, "Are you there?")
    TAP.ok(said["outcome"] == "trouble" and '"no-such-harness" is not on the engine\'s PATH' in said["outcome_text"],
           "who asks is told", said)
    needs = shop.get("/v1/status")["needs_you"]
    TAP.ok(needs[0]["kind"] == "foreman" and "no-such-harness" in needs[0]["text"], "and so is who looks at the status", needs)
    shop.engine.stop(kill=True)
    shop.engine.start()
    TAP.ok("no-such-harness" in shop.get(place)["foreman_trouble"]["reason"], "also after a restart")
    checkout = pathlib.Path(project["checkout"])
    checkout.rename(folder / "elsewhere")
    shop.engine.ask("PATCH", place, {"foreman_command": {"command": ["sh", "-c", "exit 0"]}}, shop.admin)
    said = shop.say(project, "And now?")
    TAP.ok(f"the checkout {checkout} is not there" in said["outcome_text"], "a checkout that vanished is told", said)
    (folder / "elsewhere").rename(checkout)
    shop.wait("turn.unanswered", project)
    TAP.equal(shop.get(place)["foreman_trouble"], None, "once it is back the next try goes well")
    TAP.equal(shop.close(), 0, "the engine ends well")


def test_deaf_foreman():
    """One that hangs and ignores SIGTERM: by the end of its lease, by the engine's end, by the engine's kill."""
    shop = Shop()
    mark = uuid.uuid4().hex
    command = ["/bin/sh", "-c", f"trap '' TERM HUP; while :; do sleep 1000; done; : {mark}"]
    project = shop.project("deaf", command)
    shop.say(project, "Do something")
    wait_until(lambda: processes_with(mark), "the foreman's start")
    TAP.equal(shop.say(project, "Another thing")["outcome"], "turn_running", "a message waits for the turn")
    TAP.equal(len(shop.leftovers()), 2, "a folder and its record while it runs")
    record = shop.engine.folder / "state" / "turns"
    TAP.ok(all(path.stat().st_mode & 0o077 == 0 for path in record.iterdir()), "both are private")
    lease = shop.get("/v1/projects")["items"][0]["lease"]["id"]
    TAP.equal(shop.engine.ask("POST", f"/v1/leases/{lease}/end", {"outcome": "crashed"}, shop.admin).status, 200,
              "the admin ends its lease")
    first = set(processes_with(mark))
    wait_until(lambda: not first & set(processes_with(mark)), "the foreman's end")
    TAP.ok(True, "then it is killed, deaf or not")

    wait_until(lambda: processes_with(mark), "the next turn")
    shop.engine.stop(kill=True)
    wait_until(lambda: not processes_with(mark), "the foreman's end")
    TAP.ok(True, "a killed engine leaves no foreman")
    before = shop.leftovers()
    shop.engine.start()
    wait_until(lambda: processes_with(mark), "the turn after the restart")
    TAP.ok(before and not set(before) & set(shop.leftovers()), "the restarted engine deleted what was left", before)
    log = shop.engine.log_text().splitlines()
    TAP.ok("drawbridge-engine: cleaned up after 1 turn of an earlier run" in log and all(line.startswith("drawbridge-engine: ") for line in log),
           "and its log says so, as plain as all that it says", log)
    shop.seen, shop.events = 0, []
    texts = [e["text"] for e in shop.get("/v1/timeline?limit=500")["items"] if e["kind"] == "lease.ended"]
    TAP.ok(any("ended with the engine that started it" in text for text in texts), "history says why the turn ended", texts)
    for _ in range(3):
        TAP.equal(shop.engine.stop(), 0, "told to end, the engine ends")
        TAP.equal(processes_with(mark), [], "and with it the foreman")
        shop.engine.start()
        wait_until(lambda: processes_with(mark), "the turn after the restart")
    status = shop.get("/v1/status")
    TAP.equal(([m["turn_ended"] for m in status["waiting_messages"]], status["needs_you"]), ([None, None], []),
              "however often the engine ended, no turn failed over the messages")
    TAP.equal(shop.engine.stop(), 0, "told to end, the engine ends")
    TAP.equal(shop.leftovers(), [], "and its folder")
    shop.engine.close()


def test_killed_at_wake():
    """The lease is taken with the message that wakes: killed right after its acknowledgement, or a moment later, neither is lost."""
    shop = Shop()
    project = shop.project("shop", FOREMAN)
    for n in range(4):
        said = shop.say(project, f"Sweep yard {n}")
        if n % 2:
            wait_until(lambda: shop.leftovers(), "the turn's folder")
        shop.engine.stop(kill=True)
        shop.engine.start()

        def answered(number=said["id"]):
            return any(m["id"] == number and m["state"] == "answered" for m in shop.get("/v1/messages")["items"])

        wait_until(answered, "the answer after the restart")
        TAP.ok(True, f"round {n}: the message was acknowledged, so it is answered")
        wait_until(lambda: shop.get(f"/v1/projects/{project['id']}")["foreman"] == "asleep", "the turn's end")
    TAP.equal(shop.leftovers(), [], "nothing is left of the turns that were killed")
    TAP.equal(shop.close(), 0, "the engine ends well")


def test_dead_worker():
    shop = Shop()
    mark = uuid.uuid4().hex
    project = shop.project("shop", FOREMAN, approval="never")
    worker = shop.work("/bin/sh", "-c", f"setsid sh -c 'trap \"\" TERM; sleep 1000; : {mark}' & sleep 1000; : {mark}")
    shop.say(project, "Sleep")
    shop.wait("job.started", project)
    wait_until(lambda: processes_with(mark), "the command's start")
    worker.kill()
    worker.wait()
    wait_until(lambda: not processes_with(mark), "the command's end")
    TAP.ok(True, "a killed worker leaves no command")
    TAP.equal([job["state"] for job in shop.get("/v1/status")["running"]] or ["running"], ["running"],
              "its job is lost by its heartbeat, not before")
    shop.close()


def test_spies_behind_link():
    """The state's folder is a link: what it leads to is hidden, and turns' folders in it are let in."""
    test_spies(linked=True)


def test_spies(linked=False):
    if not CONFINED:
        TAP.ok(True, "spies find nothing # SKIP bubblewrap doesn't work here")
        return
    shop = Shop(linked=linked)
    # Temptation: a client's token in the home of whoever runs the engine, and in the engine's environment.
    state = str((shop.engine.folder / "state").resolve())
    lures, reach = bait()
    planner = shop.project("planner", FOREMAN)
    shop.say(planner, "Guard the gold")
    shop.wait("lease.ended", planner)
    spy = shop.project("spy", ["python3", "spy.py", state, shop.engine.socket, "{checkout}/report.json", "{config}"])
    shop.say(spy, "Look around")
    shop.wait("lease.ended", spy)
    report = json.loads((shop.engine.folder / "spy" / "report.json").read_text())
    TAP.equal(report["opens"], [], "a foreman finds no other token")
    TAP.equal(report["sockets"], [shop.engine.socket], "no socket but the engine's")
    TAP.equal(set(report["listed_sockets"]) & set(reach), set(), "none elsewhere, by a name in no folder neither")
    TAP.equal(report["capabilities"], [0, 0, 0], "no capability, whoever it is")
    TAP.equal([report["planned"], report["approved_with_own"]], [201, [[403, "wrong_role"]]],
              "its own makes a plan and doesn't approve it")
    TAP.ok(set(report["state"] or []) <= {"turns"}, "the state is out of sight", report["state"])
    plan = shop.plans(planner)[0]
    TAP.equal(plan["state"], "awaiting_approval", "the plan still awaits the user")

    TAP.equal(shop.approve(plan).status, 200, "until the user approves it")
    worker = shop.work("python3", "spy.py", state, shop.engine.socket, "report.json")
    shop.wait("plan.done", planner)
    report = json.loads((shop.engine.folder / "planner" / "report.json").read_text())
    TAP.equal(report["opens"], [], "a worker finds no token")
    TAP.equal(report["sockets"], [], "and no socket")
    TAP.equal(set(report["listed_sockets"]) & set(reach), set(), "wherever it is")
    TAP.equal(report["capabilities"], [0, 0, 0], "and no capability")
    TAP.ok("BRIGADA_TASK" in report["variables"] and "BRIGADA_TOKEN" not in report["variables"], "only its ids",
           report["variables"])
    stop(worker)
    for lure in lures:
        lure.close()
    for name in reach:
        if name[0] == "/":
            os.unlink(name)
    shop.close()


def bait():
    """Sockets that a spy may find, and which of them one that is shut in mustn't: not hidden by any folder."""
    lures = [socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)]
    name = "dbr-spy-" + uuid.uuid4().hex[:12]
    lures[0].bind("\0" + name)
    names = ["@" + name]
    shown = os.path.join(os.path.realpath(BUILD), "engine-client")  # foremen see it: the bridge's parts are there
    if os.access(shown, os.W_OK) and len(shown) < 80:
        names.append(os.path.join(shown, name))
        lures.append(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        lures[1].bind(names[1])
    for lure in lures:
        lure.listen(64)
    TAP.equal(set(names) - set(spy.listed_sockets()), set(), "a spy that is not shut in finds them: it is a good one")
    # What the kernel can't tell apart, serve and work say.
    scoped = subprocess.run(["/bin/sh", "-c", '"$0" exec --scope -- true 3>&1', PROGRAM], check=False,
                            stdout=subprocess.DEVNULL).returncode == 0
    return lures, names if scoped else names[1:]


def test_refused_checkouts():
    """A checkout that holds an engine's state, is one or lies in one: whichever way leads to it, and whenever it came to."""
    shop = Shop()
    folder = shop.engine.folder
    state = os.path.realpath(folder / "state")
    (folder / "around" / "it").mkdir(parents=True)
    (folder / "link").symlink_to(folder)
    (folder / "other" / "deep").mkdir(parents=True)
    (folder / "other" / "deep" / "admin.token").write_text(shop.admin + "\n")

    def add(name, checkout):
        return shop.engine.ask("POST", "/v1/projects", {
            "repo_url": f"https://git.example/a/{name}", "checkout": str(checkout),
            "foreman_command": {"command": ["/bin/sh", "-c", "cp admin.token taken; cp */admin.token taken; exit 3"]}}, shop.admin)

    own = "give the project a folder of its own"
    for name, checkout, says in (("holds", folder, "holds an engine's own folder, " + state),
                                 ("link", folder / "link", "holds an engine's own folder, " + state),
                                 ("root", "/", "holds an engine's own folder, "),
                                 ("is", folder / "state", "lies in an engine's own folder, " + state),
                                 ("within", folder / "state" / "turns", "lies in an engine's own folder, " + state),
                                 ("proc", "/proc/self", "shows other processes by its /proc"),
                                 ("other", folder / "other", "holds an engine's own folder, deep")):
        reply = add(name, checkout)
        problem = reply.json["errors"][0] if reply.status == 422 else {}
        TAP.ok(problem.get("field") == "checkout" and says in problem["problem"] and own in problem["problem"],
               f"a checkout that {name} is refused", reply.text)
    # What would blind the look is told.
    full = folder / "full"
    full.mkdir()
    for n in range(50001):
        os.symlink("x", full / str(n))
    reply = add("full", full)
    TAP.ok(reply.status == 201 and any("has too many names" in note for note in reply.json["notes"]), "one too full to look through is told",
           reply.text)
    done = subprocess.run([PROGRAM, "work", "--socket", shop.engine.socket, *OPTIONS, "--once", "--checkout", str(full), "--", "nosuch"],
                          env={**os.environ, "BRIGADA_TOKEN": shop.worker}, check=False, capture_output=True, text=True)
    TAP.ok(f"{full} has too many names" in done.stderr, "by a worker too", done.stderr)
    # Set while it was harmless; then a link took its place, or another engine came.
    for name, change, says in (
            ("swapped", lambda place: (place.rmdir(), place.symlink_to(state)), "lies in an engine's own folder, " + state),
            ("moved-in", lambda place: ((place / "x").mkdir(), shutil.copy(shop.engine.folder / "state" / "admin.token", place / "x")),
             "holds an engine's own folder, x")):
        place = folder / name
        place.mkdir()
        project = add(name, place).json
        change(place)
        shop.say(project, "Take it")
        event = shop.wait("turn.crashed", project)
        TAP.ok(says in event["text"] and "exit status" not in event["text"] and " after " not in event["text"], f"no turn starts in one that was {name}", event["text"])
        TAP.ok(not (place / "taken").exists(), "and nothing is taken")
    shop.close()


def test_refusals():
    """Without bubblewrap nothing is started, and both the log and history say so."""
    engine = Engine()
    empty = engine.folder / "bin"
    empty.mkdir()
    path, os.environ["PATH"] = os.environ["PATH"], str(empty)
    try:
        engine.start()
        admin = engine.admin()
        project = engine.ask("POST", "/v1/projects", {"repo_url": "https://git.example/a/b", "checkout": str(empty),
                                                      "foreman_command": {"command": ["/bin/true"]}}, admin).json
        TAP.ok("bwrap is not installed" in project["notes"][-1], "adding a project warns of it", project["notes"])
        said = engine.ask("POST", f"/v1/projects/{project['id']}/messages", {"text": "hi"}, admin).json
        TAP.ok(said["outcome"] == "trouble" and "bwrap is not installed" in said["outcome_text"], "who asks is told", said)
        seen = engine.ask("GET", "/v1/events?after=0&wait=0", None, admin).json
        while not any(e["kind"] == "turn.crashed" for e in seen["items"]):
            seen = engine.ask("GET", f"/v1/events?after={seen['last']}&wait=10", None, admin).json
        text = [e["text"] for e in seen["items"] if e["kind"] == "turn.crashed"][0]
        TAP.ok("bwrap is not installed" in text, "history says why no foreman starts", text)
        TAP.ok("no foreman will be started" in engine.log_text() and "--unconfined" in engine.log_text(), "so does the log",
               engine.log_text())
        done = subprocess.run([PROGRAM, "work", "--socket", engine.socket, "--", "/bin/true"], check=False, text=True,
                              env={"BRIGADA_TOKEN": "x", "PATH": str(empty), "HOME": str(empty)}, capture_output=True)
        TAP.ok(done.returncode == 1 and "--unconfined" in done.stderr, "a worker refuses too", done.stderr)
    finally:
        os.environ["PATH"] = path
    engine.close()


def main():
    signal.alarm(WATCHDOG_S * 8)
    only = sys.argv[1:]
    for test in (test_loop, test_review_and_failure, test_attach, test_bad_foremen, test_refused_settings,
                 test_deaf_foreman, test_killed_at_wake, test_dead_worker, test_spies, test_spies_behind_link,
                 test_refused_checkouts, test_refusals):
        if not only or test.__name__ in only:
            test()
    TAP.end()


if __name__ == "__main__":
    main()
