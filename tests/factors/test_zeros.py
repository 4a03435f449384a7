"""Zeros inside the disk, counted without a doubt, of columns and of few constant pieces."""

import numpy as np
import pytest

from hushfade import PowerLaw, SlidingWindow
from hushfade.factors import factorization
from hushfade.factors.zeros import falls, zeros_inside, zeros_inside_pieces
from tests.decays import ALL_DECAYS
from tests.loops import for_each
from tests.stepped_taps import stepped


def with_zeros(*zeros):
    """The real polynomial with these zeros and their conjugates, p_0 = 1."""
    p = np.ones(1)
    for zero in zeros:
        z = complex(zero)
        part = [1.0, -1.0 / z.real] if z.imag == 0 else [1.0, -2 * (1 / z).real, 1 / abs(z) ** 2]
        p = np.convolve(p, part)
    return p


def turns(p, samples=1 << 20):
    """The winding number by brute force: very many samples, unwrapped."""
    angle = np.unwrap(np.angle(np.fft.fft(p, samples)))
    closing = np.angle(np.sum(p) / np.fft.fft(p, samples)[-1])
    return -round((angle[-1] - angle[0] + closing) / (2 * np.pi))


# Laws ----------------------------------------------------------------------------------------


@for_each("seed", range(40))
def test_random_polynomials_have_as_many_zeros_inside_as_their_roots_say(seed):
    rng = np.random.default_rng(seed)
    for _ in range(10):
        p = rng.normal(size=rng.integers(2, 30))
        sizes = np.abs(np.roots(p[::-1]))
        if np.min(np.abs(sizes - 1.0)) > 1e-6:
            assert zeros_inside(p) == np.count_nonzero(sizes < 1.0)


@for_each("seed", range(20))
def test_piecewise_constant_polynomials_too(seed):
    rng = np.random.default_rng(seed)
    for _ in range(5):
        values = rng.normal(size=8)
        values[0] += 3.0
        p = np.repeat(values, rng.integers(1, 30, size=8))
        sizes = np.abs(np.roots(p[::-1]))
        found = zeros_inside(p)
        if found is None:
            assert np.min(np.abs(sizes - 1.0)) < 1e-5
        else:
            assert found == np.count_nonzero(sizes < 1.0)


@for_each("gap", [0.1, 1e-3, 1e-5])
@for_each("angle", [0.0, 0.001, 1.0, 2.5, np.pi])
def test_a_zero_just_inside_is_told_from_one_just_outside(gap, angle):
    here = np.exp(1j * angle) if 0.0 < angle < np.pi else np.cos(angle)
    each = 1 if np.isreal(here) else 2
    assert zeros_inside(with_zeros((1 - gap) * here, 2.0, -1.5)) == each
    assert zeros_inside(with_zeros((1 + gap) * here, 2.0, -1.5)) == 0


@pytest.mark.parametrize("apart", [1e-2, 1e-3, 1e-4])
def test_zeros_that_lie_close_together_are_not_missed(apart):
    # two of them turn the argument by a whole turn between neighbouring samples, which a test of
    # samples alone takes for none
    first, second = ((1 - 1e-4) * np.exp(1j * angle) for angle in (1.0, 1.0 + apart))
    assert zeros_inside(with_zeros(first, second)) == 4
    assert zeros_inside(with_zeros(1 / first, 1 / second)) == 0


@for_each("decay", ALL_DECAYS)
def test_falling_taps_have_no_zero_inside(decay):
    if decay.log_convex:
        taps = factorization.square_root(decay, 500).rounded(10).right(500)
        assert falls(taps)
        assert turns(taps) == 0


@pytest.mark.parametrize(
    ("bits", "tolerance", "zeros"), [(8, 0.12, 0), (10, 0.12, 3), (8, 0.25, 10), (10, 0.05, 0)]
)
def test_a_stepped_window_is_unstable_as_brute_force_says(bits, tolerance, zeros):
    # the horizon is so long that all taps are kept, and too long for some to be served for ever
    pair = stepped(factorization.square_root(SlidingWindow(length=64), 1 << 14), bits, tolerance)
    p = pair.right(pair.memory)
    assert turns(p) == zeros_inside(p) == zeros


