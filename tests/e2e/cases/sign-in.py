#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Credentials: where they come from, what is made of a bad one, when they are renewed. Their values are never shown."""

import json
import os

from dbr_cases import BUILD, PASSWORD, PROGRAM, SIGNED_IN, SRC, TOKEN, USER, Bridge, Fake, has, headers, lacks, main, shell, want

VARIABLES = ("AIRFLOW_USERNAME", "AIRFLOW_PASSWORD", "AIRFLOW_ACCESS_TOKEN")
NONE = {name: None for name in VARIABLES}
STATIC = {**NONE, "AIRFLOW_ACCESS_TOKEN": TOKEN}


def up(fake):
    return fake.always("GET", "*", body={"version": "3.1"})


def signs_in():
    """User and password buy a token by one request, which every later request carries"""
    with up(Fake()) as fake, Bridge(fake) as bridge:
        for _ in range(3):
            bridge.good("get_version")
        want(len(fake.sign_ins()) == 1, fake.sign_ins())
        sent = fake.sign_ins()[0]
        want(sent["method"] == "POST" and sent["target"] == "/auth/token", sent)
        want(json.loads(sent["body"]) == {"username": USER, "password": PASSWORD}, "the body differs")
        want(not headers(sent, "authorization") and headers(sent, "content-type") == ["application/json"], sent["headers"])
        want(all(headers(r, "authorization") == ["Bearer fake-token-1"] for r in fake.requests()), "a request without the token")


def one_sign_in_for_many():
    """Calls at the same moment share one sign-in"""
    with Fake() as fake:
        up(fake).script("POST", "/auth/token", {"status": 201, "body": {"access_token": "fake-token-1"}, "delay_ms": 100, "times": 0})
        with Bridge(fake) as bridge:
            for number in [bridge.send_call("get_version") for _ in range(20)]:
                want(not bridge.wait_result(number).get("isError"), bridge.lines[-1])
        want(len(fake.sign_ins()) == 1, len(fake.sign_ins()))


def fixed_token():
    """A token from the environment is sent as it is, without signing in"""
    with up(Fake()) as fake:
        for value in (TOKEN, TOKEN + "\n", f" {TOKEN}\r\n"):
            fake.forget()
            up(fake)
            status, out, err = shell("call", "get_version", address=fake.url, env={**STATIC, "AIRFLOW_ACCESS_TOKEN": value})
            want(status == 0, out, err)
            want(not fake.sign_ins() and headers(fake.requests()[0], "authorization") == [f"Bearer {TOKEN}"], fake.all_requests())


def bad_values():
    """A value that can't be a credential is refused by the variable's name, sends nothing and is not shown"""
    with up(Fake()) as fake:
        for value in ("cAnary-a\r\nX-Evil: 1", "cAnary a b", "cAnary-é", "cAnary\x01x", "cAnary\ttab-x"):
            status, out, err = shell("call", "get_version", address=fake.url, env={**STATIC, "AIRFLOW_ACCESS_TOKEN": value})
            want(status == 1, repr(value), out, err)
            has(err, "AIRFLOW_ACCESS_TOKEN")
            lacks(out + err, "cAnary", "X-Evil")
        for name in (*VARIABLES, "AIRFLOW_API_URL", "AIRFLOW_API_CA_FILE"):
            for value in ("${AIRFLOW_TOKEN}", "$AIRFLOW_TOKEN", "", " ", "\n", "${input:token}", "$_x"):
                env = {**(NONE if name == "AIRFLOW_ACCESS_TOKEN" else {}), name: value}
                status, out, err = shell("call", "get_version", address=fake.url, env=env)
                want(status == 1, name, repr(value), out, err)
                has(err, name, "Nothing was sent")
        for missing in ("AIRFLOW_USERNAME", "AIRFLOW_PASSWORD"):
            status, out, err = shell("call", "get_version", address=fake.url, env={missing: None})
            want(status == 1, out, err)
            has(err, missing)
        want(not fake.requests() and not fake.sign_ins(), fake.all_requests())


