#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The conversation of `./bootstrap demo airflow`: MCP over stdio with the built program about a real Airflow,
printed so that a person can follow it. Exits 1 where an answer is not what it must be."""
import json
import pathlib
import sys
import textwrap
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import dbr_e2e  # noqa: E402

URL = dbr_e2e.lab_url()
WRONG = []


def heading(text):
    print(f"\n=== {text} " + "=" * max(3, 94 - len(text)), flush=True)


def shorten(line, most=300):
    return line if len(line) <= most else f"{line[:most]} ... ({len(line)} bytes)"


def listener(direction, line):
    message = json.loads(line)
    if direction == "->":
        print("-> " + shorten(line), flush=True)
        return
    result = message.get("result", {})
    if "tools" in result:
        print(f"<- {len(line)} bytes, {len(result['tools'])} tools:")
        for tool in result["tools"]:
            print(f"     {tool['name']:<24} {tool.get('title', '')}")
    elif "content" in result:
        print("<- a tool result" + (", isError" if result.get("isError") else "") + ":")
        for block in result["content"]:
            print(textwrap.indent(block.get("text", ""), "     ", lambda _: True))
    else:
        print("<- " + shorten(line, 600))
    sys.stdout.flush()


def wants(text, what, *words):
    missing = [word for word in words if word not in text]
    if missing:
        WRONG.append(f"{what}: the answer lacks {missing}")


def main():
    print(f"The program: {dbr_e2e.PROGRAM} mcp airflow\nThe Airflow: {URL}")
    heading("1. What are you? (server/discover)")
    begun = time.monotonic()
    session = dbr_e2e.Session(URL, listener=listener)
    heading("2. What can you do? (tools/list)")
    tools = session.tools()
    wants(" ".join(tools), "tools/list", "diagnose_dag_run", "get_task_log", "trigger_dag_run")
    heading("3. Which Dags failed last? (list_dags)")
    session.call("list_dags", last_dag_run_state="failed")
    heading("4. Why did this run fail? (diagnose_dag_run)")
    text, error, _ = session.call("diagnose_dag_run", dag_id="orders_broken", dag_run_id="bad-1")
    wants(text, "diagnose_dag_run", "convert", "ValueError", "XTS")
    if error:
        WRONG.append("diagnose_dag_run: an error")
    heading("5. Run a Dag! Nobody allowed writes, so it is refused")
    text, error, _ = session.call("trigger_dag_run", dag_id="orders_daily")
    wants(text, "the refused write", "AIRFLOW_MCP_ALLOW_WRITES")
    if not error:
        WRONG.append("the refused write: no error")
    session.close()
    heading("6. The same once more, started with AIRFLOW_MCP_ALLOW_WRITES=1")
    session = dbr_e2e.Session(URL, listener=listener, AIRFLOW_MCP_ALLOW_WRITES="1")
    run = dbr_e2e.fresh("demo")
    text, error, _ = session.call("trigger_dag_run", dag_id="orders_daily", dag_run_id=run)
    wants(text, "the allowed write", "orders_daily", URL)
    if error:
        WRONG.append("the allowed write: an error")
    print("   (waiting until that run has ended)", flush=True)
    dbr_e2e.Airflow(URL).wait_state("orders_daily", run, "success", "failed")
    heading("7. How did it go? (list_dag_runs)")
    text, _, _ = session.call("list_dag_runs", dag_id="orders_daily")
    wants(text, "the runs afterwards", run)
    status = session.close()
    heading(f"The end: input closed, exit status {status}, {time.monotonic() - begun:.1f} s in all")
    for one in WRONG:
        print("WRONG: " + one)
    sys.exit(1 if WRONG or status != 0 else 0)


main()
