"""A plan in plain words, for somebody without the theory: who is protected, and what may go wrong.

Guarantee: the odds are those of the plan's mu.  The best guess between neighbouring streams with
prior ½ is right with probability Φ(mu/2); the posterior is above e^ε/(1 + e^ε) with probability
Φ(mu/2 - ε/mu), which is more than delta (Dong, Roth, Su 2022).
"""

from __future__ import annotations

import math
from fractions import Fraction

from hushfade.decay import CustomDecay, Exponential, NoDecay, PowerLaw, SlidingWindow
from hushfade.planning.plan import Plan
from hushfade.privacy.guarantee import Guarantee, Neighbours
from hushfade.privacy.rounding import epsilon_up, root_up, rounded_up

STEPS = 1000  # reported of a plan that runs for ever
_SAFE = 1.0 + 1e-12  # more than the rounding of scipy's functions
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
        "With the square root of the weights on either side the error is close to the least that "
        "any such mechanism can have; every plan says how close, with a proof.",
    ],
    "Why it is safe": [
        "Left of the crossing everything is whole numbers, so no rounding tells of the data. Right "
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
        "Who is protected": [*_protected(guarantee, person), *_changes(plan)],
        "What is not protected": _unprotected(plan),
        "How accurate": _accuracy(plan),
        "What epsilon means": [
            f"epsilon = {rounded_up(guarantee.epsilon)}, delta = {rounded_up(guarantee.delta, 3)} "
            f"(mu = {rounded_up(guarantee.mu)}). All numbers of privacy and error here are rounded "
            "up.",
            *odds(guarantee.mu, guarantee.epsilon, guarantee.neighbours),
        ],
        "How near the optimum": [plan.certificate(reported_steps(plan)).sentence()],
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
    from hushfade.records import duration

    return f"{counted}, {duration.shown(steps * every)}"


def posterior(epsilon: float) -> float:
    """How sure one may become of a fact that was even odds: e^epsilon / (1 + e^epsilon).

    >>> round(posterior(math.log(3)), 12)
    0.75
    """
    return 1.0 / (1.0 + math.exp(-epsilon))


def odds(mu: float, epsilon: float, neighbours: Neighbours) -> list[str]:
    """What an attacker who sees everything that is published may learn about one person."""
    from scipy.special import ndtr

    more, right = float(ndtr(mu / 2 - epsilon / mu)), float(ndtr(mu / 2))
    sure, more, right = (_SAFE * number for number in (posterior(epsilon), more, right))
    added = neighbours == "add_remove"
    fact = "that a person is in the data" if added else "which of two values a person has"
    return [
        f"Suppose an attacker starts out 50 % sure {fact}. After seeing everything that is ever "
        f"published, the attacker is at most {rounded_up(100 * sure, 3)} % sure, except with a "
        f"probability of at most {rounded_up(more, 2)}.",
        f"An attacker who has to guess is right at most {rounded_up(100 * right, 3)} times in 100. "
        "Blind guesses are right 50 times.",
    ]


def _published(plan: Plan) -> list[str]:
    match plan.decay:
        case NoDecay():
            fades = "in which every record counts for ever"
        case Exponential(half_life=half_life):
            fades = f"in which a record counts half as much every {half_life:g} steps"
        case PowerLaw(power=power):
            fades = f"in which a record that is k steps old counts 1/(k+1)^{power:g}"
        case SlidingWindow(length=length):
            fades = f"of the last {length} steps"
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


def _protected(guarantee: Guarantee, person: bool) -> list[str]:
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
    more = f"Two such people together are protected less, with {_epsilon(guarantee, 4)}."
    return [who, hidden, more]


def _changes(plan: Plan) -> list[str]:
    """What it costs, where records are added or removed, that a record is changed.

    In units of the grid, a changed value shifts a total by high - low where an added one shifts it
    by max(|low|, |high|).  A record that moves to another key shifts two totals, so by √2 times as
    much.  A record that moves to another step is removed and added: by 2 times as much.
    """
    guarantee, grid = plan.guarantee, plan.grid
    if guarantee.neighbours != "add_remove":
        return []
    if grid.norm is None:
        low, high = grid.low_unit, grid.high_unit
        ratio = Fraction((high - low) ** 2, max(abs(low), abs(high)) ** 2)
    else:
        ratio = Fraction(4)
    lines = [
        "Records are added or removed. Changing a value is one removal plus one addition: with "
        f"these bounds it is protected with {_epsilon(guarantee, ratio)}."
    ]
    if plan.keys is not None:
        lines.append(
            "Moving a record to another key changes two series: it is protected with "
            f"{_epsilon(guarantee, 2)}."
        )
    lines.append(
        "Moving a record to another step is one removal plus one addition too: it is protected "
        f"with {_epsilon(guarantee, 4)}."
    )
    return lines


def _epsilon(guarantee: Guarantee, square: Fraction | int) -> str:
    """Epsilon in words where the shift is that factor, squared, of the planned one."""
    if square == 1:
        return f"epsilon = {rounded_up(guarantee.epsilon)} at the same delta"
    mu = root_up(square * Fraction(guarantee.mu) ** 2)
    return f"epsilon = {epsilon_up(mu, guarantee.delta)} at the same delta"


def _unprotected(plan: Plan) -> list[str]:
    public = "the steps, the bounds" + ("" if plan.keys is None else ", the keys") + ", this plan"
    return [
        "What is true of many people: the published sums tell it, that is their purpose, and it "
        "may say something about each of them.",
        f"What was public before: {public}.",
        "The data themselves, where they are kept, and the running stream with its saved state: "
        "whoever can read those needs no published number.",
    ]


def _accuracy(plan: Plan) -> list[str]:
    n = reported_steps(plan)
    half = plan.interval(n)[1]
    true = 10.0 ** max(2, math.ceil(math.log10(5.0 * half)))
    digits = max(0, 1 - math.floor(math.log10(half)))
    scale = 10.0**digits
    low, high = math.floor(scale * (true - half)) / scale, math.ceil(scale * (true + half)) / scale
    return [
        f"A true {true:.0f} will show as {low:.{digits}f} to {high:.{digits}f}, 95 times in 100 "
        f"(at step {n}). On average the error is zero.",
        f"All of the first {n} steps at once are within {rounded_up(plan.error_bound(n))} of the "
        "truth, 95 times in 100" + (", for any one series." if plan.grid.lanes > 1 else "."),
        "The error does not depend on the data: small sums have the same error as large ones.",
    ]


def _forbidden(plan: Plan) -> list[str]:
    guarantee = plan.guarantee
    lines = [
        "Publishing the same data twice with new noise, by a second run or from an old saved "
        f"state: two such releases together have {_epsilon(guarantee, 2)}.",
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
