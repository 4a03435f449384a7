"""From each input path to the crossing, no float ever holds a total: the totals are int64."""

from contextlib import suppress

import numpy as np
import pytest

import hushfade as hf
from hushfade.private.unit_sums import UnitSums
from hushfade.releases import rows
from hushfade.store import live_streams
from hushfade.stream.stream import Stream
from tests.private.float_trace import FloatTrace
from tests.private.input_paths import FLOATS, NOISE, PATHS, FloatsAtTheDoor, doors, planned
from tests.serve.client import Client

GRID = {"low": -500.0, "high": 900.0, "resolution": 2.0**-13}
VALUES = [123.4567, -314.159, 777.7777]  # off the grid: no record equals what it counts
PLAN = planned(len(VALUES), **GRID)
UNITS = PLAN.grid.units(VALUES)  # seven digits each: no other number in hushfade equals them
TOTALS = np.abs([*UNITS, UNITS.sum()])
PRIVATE = [*TOTALS, *(TOTALS * PLAN.grid.resolution)]


@pytest.fixture(scope="module", autouse=True)
def compiled():
    """The loops are compiled before a trace follows the compiler."""
    PLAN.start(NOISE).run_units(UNITS[None, :])
    PLAN.start(NOISE).step_units(UNITS)
    hf.plan(PLAN.decay, PLAN.guarantee, **GRID).start(NOISE).step_units(1)


def through(path, directory):
    PATHS[path].work(PLAN, VALUES, directory)


@pytest.mark.parametrize("path", PATHS)
def test_no_total_is_a_float_between_the_quantiser_and_the_crossing(path, tmp_path, monkeypatch):
    trace = FloatTrace(PRIVATE)
    with doors(monkeypatch) as given, trace.watching():
        through(path, tmp_path)
    assert trace.seen == set()
    assert trace.frames > 10
    ((_, units),) = given
    assert units.dtype == np.int64
    assert units.ravel().tolist() == UNITS.tolist()


def test_records_given_to_a_stream_stay_integers():
    trace = FloatTrace(PRIVATE)
    with trace.watching():
        keyed = PLAN.start(NOISE).step(dict(zip(PLAN.keys, VALUES, strict=True)))
    assert trace.seen == set()
    assert np.array_equal(keyed.value, PLAN.start(NOISE).step_units(UNITS).value)
    single = hf.plan(PLAN.decay, PLAN.guarantee, **GRID)
    with trace.watching():
        alone = single.start(NOISE).step(VALUES)
    assert trace.seen == set()
    assert alone.value == single.start(NOISE).step_units(int(UNITS.sum())).value


@pytest.mark.parametrize("kind", ["application/json", "application/x-ndjson"])
def test_records_of_requests_stay_integers_through_the_service(kind, tmp_path, monkeypatch):
    trace = FloatTrace(PRIVATE)
    pairs = zip(PLAN.keys, VALUES, strict=True)
    records = [f'{{"key": "{key}", "value": {value}}}' for key, value in pairs]
    with doors(monkeypatch) as given, trace.watching():
        client = Client(tmp_path / "store.db", plans={"s": PLAN})
        try:
            body, query = "\n".join(records), "?sender=a&sequence=1"
            if kind == "application/json":
                body = f'{{"sender": "a", "sequence": 1, "records": [{", ".join(records)}]}}'
                query = ""
            sent = client.request(
                "POST", f"/v1/streams/s/records{query}", content=body,
                headers={"Content-Type": kind},
            )  # fmt: skip
            assert sent.status_code == 200
            assert client.close_step(1, stream="s").status_code == 200
        finally:
            client.stop()
    assert trace.seen == set()
    assert trace.frames > 100
    ((door, units),) = given
    assert (door, units.dtype) == ("step_lanes", np.int64)
    assert units.tolist() == UNITS.tolist()


# Seeded bugs: each makes floats of totals somewhere, and a door or the trace notices ------------


def seeded_released(stream, units, calendar):
    """The bug: totals in the records' unit, for which the stream has a door of its own."""
    values = stream.run(units * stream.plan.grid.resolution)
    yield rows.Rows(np.arange(1, 2), None, values, np.ones(1), stream.plan.errors)


def seeded_there_and_back(run_units):
    def run(stream, units):
        total = units * stream.plan.grid.resolution
        return run_units(stream, (total / stream.plan.grid.resolution).astype(np.int64))

    return run


class SeededSums(UnitSums):
    """Sums in float64, which are exact here, and are rounded where they are used."""

    def add(self, cells, units):
        summed = np.bincount(cells, weights=units, minlength=len(self.totals))
        self.totals = np.rint(summed).astype(np.int64)


def seeded_close(self, database, closed):
    total = float(self.totals[0]) * self.plan.grid.resolution
    self.totals[0] = round(total / self.plan.grid.resolution)
    return original_close(self, database, closed)


original_close = live_streams.Live.close
BUGS = {
    "the stream is given floats": ("CSV", lambda p: p.setattr(
        "tests.private.input_paths.released", seeded_released)),
    "a reader sums floats": ("Parquet", lambda p: p.setattr(
        "hushfade.records.step_totals.UnitSums", SeededSums)),
    "live lines sum floats": ("live CSV", lambda p: p.setattr(
        "hushfade.records.step_totals.UnitSums", SeededSums)),
    "the service sums floats": ("HTTP JSON", lambda p: p.setattr(
        "hushfade.store.batch.UnitSums", SeededSums)),
    "the store makes floats of a total and back": ("store", lambda p: p.setattr(
        live_streams.Live, "close", seeded_close)),
    "a frame makes floats of totals and back": ("pandas, by key", lambda p: p.setattr(
        Stream, "run_units", seeded_there_and_back(Stream.run_units))),
}  # fmt: skip


@pytest.mark.parametrize("bug", BUGS)
def test_a_seeded_bug_is_caught(bug, tmp_path, monkeypatch):
    path, plant = BUGS[bug]
    trace = FloatTrace(PRIVATE, ("hushfade", __name__))
    with monkeypatch.context() as patched:
        plant(patched)
        with doors(monkeypatch) as given, trace.watching(), suppress(FloatsAtTheDoor):
            through(path, tmp_path)
    traced = any(__name__ in place for place in trace.seen)
    assert traced or any(door == FLOATS for door, _ in given)