# Numbers -------------------------------------------------------------------------------------


def test_known_polynomials():
    assert zeros_inside(np.array([1.0, 3.0])) == 1
    assert zeros_inside(np.array([3.0, 1.0])) == 0
    assert zeros_inside(np.array([1.0, 0.0, 4.0])) == 2  # ±i/2
    assert zeros_inside(np.array([1.0, -2.5, 1.0])) == 1  # 2 and 1/2
    assert zeros_inside(np.array([5.0])) == 0
    assert zeros_inside(np.array([2.0, 0.0, 1.0, 0.0, 0.0])) == 0  # zeros at the end are none


# Edges ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [[1.0, -1.0], [1.0, 0.0, 1.0], [1.0, -1.0, 1.0], [1.0, 0.5, 1.0]])
def test_a_zero_on_the_circle_is_not_told(p):
    assert zeros_inside(np.array(p)) is None


def test_the_scale_and_the_sign_do_not_matter():
    p = factorization.square_root(SlidingWindow(length=7)).right(60)
    q = with_zeros(0.9, 1.1, 1.3j)
    for scale in (1e-200, -1.0, 1e200):
        assert zeros_inside(scale * p) == zeros_inside(p) == 0
        assert zeros_inside(scale * q) == 1


def test_falls():
    assert falls(np.array([2.0, 1.0, 1.0, 0.0]))
    assert not falls(np.array([2.0, 1.0, 1.5]))
    assert not falls(np.array([2.0, 1.0, -0.5]))
    assert falls(PowerLaw(power=1).weights(9))
    assert not falls(np.array([1, -(2**62), 2**62, 1]))  # whose differences int64 cannot hold


def _column(jumps, values):
    return np.repeat(values, np.diff(jumps)).astype(float)


def test_the_count_is_that_of_the_whole_polynomial_for_any_period():
    random = np.random.default_rng(1)
    known = 0
    for case in range(400):
        jumps = np.append(0, np.cumsum(random.integers(1, 6, random.integers(1, 9))))
        values = random.integers(-20, 21, len(jumps) - 1)
        values[0], values[-1] = random.integers(10, 60), values[-1] or 7
        expected = zeros_inside(_column(jumps, values))
        for period in (None, int(random.integers(3, 12))):
            count = zeros_inside_pieces(jumps, values, period)
            if count is not None and expected is not None:
                assert count == expected, f"case {case}: {jumps}, {values}, period {period}"
                known += 1
    assert known > 300  # otherwise the comparison shows nothing


def test_zeros_of_a_long_polynomial_are_counted():
    length = 10**6
    for values, zeros in (([10**7, -1], 0), ([1, 3 * 10**6, 1], 1)):  # the second: 1 + 3·10^6 x
        jumps = np.array([*range(len(values)), length])
        assert zeros_inside_pieces(jumps, np.array(values)) == zeros


def test_rounded_taps_of_windows_have_the_zeros_that_the_whole_column_has():
    for length in (16, 200, 1000):
        for bits in (6, 8, 10):
            exact = factorization.blend(SlidingWindow(length=length), 0.5)
            r = exact.right(6 * length)
            starts = np.unique(np.geomspace(1, len(r), 60).astype(int) - 1)
            starts = np.unique(np.append(starts, np.arange(0, len(r), length)))
            means = np.rint(np.add.reduceat(r, starts) / np.diff(starts, append=len(r)) * 2**bits)
            jumps, values = np.append(starts, len(r)), means.astype(np.int64)
            while values[-1] == 0:
                jumps, values = jumps[:-1], values[:-1]
            expected = zeros_inside(_column(jumps, values))
            count = zeros_inside_pieces(jumps, values, length)
            assert count is not None
            assert count == expected, f"length {length}, bits {bits}"
