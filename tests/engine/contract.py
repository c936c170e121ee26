#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The server against its own OpenAPI document: in one story every operation succeeds, and every answer is as documented."""
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from engine_http import Engine, Tap  # noqa: E402
from engine_story import Story, load  # noqa: E402

tap = Tap()
engine = Engine().start()
document = load(engine)
story = Story(engine, document, lambda name, status, wrong: tap.ok(wrong is None, f"{name} {status}", wrong or ""))
story.tell()
tap.equal(set(document.operations) - story.done, set(), "every operation was asked")
tap.equal(engine.close(), 0, "the engine ends well")
tap.end()
