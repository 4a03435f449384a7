"""docs/results/joint-plans.md: several series under one guarantee, compared with an even split."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from hushfade import Exponential, Guarantee, JointPlan, Series, SlidingWindow, plan_together
from hushfade.decays import Decay
from hushfade.privacy.rounding import rounded_up
from lab.progress import progress
from lab.tables.page import table, write

WHOLE = Guarantee(epsilon=1, delta=1e-6)
COUNTS = (1, 2, 5, 20)
WINDOW = SlidingWindow(length=7)
HALF_LIVES = (24, 168, 6, 48, 720)  # repeated for more than five series
SLACK = 1e-6  # the allowed relative excess of a joint plan's error over an even split

PAGE = """\
# Joint plans

Written by `make tables`.  `hf.plan_together` plans several series about the same people under one
guarantee, here epsilon = {epsilon:g} and delta = {delta}.  Records lie in [0, 1], and neighbouring
streams differ by one record.  An error is the largest standard deviation of a released value.

The page compares it with two simpler ways:

- *Even epsilon*: each of k series has epsilon/k and delta/k, with the law that has the smallest
  error.
- *Even mu*: each of k series has Gaussian noise with mu/√k.

*Joint / even* is the error of the joint plan divided by the smaller error of both.  It is at most
1; the script requires this up to a relative error of {slack:g}.

## Windows of seven steps

All series are sliding windows of seven steps.  Each number is the error of one series.

{windows}

## Different half-lives

The half-lives are {half_lives} steps, in this order, and repeat for more series.  A
relative error is the error of a series divided by its error if it had the whole guarantee.  Each
number is the mean of the relative errors.  A joint plan minimises this mean.

{mixed}

The five series, one by one.  *Epsilon* is the epsilon of the plan alone, at its own delta.  *Alone*
is the error if the series had the whole guarantee.

{five}
"""


class Compared(NamedTuple):
    """A joint plan, and the errors of both even splits."""

    joint: JointPlan
    even_epsilon: list[float]
    even_mu: list[float]

    def means(self) -> tuple[float, float, float]:
        """The mean relative errors: joint, even epsilon, even mu."""
        joint, epsilon, mu = (
            math.fsum(error / alone for error, alone in zip(errors, self.joint.alone, strict=True))
            / len(self.joint.plans)
            for errors in (self.joint.errors, self.even_epsilon, self.even_mu)
        )
        return joint, epsilon, mu


def main() -> None:
    """Compute and write the page, in about a minute."""
    windows = {count: compared([WINDOW] * count) for count in COUNTS}
    mixed = {count: compared(_mixed(count)) for count in COUNTS}
    heads = ["series", "laws", "joint", "even epsilon", "even mu", "joint / even"]
    write(
        "results/joint-plans.md",
        PAGE.format(
            epsilon=WHOLE.epsilon,
            delta=rounded_up(WHOLE.delta, 3),
            slack=SLACK,
            half_lives=", ".join(map(str, HALF_LIVES)),
            windows=table(heads, [_row(found, errors=True) for found in windows.values()]),
            mixed=table(heads, [_row(found, errors=False) for found in mixed.values()]),
            five=table(
                ["half-life", "law", "epsilon", "alone", "joint", "even epsilon", "even mu"],
                _one_by_one(mixed[len(HALF_LIVES)]),
            ),
        ),
    )


def compared(decays: Sequence[Decay]) -> Compared:
    """The joint plan of the decays, and the errors of both even splits."""
    count = len(decays)
    joint = plan_together(decays, WHOLE)
    part = Guarantee(epsilon=WHOLE.epsilon / count, delta=WHOLE.delta / count)
    gaussian = Guarantee.from_mu(WHOLE.mu / math.sqrt(count), delta=WHOLE.delta)
    found = Compared(joint, _errors(joint.series, part), _errors(joint.series, gaussian))
    ours, *others = found.means()
    progress(f"{count} series: {ours:.4f}, even splits {others}")
    if not ours <= (1.0 + SLACK) * min(others):
        raise SystemExit(f"{count} series: the joint plan has more error than an even split")
    return found


def _errors(several: Sequence[Series], guarantee: Guarantee) -> list[float]:
    """The error of each series with this guarantee."""
    errors = {one: one.error(one.plan(guarantee)) for one in dict.fromkeys(several)}
    return [errors[one] for one in several]


def _mixed(count: int) -> list[Decay]:
    lives = (HALF_LIVES[place % len(HALF_LIVES)] for place in range(count))
    return [Exponential(half_life=life) for life in lives]


def _row(found: Compared, *, errors: bool) -> Sequence[str]:
    """A row of errors, for equal series, or of mean relative errors."""
    joint, epsilon, mu = found.means()
    unit = found.joint.alone[0] if errors else 1.0
    return (
        str(len(found.joint.plans)),
        _laws(found.joint),
        *(f"{unit * value:.4g}" for value in (joint, epsilon, mu)),
        f"{joint / min(epsilon, mu):.3f}",
    )


def _laws(joint: JointPlan) -> str:
    laws = Counter(made.law.name for made in joint.plans)
    return ", ".join(f"{times} {name}" for name, times in laws.items())


def _one_by_one(found: Compared) -> list[Sequence[str]]:
    joint = found.joint
    return [
        (
            str(life), made.law.name, rounded_up(made.guarantee.epsilon, 3),
            *(f"{error:.4g}" for error in errors),
        )
        for life, made, *errors in zip(
            HALF_LIVES, joint.plans, joint.alone, joint.errors, found.even_epsilon, found.even_mu,
            strict=True,
        )
    ]  # fmt: skip
