"""docs/results/unbounded-counting.md: the price of not knowing the length of a count."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hushfade import Guarantee, Plan, plan
from hushfade.check import Column
from hushfade.decays import NoDecay
from hushfade.factors import factorization
from hushfade.factors.counting_parameters import EARLIEST, EXPECTED, LATEST, expected_taps
from lab.progress import progress
from lab.tables.page import table, write

GUARANTEE = Guarantee(epsilon=1, delta=1e-6)
STEPS = tuple(1 << k for k in range(8, 25, 2))
EXPECTS = tuple(1 << k for k in (10, 14, 18, 20))
REQUIRED = 1.45

PAGE = """\
# Unbounded counting

Written by `make tables`.  A count without a horizon has more noise than a count whose length is
known.  Each number is the error of a plan with `method="unbounded"`, divided by the error of a plan
for the square root with that number of steps as its horizon.  Both plans have the same guarantee,
and the errors come from their integer taps.

{ratios}

The ratio is smallest near the expected length.  It is at most {worst:.3f} from {first} steps to
{latest} times the expected length.  The default is `expect=2**20`.  Its largest ratio from 2^8 to
2^24 steps is {default:.3f}; the script requires at most {required:g}.

The taps end after twice the expected length.  Beyond {latest} times the expected length the error
grows like the square root of the time, and the table has a dash.

## Cost of the plans

*Memory* is an upper bound for one key.  The operating system allocates it as the stream grows:
until the taps end, a stream uses 24 bytes per step, and 16 more per step for each additional key.
*Jumps* are the additions per step.

{costs}

## The exact taps

These are the same ratios for taps that never end, with the noise that all taps need.  A plan needs
less noise, because its taps end.

{endless}
"""


def main() -> None:
    """Compute and write the page, in about a minute and with 2 GB of memory."""
    known = np.array([_known(n) for n in STEPS])
    plans = {
        expect: plan(NoDecay(), GUARANTEE, method="unbounded", expect=expect) for expect in EXPECTS
    }
    ratios = {expect: _ratios(found, known, LATEST * expect) for expect, found in plans.items()}
    default = float(np.max(ratios[EXPECTED]))
    if not default <= REQUIRED:
        raise SystemExit(f"the largest ratio of the default is {default:.3f}, above {REQUIRED:g}")
    write(
        "results/unbounded-counting.md",
        PAGE.format(
            ratios=table(["expect", *_heads()], [_row(_power(e), r) for e, r in ratios.items()]),
            costs=table(
                ["expect", "c", "β", "taps", "jumps", "memory"],
                [_cost(expect, found) for expect, found in plans.items()],
            ),
            endless=table(["c, β", *_heads()], _endless()),
            worst=max(float(np.nanmax(row)) for row in ratios.values()),
            first=EARLIEST,
            latest=LATEST,
            default=default,
            required=REQUIRED,
        ),
    )


def _known(n: int) -> float:
    """The error at the last step of the plan for the square root with horizon n."""
    progress(f"known horizon: {n}")
    return plan(NoDecay(), GUARANTEE, horizon=n).stddev(n)


def _ratios(found: Plan, known: Column, last: int) -> Column:
    """The ratio at each of STEPS; nan after the step `last`."""
    steps = [n for n in STEPS if n <= last]
    errors = found.stddevs(max(steps))
    progress(f"unbounded, {found.taps.support} taps")
    return np.array(
        [errors[n - 1] / known[i] if n <= last else math.nan for i, n in enumerate(STEPS)]
    )


def _endless() -> list[Sequence[str]]:
    rows: list[Sequence[str]] = []
    for c, beta in ((0.1, 1.0), (0.05, 2.0), (0.03, 4.0)):
        pair = factorization.unbounded_counting(c=c, beta=beta)
        errors = pair.sensitivity().value * pair.errors(STEPS[-1])
        known = np.cumsum(factorization.square_root(NoDecay()).right(STEPS[-1]) ** 2)
        found = np.array([errors[n - 1] / known[n - 1] for n in STEPS])
        progress(f"endless, c = {c:g}, β = {beta:g}")
        rows.append(_row(f"{c:g}, {beta:g}", found))
    return rows


def _cost(expect: int, found: Plan) -> Sequence[str]:
    taps = expected_taps(expect)
    memory = f"{found.cost.memory / 1e6:.1f} MB"
    parameters = f"{taps.c:g}", f"{taps.beta:g}"
    return _power(expect), *parameters, _power(found.taps.support), str(found.jumps), memory


def _row(name: str, ratios: Column) -> Sequence[str]:
    return name, *("-" if math.isnan(ratio) else f"{ratio:.3f}" for ratio in ratios)


def _heads() -> list[str]:
    return [_power(n) for n in STEPS]


def _power(n: int) -> str:
    return f"2^{n.bit_length() - 1}" if n & (n - 1) == 0 else str(n)
