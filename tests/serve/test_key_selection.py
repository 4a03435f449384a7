"""Keys that a request selects, and streams with very many keys."""

import csv
import io
import json
from contextlib import asynccontextmanager

import numpy as np
import pyarrow as pa
import pytest

import hushfade as hf
from hushfade.serve import key_selection, release_formats
from hushfade.serve.json_pieces import PIECE
from hushfade.serve.registry import Facts, Registry
from hushfade.store import Published
from tests.serve.client import ONE, PLANS

WIDTH = 3000
KEYS = [f"key {n}" for n in range(WIDTH)]
WIDE = hf.plan(hf.Exponential(half_life=3), ONE, keys=KEYS, method="square_root", law="gaussian")
FLIGHTS = "/v1/streams/flights"
ARROW = {"Accept": "application/vnd.apache.arrow.stream"}
CSV = {"Accept": "text/csv"}


@pytest.fixture
def wide(make):
    client = make(plans=PLANS | {"many": WIDE})
    for step in (1, 2, 3):
        client.close_step(step, "many")
        client.close_step(step, "flights")
    return client


def table(response):
    return pa.ipc.open_stream(response.content).read_all()


def test_selected_keys_have_the_values_of_the_whole_release_in_every_format(wide):
    for path, keys in ((FLIGHTS, ["de", "at"]), ("/v1/streams/many", ["key 2999", "key 7"])):
        query = "&".join(f"key={key}" for key in keys)
        whole = wide.get(f"{path}/releases").json()
        some = wide.get(f"{path}/releases?{query}").json()
        assert some["keys"] == keys
        places = [whole["keys"].index(key) for key in keys]
        for one, all_ in zip(some["releases"], whole["releases"], strict=True):
            assert one["value"] == [all_["value"][place] for place in places]
            assert {**one, "value": 0} == {**all_, "value": 0}
        expected = [
            (r["step"], k, v)
            for r in some["releases"]
            for k, v in zip(keys, r["value"], strict=True)
        ]
        rows = list(
            csv.DictReader(io.StringIO(wide.get(f"{path}/releases?{query}", headers=CSV).text))
        )
        assert [(int(r["step"]), r["key"], float(r["value"])) for r in rows] == expected
        found = table(wide.get(f"{path}/releases?{query}", headers=ARROW)).to_pylist()
        assert [(r["step"], r["key"], r["value"]) for r in found] == expected


def test_all_formats_agree_for_a_wide_stream_with_or_without_the_limit_of_a_chunk(
    wide, monkeypatch
):
    path = "/v1/streams/many/releases"

    def read():
        found = wide.get(path).json()
        rows = csv.DictReader(io.StringIO(wide.get(path, headers=CSV).text))
        listed = [v for r in found["releases"] for v in r["value"]]
        assert [float(row["value"]) for row in rows] == listed
        assert table(wide.get(path, headers=ARROW))["value"].to_pylist() == listed
        return found

    whole = read()
    monkeypatch.setattr(release_formats, "CHUNK", 100)
    assert read() == whole
    assert [r["step"] for r in whole["releases"]] == [1, 2, 3]


def test_coordinates_of_vectors_are_selected_by_number(wide):
    wide.close_step(1, "vectors")
    whole = wide.get("/v1/streams/vectors/releases").json()["releases"][0]["value"]
    some = wide.get("/v1/streams/vectors/releases?key=1").json()
    assert (some["keys"], some["releases"][0]["value"]) == (["1"], [whole[1]])


def test_keys_that_do_not_exist_are_refused_without_repeating_them(wide):
    for query in ("key=secret", "key=at&key=secret"):
        found = wide.get(f"{FLIGHTS}/releases?{query}")
        assert (found.status_code, found.json()["error"]) == (
            422,
            "key must be one of the stream's keys",
        )
    for path in (f"{FLIGHTS}/releases?key=at&key=at", "/v1/streams/late/releases?key=at"):
        assert wide.get(path).status_code == 400
    many = "&".join(f"key=key {n}" for n in range(key_selection.MOST + 1))
    assert wide.get(f"/v1/streams/many/releases?{many}").status_code == 400
    assert wide.get("/v1/streams/vectors/releases?key=2").status_code == 422


