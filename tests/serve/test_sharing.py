"""What one reader asks for does not use up the threads and the memory of others."""

from threading import Lock
from time import sleep

import pytest

import hushfade as hf
from hushfade.errors import Failed
from hushfade.serve import key_selection, limits, read_access, server_sent_events
from hushfade.serve.read_access import ReadAccess
from tests.serve.client import KEYED, ONE, Listener, events

MEANS = hf.plan(
    hf.Exponential(half_life=3), ONE, statistic=hf.Mean(low=0, high=1), keys=["at", "ch"]
)


def test_large_texts_that_hardly_anyone_asks_for_are_not_kept_for_all(make, monkeypatch):
    """Readers could ask for any number of minimum counts, each a text of its own."""
    monkeypatch.setattr(limits, "SMALL", 0)
    monkeypatch.setattr(server_sent_events, "SMALL", 0)
    client = make(plans={"means": MEANS})
    usual = Listener(client, "/v1/streams/means/events")
    own = [Listener(client, f"/v1/streams/means/events?suppress_below=-{n}") for n in range(1, 4)]
    for listener in (usual, *own):
        listener.until("retry: ")
    client.close_step(1, "means")
    for listener in (usual, *own):
        assert [kind for _, kind, _ in events(listener.until("id: 1\n"))] == ["release"]
        listener.leave()
    path = "/v1/streams/means/releases?last=1"
    for query in ("", "&suppress_below=-1", "&suppress_below=-2", "&key=at", ""):
        assert len(client.get(path + query).json()["releases"]) == 1
    assert client.service.shared.count == 2  # the usual event, and the usual response


def test_many_searches_do_not_take_all_threads(make, monkeypatch):
    """Threads that compute delay the event loop, and with it /health."""
    client = make(plans={"flights": KEYED})
    turn, now, most, page = Lock(), [], [], key_selection.page

    def searched(*given):
        with turn:
            now.append(1)
            most.append(len(now))
        sleep(0.01)
        with turn:
            now.pop()
        return page(*given)

    monkeypatch.setattr(key_selection, "page", searched)
    path = "/v1/streams/flights/keys?search=a"
    asked = [client.start(client.requested("GET", path)) for _ in range(20)]
    assert {one.result(20).status_code for one in asked} == {200}
    assert max(most) == 2


class Hanging:
    """A store whose database does not respond."""

    def __init__(self):
        self.tried = 0

    def reader(self):
        self.tried += 1
        raise Failed("the server does not respond")


def test_readers_do_not_wait_one_after_the_other_for_a_database_that_hangs(monkeypatch):
    store = Hanging()
    access = ReadAccess(store)
    for _ in range(5):
        with pytest.raises(Failed, match="the server does not respond"):
            access.releases("late", after=0, most=1)
    assert store.tried == 1
    monkeypatch.setattr(read_access, "monotonic", lambda: access._again)
    with pytest.raises(Failed):
        access.accounts()
    assert store.tried == 2
