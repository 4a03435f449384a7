"""Records of a statistic: samples, the weights that a textbook gives them, and their levels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hushfade.audit.randomness import Chance
from hushfade.check import Column, Signed
from hushfade.public.statistics import (
    Histogram,
    LaneStatistic,
    Mean,
    Quantiles,
    Ratio,
    Share,
    Variance,
)

_FAR = 1e300
_EDGES = 16  # the most edges of which every one is tried
_RANDOM = 8


def textbook(statistic: LaneStatistic, record: Any) -> Column:
    """The weights of a record, one per lane, in floats and from the definition.

    >>> textbook(Variance(low=0, high=4), 1.0).tolist()
    [0.5625, 0.375, 0.0625]
    """
    match statistic:
        case Share():
            true = record == statistic.of if statistic.of is not None else bool(record)
            return np.array([1.0, 0.0] if true else [0.0, 1.0])
        case Ratio():
            above, below = (
                min(max(number, 0.0), most) / most
                for number, most in zip(
                    record, (statistic.numerator, statistic.denominator), strict=True
                )
            )
            return np.array([above, below, 1.0 - below])
        case Histogram() | Quantiles():
            place = sum(record >= edge for edge in statistic.edges[1:-1])
            found = []
            for size in level_sizes(statistic):
                row = np.zeros(size)
                row[place * size // (len(statistic.edges) - 1)] = 1.0
                found.append(row)
            return np.concatenate(found)
        case Mean() | Variance():
            clipped = min(max(record, statistic.low), statistic.high)
            t = (clipped - statistic.low) / (statistic.high - statistic.low)
            if isinstance(statistic, Mean):
                return np.array([t, 1.0 - t])
            return np.array([(1.0 - t) ** 2, 2.0 * t * (1.0 - t), t * t])
    raise AssertionError(f"no records for {statistic.name}")


def level_sizes(statistic: LaneStatistic) -> tuple[int, ...]:
    """The number of lanes of each level: groups of lanes to which a record adds one whole."""
    if isinstance(statistic, Quantiles):
        return statistic.sizes
    return (1, 2) if isinstance(statistic, Ratio) else (len(statistic.parts),)


def by_level(statistic: LaneStatistic, lanes: Signed) -> list[Signed]:
    """The lanes of some keys, (..., keys · lanes), as one array per level."""
    parts = lanes.reshape(*lanes.shape[:-1], -1, len(statistic.parts))
    borders = np.cumsum(level_sizes(statistic))[:-1]
    return [np.asarray(level) for level in np.split(parts, borders, axis=-1)]


def rounding(statistic: LaneStatistic, span: int) -> float:
    """How far the units of a lane may be from the weight times the whole, in units.

    A record is rounded to the grid by half a unit, and a lane of a variance has a slope of 2 · span
    at most.
    """
    return float(2 * span) if isinstance(statistic, Variance) else 1.0


def samples(statistic: LaneStatistic, chance: Chance) -> dict[str, Any]:
    """Records within their bounds, at them, between and at edges, and as large as possible."""
    rng = chance.inputs()
    edges: tuple[float, ...] = ()
    match statistic:
        case Share():
            if statistic.of is None:
                return {"true": True, "false": False}
            texts = (statistic.of, statistic.of + " ", statistic.of.upper() + "'", "")
            return {f"text {place}": text for place, text in enumerate(texts)}
        case Ratio():
            most = statistic.numerator, statistic.denominator
            shares = [(a, b) for a in (0.0, 0.37, 1.0) for b in (0.0, 0.61, 1.0)]
            shares += [(-1.0, 40.0), (40.0, -1.0), *rng.random((_RANDOM, 2)).tolist()]
            pairs = [(a * most[0], b * most[1]) for a, b in shares] + [(_FAR, _FAR), (-_FAR, _FAR)]
            return {f"pair {place}": list(pair) for place, pair in enumerate(pairs)}
        case Mean() | Variance():
            low, high = statistic.low, statistic.high
        case Histogram() | Quantiles():
            low, high = statistic.edges[0], statistic.edges[-1]
            stride = max(1, len(statistic.edges) // _EDGES)
            edges = statistic.edges[::stride]
        case _:
            raise AssertionError(f"no records for {statistic.name}")
    span = high - low
    inside = (low + span * share for share in (0.0, 0.25, 0.37, 0.5, 1.0, *rng.random(_RANDOM)))
    beyond = min(high + 40.0 * span, _FAR), max(low - 40.0 * span, -_FAR), _FAR, -_FAR
    near = (value for edge in edges for value in (edge, math.nextafter(edge, -math.inf)))
    return {f"{value:.17g}": float(value) for value in (*inside, *beyond, *near)}


def largest_record(statistic: LaneStatistic, chance: Chance) -> Any:
    """A record that adds a whole to one lane."""
    tried = samples(statistic, chance).values()
    return max(tried, key=lambda record: float(textbook(statistic, record).max()))


def invalid(statistic: LaneStatistic, valid: Any) -> list[list[Any]]:
    """Lists of records, of which one is invalid."""
    wrong: list[Any] = [math.nan, math.inf, -math.inf]
    if isinstance(statistic, Share):
        wrong = [2, 0.5, math.nan] if statistic.of is None else [7, None, math.nan]
    elif isinstance(statistic, Ratio):
        wrong = [[number, 1.0] for number in wrong] + [[1.0, number] for number in wrong]
    return [[valid, one] for one in wrong]
