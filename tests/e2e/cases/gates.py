#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who may change what: each tool against each setting of the gates, by every way of starting, and what a refusal says."""

import json
import os

from dbr_cases import MODERN_META, SRC, Bridge, Fake, driver, has, lacks, main, shell, texts_of, want

WRITES, DELETES = "AIRFLOW_MCP_ALLOW_WRITES", "AIRFLOW_MCP_ALLOW_DELETES"
READ_TOOLS = {
    "get_version": {}, "get_health": {}, "list_dags": {}, "get_dag": {"dag_id": "d"}, "list_dag_runs": {}, "list_import_errors": {},
    "list_task_instances": {"dag_id": "d", "dag_run_id": "r"}, "get_task_instance": {"dag_id": "d", "dag_run_id": "r", "task_id": "t"},
    "get_task_log": {"dag_id": "d", "dag_run_id": "r", "task_id": "t"}, "diagnose_dag_run": {"dag_id": "d", "dag_run_id": "r"},
    "airflow_api_get": {"path": "/api/v2/pools"},
}
WRITE_TOOLS = {
    "trigger_dag_run": {"dag_id": "d"}, "clear_task_instances": {"dag_id": "d", "dag_run_id": "r"}, "set_dag_paused": {"dag_id": "d", "paused": False},
}
ANY = "airflow_api_call"
OPEN, SHUT = ("1", "true", "YES", "on", "1 ", "1\r", "TRUE\n", " On "), ("0", "false", "no", "OFF", "2", "１", "yess", "y", "enabled", "1 1", "-1", "01", "1;", "${X}", "+1", "t")


def changes(fake):
    return [r["method"] for r in fake.requests() if r["method"] != "GET"]


def backend(fake):
    fake.always("GET", "*", body={"dags": [], "dag_runs": [], "task_instances": [], "import_errors": [], "pools": [], "total_entries": 0})
    for method in ("POST", "PATCH", "PUT", "DELETE"):
        for path in ("/api/v2/dags/d", "/api/v2/dags/d/dagRuns", "/api/v2/dags/d/clearTaskInstances", "/api/v2/pools", "/api/v2/variables"):
            fake.always(method, path, body={"dag_id": "d", "dag_run_id": "r", "state": "queued", "task_instances": []})
    return fake


def every_tool():
    """Each tool at each setting: listed, annotated, and sending only what the setting allows"""
    for env, writes, deletes in (
        ({}, False, False), ({WRITES: "1"}, True, False), ({DELETES: "1"}, False, False), ({WRITES: "1", DELETES: "1"}, True, True),
        ({WRITES: "0", DELETES: "1"}, False, False), ({WRITES: "maybe"}, False, False),
    ):
        with backend(Fake()) as fake, Bridge(fake, env=env) as bridge:
            tools = {tool["name"]: tool for tool in bridge.ask("tools/list")["tools"]}
            want(set(tools) == {*READ_TOOLS, *WRITE_TOOLS, ANY}, env, sorted(tools))
            for name, arguments in READ_TOOLS.items():
                want(tools[name]["annotations"].get("readOnlyHint") is True, name)
                bridge.call(name, arguments)
            want(fake.requests() and not changes(fake), env, changes(fake))
            for name, arguments in WRITE_TOOLS.items():
                want(tools[name]["annotations"].get("readOnlyHint") is False, name)
                before = len(changes(fake))
                text, is_error = bridge.call(name, arguments)
                want(is_error != writes and len(changes(fake)) - before == int(writes), env, name, text)
                if not writes:
                    has(text, WRITES, "restart")
            want(tools["clear_task_instances"]["annotations"]["destructiveHint"] is True, "destructiveHint")
            want(tools["trigger_dag_run"]["annotations"]["destructiveHint"] is False, "destructiveHint")
            want(tools[ANY]["annotations"].get("readOnlyHint") is False and tools[ANY]["annotations"]["destructiveHint"] is True, tools[ANY])
            for method, path, allowed in (
                ("GET", "/api/v2/pools", True), ("POST", "/api/v2/pools", writes), ("PUT", "/api/v2/pools", writes), ("PATCH", "/api/v2/dags/d", writes),
                ("DELETE", "/api/v2/dags/d", deletes), ("PATCH", "/api/v2/pools", deletes), ("PATCH", "/api/v2/variables", deletes),
            ):
                before = len(fake.requests())
                text, is_error = bridge.call(ANY, {"method": method, "path": path, **({} if method == "GET" else {"body": {"a": 1}})})
                want(is_error != allowed and len(fake.requests()) - before == int(allowed), env, method, path, text)


