"""The released error: its mean, its deviation at each step, its covariance, and the noise in it.

The error is L z.  Gaussian errors are compared as they are, by χ².  For other laws the sum of a few
draws has no simple law, so the audit undoes L and compares z itself with its law.  Several numbers
in one check are joined by the union bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from hushfade.audit.correlations import (
    either_side,
    fisher,
    independence,
    repeated,
    sparseness,
    two_sided,
)
from hushfade.audit.effort import Size
from hushfade.audit.finding import Finding, by_chance, exact, told
from hushfade.audit.noise_probabilities import (
    beyond,
    energy,
    energy_moments,
    nonzero,
    variance,
)
from hushfade.audit.observer import copies_of, crossed, decayed, in_use, legible, private, wide
from hushfade.audit.randomness import Chance
from hushfade.audit.sampler import Bits, binned, edges_of, far, followed, probabilities, tails
from hushfade.audit.second_process import single
from hushfade.audit.subject import Subject
from hushfade.audit.total_sizes import largest_tried, one_record
from hushfade.check import Matrix, Signed
from hushfade.crossing.noise_sources import FreshNoise, KeyedNoise, NoiseSource
from hushfade.laws import Gaussian, Law
from hushfade.planning.plan import Plan

ERROR, NOISE = "released error", "noise in releases"

_PAIRS = 100  # draws for a mean or a correlation, at least
_COUNTED = 10_000.0  # draws other than zero, below which they are counted if they are few
_CORRELATED = 40  # steps of the covariance
_RUNS, _FEW = 100, 8  # streams of one plan, at most
_SHARE = 16  # of the work, for every source
_LIVE = 1 << 13  # values by single steps: noise is drawn ahead for a thousand
_LONGEST = 1 << 16
_ANSWERED = 1 << 12  # lags of the answer to a single total
_CLOSE = 1e-9
_OFF_GRID = 0.05  # of a unit: what rounding in float64 may amount to, by far


Way: TypeAlias = Callable[[Plan, Signed], Matrix]
"""From totals in grid units to releases, by a stream of its own."""


class Recovered(NamedTuple):
    """The noise of some streams, (steps, lanes) each, that of empty steps, how far off the grid."""

    law: Law
    parts: list[Signed]
    empty: Signed
    off: float


def accuracy(subject: Subject, plan: Plan, name: str, size: Size, chance: Chance) -> list[Finding]:
    """Copies of the plan, many times over: unbiased, with the stated deviations and covariance."""
    steps = min(plan.horizon or size.steps, size.steps)
    copies = max(100 // plan.grid.lanes + 1, copies_of(plan, steps, size.work, size.copies))
    plan = subject.plan(wide(plan, copies))
    units = inputs(plan, steps, chance)
    released = started(subject, chance.noise)(plan, units)
    error = released - decayed(plan, units)
    stated = plan.stddevs(steps)
    unbiased = _unbiased(name, error / stated[:, None])
    if isinstance(plan.law, Gaussian):
        scaled = error / stated[:, None]
        return [unbiased, _deviations(name, scaled), _covariance(name, plan, scaled)]
    z = np.rint(crossed(plan, released)).astype(np.int64) - private(plan, units)
    return [unbiased, _scales(name, plan.law, z), _uncorrelated(name, plan.law, z)]


def noise(subject: Subject, plan: Plan, name: str, size: Size, chance: Chance) -> list[Finding]:
    """Streams of the plan itself, at length: whole numbers, of the stated law, unrelated.

    A plan that ends early runs in copies.
    """
    found = _recovered(subject, plan, started(subject, chance.noise), size.work, 1, _RUNS, chance)
    judged = _judged(name, found)
    return [*judged, *_law(f"{name}, empty steps", found.law, found.empty)[:2]]


def sources(subject: Subject, plan: Plan, name: str, size: Size, chance: Chance) -> list[Finding]:
    """The same of every source that a stream may have, also of what is loaded half way, or live.

    Live steps under keyed noise are compared with others by `replay`, so default noise is left.
    """
    work, judged = size.work // _SHARE, []
    for kind, source in kinds_of_noise(chance).items():
        ways = {kind: started(subject, source), f"{kind}, loaded": loaded(subject, source)}
        for said, way in ways.items():
            found = _recovered(subject, plan, way, work, 2, _FEW, chance)
            judged += _judged(f"{name}, {said}", found)
    live = _recovered(subject, plan, _live(subject), min(work, _LIVE), 2, _FEW, chance)
    return [*judged, *_judged(f"{name}, default noise, live", live)]


def kinds_of_noise(chance: Chance) -> dict[str, Callable[[], NoiseSource | None]]:
    """Every kind of source that a stream may have; keyed noise has another key each time."""
    return {
        "default noise": lambda: None,
        "fresh noise": FreshNoise,
        "keyed noise": lambda: KeyedNoise(chance.key(), stream="audit"),
    }


def weights(subject: Subject, plan: Plan, name: str, chance: Chance) -> list[Finding]:
    """The answer to a single total, without noise, against the decay's own formula.

    `observer.in_use`, by which noise is recovered, is compared with it too: what the stream and the
    audit both take from one place would otherwise be checked against itself.
    """
    plan = subject.plan(plan)
    lanes = plan.grid.lanes
    n = min(plan.horizon or _ANSWERED, max(2, _LONGEST // lanes), _ANSWERED)
    stated = plan.decay.weights(n)
    units, source = np.zeros((n, lanes), dtype=np.int64), chance.noise()
    quiet = started(subject, lambda: source)(plan, units)
    units[0] = plan.grid.largest_total // 8
    loud = started(subject, lambda: source)(plan, units)
    answer = (loud - quiet) / (units[0] * plan.grid.resolution)
    close = _CLOSE * np.abs(stated) + 1e-13 * np.max(np.abs(stated))
    # float64 rounds both releases
    rounded = 2.0**-46 * np.maximum.accumulate(np.abs(quiet) + np.abs(loud))
    room = close[:, None] + rounded / (units[0] * plan.grid.resolution)
    off = np.abs(answer - stated[:, None])
    used = np.abs(in_use(plan, n) - stated) <= close
    passed = bool(np.all(off <= room) and np.all(used))
    measured = f"at most {np.max(off) / np.max(np.abs(stated)):.1g} of the largest off, {n:,} lags"
    claim = "the decay's weights"
    return [exact(ERROR, f"{name}, weights", claim, measured, passed=passed)]


def inputs(plan: Plan, steps: int, chance: Chance) -> Signed:
    """Totals in grid units, of either sign: some of a few records, some of any size.

    Half of the steps are empty; some lanes have records from the middle on, some never.
    """
    rng, shape = chance.inputs(), (steps, plan.grid.lanes)
    units = rng.integers(1, 4, size=shape) * one_record(plan)
    spread = rng.uniform(0.0, math.log(largest_tried(plan, steps)), size=shape)
    units = np.where(rng.integers(0, 2, size=shape), units, np.exp(spread).astype(np.int64))
    units *= rng.choice((-1, 1), size=shape) * rng.integers(0, 2, size=(steps, 1))
    units[: steps // 2, 1::3] = 0
    units[:, 2::3] = 0
    return units.astype(np.int64)


def started(subject: Subject, source: Callable[[], NoiseSource | None]) -> Way:
    """Streams in one go, each with a source of its own."""

    def released(plan: Plan, units: Signed) -> Matrix:
        totals = units * plan.grid.resolution
        return subject.start(plan, source()).run(totals).reshape(units.shape)

    return released


def loaded(subject: Subject, source: Callable[[], NoiseSource | None]) -> Way:
    """The first half by a stream that is saved, the second by the one that is loaded."""

    def released(plan: Plan, units: Signed) -> Matrix:
        totals, half, noise = units * plan.grid.resolution, len(units) // 2, source()
        stream = subject.start(plan, noise)
        first = stream.run(totals[:half])
        again = subject.load(stream.save(), noise).run(totals[half:])
        return np.concatenate([first, again]).reshape(units.shape)

    return released


def _live(subject: Subject) -> Way:
    """Step by step, with default noise, which is drawn ahead."""

    def released(plan: Plan, units: Signed) -> Matrix:
        stream = subject.start(plan, None)
        totals = np.asarray(units * plan.grid.resolution)
        return single(plan, stream, totals).reshape(units.shape)

    return released


def _recovered(
    subject: Subject, plan: Plan, way: Way, work: int, least: int, most: int, chance: Chance
) -> Recovered:
    """The noise in so many values, of at least and at most so many streams."""
    lanes = plan.grid.lanes
    steps = min(plan.horizon or _LONGEST, max(2, work // (least * lanes)), _LONGEST)
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


def _judged(name: str, found: Recovered) -> list[Finding]:
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
        *_law(name, law, together),
        *independence(NOISE, name, law, found.parts),
        repeated(NOISE, name, law, found.parts),
    ]


def _unbiased(name: str, scaled: Matrix) -> Finding:
    z = np.mean(scaled, axis=1) * math.sqrt(scaled.shape[1])
    measured = f"largest mean {np.max(np.abs(z)):.2f} standard errors, {len(z)} steps"
    return by_chance(ERROR, f"{name}, mean", "zero at every step", measured, either_side(z))


def _deviations(name: str, scaled: Matrix) -> Finding:
    """At each step: of all lanes, of those whose records come late, of those without any."""
    smallest, count, worst = 1.0, 0, 1.0
    for lanes in (slice(0, None, 3), slice(1, None, 3), slice(2, None, 3)):
        group = scaled[:, lanes]
        if group.shape[1] == 0:
            continue
        sums = np.sum(group**2, axis=1)
        p = two_sided(sums, group.shape[1])
        count += len(p)
        if np.min(p) < smallest:
            smallest = float(np.min(p))
            worst = math.sqrt(float(sums[np.argmin(p)]) / group.shape[1])
    measured = f"farthest {worst:.4f} times as stated, {scaled.shape[0]} steps, {scaled.shape[1]:,}"
    return by_chance(
        ERROR, f"{name}, stddevs", "plan.stddevs at every step", f"{measured} copies",
        min(1.0, smallest * count),
    )  # fmt: skip


def _covariance(name: str, plan: Plan, error: Matrix) -> Finding:
    """Correlations of the errors of two steps against those of L Lᵀ."""
    n = min(_CORRELATED, len(error))
    L = plan.pair.matrices(len(error))[0][:n]
    expected = L @ L.T
    scale = np.sqrt(np.diag(expected))
    pairs = np.triu_indices(n, 1)
    if not pairs[0].size:
        return by_chance(ERROR, f"{name}, covariance", "σ² L Lᵀ", "a single step", 1.0)
    wanted = (expected / np.outer(scale, scale))[pairs]
    with np.errstate(invalid="ignore", divide="ignore"):
        seen = np.asarray(np.corrcoef(error[:n]))[pairs]
    near = np.clip(1.0 - np.abs(wanted), 1e-12, None)
    z = (fisher(seen) - fisher(wanted)) * math.sqrt(error.shape[1] - 3)
    z = np.where(near < 1e-9, 0.0, z)
    largest = float(np.max(np.abs(z)))
    measured = f"largest of {len(z)} correlations {largest:.2f} standard errors off"
    return by_chance(ERROR, f"{name}, covariance", "σ² L Lᵀ", measured, either_side(z))


def _scales(name: str, law: Law, z: Signed) -> Finding:
    """At each step, for lanes with records from the start, late, or never: the scale of z."""
    ps, worst = [], 1.0
    for row in z:
        for lanes in (row[0::3], row[1::3], row[2::3]):
            if not len(lanes):
                continue
            ps.append(scale_p(law, lanes))
            if ps[-1] <= min(ps):
                worst = _times_stated(law, lanes)
    measured = f"farthest {worst:.4f} times as stated, {z.shape[0]} steps, {z.shape[1]:,} copies"
    claim = "L z with z of the stated scale at every step"
    return by_chance(ERROR, f"{name}, stddevs", claim, measured, min(1.0, min(ps) * len(ps)))


def _uncorrelated(name: str, law: Law, z: Signed) -> Finding:
    """Correlations of z at two steps, as bounded numbers: all zero if the covariance is σ² L Lᵀ."""
    subject, claim = f"{name}, covariance", "σ² L Lᵀ"
    n = min(_CORRELATED, len(z))
    pairs = np.triu_indices(n, 1)
    if not pairs[0].size or z.shape[1] < _PAIRS * sparseness(law):
        return by_chance(ERROR, subject, claim, "too few steps or draws for a correlation", 1.0)
    bounded = np.sign(z[:n]) * (1.0 - 2.0 * beyond(law, np.maximum(np.abs(z[:n]), 1.0)))
    with np.errstate(invalid="ignore", divide="ignore"):
        seen = np.asarray(np.corrcoef(bounded))[pairs]
    off = fisher(seen) * math.sqrt(z.shape[1] - 3)
    largest = float(np.max(np.abs(off)))
    measured = f"largest of {len(off)} correlations of L⁻¹ error {largest:.2f} standard errors"
    return by_chance(ERROR, subject, claim, measured, either_side(off))


def _centred(name: str, law: Law, z: Signed) -> Finding:
    mean = float(np.sum(z)) / math.sqrt(variance(law) * len(z))
    measured, claim = f"{mean:.2f} standard errors, {len(z):,} values", "zero"
    if len(z) < _PAIRS * sparseness(law):
        return told(NOISE, f"{name}, mean", claim, measured, "none")
    return by_chance(NOISE, f"{name}, mean", claim, measured, either_side(mean))


def _scale(name: str, law: Law, z: Signed) -> Finding:
    """All of them together, which shows a wrong scale first."""
    measured = f"{_times_stated(law, z):.6f} times as stated, {len(z):,} values"
    return by_chance(NOISE, f"{name}, scale", "as the plan states", measured, scale_p(law, z))


def _times_stated(law: Law, z: Signed) -> float:
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


def _law(name: str, law: Law, z: Signed) -> list[Finding]:
    if len(z) < 200:
        return []
    edges, bits = edges_of(law, len(z)), Bits(law)
    bits.add(z)
    found = [
        followed(NOISE, name, law, binned(z, edges), probabilities(law, edges)),
        tails(NOISE, name, law, far(law, z), len(z)),
    ]
    return [*found, *bits.judged(NOISE, name)]
