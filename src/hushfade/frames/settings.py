"""The arguments of a release from a frame, and the plan that follows from them.

Either `plan`, or:

    decay, or one of    half_life (pandas writes halflife), alpha, power, window, weights
    guarantee           or epsilon and delta, mu, or rho; and neighbours, protects
    statistic           hf.Count() for records that are 0 or 1, hf.Mean(low=0, high=9), hf.Share()
                        or hf.Variance(low=0, high=9); then without low, high
    low, high           the bounds of a record
    resolution          records are rounded to its multiples; 1 for whole numbers
    method, law         the mechanism; by default the mechanism with the smallest error
    horizon, expect

half_life, window, horizon and expect may be durations such as "24h" if `every` is the
length of a step, as a string or a timedelta.  alpha is the base of the decay, f_k = alpha^-k: alpha
= a in pandas is 1 / (1 - a) here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from typing import Any, Literal, TypedDict

from hushfade import duration
from hushfade.crossing.key_file import Noise
from hushfade.decays import CustomDecay, Decay, Exponential, PowerLaw, SlidingWindow, checked_decay
from hushfade.duration import Length
from hushfade.errors import InvalidType, InvalidValue
from hushfade.factors.factorization import Factorization
from hushfade.planning.exact_factors import Method
from hushfade.planning.mechanism_search import LawName
from hushfade.planning.plan import Plan
from hushfade.planning.planner import plan
from hushfade.privacy.guarantee import Guarantee, Neighbours
from hushfade.privacy.unit import Unit
from hushfade.public.statistics import Statistic

_DECAYS = ("decay", "half_life", "halflife", "alpha", "power", "window", "weights")
_WAYS = ("epsilon", "mu", "rho")
_GUARANTEE = ("guarantee", *_WAYS, "delta", "neighbours", "protects")
_REST = ("statistic", "low", "high", "horizon", "method", "law", "expect", "resolution")


class TotalsArguments(TypedDict, total=False):
    """The keyword arguments of `release_totals`."""

    plan: Plan | None
    decay: Decay | None
    half_life: float | str | None
    halflife: float | str | None
    alpha: float | None
    power: float | None
    window: int | str | None
    weights: Sequence[float] | None
    every: str | timedelta | None
    guarantee: Guarantee | None
    epsilon: float | None
    delta: float | None
    mu: float | None
    rho: float | None
    neighbours: Neighbours
    protects: Unit
    statistic: Statistic | None
    low: float | None
    high: float | None
    horizon: int | str | None
    method: Method | Literal["best"] | Factorization
    law: LawName | None
    expect: int | str | None
    resolution: float | None
    noise: Noise | None


class Arguments(TotalsArguments, total=False):
    """The keyword arguments of `release`.  With `empty_steps` a null is a step without a record."""

    empty_steps: bool


class EventsArguments(TotalsArguments, total=False):
    """The keyword arguments of `release_events`, in addition to the column of times.

    `value` names the column to sum, and needs `low` and `high`; without it each record counts as
    1.  `user` names the column of persons and needs `protects=hf.Person(...)`: a person's first
    rows count within these limits, and hushfade drops the others.
    `key` names the column of keys, or up to three columns: a declared key is then their values,
    divided by slashes, such as north/positive.
    `denominator` names the second column of `hf.Ratio`.  `skip_empty` drops records without a
    value.  hushfade also drops records with other keys, and records before start or after end.
    `start` and `end` are strings, dates or datetimes, with a time zone if the times have one.
    `time_unit` is the unit of numeric times.
    """

    value: str | None
    denominator: str | None
    key: str | Sequence[str] | None
    keys: Iterable[str] | None
    user: str | None
    start: str | date | None
    end: str | date | None
    steps: int | None
    time_unit: str | None
    skip_empty: bool
    confidence: float


def planned(arguments: TotalsArguments, keys: Iterable[str] | None = None) -> Plan:
    """The plan in the arguments, or the plan that they describe.

    Every argument is public.  Nothing is derived from the data.

    >>> planned({"half_life": "36h", "every": "1d", "epsilon": 1, "delta": 1e-6,
    ...          "low": 0, "high": 1}).decay
    Exponential(half_life=1.5)
    """
    given: dict[str, Any] = {name: said for name, said in arguments.items() if said is not None}
    for name in ("noise", "empty_steps"):  # arguments of the release, not of its plan
        given.pop(name, None)
    unknown = sorted(set(given) - {"plan", "every", *_DECAYS, *_GUARANTEE, *_REST})
    if unknown:
        raise InvalidType(f"a release has no argument named {unknown[0]!r}")
    if "plan" in given:
        return _checked(given, keys)
    every = duration.length(given.get("every"))
    decay = _decay(given, every)
    guarantee = _guarantee(given)
    if "statistic" not in given and not {"low", "high"} <= given.keys():
        raise InvalidType(
            "low and high must be given, or statistic=hf.Count(): each record is clipped to them; "
            "bounds taken from the data would reveal a record, since the largest value is one "
            "person's"
        )
    rest = {name: given[name] for name in _REST if name in given}
    for name in {"horizon", "expect"} & rest.keys():
        rest[name] = _whole(rest[name], every, name)
    return plan(decay, guarantee, keys=keys, every=given.get("every"), **rest)


def _checked(given: dict[str, Any], keys: Iterable[str] | None) -> Plan:
    """The given plan.  Raise if it does not fit, or another argument is given too."""
    found = given["plan"]
    if not isinstance(found, Plan):
        raise InvalidType("plan must be a Plan", got=type(found).__name__)
    others = sorted(set(given) - {"plan", "every"})
    if others:
        raise InvalidType(f"plan and {others[0]} cannot be combined: the plan already contains it")
    found.step_length(given.get("every"))
    if keys is None and not (found.keys is None and found.grid.norm is None):
        raise InvalidValue("plan must release one number per step", got="one with keys or a width")
    if keys is not None and found.keys != tuple(keys):
        raise InvalidValue("plan must have the given keys, in the same order")
    return found


def _decay(given: dict[str, Any], every: Length) -> Decay:
    named = [name for name in _DECAYS if name in given]
    if len(named) != 1:
        got = " and ".join(named) or "none"
        raise InvalidType(f"one of {', '.join(_DECAYS)} must be given", got=got)
    name = named[0]
    value = given[name]
    match name:
        case "half_life" | "halflife":
            return Exponential(half_life=_steps(value, every, name))
        case "alpha":
            return Exponential.from_alpha(value)
        case "power":
            return PowerLaw(power=value)
        case "window":
            return SlidingWindow(length=_whole(value, every, name))
        case "weights":
            return CustomDecay(value)
    return checked_decay(value)


def _guarantee(given: dict[str, Any]) -> Guarantee:
    said = {name: given[name] for name in _GUARANTEE if name in given}
    if "guarantee" in said:
        found = said.pop("guarantee")
        if not isinstance(found, Guarantee):
            raise InvalidType("must be a Guarantee", argument="guarantee", got=type(found).__name__)
        if said:
            raise InvalidType(f"guarantee and {min(said)} cannot be combined")
        return found
    ways = [name for name in _WAYS if name in said]
    if len(ways) > 1:
        raise InvalidType(f"{ways[0]} and {ways[1]} cannot be combined")
    if not ways or (ways == ["epsilon"] and "delta" not in said):
        raise InvalidType("a guarantee must be given: epsilon and delta, mu, rho, or a plan")
    if "mu" in said:
        return Guarantee.from_mu(said.pop("mu"), **said)
    if "rho" in said:
        return Guarantee.from_rho(said.pop("rho"), **said)
    return Guarantee(**said)


def _steps(value: float | str, every: Length, name: str) -> float:
    return float(duration.steps(value, every, name=name)) if isinstance(value, str) else value


def _whole(value: int | str, every: Length, name: str) -> int:
    return duration.whole_steps(value, every, name=name) if isinstance(value, str) else value
