#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A foreman that hangs and ignores SIGTERM, with the shortest time limit there is: a minute. Nobody stops it but the limit."""
import pathlib
import sys
import uuid

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import loop  # noqa: E402
from loop import TAP, Shop, processes_with, wait_until  # noqa: E402

# The minute, the grace of its end, and what a loaded machine takes.
loop.WATCHDOG_S = 180


def main():
    shop = Shop()
    mark = uuid.uuid4().hex
    script = f"trap '' TERM HUP; setsid sh -c 'trap \"\" TERM; sleep 1000; : {mark}' & while :; do sleep 1000; done; : {mark}"
    project = shop.project("hangs", ["/bin/sh", "-c", script], turn_minutes=1)
    shop.say(project, "Do something")
    wait_until(lambda: processes_with(mark), "the foreman's start")
    first = set(processes_with(mark))
    TAP.equal(shop.say(project, "Another thing")["outcome"], "turn_running", "a message waits for the turn")
    event = shop.wait("turn.crashed", project)
    TAP.ok("limit" in event["text"], "the limit ends the turn, and history says so", event["text"])
    wait_until(lambda: not first & set(processes_with(mark)), "its processes' end")
    TAP.ok(True, "nothing of it is left, however it hid")
    shop.engine.ask("PUT", f"/v1/projects/{project['id']}/hold", {"held": True}, shop.admin)
    wait_until(lambda: not processes_with(mark) or shop.get("/v1/projects")["items"][0]["lease"], "the hold, or a next turn")
    lease = shop.get("/v1/projects")["items"][0]["lease"]
    if lease:
        shop.engine.ask("POST", f"/v1/leases/{lease['id']}/end", {}, shop.admin)
    wait_until(lambda: not processes_with(mark), "the last turn's end")
    wait_until(lambda: not shop.leftovers(), "its folder's end")
    TAP.ok(True, "no folder and no token file is left")
    TAP.equal({message["state"] for message in shop.get("/v1/messages")["items"]} - {"waiting", "delivered"}, set(),
              "its messages were not lost")
    TAP.equal(shop.close(), 0, "the engine ends well")
    TAP.end()


main()
