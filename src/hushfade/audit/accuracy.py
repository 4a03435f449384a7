"""The released error: its mean, its deviation at each step, its covariance, and the noise in it.

Sums of squares are compared by χ², several numbers in one check by the union bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from hushfade.audit.correlations import either_side, fisher, independence, repeated, two_sided
from hushfade.audit.effort import Size
from hushfade.audit.finding import Finding, by_chance, exact
from hushfade.audit.observer import copies_of, crossed, decayed, in_use, legible, private, wide
from hushfade.audit.randomness import Chance
from hushfade.audit.sampler import Bits, binned, edges_of, far, followed, probabilities, tails
from hushfade.audit.second_process import single
from hushfade.audit.subject import Subject
from hushfade.audit.total_sizes import largest_tried, one_record
from hushfade.check import Matrix, Signed
from hushfade.crossing.noise_sources import FreshNoise, KeyedNoise, NoiseSource
from hushfade.planning.plan import Plan

ERROR, NOISE = "released error", "noise in releases"

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

    sigma: float
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
    return [
        _unbiased(name, error / stated[:, None]),
        _deviations(name, error / stated[:, None]),
        _covariance(name, plan, error / stated[:, None]),
    ]


def noise(subject: Subject, plan: Plan, name: str, size: Size, chance: Chance) -> list[Finding]:
    """Streams of the plan itself, at length: whole numbers, of the stated law, unrelated.

    A plan that ends early runs in copies.
    """
    found = _recovered(subject, plan, started(subject, chance.noise), size.work, 1, _RUNS, chance)
    judged = _judged(name, found)
    return [*judged, *_law(f"{name}, empty steps", found.sigma, found.empty)[:2]]


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
    return Recovered(plan.sigma, parts, np.concatenate(empty), off)


def _judged(name: str, found: Recovered) -> list[Finding]:
    sigma, together = found.sigma, np.concatenate([z.ravel() for z in found.parts])
    return [
        exact(
            NOISE,
            f"{name}, the grid",
            "what crossed is a whole number of units",
            f"at most {found.off:.1g} off in {len(together):,} values",
            passed=found.off < _OFF_GRID,
        ),
        _centred(name, sigma, together),
        _variance(name, sigma, together),
        *_law(name, sigma, together),
        *independence(NOISE, name, found.parts),
        repeated(NOISE, name, sigma, found.parts),
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


def _centred(name: str, sigma: float, z: Signed) -> Finding:
    mean = float(np.sum(z)) / math.sqrt((sigma**2 + 1.0 / 12.0) * len(z))
    measured = f"{mean:.2f} standard errors, {len(z):,} values"
    return by_chance(NOISE, f"{name}, mean", "zero", measured, either_side(mean))


def _variance(name: str, sigma: float, z: Signed) -> Finding:
    """All of them together, which shows a wrong scale first."""
    square = float(np.sum(z.astype(np.float64) ** 2)) / (sigma**2 + 1.0 / 12.0)
    p = float(two_sided(square, len(z)))
    measured = f"{math.sqrt(square / len(z)):.6f} times as stated, {len(z):,} values"
    return by_chance(NOISE, f"{name}, scale", "σ as the plan says", measured, p)


def _law(name: str, sigma: float, z: Signed) -> list[Finding]:
    if len(z) < 200:
        return []
    edges, bits = edges_of(sigma, len(z)), Bits(sigma)
    bits.add(z)
    found = [
        followed(NOISE, name, binned(z, edges), probabilities(sigma, edges)),
        tails(NOISE, name, sigma, far(sigma, z), len(z)),
    ]
    return [*found, *bits.judged(NOISE, name)]
