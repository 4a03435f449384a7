"""The streams that the audit runs: their inputs, and the ways to run a stream."""

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
"""A function from totals in grid units to releases; each call runs a new stream."""


def inputs(plan: Plan, steps: int, chance: Chance) -> Signed:
    """Random totals in grid units of both signs: some as of a few records, some of any size.

    Half of the steps are empty.  A third of the lanes has records only in the second half, and a
    third has none.
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
    """The way that runs a stream with one call of `run`, with a new source."""

    def released(plan: Plan, units: Signed) -> Matrix:
        totals = units * plan.grid.resolution
        return subject.start(plan, source()).run(totals).reshape(units.shape)

    return released


def loaded(subject: Subject, source: Callable[[], NoiseSource | None]) -> Way:
    """The way that saves a stream after half of the steps, loads it, and runs the rest."""

    def released(plan: Plan, units: Signed) -> Matrix:
        totals, half, noise = units * plan.grid.resolution, len(units) // 2, source()
        stream = subject.start(plan, noise)
        first = stream.run(totals[:half])
        again = subject.load(stream.save(), noise).run(totals[half:])
        return np.concatenate([first, again]).reshape(units.shape)

    return released


def live(subject: Subject) -> Way:
    """The way that closes single steps with default noise, which the stream draws ahead."""

    def released(plan: Plan, units: Signed) -> Matrix:
        stream = subject.start(plan, None)
        totals = np.asarray(units * plan.grid.resolution)
        return single(plan, stream, totals).reshape(units.shape)

    return released


def kinds_of_noise(chance: Chance) -> dict[str, Callable[[], NoiseSource | None]]:
    """Every kind of noise source that a stream accepts; keyed noise has a new key in each call."""
    return {
        "default noise": lambda: None,
        "fresh noise": FreshNoise,
        "keyed noise": lambda: KeyedNoise(chance.key(), stream="audit"),
    }
