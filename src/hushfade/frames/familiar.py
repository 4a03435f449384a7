"""Means and sums under the names that pandas and Polars have for them.

    series.hushfade.ewm_mean(half_life=24, epsilon=1, delta=1e-6, low=0, high=1)
    series.hushfade.ewm_sum(span=20, ...)          or com, halflife, alpha, as pandas defines them
    series.hushfade.rolling_mean(7, ...)           the mean of the last 7 rows
    series.hushfade.rolling_sum(window=7, ...)
    frame.hushfade.ewm_mean_by(time="at", value="x", half_life="1h", every="5min", start=..., ...)

The weights are the weights of pandas' ewm(adjust=True) and rolling(min_periods=1).  A mean has the
columns value, lower, upper and count.  Rows are steps.  Where times are irregular, a row is not a
step: `ewm_mean_by` and `ewm_sum_by` assign each record to the step of its time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar, Unpack

from hushfade import check
from hushfade.decay import Exponential
from hushfade.errors import InvalidType, InvalidValue
from hushfade.frames.settings import Arguments
from hushfade.public.statistics import Mean

Made = TypeVar("Made")
_SMOOTHING = ("half_life", "halflife", "alpha", "com", "span")


class FamiliarNames(ABC, Generic[Made]):
    """ewm_mean, ewm_sum, rolling_mean and rolling_sum, in terms of `release`."""

    @abstractmethod
    def release(self, **arguments: Unpack[Arguments]) -> Made:
        """The release of a column with these arguments."""

    def ewm_mean(self, **arguments: Any) -> Made:
        """The exponentially weighted mean at every row: value, lower, upper, count."""
        return self.release(**mean_arguments(ewm_arguments(arguments)))

    def ewm_sum(self, **arguments: Any) -> Made:
        """The exponentially weighted sum at every row: value and stddev."""
        return self.release(**ewm_arguments(arguments))

    def rolling_mean(self, window: int | str, **arguments: Any) -> Made:
        """The mean of the last rows at every row: value, lower, upper, count."""
        return self.release(**mean_arguments({**arguments, "window": window}))

    def rolling_sum(self, window: int | str, **arguments: Any) -> Made:
        """The sum of the last rows at every row: value and stddev."""
        return self.release(**arguments, window=window)


def mean_arguments(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a release whose statistic is the mean of records in [low, high].

    >>> mean_arguments({"low": 0, "high": 1, "window": 7})
    {'window': 7, 'statistic': Mean(low=0.0, high=1.0)}
    """
    rest = dict(arguments)
    if "statistic" in rest:
        raise InvalidType("statistic must not be given: the method names it")
    if rest.get("plan") is not None:
        return rest
    low, high = rest.pop("low", None), rest.pop("high", None)
    if low is None or high is None:
        raise InvalidType(
            "low and high must be given: each record is clipped to them; bounds taken from the "
            "data would reveal a record, since the largest value is one person's"
        )
    return {**rest, "statistic": Mean(low=low, high=high)}


def ewm_arguments(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a release with pandas' ways to state the smoothing.

    >>> ewm_arguments({"alpha": 0.5, "epsilon": 1})
    {'epsilon': 1, 'decay': Exponential(half_life=1.0)}
    """
    for name in ("times", "by"):
        if arguments.get(name) is not None:
            raise InvalidType(
                f"{name} must not be given: each row is a step here",
                remedy="use ewm_mean_by of the frame, with time, every, start and end",
            )
    rest = {name: given for name, given in arguments.items() if given is not None}
    if rest.get("plan") is not None:
        return rest
    given = [name for name in _SMOOTHING if name in rest]
    if len(given) != 1:
        got = " and ".join(given) or "none"
        raise InvalidType(f"one of {', '.join(_SMOOTHING)} must be given", got=got)
    name = given[0]
    if name in ("half_life", "halflife"):
        return rest
    value = check.real(**{name: rest.pop(name)})
    if name == "com":
        value = 1.0 / (1.0 + _at_least(value, 0.0, name))
    elif name == "span":
        value = 2.0 / (_at_least(value, 1.0, name) + 1.0)
    if not 0.0 < value < 1.0:
        raise InvalidValue("must leave weight for earlier rows", argument=name)
    return {**rest, "decay": Exponential(alpha=1.0 / (1.0 - value))}


def _at_least(value: float, least: float, name: str) -> float:
    if not value >= least:
        raise InvalidValue(f"must be >= {least:g}", argument=name, got=repr(value))
    return value
