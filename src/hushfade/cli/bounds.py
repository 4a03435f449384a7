"""hushfade bounds: lower and upper bounds on the smallest error of any factorization."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from hushfade import theory
from hushfade.cli import console
from hushfade.cli.options import DecayOptions, ReportOptions, StepOptions
from hushfade.cli.options.parameters import option, option_group
from hushfade.cli.options.time import whole_steps_in
from hushfade.cli.plain_words import in_time
from hushfade.decay import Decay, PowerLaw
from hushfade.errors import Diverges, InvalidValue
from hushfade.factors import factorization
from hushfade.planning.parameter_documents import decay_document
from hushfade.privacy.rounding import rounded_down, rounded_up
from hushfade.theory.norms import DENSE

if TYPE_CHECKING:
    from rich.table import Table

    from hushfade.duration import Length
    from hushfade.theory import Bound

HORIZONS = tuple(str(16**power) for power in range(1, 6))

_DENSE, _LONG = 256, 1 << 16  # steps up to which the optimum, and γ_F, take a second
_ROUNDING = 1e-11
_PAPER = ("Theorem", "Claim", "Section", "Appendix")
_OTHERS = (  # computed from the paper's theorems, but not its bounds; one has its own column
    "circulant test", "mean singular value", "noise on the output", "square root",
)  # fmt: skip


@option_group("Time")
class HorizonsOptions(StepOptions):
    """The length of a step, and several numbers of steps."""

    horizon: Annotated[
        tuple[str, ...],
        option(
            "The number of steps. May be repeated.", "STEPS|DURATION", default=", ".join(HORIZONS)
        ),
    ] = ()


@dataclass(frozen=True)
class Row:
    """The bounds for one number of steps; None if a bound does not apply, and a note says why."""

    steps: int
    lower: float
    upper: float
    square_root: float | None
    normalized: float | None
    mean_lower: float | None
    mean_upper: float | None
    bounds: tuple[Bound, ...]

    def paper(self, side: str) -> Bound | None:
        """The paper's tightest closed-form bound on this side."""
        found = [
            bound
            for bound in self.bounds
            if bound.side == side and bound.where.startswith(_PAPER) and bound.name not in _OTHERS
        ]
        tightest = max if side == "lower" else min
        return tightest(found, key=lambda bound: bound.value, default=None)


def bounds(
    *,
    decay: DecayOptions = DecayOptions(),
    time: HorizonsOptions = HorizonsOptions(),
    output: ReportOptions = ReportOptions(),
) -> None:
    """Show proven bounds on the smallest error of any factorization mechanism for a decay.

    The error factor is the largest standard deviation if the noise multiplier is 1 and a record
    changes a total by at most 1. The table shows the error factors of the square root and the
    normalized square root, the range that contains the minimum, and the corrected bounds of the
    paper by Henzinger, Upadhyay and Upadhyay. A million steps take about ten seconds. Notes
    explain which bounds do not apply.

    `hushfade bounds --power 1 --horizon 256 --horizon 65536`
    """
    fading, step = decay.function(time.step), time.step
    lengths = (whole_steps_in(text, step, "--horizon") for text in time.horizon or HORIZONS)
    horizons = sorted(set(lengths))
    rows = []
    with console.progress("bounding", len(horizons)) as advance:
        for n in horizons:
            rows.append(row_of(fading, n))
            advance(1)
    limit = _limit(fading)
    notes = list(_notes(fading, rows, limit))
    conclusion = _conclusion(rows[-1], limit)
    if output.json:
        console.document(
            {
                "decay": decay_document(fading),
                "limit": limit,
                "rows": [_document(row) for row in rows],
                "notes": notes,
                "conclusion": conclusion,
            }
        )
        return
    page = console.out()
    page.print(f"Error factors of {fading!r}.")
    page.print(_table(rows, step))
    page.print(_listed(rows[-1]))
    for note in notes:
        page.print(f"- {note}")
    page.print()
    page.print(conclusion, style="bold")


def row_of(decay: Decay, n: int) -> Row:
    """All bounds for n steps.  Cost: about 1 s at 256 and at 2^16 steps, about 8 s at 2^20.

    >>> from hushfade.decay import NoDecay
    >>> found = row_of(NoDecay(), 2)
    >>> round(found.square_root, 12), round(found.lower, 3)  # 1 + (1/2)², 2/√3
    (1.25, 1.155)
    """
    from hushfade.theory.bounds import bounds

    listed = tuple(bounds(decay, n))
    root = normalized = None
    try:
        root = factorization.square_root(decay).error_factor(n)
        normalized = factorization.normalized(decay, n).error_factor(n)
    except InvalidValue:  # the square root overflows float64; `_notes` reports it
        pass
    pairs = [value for value in (root, normalized) if value is not None]
    # _ROUNDING is far above the rounding errors of formulas and taps
    lower = max(bound.value for bound in listed if bound.side == "lower") * (1.0 - _ROUNDING)
    above = [bound.value for bound in listed if bound.side == "upper"]
    upper = min(above + pairs) * (1.0 + _ROUNDING)
    if n <= _DENSE:
        exact = theory.gamma2(decay, n)
        lower, upper = max(lower, exact.lower), min(upper, exact.upper)
    mean = theory.gamma_f(decay, n) if _quick(n) else None
    scale = math.sqrt(n)
    return Row(
        n,
        lower,
        upper,
        root,
        normalized,
        None if mean is None else mean.lower / scale,
        None if mean is None else mean.upper / scale,
        listed,
    )


