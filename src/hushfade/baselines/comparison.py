"""compare(...): hushfade's mechanisms compared with all baselines."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from hushfade import check, theory
from hushfade.baselines.catalogue import DENSE, mechanisms
from hushfade.baselines.independent_noise import sum_cost
from hushfade.baselines.mechanism import Mechanism
from hushfade.check import Column
from hushfade.decays import Decay, checked_decay
from hushfade.errors import InvalidType, InvalidValue
from hushfade.factors.factorization import Factorization
from hushfade.planning.certificate import certificate
from hushfade.planning.exact_factors import Method
from hushfade.planning.mechanism_names import mechanism_name
from hushfade.planning.mechanism_search import LawName
from hushfade.planning.plan import Plan
from hushfade.planning.planner import compared_plans, plan
from hushfade.privacy.guarantee import Guarantee
from hushfade.privacy.rounding import rounded_down, rounded_up
from hushfade.theory import certificates

OURS = "hushfade"


@dataclass(frozen=True, eq=False)
class Row:
    """One mechanism: its guarantee, its errors and its cost."""

    method: str
    source: str
    pure: bool  # needs no delta
    errors: Column = field(repr=False)  # the standard deviation at each step, in the data's unit
    ratio: float | None  # the largest error over the lower bound for Gaussian noise; None: no bound
    memory: int  # numbers kept between steps
    work: float  # additions and multiplications per step
    bias: float  # relative; 0 for unbiased mechanisms
    online: bool

    @property
    def max_error(self) -> float:
        """The largest standard deviation over all steps."""
        return float(np.max(self.errors))

    @property
    def rms_error(self) -> float:
        """The root mean square error over all steps."""
        return float(np.sqrt(np.mean(self.errors**2)))

    @property
    def privacy(self) -> str:
        """The parameters of its guarantee."""
        return "epsilon" if self.pure else "epsilon, delta"

    @property
    def notes(self) -> str:
        """Limits of the mechanism, in words."""
        late = "needs the whole stream" if self.pure else "online with noise drawn ahead"
        notes = [] if self.online else [late]
        notes += [f"biased by up to {100 * self.bias:.0f} %"] if self.bias else []
        return ", ".join(notes)


@dataclass(frozen=True, eq=False)
class Comparison:
    """The rows, and a lower bound on the error of factorization mechanisms with Gaussian noise.

    The first row is hushfade's plan.  The others are sorted by their largest error.  The notes mark
    mechanisms that need all their noise at the start, and mechanisms that are biased.  The bound
    `least` holds for Gaussian noise.  Other laws may have a smaller error if a record affects few
    releases, and their ratio is then below 1.  `least` is None for delta = 0, which Gaussian noise
    cannot provide.
    """

    decay: Decay
    guarantee: Guarantee
    horizon: int
    change: float
    least: float | None
    rows: tuple[Row, ...]

    def row(self, method: str) -> Row:
        """The row with this name; 'hushfade' is the row of hushfade's plan."""
        for row in self.rows:
            if row.method == method or (method == OURS and row.method.startswith(OURS)):
                return row
        names = ", ".join(row.method for row in self.rows)
        raise InvalidValue(
            f"must be one of the rows' names ({names})", argument="method", got=repr(method)
        )

    @property
    def lower_bound(self) -> str:
        """The lower bound for Gaussian noise, in words."""
        if self.least is None:
            return "No mechanism with Gaussian noise has delta = 0."
        least = rounded_down(self.least)
        return f"No Gaussian factorization mechanism has a largest error below {least}."

    def to_json(self) -> str:
        """The table as a JSON document."""
        rows = [dict(zip(_COLUMNS, _cells(row), strict=True)) for row in self.rows]
        document = {
            "decay": repr(self.decay),
            "epsilon": self.guarantee.epsilon,
            "delta": self.guarantee.delta,
            "neighbours": self.guarantee.neighbours,
            "horizon": self.horizon,
            "change": self.change,
            "least": self.least,
            "rows": rows,
        }
        return json.dumps(document, indent=2)

    def __str__(self) -> str:
        head = (
            f"{self.decay!r}",
            f"steps: {self.horizon}; epsilon = {rounded_up(self.guarantee.epsilon)}, "
            f"delta = {rounded_up(self.guarantee.delta, 3)}; a record changes a total by up to "
            f"{self.change:g}",
            self.lower_bound,
            "",
        )
        foot = (
            "",
            "Errors are standard deviations. Ratio: the largest error divided by the lower bound",
            "for Gaussian noise. Memory: numbers kept between steps. Work: operations per step.",
        )
        table = [_COLUMNS, *(_shown(row) for row in self.rows)]
        widths = [max(len(cells[i]) for cells in table) for i in range(len(_COLUMNS))]
        lines = [
            "  ".join(
                cell.ljust(width) if i in _WORDS else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
            ).rstrip()
            for cells in table
        ]
        return "\n".join([*head, *lines, *foot])

    def plot(self, path: str | Path) -> None:
        """Write a picture of the error against time for every row, as a PNG or SVG file."""
        from hushfade import plots

        plots.write(plots.errors(self), path)


