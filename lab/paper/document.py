"""The parts of a report: prose, tables, figures, and claims with a verdict.

All of them are plain data that can be converted to JSON and back unchanged.  So an interrupted
report can continue, and the numbers of a figure are always available.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from hushfade.check import Column
from hushfade.errors import InvalidValue

Cell = str | int | float | bool
Numbers: TypeAlias = Sequence[float] | Column
Style = Literal["line", "points", "band"]
Verdict = Literal["holds", "weak", "false"]


@dataclass(frozen=True)
class Prose:
    """Markdown: paragraphs and lists, no headings."""

    text: str


@dataclass(frozen=True)
class Table:
    """Named columns and their rows; pages show floats with `digits` digits, CSV files all."""

    name: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    digits: int = 6

    def __post_init__(self) -> None:
        widths = {len(row) for row in self.rows}
        if widths != {len(self.columns)}:
            raise InvalidValue(
                f"rows must have {len(self.columns)} cells in {self.name}", got=widths
            )


@dataclass(frozen=True)
class Line:
    """Labelled points (x, y), drawn as a line, as points, or as the band from y to `high`."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    style: Style = "line"
    high: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        numbers = (*self.x, *self.y, *self.high)
        if len(self.x) != len(self.y) or not all(map(math.isfinite, numbers)):
            raise InvalidValue(f"x and y must be equally many finite numbers in {self.label!r}")
        if len(self.high) != (len(self.x) if self.style == "band" else 0):
            raise InvalidValue(f"high must be given for a band, and only there, in {self.label!r}")


def line(
    label: str, x: Numbers, y: Numbers | float, style: Style = "line", high: Numbers = ()
) -> Line:
    """The line through x and y; if y is one number, the horizontal line over the range of x.

    >>> line("squares", range(3), [0, 1, 4]).y, line("two", range(3), 2).x
    ((0.0, 1.0, 4.0), (0.0, 2.0))
    """
    if isinstance(y, int | float):
        x, y = (min(x), max(x)), (y, y)
    return Line(label, _floats(x), _floats(y), style, _floats(high))


def _floats(numbers: Numbers) -> tuple[float, ...]:
    return tuple(map(float, numbers))


@dataclass(frozen=True)
class Panel:
    """One pair of axes.  The same label has the same colour in all panels of a figure."""

    title: str
    x: str
    y: str
    lines: tuple[Line, ...]
    x_log: bool = False
    y_log: bool = False


@dataclass(frozen=True)
class Figure:
    """Panels side by side, at most two in a row."""

    name: str
    caption: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, or one of ours, compared with the computed result.

    `printed` is the claimed value, and `found` is the computed one.  A weak claim is true, but it
    is not what the authors mean or far from tight.  For a false or weak claim, `instead` gives
    the correct statement.  A correction with a number of its own is a separate claim.
    """

    where: str  # 'Theorem 3', 'Theorem 3, corrected', or 'ours'
    says: str
    printed: str
    found: str
    verdict: Verdict
    instead: str = ""

    @classmethod
    def new(cls, says: str, printed: str, found: str, verdict: Verdict) -> Claim:
        """A claim of ours that the paper does not make."""
        return cls("ours", says, printed, found, verdict)

    @property
    def ours(self) -> bool:
        """Whether the claim is a correction, or a claim that the paper does not make."""
        return self.where == "ours" or self.where.endswith((", corrected", ", ours"))


def holds(condition: bool) -> Verdict:
    """The verdict of a comparison.

    >>> holds(1.03 <= 1.0)
    'false'
    """
    return "holds" if condition else "false"


Block = Prose | Table | Figure | Claim
Blocks: TypeAlias = Iterator[Block]


@dataclass(frozen=True)
class Extent:
    """The size of a report: the full one, or a quick one with fewer steps and releases."""

    name: str
    horizon: int  # the largest number of steps for bounds and certificates
    exact: int  # the largest number of steps at which gamma2 has a primal-dual bracket
    releases: int  # simulated streams per decay

    @property
    def full(self) -> bool:
        """Whether this is the full report."""
        return self.name == "full"

    def powers(self, base: int) -> list[int]:
        """base, base², ... up to the horizon.

        >>> Extent("toy", horizon=64, exact=2, releases=1).powers(4)
        [4, 16, 64]
        """
        return [base**k for k in range(1, self.horizon.bit_length()) if base**k <= self.horizon]


FULL = Extent("full", horizon=1 << 20, exact=512, releases=4000)
QUICK = Extent("quick", horizon=1 << 12, exact=64, releases=400)


@dataclass(frozen=True)
class Chapter:
    """A part of the report: its name in files, its title, and the function for its blocks."""

    name: str
    title: str
    blocks: Callable[[Extent], Blocks]


@dataclass(frozen=True)
class Written:
    """A computed chapter."""

    name: str
    title: str
    blocks: tuple[Block, ...]
