"""What leaves at one step of a plan with a statistic: its value, interval and parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

import numpy as np

from hushfade import check
from hushfade.check import Column
from hushfade.errors import InvalidType
from hushfade.public.release import Release
from hushfade.public.statistics.readings import Readings


class PartRelease(NamedTuple):
    """A linear part of a statistic, such as its count: unbiased, with its own error."""

    name: str
    value: float | Column
    stddev: float
    readings: Readings

    def interval(self, confidence: float = 0.95) -> tuple[float | Column, float | Column]:
        """Two numbers that contain the true part with at least this probability."""
        lower, upper = self.readings.sum_interval(self.name, confidence)
        return _unwrapped(lower[0], self.value), _unwrapped(upper[0], self.value)

    def __repr__(self) -> str:
        return f"PartRelease(name={self.name!r}, value={self.value!r}, stddev={self.stddev!r})"


class DerivedRelease(NamedTuple):
    """Another value of a statistic's lanes, such as the mean of a variance, with its interval."""

    name: str
    value: float | Column
    readings: Readings
    suppressed: bool | np.ndarray[Any, np.dtype[np.bool_]] = False

    def interval(self, confidence: float = 0.95) -> tuple[float | Column, float | Column]:
        """Two numbers that contain the true value with at least this probability, at this step.

        They may be the whole range, and are nan where the release is suppressed.
        """
        ends = self.readings.derived_interval(self.name, confidence)
        lower, upper = (np.where(self.suppressed, np.nan, end[0]) for end in ends)
        return _unwrapped(lower, self.value), _unwrapped(upper, self.value)

    def __float__(self) -> float:
        return float(self.value)

    def __repr__(self) -> str:
        return f"DerivedRelease(name={self.name!r}, value={self.value!r})"


class StatisticRelease(Release):
    """The statistic at `step`: `value`, `interval`, and the noisy sums behind it in `parts`.

    `value` is a float, or a column: one entry per key, and per bin or quantile.  `stddev` is the
    standard deviation of the noise of one lane, in records.  The value of a ratio, such as a mean,
    has no fixed standard deviation: its interval states its error.
    """

    readings: Readings
    suppressed: bool | np.ndarray[Any, np.dtype[np.bool_]] = False

    @classmethod
    def of(cls, readings: Readings, keys: tuple[str, ...] | None) -> StatisticRelease:
        """The release of one step."""
        value: Any = readings.value[0]
        if keys is None:
            value = value[0]
        if np.ndim(value) == 0:
            value = float(value)
        fields = (int(readings.steps[0]), value, float(readings.stddevs[0]), keys, (), None)
        release: StatisticRelease = tuple.__new__(cls, fields)
        release.readings = readings
        return release

    def interval(self, confidence: float = 0.95) -> tuple[float | Column, float | Column]:
        """Two numbers that contain the true value with at least this probability, at this step.

        For a mean, a share, a variance or a quantile the interval may be the whole range: see
        `whole_range`.  Where a release is suppressed, both ends are nan.
        """
        lower, upper = self.readings.interval(confidence)
        return self._shown(lower[0]), self._shown(upper[0])

    def whole_range(self, confidence: float = 0.95) -> bool | np.ndarray[Any, np.dtype[np.bool_]]:
        """Is the interval everything between the bounds?  Then the noise hides the statistic."""
        low, high = self.readings.statistic.range
        lower, upper = self.readings.interval(confidence)
        whole: Any = (lower[0] <= low) & (upper[0] >= high) & np.isfinite(high - low)
        whole = whole[0] if self.keys is None else whole
        return bool(whole) if np.ndim(whole) == 0 else np.asarray(whole)

    @property
    def parts(self) -> Mapping[str, PartRelease]:
        """The noisy sums behind the statistic, such as the count, with their own errors."""
        found = {}
        for name, weights in self.readings.statistic.sums.items():
            sums = self.readings.lanes[0] @ weights
            value: float | Column = float(sums[0]) if self.keys is None else sums
            stddev = float(self.readings.sum_stddevs(name)[0])
            found[name] = PartRelease(name, value, stddev, self.readings)
        return found

    @property
    def derived(self) -> Mapping[str, DerivedRelease]:
        """Other values of the same lanes: the mean and the standard deviation of a variance.

        Each has an interval of its own.
        """
        found = {}
        for name, values in self.readings.derived.items():
            shown: Any = np.where(self.suppressed, np.nan, values[0])
            value: float | Column = float(shown[0]) if self.keys is None else shown
            found[name] = DerivedRelease(name, value, self.readings, self.suppressed)
        return found

    def suppressed_below(self, minimum: float) -> StatisticRelease:
        """The release with nan in place of values whose noisy count is below `minimum`.

        It is as private as the release itself, because it looks at released numbers only.
        """
        minimum = check.real(minimum=minimum)
        few = self.readings.count[0] < minimum
        value = np.array(self.value, dtype=np.float64)
        if self.keys is None:
            value = np.where(few[0], np.nan, value)
        else:
            value[few] = np.nan
        shown: Any = float(value) if np.ndim(value) == 0 else value
        changed = self._changed("suppressed_below", shown)
        changed.suppressed = bool(few[0]) if self.keys is None else few
        return changed

    def not_below(self, earlier: Release) -> NoReturn:
        """Only sums that never fall have this; a statistic of a decayed stream may fall."""
        raise InvalidType("not_below needs a release of a sum")

    def _changed(self, how: str, value: float | Column) -> StatisticRelease:
        changed = self._replace(value=value, biased=(*self.biased, how))
        changed.readings, changed.suppressed = self.readings, self.suppressed
        return changed

    def _shown(self, end: Any) -> float | Column:
        end = np.asarray(end[0] if self.keys is None else end)
        hidden = np.asarray(self.suppressed)
        if hidden.any():
            hidden = hidden.reshape(hidden.shape + (1,) * (end.ndim - hidden.ndim))
            end = np.where(hidden, np.nan, end)
        return float(end) if end.ndim == 0 else end

    def __repr__(self) -> str:
        return f"StatisticRelease(step={self.step!r}, value={self.value!r}, keys={self.keys!r})"


def _unwrapped(end: Column, value: float | Column) -> float | Column:
    return float(end[0]) if isinstance(value, float) else end
