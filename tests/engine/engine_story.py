# SPDX-License-Identifier: Apache-2.0
"""One story in which every operation of the engine succeeds at least once, and what it leaves behind."""
import json


class Document:
    """The OpenAPI document, and a check of answers against it: of JSON Schema what the document uses."""

    def __init__(self, document):
        self.document = document
        self.operations = {operation["operationId"]: (method.upper(), path, operation)
                           for path, methods in document["paths"].items() for method, operation in methods.items()}

    def resolve(self, node):
        while "$ref" in node:
            found = self.document
            for part in node["$ref"][2:].split("/"):
                found = found[part]
            node = found
        return node

    def wrong(self, schema, value, where="body"):
        """What is wrong with value; None: nothing."""
        schema = self.resolve(schema)
        if "oneOf" in schema:
            found = [self.wrong(one, value, where) for one in schema["oneOf"]]
            return None if found.count(None) == 1 else f"{where}: fits {found.count(None)} of oneOf: {found}"
        if "const" in schema and value != schema["const"]:
            return f"{where}: is not {schema['const']!r}"
        if "enum" in schema and value not in schema["enum"]:
            return f"{where}: {value!r} is none of {schema['enum']}"
        kinds = schema.get("type")
        if kinds and not any(self.is_kind(value, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds)):
            return f"{where}: {value!r} is no {kinds}"
        if "minimum" in schema and isinstance(value, int) and value < schema["minimum"]:
            return f"{where}: {value} is too small"
        if isinstance(value, list):
            wrongs = [self.wrong(schema.get("items", {}), item, f"{where}[{n}]") for n, item in enumerate(value)]
            return next((wrong for wrong in wrongs if wrong), None)
        if isinstance(value, dict):
            return self.wrong_object(schema, value, where)
        return None

    def wrong_object(self, schema, value, where):
        known = schema.get("properties", {})
        for name in schema.get("required", []):
            if name not in value:
                return f"{where}: lacks {name}"
        for name, member in value.items():
            if name not in known and schema.get("additionalProperties", True) is False:
                return f"{where}: {name} is not in the document"
            wrong = self.wrong(known.get(name, {}), member, f"{where}.{name}")
            if wrong:
                return wrong
        return None

    @staticmethod
    def is_kind(value, kind):
        types = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "null": type(None)}
        return isinstance(value, types[kind]) and not (kind == "integer" and isinstance(value, bool))

    def wrong_answer(self, operation_id, answer):
        operation = self.operations[operation_id][2]
        if str(answer.status) not in operation["responses"]:
            return f"status {answer.status} is not in the document: {answer.text[:300]}"
        response = self.resolve(operation["responses"][str(answer.status)])
        if "content" not in response:
            return f"has a body: {answer.text[:300]}" if answer.text else None
        if answer.type not in response["content"]:
            return f"is {answer.type}"
        for name in response.get("headers", {}):
            if name not in answer.headers:
                return f"lacks the header {name}"
        if answer.json is None:
            return None
        return self.wrong(response["content"][answer.type]["schema"], answer.json)


