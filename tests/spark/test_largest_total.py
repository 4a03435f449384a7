"""Totals above the plan's largest: a table stops before any noise, a stream goes on."""

from types import SimpleNamespace

import pandas as pd
import pyarrow as pa
import pytest

from hushfade import UnsafeSeededNoise
from hushfade.crossing.key_file import KeyFile, travelling
from hushfade.errors import InvalidValue
from hushfade.records import Calendar
from hushfade.spark.close_steps import Buckets, Closing
from hushfade.spark.tables import Seal
from hushfade.stream.partition import Mechanism, Running
from tests.spark.cases import PLAN, key_file


def of_units(units):
    """Cells of bucket 0: units for lane 0 of step 1."""
    columns = {"bucket": [0], "step": [1], "lane": [0], "units": [units]}
    return pa.RecordBatch.from_pydict(
        {name: pa.array(one, pa.int64()) for name, one in columns.items()}
    )


def test_a_table_with_a_total_above_the_largest_is_rejected_before_noise_is_claimed(tmp_path):
    """What workers run, here: sealing comes first, and noise is drawn when all is sealed."""
    noise = KeyFile(key_file(tmp_path), stream="visits")
    sealing = Seal(Buckets(Mechanism.of(PLAN), travelling(noise), PLAN.grid.lanes), 2)
    assert len(list(sealing([of_units(PLAN.grid.largest_total)]))) == 1
    with pytest.raises(InvalidValue, match="exceeds the plan's largest_total"):
        list(sealing([of_units(PLAN.grid.largest_total + 1)]))


def value_state(*_):
    """As much of a value in Spark's state as a bucket needs."""
    kept = [None]
    return SimpleNamespace(get=lambda: kept[0], update=lambda value: kept.__setitem__(0, value))


def map_state(*_):
    """As much of a map in Spark's state as a bucket needs."""
    kept = {}
    return SimpleNamespace(
        keys=lambda: list(kept), containsKey=kept.__contains__, getValue=kept.__getitem__,
        updateValue=kept.__setitem__, removeKey=kept.__delitem__,
    )  # fmt: skip


HANDLE = SimpleNamespace(
    getValueState=value_state, getMapState=map_state, registerTimer=lambda at: None
)


def test_a_total_of_a_stream_stops_at_the_plans_largest(monkeypatch):
    """If it stopped the query, one record would decide about the releases of all later steps."""
    given, run, most = [], Running.run, PLAN.grid.largest_total

    def watched(running, totals):
        given.append(totals.copy())
        return run(running, totals)

    monkeypatch.setattr(Running, "run", watched)
    buckets = Buckets(Mechanism.of(PLAN), UnsafeSeededNoise(1), PLAN.grid.lanes)
    closing = Closing(buckets, Calendar(0, 10**9, True, 2), "bond")
    closing.init(HANDLE)
    closing.handleInitialState((0,), None, None)
    rows = pd.DataFrame({"step": [0, 0, 1], "lane": [0, 1, 0], "units": [most + 5, -most - 5, 3]})
    list(closing.handleInputRows((0,), [rows], None))
    watermark = SimpleNamespace(getCurrentWatermarkInMs=lambda: 2000)
    (released,) = closing.handleExpiredTimer((0,), watermark, None)
    assert len(released) == 2 * len(PLAN.keys)
    assert given[0][:, :2].tolist() == [[most, -most], [3, 0]]
