"""The released error: its mean, its standard deviation at each step, its covariance, its noise.

The error is L z.  The audit tests Gaussian errors directly, by χ².  With other laws the sum of a
few draws has no simple distribution, so the audit inverts L and compares z itself with its law.
A check that tests several numbers combines them by the union bound.
"""

from __future__ import annotations

import math

import numpy as np

from hushfade.audit import recovered_noise
from hushfade.audit.audited_streams import inputs, kinds_of_noise, live, loaded, started
from hushfade.audit.correlations import either_side, fisher, sparseness, two_sided
from hushfade.audit.effort import Size
from hushfade.audit.finding import Finding, by_chance, exact
from hushfade.audit.noise_probabilities import beyond
from hushfade.audit.observer import copies_of, crossed, decayed, in_use, private, wide
from hushfade.audit.randomness import Chance
from hushfade.audit.recovered_noise import LONGEST, PAIRS, followed_law, scale_p, times_stated
from hushfade.audit.subject import Subject
from hushfade.check import Matrix, Signed
from hushfade.laws import Gaussian, Law
from hushfade.planning.plan import Plan

ERROR = "released error"

_CORRELATED = 40  # steps of the covariance
_RUNS, _FEW = 100, 8  # the largest numbers of streams of one plan
_SHARE = 16  # every noise source gets 1/16 of the work
_LIVE = 1 << 13  # values by single steps; a stream draws noise ahead for a thousand steps
_ANSWERED = 1 << 12  # lags of the response to a single total
_CLOSE = 1e-9


def accuracy(subject: Subject, plan: Plan, name: str, size: Size, chance: Chance) -> list[Finding]:
    """Findings on many copies of the plan: bias, standard deviations and covariance."""
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
    """Findings on long streams of the plan: integer noise with the stated law, independent.

    A plan with a short horizon runs in copies.
    """
    way = started(subject, chance.noise)
    found = recovered_noise.recovered(subject, plan, way, size.work, 1, _RUNS, chance)
    judged = recovered_noise.judged(name, found)
    return [*judged, *followed_law(f"{name}, empty steps", found.law, found.empty)[:2]]


def sources(subject: Subject, plan: Plan, name: str, size: Size, chance: Chance) -> list[Finding]:
    """The same findings for every noise source, also for restored streams and for single steps.

    Single steps are tested with default noise only: `replay` compares them under keyed noise.
    """
    work, judged = size.work // _SHARE, []
    for kind, source in kinds_of_noise(chance).items():
        ways = {kind: started(subject, source), f"{kind}, loaded": loaded(subject, source)}
        for description, way in ways.items():
            found = recovered_noise.recovered(subject, plan, way, work, 2, _FEW, chance)
            judged += recovered_noise.judged(f"{name}, {description}", found)
    found = recovered_noise.recovered(
        subject, plan, live(subject), min(work, _LIVE), 2, _FEW, chance
    )
    return [*judged, *recovered_noise.judged(f"{name}, default noise, live", found)]


def weights(subject: Subject, plan: Plan, name: str, chance: Chance) -> list[Finding]:
    """The finding that compares the noise-free response to one total with the decay's formula.

    The audit recovers noise with `observer.in_use`, which shares code with the stream.  So this
    check compares `in_use` with the formula too.
    """
    plan = subject.plan(plan)
    lanes = plan.grid.lanes
    n = min(plan.horizon or _ANSWERED, max(2, LONGEST // lanes), _ANSWERED)
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
    error = np.max(off) / np.max(np.abs(stated))
    measured = f"largest error {error:.1g} of the largest weight, {n:,} lags"
    claim = "the decay's weights"
    return [exact(ERROR, f"{name}, weights", claim, measured, passed=passed)]


def _unbiased(name: str, scaled: Matrix) -> Finding:
    z = np.mean(scaled, axis=1) * math.sqrt(scaled.shape[1])
    measured = f"largest mean {np.max(np.abs(z)):.2f} standard errors, {len(z)} steps"
    return by_chance(ERROR, f"{name}, mean", "zero at every step", measured, either_side(z))


def _deviations(name: str, scaled: Matrix) -> Finding:
    """The finding on each step's deviation, for lanes with early, late and no records."""
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
    measured = f"worst ratio {worst:.4f}, {scaled.shape[0]} steps, {scaled.shape[1]:,} copies"
    claim, bound = "plan.stddevs at every step", min(1.0, smallest * count)
    return by_chance(ERROR, f"{name}, stddevs", claim, measured, bound)


def _covariance(name: str, plan: Plan, error: Matrix) -> Finding:
    """The finding that compares correlations of errors at two steps with L Lᵀ."""
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
    """The finding on the scale of z at each step, for lanes with early, late and no records."""
    ps, worst = [], 1.0
    for row in z:
        for lanes in (row[0::3], row[1::3], row[2::3]):
            if not len(lanes):
                continue
            ps.append(scale_p(law, lanes))
            if ps[-1] <= min(ps):
                worst = times_stated(law, lanes)
    measured = f"worst ratio {worst:.4f}, {z.shape[0]} steps, {z.shape[1]:,} copies"
    claim = "L z, and z has the stated scale at every step"
    return by_chance(ERROR, f"{name}, stddevs", claim, measured, min(1.0, min(ps) * len(ps)))


def _uncorrelated(name: str, law: Law, z: Signed) -> Finding:
    """The finding that z at two steps is uncorrelated, as the covariance σ² L Lᵀ implies.

    The check maps z to bounded numbers first.
    """
    subject, claim = f"{name}, covariance", "σ² L Lᵀ"
    n = min(_CORRELATED, len(z))
    pairs = np.triu_indices(n, 1)
    if not pairs[0].size or z.shape[1] < PAIRS * sparseness(law):
        return by_chance(ERROR, subject, claim, "too few steps or draws for a correlation", 1.0)
    bounded = np.sign(z[:n]) * (1.0 - 2.0 * beyond(law, np.maximum(np.abs(z[:n]), 1.0)))
    with np.errstate(invalid="ignore", divide="ignore"):
        seen = np.asarray(np.corrcoef(bounded))[pairs]
    off = fisher(seen) * math.sqrt(z.shape[1] - 3)
    largest = float(np.max(np.abs(off)))
    measured = f"largest of {len(off)} correlations of L⁻¹ error: {largest:.2f} standard errors"
    return by_chance(ERROR, subject, claim, measured, either_side(off))
