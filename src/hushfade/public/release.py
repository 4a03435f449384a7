"""What leaves: one step's private value, with its error.  Public; knows nothing of records."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, overload

import numpy as np

from hushfade.check import Column
from hushfade.errors import InvalidType, InvalidValue

if TYPE_CHECKING:
    from hushfade.public.step_errors import StepErrors


class Release(NamedTuple):
    """The decayed sum at `step` (the first is 1): `value` is unbiased with error `stddev`.

    `value` is a float, or a column with one entry per key or coordinate.  What is changed on
    request (`non_negative`, `whole`, `not_below`) is as private as before, and says in `biased`
    that it is no longer unbiased.  `errors` is the distribution of the error at every step, shared
    by all releases of a stream.
    """

    step: int
    value: float | Column
    stddev: float
    keys: tuple[str, ...] | None = None
    biased: tuple[str, ...] = ()
    errors: StepErrors | None = None

    def interval(self, confidence: float = 0.95) -> tuple[float | Column, float | Column]:
        """Two numbers that hold the true sum between them with this probability, at this step."""
        if self.errors is None:
            raise InvalidType(
                "interval needs the distribution of the error",
                remedy="make the release by a stream, or give errors=plan.errors",
            )
        margin = self.errors.margin(self.step, confidence, stddev=self.stddev)
        return self.value - margin, self.value + margin

    def __repr__(self) -> str:
        """Without `errors`, which is the same for all releases of a stream."""
        shown = (f"{name}={getattr(self, name)!r}" for name in self._fields if name != "errors")
        return f"Release({', '.join(shown)})"

    def by_key(self) -> dict[str, float]:
        """The values of a keyed stream, by key."""
        if self.keys is None:
            raise InvalidType("by_key needs a plan with keys")
        return dict(zip(self.keys, np.asarray(self.value).tolist(), strict=True))

    def non_negative(self) -> Release:
        """The value, or 0 where it is less.  Biased upward near 0."""
        return self._changed("non_negative", _largest(self.value, 0.0))

    def whole(self) -> Release:
        """The value rounded to whole numbers."""
        return self._changed("whole", _each(np.rint(self.value)))

    def not_below(self, earlier: Release) -> Release:
        """The value, or the earlier one's where it is less: a count that never falls."""
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
