"""HTTP JSON and NDJSON for streams with a statistic: numbers, truth values, texts and pairs."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from random import Random
from typing import Any

import hushfade as hf
from hushfade.planning.plan import Plan
from lab.soaks.neighbours import fields
from lab.soaks.neighbours.json_rows import token_of
from lab.soaks.neighbours.meaning import Fault, Meaning, Rules, Totals
from lab.soaks.neighbours.request_paths import RequestBody
from lab.soaks.neighbours.settings import KEYS, Setting

_STATISTICS = (
    hf.Mean(low=-4, high=4),
    hf.Variance(low=-4, high=4),
    hf.Share(),
    hf.Share(of="yes"),
    hf.Histogram([-1, 0, 2.5, 1e9]),
    hf.Quantiles([0.5], low=-4, high=4, bins=16, levels=2),
    hf.Ratio(numerator=8, denominator=64, most=1),
)
_WRONG = {
    "truths": ("2", "0.5", '"true"', "[true]", "null", "{}", "1e999"),
    "texts": ("true", "1", '["yes"]', "null", "{}"),
    "pairs": ("1", "[1]", "[1, 2, 3]", '["1", 2]', "[true, 1]", "null", "[1e999, 1]"),
}


@lru_cache(maxsize=32)
def statistic_plan(place: int, keyed: bool) -> Plan:
    """One of a few cached plans."""
    return hf.plan(
        hf.SlidingWindow(1),
        hf.Guarantee(epsilon=1, delta=1e-6),
        statistic=_STATISTICS[place],
        keys=KEYS if keyed else None,
        law="laplace",
    )


@dataclass(frozen=True)
class StatisticRules(Rules):
    """The lanes of a record, in plain Python with exact fractions."""

    def totals(self, records: Sequence[Meaning]) -> Totals:
        """The units of all lanes."""
        found: Totals = {}
        statistic = self.plan.statistic
        assert statistic is not None
        for record in records:
            place = self._lane(record.key)
            assert place is not None
            for part, units in self._parts(record.value):
                cell = 0, place * len(statistic.parts) + part
                found[cell] = found.get(cell, 0) + units
        return {cell: units for cell, units in found.items() if units}

    def _parts(self, value: Any) -> list[tuple[int, int]]:
        statistic, grid = self.plan.statistic, self.plan.grid
        match statistic:
            case hf.Mean() | hf.Variance():
                u = self.units(value) - grid.low_unit
                rest = grid.high_unit - grid.low_unit - u
                if isinstance(statistic, hf.Mean):
                    return [(0, u), (1, rest)]
                return [(0, rest * rest), (1, 2 * u * rest), (2, u * u)]
            case hf.Share(of=of):
                return [(0 if value == (1 if of is None else of) else 1, 1)]
            case hf.Histogram(edges=edges):
                return [(_bin(edges, value), 1)]
            case hf.Quantiles():
                fine = _bin(tuple(-4 + Fraction(place, 2) for place in range(17)), value)
                return [(fine // 4, 1), (4 + fine, 1)]
            case hf.Ratio():
                top, bottom = (
                    math.floor(Fraction(min(max(x, 0.0), most)) / most * 1024 + Fraction(1, 2))
                    for x, most in zip(value, (8, 64), strict=True)
                )
                return [(0, top), (1, bottom), (2, 1024 - bottom)]
        raise AssertionError(statistic)


def _bin(edges: Sequence[Any], value: float) -> int:
    """The last bin whose lower edge is not above the value, and never outside."""
    return max([0, *(at for at, edge in enumerate(edges[:-1]) if edge <= value)])


class StatisticBody(RequestBody):
    """A request body for a stream with a statistic."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.name += ", statistics"

    def setting(self, random: Random) -> Setting:
        """A random stream with a statistic."""
        setting = super().setting(random)
        plan = statistic_plan(random.randrange(len(_STATISTICS)), random.random() < 0.5)
        rules = StatisticRules(plan, setting.rules.steps, declared_keys_only=True)
        return replace(setting, rules=rules)

    def row(self, random: Random, made: Setting, bad: float) -> tuple[str, Meaning]:
        """A random record: a value of the statistic's kind, or an object with a key."""
        statistic, keys = made.rules.plan.statistic, made.rules.plan.keys
        assert statistic is not None
        value, means = _value(random, statistic.kind, made, bad)
        key: Any = None
        text = value
        if keys is not None:
            key = random.choice(keys)
            named = json.dumps(key)
            if random.random() < bad:
                named, key = random.choice((("7", fields.BAD), ('"x"', "x"), ("null", fields.BAD)))
            members = [f'"key": {named}', f'"value": {value}']
            random.shuffle(members)
            text = "{" + ", ".join(members) + "}"
        record = Meaning(value=means, key=key)
        if random.random() < bad:
            missing = '{"key": "a"}' if keys is not None else '{"value": 1}'
            return random.choice((missing, "[" * 20 + "]" * 20)), replace(record, broken=True)
        return text, record


def _value(random: Random, kind: str, made: Setting, bad: float) -> tuple[str, Any]:
    """A value in JSON and its meaning."""
    if kind in ("grid", "numbers"):
        token, means = token_of(random, "value", made, bad)
        return ("null" if token is None else token), means
    if random.random() < bad:
        return random.choice(_WRONG[kind]), Fault.MALFORMED
    if kind == "truths":
        return random.choice((("true", 1), ("false", 0), ("1", 1), ("0", 0), ("1.0", 1)))
    if kind == "texts":
        text = random.choice(("yes", "no", "", "Yes", "yes ", "\ud800", "é"))
        return json.dumps(text), text
    (one, first), (two, second) = (token_of(random, "value", made, 0) for _ in range(2))
    return f"[{one}, {two}]", (first, second)