def spellings():
    """A flag opens its gate only by the words that say so; anything else keeps it shut and is reported"""
    with backend(Fake()) as fake:
        for value in (*OPEN, *SHUT, ""):
            fake.forget()
            backend(fake)
            status, out, err = shell("call", "set_dag_paused", "dag_id=d", "paused=true", address=fake.url, env={WRITES: value})
            want((status == 0) == (value in OPEN), repr(value), status, out, err)
            want(len(changes(fake)) == int(value in OPEN), repr(value), changes(fake))


def unclear_flags():
    """A flag whose value isn't understood is named, with the reason, by the start, the handshake, the list and every refusal"""
    none_of = "the value of {} is none of 1, true, yes, on, 0, false, no, off, ask"
    empty, unexpanded = "{} is set but empty", "{} holds an unexpanded reference to another variable, such as ${{NAME}}"
    for value, says in (("ture", none_of), ("2", none_of), ("", empty), (" ", empty), ("${X}", unexpanded), ("$X", unexpanded)):
        says = says.format(WRITES)
        _, out, err = shell("tools", "--backend", "airflow", env={WRITES: value})
        has(out + err, f"writes: shut; {says}\n")
        with Fake() as fake:
            status, _, err = shell("call", "set_dag_paused", "dag_id=d", "paused=true", address=fake.url, env={WRITES: value})
            want(status == 1 and not fake.all_requests(), status, err)
            has(err, f"writes are shut: {says}.\nTo open it, run the same command again with {WRITES}=1 in front of it ({WRITES}=1 drawbridge ...).")
            lacks(err, "MCP settings")
        with Bridge(None, env={WRITES: value}) as bridge:
            has(bridge.greeting["instructions"], f"; {says}: it opens nothing.")
            has(bridge.bad("set_dag_paused", {"dag_id": "d", "paused": True}), f"writes are shut: {says}.\n", "the client's MCP settings")
            tools = {tool["name"]: tool for tool in bridge.ask("tools/list")["tools"]}
            has(tools["set_dag_paused"]["description"], f"(Shut here: needs {WRITES}=1; now {says}.)")
        has(bridge.err.decode(), f"drawbridge: {says}: it opens nothing\n")
    with Bridge(None, env={WRITES: "1", DELETES: "ture"}) as bridge:
        has(bridge.bad(ANY, {"method": "DELETE", "path": "/api/v2/dags/d"}), "deletes are shut: " + none_of.format(DELETES))
    for value in ("0", "off", "ask", "1"):
        with Bridge(None, env={WRITES: value}) as bridge:
            lacks(bridge.greeting["instructions"], "it opens nothing")
        lacks(bridge.err.decode(), WRITES)


def at_a_shell():
    """At a shell a refusal says what to do at a shell"""
    with Fake() as fake:
        _, _, err = shell("call", "--scope", "server", "set_dag_paused", "dag_id=d", "paused=true", address=fake.url, env={WRITES: "1"})
        has(err, 'belongs to the category "dags", which --scope leaves out. Add it there, or leave --scope away.')
        _, _, err = shell("call", ANY, "method=DELETE", "path=/api/v2/dags/d", address=fake.url)
        has(err, f"run the same command again with {WRITES}=1 and {DELETES}=1 in front of it ({WRITES}=1 {DELETES}=1 drawbridge ...).")
        want(not fake.all_requests(), fake.all_requests())


def every_start():
    """Each way of starting the program heeds the same flags"""
    catalogue = os.path.join(os.environ.get("DBR_SCHEMA_DIR", os.path.join(SRC, "schemas")), "airflow.xml")
    for backend_words in (("airflow",), ("--backend", "airflow"), ("--backend=airflow",)):
        for env, allowed in (({}, False), ({WRITES: "1"}, True), ({WRITES: "no"}, False)):
            with backend(Fake()) as fake, Bridge(fake, env=env, backend=backend_words) as bridge:
                _, is_error = bridge.call("set_dag_paused", {"dag_id": "d", "paused": True})
                want(is_error != allowed and len(changes(fake)) == int(allowed), backend_words, env)
            with backend(Fake()) as fake:
                words = () if backend_words == ("airflow",) else backend_words
                status, out, err = shell("call", *words, "set_dag_paused", "dag_id=d", "paused=true", address=fake.url, env=env)
                want((status == 0) == allowed and len(changes(fake)) == int(allowed), words, env, out, err)
    # The same catalogue as a file of one's own would read the shipped one's variables.
    status, _, err = shell("mcp", "--catalogue", catalogue, env={WRITES: "1"})
    want(status == 2, status)
    has(err, "airflow")


