"""The streams that the audit runs: what goes in, and each way to run a stream."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from hushfade.audit.randomness import Chance
from hushfade.audit.second_process import single
from hushfade.audit.subject import Subject
from hushfade.audit.total_sizes import largest_tried, one_record
from hushfade.check import Matrix, Signed
from hushfade.crossing.noise_sources import FreshNoise, KeyedNoise, NoiseSource
from hushfade.planning.plan import Plan

Way: TypeAlias = Callable[[Plan, Signed], Matrix]
"""From totals in grid units to releases, by a stream of its own."""


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


def live(subject: Subject) -> Way:
    """Step by step, with default noise, which is drawn ahead."""

    def released(plan: Plan, units: Signed) -> Matrix:
        stream = subject.start(plan, None)
        totals = np.asarray(units * plan.grid.resolution)
        return single(plan, stream, totals).reshape(units.shape)

    return released


def kinds_of_noise(chance: Chance) -> dict[str, Callable[[], NoiseSource | None]]:
    """Every kind of source that a stream may have; keyed noise has another key each time."""
    return {
        "default noise": lambda: None,
        "fresh noise": FreshNoise,
        "keyed noise": lambda: KeyedNoise(chance.key(), stream="audit"),
    }
