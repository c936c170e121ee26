#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Arguments as models really send them: strings for everything, null, "", misspelt names. What is refused sends nothing."""

import json
import urllib.parse

from dbr_cases import Bridge, Fake, has, main, shell, want

WRITES = {"AIRFLOW_MCP_ALLOW_WRITES": "1"}


def backend(fake):
    fake.always("GET", "*", body={"dags": [], "dag_runs": [], "task_instances": [], "total_entries": 0})
    fake.always("POST", "/api/v2/dags/etl/dagRuns", body={"dag_id": "etl", "dag_run_id": "r", "state": "queued"})
    fake.always("POST", "/api/v2/dags/etl/clearTaskInstances", body={"task_instances": [], "total_entries": 0})
    fake.always("PATCH", "/api/v2/dags/etl", body={"dag_id": "etl", "is_paused": True})
    return fake


def query_of(request):
    return urllib.parse.parse_qsl(request["target"].partition("?")[2], keep_blank_values=True)


def posted(fake):
    return [r["body"] for r in fake.requests() if r["method"] in ("POST", "PATCH", "PUT")]


def text_objects():
    """An object or array that comes as text of JSON sends the same bytes as one that comes as such"""
    pairs = (
        ("trigger_dag_run", {"dag_id": "etl", "conf": {"k": 1, "l": [None, "ü"]}}, "conf"),
        ("clear_task_instances", {"dag_id": "etl", "dag_run_id": "r", "task_ids": ["a", ["b", 3]]}, "task_ids"),
    )
    with backend(Fake()) as fake, Bridge(fake, env=WRITES) as bridge:
        for tool, arguments, name in pairs:
            bridge.good(tool, arguments)
            bridge.good(tool, {**arguments, name: json.dumps(arguments[name], separators=(",", ":"))})
            one, other = posted(fake)[-2:]
            want(one == other, one, "differs from", other)


def wrong_text_objects():
    """Text that is no JSON of the wanted kind is refused by name, before any request"""
    with backend(Fake()) as fake, Bridge(fake, env=WRITES) as bridge:
        for value in ("[1]", "oops", "{", "1", '"{}"', [1], 5, True):
            text = bridge.bad("trigger_dag_run", {"dag_id": "etl", "conf": value})
            has(text, "conf", "object")
        for value in ("{}", "oops,", 5, {"a": 1}):
            has(bridge.bad("clear_task_instances", {"dag_id": "etl", "dag_run_id": "r", "task_ids": value}), "task_ids")
        want(not fake.requests(), fake.requests())


def strings_stay():
    """Text that looks like JSON stays text where text is wanted"""
    with backend(Fake()) as fake, Bridge(fake, env=WRITES) as bridge:
        for value in ('{"a":1}', "[1]", "null", "true", "12"):
            bridge.good("trigger_dag_run", {"dag_id": "etl", "note": value})
            want(json.loads(posted(fake)[-1])["note"] == value, posted(fake)[-1])


def integers():
    """Integers come in five forms; what is none is refused in words that say what is wanted"""
    with backend(Fake()) as fake, Bridge(fake) as bridge:
        for value, sent in (("10", "10"), (10, "10"), (10.0, "10"), (" 5 ", "5"), ("10.0", "10"), (1e1, "10")):
            bridge.good("list_dags", {"limit": value})
            want(("limit", sent) in query_of(fake.requests()[-1]), value, fake.requests()[-1]["target"])
        for value in ("1e400", 1.5, "10.5", "0x10", "99999999999999999999", "ten", "1_0", "+-1", True, [1], {}, "10;drop", "１０"):
            before = len(fake.requests())
            has(bridge.bad("list_dags", {"limit": value}), "limit", "integer")
            want(len(fake.requests()) == before, "sent all the same")
        for value in (0, 101, "-1", "101", -5):
            before = len(fake.requests())
            has(bridge.bad("list_dags", {"limit": value}), "limit", "100" if value in (101, "101") else "minimum, 1")
            want(len(fake.requests()) == before, "sent all the same")


def map_indexes():
    """A map index is an integer from -1 up, as number or text; null is as left out; NaN is refused"""
    where = {"dag_id": "etl", "dag_run_id": "r", "task_id": "t"}
    with backend(Fake()) as fake, Bridge(fake) as bridge:
        for value in (-1, "-1", 0, "0", None, 7):
            before = len(fake.requests())
            bridge.call("get_task_instance", {**where, "map_index": value})
            want(len(fake.requests()) > before, "not sent", value)
        for value in (-2, "NaN", "-2", 0.5):
            before = len(fake.requests())
            has(bridge.bad("get_task_instance", {**where, "map_index": value}), "map_index")
            want(len(fake.requests()) == before, "sent all the same")


