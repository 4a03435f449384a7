"""A plan in plain words, for a reader without the theory: who is protected, what may go wrong."""

from __future__ import annotations

import math

from hushfade.cli import weaker_promises
from hushfade.cli.attacker_odds import odds
from hushfade.decay import CustomDecay, Exponential, NoDecay, PowerLaw, SlidingWindow
from hushfade.laws import Gaussian, Laplace
from hushfade.planning import privacy_over_time
from hushfade.planning.mechanism_names import choice
from hushfade.planning.plan import Plan
from hushfade.planning.summary import lower_bounds, shown_step
from hushfade.privacy.rounding import rounded_up

STEPS = 1000  # reported of a plan that runs for ever
COUNTED = "Each record counts 1: --low and --high were not given."

DRAWING = """\
    private half               the crossing               public half
   .----------------.      .------------------.      .----------------.
   |  totals x      |      |                  |      |  s = L y       |
   |  v = R x       | ---> |  y = v + noise   | ---> |  published     |
   '----------------'      '------------------'      '----------------'
    whole numbers, exact    drawn once a step         only sees y

    L R = the weights of the decay, so s = true decayed sums + L noise
"""

MECHANISM: dict[str, list[str]] = {
    "What it does": [
        "At every step, records come in and one number goes out: a sum in which old records count "
        "less and less (or fully, or only within a window).",
        "Noise hides each person's part. It is drawn before the number leaves, and never again for "
        "the same step.",
    ],
    "Why two halves": [
        "Noise on the published sums would have to be large, since one record is in all of them. "
        "Noise on the totals would pile up. In between, at the crossing, both are small.",
        "With the square root of the weights on either side, Gaussian noise has close to the "
        "smallest error that it can have. For short memories Laplace noise on the totals has less "
        "error. Every plan compares the mechanisms, takes the best, and states how it compares.",
    ],
    "Why it is safe": [
        "Left of the crossing everything is whole numbers, so no rounding reveals the data. Right "
        "of it nothing knows the data: rounding, plots and averages there cost no privacy.",
        "The promise is for the whole series, all steps and keys together, for ever.",
    ],
    "Next": [
        "hushfade plan --half-life 24 --epsilon 1 --delta 1e-6 -o plan.json",
        "hushfade explain plan.json",
    ],
}


def explanation(plan: Plan, person: bool = False) -> dict[str, list[str]]:
    """The whole explanation: title and lines, a sentence or two each.

    `person`: what was read was cut to the guarantee's limits, so that everybody is protected.
    """
    guarantee = plan.guarantee
    return {
        "What is published": _published(plan),
        "Who is protected": [*_protected(plan, person), *_changes(plan)],
        "What is not protected": _unprotected(plan),
        "How accurate": _accuracy(plan),
        "What epsilon means": [
            f"epsilon = {rounded_up(guarantee.epsilon)}, delta = {rounded_up(guarantee.delta, 3)}"
            f"{_mu(plan)}. All numbers of privacy and error here are rounded up.",
            *odds(plan.privacy, guarantee.epsilon, guarantee.neighbours),
        ],
        "Privacy loss over time": privacy_over_time.sentences(plan),
        "Which noise": [choice(plan), *_law(plan)],
        "How near the optimum": lower_bounds(plan, reported_steps(plan)),
        "What must not be done": _forbidden(plan),
    }


def reported_steps(plan: Plan) -> int:
    """The number of steps of a report: the horizon, or 1000."""
    return plan.horizon or STEPS


def in_time(steps: int, every: int | None) -> str:
    """The number of steps, and how long they take if a step has a length.

    >>> in_time(36, 3600 * 10**9)
    '36 steps, 1d12h'
    """
    counted = "1 step" if steps == 1 else f"{steps} steps"
    if every is None:
        return counted
    from hushfade import duration

    return f"{counted}, {duration.shown(steps * every)}"


def _steps(count: float, plan: Plan) -> str:
    """The number of steps, and how long they take if the plan has the length of a step."""
    from hushfade import duration

    every = plan.step_length()
    return f"{count:g} steps" + (
        "" if every is None else f" ({duration.shown(round(count * every))})"
    )


def _published(plan: Plan) -> list[str]:
    match plan.decay:
        case NoDecay():
            fades = "in which every record counts for ever"
        case Exponential(half_life=half_life):
            fades = f"in which a record counts half as much every {_steps(half_life, plan)}"
        case PowerLaw(power=power):
            fades = f"in which a record that is k steps old counts 1/(k+1)^{power:g}"
        case SlidingWindow(length=length):
            fades = f"of the last {_steps(length, plan)}"
        case CustomDecay(values=values):
            fades = f"in which the last {len(values)} steps count by listed weights, older ones not"
        case _:
            fades = f"with the weights {plan.decay!r}"
    grid = plan.grid
    each = "" if plan.keys is None else f", for each of {len(plan.keys)} declared keys"
    ends = "for ever" if plan.horizon is None else f"for {plan.horizon} steps and not beyond"
    if grid.norm is not None:
        clipped = f"A record is a vector; longer ones are cut to length {grid.norm:g}."
    else:
        clipped = (
            f"A record counts between {grid.low:g} and {grid.high:g}: values outside count as "
            "the nearer of the two."
        )
    return [f"At every step the sum of the records, {fades}{each}; {ends}.", clipped]