def no_flag_opens():
    """No argument, query, body or header of a caller opens a gate or changes the method"""
    odd = ("get\r\nDELETE", "delete", "pAtCh", " DELETE", "GET DELETE", "DELETE\x00", "OPTIONS", "HEAD", "TRACE", "CONNECT", "", "PROPFIND", "GET /api/v2/x")
    with backend(Fake()) as fake, Bridge(fake) as bridge:
        for method in odd:
            bridge.bad(ANY, {"method": method, "path": "/api/v2/dags/d"})
        for more in ({"headers": {"X-HTTP-Method-Override": "DELETE"}}, {"confirm": True}, {"yes": True}, {"_method": "DELETE"}):
            bridge.bad(ANY, {"method": "GET", "path": "/api/v2/dags/d", **more})
        want(not fake.requests(), fake.requests())
        bridge.call(ANY, {"method": "GET", "path": "/api/v2/pools", "query": {"_method": "DELETE", "method": "DELETE"}})
        bridge.call(ANY, {"method": "GeT", "path": "/api/v2/pools"})  # can only mean this one
        want([r["method"] for r in fake.requests()] == ["GET", "GET"], fake.requests())
        for request in fake.all_requests():
            want(not [h for h in request["headers"] if "override" in h[0].lower()], request)


def posts_that_read():
    """A search that is sent as POST is a read; its neighbours are not"""
    with Fake() as fake, Bridge(fake) as bridge:
        fake.always("POST", "/api/v2/dags/~/dagRuns/list", body={"dag_runs": [], "total_entries": 0})
        bridge.good(ANY, {"method": "POST", "path": "/api/v2/dags/~/dagRuns/list", "body": {}})
        for path in ("/api/v2/dags/~/dagRuns", "/api/v2/dags/~/dagRuns/list/x", "/api/v2/dags/a/list", "/api/v2/x/list"):
            bridge.bad(ANY, {"method": "POST", "path": path, "body": {}})
        want(len(fake.requests()) == 1, fake.requests())


def bulk_deletes():
    """A bulk change that can delete needs the gate of deletes, however its path is spelt"""
    body = {"actions": [{"action": "delete", "entities": ["x"]}]}
    with Fake() as fake, Bridge(fake, env={WRITES: "1"}) as bridge:
        for path in (
            "/api/v2/variables", "/api/v2/connections", "/api/v2/pools", "/api/v2/dags/d/dagRuns", "/api/v2/dags/~/dagRuns/~/taskInstances",
            "/api/v2/%76ariables", "/api/v2/v%61riables", "/api/v2/dags/%64/dagRuns",
        ):
            has(bridge.bad(ANY, {"method": "PATCH", "path": path, "body": body}), DELETES)
        want(not fake.requests(), fake.requests())


def refusal():
    """A refusal is a result in words a person can act on, with its parts for a program, and says that a retry is no use"""
    with Fake() as fake, Bridge(fake, revision="2025-11-25") as bridge:
        result = bridge.wait_result(bridge.send_call("trigger_dag_run", {"dag_id": "d"}))
        text, is_error = texts_of(result)
        want(is_error, text)
        has(text, WRITES + "=1", "restart", "nothing was sent")
        parts = result["structuredContent"]
        want(set(parts) >= {"tool", "refused", "layer", "reason", "requires", "granted", "known", "retry_will_succeed"}, parts)
        want(parts["retry_will_succeed"] is False and parts["tool"] == "trigger_dag_run" and parts["layer"] == "access", parts)
        want(not fake.all_requests()[:-1] or not fake.requests(), "something was sent")


def hidden():
    """Tools that are shut are listed and marked, or with --hide-gated not listed; a read stays either way"""
    with Bridge() as bridge:
        tools = {tool["name"]: tool for tool in bridge.ask("tools/list")["tools"]}
        has(tools["trigger_dag_run"]["description"], WRITES)
        lacks(tools["list_dags"]["description"], WRITES)
    with Bridge(None, "--hide-gated") as bridge:
        names = {tool["name"] for tool in bridge.ask("tools/list")["tools"]}
        want(names >= set(READ_TOOLS) and not names & set(WRITE_TOOLS), names)
        bridge.bad("trigger_dag_run", {"dag_id": "d"})
    with Bridge(None, "--hide-gated", env={WRITES: "1"}) as bridge:
        want({tool["name"] for tool in bridge.ask("tools/list")["tools"]} >= set(WRITE_TOOLS), "a tool is missing")


