"""A plan in plain words, for readers without the theory: who is protected, what can go wrong."""

from __future__ import annotations

import math

from hushfade.cli import weaker_promises
from hushfade.cli.attacker_odds import odds
from hushfade.cli.protected_unit import ProtectedUnit
from hushfade.duration import Length
from hushfade.laws import Gaussian, Laplace
from hushfade.planning import privacy_over_time, statistic_summary
from hushfade.planning.epochs import Epochs
from hushfade.planning.mechanism_names import choice
from hushfade.planning.plan import Plan
from hushfade.planning.summary import lower_bounds, sentences, shown_step
from hushfade.privacy import unit_words
from hushfade.privacy.rounding import rounded_up

_ENFORCED = (
    "hushfade enforces limits per person where it knows the person behind each record: in hushfade "
    "run --user, with user= on data frames and Spark, and in the store and the service for records "
    "that name their person. It drops the records beyond the limits. A Python stream does not know "
    "persons."
)

STEPS = 1000  # the steps in the report on a plan without a horizon
COUNTED = "Each record counts as 1, because --low and --high are not given."

DRAWING = """\
    private half               the crossing               public half
   .----------------.      .------------------.      .----------------.
   |  totals x      |      |                  |      |  s = L y       |
   |  v = R x       | ---> |  y = v + noise   | ---> |  published     |
   '----------------'      '------------------'      '----------------'
    exact integers          drawn once per step       sees only y

    L R = the weights of the decay, so s = true decayed sums + L noise
"""

MECHANISM: dict[str, list[str]] = {
    "What it does": [
        "At every step hushfade reads the new records and publishes one number: a sum in which old "
        "records count less and less (or fully, or only within a window).",
        "Random noise hides the contribution of one unit: one record, or the records of one person "
        "that the guarantee names. hushfade adds the noise before publishing, and draws it only "
        "once per step.",
    ],
    "Why two halves": [
        "Noise added to the published sums would have to be large, because each record is part of "
        "many sums. Noise added to the totals would accumulate in the sums. Noise added in "
        "between, at the crossing, avoids both problems.",
        "If both halves use the square root of the weights, Gaussian noise has nearly the smallest "
        "possible error. If records fade quickly, Laplace noise on the totals has less error. "
        "Every plan compares the mechanisms, chooses the best, and reports the comparison.",
    ],
    "Why it is safe": [
        "The private half computes with integers only, so rounding reveals nothing about the data. "
        "The public half never sees the data: rounding, plots and averages there cost no privacy.",
        "The guarantee covers the whole series: all steps and all keys together, indefinitely.",
    ],
    "Next": [
        "hushfade plan --half-life 24 --epsilon 1 --delta 1e-6 -o plan.json",
        "hushfade explain plan.json",
    ],
}


def explanation(epochs: Epochs, person: bool = False) -> dict[str, list[str]]:
    """The complete explanation: for each title a list of short paragraphs.

    `person`: hushfade enforced the guarantee's limits per person, so it protects every person.
    """
    plan, guarantee = epochs.plan, epochs.guarantee
    unit = ProtectedUnit(plan.relation, person)
    return {
        "What is published": _published(plan),
        "Who is protected": [*_protected(epochs, person), *_changes(epochs)],
        "What is not protected": _unprotected(plan),
        "How accurate": _accuracy(plan),
        "What epsilon means": [
            f"epsilon = {rounded_up(guarantee.epsilon)}, delta = {rounded_up(guarantee.delta, 3)}"
            f"{_mu(epochs)}. All privacy losses and errors in this text are rounded up.",
            *odds(epochs.privacy, guarantee.epsilon, unit, epochs.rest),
        ],
        "Privacy loss over time": _over_time(epochs),
        "Which noise": [choice(plan), *_law(epochs)],
        "How near the optimum": [
            *(["These bounds are for the guarantee of a single epoch."] if epochs.several else []),
            *lower_bounds(plan, reported_steps(plan)),
        ],
        "What must not be done": _forbidden(epochs),
    }


