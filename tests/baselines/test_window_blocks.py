import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import toeplitz

from hushfade import Guarantee, NoDecay, SlidingWindow
from hushfade.baselines.window_blocks import window_blocks
from hushfade.errors import InvalidType, InvalidValue
from hushfade.factors import factorization
from tests.loops import for_each

STEPS = [1, 2, 3, 8, 13, 33, 100, 128]
WIDTHS = [1, 2, 3, 7, 16, 64, 100, 300]
GUARANTEE = Guarantee(epsilon=1, delta=1e-6)


def window(w, n):
    return toeplitz(SlidingWindow(length=w).weights(n), np.zeros(n))


@for_each("w", WIDTHS)
@for_each("n", STEPS)
def test_the_matrices_multiply_to_the_window_and_have_the_stated_norms(w, n):
    mechanism = window_blocks(SlidingWindow(length=w), n)
    L, R = (part.toarray() for part in mechanism.matrices())
    assert_allclose(L @ R, window(w, n), rtol=0, atol=1e-12)
    # 1e-12: sums of at most 128 products; the overlaps come from an FFT
    assert_allclose(mechanism.errors, np.linalg.norm(L, axis=1), rtol=1e-12)
    assert_allclose(mechanism.sensitivity, np.max(np.linalg.norm(R, axis=0)), rtol=1e-12)
    assert not np.any(np.triu(L, 1))
    assert not np.any(np.triu(R, 1))
    assert mechanism.online


@pytest.mark.parametrize("w", [1, 3, 16])
def test_the_answer_is_two_noisy_counts_less_one(w):
    n = 5 * w + 1
    L, R = (part.toarray() for part in window_blocks(SlidingWindow(length=w), n).matrices())
    # R is the square root of the count, block by block
    for block in (range(b, min(b + w, n)) for b in range(0, n, w)):
        part = R[np.ix_(block, block)]
        assert_allclose(part @ part, np.tril(np.ones(part.shape)), rtol=0, atol=1e-13)
    y = np.random.default_rng(5).normal(size=n)
    u = R @ y
    expected = u.copy()
    for t in range(w, n):
        expected[t] += u[t // w * w - 1] - u[t - w]
    assert_allclose(L @ y, expected, rtol=0, atol=1e-12)


def test_the_printed_difference_of_two_counts_is_no_window_sum():
    x, w = np.arange(1.0, 10.0), 3
    u = np.concatenate([np.cumsum(x[b : b + w]) for b in range(0, 9, w)])
    printed = np.where(np.arange(9) < w, u, u - np.roll(u, w))
    # the counts of blocks are 1, 3, 6 | 4, 9, 15 | 7, 15, 24
    assert_array_equal(printed, [1, 3, 6, 3, 6, 9, 3, 6, 9])
    L, R = window_blocks(SlidingWindow(length=w), 9).matrices()
    assert_allclose(L @ (R @ x), [1, 3, 6, 9, 12, 15, 18, 21, 24], rtol=0, atol=1e-12)


@for_each(("w", "printed"), [(16, "2.891"), (256, "4.439"), (4096, "5.974")])
@for_each("n", [8192, 65536, 2**20])
def test_the_block_column_at_every_horizon(w, printed, n):
    found = window_blocks(SlidingWindow(length=w), n).error_factor
    assert f"{found:.3f}" == printed
    # above what the theorem states
    assert found > math.sqrt(2) * (1 + math.log(w) / math.pi + 2 / w)


@pytest.mark.parametrize("w", [16, 256, 4096])
def test_the_square_root_of_the_window_is_better_by_27_percent(w):
    n = 2**16
    root = factorization.square_root(SlidingWindow(length=w)).error_factor(n)
    blocks = window_blocks(SlidingWindow(length=w), n).error_factor
    assert f"{1 - root / blocks:.2f}" == "0.27"


def test_simulated_errors_have_the_stated_deviation_and_no_mean():
    mechanism = window_blocks(SlidingWindow(length=7), 60)
    L, R = mechanism.matrices()
    draws, generator = 4000, np.random.default_rng(6)
    z = generator.normal(scale=mechanism.noise_stddev(GUARANTEE), size=(60, draws))
    x = generator.integers(0, 10, size=60).astype(float)
    errors = L @ ((R @ x)[:, None] + z) - (window(7, 60) @ x)[:, None]
    stated = mechanism.stddevs(GUARANTEE)
    # 5 standard errors
    assert np.all(np.abs(np.mean(errors, axis=1)) <= 5 * stated / math.sqrt(draws))
    assert_allclose(np.std(errors, axis=1), stated, rtol=5 / math.sqrt(2 * draws))
    one = mechanism.simulate(x, GUARANTEE, generator=generator)
    assert np.max(np.abs(one - window(7, 60) @ x) / stated) < 6


def test_a_window_of_one_step_is_noise_on_the_inputs():
    mechanism = window_blocks(SlidingWindow(length=1), 5)
    assert_array_equal(mechanism.errors, np.ones(5))
    assert mechanism.sensitivity == 1.0


def test_only_windows_have_blocks():
    with pytest.raises(InvalidType, match="decay must be a SlidingWindow, got NoDecay"):
        window_blocks(NoDecay(), 10)
    with pytest.raises(InvalidValue, match="horizon must be an integer >= 1, got 0"):
        window_blocks(SlidingWindow(length=2), 0)
