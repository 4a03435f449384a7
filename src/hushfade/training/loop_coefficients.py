"""The coefficients of the loop w = R⁻¹ z in its own dtype, and the taps of the corresponding R.

The loop uses rounded coefficients, so it divides by a slightly different R.  For a slow decay the
difference matters: 1/c(1) = 1 - Σ_j v_j/ν_j is near 0, and rounding v and ν to float32 changes it
by about 2^-24.  A constant cannot correct the sensitivity for this.  So the sensitivity is computed
for the R with exactly these coefficients.

    c(x) = 1 + Σ_i ω_i x / (1 - (1-q_i) x)         1/c = 1 - Σ_j v_j x / (1 - (1-ν_j) x)

ν are the zeros of 1 - Σ_i ω_i / (ν - q_i), and v_j = 1 / Σ_i ω_i / (ν_j - q_i)².  In the same way ω
and -q follow from v and -ν.  The code solves both in decimal arithmetic, which is the same on every
machine, and rounds once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushfade.errors import InvalidValue, Unstable
from hushfade.factors.taps import ListedTaps, Taps
from hushfade.training.exponentials import CompactTaps, Exponentials

Floats = NDArray[Any]  # float32 or float64

MOST = 64  # the most exponentials of a series
_DIGITS = 60
_ENOUGH = Decimal("1e-45")  # accuracy of a root, relative to its distance from the next pole


@dataclass(frozen=True, eq=False)
class FadingLoop:
    """The loop of compact taps: the exponentials of 1/c, then of the comb C(x^period)."""

    weights: Floats
    fades: Floats
    plain: int  # the number of exponentials of 1/c
    period: int
    taps: CompactTaps  # the loop computes the inverse of these taps


@dataclass(frozen=True, eq=False)
class EndingLoop:
    """The loop of finite taps, with the ratios r_n / r_0."""

    ratios: Floats
    taps: Taps  # the loop computes the inverse of these taps


Loop = FadingLoop | EndingLoop


def loop_of(taps: Taps, dtype: np.dtype[Any]) -> Loop:
    """The loop for these taps in this dtype.

    Raises Unstable if rounded coefficients would make the state grow without bound.
    """
    if isinstance(taps, CompactTaps):
        return _fading(taps, dtype)
    assert taps.support is not None
    r = taps.first(taps.support)
    ratios = (r / r[0]).astype(dtype)
    if dtype == np.float64:
        return EndingLoop(ratios, taps)  # accurate to the last digits of r
    return EndingLoop(ratios, ListedTaps(r[0] * ratios.astype(np.float64)))


def check_few(exponentials: int) -> None:
    """Raise InvalidValue if there are more exponentials than a loop supports."""
    if exponentials > MOST:
        raise InvalidValue(f"factors must have at most {MOST} exponentials", got=exponentials)


def _fading(taps: CompactTaps, dtype: np.dtype[Any]) -> FadingLoop:
    c, comb = taps.fading, taps.comb
    check_few(max(len(c), len(comb)))
    with localcontext(Context(prec=_DIGITS)):
        v, nu = _solved(_decimals(c.weights), _decimals(c.fades))
        weights, fades = (np.array([float(x) for x in each]).astype(dtype) for each in (v, nu))
        omega, q = _solved(_decimals(weights)[::-1], [-x for x in _decimals(fades)[::-1]])
        if q and not q[-1] <= 0:
            raise Unstable(
                f"dtype {dtype} is too short for the slowest exponential of the factors, whose "
                "rounded coefficients would grow: use float64, or a faster decay"
            )
        used = Exponentials([float(x) for x in omega[::-1]], [float(-x) for x in q[::-1]])
    teeth = [part.astype(dtype) for part in (comb.weights, comb.fades)]
    return FadingLoop(
        np.concatenate([-weights, teeth[0]]),
        np.concatenate([fades, teeth[1]]),
        len(c),
        taps.period,
        CompactTaps(taps.scale, used, Exponentials(*teeth), taps.period),
    )


def _decimals(numbers: Floats) -> list[Decimal]:
    return [Decimal(x) for x in numbers.astype(np.float64).tolist()]


def _solved(
    weights: Sequence[Decimal], poles: Sequence[Decimal]
) -> tuple[list[Decimal], list[Decimal]]:
    """The roots x_j of Σ_i weights_i / (x - poles_i) = 1, and 1 / Σ_i weights_i / (x_j - poles_i)².

    Weights are > 0 and poles rise, so there is one root between each pole and the next.
    Cost: about a dozen Newton steps per root.

    >>> ((residue,), (root,)) = _solved([Decimal("0.5")], [Decimal("0.5")])
    >>> float(residue), float(root)
    (0.5, 1.0)
    """
    if any(after <= before for before, after in pairwise(poles)):
        raise InvalidValue("factors must have exponentials that differ in their dtype")
    ends = [*poles[1:], poles[-1] + 2 * _sum(weights)] if poles else []
    roots = [_root(weights, poles, low, high) for low, high in zip(poles, ends, strict=True)]
    slopes = [_sum(w / (x - p) ** 2 for w, p in zip(weights, poles, strict=True)) for x in roots]
    return [1 / slope for slope in slopes], roots


def _root(
    weights: Sequence[Decimal], poles: Sequence[Decimal], pole: Decimal, end: Decimal
) -> Decimal:
    """The root between a pole and the next, by Newton's method, with bisection as a fallback."""
    low, high = pole, end
    x = (low + high) / 2
    while True:
        terms = [(w / (x - p), x - p) for w, p in zip(weights, poles, strict=True)]
        excess = _sum(term for term, _ in terms) - 1
        if excess > 0:
            low = x
        else:
            high = x
        new = x + excess / _sum(term / away for term, away in terms)
        if not low < new < high:
            new = (low + high) / 2
        if abs(new - x) <= _ENOUGH * (x - pole) or not low < new < high:
            return new
        x = new


def _sum(terms: Iterable[Decimal]) -> Decimal:
    return sum(terms, start=Decimal(0))
