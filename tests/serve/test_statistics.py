"""Streams with a statistic over HTTP: records of each kind, releases in each format."""

import csv
import io
import json

import jsonschema_rs
import numpy as np
import pyarrow as pa
import pytest

import hushfade as hf
from hushfade.serve import openapi, statistic_blocks
from hushfade.serve.registry import CONFIDENCE, Facts
from hushfade.serve.statistic_blocks import StatisticBlocks
from hushfade.store import Published
from tests.serve.client import Client, Listener, events
from tests.serve.statistics import KEYS, ONE, PLANS, records

LINES = "application/x-ndjson"
STEPS = 4
RECORDS = {
    "mean": ["number", 0.5],
    "share": ["boolean", True],
    "category": ["string", "no"],
    "variance": ["number", 7],
    "histogram": ["number", 20],
    "quantiles": ["number", 1e9],
    "ratio": ["pair", [1, 2]],
}
WRONG = [
    0.5, 2, True, None, "yes", "1", [1], [1, 2], [1, 2, 3], [True, 1], ["1", 1], {}, {"value": 1},
]  # fmt: skip
RIGHT = {
    "number": [0.5, 2],
    "boolean": [True],
    "string": ["yes", "1"],
    "pair": [[1, 2]],
}
DOCUMENT = openapi.openapi()


def fits(content, name):
    """Raise unless the content has the schema of this name."""
    schemas = DOCUMENT["components"]
    schema = {"$ref": f"#/components/schemas/{name}", "components": schemas}
    jsonschema_rs.Draft202012Validator(schema).validate(content)


@pytest.fixture(autouse=True)
def _repeatable(monkeypatch):
    """Fresh noise that can be compared: the same for the same step."""
    monkeypatch.setattr(
        "hushfade.crossing.noise_sources.FreshNoise", lambda: hf.UnsafeSeededNoise(7)
    )


@pytest.fixture
def made(tmp_path):
    """A service to which the streams are added over HTTP, and what restarts it."""
    found = [Client(tmp_path / "releases.db", plans={})]
    found[0].post("/v1/datasets", {"name": "clinics", "epsilon": 50, "delta": 1e-6})
    for name, plan in PLANS.items():
        body = {"name": name, "dataset": "clinics", "plan": json.loads(plan.to_json())}
        fits(body, "NewStream")
        answer = found[0].post("/v1/streams", body)
        assert answer.status_code == 201, answer.text
        fits(answer.json(), "Stream")

    def restarted():
        found[0].stop()
        found[0] = Client(tmp_path / "releases.db", plans={})
        return found[0]

    yield found[0], restarted
    found[0].stop()


def filled(client, restarted):
    """The service after some steps, and the releases of streams with the same records."""
    streams = {name: plan.start(hf.UnsafeSeededNoise(7)) for name, plan in PLANS.items()}
    expected = {name: [] for name in PLANS}
    for step in range(1, STEPS + 1):
        if step == 3:
            client = restarted()
        for name, plan in PLANS.items():
            sent, given = records(plan, 10, seed=step)
            half = len(sent) // 2
            assert client.send(sent[:half], 2 * step, stream=name).status_code == 200
            text = "".join(json.dumps(one) + "\n" for one in sent[half:])
            path = f"/v1/streams/{name}/records?sender=a&sequence={2 * step + 1}"
            headers = {"Content-Type": LINES}
            found = client.request("POST", path, content=text, headers=headers)
            assert found.json() == {"status": "accepted", "records": 5}
            released = client.close_step(step, name).json()
            fits(released, "StreamRelease")
            expected[name].append((streams[name].step(given), released))
    return client, expected


def listed(value):
    return np.asarray(value, dtype=float).tolist()


def test_every_format_has_the_values_of_a_stream_also_after_a_restart(made):
    client, expected = filled(*made)
    for name, plan in PLANS.items():
        path = f"/v1/streams/{name}/releases"
        answer = client.get(path)
        fits(answer.json(), "Releases")
        for row, (release, released) in zip(answer.json()["releases"], expected[name], strict=True):
            assert row == {field: x for field, x in released.items() if field != "stream"}
            assert listed(row["value"]) == listed(release.value), name
            lower, upper = release.interval(CONFIDENCE)
            # intervals of many rows may differ in the last bit from the interval of one
            assert np.allclose(row["lower"], lower, rtol=1e-9, atol=1e-9)
            assert np.allclose(row["upper"], upper, rtol=1e-9, atol=1e-9)
            assert row["whole_range"] == np.asarray(release.whole_range()).tolist()
            for part, own in release.parts.items():
                assert np.allclose(row["parts"][part]["value"], own.value, rtol=1e-12)
                assert row["parts"][part]["stddev"] == own.stddev
            assert row["derived"].keys() == release.derived.keys()
        _same_rows(client, path, answer.json()["releases"], plan)


