"""Every input path: from values in a format to the units that reach the stream, one value per lane.

A path is a function of a plan and its values.  It puts value i into step 1 of key i, in the form
that the path reads, and releases that step.  `Doors` watches what streams are given.
"""

import json
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import hushfade as hf
import hushfade.frames
from hushfade.records import Arrival, Calendar, Columns, Reader, batches, tables, tally
from hushfade.records.files import line_reader
from hushfade.records.live_lines import OpenSteps, by_empty_lines
from hushfade.releases.rows import released, released_live
from hushfade.serve.batches import JSON, LINES, batch
from hushfade.serve.registry import Facts
from hushfade.store import Batch, Store
from hushfade.stream.stream import Stream
from tests.records.arrivals import all_at_once

GUARANTEE = hf.Guarantee(epsilon=1, delta=1e-6)
NOISE = hf.UnsafeSeededNoise(7)
COLUMNS = Columns(value="v", time="t", key="k")
DAY = Calendar(0, 86_400 * 10**9, False, 1)
MIDDAY = "1970-01-01T12:00:00"

FLOATS = "a door for floats"
Values = Sequence[int | float]
INTEGERS = {"int64": (-(2**63), 2**63), "uint64": (0, 2**64), "decimal": (-(10**38), 10**38)}


def planned(count: int, **grid) -> hf.Plan:
    """A plan with a key for each value."""
    keys = [f"k{i}" for i in range(count)]
    return hf.plan(hf.Exponential(half_life=3), GUARANTEE, keys=keys, **grid)


class FloatsAtTheDoor(Exception):
    """Totals in floats reached the stream."""


@contextmanager
def doors(monkeypatch):
    """The units that streams are given, of every step; the doors for floats are closed."""
    given: list[tuple[str, object]] = []

    def watched(door: str) -> Callable[..., object]:
        inside = getattr(Stream, door)

        def enter(stream: Stream, units: object) -> object:
            if not given or given[-1][1] is not units:  # step_lanes may call step_units
                given.append((door, units))
            return inside(stream, units)

        return enter

    def closed(stream: Stream, totals: object) -> None:
        given.append((FLOATS, totals))
        raise FloatsAtTheDoor

    with monkeypatch.context() as patched:
        for door in ("step_units", "step_lanes", "run_units"):
            patched.setattr(Stream, door, watched(door))
        for door in ("step_total", "run"):
            patched.setattr(Stream, door, closed)
        yield given


# Files ------------------------------------------------------------------------------------------


def separated(plan: hf.Plan, values: Values, directory, *, ending: str, comma: str) -> None:
    pairs = zip(plan.keys, values, strict=True)
    rows = [f"{MIDDAY}{comma}{key}{comma}{value!r}" for key, value in pairs]
    path = directory / f"events.{ending}"
    path.write_text("\n".join([f"t{comma}k{comma}v", *rows, ""]))
    release_batches(plan, batches(path, COLUMNS))


def json_lines(plan: hf.Plan, values: Values, directory) -> None:
    path = directory / "events.jsonl"
    path.write_text("".join(line + "\n" for line in lines_of(plan, values)))
    release_batches(plan, batches(path, COLUMNS))


def lines_of(plan: hf.Plan, values: Values) -> list[str]:
    pairs = zip(plan.keys, values, strict=True)
    return [json.dumps({"t": MIDDAY, "k": key, "v": value}) for key, value in pairs]


def parquet(plan: hf.Plan, values: Values, directory) -> None:
    path = directory / "events.parquet"
    pq.write_table(table_of(plan, values), path)
    release_batches(plan, batches(path, COLUMNS))


def arrow_table(plan: hf.Plan, values: Values, directory) -> None:
    release_batches(plan, tables(table_of(plan, values), COLUMNS))


def release_batches(plan: hf.Plan, found) -> None:
    totals = tally(found, Reader(plan, COLUMNS, DAY)).totals
    assert list(released(plan.start(NOISE), totals, DAY))


def table_of(plan: hf.Plan, values: Values) -> pa.Table:
    times = pa.array([np.datetime64(MIDDAY, "ns")] * len(values))
    return pa.table({"t": times, "k": list(plan.keys), "v": column_of(values)})


def column_of(values: Values) -> pa.Array:
    """An Arrow column: float64, or the first type of integers that holds them all."""
    if any(isinstance(value, float) for value in values):
        return pa.array(values, pa.float64())
    for name, (low, high) in INTEGERS.items():
        if all(low <= value < high for value in values):
            kind = pa.decimal128(38, 0) if name == "decimal" else name
            return pa.array(map(Decimal, values) if name == "decimal" else values, kind)
    raise OverflowError


# Data frames ------------------------------------------------------------------------------------


def pandas_events(plan: hf.Plan, values: Values, directory) -> None:
    frame = pd.DataFrame({"t": pd.Timestamp(MIDDAY), "k": list(plan.keys)})
    frame["v"] = np.array(values)  # of objects, if an integer exceeds 64 bits
    _events(frame, plan)