def scopes():
    """Outside the scope a tool is neither listed nor called"""
    with Fake() as fake, Bridge(fake, "--scope", "dags, server", env={WRITES: "1"}) as bridge:
        names = {tool["name"] for tool in bridge.ask("tools/list")["tools"]}
        want(names == {"get_version", "get_health", "list_dags", "get_dag", "list_import_errors", "set_dag_paused"}, names)
        for tool, arguments in (("trigger_dag_run", {"dag_id": "d"}), (ANY, {"method": "GET", "path": "/api/v2/x"}), ("list_dag_runs", {})):
            has(bridge.bad(tool, arguments), "scope")
        want(not fake.requests(), fake.requests())
    status, _, err = shell("mcp", "airflow", "--scope", "dogs")
    want(status == 2, status)
    has(err, "dogs", "dags")


# ------------------------------------------------------------------------ the user's yes


ASK = {WRITES: "ask", DELETES: "ask"}
PAUSE = {"dag_id": "d", "paused": True}


def elicited(bridge, answer, tool="set_dag_paused", arguments=None):
    number = bridge.send_call(tool, arguments or PAUSE)
    bridge.wait_method("elicitation/create")
    question = [json.loads(line) for line in bridge.lines if "elicitation/create" in line][-1]
    bridge.send_json({"jsonrpc": "2.0", "id": question["id"], **answer})
    return question["params"], texts_of(bridge.wait_result(number))


def asks_inline():
    """In the handshake era the user is asked, and only a yes sends"""
    for answer, sends in (
        ({"result": {"action": "accept", "content": {"confirm": True}}}, True),
        ({"result": {"action": "accept", "content": {"confirm": False}}}, False),
        ({"result": {"action": "accept", "content": {}}}, False),
        ({"result": {"action": "accept"}}, False),
        ({"result": {"action": "accept", "content": {"confirm": "true"}}}, False),
        ({"result": {"action": "decline"}}, False),
        ({"result": {"action": "cancel"}}, False),
        ({"result": {"action": "ACCEPT", "content": {"confirm": True}}}, False),
        ({"result": {}}, False),
        ({"error": {"code": -32603, "message": "no"}}, False),
    ):
        for revision in ("2025-06-18", "2025-11-25"):
            with backend(Fake()) as fake, Bridge(fake, env=ASK, revision=revision, capabilities={"elicitation": {}}) as bridge:
                question, (text, is_error) = elicited(bridge, answer)
                has(question["message"], "PATCH", f"{fake.url}/api/v2/dags/d")
                want(question["requestedSchema"]["properties"]["confirm"]["default"] is False if revision > "2025-06-18" else True, question)
                want(is_error != sends and len(changes(fake)) == int(sends), answer, revision, text)
                if not sends:
                    has(text.lower(), "nothing was sent")


def cannot_ask():
    """Where the client can't ask, a gate that wants a yes stays shut; one that is open decides alone and says so"""
    for capabilities in ({}, {"elicitation": {"url": {}}}, {"roots": {}}):
        with backend(Fake()) as fake, Bridge(fake, env=ASK, capabilities=capabilities) as bridge:
            bridge.bad("set_dag_paused", PAUSE)
            bridge.bad(ANY, {"method": "DELETE", "path": "/api/v2/dags/d"})
            want(not changes(fake), changes(fake))
    with backend(Fake()) as fake, Bridge(fake, env={WRITES: "1", DELETES: "1"}) as bridge:
        has(bridge.good(ANY, {"method": "DELETE", "path": "/api/v2/dags/d"}), "can't ask")


def deletes_always_ask():
    """A delete asks the user even where its gate is open"""
    with backend(Fake()) as fake, Bridge(fake, env={WRITES: "1", DELETES: "1"}, capabilities={"elicitation": {}}) as bridge:
        question, (text, is_error) = elicited(bridge, {"result": {"action": "decline"}}, ANY, {"method": "DELETE", "path": "/api/v2/dags/d%20e"})
        has(question["message"], "DELETE", "d%20e")
        want(is_error and not changes(fake), text)


