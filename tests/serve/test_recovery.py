"""A store that fails while it is served: reads go on, changes wait, and nothing is repeated."""

import asyncio
import contextlib
import os
import signal
from threading import Event

import psycopg
import pytest

import hushfade as hf
from hushfade.errors import Failed
from hushfade.serve import recovery
from hushfade.store import Store, fail_points, reopening
from hushfade.store.statement_deadline import Deadline
from tests.serve.client import PLAN, UNIT, Listener, events
from tests.store.test_statement_deadline import ENDLESS

SEED = 7


@pytest.fixture(autouse=True)
def _repeatable(monkeypatch):
    name = "hushfade.crossing.noise_sources.FreshNoise"
    monkeypatch.setattr(name, lambda: hf.UnsafeSeededNoise(SEED))
    monkeypatch.setattr(recovery, "FIRST", 10**6)  # it reconnects when the test says so
    monkeypatch.setattr(recovery, "LOOK", 10**6)


def full(monkeypatch, client, sql="COMMIT"):
    """From now on the disk is full; the old writing function is returned."""
    write = type(client.store._database).write

    def failing(self, statement, *values):
        if statement.startswith(sql):
            raise Failed("the database cannot be written: the disk is full; nothing was published")
        write(self, statement, *values)

    patch = pytest.MonkeyPatch()
    patch.setattr(type(client.store._database), "write", failing)
    return patch


def repair(client):
    client.run(client.service.recovery.attempt())


def test_with_a_full_disk_reads_go_on_and_the_service_is_not_ready(start, monkeypatch):
    client = start()
    client.send([1])
    first = client.close_step(1).content
    assert client.get("/ready").status_code == 200
    disk = full(monkeypatch, client)
    for answer in (client.close_step(2), client.send([1], 2), client.get("/ready")):
        assert (answer.status_code, answer.json()["code"]) == (503, "stopped")
        assert answer.headers["retry-after"]
    with pytest.raises(Failed, match="full"):
        repair(client)  # still full
    assert client.get("/ready").status_code == 503
    for path in ("/v1/streams/late/releases", "/v1/streams", "/v1/datasets", "/health", "/metrics"):
        assert client.get(path).status_code == 200, path
    assert "hushfade_store_available 0\n" in client.get("/metrics").text
    disk.undo()
    repair(client)
    assert client.get("/ready").status_code == 200
    assert client.close_step(1).content == first
    assert client.send([1, 1], 2).json()["status"] == "accepted"
    assert client.close_step(2).status_code == 200
    expected = PLAN.start(hf.UnsafeSeededNoise(SEED)).run([1.0, 2.0])
    found = client.get("/v1/streams/late/releases").json()["releases"]
    assert [one["value"] for one in found] == expected.tolist()
    client.store.verify()


def test_what_was_committed_without_an_answer_is_published_once_with_the_same_bytes(start):
    client = start()
    client.send([1])
    listener = Listener(client, "/v1/streams/late/events")
    listener.until("retry: ")

    def lost(*_):
        raise OSError(5, "lost")

    patch = pytest.MonkeyPatch()
    patch.setattr(client.store._mark, "write", lost)
    assert client.close_step(1).status_code == 503
    assert client.get("/v1/streams/late/releases").json()["releases"] == []  # not published
    patch.undo()
    repair(client)
    (told,) = events(listener.until("id: 1\n"))
    listener.leave()
    (read,) = client.get("/v1/streams/late/releases").json()["releases"]
    assert told[2] == read
    again = client.close_step(1).json()
    assert {x: again[x] for x in read} == read
    assert len(client.store.releases("late")) == 1


def test_a_batch_without_an_answer_is_sent_again_and_counts_once(start):
    client = start()
    disk = full(None, client)
    assert client.send([1, 1]).status_code == 503
    disk.undo()
    repair(client)
    for _ in range(2):
        assert client.send([1, 1]).json()["status"] == "accepted"
    assert client.totals() == [2 * UNIT]


def test_an_unexpected_error_in_a_transaction_is_noticed_at_once(start, monkeypatch):
    """The store has stopped, although the error is none of a database."""
    client = start()

    def broken(name):
        if name == "before commit":
            raise MemoryError

    with monkeypatch.context() as failing:
        failing.setattr(fail_points, "reached", broken)
        assert client.send([1]).status_code == 500
    assert client.get("/ready").status_code == 503
    repair(client)
    assert client.get("/ready").status_code == 200
    assert client.send([1]).json()["status"] == "accepted"
    assert client.totals() == [UNIT]


