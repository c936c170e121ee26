#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An independent judge: schemathesis over the engine's OpenAPI document with a token of every role.

It must find no 5xx, no undocumented status or media type, no answer that its schema does not allow. The engine is
seeded with a story first, and the judge is told the ids of what is there. Derandomized. Skipped with a word where
schemathesis is not installed: it is looked for in $DBR_CLIENTS (tests/e2e/clients/install-clients) and on the path.
"""
import copy
import json
import os
import pathlib
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from engine_http import Engine, Tap  # noqa: E402
from engine_story import Story, load  # noqa: E402

CHECKS = ("not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,"
          "response_schema_conformance")
PROGRAM = shutil.which("schemathesis", path=os.path.join(os.environ.get("DBR_CLIENTS", "/nonexistent"), "bin") + ":" + os.environ["PATH"])
tap = Tap()


def with_ids(document, left):
    """The document with the ids of this engine in the paths, and some that are not there."""
    known = copy.deepcopy(document)
    for name, parameter in known["components"]["parameters"].items():
        if parameter["in"] == "path":
            ids = [left[parameter["name"]], 999999999]
            parameter["schema"] = {"enum": ids + ["~"] if name == "projectRef" else ids}
    known["components"]["parameters"]["wait"]["schema"]["maximum"] = 0
    known["components"]["parameters"]["repo_url"]["schema"] = {"enum": ["git@example.org:team/shop.git", "https://example.org/no/no", "x"]}
    known["components"]["parameters"]["project"]["schema"] = {"enum": [left["project"], 999999999]}
    return known


def judge(role):
    # In memory where that can be: each of some thousand writes waits for its sync.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    engine = Engine("--listen", "127.0.0.1:0", "--max-wait", "0", base=memory).start(2)
    document = load(engine)
    left, tokens = Story(engine, document, lambda *_: None).tell()
    file = engine.folder / "document.json"
    file.write_text(json.dumps(with_ids(document.document, left)))
    url = engine.lines[1].removeprefix("listening on ")
    done = subprocess.run([PROGRAM, "run", "--url", url, "-H", "Authorization: Bearer " + tokens[role], "--generation-deterministic",
                           "--checks", CHECKS, "--phases", "examples,coverage,fuzzing", "--max-examples", "20" if role == "admin" else "3", "--no-color",
                           str(file)], capture_output=True, text=True, timeout=300, cwd=engine.folder)
    shown = done.stdout[-6000:] + done.stderr[-2000:]
    if os.environ.get("DBR_VERBOSE"):
        print("# " + done.stdout.replace("\n", "\n# "))
    tap.equal(done.returncode, 0, f"schemathesis finds nothing with the token of a {role}")
    if done.returncode:
        print("# " + shown.replace("\n", "\n# "))
    tap.ok(engine.ask("GET", "/v1/health").status == 200, "and the engine lives", engine.log_text())
    tap.equal(engine.close(), 0, "and ends well")


def main():
    if not PROGRAM:
        print("1..0 # SKIP no schemathesis (PyPI): CI installs it")
        return
    for role in ("admin", "client", "foreman", "worker"):
        judge(role)
    tap.end()


main()
