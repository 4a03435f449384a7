"""The error of every mechanism of a comparison over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hushfade.check import Column
from hushfade.plots import style, thinning

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hushfade.baselines.comparison import Comparison, Row

COLUMNS = 600  # of the figure: fewer than its pixels


def errors(comparison: Comparison) -> Figure:
    """A figure of the largest standard deviation so far, and faintly of the standard deviation.

    Both scales are logarithmic; up to 24 steps only the vertical scale.  Each line has a label at
    its end with the name and the largest error.  The dashed black line is the smallest possible
    largest error of factorization mechanisms with Gaussian noise.  hushfade's mechanisms have thick
    black lines, and its plan a solid one.
    """
    rows = comparison.rows
    figure = style.figure(10.5, max(5.5, 1.6 + 0.19 * (len(rows) + 1)))
    axes = figure.add_subplot()
    steps = np.arange(1, comparison.horizon + 1, dtype=np.float64)
    if comparison.horizon > 24:
        axes.set_xscale("log")
    else:
        style.whole_steps(axes)
    axes.set_yscale("log")
    bounds = [] if comparison.least is None else [comparison.least]
    lowest = min([*bounds, *(float(np.min(row.errors)) for row in rows)])
    highest = max([*bounds, *(row.max_error for row in rows)])
    axes.set_ylim(*style.decades(lowest, highest))
    axes.set_xlim(0 if comparison.horizon == 1 else 1, comparison.horizon)
    style.plain_numbers(axes)
    ends: list[tuple[float, str, str, str, float]] = []
    for bound in bounds:
        least = f"proven minimum with Gaussian noise  {style.three(bound)}"
        ends.append((bound, least, style.BLACK, "--", 1.0))
        axes.axhline(bound, color=style.BLACK, linewidth=1.0, linestyle="--", label=least)
    for rank, row in enumerate(rows):
        colour, dashes, weight = _pen(rank, row)
        most = np.maximum.accumulate(row.errors)
        at = thinning.kept(np.log(steps), row.errors, most, columns=COLUMNS)
        if np.any(most > row.errors):
            axes.plot(steps[at], row.errors[at], color=colour, linewidth=0.4, alpha=0.2, zorder=1)
        name = f"{row.method}{_marks(row)}  {style.three(row.max_error)}"
        axes.plot(
            steps[at],
            most[at],
            color=colour,
            linewidth=weight,
            linestyle=dashes,
            marker="o" if comparison.horizon == 1 else "",
            markersize=4,
            clip_on=False,
            label=name,
            zorder=5 if _ours(row) else 2,
        )
        ends.append((row.max_error, name, colour, dashes, weight))
    _name(axes, ends)
    style.tidy(axes, x="step", y="standard deviation of the error, in the unit of the records")
    style.headline(
        figure,
        f"Largest error so far of {len(rows)} mechanisms (faint: error at each step)",
        style.terms(comparison.decay, comparison.guarantee),
    )
    _explain(figure, rows)
    return figure


def _ours(row: Row) -> bool:
    return row.method.startswith("hushfade")


def _pen(rank: int, row: Row) -> tuple[str, str, float]:
    """The colour, dashes and width of a line: hushfade's lines are black and thick."""
    if _ours(row):
        return style.BLACK, "-" if rank == 0 else style.line(rank)[1], 2.4
    return *style.line(rank), 1.3


def _marks(row: Row) -> str:
    """The footnote marks of a mechanism: * biased, † not online."""
    return ("*" if row.bias else "") + ("" if row.online else "†")


def _name(axes: Axes, ends: list[tuple[float, str, str, str, float]]) -> None:
    """Draw each line's name next to its end, with space between names, and a connecting line."""
    low, high = np.log(axes.get_ylim())
    ends = sorted(ends, key=lambda end: end[0])
    at = (np.log([end[0] for end in ends]) - low) / (high - low)
    for start, stop, (_, name, colour, dashes, weight) in zip(
        at, _apart(at, 0.97 / max(len(ends) - 1, 24)), ends, strict=True
    ):
        axes.plot(
            [1.0, 1.05, 1.09],
            [start, stop, stop],
            transform=axes.transAxes,
            color=colour,
            linestyle=dashes,
            linewidth=min(weight, 1.6),
            clip_on=False,
            scalex=False,
            scaley=False,
        )
        axes.text(
            1.1,
            stop,
            name,
            transform=axes.transAxes,
            verticalalignment="center",
            fontsize=style.SMALL,
            fontweight="bold" if weight > 2 else "normal",
            parse_math=False,
        )


def _apart(places: Column, gap: float) -> Column:
    """The ascending positions within [0, 1], moved as little as possible to be `gap` apart.

    This is the least-squares solution: neighbours that would overlap form a group around their
    mean.

    >>> _apart(np.array([0.5, 0.5, 0.9]), 0.1).round(3)
    array([0.45, 0.55, 0.9 ])
    """
    groups: list[list[float]] = []  # positions minus the gaps below, which must not decrease
    for rank, place in enumerate(places.tolist()):
        groups.append([place - rank * gap])
        while len(groups) > 1 and np.mean(groups[-2]) > np.mean(groups[-1]):
            last = groups.pop()
            groups[-1] += last
    level = np.concatenate([np.full(len(group), np.mean(group)) for group in groups])
    # the ends of the axis: the same for all, so the order stays
    room = max(0.0, 1.0 - (len(places) - 1) * gap)
    return np.asarray(np.clip(level, 0.0, room) + gap * np.arange(len(places)))


def _explain(figure: Figure, rows: tuple[Row, ...]) -> None:
    """The footnotes below the figure, for the marks in use."""
    words = ["The number after each name is its largest error."]
    if any(row.bias for row in rows):
        words.append("* biased: these numbers do not include the bias.")
    if any(not row.online for row in rows):
        words.append("† needs the whole stream, or noise drawn in advance.")
    if any(row.pure for row in rows):
        words.append("Laplace noise: delta = 0.")
    style.footnote(figure, style.wrapped("  ".join(words), 130))
