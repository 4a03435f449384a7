"""Spark's expressions give the units of the grid, and units stay integers up to the mechanism."""

from decimal import Decimal
from itertools import product, zip_longest

import numpy as np
import pyarrow as pa

from hushfade import UnsafeSeededNoise
from hushfade.private.grid import Grid
from hushfade.records import Calendar, Columns
from hushfade.spark import private_decaying_sums
from hushfade.spark.cells import Request, _person, cells_of
from hushfade.spark.close_steps import Buckets, add
from hushfade.spark.record_codes import code_of
from hushfade.spark.tables import Release
from hushfade.stream.partition import Mechanism, Running
from tests.private.adversarial_values import GRIDS, expected, floats, integers
from tests.private.float_trace import FloatTrace
from tests.private.input_paths import planned
from tests.spark.cases import HOW, PLAN, STEPS, events

NOISE = UnsafeSeededNoise(1)


def units_of(grid: Grid, value: str):
    return code_of(grid, Columns(value=value, time="t"), skip_empty=True)


def test_the_expression_gives_the_units_of_the_grid(spark):
    """One row per value, a column for each grid and type of number; all in one job."""
    rng = np.random.default_rng(3)
    grids = {name: planned(1, **bounds).grid for name, bounds in GRIDS.items()}
    signed, large = (integers(rng)[family] for family in ("signed", "large"))
    columns = {
        "double": [value for grid in grids.values() for value in floats(grid, rng)],
        "bigint": signed,
        "decimal(38,0)": signed + large,
    }
    decimals = map(Decimal, columns["decimal(38,0)"])
    rows = list(zip_longest(columns["double"], columns["bigint"], decimals))
    frame = spark.createDataFrame(rows, ", ".join(f"`{kind}` {kind}" for kind in columns))
    tried = list(product(grids.items(), columns.items()))
    found = frame.select(*(units_of(grid, kind) for (_, grid), (kind, _) in tried))
    by_column = zip(*found.collect(), strict=True)
    for ((name, grid), (kind, values)), units in zip(tried, by_column, strict=True):
        assert list(units[: len(values)]) == expected(grid, values), (name, kind)
        assert list(units[: len(values)]) == grid.units(values).tolist(), (name, kind)


def test_a_blank_name_is_nobodys(spark):
    """The same names as in files: see tests/records/test_parse_columns.py."""
    nobody = ["", " ", "   ", "\t\n", "\u00a0", "\u2003\u3000", "\u200b", "\ufeff", None]
    people = ["ann", " ann", "ann ", "7", ".", "\u00e9", "a\nb", "\n."]
    frame = spark.createDataFrame([(name,) for name in nobody + people], "u string")
    columns = Columns(time="t", user="u")
    request = Request(PLAN.grid, columns, Calendar(0, 10**9, True), 1, True, "counts")
    found = [row["high"] for row in frame.select(*_person(request)).collect()]
    assert found[: len(nobody)] == [None] * len(nobody)
    assert None not in found[len(nobody) :]
    assert len(set(found)) == len(people) + 1


def test_units_are_integers_in_every_frame_up_to_the_mechanism(spark, monkeypatch):
    frame = spark.createDataFrame(events())
    request = Request(
        PLAN.grid, Columns("amount", "at", "key"), Calendar(0, 10**9, True, 9), 1, False, "counts"
    )
    schemas = [cells_of(frame, request).schema]
    map_in_arrow = type(frame).mapInArrow

    def watched(totals, *how):
        schemas.append(totals.schema)
        return map_in_arrow(totals, *how)

    monkeypatch.setattr(type(frame), "mapInArrow", watched)
    private_decaying_sums(frame, PLAN, steps=STEPS, noise=NOISE, **HOW)
    assert len(schemas) == 2
    for schema in schemas:
        assert schema["units"].dataType.simpleString() == "bigint"


def test_no_total_is_a_float_inside_a_worker(monkeypatch):
    """What workers run, here: the totals of a table, and the records of a stream's open steps."""
    units = np.array([1234567, -2345678, 3456789])
    sums = np.array([2 * 1234567, -2345678, 3456789])
    total = np.abs([*units, *sums]).astype(float)
    trace = FloatTrace([*total, *(total * PLAN.grid.resolution)])
    buckets, given = Buckets(Mechanism.of(PLAN), NOISE, PLAN.grid.lanes), []
    run = Running.run

    def watched(running: Running, totals: np.ndarray) -> np.ndarray:
        given.append(totals.copy())
        return run(running, totals)

    monkeypatch.setattr(Running, "run", watched)
    columns = {"bucket": [0] * 3, "step": [0, 0, 1], "lane": [0, 1, 2], "units": units}
    batch = pa.RecordBatch.from_pydict(
        {name: pa.array(cells, pa.int64()) for name, cells in columns.items()}
    )
    totals: dict[int, np.ndarray] = {}
    list(Release(buckets, 2, None)([batch]))  # before the trace: it would follow the compiler
    given.clear()
    with trace.watching():
        list(Release(buckets, 2, None)([batch]))
        for _ in range(2):
            add(totals, buckets.part(0), np.array([5]), np.array([0]), units[:1])
    assert trace.seen == set()
    (table,) = given
    assert table.dtype == totals[5].dtype == np.int64
    assert table[[0, 0, 1], [0, 1, 2]].tolist() == units.tolist()
    assert totals[5][0] == sums[0]
