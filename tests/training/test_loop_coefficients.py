"""The level of the noise is that of the coefficients in use, whatever their dtype rounds."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose

from hushfade import Exponential, InvalidValue, NoDecay, SlidingWindow, Unstable
from hushfade.factors import factorization, power_series
from hushfade.training.compact_taps import compact
from hushfade.training.exponentials import CompactTaps, Exponentials
from hushfade.training.loop_coefficients import loop_of
from tests.training.test_correlated_noise import assert_level, start

SLOW = {  # factors whose float32 coefficients differ most from the declared ones
    "counting, 2^14 steps": (NoDecay(), 1 << 14),
    "counting, 2^34 steps": (NoDecay(), 1 << 34),
    "counting, 2^40 steps": (NoDecay(), 1 << 40),
    "half-life 10^9": (Exponential(half_life=1e9), None),
    "half-life 10^12": (Exponential(half_life=1e12), 1 << 40),
    "window": (SlidingWindow(length=64), None),
}


def energy_of_the_loop(loop, n):
    """Σ r_n² of the taps whose inverse has exactly the loop's coefficients, by 60 digits."""
    with mpmath.workdps(60):
        v, nu = (
            [mpmath.mpf(float(x)) for x in part[: loop.plain]]
            for part in (loop.weights, loop.fades)
        )
        # q are the zeros of 1 + Σ v_j / (ν_j - q), v < 0; each lies before one ν
        lows = [nu[0] + mpmath.fsum(v), *nu[:-1]]

        def excess(q):
            return 1 + mpmath.fsum(w / (f - q) for w, f in zip(v, nu, strict=True))

        q = []
        for start_of, end in zip(lows, nu, strict=True):
            low, high = start_of, end
            for _ in range(220):
                middle = (low + high) / 2
                low, high = (middle, high) if excess(middle) > 0 else (low, middle)
            q.append((low + high) / 2)
        omega = [1 / mpmath.fsum(-w / (f - x) ** 2 for w, f in zip(v, nu, strict=True)) for x in q]
        total = mpmath.mpf(1)
        for (a, x), (b, y) in itertools.product(zip(omega, q, strict=True), repeat=2):
            common = x + y - x * y
            total += a * b * (1 - (1 - common) ** (n - 1)) / common
        return total


def test_float32_has_the_noise_of_its_own_rounded_coefficients():
    """One margin of 2^-12 for all of them would be too little for the slowest."""
    excesses = {}
    for name, (decay, horizon) in SLOW.items():
        if isinstance(decay, SlidingWindow):
            continue  # its ring is exact in float32
        pair = compact(decay, horizon=horizon)
        loop = loop_of(pair.taps, np.dtype(np.float32))
        steps = horizon if (horizon or 1 << 25) <= 1 << 24 else mpmath.inf  # long ones: from above
        exact = pair.taps.scale * float(mpmath.sqrt(energy_of_the_loop(loop, steps)))
        assert_level(start(pair, dtype=np.float32).sensitivity, exact)
        excesses[name] = exact / pair.sensitivity().value - 1
    assert max(excesses.values()) > 2.0**-12
    assert all(abs(excess) < 0.01 for excess in excesses.values())


def test_the_loop_in_use_is_the_inverse_of_the_factors_in_use():
    """In float64, for each dtype's coefficients, by the power series."""
    n = 400
    for name, (decay, horizon) in SLOW.items():
        pair = compact(decay, horizon=horizon)
        for dtype in (np.float32, np.float64):
            loop = loop_of(pair.taps, np.dtype(dtype))
            plain = [part[: loop.plain].astype(float) for part in (loop.weights, loop.fades)]
            comb = [part[loop.plain :].astype(float) for part in (loop.weights, loop.fades)]
            inverse = Exponentials(*plain).first(n)
            teeth = np.zeros(n)
            teeth[:: loop.period] = Exponentials(*comb).first(-(-n // loop.period))
            inverse = power_series.multiply(inverse, teeth)
            one = power_series.multiply(inverse, loop.taps.first(n) / loop.taps.scale)
            assert_allclose(one, np.eye(1, n)[0], rtol=0, atol=1e-12, err_msg=f"{name} {dtype}")


def test_ending_taps_in_float32_have_the_noise_of_their_rounded_ratios():
    pair = factorization.from_right(NoDecay(), [3.0, 1.0, 0.1], 10)
    ratios = (np.array([3.0, 1.0, 0.1]) / 3.0).astype(np.float32).astype(float)
    exact = 3.0 * math.sqrt(math.fsum(ratios**2))
    assert exact != math.sqrt(math.fsum([9.0, 1.0, 0.1**2]))
    noise = start(pair, dtype=np.float32)
    assert_level(noise.sensitivity, exact)
    assert_allclose(noise.pair.right(3), 3.0 * ratios, rtol=0)


def test_coefficients_that_would_grow_are_refused():
    """1/c(1) = 10^-9 is below what float32 resolves: whether 1/c grows is chance."""
    outcomes = set()
    for weight in np.linspace(0.2, 0.3, 20):
        taps = CompactTaps(1.0, Exponentials([1e-8, weight], [1e-17, 0.5]))
        pair = factorization.Factorization(NoDecay(), taps, 1000)
        assert start(pair).steps == 0
        try:
            start(pair, dtype=np.float32)
            outcomes.add("kept")
        except Unstable as error:
            outcomes.add(str(error))
    assert len(outcomes) == 2
    assert outcomes > {"kept"}
    assert "use float64, or a faster decay" in max(outcomes, key=len)
    with pytest.raises(InvalidValue, match="at most 64 exponentials"):
        start(factorization.Factorization(NoDecay(), many_exponentials(65), 1000))


def many_exponentials(count):
    return CompactTaps(1.0, Exponentials(np.full(count, 0.1 / count), np.linspace(0.1, 0.9, count)))
