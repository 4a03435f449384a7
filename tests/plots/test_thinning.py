import numpy as np
import pytest
from numpy.testing import assert_array_equal

from hushfade.plots import thinning


def columns_of(x, columns):
    share = (x - x[0]) / (x[-1] - x[0])
    return np.minimum(np.floor(share * columns), columns - 1)


def irregular(n):
    return np.sort(np.random.default_rng(1).exponential(size=n))


# Laws ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [1, 7, 100])
def test_every_column_keeps_its_ends_and_its_extremes(columns):
    x = irregular(5000)
    rows = np.random.default_rng(2).normal(size=(2, 5000))
    at = thinning.kept(x, *rows, columns=columns)
    assert len(at) <= 6 * columns
    assert np.all(np.diff(at) > 0)
    column = columns_of(x, columns)
    for name in np.unique(column):
        inside = column == name
        drawn = at[inside[at]]
        assert x[drawn].min() == x[inside].min()
        assert x[drawn].max() == x[inside].max()
        for row in rows:
            assert row[drawn].min() == row[inside].min()
            assert row[drawn].max() == row[inside].max()


def test_an_envelope_holds_every_point_and_no_more_than_its_column():
    x, centre = irregular(3000), np.random.default_rng(4).normal(size=3000)
    wide, low, high = thinning.envelope(x, centre - 1, centre + 2, columns=50)
    assert np.all(np.interp(x, wide, low) <= centre - 1)
    assert np.all(np.interp(x, wide, high) >= centre + 2)
    assert low.min() == centre.min() - 1
    assert high.max() == centre.max() + 2
    assert len(wide) <= 100


# Edges ---------------------------------------------------------------------------------------


def test_a_short_series_is_kept_whole():
    x = np.arange(40.0)
    assert_array_equal(thinning.kept(x, -x, columns=10), np.arange(40))
    assert all(
        a is b for a, b in zip(thinning.envelope(x, x, x, columns=10), (x, x, x), strict=True)
    )


def test_equal_values_are_kept_once_and_equal_times_are_one_column():
    flat = np.zeros(1000)
    assert_array_equal(thinning.kept(np.arange(1000.0), flat, columns=1), [0, 999])
    up = np.arange(1000.0)
    assert_array_equal(thinning.kept(flat, up, columns=10), [0, 999])
