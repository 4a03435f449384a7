"""Requests made from the document, and requests that are no requests: none breaks anything."""

import asyncio
import json
import random
from contextlib import nullcontext
from dataclasses import replace
from itertools import product
from unittest.mock import patch

import pytest
import schemathesis
from starlette.routing import Route

import hushfade as hf
from hushfade.errors import HushfadeError, Malformed
from hushfade.serve import app, error_responses, handlers, openapi
from soaks.answers import Request
from soaks.cases import LINES, Marked, broken, leaves_of, made
from soaks.requests import Tally, examples, fuzzed
from soaks.target import PLANS, served
from tests.serve.client import PLAN

DOCUMENT = openapi.openapi()
KIND = (b"content-type", b"application/json")


@pytest.fixture(scope="module")
def generated():
    """Requests of every operation, some that fit the document and some that do not."""
    return made(DOCUMENT, 6, number=7)


def inside(tmp_path, work):
    """What the work returns, of a service within an event loop."""

    async def run():
        async with served(tmp_path / "releases.db") as target:
            found = await work(target)
        assert not target.forgot
        return found

    return asyncio.run(run())


def placed(requests, seed=3):
    """The requests, for streams that there are."""
    rng = random.Random(seed)
    for request in requests:
        parts, told = request.path.split(b"/"), request.operation.split("/")
        if "{name}" in told and len(parts) == len(told):
            parts[told.index("{name}")] = rng.choice(list(PLANS)).encode()
        yield replace(request, path=b"/".join(parts))


# The document -------------------------------------------------------------------------------


def test_the_document_is_openapi_3_1_and_every_operation_can_be_asked(generated):
    schema = schemathesis.openapi.from_dict(DOCUMENT)
    schema.validate()
    operations = {(request.method, request.operation) for request in generated}
    told = {(m.upper(), path) for path, ways in DOCUMENT["paths"].items() for m in ways}
    assert operations == told
    assert DOCUMENT["openapi"] == "3.1.0"


def test_what_is_no_openapi_is_not_taken_for_it():
    for change in ({"openapi": "3.1.0", "paths": 1}, {"paths": {"/": {"get": {"responses": 1}}}}):
        with pytest.raises(Exception, match="is not of type"):
            schemathesis.openapi.from_dict(DOCUMENT | change).validate()


def test_the_document_and_the_application_have_the_same_routes(tmp_path):
    async def routes(target):
        return {
            (method, route.path.replace(":path}", "}"))
            for route in target.app.routes
            if isinstance(route, Route)
            for method in route.methods - {"HEAD"}
        }

    told = {(m.upper(), path) for path, ways in DOCUMENT["paths"].items() for m in ways}
    assert inside(tmp_path, routes) == told


def test_the_examples_of_the_document_are_accepted(tmp_path):
    async def asked(target):
        found = {}
        for path, ways in DOCUMENT["paths"].items():
            for method, told in ways.items():
                content = told.get("requestBody", {}).get("content", {}).get("application/json")
                if content is not None:
                    sent = dict(content["example"])
                    if path in ("/v1/datasets", "/v1/streams"):  # those are there
                        sent["name"] = "another"
                    request = Request(
                        method.upper(), path.replace("{name}", "late").encode(), path,
                        headers=(KIND,), body=json.dumps(sent).encode(),
                    )  # fmt: skip
                    found[path] = (await target.ask(target.held(request, "admin"))).status
        return found

    assert inside(tmp_path, asked) == {
        "/v1/datasets": 201, "/v1/streams": 201, "/v1/streams/{name}/records": 200,
        "/v1/tokens": 201, "/v1/plan": 200,
    }  # fmt: skip


# Requests that are made from it -------------------------------------------------------------


def test_no_request_made_from_the_document_breaks_the_service(tmp_path, generated):
    async def asked(target):
        tally = Tally()
        for request in placed(generated):
            await tally.add(target, Marked(request), "admin")
        return tally.outcome(0.0)

    found = inside(tmp_path, asked)
    assert found.faults == ()
    assert found.clean
    assert found.requests == len(generated) > 150
    assert {200, 201, 400, 404, 409, 422} <= found.statuses.keys()


def test_nobody_passes_without_the_scope_whatever_is_sent(tmp_path, generated):
    async def asked(target):
        tally, before = Tally(), target.dump()
        for request in placed(generated):
            if target.declared.scope(request) is None or not request.routed:
                continue
            needed = target.declared.scope(request)
            for scope, status in (("", 401), ("wrong", 401), ("ingest", 403), ("read", 403)):
                if scope != needed:
                    answer = await tally.add(target, Marked(request), scope)
                    assert answer.status == status
        assert target.dump() == before
        return tally.outcome(0.0)

    found = inside(tmp_path, asked)
    assert found.faults == ()
    assert found.requests > 500


VALUES = ("mark{}ed", "73{}.5", ["mark{}ed"], {"mark{}ed": 1})


def marked(request):
    """The request once for each of its values and of ours, with ours in its place."""
    count = len(leaves_of(json.loads(request.body)))
    for number, (at, value) in enumerate(product(range(count), VALUES)):
        content = json.loads(request.body)
        holder, key = leaves_of(content)[at]
        text = json.dumps(value).replace("{}", f"{number:06d}")
        holder[key] = json.loads(text.strip('"') if "73" in text else text)
        body = json.dumps(content).encode()
        yield Marked(replace(request, body=body), (f"mark{number:06d}ed", f"73{number:06d}.5"))