def _same_rows(client, path, rows, plan):
    """CSV, Arrow and JSON have the same numbers."""
    text = client.get(path, headers={"Accept": "text/csv"}).text
    table = list(csv.DictReader(io.StringIO(text)))
    arrow = client.get(path, headers={"Accept": "application/vnd.apache.arrow.stream"}).content
    frame = pa.ipc.open_stream(arrow).read_all()
    assert frame.column_names == list(table[0])
    outputs = plan.statistic.outputs or ("",)
    assert len(table) == STEPS * len(plan.keys or ("",)) * len(outputs)
    for field in ("value", "lower", "upper"):
        flat = [x for row in rows for x in np.asarray(row[field], dtype=float).ravel().tolist()]
        assert [float(one[field]) for one in table] == flat
        assert frame[field].to_pylist() == flat
    whole = [x for row in rows for x in np.asarray(row["whole_range"]).ravel().tolist()]
    assert [one["whole_range"] for one in table] == [str(x).lower() for x in whole]
    assert frame["whole_range"].to_pylist() == whole
    for part in plan.statistic.sums:
        first = [np.asarray(row["parts"][part]["value"]).ravel()[0] for row in rows]
        assert [float(x) for x in frame[part].to_pylist()[:: len(table) // STEPS]] == first
        assert frame[f"{part}_stddev"][0].as_py() == rows[0]["parts"][part]["stddev"]
    if plan.keys:
        assert [one["key"] for one in table][: len(outputs) + 1].count(KEYS[0]) == len(outputs)
    if plan.statistic.outputs:
        assert [one[plan.statistic.output_name] for one in table][: len(outputs)] == list(outputs)


def test_a_release_has_the_same_bytes_whichever_others_are_read_with_it(made):
    client, _ = filled(*made)
    for name in PLANS:
        path = f"/v1/streams/{name}/releases"
        together = client.get(path).json()["releases"]
        for facts in client.service.registry.all():
            facts.blocks._known.clear()
        alone = [client.get(f"{path}?after={step}&limit=1").text for step in range(STEPS)]
        assert [json.loads(text)["releases"][0] for text in alone] == together, name


def test_no_row_of_a_block_affects_another():
    """The bits of a reading are the same, whatever the other steps are."""
    for name, plan in PLANS.items():
        lanes = plan.start(hf.UnsafeSeededNoise(3)).run_units(
            np.full((70, plan.grid.lanes), 40 * plan.grid.lane_units[1])
        )
        stddevs = plan.stddevs(70)
        releases = [Published("s", t + 1, 0, lanes[t], float(stddevs[t])) for t in range(70)]
        together = StatisticBlocks(plan, CONFIDENCE).readings(releases)
        for place in (0, 1, 40, 69):
            (alone,) = StatisticBlocks(plan, CONFIDENCE).readings([releases[place]])
            for field in ("value", "lower", "upper"):
                same = np.array_equal(getattr(alone, field), getattr(together[place], field))
                assert same, (name, place, field)
            assert alone.parts.keys() == together[place].parts.keys()


def test_remembered_readings_are_few_and_the_oldest_go_first(monkeypatch):
    monkeypatch.setattr(statistic_blocks, "_NUMBERS", 0)
    plan = PLANS["histogram"]
    blocks = StatisticBlocks(plan, CONFIDENCE)
    for step in range(1, 300):
        blocks.readings([Published("s", step, 0, np.zeros(plan.grid.lanes), 1.0)])
    assert list(blocks._known) == list(range(300 - blocks._most, 300))


def test_events_and_metrics_have_the_releases_of_a_statistic(made):
    client, _ = filled(*made)
    for name in ("mean by key", "histogram", "quantiles by key"):
        rows = client.get(f"/v1/streams/{name}/releases").json()["releases"]
        listener = Listener(client, f"/v1/streams/{name}/events", [(b"last-event-id", b"1")])
        found = events(listener.until(f"id: {STEPS}\n"))
        assert [data for _, _, data in found] == rows[1:]
        listener.leave()
    text = client.get("/metrics").text
    newest = {
        name: client.get(f"/v1/streams/{name}/releases?last=1").json()["releases"][0]
        for name in PLANS
    }
    lines = text.splitlines()
    for line in (
        f'hushfade_value{{stream="mean"}} {newest["mean"]["value"]!r}',
        f'hushfade_lower{{stream="mean by key",key="ch"}} {newest["mean by key"]["lower"][1]!r}',
        f'hushfade_value{{stream="histogram",bin="[18, 65)"}} {newest["histogram"]["value"][1]!r}',
        'hushfade_value{stream="quantiles by key",key="at",quantile="0.9"} '
        f"{newest['quantiles by key']['value'][0][1]!r}",
        f'hushfade_part{{stream="ratio",part="numerator"}} '
        f"{newest['ratio']['parts']['numerator']['value']!r}",
        f'hushfade_part_stddev{{stream="mean",part="count"}} '
        f"{newest['mean']['parts']['count']['stddev']!r}",
        f'hushfade_whole_range{{stream="mean"}} {int(newest["mean"]["whole_range"])}',
        f'hushfade_step{{stream="share"}} {STEPS}',
    ):
        assert line in lines, line
    assert 'hushfade_stddev{stream="mean"}' not in text


def test_records_of_another_kind_are_refused_change_nothing_and_are_not_repeated(made):
    client, _ = made
    before = client.state()
    for name, plan in PLANS.items():
        kind, good = RECORDS[name.removesuffix(" by key")]
        for wrong in WRONG:
            if wrong in RIGHT[kind] and type(wrong) in {type(one) for one in RIGHT[kind]}:
                continue
            sent = [good, wrong]
            if plan.keys is not None:
                sent = [{"key": "at", "value": one} for one in sent]
            found = client.send(sent, stream=name)
            assert (found.status_code, found.json()["code"]) == (422, "invalid"), (name, wrong)
            assert found.json()["error"].startswith("a record must be"), found.text
            assert "yes" not in found.text
            text = "".join(json.dumps(one) + "\n" for one in sent)
            path = f"/v1/streams/{name}/records?sender=a&sequence=1"
            lines = client.request("POST", path, content=text, headers={"Content-Type": LINES})
            assert lines.json()["error"].startswith("line 2 of the body: a record must be")
    for sent in (
        [{"key": "at"}],
        [{"key": "fr", "value": 1}],
        [1],
        [{"key": "at", "value": 1e999}],
    ):
        text = json.dumps({"sender": "a", "sequence": 1, "records": sent})
        found = client.request(
            "POST", "/v1/streams/mean by key/records",
            content=text.replace("Infinity", "1e999"), headers={"Content-Type": "application/json"},
        )  # fmt: skip
        assert found.status_code == 422, sent
    assert client.state() == before


def test_one_record_never_changes_how_another_is_read(made):
    """Truths of two kinds, huge numbers, and numbers beyond the edges, each by itself."""
    client, _ = made
    mixed = {
        "share": [True, 1, 0, False, 1.0, 0.0],
        "histogram": [10**300, -(2**70), 17.999999999999996, 65, 2**64],
        "quantiles": [2**70, 0.1, 99],
        "ratio": [[2**70, 5], [0.25, 1e300]],
        "mean": [2**64 + 1, 0.03125, -5],
    }
    for name, sent in mixed.items():
        plan, totals = PLANS[name], np.zeros(PLANS[name].grid.lanes, dtype=np.int64)
        for one in sent:
            as_given = bool(one) if name == "share" else one
            lanes, units = plan.grid.spread(
                np.zeros(1, dtype=np.int64), np.atleast_1d(plan.grid.units([as_given]))
            )
            np.add.at(totals, lanes, units)
        assert client.send(sent, stream=name).status_code == 200
        assert client.totals(name) == totals.tolist(), name


def test_values_with_a_small_noisy_count_are_suppressed_everywhere(made):
    client, restarted = made
    plan = PLANS["variance"]
    by_key = PLANS["quantiles by key"]
    for name, one in (("few", plan), ("few by key", by_key)):
        body = {"name": name, "dataset": "clinics", "plan": json.loads(one.to_json())}
        added = client.post("/v1/streams", body | {"suppress_below": 60})
        assert added.json()["suppress_below"] == 60
    client.send([50.0] * 20, stream="few")
    sent = [{"key": "at", "value": 5}] * 5 + [{"key": "ch", "value": 5}] * 500
    client.send(sent, stream="few by key")
    closed = client.close_step(1, "few").json()
    assert closed["suppressed"] is True
    client.close_step(1, "few by key")
    client = restarted()
    for query in ("", "?suppress_below=-5", "?suppress_below=3.5"):  # it cannot be lowered
        (row,) = client.get(f"/v1/streams/few/releases{query}").json()["releases"]
        assert (row["value"], row["lower"], row["upper"], row["whole_range"]) == (None,) * 4
        assert row["parts"]["sum"]["value"] is None
        assert row["derived"] == {"mean": None, "standard_deviation": None}
        assert 0 < row["parts"]["count"]["value"] < 60  # the count is published
    fits(client.get("/v1/streams/few/releases").json(), "Releases")
    (row,) = client.get("/v1/streams/few by key/releases").json()["releases"]
    assert row["suppressed"] == [True, False]
    assert row["value"][0] == [None, None]
    assert all(isinstance(one, float) for one in row["value"][1])
    (row,) = client.get("/v1/streams/few by key/releases?suppress_below=1000").json()["releases"]
    assert row["suppressed"] == [True, True]
    text = client.get("/v1/streams/few/releases", headers={"Accept": "text/csv"}).text
    (line,) = csv.DictReader(io.StringIO(text))
    assert (
        line["value"] == line["lower"] == line["whole_range"] == line["sum"] == line["mean"] == ""
    )
    assert float(line["count"]) < 60
    arrow = "application/vnd.apache.arrow.stream"
    content = client.get("/v1/streams/few/releases", headers={"Accept": arrow}).content
    assert pa.ipc.open_stream(content).read_all()["value"].null_count == 1
    metrics = client.get("/metrics").text
    assert 'hushfade_value{stream="few"}' not in metrics
    assert 'hushfade_part{stream="few",part="sum"}' not in metrics
    assert 'hushfade_part{stream="few",part="count"}' in metrics
    listener = Listener(client, "/v1/streams/few/events", [(b"last-event-id", b"0")])
    assert events(listener.until("id: 1\n"))[0][2]["value"] is None
    listener.leave()


def test_a_minimum_is_for_statistics_and_must_be_a_number(made):
    client, _ = made
    plan = json.loads(hf.plan(hf.SlidingWindow(length=3), ONE, law="laplace").to_json())
    body = {"name": "sum", "dataset": "clinics", "plan": plan}
    refused = client.post("/v1/streams", body | {"suppress_below": 5})
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid")
    assert client.post("/v1/streams", body).status_code == 201
    assert client.get("/v1/streams/sum/releases?suppress_below=5").status_code == 400
    for wrong in ("", "x", "1e3", "nan", "+5", "1_0", "5.", "9" * 40, "%EF%BC%95"):
        for way in ("releases", "events"):
            found = client.get(f"/v1/streams/mean/{way}?suppress_below={wrong}")
            assert found.status_code == 400, wrong
    mean = {"dataset": "clinics", "plan": json.loads(PLANS["mean"].to_json())}
    for wrong in ("5", True, [5]):
        found = client.post("/v1/streams", mean | {"name": "other", "suppress_below": wrong})
        assert found.status_code == 422, wrong


def test_a_statistic_that_is_too_large_to_serve_is_refused(made):
    client, _ = made
    fine = hf.Quantiles([0.5], 0, 1, bins=2048)
    plan = hf.plan(hf.SlidingWindow(length=3), ONE, statistic=fine, law="laplace")
    body = {"name": "large", "dataset": "clinics", "plan": json.loads(plan.to_json())}
    found = client.post("/v1/streams", body)
    assert (found.status_code, found.json()["error"]) == (
        422,
        "quantiles must have at most 1024 bins",
    )
    wide = hf.Histogram(range(1001))
    plan = hf.plan(
        hf.SlidingWindow(length=3), ONE, statistic=wide, keys=map(str, range(200)), law="laplace"
    )
    found = client.post("/v1/streams", body | {"plan": json.loads(plan.to_json())})
    assert "at most 100000 numbers" in found.json()["error"]


def test_a_stream_states_its_statistic(made):
    client, _ = made
    found = {one["name"]: one["statistic"] for one in client.get("/v1/streams").json()["streams"]}
    assert found["quantiles by key"] == {
        "name": "quantiles", "released": "the decayed quantiles 0.5, 0.9 from 8 bins",
        "records": "number", "output": "quantile", "outputs": ["0.5", "0.9"],
        "range": [0.0, 100.0], "parts": ["count"],
    }  # fmt: skip
    assert found["histogram"]["range"] is None
    assert {name: one["records"] for name, one in found.items()}["ratio"] == "pair"
    facts = Facts("m", "d", PLANS["mean"])
    described = next(x for x in client.get("/v1/streams").json()["streams"] if x["name"] == "mean")
    assert described["stddev"] == pytest.approx(facts.plan.stddev(1) / 100)  # in records
