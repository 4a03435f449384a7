"""A plan on one page: weights, error, privacy, and the guarantee in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hushfade.planning import privacy_over_time
from hushfade.planning.epochs import Epochs
from hushfade.planning.mechanism_names import choice, mechanism_name
from hushfade.planning.summary import lower_bounds
from hushfade.plots import style
from hushfade.plots.plan_comparison import STEPS, draw_errors
from hushfade.plots.privacy_curves import draw_curves
from hushfade.plots.weight_curves import draw_record, draw_taps

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hushfade.planning.plan import Plan


def overview(plan: Plan, epochs: Epochs | None = None) -> Figure:
    """A figure of a plan: four panels, and its guarantee, privacy loss and mechanism in words.

    The error covers the horizon, or 1000 steps without a horizon.  `epochs` is the
    guarantee of a stream in a store.

    Guarantee: the plan's guarantee, or the guarantee of all epochs, in the words below the panels.
    """
    if epochs is None:
        epochs = Epochs.one(plan)
    n = plan.horizon or STEPS
    figure = style.figure(11.5, 9.8)
    (above, beside), (left, right) = figure.subplots(2, 2)
    draw_taps(above, plan)
    draw_record(beside, plan)
    draw_errors(left, {"standard deviation of the error": plan}, n)
    draw_curves(right, epochs)
    far = "for ever" if plan.horizon is None else f"horizon {plan.horizon}"
    title = f"Plan: {mechanism_name(plan.method, plan.law.name)}, {far}"
    style.headline(figure, title, style.terms(plan.decay, epochs.guarantee))
    revealed = " ".join(privacy_over_time.sentences(plan))
    if epochs.several:
        revealed = (
            f"This is the guarantee of {epochs.count} epochs of the stream together. The bounds on "
            "the error are for the guarantee of a single epoch."
        )
    words = (
        epochs.guarantee.sentence(every=plan.every),
        revealed,
        choice(plan),
        *lower_bounds(plan, n),
    )
    style.footnote(figure, "\n".join(style.wrapped(sentence, 145) for sentence in words), 10)
    return figure
