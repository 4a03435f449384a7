import numpy as np
import pytest
from numpy.testing import assert_allclose

from hushfade.factors import fast_division as module
from hushfade.factors import power_series
from hushfade.factors.fast_division import quotient, stepped_quotient
from tests.loops import for_each


def stepped(rng, n, pieces):
    """A falling column of a few pieces."""
    lags = np.unique(np.append(0, rng.integers(1, n, size=pieces)))
    values = np.sort(rng.random(len(lags)))[::-1] + 0.01
    return np.repeat(values, np.diff(lags, append=n))


def jumps_of(r):
    """The jumps of a column and their heights, the last one to zero included."""
    heights = np.diff(r, prepend=0.0, append=0.0)
    return np.flatnonzero(heights), heights[heights != 0.0]


# Laws ----------------------------------------------------------------------------------------


@for_each("n", [1, 2, 3, 64, 65, 1000, 5000])
def test_the_quotient_times_the_divisor_is_the_dividend(n):
    rng = np.random.default_rng(n)
    for r in (stepped(rng, n, 9) if n > 1 else np.ones(1), np.append(2.0, rng.random(n) / n)):
        f = rng.normal(size=n)
        for q in (quotient(f, r), stepped_quotient(f, *jumps_of(r))):
            assert len(q) == n
            assert_allclose(np.convolve(q, r)[:n], f, atol=1e-12 * np.max(np.abs(q)))


@pytest.mark.parametrize("seed", range(4))
def test_by_jumps_and_by_newton_it_is_that_of_the_accurate_series(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    n = 40_000 + 77
    r = stepped(rng, n // 2, 30)
    f = 1.0 / np.arange(1, n + 1)
    padded = np.append(r, np.zeros(n - len(r)))
    accurate = power_series.multiply(f, power_series.inverse(padded))
    assert_allclose(quotient(f, r), accurate, atol=1e-13)
    for longest in (n, n - 1):  # by Newton's iteration, by the compiled loop
        monkeypatch.setattr(module, "_LONG", longest)
        assert_allclose(stepped_quotient(f, *jumps_of(r)), accurate, atol=1e-13)


# Numbers and edges ---------------------------------------------------------------------------


def test_a_geometric_series():
    assert_allclose(quotient(np.array([1.0, 0, 0, 0, 0]), np.array([1.0, -2.0])), [1, 2, 4, 8, 16])
    assert_allclose(quotient(np.array([3.0]), np.array([2.0, 5.0])), [1.5])


def test_what_overflows_is_not_finite_and_not_a_warning(monkeypatch):
    n = 40_000
    for r in (np.array([1.0, -3.0]), np.append(1.0, np.full(700, -3.0))):
        assert not np.all(np.isfinite(quotient(np.ones(n), r)))
        for longest in (n, n - 1):
            monkeypatch.setattr(module, "_LONG", longest)
            assert not np.all(np.isfinite(stepped_quotient(np.ones(n), *jumps_of(r))))


def test_the_arguments_are_left_as_they_are(monkeypatch):
    n = 5000
    f, r = np.ones(n), np.append(np.ones(9), np.full(n - 9, 0.5))
    jumps, heights = jumps_of(r)
    monkeypatch.setattr(module, "_LONG", n - 1)
    quotient(f, r)
    stepped_quotient(f, jumps, heights)
    assert np.all(f == 1.0)
    assert np.all(r[:9] == 1.0)
    assert np.array_equal(jumps, [0, 9, n])
    assert np.array_equal(heights, [1.0, -0.5, -0.5])
