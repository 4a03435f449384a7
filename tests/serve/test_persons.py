"""Limits per person over HTTP: the first records of a person count, and no response shows which."""

import json
import random
from collections import Counter

import numpy as np

import hushfade as hf
from hushfade.cli import stored_releases
from hushfade.cli.options.run import RunOutputOptions
from hushfade.serve.registry import shown
from hushfade.serve.writer import _Job
from hushfade.store import Batch
from hushfade.store.persons import Enforced

WITHIN = hf.Person(within=4, records_per_step=2)
LINES = {"Content-Type": "application/x-ndjson"}
ACCEPTED = '{"status":"accepted","records":3}'


def added(client, name, unit=WITHIN, *, every=None, limits=None, **planned):
    guarantee = hf.Guarantee(1, 1e-6, protects=unit)
    client.store.add_dataset(name, guarantee)
    plan = hf.plan(hf.SlidingWindow(length=3), guarantee, every=every, **planned)
    body = {"name": name, "dataset": name, "plan": json.loads(plan.to_json())}
    body |= {} if every is None else {"every": every}
    return client.post("/v1/streams", body | ({} if limits is None else {"limits": limits}))


def total(client, name="p"):
    live = client.store.live(name)
    return float(live.totals.sum() * live.plan.grid.resolution)


def test_totals_equal_an_independent_count_and_a_retry_counts_once(make):
    client = make(plans={})
    told = added(client, "p").json()
    assert told["limits"] == (
        "hushfade counts the first records of each person: at most 2 records per step."
    )
    assert "any one person's records from any" in told["guarantee"]
    chance, counted = random.Random(3), Counter()
    for sequence in range(12):
        users = [f"u{chance.randrange(5)}" for _ in range(3)]
        counted.update(users)
        records = [{"user": user} for user in users]
        answers = {client.send(records, sequence, stream="p").text for _ in range(2)}
        assert answers == {ACCEPTED}  # also if no record counts
        assert total(client) == sum(min(2, count) for count in counted.values())
    private = client.get("/v1/streams/p").json()["not_for_publication"]
    assert private["over_limit"] == 36 - total(client)
    client.close_step(1, "p")
    body = b'{"user": "u1"}\n' * 3
    sent = client.request(
        "POST", "/v1/streams/p/records?sender=b&sequence=0", content=body, headers=LINES
    )
    assert (sent.text, total(client)) == (ACCEPTED, 2)


def test_keys_vectors_and_statistics_have_users_too(make):
    client = make(plans={})
    cases = {
        "keys": ({"keys": ["at", "de"]}, {"key": "de"}),
        "vectors": ({"width": 2, "norm": 1}, {"value": [0.25, 0.5]}),
        "shares": ({"statistic": hf.Share()}, {"value": True}),
        "sums": ({"low": 0, "high": 8}, {"value": 3}),
    }
    for name, (planned, record) in cases.items():
        assert added(client, name, **planned).status_code == 201
        assert client.send([{"user": "u"} | record] * 3, stream=name).text == ACCEPTED
        once = client.store.live(name).totals.copy()
        assert client.send([{"user": "v"} | record] * 2, 2, stream=name).status_code == 200
        assert np.array_equal(client.store.live(name).totals, 2 * once)
        assert np.any(once)
    assert (total(client, "sums"), total(client, "vectors")) == (12, 3)


def test_a_missing_or_wrong_user_is_an_error_that_repeats_nothing(make):
    client = make(plans={})
    added(client, "p")
    wrong = [
        1,
        {"value": 1},
        {"user": " "},
        {"user": "\u200b"},
        {"user": 7},
        {"user": "SECRET", "key": "SECRET"},
    ]
    for record in (*wrong, {"user": "SECRET\ud800"}, {"user": "SECRET", "value": "SECRET"}):
        found = client.send([{"user": "SECRET"}, record], stream="p")
        assert found.status_code in (400, 422)
        assert "SECRET" not in found.text
    assert "each record must be an object with its user" in client.send([{}], stream="p").text
    body = b'{"user": "SECRET"}\n{"user": ""}\n'
    found = client.request(
        "POST", "/v1/streams/p/records?sender=b&sequence=0", content=body, headers=LINES
    )
    assert found.json()["error"].startswith("line 2 of the body: a record's user must be")
    assert (total(client), client.store.live("p").senders) == (0, {})


