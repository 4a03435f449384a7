"""A chart for the terminal: a line with its error band in braille dots or plain characters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hushfade import check
from hushfade.check import Column
from hushfade.errors import InvalidValue

if TYPE_CHECKING:
    from rich.text import Text

Dots = NDArray[np.bool_]
Levels = NDArray[np.intp]

_BLOCKS, _PLAIN_BLOCKS = "▁▂▃▄▅▆▇█", "_.-=+*%#"
_LEAST_WIDTH = 24


@dataclass(frozen=True)
class _Ink:
    """The characters of a chart, and the number of dots per character across and down."""

    across: int
    down: int
    band: str
    axis: str
    tick: str
    corner: str
    floor: str


_BRAILLE = _Ink(2, 4, "░", "│", "┤", "└", "─")
_PLAIN = _Ink(1, 1, ".", "|", "+", "+", "-")
# the bits of a braille character, by row and column of its dots, above U+2800
_BITS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])


def chart(
    values: ArrayLike,
    *,
    low: ArrayLike | None = None,
    high: ArrayLike | None = None,
    width: int | None = None,
    height: int = 12,
    label: str = "",
    x_labels: tuple[str, str] | None = None,
    plain: bool | None = None,
) -> Text:
    """The values as a line, over the band from `low` to `high` if given, as lines of text.

    `width` is the width of the whole chart, `height` the height of the part with the line.  The top
    row shows the largest number, the bottom row the smallest.  A column shows the range of its
    values.  `x_labels` appear below both ends.  `plain` restricts the chart to ASCII.  The console
    determines the defaults of `width` and `plain`.

    >>> print(chart([0, 1, 2, 3], width=24, height=4, plain=True, x_labels=("1", "4")))
    3 +                 ****
      |          *******
    1 +    ******
    0 +****
      +---------------------
       1                   4
    """
    from rich.text import Text

    if width is None or plain is None:
        from rich.console import Console

        console = Console()
        width = max(console.width, _LEAST_WIDTH) if width is None else width
        plain = not console.encoding.startswith("utf") if plain is None else plain
    row = check.coefficients(values=values)
    edges = _edges(low, high, len(row))
    width = check.count(width=width, least=_LEAST_WIDTH)
    height = check.count(height=height, least=2)

    ink = _PLAIN if plain else _BRAILLE
    bottom = float(min(np.min(part) for part in (row, *edges)))
    top = float(max(np.max(part) for part in (row, *edges)))
    numbers = _numbers(bottom, top, height)
    margin = max(map(len, numbers.values()))
    across = width - margin - 2
    if across < 8:
        raise InvalidValue("width must leave 8 columns next to the numbers", got=width)
    fine, wide = height * ink.down, across * ink.across
    line = _joined(*_spans(row, row, bottom, top, fine, wide))
    cells = _cells(_dots(*line, fine, wide), ink)
    band = np.zeros((height, across), dtype=np.bool_)
    if edges:
        band = _dots(*_spans(*edges, bottom, top, height, across), height, across)

    made = Text(no_wrap=True, overflow="crop")
    if label:
        made.append(_fitted(label, width, plain=plain) + "\n", style="bold")
    for place in range(height):
        number = numbers.get(place, "")
        made.append(f"{number:>{margin}} " + (ink.tick if number else ink.axis), style="dim")
        for cell, inside in zip(cells[place], band[place].tolist(), strict=True):
            shade = (ink.band, "blue") if inside else (" ", "")
            made.append(*((cell, "cyan") if cell else shade))
        made.rstrip()
        made.append("\n")
    made.append(" " * (margin + 1) + ink.corner + ink.floor * across, style="dim")
    if x_labels is not None:
        made.append("\n" + " " * (margin + 2) + _ends(x_labels, across, plain=plain), style="dim")
    return made


def sparkline(values: ArrayLike, width: int, *, plain: bool = False) -> str:
    """The values as one line of at most `width` bars, each the mean of its share of the values.

    >>> sparkline([1, 2, 3, 4, 5, 6, 7, 8], 8), sparkline([1, 1, 8, 8], 2, plain=True)
    ('▁▂▃▄▅▆▇█', '_#')
    """
    row = check.coefficients(values=values)
    bars = min(check.count(width=width), len(row))
    starts = np.arange(bars) * len(row) // bars
    row = row / max(1.0, float(np.max(np.abs(row))))  # sums and ranges stay finite
    means = np.add.reduceat(row, starts) / np.diff(starts, append=len(row))
    low, span = float(np.min(means)), float(np.ptp(means))
    blocks = _PLAIN_BLOCKS if plain else _BLOCKS
    if not span > 0:
        return blocks[len(blocks) // 2 - 1] * bars
    levels = np.rint((means - low) / span * (len(blocks) - 1)).astype(int)
    return "".join(blocks[level] for level in levels)


def _edges(
    low: ArrayLike | None, high: ArrayLike | None, n: int
) -> tuple[Column, Column] | tuple[()]:
    """Both edges of the band, checked, or None."""
    if low is None and high is None:
        return ()
    if low is None or high is None:
        raise InvalidValue("low and high must be given together, or neither")
    least, most = check.coefficients(low=low), check.coefficients(high=high)
    for name, row in (("low", least), ("high", most)):
        if len(row) != n:
            raise InvalidValue(
                f"must have as many numbers as values, {n}", argument=name, got=len(row)
            )
    if not np.all(least <= most):
        raise InvalidValue("low must be <= high at each place")
    return least, most


def _spans(
    low: Column, high: Column, bottom: float, top: float, down: int, across: int
) -> tuple[Levels, Levels]:
    """The lowest and the highest level of each column, from 0 to down - 1.

    With more numbers than columns a column has the smallest and the largest of its numbers.  With
    fewer, straight lines join the numbers, and a single number has the first column.
    """
    n = len(low)
    if not top > bottom:
        middle = np.full(across if n > 1 else 1, (down - 1) // 2)
        return middle, middle
    # exactly scaled to at most 1: the difference of two large floats may be no float
    power = -math.frexp(max(abs(bottom), abs(top)))[1]
    least, most = (np.ldexp(row, power) for row in (low, high))
    if n >= across:
        starts = np.arange(across) * n // across
        least, most = np.minimum.reduceat(least, starts), np.maximum.reduceat(most, starts)
    else:
        columns = across if n > 1 else 1
        at, own = np.linspace(0, n - 1, columns), np.linspace(0, columns - 1, n)
        # each number stands as it is in the column next to its place
        least, most = (_placed(row, at, np.rint(own).astype(np.intp)) for row in (least, most))
    base, span = math.ldexp(bottom, power), math.ldexp(top, power) - math.ldexp(bottom, power)
    first, last = (np.rint((row - base) / span * (down - 1)) for row in (least, most))
    return first.astype(np.intp), last.astype(np.intp)


def _placed(row: Column, at: Column, own: Levels) -> Column:
    """The row, interpolated linearly at the columns, and exact in its own columns."""
    joined = np.interp(at, np.arange(len(row)), row)
    joined[own] = row
    return joined


def _joined(first: Levels, last: Levels) -> tuple[Levels, Levels]:
    """The spans, each extended until it touches the level of the previous column."""
    before, after = slice(None, -1), slice(1, None)
    down, up = first.copy(), last.copy()
    down[after] = np.minimum(first[after], last[before] + 1)
    up[after] = np.maximum(last[after], first[before] - 1)
    return down, up


def _dots(first: Levels, last: Levels, down: int, across: int) -> Dots:
    """Which dots lie in the spans of the columns; the first row is the top row."""
    level = np.arange(down - 1, -1, -1)[:, None]
    found = np.zeros((down, across), dtype=np.bool_)
    found[:, : len(first)] = (first <= level) & (level <= last)
    return found


def _cells(dots: Dots, ink: _Ink) -> list[list[str]]:
    """The dots as characters; an empty cell is the empty string."""
    if ink is _PLAIN:
        return [["*" if dot else "" for dot in row] for row in dots.tolist()]
    down, across = dots.shape[0] // 4, dots.shape[1] // 2
    codes = np.einsum("ajbk,jk->ab", dots.reshape(down, 4, across, 2), _BITS)
    return [[chr(0x2800 + code) if code else "" for code in row] for row in codes.tolist()]


def _numbers(bottom: float, top: float, height: int) -> dict[int, str]:
    """The numbers next to the top, middle and bottom row, with enough digits to differ."""
    if not top > bottom:
        return {height - 1 - (height - 1) // 2: f"{top + 0.0:.6g}"}  # + 0.0: no minus zero
    rows = (0, height // 2, height - 1) if height >= 4 else (0, height - 1)
    shares = [row / (height - 1) for row in rows]
    largest = max(abs(top), abs(bottom))
    span = top / largest - bottom / largest
    digits = min(2 - math.floor(math.log10(span / 2)), 15)
    finest = math.floor(math.log10(largest)) - digits
    numbers = [top * (1 - share) + bottom * share for share in shares]
    return dict(zip(rows, (_shown(x, largest, finest) for x in numbers), strict=True))


def _shown(number: float, largest: float, finest: int) -> str:
    """The number, rounded to 10^finest, on a scale up to `largest`.

    >>> _shown(1234.5678, 2000.0, -1), _shown(3.2e9, 9e9, 7), _shown(-0.0, 4.0, -2)
    ('1234.6', '3.2e9', '0')
    """
    if 1e-3 <= largest < 1e6:
        text = f"{number:.{max(0, -finest)}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
        return "0" if text == "-0" else text
    if number == 0 or math.log10(abs(number)) < finest:
        return "0"
    digits = max(0, math.floor(math.log10(abs(number))) - finest)
    mantissa, exponent = f"{number:.{digits}e}".split("e")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return f"{mantissa}e{int(exponent)}"


def _fitted(words: str, width: int, *, plain: bool) -> str:
    """The text on one line of at most `width` cells, without control characters."""
    from rich.cells import cell_len, set_cell_size

    flat = "".join(letter if letter.isprintable() else " " for letter in words)
    if plain:
        flat = flat.encode("ascii", "replace").decode("ascii")
    if cell_len(flat) <= width:
        return flat
    dots = "..." if plain else "…"
    return set_cell_size(flat, width - len(dots)).rstrip() + dots


def _ends(labels: tuple[str, str], width: int, *, plain: bool) -> str:
    """A line with both labels at its ends, each at most half of the line."""
    from rich.cells import cell_len

    left, right = (_fitted(label, width // 2 - 1, plain=plain) for label in labels)
    return left + " " * (width - cell_len(left) - cell_len(right)) + right
