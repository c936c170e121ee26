#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The engine's roles: each offer's exact tools and arguments, and every request against what the engine lets that role do.

Golden files: tests/contract/golden/roles/<offer>, one line a tool (DBR_UPDATE=1 writes them anew). The operations and who
may do them are read from engine/srv-operations.h, query and body from schemas/engine.openapi.yaml where PyYAML is there.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET

NS = "{urn:drawbridge:catalogue:1}"
SRC = os.environ.get("G_TEST_SRCDIR", ".")
BUILD = os.environ.get("G_TEST_BUILDDIR", ".")
PROGRAM = os.path.join(BUILD, "drawbridge")
GOLDEN = os.path.join(SRC, "tests", "contract", "golden", "roles")
OFFERS = ("foreman", "client", "coordinator", "admin")
# Whose token each offer works with.
ROLES = {"foreman": "FOREMAN", "client": "CLIENT", "coordinator": "CLIENT", "admin": "ADMIN"}
results = []


def report(why, name):
    results.append(not why)
    print(f"{'not ok' if why else 'ok'} {len(results)} - {name}")
    for line in str(why or "").split("\n"):
        print("# " + line) if line else None


def skip(name, why):
    results.append(True)
    print(f"ok {len(results)} - {name} # SKIP {why}")


def run(*arguments, **more):
    environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "BRIGADA_TOKEN": "a-token-of-the-tests", **more}
    return subprocess.run([PROGRAM, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                          env=environment, check=False)


# ---- the tool lists

def shape(schema):
    """A parameter in a few characters: what it is, not what its description says."""
    text = schema["type"]
    if "enum" in schema:
        text += "(" + "|".join(map(str, schema["enum"])) + ")"
    if schema.get("items"):
        text += f"[{shape(schema['items'])}]"
    if schema.get("properties"):
        text += "{" + ", ".join(arguments(schema)) + "}"
    if "default" in schema:
        text += f"={json.dumps(schema['default'])}"
    return text


def arguments(schema):
    required = schema.get("required", [])
    return [f"{name}{'' if name in required else '?'}: {shape(value)}" for name, value in schema["properties"].items()]


def describe(tool):
    hints = tool["annotations"]
    marks = [word for word, on in (("reads", hints["readOnlyHint"]), ("destroys", hints["destructiveHint"]),
                                   ("idempotent", hints["idempotentHint"])) if on]
    return f"{tool['name']} ({', '.join(arguments(tool['inputSchema']))})" + (" " + " ".join(marks) if marks else "")


def check_list(offer):
    done = run("tools", "engine", "--offer", offer, "--output", "json")
    got = [describe(tool) for tool in json.loads(done.stdout)]
    path = os.path.join(GOLDEN, offer)
    if os.environ.get("DBR_UPDATE") == "1":
        os.makedirs(GOLDEN, exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in got)
    with open(path, encoding="utf-8") as file:
        wanted = file.read().splitlines()
    report("" if got == wanted else "\n".join(got), f"{offer}: its tools and their arguments")


def check_separation(catalogue):
    """A tool of another offer is nowhere: an unknown tool, not a refused one."""
    names = {tool.get("name") for tool in catalogue.findall(NS + "tool")}
    for offer in ("foreman", "client", "coordinator"):
        own = {line.split(" ")[0] for line in open(os.path.join(GOLDEN, offer), encoding="utf-8")}
        options = [] if offer == "foreman" else ["--" + offer]
        lines = [{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}]
        lines += [{"jsonrpc": "2.0", "id": name, "method": "tools/call", "params": {"name": name, "arguments": {}}}
                  for name in sorted(names - own)]
        done = subprocess.run([PROGRAM, "mcp", *options], input="".join(json.dumps(line) + "\n" for line in lines), text=True,
                              capture_output=True, timeout=60, check=False,
                              env={"LC_ALL": "C.UTF-8", "BRIGADA_TOKEN": "a-token-of-the-tests", "BRIGADA_ALLOW_WRITES": "1"})
        answers = {m["id"]: m for m in map(json.loads, done.stdout.splitlines())}
        wrong = [name for name in names - own if answers[name].get("error", {}).get("code") != -32602]
        report(", ".join(wrong), f"{offer}: {len(names - own)} tools of other offers are unknown")
    done = run("mcp", "--offer", "admin")
    report("" if done.returncode == 2 and "command line only" in done.stderr else done.stderr, "admin is never served")
    done = run("mcp", "--client", "--coordinator")
    report("" if done.returncode == 2 and "exclude each other" in done.stderr else done.stderr, "--client or --coordinator")


# ---- requests against the engine's own table

def operations():
    with open(os.path.join(SRC, "engine", "srv-operations.h"), encoding="utf-8") as file:
        text = file.read()
    sets = dict(re.findall(r"^#define (SRV_\w+) (\(?SRV_ROLE.*)$", text, re.M))
    found = {}
    for name, method, path, roles in re.findall(r'X \((\w+), +"(\w+)", +"(\S+)", +SRV_\w+, +(\w+)\)', text):
        found[method, re.sub(r"\{\w+\}", "{}", path)] = (name, sets.get(roles, roles))
    return found


def requests_of(catalogue, offer):
    for tool in catalogue.findall(NS + "tool"):
        if offer not in (tool.get("offer") or " ".join(OFFERS)).split():
            continue
        for request in tool.findall(NS + "request"):
            yield tool, request


def final_path(request):
    return "/v1" + re.sub(r"\{[^}]*\}", "{}", request.get("path").replace("/~", "/{}"))


def check_roles(catalogue):
    known = operations()
    for offer in OFFERS:
        wrong = []
        for tool, request in requests_of(catalogue, offer):
            operation = known.get((request.get("method", "GET"), final_path(request)))
            if operation is None:
                wrong.append(f"{tool.get('name')}: no operation {request.get('method', 'GET')} {final_path(request)}")
            elif ROLES[offer] not in operation[1]:
                wrong.append(f"{tool.get('name')}: {operation[0]} is not for a {ROLES[offer].lower()}")
        report("\n".join(wrong), f"{offer}: every request is an operation that its token may do")


def check_codes(catalogue):
    """Advice for a code that the engine never sends would never be read."""
    folder = os.path.join(SRC, "engine")
    source = ""
    for name in sorted(os.listdir(folder)):
        if name.endswith(".c"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                source += file.read()
    codes = {on.get("code") for on in catalogue.iter(NS + "on") if on.get("code")}
    wrong = sorted(code for code in codes if f'"{code}"' not in source)
    report(", ".join(wrong), f"the engine sends each of {len(codes)} codes that have advice")


def check_confirm(catalogue):
    wanted = {"plan_approve", "plan_reject"}
    got = {tool.get("name") for tool in catalogue.findall(NS + "tool")
           for request in tool.findall(NS + "request") if request.get("confirm") == "user"}
    report("" if got == wanted else f"asks for: {sorted(got)}", "the user is asked for what is the user's decision")


# ---- requests against the OpenAPI document

def resolve(document, schema):
    while isinstance(schema, dict) and "$ref" in schema:
        node = document
        for key in schema["$ref"].lstrip("#/").split("/"):
            node = node[key]
        schema = node
    return schema


def members(document, schema):
    schema = resolve(document, schema) or {}
    found = dict(schema.get("properties", {}))
    for part in schema.get("allOf", []) + schema.get("anyOf", []) + schema.get("oneOf", []):
        found.update(members(document, part))
    return found


def check_fields(document, element, schema, where):
    known = members(document, schema)
    for field in element.findall(NS + "field"):
        name = field.get("name")
        if name not in known:
            yield f"{where} has no member {name}"
        elif field.findall(NS + "field"):
            yield from check_fields(document, field, known[name], f"{where}.{name}")


def check_document(document, request, name):
    for path, item in document["paths"].items():
        path = path if path.startswith("/v1") else "/v1" + path
        operation = item.get(request.get("method", "GET").lower())
        if operation is None or re.sub(r"\{\w+\}", "{}", path) != final_path(request):
            continue
        parameters = [resolve(document, p) for p in item.get("parameters", []) + operation.get("parameters", [])]
        known = {p["name"] for p in parameters if p["in"] == "query"}
        for query in request.findall(NS + "query"):
            if query.get("name") not in known:
                yield f"{name}: no query parameter {query.get('name')}"
        headers = {p["name"].lower() for p in parameters if p["in"] == "header"}
        for header in request.findall(NS + "header"):
            if header.get("name").lower() not in headers:
                yield f"{name}: no header {header.get('name')}"
        body = request.find(NS + "body")
        if body is not None:
            content = resolve(document, operation.get("requestBody", {})).get("content", {})
            schema = content.get("application/json", {}).get("schema", {})
            yield from check_fields(document, body, schema, name)
        return
    yield f"{name}: the document has no {request.get('method', 'GET')} {final_path(request)}"


def check_openapi(catalogue):
    file = os.path.join(SRC, "schemas", "engine.openapi.yaml")
    name = "every request is in schemas/engine.openapi.yaml"
    if not os.path.exists(file):
        skip(name, "schemas/engine.openapi.yaml is not there yet")
        return
    try:
        import yaml
    except ImportError:
        skip(name, "no PyYAML")
        return
    with open(file, encoding="utf-8") as text:
        document = yaml.safe_load(text)
    wrong = [problem for tool in catalogue.findall(NS + "tool") for request in tool.findall(NS + "request")
             for problem in check_document(document, request, tool.get("name"))]
    report("\n".join(wrong), name)


# ---- the command line

def check_command_line():
    with tempfile.TemporaryDirectory(prefix="dbr-") as folder:
        more = {"XDG_RUNTIME_DIR": folder, "XDG_STATE_HOME": folder}
        done = run("call", "status", **more)
        report("" if done.returncode == 2 and "engine --offer coordinator" in done.stderr else done.stderr,
               "call: a tool of several offers is asked back")
        done = run("call", "--client", "status", **more)
        socket = os.path.join(folder, "drawbridge", "engine.sock")
        good = done.returncode == 1 and f"unix:{socket}" in done.stderr and "drawbridge engine serve" in done.stderr
        report("" if good else done.stderr, "call --client: the default socket, and how the engine starts")
        done = run("call", "status", "--client", "--socket", os.path.join(folder, "other.sock"), **more)
        report("" if "other.sock" in done.stderr else done.stderr, "--socket wins")
        done = run("call", "status", "--client", BRIGADA_URL="http://127.0.0.1:9", **more)
        report("" if "http://127.0.0.1:9/v1/status" in done.stderr else done.stderr, "BRIGADA_URL wins over the default")
        token = os.path.join(folder, "drawbridge", "admin.token")
        check_token_file(token, folder)
        done = run("engine", "project", "frobnicate", **more)
        report("" if done.returncode == 2 and "project add" in done.stderr else done.stderr, "engine: words that mean nothing")
        done = run("engine", "status", "app", "nonsense", **more)
        report("" if done.returncode == 2 and '"nonsense" is one word too many. It is: drawbridge engine status' in done.stderr else done.stderr, "engine: one word too many")
        done = run("engine", "hold", "why", **more)
        report("" if done.returncode == 2 and "exactly one of" in done.stderr else done.stderr, "engine hold: of what?")


def check_token_file(token, folder):
    environment = {"LC_ALL": "C.UTF-8", "XDG_RUNTIME_DIR": folder, "XDG_STATE_HOME": folder}

    def status():
        return subprocess.run([PROGRAM, "engine", "status"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=60, env=environment, check=False)

    done = status()
    report("" if done.returncode == 2 and token in done.stderr else done.stderr, "engine: no token")
    os.makedirs(os.path.dirname(token), exist_ok=True)
    with open(token, "w", encoding="utf-8") as file:
        file.write("A" * 43 + "\n")
    os.chmod(token, 0o644)
    done = status()
    report("" if done.returncode == 2 and "0600" in done.stderr and "AAAA" not in done.stderr else done.stderr,
           "engine: a token that others can read is not used")
    os.chmod(token, 0o600)
    done = status()
    report("" if done.returncode == 1 and "AAAA" not in done.stderr else done.stderr, "engine: a token of one's own is")
    os.rename(token, token + ".real")
    os.symlink(token + ".real", token)
    done = status()
    report("" if done.returncode == 2 else done.stderr, "engine: no link is followed to a token")
    os.remove(token)
    for content, says in (("A" * 43 + "\nAAAA\n", "more than one line"), ("A" * 43 + " \n", "a blank"), ("A" * 43 + "\r\n", "carriage"),
                          ("A" * 42 + "\u00e4", "outside ASCII")):
        with open(token, "w", encoding="utf-8", newline="") as file:
            file.write(content)
        os.chmod(token, 0o600)
        done = status()
        report("" if done.returncode == 2 and f"{token} holds no token: it " in done.stderr and says in done.stderr
               and "AAAA" not in done.stderr else done.stderr, f"engine: a token's file with {says}")
        environment["BRIGADA_TOKEN"] = content
        done = status()
        del environment["BRIGADA_TOKEN"]
        report("" if done.returncode == 2 and "BRIGADA_TOKEN holds no token: it " in done.stderr and says in done.stderr
               and "AAAA" not in done.stderr else done.stderr, f"engine: BRIGADA_TOKEN with {says}")
    environment.update(BRIGADA_TOKEN="A" * 43, BRIGADA_URL="http://engine.example:80")
    done = status()
    report("" if "--allow-plain-http HOST" in done.stderr else done.stderr, "engine: plain http elsewhere is refused, and how to allow it")
    done = subprocess.run([PROGRAM, "engine", "--help"], capture_output=True, text=True, timeout=60, env=environment, check=False)
    report("" if "--allow-plain-http=HOST" in done.stdout else done.stdout, "engine: by an option that there is")


def main():
    catalogue = ET.parse(os.path.join(SRC, "schemas", "engine.xml")).getroot()
    for offer in OFFERS:
        check_list(offer)
    check_separation(catalogue)
    check_roles(catalogue)
    check_confirm(catalogue)
    check_codes(catalogue)
    check_openapi(catalogue)
    check_command_line()
    print(f"1..{len(results)}")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
