"""What a guarantee promises at other deltas, and after several such releases."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from hushfade.plots import style
from hushfade.privacy.guarantee import epsilon_of
from hushfade.privacy.rounding import epsilon_up, root_up, rounded_up

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hushfade.privacy.guarantee import Guarantee

RELEASES = (1, 2, 4, 10)


def privacy(guarantee: Guarantee) -> Figure:
    """Epsilon against delta for the guarantee's mu, and for 2, 4 and 10 such releases.

    m releases of the same records have mu √m.  The chosen delta is marked on every curve.

    Guarantee: each point (delta, epsilon) of a curve is promised, all at once; the curve is tight.
    """
    figure = style.figure(8.5, 5.8)
    draw_curves(figure.add_subplot(), guarantee)
    title = f"What mu = {rounded_up(guarantee.mu)} promises, once and composed"
    style.headline(figure, title, style.terms(None, guarantee))
    return figure


def draw_curves(axes: Axes, guarantee: Guarantee) -> None:
    """The curves and the marks, with a legend under the axes."""
    delta = guarantee.delta
    exponent = math.log10(delta)
    deltas = 10.0 ** np.linspace(min(-12.0, exponent - 3), min(max(-2.0, exponent + 2), -0.1), 40)
    for rank, m in enumerate(RELEASES):
        mu = root_up(m * Fraction(guarantee.mu) ** 2)
        colour, dashes = style.line(rank)
        # the guarantee's own number where it was given: mu is rounded to the safe side
        epsilon = guarantee.epsilon if m == 1 else epsilon_of(mu, delta)
        shown = rounded_up(epsilon, 3) if m == 1 else epsilon_up(mu, delta, 3)
        curve = [epsilon_of(mu, float(d)) for d in deltas]
        words = "this release" if m == 1 else f"{m} such releases"
        axes.plot(
            deltas,
            curve,
            color=colour,
            linestyle=dashes,
            linewidth=2.2 if m == 1 else 1.5,
            label=f"{words}: mu = {rounded_up(mu, 3)}, epsilon = {shown} at delta "
            f"= {rounded_up(delta, 3)}",
        )
        axes.plot([delta], [epsilon], marker="o", color=colour, markersize=8 if m == 1 else 5)
    axes.axvline(delta, color=style.GREY, linewidth=0.8, linestyle=":")
    axes.set_xscale("log")
    axes.set_xlim(deltas[0], deltas[-1])
    axes.set_ylim(bottom=0.0)
    style.tidy(
        axes,
        x="delta (probability, logarithmic)",
        y="epsilon (natural logarithm of a ratio)",
        title="Privacy: epsilon at each delta",
    )
    style.legend(axes)
