"""Release: the published value of one step, with its error.  It contains no private data."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, overload

import numpy as np

from hushfade.check import Column
from hushfade.errors import InvalidType, InvalidValue

if TYPE_CHECKING:
    from hushfade.public.step_errors import StepErrors


class Release(NamedTuple):
    """The released decayed sum at `step`: an unbiased `value` with standard deviation `stddev`.

    The first step is 1.  `value` is a float, or a column with one entry per key or coordinate.  The
    methods `non_negative`, `whole` and `not_below` return releases that are equally private but no
    longer unbiased; `biased` lists these changes.  `errors` is the distribution of the error at
    every step, shared by all releases of a stream.
    """

    step: int
    value: float | Column
    stddev: float
    keys: tuple[str, ...] | None = None
    biased: tuple[str, ...] = ()
    errors: StepErrors | None = None

    def interval(self, confidence: float = 0.95) -> tuple[float | Column, float | Column]:
        """The confidence interval of the true sum at this step."""
        if self.errors is None:
            raise InvalidType(
                "interval needs the distribution of the error",
                remedy="use a release from a stream, or give errors=plan.errors",
            )
        margin = self.errors.margin(self.step, confidence, stddev=self.stddev)
        return self.value - margin, self.value + margin

    def __repr__(self) -> str:
        """The release as text, without `errors`, which all releases of a stream share."""
        shown = (f"{name}={getattr(self, name)!r}" for name in self._fields if name != "errors")
        return f"Release({', '.join(shown)})"

    def by_key(self) -> dict[str, float]:
        """The values of a keyed stream, as a dictionary from key to value."""
        if self.keys is None:
            raise InvalidType("by_key needs a plan with keys", remedy="use value")
        return dict(zip(self.keys, np.asarray(self.value).tolist(), strict=True))

    def non_negative(self) -> Release:
        """The release with negative values replaced by 0.  It is biased upward near 0."""
        return self._changed("non_negative", _largest(self.value, 0.0))

    def whole(self) -> Release:
        """The release with values rounded to whole numbers."""
        return self._changed("whole", _each(np.rint(self.value)))

    def not_below(self, earlier: Release) -> Release:
        """The release with values at least as large as the earlier ones, for a rising count."""
        if not earlier.step < self.step:
            raise InvalidValue(f"earlier must be of a step < {self.step}", got=earlier.step)
        return self._changed("not_below", _largest(self.value, earlier.value))

    def _changed(self, how: str, value: float | Column) -> Release:
        return self._replace(value=value, biased=(*self.biased, how))


def _largest(value: float | Column, other: float | Column) -> float | Column:
    return _each(np.maximum(value, other))


@overload
def _each(value: np.float64) -> float: ...
@overload
def _each(value: Column) -> Column: ...
def _each(value: np.float64 | Column) -> float | Column:
    return value if isinstance(value, np.ndarray) else float(value)
