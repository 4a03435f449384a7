"""The weights and taps of a plan, and the contribution of one record to the published sum."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hushfade.check import Column
from hushfade.factors.block_factors import BlockSums
from hushfade.plots import style, thinning

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hushfade.planning.plan import Plan

LONGEST = 1 << 17  # the largest age
COLUMNS = 400  # columns of a panel
_PENS = {
    "o": (style.BLACK, "-"),
    "s": (style.VERMILLION, "--"),
    "x": (style.BLUE, ":"),
}  # by marker
_FADED = 0.01  # share of the largest weight a little beyond which the figure ends


def weights(plan: Plan) -> Figure:
    """A figure of the weights f_k and the taps r̃_k and l_k, and of one record in the sum.

    The mechanism applies r̃ before the noise and l after it, and r̃ * l = f.  Block sums have no
    taps.  The second panel compares the contribution of the largest record to the published sum,
    f_k times its value, with the error of that sum.  The figure ends when the weights stay below a
    hundredth of the largest, after at most 2^17 steps.  Beyond 400 steps the scale is logarithmic.
    """
    figure = style.figure(9.0, 8.0)
    above, below = figure.subplots(2, 1)
    draw_taps(above, plan)
    draw_record(below, plan)
    title = f"Weights of the {plan.method.replace('_', ' ')} plan, and one record in the sum"
    style.headline(figure, title, style.terms(plan.decay, plan.guarantee))
    return figure


def draw_taps(axes: Axes, plan: Plan) -> None:
    """Draw the weights and the taps of both halves by age, with a legend below the axes."""
    n = ages(plan)
    gain = "" if plan.pair.gain is None else ", before the gain of its step"
    rows = [("weight $f_k$ of a record in the sum", plan.decay.weights(n), "o")]
    if not isinstance(plan.pair, BlockSums):  # which have no taps
        rows += [
            (f"tap $\\tilde r_k$ before the noise{gain}", plan.pair.right(n), "s"),
            (f"tap $l_k$ after the noise{gain}", plan.pair.left(n), "x"),
        ]
    for words, row, mark in rows:
        _draw(axes, row, words, mark)
    _finish(axes, n, y="weight", title="Weights by age")


def draw_record(axes: Axes, plan: Plan) -> None:
    """Draw the contribution of the largest record by age, and one standard deviation of the error.

    The record arrives at step 1.  The error is the error of the step in which it has that age.
    """
    n = ages(plan)
    grid = plan.grid
    largest = max(grid.low, grid.high, key=abs) if grid.norm is None else grid.norm
    s = plan.stddevs(n)
    words = f"one standard deviation of the published error, {s[-1]:.3g} at the end"
    x, low, high = thinning.envelope(_place(n), -s, s, columns=COLUMNS)
    style.band(axes, np.expm1(x) if n > COLUMNS else x, low, high, colour=style.SKY, label=words)
    of = "record" if grid.norm is None else "vector, along itself"
    adds = f"contribution of the largest {of} ({largest:g})"
    _draw(axes, largest * plan.decay.weights(n), adds, "o")
    _finish(
        axes,
        n,
        y="published sum, in the unit of the records",
        title="Contribution of a record of step 1 to the published sum",
    )


def ages(plan: Plan) -> int:
    """The number of ages to draw: until the weights stay below a hundredth, plus a fourth.

    >>> from hushfade import Guarantee, SlidingWindow, plan
    >>> ages(plan(SlidingWindow(length=40), Guarantee(epsilon=1, delta=1e-6)))
    50
    """
    most = min(plan.horizon or LONGEST, LONGEST)
    f = np.abs(plan.decay.weights(most))
    last = int(np.flatnonzero(f > _FADED * np.max(f))[-1]) + 1
    if last == most and plan.horizon is None and f[-1] > 0.5 * np.max(f):
        return min(most, 200)  # hardly any decay: every part looks the same
    return min(most, max(8, last + last // 4))


def _place(n: int) -> Column:
    """The position of each age on the axis: linear or logarithmic."""
    k = np.arange(n, dtype=np.float64)
    return np.log1p(k) if n > COLUMNS else k


def _draw(axes: Axes, row: Column, words: str, mark: str) -> None:
    colour, dashes = _PENS[mark]
    k = np.arange(len(row), dtype=np.float64)
    at = thinning.kept(_place(len(row)), row, columns=COLUMNS)
    axes.plot(
        k[at],
        row[at],
        color=colour,
        linestyle=dashes,
        linewidth=1.6,
        marker=mark if len(row) <= 24 else "",
        markersize=5.5,
        markerfacecolor="none",
        label=words,
    )


def _finish(axes: Axes, n: int, *, y: str, title: str) -> None:
    """Set the scale of n ages and the labels, and draw the legend."""
    if n > COLUMNS:
        axes.set_xscale("symlog", linthresh=1.0)
        style.plain_numbers(axes)
    else:
        style.whole_steps(axes)
    axes.set_xlim(0 if n > 24 else -0.5, n - 1 if n > 24 else n - 0.5)
    style.tidy(axes, x="age k in steps", y=y, title=title)
    style.legend(axes)
