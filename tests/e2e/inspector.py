#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The inspector's command line against a real Airflow, in each way it can choose an era."""
import json
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
TAP = dbr_e2e.Tap()


def inspect(home, era, *words):
    """(exit status, output, errors) of one run; its era is a flag of its own."""
    env = dbr_e2e.program_env(None, HOME=home, NO_COLOR="1")
    env["PATH"] = f"{CLIENTS / 'bin'}:{env.get('PATH', '/usr/bin:/bin')}"
    command = [str(CLIENTS / "npm" / "node_modules" / ".bin" / "mcp-inspector"), "--cli", dbr_e2e.PROGRAM, "mcp", "airflow"]
    # The inspector hands its server a short list of variables only: ours are named.
    for name in ("AIRFLOW_API_URL", "DBR_SCHEMA_DIR", "DBR_MODULE_DIR"):
        command += ["-e", f"{name}={URL if name == 'AIRFLOW_API_URL' else env[name]}"]
    done = subprocess.run(command + ["--protocol-era", era, "--format", "json", *words], env=env, cwd=home,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=dbr_e2e.PATIENCE_S, check=False)
    return done.returncode, done.stdout, done.stderr


with tempfile.TemporaryDirectory() as home:
    for era in ("legacy", "auto", "modern"):
        code, out, err = inspect(home, era, "--method", "tools/list")
        TAP.ok(code == 0, f"{era}: tools/list ends with 0", code, out, err)
        try:
            names = {tool["name"] for tool in json.loads(out)["result"]["tools"]}
        except (ValueError, TypeError, KeyError):
            names = set()
        TAP.ok({"diagnose_dag_run", "get_task_log", "airflow_api_call"} <= names, f"{era}: the tools are listed", out[:2000])
        code, out, err = inspect(home, era, "--method", "tools/call", "--tool-name", "diagnose_dag_run",
                                 "--tool-arg", "dag_id=orders_broken", "--tool-arg", "dag_run_id=bad-1")
        TAP.ok(code == 0, f"{era}: a diagnosis ends with 0", code, out, err)
        TAP.has(out, f"{era}: it names task and exception", "convert", "ValueError")
        code, out, err = inspect(home, era, "--method", "tools/call", "--tool-name", "trigger_dag_run",
                                 "--tool-arg", "dag_id=orders_daily")
        TAP.has(out + err, f"{era}: a write without the flag is refused", "AIRFLOW_MCP_ALLOW_WRITES")
    # The portability lint: schemas that every client can read.
    code, out, err = inspect(home, "legacy", "--strict", "--method", "tools/list")
    TAP.ok(code == 0, "the schemas pass the inspector's portability lint", code, out[-3000:], err[-3000:])
TAP.done()
