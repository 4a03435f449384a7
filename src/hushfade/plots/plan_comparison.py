"""Several plans side by side: their errors, guarantees, and distances from the optimum."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from hushfade import check
from hushfade.errors import InvalidValue
from hushfade.plots import style, thinning
from hushfade.privacy.rounding import rounded_down, rounded_up

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hushfade.planning.plan import Plan
    from hushfade.privacy.guarantee import Guarantee

STEPS = 1000  # without a horizon
COLUMNS = 400  # of a panel


def plans(
    plans: Mapping[str, Plan],
    steps: int | None = None,
    *,
    guarantees: Mapping[str, Guarantee] | None = None,
) -> Figure:
    """A figure of the plans' standard deviations over time, with one row per plan.

    A row has the noise distribution, the largest error, the proven minimum of any Gaussian
    factorization mechanism for this decay and guarantee, and their ratio.  For delta = 0 there is
    no Gaussian mechanism.  The default of `steps` is the longest horizon, or 1000 without a
    horizon.  A plan with a shorter horizon ends there.
    """
    if not plans:
        raise InvalidValue("plans must contain at least one plan", got="none")
    longest = max(plan.horizon or STEPS for plan in plans.values())
    n = longest if steps is None else check.count(steps=steps)
    promised = {name: plan.guarantee for name, plan in plans.items()} | dict(guarantees or {})
    kinds = {style.terms(plan.decay, promised[name]) for name, plan in plans.items()}
    tall = len(plans) * (0.34 if len(kinds) == 1 else 0.62)
    figure = style.figure(9.5, 5.0 + tall)
    above, below = figure.subplots(2, 1, height_ratios=[3.0, 0.2 + tall])
    draw_errors(above, plans, n)
    _draw_rows(below, plans, n, promised if len(kinds) > 1 else None)
    terms = kinds.pop() if len(kinds) == 1 else "decay, epsilon and delta: see the rows below"
    count = "1 plan" if len(plans) == 1 else f"{len(plans)} plans"
    style.headline(figure, f"{count} over {n} steps" if n > 1 else f"{count}, step 1", terms)
    return figure


def draw_errors(axes: Axes, plans: Mapping[str, Plan], n: int) -> None:
    """Draw the standard deviation of each plan at steps 1, ..., n; the minimum of a single plan."""
    top, bottom = 0.0, np.inf
    for rank, (name, plan) in enumerate(plans.items()):
        s = plan.stddevs(_steps(plan, n))
        steps = np.arange(1, len(s) + 1, dtype=np.float64)
        at = thinning.kept(np.log(steps), s, columns=COLUMNS)
        colour, dashes = style.line(rank)
        axes.plot(
            steps[at],
            s[at],
            color=colour,
            linestyle=dashes,
            linewidth=1.8,
            marker="o" if len(s) <= 24 else "",
            markersize=3.5,
            label=style.short(name, 60),
        )
        top, bottom = max(top, float(np.max(s))), min(bottom, float(np.min(s)))
    if len(plans) == 1:
        (plan,) = plans.values()
        low = least(plan, n)
        if low is not None:
            axes.axhline(
                low,
                color=style.BLACK,
                linestyle="--",
                linewidth=1.2,
                label=f"proven minimum with Gaussian noise, {rounded_down(low)}",
            )
            bottom, top = min(bottom, low), max(top, low)
        style.legend(axes)
    if top > 10.0 * bottom:
        axes.set_yscale("log")
    else:
        axes.set_ylim(0.0, 1.08 * top)
    if n > 24:
        axes.set_xscale("log")
    else:
        axes.set_xlim(0.5, n + 0.5)
        style.whole_steps(axes)
    style.plain_numbers(axes)
    style.tidy(
        axes,
        x="step",
        y="standard deviation,\nin the unit of the records",
        title="Error of the published sum",
    )


def least(plan: Plan, n: int) -> float | None:
    """The proven minimum of the largest standard deviation of Gaussian noise over n steps.

    None for delta = 0, which Gaussian noise cannot provide.
    """
    if plan.guarantee.pure:
        return None
    n = _steps(plan, n)
    return plan.max_stddev(n) / plan.certificate(n).ratio


def _draw_rows(
    axes: Axes, plans: Mapping[str, Plan], n: int, promised: Mapping[str, Guarantee] | None
) -> None:
    """Draw one row per plan in the style of its line.  The names serve as the legend.

    `promised` are the guarantees that the rows show; None if they do not show them.
    """
    largest = [plan.max_stddev(_steps(plan, n)) for plan in plans.values()]
    lows = [least(plan, n) for plan in plans.values()]
    shown = largest + [low for low in lows if low is not None]
    start = 0.0
    if max(shown) > 10.0 * min(shown):
        axes.set_xscale("log")
        start = min(shown) / 2.0
        axes.set_xlim(start, max(shown) * (max(shown) / start) ** 0.5)
        style.plain_numbers(axes)
    else:
        axes.set_xlim(0.0, 1.45 * max(shown))  # room for numbers to the right of the dots
    for row, (high, low) in enumerate(zip(largest, lows, strict=True)):
        colour, dashes = style.line(row)
        axes.plot([start, high], [row, row], color=colour, linestyle=dashes, linewidth=1.8)
        axes.plot([high], [row], color=colour, marker="o", markersize=7)
        text = rounded_up(high)
        if low is not None:
            axes.plot(
                [low], [row], color=style.BLACK, marker="|", markersize=14, markeredgewidth=1.8
            )
            text += f" / {rounded_down(low)} = {rounded_up(high / low)}"
        axes.annotate(
            text,
            (max(high, low or 0.0), row),
            xytext=(9, 0),
            textcoords="offset points",
            verticalalignment="center",
            fontsize=style.SMALL,
        )
    names = [f"{style.short(name, 40)}, {plan.law.name}" for name, plan in plans.items()]
    if promised is not None:
        names = [
            f"{shown}\n{style.terms(plan.decay, None)}\n{style.terms(None, promised[name])}"
            for shown, (name, plan) in zip(names, plans.items(), strict=True)
        ]
    axes.set_yticks(range(len(plans)), names, parse_math=False)
    axes.set_ylim(len(plans) - 0.5, -0.5)
    style.tidy(
        axes,
        x="standard deviation, in the unit of the records",
        y="plan",
        title="Largest error (dot) / proven minimum of Gaussian factorizations (bar) = ratio",
    )


def _steps(plan: Plan, n: int) -> int:
    return n if plan.horizon is None else min(n, plan.horizon)