def test_pages_of_keys_cover_all_keys_once(wide):
    seen, after = [], 0
    while after is not None:
        page = wide.get(f"/v1/streams/many/keys?after={after}&limit=700").json()
        assert page["matching"] == WIDTH
        seen += page["keys"]
        after = page["next"]
    assert seen == KEYS


def test_a_search_finds_keys_in_any_case(wide):
    page = wide.get("/v1/streams/many/keys?search=KEY 29&limit=5").json()
    assert page == {
        "keys": ["key 29", "key 290", "key 291", "key 292", "key 293"],
        "next": 294,
        "matching": 111,
    }
    assert wide.get("/v1/streams/many/keys?search=none").json() == {
        "keys": [],
        "next": None,
        "matching": 0,
    }
    assert wide.get("/v1/streams/late/keys").json()["keys"] == []
    for query in ("after=-1", "limit=0", "limit=1001", "x=1", "search=" + "x" * 201):
        assert wide.get(f"/v1/streams/many/keys?{query}").status_code == 400


def test_a_description_lists_some_keys_and_counts_all(wide):
    listed = {x["name"]: x for x in wide.get("/v1/streams").json()["streams"]}
    assert (len(listed["many"]["keys"]), listed["many"]["key_count"]) == (1000, WIDTH)
    assert (listed["many"]["keys_next"], listed["flights"]["keys_next"]) == (1000, None)
    rest = wide.get("/v1/streams/many/keys?after=1000&limit=1000").json()
    assert listed["many"]["keys"] + rest["keys"] == KEYS[:2000]
    assert (listed["flights"]["keys"], listed["flights"]["key_count"]) == (["at", "ch", "de"], 3)
    shown = wide.get("/v1/streams/many").json()
    assert shown["plan"]["records"]["keys"] == KEYS


def test_metrics_select_streams_and_keys(wide):
    whole = wide.get("/metrics").text
    assert whole.count("hushfade_value{") == WIDTH + 3
    some = wide.get("/metrics?stream=flights&stream=many&key=at&key=key 5").text
    values = [line for line in some.splitlines() if line.startswith("hushfade_value{")]
    assert len(values) == 2
    assert all(line in whole for line in values)
    assert wide.get("/metrics?stream=none").text.endswith("# EOF\n")
    assert wide.get("/metrics?other=1").status_code == 400


def test_a_wide_response_is_made_in_small_pieces_in_bounded_memory():
    """100,000 keys: no format holds more than a release and some pieces."""
    keys = tuple(f"k{n}" for n in range(100_000))
    plan = hf.plan(
        hf.Exponential(half_life=3), ONE, keys=keys, method="square_root", law="gaussian"
    )
    facts = Facts("wide", "d", plan)
    registry = Registry([facts])
    values = np.random.default_rng(5).normal(size=100_000)
    releases = [Published("wide", step, 0, values + step, 1.0) for step in (1, 2)]
    registry.published(releases[0])
    for kind in (release_formats.JSON, release_formats.CSV, release_formats.ARROW):
        pieces = list(release_formats.pieces(facts, [[one] for one in releases], 2, kind))
        assert max(map(len, pieces)) <= 2 * PIECE, kind
        assert len(pieces) > 20
    read = json.loads(
        b"".join(release_formats.pieces(facts, [[releases[0]]], 2, release_formats.JSON))
    )
    assert read["releases"][0]["value"] == releases[0].values.tolist()
    assert release_formats.held(facts, 1) < 2 << 20
    assert release_formats.most(facts, 10_000) == 1
    some = key_selection.selection(facts, ["k5", "k99999"])
    assert release_formats.most(facts, 10_000, some) == 200


def test_a_small_response_that_reads_wide_releases_takes_room_for_what_it_reads(wide):
    taken = []

    @asynccontextmanager
    async def room(caller, size):
        taken.append(size)
        yield

    wide.service.responses.room = room
    for query, read in (("last=3&key=key 7", 3 * 8 * WIDTH), ("last=1&key=key 7", None)):
        assert wide.get(f"/v1/streams/many/releases?{query}").status_code == 200
        assert (taken.pop() >= read) if read else not taken, query
    assert wide.get(f"{FLIGHTS}/releases?last=3&key=at").status_code == 200
    assert taken == []  # narrow releases are small however many keys are selected
