import asyncio

import pytest

from hushfade.serve.error_responses import Refusal
from hushfade.serve.server_sent_events import Hub
from hushfade.serve.server_sent_events import events as stream_of
from tests.serve.client import Listener, events

PATH = "/v1/streams/late/events"


def steps(text):
    return [int(number) for number, kind, _ in events(text) if kind == "release"]


def test_a_listener_gets_every_release_as_it_is_made(client):
    client.close_step(1)
    listener = Listener(client, PATH)
    listener.until("retry: ")
    for step in (2, 3):
        released = client.close_step(step).json()
        found = events(listener.until(f"id: {step}\n"))[-1]
        assert found[:2] == (str(step), "release")
        assert found[2] == {k: v for k, v in released.items() if k != "stream"}
    assert listener.status == 200
    assert steps(listener.text) == [2, 3]
    listener.leave()
    assert client.service.hub._count == 0


@pytest.mark.parametrize("known", [0, 2, 5])
def test_a_listener_resumes_where_it_left_off(client, known):
    for step in range(1, 6):
        client.close_step(step)
    listener = Listener(client, PATH, [(b"last-event-id", str(known).encode())])
    listener.until("retry: ")
    client.close_step(6)
    assert steps(listener.until("id: 6\n")) == list(range(known + 1, 7))
    listener.leave()


def test_a_listener_that_missed_many_gets_them_in_pieces(client, monkeypatch):
    monkeypatch.setattr("hushfade.serve.server_sent_events.PIECE", 3)
    for step in range(1, 12):
        client.close_step(step)
    listener = Listener(client, PATH, [(b"last-event-id", b"0")])
    assert steps(listener.until("id: 11\n")) == list(range(1, 12))
    listener.leave()


def test_listeners_hear_of_their_own_stream_alone(client):
    listener = Listener(client, "/v1/streams/flights/events")
    listener.until("retry: ")
    client.close_step(1)
    client.close_step(1, "flights")
    text = listener.until("id: 1\n")
    assert len(events(text)[0][2]["value"]) == 3
    assert steps(text) == [1]
    listener.leave()


def test_the_end_of_a_stream_is_told_and_so_is_that_of_one_that_ended_before(client):
    client.close_step(1)
    listener = Listener(client, PATH)
    listener.until("retry: ")
    client.request("DELETE", "/v1/streams/late")
    listener.task.result(20)
    assert events(listener.text) == [(None, "end", {})]
    again = Listener(client, PATH, [(b"last-event-id", b"0")])
    again.task.result(20)
    assert [kind for _, kind, _ in events(again.text)] == ["release", "end"]


def test_a_stop_lets_every_listener_go(client):
    listeners = [Listener(client, PATH) for _ in range(3)]
    for listener in listeners:
        listener.until("retry: ")

    async def stop():
        client.service.release_listeners()

    client.run(stop())
    for listener in listeners:
        listener.task.result(20)


def test_a_quiet_connection_shows_that_it_stands(client):
    from hushfade.serve import server_sent_events as module

    async def quiet():
        service = client.service
        facts = service.registry.facts("late")
        lines = module.events(service.hub, service.registry, facts, 0, None, quiet=0.01)
        found = [await anext(lines), await anext(lines)]
        await lines.aclose()
        return found

    assert client.run(quiet()) == ["retry: 2000\n\n", ": quiet\n\n"]


def test_more_listeners_than_there_may_be_are_refused(client):
    client.service.hub._most = 1
    listener = Listener(client, PATH)
    listener.until("retry: ")
    found = client.get(PATH)
    assert (found.status_code, found.json()["code"]) == (503, "busy")
    listener.leave()

    async def direct():
        hub = Hub(most=0)
        with pytest.raises(Refusal), hub.listening("late"):
            pass
        await asyncio.sleep(0)

    client.run(direct())


@pytest.mark.parametrize("known", [b"x", b"-1", b"1.5", b"9" * 30])
def test_a_listener_that_says_no_step_is_refused(client, known):
    listener = Listener(client, PATH, [(b"last-event-id", known)])
    listener.task.result(20)
    assert listener.status == 400


def test_a_head_request_has_no_events(client):
    assert client.request("HEAD", PATH).status_code == 200


def test_a_listener_is_let_go_where_nothing_can_be_read(client):
    from hushfade.errors import Failed

    for step in (1, 2, 3):
        client.close_step(step)

    def fail(*_, **__):
        raise Failed("the database cannot be read")

    client.store.releases = fail
    listener = Listener(client, PATH, [(b"last-event-id", b"0")])
    listener.task.result(20)
    assert (listener.status, steps(listener.text)) == (200, [])


def test_one_who_reads_slowly_hears_nothing_after_the_token_is_revoked(client):
    for step in range(1, 6):
        client.close_step(step)
    allowed = [True]

    async def read(last):
        return client.service.releases("late", after=last, most=100)

    async def heard():
        service = client.service
        facts = service.registry.facts("late")
        lines = stream_of(service.hub, service.registry, facts, 0, read, may=lambda: allowed[0])
        found = [await anext(lines), await anext(lines), await anext(lines)]
        allowed[0] = False
        return found, [line async for line in lines]

    before, after = client.run(heard())
    assert [line.split("\n")[0] for line in before] == ["retry: 2000", "id: 1", "id: 2"]
    assert after == []
