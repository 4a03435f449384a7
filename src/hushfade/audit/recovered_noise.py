"""The noise in releases: the audit inverts L, subtracts R̃ x, and compares z with its law."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hushfade.audit.audited_streams import Way, inputs
from hushfade.audit.correlations import either_side, independence, repeated, sparseness
from hushfade.audit.finding import Finding, by_chance, exact, info
from hushfade.audit.noise_probabilities import energy, energy_moments, nonzero, variance
from hushfade.audit.observer import copies_of, crossed, legible, private, wide
from hushfade.audit.randomness import Chance
from hushfade.audit.sampler import Bits, binned, edges_of, far, followed, probabilities, tails
from hushfade.audit.subject import Subject
from hushfade.check import Signed
from hushfade.laws import Law
from hushfade.planning.plan import Plan

NOISE = "noise in releases"
LONGEST = 1 << 16  # the most steps of a stream
PAIRS = 100  # the fewest draws for a mean or a correlation

_COUNTED = 10_000.0  # with fewer expected nonzero draws, the scale test counts them
_OFF_GRID = 0.05  # in units: far more than float64 rounding errors


class Recovered(NamedTuple):
    """The noise of some streams (steps, lanes), and of their empty steps; the largest rounding."""

    law: Law
    parts: list[Signed]
    empty: Signed
    off: float


def recovered(
    subject: Subject, plan: Plan, way: Way, work: int, least: int, most: int, chance: Chance
) -> Recovered:
    """The noise in about `work` values of `least` to `most` streams."""
    lanes = plan.grid.lanes
    steps = min(plan.horizon or LONGEST, max(2, work // (least * lanes)), LONGEST)
    steps = legible(plan, steps)
    if steps * lanes * most < work:
        plan = wide(plan, copies_of(plan, steps, work // most, work))
    plan = subject.plan(plan)
    lanes = plan.grid.lanes
    runs = max(least, min(most, -(-work // (steps * lanes))))
    parts, empty, off = [], [], 0.0
    for _ in range(runs):
        units = inputs(plan, steps, chance)
        y = crossed(plan, way(plan, units))
        whole = np.rint(y)
        off = max(off, float(np.max(np.abs(y - whole))))
        z = whole.astype(np.int64) - private(plan, units)
        parts.append(z)
        empty.append(z[units == 0])
    return Recovered(plan.law, parts, np.concatenate(empty), off)


def judged(name: str, found: Recovered) -> list[Finding]:
    """Findings that the noise is integer and independent, with the stated mean, scale and law."""
    law, together = found.law, np.concatenate([z.ravel() for z in found.parts])
    return [
        exact(
            NOISE,
            f"{name}, the grid",
            "the values that crossed are whole numbers of units",
            f"largest distance {found.off:.1g} units in {len(together):,} values",
            passed=found.off < _OFF_GRID,
        ),
        _centred(name, law, together),
        _scale(name, law, together),
        *followed_law(name, law, together),
        *independence(NOISE, name, law, found.parts),
        repeated(NOISE, name, law, found.parts),
    ]


def _centred(name: str, law: Law, z: Signed) -> Finding:
    mean = float(np.sum(z)) / math.sqrt(variance(law) * len(z))
    measured, claim = f"{mean:.2f} standard errors, {len(z):,} values", "zero"
    if len(z) < PAIRS * sparseness(law):
        return info(NOISE, f"{name}, mean", claim, measured, "none")
    return by_chance(NOISE, f"{name}, mean", claim, measured, either_side(mean))


def _scale(name: str, law: Law, z: Signed) -> Finding:
    """The finding on the scale of all draws together, which is the most sensitive test."""
    measured = f"{times_stated(law, z):.6f} times the stated scale, {len(z):,} values"
    return by_chance(NOISE, f"{name}, scale", "as the plan states", measured, scale_p(law, z))


def times_stated(law: Law, z: Signed) -> float:
    """The standard deviation of the draws, divided by the law's standard deviation."""
    return math.sqrt(float(np.mean(z.astype(np.float64) ** 2)) / variance(law))


def scale_p(law: Law, z: Signed) -> float:
    """The p-value of Σ h(z) with h = -ln p: the most powerful test of a scale.

    With Gaussian noise the sum is χ², with Laplace noise it is gamma.  In general the test uses the
    gamma distribution with the same mean and variance.  If nearly all draws are zero, the test
    counts the nonzero draws.
    """
    from scipy.stats import binom, gamma

    share = nonzero(law)
    if share < 0.5 and len(z) * share < _COUNTED:
        seen = int(np.count_nonzero(z))
        tails = binom.cdf(seen, len(z), share), binom.sf(seen - 1, len(z), share)
        return min(1.0, 2.0 * float(min(tails)))
    mean, spread = energy_moments(law)
    shape = len(z) * mean * mean / spread
    total = float(np.sum(energy(law, z))) * mean / spread
    return min(1.0, 2.0 * float(min(gamma.sf(total, shape), gamma.cdf(total, shape))))


def followed_law(name: str, law: Law, z: Signed) -> list[Finding]:
    """Findings that the draws follow the law: χ² over bins, far tails, and single bits."""
    if len(z) < 200:
        return []
    edges, bits = edges_of(law, len(z)), Bits(law)
    bits.add(z)
    found = [
        followed(NOISE, name, law, binned(z, edges), probabilities(law, edges)),
        tails(NOISE, name, law, far(law, z), len(z)),
    ]
    return [*found, *bits.judged(NOISE, name)]
