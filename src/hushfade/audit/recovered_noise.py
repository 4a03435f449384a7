"""The noise in releases: the audit undoes L, subtracts R x, and compares z itself with its law."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hushfade.audit.audited_streams import Way, inputs
from hushfade.audit.correlations import either_side, independence, repeated, sparseness
from hushfade.audit.finding import Finding, by_chance, exact, told
from hushfade.audit.noise_probabilities import energy, energy_moments, nonzero, variance
from hushfade.audit.observer import copies_of, crossed, legible, private, wide
from hushfade.audit.randomness import Chance
from hushfade.audit.sampler import Bits, binned, edges_of, far, followed, probabilities, tails
from hushfade.audit.subject import Subject
from hushfade.check import Signed
from hushfade.laws import Law
from hushfade.planning.plan import Plan

NOISE = "noise in releases"
LONGEST = 1 << 16  # steps of a stream
PAIRS = 100  # draws for a mean or a correlation, at least

_COUNTED = 10_000.0  # draws other than zero, below which they are counted if they are few
_OFF_GRID = 0.05  # of a unit: far more than rounding in float64 amounts to


class Recovered(NamedTuple):
    """The noise of some streams, (steps, lanes) each, that of empty steps, how far off the grid."""

    law: Law
    parts: list[Signed]
    empty: Signed
    off: float


def recovered(
    subject: Subject, plan: Plan, way: Way, work: int, least: int, most: int, chance: Chance
) -> Recovered:
    """The noise in `work` values, from `least` to `most` streams."""
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
    """Whole numbers, with the mean, scale and law that the plan states, and independent."""
    law, together = found.law, np.concatenate([z.ravel() for z in found.parts])
    return [
        exact(
            NOISE,
            f"{name}, the grid",
            "what crossed is a whole number of units",
            f"at most {found.off:.1g} off in {len(together):,} values",
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
        return told(NOISE, f"{name}, mean", claim, measured, "none")
    return by_chance(NOISE, f"{name}, mean", claim, measured, either_side(mean))


def _scale(name: str, law: Law, z: Signed) -> Finding:
    """All of them together, which shows a wrong scale first."""
    measured = f"{times_stated(law, z):.6f} times as stated, {len(z):,} values"
    return by_chance(NOISE, f"{name}, scale", "as the plan states", measured, scale_p(law, z))


def times_stated(law: Law, z: Signed) -> float:
    """The standard deviation of the draws over that of the law."""
    return math.sqrt(float(np.mean(z.astype(np.float64) ** 2)) / variance(law))


def scale_p(law: Law, z: Signed) -> float:
    """How often Σ h(z) is as far out, with h = -ln p: the best test of a scale.

    For Gaussian noise the sum is χ², for Laplace noise a gamma variable.  In general the audit
    takes the gamma variable with its mean and variance.  Where nearly all draws are zero, it counts
    the others.
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
    """Do the draws follow the law?  χ² over bins, far tails, and single bits."""
    if len(z) < 200:
        return []
    edges, bits = edges_of(law, len(z)), Bits(law)
    bits.add(z)
    found = [
        followed(NOISE, name, law, binned(z, edges), probabilities(law, edges)),
        tails(NOISE, name, law, far(law, z), len(z)),
    ]
    return [*found, *bits.judged(NOISE, name)]
