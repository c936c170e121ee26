#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a person at a shell is told of commands, tools and options: all that there is, and what a mistyped one was meant to be."""

import json
import pathlib

from dbr_cases import has, lacks, main, shell, want

SCHEMAS = pathlib.Path(__file__).resolve().parents[3] / "schemas"
OFFERS = (("airflow",), *(("engine", "--offer", name) for name in ("foreman", "client", "coordinator", "admin")))


def names(schema):
    """Every name and every value of an enum, however deep."""
    for name, inner in schema.get("properties", {}).items():
        yield name
        yield from names(inner)
    if "items" in schema:
        yield from names(schema["items"])
    yield from (str(value) for value in schema.get("enum", []))


def every_tool():
    """The --help of each tool of each offer names every argument that a client's schema has, nested ones too; nothing is sent"""
    for backend, *offer in OFFERS:
        status, out, err = shell("tools", backend, *offer, "--output", "json")
        want(status == 0 and not err, backend, offer, status, err)
        for tool in json.loads(out):
            for words in ((backend, tool["name"], *offer, "--help"), ("-h", "--backend", backend, *offer, tool["name"])):
                status, out, err = shell("call", *words)
                want(status == 0 and not err, words, status, err)
                has(out, f"Usage: drawbridge call --backend {backend}", tool["name"])
                missing = [name for name in names(tool["inputSchema"]) if name not in out]
                want(not missing, words, missing, out)
                lacks(out, "\\n")


def needed_and_default():
    """What is needed, what stands for what is left out, and what a list is made of"""
    status, out, _ = shell("call", "plan_create", "--help")
    want(status == 0, status)
    has(out, "title            text, needed. ", "tasks            a JSON list, needed. ", "    each a JSON object of:\n      title            text, needed.",
        "paths            a JSON list, each text; or one word. ")
    status, out, _ = shell("call", "history", "--client", "--help")
    has(out, "limit            a number, 1 to 500, 100 when left out. ")
    status, out, _ = shell("call", "hold_place", "--help", "--offer", "foreman")
    has(out, "Exactly one of plan, task, project is given.")
    status, out, _ = shell("call", "get_version", "--help")
    want("Arguments" not in out and "NAME=VALUE" not in out, out)


def own_file():
    """Of a catalogue of one's own, too"""
    status, out, err = shell("call", "--catalogue", str(SCHEMAS.parent / "doc" / "example-catalogue.xml"), "list_books", "--help")
    want(status == 0 and not err, status, err)
    has(out, "Usage: drawbridge call --catalogue ", " list_books NAME=VALUE...")


def no_such_tool():
    """A tool that isn't there has no help"""
    status, out, err = shell("call", "plan_creat", "--help")
    want(status == 2 and not out, status, out)
    has(err, "Did you mean plan_create?")
    status, out, err = shell("call", "--help")
    want(status == 0 and not err, status, err)
    has(out, "Usage:", "--catalogue=FILE")


def mistyped_options():
    """Every command says which option was meant"""
    for words, wanted in (
        (("mcp", "--cordinator"), "--coordinator"), (("mcp", "--soket=/x"), "--socket"), (("tools", "--ofer", "x"), "--offer"),
        (("call", "--cliant", "status"), "--client"), (("call", "get_version", "--hlep"), "--help"), (("call", "--outptu=json", "get_version"), "--output"),
        (("engine", "status", "--sokket", "x"), "--socket"), (("engine", "--versoin"), "--version"), (("catalogue", "check", "--allow-evn", "X"), "--allow-env"),
    ):
        status, out, err = shell(*words)
        want(status == 2 and not out, words, status, out)
        has(err, f"; did you mean {wanted}?")
    for words in (("mcp", "--zzzzzz"), ("mcp", "-x"), ("engine", "--zzzzzz")):
        status, out, err = shell(*words)
        want(status == 2 and not out, words, status, out)
        lacks(err, "did you mean")


def mistyped_commands():
    """And which command"""
    for word, wanted in (("mpc", "mcp"), ("tool", "tools"), ("catalog", "catalogue"), ("enigne", "engine")):
        status, out, err = shell(word)
        want(status == 2 and not out, word, status, out)
        has(err, f'no command "{word}"', f"Did you mean {wanted}?")
    status, out, err = shell("zzz")
    lacks(err, "Did you mean")


def asked_for():
    """help and --version, wherever they are looked for"""
    for words in (("help",), ("--help",), ("-h",), ("engine", "help"), ("engine", "--help"), ("engine", "help", "approve"), ("engine", "help", "project")):
        status, out, err = shell(*words)
        want(status == 0 and not err and len(out) > 60, words, status, out, err)
    version = shell("--version")
    want(version[0] == 0 and version == shell("engine", "--version"), version)
    has(version[1], "drawbridge ")


if __name__ == "__main__":
    main([every_tool, needed_and_default, own_file, no_such_tool, mistyped_options, mistyped_commands, asked_for])
