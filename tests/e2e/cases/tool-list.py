#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What clients and models ask of a list of tools: plain schemas, plain names, one page, the same every time."""

import json
import re

from dbr_cases import Bridge, main, want

WORDS = {
    "type", "description", "enum", "minimum", "maximum", "minLength", "maxLength", "pattern", "default", "items",
    "properties", "required", "additionalProperties", "title", "minItems", "maxItems", "uniqueItems",
}


def lists():
    for revision in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"):
        with Bridge(revision=revision) as bridge:
            yield revision, bridge.ask("tools/list")


def walk(schema, place):
    want(isinstance(schema, dict), place, "is no object")
    want(set(schema) <= WORDS, place, "uses", set(schema) - WORDS)
    want(isinstance(schema.get("type", "string"), str), place, "has several types")
    if "enum" in schema:
        want(len(schema["enum"]) == len({json.dumps(v) for v in schema["enum"]}), place, "has a value twice")
    for name, child in schema.get("properties", {}).items():
        walk(child, f"{place}.{name}")
    if "items" in schema:
        walk(schema["items"], place + "[]")


def flat():
    """Every schema is a plain object at its root, without combinators, and uses plain words only"""
    for revision, answer in lists():
        for tool in answer["tools"]:
            schema = tool["inputSchema"]
            want(schema.get("type") == "object" and isinstance(schema.get("properties"), dict), revision, tool["name"])
            walk(schema, tool["name"])
            want(set(schema.get("required", [])) <= set(schema["properties"]), tool["name"])


def dialect():
    """Every schema is valid JSON Schema of 2020-12 and of draft 7"""
    try:
        import jsonschema
    except ImportError:
        return "no jsonschema: the python3 module isn't installed"
    for _, answer in lists():
        for tool in answer["tools"]:
            for kind in (jsonschema.Draft202012Validator, jsonschema.Draft7Validator):
                kind.check_schema(tool["inputSchema"])
            for child in tool["inputSchema"]["properties"].values():
                if "default" in child:
                    jsonschema.Draft202012Validator(child).validate(child["default"])
    return None


def names():
    """Names are short, of letters that every client takes, and unlike each other"""
    for _, answer in lists():
        seen = [tool["name"] for tool in answer["tools"]]
        want(len(seen) == len(set(seen)), seen)
        for name in seen:
            want(re.fullmatch(r"[a-z0-9_]{1,40}", name), name)
        for tool in answer["tools"]:
            want(tool.get("description"), tool["name"], "has no description")
            for name, child in tool["inputSchema"]["properties"].items():
                want(re.fullmatch(r"[a-z0-9_]{1,40}", name) and child.get("description"), tool["name"], name)


def one_page():
    """All tools are on one page; a cursor is never answered with the first page again"""
    for _, answer in lists():
        want("nextCursor" not in answer, "a second page")
    with Bridge() as bridge:
        for cursor in ("x", "", "0", "2"):
            reply = bridge.wait_plain(bridge.send_request("tools/list", {"cursor": cursor}))
            want(reply.get("error", {}).get("code") == -32602, cursor, str(reply)[:300])


def no_output_schema():
    """No tool promises structured content that it would not send"""
    for _, answer in lists():
        want(all("outputSchema" not in tool for tool in answer["tools"]), "outputSchema")


def same_again():
    """The list is the same each time, byte for byte, and for each client"""
    with Bridge() as bridge:
        first, again = (json.dumps(bridge.ask("tools/list")) for _ in range(2))
        want(first == again, "differs")
    with Bridge() as bridge:
        want(json.dumps(bridge.ask("tools/list")) == first, "differs in another process")


def trimmed():
    """Each revision gets the members that it knows, and no others"""
    known = {
        "2024-11-05": {"name", "description", "inputSchema"},
        "2025-03-26": {"name", "description", "inputSchema", "annotations"},
        "2025-06-18": {"name", "description", "inputSchema", "annotations", "title", "_meta"},
        "2025-11-25": {"name", "description", "inputSchema", "annotations", "title", "_meta"},
    }
    for revision, answer in lists():
        want(set(answer) == {"tools"}, revision, set(answer))
        for tool in answer["tools"]:
            want(set(tool) <= known[revision], revision, set(tool) - known[revision])


if __name__ == "__main__":
    main([flat, dialect, names, one_page, no_output_schema, same_again, trimmed])
