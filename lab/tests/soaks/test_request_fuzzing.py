"""Well-formed requests from the document, and malformed requests: none breaks the service."""

import asyncio
import json
import random
from contextlib import nullcontext
from dataclasses import replace
from itertools import product
from unittest.mock import patch

import pytest

from hushfade.errors import HushfadeError, Malformed
from hushfade.serve import app, error_responses, handlers, openapi
from lab.soaks.http_answers import Request
from lab.soaks.request_cases import LINES, Marked, broken, leaves_of, made
from lab.soaks.request_fuzzing import Tally, examples, fuzzed
from lab.soaks.watched_service import ONE, PLANS, served

DOCUMENT = openapi.openapi()
KIND = (b"content-type", b"application/json")


@pytest.fixture(scope="module")
def generated():
    """Requests of every operation, some that fit the document and some that do not."""
    return made(DOCUMENT, 6, number=7)


def inside(tmp_path, work):
    """The result of the work on a service within an event loop."""

    async def run():
        async with served(tmp_path / "releases.db") as target:
            found = await work(target)
        assert not target.forgot
        return found

    return asyncio.run(run())


def placed(requests, seed=3):
    """The requests, with names of existing streams."""
    rng = random.Random(seed)
    for request in requests:
        parts, told = request.path.split(b"/"), request.operation.split("/")
        if "{name}" in told and len(parts) == len(told):
            parts[told.index("{name}")] = rng.choice(list(PLANS)).encode()
        yield replace(request, path=b"/".join(parts))


# Requests that are made from the document ----------------------------------------------------


def test_every_operation_of_the_document_is_asked(generated):
    operations = {(request.method, request.operation) for request in generated}
    documented = {(m.upper(), path) for path, ways in DOCUMENT["paths"].items() for m in ways}
    assert operations == documented


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
    """The request with one of its values replaced, for each of its values and each of ours."""
    count = len(leaves_of(json.loads(request.body)))
    for number, (at, value) in enumerate(product(range(count), VALUES)):
        content = json.loads(request.body)
        holder, key = leaves_of(content)[at]
        text = json.dumps(value).replace("{}", f"{number:06d}")
        holder[key] = json.loads(text.strip('"') if "73" in text else text)
        body = json.dumps(content).encode()
        yield Marked(replace(request, body=body), (f"mark{number:06d}ed", f"73{number:06d}.5"))


def test_what_is_refused_changes_nothing_and_is_not_repeated(tmp_path):
    """Well-formed requests, each with one value replaced by a unique one."""
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


# Faults that the fuzzer must find -----------------------------------------------------------


async def _raises(service, request, caller):
    raise LookupError("mark")


async def _half_done(service, request, caller):
    await service.add_dataset("half done", ONE)
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
