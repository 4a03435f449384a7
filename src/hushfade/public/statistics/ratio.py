"""The ratio of two sums, decayed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from hushfade import check
from hushfade.check import Column, Matrix, Signed
from hushfade.errors import InvalidValue
from hushfade.public.statistics.lane_margins import LaneMargins
from hushfade.public.statistics.ratio_interval import ratio_interval
from hushfade.public.statistics.statistic import LaneDefaults

_LARGEST = 1e50  # of the three parameters; their products and squares fit into float64
_UNITS = 1 << 10  # of the largest numerator and denominator


@dataclass(frozen=True)
class Ratio(LaneDefaults):
    """The decayed ratio Σ f a / Σ f b of records with two numbers each, such as errors per request.

    `numerator` and `denominator` are the largest values of both numbers.  Each is clipped to
    between 0 and that value.  The ratio is reported between 0 and `most`.

    A record adds a / numerator to one lane, and b / denominator and the rest to two others.  That
    is two wholes, so the noise is the noise of a record that is counted twice.

    >>> import hushfade as hf
    >>> errors = hf.Ratio(numerator=10, denominator=100, most=1)
    >>> plan = hf.plan(hf.SlidingWindow(length=7), hf.Guarantee(1, 1e-6), statistic=errors)
    >>> release = plan.start(hf.UnsafeSeededNoise(1)).step([[2, 40], [0, 60]] * 1000)
    >>> round(release.value, 3), [round(end, 3) for end in release.interval(0.95)]
    (0.02, [0.02, 0.021])
    >>> round(release.parts["denominator"].value, -3)
    100000.0
    """

    numerator: float
    denominator: float
    most: float

    name = "ratio"
    bounds = 0.0, 1.0
    resolution = 1.0 / _UNITS
    parts = "numerator", "denominator", "rest"
    levels = 2  # the numerator, and the denominator with its rest
    kind: ClassVar[Literal["pairs"]] = "pairs"

    def __post_init__(self) -> None:
        check.settle(
            self,
            numerator=_moderate(numerator=self.numerator),
            denominator=_moderate(denominator=self.denominator),
            most=_moderate(most=self.most),
        )

    @property
    def range(self) -> tuple[float, float]:
        """What is reported."""
        return 0.0, self.most

    @property
    def sums(self) -> dict[str, Column]:
        """Count, numerator and denominator: weights of the lanes."""
        return {
            "count": np.array([0.0, 1.0, 1.0]),
            "numerator": np.array([self.numerator, 0.0, 0.0]),
            "denominator": np.array([0.0, self.denominator, 0.0]),
        }

    def document(self) -> dict[str, Any]:
        """The declared parameters."""
        return {
            "kind": self.name,
            "numerator": self.numerator,
            "denominator": self.denominator,
            "most": self.most,
        }

    def whole(self, span: int) -> int:
        """A record adds at most the units of the largest value, per level."""
        return span

    def codes(self, records: Any) -> Signed:
        """Both numbers in units, as one integer each.

        >>> Ratio(numerator=10, denominator=100, most=1).codes(np.array([[10.0, 50.0]])).tolist()
        [1050112]
        """
        pairs = records[None, :] if records.shape == (2,) else records
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            raise InvalidValue(
                "must be pairs of numbers", argument="records", got=f"shape {records.shape}"
            )
        return np.asarray(self.rule(pairs[:, 0], pairs[:, 1], np.clip, np.floor), dtype=np.int64)

    def rule(
        self,
        above: Any,
        below: Any,
        clip: Callable[[Any, float, float], Any],
        floor: Callable[[Any], Any],
    ) -> Any:
        """The code of two finite numbers, in the arithmetic of `clip` and `floor`.

        This is the only definition of the rule, for numpy and for Spark.
        """
        units = [
            floor(clip(number, 0.0, largest) / largest * _UNITS + 0.5)
            for number, largest in ((above, self.numerator), (below, self.denominator))
        ]
        return units[0] * (_UNITS + 1) + units[1]

    def lanes(self, codes: Signed, span: int) -> tuple[Signed, Signed]:
        """Numerator, denominator and its rest."""
        first, second = np.divmod(codes, _UNITS + 1)
        added = np.stack([first, second, _UNITS - second], axis=1)
        return np.broadcast_to(np.arange(3), added.shape), added

    def value(self, lanes: Matrix) -> Matrix:
        """The ratio, between 0 and `most`; the middle where the denominator is not positive."""
        top, bottom = self.numerator * lanes[..., 0], self.denominator * lanes[..., 1]
        half = np.full(bottom.shape, self.most / 2.0)
        ratios = np.divide(top, bottom, out=half, where=bottom > 0.0)
        return np.asarray(np.clip(ratios, 0.0, self.most))

    def interval(self, lanes: Matrix, margins: LaneMargins) -> tuple[Matrix, Matrix]:
        """Fieller's interval for the ratio."""
        top = np.array([self.numerator, 0.0, 0.0])
        bottom = np.array([0.0, self.denominator, 0.0])
        return ratio_interval(lanes, top, bottom, margins, 0.0, self.most)


def _moderate(**argument: Any) -> float:
    """The single keyword's value as a float whose products and squares fit into float64."""
    number = check.positive(**argument)
    if not 1.0 / _LARGEST <= number <= _LARGEST:
        (name,) = argument
        raise InvalidValue(
            f"must be from {1.0 / _LARGEST:g} to {_LARGEST:g}", argument=name, got=repr(number)
        )
    return number