def test_a_stream_with_assumed_limits_accepts_no_user(make):
    client = make()
    assert added(client, "p", limits="assumed").json()["limits"].startswith("hushfade assumes")
    for stream in ("p", "late", "flights"):
        found = client.send([{"user": "SECRET"}], stream=stream)
        assert found.status_code == 422
        assert found.json()["error"].endswith("send records without user")
    assert client.send([1, 1, 1], stream="p").text == ACCEPTED
    assert total(client) == 3


def test_limits_are_for_persons_and_a_period_needs_a_clock(make):
    client = make(plans={})
    refused = added(client, "record", hf.Record(), limits="enforced")
    assert (refused.status_code, "limits is for a plan" in refused.text) == (422, True)
    assert added(client, "odd", limits="checked").status_code == 422
    weekly = hf.Person(period="week UTC", steps=2)
    refused = added(client, "no-clock", weekly)
    assert (refused.status_code, "needs steps with times" in refused.text) == (422, True)
    assert added(client, "clock", weekly, every="1d").status_code == 201
    assert client.store.live("clock").enforced.order.zoned


def largest_change(client, name, seed):
    """The largest change of the open totals if all records of one person are removed."""
    chance, largest = random.Random(seed), 0.0
    client.close_step(client.store.live(name).steps + 1, name)
    for trial in range(6):
        users = [f"u{chance.randrange(3)}" for _ in range(12)]
        found = []
        for removed in (None, "u0"):
            records = [{"user": user} for user in users if user != removed]
            assert client.send(records, trial, stream=name, sender=str(removed)).status_code == 200
            found.append(total(client, name))
            client.close_step(client.store.live(name).steps + 1, name)
        largest = max(largest, abs(found[0] - found[1]))
    return largest


def test_removing_a_person_changes_the_open_totals_by_at_most_the_limit(make, monkeypatch):
    client = make(plans={})
    added(client, "p")
    assert largest_change(client, "p", 1) <= 2
    added(client, "bug")

    def everyone(self, database, stream, step, users):
        return np.ones(len(users), dtype=bool)

    monkeypatch.setattr(Enforced, "counted", everyone)
    assert largest_change(client, "bug", 1) > 2  # without limits, the check fails


def test_the_queue_counts_users_cells_and_units():
    guarantee = hf.Guarantee(1, 1e-6, protects=WITHIN)
    plan = hf.plan(hf.SlidingWindow(length=3), guarantee)
    batch = Batch.of_persons("p", plan, "a", 0, [1, 1], ["u" * 80, "v"])
    assert _Job(batch, None, None).weight == 1 + 2 + 81 // 8 + 2 + 2


def test_the_steps_of_all_streams_of_a_dataset_begin_at_the_same_times(make):
    """Seven consecutive days of one stream would touch eight days of a stream with other steps."""
    client = make(plans={})
    assert added(client, "p", every="1h").status_code == 201
    plan = json.loads(client.store.plan("p").to_json())
    begun = client.store.settings("p")["start"]
    client.store.add_dataset("roomy", hf.Guarantee(9, 1e-5, protects=WITHIN), every="1h")
    body = {"dataset": "roomy", "plan": plan, "every": "1h"}
    assert client.post("/v1/streams", body | {"name": "a"}).status_code == 201
    first = client.store.settings("a")["start"]
    half = {"name": "b", "start": shown(first - 1800 * 10**9)}
    refused = client.post("/v1/streams", body | half)
    assert refused.status_code == 409
    assert "begin at the same times" in refused.json()["error"]
    assert client.post("/v1/streams", body | {"name": "b"}).status_code == 201
    assert (client.store.settings("b")["start"] - first) % (3600 * 10**9) == 0
    assert first >= begun


def test_the_sentence_names_the_step_and_agrees_with_the_written_releases(make, tmp_path):
    client = make(plans={})
    for name, limits in (("p", "enforced"), ("q", "assumed")):
        assert added(client, name, every="1h", limits=limits).status_code == 201
        said = client.get(f"/v1/streams/{name}").json()["guarantee"]
        assert "consecutive hours" in said
        assert ("at most" in said.partition(" changes ")[0]) == (limits == "assumed")
        output = RunOutputOptions(output=tmp_path / f"{name}.csv")
        stored_releases.write(client.store, name, output)
        written = json.loads((tmp_path / f"{name}.csv.plan.json").read_text())
        assert written["guarantee"] == said
