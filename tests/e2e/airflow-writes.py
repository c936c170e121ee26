#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What may change an Airflow and what may not: the gates, the user's yes, and what the server holds
afterwards, looked at past the program. Everything is done to runs that this test starts itself."""
import json
import pathlib
import sys
import time
import urllib.error

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import dbr_e2e  # noqa: E402

URL = dbr_e2e.lab_url()
TAP = dbr_e2e.Tap()
API = dbr_e2e.Airflow(URL)
WRITES = {"AIRFLOW_MCP_ALLOW_WRITES": "1"}
BOTH = {"AIRFLOW_MCP_ALLOW_WRITES": "true", "AIRFLOW_MCP_ALLOW_DELETES": " Yes "}
FORM = {"elicitation": {"form": {}}}


def refused(session, name, variable, tool, **arguments):
    text, error, result = session.call(tool, **arguments)
    TAP.ok(error, f"{name}: refused", text)
    TAP.has(text, f"{name}: names the variable and the remedy", variable, "restart")
    structured = result.get("structuredContent") or {}
    TAP.ok(structured.get("refused") is True and structured.get("layer") == "access"
           and structured.get("tool") == tool and structured.get("retry_will_succeed") is False
           and variable in json.dumps(structured), f"{name}: says so to programs as well", json.dumps(structured))


def runs_of(dag):
    return API.get(f"/dags/{dag}/dagRuns?limit=1")["total_entries"]


def shut():
    before = runs_of("orders_hidden")
    run = dbr_e2e.fresh("shut")
    with dbr_e2e.Session(URL) as session:
        refused(session, "a trigger", "AIRFLOW_MCP_ALLOW_WRITES", "trigger_dag_run", dag_id="orders_hidden", dag_run_id=run)
        refused(session, "a clear", "AIRFLOW_MCP_ALLOW_WRITES", "clear_task_instances", dag_id="orders_hidden",
                dag_run_id="hidden-1")
        refused(session, "a dry run", "AIRFLOW_MCP_ALLOW_WRITES", "clear_task_instances", dag_id="orders_hidden",
                dag_run_id="hidden-1", dry_run=True)
        refused(session, "a pause", "AIRFLOW_MCP_ALLOW_WRITES", "set_dag_paused", dag_id="orders_hidden", paused=True)
        refused(session, "a POST", "AIRFLOW_MCP_ALLOW_WRITES", "airflow_api_call", method="POST",
                path="/api/v2/dags/orders_hidden/dagRuns", body={"logical_date": None})
        text, error, _ = session.call("airflow_api_call", method="POST", path="/api/v2/dags/~/dagRuns/list",
                                      body={"dag_ids": ["orders_hidden"], "page_limit": 5})
        TAP.ok(not error and "hidden-1" in text, "a search that is sent as POST reads", text)
    TAP.ok(runs_of("orders_hidden") == before and API.get("/dags/orders_hidden")["is_paused"] is False,
           "nothing was changed")
    for value in ("0", "off", "maybe", "2"):
        with dbr_e2e.Session(URL, AIRFLOW_MCP_ALLOW_WRITES=value) as session:
            _, error, _ = session.call("trigger_dag_run", dag_id="orders_hidden", dag_run_id=run)
            TAP.ok(error, f"{value!r} opens nothing")
    TAP.ok(runs_of("orders_hidden") == before, "nothing was changed then either")


def triggers(session):
    run = dbr_e2e.fresh("e2e")
    text, error, _ = session.call("trigger_dag_run", dag_id="report_params", dag_run_id=run,
                                  conf={"reason": "größe <&> 港", "rows": 7, "names": [], "country": "JP"})
    TAP.ok(not error, "a run is triggered", text)
    TAP.has(text, "the answer names run and origin", "report_params", run, URL)
    TAP.ok(API.wait_state("report_params", run, "success", "failed") == "success", "it runs and succeeds")
    conf = API.get(f"/dags/report_params/dagRuns/{run}")["conf"]
    TAP.ok(conf.get("reason") == "größe <&> 港" and conf.get("rows") == 7 and conf.get("names") == []
           and conf.get("country") == "JP", "its parameters came through", conf)
    text, error, _ = session.call("trigger_dag_run", dag_id="report_params", dag_run_id=run, conf={"reason": "again"})
    TAP.ok(error, "the same run id again is an error", text)
    TAP.has(text, "which says what to do", "409", "exists")
    text, error, _ = session.call("trigger_dag_run", dag_id="report_params", conf={"reason": "no", "rows": 1000})
    TAP.ok(error, "parameters out of range are an error", text)
    run = dbr_e2e.fresh("e2e")
    text, error, _ = session.call("trigger_dag_run", dag_id="orders_daily", dag_run_id=run,
                                  conf='{"big": 12345678901234567890, "none": null, "deep": {"a": [1, 2.50]}}')
    TAP.ok(not error, "an object that came as a string is one", text)
    conf = API.get(f"/dags/orders_daily/dagRuns/{run}")["conf"]
    TAP.ok(conf.get("big") == 12345678901234567890 and conf.get("none", 0) is None and conf.get("deep") == {"a": [1, 2.5]},
           "large numbers, null and nesting came through", conf)
    text, error, _ = session.call("trigger_dag_run", dag_id="no_such_dag")
    TAP.ok(error and "list_dags" in text, "an unknown Dag is an error with a way on", text)
    TAP.ok(API.wait_state("orders_daily", run, "success", "failed") == "success", "and that run succeeds")


def clears(session):
    run = dbr_e2e.fresh("clear")
    session.call("trigger_dag_run", dag_id="orders_broken", dag_run_id=run)
    TAP.ok(API.wait_state("orders_broken", run, "failed", "success") == "failed", "a run fails, to be cleared")
    where = f"/dags/orders_broken/dagRuns/{run}/taskInstances/convert"
    text, error, _ = session.call("clear_task_instances", dag_id="orders_broken", dag_run_id=run, dry_run=True)
    TAP.ok(not error, "a dry run of clearing", text)
    TAP.has(text, "it shows what it would clear", "convert", "publish", "release_lock", "nothing was changed")
    TAP.ok(API.get(where)["try_number"] == 1 and API.state("orders_broken", run) == "failed", "it clears nothing")
    text, error, _ = session.call("diagnose_dag_run", dag_id="orders_broken", dag_run_id=run)
    TAP.has(text, "the diagnosis ends with the very call", "clear_task_instances", run)
    text, error, _ = session.call("clear_task_instances", dag_id="orders_broken", dag_run_id=run)
    TAP.ok(not error, "clearing", text)
    TAP.has(text, "it says what was cleared, and where", "Cleared", "convert", URL)
    end = time.monotonic() + dbr_e2e.PATIENCE_S
    while time.monotonic() < end:
        task = API.get(where)
        if task["try_number"] == 2 and task["state"] == "failed":
            break
        time.sleep(0.5)
    TAP.ok(task["try_number"] == 2, "the task ran once more", task["try_number"], task["state"])
    TAP.ok(API.wait_state("orders_broken", run, "failed") == "failed", "and the run failed once more")


def pauses(session):
    for paused in (True, False):
        text, error, _ = session.call("set_dag_paused", dag_id="berth_007", paused=paused)
        TAP.ok(not error, f"paused={paused}", text)
        TAP.has(text, f"paused={paused}: the answer", "berth_007", "paused" if paused else "active", URL)
        TAP.ok(API.get("/dags/berth_007")["is_paused"] is paused, f"paused={paused}: the server holds it")
    text, error, _ = session.call("set_dag_paused", dag_id="berth_007", paused="false")
    TAP.ok(not error, "a boolean as a string", text)


def deletes_shut(session):
    name = dbr_e2e.fresh("v")
    API.send("POST", "/api/v2/variables", {"key": name, "value": "kept"})
    refused(session, "a DELETE with writes open", "AIRFLOW_MCP_ALLOW_DELETES", "airflow_api_call", method="DELETE",
            path="/api/v2/variables/" + name)
    refused(session, "a bulk PATCH that deletes", "AIRFLOW_MCP_ALLOW_DELETES", "airflow_api_call", method="PATCH",
            path="/api/v2/variables", body={"actions": [{"action": "delete", "entities": [name]}]})
    refused(session, "the same, encoded", "AIRFLOW_MCP_ALLOW_DELETES", "airflow_api_call", method="PATCH",
            path="/api/v2/%76ariables", body={"actions": [{"action": "delete", "entities": [name]}]})
    TAP.ok(API.get("/variables/" + name)["value"] == "kept", "the variable is still there")
    text, error, _ = session.call("airflow_api_call", method="PATCH", path="/api/v2/variables/" + name,
                                  body={"key": name, "value": "changed"})
    TAP.ok(not error, "a PATCH of one variable is a write", text)
    TAP.ok(API.get("/variables/" + name)["value"] == "changed", "and changes it")
    return name


def gone(name):
    try:
        API.get("/variables/" + name)
    except urllib.error.HTTPError as error:
        return error.code == 404
    return False


def answer_form(params, yes):
    field = next(iter(params["requestedSchema"]["properties"]))
    return {"action": "accept", "content": {field: True}} if yes else {"action": "decline"}


def modern_yes(name):
    """The stateless era: input_required, and the call again with the answer."""
    arguments = {"method": "DELETE", "path": "/api/v2/variables/" + name}
    with dbr_e2e.Session(URL, capabilities=FORM, **BOTH) as session:
        for yes in (False, True):
            first = session.request("tools/call", {"name": "airflow_api_call", "arguments": arguments})
            if not TAP.ok(first.get("resultType") == "input_required", f"modern, {yes}: the user is asked", json.dumps(first)):
                return
            key, asked = next(iter(first["inputRequests"].items()))
            TAP.has(json.dumps(asked, ensure_ascii=False), f"modern, {yes}: for this very thing", "DELETE", name, URL)
            TAP.ok(not gone(name), f"modern, {yes}: nothing was sent while asking")
            second = session.request("tools/call", {
                "name": "airflow_api_call", "arguments": arguments, "requestState": first["requestState"],
                "inputResponses": {key: answer_form(asked["params"], yes)}})
            text = second["content"][0]["text"]
            TAP.ok(bool(second.get("isError")) is not yes, f"modern, {yes}: the outcome", text)
            TAP.ok(gone(name) is yes, f"modern, {yes}: the server holds it", text)
        try:
            third = session.request("tools/call", {
                "name": "airflow_api_call", "arguments": arguments, "requestState": first["requestState"],
                "inputResponses": {key: answer_form(asked["params"], True)}})
            again = third.get("isError") or third.get("resultType") == "input_required"
        except dbr_e2e.Refused:
            again = True
        TAP.ok(again, "modern: a yes counts once")


def legacy_yes(name):
    """The handshake era: the server asks with a request of its own."""
    with dbr_e2e.Session(URL, "2025-11-25", capabilities={"elicitation": {}}, **BOTH) as session:
        for yes in (False, True):
            session.last_id += 1
            wanted = session.last_id
            session.send({"jsonrpc": "2.0", "id": wanted, "method": "tools/call", "params": {
                "name": "airflow_api_call", "arguments": {"method": "DELETE", "path": "/api/v2/variables/" + name}}})
            asked = session.read_line()
            if not TAP.ok(asked.get("method") == "elicitation/create", f"legacy, {yes}: the user is asked", json.dumps(asked)):
                return
            TAP.has(json.dumps(asked, ensure_ascii=False), f"legacy, {yes}: for this very thing", "DELETE", name, URL)
            TAP.ok(not gone(name), f"legacy, {yes}: nothing was sent while asking")
            session.send({"jsonrpc": "2.0", "id": asked["id"], "result": answer_form(asked["params"], yes)})
            answer = session.read_line()
            text = answer["result"]["content"][0]["text"]
            TAP.ok(answer["id"] == wanted and bool(answer["result"].get("isError")) is not yes, f"legacy, {yes}: the outcome", text)
            TAP.ok(gone(name) is yes, f"legacy, {yes}: the server holds it", text)


def no_asking(name):
    """A client that cannot ask: the flag alone decides, and the answer says so."""
    with dbr_e2e.Session(URL, **BOTH) as session:
        text, error, _ = session.call("airflow_api_call", method="DELETE", path="/api/v2/variables/" + name)
        TAP.ok(not error and gone(name), "without a way to ask, the flag decides", text)
    with dbr_e2e.Session(URL, AIRFLOW_MCP_ALLOW_WRITES="ask") as session:
        _, error, _ = session.call("set_dag_paused", dag_id="berth_008", paused=True)
        TAP.ok(error and API.get("/dags/berth_008")["is_paused"] is False, "'ask' writes nothing where nobody can be asked")


def variable():
    name = dbr_e2e.fresh("v")
    API.send("POST", "/api/v2/variables", {"key": name, "value": "x"})
    return name


def viewer():
    with dbr_e2e.Session(URL, AIRFLOW_USERNAME="viewer", AIRFLOW_PASSWORD="viewer", **WRITES) as session:
        text, error, _ = session.call("set_dag_paused", dag_id="berth_009", paused=True)
        TAP.ok(error and "403" in text, "a viewer's write: the backend decides", text)


def main():
    shut()
    with dbr_e2e.Session(URL, **WRITES) as session:
        triggers(session)
        clears(session)
        pauses(session)
        name = deletes_shut(session)
    TAP.ok(session.process.returncode == 0, "the program ends with 0", session.process.returncode)
    modern_yes(name)
    legacy_yes(variable())
    no_asking(variable())
    viewer()


try:
    main()
except (dbr_e2e.Refused, OSError, EOFError, KeyError, ValueError, IndexError) as failure:
    TAP.ok(False, "the conversation is held to its end", repr(failure))
TAP.done()
