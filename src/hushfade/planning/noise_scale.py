"""The noise that a plan's guarantee requires, in grid units.  It is the same on every machine.

    Gaussian    σ² = change² ‖R̃‖² / μ²
    Laplace     slope = ε / (change ‖R̃‖₁), or steeper if δ allows it
    Huber       the steepest slope for which the bound on δ(ε) is at most δ

`change` and the taps are integers in grid units, so σ² and Laplace's slope are fractions.  They are
rounded conservatively to 48 bits.  Other slopes have 13 bits.  The bound on δ(ε) differs between
machines by a relative 1e-12; two slopes of 13 bits differ by far more.  The planner keeps the bound
below δ by a relative margin of 2^-20.  A loader does not require this margin, so it accepts a plan
from any machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from hushfade.errors import InvalidValue
from hushfade.factors.factorization import IntegerFactorization
from hushfade.laws import Gaussian, Huber, Laplace, Law
from hushfade.planning import shifts
from hushfade.privacy.guarantee import Guarantee
from hushfade.privacy.loss import PrivacyLoss
from hushfade.privacy.loss_distribution import COARSE, Losses
from hushfade.privacy.rounded_losses import Shift
from hushfade.private.grid import Grid

_BITS = 48
_LADDER = 12  # bits, after the first, of a slope that follows from a bound on the loss
STEEPEST = 64.0  # slope of Laplace noise: a table of steeper noise would hold a single 0
_LEAST, _MOST = 2.0**-48, 2.0**10  # the range of the slopes that the search tries
_MARGIN = 2.0**-20  # relative margin by which a plan stays below δ
_RATE = 30.0  # first guess of d ln δ / d ln slope
_APART = 64  # slopes on the ladder between two coarse bounds
_CERTAIN = 0.75  # share of the measured rate that shows that the next slope exceeds δ


def required_variance(guarantee: Guarantee, grid: Grid, pair: IntegerFactorization) -> Fraction:
    """The least σ² in grid units that gives the guarantee.

    Guarantee: with σ = ‖R̃ Δx‖ / μ for the largest change Δx of one person's records, the series
    R̃x + z satisfies μ-Gaussian differential privacy, even if later records depend on earlier
    releases (Denisov et al. 2022).
    """
    return Fraction(squared_sensitivity(guarantee, grid, pair)) / Fraction(guarantee.mu) ** 2


def squared_sensitivity(guarantee: Guarantee, grid: Grid, pair: IntegerFactorization) -> int:
    """The largest ‖R̃ Δx‖² for a change Δx of one person's records, in grid units."""
    return shifts.squared_change(guarantee, grid) * pair.squared_sensitivity(
        participations=guarantee.protects.steps, separation=guarantee.protects.apart
    )


def root_above(square: Fraction) -> float:
    """The least number of at most 48 bits whose square is at least `square`.

    >>> root_above(Fraction(9)), root_above(Fraction(2)) ** 2 > 2
    (3.0, True)
    """
    exponent = (square.numerator.bit_length() - square.denominator.bit_length()) // 2
    places = _BITS + 1 - exponent  # 48 bits or a few more
    while True:
        scaled = square * Fraction(4) ** places
        root = math.isqrt(math.ceil(scaled) - 1) + 1
        if root.bit_length() <= _BITS:
            return math.ldexp(root, -places)
        places -= 1


def gaussian(guarantee: Guarantee, grid: Grid, pair: IntegerFactorization) -> Gaussian:
    """The Gaussian noise that the guarantee requires."""
    return Gaussian(root_above(required_variance(guarantee, grid, pair)))


def laplace(guarantee: Guarantee, grid: Grid, pair: IntegerFactorization) -> Laplace:
    """The Laplace noise that the guarantee requires.

    Guarantee: slope · (change ‖R̃‖₁) ≤ epsilon implies pure ε-differential privacy.  If δ > 0 and
    the loss has several parts, the bound on δ(ε) allows a steeper slope.
    """
    cases = shifts.cases(guarantee, grid, pair)
    total = max(sum(size * times for size, times in case) for case in cases)
    pure = min(below(Fraction(float(guarantee.epsilon)) / total), STEEPEST)
    if guarantee.pure or all(len(case) == case[0].times == 1 for case in cases):
        return Laplace(pure)
    slope = _steepest(Laplace, cases, guarantee, 1.5 * pure)
    return Laplace(min(max(slope, pure), STEEPEST))


def huber(
    guarantee: Guarantee, grid: Grid, pair: IntegerFactorization, kappa: float, guess: float
) -> Huber:
    """The Huber noise of shape κ that the guarantee requires.  `guess` is a nearby slope."""
    cases = shifts.cases(guarantee, grid, pair)
    return _huber(_steepest(lambda slope: _huber(slope, kappa), cases, guarantee, guess), kappa)