def reported_steps(plan: Plan) -> int:
    """The number of steps in the report: the horizon, or 1000 without a horizon."""
    return plan.horizon or STEPS


def in_time(steps: int, every: Length) -> str:
    """The number of steps, followed by their duration if a step has a fixed length.

    >>> in_time(36, 3600 * 10**9)
    '36 steps, 1d12h'
    """
    counted = "1 step" if steps == 1 else f"{steps} steps"
    if not isinstance(every, int):
        return counted
    from hushfade import duration

    return f"{counted}, {duration.shown(steps * every)}"


def _steps(count: float, plan: Plan) -> str:
    """The number of steps, followed by their duration if the plan has the length of a step."""
    from hushfade import duration

    every = plan.step_length()
    return f"{count:g} steps" + (
        "" if not isinstance(every, int) else f" ({duration.shown(round(count * every))})"
    )


def _published(plan: Plan) -> list[str]:
    fades = plan.decay.clause(lambda count: _steps(count, plan))
    grid = plan.grid
    each = "" if plan.keys is None else f", for each of {len(plan.keys)} declared keys"
    ends = "indefinitely" if plan.horizon is None else f"for {plan.horizon} steps"
    if plan.statistic is not None:
        what = statistic_summary.released(plan.statistic)
        levels = plan.statistic.levels
        most = "1" if levels == 1 else f"at most {levels}"
        lanes = (
            f"hushfade computes it from {len(plan.statistic.parts)} noisy sums. A record adds "
            f"{most} in total to these sums, in units of a count. Records are "
            f"{statistic_summary.records(plan.statistic)}."
        )
        return [f"At every step, {ends}: {what}, {fades}{each}.", lanes]
    if grid.norm is not None:
        clipped = f"A record is a vector. hushfade scales longer vectors to length {grid.norm:g}."
    else:
        clipped = (
            f"hushfade clips records to the range from {grid.low:g} to {grid.high:g}: a value "
            "outside counts as the nearer bound."
        )
    return [f"At every step, {ends}: the sum of the records, {fades}{each}.", clipped]


def _protected(epochs: Epochs, person: bool) -> list[str]:
    relation = epochs.plan.relation
    unit = ProtectedUnit(relation, person)
    limits = unit_words.limit_words(relation)
    who = unit_words.person_words(relation)
    if person:
        who = f"{who[0].upper()}{who[1:]}. hushfade counted {limits}, per person."
    elif relation.single:
        who = "Each record by itself."
    elif relation.lifelong:
        who = f"A person with {limits}."
    else:
        who = f"{who[0].upper()}{who[1:]}, with {limits}."
    checked = [] if person else [unit_words.limits(relation)]
    if not person and not relation.single:
        checked.append(_ENFORCED)
    renewed = "The guarantee is renewed: it does not cover all records that a person ever has."
    more = f"{unit.two()}: {weaker_promises.two_people(epochs)}."
    return [who, *checked, unit.hidden(), *([] if relation.lifelong else [renewed]), more]


def _changes(epochs: Epochs) -> list[str]:
    """The guarantee for a changed or moved record, if neighbours add or remove a record."""
    plan = epochs.plan
    if plan.guarantee.neighbours != "add_remove":
        return []
    lines = [
        "The guarantee is for adding or removing records. Changing a value is one removal plus one "
        f"addition. With these bounds its guarantee is {weaker_promises.changed_value(epochs)}."
    ]
    if plan.keys is not None:
        lines.append(
            "Moving a record to another key changes two series. Its guarantee is "
            f"{weaker_promises.changed_key(epochs)}."
        )
    lines.append(
        "Moving a record to another step is also one removal plus one addition. Its guarantee is "
        f"{weaker_promises.two_people(epochs)}."
    )
    return lines


def _mu(epochs: Epochs) -> str:
    """The mu of Gaussian noise; nothing for other noise."""
    return "" if epochs.mu is None else f" (mu = {rounded_up(epochs.mu)})"


