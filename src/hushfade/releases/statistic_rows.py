"""Some steps' releases of a statistic as a table: a row for each step, key, and bin or quantile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hushfade.check import Column, Matrix, Signed
from hushfade.errors import InvalidValue
from hushfade.public.statistics.readings import Readings

if TYPE_CHECKING:
    from hushfade.public.statistics import LaneStatistic
    from hushfade.releases.files import Meaning

COLUMNS = {
    "bin": "a bin of the histogram",
    "quantile": "which quantile",
    "value": "the statistic, from sums with noise",
    "lower": "with upper: contains the true statistic with at least the stated confidence",
    "upper": "with lower: contains the true statistic with at least the stated confidence",
    "count": "the decayed number of records, with noise",
    "count_stddev": "standard deviation of the noise in count, the same whatever the data are",
    "mean": "the mean of the records, from the same sums",
    "mean_lower": "with mean_upper: contains the true mean with at least the stated confidence",
    "mean_upper": "with mean_lower: contains the true mean with at least the stated confidence",
    "standard_deviation": "the square root of value",
    "standard_deviation_lower": "the square root of lower",
    "standard_deviation_upper": "the square root of upper",
}


def statistic_columns(statistic: LaneStatistic) -> tuple[str, ...]:
    """The columns of a statistic, after step, time and key."""
    output = (statistic.output_name,) if statistic.outputs is not None else ()
    derived = [
        column
        for name in statistic.derived_names
        for column in (name, f"{name}_lower", f"{name}_upper")
    ]
    return (*output, "value", "lower", "upper", *derived, "count", "count_stddev")


@dataclass(frozen=True)
class StatisticRows:
    """Some steps' readings, and the ends of the steps in ns since 1970."""

    readings: Readings
    ends: Signed | None
    suppress_below: float | None = None  # the noisy count under which no value is shown

    @property
    def steps(self) -> Signed:
        """The numbers of the steps."""
        return self.readings.steps

    def series(self, confidence: float) -> tuple[Matrix, Matrix, Matrix]:
        """Value, lower and upper, (n, keys · outputs); suppressed values are nan."""
        n = len(self.steps)
        lower, upper = self.readings.interval(confidence)
        hidden = self._hidden()
        found = [np.where(hidden, np.nan, x) for x in (self.readings.value, lower, upper)]
        value, lower, upper = (x.reshape(n, -1) for x in found)
        return value, lower, upper

    def _hidden(self) -> Any:
        """Which values are not shown, so that it fits the shape of `value`."""
        if self.suppress_below is None:
            return np.zeros((1,) * self.readings.value.ndim, dtype=np.bool_)
        few = self.readings.count < self.suppress_below
        return few.reshape(few.shape + (1,) * (self.readings.value.ndim - 2))

    def table(self, meaning: Meaning) -> dict[str, Any]:
        """One array per column; a row for each step, key and output, in that order."""
        readings, statistic = self.readings, self.readings.statistic
        n, groups = readings.count.shape
        outputs = 1 if statistic.outputs is None else len(statistic.outputs)
        value, lower, upper = (x.ravel() for x in self.series(meaning.confidence))
        if "non_negative" in meaning.changed:
            value, lower, upper = (np.maximum(x, 0.0) for x in (value, lower, upper))
        if "whole" in meaning.changed:
            value = np.rint(value)
        found: dict[str, Any] = {"step": np.repeat(self.steps, groups * outputs)}
        if self.ends is not None:
            found["time"] = np.repeat(self.ends, groups * outputs).astype("datetime64[ns]")
        if meaning.keys is not None:
            names = np.repeat(np.array(meaning.keys, dtype=object), outputs)
            found["key"] = np.tile(names, n)
        if statistic.outputs is not None:
            labels = np.array(statistic.outputs, dtype=object)
            found[statistic.output_name] = np.tile(labels, n * groups)
        found |= {"value": value, "lower": lower, "upper": upper}
        for name in statistic.derived_names:
            ends = readings.derived_interval(name, meaning.confidence)
            for column, shown in zip(
                (name, f"{name}_lower", f"{name}_upper"),
                (readings.derived[name], *ends),
                strict=True,
            ):
                found[column] = np.where(self._hidden(), np.nan, shown).ravel()
        found["count"] = np.repeat(readings.count.ravel(), outputs)
        deviations: Column = readings.sum_stddevs("count")
        found["count_stddev"] = np.repeat(deviations, groups * outputs)
        return found


def check_changes(statistic: LaneStatistic, changed: tuple[str, ...]) -> None:
    """Raise if values are to be changed in a way that only counts can be."""
    if changed and statistic.name != "histogram":
        raise InvalidValue(
            f"non_negative and whole are for sums, counts and histograms, not for a "
            f"{statistic.name}"
        )
