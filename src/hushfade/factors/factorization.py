"""Factor pairs M = L R: the mechanism applies R before it adds noise, and L afterwards.

For Toeplitz pairs right·left = f as power series, so L = M R⁻¹ for *any* invertible R.  An inexact
R only costs accuracy.  It causes no bias, and no loss of privacy, because the sensitivity is
computed from the R in use.

    square_root(decay)             r = √g, the paper's factorization
    blend(decay, c)                r = 1 + c (√g - 1)
    from_right(decay, right)       any right with r_0 ≠ 0, then zeros
    normalized(decay, horizon)     √g with a gain per step, for a known horizon
    unbounded_counting(expect=n)   counting without a horizon, best near n steps
    pair.rounded(bits)             taps as integers / 2^bits
    pair.with_integers(...)        integer taps from the caller
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from hushfade import check, decays
from hushfade.check import Column, Matrix, Signed
from hushfade.errors import InvalidType, InvalidValue, Unstable
from hushfade.factors import power_series, zeros
from hushfade.factors import sensitivity as participation
from hushfade.factors.columns import sum_of_squares
from hushfade.factors.counting_parameters import EXPECTED, expected_taps
from hushfade.factors.sensitivity import Sensitivity
from hushfade.factors.taps import (
    BlendedTaps,
    CountingTaps,
    IntegerTaps,
    ListedTaps,
    RootTaps,
    Taps,
)

if TYPE_CHECKING:
    from hushfade.decays import Decay

_ADDED_UP = 1 << 24  # the most steps whose taps are summed one by one
LONGEST = 1 << 20  # the most taps that `rounded` keeps without a horizon


@dataclass(frozen=True, eq=False)
class Factorization:
    """R = diag(gain) Toeplitz(right), L = Toeplitz(left) diag(1/gain), L R = M.

    `horizon` is the number of steps, or None if there is no limit.  `gain` None means all ones.
    """

    decay: Decay
    taps: Taps
    horizon: int | None = None
    gain: Column | None = None

    def __post_init__(self) -> None:
        decays.checked_decay(self.decay)
        if self.horizon is not None:
            check.settle(self, horizon=check.count(horizon=self.horizon))
        if self.gain is not None:
            gain = check.coefficients(gain=self.gain)
            if not (float(np.min(gain)) > 0 and len(gain) == self.horizon):
                raise InvalidValue("gain must be > 0 at each step of the horizon")
            gain.flags.writeable = False
            check.settle(self, gain=gain)

    def right(self, n: int) -> Column:
        """r_0, ..., r_{n-1}."""
        return self.taps.first(self._steps(n))

    def left(self, n: int) -> Column:
        """l_0, ..., l_{n-1} with l = g/r."""
        return _left(self, self._steps(n))

    def errors(self, n: int) -> Column:
        """‖L_t‖ for t = 0, ..., n-1: the standard deviations of the error for unit noise.

        ‖L_t‖² = Σ_{k≤t} l_k² / gain_{t-k}².  Cost: the left taps and one FFT product.
        """
        square = self.left(n) ** 2
        if self.gain is None:
            return np.sqrt(np.cumsum(square))
        sums = power_series.plain_product(square, 1.0 / self.gain[:n] ** 2, slice(0, n))
        return np.sqrt(np.maximum(sums, 0.0))

    def largest_error(self, n: int) -> float:
        """The largest of the first n errors; without a gain, the last one."""
        if self.gain is None:
            return math.sqrt(_squared_left(self, self._steps(n)))
        return float(np.max(self.errors(n)))

    def sensitivity(
        self, n: int | None = None, *, participations: int = 1, separation: int = 1
    ) -> Sensitivity:
        """‖R‖₁→₂ over the first n steps; by default over the horizon, or over all steps.

        With `participations` = k, up to k records change by at most 1 each.  They are at least
        `separation` = b steps apart; see `sensitivity.repeated`.  With a gain, the result is k
        times the norm of the largest column.
        """
        k = check.count(participations=participations)
        b = check.count(separation=separation)
        steps = self.horizon if n is None else self._steps(n)
        if steps is not None:
            k = min(k, 1 + (steps - 1) // b)
        if self.gain is not None:
            assert steps is not None
            column = participation.once(self.taps.first(steps), self.gain[:steps])
            return Sensitivity(k * column, exact=k == 1)
        support = self.taps.support
        if k == 1 and (steps is None or (support is not None and support <= steps)):
            exact = support is not None or not isinstance(self.taps, CountingTaps)
            return Sensitivity(math.sqrt(self.taps.energy()), exact)
        if steps is None:
            return self._endless(k, b)
        if steps > _ADDED_UP and not isinstance(self.taps, RootTaps):
            return Sensitivity(self._endless(k, b).value, exact=False)
        return participation.repeated(self.taps.first(steps), k, b)

    def _endless(self, k: int, b: int) -> Sensitivity:
        """The sensitivity of an endless stream, which is an upper bound for a finite one."""
        support = self.taps.support
        if support is None and k == 1:
            return Sensitivity(math.sqrt(self.taps.energy()), exact=False)
        if support is None:
            raise InvalidValue(
                "n must be given for repeated participation with endless taps, and be at most "
                f"{_ADDED_UP}"
            )
        return participation.forever(self.taps.first(support), k, b)

    def error_factor(self, n: int) -> float:
        """‖L‖₂→∞ · ‖R‖₁→₂ over the first n steps.

        This is the worst standard deviation of a stream of n steps, for a noise multiplier of 1 and
        a record that changes by 1.  γ2(M) is its minimum over all factorizations.

        >>> from hushfade.decays import NoDecay
        >>> round(square_root(NoDecay()).error_factor(1024), 4)
        3.2726
        """
        return self.largest_error(n) * self.sensitivity(n).value

    @property
    def memory(self) -> int | None:
        """The number of values that the private half keeps; None if it keeps all past totals.

        The values are past step totals, or for compact taps their sums.
        """
        return self.horizon if self.taps.memory is None else self.taps.memory

    def matrices(self, n: int) -> tuple[Matrix, Matrix]:
        """L and R as dense n × n matrices, for checks."""
        from scipy.linalg import toeplitz

        above = np.zeros(n)
        gain = np.ones(n) if self.gain is None else self.gain[:n]
        left, right = toeplitz(self.left(n), above), toeplitz(self.right(n), above)
        return left / gain[None, :], gain[:, None] * right

    def rounded(self, bits: int, *, longest: int = LONGEST) -> IntegerFactorization:
        """The pair with r̃_n = round(2^bits r_n) / 2^bits and left = g/r̃.

        Taps below half a unit become 0, so the support is finite.  Without a horizon it has at most
        `longest` taps.  Raises Unstable if r̃ has a zero inside the unit disk.
        """
        bits = check.count(bits=bits, most=40)
        taps = self._lasting(bits, longest)
        return self.with_integers(np.rint(np.ldexp(taps, bits)), bits)

    def with_integers(self, integers: Column, bits: int) -> IntegerFactorization:
        """The pair with r̃_n = integers_n / 2^bits, then zeros, and left = g/r̃.

        A gain is rounded, too: to 10 binary places, or more if it is small, but at most `bits`.
        Raises Unstable if r̃ has a zero inside the unit disk.
        """
        return self.with_pieces(np.arange(len(integers) + 1), integers, bits)

    def with_pieces(self, ends: Signed, values: Column, bits: int) -> IntegerFactorization:
        """The pair as in `with_integers`, for integers with these constant pieces.

        Piece i runs from ends_i to ends_{i+1}.
        """
        if not float(np.max(np.abs(values))) < 2.0**53:
            raise Unstable(f"right must stay below 2^53 with bits = {bits}, but its taps grow")
        gain = self.gain
        if gain is not None:
            places = min(bits, max(10, 10 - math.frexp(float(np.min(gain)))[1]))
            gain = np.ldexp(np.rint(np.ldexp(gain, places)), -places)
        taps = IntegerTaps.merging(ends, values.astype(np.int64), bits)
        pair = IntegerFactorization(self.decay, taps, self.horizon, gain)
        _check_stable(pair)
        return pair

    def _lasting(self, bits: int, longest: int) -> Column:
        """The taps up to the last one that does not round to 0, the horizon, or `longest`."""
        end = min(check.count(longest=longest), self.horizon or longest)
        n = max(1024, 8 * len(self.decay.knots()))
        while n < end:
            taps = self.taps.first(n)
            if np.max(np.abs(taps[n // 2 :])) < 0.5 * 2.0**-bits:
                return taps
            n *= 2
        return self.taps.first(end)

    def _steps(self, n: int) -> int:
        return check.count(n=n, most=self.horizon)


class IntegerFactorization(Factorization):
    """A pair with integer taps, and a gain of multiples of 2^-bits, as a plan uses it.

    The mechanism adds noise to R̃ x, exact integers in units of 2^-places.
    """

    taps: IntegerTaps

    def __post_init__(self) -> None:
        super().__post_init__()
        bits = self.taps.bits
        if self.gain is not None and np.any(np.ldexp(self.gain, bits) % 1.0 != 0.0):
            raise InvalidValue(f"gain must have at most the taps' {bits} binary places")

    @property
    def places(self) -> int:
        """The binary places of R̃ x: the places of the taps, or twice as many with a gain."""
        return self.taps.bits * (1 if self.gain is None else 2)

    @cached_property
    def integer_gain(self) -> Signed | None:
        """gain · 2^taps.bits."""
        if self.gain is None:
            return None
        return np.ldexp(self.gain, self.taps.bits).astype(np.int64)

    def squared_sensitivity(self, *, participations: int = 1, separation: int = 1) -> int:
        """The square of `sensitivity` in units of 2^-places: an integer, and an upper bound.

        It is the same on every machine, and determines the noise of a plan.
        """
        k = check.count(participations=participations)
        return _squared_sensitivity(self, k, check.count(separation=separation))


def square_root(decay: Decay, horizon: int | None = None) -> Factorization:
    """The paper's pair r = l = √g.

    If the weights never rise and ∫|g| is finite, no pair has a smaller error factor in the long run
    (Bennett 1977).  For counting, ∫|g| is infinite, and the ratio to the least factor tends to 1.

    >>> from hushfade.decays import Exponential
    >>> pair = square_root(Exponential(half_life=1))
    >>> pair.right(3), round(pair.sensitivity().value ** 2, 6)
    (array([1.     , 0.25   , 0.09375]), 1.073182)
    """
    return Factorization(decay, RootTaps(decay), horizon)


def blend(decay: Decay, c: float, horizon: int | None = None) -> Factorization:
    """The pair r = 1 + c (√g - 1): noise on the inputs for c = 0, the square root for c = 1."""
    if not 0 < check.real(c=c) <= 1:
        raise InvalidValue("must be in (0, 1]", argument="c", got=repr(c))
    return Factorization(decay, BlendedTaps(decay, float(c)), horizon)


def from_right(decay: Decay, right: Column, horizon: int | None = None) -> Factorization:
    """The pair with the given right taps, then zeros, and left = g/right.

    Raises Unstable if `right` has a zero inside the unit disk, because left would then grow
    geometrically.
    """
    pair = Factorization(decay, ListedTaps(right), horizon)
    _check_stable(pair)
    return pair


def normalized(decay: Decay, horizon: int) -> Factorization:
    """The pair √g with a gain per step, R = D⁻¹ H and L = H D, for a known horizon T.

    d_t² = (S_{T-1-t} / S_t)^κ with S_m = Σ_{i≤m} a_i².  Early noise is larger and late noise is
    smaller, because late columns are short.  κ in [0, 1] minimises the true ‖L‖·‖R‖, so the pair is
    never worse than the square root (κ = 0).  For counting at T = 1024 it has 3.096 instead of
    3.273.

    A Fibonacci search (Kiefer 1953) finds κ, a multiple of 1/89.  A value counts as smaller only if
    the difference exceeds rounding errors, so κ is the same on every machine.
    Cost: about 20 FFT products.
    """
    root = square_root(decay, check.count(horizon=horizon))
    energy = np.cumsum(root.right(horizon) ** 2)
    balance = np.log(energy[::-1] / energy)

    @cache
    def pair(part: int) -> Factorization:
        return replace(root, gain=np.exp(-0.5 * (part / 89) * balance)) if part else root

    @cache
    def error(part: int) -> float:
        return pair(part).error_factor(horizon)

    def smaller(one: int, other: int) -> bool:
        return error(one) < error(other) * (1.0 - 2.0**-40)

    low, inner, outer = 0, 34, 55  # Fibonacci numbers: one new value per round
    while inner < outer:
        if smaller(low + outer, low + inner):
            low += inner
        inner, outer = outer - inner, inner
    best = low + 1
    if best == 88 and smaller(89, best):
        best = 89
    return pair(best) if smaller(best, 0) else root


def unbounded_counting(
    *, expect: int | None = None, c: float | None = None, beta: float | None = None
) -> Factorization:
    """Counting without a horizon: r = (1-x)^-½ ℓ^-β, l = (1-x)^-½ ℓ^β, ℓ = 1 + c ln(1/(1-x)).

    `expect` is the expected number of steps, 2^20 by default.  It is not a horizon.  With it,
    `counting_parameters` chooses c and β, and the taps end after 2 · expect steps.  The error is
    then at most 1.4 times the error of the square root with a known horizon, from 2^8 steps to
    16 · expect.  After that it grows like √t.

    With c and beta, the taps never end.  The error always grows like (ln t)^(½+β), but the noise is
    larger, because it also covers the taps that a plan would cut off.

    >>> pair = unbounded_counting(expect=1024)
    >>> known = square_root(NoDecay()).error_factor(1024)
    >>> print(f"{pair.sensitivity().value * pair.errors(1024)[-1] / known:.2f}")
    1.03
    """
    if c is not None and beta is not None and expect is None:
        return Factorization(decays.NoDecay(), CountingTaps(c, beta))
    if c is not None or beta is not None:
        raise InvalidType("either expect or both c and beta must be given")
    return Factorization(decays.NoDecay(), expected_taps(EXPECTED if expect is None else expect))


@lru_cache(maxsize=16)
def _left(pair: Factorization, n: int) -> Column:
    left = pair.taps.left(pair.decay, n)
    left.flags.writeable = False
    return left


@lru_cache(maxsize=16)
def _squared_left(pair: Factorization, n: int) -> float:
    """Σ_{k<n} l_k²."""
    total = pair.taps.squared_left(pair.decay, n)
    return sum_of_squares(_left(pair, n)) if total is None else total


@lru_cache(maxsize=8)
def _squared_sensitivity(pair: IntegerFactorization, k: int, b: int) -> int:
    return participation.squared(
        pair.taps, gain=pair.integer_gain, steps=pair.horizon, participations=k, separation=b
    )


# Whether the left factor stays bounded: where right has zeros ----------------------------------


def _check_stable(pair: Factorization) -> None:
    """Raise Unstable if the left factor grows geometrically.

    It never grows if right has no zero inside the disk.  Zeros on the circle are accepted if left
    ends (with a window's own weights as right, left = 1).  Zeros inside are accepted if left does
    not grow within the horizon.  A zero inside that g shares is rejected, too, because it does not
    cancel in floating point.
    """
    if _zeros_inside(pair) == 0:
        return
    support = pair.taps.support
    assert support is not None
    n = pair.horizon or 4 * support + 1024
    try:
        left = np.abs(_left(pair, n))
    except InvalidValue:  # beyond float64 within the first n steps
        left = np.array([0.0, np.inf])
    early, late = float(np.max(left[: len(left) // 2])), float(np.max(left[len(left) // 2 :]))
    if not late <= (1e-9 if pair.horizon is None else 4.0) * early:
        raise Unstable(
            "right must have no zero inside the unit disk, because its left factor would grow "
            "without bound: use more bits, or a horizon within which it does not grow"
        )


def _zeros_inside(pair: Factorization) -> int | None:
    """The number of zeros of right inside the disk; None where one is too near the circle."""
    taps = pair.taps
    if isinstance(taps, IntegerTaps):
        if zeros.falls(taps.values):
            return 0
        count = zeros.zeros_inside_pieces(taps.jumps, taps.values, _period(pair.decay))
        if count is not None:
            return count
    assert taps.support is not None
    return zeros.zeros_inside(taps.first(taps.support))


def _period(decay: Decay) -> int | None:
    """The lag with which the jumps of right nearly repeat, if there is one: the longest window."""
    longest = max(part.window or 0 for _, part in decay.terms)
    return longest if longest > 2 else None
