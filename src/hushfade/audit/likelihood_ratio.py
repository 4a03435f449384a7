"""The likelihood-ratio test of two neighbouring streams, for laws other than the Gaussian.

    ℓ = Σ_n ln p(u_n - d_n)/p(u_n),   u = y - R̃ x,  d = R̃ Δx

No statistic distinguishes the streams better (Neyman and Pearson 1933).  `loss_probabilities`
computes its exact distribution under both streams.  The audit compares three numbers with it: the
mean of ℓ, how often ℓ is large, and the mean of (1 - e^(ε - ℓ))_+.  The last is δ(ε), which must
not exceed the plan's claim.
"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

from hushfade.audit.audited_streams import inputs
from hushfade.audit.distinguish import direction, epsilon_from_below
from hushfade.audit.effort import Size
from hushfade.audit.finding import LEVEL, Finding, by_chance
from hushfade.audit.loss_probabilities import Losses
from hushfade.audit.neighbouring_streams import Change, changes, needed
from hushfade.audit.noise_probabilities import energy
from hushfade.audit.observer import copies_of, crossed, private, wide
from hushfade.audit.randomness import Chance
from hushfade.audit.subject import Subject
from hushfade.check import Column, Signed
from hushfade.laws import Huber, Laplace
from hushfade.planning.plan import Plan
from hushfade.privacy.rounding import rounded_up

CHECK = "likelihood ratio"

_THRESHOLDS = np.array([-2.0, -1.0, 0.0, 1.0, 2.0, 3.0])  # in standard deviations of ℓ
_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)  # of epsilon, at which δ(ε) is estimated


def likelihood_ratio(
    subject: Subject, plan: Plan, name: str, size: Size, chance: Chance
) -> list[Finding]:
    """Four findings per change: mean and law of ℓ, δ(ε) at several ε, a lower bound on epsilon."""
    steps = min(needed(plan, size.steps), size.steps)
    copies = max(200 // plan.grid.lanes + 1, copies_of(plan, steps, size.work, size.copies))
    many, claimed = subject.plan(wide(plan, copies)), subject.plan(plan)
    base = inputs(many, steps, chance)
    quiet = _recovered(subject, many, base, np.zeros_like(base), chance)
    findings: list[Finding] = []
    for change in changes(plan, steps):
        loud = _recovered(subject, many, base, change.units(steps, many.grid.lanes), chance)
        d = direction(many, change, steps)
        sizes = Counter(np.abs(d[d != 0]).tolist())
        assert isinstance(many.law, Laplace | Huber)
        losses = Losses(many.law, sizes)
        a, b = (ratios(many, change, u) for u in (quiet, loud))
        title = f"{name}, {change.name}"
        _, mean, variance = losses.moments(0.0)
        deviation = math.sqrt(variance)
        findings += [
            _mean(title, losses, -a, b),
            _law(title, losses, -a, b),
            _deltas(title, losses, (plan, claimed), -a, b),
            epsilon_from_below(title, (a + mean) / deviation, (b + mean) / deviation, claimed),
        ]
    return findings


def ratios(plan: Plan, change: Change, u: Signed) -> Column:
    """ℓ for each group of lanes."""
    steps, lanes = u.shape
    d, group = direction(plan, change, steps), len(change.lanes)
    total = np.zeros(lanes // group)
    for place in range(group):
        column = d[:, place]
        moved = np.flatnonzero(column)
        every = u[moved][:, place : lanes // group * group : group]
        with_records = energy(plan.law, every - column[moved, None])
        total += np.sum(energy(plan.law, every) - with_records, axis=0)
    return total


def _recovered(subject: Subject, plan: Plan, base: Signed, shift: Signed, chance: Chance) -> Signed:
    """y - R̃ x in whole units."""
    totals = (base + shift) * plan.grid.resolution
    released = subject.start(plan, chance.noise()).run(totals)
    y = np.rint(crossed(plan, released.reshape(base.shape))).astype(np.int64)
    return np.asarray(y - private(plan, base))


def _mean(subject: str, losses: Losses, without: Column, loud: Column) -> Finding:
    """The finding on the means of both samples, which have the distribution of ℓ."""
    _, mean, variance = losses.moments(0.0)
    p = min(1.0, 2.0 * min(losses.mean_p(sample) for sample in (without, loud)))
    error = math.sqrt(variance / len(loud))
    measured = (
        f"{np.mean(without):.4f} and {np.mean(loud):.4f} ± {error:.4f} from {len(loud):,} copies"
    )
    claim = f"{mean:.4f} under both streams"
    return by_chance(CHECK, f"{subject}, mean loss", claim, measured, p)


def _law(subject: str, losses: Losses, without: Column, loud: Column) -> Finding:
    """The finding on how often ℓ exceeds some values.

    A loss may equal a threshold exactly, so the check computes an upper and a lower probability.
    """
    from scipy.stats import binom

    _, mean, variance = losses.moments(0.0)
    limits = mean + _THRESHOLDS * math.sqrt(variance)
    most = losses.above(limits - 3.0 * losses.step)
    least = losses.above(limits + 3.0 * losses.step)
    ps: list[float] = []
    shown = []
    for sample in (without, loud):
        counts = np.array([np.count_nonzero(sample > limit) for limit in limits])
        ps += np.ravel(binom.sf(counts - 1, len(sample), most)).tolist()
        ps += np.ravel(binom.cdf(counts, len(sample), least)).tolist()
        shown.append(f"{counts[3] / len(sample):.4f}")
    measured = f"{' and '.join(shown)} above one standard deviation"
    claim = f"the law of the privacy loss: {least[3]:.4f} there"
    p = min(1.0, min(ps) * len(ps))
    return by_chance(CHECK, f"{subject}, law of the loss", claim, measured, p)


def _deltas(
    subject: str, losses: Losses, claims: tuple[Plan, Plan], without: Column, loud: Column
) -> Finding:
    """The finding on δ(ε), estimated from both samples.

    The estimate must be close to the computed value, and its lower confidence bound must not
    exceed the claim.  If the implementation follows another plan than it promised, the smaller of
    both claims counts.
    """
    epsilons = [share * claims[0].guarantee.epsilon for share in _SHARES]
    count, tests = len(loud), 2 * len(_SHARES)
    ps, within, shown = [], True, []
    for epsilon in epsilons:
        most = min(plan.privacy.delta(epsilon) for plan in claims)
        expected = losses.delta(epsilon)
        for sample in (without, loud):
            stick = -np.expm1(np.minimum(epsilon - sample, 0.0))
            mean = float(np.mean(stick))
            ps.append(losses.delta_p(epsilon, expected, mean, count))
            within &= mean - _reach(float(np.var(stick)), count, tests) <= most * (1.0 + 1e-9)
        shown.append(f"{mean:.3g} at ε = {epsilon:.3g} (claimed {rounded_up(most, 3)})")
    return by_chance(
        CHECK,
        f"{subject}, δ(ε)",
        "at most plan.privacy.delta",
        "; ".join(shown),
        min(1.0, min(ps) * tests),
        within=within,
    )


def _reach(variance: float, count: int, tests: int) -> float:
    """The width of a confidence bound on a mean (Maurer and Pontil 2009).

    A sample mean exceeds the true mean by more with probability at most LEVEL over all tests.
    """
    size = math.log(2.0 * tests / LEVEL)
    return math.sqrt(2.0 * variance * size / count) + 7.0 * size / (3.0 * (count - 1))