def test_a_store_that_works_again_is_found_without_being_asked(make, monkeypatch):
    monkeypatch.setattr(recovery, "FIRST", 0.01)
    monkeypatch.setattr(recovery, "LOOK", 0.01)
    client = make()
    disk = full(None, client)
    assert client.close_step(1).status_code == 503
    disk.undo()

    async def repaired():
        while client.service.writer.failed:
            await asyncio.sleep(0.005)

    client.run(repaired())
    assert client.close_step(1).status_code == 200


def test_a_service_that_stops_does_not_wait_for_the_checks_of_a_reconnection(make, monkeypatch):
    client = make()
    disk = full(None, client)
    assert client.send([1]).status_code == 503
    disk.undo()
    checking = Event()

    def endless(database):
        database._deadline = Deadline(database._connection.interrupt, 25)
        checking.set()
        database.read(ENDLESS)

    monkeypatch.setattr(reopening, "_try_out", endless)
    attempt = client.start(client.service.recovery.attempt())
    assert checking.wait(20)
    client.stop()
    assert isinstance(attempt.exception(20), Failed)
    with contextlib.closing(Store.open(client.store._where)) as store:  # the lock is released
        assert store.live("late").totals.tolist() == [0]
    assert client.service.writer.failed


def test_a_reconnection_that_is_given_up_leaves_no_lock(place, start, monkeypatch):
    client = start()
    disk = full(None, client)
    assert client.send([1]).status_code == 503
    disk.undo()
    writer = client.service.writer

    def given_up(database):
        writer._given_up.set()
        database.read("SELECT 1")

    monkeypatch.setattr(reopening, "_try_out", given_up)
    with pytest.raises(Failed, match="given up"):
        repair(client)
    client.stop()
    assert place.open().live("late").totals.tolist() == [0]


def test_who_asks_whether_it_is_ready_asks_the_database_and_many_share_one_question(client):
    asked = []
    client.store.ping = lambda: asked.append(1)

    async def many():
        client.service.recovery._answered = -10.0
        check = client.service.recovery.check
        await asyncio.gather(*(check() for _ in range(20)))

    client.run(many())
    assert asked == [1]
    client.run(many())
    assert asked == [1, 1]


def test_a_database_that_does_not_respond_is_not_ready(client, monkeypatch):
    monkeypatch.setattr(recovery, "PATIENCE", 0.05)
    client.run(_forget(client))
    with client.store._turn:
        found = client.get("/ready")
        assert (found.status_code, found.json()["error"]) == (503, "the database does not respond")
        assert client.get("/health").status_code == 200
    assert client.get("/ready").status_code in (200, 503)


async def _forget(client):
    client.service.recovery._answered = -10.0


@pytest.mark.parametrize("place", ["postgres"], indirect=True)
def test_a_stopped_server_process_leads_to_503_and_nothing_is_lost_or_repeated(
    start, place, monkeypatch
):
    """The process of the writer's connection is stopped, so that nothing answers or ends."""
    monkeypatch.setattr("hushfade.store.statement_deadline.Deadline.__init__.__defaults__", (0.3,))
    client = start()
    client.send([1])
    first = client.close_step(1).content
    process = client.store._database._connection.info.backend_pid
    os.kill(process, signal.SIGSTOP)
    try:
        client.run(_forget(client))
        for answer in (client.send([1, 1], 2), client.get("/ready")):
            assert answer.status_code == 503
        assert client.get("/v1/streams/late/releases").status_code == 200  # another process
        with pytest.raises(Exception, match=r"another process writes|not respond"):
            repair(client)  # the stopped process still has the lock
    finally:
        os.kill(process, signal.SIGCONT)
    with psycopg.connect(place.where, autocommit=True) as other:
        while other.execute(
            "SELECT 1 FROM pg_stat_activity WHERE pid = %s", (process,)
        ).fetchone():  # until the server has noticed that the connection is gone
            pass
    repair(client)
    assert client.close_step(1).content == first
    assert client.send([1, 1], 2).json()["status"] == "accepted"
    assert client.totals() == [2 * UNIT]
    assert client.close_step(2).status_code == 200
    client.store.verify()