def modern(bridge, tool="set_dag_paused", arguments=None, asks=True, **more):
    meta = {**MODERN_META, driver.META_CAPABILITIES: {"elicitation": {}} if asks else {}}
    return bridge.wait_plain(bridge.send_request("tools/call", {"name": tool, "arguments": arguments or PAUSE, "_meta": meta, **more}))


YES = {"confirm": {"action": "accept", "content": {"confirm": True}}}


def asks_by_return():
    """In the stateless era the question comes back with a state; the retry with a yes sends exactly once"""
    with backend(Fake()) as fake, Bridge(fake, env=ASK, revision=None) as bridge:
        first = modern(bridge)["result"]
        want(first["resultType"] == "input_required" and not changes(fake), first)
        has(first["inputRequests"]["confirm"]["params"]["message"], "PATCH", "/api/v2/dags/d")
        state = first["requestState"]
        good = modern(bridge, inputResponses=YES, requestState=state)["result"]
        want(good["resultType"] == "complete" and not good.get("isError") and len(changes(fake)) == 1, good)
        again = modern(bridge, inputResponses=YES, requestState=state)
        want(len(changes(fake)) == 1 and ("error" in again or again["result"].get("isError") or again["result"]["resultType"] == "input_required"), again)


def forged_states():
    """A state that is forged, of another call, of another process or missing sends nothing"""
    with backend(Fake()) as fake, Bridge(fake, env=ASK, revision=None) as bridge, Bridge(fake, env=ASK, revision=None) as other:
        state = modern(bridge)["result"]["requestState"]
        foreign = modern(other)["result"]["requestState"]
        flipped = state[:-1] + ("0" if state[-1] != "0" else "1")
        for forged in (foreign, flipped, state[:-1], state + "0", state.upper() + "x", "", "a.b.c", "9" + state, "0" + state, "\u0000", "é"):
            answer = modern(bridge, inputResponses=YES, requestState=forged)
            want(not changes(fake), repr(forged), answer)
        for tool, arguments in (
            ("set_dag_paused", {"dag_id": "d", "paused": False}), ("set_dag_paused", {"dag_id": "e", "paused": True}), ("trigger_dag_run", {"dag_id": "d"}),
            (ANY, {"method": "PATCH", "path": "/api/v2/dags/d", "body": {"is_paused": True}}),
        ):
            modern(bridge, tool, arguments, inputResponses=YES, requestState=state)
            want(not changes(fake), tool, arguments)
        modern(bridge, inputResponses=YES)
        for responses in ({}, {"other": YES["confirm"]}, {"confirm": {"action": "accept"}}, {"confirm": {"action": "decline"}}, {"confirm": 5}, [], None):
            modern(bridge, inputResponses=responses, requestState=state)
            want(not changes(fake), responses)


def says_no():
    """A decline in the stateless era ends the call with words, and its state can't be used for a yes later"""
    with backend(Fake()) as fake, Bridge(fake, env=ASK, revision=None) as bridge:
        state = modern(bridge)["result"]["requestState"]
        text, is_error = texts_of(modern(bridge, inputResponses={"confirm": {"action": "decline"}}, requestState=state)["result"])
        want(is_error, text)
        has(text.lower(), "nothing was sent")
        modern(bridge, inputResponses=YES, requestState=state)
        want(not changes(fake), changes(fake))
        bare = modern(bridge, asks=False)
        want(not changes(fake) and (bare.get("error") or bare["result"].get("isError")), bare)


def on_a_terminal():
    """The command line sends what wants a yes only with --yes when nobody can be asked"""
    with backend(Fake()) as fake:
        words = ("call", ANY, "method=DELETE", "path=/api/v2/dags/d")
        status, _, _ = shell(*words, address=fake.url, env=ASK)
        want(status == 1 and not changes(fake), status, changes(fake))
        status, _, _ = shell(*words, "--yes", address=fake.url)
        want(status == 1 and not changes(fake), "--yes opened a gate")
        status, out, err = shell(*words, "--yes", address=fake.url, env=ASK)
        want(status == 0 and changes(fake) == ["DELETE"], status, out, err)


if __name__ == "__main__":
    main([
        every_tool, spellings, unclear_flags, at_a_shell, every_start, no_flag_opens, posts_that_read, bulk_deletes, refusal, hidden, scopes, asks_inline, cannot_ask,
        deletes_always_ask, asks_by_return, forged_states, says_no, on_a_terminal,
    ])