def polars_events(plan: hf.Plan, values: Values, directory) -> None:
    _events(pl.from_arrow(table_of(plan, values)), plan)


def _events(frame, plan: hf.Plan) -> None:
    frame.hushfade.release_events(
        time="t", every="1d", start="1970-01-01", steps=1, key="k", keys=plan.keys, value="v",
        plan=plan, noise=NOISE,
    )  # fmt: skip


def pandas_by_key(plan: hf.Plan, values: Values, directory) -> None:
    frame = pd.DataFrame({"k": list(plan.keys), "v": numpy_column(values)})
    _by_key(frame, plan)


def polars_by_key(plan: hf.Plan, values: Values, directory) -> None:
    frame = pl.DataFrame({"k": list(plan.keys), "v": numpy_column(values)})
    _by_key(frame, plan)


def _by_key(frame, plan: hf.Plan) -> None:
    frame.hushfade.release(value="v", key="k", keys=plan.keys, plan=plan, noise=NOISE)


def numpy_column(values: Values) -> np.ndarray:
    found = np.array(values)
    if found.dtype.kind == "O":
        raise OverflowError
    return found


def a_list(plan: hf.Plan, values: Values, directory) -> None:
    grid = plan.grid
    single = hf.plan(
        plan.decay, GUARANTEE, low=grid.low, high=grid.high, resolution=grid.resolution
    )
    hushfade.frames.release(list(values), plan=single, noise=NOISE)


# Lines, the service, the store ------------------------------------------------------------------


def live_lines(plan: hf.Plan, values: Values, directory) -> None:
    columns = Columns(value="v", key="k")
    steps = OpenSteps(
        Reader(plan, columns, Arrival()), line_reader("csv", "input", columns, live=True)
    )
    rows = [f"{key},{value!r}" for key, value in zip(plan.keys, values, strict=True)]
    feed = all_at_once("\n".join(["k,v", *rows, "", ""]).encode())
    assert list(released_live(plan.start(NOISE), by_empty_lines(feed, steps, most=1), None))


def live_json_lines(plan: hf.Plan, values: Values, directory) -> None:
    columns = Columns(value="v", key="k")
    steps = OpenSteps(
        Reader(plan, columns, Arrival()), line_reader("jsonl", "input", columns, live=True)
    )
    feed = all_at_once("\n".join([*lines_of(plan, values), "", ""]).encode())
    assert list(released_live(plan.start(NOISE), by_empty_lines(feed, steps, most=1), None))


def http_json(plan: hf.Plan, values: Values, directory) -> None:
    body = {"sender": "a", "sequence": 1, "records": keyed_records(plan, values)}
    through_store(
        batch(Facts("s", "d", plan), JSON, json.dumps(body).encode(), {}), plan, directory
    )


def http_lines(plan: hf.Plan, values: Values, directory) -> None:
    body = "\n".join(map(json.dumps, keyed_records(plan, values))).encode()
    query = {"sender": "a", "sequence": "1"}
    through_store(batch(Facts("s", "d", plan), LINES, body, query), plan, directory)


def keyed_records(plan: hf.Plan, values: Values) -> list[dict]:
    return [{"key": key, "value": value} for key, value in zip(plan.keys, values, strict=True)]


def store(plan: hf.Plan, values: Values, directory) -> None:
    units = plan.grid.units(list(values))
    lanes = np.arange(len(values))
    through_store(Batch("s", "a", 1, len(values), lanes, units), plan, directory)


def through_store(sent: Batch, plan: hf.Plan, directory) -> None:
    number = len(list(directory.glob("*.db")))
    opened = Store.open(directory / f"{number}.db")
    try:
        opened.add_dataset("d", hf.Guarantee(epsilon=50, delta=1e-6))
        opened.add_stream("s", plan, dataset="d")
        assert opened.accept([sent]) == ["accepted"]
        opened.close_step("s", 1, closed=0)
    finally:
        opened.close()


@dataclass(frozen=True)
class Path:
    """An input path, and which integers its format can express."""

    work: Callable[..., None]
    integers: tuple[int, int] = (-(10**300), 10**300)  # at least low, below high


IN_64_BITS = (-(2**63), 2**64)
PATHS = {
    "CSV": Path(partial(separated, ending="csv", comma=",")),
    "TSV": Path(partial(separated, ending="tsv", comma="\t")),
    "JSON lines": Path(json_lines),
    "Parquet": Path(parquet, INTEGERS["decimal"]),
    "Arrow table": Path(arrow_table, INTEGERS["decimal"]),
    "pandas, events": Path(pandas_events),
    "pandas, by key": Path(pandas_by_key, IN_64_BITS),
    "Polars, events": Path(polars_events, INTEGERS["decimal"]),
    "Polars, by key": Path(polars_by_key, IN_64_BITS),
    "a list": Path(a_list),
    "live CSV": Path(live_lines),
    "live JSON lines": Path(live_json_lines),
    "HTTP JSON": Path(http_json),
    "HTTP JSON lines": Path(http_lines),
    "store": Path(store),
}
