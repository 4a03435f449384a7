"""Means and sums under the names that pandas and Polars have for them.

    series.hushfade.ewm_mean(half_life=24, epsilon=1, delta=1e-6, low=0, high=1)
    series.hushfade.ewm_sum(span=20, ...)          or com, halflife, alpha, as pandas defines them
    series.hushfade.rolling_mean(7, ...)           the mean of the last 7 rows
    series.hushfade.rolling_sum(window=7, ...)     or window_size, as Polars calls it
    frame.hushfade.ewm_mean_by(time="at", value="x", half_life="1h", every="5min", start=..., ...)

The weights are the weights of pandas' ewm(adjust=True) and rolling(min_periods=1).  A mean has the
columns value, lower, upper and count.  Rows are steps.  Where times are irregular, a row is not a
step: `ewm_mean_by`, `ewm_sum_by`, `rolling_mean_by` and `rolling_sum_by` assign each record to the
step of its time.  Their column of times is `time`, or `by` as in Polars, or `times` as in pandas.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar, Unpack

from hushfade import check
from hushfade.decays import Exponential
from hushfade.errors import InvalidType, InvalidValue
from hushfade.frames.settings import Arguments, EventsArguments
from hushfade.public.statistics import Mean

Made = TypeVar("Made")
_SMOOTHING = ("half_life", "halflife", "alpha", "com", "span")
_SAME: dict[str, tuple[object, ...]] = {  # what pandas and Polars mean by these values is done here
    "adjust": (True,),
    "ignore_na": (False,),
    "ignore_nulls": (False,),
    "min_periods": (0, 1),
    "min_samples": (0, 1),
    "center": (False,),
}
_BY_TIME = "use {} of the frame, with time, every, start and end"


class FamiliarNames(ABC, Generic[Made]):
    """ewm_mean, ewm_sum, rolling_mean and rolling_sum, in terms of `release`."""

    @abstractmethod
    def release(self, **arguments: Unpack[Arguments]) -> Made:
        """The release of a column with these arguments."""

    def ewm_mean(self, **arguments: Any) -> Made:
        """The exponentially weighted mean at every row: value, lower, upper, count."""
        given = ewm_arguments(_rows_alone(arguments, "ewm_mean_by"))
        self._check_index(given, "ewm_mean_by")
        return self.release(**mean_arguments(given))

    def ewm_sum(self, **arguments: Any) -> Made:
        """The exponentially weighted sum at every row: value and stddev."""
        given = ewm_arguments(_rows_alone(arguments, "ewm_sum_by"))
        self._check_index(given, "ewm_sum_by")
        return self.release(**given)

    def rolling_mean(self, window: int | str | None = None, **arguments: Any) -> Made:
        """The mean of the last rows at every row: value, lower, upper, count."""
        given = rolling_arguments(window, _rows_alone(arguments, "rolling_mean_by"))
        self._check_index(given, "rolling_mean_by")
        return self.release(**mean_arguments(given))

    def rolling_sum(self, window: int | str | None = None, **arguments: Any) -> Made:
        """The sum of the last rows at every row: value and stddev."""
        given = rolling_arguments(window, _rows_alone(arguments, "rolling_sum_by"))
        self._check_index(given, "rolling_sum_by")
        return self.release(**given)

    def _check_index(self, arguments: dict[str, Any], other: str) -> None:
        """Raise if the rows have times, no step is declared, and the rows are not steps.

        `other` is the method for records with times.
        """


class FamiliarFrames(ABC, Generic[Made]):
    """ewm_mean_by and the like for records with irregular times, in terms of `release_events`."""

    @abstractmethod
    def release_events(self, *, time: str, **arguments: Unpack[EventsArguments]) -> Made:
        """The release of events with these arguments."""

    def ewm_mean_by(self, **arguments: Any) -> Made:
        """The exponentially weighted mean of records at every step; see release_events."""
        time, rest = _time_column(arguments)
        return self.release_events(time=time, **mean_arguments(ewm_arguments(rest)))

    def ewm_sum_by(self, **arguments: Any) -> Made:
        """The exponentially weighted sum of records at every step; see release_events."""
        time, rest = _time_column(arguments)
        return self.release_events(time=time, **ewm_arguments(rest))

    def rolling_mean_by(self, window: int | str | None = None, **arguments: Any) -> Made:
        """The mean of the records of the last steps at every step; see release_events."""
        time, rest = _time_column(arguments)
        return self.release_events(time=time, **mean_arguments(rolling_arguments(window, rest)))

    def rolling_sum_by(self, window: int | str | None = None, **arguments: Any) -> Made:
        """The sum of the records of the last steps at every step; see release_events."""
        time, rest = _time_column(arguments)
        return self.release_events(time=time, **rolling_arguments(window, rest))


def irregular_index(other: str) -> InvalidValue:
    """The error for rows whose times are not equally far apart."""
    return InvalidValue(
        "must have equal steps, because each row is a step here",
        argument="the index",
        got="irregular times",
        remedy=f'{_BY_TIME.format(other)}, or declare every="rows" if each row is a step whatever '
        "its time",
    )


def _time_column(arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The column of times under one of its names, and the other arguments."""
    rest = dict(arguments)
    given = {name: rest.pop(name, None) for name in ("time", "by", "times")}
    named = [name for name, column in given.items() if column is not None]
    if len(named) != 1:
        got = " and ".join(named) or "none"
        raise InvalidType("one of time, by, times must name the column of times", got=got)
    return given[named[0]], rest


def _rows_alone(arguments: dict[str, Any], other: str) -> dict[str, Any]:
    """The arguments of a method whose rows are steps.  Raise if there is a column of times."""
    for name in ("times", "by"):
        if arguments.get(name) is not None:
            raise InvalidType(
                f"{name} must not be given: each row is a step here", remedy=_BY_TIME.format(other)
            )
    return arguments


def _without_same(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments without the ones that ask for what hushfade does anyway.

    >>> _without_same({"adjust": True, "epsilon": 1, "min_periods": None})
    {'epsilon': 1}
    """
    rest = {name: given for name, given in arguments.items() if given is not None}
    for name, same in _SAME.items():
        if name in rest and rest.pop(name) not in same:
            allowed = " or ".join(map(repr, same))
            raise InvalidValue(
                f"must be {allowed}: hushfade weighs all records of the past, and releases every "
                "step",
                argument=name,
            )
    return rest


def rolling_arguments(window: int | str | None, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a release with a window, under pandas' or Polars' name.

    >>> rolling_arguments(None, {"window_size": 7, "min_samples": 1})
    {'window': 7}
    """
    rest = _without_same(arguments)
    size = rest.pop("window_size", None)
    if rest.get("plan") is not None and window is None and size is None:
        return rest
    if (window is None) == (size is None):
        raise InvalidType("window or window_size must be given, and not both")
    return {**rest, "window": size if window is None else window}


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
    rest = _without_same(arguments)
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
    return {**rest, "decay": Exponential.from_alpha(1.0 / (1.0 - value))}


def _at_least(value: float, least: float, name: str) -> float:
    if not value >= least:
        raise InvalidValue(f"must be >= {least:g}", argument=name, got=repr(value))
    return value
