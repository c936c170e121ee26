#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The whole loop as the official Python client sees it, in both eras: a coordinator's chat over two projects whose user says
yes and no in the client's own form, a foreman of each project with its lease's token, and a worker. The scripts decide
nothing by themselves: every id and version is read from the text that a model would read."""
import os
import pathlib
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
import dbr_e2e  # noqa: E402

CLIENTS = dbr_e2e.clients_folder()
if os.environ.get("DBR_IN_CLIENTS") != "1":
    # Once more, in the environment that has the client.
    os.environ["DBR_IN_CLIENTS"] = "1"
    python = str(CLIENTS / "bin" / "python")
    os.execv(python, [python, "-B", __file__])

import asyncio  # noqa: E402
import contextlib  # noqa: E402
import re  # noqa: E402
import subprocess  # noqa: E402

from engine_http import PROGRAM, WATCHDOG_S, Engine  # noqa: E402
from mcp import Client, StdioServerParameters  # noqa: E402
from mcp_types import ElicitResult  # noqa: E402

SHOP, BLOG = "https://git.example/acme/shop", "https://git.example/acme/blog"
COORDINATOR_TOOLS = {"status", "history", "list_projects", "ask_foreman", "plan_approve", "plan_reject"}
FOREMAN_TOOLS = {"status", "history", "messages", "message_answer", "plan_create", "plan_amend", "task_add", "task_update",
                 "task_cancel", "task_retry", "task_note", "hold_place", "hold_release", "report", "ask_user"}
TAP = dbr_e2e.Tap()


def number(pattern, text):
    found = re.search(pattern, text)
    return int(found[1]) if found else 0


class World:
    """An engine with two projects, and the tokens that its admin gives away."""

    def __init__(self):
        self.engine = Engine("--unconfined").start()
        self.admin = self.engine.admin()
        self.seen = 0
        for url in (SHOP, BLOG):
            checkout = self.engine.folder / url.rsplit("/", 1)[1]
            checkout.mkdir()
            self.post("/v1/projects", repo_url=url, checkout=str(checkout))
        self.client = self.post("/v1/tokens", role="client", name="chat")["token"]
        self.worker = self.post("/v1/tokens", role="worker", name="worker")["token"]

    def post(self, target, **body):
        answer = self.engine.ask("POST", target, body, self.admin)
        assert answer.status < 300, answer.text
        return answer.json

    def lease(self, url):
        lease = self.post(f"/v1/projects/~/lease?repo_url={url}", holder="sdk", ttl=600)
        return lease["id"], lease["token"]

    def wait(self, kind, count):
        """Until that many events of the kind came since the last wait: the engine holds the request until one comes."""
        while count > 0:
            reply = self.engine.ask("GET", f"/v1/events?after={self.seen}&wait=30", None, self.admin).json
            assert reply["items"], f"no {kind} came: {self.engine.log_text()}"
            for event in reply["items"]:
                self.seen = event["seq"]
                count -= event["kind"] == kind
                if count == 0:
                    return

    @contextlib.contextmanager
    def working(self):
        env = {**os.environ, "BRIGADA_TOKEN": self.worker, "XDG_STATE_HOME": str(self.engine.folder / "xdg")}
        process = subprocess.Popen([PROGRAM, "work", "--socket", self.engine.socket, "--name", "wally", "--unconfined", "--",
                                    "/bin/sh", "-c", 'cat; echo "built $BRIGADA_TITLE in $PWD"'],
                                   env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.engine.log)
        try:
            yield
        finally:
            process.terminate()
            process.wait(WATCHDOG_S)


class Chat:
    """One client with its server; the user behind it answers each form with the next of self.answers."""

    def __init__(self, world, mode, name, role, token, user=True, **env):
        self.name = f"{mode}, {name}"
        self.answers, self.forms = [], []
        words = ["mcp", *role, "--socket", world.engine.socket]
        server = StdioServerParameters(command=dbr_e2e.PROGRAM, args=words,
                                       env=dbr_e2e.program_env(None, BRIGADA_TOKEN=token, **env))
        self.client = Client(server, mode=mode, read_timeout_seconds=WATCHDOG_S,
                             elicitation_callback=self.answer if user else None)

    async def answer(self, _context, params):
        self.forms.append(params.message)
        action = self.answers.pop(0) if self.answers else "cancel"
        if action != "yes":
            return ElicitResult(action=action)
        (field,) = params.requested_schema["properties"]
        return ElicitResult(action="accept", content={field: True})

    async def call(self, what, tool, arguments, *wanted, error=False):
        """Calls, and checks that the answer has every wanted text and is an error or none; the text."""
        result = await self.client.call_tool(tool, arguments)
        text = "\n".join(block.text for block in result.content if block.type == "text")
        TAP.has(text, f"{self.name}: {what}", *wanted)
        if result.is_error != error:
            TAP.ok(False, f"{self.name}: {what}: is {'an' if error else 'no'} error", text)
        return text

    async def ask_user(self, what, answer, tool, arguments, *wanted, error=False):
        """The same with a call that the user is asked about; what the form said."""
        self.answers, self.forms = [answer], []
        await self.call(what, tool, arguments, *wanted, error=error)
        TAP.ok(len(self.forms) == 1, f"{self.name}: {what}: the user was asked once", self.forms)
        return "\n".join(self.forms)


async def ask(coordinator, shop, blog):
    names = {tool.name for tool in (await coordinator.client.list_tools()).tools}
    TAP.ok(names == COORDINATOR_TOOLS, f"{coordinator.name}: its tools", names)
    names = {tool.name for tool in (await shop.client.list_tools()).tools}
    TAP.ok(names == FOREMAN_TOOLS, f"{shop.name}: its tools", names)
    await coordinator.call("the projects", "list_projects", {}, "2 projects", SHOP, BLOG)
    await coordinator.call("asks nobody by name", "ask_foreman", {"text": "Add search"}, "repo_url: is required", "list_projects",
                           error=True)
    await coordinator.call("asks one", "ask_foreman", {"text": "Add search", "repo_url": SHOP}, "Message ")
    await coordinator.call("asks the other", "ask_foreman", {"text": "Write a post", "repo_url": BLOG}, "Message ")
    await coordinator.call("asks again", "ask_foreman", {"text": "Add search", "repo_url": SHOP}, "repeat of message")
    text = await shop.call("its own message", "messages", {}, "1 message", "of the user", "Add search")
    TAP.lacks(text, f"{shop.name}: and nobody else's", "Write a post")
    return number(r"message (\d+) of the user", text), number(
        r"message (\d+) of the user", await blog.call("its own message", "messages", {}, "1 message", "Write a post"))


async def plan(foreman, message, title):
    await foreman.call("a plan with a mistake", "plan_create", {"title": title, "tasks": [
        {"title": "A", "brief": "a", "depends_on": ["Z"]}]}, "tasks[0].depends_on[0]", "Nothing was made", error=True)
    text = await foreman.call("a plan", "plan_create", {"title": title, "summary": "Asked for", "tasks": [
        {"title": "Draft", "brief": "Draft it", "paths": ["src/**"]},
        {"title": "Finish", "brief": "Finish it", "depends_on": ["Draft"]}]}, "version 1, awaiting approval", "approval")
    await foreman.call("answers", "message_answer", {"message": message, "text": "Planned."}, "is answered")
    await foreman.call("reports", "report", {"text": f"{title} is planned."}, "Reported")
    return number(r"Made plan (\d+)", text)


async def decide(coordinator, foreman, first, second):
    """A stale yes, a no, a yes; and a yes that changes the rule."""
    await coordinator.call("what needs the user", "status", {}, "2 things for the user",
                           f"plan {first} version 1 of shop awaits approval: Search", f"plan {second} version 1 of blog awaits",
                           'Setting: approval = "always"', "Search is planned.")
    await foreman.call("changes its plan", "plan_amend", {"plan": first, "version": 1, "add": [
        {"title": "Explain", "brief": "Write it down"}]}, f"Plan {first} is at version 2")
    await coordinator.ask_user("approves what was shown before", "yes", "plan_approve", {"plan": first, "version": 1},
                               "409", "version 2", "Nothing was approved", "show the user the plan at version 2", error=True)
    await coordinator.call("now", "status", {"repo_url": SHOP}, f"plan {first} version 2 of shop awaits approval", "Explain")
    await coordinator.ask_user("the user says no", "decline", "plan_approve", {"plan": first, "version": 2},
                               "Nothing was sent", "the user declined", error=True)
    await coordinator.call("still", "status", {"repo_url": SHOP}, f"plan {first} version 2 of shop awaits approval")
    form = await coordinator.ask_user("the user says yes", "yes", "plan_approve", {"plan": first, "version": 2},
                                      f"Approved version 2 of plan {first}, now active", "Ready for a worker:", "Draft", "Explain")
    TAP.has(form, f"{coordinator.name}: the form says what it is about", f"version 2 of plan {first}", "its first tasks start")
    form = await coordinator.ask_user("yes, and stop asking", "yes", "plan_approve",
                                      {"plan": second, "version": 1, "and_stop_asking": True},
                                      f"Approved version 1 of plan {second}", 'approval, from "always" to "never"',
                                      "To undo it: drawbridge engine project set")
    TAP.has(form, f"{coordinator.name}: the form says that the rule changes", "for good")


async def work(world, coordinator, blog):
    await blog.call("its next plan starts by itself", "plan_create", {"title": "Second post", "tasks": [
        {"title": "Type", "brief": "Type it"}]}, "version 1, active")
    with world.working():
        await asyncio.to_thread(world.wait, "plan.done", 3)
    await coordinator.call("all is done", "status", {"all": True}, "0 things for the user", "0 tasks running", "3 done", "Second post")
    await coordinator.call("what happened", "history", {"repo_url": SHOP}, "message.sent", "Add search", "plan.created",
                           "plan.approved", "job.started", "wally", "built Draft in", "built Explain in", "task.done",
                           "plan.done", "Search is planned.")
    await coordinator.call("and to the rule", "history", {"repo_url": BLOG}, "always", "never", "Second post")


async def reject(coordinator, foreman):
    text = await foreman.call("another plan", "plan_create", {"title": "Adverts", "tasks": [
        {"title": "Blink", "brief": "Blink"}]}, "awaiting approval")
    made = number(r"Made plan (\d+)", text)
    await coordinator.ask_user("the user rejects it", "yes", "plan_reject", {"plan": made, "version": 1, "reason": "No adverts"},
                               f"Rejected version 1 of plan {made}", "The foreman is told")
    await foreman.call("reads why", "messages", {}, "of the engine, waiting", "No adverts")


async def refuse(world, mode, shop, lease):
    async def once(chat, *words, error=True):
        async with chat.client:
            await chat.call(*words, error=error)

    await once(Chat(world, mode, "a foreman with a client's token", [], world.client, BRIGADA_ALLOW_WRITES="1"),
               "is told so", "report", {"text": "x"}, "403", "This is a client's token", "won't help")
    await once(Chat(world, mode, "a coordinator that only watches", ["--coordinator"], world.client),
               "asks", "ask_foreman", {"text": "x", "repo_url": SHOP}, "Refused", "BRIGADA_ALLOW_WRITES=1")
    world.post(f"/v1/leases/{lease}/end")
    await shop.call("after its turn", "status", {}, "401", "that is over", "won't help", error=True)
    await shop.call("nor a write", "report", {"text": "x"}, "401", "that is over", error=True)


async def talk(mode, version):
    world = World()
    try:
        (lease, shop_token), (_, blog_token) = world.lease(SHOP), world.lease(BLOG)
        coordinator = Chat(world, mode, "coordinator", ["--coordinator"], world.client, BRIGADA_ALLOW_WRITES="1")
        shop = Chat(world, mode, "shop's foreman", [], shop_token, user=False, BRIGADA_ALLOW_WRITES="1")
        blog = Chat(world, mode, "blog's foreman", [], blog_token, user=False, BRIGADA_ALLOW_WRITES="1")
        async with coordinator.client, shop.client, blog.client:
            for chat in (coordinator, shop):
                TAP.ok(chat.client.protocol_version == version, f"{chat.name}: speaks {version}", chat.client.protocol_version)
            of_shop, of_blog = await ask(coordinator, shop, blog)
            first, second = await plan(shop, of_shop, "Search"), await plan(blog, of_blog, "A post")
            await decide(coordinator, shop, first, second)
            await work(world, coordinator, blog)
            await reject(coordinator, shop)
            await refuse(world, mode, shop, lease)
    finally:
        TAP.ok(world.engine.close() == 0, f"{mode}: the engine ends well")


def main():
    if not os.access(PROGRAM, os.X_OK):
        dbr_e2e.skip_all(f"{PROGRAM} is not built")
    for mode, version in (("auto", "2026-07-28"), ("legacy", "2025-11-25")):
        try:
            asyncio.run(asyncio.wait_for(talk(mode, version), 5 * WATCHDOG_S))
        except Exception as error:  # noqa: BLE001  (whatever it is, the next era is tried too)
            TAP.ok(False, f"{mode}: the loop is held to its end", repr(error))
    TAP.done()


main()
