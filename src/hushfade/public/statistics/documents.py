"""Statistics as plain data: what was declared."""

from __future__ import annotations

from typing import Any

from hushfade.errors import InvalidValue
from hushfade.public.statistics import (
    Histogram,
    LaneStatistic,
    Mean,
    Quantiles,
    Ratio,
    Share,
    Variance,
)


def statistic_from(document: dict[str, Any], low: float, high: float) -> LaneStatistic:
    """The statistic of plain data; `low` and `high` are the bounds of the plan's grid."""
    match document:
        case {"kind": "mean", **rest} if not rest:
            return Mean(low=low, high=high)
        case {"kind": "variance", **rest} if not rest:
            return Variance(low=low, high=high)
        case {"kind": "share", "of": of, **rest} if not rest:
            return Share(of=of)
        case {"kind": "histogram", "edges": list(edges), **rest} if not rest:
            return Histogram(edges)
        case {"kind": "ratio", **rest} if set(rest) == {"numerator", "denominator", "most"}:
            return Ratio(**rest)
        case {"kind": "quantiles", "quantiles": list(quantiles), "bins": int(), **rest}:
            names = ("low", "high", "bins", "levels", "expect")
            if set(rest) == {"low", "high", "levels", "expect"}:
                return Quantiles(quantiles, **{name: document[name] for name in names})
    raise InvalidValue("statistic must be one of hushfade's, with its parameters")
