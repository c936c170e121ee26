#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills the engine's core with SIGKILL at random moments under load, ROUNDS times (default 8), and looks after each:
nothing acknowledged is lost, nothing is there twice, the file is sound. TAP."""
import collections
import os
import random
import subprocess
import sys
import tempfile

DRIVER = os.path.join(os.environ.get("G_TEST_BUILDDIR", "."), "tests/engine/crash-driver")
ROUNDS = int(os.environ.get("ROUNDS", "8"))
SEED = int(os.environ.get("SEED", "4711"))
UNIQUE = {"message.sent", "plan.created", "report.made"}


def load(file, number, repeats, moment):
    """Runs the load until `moment` acknowledgements came, kills it, and gives all that it said."""
    command = [DRIVER, "load", file, f"r{number}"] + [f"{key}={text}" for key, text in repeats]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    lines = []
    acknowledged = 0
    for line in process.stdout:
        lines.append(line.rstrip("\n"))
        acknowledged += line.startswith("ack ")
        if acknowledged >= moment:
            process.kill()
            break
    lines += [line.rstrip("\n") for line in process.stdout if line.endswith("\n")]
    process.stdout.close()
    process.wait()
    return lines


def ask(word, file):
    done = subprocess.run([DRIVER, word, file], stdout=subprocess.PIPE, text=True, check=False, timeout=600)
    lines = done.stdout.splitlines()
    if not lines or lines[-1] != "end":
        lines.append(f"finding {word} ended with {done.returncode}")
    return lines


def judge(file, acknowledged):
    """What is wrong with the file, given what was acknowledged: a list of sentences."""
    wrong = []
    seen = collections.Counter()
    texts = collections.Counter()
    for line in ask("dump", file):
        if line.startswith("finding "):
            wrong.append(line)
        elif line.startswith("event "):
            _, kind, ref, plan, text = line.split(" ", 4)
            seen[kind, plan if kind == "plan.created" else ref] += 1
            if kind in UNIQUE:
                texts[kind, text] += 1
    wrong += [f"{kind} {number} was acknowledged and is there {seen[kind, number]} times"
              for kind, number in sorted(acknowledged) if seen[kind, number] != 1]
    wrong += [f"{kind} \"{text}\" is there {n} times" for (kind, text), n in sorted(texts.items()) if n > 1]
    return wrong


def main():
    chance = random.Random(SEED)
    acknowledged = set()
    tried = {}
    print(f"1..{ROUNDS + 1}")
    print(f"# seed {SEED}")
    with tempfile.TemporaryDirectory(prefix="srv-crash-") as folder:
        file = os.path.join(folder, "engine.db")
        for number in range(1, ROUNDS + 1):
            repeats, tried = list(tried.items()), {}
            said = load(file, number, repeats, chance.randint(1, 400))
            wrong = [line for line in said if line.startswith("finding ")]
            for line in said:
                parts = line.split(" ", 3)
                if parts[0] == "try":
                    tried[parts[1]] = parts[2]
                elif parts[0] == "ack" and len(parts) >= 3:
                    acknowledged.add((parts[1], parts[2]))
                    if parts[1] == "message.sent":
                        tried.pop(parts[3], None)
            wrong += judge(file, acknowledged)
            print(f"{'not ok' if wrong else 'ok'} {number} - killed at {len(acknowledged)} acknowledged, "
                  f"{len(repeats)} repeated")
            for line in wrong[:20]:
                print(f"#   {line}")
            sys.stdout.flush()
        resting = ask("rest", file)
        wrong = [line for line in resting if line.startswith("finding ")] + ([] if "running 0" in resting else resting)
        print(f"{'not ok' if wrong else 'ok'} {ROUNDS + 1} - leases and jobs come to rest")
        for line in wrong[:20]:
            print(f"#   {line}")


if __name__ == "__main__":
    main()
