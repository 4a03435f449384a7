"""All kinds of columns at once: the same column gives the same bits, whatever holds it."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from hushfade import FreshNoise, HushfadeError, InvalidType, InvalidValue, Refused, plan
from hushfade.frames import release, release_totals
from tests.frames.cases import DESCRIBED, PLAN, RECORDS, SEEDED, expected
from tests.loops import for_each


class Exported:
    """Nothing but Arrow's C interface, as any library may have it."""

    def __init__(self, array):
        self._array = array

    def __arrow_c_array__(self, requested_schema=None):
        return self._array.__arrow_c_array__(requested_schema)


class Telling:
    """Tells what it holds when it cannot be converted."""

    def __init__(self, held):
        self._held = held

    def __array__(self, dtype=None, copy=None):
        raise ValueError(f"cannot convert {self._held}")


def converted(x, backend):
    with np.errstate(invalid="ignore"):  # pandas 2 tries whether infinities are whole
        return pd.Series(x).convert_dtypes(dtype_backend=backend)


KINDS = {
    "list": list,
    "tuple": tuple,
    "numpy": np.asarray,
    "pandas": pd.Series,
    "pandas nullable": lambda x: converted(x, "numpy_nullable"),
    "pandas arrow": lambda x: converted(x, "pyarrow"),
    "polars": pl.Series,
    "arrow": pa.array,
    "arrow chunks": lambda x: pa.chunked_array([x[:3], x[3:]]),
    "arrow interface": lambda x: Exported(pa.array(x)),
}
RETURNED = {"list": dict, "tuple": dict, "numpy": dict}
RETURNED |= {kind: pd.DataFrame for kind in KINDS if kind.startswith("pandas")}


@for_each("kind", KINDS)
def test_every_kind_of_column_gives_the_streams_own_bits(kind):
    data = KINDS[kind](RECORDS)
    found = release(data, plan=PLAN, noise=SEEDED)
    assert type(found) is RETURNED.get(kind, pl.DataFrame)
    assert list(found.keys() if isinstance(found, dict) else found.columns) == ["value", "stddev"]
    assert_array_equal(np.asarray(found["value"]), expected(RECORDS))
    assert_array_equal(np.asarray(found["stddev"]), PLAN.stddevs(len(RECORDS)))
    described = release(data, **DESCRIBED, noise=SEEDED)
    assert_array_equal(np.asarray(described["value"]), expected(RECORDS))


@for_each("kind", KINDS)
def test_every_kind_of_column_gives_the_same_totals_release(kind):
    totals = np.arange(40) - 12.0
    found = release_totals(KINDS[kind](totals), plan=PLAN, noise=SEEDED)
    assert_array_equal(np.asarray(found["value"]), PLAN.start(SEEDED).run(totals))


@for_each("kind", KINDS)
def test_integers_are_numbers(kind):
    whole = np.arange(-3, 5)
    found = release(KINDS[kind](whole), plan=PLAN, noise=SEEDED)
    assert_array_equal(np.asarray(found["value"]), expected(whole))
    found = release_totals(KINDS[kind](whole), plan=PLAN, noise=SEEDED)
    assert_array_equal(np.asarray(found["value"]), PLAN.start(SEEDED).run(whole))


@for_each("kind", KINDS)
@for_each("noise", [None, FreshNoise()])
def test_each_call_draws_its_own_noise(kind, noise):
    data = KINDS[kind](np.zeros(20))
    values = [release(data, plan=PLAN, noise=noise)["value"] for _ in range(2)]
    assert len(set(np.concatenate(values).tolist())) == 40


@for_each("kind", KINDS)
def test_no_rows_are_no_steps(kind):
    found = release(KINDS[kind](np.empty(0)), plan=PLAN)
    assert len(found["value"]) == len(found["stddev"]) == 0


def test_a_total_weighs_one_half_after_a_half_life():
    """By hand: 4, then 2 after one step, 1 after two, in units of 2^20; the noise is below 20."""
    said = {"half_life": 1, "epsilon": 1, "delta": 1e-6, "low": 0, "high": 1}
    found = release_totals([2**22, 0, 0], **said)
    assert found["stddev"].max() < 20
    assert np.round(found["value"] / 2**20, 2).tolist() == [4, 2, 1]


