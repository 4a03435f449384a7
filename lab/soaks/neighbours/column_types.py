"""Random types of columns, and random values of each type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any

from hushfade.records.arrow import pa
from lab.soaks.neighbours import fields
from lab.soaks.neighbours.meaning import Fault
from lab.soaks.neighbours.settings import UNITS, Setting


@dataclass(frozen=True)
class Kind:
    """An Arrow type, and a function that makes a value with its meaning."""

    type: Any
    value: Callable[[Random, float], tuple[Any, Any]]


def kind_of(random: Random, role: str, setting: Setting) -> Kind:
    """A random type for the column of a role."""
    if role == "value":
        return random.choice(_VALUES)
    if role in ("key", "user"):
        return _names(random, role)
    return _times(random, setting)


def _nullable(value: Callable[[Random], Any], means: Callable[[Any], Any]) -> Any:
    def made(random: Random, bad: float) -> tuple[Any, Any]:
        if random.random() < bad:
            return None, Fault.EMPTY
        one = value(random)
        return one, means(one)

    return made


def _integer(low: int, high: int) -> Callable[[Random], int]:
    return lambda random: random.choice((0, 1, 7, low, high, random.randint(low, high)))


def _real(random: Random) -> float:
    number = random.choice((random.uniform(-6, 6), random.gauss(0, 1e9), 1e308, -0.0, 5e-324, 2.5))
    return float(number)


def _single(random: Random) -> float:
    return float(random.choice((0.5, -1.5, 3.0, 1e10, 16777216.0)))


def _decimal(random: Random) -> Decimal:
    return Decimal(random.randint(-(10**20), 10**20)).scaleb(random.choice((-10, -19)))


_VALUES = [
    Kind(pa.int8(), _nullable(_integer(-(2**7), 2**7 - 1), float)),
    Kind(pa.int64(), _nullable(_integer(-(2**63), 2**63 - 1), float)),
    Kind(pa.uint64(), _nullable(_integer(0, 2**64 - 1), float)),
    Kind(pa.float64(), _nullable(_real, float)),
    Kind(pa.float32(), _nullable(_single, float)),
    Kind(pa.decimal128(38, 19), _nullable(_decimal, lambda one: float(str(one)))),
    Kind(pa.string(), fields.number_text),
    Kind(pa.large_string(), fields.number_text),
    Kind(pa.dictionary(pa.int16(), pa.string()), fields.number_text),
]


def _names(random: Random, role: str) -> Kind:
    text = fields.key_text if role == "key" else fields.user_text

    def made(random: Random, bad: float) -> tuple[Any, Any]:
        if random.random() < bad:
            return None, "none of the keys" if role == "key" else Fault.EMPTY
        found, means = text(random, 0)
        return found, means

    if random.random() < 0.2:
        return Kind(pa.int64(), _nullable(_integer(-7, 9), str) if role == "user" else _digits)
    kinds = (pa.string(), pa.large_string(), pa.dictionary(pa.int16(), pa.string()))
    return Kind(random.choice(kinds), made)


def _digits(random: Random, bad: float) -> tuple[Any, Any]:
    number = None if random.random() < bad else random.randint(5, 8)
    return number, str(number)


def _times(random: Random, setting: Setting) -> Kind:
    """Times of a type: timestamps, numbers of the unit, or text."""
    steps, unit, zoned = setting.rules.steps, setting.time_unit, setting.zoned
    if random.random() < 0.3:
        return Kind(pa.string(), lambda random, bad: fields.text(random, "time", setting, bad))
    if unit is None:
        typed = random.choice(("s", "ms", "us", "ns"))
        kind = pa.timestamp(typed, random.choice(("UTC", "Europe/Vienna")) if zoned else None)
        factor = UNITS[typed]
    else:
        factor = UNITS[unit]
        types = [pa.int64()] if unit == "ns" else [pa.int64(), pa.float64()]
        kind = random.choice([*types, pa.decimal128(38, 9)])

    def count(random: Random) -> int:
        found = fields.moment(random, steps, factor) // factor
        fits = factor > 1 or -(2**63) <= found < 2**63
        return found if fits and abs(found) < 2**53 * 1000 else steps.start // factor

    if pa.types.is_float64(kind):
        return Kind(
            kind, _nullable(lambda random: float(count(random)), lambda one: int(one) * factor)
        )
    if pa.types.is_decimal(kind):
        return Kind(
            kind, _nullable(lambda random: Decimal(count(random)), lambda one: int(one) * factor)
        )
    return Kind(kind, _nullable(count, lambda one: one * factor))
