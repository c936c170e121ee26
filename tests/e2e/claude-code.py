#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Claude Code starts the program as its users' entry does, and calls it healthy (no account needed)."""
import os
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import dbr_e2e  # noqa: E402

URL = dbr_e2e.lab_url()
CLIENTS = dbr_e2e.clients_folder()
CLAUDE = CLIENTS / "npm" / "node_modules" / ".bin" / "claude"
TAP = dbr_e2e.Tap()
if not CLAUDE.exists():
    TAP.skip("Claude Code finds the program healthy", "Claude Code is not installed")
    TAP.done()

with tempfile.TemporaryDirectory() as home:
    env = {"HOME": home, "PATH": f"{CLIENTS / 'bin'}:{os.environ.get('PATH', '/usr/bin:/bin')}", "NO_COLOR": "1", "CI": "1",
           "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}

    def claude(*words):
        done = subprocess.run([str(CLAUDE), *words], env=env, cwd=home, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=dbr_e2e.PATIENCE_S, check=False)
        return done.returncode, done.stdout + done.stderr

    ours = dbr_e2e.program_env(URL)
    options = []
    for name in ("AIRFLOW_API_URL", "DBR_SCHEMA_DIR", "DBR_MODULE_DIR"):
        options += ["-e", f"{name}={ours[name]}"]
    code, text = claude("mcp", "add", "airflow", *options, "--", dbr_e2e.PROGRAM, "mcp", "airflow")
    TAP.ok(code == 0, "Claude Code takes the entry", code, text)
    code, text = claude("mcp", "get", "airflow")
    TAP.ok(code == 0 and "Connected" in text, "Claude Code finds the program healthy", code, text)
TAP.done()