def _quick(n: int) -> bool:
    """Whether γ_F takes a second: a dense O(n³) problem up to 1024 steps, a formula beyond."""
    return n <= _DENSE or DENSE < n <= _LONG


def _limit(decay: Decay) -> float | None:
    try:
        return theory.gamma2_limit(decay).value
    except Diverges:
        return None


def _notes(decay: Decay, rows: list[Row], limit: float | None) -> Iterator[str]:
    """Explanations of the bounds that the table leaves out."""
    from hushfade.theory.bounds import half_weights

    n = rows[-1].steps
    if any(row.square_root is None for row in rows):
        yield (
            "square root, normalized: left out if the square root of the weights' power series "
            "overflows"
        )
    if any(row.mean_lower is None for row in rows):
        yield (
            f"least mean: left out from {_DENSE + 1} to {DENSE} and beyond {_LONG} steps, where "
            "it takes long to compute"
        )
    try:
        half_weights(decay, n)
    except InvalidValue as error:
        yield f"half weights (Theorem 3): {error}"
    if isinstance(decay, PowerLaw) and not decay.power > 0.5:
        yield "zeta function (Theorem 3): the power must be above 0.5, or the sum diverges"
    if any(row.paper("upper") is None for row in rows):
        yield "paper's upper: the paper has no closed form for this decay"
    if n == 1:
        yield "two steps (Theorem 2): this bound needs at least two steps"
    if limit is None:
        yield "limit: infinite, because the least error grows with the number of steps"


def _conclusion(row: Row, limit: float | None) -> str:
    """One sentence that sums up the table."""
    over = f"Over {in_time(row.steps, None)}"
    ours = min((v for v in (row.square_root, row.normalized) if v is not None), default=None)
    if ours is None:
        return (
            f"{over} the least error factor is between {rounded_down(row.lower, 5)} and "
            f"{rounded_up(row.upper, 5)}."
        )
    more = math.ceil(1e4 * (ours / row.lower - 1.0)) / 100
    name = "square root" if ours == row.square_root else "normalized square root"
    excess = f"at most {max(more, 0.0):.2f} % more error than the best factorization"
    least = "infinite" if limit is None else f"{limit:.5g}"
    return f"{over}, the {name} has {excess}. Without a horizon, the least error factor is {least}."


def _document(row: Row) -> dict[str, Any]:
    return {
        "steps": row.steps,
        "lower": row.lower,
        "upper": row.upper,
        "square_root": row.square_root,
        "normalized": row.normalized,
        "mean_lower": row.mean_lower,
        "mean_upper": row.mean_upper,
        "bounds": [
            {
                "side": bound.side,
                "value": bound.value,
                "name": bound.name,
                "where": bound.where,
                "correction": bound.correction,
            }
            for bound in row.bounds
        ],
    }


def _table(rows: list[Row], every: Length) -> Table:
    from rich import box
    from rich.table import Table

    from hushfade import duration

    table = Table(box=box.SIMPLE_HEAD)
    time = ["time"] if isinstance(every, int) else []
    bracketed = ("paper's lower", "least: from", "to", "normalized", "square root")
    heads = ("steps", *time, *bracketed, "paper's upper", "least mean: from", "to")
    for head in heads:
        table.add_column(head, justify="right")
    for row in rows:
        low, high = row.paper("lower"), row.paper("upper")
        table.add_row(
            str(row.steps),
            *([duration.shown(row.steps * every)] if isinstance(every, int) else []),
            _shown(None if low is None else low.value),
            _shown(row.lower, math.floor),
            _shown(row.upper, math.ceil),
            _shown(row.normalized),
            _shown(row.square_root),
            _shown(None if high is None else high.value),
            _shown(row.mean_lower, math.floor),
            _shown(row.mean_upper, math.ceil),
        )
    return table


def _listed(row: Row) -> Table:
    """The table of all bounds for the largest number of steps, with their sources."""
    from rich import box
    from rich.table import Table

    title = f"All bounds on the least error factor over {in_time(row.steps, None)}"
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold")
    table.add_column("")
    table.add_column("value", justify="right")
    table.add_column("bound")
    table.add_column("where")
    table.add_column("printed there instead")
    for bound in row.bounds:
        lower = bound.side == "lower"
        side, rounded = ("at least", rounded_down) if lower else ("at most", rounded_up)
        value = rounded(bound.value, 6)
        table.add_row(side, value, bound.name, bound.where, bound.correction)
    return table


def _shown(value: float | None, towards: Any = round) -> str:
    """Five decimal places, rounded down for a lower bound and up for an upper bound."""
    if value is None:
        return "see notes"
    return f"{towards(1e5 * value) / 1e5:.5f}"
