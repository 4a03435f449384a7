"""The plans of which golden vectors exist, by group, and the joint plans.

The name of a case is the name of its noise stream too, so a case with a new name has a new series.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import hushfade as hf
from hushfade import Exponential, Guarantee, NoDecay, Person, PowerLaw, SlidingWindow


class Case(NamedTuple):
    """The arguments of `hf.plan`."""

    name: str
    decay: hf.Decay
    guarantee: Guarantee
    arguments: dict[str, Any]

    def plan(self) -> hf.Plan:
        return hf.plan(self.decay, self.guarantee, **self.arguments)


ONE = Guarantee(epsilon=1, delta=1e-6)
PURE = Guarantee(epsilon=1, delta=0)
DAY, WEEK, POWER = Exponential(half_life=24), SlidingWindow(length=7), PowerLaw(power=0.5)
DECAYS = {
    "exponential 1": Exponential(half_life=1),
    "exponential 24": DAY,
    "exponential 1000": Exponential(half_life=1000),
    "exponential alpha 1.01": Exponential.from_alpha(1.01),
    "power 0.25": PowerLaw(power=0.25),
    "power 0.5": POWER,
    "power 1": PowerLaw(power=1),
    "power 2": PowerLaw(power=2),
    "window 1": SlidingWindow(length=1),
    "window 7": WEEK,
    "window 168": SlidingWindow(length=168),
    "custom falling": hf.CustomDecay((1, 0.5, 0.25, 0.1)),
    "custom rising": hf.CustomDecay((1, 1.5, 1.75, 1.5, 1)),
    "mixture of exponential and power": 0.7 * DAY + 0.3 * PowerLaw(power=1),
    "mixture of window and exponential": 0.5 * SlidingWindow(length=24) + Exponential(half_life=5),
}
UNITS = {
    "person": Person(),
    "3 steps": Person(steps=3),
    "5 steps 3 apart": Person(steps=5, apart=3),
    "2 records": Person(records_per_step=2),
    "2 steps with 3 records": Person(steps=2, records_per_step=3, apart=24),
    "within 7": Person(within=7),
    "3 steps a week": Person(period="week", steps=3),
}
STATISTICS = {
    "count": hf.Count(),
    "sum": hf.Sum(low=-1, high=3),
    "mean": hf.Mean(low=0, high=120),
    "variance": hf.Variance(low=0, high=10),
    "share": hf.Share(),
    "share of a text": hf.Share(of="b"),
    "ratio": hf.Ratio(numerator=10, denominator=100, most=1),
    "histogram": hf.Histogram([0, 10, 20, 50]),
    "quantiles in 16 bins": hf.Quantiles([0.1, 0.5, 0.9], low=0, high=50, bins=16),
    "quantiles in 64 bins on 2 levels": hf.Quantiles([0.5], low=0, high=50, bins=64, levels=2),
    "quantiles without bins": hf.Quantiles([0.5, 0.9], low=0, high=50, expect=500),
}


def decays() -> Iterator[Case]:
    """Every decay with the methods that need no horizon."""
    for name, decay in DECAYS.items():
        horizon = {} if decay.horizon_free else {"horizon": 400}
        for method in ("best", "input", "square_root"):
            yield Case(f"{name}, {method}", decay, ONE, {"method": method} | horizon)
        if not horizon:
            yield Case(f"{name}, delta 0", decay, PURE, {})
    for name in ("exponential 1000", "power 1", "window 7", "custom falling"):
        yield Case(f"{name}, blend", DECAYS[name], ONE, {"method": "blend"})
    for name in ("exponential 24", "power 1", "window 168"):
        yield Case(f"{name}, blocks", DECAYS[name], ONE, {"method": "blocks"})


def laws() -> Iterator[Case]:
    """Every law, with given methods and with the best one."""
    for name in ("exponential 24", "power 0.5", "window 7"):
        for law in ("gaussian", "laplace", "huber"):
            for method in ("input", "square_root"):
                arguments = {"method": method, "law": law}
                yield Case(f"{name}, {method}, {law}", DECAYS[name], ONE, arguments)
    for law in ("gaussian", "laplace", "huber"):
        yield Case(f"exponential 24, {law}", DAY, ONE, {"law": law})
    yield Case("blocks, laplace", DAY, PURE, {"method": "blocks", "law": "laplace"})


def guarantees() -> Iterator[Case]:
    """Small and large guarantees, both relations, and mu or rho in their place."""
    several = {
        f"epsilon {epsilon} delta {delta:g}": Guarantee(epsilon, delta)
        for epsilon in (0.1, 0.5, 3, 10)
        for delta in (0, 1e-3, 1e-6, 1e-12)
    }
    several["mu 0.3"] = Guarantee.from_mu(0.3)
    several["rho 0.1"] = Guarantee.from_rho(0.1, delta=1e-9)
    for name, guarantee in several.items():
        yield Case(f"{name}, exponential 24", DAY, guarantee, {})
        if guarantee.delta in (0, 1e-6):
            yield Case(f"{name}, window 7", WEEK, guarantee, {})
    for delta in (0, 1e-6):
        replaced = Guarantee(1, delta, "replace")
        for decay in ("exponential 24", "power 0.5", "window 7"):
            yield Case(f"replace, delta {delta:g}, {decay}", DECAYS[decay], replaced, {})


def horizons() -> Iterator[Case]:
    """Counting, and other decays until a horizon."""
    for horizon in (1, 12, 300, 5000):
        for name, guarantee in (("", ONE), (", delta 0", PURE)):
            yield Case(f"counting {horizon}{name}", NoDecay(), guarantee, {"horizon": horizon})
    for method in ("square_root", "normalized", "blend", "blocks", "input"):
        arguments = {"horizon": 1000, "method": method}
        yield Case(f"counting 1000, {method}", NoDecay(), ONE, arguments)
    yield Case("counting for ever", NoDecay(), ONE, {"method": "unbounded"})
    yield Case("counting, expect", NoDecay(), ONE, {"method": "unbounded", "expect": 1000})
    for name in ("exponential 24", "power 0.5", "window 168", "custom rising"):
        arguments = {"horizon": 320, "method": "normalized"}
        yield Case(f"{name}, normalized", DECAYS[name], ONE, arguments)
        yield Case(f"{name}, horizon 320", DECAYS[name], ONE, {"horizon": 320})
    momentum = 10 * NoDecay() - 9 * Exponential.from_alpha(1 / 0.9)
    yield Case("momentum", momentum, ONE, {"horizon": 200})
    pairs = {
        "square root": hf.factors.square_root(DAY),
        "given taps": hf.factors.from_right(DAY, np.array([1.0, 0.5, 0.25])),
        "compact": hf.training.compact(DAY),
        "block sums": hf.factors.block_sums(DAY, depth=3, period=64),
    }
    for name, pair in pairs.items():
        yield Case(f"factors: {name}", DAY, ONE, {"method": pair})


def units() -> Iterator[Case]:
    """Every unit of privacy, with both relations."""
    for name, unit in UNITS.items():
        every = {"every": "1h"} if unit.period else {}
        for neighbours in ("add_remove", "replace"):
            guarantee = Guarantee(1, 1e-6, neighbours, protects=unit)
            yield Case(f"{name}, {neighbours}, exponential 24", DAY, guarantee, every)
        guarantee = Guarantee(1, 1e-6, protects=unit)
        yield Case(f"{name}, square root", DAY, guarantee, {"method": "square_root"} | every)
        pure = Guarantee(2, 0, protects=unit)
        yield Case(f"{name}, delta 0", DAY, pure, every)


def records() -> Iterator[Case]:
    """Bounds, resolutions, keys and vectors."""
    yield Case("low -1, high 3", DAY, ONE, {"low": -1, "high": 3})
    yield Case("low 5, high 6", WEEK, ONE, {"low": 5, "high": 6})
    yield Case("high 1e6", DAY, ONE, {"high": 1e6})
    yield Case("high 1e-6", DAY, ONE, {"high": 1e-6})
    for resolution in (1, 0.125, 2.0**-20):
        yield Case(f"resolution {resolution:g}", DAY, ONE, {"resolution": resolution})
    yield Case("resolution 1, delta 0", WEEK, PURE, {"resolution": 1, "high": 4})
    yield Case("step of an hour", DAY, ONE, {"every": "1h"})
    three = ["a", "b", "c"]
    for decay in ("exponential 24", "power 1", "window 168"):
        yield Case(f"keys, {decay}", DECAYS[decay], ONE, {"keys": three})
    yield Case("keys, square root", DAY, ONE, {"keys": three, "method": "square_root"})
    yield Case("keys, delta 0", DAY, PURE, {"keys": three})
    yield Case("keys, counting", NoDecay(), ONE, {"keys": three, "horizon": 300})
    moved = Guarantee(1, 1e-6, "replace")
    yield Case("keys, replace", DAY, moved, {"keys": three, "low": -1})
    several = Guarantee(1, 1e-6, protects=Person(records_per_step=2))
    yield Case("keys, 2 records", DAY, several, {"keys": three})
    vectors = {"width": 3, "norm": 1.0}
    yield Case("vectors", DAY, ONE, vectors)
    yield Case("vectors, replace", WEEK, moved, vectors)
    yield Case("vectors, normalized", NoDecay(), ONE, vectors | {"horizon": 200})
    person = Guarantee.from_rho(0.1, protects=Person(steps=5, apart=3))
    yield Case("vectors, 5 steps", WEEK, person, {"width": 2, "norm": 2.5})


def statistics() -> Iterator[Case]:
    """Every statistic."""
    for name, statistic in STATISTICS.items():
        yield Case(name, DAY, ONE, {"statistic": statistic})
        yield Case(f"{name}, delta 0", WEEK, PURE, {"statistic": statistic})
        other = Guarantee(2, 1e-9, "replace", protects=Person(steps=2, records_per_step=2))
        arguments = {"statistic": statistic, "keys": ["a", "b"], "law": "gaussian"}
        yield Case(f"{name}, keys, replace, 2 steps", POWER, other, arguments)


class Joint(NamedTuple):
    """The arguments of `hf.plan_together`."""

    name: str
    series: list[hf.Series | hf.Decay]
    guarantee: Guarantee
    weights: list[float] | None = None


def joints() -> Iterator[Joint]:
    """Joint plans of various decays, laws, units and relations."""
    three = Guarantee(1, 1e-6, protects=Person(steps=3, apart=24))
    within = Guarantee(1, 1e-6, protects=Person(within=7))
    mean = hf.Series(decay=WEEK, statistic=hf.Mean(low=0, high=10))
    keyed = hf.Series(decay=DAY, statistic=hf.Count(), keys=("a", "b"))
    counting = hf.Series(decay=NoDecay(), horizon=300)
    both = hf.Series(decay=DAY, low=-1, high=1)
    yield Joint("one series", [DAY], ONE)
    yield Joint("equal series", [DAY, DAY], ONE)
    yield Joint("delta 0", [WEEK, DAY], PURE)
    yield Joint("delta 0, three with weights", [WEEK, DAY, PowerLaw(power=1)], PURE, [1, 2, 4])
    yield Joint("mu", [DAY, POWER], Guarantee.from_mu(0.3))
    yield Joint("replace", [WEEK, PowerLaw(power=1)], Guarantee(2, 1e-9, "replace"))
    yield Joint("3 steps", [WEEK, DAY], three)
    yield Joint("within 7", [WEEK, DAY], within)
    yield Joint("statistics", [mean, keyed], ONE)
    yield Joint("counting", [counting, both], ONE)
    short = hf.Series(decay=SlidingWindow(1), low=-0.75, high=1, keys=("a", "b"), resolution=0.25)
    yield Joint("two worst cases", [short, short], Guarantee(3, 0.01, "replace"))


def compositions() -> Iterator[tuple[str, list[Case]]]:
    """Plans on the same data that were not searched together."""
    day, week = Case("", DAY, ONE, {}), Case("", WEEK, ONE, {})
    paper = Case("", DAY, ONE, {"method": "square_root"})
    pure = Case("", WEEK, PURE, {})
    yield "one law twice", [day, day]
    yield "three laws", [day, week, paper]
    yield "with delta 0", [day, pure]
    yield "delta 0", [pure, pure, pure]
    yield "gaussian", [paper] * 5


GROUPS = {
    group.__name__: group
    for group in (decays, laws, guarantees, horizons, units, records, statistics)
}
