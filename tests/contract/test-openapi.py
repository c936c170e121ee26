#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds schemas/airflow.xml to a real Airflow's own OpenAPI document.

Every request of the catalogue must be an operation there, with those query parameters and body members, and every
operation that can delete, by its method or by what its body may say, must need delete access in the built program.
"""
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

NS = "{urn:drawbridge:catalogue:1}"
SRC = os.environ.get("G_TEST_SRCDIR", ".")
BUILD = os.environ.get("G_TEST_BUILDDIR", ".")
SHARED = os.environ.get("DBR_SHARED", os.path.join(SRC, "..", "shared"))
DOCUMENT = os.path.join(SHARED, "airflow", "rec", "openapi.json")
results = []


def report(ok, name, why=""):
    results.append(ok)
    print(f"{'ok' if ok else 'not ok'} {len(results)} - {name}")
    if why:
        print("# " + why.replace("\n", "\n# "))


def resolve(document, schema):
    while isinstance(schema, dict) and "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
    return schema


def segments(path):
    return ["{}" if "{" in piece else piece for piece in path.strip("/").split("/")]


def find_operation(document, method, path):
    for known, operations in document["paths"].items():
        if segments(known) == segments(path) and method.lower() in operations:
            return operations[method.lower()]
    return None


def body_schema(document, operation):
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if content is None:
        return None
    schema = resolve(document, content["schema"])
    for option in schema.get("anyOf", []):
        if resolve(document, option).get("type") == "object":
            return resolve(document, option)
    return schema


def can_hold_delete(document, schema, depth=0):
    """Whether a body may carry an action "delete" anywhere."""
    schema = resolve(document, schema)
    if depth > 8 or not isinstance(schema, dict):
        return False
    if schema.get("const") == "delete" or "delete" in schema.get("enum", []):
        return True
    children = list(schema.get("properties", {}).values())
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            children.append(schema[key])
    for key in ("anyOf", "oneOf", "allOf"):
        children += schema.get(key, [])
    return any(can_hold_delete(document, child, depth + 1) for child in children)


def check_request(document, tool, request, prefix):
    method, path = request.get("method", "GET"), request.get("path")
    name = f"{tool} {request.get('id')}: {method} {path}"
    if re.fullmatch(r"\{\w+\}", path):
        report(True, name + " (the caller's own path)")
        return
    operation = find_operation(document, method, prefix + path)
    if operation is None:
        report(False, name, "no such operation")
        return
    known = {p["name"] for p in operation.get("parameters", []) if p["in"] == "query"}
    wrong = [q.get("name") for q in request.findall(NS + "query") if q.get("name") and q.get("name") not in known]
    body = request.find(NS + "body")
    if body is not None:
        schema = body_schema(document, operation) or {}
        fields = [f.get("name") for f in body.findall(NS + "field")]
        wrong += [f for f in fields if f not in schema.get("properties", {})]
        wrong += [f"(missing) {f}" for f in schema.get("required", []) if f not in fields]
    report(not wrong, name, "not in the document: " + ", ".join(wrong) if wrong else "")


def refusal_of(method, path, environment):
    arguments = json.dumps({"method": method, "path": path})
    run = subprocess.run([os.path.join(BUILD, "drawbridge"), "call", "airflow_api_call", "--arguments", arguments],
                         env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
    return run.returncode, run.stderr


def check_deletes(document):
    # Writes open, deletes shut, and nobody listens there: a request that passed the gate would say so.
    environment = {"AIRFLOW_API_URL": "http://127.0.0.1:9", "AIRFLOW_MCP_ALLOW_WRITES": "1", "AIRFLOW_ACCESS_TOKEN": "test-token", "LC_ALL": "C.UTF-8"}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            content = operation.get("requestBody", {}).get("content", {})
            bodies = [c["schema"] for c in content.values() if "schema" in c]
            if method != "delete" and not any(can_hold_delete(document, b) for b in bodies):
                continue
            concrete = re.sub(r"\{[^}]*\}", "x", path)
            status, text = refusal_of(method.upper(), concrete, environment)
            ok = status == 1 and "needs delete access" in text
            report(ok, f"{method.upper()} {path} needs delete access", "" if ok else text)


def main():
    if not os.path.exists(DOCUMENT):
        print("1..0 # SKIP no shared: the recorded OpenAPI document is not there")
        return 0
    with open(DOCUMENT, encoding="utf-8") as file:
        document = json.load(file)
    document = document.get("response", {}).get("body", document)
    catalogue = ET.parse(os.path.join(SRC, "schemas", "airflow.xml")).getroot()
    prefix = catalogue.find(NS + "backend").get("prefix")
    for tool in catalogue.findall(NS + "tool"):
        for request in tool.findall(NS + "request"):
            check_request(document, tool.get("name"), request, prefix)
    check_deletes(document)
    print(f"1..{len(results)}")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
