#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The whole loop on one machine: a real engine, a user, a foreman, a coordinator and a worker, each through the bridge.

Nothing is scripted: what one says the next one reads. The worker alone speaks HTTP, as workers do. TAP.
"""
import http.client
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import tempfile

BUILD = os.path.abspath(os.environ.get("G_TEST_BUILDDIR", "."))
PROGRAM = os.path.join(BUILD, "drawbridge")
ENGINE = os.path.join(BUILD, "drawbridge-engine")
WATCHDOG_S = 60
SHOP, BLOG = "https://example.org/acme/shop", "https://example.org/acme/blog"
results = []


def expect(name, text, *wanted, status=None, got_status=None):
    """Every wanted text must be in it, in that order; one that begins with "!" must not be."""
    at, missing = 0, []
    for want in wanted:
        if want.startswith("!"):
            missing += [want] if want[1:] in text else []
            continue
        found = text.find(want, at)
        if found < 0:
            missing.append(want)
        else:
            at = found + len(want)
    good = not missing and (status is None or status == got_status)
    results.append(good)
    print(f"{'ok' if good else 'not ok'} {len(results)} - {name}")
    if not good:
        print(f"# missing: {missing}, status {got_status}\n# " + text.replace("\n", "\n# "))
    return text


class World:
    """An engine of its own in a folder of its own."""

    def __init__(self, folder):
        self.env = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "XDG_RUNTIME_DIR": os.path.join(folder, "run"),
                    "XDG_STATE_HOME": os.path.join(folder, "state")}
        for name in ("run", "state"):
            os.mkdir(os.path.join(folder, name), 0o700)
        self.socket = os.path.join(folder, "run", "drawbridge", "engine.sock")
        self.server = subprocess.Popen([PROGRAM, "engine", "serve", "--unconfined"], env=self.env, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for line in self.server.stdout:
            if "listening" in line:
                break

    def stop(self):
        self.server.send_signal(signal.SIGTERM)
        self.server.stdout.read()
        return self.server.wait(WATCHDOG_S)

    def run(self, *words, **env):
        done = subprocess.run([PROGRAM, *words], env={**self.env, **env}, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=WATCHDOG_S, check=False)
        return done.returncode, done.stdout + done.stderr

    def admin(self, *words):
        return self.run("engine", *words)

    def as_role(self, role, token):
        options = {"foreman": ["--offer", "foreman"], "client": ["--client"], "coordinator": ["--coordinator"]}[role]

        def call(name, tool, arguments, *wanted, status=0, **env):
            code, text = self.run("call", *options, "--yes", "--arguments", json.dumps(arguments), tool, BRIGADA_TOKEN=token,
                                  BRIGADA_ALLOW_WRITES="1", **env)
            said = sum(text.count(phrase) for phrase in ("won't help", "not help", "not accepted"))
            asked = ["said once that a repeat won't help"] if said > 1 else []
            asked += ["no token that is a person's alone"] if re.search("Needed: a token of.*admin", text) else []
            return expect(f"{role}: {name}", text, *wanted, *asked, status=status, got_status=code)

        return call

    def http(self, token, method, path, body=None):
        connection = http.client.HTTPConnection("localhost", timeout=WATCHDOG_S)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(self.socket)
        connection.request(method, "/v1" + path, json.dumps(body) if body is not None else None,
                           {"Authorization": "Bearer " + token, "Content-Type": "application/json"})
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        return json.loads(data) if data else None


def number(pattern, text):
    found = re.search(pattern, text)
    return int(found.group(1)) if found else 0


def set_up(world):
    code, text = world.admin("status")
    expect("admin: an engine without projects", text, "no project yet", status=0, got_status=code)
    code, text = world.admin("project", "add", "https://Example.org/acme/shop.git")
    expect("admin: a project", text, f"Added project", SHOP, "To give it a foreman: drawbridge engine project set shop", status=0, got_status=code)
    code, text = world.admin("project", "add", "git@example.org:acme/shop.git")
    expect("admin: one project in two spellings", text, "is project", "To change it: drawbridge engine project set", "!409", status=1, got_status=code)
    world.admin("project", "add", BLOG, "max_tasks=2", 'protected_paths=["ci/**"]', "hours=any")
    code, text = world.admin("project", "list")
    expect("admin: the projects", text, "2 projects", SHOP, BLOG, "max_tasks 2", "protected ci/**", status=0, got_status=code)
    tokens = {}
    for role in ("client", "worker"):
        code, text = world.admin("token", "new", role, "of-" + role)
        tokens[role] = expect(f"admin: a {role}'s token", text, "goes to standard output, this once.", status=0, got_status=code).split("\n")[0]
    return tokens


def ask(client, coordinator):
    client("several projects and none named", "ask_foreman", {"text": "Add search"}, "several projects", SHOP, BLOG, status=1)
    text = client("asks one", "ask_foreman", {"text": "Add search", "repo_url": SHOP}, "Message ", "no foreman")
    client("asks it again", "ask_foreman", {"text": "Add search", "repo_url": "ssh://git@example.org/acme/shop"}, "A repeat of message ",
           "nothing was sent. Reword it", "!within 24 hours")
    coordinator("a project that is not there", "ask_foreman", {"text": "x", "repo_url": "https://example.org/a/b"}, "404",
                "There are: ", SHOP, "list_projects shows", status=1)
    coordinator("a project that is mistyped", "status", {"repo_url": BLOG.replace("blog", "blgo")}, "404", f"Did you mean {BLOG}? There are: ", status=1)
    client("a project that is mistyped", "ask_foreman", {"text": "x", "repo_url": "shpo"}, "404", f"Did you mean {SHOP}? There are: ", status=1)
    return number(r"Message (\d+)", text)


def plan(foreman, message):
    foreman("reads its messages", "messages", {}, "1 message", f"message {message} of the user, delivered", "Add search")
    foreman("a plan with mistakes", "plan_create", {"title": "Search", "tasks": [
        {"title": "A", "brief": "a", "depends_on": ["Z"]}, {"title": "A", "brief": "b"}]},
        "Refused by unix:", "(422): ", "!Unprocessable", "!/v1/", "- tasks[0].depends_on[0] names the task", "- tasks has two tasks", "Nothing was made", status=1)
    text = foreman("a plan", "plan_create", {"title": "Search", "summary": "Why", "tasks": [
        {"title": "Index", "brief": "Build it", "paths": ["src/**"]}, {"title": "Page", "brief": "Show it", "depends_on": ["Index"]}]},
        "version 1, awaiting approval", "It awaits the user's approval: ", "Index", "Page")
    number_of = number(r"Made plan (\d+)", text)
    tasks = re.findall(r"task (\d+) planned", text)
    foreman("amends it", "plan_amend", {"plan": number_of, "version": 1, "add": [{"title": "Docs", "brief": "Write", "depends_on": [int(tasks[1])]}]},
            f"Plan {number_of} is at version 2", "Docs")
    foreman("amends what it saw before", "plan_amend", {"plan": number_of, "version": 1, "title": "X"}, "412", "version 2",
            "Nothing was changed", "amend it for version 2", status=1)
    foreman("answers", "message_answer", {"message": message, "text": "Planned."}, "is answered")
    foreman("answers twice", "message_answer", {"message": message, "text": "Planned."}, "409", "waiting=false", status=1)
    foreman("reports", "report", {"text": "Search is planned."}, "Reported")
    question = foreman("asks the user", "ask_user", {"text": "Which engine?", "options": ["A", "B"]}, "is put to the user")
    return number_of, int(tasks[0]), number(r"Question (\d+)", question)


def approve(world, client, coordinator, plan_id, question):
    client("sees what needs the user", "status", {}, f"plan {plan_id} version 2", f"question {question}", "to answer it: ask_foreman", "!brief:")
    coordinator("sees what needs the user", "status", {"repo_url": SHOP}, "2 things for the user", f"plan {plan_id} version 2 of shop awaits approval",
                'Setting: approval = "always"', f"question {question}", f"to answer it: ask_foreman with \"question {question}: \" and the user's words; or, at a shell: drawbridge engine answer {question}", "Search is planned.", "brief: Build it", "brief: Show it")
    coordinator("approves what was shown before", "plan_approve", {"plan": plan_id, "version": 1}, "409", "it is at version 2",
                "Nothing was approved", "show the user the plan at version 2", status=1)
    coordinator("a plan that is not there", "plan_approve", {"plan": 9999, "version": 1}, "404", "There is no plan 9999", "status shows", status=1)
    text = coordinator("approves, for good", "plan_approve", {"plan": plan_id, "version": 2, "and_stop_asking": True},
                       f"Approved version 2 of plan {plan_id}", "active", "Ready for a worker:", "Index", "!Page",
                       'approval, from "always" to "never"', "To undo it: drawbridge engine project set shop ")
    expect("coordinator: nobody works", coordinator("a worker is missing", "status", {"repo_url": SHOP}), "1 task ready for a worker, and none is at work.",
           "The user starts one, at a shell: drawbridge engine work -- COMMAND")
    undo = shlex.split(re.search(r"To undo it: drawbridge (.*)", text).group(1))
    code, text = world.run(*undo)
    expect("admin: undoes it as it was told", text, 'approval: from "never" to "always"', status=0, got_status=code)
    coordinator("approves twice", "plan_approve", {"plan": plan_id, "version": 2}, "409", "Nothing was", status=1)
    code, text = world.admin("answer", str(question), "B,", "please")
    expect("admin: answers the question", text, "is answered: B, please", status=0, got_status=code)


def work(world, worker, client, foreman, plan_id, task):
    job = world.http(worker, "POST", "/jobs/claim", {"worker": "w-1", "wait": 0})
    found = job.get("task") if isinstance(job.get("task"), int) else job.get("task", {}).get("id")
    expect("worker: gets the first task", str(found), str(task))
    number_of = job["id"] if "id" in job else job["job"]["id"]
    world.http(worker, "POST", f"/jobs/{number_of}/events", {"sequence": 1, "text": "compiling \u001b[31m\u202eevil"})
    client("watches the worker", "status", {}, "1 task running", f"task {task} of plan {plan_id} (shop), by w-1", "just now: compiling", "!\x1b")
    foreman("rewrites what runs", "task_update", {"task": task, "title": "X"}, "409", "only cancelled", status=1)
    foreman("holds the plan", "hold_place", {"plan": plan_id, "reason": "freeze"}, f"plan {plan_id} is on hold, by foreman: freeze")
    world.http(worker, "POST", f"/jobs/{number_of}/finish", {"sequence": 2, "outcome": "succeeded"})
    client("sees it done, and the hold", "status", {}, "ON HOLD by foreman: freeze", f"task {task} done")
    foreman("lets go", "hold_release", {"plan": plan_id}, "has no hold of its own")
    foreman("a hold of two things", "hold_place", {"plan": plan_id, "task": task, "reason": "x"}, "exactly one of", status=1)
    world.admin("hold", f"plan={plan_id}", "mine")
    foreman("lets go of the user's", "hold_release", {"plan": plan_id}, "403", "Ask the user", status=1)
    code, text = world.admin("release", f"plan={plan_id}")
    expect("admin: releases it", text, "has no hold", status=0, got_status=code)
    client("reads what happened", "history", {"task": task}, "job.started", "worker", "job.line", "compiling")


def change(foreman, plan_id):
    text = foreman("adds a task", "task_add", {"plan": plan_id, "title": "Extra", "brief": "x"}, "awaits the user's approval", "why: ")
    extra = number(r"Added task (\d+)", text)
    foreman("changes it", "task_update", {"task": extra, "title": "Extra two", "paths": ["doc/**"]}, "Extra two")
    foreman("notes something", "task_note", {"task": extra, "text": "look"}, f"Noted on task {extra}")
    foreman("cancels it", "task_cancel", {"task": extra, "dependents": True, "reason": "moot"}, "Cancelled 1 task", "!goes on without")
    foreman("wants it after all", "task_retry", {"task": extra}, f"Task {extra} is planned")
    return extra


def answer(foreman, client, coordinator):
    """In a chat a question is answered as the status says."""
    asked = number(r"Question (\d+)", foreman("asks the user again", "ask_user", {"text": "Which wood?"}, "is put to the user"))
    told = re.search(r'to answer it: ask_foreman with "([^"]*)"', coordinator("is told how", "status", {"repo_url": SHOP}, f"question {asked} of shop"))
    client("answers as it is told", "ask_foreman", {"repo_url": SHOP, "text": (told.group(1) if told else "") + "oak"}, f"answers question {asked}")
    coordinator("nothing is open", "status", {"repo_url": SHOP}, f"!question {asked} of shop")
    foreman("reads it", "messages", {}, f"answers question {asked}")


def refuse(world, coordinator, foreman, tokens, plan_id, lease, text):
    version = number(rf"plan {plan_id} version (\d+)", text)
    coordinator("rejects what is new", "plan_reject", {"plan": plan_id, "version": version, "reason": "too much"}, f"Rejected the new and changed tasks of plan {plan_id}",
                "The foreman is told")
    foreman("reads why", "messages", {}, "of the engine, waiting", "B, please", "of the engine, waiting", "too much")
    other = next(p["id"] for p in world.http(tokens["client"], "GET", "/projects")["items"] if p["repo_url"] == BLOG)
    foreman("another project", "hold_place", {"project": other, "reason": "x"}, "403", "won't help", "own project only", status=1)
    as_client = world.as_role("foreman", tokens["client"])
    as_client("with a client's token", "report", {"text": "x"}, "403", "This is a client's token", "Needed: a token of", status=1)
    as_worker = world.as_role("client", tokens["worker"])
    as_worker("with a worker's token", "status", {}, "403", "a worker's", "won't help", status=1)
    admin = open(os.path.join(world.env["XDG_STATE_HOME"], "drawbridge", "admin.token"), encoding="utf-8").read().strip()
    world.http(admin, "POST", f"/leases/{lease}/end", {})
    foreman("after its turn", "status", {}, "401", "won't help", "that is over", status=1)
    code, text = world.admin("token", "list")
    worker = number(r"token (\d+) \| worker", text)
    code, text = world.admin("token", "revoke", str(worker))
    expect("admin: revokes a token", text, "is revoked", status=0, got_status=code)
    as_worker("with a revoked token", "status", {}, "401", "revoked", "won't help", status=1)
    world.as_role("client", "A" * 43)("with a forged token", "status", {}, "401", "does not know this token", "!AAAA", status=1)
    code, text = world.run("call", "--client", "ask_foreman", "text=x", BRIGADA_TOKEN=tokens["client"])
    expect("client: only watches unless writes are open", text, "Refused", "BRIGADA_ALLOW_WRITES=1", status=1, got_status=code)


def main():
    if not os.path.exists(ENGINE):
        print("1..0 # SKIP no drawbridge-engine was built")
        return 0
    with tempfile.TemporaryDirectory(prefix="dbr-") as folder:
        world = World(folder)
        try:
            tokens = set_up(world)
            client, coordinator = world.as_role("client", tokens["client"]), world.as_role("coordinator", tokens["client"])
            message = ask(client, coordinator)
            code, text = world.admin("lease", SHOP, "turn", "ttl=600")
            expect("admin: a lease", text, "Lease ", "for turn", "goes to standard output, this once.", status=0, got_status=code)
            foreman = world.as_role("foreman", text.split("\n")[0])
            lease = number(r"Lease (\d+)", text)
            plan_id, task, question = plan(foreman, message)
            approve(world, client, coordinator, plan_id, question)
            work(world, tokens["worker"], client, foreman, plan_id, task)
            change(foreman, plan_id)
            answer(foreman, client, coordinator)
            text = coordinator("sees what waits now", "status", {"repo_url": SHOP}, "new or changed tasks of it await approval")
            refuse(world, coordinator, foreman, tokens, plan_id, lease, text)
        finally:
            status = world.stop()
        expect("the engine ends in peace", str(status), "0")
        code, text = world.run("call", "--client", "status", BRIGADA_TOKEN=tokens["client"])
        expect("client: without an engine", text, "Nothing was sent", "drawbridge engine serve", status=1, got_status=code)
    print(f"1..{len(results)}")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
