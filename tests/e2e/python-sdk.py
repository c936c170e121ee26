#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The official Python client against a real Airflow: it finds its era by itself, is held to the
handshake, and is pinned to the stateless revision."""
import os
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import dbr_e2e  # noqa: E402

URL = dbr_e2e.lab_url()
CLIENTS = dbr_e2e.clients_folder()
if os.environ.get("DBR_IN_CLIENTS") != "1":
    # Once more, in the environment that has the client.
    os.environ["DBR_IN_CLIENTS"] = "1"
    python = str(CLIENTS / "bin" / "python")
    os.execv(python, [python, "-B", __file__])

import asyncio  # noqa: E402

from mcp import Client, StdioServerParameters  # noqa: E402

TAP = dbr_e2e.Tap()
WANTED = {"get_version", "get_health", "list_dags", "get_dag", "list_dag_runs", "list_task_instances",
          "get_task_instance", "get_task_log", "diagnose_dag_run", "list_import_errors", "trigger_dag_run",
          "clear_task_instances", "set_dag_paused", "airflow_api_get", "airflow_api_call"}


def text_of(result):
    return "\n".join(block.text for block in result.content if block.type == "text")


async def talk(mode, version):
    server = StdioServerParameters(command=dbr_e2e.PROGRAM, args=["mcp", "airflow"],
                                   env=dbr_e2e.program_env(URL))
    progress = []

    async def note(done, total, message):
        progress.append((done, total, message))

    async with Client(server, mode=mode, read_timeout_seconds=dbr_e2e.PATIENCE_S) as client:
        TAP.ok(client.protocol_version == version, f"{mode}: speaks {version}", client.protocol_version)
        names = {tool.name for tool in (await client.list_tools()).tools}
        TAP.ok(WANTED <= names, f"{mode}: every tool is listed", sorted(WANTED - names))
        TAP.has(text_of(await client.call_tool("get_version", {})), f"{mode}: the version comes", "3.3.2")
        result = await client.call_tool("diagnose_dag_run", {"dag_id": "orders_broken", "dag_run_id": "bad-1"},
                                        progress_callback=note)
        TAP.ok(not result.is_error, f"{mode}: a diagnosis is no error", text_of(result))
        TAP.has(text_of(result), f"{mode}: it names task and exception", "convert", "ValueError", "XTS")
        result = await client.call_tool("trigger_dag_run", {"dag_id": "orders_daily"})
        TAP.ok(result.is_error, f"{mode}: a write without the flag is an error result", text_of(result))
        TAP.has(text_of(result), f"{mode}: the refusal names the variable", "AIRFLOW_MCP_ALLOW_WRITES")
        # Eight at once over one process: each gets its own answer.
        names = ["orders_daily", "orders_broken", "orders_hidden", "stores_mapped", "feed_retrying",
                 "feed_exhausted", "log_noise", "late_change"]
        many = await asyncio.gather(*(client.call_tool("get_dag", {"dag_id": one}) for one in names))
        TAP.ok(all(one in text_of(result) for one, result in zip(names, many)), f"{mode}: eight calls at once",
               *(text_of(result) for result in many))
        result = await client.call_tool("get_dag", {"dag_id": "no_such_dag"})
        TAP.ok(result.is_error and "no_such_dag" in text_of(result), f"{mode}: an unknown Dag is an error result",
               text_of(result))
        TAP.ok(all(b[0] > a[0] for a, b in zip(progress, progress[1:])), f"{mode}: progress only grows", progress)


for mode, version in (("auto", "2026-07-28"), ("legacy", "2025-11-25"), ("2026-07-28", "2026-07-28")):
    try:
        asyncio.run(asyncio.wait_for(talk(mode, version), 3 * dbr_e2e.PATIENCE_S))
    except Exception as error:  # noqa: BLE001  (whatever it is, the next era is tried too)
        TAP.ok(False, f"{mode}: the conversation is held to its end", repr(error))
TAP.done()