class Story:
    """Asks by operationId; told is called with each answer and what is wrong with it."""

    def __init__(self, engine, document, told):
        self.engine = engine
        self.document = document
        self.told = told
        self.admin = engine.admin()
        self.done = set()

    def ask(self, operation_id, status, body=None, token=None, query="", headers=None, path_token=None, **ids):
        method, path, _ = self.document.operations[operation_id]
        ids["token"] = path_token
        answer = self.engine.ask(method, path.format(**ids) + query, body, token or self.admin, headers)
        wrong = self.document.wrong_answer(operation_id, answer)
        if answer.status != status:
            wrong = f"status {answer.status}, wanted {status}: {answer.text[:300]}"
        self.told(operation_id, status, wrong)
        self.done.add(operation_id)
        return answer

    def make(self, operation_id, body, **more):
        return self.ask(operation_id, 201, body, **more).json

    def tell(self):
        """Everything once; returns what is left: ids by the name of their place in a path, and a token a role."""
        tokens = {"admin": self.admin}
        for role in ("client", "worker"):
            tokens[role] = self.make("token_new", {"role": role, "name": f"the {role}"})["token"]
        spare_token = self.make("token_new", {"role": "client", "name": "spare"})["id"]
        revoked = self.make("token_new", {"role": "client", "name": "revoked"})["id"]
        self.ask("token_revoke", 200, {}, path_token=revoked)
        self.ask("token_list", 200)
        first = self.projects()
        lease = self.lease(first, tokens)
        message = self.messages(first, tokens)
        self.plans(first, tokens)
        left = self.leave(first, tokens)
        left.update(token=spare_token, lease=lease, message=message)
        self.reads(left, tokens)
        return left, tokens

    def projects(self):
        first = self.make("project_add", {"repo_url": "git@example.org:team/shop.git", "checkout": "/usr"})["id"]
        spare = self.make("project_add", {"repo_url": "https://example.org/team/spare", "name": "spare"})["id"]
        self.ask("project_add", 409, {"repo_url": "https://EXAMPLE.org/team/shop"})
        self.ask("project_set", 200, {"settings": {"max_tasks": 1, "protected_paths": ["secrets/**"]},
                                      "foreman_command": {"command": ["true"]}}, project=first)
        self.ask("project_hold", 200, {"held": True, "reason": "a freeze"}, project=first)
        self.ask("project_get", 200, project=first)
        self.ask("project_hold", 200, {"held": False}, project=first)
        self.ask("project_set", 200, {"foreman_command": {"command": ["no-such-program"], "model": None}}, project=spare)
        self.ask("message_add", 201, {"text": "Can you run?"}, project=spare)
        self.ask("status", 200)
        self.ask("project_remove", 200, {}, project=spare)
        self.ask("project_list", 200)
        return first

    def lease(self, project, tokens):
        chat = self.make("attach", {"holder": "a chat", "ttl": 60}, project=project)
        self.ask("lease_take", 409, {"holder": "a turn"}, project=project)
        self.ask("lease_end", 200, {"outcome": "done"}, lease=chat["id"])
        turn = self.make("lease_take", {"holder": "a turn", "ttl": 3600}, project=project)
        tokens["foreman"] = turn["token"]
        self.ask("lease_renew", 200, {"ttl": 3600}, tokens["foreman"], lease=turn["id"])
        return turn["id"]

    def messages(self, project, tokens):
        message = self.make("message_add", {"text": "Build the shop."}, token=tokens["client"], project=project)
        self.ask("message_add", 200, {"text": "Build the shop."}, tokens["client"], project=project)
        self.ask("message_answer", 200, {"text": "I do."}, tokens["foreman"], message=message["id"])
        self.ask("report_add", 201, {"text": "All is well."}, tokens["foreman"], project=project)
        question = self.make("question_add", {"text": "Red or blue?", "options": ["red", "blue"]}, token=tokens["foreman"],
                             project=project)
        self.ask("status", 200, token=tokens["client"])
        self.ask("question_answer", 200, {"text": "blue"}, tokens["client"], question=question["id"])
        return message["id"]

    def plan(self, tokens, title="A shop"):
        tasks = [{"title": "walls", "brief": "Build the walls.", "paths": ["secrets/keys"]},
                 {"title": "roof", "brief": "Build the roof.", "depends_on": ["walls"], "branch": "roof"}]
        return self.make("plan_create", {"title": title, "summary": "walls and a roof", "tasks": tasks}, token=tokens["foreman"])

    def work(self, tokens, outcome):
        claim = self.ask("job_claim", 200, {"worker": "w", "wait": 5}, tokens["worker"]).json
        job = claim["job"]["id"]
        self.ask("job_event", 201, {"sequence": 1, "text": "a line"}, tokens["worker"], job=job)
        self.ask("job_event", 200, {"sequence": 1, "text": "a line"}, tokens["worker"], job=job)
        self.ask("job_heartbeat", 200, {}, tokens["worker"], job=job)
        self.ask("status", 200)
        self.ask("task_get", 200, task=claim["task"]["id"])
        self.ask("job_finish", 200, {"sequence": 2, "outcome": outcome}, tokens["worker"], job=job)
        return claim["task"]["id"], job

    def plans(self, project, tokens):
        foreman = tokens["foreman"]
        plan = self.plan(tokens)
        plan_id = plan["id"]
        self.ask("plan_get", 200, plan=plan_id)
        self.ask("plan_amend", 428, {"title": "A big shop"}, foreman, plan=plan_id)
        self.ask("plan_amend", 412, {"title": "A big shop"}, foreman, headers={"If-Match": '"99"'}, plan=plan_id)
        version = self.ask("plan_amend", 200, {"title": "A big shop", "add": [{"title": "door", "brief": "A door."}]}, foreman,
                           headers={"If-Match": f'"{plan["version"]}"'}, plan=plan_id).json["version"]
        self.ask("status", 200)
        self.ask("plan_approve", 409, {"version": plan["version"]}, tokens["client"], plan=plan_id)
        self.ask("plan_approve", 422, {"version": version, "and_stop_asking": True}, tokens["client"], plan=plan_id)
        self.ask("plan_approve", 200, {"version": version, "and_stop_asking": True, "reasons": ["too_many_tasks"]},
                 tokens["client"], plan=plan_id)
        self.ask("plan_hold", 200, {"held": True}, foreman, plan=plan_id)
        self.ask("plan_get", 200, plan=plan_id)
        self.ask("plan_hold", 200, {"held": False}, foreman, plan=plan_id)
        task = self.make("task_add", {"title": "garden", "brief": "A garden.", "depends_on": ["door"]}, token=foreman, plan=plan_id)
        task_id = task["task"]["id"]
        self.ask("status", 200)
        self.ask("task_update", 200, {"brief": "A large garden."}, foreman, task=task_id)
        self.ask("task_note", 200, {"text": "Mind the cat."}, foreman, task=task_id)
        self.ask("task_hold", 200, {"held": True, "reason": "winter"}, foreman, task=task_id)
        self.ask("task_hold", 200, {"held": False}, foreman, task=task_id)
        self.ask("task_cancel", 200, {"dependents": True}, foreman, task=task_id)
        reviewed, _ = self.work(tokens, "review")
        self.ask("task_update", 200, {"state": "done"}, foreman, task=reviewed)
        failed, _ = self.work(tokens, "failed")
        self.ask("status", 200)
        self.ask("task_retry", 200, {}, foreman, task=failed)
        rejected = self.plan(tokens, "Another shop")
        self.ask("plan_reject", 200, {"version": rejected["version"], "reason": "too big"}, tokens["client"], plan=rejected["id"])

    def leave(self, project, tokens):
        """Something in each state that others can work on."""
        self.work(tokens, "succeeded")
        job = self.ask("job_claim", 200, {"worker": "w", "wait": 0, "projects": [project]}, tokens["worker"]).json
        nothing = self.ask("job_claim", 200, {"worker": "w", "wait": 0, "needs_checkout": True}, tokens["worker"]).json
        assert nothing["job"] is None and nothing["waiting"]["text"], nothing
        plan = self.plan(tokens, "A third shop")
        question = self.make("question_add", {"text": "How high?"}, token=tokens["foreman"], project=project)
        return {"project": project, "plan": plan["id"], "task": plan["tasks"][0]["id"], "job": job["job"]["id"],
                "question": question["id"]}

    def reads(self, left, tokens):
        for token in (self.admin, tokens["client"], tokens["foreman"]):
            self.ask("status", 200, token=token, query="?all=true")
            self.ask("timeline", 200, token=token, query="?limit=500")
            self.ask("timeline", 200, token=token, query=f"?task={left['task']}")
            self.ask("events", 200, token=token, query="?after=0&wait=0")
            self.ask("message_list", 200, token=token, query="?waiting=true")
            self.ask("plan_list", 200, token=token, query=f"?project={left['project']}&limit=2")
        self.ask("health", 200)
        self.ask("openapi", 200)


def load(engine):
    return Document(json.loads(engine.ask("GET", "/v1/openapi.json").text))
