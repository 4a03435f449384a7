"""hushfade plan: the privacy and accuracy of a series, computed before any record is read."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from hushfade.cli import console, plain_words
from hushfade.cli.options import (
    DecayOptions,
    MechanismOptions,
    PersonOptions,
    PlanFileOptions,
    RecordOptions,
    TimeOptions,
    TogetherOptions,
)
from hushfade.cli.options.statistics import StatisticOptions
from hushfade.decays import decay_document
from hushfade.errors import InvalidValue
from hushfade.laws import Gaussian, Huber, Laplace
from hushfade.planning.certificate import single_step_bound
from hushfade.planning.mechanism_names import mechanism_name
from hushfade.planning.summary import rows, sentences, shown_step
from hushfade.privacy.rounding import rounded_up
from hushfade.privacy.unit import unit_document

if TYPE_CHECKING:
    from rich.table import Table

    from hushfade.duration import Length
    from hushfade.planning.plan import Plan


def plan(
    *,
    decay: DecayOptions = DecayOptions(),
    time: TimeOptions = TimeOptions(),
    guarantee: PersonOptions = PersonOptions(),
    records: RecordOptions = RecordOptions(),
    statistic: StatisticOptions = StatisticOptions(),
    mechanism: MechanismOptions = MechanismOptions(),
    several: TogetherOptions = TogetherOptions(),
    output: PlanFileOptions = PlanFileOptions(),
) -> None:
    """Plan a series: report how private and how accurate it will be, before reading any data.

    The report states the guarantee, the accuracy, the mechanism with the smallest error, and how
    the other mechanisms compare. Without --low and --high each record counts as 1, with
    resolution 1. -o saves the plan for hushfade run, explain and serve. --together plans several
    series about the same people, such as an hourly and a daily series, under one guarantee.

    `hushfade plan --half-life 24h --every 1h --epsilon 1 --delta 1e-6 -o plan.json`

    `hushfade plan --together series.toml --epsilon 1 --delta 1e-6 -o plans`
    """
    if several.together is not None:
        from hushfade.cli.plan_together import report

        for given in (decay, time, records, statistic, mechanism):
            for option in given.given():
                raise InvalidValue(
                    f"--together and {option} cannot be combined: the file describes each series"
                )
        report(several.together, guarantee, output)
        return
    if statistic.suppress_below is not None:
        raise InvalidValue("--suppress-below is for hushfade run: a plan has no values")
    output.check_files()
    fading, promised = decay.function(time.step), guarantee.guarantee(time.step)
    with console.progress("planning"):
        made = mechanism.plan(
            fading,
            promised,
            records,
            horizon=time.steps_to_horizon,
            time=time,
            statistic=statistic.statistic(records),
        )
        found = numbers(made)
    if output.output is not None:
        with console.written(output.output) as part:
            part.write_text(made.to_json() + "\n", encoding="utf-8")
    if output.plot is not None:
        from hushfade import plots

        plots.write(plots.overview(made), output.plot)
    if output.json:
        console.document(found)
    else:
        _show(made, found, counted=records.counting and made.statistic is None)


def numbers(made: Plan) -> dict[str, Any]:
    """The properties of a plan, as plain data."""
    n = plain_words.reported_steps(made)
    guarantee, grid = made.guarantee, made.grid
    gaussian = isinstance(made.law, Gaussian)
    deviations, margins = made.stddevs(n), made.margins(n)
    bound = single_step_bound(made)
    return {
        "sentences": sentences(made),
        "decay": decay_document(made.decay),
        "mechanism": mechanism_name(made.method, made.law.name),
        "method": made.method,
        "law": law_document(made),
        "considered": considered(made),
        "horizon": made.horizon,
        "every": made.every,
        "epsilon": guarantee.epsilon,
        "delta": guarantee.delta,
        "mu": guarantee.mu if gaussian else None,
        "rho": guarantee.rho if gaussian else None,
        "neighbours": guarantee.neighbours,
        "protects": unit_document(guarantee.protects),
        "low": grid.low,
        "high": grid.high,
        "resolution": grid.resolution,
        "statistic": None if made.statistic is None else made.statistic.document(),
        "keys": None if made.keys is None else list(made.keys),
        "sensitivity": made.sensitivity,
        "noise_stddev": made.noise_stddev,
        "steps": n,
        "stddev": [
            {
                "step": step,
                "stddev": float(deviations[step - 1]),
                "margin": float(margins[step - 1]),
            }
            for step in _milestones(n, shown_step(made, n))
        ],
        "max_stddev": made.max_stddev(n),
        "error_bound": made.error_bound(n),
        "certificate": None if guarantee.pure else _certificate(made, n),
        "single_step_bound": None if bound is None else bound._asdict(),
        "cost": asdict(made.cost),
        "digest": made.digest.hex(),
    }


def law_document(made: Plan) -> dict[str, Any]:
    """The noise distribution with its parameters, in the unit of the records."""
    law, unit = made.law, made.unit
    match law:
        case Gaussian(sigma=sigma):
            parameters = {"sigma": sigma * unit}
        case Laplace(slope=slope):
            parameters = {"slope": slope / unit}
        case Huber(slope=slope, core=core):
            parameters = {"slope": slope / unit, "core": core * unit, "kappa": law.kappa}
        case _:
            parameters = {}
    return {"name": law.name, **parameters}


def considered(made: Plan) -> list[dict[str, Any]]:
    """The mechanisms that the planner compared, the chosen one first."""
    return [
        {"mechanism": mechanism_name(one.method, one.law), **one._asdict()}
        for one in made.considered
    ]


def _certificate(made: Plan, n: int) -> dict[str, float | None]:
    found = made.certificate(n)
    return {
        "lower": found.lower,
        "upper": found.upper if math.isfinite(found.upper) else None,
        "error_factor": found.error_factor,
        "ratio": found.ratio,
    }


def _milestones(n: int, worst: int) -> list[int]:
    """The steps of the table: powers of ten, the step with the largest error, and the last step."""
    tens = (10**power for power in range(len(str(n))))
    return sorted({*(step for step in tens if step < n), worst, n})


def _show(made: Plan, found: dict[str, Any], *, counted: bool) -> None:
    from rich.table import Table

    page = console.out()
    for sentence in found["sentences"]:
        page.print(sentence)
    if counted:
        page.print(plain_words.COUNTED)
    page.print()
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column()
    for name, text in [*rows(made), *_lengths(made)]:
        grid.add_row(name, text)
    page.print(grid)
    page.print()
    page.print(_errors(found, made.step_length()))
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


def _lengths(made: Plan) -> Iterator[tuple[str, str]]:
    """Rows for durations: each in steps and in time."""
    from hushfade import duration

    every = made.step_length()
    if not isinstance(every, int):
        return
    decay = decay_document(made.decay)
    if "half_life" in decay:
        nanoseconds = round(decay["half_life"] * every)
        yield "half-life", f"{decay['half_life']:g} steps, {duration.shown(nanoseconds)}"
    if "length" in decay:
        yield "window", plain_words.in_time(decay["length"], every)
    if made.guarantee.protects.apart > 1:
        yield "apart", plain_words.in_time(made.guarantee.protects.apart, every)
    if made.guarantee.protects.within is not None:
        yield "protected stretch", plain_words.in_time(made.guarantee.protects.within, every)
    if made.horizon is not None:
        yield "horizon", plain_words.in_time(made.horizon, every)


def _errors(found: dict[str, Any], every: Length) -> Table:
    from rich.table import Table

    from hushfade import duration

    title = "Error of a released value" if found["statistic"] is None else "Error of each noisy sum"
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("at step", justify="right")
    if isinstance(every, int):
        table.add_column("after", justify="right")
    table.add_column("standard deviation", justify="right")
    table.add_column("95 % within", justify="right")
    for row in found["stddev"]:
        after = [] if not isinstance(every, int) else [duration.shown(row["step"] * every)]
        margin = rounded_up(row["margin"])
        table.add_row(str(row["step"]), *after, f"{row['stddev']:.4g}", margin)
    return table
