"""hushfade compare: this mechanism and every other one side by side."""

from __future__ import annotations

import json as json_format
from typing import TYPE_CHECKING

from hushfade.cli import choices, console, options
from hushfade.cli.plan import COUNTED, in_time
from hushfade.errors import InvalidValue

if TYPE_CHECKING:
    from rich.table import Table

    from hushfade.baselines import Comparison

OURS = "hushfade"

_WIDE = 110  # columns of a terminal that has room for all


def compare(
    decay: options.Kind = None,
    half_life: options.HalfLife = None,
    alpha: options.Alpha = None,
    power: options.Power = None,
    window: options.Window = None,
    weights: options.Weights = None,
    every: options.Every = None,
    horizon: options.Horizon = None,
    epsilon: options.Epsilon = None,
    delta: options.Delta = None,
    mu: options.Mu = None,
    rho: options.Rho = None,
    neighbours: options.NeighbourRelation = "add_remove",
    records_per_step: options.RecordsPerStep = 1,
    low: options.Low = None,
    high: options.High = None,
    plot: options.Plot = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Compare the error of this mechanism with that of every other one that applies.

    All have the same guarantee and the same number of steps, --horizon. Errors are exact standard
    deviations, not simulations. Up to 1024 steps the optimum itself is listed; that takes some ten
    seconds. The others are defined for one participation, so there is no option for more.

    [cyan]hushfade compare --half-life 24 --horizon 256 --epsilon 1 --delta 1e-6[/]
    """
    console.writable(plot, force=force, option="--plot")
    step = choices.every_of(every)
    bottom, top = choices.bounds_of(low, high, valued=False)
    if horizon is None:
        raise InvalidValue("--horizon must be given: mechanisms are compared over so many steps")
    decaying = choices.decay_of(
        decay,
        half_life=half_life,
        alpha=alpha,
        power=power,
        window=window,
        weights=weights,
        every=step,
    )
    guarantee = choices.guarantee_of(
        epsilon=epsilon,
        delta=delta,
        mu=mu,
        rho=rho,
        neighbours=neighbours,
        records_per_step=records_per_step,
        every=step,
    )
    steps = choices.whole(horizon, step, "--horizon")
    from hushfade import baselines

    with console.progress("comparing"), choices.said_as_options():
        found = baselines.compare(decaying, guarantee, steps, low=bottom, high=top)
    if plot is not None:
        from hushfade import plots

        plots.write(plots.errors(found), plot)
    if json:
        console.document(json_format.loads(found.to_json()))
        return
    page = console.out()
    page.print(f"{found.decay!r} over {in_time(found.horizon, step)}.")
    if low is None:
        page.print(COUNTED)
    page.print(guarantee.sentence())
    page.print(f"No Gaussian factorization mechanism has a largest error below {found.least:.4g}.")
    page.print(_table(found, wide=page.width >= _WIDE))
    page.print(
        "Errors are standard deviations in the records' unit. Ratio: the largest error over the "
        "least with Gaussian noise. Memory: numbers kept between steps. Work: operations a step."
    )


def _table(found: Comparison, *, wide: bool) -> Table:
    """Best first; hushfade's own rows stand out.  Memory, work and notes where there is room."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("mechanism", no_wrap=True)
    for head in ("largest error", "rms error", "ratio", *(("memory", "work") if wide else ())):
        table.add_column(head, justify="right", no_wrap=True)
    if wide:
        table.add_column("notes")
    for row in found.rows:
        notes = ["needs no delta"] if row.pure else []
        notes += [row.notes] if row.notes else []
        table.add_row(
            row.method,
            f"{row.max_error:.4g}",
            f"{row.rms_error:.4g}",
            f"{row.ratio:.3f}" if row.ratio < 100 else f"{row.ratio:.3g}",
            *((str(row.memory), f"{row.work:.3g}", ", ".join(notes)) if wide else ()),
            style="bold green" if row.method.startswith(OURS) else None,
        )
    return table