def booleans():
    """Booleans come as such or as text; anything else is refused"""
    with backend(Fake()) as fake, Bridge(fake) as bridge:
        for value, sent in ((True, "true"), (False, "false"), ("true", "true"), ("False", "false"), ("TRUE", "true")):
            bridge.good("list_dags", {"paused": value})
            want(("paused", sent) in query_of(fake.requests()[-1]), value, fake.requests()[-1]["target"])
        for value in ("yep", 2, [], {}, "truee"):
            has(bridge.bad("list_dags", {"paused": value}), "paused")


def left_out():
    """Null and "" for what is optional are as if left out; 0 and false are not"""
    with backend(Fake()) as fake, Bridge(fake) as bridge:
        bridge.good("list_dags", {"last_dag_run_state": None, "offset": 0, "paused": False, "dag_id_pattern": "", "tags": None})
        names = dict(query_of(fake.requests()[-1]))
        want(names == {"limit": "100", "offset": "0", "order_by": "dag_id", "paused": "false"}, names)
        bridge.good("list_dag_runs", {"dag_id": "", "run_id_pattern": ""})
        has(fake.requests()[-1]["target"], "/api/v2/dags/~/dagRuns?")


def required_empty():
    """A required argument that is empty, null or missing is refused by name"""
    with backend(Fake()) as fake, Bridge(fake) as bridge:
        for arguments in ({"dag_id": ""}, {"dag_id": None}, {}, None):
            has(bridge.bad("get_dag", arguments), "dag_id")
        want(not fake.requests(), fake.requests())


def nulls_in_bodies():
    """Null inside a body means null and is sent"""
    with backend(Fake()) as fake, Bridge(fake, env=WRITES) as bridge:
        bridge.good("airflow_api_call", {"method": "PATCH", "path": "/api/v2/dags/etl", "body": {"note": None}})
        want(posted(fake)[-1] == '{"note":null}', posted(fake)[-1])
        bridge.good("trigger_dag_run", {"dag_id": "etl", "conf": {"a": None, "b": {"c": None}}})
        want(json.loads(posted(fake)[-1])["conf"] == {"a": None, "b": {"c": None}}, posted(fake)[-1])


def exact_query():
    """Arrays repeat their key, booleans are lower case, and every value is encoded once"""
    with backend(Fake()) as fake, Bridge(fake) as bridge:
        bridge.good("list_dag_runs", {"dag_id": "etl", "state": ["failed", "queued"], "run_after_gte": "2026-01-01T00:00:00+02:00"})
        has(fake.requests()[-1]["target"], "state=failed&state=queued", "run_after_gte=2026-01-01T00%3A00%3A00%2B02%3A00")
        bridge.good("airflow_api_get", {"path": "/api/v2/x", "query": {"a": ["x y", "ü&=%"], "b": True, "c": 1.10, "d": "#?/"}})
        want(query_of(fake.requests()[-1]) == [("a", "x y"), ("a", "ü&=%"), ("b", "true"), ("c", "1.1"), ("d", "#?/")], fake.requests()[-1]["target"])
        lower = fake.requests()[-1]["target"]
        want("%2520" not in lower and "%25" in lower, lower)


def misspelt():
    """An unknown argument is refused by name, with the nearest one that exists, and nothing is sent"""
    with backend(Fake()) as fake, Bridge(fake, env=WRITES) as bridge:
        has(bridge.bad("list_dags", {"dag_id_patern": "x"}), "dag_id_patern", "dag_id_pattern")
        has(bridge.bad("trigger_dag_run", {"dag_id": "etl", "config": {}}), "config", "conf")
        has(bridge.bad("get_version", {"x": 1}), "x")
        want(not fake.requests(), fake.requests())


def enums():
    """A value outside an enumeration is refused with those that are in it"""
    with backend(Fake()) as fake, Bridge(fake) as bridge:
        has(bridge.bad("list_dag_runs", {"state": ["faild"]}), "failed", "queued")
        has(bridge.bad("list_dags", {"last_dag_run_state": "bad"}), "success")
        has(bridge.bad("list_dag_runs", {"state": "failed, queued"}), "state", 'written ["failed", "queued"]')


def shell_forms():
    """On a command line every value is text, and means the same"""
    with backend(Fake()) as fake:
        status, out, err = shell("call", "list_dag_runs", "dag_id=etl", "limit=5", 'state=["failed","queued"]', address=fake.url)
        want(status == 0, out, err)
        has(fake.requests()[-1]["target"], "limit=5", "state=failed&state=queued")
        status, out, err = shell("call", "trigger_dag_run", "dag_id=etl", 'conf={"a":9007199254740993}', address=fake.url, env=WRITES)
        want(status == 0, out, err)
        has(posted(fake)[-1], "9007199254740993")
        status, out, err = shell("call", "list_dags", "limt=5", address=fake.url)
        want(status == 1, status, out, err)
        has(err, "limit")


