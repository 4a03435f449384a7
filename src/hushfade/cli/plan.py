"""hushfade plan: what will be released, how private and how accurate, before any record is read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from hushfade.cli import choices, console, options, plain_words
from hushfade.planning.plan_file import decay_document
from hushfade.planning.summary import rows, sentences
from hushfade.records import duration

if TYPE_CHECKING:
    from rich.table import Table

    from hushfade.planning.plan import Plan

COUNTED = "Records are counted, as 1 each: no --low and --high were given."


def plan(
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
    participations: options.Participations = 1,
    separation: options.Separation = "1",
    records_per_step: options.RecordsPerStep = 1,
    low: options.Low = None,
    high: options.High = None,
    resolution: options.Resolution = None,
    keys: options.Keys = None,
    keys_file: options.KeysFile = None,
    method: options.Method = "square_root",
    output: options.Output = None,
    plot: options.Plot = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Say how private and how accurate a series will be, before any record is read.

    No data are needed. The page says the guarantee, the accuracy, and how near it is to the least
    error that any such mechanism can have. -o keeps the plan for hushfade run, explain and serve.

    [cyan]hushfade plan --half-life 24h --every 1h --epsilon 1 --delta 1e-6 -o plan.json[/]
    """
    console.writable(output, force=force, option="--output")
    console.writable(plot, force=force, option="--plot")
    step = choices.every_of(every)
    bottom, top = choices.bounds_of(low, high, valued=False)
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
        participations=participations,
        separation=separation,
        records_per_step=records_per_step,
        every=step,
    )
    with console.progress("planning"):
        made = choices.plan_of(
            decaying,
            guarantee,
            low=bottom,
            high=top,
            horizon=horizon,
            method=method,
            resolution=1.0 if low is None and resolution is None else resolution,
            keys=choices.keys_of(keys, keys_file),
            every=step,
        )
        found = numbers(made, step)
    if output is not None:
        with console.written(output) as part:
            part.write_text(made.to_json() + "\n", encoding="utf-8")
    if plot is not None:
        from hushfade import plots

        plots.write(plots.overview(made), plot)
    if json:
        console.document(found)
    else:
        _show(made, found, step, counted=low is None)


def numbers(made: Plan, every: int | None = None) -> dict[str, Any]:
    """All that a plan promises, as plain data."""
    n = plain_words.steps_told(made)
    guarantee, grid, certificate = made.guarantee, made.grid, made.certificate(n)
    deviations = made.stddevs(n)
    return {
        "sentences": sentences(made),
        "decay": decay_document(made.decay),
        "method": made.method,
        "horizon": made.horizon,
        "every": None if every is None else duration.shown(every),
        "epsilon": guarantee.epsilon,
        "delta": guarantee.delta,
        "mu": guarantee.mu,
        "rho": guarantee.rho,
        "neighbours": guarantee.neighbours,
        "participations": guarantee.participations,
        "separation": guarantee.separation,
        "records_per_step": guarantee.records_per_step,
        "low": grid.low,
        "high": grid.high,
        "resolution": grid.resolution,
        "keys": None if made.keys is None else list(made.keys),
        "sensitivity": made.sensitivity,
        "noise_stddev": made.noise_stddev,
        "steps": n,
        "stddev": [
            {"step": step, "stddev": float(deviations[step - 1])} for step in _milestones(n)
        ],
        "max_stddev": float(deviations.max()),
        "error_bound": made.error_bound(n),
        "certificate": {
            "lower": certificate.lower,
            "upper": certificate.upper,
            "error_factor": certificate.error_factor,
            "ratio": certificate.ratio,
        },
        "cost": asdict(made.cost),
        "digest": made.digest.hex(),
    }


def in_time(steps: int, every: int | None) -> str:
    """So many steps, and how long they take where a step has a length.

    >>> in_time(36, 3600 * 10**9)
    '36 steps, 1d12h'
    """
    noun = "step" if steps == 1 else "steps"
    return f"{steps} {noun}" + ("" if every is None else f", {duration.shown(steps * every)}")


def _milestones(n: int) -> Iterator[int]:
    """1, 10, 100, ... and the last step."""
    step = 1
    while step < n:
        yield step
        step *= 10
    yield n


def _show(made: Plan, found: dict[str, Any], every: int | None, *, counted: bool) -> None:
    from rich.table import Table

    page = console.out()
    for sentence in found["sentences"]:
        page.print(sentence)
    if counted:
        page.print(COUNTED)
    page.print()
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column()
    for name, text in [*rows(made), *_lengths(made, every)]:
        grid.add_row(name, text)
    page.print(grid)
    page.print()
    page.print(_errors(found, every))
    if page.is_terminal:
        from hushfade.plots import chart

        n = found["steps"]
        drawn = chart(
            made.stddevs(n).tolist(),
            width=min(page.width, 100),
            height=8,
            label="standard deviation of the error",
            x_labels=("step 1", f"step {n}"),
        )
        page.print()
        page.print(drawn)


def _lengths(made: Plan, every: int | None) -> Iterator[tuple[str, str]]:
    """What the options gave as durations, in steps and in time."""
    if every is None:
        return
    yield "a step", duration.shown(every)
    decay = decay_document(made.decay)
    if "half_life" in decay:
        nanoseconds = round(decay["half_life"] * every)
        yield "half-life", f"{decay['half_life']:g} steps, {duration.shown(nanoseconds)}"
    if "length" in decay:
        yield "window", in_time(decay["length"], every)
    if made.guarantee.separation > 1:
        yield "separation", in_time(made.guarantee.separation, every)
    if made.horizon is not None:
        yield "horizon", in_time(made.horizon, every)


def _errors(found: dict[str, Any], every: int | None) -> Table:
    from rich.table import Table

    table = Table(title="Error of a released value", title_justify="left", title_style="bold")
    table.add_column("at step", justify="right")
    if every is not None:
        table.add_column("after", justify="right")
    table.add_column("standard deviation", justify="right")
    table.add_column("95 of 100 within", justify="right")
    for row in found["stddev"]:
        after = [] if every is None else [duration.shown(row["step"] * every)]
        deviation = row["stddev"]
        table.add_row(str(row["step"]), *after, f"{deviation:.4g}", f"{1.96 * deviation:.4g}")
    return table