_LONGEST = 1 << 24  # the most steps
_COLUMNS = ("method", "privacy", "max_error", "rms_error", "ratio", "memory", "work", "notes")
_WORDS = (0, 1, 7)


def compare(
    decay: Decay,
    guarantee: Guarantee,
    horizon: int,
    *,
    low: float = 0.0,
    high: float = 1.0,
    resolution: float | None = None,
    method: Method | Literal["best"] | Factorization = "best",
    law: LawName | None = None,
) -> Comparison:
    """hushfade's mechanisms for every law and all baselines that apply, hushfade's plan first.

    Errors are exact standard deviations in the records' unit, for records in [low, high] on a grid
    of `resolution` (1 for counts).  `method` and `law` choose hushfade's plan, as in `plan`.  The
    baselines are defined for one participation, and are omitted for more.  Cost: about ten seconds
    at 1024 steps, beyond which the dense optima are omitted.  `print` shows the result as a table.
    It has `rows`, `row(name)`, `least`, `plot(path)` and `to_json()`.

    >>> from hushfade.decays import NoDecay
    >>> found = compare(NoDecay(), Guarantee(epsilon=1, delta=1e-6), 64)
    >>> found.row("binary tree").max_error > found.row("hushfade").max_error
    True
    """
    n = check.count(horizon=horizon, most=_LONGEST)
    checked_decay(decay)
    if not isinstance(guarantee, Guarantee):
        raise InvalidType("guarantee must be a Guarantee", got=type(guarantee).__name__)
    low, high = check.bounds(low, high)
    change = guarantee.change(low, high)
    least = None if guarantee.pure else _least(decay, guarantee, n) * change / guarantee.mu
    several = _plans(decay, guarantee, n, low, high, resolution, method, law)
    ours = [_own(made, n, least) for made in several]
    rows = ours[1:]
    if guarantee.protects.steps == 1:
        rivals = mechanisms(decay, n, pure=guarantee.pure)
        rows += [_row(rival, guarantee, change, least) for rival in rivals]
    rows.sort(key=lambda row: row.max_error)
    return Comparison(decay, guarantee, n, change, least, (*ours[:1], *rows))


def _least(decay: Decay, guarantee: Guarantee, n: int) -> float:
    """A lower bound on the error factor of any Gaussian factorization."""
    if guarantee.protects.steps > 1:
        repeated = certificate(
            decay,
            n,
            math.inf,
            participations=guarantee.protects.steps,
            separation=guarantee.protects.apart,
            gaussian=False,
        )
        return repeated.lower
    error = certificates.rounding(decay, decay.weights(n))
    explicit = certificates.lower(decay.weights(n), weight_error=error).value
    dense = theory.gamma2(decay, n).lower if n <= DENSE else 0.0
    return max(explicit, dense)


def _plans(
    decay: Decay,
    guarantee: Guarantee,
    n: int,
    low: float,
    high: float,
    resolution: float | None,
    method: Method | Literal["best"] | Factorization,
    law: LawName | None,
) -> Iterator[Plan]:
    """hushfade's own plans, the chosen plan first; no plans if √g is unstable."""
    bounds: dict[str, Any] = {"low": low, "high": high, "resolution": resolution}
    first: Plan | None = None
    if method != "best":
        steps = None if method == "unbounded" else n
        first = plan(decay, guarantee, horizon=steps, method=method, law=law, **bounds)
        yield first
        law = None
    with suppress(InvalidValue):
        for made in compared_plans(decay, guarantee, horizon=n, law=law, **bounds):
            same = first is not None and (made.method, made.law) == (first.method, first.law)
            if not same:
                yield made


def _own(made: Plan, n: int, least: float | None) -> Row:
    errors = made.stddevs(n)
    # past totals and quotients, and the state of the decayed sum; each half has a multiply-add
    # per jump
    past, sums = min(made.pair.memory or n, n), sum_cost(made.decay, n)
    memory, work = 2 * past + sums.memory, 4.0 * made.jumps + 1.0 + sums.work
    name = f"{OURS}, {mechanism_name(made.method, made.law.name)}"
    pure = made.privacy.epsilon(0.0) <= made.guarantee.epsilon
    ratio = None if least is None else float(np.max(errors)) / least
    return Row(name, "this software", pure, errors, ratio, memory, work, 0.0, True)


def _row(rival: Mechanism, guarantee: Guarantee, change: float, least: float | None) -> Row:
    name = rival.name + (", Laplace noise" if rival.pure else "")
    errors = rival.stddevs(guarantee, change)
    cost = rival.memory, rival.work
    ratio = None if least is None else float(np.max(errors)) / least
    return Row(name, rival.source, rival.pure, errors, ratio, *cost, rival.bias, rival.online)


def _cells(row: Row) -> tuple[Any, ...]:
    return tuple(getattr(row, name) for name in _COLUMNS)


def _shown(row: Row) -> tuple[str, ...]:
    method, promise, largest, mean, ratio, memory, work, notes = _cells(row)
    return (
        method,
        promise,
        f"{largest:.4g}",
        f"{mean:.4g}",
        "-" if ratio is None else rounded_up(ratio),
        f"{memory}",
        f"{work:.3g}",
        notes,
    )
