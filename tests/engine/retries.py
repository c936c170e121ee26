#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every request that changes something, sent again: with its Idempotency-Key it gets the first answer and changes nothing; the
key with another request is refused. And what two users of one plan do at the same moment, over connections of their own:
exactly one wins, and the other is told what is so now. And what clients see of an engine that is killed under them."""
from http.client import HTTPException
import json
import os
import pathlib
import random
import subprocess
import sys
import threading

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from engine_http import PROGRAM, WATCHDOG_S, Answer, Connection, Engine, Tap  # noqa: E402
from engine_story import Story, load  # noqa: E402

tap = Tap()
ROUNDS = 12


def newest(engine, admin):
    return engine.ask("GET", "/v1/events?after=0&wait=0", token=admin).json["last"]


class Retold(Story):
    """The story with a key in every request, each of which is sent twice and then misused."""

    def __init__(self, *words):
        super().__init__(*words)
        self.n = 0
        self.retried = set()
        self.first = None

    def ask(self, operation_id, status, body=None, token=None, query="", headers=None, path_token=None, **ids):
        method, path, _ = self.document.operations[operation_id]
        if method == "GET":
            return super().ask(operation_id, status, body, token, query, headers, path_token, **ids)
        self.n += 1
        keyed = {**(headers or {}), "Idempotency-Key": f"key-{self.n}"}
        answer = super().ask(operation_id, status, body, token, query, keyed, path_token, **ids)
        if status >= 300 or (operation_id == "job_claim" and not answer.json["job"]):
            return answer  # nothing was done: a repeat is tried anew
        self.retried.add(operation_id)
        ids["token"] = path_token
        target = path.format(**ids) + query
        seen = newest(self.engine, self.admin)

        def again(sent, more=None):
            return self.engine.ask(method, target, sent, token or self.admin, more or keyed)

        second = again(body)
        same = all((second.status == answer.status, second.json == answer.json,
                    second.headers.get("ETag") == answer.headers.get("ETag"),
                    second.headers.get("Location") == answer.headers.get("Location")))
        tap.ok(same, f"{operation_id} again: the first answer", f"{answer.status} {answer.text}\n{second.status} {second.text}")
        other = again({**(body or {}), "other": 1})
        tap.equal((other.status, other.code), (422, "idempotency_mismatch"), f"{operation_id}: its key with another body")
        if headers:
            other = again(body, {"Idempotency-Key": keyed["Idempotency-Key"], "If-Match": '"77"'})
            tap.equal((other.status, other.code), (422, "idempotency_mismatch"), f"{operation_id}: its key with another version")
        other = self.engine.ask("POST", "/v1/projects/~/report", {"text": "x"}, token or self.admin, keyed)
        if other.status != 403:
            tap.equal((other.status, other.code), (422, "idempotency_mismatch"), f"{operation_id}: its key with another request")
        tap.equal(newest(self.engine, self.admin), seen, f"{operation_id}: nothing happened again")
        if operation_id == "token_new" and not self.first:
            self.first = (method, target, body, keyed)
        return answer


def retries():
    engine = Engine("--max-wait", "1").start()
    document = load(engine)
    story = Retold(engine, document, lambda name, status, wrong: wrong and tap.ok(False, f"{name} {status}", wrong))
    story.tell()
    takes_key = {name for name, (_, _, operation) in document.operations.items()
                 if any(document.resolve(one).get("name") == "Idempotency-Key" for one in operation.get("parameters", []))}
    tap.equal(takes_key - story.retried, set(), "every operation that takes a key was sent again")
    changes = {name for name, (method, _, _) in document.operations.items() if method != "GET"}
    tap.equal(changes - takes_key, set(), "every operation that changes something takes a key")

    engine.stop(kill=True)
    engine.start()
    method, target, body, keyed = story.first
    answer = engine.ask(method, target, body, story.admin, keyed)
    tap.equal((answer.status, answer.code), (409, "secret_gone"), "a token isn't kept over the engine's end, and the answer says so")
    tap.equal(engine.close(), 0, "the engine ends well")


# ----------------------------------------------------------------- at the same moment

def at_once(engine, requests):
    """Sends them on connections of their own, all of them open before the first byte goes; the answers in order."""
    ready = threading.Barrier(len(requests))
    answers = [None] * len(requests)

    def send(n, token, method, target, body, headers):
        mine = Connection(engine.socket)
        mine.connect()
        ready.wait()
        mine.request(method, target, json.dumps(body),
                     {"Authorization": "Bearer " + token, "Content-Type": "application/json", **(headers or {})})
        answers[n] = Answer(mine.getresponse())
        mine.close()

    threads = [threading.Thread(target=send, args=(n, *request)) for n, request in enumerate(requests)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


class Desk:
    """A project whose foreman makes a plan for each round."""

    def __init__(self, engine, lease="lease"):
        self.engine = engine
        self.admin = engine.admin()
        engine.ask("POST", "/v1/projects", {"repo_url": "https://example.org/a/shop"}, self.admin)
        self.client = engine.ask("POST", "/v1/tokens", {"role": "client", "name": "c"}, self.admin).json["token"]
        self.foreman = engine.ask("POST", f"/v1/projects/~/{lease}", {"holder": "t", "ttl": 3600}, self.admin).json["token"]

    def plan(self):
        answer = self.engine.ask("POST", "/v1/plans", {"title": "P", "tasks": [{"title": "a", "brief": "b"}]}, self.foreman)
        return f"/v1/plans/{answer.json['id']}"

    def approve(self, plan, version=1):
        return self.client, "POST", plan + "/approve", {"version": version}, None

    def reject(self, plan, version=1):
        return self.client, "POST", plan + "/reject", {"version": version, "reason": "no"}, None

    def amend(self, plan, title, version=1):
        return self.foreman, "PATCH", plan, {"title": title}, {"If-Match": f'"{version}"'}

    def look(self, plan):
        return self.engine.ask("GET", plan, token=self.client).json


def one_wins(desk, name, make):
    """make(plan) gives requests for version 1, of which exactly one can be the first."""
    wrong, firsts = [], set()
    for _ in range(ROUNDS):
        plan = desk.plan()
        requests = make(plan)
        answers = at_once(desk.engine, requests)
        good = [n for n, answer in enumerate(answers) if answer.status == 200]
        now = desk.look(plan)
        if len(good) != 1:
            wrong.append(f"{len(good)} of {len(answers)} were carried out: {[a.text[:200] for a in answers]}")
            continue
        firsts.add(good[0])
        if now["version"] != 2:
            wrong.append(f"the plan is at version {now['version']}")
        for n, answer in enumerate(answers):
            if n != good[0] and (answer.status not in (409, 412) or answer.json.get("version") != 2):
                wrong.append(f"the other is told {answer.status} {answer.text[:300]}")
        if requests[good[0]][1] == "PATCH" and now["title"] != requests[good[0]][3]["title"]:
            wrong.append(f"the title is {now['title']}")
        if requests[good[0]][2].endswith("/reject") and now["state"] != "rejected":
            wrong.append(f"rejected, and it is {now['state']}")
        if requests[good[0]][2].endswith("/approve") and now["state"] != "active":
            wrong.append(f"approved, and it is {now['state']}")
    tap.ok(not wrong, f"{name}: exactly one wins, and the others are told the version", "\n".join(wrong))
    return firsts


def same_moment():
    engine = Engine().start()
    desk = Desk(engine)
    one_wins(desk, "two approvals", lambda plan: [desk.approve(plan)] * 2)
    one_wins(desk, "approval against rejection", lambda plan: [desk.approve(plan), desk.reject(plan)])
    one_wins(desk, "approval against amendment", lambda plan: [desk.approve(plan), desk.amend(plan, "x")])
    one_wins(desk, "two amendments", lambda plan: [desk.amend(plan, "x"), desk.amend(plan, "y")])
    one_wins(desk, "a crowd", lambda plan: [desk.approve(plan), desk.reject(plan), *(desk.amend(plan, f"t{n}") for n in range(8))])

    # A plan that nobody amends meanwhile: one request with one key, from many connections, is one plan.
    body = {"title": "Once", "tasks": [{"title": "a", "brief": "b"}]}
    answers = at_once(engine, [(desk.foreman, "POST", "/v1/plans", body, {"Idempotency-Key": "once"})] * 10)
    tap.equal({(answer.status, answer.json.get("id")) for answer in answers}, {(201, answers[0].json["id"])},
              "one request with one key from ten connections is one plan")
    texts = at_once(engine, [(desk.client, "POST", "/v1/projects/~/messages", {"text": "Go on"}, None)] * 10)
    tap.equal((sorted(answer.status for answer in texts), {answer.json["id"] for answer in texts}),
              ([200] * 9 + [201], {texts[0].json["id"]}), "one text from ten connections is one message")

    # One task, many workers: exactly one gets it.
    worker = engine.ask("POST", "/v1/tokens", {"role": "worker", "name": "w"}, desk.admin).json["token"]
    while engine.ask("POST", "/v1/jobs/claim", {"worker": "w", "wait": 0}, worker).json["job"]:
        pass
    engine.ask("PATCH", "/v1/projects/~", {"settings": {"approval": "never"}}, desk.admin)
    while engine.ask("POST", "/v1/jobs/claim", {"worker": "w", "wait": 0}, worker).json["job"]:
        pass
    desk.plan()
    claims = at_once(engine, [(worker, "POST", "/v1/jobs/claim", {"worker": f"w{n}", "wait": 0}, None) for n in range(10)])
    tap.equal(sum(1 for claim in claims if claim.json["job"]), 1, "one task and ten workers: one gets it")

    # A claim that waits with a key: it is answered once, with what came meanwhile.
    key = {"Idempotency-Key": "claim"}
    mine = Connection(engine.socket)
    mine.request("POST", "/v1/jobs/claim", json.dumps({"worker": "w", "wait": 30}),
                 {"Authorization": "Bearer " + worker, "Content-Type": "application/json", **key})
    engine.ask("GET", "/v1/health")
    desk.plan()
    claim = Answer(mine.getresponse())
    again = engine.ask("POST", "/v1/jobs/claim", {"worker": "w", "wait": 30}, worker, key)
    tap.ok(claim.json["job"] and claim.json == again.json, "a claim that waited gives one job, again and again", claim.text[:300])
    log = engine.log_text()
    tap.ok("CRITICAL" not in log and "WARNING" not in log and "can't" not in log and "Sanitizer" not in log, "nothing was complained of", log)
    tap.equal(engine.close(), 0, "the engine ends well")


# ----------------------------------------------------------------- killed under clients

class Client(threading.Thread):
    """Asks for one thing after the other, each with its key, until the engine is gone."""

    def __init__(self, desk, name, acknowledged, on_acknowledged):
        super().__init__()
        self.desk, self.name, self.acknowledged, self.told = desk, name, acknowledged, on_acknowledged
        self.open = None  # what was sent, and nobody knows whether it was done

    def request(self, n):
        text = f"{self.name}-{n}"
        if n % 2:
            return self.desk.client, "/v1/projects/~/messages", {"text": text}, text
        return self.desk.foreman, "/v1/plans", {"title": text, "tasks": [{"title": "a", "brief": "b"}]}, text

    def run(self):
        mine = Connection(self.desk.engine.socket)
        for n in range(10000):
            token, target, body, key = self.open = self.request(n)
            try:
                answer = self.desk.engine.ask("POST", target, body, token, {"Idempotency-Key": key}, mine)
            except (OSError, HTTPException):
                return
            if answer.status != 201:
                self.told(f"{key}: {answer.status} {answer.text[:200]}")
                return
            self.acknowledged[key] = answer.json["id"]
            self.open = None
            self.told(None)


def everything(desk):
    """What is there: (text or title, id) of each message and plan, newest first by pages."""
    found = []
    for target, field in (("/v1/messages", "text"), ("/v1/plans", "title")):
        cursor = ""
        while cursor is not None:
            page = desk.engine.ask("GET", f"{target}?limit=500{cursor}", token=desk.client).json
            found += [(item[field], item["id"]) for item in page["items"]]
            cursor = f"&cursor={page['next_cursor']}" if page["next_cursor"] else None
    return found


def killed():
    """What a client sees of kill -9: nothing acknowledged is lost, and a retry with its key is done once."""
    engine = Engine().start()
    desk = Desk(engine, "attach")  # a turn's lease ends with the engine that runs the turn, a chat's does not
    chance = random.Random(int(os.environ.get("SEED", "7")))
    acknowledged, wrong = {}, []
    for number in range(int(os.environ.get("ROUNDS", "5"))):
        enough, left = threading.Event(), [chance.randint(1, 150)]

        def told(problem, left=left, enough=enough):
            wrong.extend([problem] if problem else [])
            left[0] -= 1
            if left[0] <= 0 or problem:
                enough.set()

        clients = [Client(desk, f"r{number}c{n}", acknowledged, told) for n in range(6)]
        for client in clients:
            client.start()
        enough.wait(WATCHDOG_S)
        engine.stop(kill=True)
        for client in clients:
            client.join()
        engine.start()
        for client in clients:
            if client.open:
                token, target, body, key = client.open
                answer = engine.ask("POST", target, body, token, {"Idempotency-Key": key})
                if answer.status != 201:
                    wrong.append(f"the retry of {key} is told {answer.status} {answer.text[:200]}")
                else:
                    acknowledged[key] = answer.json["id"]
    found = [(text, number) for text, number in everything(desk) if "c" in text]
    tap.ok(not wrong, "every request is answered, or retried", "\n".join(wrong[:5]))
    tap.ok(len(found) == len(acknowledged) and dict(found) == acknowledged,
           "killed under six clients, again and again: all that was acknowledged is there, once",
           f"{len(found)} are there, {len(acknowledged)} were acknowledged; they differ in "
           f"{sorted(set(found) ^ set(acknowledged.items()))[:20]}")
    tap.equal(engine.stop(), 0, "the engine ends well")
    done = subprocess.run([PROGRAM, "check", "--state", engine.state], capture_output=True, text=True, check=False, timeout=WATCHDOG_S)
    tap.equal(done.returncode, 0, "and its file is sound: " + done.stdout.strip()[-60:])
    engine.close()


retries()
same_moment()
killed()
tap.end()