def check_required(law: Law, guarantee: Guarantee, grid: Grid, pair: IntegerFactorization) -> None:
    """Raise InvalidValue unless the law is the noise that the guarantee requires, and no more."""
    match law:
        case Gaussian():
            same = law == gaussian(guarantee, grid, pair)
        case Laplace():
            same = law == laplace(guarantee, grid, pair)
        case Huber():
            cases = shifts.cases(guarantee, grid, pair)
            index = _index(law.slope)
            steeper = Huber(_on_ladder(index + 1), law.core)
            same = (
                _on_ladder(index) == law.slope
                and _delta(law, cases, guarantee) <= guarantee.delta
                and _delta(steeper, cases, guarantee) > guarantee.delta * (1.0 - 0.1)
            )
        case _:
            same = False
    if not same:
        raise InvalidValue("noise must be the noise that the plan's guarantee requires")


def below(value: Fraction) -> float:
    """The largest number of at most 48 bits that is at most `value`.

    >>> below(Fraction(1, 4)), Fraction(below(Fraction(1, 3))) < Fraction(1, 3)
    (0.25, True)
    """
    places = _BITS + value.denominator.bit_length() - value.numerator.bit_length()
    while True:
        scaled = math.floor(value * Fraction(2) ** places)
        if scaled.bit_length() <= _BITS:
            return math.ldexp(scaled, -places)
        places -= 1


def _huber(slope: float, kappa: float) -> Huber:
    return Huber(slope, max(1, math.floor(Fraction(kappa) / Fraction(slope) + Fraction(1, 2))))


def _steepest(
    law: Callable[[float], Law], cases: list[list[Shift]], guarantee: Guarantee, guess: float
) -> float:
    """The steepest slope of 13 bits that stays below δ, by secant steps and then neighbours.

    The search does not try the next slope if the measured rate shows that it is too steep.
    """
    wanted = math.log(guarantee.delta) + math.log1p(-_MARGIN)
    beyond = _index(_MOST)
    index = min(_index(guess), beyond - 1)
    rate = _coarse_rate(law, cases, guarantee, index)
    accepted: int | None = None
    rejected = beyond
    last: tuple[int, float] | None = None
    while accepted is None or rejected - accepted > 1:
        if not _on_ladder(index) >= _LEAST:
            raise InvalidValue(
                "epsilon and delta must allow noise that fits the grid of the records",
                remedy="give a larger resolution, epsilon or delta, or use the law 'gaussian'",
            )
        bound = _delta(law(_on_ladder(index)), cases, guarantee)
        excess = math.log(max(bound, 1e-320)) - wanted
        measured = last is not None and index != last[0]
        if last is not None and measured:
            rate = max((excess - last[1]) / (index - last[0]), rate / 8.0)
        last = index, excess
        if not excess <= 0.0:  # also if the bound is not a number
            rejected = index
        else:
            accepted = index
            if measured and excess + _CERTAIN * rate > 0.0:
                break
        new = index - math.ceil(max(-4096.0, min(4096.0, excess / rate)))
        if accepted is not None and new <= accepted:
            new = accepted + 1
        if new >= rejected:
            new = rejected - 1
        if accepted is not None and not accepted < new < rejected:
            new = (accepted + rejected) // 2
        index = new
    return _on_ladder(accepted)


def _coarse_rate(
    law: Callable[[float], Law], cases: list[list[Shift]], guarantee: Guarantee, index: int
) -> float:
    """About how fast ln δ grows per slope on the ladder, from coarse bounds."""
    near, far = (
        max(
            Losses([(law(_on_ladder(place)), case)], COARSE).delta(guarantee.epsilon)
            for case in cases
        )
        for place in (index, index + _APART)
    )
    return math.log(far / near) / _APART if 0.0 < near < far else _RATE / (1 << _LADDER)


def _delta(law: Law, cases: list[list[Shift]], guarantee: Guarantee) -> float:
    return PrivacyLoss.shifted(law, cases).delta(guarantee.epsilon)


def _on_ladder(index: int) -> float:
    """The slope with this index: it has 13 bits, and there are 4096 slopes per octave."""
    exponent, step = divmod(index, 1 << _LADDER)
    return math.ldexp((1 << _LADDER) + step, exponent - _LADDER)


def _index(slope: float) -> int:
    """The index of the largest slope on the ladder that is at most `slope`."""
    mantissa, exponent = math.frexp(slope)
    step = math.floor(mantissa * (2 << _LADDER)) - (1 << _LADDER)
    return (exponent - 1 << _LADDER) + step
