import csv
import io
import json

import numpy as np
import pyarrow as pa
import pytest

import hushfade as hf
from hushfade.privacy.guarantee import epsilon_of
from hushfade.serve import app, openapi
from hushfade.store import Store
from tests.serve.client import KEYED, ONE, PLAN, PLANS, UNIT


def test_records_are_clipped_put_on_the_grid_summed_and_released(client):
    assert client.send([1, 0.5, 7, -3]).json() == {"status": "accepted", "records": 4}
    assert client.totals() == [2 * UNIT + UNIT // 2]
    released = client.close_step(1).json()
    assert released.keys() == {"stream", "step", "closed", "value", "stddev", "margin"}
    assert abs(released["value"] - 2.5) < 8 * released["stddev"]
    assert released["stddev"] == pytest.approx(PLAN.stddev(1), rel=1e-12)
    assert released["margin"] == pytest.approx(PLAN.interval(1)[1], rel=1e-12)
    assert client.totals() == [0]


def test_records_are_summed_by_key(client):
    records = [{"key": "at"}, {"key": "de", "value": 0.25}, {"key": "at", "value": 1}]
    assert client.send(records, stream="flights").json()["records"] == 3
    assert client.totals("flights") == [2 * UNIT, 0, UNIT // 4]


def test_values_below_zero_and_vectors_are_summed_too(client):
    client.send([-1, -9, 4.5], stream="wide")
    resolution = PLANS["wide"].grid.resolution
    assert client.totals("wide") == [round(1.5 / resolution)]
    client.send([[0.5, 0], [0, -3]], stream="vectors")
    resolution = PLANS["vectors"].grid.resolution
    assert client.totals("vectors") == [round(0.5 / resolution), round(-1 / resolution)]


def test_lines_are_records_too(client):
    body = b'{"key": "ch"}\n\n{"key": "ch", "value": 0.5}\r\n'
    path = "/v1/streams/flights/records?sender=a&sequence=3"
    headers = {"Content-Type": "application/x-ndjson; charset=utf-8"}
    for _ in range(2):
        found = client.request("POST", path, content=body, headers=headers)
        assert found.json() == {"status": "accepted", "records": 2}
    assert client.totals("flights") == [0, UNIT + UNIT // 2, 0]


def test_records_that_are_sent_again_count_once(client):
    for sequence in (5, 5, 4):
        assert client.send([1], sequence).json() == {"status": "accepted", "records": 1}
    assert client.totals() == [UNIT]
    assert client.send([1], 5, sender="b").json()["status"] == "accepted"
    assert client.totals() == [2 * UNIT]


def test_records_of_a_closed_step_are_late_and_those_of_a_later_one_refused(client):
    client.close_step(1)
    assert client.send([1, 1], 1, step=1).json() == {"status": "late", "records": 2}
    assert client.send([1], 2, step=2).json()["status"] == "accepted"
    assert client.send([1], 3, step=3).status_code == 409
    private = client.get("/v1/streams/late").json()["not_for_publication"]
    assert private == {"late": 2, "repeated": 0, "open_records": 1}


def test_a_step_that_is_closed_again_gives_the_same_bytes(client):
    first = client.close_step(1)
    assert client.close_step(1).content == first.content
    client.close_step(2)
    assert client.close_step(1).content == first.content
    assert client.close_step(4).status_code == 409
    assert client.close_step(0).status_code == 400
    assert len(client.store.releases("late")) == 2


def test_a_stream_that_ended_keeps_its_releases_and_takes_no_more(client):
    client.send([1])
    client.close_step(1)
    for _ in range(2):
        found = client.request("DELETE", "/v1/streams/late")
        assert (found.status_code, found.json()["ended"]) == (200, True)
    assert client.send([1], 2).status_code == 409
    assert client.close_step(2).status_code == 409
    assert len(client.get("/v1/streams/late/releases").json()["releases"]) == 1


def test_the_last_step_of_a_horizon_ends_the_stream(make):
    short = hf.plan(hf.SlidingWindow(length=3), ONE, horizon=2, method="square_root")
    client = make(plans={"short": short})
    for step, ended in ((1, False), (2, True), (2, True)):
        assert client.close_step(step, "short").status_code == 200
        assert client.get("/v1/streams/short").json()["ended"] is ended
    assert client.send([1], stream="short").status_code == 409


def test_a_dataset_and_its_streams_are_made_and_charged(make):
    client = make(plans={})
    assert client.get("/v1/datasets").json() == []
    made = client.post("/v1/datasets", {"name": "trains", "epsilon": 1, "delta": 1e-6})
    assert made.status_code == 201
    assert made.json() == {
        "name": "trains", "epsilon": 1.0, "delta": 1e-6, "spent_epsilon": 0.0, "left_epsilon": 1.0,
        "spent_delta": 0.0, "left_delta": 1e-6, "composition": None, "mu": ONE.mu, "spent": 0.0,
        "left": ONE.mu, "next_epsilon": None, "unit": "one record, added or removed",
        "reserved": [],
    }  # fmt: skip
    assert list(made.json())[:2] == ["name", "epsilon"]
    plan = json.loads(PLAN.to_json())
    added = client.post("/v1/streams", {"name": "s", "dataset": "trains", "plan": plan})
    assert added.status_code == 201
    assert added.json() | {"guarantee": ""} == {
        "name": "s", "dataset": "trains", "decay": "Exponential(half_life=3.0)", "guarantee": "",
        "epsilon": 1.0, "delta": 1e-6, "epoch": 0, "keys": None, "every": None, "start": None,
        "statistic": None, "suppress_below": None,
        "step": 0, "stddev": PLAN.stddev(1), "closed": None, "ended": False, "together": None,
        "key_count": None, "keys_next": None, "lag": None,
        "limits": "The guarantee covers one record. hushfade does not check how many records one "
        "person has.",
    }  # fmt: skip
    again = client.post("/v1/streams", {"name": "s", "dataset": "trains", "plan": plan})
    assert again.status_code == 409
    more = client.post("/v1/streams", {"name": "t", "dataset": "trains", "plan": plan})
    assert (more.status_code, more.json()["code"]) == (409, "refused")
    (account,) = client.get("/v1/datasets").json()
    assert account["spent"] == pytest.approx(ONE.mu)
    assert (account["left"], account["left_epsilon"], account["spent_epsilon"]) == (0, 0, 1)
    assert client.get("/v1/streams/s").json()["plan"] == plan


def test_the_epsilon_that_is_left_is_that_of_the_mu_that_is_left(client):
    (account,) = client.get("/v1/datasets").json()
    left = np.sqrt(account["mu"] ** 2 - 4 * ONE.mu**2)
    assert account["left_epsilon"] == pytest.approx(epsilon_of(left, 1e-6), rel=1e-8)
    spent = epsilon_of(2 * ONE.mu, 1e-6)
    assert account["spent_epsilon"] == pytest.approx(spent, rel=1e-8)
    assert account["spent_epsilon"] >= spent  # rounded up, to nine digits
    assert account["left_epsilon"] <= epsilon_of(left, 1e-6) * (1 + 1e-12)  # rounded down
    for name in ("epsilon", "spent_epsilon", "left_epsilon"):
        assert account[name] == float(f"{account[name]:.9g}")


def test_a_stream_of_a_dataset_that_is_not_there_is_refused(client):
    plan = json.loads(PLAN.to_json())
    found = client.post("/v1/streams", {"name": "s", "dataset": "trains", "plan": plan})
    assert found.status_code == 422
    assert found.json()["error"] == "dataset does not exist: add it first"


def test_a_service_that_starts_again_knows_its_streams(make, tmp_path):
    client = make()
    client.close_step(1, "flights")
    client.request("DELETE", "/v1/streams/wide")
    before = client.get("/v1/streams").json()["streams"]
    client.run(client.service.stop())
    from hushfade.serve.registry import Registry

    with_store = Store.open(tmp_path / "releases.db")
    registry = Registry.of(with_store)
    with_store.close()
    found = [registry.described(facts) for facts in registry.all()]
    own = ("not_for_publication", "lag")  # of the running service
    assert found == [{k: v for k, v in x.items() if k not in own} for x in before]
    assert [x["dataset"] for x in found] == ["clinics"] * 4  # from the ledger


# Releases ------------------------------------------------------------------------------------


@pytest.fixture
def five(client):
    for step in range(1, 6):
        client.close_step(step, "flights")
        client.close_step(step)
    return client


def test_releases_are_read_in_pages(five):
    found = five.get("/v1/streams/late/releases?after=1&limit=2").json()
    assert found["keys"] is None
    assert [x["step"] for x in found["releases"]] == [2, 3]
    kept = five.store.releases("late")
    assert found["releases"][0]["value"] == kept[1].values[0]
    assert found["releases"][0]["stddev"] == kept[1].stddev
    assert found["newest"] == 5  # there is more


def test_the_newest_releases_are_read_by_their_number(five, monkeypatch):
    path = "/v1/streams/flights/releases"
    for last, steps in ((1, [5]), (2, [4, 5]), (9, [1, 2, 3, 4, 5])):
        found = five.get(f"{path}?last={last}").json()
        assert ([x["step"] for x in found["releases"]], found["newest"]) == (steps, 5)
    text = five.get(f"{path}?last=1", headers={"Accept": "text/csv"}).text
    assert [line.split(",")[0] for line in text.splitlines()] == ["step", "5", "5", "5"]
    monkeypatch.setattr("hushfade.serve.release_formats.NUMBERS", 6)  # of three keys two releases
    assert [x["step"] for x in five.get(f"{path}?last=4").json()["releases"]] == [4, 5]
    assert five.get("/v1/streams/wide/releases?last=3").json() | {"keys": 0} == {
        "stream": "wide", "keys": 0, "outputs": None, "newest": 0, "releases": [],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        (None, "application/json"), ("*/*", "application/json"), ("", "application/json"),
        ("application/*", "application/json"), ("text/*", "text/csv"),
        ("text/html,application/xhtml+xml,*/*;q=0.8", "application/json"),
        ("text/csv;q=0.2, application/json;q=0.9", "application/json"),
        ("TEXT/CSV ; q=1", "text/csv"), ("text/csv;q=x", "text/csv"),
        ("text/csv;q=nan", "text/csv"),
        ("text/html", None), ("image/png, text/plain;q=0.5", None), ("text/csv;q=0", None),
        ("application/vnd.apache.arrow.file", None),
    ],
)  # fmt: skip
def test_releases_come_as_a_kind_that_is_accepted_or_not_at_all(five, accept, kind):
    headers = {} if accept is None else {"Accept": accept}
    found = five.get("/v1/streams/late/releases", headers=headers)
    told = found.headers["content-type"].split(";")[0]
    if kind is None:
        assert (found.status_code, found.json()["code"]) == (406, "not_acceptable")
    else:
        assert (found.status_code, told) == (200, kind)


def test_json_csv_and_arrow_have_the_same_releases(five):
    path = "/v1/streams/flights/releases"
    plain = five.get(path).json()
    assert plain["keys"] == ["at", "ch", "de"]
    expected = [
        (x["step"], key, value, x["stddev"], x["margin"])
        for x in plain["releases"]
        for key, value in zip(plain["keys"], x["value"], strict=True)
    ]
    text = five.get(path, headers={"Accept": "text/csv"})
    assert text.headers["content-type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(text.text)))
    found = [
        (int(r["step"]), r["key"], *(float(r[name]) for name in ("value", "stddev", "margin")))
        for r in rows
    ]
    assert found == expected
    arrow = five.get(path, headers={"Accept": "application/vnd.apache.arrow.stream"})
    table = pa.ipc.open_stream(arrow.content).read_all()
    columns = ("step", "key", "value", "stddev", "margin")
    assert list(zip(*(table[c].to_pylist() for c in columns), strict=True)) == expected
    closed = [x.closed for x in five.store.releases("flights") for _ in range(3)]
    assert table["closed"].cast(pa.int64()).to_pylist() == closed


@pytest.mark.parametrize("kind", ["text/csv", "application/vnd.apache.arrow.stream"])
def test_no_releases_are_an_empty_table(client, kind):
    for stream in PLANS:
        found = client.get(f"/v1/streams/{stream}/releases", headers={"Accept": kind})
        assert found.status_code == 200
        assert found.headers["content-type"].startswith(kind)


def test_a_scrape_shows_the_newest_releases_and_draws_nothing(five):
    before = five.store.entries()
    last = list(before)[-1]
    found = five.get("/metrics")
    for _ in range(3):
        assert five.get("/metrics").content == found.content
    assert list(five.store.entries())[-1] == last
    newest = five.store.releases("flights")[-1]
    lines = found.text.splitlines()
    assert f'hushfade_value{{stream="flights",key="ch"}} {newest.values[1].item()!r}' in lines
    assert f'hushfade_stddev{{stream="flights"}} {newest.stddev!r}' in lines
    assert 'hushfade_step{stream="late"} 5' in lines
    assert 'hushfade_step{stream="wide"} 0' in lines
    assert lines[-1] == "# EOF"
    assert found.headers["content-type"].startswith("application/openmetrics-text")


def test_labels_are_escaped(make):
    plan = hf.plan(hf.SlidingWindow(length=2), ONE, keys=['"\\\n'], method="square_root")
    client = make(plans={'a "b"': plan})
    client.post('/v1/streams/a "b"/steps/1/close')
    text = client.get("/metrics").text
    assert 'hushfade_value{stream="a \\"b\\"",key="\\"\\\\\\n"} ' in text


# The rest ------------------------------------------------------------------------------------


def test_health_and_readiness_are_told(client):
    assert client.get("/health").json() == {"status": "up"}
    ready = {"status": "ready", "streams_behind": 0, "streams_ahead": 0}
    assert client.get("/ready").json() == ready


def test_a_store_that_failed_is_not_ready_and_nothing_is_published(client):
    client.close_step(1)
    client.store._mark.write = _no_disk
    found = client.close_step(2)
    assert (found.status_code, found.json()["code"]) == (503, "stopped")
    assert found.headers["retry-after"]
    assert client.get("/ready").status_code == 503
    assert client.send([1]).status_code == 503
    still = client.get("/v1/streams/late").json()
    assert still["step"] == 1
    assert "not_for_publication" not in still  # it cannot be told any more
    assert len(client.get("/v1/streams/late/releases").json()["releases"]) == 1
    assert 'hushfade_step{stream="late"} 1' in client.get("/metrics").text


def _no_disk(*given, **more):
    raise OSError("no space")


def test_the_document_has_every_route_and_no_other(client):
    found = client.get("/openapi.json").json()
    routes = {
        (way.path.replace("{path:path}", "{path}"), way.method.lower(), way.scope)
        for way in app.WAYS
    }
    told = {
        (path, method, operation["security"][0]["token"][0] if operation["security"] else None)
        for path, operations in found["paths"].items()
        for method, operation in operations.items()
    }
    assert told == routes


def test_the_document_names_only_schemas_that_it_has_and_every_parameter():
    content = openapi.openapi()
    text = json.dumps(content)
    named = {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert named <= content["components"]["schemas"].keys()
    for path, operations in content["paths"].items():
        wanted = {part[1:-1] for part in path.split("/") if part.startswith("{")}
        for operation in operations.values():
            told = {p["name"] for p in operation.get("parameters", []) if p["in"] == "path"}
            assert told == wanted


def test_answers_have_the_fields_of_the_document(five):
    schemas = openapi.openapi()["components"]["schemas"]

    def same(content, name):
        schema = schemas[name].get("oneOf", [schemas[name]])[0]  # the first is a sum's
        assert content.keys() - {"not_for_publication"} == set(schema["required"])

    same(five.get("/v1/datasets").json()[0], "Dataset")
    same(five.get("/v1/streams").json()["streams"][0], "Stream")
    same(five.get("/v1/streams/late").json(), "StreamWithPlan")
    same(five.send([1]).json(), "Accepted")
    same(five.close_step(5).json(), "StreamRelease")
    same(five.get("/v1/streams/late/releases").json(), "Releases")
    same(five.get("/v1/streams/late/releases").json()["releases"][0], "Release")
    same(five.get("/nowhere").json(), "Error")


def test_what_is_not_there_is_told_as_json(client):
    for method, path, status in [
        ("GET", "/nowhere", 404), ("PUT", "/v1/streams", 405), ("GET", "/v1/streams/none", 404),
        ("POST", "/v1/streams/none/records", 404), ("POST", "/v1/streams/none/steps/1/close", 404),
        ("GET", "/v1/streams/none/releases", 404), ("GET", "/v1/streams/none/events", 404),
        ("DELETE", "/v1/streams/none", 404), ("GET", "/v1/streams/", 404),
    ]:  # fmt: skip
        found = client.request(method, path)
        assert found.status_code == status, path
        assert found.json().keys() == {"error", "code"}


def test_steps_of_a_keyed_stream_have_a_value_for_each_key(client):
    released = client.close_step(1, "flights").json()
    assert len(released["value"]) == len(KEYED.keys)


@pytest.mark.parametrize(
    "query",
    ["after=x", "after=-1", "after=1.5", "after=" + "9" * 30, "limit=0", "limit=10001", "limit=",
     "last=0", "last=10001", "last=1&after=0", "last=1&limit=1", "last=x",
     "after=1&after=2", "more=1", "after=%EF%BC%91", "after=%00"],
)  # fmt: skip
def test_a_query_that_says_nothing_clear_is_refused(client, query):
    assert client.get(f"/v1/streams/late/releases?{query}").status_code == 400


@pytest.mark.parametrize("step", ["x", "-1", "1.5", "9" * 30, "9" * 5000, "1%00", "١"])
def test_a_step_that_is_no_number_is_refused(client, step):
    assert client.close_step(step).status_code == 400
    assert client.store.releases("late") == []
