"""A plan's weights and taps, and what one record adds to the published sum."""

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

LONGEST = 1 << 17  # ages looked at
COLUMNS = 400  # of a panel
_PENS = {
    "o": (style.BLACK, "-"),
    "s": (style.VERMILLION, "--"),
    "x": (style.BLUE, ":"),
}  # by marker
_FADED = 0.01  # of the largest weight: what is drawn ends a little beyond


def weights(plan: Plan) -> Figure:
    """The weights f_k of the decay with the taps r̃_k and l_k in use, and one record in the sum.

    r̃ is applied before the noise, l after it, and r̃ * l = f.  Block sums have no taps.  The second
    panel has what the largest record adds to the published sum, f_k times its value, before the
    error of that sum.
    Drawn until the weight is a hundredth of the largest for good, at most 2^17 steps; beyond 400
    steps on a logarithmic scale.
    """
    figure = style.figure(9.0, 8.0)
    above, below = figure.subplots(2, 1)
    draw_taps(above, plan)
    draw_record(below, plan)
    title = f"Weights of the {plan.method.replace('_', ' ')} plan, and one record in the sum"
    style.headline(figure, title, style.terms(plan.decay, plan.guarantee))
    return figure


def draw_taps(axes: Axes, plan: Plan) -> None:
    """The weights and both halves' taps against age, with a legend under the axes."""
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
    _age_scale(axes, n)
    style.tidy(axes, x="age k in steps", y="weight", title="Weights by age")
    style.legend(axes)


def draw_record(axes: Axes, plan: Plan) -> None:
    """What the largest record adds to the sum by age, before one standard deviation of its error.

    The record came at step 1; the error is that of the step at which it has that age.
    """
    n = ages(plan)
    grid = plan.grid
    largest = max(grid.low, grid.high, key=abs) if grid.norm is None else grid.norm
    s = plan.stddevs(n)
    words = f"one standard deviation of the published error, {s[-1]:.3g} at the end"
    x, low, high = thinning.envelope(_place(n), -s, s, columns=COLUMNS)
    style.band(axes, np.expm1(x) if n > COLUMNS else x, low, high, colour=style.SKY, label=words)
    of = "record" if grid.norm is None else "vector, along itself"
    adds = f"what the largest {of} ({largest:g}) adds"
    _draw(axes, largest * plan.decay.weights(n), adds, "o")
    _age_scale(axes, n)
    style.tidy(
        axes,
        x="age k in steps",
        y="published sum, in the records' unit",
        title="One record of step 1 in the published sum",
    )
    style.legend(axes)


def ages(plan: Plan) -> int:
    """How many ages are worth drawing: until the weights stay below a hundredth, and a fourth more.

    >>> from hushfade import Guarantee, SlidingWindow, plan
    >>> ages(plan(SlidingWindow(length=40), Guarantee(epsilon=1, delta=1e-6)))
    50
    """
    most = min(plan.horizon or LONGEST, LONGEST)
    f = np.abs(plan.decay.weights(most))
    last = int(np.flatnonzero(f > _FADED * np.max(f))[-1]) + 1
    if last == most and plan.horizon is None and f[-1] > 0.5 * np.max(f):
        return min(most, 200)  # hardly a decay: any stretch is like the first
    return min(most, max(8, last + last // 4))


def _place(n: int) -> Column:
    """Where each age stands across the panel: evenly, or by its logarithm."""
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


def _age_scale(axes: Axes, n: int) -> None:
    if n > COLUMNS:
        axes.set_xscale("symlog", linthresh=1.0)
        style.plain_numbers(axes)
    else:
        style.whole_steps(axes)
    axes.set_xlim(0 if n > 24 else -0.5, n - 1 if n > 24 else n - 0.5)