def dollar_passwords():
    """A password may hold a dollar, quotes, blanks and letters of any script"""
    with Fake() as fake:
        for value in ("pa$$w0rd-long", "5${x}-long", 'quo"te\\-long', "grüße an alle", "p w with blanks"):
            fake.forget()
            up(fake)
            status, out, err = shell("call", "get_version", address=fake.url, env={"AIRFLOW_PASSWORD": value})
            want(status == 0, value, out, err)
            want(json.loads(fake.sign_ins()[0]["body"])["password"] == value, fake.sign_ins())


def defaults():
    """The documented defaults are for this machine only; elsewhere the missing variables are named"""
    with up(Fake()) as fake:
        status, _, err = shell("call", "get_version", address=fake.url, env=NONE)
        want(status == 0, err)
        want(json.loads(fake.sign_ins()[0]["body"]) == {"username": "admin", "password": "admin"}, fake.sign_ins())
    for address in ("http://airflow.invalid", "https://airflow.invalid", "http://127.evil.invalid", "http://localhost.evil.invalid"):
        status, out, err = shell("call", "get_version", address=address, env=NONE)
        want(status == 1, out, err)
        has(err, "AIRFLOW_USERNAME", "AIRFLOW_PASSWORD", "AIRFLOW_ACCESS_TOKEN", "Nothing was sent")


def plain_http_elsewhere():
    """Over plain http no credential goes to another machine"""
    for env in (STATIC, SIGNED_IN):
        status, out, err = shell("call", "get_version", address="http://airflow.invalid:8080", env=env)
        want(status == 1, out, err)
        has(err, "Nothing was sent", "https")


def sign_in_answers():
    """Every answer to a sign-in but a token is an error that says so"""
    with Fake() as fake:
        for answer, works in (
            ({"status": 201, "body": {"access_token": "fake-token-1"}}, True),
            ({"status": 200, "body": {"access_token": "fake-token-1"}}, True),
            ({"status": 401, "body": {"detail": "Invalid credentials"}}, False),
            ({"status": 404, "body": {"detail": "Not Found"}}, False),
            ({"status": 422, "body": {"detail": []}}, False),
            ({"status": 500, "body": "Internal Server Error", "headers": [["Content-Type", "text/plain"]]}, False),
            ({"status": 302, "headers": [["Location", "https://login.example/?x"]]}, False),
            ({"status": 200, "body": "<html>sign in</html>", "headers": [["Content-Type", "text/html"]]}, False),
            ({"status": 201, "body": {}}, False),
            ({"status": 201, "body": {"access_token": ""}}, False),
            ({"status": 201, "body": {"access_token": None}}, False),
            ({"status": 201, "body": {"access_token": 5}}, False),
            ({"status": 201, "body": {"access_token": "a\r\nX-Evil: 1"}}, False),
            ({"status": 201, "body": "{"}, False),
            ({"status": 201, "mode": "truncate"}, False),
        ):
            fake.forget()
            up(fake).always("POST", "/auth/token", **answer)
            status, out, err = shell("call", "get_version", address=fake.url)
            want((status == 0) == works, answer, out, err)
            if not works:
                has(err, "sign", fake.url)
                lacks(err, "X-Evil")
                want(not fake.requests(), fake.requests())


def address_or_credentials():
    """Only an answer that speaks of the credentials is told as one; any other asks for the address, or says no more than it knows"""
    page = {"body": "<html>sign in</html>", "headers": [["Content-Type", "text/html"]]}
    asks = "Is AIRFLOW_API_URL the address of the API (it takes no page's path)?"
    accepted = "credentials were not accepted"
    with Fake() as fake:
        for answer, about in (
            ({"status": 400, "body": {"detail": "no"}}, "credentials"), ({"status": 401, "body": {"detail": "no"}}, "credentials"),
            ({"status": 403, "body": {"detail": "no"}}, "credentials"), ({"status": 422, "body": {"detail": "no"}}, "credentials"),
            ({"status": 404, "body": {"detail": "no"}}, "address"), ({"status": 405, "body": {"detail": "no"}}, "address"),
            ({"status": 501, "body": {"detail": "no"}}, "address"), ({"status": 404, **page}, "address"), ({"status": 200, **page}, "address"),
            ({"status": 200, "body": {"status": "ok"}}, "address"), ({"status": 201, "body": {"access_token": 5}}, "address"),
            ({"status": 302, "headers": [["Location", "https://login.example/"]]}, "address"),
            ({"status": 500, "body": {"detail": "no"}}, "neither"), ({"status": 503, "body": {"detail": "no"}}, "neither"), ({"status": 429}, "neither"),
        ):
            fake.forget()
            up(fake).always("POST", "/auth/token", **answer)
            status, _, err = shell("call", "get_version", address=fake.url)
            want(status == 1 and not fake.requests(), answer, status, err)
            want((asks in err, accepted in err) == (about == "address", about == "credentials"), answer, err)


