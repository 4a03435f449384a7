import asyncio
from threading import Event

import pytest

from hushfade.serve import limits
from hushfade.serve.error_responses import Refusal
from hushfade.serve.limits import Limits
from hushfade.serve.server_sent_events import Events, Hub, Subscription
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
    assert client.service.hub.count == 0


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


def made(client, after=0, read=None, **more):
    """The events of the stream, as pieces."""
    service = client.service
    asked = Subscription(service.registry.facts("late"), after)
    return Events(service.hub, service.registry, service.shared, asked, read, **more)


def test_a_quiet_connection_shows_that_it_stands(client):
    async def quiet():
        with client.service.hub.listening("late") as listener:
            lines = made(client, quiet=0.01).pieces(listener)
            found = [await anext(lines), await anext(lines)]
            await lines.aclose()
            return found

    assert client.run(quiet()) == [b"retry: 2000\n\n", b": quiet\n\n"]


def test_an_event_is_serialised_once_for_all_its_listeners(client):
    listeners = [Listener(client, "/v1/streams/flights/events") for _ in range(5)]
    some = [Listener(client, "/v1/streams/flights/events?key=de&key=at") for _ in range(3)]
    for listener in listeners + some:
        listener.until("retry: ")
    before = client.service.shared.count
    released = client.close_step(1, "flights").json()
    for listener in listeners:
        assert events(listener.until("id: 1\n"))[0][2]["value"] == released["value"]
    for listener in some:
        found = events(listener.until("id: 1\n"))[0][2]["value"]
        assert found == [released["value"][2], released["value"][0]]
    assert client.service.shared.count == before + 2  # one for each selection
    for listener in listeners + some:
        listener.leave()


def test_a_listener_that_does_not_read_is_dropped_by_the_bytes_that_wait_for_it():
    async def told():
        hub = Hub(Limits(listener=1 << 20))
        with hub.listening("wide") as slow, hub.listening("wide", scale=0.001) as small:
            for _ in range(3):
                hub.tell("wide", 600_000)
                small.owed = 0  # it reads
            return slow.slow.is_set(), small.slow.is_set(), hub.dropped

    assert asyncio.run(told()) == (True, False, 1)


def test_one_event_above_the_limit_is_still_sent():
    async def told():
        hub = Hub(Limits(listener=1 << 20))
        with hub.listening("wide") as listener:
            hub.tell("wide", 5 << 20)
            return listener.slow.is_set()

    assert not asyncio.run(told())


def test_a_dropped_listener_is_cut_and_resumes_from_the_store(client):
    cut = []
    listener = Listener(client, PATH)
    listener._scope["hushfade.abort"] = lambda: cut.append(True)
    listener.until("retry: ")

    async def slow():
        (found,) = client.service.hub._listeners["late"]
        found.slow.set()

    client.run(slow())
    listener.task.result(20)
    assert cut == [True]
    client.close_step(1)
    again = Listener(client, PATH, [(b"last-event-id", b"0")])
    assert steps(again.until("id: 1\n")) == [1]
    again.leave()


def test_a_subscription_selects_keys_that_exist(client):
    for path in ("/v1/streams/flights/events?key=xx", "/v1/streams/late/events?key=at"):
        assert client.get(path).status_code in (400, 422)


def test_more_listeners_than_there_may_be_are_refused(client):
    client.service.hub._limits = Limits(listeners=1)
    listener = Listener(client, PATH)
    listener.until("retry: ")
    found = client.get(PATH)
    assert (found.status_code, found.json()["code"]) == (503, "busy")
    listener.leave()

    async def direct():
        hub = Hub(Limits(listeners=0))
        with pytest.raises(Refusal), hub.listening("late"):
            pass
        await asyncio.sleep(0)

    client.run(direct())


def test_a_caller_takes_only_its_share_of_the_listeners_and_gets_it_back():
    hub = Hub(Limits(listeners=5, listeners_each=2))
    with hub.listening("late", caller="a"), hub.listening("late", caller="a"):
        with pytest.raises(Refusal), hub.listening("late", caller="a"):
            pass
        with hub.listening("late", caller="b"):
            assert (hub.count, hub.full("a"), hub.full("b")) == (3, True, False)
    assert (hub.count, hub.full("a"), dict(hub._callers)) == (0, False, {})


def test_readers_behind_a_declared_proxy_have_a_share_each(make):
    limits = Limits(listeners_each=1)
    client = make(scopes=("admin",), public=True, proxies=["127.0.0.1"], limits=limits)
    first = Listener(client, PATH, [(b"x-forwarded-for", b"2001:db8::1")])
    first.until("retry: ")
    for address, status in (("2001:db8::2", 503), ("2001:db8:0:1::2", 200), ("192.0.2.7", 200)):
        found = client.request("HEAD", PATH, headers={"X-Forwarded-For": address})
        assert found.status_code == status, address
    first.leave()


def test_live_events_do_not_wait_for_history_that_cannot_be_read(client, monkeypatch):
    """The database hangs, and more readers of the past wait for it than there are threads."""
    for step in (1, 2, 3):
        client.close_step(step)
    hangs, reading = Event(), client.service.reads.releases
    client.service.reads.releases = lambda *a, **b: hangs.wait(20) and reading(*a, **b)
    late = [Listener(client, PATH, [(b"last-event-id", b"0")]) for _ in range(50)]
    path = "/v1/streams/late/releases"
    others = [client.start(client.requested("GET", path)) for _ in range(50)]
    with monkeypatch.context() as large:
        large.setattr(limits, "SMALL", 0)
        others += [client.start(client.requested("GET", path)) for _ in range(4)]

        async def hanging():
            while client.service.formatting.available_tokens:
                await asyncio.sleep(0)

        client.run(hanging())
    live = Listener(client, PATH)
    live.until("retry: ")
    try:
        assert client.close_step(4).status_code == 200
        assert steps(live.until("id: 4\n")) == [4]
        assert client.get("/v1/streams").status_code == 200
        assert client.get("/v1/streams/late/releases?last=1").status_code == 200
    finally:
        hangs.set()
    for listener in late:
        assert steps(listener.until("id: 4\n")) == [1, 2, 3, 4]
    assert {one.result(20).status_code for one in others} == {200}
    for listener in (*late, live):
        listener.leave()


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

    client.service.reads.releases = fail
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
        with client.service.hub.listening("late") as listener:
            lines = made(client, read=read, may=lambda: allowed[0]).pieces(listener)
            found = [await anext(lines), await anext(lines), await anext(lines)]
            allowed[0] = False
            return found, [line async for line in lines]

    before, after = client.run(heard())
    assert [line.decode().split("\n")[0] for line in before] == ["retry: 2000", "id: 1", "id: 2"]
    assert after == []