def shell_mistakes():
    """What a person types wrong is refused with what to type instead, and sends nothing"""
    with backend(Fake()) as fake:
        for words, says in (
            (("call", "diagnose_dag_run", "orders_broken"), '"orders_broken" has no name: write NAME=VALUE, such as dag_id=orders_broken'),
            (("call", "get_version", "now"), '"now" is one word too many: get_version takes no arguments'),
            (("call", "get_dag", "--dag_id=x"), "Unknown option --dag_id=x; arguments are written dag_id=x"),
            (("call", "get_dag", "--dag_id", "x"), "Unknown option --dag_id; arguments are written dag_id=VALUE"),
            (("call", "get_dag", "{"), "the arguments are no JSON object: "),
            (("call", "get_dag", "--arguments", "[]"), "the arguments are no JSON object: it is another value"),
            (("call", "list_dgs"), 'no tool "list_dgs" in any shipped backend (airflow, engine). Did you mean list_dags? "drawbridge tools" lists them.'),
            (("call", "--backend", "airflow", "list_dgs"), 'no tool "list_dgs" in airflow. Did you mean list_dags? "drawbridge tools airflow" lists them.'),
            (("call", "engine", "stats"), 'no tool "stats" in engine. Did you mean status? "drawbridge tools engine" lists them.'),
            (("call", "airflow"), '"airflow" is a backend, not a tool; "drawbridge tools airflow" lists its tools.'),
            (("call", "status"), 'several have a tool "status": engine --offer foreman, engine --offer client, engine --offer coordinator, '
                                 'engine --offer admin. Choose one with --backend NAME, --client, --coordinator or --offer NAME.'),
            (("call", "list_dags", "--output=yaml"), '--output takes text or json, not "yaml"'),
            (("tools", "--output=yaml"), '--output takes text or json, not "yaml"'),
            (("engine", "status", "--output=yaml"), '--output takes text or json, not "yaml"'),
            (("tools", "airflow", "extra"), '"extra" is one argument too many'),
            (("mcp", "airflow", "extra"), '"extra" is one argument too many'),
        ):
            status, out, err = shell(*words, address=fake.url)
            want(status == 2 and not out, words, status, out, err)
            has(err, says)
        for value in ("0", "0.001", "0.0499", "-1", "3600.1", "nan", "inf", "ten", "1s", ""):
            for words in (("call", "list_dags"), ("mcp", "airflow"), ("tools", "airflow")):
                status, out, err = shell(*words, f"--timeout={value}", address=fake.url)
                want(status == 2 and not out, words, value, status, out, err)
                has(err, f'--timeout takes 0.05 to 3600 seconds, not "{value}"')
        want(not fake.all_requests(), fake.all_requests())
        for value in ("0.05", "3600", "2.5"):
            status, out, err = shell("tools", "airflow", f"--timeout={value}", address=fake.url)
            want(status == 0, value, err)


def forgiven():
    """What has one meaning is taken as it is meant; what has several is refused with the exact form"""
    with backend(Fake()) as fake:
        for words, sent in (
            (("list_dags", "tags=shop", "paused=no"), ("tags=shop", "paused=false")),
            (("list_dag_runs", '{"dag_id": "etl", "limit": 7}'), ("limit=7",)),
            (("list_dag_runs", "dag_id=etl", "state=FAILED"), ("state=failed",)),
        ):
            status, out, err = shell("call", *words, address=fake.url)
            want(status == 0, words, status, out, err)
            has(fake.requests()[-1]["target"], *sent)
        fake.forget()
        for words, says in (
            (("list_dags", "tags=shop,etl"), 'tags: expected an array, written ["shop", "etl"], found the string "shop,etl".'),
            (("get_task_log", "dag_id=d", "dag_run_id=r", "task_id=t", "level=warn"), "Did you mean warning?"),
            (("get_task_instance", "dag_id=d", "run_id=r", "task_id=t"), 'did you mean "dag_run_id"?'),
            (("get_dag", "dag=d"), 'did you mean "dag_id"?'),
        ):
            status, out, err = shell("call", *words, address=fake.url)
            want(status == 1 and not out, words, status, out, err)
            has(err, says)
        want(not fake.all_requests(), fake.all_requests())


if __name__ == "__main__":
    main([
        text_objects, wrong_text_objects, strings_stay, integers, map_indexes, booleans, left_out, required_empty,
        nulls_in_bodies, exact_query, misspelt, enums, shell_forms, shell_mistakes, forgiven,
    ])
