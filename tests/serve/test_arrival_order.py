"""A batch belongs to the step that is open when its last byte arrives, however slow others are."""

import asyncio
import json
from threading import Event

import pytest

from hushfade.serve import batches
from hushfade.serve.arrival_order import Interval
from hushfade.store.live_streams import Live
from tests.serve.client import PLAN
from tests.serve.test_schedule import HOUR, NOON, Clock, added

PADDING = " " * 5000  # a body that is not parsed at once
LARGE = " " * 70_000


class Parser:
    """Parses bodies, those of the sender 'slow' when it is let go on."""

    def __init__(self, parse):
        self._parse, self.began, self.go_on = parse, Event(), Event()

    def __call__(self, facts, kind, body, query):
        if b'"slow' in body:
            self.began.set()
            assert self.go_on.wait(20)
        return self._parse(facts, kind, body, query)


@pytest.fixture
def parser(monkeypatch):
    found = Parser(batches.batch)
    monkeypatch.setattr(batches, "batch", found)
    yield found
    found.go_on.set()


@pytest.fixture
def closed(monkeypatch):
    """How many records each step had that was closed."""
    counts, close = [], Live.close

    def counted(self, database, moment):
        counts.append(self.records)
        return close(self, database, moment)

    monkeypatch.setattr(Live, "close", counted)
    return counts


def sending(client, sender, count, *, stream="late", padding=""):
    """The future of the answer to a batch of ones."""
    content = {"sender": sender, "sequence": 0, "records": [1] * count}
    headers = {"Content-Type": "application/json"}
    path = f"/v1/streams/{stream}/records"
    body = json.dumps(content) + padding
    return client.start(client.requested("POST", path, content=body, headers=headers))


def closing(client, step):
    """The future of a closing that the service has begun."""
    future = client.start(client.requested("POST", f"/v1/streams/late/steps/{step}/close"))

    async def begun():
        while not (client.service._closing["late"] or future.done()):
            await asyncio.sleep(0.001)

    client.run(begun())
    return future


def scenario(client, parser, *, waits):
    """Slow and quick batches before the first closing, one after it, and a second closing."""
    slow = sending(client, "slow", 1, padding=PADDING)
    assert parser.began.wait(20)
    assert sending(client, "b", 10).result(20).json() == {"status": "accepted", "records": 10}
    first = closing(client, 1)
    if not waits:
        assert first.result(20).status_code == 200
    after = sending(client, "c", 100)
    parser.go_on.set()
    for future in (slow, first, after):
        assert future.result(20).status_code == 200
    assert client.close_step(2).status_code == 200


def test_a_body_that_is_slow_to_parse_moves_no_batch_to_another_step(client, parser, closed):
    scenario(client, parser, waits=True)
    assert closed == [11, 100]


def test_the_test_notices_a_closing_that_overtakes_a_batch(client, parser, closed, monkeypatch):
    """The bug: a batch counts in the step that was open when it was parsed."""

    async def at_once(self):
        pass

    monkeypatch.setattr(Interval, "over", at_once)
    scenario(client, parser, waits=False)
    assert closed == [10, 101]


def test_a_body_that_is_slow_to_arrive_delays_no_batch_and_no_closing(client, closed):
    rest = asyncio.Event()
    begun = Event()

    async def pieces():
        content = json.dumps({"sender": "slow", "sequence": 0, "records": [1]}).encode()
        yield content[:10]
        begun.set()
        await rest.wait()
        yield content[10:]

    headers = {"Content-Type": "application/json"}
    path = "/v1/streams/late/records"
    slow = client.start(client.requested("POST", path, content=pieces(), headers=headers))
    assert begun.wait(20)
    assert sending(client, "b", 10).result(20).status_code == 200
    assert client.close_step(1).json()["step"] == 1
    assert not slow.done()

    async def go_on():
        rest.set()

    client.run(go_on())
    assert slow.result(20).json() == {"status": "accepted", "records": 1}
    client.close_step(2)
    assert closed == [10, 1]


def test_a_batch_may_name_the_step_that_opens_when_a_closing_is_under_way(client, parser, closed):
    slow = sending(client, "slow", 1, padding=PADDING)
    assert parser.began.wait(20)
    first = closing(client, 1)
    named, late = (
        client.start(
            client.requested(
                "POST",
                "/v1/streams/late/records",
                json={"sender": f"for {step}", "sequence": 0, "records": [1, 1], "step": step},
            )
        )
        for step in (2, 1)
    )
    parser.go_on.set()
    assert slow.result(20).status_code == first.result(20).status_code == 200
    assert named.result(20).json()["status"] == "accepted"
    assert late.result(20).json()["status"] == "late"
    client.close_step(2)
    assert closed == [1, 2]
    assert client.send([1], 1, step=4).status_code == 409


def test_a_closing_that_is_asked_for_twice_closes_once(client, parser, closed):
    sending(client, "slow", 1, padding=PADDING)
    assert parser.began.wait(20)
    first, again = closing(client, 1), closing(client, 1)
    parser.go_on.set()
    assert first.result(20).content == again.result(20).content
    assert closed == [1]


def test_a_refused_body_lets_the_closing_go_on(client, parser, closed):
    slow = sending(client, "slow", 1, padding=PADDING + "x")
    assert parser.began.wait(20)
    first = closing(client, 1)
    parser.go_on.set()
    assert slow.result(20).status_code == 400
    assert first.result(20).status_code == 200
    assert closed == [0]


def test_no_stream_waits_for_the_closing_of_another(make, parser, closed, monkeypatch):
    monkeypatch.setattr("hushfade.serve.schedule.Schedule._pause", lambda self: 10**6)
    clock = Clock()
    client = make(clock=clock)
    for name in ("first", "second"):
        added(client, name, PLAN, every="1h")
    sending(client, "slow", 1, stream="first", padding=PADDING)
    assert parser.began.wait(20)
    clock.now = NOON + HOUR

    async def both():
        await client.service.schedule.round()
        assert client.service.registry.step("second") == 1
        assert client.service.registry.step("first") == 0
        clock.now = NOON + 2 * HOUR
        await client.service.schedule.round()  # closes the next step of the second alone
        assert client.service.registry.step("second") == 2
        parser.go_on.set()
        await client.service.schedule._waiting["first"]
        await client.service.schedule.round()
        return client.service.registry.step("first")

    assert client.run(both()) == 2
    assert closed == [0, 0, 1, 0]


def test_no_small_body_waits_for_large_ones(client, parser):
    slow = [sending(client, f"slow {n}", 1, padding=LARGE) for n in range(3)]
    assert parser.began.wait(20)
    assert sending(client, "b", 1, padding=PADDING).result(20).status_code == 200
    parser.go_on.set()
    assert [future.result(20).status_code for future in slow] == [200] * 3
