import numpy as np
import pytest
from numpy.testing import assert_allclose

from hushfade.numerics import fast_division as module
from hushfade.numerics import power_series
from hushfade.numerics.fast_division import quotient
from tests.loops import for_each


def stepped(rng, n, pieces):
    """A falling column of a few pieces."""
    lags = np.unique(np.append(0, rng.integers(1, n, size=pieces)))
    values = np.sort(rng.random(len(lags)))[::-1] + 0.01
    return np.repeat(values, np.diff(lags, append=n))


# Laws ----------------------------------------------------------------------------------------


@for_each("n", [1, 2, 3, 64, 65, 1000, 5000])
def test_the_quotient_times_the_divisor_is_the_dividend(n):
    rng = np.random.default_rng(n)
    for r in (stepped(rng, n, 9) if n > 1 else np.ones(1), np.append(2.0, rng.random(n) / n)):
        f = rng.normal(size=n)
        q = quotient(f, r)
        assert len(q) == n
        assert_allclose(np.convolve(q, r)[:n], f, atol=1e-12 * np.max(np.abs(q)))


@pytest.mark.parametrize("seed", range(4))
def test_by_blocks_and_by_newton_it_is_that_of_the_accurate_series(seed):
    rng = np.random.default_rng(seed)
    n = 5 * module._BLOCK + 77  # of several blocks, the last not full
    r = stepped(rng, n // 2, 30)
    f = 1.0 / np.arange(1, n + 1)
    padded = np.append(r, np.zeros(n - len(r)))
    accurate = power_series.multiply(f, power_series.inverse(padded))
    for found in (quotient(f, r), module._newton(f, padded)):
        assert_allclose(found, accurate, atol=1e-13)


def test_many_jumps_are_divided_by_newton():
    rng = np.random.default_rng(1)
    n = 5 * module._BLOCK
    r = np.append(1.0, 0.3 * rng.normal(size=n - 1) / n)
    q = quotient(np.ones(n), r)
    assert_allclose(power_series.multiply(q, r), np.ones(n), atol=1e-10)


# Numbers and edges ---------------------------------------------------------------------------


def test_a_geometric_series():
    assert_allclose(quotient(np.array([1.0, 0, 0, 0, 0]), np.array([1.0, -2.0])), [1, 2, 4, 8, 16])
    assert_allclose(quotient(np.array([3.0]), np.array([2.0, 5.0])), [1.5])


def test_what_overflows_is_not_finite_and_not_a_warning():
    n = 5 * module._BLOCK
    for r in (np.array([1.0, -3.0]), np.append(1.0, np.full(700, -3.0))):
        assert not np.all(np.isfinite(quotient(np.ones(n), r)))


def test_the_arguments_are_left_as_they_are():
    n = 5 * module._BLOCK
    f, r = np.ones(n), np.append(np.ones(9), np.full(n - 9, 0.5))
    quotient(f, r)
    assert np.all(f == 1.0)
    assert np.all(r[:9] == 1.0)
