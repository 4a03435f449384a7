"""The μ-test of Gaussian noise: how well do releases distinguish neighbouring streams?

The likelihood ratio is a function of <d, y>/‖d‖ with d = R̃ Δx.  With Gaussian noise its shift
divided by its standard deviation is μ, and no statistic distinguishes the streams better (Neyman
and Pearson 1933).  The same samples give a lower confidence bound on epsilon: how often the ratio
is large under each stream (Clopper and Pearson 1934).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hushfade.audit.audited_streams import inputs
from hushfade.audit.effort import Size
from hushfade.audit.finding import LEVEL, Finding, by_chance, info
from hushfade.audit.neighbouring_streams import Change, changes, needed
from hushfade.audit.observer import along, copies_of, private, wide
from hushfade.audit.randomness import Chance
from hushfade.audit.sensitivity import norm
from hushfade.audit.subject import Subject
from hushfade.check import Column, Signed
from hushfade.planning.plan import Plan
from hushfade.privacy.rounding import rounded_up

MU, EPSILON = "μ-test", "epsilon from below"

SHOWN = 0.025  # the level of a second bound on epsilon, for information
_THRESHOLDS = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5)  # in standard deviations, fixed in advance


def distinguish(
    subject: Subject, plan: Plan, name: str, size: Size, chance: Chance
) -> list[Finding]:
    """Two findings per change: the measured μ, and a lower bound on epsilon at the plan's delta."""
    steps = min(needed(plan, size.steps), size.steps)
    copies = max(200 // plan.grid.lanes + 1, copies_of(plan, steps, size.work, size.copies))
    tested = changes(plan, steps)  # of the plan itself, not of its copies
    many = subject.plan(wide(plan, copies))
    claimed = subject.plan(plan)
    base = inputs(many, steps, chance)
    known = private(many, base)
    quiet = subject.start(many, chance.noise()).run(base * many.grid.resolution)
    findings = []
    for change in tested:
        shift = change.units(steps, many.grid.lanes)
        loud = subject.start(many, chance.noise()).run((base + shift) * many.grid.resolution)
        a = _statistic(many, change, quiet, known)
        b = _statistic(many, change, loud, known)
        d = direction(many, change, steps)
        expected = norm(d) / math.sqrt(many.sigma**2 + 1.0 / 12.0)
        most = rounded_up(claimed.guarantee.mu)
        claim = f"at most μ = {most}; R̃ Δx gives {expected:.4f} in {steps} steps"
        title = f"{name}, {change.name}"
        findings.append(_mu(title, claim, shift_of(a, b), expected, claimed.guarantee.mu))
        findings.append(epsilon_from_below(title, a, b, claimed))
    return findings


@dataclass(frozen=True)
class Shift:
    """The difference of two samples' means in standard deviations, with its standard error."""

    mu: float
    error: float
    freedom: int


def shift_of(a: Column, b: Column) -> Shift:
    """Cohen's d of two samples, with its standard error.

    >>> shift_of(np.array([-1.0, 1.0]), np.array([0.0, 2.0])).mu
    1.0
    """
    spread = math.sqrt((a.var() + b.var()) / 2.0)
    mu = float(b.mean() - a.mean()) / spread if spread > 0.0 else math.inf
    counts = len(a), len(b)
    square = 1.0 / counts[0] + 1.0 / counts[1] + mu * mu / (2.0 * sum(counts))
    return Shift(mu, math.sqrt(square), sum(counts) - 2)


def epsilon_below(
    a: Column, b: Column, delta: float, level: float, thresholds: tuple[float, ...] = _THRESHOLDS
) -> float:
    """A lower bound on epsilon with confidence 1 - `level`: the largest ln((P_b - delta) / P_a).

    The events are 'the statistic is above a threshold'.  Each event has an equal share of `level`.
    """
    from scipy.special import betaincinv

    share = level / (2.0 * len(thresholds))
    best = 0.0
    for threshold in thresholds:
        hits = int(np.count_nonzero(b > threshold))
        false = int(np.count_nonzero(a > threshold))
        least = float(betaincinv(hits, len(b) - hits + 1, share)) if hits else 0.0
        most = float(betaincinv(false + 1, len(a) - false, 1.0 - share)) if false < len(a) else 1.0
        if least > delta:
            best = max(best, math.log((least - delta) / most))
    return best


def largest_bound(without: int, loud: int, delta: float, level: float) -> float:
    """The largest value of `epsilon_below` for these sample sizes: streams without noise."""
    return epsilon_below(np.zeros(without), np.full(loud, np.inf), delta, level)


def direction(plan: Plan, change: Change, steps: int) -> Signed:
    """R̃ Δx for one group of lanes."""
    group = len(change.lanes)
    return private(plan, change.units(steps, plan.grid.lanes)[:, :group])


def _statistic(plan: Plan, change: Change, released: Column, known: Signed) -> Column:
    """<d, y - R̃ x>/(‖d‖ σ) for each group of lanes, computed without recovering y."""
    steps, lanes = known.shape
    released = released.reshape(known.shape)
    group = len(change.lanes)
    d = direction(plan, change, steps)
    total = np.zeros(lanes // group)
    for place in range(group):
        column = d[:, place].astype(np.float64)
        weights = along(plan, column)
        every = slice(place, lanes // group * group, group)
        total += weights @ released[:, every] - column @ known[:, every].astype(np.float64)
    return total / (norm(d) * plan.sigma)


def _mu(subject: str, claim: str, found: Shift, expected: float, claimed: float) -> Finding:
    from scipy.stats import t

    p = 2.0 * float(t.sf(abs(found.mu - expected) / found.error, found.freedom))
    reach = float(t.isf(LEVEL, found.freedom)) * found.error
    return by_chance(
        MU,
        subject,
        claim,
        f"{found.mu:.4f} ± {found.error:.4f} from {found.freedom // 2 + 1:,} copies, "
        f"{(found.mu - expected) / found.error:+.1f} standard errors off",
        p,
        within=found.mu - reach <= claimed * (1.0 + 1e-9),
    )


def epsilon_from_below(subject: str, a: Column, b: Column, plan: Plan) -> Finding:
    """The finding that a lower confidence bound on epsilon does not exceed the claim.

    `a` and `b` are samples of a statistic without and with the records.
    """
    guarantee = plan.guarantee
    sure = epsilon_below(a, b, guarantee.delta, LEVEL)
    shown = epsilon_below(a, b, guarantee.delta, SHOWN)
    claim = f"at most epsilon = {rounded_up(guarantee.epsilon)}"
    measured = (
        f"at least {shown:.3f} ({100 * (1 - SHOWN):g} % confidence), "
        f"{sure:.3f} at the audit's level {LEVEL:g}"
    )
    most = largest_bound(len(a), len(b), guarantee.delta, LEVEL)
    if not most > guarantee.epsilon:
        measured += f"; {len(b):,} copies cannot show more than {most:.3f}"
        return info(EPSILON, subject, claim, measured, "none")
    how, passed = f"Clopper-Pearson, {LEVEL:g}", sure <= guarantee.epsilon
    return Finding(EPSILON, subject, claim, measured, how, passed, LEVEL)
