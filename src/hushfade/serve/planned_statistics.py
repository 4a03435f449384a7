"""The statistic of a planner's request: its parameters, its accuracy, and its code and command."""

from __future__ import annotations

import shlex
from typing import Any

from hushfade.errors import InvalidValue, Malformed
from hushfade.planning import statistic_summary
from hushfade.planning.plan import Plan
from hushfade.public.statistics import (
    Count,
    Histogram,
    LaneStatistic,
    Mean,
    Quantiles,
    Ratio,
    Share,
    Variance,
)

KINDS = ("sum", "count", "mean", "share", "variance", "histogram", "quantiles", "ratio")
MOST_EDGES = 1025  # numbers in edges
MOST_QUANTILES = 100
MOST_BINS = 1024

_BOUNDED = ("sum", "mean", "variance", "quantiles")  # records have the request's bounds
_GRID = ("sum", "mean", "variance")  # records have the request's resolution


def statistic_of(asked: dict[str, Any], low: float, high: float) -> LaneStatistic | Count | None:
    """The requested statistic; None for sums.  Raise if the request has parameters of another."""
    document = asked.get("statistic", {"kind": "sum"})
    kind = document.get("kind") if isinstance(document, dict) else None
    if kind not in KINDS:
        raise Malformed(f"statistic must have the kind {', '.join(KINDS[:-1])} or {KINDS[-1]}")
    if kind not in _BOUNDED and ("low" in asked or "high" in asked):
        raise InvalidValue(f"low and high must not be given for a {kind}")
    if kind not in _GRID and "resolution" in asked:
        raise InvalidValue(f"resolution must not be given for a {kind}: each record counts 1")
    given = {name: value for name, value in document.items() if value is not None}
    if given == {"kind": "sum"}:
        return None
    if given == {"kind": "count"}:
        return Count()
    return _lane_statistic(given, low, high)


def _lane_statistic(given: dict[str, Any], low: float, high: float) -> LaneStatistic:
    match given:
        case {"kind": "mean", **rest} if not rest:
            return Mean(low, high)
        case {"kind": "variance", **rest} if not rest:
            return Variance(low, high)
        case {"kind": "share", **rest} if rest.keys() <= {"of"}:
            of = rest.get("of")
            if isinstance(of, str) and not (0 < len(of) <= 200 and of.isprintable()):
                raise InvalidValue("of must be 1 to 200 printable characters")
            return Share(of)
        case {"kind": "histogram", "edges": list(edges), **rest} if not rest:
            if not len(edges) <= MOST_EDGES:
                raise InvalidValue(f"edges must be at most {MOST_EDGES} numbers")
            return Histogram(edges)
        case {"kind": "ratio", "numerator": a, "denominator": b, "most": most, **rest} if not rest:
            return Ratio(numerator=a, denominator=b, most=most)
        case {"kind": "quantiles", "quantiles": list(quantiles), **rest}:
            return _quantiles(quantiles, low, high, rest)
    raise Malformed(
        "statistic must have its own parameters and no others: of for a share, edges for a "
        "histogram, quantiles, bins and expect for quantiles, and numerator, denominator and most "
        "for a ratio"
    )


def _quantiles(quantiles: list[Any], low: float, high: float, rest: dict[str, Any]) -> Quantiles:
    if not rest.keys() <= {"bins", "expect"}:
        raise Malformed("quantiles must have no parameters but quantiles, bins and expect")
    if not len(quantiles) <= MOST_QUANTILES:
        raise InvalidValue(f"quantiles must be at most {MOST_QUANTILES} numbers")
    found = Quantiles(quantiles, low, high, bins=rest.get("bins"), expect=rest.get("expect"))
    if not (found.bins or 2) <= MOST_BINS:
        raise InvalidValue(f"bins must be at most {MOST_BINS}")
    return found


def described(made: Plan, step: int) -> dict[str, Any] | None:
    """What the plan releases, and how accurate it is at a step; None for sums and counts."""
    statistic = made.statistic
    if statistic is None:
        return None
    return {
        "name": statistic.name,
        "released": statistic_summary.released(statistic),
        "records": statistic_summary.records(statistic),
        "lanes": len(statistic.parts),
        "accuracy": statistic_summary.accuracy(made, step),
    }


def example_records(statistic: LaneStatistic) -> str:
    """Records of a step, in Python."""
    match statistic.kind:
        case "truths":
            return "[True, False, True]"
        case "texts":
            assert isinstance(statistic, Share)
            return f"[{statistic.of!r}, {'no' if statistic.of != 'no' else 'yes'!r}]"
        case "pairs":
            return "[[1, 2], [0, 3]]"
    return "[1, 1, 1]"


def options(statistic: LaneStatistic) -> str | None:
    """The options of `hushfade plan`; None for a share of truth values, which files do not have."""
    match statistic:
        case Share(of=None):
            return None
        case Share(of=str(of)):
            return f"--share {shlex.quote(f'result={of}')}"
        case Histogram():
            return f"--histogram value --edges {_listed(statistic.edges)}"
        case Ratio():
            return (
                f"--ratio numerator/denominator --numerator-high {_short(statistic.numerator)} "
                f"--denominator-high {_short(statistic.denominator)} "
                f"--largest-ratio {_short(statistic.most)}"
            )
        case Quantiles():
            bins = f" --bins {statistic.bins}" if statistic.levels == 1 else ""
            expect = "" if statistic.expect is None else f" --expect-records {statistic.expect:g}"
            return (
                f"--quantiles value={_listed(statistic.quantiles)}{bins}{expect} "
                f"--low {_short(statistic.low)} --high {_short(statistic.high)}"
            )
    low, high = statistic.bounds
    return f"--{statistic.name} value --low {_short(low)} --high {_short(high)}"


def _listed(numbers: tuple[float, ...]) -> str:
    return ",".join(map(_short, numbers))


def _short(number: float) -> str:
    return repr(number).removesuffix(".0")
