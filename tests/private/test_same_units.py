"""All input paths give the same units for the same values, however they are written."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from hushfade.errors import HushfadeError
from hushfade.records import Columns, tables
from hushfade.records import parse_columns as parse
from tests.private import input_paths
from tests.private.adversarial_values import GRIDS, expected, floats, integers
from tests.private.input_paths import PATHS, doors, planned


@pytest.mark.parametrize("name", GRIDS)
def test_every_path_gives_the_same_units(name, tmp_path, monkeypatch):
    rng = np.random.default_rng(11)
    grid = planned(1, **GRIDS[name]).grid
    batches = []
    monkeypatch.setattr(input_paths, "through_store", lambda sent, *_: batches.append(sent))
    for family, values in {"floats": floats(grid, rng), **integers(rng)}.items():
        plan = planned(len(values), **GRIDS[name])
        wanted = expected(plan.grid, values)
        tried = 0
        for path, found in PATHS.items():
            low, high = found.integers
            if family != "floats" and not all(low <= value < high for value in values):
                continue
            tried += 1
            batches.clear()
            with doors(monkeypatch) as given:
                found.work(plan, values, tmp_path)
            (units,) = [sent.units for sent in batches] or [units for _, units in given]
            compared = zip(values, units.ravel().tolist(), wanted, strict=True)
            wrong = [value for value, unit, right in compared if unit != right]
            assert not wrong, f"{path}, {family}: {wrong[:5]}"
        assert tried >= 8
        by_key = plan.grid.record_sums(dict(zip(plan.keys, values, strict=True)))
        assert by_key.tolist() == wanted


def test_a_number_beyond_float64_is_rejected_by_every_path(tmp_path, monkeypatch):
    plan = planned(2)
    for value in (10**400, -(10**400)):
        for path, found in PATHS.items():
            if found.integers[1] < 10**300:
                continue
            with doors(monkeypatch) as given:
                if path.startswith("live"):  # others are not stopped: the record counts nowhere
                    found.work(plan, [1, value], tmp_path)
                    assert [units.tolist() for _, units in given] == [[1024, 0]]
                    continue
                with pytest.raises(HushfadeError) as caught:
                    found.work(plan, [1, value], tmp_path)
            assert given == [], path
            assert "0000" not in str(caught.value)


def test_decimals_become_the_nearest_float64():
    """Arrow's own conversion misses it for one in ten of these."""
    rng = np.random.default_rng(5)
    column = Columns(value="v")
    for digits, places in ((18, 3), (38, 20), (38, 0), (38, 37)):
        whole = [int("".join(map(str, rng.integers(0, 10, digits)))) for _ in range(500)]
        values = [Decimal(number).scaleb(-places) for number in whole]
        table = pa.table({"v": pa.array(values, pa.decimal128(digits, places))})
        (batch,) = tables(table, column)
        found, _ = parse.numbers(batch, "v")
        assert found.tolist() == [float(str(value)) for value in values]
