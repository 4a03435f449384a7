"""The protocol of a statistic: the lanes of a record, the value of the lanes, and its interval.

A statistic spreads every record over lanes with weights that are never negative and sum to 1, on a
grid of integers.  A plan releases the decayed sum of every lane, with independent noise.  Value and
interval are computed from these released numbers alone.

    lanes        decayed sums of the weights, with noise, (..., lanes); their sum is the count
    value        (...,), or (..., outputs) where the statistic has several outputs
    interval     two arrays of that shape
"""

from __future__ import annotations

from typing import Any, Literal, Protocol, runtime_checkable

from hushfade.check import Column, Matrix, Signed
from hushfade.public.statistics.lane_margins import LaneMargins


@runtime_checkable
class Statistic(Protocol):
    """What a plan can release about its records."""

    @property
    def name(self) -> str:
        """The name in plan files and reports."""

    @property
    def bounds(self) -> tuple[float, float]:
        """The bounds of the plan's grid."""

    @property
    def resolution(self) -> float | None:
        """The resolution of the plan's grid; None where the caller may choose it."""


@runtime_checkable
class LaneStatistic(Statistic, Protocol):
    """A statistic with several lanes."""

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of the lanes."""

    @property
    def levels(self) -> int:
        """To how many groups of lanes a record adds a whole."""

    @property
    def kind(self) -> Literal["numbers", "grid", "truths", "texts", "pairs"]:
        """What a record is."""

    @property
    def outputs(self) -> tuple[str, ...] | None:
        """The names of the outputs; None where the value is one number."""

    @property
    def output_name(self) -> str:
        """What an output is: a bin, a quantile."""

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and the largest value that an interval may contain."""

    @property
    def sums(self) -> dict[str, Column]:
        """The linear parts of a release, by name: a weight for each lane.  One is "count"."""

    def document(self) -> dict[str, Any]:
        """The declared parameters as plain data."""

    def whole(self, span: int) -> int:
        """The units that a record adds to the lanes of one level; `span` is high - low in units."""

    def lanes(self, codes: Signed, span: int) -> tuple[Signed, Signed]:
        """The lanes that each record changes, and the units that it adds to them, both (n, k)."""

    def value(self, lanes: Matrix) -> Matrix:
        """The value of released lanes, (..., lanes)."""

    def interval_confidence(self, confidence: float) -> float:
        """The confidence that the margins must have for an interval with this confidence."""

    def interval(self, lanes: Matrix, margins: LaneMargins) -> tuple[Matrix, Matrix]:
        """The lower and the upper end, with the confidence of the margins."""

    @property
    def derived_names(self) -> tuple[str, ...]:
        """The names of further values that follow from the same lanes."""

    def derived(self, lanes: Matrix) -> dict[str, Matrix]:
        """These further values, by name."""


class LaneDefaults:
    """What most statistics with lanes have in common: one level, one output, nothing derived."""

    levels: int = 1
    output_name = ""
    derived_names: tuple[str, ...] = ()

    @property
    def outputs(self) -> tuple[str, ...] | None:
        return None

    @staticmethod
    def interval_confidence(confidence: float) -> float:
        return confidence

    def derived(self, lanes: Matrix) -> dict[str, Matrix]:
        return {}
