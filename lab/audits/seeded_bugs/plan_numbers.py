"""Seeded bugs in a plan's numbers: sigma, mu, the horizon."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from hushfade import Plan
from hushfade.crossing.noise_sources import NoiseSource
from hushfade.factors import factorization
from hushfade.laws import Gaussian
from lab.audits.seeded_bugs.subjects import CROWDED, ENDING, OFTEN, SINGLE, SWAPPED, Bug, Seeded

Factor = Callable[[Plan], float]
"""From the promised plan to the factor by which sigma is wrong."""


class Planned(Seeded):
    """The plan has the promised sigma times a factor."""

    def __init__(self, factor: Factor) -> None:
        self.factor = factor

    def plan(self, promised: Plan) -> Plan:
        """The plan with the wrong sigma."""
        return replace(promised, law=Gaussian(promised.sigma * self.factor(promised)))


def without_norm(promised: Plan) -> float:
    """The factor if the norm of R is ignored."""
    return 1.0 / promised.pair.sensitivity().value


def without_first_tap(promised: Plan) -> float:
    """The norm leaves out the first tap."""
    return _norm_of(promised, lambda taps: taps[1:])


def without_last_tap(promised: Plan) -> float:
    """The norm leaves out the last tap."""
    return _norm_of(promised, lambda taps: taps[:-1])


def _norm_of(promised: Plan, kept: Callable[[list[int]], list[int]]) -> float:
    taps = promised.taps.integers.tolist()
    return math.sqrt(sum(tap**2 for tap in kept(taps)) / sum(tap**2 for tap in taps))


def of_unrounded_taps(promised: Plan) -> float:
    """The norm of the exact taps; merged taps have less energy, so the noise is too large."""
    exact = factorization.square_root(promised.decay)
    return exact.sensitivity().value / promised.pair.sensitivity().value


def of_shorter_taps(promised: Plan) -> float:
    """The norm of taps that are cut off two binary places earlier than those in use."""
    taps = promised.taps.integers
    return float(np.linalg.norm(taps // 4 * 4) / np.linalg.norm(taps))


def for_adding(promised: Plan) -> float:
    """Calibrated for adding or removing a record where replacing one was promised."""
    guarantee, grid = promised.guarantee, promised.grid
    adding = replace(guarantee, neighbours="add_remove")
    units = grid.low_unit, grid.high_unit
    return adding.change(*units) / guarantee.change(*units)


def for_one_participation(promised: Plan) -> float:
    """Calibrated for one participation."""
    guarantee = promised.guarantee
    whole = promised.pair.sensitivity(
        participations=guarantee.protects.steps, separation=guarantee.protects.apart
    )
    return promised.pair.sensitivity().value / whole.value


def for_one_record(promised: Plan) -> float:
    """Calibrated for one record per step."""
    return 1.0 / promised.guarantee.protects.records_per_step


def for_half_the_horizon(promised: Plan) -> float:
    """Calibrated for half of the horizon."""
    half = promised.pair.sensitivity((promised.horizon or 2) // 2)
    return half.value / promised.pair.sensitivity().value


class Miscalibrated(Seeded):
    """mu by the classical formula, solved for mu, without its condition that epsilon is below 1."""

    def plan(self, promised: Plan) -> Plan:
        """The plan with the wrong mu."""
        guarantee = replace(promised.guarantee)
        wrong = guarantee.epsilon / math.sqrt(2.0 * math.log(1.25 / guarantee.delta)) * 1.3
        object.__setattr__(guarantee, "mu", wrong)
        return replace(promised, guarantee=guarantee)


class Endless(Seeded):
    """The stream continues after its horizon, with taps and noise made for fewer steps."""

    def wrong(self, stream: Any, plan: Plan, noise: NoiseSource | None) -> Any:
        """A stream with four times the horizon."""
        if plan.horizon is not None and plan.pair.gain is None:
            stream.plan = replace(plan, horizon=4 * plan.horizon)
        return stream


BUGS: dict[str, Bug] = {
    "norm of R ignored": Bug(Planned(without_norm), SINGLE),
    "first tap left out of the norm": Bug(Planned(without_first_tap), SINGLE),
    "off by one: last tap left out of the norm": Bug(Planned(without_last_tap), SINGLE),
    "sensitivity from unrounded taps": Bug(Planned(of_unrounded_taps), SINGLE),
    "sensitivity from taps of fewer bits": Bug(Planned(of_shorter_taps), SINGLE),
    "wrong neighbours": Bug(Planned(for_adding), SWAPPED),
    "participation ignored": Bug(Planned(for_one_participation), OFTEN),
    "several records in a step ignored": Bug(Planned(for_one_record), CROWDED),
    "horizon ignored: steps after it": Bug(Endless(), ENDING),
    "horizon ignored: norm of half of it": Bug(Planned(for_half_the_horizon), ENDING),
    "mu by the classical formula": Bug(Miscalibrated(), SINGLE),
}
