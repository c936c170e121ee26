#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`drawbridge call`, `tools` and `catalogue check`, as a person types them, against a real Airflow."""
import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import dbr_e2e  # noqa: E402

URL = dbr_e2e.lab_url()
TAP = dbr_e2e.Tap()


def run(*words, **env):
    done = subprocess.run([dbr_e2e.PROGRAM, *words], env=dbr_e2e.program_env(URL, **env), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=dbr_e2e.PATIENCE_S, check=False)
    return done.returncode, done.stdout, done.stderr


def main():
    code, out, err = run("call", "get_version")
    TAP.ok(code == 0 and "Airflow 3.3.2" in out, "call get_version", code, out, err)
    code, out, err = run("call", "diagnose_dag_run", "dag_id=orders_broken", "dag_run_id=bad-1")
    TAP.ok(code == 0, "call diagnose_dag_run ends with 0", code, err)
    TAP.has(out, "call diagnose_dag_run: its text", "convert", "ValueError", "XTS")
    code, out, err = run("call", "list_dags", 'tags=["shop"]', "paused=true")
    TAP.ok(code == 0 and "nightly_paused" in out and "berth_" not in out, "call list_dags with two arguments", code, out, err)
    code, out, err = run("call", "trigger_dag_run", "dag_id=orders_daily")
    TAP.ok(code != 0 and "AIRFLOW_MCP_ALLOW_WRITES" in out + err, "call of a write without the flag", code, out, err)
    run_id = dbr_e2e.fresh("cli")
    code, out, err = run("call", "trigger_dag_run", "dag_id=orders_daily", "dag_run_id=" + run_id, AIRFLOW_MCP_ALLOW_WRITES="on")
    TAP.ok(code == 0 and run_id in out, "call of a write with it", code, out, err)
    code, out, err = run("call", "get_dags")
    TAP.ok(code != 0 and "get_dag" in out + err, "call of a tool that is not there names the nearest", code, out, err)
    code, out, err = run("tools")
    TAP.ok(code == 0 and "diagnose_dag_run" in out and "AIRFLOW_MCP_ALLOW_WRITES" in out, "tools", code, out, err)
    code, out, err = run("catalogue", "check", str(dbr_e2e.SOURCE / "schemas" / "airflow.xml"))
    TAP.ok(code == 0, "catalogue check of the shipped one", code, out, err)


main()
TAP.done()
