#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real harnesses, started by the engine as foremen from their presets: each finds the bridge's server and its tools, and no
other server, though the user and the project have configured one. No account is needed for that: where a harness can
only list its servers without one, it is told to do that, with the very environment and files of the turn."""
import json
import os
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from engine_http import Engine, Tap  # noqa: E402

FOREMAN_TOOLS = {"status", "history", "messages", "message_answer", "plan_create", "plan_amend", "task_add", "task_update",
                 "task_cancel", "task_retry", "task_note", "hold_place", "hold_release", "report", "ask_user"}
CLIENTS = pathlib.Path(os.environ.get("DBR_CLIENTS", "/nonexistent"))
BIN = CLIENTS / "npm" / "node_modules" / ".bin"
TAP = Tap()
OTHER = {"command": "/bin/sh", "args": ["-c", "touch {mark}; exit 1"]}

# What stands in PATH under the harness's name: the real one, told to show what it sees.
WRAPPERS = {
    "claude": """#!/bin/sh
exec "{real}" "$@" --output-format stream-json --verbose --max-turns 1 >"{out}" 2>&1 </dev/null
""",
    "codex": """#!{python}
import json, subprocess, sys
app = subprocess.Popen(["{real}", "app-server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
def ask(number, method, params):
    app.stdin.write(json.dumps({{"jsonrpc": "2.0", "id": number, "method": method, "params": params}}) + "\\n")
    app.stdin.flush()
    for line in app.stdout:
        reply = json.loads(line)
        if reply.get("id") == number:
            return reply
ask(1, "initialize", {{"clientInfo": {{"name": "test", "version": "1"}}}})
app.stdin.write('{{"jsonrpc": "2.0", "method": "initialized"}}\\n')
reply = ask(2, "mcpServerStatus/list", {{}})
with open("{out}", "w") as out:
    json.dump(reply, out)
app.stdin.close()
""",
    "gemini": """#!/bin/sh
exec "{real}" mcp list >"{out}" 2>&1 </dev/null
""",
    "opencode": """#!/bin/sh
exec "{real}" mcp list >"{out}" 2>&1 </dev/null
""",
}


def configure_others(home, checkout, mark):
    """One more server for each harness, by the user and by the project."""
    other = {"command": OTHER["command"], "args": [OTHER["args"][0], OTHER["args"][1].format(mark=mark)]}
    toml = f"[mcp_servers.other]\ncommand = \"/bin/sh\"\nargs = {json.dumps(other['args'])}\n"
    servers = json.dumps({"mcpServers": {"other": other}})
    opencode = json.dumps({"mcp": {"other": {"type": "local", "command": ["/bin/sh", *other["args"]], "enabled": True}}})
    for path, text in ((home / ".claude.json", servers), (checkout / ".mcp.json", servers),
                       (home / ".codex/config.toml", toml), (checkout / ".codex/config.toml", toml),
                       (home / ".gemini/settings.json", servers), (checkout / ".gemini/settings.json", servers),
                       (home / ".config/opencode/opencode.json", opencode), (checkout / "opencode.json", opencode)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def run(name):
    """What the harness said in its turn."""
    # Not below /tmp: Gemini CLI takes no settings from below a folder that others can write.
    engine = Engine("--unconfined", base=CLIENTS)
    home, checkout, path = (engine.folder / word for word in ("home", "checkout", "path"))
    for folder in (home, checkout, path):
        folder.mkdir()
    out, mark = engine.folder / "out", engine.folder / "other-was-started"
    configure_others(home, checkout, mark)
    wrapper = path / name
    wrapper.write_text(WRAPPERS[name].format(real=BIN / name, out=out, python=sys.executable), encoding="utf-8")
    wrapper.chmod(0o755)
    before = dict(os.environ)
    os.environ.update({"HOME": str(home), "PATH": f"{path}:{CLIENTS / 'bin'}:{os.environ['PATH']}", "NO_PROXY": "*",
                       # An address where nobody answers: what needs the model's answer fails at once.
                       "ANTHROPIC_API_KEY": "none", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9", "GEMINI_API_KEY": "none"})
    try:
        engine.start()
        admin = engine.admin()
        project = engine.ask("POST", "/v1/projects", {"repo_url": "https://git.example/a/b", "checkout": str(checkout),
                                                      "foreman_command": {"preset": name}}, admin).json
        engine.ask("POST", f"/v1/projects/{project['id']}/messages", {"text": "hello"}, admin)
        text, kinds, seen = "", [], 0
        while not done(name, text) and not {"lease.ended", "turn.crashed"} & set(kinds):
            events = engine.ask("GET", f"/v1/events?after={seen}&wait=1", None, admin).json
            seen, kinds = events["last"], kinds + [e["kind"] for e in events["items"]]
            text = out.read_text(encoding="utf-8", errors="replace") if out.exists() else ""
        text = out.read_text(encoding="utf-8", errors="replace") if out.exists() else f"no output; {engine.log_text()}"
        TAP.ok(not mark.exists(), f"{name} starts no other server", text[:2000])
    finally:
        os.environ.clear()
        os.environ.update(before)
        engine.close()
    return text


def done(name, text):
    """Claude Code tries its model for minutes; what is looked for stands in its first line."""
    return name == "claude" and '"subtype":"init"' in text and text.count("\n") > 0


def check_claude(text):
    line = next((line for line in text.splitlines() if '"subtype":"init"' in line), "{}")
    start = json.loads(line)
    TAP.equal([(s["name"], s["status"]) for s in start.get("mcp_servers", [])], [("brigada", "connected")],
              "Claude Code has one server and is connected")
    tools = set(start.get("tools", []))
    TAP.equal(tools, {f"mcp__brigada__{tool}" for tool in FOREMAN_TOOLS} | {"Read", "Glob", "Grep"},
              "its tools are the bridge's and the reading ones")


def check_codex(text):
    try:
        servers = json.loads(text)["result"]["data"]
    except (ValueError, KeyError):
        TAP.ok(False, "Codex lists its servers", text[:2000])
        return
    TAP.equal([server["name"] for server in servers], ["brigada"], "Codex has one server")
    TAP.equal(set(servers[0]["tools"]), FOREMAN_TOOLS, "and exactly its tools")


def check_list(name):
    def check(text):
        TAP.ok("✓ brigada" in text and "onnected" in text, f"{name} is connected", text[:2000])
        lines = [line for line in text.splitlines() if "other" in line and "✓" in line]
        TAP.equal(lines, [], f"{name} is connected to no other server")
    return check


def main():
    checks = {"claude": check_claude, "codex": check_codex, "gemini": check_list("Gemini CLI"), "opencode": check_list("opencode")}
    for name, check in checks.items():
        if not (BIN / name).exists():
            why = "is not installed: tests/e2e/clients/install-clients does it; name its folder in DBR_CLIENTS"
            TAP.ok(True, f"{name} takes its configuration # SKIP {name} {why}")
            continue
        check(run(name))
    TAP.end()


main()
