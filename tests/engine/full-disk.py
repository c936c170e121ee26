#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The engine on a disk of its own (a tmpfs; root only) that fills up, and that becomes read-only, at start and under load:
clear problems, reads go on, nothing is half-written, and with room again it goes on. TAP."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from engine_http import PROGRAM, WATCHDOG_S, Connection, Engine, Tap  # noqa: E402

TAP = Tap()
DISK_KIB = 2048
WRITERS = 4
MAX_WRITES = 20_000  # of each; a disk of 2 MiB is full long before
TEXT = "a line of a report that fills the disk " * 20


class Disk:
    """A tmpfs on a private folder; it never outlives the program."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="dbr-full-disk-")
        self.is_mounted = False

    def mount(self):
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_KIB}k,mode=0700", "drawbridge-test", self.folder],
                              capture_output=True, text=True, check=False)
        self.is_mounted = done.returncode == 0
        return done.stderr.strip()

    def remount(self, how):
        """Read-only is refused while a file is open for writing: then False."""
        return subprocess.run(["mount", "-o", f"remount,{how}", self.folder], capture_output=True, check=False).returncode == 0

    def fill(self):
        """Takes all room that is left; gives the file that has it."""
        ballast = os.path.join(self.folder, "ballast")
        try:
            with open(ballast, "ab", buffering=0) as out:
                while True:
                    out.write(bytes(4096))
        except OSError:
            return ballast

    def close(self):
        if self.is_mounted:
            # Lazily: a process that still has a file open does not keep the mount.
            subprocess.run(["umount", "-l", self.folder], check=False)
        os.rmdir(self.folder)


def check(engine):
    done = subprocess.run([PROGRAM, "check", "--state", engine.state], capture_output=True, text=True, check=False,
                          timeout=WATCHDOG_S)
    return done.returncode, done.stdout + done.stderr


def reports_of(engine, admin):
    """The texts of every report that history tells of, newest first."""
    found, before = [], ""
    while True:
        page = engine.ask("GET", f"/v1/timeline?limit=500{before}", token=admin).json["items"]
        found += [item["text"] for item in page if item["kind"] == "report.made"]
        if len(page) < 500:
            return found
        before = f"&before={page[-1]['seq']}"


def write_until_refused(engine, admin, who, said):
    link = Connection(engine.socket)
    for i in range(MAX_WRITES):
        name = f"{who}-{i:05} "
        reply = engine.ask("POST", "/v1/projects/~/report", {"text": name + TEXT}, admin, connection=link)
        said.append((name, reply.status, reply.code, reply.text))
        if reply.status != 201:
            break
    link.close()


def load(engine, admin):
    """Writers side by side until each is refused: everything that was said."""
    said = [[] for _ in range(WRITERS)]
    threads = [threading.Thread(target=write_until_refused, args=(engine, admin, f"w{i}", said[i])) for i in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WATCHDOG_S * 2)
    return [one for part in said for one in part]


def names_of(texts):
    return sorted(text[:text.index(" ") + 1] for text in texts)


def test_full(disk):
    engine = Engine(base=disk.folder).start()
    admin = engine.admin()
    TAP.equal(engine.ask("POST", "/v1/projects", {"repo_url": "https://git.example/o/shop"}, admin).status, 201, "a project")
    started = time.monotonic()
    said = load(engine, admin)
    acknowledged = [name for name, status, _, _ in said if status == 201]
    refused = [(status, code) for _, status, code, _ in said if status != 201]
    TAP.ok(len(acknowledged) > 10 and len(refused) == WRITERS,
           "the load fills the disk", f"{len(acknowledged)} acknowledged, {refused}, {time.monotonic() - started:.1f} s")
    TAP.ok(set(refused) == {(507, "store_full")}, "every refusal says that the disk is full", refused)
    text = [text for _, status, _, text in said if status != 201][0]
    TAP.ok("Make room" in text, "and what to do", text)

    # Not a page is left now: also the log's index can't grow.
    ballast = disk.fill()
    for i in range(3):
        reply = engine.ask("POST", "/v1/projects/~/report", {"text": f"full-{i} " + TEXT}, admin)
        TAP.equal((reply.status, reply.code), (507, "store_full"), f"still refused, {i + 1}")
    TAP.equal(engine.ask("GET", "/v1/status", token=admin).status, 200, "status is read on a full disk")
    TAP.equal(engine.ask("GET", "/v1/health").status, 200, "and health")
    TAP.equal(names_of(reports_of(engine, admin)), sorted(acknowledged), "history has what was acknowledged, once, and nothing else")

    os.unlink(ballast)
    subprocess.run(["mount", "-o", f"remount,size={DISK_KIB * 2}k", disk.folder], check=False)
    reply = engine.ask("POST", "/v1/projects/~/report", {"text": "room-0 " + TEXT}, admin)
    TAP.equal(reply.status, 201, "with room it goes on by itself")
    acknowledged.append("room-0 ")
    status, text = check(engine)
    TAP.equal(status, 0, f"the check finds it sound while it runs: {text.strip()[:200]}")

    disk.fill()
    engine.stop(kill=True)
    status, text = check(engine)
    TAP.ok(status in (0, 1) and text.strip() and "Traceback" not in text, "the check answers on a full disk", f"{status} {text}")
    started = subprocess.run([PROGRAM, "serve", "--socket", engine.socket, "--state", engine.state + "2/engine.db"],
                             capture_output=True, text=True, check=False, timeout=WATCHDOG_S)
    TAP.ok(started.returncode == 1 and ("full" in started.stderr or "No space" in started.stderr), "a first start on a full disk says so", started.stderr)
    os.unlink(ballast)
    engine.start()
    TAP.equal(names_of(reports_of(engine, admin)), sorted(acknowledged), "killed on a full disk and started again: nothing is lost")
    status, text = check(engine)
    TAP.equal(status, 0, f"and sound: {text.strip()[:200]}")
    TAP.equal(engine.close(), 0, "the engine ends well")
    shutil.rmtree(engine.state + "2", ignore_errors=True)


def start_once(engine):
    """A start that is to fail: its status and what it said; None when it runs."""
    # The socket elsewhere: it is the store that is to be refused.
    with tempfile.TemporaryDirectory(prefix="dbr-engine-") as elsewhere:
        process = subprocess.Popen([PROGRAM, "serve", "--socket", os.path.join(elsewhere, "engine.sock"), "--state", engine.state],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = process.stdout.readline()  # nothing: it ended
        if line:
            process.terminate()
        said = process.communicate(timeout=WATCHDOG_S)[1]
    return None if line else process.returncode, said


def test_read_only_start(disk):
    engine = Engine(base=disk.folder).start()
    admin = engine.admin()
    engine.ask("POST", "/v1/projects", {"repo_url": "https://git.example/o/shop"}, admin)
    # The kernel refuses this while the store is open (or every write is refused); reads go on either way.
    was_refused = not disk.remount("ro")
    reply = engine.ask("POST", "/v1/projects/~/report", {"text": "maybe"}, admin)
    TAP.equal(reply.status, 201 if was_refused else 503, "a disk that is made read-only under it")
    TAP.equal(engine.ask("GET", "/v1/status", token=admin).status, 200, "status is read")
    disk.remount("rw")
    engine.stop()
    TAP.ok(disk.remount("ro"), "the disk is read-only")
    status, said = start_once(engine)
    TAP.ok(status == 1 and "ead-only" in said and "drawbridge-engine: " in said, "a start on it says so", f"{status} {said}")
    status, text = check(engine)
    TAP.ok(status == 0 and "sound" in text, "the check reads it there", f"{status} {text}")
    with tempfile.TemporaryDirectory(prefix="dbr-full-disk-") as folder:
        copy = os.path.join(folder, "copy.db")
        done = subprocess.run([PROGRAM, "backup", "--state", engine.state, copy], capture_output=True, text=True, check=False,
                              timeout=WATCHDOG_S)
        TAP.ok(done.returncode == 0 and os.path.getsize(copy) > 0, "and the backup copies it", done.stderr)
    disk.remount("rw")
    engine.start()
    TAP.equal(engine.ask("GET", "/v1/status", token=admin).status, 200, "writable again: it starts")
    engine.stop()

    # The file alone: root writes to any file whatever its mode, so a bind mount makes it read-only.
    bound = subprocess.run(["mount", "--bind", engine.state, engine.state], check=False).returncode == 0
    bound = bound and subprocess.run(["mount", "-o", "remount,bind,ro", engine.state], check=False).returncode == 0
    if not bound:
        TAP.ok(True, "a read-only file # SKIP no bind mounts")
    else:
        engine.start()
        reply = engine.ask("GET", "/v1/status", token=admin)
        TAP.equal(reply.status, 200, "a read-only file is read")
        reply = engine.ask("POST", "/v1/projects/~/report", {"text": "no"}, admin)
        TAP.equal((reply.status, reply.code), (503, "store_read_only"), "and a write says what is wrong")
        engine.stop()
        print("# " + engine.log_text().strip().replace("\n", "\n# "))
    subprocess.run(["umount", "-l", engine.state], check=False, stderr=subprocess.DEVNULL)
    engine.start()
    TAP.equal(engine.ask("POST", "/v1/projects/~/report", {"text": "yes"}, admin).status, 201, "then it is written again")
    status, text = check(engine)
    TAP.equal(status, 0, f"and sound: {text.strip()[:200]}")
    engine.close()


def main():
    if os.geteuid() != 0:
        print("1..0 # SKIP only root can mount a disk of its own")
        return
    disk = Disk()
    try:
        why = disk.mount()
        if not disk.is_mounted:
            print(f"1..0 # SKIP no tmpfs can be mounted: {why}")
            return
        test_full(disk)
        test_read_only_start(disk)
    finally:
        disk.close()
    TAP.end()


main()