def test_what_is_refused_changes_nothing_and_is_not_repeated(tmp_path):
    """Every value of a right request in turn is one that can be told from all others."""
    right = {(request.path, request.headers): request for request in examples()}

    async def asked(target):
        tally, dump = Tally(), target.dump()
        for request in right.values():
            for sent in marked(request) if request.headers == (KIND,) else ():
                answer = await tally.add(target, sent, "admin")
                now = target.dump()
                assert answer.status < 400 or now == dump
                dump = now
        return tally.outcome(0.0)

    found = inside(tmp_path, asked)
    assert found.faults == ()
    assert found.refused > 200


def test_lines_that_are_refused_are_not_repeated(tmp_path):
    async def asked(target):
        tally, before = Tally(), target.dump()
        for line in (
            b'"mark1"',
            b"mark1",
            b'{"mark1": 1}',
            b'[1, "mark1"]',
            b"1\nmark1\n1",
            b'"mark1',
        ):
            for query in (b"sender=a&sequence=1", b"sender=a&sequence=mark1", b"mark1=1", b""):
                request = Request(
                    "POST", b"/v1/streams/late/records", "/v1/streams/{name}/records",
                    query, (LINES,), line,
                )  # fmt: skip
                answer = await tally.add(target, Marked(request, ("mark1",)), "ingest")
                assert answer.status in (400, 422)
        assert target.dump() == before
        return tally.outcome(0.0)

    assert inside(tmp_path, asked).faults == ()


def test_a_few_hundred_broken_requests_leave_the_service_whole(generated):
    found = fuzzed(600, seed=2, given=generated)
    assert found.faults == ()
    assert found.clean
    assert found.requests == 600 == sum(found.classes.values())
    again = [fuzzed(60, seed=3, given=generated).statuses for _ in range(2)]
    assert again[0] == again[1]


# What the fuzzer must notice ----------------------------------------------------------------


async def _raises(service, request, caller):
    raise LookupError("mark")


async def _half_done(service, request, caller):
    await service.add_dataset("half done", PLAN.guarantee)
    raise Malformed("name must be another")


def _way(path, method="GET", **change):
    """The routes with one of them changed."""
    ways = tuple(
        replace(way, **change) if (way.path, way.method) == (path, method) else way
        for way in app.WAYS
    )
    return patch.object(app, "WAYS", ways)


def _more(account):
    return _budget(account) | {"more": 1}


_budget = handlers.budget
BUGS = {
    "a handler raises": ("failed", lambda: _way("/v1/streams", handler=_raises)),
    "an answer has a field more": ("undeclared", lambda: patch.object(handlers, "budget", _more)),
    "a route forgets its scope": ("unguarded", lambda: _way("/v1/streams", scope=None)),
    "a route asks too little": ("unguarded", lambda: _way("/v1/datasets", "POST", scope="read")),
    "a refusal repeats the value": (
        "leaks",
        lambda: patch.object(HushfadeError, "rule", property(str)),
    ),
    "a refusal comes late": ("changes", lambda: _way("/v1/datasets", "POST", handler=_half_done)),
    "a refusal has no code": (
        "undeclared",
        lambda: patch.dict(error_responses._KINDS, {Malformed: (400, "other")}),
    ),
}  # fmt: skip


@pytest.mark.parametrize("bug", [None, *BUGS])
def test_the_fuzzer_notices_a_seeded_bug(tmp_path, generated, bug):
    kind, seeded = BUGS.get(bug, (None, nullcontext))
    asked = [
        request
        for request in generated + examples()
        if request.operation in ("/v1/datasets", "/v1/streams") and b"plan" not in request.body
    ]

    async def work(target):
        tally, rng = Tally(), random.Random(1)
        for number, request in enumerate(asked * 4):
            marked = broken(request, rng, places=list(PLANS), number=number)
            for scope in ("admin", "read", ""):
                await tally.add(target, marked, scope)
        return tally

    with seeded():
        tally = inside(tmp_path, work)
    assert {what for what, count in tally.wrong.items() if count} >= ({kind} if kind else set())
    if kind is None:
        assert tally.faults == []


# What it has found --------------------------------------------------------------------------


@pytest.mark.parametrize("horizon", [None, 64])
def test_a_plan_that_would_take_minutes_is_refused(client, horizon):
    asked = {
        "decay": {"kind": "counting"}, "epsilon": 1, "delta": 1e-6, "horizon": horizon,
        "participations": 1000, "separation": 65536,
    }  # fmt: skip
    assert client.post("/v1/plan", asked).status_code == (422 if horizon is None else 200)
    made = hf.plan(hf.NoDecay(), PLAN.guarantee, method="unbounded")
    plan = json.loads(made.to_json())
    for times, apart in ((10**6, 1), (1000, 65536)):
        plan["guarantee"] |= {"participations": times, "separation": apart}
        found = client.post("/v1/streams", {"name": "a", "dataset": "clinics", "plan": plan})
        assert "participations must be at most" in found.json()["error"]


def test_a_length_of_a_step_is_short(client):
    plan = json.loads(PLAN.to_json())
    for every, status in (("1h" * 50, 201), ("1h" * 51, 400)):
        asked = {"name": f"a{status}", "dataset": "clinics", "plan": plan, "every": every}
        assert client.post("/v1/streams", asked).status_code == status


def test_senders_that_are_no_utf_8_are_not_taken_for_each_other(client):
    kind = {"Content-Type": "application/x-ndjson"}
    for sender in ("%ff", "%fe", "%ED%A0%80", "%EF%BF%BD", "a%ff"):
        path = f"/v1/streams/late/records?sender={sender}&sequence=1"
        assert client.request("POST", path, content=b"1\n", headers=kind).status_code == 400
    assert client.store.live("late").records == 0


def test_a_stream_that_has_ended_forgets_who_sent(client):
    client.send([1], sender="gate")
    assert client.store.live("late").senders
    client.request("DELETE", "/v1/streams/late")
    assert not client.store.live("late").senders
