"""The main laws of the service, on SQLite and on PostgreSQL."""

import json

import psycopg
import pytest

import hushfade as hf
from hushfade.store.tokens import SCOPES
from tests.serve.client import ONE, PLAN, PLANS, UNIT, Listener, events

SEED = 7
TOTALS = [2.0, 0.0, 5.0, 1.0]


@pytest.fixture(autouse=True)
def _repeatable(monkeypatch):
    monkeypatch.setattr(
        "hushfade.crossing.noise_sources.FreshNoise", lambda: hf.UnsafeSeededNoise(SEED)
    )


def released(client, stream="late"):
    return client.get(f"/v1/streams/{stream}/releases").json()["releases"]


def test_what_is_sent_over_http_is_released_bit_for_bit_as_by_a_stream(start):
    client = start()
    for step, total in enumerate(TOTALS, start=1):
        assert client.send([1] * int(total), step).json()["status"] == "accepted"
        assert client.close_step(step).status_code == 200
    expected = PLAN.start(hf.UnsafeSeededNoise(SEED)).run(TOTALS)
    assert [x["value"] for x in released(client)] == expected.tolist()


def test_a_service_that_is_started_again_after_each_change_goes_on_with_the_same_bits(start):
    start()
    for step, total in enumerate(TOTALS, start=1):
        start().send([1] * int(total), step)
        start().close_step(step)
    expected = PLAN.start(hf.UnsafeSeededNoise(SEED)).run(TOTALS)
    client = start()
    assert [x["value"] for x in released(client)] == expected.tolist()
    assert client.store.verify() == 1 + len(PLANS) + len(TOTALS)


def test_a_batch_that_is_sent_again_counts_once_after_a_restart_too(start):
    client = start()
    keyed = [{"key": "at"}, {"key": "de", "value": 0.5}]
    for _ in range(2):
        assert client.send(keyed, 5, stream="flights").json()["status"] == "accepted"
    client = start()
    assert client.send(keyed, 5, stream="flights").json()["status"] == "accepted"
    assert client.totals("flights") == [UNIT, 0, UNIT // 2]
    assert client.send(keyed, 5, stream="flights", sender="b").json()["status"] == "accepted"
    assert client.totals("flights") == [2 * UNIT, 0, UNIT]


def test_records_of_a_closed_step_are_late_after_a_restart_too(start):
    start().close_step(1)
    client = start()
    assert client.send([1, 1], 1, step=1).json() == {"status": "late", "records": 2}
    assert client.send([1], 2, step=2).json()["status"] == "accepted"
    assert client.send([1], 3, step=3).status_code == 409
    private = start().get("/v1/streams/late").json()["not_for_publication"]
    assert private == {"late": 2, "repeated": 0, "open_records": 1}


def test_a_step_that_is_closed_again_gives_the_same_bytes_after_a_restart_too(start):
    client = start()
    client.send([1])
    first, second = client.close_step(1).content, client.close_step(2).content
    client = start()
    assert client.close_step(1).content == first
    assert client.close_step(2).content == second
    assert client.close_step(4).status_code == 409
    assert len(client.store.releases("late")) == 2


def test_a_budget_is_not_overspent_after_a_restart_either(start):
    client = start(plans={})
    made = client.post("/v1/datasets", {"name": "d", "epsilon": 1, "delta": 1e-6})
    assert made.status_code == 201
    stream = {"name": "s", "dataset": "d", "plan": json.loads(PLAN.to_json())}
    assert client.post("/v1/streams", stream).status_code == 201
    for _ in range(2):
        refused = client.post("/v1/streams", stream | {"name": "t"})
        assert (refused.status_code, refused.json()["code"]) == (409, "refused")
        (account,) = client.get("/v1/datasets").json()
        assert account["spent"] == pytest.approx(ONE.mu)
        assert account["left"] == 0
        client = start()


def test_a_listener_resumes_after_a_restart_where_it_left_off(start):
    client = start()
    for step in (1, 2, 3):
        client.close_step(step)
    client = start()
    listener = Listener(client, "/v1/streams/late/events", [(b"last-event-id", b"1")])
    listener.until("id: 3")
    client.close_step(4)
    told = events(listener.until("id: 4"))
    listener.leave()
    assert [int(number) for number, _, _ in told] == [2, 3, 4]
    assert [data for _, _, data in told] == released(client)[1:]


def test_a_stream_that_ended_has_ended_after_a_restart(start):
    client = start()
    client.close_step(1)
    assert client.request("DELETE", "/v1/streams/late").status_code == 200
    client = start()
    assert client.send([1]).status_code == 409
    assert client.get("/v1/streams/late").json()["ended"]
    assert len(released(client)) == 1


def test_a_token_opens_after_a_restart(start):
    held = start(scopes=SCOPES).tokens
    client = start()
    client.tokens = held
    assert client.get("/v1/streams").status_code == 401
    assert client.get("/v1/streams", as_="read").status_code == 200
    assert client.request("DELETE", "/v1/streams/late", as_="read").status_code == 403


@pytest.mark.parametrize("place", ["postgres"], indirect=True)
def test_a_server_that_is_gone_stops_the_service_and_nothing_is_published(start, place):
    client = start()
    client.send([1])
    first = client.close_step(1).content
    with psycopg.connect(place.where, autocommit=True) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    for answer in (client.close_step(2), client.send([1], 2), client.get("/ready")):
        assert answer.status_code == 503
        assert answer.headers["retry-after"]
    client = start()
    assert client.close_step(1).content == first
    assert client.send([1], 2).json()["status"] == "accepted"
    assert client.close_step(2).status_code == 200
    assert client.store.verify() == 1 + len(PLANS) + 2