def renews():
    """A token that ran out is renewed once and the request repeated, a write too"""
    denied = {"status": 401, "body": {"detail": "Token Expired"}}
    garbage = {"status": 403, "body": {"detail": "Invalid JWT token"}}
    for refusal in (denied, garbage):
        with Fake() as fake:
            fake.script("GET", "/api/v2/version", refusal, {"body": {"version": "3.1"}, "times": 0})
            fake.script("PATCH", "/api/v2/dags/a", refusal, {"body": {"dag_id": "a", "is_paused": True}, "times": 0})
            with Bridge(fake, env={"AIRFLOW_MCP_ALLOW_WRITES": "1"}) as bridge:
                bridge.good("get_version")
                want([headers(r, "authorization")[0][-1] for r in fake.requests()] == ["1", "2"], fake.requests())
                bridge.good("set_dag_paused", {"dag_id": "a", "paused": True})
                want(len(fake.sign_ins()) == 3 and len(fake.requests()) == 4, fake.all_requests())


def gives_up():
    """A second refusal is an error; so is any other 403, and whatever a fixed token meets, at once"""
    with Fake() as fake:
        for status, detail, env, requests, sign_ins in (
            (401, "Token Expired", {}, 2, 2),
            (403, "Invalid JWT token", {}, 2, 2),
            (403, "Forbidden", {}, 1, 1),
            (401, "Token Expired", STATIC, 1, 0),
            (403, "Invalid JWT token", STATIC, 1, 0),
            (403, "Forbidden", STATIC, 1, 0),
        ):
            fake.forget()
            fake.always("GET", "/api/v2/version", status=status, body={"detail": detail})
            with Bridge(fake, env=env) as bridge:
                text = bridge.bad("get_version")
                has(text, str(status), detail)
                want((len(fake.requests()), len(fake.sign_ins())) == (requests, sign_ins), status, detail, bool(env), fake.all_requests())


def login_redirect():
    """A front door that sends to a login page is told as one"""
    with Fake() as fake:
        fake.always("GET", "/api/v2/version", status=302, headers=[["Location", "https://login.example/authorize?client=x"]])
        status, _, err = shell("call", "get_version", address=fake.url, env=STATIC)
        want(status == 1, err)
        has(err, "https://login.example", "sign-in")
        lacks(err, "client=x")


def bare_environment():
    """Nothing is needed of the environment but our own variables"""
    with up(Fake()) as fake:
        status, out, err = shell("call", "get_version", address=fake.url, env=SIGNED_IN, bare=True)
        want(status == 0, out, err)
        with Bridge(fake, env={name: None for name in os.environ} | SIGNED_IN | {"AIRFLOW_API_URL": fake.url, "LC_ALL": None}) as bridge:
            bridge.good("get_version")
            bridge.good("airflow_api_get", {"path": "/api/v2/x"})


def shows_source_not_value():
    """The commands that report say where a credential comes from, not what it is"""
    for env, word in ((STATIC, "AIRFLOW_ACCESS_TOKEN"), (SIGNED_IN, "AIRFLOW_USERNAME"), (NONE, "default")):
        status, out, err = shell("tools", "--backend", "airflow", env=env)
        want(status == 0, err)
        has(out, word)


if __name__ == "__main__":
    main([
        signs_in, one_sign_in_for_many, fixed_token, bad_values, dollar_passwords, defaults, plain_http_elsewhere, sign_in_answers, address_or_credentials, renews, gives_up,
        login_redirect, bare_environment, shows_source_not_value,
    ])
