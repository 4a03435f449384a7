"""The printed form of a plan, for readers who do not know the theory."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hushfade.duration import ROWS, in_words
from hushfade.factors.counting_parameters import REACH
from hushfade.laws import Gaussian, Laplace
from hushfade.planning import statistic_summary
from hushfade.planning.certificate import single_step_bound
from hushfade.planning.mechanism_names import choice, law_name, mechanism_name
from hushfade.planning.shifts import cases
from hushfade.privacy.rounding import rounded_up

if TYPE_CHECKING:
    from hushfade.planning.plan import Plan


_SAME = 1e-4  # relative difference below which two errors look the same to a reader


def table(plan: Plan) -> str:
    """The printed plan: sentences first, then a table of the parameters."""
    parameters = rows(plan)
    width = max(len(name) for name, _ in parameters)
    return "\n".join(
        [*sentences(plan), "", *(f"  {name:<{width}}  {text}" for name, text in parameters)]
    )


def sentences(plan: Plan) -> list[str]:
    """Sentences about guarantee, accuracy, mechanism (with its runner-up), and lower bounds."""
    if plan.statistic is not None:
        stated = statistic_summary.accuracy(_unkeyed(plan), shown_step(plan, _reported(plan)))
        return [
            plan.guarantee.sentence(every=plan.every),
            stated,
            choice(plan),
            *lower_bounds(plan),
        ]
    margin = plan.interval(shown_step(plan, _reported(plan)))[1]
    accuracy = (
        f"Released values are unbiased: 95 of 100 are within {rounded_up(margin)} of the true "
        f"decayed sum (a true sum of 1000 is released as {math.floor(1000 - margin)} to "
        f"{math.ceil(1000 + margin)})."
    )
    return [plan.guarantee.sentence(every=plan.every), accuracy, choice(plan), *lower_bounds(plan)]


def _unkeyed(plan: Plan) -> Plan:
    """The plan for one key: every key has the same error."""
    return replace(plan, grid=replace(plan.grid, keys=None))


def lower_bounds(plan: Plan, n: int | None = None) -> list[str]:
    """Sentences that compare the error of the first n steps with a proven lower bound."""
    if not plan.guarantee.pure:
        return [plan.certificate(_reported(plan) if n is None else n).sentence()]
    bound = single_step_bound(plan)
    assert bound is not None  # delta is 0
    error = plan.stddev(1)
    attained = error <= bound.stddev * (1.0 + 1e-9)
    own = "attains this bound" if attained else f"has {rounded_up(error)} at step 1"
    return [
        "No mechanism with Gaussian noise has delta = 0.",
        f"{bound.sentence()} This plan {own}.",
    ]


def shown_step(plan: Plan, n: int) -> int:
    """The step whose error a report shows for the first n steps.

    It is the last step, unless the error of another step is larger.  With block sums the error
    rises and falls with the number of open blocks.  With a gain per step the error is largest
    before the horizon.
    """
    deviations = plan.stddevs(n)
    if deviations[-1] >= (1.0 - _SAME) * np.max(deviations):
        return n
    return 1 + int(np.argmax(deviations))


def _reported(plan: Plan) -> int:
    """The number of steps that a report covers: the horizon, or 1000."""
    return plan.horizon or 1000


def facts(plan: Plan) -> list[tuple[str, str]]:
    """The name and the value of each choice: decay, mechanism, method, records and grid."""
    grid = plan.grid
    largest = grid.largest_total * grid.resolution
    return [
        ("decay", repr(plan.decay)),
        ("mechanism", mechanism_name(plan.method, plan.law.name)),
        ("method", f"{plan.method}, {_length(plan)}"),
        *([] if plan.every is None else [("step length", _step(plan.every))]),
        ("released", _lanes(plan)),
        ("records", _records(plan)),
        ("grid", f"resolution {grid.resolution:g}; totals up to {largest:.3g} per step"),
    ]


def rows(plan: Plan) -> list[tuple[str, str]]:
    """The name and the value of each choice and of each computed number."""
    n = _reported(plan)
    deviations, worst = plan.stddevs(n), shown_step(plan, n)
    bound = plan.error_bound(n)
    each = "" if plan.grid.lanes == 1 else f" for any one {_lane(plan)}"
    error = "error" if plan.statistic is None else "error of a sum"
    cost = plan.cost
    return [
        *facts(plan),
        ("sensitivity", _sensitivity(plan)),
        ("noise", f"{law_name(plan.law, plan.unit)}, standard deviation {plan.noise_stddev:.6g}"),
        *_gaussian_privacy(plan),
        (
            error,
            f"standard deviation {deviations[0]:.4g} at step 1, {deviations[worst - 1]:.4g} at "
            + (f"step {worst}" if worst == n else f"the worst step, {worst}"),
        ),
        ("all steps", f"error below {rounded_up(bound)} at all {n} steps, probability 95 %" + each),
        ("rounding", f"adds {rounded_up(100 * max(plan.loss, 0.0), 2)} % to the error"),
        ("weights", _weights(plan)),
        ("memory", f"at most {_bytes(cost.memory)}; {cost.totals} past totals per key"),
        ("work", f"{cost.work} multiply-adds and one noise draw per step and key"),
        (
            "time",
            f"about {_time(cost.live_seconds)} per live step; "
            f"{_time(cost.block_seconds)} per step in blocks",
        ),
    ]


def _sensitivity(plan: Plan) -> str:
    """The sensitivity as text: an ℓ2 norm, or the ℓ1 norm for Laplace noise."""
    if not isinstance(plan.law, Laplace):
        return f"{plan.sensitivity:.6g}"
    several = cases(plan.guarantee, plan.grid, plan.pair)
    largest = max(sum(size * times for size, times in case) for case in several)
    return f"{largest * plan.unit:.6g} (sum of the changes at all steps)"


def _gaussian_privacy(plan: Plan) -> list[tuple[str, str]]:
    """mu and rho of a plan with Gaussian noise; other laws have neither."""
    if not isinstance(plan.law, Gaussian):
        return []
    guarantee = plan.guarantee
    return [("privacy", f"mu = {rounded_up(guarantee.mu)}, rho = {rounded_up(guarantee.rho)}")]


def _length(plan: Plan) -> str:
    if plan.horizon is not None:
        return f"{plan.horizon} steps"
    if plan.method == "unbounded":
        return f"no horizon; tuned for about {plan.taps.support // REACH} steps"
    return "no horizon"


def _step(every: str) -> str:
    return "one row, regardless of time" if every == ROWS else in_words(every)


def _lane(plan: Plan) -> str:
    if plan.statistic is not None:
        return "noisy sum"
    return "key" if plan.grid.norm is None else "coordinate"


def _lanes(plan: Plan) -> str:
    if plan.statistic is not None:
        each = "" if plan.keys is None else f", for each of {len(plan.keys)} keys"
        return statistic_summary.released(plan.statistic) + each
    if plan.keys is not None:
        return f"one decayed sum for each of {len(plan.keys)} keys"
    if plan.grid.norm is not None:
        return f"one decayed vector sum of width {plan.grid.width}"
    return "one decayed sum"


def _records(plan: Plan) -> str:
    grid = plan.grid
    if plan.statistic is not None:
        return statistic_summary.records(plan.statistic)
    if grid.norm is not None:
        return f"vectors clipped to norm {grid.norm:g}"
    return f"clipped to [{grid.low:g}, {grid.high:g}]"


def _weights(plan: Plan) -> str:
    error = plan.decay.recursion().relative_error
    if not error:
        return "exactly the decay's weights"
    if error <= 1e-20:
        return "the decay's weights, cut off below 1e-20"
    return f"a sum of exponentials, relative error at most {error:g}"


def _bytes(count: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"


def _time(seconds: float) -> str:
    for scale, unit in ((1e9, "ns"), (1e6, "µs"), (1e3, "ms")):
        if seconds * scale < 1000:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds:.3g} s"
