"""The input of the auditors: one score per copy of a mechanism, with or without a record.

The copies are keys of one plan.  For each copy a coin decides whether it has the record.  Releases
come from the public interface.  The score is the statistic of the likelihood ratio,

    <u, L⁻¹(s - M x)> / (‖u‖ σ),  u = L⁻¹ M Δx

which is N(0, 1) without the record and N(μ, 1) with it.  No attack is better.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import solve_triangular

from hushfade import Decay, Exponential, Guarantee, Plan, UnsafeSeededNoise, plan
from hushfade.check import Column, Matrix

BATCH = 50_000  # copies per run
GUARANTEE = Guarantee(epsilon=1, delta=1e-6)
STEPS = 60
CROWD = 3.0  # the records of other people, per step

# A mechanism is a function from totals (steps, copies) to releases of the same shape.
Mechanism = Callable[[Plan, Matrix, int], Matrix]


@dataclass(frozen=True)
class Scores:
    """The scores of copies with the record, and of copies without it."""

    present: Column
    absent: Column


@dataclass(frozen=True)
class Case:
    """A mechanism, its input, and the change of the input by one person."""

    name: str
    mechanism: Mechanism
    change: tuple[tuple[int, float], ...] = ((0, 1.0),)  # step and amount
    empty: slice = field(default_factory=lambda: slice(0))  # steps without other records
    decay: Decay = field(default_factory=lambda: Exponential(half_life=8))
    low: float = 0.0

    def planned(self, copies: int) -> Plan:
        """The plan, with a key for each copy."""
        keys = [str(key) for key in range(copies)]
        return plan(
            self.decay,
            GUARANTEE,
            low=self.low,
            high=1,
            resolution=1.0,
            keys=keys,
            method="square_root",
        )

    def given(self) -> tuple[Column, Column]:
        """The totals without the person, and the person's contribution."""
        base, change = np.full(STEPS, CROWD), np.zeros(STEPS)
        base[self.empty] = 0.0
        for step, amount in self.change:
            change[step] = amount
        return base, change


def sound(found: Plan, totals: Matrix, seed: int) -> Matrix:
    """The releases of hushfade without a bug."""
    return found.start(UnsafeSeededNoise(seed)).run(totals)


# Broken on purpose: the releases of these mechanisms do NOT have the promised privacy ------------


def scaled(factor: Callable[[Plan], float]) -> Mechanism:
    """Broken control: noise that is too small by a factor."""

    def release(found: Plan, totals: Matrix, seed: int) -> Matrix:
        truth = decayed(found, totals)
        return truth + factor(found) * (sound(found, totals, seed) - truth)

    return release


def redrawn(found: Plan, totals: Matrix, seed: int) -> Matrix:
    """Broken control: every step is drawn twice, and both releases are published."""
    return (sound(found, totals, seed) + sound(found, totals, seed + 1)) / 2.0


def silent_when_empty(found: Plan, totals: Matrix, seed: int) -> Matrix:
    """Broken control: no noise crosses at a step without records."""
    truth = decayed(found, totals)
    left = found.pair.matrices(len(totals))[0]
    crossed = solve_triangular(left, sound(found, totals, seed) - truth, lower=True)
    return np.asarray(truth + left @ np.where(totals == 0.0, 0.0, crossed))


def _first_tap_missing(found: Plan) -> float:
    column = found.pair.matrices(STEPS)[1][:, 0]
    return float(np.linalg.norm(column[1:]) / np.linalg.norm(column))


SOUND = Case("no bug", sound)
BROKEN = (
    Case("half noise", scaled(lambda found: 0.5)),
    Case("norm of R ignored", scaled(lambda found: 1.0 / found.pair.sensitivity().value)),
    Case("off-by-one tap", scaled(_first_tap_missing)),
    Case("variance for deviation", scaled(lambda found: 1.0 / math.sqrt(found.sigma))),
    Case("redraw on replay", redrawn),
    Case("clip after sum", sound, change=((0, 40.0),)),  # a record of 40 is not clipped
    Case(
        "wrong neighbours", sound, change=((0, 2.0),), low=-1.0
    ),  # replaced, but planned for added
    Case("ignored participation", sound, ((0, 1.0), (4, 1.0)), decay=Exponential(half_life=2)),
    Case("noise skipped on empty steps", silent_when_empty, empty=slice(5)),
)


def scored(case: Case, copies: int, seed: int) -> Scores:
    """Scores of about `copies` copies with the record and as many without."""
    found = case.planned(BATCH)
    base, change = case.given()
    coins = np.random.default_rng(seed)
    present, absent = [], []
    for number in _batches(2 * copies):
        there = coins.random(BATCH) < 0.5
        totals = base[:, None] + change[:, None] * there
        scores = _scores(found, base, change, case.mechanism(found, totals, 1000 * seed + number))
        present.append(scores[there])
        absent.append(scores[~there])
    return Scores(np.concatenate(present), np.concatenate(absent))


def decayed(found: Plan, totals: Matrix) -> Matrix:
    """M x: the true decaying sums."""
    left, right = found.pair.matrices(len(totals))
    return np.asarray(left @ (right @ totals))


def _batches(copies: int) -> Iterator[int]:
    # two seeds each: a broken control may draw twice
    yield from range(0, 2 * math.ceil(copies / BATCH), 2)


def _scores(found: Plan, base: Column, change: Column, released: Matrix) -> Column:
    left, right = found.pair.matrices(STEPS)
    u = right @ change
    w = solve_triangular(left, u / np.linalg.norm(u), lower=True, trans="T")
    known = w @ decayed(found, base[:, None])
    return np.asarray((w @ released - known) / found.noise_stddev)