def _protected(plan: Plan, person: bool) -> list[str]:
    guarantee = plan.guarantee
    records = guarantee.records_per_step
    each = "one record" if records == 1 else f"up to {records} records"
    if guarantee.participations == 1:
        limits = f"{each} in one step"
    else:
        apart = f", at least {guarantee.separation} steps apart" * (guarantee.separation > 1)
        limits = f"{each} in each of up to {guarantee.participations} steps{apart}"
    who = f"A person with {limits}."
    if person:
        who = f"Every person, with all their records: hushfade counted {limits} per person."
    if guarantee.neighbours == "add_remove":
        hidden = "It is hidden whether the person is in the data at all, and with which values."
    else:
        hidden = (
            "The values are hidden, and the keys. It is not hidden that the person has records, "
            "and in which steps."
        )
    more = f"Two such people together are protected less, with {weaker_promises.two_people(plan)}."
    return [who, hidden, more]


def _changes(plan: Plan) -> list[str]:
    """What it costs, where records are added or removed, that a record is changed."""
    if plan.guarantee.neighbours != "add_remove":
        return []
    lines = [
        "Records are added or removed. Changing a value is one removal plus one addition: with "
        f"these bounds it is protected with {weaker_promises.changed_value(plan)}."
    ]
    if plan.keys is not None:
        lines.append(
            "Moving a record to another key changes two series: it is protected with "
            f"{weaker_promises.changed_key(plan)}."
        )
    lines.append(
        "Moving a record to another step is one removal plus one addition too: it is protected "
        f"with {weaker_promises.two_people(plan)}."
    )
    return lines


def _mu(plan: Plan) -> str:
    """mu, which only Gaussian noise has."""
    return f" (mu = {rounded_up(plan.guarantee.mu)})" if isinstance(plan.law, Gaussian) else ""


def _law(plan: Plan) -> list[str]:
    """What distinguishes the law of the noise."""
    match plan.law:
        case Gaussian():
            return [
                "Gaussian noise is bell-shaped. Very rarely it reveals more than epsilon: delta "
                "bounds how often. Several Gaussian releases of the same data add up slowly."
            ]
        case Laplace():
            never = "It never reveals more than epsilon." if _bounded(plan) else ""
            return [
                "Laplace noise falls off evenly: one unit more is always less likely by the same "
                f"factor. {never}".rstrip(),
                "Several Laplace releases of the same data add up faster than Gaussian ones: their "
                "epsilons nearly add.",
            ]
        case _:
            return [
                "Huber noise is bell-shaped in the middle, where it hides the many small traces "
                "of a record, and falls off like Laplace noise outside, where it hides the one "
                "large trace."
            ]


def _bounded(plan: Plan) -> bool:
    """Whether the plan's epsilon holds without delta."""
    return plan.privacy.epsilon(0.0) <= plan.guarantee.epsilon


def _unprotected(plan: Plan) -> list[str]:
    public = "the steps, the bounds" + ("" if plan.keys is None else ", the keys") + ", this plan"
    return [
        "What is true of many people: the published sums show it, which is their purpose, and it "
        "may say something about each of them.",
        f"What was public before: {public}.",
        "The data themselves, where they are kept, and the running stream with its saved state: "
        "whoever can read those needs no published number.",
    ]


def _accuracy(plan: Plan) -> list[str]:
    n = reported_steps(plan)
    shown = shown_step(plan, n)
    half = plan.interval(shown)[1]
    true = 10.0 ** max(2, math.ceil(math.log10(5.0 * half)))
    digits = max(0, 1 - math.floor(math.log10(half)))
    scale = 10.0**digits
    low, high = math.floor(scale * (true - half)) / scale, math.ceil(scale * (true + half)) / scale
    return [
        f"A true {true:.0f} will show as {low:.{digits}f} to {high:.{digits}f}, 95 times in 100 "
        f"(at step {shown}). On average the error is zero.",
        f"All of the first {n} steps at once are within {rounded_up(plan.error_bound(n))} of the "
        "truth, 95 times in 100" + (", for any one series." if plan.grid.lanes > 1 else "."),
        "The error does not depend on the data: small sums have the same error as large ones.",
    ]


def _forbidden(plan: Plan) -> list[str]:
    guarantee = plan.guarantee
    lines = [
        "Publishing the same data twice with new noise, by a second run or from an old saved "
        f"state: two such releases together have {weaker_promises.second_release(plan)}.",
        "Choosing the bounds, the keys, the step or the decay by looking at the data: the largest "
        "value is one person's.",
        "Publishing anything else of the same data without adding it to the account, exact totals "
        "and error reports included.",
    ]
    if guarantee.participations > 1 or guarantee.records_per_step > 1:
        lines.append(
            "Letting a person have more records than said above: whoever prepares the records has "
            "to see to that."
        )
    return lines
