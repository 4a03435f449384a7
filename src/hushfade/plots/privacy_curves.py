"""Epsilon of a guarantee or a plan at all deltas, for one release and for several releases."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from hushfade.check import Column
from hushfade.plots import style
from hushfade.privacy.epsilon_search import epsilon_of_loss
from hushfade.privacy.guarantee import epsilon_of
from hushfade.privacy.loss import composed
from hushfade.privacy.rounding import epsilon_up, root_up, rounded_up

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hushfade.planning.epochs import Epochs
    from hushfade.privacy.guarantee import Guarantee
    from hushfade.privacy.loss import PrivacyLoss

RELEASES = (1, 2, 4, 10)
_FEW = (1, 2, 4)  # releases for noise that is not Gaussian, where each point takes longer
_POINTS = 12  # points of these curves


def privacy(guarantee: Guarantee) -> Figure:
    """A figure of epsilon against delta for the guarantee's mu, and for 2, 4 and 10 releases.

    m releases of the same records have mu √m.  Every curve has a mark at the chosen delta.

    Guarantee: Gaussian noise satisfies all points (delta, epsilon) of a curve at the same time; the
    curve is tight.
    """
    figure = style.figure(8.5, 5.8)
    axes = figure.add_subplot()
    _draw_gaussian(axes, guarantee)
    _finish(axes, guarantee)
    title = f"Guarantee of mu = {rounded_up(guarantee.mu)} for one and for several releases"
    style.headline(figure, title, style.terms(None, guarantee))
    return figure


def draw_curves(axes: Axes, epochs: Epochs) -> None:
    """Draw the curves and marks of a stream's privacy loss, with a legend below the axes."""
    guarantee = epochs.guarantee
    if epochs.mu is not None:
        _draw_gaussian(axes, guarantee)
    elif epochs.several:  # only the sum of the charges is known
        far = _ends(guarantee)[1]
        deltas = np.array([float(guarantee.delta) or _ends(guarantee)[0], far])
        label = f"{epochs.count} epochs: epsilon = {rounded_up(guarantee.epsilon, 3)}"
        curve = np.full(2, float(guarantee.epsilon))
        _draw(axes, 0, deltas, curve, label, guarantee, float(guarantee.epsilon))
    else:
        _draw_losses(axes, guarantee, epochs.plan.privacy)
    _finish(axes, guarantee)


def _draw_gaussian(axes: Axes, guarantee: Guarantee) -> None:
    """Draw the curves of mu and of its compositions."""
    delta = guarantee.delta
    low, high = _ends(guarantee)
    deltas = np.geomspace(low, high, 40)
    for rank, m in enumerate(RELEASES):
        mu = root_up(m * Fraction(guarantee.mu) ** 2)
        # the declared epsilon if there is one, because mu is rounded in the safe direction
        epsilon = guarantee.epsilon if m == 1 else epsilon_of(mu, delta)
        shown = rounded_up(epsilon, 3) if m == 1 else epsilon_up(mu, delta, 3)
        curve = np.array([epsilon_of(mu, float(d)) for d in deltas])
        label = f"{_words(m)}: mu = {rounded_up(mu, 3)}, epsilon = {shown}"
        _draw(axes, rank, deltas, curve, label, guarantee, epsilon)


def _draw_losses(axes: Axes, guarantee: Guarantee, loss: PrivacyLoss) -> None:
    """Draw the curves of a privacy loss and of its compositions with itself."""
    low, _ = _ends(guarantee)
    for rank, m in enumerate(_FEW):
        several = composed([loss] * m)
        guess = m * guarantee.epsilon
        top = epsilon_of_loss(several, low, guess)
        # a bounded loss reaches delta = 0 like top - epsilon: dense there, for a logarithmic axis
        near = top * (1.0 - np.geomspace(1.0, 1e-12, _POINTS))
        curve = np.unique(np.concatenate([np.linspace(0.0, top, _POINTS), near]))
        deltas = np.maximum([several.delta(float(epsilon)) for epsilon in curve], low)
        epsilon = guarantee.epsilon
        if m > 1:
            epsilon = epsilon_of_loss(several, guarantee.delta, guess)
        label = f"{_words(m)}: epsilon = {rounded_up(epsilon, 3)}"
        _draw(axes, rank, deltas, curve, label, guarantee, epsilon)


def _draw(
    axes: Axes,
    rank: int,
    deltas: Column,
    curve: Column,
    label: str,
    guarantee: Guarantee,
    epsilon: float,
) -> None:
    """Draw one curve with its mark at the guarantee's delta."""
    colour, dashes = style.line(rank)
    axes.plot(
        deltas,
        curve,
        color=colour,
        linestyle=dashes,
        linewidth=1.5 if rank else 2.2,
        label=f"{label} at delta = {rounded_up(guarantee.delta, 3)}",
    )
    if not guarantee.pure:
        size = 5 if rank else 8
        axes.plot([guarantee.delta], [epsilon], marker="o", color=colour, markersize=size)


def _words(m: int) -> str:
    return "1 release" if m == 1 else f"{m} releases"


def _ends(guarantee: Guarantee) -> tuple[float, float]:
    """The smallest and the largest delta of the axis."""
    exponent = -6.0 if guarantee.pure else math.log10(guarantee.delta)
    return 10.0 ** min(-12.0, exponent - 3), 10.0 ** min(max(-2.0, exponent + 2), -0.1)


def _finish(axes: Axes, guarantee: Guarantee) -> None:
    if not guarantee.pure:
        axes.axvline(guarantee.delta, color=style.GREY, linewidth=0.8, linestyle=":")
    style.epsilon_axes(
        axes, x="delta (probability, logarithmic)", title="Privacy: epsilon at each delta"
    )
    axes.set_xlim(*_ends(guarantee))
