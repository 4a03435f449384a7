"""A plan on one page: weights, error, privacy, and what is promised in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hushfade.report import look
from hushfade.report.plans import STEPS, draw_errors
from hushfade.report.privacy import draw_curves
from hushfade.report.weights import draw_record, draw_taps

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hushfade.plan import Plan


def overview(plan: Plan) -> Figure:
    """One page for a plan: four panels and the sentences of its guarantee and its certificate.

    The error is drawn over the horizon, or 1000 steps for a plan that has none.

    Guarantee: that of the plan, in the words under the panels.
    """
    n = plan.horizon or STEPS
    figure = look.figure(11.5, 9.8)
    (above, beside), (left, right) = figure.subplots(2, 2)
    draw_taps(above, plan)
    draw_record(beside, plan)
    draw_errors(left, {"standard deviation of the error": plan}, n)
    draw_curves(right, plan.guarantee)
    far = "for ever" if plan.horizon is None else f"horizon {plan.horizon}"
    title = f"Plan: {plan.method.replace('_', ' ')}, {far}"
    look.headline(figure, title, look.terms(plan.decay, plan.guarantee))
    words = (plan.guarantee.sentence(), plan.certificate(n).sentence())
    figure.supxlabel(
        "\n".join(look.wrapped(sentence, 145) for sentence in words),
        fontsize=10,
        x=0.01,
        horizontalalignment="left",
    )
    return figure