@for_each("kind", [kind for kind in KINDS if kind not in ("list", "tuple")])
def test_a_number_that_went_wrong_is_refused_with_its_row(kind):
    for bad in (np.nan, np.inf, -np.inf):
        data = KINDS[kind](np.array([1.0, bad, 0.5, bad]))
        for releasing in (release, release_totals):
            with pytest.raises(InvalidValue, match="got 2 invalid, the first in row 1"):
                releasing(data, plan=PLAN)


def test_no_refusal_tells_a_record():
    secret = 0.123456789
    for data in (
        [secret, None],
        [secret, float("nan")],
        [secret, "x"],
        [secret, object()],
        [Telling(secret)],
        pl.Series([secret, None]),
        pd.Series([secret, None]),
        pa.array([str(secret)]),
        np.array([[secret]]),
        np.ma.masked_array([secret], [False]),
        [secret],
    ):
        with pytest.raises(HushfadeError) as caught:
            release_totals(data, plan=PLAN)  # the last because it is not on the grid
        assert "1234" not in str(caught.value)
        assert caught.value.__context__ is None


def test_what_is_not_one_column_of_numbers_is_refused():
    for data in (
        3.0, "text", {"a": 1}, None, iter([1.0]), [True, False], ["a"], [1 + 2j], [None],
        np.array([True]), np.array(["2020-01-01"], dtype="datetime64[D]"),
        np.ma.masked_array([1.0], [True]), pd.DataFrame({"a": [1.0]}), pl.DataFrame({"a": [1.0]}),
        pa.table({"a": [1.0]}), pa.array([True]), pa.array(["a"]), pl.col("a"), [[1.0], [1.0, 2.0]],
    ):  # fmt: skip
        for releasing in (release, release_totals):
            with pytest.raises(InvalidType):
                releasing(data, plan=PLAN)
    with pytest.raises(InvalidType):  # a total is exact: an integer of more than 64 bits is not
        release_totals([2**80], plan=PLAN)
    with pytest.raises(InvalidValue, match="one column, got 2 dimensions"):
        release(np.zeros((2, 2)), plan=PLAN)


@for_each("kind", KINDS)
def test_totals_beside_the_grid_and_short_floats_are_refused(kind):
    with pytest.raises(InvalidValue, match="multiples of the resolution"):
        release_totals(KINDS[kind](np.array([0.1])), plan=PLAN)
    if kind not in ("list", "tuple"):
        with pytest.raises(InvalidType, match="shorter floats"):
            release_totals(KINDS[kind](np.array([1.5], dtype=np.float32)), plan=PLAN)


def test_rows_beyond_the_horizon_are_refused():
    short = plan(PLAN.decay, PLAN.guarantee, horizon=3)
    assert len(release([1, 2, 3], plan=short)["value"]) == 3
    with pytest.raises(Refused, match="horizon 3"):
        release([1, 2, 3, 4], plan=short)


def _python(code):
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_hushfade_alone_imports_neither_library():
    code = "import sys, hushfade; sys.exit(bool({'pandas', 'polars'} & set(sys.modules)))"
    assert _python(code).returncode == 0


@pytest.mark.parametrize(("absent", "there"), [("pandas", "polars"), ("polars", "pandas")])
def test_a_library_that_is_absent_is_skipped(absent, there):
    done = _python(
        f"import sys; sys.modules[{absent!r}] = None\n"
        f"import hushfade.frames, {there} as library\n"
        "a = dict(half_life=2, epsilon=1, delta=1e-6, low=0, high=1)\n"
        "assert library.Series([1, 0]).hushfade.release(**a).shape == (2, 2)\n"
        "assert len(hushfade.frames.release([1, 0], **a)['value']) == 2\n"
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_without_both_libraries_the_import_says_so():
    done = _python(
        "import sys; sys.modules.update(pandas=None, polars=None)\nimport hushfade.frames"
    )
    assert "needs pandas or Polars: pip install 'hushfade[frames]'" in done.stderr


def test_arrow_without_polars_is_refused():
    done = _python(
        "import sys; sys.modules['polars'] = None\n"
        "import hushfade.frames, pyarrow\n"
        "hushfade.frames.release(pyarrow.array([1]), power=1)"
    )
    assert "InvalidType: Arrow data need Polars" in done.stderr