def _over_time(epochs: Epochs) -> list[str]:
    """How the privacy loss grows; of several epochs only what they have together."""
    if not epochs.several:
        return privacy_over_time.sentences(epochs.plan)
    guarantee = epochs.guarantee
    delta = "" if guarantee.pure else f" at delta = {rounded_up(guarantee.delta, 3)}"
    return [
        f"The {epochs.count} epochs together reveal at most epsilon = "
        f"{rounded_up(guarantee.epsilon)}{delta}."
    ]


def _law(epochs: Epochs) -> list[str]:
    """The properties of the noise distribution."""
    match epochs.plan.law:
        case Gaussian():
            return [
                "Gaussian noise is bell-shaped. Very rarely the privacy loss exceeds epsilon, and "
                "delta bounds how often. The privacy losses of several Gaussian releases of the "
                "same data add up slowly."
            ]
        case Laplace():
            never = "The privacy loss never exceeds epsilon." if _bounded(epochs) else ""
            return [
                "Laplace noise falls off exponentially: each further unit is less likely by the "
                f"same factor. {never}".rstrip(),
                "The privacy losses of several Laplace releases of the same data add up faster "
                "than Gaussian ones: their epsilons nearly add.",
            ]
        case _:
            return [
                "Huber noise is bell-shaped in the middle and has the tails of Laplace noise. The "
                "middle hides the many small traces of a record, and the tails hide the one large "
                "trace."
            ]


def _bounded(epochs: Epochs) -> bool:
    """Whether epsilon holds without delta."""
    return epochs.rest == 0.0 and epochs.privacy.epsilon(0.0) <= epochs.guarantee.epsilon


def _unprotected(plan: Plan) -> list[str]:
    public = "the steps, the bounds" + ("" if plan.keys is None else ", the keys") + ", this plan"
    return [
        "Facts about many people: the published values show them, which is their purpose. These "
        "facts may suggest something about the people in the data.",
        f"Facts that are public anyway: {public}.",
        "The stored data, and the running stream with its saved state: whoever can read them does "
        "not need the published numbers.",
    ]


def _accuracy(plan: Plan) -> list[str]:
    n = reported_steps(plan)
    shown = shown_step(plan, n)
    if plan.statistic is not None:
        return [
            sentences(plan)[1],
            "Every released value has an interval, which is wider where records are few. It may be "
            "the whole range: then the noise hides the value.",
        ]
    half = plan.interval(shown)[1]
    true = 10.0 ** max(2, math.ceil(math.log10(5.0 * half)))
    digits = max(0, 1 - math.floor(math.log10(half)))
    scale = 10.0**digits
    low, high = math.floor(scale * (true - half)) / scale, math.ceil(scale * (true + half)) / scale
    return [
        f"A true sum of {true:.0f} is published as a value between {low:.{digits}f} and "
        f"{high:.{digits}f}, 95 times in 100 (at step {shown}). On average the error is zero.",
        f"With probability 95 %, all of the first {n} values are within "
        f"{rounded_up(plan.error_bound(n))} of the true sums"
        + (", for any one series." if plan.grid.lanes > 1 else "."),
        "The error does not depend on the data: small sums have the same error as large sums.",
    ]


def _forbidden(epochs: Epochs) -> list[str]:
    guarantee = epochs.guarantee
    lines = [
        "Publishing the same data twice with new noise, by a second run or from an old saved "
        f"state. The two releases together have {weaker_promises.second_release(epochs)}.",
        "Looking at the data to choose the bounds, the keys, the step or the decay. For example, "
        "the largest value in the data is the value of one record.",
        "Publishing anything else about the same data, such as exact totals or error reports, "
        "without adding its privacy loss to the account.",
    ]
    if not guarantee.relation.single:
        lines.append(
            "Counting more records per person than stated above. Whoever prepares the records "
            "must enforce this limit."
        )
    return lines
