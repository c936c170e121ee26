#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every command of `drawbridge engine` against a real engine: good, a wrong word, a missing argument, an unknown id.

What is printed must speak to a person: no name of a tool, no field of the API, no address; and every command that it names
must be one that the shell knows. That is held for all that this test reads.
"""
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from engine_http import BUILD, WATCHDOG_S, Engine, Tap  # noqa: E402

PROGRAM = str(pathlib.Path(BUILD).resolve() / "drawbridge")
TAP = Tap()
# What only a model, the API or an administrator of servers would understand.
FOREIGN = ("list_projects", "ask_foreman", "question_answer", "plan_approve", "plan_reject", "plan_show", "task_cancel", "task_retry",
           "task_update", "task_review", "task_note", "hold_place", "hold_release", "project_set", "project_add", "token_new", "lease_take",
           "repo_url", "foreman_command", "If-Match", "entry of another server", "in this chat", '{"', "HTTP", "Unprocessable", "Conflict")
SEEN = set()  # commands that were printed


class Shell:
    def __init__(self):
        # The product's own default places: what a newcomer has.
        self.engine = Engine("--unconfined").start()
        self.admin = self.engine.admin()
        self.folder = self.engine.folder

    def run(self, *words, **env):
        env = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "BRIGADA_TOKEN": self.admin, "BRIGADA_SOCKET": self.engine.socket, **env}
        return subprocess.run([PROGRAM, "engine", *words], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=WATCHDOG_S, cwd=self.folder, check=False)

    def type(self, name, line, status, *wanted, **env):
        """Types a line; what is wanted must come in this order, on the stream where it belongs; "!x" must not come."""
        done = self.run(*shlex.split(line), **env)
        text, other = (done.stdout, done.stderr) if status == 0 else (done.stderr, done.stdout)
        at, missing = 0, []
        for want in wanted:
            if want.startswith("!"):
                missing += [want] if want[1:] in text else []
                continue
            found = text.find(want, at)
            missing += [want] if found < 0 else []
            at = max(at, found)
        foreign = [word for word in FOREIGN if word in done.stdout + done.stderr and not (word == "repo_url" and line.startswith("project add"))]
        SEEN.update(re.findall(r"drawbridge engine ([^\n\"]*)", done.stdout + done.stderr))
        good = done.returncode == status and not missing and not foreign and (other == "" or status == 0)
        TAP.ok(good, f"{name}: {line}", f"status {done.returncode}, missing {missing}, foreign {foreign}\n{done.stdout}\n--\n{done.stderr}")
        return text

    def ask(self, method, path, body=None, token=None):
        answer = self.engine.ask(method, "/v1" + path, body, token or self.admin)
        assert answer.status < 300, f"{method} {path}: {answer.text}"
        return answer.json


def find(pattern, text):
    found = re.search(pattern, text)
    return found.group(1) if found else "0"


def plan(shell, foreman, title, *tasks):
    return shell.ask("POST", "/plans", {"title": title, "summary": "Because.", "tasks": list(tasks)}, foreman)


def task(title, *after, **more):
    return {"title": title, "brief": f"Do {title} well.", "depends_on": list(after), **more}


def projects(shell):
    shell.type("no project", "status", 0, "no project yet", "drawbridge engine project add URL")
    shell.type("no project", "ask hello", 1, "no project", "drawbridge engine project add URL")
    shell.type("no project", "project list", 0, "0 projects", "drawbridge engine project add URL")
    (shell.folder / "app").mkdir()
    shell.type("good, a folder as it is typed", "project add https://example.org/me/app checkout=app", 0, "Added project", "app",
               f"checkout {shell.folder}/app\n")
    shell.type("good", "project add https://example.org/me/docs max_tasks=3 protected_paths=ci/**", 0, "max_tasks 3", "protected ci/**")
    shell.type("twice", "project add git@example.org:me/docs.git", 1, "is project", "already", "drawbridge engine project set")
    shell.type("no URL", "project add app", 1, "is not a repository URL")
    shell.type("missing", "project add", 2, "is required", "It is: drawbridge engine project add URL")
    shell.type("wrong value", "project add https://example.org/me/x max_tasks=0", 2, "0 is under the minimum, 1", "It is: ")
    shell.type("wrong word", "project add https://example.org/me/x chekout=/x", 2, 'no argument "chekout"', "Did you mean checkout?")
    shell.type("good", "project list", 0, "2 projects", "/me/app", "/me/docs")
    shell.type("by its name", "project set app approval=never", 0, 'approval: from "always" to "never"')
    shell.type("by its URL", "project set https://example.org/me/app approval=always", 0, 'approval: from "never" to "always"')
    number = find(r"/me/app \| project (\d+)", shell.type("a word too many", "project list", 0))
    shell.type("by its number", f"project set {number} turn_minutes=5", 0, "turn_minutes: from 30 to 5")
    shell.type("nothing to change", "project set app", 1, "Nothing was given to change", "project set --help", "project set app approval=never")
    shell.type("wrong word", "project set app aproval=never", 2, "Did you mean approval?", "It is: drawbridge engine project set PROJECT")
    shell.type("wrong value", "project set app approval=nevr", 2, '"nevr" is not one of: always, never. Did you mean never?')
    shell.type("missing", "project set", 2, "is required", "It is: ")
    for line, wanted in (("preset=clode", 'preset "clode"'), ("hours=never", "hours "), ("'protected_paths=[\"\"]'", "protected_paths[0] ")):
        shell.type("refused by the engine", "project set app " + line, 1, wanted, "!settings.", "!foreman_command")
    for line in ("project set nope approval=never", "project remove nope", "lease nope me", "status nope", "history nope",
                 "ask project=nope hello", "hold project=nope why", "release project=nope"):
        shell.type("no such project", line, 1, "nope", "!Did you mean", "There are: ")
        shell.type("nearly", line.replace("nope", "dosc"), 1, "dosc", "Did you mean docs? There are: ")
    shell.type("several", "ask hello", 1, "several projects", "project=", "app, docs")
    shell.type("a question is no sentence's end", "project set app preset=claud", 1, "did you mean claude?", "!?.")
    shell.type("waits for nobody", "ask project=docs write them", 0, "no foreman")
    shell.type("what gives it one", "status docs", 0, "write them", "to give it a foreman: drawbridge engine project set docs preset=claude\n")
    namesakes(shell)
    return number


def namesakes(shell):
    """A name is one project's: another gets one that can be typed; with a foreman that can't run its trouble is told once."""
    (shell.folder / "none").mkdir()
    shell.type("taken", "project add https://example.org/you/app name=app", 1, '"app" is the name of project ', "https://example.org/me/app")
    shell.type("good", "project add https://example.org/you/app checkout=none 'command=[\"/none/foreman\"]'", 0, "Added project", "you-app", "No turn can start now")
    shell.type("several", "ask hello", 1, "project=: app, docs, you-app")
    shell.type("its own name", "ask project=you-app hello", 0, "It waits. The foreman can't run", "!..")
    text = shell.type("its trouble", "status https://example.org/you/app", 0, "project you-app: The foreman can't run", "!just now. Setting")
    TAP.equal((text.count("/none/foreman"), "trouble" in text), (1, False), "is told once")
    shell.type("its trouble", "project list", 0, "foreman's trouble, since ", "/none/foreman", ", next try ", "!next try just")
    shell.type("whose doing", "history you-app", 0, "turn.crashed | engine runner | project you-app")
    shell.type("what to type", "status you-app", 0, "to choose another: drawbridge engine project set you-app preset=NAME\n", "!checkout=DIR")
    (shell.folder / "none").rmdir()
    shell.type("another trouble", "project set you-app turn_minutes=6 'environment=[\"X_Y\"]'", 0,
               'foreman: from command ["/none/foreman"] to command ["/none/foreman"], variables X_Y\n', "turn_minutes: from 30 to 6", "is not there")
    shell.type("what to type", "status you-app", 0, "to set it right: drawbridge engine project set you-app checkout=DIR\n", "!preset=NAME")
    shell.type("taken", "project set you-app name=docs", 1, '"docs" is the name of project ')
    shell.type("good", "project remove https://example.org/you/app", 0, "Removed project")


def tokens(shell):
    done = shell.run("token", "new", "worker", "desk")
    good = re.fullmatch(r"[\w-]{43}\n", done.stdout) and done.returncode == 0 and "(worker, desk) is made; it goes to standard output, this once.\n" in done.stderr
    TAP.ok(good, "token new: the token alone on standard output, the words beside it", (done.stdout, done.stderr))
    number = find(r"Token (\d+)", done.stderr)
    shell.type("good", "token list", 0, f"token {number} | worker | desk")
    shell.type("wrong word", "token new foreman x", 2, "not one of: admin, client, worker", "coordinator's chat uses a client's token",
               "drawbridge engine attach", "It is: drawbridge engine token new")
    shell.type("missing", "token new worker", 2, "name: is required", "It is: ")
    shell.type("good", f"token revoke {number}", 0, "is revoked")
    shell.type("revoked already", f"token revoke {number}", 1, "revoked already", "!drawbridge engine", "!BRIGADA_TOKEN")
    mine = find(r"token (\d+) \| admin", shell.run("token", "list").stdout)
    shell.type("the last of its kind", f"token revoke {mine}", 1, "last admin token", "drawbridge engine token new admin NAME")
    shell.type("unknown id", "token revoke 999999", 1, "no token 999999", "drawbridge engine token list")
    shell.type("missing", "token revoke", 2, "is required")
    shell.type("wrong word", "token revoke desk", 2, "expected an integer", "It is: ")
    shell.type("a token that is revoked", "status", 1, "revoked", "BRIGADA_TOKEN", "!credentials", BRIGADA_TOKEN=done.stdout.strip())
    shell.type("a token of nobody", "status", 1, "BRIGADA_TOKEN", "!credentials", BRIGADA_TOKEN="A" * 43)
    worker = shell.run("token", "new", "worker", "desk2").stdout.strip()
    for line in ("status", "project set app approval=never", "ask project=app hi", "cancel 5", "token list", "lease app me"):
        text = shell.type("a token of another kind", line, 1, "This is a worker's token", "needed is a token of one of these: admin",
                          "Unset BRIGADA_TOKEN", BRIGADA_TOKEN=worker)
        TAP.ok(not re.search(r"\b(?!BRIGADA_TOKEN)[A-Z]+_[A-Z_]+\b|STATUS", text), "without the name of an operation", text)
    return worker


def leases(shell):
    done = shell.run("lease", "app", "me", "ttl=600")
    TAP.ok(re.fullmatch(r"[\w-]{43}\n", done.stdout) and "To give it back: drawbridge engine lease end" in done.stderr,
           "lease: the token alone on standard output", (done.stdout, done.stderr))
    number = find(r"Lease (\d+)", done.stderr)
    shell.type("taken", "lease app you", 1, "drawbridge engine lease end LEASE")
    shell.type("its number", "project list", 0, f"lease {number} of me")
    shell.type("missing", "lease app", 2, "holder: is required", "It is: ")
    shell.type("wrong value", "lease app me ttl=5", 2, "under the minimum")
    shell.type("good", f"lease end {number}", 0, f"Lease {number} ", "is over")
    shell.type("unknown id", "lease end 999999", 1, "no lease 999999", "drawbridge engine project list")
    shell.type("missing", "lease end", 2, "is required")
    done = shell.run("lease", "app", "me", "ttl=600")
    return done.stdout.strip(), find(r"Lease (\d+)", done.stderr)


def decisions(shell, foreman):
    shell.type("another project's foreman", "status docs", 1, "another project", "Unset that", BRIGADA_TOKEN=foreman)
    first = plan(shell, foreman, "Login", task("Form", paths=["src/**"]), task("Tests", "Form"))
    number, version = first["id"], first["version"]
    shell.type("what needs the user", "status app", 0, f"plan {number} version {version} of app awaits approval: Login",
               f"to read it: drawbridge engine plan {number}\n", f"to approve it: drawbridge engine approve {number} {version}\n")
    shell.type("good", f"plan {number}", 0, "Login", "Because.", "why it waits:", "Do Form well.", "To approve it: drawbridge engine approve")
    shell.type("unknown id", "plan 999999", 1, "no plan 999999", "drawbridge engine status all=true")
    shell.type("missing", "plan", 2, "is required", "It is: drawbridge engine plan PLAN")
    shell.type("another version", f"approve {number} {version + 1}", 1, "Nothing was approved", f'"drawbridge engine plan {number}" shows it as it is now',
               f"drawbridge engine approve {number} {version}\n", "!then:")
    shell.type("another version", f"reject {number} {version + 1}", 1, "Nothing was rejected", f"drawbridge engine reject {number} {version} REASON")
    shell.type("wrong word", f"approve {number} latest", 2, "expected an integer", "It is: drawbridge engine approve PLAN VERSION")
    shell.type("missing", f"approve {number}", 2, "version: is required")
    shell.type("a word too many", f"approve {number} {version} 3", 2, '"3" is one word too many')
    shell.type("unknown id", "approve 999999 1", 1, "no plan 999999", "!no such plan")
    shell.type("unknown id", "reject 999999 1", 1, "no plan 999999", "!no such plan")
    shell.type("as it was printed", f"approve {number} {version}", 0, "Ready for a worker:", "Form", "!Tests", "!unix:")
    shell.type("nobody works", "status app", 0, "1 task ready for a worker, and none is at work.\n",
               "drawbridge engine work -- COMMAND", "drawbridge engine token new worker NAME")
    shell.type("decided already", f"approve {number} {version + 1}", 1, "Nothing was changed", f"drawbridge engine plan {number}")
    shell.type("decided already", f"reject {number} {version + 1}", 1, "Nothing was changed", f"drawbridge engine cancel plan={number}")
    shell.type("live plans", "project remove app", 1, "has 1 live plan (", "), and can't be removed while it has", "drawbridge engine reject PLAN VERSION", "drawbridge engine cancel plan=PLAN")
    docs = shell.ask("POST", "/plans", {"repo_url": "https://example.org/me/docs", "title": "Big", "tasks": [task(name) for name in "abcd"]})
    shell.type("several reasons", f"approve {docs['id']} 1 and_stop_asking=true", 1, "Nothing was approved", "too_many_tasks",
               f"drawbridge engine approve {docs['id']} 1 and_stop_asking=true reasons=REASON (several of them: 'reasons=[\"approval_required\",\"too_many_tasks\",\"protected_path\"]'")
    shell.type("their names", "status docs", 0, "why (approval_required): ", "why (too_many_tasks): ", f"to reject it: drawbridge engine reject {docs['id']} 1 REASON\n")
    shell.type("one of them", f"approve {docs['id']} 1 and_stop_asking=true reasons=too_many_tasks", 0, "max_tasks, from 3 to 4")
    second = plan(shell, foreman, "Logout", task("Button"))
    shell.type("a setting that lets no plan wait", "project set app turn_minutes=7", 0, "turn_minutes: from 5 to 7", "!Still waiting")
    shell.type("a setting that does", "project set app max_tasks=11", 0, "max_tasks: from 12 to 11", "Still waiting, since settings hold", "Logout")
    shell.type("what to decide about", "status app", 0, "Button", "brief: Do Button well.")
    shell.type("good", f"reject {second['id']} {second['version']} not now", 0, f"Rejected version {second['version']} of plan {second['id']} (Logout).\n",
               "The foreman is told")
    shell.type("rejected already", f"reject {second['id']} {second['version']} not now", 1, "rejected already", "by the admin, just now", "nothing to decide", "!cancel")
    third = plan(shell, foreman, "Theme", task("Dark"), task("Light", "Dark"), task("Grey"))
    undo = find(r"To undo it: (drawbridge engine .*)", shell.type(
        "for good", f"approve {third['id']} {third['version']} and_stop_asking=true", 0, 'approval, from "always" to "never"'))
    shell.type("undone as it was printed", undo.removeprefix("drawbridge engine "), 0, 'approval: from "never" to "always"')
    return first, third


def work(shell, worker, outcome):
    job = shell.ask("POST", "/jobs/claim", {"worker": "w", "wait": 0}, worker)["job"]
    shell.ask("POST", f"/jobs/{job if isinstance(job, int) else job['id']}/finish",
              {"sequence": 1, "outcome": outcome, "text": "compiling\nexit status 3"}, worker)


def tasks(shell, worker, lease, first, third):
    form, tests = [one["id"] for one in first["tasks"]]
    shell.type("good", f"note {form} mind the umlauts", 0, f"Noted on task {form}")
    shell.type("good", f"task {form}", 0, "Form", "Do Form well.", "mind the umlauts", f"drawbridge engine history task={form}")
    for line in ("task {}", "note {} x", "retry {}", "cancel {}", "review {} done", "hold task={} x", "release task={}"):
        shell.type("unknown id", line.format(999999), 1, "no task 999999", "drawbridge engine status all=true")
    shell.type("missing", "note 5", 2, "text: is required", "It is: ")
    shell.type("not to be retried", f"retry {form}", 1, "only a failed or cancelled one")
    shell.type("not in review", f"review {form} done", 1, "review")
    shell.type("wrong word", f"review {form} finished", 2, "not one of: done, ready")
    shell.type("missing", f"review {form}", 2, "state: is required", "It is: drawbridge engine review TASK done|ready")
    work(shell, worker, "failed")
    retry = find(r"to have it done again: drawbridge engine (.*)", shell.type("a failed one is shown", "status app", 0, "has failed tasks: Login",
                 f"task {form} failed: Form", "exit status 3", "to have it done again: ",
                 f"to give up what is left of it: drawbridge engine cancel plan={first['id']}\n"))
    shell.type("why", f"plan {first['id']}", 0, f"task {form} failed", "exit status 3")
    shell.type("as it was printed", retry, 0, f"Task {form} is ready")
    work(shell, worker, "review")
    shell.ask("POST", f"/leases/{lease}/end", {})
    text = shell.type("nobody else reviews it", "status app", 0, "has tasks to review", f"task {form} in review: Form")
    shell.type("as it was printed", find(r"to have it done again: drawbridge engine (.*)", text), 0, f"Task {form} is ready")
    work(shell, worker, "review")
    shell.type("as it was printed", find(r"if it is good: drawbridge engine (.*)", text), 0, f"Task {form} is done")
    shell.type("what is next", "status app", 0, f"task {tests} ready")
    shell.type("good", f"cancel {tests} for now", 0, "Cancelled 1 task")
    chain = shell.ask("POST", "/plans", {"repo_url": "app", "title": "Chain", "tasks": [task("One"), task("Two", "One"), task("Three", "Two")]})
    shell.type("good", f"approve {chain['id']} {chain['version']}", 0, "Ready for a worker:", "One", "!Still waiting")
    shell.type("what goes on without it", f"cancel {chain['tasks'][0]['id']}", 0, "Cancelled 1 task", "What depended on it goes on without it. Ready for a worker:",
               "Two", "!Three")
    shell.type("with what depends on it", f"cancel {chain['tasks'][1]['id']} dependents=true", 0, "Cancelled 2 tasks", "!Ready for a worker")
    shell.type("missing", "cancel", 2, "exactly one of task, plan", "It is: drawbridge engine cancel TASK|plan=PLAN")
    shell.type("wrong word", "cancel everything", 2, "expected an integer")
    shell.type("missing", "retry", 2, "is required")
    other = third["tasks"]
    shell.type("good", f"cancel {other[0]['id']} dependents=true not needed", 0, "Cancelled 2 tasks")
    shell.type("good", f"retry {other[0]['id']}", 0, f"Task {other[0]['id']} is")
    grey = other[2]["id"]
    shell.type("a plan as a whole", f"cancel plan={third['id']} out of fashion", 0, f"Cancelled what was left of plan {third['id']} (2 tasks: {other[0]['id']}, {grey}), now cancelled", "!being stopped")
    shell.type("why", "history app limit=8", 0, "out of fashion")
    shell.type("nothing left", f"cancel plan={third['id']}", 1, f"Plan {third['id']} is cancelled")
    shell.type("unknown id", "cancel plan=999999", 1, "no plan 999999")


def talk(shell, number):
    shell.type("good", 'ask project=app "Add a login page, with LANG=de = German"', 0, "to project")
    shell.type("again", 'ask project=app "Add a login page, with LANG=de = German"', 0, "A repeat of message", "nothing was sent. Reword it to send it anew.\n", "!within 24 hours")
    shell.type("a slip among the words", "ask projct=app hello", 2, 'no argument "projct"', "Did you mean project?", "write that as text='...'.")
    shell.type("as it says", "ask project=app text='lang=de first'", 0, "to project")
    shell.type("missing", "ask", 2, "text: is required", "It is: drawbridge engine ask [project=PROJECT] TEXT")
    question = shell.ask("POST", f"/projects/{number}/questions", {"text": "Which one?", "options": ["A", "B"]})["id"]
    shell.type("it is shown", "status app", 0, f"question {question} ", "Which one? (options: A, B)",
               f"to answer it: drawbridge engine answer {question} ANSWER")
    shell.type("good", f"answer {question} the B, please", 0, "the B, please")
    shell.type("answered already", f"answer {question} A", 1, "answered")
    shell.type("unknown id", "answer 999999 A", 1, "no question 999999", "drawbridge engine status")
    shell.type("missing", f"answer {question}", 2, "text: is required")
    shell.type("wrong word", "answer yes please", 2, "question: expected an integer")


def holds(shell, worker):
    shell.type("writes are shut", "hold project=app why", 1, "Refused, nothing was sent: this command needs write access", "BRIGADA_ALLOW_WRITES=1",
               BRIGADA_ALLOW_WRITES="0")
    shell.type("good", "hold project=app over the holidays", 0, "project app is on hold, by admin: over the holidays")
    shell.type("it is shown", "status app", 0, "ON HOLD", "over the holidays")
    held = shell.ask("POST", "/plans", {"repo_url": "app", "title": "Held", "tasks": [task("Wait"), task("Then", "Wait")]})
    number, first = held["id"], held["tasks"][0]["id"]
    shell.type("good", f"approve {number} {held['version']}", 0, "Held", "ON HOLD (project ", "to end it: drawbridge engine release project=")
    shell.type("why nothing starts", f"plan {number}", 0, "ON HOLD (project ", "to end it: drawbridge engine release project=")
    shell.type("a task's number", f"plan {first}", 1, f"no plan {first}", "numbered in one row")
    text = shell.type("no worker is missing", "status app", 0, "to end the hold: drawbridge engine release project=app\n", "!none is at work")
    TAP.equal(text.count("to end the hold"), 1, "what has no hold is not to be released")
    shell.type("good", f"hold task={first} later", 0, "is on hold")
    shell.type("how each ends", "status app", 0, "release project=app\n", f"release task={first}\n")
    shell.type("what still holds", f"release plan={number}", 0, "Still ON HOLD (project ", "to end that one: drawbridge engine release project=",
               "Still ON HOLD (task ", f"to end that one: drawbridge engine release task={first}\n")
    shell.type("good", f"release task={first}", 0, "has no hold")
    shell.type("good", "release project=app", 0, "has no hold")
    shell.type("a worker is missing", "status app", 0, "1 task ready for a worker, and none is at work.\n")
    while shell.ask("GET", f"/tasks/{first}")["state"] != "running":
        shell.ask("POST", "/jobs/claim", {"worker": "w", "wait": 0}, worker)
    shell.type("one that runs", f"cancel {first}", 0, "Cancelled 1 task", "What runs of it is being stopped, which may take up to 10 s.", "Then")
    shell.type("one is one", f"cancel plan={number}", 0, f"(1 task: {held['tasks'][1]['id']}), now cancelled", "!being stopped")
    shell.type("missing", "hold project=app", 2, "reason: is required", "It is: ")
    shell.type("missing", "hold because", 2, "exactly one of plan, task, project", "It is: drawbridge engine hold plan=PLAN|task=TASK|project=PROJECT REASON")
    shell.type("missing", "release", 2, "exactly one of")
    shell.type("two of them", "hold plan=1 task=2 because", 2, "found plan, task")
    shell.type("unknown id", "hold plan=999999 because", 1, "no plan 999999")
    shell.type("unknown id", "release plan=999999", 1, "no plan 999999")


def reading(shell):
    further = find(r"Further back: drawbridge engine (.*)", shell.type("good", "history app limit=2", 0, "2 events, the oldest ", "history app limit=2 before=", "!admin admin",
                                                                       "!just now to"))
    shell.type("only one", "history app limit=1", 0, "1 event\n")
    shell.type("as it was printed", further, 0, "2 events")
    shell.type("wrong value", "history limit=0", 2, "under the minimum")
    shell.type("wrong value", "history limit=all", 2, "expected an integer", "It is: ")
    shell.type("wrong word", "history lmit=5", 2, "Did you mean limit?")
    shell.type("unknown id", "history task=999999", 1, "999999", "drawbridge engine status all=true")
    shell.type("wrong value", "status all=maybe", 2, "expected true or false")
    shell.type("a word too many", "status app all", 2, '"all" is one word too many')
    done = shell.run("project", "list", "--output", "json")
    TAP.ok(json.loads(done.stdout)[0]["name"] == "app", "records, for a script", done.stdout)


def words(shell):
    for line, *wanted in (("foo", 'no command "foo"', "drawbridge engine --help"), ("aprove 1 1", "Did you mean approve?"),
                          ("serv", "Did you mean serve?"), ("project", "wants one word more", "project list, project add, project set"),
                          ("project ad x", "Did you mean add?", "project remove"), ("token", "wants one word more", "token new"),
                          ("status --output yaml", "--output takes text or json"), ("status --frob", "--frob")):
        shell.type("no command", line, 2, *wanted)
    shell.type("help of one", "approve --help", 0, "Usage: drawbridge engine approve PLAN VERSION", "plan ", "a number, needed", "!token new")
    shell.type("help of one", "--help approve", 0, "Usage: drawbridge engine approve")
    shell.type("help of a group", "project --help", 0, "project list", "project add URL [checkout=DIR]", "project remove", "!token")
    shell.type("help, as a word", "help approve", 0, "Usage: drawbridge engine approve", "[and_stop_asking=true [reasons=REASON]]")
    done = shell.run("--help")
    TAP.ok(done.returncode == 0 and "lease end LEASE" in done.stdout and "[" not in done.stdout[done.stdout.index("Commands"):],
           "help of all, on one screen", done.stdout)
    TAP.ok(done.stdout.count("\n") < 50, "help of all: not longer than a screen", done.stdout.count("\n"))
    commands = re.findall(r"^  ([a-z]+(?: [a-z]+)?)(?= |$)", done.stdout[done.stdout.index("ask the running engine"):], re.M)
    TAP.ok(len(commands) == 23, "23 commands", commands)
    page = (pathlib.Path(__file__).resolve().parents[2] / "doc" / "drawbridge.1").read_text(encoding="utf-8")
    page = page[page.index('.SS "drawbridge engine'):page.index(".SH GATES")].replace('"', " ")
    absent = [command for command in commands if not re.search(rf"^\.BR (.*[ ,])?{command} ", page, re.M)]
    TAP.ok(not absent, "all are in the man page", absent)
    for command in commands:
        done = shell.run(*command.split(), "--help")
        TAP.ok(done.returncode == 0 and done.stdout.startswith(f"Usage: drawbridge engine {command}"), f"{command} --help", done.stdout + done.stderr)
    return commands


def printed(commands):
    """Every command that was printed is one."""
    programs = ["serve", "attach", "work", "--help"]
    wrong = [line for line in SEEN if not any(line == one or line.startswith(one + " ") for one in commands + programs)]
    TAP.ok(len(SEEN) > 30 and not wrong, "all that was named can be typed", wrong)


def main():
    shell = Shell()
    number = projects(shell)
    worker = tokens(shell)
    foreman, lease = leases(shell)
    first, third = decisions(shell, foreman)
    tasks(shell, worker, lease, first, third)
    talk(shell, number)
    holds(shell, worker)
    reading(shell)
    shell.type("a token that is over", "status", 1, "has ended", "Unset that", "!This server", BRIGADA_TOKEN=foreman)
    shell.type("over already", f"lease end {lease}", 1, "lease")
    after = find(r"stays: drawbridge engine (history \d+)\n", shell.type("good", "project remove app", 0, "Removed project"))
    shell.type("what happened stays", after, 0, "project.removed")
    shell.type("its name is free", "history app", 1, "no project \"app\"", "removed is named by its number: drawbridge engine history NUMBER")
    shell.type("removed", "status app", 1, "app")
    printed(words(shell))
    TAP.equal(shell.engine.close(), 0, "the engine ends well")
    done = shell_without_engine()
    TAP.equal((done.returncode, done.stderr.splitlines()), (1, [
        "Nothing was done: no connection to unix:/nonexistent/engine.sock: there is no such socket. Another address: BRIGADA_SOCKET.",
        "To start the engine: drawbridge engine serve"]), "without an engine: how it starts")
    TAP.end()


def shell_without_engine():
    return subprocess.run([PROGRAM, "engine", "status", "--socket", "/nonexistent/engine.sock"], env={**os.environ, "BRIGADA_TOKEN": "A" * 43},
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=WATCHDOG_S, check=False)


main()
